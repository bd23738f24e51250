# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of a reference system under several executors: schedule, measure, report."""
