# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Plans beyond fixed priorities: what is proved of reservations and EDF is in force, or fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import ModelError, Policy
from rclrt_analysis.plan.parameters import applied, misfits, read_plan, to_parameters
from rclrt_analysis.plan.search import Plan
from rclrt_analysis.simulation import simulate
from rclrt_tools.trace import layout
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.watch.watch import Watch
from test_plan import HERE, opening, plan

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
        "scheduling_policy": "deadline", "runtime": 4 * MS, "deadline": 20 * MS, "period": 20 * MS
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
    assert callbacks["/b/timer/70ms"]["relative_deadline"] == 70 * MS
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
        assert ((name, "policy") in watch.assumptions.broken) == (policy != right)
