# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Serial links as what they are to an analysis: more resources that run one thing at a time.

A message up from a microcontroller becomes a callback on a non-preemptive resource ordered by
priority (the transmitter of TIDE), the agent a delay, a message down a callback on a FIFO resource.
So every bound and the simulator cover links without knowing of them. micro-ROS sends within the
callback that publishes: there the message prolongs it.

Times are the longest: whether a try is lost, how much of `bytes` is used and how long the agent
takes is not known. So the shortest way up is one try without data.
"""

from dataclasses import replace
from functools import cached_property

from rclrt_analysis.model.system import (
    Callback,
    Chain,
    Executor,
    ExecutorKind,
    Kind,
    Link,
    Policy,
    System,
)

FRAME_BYTES = 19
"""Serial framing 7, message header 4, submessage header 4, prefix 4 (Micro XRCE-DDS client)."""

HANDSHAKE_BYTES = 20
"""A HEARTBEAT, and an ACKNACK."""

HIGHEST = 1_000_001
FIRST_CORE = 1023
"""Resources that are no CPUs get numbers of their own above this, the last that a CPU can have."""

MAX_PARTS = 2_000
"""Callbacks that the messages over all links become, at most."""


class TooManyPartsError(Exception):
    """More than `MAX_PARTS`."""

    def __init__(self) -> None:
        super().__init__(
            f"messages over links become more than {MAX_PARTS} parts. Send fewer, or lower lost"
        )


def transmission(link: Link, count: int) -> int:
    """Return how long so many bytes take, ns, rounded up."""
    return -(-count * 10 * 1_000_000_000 // link.baud)


def message(link: Link, payload: int) -> int:
    """Return how long a message with its frame takes, ns; without bytes that need an escape."""
    return transmission(link, payload + FRAME_BYTES)


def handshake(link: Link) -> int:
    """Return the time from a HEARTBEAT up to the end of its ACKNACK down, ns."""
    return 2 * transmission(link, HANDSHAKE_BYTES) + link.turnaround


def with_links(system: System) -> System:
    """Return the system with every link replaced by what it is made of.

    Raises TooManyPartsError: There would be more than `MAX_PARTS`.
    """
    limit = len(system.callbacks) + MAX_PARTS
    for executor in system.executors:
        if executor.link is not None:
            system = _Expansion(system, executor, executor.link, limit).result()
    return system


class _Expansion:
    """One executor's link."""

    def __init__(self, system: System, executor: Executor, link: Link, limit: int) -> None:
        from rclrt_analysis.bounds.activation import urgencies

        self._executor = executor
        self._link = link
        self._cores = max([FIRST_CORE, *(max(e.cores) for e in system.executors)])
        self._made: list[Callback] = []
        self._room = limit - len(system.callbacks)
        self._executors: list[Executor] = []
        self._sending = self._resource("up", ExecutorKind.PRIORITY_EVENTS)
        self._receiving = self._resource("down", ExecutorKind.EVENTS_FIFO)
        self._up: dict[tuple[str, str], list[str]] = {}
        self._down: dict[str, str] = {}
        # Said for all, because what comes over the link does not inherit.
        self._urgency = urgencies(system)
        fixed = {e.name for e in system.executors if e.policy is Policy.FIXED_PRIORITY}
        self._system = system.each(
            lambda c: (
                replace(c, priority=self._urgency[c.name] or None) if c.executor in fixed else c
            )
        )

    def _resource(self, what: str, kind: ExecutorKind) -> str:
        self._cores += 1
        name = f"{self._executor.name} {what}"
        self._executors.append(Executor(name, kind, cores=(self._cores,)))
        return name

    def _job(
        self,
        name: str,
        resource: str,
        times: tuple[int, int],
        source: str,
        urgency: int,
        topic: str = "",
    ) -> str:
        """Make a callback that `source` releases; return its name, which is what it publishes."""
        if len(self._made) >= self._room:
            raise TooManyPartsError
        least, most = times
        self._made.append(
            Callback(
                name, Kind.SUBSCRIPTION, resource, most, bcet=least, priority=urgency,
                triggers=(source,), publishes=(topic or name,),
            )
        )  # fmt: skip
        return name

    def _send(self, publisher: Callback, topic: str) -> None:
        """Make what a message up goes through, until it is published as `topic`."""
        link, urgency = self._link, self._urgency[publisher.name]
        source = _sent(publisher.name, topic)
        label = publisher.name if len(publisher.publishes) == 1 else f"{publisher.name} {topic}"
        way: list[str] = []
        if self._executor.kind is ExecutorKind.TIDE:
            time = message(link, publisher.bytes or 0)
            first = message(link, 0), time
            source = self._job(f"{label} up", self._sending, first, source, urgency)
            way.append(source)
            # Until a message is acknowledged the transmitter sends nothing else.
            for i in range(link.lost):
                name = f"{label} up again" + (f", {i + 2}" if i else "")
                again = 0, handshake(link) + time
                source = self._job(name, self._sending, again, source, HIGHEST)
                self._made[-1] = replace(self._made[-1], waits=self._wait, repeats=True)
                way.append(source)
            if link.reliable:
                name = f"{label} acknowledged"
                self._job(name, self._sending, (0, handshake(link)), source, HIGHEST)
                self._made[-1] = replace(self._made[-1], waits=self._wait)
        agent = self._resource(f"agent of {label}", ExecutorKind.EVENTS_FIFO)
        way.append(self._job(f"{label} agent", agent, (0, link.turnaround), source, 1, topic))
        self._made[-1] = replace(self._made[-1], bytes=publisher.bytes)
        self._up[publisher.name, topic] = way

    def _receive(self, topic: str) -> None:
        """Make what a message down goes through."""
        times = message(self._link, 0), message(self._link, self._size(topic))
        self._down[topic] = self._job(f"{topic} down", self._receiving, times, topic, 1)
        if self._link.reliable:
            # An ACKNACK may go before it.
            wait = transmission(self._link, HANDSHAKE_BYTES)
            self._made[-1] = replace(self._made[-1], waits=wait)

    def _size(self, topic: str) -> int:
        """Return the most bytes that a message on a topic has."""
        publishers = self._system.publishers[topic]
        return max(self._system.callback_of[name].bytes or 0 for name in publishers)

    @cached_property
    def _wait(self) -> int:
        """How long an ACKNACK waits, ns: for the longest message down, which had begun."""
        mine = [c for c in self._system.callbacks if c.executor == self._executor.name]
        sizes = [self._size(topic) for c in mine for topic in (*c.triggers, *c.reads)]
        return message(self._link, max(sizes)) if sizes else 0

    def result(self) -> System:
        """Return the expanded system."""
        system, mine = self._system, self._executor.name
        read = {t for c in system.callbacks for t in (*c.triggers, *c.reads)}
        for callback in system.callbacks:
            if callback.executor != mine:
                continue
            for topic in callback.publishes:
                if topic in read:
                    self._send(callback, topic)
            for topic in (*callback.triggers, *callback.reads):
                if topic not in self._down:
                    self._receive(topic)
        changed = [self._changed(c) if c.executor == mine else c for c in system.callbacks]
        kinds = {ExecutorKind.TIDE: ExecutorKind.PRIORITY_EVENTS}
        used = {c.executor for c in self._made}
        executors = [
            replace(e, kind=kinds.get(e.kind, e.kind), link=None) if e.name == mine else e
            for e in system.executors
        ]
        return replace(
            system,
            executors=(*executors, *(e for e in self._executors if e.name in used)),
            callbacks=(*changed, *self._made),
            chains=tuple(self._chain(chain) for chain in system.chains),
        )

    def _changed(self, callback: Callback) -> Callback:
        """Return a callback of the microcontroller: it sends to the link, and receives from it."""
        sent = [t for t in callback.publishes if (callback.name, t) in self._up]
        longer = sure = waits = 0
        if self._executor.kind is ExecutorKind.MICRO_ROS:
            # It goes on when the message is sent, or acknowledged.
            lost, time = self._link.lost, message(self._link, callback.bytes or 0)
            sure = message(self._link, 0) if sent else 0  # The first is out before the last.
            longer = len(sent) * (1 + lost) * time
            if self._link.reliable:
                longer += len(sent) * handshake(self._link)
                # [PoDS] has one handshake however many tries; each that is lost may take one.
                waits = len(sent) * (lost * handshake(self._link) + (1 + lost) * self._wait)
        return replace(
            callback,
            wcet=callback.wcet + longer,
            bcet=callback.bcet + sure,
            waits=waits,
            triggers=tuple(self._down[topic] for topic in callback.triggers),
            reads=tuple(self._down[topic] for topic in callback.reads),
            publishes=tuple(
                _sent(callback.name, t) if t in sent else t for t in callback.publishes
            ),
        )

    def _chain(self, chain: Chain) -> Chain:
        names = [chain.callbacks[0]]
        for before, name in zip(chain.callbacks, chain.callbacks[1:], strict=False):
            reader = self._system.callback_of[name]
            wanted = {*reader.triggers, *reader.reads}
            topic = next(t for t in self._system.callback_of[before].publishes if t in wanted)
            names += self._up.get((before, topic), [])
            if reader.executor == self._executor.name:
                names.append(self._down[topic])
            names.append(name)
        return replace(chain, callbacks=tuple(names))


def _sent(publisher: str, topic: str) -> str:
    return f"{publisher} sends {topic}"
