# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""`./rclrt apply`: threads of processes that know nothing of it get what a file says, and back."""

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rclrt_tools import cli
from rclrt_tools.apply import helper
from rclrt_tools.apply import keeper as keeper_module
from rclrt_tools.apply.entries import Entry, read_entries
from rclrt_tools.apply.held import Held, Store
from rclrt_tools.apply.keeper import Keeper
from rclrt_tools.apply.machine import (
    Arrivals,
    Sleepless,
    look,
    take_every_cpu,
    without_guard,
)
from rclrt_tools.apply.parts import Policy, Target
from rclrt_tools.apply.run import run
from rclrt_tools.live.threads import Thread, ranges, threads_of

NICE = os.nice(0)
CPUS = tuple(sorted(os.sched_getaffinity(0)))
PROC = Path("/proc")
gives_nice_back = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give nice back")
HEAD = "/**:\n  ros__parameters:\n    rclrt:\n"

# Starts a thread for each line of its input, or gives its newest one a new name. `spin` is itself.
VICTIM = """
import ctypes, sys, threading
libc = ctypes.CDLL(None)
waits = []
def call(name):
    libc.prctl(15, name.encode(), 0, 0, 0)
def body(name, mine):
    call(name)
    while True:
        mine["wait"].acquire()
        call(mine["name"])
        mine["done"].release()
call("victim")
print(flush=True)
for line in sys.stdin:
    name = line.strip()
    if name == "spin":
        call(name)
        print(flush=True)
        while True: pass
    if name == "daemon":
        import os
        if os.fork() == 0:
            if os.fork() == 0:
                call("orphan")
                sys.stdin.read()
            os._exit(0)
        os.wait()
        while "orphan" not in (open(f"/proc/{p}/comm").read().strip() for p in os.listdir("/proc")
                               if p.isdecimal() and os.path.exists(f"/proc/{p}/comm")): pass
    elif name.startswith("rename "):
        waits[-1]["name"] = name.split()[1]
        waits[-1]["wait"].release()
        waits[-1]["done"].acquire()
    else:
        mine = dict(wait=threading.Semaphore(0), done=threading.Semaphore(0))
        waits.append(mine)
        threading.Thread(target=body, args=(name, mine), daemon=True).start()
        while name not in (open(f"/proc/self/task/{t}/comm").read().strip()
                           for t in __import__("os").listdir("/proc/self/task")): pass
    print(flush=True)
"""


class Victim:
    def __init__(self, *names: str) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-c", VICTIM, "-r", "__node:=talker", "-r", "__ns:=/robot"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._answer()
        for name in names:
            self.say(name)

    def _answer(self) -> None:
        assert self.child.stdout is not None
        assert self.child.stdout.readline() == "\n"

    def say(self, line: str) -> None:
        assert self.child.stdin is not None
        print(line, file=self.child.stdin, flush=True)
        self._answer()

    def thread(self, name: str) -> Thread:
        return next(one for one in threads_of(self.child.pid) if one.name == name)

    def now(self, name: str) -> tuple[str, int | None, str]:
        one = self.thread(name)
        return one.policy, one.priority, one.cpus

    def target(self, name: str) -> Target:
        one = self.thread(name)
        return Target(self.child.pid, one.number, one.born, name)


@pytest.fixture
def victims() -> Iterator[Callable[..., Victim]]:
    made: list[Victim] = []

    def make(*names: str) -> Victim:
        made.append(Victim(*names))
        return made[-1]

    yield make
    for one in made:
        one.child.kill()
        one.child.communicate()


def ask(request: helper.Request) -> int:
    return helper.perform(helper.FORM.pack(*request), "/proc")


def written(folder: Path, text: str) -> Path:
    path = folder / "robot.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def keeper(path: Path, store: Store | None = None, **more: object) -> tuple[Keeper, list[str]]:
    told: list[str] = []
    entries, _ = read_entries(path)
    arguments = {"capable": os.geteuid() == 0, **more}
    return Keeper(entries, store, ask, told.append, told.append, **arguments), told  # type: ignore[arg-type]


