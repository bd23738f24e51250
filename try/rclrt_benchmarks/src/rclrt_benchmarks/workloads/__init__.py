# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Task sets made at random after published characteristics."""
