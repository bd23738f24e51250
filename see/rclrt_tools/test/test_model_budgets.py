# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Budgets that a model or a parameters file has: what they take, and whether they may run out."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from engine_runs import MS, OVERHEADS, Seen, graph, run_on_engine
from models import SCHEMA, model
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Budget, Callback, Executor, ExecutorKind, Kind, ModelError, System
from rclrt_analysis.plan.parameters import applied, check_names, read_plan, to_parameters
from rclrt_analysis.plan.search import make_plan
from rclrt_analysis.simulation import SimulationError, simulate
from rclrt_tools.cli import main
from test_plan import opening
from test_system_bounds import analysed, bounds, subscription, timer

ISOLATED = "{name: e, kind: isolated}"
SMALL = ", budget: {runtime_ms: 12, period_ms: 40}"


def close(expected: dict[str, float | None]) -> object:
    return pytest.approx(expected, abs=1e-5)


def reasons(result: object) -> dict[str, str]:
    return {b.name: b.local.reason for b in result.callbacks}  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["isolated", "preemptive"])
def test_what_may_need_more_is_to_others_what_its_budget_allows(kind: str) -> None:
    # docs/how-to/budgets.md: 12 ms of 40, and what the watch lets pass. Two budgets meet.
    lines = [timer("detect", 50, 20, 80, SMALL), timer("steer", 10, 1, 50)]
    chain = "chains: [{name: c, callbacks: [detect]}]\n"
    result = analysed(f"{{name: e, kind: {kind}}}", *lines, rest=chain)
    assert bounds(result) == close({"detect": None, "steer": 2 * (12 + 12 / 32) + 1})
    text = "the budget of 'detect', 12 in 40 ms, may run out: it may need 41.25 in that time"
    assert text in reasons(result)["detect"]
    assert result.chains[0].bound is None
    assert "BUDGETS" in {a.name for a in result.assumptions}


def test_a_budget_that_cannot_run_out_changes_nothing() -> None:
    lines = [timer("detect", 50, 5, 80), subscription("s", 2, "detect", ", priority: 60")]
    low = timer("low", 100, 20, 10)
    free = analysed(ISOLATED, *lines, low)
    # Two jobs of 5 ms may meet in 40 ms and 5: no, one does, and takes 5 ms and a 32nd.
    enough = ", budget: {runtime_ms: 5.15625, period_ms: 40}"
    limited = analysed(ISOLATED, lines[0] + enough, lines[1], low)
    assert bounds(limited) == bounds(free)
    less = ", budget: {runtime_ms: 5.156, period_ms: 40}"
    result = analysed(ISOLATED, lines[0] + less, lines[1], low)
    assert bounds(result)["detect"] is None


def test_what_waits_for_who_was_demoted_has_no_bound() -> None:
    lines = [
        timer("detect", 50, 20, 80, SMALL), subscription("s", 2, "detect", ", priority: 5"),
        timer("above", 100, 1, 90), timer("between", 100, 1, 50),
    ]  # fmt: skip
    found = bounds(analysed(ISOLATED, *lines))
    assert found == close({"detect": None, "s": None, "above": 1, "between": 2 * 12.375 + 2})
    # If it is more urgent, nothing below is known: it may have any number of messages.
    lines[1] = subscription("s", 2, "detect", ", priority: 70")
    found = bounds(analysed(ISOLATED, *lines))
    assert found == {"detect": None, "s": None, "above": 1, "between": None}
    # A budget of its own limits that.
    lines[1] += ", budget: {runtime_ms: 2, period_ms: 50}"
    found = bounds(analysed(ISOLATED, *lines))
    assert found["between"] == pytest.approx(2 * 12.375 + 2 * 2.0625 + 2, abs=1e-5)


def test_a_group_has_one_budget_for_all() -> None:
    executor = "{name: e, kind: isolated, budgets: {g: {runtime_ms: 12, period_ms: 40}}}"
    lines = [timer(f"t{i}", 50, 10, 80 - i, ", group: g") for i in range(3)]
    found = bounds(analysed(executor, *lines, timer("steer", 10, 1, 50)))
    assert found == close({"t0": None, "t1": None, "t2": None, "steer": 2 * 12.375 + 1})
    lines = [timer(f"t{i}", 100, 2, 80 - i, ", group: g") for i in range(3)]
    free = bounds(analysed(ISOLATED, *lines, timer("steer", 20, 1, 50)))
    assert bounds(analysed(executor, *lines, timer("steer", 20, 1, 50))) == free


