# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Plain rclpy, as a stranger has it.

plain_relay.py relay     what comes on /ping goes out on /pong
plain_relay.py source    publishes on /pong, and prints each message's number, and the time before
                         and after its publication, nanoseconds of CLOCK_MONOTONIC
"""

import sys
import time

import rclpy
from rcl_interfaces.msg import Log

rclpy.init()
node = rclpy.create_node(f"plain_{sys.argv[1]}")
publisher = node.create_publisher(Log, "pong", 10)
count = 0


def publish() -> None:
    """Publish the next message."""
    global count
    count += 1
    before = time.monotonic_ns()
    publisher.publish(Log(line=count))
    print(count, before, time.monotonic_ns(), flush=True)


if sys.argv[1] == "relay":
    node.create_subscription(Log, "ping", publisher.publish, 10)
else:
    node.create_timer(0.02, publish)
rclpy.spin(node)
