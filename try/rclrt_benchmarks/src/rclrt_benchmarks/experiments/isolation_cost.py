# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a thread for each callback costs: system calls, context switches, memory [CIE25 Fig. 5].

N timers that publish every 10 ms and N subscriptions, each in a group of its own, in one process
(messages by pointer) and in two (figures of both added up); under SCHED_OTHER. The timers are
spread over the period; in one process also in phase, all due at once. Mode switches are counted as
system calls, by the kernel's tracepoint, for which this must be root or have CAP_PERFMON and a
readable /sys/kernel/tracing; without, the other figures are there. Executors take turns in rounds.
"""

import argparse
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rclrt_analysis.plots import Plot
from rclrt_benchmarks.harness.frame import (
    FailedError,
    Result,
    median,
    options,
    path_of,
    perform,
    table,
    turns,
)
from rclrt_benchmarks.harness.row import FAILS, Judged, Machine, Row, at_most, open_row, ratio_of
from rclrt_tools.arguments import number_from, positive

EXECUTORS = ("single", "multi", "isolated", "preemptive", "priority_events")
COUNTS = (1, 4, 8, 12, 16, 20, 24)
IN_PHASE = "one process, in phase"
PROCESSES = {
    "one process": ("both",),
    "two processes": ("subscriber", "publisher"),
    IN_PHASE: ("both",),
}
FIGURES = {
    "system_calls": ("mode switches", "a second"),
    "context_switches": ("context switches", "a second"),
    "pss_kib": ("memory (PSS)", "KiB"),
}
EVENT = "events/raw_syscalls/sys_enter/id"
TRACING = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
PATIENCE_S = 90.0
# Isolated / single-threaded, as the paper's text has it.
PAPER = {"one process": 5.0, "two processes": 1.4}
NOT_COUNTED = "system calls cannot be counted here: /sys/kernel/tracing (tracefs) and CAP_PERFMON"
PAPER_THREADS = 16
ABOUT = 1.1
FLAT = 1.25
"""The ratio to single-threaded with the most callbacks, over that with the fewest above one."""

MESSAGES_A_SECOND = 100
"""For each callback."""

Rows = Mapping[tuple[str, int, str], Mapping[str, Any]]


def _counts(text: str) -> tuple[int, ...]:
    found = tuple(positive(word) for word in text.split(","))
    if max(found) > 200:
        raise argparse.ArgumentTypeError(f"{text}: at most 200 callbacks")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser, rounds=3)
    parser.add_argument(
        "--seconds", type=number_from(0.05, 3600, "s"), default=2.0, help="of a turn (%(default)g)"
    )
    parser.add_argument(
        "--callbacks", type=_counts, default=COUNTS, metavar="A,B",
        help="(" + ",".join(map(str, COUNTS)) + ")",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge)


def _measure(arguments: argparse.Namespace) -> Result:
    event = tracepoint()
    if event is None:
        print("system calls are not counted: /sys/kernel/tracing cannot be read (tracefs)")
    found: dict[tuple[str, int, str], list[dict[str, float]]] = {}
    for order in turns(EXECUTORS, arguments.rounds):
        for where in PROCESSES:
            for count in arguments.callbacks:
                for name in order:
                    turn = _turn(name, where, count, arguments.seconds, event)
                    found.setdefault((where, count, name), []).append(turn)
    return {"rows": [_row(*key, of) for key, of in found.items()]}


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
    command = [str(path_of("isolation_cost")), "--executor", name, "--callbacks", str(count)]
    command += ["--seconds", str(seconds), "--topic", f"isolation_{os.getpid()}"]
    command += [] if event is None else ["--event", str(event)]
    command += ["--in-phase"] if where == IN_PHASE else []
    processes = [
        subprocess.Popen(
            [*command, "--role", role], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for role in PROCESSES[where]
    ]
    about = f"{name}, {count} callbacks, {where}"
    try:
        if any(_line(process) != "ready\n" for process in processes):
            raise FailedError(f"{about}: it does not become ready")
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        results = [json.loads(_line(process) or "null") for process in processes]
        if any(result is None for result in results):
            raise FailedError(f"{about}: it has measured nothing")
        # Each stays until all have measured: a process that ends is missed by the others.
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


def _row(where: str, count: int, name: str, of: list[dict[str, float]]) -> Result:
    figures = {key: median(turn[key] for turn in of) for key in of[0]}
    return {"where": where, "callbacks": count, "executor": name, **figures}


def _show(result: Result) -> None:
    table(
        result["rows"], ("", "where", ""), ("N", "callbacks", "d"), ("executor", "executor", ""),
        ("system calls", "system_calls", ".0f"), ("switches", "context_switches", ".0f"),
        ("PSS, KiB", "pss_kib", ".0f"), ("received", "received", ".0f"),
        title="a second, medians of the rounds",
    )  # fmt: skip


def judge(result: Mapping[str, Any], machine: Machine) -> Judged:
    """Judge every figure, in one process and in two."""
    rows: Rows = {(r["where"], r["callbacks"], r["executor"]): r for r in result["rows"]}
    found: list[Row] = []
    plots = []
    for where in PAPER:
        counts = sorted({count for place, count, _ in rows if place == where})
        for key, (name, unit) in FIGURES.items():
            title = f"{name}, {where}"
            if any(key not in row for row in rows.values()):
                found.append(open_row(title, "a figure", "isolated below multi", NOT_COUNTED))
                continue
            judged = _figure(rows, where, counts, key, title)
            for row in judged:
                if row.verdict == FAILS and key != "pss_kib":
                    row.why = f"for each message, {_for_each_message(rows, where, counts, key)}"
            if key == "pss_kib" and judged[0].verdict == FAILS:
                judged[0].why = (
                    f"the multi-threaded executor has a thread for each CPU: {machine.cpus} here, "
                    f"{PAPER_THREADS} in the paper; isolated has one for each callback"
                )
            found += judged
            curves = {
                who: [rows[where, count, who][key] for count in counts]
                for who in dict.fromkeys(executor for _, _, executor in rows)
            }
            plots.append(Plot(title, unit, curves, xs=counts, x_name="callbacks"))
    found += _in_phase(rows)
    return Judged(found, plots)


def _in_phase(rows: Rows) -> list[Row]:
    """Judge timers that are due at once: what the paper does not say of its own."""
    counts = sorted({count for place, count, _ in rows if place == IN_PHASE})
    if not counts:
        return []
    key = "context_switches"
    ratios = _ratios(rows, IN_PHASE, counts, key, "isolated", "single")
    row = at_most(
        "context switches, timers in phase: isolated / single, worst N",
        max(ratios, default=None), PAPER["one process"], shape="bounded", paper="not said",
        ours=_span(ratios),
    )  # fmt: skip
    if row.verdict == FAILS:
        row.why = (
            "one wake-up serves all timers that are due together; a thread for each needs one each"
        )
        row.ahead = f"one thread for all is ahead of a thread for each: {row.ours} times fewer"
    return [row]


def _ratios(
    rows: Rows, where: str, counts: list[int], key: str, name: str, other: str
) -> list[float]:
    pairs = (ratio_of(rows[where, n, name][key], rows[where, n, other][key]) for n in counts)
    return [ratio for ratio in pairs if ratio is not None]


def _figure(rows: Rows, where: str, counts: list[int], key: str, title: str) -> list[Row]:
    found = []
    to_multi = _ratios(rows, where, counts, key, "isolated", "multi")
    is_exception = key == "system_calls" and where == "one process"
    row = at_most(
        f"{title}: isolated / multi, worst N", max(to_multi, default=None), 1.0,
        shape="isolated below multi everywhere but perhaps mode switches in one process",
        paper="a little above 1" if is_exception else "below 1",
        ours=_span(to_multi),
    )  # fmt: skip
    if not is_exception:
        found.append(row)
    if key == "pss_kib":
        return found
    to_single = _ratios(rows, where, counts, key, "isolated", "single")
    limit = PAPER[where]
    found.append(
        at_most(
            f"{title}: isolated / single, worst N", max(to_single, default=None), limit,
            shape="bounded", paper=f"within about {limit:g}", printed=limit, ours=_span(to_single),
        )
    )  # fmt: skip
    several = to_single[1:] if counts[0] == 1 else to_single
    flat = several[-1] / several[0] if len(several) > 1 else None
    found.append(
        at_most(
            f"{title}: isolated / single with {counts[-1]} callbacks / with few", flat, FLAT,
            shape="the same for any number of callbacks", paper="a fixed ratio",
        )
    )  # fmt: skip
    pool = _ratios(rows, where, counts, key, "preemptive", "isolated")
    found.append(
        at_most(
            f"{title}: ours at its best: preemptive / isolated, worst N",
            max(pool, default=None), ABOUT,
            shape="a pool of threads costs about the same", paper="-",
            ours=_span(pool),
        )
    )  # fmt: skip
    return found


def _for_each_message(rows: Rows, where: str, counts: list[int], key: str) -> str:
    """Return what an executor needs for a message, with the fewest callbacks and with the most."""
    each = {
        who: [rows[where, n, who][key] / (MESSAGES_A_SECOND * n) for n in (counts[0], counts[-1])]
        for who in ("isolated", "single", "multi", "preemptive")
    }
    return "; ".join(f"{who} {few:.1f}, {many:.1f}" for who, (few, many) in each.items()) + (
        f" (with {counts[0]} and {counts[-1]} callbacks)"
    )


def _span(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-"
