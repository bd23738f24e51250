# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Firmware on a Cortex-M7, without an operating system and on FreeRTOS, with an agent."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from firmware import Board, Peer, image, missing

BURST, SPIN, STATISTICS = 1, 2, 3  # firmware/program.c
STACK_BYTES = {"baremetal": 8192, "freertos": 2048}

pytestmark = [
    pytest.mark.skipif(missing() != "", reason=missing()),
    pytest.mark.skipif(
        bool(os.environ.get("RCLRT_SANITIZE")), reason="firmware is the same under a sanitizer"
    ),
]


class Bench:
    """A board, the agent on its line, and what the board is called."""

    def __init__(self, port: str) -> None:
        self.port = port
        made = image(port)
        if isinstance(made, str):
            pytest.skip(made)
        self.image = made
        self.peer = Peer()
        self.board = Board(self.image, self.peer.device)
        self.next = 1000

    def meet(self) -> None:
        """Wait until the board answers, and for what else is on its way."""
        self.next += 1
        assert self.next in self.peer.until_answered(self.next)
        self.next += 1
        self.peer.publish("down", self.next)
        while ("up", self.next) not in self.peer.take():
            pass

    def statistics(self) -> dict[int, int]:
        """Ask the board: what -> value."""
        self.peer.publish("command", STATISTICS)
        values = [number for topic, number in self.peer.take(5) if topic == "statistics"]
        return {value >> 24: value & 0xFFFFFF for value in values}

    def close(self) -> None:
        """End both."""
        self.board.kill()
        self.peer.close()


@pytest.fixture(scope="module", params=["baremetal", "freertos"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Give a board that runs, with one port after the other."""
    made = Bench(request.param)
    try:
        made.meet()
        yield made
    finally:
        made.close()


def test_numbers_go_to_the_board_and_come_back_each_once_and_in_order(bench: Bench) -> None:
    for begin in range(0, 40, 8):  # No more at once than the window of a stream.
        for number in range(begin, begin + 8):
            bench.peer.publish("down", number)
        wanted = [("up", number) for number in range(begin, begin + 8)]
        assert bench.peer.take(8) == wanted


def test_an_urgent_message_overtakes_all_that_wait_but_the_one_on_the_line(bench: Bench) -> None:
    bench.peer.publish("command", BURST)
    came = bench.peer.take(7)
    print(came)
    assert sorted(came) == sorted([("bulk", i) for i in range(6)] + [("urgent_up", 100)])
    assert came.index(("urgent_up", 100)) <= 1
    assert [number for topic, number in came if topic == "bulk"] == list(range(6))


def test_an_urgent_callback_preempts_one_that_takes_the_processor(bench: Bench) -> None:
    bench.peer.publish("command", SPIN)
    assert bench.peer.take() == [("urgent_up", 1)]  # It has begun, and will not end by itself.
    bench.peer.publish("urgent", 7)
    assert bench.peer.take(2) == [("urgent_up", 7), ("up", 2)]


def test_after_an_agent_was_gone_the_board_connects_by_itself(bench: Bench) -> None:
    before = bench.statistics()[10]
    bench.peer.command("restart")
    bench.meet()
    assert bench.statistics()[10] == before + 1


def test_a_board_that_is_started_again_is_taken_for_what_it_is(bench: Bench) -> None:
    bench.board.kill()
    bench.board = Board(bench.image, bench.peer.device)
    bench.meet()
    assert bench.statistics()[10] == 1


def test_stacks_are_large_enough(bench: Bench) -> None:
    said = bench.statistics()
    print("bytes of stack used, by level and below:", [said[level] for level in range(4)])
    assert 0 < max(said[level] for level in range(4)) < STACK_BYTES[bench.port] * 3 // 4
