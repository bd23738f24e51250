# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Delay from publication to start of the callback, between two processes.

Every executor takes turns with two floors on the same subscriptions in the same process: the
callback run by the middleware's own thread (listener), and that plus one bare futex hand-over to a
waiting SCHED_FIFO thread (hand-over). All of them run with the middleware's threads (SCHED_FIFO 51)
above the workers (50); what ends in "default" has SCHED_OTHER everywhere instead, and the workers
of "pool_edf" are ordered by deadline (FIFO bands). Callbacks of "pool_inline" run on the
middleware's thread. With ten subscriptions, executors of one thread
get one instance each.

Where rclcpp was found, its executors and ours follow on subscriptions of rclcpp, first all under
SCHED_OTHER ("default" for ours), then with the priorities above ("fifo" for rclcpp's). These do not
take turns: each has a subscription of its own, beside the idle ones of the case (up to 100), and
one message after another goes to each of them, so that what else the machine does falls on all.
"floor_handover_rclcpp" is the bare hand-over to a thread that has rclcpp execute the subscription.
Pools that look for work are held against rclcpp's events executor by turns: a CPU that is kept
awake would be a gift to whoever is measured beside it. Only turns have CPU times.

Callbacks on the middleware's thread are held against the listener together, too.

Percentiles are of all rounds together; one that has too few samples (100 for the 99th) is not
given ("-", null) and not judged. Ratios (p50/h, p99/h) are to the hand-over floor of the same case.

Exits with 1 when a target is missed or the experiment fails, with 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import number_from, positive, some_of, writable_file
from rclrt_analysis.statistics import percentile, quantiles
from rclrt_analysis.workloads.messages import (
    ON_RCL,
    ON_RCLCPP,
    Messages,
    folder,
    receive,
    stay_on_this_machine,
)

LISTENER = "floor_listener"
HANDOVER = "floor_handover"
OURS = ("pool", "events", "isolated")
MAX_P50_RATIO = 1.3
MAX_P99_RATIO = 1.5
MAX_FAN_OUT_RATIO = 0.6
# By deadline (FIFO bands) over by priority, medians.
MAX_EDF_RATIO = 1.5
# On the middleware's thread, over the bare listener, medians.
MAX_INLINE_RATIO = 1.05
# Of a thread that looks for work: over the bare listener, medians; over the events executor.
MAX_LOOKING_RATIO = 1.0
MAX_LOOKING_OF_EVENTS = 0.8
MAX_LOOKING_P99_OF_EVENTS = 1.0
# CPU time a message of the pool that blocks, over that of the events executor.
MAX_CPU_OF_EVENTS = 1.0
# What an executor adds to the listener, as a share of what executors of rclcpp add.
MAX_OF_EVENTS_EXECUTOR = 0.7
MAX_OF_MULTI_THREADED = 0.25


@dataclass(frozen=True)
class Case:
    """What is subscribed."""

    name: str
    subscriptions: int
    idle: int

    @property
    def skipped(self) -> tuple[str, ...]:
        """Executors that would measure the same as another one."""
        return () if self.subscriptions > 1 else ("waitset_multi_10",)


CASES = (
    Case("1 subscription", 1, 0),
    Case("1 + 100 idle", 1, 100),
    Case("1 + 1000 idle", 1, 1000),
    Case("10 subscriptions", 10, 0),
)
EXECUTORS = (
    "pool",
    "pool_edf",
    "events",
    "isolated",
    "waitset_single",
    "waitset_multi",
    "waitset_multi_10",
    "pool_inline",
    "pool_spin",
    "pool_adaptive",
    "pool_default",
    "pool_inline_default",
    "pool_spin_default",
    "pool_adaptive_default",
    "waitset_multi_default",
    "static",
    "events_fifo",
)
FLOORS = (LISTENER, HANDOVER, f"{LISTENER}_default", f"{HANDOVER}_default")
# On subscriptions of rclcpp, by policy: what is measured together, and what ends its names.
RCLCPP = (
    (
        "SCHED_OTHER",
        "_default",
        "",
        (
            f"{LISTENER}_default",
            f"{HANDOVER}_default",
            f"{HANDOVER}_rclcpp_default",
            *(f"{name}_default" for name in OURS),
            "rclcpp_single",
            "rclcpp_multi",
            "rclcpp_events",
        ),
    ),
    (
        "SCHED_FIFO",
        "",
        "_fifo",
        (
            LISTENER,
            HANDOVER,
            f"{HANDOVER}_rclcpp",
            *OURS,
            "rclcpp_multi_fifo",
            "rclcpp_events_fifo",
        ),
    ),
)
# Each of them has as many.
MAX_RCLCPP_IDLE = 100
# What adds so little that turns of seconds would hide it, by policy.
INLINE = (("SCHED_FIFO", ""), ("SCHED_OTHER", "_default"))
# By turns, on subscriptions of rclcpp; by policy, what ends the names of ours, and against whom.
LOOKING = ("pool_spin", "pool_adaptive")
RCLCPP_TURNS = (
    ("SCHED_OTHER", "_default", "rclcpp_events"),
    ("SCHED_FIFO", "", "rclcpp_events_fifo"),
)


def _cases(text: str) -> tuple[Case, ...]:
    numbers = [positive(number) for number in text.split(",")]
    if max(numbers) > len(CASES):
        raise argparse.ArgumentTypeError(f"there are {len(CASES)} cases")
    return tuple(CASES[number - 1] for number in numbers)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each (%(default)s)")
    parser.add_argument(
        "--samples", type=positive, default=500, help="messages per turn (%(default)s)"
    )
    parser.add_argument(
        "--warm-up",
        type=positive,
        default=50,
        help="messages at the start of each turn that do not count (%(default)s)",
    )
    parser.add_argument(
        "--period-ms",
        type=number_from(0.1, 10_000, "ms"),
        default=2.0,
        help="of the publisher, 0.1 to 10000 (%(default)s)",
    )
    parser.add_argument(
        "--cases",
        type=_cases,
        default=CASES,
        help="numbers with commas between: "
        + "; ".join(f"{i} is {case.name}" for i, case in enumerate(CASES, 1)),
    )
    parser.add_argument(
        "--executors", type=some_of(EXECUTORS), default=EXECUTORS, help="of " + ",".join(EXECUTORS)
    )


@dataclass(frozen=True)
class Delays:
    """Of one executor or floor in one case, in microseconds, sorted; by round and all."""

    rounds: list[list[float]]
    all: list[float]
    middleware: str
    other_threads: str
    cpu_us: float | None = None
    """CPU time of the process a message; unknown of those that are measured together."""

    @property
    def p50(self) -> float | None:
        """Median."""
        return percentile(self.all, 0.50)

    @property
    def p99(self) -> float | None:
        """99 % are not above."""
        return percentile(self.all, 0.99)


def measure(
    program: str,
    case: Case,
    variants: Sequence[str],
    arguments: argparse.Namespace,
    together: bool = False,
) -> tuple[dict[str, Delays], str]:
    """Run one case, by turns or `together`.

    Returns the delays by executor and floor, and the publisher's policy.
    """
    messages = Messages(
        period_us=round(arguments.period_ms * 1000),
        samples=arguments.samples,
        warm_up=arguments.warm_up,
        rounds=arguments.rounds,
        subscriptions=case.subscriptions,
        idle=case.idle,
        together=together,
    )
    slices, publisher_policy = receive(program, variants, messages)
    return {name: _delays(slices, name) for name in variants}, publisher_policy


def _delays(slices: Sequence[dict[str, Any]], name: str) -> Delays:
    mine = [item for item in slices if item["variant"] == name]
    rounds = [sorted(value / 1000 for value in item["delays_ns"]) for item in mine]
    return Delays(
        rounds=rounds,
        all=sorted(value for values in rounds for value in values),
        middleware=mine[0]["middleware"],
        other_threads=mine[0]["other_threads"],
        cpu_us=_cpu_us(mine),
    )


def _cpu_us(slices: Sequence[dict[str, Any]]) -> float | None:
    known = [item["cpu_ns_a_message"] / 1000 for item in slices if "cpu_ns_a_message" in item]
    return percentile(sorted(known), 0.50)


def _ratio(mine: float | None, other: float | None) -> float | None:
    return None if mine is None or other is None else mine / other


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _text(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def row(case: Case, name: str, of: dict[str, Delays], policy: str = "") -> dict[str, Any]:
    """Return what is written for one executor in one case, beside the floors of that policy."""
    mine, listener, handover = of[name], of[LISTENER + policy], of[HANDOVER + policy]
    return {
        "executor": name,
        "case": case.name,
        "n": len(mine.all),
        "p50_us": _rounded(mine.p50, 2),
        "p99_us": _rounded(mine.p99, 2),
        "cpu_us_per_message": _rounded(mine.cpu_us, 2),
        "floor_listener_p50_us": _rounded(listener.p50, 2),
        "floor_handover_p50_us": _rounded(handover.p50, 2),
        "floor_handover_p99_us": _rounded(handover.p99, 2),
        "ratio_p50": _rounded(_ratio(mine.p50, handover.p50), 3),
        "ratio_p99": _rounded(_ratio(mine.p99, handover.p99), 3),
        "max_us": _rounded(mine.all[-1], 2),
        "quantiles_us": [round(value, 2) for value in quantiles(mine.all)],
        "rounds_p50_us": [_rounded(percentile(values, 0.50), 2) for values in mine.rounds],
        "rounds_p99_us": [_rounded(percentile(values, 0.99), 2) for values in mine.rounds],
        "middleware_threads": mine.middleware,
        "other_threads": mine.other_threads,
    }


def rclcpp_verdicts(of: dict[str, Delays], ours: str, theirs: str) -> list[str]:
    """Hold what ours add to the listener against what rclcpp's add; with these ends of names."""

    def adds(name: str) -> float | None:
        mine, listener = of[name].p50, of[LISTENER + ours].p50
        return None if mine is None or listener is None else mine - listener

    lines = []
    for name in (f"{HANDOVER}_rclcpp", *OURS):
        for other, limit in (
            ("rclcpp_events", MAX_OF_EVENTS_EXECUTOR),
            ("rclcpp_multi", MAX_OF_MULTI_THREADED),
        ):
            mine, base = adds(name + ours), adds(other + theirs)
            if mine is not None and base is not None:
                what = f"{name}{ours} adds / {other}{theirs} adds"
                ratio = mine / max(base, 0.1)
                lines.append(
                    _verdict(what, ratio, limit)
                    if name in OURS
                    else f"  floor   {what} {ratio:.2f}"
                )
    return lines


def waiting_verdicts(of: dict[str, Delays], ours: str, events: str = "") -> list[str]:
    """Hold pools that need no thread to be woken against the listener, and the events executor."""
    listener = of[LISTENER + ours]
    lines = []
    for name in (name + ours for name in LOOKING):
        if name not in of:
            continue
        judged = [(f"{name} p50 / listener", _ratio(of[name].p50, listener.p50), MAX_LOOKING_RATIO)]
        if events:
            p50, p99 = of[events].p50, of[events].p99
            judged += [
                (f"{name} p50 / {events}", _ratio(of[name].p50, p50), MAX_LOOKING_OF_EVENTS),
                (f"{name} p99 / {events}", _ratio(of[name].p99, p99), MAX_LOOKING_P99_OF_EVENTS),
            ]
        lines += [_verdict(what, ratio, most) for what, ratio, most in judged if ratio is not None]
    pool = f"pool{ours}"
    cpu = _ratio(of[pool].cpu_us, of[events].cpu_us) if events and pool in of else None
    if cpu is not None:
        lines.append(_verdict(f"{pool} CPU / {events}", cpu, MAX_CPU_OF_EVENTS))
    return lines


def inline_verdicts(of: dict[str, Delays], ours: str) -> list[str]:
    """Hold callbacks on the middleware's thread against the listener."""
    ratio = _ratio(of[f"pool_inline{ours}"].p50, of[LISTENER + ours].p50)
    what = f"pool_inline{ours} p50 / listener"
    return [] if ratio is None else [_verdict(what, ratio, MAX_INLINE_RATIO)]


def verdicts(case: Case, of: dict[str, Delays]) -> list[str]:
    """Hold one case against the targets, one line each."""
    lines = []
    floor = of[HANDOVER]
    for name in OURS:
        if name not in of:
            continue
        for what, ratio, limit in (
            ("p50", _ratio(of[name].p50, floor.p50), MAX_P50_RATIO),
            ("p99", _ratio(of[name].p99, floor.p99), MAX_P99_RATIO),
        ):
            if ratio is not None:
                lines.append(_verdict(f"{name} {what} / hand-over floor", ratio, limit))
    if "pool_edf" in of and "pool" in of:
        ratio = _ratio(of["pool_edf"].p50, of["pool"].p50)
        if ratio is not None:
            lines.append(_verdict("pool_edf p50 / pool", ratio, MAX_EDF_RATIO))
    if case.subscriptions == 1:
        for ours in ("", "_default"):
            lines += waiting_verdicts(of, ours)
    equal = [of[name].p50 for name in ("waitset_multi", "waitset_multi_10") if name in of]
    known = [value for value in equal if value is not None]
    default = of["waitset_multi_default"].p50 if "waitset_multi_default" in of else None
    if case.subscriptions > 1:
        for name, what, other in (
            ("pool", "better waitset_multi", min(known, default=None)),
            ("pool_default", "waitset_multi_default", default),
        ):
            ratio = _ratio(of[name].p50, other) if name in of else None
            if ratio is not None:
                lines.append(_verdict(f"{name} p50 / {what}", ratio, MAX_FAN_OUT_RATIO))
    return lines


def _verdict(what: str, ratio: float, limit: float) -> str:
    return f"  {'met   ' if ratio <= limit else 'MISSED'}  {what:34} {ratio:5.2f}  (<= {limit})"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return "unknown"


def conditions() -> dict[str, Any]:
    """Return what the numbers depend on."""
    return {
        "kernel": os.uname().release,
        "cpus": os.cpu_count(),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "sched_rt_runtime_us": _read("/proc/sys/kernel/sched_rt_runtime_us"),
        "load_before": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def print_case(case: Case, of: dict[str, Delays], policy: str = "") -> None:
    """Print the table of one case; ratios are to the hand-over floor of that policy."""
    print(f"\n{case.name}")
    titles = ("n", "p50 us", "p99 us", "max us", "p50/h", "p99/h", "CPU us")
    print(f"  {'':29}", *(title.rjust(9) for title in titles), "  p50 of each round")
    floor = of[HANDOVER + policy]
    for name, mine in of.items():
        rounds = " ".join(_text(percentile(values, 0.50), 0) for values in mine.rounds)
        print(
            f"  {name:29} {len(mine.all):9} {_text(mine.p50, 1):>9} {_text(mine.p99, 1):>9}"
            f" {mine.all[-1]:9.1f}"
            f" {_text(_ratio(mine.p50, floor.p50), 2):>9}"
            f" {_text(_ratio(mine.p99, floor.p99), 2):>9}"
            f" {_text(mine.cpu_us, 1):>9}   {rounds}"
        )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    stay_on_this_machine()
    where = conditions()
    print(
        f"kernel {where['kernel']}, {where['cpus']} CPUs, governor {where['governor']}, "
        f"sched_rt_runtime_us {where['sched_rt_runtime_us']}, load {where['load_before']:.2f}"
    )
    print(
        f"{arguments.rounds} rounds of {arguments.samples} messages per executor and subscription, "
        f"every {arguments.period_ms:g} ms; the first {arguments.warm_up} of each turn do not count"
    )
    rows = []
    judgements = []
    for case in arguments.cases:
        try:
            executors = (name for name in arguments.executors if name not in case.skipped)
            variants = (*FLOORS, *executors)
            of, where["publisher"] = measure(ON_RCL, case, variants, arguments)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{case.name}: {error}", file=sys.stderr)
            return 1
        print_case(case, of)
        rows += [row(case, name, of) for name in of]
        judgements += [f"{case.name}:", *verdicts(case, of)]
    for policy, ours in INLINE if CASES[0] in arguments.cases else ():
        case = Case(f"1 subscription, together, {policy}", 1, 0)
        variants = (*(f"{name}{ours}" for name in (LISTENER, HANDOVER, "pool", "pool_inline")),)
        try:
            of, _ = measure(ON_RCL, case, variants, arguments, together=True)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{case.name}: {error}", file=sys.stderr)
            return 1
        print_case(case, of, ours)
        rows += [row(case, name, of, ours) for name in of]
        judgements += [f"{case.name}:", *inline_verdicts(of, ours)]
    if not (folder() / ON_RCLCPP).exists():
        print("\nrclcpp: not measured, because it was not found when this was built")
    else:
        idles = sorted({case.idle for case in arguments.cases if case.idle <= MAX_RCLCPP_IDLE})
        for idle, (policy, ours, theirs, variants) in itertools.product(idles, RCLCPP):
            case = Case(f"rclcpp, 1 subscription beside {idle} idle, {policy}", 1, idle)
            try:
                of, _ = measure(ON_RCLCPP, case, variants, arguments, together=True)
            except (OSError, subprocess.SubprocessError) as error:
                print(f"{case.name}: {error}", file=sys.stderr)
                return 1
            print_case(case, of, ours)
            rows += [row(case, name, of, ours) for name in of]
            judgements += [f"{case.name}:", *rclcpp_verdicts(of, ours, theirs)]
        for policy, ours, events in RCLCPP_TURNS:
            case = Case(f"rclcpp, 1 subscription, by turns, {policy}", 1, 0)
            waiting = (f"{name}{ours}" for name in ("pool", *LOOKING))
            variants = (LISTENER + ours, HANDOVER + ours, *waiting, events)
            try:
                of, _ = measure(ON_RCLCPP, case, variants, arguments)
            except (OSError, subprocess.SubprocessError) as error:
                print(f"{case.name}: {error}", file=sys.stderr)
                return 1
            print_case(case, of, ours)
            rows += [row(case, name, of, ours) for name in of]
            judgements += [f"{case.name}:", *waiting_verdicts(of, ours, events)]
    where["load_after"] = os.getloadavg()[0]
    print(f"\npublisher under {where['publisher']}; load afterwards {where['load_after']:.2f}")
    print("\nTargets")
    print("\n".join(judgements))
    if arguments.json:
        text = json.dumps({"schema": 1, "environment": where, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 1 if any("MISSED" in line for line in judgements) else 0
