# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Worked numbers for the wait-set executors: single, of old distributions, multi-threaded."""

from dataclasses import replace

import numpy as np
import pytest
from rclrt_analysis.bounds.activation import Stream
from rclrt_analysis.bounds.fixed_point import UNBOUNDED
from rclrt_analysis.bounds.round_robin import by_arrival, by_arrivals, starvation_free
from rclrt_analysis.bounds.taskset import DEDICATED, make_taskset
from rclrt_analysis.bounds.unit import Rows
from rclrt_analysis.bounds.wait_set import may_precede, queued, windows
from rclrt_analysis.model import Callback, Kind
from rclrt_analysis.simulation import simulate
from test_system_bounds import MS, analysed, bounds, reason, subscription, system_of, timer

SINGLE = "{name: e, kind: wait_set_single}"
REGISTERED = "distro: foxy\n"
"""The last one in which entities of a kind run in the order of registration."""

THREE = [timer("a", 50, 2), timer("b", 100, 3), timer("c", 200, 4)]


def test_windows_make_a_job_wait_for_all_others_and_again_for_those_before() -> None:
    response, start = windows(np.array([2, 3, 4]))
    # All together 9; then what is before it, or itself if that is longer.
    assert response.tolist() == [9 + 2, 9 + 3, 9 + 5]
    assert start.tolist() == [9, 9, 10]


def test_what_comes_once_in_a_while_is_waited_for_once() -> None:
    assert bounds(analysed(SINGLE, *THREE)) == {"a": 9, "b": 9, "c": 9}


@pytest.mark.parametrize(("period", "expected"), [(20, 14 + 5), (100, 14)])
def test_what_is_polled_runs_once_for_each_polling_point_or_as_often_as_it_comes(
    period: int, expected: int
) -> None:
    # "a" is before "c" in the window: once in the one under way, once in that of "c", if it comes.
    tasks = make_taskset([5, 3, 6], [period, 100, 100])
    rows = Rows(tasks, np.arange(3))
    known, no = np.array([25, 25, 25]), np.zeros(3, dtype=np.bool_)
    assert starvation_free(rows, tasks.wcet, no, known, DEDICATED)[2] == expected


def test_a_timer_that_is_looked_at_before_every_pick_waits_for_one_callback_at_most() -> None:
    tasks = make_taskset([2, 3, 4], [50, 100, 200])
    timers = np.array([True, True, False])
    assert by_arrivals(tasks, timers, DEDICATED).tolist() == [2 + 4, 4 + 2 + 3, 9]


def test_old_distributions_put_timers_first() -> None:
    for distro in ("crystal", "dashing"):
        result = analysed(SINGLE, *THREE, rest=f"distro: {distro}\n")
        assert bounds(result) == {"a": 6, "b": 9, "c": 9}
    assert bounds(analysed(SINGLE, *THREE, rest="distro: eloquent\n"))["a"] == 9


def test_a_message_from_within_waits_for_what_is_left_of_the_window() -> None:
    lines = [timer("a", 5, 3), timer("t", 16, 1), subscription("b", 1, "t")]
    result = analysed(SINGLE, *lines, subscription("c", 1, "a"), rest=REGISTERED)
    # "b" and "c" are left after "t", and before "b" come "a" and "t".
    assert bounds(result)["b"] == 2 + 4 + 1


@pytest.mark.parametrize("executor", [SINGLE, "{name: e, kind: events_fifo}"])
def test_all_that_a_burst_sets_off_ends_with_it(executor: str) -> None:
    lines = [timer("a", 40, 2), subscription("b", 3, "a"), subscription("c", 4, "b")]
    lines += [timer("t", 40, 5), subscription("u", 6, "t")]
    chain = "chains:\n- {name: way, callbacks: [a, b, c], semantics: latency}\n"
    found = {}
    for time in (0, 1):
        rest = f"{chain}overheads: {{transport_ms: {time}}}\n"
        result = analysed(executor, *lines, rest=rest)
        found[time] = (result.chains[0].bound or 0) / MS
    assert found[0] == 2 + 3 + 4 + 5 + 6
    assert found[1] > 2 * found[0], "between its callbacks others may come again"


def test_without_a_known_order_all_of_a_kind_may_come_first() -> None:
    lines = [timer("a", 30, 1), timer("b", 10, 5), timer("c", 100, 6)]
    found = {d: bounds(analysed(SINGLE, *lines, rest=f"distro: {d}\n")) for d in ("foxy", "jazzy")}
    # In order "a" waits for the others once, and is the first of the next window.
    assert found["foxy"]["a"] == 5 + 6 + 1
    assert found["jazzy"]["a"] == 6 + 2 * 5 + 1
    seen = {}
    for distro in found:
        system = system_of(SINGLE, *lines, rest=f"distro: {distro}\n")
        phases = {"a": 1, "b": 0, "c": 0}  # "a" comes just after the first polling point.
        runs = [simulate(system, 30_000_000, seed, offsets=phases) for seed in range(20)]
        seen[distro] = max(run.worst()["a"][0] for run in runs)
    assert seen == {"foxy": 11_999_999, "jazzy": 16_999_999}


