# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The probe sees every job of programs that never heard of it, and what released it."""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from observing import HERE, Seen, observe, run
from rclrt_tools import cli
from rclrt_tools.trace import layout, read_trace

STOCK = HERE / "stock_nodes"
REFERENCE = HERE.parent / "rclrt_reference_system" / "rclrt_reference_system"
SCENARIO = (
    Path(os.environ["RCLRT_SOURCE_DIR"]) / "try/rclrt_scenarios/autoware_reference_system.yaml"
)
ON_ENGINE = {
    "rclrt_rcl": HERE.parent / "rclrt_rcl" / "traced_nodes",
    "rclrt_rclcpp": HERE.parent / "rclrt_rclcpp" / "traced_nodes",
}
RCLPY = Path(__file__).parent / "plain_rclpy.py"
JOBS = 40

needs_rclcpp = pytest.mark.skipif(not STOCK.exists(), reason="there is no rclcpp")


def counts(seen: Seen) -> dict[str, int]:
    assert seen.process.returncode == 0, seen.process.stderr
    words = seen.process.stdout.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


def of_program(jobs: Counter[str]) -> dict[str, int]:
    """Return the jobs without those of rclcpp's own callbacks."""
    return {name: n for name, n in jobs.items() if not name.endswith("parameter_events")}


@needs_rclcpp
@pytest.mark.parametrize("executor", ["single", "multi", "events"])
def test_every_job_of_plain_rclcpp_is_seen_and_matched(executor: str, tmp_path: Path) -> None:
    seen = observe([str(STOCK), executor, str(JOBS)], tmp_path)
    said = counts(seen)
    expected = {
        "/source/timer/10ms": said["timer"],
        "/robot/relay/subscription/first": said["relay"],
        "/sink/subscription/second": said["sink"],
        "/robot/relay/service/ask": said["service"],
        "/source/client/ask": said["client"],
    }
    if executor == "events":  # Nobody tells when the callback of a client begins there.
        del expected["/source/client/ask"]
    found = of_program(seen.jobs)
    assert {name: n for name, n in expected.items() if n} == found
    assert all(stamp != layout.NO_MESSAGE for _, stamp in seen.published)
    for name in expected:
        if not name.endswith("10ms"):
            assert seen.taken(name) <= seen.published, name
    assert all(trace.dropped == 0 for trace in seen.traces.values())


@needs_rclcpp
def test_groups_symbols_and_periods_of_plain_rclcpp_are_seen(tmp_path: Path) -> None:
    seen = observe([str(STOCK), "multi", str(JOBS)], tmp_path)
    timer, relay = seen.entry("/source/timer/10ms"), seen.entry("/robot/relay/subscription/first")
    service = seen.entry("/robot/relay/service/ask")
    assert timer.kind == layout.KIND_TIMER
    assert timer.period_ns == 10_000_000
    assert timer.parallelism > 1
    assert timer.group_name == "/source/group/1"
    assert relay.parallelism == 1
    assert relay.group == service.group != timer.group
    assert relay.group_name == "/robot/relay/group/default"
    assert "Relay::Relay(" in seen.note("/robot/relay/subscription/first")
    causes = {cause for trace in seen.traces.values() for cause in trace.jobs["cause"].tolist()}
    assert causes == {layout.CAUSE_TIMER, layout.CAUSE_MESSAGE}


@needs_rclcpp
def test_messages_inside_a_process_are_seen_and_matched(tmp_path: Path) -> None:
    seen = observe([str(STOCK), "intra", str(JOBS)], tmp_path)
    said = counts(seen)
    found = of_program(seen.jobs)
    assert found["/robot/relay/subscription/first/intra_process"] == said["relay"]
    assert found["/sink/subscription/second/intra_process"] == said["sink"]
    for name in (
        "/robot/relay/subscription/first/intra_process",
        "/sink/subscription/second/intra_process",
    ):
        assert seen.taken(name) <= seen.published
    first = seen.entry("/robot/relay/subscription/first/intra_process")
    assert first.group == seen.entry("/robot/relay/service/ask").group


