# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The whole loop tried on real nodes: observed, planned, enforced, watched, sabotaged."""
