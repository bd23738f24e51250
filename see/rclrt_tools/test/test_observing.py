# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Observing a command: its environment, the summary of its traces, and what they advise."""

import argparse
import os
import re
import struct
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from models import SCHEMA, model
from programs import rclrt
from rclrt_analysis.model import System
from rclrt_analysis.simulation import simulate
from rclrt_tools.arguments import trace_files
from rclrt_tools.cli import build_parser, main
from rclrt_tools.observe.advice import advise, parameters
from rclrt_tools.preload import environment
from rclrt_tools.trace import Trace, layout, read_trace, write_trace
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.views.processes import processes, to_text
from trace_bytes import HEADER, callback, chunk, records

S = 1_000_000_000
FAKE = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_probe" / "fake_program"

WAIT_SET = """
executors:
  - {name: stock, kind: wait_set_single, cores: [0]}
callbacks:
  - {name: /camera/timer/50ms, kind: timer, executor: stock, period_ms: 50, wcet_ms: 3,
     publishes: [image]}
  - {name: /detect/subscription/image, kind: subscription, executor: stock, wcet_ms: 12,
     triggers: [image]}
  - {name: /steer/timer/20ms, kind: timer, executor: stock, period_ms: 20, wcet_ms: 2}
"""


def note(key: int, text: str) -> bytes:
    return chunk(layout.CHUNK_NOTE, struct.pack("<I", key) + text.encode())


def traces_of(system: System) -> list[tuple[str, Trace]]:
    traces = to_traces(simulate(system, S, seed=2)).values()
    return [(f"stock-1.{i}", trace) for i, trace in enumerate(traces, 1)]


def test_the_last_remark_on_a_callback_and_on_the_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    remarks = note(5, "old") + note(5, "f()") + note(layout.NO_CALLBACK, "no groups\nno symbols")
    path.write_bytes(HEADER + callback(5) + records(1, 2) + remarks)
    trace = read_trace(path)
    assert trace.notes == {5: "f()", layout.NO_CALLBACK: "no groups\nno symbols"}
    assert len(trace.records) == 2


