# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Live traces, read while programs write them; the threads of these, and what runs beside."""

import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_program import Program, born
from programs import rclrt
from rclrt_tools import cli
from rclrt_tools.live.files import Process, Running, has_owner, live_files
from rclrt_tools.live.follow import Follower
from rclrt_tools.live.outside import Outside, type_of
from rclrt_tools.live.record import record
from rclrt_tools.live.table import count, number, percent
from rclrt_tools.live.threads import threads_of
from rclrt_tools.live.top_once import to_json, to_text
from rclrt_tools.live.watch import Watch
from rclrt_tools.reference.environment import PROCESSES_A_CPU, BackgroundLoad
from rclrt_tools.reference.program import ProgramError, ends_with_us
from rclrt_tools.trace import TraceError, layout, read_trace
from rclrt_tools.trace.layout import RECORD


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path / "live")
    program.callback(1, "/robot/timer/5ms")
    program.ring()
    return program


def sequences(records: layout.Records) -> list[int]:
    return [int(number) for number in records["sequence"]]


def test_a_follower_sees_each_record_once_and_what_comes_later(program: Program) -> None:
    follower = Follower(program.path)
    assert follower.process.program == "robot"
    assert follower.process.runs() is True
    assert sequences(follower.poll()) == []
    for i in range(3):
        program.job(0, i)
    assert sequences(follower.poll()) == [0, 1, 2]
    program.callback(2, "/robot/subscription/late")
    program.job(program.ring(), 10, callback=2)
    program.job(0, 3)
    assert sequences(follower.poll()) == [3, 10]
    assert follower.poll().size == 0
    assert [entry.name for entry in follower.callbacks.values()] == [
        "/robot/timer/5ms",
        "/robot/subscription/late",
    ]
    assert follower.missed == 0


def test_a_follower_that_comes_late_counts_what_was_overwritten(program: Program) -> None:
    follower = Follower(program.path)
    program.job(0, 0)
    follower.poll()
    for i in range(1, 21):
        program.job(0, i)
    # The slot of the next record may be half written: seven are certain.
    assert sequences(follower.poll()) == list(range(14, 21))
    assert follower.missed == 13


def test_what_was_overwritten_before_a_follower_came_is_nobodys_loss(program: Program) -> None:
    for i in range(30):
        program.job(0, i)
    follower = Follower(program.path)
    assert sequences(follower.poll()) == list(range(23, 30))
    assert follower.missed == 0
    ring = program.ring()
    for i in range(40, 60):
        program.job(ring, i)
    assert sequences(follower.poll()) == list(range(53, 60))
    assert follower.missed == 13


def test_records_that_are_overwritten_while_they_are_copied_are_left_out(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower = Follower(program.path)
    for i in range(6):
        program.job(0, i)
    copied = np.frombuffer

    def write_on(*arguments: object) -> object:
        for i in range(6, 10):
            program.job(0, i)
        return copied(*arguments)  # type: ignore[call-overload]

    monkeypatch.setattr(np, "frombuffer", write_on)
    assert sequences(follower.poll()) == [3, 4, 5]
    monkeypatch.undo()
    assert sequences(follower.poll()) == [6, 7, 8, 9]
    assert follower.missed == 3


def test_what_others_write_into_it_is_an_error_or_harmless(program: Program) -> None:
    follower = Follower(program.path)
    program.job(0, 0)
    follower.poll()
    for head in (2**64 - 1, 2**63):
        program.head(0, head)
        with pytest.raises(TraceError, match="records cannot be"):
            follower.poll()
    program.head(0, 0)
    assert follower.poll().size == 0
    program.chunk(layout.CHUNK_RING, layout.RING.pack(0, 3) + bytes(1000))
    with pytest.raises(TraceError, match="a ring of 3 records"):
        follower.poll()
    os.ftruncate(program.stream.fileno(), program.rings[0] + 4)
    with pytest.raises(TraceError, match="cut it short"):
        follower.poll()
    os.pwrite(program.stream.fileno(), b"nonsense", 0)
    with pytest.raises(TraceError, match="its beginning has changed"):
        follower.poll()


def test_a_file_of_holes_cannot_make_a_follower_read_for_ever(program: Program) -> None:
    capacity = 1 << 20
    size = layout.RING.size + capacity * RECORD.itemsize
    end = program.stream.seek(0, os.SEEK_END)
    for index in range(3):
        at = end + index * (size + layout.CHUNK.size)
        os.pwrite(program.stream.fileno(), layout.CHUNK.pack(layout.CHUNK_RING, size), at)
        ring = layout.RING.pack(0, capacity)
        os.pwrite(program.stream.fileno(), ring, at + layout.CHUNK.size)
        os.ftruncate(program.stream.fileno(), at + layout.CHUNK.size + size)
    with pytest.raises(TraceError, match="more than 2097152 records"):
        Follower(program.path).poll()


def test_only_directories_of_one_user_are_looked_into_and_no_links_are_followed(
    program: Program, tmp_path: Path
) -> None:
    folder = program.path.parent
    (folder / "other.txt").touch()
    assert live_files([folder, tmp_path / "none"]) == [program.path]
    folder.chmod(0o755)
    assert live_files([folder]) == []
    link = tmp_path / "link.trace"
    link.symlink_to(program.path)
    with pytest.raises(OSError, match="symbolic"):
        Follower(link)
    pipe = tmp_path / "pipe.trace"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="no regular file"):
        Follower(pipe)


