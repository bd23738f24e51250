# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Which threads and interrupts there are now, which entries of a file are for each.

Also whether real-time threads would leave nothing of the machine to others.
"""

import errno
import os
import re
import selectors
import socket
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rclrt_tools.apply.entries import INTERRUPTS, KERNEL, Entry
from rclrt_tools.apply.parts import Target
from rclrt_tools.live.files import (
    BORN,
    FLAGS,
    PARENT,
    POLICY,
    STATE,
    printable,
    proc_text,
    stat_of,
)
from rclrt_tools.live.threads import WORKER, Thread, thread_of

IS_KERNEL = 0x00200000
_NODE = re.compile(r"(?:[^:]*:)?__(?:node|name):=(.*)")
_SPACE = re.compile(r"(?:[^:]*:)?__ns:=(.*)")


def names_of(words: Sequence[str], comm: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a process with these arguments is called, and the nodes that they name."""
    programs = [comm, *[Path(word).name for word in words[:1]]]
    if re.match(r"python|bash|sh$|perl|ruby", programs[-1]):
        rest = iter(words[1:])
        for word in rest:
            if word == "-m":
                programs.append(next(rest, ""))
            elif not word.startswith("-"):
                programs.append(Path(word).name)
            elif word != "-c":  # Else what follows is no name but the program itself.
                continue
            break
    spaces = [found[1].strip("/") for word in words if (found := _SPACE.fullmatch(word))]
    space = f"/{spaces[-1]}" if spaces and spaces[-1] else ""
    nodes = [f"{space}/{found[1]}" for word in words if (found := _NODE.fullmatch(word))]
    return tuple(dict.fromkeys(filter(None, programs))), tuple(nodes)


def look(
    proc: Path,
    entries: Sequence[Entry],
    is_near: Callable[[int, int], bool] = lambda *_: False,
    ours: Collection[int] = (),
) -> Iterator[tuple[Target, tuple[Entry, ...]]]:
    """Yield threads and interrupts that entries are for, in no order.

    is_near: Whether of a process with this number and parent all threads are wanted, also those
        that no entry is for.
    ours: Processes that are passed over.
    """
    users = [entry for entry in entries if entry.section not in (KERNEL, INTERRUPTS)]
    kernels = [entry for entry in entries if entry.section == KERNEL]
    for name in os.listdir(proc):  # noqa: PTH208  # There are many: no Path for each.
        if not name.isdecimal() or int(name) in ours:
            continue
        folder = f"{proc}/{name}"
        try:
            comm, fields = stat_of(folder)
            parent, born = int(fields[PARENT]), int(fields[BORN])
            if int(fields[FLAGS]) & IS_KERNEL:
                mine = tuple(entry for entry in kernels if entry.matches_name(comm))
                if mine:
                    yield Target(int(name), int(name), born, printable(comm), "kernel"), mine
                continue
            chosen = []
            if users:
                words = proc_text(f"{folder}/cmdline").split("\0")[:-1]
                called = names_of(words, comm)
                chosen = [entry for entry in users if entry.matches_process(*called)]
            if chosen or is_near(int(name), parent):
                yield from _threads(folder, (int(name), printable(comm), parent), chosen)
        except (OSError, ValueError, IndexError):
            continue  # It has ended.
    wanted = [entry for entry in entries if entry.section == INTERRUPTS]
    if wanted:
        yield from _interrupts(proc / "irq", wanted)


def _threads(
    folder: str, process: tuple[int, str, int], entries: Sequence[Entry]
) -> Iterator[tuple[Target, tuple[Entry, ...]]]:
    number, program, parent = process
    for name in os.listdir(f"{folder}/task"):  # noqa: PTH208
        try:
            comm, fields = stat_of(f"{folder}/task/{name}")
            born = int(fields[BORN])
            target = Target(number, int(name), born, printable(comm), program, parent)
        except (OSError, ValueError, IndexError):
            continue
        if not comm.startswith(WORKER):
            yield target, tuple(entry for entry in entries if entry.matches_name(comm))


def _interrupts(
    place: Path, entries: Sequence[Entry]
) -> Iterator[tuple[Target, tuple[Entry, ...]]]:
    for folder in place.iterdir() if place.is_dir() else ():
        if not folder.name.isdecimal():
            continue
        handlers = sorted(one.name for one in folder.iterdir() if one.is_dir())
        number = int(folder.name)
        mine = tuple(
            entry
            for entry in entries
            if entry.number in (None, number) and any(map(entry.matches_name, handlers or [""]))
        )
        if mine:
            yield Target(0, number, 0, printable(", ".join(handlers))), mine


