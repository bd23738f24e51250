# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A client of rclrt_micro and nodes of rclpy talk through the agent, over real DDS."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import threading
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import GetState
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Int32, String

PROGRAMS = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_agent"
PATIENCE_S = 30.0


class Wire:
    """Two pseudo-terminals that are joined, as a serial line's two ends."""

    def __init__(self) -> None:
        pairs = [pty.openpty(), pty.openpty()]
        self.masters = [master for master, _ in pairs]
        self.slaves = [slave for _, slave in pairs]
        for slave in self.slaves:
            tty.setraw(slave)
        self.ends = [os.ttyname(slave) for slave in self.slaves]
        self.stopped = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        """Carry bytes both ways."""
        while not self.stopped:
            for master in select.select(self.masters, [], [], 0.1)[0]:
                other = self.masters[1 - self.masters.index(master)]
                os.write(other, os.read(master, 4096))

    def close(self) -> None:
        """Stop carrying."""
        self.stopped = True
        self.thread.join()
        for end in self.masters + self.slaves:
            os.close(end)


class Bench:
    """The agent, a client, and a node of rclpy."""

    def __init__(self) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node: Node = rclpy.create_node("far_end", context=self.context)
        self.spinner = SingleThreadedExecutor(context=self.context)
        self.spinner.add_node(self.node)
        self.children: list[subprocess.Popen[str]] = []
        self.wire = Wire()
        self.up: list[int] = []
        self.long_up: list[str] = []
        qos = QoSProfile(depth=200)
        self.node.create_subscription(Int32, "up", lambda m: self.up.append(m.data), qos)
        self.node.create_subscription(String, "long_up", lambda m: self.long_up.append(m.data), qos)
        self.down = self.node.create_publisher(Int32, "down", qos)
        self.long_down = self.node.create_publisher(String, "long_down", qos)

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a program of the package."""
        child = subprocess.Popen(
            [str(PROGRAMS / command[0]), *command[1:]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.children.append(child)
        return child

    def start_agent(self, kind: str, *more: str) -> tuple[subprocess.Popen[str], str]:
        """Start the agent; returns it and where its clients find it."""
        line = ["--dev", self.wire.ends[0]] if kind == "serial" else ["-p", "0"]
        agent = self.start("rclrt_agent", kind, *line, *more)
        assert agent.stdout is not None
        text = ""
        while "listening at" not in text:
            text = agent.stdout.readline()
            assert text, "the agent has ended"
        threading.Thread(target=agent.stdout.read, daemon=True).start()
        where = self.wire.ends[1] if kind == "serial" else re.findall(r"\d+", text)[-1]
        return agent, where

    def start_client(self, kind: str, where: str, key: str = "1") -> subprocess.Popen[str]:
        """Start a client and wait until all of it is there."""
        client = self.start("agent_test_client", kind.removesuffix("4"), where, key)
        assert client.stdout is not None
        line = client.stdout.readline()
        assert line == "ready\n", line
        return client

    def until(self, condition: Callable[[], object], patience_s: float = PATIENCE_S) -> bool:
        """Spin until `condition` holds; False when that takes too long."""
        end = time.monotonic() + patience_s
        while not condition() and time.monotonic() < end:
            self.spinner.spin_once(timeout_sec=0.01)
        return bool(condition())

    def matched(self) -> bool:
        """Wait until the client's four topics are known here, and its publisher knows us.

        The last is seen by an answer only: what was sent before it may be lost.
        """
        up = self.node.resolve_topic_name("up")
        known = self.until(
            lambda: (
                self.down.get_subscription_count() > 0
                and self.long_down.get_subscription_count() > 0
                and self.node.count_publishers(up) > 0
            )
        )
        end = time.monotonic() + PATIENCE_S
        while known and not self.up and time.monotonic() < end:
            self.down.publish(Int32(data=7))
            self.until(lambda: self.up, 3.0)
        known = known and bool(self.up)
        self.until(lambda: False, 0.2)
        self.up.clear()
        return known

    def close(self) -> None:
        """End all programs."""
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)
        self.wire.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    """Provide a bench, and end what it has started."""
    made = Bench()
    yield made
    made.close()


@pytest.mark.parametrize("kind", ["serial", "udp4", "tcp4"])
def test_messages_and_requests_go_both_ways(bench: Bench, kind: str) -> None:
    """Every number, a long text, a request from ROS, and a request to ROS."""

    def answer(_: GetState.Request, response: GetState.Response) -> GetState.Response:
        response.current_state.id = 77
        response.current_state.label = "ros"
        return response

    bench.node.create_service(GetState, "ros_state", answer)
    asker = bench.node.create_client(GetState, "micro_state")
    agent, where = bench.start_agent(kind)
    bench.start_client(kind, where)
    assert bench.matched()
    for number in range(50):
        bench.down.publish(Int32(data=number))
    assert bench.until(lambda: len(bench.up) == 50), bench.up
    assert bench.up == [number + 1000 for number in range(50)]

    text = "0123456789" * 300
    bench.long_down.publish(String(data=text))
    assert bench.until(lambda: bench.long_up)
    assert bench.long_up == [text]

    assert asker.wait_for_service(timeout_sec=PATIENCE_S)
    future = asker.call_async(GetState.Request())
    assert bench.until(future.done)
    assert (future.result().current_state.id, future.result().current_state.label) == (3, "micro")

    bench.up.clear()
    bench.down.publish(Int32(data=-1))
    assert bench.until(lambda: bench.up == [77])

    agent.send_signal(signal.SIGINT)
    assert agent.wait(PATIENCE_S) == 0


def test_a_client_is_a_node_with_types_and_hashes(bench: Bench) -> None:
    """The graph shows the client's node, and the hash of its types is the one everybody has."""
    _, where = bench.start_agent("udp4")
    bench.start_client("udp", where)
    assert bench.matched()
    assert bench.until(lambda: ("micro", "/board") in bench.node.get_node_names_and_namespaces()), (
        bench.node.get_node_names_and_namespaces()
    )
    ours = bench.node.get_subscriptions_info_by_topic("/up")[0]
    theirs = bench.node.get_publishers_info_by_topic("/up")[0]
    assert (theirs.node_name, theirs.node_namespace) == ("micro", "/board")
    assert theirs.topic_type == "std_msgs/msg/Int32"
    assert str(theirs.topic_type_hash) == str(ours.topic_type_hash)


