# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""One number for each callback of all sources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rclrt_tools.views.timeline import Source

Ints = npt.NDArray[np.int64]


class Numbers:
    """Callbacks, numbered from 0: by source, then by id.

    Attributes
    ----------
    callbacks
        The source and the id of each.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._ids = [np.array(sorted(source.callbacks), dtype=np.int64) for source in sources]
        self._first = np.cumsum([0, *(len(ids) for ids in self._ids)])
        self.callbacks = [(number, int(id_)) for number, ids in enumerate(self._ids) for id_ in ids]

    def index(self, source: Ints, callback: npt.NDArray[np.uint32]) -> Ints:
        """Return the number of each pair, -1 for what no source has."""
        found = np.full(len(source), -1, dtype=np.int64)
        for number in np.unique(source).tolist():
            mine = source == number
            ids = self._ids[number]
            wanted = callback[mine].astype(np.int64)
            place = np.minimum(np.searchsorted(ids, wanted), max(0, len(ids) - 1))
            there = ids[place] == wanted if len(ids) else np.zeros(len(wanted), np.bool_)
            found[mine] = np.where(there, place + self._first[number], -1)
        return found
