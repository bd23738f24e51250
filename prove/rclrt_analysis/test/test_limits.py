# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Systems that no analysis could finish end with a verdict that says why: nothing hangs.

Where jitter and responses grow each other, what they may not delay keeps its bound."""

import importlib
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest
from models import make_system, shipped
from rclrt_analysis.bounds import effort, nonpreemptive_edf, unit
from rclrt_analysis.bounds.activation import Activation, urgencies
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.fixed_point import UNBOUNDED
from rclrt_analysis.bounds.result import Local, Result
from rclrt_analysis.bounds.taskset import make_taskset
from rclrt_analysis.bounds.unit import GROWING, MAX_ROUNDS, UNSETTLED, Unit, with_jitter
from rclrt_analysis.model import ExecutorKind, System
from rclrt_analysis.report import to_text
from rclrt_analysis.sensitivity import sensitivity
from rclrt_analysis.simulation import SimulationError, simulate
from test_system_bounds import EVENTS, analysed, bounds, reason, subscription, system_of, timer

LAYERS = 80
EXECUTORS = {
    "priority_events": "{name: e, kind: priority_events}",
    "edf": "{name: e, kind: priority_events, policy: edf}",
    "isolated": "{name: e, kind: isolated}",
    "fifo": "{name: e, kind: events_fifo}",
    "wait_set": "{name: e, kind: wait_set_single}",
    "several_threads": "{name: e, kind: wait_set_multi, threads: 2, cores: [0, 1]}",
}


def forks_and_joins(kind: str, wcet_ms: float, priority: int = 5) -> list[str]:
    """Return a timer and pairs of subscriptions, each to both of the pair before."""
    edf = kind == "edf"
    lines = [timer("t", 100, wcet_ms, None if edf else priority)]
    above = "t"
    for i in range(LAYERS):
        pair = [f"a{i}", f"b{i}"]
        due = ", deadline_ms: 50" if edf else ""
        lines += [subscription(name, wcet_ms, above, due) for name in pair]
        above = ", ".join(pair)
    return lines


@pytest.mark.parametrize("kind", EXECUTORS)
@pytest.mark.parametrize("wcet_ms", [0.001, 0])
def test_jobs_that_double_with_every_join_have_no_bound(kind: str, wcet_ms: float) -> None:
    result = analysed(EXECUTORS[kind], *forks_and_joins(kind, wcet_ms))
    last = result.callbacks[-1]
    assert (last.bound, result.met) == (None, False) or (wcet_ms, last.bound) == (0, 0)
    assert wcet_ms == 0 or reason(result)


@pytest.mark.parametrize("kind", ["priority_events", "isolated"])
def test_only_what_the_doubling_jobs_may_delay_is_without_a_bound(kind: str) -> None:
    jobs = forks_and_joins(kind, 0.001)
    above = bounds(analysed(EXECUTORS[kind], timer("x", 10, 1, 9), *jobs))
    assert above["x"] == (1.001 if kind == "priority_events" else 1)
    # Once the first pair is more urgent than "x", so is all that it sets off.
    raised = [line + ", priority: 50" if line.startswith("name: a0,") else line for line in jobs]
    assert bounds(analysed(EXECUTORS[kind], timer("x", 10, 1, 9), *raised))["x"] is None


def test_a_topic_that_everybody_publishes_and_everybody_gets_ends() -> None:
    layer = [timer(f"t{i}", 100, 0.001, 5).replace(f"[t{i}]", "[x]") for i in range(300)]
    layer += [subscription(f"s{i}", 0.001, "x").replace(f"[s{i}]", "[y]") for i in range(300)]
    layer += [subscription(f"z{i}", 0.001, "y") for i in range(300)]
    for kind in ("priority_events", "fifo", "wait_set"):
        result = analysed(EXECUTORS[kind], *layer)
        said = "too many callbacks" if kind == "priority_events" else "released in"
        assert said in reason(result)


@pytest.mark.parametrize("kind", [ExecutorKind.PRIORITY_EVENTS, ExecutorKind.ISOLATED])
def test_ten_thousand_callbacks_have_bounds_because_equal_periods_are_added_up(
    kind: ExecutorKind,
) -> None:
    def work(count: int) -> int:
        system = make_system(kind, count, 0, 1, random.Random(1))
        shorter = (replace(c, wcet=c.wcet // count) for c in system.callbacks)
        with effort.limited() as left:
            before = left.left
            result = analyse(replace(system, callbacks=tuple(shorter)))
            assert result.met
            return before - left.left

    assert work(10_000) < 15 * work(1_000)


def test_an_analysis_ends_with_its_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [timer("a", 20, 2, 9), timer("b", 50, 6, 1)]
    assert analysed(EXECUTORS["priority_events"], *lines).met
    monkeypatch.setattr(effort, "MOST", 3)
    assert "was spent. Reduce" in reason(analysed(EXECUTORS["priority_events"], *lines))


def test_deadlines_beyond_the_limit_are_not_looked_at_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks = make_taskset([10, 10, 10], [25, 35, 35])
    assert nonpreemptive_edf.exact(tasks).response.max() < UNBOUNDED
    assert not nonpreemptive_edf.no_theorem_2(tasks)
    monkeypatch.setattr(nonpreemptive_edf, "MAX_POINTS", 2)
    assert nonpreemptive_edf.exact(tasks).response.max() < UNBOUNDED
    assert nonpreemptive_edf.no_theorem_2(tasks)


def doubling() -> System:
    return system_of(EXECUTORS["fifo"], *forks_and_joins("fifo", 0))


def test_a_simulation_ends_with_its_events(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("rclrt_analysis.simulation.simulate")
    monkeypatch.setattr(module, "MAX_EVENTS", 5_000)
    with pytest.raises(SimulationError, match=r"5000 events after .* of 1 s"):
        simulate(doubling(), 10**9)


GIVEN_UP = "given up after 2000 steps"
FULL = [timer("a", 10, 5, 9), timer("b", 10, 5, 1), timer("c", 10, 5, 1)]
NEARLY = [timer("a", 10, 5.000001, 9), timer("b", 10.00001, 5, 1)]
SEVERAL = "{name: e, kind: isolated, cores: [0, 1]}"
PAIR = [timer("a", 10, 6, 9), timer("b", 10, 6, 8), timer("c", 10, 6, 7), timer("d", 10, 1, 6)]
BY_DEADLINE = "{name: e, kind: isolated, policy: edf}"
FULL_BY_DEADLINE = [timer("a", 10, 6), timer("b", 10, 6)]
TWO = "{name: e, kind: isolated}, {name: f, kind: isolated, cores: [1]}"
STARVED = [
    timer("k", 10, 5, 5),
    *(
        line.replace("executor: e", "executor: f")
        for line in (timer("h", 10, 10, 9), timer("p", 10, 1, 1))
    ),
    subscription("x", 6, "p", ", priority: 9"),
]


@pytest.mark.parametrize(
    ("executor", "lines", "name", "said"),
    [
        (EXECUTORS["isolated"], FULL, "b", "fills the processor"),
        (EXECUTORS["priority_events"], NEARLY, "b", GIVEN_UP),
        (EXECUTORS["isolated"], NEARLY, "b", GIVEN_UP),
        (SEVERAL, PAIR, "c", "may end later than 2 of the longest period"),
        (BY_DEADLINE, FULL_BY_DEADLINE, "a", "fills the processor"),
        (SEVERAL.replace("}", ", policy: edf}"), [timer(n, 10, 8) for n in "abc"], "a", "2 of the"),
        (EXECUTORS["fifo"], FULL_BY_DEADLINE, "a", "fills the processor"),
        (EXECUTORS["wait_set"], [timer("a", 10, 6), subscription("b", 5, "a")], "b", "full length"),
    ],
)
def test_a_reason_is_one_fact(executor: str, lines: list[str], name: str, said: str) -> None:
    told = {one.name: one.local.reason for one in analysed(executor, *lines).callbacks}
    assert said in told[name], told


@pytest.mark.parametrize(
    ("executor", "lines", "told"),
    [
        (EXECUTORS["isolated"], FULL, {"b": "It takes 150.000 % of the 100.000 %", "c": "exists"}),
        (BY_DEADLINE, FULL_BY_DEADLINE, {"a": "Take 20.000 % away", "b": "no bound exists"}),
        (EXECUTORS["fifo"], FULL_BY_DEADLINE, {"a": "no bound exists", "b": "no bound exists"}),
        # "p" hardly ever publishes, so "x" is no load.
        (TWO, STARVED, {"k": "nothing bounds how many", "p": "exists"}),
    ],
)
def test_it_is_told_where_no_bound_exists_and_how_much_is_too_much(
    executor: str, lines: list[str], told: Mapping[str, str]
) -> None:
    system = system_of(executor, *lines)
    result = {one.name: one.local for one in analyse(system).callbacks}
    run = simulate(system, 10**9, queue_all=True)
    for name, said in told.items():
        assert said in result[name].reason, result[name].reason
    for name, local in result.items():
        if "no bound exists" in local.reason:
            early, late = (
                [j.response for j in run.of(name) if (j.release > 5e8) is half]
                for half in (False, True)
            )
            assert not late or min(late) > max(early)


def test_messages_that_nothing_bounds_cost_no_time_where_they_cause_no_work() -> None:
    lines = [
        *FULL,
        subscription("s", 0, "b", ", priority: 5").replace("executor: e", "executor: f"),
    ]
    lines.append(timer("t", 84, 18, 9).replace("executor: e", "executor: f"))
    with effort.limited() as left:
        result = analysed(TWO, *lines)
        assert effort.MOST - left.left < 1_000_000
    told = {one.name: one.local for one in result.callbacks}
    assert (told["t"].bound, told["s"].bound) == (18_000_000, None)
    assert "nothing bounds how many" in told["s"].reason


def test_equal_names_equal_priorities_and_full_load_are_answered() -> None:
    same = [timer("a", 10, 2, 3), timer("b", 10, 2, 3), timer("c", 10, 6, 3)]
    full = analysed(EXECUTORS["priority_events"], *same)
    assert set(bounds(full).values()) == {None}
    assert "fills the processor" in reason(full)
    assert analysed(EXECUTORS["isolated"], *same[:2]).met


def test_margins_end_with_their_effort_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    system = shipped("teper_seven_timers_80")
    assert sensitivity(system).complete
    monkeypatch.setattr("rclrt_analysis.sensitivity.MOST", 0.0001)
    margins = sensitivity(system)
    assert not margins.complete
    # What was not searched is what it was, which was analysed.
    assert margins.wcet["Imu"] == 1_000_000
    assert "the effort was spent" in to_text(system, analyse(system), margins)


def test_a_thousand_timers_on_several_cores_end() -> None:
    lines = [timer(f"t{i}", 100, 0.25, 1 + i % 90) for i in range(1000)]
    executor = "{name: e, kind: preemptive, cores: [0, 1, 2, 3, 4, 5, 6, 7]}"
    result = analysed(executor, *lines)
    assert len([b for b in result.callbacks if b.bound is not None]) > 900


MS = 1_000_000
LATE = "overheads: {transport_ms: 1}\n"


def loop(wcet_ms: float) -> list[str]:
    """Return "b" that delays "a", which releases it, and "x" above both."""
    return [
        timer("x", 10, 1, 9),
        timer("a", 10, 1, 2),
        subscription("b", wcet_ms, "a", ", priority: 5"),
    ]


def reasons(result: Result) -> dict[str, str]:
    return {callback.name: callback.local.reason for callback in result.callbacks}


def test_what_settles_has_bounds_that_the_simulation_keeps() -> None:
    result = analysed(EVENTS, *loop(4), rest=LATE)
    assert bounds(result) == {"x": 5, "a": 19, "b": 15}
    seen = simulate(system_of(EVENTS, *loop(4), rest=LATE), 1000 * MS).worst()
    assert all(seen[b.name][0] <= (b.bound or 0) for b in result.callbacks)


def test_what_grows_each_other_has_no_bound_and_what_is_above_keeps_its_own() -> None:
    result = analysed(EVENTS, *loop(6), rest=LATE)
    assert bounds(result) == {"x": 7, "a": None, "b": None}
    assert GROWING in reasons(result).values()
    assert not result.met


def test_what_grows_slowly_is_given_up_after_a_while_and_takes_what_it_delays_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rounds = 0
    activations = unit.activations

    def counted(*args: object) -> object:
        nonlocal rounds
        rounds += 1
        return activations(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(unit, "activations", counted)
    # By a few percent a round it would take far more rounds to exceed many times 10 s.
    result = analysed(EVENTS, *loop(4.6), timer("slow", 10_000, 1, 1), rest=LATE)
    assert bounds(result) == {"x": 5.6, "a": None, "b": None, "slow": None}
    assert reasons(result)["a"] == UNSETTLED
    assert rounds < 2 * MAX_ROUNDS


def test_executors_that_grow_each_other_have_no_bound_and_what_is_above_keeps_its_own() -> None:
    two = "{name: e, kind: priority_events}, {name: f, kind: priority_events, cores: [1]}"
    lines = [
        timer("x", 10, 0.1, 9),
        timer("a", 10, 4, 3),
        subscription("d", 5, "b", ", priority: 5"),
        timer("b", 10, 4, 3).replace("executor: e", "executor: f"),
        subscription("c", 5, "a", ", priority: 5").replace("executor: e", "executor: f"),
    ]
    result = analysed(two, *lines)
    assert bounds(result) == {"x": 5.1, "a": None, "b": None, "c": None, "d": None}
    assert all(reasons(result)[name] for name in "abcd")


def unsettled(count: int, settled: int) -> dict[str, Local]:
    """Return what is said of callbacks of which number i changes from round i * MAX_ROUNDS on.

    The first to change in the last round of every MAX_ROUNDS is given up then. `settled` more never
    change.
    """
    lines = [timer(f"t{i}", 1000, 0.001, 1) for i in range(count + settled)]
    system = system_of(EVENTS, *lines)
    unit = Unit(system, system.executors, system.callbacks, urgencies(system), 0)
    rounds = 0

    def found(_: Mapping[str, Activation]) -> dict[str, Local]:
        nonlocal rounds
        rounds += 1
        begun = [min(count, 1 + (rounds - 1) // MAX_ROUNDS), count + settled]
        values = [rounds if i < begun[0] else 7 for i in range(begun[1])]
        return {f"t{i}": Local(value, value) for i, value in enumerate(values)}

    return with_jitter(unit, {}, found, has_state=True)


def test_what_was_given_up_may_start_others_that_are_given_up_in_turn() -> None:
    result = unsettled(3, settled=1)
    assert [local.response for local in result.values()] == [None, None, None, 7]
    assert all(local.reason == UNSETTLED for local in list(result.values())[:3])


def test_what_has_not_settled_in_the_end_has_no_bound_at_all() -> None:
    # Not even one that never changed: others may have been about to tell on it.
    result = unsettled(12, settled=1)
    assert {(local.response, local.reason) for local in result.values()} == {(None, UNSETTLED)}


def test_executors_that_never_settle_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    two = "{name: e, kind: priority_events}, {name: f, kind: priority_events, cores: [1]}"
    lines = [
        timer("x", 10, 1, 9),
        timer("a", 10, 3, 3),
        subscription("d", 3, "b", ", priority: 5"),
        timer("b", 10, 4, 3).replace("executor: e", "executor: f"),
        subscription("c", 3, "a", ", priority: 5").replace("executor: e", "executor: f"),
    ]
    assert None not in bounds(analysed(two, *lines)).values()
    monkeypatch.setattr("rclrt_analysis.bounds.analyse.MAX_ROUNDS", 1)
    # Nothing is known of their messages, so these fill their processors.
    assert bounds(analysed(two, *lines)) == {"x": 4, "a": None, "b": None, "c": None, "d": None}


def row_of(count: int) -> System:
    """Return executors with a timer each, and a message from each to the one before it."""
    executors = [f"{{name: e{i}, kind: priority_events, cores: [{i}]}}" for i in range(count)]
    lines = []
    for i in range(count):
        mine = [timer(f"t{i}", 10, 1, 2), subscription(f"s{i}", 1, f"s{i + 1}", ", priority: 1")]
        if i == count - 1:
            mine[1] = mine[1].replace(f"[s{count}]", f"[t{i}]")
        lines += [line.replace("executor: e", f"executor: e{i}") for line in mine]
    return system_of(", ".join(executors), *lines)


def test_an_executor_is_analysed_again_only_if_what_it_depends_on_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, names = importlib.import_module("rclrt_analysis.bounds.analyse"), []
    bounds_of = module._bounds

    def counted(unit: Unit, *rest: object) -> object:
        names.append(unit.executors[0].name)
        return bounds_of(unit, *rest)

    monkeypatch.setattr(module, "_bounds", counted)
    system = row_of(20)
    with effort.limited():
        whole = analyse(system)
        assert sorted(names) == sorted(executor.name for executor in system.executors)
        assert analyse(system) == whole
        changed = analyse(system.but("s2", wcet=2_000_000))
        assert names[20:] == ["e2", "e1", "e0"]
    assert whole.met
    assert analyse(system.but("s2", wcet=2_000_000)) == changed


def test_a_hard_executor_leaves_the_others_their_effort(monkeypatch: pytest.MonkeyPatch) -> None:
    hard = [timer(f"h{i}", 100 + i, 3, 1) for i in range(30)]
    easy = [timer(f"t{i}", 10, 1, 1).replace("executor: e", "executor: f") for i in range(3)]
    executors = "{name: e, kind: priority_events}, {name: f, kind: priority_events, cores: [1]}"
    monkeypatch.setattr(effort, "MOST", 40_000)
    monkeypatch.setattr("rclrt_analysis.bounds.analyse.EACH", 0.1)
    result = analysed(executors, *hard, *easy)
    assert [one.name for one in result.callbacks if one.bound is not None] == ["t0", "t1", "t2"]
    assert "was spent. Reduce" in reason(result)


def test_executors_that_send_to_each_other_have_bounds_in_any_order() -> None:
    """A join that has not heard from the other one yet is not one whose messages nothing bounds."""
    two = ["{name: e, kind: priority_events}", "{name: f, kind: priority_events, cores: [1]}"]
    lines = [
        timer("a", 20, 3, 2),
        subscription("j", 1, "a, b", ", priority: 1, activation: all"),
        timer("b", 30, 4, 2).replace("executor: e", "executor: f"),
        subscription("c", 2, "j", ", priority: 3").replace("executor: e", "executor: f"),
    ]
    found = [bounds(analysed(", ".join(order), *lines, rest=LATE)) for order in (two, two[::-1])]
    assert found[0] == found[1]
    assert None not in found[0].values()
