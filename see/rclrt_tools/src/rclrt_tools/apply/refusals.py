# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Why the kernel refuses a part, and the remedy."""

from __future__ import annotations

import errno
from typing import Any

from rclrt_tools.apply.parts import URGENT

PAGE = "docs/how-to/real-time-permissions.md"
PERMISSION = f"CAP_SYS_NICE is missing: start it with sudo, or as {PAGE} says"
BOUND = "a thread that the kernel has bound to its CPU, or none of these CPUs is in its cpuset"

CLAMP = {errno.EOPNOTSUPP: "this kernel has no uclamp (CONFIG_UCLAMP_TASK)"}
INTERRUPT = {
    errno.EIO: "its driver or controller chooses the CPU itself",
    errno.EACCES: "only root may: start it with sudo",
    errno.EROFS: "/proc is read-only here, as in a container: start it on the host",
}
INTERRUPT[errno.EPERM] = INTERRUPT[errno.EIO]


def why(part: Any, is_interrupt: bool, number: int, capable: bool) -> str:
    """Return it in words."""
    if is_interrupt:
        return INTERRUPT.get(number, "")
    if part.key == "clamp" and number in CLAMP:
        return CLAMP[number]
    if part.key == "cpus" and number == errno.EINVAL:
        return BOUND
    deadline = part.key == "policy" and part.name == "deadline"
    if number == errno.EBUSY and deadline:
        return "the CPUs have not so much left for reservations: less runtime, or a longer period"
    if number == errno.EBUSY:
        return "a thread with a reservation must be allowed on all CPUs"
    if number == errno.EPERM and not capable:
        return PERMISSION
    if number == errno.EPERM and deadline:
        return "a thread with a reservation must be allowed on all CPUs of its root domain"
    if number == errno.EPERM and part.key == "policy" and part.name in URGENT:
        return f"its control group has no real-time time (CONFIG_RT_GROUP_SCHED): {PAGE}"
    return ""
