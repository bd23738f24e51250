# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever a trace file holds: a trace or a clear error, never anything else."""

from __future__ import annotations

from trace_fuzz import kinds


def test_damaged_files_are_read_or_refused_with_a_reason() -> None:
    found = kinds(seed=1, count=10_000)
    assert sum(found.values()) == 10_000
    assert found["read"] > 1000
    assert len(found) > 8, f"too few of the errors were reached: {found}"
