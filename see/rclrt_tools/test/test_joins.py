# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A node that works once all of its inputs have come is one callback of the observed model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from models import SCHEMA
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import System
from rclrt_tools.observe import observe, to_yaml
from rclrt_tools.observe.joins import joins_of
from rclrt_tools.observe.parts import parts_of
from rclrt_tools.trace import Entry, Records, Trace, layout
from test_observe import ISOLATED, MS, jobs, observed, timer

LEFT, RIGHT = "/f/subscription/left", "/f/subscription/right"
ENTRIES = {
    0: timer("t", 10 * MS, 0),
    1: timer("u", 10 * MS, 1),
    2: Entry(LEFT, 2, "g", 1, layout.KIND_SUBSCRIPTION),
    3: Entry(RIGHT, 2, "g", 1, layout.KIND_SUBSCRIPTION),
    4: Entry("/r/subscription/f", 3, "h", 1, layout.KIND_SUBSCRIPTION),
}
Wanted = Callable[[int, set[int]], bool]


def run(
    order: list[tuple[int, int]], publishes: Wanted, right_priority: int = 50, mark: int = 7
) -> Trace:
    """Return a trace of messages of 2 and 3, of which some make the node publish.

    Parameters
    ----------
    order
        The number of the input and its time in ms, of each message.
    publishes
        Given the input, and which have come since the last time.
    """
    parts: list[Records] = []
    new: set[int] = set()
    sent = 0
    for number, (input_, at) in enumerate(order):
        source = input_ - 2
        parts.append(jobs(source, (at, at, at + 1, 1)))
        parts[-1]["sequence"] = number * 10
        by = {"cause": layout.CAUSE_JOB, "by_callback": source, "by_executor": 1}
        new.add(input_)
        works = publishes(input_, new)
        took = 3 if works else 1
        mine = jobs(input_, (at + 1, at + 1, at + 1 + took, took), **by)
        mine["by_sequence"], mine["sequence"] = number * 10, number * 10 + 1
        mine["priority"] = right_priority if input_ == 3 else 50
        parts.append(mine)
        if not works:
            continue
        new.clear()
        sent += 1
        out = jobs(input_, (at + 4, at + 4, at + 4, 0), outcome=layout.PUBLISHED)
        out["publisher"], out["message"], out["sequence"] = mark, sent, number * 10 + 1
        by = {"cause": layout.CAUSE_JOB, "by_callback": input_, "by_executor": 1}
        reader = jobs(4, (at + 4, at + 4, at + 5, 1), **by)
        reader["by_sequence"], reader["sequence"] = number * 10 + 1, number * 10 + 2
        parts += [out, reader]
    return Trace(ENTRIES, np.concatenate(parts), 0, ISOLATED)


def wait_for_both(_: int, new: set[int]) -> bool:
    return new == {2, 3}


def turns(count: int = 20) -> list[tuple[int, int]]:
    """Return messages of both, now one of them first and now the other."""
    return [
        (2 + (i + second) % 2, 20 * i + 10 * second) for i in range(count) for second in range(2)
    ]


def names(system: System) -> list[str]:
    return [callback.name for callback in system.callbacks]


def test_inputs_that_wait_for_each_other_are_one_callback_for_all_of_them() -> None:
    system = observed(run(turns(), wait_for_both))
    assert names(system) == ["t", "u", "/f", "/r/subscription/f"]
    fusion = system.callback_of["/f"]
    assert fusion.wants_all
    assert sorted(system.triggered_by(fusion)) == ["t", "u"]
    assert system.triggered_by(system.callback_of["/r/subscription/f"]) == ["/f"]
    assert fusion.wcet == 4 * MS, "the job that works, and the one that has kept a message"
    assert system.no_verdict == ()
    # Both as triggers would release the reader twice as often.
    assert all(bound.bound is not None for bound in analyse(system).callbacks)


def test_where_one_input_is_always_the_last_the_model_says_what_it_may_be() -> None:
    order = [(2 + second, 20 * i + 10 * second) for i in range(20) for second in range(2)]
    trace = run(order, wait_for_both)
    assert names(observed(trace)) == ["t", "u", LEFT, RIGHT, "/r/subscription/f"]
    text = to_yaml(observe([("e", trace)], SCHEMA))
    assert "if '/f' waits for it, make one callback of its inputs, with activation: all" in text


def test_an_input_that_is_only_kept_for_another_is_no_join() -> None:
    """Left works at each of its messages, whether right has come or not."""
    order = [(2, 10 * i) for i in range(40)] + [(3, 20 * i + 5) for i in range(20)]
    order.sort(key=lambda one: one[1])
    trace = run(order, lambda input_, _: input_ == 2)
    (part,) = parts_of([("e", trace)])
    assert joins_of(part) == []
    # Nor are two that work each for itself.
    (part,) = parts_of([("e", run(turns(), lambda _, new: True))])
    assert joins_of(part) == []


def test_one_message_too_many_and_it_is_no_join() -> None:
    sent = iter(range(100))
    trace = run(turns(), lambda _, new: new == {2, 3} or next(sent) == 7)
    (part,) = parts_of([("e", trace)])
    assert joins_of(part) == []


def test_few_publications_show_nothing() -> None:
    (part,) = parts_of([("e", run(turns(2), wait_for_both))])
    assert joins_of(part) == []


def test_inputs_of_different_priority_stay_apart_and_each_is_a_trigger() -> None:
    """That is more than happens."""
    both = observed(run(turns(), wait_for_both, right_priority=60))
    assert names(both) == ["t", "u", LEFT, RIGHT, "/r/subscription/f"]
    assert len(both.triggered_by(both.callback_of["/r/subscription/f"])) == 2