def test_clients_may_have_the_same_names(bench: Bench) -> None:
    """As boards with the same program have: each gets what is sent, and sends."""
    _, where = bench.start_agent("udp4")
    for key in ("1", "2", "3"):
        bench.start_client("udp", where, key)
    assert bench.matched()
    assert bench.until(lambda: bench.down.get_subscription_count() == 3)
    assert bench.until(lambda: bench.node.count_publishers("/up") == 3)
    bench.until(lambda: False, 0.5)
    bench.up.clear()
    bench.down.publish(Int32(data=5))
    assert bench.until(lambda: len(bench.up) == 3), bench.up
    assert bench.up == [1005] * 3


def test_a_client_goes_on_after_the_agent_was_killed(bench: Bench) -> None:
    """The new agent knows nothing of the client, which creates all again."""
    agent, where = bench.start_agent("udp4")
    bench.start_client("udp", where)
    assert bench.matched()
    agent.kill()
    agent.wait()
    again = bench.start("rclrt_agent", "udp4", "-p", where)
    assert again.poll() is None
    for number in range(1, 3000):
        bench.down.publish(Int32(data=number))
        if bench.until(lambda: bench.up, 0.05):
            break
    assert bench.up


def test_a_killed_client_comes_back_to_its_entities(bench: Bench) -> None:
    """The same key and session: nothing is left of the first run, and nothing twice."""
    _, where = bench.start_agent("udp4")
    client = bench.start_client("udp", where)
    assert bench.matched()
    client.kill()
    client.wait()
    bench.start_client("udp", where)
    assert bench.until(lambda: bench.node.count_publishers("/up") == 1)
    bench.down.publish(Int32(data=5))
    assert bench.until(lambda: bench.up == [1005])


def test_diagnostics_count_what_a_client_did(bench: Bench) -> None:
    """The client by its key, and what it has written and got."""
    name = "rclrt_agent: client 11223301"
    seen: dict[str, dict[str, str]] = {}
    counts: list[tuple[str, str]] = []  # written and delivered, each second

    def note(message: DiagnosticArray) -> None:
        for status in message.status:
            seen[status.name] = {pair.key: pair.value for pair in status.values}
        if name in seen:
            counts.append((seen[name]["written"], seen[name]["delivered"]))

    bench.node.create_subscription(DiagnosticArray, "/diagnostics", note, 10)
    _, where = bench.start_agent("udp4")
    bench.start_client("udp", where)
    assert bench.matched()
    counts.clear()
    assert bench.until(lambda: len(counts) > 2 and counts[-1] == counts[-2]), counts
    written, delivered = map(int, counts[-1])
    assert written == delivered > 0
    bench.down.publish(Int32(data=1))
    assert bench.until(lambda: counts[-1] == (str(written + 1), str(delivered + 1))), counts
    assert seen[f"rclrt_agent: line udp4 {where}"]["broken"] == "0"
    assert seen["rclrt_agent: agent"]["clients"] == "1"


def test_arguments_that_make_no_sense_are_explained(bench: Bench) -> None:
    """A wrong word ends the agent, with the reason and the usage."""
    for words, reason in (
        (["udp4", "-p", "70000"], "0 to 65535"),
        (["serial"], "give --dev"),
        (["udp6"], "this agent has"),
        ([], "which line?"),
        (["udp4", "--address", "x"], "no IPv4"),
    ):
        agent = bench.start("rclrt_agent", *words)
        out, _ = agent.communicate(timeout=PATIENCE_S)
        assert agent.returncode == 1
        assert reason in out and "Usage" in out
