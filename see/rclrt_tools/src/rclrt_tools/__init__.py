# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Models, measurements and reports of rclrt, and the verbs of its command."""

__version__ = "0.1.0"
