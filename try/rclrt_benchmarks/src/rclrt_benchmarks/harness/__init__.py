# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""All experiments of the four papers in one run: what they print, what we measured, what holds."""
