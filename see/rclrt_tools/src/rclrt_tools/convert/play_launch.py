# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What play_launch (ros-launch-manifest) knows of a system, as a model.

Contracts say what nodes do: each of a node's paths is a callback here, what its endpoints are
connected to are topics. Contracts have no execution times. A resolved `system_model.yaml` is the
same for whole systems, with the priorities that play_launch gives; see `_as_contract`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from rclrt_analysis.model import System
from rclrt_analysis.model.chains import by_topics
from rclrt_analysis.model.document import Document, Place

from rclrt_tools.convert.imported import (
    GUESSED_MS,
    IN_CIRCLE,
    MOST_MS,
    Imported,
    circles,
    fit,
    free_name,
    items,
    mapping,
    period_name,
    texts,
    wrong,
)

SEMANTICS = ("reaction", "age")
UNITS = {"": 1.0, "ms": 1.0, "s": 1000.0, "us": 0.001, "ns": 0.000001}
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(ns|us|ms|s)?")
PAIRS = {"exact": "exact", "approximate": "approximate"}
NO_PLACE = "a model has no place for it"
KNOWN = {
    "file": {
        **dict.fromkeys(("version", "nodes", "topics", "paths", "chains"), ""),
        **dict.fromkeys(("services", "actions", "hazards", "functions", "modes"), NO_PLACE),
        **dict.fromkeys(("severity_levels", "external_topics", "args"), NO_PLACE),
        "includes": "convert the other file, too",
    },
    "node": {
        **dict.fromkeys(("paths", "pub", "sub"), ""),
        **dict.fromkeys(("lifecycle", "srv", "cli", "params", "if", "unless"), NO_PLACE),
        "criticality": "a model ranks by deadlines; give priorities yourself",
        "concurrency": "callbacks of one node exclude each other here",
    },
    "endpoint": {
        **dict.fromkeys(("min_rate_hz", "max_rate_hz", "max_age", "max_age_ms", "state"), ""),
        **dict.fromkeys(("required", "qos", "on_violation", "buffer", "jitter"), NO_PLACE),
        **dict.fromkeys(("jitter_ms", "max_transport", "max_transport_ms"), NO_PLACE),
    },
    "path": {
        **dict.fromkeys(("trigger", "input", "output", "max_latency", "max_latency_ms"), ""),
        **dict.fromkeys(("sync", "semantics"), ""),
        **dict.fromkeys(("drop", "max_jitter", "min_latency", "safe_state", "miss"), NO_PLACE),
        **dict.fromkeys(("correlation", "tolerance", "tolerance_ms", "if", "unless"), NO_PLACE),
    },
    "topic": {
        **dict.fromkeys(("pub", "sub", "rate_hz", "type"), ""),
        **dict.fromkeys(("max_transport", "max_transport_ms", "drop", "qos"), NO_PLACE),
        **dict.fromkeys(("external", "if", "unless"), NO_PLACE),
    },
    "chain": dict.fromkeys(("semantics", "segments", "max_latency", "max_latency_ms"), ""),
}
"""The fields of each kind of entry, and why they are left out; "" for those that are not."""


@dataclass
class _Callback:
    item: dict[str, Any]
    node: str
    path: str
    publishes: list[str]
    takes: list[str] = field(default_factory=list)


def from_contract(document: Document, system: System | None = None) -> Imported:
    """Return the model of a contract; given a system, only the chains, which are then for it.

    Raises ModelError: It has not the form of a contract.
    """
    return _Contract(Imported(document), mapping(document, document.content, ())).read(system)


def from_system_model(document: Document, system: System | None = None) -> Imported:
    """Return the model of a resolved system, with the priorities and CPUs that its nodes get."""
    imported = Imported(document)
    content = mapping(document, document.content, ())
    parts = {"structure": "", "contracts": "", "execution": "", "meta": NO_PLACE}
    imported.leave_out_others(content, (), parts)
    contract = _Contract(imported, _as_contract(imported, content))
    return contract.read(system, _placements(imported, content))


