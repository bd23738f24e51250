# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Models of observed scenarios, with what a user adds to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclrt_analysis.observe.advice import opened
from rclrt_analysis.observe.build import Observed
from rclrt_analysis.observe.text import to_yaml
from rclrt_analysis.trace import named_traces

SAFETY_FACTOR = 1.5
MEASURED = "wcet_ms: {origin: measured, safety_factor: 1}"


@dataclass(frozen=True)
class Chain:
    """A chain of a scenario: names of callbacks, and how long it may take."""

    name: str
    callbacks: tuple[str, ...]
    deadline_ms: float


def model_of(
    folder: Path,
    chains: Sequence[Chain],
    overheads: Mapping[str, Any],
    cpus: Sequence[int],
    *,
    fusions: Sequence[Mapping[str, Any]] = (),
    without: Sequence[str] = (),
    factor: float = SAFETY_FACTOR,
) -> str:
    """Return a model of the traces in a folder, open for a plan.

    Parameters
    ----------
    overheads
        As in a model, times in ns: what `./rclrt calibrate` has measured.
    fusions
        Nodes of the scenario that work when the last of their inputs has come.
    without
        Nodes that nothing is promised to.
    """
    observed = opened(named_traces([folder]))
    content = observed.content
    content["overheads"] = dict(overheads)
    content["cpus"] = list(cpus)
    for node in fusions:
        _either_may_be_last(content["callbacks"], node)
    _leave_out(observed, without)
    text = to_yaml(observed).replace(
        MEASURED, f"wcet_ms: {{origin: measured, safety_factor: {factor}}}"
    )
    return text + "".join(["chains:\n", *(_chain(chain) for chain in chains)]) * bool(chains)


def _chain(chain: Chain) -> str:
    names = ", ".join(f'"{name}"' for name in chain.callbacks)
    return (
        f"  - name: {chain.name}\n    callbacks: [{names}]\n    semantics: latency\n"
        f"    join: last\n    deadline_ms: {chain.deadline_ms:g}\n"
    )


def _either_may_be_last(callbacks: list[dict[str, Any]], node: Mapping[str, Any]) -> None:
    """Say that whichever input comes last does the work: a trace shows only which one did."""
    mine = {f"/{node['name']}/subscription/{name}" for name in node["inputs"]}
    found = [callback for callback in callbacks if callback["name"] in mine]
    topics = dict.fromkeys(topic for one in found for topic in one.get("publishes", ()))
    for one in found:
        one["wcet_ms"] = max(other["wcet_ms"] for other in found)
        one["bcet_ms"] = min(other["bcet_ms"] for other in found)
        if topics:
            one["publishes"] = list(topics)


def _leave_out(observed: Observed, nodes: Sequence[str]) -> None:
    kept = [
        (callback, remark)
        for callback, remark in zip(
            observed.content["callbacks"], observed.remarks, strict=True
        )
        if callback["name"].split("/")[1] not in nodes
    ]
    observed.content["callbacks"] = [callback for callback, _ in kept]
    observed.remarks[:] = [remark for _, remark in kept]
