# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Our nodes talk to rclpy nodes in another process, and end as a program should."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rclpy
from rcl_interfaces.msg import Log
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.subscription import RCLError

PEER = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_rcl" / "peer"
PATIENCE_S = 30.0
EXECUTORS = ["preemptive", "isolated", "events"]
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Provide a function that starts the peer and waits until it spins. None is left behind."""
    peers: list[subprocess.Popen[str]] = []

    def start_one(*arguments: str) -> subprocess.Popen[str]:
        peer = subprocess.Popen(
            [str(PEER), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        peers.append(peer)
        assert peer.stdout is not None
        assert peer.stdout.readline() == "ready\n", peer.communicate()[1]
        return peer

    yield start_one
    for peer in peers:
        if peer.poll() is None:
            peer.kill()
            peer.communicate()


def stop(peer: subprocess.Popen[str], number: int) -> str:
    """Send a signal; return what the peer says in the end."""
    peer.send_signal(number)
    out, err = peer.communicate(timeout=PATIENCE_S)
    assert peer.returncode == 0, err
    return out


@pytest.fixture
def node() -> Iterator[Node]:
    """Provide an rclpy node in a context of its own."""
    context = rclpy.Context()
    rclpy.init(context=context)
    made = rclpy.create_node("asker", context=context)
    yield made
    made.destroy_node()
    rclpy.shutdown(context=context)


def spin_until(node: Node, condition: Callable[[], bool]) -> bool:
    """Spin `node` until `condition` holds; False when that takes too long."""
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    until = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < until:
        executor.spin_once(timeout_sec=0.01)
    executor.remove_node(node)
    return condition()


def publish_once_more(publisher: Publisher) -> None:
    """Publish while nobody may be listening yet, as often as it is called."""
    # Refused when the middleware is busy with discovery for longer than it lets a writer wait.
    with contextlib.suppress(RCLError):
        publisher.publish(Log(line=0))


def publish_surely(publisher: Publisher, message: Log) -> None:
    """Publish, again if the middleware was too busy to take it."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            publisher.publish(message)
        except RCLError as error:
            assert time.monotonic() < until, f"the middleware refuses the message: {error}"
            time.sleep(0.01)
        else:
            return


def ask(node: Node, question: str, answer: str) -> list[Log]:
    """Publish ten messages on topic `question` and return what comes on topic `answer`."""
    answers: list[Log] = []
    qos = QoSProfile(depth=10)
    subscription = node.create_subscription(Log, answer, answers.append, qos)
    publisher = node.create_publisher(Log, question, qos)
    assert spin_until(
        node,
        lambda: publisher.get_subscription_count() == 1 and node.count_publishers(answer) == 1,
    )
    # The answering side may match a little later: ask until the first answer comes.
    assert spin_until(node, lambda: publish_once_more(publisher) or bool(answers))
    before = len(answers)
    for number in range(1, 11):
        publish_surely(publisher, Log(line=number, msg="x" * 1000 * number))
    assert spin_until(node, lambda: sum(a.line > 0 for a in answers[before:]) == 10)
    node.destroy_publisher(publisher)
    node.destroy_subscription(subscription)
    return [a for a in answers if a.line > 0]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_messages_pass_both_ways(start: Start, executor: str, node: Node) -> None:
    """Every message comes back complete and in order, and SIGINT ends the peer cleanly."""
    peer = start(executor)
    answers = ask(node, "question", "answer")
    assert [a.line for a in answers] == list(range(1, 11))
    assert [len(a.msg) for a in answers] == [1000 * n for n in range(1, 11)]
    assert {a.name for a in answers} == {"/echo"}
    assert spin_until(node, lambda: ("echo", "/") in node.get_node_names_and_namespaces())
    assert stop(peer, signal.SIGINT) == "signal: Interrupt\n"


def test_remapping_and_namespace_from_the_command_line(start: Start, node: Node) -> None:
    """What follows --ros-args is obeyed."""
    peer = start(
        "preemptive",
        *("--ros-args", "-r", "question:=/other/ask", "-r", "__ns:=/robot", "-r", "__node:=bob"),
    )
    answers = ask(node, "/other/ask", "/robot/answer")
    assert {a.name for a in answers} == {"/robot/bob"}
    stop(peer, signal.SIGINT)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_sigterm_ends_a_program_that_waits(start: Start, executor: str) -> None:
    """A program with nothing to do stops at once too."""
    assert stop(start(executor), signal.SIGTERM) == "signal: Terminated\n"


def test_a_second_signal_ends_a_program_that_does_not_stop(start: Start, node: Node) -> None:
    """The first signal restores the default action of the second."""
    peer = start("preemptive", "--never-return")
    publisher = node.create_publisher(Log, "question", 10)
    answers: list[Log] = []
    node.create_subscription(Log, "answer", answers.append, 10)
    assert spin_until(node, lambda: publish_once_more(publisher) or bool(answers))
    until = time.monotonic() + PATIENCE_S
    while peer.poll() is None and time.monotonic() < until:
        peer.send_signal(signal.SIGINT)
        time.sleep(0.2)
    assert peer.poll() == -signal.SIGINT


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ros-args", "--no-such"], "unknown ROS arguments '--no-such'"),
        (["--ros-args", "-r", "a:b"], "initialising ROS 2: "),
        (["--ros-args", "--params-file", "/does/not/exist"], "initialising ROS 2: "),
    ],
)
def test_wrong_ros_arguments_are_a_clear_error(arguments: list[str], said: str) -> None:
    """init() throws, and the text names the argument."""
    done = subprocess.run(
        [str(PEER), "events", *arguments], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert arguments[-1] in done.stderr