def test_a_process_that_has_ended_or_has_got_another_number_does_not_run(tmp_path: Path) -> None:
    assert Follower(Program(tmp_path / "a", born_at=1).path).process.runs() is False
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pass
    assert Follower(Program(tmp_path / "b", number=child.pid).path).process.runs() is False
    assert Process(1, 12345, 0, "elsewhere").runs() is None


def test_of_another_namespace_the_lock_says_whether_the_program_runs(tmp_path: Path) -> None:
    program = Program(tmp_path / "live", namespace=1)
    follower = Follower(program.path)
    assert (follower.process.runs(), follower.runs()) == (None, None)
    assert has_owner(program.path)
    program.stream.close()
    assert (follower.process.runs(), follower.runs()) == (False, False)
    program.path.unlink()
    assert follower.process.runs() is False
    follower.close()


def test_recording_writes_files_that_the_reader_reads(program: Program, tmp_path: Path) -> None:
    steps = iter(range(100))
    said: list[str] = []

    def until() -> bool:
        step = next(steps)
        program.job(0, step)
        return step == 60

    ended = Program(program.path.parent, number=2**22 + 5)
    done = record(tmp_path / "out", [], until, said.append, [program.path.parent])
    assert said == []
    assert [recording.path.name for recording in done] == [program.path.name]
    trace = read_trace(done[0].path)
    assert sequences(trace.records) == list(range(61))
    assert trace.names == {1: "/robot/timer/5ms"}
    assert (trace.header.process, trace.header.executor, trace.dropped) == (os.getpid(), 1, 0)
    assert not (tmp_path / "out" / ended.path.name).exists()


def test_a_recording_goes_on_in_the_background_until_it_is_stopped(tmp_path: Path) -> None:
    folder = str(tmp_path / "out")
    nobody = "no program has this name"
    assert "no recording into this folder runs" in rclrt("trace", "stop", "-o", folder).stderr
    started = rclrt("trace", "start", "-o", folder, nobody)
    try:
        assert "records into" in started.stdout, started.stderr
        again = rclrt("trace", "start", "-o", folder, nobody)
        assert again.returncode == 2
        assert "records into it already" in again.stderr
    finally:
        stopped = rclrt("trace", "stop", "-o", folder)
    assert stopped.returncode == 0
    assert "no executor has run" in stopped.stdout
    assert list((tmp_path / "out").iterdir()) == []
    refused = rclrt("trace", "start", "-o", str(tmp_path / "out" / ("x" * 300)))
    assert refused.returncode == 2
    assert "too long" in refused.stderr


