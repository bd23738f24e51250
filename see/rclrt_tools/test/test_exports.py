# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Files for other tools hold what the trace holds, read back by the libraries of these tools."""

import math
import struct
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zstandard
from models import model
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto
from perfetto_file import read_perfetto
from rclrt_analysis.simulation import simulate
from rclrt_tools.trace import Entry, Header, Trace, blank, layout, read_trace, write_trace
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.views.mcap import write_mcap
from rclrt_tools.views.perfetto import write_perfetto
from rclrt_tools.views.timeline import Timeline, close, open_sources

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from mcap import records as mcap
    from mcap.opcode import Opcode
    from mcap.reader import make_reader
    from mcap.stream_reader import StreamReader
    from mcap_ros2.reader import read_ros2_messages

MS = 1_000_000
S = 1000 * MS
NANOSECONDS = 1e-6

SYSTEM = """executors:
  - {name: one, kind: isolated, policy: fixed_priority, cores: [0]}
  - {name: two, kind: priority_events, policy: rm, cores: [1]}
callbacks:
  - {name: a, kind: timer, executor: one, period_ms: 10, wcet_ms: 2, priority: 3, publishes: [x, y],
     deadline_ms: 5}
  - {name: b, kind: subscription, executor: one, wcet_ms: 3, priority: 7, triggers: [x]}
  - {name: o, kind: timer, executor: one, wcet_ms: 2, priority: 2, period_ms: 7}
  - {name: p, kind: timer, executor: one, wcet_ms: 1, priority: 1, period_ms: 9}
  - {name: c, kind: subscription, executor: two, wcet_ms: 2, triggers: [y]}
  - {name: z, kind: timer, executor: two, wcet_ms: 0, period_ms: 5}
"""


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """Return the traces of both executors of a run in which everything happens."""
    found = []
    for name, trace in to_traces(simulate(model(SYSTEM), S, seed=4, random_work=True)).items():
        header = replace(trace.header, process=77, clock_offset_ns=10**18, boot_id=b"b" * 16)
        given_up = blank(2)
        given_up["outcome"] = [layout.DROPPED, layout.SKIPPED]
        for time in ("release_ns", "ready_ns", "start_ns", "end_ns"):
            given_up[time] = [300 * MS, 700 * MS]
        given_up["callback"] = min(trace.callbacks)
        given_up["jobs"] = [3, 4]
        found.append(tmp_path / f"{name}.trace")
        records = np.concatenate((trace.records, given_up))
        write_trace(replace(trace, header=header, records=records), found[-1])
    return found


@pytest.fixture(params=[7, 1 << 17], ids=["small blocks", "one block"])
def timeline(paths: list[Path], request: pytest.FixtureRequest) -> Iterator[Timeline]:
    sources = open_sources(paths)
    yield Timeline(sources, request.param)
    close(sources)


def test_perfetto_shows_every_job_on_its_thread_and_on_its_callback(
    timeline: Timeline, paths: list[Path], tmp_path: Path
) -> None:
    path = tmp_path / "t.pftrace"
    traces = [read_trace(one) for one in paths]
    assert write_perfetto(timeline, path) == sum(len(trace.records) for trace in traces)
    seen = read_perfetto(path)
    for trace in traces:
        for key, name in trace.names.items():
            mine = trace.jobs[trace.jobs["callback"] == key]
            mine = mine[np.argsort(mine["start_ns"], kind="stable")]
            shown = seen.on(name)
            assert [(s.begin, s.end) for s in shown] == list(
                zip(mine["start_ns"].tolist(), mine["end_ns"].tolist(), strict=True)
            )
            assert {s.name for s in shown} == {name}
            for one, record in zip(shown, mine, strict=True):
                assert one.category == "done"
                expected = {
                    "response_ms": (record["end_ns"] - record["release_ns"]) / MS,
                    "waiting_ms": (record["start_ns"] - record["ready_ns"]) / MS,
                    "execution_ms": record["cpu_ns"] / MS,
                    "sequence": record["sequence"],
                }
                if record["deadline_ns"] != layout.NO_DEADLINE:
                    expected["deadline_ms"] = (record["deadline_ns"] - record["release_ns"]) / MS
                    expected["lateness_ms"] = (record["end_ns"] - record["deadline_ns"]) / MS
                if record["waited_for"]:
                    expected["blocked_by"] = layout.WAITS[record["waited_for"]]
                assert one.arguments == expected
        for thread in np.unique(trace.jobs["thread"]).tolist():
            mine = trace.jobs[trace.jobs["thread"] == thread]
            times = sorted(zip(mine["start_ns"].tolist(), mine["end_ns"].tolist(), strict=True))
            assert sorted((s.begin, s.end) for s in seen.threads()[thread]) == times
    assert {track.process.pid for track in seen.tracks.values() if track.HasField("process")} == {
        77
    }


