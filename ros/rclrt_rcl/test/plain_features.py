# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Plain rclpy: events of QoS, a content filter, and bytes; prints what has come of them."""

import time
from typing import Any

import rclpy
from rcl_interfaces.msg import Log
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from rclpy.subscription_content_filter_options import ContentFilterOptions

rclpy.init()
node = rclpy.create_node("plain_features")
events: set[str] = set()
filtered: list[int] = []
raw: list[int] = []


def spin_until(condition: Any) -> None:
    end = time.monotonic() + 10
    while not condition() and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.01)


def note(what: str) -> Any:
    return lambda _: events.add(what)


best_effort = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
reliable = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
offers = PublisherEventCallbacks(incompatible_qos=note("offered incompatible QoS"))
wants = SubscriptionEventCallbacks(incompatible_qos=note("requested incompatible QoS"))
node.create_publisher(Log, "unmet", best_effort, event_callbacks=offers)
node.create_subscription(Log, "unmet", filtered.append, reliable, event_callbacks=wants)

in_time = QoSProfile(depth=10, deadline=Duration(seconds=0.05))
missed = SubscriptionEventCallbacks(deadline=note("deadline missed"), matched=note("matched"))
late = node.create_publisher(Log, "late", in_time)
node.create_subscription(Log, "late", lambda _: None, in_time, event_callbacks=missed)
late.publish(Log())
spin_until(lambda: len(events) == 4)
for event in (
    "offered incompatible QoS",
    "requested incompatible QoS",
    "deadline missed",
    "matched",
):
    print(event if event in events else f"no event: {event}")

even = ContentFilterOptions(
    "line = %0 OR line = %1 OR line = %2 OR line = %3", ["2", "4", "6", "8"]
)
publisher = node.create_publisher(Log, "filtered", 20)
node.create_subscription(
    Log, "filtered", lambda m: filtered.append(m.line), 20, content_filter_options=even
)
node.create_subscription(Log, "bytes", lambda m: raw.append(len(m)), 10, raw=True)
as_bytes = node.create_publisher(Log, "bytes", 10)
spin_until(
    lambda: publisher.get_subscription_count() == 1 and as_bytes.get_subscription_count() == 1
)
for line in range(1, 10):
    publisher.publish(Log(line=line))
    as_bytes.publish(serialize_message(Log(line=line)))
spin_until(lambda: len(filtered) == 4 and len(raw) == 9)
print("filtered", *filtered)
print("bytes", len(raw))
