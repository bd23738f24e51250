# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The installed launch files, in all three languages, run two components as their arguments say."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import rclpy
from rcl_interfaces.msg import Log
from rclpy.node import Node

pytest.importorskip("launch_ros", reason="there is no launch_ros on PYTHONPATH")
ListNodes = pytest.importorskip(
    "composition_interfaces.srv", reason="there are no composition_interfaces on PYTHONPATH"
).ListNodes
LAUNCH_PACKAGE = Path(pytest.importorskip("launch").__file__).parent

PATIENCE_S = 60.0
FIFO, RR = os.SCHED_FIFO, os.SCHED_RR
LAUNCH = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource

service = LaunchService()
arguments = [tuple(argument.split(":=")) for argument in sys.argv[2:]]
service.include_launch_description(
    LaunchDescription([
        IncludeLaunchDescription(
            AnyLaunchDescriptionSource(sys.argv[1]), launch_arguments=arguments)
    ])
)
sys.exit(service.run())
"""


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run(
        ["cmake", "--install", os.environ["RCLRT_PACKAGE_BINARY_DIR"], "--prefix", str(prefix)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return prefix


@pytest.fixture
def node() -> Iterator[Node]:
    rclpy.init()
    one = rclpy.create_node("test")
    yield one
    one.destroy_node()
    rclpy.shutdown()


def realtime_is_refused() -> bool:
    before = os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, FIFO, os.sched_param(1))
    except PermissionError:
        return True
    os.sched_setscheduler(0, os.SCHED_OTHER, before)
    return False


def spin_until(node: Node, condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        rclpy.spin_once(node, timeout_sec=0.1)
        if condition():
            return True
    return False


def launch(prefix: Path, file: str, *arguments: str) -> subprocess.Popen[str]:
    environment = dict(os.environ)
    prefixes = [str(prefix), *environment["AMENT_PREFIX_PATH"].split(":")]
    beside = LAUNCH_PACKAGE.parent  # where pip puts the index by which it finds its languages
    if (beside / "share" / "ament_index").is_dir():
        prefixes.append(str(beside))
    environment["AMENT_PREFIX_PATH"] = ":".join(prefixes)
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            LAUNCH,
            str(prefix / "share/rclrt_rclcpp/launch" / file),
            *arguments,
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def components_and_what_is_heard(
    node: Node, launched: subprocess.Popen[str], wanted: tuple[str, str]
) -> list[str]:
    """Wait until the listener hears and says what is wanted; return the components' names."""
    heard: list[tuple[str, str]] = []
    node.create_subscription(Log, "heard", lambda log: heard.append((log.msg, log.name)), 10)
    client = node.create_client(ListNodes, "/container/_container/list_nodes")
    try:
        spin_until(node, lambda: wanted in heard or launched.poll() is not None)
        assert wanted in heard, heard[-1:]
        answer = client.call_async(ListNodes.Request())
        assert spin_until(node, answer.done)
        names = list(answer.result().full_node_names)
    finally:
        launched.send_signal(signal.SIGINT)
        try:
            output = launched.communicate(timeout=PATIENCE_S)[0]
        except subprocess.TimeoutExpired:
            launched.kill()
            output = launched.communicate()[0]
        print(output)
    assert launched.returncode == 0
    assert "process has died" not in output
    warnings = [line for line in output.splitlines() if "WARN" in line]
    assert not any("matches no" in line for line in warnings), warnings
    return names


@pytest.mark.parametrize("language", ["py", "xml", "yaml"])
def test_two_components_run_with_the_priorities_of_the_installed_file(
    installed: Path, node: Node, language: str
) -> None:
    launched = launch(installed, f"composed.launch.{language}")
    wanted = ("0/0", "0/0") if realtime_is_refused() else (f"{FIFO}/60", f"{FIFO}/70")
    names = components_and_what_is_heard(node, launched, wanted)
    assert sorted(names) == ["/listener", "/talker"]


@pytest.mark.parametrize("language", ["py", "xml", "yaml"])
def test_the_arguments_choose_executor_policy_attributes_and_trace(
    installed: Path, node: Node, language: str, tmp_path: Path
) -> None:
    if realtime_is_refused():
        pytest.skip("real-time scheduling is refused: docs/how-to/real-time-permissions.md")
    attributes = tmp_path / "attributes.yaml"
    attributes.write_text(
        "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
        "        /talker/timer/*: {scheduling_policy: rr, priority: 12}\n"
    )
    launched = launch(
        installed,
        f"composed.launch.{language}",
        "executor:=isolated",
        "policy:=edf",
        f"attributes:={attributes}",
        f"trace:={tmp_path / 'trace'}",
    )
    components_and_what_is_heard(node, launched, (f"{RR}/12", "0/0"))
    assert list((tmp_path / "trace").glob("component_container_rt-*.trace"))


@pytest.mark.parametrize("language", ["py", "xml", "yaml"])
def test_an_executor_that_does_not_exist_ends_the_container_with_its_name(
    installed: Path, language: str
) -> None:
    launched = launch(installed, f"composed.launch.{language}", "executor:=nonsense")
    assert launched.stdout is not None
    try:
        assert any("unknown executor 'nonsense'" in line for line in launched.stdout)
    finally:
        launched.send_signal(signal.SIGINT)  # it would wait for the container's services
        launched.communicate(timeout=PATIENCE_S)