def test_a_dry_run_changes_nothing_and_a_file_for_executors_alone_is_told(
    tmp_path: Path, victims: Callable[..., Victim], capsys: pytest.CaptureFixture[str]
) -> None:
    victim = victims("recvUC")
    before = victim.now("recvUC")
    own = (
        "      non_ros_threads: {victim/recv*: {scheduling_policy: idle}, x: {cpu_affinity: [0]}}\n"
    )
    path = written(tmp_path, f"{HEAD}{own}/lidar:\n  ros__parameters: {{range: .inf}}\n")
    assert run(path, explain=False, dry_run=True, allow_starving=False) == 0
    said = capsys.readouterr()
    assert f"idle (before: other nice {NICE}), by {path}:4: thread recv* of victim" in said.out
    assert f"{path}:4: thread x: there is none now" in said.err
    assert victim.now("recvUC") == before
    written(tmp_path, HEAD + "      executor: {attributes: prefer}\n")
    assert run(path, explain=False, dry_run=True, allow_starving=False) == 2
    assert "there is nothing to do" in capsys.readouterr().err


@gives_nice_back
def test_threads_get_what_the_file_says_as_they_come_and_at_the_end_what_they_had(
    tmp_path: Path, victims: Callable[..., Victim]
) -> None:
    victim = victims("recvUC", "log", "other", "rclrt worker 1")
    text = f"""{HEAD}
      non_ros_threads:
        victim/*: {{cpu_affinity: [{CPUS[-1]}]}}
        victim/recv*: {{scheduling_policy: batch, nice: 4, cpu_affinity: [{CPUS[0]}]}}
        log: {{scheduling_policy: other, nice: 7}}
        nobody: {{scheduling_policy: idle}}
/robot:
  talker:
    ros__parameters:
      rclrt:
        non_ros_threads: {{other: {{scheduling_policy: idle}}}}
"""
    names = ("victim", "recvUC", "log", "other")
    before = {name: victim.now(name) for name in names}
    one, told = keeper(written(tmp_path, text), Store(tmp_path))
    one.sweep()
    last, first, every = str(CPUS[-1]), str(CPUS[0]), ranges(CPUS)
    assert victim.now("recvUC") == ("batch", 4, first)
    assert victim.now("log") == ("other", 7, last)
    assert victim.now("other") == ("idle", None, last)
    assert victim.now("rclrt worker 1") == ("other", NICE, every)  # It is an executor's.
    assert [text.partition(": ")[2] for text in one.unmatched()] == [
        "thread nobody: there is none now"
    ]
    said = next(text for text in told if "(recvUC)" in text)
    assert (
        f"batch nice 4 (before: other nice {NICE}), by {tmp_path}/robot.yaml:7: thread recv*"
        in said
    )
    assert f"CPUs {first} (" in said

    victim.say("recv2")
    victim.say("log2")
    one.sweep()
    assert victim.now("recv2") == ("batch", 4, first)
    victim.say("rename recv3")  # log2 has another name now
    one.sweep()
    assert victim.now("recv3") == ("batch", 4, first)
    victim.say("rename loud")
    one.sweep()
    assert victim.now("loud") == ("other", NICE, last)

    os.sched_setaffinity(victim.thread("other").number, CPUS)
    os.sched_setscheduler(victim.thread("log").number, os.SCHED_BATCH, os.sched_param(0))
    one.give_back()
    assert {name: victim.now(name) for name in names} == before | {"log": ("batch", 7, every)}
    assert victim.now("recv2") == victim.now("loud") == ("other", NICE, every)
    assert any("it has batch nice 7, which is not from here: left as it is" in t for t in told)


