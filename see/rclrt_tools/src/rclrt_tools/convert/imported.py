# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What came out of another tool's file, and what did not.

It is read as `analyze` reads it, before it is written.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from rclrt_analysis.model import ModelError, System
from rclrt_analysis.model.chains import make_chain
from rclrt_analysis.model.document import Document, Place, parse_document
from rclrt_analysis.model.read import build_system
from rclrt_analysis.plan.openings import Filler

from rclrt_tools.live.files import printable

UNDEFINED = "UNDEFINED"
MOST_MS = 3_600_000
"""The longest time that a model has."""
GUESSED_MS = 1000
"""Period of what comes from outside, until somebody says."""
ALIKE = 3
"""Losses of one kind are listed one by one up to this number."""


@dataclass
class Imported:
    """Part of a model, or all of it.

    content: As a model's file has it.
    left_out: What of the file is not in it, or only in part: place, and why.
    code: What it is instead of YAML: a header of C.
    drafts: Chains that a model cannot have as they are, each with the reason.
    """

    document: Document
    content: dict[str, Any] = field(default_factory=dict)
    code: str = ""
    left_out: list[str] = field(default_factory=list)
    drafts: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    kinds: dict[str, list[int]] = field(default_factory=dict)
    """The indices in `left_out` of each kind of loss: these differ in names and numbers."""
    named: set[str] = field(default_factory=set)
    """The kinds that have a name of their own, which goes on after a number."""

    def leave_out(self, place: Place, why: str, kind: str = "") -> None:
        """Note what is not in the model.

        kind: What it is one of, in the plural: "contexts without a type". "": what differs in
            names.
        """
        name = ".".join(str(part) for part in place) or "the file"
        if kind:
            self.named.add(kind)
        elif why == "not known here":
            kind = f"{place[-1]} {why}"
        else:
            kind = re.sub(r"'[^']*'", "'*'", why)
        self.kinds.setdefault(kind, []).append(len(self.left_out))
        self.left_out.append(f"{self.document.where(place)}: {name}: {why}")

    def losses(self) -> Iterator[str]:
        """Yield what was left out; of many of one kind the first, and where the others are."""
        for kind, numbers in self.kinds.items():
            texts = [self.left_out[number] for number in numbers]
            if len(texts) <= ALIKE:
                yield from texts
                continue
            lines = [text.removeprefix(self.document.path)[1:].partition(":")[0] for text in texts]
            more = ", ".join(lines[1:9]) + (", ..." if len(lines) > 9 else "")
            head = f"{len(texts)} {kind}: " if kind in self.named else ""
            yield f"{head}{texts[0]} (and {len(texts) - 1} more like this: lines {more})"

    def summary(self) -> str:
        """Return how much was left out: the kinds that have names, and the number of others."""
        named = {k: len(n) for k, n in self.kinds.items() if k in self.named}
        parts = [f"{count} {kind}" for kind, count in named.items()]
        if count := len(self.left_out) - sum(named.values()):
            parts.append(f"{count} things of {len(self.kinds) - len(named)} kinds")
        return ", ".join(parts)

    def leave_out_others(self, item: Any, place: Place, known: Mapping[str, str]) -> None:
        """Note the fields that nobody here knows, and those that a model has no place for.

        known: Why fields are left out; "" for those that are not.
        """
        for key in item:
            why = known.get(key, "not known here")
            if why:
                self.leave_out((*place, key), why)


def to_yaml(imported: Imported) -> str:
    """Return the file, with what was left out in comments."""
    lines = [f"# From {imported.document.path}, by rclrt model convert."]
    if imported.left_out:
        lines.append("# Not in here, or not all of it:")
        lines += [f"# - {text}" for text in imported.losses()]
    for chain, why in imported.drafts:
        lines.append(f"# A draft of a chain, to finish by hand: {why}")
        lines += [f"#   {line}" for line in _dumped([chain]).splitlines()]
    lines = [printable(line) for line in lines]
    if imported.code:
        about = "\n".join(lines).replace("*/", "* /").replace("/*", "/ *")
        return f"/*\n{about}\n */\n{imported.code}"
    return "\n".join(lines) + "\n" + (_dumped(imported.content) if imported.content else "")


