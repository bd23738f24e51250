# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a machine does to real-time threads: how it is looked at, what is found, what it costs."""

import gc
import mmap
import os
import re
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rclrt_tools.live.files import printable
from rclrt_tools.live.threads import cpus_in
from rclrt_tools.statistics import percentile

MEND, NOTE, GOOD = "mend", "note", "good"
RTPRIO, RTTIME, MEMLOCK = "realtime priority", "realtime timeout", "locked memory"
SYS_NICE, IPC_LOCK = 23, 14
UNLIMITED = 2**63
BUSY = 4
"""Programs beside what is measured, as many as in the demo."""
FEWEST = 3
"""Wake-ups, on a machine that is so busy that these take longer."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    name: Of the subject, one word.
    kind: MEND: something to mend. NOTE: so it is, and it costs. GOOD: in order.
    what, costs, remedy: In words. They may quote what the machine says.
    commands: Of a shell, that mend it, quoted.
    source: Who says so, if it is neither the machine nor rclrt.
    """

    name: str
    kind: str
    what: str
    costs: str = ""
    remedy: str = ""
    commands: tuple[str, ...] = ()
    source: str = ""


class System:
    """The machine as this process sees it: all of it files below one folder.

    No look raises: what is missing, unreadable, no regular file or too long is nothing.
    """

    MOST = 1 << 20

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def path(self, name: str) -> str:
        """Return where a file of the machine is."""
        return os.path.join(self.root, name.lstrip("/"))  # noqa: PTH118  # Links stay links.

    def content(self, name: str, most: int = MOST) -> bytes:
        """Return what a regular file has, at most so much of it."""
        try:
            file = os.open(self.path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return b""
        found = b""
        with suppress(OSError):
            if stat.S_ISREG(os.fstat(file).st_mode):
                while len(found) < most and (more := os.read(file, most - len(found))):
                    found += more
        os.close(file)
        return found

    def peek(self, name: str) -> Callable[[int, int], bytes]:
        """Return what returns the bytes of a regular file from an offset on."""

        def read(offset: int, length: int) -> bytes:
            if not stat.S_ISREG(self.mode(name)):
                return b""
            try:
                file = os.open(self.path(name), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:
                return b""
            try:
                return os.pread(file, length, offset)
            except (OSError, OverflowError):
                return b""
            finally:
                os.close(file)

        return read

    def text(self, name: str) -> str:
        """Return what a file has, without white space around it."""
        return self.content(name).decode("utf-8", "replace").strip()

    def number(self, name: str) -> int | None:
        """Return the whole number that a file begins with."""
        found = re.match(r"[+-]?\d{1,18}(?=\s|$)", self.text(name))
        return int(found[0]) if found else None

    def names(self, name: str) -> list[str]:
        """Return what is in a folder."""
        try:
            return sorted(os.listdir(self.path(name)))  # noqa: PTH208
        except (OSError, ValueError):
            return []

    def exists(self, name: str) -> bool:
        """Return whether it is there, and may be seen."""
        return self.mode(name) != 0

    def link(self, name: str) -> str:
        """Return where a link leads to."""
        try:
            return os.readlink(self.path(name))  # noqa: PTH115
        except (OSError, ValueError):
            return ""

    def mode(self, name: str) -> int:
        """Return the mode of a file, of that which a link leads to; 0: it cannot be seen."""
        try:
            return os.stat(self.path(name)).st_mode  # noqa: PTH116
        except (OSError, ValueError):
            return 0

    def file_capabilities(self, name: str) -> str:
        """Return the capabilities that a file gives, as numbers; empty: none."""
        try:
            value = os.getxattr(self.path(name), "security.capability")
        except (OSError, ValueError):
            return ""
        bits = int.from_bytes(value[4:8], "little") | int.from_bytes(value[12:16], "little") << 32
        return ", ".join(str(bit) for bit in range(64) if bits >> bit & 1)

    def refuses_realtime(self) -> bool:
        """Return whether a filter refuses the call: the kernel says of no thread -1 EINVAL."""
        try:
            os.sched_setscheduler(-1, os.SCHED_FIFO, os.sched_param(1))
        except PermissionError:
            return True
        except OSError:
            pass
        return False

    @cached_property
    def environment(self) -> dict[str, str]:
        """The variables that this process was started with."""
        words = self.content("proc/self/environ").decode("utf-8", "replace").split("\0")
        return dict(word.partition("=")[::2] for word in words if "=" in word)

    @cached_property
    def release(self) -> str:
        """The kernel's release."""
        return self.text("proc/sys/kernel/osrelease")

    @cached_property
    def command_line(self) -> dict[str, str]:
        """The kernel's."""
        return dict(word.partition("=")[::2] for word in self.text("proc/cmdline").split())

    @cached_property
    def config(self) -> dict[str, str]:
        """How the kernel was built, without CONFIG_; empty: unknown."""
        text = b""
        with suppress(zlib.error):
            text = zlib.decompressobj(31).decompress(self.content("proc/config.gz"), 4 * self.MOST)
        if not text and re.fullmatch(r"[\w.+~-]+", self.release):
            text = self.content(f"boot/config-{self.release}")
        return dict(re.findall(r"^CONFIG_(\w+)=(\S+)", text.decode("utf-8", "replace"), re.M))

    @cached_property
    def status(self) -> dict[str, str]:
        """What the kernel says of this process."""
        return dict(re.findall(r"^(\w+):[ \t]*(\S*)", self.text("proc/self/status"), re.M))

    def limit(self, name: str) -> int | None:
        """Return a soft limit of this process, as /proc calls it; None: unknown."""
        found = re.search(rf"^Max {name}\s+(\S+)", self.text("proc/self/limits"), re.M)
        if not found or not re.fullmatch(r"\d{1,20}|unlimited", found[1]):
            return None
        return UNLIMITED if found[1] == "unlimited" else int(found[1])

    def has_capability(self, bit: int) -> bool:
        """Return whether this process has it, be it that of a user namespace."""
        found = re.fullmatch(r"[0-9a-fA-F]{1,16}", self.status.get("CapEff", ""))
        return bool(found and int(found[0], 16) >> bit & 1)

    @cached_property
    def is_nested(self) -> bool:
        """Whether this is a user namespace other than the machine's."""
        found = re.fullmatch(r"user:\[(\d{1,20})\]", self.link("proc/self/ns/user"))
        if found:
            return int(found[1]) != 0xEFFFFFFD  # The kernel's PROC_USER_INIT_INO.
        users = self.text("proc/self/uid_map").split()
        return bool(users) and users != ["0", "0", "4294967295"]

    def may(self, bit: int) -> bool:
        """Return whether this process has the capability for the machine."""
        return self.has_capability(bit) and not self.is_nested

    @cached_property
    def container(self) -> str:
        """What the process runs in; empty: no container that could be seen."""
        told = self.content("proc/1/environ").decode("utf-8", "replace").split("\0")
        named = [word.partition("=")[2] for word in told if word.startswith("container=")]
        if named and named[0]:
            return printable(named[0][:40])
        if self.exists("run/.containerenv"):
            return "podman"
        return "docker" if self.exists(".dockerenv") else ""

    def cpus(self, name: str) -> frozenset[int]:
        """Return the CPUs that a file lists."""
        return cpu_set(self.text(name))


def cpu_set(text: str) -> frozenset[int]:
    """Return the CPUs of a list as "0-3,8"; none if it is no such list."""
    is_list = re.fullmatch(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?){0,999}", text)
    return frozenset(cpus_in(text)) if is_list else frozenset()


@dataclass(frozen=True)
class Costs:
    """What was measured here; None: it could not be.

    ordinary_us, urgent_us: p50 and p99 of how late a thread of SCHED_OTHER or SCHED_FIFO wakes up,
        beside busy programs of SCHED_OTHER on the same CPU. The longest where there are too few for
        p99.
    fault_us: Of a first touch of a page.
    huge_fault_us: The same of a huge page.
    clock_ns: Of a look at the clock.
    """

    ordinary_us: tuple[float, float] | None = None
    urgent_us: tuple[float, float] | None = None
    fault_us: float | None = None
    huge_fault_us: float | None = None
    clock_ns: float | None = None

    def ordinary(self) -> str:
        """Say what an ordinary thread waits."""
        return _late("an ordinary thread", self.ordinary_us)

    def urgent(self) -> str:
        """Say what a real-time thread waits, or else an ordinary one."""
        return _late("a real-time thread", self.urgent_us) or self.ordinary()

    def both(self) -> str:
        """Say what both wait."""
        return "; ".join(
            filter(None, (self.ordinary(), _late("one of SCHED_FIFO", self.urgent_us)))
        )

    def fault(self) -> str:
        """Say what a page costs."""
        return f"a first touch of a page took {self.fault_us:.2g} us" if self.fault_us else ""


def _late(of: str, times: tuple[float, float] | None) -> str:
    if times is None:
        return ""
    middle, late = times
    return f"{of} woke up {middle:.0f} us late (p50), {late:.0f} us (p99), beside busy programs"


def measure() -> Costs:
    """Measure, for about half a second."""
    cpu = max(os.sched_getaffinity(0))
    return Costs(
        _beside_load(cpu, 0, 0.3),
        _beside_load(cpu, 50, 0.2),
        _fault_us(mmap.PAGESIZE, 4000, "MADV_NOHUGEPAGE"),
        _fault_us(1 << 21, 4, "MADV_HUGEPAGE"),
        _clock_ns(),
    )


def _clock_ns(count: int = 2000) -> float:
    began = time.perf_counter_ns()
    for _ in range(count):
        time.monotonic_ns()
    return (time.perf_counter_ns() - began) / count


def _fault_us(size: int, count: int, advice: str) -> float | None:
    """Return the median of first touches; None if the kernel does not give such pages."""
    took = []
    try:
        with mmap.mmap(-1, size * (count + 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            memory.madvise(getattr(mmap, advice))
            for place in range(size - 1, size * count, size):
                began = time.perf_counter_ns()
                memory[place] = 1
                took.append(time.perf_counter_ns() - began)
    except (OSError, ValueError, AttributeError):
        return None
    return sorted(took)[len(took) // 2] / 1000


def _beside_load(cpu: int, priority: int, seconds: float) -> tuple[float, float] | None:
    """Return p50 and p99 of wake-ups, in us; None: the priority or the CPU is refused."""

    def busy() -> tuple[()]:
        ends = time.monotonic_ns() + 5_000_000_000  # Should nobody have ended it.
        while time.monotonic_ns() < ends:
            pass
        return ()

    def sleeper() -> Iterator[int]:
        period, due, count = 500_000, time.monotonic_ns(), 0
        ends = due + int(seconds * 1e9)  # Where it starts late, later.
        while (now := time.monotonic_ns()) < ends or count < FEWEST:
            due = max(due + period, now)
            time.sleep((due - now) / 1e9)
            yield time.monotonic_ns() - due
            count += 1

    late: list[float] = []
    children = []
    try:
        for _ in range(BUSY):
            child, pipe = _child(cpu, 0, busy)
            os.close(pipe)
            children.append(child)
        child, pipe = _child(cpu, priority, sleeper)
        children.append(child)
        with os.fdopen(pipe, "rb") as told:
            late = sorted(int(word) / 1000 for word in told.read().split())
    except OSError:
        pass  # No more processes or files are permitted.
    finally:
        for child in children:
            with suppress(OSError):
                os.kill(child, 9)
            os.waitpid(child, 0)
    middle, most = percentile(late, 0.5), percentile(late, 0.99)
    return None if middle is None else (middle, most if most is not None else late[-1])


def _child(
    cpu: int, priority: int, work: Callable[[], Iterator[int] | tuple[()]]
) -> tuple[int, int]:
    """Return the number of a process that does it, and where it says what it got."""
    ours, its = os.pipe()
    number = os.fork()
    if number:
        os.close(its)
        return number, ours
    try:
        os.close(ours)
        gc.disable()
        os.sched_setaffinity(0, {cpu})
        if priority:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        os.write(its, " ".join(map(str, list(work()))).encode())
    except OSError:
        pass
    finally:
        os._exit(0)
