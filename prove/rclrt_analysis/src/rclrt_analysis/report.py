# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The result of an analysis for a terminal of 100 columns, and for programs."""

import json
import textwrap
from collections.abc import Sequence
from typing import Any

from rclrt_analysis.bounds.analyse import Dependence
from rclrt_analysis.bounds.result import CallbackBound, ChainBound, Result
from rclrt_analysis.model import NS_PER_MS, Chain, System
from rclrt_analysis.model.assumptions import Premise, premises
from rclrt_analysis.model.system import Origin, Overheads
from rclrt_analysis.sensitivity import Margins

WIDTH = 100
NONE = "-"
MOST_NAMED = 6


def ms(ns: int | None) -> str:
    """Return ns as ms with three decimals, rounded up; `NONE` for None."""
    if ns is None:
        return NONE
    return f"{-(-ns // 1000) / 1000:.3f}"


def slack(item: CallbackBound | ChainBound) -> int | None:
    """Return the deadline less the bound, ns; None without one of them."""
    if item.deadline is None or item.bound is None:
        return None
    return item.deadline - item.bound


def interference(bound: CallbackBound) -> int:
    """Return the part of a bound that other callbacks of the same or higher priority cause, ns."""
    local = bound.local
    return max(0, (bound.bound or 0) - local.own - local.blocking - local.overhead)


def verdict(result: Result) -> str:
    """Return the first line of a report."""
    items: tuple[CallbackBound | ChainBound, ...] = (*result.callbacks, *result.chains)
    deadlines = [item for item in items if item.deadline is not None]
    missed = [item for item in deadlines if not item.met]
    without = [item for item in items if item.deadline is None and item.bound is None]
    if result.no_verdict:
        return "NO VERDICT: this model says that no bound of it would prove anything"
    if result.met:
        return f"MET: all {len(deadlines)} deadlines"
    parts = []
    if missed:
        parts.append(f"{len(missed)} of {len(deadlines)} deadlines not shown to be met")
    if without:
        parts.append(f"{len(without)} without a bound")
    return "NOT MET: " + ", ".join(parts)


def to_text(system: System, result: Result, margins: Margins | None = None) -> str:
    """Return the report, without a line feed at its end."""
    lines = [verdict(result), ""]
    if system.description:
        lines += [system.name + ": " + system.description, ""]
    lines += _callbacks(result)
    if result.chains:
        lines += ["", *_chains(result)]
    reasons: dict[str, list[str]] = {}
    for bound in result.callbacks:
        if bound.bound is None:
            reasons.setdefault(bound.local.reason, []).append(bound.name)
    for chain in result.chains:
        if chain.bound is None:
            reasons.setdefault(chain.reason, []).append(chain.name)
    if reasons:
        lines += ["", "no bound:"]
        for reason, names in reasons.items():
            lines += _wrapped(f"{', '.join(names)}: {reason}")
    if margins is not None:
        lines += ["", *_margins(margins)]
    lines += ["", "by"]
    for method in dict.fromkeys(bound.method for bound in result.callbacks):
        if method.source:
            lines.append(f"  {method.name} [{method.source}]")
    lines.append("if")
    for assumption in result.assumptions:
        lines += _wrapped(assumption.value)
    lines += ["given", *premise_lines(premises(system.callbacks))]
    lines += overhead_lines(system.overheads)
    return "\n".join(lines)


def overhead_lines(overheads: Overheads) -> list[str]:
    """Return what the machine and the executors are taken to cost, and where that comes from."""
    names = (
        "release",
        "dispatch",
        "context_switch",
        "transport",
        "wake",
        "late",
        "receive",
        "publish",
        "watch",
        "stolen",
    )
    costs = [(name, getattr(overheads, name)) for name in names if getattr(overheads, name)]
    if not costs:
        return []
    whence = f"measured, {overheads.measured}" if overheads.measured else "stated"
    said = ", ".join(f"{name}_ms {ms(cost)}" for name, cost in costs)
    window = f" in each {ms(overheads.window)} ms" if overheads.stolen else ""
    return _wrapped(f"overheads {whence}: {said}{window}")


