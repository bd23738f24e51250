# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A system as the analysis sees it: callbacks, topics, executors, chains. All times are whole ns.

Built by `rclrt_analysis.model.read_model`, which checks what these classes take for granted: names
are unique and resolve, times are in range, triggers form no cycle.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

NS_PER_MS = 1_000_000


def in_ms(ns: int) -> str:
    """Return a time in ms as people write it."""
    return f"{ns / NS_PER_MS:.6f}".rstrip("0").rstrip(".")


class Kind(str, Enum):
    """What releases a callback."""

    TIMER = "timer"
    SUBSCRIPTION = "subscription"
    SERVICE = "service"
    CLIENT = "client"


class ExecutorKind(str, Enum):
    """Which threads run callbacks."""

    WAIT_SET_SINGLE = "wait_set_single"
    WAIT_SET_MULTI = "wait_set_multi"
    EVENTS_FIFO = "events_fifo"
    PRIORITY_EVENTS = "priority_events"
    ISOLATED = "isolated"
    PREEMPTIVE = "preemptive"
    TIDE = "tide"
    MICRO_ROS = "micro_ros"


class Policy(str, Enum):
    """The order of jobs."""

    FIXED_PRIORITY = "fixed_priority"
    RM = "rm"
    DM = "dm"
    EDF = "edf"


class Release(str, Enum):
    """Which thread runs what a timer releases [Teper25 §IV]."""

    RELEASE_ONLY = "release_only"
    RELEASE_AND_EXECUTE = "release_and_execute"


@dataclass(frozen=True)
class Overheads:
    """What the machine and the executor cost, each an upper bound in ns.

    release: One release by the timer thread: delta of [Teper25 §VI-B].
    dispatch: From picking a job to the user's code; added to every execution time.
    context_switch: One switch between threads; a preemptive job is charged two.
    transport: From publication to the release of the subscription.
    wake: From the release of a job by another core until its own core turns to it.
    late: How late a timer may be released.
    receive: What a message from another executor costs the reader's CPU besides: the middleware's
        threads, above all callbacks.
    publish: For how long one publication may hold up what is more urgent than its callback:
        meanwhile its thread is as urgent as what it releases.
    watch: One look at budgets by the thread that watches them.
    stolen, window: What takes a core from everybody, interrupts for example: so much at most in
        each such time.
    measured: How they were measured, in words; empty: they are stated.
    """

    release: int = 0
    dispatch: int = 0
    context_switch: int = 0
    transport: int = 0
    wake: int = 0
    late: int = 0
    receive: int = 0
    publish: int = 0
    watch: int = 0
    stolen: int = 0
    window: int = 0
    measured: str = ""


@dataclass(frozen=True)
class Above:
    """Something that runs before all callbacks, as often as a timer; times in ns."""

    period: int
    jitter: int
    cost: int


@dataclass(frozen=True)
class Reservation:
    """A share of a core for one thread, as SCHED_DEADLINE gives: `budget` in every `period`, ns."""

    budget: int
    period: int