def test_perfetto_has_an_arrow_from_each_publication_to_the_job_it_released(
    timeline: Timeline, paths: list[Path], tmp_path: Path
) -> None:
    path = tmp_path / "t.pftrace"
    write_perfetto(timeline, path)
    seen = read_perfetto(path)
    arrows = {flow: one for one in seen.instants for flow in one.flows}
    ends = {flow: one for one in seen.slices for flow in one.flows}
    assert arrows.keys() == ends.keys()
    publisher = {one.arguments["sequence"]: one for one in seen.on("a")}
    released = {
        int(record["sequence"]): int(record["by_sequence"])
        for path in paths
        for record in read_trace(path).jobs
        if record["cause"] == layout.CAUSE_JOB
    }
    assert Counter(ends[flow].name for flow in ends) == Counter(
        {name: len(seen.on(name)) for name in "bc"}
    )
    for flow, begin in arrows.items():
        by = publisher[released[ends[flow].arguments["sequence"]]]
        assert begin.name == "releases"
        assert by.begin <= begin.begin <= by.end
        assert begin.track == by.track
        assert begin.begin <= ends[flow].begin


def test_perfetto_counts_what_waits_and_what_was_given_up(
    paths: list[Path], tmp_path: Path
) -> None:
    sources = open_sources(paths[:1])
    path = tmp_path / "t.pftrace"
    write_perfetto(Timeline(sources, 1), path)
    close(sources)
    seen = read_perfetto(path)
    jobs = read_trace(paths[0]).jobs
    backlog = seen.counter("backlog")
    assert backlog[-1][1] == 0
    assert max(value for _, value in backlog) >= 2
    for at, value in backlog:
        assert value == (jobs["ready_ns"] <= at).sum() - (jobs["start_ns"] <= at).sum()
    assert seen.counter("dropped") == [(300 * MS, 3)]
    assert seen.counter("skipped") == [(700 * MS, 4)]
    given_up = [(one.name, one.begin, one.arguments) for one in seen.instants if not one.flows]
    assert given_up == [("dropped", 300 * MS, {"jobs": 3}), ("skipped", 700 * MS, {"jobs": 4})]


def test_perfetto_gives_parallel_jobs_of_one_callback_tracks_of_their_own(tmp_path: Path) -> None:
    records = blank(2)
    records["start_ns"] = [10, 20]
    records["end_ns"] = [30, 40]  # Neither lies within the other.
    records["thread"] = [1, 2]
    for parallelism, tracks in ((2, 2), (0, 2)):
        write_trace(Trace({0: Entry("r", 0, "", parallelism)}, records), tmp_path / "t")
        sources = open_sources([tmp_path / "t"])
        write_perfetto(Timeline(sources), tmp_path / "p")
        seen = read_perfetto(tmp_path / "p")
        assert len({one.track for one in seen.on("r")}) == tracks
        assert [(one.begin, one.end) for one in seen.on("r")] == [(10, 30), (20, 40)]


def two_processes(folder: Path, parallelism: int = 1) -> list[Path]:
    """Return traces of a process that publishes and of one that takes it."""
    entries = {0: Entry("n", 0, "", parallelism)}
    published = blank(2)
    published["end_ns"] = [100, 60]
    published["release_ns"] = published["ready_ns"] = published["start_ns"] = [10, 60]
    published["outcome"] = [layout.DONE, layout.PUBLISHED]
    published["publisher"][1], published["message"][1] = 5, 6
    taken = blank(1)
    taken["release_ns"] = taken["ready_ns"] = taken["start_ns"] = 90
    taken["end_ns"] = 95
    taken["cause"], taken["publisher"], taken["message"] = layout.CAUSE_MESSAGE, 5, 6
    paths = [folder / "first.trace", folder / "second.trace"]
    for number, (path, records) in enumerate(zip(paths, (published, taken), strict=True), 1):
        write_trace(Trace(entries, records, 0, Header(process=number, executor=1)), path)
    return paths


