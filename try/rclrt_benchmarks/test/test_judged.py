# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What is above its bound is explained by what was measured at that time, and by nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from rclrt_benchmarks.contract.judged import (
    Evidence,
    Judged,
    busy_times,
    judge,
    worst_of,
)
from rclrt_benchmarks.contract.judged import Ran as Job
from rclrt_benchmarks.contract.machine import Stalls, calibrated
from rclrt_benchmarks.contract.setting import judged
from rclrt_benchmarks.contract.strangers import Strangers
from rclrt_tools.reference.environment import may_use_realtime
from rclrt_tools.trace import Trace
from rclrt_tools.watch.feed import Job as Seen
from recorded import ISOLATED, MS, jobs, model, timer

SYSTEM = """overheads: {stolen_ms: 1, window_ms: 10}
executors: [{name: e, kind: isolated, cores: [0]}, {name: f, kind: isolated, cores: [1]}]
callbacks:
  - {name: t, kind: timer, executor: e, period_ms: 20, wcet_ms: 2, priority: 50, publishes: [x]}
  - {name: low, kind: timer, executor: e, period_ms: 100, wcet_ms: 6, priority: 40}
  - {name: s, kind: subscription, executor: f, wcet_ms: 1, priority: 50, triggers: [x]}
chains:
  - {name: c, callbacks: [t, s], semantics: latency, deadline_ms: 20}
"""
BOUND = 3
"""Of t, ms: its work, and what is stolen in a window."""


def job(name: str, release: int, start: int, end: int, cpu: int, **more: object) -> Seen:
    key = (b"", 1, 1, release)
    fields = {"by": None, "by_callback": "", "message": None, "policy": 4, "priority": 50}
    fields |= {"thread": 1, "on": 0, "ran": True, "count": 1} | more
    times = [MS * at for at in (release, start, end, cpu)]
    return Seen(name, key, *times, **fields)  # type: ignore[arg-type]


def watched(*seen: Seen) -> Judged:
    watch = Judged(model(SYSTEM))
    watch.assumptions.add(seen)
    return watch


def at(cpu: int, begin: int, end: int) -> Stalls:
    return Stalls([cpu], [(cpu, MS * begin, MS * end)])


def left(watch: Judged, stalls: Stalls) -> list[str]:
    return [one.name for one in judge(watch, stalls).unexplained]


def test_nothing_explains_what_was_late_while_nothing_was_measured() -> None:
    watch = watched(job("t", 100, 105, 107, 2))
    verdict = judge(watch, Stalls([0]))
    assert [one.name for one in verdict.above] == ["t"]
    assert verdict.unexplained == verdict.above
    assert verdict.evidence == {verdict.above[0]: Evidence()}
    assert verdict.missed == []
    assert "t: 7.000 of 3.000 ms; measured: away 0.000 ms" in worst_of(verdict)[0]


def test_a_machine_that_was_away_explains_no_more_than_it_took() -> None:
    watch = watched(job("t", 100, 105, 107, 2))  # 4 ms above its bound, which has 1 ms of theft.
    assert left(watch, at(0, 100, 105)) == []
    assert left(watch, at(0, 102, 105)) == ["t"], "3 ms explain no 4 ms"
    assert left(watch, at(1, 100, 105)) == ["t"], "that was another CPU"
    assert left(watch, at(0, 90, 99)) == ["t"], "nothing waited any more"


