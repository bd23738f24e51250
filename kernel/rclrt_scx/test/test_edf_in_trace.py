# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What outsiders say of made-up traces; 11 and 12 have deadlines, 13 has none, 99 is FIFO."""

import pytest
from edf_in_trace import Seen, TraceError, check, run_times
from periodic_sets import Job, Set, judge

MS = 1_000_000
BOUND = 9 * MS
PERIOD = 100 * MS


class Trace:
    """Lines as tracefs prints them; times in ms."""

    def __init__(self, cpus: int = 1) -> None:
        self._lines: list[str] = []
        self._runs = dict.fromkeys(range(cpus), 0)

    def _add(self, ms: float, cpu: int, tid: int, text: str) -> None:
        at = f"{int(ms / 1000)}.{round(ms * 1000) % 1_000_000:06d}"
        self._lines.append(f"        my job-{tid:<7} [{cpu:03d}] d..2.    {at}: {text}")

    def switch(self, ms: float, tid: int, cpu: int = 0, state: str = "R") -> "Trace":
        before, self._runs[cpu] = self._runs[cpu], tid
        priority = {99: 59}
        self._add(
            ms, cpu, before,
            f"sched_switch: prev_comm=a b prev_pid={before} prev_prio={priority.get(before, 120)} "
            f"prev_state={state} ==> next_comm=c next_pid={tid} "
            f"next_prio={priority.get(tid, 120)}",
        )  # fmt: skip
        return self

    def wake(self, ms: float, tid: int) -> "Trace":
        text = f"sched_wakeup: comm=my job pid={tid} prio=120 target_cpu=000"
        self._add(ms, 0, 1, text)
        return self

    def mark(self, ms: float, text: str) -> "Trace":
        self._add(ms, 0, 1, f"tracing_mark_write: rclrt {text}")
        return self

    def due(self, ms: float, tid: int, due_ms: int) -> "Trace":
        return self.mark(ms, f"{tid} due {due_ms * MS}").mark(ms, f"{tid} done")

    def text(self, written: int | None = None) -> str:
        count = len(self._lines)
        head = f"# tracer: nop\n# entries-in-buffer/entries-written: {count}/{written or count}\n"
        return head + "\n".join(self._lines) + "\n"

    def check(self) -> Seen:
        return check(self.text(), BOUND, PERIOD)


def two_jobs(first: int, second: int, cpus: int = 1) -> Trace:
    """Return a trace in which 11 runs from 10 ms on, while 12 waits from 20 to 40."""
    trace = Trace(cpus).due(1, 11, first).due(2, 12, second).wake(10, 11).switch(10, 11)
    if cpus > 1:
        trace.switch(11, 13, cpu=1)
    return trace.wake(20, 12).switch(40, 12, state="S").switch(50, 0, state="S")


def test_order_is_found_in_order() -> None:
    seen = two_jobs(100, 200).check()
    assert not seen.too_long
    assert (seen.switches, seen.waits, seen.deadlines, seen.threads) == (2, 2, 2, {11, 12})
    assert seen.longest.lasted_ns == 0


def test_a_later_one_that_runs_on_is_found() -> None:
    seen = two_jobs(200, 100).check()
    assert {round(inversion.lasted_ns / MS) for inversion in seen.too_long} == {20}
    assert "thread 12, due 100000000, beside thread 11, due 200000000 on CPU 0" in (
        seen.longest.text
    )


def test_one_without_a_deadline_and_an_idle_cpu_are_later_than_any() -> None:
    assert two_jobs(0, 100).check().too_long
    assert two_jobs(100, 200, cpus=2).check().too_long
    idle = Trace().due(1, 12, 100).switch(5, 13).switch(6, 0, state="S").wake(10, 12).switch(30, 12)
    assert "nothing on CPU 0" in idle.check().longest.text


def test_a_thread_waits_for_the_cpus_only_where_it_may_run() -> None:
    trace = Trace(2).mark(3, "12 on 0").mark(3, "12 done")
    trace.due(4, 11, 100).due(5, 12, 200).switch(10, 11).switch(11, 13, cpu=1).wake(20, 12)
    trace.switch(40, 12, state="S")
    assert not trace.check().too_long


def test_fifo_is_above_all() -> None:
    trace = Trace().due(1, 11, 100).switch(5, 99).wake(10, 11).switch(40, 11, state="S")
    assert trace.check().longest.lasted_ns == 0


def test_one_that_is_preempted_waits_and_one_that_sleeps_does_not() -> None:
    def trace(state: str) -> Trace:
        trace = Trace().due(1, 11, 100).due(1, 12, 200).wake(10, 11).switch(10, 11)
        return trace.switch(20, 12, state=state).switch(40, 0, state="S")

    assert trace("R+").check().too_long
    assert not trace("T").check().too_long