@pytest.mark.parametrize(
    ("executor", "more"),
    [
        ("isolated", ", group: g"),  # What waits for it lends it its priority.
        ("priority_events", ""),  # It has the only thread.
        ("isolated, cores: [0, 1]", ""),
    ],
)
def test_where_nobody_can_be_demoted_alone_nothing_beside_has_a_bound(
    executor: str, more: str
) -> None:
    lines = [timer("detect", 50, 20, 80, SMALL + more), timer("steer", 30, 1, 50, more)]
    result = analysed(f"{{name: e, kind: {executor}}}", *lines)
    assert bounds(result) == {"detect": None, "steer": None}
    assert "the budget of 'detect'" in reasons(result)["steer"]


WATCHED = "overheads: {watch_ms: 0.02}\n"


def test_looks_at_budgets_are_in_the_bounds() -> None:
    a = timer("a", 20, 2, 50, ", budget: {runtime_ms: 3, period_ms: 15}")
    b = timer("b", 50, 5, 40, ", budget: {runtime_ms: 6, period_ms: 40}")
    found = bounds(analysed(ISOLATED, a, b, timer("c", 100, 10, 30), rest=WATCHED))
    # A look at the begin of a job, one after it, one more if it is preempted, and one each time
    # that for which it is preempted takes as long as what it leaves: b leaves 6 - 5 x 33 / 32 ms.
    of_a, of_b = 3 * 0.02, (3 + 2) * 0.02
    first = 2 + of_a + of_b
    assert found == close(
        {"a": first, "b": first + 5, "c": first + 5 + 10 + of_a}  # Two jobs of a may meet there.
    )
    assert bounds(analysed(ISOLATED, timer("c", 100, 10, 30), rest=WATCHED)) == {"c": 10}


def test_looks_at_budgets_delay_other_cores_as_well() -> None:
    """The thread that watches is of none in particular."""
    executors = "{name: e, kind: isolated, cores: [0]}, {name: f, kind: isolated, cores: [1]}"
    a = timer("a", 20, 2, 50, ", budget: {runtime_ms: 3, period_ms: 15}")
    b = timer("b", 20, 2, 50).replace("executor: e", "executor: f")
    assert bounds(analysed(executors, a, b, rest=WATCHED)) == close({"a": 2.06, "b": 2.06})


def test_many_jobs_with_budgets_make_a_look_longer() -> None:
    budget = ", budget: {runtime_ms: 3, period_ms: 30}"
    lines = [timer(f"t{i}", 100, 1, 50 - i, budget) for i in range(5)]
    found = bounds(analysed(ISOLATED, *lines, rest=WATCHED))
    looks = sum(3 + int((found[f"t{i}"] - 1) / (3 - 33 / 32)) for i in range(5))
    assert found["t0"] == pytest.approx(1 + looks * 2 * 0.02)


def test_where_nothing_bounds_the_looks_nothing_has_a_bound() -> None:
    detect = timer("detect", 50, 20, 80, SMALL)
    executors = "{name: e, kind: isolated, cores: [0]}, {name: f, kind: isolated, cores: [1]}"
    b = timer("b", 20, 2, 50).replace("executor: e", "executor: f")
    assert bounds(analysed(executors, detect, b)) == {"detect": None, "b": 2}
    assert bounds(analysed(executors, detect, b, rest=WATCHED)) == {"detect": None, "b": None}
    two = "{name: e, kind: isolated, cores: [0, 1]}"
    result = analysed(two, timer("a", 20, 2, 50, SMALL), rest=WATCHED)
    assert "Leave watch_ms out" in reasons(result)["a"]


@pytest.mark.parametrize("cost", ["release", "receive", "publish", "watch"])
def test_costs_that_a_budget_does_not_limit_leave_no_bound_beside_it(cost: str) -> None:
    lines = [timer("detect", 50, 20, 80, SMALL), timer("steer", 30, 1, 50)]
    result = analysed(ISOLATED, *lines, rest=f"overheads: {{{cost}_ms: 0.1}}\n")
    assert bounds(result) == {"detect": None, "steer": None}


