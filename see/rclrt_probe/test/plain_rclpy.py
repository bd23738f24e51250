# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Plain rclpy, as a stranger has it: a timer, a topic, a service and its client.

plain_rclpy.py single|multi JOBS stops after so many jobs of the timer, and prints how many jobs
each callback has run, for the tests to compare.
"""

import sys

import rclpy
from builtin_interfaces.msg import Time
from rcl_interfaces.srv import ListParameters
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor

kind, jobs = sys.argv[1], int(sys.argv[2])
counts = {"timer": 0, "subscription": 0, "service": 0}
published = 0
rclpy.init()
node = rclpy.create_node("snake")
publisher = node.create_publisher(Time, "slither", 1000)
client = node.create_client(ListParameters, "ask")


def on_timer() -> None:
    global published
    counts["timer"] += 1
    if published < jobs and publisher.get_subscription_count() > 0:
        published += 1
        publisher.publish(Time())
    if counts["timer"] % 5 == 0 and client.service_is_ready():
        client.call_async(ListParameters.Request())


def on_message(message: Time) -> None:
    sum(range(20000))
    counts["subscription"] += 1


def on_request(
    request: ListParameters.Request, response: ListParameters.Response
) -> ListParameters.Response:
    counts["service"] += 1
    return response


node.create_timer(0.01, on_timer)
node.create_subscription(Time, "slither", on_message, 1000)
node.create_service(ListParameters, "ask", on_request)
executor = SingleThreadedExecutor() if kind == "single" else MultiThreadedExecutor(3)
executor.add_node(node)
print("it spins", file=sys.stderr, flush=True)
while counts["subscription"] < jobs:
    executor.spin_once()
executor.shutdown()
node.destroy_node()
rclpy.shutdown()
print(" ".join(f"{name} {count}" for name, count in counts.items()))
