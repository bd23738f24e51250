# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a model may say of budgets: what the engine accepts (rclrt_core/budget.hpp)."""

from __future__ import annotations

from collections.abc import Iterator

from rclrt_analysis.model.document import Place
from rclrt_analysis.model.system import Budget, Executor, ExecutorKind, System, in_ms

LEAST_RUNTIME = 100_000
LEAST_PERIOD = 1_000_000
"""ns."""

ENFORCE = (ExecutorKind.PRIORITY_EVENTS, ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)

Problem = tuple[Place, str]


def check_budgets(system: System) -> Iterator[Problem]:
    """Yield what is wrong with the budgets of a model, with its place."""
    for i, executor in enumerate(system.executors):
        groups = {c.group for c in system.members(executor.name) if c.group}
        for group, budget in executor.budgets:
            place: Place = ("executors", i, "budgets", group)
            if group not in groups:
                text = f"'{executor.name}' has no group '{group}'"
                yield place, f"{text}. Use one of {', '.join(sorted(groups)) or 'none: add one'}"
            yield from _budget(executor, budget, place)
    for i, callback in enumerate(system.callbacks):
        of_callback = system.executor_of.get(callback.executor)
        if callback.budget is None or of_callback is None:
            continue
        place = ("callbacks", i, "budget")
        yield from _budget(of_callback, callback.budget, place)
        if callback.group in dict(of_callback.budgets):
            text = f"its group '{callback.group}' has a budget, which all of its callbacks share"
            yield place, f"{text}: remove one of the two"


def _budget(executor: Executor, budget: Budget, place: Place) -> Iterator[Problem]:
    if executor.kind not in ENFORCE:
        names = ", ".join(kind.value for kind in ENFORCE)
        text = f"nobody enforces budgets under {executor.kind.value}"
        yield place, f"{text}. Leave it out, or use one of {names}"
    if executor.reservation is not None:
        yield place, "a reservation is a budget already. Leave one of the two out"
    if budget.runtime < LEAST_RUNTIME:
        text = f"runtime_ms {in_ms(budget.runtime)} is less than {in_ms(LEAST_RUNTIME)}"
        yield (*place, "runtime_ms"), f"{text}, the least that the engine enforces"
    if budget.period < LEAST_PERIOD:
        text = f"period_ms {in_ms(budget.period)} is less than {in_ms(LEAST_PERIOD)}"
        yield (*place, "period_ms"), f"{text}, the least that the engine enforces"
    if budget.runtime > budget.period:
        yield (*place, "runtime_ms"), "runtime_ms exceeds period_ms; swap them"
