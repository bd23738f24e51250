# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A running system held against its model: chains, deadlines, bounds, and what they assume."""