def test_what_is_being_changed_accuses_nobody() -> None:
    trace = Trace().due(1, 11, 200).due(1, 12, 300).wake(10, 11).switch(10, 11).wake(15, 12)
    trace.mark(16, "12 due 100000000").switch(40, 12).mark(41, "12 done").mark(41, "12 due 0")
    assert not trace.switch(60, 11).check().too_long


def test_a_change_that_did_not_come_about_counts_for_nothing() -> None:
    trace = Trace(2).mark(1, "12 on 1").mark(2, "12 undone").due(3, 12, 100)
    trace.switch(4, 99, cpu=1).switch(5, 13).wake(10, 12).switch(30, 12)
    assert trace.check().too_long


def test_many_short_inversions_in_one_wait_are_too_many() -> None:
    trace = Trace().due(1, 11, 100).due(1, 12, 200).due(1, 14, 300).switch(5, 11).wake(5, 12)
    for i in range(4):  # Each time 5 ms, within the bound.
        trace.switch(10 + 10 * i, 14).switch(15 + 10 * i, 11)
    seen = trace.switch(60, 12, state="S").check()
    assert seen.longest.lasted_ns < BOUND
    assert len(seen.too_long) == 1
    assert round(seen.summed.lasted_ns / MS) == 20


def test_each_cpu_has_a_reserve_of_its_own() -> None:
    def trace(second: int) -> Trace:
        trace = Trace(2).due(1, 11, 100).due(1, 12, 200).due(1, 14, 100).due(1, 15, 300)
        trace.switch(5, 11).switch(5, 14, cpu=1).wake(6, 12)
        trace.switch(10, 15).switch(16, 11)  # 6 ms of each CPU, or twice of the first.
        before = 11 if second == 0 else 14
        trace.switch(30, 15, cpu=second).switch(36, before, cpu=second)
        return trace.switch(50, 12, state="S")

    assert not trace(1).check().too_long
    assert len(trace(0).check().too_long) == 1


def test_beside_one_whose_budget_may_be_used_up_only_the_background_is_later() -> None:
    def trace(beside: int, runtime_ms: int) -> Trace:
        trace = Trace().due(1, 11, 200).due(1, 12, 100).switch(5, 12)
        trace.mark(6, f"12 budget {runtime_ms * MS} {50 * MS}").mark(6, "12 done")
        return trace.switch(12, beside).switch(40, 12)

    assert not trace(11, 5).check().too_long
    assert trace(13, 5).check().too_long
    assert trace(11, 10).check().too_long


def test_a_cpu_that_goes_away_runs_nothing_and_keeps_nobody() -> None:
    trace = Trace(2).mark(1, "12 on 1").mark(1, "12 done").due(2, 12, 100).due(2, 11, 200)
    trace.switch(3, 13, cpu=1).switch(3, 11).wake(4, 12).mark(5, "cpu 1 leaves")
    assert not trace.switch(50, 12, state="S").check().too_long
    away = Trace(2).mark(1, "12 on 1").mark(1, "12 done").due(2, 12, 100).due(2, 11, 200)
    away.switch(3, 13, cpu=1).switch(3, 11).mark(4, "cpu 1 leaves").mark(5, "cpu 1 away")
    away.wake(10, 12).switch(50, 12, state="S")
    assert away.check().too_long, "it may run on the other one, as the kernel lets it"


def test_a_trace_that_lost_events_proves_nothing() -> None:
    lines = two_jobs(100, 200)
    for text in (lines.text(written=99), lines.text() + "CPU:1 [LOST 3 EVENTS]\n", "nothing"):
        with pytest.raises(TraceError):
            check(text, BOUND, PERIOD)


def test_who_had_a_cpu_when() -> None:
    spans = run_times(two_jobs(100, 200).switch(60, 99).switch(61, 0).text())
    assert spans == [
        (0, 10 * MS, 40 * MS, 11, False),
        (0, 40 * MS, 50 * MS, 12, False),
        (0, 50 * MS, 60 * MS, 0, False),
        (0, 60 * MS, 61 * MS, 99, True),
    ]


def test_one_that_is_late_is_excused_by_what_was_above_all_and_by_nothing_else() -> None:
    one = Set("set", 1, (), {"a": 10 * MS, "b": 10 * MS})
    jobs = [Job("a", 5 * MS, 14 * MS), Job("b", 12 * MS, 25 * MS), Job("b", 40 * MS, 49 * MS)]

    def judged(above: bool, cpu: int, until: int) -> tuple[int, int, float]:
        found = judge(one, jobs, [(cpu, 8 * MS, until * MS, 99, above)])
        return len(found.late), found.excused, found.closest

    assert judged(True, 1, 11) == (0, 1, 0.9), "3 ms before it came, in which it waited for others"
    assert judged(True, 1, 10) == (1, 0, 0.9)
    assert judged(False, 1, 11) == (1, 0, 0.9)
    assert judged(True, 0, 11) == (1, 0, 0.9)
