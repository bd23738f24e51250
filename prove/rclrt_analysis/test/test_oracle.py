# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds and schedules by public implementations: response-time-analysis (Rust), SimSo."""

import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rclrt_analysis.bounds import fifo, fixed_priority, nonpreemptive_edf
from rclrt_analysis.bounds.fixed_point import UNBOUNDED
from rclrt_analysis.bounds.round_robin import by_arrivals, starvation_free
from rclrt_analysis.bounds.taskset import DEDICATED, Ints, Supply, TaskSet, make_taskset
from rclrt_analysis.bounds.unit import Rows
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, Policy, System
from rclrt_analysis.simulation import simulate

HERE = Path(__file__).resolve().parent / "oracle"
PERIODS = np.array([20, 24, 30, 36, 40, 50, 60, 70, 84, 100])


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not installed: the public implementation is not compared")
    build = Path(os.environ.get("RCLRT_BUILD_DIR") or tmp_path_factory.mktemp("oracle"))
    target = Path(os.environ.get("CARGO_TARGET_DIR", build / "oracle"))
    program = target / "debug" / "oracle"
    written = max((HERE / name).stat().st_mtime for name in ("Cargo.toml", "main.rs"))
    if program.exists() and program.stat().st_mtime > written:
        return program  # cargo would ask the registry first.
    # A copy, because cargo writes beside its sources.
    source = shutil.copytree(HERE, target / "source", dirs_exist_ok=True)
    options = ["--manifest-path", str(Path(source) / "Cargo.toml")]
    fetched = subprocess.run(
        [cargo, "fetch", *options], capture_output=True, text=True, check=False, timeout=120
    )
    if fetched.returncode:
        pytest.skip(f"response-time-analysis cannot be fetched: {fetched.stderr[-200:]}")
    built = subprocess.run(
        [cargo, "build", "-q", "-j", "1", "--offline", "--target-dir", str(target), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert built.returncode == 0, built.stderr
    return program


def random_sets(jitter: bool) -> list[TaskSet]:
    rng = np.random.default_rng(5)
    sets = []
    for _ in range(150):
        n = int(rng.integers(2, 6))
        period = rng.choice(PERIODS, n)
        share = rng.random(n) + 0.1
        share *= rng.uniform(0.3, 0.95) / share.sum()
        wcet = np.clip((share * period).astype(np.int64), 1, period)
        late = rng.integers(0, period) if jitter else np.zeros(n, dtype=np.int64)
        sets.append(make_taskset(wcet, period, rng.integers(wcet, period + 1), None, late))
    return sets


def ask(oracle: Path, sets: list[TaskSet], supplies: list[Supply] | None = None) -> list[list[int]]:
    lines = []
    for tasks, supply in zip(sets, supplies or [DEDICATED] * len(sets), strict=True):
        columns = zip(tasks.wcet, tasks.period, tasks.jitter, tasks.deadline, strict=True)
        rows = ", ".join(" ".join(str(value) for value in row) for row in columns)
        lines.append(f"{supply.budget} {supply.period}; {rows}")
    done = subprocess.run(
        [oracle], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=60
    )
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def test_bounds_are_those_of_the_public_implementation(oracle: Path) -> None:
    for jitter in (False, True):
        sets = random_sets(jitter)
        for tasks, theirs in zip(sets, ask(oracle, sets), strict=True):
            n = len(tasks)
            assert fixed_priority.nonpreemptive(tasks).response.tolist() == theirs[:n], tasks
            assert fixed_priority.preemptive(tasks).response.tolist() == theirs[n : 2 * n], tasks
            assert fifo.response(tasks).response[0] == theirs[3 * n], tasks


def test_edf_bounds_are_never_below_and_seldom_above(oracle: Path) -> None:
    # Theirs is for discrete time: what had begun did so one unit before. Ours counts it in full, so
    # a release that falls exactly on a start may let in a job more.
    def scaled(tasks: TaskSet, by: int) -> TaskSet:
        return make_taskset(tasks.wcet * by, tasks.period * by, tasks.deadline * by)

    fine = [scaled(tasks, 1000) for tasks in random_sets(False)]
    differences: list[int] = []
    for tasks, theirs in zip(fine, ask(oracle, fine), strict=True):
        n = len(tasks)
        ours: Ints = nonpreemptive_edf.exact(tasks).response
        differences += (ours - np.array(theirs[2 * n : 3 * n])).tolist()
    assert min(differences) == 0
    assert np.mean([difference <= 1 for difference in differences]) > 0.9


def reservations(count: int) -> list[Supply]:
    rng = np.random.default_rng(6)
    period = rng.integers(2, 30, count)
    budget = [int(rng.integers(-(-p * 3 // 5), p + 1)) for p in period]
    return [Supply(q, int(p)) for q, p in zip(budget, period, strict=True)]


def lighter(tasks: TaskSet) -> TaskSet:
    return make_taskset(-(-tasks.wcet // 2), tasks.period, tasks.deadline, None, tasks.jitter)


@pytest.mark.parametrize("reserved", [False, True])
def test_default_executor_bounds_are_those_of_the_public_implementation(
    oracle: Path, reserved: bool
) -> None:
    sets = [lighter(tasks) for tasks in random_sets(False)]
    supplies = reservations(len(sets)) if reserved else [DEDICATED] * len(sets)
    compared = 0
    for tasks, supply, theirs in zip(sets, supplies, ask(oracle, sets, supplies), strict=True):
        n = len(tasks)
        at = 3 * n + 1
        timers, polled, fair = (np.array(theirs[at + k * n : at + (k + 1) * n]) for k in range(3))
        if not timers.all() or not polled.all() or not fair.all():
            continue
        compared += 1
        no, yes = np.zeros(n, dtype=np.bool_), np.ones(n, dtype=np.bool_)
        ours = by_arrivals(tasks, yes, supply), by_arrivals(tasks, no, supply)
        rows = Rows(tasks, np.arange(n))
        ours_fair = starvation_free(rows, tasks.wcet, no, polled, supply)
        # Ours leaves out what is no better than what is known already.
        expected = np.where(ours_fair < UNBOUNDED, ours_fair, fair)
        assert expected.tolist() == fair.tolist(), (tasks, supply)
        assert np.all(ours[0] <= timers), (tasks, supply)
        assert np.all(ours[1] <= polled), (tasks, supply)
        if not reserved:
            # In a reservation theirs counts what comes until the last ns of work is given.
            assert (ours[0].tolist(), ours[1].tolist()) == (timers.tolist(), polled.tolist())
    assert compared > 100


def test_the_least_supply_is_that_of_the_public_implementation(oracle: Path) -> None:
    # A single task that comes once in a long while ends when its work is supplied.
    supplies = reservations(100)
    sets = [make_taskset([1 + i % 37], [100_000]) for i in range(100)]
    for tasks, supply, theirs in zip(sets, supplies, ask(oracle, sets, supplies), strict=True):
        assert supply.time(tasks.wcet)[0] == theirs[4], (tasks, supply)


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
    pytest.importorskip(
        "simso.core",
        reason="SimSo cannot be imported: not compared with it. Up to Python 3.11: pip install "
        "--no-deps -r tools/requirements/oracle.txt",
        exc_type=ImportError,
    )
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
