# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A callback that waits for several inputs: which of its jobs had all of them.

In records each input has jobs of its own. Those that only keep their message for later bring out
nothing; the one with which the last input comes works with all that was kept.
"""

from __future__ import annotations

from rclrt_tools.watch.feed import Job

FEW = 8
"""With so many inputs or less it is found out what was kept before the first record."""


class JoinWatch:
    """The jobs of one join.

    Parameters
    ----------
    inputs
        How many there are.
    whole
        Whether its first job is its first one: nothing was kept before.

    Notes
    -----
    What was kept before the first record is found out from what follows. Until that is known, a job
    brings out the messages of the round before: by then these have surely come out.
    """

    def __init__(self, inputs: int, whole: bool = True) -> None:
        self._every = inputs
        self._number: dict[str, int] = {}
        self._kept: dict[str, Job] = {}
        self._newest: dict[str, Job] = {}
        self._before: tuple[Job, ...] = ()
        self._publishes = False
        # Each is what may be kept, as bits of inputs. Empty: nobody knows.
        self._possible = {0}
        if not whole:
            self._possible = set(range((1 << inputs) - 1)) if inputs <= FEW else set()

    @property
    def is_known(self) -> bool:
        """Whether it is known which jobs work."""
        return len(self._possible) == 1 or self._publishes

    def add(self, job: Job, published: bool) -> tuple[Job, ...] | None:
        """Take the next job, by their ends.

        Returns
        -------
        tuple or None
            The newest job of each input, if all have come since the last time; None: it has only
            kept its message. Of a callback that was seen to publish, a job that has published
            nothing has only kept one as well, whatever has come.
        """
        self._newest[job.input] = job
        self._kept.pop(job.input, None)  # The newest is the last one.
        self._kept[job.input] = job
        self._publishes |= published
        if not self.is_known:
            self._find_out(job.input)
        if len(self._kept) < self._every or (self._publishes and not published):
            return None
        found = tuple(self._kept.values())
        self._kept.clear()
        if self.is_known:
            return found
        before, self._before = self._before, found
        return before or None

    def _find_out(self, name: str) -> None:
        """Note what may be kept, now that a message of this input has come."""
        bit = 1 << self._number.setdefault(name, len(self._number) % self._every)
        full = (1 << self._every) - 1
        self._possible = {0 if kept | bit == full else kept | bit for kept in self._possible}
        if len(self._possible) != 1:
            return
        (kept,) = self._possible
        is_kept = [n for n in self._newest if (kept or full) >> self._number[n] & 1]
        self._kept = {n: self._newest[n] for n in is_kept}
