# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What is converted is read as `analyze` reads it, before it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rclrt_analysis.model import ModelError, System
from rclrt_analysis.model.chains import make_chain
from rclrt_analysis.model.document import parse_document
from rclrt_analysis.model.read import build_system

from rclrt_tools.convert.imported import Imported, to_yaml

_OTHERS: dict[str, Any] = {
    "schema": 1,
    "name": "others",
    "executors": [{"name": "e", "kind": "events_fifo"}],
    "callbacks": [
        {"name": "c", "kind": "timer", "period_ms": 1, "wcet_ms": 0, "executor": "e"},
    ],
}
"""A model around chains whose own one is not there."""


def check(imported: Imported, schema: Path, system: System | None = None) -> None:
    """Keep what a model can have; chains that it cannot become drafts.

    Parameters
    ----------
    system
        That the chains are for. If it is None, the content itself may be one.

    Raises
    ------
    ModelError
        What is left is no model.
    """
    chains = imported.content.pop("chains", [])
    if "callbacks" in imported.content:
        system = _read(imported.content, imported, schema)
    kept: list[dict[str, Any]] = []
    for chain in chains:
        why = _wrong(chain, {one["name"] for one in kept}, imported, schema, system)
        if why:
            imported.drafts.append((chain, why))
        else:
            kept.append(chain)
    if kept:
        imported.content["chains"] = kept


def _read(content: dict[str, Any], imported: Imported, schema: Path) -> System:
    text = to_yaml(Imported(imported.document, content))
    return build_system(parse_document(text, "what is made of it"), schema)


def _wrong(
    chain: dict[str, Any], names: set[str], imported: Imported, schema: Path, system: System | None
) -> str:
    if chain["name"] in names:
        return "another chain has its name"
    if not chain.get("callbacks", chain.get("topics")):
        return "it has no callbacks"
    try:
        _read({**_OTHERS, "chains": [chain]}, imported, schema)
    except ModelError as error:
        problem = error.problems[0].partition(": ")[2]
        if "there is no callback" not in problem and "nobody publishes" not in problem:
            return problem
    if system is None:
        return ""
    _, problems = make_chain(chain, (), system, lambda item, _, key: item.get(key))
    return problems[0][1] if problems else ""
