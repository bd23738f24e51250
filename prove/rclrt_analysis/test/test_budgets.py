# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Budgets that a plan chooses, and bounds with looks at budgets."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from models import model
from random_systems import finer, with_subscriptions
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, Overheads, System
from rclrt_analysis.plan.budgets import Budget, _apart, kept_apart, sufficient_budgets
from rclrt_analysis.plan.change import to_text
from rclrt_analysis.plan.fields import duration
from rclrt_analysis.plan.parameters import applied, read_plan, to_parameters
from rclrt_analysis.simulation import Run, simulate
from test_plan import opening, plan

MS = 1_000_000
NEVER_LATER = 2**60
ROBOT = """cpus: [0]
may_use: [budgets]
executors:
  - {name: main, kind: isolated}
callbacks:
  - {name: /imu/timer/10ms, kind: timer, executor: main, period_ms: 10, wcet_ms: 1}
  - {name: /cam/timer/50ms, kind: timer, executor: main, period_ms: 50, wcet_ms: 4, publishes: [image]}
  - {name: /see/subscription/image, kind: subscription, executor: main, wcet_ms: 6, triggers: [image]}
  - {name: /log/timer/200ms, kind: timer, executor: main, period_ms: 200, wcet_ms: 20}
chains:
  - {name: see, topics: [image], deadline_ms: 100, callbacks: []}
"""  # noqa: E501
ROBOT = ROBOT.replace("topics: [image], deadline_ms: 100, callbacks: []", (
    "callbacks: [/cam/timer/50ms, /see/subscription/image], semantics: latency, deadline_ms: 30"
))  # fmt: skip


def most_used(run: Run, name: str, period: int) -> int:
    """Return the most work of jobs that are there within one of the callback's budget periods."""
    jobs = sorted(run.of(name), key=lambda job: job.start)
    most, end = 0, -NEVER_LATER
    begins = []
    for job in jobs:
        # While a job runs, periods follow each other without a gap; else the next job begins one.
        if job.start >= end:
            end = job.start + period
            begins.append(job.start)
        while job.end > end:
            begins.append(end)
            end += period
    for begin in begins:
        there = [j for j in jobs if j.start < begin + period and j.end > begin]
        most = max(most, sum(job.work for job in there))
    return most


def test_a_budget_does_not_run_out_while_everything_is_as_the_model_says() -> None:
    rng = random.Random(3)
    held, tight = 0, 0
    while held < 150:
        system = with_subscriptions(rng, (ExecutorKind.ISOLATED,), rng.choice([0, 0, 2]))
        # With ms for ns: budgets have a least length.
        costs = replace(system.overheads, release=0, dispatch=0, context_switch=0)
        costs = replace(costs, transport=costs.transport * MS)
        system = replace(finer(system, MS), overheads=costs, chains=())
        chosen = sufficient_budgets(system, analyse(system))
        for seed in range(3 if chosen else 0):
            is_odd = seed % 2 == 1
            run = simulate(system, 40 * 60 * MS, seed, is_odd, queue_all=is_odd)
            for name, budget in chosen.items():
                used = most_used(run, name, budget.period)
                assert used <= budget.runtime, (name, budget, system)
                held += 1
                tight += used + used // 32 == budget.runtime
    assert tight > 15, "with less it would"


def test_a_plan_has_budgets_and_says_what_they_keep_apart(tmp_path: Path) -> None:
    made = plan(tmp_path, ROBOT)
    assert made.proved
    imu = made.budgets["/imu/timer/10ms"]
    assert imu.runtime == MS + MS // 32
    assert imu.period == 9 * MS, "1 ms from its release to its end, and never two in one period"
    # Whoever is last on its CPU has nothing to lose.
    assert "/log/timer/200ms" not in made.budgets
    assert {"see", "/imu/timer/10ms", "/log/timer/200ms"} <= set(made.kept_apart)
    assert "of 4 deadlines hold whatever others need:" in to_text(made, [])
    text = to_parameters(made, "robot.yaml")
    content = yaml.safe_load(text)["/**"]["ros__parameters"]["rclrt"]["callbacks"]
    assert content["/imu/timer/10ms"]["budget"] == {
        key: duration(ns) for key, ns in (("runtime", imu.runtime), ("period", imu.period))
    }
    assert "# whatever others need: " in text
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    assert analyse(applied(opening(tmp_path, ROBOT), read_plan(path))).met
    assert not plan(tmp_path, ROBOT.replace("may_use: [budgets]\n", "")).budgets


