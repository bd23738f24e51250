# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The fixed points behind bounds: the least ones of the equations of `check`, which looks at them.

That module knows nothing of the analysis. Where these numbers do not lead to the bound of the
analysis, that is by another theorem.
"""

import contextlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from rclrt_analysis.bounds.result import Result
from rclrt_analysis.check import (
    Core,
    Task,
    UncoveredError,
    before,
    cores_of,
    end_of,
    releases_of,
    start_of,
    window_of,
)

MOST = 20_000
"""Numbers of one callback, and steps to one of them, at most."""


def to_json(path: Path, result: Result) -> str:
    """Return the certificate, schema 1: a proof for each callback, or why there is none."""
    model = yaml.safe_load(path.read_text(encoding="utf-8"))
    why, cores = "no theorem of certificates covers what it competes with", []
    try:
        cores = list(cores_of(model))
    except UncoveredError as error:
        why = f"no theorem of certificates covers it: {error}"
    task_of = {task.name: (core, task) for core in cores for task in core.tasks}
    proofs: dict[str, Any] = {}
    without = {}
    for one in result.callbacks:
        if one.bound is None:
            without[one.name] = "it has no bound"
        elif one.name not in task_of:
            without[one.name] = why
        else:
            without[one.name] = "its bound is by another theorem, or takes too many numbers"
            with contextlib.suppress(OverflowError):
                proof = _proof(*task_of[one.name])
                if proof["bound"] == one.bound:
                    proofs[one.name] = proof
                    del without[one.name]
    content = {"schema": 1, "model": result.system, "proofs": proofs, "without": without}
    return json.dumps(content, indent=1) + "\n"


def _proof(core: Core, task: Task) -> dict[str, Any]:
    window = _least(1, partial(window_of, core, task))
    if sum(before(other, window + task.deadline) for other in core.tasks) > MOST:
        raise OverflowError
    releases, starts, ends = releases_of(core, task, window), [], []
    for release in releases:
        start = 0
        if not core.preemptive:
            start = _least(0, partial(start_of, core, task, release))
            starts.append(start)
        ends.append(_least(start, partial(end_of, core, task, release, start)))
    worst = max(task.cost, *(e - r for e, r in zip(ends, releases, strict=True)))
    return {
        "theorem": core.theorem, "window": window, "starts": starts, "ends": ends, "bound": worst,
    }  # fmt: skip


def _least(start: int, step: Callable[[int], int]) -> int:
    """Return the least fixed point from `start` on.

    Raises OverflowError: It takes too many steps.
    """
    for _ in range(MOST):
        then = step(start)
        if then == start:
            return start
        start = then
    raise OverflowError