@gives_nice_back
def test_a_thread_does_not_keep_what_it_has_from_the_thread_that_started_it(
    tmp_path: Path, victims: Callable[..., Victim], monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = victims("early")
    os.sched_setaffinity(victim.thread("early").number, CPUS[:1])  # its own choice
    at_once = [victim.target("early").born] * 10
    later = keeper_module._ticks
    monkeypatch.setattr(keeper_module, "_ticks", lambda: at_once.pop() if at_once else later())
    file = written(
        tmp_path,
        f"{HEAD}      non_ros_threads: {{victim/victim: {{scheduling_policy: batch, nice: 3, "
        f"cpu_affinity: [{CPUS[0]}]}}}}\n",
    )
    one, _ = keeper(file)
    one.sweep()
    victim.say("child")
    assert victim.now("child") == ("batch", 3, str(CPUS[0]))
    one.sweep()
    one.sweep()
    assert victim.now("child") == ("other", NICE, ranges(CPUS))
    assert victim.now("early") == ("other", NICE, str(CPUS[0]))
    victim.say("second")
    one.give_back()
    assert victim.now("second") == ("other", NICE, ranges(CPUS))
    assert victim.now("early") == ("other", NICE, str(CPUS[0]))


@gives_nice_back
@pytest.mark.parametrize("ends", [False, True])
def test_nor_does_a_daemon_whose_parent_has_ended(
    tmp_path: Path, victims: Callable[..., Victim], ends: bool
) -> None:
    arrivals, victim = Arrivals(), victims()
    entry = "{scheduling_policy: batch, nice: 3}"
    one, _ = keeper(
        written(tmp_path, f"{HEAD}      non_ros_threads: {{victim/victim: {entry}}}\n"),
        parents=arrivals.parents,
    )
    one.sweep()
    victim.say("daemon")
    arrivals.drain()
    if not arrivals.heard:
        pytest.skip("the kernel does not tell of new processes here")
    parent_of = arrivals.parents
    orphan = next(one for one in parent_of if parent_of.get(parent_of[one]) == victim.child.pid)
    (thread,) = threads_of(orphan)
    assert (thread.policy, thread.priority) == ("batch", 3)
    one.give_back() if ends else one.sweep()
    (thread,) = threads_of(orphan)
    assert (thread.policy, thread.priority) == ("other", NICE)


@gives_nice_back
def test_after_a_kill_the_next_start_gives_back(
    tmp_path: Path, victims: Callable[..., Victim]
) -> None:
    victim = victims("recvUC")
    before = victim.now("recvUC")
    text = f"{HEAD}      non_ros_threads: {{victim/recv*: {{scheduling_policy: batch, nice: 4, "
    file = written(tmp_path, f"{text}cpu_affinity: [{CPUS[0]}]}}}}\n")
    folder = Path("/run") if os.geteuid() == 0 else tmp_path
    command = cli.command("apply", "--explain", str(file))
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}

    def start() -> subprocess.Popen[str]:
        child = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert child.stderr is not None
        for line in child.stderr:
            if "threads of" in line:
                return child
        raise AssertionError("it has ended")

    child = start()
    assert victim.now("recvUC") == ("batch", 4, str(CPUS[0]))
    second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert second.returncode == 1 and "another ./rclrt apply of this user runs" in second.stderr
    child.kill()
    child.communicate()
    assert victim.now("recvUC") == ("batch", 4, str(CPUS[0]))

    file.write_text(text.replace("recv*", "none") + "}}\n", encoding="utf-8")
    child = start()
    assert victim.now("recvUC") == before
    child.send_signal(signal.SIGTERM)
    child.communicate()
    assert child.returncode == 0
    file.write_text(text + f"cpu_affinity: [{CPUS[0]}]}}}}\n", encoding="utf-8")
    child = start()
    child.kill()
    child.communicate()
    assert victim.now("recvUC") == ("batch", 4, str(CPUS[0]))
    file.write_text("/**: {ros__parameters: {rate: 5}}\n", encoding="utf-8")
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "have back what an earlier run had changed" in done.stderr
    assert victim.now("recvUC") == before
    one = keeper_module.Helper(PROC, None, None)
    os.kill(one.number, signal.SIGKILL)
    with pytest.raises(OSError, match="comes back when apply is started again"):
        while True:
            one.ask(Policy("other").request(victim.target("recvUC")))
    one.close()


@gives_nice_back
def test_a_thread_of_the_state_that_is_another_now_is_left_alone(
    tmp_path: Path, victims: Callable[..., Victim]
) -> None:
    victim = victims("recvUC")
    right = victim.target("recvUC")
    wrong = Target(right.process, right.number, right.born + 1, right.name)
    held = Held(
        wrong, 0, {"policy": Policy("batch", nice=NICE)}, {"policy": Policy("other", nice=NICE)}
    )
    one, told = keeper(written(tmp_path, HEAD + "      irqs: {none: {cpu_affinity: [0]}}\n"))
    one.take_over([held])
    assert victim.now("recvUC")[0] == "other" and told == []
    one.take_over([Held(right, 0, held.before, held.given)])
    assert victim.now("recvUC")[0] == "batch" and "1 threads or interrupts have back" in told[0]