@pytest.mark.parametrize("content", [b"", b"123", b"1234\xff\xfe"])
def test_a_damaged_remark_is_no_reason_to_refuse_a_file(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.trace"
    path.write_bytes(HEADER + chunk(layout.CHUNK_NOTE, content) + callback(5) + records(1, 2))
    assert len(read_trace(path).records) == 2


def test_the_command_has_the_environment_of_its_user_and_the_library() -> None:
    given = {
        "PYTHONPATH": "/mine",
        "RCLRT_SOURCE_DIR": "/tree",
        "RCLRT_BUILD_DIR": "/tree/build",
        "LD_PRELOAD": "/other.so",
        "ASAN_OPTIONS": "detect_leaks=0",
        "HOME": "/home/me",
    }
    assert environment(Path("/probe.so"), {"RCLRT_PROBE_FOLDER": "/traces"}, given) == {
        "PYTHONPATH": "/mine",
        "LD_PRELOAD": "/probe.so:/other.so",
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
        "RCLRT_PROBE_FOLDER": "/traces",
        "HOME": "/home/me",
    }
    plain = environment(Path("/probe.so"), {}, {})
    assert plain["LD_PRELOAD"] == "/probe.so"


def test_a_folder_stands_for_its_traces(tmp_path: Path) -> None:
    for name in ("b.trace", "a.trace", "rclrt.yaml"):
        (tmp_path / name).touch()
    assert trace_files([tmp_path, Path("c.trace")]) == [
        tmp_path / "a.trace",
        tmp_path / "b.trace",
        Path("c.trace"),
    ]


def taking_traces() -> list[str]:
    """Return the verbs that take trace files: those of `trace`, and watch."""
    parser, found = build_parser(), []

    def look(inside: argparse.ArgumentParser, words: str) -> None:
        for action in inside._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, verb in action.choices.items():
                    look(verb, f"{words} {name}".strip())
            elif action.metavar in ("TRACE", "FOLDER") and action.nargs in ("*", "+"):
                found.append(words)

    look(parser, "")
    return found


def test_every_verb_takes_a_folder_in_the_place_of_its_traces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = tmp_path / "robot.yaml"
    described.write_text(f"schema: 1\nname: test\n{WAIT_SET}", encoding="utf-8")
    more = {"watch": [described], "trace export": ["--mcap", tmp_path / "x.mcap"]}
    more["trace page"] = ["--output", tmp_path / "x.html"]
    for name in ("full", "empty"):
        (tmp_path / name).mkdir()
    for name, trace in traces_of(model(WAIT_SET)):
        write_trace(trace, tmp_path / "full" / f"{name}.trace")
    files = sorted((tmp_path / "full").glob("*.trace"))
    verbs = taking_traces()
    assert {"watch", "trace info", "trace order", "trace model", "trace advise"} <= {*verbs}
    assert len(verbs) == 9
    for verb in verbs:
        words = [*verb.split(), *map(str, more.get(verb, []))]
        told = []
        for given in ([tmp_path / "full"], files):
            status = main([*words, *map(str, given)])
            told.append((status, capsys.readouterr()))
        assert told[0] == told[1], verb
        assert told[0][0] in (0, 1), (verb, told)
        assert main([*words, str(tmp_path / "empty")]) == 2
        assert f"{tmp_path}/empty: no *.trace in this folder" in capsys.readouterr().err, verb


def test_the_summary_counts_by_process_and_says_what_is_missing(tmp_path: Path) -> None:
    missing = note(layout.NO_CALLBACK, "groups")
    content = HEADER + callback(5) + records(1, 2, 3) + missing
    for name in ("talker-12.trace", "talker-12.1.trace", "listener-13.1.trace"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "broken-14.trace").write_bytes(b"no trace")
    found = {process.name: process for process in processes(tmp_path)}
    assert found["talker-12"].jobs == 6
    assert found["talker-12"].files == 2
    assert found["listener-13"].callbacks == 1
    text = to_text(tmp_path, list(found.values()))
    assert "not seen of listener-13, talker-12: groups" in text
    assert re.search(r"not seen of broken-14: .*broken-14.trace", text)
    assert "4 files of 3 processes" in text


def test_a_folder_without_traces_says_why_that_may_be(tmp_path: Path) -> None:
    text = to_text(tmp_path, processes(tmp_path))
    assert "no trace. No process that the command has started ran a callback of ROS 2" in text
    assert main(["trace", "advise", str(tmp_path)]) == 2


@pytest.mark.parametrize("kind", ["preemptive", "priority_events", "isolated"])
def test_advice_keeps_the_work_and_its_bounds_hold_in_simulation(kind: str) -> None:
    stock = model(WAIT_SET)
    advice = advise(traces_of(stock), SCHEMA, kind)
    by_name = advice.chosen.system.callback_of
    assert {name: one.wcet for name, one in by_name.items()} == {
        one.name: one.wcet for one in stock.callbacks
    }
    assert {name: one.period for name, one in by_name.items()} == {
        one.name: one.period for one in stock.callbacks
    }
    assert {executor.kind.value for executor in advice.chosen.system.executors} == {kind}
    urgent, slow = by_name["/steer/timer/20ms"].priority, by_name["/camera/timer/50ms"].priority
    assert urgent is not None
    assert slow is not None
    assert urgent > slow
    run = simulate(advice.chosen.system, 5 * S, seed=3)
    worst = run.worst()
    for bound in advice.chosen.result.callbacks:
        assert bound.bound is not None
        assert worst[bound.name][1] <= bound.bound


def test_under_our_executor_the_short_timer_no_longer_waits_for_the_long_callback() -> None:
    advice = advise(traces_of(model(WAIT_SET)), SCHEMA, "preemptive")
    bounds = {bound.name: bound.bound for bound in advice.chosen.result.callbacks}
    assert advice.observed["/steer/timer/20ms"] > 10_000_000
    assert bounds["/steer/timer/20ms"] == 2_000_000


TWO_PATHS = """
executors:
  - {name: stock, kind: KIND, CORES}
callbacks:
  - {name: /a/timer/20ms, kind: timer, executor: stock, period_ms: 20, wcet_ms: 6, publishes: [x]}
  - {name: /b/subscription/x, kind: subscription, executor: stock, wcet_ms: 4, triggers: [x]}
  - {name: /c/timer/25ms, kind: timer, executor: stock, group: g, period_ms: 25, wcet_ms: 8}
  - {name: /d/timer/50ms, kind: timer, executor: stock, group: g, period_ms: 50, wcet_ms: 8}
"""


def two_paths(kind: str, cores: str) -> list[tuple[str, Trace]]:
    return traces_of(model(TWO_PATHS.replace("KIND", kind).replace("CORES", f"cores: {cores}")))


def with_fifo(**priorities: int) -> list[tuple[str, Trace]]:
    """Return traces of executors that nobody knows, whose threads have priorities of their own."""
    traces = two_paths("isolated, policy: rm", "[0]")
    for _, trace in traces:
        for id_, entry in trace.callbacks.items():
            trace.records["priority"][trace.records["callback"] == id_] = priorities[entry.name[1]]
    unknown = {"model": layout.MODEL_UNKNOWN, "ordering": layout.ORDER_UNKNOWN}
    return [(name, replace(t, header=replace(t.header, **unknown))) for name, t in traces]


def test_advice_keeps_the_cpus_where_one_alone_would_have_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = two_paths("wait_set_multi, threads: 2", "[0, 1]")
    advice = advise(traces, SCHEMA, "preemptive")
    assert any(bound.bound is None for bound in advice.chosen.result.callbacks)
    assert {executor.cores for executor in advice.chosen.system.executors} == {(0, 1)}
    one = advise(traces, SCHEMA, "preemptive", [0])
    assert all(bound.bound is not None for bound in one.chosen.result.callbacks)
    assert one.chosen.ways["/d/timer/50ms"] > advice.ways["/d/timer/50ms"]
    write_trace(traces[0][1], tmp_path / "a.trace")
    main(["trace", "advise", "--cpus", "0", str(tmp_path)])
    out = capsys.readouterr().out
    assert re.search(r"/b/subscription/x +1\d\.\d+ +10\.000\n", out), "end of a path: 6 and 4 ms"
    assert re.search(r"/d/timer/50ms +\d+\.\d+ +\d+\.\d+  longer\n", out)


def test_advice_keeps_priorities_that_the_program_has_given_itself() -> None:
    traces = with_fifo(a=49, b=49, c=1, d=7)
    advice = advise(traces, SCHEMA, "preemptive")
    assert {one.name[1]: one.priority for one in advice.chosen.system.callbacks} == {
        "a": 49, "b": 49, "c": 1, "d": 7,
    }  # fmt: skip
    rclrt = yaml.safe_load(parameters(advice))["/**"]["ros__parameters"]["rclrt"]
    assert rclrt["callbacks"]["/b/subscription/x"]["priority"] == 49
    assert "inherit_priority" not in rclrt["callbacks"]["/**"], "each has its own"


def test_advice_has_priorities_by_rate_where_those_of_the_program_make_callbacks_late(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = with_fifo(a=1, b=1, c=40, d=50)
    advice = advise(traces, SCHEMA, "preemptive")
    assert advice.instead is not None
    assert (advice.instead.late, advice.chosen.late) == (2, 1)
    assert advice.chosen.system.callback_of["/a/timer/20ms"].priority == 3
    write_trace(traces[0][1], tmp_path / "a.trace")
    main(["trace", "advise", str(tmp_path)])
    assert "With the program's own 2 callbacks are late" in capsys.readouterr().out


def test_where_cpus_differ_the_file_has_those_of_each_callback() -> None:
    traces = two_paths("isolated, policy: rm", "[0]")
    records = traces[0][1].records
    records["cpus"][records["callback"] == 0] = 2
    rclrt = yaml.safe_load(parameters(advise(traces, SCHEMA, "preemptive")))["/**"][
        "ros__parameters"
    ]["rclrt"]
    assert rclrt["callbacks"]["/a/timer/20ms"]["cpu_affinity"] == [1]
    assert rclrt["callbacks"]["/b/subscription/x"]["cpu_affinity"] == [0]


def test_the_command_prints_the_table_and_writes_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, trace in traces_of(model(WAIT_SET)):
        write_trace(trace, tmp_path / f"{name}.trace")
    assert main(["trace", "advise", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"/steer/timer/20ms +\d+\.\d+ +2\.000 +2\.000 +20\.000\n", out)
    content = yaml.safe_load((tmp_path / "rclrt.yaml").read_text(encoding="utf-8"))
    callbacks = content["/**"]["ros__parameters"]["rclrt"]["callbacks"]
    assert callbacks["/steer/timer/20ms"] == {"scheduling_policy": "fifo", "priority": 2}
    assert callbacks["/**"]["inherit_priority"] is True


@pytest.mark.skipif(not FAKE.exists(), reason="rclrt_probe is built without this program")
def test_observe_traces_what_a_command_starts_and_ends_with_its_status(tmp_path: Path) -> None:
    folder = tmp_path / "with space" / "traces"
    script = f"{FAKE} jobs 5; {FAKE} jobs 7; exit 9"
    done = rclrt("observe", "-o", folder, "--", "sh", "-c", script)
    assert done.returncode == 9, done.stderr
    assert done.stdout.count("calls ") == 2
    assert sorted(process.jobs for process in processes(folder)) == [10, 14]
    assert "2 processes" in done.stderr
    again = rclrt("observe", "-o", folder, "--", "true")
    assert again.returncode == 126
    assert "has traces in it already" in again.stderr
    nothing = rclrt("observe", "-o", tmp_path / "none", "--", "no-such-command")
    assert nothing.returncode == 127
