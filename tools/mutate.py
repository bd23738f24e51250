#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Change a C or C++ source file in one small way at a time, and see whether a test fails.

    tools/mutate.py --build build --tests test_tables,test_rules [--sample 50] FILE...

For each change ("mutant") the tests named are built and run one after the other until one fails.
What no test notices is printed as a table: either a test is missing, or the change makes no
difference. The files are changed in place and put back: do not edit or build the tree meanwhile.
Best in a clone of its own, configured without RCLRT_WERROR (an unused variable is no defect there).
Exit status: 1 if a mutant survived, 2 if the tests fail without any change.
"""

import argparse
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Replace = Callable[["re.Match[str]"], str]


@dataclass(frozen=True)
class Mutant:
    """One change of one line."""

    path: Path
    line: int  # from 1
    before: str
    after: str
    kind: str


# Operators are recognized by the spaces that clang-format puts around them: templates have none.
RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+=", "|": "&", "&": "|"}
LOGIC = {"&&": "||", "||": "&&"}
WORDS = {"true": "false", "false": "true", "std::min": "std::max", "std::max": "std::min"}


def _between_spaces(table: dict[str, str]) -> tuple[str, Replace]:
    alternatives = "|".join(re.escape(key) for key in sorted(table, key=len, reverse=True))
    return rf"(?<= )(?:{alternatives})(?= |$)", lambda match: table[match.group()]


RULES: list[tuple[str, str, Replace]] = [
    ("relation", *_between_spaces(RELATIONS)),
    ("arithmetic", *_between_spaces(ARITHMETIC)),
    ("logic", *_between_spaces(LOGIC)),
    ("not", r"(?<=[ (])!(?=[\w(*])", lambda match: ""),
    ("constant", r"\b(?:true|false)\b", lambda match: WORDS[match.group()]),
    ("constant", r"\bstd::(?:min|max)\b", lambda match: WORDS[match.group()]),
    ("constant", r"(?<![\w.'])\d+(?![\w.'])", lambda match: str(int(match.group(), 10) + 1)),
    ("step", r"\+\+(?=\w)|(?<=\w)\+\+", lambda match: "--"),
    ("step", r"--(?=\w)|(?<=\w)--", lambda match: "++"),
    ("condition", r"(?<=\bif \()[^;{]*(?=\) \{$)", lambda match: "false"),
    ("condition", r"(?<=\bif \()[^;{]*(?=\) \{$)", lambda match: "true"),
]

NOT_DELETED = re.compile(
    r"\s*(?:using|typedef|friend|static_assert|enum|struct|class|template|extern|\}|return \S)"
)


def code_lines(text: str) -> list[str]:
    """Return the lines with comments, strings and preprocessor lines blanked, columns kept."""

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    pattern = r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|^[ ]*#[^\n]*'
    return re.sub(pattern, blank, text, flags=re.DOTALL | re.MULTILINE).split("\n")


def is_whole_statement(code: list[str], index: int) -> bool:
    """Tell whether line `index` is one statement that can be left out."""
    line = code[index].rstrip()
    if not line.endswith(";") or not line.startswith(" ") or NOT_DELETED.match(line):
        return False
    previous = next((code[i].rstrip() for i in range(index - 1, -1, -1) if code[i].strip()), "")
    return previous.endswith((";", "{", "}", ":")) and line.count("(") == line.count(")")


def mutants_of(path: Path, lines: range | None = None) -> list[Mutant]:
    """Return every change of the file, of the given lines only if there are any."""
    source = path.read_text(encoding="utf-8").split("\n")
    code = code_lines("\n".join(source))
    found = []
    for index, line in enumerate(code):
        if lines is not None and index + 1 not in lines:
            continue
        for kind, pattern, replace in RULES:
            for match in re.finditer(pattern, line):
                begin, end = match.span()
                after = source[index][:begin] + replace(match) + source[index][end:]
                if after != source[index]:
                    found.append(Mutant(path, index + 1, source[index], after, kind))
        if is_whole_statement(code, index):
            found.append(Mutant(path, index + 1, source[index], "", "statement"))
    return list(dict.fromkeys(found))


def changed_lines(path: Path, since: str) -> list[range]:
    """Return the lines of the file that differ from the commit `since`."""
    command = ["git", "diff", "--unified=0", since, "--", path.name]
    result = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=True)
    hunks = re.findall(r"^@@ .*\+(\d+)(?:,(\d+))? @@", result.stdout, flags=re.MULTILINE)
    return [range(int(first), int(first) + int(count or 1)) for first, count in hunks]


def run(command: list[str], seconds: float) -> str:
    """Run a command; return "ok", "failed" or "too long". Its whole process group ends with it.

    `seconds` are of the CPU, for each process; the clock on the wall may show four times as many.
    """

    def keep_the_machine() -> None:
        os.nice(10)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
        resource.setrlimit(resource.RLIMIT_RTTIME, (1_000_000, 1_000_000))  # us without blocking
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=keep_the_machine,
    ) as process:
        try:
            status = process.wait(4 * seconds)
        except subprocess.TimeoutExpired:
            return "too long"
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return "too long"
    return "failed" if status else "ok"


def verdict(options: argparse.Namespace) -> str:
    """Build and run the tests until one fails; say which, or "survived", or "does not compile"."""
    build, seconds = options.build, options.limit
    for test in options.tests.split(","):
        make = options.make.format(test=test) if options.make else f"ninja -C {build} {test}"
        if run(["sh", "-c", make], 600) != "ok":
            return "does not compile"
        program = next(path for path in build.glob(f"**/{test}") if path.is_file())
        result = run([str(program), "--gtest_fail_fast", "--gtest_brief=1"], seconds)
        if result != "ok":
            return f"{test} {'fails' if result == 'failed' else 'does not end'}"
    return "survived"


def each_in_force(mutants: list[Mutant]) -> Iterator[Mutant]:
    """Hand out the mutants while each is in its file; put the file back afterwards."""
    for mutant in mutants:
        original = mutant.path.read_bytes()
        lines = original.decode("utf-8").split("\n")
        lines[mutant.line - 1] = mutant.after
        mutant.path.write_text("\n".join(lines), encoding="utf-8")
        try:
            yield mutant
        finally:
            mutant.path.write_bytes(original)


def table(survivors: list[Mutant]) -> str:
    """Return the survivors as a table of Markdown."""
    rows = ["| line | kind | before | after |", "|---|---|---|---|"]
    for mutant in survivors:
        before, after = (text.strip().replace("|", "\\|") for text in (mutant.before, mutant.after))
        place = f"{mutant.path.name}:{mutant.line}"
        rows.append(f"| {place} | {mutant.kind} | `{before}` | {f'`{after}`' if after else '-'} |")
    return "\n".join(rows)


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--build", type=Path, required=True, help="where the programs are")
    parser.add_argument("--tests", required=True, help="programs, by comma; the fastest first")
    parser.add_argument("--make", help="shell command to build {test}, instead of ninja's target")
    parser.add_argument("--since", help="only lines that differ from this commit")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants at most, at random")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--limit", type=float, default=20, help="CPU seconds for a program")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so long")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    return parser.parse_args()


def main() -> int:
    """Run the tool."""
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # the file is put back
    mutants = []
    for path in options.files:
        ranges = changed_lines(path, options.since) if options.since else [None]
        mutants += [mutant for lines in ranges for mutant in mutants_of(path.resolve(), lines)]
    if 0 < options.sample < len(mutants):
        mutants = sorted(
            random.Random(options.seed).sample(mutants, options.sample),
            key=lambda mutant: (str(mutant.path), mutant.line),
        )
    if options.list:
        print("\n".join(f"{m.path.name}:{m.line}: {m.kind}: {m.after.strip()}" for m in mutants))
        return 0
    unchanged = verdict(options)
    if unchanged != "survived":
        print(f"without any change: {unchanged}", file=sys.stderr)
        return 2
    counts: Counter[str] = Counter()
    survivors = []
    end = time.monotonic() + options.minutes * 60 if options.minutes else float("inf")
    for mutant in each_in_force(mutants):
        result = verdict(options)
        counts[result] += 1
        print(
            f"{mutant.path.name}:{mutant.line}: {mutant.kind}: {mutant.after.strip()}: {result}",
            file=sys.stderr,
            flush=True,
        )
        if result == "survived":
            survivors.append(mutant)
        if time.monotonic() > end:
            break
    compiled = sum(counts.values()) - counts["does not compile"]
    print(f"{len(survivors)} of {compiled} survived ({len(mutants)} in all):\n")
    print(table(survivors))
    print("\n" + "\n".join(f"{count:5} {result}" for result, count in counts.most_common()))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
