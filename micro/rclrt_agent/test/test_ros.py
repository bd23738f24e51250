# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A client of rclrt_micro and nodes of rclpy talk through the agent, over real DDS."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import GetState
from rcl_interfaces.msg import Log
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rclpy.task import Future
from ros_bench import PATIENCE_S, STACKS, Bench, Board
from std_msgs.msg import Int32, String

UDP = ["udp4", "-p", "0", "--ros-args", "-p"]
EFFORT = float(os.environ.get("RCLRT_EFFORT", "1"))
KILLS = 1 if EFFORT <= 1 else int(12.5 * EFFORT)
"""So often the agent of each flight stack is killed; 3 s each time."""


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


def test_a_client_has_parameters_and_says_on_rosout_what_it_does(bench: Bench) -> None:
    said: list[Log] = []
    bench.node.create_subscription(Log, "/rosout", said.append, QoSProfile(depth=100))
    _, where = bench.start_agent("udp4")
    bench.start_client("udp4", where)
    parameters = AsyncParameterClient(bench.node, "/board/micro")
    assert parameters.wait_for_services(PATIENCE_S)

    def ask(future: Future[Any]) -> Any:
        assert bench.until(future.done)
        return future.result()

    assert list(ask(parameters.list_parameters([], 1)).result.names) == ["limit", "version"]
    assert bench.until(lambda: bench.node.count_publishers("/rosout") > 0)
    results = ask(
        parameters.set_parameters([Parameter("limit", value=5), Parameter("version", value=5)])
    ).results
    assert [result.successful for result in results] == [True, False]
    assert results[1].reason == "the parameter is read-only"
    values = ask(parameters.get_parameters(["limit", "version", "none"])).values
    assert [value.integer_value for value in values] == [5, 0, 0]
    assert [value.type for value in values] == [2, 2, 0]
    described = ask(parameters.describe_parameters(["limit"])).descriptors[0]
    assert (described.description, described.integer_range[0].to_value) == ("of nothing", 100)
    assert bench.until(lambda: [log for log in said if log.name == "board.micro"])
    log = next(log for log in said if log.name == "board.micro")
    assert (log.msg, log.level) == ("limit has changed", 20)


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
    _, where = bench.start_agent("udp4", "-d")
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


def test_clients_on_two_serial_lines_of_one_agent_talk_to_ros_and_to_each_other(
    bench: Bench,
) -> None:
    """What the second asks of the first goes through ROS: the same node has the service."""
    _, where = bench.start_agent("multiserial", "-b", "115200")
    first = bench.start_client("serial", where, "1")
    assert bench.matched()
    bench.start_client("serial", bench.second_wire.ends[1], "2")
    assert bench.until(lambda: bench.node.count_publishers("/up") == 2)
    assert bench.until(lambda: bench.down.get_subscription_count() == 2)
    bench.until(lambda: False, 0.5)
    bench.up.clear()
    for number in range(20):
        bench.down.publish(Int32(data=number))
    assert bench.until(lambda: len(bench.up) == 40), bench.up
    assert sorted(bench.up) == sorted(2 * [number + 1000 for number in range(20)])
    first.kill()
    bench.up.clear()
    bench.down.publish(Int32(data=5))
    assert bench.until(lambda: bench.up == [1005]), "the other line goes on"


def test_of_an_agent_that_was_killed_the_next_one_removes_what_is_left(bench: Bench) -> None:
    """The line is free at once. Its middleware's shared memory lies there until somebody starts."""
    shared = Path("/dev/shm")
    agent, where = bench.start_agent("udp4")
    bench.start_client("udp", where)
    assert bench.matched()
    mapped = Path(f"/proc/{agent.pid}/maps").read_text(encoding="ascii")
    open_files = [str(link.readlink()) for link in Path(f"/proc/{agent.pid}/fd").iterdir()]
    of_agent = set(re.findall(r"/dev/shm/(fastdds_[0-9a-f]{16}\b)", mapped)) & {
        name.removeprefix("/dev/shm/").removesuffix("_el") for name in open_files
    }
    agent.kill()
    agent.wait()
    left = [name for name in of_agent if (shared / name).exists()]
    for name in left:  # as if it had been a while ago
        os.utime(shared / f"{name}_el", (0, 0))
    again = bench.start("rclrt_agent", "udp4", "-p", where)
    assert bench.until(lambda: not any((shared / name).exists() for name in left)), left
    assert again.poll() is None
    for number in range(1, 3000):
        bench.down.publish(Int32(data=number))
        if bench.until(lambda: bench.up, 0.05):
            break
    assert bench.up, "the client has found the new one at the same port"
    print(f"left by the first agent and removed: {left}")


