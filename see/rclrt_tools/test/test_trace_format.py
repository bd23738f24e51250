# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the reader makes of whole, cut, live and damaged files."""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from models import ROOT
from rclrt_tools.trace import (
    Header,
    Trace,
    TraceError,
    TraceReader,
    layout,
    named_traces,
    read_trace,
    write_trace,
)
from trace_bytes import HEADER, S, callback, chunk, example, kinds, record, records, ring


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.trace"


def read(path: Path, data: bytes) -> Trace:
    path.write_bytes(data)
    return read_trace(path)


def sequences(trace: Trace) -> list[int]:
    found: list[int] = trace.records["sequence"].tolist()
    return found


def test_the_example_of_the_specification_is_read_and_written_alike(path: Path) -> None:
    trace = read(path, example())
    assert trace.header == Header(
        bytes(range(1, 17)), 1_700_000_000_000_000_000, 4200, 1, layout.MODEL_PREEMPTIVE,
        layout.ORDER_FIXED_PRIORITY, 0,
    )  # fmt: skip
    entry = layout.Entry("/a/timer", 2, "/a", 1, layout.KIND_TIMER, 10_000_000)
    assert trace.callbacks == {5: entry}
    assert (trace.names, trace.dropped) == ({5: "/a/timer"}, 1)
    (record,) = trace.records
    assert record["release_ns"] == S
    assert (record["ready_ns"] - S, record["start_ns"] - S) == (20_000, 35_000)
    assert (record["end_ns"] - S, record["deadline_ns"] - S) == (1_500_000, 10_000_000)
    expected = {
        "sequence": 7, "callback": 5, "thread": 4242, "preemptions": 0, "cpu": 3, "outcome": 0,
        "cause": layout.CAUSE_TIMER, "cpu_ns": 1_465_000, "root_ns": S, "publisher": 0,
        "message": layout.NO_MESSAGE, "by_sequence": 0, "by_callback": layout.NO_CALLBACK,
        "by_executor": 0, "waited_for": layout.WAITED_FOR_GROUP, "policy": layout.POLICY_FIFO,
        "cpus": 0b1100, "priority": 80, "reserved": 0, "jobs": 1,
    }  # fmt: skip
    assert {name: int(record[name]) for name in expected} == expected
    again = path.with_name("again")
    write_trace(trace, again)
    assert again.read_bytes() == example()


def test_all_of_a_file_comes_back_as_it_was_written(path: Path) -> None:
    generator = np.random.default_rng(1)
    raw = generator.integers(0, 256, 3000 * 128, dtype=np.uint8).tobytes()
    many = np.frombuffer(raw, layout.RECORD).copy()
    many["callback"] %= 3
    entries = {i: layout.Entry(f"ü{i}", i, "g" * i, i, i, i * 1000) for i in range(3)}
    header = Header(bytes(range(16)), -5, 7, 8, 3, 2, 1)
    write_trace(Trace(entries, many, 12, header), path)
    back = read_trace(path)
    assert (back.callbacks, back.dropped, back.header) == (entries, 12, header)
    assert np.array_equal(back.records, many)


def test_a_file_that_was_cut_off_anywhere_gives_what_is_whole(path: Path) -> None:
    data = HEADER + callback(5) + ring(6, 4) + records(1, 2) + chunk(4, struct.pack("<Q", 8))
    whole = read(path, data)
    assert (sequences(whole), whole.dropped) == ([1, 2, 3, 4, 5], 8)
    before = 0
    for end in range(64, len(data)):
        trace = read(path, data[:end])
        assert set(sequences(trace)) <= {1, 2, 3, 4, 5}
        assert len(trace.records) >= before
        before = len(trace.records)


def test_nothing_counts_after_the_end_and_padding_and_later_types_are_passed_over(
    path: Path,
) -> None:
    strange = chunk(5, b"x" * 13) + chunk(77, b"y" * 3)
    data = HEADER + strange + callback(5) + strange + records(1) + chunk(0, b"") + records(2)
    assert sequences(read(path, data)) == [1]


def test_the_last_number_of_lost_records_counts(path: Path) -> None:
    lost = [chunk(4, struct.pack("<Q", n)) for n in (2, 9)]
    assert read(path, HEADER + lost[0] + lost[1]).dropped == 9


def test_a_callback_without_an_entry_gets_a_name(path: Path) -> None:
    assert read(path, HEADER + records(1)).names == {5: "callback 5"}


@pytest.mark.parametrize(
    ("head", "expected"),
    [(0, []), (1, [0]), (3, [0, 1, 2]), (4, [1, 2, 3]), (5, [2, 3, 4]), (1003, [1000, 1001, 1002])],
)
def test_a_ring_gives_all_but_the_slot_that_may_be_half_written(
    path: Path, head: int, expected: list[int]
) -> None:
    assert sequences(read(path, HEADER + ring(head, 4))) == expected


