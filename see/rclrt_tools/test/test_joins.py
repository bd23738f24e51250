# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A node that works once all of its inputs have come is one callback of the observed model."""

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from models import SCHEMA
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, Overheads, System
from rclrt_analysis.simulation import simulate
from rclrt_tools.observe import observe, to_yaml
from rclrt_tools.observe.joins import joins_of
from rclrt_tools.observe.parts import Ints, parts_of
from rclrt_tools.observe.times import NEXT_TIME, _most
from rclrt_tools.trace import Entry, Records, Trace, layout
from rclrt_tools.trace.simulated import to_traces
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

    order: The number of the input and its time in ms, of each message.
    publishes: Given the input, and which have come since the last time.
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
    # Two callbacks that work each for itself are no join, either.
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


S = 1000 * MS
EVERY = 20


def once(late: int, taken: int, count: int = 200, **fields: int) -> System:
    """Return the model of a timer of 20 ms, of which 1 ms is work: once late, once held up."""
    times = []
    for i in range(count):
        start = EVERY * i + late * (i == 7)
        times.append((EVERY * i, start, start + 1 + taken * (i == 50), 1))
    return observed(Trace({0: timer("t", EVERY * MS)}, jobs(0, *times, **fields), 0, ISOLATED))


def test_who_held_up_a_job_or_kept_it_from_starting_has_taken_the_time() -> None:
    for system in (once(late=2, taken=0), once(late=0, taken=2)):
        assert system.no_verdict == ()
        assert system.overheads.stolen == NEXT_TIME * 2 * MS
        assert system.overheads.window == 40 * MS, "a tenth of it is not less than that"
        (callback,) = system.callbacks
        assert (callback.wcet, callback.jitter) == (MS, 0)
        assert analyse(system).callbacks[0].bound == MS + NEXT_TIME * 2 * MS


def test_two_blows_in_one_window_are_added_up() -> None:
    times = [(EVERY * i, EVERY * i, EVERY * i + 1 + 2 * (i in (7, 8)), 1) for i in range(200)]
    system = observed(Trace({0: timer("t", EVERY * MS)}, jobs(0, *times), 0, ISOLATED))
    # 3 ms within 19 ms would be more than a tenth of every window that holds one of the two alone.
    assert (system.overheads.stolen, system.overheads.window) == (NEXT_TIME * 4 * MS, 80 * MS)


def test_callbacks_that_sleep_again_and_again_have_no_verdict() -> None:
    times = [(EVERY * i, EVERY * i, EVERY * i + 6, 1) for i in range(200)]
    system = observed(Trace({0: timer("t", EVERY * MS)}, jobs(0, *times), 0, ISOLATED))
    assert system.overheads.stolen == 0
    (reason,) = system.no_verdict
    assert "something ran, or waited, that is not in the trace" in reason


def test_nothing_is_said_to_be_taken_where_no_bound_counts_it() -> None:
    assert once(late=2, taken=0, cpus=3).overheads.stolen == 0
    edf = replace(ISOLATED, model=layout.MODEL_PRIORITY_EVENTS, ordering=layout.ORDER_EDF)
    records = jobs(0, (0, 0, 1, 1), (20, 22, 23, 1), (40, 40, 41, 1))
    records["deadline_ns"] = records["release_ns"] + 20 * MS
    assert observed(Trace({0: timer("t", EVERY * MS)}, records, 0, edf)).overheads.stolen == 0