def test_other_programs_in_real_time_explain_what_they_took_just_then() -> None:
    watch = watched(job("t", 100, 105, 107, 2), job("t", 140, 145, 147, 2))  # 4 ms above
    for spans, unexplained in (
        ([], [100, 140]),
        ([(90, 130, 3)], [100, 140]),
        ([(90, 130, 4)], [140]),
        ([(90, 130, 4), (146, 400, 100)], []),
        ([(50, 100, 50), (107, 120, 13)], [100, 140]),
    ):
        strangers = Strangers([0])
        strangers.spans = [(a * MS, b * MS, ran * MS) for a, b, ran in spans]
        found = judged(watch, Stalls([0]), strangers).verdict.unexplained
        assert [one.begin // MS for one in found] == unexplained, spans


def test_what_was_released_before_an_executor_ran_is_not_judged() -> None:
    early = job("t", 100, 105, 107, 2)
    for judged_from, late in ((100, ["t"]), (101, [])):
        watch = Judged(model(SYSTEM), judged_from * MS)
        watch.assumptions.add([early])
        assert [one.name for one in watch.late] == late


def test_a_stall_that_the_model_has_explains_nothing() -> None:
    watch = watched(job("t", 100, 100, 104, 2))  # 1 ms above its bound
    assert left(watch, at(0, 101, 102)) == ["t"]
    assert left(watch, at(0, 101, 103)) == []


def test_what_came_earlier_counts_as_long_as_the_cpu_had_work_since_then() -> None:
    held = job("low", 90, 97, 105, 6)
    late = job("t", 100, 105, 107, 2)
    assert left(watched(held, late), at(0, 90, 98)) == []
    # A moment in which nothing waited, and it does not count.
    gone = job("low", 90, 93, 99, 6)
    assert left(watched(gone, late), at(0, 90, 98)) == ["t"]


def test_jobs_that_ran_longer_than_the_model_says_explain_that_much() -> None:
    longer = job("t", 100, 100, 107, 7)
    verdict = judge(watched(longer), Stalls([0]))
    assert (verdict.unexplained, verdict.evidence[verdict.above[0]]) == ([], Evidence(0, 5 * MS))
    assert left(watched(job("t", 100, 100, 107, 5)), Stalls([0])) == ["t"]


def test_what_the_kernel_counted_as_a_jobs_while_the_machine_was_away_counts_once() -> None:
    verdict = judge(watched(job("t", 100, 100, 107, 7)), at(0, 101, 105))
    (found,) = verdict.evidence.values()
    assert (found.away, found.longer) == (4 * MS, MS)
    assert verdict.unexplained == []


def test_of_a_chain_the_busy_times_of_all_its_cpus_count() -> None:
    watch = watched(
        job("t", 100, 100, 102, 2),
        job("s", 102, 130, 131, 1, on=1, by=(b"", 1, 1, 100), by_callback="t"),
    )
    (chain,) = watch.chains
    chain.seen.add(31 * MS, 131 * MS, 20 * MS)
    late = next(one for one in watch.late if one.name == "c")
    assert watch.evidence(late, at(1, 102, 130)).away == 28 * MS
    assert watch.evidence(late, at(0, 103, 130)).away == 0, "its CPU had nothing to do"
    assert [one.name for one in judge(watch, at(1, 102, 130)).missed_unexplained] == []
    assert [one.name for one in judge(watch, Stalls([0])).missed_unexplained] == ["c"]


def test_a_busy_time_lasts_until_nothing_waits() -> None:
    one, two, three = (Job(a, a, b, 0) for a, b in ((0, 5), (3, 4), (6, 9)))
    assert [(b.begin, b.end, len(b.jobs)) for b in busy_times([three, two, one])] == [
        (0, 5, 2), (6, 9, 1),
    ]  # fmt: skip


def test_stalls_are_those_of_the_cpu_and_of_the_time_that_is_asked_for() -> None:
    stalls = Stalls([0, 1], [(0, 10, 20), (1, 12, 30), (0, 40, 41)])
    assert stalls.within(15, 100, 0) == 6
    assert stalls.within(15, 100, 1) == 15
    assert stalls.within(0, 10, 0) == 0
    assert stalls.longest_ms == 18 / MS


def test_the_program_that_looks_for_stalls_is_understood() -> None:
    program = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_benchmarks" / "cost_of_a_job"
    if not program.exists():
        pytest.skip("cost_of_a_job is not in this build")
    if not may_use_realtime():
        pytest.skip("SCHED_FIFO is not permitted")
    begin = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    with Stalls([0]) as stalls:
        time.sleep(0.2)
    end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    assert 0 <= stalls.within(begin, end, 0) <= end - begin
    assert stalls.within(begin - MS, begin, 0) == 0
    assert calibrated([0], 5, 0.1).samples["job_ns"]


def test_the_jobs_of_traces_are_judged_as_well() -> None:
    from rclrt_tools.watch.feed import read

    records = jobs(0, (100, 105, 107, 2), priority=50)
    trace = Trace({0: timer("t", 20 * MS)}, records, 0, ISOLATED)
    watch = Judged(model(SYSTEM))
    watch.add(trace.header, trace.callbacks, trace.records)
    assert [one.name for one in watch.late] == ["t"]
    assert watch.jobs == len(read(trace.header, trace.callbacks, trace.records)[0])
    assert [one.name for one in watch.take_late({"t"})] == ["t"]
    assert watch.late == []
