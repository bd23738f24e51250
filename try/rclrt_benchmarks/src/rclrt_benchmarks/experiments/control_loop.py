# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A control loop of 1 kHz in one process with what disturbs it, as a ros2_control user has it.

Each cycle takes 100 us. Beside it, in its process and without priorities, is one of
  service      a client calls it again 5 ms after each answer, which takes 8 ms; and 50 lines are
               logged ten times a second
  flood        a subscription gets 10,000 messages a second of 1 kB
  slow         a timer of 20 ms takes 0.2 ms, and 50 times as long every 25th time
  parameters   bursts of 500 parameter events, ten times a second
  discovery    20 participants with 100 nodes join and leave, again and again
  leak         1 MB is allocated and touched every 10 ms
  leak-locked  the same, and the process locks its memory
  memory       every 50 ms the kernel takes what it can read again from files: the process' code
  memory-locked  the same, and the process locks its memory
In turns, quiet and beside busy ordinary processes: executors as rclcpp has them (waitset_single,
waitset_multi, events_fifo); the second with SCHED_FIFO 50 for its whole process (process_fifo);
ours, with SCHED_FIFO 60 for the loop and nothing for the rest (isolated, pool, pool_beat: with a
beat of 200 us, events, and events_re: the thread that waits for timers runs all of them, one after
the other, so service, slow, leak and memory, which have timers, hold up the loop); and a thread
with SCHED_FIFO 60 that runs the loop by itself beside waitset_multi (by_hand): the least that
anything can have.

A gap is the time between the starts of two cycles. Jitter is what it differs from the period by.
Cycles that are skipped since others took too long are missed. Faults are those that had to read.

Targets, for each: pool, pool_beat and isolated miss at most one cycle in a thousand more than
by_hand, and so many more of their jitters are above half a period. Exits with 1 if one is missed or
something fails, with 2 for wrong arguments, with 77 where SCHED_FIFO is not permitted.
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

from rclrt_analysis.arguments import positive, some_of, writable_file
from rclrt_analysis.reference.environment import may_use_realtime
from rclrt_analysis.reference.load import BackgroundLoad
from rclrt_analysis.reference.program import ProgramError, ends_with_us
from rclrt_analysis.statistics import percentile, quantiles
from rclrt_analysis.workloads.messages import folder, stay_on_this_machine

WAYS = (
    "by_hand", "pool", "pool_beat", "isolated", "events", "events_re", "process_fifo",
    "waitset_multi", "waitset_single", "events_fifo",
)  # fmt: skip
KINDS = {
    **{name: [name] for name in ("service", "flood", "slow", "parameters", "discovery", "leak")},
    "leak-locked": ["leak", "--lock-memory"],
    "memory": ["memory"],
    "memory-locked": ["memory", "--lock-memory"],
}
JUDGED = ("pool", "pool_beat", "isolated")
HOPELESS = "memory"
LOADS = ("quiet", "background")
PERIOD_US = 1000
PRIORITY = 60
MOST_MORE = 0.001
SKIPPED = 77

