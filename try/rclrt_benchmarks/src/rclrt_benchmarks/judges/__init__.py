# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the result of each experiment shows."""
