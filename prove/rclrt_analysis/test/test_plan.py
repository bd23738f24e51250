# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Plans: what is open is chosen, what is fixed stays, what is written is what was proved."""

import itertools
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from models import FOLDER, ROOT, SCHEMA, make_system, to_plan
from random_systems import timers_only
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import ExecutorKind, ModelError, Policy, System, read_model
from rclrt_analysis.plan.change import changes, to_text
from rclrt_analysis.plan.levels import by_due, with_levels
from rclrt_analysis.plan.openings import Opening, read_open
from rclrt_analysis.plan.parameters import (
    Machine,
    applied,
    misfits,
    read_plan,
    remarks,
    to_parameters,
)
from rclrt_analysis.plan.placement import PlacementError
from rclrt_analysis.plan.search import Plan, check_by_simulation, make_plan

MS = 1_000_000
HERE = Machine(cpus=2, kernel="7.0", priority=99)


def opening(tmp_path: Path, text: str) -> Opening:
    path = tmp_path / "robot.yaml"
    path.write_text(f"schema: 1\nname: robot\n{text}", encoding="utf-8")
    return read_open(path, SCHEMA)


def plan(tmp_path: Path, text: str) -> Plan:
    return make_plan(opening(tmp_path, text), 120)  # What is found must not depend on the machine.


def all_open(system: System, cpus: tuple[int, ...] = (0,), places: bool = False) -> Opening:
    names = frozenset(c.name for c in system.callbacks)
    where = frozenset(e.name for e in system.executors) if places else frozenset()
    return Opening(system, names, frozenset(), where, cpus)


def autoware(cpus: str) -> str:
    """Return the model of the reference system with everything open."""
    text = (FOLDER / "autoware_reference_system.yaml").read_text(encoding="utf-8")
    text = re.sub(r"\n +priority: \d+", "", text)
    text = text.replace("kind: isolated, cores: [0]", "kind: open")
    return text[text.index("description:") :] + f"cpus: {cpus}\n"


ROBOT = """cpus: [0, 1]
executors:
  - {name: main, kind: open}
callbacks:
  - {name: /camera/timer/50ms, kind: timer, executor: main, period_ms: 50, wcet_ms: 3, publishes: [image]}
  - {name: /detect/subscription/image, kind: subscription, executor: main, wcet_ms: 12, triggers: [image], publishes: [objects]}
  - {name: /steer/timer/20ms, kind: timer, executor: main, period_ms: 20, wcet_ms: 2, reads: [objects], publishes: [cmd]}
  - {name: /log/timer/200ms, kind: timer, executor: main, period_ms: 200, wcet_ms: 60}
chains:
  - {name: see_and_steer, topics: [image, objects, cmd], deadline_ms: 110}
"""  # noqa: E501


@pytest.mark.parametrize("cpus", ["[0]", "[0, 1]"])
def test_the_reference_system_meets_its_deadlines_as_planned(tmp_path: Path, cpus: str) -> None:
    made = plan(tmp_path, autoware(cpus))
    assert made.proved
    assert not made.doubts
    assert analyse(made.system).met
    names = {chain.name for chain in made.system.chains}
    assert names <= made.seen.keys(), "the simulator saw both chains"
    # By rate it does not, whatever else is done.
    assert not analyse(read_model(FOLDER / "autoware_reference_system.yaml", SCHEMA)).met


@pytest.mark.parametrize("kind", [ExecutorKind.ISOLATED, ExecutorKind.PRIORITY_EVENTS])
def test_timers_on_one_thread_or_cpu_get_priorities_if_any_are_proved(kind: ExecutorKind) -> None:
    rng = random.Random(5)
    found = {True: 0, False: 0}
    while min(found.values()) < 12:
        system = replace(timers_only(rng, kind), chains=())
        if len(system.callbacks) > 4:
            continue
        # Without preemption some need other priorities than by deadline.
        shorter = (
            replace(c, deadline=max(c.wcet, int((c.deadline or 1) * rng.uniform(0.4, 1))))
            for c in system.callbacks
        )
        system = replace(system, callbacks=tuple(shorter))
        names = [c.name for c in system.callbacks]
        possible = any(
            analyse(with_levels(system, dict(zip(names, order, strict=True)))).met
            for order in itertools.permutations(range(1, len(names) + 1))
        )
        found[possible] += 1
        if found[possible] > 12:
            continue
        made = make_plan(all_open(system))
        assert made.proved == possible, system
        assert "Audsley" in made.optimal


