# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Every shape of the papers is noticed when it does not hold."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from rclrt_analysis.evaluation.experiment import Judged, Machine
from rclrt_analysis.evaluation.judges import (
    beside,
    computed,
    dispatch,
    hosts,
    isolation,
    kernel,
    reference,
    seven_timers,
    timers,
)
from rclrt_analysis.evaluation.row import FAILS, HOLDS, OPEN, Row

HERE = Machine(cpus=2, realtime=True, rclcpp=False, cyclictest=True, why_no_vm="")
Result = dict[str, Any]


def verdicts(
    judge: Callable[[Mapping[str, Any], Machine], Judged], result: Result
) -> dict[str, Row]:
    return {row.name: row for row in judge(result, HERE).rows}


def dispatched() -> Result:
    """Return delays of which the wait sets' grow: (p50, p99) by case and executor."""
    cases = {
        dispatch.ONE: (60.0, 100.0),
        dispatch.IDLE: (60.0, 200.0),
        "1 + 1000 idle": (61.0, 900.0),
        dispatch.FAN_OUT: (80.0, 300.0),
    }
    rows = []
    for case, (ours, theirs) in cases.items():
        of = dict.fromkeys(("pool", "events"), ours)
        of |= dict.fromkeys(dispatch.WAIT_SETS, theirs)
        of |= {"pool_inline": 30.0, "floor_handover": 55.0}
        rows += [
            {
                "case": case, "executor": name, "p50_us": us, "p99_us": us * 1.2,
                "rounds_p50_us": [us, us], "quantiles_us": [us],
            }
            for name, us in of.items()
        ]  # fmt: skip
    return {"rows": rows}


def changed(result: Result, match: Mapping[str, Any], **values: Any) -> Result:
    other = copy.deepcopy(result)
    rows = [r for r in other["rows"] if all(r[key] == value for key, value in match.items())]
    assert rows
    for row in rows:
        row.update(values)
    return other


def test_dispatch_holds_where_event_driven_executors_are_below_the_wait_sets() -> None:
    good = verdicts(dispatch.judge, dispatched())
    assert {row.verdict for row in good.values()} == {HOLDS}
    assert good["pool, p99 / that of the better wait set"].ahead == ""
    bad = changed(dispatched(), {"case": dispatch.ONE, "executor": "pool"}, p99_us=130.0)
    assert verdicts(dispatch.judge, bad)["pool, p99 / that of the better wait set"].verdict == FAILS
    near = changed(dispatched(), {"case": dispatch.ONE, "executor": "pool"}, p99_us=115.0)
    row = verdicts(dispatch.judge, near)["pool, p99 / that of the better wait set"]
    assert row.verdict == HOLDS
    assert row.ahead == "0.85 in the paper, 0.96 here"
    few = changed(dispatched(), {"case": dispatch.ONE, "executor": "pool"}, p99_us=None)
    row = verdicts(dispatch.judge, few)["pool, p99 / that of the better wait set"]
    assert (row.verdict, row.why) == (OPEN, "too few samples")


def test_idle_subscriptions_must_cost_nothing_and_ten_little() -> None:
    assert {row.verdict for row in verdicts(dispatch.judge_idle, dispatched()).values()} == {HOLDS}
    assert {r.verdict for r in verdicts(dispatch.judge_fan_out, dispatched()).values()} == {HOLDS}
    bad = changed(dispatched(), {"case": dispatch.IDLE, "executor": "events"}, p50_us=150.0)
    failed = [n for n, row in verdicts(dispatch.judge_idle, bad).items() if row.verdict == FAILS]
    assert len(failed) == 2
    assert all("events" in name for name in failed)
    slower = changed(bad, {"case": dispatch.IDLE, "executor": "floor_handover"}, p50_us=137.5)
    name = "events: median beside 100 idle subscriptions / alone, relative to a bare hand-over"
    row = verdicts(dispatch.judge_idle, slower)[name]
    assert (row.verdict, row.ours) == (HOLDS, "1.00 (2.50 / 2.50)"), "the machine was slower"
    bad = changed(dispatched(), {"case": dispatch.FAN_OUT, "executor": "pool"}, p99_us=300.0)
    failed = [n for n, r in verdicts(dispatch.judge_fan_out, bad).items() if r.verdict == FAILS]
    assert failed == ["growth of pool / growth of the multi-threaded wait set, p99, 1 to 10"]


