# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What `./rclrt top` says of live traces that are written by hand."""

import gc
import json
import os
import random
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from live_program import BEGIN, MS, WINDOW, Program, Robot, born
from rclrt_tools import cli
from rclrt_tools.live.files import Running
from rclrt_tools.live.follow import Follower
from rclrt_tools.live.short_names import cells
from rclrt_tools.live.top_once import to_json, to_text
from rclrt_tools.live.top_tables import tables
from rclrt_tools.live.watch import PROBES_NS, Snapshot, Thread, Watch
from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import RECORD


@pytest.fixture
def live(tmp_path: Path) -> Path:
    return tmp_path / "live"


@pytest.fixture
def robot(live: Path) -> Robot:
    return Robot(live)


def job(program: Program, begin: int, times: tuple[int, int, int], **fields: int) -> None:
    """Ready with its release; waits, runs and uses the CPU for so many us."""
    waits, runs, cpu = (1000 * time for time in times)
    fields = {"callback": 1, "cpu_ns": cpu, "thread": os.getpid(), **fields}
    program.job(
        0, 0, release_ns=begin, ready_ns=begin, start_ns=begin + waits,
        end_ns=begin + waits + runs, **fields,
    )  # fmt: skip


def rows(snapshot: Snapshot) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in to_json(snapshot, 5)["callbacks"]}


def findings(snapshot: Snapshot) -> dict[str, tuple[str, int]]:
    found = to_json(snapshot, 5)["findings"]
    return {one["kind"]: (one["text"], one["count"]) for one in found}


def test_numbers_are_those_of_the_jobs_of_the_window(robot: Robot) -> None:
    watch = robot.watching()
    watch.poll()
    for index in range(100):  # 20 a second for 5 s
        begin = BEGIN + index * 50 * MS
        job(
            robot, begin, (100 + index, 900, 500), deadline_ns=begin + 2 * MS, policy=4,
            priority=80, cpus=0b1101, waited_for=index % 4 == 0,
        )  # fmt: skip
        robot.now = begin + 10 * MS
        watch.poll()
    robot.now = BEGIN + WINDOW
    row = rows(watch.snapshot())["/robot/timer/50ms"]
    assert row["jobs"] == 100
    assert row["rate_hz"] == pytest.approx(20)
    assert row["cpu_percent"] == pytest.approx(1.0)
    assert row["response_ms"] == {"n": 100, "p50": pytest.approx(1.049), "max": 1.099}
    assert row["waiting_ms"] == {"n": 100, "p50": pytest.approx(0.149), "max": 0.199}
    assert row["execution_ms"] == {"n": 100, "p50": 0.5, "max": 0.5}
    assert row["latest_ms"] == pytest.approx(1.099 - 2)
    assert row["waited_for_percent"] == {"group": 25, "thread": 0}
    assert (row["policy"], row["priority"], row["cpus"]) == ("fifo", 80, "0,2-3")
    assert (row["late"], row["backlog"]) == (0, 0)
    assert (row["process"], row["executor"], row["group"]) == (os.getpid(), 1, "/robot")
    idle = rows(watch.snapshot())["/robot/subscription/scan"]
    assert (idle["rate_hz"], idle["cpu_percent"], idle["backlog"]) == (0, 0, None)
    assert idle["response_ms"] == {"n": 0, "p50": None, "max": None}


def test_the_job_that_waited_longest_says_for_whom(robot: Robot) -> None:
    watch = robot.watching()
    watch.poll()
    robot.now = BEGIN + 100 * MS
    scan: dict[str, int] = {"callback": 7, "thread": 2}
    # The timer runs from 0 to 20 ms. A scan is ready at 5 ms, and a short one has waited before.
    job(robot, BEGIN, (0, 20_000, 20_000), thread=1)
    job(robot, BEGIN + 5 * MS, (15_000, 1000, 1000), waited_for=1, **scan)
    job(robot, BEGIN + 30 * MS, (2_000, 1000, 1000), waited_for=2, **scan)
    found = rows(watch.snapshot())
    assert found["/robot/subscription/scan"]["longest_wait"] == {
        "for": "group",
        "by": "/robot/timer/50ms",
    }
    assert found["/robot/timer/50ms"]["longest_wait"] is None
    text = to_text(watch.snapshot(), None)
    head, *lines = text.partition("callbacks:\n")[2].splitlines()
    at = slice(head.index("BLOCKER"), head.index(" GRP%"))
    shown = {line.split()[2]: line[at].strip() for line in lines[:2]}
    assert shown == {"/robot/timer/50ms": "-", "/robot/subscription/scan": "/robot/timer/50ms"}


