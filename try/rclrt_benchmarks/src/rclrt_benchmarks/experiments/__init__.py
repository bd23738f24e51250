# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""One module an experiment: `./rclrt bench` lists them."""
