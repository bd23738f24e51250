# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A model as a CARET architecture file, for CARET and the viewers that read its files."""

from typing import Any

import yaml
from rclrt_analysis.model import Callback, Chain, ExecutorKind, Kind, System

from rclrt_tools.convert.imported import UNDEFINED

LOST = (
    "not in a CARET architecture: execution times, deadlines, semantics of chains, priorities, "
    "CPUs, where times come from, which groups are reentrant. What is only read becomes a variable "
    "that is passed, by a callback of its own"
)


def to_caret(system: System) -> str:
    """Return the file. It names callbacks as CARET does, with the name here as their symbol."""
    return yaml.safe_dump(_Writer(system).content(), sort_keys=False, width=2**20)


class _Node:
    """A node: its callbacks in CARET's terms, one subscription callback for each topic."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.callbacks: list[dict[str, Any]] = []
        self.of: dict[str, list[str]] = {}
        """CARET's names of a callback here: several for a join."""
        self.group: dict[str, list[str]] = {}
        self.publishes: dict[str, list[str]] = {}
        self.passings: list[dict[str, str]] = []
        self.takes: dict[str, str] = {}

    def add(self, fields: dict[str, Any]) -> str:
        name = f"{self.name}/callback_{len(self.callbacks)}"
        self.callbacks.append({"callback_name": name, **fields})
        return name


class _Writer:
    def __init__(self, system: System) -> None:
        self._system = system
        self._nodes: dict[str, _Node] = {}
        for callback in system.callbacks:
            self._add(callback)
        for callback in system.callbacks:
            self._read(callback)

    def content(self) -> dict[str, Any]:
        return {
            "named_paths": [self._path(chain) for chain in self._system.chains],
            "executors": self._executors(),
            "nodes": [self._node(node) for node in self._nodes.values()],
        }

    def _node_of(self, callback: Callback) -> _Node:
        name = node_name(callback)
        return self._nodes.setdefault(name, _Node(name))

    def _add(self, callback: Callback) -> None:
        node = self._node_of(callback)
        fields: list[dict[str, Any]] = []
        if callback.kind is Kind.TIMER:
            fields = [{"callback_type": "timer_callback", "period_ns": callback.period}]
        else:
            topics = callback.triggers or (_outside(callback),)
            fields = [{"callback_type": "subscription_callback", "topic_name": t} for t in topics]
        names = [node.add({**one, "symbol": callback.name}) for one in fields]
        node.of[callback.name] = names
        node.takes.update(
            (one["topic_name"], name)
            for one, name in zip(fields, names, strict=True)
            if "topic_name" in one
        )
        node.group.setdefault(callback.group or f"{callback.name}/group", []).extend(names)
        for topic in callback.publishes:
            node.publishes.setdefault(topic, []).extend(names)

    def _read(self, callback: Callback) -> None:
        """Add what stores the topics that a callback reads: CARET knows no reading otherwise."""
        node = self._node_of(callback)
        for topic in callback.reads:
            inside = [
                name
                for writer in self._system.publishers.get(topic, ())
                for name in node.of.get(writer, ())
            ]
            if not inside:
                if topic not in node.takes:
                    fields = {"callback_type": "subscription_callback", "topic_name": topic}
                    name = node.add({**fields, "symbol": f"stores {topic}"})
                    node.takes[topic] = name
                    node.group[callback.group or f"{callback.name}/group"].append(name)
                inside = [node.takes[topic]]
            for writer in inside:
                for reader in node.of[callback.name]:
                    passing = {"callback_name_write": writer, "callback_name_read": reader}
                    if passing not in node.passings:
                        node.passings.append(passing)

    def _node(self, node: _Node) -> dict[str, Any]:
        result: dict[str, Any] = {
            "node_name": node.name,
            "callback_groups": [
                {
                    "callback_group_type": "mutually_exclusive",
                    "callback_group_name": name,
                    "callback_names": sorted(members),
                }
                for name, members in node.group.items()
            ],
            "callbacks": node.callbacks,
        }
        if len(node.callbacks) > 1:
            none = {"callback_name_write": UNDEFINED, "callback_name_read": UNDEFINED}
            result["variable_passings"] = node.passings or [none]
        if node.publishes:
            result["publishes"] = [
                {"topic_name": topic, "callback_names": names}
                for topic, names in node.publishes.items()
            ]
        if node.takes:
            result["subscribes"] = [
                {"topic_name": topic, "callback_name": name} for topic, name in node.takes.items()
            ]
        contexts = _contexts(node)
        if contexts:
            result["message_contexts"] = contexts
        return result

    def _executors(self) -> list[dict[str, Any]]:
        result = []
        for executor in self._system.executors:
            single = executor.kind in (
                ExecutorKind.WAIT_SET_SINGLE, ExecutorKind.EVENTS_FIFO,
                ExecutorKind.PRIORITY_EVENTS, ExecutorKind.MICRO_ROS, ExecutorKind.TIDE,
            )  # fmt: skip
            groups = [c.group or f"{c.name}/group" for c in self._system.members(executor.name)]
            kind = "single_threaded_executor" if single else "multi_threaded_executor"
            result.append(
                {
                    "executor_type": kind,
                    "executor_name": executor.name,
                    "callback_group_names": list(dict.fromkeys(groups)),
                }
            )
        return result

    def _path(self, chain: Chain) -> dict[str, Any]:
        """Return a chain as the nodes that it passes, with the topics between them."""
        steps: list[dict[str, str]] = []
        taken = _begin(self._system.callback_of[chain.callbacks[0]])
        for i, name in enumerate(chain.callbacks):
            callback = self._system.callback_of[name]
            following = (
                self._system.callback_of[chain.callbacks[i + 1]]
                if i + 1 < len(chain.callbacks)
                else None
            )
            sent = UNDEFINED
            if following is not None:
                wanted = {*following.triggers, *following.reads}
                sent = next(topic for topic in callback.publishes if topic in wanted)
                if node_name(following) == node_name(callback):
                    continue  # Within the node it is a variable that is passed.
            elif callback.publishes:
                sent = callback.publishes[0]
            steps.append(
                {
                    "node_name": node_name(callback),
                    "publish_topic_name": sent,
                    "subscribe_topic_name": taken,
                }
            )
            taken = sent
        return {"path_name": chain.name, "node_chain": steps}


