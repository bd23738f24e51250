# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Worked numbers for threads with CPU reservations, and what a model may say of them."""

import random

import numpy as np
import pytest
from models import model
from rclrt_analysis.bounds import fifo, fixed_priority, nonpreemptive_edf
from rclrt_analysis.bounds.busy_window import Demand, responses
from rclrt_analysis.bounds.fixed_point import UNBOUNDED
from rclrt_analysis.bounds.taskset import (
    DEDICATED,
    Supply,
    higher_or_equal,
    longest_busy,
    make_taskset,
)
from rclrt_analysis.model import ModelError
from rclrt_analysis.simulation import simulate
from test_system_bounds import analysed, bounds, reason, subscription, system_of, timer

TWO_OF_FIVE = ", reservation: {budget_ms: 2, period_ms: 5}"
PAIR = [timer("a", 50, 3, 2), timer("b", 100, 4, 1)]


def least(supply: Supply, t: int) -> int:
    """Return sbf(t) by its definition: the least that any window of length t is given."""
    quiet = 2 * (supply.period - supply.budget)
    worst = [0] * quiet  # An early budget just ran out, all others come late.
    while len(worst) < t:
        worst += [1] * supply.budget + [0] * (supply.period - supply.budget)
    return sum(worst[:t])


@pytest.mark.parametrize("supply", [Supply(2, 5), Supply(1, 7), Supply(6, 7), Supply(3, 3)])
def test_work_is_done_when_the_least_supply_reaches_it(supply: Supply) -> None:
    for work in range(1, 40):
        done = int(supply.time(np.array([work]))[0])
        assert least(supply, done) >= work > least(supply, done - 1)
    assert supply.time(np.array([0]))[0] == 0


def test_every_bound_waits_for_the_supply() -> None:
    tasks = make_taskset([3, 4], [50, 100], [50, 100])
    half = Supply(2, 5)
    # 7 of work: 2 (5 - 2), three whole budgets, and 1.
    assert fixed_priority.nonpreemptive(tasks, supply=half).response.tolist() == [22, 22]
    assert nonpreemptive_edf.exact(tasks, half).response.tolist() == [22, 22]
    assert fifo.response(tasks, None, half).response.tolist() == [22, 22]
    demand = Demand(
        tasks.period, tasks.jitter, tasks.wcet, tasks.wcet, tasks.wcet, np.zeros(2, np.int64),
        higher_or_equal(tasks), np.zeros(2, np.bool_), half,
    )  # fmt: skip
    # With preemption the first waits for its own 3 alone: 6 + 5 + 1.
    assert responses(demand, preemptive=True).response.tolist() == [12, 22]
    assert fixed_priority.preemptive(tasks).response.tolist() == [3, 7]
    assert fixed_priority.nonpreemptive(tasks, supply=DEDICATED).response.tolist() == [7, 7]


