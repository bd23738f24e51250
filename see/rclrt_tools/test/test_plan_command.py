# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""./rclrt plan, and what a program makes of its file."""

import os
import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from programs import PROGRAM, rclrt, run_first_node
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import ModelError, Policy
from rclrt_analysis.plan.parameters import applied, misfits, read_plan, to_parameters
from rclrt_analysis.plan.search import Plan
from rclrt_analysis.simulation import simulate
from rclrt_tools.trace import layout
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.watch.watch import Watch
from test_plan import HERE, opening, plan

ROBOT = """schema: 1
name: robot
cpus: [0, 1]
overheads: {release_ms: 0.01}
executors:
  - {name: main, kind: preemptive}
callbacks:
  - {name: /first_node/timer/100ms, kind: timer, executor: main, period_ms: 100, wcet_ms: 1, publishes: [/tick]}
  - {name: /first_node/subscription/tick, kind: subscription, executor: main, wcet_ms: 2, triggers: [/tick]}
chains:
  - {name: tick, topics: [/tick], semantics: latency, deadline_ms: 20}
"""  # noqa: E501


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    path = tmp_path / "robot.yaml"
    path.write_text(ROBOT, encoding="utf-8")
    return path


def test_a_plan_is_written_and_checked(robot: Path, tmp_path: Path) -> None:
    out = tmp_path / "robot.params.yaml"
    made = rclrt("plan", robot, "-o", out)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("PROVED: all 2 deadlines\n")
    text = out.read_text(encoding="utf-8")
    assert '"/first_node/subscription/tick": {scheduling_policy: fifo, priority: ' in text
    assert "# chain tick: latency 1.010 of 20.000 ms, " in text
    assert rclrt("plan", robot, "--check", out).returncode == 0
    assert rclrt("analyze", robot, "--plan", out).stdout.startswith("MET: all 2 deadlines\n")
    out.write_text(text.replace("priority: ", "priority: 1"), encoding="utf-8")
    edited = rclrt("plan", robot, "--check", out)
    assert edited.returncode == 1
    assert "it was edited after it was made. Change the model" in edited.stderr


def test_without_a_proof_nothing_is_written_unless_asked_for(robot: Path, tmp_path: Path) -> None:
    out = tmp_path / "robot.params.yaml"
    robot.write_text(ROBOT.replace("deadline_ms: 20", "deadline_ms: 0.5"), encoding="utf-8")
    made = rclrt("plan", robot, "-o", out, "--time", "1")
    assert made.returncode == 1
    assert "each of these would do, the smallest first:\n  shorten" in made.stdout
    assert not out.exists()
    rclrt("plan", robot, "-o", out, "--time", "1", "--unproved")
    assert "# NOT PROVED" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("/tick]}\n", "/tick], priority: 100}\n", "robot.yaml:8: priority 100: threads have 1 to"),
        ("/first_node/timer/100ms", '"/*/timer/1"', "'/*/timer/1' is a pattern"),
        ("topics: [/tick]", "topics: [/tock]", "nobody publishes '/tock'. Did you mean '/tick'?"),
        ("name: robot", "name: &a [*a, *a]", "robot.yaml:2: alias *a; write the value out"),
        ("name: robot", "name: robot\nno_verdict: [guessed]", "no plan can be proved with this"),
        ("name: robot", "name: robot\n" + "#" * 10_000_000, "larger than 4 MiB, the most a model"),
        ("schema: 1", "schema: 9", "robot.yaml:1: this model is of schema 9"),
    ],
)
def test_bad_models_are_refused_with_line_and_remedy(
    robot: Path, old: str, new: str, expected: str
) -> None:
    robot.write_text(ROBOT.replace(old, new, 1), encoding="utf-8")
    made = rclrt("plan", robot)
    assert made.returncode == 2
    assert expected in made.stderr
    assert "Traceback" not in made.stderr


def test_an_analysis_of_what_is_open_names_the_plan(robot: Path) -> None:
    robot.write_text(ROBOT.replace("kind: preemptive", "kind: open"), encoding="utf-8")
    made = rclrt("analyze", robot)
    assert made.returncode == 2
    assert "robot.yaml:6: the kind of 'main' is open. rclrt plan chooses one" in made.stderr


