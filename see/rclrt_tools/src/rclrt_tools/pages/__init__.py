# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Results as self-contained pages: nothing beside the file, nothing from a network."""
