# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Say what this machine costs real-time threads, and how to mend it.

Looks at the kernel, permissions, control groups, CPUs, interrupts, memory, the clock, the
middleware and other programs, and for half a second measures how late threads wake up. With
PROGRAM also whether ./rclrt run reaches it. Says of each thing what is so, what it costs, and what
mends it. Nothing is changed: --fix prints a script, to be read before it is run. Exits with 0 if
there is nothing to mend, with 1 if there is, with 2 if there is no such program.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rclrt_tools.arguments import number_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rclrt_tools.doctor import Costs, Finding, System


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "program",
        nargs="?",
        metavar="PROGRAM",
        help="a file, a name in PATH, or PACKAGE/EXECUTABLE",
    )
    parser.add_argument(
        "--priority",
        type=number_from(1, 98, "of SCHED_FIFO"),
        default=80,
        metavar="P",
        help="of your most urgent callback (%(default)s)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--fix", action="store_true", help="print a script of what mends it")
    form.add_argument("--json", action="store_true", help="print it, schema 1")


def examine(system: System, costs: Costs, priority: int = 80, path: str = "") -> list[Finding]:
    """Return all that was looked at, without what a terminal or a shell would obey."""
    from dataclasses import replace

    from rclrt_tools.doctor import kernel, machine
    from rclrt_tools.doctor.program import middleware, program
    from rclrt_tools.live.files import printable
    from rclrt_tools.preload import versions

    checks = (*kernel.CHECKS, *machine.CHECKS)
    found = [finding for check in checks for finding in check(system, costs)]
    found += machine.others(system, costs, priority + 1)
    found += middleware(system, costs)
    if path:
        found += program(system, path, versions())
    return [
        replace(
            finding,
            what=printable(finding.what)[:400],
            costs=printable(finding.costs)[:400],
            remedy=printable(finding.remedy)[:600],
            commands=tuple(c for c in finding.commands if c == printable(c)),
        )
        for finding in found
    ]


def to_text(findings: Sequence[Finding], costs: Costs, width: int) -> str:
    """Return it for a terminal."""
    import textwrap

    from rclrt_tools.doctor import GOOD, MEND, NOTE

    lines = []

    def add(text: str, first: str, then: int) -> None:
        lines.extend(
            textwrap.wrap(
                text,
                width,
                initial_indent=first,
                subsequent_indent=" " * then,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )

    for kind, head in ((MEND, "To mend"), (NOTE, "To know"), (GOOD, "In order")):
        chosen = [finding for finding in findings if finding.kind == kind]
        if chosen:
            lines += ["", head] if lines else [head]
        for finding in chosen:
            add(finding.what, f"  {finding.name:17} ", 20)
            if finding.costs:
                add(f"costs: {finding.costs}", " " * 20, 20)
            if finding.remedy:
                end = ":" if finding.commands and kind == MEND else ""
                add(f"{finding.remedy}{end}", " " * 20, 20)
            if finding.source:
                add(f"({finding.source})", " " * 20, 20)
            lines += [f"{'':20}$ {command}" for command in finding.commands[:4]]
            if len(finding.commands) > 4:
                lines.append(f"{'':20}... and {len(finding.commands) - 4} more: --fix has all")
    lines += ["", "Measured here"]
    for text in (costs.both() or "no thread's wake-up", costs.fault()):
        add(text, "  ", 2)
    return "\n".join(lines)


def to_script(findings: Sequence[Finding]) -> str:
    """Return a script of what mends it: each command once."""
    from rclrt_tools.doctor import MEND

    lines = [
        "#!/bin/sh",
        "# What mends this machine for real-time threads, as `rclrt doctor` says. Read it first: "
        "each",
        "# line changes the machine, most until the next boot.",
        'command -v sudo >/dev/null || sudo() { "$@"; }',
    ]
    done: set[str] = set()
    for finding in findings:
        if finding.kind == MEND:
            lines += ["", f"# {finding.name}: {finding.what}"]
            lines += [f"# {finding.remedy}"] if finding.remedy else []
            for command in finding.commands:
                is_of_shell = command.startswith(("export ", "unset ", "ulimit "))
                where = "# In the shell that starts the program: " if is_of_shell else ""
                lines += [f"{where}{command}"] if command not in done else []
            done |= set(finding.commands)
    return "\n".join(lines if done or len(lines) > 4 else [*lines, "# There is nothing to mend."])


def to_json(findings: Sequence[Finding], costs: Costs) -> str:
    """Return it for programs."""
    import json
    from dataclasses import asdict

    from rclrt_tools.doctor import MEND

    mend = sum(finding.kind == MEND for finding in findings)
    found = [asdict(finding) for finding in findings]
    whole = {"schema": 1, "to_mend": mend, "measured": asdict(costs), "findings": found}
    return json.dumps(whole, indent=1)


def run(arguments: argparse.Namespace) -> int:
    """Look at the machine."""
    import shutil

    from rclrt_tools.doctor import MEND, System, measure
    from rclrt_tools.doctor.program import find

    system, path = System(), ""
    if arguments.program:
        path = find(system, arguments.program)
        if not path:
            where = "" if "/" in arguments.program else " in PATH: name its file, or its package"
            print(f"there is no program '{arguments.program}'{where}", file=sys.stderr)
            return 2
    costs = measure()
    findings = examine(system, costs, int(arguments.priority), path)
    if arguments.json:
        print(to_json(findings, costs))
    elif arguments.fix:
        print(to_script(findings))
    else:
        print(to_text(findings, costs, min(shutil.get_terminal_size((100, 24)).columns, 120)))
    return 1 if any(finding.kind == MEND for finding in findings) else 0
