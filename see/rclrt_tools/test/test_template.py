# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A template has what is in force, of recorded and of running programs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from first_node import PROGRAM, clean_environment, run_first_node
from models import model
from rclrt_analysis.simulation import simulate
from rclrt_tools.observe.parts import parts_of
from rclrt_tools.observe.template import to_template
from rclrt_tools.trace import Trace, write_trace
from rclrt_tools.trace.simulated import to_traces

ROBOT = """executors:
  - {name: main, kind: isolated, cores: [0, 1]}
  - {name: edf, kind: priority_events, policy: edf, cores: [2]}
callbacks:
  - {name: /a/timer/10ms, kind: timer, executor: main, priority: 9, period_ms: 10, wcet_ms: 1, publishes: [/x], group: /a/group/default}
  - {name: /b/subscription/x, kind: subscription, executor: main, priority: 4, wcet_ms: 2, triggers: [/x], group: /a/group/default}
  - {name: odd, kind: timer, executor: main, priority: 1, period_ms: 50, wcet_ms: 1}
  - {name: /d/timer/20ms, kind: timer, executor: edf, period_ms: 20, deadline_ms: 15, wcet_ms: 1}
"""  # noqa: E501


def traces() -> dict[str, Trace]:
    return to_traces(simulate(model(ROBOT), 500_000_000))


def rclrt(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rclrt_tools.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_every_callback_and_group_is_listed_with_what_it_had() -> None:
    text = to_template(parts_of(list(traces().items())), {})
    content = yaml.safe_load(text)["/**"]["ros__parameters"]["rclrt"]
    assert content["callbacks"]["/a/timer/10ms"]["scheduling_policy"] == "fifo"
    # Simulated priorities are ranks: odd, b, a.
    priorities = [
        content["callbacks"][n]["priority"] for n in ("/b/subscription/x", "/a/timer/10ms")
    ]
    assert priorities == sorted(priorities)
    assert content["callbacks"]["/d/timer/20ms"]["relative_deadline"] == 15_000_000
    assert "odd" not in content["callbacks"], "no executor knows that name"
    assert '# "odd": {scheduling_policy: fifo' in text
    assert '# "/a/group/default": {}  # one at a time: /a/timer/10ms, /b/subscription/x' in text
    assert "50 jobs, took up to 1 ms, answered within " in text


def test_a_name_of_two_executors_is_said_once() -> None:
    part = parts_of(list(traces().items()))[0]
    text = to_template([part, part], {})
    assert text.count('\n        "/a/timer/10ms": ') == 1
    assert text.count('\n        # "/a/timer/10ms": ') == 1


def test_the_command_reads_traces(tmp_path: Path) -> None:
    path = tmp_path / "main.trace"
    write_trace(traces()["main"], path)
    done = rclrt("trace", "template", path)
    assert done.returncode == 0, done.stderr
    assert '"/b/subscription/x": {scheduling_policy: fifo, priority: ' in done.stdout
    path.write_text("no trace", encoding="utf-8")
    assert rclrt("trace", "template", path).returncode == 2


def test_a_running_program_is_listed_with_its_threads_and_runs_under_its_template(
    tmp_path: Path,
) -> None:
    if not PROGRAM.exists():
        pytest.skip("the example first_node is not built")
    text = ""
    with subprocess.Popen([PROGRAM], stdout=subprocess.DEVNULL, env=clean_environment()) as node:
        try:
            end = time.monotonic() + 60
            while '"/first_node/subscription/tick": {scheduling_policy' not in text:
                assert time.monotonic() < end, text
                text = rclrt("trace", "template", "--program", "first_node").stdout
            assert f"# threads of process {node.pid}, as they are now" in text
            assert f"#   {node.pid} first_node: " in text
        finally:
            node.send_signal(signal.SIGINT)
            assert node.wait(timeout=30) == 0
    path = tmp_path / "template.yaml"
    path.write_text(text, encoding="utf-8")
    status, lines, log = run_first_node(path)
    assert status == 0, log
    assert all(line.startswith("tick ") for line in lines), log
