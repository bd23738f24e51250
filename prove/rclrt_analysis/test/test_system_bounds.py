# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Worked numbers for whole systems, and what is refused."""

import pytest
from models import model
from rclrt_analysis.bounds import fifo, fixed_priority
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.fixed_point import UNBOUNDED
from rclrt_analysis.bounds.result import Result
from rclrt_analysis.bounds.taskset import make_taskset
from rclrt_analysis.model import ModelError, System
from rclrt_analysis.simulation import chain_latencies, simulate

MS = 1_000_000


def system_of(executors: str, *callbacks: str, rest: str = "") -> System:
    lines = "".join(f"  - {{{callback}}}\n" for callback in callbacks)
    return model(f"executors: [{executors}]\ncallbacks:\n{lines}{rest}")


def analysed(executors: str, *callbacks: str, rest: str = "", method: str = "exact") -> Result:
    return analyse(system_of(executors, *callbacks, rest=rest), method)


def timer(
    name: str, period: float, wcet: float, priority: int | None = None, more: str = ""
) -> str:
    urgency = "" if priority is None else f", priority: {priority}"
    text = f"name: {name}, kind: timer, executor: e, period_ms: {period}, wcet_ms: {wcet}"
    return f"{text}{urgency}, publishes: [{name}]{more}"


def subscription(name: str, wcet: float, topics: str, more: str = "") -> str:
    text = f"name: {name}, kind: subscription, executor: e, wcet_ms: {wcet}"
    return f"{text}, triggers: [{topics}], publishes: [{name}]{more}"


def bounds(result: Result) -> dict[str, float | None]:
    return {b.name: None if b.bound is None else b.bound / MS for b in result.callbacks}


def reason(result: Result) -> str:
    assert not result.met
    return next(b.local.reason for b in result.callbacks if b.bound is None)


EVENTS = "{name: e, kind: priority_events}"
ISOLATED = "{name: e, kind: isolated}"


def test_preemptive_response_times_beyond_the_period_need_every_job() -> None:
    # Lehoczky 1990: the fifth job of the second task is the worst.
    tasks = make_taskset([26, 62], [70, 100])
    assert fixed_priority.preemptive(tasks).response.tolist() == [26, 118]


def test_preemptive_blocking_and_jitter_add_up() -> None:
    tasks = make_taskset([3, 3, 5], [7, 12, 20], jitter=[2, 0, 0])
    responses = fixed_priority.preemptive(tasks, make_taskset([2, 2, 1], [1, 1, 1]).wcet)
    assert responses.response[0] == 5
    assert responses.from_grid[0] == 7
    assert responses.response[1] == 2 + 3 + 2 * 3  # the second release of the first comes at 5


def test_a_budget_is_a_timer_with_jitter_for_those_below() -> None:
    # docs/how-to/budgets.md: 12 ms of 40, and what the watch lets pass. Two budgets meet.
    wcet = 12 + 12 / 32
    budget = timer("detect", 40, wcet, 80, f", jitter_ms: {40 - wcet}")
    for kind in ("isolated", "preemptive"):
        found = bounds(analysed(f"{{name: e, kind: {kind}}}", budget, timer("steer", 10, 1, 50)))
        assert found["steer"] == 2 * wcet + 1