MORE = ", silent_after_ms: 500.5, on_miss: {warn_after: 1, error_after: 3}}"


def test_a_plan_has_what_executors_watch_over(robot: Path, tmp_path: Path) -> None:
    out = tmp_path / "plan.yaml"
    model = ROBOT.replace("deadline_ms: 20}", "deadline_ms: 20" + MORE).replace(
        "topics: [/tick]", "callbacks: [/first_node/timer/100ms, /first_node/subscription/tick]"
    )
    robot.write_text(model, encoding="utf-8")
    made = rclrt("plan", robot, "-o", out)
    assert made.returncode == 0, made.stderr
    text = out.read_text(encoding="utf-8")
    assert "cpu_affinity: [0], wcet: 1ms, min_period: 100ms, response_bound: 1.01ms}" in text
    chains = """
      chains:
        "tick":
          callbacks: ["/first_node/timer/100ms", "/first_node/subscription/tick"]
          semantics: latency
          deadline: 20ms
          bound: 3.01ms
          silent_after: 500.5ms
          on_miss: {warn_after: 1, error_after: 3}
"""
    assert chains in text


def skip_without_a_program() -> None:
    if not PROGRAM.exists():
        pytest.skip("the example first_node is not built")
    limit, _ = resource.getrlimit(resource.RLIMIT_RTPRIO)
    if os.geteuid() != 0 and limit not in (-1, *range(90, 100)):
        pytest.skip("real-time priorities are not permitted (RLIMIT_RTPRIO)")


def test_a_program_runs_under_a_plan_and_refuses_one_that_names_what_it_has_not(
    robot: Path, tmp_path: Path
) -> None:
    skip_without_a_program()
    out = tmp_path / "robot.params.yaml"
    text = ROBOT.replace("deadline_ms: 20}", "deadline_ms: 20" + MORE)
    if (os.cpu_count() or 1) > 1:  # So that it also says where timers are released.
        two = "cores: [0]}\n  - {name: other, kind: preemptive, cores: [1]}"
        text = text.replace("kind: preemptive}", f"kind: preemptive, {two}")
        text = text.replace("subscription, executor: main", "subscription, executor: other")
    robot.write_text(text, encoding="utf-8")
    assert rclrt("plan", robot, "-o", out).returncode == 0
    status, lines, log = run_first_node(out)
    assert status == 0, log
    assert all(line.startswith("tick ") for line in lines), log
    text = out.read_text(encoding="utf-8")
    out.write_text(text.replace("subscription/tick", "subscription/tock"), encoding="utf-8")
    status, _, log = run_first_node(out)
    assert status != 0
    assert "/first_node/subscription/tock" in log


def test_a_program_runs_with_the_budgets_of_a_plan(robot: Path, tmp_path: Path) -> None:
    skip_without_a_program()
    text = ROBOT.replace("cpus: [0, 1]", "cpus: [0]\nmay_use: [budgets]")
    robot.write_text(text, encoding="utf-8")
    out = tmp_path / "robot.params.yaml"
    made = rclrt("plan", robot, "-o", out)
    assert made.returncode == 0
    assert "1 callbacks have budgets: 2 of 2 deadlines hold whatever others need" in made.stdout
    assert "budget: {runtime: " in out.read_text(encoding="utf-8")
    status, lines, log = run_first_node(out)
    assert status == 0, log
    assert all(line.startswith("tick ") for line in lines), log
    assert rclrt("plan", robot, "--check", out).returncode == 0


