# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Deadlines travel with messages from process to process; peers that know of none still talk."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rclpy
from rcl_interfaces.msg import Log
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

PEER = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_rcl" / "deadline_peer"
STUB_RMW = str(PEER.parent / "libstub_rmw.so")
PATIENCE_S = 30.0
WANTED = 10  # messages


class Peer:
    """A process, and what it has said so far: the deadline by message number; None for none."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.said: dict[int, int | None] = {}
        self.process = subprocess.Popen(
            [str(PEER), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ, **environment),
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()[1]
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            number, deadline = line.split()
            self.said[int(number)] = None if deadline == "none" else int(deadline)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=PATIENCE_S)
        self.reader.join()
        assert self.process.stdout is not None and self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()


Start = Callable[..., Peer]


@pytest.fixture
def start() -> Iterator[Start]:
    """Provide a function that starts a peer. None is left behind."""
    peers: list[Peer] = []

    def start_one(*arguments: str, **environment: str) -> Peer:
        peers.append(Peer(*arguments, **environment))
        return peers[-1]

    yield start_one
    for peer in peers:
        peer.stop()


@pytest.fixture
def node() -> Iterator[Node]:
    """Provide an rclpy node in a context of its own."""
    context = rclpy.Context()
    rclpy.init(context=context)
    made = rclpy.create_node("stranger", context=context)
    yield made
    made.destroy_node()
    rclpy.shutdown(context=context)


def wait_for(condition: Callable[[], bool]) -> bool:
    """Wait until `condition` holds; False when that takes too long."""
    until = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()


def spin_until(node: Node, condition: Callable[[], bool]) -> bool:
    """Spin `node` until `condition` holds; False when that takes too long."""
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    until = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < until:
        executor.spin_once(timeout_sec=0.01)
    executor.remove_node(node)
    return condition()


@pytest.mark.parametrize("numbers", [True, False])
def test_two_processes_on_run_the_deadline_of_the_timer(start: Start, numbers: bool) -> None:
    """Release + D, to the nanosecond, for every message, at the first and at the second reader.

    Also where the middleware gives messages no numbers.
    """
    if not numbers and os.environ.get("RCLRT_SANITIZE"):
        pytest.skip("the sanitizer wants to be loaded first, before the stub of an RMW")
    rmw = {} if numbers else {"LD_PRELOAD": STUB_RMW, "RCLRT_STUB_RMW": "rmw_stranger_cpp"}
    sink = start("sink", **rmw)
    relay = start("relay", **rmw)
    source = start("source", "500", **rmw)
    assert wait_for(lambda: len(sink.said) >= WANTED)
    heard = dict(sink.said)
    # The first two are heard of through pipes of their own.
    assert wait_for(lambda: heard.keys() <= relay.said.keys() & source.said.keys())
    for number, deadline in heard.items():
        assert deadline == source.said[number]
        assert deadline == relay.said[number]
    deadlines = [source.said[number] for number in sorted(heard)]
    assert None not in deadlines
    assert len(set(deadlines)) == len(deadlines), "per message, not per chain"


def test_a_deadline_of_its_own_prevails_and_travels_on(start: Start) -> None:
    """A relay with a deadline of its own hands that one on."""
    sink = start("sink")
    relay = start("relay", "700")
    source = start("source", "500")
    assert wait_for(lambda: len(sink.said) >= WANTED)
    heard = dict(sink.said)
    assert wait_for(lambda: heard.keys() <= relay.said.keys() & source.said.keys())
    for number, deadline in heard.items():
        assert deadline == relay.said[number]
        assert deadline != source.said[number]


def test_a_deadline_that_this_machine_knows_counts_more_than_a_stamp(start: Start) -> None:
    """It is the one of the publisher's job, to the nanosecond, whatever the stamp would give."""
    reader = start("stamped", "20000")
    source = start("source", "500")
    assert wait_for(lambda: len(reader.said) >= WANTED)
    heard = dict(reader.said)
    assert wait_for(lambda: heard.keys() <= source.said.keys())
    for number, deadline in heard.items():
        assert deadline == source.said[number]


def test_the_stamp_of_a_publisher_that_knows_nothing_of_deadlines_counts(
    start: Start, node: Node
) -> None:
    """What rclpy publishes has a source time stamp, of which the deadline is 20 s later."""
    reader = start("stamped", "20000")
    sent: dict[int, int] = {}
    publisher = node.create_publisher(Log, "ping", 10)
    ticks = iter(range(1, 10000))

    def publish() -> None:
        number = next(ticks)
        sent[number] = time.monotonic_ns()
        publisher.publish(Log(line=number))

    node.create_timer(0.02, publish)
    assert spin_until(node, lambda: len(reader.said) >= WANTED)
    for number, deadline in dict(reader.said).items():
        assert deadline is not None
        assert 20.0 - 1e-3 <= (deadline - sent[number]) / 1e9 < 25.0


def test_a_publisher_that_knows_nothing_of_deadlines_is_heard(start: Start, node: Node) -> None:
    """What rclpy publishes has no deadline, and what comes of it reaches rclpy."""
    relay = start("relay")
    answers: list[Log] = []
    node.create_subscription(Log, "pong", answers.append, 10)
    publisher = node.create_publisher(Log, "ping", 10)
    ticks = iter(range(1, 10000))
    node.create_timer(0.02, lambda: publisher.publish(Log(line=next(ticks))))
    assert spin_until(node, lambda: len(answers) >= WANTED)
    assert wait_for(lambda: len(relay.said) >= WANTED)
    assert set(relay.said.values()) == {None}


def test_a_reader_that_knows_nothing_of_deadlines_hears(start: Start, node: Node) -> None:
    heard: list[Log] = []
    node.create_subscription(Log, "ping", heard.append, 10)
    start("source", "500")
    assert spin_until(node, lambda: len(heard) >= WANTED)
    numbers = [message.line for message in heard]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
