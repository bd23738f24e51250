# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The program that watches: what it is told, and what is wrong; and live traces that are spoilt."""

import os
import re
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
from rclrt_tools.trace import TraceError
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
    ],
)
def test_what_no_watch_is_told_is_an_error_that_names_its_line(told: bytes, says: str) -> None:
    command, told = [places.program(PACKAGE, PROGRAM)], told + b"\n"
    ended = subprocess.run(command, input=told, capture_output=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert says in ended.stderr.decode()


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
    with pytest.raises(TraceError, match=r"needs the C\+\+ part of rclrt.*run \./rclrt build"):
        Watch(model(SYSTEM))
    monkeypatch.delenv("RCLRT_SOURCE_DIR")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["watch", "robot.yaml"]) == 2
    assert "rclrt watch needs the C++ part of rclrt" in capsys.readouterr().err


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
