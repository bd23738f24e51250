#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Check the words of all pages and sources: one name a thing, as the glossary says; no dead links.

    tools/check_words.py [ROOT]

The glossary's table "say | not" has the names that neither pages nor the texts and comments of
sources use; code in pages may, and identifiers. Its table "name in C++ | only" has names with one
meaning in `src` and `include` of `engine` and `ros`: the class of all that is named so, or the
folders in which the name occurs. A comment begins with what it speaks of, not with
"Of" or "The same", and "who" refers to a word before it. A link between pages needs its file and
its heading, a table its head, a block of code its language: `sh`, each line of which is for a
shell, or `console`, where lines with `$ ` are and the others are what it prints. The page of the
parameters file has the keys that its reader takes, and no others. Prints one line per violation;
exit status 1 if there is any.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from weight import keys

KEYS = "ros/rclrt_config/README.md"
GLOSSARY = "docs/glossary.md"
PAGES = ("*.md",)
SOURCES = (
    "*.py", "*.cpp", "*.hpp", "*.c", "*.h", "*.json", "*.yaml", "*.j2",
    "*.cmake", "*CMakeLists.txt", "*.sh", ".ci/run", "rclrt",
)  # fmt: skip
# A comment may go on in the next line.
BETWEEN_WORDS = r"\s+(?:(?:///?|#|\*) *)?"
# Lines of comments below each other are one.
COMMENT = re.compile(r"(?:^|(?<=\s))(?:(//|# )(.*(?:\n[ \t]*\1.*)*)|(?:/\*|\"{3})(.*))", re.M)
HEADLESS = re.compile(r"[/*<! ]*(Of|(?i:the same|that of|those of|as above|ditto))\b")
BARE_WHO = re.compile(rf'(?:\b(?:as|by|for|from|of|than|to|with){BETWEEN_WORDS}|")who (?!in )[a-z]')
FENCED = re.compile(r"^ *```.*?^ *```", re.M | re.S)
# A link, or a line that begins with a name in brackets and a colon, which is the target of links.
LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)\)|^ *\[[^\]]+\]: +(?!\w+:)(\S+)", re.M)
BLOCK = re.compile(r"^ *```(.*)\n((?s:.*?))^ *```$", re.M)
LANGUAGES = (
    "c", "cmake", "console", "cpp", "dockerfile", "ini", "mermaid", "python", "sh", "text", "yaml",
)  # fmt: skip
OF_ONE_MEANING = re.compile(r"(engine|ros)/\w+/(src|include)/.+pp")
HEADLESS_ROW = re.compile(r"(?:^|\n)\n\|.*\n(?!\|[ :|-]+\n)")


def _blank(match: re.Match[str]) -> str:
    """Keep the lines, so that what follows has the same number."""
    return re.sub(r"[^\n]", " ", match[0])


def _names_not_used(glossary: str) -> Iterator[tuple[str, str]]:
    """Yield what to say, and what not, from the table with that head."""
    for say, names in _rows(glossary, "| say | not |\n"):
        yield from ((say, name.strip()) for name in names.split(","))


def _rows(glossary: str, head: str) -> list[tuple[str, str]]:
    table = glossary.partition(head)[2].partition("\n\n")[0]
    return re.findall(r"^\| (.+?) \| (.+?) \|$", table, re.M)


@cache
def _anchors(path: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.+)$", FENCED.sub("", path.read_text("utf-8")), re.M):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        number = found[name] = found.get(name, -1) + 1
        found.setdefault(f"{name}-{number}" if number else name, 0)
    return frozenset(found)


def _why_dead(page: Path, target: str) -> str:
    name, _, anchor = unquote(target).partition("#")
    path = page.parent / name if name else page
    if not path.exists():
        return "no such file"
    if anchor and path.suffix == ".md" and anchor not in _anchors(path):
        return "no such heading"
    return ""


