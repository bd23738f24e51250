# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Plans: what a model leaves open (executors, CPUs, priorities) is chosen, proved and written."""