def test_a_plan_keeps_what_the_model_says(tmp_path: Path) -> None:
    text = ROBOT.replace("kind: open", "kind: preemptive").replace(
        "period_ms: 200", "priority: 77, period_ms: 200"
    )
    made = plan(tmp_path, text)
    assert made.system.callback_of["/log/timer/200ms"].priority == 77
    assert {e.kind for e in made.system.executors} == {ExecutorKind.PREEMPTIVE}
    fixed = plan(tmp_path, ROBOT.replace("kind: open", "kind: isolated, cores: [1]"))
    assert [e.cores for e in fixed.system.executors] == [(1,)]
    by_rate = plan(tmp_path, ROBOT.replace("kind: open", "kind: isolated, policy: rm"))
    assert by_rate.system.callback_of["/steer/timer/20ms"].priority == 59


def test_callbacks_of_one_group_are_on_one_cpu(tmp_path: Path) -> None:
    text = ROBOT.replace("wcet_ms: 60", "wcet_ms: 60, group: g")
    made = plan(tmp_path, text.replace("wcet_ms: 3", "wcet_ms: 3, group: g"))
    callback_of = made.system.callback_of
    mine = [callback_of[name].executor for name in ("/log/timer/200ms", "/camera/timer/50ms")]
    assert mine[0] == mine[1]


def test_executors_with_a_thread_that_shares_no_cpu_get_one_each(tmp_path: Path) -> None:
    text = ROBOT.replace("kind: open}", "kind: priority_events}\n  - {name: o, kind: events_fifo}")
    text = text.replace("main, period_ms: 200", "o, period_ms: 200")
    made = plan(tmp_path, text)
    assert made.proved
    assert len({made.system.executor_of[n].cores for n in ("main", "o")}) == 2
    with pytest.raises(PlacementError, match=r"2 executors have a thread that shares no CPU"):
        plan(tmp_path, text.replace("cpus: [0, 1]", "cpus: [3]"))


def test_a_kind_of_executor_for_which_there_are_too_few_cpus_is_passed_over(tmp_path: Path) -> None:
    text = ROBOT.replace("cpus: [0, 1]", "cpus: [0]").replace(
        "kind: open}", "kind: open}\n  - {name: o, kind: open}"
    )
    text = text.replace("deadline_ms: 110", "deadline_ms: 80")
    made = plan(tmp_path, text.replace("main, period_ms: 200", "o, period_ms: 200"))
    assert not made.proved
    assert {e.kind for e in made.system.executors} == {ExecutorKind.ISOLATED}


def test_what_no_rule_places_well_is_moved_until_it_fits(tmp_path: Path) -> None:
    # Period, execution time, deadline: what rules place by is load, and here it is deadlines.
    timers = ((30, 3, 6), (30, 2, 8), (15, 2, 8), (10, 2, 8), (20, 2, 5), (30, 3, 5), (10, 2, 5))
    lines = [
        f"  - {{name: t{i}, kind: timer, executor: e, period_ms: {period}, wcet_ms: {wcet}, "
        f"deadline_ms: {deadline}}}\n"
        for i, (period, wcet, deadline) in enumerate(timers)
    ]
    text = "cpus: [0, 1]\nexecutors: [{name: e, kind: isolated}]\ncallbacks:\n"
    made = plan(tmp_path, text + "".join(lines))
    assert made.proved
    assert made.how.endswith(", moved")


