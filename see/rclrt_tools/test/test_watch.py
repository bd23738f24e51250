# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A watch over records: chains as the simulator measures them, and assumptions that break."""

import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import model
from programs import rclrt
from random_systems import talking
from rclrt_analysis.model import Callback, Chain, Executor, ExecutorKind, Kind, System
from rclrt_analysis.plan.placement import with_timer_thread
from rclrt_analysis.simulation import Run, chain_ages, chain_latencies, simulate
from rclrt_tools.trace import TraceError, layout, write_trace
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.watch.diagnostics import statuses
from rclrt_tools.watch.sources import watch_files
from rclrt_tools.watch.text import shown_state, to_text, verdict
from rclrt_tools.watch.watch import Watch

MS = 1_000_000


def random_system(rng: random.Random) -> System:
    """Return what is talking, with sources outside, and timers that read what others publish."""
    return talking(rng, (ExecutorKind.ISOLATED, ExecutorKind.PRIORITY_EVENTS), 1, (1, 2), 0.3)


def test_a_name_may_stand_for_all_callbacks_of_one_kind_of_a_node() -> None:
    made = tuple(
        Callback(name, kind, "e", 1, period=9)
        for name, kind in (
            ("/a/fusion", Kind.SUBSCRIPTION),
            ("camera", Kind.TIMER),
            ("/x/subscription/y", Kind.SUBSCRIPTION),
        )
    )
    watch = Watch(System("s", (Executor("e", ExecutorKind.ISOLATED),), made))
    for real, model_name in (
        ("/a/fusion/subscription/left", "/a/fusion"),
        ("/a/fusion/subscription/ns/right", "/a/fusion"),
        ("/a/fusion/timer/5ms", None),
        ("/b/a/fusion/subscription/left", None),
        ("/camera/timer/50ms", "camera"),
        ("/front/camera/timer/50ms", "camera"),
        ("/front/camera2/timer/50ms", None),
        ("/x/subscription/y", "/x/subscription/y"),
        ("/x/subscription/z", None),
    ):
        assert watch.name_of(real) == model_name


def watched(run: Run, system: System, batch: int = 1 << 20) -> Watch:
    """Return a watch that has got the records of a run, some at a time."""
    watch = Watch(system)
    traces = list(to_traces(run).values())
    ends = np.concatenate([trace.records["end_ns"] for trace in traces])
    for begin in range(0, int(ends.max(initial=0)) + 1, batch):
        for trace in traces:
            end = trace.records["end_ns"]
            new = trace.records[(end >= begin) & (end < begin + batch)]
            watch.add(trace.header, trace.callbacks, new)
        # What has ended is there, but not all that has released it: that may run on.
        watch.settle(begin + batch - 1 - 20_000)
    watch.settle(int(ends.max(initial=0)))
    return watch


def test_a_watch_measures_what_the_simulator_measures() -> None:
    rng = random.Random(3)
    compared = dict.fromkeys(("reaction", "age", "latency"), 0)
    different = 0
    for _ in range(120):
        system = random_system(rng)
        run = simulate(system, 600_000, rng.randrange(1 << 30))
        for one in watched(run, system, rng.choice((1 << 20, 50_000))).chains:
            chain = replace(one.chain, join="wait")
            seen = [value for value, _ in one.instances]
            wanted = (chain_ages if chain.semantics == "age" else chain_latencies)(run, chain)
            # What came through with the first output had begun before it was watched.
            same = seen == wanted[max(0, len(wanted) - len(seen)) :]
            different += not same
            # A timer reads what was published. That is before the end if the publisher was
            # preempted there; then the records let data look older than they were.
            assert same or reads(system, chain), f"{chain}, {system}"
            assert abs(len(wanted) - len(seen)) < 40
            compared[chain.semantics] += len(seen)
    print(f"\ninstances compared: {compared}, chains that look older: {different}")
    assert min(compared.values()) > 1_500
    assert different < 10


def reads(system: System, chain: Chain) -> bool:
    return any(system.callback_of[name].reads for name in chain.callbacks[1:])


ROBOT = """
executors:
  - {name: e, kind: isolated, policy: fixed_priority, cores: [0]}
callbacks:
  - {name: look, kind: timer, executor: e, priority: 3, wcet_ms: 2, period_ms: 10, publishes: [a]}
  - {name: act, kind: subscription, executor: e, priority: 2, wcet_ms: 3, triggers: [a]}
  - {name: other, kind: timer, executor: e, priority: 1, wcet_ms: 1, period_ms: 50}
chains:
  - {name: grab, callbacks: [look, act], semantics: latency, deadline_ms: 6, silent_after_ms: 25,
     on_miss: {warn_after: 1, error_after: 3}}
"""


