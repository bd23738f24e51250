# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs programs with the probe and without, and reads what it wrote."""

import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rclrt_tools.trace import Trace, layout, read_trace

HERE = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_probe"
LIBRARY = HERE / "librclrt_run.so"
PATIENCE_S = 100


@dataclass
class Seen:
    process: subprocess.CompletedProcess[str]
    traces: dict[str, Trace]

    @property
    def jobs(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for trace in self.traces.values():
            for key in trace.jobs["callback"].tolist():
                found[trace.callbacks[key].name] += 1
        return found

    @property
    def published(self) -> Counter[tuple[int, int]]:
        found: Counter[tuple[int, int]] = Counter()
        for trace in self.traces.values():
            records = trace.records[trace.records["outcome"] == layout.PUBLISHED]
            found.update(
                zip(records["publisher"].tolist(), records["message"].tolist(), strict=True)
            )
        return found

    def taken(self, name: str) -> Counter[tuple[int, int]]:
        """Messages that released jobs of a callback, by publisher and number."""
        found: Counter[tuple[int, int]] = Counter()
        for trace in self.traces.values():
            keys = [key for key, entry in trace.callbacks.items() if entry.name == name]
            for job in trace.jobs:
                if int(job["callback"]) in keys:
                    found[int(job["publisher"]), int(job["message"])] += 1
        return found

    def entry(self, name: str) -> layout.Entry:
        return next(e for t in self.traces.values() for e in t.callbacks.values() if e.name == name)

    def note(self, name: str) -> str:
        return next(
            trace.notes.get(key, "")
            for trace in self.traces.values()
            for key, entry in trace.callbacks.items()
            if entry.name == name
        )

    @property
    def missing(self) -> str:
        notes = [trace.notes.get(layout.NO_CALLBACK, "") for trace in self.traces.values()]
        return "\n".join(notes)


def run(
    command: list[str], folder: Path | None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run it; with the probe if there is a folder for traces."""
    environment = os.environ | variables
    if folder:
        environment |= {"LD_PRELOAD": str(LIBRARY), "RCLRT_PROBE_FOLDER": str(folder)}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def observe(command: list[str], folder: Path, **variables: str) -> Seen:
    """Run it with the probe, and read the traces of all of its processes."""
    process = run(command, folder, **variables)
    traces = {path.name: read_trace(path) for path in sorted(folder.glob("*.trace"))}
    return Seen(process, traces)
