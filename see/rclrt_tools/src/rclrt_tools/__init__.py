# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Models, measurements and reports of rclrt, and the verbs of its command.

Folders that say nothing of themselves:

apply
    Attributes for threads and interrupts that are no executor's, while `./rclrt apply` runs.
commands
    One module per verb of the command line; see `rclrt_tools.cli`.
live
    Running executors, seen from outside through their live traces (rclrt_trace/SPEC.md).
pages
    Results as self-contained pages: nothing beside the file, nothing from a network.
views
    Traces as tables, as text, and in the files of other tools: `./rclrt trace`.
watch
    A running system held against its model: chains, deadlines, bounds, and what they assume.
"""

__version__ = "0.1.0"
