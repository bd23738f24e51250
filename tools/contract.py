#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Compare what our code relies on (tools/requirements/contract.txt) with a release of rclcpp.

    tools/contract.py FOLDER... [--release NAME]

A folder is a source tree of rclcpp (rcl, rmw, tracetools), or what it was installed in. Without
--release the version in rclcpp's package.xml says what it is. Prints a line of ours for each thing
that is another one there; the exit status is 1 if there is any. Headers that are missing are named.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tools/requirements/contract.txt"


@dataclass(frozen=True)
class Fact:
    """One thing that our code relies on."""

    where: str  # a class, "functions", "struct NAME" or "body of NAME"
    header: str
    ours: str
    word: str
    releases: tuple[str, ...]
    text: str

    @property
    def name(self) -> str:
        """What it is called."""
        return name_of(self.text)

    def line(self) -> str:
        """Return our first line that needs it, as FILE:LINE."""
        word = re.compile(
            rf"(?<!\w){re.escape(self.word)}(?!\w)|\d{re.escape(self.word)}(?![a-z_])"
        )
        if self.name.startswith("~"):
            word = re.compile(rf"{self.name[1:]}D1Ev")
        lines = (ROOT / self.ours).read_text(encoding="utf-8").splitlines()
        found = [n for n, text in enumerate(lines, 1) if word.search(text.partition("//")[0])]
        found += [n for n, text in enumerate(lines, 1) if word.search(text)]
        if not found:
            raise LookupError(f"{self.ours} does not need {self.word}: take it out of {DATA.name}")
        return f"{self.ours}:{found[0]}"


@dataclass
class Contract:
    """The data file."""

    majors: dict[str, int] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)

    def release_of(self, version: str) -> str:
        """Return the release to which a version of rclcpp belongs."""
        major = int(version.split(".")[0])
        known = [name for name, first in self.majors.items() if first <= major]
        return known[-1] if known else next(iter(self.majors))


def read(path: Path = DATA) -> Contract:
    """Return what the data file says."""
    contract = Contract()
    head = ("", "", "", "")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if made := re.fullmatch(r"release (\w+) (\d+) (.+)", line):
            contract.majors[made[1]] = int(made[2])
            contract.seen[made[1]] = made[3]
        elif made := re.fullmatch(r"\[(.+) in (\S+), ours (\S+?)(?: @ (\w+))?\]", line):
            head = (made[1], made[2], made[3], made[4] or "")
        elif (made := re.fullmatch(r"(\w*)(-?)(\w*) (.+)", line)) and head[0]:
            names = list(contract.majors)
            first = made[1] if made[1] not in ("", "all") else names[0]
            last = made[3] or (names[-1] if made[2] or made[1] == "all" else made[1])
            if not {first, last} <= {*names}:
                raise ValueError(f"{path}:{number}: no such release")
            releases = tuple(names[names.index(first) : names.index(last) + 1])
            word = head[3] or name_of(made[4])
            contract.facts.append(Fact(*head[:3], word, releases, made[4]))
        else:
            raise ValueError(f"{path}:{number}: neither release, heading nor line of one")
    return contract


def name_of(text: str) -> str:
    """Return what a declaration declares."""
    before = ""
    while before != text:  # the innermost template's arguments first
        before, text = text, re.sub(r"<[^<>()]*(\([^()]*\))?[^<>()]*>", " ", text)
    found = re.search(r"(~?\w+)\s*(?:\(|\[|$)", text)
    return found[1] if found else text


def plain(text: str) -> str:
    """Return a declaration in the one spelling: no names of parameters, no defaults."""
    text = re.sub(r"\[\[.*?\]\]", " ", text)
    text = re.sub(r"\b(mutable|explicit|inline|extern|override|final|noexcept|struct)\b", " ", text)
    text = re.sub(r"\b(rclcpp|node_interfaces|executors|experimental)\s*::", "", text)
    text = re.sub(r"((?:\w+::)*\w+)::SharedPtr\b", r"std::shared_ptr<\1>", text)
    text = re.sub(r"((?:\w+::)*\w+)::WeakPtr\b", r"std::weak_ptr<\1>", text)
    head, _, tail = text.partition("(")
    if re.search(r"<[^>]*$", head):  # std::function<void(size_t)> member
        return _tight(text)
    if not tail:
        return _tight(text.partition("=")[0])
    inner, _, after = tail.rpartition(")")
    parameters = ",".join(filter(None, (_parameter(p) for p in _parts(inner))))
    return f"{_tight(head)}({parameters}){_tight(after.partition('=')[0])}"


def _parts(text: str) -> Iterator[str]:
    depth, part = 0, ""
    for letter in text:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            yield part
            part = ""
        else:
            part += letter
    yield part


def _parameter(text: str) -> str:
    text = _tight(text.partition("=")[0])
    named = re.fullmatch(r"(.*(?:[&*>]|\w ))(\w+)", text)
    if named and named[1].strip() not in ("const", "unsigned", "struct"):
        text = named[1].strip()
    if text == "void":
        return ""
    return text if text.endswith(("*", "&")) else text.removeprefix("const ")


def _tight(text: str) -> str:
    joined = " ".join(re.findall(r"\w+|[^\w\s]", text))
    return re.sub(r" ?([^\w\s~]) ?", r"\1", joined).replace("~ ", "~").strip()


