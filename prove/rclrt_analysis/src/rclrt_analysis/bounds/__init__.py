# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds on response times and latencies. Each module says what it assumes and where it is from."""
