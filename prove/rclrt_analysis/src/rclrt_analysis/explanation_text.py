# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""An explanation for a terminal, and for programs."""

from __future__ import annotations

import json
from typing import Any

from rclrt_analysis.explanation import Explanation, HopPart
from rclrt_analysis.model import NS_PER_MS
from rclrt_analysis.report import ms

MOST = 10


def to_text(explained: Explanation) -> str:
    """Return the explanation, without a line feed at its end."""
    chain, bound = explained.chain, explained.bound
    due = "" if chain.deadline is None else f" of {ms(chain.deadline)}"
    if bound.bound is None:
        return f"{chain.name}: {chain.semantics} has no bound: {bound.reason}"
    verdict = {None: "", True: ": met", False: ": not met"}[bound.met]
    lines = [f"{chain.name}: {chain.semantics} {ms(bound.bound)}{due} ms{verdict}", ""]
    for part in explained.hops:
        lines += _hop(part)
    lines += ["", "it waits for (ms less if that took no time):"]
    for rival in explained.rivals[:MOST]:
        lines.append(f"  {ms(rival.less):>10}  {rival.callback}: {rival.why}")
    if len(explained.rivals) > MOST:
        lines.append(f"  and {len(explained.rivals) - MOST} more")
    if not explained.rivals:
        lines.append("  nothing else")
    lines += ["", "what would help (ms then):"]
    for one in explained.helps[:MOST]:
        late = f"; deadlines missed: {one.late} instead of {explained.late}" if one.late else ""
        lines.append(f"  {ms(one.bound):>10}  {one.text}{late}")
    if not explained.helps:
        lines.append("  none of what was tried")
    if not explained.complete:
        lines += ["", "time ran out: there may be more to wait for, and to help"]
    return "\n".join(lines)


def _hop(part: HopPart) -> list[str]:
    hop = part.hop
    total = hop.waiting + hop.response
    lines = [f"{ms(total):>10} {100 * part.share:4.0f} %  {hop.callback} ({hop.kind})"]
    if hop.waiting:
        lines.append(f"{ms(hop.waiting):>20}  until {part.waits_for}")
    local = part.local
    parts = [
        ("its own work", local.own),
        ("begun or set off by less urgent callbacks", local.blocking),
        ("other work", part.interference),
        ("releases of timers", local.overhead),
    ]
    told = ", ".join(f"{text} {ms(value)}" for text, value in parts if value)
    whole = local.bound or 0
    if hop.response == whole:
        lines.append(f"{ms(hop.response):>20}  {told or 'nothing'}")
    else:
        text = f"of its response of {ms(whole)} ({told}); the hops before contain the rest"
        lines.append(f"{ms(hop.response):>20}  {text}")
    return lines


def to_json(explained: Explanation) -> str:
    """Return the explanation as JSON, schema 1; times in ms."""
    chain, bound = explained.chain, explained.bound
    content: dict[str, Any] = {
        "schema": 1,
        "chain": chain.name,
        "semantics": chain.semantics,
        "bound_ms": _ms(bound.bound),
        "deadline_ms": _ms(chain.deadline),
        "met": bound.met,
        "complete": explained.complete,
        "reason": bound.reason or None,
        "hops": [
            {
                "callback": part.hop.callback,
                "kind": part.hop.kind,
                "share": round(part.share, 6),
                "waiting_ms": _ms(part.hop.waiting),
                "waits_for": part.waits_for or None,
                "response_ms": _ms(part.hop.response),
                "parts_ms": {
                    "own": _ms(part.local.own),
                    "blocking": _ms(part.local.blocking),
                    "interference": _ms(part.interference),
                    "overhead": _ms(part.local.overhead),
                },
            }
            for part in explained.hops
        ],
        "waits_for": [
            {"callback": rival.callback, "less_ms": _ms(rival.less), "why": rival.why}
            for rival in explained.rivals
        ],
        "would_help": [
            {"change": one.text, "bound_ms": _ms(one.bound), "late": one.late}
            for one in explained.helps
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / NS_PER_MS