@pytest.mark.parametrize(
    ("executor", "more", "expected"),
    [
        ("kind: events_fifo", SMALL, r":5: nobody enforces budgets under events_fifo"),
        (
            "kind: isolated, reservation: {budget_ms: 1, period_ms: 5}", SMALL,
            r":5: a reservation is a budget already",
        ),
        ("kind: isolated", SMALL.replace("12", "0.05"), r":5: runtime_ms 0.05 is less than 0.1"),
        ("kind: isolated", SMALL.replace("12", "50"), r":5: runtime_ms exceeds period_ms"),
        (
            "kind: isolated", ", budget: {runtime_ms: 0.2, period_ms: 0.5}",
            r":5: period_ms 0.5 is less than 1",
        ),
        (
            "kind: isolated, budgets: {g: {runtime_ms: 1, period_ms: 5}}", SMALL + ", group: g",
            r":5: its group 'g' has a budget",
        ),
        (
            "kind: isolated, budgets: {h: {runtime_ms: 1, period_ms: 5}}", ", group: g",
            r":3: 'e' has no group 'h'",
        ),
        ("kind: isolated, budgets: {g: {runtime_ms: 1}}", ", group: g", "'period_ms' is missing"),
    ],
)  # fmt: skip
def test_budgets_that_cannot_be_are_refused_with_their_line(
    executor: str, more: str, expected: str
) -> None:
    text = f"executors: [{{name: e, {executor}}}]\ncallbacks:\n"
    with pytest.raises(ModelError, match=expected):
        model(text + f"  - {{{timer('detect', 50, 5, 80, more)}}}\n")


def test_what_may_run_out_is_not_simulated() -> None:
    text = f"executors: [{ISOLATED}]\ncallbacks:\n"
    system = model(text + f"  - {{{timer('detect', 50, 5, 80, SMALL)}}}\n")
    assert simulate(system, 10**9, 1).jobs
    system = model(text + f"  - {{{timer('detect', 50, 20, 80, SMALL)}}}\n")
    with pytest.raises(SimulationError, match="the budget of 'detect', 12 in 40 ms, may run out"):
        simulate(system, 10**9, 1)


def test_the_command_says_where_a_budget_stands_that_may_run_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RCLRT_SOURCE_DIR", str(SCHEMA.parents[3]))
    path = tmp_path / "robot.yaml"
    small = "budgets: {g: {runtime_ms: 1, period_ms: 40}}"
    lines = [timer("detect", 50, 20, 80, SMALL), timer("other", 50, 2, 70, ", group: g")]
    text = "".join(f"  - {{{line}}}\n" for line in lines)
    head = f"schema: 1\nname: robot\nexecutors:\n  - {{name: e, kind: isolated, {small}}}\n"
    path.write_text(f"{head}callbacks:\n{text}", encoding="utf-8")
    assert main(["model", "simulate", str(path)]) == 2
    told = capsys.readouterr().err
    assert f"{path}:6: the budget of 'detect', 12 in 40 ms, may run out" in told
    assert f"{path}:4: the budget of 'group g', 1 in 40 ms, may run out" in told
    path.write_text(path.read_text().replace("runtime_ms: 12", "runtime_ms: 39"), encoding="utf-8")
    assert main(["model", "simulate", str(path)]) == 2


ROBOT = """
cpus: [0]
may_use: [budgets]
executors:
  - name: e
    kind: isolated
    budgets: {/log/group/default: {runtime_ms: 30, period_ms: 90}}
callbacks:
  - {name: /see/timer/50ms, kind: timer, executor: e, period_ms: 50, wcet_ms: 5, publishes: [x], budget: {runtime_ms: 6, period_ms: 40}}
  - {name: /act/subscription/x, kind: subscription, executor: e, wcet_ms: 2, triggers: [x]}
  - {name: /log/timer/100ms, kind: timer, executor: e, period_ms: 100, wcet_ms: 5, group: /log/group/default}
  - {name: /log/timer/200ms, kind: timer, executor: e, period_ms: 200, wcet_ms: 5, group: /log/group/default}
chains:
  - {name: c, callbacks: [/see/timer/50ms, /act/subscription/x], deadline_ms: 90}
"""  # noqa: E501


