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
In turns, quiet and beside busy ordinary processes: executors as rclcpp has them (wait_set_single,
wait_set_multi, events_fifo); the second with SCHED_FIFO 50 for its whole process (process_fifo);
ours, with SCHED_FIFO 60 for the loop and nothing for the rest (isolated, preemptive,
preemptive_beat: with a beat of 200 us, priority_events, and priority_events_re: the thread that
waits for timers runs all of them, one after the other, so service, slow, leak and memory, which
have timers, hold up the loop); and a thread with SCHED_FIFO 60 that runs the loop by itself beside
wait_set_multi (by_hand): the least that anything can have.

A gap is the time between the starts of two cycles. Jitter is what it differs from the period by.
Cycles that are skipped since others took too long are missed. Faults are those that had to read.
"""

import argparse
import contextlib
import math
import os
import subprocess
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from rclrt_analysis.plots import Plot
from rclrt_benchmarks.harness.frame import (
    Result,
    needs_fifo,
    options,
    parsed,
    path_of,
    perform,
    summary,
    table,
    turns,
)
from rclrt_benchmarks.harness.row import FAILS, Judged, Machine, Row, stated
from rclrt_tools.arguments import positive, some_of
from rclrt_tools.reference.environment import BackgroundLoad

WAYS = (
    "by_hand", "preemptive", "preemptive_beat", "isolated", "priority_events", "priority_events_re",
    "process_fifo",
    "wait_set_multi", "wait_set_single", "events_fifo",
)  # fmt: skip
KINDS = {
    **{name: [name] for name in ("service", "flood", "slow", "parameters", "discovery", "leak")},
    "leak-locked": ["leak", "--lock-memory"],
    "memory": ["memory"],
    "memory-locked": ["memory", "--lock-memory"],
}
LOADS = ("quiet", "background")
PERIOD_US = 1000
PRIORITY = 60
HOPELESS = "memory"
NOWHERE = "not in a paper"
FLOOR, USUAL, PROCESS = "by_hand", "wait_set_multi", "process_fifo"
JUDGED = ("preemptive_beat", "preemptive", "isolated")
BEST = "priority_events_re"
# The thread that waits for timers runs all of them there, one after the other. Beside these kinds
# the loop is the only timer.
LONE_TIMER = ("flood", "parameters", "discovery")
MOST_MORE = 0.001
# One-sided, 5 %: a difference of fewer standard deviations is chance.
SURE = 1.645
PLOTTED = "background"

Case = tuple[str, str, str]
"""What is beside the loop, the load, and the way."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser, rounds=3)
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
    return perform(arguments, _measure, _show, judge)


def _measure(arguments: argparse.Namespace) -> Result:
    needs_fifo(PRIORITY)
    ways = [way for way in WAYS if way in (FLOOR, *arguments.only)]
    found: dict[Case, list[dict[str, Any]]] = {}
    for order in turns(ways, arguments.rounds):
        for kind in arguments.beside:
            with _disturber(KINDS[kind][0]) as name:
                for way in order:
                    for load in arguments.loads:
                        turn = _turn(way, load, [*KINDS[kind], "--name", name], arguments)
                        found.setdefault((kind, load, way), []).append(turn)
    every = [(kind, load, way) for kind in arguments.beside for load in LOADS for way in ways]
    return {"rows": [_row(case, found[case]) for case in every if case in found]}


