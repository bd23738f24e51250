# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The experiment contract: what is above its bound needs an explanation; what is a miss."""

import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from rclrt_analysis.model import System, model_schema
from rclrt_analysis.model.document import parse_document
from rclrt_analysis.model.read import build_system
from rclrt_benchmarks.contract.judged import (
    Evidence,
    Judged,
    busy_times,
    judge,
    worst_of,
)
from rclrt_benchmarks.contract.judged import Ran as Job
from rclrt_benchmarks.contract.machine import Stalls, Strangers, calibrated, look
from rclrt_benchmarks.contract.robot import judged
from rclrt_benchmarks.contract.sabotage import start_together
from rclrt_tools.reference.environment import may_use_realtime
from rclrt_tools.trace import Entry, Header, Records, Trace, blank, layout

MS = 1_000_000
ISOLATED = Header(executor=1, model=layout.MODEL_ISOLATED, ordering=layout.ORDER_FIRST_COME)


def model(text: str) -> System:
    """Return the system of a text; `schema` and `name` are added."""
    return build_system(
        parse_document(f"schema: 1\nname: test\n{text}", "test.yaml"), model_schema()
    )


def timer(name: str, period: int) -> Entry:
    return Entry(name, 0, "g0", 1, layout.KIND_TIMER, period)


def jobs(callback: int, *times: tuple[int, int, int, int], priority: int = 50) -> Records:
    """Return records of (release, start, end, CPU time), each in ms, of a timer under FIFO."""
    records = blank(len(times))
    records["callback"], records["cause"], records["cpus"] = callback, layout.CAUSE_TIMER, 1
    records["policy"], records["priority"] = layout.POLICY_FIFO, priority
    for record, (release, start, end, cpu) in zip(records, times, strict=True):
        record["release_ns"] = record["ready_ns"] = record["root_ns"] = release * MS
        record["start_ns"], record["end_ns"], record["cpu_ns"] = start * MS, end * MS, cpu * MS
        record["sequence"] = release
    return records


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
"""The bound of t, ms: its work, and what is stolen in a window."""


NAMES = ("t", "low", "s")


def job(name: str, release: int, start: int, end: int, cpu: int, by: int | None = None) -> Records:
    """Return the record of a job; by: when that job of t was released that has released it."""
    records = jobs(NAMES.index(name), (release, start, end, cpu))
    if by is not None:
        records["cpu"], records["cause"] = 1, layout.CAUSE_JOB
        records["by_executor"], records["by_sequence"] = ISOLATED.executor, by
    return records


def watched(*seen: Records, judged_from: int = 0) -> Judged:
    watch = Judged(model(SYSTEM), judged_from)
    watch.add(ISOLATED, {i: Entry(name) for i, name in enumerate(NAMES)}, np.concatenate(seen))
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
        watch = watched(early, judged_from=judged_from * MS)
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
        job("t", 40, 40, 42, 2),
        job("s", 42, 42, 43, 1, by=40),  # From the first output on it is counted.
        job("t", 100, 100, 102, 2),
        job("s", 102, 130, 131, 1, by=100),
    )
    watch.settle(200 * MS)
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
    records = jobs(0, (100, 105, 107, 2), priority=50)
    trace = Trace({0: timer("t", 20 * MS)}, records, 0, ISOLATED)
    watch = Judged(model(SYSTEM))
    watch.add(trace.header, trace.callbacks, trace.records)
    assert [one.name for one in watch.late] == ["t"]
    assert watch.jobs == 1
    assert [one.name for one in watch.take_late({"t"})] == ["t"]
    assert watch.late == []


def thread(
    proc: Path, number: int, policy: int, ran_ms: int, cpu: int = 0, parent: int = 1
) -> None:
    """Write what /proc says of a process with one thread."""
    for folder in (proc / str(number), proc / str(number) / "task" / str(number)):
        folder.mkdir(parents=True, exist_ok=True)
        fields = ["S", str(parent), *["0"] * 34, str(cpu), "50", str(policy), "0"]
        (folder / "stat").write_text(f"{number} (a (b) c) {' '.join(fields)}\n", encoding="utf-8")
    (folder / "comm").write_text("other\n", encoding="utf-8")
    (folder / "schedstat").write_text(f"{ran_ms * MS} 0 1\n", encoding="ascii")


def test_only_threads_of_other_programs_in_real_time_are_strangers(tmp_path: Path) -> None:
    thread(tmp_path, 10, os.SCHED_FIFO, 5)
    thread(tmp_path, 11, os.SCHED_RR, 5)
    thread(tmp_path, 12, 6, 5)
    thread(tmp_path, 13, os.SCHED_OTHER, 5)
    thread(tmp_path, 14, os.SCHED_FIFO, 5, parent=2)
    thread(tmp_path, 15, os.SCHED_FIFO, 5, parent=99)
    thread(tmp_path, 99, os.SCHED_FIFO, 5)
    (tmp_path / "16").mkdir()  # It is just ending.
    (tmp_path / "self").mkdir()
    assert sorted(one.process for one in look(tmp_path, [99])) == [10, 11, 12]


def test_what_they_ran_on_these_cpus_in_the_meantime_counts(tmp_path: Path) -> None:
    thread(tmp_path, 10, os.SCHED_FIFO, 100)
    thread(tmp_path, 11, os.SCHED_FIFO, 100, cpu=1)
    strangers = Strangers([0], tmp_path)
    strangers.note(is_first=True)
    assert strangers.total == 0
    thread(tmp_path, 10, os.SCHED_FIFO, 153)
    thread(tmp_path, 11, os.SCHED_FIFO, 153, cpu=1)
    thread(tmp_path, 12, os.SCHED_FIFO, 7)  # It has come in the meantime.
    strangers.note()
    strangers.note()
    assert strangers.ran == {"other (10)": 53 * MS, "other (12)": 7 * MS}
    ((since, until, ran),) = strangers.spans
    assert (since < until, ran) == (True, 60 * MS)
    assert strangers.within(until, until + MS) == 0
    assert strangers.within(since, since + 5) == 5, "no more than that time"
    assert str(strangers) == "other (10) for 53.0 ms, other (12) for 7.0 ms"


def test_the_real_proc_can_be_looked_at() -> None:
    with Strangers(range(1024)) as strangers:
        pass
    assert strangers.total >= 0
    assert all(one.process != os.getpid() for one in look(known=[os.getpid()]))


def test_programs_start_at_one_time_or_not_at_all() -> None:
    def told(*scripts: str) -> tuple[bool, list[str]]:
        pipe = subprocess.PIPE
        children = [
            subprocess.Popen(["sh", "-c", script], stdin=pipe, stdout=pipe, text=True)
            for script in scripts
        ]
        together = start_together(children)
        said = [child.stdout.read().strip() for child in children if child.stdout]
        return together, [
            text for child, text in zip(children, said, strict=True) if child.wait() == 0
        ]

    connects = "echo connected; read start; echo $start"
    together, (one, other) = told(f"sleep 0.2; {connects}", connects)
    assert together and one == other != ""
    assert told(connects, "exit 1") == (False, [])
