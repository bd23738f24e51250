# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""From ROS through the agent to firmware on a Cortex-M7 and back, over real DDS, with priorities.

The firmware (rclrt_micro/firmware/program.c) runs in QEMU, with FreeRTOS if its kernel is there.
Its line is a pair of pseudo-terminals.
"""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rclpy.qos import QoSProfile
from ros_bench import PATIENCE_S, Bench
from std_msgs.msg import Header, Int32

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "rclrt_micro" / "test"))
from firmware import Board, image, missing

BURST = 1  # rclrt_micro/firmware/program.c
PRIORITIES = ["--ros-args", "-p", "urgency./urgent:=28", "-p", "urgency./urgent_up:=28"]

pytestmark = pytest.mark.skipif(missing() != "", reason=missing())


class BoardBench(Bench):
    """The agent, a board, and a node of rclpy."""

    def __init__(self) -> None:
        super().__init__()
        made = image("freertos")
        self.image = image("baremetal") if isinstance(made, str) else made
        assert isinstance(self.image, Path)
        self.came: list[tuple[int, str, int]] = []  # when it was published, topic, number
        qos = QoSProfile(depth=200)
        self.node.create_subscription(Int32, "urgent_up", self.note_urgent, qos)
        self.node.create_subscription(Header, "bulk", self.note_bulk, qos)
        self.urgent = self.node.create_publisher(Int32, "urgent", qos)
        self.command = self.node.create_publisher(Int32, "command", qos)
        self.agent, _ = self.start_agent("serial", *PRIORITIES)
        self.board = Board(self.image, self.wire.ends[1])

    def note_urgent(self, message: Int32, info: dict[str, Any]) -> None:
        """Note what the most urgent publisher of the board sends."""
        self.came.append((info["source_timestamp"], "urgent", message.data))

    def note_bulk(self, message: Header, info: dict[str, Any]) -> None:
        self.came.append((info["source_timestamp"], "bulk", message.stamp.sec))

    def meet(self, number: int) -> bool:
        """Wait until `number` comes back, and for what else is on its way."""
        end = 2 * PATIENCE_S
        while number not in self.up and end > 0:
            self.down.publish(Int32(data=number))
            self.until(lambda: number in self.up, 0.5)
            end -= 0.5
        known = self.until(
            lambda: (
                self.urgent.get_subscription_count()
                and self.command.get_subscription_count()
                and self.node.count_publishers("/urgent_up")
                and self.node.count_publishers("/bulk")
            )
        )
        self.until(lambda: False, 1.0)
        met = number in self.up and known
        self.up.clear()
        return met

    def close(self) -> None:
        self.board.kill()
        super().close()


@pytest.fixture(scope="module")
def bench() -> Iterator[BoardBench]:
    made = BoardBench()
    try:
        assert made.meet(999)
        yield made
    finally:
        made.close()


def test_numbers_of_ros_go_to_the_board_and_come_back_each_once_and_in_order(
    bench: BoardBench,
) -> None:
    for begin in range(0, 40, 8):  # No more at once than the firmware can send back.
        for number in range(begin, begin + 8):
            bench.down.publish(Int32(data=number))
        assert bench.until(lambda end=begin + 8: len(bench.up) >= end)
    bench.until(lambda: False, 0.3)
    assert bench.up == list(range(40))
    bench.up.clear()


def test_an_urgent_message_of_the_board_overtakes_its_long_ones_on_the_way_to_ros(
    bench: BoardBench,
) -> None:
    bench.command.publish(Int32(data=BURST))
    assert bench.until(lambda: len(bench.came) >= 7)
    order = [(topic, number) for _, topic, number in sorted(bench.came)]
    print(order)
    assert order.index(("urgent", 100)) <= 1, "one may have been on the line"
    assert [number for topic, number in order if topic == "bulk"] == list(range(6))
    bench.came.clear()


def test_an_urgent_message_of_ros_overtakes_what_waits_for_the_board(bench: BoardBench) -> None:
    # While the agent stands still all of it comes; then it chooses.
    bench.agent.send_signal(signal.SIGSTOP)
    for number in range(12):
        bench.down.publish(Int32(data=number))
    bench.urgent.publish(Int32(data=7))
    bench.until(lambda: False, 0.3)
    bench.agent.send_signal(signal.SIGCONT)
    assert bench.until(lambda: bench.came)
    before = len(bench.up)
    print("that came before:", before)
    assert bench.until(lambda: len(bench.up) >= 12)
    assert bench.up == list(range(12))
    assert before <= 5, "those that had gone, and their answers"
    bench.up.clear()
    bench.came.clear()


def test_an_agent_that_was_killed_and_a_board_that_was_started_again_find_each_other(
    bench: BoardBench,
) -> None:
    bench.agent.kill()
    bench.agent.wait()
    bench.agent, _ = bench.start_agent("serial", *PRIORITIES)
    assert bench.meet(1001)
    bench.board.kill()
    bench.board = Board(bench.image, bench.wire.ends[1])
    assert bench.meet(1002)