@pytest.mark.parametrize(("name", "kind"), [("px4", "serial"), ("ardupilot", "udp4")])
def test_a_flight_stack_begins_anew_whenever_the_agent_was_killed(
    bench: Bench, name: str, kind: str
) -> None:
    """The agent, started again, says that it does not know the board; both go on as at first."""
    up: list[int] = []
    qos = QoSProfile(depth=200, reliability=QoSReliabilityPolicy.BEST_EFFORT)
    bench.node.create_subscription(Int32, "up", lambda m: up.append(m.data), qos)
    asker = bench.node.create_client(GetState, "board/state")
    agent, where = bench.start_agent(kind)
    board = Board(STACKS[name], kind, where)

    def until(condition: Callable[[], object]) -> bool:
        return bench.until(lambda: board.step() or condition())

    for killed in range(KILLS + 1):
        if killed:
            agent.kill()
            agent.wait()
            agent = bench.start("rclrt_agent", kind, *bench.line(kind, where))
            assert until(lambda: board.ping() == 0), "told that it must greet"
            assert board.leave() == 0
        board.start()
        assert board.ping() == 1
        up.clear(), board.down.clear()
        assert until(lambda: board.write(-1) or up), "matched"
        assert until(lambda: bench.down.publish(Int32(data=-1)) or board.down)
        bench.until(lambda: False, 0.3)
        up.clear()
        board.write(*range(30))
        assert until(lambda: 29 in up)
        assert [number for number in up if number >= 0] == list(range(30))
        for number in range(5):
            bench.down.publish(Int32(data=number))
        assert until(lambda: 4 in board.down)
        assert [number for number in board.down if number >= 0] == list(range(5))
        assert asker.wait_for_service(PATIENCE_S)
        future = asker.call_async(GetState.Request())
        assert until(future.done)
        assert future.result().current_state.label == "board"
        assert until(lambda: board.unacknowledged == 0)
    board.close()


def test_a_killed_client_comes_back_to_its_entities(bench: Bench) -> None:
    """It has its key and session: nothing is left of the first run, and nothing is there twice."""
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
    _, where = bench.start_agent("udp4", "--ros-args", "-p", "client_budget:=1")
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
    assert int(seen[name]["over_budget"]) > 0


def test_arguments_that_make_no_sense_are_explained(bench: Bench) -> None:
    """A wrong word ends the agent with the reason, and with the usage if that helps."""
    told, _ = bench.start("rclrt_agent", "--version").communicate(timeout=PATIENCE_S)
    version = Path(os.environ["RCLRT_SOURCE_DIR"], "tools/VERSION").read_text(encoding="utf-8")
    assert told.splitlines()[-1] == f"rclrt_agent {version.strip()}"
    for words, reason, usage in (
        (["udp4", "-p", "70000"], "0 to 65535", True),
        (["serial"], "give --dev", True),
        (["udp6"], "this agent has", True),
        (["udp4", "-d", "0"], "1 to 65535", True),
        (["serial", "--dev", "x", "-d"], "only udp4 and tcp4", True),
        ([], "which line?", True),
        (["udp4", "--address", "x"], "no IPv4", False),
        ([*UDP, "budget./up:=0"], "no number of messages a second", False),
        ([*UDP, "entities:=0"], "is not from 16 to 65535", False),
    ):
        agent = bench.start("rclrt_agent", *words)
        out, _ = agent.communicate(timeout=PATIENCE_S)
        assert agent.returncode == 1
        assert reason in out
        assert ("Usage" in out) == usage