def test_the_helper_does_only_what_can_be_right(victims: Callable[..., Victim]) -> None:
    target = victims("recvUC").target("recvUC")
    good = Policy("batch", nice=3).request(target)
    for change in ({"nice": 20}, {"priority": 1}, {"policy": 4}, {"policy": 1}, {"kind": 9},
                   {"kind": helper.CPUS}, {"kind": helper.CLAMP, "low": 2, "high": 1},
                   {"policy": 6, "runtime": 3, "deadline": 2, "period": 4}):  # fmt: skip
        assert ask(good._replace(**change)) == errno.EINVAL, change
    assert ask(good._replace(born=target.born + 1)) == errno.ESRCH
    assert ask(good._replace(number=2**22 + 9)) == errno.ESRCH
    assert ask(good) == 0


def test_the_helper_keeps_one_capability_and_the_rest_none() -> None:
    for wanted in (helper.CAP_SYS_NICE, 0):
        code = f"import runpy; h = runpy.run_path({helper.__file__!r}, run_name='x')\n"
        code += (
            f"print(h['confine']({wanted}, None, None)); print(open('/proc/self/status').read())"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        left = int(done.stdout.partition("\n")[0])
        status = dict(line.split(":\t") for line in done.stdout.splitlines() if ":\t" in line)
        assert left in (0, wanted)
        assert all(int(status[key], 16) == left for key in ("CapEff", "CapPrm"))
        assert status["NoNewPrivs"] == "1"


@pytest.mark.parametrize("dry", [False, True])
def test_interrupts_get_their_cpus_and_have_them_back(tmp_path: Path, dry: bool) -> None:
    for number, name in ((7, "eth0-rx"), (8, "ttyS0"), (9, "eth0-tx")):
        (tmp_path / f"irq/{number}/{name}").mkdir(parents=True)
        (tmp_path / f"irq/{number}/smp_affinity_list").write_text("0-1\n")

    def now() -> list[str]:
        found = [tmp_path / f"irq/{number}/smp_affinity_list" for number in (7, 8, 9)]
        return [path.read_text().strip() for path in found]

    text = (
        '      irqs: {eth*: {cpu_affinity: [0]}, "9": {cpu_affinity: [1]}, x: {cpu_affinity: [0]}}'
    )
    entries, _ = read_entries(written(tmp_path, f"{HEAD}{text}\n"))
    told: list[str] = []

    def on_fake(request: helper.Request) -> int:
        return helper.perform(helper.FORM.pack(*request), str(tmp_path))

    one = Keeper(entries, None, None if dry else on_fake, told.append, told.append, tmp_path)
    one.sweep()
    assert now() == (["0-1"] * 3 if dry else ["0", "0-1", "1"])
    assert sum("(before: CPUs 0-1)" in text for text in told) == 2
    assert "irq x: there is none now" in one.unmatched()[0]
    one.give_back()
    assert now() == (["0-1"] * 3 if dry else ["0,1", "0-1", "0,1"])


@pytest.mark.parametrize(
    ("allowed", "cpus", "every"),
    [
        ([{0, 1}], {0, 1}, False),
        ([{0, 1}, {0, 1}], {0, 1}, True),
        ([{0}, {0}, {0}], {0, 1}, False),
        ([{0, 1}, {0}], {0, 1}, True),
        ([{0, 1, 2}, {0}, {0, 1}], {0, 1, 2}, True),
        ([], {0}, False),
    ],
)
def test_threads_take_every_cpu_if_each_can_have_one_of_its_own(
    allowed: list[set[int]], cpus: set[int], every: bool
) -> None:
    threads = [Target(1, number, 0, "") for number in range(len(allowed))]
    of = {one: frozenset(mine) for one, mine in zip(threads, allowed, strict=True)}
    assert take_every_cpu(threads, of, frozenset(cpus)) == every


@pytest.mark.parametrize(
    ("runtime", "limit", "is_without"),
    [
        ("950000", "unlimited", False),
        ("-1", "unlimited", True),
        ("1000000", "unlimited", True),
        ("-1", "200000", False),
    ],
)
def test_without_throttling_a_limit_of_the_process_is_the_guard(
    tmp_path: Path, runtime: str, limit: str, is_without: bool
) -> None:
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "sys/kernel/sched_rt_runtime_us").write_text(f"{runtime}\n")
    (tmp_path / "sys/kernel/sched_rt_period_us").write_text("1000000\n")
    (tmp_path / "5").mkdir()
    (tmp_path / "5/limits").write_text(f"Max realtime timeout      {limit}            x   us\n")
    assert without_guard(tmp_path, 5) == is_without