def test_who_it_was_stays_unknown_if_no_record_says_so(robot: Robot) -> None:
    watch = robot.watching()
    job(robot, BEGIN - 30 * MS, (2_000, 1000, 1000), waited_for=2)
    wait = rows(watch.snapshot())["/robot/timer/50ms"]["longest_wait"]
    assert wait == {"for": "thread", "by": None}


def test_jobs_leave_the_window_and_counts_stay_until_one_counts_anew(robot: Robot) -> None:
    watch = robot.watching()
    job(robot, BEGIN - 10 * MS, (0, 900, 500), deadline_ns=BEGIN - 9_900_000)
    assert rows(watch.snapshot())["/robot/timer/50ms"]["late"] == 1
    robot.now += 2 * WINDOW
    row = rows(watch.snapshot())["/robot/timer/50ms"]
    assert (row["late"], row["jobs"], row["rate_hz"], row["latest_ms"]) == (1, 0, 0, None)
    watch.recount()
    assert rows(watch.snapshot())["/robot/timer/50ms"]["late"] == 0


def test_misses_drops_skips_and_exceptions_are_counted_and_are_findings(robot: Robot) -> None:
    for outcome, jobs in ((layout.DROPPED, 3), (layout.SKIPPED, 4), (layout.EXCEPTION, 1)):
        job(robot, BEGIN - 10 * MS, (0, 1000, 1000), outcome=outcome, jobs=jobs)
    job(robot, BEGIN - 5 * MS, (0, 4000, 1000), deadline_ns=BEGIN - 3 * MS)
    snapshot = robot.watching().snapshot()
    row = rows(snapshot)["/robot/timer/50ms"]
    assert [row[key] for key in ("late", "dropped", "skipped", "exceptions")] == [1, 3, 4, 1]
    assert row["jobs"] == 2
    found = findings(snapshot)
    assert {kind: number_ for kind, (_, number_) in found.items()} == {
        "late": 1, "dropped": 3, "skipped": 4, "exceptions": 1,
    }  # fmt: skip
    assert found["late"][0] == "/robot/timer/50ms: misses deadlines; late by 2.000 ms"


def test_jobs_of_which_the_cpu_time_is_unknown_count_as_the_others_do(robot: Robot) -> None:
    for index in range(10):
        begin = BEGIN + index * 100 * MS
        job(robot, begin, (0, 9000, 1000 if index % 2 else -1), callback=7)
        if index % 2 == 0:
            at = robot.rings[0] + layout.RING.size + index * RECORD.itemsize
            unknown = (-1).to_bytes(8, "little", signed=True)
            os.pwrite(robot.stream.fileno(), unknown, at + 64)
    robot.now = BEGIN + 1000 * MS
    row = rows(robot.watching().snapshot())["/robot/subscription/scan"]
    assert (row["policy"], row["priority"], row["cpus"]) == (None, None, None)
    assert row["execution_ms"]["n"] == 5
    assert row["cpu_percent"] == pytest.approx(1.0)  # 10 jobs of 1 ms in 1 s


def test_the_backlog_is_what_a_job_found_unfinished(robot: Robot) -> None:
    robot.now = BEGIN + 100 * MS
    for index in range(4):  # All are there at once, and take 1 ms each.
        job(robot, BEGIN, (1000 * index, 1000, 1000))
    for index in range(3):  # Each begins when the one before has ended.
        job(robot, BEGIN + index * MS, (0, 1000, 1000), callback=7)
    found = rows(robot.watching().snapshot())
    assert found["/robot/timer/50ms"]["backlog"] == 3
    assert found["/robot/subscription/scan"]["backlog"] == 0
    robot.now += 2 * WINDOW
    job(robot, robot.now - 2 * MS, (0, 1000, 1000))
    found = rows(robot.watching().snapshot())
    assert found["/robot/timer/50ms"]["backlog"] == 0
    assert found["/robot/subscription/scan"]["backlog"] is None


