# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The chains of a model for views of what runs: a watch that goes on beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rclrt_analysis.model import System

from rclrt_tools.watch.sources import Live
from rclrt_tools.watch.watch import Watch


class ChainsBeside:
    """Holds what runs against a model; what `rclrt_tools.live.watch.Chains` asks for."""

    def __init__(
        self, system: System, programs: Sequence[str], places: list[Path] | None = None
    ) -> None:
        self._watch = Watch(system)
        self._live = Live(self._watch, list(programs), places)

    def step(self) -> None:
        """Take what is new."""
        self._live.step()
        self._live.said.clear()  # The processes are shown anyway.

    def close(self) -> None:
        """Close all files."""
        self._live.close()

    def rows(self) -> list[dict[str, Any]]:
        """Return all chains, as `./rclrt watch --json` does."""
        rows: list[dict[str, Any]] = self._watch.to_json()["chains"]
        return rows

    def broken(self) -> list[tuple[str, str, int]]:
        """Return what is not as in the model: callback, text, how often."""
        content = self._watch.to_json()["broken_assumptions"]
        return [(one["callback"], one["text"], one["times"]) for one in content]
