# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs `./rclrt apply`: as the user, with a helper that has the capability (helper.py)."""

import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from rclrt_analysis.model import ModelError
from rclrt_tools.apply.entries import INTERRUPTS, Entry, read_entries
from rclrt_tools.apply.held import StateError, Store, folder_for
from rclrt_tools.apply.helper import confine
from rclrt_tools.apply.keeper import Helper, Keeper
from rclrt_tools.apply.machine import Arrivals

PAUSE_S = 1.0
"""Never looks more often than that."""

QUIET_S = 10.0
"""Looks so often, at least, if the kernel tells of what comes."""

PROC = Path("/proc")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(path: Path, explain: bool, dry_run: bool, allow_starving: bool, proc: Path = PROC) -> int:
    """Apply the file until a signal comes; return the exit status."""
    try:
        entries, notes = read_entries(path)
    except ModelError as error:
        _tell(str(error))
        return 2
    for note in notes:
        _tell(note)
    if not entries:
        _tell(f"{path}: it has no non_ros_threads, kernel_threads or irqs: there is nothing to do")
        if not dry_run:  # but what a run that was killed has left
            with suppress(StateError, OSError):
                _apply([], explain, allow_starving, proc)
        return 2
    if dry_run:
        keeper = Keeper(entries, None, None, _tell, print, proc, allow_starving=allow_starving)
        keeper.sweep()
        for text in keeper.unmatched():
            _tell(text)
        return 0
    try:
        return _apply(entries, explain, allow_starving, proc)
    except (StateError, OSError) as error:
        _tell(str(error))
        return 1


def _caller() -> tuple[int, int] | tuple[None, None]:
    """Return the user that has called sudo, whose rights are enough for all but the changes."""
    names = [os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID")]
    if os.geteuid() != 0 or not all(name.isdecimal() and int(name) for name in names):
        return None, None
    return int(names[0]), int(names[1])


def _apply(entries: list[Entry], explain: bool, allow_starving: bool, proc: Path) -> int:
    store = Store(folder_for(os.geteuid()))
    arrivals = Arrivals()
    user, group = _caller()
    is_root = not entries or any(entry.section == INTERRUPTS for entry in entries)
    helper = Helper(proc, *((None, None) if is_root else (user, group)))
    confine(0, user, group)
    arrivals.drain()  # That the helper has come is the first thing to be told of.
    keeper = Keeper(
        entries,
        store,
        helper.ask,
        _tell,
        print if explain else lambda _: None,
        proc,
        helper.capable,
        allow_starving,
        ours=(os.getpid(), helper.number),
        parents=arrivals.parents,
    )
    wake, end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(end)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    held, wrong = store.read()
    if wrong:
        _tell(wrong)
    try:
        keeper.take_over(held)
        if not entries:
            return 0
        keeper.sweep()
        _tell(_summary(keeper, arrivals.heard))
        _follow(keeper, arrivals, wake)
    finally:
        arrivals.drain()
        keeper.give_back()
        helper.close()
    return 0


def _summary(keeper: Keeper, is_told: bool) -> str:
    threads = [one for one in keeper.held if not one.is_interrupt]
    processes = len({one.process for one in threads})
    lacking = f", but for {keeper.lacking} that were refused something" * bool(keeper.lacking)
    lines = [
        f"{len(threads)} threads of {processes} processes and {len(keeper.held) - len(threads)} "
        f"interrupts are as the file says{lacking}; what they had comes back at the end (Ctrl-C)",
        *keeper.unmatched(),
    ]
    if not is_told:
        lines.append("the kernel does not tell this user of new threads: looks once a second")
    return "\n".join(lines)


def _follow(keeper: Keeper, arrivals: Arrivals, wake: int) -> None:
    """Sweep when something comes, until a signal does."""
    swept, has_come = time.monotonic(), False
    while True:
        often = has_come or keeper.watches or not arrivals.heard
        left = swept + (PAUSE_S if often else QUIET_S) - time.monotonic()
        if left <= 0:
            arrivals.drain()
            keeper.sweep()
            sys.stdout.flush()
            swept, has_come = time.monotonic(), False
        elif has_come:  # What else comes until then is seen by the same sweep.
            select.select([wake], [], [], left)
        else:
            has_come = arrivals.wait(wake, left)
        with suppress(BlockingIOError):
            os.read(wake, 64)
            return
