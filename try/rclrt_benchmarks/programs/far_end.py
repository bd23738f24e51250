# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The ROS end of agent.py: numbers go down to the client, and what it sends back is noted.

Prints "begin", "end", and then one line of JSON: when each number was sent and when it came back,
in ns of the monotonic clock.
"""

import argparse
import json
import sys
import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from std_msgs.msg import Int32, String

PATIENCE_S = 60.0
ADDED = 1000
WARM_UP = 1_000_000
"""By the client, which takes negative numbers for something else."""


class FarEnd:
    """A node with the client's topics."""

    def __init__(self) -> None:
        rclpy.init()
        self.node = rclpy.create_node("far_end")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.back: dict[int, int] = {}
        qos = QoSProfile(depth=200)
        self.node.create_subscription(Int32, "up", self.note, qos)
        self.down = self.node.create_publisher(Int32, "down", qos)
        self.bulk = self.node.create_publisher(String, "long_down", qos)

    def note(self, message: Int32) -> None:
        """Note when a number came back."""
        self.back.setdefault(message.data - ADDED, time.monotonic_ns())

    def spin_until(self, end_s: float) -> None:
        """Handle what comes until then."""
        while (left := end_s - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)

    def matched(self) -> bool:
        """Wait until numbers come back."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and not self.back:
            if self.down.get_subscription_count() and self.bulk.get_subscription_count():
                self.down.publish(Int32(data=WARM_UP))
            self.spin_until(time.monotonic() + 0.5)
        return bool(self.back)

    def measure(self, arguments: argparse.Namespace) -> dict[int, int]:
        """Send; return when each number was sent."""
        sent: dict[int, int] = {}
        text = String(data="x" * arguments.bulk_bytes)
        next_number = next_bulk = time.monotonic()
        while len(sent) < arguments.count:
            if arguments.bulk_bytes and time.monotonic() >= next_bulk:
                self.bulk.publish(text)
                next_bulk += arguments.bulk_ms / 1e3
            if time.monotonic() >= next_number:
                number = len(sent)
                sent[number] = time.monotonic_ns()
                self.down.publish(Int32(data=number))
                next_number += arguments.period_ms / 1e3
            due = min(next_number, next_bulk) if arguments.bulk_bytes else next_number
            self.spin_until(due)
        end = time.monotonic() + PATIENCE_S
        while not sent.keys() <= self.back.keys() and time.monotonic() < end:
            self.spin_until(time.monotonic() + 0.01)
        return sent


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--period-ms", type=float, required=True)
    parser.add_argument("--bulk-bytes", type=int, default=0)
    parser.add_argument("--bulk-ms", type=float, default=0)
    arguments = parser.parse_args()
    end = FarEnd()
    if not end.matched():
        print("nothing comes back from the client", file=sys.stderr)
        return 1
    end.spin_until(time.monotonic() + 1)
    print("begin", flush=True)
    sent = end.measure(arguments)
    print("end", flush=True)
    print(json.dumps({"sent": sent, "back": end.back}), flush=True)
    end.node.destroy_node()
    rclpy.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
