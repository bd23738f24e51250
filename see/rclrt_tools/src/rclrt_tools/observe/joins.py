# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions of a node that wait for each other, as far as their records show it.

A record says which job has published, not which messages it had kept. But where a node publishes
once each of its inputs has come, its records look like that: of the jobs of these inputs those
publish, and only those, before which all others have come since the last time. An input that is
the last one each time looks as if it were alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rclrt_tools.observe.parts import Observed, Part
from rclrt_tools.trace import Records

MARK = "/subscription/"
LEAST = 3
"""Publications; fewer show nothing."""


@dataclass(frozen=True)
class Join:
    """Inputs of a node that wait for each other.

    inputs: Numbers of the callbacks in their part: those that were the last to come at times. One
        alone waits for none of the others, as far as anybody can see.
    perhaps: Inputs that have never published, and of which there was a message before each
        publication. Nobody can see whether they are waited for.
    work: The longest that all jobs from one publication to the next took together, ns.
    """

    node: str
    inputs: tuple[int, ...]
    perhaps: tuple[int, ...]
    work: int


def joins_of(part: Part) -> list[Join]:
    """Return what the records of an executor show."""
    nodes: dict[str, list[int]] = {}
    for id_ in part.ran:
        node, mark, _ = part.callbacks[id_].name.partition(MARK)
        if mark:
            nodes.setdefault(node, []).append(id_)
    found = []
    for node, ids in nodes.items():
        quiet = [id_ for id_ in ids if id_ not in part.published]
        for publisher, ours in _by_publisher(part, ids).items():
            jobs = _jobs(part, [*ours, *quiet], publisher)
            if join := _join(jobs, node, ours, quiet):
                found.append(join)
    used = [id_ for join in found for id_ in join.inputs]
    # What is in two of them is not understood.
    return [join for join in found if all(used.count(id_) == 1 for id_ in join.inputs)]


def _by_publisher(part: Part, ids: Sequence[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for id_ in ids:
        sent = part.published.get(id_)
        for publisher in np.unique(sent["publisher"]).tolist() if sent is not None else ():
            found.setdefault(publisher, []).append(id_)
    return found


Ran = tuple[int, int, int, bool]
"""Start, callback, execution time, whether it has published."""


def _jobs(part: Part, ids: Sequence[int], publisher: int) -> list[Ran]:
    found: list[Ran] = []
    for id_ in ids:
        jobs, sent = part.ran[id_], part.published.get(id_)
        published = np.zeros(len(jobs), dtype=np.bool_)
        if sent is not None:
            mine = sent["sequence"][sent["publisher"] == publisher]
            published = np.isin(jobs["sequence"], mine)
        took = _took(jobs)
        for start, cost, did in zip(
            jobs["start_ns"].tolist(), took.tolist(), published.tolist(), strict=True
        ):
            found.append((start, id_, cost, did))
    return sorted(found)


def _took(jobs: Records) -> np.ndarray[Any, Any]:
    known = jobs["cpu_ns"] >= 0
    return np.where(known, jobs["cpu_ns"], int(jobs["cpu_ns"][known].max(initial=0)))


def _join(jobs: Sequence[Ran], node: str, ours: list[int], quiet: list[int]) -> Join | None:
    """Return what those that publish wait for, or None if not for each other."""
    waited, perhaps = set(ours), set(quiet)
    since: set[int] = set()
    work = most = times = 0
    for _, id_, cost, published in jobs:
        since.add(id_)
        if id_ in quiet:
            continue
        work += cost
        if times and published != (waited <= since):
            return None
        if published:  # What was kept before the first one nobody knows.
            most, times, work = max(most, work), times + 1, 0
            perhaps &= since
            since = set()
    if times < LEAST or len(ours) + len(perhaps) < 2:
        return None
    return Join(node, tuple(sorted(ours)), tuple(sorted(perhaps)), most)


def merge(observed: Observed, name: str, members: Sequence[str], wcet: int) -> bool:
    """Make one callback of some: it works once all of their messages have come.

    Returns bool: False if these cannot be one: they differ in how they run, or something from
        outside of the model releases them, or a plan could not tell them from others.
    """
    callbacks = observed.content["callbacks"]
    found = [one for one in callbacks if one["name"] in members]
    others = [one for one in callbacks if one["name"] not in members]
    if len(found) < 2 or any("period_ms" in one for one in found):
        return False
    if any(one.get(key) != found[0].get(key) for one in found for key in ALIKE):
        return False
    if any(one["name"] == name or one["name"].startswith(name + MARK) for one in others):
        return False
    topics: dict[str, str] = {}  # By reader: the first of the topics that the inputs publish to it.
    for one in found:
        for topic in one.get("publishes", ()):
            topics.setdefault(topic.partition(" to ")[2], topic)
    gone = {topic for one in found for topic in one.get("publishes", ())} - set(topics.values())
    for other in others:
        if "triggers" in other:
            other["triggers"] = [topic for topic in other["triggers"] if topic not in gone]
    first = found[0]
    first |= {
        "name": name,
        "wcet_ms": wcet,
        "bcet_ms": 0,
        "triggers": [topic for one in found for topic in one["triggers"]],
        "activation": "all",
        "publishes": list(topics.values()),
    }
    if not any(one.get("group") == first.get("group") for one in others):
        first.pop("group", None)
    if not topics:
        del first["publishes"]
    for table in (observed.responses, observed.ways, observed.priorities):
        if known := [table.pop(member) for member in members if member in table]:
            table[name] = max(known)
    keep(observed, lambda one: one is first or one["name"] not in members)
    return True


ALIKE = ("executor", "priority", "group")


def keep(observed: Observed, wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Keep these callbacks of a model, with their remarks."""
    both = zip(observed.content["callbacks"], observed.remarks, strict=True)
    kept = [(callback, remark) for callback, remark in both if wanted(callback)]
    observed.content["callbacks"] = [callback for callback, _ in kept]
    observed.remarks[:] = [remark for _, remark in kept]


def join(observed: Observed, found: Join, names: Mapping[int, str]) -> None:
    """Put a join into the model, and remarks."""
    members = [names[id_] for id_ in found.inputs]
    said = {names[id_]: MAYBE.format(found.node) for id_ in found.perhaps}
    if len(members) > 1 and merge(observed, found.node, members, found.work):
        said[found.node] = ", and works once all of its messages have come"
    for i, one in enumerate(observed.content["callbacks"]):
        observed.remarks[i] += said.get(one["name"], "")


MAYBE = (
    ", none published; if '{}' waits for it, make one callback of its inputs, with activation: all"
)