@pytest.fixture
def robot() -> System:
    return model(ROBOT)


def traces_of(system: System, horizon_ms: int = 200) -> list[layout.Trace]:
    return list(to_traces(simulate(system, horizon_ms * MS)).values())


def judged(system: System, traces: list[layout.Trace]) -> Watch:
    watch = Watch(system)
    for trace in traces:
        watch.add(trace.header, trace.callbacks, trace.records)
    watch.settle(0)
    watch.settle(max(int(trace.records["end_ns"].max()) for trace in traces))
    return watch


def test_a_system_that_does_as_its_model_says_stays_proved(robot: System) -> None:
    watch = judged(robot, traces_of(robot))
    content = watch.to_json()
    assert (content["proved"], content["missed"]) == (True, False)
    (chain,) = content["chains"]
    assert chain["state"] == "OK"
    assert chain["proved"] is True
    assert (chain["worst_ms"], chain["bound_ms"], chain["count"]) == (5, 5, 18)
    assert verdict(watch) == "deadlines met so far, proved"


def changed(trace: layout.Trace, name: str, column: str, value: int) -> layout.Trace:
    """Return it with something else in every record of a callback."""
    records = trace.records.copy()
    (key,) = [key for key, entry in trace.callbacks.items() if entry.name == name]
    records[column][records["callback"] == key] = value
    return replace(trace, records=records)


@pytest.mark.parametrize(
    ("name", "column", "value", "kind", "says"),
    [
        ("act", "cpu_ns", 4 * MS, "wcet", "'act' runs for 4 ms; the model says 3 ms"),
        ("look", "policy", layout.POLICY_OTHER, "policy", "'look' runs under other"),
        ("look", "cpu", 5, "cpu", "'look' runs on CPU 5; the model says 0"),
        ("look", "priority", 11, "priority", "runs under fifo 11; the model says 3"),
        ("other", "outcome", layout.DROPPED, "lost", "4 of its jobs did not run"),
    ],
)
def test_an_assumption_that_breaks_is_named_with_the_chains_it_breaks(
    robot: System, name: str, column: str, value: int, kind: str, says: str
) -> None:
    (trace,) = traces_of(robot)
    watch = judged(robot, [changed(trace, name, column, value)])
    assert watch.broken[name, kind]["chains"] == ["grab"]
    assert says in to_text(watch)
    assert not watch.to_json()["proved"]
    assert verdict(watch) == "deadlines met so far, no longer proved"


def test_a_sensor_at_twice_the_rate_breaks_the_assumption_of_its_period(robot: System) -> None:
    watch = judged(robot, traces_of(robot.but("look", period=5 * MS)))
    assert "released 5 ms after the last time; the model says 10 ms" in to_text(watch)


def test_a_callback_that_takes_twice_as_long_is_a_miss_an_error_and_above_its_bound(
    robot: System,
) -> None:
    watch = judged(robot, traces_of(robot.but("act", wcet=6 * MS)))
    (chain,) = watch.to_json()["chains"]
    assert (chain["state"], chain["misses"], chain["worst_ms"]) == ("ERROR", chain["count"], 8)
    assert ("act", "bound") in watch.broken
    assert verdict(watch) == "deadlines missed, no longer proved"


def test_nothing_is_proved_of_what_was_not_seen(robot: System) -> None:
    (trace,) = traces_of(robot)
    other = replace(
        trace,
        records=trace.records.copy(),
        callbacks={k: replace(e, name=f"x{e.name}") for k, e in trace.callbacks.items()},
    )
    other.records["policy"] = layout.POLICY_OTHER
    watch = judged(robot, [other])
    assert not watch.to_json()["proved"]
    assert verdict(watch) == "deadlines missed; no callback of the model was seen"
    (key,) = [key for key, entry in trace.callbacks.items() if entry.name == "act"]
    without = replace(trace, records=trace.records[trace.records["callback"] != key])
    watch = judged(robot, [without])
    assert verdict(watch) == "deadlines missed; nothing came out of 'grab'"
    assert watch.to_json()["chains"][0]["silent"]
    watch = judged(robot, [trace])
    watch.lost_records = 5
    assert not watch.to_json()["proved"]
    assert verdict(watch) == "5 records are missing"


