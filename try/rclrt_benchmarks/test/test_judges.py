# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Every shape of the papers is noticed when it does not hold."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from rclrt_benchmarks.experiments import (
    agent,
    budget,
    control_loop,
    cost,
    dispatch,
    edf,
    isolation_cost,
    memory,
    scale,
    seven_timers,
    table_1,
    thread_creation,
    timer_jitter,
    waters,
)
from rclrt_benchmarks.harness.catalogue import judge_hot_path
from rclrt_benchmarks.harness.row import FAILS, HOLDS, OPEN, Judged, Machine, Row

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
        of = dict.fromkeys(("preemptive", "priority_events"), ours)
        of |= dict.fromkeys(dispatch.WAIT_SETS, theirs)
        of |= {"preemptive_inline": 30.0, "floor_handover": 55.0}
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
    assert good["preemptive, p99 / that of the better wait set"].ahead == ""
    bad = changed(dispatched(), {"case": dispatch.ONE, "executor": "preemptive"}, p99_us=130.0)
    assert (
        verdicts(dispatch.judge, bad)["preemptive, p99 / that of the better wait set"].verdict
        == FAILS
    )
    near = changed(dispatched(), {"case": dispatch.ONE, "executor": "preemptive"}, p99_us=115.0)
    row = verdicts(dispatch.judge, near)["preemptive, p99 / that of the better wait set"]
    assert row.verdict == HOLDS
    assert row.ahead == "0.85 in the paper, 0.96 here"
    few = changed(dispatched(), {"case": dispatch.ONE, "executor": "preemptive"}, p99_us=None)
    row = verdicts(dispatch.judge, few)["preemptive, p99 / that of the better wait set"]
    assert (row.verdict, row.why) == (OPEN, "too few samples")


def test_idle_subscriptions_must_cost_nothing_and_ten_little() -> None:
    assert {row.verdict for row in verdicts(dispatch.judge_idle, dispatched()).values()} == {HOLDS}
    assert {r.verdict for r in verdicts(dispatch.judge_fan_out, dispatched()).values()} == {HOLDS}
    bad = changed(
        dispatched(), {"case": dispatch.IDLE, "executor": "priority_events"}, p50_us=150.0
    )
    failed = [n for n, row in verdicts(dispatch.judge_idle, bad).items() if row.verdict == FAILS]
    assert len(failed) == 2
    assert all("priority_events" in name for name in failed)
    slower = changed(bad, {"case": dispatch.IDLE, "executor": "floor_handover"}, p50_us=137.5)
    name = "priority_events: median beside 100 idle subscriptions / alone"
    name += ", relative to a bare hand-over"
    row = verdicts(dispatch.judge_idle, slower)[name]
    assert (row.verdict, row.ours) == (HOLDS, "1.00 (2.50 / 2.50)"), "the machine was slower"
    bad = changed(dispatched(), {"case": dispatch.FAN_OUT, "executor": "preemptive"}, p99_us=300.0)
    failed = [n for n, r in verdicts(dispatch.judge_fan_out, bad).items() if r.verdict == FAILS]
    assert failed == ["growth of preemptive / growth of the multi-threaded wait set, p99, 1 to 10"]


def jitters(timers_at_once: int = 1) -> Result:
    rows = []
    for period in (1.0, 10.0):
        of = {"cyclictest": 10.0, "preemptive": 11.0, "priority_events": 10.0, "isolated": 9.0}
        of |= {"wait_set_multi": 25.0, "priority_events_re": 10.5}
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
    assert {row.verdict for row in verdicts(timer_jitter.judge, jitters()).values()} == {HOLDS}
    pool = {"executor": "preemptive", "period_ms": 10.0}
    for change, name in (
        ({"p99_us": 13.0}, "preemptive / cyclictest, 10 ms: p99"),
        ({"p99_us": 26.0}, "preemptive / wait set, 10 ms: p99"),
        ({"drift_us": 0.5}, "preemptive, 10 ms: mean"),
    ):
        bad = verdicts(timer_jitter.judge, changed(jitters(), pool, **change))
        assert bad[name].verdict == FAILS
        assert ("with release-and-execute" in bad[name].why) == ("p99_us" in change)
    best = {"executor": "priority_events_re", "period_ms": 10.0}
    bad = verdicts(timer_jitter.judge, changed(jitters(), best, p99_us=12.5))
    name = "ours at its best: release-and-execute / cyclictest, 10 ms: p99"
    assert (bad[name].verdict, bad[name].why[-10:]) == (FAILS, "1.05, 1.05")
    without = jitters()
    without["rows"] = [row for row in without["rows"] if row["executor"] != "cyclictest"]
    row = verdicts(timer_jitter.judge, without)["preemptive / cyclictest, 10 ms: p99"]
    assert (row.verdict, row.why) == (OPEN, timer_jitter.NO_YARDSTICK)


