# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The machine as the experiments find it."""

from __future__ import annotations

import os
import platform
import shutil
import time
from pathlib import Path
from typing import Any

from rclrt_tools.reference import environment

from rclrt_benchmarks.harness.row import Machine

WORKER_PRIORITY = 51


def _build() -> Path:
    return Path(os.environ.get("RCLRT_BUILD_DIR", "build"))


def _why_no_vm() -> str:
    """Return why no virtual machine can be had, or nothing. It needs no /dev/kvm."""
    source = Path(os.environ.get("RCLRT_SOURCE_DIR", "."))
    kernel = source / ".rclrt" / "scx" / "vmlinuz-cloud-amd64"
    if not shutil.which("qemu-system-x86_64"):
        return "no qemu-system-x86_64: apt-get install qemu-system-x86"
    if not Path("/bin/busybox").exists():
        return "no static busybox: apt-get install busybox-static"
    if not kernel.exists():
        return "no kernel for it: kernel/rclrt_scx/tools/fetch_kernels.sh .rclrt/scx"
    if not (_build() / "rclrt_scx" / "scx_guest").exists():
        return "its programs are not built: they are part of the tests, see ./rclrt build"
    return ""


def machine() -> Machine:
    """Look at it."""
    return Machine(
        cpus=len(os.sched_getaffinity(0)),
        realtime=environment.may_use_realtime(WORKER_PRIORITY),
        rclcpp=(_build() / "rclrt_benchmarks" / "dispatch_rclcpp").exists(),
        cyclictest=shutil.which("cyclictest") is not None,
        why_no_vm=_why_no_vm(),
    )


def describe() -> dict[str, Any]:
    """Return what the report says of it."""
    source = Path(os.environ.get("RCLRT_SOURCE_DIR", "."))
    known = environment.describe(
        source, source / "try/rclrt_scenarios/autoware_reference_system.yaml"
    )
    here = machine()
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
        "machine": known["machine"],
        "CPU": known["cpu"],
        "CPUs": f"{here.cpus} of {known['cpus']}",
        "kernel": known["kernel"],
        "PREEMPT_RT": "yes" if known["preempt_rt"] else "no",
        "governor": known["governor"] or "unknown",
        "sched_rt_runtime_us": known["sched_rt_runtime_us"],
        "SCHED_FIFO": "permitted" if here.realtime else "not permitted",
        "rclcpp": "found" if here.rclcpp else "not found",
        "cyclictest": "found" if here.cyclictest else "not found",
        "load": f"{os.getloadavg()[0]:.2f}",
        "rclrt": known["revision"] or "unknown",
        "Python": platform.python_version(),
    }