def test_what_publishes_late_makes_less_jitter() -> None:
    after = ", bcet_ms: 8, publishes_after_ms: {least: 7, most: 9}"
    two = "{name: e, kind: isolated}, {name: f, kind: isolated, cores: [1]}"
    lines = [
        timer("t", 20, 10, 9, ", bcet_ms: 8"),
        subscription("s", 6, "t", ", priority: 9").replace("executor: e", "executor: f"),
        timer("low", 100, 10, 1).replace("executor: e", "executor: f"),
    ]
    # A message leaves 0 to 10 ms after the release of "t", so two of them come 10 ms apart.
    assert bounds(analysed(two, *lines))["low"] == 10 + 2 * 6
    lines[0] = timer("t", 20, 10, 9, after)
    assert bounds(analysed(two, *lines))["low"] == 10 + 6
    system = system_of(two, *lines)
    for seed in range(5):
        run = simulate(system, 2_000 * MS, seed, random_work=True, queue_all=seed % 2 == 1)
        starts = {job.sequence: job.start for job in run.jobs}
        for job in run.jobs:
            if job.sources:
                left = job.release - starts[job.sources[0].sequence]
                assert 7 * MS <= left <= 9 * MS


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("least: 3, most: 2", "least exceeds most"),
        ("most: 11", "most 11 exceeds wcet_ms 10"),
        ("least: 9", "least 9 exceeds bcet_ms 8"),
    ],
)
def test_a_time_of_publishing_that_cannot_be_is_refused(after: str, expected: str) -> None:
    line = timer("t", 20, 10, 9, f", bcet_ms: 8, publishes_after_ms: {{{after}}}")
    with pytest.raises(ModelError, match=rf"test.yaml:5: {expected}"):
        model(f"executors: [{ISOLATED}]\ncallbacks:\n  - {{{line}}}\n")


def test_a_publication_of_something_less_urgent_may_have_begun() -> None:
    lines = [timer("high", 10, 1, 90), timer("mid", 50, 2, 40), timer("low", 100, 5, 5)]
    late = "overheads: {publish_ms: 0.5}\n"
    found = bounds(analysed(ISOLATED, *lines, rest=late))
    assert found == {"high": 1.5, "mid": 3.5, "low": 8}
    with_transport = "overheads: {publish_ms: 0.5, transport_ms: 1}\n"
    s = subscription("s", 1, "mid", ", priority: 95")
    found = bounds(analysed(ISOLATED, *lines, s, rest=with_transport))
    assert found["s"] == 1.5
    for executor in ("{name: e, kind: isolated, cores: [0, 1]}",):
        result = analysed(executor, *lines, rest=late)
        assert "Leave publish_ms out" in reason(result)
    edf = [line.replace(f", priority: {p}", "") for line, p in zip(lines, (90, 40, 5), strict=True)]
    result = analysed("{name: e, kind: isolated, policy: edf}", *edf, rest=late)
    assert "Leave publish_ms out" in reason(result)


def test_a_fifo_queue_makes_everybody_wait_for_everybody() -> None:
    responses = fifo.response(make_taskset([2, 3, 4], [20, 30, 40]))
    assert responses.response.tolist() == [9, 9, 9]
    late = fifo.response(make_taskset([2, 3, 4], [20, 30, 40], jitter=[20, 0, 0]))
    assert late.response.tolist() == [11, 11, 11]
    assert fifo.response(make_taskset([2], [2])).response[0] == UNBOUNDED


def test_a_chain_in_one_events_executor_is_blocked_once() -> None:
    result = analysed(
        EVENTS, timer("a", 50, 2, 5), subscription("b", 3, "a"), timer("low", 100, 6, 1)
    )
    assert bounds(result) == {"a": 8, "b": 11, "low": 11}
    assert result.callbacks[1].local.prefix == {"a": 11 * MS}, "from the timer on: not 8 + 11"


def test_the_blocking_of_a_chain_is_its_longest_callback_not_its_sum() -> None:
    result = analysed(
        EVENTS, timer("high", 50, 1, 9), timer("a", 100, 2, 5), subscription("b", 3, "a")
    )
    # The last: 2 before, then "high" may come while it waits, once.
    assert bounds(result) == {"high": 1 + 3, "a": 3, "b": 6}


def test_what_a_less_urgent_job_releases_at_its_end_counts() -> None:
    result = analysed(
        ISOLATED, timer("low", 50, 5, 1), subscription("late", 4, "low", ", priority: 9"),
        timer("high", 50, 1, 9),
    )  # fmt: skip
    assert bounds(result)["high"] == 4 + 1