def test_reservations_keep_the_core_from_the_thread_that_releases_timers() -> None:
    # 2 at the end of a period and 2 at the begin of the next: 4. Two of them: 8, 12, 16.
    assert longest_busy([Supply(2, 5)]) == 4
    assert longest_busy([Supply(2, 5), Supply(2, 5)]) == 16
    assert longest_busy([]) == 0
    assert longest_busy([Supply(1, 2), Supply(1, 2)]) is None
    # Where that grows by little steps, the sum without rounding: 2 000 002 + ... at 19 / 20.
    many = [Supply(19, 40), Supply(19_000_000_000, 40_000_000_000)]
    longest = longest_busy(many)
    assert longest is not None
    assert sum(s.budget * (2 + (longest - s.budget) // s.period) for s in many) <= longest


@pytest.mark.parametrize("seed", range(20))
def test_threads_with_reservations_keep_the_core_as_long_as_that(seed: int) -> None:
    """Each as a constant bandwidth server may: late in a period, early in the next ones."""
    rng = random.Random(seed)
    supplies = [Supply(rng.randint(1, 4), rng.randint(10, 30)) for _ in range(3)]
    limit = longest_busy(supplies)
    assert limit is not None
    work = [s.budget for s in supplies]
    time = 0
    while any(work):
        i = next(i for i, left in enumerate(work) if left)
        work[i] -= 1
        time += 1
        for k, s in enumerate(supplies):
            if time >= s.budget and (time - s.budget) % s.period == 0:
                work[k] += s.budget
    assert time == limit


@pytest.mark.parametrize("kind", ["events_fifo", "wait_set_single", "priority_events"])
def test_what_has_no_work_waits_for_the_thread_all_the_same(kind: str) -> None:
    executor = f"{{name: e, kind: {kind}, reservation: {{budget_ms: 2, period_ms: 10}}}}"
    lines = [timer("a", 100, 0, 1), timer("b", 100, 2, 1)]
    # 16 without supply and the budget that "b" uses up; the next one comes 8 later, less what
    # is left of a period.
    least_sure = 26 + (4 if kind == "priority_events" else 0)  # Its timer thread waits for two.
    result = analysed(executor, *lines)
    system = system_of(executor, *lines)
    for seed in range(60):
        for name, (seen, _) in simulate(system, 2 * 10**9, seed).worst().items():
            assert seen <= (bounds(result)[name] or 0) * 1_000_000
    assert bounds(result)["a"] == pytest.approx(least_sure, abs=1e-5)


def test_what_comes_while_there_is_no_supply_goes_first() -> None:
    # There is 1 at 8, 13, 18 and 23: to what is more urgent, which came at 0, 8 and 16, then to it.
    tasks = make_taskset([1, 1], [8, 100])
    assert fixed_priority.nonpreemptive(tasks, supply=Supply(1, 5)).response[1] == 23 + 1


def test_as_much_work_as_the_reservation_gives_is_without_a_bound() -> None:
    tasks = make_taskset([2, 2], [10, 10])
    assert fixed_priority.nonpreemptive(tasks, supply=Supply(2, 5)).response[1] == UNBOUNDED
    assert fixed_priority.nonpreemptive(tasks, supply=Supply(3, 5)).response[1] < UNBOUNDED


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # Each on its own: 6 + 5 + 1 and 6 + 5 + 2. Both may keep the timer thread out for 16.
        ("isolated", {"a": 16 + 12, "b": 16 + 13}),
        ("priority_events", {"a": 4 + 22, "b": 4 + 22}),
        ("events_fifo", {"a": 22, "b": 22}),
        ("wait_set_single", {"a": 22, "b": 22}),
    ],
)
def test_executors_in_reservations(kind: str, expected: dict[str, float]) -> None:
    lines = PAIR
    if kind in ("events_fifo", "wait_set_single", "isolated"):
        lines = [timer("a", 50, 3), timer("b", 100, 4)]
    result = analysed(f"{{name: e, kind: {kind}{TWO_OF_FIVE}}}", *lines)
    assert bounds(result) == expected
    assert "RESERVED" in {a.name for a in result.assumptions}


def test_a_chain_through_threads_of_reservations_adds_up() -> None:
    chain = "chains: [{name: c, callbacks: [a, b], semantics: latency}]\n"
    executor = f"{{name: e, kind: isolated{TWO_OF_FIVE}}}"
    result = analysed(executor, timer("a", 50, 3), subscription("b", 4, "a"), rest=chain)
    assert bounds(result) == {"a": 16 + 12, "b": 13}
    assert result.chains[0].bound == 41_000_000


def test_messages_from_outside_come_further_apart_by_what_reservations_keep_the_core() -> None:
    """One comes at once and the next late, so what the first brought gets older by that."""
    chain = "chains: [{name: c, callbacks: [a], semantics: age}]\n"
    a = subscription("a", 2, "", ", priority: 1, period_ms: 84, gap_ms: 84")
    result = analysed(f"{{name: e, kind: priority_events{TWO_OF_FIVE}}}", a, rest=chain)
    # The middleware may wait for 2 + 2. The bound is of what comes when it hands it over.
    (hop,) = result.chains[0].hops
    assert (hop.waiting, hop.response) == (88_000_000, 8_000_000)


def test_callbacks_of_one_thread_run_in_any_order() -> None:
    executor = f"{{name: e, kind: isolated{TWO_OF_FIVE}}}"
    lines = [timer("a", 50, 3) + ", group: g", timer("b", 100, 4) + ", group: g"]
    assert bounds(analysed(executor, *lines)) == {"a": 4 + 22, "b": 4 + 22}