def node_name(callback: Callback) -> str:
    """Return the node of a callback: what its name begins with, else the name itself."""
    head, kind, _ = callback.name.partition(f"/{callback.kind.value}/")
    return head if kind and head else f"/{callback.name.lstrip('/')}"


def _outside(callback: Callback) -> str:
    """Return the topic from outside that releases a callback, as its name says."""
    _, kind, topic = callback.name.partition(f"/{callback.kind.value}/")
    topic = topic.partition("#")[0]  # The second of a name has #2.
    return f"/{topic}" if kind else f"/{callback.name.lstrip('/')}/from_outside"


def _begin(first: Callback) -> str:
    if first.kind is Kind.TIMER:
        return UNDEFINED
    return first.triggers[0] if first.triggers else _outside(first)


def _contexts(node: _Node) -> list[dict[str, Any]]:
    """Return how each topic that a node takes gets into each that it publishes, if it does."""
    contexts = []
    for taken, first in node.takes.items():
        after = [
            p["callback_name_read"] for p in node.passings if p["callback_name_write"] == first
        ]
        for sent, names in node.publishes.items():
            last = [name for name in (first, *after) if name in names][:1]
            if last:
                contexts.append(
                    {
                        "context_type": "callback_chain",
                        "subscription_topic_name": taken,
                        "publisher_topic_name": sent,
                        "callbacks": list(dict.fromkeys([first, *last])),
                    }
                )
    return contexts
