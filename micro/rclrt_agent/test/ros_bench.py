# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The agent, something on its line, and a node of rclpy, for tests over real DDS."""

import os
import pty
import re
import select
import subprocess
import threading
import time
import tty
from collections.abc import Callable
from pathlib import Path

import rclpy
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
        while not self.stopped:
            for master in select.select(self.masters, [], [], 0.1)[0]:
                other = self.masters[1 - self.masters.index(master)]
                os.write(other, os.read(master, 4096))

    def close(self) -> None:
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
        self.second_wire = Wire()
        self.up: list[int] = []
        self.long_up: list[str] = []
        qos = QoSProfile(depth=200)
        self.node.create_subscription(Int32, "up", lambda m: self.up.append(m.data), qos)
        self.node.create_subscription(String, "long_up", lambda m: self.long_up.append(m.data), qos)
        self.down = self.node.create_publisher(Int32, "down", qos)
        self.long_down = self.node.create_publisher(String, "long_down", qos)

    def start(self, *command: str, talks: bool = False) -> subprocess.Popen[str]:
        """Start a program of the package; with `talks` one that is talked to."""
        child = subprocess.Popen(
            [str(PROGRAMS / command[0]), *command[1:]],
            stdin=subprocess.PIPE if talks else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.children.append(child)
        return child

    def start_agent(self, kind: str, *more: str) -> tuple[subprocess.Popen[str], str]:
        """Start the agent; returns it and where its clients find it."""
        line = ["-p", "0"]
        if kind == "serial":
            line = ["--dev", self.wire.ends[0]]
        elif kind == "multiserial":
            line = ["--devs", f"{self.wire.ends[0]} {self.second_wire.ends[0]}"]
        agent = self.start("rclrt_agent", kind, *line, *more)
        assert agent.stdout is not None
        text = ""
        while "listening at" not in text:
            text = agent.stdout.readline()
            assert text, "the agent has ended"
        threading.Thread(target=agent.stdout.read, daemon=True).start()
        where = self.wire.ends[1] if "serial" in kind else re.findall(r"\d+", text)[-1]
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
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)
        self.wire.close()
        self.second_wire.close()
