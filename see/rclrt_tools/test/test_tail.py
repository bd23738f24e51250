# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Processes under the probe in `./rclrt top`: the files that they write, here by hand."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rclrt_tools.live.follow import ProbedFiles, Tail
from rclrt_tools.live.top_once import to_json
from rclrt_tools.live.watch import Watch
from rclrt_tools.trace import TraceError, layout
from rclrt_tools.trace.layout import blank


def chunk(kind: int, content: bytes) -> bytes:
    return layout.CHUNK.pack(kind, len(content)) + content + bytes(-len(content) % 8)


def callback(key: int, name: str) -> bytes:
    entry = layout.ENTRY.pack(key, 0, 1, 1, 10**7, len(name), 0) + name.encode()
    return chunk(layout.CHUNK_CALLBACK, entry)


def records(*sequences: int) -> bytes:
    jobs = blank(len(sequences))
    jobs["sequence"], jobs["callback"] = sequences, 1
    now = time.monotonic_ns()
    for name in ("release_ns", "ready_ns", "start_ns", "end_ns"):
        jobs[name] = now
    jobs["cpu_ns"] = 1000
    return chunk(layout.CHUNK_RECORDS, jobs.tobytes())


class Probed:
    """A process that has the environment of the probe, and what it writes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.process = subprocess.Popen(
            [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder.parent,
            env={"RCLRT_PROBE_FOLDER": folder.name},
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()
        self.path = folder / f"talker-{self.process.pid}-{7:016x}.1.trace"
        self.write(
            layout.HEADER.pack(layout.MAGIC, 2, 128, bytes(16), 0, self.process.pid, 1, 0, 0, 0)
        )

    def write(self, data: bytes) -> None:
        with self.path.open("ab") as stream:
            stream.write(data)

    def end(self) -> None:
        self.process.communicate()


@pytest.fixture
def talker(tmp_path: Path) -> Iterator[Probed]:
    probed = Probed(tmp_path / "traces")
    yield probed
    if probed.process.poll() is None:
        probed.end()


def sequences(tail: Tail) -> list[int]:
    return [int(one["sequence"]) for one in tail.poll()]


def test_files_of_processes_under_the_probe_are_found_by_their_environment(talker: Probed) -> None:
    other = talker.path.with_name("talker-1.trace")
    other.touch()
    files = ProbedFiles()

    def found(path: Path) -> bool:
        return path.resolve() in [one.resolve() for one in files.look()]

    assert found(talker.path)
    assert not found(other)
    talker.end()
    assert not found(talker.path)


def test_a_process_that_comes_under_the_probe_later_is_found(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cwd").symlink_to(tmp_path)
    environ, trace = tmp_path / "7" / "environ", tmp_path / f"talker-7-{0:016}.trace"
    trace.touch()
    environ.write_bytes(b"A=1\0NO_RCLRT_PROBE_FOLDER=.\0")
    files = ProbedFiles(tmp_path)
    assert files.look() == []
    environ.write_bytes(b"A=1\0RCLRT_PROBE_FOLDER=.\0")
    assert [trace] in [files.look() for _ in range(5)]
    assert all(files.look() == [trace] for _ in range(5))


def test_a_tail_passes_over_what_was_there_and_sees_the_rest_once(talker: Probed) -> None:
    talker.write(records(1, 2, 3) + callback(1, "/talker/timer"))
    tail = Tail(talker.path)
    assert tail.earlier == 3
    assert sequences(tail) == []
    assert tail.callbacks[1].name == "/talker/timer"
    assert tail.process.program == "talker"
    assert tail.process.runs() is True
    whole = records(4, 5)
    talker.write(whole[:100])
    assert sequences(tail) == []  # half written
    talker.write(whole[100:] + chunk(layout.CHUNK_NOTE, b"abc") + records(6))
    assert sequences(tail) == [4, 5, 6]
    assert sequences(tail) == []
    assert (tail.earlier, tail.missed) == (3, 0)
    tail.close()


def test_a_damaged_file_is_an_error_or_harmless(talker: Probed) -> None:
    talker.write(callback(1, "/talker/timer"))
    whole = talker.path.read_bytes()
    chance = random.Random(1)
    read, seen = 0, set()
    for _ in range(300):
        talker.path.write_bytes(whole)
        tail = Tail(talker.path)
        data = bytearray(records(1, 2, 3))
        for _ in range(chance.randrange(4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        talker.write(bytes(data[: chance.choice((len(data), chance.randrange(len(data))))]))
        if chance.random() < 0.2:
            os.truncate(talker.path, chance.randrange(len(whole)))
        try:
            read += len(tail.poll())
        except TraceError as error:
            seen.add(str(error).partition(".trace: ")[2])
        tail.close()
    assert read > 0
    assert "somebody has cut it short" in seen
    talker.path.write_bytes(b"no trace")
    with pytest.raises(TraceError, match="this is no trace"):
        Tail(talker.path)


def test_top_shows_a_process_under_the_probe_until_it_ends(talker: Probed) -> None:
    talker.write(callback(1, "/talker/timer") + records(1, 2, 3))
    now = [time.monotonic_ns()]
    watch = Watch([], 5 * 10**9, [], lambda: now[0], lambda: [talker.path])
    watch.poll()
    talker.write(records(4, 5))
    now[0] = time.monotonic_ns() + 10**9
    result = to_json(watch.snapshot(), 5)
    (row,) = result["callbacks"]
    assert (row["name"], row["jobs"]) == ("/talker/timer", 2)
    (process,) = result["processes"]
    assert (process["program"], process["state"]) == ("talker", "runs")
    assert talker.process.pid in [one["thread"] for one in result["threads"]]
    talker.end()
    now[0] += 10**9
    result = to_json(watch.snapshot(), 5)
    assert [one["state"] for one in result["processes"]] == ["ended"]
    assert result["findings"] == result["callbacks"] == []
    watch.close()
