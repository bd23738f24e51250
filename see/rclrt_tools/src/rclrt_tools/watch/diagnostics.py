# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a watch has seen, as diagnostic_msgs/DiagnosticArray on `/diagnostics`, once a second.

A chain is a status of its own, at the highest level it has had since the last message, so that what
lasts for less than a second is not lost. One more status says whether the proof still holds.
"""

import time
from typing import Any

from rclrt_tools.watch.text import verdict
from rclrt_tools.watch.watch import Watch

OK, WARN = range(2)
PERIOD_S = 1.0
MOST_ASSUMPTIONS = 20
"""A message is sent once a second: it does not grow without end."""


def statuses(watch: Watch) -> list[dict[str, Any]]:
    """Return the entries. What they say of the time since the last call begins anew."""
    content = watch.to_json()
    broken = content["broken_assumptions"][:MOST_ASSUMPTIONS]
    proof = {
        "name": f"rclrt: proof of {content['system']}",
        "level": OK if content["proved"] else WARN,
        "message": verdict(watch, content),
        "values": [[one["callback"], one["text"]] for one in broken],
    }
    return [*watch.diagnostics(), proof]


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
                level=bytes([status["level"]]),
                name=status["name"],
                message=status["message"],
                hardware_id=self._watch.system.name,
            )
            entry.values = [KeyValue(key=key, value=value) for key, value in status["values"]]
            message.status.append(entry)
        self._publisher.publish(message)

    def close(self) -> None:
        """End the node."""
        import rclpy

        self._node.destroy_node()
        rclpy.shutdown(context=self._context)
