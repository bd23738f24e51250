# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds with looks at budgets, held against a thread that looks as the engine's does.

A simulator of its own, in steps of 50 us: timers of fixed priorities on one CPU, and above them the
thread that watches their budgets. It looks when a job begins that may be due earlier than what it
waits for, and when that time has come: then at all jobs that have begun. The threads of the
middleware are in the bounds as well.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from models import model
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Overheads, System

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


def simulate(tasks: list[Task], steps: int, rng: random.Random) -> tuple[list[int], int]:
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
            worst, _ = simulate(tasks, 6_000, rng)
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
MS = 1_000_000


def bounds(system: System) -> dict[str, int | None]:
    return {bound.name: bound.bound for bound in analyse(system).callbacks}


def test_a_message_costs_all_callbacks_of_its_readers_cpu() -> None:
    system = model(TWO)
    free = bounds(replace(system, overheads=Overheads()))
    assert free == {"t": 2 * MS, "urgent": MS, "s": 4 * MS}
    # Of the most urgent one as well; and nothing of the publisher's.
    assert bounds(system) == {"t": 2 * MS, "urgent": 3 * MS // 2, "s": 9 * MS // 2}
    # Within an executor the publishing thread delivers.
    one = replace(system, callbacks=tuple(replace(c, executor="f") for c in system.callbacks))
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
