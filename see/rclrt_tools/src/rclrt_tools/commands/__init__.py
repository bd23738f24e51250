# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""One module per verb of the command line; see `rclrt_tools.cli`."""