def test_ten_timers_must_be_tighter_than_the_wait_set() -> None:
    ten = jitters(10)
    ten["rows"] = [row for row in ten["rows"] if row["period_ms"] == 10.0]
    assert {row.verdict for row in verdicts(timer_jitter.judge_ten, ten).values()} == {HOLDS}
    bad = verdicts(timer_jitter.judge_ten, changed(ten, {"executor": "preemptive"}, p99_us=60.0))
    row = bad["preemptive / wait set with ten threads: p1 to p99"]
    assert (row.verdict, row.why[:15]) == (FAILS, "a second thread")
    bad = verdicts(
        timer_jitter.judge_ten, changed(ten, {"executor": "priority_events_re"}, p99_us=60.0)
    )
    assert [row.verdict for row in bad.values()].count(FAILS) == 1


def test_creating_a_thread_must_cost_more_than_a_release() -> None:
    result: Result = {
        "rows": [
            {"way": way, "what": what, "p50_us": us, "rounds_p50_us": [us], "quantiles_us": [us]}
            for way, us in (("joined", 10.0), ("not_joined", 12.0), ("preemptive", 2.0))
            for what in ("call", "start")
        ]
    }
    assert {row.verdict for row in verdicts(thread_creation.judge, result).values()} == {HOLDS}
    for way, name in (("preemptive", "until it begins"), ("joined", "100 us")):
        bad = changed(result, {"way": way}, p50_us=101.0)
        failed = [n for n, r in verdicts(thread_creation.judge, bad).items() if r.verdict == FAILS]
        assert any(name in one for one in failed)


def seven() -> Result:
    rows = []
    for level in (60, 80, 90):
        for name in seven_timers.NAMES:
            for task in ("Imu", "Camera", "Lidar"):
                today = name in seven_timers.TODAY
                late = today and task == "Imu" and level == 90
                ms = 1.0 if name in ("preemptive", "isolated") else 8.0
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
    rm = {"executor": "priority_events", "task": "Imu", "level": 80}
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
    of = {"single": 1.0, "multi": 3.0, "isolated": 1.3, "preemptive": 1.2, "priority_events": 1.1}
    return {
        "rows": [
            {
                "where": where, "callbacks": count, "executor": name,
                **{key: 100.0 * count * factor for key in isolation_cost.FIGURES},
                "rounds": {key: [100.0 * count * factor] for key in isolation_cost.FIGURES},
            }
            for where in isolation_cost.PAPER
            for count in (1, 4, 24)
            for name, factor in of.items()
        ]
    }  # fmt: skip


def test_isolation_costs_less_than_several_threads_and_a_fixed_ratio_of_one() -> None:
    assert {row.verdict for row in verdicts(isolation_cost.judge, isolated()).values()} == {HOLDS}
    most = {"where": "two processes", "callbacks": 24, "executor": "isolated"}
    bad = verdicts(isolation_cost.judge, changed(isolated(), most, context_switches=24 * 350.0))
    each = "isolated 1.3, 3.5; single 1.0, 1.0; multi 3.0, 3.0; preemptive 1.2, 1.2"
    each = f"for each message, {each} (with 1 and 24 callbacks)"
    for name in ("isolated / multi, worst N", "isolated / single, worst N"):
        row = bad[f"context switches, two processes: {name}"]
        assert (row.verdict, row.why) == (FAILS, each)
    flat = "context switches, two processes: isolated / single with 24 callbacks / with few"
    assert bad[flat].verdict == FAILS
    phase = isolated()
    more = [{**row, "where": isolation_cost.IN_PHASE} for row in phase["rows"]]
    phase["rows"] += [row for row in more if row["where"] not in isolation_cost.PAPER][:15]
    name = "context switches, timers in phase: isolated / single, worst N"
    assert verdicts(isolation_cost.judge, phase)[name].verdict == HOLDS
    most_in_phase = {**most, "where": isolation_cost.IN_PHASE}
    row = verdicts(isolation_cost.judge, changed(phase, most_in_phase, context_switches=24e4))[name]
    assert row.verdict == FAILS
    assert "one thread for all is ahead" in row.ahead
    without = isolated()
    for one in without["rows"]:
        del one["system_calls"]
    rows = verdicts(isolation_cost.judge, without)
    assert rows["mode switches, two processes"].verdict == OPEN
    assert rows["context switches, one process: isolated / multi, worst N"].verdict == HOLDS
    memory = verdicts(isolation_cost.judge, changed(isolated(), most, pss_kib=24 * 310.0))
    assert (
        "2 here, 16 in the paper"
        in memory["memory (PSS), two processes: isolated / multi, worst N"].why
    )