def _uncommented(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def _declaring(text: str) -> str:
    """Return C++ without comments, directives and macros; tracepoints as functions."""
    text = _uncommented(text)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", "", text, flags=re.MULTILINE)
    point = r"\b\w*DECLARE_TRACEPOINT\(\s*(\w+),?([^()]*)\)"
    text = re.sub(point, r"; void \1(\2);", text)
    return re.sub(r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b(\s*\([^()]*\))?", " ", text)


def declarations(text: str) -> dict[str, list[str]]:
    """Return what a header declares, by name: in plain form, with its access before it."""
    found: dict[str, list[str]] = {}
    access = ""
    for statement in re.split(r"[;{}]", _declaring(text)):
        *labels, rest = re.split(r"\b(public|protected|private)\s*:(?!:)", statement)
        access = labels[-1] if labels else access
        if re.match(r"\s*(template\s*<.*>\s*)?class\s", rest, re.DOTALL):
            access = "private"
        if declared := plain(rest):
            found.setdefault(name_of(declared), []).append(f"{access} {declared}".strip())
    return found


def _body(text: str, name: str) -> str:
    """Return the bodies of all functions of that name in a file, from the names on."""
    bodies = ""
    text = _declaring(text)
    for begin in re.finditer(rf"\b{name}\(", text):
        end = text.find("\n}\n", begin.end())
        bodies += _tight(text[begin.end() : end if end >= 0 else len(text)])
    return bodies


def differs(fact: Fact, text: str) -> str:
    """Return what a header has instead; empty: it has what our code relies on."""
    if fact.where.startswith("body of "):
        is_there = _tight(fact.text) in _body(text, fact.where.split()[-1])
        return "" if is_there else f"the {fact.where} has no such thing"
    if fact.where.startswith("struct "):
        name = fact.where.split()[1]
        body = re.search(rf"\{{([^{{}}]*)\}}\s*{name}\s*;", _declaring(text))
        fields = [plain(part) for part in body[1].split(";") if plain(part)] if body else []
        of_it = [f for f in read().facts if (f.where, f.header) == (fact.where, fact.header)]
        at = [f.text for f in of_it].index(fact.text)
        got = fields[at] if at < len(fields) else "nothing"
        return "" if got == plain(fact.text) else f"{got} in its place"
    if fact.where == "words":
        is_there = re.search(rf"\b{fact.name}\b", _uncommented(text)) is not None
        return (
            ""
            if is_there != fact.text.startswith("without ")
            else "there"
            if is_there
            else "nothing of that name"
        )
    declared = declarations(text)
    if fact.text.startswith("without "):
        return declared[fact.name][0] if fact.name in declared else ""
    access, _, rest = fact.text.partition(" ")
    has_access = access in ("public", "protected", "private")
    wanted = f"{access} {plain(rest)}" if has_access else plain(fact.text)
    found = declared.get(fact.name, [])
    if not has_access:
        found = [re.sub(r"^(public|protected|private) ", "", one) for one in found]
    return "" if wanted in found else " and ".join(found) or "nothing of that name"


def find(folders: list[Path], header: str) -> Path | None:
    """Return where a header, or a source file as src/..., lies in one of the folders."""
    for folder in folders:
        for above in ("", "*/", "*/*/", "*/*/*/"):
            ways = [f"{above}{header}", f"{above}include/{header}", f"{above}include/*/{header}"]
            for way in ways:
                if found := next(folder.glob(way), None):
                    return found
    return None


def version_in(folders: list[Path]) -> str:
    """Return the version of rclcpp in the folders; empty: there is none."""
    for path in ("share/rclcpp/package.xml", "rclcpp/package.xml", "package.xml"):
        if found := find(folders, path):
            text = found.read_text(encoding="utf-8")
            made = re.search(r"<name>rclcpp</name>\s*<version>\s*([\d.]+)", text)
            if made:
                return made[1]
    return ""


def check(folders: list[Path], release: str = "") -> tuple[list[str], set[str], str]:
    """Return what differs, with our lines; which headers are not there; what was compared."""
    contract = read()
    version = version_in(folders)
    if not release:
        if not version:
            raise ValueError("no package.xml of rclcpp in there: name the release with --release")
        release = contract.release_of(version)
    elif release not in contract.majors:
        raise ValueError(f"no release {release}: there are {', '.join(contract.majors)}")
    problems, missing, count = [], set(), 0
    texts: dict[str, str | None] = {}
    for fact in contract.facts:
        if release not in fact.releases:
            continue
        if fact.header not in texts:
            path = find(folders, fact.header)
            texts[fact.header] = path.read_text(encoding="utf-8") if path else None
        text = texts[fact.header]
        if text is None:
            missing.add(fact.header)
            continue
        count += 1
        if instead := differs(fact, text):
            problems.append(
                f"{fact.line()}: needs `{fact.text}` ({fact.header}), which {release} had "
                f"({contract.seen[release]}); here it is: {instead}"
            )
    return problems, missing, f"{release}: {count} things of rclcpp {version or 'unknown'}"


def main() -> int:
    """Check the folders that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--release", default="", help="what it is, if no package.xml says so")
    arguments = parser.parse_args()
    try:
        problems, missing, what = check(arguments.folders, arguments.release)
    except ValueError as error:
        print(f"tools/contract.py: {error}", file=sys.stderr)
        return 2
    for problem in problems:
        print(problem)
    for header in sorted(missing):
        print(f"not looked at: {header} is not there")
    print(f"{what} compared, {len(problems)} differ")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
