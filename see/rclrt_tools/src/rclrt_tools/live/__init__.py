# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Running executors, seen from outside through their live traces (rclrt_trace/SPEC.md)."""