def test_records_that_cannot_be_true_are_left_out_and_counted(robot: Robot) -> None:
    begin = BEGIN - 10 * MS
    job(robot, begin, (0, 1000, 1000))
    for wrong in (
        {"callback": 3},  # There are 1 and 7.
        {"callback": 2**32 - 1},
        {"start_ns": begin + 2 * MS},  # after its end
        {"end_ns": robot.now + 1, "start_ns": begin},
    ):
        fields = {"callback": 1, "start_ns": begin, "end_ns": begin + MS, **wrong}
        robot.job(0, 0, release_ns=begin, ready_ns=begin, **fields)
    snapshot = robot.watching().snapshot()
    assert [row["jobs"] for row in rows(snapshot).values()] == [1, 0]
    assert findings(snapshot) == {"strange": ("records that cannot be true: left out", 4)}


def test_a_program_that_has_just_begun_has_its_rate_at_once(robot: Robot) -> None:
    for index in range(10):
        job(robot, BEGIN + index * 100 * MS, (0, 1000, 1000))
    robot.now = BEGIN + 1000 * MS
    assert rows(robot.watching().snapshot())["/robot/timer/50ms"]["rate_hz"] == 10


def test_of_a_ring_that_has_overflowed_only_what_comes_counts(robot: Robot) -> None:
    for index in range(200):
        job(robot, BEGIN + index * MS, (0, 500, 500))
    robot.now = BEGIN + 200 * MS
    watch = robot.watching()
    assert rows(watch.snapshot())["/robot/timer/50ms"]["jobs"] == 0
    for index in range(200, 300):
        job(robot, BEGIN + index * MS, (0, 500, 500))
    robot.now = BEGIN + 300 * MS
    snapshot = watch.snapshot()
    assert rows(snapshot)["/robot/timer/50ms"]["rate_hz"] == pytest.approx(1000)
    assert findings(snapshot) == {}
    for index in range(300, 600):
        job(robot, BEGIN + index * MS, (0, 500, 500))
    robot.now = BEGIN + 600 * MS
    assert findings(watch.snapshot())["lost"][1] == 173  # 127 of 128 slots are certain


def test_the_more_records_come_the_more_often_they_are_read(robot: Robot) -> None:
    busy = Program(robot.folder, executor=2, capacity=1024)
    busy.callback(1, "/busy")
    busy.ring()
    watch = robot.watching()
    for _ in range(10):
        watch.poll()
    assert watch.pause_ns == 250 * MS
    for _ in range(10):
        for _ in range(300):
            busy.job(0, 1)
        watch.poll()
    assert watch.pause_ns == 20 * MS
    idle = Watch([], 1, [robot.folder / "none"])
    idle.poll()
    assert idle.pause_ns == PROBES_NS  # It looks for no new ones before that.


def test_a_timer_that_has_fallen_silent_is_a_finding(robot: Robot) -> None:
    watch = robot.watching()
    job(robot, BEGIN - 10 * MS, (0, 1000, 1000))
    job(robot, BEGIN - 10 * MS, (0, 1000, 1000), callback=7)  # no timer
    assert findings(watch.snapshot()) == {}
    robot.now += 3_000 * MS
    text, _ = findings(watch.snapshot())["silent"]
    assert text.startswith("/robot/timer/50ms: no job for 3.009 s; its period is 50.00 ms")


def test_threads_have_the_jobs_that_ran_on_them_and_their_share_of_a_cpu(robot: Robot) -> None:
    watch = robot.watching()
    first = {one["thread"]: one for one in to_json(watch.snapshot(), 5)["threads"]}
    assert first[os.getpid()]["cpu_percent"] is None
    for index in range(10):
        job(robot, BEGIN + index * 100 * MS, (0, 1000, 1000))
    robot.now = BEGIN + 1000 * MS
    threads = {one["thread"]: one for one in to_json(watch.snapshot(), 5)["threads"]}
    assert threads[os.getpid()]["jobs_per_s"] == pytest.approx(10)
    assert threads[os.getpid()]["cpu_percent"] > 0
    assert all(one["process"] == os.getpid() for one in threads.values())