def test_groups_block_those_more_urgent_than_what_runs() -> None:
    alone = analysed(ISOLATED, timer("high", 20, 2, 9), timer("low", 50, 7, 1))
    grouped = analysed(
        ISOLATED, timer("high", 20, 2, 9, ", group: g"), timer("low", 50, 7, 1, ", group: g")
    )
    assert bounds(alone)["high"] == 2
    assert bounds(grouped)["high"] == 9


def test_a_subscriber_more_urgent_than_its_publisher_runs_before_the_publisher_has_ended() -> None:
    lines = [timer("t", 100, 10, 50), subscription("s", 20, "t") + ", priority: 60"]
    lines += [timer("between", 200, 5, 55)]
    result = analysed(ISOLATED, *lines)
    # What is more urgent than the publisher counts for it, whatever it is released by.
    assert bounds(result) == {"t": 35, "s": 35, "between": 25}
    system = system_of(ISOLATED, *lines)
    together = {"t": 0, "between": 0}
    worst = simulate(system, 2000 * MS, offsets=together).worst()
    assert {name: response // MS for name, (response, _) in worst.items()}["t"] == 35


def test_messages_that_take_time_leave_threads_their_bounds() -> None:
    late = "overheads: {transport_ms: 1}\n"
    for cores, ends in (("[0]", {"a": 4, "b": 4}), ("[0, 1]", {"a": 3, "b": 1})):
        result = analysed(
            f"{{name: e, kind: isolated, cores: {cores}}}",
            timer("a", 20, 3, 5),
            subscription("b", 1, "a"),
            rest=late,
        )
        assert bounds(result) == ends


def test_a_callback_that_waits_for_all_inputs_adds_the_gap_of_the_others() -> None:
    chain = "chains: [{name: c, callbacks: [a, f], semantics: latency, deadline_ms: 47}]\n"
    result = analysed(
        ISOLATED, timer("a", 20, 1, 9), timer("b", 40, 1, 9),
        subscription("f", 2, "a, b", ", activation: all"), rest=chain,
    )  # fmt: skip
    kinds = [hop.kind for hop in result.chains[0].hops]
    assert kinds == ["first", "joined"]
    assert result.chains[0].hops[1].waiting == 40 * MS


def test_a_job_with_nothing_left_to_do_ends_before_what_is_released_at_that_instant() -> None:
    # "low" publishes with its last step, at 40 ms, to a more urgent callback that takes no time.
    lines = [timer("high", 40, 11, 9), timer("middle", 84, 11, 8), timer("low", 100, 18, 1)]
    lines += [subscription("sink", 0, "low", ", priority: 9")]
    assert bounds(analysed(ISOLATED, *lines))["low"] == 40
    system = system_of(ISOLATED, *lines)
    run = simulate(system, 100 * MS, offsets={"high": 0, "middle": 0, "low": 0})
    assert run.worst()["low"][0] == 40 * MS


def test_a_chain_that_waits_for_another_to_start_is_outside_of_its_bound() -> None:
    lines = [timer("a", 50, 17, 2), timer("b", 100, 83, 1) + ", bcet_ms: 77"]
    lines += [subscription("f", 1, "a, b", ", activation: all")]
    rest = "chains: [{name: c, callbacks: [a, f], semantics: latency}]\n"
    executor = "{name: e, kind: wait_set_multi, cores: [0, 1, 2]}"
    result = analysed(executor, *lines, rest=rest)
    system = system_of(executor, *lines, rest=rest)
    run = simulate(system, 900 * MS, offsets={"a": 37 * MS, "b": 287 * MS})
    bound = result.chains[0].bound or 0
    assert max(chain_latencies(run, system.chains[0])) == 334 * MS > bound
    assert max(chain_latencies(run, system.chains[0], run.running)) <= bound
    assert "RUNNING" in {a.name for a in result.assumptions}


def test_a_sampled_hop_costs_a_period_and_a_triggered_one_does_not() -> None:
    chain = "chains: [{name: c, callbacks: [a, b, d]}]\n"
    result = analysed(
        EVENTS, timer("a", 20, 1, 9), subscription("b", 2, "a"),
        timer("d", 40, 3, 1, ", reads: [b]"), rest=chain,
    )  # fmt: skip
    hops = result.chains[0].hops
    assert [(h.kind, h.waiting / MS) for h in hops] == [
        ("first", 20), ("triggered", 0), ("sampled", 40),
    ]  # fmt: skip
    # 20 + a to the end of b, blocked once: 3 + 1 + 2; then 40 + all three once.
    assert result.chains[0].bound == (20 + 6 + 40 + 6) * MS


def test_a_less_urgent_reader_on_the_same_thread_overlaps_with_its_writer() -> None:
    chain = "chains: [{name: c, callbacks: [a, d]}]\n"
    lines = [timer("a", 20, 1, 9), timer("d", 40, 3, 1, ", reads: [a]")]
    result = analysed(EVENTS, *lines, rest=chain)
    assert result.chains[0].bound == (20 + 0 + 40 + 4) * MS
    lines = [timer("a", 20, 1, 1), timer("d", 40, 3, 9, ", reads: [a]")]
    assert analysed(EVENTS, *lines, rest=chain).chains[0].bound == (20 + 4 + 40 + 4) * MS


@pytest.mark.parametrize("transport", ["0", "2"])
def test_what_a_late_timer_releases_comes_as_late_as_that(transport: str) -> None:
    rest = "chains: [{name: c, callbacks: [x, s], semantics: latency}]\n"
    result = analysed(
        EVENTS, timer("t", 70, 4, 2, ", jitter_ms: 63"), timer("x", 70, 1, 9),
        subscription("s", 2, "t", ", reads: [x]"),
        rest=f"{rest}overheads: {{transport_ms: {transport}}}\n",
    )  # fmt: skip
    sampled = result.chains[0].hops[1]
    # From one release of "t" on its grid to the next, and that may be 63 late.
    assert sampled.kind == "sampled"
    assert sampled.waiting + sampled.response >= (70 + 63 + 4 + 2) * MS


def test_a_chain_whose_data_others_may_replace_has_no_bound() -> None:
    chain = "chains: [{name: c, callbacks: [a, b, d]}]\n"
    result = analysed(
        EVENTS, timer("a", 20, 1, 9), timer("x", 30, 1, 9), subscription("b", 2, "a, x"),
        timer("d", 40, 3, 1, ", reads: [b]"), rest=chain,
    )  # fmt: skip
    assert "which others may have caused" in result.chains[0].reason


def test_a_queue_that_is_too_short_leaves_a_chain_without_a_bound() -> None:
    chain = "chains: [{name: c, callbacks: [a, b]}]\n"
    result = analysed(
        EVENTS, timer("a", 20, 1, 9), subscription("b", 9, "a", ", priority: 1, depth: 1"),
        timer("busy", 40, 9, 5), rest=chain,
    )  # fmt: skip
    assert result.callbacks[1].local.depth_needed == 2
    assert "its depth is 1: messages may be lost" in result.chains[0].reason


def test_overheads_count_where_they_arise() -> None:
    rest = "overheads: {dispatch_ms: 0.5, context_switch_ms: 0.25}\n"
    assert bounds(analysed(EVENTS, timer("a", 20, 1, 9), rest=rest)) == {"a": 1.5}
    assert bounds(analysed(ISOLATED, timer("a", 20, 1, 9), rest=rest)) == {"a": 2.0}


@pytest.mark.parametrize(
    ("executor", "callbacks", "expected"),
    [
        (
            "{name: e, kind: wait_set_multi, threads: 2}",
            [timer("a", 9, 1), timer("b", 9, 1)],
            "2 threads and 1 cores: name as many",
        ),
        (
            "{name: e, kind: isolated, cores: [0, 1]}",
            [timer("a", 9, 1, 1, ", group: g"), timer("b", 9, 1, 1, ", group: g")],
            "callbacks of one group",
        ),
        (
            "{name: e, kind: preemptive, threads: 1}",
            [timer("a", 9, 1, 1), timer("b", 9, 1, 2)],
            "1 threads for 2 groups",
        ),
        (
            f"{EVENTS}, {{name: f, kind: isolated}}",
            [timer("a", 9, 1, 1), timer("b", 9, 1, 1).replace("executor: e", "executor: f")],
            "share core 0",
        ),
        (
            "{name: e, kind: priority_events, policy: rm, release: release_and_execute}",
            [timer("a", 9, 1), subscription("b", 1, "a")],
            "runs on another thread than the timers",
        ),
        (
            "{name: e, kind: priority_events, policy: rm, release: release_and_execute}",
            [timer("a", 9, 1), timer("b", 90, 9)],
            "condition C1",
        ),
        (EVENTS, [timer("a", 9, 5, 1), timer("b", 9, 5, 1)], "It takes 111.111 % of"),
    ],
)
def test_what_no_bound_covers_is_refused_with_the_reason(
    executor: str, callbacks: list[str], expected: str
) -> None:
    assert expected in reason(analysed(executor, *callbacks))


BY_DEADLINE = "{name: e, kind: priority_events, policy: edf}"


def test_subscriptions_inherit_a_deadline_or_have_their_own() -> None:
    lines = [timer("a", 10, 2), timer("c", 50, 6)]
    inherited = analysed(BY_DEADLINE, lines[0], subscription("b", 3, "a"), lines[1])
    # "c" has begun, and nothing that an earlier "a" released is left by then.
    assert bounds(inherited) == {"a": 6 + 2, "b": 12, "c": 2 + 3 + 6}
    own = analysed(BY_DEADLINE, lines[0], subscription("b", 3, "a", ", deadline_ms: 60"), lines[1])
    # Due later than the next "a", it waits for both.
    assert bounds(own) == {"a": 6 + 2, "b": 16, "c": 2 + 3 + 6}


# "left" keeps what "a" has sent, due every 20 ms. "right" hands that on with what "b" has sent.
FAN_IN = [
    timer("a", 20, 1),
    "name: left, kind: subscription, executor: e, wcet_ms: 1, triggers: [a], group: f",
    timer("b", 200, 1),
    subscription("right", 1, "b", ", group: f"),
    subscription("x", 8, "right"),
    subscription("y", 8, "right"),
    timer("t", 100, 1, None, ", deadline_ms: 16"),
]


def test_a_group_hands_on_the_earliest_deadline_that_it_has_taken() -> None:
    system = system_of(BY_DEADLINE, *FAN_IN)
    result = analyse(system)
    phases = {"a": 0, "b": 10 * MS, "t": 12 * MS}
    seen = simulate(system, 900 * MS, offsets=phases).worst()["t"][1]
    assert seen == 17 * MS, "it waits for x and y: these are due before t"
    assert (bounds(result)["t"] or 0) * MS >= seen
    assert not result.met
    # So does what it sets off.
    between = [line.replace("triggers: [right]", "triggers: [m]") for line in FAN_IN]
    between.append(subscription("m", 1, "right"))
    assert (bounds(analysed(BY_DEADLINE, *between))["t"] or 99) >= 17
    # By itself "right" hands on what is due when "b" is.
    alone = [line.replace(", group: f", "") for line in FAN_IN]
    assert bounds(analysed(BY_DEADLINE, *alone))["t"] == 10


def test_a_message_of_several_has_the_deadline_of_whoever_published() -> None:
    lines = [timer("a", 20, 1), timer("b", 100, 1), subscription("c", 5, "a, b"), timer("d", 50, 4)]
    result = analysed(BY_DEADLINE, *lines)
    # What "b" has published may be due after all of "a", "d" and what they lead to.
    assert None not in bounds(result).values()
    apart = [*lines[:2], subscription("c1", 5, "a"), subscription("c2", 5, "b"), lines[3]]
    assert (bounds(result)["c"] or 0) >= (bounds(analysed(BY_DEADLINE, *apart))["c2"] or 99)


PREEMPTIVE_BY_DEADLINE = "{name: e, kind: isolated, policy: edf}"


def test_preemptive_edf_stops_what_is_due_later() -> None:
    lines = [timer("a", 20, 2), timer("c", 50, 6)]
    # Due when "a" is: so a job of "a" ends before, or goes on after "b" of the same release.
    inherited = analysed(PREEMPTIVE_BY_DEADLINE, lines[0], subscription("b", 3, "a"), lines[1])
    assert bounds(inherited) == {"a": 2 + 3, "b": 2 + 3, "c": 2 + 3 + 6}
    own = analysed(
        PREEMPTIVE_BY_DEADLINE, lines[0], subscription("b", 3, "a", ", deadline_ms: 60"), lines[1]
    )
    assert bounds(own) == {"a": 2, "b": 6 + 3 + 2, "c": 6 + 2}
    assert inherited.met and own.met


def test_what_one_of_several_has_published_may_be_due_first() -> None:
    lines = [timer("a", 40, 1), timer("b", 200, 1), timer("d", 100, 4, None, ", deadline_ms: 60")]
    lines += [subscription("c1", 8, "a, b"), subscription("c2", 8, "a, b")]
    system = system_of(BY_DEADLINE, *lines)
    seen = simulate(system, 900 * MS, offsets={"a": 0, "b": 150 * MS, "d": 0}).worst()["d"][1]
    assert seen >= 21 * MS, "c1 and c2 are due when a is"
    assert (bounds(analyse(system))["d"] or 0) * MS >= seen


def test_a_message_of_an_executor_without_deadlines_comes_last() -> None:
    two = f"{BY_DEADLINE}, {{name: f, kind: priority_events, cores: [1]}}"
    other = timer("b", 100, 1, 5).replace("executor: e", "executor: f")
    result = analysed(two, timer("a", 20, 2), timer("d", 50, 6), subscription("c", 3, "b"), other)
    assert (bounds(result)["c"] or 0) >= 6 + 2 + 3
    assert bounds(result)["a"] == 6 + 3 + 2, "but nobody knows: it may be due first"


def test_a_job_without_any_deadline_comes_last() -> None:
    text = "name: b, kind: subscription, executor: e, wcet_ms: 3, period_ms: 100"
    result = analysed(BY_DEADLINE, timer("a", 20, 2), timer("c", 50, 6), text)
    assert bounds(result) == {"a": 6 + 2, "c": 3 + 2 + 6, "b": 2 + 6 + 3}


def test_without_any_deadline_a_job_waits_for_what_came_before_it_was_released() -> None:
    first = "name: {}, kind: subscription, executor: e, wcet_ms: {}, period_ms: {}"
    lines = [first.format("a", 90, 1000) + ", bcet_ms: 90, publishes: [a]"]
    lines += [subscription("b", 1, "a")]
    lines += [first.format(f"x{i}", 15, 80) for i in range(4)]
    # Each x comes at 1 and 81, before "b" is released at 90; and again at 161 before it begins.
    result = analysed(BY_DEADLINE, *lines)
    phases = {"a": 0, **{f"x{i}": MS for i in range(4)}}
    system = system_of(BY_DEADLINE, *lines)
    seen = simulate(system, 900 * MS, offsets=phases).worst()["b"][0]
    assert seen == 121 * MS
    assert (bounds(result)["b"] or 0) >= 121


def test_edf_with_jitter_counts_from_the_grid_for_a_timer() -> None:
    plain = analysed(BY_DEADLINE, timer("a", 20, 2), timer("c", 50, 6))
    late = analysed(BY_DEADLINE, timer("a", 20, 2, None, ", jitter_ms: 5"), timer("c", 50, 6))
    assert bounds(plain) == {"a": 8, "c": 8}
    assert bounds(late)["a"] == 5 + 8


def test_jobs_without_a_deadline_take_turns_where_several_of_one_callback_wait() -> None:
    outside = "kind: subscription, executor: e, period_ms: 10"
    calm = analysed(
        BY_DEADLINE, f"name: a, {outside}, wcet_ms: 4", f"name: b, {outside}, wcet_ms: 5"
    )
    assert bounds(calm) == {"a": 9, "b": 9}
    burst = analysed(
        BY_DEADLINE, f"name: a, {outside}, wcet_ms: 4, jitter_ms: 30",
        f"name: b, {outside}, wcet_ms: 5",
    )  # fmt: skip
    # Four of "a" come at once, and run by turns with "b". In order of release the last ends at 21.
    assert bounds(burst)["a"] == 31


def test_messages_of_another_executor_come_with_jitter() -> None:
    other = "{name: f, kind: priority_events, policy: rm, cores: [1]}"
    result = analysed(
        f"{EVENTS}, {other}", timer("a", 20, 4, 9), timer("low", 50, 5, 1),
        subscription("b", 3, "a").replace("executor: e", "executor: f"),
        "name: c, kind: timer, executor: f, period_ms: 12, wcet_ms: 2",
    )  # fmt: skip
    # "b" is released within 9 of the grid, so once more in the window of "c", which goes first.
    assert bounds(result) == {"a": 9, "low": 9, "b": 5, "c": 5}


def test_a_reader_may_start_while_a_more_urgent_writers_message_is_on_its_way() -> None:
    isolated = "{name: e, kind: isolated, cores: [3]}"
    chain = "chains: [{name: k, callbacks: [t2, t4], semantics: latency}]\n"
    callbacks = (
        timer("t0", 5, 1, 40), timer("t2", 9, 1, 30), timer("t4", 12, 6, 20, ", reads: [t2]"),
    )  # fmt: skip
    # t2 ends at 2, its message is there at 3. t4 has begun at 2.9, and begins anew at 14.9. It ends
    # at 23.9, after 6 of its own, 2 of t0 and 1 of t2.
    late = analysed(isolated, *callbacks, rest=f"{chain}overheads: {{transport_ms: 1}}\n")
    assert late.chains[0].bound is not None and late.chains[0].bound >= 23.9 * MS
    at_once = analysed(isolated, *callbacks, rest=chain)
    assert at_once.chains[0].bound == 21 * MS


def test_a_chain_that_leaves_an_executor_and_comes_back_starts_anew_there() -> None:
    other = "{name: f, kind: priority_events, policy: rm, cores: [1]}"
    chain = "chains: [{name: k, callbacks: [a, b, c], semantics: latency}]\n"
    result = analysed(
        f"{EVENTS}, {other}", timer("a", 20, 4, 9),
        subscription("b", 3, "a").replace("executor: e", "executor: f"),
        subscription("c", 2, "b", ", priority: 1"), rest=chain,
    )  # fmt: skip
    # "c" waits for "a" as well: what came before does not count twice, but this does.
    assert [hop.response / MS for hop in result.chains[0].hops] == [6, 3, 6]


def test_executors_that_feed_each_other_in_a_circle_of_data_end() -> None:
    two = "{name: e, kind: priority_events}, {name: f, kind: priority_events, cores: [1]}"
    lines = [timer("a", 10, 4, 3), timer("b", 10, 4, 3).replace("executor: e", "executor: f")]
    lines += [
        subscription("c", 3, "a", ", priority: 1").replace("executor: e", "executor: f"),
        subscription("d", 3, "b", ", priority: 1"),
    ]
    result = analysed(two, *lines)
    assert all(bound is not None for bound in bounds(result).values())


def test_the_paper_method_is_only_for_what_the_paper_covers() -> None:
    result = analysed(EVENTS, timer("a", 20, 1, 9), subscription("b", 2, "a"), method="paper")
    assert "covers timers without jitter" in reason(result)