def test_a_recording_that_fails_says_so_and_the_others_go_on(
    program: Program, tmp_path: Path
) -> None:
    other = Program(program.path.parent, number=os.getppid(), born_at=born(os.getppid()))
    steps = iter(range(100))
    said: list[str] = []

    def until() -> bool:
        step = next(steps)
        if step == 3:
            os.ftruncate(other.stream.fileno(), 10)
        program.job(0, step)
        return step == 20

    done = record(tmp_path / "out", [], until, said.append, [program.path.parent])
    assert len(done) == 2
    assert len(said) == 1
    assert "its beginning has changed" in said[0]
    assert len(read_trace(tmp_path / "out" / program.path.name).records) == 21


def test_two_recordings_in_one_folder_leave_each_other_alone(
    program: Program, tmp_path: Path
) -> None:
    for i in (1, 2):
        steps = iter((False, True))
        program.job(0, i)
        record(tmp_path / "out", [], lambda s=steps: next(s), print, [program.path.parent])  # type: ignore[misc]
        assert len(list((tmp_path / "out").glob("robot-*.trace"))) == i


def test_a_program_that_ends_while_others_look_is_no_error_and_others_are_told_in_words(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o700)
    for name in ("ended", "refused"):
        (tmp_path / f"{name}.trace").touch()
    told: list[str] = []

    def begin(path: Path) -> Follower | None:
        error = errno.ENOENT if path.stem == "ended" else errno.EACCES
        raise OSError(error, os.strerror(error), str(path))

    running: Running[Follower] = Running(begin, lambda *_: None, told.append, [tmp_path])
    assert running.look()
    assert told == [f"{tmp_path}/refused.trace: Permission denied"]


def test_numbers_fit_their_columns() -> None:
    chance = random.Random(2)
    for _ in range(3000):
        value = 10 ** chance.uniform(-9, 14)
        for text in (number(value), number(-value)[1:], count(value)):
            assert len(text) <= 6, value
        assert len(percent(min(value, 10_000.0))) <= 7
    assert [number(v) for v in (None, float("nan"), 0, 9.9996, 12345.6)] == [
        "-", "-", "0", "10.00", "12346",
    ]  # fmt: skip


def test_threads_are_as_the_kernel_has_them() -> None:
    known: dict[str, Any] = {}
    ready, end = threading.Event(), threading.Event()

    def body() -> None:
        cpu = min(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, 0, 7)
        known.update(number=threading.get_native_id(), cpus=str(cpu))
        ready.set()
        end.wait(60)

    thread = threading.Thread(target=body)
    thread.start()
    ready.wait(60)
    found = {thread.number: thread for thread in threads_of(os.getpid())}
    end.set()
    thread.join()
    mine = found[known["number"]]
    assert (mine.policy, mine.priority, mine.cpus) == ("batch", 7, known["cpus"])
    assert mine.cpu == int(known["cpus"])
    assert mine.cpu_ns > 0
    assert found[os.getpid()].name == Path("/proc/self/comm").read_text(encoding="utf-8").strip()
    assert threads_of(2**22 + 5) == []


@pytest.mark.parametrize(
    ("policy", "priority", "shown"),
    [
        ("OTHER", 0, ("other", 5)),
        ("BATCH", 0, ("batch", 5)),
        ("IDLE", 0, ("idle", None)),
        ("FIFO", 2, ("fifo", 2)),
        ("RR", 3, ("rr", 3)),
    ],
)
def test_policies_are_shown_with_what_orders_their_threads(
    policy: str, priority: int, shown: tuple[str, int | None]
) -> None:
    code = f"import os, sys; os.nice(5 - os.nice(0)); p = os.sched_param({priority}); "
    code += f"os.sched_setscheduler(0, os.SCHED_{policy}, p); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=-3
    ) as child:
        assert child.stdout is not None
        if not child.stdout.readline():
            pytest.skip(f"no permission for {policy} (RLIMIT_RTPRIO)")
        threads = threads_of(child.pid)
        child.communicate()
    assert [(thread.policy, thread.priority) for thread in threads] == [shown]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def pids_of(load: BackgroundLoad) -> list[int]:
    return [child.pid for child in load._children]


