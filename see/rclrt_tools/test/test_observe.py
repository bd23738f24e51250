# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A model from traces is what ran, or says why nothing may be proved with it."""

import functools
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from models import ROOT, SCHEMA, model, shipped
from random_systems import migrating, with_subscriptions
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import ExecutorKind, Kind, Policy, System
from rclrt_analysis.model.document import parse_document
from rclrt_analysis.model.read import build_system
from rclrt_analysis.plan.openings import read_open
from rclrt_analysis.plan.search import make_plan
from rclrt_analysis.simulation import simulate
from rclrt_tools.cli import main
from rclrt_tools.observe import observe, to_yaml
from rclrt_tools.observe.advice import opened
from rclrt_tools.trace import Entry, Header, Records, Trace, blank, layout, write_trace
from rclrt_tools.trace.simulated import to_traces

MS = 1_000_000
S = 1000 * MS


def observed(*traces: Trace) -> System:
    """Return the model of traces, read back from its text."""
    named = [(f"e{i}", trace) for i, trace in enumerate(traces)]
    return build_system(parse_document(to_yaml(observe(named, SCHEMA))), SCHEMA)


def traces_of(system: System, seed: int = 2, span: int = S) -> list[Trace]:
    return list(to_traces(simulate(system, span, seed=seed)).values())


def timer(name: str, period: int, group: int = 0) -> Entry:
    return Entry(name, group, f"g{group}", 1, layout.KIND_TIMER, period)


FIFO = {"policy": layout.POLICY_FIFO, "priority": 50, "cpus": 1, "cause": layout.CAUSE_TIMER}
ISOLATED = Header(executor=1, model=layout.MODEL_ISOLATED, ordering=layout.ORDER_FIRST_COME)


def jobs(callback: int, *times: tuple[int, int, int, int], **fields: int) -> Records:
    """Return records of (release, start, end, CPU time), each in ms."""
    records = blank(len(times))
    records["callback"] = callback
    for record, (release, start, end, cpu) in zip(records, times, strict=True):
        record["release_ns"] = record["ready_ns"] = record["root_ns"] = release * MS
        record["start_ns"], record["end_ns"] = start * MS, end * MS
        record["cpu_ns"] = cpu * MS if cpu >= 0 else -1
        record["sequence"] = release
    for name, value in (FIFO | fields).items():
        records[name] = value
    return records


def test_a_running_system_becomes_the_model_that_it_was() -> None:
    system = model(
        "executors: [{name: e, kind: priority_events, policy: rm, cores: [3]}]\ncallbacks:\n"
        "  - {name: a, kind: timer, executor: e, period_ms: 10, wcet_ms: 2, publishes: [x]}\n"
        "  - {name: b, kind: subscription, executor: e, wcet_ms: 1, triggers: [x]}\n"
        "  - {name: c, kind: timer, executor: e, period_ms: 33, wcet_ms: 4}\n"
    )
    again = observed(*traces_of(system))
    assert [(c.name, c.kind, c.wcet) for c in again.callbacks] == [
        (c.name, c.kind, c.wcet) for c in system.callbacks
    ]
    assert again.no_verdict == ()
    # A program has stated the periods of its timers, all else was measured.
    origins = [{field: one.word for field, one in c.assumptions} for c in again.callbacks]
    assert origins[0]["period_ms"] == "stated"
    assert {one["wcet_ms"] for one in origins} == {"measured"}
    assert again.executors[0].cores == (3,)
    assert again.executors[0].kind == system.executors[0].kind
    assert [c.period for c in again.callbacks if c.kind is Kind.TIMER] == [10 * MS, 33 * MS]
    assert again.triggered_by(again.callback_of["b"]) == ["a"]
    assert [b.bound for b in analyse(system).callbacks] == [6 * MS, 7 * MS, 7 * MS]
    assert [b.bound for b in analyse(again).callbacks] == [6 * MS, 7 * MS, 7 * MS]


