# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Models written in tests, and where the shipped ones are."""

from __future__ import annotations

from pathlib import Path

from rclrt_analysis.model import System
from rclrt_analysis.model.document import parse_document
from rclrt_analysis.model.read import build_system, read_model

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "try/rclrt_scenarios" / "models"
SCHEMA = FOLDER / "model.schema.json"


def shipped(name: str) -> System:
    return read_model(FOLDER / f"{name}.yaml", SCHEMA)


def model(text: str) -> System:
    """Return the system of a text; `schema` and `name` are added."""
    return build_system(parse_document(f"schema: 1\nname: test\n{text}", "test.yaml"), SCHEMA)