def test_reservations_share_a_core_with_each_other_alone() -> None:
    other = "{name: f, kind: priority_events, reservation: {budget_ms: 1, period_ms: 5}}"
    lines = [timer("a", 50, 3), timer("b", 100, 4, 1).replace("executor: e", "executor: f")]
    both = analysed(f"{{name: e, kind: isolated{TWO_OF_FIVE}}}, {other}", *lines)
    assert bounds(both) == {"a": 9 + 12, "b": 9 + 8 + 3 * 5 + 1}
    alone = f"{{name: e, kind: isolated{TWO_OF_FIVE}}}, {{name: f, kind: priority_events}}"
    assert "share core 0" in reason(analysed(alone, *lines))


@pytest.mark.parametrize(
    ("executor", "rest", "method", "expected"),
    [
        ("priority_events", "overheads: {release_ms: 0.1}\n", "exact", "has no reservation"),
        ("isolated", "overheads: {context_switch_ms: 0.1}\n", "exact", "off budget_ms"),
        ("events_fifo", "overheads: {context_switch_ms: 0.1}\n", "exact", "off budget_ms"),
        ("priority_events", "", "paper", "know no reservations"),
        (
            "priority_events, release: release_and_execute",
            "",
            "exact",
            "release_and_execute in a reservation",
        ),
    ],
)
def test_what_no_bound_covers_is_refused(
    executor: str, rest: str, method: str, expected: str
) -> None:
    text = f"{{name: e, kind: {executor}{TWO_OF_FIVE}}}"
    assert expected in reason(analysed(text, *PAIR, rest=rest, method=method))


@pytest.mark.parametrize(
    ("executor", "expected"),
    [
        ("kind: preemptive" + TWO_OF_FIVE, "preemptive cannot have one"),
        ("kind: isolated, reservation: {budget_ms: 6, period_ms: 5}", "budget_ms exceeds period"),
        ("kind: isolated, cores: [0, 1]" + TWO_OF_FIVE, "do not migrate"),
        ("kind: isolated, reservation: {budget_ms: 2.5, period_ms: 5}", "add up to 1.000"),
        ("kind: isolated, reservation: {budget_ms: 0, period_ms: 5}", "reservation.budget_ms"),
        (
            "kind: isolated, reservation: {budget_ms: 0.0000001, period_ms: 0.0000001}",
            "finer than 1 ns",
        ),
        ("kind: isolated, reservation: {budget_ms: 1}", "'period_ms' is missing"),
    ],
)
def test_a_reservation_that_cannot_be_is_refused_with_its_line(
    executor: str, expected: str
) -> None:
    with pytest.raises(ModelError, match=r"test\.yaml:3") as caught:
        system_of(f"{{name: e, {executor}}}", *PAIR)
    assert expected in str(caught.value)


def test_a_callback_without_a_group_is_not_in_the_group_of_its_name() -> None:
    two = [timer("g", 50, 1, 2), timer("b", 100, 1, 1) + ", group: g"]
    isolated = "{name: e, kind: isolated, reservation: {budget_ms: 3, period_ms: 5}}"
    with pytest.raises(ModelError, match=r"add up to 1\.200"):
        system_of(isolated, *two)
    pool = analysed("{name: e, kind: preemptive, threads: 1}", *two)
    assert "1 threads for 2 groups" in reason(pool)


def test_reservations_may_fill_what_the_kernel_gives() -> None:
    # 0.2 + 0.35 + 0.4 is a bit more than 0.95 in binary fractions.
    shares = (2, 3.5, 4)
    executors = ", ".join(
        f"{{name: e{i}, kind: events_fifo, reservation: {{budget_ms: {share}, period_ms: 10}}}}"
        for i, share in enumerate(shares)
    )
    line = timer("a", 50, 1).replace("executor: e", "executor: e0")
    assert model(f"executors: [{executors}]\ncallbacks:\n  - {{{line}}}\n").callbacks


def test_a_simulated_reservation_gives_its_budget_in_every_period() -> None:
    text = f"executors: [{{name: e, kind: events_fifo{TWO_OF_FIVE}}}]\ncallbacks:\n"
    system = model(f"{text}  - {{{timer('a', 10, 3)}, offset_ms: 0}}\n")
    worst = [simulate(system, 10**9, seed).worst()["a"][0] for seed in range(20)]
    # Between the work alone and the bound, 6 + 5 + 1, which phases can reach.
    assert min(worst) >= 3_000_000
    assert 9_000_000 < max(worst) <= 12_000_000
