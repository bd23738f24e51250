# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Response times under fixed priority on one processor [Tindell94, Davis07]: a whole busy window.

Without preemption there are two bounds. `theorem_1` is that of [Teper25 §VI-C]: quick, and loose
where a low priority waits long. `nonpreemptive` examines every job [Davis07] and is the default.
The shortcut to examine the first job only is unsound (10, 10, 10 every 25, 35, 35: it gives 30, the
truth is 35) and absent.

Each costs O(g) per task and iteration, g being the number of different periods. Iterations are
bounded; what has no fixed point by then has no bound. The last functions are what releasing timers
costs the callbacks of a priority events executor [Teper25 §VI-B].
"""

import numpy as np
from rclrt_analysis.bounds.busy_window import Demand, Responses, responses
from rclrt_analysis.bounds.fixed_point import (
    FULL,
    LATE,
    UNBOUNDED,
    YEAR,
    least_fixed_point,
    lower_start,
)
from rclrt_analysis.bounds.taskset import (
    DEDICATED,
    Bools,
    Interference,
    Ints,
    Supply,
    TaskSet,
    higher_or_equal,
    largest_lower,
)


def theorem_1(tasks: TaskSet) -> Ints:
    """Return the bound of [Teper25 Theorem 1] for every task, shape (n,), ns.

    The least t > 0 with t >= C_k + max_{lp} C_i + sum_{hp} ceil(t / T_i) C_i, if t <= D_k.

    Needs deadlines not above periods, no jitter: with them t ends the busy window before the next
    job, so no later job can be worse. `LATE` where no t <= D_k is found; that says nothing
    about the exact response time.

    Raises ValueError: A deadline exceeds its period, or there is jitter.
    """
    if np.any(tasks.deadline > tasks.period) or np.any(tasks.jitter):
        raise ValueError(
            "Theorem 1 needs deadlines up to the period and no jitter; use nonpreemptive"
        )
    higher = higher_or_equal(tasks)
    # Without work it begins after all that comes until then, as with 1 ns, and has ended.
    idle = tasks.wcet == 0
    fixed = tasks.wcet + idle + largest_lower(tasks)
    share = higher.utilization
    start = np.where(share < FULL, lower_start(fixed, share), UNBOUNDED)

    def step(t: Ints, at: Ints) -> Ints:
        work: Ints = fixed[at] + higher.before(t, at)
        return work

    found = least_fixed_point(step, start, tasks.deadline + idle)
    return np.where(found == YEAR, LATE, np.where(found < UNBOUNDED, found - idle, found))


def nonpreemptive(
    tasks: TaskSet, releases: Interference | None = None, supply: Supply = DEDICATED
) -> Responses:
    """Return the response times of all jobs in the longest busy window [Davis07].

    Job q starts at w(q) = B_k + q C_k + sum_{hp} (floor((w + J_i) / T_i) + 1) C_i, ends C_k later;
    R_k is the worst over the q of the window L = B_k + sum_{hep} ceil((L + J_i) / T_i) C_i.

    Exact for sporadic tasks without jitter and with distinct priorities, but where a release falls
    exactly on a start: what had begun counts in full, which lets in one job more. Otherwise an
    upper bound. With all priorities equal: for any order of jobs.

    releases: As for `busy_window.responses`.
    supply: Of the thread: times are those by which it has given so much.
    """
    demand = Demand(
        tasks.period,
        tasks.jitter,
        own=tasks.wcet,
        last=tasks.wcet,
        measured=tasks.wcet,
        blocking=largest_lower(tasks),
        higher=higher_or_equal(tasks),
        exclusive=np.zeros(len(tasks), dtype=np.bool_),
        supply=supply,
    )
    return responses(demand, preemptive=False, releases=releases)


def preemptive(
    tasks: TaskSet, blocking: Ints | None = None, releases: Interference | None = None
) -> Responses:
    """Return the response times of all jobs in the longest busy window [Tindell94], [Lehoczky90].

    Job q ends at w(q) = (q + 1) C_k + B_k + sum_{hp} ceil((w + J_i) / T_i) C_i; R_k is the worst
    w(q) - q T_k over the q of the window that L = B_k + sum_{hep} ceil((L + J_i) / T_i) C_i bounds.
    Tasks of equal priority count as higher: under SCHED_FIFO they run in order of release.

    Exact for sporadic tasks without jitter, blocking and equal priorities. Cost: as without
    preemption.

    blocking: Shape (n,), ns: the longest a task may wait for work of lower priority.
    releases: As for `busy_window.responses`.
    """
    n = len(tasks)
    demand = Demand(
        tasks.period,
        tasks.jitter,
        own=tasks.wcet,
        last=tasks.wcet,
        measured=tasks.wcet,
        blocking=np.zeros(n, dtype=np.int64) if blocking is None else blocking,
        higher=higher_or_equal(tasks),
        exclusive=np.zeros(n, dtype=np.bool_),
    )
    return responses(demand, preemptive=True, releases=releases)


def release_and_execute(tasks: TaskSet, delta: int) -> Ints:
    """Return eq. (2): n delta, for every task, shape (n,), ns.

    Holds if no timestamp is skipped: see `condition_c1`.
    """
    return np.full(len(tasks), len(tasks) * delta, dtype=np.int64)


def condition_c1(tasks: TaskSet, delta: int) -> bool:
    """Return whether C_i + Delta_i < T_j for all i, j, so that no timestamp is skipped under RE.

    The paper's (1) has C_i < T_j for j != i; the overhead counts as well, and a task that outlasts
    its own period skips one too.
    """
    if not len(tasks):
        return True
    return bool(np.max(tasks.wcet) + len(tasks) * delta < np.min(tasks.period))


def release_only(tasks: TaskSet, delta: int, timers: Bools | None = None) -> Ints:
    """Return eq. (3) for every task, shape (n,), ns: releases during its own execution.

    t0 = min{t > 0: t >= C_i + sum_j ceil(t / T_j) delta}; the overhead is that sum at t0.
    `UNBOUNDED` if releases alone fill the processor. Jitter brings releases closer together.

    timers: Shape (n,): which tasks cost something to release; all unless given.
    """
    n = len(tasks)
    if not n:
        return np.zeros(0, dtype=np.int64)
    cost = np.full(n, delta) if timers is None else np.where(timers, delta, 0)
    share = float(np.sum(cost / tasks.period))
    if share >= FULL:
        return np.full(n, UNBOUNDED, dtype=np.int64)

    def step(t: Ints, rows: Ints) -> Ints:
        count = -(-(t[:, None] + tasks.jitter) // tasks.period)
        return np.asarray(tasks.wcet[rows] + (count * cost).sum(axis=1))

    # From 1 ns, because the least positive t is asked for.
    t0 = least_fixed_point(step, np.maximum(tasks.wcet, 1))
    return np.where(t0 >= UNBOUNDED, UNBOUNDED, t0 - tasks.wcet)


def release_only_tightened(tasks: TaskSet, delta: int, proven: bool) -> Ints:
    """Return eq. (4): n delta, for every task, shape (n,), ns.

    proven: That the set was shown schedulable with `release_only`, for deadlines up to the periods.
        Using (4) to show it would be circular.

    Raises ValueError: It was not proven, or a deadline exceeds its period.
    """
    if not proven or np.any(tasks.deadline > tasks.period):
        raise ValueError(
            "equation (4) needs a set proven schedulable with (3), deadlines <= periods"
        )
    return np.full(len(tasks), len(tasks) * delta, dtype=np.int64)


def as_interference(period: Ints, jitter: Ints, delta: int, n: int) -> Interference:
    """Return the releases of timers with these periods, as they interfere with each of n tasks.

    Tighter than prolonging every job: a release is charged once per window, not once per job. It
    costs when it happens, so it jitters as the timer does.
    """
    spans = np.stack([period, jitter], axis=1)
    every, count = np.unique(spans, axis=0, return_counts=True)
    cost = np.broadcast_to(count * delta, (n, len(every)))
    return Interference(every[:, 0], every[:, 1], np.ascontiguousarray(cost))
