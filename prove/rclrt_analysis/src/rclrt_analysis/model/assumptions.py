# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Where the times of a model come from, and by how much measured ones are made safer.

And whether they can be meant: a file in another unit is well-formed, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rclrt_analysis.model.document import Place
from rclrt_analysis.model.system import (
    NS_PER_MS,
    Assumptions,
    Callback,
    Kind,
    Origin,
    System,
    in_ms,
)

FIELDS = ("wcet_ms", "period_ms", "jitter_ms", "gap_ms")
PARTS = 1_000_000
"""A safety factor is rounded up to so many parts of one."""


def read_assumptions(content: Mapping[str, Any], item: Mapping[str, Any]) -> Assumptions:
    """Return what a model says of a callback's times: there, or else for all callbacks."""
    said = {**content.get("assumptions", {}), **item.get("assumptions", {})}
    return tuple(
        (field, Origin(said[field]["origin"], float(said[field].get("safety_factor", 1))))
        for field in FIELDS
        if field in said and field in item
    )


def check_assumptions(
    said: Mapping[str, Any], place: Place, item: Mapping[str, Any] | None = None
) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong with one set of assumptions, with its place."""
    for field, about in said.items():
        where = (*place, "assumptions", field)
        if "safety_factor" in about and about["origin"] != "measured":
            text = f"a safety factor is for measured times, this one is {about['origin']}"
            yield (*where, "safety_factor"), f"{text}: leave it out, or change {field} itself"
        if item is not None and field not in item:
            yield where, f"there is no {field} here to say that of"
        timer = item is not None and item["kind"] == Kind.TIMER.value
        if timer and field == "period_ms" and "safety_factor" in about:
            text = "a program sets the period of a timer, so it needs no safety factor"
            yield (*where, "safety_factor"), f"{text}: leave it out"


def made_safe(callback: Callback) -> Callback:
    """Return the callback with its safety factors in its times."""
    factor = {field: round(about.factor * PARTS) for field, about in callback.assumptions}
    wcet = factor.get("wcet_ms", PARTS)
    period = PARTS if callback.kind is Kind.TIMER else factor.get("period_ms", PARTS)
    return replace(
        callback,
        wcet=_up(callback.wcet, wcet),
        bcet=callback.bcet * PARTS // wcet,
        publish_least=callback.publish_least * PARTS // wcet,
        publish_most=None if callback.publish_most is None else _up(callback.publish_most, wcet),
        jitter=_up(callback.jitter, factor.get("jitter_ms", PARTS)),
        gap=None if callback.gap is None else _up(callback.gap, factor.get("gap_ms", PARTS)),
        period=None if callback.period is None else max(1, callback.period * PARTS // period),
    )


def _up(value: int, parts: int) -> int:
    return -(-value * parts // PARTS)


@dataclass(frozen=True)
class Premise:
    """Times that come from the same place: of which field, whence, and of which callbacks."""

    field: str
    origin: Origin
    callbacks: tuple[str, ...]


def premises(callbacks: Sequence[Callback]) -> list[Premise]:
    """Return what a proof about these callbacks takes for granted of their times."""
    found: dict[tuple[str, Origin], list[str]] = {}
    for callback in callbacks:
        said = dict(callback.assumptions)
        there = {"wcet_ms": True, "period_ms": callback.period, "jitter_ms": callback.jitter}
        for field, value in {**there, "gap_ms": callback.gap}.items():
            if value:
                about = said.get(field, Origin())
                found.setdefault((field, about), []).append(callback.name)
    order = sorted(found, key=lambda key: (FIELDS.index(key[0]), key[1].word, key[1].factor))
    return [Premise(field, about, tuple(found[field, about])) for field, about in order]


SHORT = NS_PER_MS // 10
"""No callback of ROS is released more often than every 0.1 ms."""

ALL_SHORT = NS_PER_MS
"""No robot has nothing slower than 1 kHz."""

LONG = 60_000 * NS_PER_MS
"""No robot has nothing faster than once a minute."""


def implausible(system: System) -> str | None:
    """Return what is strange about the periods of a system, and the remedy; None if nothing is."""
    periods = [callback.period for callback in system.callbacks if callback.period is not None]
    if not periods:
        return None
    least, most = min(periods), max(periods)
    if least < SHORT or most < ALL_SHORT:
        wrong = "seconds"
    elif least > LONG:
        wrong = "microseconds"
    else:
        return None
    text = f"period_ms is from {in_ms(least)} to {in_ms(most)}"
    return f"{text}: are these {wrong}? All times of a model are milliseconds"
