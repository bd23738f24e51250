# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a callback of an executor is called in the model."""

from __future__ import annotations

import re

from rclrt_analysis.model import System
from rclrt_analysis.plan.parameters import FULL_NAME, entry_name


class Names:
    """Those of a system: as in a plan, a name may stand for all callbacks of one kind of a node."""

    def __init__(self, system: System) -> None:
        self._exact = frozenset(system.callback_of)
        self._nodes = [
            (_pattern(entry_name(callback)), callback.name)
            for callback in system.callbacks
            if not FULL_NAME.fullmatch(callback.name)
        ]
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        """Return its name in the model; as it is, if the model does not have it."""
        if name in self._exact or not self._nodes:
            return name
        found = self._known.get(name)
        if found is None:
            matches = (model for pattern, model in self._nodes if pattern.fullmatch(name))
            found = self._known[name] = next(matches, name)
        return found


def _pattern(entry: str) -> re.Pattern[str]:
    """Return what matches an entry of a parameters file: ** is any number of parts."""
    parts = [re.escape(part) for part in entry.split("/**/")]
    return re.compile("/(?:.*/)?".join(parts).removesuffix(re.escape("/**")) + "(?:/.*)?")