def test_looks_at_budgets_are_in_the_bounds_of_a_plan(tmp_path: Path) -> None:
    def with_watch(ms: float) -> Any:
        return plan(tmp_path, f"overheads: {{watch_ms: {ms}}}\n{ROBOT}")

    free, made = plan(tmp_path, ROBOT), with_watch(0.01)
    assert made.proved
    assert set(made.budgets) == set(free.budgets)
    before = {one.name: one.bound or 0 for one in free.result.callbacks}
    for one in made.result.callbacks:
        assert before[one.name] + 3 * MS // 100 <= (one.bound or 0), one.name
    # As the file has it, the same is proved.
    text = f"overheads: {{watch_ms: 0.01}}\n{ROBOT}"
    path = tmp_path / "plan.yaml"
    path.write_text(to_parameters(made, "robot.yaml"), encoding="utf-8")
    again = analyse(applied(opening(tmp_path, text), read_plan(path)))
    assert [one.bound for one in again.callbacks] == [one.bound for one in made.result.callbacks]
    # With longer looks fewer deadlines hold whatever others do, and at last there is no room.
    assert set(with_watch(0.05).kept_apart) < set(free.kept_apart)
    much = with_watch(3)
    assert much.proved
    assert (much.budgets, much.kept_apart) == ({}, ())
    assert "without budgets: what the thread takes" in to_text(much, [])