def test_a_chain_above_its_bound_is_no_longer_proved(robot: System) -> None:
    (trace,) = traces_of(robot)
    records = trace.records.copy()
    (key,) = [key for key, entry in trace.callbacks.items() if entry.name == "act"]
    act = records["callback"] == key  # its messages come 20 ms later: no job of it is longer
    for column in ("release_ns", "ready_ns", "start_ns", "end_ns"):
        records[column][act] += 20 * MS
    watch = judged(replace(robot, chains=(replace(robot.chains[0], deadline=None),)),
                   [replace(trace, records=records)])  # fmt: skip
    assert watch.broken["grab", "chain"]["text"] == "took 25 ms; its bound is 5 ms"
    assert verdict(watch) == "deadlines met so far, no longer proved"


def test_what_is_not_in_the_model_and_urgent_breaks_the_proof(robot: System) -> None:
    (trace,) = traces_of(robot)
    fewer = replace(robot, callbacks=robot.callbacks[:2])
    watch = judged(fewer, [trace])
    assert watch.broken["other", "stranger"]["chains"] == ["grab"]
    fair = changed(trace, "other", "policy", layout.POLICY_OTHER)
    assert judged(fewer, [fair]).to_json()["proved"]


def test_what_is_released_by_what_the_model_does_not_know_breaks_the_proof(robot: System) -> None:
    """An input that was always the first of two to come, and now is the last."""
    publishing = replace(robot.callbacks[2], publishes=("a",))
    both = replace(robot, callbacks=(*robot.callbacks[:2], publishing))
    watch = judged(robot, traces_of(both))
    assert watch.broken["act", "trigger"]["chains"] == ["grab"]
    assert "'act' is released by 'other'; the model says 'look'" in to_text(watch)
    assert not watch.to_json()["proved"]
    assert ("act", "trigger") not in judged(both, traces_of(both)).broken


def test_callbacks_that_one_of_both_does_not_know_are_listed(robot: System) -> None:
    fewer = replace(robot, callbacks=robot.callbacks[:2])
    text = to_text(judged(fewer, traces_of(robot)))
    assert "not in the model: 'other'" in text
    other = replace(robot.callbacks[2], name="never")
    text = to_text(judged(replace(robot, callbacks=(*robot.callbacks, other)), traces_of(robot)))
    assert "nothing seen yet of 'never'" in text


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    files = (".yaml", ".trace", ".json")
    return rclrt("watch", *(folder / one if one.endswith(files) else one for one in arguments))


def test_the_command_watches_files_and_fails_on_what_it_was_asked_for(
    robot: System, tmp_path: Path
) -> None:
    (trace,) = traces_of(robot)
    (tmp_path / "robot.yaml").write_text(f"schema: 1\nname: robot\n{ROBOT}", encoding="utf-8")
    write_trace(trace, tmp_path / "good.trace")
    write_trace(changed(trace, "act", "cpu_ns", 4 * MS), tmp_path / "odd.trace")
    good = command(
        tmp_path, "robot.yaml", "good.trace", "--fail-on", "unproved", "--json", "out.json"
    )  # fmt: skip
    assert good.returncode == 0, good.stdout + good.stderr
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["proved"] is True
    for on, status in (("never", 0), ("miss", 0), ("unproved", 1)):
        assert command(tmp_path, "robot.yaml", "odd.trace", "--fail-on", on).returncode == status
    missing = command(tmp_path, "robot.yaml", "none.trace")
    assert missing.returncode == 2
    assert "none.trace" in missing.stderr
    # Nobody runs: no instance of the chain came.
    alone = ("robot.yaml", "--for", "0.3", "--program", "nobody")
    assert command(tmp_path, *alone, "--fail-on", "miss").returncode == 1


def test_files_of_two_machines_are_refused(robot: System, tmp_path: Path) -> None:
    (trace,) = traces_of(robot)
    write_trace(trace, tmp_path / "a.trace")
    header = replace(trace.header, boot_id=bytes(15) + b"x")
    write_trace(replace(trace, header=header), tmp_path / "b.trace")
    with pytest.raises(TraceError, match="another boot"):
        watch_files(Watch(robot), [tmp_path / "a.trace", tmp_path / "b.trace"])


