#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Build the site: all pages of the tree, what they link to, and the reference of public headers.

    tools/site.py FOLDER

FOLDER/index.html opens without a server. Needs doxygen; Sphinx and others are installed below
.rclrt/site. A dead link or an unknown heading is an error. A block of `mermaid` that is a chain of
boxes (flowchart TD) becomes a picture.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from html import escape
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
DOORS = {
    "My robot stutters": (
        "docs/how-to/observe.md", "docs/how-to/run.md", "docs/how-to/rclcpp-application.md",
        "docs/how-to/from-other-executors.md", "docs/how-to/ros2-control.md",
        "docs/how-to/containers.md", "docs/how-to/preempt-rt.md",
        "docs/how-to/real-time-permissions.md", "docs/how-to/budgets.md", "docs/how-to/edf.md",
        "docs/how-to/waiting.md", "docs/how-to/top.md", "docs/how-to/trace.md",
        "ros/rclrt_rclcpp/README.md", "ros/rclrt_config/README.md",
    ),
    "I must prove a deadline": (
        "docs/tutorials/deadlines.md", "docs/how-to/plan.md", "docs/how-to/watch.md",
        "docs/concepts/chains.md", "docs/concepts/proofs.md", "docs/reference/bounds/*.md",
        "prove/*/README.md", "try/rclrt_scenarios/*.md", "try/rclrt_scenarios/models/*.md",
    ),
    "I have a microcontroller": (
        "docs/how-to/micro-ros.md", "docs/how-to/port-to-a-board.md", "docs/concepts/micro.md",
        "micro/*/*.md",
    ),
    "I build an executor": (
        "docs/concepts/*.md", "engine/*/*.md", "kernel/*/*.md", "ros/*/*.md",
        "docs/CONTRIBUTING.md",
    ),
    "Looked up": ("docs/glossary.md", "docs/**/*.md", "see/*/*.md", "try/**/*.md", "*.md"),
}  # fmt: skip
"""Each page stands below the first of these that names it."""

FRONT: dict[str, tuple[str, dict[str, str]]] = {
    "My robot stutters": (
        "See what a late callback waited for, and let it wait no more.",
        {
            "See why, without a rebuild": "docs/how-to/observe.md",
            "Priorities for installed programs": "docs/how-to/run.md",
            "One line in a program of yours": "docs/how-to/rclcpp-application.md",
            "From the executor that you have": "docs/how-to/from-other-executors.md",
            "Containers": "docs/how-to/containers.md",
        },
    ),
    "I must prove a deadline": (
        "Compute bounds, choose priorities, and have the running robot watched.",
        {
            "From a trace to a proof": "docs/tutorials/deadlines.md",
            "Plan priorities and CPUs": "docs/how-to/plan.md",
            "Watch the proof": "docs/how-to/watch.md",
            "PREEMPT_RT or not": "docs/how-to/preempt-rt.md",
        },
    ),
    "I have a microcontroller": (
        "An executor and a DDS-XRCE client in C, without an allocation.",
        {
            "From micro-ROS and rclc": "docs/how-to/micro-ros.md",
            "Bring it to a board": "docs/how-to/port-to-a-board.md",
            "How it works": "docs/concepts/micro.md",
        },
    ),
    "I build an executor": (
        "An engine without ROS that others can build on, with its reasons.",
        {
            "How the engine decides": "docs/concepts/engine.md",
            "Why it is so": "docs/decisions/engine.md",
            "All public headers": "headers.md",
            "Benchmarks": "try/rclrt_benchmarks/README.md",
        },
    ),
}
"""What stands on the first page: of each door a sentence, and pages."""

STYLE = """<style>
.doors { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: 1rem; }
.doors > div { border: 1px solid var(--color-background-border); border-radius: .5rem;
  padding: .2rem 1.1rem; background: var(--color-background-secondary); }
.doors > div > p:first-child { font-size: 1.15rem; }
</style>
"""
CONFIGURATION = """
from pathlib import Path

project = "rclrt"
author = "The rclrt Authors"
copyright = "2026, " + author
release = Path(__file__).with_name("VERSION").read_text(encoding="utf-8").strip()
extensions = ["myst_parser"]
root_doc = "index"
myst_heading_anchors = 4
exclude_patterns = ["reference"]
html_extra_path = ["reference"]
html_theme = "furo"
html_title = f"rclrt {release}"
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_show_search_summary = False  # it would fetch pages, which a file may not
highlight_language = "none"
"""

