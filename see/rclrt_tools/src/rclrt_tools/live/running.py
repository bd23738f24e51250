# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Something for each live trace, as long as its program runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from rclrt_tools.live.files import has_owner, live_files, reason
from rclrt_tools.trace.layout import TraceError

LOOKS_S = 0.2
"""How often it looks for new programs, and for those that have ended."""


class OfProcess(Protocol):
    """Whatever is made of a live trace."""

    def runs(self) -> bool | None:
        """Return whether its program still runs; None: elsewhere."""


One = TypeVar("One", bound=OfProcess)


class Running(Generic[One]):
    """Looks for live traces, and forgets those whose programs have ended.

    Parameters
    ----------
    begin
        Makes something of a file, or None if it is not wanted. What it raises of TraceError and
        OSError is told.
    end
        Gets it back when the program has ended, or with the reason when it cannot go on.
    """

    def __init__(
        self,
        begin: Callable[[Path], One | None],
        end: Callable[[One, str], None],
        tell: Callable[[str], None],
        places: list[Path] | None = None,
    ) -> None:
        self.all: dict[Path, One] = {}
        self._begin = begin
        self._end = end
        self._tell = tell
        self._places = places
        self._refused: set[Path] = set()
        self._next_look = 0.0

    def look(self) -> bool:
        """Look, if it is time to; return whether it was."""
        if time.monotonic() < self._next_look:
            return False
        self._next_look = time.monotonic() + LOOKS_S
        there = set(live_files(self._places))
        self._refused &= there
        for path in sorted(there - self.all.keys() - self._refused):
            try:
                one = self._begin(path)
            except FileNotFoundError:  # Its program has ended since the look.
                continue
            except (TraceError, OSError) as error:
                if isinstance(error, OSError) or has_owner(path):
                    self._tell(reason(error))
                one = None
            if one is None:
                self._refused.add(path)
            else:
                self.all[path] = one
        for path, one in list(self.all.items()):
            if path not in there or one.runs() is False:
                self.end(path)
        return True

    def each(self, step: Callable[[One], None]) -> None:
        """Do this with each of them; of what raises TraceError or OSError that was the end."""
        for path, one in list(self.all.items()):
            try:
                step(one)
            except (TraceError, OSError) as error:
                self.end(path, reason(error))

    def end(self, path: Path, why: str = "") -> None:
        """Go on without this one."""
        self._refused.add(path)
        self._end(self.all.pop(path), why)

    def close(self) -> None:
        """End all of them."""
        for path in list(self.all):
            self.end(path)
