# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What measures the executors of rclrt, and what judges it."""