@dataclass(frozen=True)
class Budget:
    """CPU time with the priority that is asked for, in each period; ns (docs/how-to/budgets.md).

    demotes: What needs more loses its priority until the period ends; False: it loses releases.
    """

    runtime: int
    period: int
    demotes: bool = True

    @property
    def taken(self) -> int:
        """What it takes from others in a period, with what the engine's watch lets pass, ns."""
        return self.runtime + max(self.runtime // 32 + 1, 50_000)


@dataclass(frozen=True)
class Link:
    """A serial link between a microcontroller and its agent; times in ns.

    baud: Bits per second; a byte is 10 bits (8N1).
    turnaround: Agent and USB, between a message up and one down.
    reliable: Whether messages up are acknowledged.
    lost: How many tries of each message up are lost at most, if reliable.
    """

    baud: int = 115_200
    turnaround: int = 0
    reliable: bool = False
    lost: int = 0


@dataclass(frozen=True)
class Executor:
    """An executor and the cores its threads may use.

    threads: None: as many as there are groups.
    reservation: Of each of its threads, on the one core.
    link: Of a microcontroller's executor: what its messages to others and theirs to it go over.
    budgets: Of groups, by name: each is one that all callbacks of the group share.
    """

    name: str
    kind: ExecutorKind
    policy: Policy = Policy.FIXED_PRIORITY
    release: Release = Release.RELEASE_ONLY
    cores: tuple[int, ...] = (0,)
    threads: int | None = None
    reservation: Reservation | None = None
    link: Link | None = None
    budgets: tuple[tuple[str, Budget], ...] = ()


UNSAID = "unknown"


@dataclass(frozen=True)
class Origin:
    """Where a time of a callback comes from.

    word: measured, stated, analysed; `UNSAID` if the model does not say.
    factor: What a measured time was multiplied by (a measured period divided), to be safe.
    """

    word: str = UNSAID
    factor: float = 1.0


Assumptions = tuple[tuple[str, Origin], ...]
"""By field of the file."""


@dataclass(frozen=True)
class Callback:
    """A callback.

    period: Of a timer; of another callback the least time between two releases that come from
        outside of the model; None if topics of the model alone release it.
    jitter: How much later than its grid a release may come.
    gap: Releases from outside of the model are no further apart; None: nobody knows.
    offset: First release of a timer, or None if phases are unknown.
    deadline: Relative to the release, of a timer to its grid; None: none. Of a timer the period
        unless given.
    deadline_from, clock_error: What the deadline counts from: "release", or a stamp of the message,
        "source_stamp" or "header_stamp", by a clock that may be so far apart from this machine's,
        ns.
    priority: Larger is more urgent; None: the policy or the trigger says.
    group: Callbacks of one group exclude each other; "" for a group of its own.
    triggers: Topics whose messages release it.
    wants_all: Released once there is a new message on each of `triggers`, not by each message.
    pairs, queue: If `wants_all`: which messages go together, "newest", or by stamps "exact",
        "approximate"; then so many of each topic wait at most.
    reads: Topics whose latest message it reads when it starts.
    publish_least, publish_most: Messages leave after so much of the job's execution time, ns; None:
        up to all of it.
    depth: How many messages may wait; None: enough.
    bytes: Size of each message it publishes, at most, for those that go over a link.
    waits: What it may wait for, at most, that no other callback stands for; bounds add it to
        `wcet`.
    repeats: A part of a link that sends once more: a job takes `wcet`, or nothing if the message
        got through before.
    assumptions: Where its times come from; safety factors are in the times already.
    budget: Of its own; None: none, or that of its group.
    """

    name: str
    kind: Kind
    executor: str
    wcet: int
    bcet: int = 0
    period: int | None = None
    jitter: int = 0
    gap: int | None = None
    offset: int | None = None
    deadline: int | None = None
    deadline_from: str = "release"
    clock_error: int | None = None
    priority: int | None = None
    group: str = ""
    triggers: tuple[str, ...] = ()
    wants_all: bool = False
    pairs: str = "newest"
    queue: int = 1
    reads: tuple[str, ...] = ()
    publishes: tuple[str, ...] = ()
    publish_least: int = 0
    publish_most: int | None = None
    depth: int | None = None
    bytes: int | None = None
    waits: int = 0
    repeats: bool = False
    assumptions: Assumptions = ()
    budget: Budget | None = None

    @property
    def silent(self) -> int:
        """No message leaves before so much of the execution time, ns."""
        return min(self.publish_least, self.bcet, self.wcet)

    @property
    def is_stamped(self) -> bool:
        """Whether its deadlines count from stamps of messages."""
        return self.deadline_from != "release"

    @property
    def longest_gap(self) -> int | None:
        """No two releases by time or from outside are further apart on their grid, ns."""
        return self.period if self.kind is Kind.TIMER else self.gap


@dataclass(frozen=True)
class Chain:
    """Callbacks that data pass through, and how long that may take.

    docs/concepts/chains.md has a picture of each of the semantics.

    semantics: "reaction": from an event outside that the first callback has just missed to the end
        of the last callback. "age": from when the first callback got data until the last one has
        replaced what came of them. "latency": from the release of the first callback.
    join: At a callback that waits for messages of other topics as well: "wait" counts that waiting.
        "last" counts only data whose own message was the last to come.
    warn_after, error_after: So many misses in a row are a warning, an error; None: none are.
    silent_after: A chain that brings out nothing new for so long has missed, ns.
    """

    name: str
    callbacks: tuple[str, ...]
    deadline: int | None = None
    semantics: str = "reaction"
    join: str = "wait"
    warn_after: int | None = None
    error_after: int | None = None
    silent_after: int | None = None


CONNECTIONS = (
    "executor_of", "publishers", "successors", "paired_before", "may_never_pair", "topological",
)  # fmt: skip
"""What a system knows of itself that depends on executors and topics alone."""


def _connected_alike(one: Callback, other: Callback) -> bool:
    """Return whether data get to and from two callbacks in the same way."""
    return one is other or (
        (one.period is None) == (other.period is None)
        and all(
            getattr(one, name) == getattr(other, name)
            for name in ("name", "executor", "triggers", "reads", "publishes", "wants_all", "pairs")
        )
    )


@dataclass(frozen=True)
class System:
    """Everything an analysis needs to know.

    no_verdict: Why no bound of this model would prove anything; then it has none.
    above: What takes each core from all callbacks; an analysis puts it in.
    """

    name: str
    executors: tuple[Executor, ...]
    callbacks: tuple[Callback, ...]
    chains: tuple[Chain, ...] = ()
    overheads: Overheads = field(default_factory=Overheads)
    distro: str = "rolling"
    description: str = ""
    no_verdict: tuple[str, ...] = ()
    above: tuple[Above, ...] = ()

    def each(self, change: Callable[[Callback], Callback]) -> "System":
        """Return the system with every callback as `change` makes it."""
        changed = replace(self, callbacks=tuple(map(change, self.callbacks)))
        if all(map(_connected_alike, self.callbacks, changed.callbacks)):
            known = {name: self.__dict__[name] for name in CONNECTIONS if name in self.__dict__}
            changed.__dict__.update(known)
        return changed

    def but(self, name: str, **fields: Any) -> "System":
        """Return the system with these values in the fields of one callback."""
        return self.each(lambda c: replace(c, **fields) if c.name == name else c)

    @cached_property
    def callback_of(self) -> dict[str, Callback]:
        """Callbacks by name."""
        return {callback.name: callback for callback in self.callbacks}

    @cached_property
    def longest_period(self) -> int:
        """The longest period of a callback, ns."""
        return max((callback.period or 0 for callback in self.callbacks), default=0)

    @cached_property
    def executor_of(self) -> dict[str, Executor]:
        """Executors by name."""
        return {executor.name: executor for executor in self.executors}

    @cached_property
    def publishers(self) -> dict[str, tuple[str, ...]]:
        """Names of the callbacks that publish each topic."""
        found: dict[str, list[str]] = {}
        for callback in self.callbacks:
            for topic in callback.publishes:
                found.setdefault(topic, []).append(callback.name)
        return {topic: tuple(names) for topic, names in found.items()}

    def triggered_by(self, callback: Callback) -> list[str]:
        """Return the callbacks whose messages release `callback`, in the order of its topics."""
        return [name for topic in callback.triggers for name in self.publishers.get(topic, ())]

    @cached_property
    def successors(self) -> dict[str, tuple[str, ...]]:
        """Names of the callbacks that each one's data go to: those it releases, and its readers."""
        takers: dict[str, dict[str, None]] = {}
        for callback in self.callbacks:
            for topic in (*callback.triggers, *callback.reads):
                takers.setdefault(topic, {})[callback.name] = None
        return {
            callback.name: tuple({n: None for t in callback.publishes for n in takers.get(t, ())})
            for callback in self.callbacks
        }

    @cached_property
    def paired_before(self) -> frozenset[str]:
        """Names of callbacks that are released by what others paired by about the same stamps."""
        found: set[str] = set()
        for name in self.topological:
            for parent in self.triggered_by(self.callback_of[name]):
                if parent in found or self.callback_of[parent].pairs == "approximate":
                    found.add(name)
        return frozenset(found)

    def starts_of(self, topic: str) -> set[str]:
        """Return the callbacks whose jobs begin the ways to a topic, and so set its stamps."""
        found: set[str] = set()
        seen: set[str] = set()
        left = list(self.publishers.get(topic, ()))
        while left:
            name = left.pop()
            if name in seen:
                continue
            seen.add(name)
            parents = self.triggered_by(self.callback_of[name])
            if not parents or self.callback_of[name].period is not None:
                found.add(name)
            left += parents
        return found

    @cached_property
    def may_never_pair(self) -> frozenset[str]:
        """Names of callbacks that pair by stamps, and nobody knows whether these ever agree."""
        found = set()
        for callback in self.callbacks:
            if callback.pairs != "newest" and callback.name in self.paired_before:
                found.add(callback.name)
            elif callback.pairs == "exact":
                starts = set().union(*(self.starts_of(topic) for topic in callback.triggers))
                if len(starts) != 1:
                    found.add(callback.name)
        return frozenset(found)

    def members(self, executor: str) -> list[Callback]:
        """Return the callbacks of an executor, in the order of the model."""
        return [callback for callback in self.callbacks if callback.executor == executor]

    @cached_property
    def topological(self) -> tuple[str, ...]:
        """Names of all callbacks, each after those that trigger it."""
        done: dict[str, None] = {}
        waiting = {c.name: set(self.triggered_by(c)) for c in self.callbacks}
        children: dict[str, list[str]] = {}
        for name, parents in waiting.items():
            for parent in parents:
                children.setdefault(parent, []).append(name)
        ready = [name for name, parents in waiting.items() if not parents]
        while ready:
            name = ready.pop()
            done[name] = None
            for child in children.get(name, []):
                waiting[child].discard(name)
                if not waiting[child]:
                    ready.append(child)
        return tuple(done)
