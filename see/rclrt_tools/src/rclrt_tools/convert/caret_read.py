# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A CARET architecture file as a model.

It says what is sent where, and in which groups and executors; not how long anything takes, nor
when messages from outside come. So the model has `no_verdict` until somebody fills that in. If it
names no paths, those are taken that the topics make.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from rclrt_analysis.model.document import Document, Place

from rclrt_tools.convert.imported import (
    GUESSED_MS,
    IN_CIRCLE,
    MOST_MS,
    UNDEFINED,
    Imported,
    circles,
    fit,
    free_name,
    items,
    period_name,
    text_of,
    texts,
    wrong,
)

KINDS = {"single_threaded_executor": "wait_set_single", "multi_threaded_executor": "wait_set_multi"}
NOT_NAMED = "not named in the file"
SAMPLED = ("use_latest_message", "inherit_unique_stamp", "tilde")
"""Contexts of what a publishing callback finds, whatever has released it."""
NO_TYPE = "contexts without a type"
NO_PUBLISHER = "publications whose callback is not known"
GUESSED = "wait_set_single"
"""Executor where the file names none that is known here: what rclcpp starts."""

_ORDER = {"construction_order": ""}  # Names tell entities apart here.


@dataclass
class _Callback:
    name: str
    node: str
    place: Place
    kind: str
    topic: str = ""
    period: float | None = None
    publishes: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    group: str = ""
    executor: str = NOT_NAMED
    is_guess: bool = False