def check(root: Path, pages: list[Path], sources: list[Path]) -> Iterator[str]:
    """Yield one line of text per thing that is wrong."""
    glossary = root / GLOSSARY
    names = list(_names_not_used(glossary.read_text("utf-8")))
    if not names:
        yield f"{GLOSSARY}: has no table 'say | not'"
    meanings = _rows(glossary.read_text("utf-8"), "| name in C++ | only |\n")
    for page in pages:
        text = FENCED.sub(_blank, page.read_text("utf-8"))
        prose = re.sub(r"`[^`]*`", _blank, text)
        yield from _wrong_blocks(page.relative_to(root), page.read_text("utf-8"))
        for match in LINK.finditer(prose):
            target = match[1] or match[2]
            if why := _why_dead(page, target):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{page.relative_to(root)}:{line}: {target}: {why}"
        for match in HEADLESS_ROW.finditer(text):
            line = text.count("\n", 0, match.start() + 2) + 1
            yield f"{page.relative_to(root)}:{line}: a table without a head"
        if page != glossary:
            yield from _wrong_names(page.relative_to(root), prose, names)
    if root / KEYS in pages:
        yield from _wrong_keys((root / KEYS).read_text("utf-8"), keys(sources))
    for source in sources:
        text = source.read_text("utf-8")
        yield from _wrong_names(source.relative_to(root), text, names)
        yield from _headless(source.relative_to(root), text)
        if OF_ONE_MEANING.fullmatch(str(source.relative_to(root))):
            yield from _second_meanings(source.relative_to(root), text, meanings)


def _second_meanings(where: Path, text: str, meanings: list[tuple[str, str]]) -> Iterator[str]:
    for name, only in meanings:
        if "/" not in only:
            search = rf"\b(?!{only}\b)[A-Z]\w*>?(?: const)?[ &*]+{name}(?=\s*[;,={{)])"
        elif str(where).startswith(tuple(only.split(", "))):
            continue
        else:
            search = rf"(?i){name}(?!dog)"
        for match in re.finditer(search, text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{where}:{line}: '{match[0]}': {name} is for {only} only, see {GLOSSARY}"


def _wrong_keys(page: str, known: set[str]) -> Iterator[str]:
    code = " ".join(re.findall(r"^ *```.*?^ *```|`[^`]+`", page, re.M | re.S))
    for key in sorted(known - set(re.findall(r"\w+", code))):
        yield f"{KEYS}: does not name the key '{key}'"
    for table in re.findall(r"^\| field \|.*\n(?:\|.*\n)+", page, re.M):
        named = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\|[^|]*", table, re.M))))
        for key in sorted(named - known):
            yield f"{KEYS}: names '{key}', which the reader of parameters files does not take"


def _wrong_blocks(where: Path, text: str) -> Iterator[str]:
    for match in BLOCK.finditer(text):
        has_prompt = re.search(r"^ *\$ ", match[2], re.M) is not None
        if match[1] not in LANGUAGES:
            why = f"a block of code of '{match[1]}', not of {', '.join(LANGUAGES)}"
        elif "```" in match[2]:
            why = "the end of a block has text behind it, so the block does not end there"
        elif match[1] in ("sh", "console") and has_prompt != (match[1] == "console"):
            why = "a block is sh if all of it is for a shell, console if lines with '$ ' are"
        else:
            continue
        line = text.count("\n", 0, match.start()) + 1
        yield f"{where}:{line}: {why}"


def _headless(where: Path, text: str) -> Iterator[str]:
    for match in COMMENT.finditer(text):
        if begin := HEADLESS.match(match[2] or match[3] or ""):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{where}:{line}: a comment begins with '{begin[1]}': name what it speaks of"
    for match in BARE_WHO.finditer(text if "who " in text else ""):
        line = text.count("\n", 0, match.end()) + 1
        yield f"{where}:{line}: 'who' refers to no word: say 'the thread that' or the like"


def _wrong_names(where: Path, text: str, names: list[tuple[str, str]]) -> Iterator[str]:
    lower = text.lower()
    for say, name in names:
        if not all(word in lower for word in name.lower().split()):
            continue  # To search for each name takes seconds.
        words = BETWEEN_WORDS.join(re.escape(word) for word in name.split())
        for match in re.finditer(rf"(?<![\w/.(-]){words}(?![\w/(-])", text, re.I):
            if not match[0].isupper():  # A constant.
                line = text.count("\n", 0, match.start()) + 1
                yield f"{where}:{line}: say '{say}', not '{name}'"


def main() -> int:
    """Check all pages that git knows."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    root = root if root.is_dir() else root.parents[1]
    listed = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run([*listed, *PAGES, *SOURCES], capture_output=True, text=True, check=True)
    files = [path for name in done.stdout.splitlines() if (path := root / name).is_file()]
    pages = [path for path in files if path.suffix == ".md"]
    problems = list(check(root, pages, [path for path in files if path.suffix != ".md"]))
    print("\n".join(problems) if problems else f"words: {len(pages)} pages, none wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