@contextlib.contextmanager
def _disturber(kind: str) -> Iterator[str]:
    """Make what is beside the loop run while the block runs, whoever has it."""
    name = f"control_loop_{os.getpid()}"
    if kind == "memory":  # pages that another process has as well are not taken
        yield name
        return
    with subprocess.Popen(
        [path_of("control_loop"), "--disturb", kind, "--name", name],
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


def _turn(way: str, load: str, beside: list[str], arguments: argparse.Namespace) -> Result:
    each = {"each": 0} if load == "quiet" else {}
    with BackgroundLoad(os.sched_getaffinity(0), **each):
        turn: Result = parsed(
            path_of("control_loop"), "--way", way, "--cycles", arguments.cycles, "--beside", *beside
        )
    return turn


def _row(case: Case, of: list[dict[str, Any]]) -> dict[str, Any]:
    kind, load, way = case
    gaps_us = [
        (after - before) / 1000 for turn in of for before, after in pairwise(turn["starts_ns"])
    ]
    jitters_us = [abs(gap - PERIOD_US) for gap in gaps_us]
    missed = sum(max(0, round(gap / PERIOD_US) - 1) for gap in gaps_us)
    due = len(gaps_us) + missed
    elapsed_s = sum(gaps_us) / 1e6
    return {
        "beside": kind,
        "load": load,
        "way": way,
        "cycles": due,
        "missed": missed,
        "missed_share": missed / due,
        "far_share": sum(jitter > PERIOD_US / 2 for jitter in jitters_us) / due,
        "faults_per_s": sum(turn["faults"] for turn in of) / elapsed_s,
        "others_per_s": sum(turn["others"] for turn in of) / elapsed_s,
        **summary(jitters_us, "us", 1),
    }


def _show(result: Result) -> None:
    table(
        result["rows"], ("beside", "beside", ""), ("load", "load", ""), ("", "way", ""),
        ("50 %", "p50_us", ".1f"), ("99 %", "p99_us", ".1f"), ("max", "max_us", ".1f"),
        ("missed", "missed", "d"), ("of", "cycles", "d"),
        ("far, %", lambda row: 100 * row["far_share"], ".2f"),
        ("others/s", "others_per_s", ".1f"), ("faults/s", "faults_per_s", ".1f"),
        title="jitter, us; far: above half a period",
    )  # fmt: skip


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge a control loop of 1 kHz beside each disturbance."""
    cases: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in result["rows"]:
        cases.setdefault((row["beside"], row["load"]), {})[row["way"]] = row
    found: list[Row] = []
    plots = []
    for (kind, load), ways in cases.items():
        for mine in (*JUDGED, BEST):
            if mine not in ways or (mine == BEST and kind not in LONE_TIMER):
                continue
            prefix = "ours at its best: release-and-execute" if mine == BEST else mine
            name = f"{prefix}, control loop beside {kind}, {load}: cycles missed"
            found.append(_missed(name, mine, ways))
            if kind == HOPELESS:
                found[-1].refuse(
                    "no loop keeps its time without its code; locked memory is the cure"
                )
        if load == PLOTTED or len({load for _, load in cases}) == 1:
            curves = {way: row["quantiles_us"] for way, row in ways.items()}
            plots.append(Plot(f"control loop beside {kind}, {load}: jitter", "us", curves))
    return Judged(found, plots)


def _missed(name: str, way: str, ways: Mapping[str, Mapping[str, Any]]) -> Row:
    mine, floor = ways[way], ways[FLOOR]
    others = ", ".join(
        f"{other} {100 * ways[other]['missed_share']:.2f} %"
        for other in (FLOOR, PROCESS, USUAL)
        if other in ways
    )
    excess = mine["missed_share"] - floor["missed_share"] - MOST_MORE
    row = stated(
        name, NOWHERE, f"{100 * mine['missed_share']:.2f} % of {mine['cycles']} ({others})",
        "at most one in a thousand more than a thread that only runs the loop", excess <= 0,
    )  # fmt: skip
    chance = math.hypot(*(math.sqrt(one["missed"]) / one["cycles"] for one in (mine, floor)))
    if 0 < excess < SURE * chance:
        row.refuse(f"{100 * excess:.2f} % too many are within chance; --full runs more cycles")
    elif row.verdict == FAILS:
        row.why = _reason(way, ways)
    return row


def _reason(way: str, ways: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what the loop's jitter says of its misses."""
    return "half, 99 % and all of its jitters are within " + ", ".join(
        f"{_us(ways[other]['p50_us'])}, {_us(ways[other]['p99_us'])} and "
        f"{_us(ways[other]['max_us'])} us ({other})"
        for other in (way, FLOOR)
    )


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