def from_caret(document: Document) -> Imported:
    """Return the model of an architecture file.

    Raises ModelError: It has not the form of one.
    """
    return _Reader(document).read()


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._imported = Imported(document)
        self._callbacks: dict[str, _Callback] = {}
        self._used: set[str] = set()
        self._guesses: list[str] = []
        self._senders: dict[str, str] = {}
        """The node of each topic that is published by nobody knows which of its callbacks."""

    def read(self) -> Imported:
        content = self._document.content
        if not isinstance(content, dict) or "nodes" not in content:
            raise wrong(self._document, (), "no CARET architecture: it has no 'nodes'")
        self._imported.leave_out_others(
            content, (), {"named_paths": "", "executors": "", "nodes": ""}
        )
        for place, node in items(self._document, content, (), "nodes"):
            self._node(place, node)
        kinds = self._executors(content)
        callbacks = self._callbacks.values()
        if not callbacks:
            raise wrong(self._document, ("nodes",), "no callbacks that a model knows are in there")
        circles = self._break_circles()
        model: dict[str, Any] = {
            "schema": 1,
            "name": "imported",
            "no_verdict": [*circles, *self._missing(kinds)][:1000],
        }
        used = list(dict.fromkeys(callback.executor for callback in callbacks))
        # Executors of rclcpp share no CPU in a way that has bounds.
        model["cpus"] = list(range(max(1, len(used))))
        model["executors"] = [{"name": name, "kind": kinds.get(name, GUESSED)} for name in used]
        model["callbacks"] = [self._item(callback) for callback in callbacks]
        chains = [c for c in self._paths(content) if c is not None]
        if not content.get("named_paths"):
            chains = self._found_paths()
        if chains:
            model["chains"] = chains
        self._imported.content = model
        return self._imported

    def _node(self, place: Place, node: dict[str, Any]) -> None:
        name = text_of(self._document, node, place, "node_name")
        known = dict.fromkeys(
            ("node_name", "callback_groups", "callbacks", "variable_passings", "publishes",
             "subscribes", "message_contexts"), "",
        )  # fmt: skip
        self._imported.leave_out_others(node, place, known)
        mine: dict[str, _Callback] = {}
        for at, item in items(self._document, node, place, "callbacks"):
            callback = self._callback(at, item, name)
            if callback is not None:
                self._callbacks[callback.name] = callback
                mine[text_of(self._document, item, at, "callback_name")] = callback
        if not mine:
            self._imported.leave_out(place, f"'{name}' has none", "nodes without callbacks")
        for at, item in items(self._document, node, place, "publishes"):
            self._publishes(at, item, mine)
        for at, item in items(self._document, node, place, "subscribes"):
            caller = item.get("callback_name", UNDEFINED)
            self._imported.leave_out_others(
                item, at, {"topic_name": "", "callback_name": "", **_ORDER}
            )
            if caller == UNDEFINED:
                topic = item.get("topic_name")
                self._imported.leave_out(at, f"nobody knows which callback takes '{topic}'")
        for at, item in items(self._document, node, place, "callback_groups"):
            self._group(at, item, mine)
        for at, item in items(self._document, node, place, "variable_passings"):
            self._passing(at, item, mine)
        contexts = list(items(self._document, node, place, "message_contexts"))
        guessed = self._guess_publishers(name, [item for _, item in contexts], mine)
        for at, item in items(self._document, node, place, "publishes"):
            topic, names = item["topic_name"], item.get("callback_names") or [UNDEFINED]
            if fit(topic) not in guessed and not {*texts(self._document, names, at)} <= {*mine}:
                self._senders.setdefault(fit(topic), name)
                text = f"nobody knows which callback publishes '{topic}'"
                self._imported.leave_out(at, text, NO_PUBLISHER)
        for at, item in contexts:
            self._context(at, item, mine)

    def _callback(self, place: Place, item: dict[str, Any], node: str) -> _Callback | None:
        kind = text_of(self._document, item, place, "callback_type")
        known = dict.fromkeys(("callback_name", "callback_type", "symbol", "period_ns"), "")
        self._imported.leave_out_others(item, place, {**known, "topic_name": "", **_ORDER})
        if kind == "timer_callback":
            period = item.get("period_ns")
            if not isinstance(period, int) or period <= 0:
                raise wrong(self._document, (*place, "period_ns"), "must be a whole number above 0")
            name = free_name(fit(f"{node}/timer/{period_name(period)}"), self._used)
            if period / 1e6 > MOST_MS:
                self._imported.leave_out(
                    (*place, "period_ns"), "longer than an hour: an hour is taken"
                )
            return _Callback(name, node, place, "timer", period=min(period / 1e6, MOST_MS))
        if kind == "subscription_callback":
            topic = fit(text_of(self._document, item, place, "topic_name"))
            name = free_name(fit(f"{node}/subscription/{topic.lstrip('/')}"), self._used)
            return _Callback(name, node, place, "subscription", topic=topic)
        self._imported.leave_out(place, f"callbacks of type '{kind}' are not known here")
        return None

    def _publishes(self, place: Place, item: dict[str, Any], mine: dict[str, _Callback]) -> None:
        topic = fit(text_of(self._document, item, place, "topic_name"))
        self._imported.leave_out_others(
            item, place, {"topic_name": "", "callback_names": "", **_ORDER}
        )
        names = texts(self._document, item.get("callback_names"), (*place, "callback_names"))
        for name in names:
            if name in mine:
                mine[name].publishes.append(topic)

    def _guess_publishers(
        self, node: str, contexts: list[dict[str, Any]], mine: dict[str, _Callback]
    ) -> set[str]:
        """Let a callback publish what is known to come from topics, but not from which callback.

        The only timer of the node, else the last callback that takes one of these topics. The
        topics that a callback was found for are returned.
        """
        guessed = set()
        from_topics: dict[str, list[str]] = {}
        for item in contexts:
            if item.get("context_type") in SAMPLED:
                sent = fit(str(item.get("publisher_topic_name")))
                from_topics.setdefault(sent, []).append(
                    fit(str(item.get("subscription_topic_name")))
                )
        timers = [c for c in mine.values() if c.kind == "timer"]
        for sent, taken in from_topics.items():
            takers = timers if len(timers) == 1 else [c for c in mine.values() if c.topic in taken]
            if takers and not any(sent in c.publishes for c in mine.values()):
                takers[-1].publishes.append(sent)
                text = f"that '{takers[-1].name}' publishes '{sent}' is a guess: '{node}' does"
                self._guesses.append(fit(text, 1000))
                guessed.add(sent)
        return guessed

    def _group(self, place: Place, item: dict[str, Any], mine: dict[str, _Callback]) -> None:
        name = fit(text_of(self._document, item, place, "callback_group_name"))
        kind = item.get("callback_group_type")
        known = dict.fromkeys(("callback_group_type", "callback_group_name", "callback_names"), "")
        self._imported.leave_out_others(item, place, known)
        if kind not in ("mutually_exclusive", "reentrant"):
            self._imported.leave_out(place, f"groups of type '{kind}' are not known here")
        at = (*place, "callback_names")
        for member in texts(self._document, item.get("callback_names"), at):
            if member not in mine:
                self._imported.leave_out(place, f"its member '{member}' is no callback of the node")
                continue
            # Callbacks of a reentrant group do not exclude each other: each gets its own group.
            mine[member].group = f"{'' if kind == 'mutually_exclusive' else chr(0)}{name}"

    def _passing(self, place: Place, item: dict[str, Any], mine: dict[str, _Callback]) -> None:
        ends = [str(item.get(f"callback_name_{end}", UNDEFINED)) for end in ("write", "read")]
        known = {"callback_name_write": "", "callback_name_read": ""}
        self._imported.leave_out_others(item, place, known)
        if ends == [UNDEFINED, UNDEFINED]:
            return  # As CARET writes that there are none.
        if any(end not in mine for end in ends):
            self._imported.leave_out(place, "it names no callbacks of the node")
            return
        _pass(mine[ends[0]], mine[ends[1]])

    def _context(self, place: Place, item: dict[str, Any], mine: dict[str, _Callback]) -> None:
        kind = item.get("context_type")
        taken, sent = (
            fit(str(item.get(f"{end}_topic_name"))) for end in ("subscription", "publisher")
        )
        known = ("context_type", "subscription_topic_name", "publisher_topic_name", "callbacks",
                 "publisher_construction_order", "subscription_construction_order")  # fmt: skip
        self._imported.leave_out_others(item, place, dict.fromkeys(known, ""))
        if kind == "callback_chain":
            # Without callbacks, what it says is in variable_passings.
            names = texts(self._document, item.get("callbacks"), (*place, "callbacks"))
            if any(name not in mine for name in names):
                self._imported.leave_out(place, "it names no callbacks of the node")
            else:
                for first, second in pairwise(mine[name] for name in names):
                    _pass(first, second)
            return
        readers = [c for c in mine.values() if sent in c.publishes]
        writers = [c for c in mine.values() if c.topic == taken]
        way = f"from '{taken}' to '{sent}'"
        if kind == UNDEFINED:
            self._imported.leave_out(place, f"{way}, how, the file does not say", NO_TYPE)
        elif kind not in SAMPLED:
            self._imported.leave_out(place, f"{way}, by '{kind}': not known here")
        elif not readers or not writers:
            self._imported.leave_out(place, f"no callbacks take '{taken}' and publish '{sent}'")
        else:
            if kind != "use_latest_message":
                self._imported.leave_out(place, f"'{kind}' is taken for use_latest_message")
            for writer in writers:
                for reader in readers:
                    _pass(writer, reader)

    def _executors(self, content: dict[str, Any]) -> dict[str, str]:
        kinds = {}
        for place, item in items(self._document, content, (), "executors"):
            name = fit(text_of(self._document, item, place, "executor_name"))
            kind = item.get("executor_type")
            known = ("executor_type", "executor_name", "callback_group_names")
            self._imported.leave_out_others(item, place, dict.fromkeys(known, ""))
            if not isinstance(kind, str) or kind not in KINDS:
                why = f"executors of type '{kind}' are not known here: {GUESSED} is taken"
                self._imported.leave_out(place, why)
            else:
                kinds[name] = KINDS[kind]
            at = (*place, "callback_group_names")
            groups = set(map(fit, texts(self._document, item.get("callback_group_names"), at)))
            mine = [c for c in self._callbacks.values() if c.group.lstrip("\0") in groups]
            for callback in mine:
                callback.executor = name
            if not mine:
                self._imported.leave_out(place, f"'{name}' has none", "executors without callbacks")
        return kinds

    def _item(self, callback: _Callback) -> dict[str, Any]:
        published = {topic for c in self._callbacks.values() for topic in c.publishes}
        item: dict[str, Any] = {
            "name": callback.name, "kind": callback.kind, "executor": callback.executor,
            "wcet_ms": 0,
        }  # fmt: skip
        if callback.period is not None:
            item["period_ms"] = callback.period
        elif callback.topic not in published or callback.is_guess:
            item["period_ms"] = GUESSED_MS
        else:
            item["triggers"] = [callback.topic]
        if callback.group and not callback.group.startswith("\0"):
            item["group"] = callback.group
        if callback.reads:
            item["reads"] = list(dict.fromkeys(callback.reads))
        if callback.publishes:
            item["publishes"] = list(dict.fromkeys(callback.publishes))
        return item

    def _break_circles(self) -> list[str]:
        """Let something from outside release a callback of each circle, and return what to say."""
        said = []
        callbacks = self._callbacks
        topics = {name: [c.topic] for name, c in callbacks.items() if c.topic}
        for name in circles(topics, {name: c.publishes for name, c in callbacks.items()}):
            callbacks[name].is_guess = True
            text = (
                f"{IN_CIRCLE} '{name}' is a guess in place of its topic '{callbacks[name].topic}'"
            )
            said.append(fit(text, 1000))
        return said

    def _missing(self, kinds: dict[str, str]) -> list[str]:
        published = {topic for c in self._callbacks.values() for topic in c.publishes}
        missing = ["a CARET architecture has no execution times: fill in wcet_ms of every callback"]
        for callback in self._callbacks.values():
            if callback.topic and callback.topic not in published:
                text = f"nobody in the file publishes '{callback.topic}'"
                if sender := self._senders.get(callback.topic):
                    text = f"which callback of '{sender}' publishes '{callback.topic}' is not said"
                text += f", so period_ms of '{callback.name}' is a guess: say how often it comes"
                missing.append(fit(text, 1000))
        missing += self._guesses
        for name in {c.executor: None for c in self._callbacks.values() if c.executor not in kinds}:
            missing.append(fit(f"the kind of executor '{name}' is a guess", 1000))
        return missing

    def _paths(self, content: dict[str, Any]) -> list[dict[str, Any] | None]:
        return [
            self._path(place, item)
            for place, item in items(self._document, content, (), "named_paths")
        ]

    def _path(self, place: Place, item: dict[str, Any]) -> dict[str, Any] | None:
        name = fit(text_of(self._document, item, place, "path_name"), 200)
        self._imported.leave_out_others(item, place, {"path_name": "", "node_chain": ""})
        way: list[str] = []
        for at, step in items(self._document, item, place, "node_chain"):
            node = text_of(self._document, step, at, "node_name")
            taken = fit(str(step.get("subscribe_topic_name", UNDEFINED)))
            sent = fit(str(step.get("publish_topic_name", UNDEFINED)))
            mine = [c for c in self._callbacks.values() if c.node == node]
            found = _through(mine, taken, sent)
            if not found:
                text = f"how data get from '{taken}' to '{sent}' in '{node}' is not in the file"
                self._imported.leave_out(at, f"{text}: the path '{name}' is left out")
                return None
            way += [one for one in found if one not in way]
        if not way:
            self._imported.leave_out(place, "it has no nodes")
            return None
        return {"name": name, "callbacks": way}

    def _in_order(self) -> Iterator[_Callback]:
        """Yield each callback after those that release it, and after those whose data it reads.

        Where reading goes round in a circle, only the first is kept.
        """
        left = dict(self._callbacks)
        while left:
            sent = {topic for c in left.values() for topic in c.publishes}
            released = [c for c in left.values() if c.is_guess or c.topic not in sent]
            free = [c for c in released if not sent.intersection(c.reads)] or released[:1]
            yield from free
            for callback in free:
                del left[callback.name]

    def _found_paths(self) -> list[dict[str, Any]]:
        """Return the longest way to each callback that data end in."""
        ways: dict[str, list[str]] = {}
        """The longest to each topic so far."""
        ends: list[list[str]] = []
        all_taken = {topic for c in self._callbacks.values() for topic in (c.topic, *c.reads)}
        for callback in self._in_order():
            taken = [*callback.reads, *([] if callback.is_guess else [callback.topic])]
            before = [ways[topic] for topic in taken if topic in ways]
            way = [*max(before, key=len, default=[]), callback.name]
            for topic in callback.publishes:
                ways[topic] = max(ways.get(topic, []), way, key=len)
            if len(way) > 1 and not all_taken.intersection(callback.publishes):
                ends.append(way)
        nodes = {callback.name: callback.node for callback in self._callbacks.values()}
        chains: list[dict[str, Any]] = []
        used: set[str] = set()
        for way in sorted(ends, key=len, reverse=True)[:1000]:
            first, last = (nodes[way[i]] for i in (0, -1))
            name = free_name(fit(f"{first} to {last}", 190), used)
            chains.append({"name": name, "callbacks": way})
        if chains:
            text = "none is named: those are taken that the topics make"
            self._imported.leave_out(("named_paths",), text)
        return chains


def _through(mine: Sequence[_Callback], taken: str, sent: str) -> list[str]:
    """Return the callbacks of a node from one topic to another: one, or two that pass data."""
    first = [c for c in mine if c.topic == taken]
    last = [c for c in mine if sent in c.publishes]
    if taken == UNDEFINED:
        return [last[0].name] if last else []
    if sent == UNDEFINED:
        return [first[0].name] if first else []
    for one in first:
        if one in last:
            return [one.name]
    for one in first:
        for other in last:
            if set(one.publishes) & set(other.reads):
                return [one.name, other.name]
    return []


def _pass(writer: _Callback, reader: _Callback) -> None:
    """Let one callback read what another one has stored."""
    if writer is not reader:
        topic = fit(f"{writer.name} to {reader.name}")
        writer.publishes.append(topic)
        reader.reads.append(topic)