def of_file(values: str, arguments: list[str], folder: Path) -> Seen:
    """Run plain rclcpp as `rclrt run` does; return what the executors of rclrt have traced."""
    file, own = folder / "robot.yaml", folder / "own"
    file.write_text(f"/**: {{ros__parameters: {{rclrt: {{{values}}}}}}}\n", encoding="utf-8")
    given = {"RCLRT_RUN": str(HERE.parent / "rclrt_rclcpp"), "RCLRT_CONFIGURATION": str(file)}
    seen = Seen(run([str(STOCK), *arguments], folder, RCLRT_TRACE=str(own), **given), {})
    assert counts(seen)["sink"] == int(arguments[1])
    return replace(seen, traces={path.name: read_trace(path) for path in own.glob("*.trace")})


@needs_rclcpp
@pytest.mark.parametrize("executor", ["single", "multi", "events"])
def test_what_a_file_says_reaches_plain_rclcpp(executor: str, tmp_path: Path) -> None:
    values = """callbacks: {/source/timer/*: {relative_deadline: 7ms, budget:
      {runtime: RUNTIME, period: 10s, on_overrun: notify}}}, chains: {way: {semantics: latency,
      deadline: 1us, callbacks: [/source/timer/*, /**/subscription/first]}}"""
    seen = of_file(values.replace("RUNTIME", "100us"), [executor, "100"], tmp_path)
    assert "/source/timer/10ms: needs more than its budget of 100 us" in seen.process.stderr
    assert "chain 'way': missed its deadline of 0.001 ms" in seen.process.stderr
    timer = [job for trace in seen.traces.values() for job in trace.jobs if job["deadline_ns"]]
    assert 7_000_000 in {int(job["deadline_ns"] - job["release_ns"]) for job in timer}
    refused = of_file(values.replace("RUNTIME", "1us"), [executor, "100"], tmp_path / "own")
    assert "an executor runs as without rclrt" in refused.process.stderr


@needs_rclcpp
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("executor", ["single", "multi", "events"])
def test_a_user_who_may_not_have_what_the_file_says_is_told(executor: str, tmp_path: Path) -> None:
    values = """executor: {max_threads: 1}, callbacks: {/source/timer/*: {scheduling_policy: fifo,
      priority: 5}, /**/subscription/*: {scheduling_policy: fifo, priority: 7}}"""
    seen = of_file(values, [executor, "100", "other_user"], tmp_path)
    assert seen.process.stderr.count("(Operation not permitted)") == 1


@pytest.mark.parametrize("executor", ["single", "multi"])
def test_every_job_of_plain_rclpy_is_seen_and_matched(executor: str, tmp_path: Path) -> None:
    seen = observe([sys.executable, str(RCLPY), executor, str(JOBS)], tmp_path)
    said = counts(seen)
    found = seen.jobs
    # What runs while the program ends may be cut off in the middle.
    assert said["timer"] - 1 <= found["/snake/timer/10ms"] <= said["timer"] + 1
    assert said["subscription"] - 1 <= found["/snake/subscription/slither"]
    assert seen.taken("/snake/subscription/slither") <= seen.published
    assert seen.taken("/snake/service/ask") <= seen.published
    assert seen.entry("/snake/timer/10ms").period_ns == 10_000_000
    assert "callback_start" in seen.missing


