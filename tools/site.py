#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Build the site: all pages of the tree, what they link to, and the reference of public headers.

    tools/site.py FOLDER

FOLDER/index.html opens without a server. Needs doxygen; Sphinx and others are installed below
.rclrt/site. A dead link or an unknown heading is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent / "site"
DOORS = {
    "My robot stutters": (
        "docs/how-to/observe.md", "docs/how-to/rclcpp-application.md", "docs/how-to/run.md",
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
        "docs/concepts/*.md", "engine/*/*.md", "kernel/*/*.md", "ros/*/*.md", "CONTRIBUTING.md",
    ),
    "Looked up": ("docs/glossary.md", "docs/**/*.md", "see/*/*.md", "try/**/*.md", "*.md"),
}  # fmt: skip
"""Each page stands below the first of these that names it."""

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
        if path == PurePosixPath("README.md"):
            return PurePosixPath("index.md")
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
            parts += [LINK.sub(follow, text[end : fence.start()]), fence[0]]
            end = fence.end()
        page = "".join(parts) + LINK.sub(follow, text[end:])
        if path == PurePosixPath("README.md"):
            page += "\n" + "\n".join(self.doors())
        shown = self.page_of(path)
        assert shown is not None
        self.write(shown, page)

    def doors(self) -> Iterator[str]:
        """Yield the tables of contents; the last one has the reference of headers."""
        left = [path for path in self.pages if path != PurePosixPath("README.md")]
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
        reference(stage, stage.folder / "reference")
        shutil.copy(HERE / "conf.py", stage.folder)
        shutil.copy(ROOT / "VERSION", stage.folder)
        command = [str(own_python()), "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto"]
        done = subprocess.run([*command, "-b", "html", scratch, arguments[0]], check=False)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
