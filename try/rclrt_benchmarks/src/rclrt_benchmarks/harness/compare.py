# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A report beside an older one: what has become worse, and how sure that is."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclrt_analysis.evaluation.row import FAILS, HOLDS, Row

SCHEMA = 1
SURE = 0.05
WORSE = 1.05
"""A smaller change than this is none, however sure it is."""
MOST_ROUNDS = 8


class OldReportError(Exception):
    """The file is not such a report."""


@dataclass(frozen=True)
class Change:
    """One row then and now."""

    experiment: str
    name: str
    text: str
    is_regression: bool


def read(path: Path) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the rows of an older report."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OldReportError(f"{path}: {error}") from error
    try:
        if content["schema"] != SCHEMA:
            raise OldReportError(f"{path}: schema {content['schema']!r} is not {SCHEMA}")
        return {
            (str(row["experiment"]), str(row["name"])): _checked(row)
            for run in content["runs"]
            for row in run["rows"]
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"{path}: not a report of ./rclrt bench all --json: {type(error).__name__} {error}"
        raise OldReportError(text) from error


def _checked(row: Mapping[str, Any]) -> Mapping[str, Any]:
    value = row.get("value")
    return {
        "verdict": str(row["verdict"]),
        "value": None if value is None else float(value),
        "rounds": [float(one) for one in row.get("rounds", ())],
    }


def worse_by_chance(old: Sequence[float], new: Sequence[float]) -> float | None:
    """Return how likely it is by chance alone that the new values rank as high, or higher.

    The exact rank-sum test, one-sided. None if there are too few values for any verdict.
    """
    old, new = list(old)[:MOST_ROUNDS], list(new)[:MOST_ROUNDS]
    every = old + new
    ranks = [sum(o < v for o in every) + (sum(o == v for o in every) + 1) / 2 for v in every]
    seen = sum(ranks[len(old) :])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(new))]
    if not old or not new or 1 / len(sums) > SURE:
        return None
    return sum(one >= seen - 1e-9 for one in sums) / len(sums)


def compare(old: Mapping[tuple[str, str], Mapping[str, Any]], rows: Sequence[Row]) -> list[Change]:
    """Return what differs."""
    changes = []
    for row in rows:
        before = old.get((row.experiment, row.name))
        if before is None:
            continue
        if before["verdict"] == HOLDS and row.verdict == FAILS:
            changes.append(Change(row.experiment, row.name, "held before, does not now", True))
        elif before["verdict"] == FAILS and row.verdict == HOLDS:
            changes.append(Change(row.experiment, row.name, "did not hold before, does now", False))
        was, now = before["value"], row.value
        if was is None or now is None or not was or not now > WORSE * was:
            continue
        chance = worse_by_chance(before["rounds"], row.rounds)
        sure = chance is not None and chance <= SURE
        text = f"{was:.3g} before, {now:.3g} now {row.unit}".rstrip() + (
            f"; by chance as bad: p = {chance:.3f} (rank sum, rounds)"
            if chance is not None
            else "; too few rounds to tell it from chance"
        )
        changes.append(Change(row.experiment, row.name, text, sure))
    known = {(row.experiment, row.name) for row in rows}
    for experiment, name in old:
        if (experiment, name) not in known:
            changes.append(Change(experiment, name, "is not in this report", False))
    return changes
