# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A control loop of 1 kHz in one process with a service and logging, as a ros2_control user has it.

Each cycle takes 100 us. A client calls the service again 5 ms after each answer, which takes 8 ms;
ten times a second 50 lines are logged. In turns, quiet and beside busy ordinary processes:
executors as rclcpp has them (waitset_single, waitset_multi, events_fifo); the second with
SCHED_FIFO 50 for its whole process (process_fifo); ours, with SCHED_FIFO 60 for the loop and
nothing for the rest (events, isolated, pool, and pool_beat: with a beat of 200 us); and a thread
with SCHED_FIFO 60 that runs the loop by itself beside waitset_multi (by_hand): the least that
anything can have.

A gap is the time between the starts of two cycles. Jitter is what it differs from the period by.
Cycles that are skipped since others took too long are missed.

Targets, quiet and beside the load: pool, pool_beat and isolated miss at most one cycle in a
thousand more than by_hand, and so many more of their jitters are above half a period. Exits with 1
if one is missed or something fails, with 2 for wrong arguments, with 77 where SCHED_FIFO is not
permitted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import positive, writable_file
from rclrt_analysis.reference.environment import may_use_realtime
from rclrt_analysis.reference.load import BackgroundLoad
from rclrt_analysis.reference.program import ProgramError
from rclrt_analysis.statistics import percentile
from rclrt_analysis.workloads.messages import folder, stay_on_this_machine

WAYS = (
    "by_hand", "pool", "pool_beat", "isolated", "events", "process_fifo", "waitset_multi",
    "waitset_single", "events_fifo",
)  # fmt: skip
JUDGED = ("pool", "pool_beat", "isolated")
LOADS = ("quiet", "background")
PERIOD_US = 1000
PRIORITY = 60
MOST_MORE = 0.001
SKIPPED = 77


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=3, help="turns of each (%(default)s)")
    parser.add_argument(
        "--only", type=_ways, default=WAYS, metavar="A,B", help="and by_hand (all of them)"
    )
    parser.add_argument(
        "--cycles", type=positive, default=4000, help="of a turn, at least 2 (%(default)s)"
    )


def _ways(text: str) -> tuple[str, ...]:
    names = text.split(",")
    for name in names:
        if name not in WAYS:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(WAYS)}")
    return tuple(way for way in WAYS if way in {*names, "by_hand"})


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    stay_on_this_machine()
    if not may_use_realtime(PRIORITY):
        print("SCHED_FIFO is not permitted: docs/how-to/real-time-permissions.md", file=sys.stderr)
        return SKIPPED
    ways = arguments.only
    turns: dict[tuple[str, str], list[dict[str, Any]]] = {}
    try:
        with _caller() as service:
            for number in range(arguments.rounds):
                first = number % len(ways)
                for way in (*ways[first:], *ways[:first]):
                    for load in LOADS:
                        turn = _turn(way, load, arguments.cycles, service)
                        turns.setdefault((way, load), []).append(turn)
                print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    except (OSError, subprocess.SubprocessError, ProgramError) as error:
        print(error, getattr(error, "stderr", None) or "", file=sys.stderr)
        return 1
    rows = [_row(way, load, turns[way, load]) for load in LOADS for way in ways]
    _print(rows)
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return _judge({(row["way"], row["load"]): row for row in rows})


def _program() -> Path:
    return folder() / "control_loop"


@contextlib.contextmanager
def _caller() -> Iterator[str]:
    """Call a service while the block runs, whoever has it."""
    service = f"control_loop_{os.getpid()}"
    with subprocess.Popen(
        [_program(), "--call", service],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as caller:
        try:
            yield service
        finally:
            assert caller.stdin is not None
            caller.stdin.close()
            try:
                caller.wait(timeout=30)
            except subprocess.TimeoutExpired:
                caller.kill()


def _turn(way: str, load: str, cycles: int, service: str) -> dict[str, Any]:
    command = [str(_program()), "--way", way, "--cycles", str(cycles), "--service", service]
    each = {"each": 0} if load == "quiet" else {}
    with BackgroundLoad(os.sched_getaffinity(0), **each):
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    turn: dict[str, Any] = json.loads(done.stdout)
    return turn


def _row(way: str, load: str, turns: list[dict[str, Any]]) -> dict[str, Any]:
    gaps_us = [
        (after - before) / 1000 for turn in turns for before, after in pairwise(turn["starts_ns"])
    ]
    jitters_us = sorted(abs(gap - PERIOD_US) for gap in gaps_us)
    missed = sum(max(0, round(gap / PERIOD_US) - 1) for gap in gaps_us)
    due = len(gaps_us) + missed
    elapsed_s = sum(gaps_us) / 1e6
    return {
        "way": way,
        "load": load,
        "cycles": due,
        "p50_us": percentile(jitters_us, 0.5),
        "p99_us": percentile(jitters_us, 0.99),
        "max_us": jitters_us[-1],
        "missed": missed,
        "missed_share": missed / due,
        "far_share": sum(jitter > PERIOD_US / 2 for jitter in jitters_us) / due,
        "answers_per_s": sum(turn["answers"] for turn in turns) / elapsed_s,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    print(
        f"  {'jitter, us':25} {'50 %':>8} {'99 %':>9} {'max':>9} {'missed':>15} {'answers/s':>10}"
    )
    for row in rows:
        half, most = (
            "-" if row[key] is None else f"{row[key]:.1f}" for key in ("p50_us", "p99_us")
        )
        print(
            f"  {row['load']:10} {row['way']:14} {half:>8} {most:>9} {row['max_us']:9.1f} "
            f"{row['missed']:6} of {row['cycles']:5} {row['answers_per_s']:10.1f}"
        )


def _judge(rows: dict[tuple[str, str], dict[str, Any]]) -> int:
    all_met = True
    for load in LOADS:
        for way in JUDGED:
            if (way, load) not in rows:
                continue
            for key, what in (("missed_share", "missed"), ("far_share", "jitter above 0.5 ms")):
                mine, least = rows[way, load][key], rows["by_hand", load][key]
                met = mine <= least + MOST_MORE
                all_met = all_met and met
                print(
                    f"{'met   ' if met else 'MISSED'} {load}, {way}: {what} {100 * mine:.2f} %, "
                    f"by_hand {100 * least:.2f} %"
                )
    return 0 if all_met else 1