def test_executors_groups_and_priorities_are_those_in_force() -> None:
    system = model(
        "executors:\n"
        "  - {name: one, kind: isolated, policy: fixed_priority, cores: [0, 2]}\n"
        "  - {name: two, kind: preemptive, policy: fixed_priority, cores: [1]}\n"
        "callbacks:\n"
        "  - {name: a, kind: timer, executor: one, period_ms: 10, wcet_ms: 2, priority: 7,"
        " publishes: [x, y]}\n"
        "  - {name: b, kind: subscription, executor: one, group: g, wcet_ms: 5, priority: 3,"
        " triggers: [x]}\n"
        "  - {name: o, kind: subscription, executor: one, group: g, wcet_ms: 1, priority: 2,"
        " period_ms: 30}\n"
        "  - {name: c, kind: subscription, executor: two, wcet_ms: 1, priority: 7, triggers: [y]}\n"
    )
    again = observed(*traces_of(system))
    assert [(e.kind, e.policy, e.cores) for e in again.executors] == [
        (e.kind, e.policy, e.cores) for e in system.executors
    ]
    assert [(c.group, c.period) for c in again.callbacks] == [
        ("", 10 * MS), ("g", None), ("g", 30 * MS), ("", None),
    ]  # fmt: skip
    priorities = [callback.priority or 0 for callback in again.callbacks]
    assert priorities[0] > priorities[1] > priorities[2]
    assert again.triggered_by(again.callback_of["c"]) == ["a"]
    assert [b.bound for b in analyse(again).callbacks] == [
        b.bound for b in analyse(system).callbacks
    ]


def random_system(seed: int) -> System:
    dice = random.Random(seed)
    policy = dice.choice((Policy.FIXED_PRIORITY, Policy.RM, Policy.EDF))
    kinds = (ExecutorKind.PRIORITY_EVENTS, ExecutorKind.ISOLATED, ExecutorKind.EVENTS_FIFO)
    if dice.random() < 0.3:
        return migrating(dice, policy, dags=dice.random() < 0.5)
    return with_subscriptions(dice, (dice.choice(kinds), dice.choice(kinds)), dice.randint(1, 2))


@functools.cache
def random_observed(seed: int) -> tuple[System, System]:
    system = random_system(seed)
    traces = traces_of(system, seed, 20_000)
    return system, observed(*(trace for trace in traces if len(trace.records)))


def test_bounds_of_the_model_hold_in_this_run_and_in_others() -> None:
    """At least every response seen, or no verdict, which most have."""
    verdicts = 0
    for seed in range(8):
        system, again = random_observed(seed)
        found = {bound.name: bound.bound for bound in analyse(again).callbacks}
        if again.no_verdict:
            assert set(found.values()) == {None}
            continue
        verdicts += 1
        for other in range(3):
            seen = simulate(system, 20_000, seed + other).worst()
            for name, bound in found.items():
                assert bound is None or bound >= seen[name][1], (seed, other, name)
    assert verdicts > 3


PREEMPTED = (
    (timer("low", 40 * MS, 1), (0, 0, 14, 3), (40, 40, 54, 3)),
    (timer("high", 20 * MS, 2), (1, 1, 12, 11), (21, 21, 32, 11), (41, 41, 52, 11)),
)


def preempted() -> Trace:
    entries = {i: entry for i, (entry, *_) in enumerate(PREEMPTED)}
    parts = [jobs(i, *times, priority=10 + i) for i, (_, *times) in enumerate(PREEMPTED)]
    return Trace(entries, np.concatenate(parts), 0, ISOLATED)


def test_preemption_is_not_taken_for_execution() -> None:
    """A job of 3 ms that was preempted for 11 ms."""
    system = observed(preempted())
    assert (system.no_verdict, system.callback_of["low"].wcet) == ((), 3 * MS)
    assert {b.name: b.bound for b in analyse(system).callbacks} == {"low": 14 * MS, "high": 11 * MS}


def test_jobs_that_were_not_measured_do_not_count_and_are_told() -> None:
    trace = preempted()
    trace.records["cpu_ns"][0] = -1
    text = to_yaml(observe([("e", trace)], SCHEMA))
    assert '"low"  # 2 jobs, 1 of them not measured' in text
    assert "no_verdict" not in text


def change(**fields: int) -> Callable[[Trace], Trace]:
    def changed(trace: Trace) -> Trace:
        for name, value in fields.items():
            trace.records[name][trace.records["callback"] == 0] = value
        return trace

    return changed


def entry(**fields: int) -> Callable[[Trace], Trace]:
    return lambda trace: replace(
        trace, callbacks={**trace.callbacks, 0: replace(trace.callbacks[0], **fields)}
    )


def header(**fields: int) -> Callable[[Trace], Trace]:
    return lambda trace: replace(trace, header=replace(trace.header, **fields))


