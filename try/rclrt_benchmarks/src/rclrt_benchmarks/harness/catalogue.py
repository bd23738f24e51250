# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The list of experiments: for each its paper, how it is run, and what judges it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rclrt_analysis.plots import Plot
from rclrt_benchmarks.experiments import (
    budget,
    control_loop,
    dispatch,
    edf,
    isolation_cost,
    pods,
    seven_timers,
    table_1,
    thread_creation,
    timer_jitter,
    waters,
)
from rclrt_benchmarks.harness.row import (
    EFFORTS,
    FAILS,
    FULL,
    QUICK,
    SHORT,
    TRY,
    Experiment,
    Judge,
    Judged,
    Machine,
    Row,
    at_most,
    needs_realtime,
    open_row,
    ratio_of,
)

DISPATCHED = "preemptive,priority_events,isolated,preemptive_inline,wait_set_single,wait_set_multi"
HOT_PATH = ",".join((
    "wait_set_single", "wait_set_multi", "priority_events", "isolated", "preemptive",
    "preemptive_edf", "preemptive_hot",
))  # fmt: skip
# Rounds, samples, warm-up and period of the publisher, ms: in the end 5 times 10,000 every 10 ms.
MESSAGES = {TRY: (1, 12, 2, 2), QUICK: (3, 100, 20, 2), SHORT: (5, 400, 50, 2)}
MESSAGES[FULL] = (5, 10_000, 50, 10)
# Seconds for all executors of the reference system; in the end 2 min, five times, for each.
HOT_PATH_S = {TRY: 12, QUICK: 130, SHORT: 300, FULL: 7 * 5 * 120}
# Rounds, and threads created in each.
THREADS = {TRY: ("1", "50"), QUICK: ("3", "1000"), SHORT: ("5", "4000"), FULL: ("5", "10000")}
# Rounds, samples and seconds of a turn at most.
JITTER = {TRY: (1, 20, 1), QUICK: (3, 1000, 1), SHORT: (5, 1000, 2), FULL: (5, 1000, 100)}
# Rounds, and seconds of a turn; everything repeats every 4.2 s.
SEVEN = {TRY: ("1", "0.5"), QUICK: ("1", "4.2"), SHORT: ("3", "4.2"), FULL: ("3", "100")}
# Rounds, seconds of a turn, and how many callbacks.
ISOLATION = {
    TRY: ("1", "0.1", "1,4"),
    QUICK: ("1", "0.5", "1,4,24"),
    SHORT: ("3", "1", "1,4,12,24"),
    FULL: ("5", "10", "1,4,8,12,16,20,24"),
}
# Rounds, cycles of a turn, and beside what.
DISTURBED = "service,flood,slow,parameters,discovery,leak,leak-locked,memory,memory-locked"
CONTROL = {
    TRY: ("1", "50", "service"),
    QUICK: ("1", "1000", "service,flood"),
    SHORT: ("3", "1000", DISTURBED),
    FULL: ("10", "10000", DISTURBED),
}
CONTROL_WAYS = "preemptive_beat,priority_events_re,process_fifo,wait_set_multi"
# Rounds, and seconds of a turn.
CHAIN = {
    TRY: ("1", "0.2", "--cpus", "1"),
    QUICK: ("1", "3"),
    SHORT: ("3", "4"),
    FULL: ("5", "60"),
}
MINUTE = 60.0


def _dispatch() -> dict[str, list[str]]:
    """Return the command for each effort: one run for all experiments."""
    words = ["bench", "dispatch", "--cases", "1,2,3,4", "--executors", DISPATCHED]
    found = {}
    for effort, (rounds, samples, warm_up, period) in MESSAGES.items():
        more = ["--rounds", rounds, "--samples", samples, "--warm-up", warm_up]
        found[effort] = [*words, *map(str, more), "--period-ms", str(period)]
    return found


def _jitter(*more: str) -> dict[str, list[str]]:
    found = {}
    for effort, (rounds, samples, seconds) in JITTER.items():
        words = ["--rounds", rounds, "--samples", samples, "--turn-s", seconds]
        few = ["--periods-ms", "1,10"] if effort == TRY and not more else []
        found[effort] = ["bench", "timer-jitter", *map(str, words), *few, *more]
    return found


def _seven(name: str, figures: str, title: str, judge: Judge) -> Experiment:
    commands = {
        effort: ["bench", "seven-timers", "--rounds", rounds, "--seconds", seconds]
        for effort, (rounds, seconds) in SEVEN.items()
    }
    limits = _limits(25 * MINUTE, 180 * MINUTE)
    return Experiment(name, figures, title, commands, limits, judge, needs_realtime, True)


def _edf(name: str, title: str, judge: Judge) -> Experiment:
    cpus = {TRY: "1", QUICK: "1", SHORT: "1,2", FULL: "1,2,4"}
    commands = {effort: ["bench", "edf", "--cpus", cpus[effort]] for effort in EFFORTS}
    # No second is enough to boot.
    limits = {TRY: 10 * MINUTE, QUICK: 10 * MINUTE, SHORT: 20 * MINUTE, FULL: 30 * MINUTE}
    return Experiment(name, "[ROSRT §IV-C]", title, commands, limits, judge, _no_vm)