def _as_contract(imported: Imported, content: dict[str, Any]) -> dict[str, Any]:
    """Return what a resolved model says in the form of a contract: endpoints go to their nodes."""
    document = imported.document

    def part(*place: str) -> dict[str, Any]:
        value: Any = content
        for i, key in enumerate(place):
            value = mapping(document, value.get(key, {}), place[: i + 1])
        return {str(key): mapping(document, one, (*place, key)) for key, one in value.items()}

    nodes: dict[str, dict[str, Any]] = {name: {} for name in part("structure", "nodes")}
    for key, of in (("node_paths", "paths"), ("sub_endpoints", "sub"), ("pub_endpoints", "pub")):
        for name, about in part("contracts", key).items():
            node, _, last = name.rpartition("/")
            nodes.setdefault(node, {}).setdefault(of, {})[last] = about
    topics = part("structure", "topics")
    for name, about in part("contracts", "topics").items():
        topics[name] = {**topics.get(name, {}), **about}
    paths = {name: {"semantics": "latency", **about}
             for name, about in part("contracts", "scope_paths").items()}  # fmt: skip
    return {"nodes": nodes, "topics": topics, "paths": paths}


def _placements(imported: Imported, content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return priority and core of each node that has them."""
    document = imported.document
    execution = mapping(document, content.get("execution", {}), ("execution",))
    parts = {"tiers": "", "bindings": "", "sched": "it repeats the contracts"}
    imported.leave_out_others(execution, ("execution",), parts)
    tiers = mapping(document, execution.get("tiers", {}), ("execution", "tiers"))
    found = {}
    bindings = mapping(document, execution.get("bindings", {}), ("execution", "bindings"))
    for node, tier in bindings.items():
        about = tiers.get(tier) if isinstance(tier, str) else None
        posix = about.get("posix") if isinstance(about, dict) else None
        if isinstance(posix, dict):
            found[node] = posix
        else:
            imported.leave_out(("execution", "bindings", node), "its tier is not for Linux")
    return found


class _Contract:
    def __init__(self, imported: Imported, content: dict[str, Any]) -> None:
        self._imported = imported
        self._document = imported.document
        self._content = content
        self._callbacks: list[_Callback] = []
        self._missing: list[str] = []
        self._topic_of: dict[str, str] = {}
        """By node, slash and endpoint."""
        self._rates: dict[str, float] = {}
        """By topic, as they are declared."""
        self._least: dict[str, float] = {}
        """The least rates of topics that anybody asks for."""
        self._most: dict[str, float] = {}
        self._scopes_of: dict[str, list[str]] = {}
        """Namespaces of paths, as chains name them."""

    def read(
        self, system: System | None, placements: dict[str, dict[str, Any]] | None = None
    ) -> Imported:
        imported = self._imported
        if self._content is self._document.content:
            imported.leave_out_others(self._content, (), KNOWN["file"])
        if self._content.get("version", 1) != 1:
            imported.leave_out(("version",), "this program knows version 1")
        for topic, about in self._part(self._content, (), "topics"):
            self._topic(topic, about)
        for name, chain in self._part(self._content, (), "chains"):
            for _, segment in items(self._document, chain, ("chains", name), "segments"):
                if "path" in segment:
                    scopes = self._scopes_of.setdefault(str(segment["path"]), [])
                    scopes.append(str(segment.get("scope", "/")))
        nodes = dict(self._part(self._content, (), "nodes"))
        for node, about in nodes.items():
            for key, place, endpoint in self._endpoints(node, about):
                self._endpoint(node, key, place, endpoint)
        for node, about in nodes.items():
            imported.leave_out_others(about, ("nodes", node), KNOWN["node"])
            for name, path in self._part(about, ("nodes", node), "paths"):
                self._path(node, name, path, ("nodes", node, "paths", name), about)
        chains = [*self._chains(system), *self._requirements(nodes)]
        if system is None and self._callbacks:
            imported.content = self._model(placements or {})
        imported.content["chains"] = _with_own_names(chains)
        return imported

    def _part(
        self, parent: dict[str, Any], place: Place, key: str
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        whole = mapping(self._document, parent.get(key) or {}, (*place, key))
        for name, about in whole.items():
            yield str(name), mapping(self._document, about or {}, (*place, key, name))

    def _endpoints(
        self, node: str, about: dict[str, Any]
    ) -> Iterator[tuple[str, Place, dict[str, Any]]]:
        for key in ("pub", "sub"):
            for name, endpoint in self._part(about, ("nodes", node), key):
                yield name, ("nodes", node, key, name), endpoint

    def _topic(self, topic: str, about: dict[str, Any]) -> None:
        place: Place = ("topics", topic)
        self._imported.leave_out_others(about, place, KNOWN["topic"])
        for key in ("pub", "sub"):
            for endpoint in texts(self._document, about.get(key), (*place, key)):
                self._topic_of[endpoint.lstrip("/")] = fit(topic)
        rate = self._rate(about, place, "rate_hz")
        if rate:
            self._rates[fit(topic)] = rate

    def _endpoint(self, node: str, key: str, place: Place, endpoint: dict[str, Any]) -> None:
        self._imported.leave_out_others(endpoint, place, KNOWN["endpoint"])
        topic = self._topic_at(node, key)
        least = self._rate(endpoint, place, "min_rate_hz")
        most = self._rate(endpoint, place, "max_rate_hz")
        self._least[topic] = max(self._least.get(topic, 0), least or 0)
        self._most[topic] = max(self._most.get(topic, 0), most or 0)

    def _rate(self, item: dict[str, Any], place: Place, key: str) -> float | None:
        value = item.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise wrong(self._document, (*place, key), "must be a rate in Hz")
        return float(value)

    def _topic_at(self, node: str, endpoint: str, scope: str = "/") -> str:
        """Return the topic of a node's endpoint: what `topics` says, else its name in the scope."""
        whole = endpoint if endpoint.startswith(f"{node}/") else f"{node}/{endpoint}"
        found = self._topic_of.get(whole.lstrip("/"))
        if found is None and whole == endpoint:
            return fit(endpoint)
        name = endpoint if endpoint.startswith("/") else f"{scope.rstrip('/')}/{endpoint}"
        return found or fit(name)

    def _path(
        self, node: str, name: str, path: dict[str, Any], place: Place, about: dict[str, Any]
    ) -> None:
        self._imported.leave_out_others(path, place, KNOWN["path"])
        kind, value = _trigger(path)
        full = f"/{node.lstrip('/')}"
        item: dict[str, Any] = {"executor": fit(full), "wcet_ms": 0, "group": fit(f"{full}/group")}
        outputs = texts(self._document, path.get("output"), (*place, "output"))
        # Several scopes may have a path of that name: the one that the node is in counts.
        scopes = self._scopes_of.get(name, ["/"])
        inside = [one for one in scopes if f"{full}/".startswith(f"{one.rstrip('/')}/")]
        scope = max(inside or scopes[-1:], key=len)
        made = _Callback(item, node, name, [self._topic_at(node, one, scope) for one in outputs])
        if kind == "once":
            self._imported.leave_out(place, "it runs once", "paths that run once")
            return
        if kind == "timer":
            of = mapping(self._document, value, (*place, "trigger", "timer"))
            rate = self._rate(of, (*place, "trigger", "timer"), "rate_hz")
            if not rate:
                raise wrong(self._document, (*place, "trigger"), "a timer needs 'rate_hz' above 0")
            item.update(kind="timer", period_ms=self._period(rate))
            item["name"] = f"{full}/timer/{period_name(round(item['period_ms'] * 10**6))}"
        else:
            inputs = texts(self._document, value, (*place, "trigger", "input"))
            made.takes = [self._topic_at(node, one, scope) for one in inputs]
            of_what = made.takes[0] if made.takes else f"{name}"
            item.update(kind="subscription", name=f"{full}/subscription/{of_what.lstrip('/')}")
        sync = path.get("sync")
        if sync is not None and len(made.takes) > 1:
            policy = mapping(self._document, sync, (*place, "sync")).get("policy")
            if isinstance(policy, str) and policy in PAIRS:
                item.update(activation="all", pairs=PAIRS[policy])
            else:
                self._imported.leave_out((*place, "sync"), "each input releases the callback here")
        deadline = span(self._document, path, place, "max_latency")
        if deadline is not None:
            item["deadline_ms"] = min(deadline, MOST_MS)
        for endpoint, _, one in self._endpoints(node, about):
            if one.get("state") is True:
                item.setdefault("reads", []).append(self._topic_at(node, endpoint))
        self._callbacks.append(made)

    @staticmethod
    def _period(rate: float) -> float:
        return min(round(1000 / rate, 6) or 0.000001, MOST_MS)

    def _model(self, placements: dict[str, dict[str, Any]]) -> dict[str, Any]:
        published = {topic for callback in self._callbacks for topic in callback.publishes}
        used: set[str] = set()
        for callback in self._callbacks:
            item = callback.item
            item["name"] = free_name(fit(item["name"]), used)
            self._release(callback, published)
            item["reads"] = [t for t in item.get("reads", ()) if t in published]
            item["publishes"] = list(dict.fromkeys(callback.publishes))
            for key in ("reads", "publishes"):
                if not item[key]:
                    del item[key]
        triggers = {
            c.item["name"]: c.item["triggers"] for c in self._callbacks if "triggers" in c.item
        }
        sent = {callback.item["name"]: callback.publishes for callback in self._callbacks}
        in_circle = circles(triggers, sent)
        for callback in self._callbacks:
            if callback.item["name"] in in_circle:
                for key in ("triggers", "activation", "pairs"):
                    callback.item.pop(key, None)
                callback.item["period_ms"] = GUESSED_MS
                self._missing.append(fit(f"{IN_CIRCLE} '{callback.item['name']}' is a guess", 1000))
        executors, cpus = [], {0}
        for name in dict.fromkeys(callback.item["executor"] for callback in self._callbacks):
            executor: dict[str, Any] = {"name": name, "kind": "open"}
            placed = placements.get(name, {})
            core, priority = placed.get("core"), placed.get("priority")
            if isinstance(core, int) and 0 <= core < 1024:
                executor["cores"] = [core]
                cpus.add(core)
            for callback in self._callbacks:
                is_real_time = placed.get("sched_class", "SCHED_FIFO") in ("SCHED_FIFO", "SCHED_RR")
                if callback.item["executor"] == name and priority and is_real_time:
                    callback.item["priority"] = priority
            executors.append(executor)
        about = "a contract has no execution times: fill in wcet_ms of every callback"
        return {
            "schema": 1,
            "name": "imported",
            "no_verdict": [about, *self._missing][:1000],
            "cpus": sorted(cpus),
            "executors": executors,
            "callbacks": [
                {key: c.item[key] for key in ("name", "kind", *c.item) if key in c.item}
                for c in self._callbacks
            ],
        }

    def _release(self, callback: _Callback, published: set[str]) -> None:
        """Say what releases a callback: topics of others here, else how often it comes at most."""
        item = callback.item
        if item["kind"] == "timer":
            return
        inside = [topic for topic in dict.fromkeys(callback.takes) if topic in published]
        if inside:
            item["triggers"] = inside
            if len(inside) == 1:
                for key in ("activation", "pairs"):
                    item.pop(key, None)
            return
        for key in ("activation", "pairs"):
            item.pop(key, None)
        of = callback.takes or callback.publishes
        least = max((self._least.get(topic, 0.0) for topic in of), default=0.0)
        rate = max((self._rates.get(t, 0.0) or self._most.get(t, 0.0) for t in of), default=0.0)
        item["period_ms"] = self._period(rate or least) if rate or least else GUESSED_MS
        if least:
            item["gap_ms"] = max(self._period(least), item["period_ms"])
        if not rate:
            text = f"period_ms of '{item['name']}' is a guess: say how often it is released at most"
            self._missing.append(fit(text, 1000))

    def _chains(self, system: System | None) -> Iterator[dict[str, Any]]:
        for name, chain in self._part(self._content, (), "chains"):
            place: Place = ("chains", name)
            self._imported.leave_out_others(chain, place, KNOWN["chain"])
            semantics = chain.get("semantics", "reaction")
            if semantics not in SEMANTICS:
                text = f"'{semantics}' is not known here: left out"
                self._imported.leave_out((*place, "semantics"), text)
                continue
            deadline = self._deadline(chain, place)
            made = self._segments(chain, place, system)
            if made is not None:
                yield {"name": fit(name, 200), **made, "semantics": semantics, **deadline}
        for name, path in self._part(self._content, (), "paths"):
            place = ("paths", name)
            if self._content is self._document.content:
                self._imported.leave_out_others(path, place, KNOWN["path"])
            kind, value = _trigger(path)
            inputs = texts(self._document, value, (*place, "input")) if kind == "input" else []
            for taken in inputs or [""]:
                for sent in texts(self._document, path.get("output"), (*place, "output")):
                    yield {"name": fit(name, 190), "topics": [fit(t) for t in (taken, sent) if t],
                           "semantics": "latency", **self._deadline(path, place)}  # fmt: skip

    def _deadline(self, item: dict[str, Any], place: Place) -> dict[str, Any]:
        deadline = span(self._document, item, place, "max_latency")
        if deadline is not None and deadline > MOST_MS:
            text = "longer than an hour: the chain has no deadline"
            self._imported.leave_out((*place, "max_latency"), text)
        return {} if deadline is None or deadline > MOST_MS else {"deadline_ms": deadline}

    def _segments(
        self, chain: dict[str, Any], place: Place, system: System | None
    ) -> dict[str, Any] | None:
        """Return the topics between the paths of a chain, and what its last path sends out."""
        topics: list[str] = []
        last: dict[str, Any] = {}
        for at, segment in items(self._document, chain, place, "segments"):
            self._imported.leave_out_others(segment, at, {"scope": "", "path": "", "via": ""})
            if "via" in segment:
                topics.append(fit(str(segment["via"])))
            last = segment
        if "path" in last:
            ends = [c for c in self._callbacks if c.path == str(last["path"])
                    and (not c.takes or not topics or topics[-1] in c.takes)]  # fmt: skip
            sent = [topic for callback in ends for topic in callback.publishes]
            if len(sent) == 1:
                topics.append(sent[0])
            else:
                way = self._taken(system, topics)
                if way:
                    return {"callbacks": way}
                why = "it sends several topics" if sent else "nobody knows what it sends"
                text = f"its last path '{last['path']}': {why}, so the chain ends before it"
                self._imported.leave_out((*place, "segments"), text)
        if not topics:
            self._imported.leave_out(place, "it has no topics")
            return None
        return {"topics": topics}

    @staticmethod
    def _taken(system: System | None, topics: list[str]) -> list[str]:
        """Return the way by these topics to the only callback that takes the last of them."""
        if system is None or not topics:
            return []
        takers = [c.name for c in system.callbacks if topics[-1] in c.triggers]
        way, problems = by_topics(system, topics, ())
        return [] if problems or len(takers) != 1 else [*way, takers[0]]

    def _requirements(self, nodes: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield a chain for each age that a subscription allows, and for each least rate."""
        for node, about in nodes.items():
            for name, endpoint in self._part(about, ("nodes", node), "sub"):
                topic = self._topic_at(node, name)
                place: Place = ("nodes", node, "sub", name)
                age = span(self._document, endpoint, place, "max_age")
                if age is None:
                    continue
                way = self._back(topic)
                if not any(way[0] in callback.publishes for callback in self._callbacks):
                    text = f"how old '{way[0]}' is when it comes from outside, nobody knows"
                    self._imported.leave_out((*place, "max_age"), text)
                    continue
                text = f"'{topic}': counted until it is published, without the transport"
                self._imported.leave_out((*place, "max_age"), text)
                yield {
                    "name": fit(f"age of {topic} at {node}", 190),
                    "topics": way,
                    "semantics": "latency",
                    "deadline_ms": min(age, MOST_MS),
                }
        for topic, rate in self._least.items():
            if rate:
                yield rate_chain(topic, two_periods(rate))

    def _back(self, topic: str) -> list[str]:
        """Return the topics from where the stamp of a message was made: a timer, or outside."""
        way = [topic]
        while True:
            senders = [c for c in self._callbacks if way[0] in c.publishes]
            before = senders[0].takes[0] if len(senders) == 1 and senders[0].takes else None
            if before is None or before in way:
                return way
            way.insert(0, before)


def rate_chain(topic: str, silent_ms: float, level: str = "") -> dict[str, Any]:
    """Return a chain for the least rate of a topic: so long without a message is a miss.

    level: "warn" or "error": what the first miss is.
    """
    chain = {"name": fit(f"{level or 'least'} rate of {topic}", 190), "topics": [topic],
             "semantics": "latency", "silent_after_ms": min(silent_ms, MOST_MS)}  # fmt: skip
    return {**chain, "on_miss": {f"{level}_after": 1}} if level else chain


def two_periods(rate: float) -> float:
    """Return the time between messages, in ms, from which on one is surely missing."""
    return round(2000 / rate, 6)


def _trigger(path: dict[str, Any]) -> tuple[str, Any]:
    """Return what releases a path: timer, input, once or spontaneous, and of what."""
    trigger = path.get("trigger")
    if isinstance(trigger, dict):
        if "kind" in trigger:  # as in resolved models
            return str(trigger["kind"]), trigger.get("value")
        for kind in ("timer", "input"):
            if kind in trigger:
                return kind, trigger[kind]
    if isinstance(trigger, str):
        return trigger, None
    return ("input", path["input"]) if path.get("input") else ("spontaneous", None)


def _with_own_names(chains: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    used: set[str] = set()
    return [{**chain, "name": free_name(chain["name"], used)} for chain in chains]


def span(document: Document, item: dict[str, Any], place: Place, key: str) -> float | None:
    """Return a time in ms: a number of ms, or with its unit; the key may end in _ms.

    Raises ModelError: It is neither.
    """
    value = item.get(key, item.get(f"{key}_ms"))
    if value is None:
        return None
    found = _SPAN.fullmatch(str(value))
    if found is None or isinstance(value, bool):
        raise wrong(document, (*place, key), f"'{str(value)[:40]}' is no time such as 60 or 60ms")
    ms = round(float(found[1]) * UNITS[found[2] or ""], 6)  # Whole ns.
    if ms <= 0:
        raise wrong(document, (*place, key), "must be above 0")
    return int(ms) if ms == int(ms) else ms