@pytest.mark.parametrize(
    ("lacks", "reason"),
    [
        (lambda trace: replace(trace, dropped=4), "4 records of e0 are missing"),
        (change(cpu_ns=-1), "the execution time of no job of 'low' was measured"),
        (change(policy=layout.POLICY_OTHER), "ran under fifo, other: any other program"),
        (change(policy=layout.POLICY_UNKNOWN), "ran under fifo, unknown, of which no model"),
        (change(policy=layout.POLICY_DEADLINE), "ran under deadline, fifo, of which no model"),
        (change(priority=0), "priorities that Linux does not have"),
        (change(cpus=0), "the CPUs of 'low' are not in the trace"),
        (change(cpus=1 << 63), "CPU 63 or one above it"),
        (change(end_ns=-(2**63)), "2 records of e0 contradict themselves"),
        (header(model=layout.MODEL_UNKNOWN), "the model of e0 is not in the trace"),
        (entry(parallelism=0), "groups of e0 are not in the trace"),
        (entry(kind=layout.KIND_SUBSCRIPTION), "CPU"),
        (entry(kind=layout.KIND_UNKNOWN), "kind"),
        (entry(period_ns=-1), "the period of 'low' is not in the trace"),
        (entry(period_ns=41 * MS), "came after 40 ms, its period was 41 ms"),
    ],
)
def test_what_the_records_lack_is_the_reason_for_no_verdict(
    lacks: Callable[[Trace], Trace], reason: str
) -> None:
    trace = lacks(preempted())
    if reason == "CPU":  # A message of which nobody knows from where.
        trace.records["cause"] = layout.CAUSE_UNKNOWN
        reason = "nobody knows what released jobs of 'low'"
    system = observed(trace)
    assert any(reason in text for text in system.no_verdict), system.no_verdict
    result = analyse(system)
    assert not result.met
    assert all(bound.bound is None for bound in result.callbacks)


def test_a_job_of_an_executor_whose_trace_is_not_there_voids_the_model() -> None:
    """Who knows what else that executor runs?"""
    first, _ = two_processes()
    caused = {"cause": layout.CAUSE_JOB, "by_callback": 0, "by_executor": 2}
    first.records["cause"][0] = layout.CAUSE_JOB
    entries = {**first.callbacks, 1: Entry("s", 1, "", 1, layout.KIND_SUBSCRIPTION)}
    records = np.concatenate((first.records, jobs(1, (30, 30, 31, 1), **caused, priority=9)))
    (reason,) = observed(replace(first, callbacks=entries, records=records)).no_verdict
    assert reason.startswith("'s' is released by executor 2 of its process, whose trace is not")


def test_deadlines_that_order_jobs_must_be_known() -> None:
    trace = preempted()
    trace.records["policy"] = layout.POLICY_EXT
    trace.records["deadline_ns"] = trace.records["release_ns"] + 40 * MS
    system = observed(trace)
    assert (system.executors[0].policy, system.no_verdict) == (Policy.EDF, ())
    assert system.callback_of["high"].deadline == 40 * MS
    trace.records["deadline_ns"][0] = layout.NO_DEADLINE
    assert "jobs of 'low' go by deadlines, and not all of them" in observed(trace).no_verdict[0]


def test_threads_are_counted_if_a_job_found_none() -> None:
    trace = header(model=layout.MODEL_PREEMPTIVE)(preempted())
    assert observed(trace).executors[0].threads is None
    trace.records["waited_for"][0] = layout.WAITED_FOR_THREAD
    system = observed(trace)
    assert system.executors[0].threads == 1
    assert "has 1 threads for 2 groups" in analyse(system).callbacks[0].local.reason


def test_a_group_on_two_sets_of_cpus_and_what_changed_meanwhile_void_the_model() -> None:
    trace = change(cpus=2)(preempted())
    assert len(observed(trace).executors) == 2
    one = {key: replace(entry, group=1) for key, entry in trace.callbacks.items()}
    assert (
        "of one group of e0 may use different"
        in observed(replace(trace, callbacks=one)).no_verdict[0]
    )
    trace = preempted()
    trace.records["priority"][0] = 9
    assert "of 'low' changed in the course" in observed(trace).no_verdict[0]