def jitters(timers_at_once: int = 1) -> Result:
    rows = []
    for period in (1.0, 10.0):
        of = {"cyclictest": 10.0, "pool": 11.0, "events": 10.0, "isolated": 9.0}
        of |= {"waitset_multi": 25.0, "events_re": 10.5}
        rows += [
            {
                "executor": name, "timers": timers_at_once, "period_ms": period, "n": 1000,
                "p1_us": -us, "p99_us": us, "drift_us": 0.001, "skipped": 0, "turns": 5,
                "rounds_p90_us": [us, us], "quantiles_us": [-us, us],
            }
            for name, us in of.items()
        ]  # fmt: skip
    return {"rows": rows}


def test_jitter_is_held_against_cyclictest_the_wait_set_and_drift() -> None:
    assert {row.verdict for row in verdicts(timers.judge, jitters()).values()} == {HOLDS}
    pool = {"executor": "pool", "period_ms": 10.0}
    for change, name in (
        ({"p99_us": 13.0}, "pool / cyclictest, 10 ms: p99"),
        ({"p99_us": 26.0}, "pool / wait set, 10 ms: p99"),
        ({"drift_us": 0.5}, "pool, 10 ms: mean"),
    ):
        bad = verdicts(timers.judge, changed(jitters(), pool, **change))
        assert bad[name].verdict == FAILS
        assert ("two wake-ups; with one" in bad[name].why) == ("p99_us" in change)
    best = {"executor": "events_re", "period_ms": 10.0}
    bad = verdicts(timers.judge, changed(jitters(), best, p99_us=12.5))
    name = "ours at its best: release-and-execute / cyclictest, 10 ms: p99"
    assert (bad[name].verdict, bad[name].why[-10:]) == (FAILS, "1.05, 1.05")
    without = jitters()
    without["rows"] = [row for row in without["rows"] if row["executor"] != "cyclictest"]
    row = verdicts(timers.judge, without)["pool / cyclictest, 10 ms: p99"]
    assert (row.verdict, row.why) == (OPEN, timers.NO_YARDSTICK)


def test_ten_timers_must_be_tighter_than_the_wait_set() -> None:
    ten = jitters(10)
    ten["rows"] = [row for row in ten["rows"] if row["period_ms"] == 10.0]
    assert {row.verdict for row in verdicts(timers.judge_ten, ten).values()} == {HOLDS}
    bad = verdicts(timers.judge_ten, changed(ten, {"executor": "pool"}, p99_us=60.0))
    assert bad["pool / wait set with ten threads: p1 to p99"].verdict == FAILS
    bad = verdicts(timers.judge_ten, changed(ten, {"executor": "events_re"}, p99_us=60.0))
    assert [row.verdict for row in bad.values()].count(FAILS) == 1


def test_creating_a_thread_must_cost_more_than_a_release() -> None:
    result: Result = {
        "rows": [
            {"way": way, "what": what, "p50_us": us, "rounds_p50_us": [us], "quantiles_us": [us]}
            for way, us in (("joined", 10.0), ("not_joined", 12.0), ("pool", 2.0))
            for what in ("call", "start")
        ]
    }
    assert {row.verdict for row in verdicts(timers.judge_threads, result).values()} == {HOLDS}
    for way, name in (("pool", "until it begins"), ("joined", "100 us")):
        bad = changed(result, {"way": way}, p50_us=101.0)
        failed = [n for n, r in verdicts(timers.judge_threads, bad).items() if r.verdict == FAILS]
        assert any(name in one for one in failed)