def test_timers_are_released_as_often_as_ever_whatever_their_budgets(tmp_path: Path) -> None:
    made = plan(tmp_path, ROBOT)
    imu = "/imu/timer/10ms"
    needed = {"/log/timer/200ms"}
    costs = replace(made.system, overheads=replace(made.system.overheads, release=MS // 10))
    # A longer budget would have its work counted less often, and must not its releases.
    budgets = made.budgets | {imu: Budget(MS + MS // 32, 40 * MS)}
    apart = _apart(costs, budgets, needed)
    assert apart is not None
    found = {one.name: one.bound or 0 for one in analyse(apart).callbacks}
    free = _apart(made.system, budgets, needed)
    assert free is not None
    before = {one.name: one.bound or 0 for one in analyse(free).callbacks}
    window = found["/log/timer/200ms"]
    others = -(-window // (10 * MS)) + -(-window // (50 * MS))
    assert window - before["/log/timer/200ms"] >= others * MS // 10


def test_a_deadline_that_needs_others_to_keep_to_their_times_is_not_kept_apart(
    tmp_path: Path,
) -> None:
    made = plan(tmp_path, ROBOT)
    system = made.system
    assert "/log/timer/200ms" in kept_apart(system, made.budgets)
    without = {n: b for n, b in made.budgets.items() if n != "/imu/timer/10ms"}
    assert "/log/timer/200ms" not in kept_apart(system, without), "imu may take all there is"
    # More than is left: two budgets may meet, and each of them lasts for most of its period.
    large = made.budgets | {"/imu/timer/10ms": Budget(8 * MS, 10 * MS)}
    assert "/log/timer/200ms" not in kept_apart(system, large)
    # What the chain's own callbacks need is what the model says.
    assert "see" not in kept_apart(system.but("/cam/timer/50ms", wcet=28 * MS), made.budgets)


def test_a_budget_is_enough_beside_others_that_take_all_of_theirs(tmp_path: Path) -> None:
    made = plan(tmp_path, ROBOT)
    first = sufficient_budgets(made.system, made.result)
    cam = "/cam/timer/50ms"
    assert first[cam].runtime == 4 * MS + 4 * MS // 32
    # Where imu overruns, a job of cam may begin so late that the next one falls into its period.
    assert "see" not in kept_apart(made.system, first)
    assert made.budgets[cam].runtime == 8 * MS + 8 * MS // 32
    assert made.budgets[cam].period == first[cam].period


def test_what_no_budget_bounds_keeps_nothing_apart(tmp_path: Path) -> None:
    made = plan(tmp_path, ROBOT)
    system, budgets = made.system, made.budgets
    received = replace(system, overheads=replace(system.overheads, receive=1000))
    assert kept_apart(received, budgets) == ()
    # What holds a group is lent the urgency of those that wait for it.
    shared = system.but("/see/subscription/image", group="g").but("/log/timer/200ms", group="g")
    chosen = sufficient_budgets(shared, analyse(shared))
    assert "/see/subscription/image" not in chosen
    assert "see" not in kept_apart(shared, chosen)


def test_budgets_of_callbacks_that_release_each_other_count_once_each() -> None:
    system = a_releases_b()
    chosen = sufficient_budgets(system, analyse(system))
    assert set(chosen) == {"a", "b"}
    assert "low" in kept_apart(system, chosen)
    # Without one "b" may run for ever, whatever "a" does.
    assert "low" not in kept_apart(system, {"a": chosen["a"]})


def a_releases_b() -> System:
    callbacks = (
        Callback(
            "a", Kind.TIMER, "e", MS, period=20 * MS, deadline=20 * MS, priority=9,
            publishes=("x",),
        ),
        Callback("b", Kind.SUBSCRIPTION, "e", 2 * MS, triggers=("x",), priority=8),
        Callback("low", Kind.TIMER, "e", 5 * MS, period=90 * MS, deadline=60 * MS, priority=1),
    )  # fmt: skip
    return System("s", (Executor("e", ExecutorKind.ISOLATED),), callbacks)


STEP_MS = 0.05
LOOK = 2
"""Steps."""


class Task:
    def __init__(self, rng: random.Random, number: int, most: float) -> None:
        self.period = rng.choice([100, 200, 400, 500, 1000])
        self.wcet = max(5, int(self.period * most * rng.uniform(0.3, 1)))
        self.priority = 50 - number
        self.budget = int(self.wcet * rng.choice([34 / 32, 1.1, 1.3, 2])) + 2
        self.budget_period = max(20, self.budget, self.period // 2)
        self.offset = rng.randrange(self.period)

    def text(self, number: int) -> str:
        budget = (
            f"{{runtime_ms: {self.budget * STEP_MS}, period_ms: {self.budget_period * STEP_MS}}}"
        )
        return (
            f"- {{name: t{number}, kind: timer, executor: e, period_ms: {self.period * STEP_MS}, "
            f"wcet_ms: {self.wcet * STEP_MS}, priority: {self.priority}, budget: {budget}}}\n"
        )


class Job:
    def __init__(self, task: Task, release: int, work: int) -> None:
        self.task, self.release, self.left = task, release, work
        self.begun = False
        self.used = 0


def run_with_looks(tasks: list[Task], steps: int, rng: random.Random) -> tuple[list[int], int]:
    """Return the longest response of each task, and how often the thread has looked."""
    worst = [0] * len(tasks)
    waiting: list[list[Job]] = [[] for _ in tasks]
    budget_end, used = [0] * len(tasks), [0] * len(tasks)
    alarm: int | None = None
    looking = looks = 0

    def due(number: int, now: int) -> int:
        task = tasks[number]
        rest = max(task.budget - used[number], task.budget // 32, 1)
        return min(budget_end[number], now + rest)

    for now in range(steps):
        for number, task in enumerate(tasks):
            if now >= task.offset and (now - task.offset) % task.period == 0:
                work = rng.choice([task.wcet, task.wcet, max(1, task.wcet // 2)])
                waiting[number].append(Job(task, now, work))
        if not looking and alarm is not None and now >= alarm:
            looking = LOOK
        if looking:
            looking -= 1
            if looking == 0:
                looks += 1
                begun = [i for i, jobs in enumerate(waiting) if jobs and jobs[0].begun]
                for i in begun:
                    if now >= budget_end[i]:
                        budget_end[i], used[i] = budget_end[i] + tasks[i].budget_period, 0
                alarm = min((due(i, now + 1) for i in begun), default=None)
            continue
        ready = [i for i, jobs in enumerate(waiting) if jobs]
        if not ready:
            continue
        number = min(ready)
        job = waiting[number][0]
        if not job.begun:
            job.begun = True
            if now >= budget_end[number]:
                budget_end[number], used[number] = now + job.task.budget_period, 0
            mine = due(number, now)
            if alarm is None or mine < alarm:
                looking = LOOK - 1  # It preempts the job before that has done anything.
                alarm = mine
                continue
        job.left -= 1
        used[number] += 1
        if job.left == 0:
            waiting[number].pop(0)
            worst[number] = max(worst[number], now + 1 - job.release)
    return worst, looks


@pytest.mark.parametrize("seed", range(4))
def test_no_response_exceeds_the_bound_with_looks(seed: int) -> None:
    rng = random.Random(seed)
    closest, exceeded_without, ran = 0.0, 0, 0
    while ran < 12:
        count = rng.randint(1, 4)
        tasks = [Task(rng, i, 0.6 / count) for i in range(count)]
        callbacks = "".join(task.text(i) for i, task in enumerate(tasks))
        head = "executors: [{name: e, kind: isolated}]\ncallbacks:\n"
        looked = f"overheads: {{watch_ms: {LOOK * STEP_MS}}}\n"
        bounds = [one.bound for one in analyse(model(looked + head + callbacks)).callbacks]
        if None in bounds:
            continue
        free = [one.bound for one in analyse(model(head + callbacks)).callbacks]
        ran += 1
        for together in (True, False):
            for task in tasks:
                task.offset = 0 if together else rng.randrange(task.period)
            worst, _ = run_with_looks(tasks, 6_000, rng)
            for number, steps in enumerate(worst):
                seen, bound = steps * STEP_MS * 1e6, bounds[number] or 0
                assert seen <= bound, (seed, number, seen / 1e6, bound / 1e6, looked + callbacks)
                closest = max(closest, seen / bound)
                exceeded_without += seen > (free[number] or 0)
    assert exceeded_without, "without looks the bounds would be exceeded"
    assert closest > 0.8


TWO = """overheads: {receive_ms: 0.5}
executors: [{name: e, kind: isolated, cores: [0]}, {name: f, kind: isolated, cores: [1]}]
callbacks:
  - {name: t, kind: timer, executor: e, period_ms: 10, wcet_ms: 2, priority: 50, publishes: [x]}
  - {name: urgent, kind: timer, executor: f, period_ms: 20, wcet_ms: 1, priority: 60}
  - {name: s, kind: subscription, executor: f, wcet_ms: 3, priority: 40, triggers: [x]}
"""


def bounds(system: System) -> dict[str, int | None]:
    return {bound.name: bound.bound for bound in analyse(system).callbacks}


def test_a_message_costs_all_callbacks_of_its_readers_cpu() -> None:
    system = model(TWO)
    free = bounds(replace(system, overheads=Overheads()))
    assert free == {"t": 2 * MS, "urgent": MS, "s": 4 * MS}
    # A message costs the most urgent callback as well, and the publisher's executor nothing.
    assert bounds(system) == {"t": 2 * MS, "urgent": 3 * MS // 2, "s": 9 * MS // 2}
    # Within an executor the publishing thread delivers.
    one = system.each(lambda c: replace(c, executor="f"))
    assert bounds(one) == bounds(replace(one, overheads=Overheads()))


def test_messages_from_outside_of_the_model_cost_as_well() -> None:
    text = TWO.replace("triggers: [x]", "period_ms: 10")
    assert bounds(model(text)) == {"t": 2 * MS, "urgent": 3 * MS // 2, "s": 9 * MS // 2}


@pytest.mark.parametrize("kind", ["priority_events", "wait_set_single", "isolated, cores: [1, 2]"])
def test_where_nothing_bounds_them_there_is_no_bound(kind: str) -> None:
    text = TWO.replace("name: f, kind: isolated, cores: [1]", f"name: f, kind: {kind}")
    if "cores" not in kind:
        text = text.replace(f"name: f, kind: {kind}", f"name: f, kind: {kind}, cores: [1]")
    if kind == "wait_set_single":
        text = text.replace(", priority: 60", "").replace(", priority: 40", "")
    found = {bound.name: bound.local for bound in analyse(model(text)).callbacks}
    assert found["t"].bound == 2 * MS
    assert found["s"].bound is None
    assert "receive_ms" in found["s"].reason
