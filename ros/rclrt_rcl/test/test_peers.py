# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Our nodes work with rclpy nodes in another process, and end as a program should."""

import contextlib
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
from rclpy.impl.implementation_singleton import rclpy_implementation as rcl
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

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
            [str(PEER), "echo", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
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


def spin_until(node: Node, condition: Callable[[], object], patience_s: float = PATIENCE_S) -> bool:
    """Spin `node` until `condition` holds; False when that takes too long."""
    spinner = SingleThreadedExecutor(context=node.context)
    spinner.add_node(node)
    until = time.monotonic() + patience_s
    while not condition() and time.monotonic() < until:
        spinner.spin_once(timeout_sec=0.01)
    spinner.remove_node(node)
    return bool(condition())


def publish_once_more(publisher: Publisher) -> None:
    """Publish while nobody may be listening yet, as often as it is called."""
    # Refused when the middleware is busy with discovery for longer than it lets a writer wait.
    with contextlib.suppress(rcl.RCLError):
        publisher.publish(Log(line=0))


def publish_surely(publisher: Publisher, message: Log) -> None:
    """Publish, again if the middleware was too busy to take it."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            publisher.publish(message)
        except rcl.RCLError as error:
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
        [str(PEER), "echo", "events", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert arguments[-1] in done.stderr


ATTEMPTS = 3


@contextmanager
def running(executor: str, *arguments: str) -> Iterator[None]:
    peer = subprocess.Popen(
        [str(PEER), "server", executor, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
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
    return str(request.param)


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
    client = node.create_client(kind, name)
    assert client.wait_for_service(PATIENCE_S)
    response = answer_to(node, lambda: client.call_async(request))
    node.destroy_client(client)
    return response


def hear_log(node: Node, wanted: str, provoke: Callable[[], object] = lambda: None) -> bool:
    lines: list[Log] = []
    qos = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    subscription = node.create_subscription(Log, "/rosout", lines.append, qos)

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
