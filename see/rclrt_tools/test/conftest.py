# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Helpers of the library's tests (models, random systems) are there for these tests, too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "prove/rclrt_analysis/test"))