def seven() -> Result:
    rows = []
    for level in (60, 80, 90):
        for name in seven_timers.NAMES:
            for task in ("Imu", "Camera", "Lidar"):
                today = name in seven_timers.TODAY
                late = today and task == "Imu" and level == 90
                ms = 1.0 if name in ("pool", "isolated") else 8.0
                rows.append(
                    {
                        "level": level, "executor": name, "task": task, "n": 100,
                        "dropped": int(late), "misses": int(late), "max_ms": ms,
                        "rounds_max_ms": [ms], "bound_exact_ms": 9.0, "bound_paper_ms": 10.0,
                        "away_ms": 0.0, "net_max_ms": ms, "in_force": True, "quantiles_ms": [ms],
                    }
                )  # fmt: skip
    return {"rows": rows}


def test_seven_timers_drop_nothing_by_rate_and_stay_below_their_bounds() -> None:
    assert {r.verdict for r in verdicts(seven_timers.judge_drops, seven()).values()} == {HOLDS}
    assert {r.verdict for r in verdicts(seven_timers.judge_responses, seven()).values()} == {HOLDS}
    rm = {"executor": "events_rm", "task": "Imu", "level": 80}
    dropped = verdicts(seven_timers.judge_drops, changed(seven(), rm, dropped=1))
    assert dropped["RM events"].verdict == FAILS
    name = "RM events, Imu at 80 %: longest response / exact bound"
    above = changed(seven(), rm, max_ms=9.5, net_max_ms=9.5)
    assert verdicts(seven_timers.judge_responses, above)[name].verdict == FAILS
    away = verdicts(seven_timers.judge_responses, changed(above, rm, away_ms=0.6, net_max_ms=8.9))
    assert away[name].verdict == HOLDS
    assert away[name].ours == "9.50 ms of 9.00 ms, n=100, its thread away for 0.60 ms of it"
    none = verdicts(seven_timers.judge_responses, changed(seven(), rm, bound_exact_ms=None))
    row = none["RM events, Imu at 80 %: longest response / exact bound"]
    assert (row.verdict, row.why) == (OPEN, "there is no bound")
    late = verdicts(seven_timers.judge_responses, changed(seven(), rm, misses=1))
    assert late["IMU: RM events"].verdict == FAILS
    never = changed(seven(), {"executor": "default"}, misses=0, dropped=0)
    assert verdicts(seven_timers.judge_drops, never)["default executor"].verdict == FAILS
    refused = verdicts(seven_timers.judge_drops, changed(seven(), rm, in_force=False))
    assert refused["RM events"].verdict == OPEN
    assert "refused" in refused["RM events"].why


def isolated() -> Result:
    of = {"single": 1.0, "multi": 3.0, "isolated": 1.3, "pool": 1.2, "events": 1.1}
    return {
        "rows": [
            {
                "where": where, "callbacks": count, "executor": name,
                **{key: 100.0 * count * factor for key in isolation.FIGURES},
                "rounds": {key: [100.0 * count * factor] for key in isolation.FIGURES},
            }
            for where in isolation.PAPER
            for count in (1, 4, 24)
            for name, factor in of.items()
        ]
    }  # fmt: skip


