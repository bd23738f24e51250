# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Actions of rclrt_micro and of rclpy through the agent, over real DDS: each way, and ours."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.action.graph import get_action_names_and_types
from rclpy.task import Future
from ros_bench import Bench

Fibonacci = pytest.importorskip(
    "test_msgs.action", reason="no test_msgs: tools/requirements/ros.txt"
).Fibonacci

FIRST_FIVE = [0, 1, 1, 2, 3]


class ActionBench(Bench):
    """An agent with ends of /fibonacci that are ours."""

    def __init__(self) -> None:
        super().__init__()
        self.agent, self.where = self.start_agent("udp4")

    def start_end(self, *words: str) -> subprocess.Popen[str]:
        """Start an end of ours, and wait until it is there."""
        kind, *more = words
        end = self.start("agent_test_actions", kind, self.where, *more, talks=True)
        assert end.stdout is not None
        line = end.stdout.readline()
        assert line == "ready 0\n", line
        return end

    def found(self, *, servers: int = 0, clients: int = 0) -> bool:
        """Wait until the graph has so many ends of ours, and they have found each other."""
        count = self.node.count_publishers
        seen = self.until(
            lambda: (
                count("/fibonacci/_action/status") >= servers
                and self.node.count_subscribers("/fibonacci/_action/feedback") >= clients
            )
        )
        self.until(lambda: False, 1.0)  # Services match without being seen.
        return seen

    def send(self, client: ActionClient, order: int, feedback: list[Any]) -> Any:
        future = client.send_goal_async(
            Fibonacci.Goal(order=order), lambda m: feedback.append(list(m.feedback.sequence))
        )
        return self.get(future)

    def get(self, future: Future[Any]) -> Any:
        assert self.until(future.done)
        return future.result()

    def hear(self, end: subprocess.Popen[str]) -> list[str]:
        """Say to our client that it may begin, and return what it hears until the end."""
        assert end.stdin is not None and end.stdout is not None
        end.stdin.write("go\n")
        end.stdin.flush()
        assert self.until(lambda: end.poll() is not None)
        assert end.returncode == 0
        return end.stdout.read().splitlines()


@pytest.fixture
def bench() -> Iterator[ActionBench]:
    """Provide a bench, and end what it has started."""
    made = ActionBench()
    yield made
    made.close()


def test_a_client_of_ros_has_goals_executed_refused_and_cancelled_by_our_server(
    bench: ActionBench,
) -> None:
    bench.start_end("server")
    client = ActionClient(bench.node, Fibonacci, "fibonacci")
    assert bench.until(client.server_is_ready)
    assert bench.found(servers=1)
    assert ("/fibonacci", ["test_msgs/action/Fibonacci"]) in get_action_names_and_types(bench.node)

    seen: list[Any] = []
    handle = bench.send(client, 5, seen)
    assert handle.accepted
    result = bench.get(handle.get_result_async())
    assert result.status == GoalStatus.STATUS_SUCCEEDED
    assert list(result.result.sequence) == FIRST_FIVE
    assert seen == [FIRST_FIVE[: i + 1] for i in range(5)]
    assert bench.until(lambda: handle.status == GoalStatus.STATUS_SUCCEEDED)

    assert not bench.send(client, -1, []).accepted

    # Two at once, one of them cancelled; the result is asked for when it has long been there.
    seen = []
    long, short = bench.send(client, 60, seen), bench.send(client, 2, [])
    assert long.accepted and short.accepted
    assert bench.until(lambda: len(seen) >= 2)
    cancelled = bench.get(long.cancel_goal_async())
    assert cancelled.return_code == CancelGoal.Response.ERROR_NONE
    assert [bytes(g.goal_id.uuid) for g in cancelled.goals_canceling] == [bytes(long.goal_id.uuid)]
    result = bench.get(long.get_result_async())
    assert result.status == GoalStatus.STATUS_CANCELED
    assert 2 <= len(result.result.sequence) < 60
    assert bench.until(lambda: short.status == GoalStatus.STATUS_SUCCEEDED)
    assert list(bench.get(short.get_result_async()).result.sequence) == FIRST_FIVE[:2]
    cancelled = bench.get(long.cancel_goal_async())
    assert cancelled.return_code == CancelGoal.Response.ERROR_GOAL_TERMINATED


def test_our_client_has_goals_executed_refused_and_cancelled_by_a_server_of_ros(
    bench: ActionBench,
) -> None:
    going: list[Any] = []
    gone: Future[None] = Future()

    async def execute(goal: Any) -> Any:
        going.append(goal)
        order = goal.request.order
        for size in range(1, min(order, 5) + 1):
            goal.publish_feedback(Fibonacci.Feedback(sequence=FIRST_FIVE[:size]))
        # A result goes another way than feedback, and may come first; the client ends with it.
        time.sleep(0.3)
        if order > 5:
            await gone
            goal.canceled()
        elif order == 3:
            goal.abort()
        else:
            goal.succeed()
        return Fibonacci.Result(sequence=FIRST_FIVE[:order])

    server = ActionServer(
        bench.node,
        Fibonacci,
        "fibonacci",
        execute,
        goal_callback=lambda g: GoalResponse.REJECT if g.order < 0 else GoalResponse.ACCEPT,
        cancel_callback=lambda _: CancelResponse.ACCEPT,
    )
    five = [f"feedback {size}" for size in range(1, 6)]

    def run(*words: str) -> list[str]:
        end = bench.start_end("client", *words)
        assert bench.found(clients=1)
        return bench.hear(end)

    heard = run("5")
    numbers = [f"number {n}" for n in FIRST_FIVE]
    assert [w for w in heard if w != "accepted 1"] == [*five, "result 4", *numbers]
    assert run("3")[-4:] == ["result 6", "number 0", "number 1", "number 1"]
    assert run("-1") == ["accepted 0"]

    end = bench.start_end("client", "9", "cancel")
    assert bench.found(clients=1)
    assert end.stdin is not None
    before = len(going)
    end.stdin.write("go\n")
    end.stdin.flush()
    assert bench.until(lambda: len(going) > before and going[-1].is_cancel_requested)
    gone.set_result(None)
    assert bench.until(lambda: end.poll() is not None)
    assert end.stdout is not None
    heard = end.stdout.read().splitlines()
    assert "cancel 0" in heard and "result 5" in heard
    server.destroy()


def test_our_client_and_our_server_find_each_other_through_ros(bench: ActionBench) -> None:
    bench.start_end("server")
    for words, wanted in (
        (["5"], ["result 4", *(f"number {n}" for n in FIRST_FIVE)]),
        (["60", "cancel"], ["result 5"]),
    ):
        end = bench.start_end("client", *words)
        assert bench.found(servers=1, clients=1)
        heard = bench.hear(end)
        assert "accepted 1" in heard
        first = heard.index(wanted[0])
        assert heard[first : first + len(wanted)] == wanted
        assert next(w for w in heard if w.startswith("feedback")) == "feedback 1"