def test_kinds_come_one_after_the_other_in_every_distribution() -> None:
    callbacks = [Callback(kind.value, kind, "e", 1) for kind in (Kind.CLIENT, Kind.TIMER)]
    callbacks += [Callback("late", Kind.TIMER, "e", 1)]
    registered, any_order = [[0, 1, 1], [0, 0, 0], [0, 1, 0]], [[0, 1, 1], [0, 0, 1], [0, 1, 0]]
    grouped = [replace(callback, group="g") for callback in callbacks]
    for distro, alone, together in (
        ("foxy", registered, registered),
        ("humble", any_order, registered),
        ("jazzy", any_order, any_order),
    ):
        assert may_precede(callbacks, distro).astype(int).tolist() == alone
        assert may_precede(grouped, distro).astype(int).tolist() == together


def test_messages_that_come_together_wait_a_window_each() -> None:
    assert queued([Stream(10, 20)], 7, 5, DEDICATED) == 7 + 2 * 5
    assert queued([Stream(10, 0)], 7, 5, DEDICATED) == 7
    assert queued([Stream(20, 0), Stream(20, 0)], 7, 5, DEDICATED) == 7 + 5
    assert queued([Stream(10, 0)], 7, 10, DEDICATED) == UNBOUNDED


def test_a_timer_that_may_skip_timestamps_has_no_bound() -> None:
    result = analysed(SINGLE, timer("a", 8, 2), timer("b", 100, 9))
    assert "timestamps may be skipped: 9 ms may pass to the next start, and 8 ms" in reason(result)
    assert "Lengthen period_ms" in reason(result)
    # It may start at its next timestamp, but not later.
    assert analysed(SINGLE, timer("a", 9, 2, None, ", deadline_ms: 11"), timer("b", 100, 9)).met


def test_two_threads_share_what_was_found_ready() -> None:
    executor = "{name: e, kind: wait_set_multi, threads: 2, cores: [0, 1]}"
    # Half of the others, and of those before it again: (7 + 0) / 2, (6 + 2) / 2, (5 + 5) / 2.
    registered = analysed(executor, *THREE, rest=REGISTERED)
    assert bounds(registered) == {"a": 3.5 + 2, "b": 4 + 3, "c": 5 + 4}
    # From jazzy on others of the kind may come before each: half of all others twice.
    assert bounds(analysed(executor, *THREE)) == {"a": 7 + 2, "b": 6 + 3, "c": 5 + 4}


def test_with_a_thread_for_every_group_only_the_group_is_waited_for() -> None:
    executor = "{name: e, kind: wait_set_multi, cores: [0, 1, 2]}"
    assert bounds(analysed(executor, *THREE)) == {"a": 2, "b": 3, "c": 4}
    grouped = [line + ", group: g" for line in THREE[:2]]
    assert bounds(analysed(executor, *grouped, THREE[2])) == {"a": 5, "b": 5, "c": 4}


def test_a_group_is_held_up_before_each_of_its_jobs() -> None:
    executor = "{name: e, kind: wait_set_multi, threads: 2, cores: [0, 1]}"
    grouped = [line + ", group: g" for line in THREE[:2]]
    result = analysed(executor, *grouped, THREE[2], timer("d", 200, 1), rest=REGISTERED)
    # 2 (4 + 1) / 2 before "a" and before "b", in either order.
    assert bounds(result) == {"a": 15, "b": 15, "c": 4 + (6 + 5) / 2, "d": 1 + (9 + 9) / 2}


@pytest.mark.parametrize("distro", ["crystal", "dashing"])
def test_old_timers_pass_what_was_found_ready_again_and_again(distro: str) -> None:
    lines = [timer("a", 10, 5), timer("b", 11, 5)]
    lines += ["name: s, kind: subscription, executor: e, wcet_ms: 1, period_ms: 1000"]
    one = "{name: e, kind: wait_set_multi, threads: 1}"
    refused = analysed(one, *lines, rest=f"distro: {distro}\n")
    assert "1 threads for 3 groups" in reason(refused)
    assert "Give it a thread for every group" in reason(refused)
    each = "{name: e, kind: wait_set_multi, cores: [0, 1, 2]}"
    assert bounds(analysed(each, *lines, rest=f"distro: {distro}\n")) == {"a": 5, "b": 5, "s": 1}


def test_members_of_a_group_that_fill_it_have_no_bound() -> None:
    executor = "{name: e, kind: wait_set_multi, cores: [0, 1, 2]}"
    full = analysed(executor, timer("a", 9, 5) + ", group: g", timer("b", 9, 5) + ", group: g")
    assert set(bounds(full).values()) == {None}


def test_what_had_come_before_a_job_is_not_counted_with_each_of_its_windows() -> None:
    tasks = make_taskset([1, 4, 3], [8, 20, 5])
    rows, no = Rows(tasks, np.arange(3)), np.zeros(3, dtype=np.bool_)
    known = by_arrivals(tasks, no, DEDICATED)
    known = np.minimum(known, starvation_free(rows, tasks.wcet, no, known, DEDICATED))
    assert known.tolist() == [14, 8, 8]
    earlier = np.tri(3, k=-1, dtype=np.bool_)
    assert by_arrival(rows, known, DEDICATED, earlier).tolist() == [8, 8, 8]
