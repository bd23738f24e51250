# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Our services, clients, logs and clocks work with rclpy in another process."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import rclpy
from builtin_interfaces.msg import Time
from rcl_interfaces.msg import Log, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy, qos_profile_rosout_default
from rosgraph_msgs.msg import Clock

PEER = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_rcl" / "service_peer"
PATIENCE_S = 30.0
ATTEMPTS = 3


@contextmanager
def running(executor: str, *arguments: str) -> Iterator[None]:
    """Run the peer; it must end cleanly."""
    peer = subprocess.Popen(
        [str(PEER), executor, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert peer.stdout is not None
        assert peer.stdout.readline() == "ready\n"
        yield
        peer.send_signal(signal.SIGINT)
        _, err = peer.communicate(timeout=PATIENCE_S)
        assert peer.returncode == 0, err
    finally:
        if peer.poll() is None:
            peer.kill()
            print(peer.communicate()[1])


@pytest.fixture(params=["preemptive", "isolated", "events"])
def executor(request: pytest.FixtureRequest) -> str:
    """Name the executor of the peer."""
    return str(request.param)


@pytest.fixture
def node() -> Iterator[Node]:
    """Provide an rclpy node in a context of its own."""
    context = rclpy.Context()
    rclpy.init(context=context)
    made = rclpy.create_node("asker", context=context)
    yield made
    made.destroy_node()
    rclpy.shutdown(context=context)


def spin_until(node: Node, condition: Callable[[], object], patience_s: float = PATIENCE_S) -> bool:
    """Spin `node` until `condition` holds; False when that takes too long."""
    spinner = SingleThreadedExecutor(context=node.context)
    spinner.add_node(node)
    until = time.monotonic() + patience_s
    while not condition() and time.monotonic() < until:
        spinner.spin_once(timeout_sec=0.01)
    spinner.remove_node(node)
    return bool(condition())


def spin_until_quiet(node: Node, heard: list[int]) -> None:
    """Spin until nothing is heard for half a second."""
    heard.append(0)
    while heard:
        heard.clear()
        spin_until(node, lambda: False, 0.5)


def answer_to(node: Node, ask: Callable[[], Any]) -> Any:
    """Ask, and again for want of an answer: the server may not have found the client yet.

    The middleware gives up such an answer after 100 ms, which the server says in its log.
    """
    for _ in range(ATTEMPTS):
        future = ask()
        if spin_until(node, future.done, PATIENCE_S / ATTEMPTS):
            return future.result()
        print("no answer: asking again")
    pytest.fail("no answer")


def call(node: Node, kind: Any, name: str, request: Any) -> Any:
    """Call a service of the peer."""
    client = node.create_client(kind, name)
    assert client.wait_for_service(PATIENCE_S)
    response = answer_to(node, lambda: client.call_async(request))
    node.destroy_client(client)
    return response


def hear_log(node: Node, wanted: str, provoke: Callable[[], object] = lambda: None) -> bool:
    """Wait for a line on /rosout."""
    lines: list[Log] = []
    subscription = node.create_subscription(
        Log, "/rosout", lines.append, qos_profile_rosout_default
    )

    def heard() -> bool:
        provoke()
        return any(line.msg == wanted and line.name == "server" for line in lines)

    found = spin_until(node, heard)
    node.destroy_subscription(subscription)
    return found


def test_our_clients_write_and_read_the_parameters_of_an_rclpy_node(
    executor: str, node: Node
) -> None:
    node.declare_parameter("speed", 1.5)
    there = ["-r", "remote_set:=/asker/set_parameters", "-r", "remote_echo:=/asker/get_parameters"]
    with running(executor, "--ros-args", *there):
        wanted = [Parameter("speed", value=2.5).to_parameter_msg()]
        response = call(node, SetParameters, "relay_set", SetParameters.Request(parameters=wanted))
        assert [result.successful for result in response.results] == [True]
        assert node.get_parameter("speed").value == 2.5
        response = call(node, GetParameters, "relay", GetParameters.Request(names=["speed"]))
        assert [value.double_value for value in response.values] == [2.5]


def test_an_rclpy_client_calls_our_service(executor: str, node: Node) -> None:
    with running(executor):
        for names in (["a"], ["b", "c"], ["x" * 10000]):
            response = call(node, GetParameters, "echo", GetParameters.Request(names=names))
            assert [value.string_value for value in response.values] == names


def test_our_client_calls_an_rclpy_service(executor: str, node: Node) -> None:
    def answer(
        request: GetParameters.Request, response: GetParameters.Response
    ) -> GetParameters.Response:
        response.values = [
            ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=name.upper())
            for name in request.names
        ]
        return response

    node.create_service(GetParameters, "remote_echo", answer)
    with running(executor):
        assert spin_until(node, lambda: node.count_clients("remote_echo") == 1)
        for names in (["a"], ["b", "c"]):
            response = call(node, GetParameters, "relay", GetParameters.Request(names=names))
            assert [v.string_value for v in response.values] == [n.upper() for n in names]


def test_an_rclpy_clock_drives_our_timers(executor: str, node: Node) -> None:
    ticks: list[int] = []
    node.create_subscription(Time, "ticks", lambda stamp: ticks.append(stamp.sec), 100)
    qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    publisher = node.create_publisher(Clock, "/clock", qos)

    def ticks_at(seconds: int) -> list[int]:
        publisher.publish(Clock(clock=Time(sec=seconds)))
        return ticks

    def tick_at(seconds: int) -> bool:
        return spin_until(node, lambda: seconds in ticks_at(seconds))

    with running(executor, "--ros-args", "-p", "use_sim_time:=true"):
        # Time goes on until the two have found each other.
        early = iter(range(1, 100000))
        assert spin_until(node, lambda: ticks_at(next(early)))
        assert tick_at(200000)
        # A tick due early may have come only after the jump, with the time of after it.
        spin_until_quiet(node, ticks)
        for seconds in range(200001, 200004):
            assert tick_at(seconds)
        assert ticks == [200001, 200002, 200003]


def test_the_command_line_sets_the_log_level(node: Node) -> None:
    with running("events", "--ros-args", "--log-level", "server:=debug"):
        assert hear_log(node, "details")


def test_the_command_line_switches_rosout_off(node: Node) -> None:
    with running("events", "--ros-args", "--disable-rosout-logs"):
        assert spin_until(node, lambda: node.count_publishers("ticks") == 1)
        assert "server" not in {
            info.node_name for info in node.get_publishers_info_by_topic("/rosout")
        }