MS = 1_000_000
RESERVED = """
cpus: [0, 1]
executors:
  - {name: e, kind: isolated, reservation: {budget_ms: 4, period_ms: 20}}
  - {name: o, kind: open}
callbacks:
  - {name: /cam/timer/100ms, kind: timer, executor: e, period_ms: 100, wcet_ms: 5}
  - {name: /log/timer/50ms, kind: timer, executor: o, period_ms: 50, wcet_ms: 5}
chains:
  - {name: c, callbacks: [/cam/timer/100ms], semantics: latency, deadline_ms: 70}
"""
# By no priorities: 20 ms every 50, 40 ms every 70.
ONLY_EDF = """
cpus: [0]
may_use: [edf]
executors:
  - {name: e, kind: open}
callbacks:
  - {name: /a/timer/50ms, kind: timer, executor: e, period_ms: 50, wcet_ms: 20}
  - {name: /b/timer/70ms, kind: timer, executor: e, period_ms: 70, wcet_ms: 40}
"""


def entries(made: Plan) -> tuple[dict[str, str], dict[str, dict[str, object]]]:
    """Return the fields of the executor and those of callbacks in the file of a plan."""
    content = yaml.safe_load(to_parameters(made, "robot.yaml"))["/**"]["ros__parameters"]["rclrt"]
    return content["executor"], content["callbacks"]


def test_a_reservation_that_was_proved_is_in_the_file(tmp_path: Path) -> None:
    made = plan(tmp_path, RESERVED)
    assert made.proved
    _, callbacks = entries(made)
    cam = callbacks["/cam/timer/100ms"]
    (core,) = made.system.executor_of["e"].cores
    assert {k: cam[k] for k in ("scheduling_policy", "runtime", "deadline", "period")} == {
        "scheduling_policy": "deadline", "runtime": "4ms", "deadline": "20ms", "period": "20ms"
    }  # fmt: skip
    assert cam["cpu_affinity"] == [core]
    assert "priority" not in cam
    path = tmp_path / "plan.yaml"
    path.write_text(to_parameters(made, "robot.yaml"), encoding="utf-8")
    file, model = read_plan(path), opening(tmp_path, RESERVED)
    assert analyse(applied(model, file)).met
    assert misfits(file, model, HERE) == []
    (text,) = misfits(file, model, replace(HERE, reservations=False))
    assert "it has reservations, which need CAP_SYS_NICE" in text


def test_a_reservation_that_no_file_puts_in_force_is_refused(tmp_path: Path) -> None:
    text = RESERVED.replace("kind: isolated", "kind: priority_events")
    text = text.replace("executor: e, period_ms", "executor: e, priority: 5, period_ms")
    with pytest.raises(ModelError, match=r"robot.yaml:6: no parameters file gives the thread of"):
        opening(tmp_path, text)


def test_threads_go_by_deadlines_where_the_target_can_and_no_priorities_do(tmp_path: Path) -> None:
    made = plan(tmp_path, ONLY_EDF)
    assert made.proved
    assert made.how.startswith("isolated under edf")
    executor, callbacks = entries(made)
    # Without the scheduler in the kernel the executor fails: its bands know no CPUs.
    assert executor == {"attributes": "require", "policy": "edf", "deadline_scheduler": "sched_ext"}
    assert callbacks["/b/timer/70ms"]["scheduling_policy"] == "ext"
    assert callbacks["/b/timer/70ms"]["relative_deadline"] == "70ms"
    assert not plan(tmp_path, ONLY_EDF.replace("may_use: [edf]\n", "")).proved


@pytest.mark.parametrize(("text", "name"), [(RESERVED, "/cam/timer/100ms"),
                                            (ONLY_EDF, "/a/timer/50ms")])  # fmt: skip
def test_a_thread_that_does_not_run_by_what_was_proved_breaks_the_proof(
    tmp_path: Path, text: str, name: str
) -> None:
    system = plan(tmp_path, text).system
    executor = system.executor_of[system.callback_of[name].executor]
    right = layout.POLICY_EXT if executor.policy is Policy.EDF else layout.POLICY_DEADLINE
    traces = to_traces(simulate(system, 500 * MS))
    for policy in (right, layout.POLICY_OTHER, layout.POLICY_FIFO):
        watch = Watch(system)
        for trace in traces.values():
            records = trace.records.copy()
            mine = np.array([trace.callbacks[i].name == name for i in records["callback"]])
            records["policy"][mine] = policy
            watch.add(trace.header, trace.callbacks, records)
        assert ((name, "policy") in watch.broken) == (policy != right)