def test_what_is_in_a_ring_and_in_the_file_counts_once(path: Path) -> None:
    data = HEADER + ring(8, 8) + ring(8, 8, thread=10) + records(1, 2, 3) + records(5)
    trace = read(path, data)
    assert sequences(trace) == [1, 2, 3, 5, 4, 6, 7, *range(1, 8)]
    with TraceReader(path) as reader:  # In blocks as well.
        assert [len(block) for block in reader.blocks(2)] == [2, 2, 10]


@pytest.mark.parametrize(
    ("newer", "kept"), [(11, [4, 5, 6, 7]), (16, []), (2, [1, 2, 3, 4, 5, 6, 7])]
)
def test_records_that_are_overwritten_while_a_ring_is_read_are_given_up(
    path: Path, monkeypatch: pytest.MonkeyPatch, newer: int, kept: list[int]
) -> None:
    path.write_bytes(HEADER + ring(8, 8))
    pread = os.pread

    def writes_meanwhile(descriptor: int, size: int, at: int) -> bytes:
        data = pread(descriptor, size, at)
        if size == 8 * 128:
            with path.open("r+b") as stream:
                stream.seek(72)
                stream.write(struct.pack("<Q", newer))
        return data

    monkeypatch.setattr(os, "pread", writes_meanwhile)
    assert sequences(read_trace(path)) == kept


def test_records_that_only_mix_alike_are_no_doubles(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "_mixed", lambda records: np.zeros(len(records), dtype=np.uint64))
    assert sequences(read(path, HEADER + ring(4, 8) + records(2, 7))) == [2, 7, 0, 1, 3]


ENTRY = struct.pack("<IIIIqII", 5, 1, 1, 1, -1, 3, 0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (example()[:15], "15 bytes are too few for a header"),
        (example()[:63], "63 bytes are too few for a header"),
        (b"X" + example()[1:], "no trace file: it starts with b'XCLRTTRC'"),
        (example()[:8] + b"\x01" + example()[9:], "version 1 with records of 128 bytes"),
        (example()[:8] + b"\x03" + example()[9:], "version 3 with records of 128 bytes"),
        (example()[:12] + b"\x40" + example()[13:], "version 2 with records of 64 bytes"),
        (HEADER + chunk(1, ENTRY[:31]), "byte 72: a callback entry of 31 bytes"),
        (HEADER + chunk(1, ENTRY + b"ab"), "byte 72: the names of callback 5 are longer"),
        (HEADER + chunk(1, ENTRY + b"\xff\xff\xff"), "byte 104: 'utf-8' codec can't decode"),
        (HEADER + callback(5, "a") + callback(5, "b"), "callback 5 has two entries that differ"),
        (HEADER + chunk(4, b"1234"), "byte 72: the number of lost records has 4 bytes"),
        (HEADER + chunk(3, bytes(55)), "byte 72: a ring of 55 bytes"),
        (HEADER + chunk(3, struct.pack("<QI44x", 0, 3)), "ring of 3 records, which is no power"),
        (HEADER + chunk(3, struct.pack("<QI44x", 0, 0)), "ring of 0 records, which is no power"),
        (HEADER + chunk(3, struct.pack("<QI44x", 0, 2**31)), "ring of 2147483648 records in a"),
    ],
)
def test_damage_is_refused_with_the_place(path: Path, data: bytes, message: str) -> None:
    with pytest.raises(TraceError) as caught:
        read(path, data)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_more_callbacks_than_anybody_has_are_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rclrt_tools.trace.read.MAX_CALLBACKS", 3)
    entries = b"".join(callback(i) for i in range(4))
    unnamed = b"".join(chunk(2, record(1, callback=i)) for i in range(4))
    for data in (entries, unnamed):
        with pytest.raises(TraceError, match="more than 3 callbacks; is the file damaged"):
            read(path, HEADER + data)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, message in (
        (tmp_path / "absent", "No such file"),
        (tmp_path, "no regular file"),
        (pipe, "no regular file"),  # Opening it would wait for a writer.
        (Path("/dev/zero"), "no regular file"),
        (tmp_path / "nul\0byte", "null"),
    ):
        with pytest.raises(TraceError, match=message):
            read_trace(path)


LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from rclrt_tools.trace import TraceError, read_trace
limit = 512 << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    print(len(read_trace(Path(sys.argv[1])).records))
except TraceError as error:
    print(error)