def _no_vm(machine: Machine) -> str:
    return machine.why_no_vm


def _limits(short_s: float, full_s: float) -> dict[str, float]:
    return {TRY: 3 * MINUTE, QUICK: short_s, SHORT: short_s, FULL: full_s}


def _same(*words: str) -> dict[str, Sequence[str]]:
    return {effort: words for effort in EFFORTS}


def _pods(name: str, source: str, title: str) -> Experiment:
    command = _same("bench", "pods", "--only", name)
    limits = _limits(MINUTE, MINUTE)
    return Experiment(name, source, title, command, limits, pods.judge_of(name))


def _two_cpus(machine: Machine) -> str:
    return needs_realtime(machine) or ("" if machine.cpus > 1 else "there is one CPU; it needs two")


def experiments() -> list[Experiment]:
    """Return all of them, in the order of the report."""
    hours = 3600.0
    fan_out = "10 subscriptions to one topic"
    return [
        Experiment(
            "thread-creation", "[ROSRT Fig. 5]", "creating a thread, and a release for the pool",
            {
                effort: ["bench", "thread-creation", "--rounds", rounds, "--threads", threads]
                for effort, (rounds, threads) in THREADS.items()
            },
            _limits(5 * MINUTE, 10 * MINUTE), thread_creation.judge,
        ),
        Experiment(
            "dispatch", "[ROSRT Fig. 7]", "from publication to start of the callback",
            _dispatch(), _limits(20 * MINUTE, 14 * hours), dispatch.judge, needs_realtime,
        ),
        Experiment(
            "dispatch-idle-subscriptions", "[ROSRT Fig. 7]", "beside idle subscriptions",
            _dispatch(), _limits(20 * MINUTE, 14 * hours), dispatch.judge_idle,
            needs_realtime,
        ),
        Experiment(
            "dispatch-fan-out", "[ROSRT Fig. 8]", fan_out,
            _dispatch(), _limits(20 * MINUTE, 14 * hours), dispatch.judge_fan_out,
            needs_realtime,
        ),
        Experiment(
            "timer-jitter", "[ROSRT Table III]", "jitter of one timer, beside cyclictest",
            _jitter(), _limits(20 * MINUTE, 4 * hours), timer_jitter.judge, needs_realtime,
        ),
        Experiment(
            "timer-jitter-10", "[ROSRT Fig. 9]", "jitter of ten timers, ten threads",
            _jitter("--timers", "10", "--periods-ms", "10"), _limits(10 * MINUTE, 1 * hours),
            timer_jitter.judge_ten, needs_realtime,
        ),
        Experiment(
            "autoware", "[ROSRT Figs. 10, 11; Teper25 Fig. 9]", "hot path of the reference system",
            {
                effort: [
                    "demo", "--executors", HOT_PATH, "--load", "quiet", "--cpus", "0,1",
                    "--work", "1.93", "--duration", str(seconds),
                ]
                for effort, seconds in HOT_PATH_S.items()
            },
            _limits(10 * MINUTE, 2 * hours), judge_hot_path, _two_cpus,
        ),
        Experiment(
            "isolation-cost", "[CIE25 Fig. 5]", "what a thread for each callback costs",
            {
                effort: [
                    "bench", "isolation-cost", "--rounds", rounds, "--seconds", seconds,
                    "--callbacks", callbacks,
                ]
                for effort, (rounds, seconds, callbacks) in ISOLATION.items()
            },
            _limits(20 * MINUTE, 3 * hours), isolation_cost.judge,
        ),
        _seven(
            "dropped-jobs", "[Teper25 Fig. 4]", "jobs dropped by seven timers on one CPU",
            seven_timers.judge_drops,
        ),
        _seven(
            "response-times", "[Teper25 Figs. 5 to 7]", "response times beside their bounds",
            seven_timers.judge_responses,
        ),
        _edf("edf-order", "order of deadlines in the kernel", edf.judge_order),
        _edf("edf-preemption", "preemption by deadline in the kernel", edf.judge_preemption),
        Experiment(
            "table-1", "[Teper25 Table I]", "bounds of seven timers",
            _same("bench", "table-1"), _limits(MINUTE, MINUTE), table_1.judge,
        ),
        Experiment(
            "waters", "[Teper25 Fig. 8]", "end-to-end bounds of random task sets",
            {
                effort: ["bench", "waters", "--sets", str(sets)]
                for effort, sets in zip(EFFORTS, (20, 1000, 1000, 1000), strict=True)
            },
            _limits(5 * MINUTE, 5 * MINUTE), waters.judge,
        ),
        _pods("pods-chains", "[PoDS Fig. 10]", "more chains on one serial line"),
        _pods("pods-packet-size", "[PoDS Fig. 11]", "larger messages"),
        _pods("pods-execution-time", "[PoDS Fig. 12]", "longer callbacks"),
        _pods("pods-reliable", "[PoDS Fig. 13, Table 1]", "messages that are lost"),
        Experiment(
            "control-loop", "beyond the papers", "a loop of 1 kHz beside what disturbs it",
            {
                effort: [
                    "bench", "control-loop", "--rounds", rounds, "--cycles", cycles,
                    "--beside", kinds, "--only", CONTROL_WAYS,
                ]
                for effort, (rounds, cycles, kinds) in CONTROL.items()
            },
            _limits(15 * MINUTE, 4 * hours), control_loop.judge, needs_realtime,
        ),
        Experiment(
            "chain-beside-best-effort", "beyond the papers",
            "a chain of 60 ms, best effort, and a callback that runs away",
            {
                effort: ["bench", "budget", "--rounds", rounds, "--seconds", seconds, *more]
                for effort, (rounds, seconds, *more) in CHAIN.items()
            },
            _limits(15 * MINUTE, 3 * hours), budget.judge, needs_realtime,
        ),
    ]  # fmt: skip