def booted() -> Result:
    names = {**edf.ORDER, **edf.PREEMPTION}
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
    for judge in (edf.judge_order, edf.judge_preemption):
        assert {row.verdict for row in verdicts(judge, booted()).values()} == {HOLDS}
    bad = booted()
    bad["machines"][1]["results"]["earliest_first"] = ("fail", "B A")
    row = verdicts(edf.judge_order, bad)[edf.ORDER["earliest_first"]]
    assert (row.verdict, row.why) == (FAILS, "2 CPUs: B A")
    bad["machines"][0]["complaints"] = ["WARNING"]
    assert verdicts(edf.judge_order, bad)["the kernel"].verdict == FAILS
    bad["machines"][0]["wake_to_run_us"]["edf"] = [21.0] * 9
    name = "wake to run, EDF / SCHED_FIFO, 1 CPUs: median"
    row = verdicts(edf.judge_preemption, bad)[name]
    assert (row.verdict, "run 688 instructions more" in row.why) == (FAILS, True)
    for machine in bad["machines"]:
        machine["results"]["a_later_one_does_not_preempt"] = ("skip", "needs two CPUs")
    row = verdicts(edf.judge_preemption, bad)["a later deadline"]
    assert (row.verdict, row.why) == (OPEN, "needs two CPUs; needs two CPUs")