@pytest.mark.parametrize(
    ("states", "slept", "born", "sleepless"),
    [
        ("RR", (5, 5), (1, 1), True),
        ("RR", (5, 6), (1, 1), False),
        ("RS", (5, 5), (1, 1), False),
        ("SR", (5, 5), (1, 1), False),
        ("RR", (5, 5), (1, 2), False),
    ],
)
def test_a_thread_does_not_sleep_if_it_is_always_ready_and_has_never_waited(
    tmp_path: Path, states: str, slept: tuple[int, int], born: tuple[int, int], sleepless: bool
) -> None:
    folder = tmp_path / "5/task/6"
    folder.mkdir(parents=True)
    looks = Sleepless(tmp_path)
    for state, times, began in zip(states, slept, born, strict=True):
        fields = ["0"] * 18 + [str(began)] + ["0"] * 30
        (folder / "stat").write_text(f"6 (a b) {state} {' '.join(fields)}\n")
        (folder / "status").write_text(f"voluntary_ctxt_switches:\t{times}\n")
        found = looks.look([Target(5, 6, 1, "")])
    assert bool(found) == sleepless


@pytest.mark.parametrize("allow", [False, True])
def test_a_thread_that_does_not_sleep_gets_no_real_time_policy_if_it_takes_every_cpu(
    tmp_path: Path, victims: Callable[..., Victim], allow: bool
) -> None:
    victim, spinner = victims("recvUC"), victims("spin")
    try:
        number = victim.thread("recvUC").number
        os.sched_setscheduler(number, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(number, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        pytest.skip("no permission for SCHED_FIFO (RLIMIT_RTPRIO)")
    entry = "{scheduling_policy: rr, priority: 1}"
    text = f"{HEAD}      non_ros_threads: {{spin: {entry}, victim/recv*: {entry}}}\n"
    one, told = keeper(written(tmp_path, text), cpus=frozenset(CPUS[:1]), allow_starving=allow)
    one.sweep()
    assert victim.now("recvUC")[:2] == ("rr", 1)
    assert spinner.now("spin")[:2] == (("rr", 1) if allow else ("other", NICE))
    assert one.refused == (0 if allow else 1)
    assert any("--allow-starving" in text for text in told) != allow
    if not allow:  # One that has what it asked for, and sleeps no more, is found later.
        spin = spinner.target("spin")
        before = {"policy": Policy("other", nice=NICE)}
        held = Held(spin, 0, before, {"policy": Policy("rr", priority=1)})
        assert ask(held.given["policy"].request(spin)) == 0
        one.held[spin] = held
        while spin in one.held:
            one.sweep()
        assert spinner.now("spin")[:2] == ("other", NICE)
    one.give_back()
    assert victim.now("recvUC")[0] == spinner.now("spin")[0] == "other"


def test_reservations_that_the_kernel_does_not_limit_are_refused(
    tmp_path: Path, victims: Callable[..., Victim]
) -> None:
    victims("recvUC", "recv2")
    entry = "{scheduling_policy: deadline, runtime: 5ms, deadline: 10ms, period: 10ms}"
    path = written(tmp_path, f"{HEAD}      non_ros_threads: {{victim/recv*: {entry}}}\n")
    (tmp_path / "sys/kernel").mkdir(parents=True)
    for place in PROC.iterdir():
        if place.name.isdecimal():
            (tmp_path / place.name).symlink_to(place)
    (tmp_path / "sys/kernel/sched_rt_period_us").write_text("1000000\n")
    asked: list[helper.Request] = []
    for runtime, count in ((950000, 2), (-1, 1)):
        (tmp_path / "sys/kernel/sched_rt_runtime_us").write_text(f"{runtime}\n")
        told: list[str] = []
        one = Keeper(
            read_entries(path)[0], None, lambda request: asked.append(request) or 0, told.append,
            proc=tmp_path, cpus=frozenset(CPUS[:1]),
        )  # fmt: skip
        asked.clear()
        one.sweep()
        assert len(asked) == count and one.refused == 2 - count
        assert ("reserves all time of the CPUs" in " ".join(told)) == (count == 1)


@pytest.mark.parametrize("changes", ["{scheduling_policy: rr, priority: 1}", "{cpu_affinity: [0]}"])
def test_urgent_threads_that_nobody_has_changed_count_too(
    tmp_path: Path, victims: Callable[..., Victim], changes: str
) -> None:
    fifo, spin = victims("spin"), victims("spin")
    try:
        numbers = [one.thread("spin").number for one in (fifo, spin)]
        for number in numbers[: 1 if "policy" in changes else 2]:
            resource.prlimit(number, resource.RLIMIT_RTTIME, (2_000_000, 2_000_000))
            os.sched_setaffinity(number, CPUS[-1:])
            os.sched_setscheduler(number, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pytest.skip("no permission for SCHED_FIFO (RLIMIT_RTPRIO)")
    text = f"{HEAD}      non_ros_threads: {{python*/spin: {changes}, spin: {changes}}}\n"
    asked: list[helper.Request] = []
    one = Keeper(
        read_entries(written(tmp_path, text))[0], None, lambda request: asked.append(request) or 0,
        lambda _: None, cpus=frozenset(CPUS), ours=(fifo.child.pid,),
    )  # fmt: skip
    one.sweep()
    fifo.child.kill()
    assert not asked and one.refused == 1


def test_what_could_not_be_given_back_is_refused(
    tmp_path: Path, victims: Callable[..., Victim]
) -> None:
    victim = victims("recvUC")
    before = victim.now("recvUC")
    path = written(tmp_path, HEAD + "      non_ros_threads: {recv*: {scheduling_policy: idle}}\n")
    (tmp_path / "limits").write_text("Max nice priority         0                    0       \n")
    (tmp_path / str(victim.child.pid)).mkdir()
    for place in PROC.joinpath(str(victim.child.pid)).iterdir():
        if place.name in ("task", "stat", "cmdline"):
            (tmp_path / str(victim.child.pid) / place.name).symlink_to(place)
    (tmp_path / str(victim.child.pid) / "limits").symlink_to(tmp_path / "limits")
    one, told = keeper(path, proc=tmp_path, capable=False)
    one.sweep()
    assert victim.now("recvUC") == before and one.held == {}
    assert f"it could not have other nice {NICE} back: RLIMIT_NICE" in told[-1]


def test_a_refusal_is_told_once_with_a_remedy(
    tmp_path: Path, victims: Callable[..., Victim]
) -> None:
    victims("recvUC", "recv2")
    path = written(tmp_path, f"{HEAD}      non_ros_threads: {{victim/recv*: {{scheduling_policy: "
                             "fifo, priority: 9}}\n")  # fmt: skip
    told: list[str] = []
    entries, _ = read_entries(path)
    one = Keeper(entries, None, lambda _: errno.EPERM, told.append, allow_starving=True)
    one.sweep()
    one.sweep()
    assert len(told) == 1 and one.held == {}
    assert "fifo priority 9: Operation not permitted. CAP_SYS_NICE is missing: start it" in told[0]


def test_kernel_threads_are_found_by_their_own_section_alone() -> None:
    entries = [Entry(section, "", "k*") for section in ("kernel_threads", "non_ros_threads")]
    found = [one for _, mine in look(PROC, entries) for one in mine]
    if Path("/proc/2/comm").read_text(encoding="utf-8").strip() != "kthreadd":
        pytest.skip("kernel threads are not seen here (a PID namespace)")
    assert any(one.section == "kernel_threads" for one in found)
    kernel = [target for target, mine in look(PROC, entries[:1]) if mine]
    assert kernel and all(target.program == "kernel" for target in kernel)


def test_the_kernel_tells_of_what_comes_or_it_is_known_that_it_does_not() -> None:
    arrivals = Arrivals()
    wake, end = os.pipe()
    subprocess.run(["true"], check=True)
    os.write(end, b"x")
    assert arrivals.wait(wake, 60) == arrivals.heard
    arrivals.close()
    assert not arrivals.wait(wake, 60)
