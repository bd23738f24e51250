# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Perfetto's own trace processor accepts our files and shows in them what the trace holds.

The other tests of such files ask it, too: `read_perfetto` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from models import model
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto
from perfetto.trace_processor import TraceProcessor
from perfetto_file import MISSING, complaints, opened, program, read_perfetto, rows
from rclrt_analysis.simulation import simulate
from rclrt_tools.trace import write_trace
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.views.perfetto import write_perfetto
from rclrt_tools.views.timeline import Timeline, close, open_sources

MS = 1_000_000
S = 1000 * MS

CHAIN = """executors:
  - {name: one, kind: isolated, policy: fixed_priority, cores: [0]}
  - {name: two, kind: isolated, policy: fixed_priority, cores: [1]}
callbacks:
  - {name: a, kind: timer, executor: one, period_ms: 10, wcet_ms: 2, priority: 3, publishes: [x],
     deadline_ms: 1}
  - {name: b, kind: subscription, executor: two, wcet_ms: 3, priority: 7, triggers: [x],
     publishes: [y]}
  - {name: c, kind: subscription, executor: one, wcet_ms: 1, priority: 2, triggers: [y]}
"""

pytestmark = pytest.mark.skipif(program() is None, reason=MISSING)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file of two executors with a chain through both."""
    paths = []
    traces = to_traces(simulate(model(CHAIN), S))
    for name, trace in traces.items():
        header = replace(trace.header, process=77, clock_offset_ns=10**18, boot_id=b"b" * 16)
        trace.records["end_ns"] += 1000  # What is published is published before.
        paths.append(tmp_path / f"{name}.trace")
        write_trace(replace(trace, header=header), paths[-1])
    sources = open_sources(paths)
    write_perfetto(Timeline(sources), tmp_path / "t.pftrace")
    close(sources)
    return tmp_path / "t.pftrace"


@pytest.fixture
def processor(file: Path) -> Iterator[TraceProcessor]:
    with opened(file) as one:
        yield one


def test_a_file_is_accepted_without_complaints(processor: TraceProcessor) -> None:
    assert complaints(processor) == []
    (found,) = rows(processor, "select count(*) as slices from slice")
    assert found["slices"] > 300


def test_each_callback_has_a_track_below_its_executor_below_its_process(
    processor: TraceProcessor,
) -> None:
    found = rows(
        processor,
        "select t.name, e.name as executor, p.pid, p.name as process from track t "
        "join track e on t.parent_id = e.id left join process_track pt on e.id = pt.id "
        "left join process p using (upid) where t.name in ('a', 'b', 'c')",
    )
    assert {(row["name"], row["executor"].split()[0]) for row in found} == {
        ("a", "one"), ("b", "two"), ("c", "one"),
    }  # fmt: skip


def test_each_thread_has_its_own_track_in_its_process(processor: TraceProcessor) -> None:
    found = rows(
        processor,
        "select distinct p.pid, p.name as process, th.name, tid, s.name as callback from slice s "
        "join thread_track tt on s.track_id = tt.id join thread th using (utid) "
        "join process p using (upid)",
    )
    assert {(row["pid"], row["process"]) for row in found} == {(77, "process 77")}
    assert {(row["name"], row["callback"]) for row in found} == {
        ("one", "a"), ("two", "b"), ("one", "c"),
    }  # fmt: skip
    assert len({row["tid"] for row in found}) == 3


def test_the_flows_of_a_chain_lead_from_its_timer_to_its_end(processor: TraceProcessor) -> None:
    """As the viewer follows them: through what is within a slice as well."""
    ids = rows(processor, "select s.id from slice s where s.name = 'a' and s.arg_set_id not null")
    for row in ids[3:6]:
        found = rows(
            processor,
            f"select i.name from following_flow({row['id']}) f join slice i on f.slice_in = i.id",
        )
        assert [one["name"] for one in found] == ["b", "c"]


def test_deadlines_and_lateness_are_arguments(processor: TraceProcessor) -> None:
    found = rows(
        processor,
        "select extract_arg(arg_set_id, 'debug.deadline_ms') as deadline, "
        "extract_arg(arg_set_id, 'debug.lateness_ms') as late, dur from slice "
        "where name = 'a' and extract_arg(arg_set_id, 'debug.deadline_ms') not null",
    )
    assert len(found) >= 99
    assert {row["deadline"] for row in found} == {1}
    assert all(row["late"] >= row["dur"] / MS - 1 for row in found)


def test_a_recording_of_the_kernel_shows_who_had_the_cpu_of_a_job(
    file: Path, tmp_path: Path
) -> None:
    job = read_perfetto(file).on("a")[3]
    ((thread, _),) = [
        (thread, shown)
        for thread, slices in read_perfetto(file).threads().items()
        for shown in slices
        if (shown.name, shown.begin) == ("a", job.begin)
    ]
    kernel = perfetto.Trace()
    packet = kernel.packet.add(trusted_packet_sequence_id=7)
    for clock in (
        perfetto.BuiltinClock.BUILTIN_CLOCK_BOOTTIME,
        perfetto.BuiltinClock.BUILTIN_CLOCK_MONOTONIC,
    ):
        packet.clock_snapshot.clocks.add(clock_id=clock, timestamp=5)
    bundle = kernel.packet.add(trusted_packet_sequence_id=7).ftrace_events
    bundle.cpu = 0
    for at, before, after in (
        (job.begin, 0, thread), (job.begin + 1000, thread, 4711), (job.begin + 9000, 4711, thread),
        (job.end, thread, 0),
    ):  # fmt: skip
        event = bundle.event.add(timestamp=at, pid=before).sched_switch
        event.prev_pid, event.next_pid = before, after
        event.prev_comm, event.next_comm = f"of {before}", f"of {after}"
    parts = [file.read_bytes(), kernel.SerializeToString()]
    for number, order in enumerate((parts, parts[::-1])):
        both = tmp_path / f"both-{number}.pftrace"
        both.write_bytes(b"".join(order))
        with opened(both) as processor:
            assert complaints(processor) == []
            found = rows(
                processor,
                "select c.dur, o.tid from slice s join thread_track tt on s.track_id = tt.id "
                "join sched c join thread o on c.utid = o.utid "
                "join sched mine on mine.utid = tt.utid and mine.ts = s.ts "
                f"where s.name = 'a' and s.ts = {job.begin} and c.ts > s.ts "
                "and c.ts < s.ts + s.dur and c.utid != tt.utid",
            )
            assert found == [{"dur": 8000, "tid": 4711}]