def test_diagnostics_keep_what_lasted_for_less_than_their_period(robot: System) -> None:
    watch = Watch(robot)
    (chain, proof) = statuses(watch)
    assert (chain["name"], chain["level"], chain["message"]) == (
        "rclrt: chain grab",
        3,
        "not seen yet",
    )
    assert (proof["name"], proof["level"]) == ("rclrt: proof of test", 1)
    assert proof["message"] == "no callback of the model was seen"
    (trace,) = traces_of(robot)
    (act,) = [key for key, entry in trace.callbacks.items() if entry.name == "act"]
    late = (trace.records["callback"] == act) & (trace.records["end_ns"] // (30 * MS) == 2)
    trace.records["end_ns"][late] += 2 * MS
    watch.add(trace.header, trace.callbacks, trace.records)
    watch.settle(0)
    watch.settle(200 * MS)
    chain = statuses(watch)[0]
    assert (chain["level"], chain["message"]) == (2, "missed its deadline 3 times in a row")
    assert ["worst_ms", "7"] in chain["values"]
    assert ["p99_ms", "-"] in chain["values"]
    assert statuses(watch)[0]["level"] == 0
    slow = judged(robot, [changed(traces_of(robot)[0], "act", "cpu_ns", 4 * MS)])
    chain, proof = statuses(slow)
    assert (proof["level"], proof["message"]) == (1, "deadlines met so far, no longer proved")
    assert proof["values"] == [["act", "runs for 4 ms; the model says 3 ms"]]
    assert ["proved", "false"] in chain["values"]


def test_diagnostics_reach_ros(tmp_path: Path) -> None:
    rclpy = pytest.importorskip("rclpy")
    messages = pytest.importorskip("diagnostic_msgs.msg")
    text = ROBOT.replace("silent_after_ms: 25,", "")  # It would be silent at once.
    (tmp_path / "robot.yaml").write_text(f"schema: 1\nname: robot\n{text}", encoding="utf-8")
    line = [sys.executable, "-m", "rclrt_tools.cli", "watch", str(tmp_path / "robot.yaml")]
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("reader", context=context)
    heard: list[Any] = []
    node.create_subscription(messages.DiagnosticArray, "/diagnostics", heard.append, 10)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(node)
    with subprocess.Popen([*line, "--diagnostics", "--for", "30", "--program", "nobody"]) as watch:
        try:
            end = time.monotonic() + 25
            while not heard and time.monotonic() < end:
                executor.spin_once(timeout_sec=0.2)
        finally:
            watch.send_signal(signal.SIGINT)
    assert watch.returncode == 0
    rclpy.shutdown(context=context)
    assert [status.name for status in heard[0].status] == [
        "rclrt: chain grab",
        "rclrt: proof of robot",
    ]
    assert heard[0].status[0].level == b"\x03"
    assert heard[0].status[0].hardware_id == "robot"


def test_people_see_that_a_chain_has_missed_although_its_state_is_ok() -> None:
    for state, row, misses, shown in (
        ("OK", 0, 0, "OK"), ("OK", 0, 3, "OK again"), ("OK", 1, 1, "tolerated"),
        ("WARN", 2, 2, "WARN"),
    ):  # fmt: skip
        said = {"state": state, "misses": misses, "in_a_row": row, "silent": False}
        assert shown_state(said) == shown


@pytest.mark.parametrize(
    ("deadline", "color"), [(None, ""), (100, "\033[32m"), (11, "\033[33m"), (5, "\033[31m")]
)
def test_a_terminal_shows_by_its_colour_how_much_is_left_to_a_deadline(
    tmp_path: Path, deadline: int | None, color: str
) -> None:
    due = "" if deadline is None else f", deadline_ms: {deadline}"
    system = model(
        "executors: [{name: e, kind: isolated}]\n"
        "callbacks:\n"
        "  - {name: a, kind: timer, executor: e, period_ms: 50, wcet_ms: 10, priority: 1}\n"
        f"chains: [{{name: c, callbacks: [a], semantics: latency{due}}}]\n"
    )
    for name, trace in to_traces(simulate(system, 1000 * MS)).items():
        write_trace(trace, tmp_path / f"{name}.trace")
    watch = Watch(system)
    watch_files(watch, [tmp_path])
    line = to_text(watch, colored=True).splitlines()[1]
    assert line.startswith(f"{color}c ")
    assert line.endswith("\033[0m") == bool(color)
    assert "\033" not in to_text(watch)


def test_what_a_plan_counts_for_the_timers_is_not_waited_for() -> None:
    system = model(
        "executors: [{name: e, kind: isolated, cores: [0]},"
        " {name: f, kind: isolated, cores: [1]}]\n"
        "overheads: {release_ms: 0.1}\n"
        "callbacks:\n"
        "  - {name: a, kind: timer, executor: e, period_ms: 50, wcet_ms: 10, priority: 1}\n"
        "  - {name: b, kind: timer, executor: f, period_ms: 50, wcet_ms: 9, priority: 1}\n"
    )
    planned = with_timer_thread(system)
    assert len(planned.callbacks) > len(system.callbacks)
    assert "nothing seen yet of 'a', 'b'\n" in to_text(Watch(planned))
