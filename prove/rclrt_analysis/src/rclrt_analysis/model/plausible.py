# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Whether the times of a model can be meant: a file in another unit is well-formed, too."""

from __future__ import annotations

from rclrt_analysis.model.system import NS_PER_MS, System, in_ms

SHORT = NS_PER_MS // 10
"""No callback of ROS is released more often than every 0.1 ms."""

ALL_SHORT = NS_PER_MS
"""No robot has nothing slower than 1 kHz."""

LONG = 60_000 * NS_PER_MS
"""No robot has nothing faster than once a minute."""


def implausible(system: System) -> str | None:
    """Return what is strange about the periods of a system, and the remedy; None if nothing is."""
    periods = [callback.period for callback in system.callbacks if callback.period is not None]
    if not periods:
        return None
    least, most = min(periods), max(periods)
    if least < SHORT or most < ALL_SHORT:
        wrong = "seconds"
    elif least > LONG:
        wrong = "microseconds"
    else:
        return None
    text = f"period_ms is from {in_ms(least)} to {in_ms(most)}"
    return f"{text}: are these {wrong}? All times of a model are milliseconds"