def test_what_a_running_process_publishes_is_counted() -> None:
    snake = [sys.executable, str(RCLPY), "single", "1000000", "--ros-args", "-r", "__node:=snake"]
    with subprocess.Popen(snake, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr and "it spins\n" in child.stderr
        look = [*cli.command("observe", "--pid", str(child.pid)), "--for", "0.1"]
        done = subprocess.run(look, capture_output=True, text=True, check=True, timeout=100)
        child.terminate()
    found = re.search(r"/snake publishes /slither \[builtin.*\], (\d+) messages in 1", done.stdout)
    assert found and 10 < int(found[1]) <= 150, done.stdout  # 100 a second, fewer on a busy machine
    assert re.search(r"/snake publishes /parameter_events \[.*\], \d+ messages in 1", done.stdout)


@pytest.mark.skipif(not REFERENCE.exists(), reason="rclrt_reference_system is built apart")
@pytest.mark.parametrize("executor", ["wait_set_single", "wait_set_multi"])
def test_wait_set_executors_without_tracepoints_are_seen_by_what_they_take(
    executor: str, tmp_path: Path
) -> None:
    command = [str(REFERENCE), "--scenario", str(SCENARIO), "--executor", executor]
    seen = observe([*command, "--duration", "2", "--out", str(tmp_path / "report.json")], tmp_path)
    assert seen.process.returncode == 0, seen.process.stderr
    jobs = seen.jobs
    assert seen.entry("/FrontLidarDriver/timer/100ms").period_ns == 100_000_000
    assert jobs["/FrontLidarDriver/timer/100ms"] > 0
    timers = [
        trace.jobs[trace.jobs["cause"] == layout.CAUSE_TIMER] for trace in seen.traces.values()
    ]
    assert all((one["release_ns"] < one["ready_ns"]).all() for one in timers), "nominal releases"
    assert not [name for name in jobs if name.startswith("?")], "jobs of the timers below them"
    path = (
        "/PointsTransformerFront/subscription/FrontLidarDriver",
        "/PointCloudFusion/subscription/PointsTransformerFront",
    )
    for name in path:
        assert jobs[name] > 0
        assert seen.taken(name) <= seen.published


def observe_engine(program: str, executor: str, folder: Path) -> tuple[Seen, Seen]:
    """Run a program of one of our front ends; return what the probe saw and its own trace."""
    if not ON_ENGINE[program].exists():
        pytest.skip(f"{program} is not built")
    own = folder / "own"
    seen = observe([str(ON_ENGINE[program]), executor, str(JOBS)], folder, RCLRT_TRACE=str(own))
    assert seen.process.returncode == 0, seen.process.stderr
    return seen, replace(seen, traces={path.name: read_trace(path) for path in own.glob("*.trace")})


def releases(seen: Seen, name: str) -> list[int]:
    """When jobs of a callback were released, in order."""
    return sorted(
        int(job["release_ns"])
        for trace in seen.traces.values()
        for job in trace.jobs
        if trace.callbacks[int(job["callback"])].name == name
    )


@pytest.mark.parametrize("executor", ["preemptive", "isolated", "events"])
@pytest.mark.parametrize("program", ON_ENGINE)
def test_every_job_on_our_executors_is_seen_once_and_as_in_their_own_trace(
    program: str, executor: str, tmp_path: Path
) -> None:
    seen, own = observe_engine(program, executor, tmp_path)
    of_clients = {"/source/client/ask"}  # Nobody tells when the callback of a client begins.
    assert own.jobs["/source/timer/10ms"] == JOBS
    assert own.jobs["/source/client/ask"] == JOBS
    own_jobs = of_program(own.jobs)
    assert of_program(seen.jobs) == {n: c for n, c in own_jobs.items() if n not in of_clients}
    for name in ("/robot/relay/subscription/first", "/sink/subscription/second"):
        assert own_jobs[name] == JOBS
        assert seen.taken(name) == own.taken(name) <= seen.published
    assert all(trace.dropped == 0 for trace in seen.traces.values())


def test_requests_to_a_service_of_rclrt_rcl_are_matched(tmp_path: Path) -> None:
    seen, _ = observe_engine("rclrt_rcl", "preemptive", tmp_path)
    assert sum(seen.taken("/robot/relay/service/ask").values()) == JOBS
    assert seen.taken("/robot/relay/service/ask") <= seen.published


def test_timers_of_rclrt_rcl_are_seen_with_their_nominal_release(tmp_path: Path) -> None:
    seen, own = observe_engine("rclrt_rcl", "preemptive", tmp_path)
    assert releases(seen, "/source/timer/10ms") == releases(own, "/source/timer/10ms")
    assert seen.entry("/source/timer/10ms").period_ns == 10_000_000
    assert "main" in seen.note("/source/timer/10ms")


def test_messages_by_pointer_in_rclrt_rcl_are_seen_and_matched(tmp_path: Path) -> None:
    seen, own = observe_engine("rclrt_rcl", "intra", tmp_path)
    for name in ("/robot/relay/subscription/first", "/sink/subscription/second"):
        assert seen.jobs[name] == own.jobs[name] == JOBS
        assert seen.taken(name) <= seen.published
        assert sum(seen.taken(name).values()) == JOBS
