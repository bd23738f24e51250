# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Chains of a model: by callbacks, or by topics where these leave no choice."""

import difflib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rclrt_analysis.model.document import Place
from rclrt_analysis.model.system import Chain, Kind, System, in_ms

Problem = tuple[Place, str]

MAX_STEPS = 100_000
"""Callbacks that a search for the ways between two topics may visit."""


def make_chain(
    item: Mapping[str, Any],
    place: Place,
    system: System,
    ns: Callable[[Mapping[str, Any], Place, str], int | None],
) -> tuple[Chain, list[Problem]]:
    """Return the chain that an entry of a file describes, with what is wrong with its names."""
    problems: list[Problem] = []
    if "callbacks" in item:
        names = tuple(_input_of_join(system, name) for name in item["callbacks"])
        problems += _names(system, names, place)
    else:
        names, problems = by_topics(system, item["topics"], place)
    on_miss = item.get("on_miss", {})
    chain = Chain(
        item["name"],
        names,
        ns(item, place, "deadline_ms"),
        item.get("semantics", "reaction"),
        item.get("join", "wait"),
        on_miss.get("warn_after"),
        on_miss.get("error_after"),
        ns(item, place, "silent_after_ms"),
    )
    if not problems:
        problems += _way(system, chain.callbacks, place)
    if not problems:
        problems += _contract(system, chain, place)
    return chain, problems


def alike(name: str, names: Sequence[str]) -> str:
    """Return what may have been meant, as a sentence after an error; nothing if nobody knows."""
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f". Did you mean '{close[0]}'?" if close else ""


def _input_of_join(system: System, name: str) -> str:
    """Return the callback that waits for an input of this name and for others; else the name."""
    node, mark, _ = name.partition("/subscription/")
    join = system.callback_of.get(node) if mark and name not in system.callback_of else None
    return node if join is not None and join.wants_all else name


def _names(system: System, names: Sequence[str], place: Place) -> Iterator[Problem]:
    for i, name in enumerate(names):
        if name not in system.callback_of:
            text = f"there is no callback '{name}'"
            if "*" in name:
                text += ": a chain passes through callbacks, so patterns do not name them"
            yield (*place, "callbacks", i), text + alike(name, list(system.callback_of))
            return
        if name in names[:i]:
            text = f"'{name}' stands in this chain twice: a chain that comes back has no end"
            yield (*place, "callbacks", i), text
            return


def _way(system: System, names: Sequence[str], place: Place) -> Iterator[Problem]:
    for i, (first, second) in enumerate(itertools.pairwise(names)):
        published = set(system.callback_of[first].publishes)
        reader = system.callback_of[second]
        if not published & {*reader.triggers, *reader.reads}:
            text = f"nothing that '{first}' publishes reaches '{second}'"
            yield (
                (*place, "callbacks", i + 1),
                f"{text}. Add the topic to its triggers or reads, or mend the chain",
            )


def _contract(system: System, chain: Chain, place: Place) -> Iterator[Problem]:
    """Return what is said of misses, and cannot be meant."""
    first = system.callback_of[chain.callbacks[0]]
    if chain.join == "last" and chain.semantics != "latency":
        text = f"join: last leaves out data, so there is no {chain.semantics} of what is left out"
        yield (*place, "join"), f"{text}. Use semantics: latency, or join: wait"
    if chain.warn_after and chain.error_after and chain.warn_after > chain.error_after:
        yield (*place, "on_miss", "warn_after"), "warn_after exceeds error_after; swap them"
    if (chain.warn_after or chain.error_after) and not (chain.deadline or chain.silent_after):
        text = "nothing is a miss without deadline_ms or silent_after_ms. Add one of them"
        yield (*place, "on_miss"), text
    if chain.silent_after and chain.silent_after <= (first.period or 0):
        text = f"silent_after_ms {in_ms(chain.silent_after)}, but '{first.name}' is released every"
        text += f" {in_ms(first.period or 0)} ms: the chain would be silent all the time"
        yield (*place, "silent_after_ms"), f"{text}. Make it longer than the period"


