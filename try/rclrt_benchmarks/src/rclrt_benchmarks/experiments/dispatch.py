# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Delay from publication to start of the callback, between two processes [ROSRT Figs. 7, 8].

Every executor takes turns with two floors on the same subscriptions in the same process: the
callback run by the middleware's own thread (listener), and that plus one bare futex hand-over to a
waiting SCHED_FIFO thread (hand-over). All of them run with the middleware's threads (SCHED_FIFO 51)
above the workers (50); what ends in "default" has SCHED_OTHER everywhere instead, and the workers
of "preemptive_edf" are ordered by deadline (FIFO bands). Callbacks of "preemptive_inline" run on
the middleware's thread. With ten subscriptions, executors of one thread get one instance each.

Where rclcpp was found, its executors and ours follow on subscriptions of rclcpp, first all under
SCHED_OTHER ("default" for ours), then with the priorities above ("fifo" for rclcpp's). These do not
take turns: each has a subscription of its own, beside the idle ones of the case (up to 100), and
one message after another goes to each of them, so that what else the machine does falls on all.
"floor_handover_rclcpp" is the bare hand-over to a thread that has rclcpp execute the subscription.
Pools that look for work are held against rclcpp's events executor by turns: a CPU that is kept
awake would be a gift to the executor that is measured beside it. Only turns have CPU times.
Callbacks on the middleware's thread are held against the listener together, too. Last come
loads, by turns and with SCHED_OTHER: idle subscriptions, large messages, fan-outs, and rates.

Percentiles are of all rounds together; one that has too few samples (100 for the 99th) is not given
and not judged. Ratios (p50/h, p99/h) are to the hand-over floor of the same case.
"""

import argparse
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rclrt_analysis.plots import Plot
from rclrt_benchmarks.harness.frame import (
    FailedError,
    Result,
    known,
    median,
    options,
    path_of,
    perform,
    summary,
    table,
)
from rclrt_benchmarks.harness.messages import ON_RCL, ON_RCLCPP, Messages, receive
from rclrt_benchmarks.harness.row import FAILS, Judged, Machine, Row, at_most, ratio_of
from rclrt_tools.arguments import number_from, positive, some_of
from rclrt_tools.statistics import percentile

LISTENER, HANDOVER = "floor_listener", "floor_handover"
OURS = ("preemptive", "priority_events", "isolated")
LOOKING = ("preemptive_spin", "preemptive_adaptive")
EXECUTORS = (
    "preemptive", "preemptive_edf", "priority_events", "isolated", "wait_set_single",
    "wait_set_multi", "wait_set_multi_10", "preemptive_inline", "preemptive_spin",
    "preemptive_adaptive", "preemptive_default", "preemptive_inline_default",
    "preemptive_spin_default", "preemptive_adaptive_default", "wait_set_multi_default",
    "static", "events_fifo",
)  # fmt: skip
POLICIES = {"SCHED_OTHER": "_default", "SCHED_FIFO": ""}
"""How names of ours end; those of rclcpp end in "_fifo" where ours end in nothing."""

MOST_RCLCPP_IDLE = 100
"""Each of those that are measured together has as many."""

TURNS, TOGETHER, RCLCPP, RCLCPP_TURNS = "turns", "together", "rclcpp", "rclcpp, turns"
LOADS = "rclcpp, loads"


@dataclass(frozen=True)
class Case:
    """What is subscribed, and which executors are measured there; in turns or together."""

    name: str
    subscriptions: int
    idle: int
    kind: str = TURNS
    policy: str = ""
    variants: tuple[str, ...] = ()
    period_us: int = 0
    """0: the one that is asked for."""
    size: int = 0
    """Bytes of a message."""


CASES = (
    Case("1 subscription", 1, 0),
    Case("1 + 100 idle", 1, 100),
    Case("1 + 1000 idle", 1, 1000),
    Case("10 subscriptions", 10, 0),
)
ONE, IDLE, MANY_IDLE, FAN_OUT = (case.name for case in CASES)

_LOADS = (
    Case("1 + 100 idle", 1, 100),
    Case("64 KiB every 5 ms", 1, 0, period_us=5000, size=65536),
    Case("10 subscriptions", 10, 0),
    Case("50 subscriptions, every 10 ms", 50, 0, period_us=10_000),
    Case("100 a second", 1, 0, period_us=10_000),
    Case("1000 a second", 1, 0, period_us=1000),
    Case("10000 a second", 1, 0, period_us=100),
)
"""A process with rclcpp has these, by turns."""
_OF_LOADS = (
    LISTENER + "_default", HANDOVER + "_default", *(name + "_default" for name in OURS),
    "rclcpp_single", "rclcpp_events",
)  # fmt: skip
_SLICE_US = 2_000_000
"""A turn of a load that comes more seldom than others has fewer messages, but 100."""


@dataclass(frozen=True)
class Target:
    """What a ratio of two executors of a case must not exceed, where both were measured.

    others: The better one of these counts.
    figure: "adds": the median, less that of the listener.
    """

    kind: str
    mine: str
    figure: str
    others: tuple[str, ...]
    limit: float
    subscriptions: tuple[int, ...] = (1, 10)


def _targets() -> Iterator[Target]:
    for name in OURS:
        yield Target(TURNS, name, "p50_us", (HANDOVER,), 1.3)
        yield Target(TURNS, name, "p99_us", (HANDOVER,), 1.5)
    yield Target(TURNS, "preemptive_edf", "p50_us", ("preemptive",), 1.5)
    wait_sets = ("wait_set_multi", "wait_set_multi_10")
    yield Target(TURNS, "preemptive", "p50_us", wait_sets, 0.6, (10,))
    yield Target(TURNS, "preemptive_default", "p50_us", ("wait_set_multi_default",), 0.6, (10,))
    pool, events = "preemptive_default", ("rclcpp_events",)
    yield Target(LOADS, pool, "p50_us", events, 1.0)
    yield Target(LOADS, pool, "cpu_us", events, 1.0, (1,))
    yield Target(LOADS, pool, "cpu_us", events, 1.1, (10,))
    yield Target(LOADS, pool, "cpu_us", ("rclcpp_single",), 1.0, (50,))
    for ours in POLICIES.values():
        theirs = "" if ours else "_fifo"
        yield Target(TOGETHER, f"preemptive_inline{ours}", "p50_us", (LISTENER + ours,), 1.05)
        for name in (f"{looking}{ours}" for looking in LOOKING):
            yield Target(TURNS, name, "p50_us", (LISTENER + ours,), 1.0, (1,))
            yield Target(RCLCPP_TURNS, name, "p50_us", (LISTENER + ours,), 1.0)
            yield Target(RCLCPP_TURNS, name, "p50_us", (f"rclcpp_events{theirs}",), 0.8)
            yield Target(RCLCPP_TURNS, name, "p99_us", (f"rclcpp_events{theirs}",), 1.0)
        yield Target(RCLCPP_TURNS, f"preemptive{ours}", "cpu_us", (f"rclcpp_events{theirs}",), 1.0)
        for name in (f"{one}{ours}" for one in OURS):
            yield Target(RCLCPP, name, "adds", (f"rclcpp_events{theirs}",), 0.7)
            yield Target(RCLCPP, name, "adds", (f"rclcpp_multi{theirs}",), 0.25)


WAIT_SETS = ("wait_set_single", "wait_set_multi")
# 99th percentiles that the paper prints, us.
PAPER_P99 = {
    ONE: {
        "preemptive": 47.0,
        "priority_events": 45.0,
        "wait_set_single": 55.0,
        "wait_set_multi": 61.0,
    },
    IDLE: {"wait_set_multi": 88.0},
    FAN_OUT: {
        "preemptive": 69.0,
        "priority_events": 67.0,
        "wait_set_single": 104.0,
        "wait_set_multi": 174.0,
    },
}
MUCH_SMALLER = 0.75
UNCHANGED = 1.15


def _cases(text: str) -> tuple[Case, ...]:
    numbers = [positive(number) for number in text.split(",")]
    if max(numbers) > len(CASES):
        raise argparse.ArgumentTypeError(f"there are {len(CASES)} cases")
    return tuple(CASES[number - 1] for number in numbers)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser, rounds=5)
    parser.add_argument(
        "--samples", type=positive, default=500, help="messages per turn (%(default)s)"
    )
    parser.add_argument(
        "--warm-up", type=positive, default=50,
        help="messages at the start of each turn that do not count (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--period-ms", type=number_from(0.1, 10_000, "ms"), default=2.0,
        help="of the publisher, 0.1 to 10000 (%(default)s)",
    )  # fmt: skip
    numbered = "; ".join(f"{i} is {case.name}" for i, case in enumerate(CASES, 1))
    parser.add_argument(
        "--cases", type=_cases, default=CASES, help=f"numbers with commas between: {numbered}"
    )
    parser.add_argument(
        "--executors", type=some_of(EXECUTORS), default=EXECUTORS, help="of " + ",".join(EXECUTORS)
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge_targets)


def _all_cases(arguments: argparse.Namespace, has_rclcpp: bool) -> Iterator[Case]:
    floors = tuple(floor + end for end in ("", "_default") for floor in (LISTENER, HANDOVER))
    for case in arguments.cases:
        # With one subscription ten threads would measure the same as one for each CPU.
        left_out = () if case.subscriptions > 1 else ("wait_set_multi_10",)
        executors = tuple(name for name in arguments.executors if name not in left_out)
        yield Case(case.name, case.subscriptions, case.idle, variants=floors + executors)
    for policy, ours in POLICIES.items() if CASES[0] in arguments.cases else ():
        together = tuple(
            name + ours for name in (LISTENER, HANDOVER, "preemptive", "preemptive_inline")
        )
        yield Case(f"1 subscription, together, {policy}", 1, 0, TOGETHER, ours, together)
    if not has_rclcpp:
        return
    idles = sorted({case.idle for case in arguments.cases if case.idle <= MOST_RCLCPP_IDLE})
    for idle, (policy, ours) in itertools.product(idles, POLICIES.items()):
        theirs = ["rclcpp_single", "rclcpp_multi", "rclcpp_events"]
        theirs = theirs if ours else ["rclcpp_multi_fifo", "rclcpp_events_fifo"]
        mine = (LISTENER, HANDOVER, f"{HANDOVER}_rclcpp", *OURS)
        name = f"rclcpp, 1 subscription beside {idle} idle, {policy}"
        yield Case(name, 1, idle, RCLCPP, ours, (*(one + ours for one in mine), *theirs))
    for policy, ours in POLICIES.items():
        blocking = tuple(name + ours for name in (LISTENER, HANDOVER, "preemptive", *LOOKING))
        events = "rclcpp_events" if ours else "rclcpp_events_fifo"
        name = f"rclcpp, 1 subscription, by turns, {policy}"
        yield Case(name, 1, 0, RCLCPP_TURNS, ours, (*blocking, events))
    for load in _LOADS if CASES[0] in arguments.cases else ():
        name = f"rclcpp, {load.name}, by turns, SCHED_OTHER"
        yield replace(load, name=name, kind=LOADS, policy="_default", variants=_OF_LOADS)


def _measure(arguments: argparse.Namespace) -> Result:
    try:
        has_rclcpp = bool(path_of(ON_RCLCPP))
    except FailedError:
        has_rclcpp = False
        print("rclcpp: not measured, because it was not found when this was built")
    rows: list[Result] = []
    for case in _all_cases(arguments, has_rclcpp):
        rows += measured(case, arguments)
    return {"rows": rows}


def measured(case: Case, arguments: argparse.Namespace) -> list[Result]:
    """Run one case; returns a row for each executor and floor."""
    period_us = case.period_us or round(arguments.period_ms * 1000)
    most = max(100, _SLICE_US // period_us)
    samples = min(arguments.samples, most) if case.kind == LOADS else arguments.samples
    messages = Messages(
        period_us=period_us, samples=samples, size=case.size,
        warm_up=arguments.warm_up, rounds=arguments.rounds, subscriptions=case.subscriptions,
        idle=case.idle, together=case.kind in (TOGETHER, RCLCPP),
    )  # fmt: skip
    program = ON_RCLCPP if case.kind in (RCLCPP, RCLCPP_TURNS, LOADS) else ON_RCL
    slices, publisher = receive(program, case.variants, messages)
    rows = {}
    for name in case.variants:
        mine = [item for item in slices if item["variant"] == name]
        rounds = [[ns / 1000 for ns in item["delays_ns"]] for item in mine]
        cpu = [item["cpu_ns_a_message"] / 1000 for item in mine if "cpu_ns_a_message" in item]
        rows[name] = {
            "case": case.name,
            "kind": case.kind,
            "subscriptions": case.subscriptions,
            "executor": name,
            **summary([us for values in rounds for us in values], "us", 2),
            "cpu_us": known(median(cpu), 2),
            "rounds_p50_us": [known(percentile(sorted(us), 0.5), 2) for us in rounds],
            "publisher": publisher,
        }
    floor = rows[HANDOVER + case.policy]
    for row in rows.values():
        for figure in ("p50", "p99"):
            ratio = ratio_of(row[f"{figure}_us"], floor[f"{figure}_us"])
            row[f"ratio_{figure}"] = known(ratio)
    return list(rows.values())


def _show(result: Result) -> None:
    for case, rows in itertools.groupby(result["rows"], lambda row: row["case"]):
        table(
            rows, ("", "executor", ""), ("n", "n", "d"), ("p50 us", "p50_us", ".1f"),
            ("p99 us", "p99_us", ".1f"), ("max us", "max_us", ".1f"), ("p50/h", "ratio_p50", ".2f"),
            ("p99/h", "ratio_p99", ".2f"), ("CPU us", "cpu_us", ".1f"),
            ("p50 of each round", lambda row: " ".join(map(str, row["rounds_p50_us"])), ""),
            title=case,
        )  # fmt: skip


def judge_targets(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge our own targets; those whose executors were measured."""
    found = []
    for case, group in itertools.groupby(result["rows"], lambda row: row["case"]):
        of = {row["executor"]: row for row in group}
        kind, subscriptions = next((row["kind"], row["subscriptions"]) for row in of.values())
        for target in _targets():
            fits = kind == target.kind and subscriptions in target.subscriptions
            if fits and target.mine in of and all(other in of for other in target.others):
                found.append(_judged(case, of, target))
    return Judged([row for row in found if row is not None])


def _judged(case: str, of: Mapping[str, Mapping[str, Any]], target: Target) -> Row | None:
    def value(name: str) -> float | None:
        if target.figure != "adds":
            return of[name][target.figure]  # type: ignore[no-any-return]
        listener = next(row["p50_us"] for key, row in of.items() if key.startswith(LISTENER))
        mine = of[name]["p50_us"]
        return None if mine is None or listener is None else max(0.1, mine - listener)

    theirs = [value(other) for other in target.others]
    ratio = None if None in theirs else ratio_of(value(target.mine), min(filter(None, theirs)))
    what = f"{target.figure.removesuffix('_us')} / better of {' and '.join(target.others)}"
    what = what if len(target.others) > 1 else what.replace("better of ", "that of ")
    if ratio is None:
        return None
    name = f"{case}: {target.mine}, {what}"
    return at_most(name, ratio, target.limit, shape=f"at most {target.limit:g}")


Rows = Mapping[tuple[str, str], Mapping[str, Any]]


def _rows(result: Mapping[str, Any]) -> Rows:
    return {(row["case"], row["executor"]): row for row in result["rows"]}


def _figure(rows: Rows, case: str, name: str, key: str) -> float | None:
    value = rows.get((case, name), {}).get(key)
    return None if value is None else float(value)


def _both(value: float | None, other: float | None) -> str:
    return " / ".join("-" if v is None else f"{v:.1f}" for v in (value, other)) + " us"


def plot(rows: Rows, case: str) -> Plot:
    """Return the distributions of one case, with what the paper says of the pool."""
    curves = {
        name: row["quantiles_us"]
        for (where, name), row in rows.items()
        if where == case and not name.endswith("_default")
    }
    marks = {f"paper's p99, {name}": us for name, us in PAPER_P99[case].items()}
    return Plot(f"{case}: from publication to start", "us", curves, marks)


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge one subscription alone."""
    rows = _rows(result)
    paper = PAPER_P99[ONE]
    least = min(paper[name] for name in WAIT_SETS)
    found = []
    for name in ("preemptive", "priority_events", "preemptive_inline"):
        p99 = _figure(rows, ONE, name, "p99_us")
        theirs = [_figure(rows, ONE, other, "p99_us") for other in WAIT_SETS]
        known = [value for value in theirs if value is not None]
        other = min(known) if len(known) == len(WAIT_SETS) else None
        best = name == "preemptive_inline"
        row = at_most(
            f"{name}, p99 / that of the better wait set",
            ratio_of(p99, other), 1.0,
            shape="preemptive and priority_events below both wait-set executors"
            if not best
            else "ours at its best: the middleware's thread runs the callback, no hand-over",
            paper=f"{paper[name] / least:.2f} ({paper[name]:g} / {least:g} us)"
            if not best
            else f"{paper['priority_events'] / least:.2f}, the events executor",
            printed=paper["priority_events" if best else name] / least,
            ours=f"{_text(ratio_of(p99, other))} ({_both(p99, other)}, n={_count(rows, name)})",
        )  # fmt: skip
        if row.verdict == FAILS:
            row.why = f"the tail alone: {_medians(rows, name)}"
        found.append(row)
    p50, floor = (_figure(rows, ONE, name, "p50_us") for name in ("preemptive", HANDOVER))
    found.append(
        at_most(
            "preemptive, p50 / a bare hand-over to a thread",
            ratio_of(p50, floor), 1.3,
            shape="near the least that a thread of its own can cost",
            ours=f"{_text(ratio_of(p50, floor))} ({_both(p50, floor)})",
        )
    )  # fmt: skip
    return Judged(found, [plot(rows, ONE)])


def _medians(rows: Rows, name: str) -> str:
    found = (ratio_of(*(_figure(rows, ONE, n, "p50_us") for n in (name, w))) for w in WAIT_SETS)
    return "the medians are " + " and ".join(_text(ratio) for ratio in found) + " of the wait sets'"


def _count(rows: Rows, name: str, case: str = ONE) -> int:
    return int(rows.get((case, name), {}).get("n", 0))


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _growth(rows: Rows, case: str, name: str, key: str) -> float | None:
    return ratio_of(_figure(rows, case, name, key), _figure(rows, ONE, name, key))


def judge_idle(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge subscriptions that nobody publishes to."""
    rows = _rows(result)
    case = IDLE
    multi = _growth(rows, case, "wait_set_multi", "p50_us")
    found: list[Row] = []
    for name in ("preemptive", "priority_events"):
        growth = _growth(rows, case, name, "p50_us")
        found.append(_unchanged(rows, case, name, 100, paper="almost unchanged"))
        ratio = ratio_of(growth, multi)
        found.append(
            at_most(
                f"growth of {name} / growth of the multi-threaded wait set, medians",
                ratio, 1.0,
                shape="wait-set executors grow, event-driven ones do not",
                paper="below 1 (the wait set's p99 grows by 1.44, 61 to 88 us)",
                ours=f"{_text(ratio)} ({_text(growth)} / {_text(multi)})",
            )
        )  # fmt: skip
    found.append(
        _unchanged(rows, MANY_IDLE, "preemptive", 1000, "ours: the same with ten times as many")
    )
    return Judged(found, [plot(rows, case)])


def _unchanged(
    rows: Rows, case: str, name: str, idle: int,
    shape: str = "event-driven executors do not grow", paper: str = "not printed",
) -> Row:  # fmt: skip
    """Judge a median, less what a thread that is woken by hand has grown by meanwhile.

    The cases are measured minutes apart, and the machine is not the same then.
    """
    growth, floor = (_growth(rows, case, who, "p50_us") for who in (name, HANDOVER))
    return at_most(
        f"{name}: median beside {idle} idle subscriptions / alone, relative to a bare hand-over",
        ratio_of(growth, floor), UNCHANGED, shape=shape, paper=paper,
        ours=f"{_text(ratio_of(growth, floor))} ({_text(growth)} / {_text(floor)})",
    )  # fmt: skip


def judge_fan_out(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge ten subscriptions to one topic."""
    rows = _rows(result)
    paper = {name: PAPER_P99[FAN_OUT][name] / PAPER_P99[ONE][name] for name in PAPER_P99[ONE]}
    multi = _growth(rows, FAN_OUT, "wait_set_multi", "p99_us")
    found = []
    for name in ("preemptive", "priority_events"):
        growth = _growth(rows, FAN_OUT, name, "p99_us")
        ratio = ratio_of(growth, multi)
        printed = paper[name] / paper["wait_set_multi"]
        row = at_most(
            f"growth of {name} / growth of the multi-threaded wait set, p99, 1 to 10",
            ratio, MUCH_SMALLER,
            shape="much smaller growth than the multi-threaded wait set's",
            paper=f"{printed:.2f} ({paper[name]:.2f} / {paper['wait_set_multi']:.2f})",
            printed=printed,
            ours=f"{_text(ratio)} ({_text(growth)} / {_text(multi)})",
        )  # fmt: skip
        if row.verdict == FAILS and multi is not None and multi < paper["wait_set_multi"]:
            row.why = f"here the wait set grows by {multi:.2f} only"
        found.append(row)
        p50 = ratio_of(
            _figure(rows, FAN_OUT, name, "p50_us"),
            _figure(rows, FAN_OUT, "wait_set_multi", "p50_us"),
        )
        found.append(
            at_most(
                f"{name}, median of ten / that of the multi-threaded wait set", p50, 1.0,
                shape="below the wait set with ten subscriptions as well",
            )
        )  # fmt: skip
    return Judged(found, [plot(rows, FAN_OUT)])