def test_shares_of_a_cpu_are_of_the_time_between_two_snapshots(
    robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(((5_000, 7), (5_250, 11)))

    def read(_: int) -> list[Thread]:
        cpu, preempted = next(times)
        return [
            Thread(number_, "worker", "S", "fifo", 80, "0-3", 2, cpu * MS, preempted)
            for number_ in (1, 2)
        ]

    monkeypatch.setattr("rclrt_tools.live.watch.threads_of", read)
    watch = robot.watching()
    watch.snapshot()
    robot.now += 1000 * MS
    result = to_json(watch.snapshot(), 5)
    for one in result["threads"]:
        assert (one["cpu_percent"], one["preempted_per_s"]) == (25, 4)
        assert (one["policy"], one["priority"], one["cpus"], one["cpu"]) == ("fifo", 80, "0-3", 2)
    assert result["processes"][0]["cpu_percent"] == 50


def test_processes_say_whether_they_run(robot: Robot) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=-1
    ) as child:
        crashed = Program(robot.folder, born(child.pid), child.pid, "crashed")
        crashed.callback(1, "/crashed")
        crashed.ring()
        job(crashed, BEGIN - 60_001 * MS, (0, 1000, 1000))
        closed = Program(robot.folder, executor=2, program="closed")
        container = Program(robot.folder, number=1, namespace=5, program="container")
        Program(robot.folder, number=2**22 + 5, program="old")
        watch = robot.watching()

        def states() -> dict[str, str]:
            found = to_json(watch.snapshot(), 5)["processes"]
            return {row["program"]: row["state"] for row in found}

        here = {"robot": "runs", "container": "elsewhere", "old": "killed"}
        assert states() == {**here, "crashed": "runs", "closed": "runs"}
        child.communicate()
    closed.path.unlink()
    container.stream.close()  # And so its lock.
    robot.now += 1000 * MS
    here["container"] = "killed"
    assert states() == {**here, "crashed": "killed", "closed": "ended"}
    texts = [one["text"] for one in to_json(watch.snapshot(), 5)["findings"]]
    remedy = f"its last records: ./rclrt trace info {crashed.path}"
    assert f"was killed or has crashed; its newest job ended 61 s ago; {remedy}" in texts
    assert any(text.startswith("was killed or has crashed; its last") for text in texts)
    crashed.path.unlink()
    robot.now += 1000 * MS
    assert states() == {**here, "closed": "ended"}


def test_programs_are_chosen_by_name_or_number(robot: Robot) -> None:
    Program(robot.folder, executor=2, program="other").callback(1, "/other")
    for wanted, names in (
        (["other"], {"/other"}),
        ([str(os.getpid())], {"/other", "/robot/timer/50ms", "/robot/subscription/scan"}),
        (["none"], set()),
    ):
        watch = robot.watching(*wanted)
        assert set(rows(watch.snapshot())) == names
        watch.close()


HOSTILE = "\x1b]0;owned\x07\x1b[31mred\x9b2J\r\n\u202e[bold]x[/bold]"


def assert_harmless(text: str) -> None:
    assert all(c.isprintable() or c == "\n" for c in text), repr(text)


def test_no_escape_sequence_of_a_name_reaches_the_terminal(live: Path) -> None:
    program = Program(live, program=HOSTILE, capacity=16)
    program.callback(1, HOSTILE, HOSTILE)
    program.ring()
    job(program, BEGIN - 2 * MS, (0, 1000, 1000), deadline_ns=BEGIN - 2 * MS, waited_for=1)
    named = Program(live, number=2**22 + 5)
    named.path.rename(live / "\x1b[2J\x07\udcff.trace")
    odd = (live / "\x1b[31m.trace").open("wb")  # Its owner is this process.
    name = Path(f"/proc/self/task/{threading.get_native_id()}/comm")
    before = name.read_text(encoding="utf-8")
    name.write_text("\x1b[31mred\x07", encoding="utf-8")
    try:
        snapshot = Watch([], WINDOW, [live], lambda: BEGIN).snapshot()
    finally:
        name.write_text(before.strip(), encoding="utf-8")
    for width in (None, 40, 80, 140):
        assert_harmless(to_text(snapshot, width))
    assert_harmless(json.dumps(to_json(snapshot, 5)))
    assert len(snapshot.unreadable) == 1
    odd.close()


