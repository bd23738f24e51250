# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A reservation as a thread meets it: each period has its budget, at some place in it."""

from __future__ import annotations

import random

from rclrt_analysis.model import Reservation


class Supplied:
    """When a thread is given the processor; one piece in each period, as early, late or between."""

    def __init__(self, reservation: Reservation, rng: random.Random) -> None:
        self._budget = reservation.budget
        self._period = reservation.period
        self._random = rng
        self._shift = rng.randrange(reservation.period)
        self._starts: list[int] = []

    def _start(self, number: int) -> int:
        room = self._period - self._budget
        while len(self._starts) <= number:
            place = self._random.choice((0, room, self._random.randint(0, room)))
            self._starts.append(len(self._starts) * self._period + place - self._shift)
        return self._starts[number]

    def next(self, time: int) -> int:
        """Return the first instant from `time` on at which the thread has the processor."""
        number = (time + self._shift) // self._period
        start = self._start(number)
        if time >= start + self._budget:
            return self._start(number + 1)
        return max(time, start)

    def finish(self, time: int, work: int) -> int:
        """Return when so much work is done that begins at `time`."""
        while work > 0:
            time = self.next(time)
            end = self._start((time + self._shift) // self._period) + self._budget
            done = min(work, end - time)
            work -= done
            time += done
        return time
