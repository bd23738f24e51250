# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Chains through callbacks that wait for several inputs, in records where each input has jobs."""

import random
from dataclasses import replace

import numpy as np
import pytest
from models import model
from random_systems import talking
from rclrt_analysis.model import ExecutorKind, System
from rclrt_analysis.simulation import Run, chain_ages, chain_latencies, simulate
from rclrt_analysis.simulation.jobs import Job as SimulatedJob
from rclrt_analysis.simulation.simulate import Clock
from rclrt_tools.trace import Entry, Trace, layout
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.watch.diagnostics import statuses
from rclrt_tools.watch.text import to_text
from rclrt_tools.watch.watch import Watch

MS = 1_000_000


def random_system(rng: random.Random) -> System:
    """Return what is talking, of which some waits for two topics or three."""
    return talking(rng, (ExecutorKind.ISOLATED,), 2, (1, 2, 2, 3))


Sent = list[tuple[int, SimulatedJob]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Return the list in which every publication of simulations is put, with its time."""
    found: Sent = []
    publish = Clock.publish

    def noted(clock: Clock, job: SimulatedJob) -> None:
        if not job.published:
            found.append((clock.now, job))
        publish(clock, job)

    monkeypatch.setattr(Clock, "publish", noted)
    return found


def with_inputs(run: Run, sent: Sent, publish: bool) -> list[Trace]:
    """Return the records of a run as executors write them: each input of a join has its jobs.

    publish: Whether jobs that worked have published something.
    """
    system = run.system
    traces = list(to_traces(run).values())
    number = {c.name: i for i, c in enumerate(system.callbacks)}
    executor = {one.name: i for i, one in enumerate(system.executors)}
    readers: dict[int, list[tuple[int, str]]] = {}
    for c in system.callbacks:
        for topic in c.triggers if c.wants_all else ():
            publisher = next(p for p in system.callbacks if topic in p.publishes)
            readers.setdefault(number[publisher.name], []).append((number[c.name], topic))
    works = {(j.callback, id(j.released_by)): j for j in run.jobs if j.released_by is not None}
    entries: dict[tuple[int, str], int] = {}
    kept: dict[int, set[str]] = {}
    free: dict[int, int] = {}
    # As engines count: from 0 on.
    new: list[list[np.void]] = [[layout.blank(1)[0]] for _ in traces]
    for trace, (one, *_) in zip(traces, new, strict=True):
        one["callback"] = 999
        trace.callbacks[999] = Entry("/started", 0, "", 1, 0)
    for now, by in sent:
        for join, topic in readers.get(by.callback, ()):
            callback = system.callbacks[join]
            place = executor[callback.executor]
            trace = traces[place]
            id_ = entries.setdefault((join, topic), len(system.callbacks) + len(entries))
            name = f"/{callback.name}/subscription/{topic}"
            trace.callbacks[id_] = replace(trace.callbacks[join], name=name)
            kept.setdefault(join, set()).add(topic)
            full = len(kept[join]) == len(callback.triggers)
            job = works.get((join, id(by)))
            assert full or job is None
            if full and job is None:
                free[join] = 2**60  # The run ends before that job does.
            if free.get(join, 0) >= 2**60:
                continue
            if job is not None:
                mine = trace.records["sequence"] == job.sequence
                trace.records["callback"][mine] = id_
                free[join] = job.end
                kept[join].clear()
                if publish:
                    out = trace.records[mine][0].copy()
                    out["outcome"], out["publisher"], out["message"] = layout.PUBLISHED, 7, job.end
                    new[place].append(out)
                continue
            one = layout.blank(1)[0]
            free[join] = max(free.get(join, 0) + 1, now)
            one["release_ns"] = one["ready_ns"] = now
            one["start_ns"] = one["end_ns"] = free[join]
            one["callback"], one["sequence"] = id_, 10**6 + len(new[place])
            one["cause"], one["by_sequence"] = layout.CAUSE_JOB, by.sequence
            one["by_callback"] = by.callback
            one["by_executor"] = executor[system.callbacks[by.callback].executor] + 1
            new[place].append(one)
    return [
        replace(trace, records=np.concatenate([trace.records, np.array(more, layout.RECORD)]))
        for trace, more in zip(traces, new, strict=True)
    ]


def fed(watch: Watch, traces: list[Trace], batch: int, since: int = 0) -> Watch:
    """Return a watch that has got the records from `since` on, some at a time."""
    until = max(int(trace.records["end_ns"].max()) for trace in traces)
    for begin in range(since, until + 1, batch):
        for trace in traces:
            end = trace.records["end_ns"]
            mine = (end >= begin) & (end < begin + batch)
            watch.add(trace.header, trace.callbacks, trace.records[mine])
        watch.settle(begin + batch - 1 - 20_000)
    watch.settle(until)
    return watch


@pytest.mark.parametrize("publish", [False, True])
@pytest.mark.parametrize("join", ["wait", "last"])
def test_a_watch_measures_joins_as_the_simulator_does(join: str, publish: bool, sent: Sent) -> None:
    rng = random.Random(join)
    compared = late = never_last = 0
    for _ in range(60):
        system = random_system(rng)
        semantics = ("latency",) if join == "last" else ("latency", "reaction", "age")
        wanted = tuple(
            replace(c, join=join, semantics=rng.choice(semantics)) for c in system.chains
        )
        system = replace(system, chains=wanted)
        sent.clear()
        run = simulate(system, 400_000, rng.randrange(1 << 30))
        traces = with_inputs(run, sent, publish)
        for one in fed(Watch(system), traces, rng.choice((1 << 20, 50_000))).chains:
            if not any(system.callback_of[name].wants_all for name in one.chain.callbacks[1:]):
                continue
            seen = one.values
            times = (chain_ages if one.chain.semantics == "age" else chain_latencies)(
                run, one.chain
            )
            # What came through with the first output had begun before it was watched.
            begun = 0 if join == "last" else max(0, len(times) - len(seen))
            assert seen == sorted(times[begun:]), f"{one.chain}, {system}"
            compared += len(seen)
            if one.row["left_out"] and not seen:
                never_last += 1
                assert (one.row["state"], one.row["misses"]) == ("NOT LAST", 0)
            late += one.chain.callbacks[-1].startswith("s")
    print(f"\n{compared} instances compared")
    assert compared > 1_000
    assert late
    assert bool(never_last) == (join == "last")


@pytest.mark.parametrize("publish", [False, True])
def test_who_comes_later_sees_nothing_earlier_than_it_was(publish: bool, sent: Sent) -> None:
    """What was kept before is not in the records. Data may seem late, never in time."""
    rng = random.Random(publish)
    same = later = 0
    for _ in range(60):
        system = random_system(rng)
        wanted = tuple(replace(c, semantics="latency", join="wait") for c in system.chains)
        system = replace(system, chains=wanted)
        sent.clear()
        traces = with_inputs(simulate(system, 400_000, rng.randrange(1 << 30)), sent, publish)
        whole, late = Watch(system), Watch(system)
        fed(whole, traces, 1 << 20)
        fed(late, traces, 1 << 20, rng.randrange(1, 100_000))
        both = [
            [{end - value: value for value, end in one.instances} for one in watch.chains]
            for watch in (whole, late)
        ]
        for truth, seen in zip(*both, strict=True):
            for begin, value in seen.items():
                assert value >= truth[begin]
                same += value == truth[begin]
                later += value > truth[begin]
    print(f"\n{same} as they were, {later} that look later")
    assert same > 3_000
    assert later < same / 2


def test_what_every_node_has_is_no_input() -> None:
    system = model(
        "executors: [{name: e, kind: isolated}]\ncallbacks:\n"
        "  - {name: a, kind: timer, executor: e, period_ms: 50, wcet_ms: 1, priority: 3,"
        " publishes: [x]}\n"
        "  - {name: b, kind: timer, executor: e, period_ms: 50, wcet_ms: 1, priority: 2,"
        " publishes: [y]}\n"
        "  - {name: /f, kind: subscription, executor: e, wcet_ms: 1, priority: 1,"
        " triggers: [x, y], activation: all}\n"
        "chains: [{name: c, callbacks: [a, /f], semantics: latency}]\n"
    )
    names = ("a", "/f/subscription/x", "/f/subscription/parameter_events", "/f/subscription/clock")
    records = layout.blank(2 * len(names))
    records["callback"] = [*range(len(names))] * 2
    records["sequence"] = range(len(records))
    records["end_ns"] = records["start_ns"] = records["sequence"] * MS
    watch = Watch(system)
    watch.add(layout.Header(executor=1), {i: Entry(name) for i, name in enumerate(names)}, records)
    watch.settle(100 * MS)
    assert watch.chains[0].row["count"] == 0, "y has not come"


def test_a_chain_whose_data_never_come_last_is_no_finding(sent: Sent) -> None:
    system = model(
        "executors: [{name: e, kind: isolated, policy: rm}]\ncallbacks:\n"
        "  - {name: a, kind: timer, executor: e, period_ms: 50, offset_ms: 0, wcet_ms: 1,"
        " publishes: [x]}\n"
        "  - {name: b, kind: timer, executor: e, period_ms: 50, offset_ms: 9, wcet_ms: 1,"
        " publishes: [y]}\n"
        "  - {name: f, kind: subscription, executor: e, wcet_ms: 1, triggers: [x, y],"
        " activation: all}\n"
        "chains: [{name: c, callbacks: [a, f], semantics: latency, join: last}]\n"
    )
    traces = with_inputs(simulate(system, 1_000 * MS), sent, False)
    watch = fed(Watch(system), traces, 1 << 40)
    assert watch.to_json()["chains"][0]["left_out"] > 3
    assert "join: last counts none of them" in to_text(watch)
    (status, *_) = statuses(watch)
    assert (status["level"], status["message"].partition(":")[0]) == (0, "no instance")
