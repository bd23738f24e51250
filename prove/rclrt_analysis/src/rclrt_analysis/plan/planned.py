# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A model as commands get it: alone, or with what a plan has chosen for it."""

from __future__ import annotations

import sys
from pathlib import Path

from rclrt_analysis.model import System, model_schema, read_model
from rclrt_analysis.plan.openings import read_open
from rclrt_analysis.plan.parameters import applied, misfits, read_plan


def system_of(model: Path, plan: Path | None = None) -> System:
    """Return the system; warn of a plan that does not fit.

    Raises
    ------
    ModelError
        A file is wrong.
    """
    schema = model_schema()
    if plan is None:
        return read_model(model, schema)
    opening, file = read_open(model, schema), read_plan(plan)
    for text in misfits(file, opening):
        print(f"warning: {text}", file=sys.stderr)
    return applied(opening, file)
