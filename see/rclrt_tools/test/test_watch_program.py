# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The program that watches: what it is told, and what is wrong; and live traces that are spoilt."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from live_program import Program, born
from models import model
from rclrt_tools import cli, places
from rclrt_tools.live import files
from rclrt_tools.live.threads import Thread
from rclrt_tools.trace import TraceError, layout
from rclrt_tools.trace.layout import Entry, Header, blank
from rclrt_tools.watch import sources
from rclrt_tools.watch.sources import Live
from rclrt_tools.watch.watch import PACKAGE, PROGRAM, Watch

SYSTEM = """executors: [{name: one, kind: isolated, policy: fixed_priority, cores: [0]}]
callbacks: [{name: tick, kind: timer, executor: one, period_ms: 10, wcet_ms: 2, priority: 3}]
chains: [{name: see, callbacks: [tick], semantics: latency, deadline_ms: 30}]
"""


KNOWN = b"callback a /a 5 - - - 0 0\nchain c 1 wait - - - - -\nlink a timer 0 0\n"


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (b"fly", "line 1: there is no 'fly'"),
        (b"settle", "line 1: 'settle' has 1 words"),
        (b"settle soon", "'soon' is no number from -576460752303423488"),
        (KNOWN + b"settle 9223372036854775807", "line 4: '9223372036854775807' is no number"),
        (b"callback a /a -1 - - - 0 0", "'-1' is no number from 0"),
        (b"callback a /a - - - - 8 0", "'8' is no number from 0 to 7"),
        (b"name 0 a%", "'%' is no percent-encoded letter"),
        (b"name 0 a%g0", "'%g0' is no percent-encoded letter"),
        (b"cpu 0", "line 1: there is nothing that it belongs to"),
        (b"chain c 1 wait - - - - -\nsay 0", "line 2: chain 'c' has no link"),
        (KNOWN + b"say 0\nlink a timer 0 0", "line 5: the model is complete"),
        (KNOWN + b"source 0 1 1\nrecords 2\n" + bytes(128), "line 5: there are fewer records"),
        (b"records 99999999", "'99999999' is no number from 0 to 65536"),
        (b"x" * (1 << 23), "line 1: it is too long, or has no end"),
        (b"chain c 1 wait - - - 4294967296 -", "'4294967296' is no number from 0 to 4294967295"),
        (KNOWN + b"records 1\n" + bytes(128) * 2, "line 5: it is too long, or has no end"),
        (KNOWN + (b"which " + b"x" * 65000 + b"\n") * 1100, "take more than 64 MiB"),
        (b"".join(b"name %d x\n" % i for i in range(1 << 18)), "take more than 64 MiB"),
        (b"at 0\n" * 65537, "line 65537: a process has more than 65536 threads"),
        (b"thread 1 a 4 5 0\n" * 65537, "line 65537: a process has more than 65536 threads"),
        (b"thread 1 a 9 5 0", "'9' is no number from 0 to 7"),
        (b"source 65537 1 1", "'65537' is no number from 0 to 65536"),
        (KNOWN + KNOWN[51:] * (1 << 18), "take more than 64 MiB"),
    ],
)
def test_what_no_watch_is_told_is_an_error_that_names_its_line(told: bytes, says: str) -> None:
    command, told = [places.program(PACKAGE, PROGRAM)], told + b"\n"
    ended = subprocess.run(command, input=told, capture_output=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert says in ended.stderr.decode()


@pytest.mark.parametrize("until", [b"576460752303423488", b"-576460752303423488"])
def test_the_longest_times_leave_the_rules_what_they_are(until: bytes) -> None:
    chain = b"chain c 2 0 1000000 - 576460752303423488 1 1\nlink a 1 0 0\nname 0 a\nrecords 3\n"
    records = blank(3)
    records["sequence"] = 1, 2, 3
    told = KNOWN[:26] + chain + records.tobytes()
    ended = subprocess.run(
        [places.program(PACKAGE, PROGRAM)], capture_output=True, check=True, timeout=60,
        input=told + b"".join(b"settle %s\n" % at for at in (until, b"0", until)) + b"say 1\n",
    )  # fmt: skip
    assert b'"count": 2' in ended.stdout


def test_an_answer_that_nobody_takes_is_an_error_that_names_its_line(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    full = os.open("/dev/full", os.O_WRONLY)
    for out, says in ((write, "Broken pipe"), (full, "No space left on device")):
        ended = subprocess.run(
            [places.program(PACKAGE, PROGRAM)], input=KNOWN + b"say 0\nsay 0\n", check=False,
            stdout=out, stderr=subprocess.PIPE, timeout=60,
        )  # fmt: skip
        os.close(out)
        assert ended.returncode == 2
        assert ended.stderr.decode() == f"rclrt_watch: line 4: nobody takes the answer: {says}\n"


@pytest.mark.parametrize("does", ["exec sleep 600", "cat >/dev/null; exec sleep 600"])
def test_a_program_that_does_nothing_is_an_error_and_is_ended(
    does: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / PACKAGE).mkdir()
    (tmp_path / PACKAGE / PROGRAM).write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
    (tmp_path / PACKAGE / PROGRAM).chmod(0o755)
    monkeypatch.setenv("RCLRT_BUILD_DIR", str(tmp_path))
    monkeypatch.setattr("rclrt_tools.watch.watch.PATIENCE_S", 0.1)
    watch = Watch(model(SYSTEM))
    with pytest.raises(TraceError, match=r"rclrt_watch \(process \d+\) has done nothing"):
        watch.add(Header(executor=1), {1: Entry("tick")}, blank(1 << 12))
        watch.to_json()
    watch.close()
    assert watch._program.returncode == -signal.SIGKILL


def test_records_that_cannot_be_true_are_missing_and_names_stay_as_they_are() -> None:
    records = blank(2)
    records["callback"] = 1, 2
    records["release_ns"][0] = -(2**63)
    watch = Watch(model(SYSTEM))
    watch.add(Header(executor=1), {1: Entry("tick"), 2: Entry('a "\\\n%é')}, records)
    content = watch.to_json()
    assert content["lost_records"] == 1
    assert content["not_in_the_model"] == ['a "\\\n%é']


def test_without_the_program_the_verb_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RCLRT_BUILD_DIR", str(tmp_path))
    monkeypatch.setattr(places, "prefixes", list)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TraceError, match=r"Debian's package rclrt-watch, run \./rclrt watch"):
        Watch(model(SYSTEM))
    monkeypatch.delenv("RCLRT_SOURCE_DIR")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["watch", "robot.yaml"]) == 2
    said = (
        "rclrt watch needs the program rclrt_watch, which is not installed here: install Debian's"
    )
    assert said in capsys.readouterr().err
    (tmp_path / PROGRAM).symlink_to(shutil.which("true", path=os.defpath) or "")
    assert places.program(PACKAGE, PROGRAM) == tmp_path / PROGRAM


