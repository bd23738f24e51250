# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a thread for each callback costs: system calls, context switches, memory [CIE25 Fig. 5].

N timers that publish every 10 ms and N subscriptions, each in a group of its own, in one process
(messages by pointer) and in two (figures of both added up); under SCHED_OTHER. The timers are
spread over the period; in one process also in phase, all due at once. Mode switches are counted as
system calls, by the kernel's tracepoint, for which this must be root or have CAP_PERFMON and a
readable /sys/kernel/tracing; without, the other figures are there. Executors take turns in rounds.

Exits with 1 when it fails, with 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import number_from, positive, writable_file
from rclrt_analysis.statistics import percentile

EXECUTORS = ("single", "multi", "isolated", "pool", "events")
COUNTS = (1, 4, 8, 12, 16, 20, 24)
IN_PHASE = "one process, in phase"
PROCESSES = {
    "one process": ("both",),
    "two processes": ("subscriber", "publisher"),
    IN_PHASE: ("both",),
}
FIGURES = ("system_calls", "context_switches", "pss_kib")
EVENT = "events/raw_syscalls/sys_enter/id"
TRACING = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
PATIENCE_S = 90.0


def _counts(text: str) -> tuple[int, ...]:
    found = tuple(positive(word) for word in text.split(","))
    if max(found) > 200:
        raise argparse.ArgumentTypeError(f"{text}: at most 200 callbacks")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=3, help="turns of each (%(default)s)")
    parser.add_argument(
        "--seconds", type=number_from(0.05, 3600, "s"), default=2.0, help="of a turn (%(default)g)"
    )
    parser.add_argument(
        "--callbacks", type=_counts, default=COUNTS, metavar="A,B",
        help="(" + ",".join(map(str, COUNTS)) + ")",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    event = tracepoint()
    if event is None:
        print("system calls are not counted: /sys/kernel/tracing cannot be read (tracefs)")
    found: dict[tuple[str, int, str], list[dict[str, float]]] = {}
    try:
        for number in range(arguments.rounds):
            for where in PROCESSES:
                for count in arguments.callbacks:
                    for name in [*EXECUTORS[number % 5 :], *EXECUTORS[: number % 5]]:
                        turn = _turn(name, where, count, arguments.seconds, event)
                        found.setdefault((where, count, name), []).append(turn)
            print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    rows = [_row(*key, turns) for key, turns in found.items()]
    _print(rows)
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0


def tracepoint() -> int | None:
    """Return the number of the tracepoint of system calls, if it can be known and used."""
    for folder in TRACING:
        try:
            return int((Path(folder) / EVENT).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    # Where it is not mounted: for a moment, in a name space that nobody else sees.
    script = f"mount -t tracefs tracefs {TRACING[0]} && cat {TRACING[0]}/{EVENT}"
    try:
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=True
        )
        return int(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


def _turn(name: str, where: str, count: int, seconds: float, event: int | None) -> dict[str, float]:
    """Return the figures of one turn, of all of its processes together, a second."""
    folder = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_benchmarks"
    command = [str(folder / "isolation_cost"), "--executor", name, "--callbacks", str(count)]
    command += ["--seconds", str(seconds), "--topic", f"isolation_{os.getpid()}"]
    command += [] if event is None else ["--event", str(event)]
    command += ["--in-phase"] if where == IN_PHASE else []
    processes = [
        subprocess.Popen(
            [*command, "--role", role], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for role in PROCESSES[where]
    ]
    try:
        for process in processes:
            if _line(process) != "ready\n":
                raise ValueError(f"{name}, {count} callbacks, {where}: it does not become ready")
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        results = [json.loads(_line(process) or "null") for process in processes]
        if any(result is None for result in results):
            raise ValueError(f"{name}, {count} callbacks, {where}: it has measured nothing")
        # Who ends first would be missed by the others.
        for process in processes:
            process.wait(PATIENCE_S)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    took = results[0]["seconds"]
    figures = {
        key: sum(result[key] for result in results) / (1 if key == "pss_kib" else took)
        for key in FIGURES
        if all(key in result for result in results)
    }
    return {**figures, "received": sum(result["received"] for result in results) / took}


def _line(process: subprocess.Popen[str]) -> str:
    """Return the next line, or nothing if none comes in time or it ends."""
    assert process.stdout is not None
    end = time.monotonic() + PATIENCE_S
    while not select.select([process.stdout], [], [], 0.2)[0]:
        if time.monotonic() > end:
            return ""
    return process.stdout.readline()


def _row(where: str, count: int, name: str, turns: list[dict[str, float]]) -> dict[str, Any]:
    rounds = {key: [turn[key] for turn in turns] for key in turns[0]}
    return {
        "where": where,
        "callbacks": count,
        "executor": name,
        **{key: _median(values) for key, values in rounds.items()},
        "rounds": rounds,
    }


def _median(values: list[float]) -> float:
    middle = percentile(sorted(values), 0.5)
    return values[0] if middle is None else middle


def _print(rows: list[dict[str, Any]]) -> None:
    print("a second, medians of the rounds; PSS in KiB")
    print(
        f"  {'':21} {'N':>3} {'executor':10} {'system calls':>12} {'switches':>9} {'PSS':>8}"
        f" {'received':>9}"
    )
    for row in rows:
        calls = f"{row['system_calls']:12.0f}" if "system_calls" in row else f"{'-':>12}"
        print(
            f"  {row['where']:21} {row['callbacks']:3} {row['executor']:10} {calls}"
            f" {row['context_switches']:9.0f} {row['pss_kib']:8.0f} {row['received']:9.0f}"
        )
