# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A plan for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rclrt_analysis.bounds.activation import loads
from rclrt_analysis.model import ExecutorKind
from rclrt_analysis.plan.change import Change
from rclrt_analysis.plan.levels import Item, unmet
from rclrt_analysis.plan.parameters import CLASSES
from rclrt_analysis.plan.placement import NAME
from rclrt_analysis.plan.search import Plan
from rclrt_analysis.report import WIDTH, ms, slack, verdict

MOST_ROWS = 40


def to_text(plan: Plan, found: Sequence[Change]) -> str:
    """Return the report, without a line feed at its end."""
    result = plan.result
    first = verdict(result).replace("NOT MET", "NOT PROVED").replace("MET", "PROVED")
    lines = [
        first,
        f"by {plan.how}, after {plan.tried} analyses" + "; time ran out" * (not plan.complete),
    ]
    lines += [plan.optimal] * bool(plan.optimal) + [""]
    lines += plan.doubts and [
        *plan.doubts,
        "The analysis contradicts the simulator: please report it",
        "",
    ]
    lines.append(
        f"{'chain or callback, ms':44}{'bound':>10}{'deadline':>10}{'slack':>10}{'simulated':>11}"
    )
    late = {item.name for item in unmet(result)}
    rows: list[Item] = [*result.chains, *(b for b in result.callbacks if b.deadline)]
    for item in sorted(rows, key=lambda one: one.name not in late)[:MOST_ROWS]:
        left = slack(item)
        cells = (ms(item.bound), ms(item.deadline), "-" if left is None else f"{left / 1e6:.3f}")
        seen = ms(plan.seen.get(item.name))
        mark = "  <- not met" if item.name in late else ""
        lines.append(
            f"{item.name[-44:]:44}{cells[0]:>10}{cells[1]:>10}{cells[2]:>10}{seen:>11}{mark}"
        )
    if len(rows) > MOST_ROWS:
        lines.append(f"and {len(rows) - MOST_ROWS} more")
    lines += ["", *_cores(plan), *_budgets(plan)]
    if not plan.proved:
        lines += ["", "each of these would do, the smallest first:" if found else _nothing()]
        lines += [f"  {change.text}"[: 2 * WIDTH] for change in found]
    return "\n".join(lines)


def _budgets(plan: Plan) -> list[str]:
    """Return which deadlines rest on no other callback's execution times."""
    if not plan.budgets:
        return []
    rows = [c for c in plan.result.chains if c.deadline]
    every = len(rows) + len([b for b in plan.result.callbacks if b.deadline])
    text = f"{len(plan.budgets)} callbacks have budgets: {len(plan.kept_apart)} of {every} "
    lines = [text + "deadlines hold whatever others need" + ":" * bool(plan.kept_apart)]
    lines += [f"  {name}" for name in plan.kept_apart[:MOST_ROWS]]
    return lines


def _nothing() -> str:
    return "no change was found that would do: several things are late for different reasons"


def _cores(plan: Plan) -> list[str]:
    """Return what runs where."""
    load = loads(plan.system)
    lines = []
    for executor in plan.system.executors:
        members = plan.system.members(executor.name)
        if not members:
            continue
        kind = CLASSES.get(executor.kind, executor.kind.value)
        if executor.name == NAME:
            lines.append(f"{NAME}: CPU {executor.cores[0]}, {len(members)} timers of other CPUs")
            continue
        cpus = ", ".join(str(cpu) for cpu in executor.cores)
        text = f"{executor.name}: {kind}, CPU {cpus}, {len(members)} callbacks, "
        text += f"load {sum(load[c.name] for c in members):.2f}"
        ranks = [c.priority for c in members if c.priority]
        if ranks and executor.kind is not ExecutorKind.WAIT_SET_SINGLE:
            text += f", priorities {min(ranks)} to {max(ranks)}"
        lines.append(text)
    return lines