def premise_lines(given: Sequence[Premise]) -> list[str]:
    """Return on what times a proof rests, and where these come from."""
    lines = []
    for one in given:
        whence = f"{one.origin.word}, x {one.origin.factor:g}" * (one.origin.factor != 1)
        whence = whence or one.origin.word
        if one.origin == Origin("measured"):
            whence = "measured, no safety factor"
        elif one.origin == Origin():
            whence = "of unknown origin"
        more = len(one.callbacks) - MOST_NAMED
        names = ", ".join(one.callbacks[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        lines += _wrapped(f"{one.field} {whence}: {names}")
    return lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _callbacks(result: Result) -> list[str]:
    name = min(34, max(len("callback, ms"), *(len(b.name) for b in result.callbacks)))
    head = ("bound", "deadline", "slack", "own", "blocking", "interference", "overhead")
    width = (9, 9, 9, 9, 9, 13, 9)
    lines = [f"{'callback, ms':{name}}" + _cells(head, width)]
    for bound in result.callbacks:
        local = bound.local
        parts = (local.own, local.blocking, interference(bound), local.overhead)
        cells = [ms(bound.bound), ms(bound.deadline), _signed(slack(bound))]
        cells += [ms(part) if bound.bound is not None else NONE for part in parts]
        mark = "  <- not met" if bound.met is False else ""
        lines.append(f"{bound.name[:name]:{name}}" + _cells(cells, width) + mark)
    return lines


def _cells(cells: Any, widths: Any) -> str:
    return "".join(f" {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _signed(ns: int | None) -> str:
    if ns is None:
        return NONE
    return f"{ns // 1000 / 1000:.3f}"  # Rounded down: less slack, or more lateness.


def _chains(result: Result) -> list[str]:
    head = _cells(("bound", "deadline", "slack"), (9, 9, 9))
    lines = [f"{'chain, ms':34}{head}  semantics"]
    for chain in result.chains:
        cells = _cells((ms(chain.bound), ms(chain.deadline), _signed(slack(chain))), (9, 9, 9))
        mark = "  <- not met" if chain.met is False else ""
        lines.append(f"{chain.name[:34]:34}{cells}  {chain.semantics}{mark}")
        for hop in chain.hops:
            waiting = f"waits {ms(hop.waiting)} + " if hop.waiting else ""
            lines.append(f"    {hop.callback[:30]:30} {hop.kind:9} {waiting}{ms(hop.response)}")
    return lines


def _margins(margins: Margins) -> list[str]:
    if margins.all_wcet is None:
        first = "no execution times meet every deadline"
    else:
        first = f"every deadline is met with all execution times up to x {margins.all_wcet:.4f}"
    lines = [first, f"{'alone, ms':34}{'wcet up to':>12}{'period from':>13}"]
    for name, wcet in margins.wcet.items():
        longest = NONE if wcet is None else _signed(wcet)
        lines.append(f"{name[:34]:34}{longest:>12}{ms(margins.period.get(name)):>13}")
    if not margins.complete:
        lines.append("the effort was spent: times may change by at least as much, perhaps by more")
    return lines


def to_json(system: System, result: Result, margins: Margins | None = None) -> str:
    """Return the report as JSON, schema 1; times in ms, null for none."""
    dependence = Dependence(system)
    content: dict[str, Any] = {
        "schema": 1,
        "system": system.name,
        "met": result.met,
        "no_verdict": list(result.no_verdict),
        "callbacks": [_callback_json(bound) for bound in result.callbacks],
        "chains": [
            {
                "name": chain.name,
                "semantics": chain.semantics,
                "met": chain.met,
                "bound_ms": _number(chain.bound),
                "deadline_ms": _number(chain.deadline),
                "slack_ms": _number(slack(chain)),
                "reason": chain.reason or None,
                "hops": [
                    {
                        "callback": hop.callback,
                        "kind": hop.kind,
                        "waiting_ms": _number(hop.waiting),
                        "response_ms": _number(hop.response),
                    }
                    for hop in chain.hops
                ],
                **_contract(described),
                "rests_on": [
                    {**_premise(one), "callbacks": len(one.callbacks)}
                    for one in premises(dependence.of(described))
                ],
            }
            for described, chain in zip(system.chains, result.chains, strict=True)
        ],
        "assumptions": [{"id": a.name.lower(), "text": a.value} for a in result.assumptions],
        "given": [
            {**_premise(one), "callbacks": list(one.callbacks)}
            for one in premises(system.callbacks)
        ],
    }
    if margins is not None:
        content["margins"] = {
            "complete": margins.complete,
            "all_wcet_factor": margins.all_wcet,
            "wcet_ms": {name: _number(value) for name, value in margins.wcet.items()},
            "period_ms": {name: _number(value) for name, value in margins.period.items()},
        }
    return json.dumps(content, indent=1) + "\n"


def _premise(one: Premise) -> dict[str, Any]:
    return {
        "field": one.field,
        "origin": one.origin.word,
        "safety_factor": one.origin.factor,
    }


def _contract(chain: Chain) -> dict[str, Any]:
    return {
        "join": chain.join,
        "warn_after": chain.warn_after,
        "error_after": chain.error_after,
        "silent_after_ms": _number(chain.silent_after),
    }


def _number(ns: int | None) -> float | None:
    return None if ns is None else ns / NS_PER_MS


def _callback_json(bound: CallbackBound) -> dict[str, Any]:
    has = bound.bound is not None
    return {
        "name": bound.name,
        "executor": bound.executor,
        "met": bound.met,
        "bound_ms": _number(bound.bound),
        "deadline_ms": _number(bound.deadline),
        "slack_ms": _number(slack(bound)),
        "parts_ms": {
            "own": _number(bound.local.own),
            "blocking": _number(bound.local.blocking),
            "interference": _number(interference(bound)),
            "overhead": _number(bound.local.overhead),
        }
        if has
        else None,
        "depth_needed": bound.local.depth_needed,
        "method": bound.method.name,
        "source": bound.method.source,
        "assumptions": [assumption.name.lower() for assumption in bound.method.assumptions],
        "reason": bound.local.reason or None,
    }
