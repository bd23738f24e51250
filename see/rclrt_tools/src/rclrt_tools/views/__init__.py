# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Traces as tables, as text, and in the files of other tools: `./rclrt trace`."""