def test_what_interrupts_the_verb_leaves_it_the_program_to_the_end(tmp_path: Path) -> None:
    robot, out = tmp_path / "robot.yaml", tmp_path / "out.json"
    robot.write_text(f"schema: 1\nname: robot\n{SYSTEM}", encoding="utf-8")
    command = cli.command("watch", str(robot), "--json", str(out), "--program", "nobody")
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as watch:
        status, caught = Path(f"/proc/{watch.pid}/status"), 0
        while not caught >> (signal.SIGTERM - 1) & 1:
            caught = int(re.findall(r"SigCgt:\s*(\w+)", status.read_text("utf-8"))[0], 16)
            time.sleep(0.02)
        os.killpg(watch.pid, signal.SIGINT)
    assert (watch.returncode, out.exists()) == (0, True)


def test_a_program_that_has_ended_is_an_error() -> None:
    watch = Watch(model(SYSTEM))
    watch._program.kill()
    watch._program.wait()
    with pytest.raises(TraceError, match="rclrt_watch has ended"):
        watch.to_json()


def spoil(program: Program) -> None:
    os.pwrite(program.stream.fileno(), b"\1\2\3", 40)


def cut(program: Program) -> None:
    os.ftruncate(program.stream.fileno(), 100)


def remove(program: Program) -> None:
    program.path.unlink()


@pytest.fixture(autouse=True)
def looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOOKS_S", 0)


