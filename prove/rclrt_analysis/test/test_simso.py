# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The same schedules by a public simulator, SimSo: every job of threads on one core and on two."""

from __future__ import annotations

import random
from typing import Any

import pytest
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, Policy, System
from rclrt_analysis.simulation import simulate

pytest.importorskip(
    "simso.core",
    reason="SimSo cannot be imported: not compared with it. Up to Python 3.11: pip install "
    "--no-deps -r tools/requirements/oracle.txt",
    exc_type=ImportError,
)

HORIZON = 1_000
PRIMES = (23, 29, 31, 37, 41, 43, 47, 53, 59, 61)


def random_set(rng: random.Random, cores: int, policy: Policy) -> System:
    """Return timers with periods that differ, so that rate monotonic priorities do."""
    callbacks = []
    for i, period in enumerate(sorted(rng.sample(PRIMES, rng.randint(3, 6)))):
        wcet = rng.randint(1, int(period * cores * 0.3) if cores == 1 else period // 2)
        offset = rng.randrange(period)
        callbacks.append(
            Callback(f"t{i}", Kind.TIMER, "e", wcet, period=period, deadline=period, offset=offset)
        )
    executor = Executor("e", ExecutorKind.ISOLATED, policy, cores=tuple(range(cores)))
    return System("random", (executor,), tuple(callbacks))


def by_simso(system: System) -> dict[str, list[int]]:
    """Return the response times of each task's jobs."""
    from simso.configuration import Configuration
    from simso.core import Model

    executor = system.executors[0]
    configuration: Any = Configuration()
    configuration.cycles_per_ms = 1
    configuration.duration = HORIZON
    configuration.etm = "wcet"
    for i, callback in enumerate(system.callbacks):
        configuration.add_task(
            name=callback.name,
            identifier=i + 1,
            period=callback.period,
            activation_date=callback.offset,
            wcet=callback.wcet,
            deadline=callback.deadline,
            abort_on_miss=False,
        )
    for i, _ in enumerate(executor.cores):
        configuration.add_processor(name=f"p{i}", identifier=i + 1)
    name = "EDF" if executor.policy is Policy.EDF else "RM"
    configuration.scheduler_info.clas = f"simso.schedulers.{name}"
    configuration.check_all()
    run: Any = Model(configuration)
    run.run_model()
    return {
        task.name: [round(job.response_time) for job in task.jobs if job.response_time is not None]
        for task in run.results.tasks.values()
    }


def ties(system: System) -> bool:
    """Return whether two jobs are due at the same time: then their order is anybody's."""
    due = [
        (c.offset or 0) + (k + 1) * (c.period or 1)
        for c in system.callbacks
        for k in range(HORIZON // (c.period or 1) + 1)
    ]
    return len(due) != len(set(due))


@pytest.mark.parametrize("policy", [Policy.RM, Policy.EDF])
@pytest.mark.parametrize("cores", [1, 2])
def test_every_job_takes_as_long_as_in_simso(policy: Policy, cores: int) -> None:
    rng = random.Random(f"{policy} {cores}")
    compared = jobs = 0
    while compared < 12:
        system = random_set(rng, cores, policy)
        load = sum(c.wcet / (c.period or 1) for c in system.callbacks)
        if load > cores * 0.95 or (policy is Policy.EDF and ties(system)):
            continue
        run = simulate(system, HORIZON)
        for name, theirs in by_simso(system).items():
            ours = [job.response for job in sorted(run.of(name), key=lambda job: job.release)]
            # The last jobs may not have ended in one of the two.
            both = min(len(ours), len(theirs))
            assert both >= len(theirs) - 1
            assert ours[:both] == theirs[:both], system
            jobs += both
        compared += 1
    assert jobs > 500