def test_there_are_four_ordinary_processes_a_cpu_on_these_cpus_and_then_none() -> None:
    cpu = min(os.sched_getaffinity(0))
    with BackgroundLoad({cpu}) as load:
        pids = pids_of(load)
        assert len(pids) == PROCESSES_A_CPU
        for pid in pids:
            assert os.sched_getscheduler(pid) == os.SCHED_OTHER
            assert os.sched_getaffinity(pid) == {cpu}
            assert os.getsid(pid) == pid
    assert not any(alive(pid) for pid in pids)


def test_they_are_ended_when_the_block_fails() -> None:
    load = BackgroundLoad({min(os.sched_getaffinity(0))})
    with pytest.raises(KeyboardInterrupt), load:
        pids = pids_of(load)
        raise KeyboardInterrupt
    assert not any(alive(pid) for pid in pids)


def test_one_that_somebody_has_killed_is_told() -> None:
    with pytest.raises(ProgramError, match="1 processes of the background load ended"):  # noqa: SIM117
        with BackgroundLoad({min(os.sched_getaffinity(0))}) as load:
            victim = load._children[0]
            victim.send_signal(signal.SIGKILL)
            victim.wait()


@pytest.mark.skipif(not ends_with_us(), reason="there is no setpriv")
def test_they_do_not_outlive_a_demo_that_is_killed() -> None:
    code = (
        "import time; from rclrt_tools.reference.environment import BackgroundLoad\n"
        f"with BackgroundLoad({{{min(os.sched_getaffinity(0))}}}) as load:\n"
        "    print(*[child.pid for child in load._children], flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        pids = [int(word) for word in demo.stdout.readline().split()]
        assert len(pids) == PROCESSES_A_CPU
        demo.kill()
    patience = time.monotonic() + 20
    while any(alive(pid) for pid in pids) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in pids)


@pytest.mark.skipif(not ends_with_us(), reason="there is no setpriv")
def test_a_program_whose_starter_has_ended_meanwhile_does_not_begin(tmp_path: Path) -> None:
    """Killed between the start of a child and the child's word to the kernel."""
    starter = "import json; from rclrt_tools.reference.program import ends_with_us; "
    said = subprocess.run(
        [sys.executable, "-c", starter + "print(json.dumps(ends_with_us()))"],
        capture_output=True,
        text=True,
        check=True,
    )
    begun = tmp_path / "begun"
    late = subprocess.run([*json.loads(said.stdout), "touch", str(begun)], check=False)
    assert late.returncode != 0
    assert not begun.exists()
    in_time = subprocess.run([*ends_with_us(), "touch", str(begun)], check=False)
    assert in_time.returncode == 0
    assert begun.exists()


def test_programs_that_use_ros_or_are_named_are_seen_from_outside(tmp_path: Path) -> None:
    programs = {
        7: ("/opt/ros/lib/x/talker_of_the_robot --ros-args", "talker_of_the_r", "librcl.so"),
        8: ("/usr/bin/python3 -u /opt/y/listener", "python3", "librcl.so"),
        9: ("/bin/sleep 5", "sleep", "libc.so"),
    }
    for id_, (line, comm, library) in programs.items():
        folder = tmp_path / str(id_)
        folder.mkdir()
        (folder / "stat").write_text(f"{id_} ({comm}) S " + " ".join(["1"] * 49))
        (folder / "cmdline").write_text(line.replace(" ", "\0") + "\0")
        (folder / "maps").write_text(f"7f00-7f01 r-xp /usr/lib/{library}\n")
    outside = Outside(tmp_path)
    for wanted, found in (
        ([], {7: "talker_of_the_robot", 8: "listener"}),
        (["listener", "sleep"], {8: "listener", 9: "sleep"}),
        (["7", "11"], {7: "talker_of_the_robot"}),
        (["python3"], {8: "listener"}),
    ):
        for _ in range(2):
            seen = {one.number: one.program for one in outside.look(wanted)}
            assert seen == found, wanted


