# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Models written in tests, large random ones, and where the shipped ones are."""

import random
from dataclasses import replace
from pathlib import Path

from rclrt_analysis.model import Callback, Chain, Executor, ExecutorKind, Kind, Policy, System
from rclrt_analysis.model.document import parse_document
from rclrt_analysis.model.read import build_system, model_schema, read_model

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "try/rclrt_scenarios" / "models"
SCHEMA = model_schema()


def shipped(name: str) -> System:
    return read_model(FOLDER / f"{name}.yaml", SCHEMA)


def model(text: str) -> System:
    """Return the system of a text; `schema` and `name` are added."""
    return build_system(parse_document(f"schema: 1\nname: test\n{text}", "test.yaml"), SCHEMA)


MS = 1_000_000
PERIODS_MS = (10, 20, 50, 100, 200, 1000)
TIMERS = 0.4
"""The share of timers; other callbacks are released by an earlier one, of whatever executor."""


def make_system(
    kind: ExecutorKind, callbacks: int, chains: int, executors: int, rng: random.Random
) -> System:
    """Return a system in which every chain starts with a timer and goes on as messages do."""
    runs = tuple(Executor(f"e{i}", kind, cores=(i,)) for i in range(executors))
    made: list[Callback] = []
    for i in range(callbacks):
        name, where = f"c{i}", rng.choice(runs).name
        if i < callbacks * TIMERS:
            period = rng.choice(PERIODS_MS) * MS
            # A thousand on eight cores ask for a quarter of each.
            wcet = int(period * executors / callbacks * rng.uniform(0.2, 1.0))
            made.append(
                Callback(
                    name, Kind.TIMER, where, wcet, period=period, deadline=period,
                    priority=rng.randint(1, 90), publishes=(name,),
                )
            )  # fmt: skip
        else:
            wcet, source = rng.randint(MS // 100, MS // 10), rng.choice(made).name
            made.append(
                Callback(
                    name, Kind.SUBSCRIPTION, where, wcet, triggers=(source,), publishes=(name,)
                )
            )
    released: dict[str, list[str]] = {}
    for callback in made:
        for topic in callback.triggers:
            released.setdefault(topic, []).append(callback.name)
    ways = []
    for i in range(chains):
        way = [rng.choice([c.name for c in made if c.kind is Kind.TIMER])]
        while way[-1] in released:
            way.append(rng.choice(released[way[-1]]))
        ways.append(Chain(f"chain{i}", tuple(way)))
    return System("large", runs, tuple(made), tuple(ways))


def to_plan(system: System, periods: int) -> System:
    """Return the system in one executor, each chain due after so many periods of its timer."""
    chains = (
        replace(chain, deadline=periods * (system.callback_of[chain.callbacks[0]].period or 0))
        for chain in system.chains
    )
    callbacks = (replace(c, executor="main", priority=1) for c in system.callbacks)
    main = replace(system.executors[0], name="main", cores=(0,))
    return replace(system, executors=(main,), callbacks=tuple(callbacks), chains=tuple(chains))


def by_deadline(system: System) -> System:
    """Return the system under EDF: messages are due within 100 ms."""
    executors = (replace(executor, policy=Policy.EDF) for executor in system.executors)
    system = replace(system, executors=tuple(executors))
    return system.each(lambda c: replace(c, priority=None, deadline=c.deadline or 100 * MS))