@pytest.mark.parametrize("content", [b"", b"anything", None])
def test_what_no_process_owns_is_no_finding_whatever_it_holds(
    robot: Robot, content: bytes | None
) -> None:
    dead = Program(robot.folder, number=2**22 + 5)
    dead.ring()
    dead.stream.close()
    if content is None:
        os.truncate(dead.path, dead.rings[0] + 4)
    else:
        dead.path.write_bytes(content)
    snapshot = robot.watching().snapshot()
    assert snapshot.unreadable == {}
    assert "/robot/timer/50ms" in rows(snapshot)
    told: list[str] = []
    running: Running[Follower] = Running(Follower, lambda *_: None, told.append, [robot.folder])
    running.look()
    assert told == []
    running.close()


def test_a_file_into_which_somebody_writes_anything_ends_nothing(robot: Robot) -> None:
    other = Program(robot.folder, executor=2, program="other", capacity=16)
    other.callback(1, "/other")
    other.ring()
    other.job(0, 0)
    whole = other.path.read_bytes()
    chance = random.Random(1)
    watch = robot.watching()
    seen = set()
    for turn in range(300):
        size = os.fstat(other.stream.fileno()).st_size
        for _ in range(chance.choice((1, 30))):
            at = chance.randrange(max(1, size))
            what = chance.randbytes(chance.choice((1, 8, 128)))
            os.pwrite(other.stream.fileno(), what, at)
        if turn % 10 == 9:
            os.ftruncate(other.stream.fileno(), chance.randrange(len(whole)))
        robot.now += 600 * MS
        snapshot = watch.snapshot()
        to_text(snapshot, 80)
        json.dumps(to_json(snapshot, 5), allow_nan=False)
        assert "/robot/timer/50ms" in rows(snapshot)
        seen |= set(snapshot.unreadable.values())
        if turn % 5 == 4 or snapshot.unreadable:  # Another program with the same name.
            new = robot.folder / "new"
            new.write_bytes(whole)
            new.rename(other.path)
            other.stream.close()
            other.stream = other.path.open("r+b", buffering=0)
    for text in ("a ring of", "this chunk cannot be", "its beginning has changed"):
        assert any(text in why for why in seen), text


def test_a_file_that_shrinks_is_named_and_the_others_stay(robot: Robot) -> None:
    other = Program(robot.folder, executor=2, program="other")
    other.callback(1, "/other")
    other.ring()
    watch = robot.watching()
    assert "/other" in rows(watch.snapshot())
    os.ftruncate(other.stream.fileno(), other.rings[0] + 4)
    snapshot = watch.snapshot()
    assert set(rows(snapshot)) == {"/robot/timer/50ms", "/robot/subscription/scan"}
    text, _ = findings(snapshot)["unreadable"]
    assert text.endswith("somebody has cut it short: its program is not shown")
    Program(robot.folder, executor=3, program="new").path.rename(other.path)
    robot.now += 1000 * MS
    assert findings(watch.snapshot()) == {}


def test_two_hundred_files_of_dead_programs_cost_no_open_file(live: Path) -> None:
    for index in range(200):
        Program(live, number=2**22 + 5 + index, capacity=1).stream.close()
    watch = Watch([], WINDOW, [live], lambda: BEGIN)
    before = len(list(Path("/proc/self/fd").iterdir()))
    snapshot = watch.snapshot()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
    assert len(tables(snapshot)[2]) == 200
    watch.close()