def test_of_a_process_that_was_started_without_us_the_threads_are_seen() -> None:
    code = "import threading, time; print(flush=True); [time.sleep(0.001) for _ in range(99999)]"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        mine = [str(child.pid)]
        watch = Watch(mine, 1, places=[], outside=Outside().look, from_begin=True)
        watch.snapshot()
        found = None
        while not found or not (found["wakeups_per_s"] or 0) > 1:
            snapshot = watch.snapshot()
            said = to_json(snapshot, 1.0)
            (found,) = said["threads"]
        assert [(one["process"], one["state"]) for one in said["processes"]] == [
            (child.pid, "outside")
        ]
        assert said["processes"][0]["cpu_percent"] == found["cpu_percent"]
        assert found["jobs_per_s"] is None
        assert "callbacks and messages are not known" in to_text(snapshot, 100)
        look = [*cli.command("observe", "--pid", *mine), "--for", "0.1"]
        done = subprocess.run(look, capture_output=True, text=True, check=True)
        assert " outside " in done.stdout
        assert "topics: not known: its arguments name no node" in done.stdout
        child.kill()
    assert watch.snapshot().outside == []
    done = subprocess.run(look, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and f"there is no process {child.pid}" in done.stderr


TWO_NODES = """
import rclpy.executors, std_msgs.msg
rclpy.init()
executor = rclpy.executors.SingleThreadedExecutor()
for name in ("container", "camera"):
    node = rclpy.create_node(name)
    own, both = (node.create_publisher(std_msgs.msg.Empty, t, 10) for t in (name + "/own", "both"))
    def publish(own=own, both=both):
        own.publish(std_msgs.msg.Empty())
        both.publish(std_msgs.msg.Empty())
    node.create_timer(0.01, publish)
    executor.add_node(node)
print(flush=True)
executor.spin()
"""


def test_all_nodes_of_a_process_are_seen_in_its_domain() -> None:
    pytest.importorskip("rclpy")
    remaps = ["--ros-args", "-r", "container:__node:=container", "-r", "ghost:__node:=ghost"]
    with subprocess.Popen(
        [sys.executable, "-c", TWO_NODES, *remaps], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        other = {
            **os.environ,
            "ROS_DOMAIN_ID": "77" if os.environ.get("ROS_DOMAIN_ID") != "77" else "78",
        }
        look = [*cli.command("observe", "--pid", str(child.pid)), "--for", "0.1"]
        done = subprocess.run(look, env=other, capture_output=True, text=True, check=True)
        child.kill()
    said = done.stdout
    for node in ("container", "camera"):
        own = re.search(
            rf"/{node} publishes /{node}/own \[.*\], (\d+) messages in ([\d.]+) s\n", said
        )
        assert own and int(own[1]) > 0, said
        assert re.search(rf"/{node} publishes /both .* s of 2 publishers together\n", said), said
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    assert f"/ghost: not known in the graph of ROS domain {domain}: " in said
    # The graph has taken all of the time, and what the threads did was measured all the same.
    main = re.search(rf"^ *{child.pid} +\S+ +{child.pid} .*$", said, re.M)
    assert main and len(re.findall(r"[\d.]+", main[0])) > 5, said


@pytest.mark.parametrize(
    "options",
    [
        ("--pid", "1", "--deadline", "a=1ms"),
        ("--pid", "1", "--params", "x"),
        ("--for", "3", "true"),
    ],
)
def test_options_that_would_not_count_are_refused(options: tuple[str, ...]) -> None:
    done = subprocess.run(
        cli.command("observe", *options), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stderr


@pytest.mark.parametrize(
    "kind",
    ["antigravity/msg/X", "os.path/msg/X", "../x/msg/X", "json/msg/decoder", "x", "", "a\n/msg/X"],
)
def test_nothing_is_imported_for_a_type_that_somebody_made_up(kind: str) -> None:
    before = set(sys.modules)
    with pytest.raises(ImportError, match="no Python package of messages here has"):
        type_of(kind)
    assert set(sys.modules) == before