def of_one_process(paths: list[Path]) -> None:
    """Make one process of two, of which one record names a job as the cause, and one nobody."""
    for number, path in enumerate(paths, 1):
        trace = read_trace(path)
        header = replace(trace.header, process=1, executor=number, model=layout.MODEL_PREEMPTIVE)
        records = np.concatenate([trace.records] * number)
        records["thread"] = number
        if number == 2:
            records["cause"], records["by_executor"] = layout.CAUSE_JOB, 1
            records["by_callback"][1], records["publisher"][1] = 5, 0
            for name in ("release_ns", "ready_ns", "start_ns", "end_ns"):
                records[name][1] += 1000
        write_trace(replace(trace, header=header, records=records), path)


@pytest.mark.parametrize("parallelism", [1, 0, 2])
def test_perfetto_connects_jobs_of_one_process(tmp_path: Path, parallelism: int) -> None:
    paths = two_processes(tmp_path, parallelism)
    of_one_process(paths)
    sources = open_sources(paths)
    write_perfetto(Timeline(sources), tmp_path / "p")
    seen = read_perfetto(tmp_path / "p")
    (arrow,) = seen.instants
    first, second, unknown = sorted(seen.on("n"), key=lambda one: one.begin)
    assert first.begin <= arrow.begin <= first.end
    assert arrow.track == first.track
    assert arrow.flows == second.flows
    assert unknown.flows == []


@pytest.mark.parametrize("parallelism", [1, 0, 2])
def test_perfetto_connects_processes_by_their_messages(tmp_path: Path, parallelism: int) -> None:
    """From the track of the job that published, also where each thread has one: the probe's."""
    sources = open_sources(two_processes(tmp_path, parallelism))
    write_perfetto(Timeline(sources), tmp_path / "p")
    seen = read_perfetto(tmp_path / "p")
    (arrow,) = seen.instants
    first, second = sorted(seen.on("n"), key=lambda one: one.begin)
    assert (arrow.begin, arrow.track) == (60, first.track)
    assert arrow.flows == second.flows
    pids = sorted(t.process.pid for t in seen.tracks.values() if t.HasField("process"))
    assert pids == [1, 2]


def test_perfetto_is_joined_with_a_recording_of_the_kernel_by_cat(
    timeline: Timeline, tmp_path: Path
) -> None:
    """Threads and times mean the same in both: so one sees what had the CPU meanwhile."""
    path = tmp_path / "t.pftrace"
    write_perfetto(timeline, path)
    alone = read_perfetto(path)
    job = alone.on("a")[3]
    kernel = perfetto.Trace()
    of_kernel = frozenset(range(1, 65))
    for sequence in of_kernel:
        packet = kernel.packet.add(trusted_packet_sequence_id=sequence)
        for clock in (
            perfetto.BuiltinClock.BUILTIN_CLOCK_BOOTTIME,
            perfetto.BuiltinClock.BUILTIN_CLOCK_MONOTONIC,
        ):
            packet.clock_snapshot.clocks.add(clock_id=clock, timestamp=5)
        packet = kernel.packet.add(trusted_packet_sequence_id=sequence)
        packet.ftrace_events.cpu = sequence
        event = packet.ftrace_events.event.add(timestamp=job.begin + 1, pid=77)
        event.sched_switch.prev_pid, event.sched_switch.next_pid = 77, 4711
    parts = [path.read_bytes(), kernel.SerializeToString()]
    for order in (parts, parts[::-1]):
        both = tmp_path / "both.pftrace"
        both.write_bytes(b"".join(order))
        seen = read_perfetto(both, of_kernel)
        assert (seen.slices, seen.instants, seen.counters) == (
            alone.slices, alone.instants, alone.counters,
        )  # fmt: skip
        joined = perfetto.Trace()
        joined.ParseFromString(both.read_bytes())
        clocks = [
            {c.clock_id: c.timestamp for c in p.clock_snapshot.clocks}
            for p in joined.packet
            if p.HasField("clock_snapshot")
        ]
        apart = {
            c[perfetto.BuiltinClock.BUILTIN_CLOCK_BOOTTIME]
            - c[perfetto.BuiltinClock.BUILTIN_CLOCK_MONOTONIC]
            for c in clocks
        }
        assert len(clocks) == 65
        assert apart == {0}
        switches = [e for p in joined.packet for e in p.ftrace_events.event]
        assert len(switches) == 64
        assert all(job.begin < e.timestamp < job.end for e in switches)


