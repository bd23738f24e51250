# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Jitter and responses that grow each other: what they may not delay keeps its bound, alone.

Messages take 1 ms. So "b" comes 1 ms and the response of "a" after the timer, is more urgent than
"a", and lengthens it by as many jobs as fit in that.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from models import model
from rclrt_analysis.bounds import analyse, unit
from rclrt_analysis.bounds.activation import Activation, urgencies
from rclrt_analysis.bounds.result import Local, Result
from rclrt_analysis.bounds.unit import GROWING, MAX_ROUNDS, UNSETTLED, Unit, with_jitter
from rclrt_analysis.simulation import simulate
from test_system_bounds import EVENTS, analysed, bounds, subscription, timer

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
    text = "".join(f"  - {{{line}}}\n" for line in loop(4))
    seen = simulate(model(f"executors: [{EVENTS}]\ncallbacks:\n{text}{LATE}"), 1000 * MS).worst()
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
    text = "".join(f"  - {{{line}}}\n" for line in lines)
    system = model(f"executors: [{EVENTS}]\ncallbacks:\n{text}")
    unit = Unit(system, system.executors, system.callbacks, urgencies(system), 0)
    rounds = 0

    def found(_: Mapping[str, Activation]) -> dict[str, Local]:
        nonlocal rounds
        rounds += 1
        begun = [min(count, 1 + (rounds - 1) // MAX_ROUNDS), count + settled]
        values = [rounds if i < begun[0] else 7 for i in range(begun[1])]
        return {f"t{i}": Local(value, value) for i, value in enumerate(values)}

    return with_jitter(unit, {}, found)


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
    monkeypatch.setattr(analyse, "MAX_ROUNDS", 1)
    # Nothing is known of their messages, so these fill their processors.
    assert bounds(analysed(two, *lines)) == {"x": 4, "a": None, "b": None, "c": None, "d": None}
