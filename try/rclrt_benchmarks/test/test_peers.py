# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds and schedules beside those of other people's tools, as far as they are installed."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from rclrt_analysis.bounds.fixed_point import UNBOUNDED
from rclrt_analysis.bounds.round_robin import by_arrivals, starvation_free
from rclrt_analysis.bounds.taskset import Supply, make_taskset
from rclrt_analysis.bounds.unit import Rows
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, Policy, System
from rclrt_analysis.simulation import simulate
from rclrt_benchmarks.experiments import peers
from rclrt_benchmarks.harness.row import FAILS, HOLDS, OPEN, Machine

HERE = Machine(cpus=2, realtime=True, rclcpp=False, cyclictest=True, why_no_vm="")
Result = dict[str, Any]
SETS = 25


@pytest.fixture(scope="module")
def measured() -> Result:
    return peers.measure(SETS, 5)


@pytest.mark.parametrize("peer", peers.PEERS)
def test_no_bound_is_below_that_of_another_tool_where_that_is_exact(
    measured: Result, peer: str
) -> None:
    if peer in measured["missing"]:
        pytest.skip(measured["missing"][peer])
    assert not [name for name in measured["missing"] if name.startswith(f"{peer},")]
    rows = [row for row in measured["rows"] if row["peer"] == peer]
    assert len(rows) == sum(map(len, peers.PEERS[peer][1].values()))
    for row in rows:
        assert row["sets"] == SETS and row["callbacks"] > 60
        assert row["theirs"] == "bound" or not row["below"], row
        if row["theirs"] == "exact":
            assert not row["only_theirs"], row
            # What had begun counts in full, so a release on a start may let in a job more.
            discrete = row["family"] in ("FP", "FP, jitter", "EDF") and peer != "pyCPA"
            assert row["looser"] <= 0.1 * row["callbacks"] * discrete, row
    judged = peers.judge({"rows": rows, "missing": {}}, HERE).rows
    assert {row.verdict for row in judged} == {HOLDS}


def test_a_bound_below_an_exact_one_is_told_with_its_set() -> None:
    sets = [[peers.Task(3, 10, 10, 0), peers.Task(4, 20, 20, 0)]]
    row = {"peer": "p", "family": "f", "theirs": "exact"}
    good = peers.compare(sets, [[3, 9]], [[3, 8]])
    assert (good["equal"], good["looser"], good["below"]) == (2, 0, 0)
    bad = peers.compare(sets, [[3, 7]], [[3, 9]])
    found = peers.judge({"rows": [row | good, row | bad], "missing": {}}, HERE).rows
    assert [one.verdict for one in found] == [HOLDS, FAILS]
    assert found[1].why == "C T D J 3 10 10 0, 4 20 20 0: of task 1 ours is 7, theirs 9"
    loose = peers.compare(sets, [[3, 18]], [[None, 9]])
    assert (loose["only_ours"], loose["looser"], loose["median"], loose["max"]) == (1, 1, 2.0, 2.0)


def test_it_runs_with_nothing_installed_and_says_how_to_get_each_tool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str, how: str) -> None:
        raise peers.MissingError(f"No module named '{name}': {how}")

    monkeypatch.setattr(peers, "imported", missing)
    monkeypatch.setenv("PATH", "/nonexistent")
    found = peers.measure(1, 1)
    assert found["rows"] == []
    peers.show(found)
    judged = peers.judge(found, HERE).rows
    assert [row.name for row in judged] == list(peers.PEERS)
    assert {row.verdict for row in judged} == {OPEN}
    ways = ("cargo is not installed", "pip install", "PYTHONPATH", "up to Python 3.11")
    assert all(way in row.why for way, row in zip(ways, judged, strict=True))


def test_a_tool_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def theirs(family: peers.Family, sets: Sequence[peers.Tasks]) -> list[peers.Times]:
        if family.kind == "isolated":
            raise ZeroDivisionError("theirs")
        return [[None] * len(tasks) for tasks in sets]

    monkeypatch.setattr(peers, "PEERS", {"p": (theirs, {"exact": peers.FIXED})})
    found = peers.measure(2, 1)
    assert found["missing"] == {
        "p, FP, preemptive": "ZeroDivisionError: theirs",
        "p, FP, preemptive, jitter": "ZeroDivisionError: theirs",
    }
    assert [row["family"] for row in found["rows"]] == ["FP", "FP, jitter"]


@pytest.fixture(scope="module")
def crate() -> None:
    try:
        peers.crate()
    except peers.MissingError as error:
        pytest.skip(str(error))


def reservations(count: int) -> list[tuple[int, int]]:
    rng = random.Random(6)
    periods = [rng.randint(2, 29) for _ in range(count)]
    return [(rng.randint(-(-period * 3 // 5), period), period) for period in periods]


@pytest.mark.parametrize("reserved", [False, True])
def test_default_executor_bounds_are_those_of_the_public_implementation(
    crate: None, reserved: bool
) -> None:
    made = peers.random_sets(peers.Family("", ""), 150, 5, unit=1)
    sets = [[task._replace(wcet=-(-task.wcet // 2)) for task in tasks] for tasks in made]
    supplies = reservations(len(sets)) if reserved else [(1, 1)] * len(sets)
    compared = 0
    for one, given, theirs in zip(sets, supplies, peers.ask(sets, supplies), strict=True):
        n, supply = len(one), Supply(*given)
        tasks = make_taskset([task.wcet for task in one], [task.period for task in one])
        if None in theirs["timer"] + theirs["fair"]:
            continue
        timers, polled, fair = (np.array(theirs[name]) for name in ("timer", "polled", "fair"))
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


def test_the_least_supply_is_that_of_the_public_implementation(crate: None) -> None:
    # A single task that comes once in a long while ends when its work is supplied.
    supplies = reservations(100)
    sets = [[peers.Task(1 + i % 37, 100_000, 100_000, 0)] for i in range(100)]
    for (task,), given, theirs in zip(sets, supplies, peers.ask(sets, supplies), strict=True):
        assert Supply(*given).time(np.array([task.wcet]))[0] == theirs["timer"][0], (task, given)


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
    try:
        peers.imported("simso.core", peers.PIP)
    except peers.MissingError as error:
        pytest.skip(str(error))
    rng = random.Random(f"{policy} {cores}")
    compared = jobs = 0
    while compared < 12:
        system = random_set(rng, cores, policy)
        load = sum(c.wcet / (c.period or 1) for c in system.callbacks)
        if load > cores * 0.95 or (policy is Policy.EDF and ties(system)):
            continue
        run = simulate(system, HORIZON)
        for name, theirs in peers.simso(system, HORIZON).items():
            ours = [job.response for job in sorted(run.of(name), key=lambda job: job.release)]
            # The last jobs may not have ended in one of the two.
            both = min(len(ours), len(theirs))
            assert both >= len(theirs) - 1
            assert ours[:both] == theirs[:both], system
            jobs += both
        compared += 1
    assert jobs > 500
