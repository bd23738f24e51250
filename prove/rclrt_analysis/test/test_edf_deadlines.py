# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""EDF on one core: worked numbers with preemption, the formula at every deadline without."""

from __future__ import annotations

import random

import numpy as np
import pytest
from rclrt_analysis.bounds import nonpreemptive_edf as edf
from rclrt_analysis.bounds.fixed_point import UNBOUNDED
from rclrt_analysis.bounds.supply import DEDICATED, Supply
from rclrt_analysis.bounds.taskset import TaskSet, make_taskset
from test_system_bounds import analysed, bounds, reason, timer

PERIODS = (20, 24, 30, 36, 40, 50, 60, 70, 84, 100)


def supplied(supply: Supply, work: int) -> int:
    return int(supply.time(np.array([work]))[0])


def by_the_formula(tasks: TaskSet, supply: Supply, early: list[int]) -> list[tuple[int, int]]:
    """Return the responses of every task, from the actual and the nominal release."""
    columns = (tasks.wcet, tasks.period, tasks.deadline, tasks.jitter)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    end, then = -1, 1
    while end != then:
        end = then
        most = max(c for c, *_ in rows) + sum(-(-(end + j) // t) * c for c, t, _, j in rows)
        then = max(1, supplied(supply, most))
    found = []
    for i, (c, t, d, j) in enumerate(rows):
        worst = [c, c]
        low, high = -j + d, end + d
        dues = {d2 - j2 + k * t2 for _, t2, d2, j2 in rows for k in range((high + j2) // t2 + 1)}
        for due in sorted(due for due in dues if low <= due < high):
            a = due - d
            blocking = max((c2 for c2, _, d2, _ in rows if d2 > due), default=0)
            before = [-1, 0]
            if busy_until(rows, blocking, due, supply) < a:
                continue
            while before[0] != before[1]:
                others = sum(
                    c2 * min((before[1] + j2) // t2 + 1, (due - d2 + j2) // t2 + 1)
                    for k, (c2, t2, d2, j2) in enumerate(rows)
                    if k != i and d2 - j2 <= due
                )
                work = blocking + (a + j) // t * c + others
                before = [before[1], supplied(supply, work + 1) - 1]
            stop = max(supplied(supply, work + c), before[1])
            worst = [max(worst[0], stop - max(a + early[i], 0)), max(worst[1], stop - a)]
        found.append((worst[0], worst[1]))
    return found


def busy_until(rows: list[tuple[int, ...]], blocking: int, due: int, supply: Supply) -> int:
    before, now = -1, 0
    while before != now:
        before = now
        work = blocking + sum(
            max(c, 1) * min((now + j) // t + 1, (due - d + j) // t + 1)
            for c, t, d, j in rows
            if d - j <= due
        )
        now = supplied(supply, work)
    return now


@pytest.mark.parametrize("reserved", [False, True])
def test_no_deadline_that_is_left_out_has_a_longer_response(reserved: bool) -> None:
    rng = random.Random(7)
    longer = 0
    for _ in range(60):
        n = rng.randint(1, 5)
        period = [rng.choice(PERIODS) for _ in range(n)]
        load = rng.uniform(0.2, 0.6 if reserved else 0.95) / n
        wcet = [max(0, int(load * rng.uniform(0.3, 1.7) * p)) for p in period]
        jitter = [rng.choice([0, rng.randint(0, p)]) for p in period]
        due = [rng.choice([p, rng.randint(1, p), 2 * p, 2_000]) for p in period]
        tasks = make_taskset(wcet, period, due, None, jitter)
        supply = Supply(rng.randint(8, 10), 10) if reserved else DEDICATED
        early = [rng.randint(0, j) for j in jitter]
        ours = edf.exact(tasks, supply, np.array(early, dtype=np.int64))
        if ours.response.max() >= UNBOUNDED:
            continue
        expected = by_the_formula(tasks, supply, early)
        assert ours.response.tolist() == [actual for actual, _ in expected], (tasks, supply)
        assert ours.from_grid.tolist() == [nominal for _, nominal in expected], (tasks, supply)
        longer += int((ours.response > tasks.wcet).sum())
    assert longer > 60


def test_a_thousand_timers_on_one_thread_have_bounds() -> None:
    rng = random.Random(1)
    period = [rng.choice((10, 20, 50, 100, 200, 1000)) * 1_000_000 for _ in range(1000)]
    wcet = [max(1, int(p * 0.7 / 1000 * rng.uniform(0.2, 1.8))) for p in period]
    due = [rng.choice((p // 2, p)) for p in period]
    assert edf.exact(make_taskset(wcet, period, due)).response.max() < UNBOUNDED


PREEMPTIVE = "{name: e, kind: isolated, policy: edf}"


def test_who_shares_a_group_waits_for_one_that_is_due_later() -> None:
    lines = [timer("a", 20, 2, more=", group: g"), timer("b", 50, 7, more=", group: g")]
    assert bounds(analysed(PREEMPTIVE, *lines)) == {"a": 9, "b": 9}
    # What is not in the group, and is due before "b", waits as well: "a" lends its deadline.
    lines.append(timer("c", 30, 3))
    assert bounds(analysed(PREEMPTIVE, *lines)) == {"a": 9, "b": 12, "c": 12}
    # Without "a" nobody lends anything.
    assert bounds(analysed(PREEMPTIVE, *lines[1:])) == {"b": 50, "c": 30}


def test_what_precedes_all_deadlines_counts_with_every_job() -> None:
    lines = [timer("a", 20, 2), timer("b", 50, 7)]
    # Two releases of 0.5; the timers alone would be proved by their demand.
    found = bounds(analysed(PREEMPTIVE, *lines, rest="overheads: {release_ms: 0.5}\n"))
    assert found == {"a": 3, "b": 10}
    found = bounds(analysed(PREEMPTIVE, *lines, rest="overheads: {stolen_ms: 1, window_ms: 9}\n"))
    # Two windows begin while "b" is not done.
    assert found == {"a": 3, "b": 11}


def test_deadlines_may_exceed_periods() -> None:
    lines = [timer("a", 5, 3, more=", deadline_ms: 9"), timer("b", 10, 3, more=", deadline_ms: 9")]
    result = analysed(PREEMPTIVE, *lines)
    assert result.met
    assert bounds(result) == {"a": 9, "b": 9}
    several = analysed("{name: e, kind: isolated, policy: edf, cores: [0, 1]}", *lines)
    assert "has a deadline after its period" in reason(several)


def test_messages_of_others_precede_all_deadlines() -> None:
    lines = [
        "name: a, kind: subscription, executor: e, period_ms: 20, deadline_ms: 20, wcet_ms: 2",
        timer("b", 50, 7),
    ]
    free = bounds(analysed(PREEMPTIVE, *lines))
    found = bounds(analysed(PREEMPTIVE, *lines, rest="overheads: {receive_ms: 0.5}\n"))
    assert free == {"a": 2, "b": 9}
    assert found == {"a": 2.5, "b": 9.5}
