# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Models and records written in tests."""

from __future__ import annotations

from pathlib import Path

from rclrt_analysis.model import System
from rclrt_analysis.model.document import parse_document
from rclrt_analysis.model.read import build_system
from rclrt_tools.trace import Entry, Header, Records, blank, layout

ROOT = Path(__file__).resolve().parents[3]
MS = 1_000_000
ISOLATED = Header(executor=1, model=layout.MODEL_ISOLATED, ordering=layout.ORDER_FIRST_COME)


def model(text: str) -> System:
    """Return the system of a text; `schema` and `name` are added."""
    schema = ROOT / "try/rclrt_scenarios/models/model.schema.json"
    return build_system(parse_document(f"schema: 1\nname: test\n{text}", "test.yaml"), schema)


def timer(name: str, period: int) -> Entry:
    return Entry(name, 0, "g0", 1, layout.KIND_TIMER, period)


def jobs(callback: int, *times: tuple[int, int, int, int], priority: int = 50) -> Records:
    """Return records of (release, start, end, CPU time), each in ms, of a timer under FIFO."""
    records = blank(len(times))
    records["callback"], records["cause"], records["cpus"] = callback, layout.CAUSE_TIMER, 1
    records["policy"], records["priority"] = layout.POLICY_FIFO, priority
    for record, (release, start, end, cpu) in zip(records, times, strict=True):
        record["release_ns"] = record["ready_ns"] = record["root_ns"] = release * MS
        record["start_ns"], record["end_ns"], record["cpu_ns"] = start * MS, end * MS, cpu * MS
        record["sequence"] = release
    return records