Case = tuple[str, str, str]
"""What is beside the loop, the load, and the way."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=3, help="turns of each (%(default)s)")
    parser.add_argument(
        "--only", type=some_of(WAYS), default=WAYS, metavar="A,B", help="and by_hand (all of them)"
    )
    parser.add_argument(
        "--beside", type=some_of(KINDS), default=tuple(KINDS), metavar="A,B", help="(all of them)"
    )
    parser.add_argument(
        "--loads", type=some_of(LOADS), default=LOADS, metavar="A,B", help="(quiet,background)"
    )
    parser.add_argument(
        "--cycles", type=positive, default=2000, help="of a turn, at least 2 (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    stay_on_this_machine()
    if not may_use_realtime(PRIORITY):
        print("SCHED_FIFO is not permitted: docs/how-to/real-time-permissions.md", file=sys.stderr)
        return SKIPPED
    ways = [way for way in WAYS if way in ("by_hand", *arguments.only)]
    turns: dict[Case, list[dict[str, Any]]] = {}
    try:
        for number in range(arguments.rounds):
            first = number % len(ways)
            for kind in arguments.beside:
                with _disturber(KINDS[kind][0]) as name:
                    for way in (*ways[first:], *ways[:first]):
                        for load in arguments.loads:
                            turn = _turn(way, load, [*KINDS[kind], "--name", name], arguments)
                            turns.setdefault((kind, load, way), []).append(turn)
            print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    except (OSError, subprocess.SubprocessError, ProgramError) as error:
        print(error, getattr(error, "stderr", None) or "", file=sys.stderr)
        return 1
    order = [(kind, load, way) for kind in arguments.beside for load in LOADS for way in ways]
    rows = [_row(case, turns[case]) for case in order if case in turns]
    _print(rows)
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return _judge(rows)


def _program() -> Path:
    return folder() / "control_loop"


@contextlib.contextmanager
def _disturber(kind: str) -> Iterator[str]:
    """Make what is beside the loop run while the block runs, whoever has it."""
    name = f"control_loop_{os.getpid()}"
    if kind == "memory":  # pages that another process has as well are not taken
        yield name
        return
    with subprocess.Popen(
        [_program(), "--disturb", kind, "--name", name],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as disturber:
        try:
            yield name
        finally:
            assert disturber.stdin is not None
            disturber.stdin.close()
            try:
                disturber.wait(timeout=30)
            except subprocess.TimeoutExpired:
                disturber.kill()


def _turn(way: str, load: str, beside: list[str], arguments: argparse.Namespace) -> dict[str, Any]:
    command = [*ends_with_us(), str(_program()), "--way", way, "--cycles", str(arguments.cycles)]
    each = {"each": 0} if load == "quiet" else {}
    with BackgroundLoad(os.sched_getaffinity(0), **each):
        done = subprocess.run(
            [*command, "--beside", *beside],
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
    turn: dict[str, Any] = json.loads(done.stdout)
    return turn


def _row(case: Case, turns: list[dict[str, Any]]) -> dict[str, Any]:
    kind, load, way = case
    gaps_us = [
        (after - before) / 1000 for turn in turns for before, after in pairwise(turn["starts_ns"])
    ]
    jitters_us = sorted(abs(gap - PERIOD_US) for gap in gaps_us)
    missed = sum(max(0, round(gap / PERIOD_US) - 1) for gap in gaps_us)
    due = len(gaps_us) + missed
    elapsed_s = sum(gaps_us) / 1e6
    return {
        "beside": kind,
        "load": load,
        "way": way,
        "cycles": due,
        "p50_us": percentile(jitters_us, 0.5),
        "p99_us": percentile(jitters_us, 0.99),
        "max_us": jitters_us[-1],
        "quantiles_us": [round(us, 1) for us in quantiles(jitters_us)],
        "missed": missed,
        "missed_share": missed / due,
        "far_share": sum(jitter > PERIOD_US / 2 for jitter in jitters_us) / due,
        "faults_per_s": sum(turn["faults"] for turn in turns) / elapsed_s,
        "others_per_s": sum(turn["others"] for turn in turns) / elapsed_s,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["way"] == "by_hand":
            print(f"\nbeside {row['beside']}, {row['load']}: jitter, us")
            print(
                f"  {'':14} {'50 %':>8} {'99 %':>9} {'max':>9} {'missed':>15} {'others/s':>9}"
                f" {'faults/s':>9}"
            )
        half, most = (_shown(row[key]) for key in ("p50_us", "p99_us"))
        print(
            f"  {row['way']:14} {half:>8} {most:>9} {row['max_us']:9.1f} "
            f"{row['missed']:6} of {row['cycles']:5} {row['others_per_s']:9.1f}"
            f" {row['faults_per_s']:9.1f}"
        )


def _shown(us: float | None) -> str:
    return "-" if us is None else f"{us:.1f}"


def _judge(rows: list[dict[str, Any]]) -> int:
    all_met = True
    print("\nTargets")
    floor = {(row["beside"], row["load"]): row for row in rows if row["way"] == "by_hand"}
    for row in rows:
        if row["way"] not in JUDGED or row["beside"] == HOPELESS:
            continue
        for key, what in (("missed_share", "missed"), ("far_share", "jitter above 0.5 ms")):
            mine, least = row[key], floor[row["beside"], row["load"]][key]
            met = mine <= least + MOST_MORE
            all_met = all_met and met
            print(
                f"{'met   ' if met else 'MISSED'} {row['beside']}, {row['load']}, {row['way']}: "
                f"{what} {100 * mine:.2f} %, by_hand {100 * least:.2f} %"
            )
    return 0 if all_met else 1
