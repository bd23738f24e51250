# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The launch file and the container file: what they start is there, and starts.

`launch` is not where these tests run, and no container either: stand-ins for both write down what
would be started, and that is then started.
"""

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ros_bench import PROGRAMS, Bench

PACKAGE = Path(__file__).resolve().parents[1]


class Recorded:
    """Any action of launch: its arguments."""

    def __init__(self, *given: Any, **named: Any) -> None:
        self.given = given
        self.named = named


class Configuration(Recorded):
    """launch's LaunchConfiguration; the context is a dictionary."""

    def perform(self, context: dict[str, str]) -> str:
        return context[str(self.given[0])]


def _stand_ins() -> dict[str, types.ModuleType]:
    """Return the modules of launch that the file imports, with classes that only write down."""
    names = {
        "launch": {"LaunchContext": dict, "LaunchDescription": list},
        "launch.actions": {
            name: type(name, (Recorded,), {})
            for name in ("DeclareLaunchArgument", "OpaqueFunction")
        },
        "launch.substitutions": {"LaunchConfiguration": Configuration},
        "launch_ros": {},
        "launch_ros.actions": {"Node": type("Node", (Recorded,), {})},
    }
    modules = {}
    for name, members in names.items():
        modules[name] = types.ModuleType(name)
        vars(modules[name]).update(members)
    return modules


def _node(monkeypatch: pytest.MonkeyPatch, **arguments: str) -> dict[str, Any]:
    """Return what the launch file says of its one node."""
    for name, module in _stand_ins().items():
        monkeypatch.setitem(sys.modules, name, module)
    path = PACKAGE / "launch" / "agent.launch.py"
    spec = importlib.util.spec_from_file_location("agent_launch", path)
    assert spec is not None and spec.loader is not None
    file = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(file)
    context: dict[str, str] = {}
    nodes: list[Recorded] = []
    for action in file.generate_launch_description():
        if type(action).__name__ == "DeclareLaunchArgument":
            context[action.given[0]] = action.named["default_value"]
        else:
            assert set(arguments) <= set(context), "declared before they are used"
            nodes += action.named["function"]({**context, **arguments})
    (node,) = nodes
    return node.named


@pytest.fixture
def bench() -> Iterator[Bench]:
    """Provide a bench, and end what it has started."""
    made = Bench()
    yield made
    made.close()


def test_the_launch_file_starts_the_agent_on_the_line_that_it_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parameters = tmp_path / "urgencies.yaml"
    parameters.write_text("/**:\n  ros__parameters:\n    diagnostics: false\n", encoding="utf-8")
    node = _node(monkeypatch, line="udp4 -p 0", parameters=str(parameters))
    package = (PACKAGE / "package.xml").read_text(encoding="utf-8")
    assert f"<name>{node['package']}</name>" in package
    assert (PROGRAMS / node["executable"]).is_file()
    assert node["respawn"]
    # launch_ros puts it so.
    command = [node["executable"], *node["arguments"], "--ros-args"]
    command += ["-r", f"__node:={node['name']}"]
    for file in node["parameters"]:
        command += ["--params-file", file]
    agent = bench.start(*command)
    assert agent.stdout is not None
    said = ""
    for said in agent.stdout:
        if "listening at" in said:
            break
    assert "listening at" in said
    assert bench.until(lambda: node["name"] in bench.node.get_node_names())


@pytest.mark.parametrize(
    ("parameter", "says"),
    [
        ("deadline./stop:=20", "parameter 'deadline./stop' is a whole number, not text. Write a"),
        ("silence:=30 s", "parameter silence: '30 s' is no time from 1s to 86400s"),
        ("acknowledgement_spacing:=1.001s", "is no time from 0s to 1s. Write a number with ns, us"),
    ],
)
def test_a_time_without_its_unit_or_out_of_range_is_told(parameter: str, says: str) -> None:
    command = [str(PROGRAMS / "rclrt_agent"), "udp4", "-p", "0", "--ros-args", "-p", parameter]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert says in done.stdout + done.stderr


def test_without_arguments_the_launch_file_has_a_serial_line_and_no_parameters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = _node(monkeypatch)
    assert node["arguments"] == ["serial", "--dev", "/dev/ttyUSB0", "-b", "115200"]
    assert node["parameters"] == []


def _instructions() -> dict[str, str]:
    text = (PACKAGE / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split(" ", 1) for line in lines)


def test_the_container_passes_its_arguments_to_the_agent(tmp_path: Path) -> None:
    words = json.loads(_instructions()["ENTRYPOINT"])
    setup = "/rclrt/install/setup.sh"
    assert any(setup in word for word in words)
    (tmp_path / "setup.sh").write_text("SOURCED=yes; export SOURCED\n", encoding="utf-8")
    ros2 = tmp_path / "ros2"
    ros2.write_text(
        '#!/bin/sh\necho "$SOURCED"\nfor word; do echo "$word"; done\n', encoding="utf-8"
    )
    ros2.chmod(0o755)
    words = [word.replace(setup, str(tmp_path / "setup.sh")) for word in words]
    given = ["serial", "--dev", "/dev/a line", "-b", "115200"]
    said = subprocess.run(
        [*words, *given],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.splitlines()
    assert said == ["yes", "run", "rclrt_agent", "rclrt_agent", *given]


def test_the_container_is_built_from_packages_that_are_here() -> None:
    instructions = _instructions()
    run = instructions["RUN"]
    source, target = shlex.split(instructions["COPY"])
    assert (source, target) == (".", "/rclrt/src")
    assert "cd /rclrt " in run  # colcon looks below
    match = re.search(r"--packages-up-to (\w+)", run)
    assert match is not None
    root = PACKAGE.parents[1]
    here = {path.parent.name: path for path in root.glob("*/rclrt_*/package.xml")}
    wanted, missing = [match[1]], set()
    while wanted:
        text = here[wanted.pop()].read_text(encoding="utf-8")
        for name in re.findall(r"<depend>(rclrt_\w+)</depend>", text):
            if name in here:
                wanted.append(name)
            else:
                missing.add(name)
    assert missing == set()