def test_a_plan_keeps_the_budgets_of_the_model_and_its_file_is_analysed_with_them(
    tmp_path: Path,
) -> None:
    model_of = opening(tmp_path, ROBOT)
    made = make_plan(model_of, 5)
    assert made.proved
    assert not made.doubts
    text = to_parameters(made, "robot.yaml")
    content = yaml.safe_load(text)["/**"]["ros__parameters"]["rclrt"]
    mine = {"runtime": "6ms", "period": "40ms"}
    assert content["callbacks"]["/see/timer/50ms"]["budget"] == mine
    group = {"/log/group/default": {"budget": {"runtime": "30ms", "period": "90ms"}}}
    assert content["groups"] == group
    assert "budget" not in content["callbacks"]["/log/timer/100ms"]
    assert "c" in made.kept_apart
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    assert analyse(applied(model_of, read_plan(path))).met
    # An edited file is taken as it stands.
    for old, new, name in (
        ("runtime: 6ms", "runtime: 5ms", "/see/timer/50ms"),
        ("runtime: 30ms", "runtime: 9ms", "group /log/group/default"),
    ):
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        result = analyse(applied(model_of, read_plan(path)))
        assert not result.met
        assert f"'{name}'" in result.run_out[0]
    quiet = "runtime: 5ms, on_overrun: notify"
    path.write_text(text.replace("runtime: 6ms", quiet), encoding="utf-8")
    assert analyse(applied(model_of, read_plan(path))).met
    path.write_text(text.replace("runtime: 6ms", "runtime: soon"), encoding="utf-8")
    with pytest.raises(ModelError, match="the budget of '/see/timer/50ms' is none"):
        applied(model_of, read_plan(path))
    assert "period: 40ms" in text
    for wrong in ("period: 0", "period: 40ms, criticality: low"):
        path.write_text(text.replace("period: 40ms", wrong), encoding="utf-8")
        with pytest.raises(ModelError, match="the budget of '/see/timer/50ms' is none"):
            applied(model_of, read_plan(path))
    # What no bound counts is refused.
    shared = "{callbacks: [/see/timer/50ms], budget: {runtime: 5ms, period: 40ms}}"
    chains = text.replace("      chains:\n", f"      chains:\n        brake: {shared}\n")
    assert chains != text
    path.write_text(chains, encoding="utf-8")
    with pytest.raises(ModelError, match="chain 'brake' has a budget"):
        applied(model_of, read_plan(path))


def test_a_group_that_no_file_can_name_is_refused(tmp_path: Path) -> None:
    made = opening(tmp_path, ROBOT.replace("/log/group/default", "log"))
    assert "group 'log'" in check_names(made.system)[0]


def hungry(rng: random.Random, shared: bool) -> System:
    """Return timers, and callbacks that need far more than their budget."""
    period = rng.choice([20, 30, 40]) * MS
    budget = Budget(int(period * rng.uniform(0.1, 0.3)), period)
    group = "hungry" if shared else ""
    made = [
        Callback(
            f"hungry{i}", Kind.TIMER, "e", 3 * budget.runtime, period=rng.choice([40, 50, 80]) * MS,
            deadline=None, priority=30 + i, group=group, budget=None if shared else budget,
        )
        for i in range(3 if shared else 1)
    ]  # fmt: skip
    for i in range(3):
        every = rng.choice([50, 80, 100, 160]) * MS
        made.append(
            Callback(
                f"t{i}", Kind.TIMER, "e", int(every * rng.uniform(0.02, 0.12)), period=every,
                deadline=every, priority=rng.choice([20, 35]) + i,
            )
        )  # fmt: skip
    executor = Executor("e", rng.choice([ExecutorKind.PREEMPTIVE, ExecutorKind.ISOLATED]))
    budgets = (("hungry", budget),) if shared else ()
    executor = replace(executor, budgets=budgets)
    return System("hungry", (executor,), tuple(made), overheads=OVERHEADS)


@pytest.mark.parametrize("shared", [False, True])
def test_what_the_engine_demotes_takes_no_more_than_its_bound_says(
    shared: bool, tmp_path: Path
) -> None:
    rng = random.Random(5 + shared)
    seen_all = Seen()
    by_less = 0
    for _ in range(3):
        system = hungry(rng, shared)
        executors = tuple(replace(e, budgets=()) for e in system.executors)
        unlimited = replace(system, executors=executors).each(lambda c: replace(c, budget=None))
        limits, free = (
            {b.name: b.bound for b in analyse(one).callbacks} for one in (system, unlimited)
        )
        seen = run_on_engine(system, graph(system, rng), tmp_path)
        seen_all.add(seen)
        for name, times in seen.responses.items():
            assert max(times) <= (limits[name] or 0), (name, max(times) / MS, system)
            by_less += (free[name] or 2**60) > (limits[name] or 0)
    if seen_all.jobs - seen_all.discarded < 20:
        pytest.skip(f"the machine disturbed {seen_all.discarded} of {seen_all.jobs} jobs")
    assert by_less, "without budgets they would have a longer bound, or none"