def demo() -> Result:
    p99 = {
        "wait_set_single": 200.0, "wait_set_multi": 100.0, "priority_events": 50.0,
        "isolated": 20.0, "preemptive": 15.0, "preemptive_edf": 18.0, "preemptive_hot": 10.0,
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
    good = verdicts(judge_hot_path, demo())
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
        row = verdicts(judge_hot_path, bad)[said]
        assert (row.verdict, row.why.startswith("of the medians it is ")) == (FAILS, True)
    refused = demo()
    refused["runs"][0]["attributes_in_force"] = False
    row = verdicts(judge_hot_path, refused)["hot path highest / RM, p99"]
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
    rows = verdicts(table_1.judge, result)
    assert {name for name, one in rows.items() if one.verdict == FAILS} == failing


def test_reductions_must_be_the_papers_and_few_sets_are_not_judged() -> None:
    def result(sets: int, mean: float, most: float, share: float = 0.8) -> Result:
        row = {
            "schedulable": share,
            "sets": sets,
            "reduction_mean": mean,
            "exact_reduction_mean": 30.0,
        }
        row |= {"reduction_max": most, "utilization_percent": 60, "quantiles": [1.0]}
        return {"rows": [row]}

    def of(given: Result) -> list[str]:
        return [row.verdict for row in verdicts(waters.judge, given).values()]

    assert of(result(1000, 20.5, 88.0)) == [HOLDS, HOLDS, HOLDS]
    assert of(result(1000, 21.5, 92.0, 0.75)) == [FAILS, FAILS, FAILS]
    assert of(result(20, 21.5, 92.0, 0.75)) == [OPEN, OPEN, OPEN]


def controlled(missed: int, best: int, floor: int, cycles: int = 100_000) -> Result:
    ways = {
        "by_hand": floor,
        "preemptive_beat": missed,
        "priority_events_re": best,
        "wait_set_multi": 10_000,
    }
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
    best = "ours at its best: release-and-execute, {}".format(
        "control loop beside flood, background: cycles missed"
    )
    name = "preemptive_beat, control loop beside flood, background: cycles missed"
    found = verdicts(control_loop.judge, controlled(290, 210, 200))
    assert (found[name].verdict, found[best].verdict) == (HOLDS, HOLDS)
    assert "wait_set_multi 10.00 %" in found[name].ours
    bad = verdicts(control_loop.judge, controlled(350, 360, 200))
    assert (bad[name].verdict, bad[best].verdict) == (FAILS, FAILS)
    assert bad[best].why.endswith(
        "7, 90 and 1500 us (priority_events_re), 7, 90 and 1500 us (by_hand)"
    )
    timers_beside = verdicts(control_loop.judge, changed(controlled(0, 900, 0), {}, beside="slow"))
    assert [row.verdict for row in timers_beside.values()] == [HOLDS], "its thread runs them all"
    few = verdicts(control_loop.judge, controlled(7, 3, 3, 3000))[name]
    assert (few.verdict, few.why.split(" ")[0]) == (OPEN, "0.03")
    without_code = changed(controlled(8000, 8000, 3000), {}, beside="memory")
    assert {r.verdict for r in verdicts(control_loop.judge, without_code).values()} == {OPEN}


def chained() -> Result:
    late = ("shared", "runaway", "process_fifo", "wait_set_multi", "wait_set_single")
    rows = [
        {"cpus": 2, "way": way, "misses": misses, "instances": 100, "lost": 0.04}
        for misses, ways in ((7, late), (0, ("fifo", "budget")))
        for way in ways
    ]
    return {"rows": rows}


def test_a_chain_beside_best_effort_is_never_late_and_costs_little() -> None:
    found = verdicts(budget.judge, chained())
    assert [row.verdict for row in found.values()] == [HOLDS] * 3
    for way, values in (
        ("fifo", {"misses": 1}),
        ("budget", {"misses": 1}),
        ("fifo", {"lost": 0.06}),
    ):
        other = changed(chained(), {"way": way}, **values)
        bad = [row for row in verdicts(budget.judge, other).values() if row.verdict == FAILS]
        assert len(bad) == 1


def of_case(kind: str, **us: float) -> Result:
    """Return a result of dispatch: medians, 99th percentiles and CPU times by executor."""
    rows = [
        {
            "case": kind, "kind": kind, "subscriptions": 1, "executor": name, "p50_us": value,
            "p99_us": value, "cpu_us": value,
        }
        for name, value in us.items()
    ]  # fmt: skip
    return {"rows": rows}


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        (
            of_case(
                dispatch.RCLCPP, floor_listener=100, preemptive=106, priority_events=108,
                rclcpp_events_fifo=110,
                rclcpp_multi_fifo=200,
            ),
            {
                ("preemptive, adds / that of rclcpp_events_fifo", HOLDS, "0.60"),
                ("preemptive, adds / that of rclcpp_multi_fifo", HOLDS, "0.06"),
                ("priority_events, adds / that of rclcpp_events_fifo", FAILS, "0.80"),
                ("priority_events, adds / that of rclcpp_multi_fifo", HOLDS, "0.08"),
            },
        ),
        (
            of_case(
                dispatch.RCLCPP_TURNS, floor_listener_default=100, preemptive_default=102,
                preemptive_spin_default=90, rclcpp_events=100,
            ),
            {
                ("preemptive_spin_default, p50 / that of floor_listener_default", HOLDS, "0.90"),
                ("preemptive_spin_default, p50 / that of rclcpp_events", FAILS, "0.90"),
                ("preemptive_spin_default, p99 / that of rclcpp_events", HOLDS, "0.90"),
                ("preemptive_default, cpu / that of rclcpp_events", FAILS, "1.02"),
            },
        ),
        (
            of_case(dispatch.LOADS, preemptive_default=102, rclcpp_events=100, rclcpp_single=99),
            {
                ("preemptive_default, p50 / that of rclcpp_events", FAILS, "1.02"),
                ("preemptive_default, cpu / that of rclcpp_events", FAILS, "1.02"),
            },
        ),
        (
            of_case(dispatch.TOGETHER, floor_listener=100, preemptive_inline=106),
            {("preemptive_inline, p50 / that of floor_listener", FAILS, "1.06")},
        ),
        (
            of_case(
                dispatch.TURNS, floor_listener=100, floor_handover=120, preemptive=150,
                preemptive_edf=200,
                preemptive_adaptive=100,
            ),
            {
                ("preemptive, p50 / that of floor_handover", HOLDS, "1.25"),
                ("preemptive, p99 / that of floor_handover", HOLDS, "1.25"),
                ("preemptive_edf, p50 / that of preemptive", HOLDS, "1.33"),
                ("preemptive_adaptive, p50 / that of floor_listener", HOLDS, "1.00"),
            },
        ),
    ],
)  # fmt: skip
def test_delays_are_held_against_their_floors_and_the_executors_of_rclcpp(
    result: Result, wanted: set[tuple[str, str, str]]
) -> None:
    rows = dispatch.judge_targets(result, HERE).rows
    assert {(r.name.partition(": ")[2], r.verdict, r.ours) for r in rows} == wanted