def test_closing_closes_all_files(robot: Robot) -> None:
    gc.collect()  # What earlier tests have left open.
    before = len(list(Path("/proc/self/fd").iterdir()))
    watch = robot.watching()
    watch.poll()
    assert len(list(Path("/proc/self/fd").iterdir())) == before + 1
    watch.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_of_more_records_than_are_kept_the_newest_count_with_the_same_rate(
    robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rclrt_tools.live.activity.MOST_KEPT", 40)
    watch = robot.watching()
    watch.poll()
    for index in range(100):
        job(robot, BEGIN + index * 10 * MS, (0, 1000, 1000))
        robot.now = BEGIN + (index + 1) * 10 * MS
        watch.poll()
    row = rows(watch.snapshot())["/robot/timer/50ms"]
    assert row["jobs"] == 40
    assert row["rate_hz"] == pytest.approx(100, rel=0.05)


def test_tables_sort_filter_and_fit_any_width(robot: Robot) -> None:
    robot.callback(8, "/robot/カメラ/" + "画像" * 60)
    job(robot, BEGIN - 4 * MS, (0, 1000, 900), callback=7)
    job(robot, BEGIN - 4 * MS, (0, 2000, 100))
    table, *others = tables(robot.watching().snapshot())

    def names(*arguments: Any) -> list[str]:
        return [table.values["name"][row][7:12] for row in table.order(*arguments)]

    assert names("cpu") == ["subsc", "timer", "カメラ/画"]
    assert names("cpu", True) == ["カメラ/画", "timer", "subsc"]
    assert names("response_max") == ["timer", "subsc", "カメラ/画"]  # unknown last, both ways
    assert names("response_max", True) == ["subsc", "timer", "カメラ/画"]
    assert names("name") == ["subsc", "timer", "カメラ/画"]
    assert names("cpu", False, "SCAN") == ["subsc"]
    assert names("cpu", False, str(os.getpid())) == names("cpu")
    assert names("cpu", False, "", False) == ["subsc", "timer"]
    for one in (table, *others):
        for width in range(30, 300):
            columns = one.layout(width)
            for row in range(len(one)):
                line = " ".join(one.cell(row, column, wide) for column, wide in columns)
                assert cells(line) == sum(wide + 1 for _, wide in columns) - 1
                assert width < 61 or cells(line) == width


def test_the_readme_names_every_field_of_the_json(robot: Robot) -> None:
    job(robot, BEGIN - 2 * MS, (0, 1000, 1000), deadline_ns=BEGIN - 2 * MS, waited_for=1)
    result = to_json(robot.watching().snapshot(), 5)

    def keys(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set(value).union(*map(keys, value.values()))
        return set().union(*map(keys, value)) if isinstance(value, list) else set()

    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    section = readme.partition("`top --json`")[2].partition("\n## ")[0]
    assert keys(result) == set(re.findall(r'"(\w+)":', section))


def test_tables_as_text_have_what_ran_in_full_and_say_how_many_did_not(robot: Robot) -> None:
    for index in range(10):
        begin = BEGIN - 500 * MS + index * 50 * MS
        job(robot, begin, (100, 900, 500), policy=4, priority=80, cpus=0b11)
    text = to_text(robot.watching().snapshot(), None)
    first, *others = text.split("\n\n")
    title, head, row, rest = first.splitlines()
    assert (title, rest) == ("callbacks:", "1 more did nothing")
    shown = dict(zip(head.split(), row.replace("fifo 80", "fifo_80").split(), strict=True))
    assert shown == {
        "PROCESS": str(os.getpid()), "PROGRAM": "robot", "CALLBACK": "/robot/timer/50ms",
        "POLICY": "fifo_80", "CPU%": "1.0", "HZ": "20.00", "EXEC": "0.500", "EXEC^": "0.500",
        "RESP": "1.000", "RESP^": "1.000", "LATEST": "-", "LATE": "0", "QUEUE": "0", "DROP": "0",
        "SKIP": "0", "WAIT": "0.100", "WAIT^": "0.100", "BLOCKER": "-", "GRP%": "0.0",
        "THR%": "0.0", "THROWN": "0", "KIND": "timer", "GROUP": "/robot", "CPUS": "0-1",
    }  # fmt: skip
    assert [table.splitlines()[0] for table in others] == ["threads:", "processes:"]
    assert others[1].splitlines()[2].split()[:3] == [str(os.getpid()), "robot", "runs"]


def test_once_prints_tables_or_json_and_says_if_nothing_runs(
    robot: Robot, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("rclrt_tools.live.files.directories", lambda: [robot.folder])
    assert cli.main(["top", "--json", "--for", "0.1", "robot"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["schema"], result["seconds"]) == (1, 0.1)
    assert [row["name"] for row in result["callbacks"]] == [
        "/robot/timer/50ms",
        "/robot/subscription/scan",
    ]
    assert cli.main(["top", "--findings", "--for", "0.1", "robot"]) == 0
    assert capsys.readouterr().out == "no findings\n"
    assert cli.main(["top", "--once", "--for", "0.1", "other"]) == 1
    assert "no executor runs" in capsys.readouterr().err
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        assert cli.main(["top"]) == 2
    assert "top needs a terminal" in capsys.readouterr().err
