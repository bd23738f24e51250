# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What an analysis says: bounds with their parts, what they assume, or why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from rclrt_analysis.bounds.activation import Activation


class Assumption(str, Enum):
    """What must hold on the real system for a bound to hold; the value is what a file shows."""

    WCET = "wcet_ms of every callback is never exceeded"
    ALONE = (
        "nothing else runs at these priorities on these CPUs: no middleware threads, no other "
        "programs"
    )
    RELEASE_COST = "one release by the timer thread takes at most release_ms"
    NO_SELF_SUSPENSION = "callbacks do not block or sleep"
    SPORADIC = "releases are no closer than period and jitter say"
    INSTANT_TRIGGER = (
        "messages leave anywhere inside a job; they release at once, or transport_ms later"
    )
    IMPLICIT_COMMUNICATION = "callbacks read when they start and publish until they end"
    RUNNING = "chains: every callback has run once; what waits for others to start waits longer"
    NO_LOSS = "queues hold as many messages as 'depth_needed' says"
    NO_SKIP = "no timestamp of a timer is skipped: C + overhead < T, checked"
    PRIORITY_INHERITANCE = "the running job of a group inherits the urgency of those that wait"
    INHERITED = (
        "what inherits urgency from one of several publishers has it once that one has published; "
        "messages are handed over in the thread that publishes"
    )
    ONE_PROGRAM = (
        "executors whose deadlines travel with their messages are in one program: from another one "
        "a deadline is known when the message is taken"
    )
    ENOUGH_THREADS = "the executor has a thread for every group"
    RESERVED = (
        "every reservation is kept: the kernel's admission control is on, GRUB is off, and budgets "
        "end on time (HRTICK_DL, or ticks are short beside them)"
    )
    BUDGETS = (
        "budgets are enforced: the executor spins, may use the priorities that it asks for, and no "
        "lock of the program is held beyond a job"
    )
    THREAD_EACH = "every thread of the executor has a core for itself"
    NEWEST = (
        "what waits for messages on all of its topics takes the newest of each; for those that "
        "message_filters pairs by their stamps, say pairs"
    )
    STAMPS = (
        "joins by stamps: these are of when the first callback of the way ran (what comes from "
        "outside: when it released), by one clock; ExactTime or ApproximateTime without limits"
    )
    LINK = (
        "no message over a link is longer than its bytes, escapes included, and no HEARTBEAT or "
        "ACKNACK longer than 20 bytes; an ACKNACK goes down before messages that wait; of each "
        "message no more tries than lost fail; turnaround_ms holds"
    )
    ONE_MESSAGE = "every ready timer and the oldest message per round, in order of registration"
    WINDOWS = (
        "one job of every ready entity per polling point: timers, subscriptions, services, "
        "clients; up to foxy each kind in order of registration, up to iron that of its group, "
        "from jazzy on in one that stays while nothing is added or removed"
    )


class RefusedError(Exception):
    """The system is outside of what a bound was proven for; the text says in what."""


@dataclass(frozen=True)
class Local:
    """The bound of one callback on its executor, ns; None where there is none.

    response: From the release of the job to its end.
    from_grid: For timers: from the nominal release to its end.
    own, blocking, overhead: Parts of `response`; interference is the rest.
    prefix: From what starts its chain within the executor to its end, by the name of the callback
        that is released first: tighter than the sum of the responses between.
    output: How its jobs end, which is how its messages come.
    gap: Its releases are no further apart, ns; None also where `root_gap` alone is known.
    root_gap: Releases of what starts its chain that lead to it are no further apart, ns.
    depth_needed: How many of its jobs may be waiting or under way at once.
    reason: Why there is no bound.
    """

    response: int | None
    from_grid: int | None = None
    own: int = 0
    blocking: int = 0
    overhead: int = 0
    prefix: Mapping[str, int] | None = None
    output: Activation | None = None
    gap: int | None = None
    root_gap: int | None = None
    depth_needed: int | None = None
    reason: str = ""

    @property
    def bound(self) -> int | None:
        """What is held against a deadline: from the nominal release of a timer, ns."""
        return self.response if self.from_grid is None else self.from_grid


@dataclass(frozen=True)
class Method:
    """Which bound it was, for people and programs."""

    name: str
    source: str
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True)
class CallbackBound:
    """The result for one callback."""

    name: str
    executor: str
    local: Local
    method: Method
    period: int | None
    deadline: int | None

    @property
    def bound(self) -> int | None:
        """What is held against the deadline: from the nominal release of a timer, ns."""
        return self.local.bound

    @property
    def met(self) -> bool | None:
        """Whether the deadline is met; None without a deadline."""
        if self.deadline is None:
            return None
        return self.bound is not None and self.bound <= self.deadline


@dataclass(frozen=True)
class Hop:
    """One step of a chain: what it adds to the latency, ns."""

    callback: str
    kind: str
    """first, triggered, joined (waits for other inputs), or sampled."""
    waiting: int
    response: int


@dataclass(frozen=True)
class ChainBound:
    """The result for one chain; `bound` in ns, None with the reason."""

    name: str
    semantics: str
    bound: int | None
    deadline: int | None
    hops: tuple[Hop, ...] = ()
    reason: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the deadline is met; None without a deadline."""
        if self.deadline is None:
            return None
        return self.bound is not None and self.bound <= self.deadline


@dataclass(frozen=True)
class Result:
    """The result for a system; `no_verdict` says why its model gets none.

    run_out: Why budgets of the model may run out.
    """

    system: str
    callbacks: tuple[CallbackBound, ...]
    chains: tuple[ChainBound, ...]
    assumptions: tuple[Assumption, ...] = ()
    no_verdict: tuple[str, ...] = ()
    run_out: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether every deadline is shown to be met, and every callback without one has a bound."""
        if self.no_verdict:
            return False
        items: tuple[CallbackBound | ChainBound, ...] = (*self.callbacks, *self.chains)
        return all(i.bound is not None if i.met is None else i.met for i in items)