def test_isolation_costs_less_than_several_threads_and_a_fixed_ratio_of_one() -> None:
    assert {row.verdict for row in verdicts(isolation.judge, isolated()).values()} == {HOLDS}
    most = {"where": "two processes", "callbacks": 24, "executor": "isolated"}
    bad = verdicts(isolation.judge, changed(isolated(), most, context_switches=24 * 350.0))
    each = "isolated 1.3, 3.5; single 1.0, 1.0; multi 3.0, 3.0; pool 1.2, 1.2"
    each = f"for each message, {each} (with 1 and 24 callbacks)"
    for name in ("isolated / multi, worst N", "isolated / single, worst N"):
        row = bad[f"context switches, two processes: {name}"]
        assert (row.verdict, row.why) == (FAILS, each)
    flat = "context switches, two processes: isolated / single with 24 callbacks / with few"
    assert bad[flat].verdict == FAILS
    phase = isolated()
    more = [{**row, "where": isolation.IN_PHASE} for row in phase["rows"]]
    phase["rows"] += [row for row in more if row["where"] not in isolation.PAPER][:15]
    name = "context switches, timers in phase: isolated / single, worst N"
    assert verdicts(isolation.judge, phase)[name].verdict == HOLDS
    most_in_phase = {**most, "where": isolation.IN_PHASE}
    row = verdicts(isolation.judge, changed(phase, most_in_phase, context_switches=24e4))[name]
    assert row.verdict == FAILS
    assert "one thread for all is ahead" in row.ahead
    without = isolated()
    for one in without["rows"]:
        del one["system_calls"]
    rows = verdicts(isolation.judge, without)
    assert rows["mode switches, two processes"].verdict == OPEN
    assert rows["context switches, one process: isolated / multi, worst N"].verdict == HOLDS
    memory = verdicts(isolation.judge, changed(isolated(), most, pss_kib=24 * 310.0))
    assert (
        "2 here, 16 in the paper"
        in memory["memory (PSS), two processes: isolated / multi, worst N"].why
    )


def booted() -> Result:
    names = {**kernel.ORDER, **kernel.PREEMPTION}
    return {
        "machines": [
            {
                "cpus": cpus, "results": {name: ("pass", "") for name in names}, "complaints": [],
                "background_ms": [88, 1500],
                "wake_to_run_us": {"edf": [17.0] * 9, "fifo": [10.0] * 9},
            }
            for cpus in (1, 2)
        ]
    }  # fmt: skip


def test_the_kernel_must_keep_the_order_on_every_machine() -> None:
    for judge in (kernel.judge_order, kernel.judge_preemption):
        assert {row.verdict for row in verdicts(judge, booted()).values()} == {HOLDS}
    bad = booted()
    bad["machines"][1]["results"]["earliest_first"] = ("fail", "B A")
    row = verdicts(kernel.judge_order, bad)[kernel.ORDER["earliest_first"]]
    assert (row.verdict, row.why) == (FAILS, "2 CPUs: B A")
    bad["machines"][0]["complaints"] = ["WARNING"]
    assert verdicts(kernel.judge_order, bad)["the kernel"].verdict == FAILS
    bad["machines"][0]["wake_to_run_us"]["edf"] = [21.0] * 9
    name = "wake to run, EDF / SCHED_FIFO, 1 CPUs: median"
    row = verdicts(kernel.judge_preemption, bad)[name]
    assert (row.verdict, "run 688 instructions more" in row.why) == (FAILS, True)
    for machine in bad["machines"]:
        machine["results"]["a_later_one_does_not_preempt"] = ("skip", "needs two CPUs")
    row = verdicts(kernel.judge_preemption, bad)["a later deadline"]
    assert (row.verdict, row.why) == (OPEN, "needs two CPUs; needs two CPUs")


def demo() -> Result:
    p99 = {
        "waitset_single": 200.0, "waitset_multi": 100.0, "priority_events": 50.0, "isolated": 20.0,
        "preemptive": 15.0, "preemptive_edf": 18.0, "preemptive_hot": 10.0,
    }  # fmt: skip
    return {
        "runs": [
            {
                "executor": name, "attributes_in_force": True,
                "hot_path_ms": {"p50": ms, "p99": ms, "max": ms, "ideal": 9.0, "quantiles": [ms]},
            }
            for name, ms in p99.items()
        ]
    }  # fmt: skip


