# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Chains of a contract of play_launch (ros-launch-manifest), as chains by topics.

A contract's chain is made of paths of nodes and topics between them. Here it is those topics and
what its last path sends out. What else is in a contract is about nodes and processes: it is listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rclrt_analysis.model import System
from rclrt_analysis.model.document import Document, Place

from rclrt_tools.convert.imported import MOST_MS, Imported, fit, items, mapping, wrong

SEMANTICS = {"reaction": "reaction", "age": "age"}
UNITS = {"": 1.0, "ms": 1.0, "s": 1000.0, "us": 0.001, "ns": 0.000001}
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(ns|us|ms|s)?")
ELSEWHERE = "about nodes and processes, not chains: put what it says into callbacks"


def from_contract(document: Document, system: System | None = None) -> Imported:
    """Return the chains of a contract.

    Parameters
    ----------
    system
        If given, chains whose last path sends nothing end with the callback that takes the last
        topic; without it that callback is left out.

    Raises
    ------
    ModelError
        It has no chains, or not their form.
    """
    imported = Imported(document)
    content = mapping(document, document.content, ())
    known = {"chains": "", "version": "", "topics": "", "nodes": ELSEWHERE}
    imported.leave_out_others(content, (), known)
    if content.get("version", 1) != 1:
        imported.leave_out(("version",), "this program knows version 1")
    chains = mapping(document, content.get("chains"), ("chains",))
    made = []
    for name, chain in chains.items():
        place: Place = ("chains", name)
        one = _chain(imported, content, mapping(document, chain, place), place, system)
        if one is not None:
            made.append({"name": fit(name, 200), **one})
    imported.content = {"chains": made}
    return imported


def _chain(
    imported: Imported, content: dict[str, Any], chain: dict[str, Any], place: Place,
    system: System | None,
) -> dict[str, Any] | None:  # fmt: skip
    document = imported.document
    known = ("semantics", "segments", "max_latency", "max_latency_ms")
    imported.leave_out_others(chain, place, dict.fromkeys(known, ""))
    semantics = chain.get("semantics", "reaction")
    if not isinstance(semantics, str) or semantics not in SEMANTICS:
        imported.leave_out((*place, "semantics"), f"'{semantics}' is not known here: left out")
        return None
    topics: list[str] = []
    last: dict[str, Any] = {}
    for at, segment in items(document, chain, place, "segments"):
        imported.leave_out_others(segment, at, {"scope": "", "path": "", "via": ""})
        if "via" in segment:
            topics.append(fit(str(segment["via"])))
        last = segment
    end = _sent(imported, content, last, (*place, "segments"), topics, system)
    deadline = span(document, chain, place, "max_latency") or span(
        document, chain, place, "max_latency_ms"
    )
    made: dict[str, Any] = {"topics": topics + end} if topics + end else {}
    if isinstance(end, _Takers):
        made = {"callbacks": list(end.way)}
    if not made:
        imported.leave_out(place, "it has no topics")
        return None
    made["semantics"] = SEMANTICS[semantics]
    if deadline is not None and deadline > MOST_MS:
        imported.leave_out(
            (*place, "max_latency"), "longer than an hour: the chain has no deadline"
        )
    elif deadline is not None:
        made["deadline_ms"] = deadline
    return made


class _Takers(list[str]):
    """No topic, but the callbacks of the whole chain."""

    way: Sequence[str] = ()


def _sent(
    imported: Imported, content: dict[str, Any], last: dict[str, Any], place: Place,
    topics: list[str], system: System | None,
) -> list[str]:  # fmt: skip
    """Return the topic that the last path of a chain sends, or its callbacks."""
    document = imported.document
    if "path" not in last:
        return []
    found = []
    for node, about in mapping(document, content.get("nodes", {}), ("nodes",)).items():
        paths = mapping(document, about, ("nodes", node)).get("paths", {})
        one = paths.get(str(last["path"])) if isinstance(paths, dict) else None
        if isinstance(one, dict) and isinstance(one.get("output"), list):
            found += [(node, str(name)) for name in one["output"]]
    if len(found) == 1:
        return [fit(_topic(content, *found[0], str(last.get("scope", "/"))))]
    text = "nobody knows what it sends" if not found else "it sends several topics"
    if system is not None and topics:
        takers = [c.name for c in system.callbacks if topics[-1] in c.triggers]
        if len(takers) == 1:
            result = _Takers()
            way = _callbacks(system, topics)
            if way:
                result.way = [*way, takers[0]]
                return result
    imported.leave_out(
        place, f"its last path '{last['path']}': {text}, so the chain ends before it"
    )
    return []


def _callbacks(system: System, topics: Sequence[str]) -> list[str]:
    from rclrt_analysis.model.chains import by_topics

    way, problems = by_topics(system, topics, ())
    return [] if problems else list(way)


def _topic(content: dict[str, Any], node: str, endpoint: str, scope: str) -> str:
    """Return the topic of a node's endpoint: what `topics` says, else its name in the scope."""
    declared = content.get("topics")
    for topic, about in (declared if isinstance(declared, dict) else {}).items():
        senders = about.get("pub") if isinstance(about, dict) else None
        if isinstance(senders, list) and f"{node}/{endpoint}" in senders:
            return str(topic)
    return endpoint if endpoint.startswith("/") else f"{scope.rstrip('/')}/{endpoint}"


def span(document: Document, item: dict[str, Any], place: Place, key: str) -> float | None:
    """Return a time in ms: a number of ms, or with its unit.

    Raises
    ------
    ModelError
        It is neither.
    """
    value = item.get(key)
    if value is None:
        return None
    found = _SPAN.fullmatch(str(value))
    if found is None or isinstance(value, bool):
        raise wrong(document, (*place, key), f"'{str(value)[:40]}' is no time such as 60 or 60ms")
    ms = round(float(found[1]) * UNITS[found[2] or ""], 6)  # Whole ns.
    if ms <= 0:
        raise wrong(document, (*place, key), "must be above 0")
    return int(ms) if ms == int(ms) else ms