"""


def test_sizes_that_a_file_claims_cost_no_memory(path: Path) -> None:
    """Names of 4 GiB, a ring and a chunk of records of as much, in a file of some bytes."""
    names = struct.pack("<IIIIqII", 5, 1, 1, 1, -1, 2**32 - 1, 2**32 - 1)
    huge = struct.pack("<II", 2, 2**32 - 8)
    most = struct.pack("<II", 3, 2**32 - 1) + struct.pack("<QI44x", 2**64 - 1, 2**24)
    for data, expected in (
        (HEADER + chunk(1, names), "longer than their chunk"),
        (HEADER + huge + record(1), "1"),
        (HEADER + most + record(1) * 3, "3"),
    ):
        path.write_bytes(data)
        done = subprocess.run(
            [sys.executable, "-c", LITTLE_MEMORY, str(path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
        assert expected in done.stdout, done.stderr


def test_what_programs_write_is_read(tmp_path: Path) -> None:
    program = Path(os.environ.get("RCLRT_BUILD_DIR", "/")) / "rclrt_core" / "test_trace_file"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    done = subprocess.run(
        [str(program)],
        env={**os.environ, "RCLRT_TRACES": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    written = (tmp_path / "example.trace").read_bytes()
    assert written[:16] == example()[:16]  # then boot, clock and process of this machine
    assert written[44:] == example()[44:]
    assert read_trace(tmp_path / "example.trace").header.executor == 1
    for name, count in (("killed", 2), ("one", 0)):
        assert len(read_trace(tmp_path / f"{name}.trace").records) == count
    assert len(read_trace(tmp_path / "full.trace").records) > 512
    long = read_trace(tmp_path / "long.trace")
    assert (long.names[5], long.dropped) == ("/a/timer", 1)
    assert long.names[9] == "..." + "ü" * ((layout.MAX_NAME - 3) // 2)
    assert long.records["sequence"].tolist() == list(range(3001))


def test_the_constants_are_those_of_the_header() -> None:
    text = (ROOT / "engine/rclrt_trace/include/rclrt_trace/record.h").read_text(encoding="utf-8")
    prefixes = {
        "RCLRT_JOB_": layout.OUTCOMES[:5], "RCLRT_CAUSE_": layout.CAUSES,
        "RCLRT_MODEL_": layout.MODELS, "RCLRT_ORDER_": layout.ORDERINGS,
        "RCLRT_KIND_": layout.KINDS, "RCLRT_POLICY_": layout.POLICIES,
    }  # fmt: skip
    for prefix, words in prefixes.items():
        for number, word in enumerate(words):
            assert f"{prefix}{word.upper()} = {number}," in text, (prefix, word)
    assert "RCLRT_PUBLISHED = 5," in text
    core = (ROOT / "engine/rclrt_core/include/rclrt_core/attributes.hpp").read_text(
        encoding="utf-8"
    )
    row = r'^  \{SchedulingPolicy::k\w+, "(\w+)", (\d+), (\d), (\w+), (\w+), \w+\},'
    words, kernels, levels, prioritized, nice = zip(
        *re.findall(row, core, re.MULTILINE), strict=True
    )
    assert words == ("unchanged", *layout.POLICIES[1:])
    assert dict(zip(map(int, kernels[1:]), words[1:], strict=True)) == layout.POLICIES_OF_LINUX
    with_priority, with_nice, real_time = (
        {number for number, value in enumerate(column) if value in values}
        for column, values in ((prioritized, ["true"]), (nice, ["true"]), (levels, "234"))
    )
    assert with_priority == set(layout.WITH_PRIORITY)
    assert with_nice == set(layout.WITH_NICE)
    assert real_time == set(layout.REAL_TIME)


@pytest.mark.parametrize("place", ["name", "group"])
def test_a_name_that_is_too_long_is_refused_with_the_place_and_the_remedy(
    tmp_path: Path, place: str
) -> None:
    def data(length: int) -> bytes:
        names = {"name": "/a", "group": "/g", place: "n" * length}
        return HEADER + callback(5, names["name"], names["group"]) + records(1)

    path = tmp_path / "t.trace"
    path.write_bytes(data(layout.MAX_NAME))
    assert len(read_trace(path).records) == 1
    path.write_bytes(data(10_000_000))
    expected = (
        r"byte 72: a name of callback 5 has 10000000 bytes, more than 4096: give the callback"
    )
    with pytest.raises(TraceError, match=expected):
        read_trace(path)


def test_a_file_with_holes_costs_no_more_memory_than_rings_may_have(tmp_path: Path) -> None:
    path = tmp_path / "t.trace"
    capacity = 1 << 20
    size = 56 + 128 * capacity
    with path.open("wb") as stream:
        stream.write(HEADER)
        for _ in range(4):
            stream.write(struct.pack("<II", 3, size) + struct.pack("<QI44x", capacity, capacity))
            stream.seek(size - 56, os.SEEK_CUR)
        stream.truncate()
    with pytest.raises(TraceError, match="rings of more than 2097152 records"):
        read_trace(path)


def test_what_does_not_fit_into_memory_is_refused_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rclrt_tools.trace.read.MAX_IN_MEMORY", 2)
    path = tmp_path / "t.trace"
    path.write_bytes(HEADER + callback(5) + records(1, 2, 3))
    with pytest.raises(TraceError, match=r"3 records; at most 2 .* record for a shorter time"):
        read_trace(path)
    monkeypatch.setattr("rclrt_tools.trace.read.MAX_IN_MEMORY", 5)
    path.with_name("u.trace").write_bytes(path.read_bytes())
    with pytest.raises(TraceError, match=r"3 records after 3 of other files; .* fewer files"):
        named_traces([tmp_path])


def test_damaged_files_are_read_or_refused_with_a_reason() -> None:
    found = kinds(seed=1, count=10_000)
    assert sum(found.values()) == 10_000
    assert found["read"] > 1000
    assert len(found) > 8, f"too few of the errors were reached: {found}"