def by_topics(
    system: System, topics: Sequence[str], place: Place
) -> tuple[tuple[str, ...], list[Problem]]:
    """Return the one way on which data go from the first topic to the last by all between.

    It begins with the callback that publishes the first topic, or takes it if that comes from
    outside. It ends with the callback that publishes the last.
    """
    where: list[Place] = [(*place, "topics", i) for i in range(len(topics))]
    for i, topic in enumerate(topics):
        if "*" in topic:
            return (), [(where[i], f"'{topic}' is a pattern. Name the topic")]
        if topic in topics[:i]:
            text = f"'{topic}' stands in this chain twice: a chain that comes back has no end"
            return (), [(where[i], text)]
    way: list[str] = []
    for i, topic in enumerate(topics):
        ends = list(system.publishers.get(topic, ())) or _takers_from_outside(system, topic)
        if not ends or (i and topic not in system.publishers):
            known = sorted(system.publishers)
            text = f"nobody publishes '{topic}'"
            return (), [(where[i], text + (alike(topic, known) or ". Add it to publishes"))]
        if not way:
            if len(ends) > 1:
                return (), [(where[i], _ambiguous(topic, [[one] for one in ends]))]
            way = ends
            continue
        if way[-1] in ends:  # It publishes both.
            ends = [way[-1]]
            continue
        found = _ways(system, way, ends)
        if found is None:
            text = f"too many ways lead from '{topics[i - 1]}' to '{topic}'. Name the callbacks"
            return (), [(where[i], text)]
        if not found:
            text = f"no way leads from '{topics[i - 1]}' to '{topic}'"
            return (), [(where[i], f"{text}. Add the missing triggers or reads, or mend the chain")]
        if len(found) > 1:
            return (), [(where[i], _ambiguous(topic, found))]
        way += found[0]
    return tuple(way), []


def _takers_from_outside(system: System, topic: str) -> list[str]:
    """Return the takers of a topic that nothing here publishes, as executors name them."""
    return [
        callback.name
        for callback in system.callbacks
        if callback.period is not None
        and callback.kind is not Kind.TIMER
        and callback.name.endswith(f"/{callback.kind.value}/{topic.lstrip('/')}")
    ]


def _ambiguous(topic: str, ways: Sequence[Sequence[str]]) -> str:
    first, second = (" -> ".join(way[-4:]) for way in ways[:2])
    return (
        f"several ways lead to '{topic}', among them by {first} and by {second}. Add a topic that "
        "only one of them passes, or name the callbacks"
    )


def _ways(system: System, way: Sequence[str], ends: Sequence[str]) -> list[list[str]] | None:
    """Return up to two ways from the end of one to one of some callbacks, without its start.

    None if the search takes too long.
    """
    goals, leading = set(ends), _leading_to(system, ends)
    found: list[list[str]] = []
    stack: list[tuple[str, ...]] = [()]
    steps = 0
    while stack and len(found) < 2:
        so_far = stack.pop()
        last = so_far[-1] if so_far else way[-1]
        steps += 1
        if steps > MAX_STEPS:
            return None
        if last in goals:
            found.append(list(so_far))
            continue
        for name in reversed(system.successors[last]):
            if name in leading and name not in way and name not in so_far:
                stack.append((*so_far, name))
    return found


def _leading_to(system: System, ends: Sequence[str]) -> set[str]:
    """Return all callbacks whose data reach one of some."""
    seen = set(ends)
    waiting = list(ends)
    while waiting:
        callback = system.callback_of[waiting.pop()]
        for topic in (*callback.triggers, *callback.reads):
            new = [name for name in system.publishers.get(topic, ()) if name not in seen]
            seen.update(new)
            waiting += new
    return seen