NOT_PRINTED = "a figure without numbers"
EQUAL = 1.05
"""With the same priorities on a thread each or on a pool of them, no difference is to be seen."""
ORDER = (
    # Better, other, what it is called, the shape.
    ("preemptive_hot", "preemptive", "hot path highest / RM", "hot path highest is best"),
    ("preemptive", "isolated", "RM on the pool / a thread per node", "RM no worse than events"),
    ("preemptive", "wait_set_multi", "RM on the pool / wait set", "better than the wait set"),
    ("isolated", "wait_set_multi", "a thread per node / wait set", "better than the wait set"),
    ("preemptive_edf", "wait_set_multi", "EDF on the pool / wait set", "better than the wait set"),
    ("preemptive", "preemptive_edf", "RM / EDF on the pool", "EDF is the worst of the pool's"),
)  # fmt: skip
SLOWDOWN = 2.6
AT_LEAST = 2.0


def judge_hot_path(result: Mapping[str, Any], machine: Machine) -> Judged:
    """Judge two CPUs, as far as there are."""
    runs = {run["executor"]: run for run in result["runs"]}
    refused = [name for name, run in runs.items() if not run["attributes_in_force"]]
    found: list[Row] = []
    for better, other, name, shape in ORDER:
        mine, theirs = (_figure(runs, who, "p99") for who in (better, other))
        row = at_most(
            f"{name}, p99", ratio_of(mine, theirs), EQUAL if other == "isolated" else 1.0,
            shape=shape, paper=NOT_PRINTED,
            ours=_both(mine, theirs, runs.get(better, {}).get("hot_path_ms", {}).get("n", 0)),
        )  # fmt: skip
        found.append(_explained(row, runs, better, other))
    default, events = (_figure(runs, who, "max") for who in ("wait_set_single", "priority_events"))
    row = at_most(
        "RM events / default executor, maximum", ratio_of(events, default), 1 / AT_LEAST,
        shape="the default executor at least 2x slower", paper=f"1 / {SLOWDOWN}",
        printed=1 / SLOWDOWN, ours=_both(events, default),
    )  # fmt: skip
    found.append(_explained(row, runs, "priority_events", "wait_set_single"))
    found.append(_ideal(runs))
    found.append(
        open_row(
            "hot path highest: the same on 2 and on 4 cores", NOT_PRINTED, "the same",
            f"this machine has {machine.cpus} CPUs"
            if machine.cpus < 4
            else "run ./rclrt demo --cpus 0,1,2,3 beside this",
        )
    )  # fmt: skip
    for row in found:
        if refused:
            row.refuse(f"real-time priorities were refused: {', '.join(refused)}")
    curves = {name: run["hot_path_ms"]["quantiles"] for name, run in runs.items()}
    return Judged(found, [Plot("hot path: data received to start of the sink", "ms", curves)])


def _explained(row: Row, runs: Mapping[str, Any], name: str, other: str) -> Row:
    """Return the row, and if it does not hold what the other percentiles say."""
    if row.verdict == FAILS:
        ratios = (
            ratio_of(*(_figure(runs, n, key) for n in (name, other))) for key in ("p50", "p99")
        )
        half, most = ("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
        row.why = f"of the medians it is {half}, of the 99th percentiles {most}"
    return row


def _figure(runs: Mapping[str, Any], name: str, key: str) -> float | None:
    value = runs.get(name, {}).get("hot_path_ms", {}).get(key)
    return None if value is None else float(value)


def _both(mine: float | None, theirs: float | None, n: int = 0) -> str:
    if mine is None or theirs is None:
        return f"-, n={n}" if n else "-"
    count = f", n={n}" if n else ""
    return f"{mine / theirs:.2f} ({mine:.2f} / {theirs:.2f} ms{count})"


def _ideal(runs: Mapping[str, Any]) -> Row:
    mine, ideal = (_figure(runs, "preemptive_hot", key) for key in ("p99", "ideal"))
    return at_most(
        "ours at its best: hot path highest / work and transport alone, p99",
        ratio_of(mine, ideal), 1.25, shape="near the ideal", paper="-", ours=_both(mine, ideal),
    )  # fmt: skip
