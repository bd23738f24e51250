# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What was changed, and what was there before: in memory, and in files for the case of a kill.

They are written before anything is changed, in a folder of the user that does not outlive the
machine's run. `Store.read` takes nothing of them for granted.
"""

import errno
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rclrt_tools.apply.parts import KINDS, Parts, Target, from_json, to_json, whole
from rclrt_tools.live.files import printable
from rclrt_tools.places import me

NAMES = ("held.0", "held.1")
MOST_BYTES = 1 << 24
BOOT = Path("/proc/sys/kernel/random/boot_id")


class StateError(Exception):
    """Nothing can be written down, so nothing may be changed. The text has the remedy."""


@dataclass
class Held:
    """A thread or an interrupt that was changed.

    since: When, in ticks of the kernel: threads that begin later may have inherited it.
    before, given: The parts that were changed, as they were, and as they are now.
    """

    target: Target
    since: int
    before: Parts
    given: Parts


def folder_for(user: int) -> Path:
    """Return where the file of a user is to lie, and make that folder.

    Raises StateError: There is no such place.
    """
    if user == 0:
        place = Path("/run/rclrt-apply")
    else:
        place = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}") / "rclrt-apply"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        return _checked(place, user)
    except OSError as error:
        text = f"{place}: {error.strerror}. Name a folder that is yours alone in XDG_RUNTIME_DIR"
        raise StateError(text) from error


def _checked(place: Path, user: int) -> Path:
    found = place.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o022:
        raise OSError(0, "others may write there, or it is no folder")
    return place


class Store:
    """Two files, of which the newer whole one counts, so that a write never spoils what was there.

    They are opened once. With root's rights given up after that, only root can have written them.
    One process at a time has them.

    Raises StateError: Another process has them, or they cannot be had; the text says what helps.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._streams: list[int] = []
        self._number = 0
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            for name in NAMES:
                self._streams.append(os.open(folder / name, flags, 0o600))
                found = os.fstat(self._streams[-1])
                if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                    raise OSError(0, f"{name} is no file of this user: remove it")
            fcntl.flock(self._streams[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            if isinstance(error, BlockingIOError):
                text = f"another {me()} apply of this user runs: end that first"
                raise StateError(text) from error
            raise StateError(f"{folder}: {error.strerror}") from error

    def write(self, held: Iterable[Held]) -> None:
        """Write down all of these, instead of what was there.

        Raises StateError: They cannot be written.
        """
        items = [
            {
                "target": asdict(one.target),
                "since": one.since,
                "before": to_json(one.before),
                "given": to_json(one.given),
            }
            for one in held
        ]
        self._number += 1
        said = {"schema": 1, "number": self._number, "boot": _boot(), "held": items}
        data = json.dumps(said).encode()
        data = hashlib.sha256(data).hexdigest().encode() + b" " + data
        stream = self._streams[self._number % 2]
        try:
            os.ftruncate(stream, 0)
            if os.pwrite(stream, data, 0) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            text = f"{self.folder}: {error.strerror}: what was there before cannot be written down"
            raise StateError(f"{text}, so nothing is changed. Make room there") from error

    def read(self) -> tuple[list[Held], str]:
        """Return what an earlier process has left, and what is wrong with that.

        Of a file that is not as `write` makes it nothing is used.
        """
        newest: dict[str, Any] = {}
        wrong = ""
        for name, stream in zip(NAMES, self._streams, strict=True):
            data = os.pread(stream, MOST_BYTES + 1, 0)
            try:
                if not data:
                    continue
                digest, _, text = data.partition(b" ")
                if hashlib.sha256(text).hexdigest().encode() != digest:
                    raise ValueError("it is cut short, or was changed")
                said = json.loads(text)
                if whole(said["number"], "number") >= newest.get("number", 0):
                    newest = {**said, "all": [_held(item) for item in said["held"]]}
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                why = printable(str(error))[:120]
                wrong = f"{self.folder / name} is damaged ({why}): nothing of it is given back"
        self._number = newest.get("number", 0)
        return (newest["all"] if newest.get("boot") == _boot() else []), wrong

    def close(self) -> None:
        """Let others have them."""
        for stream in self._streams:
            os.close(stream)
        self._streams.clear()


def _boot() -> str:
    return BOOT.read_text(encoding="ascii").strip() if BOOT.exists() else ""


def _held(item: dict[str, Any]) -> Held:
    said = item["target"]
    numbers = [whole(said[key], key) for key in ("process", "number", "born", "parent")]
    if min(numbers) < 0 or max(numbers) >= 1 << 63:
        raise ValueError("a number that no thread has")
    process, number, born, parent = numbers
    names = [printable(str(said[key]))[:200] for key in ("name", "program")]
    target = Target(process, number, born, names[0], names[1], parent)
    before, given = from_json(item["before"]), from_json(item["given"])
    allowed = {"cpus"} if target.is_interrupt else KINDS.keys()
    if before.keys() != given.keys() or not before.keys() <= allowed:
        raise ValueError("parts that do not belong together")
    return Held(target, whole(item["since"], "since"), before, given)
