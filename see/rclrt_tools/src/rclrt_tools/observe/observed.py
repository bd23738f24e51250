# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A model in the making, between records and its text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Observed:
    """A model in the making.

    Attributes
    ----------
    content
        As in a model file.
    remarks
        By place in `content["callbacks"]`: what the records say besides.
    responses
        By name of the callback: the longest time from the release of a job to its end, ns.
    silent
        Names of callbacks of which no job ran.
    doubts
        Reasons for no verdict that hold under any executor: what is wrong with the records.
    """

    content: dict[str, Any]
    remarks: list[str] = field(default_factory=list)
    responses: dict[str, int] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    jobs: int = 0