def test_a_cpu_of_an_executor_that_shares_none_is_left_to_it(tmp_path: Path) -> None:
    text = ROBOT.replace(
        "kind: open}", "kind: isolated}\n  - {name: o, kind: events_fifo, cores: [0]}"
    )
    made = plan(tmp_path, text.replace("main, period_ms: 200", "o, period_ms: 200"))
    assert made.proved
    assert made.system.executor_of["main"].cores == (1,)


def test_if_only_deadlines_order_it_right_edf_is_chosen(tmp_path: Path) -> None:
    text = (
        "cpus: [0]\noverheads: {context_switch_ms: 9}\nexecutors: [{name: e, kind: open}]\n"
        "callbacks:\n"
        "  - {name: a, kind: timer, executor: e, period_ms: 9, wcet_ms: 3}\n"
        "  - {name: b, kind: timer, executor: e, period_ms: 5, wcet_ms: 2}\n"
        "  - {name: c, kind: timer, executor: e, period_ms: 6, wcet_ms: 1}\n"
    )
    made = plan(tmp_path, text)
    assert made.proved
    assert made.system.executors[0].policy is Policy.EDF
    entries = to_parameters(made, "robot.yaml")
    assert '"/**/a/timer/**": {relative_deadline: 9ms, cpu_affinity: [0], wcet: 3ms, ' in entries
    assert "policy: edf" in entries


def test_each_change_that_is_named_proves_everything_and_the_smallest_comes_first(
    tmp_path: Path,
) -> None:
    text = ROBOT.replace("cpus: [0, 1]", "cpus: [0]").replace("wcet_ms: 12", "wcet_ms: 20")
    made = plan(tmp_path, text.replace("deadline_ms: 110", "deadline_ms: 85"))
    assert not made.proved
    found = changes(made)
    assert len(found) >= 3
    assert all(analyse(change.system).met for change in found)
    assert [change.size for change in found] == sorted(change.size for change in found)
    assert any("shorten '/detect/subscription/image' from 20.000 to" in c.text for c in found)
    assert any("lengthen the deadline of see_and_steer from 85.000 to" in c.text for c in found)


def two_cpus(fast: str, slow: str) -> str:
    """Return the same system on each of two CPUs, with these fields; `#` stands for the CPU."""
    text = "executors:\n"
    for cpu in (0, 1):
        text += f"  - {{name: e{cpu}, kind: isolated, policy: fixed_priority, cores: [{cpu}]}}\n"
    text += "callbacks:\n"
    for cpu in (0, 1):
        for period, fields in ((10, fast), (20, slow)):
            text += f"  - {{name: /n{cpu}/timer/{period}ms, kind: timer, executor: e{cpu}, "
            text += f"period_ms: {period}, {fields.replace('#', str(cpu))}}}\n"
    return text


def test_if_no_change_of_one_callback_is_enough_several_are_named_together(tmp_path: Path) -> None:
    made = plan(tmp_path, two_cpus("wcet_ms: 6", "wcet_ms: 11"))
    assert not made.proved
    (change,) = [change for change in changes(made) if change.text.startswith("shorten")]
    assert analyse(change.system).met
    # One on each CPU, no more than needed.
    assert change.text.count("'/n0/") == change.text.count("'/n1/") == 1


def test_if_no_group_of_one_callback_is_enough_several_are_named_together(tmp_path: Path) -> None:
    made = plan(
        tmp_path,
        two_cpus("wcet_ms: 2, deadline_ms: 5, group: g#", "wcet_ms: 5, group: g#"),
    )
    assert not made.proved
    (change,) = [change for change in changes(made) if "groups of their own" in change.text]
    assert change.size == 0
    assert analyse(change.system).met
    assert change.text.count("'/n0/") == change.text.count("'/n1/") == 1