class Arrivals:
    """Tells when processes and threads come or get other names, if the kernel tells this user."""

    _LISTEN = struct.pack("=IHHIIIIIIHHI", 40, 3, 0, 0, 0, 1, 1, 0, 0, 4, 0, 1)
    _FORK, _EXEC, _COMM = 0x1, 0x2, 0x200
    _CONNECTOR, _PROCESSES = 11, 1
    _MOST = 1 << 15

    def __init__(self) -> None:
        self.heard = False
        """Whether anything has come: in a container it may be that nothing ever does."""
        self.parents: dict[int, int] = {}
        """Which process has started which: the latest of them."""
        self._socket: socket.socket | None = None
        try:
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, self._CONNECTOR)
            self._socket.bind((0, self._PROCESSES))
            self._socket.setblocking(False)
            self._socket.send(self._LISTEN)
        except OSError:
            self.close()

    def close(self) -> None:
        """Listen no more."""
        if self._socket:
            self._socket.close()
        self._socket = None

    def wait(self, wake: int, seconds: float) -> bool:
        """Wait for a thread that comes, for bytes in the pipe `wake`, or for the time to end.

        Returns bool: Whether something has come.
        """
        with selectors.DefaultSelector() as all_:
            all_.register(wake, selectors.EVENT_READ)
            if self._socket:
                all_.register(self._socket, selectors.EVENT_READ)
            all_.select(seconds)
        return self.drain()

    def _keep(self, parent: int, child: int) -> None:
        if parent != child:  # Else it is a thread.
            self.parents.pop(child, None)
            self.parents[child] = parent
            if len(self.parents) > self._MOST:
                del self.parents[next(iter(self.parents))]

    def drain(self) -> bool:
        """Return whether something has come since the last call."""
        found = False
        while self._socket:
            try:
                data = self._socket.recv(4096)
                what = struct.unpack_from("=I", data, 36)[0]
                if what == self._FORK:
                    parent, _, child = struct.unpack_from("=III", data, 56)
                    self._keep(parent, child)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    self.close()
                what = self._FORK  # Too many to be told of.
            except struct.error:
                continue
            self.heard = True
            found = found or what in (self._FORK, self._EXEC, self._COMM)
        return found


def throttles(proc: Path) -> bool:
    """Return whether the kernel leaves time to others beside real-time threads, or is unknown."""
    try:
        runtime, period = (
            int(proc_text(f"{proc}/sys/kernel/sched_rt_{name}_us"))
            for name in ("runtime", "period")
        )
    except (OSError, ValueError):
        return True
    return 0 <= runtime < period


def without_guard(proc: Path, process: int) -> bool:
    """Return whether nothing stops a fifo or rr thread of the process that never sleeps.

    The kernel does if it throttles them all, or if the process has a limit (RLIMIT_RTTIME).
    """
    return not throttles(proc) and limit_of(proc, process, "realtime timeout") is None


def urgent_threads(proc: Path) -> Iterator[Target]:
    """Yield all fifo and rr threads that run or wait for a CPU."""
    for name in filter(str.isdecimal, os.listdir(proc)):  # noqa: PTH208
        try:
            program = stat_of(f"{proc}/{name}")[0]
            for number in os.listdir(f"{proc}/{name}/task"):  # noqa: PTH208
                comm, fields = stat_of(f"{proc}/{name}/task/{number}")
                if fields[STATE] == "R" and fields[POLICY] in ("1", "2"):
                    born = int(fields[BORN])
                    yield Target(int(name), int(number), born, printable(comm), printable(program))
        except (OSError, ValueError, IndexError):
            continue  # It has ended.


def limit_of(proc: Path, process: int, name: str) -> int | None:
    """Return a limit of a process, as /proc calls it; None: unlimited or unknown."""
    try:
        found = re.search(rf"^Max {name}\s+(\d+)", proc_text(f"{proc}/{process}/limits"), re.M)
    except OSError:
        return None
    return int(found[1]) if found else None


class Sleepless:
    """Finds threads that have not slept between two looks: always ready, never having waited."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._before: dict[Target, Thread] = {}

    def look(self, targets: Iterable[Target]) -> list[Target]:
        """Return those of these threads that have not slept since the look before."""
        now = {}
        for target in targets:
            folder = f"{self._proc}/{target.process}/task/{target.number}"
            thread = thread_of(folder, target.number)
            if thread and thread.born == target.born:
                now[target] = thread
        found = [
            target
            for target, thread in now.items()
            if (before := self._before.get(target))
            and before.state == thread.state == "R"
            and before.slept == thread.slept
        ]
        self._before = now
        return found


def take_every_cpu(
    threads: Sequence[Target], cpus_of: Mapping[Target, frozenset[int]], cpus: frozenset[int]
) -> bool:
    """Return whether threads that never sleep can run on every CPU at once.

    That is a matching of all CPUs: each gets a thread of its own that may run there.
    """
    cpu_of: dict[Target, int] = {}

    def place(cpu: int, tried: set[Target]) -> bool:
        for thread in threads:
            if cpu in cpus_of[thread] and thread not in tried:
                tried.add(thread)
                if thread not in cpu_of or place(cpu_of[thread], tried):
                    cpu_of[thread] = cpu
                    return True
        return False

    return len(threads) >= len(cpus) and all(place(cpu, set()) for cpu in sorted(cpus))