HEADERS = """# Public headers

<a href="api/index.html">All classes, functions and structures of the public headers</a>
"""
DOXYGEN = """QUIET = YES
WARNINGS = NO
WARN_IF_DOC_ERROR = NO
WARN_LOGFILE = /dev/null
PROJECT_NAME = rclrt
HTML_OUTPUT = api
GENERATE_LATEX = NO
SOURCE_BROWSER = NO
VERBATIM_HEADERS = NO
SHOW_USED_FILES = NO
JAVADOC_AUTOBRIEF = YES
EXTRACT_ALL = YES
HIDE_UNDOC_RELATIONS = YES
MACRO_EXPANSION = YES
HAVE_DOT = NO
"""
API_STYLE = """
body { overflow-wrap: anywhere; }
.contents { overflow-x: auto; }
.arrow, div.qindex, .inherit_header { color: inherit; }
.icon, span.mlabel { background-color: #3d578c; color: #fff; }
@media not (prefers-color-scheme: dark) { span.keywordflow { color: #8a5000; } }
"""
"""Doxygen's own pages are wider than a telephone, and some words on them are hard to read."""
LINK = re.compile(r"(?<=\]\()([^)\s#]+)((?:#[^)\s]*)?)(?=\))|(?<=^)(\[[^]]+\]: )(\S+)$", re.M)
FENCE = re.compile(r"^ *```.*?^ *```", re.M | re.S)
LANGUAGES = {".hpp": "cpp", ".h": "c", ".c": "c", ".cpp": "cpp", ".py": "python", ".yaml": "yaml"}