def test_overheads_that_are_too_large_are_named(tmp_path: Path) -> None:
    text = ROBOT.replace("cpus: [0, 1]", "cpus: [0]")
    made = plan(tmp_path, f"overheads: {{stolen_ms: 9, window_ms: 10}}\n{text}")
    assert not made.proved
    (change,) = [one for one in changes(made) if one.text.startswith("overheads ")]
    assert change.text.endswith("times as large as these: stolen_ms 9.000")
    assert 0 < change.system.overheads.stolen < 9 * MS
    assert change.system.overheads.window == 10 * MS
    assert analyse(change.system).met
    none = plan(tmp_path, text.replace("deadline_ms: 110", "deadline_ms: 60"))
    assert not any("overheads" in one.text for one in changes(none))


def test_a_plan_for_one_cpu_pins_the_thread_that_releases_timers(tmp_path: Path) -> None:
    text = ROBOT.replace("cpus: [0, 1]", "cpus: [1]").replace("wcet_ms: 60", "wcet_ms: 20")
    said = to_parameters(plan(tmp_path, f"overheads: {{wake_ms: 2}}\n{text}"), "robot.yaml")
    assert "timer_thread: {scheduling_policy: fifo, priority: 90, cpu_affinity: [1]}" in said
    assert "timer_thread" not in to_parameters(plan(tmp_path, text), "robot.yaml")


def test_groups_that_do_not_matter_are_not_named(tmp_path: Path) -> None:
    text = ROBOT.replace("wcet_ms: 60", "wcet_ms: 60, group: h").replace(
        "cpus: [0, 1]", "cpus: [0]"
    )
    text += "  - {name: soon, callbacks: [/log/timer/200ms], semantics: latency, deadline_ms: 50}\n"
    more = "  - {name: /m/timer/1s, kind: timer, executor: main, period_ms: 1000, wcet_ms: 1, "
    more += "group: h}\n"
    made = plan(tmp_path, text.replace("chains:", more + "chains:"))
    assert not made.proved
    assert not any("group of its own" in change.text for change in changes(made))


def test_a_simulator_that_contradicts_the_bounds_is_told(tmp_path: Path) -> None:
    made = plan(tmp_path, ROBOT)
    assert not made.doubts
    false = tuple(replace(chain, bound=1) for chain in made.result.chains)
    made.result = replace(made.result, chains=false)
    check_by_simulation(made)
    assert made.doubts[0].startswith("'see_and_steer' took ")
    assert "please report it" in to_text(made, [])


def test_what_a_chain_waits_for_anyway_is_not_time_for_its_work() -> None:
    system = read_model(FOLDER / "autoware_reference_system.yaml", SCHEMA)
    levels = by_due(system, [c.name for c in system.callbacks])
    # The hot paths have 150 ms, of which they wait 100 for the other LiDAR.
    assert levels["PointCloudFusion"] > levels["Visualizer"] > levels["BehaviorPlanner"]
    assert levels["EuclideanClusterSettings"] > levels["PointCloudFusion"]


def test_a_callback_that_needs_a_group_of_its_own_is_named(tmp_path: Path) -> None:
    text = ROBOT.replace("wcet_ms: 60", "wcet_ms: 60, group: /robot/group/default")
    text = text.replace("wcet_ms: 2,", "wcet_ms: 2, group: /robot/group/default,")
    made = plan(tmp_path, text.replace("kind: open", "kind: isolated"))
    assert not made.proved
    found = changes(made)
    assert found[0].size == 0
    assert "a callback group of its own, apart from '/robot/group/default'" in found[0].text


