# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a folder of traces holds: processes, callbacks, and what could not be seen."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rclrt_tools.places import me
from rclrt_tools.trace import TraceError, TraceReader, layout


@dataclass
class Process:
    """One process of a folder.

    callbacks: How many have run.
    missing: What could not be seen, in the words of the probe.
    """

    name: str
    files: int = 0
    executors: int = 0
    callbacks: int = 0
    jobs: int = 0
    publications: int = 0
    lost: int = 0
    missing: dict[str, None] = field(default_factory=dict)


def processes(folder: Path) -> list[Process]:
    """Return the processes whose traces are in the folder, by name."""
    found: dict[str, Process] = {}
    for path in sorted(folder.glob("*.trace")):
        name = path.name.partition(".")[0]
        process = found.setdefault(name, Process(name))
        process.files += 1
        try:
            with TraceReader(path) as reader:
                _add(process, reader)
        except TraceError as error:
            process.missing[str(error)] = None
    return [found[name] for name in sorted(found)]


def _add(process: Process, reader: TraceReader) -> None:
    process.executors += reader.header.executor > 0
    process.lost = max(process.lost, reader.dropped)
    ran: set[int] = set()
    for block in reader.blocks():
        jobs = block[block["outcome"] <= layout.EXCEPTION]
        process.jobs += len(jobs)
        process.publications += int((block["outcome"] == layout.PUBLISHED).sum())
        ran |= set(np.unique(jobs["callback"]).tolist())
    process.callbacks += len(ran)
    note = reader.notes.get(layout.NO_CALLBACK, "")
    process.missing |= dict.fromkeys(line for line in note.split("\n") if line)


def to_text(folder: Path, found: list[Process]) -> str:
    """Return the summary of a run."""
    if not found:
        return (
            f"\n{folder}: no trace. No process that the command has started ran a callback of "
            "ROS 2, or it was\nlinked statically, or runs as another user"
        )
    width = max(len(process.name) for process in found)
    lines = [
        "",
        f"{'process':{width}} executors callbacks     jobs publications     lost",
    ]
    for process in found:
        lines.append(
            f"{process.name:{width}} {process.executors:9} {process.callbacks:9} "
            f"{process.jobs:8} {process.publications:12} {process.lost:8}"
        )
    reasons: dict[str, list[str]] = {}
    for process in found:
        for reason in process.missing:
            reasons.setdefault(reason, []).append(process.name)
    lines += [f"not seen of {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    files = sum(process.files for process in found)
    lines += [
        f"{files} files of {len(found)} processes in {folder}",
        f"  {me()} trace info {folder}",
        f"  {me()} trace export --perfetto robot.pftrace {folder}",
        f"  {me()} trace advise {folder}",
    ]
    return "\n".join(lines)
