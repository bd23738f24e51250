# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Attributes for threads and interrupts that are no executor's, while `./rclrt apply` runs."""
