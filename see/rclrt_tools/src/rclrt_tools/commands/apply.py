# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Give running threads and interrupts what a file says.

    sudo ./rclrt apply --explain robot.params.yaml

For threads that are no executor's, of programs as they are installed: drivers, middleware, Python
nodes, the kernel's. The sections stand beside `executor` in a parameters file:

    non_ros_threads:     # [PROGRAM/]THREAD, as patterns of a shell
      velo*/recv*: {scheduling_policy: fifo, priority: 40, cpu_affinity: [1]}
      rosbag2*/*: {scheduling_policy: other, nice: 10}
    kernel_threads:
      irq/*-eth0: {scheduling_policy: fifo, priority: 60}
    irqs:                # a number, or a pattern as of /proc/interrupts
      eth0*: {cpu_affinity: [0]}

non_ros_threads under the name of a node are for the process that was started with that name
(__node:=NAME). Fields: scheduling_policy (other, batch, idle, fifo, rr, deadline) with nice,
priority, or runtime, deadline and period; cpu_affinity; uclamp_min and uclamp_max (0 to 1024).
Of several entries the last one wins, policy, clamp and CPUs each by itself. A file of
CallbackIsolatedExecutor is read, too.

Threads that come later get theirs when the kernel tells of them, or within a second. At the end
(Ctrl-C) all get back what they had; after a kill, when it starts again. Without sudo it can do what
the limits of the processes allow (docs/how-to/real-time-permissions.md). With sudo one small
process keeps CAP_SYS_NICE (and root, if the file has irqs), and all else runs as you.

A real-time policy is refused to threads that do not sleep, if they would together take every CPU,
and to all if nothing stops such threads (kernel.sched_rt_runtime_us is -1, no RLIMIT_RTTIME).
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a parameters file")
    parser.add_argument(
        "--explain", action="store_true", help="print what each thread gets, by which line, and why"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print that once, change nothing, and end"
    )
    parser.add_argument(
        "--allow-starving", action="store_true", help="also what may leave no CPU to others"
    )


def run(arguments: argparse.Namespace) -> int:
    """Apply the file."""
    from rclrt_tools.apply.run import run as apply

    return apply(arguments.file, arguments.explain, arguments.dry_run, arguments.allow_starving)
