# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The model as YAML, after its bounds were held against what was seen."""

from pathlib import Path
from typing import Any

import yaml
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import ModelError, in_ms
from rclrt_analysis.model.document import parse_document
from rclrt_analysis.model.read import build_system

from rclrt_tools.observe.parts import Observed

MOST_REASONS = 50
MOST_TEXT = 900
MOST_NAMED = 20


TAKEN = (
    "# stolen_ms is half as much again as what was taken from jobs that were there, by what is no",
    "# job: threads of the middleware and of timers, interrupts, the host of a virtual machine.",
)
WAITED = (
    "# 99 % of jobs were ready for dispatch_ms at most while nothing ran; the longest time of a",
    "# callback is part of its jitter_ms, or of its wcet_ms if messages of the model release it.",
)


def check(observed: Observed, schema: Path) -> None:
    """Add to the model why it proves nothing, if a job took longer than its bounds allow."""
    content = observed.content
    reasons: list[str] = content["no_verdict"]
    if not reasons:
        try:
            system = build_system(parse_document(to_yaml(observed), "the model"), schema)
        except ModelError as error:
            reasons.append(f"it contradicts itself: {error.problems[0]}")
        else:
            reasons += _exceeded(observed, analyse(system).callbacks)
    if not reasons:
        del content["no_verdict"]


def _exceeded(observed: Observed, bounds: Any) -> list[str]:
    return [
        f"a job of '{bound.name}' took {in_ms(observed.responses[bound.name])} ms, its bound would "
        f"be {in_ms(bound.bound)} ms: something ran, or waited, that is not in the trace"
        for bound in bounds
        if bound.bound is not None and observed.responses.get(bound.name, 0) > bound.bound
    ]


def to_yaml(observed: Observed) -> str:
    """Return the model as a file."""
    content = observed.content
    lines = [
        "# OBSERVED, NOT GUARANTEED: wcet_ms is the longest execution in a trace, which is no",
        "# worst case; releases from outside come no closer than seen.",
        *(TAKEN if "stolen_ms" in content["overheads"] else WAITED),
        f"# {observed.jobs} jobs.",
    ]
    if observed.silent:
        more = len(observed.silent) - MOST_NAMED
        names = ", ".join(ascii(name) for name in observed.silent[:MOST_NAMED])
        lines.append(f"# Not in here, because no job of them ran: {names}")
        lines[-1] += f" and {more} more" if more > 0 else ""
    lines += ["schema: 1", f"name: {_text(content['name'])}"]
    reasons = content.get("no_verdict")
    if reasons:
        lines.append("no_verdict:  # analyze gives none while this stands here")
        lines += [f"  - {_text(reason[:MOST_TEXT])}" for reason in reasons[:MOST_REASONS]]
    if content["overheads"]:
        lines.append(f"overheads: {_flow(content['overheads'])}")
    measured = "{origin: measured, safety_factor: 1}"
    told = ", ".join(f"{field}: {measured}" for field in ("wcet_ms", "jitter_ms", "period_ms"))
    lines.append(f"assumptions: {{{told}}}  # raise the factors")
    if "cpus" in content:
        lines.append(f"cpus: {_value('', content['cpus'])}  # a plan may use these")
    lines.append("executors:")
    lines += [f"  - {_flow(executor)}" for executor in content["executors"]]
    lines.append("callbacks:")
    for callback, remark in zip(content["callbacks"], observed.remarks, strict=True):
        name, *others = callback.items()
        lines.append(f"  - name: {_value(*name)}  # {remark}")
        lines += [f"    {key}: {_value(key, value)}" for key, value in others]
    return "\n".join(lines) + "\n"


def _flow(item: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {_value(key, value)}" for key, value in item.items()) + "}"


def _value(key: str, value: Any) -> str:
    if isinstance(value, dict):
        return _flow(value)
    if key.endswith("_ms"):
        return in_ms(value)
    if isinstance(value, list):
        return "[" + ", ".join(_value("", item) for item in value) + "]"
    return _text(value) if key in ("", "name", "executor", "group", "measured") else str(value)


def _text(value: Any) -> str:
    """Return text in quotes, on one line; numbers as they are."""
    if isinstance(value, int):
        return str(value)
    return yaml.dump(value, default_style='"', width=2**20).strip()
