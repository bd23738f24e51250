# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Models of systems, bounds on their responses, plans and simulation.

bounds
    On response times and latencies. Each module says what it assumes and where it is from.
plan
    What a model leaves open (executors, CPUs, priorities) is chosen, proved and written.
"""