def test_messages_that_were_dropped_void_the_model_and_skipped_timers_do_not() -> None:
    # At the end of a run, when nothing starts any more, jobs that wait are given up: no overload.
    for cause, kind, at, voids in (
        ("dropped", layout.KIND_SUBSCRIPTION, 21 * MS, True),
        ("skipped", layout.KIND_SUBSCRIPTION, 61 * MS, False),
        ("skipped", layout.KIND_TIMER, 21 * MS, False),
    ):
        trace = preempted()
        lost = trace.records[-1:].copy()
        lost["outcome"] = layout.OUTCOMES.index(cause)
        lost["jobs"], lost["release_ns"] = 3, at
        lost["ready_ns"] = lost["start_ns"] = lost["end_ns"] = at
        entries = {**trace.callbacks, 1: replace(trace.callbacks[1], kind=kind)}
        records = np.concatenate((trace.records, lost))
        if kind == layout.KIND_SUBSCRIPTION:
            records["cause"][records["callback"] == 1] = layout.CAUSE_MESSAGE
        made = observe([("e", replace(trace, callbacks=entries, records=records))], SCHEMA)
        assert ("3 more did not run" in to_yaml(made)) == (at == 21 * MS)
        found = made.content.get("no_verdict", [])
        assert any("dropped or skipped" in text for text in found) == voids


def test_equal_priorities_have_bounds_for_any_order_among_each_other() -> None:
    trace = header(ordering=layout.ORDER_FIXED_PRIORITY)(change(priority=11)(preempted()))
    system = observed(trace)
    assert system.no_verdict == ()
    assert {b.name: b.bound for b in analyse(system).callbacks} == {"low": 14 * MS, "high": 14 * MS}


def test_a_job_that_took_longer_than_its_bound_voids_the_model() -> None:
    """Something that is not in the trace had the CPU."""
    trace = preempted()
    trace.records["end_ns"][0] = 19 * MS
    (reason,) = observed(trace).no_verdict
    assert reason.startswith("a job of 'low' took 19 ms, its bound would be 14 ms")


def test_what_starting_a_job_costs_is_in_the_model() -> None:
    trace = preempted()
    trace.records["start_ns"] += 100_000
    trace.records["end_ns"] += 100_000
    system = observed(trace)
    assert (system.no_verdict, system.overheads.dispatch) == ((), 100_000)


def test_a_job_that_is_left_waiting_once_is_late_and_does_not_make_all_jobs_dear() -> None:
    """By 5 ms in which nothing else ran, on several CPUs: a timer, then what a message releases."""
    late = [(20 * i, 20 * i + 5 * (i == 7), 20 * i + 5 * (i == 7) + 1, 1) for i in range(200)]
    records = jobs(0, *late, cpus=3)
    system = observed(Trace({0: timer("t", 20 * MS)}, records, 0, ISOLATED))
    (callback,) = system.callbacks
    assert (system.overheads.dispatch, callback.jitter, callback.wcet) == (0, 5 * MS, MS)
    assert (system.no_verdict, analyse(system).callbacks[0].bound) == ((), 6 * MS)
    entries = {0: timer("t", 20 * MS), 1: Entry("s", 1, "", 1, layout.KIND_SUBSCRIPTION)}
    times = [(release + 1, start + 1, end + 1, cpu) for release, start, end, cpu in late]
    by = {"cause": layout.CAUSE_JOB, "by_callback": 0, "by_executor": 1}
    caused = jobs(1, *times, priority=9, cpus=3, **by)
    caused["by_sequence"] = [20 * i for i in range(200)]
    prompt = [(20 * i, 20 * i, 20 * i + 1, 1) for i in range(200)]
    both = Trace(entries, np.concatenate((jobs(0, *prompt, cpus=3), caused)), 0, ISOLATED)
    system = observed(both)
    assert system.no_verdict == ()
    assert system.callback_of["s"].wcet == 6 * MS
    assert "wcet_ms with 5 in which it was ready" in to_yaml(observe([("e", both)], SCHEMA))


def test_a_message_from_outside_that_was_left_waiting_is_late() -> None:
    times = [(20 * i, 20 * i + 5 * (i == 7), 20 * i + 5 * (i == 7) + 1, 1) for i in range(200)]
    entries = {0: Entry("s", 1, "", 1, layout.KIND_SUBSCRIPTION)}
    records = jobs(0, *times, cause=layout.CAUSE_MESSAGE, cpus=3)
    (callback,) = observed(Trace(entries, records, 0, ISOLATED)).callbacks
    assert (callback.period, callback.jitter) == (20 * MS, 5 * MS)