def test_the_hot_path_must_be_in_the_order_of_the_papers() -> None:
    good = verdicts(reference.judge, demo())
    four = "hot path highest: the same on 2 and on 4 cores"
    assert {row.verdict for name, row in good.items() if name != four} == {HOLDS}
    assert good[four].why == "this machine has 2 CPUs"
    for name, ms, said in (
        ("preemptive_hot", 16.0, "hot path highest / RM, p99"),
        ("preemptive", 30.0, "RM on the pool / a thread per node, p99"),
        ("priority_events", 110.0, "RM events / default executor, maximum"),
        ("isolated", 120.0, "a thread per node / wait set, p99"),
    ):
        bad = demo()
        for run in bad["runs"]:
            if run["executor"] == name:
                run["hot_path_ms"].update(p99=ms, max=ms)
        row = verdicts(reference.judge, bad)[said]
        assert (row.verdict, row.why.startswith("of the medians it is ")) == (FAILS, True)
    refused = demo()
    refused["runs"][0]["attributes_in_force"] = False
    row = verdicts(reference.judge, refused)["hot path highest / RM, p99"]
    assert row.verdict == OPEN
    assert "refused" in row.why


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        ({}, set()),
        ({"paper_ms": "12.68"}, {"Theorem 1"}),
        ({"exact_ms": "12.68"}, {"exact bounds"}),
    ],
)
def test_bounds_must_be_as_printed_and_ours_not_above(change: Result, failing: set[str]) -> None:
    row = {"utilization_percent": 60, "task": "Imu", "printed_ms": "12.67", "paper_ms": "12.67"}
    other = [{**row, "task": task, "exact_ms": "11.0"} for task in ("Camera", "Lidar")]
    result = {"rows": [{**row, "exact_ms": "11.83", **change}, *other]}
    rows = verdicts(computed.table_1, result)
    assert {name for name, one in rows.items() if one.verdict == FAILS} == failing


def test_reductions_must_be_the_papers_and_few_sets_are_not_judged() -> None:
    def result(sets: int, mean: float, most: float) -> Result:
        row = {"sets": sets, "reduction_mean": mean, "exact_reduction_mean": 30.0}
        row |= {"reduction_max": most, "utilization_percent": 60, "quantiles": [1.0]}
        return {"rows": [row]}

    def of(given: Result) -> list[str]:
        return [row.verdict for row in verdicts(computed.waters, given).values()]

    assert of(result(1000, 20.5, 88.0)) == [HOLDS, HOLDS]
    assert of(result(1000, 21.5, 92.0)) == [FAILS, FAILS]
    assert of(result(20, 21.5, 92.0)) == [OPEN, OPEN]


def test_pods_must_be_as_stated_and_its_spread_between_two_kinds_of_losses() -> None:
    rows = [
        {"experiment": "pods-reliable", "chain": 0, "point": 60, "who": who, "mean_ms": ms}
        for who, ms in (("batch", 96.0), ("paper", 44.0), ("own", 42.0), ("levels", 38.0))
    ]
    spread = {"success": 60, "who": "batch", "printed": 14.7, "apart": 8.7, "together": 15.0}
    result: Result = {"rows": rows, "problems": [], "stated": {}}
    judge = computed.pods("pods-reliable")
    good = judge({**result, "spread": [{**spread, "holds": True}]}, HERE).rows
    assert [row.verdict for row in good] == [HOLDS] * 3
    problems = ["pods-reliable 60 batch: no", "pods-chains: not this one"]
    bad = judge({**result, "problems": problems, "spread": [{**spread, "holds": False}]}, HERE).rows
    assert [row.verdict for row in bad] == [FAILS, HOLDS, FAILS]
    assert bad[0].why == "pods-reliable 60 batch: no"


