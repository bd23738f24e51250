# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Models of observed scenarios, with what a user adds to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rclrt_tools.observe.advice import opened
from rclrt_tools.observe.joins import merge
from rclrt_tools.observe.parts import Observed
from rclrt_tools.observe.text import to_yaml
from rclrt_tools.trace import Trace, layout, named_traces

SAFETY_FACTOR = 1.5
MARGIN_NS = 50_000
"""Added to each execution time: where that is short, the next run has colder caches."""
MEASURED = "wcet_ms: {origin: measured, safety_factor: 1}"


@dataclass(frozen=True)
class Chain:
    """A chain of a scenario: names of callbacks, and how long it may take."""

    name: str
    callbacks: tuple[str, ...]
    deadline_ms: float
    silent_after_ms: float | None = None


def model_of(
    folder: Path,
    chains: Sequence[Chain],
    overheads: Mapping[str, Any],
    cpus: Sequence[int],
    *,
    fusions: Sequence[Mapping[str, Any]] = (),
    factor: float = SAFETY_FACTOR,
) -> str:
    """Return a model of the traces in a folder, open for a plan.

    overheads: As in a model, times in ns: what `./rclrt model calibrate` has measured.
    fusions: Nodes of the scenario that work when the last of their inputs has come.
    """
    observed = opened(traces_of(folder), overheads)
    content = observed.content
    content["cpus"] = list(cpus)
    for node in fusions:
        _joined(observed, node)
    for callback in content["callbacks"]:
        callback["wcet_ms"] += MARGIN_NS
        if "period_ms" in callback:  # Where nothing was measured, it is how long the job was there.
            most = int(callback["period_ms"] / factor)
            callback["wcet_ms"] = min(callback["wcet_ms"], most)
            callback["bcet_ms"] = min(callback["bcet_ms"], most)
    text = to_yaml(observed).replace(
        MEASURED, f"wcet_ms: {{origin: measured, safety_factor: {factor}}}"
    )
    return text + "".join(["chains:\n", *(_chain(chain) for chain in chains)]) * bool(chains)


def traces_of(folder: Path) -> list[tuple[str, Trace]]:
    """Return the traces in a folder, without execution times that one job alone had."""
    return [(name, _without_outliers(trace)) for name, trace in named_traces([folder])]


OUTLIER = 2.0
FEW = 5


def _without_outliers(trace: Trace) -> Trace:
    """Return a trace without such times.

    A virtual machine's host may take the CPU away, and the kernel counts that as the job's. So the
    longest time counts as the next one if it is more than twice as long.
    """
    records = trace.records.copy()
    ran = records["outcome"] <= layout.EXCEPTION
    for number in np.unique(records["callback"][ran]).tolist():
        mine = np.flatnonzero(ran & (records["callback"] == number))
        longest = mine[np.argsort(records["cpu_ns"][mine])]
        if len(longest) < FEW:
            continue
        before, last = records["cpu_ns"][longest[-2:]].tolist()
        if last > OUTLIER * before and last > MOST_STORE:
            records["cpu_ns"][longest[-1]] = before
    return replace(trace, records=records)


MOST_STORE = 1_000_000
"""No shorter time is an outlier, ns."""


def _chain(chain: Chain) -> str:
    names = ", ".join(f'"{name}"' for name in chain.callbacks)
    silent = chain.silent_after_ms
    return (
        f"  - name: {chain.name}\n    callbacks: [{names}]\n    semantics: latency\n"
        f"    join: last\n    deadline_ms: {chain.deadline_ms:g}\n"
        + ("" if silent is None else f"    silent_after_ms: {silent:g}\n")
    )


STORES = 3
STORE_NS = 200_000
"""What a fusion's inputs that do not come last cost: so many of them for each time it works."""


def _joined(observed: Observed, node: Mapping[str, Any]) -> None:
    """Make one callback of a fusion's inputs, if the records have not shown that they are one.

    Where the same input is always the last, they show nothing.
    """
    name = f"/{node['name']}"
    mine = [f"{name}/subscription/{one}" for one in node["inputs"]]
    work = [one["wcet_ms"] for one in observed.content["callbacks"] if one["name"] in mine]
    if work:
        merge(observed, name, mine, max(work) + STORES * STORE_NS)
