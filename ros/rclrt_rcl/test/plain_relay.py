# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Plain rclpy, as a stranger has it.

plain_relay.py relay     what comes on /ping goes out on /pong
plain_relay.py raw       the same, as bytes that are never made messages
plain_relay.py threads   the same as relay, by the threads of a MultiThreadedExecutor
plain_relay.py source    publishes on /pong, and prints each message's number, and the time before
                         and after its publication, nanoseconds of CLOCK_MONOTONIC
plain_relay.py server    answers /echo
plain_relay.py asker     asks /echo for what comes on /ping, and publishes on /pong when the answer
                         has come
plain_relay.py timer     asks /echo every 20 ms, and prints what "source" prints
plain_relay.py sender    has what comes on /ping as the goal of an action
plain_relay.py actor     accepts goals, and publishes each on /pong then
"""

import sys
import time
from typing import Any

import rclpy
import rclpy.executors
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import GetParameters

rclpy.init()
role = sys.argv[1]
node = rclpy.create_node(f"plain_{role}")
publisher = node.create_publisher(Log, "pong", 10)
count = 0


def publish() -> None:
    global count
    count += 1
    before = time.monotonic_ns()
    publisher.publish(Log(line=count))
    print(count, before, time.monotonic_ns(), flush=True)


def ask() -> None:
    global count
    if client.service_is_ready():
        count += 1
        before = time.monotonic_ns()
        client.call_async(GetParameters.Request(names=[str(count)]))
        print(count, before, time.monotonic_ns(), flush=True)


def ask_for(message: Log) -> None:
    """Ask for what has come, and publish it when there is an answer."""
    if client.service_is_ready():
        request = GetParameters.Request(names=[str(message.line)])
        client.call_async(request).add_done_callback(lambda _: publisher.publish(message))


def accept(goal: Any) -> Any:
    publisher.publish(Log(line=goal.order))
    return rclpy.action.GoalResponse.REJECT


if role in ("relay", "raw", "threads"):
    node.create_subscription(Log, "ping", publisher.publish, 10, raw=role == "raw")
elif role == "server":
    node.create_service(GetParameters, "echo", lambda _, response: response)
elif role in ("asker", "timer"):
    client = node.create_client(GetParameters, "echo")
    if role == "asker":
        node.create_subscription(Log, "ping", ask_for, 10)
    else:
        node.create_timer(0.02, ask)
elif role in ("sender", "actor"):
    import rclpy.action
    from test_msgs.action import Fibonacci

    if role == "sender":
        action = rclpy.action.ActionClient(node, Fibonacci, "count")
        node.create_subscription(
            Log, "ping", lambda m: action.send_goal_async(Fibonacci.Goal(order=m.line)), 10
        )
    else:
        rclpy.action.ActionServer(
            node, Fibonacci, "count", lambda goal: Fibonacci.Result(), goal_callback=accept
        )
else:
    node.create_timer(0.02, publish)
several = rclpy.executors.MultiThreadedExecutor(4) if role == "threads" else None
rclpy.spin(node, several)