class Stage:
    """A folder of pages for Sphinx, each where its file is in the tree."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True
        )
        self.files = [PurePosixPath(name) for name in listed.stdout.splitlines()]
        self.known = set(self.files)
        self.pages = [path for path in self.files if path.suffix == ".md"]
        self.made: set[PurePosixPath] = set()

    def write(self, path: PurePosixPath, text: str) -> None:
        """Write one page."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def page_of(self, path: PurePosixPath) -> PurePosixPath | None:
        """Return where the site shows a file or folder; None: it is no part of the tree."""
        if path in self.known and path.suffix in {".md", ".svg", ".png"}:
            return path
        if path / "README.md" in self.known:
            return self.page_of(path / "README.md")
        inside = [file for file in self.files if path in file.parents]
        if path not in self.known and not inside:
            return None
        shown = path / "files.md" if inside else path.with_name(path.name + ".md")
        if shown not in self.made:
            self.made.add(shown)
            self.write(shown, self.listing(path, inside) if inside else self.source(path))
        return shown

    def listing(self, folder: PurePosixPath, inside: list[PurePosixPath]) -> str:
        """Return a page of links to what is in a folder."""
        lines = [f"---\norphan: true\n---\n# {folder}\n"]
        for file in inside:
            shown = self.page_of(file)
            assert shown is not None
            lines.append(f"- [{file.relative_to(folder)}]({_from(folder / 'files.md', shown)})")
        return "\n".join(lines) + "\n"

    def source(self, path: PurePosixPath) -> str:
        """Return a page that shows a file."""
        text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        ticks = "`" * (3 + max((len(run) for run in re.findall("`+", text)), default=0))
        language = LANGUAGES.get(path.suffix, "text")
        return f"---\norphan: true\n---\n# {path}\n\n{ticks}{language}\n{text}\n{ticks}\n"

    def stage(self, path: PurePosixPath) -> None:
        """Write a page of the tree, with links to where the site shows what they lead to."""

        def follow(match: re.Match[str]) -> str:
            target, heading, name = match[1] or match[4], match[2] or "", match[3] or ""
            if re.match(r"[a-z]+:", target):
                return match[0]
            there = PurePosixPath(os.path.normpath(path.parent / target))
            shown = self.page_of(there)
            if shown is None:
                sys.exit(f"{path}: a link leads to {target}, which is no file of the tree")
            if shown.suffix in {".svg", ".png"}:
                (self.folder / shown).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / shown, self.folder / shown)
            here = self.page_of(path)
            assert here is not None
            return name + _from(here, shown) + heading

        text = (ROOT / path).read_text(encoding="utf-8")
        parts, end = [], 0
        for fence in FENCE.finditer(text):
            parts += [LINK.sub(follow, text[end : fence.start()]), shown_as(fence[0])]
            end = fence.end()
        shown = self.page_of(path)
        assert shown is not None
        self.write(shown, "".join(parts) + LINK.sub(follow, text[end:]))

    def front(self) -> None:
        """Write the first page: what it is, in the README's words, and the four doors."""
        what = (ROOT / "README.md").read_text(encoding="utf-8").split("\n\n")[:2]
        lines = [*what, "[Install, and try it](README.md).", STYLE, '<div class="doors">\n']
        for door, (sentence, links) in FRONT.items():
            pages = [f"- [{title}]({page})" for title, page in links.items()]
            lines += [f"<div>\n\n**{door}**\n\n{sentence}\n", *pages, "\n</div>\n"]
        self.write(PurePosixPath("index.md"), "\n".join([*lines, "</div>\n", *self.doors()]))

    def doors(self) -> Iterator[str]:
        """Yield the tables of contents; the last one has the reference of headers."""
        left = list(self.pages)
        for door, patterns in DOORS.items():
            mine = [path for pattern in patterns for path in left if _fits(path, pattern)]
            mine = list(dict.fromkeys(mine))
            left = [path for path in left if path not in mine]
            if door == "I build an executor":
                mine.append(PurePosixPath("headers.md"))
            yield f"```{{toctree}}\n:hidden:\n:caption: {door}\n"
            yield from (str(path) for path in mine)
            yield "```\n"
        if left:
            sys.exit(f"no door leads to {left[0]}: name it in tools/site.py")


BOX, GAP, WIDE, CHARACTER = 40, 26, 340, 7.4


def shown_as(block: str) -> str:
    """Return a block of code as the site shows it: a chain of `mermaid` boxes as a picture.

    Each line is `one[Text] -->|label| two[Text]`, the text where a name comes first. An arrow that
    goes back up is drawn at the right.
    """
    if not block.startswith("```mermaid\nflowchart TD\n"):
        return block
    texts: dict[str, str] = {}
    arrows = []
    for line in block.splitlines()[2:-1]:
        ends = re.fullmatch(r" *(\w+)(?:\[(.+?)\])? -->(?:\|(.+?)\|)? (\w+)(?:\[(.+?)\])?", line)
        if ends is None:
            sys.exit(f"this line of a diagram is not understood: {line}")
        texts |= {name: text for name, text in (ends.group(1, 2), ends.group(4, 5)) if text}
        arrows.append((ends[1], ends[3] or "", ends[4]))
    rows = list(texts)
    widest = max(len(text) for text in texts.values()) * CHARACTER + 20
    middle = widest / 2
    parts = []
    for name, text in texts.items():
        y = rows.index(name) * (BOX + GAP)
        parts.append(f'<rect x="1" y="{y + 1}" width="{widest:.0f}" height="{BOX - 2}" rx="6"/>')
        parts.append(f'<text x="{middle:.0f}" y="{y + 25}">{escape(text)}</text>')
    for begin, label, end in arrows:
        top, bottom = (rows.index(one) * (BOX + GAP) for one in (begin, end))
        if bottom > top:
            path, at = f"M{middle:.0f} {top + BOX}V{bottom - 6}", (middle + 8, bottom - GAP / 2 + 4)
        else:
            path = f"M{widest + 2:.0f} {top + BOX / 2}h16V{bottom + BOX / 2}h-9"
            at = (widest + 24, (top + bottom + BOX) / 2)
        parts.append(f'<path d="{path}" marker-end="url(#end)"/>')
        if label:
            words = f'x="{at[0]:.0f}" y="{at[1]:.0f}" class="label"'
            parts.append(f"<text {words}>{escape(label)}</text>")
    high = len(rows) * (BOX + GAP) - GAP
    head = f'<svg class="chain" role="img" viewBox="0 0 {WIDE} {high}" style="max-width:{WIDE}px">'
    return f"{CHAIN_STYLE}<div>{head}{ARROW}{''.join(parts)}</svg></div>\n"