@pytest.mark.parametrize(
    ("events", "is_taken"),
    [
        ({"ordering": layout.ORDER_FIXED_PRIORITY}, True),
        ({"ordering": layout.ORDER_FIXED_PRIORITY, "timers_preempt": 1}, False),
        ({"ordering": layout.ORDER_EDF}, False),
    ],
)
def test_an_events_executor_keeps_its_bounds(events: dict[str, int], is_taken: bool) -> None:
    header = replace(ISOLATED, model=layout.MODEL_PRIORITY_EVENTS, **events)  # type: ignore[arg-type]
    first = [(EVERY * i, EVERY * i, EVERY * i + 1 + (i == 7), 1) for i in range(200)]
    other = [(EVERY * i, EVERY * i + 2, EVERY * i + 3, 1) for i in range(200)]
    records = np.concatenate((jobs(0, *first, priority=60), jobs(1, *other)))
    records["deadline_ns"] = records["release_ns"] + EVERY * MS
    entries = {0: timer("t", EVERY * MS), 1: timer("u", EVERY * MS, 1)}
    system = observed(Trace(entries, records, 0, header))
    assert (system.overheads.stolen > 0) == is_taken
    assert all(bound.bound is not None for bound in analyse(system).callbacks)
    # All of one priority are first come, first served.
    records["priority"] = 50
    one = observed(Trace(entries, records, 0, header))
    assert one.overheads.stolen == 0


def test_a_job_that_nobody_measured_counts_as_usual() -> None:
    times = [(EVERY * i, EVERY * i, EVERY * i + 3 + (i == 7), 3) for i in range(200)]
    records = jobs(0, *times)
    records["cpu_ns"][7] = -1
    system = observed(Trace({0: timer("t", EVERY * MS)}, records, 0, ISOLATED))
    assert system.overheads.stolen == NEXT_TIME * MS


def by_looking(begin: Ints, end: Ints, taken: Ints, window: int) -> int:
    """Return the most of all windows, wherever they begin and wherever in its time each was."""
    return max(
        sum(
            int(t) for b, e, t in zip(begin, end, taken, strict=True) if b < at + window and e >= at
        )
        for at in range(-1, int(end[-1]) + 1)
    )


def test_the_worst_window_is_the_worst_wherever_it_begins() -> None:
    rng = random.Random(3)
    for _ in range(300):
        edges = np.array(sorted(rng.sample(range(80), 2 * rng.randint(1, 8))), dtype=np.int64)
        begin, end = edges[::2], edges[1::2]
        taken = np.array([rng.randint(0, 9) for _ in begin], dtype=np.int64)
        window = rng.randint(1, 40)
        found = _most(begin, end, taken, window)
        assert found == by_looking(begin, end, taken, window), (begin, end, taken, window)


def stolen_from(rng: random.Random) -> System:
    """Return timers and what they release on one CPU, from which something is stolen."""
    made = []
    for i in range(3):
        period = rng.choice((10, 20, 25, 40)) * MS
        common = {"executor": "e", "publishes": (f"x{i}",), "priority": rng.randint(10, 20)}
        made.append(Callback(f"t{i}", Kind.TIMER, wcet=MS, bcet=MS // 2, period=period, **common))
        common |= {"publishes": (), "triggers": (f"x{rng.randint(0, i)}",)}
        made.append(Callback(f"s{i}", Kind.SUBSCRIPTION, wcet=MS // 2, bcet=0, **common))
    kind = rng.choice([ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE])
    overheads = Overheads(stolen=rng.randint(1, 9) * MS // 10, window=20 * MS)
    return System("random", (Executor("e", kind),), tuple(made), overheads=overheads)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_in_the_run_and_in_another_when_something_is_stolen(seed: int) -> None:
    """What the simulator steals is in no record."""
    system = stolen_from(random.Random(seed + 2))
    trace, other = (to_traces(simulate(system, S, seed=i))["e"] for i in (1, 2))
    again = observed(trace)
    assert again.no_verdict == ()
    bounds = {bound.name: bound.bound for bound in analyse(again).callbacks}
    every = [trace.jobs]
    if again.overheads.stolen >= system.overheads.stolen:  # It was seen how much that may be.
        every.append(other.jobs)
    for record in np.concatenate(every):
        bound = bounds[trace.names[int(record["callback"])]]
        assert bound is not None
        assert record["end_ns"] - record["release_ns"] <= bound