def test_ten_subscriptions_are_held_against_the_better_wait_set() -> None:
    ten = of_case(dispatch.TURNS, preemptive=50, wait_set_multi=100, wait_set_multi_10=80)
    for row in ten["rows"]:
        row["subscriptions"] = 10
    (row,) = dispatch.judge_targets(ten, HERE).rows
    assert (row.verdict, row.ours) == (FAILS, "0.62")
    assert row.name.endswith("p50 / better of wait_set_multi and wait_set_multi_10")
    few = changed(ten, {"executor": "preemptive"}, p50_us=None)
    assert dispatch.judge_targets(few, HERE).rows == []


def test_scale_judges_what_looking_for_work_gains_and_costs() -> None:
    def row(part: str, figure: str, variant: str, size: int, value: float) -> dict[str, object]:
        return dict(part=part, figure=figure, variant=variant, size=size, value=value)

    rows = [row("callbacks", "start us", "preemptive_spin", 1, 3.5)]
    for size, p50, cpu in ((10, 1, 1), (100, 150, 50), (1000, 90, 90), (10_000, 110, 60)):
        rows += [
            row("messages", "p50 us", "floor_listener", size, 100),
            row("messages", "p50 us", "preemptive_adaptive", size, p50),
            row("messages", "CPU us", "preemptive_adaptive", size, cpu),
            row("messages", "CPU us", "preemptive", size, 50),
            row("messages", "CPU us", "rclcpp_events", size, 49 if size == 100 else 50),
        ]
    rows.append(row("messages", "CPU us", "preemptive", 100_000, 50))
    rows.append(row("messages", "CPU us", "rclcpp_events", 100_000, 50))
    rows.append(row("messages", "lost %", "rclcpp_events", 100_000, 20))
    judged = {row.name: (row.verdict, row.ours) for row in scale.judge({"rows": rows}, HERE).rows}
    looks = "preemptive_adaptive, p50 / listener, or CPU / preemptive"
    assert judged == {
        "release to start without a wake-up, us": (FAILS, "3.50"),
        "100 a second: preemptive CPU / rclcpp_events": (FAILS, "1.02"),
        f"100 a second: {looks}": (HOLDS, "1.50, 1.00"),
        "1000 a second: preemptive CPU / rclcpp_events": (HOLDS, "1.00"),
        f"1000 a second: {looks}": (HOLDS, "0.90, 1.80"),
        "10000 a second: preemptive CPU / rclcpp_events": (HOLDS, "1.00"),
        f"10000 a second: {looks}": (FAILS, "1.10, 1.20"),
    }


def test_what_a_callback_and_a_call_add_must_not_be_above_its_limit() -> None:
    rows = [
        {"executor": "preemptive", "kind": "timer", "bytes_per_callback": n} for n in (1000, 1030)
    ]
    assert [r.verdict for r in memory.judge({"rows": [], "callbacks": rows}, HERE).rows] == [
        HOLDS,
        FAILS,
    ]
    calls = [
        {"part": "trace", "variant": "live", "more_ns": ns, "most_ns": limit}
        for ns, limit in ((149.0, 150.0), (151.0, 150.0), (5.0, None))
    ]
    assert [row.verdict for row in cost.judge({"rows": calls}, HERE).rows] == [HOLDS, FAILS]


def test_numbers_to_a_client_must_come_back_in_time_and_as_cheaply_as_by_another_agent() -> None:
    def row(case: str, name: str, **more: object) -> Result:
        base = {"lost": 0, "down_p90_ms": 40.0, "round": {"p50_ms": 6.0}, "cpu_us": 100.0}
        return {"case": case, "agent": name, **base, **more}

    good = [
        row(case, name) for case in ("quiet", "bulk", "cpu") for name in ("rclrt_agent", "other")
    ]
    found = verdicts(agent.judge, {"rows": good})
    assert [one.verdict for one in found.values()] == [HOLDS] * 6
    for case, worse, name in (
        ("bulk", {"down_p90_ms": 46.0}, "bulk: p90 of the way down / 45 ms"),
        ("quiet", {"round": {"p50_ms": 6.4}}, "quiet: p50 there and back, against the other"),
        ("cpu", {"cpu_us": 106.0}, "cpu: CPU time a message, against the other"),
        ("cpu", {"lost": 1}, "cpu: numbers that do not come back"),
    ):
        bad = changed({"rows": good}, {"case": case, "agent": "rclrt_agent"}, **worse)
        failed = [n for n, one in verdicts(agent.judge, bad).items() if one.verdict == FAILS]
        assert failed == [name]
