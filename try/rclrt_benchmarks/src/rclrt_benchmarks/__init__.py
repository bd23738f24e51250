# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What measures the executors of rclrt, and what judges it.

contract
    The whole loop tried on real nodes: observed, planned, enforced, watched, sabotaged.
experiments
    One module an experiment: `./rclrt bench` lists them.
harness
    All experiments of the four papers in one run: what they print, what we measured, what holds.
"""
