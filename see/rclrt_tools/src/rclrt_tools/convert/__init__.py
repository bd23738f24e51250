# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Chains and systems that other tools describe, as models; and a model for those tools."""

from rclrt_tools.convert.autoware import from_autoware
from rclrt_tools.convert.caret_read import from_caret
from rclrt_tools.convert.caret_write import to_caret
from rclrt_tools.convert.contracts import from_contract
from rclrt_tools.convert.imported import Imported, check, to_yaml

__all__ = [
    "Imported",
    "check",
    "from_autoware",
    "from_caret",
    "from_contract",
    "to_caret",
    "to_yaml",
]
