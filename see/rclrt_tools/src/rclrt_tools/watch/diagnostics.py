# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a watch has seen, as diagnostic_msgs/DiagnosticArray on `/diagnostics`, once a second.

A chain is a status of its own, at the highest level it has had since the last message, so that what
lasts for less than a second is not lost. One more status says whether the proof still holds.
"""

import time
from dataclasses import dataclass, field
from typing import Any

from rclrt_tools.watch.watch import Watch, verdict

OK, WARN, ERROR, STALE = range(4)
LEVELS = {"OK": OK, "NOT LAST": OK, "WARN": WARN, "ERROR": ERROR, "UNSEEN": STALE}
PERIOD_S = 1.0
MOST_ASSUMPTIONS = 20
"""A message is sent once a second: it does not grow without end."""


@dataclass
class Status:
    """One entry of the array; times in ms."""

    name: str
    level: int
    message: str
    values: list[tuple[str, str]] = field(default_factory=list)


def statuses(watch: Watch) -> list[Status]:
    """Return the entries. What they say of the time since the last call begins anew."""
    content = watch.to_json()
    found = []
    for one, chain in zip(content["chains"], watch.chains, strict=True):
        row = chain.seen.take_peak()
        level = LEVELS[chain.state_after(row)]
        if chain.is_silent:
            level = max(level, WARN)
            message = f"nothing new for more than {(chain.chain.silent_after or 0) / 1e6:g} ms"
        elif level == STALE:
            message = "not seen yet"
        elif chain.state == "NOT LAST":
            message = "no instance: each time another input of a join came last"
        elif row:
            message = f"missed its deadline {row} times in a row"
        else:
            message = "in time" if one["deadline_ms"] is not None else "no deadline"
        keys = (
            "deadline_ms", "bound_ms", "last_ms", "p99_ms", "worst_ms", "count", "misses",
            "most_in_a_row", "silences",
        )  # fmt: skip
        values = [(key, "-" if one[key] is None else f"{one[key]:g}") for key in keys]
        found.append(Status(f"rclrt: chain {one['name']}", level, message, values))
    broken = content["broken_assumptions"]
    holds = content["proved"]
    texts = [(b["callback"], b["text"]) for b in broken[:MOST_ASSUMPTIONS]]
    found.append(
        Status(f"rclrt: proof of {content['system']}", OK if holds else WARN, verdict(watch), texts)
    )
    return found


class Publisher:
    """A ROS node that publishes the statuses of a watch.

    Raises ModuleNotFoundError: There is no rclpy, or no diagnostic_msgs.
    """

    def __init__(self, watch: Watch) -> None:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray

        self._watch = watch
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node: Any = rclpy.create_node("rclrt_watch", context=self._context)
        self._publisher = self._node.create_publisher(DiagnosticArray, "/diagnostics", 1)
        self._next = 0.0

    def step(self) -> None:
        """Publish if it is time."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PERIOD_S
        from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

        message = DiagnosticArray()
        message.header.stamp = self._node.get_clock().now().to_msg()
        for status in statuses(self._watch):
            entry = DiagnosticStatus(
                level=bytes([status.level]),
                name=status.name,
                message=status.message,
                hardware_id=self._watch.system.name,
            )
            entry.values = [KeyValue(key=key, value=value) for key, value in status.values]
            message.status.append(entry)
        self._publisher.publish(message)

    def close(self) -> None:
        """End the node."""
        import rclpy

        self._node.destroy_node()
        rclpy.shutdown(context=self._context)