def controlled(missed: int, best: int, floor: int, cycles: int = 100_000) -> Result:
    ways = {"by_hand": floor, "pool_beat": missed, "events_re": best, "waitset_multi": 10_000}
    return {
        "rows": [
            {
                "beside": "flood", "load": "background", "way": way, "missed": count,
                "missed_share": count / cycles, "cycles": cycles, "quantiles_us": [1.0],
                "p50_us": 7.0, "p99_us": 90.0, "max_us": 1500.0,
            }
            for way, count in ways.items()
        ]
    }  # fmt: skip


def test_a_control_loop_may_miss_one_in_a_thousand_more_than_a_thread_by_hand() -> None:
    name = "control loop beside flood, background: cycles missed"
    best = f"ours at its best: release-and-execute, {name}"
    found = verdicts(beside.judge_control, controlled(290, 210, 200))
    assert (found[name].verdict, found[best].verdict) == (HOLDS, HOLDS)
    assert "waitset_multi 10.00 %" in found[name].ours
    bad = verdicts(beside.judge_control, controlled(350, 360, 200))
    assert (bad[name].verdict, bad[best].verdict) == (FAILS, FAILS)
    assert bad[best].why.endswith("7, 90 and 1500 us (events_re), 7, 90 and 1500 us (by_hand)")
    timers_beside = verdicts(
        beside.judge_control, changed(controlled(0, 900, 0), {}, beside="slow")
    )
    assert [row.verdict for row in timers_beside.values()] == [HOLDS], "its thread runs them all"
    few = verdicts(beside.judge_control, controlled(7, 3, 3, 3000))[name]
    assert (few.verdict, few.why.split(" ")[0]) == (OPEN, "0.03")
    without_code = changed(controlled(8000, 8000, 3000), {}, beside="memory")
    assert {r.verdict for r in verdicts(beside.judge_control, without_code).values()} == {OPEN}


def on_hosts(exact: float, off: float, far_off: float, arrival: float) -> Result:
    cases = (
        ("header", 0.0, exact), ("header", 1.0, off), ("header", 20.0, far_off),
        ("arrival", 0.0, arrival),
    )  # fmt: skip
    return {
        "rows": [
            {
                "hosts": 2, "link": "near", "way": way, "offset_ms": offset, "error_ms": 2.0,
                "missed_share": share, "in_order_share": 0.9, "instances": 1000,
            }
            for way, offset, share in cases
        ]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("shares", "fails"),
    [
        ((0.01, 0.02, 0.06, 0.05), ""),
        ((0.06, 0.06, 0.06, 0.05), "exact clocks"),
        ((0.01, 0.04, 0.06, 0.05), "clocks 1 ms apart"),
        ((0.01, 0.02, 0.08, 0.05), "clocks 20 ms apart"),
    ],
)
def test_stamps_may_miss_no_more_than_arrivals_and_no_more_by_a_clock_within_its_error(
    shares: tuple[float, float, float, float], fails: str
) -> None:
    found = verdicts(hosts.judge, on_hosts(*shares))
    assert len(found) == 3
    for name, row in found.items():
        assert row.verdict == (FAILS if fails and fails in name else HOLDS), name


def chained() -> Result:
    late = ("shared", "runaway", "process_fifo", "waitset_multi", "waitset_single")
    rows = [
        {"cpus": 2, "way": way, "misses": misses, "instances": 100, "lost": 0.04}
        for misses, ways in ((7, late), (0, ("fifo", "budget")))
        for way in ways
    ]
    return {"rows": rows}


def test_a_chain_beside_best_effort_is_never_late_and_costs_little() -> None:
    found = verdicts(beside.judge_chain, chained())
    assert [row.verdict for row in found.values()] == [HOLDS] * 3
    for way, values in (
        ("fifo", {"misses": 1}),
        ("budget", {"misses": 1}),
        ("fifo", {"lost": 0.06}),
    ):
        other = changed(chained(), {"way": way}, **values)
        bad = [row for row in verdicts(beside.judge_chain, other).values() if row.verdict == FAILS]
        assert len(bad) == 1