CHAIN_STYLE = """<style>
.chain { display: block; width: 100%; margin: 1rem auto; font: 13px system-ui, sans-serif; }
.chain text { fill: var(--color-foreground-primary); text-anchor: middle; }
.chain .label { fill: var(--color-foreground-secondary); text-anchor: start; font-size: 12px; }
.chain rect { fill: var(--color-background-secondary); stroke: var(--color-background-border); }
.chain path { fill: none; stroke: var(--color-foreground-secondary); stroke-width: 1.4; }
</style>
"""
ARROW = (
    '<defs><marker id="end" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M1 1L6 4L1 7"/></marker></defs>'
)


def _from(page: PurePosixPath, target: PurePosixPath) -> str:
    return os.path.relpath(target, page.parent)


def _fits(path: PurePosixPath, pattern: str) -> bool:
    expression = re.escape(pattern).replace(r"\*\*/", "(.*/)?").replace(r"\*", "[^/]*")
    return re.fullmatch(expression, str(path)) is not None


def reference(stage: Stage, folder: Path) -> None:
    """Have doxygen write the reference of all public headers."""
    found = [f for f in stage.files if "include" in f.parts and f.suffix in {".h", ".hpp"}]
    found = [f for f in found if f.parts[0] != "try"]
    roots = {ROOT / Path(*f.parts[: f.parts.index("include") + 1]) for f in found}
    settings = (
        DOXYGEN + f"INPUT = {' '.join(str(ROOT / f) for f in found)}\nOUTPUT_DIRECTORY = {folder}\n"
    )
    settings += f"STRIP_FROM_PATH = {' '.join(map(str, sorted(roots)))}\n"
    stage.write(PurePosixPath("api.css"), API_STYLE)
    settings += f"HTML_EXTRA_STYLESHEET = {stage.folder / 'api.css'}\n"
    subprocess.run(
        ["doxygen", "-"], input=settings, text=True, check=True, stdout=subprocess.DEVNULL
    )


def own_python() -> Path:
    """Return the Python of an environment with what Sphinx needs; made if it is not there."""
    wanted = (ROOT / "tools/requirements/site.txt").read_text(encoding="utf-8")
    folder = ROOT / ".rclrt/site"
    made = folder / "made-of.txt"
    python = folder / "bin/python3"
    if not made.is_file() or made.read_text(encoding="utf-8") != wanted:
        print(f"installing Sphinx in {folder}", flush=True)
        venv.create(folder, clear=True, with_pip=True)
        packages = ["-r", str(ROOT / "tools/requirements/site.txt")]
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", *packages], check=True)
        made.write_text(wanted, encoding="utf-8")
    return python


def main(arguments: list[str]) -> int:
    """Build; returns the exit status."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    if shutil.which("doxygen") is None:
        sys.exit("there is no doxygen: apt-get install doxygen")
    with tempfile.TemporaryDirectory(prefix="rclrt-") as scratch:
        stage = Stage(Path(scratch))
        for page in stage.pages:
            stage.stage(page)
        stage.write(PurePosixPath("headers.md"), HEADERS)
        stage.front()
        reference(stage, stage.folder / "reference")
        stage.write(PurePosixPath("conf.py"), CONFIGURATION)
        shutil.copy(ROOT / "tools/VERSION", stage.folder)
        command = [str(own_python()), "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto"]
        done = subprocess.run([*command, "-b", "html", scratch, arguments[0]], check=False)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