def test_turns_lanes_and_parallel_jobs_that_no_model_has_void_it() -> None:
    turns = change(priority=11, policy=layout.POLICY_RR)(preempted())
    assert any("take turns under rr" in text for text in observed(turns).no_verdict)
    lanes = header(model=layout.MODEL_PRIORITY_EVENTS, timers_preempt=1)(preempted())
    assert not any("another thread" in text for text in observed(lanes).no_verdict)
    lanes.records["cause"][2:] = layout.CAUSE_MESSAGE
    entries = {**lanes.callbacks, 1: replace(lanes.callbacks[1], kind=layout.KIND_SUBSCRIPTION)}
    mixed = observed(replace(lanes, callbacks=entries))
    assert any("runs timers on another thread than messages" in t for t in mixed.no_verdict)
    several = entry(parallelism=2)(preempted())
    assert not any("in parallel" in text for text in observed(several).no_verdict)
    several.records["cpus"] = 3
    assert any("in parallel on several CPUs" in text for text in observed(several).no_verdict)


def test_a_job_that_releases_two_of_another_callback_is_said_to() -> None:
    entries = {0: timer("t", 20 * MS), 1: Entry("s", 1, "", 1, layout.KIND_SUBSCRIPTION)}
    sub = [(1, 2, 3, 1), (1, 3, 4, 1), (21, 22, 23, 1)]
    caused = jobs(1, *sub, cause=layout.CAUSE_JOB, by_callback=0, by_executor=1, priority=9)
    caused["by_sequence"] = [0, 0, 20]
    records = np.concatenate((jobs(0, (0, 0, 2, 2), (20, 20, 22, 2)), caused))
    system = observed(Trace(entries, records, 0, ISOLATED))
    assert system.no_verdict == ()
    assert len(system.callback_of["s"].triggers) == 2
    assert system.triggered_by(system.callback_of["s"]) == ["t", "t"]


def two_processes(message: int = 6, boot: bytes = bytes(16)) -> list[Trace]:
    """Return the traces of a process that publishes and of another that takes it."""
    number = {"publisher": 5, "message": 6}
    published = jobs(0, (1, 1, 1, 0), **number, outcome=layout.PUBLISHED)
    records = np.concatenate((jobs(0, (0, 0, 2, 2), (20, 20, 22, 2)), published))
    first = Trace({0: timer("t", 20 * MS)}, records, 0, replace(ISOLATED, process=1))
    fields = {"publisher": 5, "message": message, "cause": layout.CAUSE_MESSAGE, "cpus": 2}
    entries = {0: Entry("s", 1, "", 1, layout.KIND_SUBSCRIPTION)}
    taken = jobs(0, (4, 4, 5, 1), **fields)
    return [first, Trace(entries, taken, 0, replace(ISOLATED, process=2, boot_id=boot))]


def test_processes_are_connected_by_their_messages() -> None:
    system = observed(*two_processes())
    assert system.triggered_by(system.callback_of["s"]) == ["t"]
    assert (system.overheads.transport, system.no_verdict) == (3 * MS, ())
    made = observe([(f"e{i}", trace) for i, trace in enumerate(two_processes())], SCHEMA)
    assert "did not run" not in to_yaml(made)  # A publication is no job.
    other = observed(*two_processes(message=7))
    assert (other.triggered_by(other.callback_of["s"]), other.overheads.transport) == ([], 0)
    # A trace of another machine has another clock, which says nothing here.
    assert observed(*two_processes(boot=b"b" * 16)).overheads.transport == 0


@pytest.mark.parametrize(
    ("end", "fields", "transport"),
    [
        (4, {}, 1),
        (4, {"cpus": 6}, 1),  # The only thread of the reader.
        (4, {"thread": 9}, 1),  # Another one, on the only CPU.
        (4, {"cpus": 6, "thread": 9}, 3),
        (5, {"thread": 9}, 3),  # The message came while it still ran.
    ],
)
def test_a_message_that_waits_for_other_jobs_is_not_on_its_way(
    end: int, fields: dict[str, int], transport: int
) -> None:
    """It was published at 1 ms and seen at 4 ms; from 2 ms on the reader had another job."""
    first, second = two_processes()
    other = jobs(1, (2, 2, end, 2), **{"cpus": 2} | fields)
    entries = {**second.callbacks, 1: timer("u", 20 * MS, 2)}
    second = replace(second, callbacks=entries, records=np.concatenate((second.records, other)))
    assert observed(first, second).overheads.transport == transport * MS