def _dumped(content: Any) -> str:
    # Flow style where it is short, as a person would write it.
    form: dict[str, Any] = {"sort_keys": False, "default_flow_style": None, "width": 100}
    text: str = yaml.safe_dump(content, allow_unicode=True, **form)
    if any(c in text for c in "\x85\u2028\u2029"):  # A reader takes them for the end of a line.
        text = yaml.safe_dump(content, **form)
    return text


def fit(text: str, most: int = 4000) -> str:
    """Return a name that a model may have: a longer one is cut, and stays different from others."""
    if len(text) <= most:
        return text
    return f"{text[: most - 9]}~{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def free_name(name: str, used: set[str]) -> str:
    """Return the name, as executors count them: the second one gets #2. It is used then."""
    number, free = 1, name
    while free in used:
        number += 1
        free = f"{name}#{number}"
    used.add(free)
    return free


def period_name(ns: int) -> str:
    """Return a period as executors name their timers."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns % size == 0:
            return f"{ns // size}{unit}"
    return f"{ns}ns"


IN_CIRCLE = "callbacks release each other in a circle, so period_ms of"


def circles(
    released_by: Mapping[str, Sequence[str]], publishes: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return a callback of each circle in which callbacks release each other by topics.

    Those that nothing released within a circle are taken away, until only circles are left.
    """
    found, left = [], dict(released_by)
    while left:
        senders = {topic: name for name in left for topic in publishes[name]}
        free = [name for name, topics in left.items() if not senders.keys() & {*topics}]
        if not free:
            # Back from any of these, by what releases it, until one comes a second time.
            way = [next(iter(left))]
            while way[-1] not in way[:-1]:
                way.append(next(senders[topic] for topic in left[way[-1]] if topic in senders))
            found.append(way[-1])
            free = way[-1:]
        for name in free:
            del left[name]
    return found


def items(
    document: Document, parent: Any, place: Place, key: str
) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the maps of a list with their places; nothing if there is no list.

    Raises ModelError: It is something else.
    """
    value = mapping(document, parent, place).get(key, [])
    if not isinstance(value, list):
        raise wrong(document, (*place, key), "must be a list")
    for i, one in enumerate(value):
        yield (*place, key, i), mapping(document, one, (*place, key, i))


def mapping(document: Document, value: Any, place: Place) -> dict[str, Any]:
    """Return a value that must be a map."""
    if not isinstance(value, dict):
        raise wrong(document, place, "must be a map")
    return value


def texts(document: Document, value: Any, place: Place) -> list[str]:
    """Return a list of text; one text alone is a list of it, and nothing is an empty one."""
    found = value if isinstance(value, list) else [] if value is None else [value]
    for one in found:
        if not isinstance(one, str):
            raise wrong(document, place, "must be a list of names")
    return found


def text_of(document: Document, item: Mapping[str, Any], place: Place, key: str) -> str:
    """Return a field that must be there, and text."""
    value = item.get(key)
    if not isinstance(value, str) or not value:
        raise wrong(document, (*place, key), f"'{key}' must be there, and text")
    return value


def wrong(document: Document, place: Place, what: str) -> ModelError:
    """Return an error with file and line."""
    name = ".".join(str(part) for part in place) or "the file"
    return ModelError([f"{document.where(place)}: {name}: {what}"])


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

    system: That the chains are for. If it is None, the content itself may be one.

    Raises ModelError: What is left is no model.
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
    document = parse_document(text, "what is made of it")
    return build_system(document, schema, Filler(places_too=True))


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
    _, problems = make_chain(chain, (), system, _ns)
    return problems[0][1] if problems else ""


def _ns(item: Mapping[str, Any], _: Place, key: str) -> int | None:
    return round(item[key] * 10**6) if key in item else None