def spoilt(folder: Path, process: int, change: Callable[[Program], None]) -> tuple[Watch, Live]:
    """Return a watch that has seen jobs of a process, and what becomes of it."""
    writer = Program(folder / "live", born(process), process)
    writer.callback(1, "tick", "", 10_000_000)
    writer.ring()
    watch = Watch(model(SYSTEM))
    live = Live(watch, [], [folder / "live"])
    live.step()
    now = time.monotonic_ns() - 1_000_000_000
    for i in range(3):
        at = now + i * 10_000_000
        times = {"release_ns": at, "ready_ns": at, "start_ns": at, "end_ns": at + 1}
        writer.job(0, i, callback=1, cause=1, policy=4, priority=3, **times)
    live.step()
    assert watch.lost_records == 0
    assert watch.chains[0].row["count"] > 0
    change(writer)
    live.step()
    return watch, live


@pytest.mark.parametrize(
    ("change", "says"), [(spoil, "its beginning has changed"), (cut, "cut it short")]
)
def test_of_a_file_that_was_spoilt_records_are_missing(
    change: Callable[[Program], None], says: str, tmp_path: Path
) -> None:
    watch, live = spoilt(tmp_path, os.getpid(), change)
    assert watch.lost_records == 1
    assert not watch.to_json()["proved"]
    assert says in live.said[-1]
    live.close()


def of_threads(watch: Watch) -> list[tuple[str, str]]:
    broken = watch.to_json()["broken_assumptions"]
    return [(one["callback"], one["text"]) for one in broken if one["what"] == "thread"]


def test_a_thread_is_missed_in_real_time_only_if_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, live = spoilt(tmp_path, os.getpid(), lambda _: None)

    def told(number: int, name: str = "dds", born: int = 0) -> list[tuple[str, str]]:
        """Return what is told of a thread, of real time in two looks and not in the others."""
        for look in range(7):
            policy = "fifo" if look < 2 else "other"
            one = Thread(number, name, "S", policy, 9, "0", 0, 0, 0, born=born)
            monkeypatch.setattr(sources, "threads_of", lambda _, one=one: [one])
            live._look_at_threads()
        return of_threads(watch)

    # It has begun a moment ago, with what its parent had; or it has what a job asks for.
    assert told(6, born=2**60) == told(7, name="rclrt worker 1") == []
    live._workers.add(8)
    assert told(8) == []
    assert told(9) == [("robot", "thread 9 'dds' is not real-time any more")]
    live.close()


def test_a_thread_is_judged_by_the_jobs_of_its_executor() -> None:
    watch = Watch(model(SYSTEM))
    for executor, policy in ((1, layout.POLICY_FIFO), (2, layout.POLICY_OTHER)):
        records = blank(2)
        records["thread"] = 10 * executor, 10 * executor + 1
        records["policy"], records["priority"] = policy, (5, 3)
        watch.add(Header(executor=executor), {0: Entry("tick")}, records)
    threads = [
        Thread(10, "a", "S", "fifo", 3, "0", 0, 0, 0),
        Thread(11, "b", "S", "fifo", 2, "0", 0, 0, 0),
        Thread(20, "c", "S", "other", 0, "0", 0, 0, 0),
    ]
    for _ in range(3):
        assert of_threads(watch) == []
        watch.look("robot", [Header(executor=1), Header(executor=2)], threads, set())
    assert of_threads(watch) == [("robot", "thread 11 has fifo 2, which no job asked for")]


def test_a_record_of_the_future_is_missing(tmp_path: Path) -> None:
    def ahead(program: Program) -> None:
        at = dict.fromkeys(("release_ns", "ready_ns", "start_ns", "end_ns"), 2**60)
        program.job(0, 3, callback=1, cause=1, policy=4, priority=3, **at)

    watch, live = spoilt(tmp_path, os.getpid(), ahead)
    assert watch.lost_records == 1, "it would never be old enough to be forgotten"
    live.close()


def test_a_program_that_goes_on_without_its_file_is_not_seen_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, live = spoilt(tmp_path, os.getpid(), remove)
    assert watch.lost_records == 0, "it may be about to end"
    monkeypatch.setattr(sources, "ENDS_NS", 0)
    live.step()
    assert watch.lost_records == 1
    assert "goes on, but its live trace was removed" in live.said[-1]
    live.close()


def test_a_program_that_removes_its_file_and_ends_leaves_nothing_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        watch, live = spoilt(tmp_path, child.pid, remove)
        child.kill()
    monkeypatch.setattr(sources, "ENDS_NS", 0)
    live.step()
    assert watch.lost_records == 0
    assert "has ended" in live.said[-1]
    live.close()
