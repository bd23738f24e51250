# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What an earlier report has measured, so that only what it could not judge runs again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rclrt_analysis.evaluation.compare import SCHEMA, OldReportError
from rclrt_analysis.evaluation.experiment import Experiment, Machine, Run
from rclrt_analysis.evaluation.row import OPEN
from rclrt_analysis.evaluation.run import judge

DIFFERS_EACH_TIME = ("date", "load")
TEXTS = ("began", "said", "not_run")
NUMBERS = ("took_s", "load_before", "load_after", "others_cpus")


def read(path: Path, environment: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the runs of a report by the names of their experiments.

    Raises
    ------
    OldReportError
        It is no report, or it is of another machine or version: those are not mixed.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            raise OldReportError(f"{path}: schema {content['schema']!r} is not {SCHEMA}")
        for name, now in environment.items():
            then = content["environment"].get(name)
            if name not in DIFFERS_EACH_TIME and then != now:
                raise OldReportError(
                    f"{path}: {name} was {then!r}, and is {now!r} now; run everything anew"
                )
        return {str(run["experiment"]): _checked(run) for run in content["runs"]}
    except OSError as error:
        raise OldReportError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"{path}: not a report of ./rclrt bench all --json: {type(error).__name__} {error}"
        raise OldReportError(text) from error


def _checked(run: Mapping[str, Any]) -> Mapping[str, Any]:
    result = run["result"]
    if not (result is None or isinstance(result, dict)):
        raise TypeError(f"a result is not an object but {type(result).__name__}")
    return {
        "command": tuple(str(word) for word in run["command"]),
        "status": None if run["status"] is None else int(run["status"]),
        "result": result,
        **{name: str(run[name]) for name in TEXTS},
        **{name: float(run[name]) for name in NUMBERS},
    }


def kept(
    runs: Mapping[str, Mapping[str, Any]], experiment: Experiment, effort: str, machine: Machine
) -> Run | None:
    """Return the earlier run of an experiment if each of its statements has a verdict."""
    found = runs.get(experiment.name)
    if found is None or found["result"] is None:
        return None
    if found["command"] != ("./rclrt", *experiment.commands[effort]):
        return None
    run = Run(experiment, **found)
    judge(run, effort, machine)
    return None if any(row.verdict == OPEN for row in run.rows) else run
