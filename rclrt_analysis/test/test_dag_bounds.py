# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import random

import pytest
from rclrt_analysis.bounds import edf
from rclrt_analysis.bounds.dag import (
    Dag,
    DagTask,
    federated_cores,
    global_fp,
    graham,
    long_paths,
)
from rclrt_analysis.bounds.taskset import make_taskset

# A fork of three and a join: 1, then 4, 3 and 2 side by side, then 1.
FORK = Dag((1, 4, 3, 2, 1), ((), (0,), (0,), (0,), (1, 2, 3)))


def one(wcet: int) -> Dag:
    return Dag((wcet,), ((),))


def test_length_and_volume_of_a_fork_and_join() -> None:
    assert FORK.longest_path() == [0, 1, 4]
    assert (FORK.length, FORK.volume) == (6, 11)


def test_graham_and_several_long_paths() -> None:
    assert graham(FORK, 2) == 6 + 3  # 5 / 2, rounded up
    assert graham(FORK, 1) == 11
    # Three long paths leave nothing for the third core: 6 + 0.
    assert long_paths(FORK, 3) == 6
    assert graham(FORK, 3) == 6 + 2
    assert long_paths(FORK, 1) == 11


def test_federated_scheduling_asks_for_cores_of_its_own() -> None:
    assert federated_cores(FORK, 6) is None
    assert federated_cores(FORK, 7) == 5
    assert federated_cores(FORK, 11) == 1
    assert federated_cores(one(5), 5) == 1
    assert federated_cores(one(5), 4) is None


def simulated(dag: Dag, cores: int, rng: random.Random) -> int:
    """Return how long a work-conserving scheduler with random choices takes."""
    done: set[int] = set()
    left = list(dag.wcet)
    now = 0
    while len(done) < len(left):
        ready = [
            i for i, before in enumerate(dag.before) if i not in done and done.issuperset(before)
        ]
        for node in rng.sample(ready, min(cores, len(ready))):
            left[node] -= 1
            if left[node] == 0:
                done.add(node)
        now += 1
    return now


def test_no_work_conserving_schedule_takes_longer_than_its_bounds() -> None:
    rng = random.Random(1)
    gain = []
    for _ in range(300):
        n = rng.randint(1, 9)
        before = tuple(tuple(j for j in range(i) if rng.random() < 0.3) for i in range(n))
        dag = Dag(tuple(rng.randint(1, 6) for _ in range(n)), before)
        cores = rng.randint(1, 4)
        worst = max(simulated(dag, cores, rng) for _ in range(5))
        assert worst <= long_paths(dag, cores) <= graham(dag, cores)
        gain.append(long_paths(dag, cores) / graham(dag, cores))
    assert 0.85 < sum(gain) / len(gain) < 1


def test_global_fixed_priority_of_sequential_tasks() -> None:
    tasks = [DagTask(one(c), 10, 10, p) for c, p in ((3, 3), (4, 2), (5, 1))]
    # On two cores the first two run at once; the third waits for less than half of both.
    assert global_fp(tasks, 2) == [3, 4, 8]
    assert global_fp(tasks, 3) == [3, 4, 5]


def test_a_task_without_a_bound_leaves_less_urgent_ones_without() -> None:
    tasks = [DagTask(one(3), 10, 10, 3), DagTask(one(8), 9, 8, 2), DagTask(one(1), 99, 99, 1)]
    assert global_fp(tasks, 1) == [3, None, None]


def test_equal_priorities_hold_together_or_not_at_all() -> None:
    tasks = [DagTask(one(2), 10, 10, 1), DagTask(one(9), 10, 10, 1)]
    assert global_fp(tasks, 1) == [None, None]


def test_edf_demand_and_density() -> None:
    assert edf.demand(make_taskset([2, 4], [5, 7]))  # 0.97
    assert not edf.demand(make_taskset([2, 4], [5, 7], [4, 5]))
    assert edf.density(make_taskset([5, 5, 1], [10, 10, 10]), 2)
    assert not edf.density(make_taskset([9, 9, 1], [10, 10, 10]), 2), "Dhall's effect"
    with pytest.raises(ValueError, match="jitter"):
        edf.demand(make_taskset([1], [10], jitter=[1]))