def test_mcap_has_a_topic_for_each_callback_that_its_own_reader_reads(
    timeline: Timeline, paths: list[Path], tmp_path: Path
) -> None:
    path = tmp_path / "t.mcap"
    traces = [read_trace(one) for one in paths]
    assert write_mcap(timeline, path) == sum(len(trace.records) for trace in traces)
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        assert reader.get_header().profile == "ros2"
        summary = reader.get_summary()
        assert summary is not None and summary.statistics is not None
        assert summary.statistics.message_count == sum(len(trace.records) for trace in traces)
        assert {channel.topic for channel in summary.channels.values()} == {
            "/a", "/b", "/o", "/p", "/c", "/z",
        }  # fmt: skip
    found: dict[str, list[object]] = {}
    last = 0
    for message in read_ros2_messages(str(path)):
        assert message.log_time_ns >= last
        last = message.log_time_ns
        found.setdefault(message.channel.topic, []).append(message)
    for trace in traces:
        for key, name in trace.names.items():
            mine = trace.records[trace.records["callback"] == key]
            mine = mine[np.argsort(mine["end_ns"], kind="stable")]
            for record, message in zip(mine, found[f"/{name}"], strict=True):
                _same(record, message)


def _same(record: np.void, message: object) -> None:
    values = message.ros_msg  # type: ignore[attr-defined]
    assert message.log_time_ns == record["end_ns"] + 10**18  # type: ignore[attr-defined]
    ran = record["outcome"] <= layout.EXCEPTION
    due = record["deadline_ns"] != layout.NO_DEADLINE
    for name, known, value in (
        ("response_ms", ran, record["end_ns"] - record["release_ns"]),
        ("release_delay_ms", ran, record["ready_ns"] - record["release_ns"]),
        ("waiting_ms", ran, record["start_ns"] - record["ready_ns"]),
        ("execution_ms", ran, record["cpu_ns"]),
        ("duration_ms", ran, record["end_ns"] - record["start_ns"]),
        ("deadline_ms", due, int(record["deadline_ns"]) - int(record["release_ns"])),
        ("lateness_ms", ran and due, int(record["end_ns"]) - int(record["deadline_ns"])),
        ("chain_ms", ran, record["end_ns"] - record["root_ns"]),
    ):
        shown = getattr(values, name)
        assert math.isclose(shown, value / MS) if known else math.isnan(shown), name
    for name in (
        "sequence", "thread", "jobs", "priority", "cpu", "outcome", "cause", "waited_for", "policy",
    ):  # fmt: skip
        assert getattr(values, name) == record[name], name


def test_mcap_says_where_each_message_is(timeline: Timeline, tmp_path: Path) -> None:
    """Viewers go to a time by it; the reader in Python does not."""
    path = tmp_path / "t.mcap"
    count = write_mcap(timeline, path)
    found = 0
    chunk = b""
    with path.open("rb") as stream:
        for record in StreamReader(stream, emit_chunks=True).records:
            if isinstance(record, mcap.Chunk):
                chunk = zstandard.decompress(record.data)
            elif isinstance(record, mcap.MessageIndex):
                for time, offset in record.records:
                    opcode, _, channel, _, log_time = struct.unpack_from("<BQHIQ", chunk, offset)
                    assert (opcode, channel, log_time) == (Opcode.MESSAGE, record.channel_id, time)
                    found += 1
    assert found == count


def test_mcap_tells_callbacks_of_one_name_apart(tmp_path: Path) -> None:
    sources = open_sources(two_processes(tmp_path))
    write_mcap(Timeline(sources), tmp_path / "m")
    topics = {message.channel.topic for message in read_ros2_messages(str(tmp_path / "m"))}
    assert topics == {"/first/n", "/second/n"}


def test_a_trace_without_records_makes_files_without_jobs(tmp_path: Path) -> None:
    write_trace(Trace({0: Entry("n")}, blank(0)), tmp_path / "t")
    sources = open_sources([tmp_path / "t"])
    assert write_perfetto(Timeline(sources), tmp_path / "p") == 0
    assert read_perfetto(tmp_path / "p").slices == []
    assert write_mcap(Timeline(sources), tmp_path / "m") == 0
    assert list(read_ros2_messages(str(tmp_path / "m"))) == []