def test_messages_that_a_thread_saw_late_do_not_count() -> None:
    first, second = two_processes()
    first, second = (replace(one, records=np.tile(one.records, 3)) for one in (first, second))
    for one, step in ((first, 3), (second, 1)):
        again = np.repeat(np.arange(3), step)
        for name in ("release_ns", "ready_ns", "start_ns", "end_ns"):
            one.records[name] += again * 40 * MS
        one.records["sequence"] += 100 * again.astype(np.uint64)
        known = one.records["message"] != layout.NO_MESSAGE
        one.records["message"][known] += again.astype(np.uint64)[known]
    for name in ("release_ns", "ready_ns", "start_ns", "end_ns"):
        second.records[name][1:] += 7 * MS
    assert observed(first, second).overheads.transport == 10 * MS
    second.records["policy"], second.records["priority"] = layout.POLICY_OTHER, 0
    assert observed(first, second).overheads.transport == 3 * MS, "the thread saw two late"
    second.records["ready_ns"] += 1
    second.records["start_ns"] += 1
    assert observed(first, second).overheads.transport == 10 * MS, "they came then"


@pytest.mark.parametrize("apart", [1, 0])
def test_a_burst_at_the_start_is_no_source_that_goes_on(apart: int) -> None:
    entries = {0: timer("t", 20 * MS), 1: Entry("s", 1, "", 1, layout.KIND_SUBSCRIPTION)}
    burst = [(i * apart, i * apart + 1, i * apart + 2, 1) for i in range(4)]
    messages = jobs(1, *burst, cause=layout.CAUSE_MESSAGE, priority=9)
    records = np.concatenate(
        (jobs(0, *((20 * i, 20 * i, 20 * i + 1, 1) for i in range(51))), messages)
    )
    callback = observed(Trace(entries, records, 0, ISOLATED)).callback_of["s"]
    assert callback.period == 1001 * MS // 4
    assert callback.jitter == 3 * (callback.period - apart * MS)


