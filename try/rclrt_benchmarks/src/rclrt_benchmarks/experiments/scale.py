# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How executors grow: with callbacks and with messages a second.

All under SCHED_OTHER. Variants take turns within a row; all figures are medians of the rounds.

The engine alone, without ROS, beside a floor: a queue with a mutex, a condition variable and one
thread.

callbacks: one of N is released and waited for. Delay from release to start, and CPU time a job.
instructions: of a job of one of N callbacks, counted by valgrind: of the thread that releases it,
in notify(), and of the thread that runs it, from waking up until the job begins ("start"), and in
all until it sleeps again ("job"). They are the same on every run of the same build, whatever else
the machine does. Without valgrind it is left out.

Messages from another process, beside floors: the middleware's own thread runs the callback
("floor_listener"), or hands over to a thread that waits on a futex ("floor_handover"). With
rclcpp's executors on subscriptions of rclcpp, if it was found when this was built.

subscriptions: a message every 5 ms to one of N. Delay from publication to callback, CPU time of
the process a message.
messages: N messages a second, as far as the publisher gets ("sent"), to one subscription of depth
10. The same, and what was lost.

Growth is a figure of the largest N over that of the smallest.
"""

import argparse
import itertools
import re
import shutil
import statistics
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rclrt_benchmarks.harness.frame import (
    FailedError,
    Result,
    median,
    options,
    parsed,
    path_of,
    perform,
    table,
    turns,
)
from rclrt_benchmarks.harness.messages import ON_RCL, ON_RCLCPP, Messages, receive
from rclrt_benchmarks.harness.row import Judged, Machine, Row, at_most, stated
from rclrt_tools.arguments import positive, some_of
from rclrt_tools.statistics import percentile

VARIANTS = (
    "floor",
    "preemptive",
    "priority_events",
    "isolated",
    "preemptive_spin",
    "preemptive_adaptive",
)
SIZES = {
    "callbacks": (1, 10, 100, 1000, 10_000),
    "instructions": (1, 100),
    "subscriptions": (1, 10, 100, 1000),
    "messages": (10, 100, 1000, 10_000, 100_000),
}
SAMPLES = 300
COUNTED_VARIANTS = ("preemptive",)
# A thread for each: more is not what it is for.
MOST_ISOLATED = 100
# With messages, as the programs call them; "_default" is SCHED_OTHER.
LISTENER = "floor_listener"
OF_MESSAGES = {
    ON_RCL: (
        *(f"{name}_default" for name in (LISTENER, "floor_handover", "preemptive")),
        *(f"preemptive_{how}_default" for how in ("spin", "adaptive", "inline")),
        "wait_set_multi_default",
    ),
    ON_RCLCPP: (
        *(f"{name}_default" for name in (LISTENER, "floor_handover", "preemptive")),
        *(f"preemptive_{how}_default" for how in ("spin", "adaptive", "inline")),
        *(f"{name}_default" for name in ("priority_events", "isolated")),
        *(f"rclcpp_{name}" for name in ("single", "multi", "events")),
    ),
}
# What each experiment is about, and in which unit a nanosecond is shown.
MESSAGE_FIGURES = (
    ("p50_ns", "p50 us", 1000),
    ("p99_ns", "p99 us", 1000),
    ("cpu_ns", "CPU us", 1000),
)
FIGURES = {
    "callbacks": (("delays_ns", "start us", 1000), ("cpu_ns_a_job", "CPU us", 1000)),
    "instructions": (("notify", "notify", 1), ("start", "start", 1), ("work", "job", 1)),
    "subscriptions": MESSAGE_FIGURES,
    "messages": (*MESSAGE_FIGURES, ("lost_share", "lost %", 0.01), ("sent", "sent a second", 1)),
}
# Our own engine, from release to start: there is nobody to wake.
MAX_OWN_START_US = 3
# A thread that looks for work when that pays, or else its CPU time over that of one that blocks.
MAX_LOOKING_RATIO = 1.0
MAX_LOOKING_CPU = 1.05
# CPU time a message of the pool that blocks over that of rclcpp's events executor.
MAX_CPU_OF_EVENTS = 1.0
# Where there are too few messages for a CPU time, or so many that some are lost, nothing is judged.
FEWEST_JUDGED = 100
MOST_LOST_PERCENT = 1.0

Rows = dict[tuple[str, int], list[dict[str, Any]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser, rounds=3)
    parser.add_argument(
        "--only",
        type=some_of(SIZES),
        default=tuple(SIZES),
        metavar="A,B",
        help="of " + ",".join(SIZES),
    )
    parser.add_argument("--largest", type=positive, default=100_000, help="N (%(default)s)")


# Whose instructions are counted, with all that they call.
COUNTED = {"notify": "rclrt_core::Engine::notify*", "work": "rclrt_core::Engine::Impl::work*"}
FEW, MANY = 200, 700


def _collected(function: str, command: list[str]) -> int:
    """Return how many instructions valgrind has counted inside the function."""
    counted = subprocess.run(
        [
            "valgrind",
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            f"--toggle-collect={function}",
            *command,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
    )
    return int(re.findall(r"Collected : (\d+)", counted.stderr)[-1])


def _instructions(program: Path, variant: str, size: int) -> dict[str, Any]:
    """Count those of a job: what more jobs cost, without beginning and end."""

    def until(what: str, jobs: int, function: str) -> int:
        return _collected(function, [str(program), variant, what, str(size), str(jobs)])

    counted: dict[str, Any] = {
        name: (until("until-asleep", MANY, function) - until("until-asleep", FEW, function))
        / (MANY - FEW)
        for name, function in COUNTED.items()
    }
    work = COUNTED["work"]
    counted["start"] = until("until-start", FEW, work) - until("until-asleep", FEW, work)
    return counted


def _of_engine(part: str, variant: str, size: int) -> dict[str, Any]:
    program = path_of("engine_scale")
    if part == "instructions":
        return _instructions(program, variant, size)
    row: dict[str, Any] = parsed(program, variant, part, size, SAMPLES)
    return {
        name: statistics.median(value) if isinstance(value, list) else value
        for name, value in row.items()
    }


def _measure_engine(part: str, sizes: list[int], rounds: int) -> Rows:
    found: Rows = {}
    is_counted = part == "instructions"
    variants, rounds = (COUNTED_VARIANTS, 1) if is_counted else (VARIANTS, rounds)
    for order in turns(variants, rounds):
        for variant, size in itertools.product(order, sizes):
            if variant == "isolated" and size > MOST_ISOLATED:
                continue
            found.setdefault((variant, size), []).append(_of_engine(part, variant, size))
    return found


def _of_messages(slice_: dict[str, Any]) -> dict[str, Any]:
    delays = sorted(slice_["delays_ns"])
    return {
        "p50_ns": percentile(delays, 0.50),
        "p99_ns": percentile(delays, 0.99),
        "cpu_ns": slice_["cpu_ns_a_message"],
        "lost_share": 1 - len(delays) / slice_["published"],
        "sent": slice_["published_a_second"],
    }


def _measure_messages(part: str, sizes: list[int], rounds: int) -> Rows:
    try:
        program = path_of(ON_RCLCPP).name
    except FailedError:
        program = ON_RCL
    found: Rows = {}
    for size in sizes:
        if part == "subscriptions":
            # Until all are there, messages wait.
            messages = Messages(5000, samples=100, warm_up=40, rounds=rounds, idle=size - 1)
        else:
            samples = min(10_000, max(10, size // 3))
            messages = Messages(
                1_000_000 // size, samples, warm_up=max(2, samples // 10), rounds=rounds
            )
        for slice_ in receive(program, OF_MESSAGES[program], messages)[0]:
            name = slice_["variant"].removesuffix("_default")
            found.setdefault((name, size), []).append(_of_messages(slice_))
    return found


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge)


def _measure(arguments: argparse.Namespace) -> Result:
    rows = []
    for part in arguments.only:
        if part == "instructions" and not shutil.which("valgrind"):
            print("instructions: left out, because valgrind was not found")
            continue
        sizes = [size for size in SIZES[part] if size <= arguments.largest]
        measure = _measure_messages if part in ("subscriptions", "messages") else _measure_engine
        rows += _rows(part, sizes, measure(part, sizes, arguments.rounds))
    return {"rows": rows}


def _rows(part: str, sizes: list[int], found: Rows) -> list[Result]:
    rows = []
    for figure, title, unit in FIGURES[part]:
        for variant in dict.fromkeys(name for name, _ in found):
            values = {}
            for size in sizes:
                value = median(row[figure] for row in found.get((variant, size), []))
                if value is not None:
                    values[size] = value / unit
            growth = None
            if len(values) > 1 and values[min(values)] > 0:
                growth = values[max(values)] / values[min(values)]
            row = {"part": part, "figure": title, "variant": variant, "growth": growth}
            rows += [
                {**row, "size": size, "rounds": len(found[variant, size]), "value": value}
                for size, value in values.items()
            ]
    return rows


def _show(result: Result) -> None:
    for (part, figure), group in itertools.groupby(
        result["rows"], lambda row: (row["part"], row["figure"])
    ):
        lines: dict[str, dict[str, Any]] = {}
        for row in group:
            line = lines.setdefault(row["variant"], {"N": row["variant"], "growth": row["growth"]})
            line[str(row["size"])] = row["value"]
        names = [name for name in (str(size) for size in SIZES[part]) if _is_in(name, lines)]
        columns = [(name, name, ".2f") for name in (*names, "growth")]
        table(lines.values(), ("N", "N", ""), *columns, title=f"{part}: {figure}")


def _is_in(name: str, lines: Mapping[str, Mapping[str, Any]]) -> bool:
    return any(name in line for line in lines.values())


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge what looking for work gains and costs, and what a message costs the pool."""
    value = {
        (row["part"], row["figure"], row["variant"], row["size"]): row["value"]
        for row in result["rows"]
    }

    def ratio(figure: str, mine: str, other: str, size: int) -> float | None:
        above = value.get(("messages", figure, mine, size))
        below = value.get(("messages", figure, other, size))
        return above / below if above is not None and below else None

    found: list[Row] = []
    own = value.get(("callbacks", "start us", "preemptive_spin", 1))
    if own is not None:
        limit = f"at most {MAX_OWN_START_US} us"
        what = "release to start without a wake-up, us"
        found.append(at_most(what, own, MAX_OWN_START_US, shape=limit))
    for size in SIZES["messages"]:
        lost = [
            value.get(("messages", "lost %", name, size), 0.0)
            for name in ("preemptive", "preemptive_adaptive", "rclcpp_events")
        ]
        if size < FEWEST_JUDGED or max(lost) > MOST_LOST_PERCENT:
            continue
        cpu = ratio("CPU us", "preemptive", "rclcpp_events", size)
        if cpu is not None:
            what = f"{size} a second: preemptive CPU / rclcpp_events"
            found.append(at_most(what, cpu, MAX_CPU_OF_EVENTS, shape="no more CPU time"))
        pays = ratio("p50 us", "preemptive_adaptive", LISTENER, size)
        price = ratio("CPU us", "preemptive_adaptive", "preemptive", size)
        if pays is not None and price is not None:
            found.append(
                stated(
                    f"{size} a second: preemptive_adaptive, p50 / listener, or CPU / preemptive",
                    "-",
                    f"{pays:.2f}, {price:.2f}",
                    f"at most {MAX_LOOKING_RATIO}, or {MAX_LOOKING_CPU}",
                    pays <= MAX_LOOKING_RATIO or price <= MAX_LOOKING_CPU,
                )
            )  # fmt: skip
    return Judged(found)