def test_the_thread_that_releases_timers_has_a_cpu_and_counts_there(tmp_path: Path) -> None:
    text = "overheads: {release_ms: 0.5}\n" + ROBOT
    model = opening(tmp_path, text)
    made = make_plan(model)
    assert made.proved
    thread = made.system.executor_of["timer thread"]
    path = tmp_path / "robot.params.yaml"
    path.write_text(to_parameters(made, "robot.yaml"), encoding="utf-8")
    said = "timer_thread: {scheduling_policy: fifo, priority: 90, "
    said += f"cpu_affinity: [{thread.cores[0]}]}}"
    assert said in path.read_text(encoding="utf-8")
    assert "release of" not in path.read_text(encoding="utf-8")
    # Each timer of the other CPU takes half a millisecond of this one.
    others = made.system.members("timer thread")
    mine = next(
        c for c in made.callbacks if made.system.executor_of[c.executor].cores == thread.cores
    )
    with_them = {b.name: b for b in made.result.callbacks}[mine.name].bound
    alone = replace(
        made.system, callbacks=tuple(c for c in made.system.callbacks if c not in others)
    )
    without = {b.name: b for b in analyse(alone).callbacks}[mine.name].bound
    assert others
    assert with_them is not None and without is not None
    assert with_them >= without + len(others) * MS // 2
    assert applied(model, read_plan(path)).callback_of == made.system.callback_of


def test_what_is_written_is_what_was_proved(tmp_path: Path) -> None:
    for text in (autoware("[0, 1]"), ROBOT):
        model = opening(tmp_path, text)
        made = make_plan(model)
        path = tmp_path / "robot.params.yaml"
        path.write_text(to_parameters(made, "robot.yaml"), encoding="utf-8")
        file = read_plan(path)
        assert misfits(file, model, HERE) == []
        again = applied(model, file)
        assert {c.name: c for c in again.callbacks} == made.system.callback_of
        assert analyse(again).met


def test_an_edited_plan_and_one_of_another_model_or_machine_are_noticed(tmp_path: Path) -> None:
    model = opening(tmp_path, ROBOT)
    path = tmp_path / "robot.params.yaml"
    text = to_parameters(make_plan(model), "robot.yaml")
    edited = re.sub(r"priority: (\d+)", "priority: 9", text, count=1)
    path.write_text(edited, encoding="utf-8")
    assert "it was edited after it was made" in misfits(read_plan(path), model, HERE)[0]
    path.write_text(text, encoding="utf-8")
    changed = opening(tmp_path, ROBOT.replace("wcet_ms: 3", "wcet_ms: 4"))
    assert "the model has changed since" in misfits(read_plan(path), changed, HERE)[0]
    assert (
        "it uses CPU 1, this machine has 1"
        in misfits(read_plan(path), model, replace(HERE, cpus=1))[0]
    )
    unable = misfits(read_plan(path), model, replace(HERE, priority=0))
    assert "this user may use none here. See docs/how-to/real-time-permissions.md" in unable[0]
    assert "this is 7.0: execution times" in remarks(read_plan(path), HERE)[0]
    path.write_text(text.replace("# plan: 1", "# plan: 2"), encoding="utf-8")
    with pytest.raises(ModelError, match="a plan of version 2, this program reads 1"):
        read_plan(path)
    path.write_text(ROBOT, encoding="utf-8")
    with pytest.raises(ModelError, match=r"this is no plan of rclrt plan"):
        read_plan(path)
    path.write_text(text.replace("/steer/timer/20ms", "/other/timer/20ms"), encoding="utf-8")
    with pytest.raises(ModelError, match="it has no entry for '/steer/timer/20ms'"):
        applied(model, read_plan(path))


def test_large_systems_take_few_analyses() -> None:
    system = to_plan(make_system(ExecutorKind.ISOLATED, 400, 80, 4, random.Random(3)), 3)
    made = make_plan(all_open(system, (0, 1, 2, 3), places=True))
    assert made.proved
    assert made.tried < 12


def test_the_plan_in_the_documentation_is_the_one_that_is_made(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "how-to" / "plan.md").read_text(encoding="utf-8")
    yaml_text, *blocks = text.split("```yaml\n")[1].split("```")[0::2]
    report = next(block for block in blocks if "PROVED" in block)
    path = tmp_path / "robot.yaml"
    path.write_text(yaml_text, encoding="utf-8")
    made = make_plan(read_open(path, SCHEMA))
    for line in to_text(made, []).splitlines():
        assert line in report
