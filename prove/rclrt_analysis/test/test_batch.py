# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds against more than 100,000 task runs each, and the traps that unsound tests fall into."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from models import model
from rclrt_analysis.bounds import fifo, nonpreemptive_edf, nonpreemptive_fp
from rclrt_analysis.bounds.fixed_point import UNBOUNDED
from rclrt_analysis.bounds.taskset import Ints, TaskSet, make_taskset
from rclrt_analysis.bounds.wait_set import windows
from rclrt_analysis.simulation import simulate
from rclrt_analysis.simulation.batch import Batch, Order, simulate_batch

PERIODS = np.array([20, 24, 30, 36, 40, 50, 60, 70, 84, 100])
RUNS = 25
SETS = 1000
N = 5


def random_set(rng: np.random.Generator) -> TaskSet:
    period = rng.choice(PERIODS, N)
    share = rng.random(N) + 0.1
    share *= rng.uniform(0.4, 1.0) / share.sum()
    wcet = np.clip((share * period).astype(np.int64), 1, period)
    # Deadlines and priorities that disagree are the harder case.
    deadline = rng.integers(wcet, period + 1)
    return make_taskset(wcet, period, deadline, rng.integers(1, N + 1, N))


def offsets(tasks: TaskSet, runs: int, rng: np.random.Generator) -> Ints:
    """Return phases: random, but in every third run one task comes just before all others."""
    made = rng.integers(0, tasks.period, (runs, len(tasks)))
    for run in range(0, runs, 3):
        made[run] = 1
        made[run, rng.integers(len(tasks))] = 0
    return np.asarray(made, dtype=np.int64)


Bound = Callable[[TaskSet], Ints]
BOUNDS: dict[str, tuple[Order, Bound]] = {
    "theorem_1": ("fixed_priority", nonpreemptive_fp.theorem_1),
    "exact": ("fixed_priority", lambda tasks: nonpreemptive_fp.exact(tasks).response),
    "edf": ("edf", lambda tasks: nonpreemptive_edf.exact(tasks).response),
    "fifo": ("fifo", lambda tasks: fifo.response(tasks).response),
    "wait_set": ("wait_set", lambda tasks: windows(tasks.wcet)[0]),
}


def simulated(sets: list[TaskSet], order: Order, rng: np.random.Generator) -> Batch:
    def column(name: str) -> Ints:
        return np.repeat(np.stack([getattr(tasks, name) for tasks in sets]), RUNS, axis=0)

    phases = np.concatenate([offsets(tasks, RUNS, rng) for tasks in sets])
    return simulate_batch(
        column("wcet"), column("period"), phases, 60, order, column("deadline"), column("priority")
    )


@pytest.mark.parametrize("name", BOUNDS)
def test_no_bound_is_exceeded_in_a_hundred_thousand_task_runs(name: str) -> None:
    order, bound = BOUNDS[name]
    rng = np.random.default_rng(list(name.encode()))
    sets = [random_set(rng) for _ in range(SETS)]
    bounds = np.repeat(np.stack([bound(tasks) for tasks in sets]), RUNS, axis=0)
    batch = simulated(sets, order, rng)
    exceeded = np.argwhere(batch.worst > bounds)
    assert not len(exceeded), (sets[exceeded[0][0] // RUNS], batch.worst[exceeded[0][0]])
    seen = (batch.worst >= 0) & (bounds < UNBOUNDED)
    assert batch.worst.size >= 100_000
    assert seen.sum() > (40_000 if name == "theorem_1" else 90_000)


def test_a_wait_set_skips_nothing_where_it_is_said_to_skip_nothing() -> None:
    rng = np.random.default_rng(9)
    sets = [random_set(rng) for _ in range(SETS)]
    batch = simulated(sets, "wait_set", rng)
    safe = np.stack([windows(tasks.wcet)[1] <= tasks.period for tasks in sets])
    assert not np.any(batch.skipped[np.repeat(safe, RUNS, axis=0)])
    assert np.any(batch.skipped), "others do skip"


@pytest.mark.parametrize(
    ("kind", "policy", "order"),
    [
        ("priority_events", "fixed_priority", "fixed_priority"),
        ("priority_events", "edf", "edf"),
        ("events_fifo", "fixed_priority", "fifo"),
        ("wait_set_single", "fixed_priority", "wait_set"),
    ],
)
def test_arrays_and_events_give_the_same_schedule(kind: str, policy: str, order: Order) -> None:
    # Without common releases before the end, so that no tie decides.
    wcet, period, phase = [3, 5, 7, 11], [31, 47, 61, 89], [2, 13, 29, 41]
    lines = "".join(
        f"  - {{name: t{i}, kind: timer, executor: e, period_ms: {period[i]}, wcet_ms: {wcet[i]}, "
        f"offset_ms: {phase[i]}" + (f", priority: {4 - i}" if policy != "edf" else "") + "}\n"
        for i in range(4)
    )
    rule = f", policy: {policy}" if kind == "priority_events" else ""
    executor = f"distro: foxy\nexecutors: [{{name: e, kind: {kind}{rule}}}]"
    system = model(f"{executor}\ncallbacks:\n{lines}")
    run = simulate(system, 210_000_000)
    arrays = simulate_batch(
        *(np.array([column]) for column in (wcet, period, phase)),
        len(run.jobs), order, priority=np.array([4, 3, 2, 1]),
    )  # fmt: skip
    worst = [run.worst()[f"t{i}"][0] // 1_000_000 for i in range(4)]
    assert arrays.worst[0].tolist() == worst
    assert arrays.skipped[0].tolist() == run.skipped


def vector_a(phases: list[int]) -> list[int]:
    tasks = make_taskset([10, 10, 10], [25, 35, 35])
    batch = simulate_batch(
        tasks.wcet, tasks.period, np.array([phases]), 30, "fixed_priority", None, tasks.priority
    )
    return [int(value) for value in batch.worst[0]]


def test_the_first_job_of_a_busy_window_is_not_the_worst() -> None:
    # All at once: the first job of the third takes 30, its second 35.
    assert vector_a([0, 0, 0])[2] == 35
    assert nonpreemptive_fp.exact(make_taskset([10, 10, 10], [25, 35, 35])).response[2] == 35


def test_what_had_begun_is_pushed_through_to_later_jobs() -> None:
    # [Davis07]: without blocking by the third, the second would never take 3 ms.
    worst = max(vector_a([1, 1, 0])[1], vector_a([11, 1, 0])[1])
    assert worst <= 30
    assert vector_a([0, 0, 10])[1] == 20
    assert vector_a([1, 1, 0])[1] == 29


def test_priorities_the_wrong_way_round_are_seen_at_once() -> None:
    # Smaller numbers more urgent, as in some queues, would make the last the most urgent.
    tasks = make_taskset([1, 5, 9], [20, 40, 80])
    wrong = make_taskset([1, 5, 9], [20, 40, 80], priority=[1, 2, 3])
    phases = np.array([[0, 0, 0], [1, 1, 0], [1, 0, 1]])
    batch = simulate_batch(
        tasks.wcet, tasks.period, phases, 200, "fixed_priority", None, tasks.priority
    )
    assert np.all(batch.worst.max(axis=0) <= nonpreemptive_fp.exact(tasks).response)
    assert np.any(batch.worst.max(axis=0) > nonpreemptive_fp.exact(wrong).response)