def test_messages_from_outside_that_come_in_bursts_have_a_jitter() -> None:
    entries = {0: Entry("s", 1, "", 1, layout.KIND_SUBSCRIPTION)}
    times = [(0, 0, 1, 1), (1, 1, 2, 1), (30, 30, 31, 1), (60, 60, 61, 1), (61, 61, 62, 1)]
    records = jobs(0, *times, cause=layout.CAUSE_MESSAGE)
    system = observed(Trace(entries, records, 0, ISOLATED))
    (callback,) = system.callbacks
    assert (callback.period, callback.jitter) == (61 * MS // 4, 14_250_000)
    release = records["release_ns"]
    for i in range(len(release)):
        for j in range(i, len(release)):
            assert j - i <= (release[j] - release[i] + callback.jitter) // (callback.period or 1)


def test_callbacks_that_release_each_other_in_a_circle_void_the_model() -> None:
    entries = {i: Entry(n, i, "", 1, layout.KIND_CLIENT) for i, n in enumerate("ab")}
    parts = [
        jobs(i, (0, 0, 1, 1), (20, 20, 21, 1), cause=layout.CAUSE_JOB, by_callback=1 - i,
             by_executor=1, priority=i + 1)
        for i in range(2)
    ]  # fmt: skip
    system = observed(Trace(entries, np.concatenate(parts), 0, ISOLATED))
    assert "release each other in a circle, among them a, b" in system.no_verdict[0]


def test_callbacks_of_one_name_are_told_apart_by_their_ids() -> None:
    (trace,) = traces_of(shipped("teper_seven_timers_60"))
    same = {key: replace(entry, name="node@Timer") for key, entry in trace.callbacks.items()}
    system = observed(replace(trace, callbacks=same))
    assert [c.name for c in system.callbacks] == [f"node@Timer #{i}" for i in range(7)]


def test_names_of_any_kind_are_read_back() -> None:
    name = 'a"b\\ \U0001f600\x85\x00: #{}[]&*!|>%@`\n'
    trace = entry_named(preempted(), name)
    assert observed(trace).callbacks[0].name == name
    long = entry_named(preempted(), "x" * 1000)
    assert len(observed(long).callbacks[0].name) <= 200


def entry_named(trace: Trace, name: str) -> Trace:
    entries = {**trace.callbacks, 0: replace(trace.callbacks[0], name=name, group_name=name)}
    return replace(trace, callbacks=entries)


def test_files_of_one_executor_are_one() -> None:
    trace = preempted()
    halves = [replace(trace, records=trace.records[part]) for part in (slice(2), slice(2, 5))]
    assert len(observed(*halves).executors) == 1
    other = replace(halves[1], callbacks={0: timer("other", 1), 1: timer("high", 20 * MS)})
    with pytest.raises(ValueError, match="callback 0 of executor 1 of process 0 is another"):
        observed(halves[0], other)


def test_the_verbs_give_no_verdict_where_there_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RCLRT_SOURCE_DIR", str(ROOT))
    path, made = tmp_path / "a.trace", tmp_path / "a.yaml"
    write_trace(change(cpu_ns=-1)(preempted()), path)
    assert main(["trace", "model", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "no verdict: the execution time of no job of 'low' was measured" in err
    made.write_text(out, encoding="utf-8")
    assert main(["analyze", "--slack", str(made)]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith("NO VERDICT: ")
    assert "low, high: the execution time of no job of 'low' was measured" in shown
    assert "wcet up to" not in shown
    lines = out.splitlines(keepends=True)
    reason = next(i for i, line in enumerate(lines) if line.startswith("no_verdict"))
    made.write_text("".join(lines[:reason] + lines[reason + 2 :]), encoding="utf-8")
    assert main(["analyze", "--slack", str(made)]) == 0  # Somebody has taken responsibility.
    write_trace(Trace({}, blank(0)), path)
    assert main(["trace", "model", str(path)]) == 2


def test_waiting_under_other_executors_is_no_overhead_of_ours() -> None:
    def waits() -> Trace:
        trace = preempted()
        for name in ("start_ns", "end_ns"):
            trace.records[name] += 5 * MS  # Nothing ran in that time.
        return trace

    ours = opened([("e", waits())])
    assert ours.content["overheads"]["dispatch_ms"] > MS
    theirs = opened([("e", change(policy=layout.POLICY_OTHER, priority=0)(waits()))])
    assert theirs.content["overheads"] == {}
    assert any("rclrt model calibrate" in doubt for doubt in theirs.doubts)
    costs = {"dispatch_ms": 9_000, "stolen_ms": MS, "window_ms": 10 * MS, "measured": "here: 1"}
    given = opened([("e", waits())], costs)
    assert given.content["overheads"] == costs
    assert 'measured: "here: 1"' in to_yaml(given)


def test_an_open_model_leaves_to_a_plan_how_the_system_is_scheduled(tmp_path: Path) -> None:
    fair = change(policy=layout.POLICY_OTHER, priority=0)(preempted())
    made = opened([("e", fair)])
    assert made.content["executors"] == [{"name": "e", "kind": "open"}]
    path = tmp_path / "open.yaml"
    path.write_text(to_yaml(made), encoding="utf-8")
    plan = make_plan(read_open(path, SCHEMA))
    assert plan.result.met
    assert {c.name: c.wcet for c in plan.system.callbacks} == {"low": 3 * MS, "high": 11 * MS}
    with pytest.raises(ValueError, match="no job"):
        opened([("e", replace(fair, records=fair.records[:0]))])


def test_advice_on_a_trace_with_impossible_periods_does_not_take_for_ever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RCLRT_SOURCE_DIR", str(ROOT))
    records = blank(6)
    times = np.arange(6) * 10_000
    for name in ("release_ns", "ready_ns", "start_ns"):
        records[name] = times
    records["end_ns"], records["cpu_ns"] = times + 5_000, 5_000
    records["sequence"], records["cause"], records["policy"] = range(6), 1, layout.POLICY_OTHER
    path = tmp_path / "t.trace"
    fast = Entry("/a/timer", 1, "/g", 1, layout.KIND_TIMER, 1)
    write_trace(Trace({0: fast}, records, 0, Header(bytes(16), 0, 7, 1)), path)
    assert main(["trace", "advise", str(path)]) == 1
    assert "simulated: 0.003 ms only" in capsys.readouterr().out
