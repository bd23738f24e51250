# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Latency of chains: the sum of what every hop adds [Davare07], by how data get across it.

- triggered: the message releases the next callback; it adds that callback's response time.
- joined: the next callback waits for messages on other topics as well; their gap is added. If it
  pairs them by their stamps it may wait for more, see `waiting_for_others`.
- sampled: the next callback reads the latest message when it starts; it is released within one gap
  (a timer's period) after the message, so gap + response.

A reaction starts with an event that the first timer has just missed: one period more. Data get as
old as the time between them and the next ones, and the way of those: for a timer as long as its
reaction takes [Günzel23]. Messages from outside are events themselves, so only their age has a gap.

A timer that is sampled by a less urgent one on the same thread or core adds max(R_i - T_{i+1}, 0)
instead of R_i [Dürr19]: what the reader has waiting cannot start before it has ended. Not if
messages take time: then the reader may start while one is on its way.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from rclrt_analysis.bounds.activation import APPROXIMATE, GAPS
from rclrt_analysis.bounds.result import ChainBound, Hop, Local
from rclrt_analysis.bounds.taskset import Ints
from rclrt_analysis.model import Callback, Chain, ExecutorKind, Kind, Policy, System

OWN_TOPICS = "Give the chain topics of its own"


class NoBoundError(Exception):
    """Why a chain has no bound."""


Responses = Mapping[str, Local]


def waiting_for_others(
    system: System, callback: Callback, own: set[str], responses: Responses, whole: bool
) -> int:
    """Return how long a message waits at most until a set with it, or a newer one, is there, ns.

    With the newest of each (`pairs: newest`) until the next message of each other topic. With those
    of the same stamp (message_filters' ExactTime) no longer: stamps come from one callback that
    starts all the ways, so the message that is missing is on its way already.

    With those of about the same stamp (ApproximateTime) longer. A set is around a pivot q, the
    latest of the first messages that wait on each topic, and is settled at the latest when each
    other topic has brought a message of a later stamp, because then all sets with q are known. Let
    m be the chain's message, and S the last set with one older than m in its place. All other
    messages of S are the first ones on their topics that are no earlier than its oldest, and so at
    most the first ones later than m: m may be passed over where a message of another topic was as
    old as the one before m. So the messages that are first after S are at most the second ones
    later than m, and the next pivot is one of them, or m. So m waits on one topic for the second
    message of a later stamp, and then on every other topic for the first one later than that: two
    gaps, and another one.

    own: The topics that the message may be on.
    whole: See `_gap`.
    """
    others = [topic for topic in callback.triggers if topic not in own]
    if callback.pairs != APPROXIMATE:
        every = (_gap(system, callback, topic, responses, whole) for topic in others)
        return max(every, default=0)
    # A later message has the chain's data, too, on a topic that nobody else publishes.
    mine = [t for t in callback.triggers if t in own and len(system.publishers[t]) == 1]
    if not mine:
        raise NoBoundError(f"'{callback.name}' may pair messages of others. {OWN_TOPICS}")
    gaps = {topic: _gap(system, callback, topic, responses, whole) for topic in callback.triggers}

    def until(pivot: str) -> int:
        later = max((gap for topic, gap in gaps.items() if topic != pivot), default=0)
        return 2 * _longest_gap(system, pivot, responses) + later

    return min(max((until(p) for p in callback.triggers if p != t), default=0) for t in mine)


def check_stamps(system: System, chain: Chain, callback: Callback, responses: Responses) -> None:
    """Refuse joins by stamps of which nobody knows whether a set with the chain's data comes."""
    if callback.pairs == "newest":
        return
    if callback.pairs == APPROXIMATE and chain.join == "last":
        raise NoBoundError(
            f"'{callback.name}' pairs messages of about the same stamp, so the one that comes last "
            "is not the last to be waited for. Use join: wait"
        )
    if callback.name in system.paired_before:
        raise NoBoundError(
            f"'{callback.name}' pairs messages by their stamps, and some come from what was paired "
            "by about the same stamps: nobody knows which stamp they have. Use pairs: newest"
        )
    if callback.name in system.may_never_pair:
        starts = set().union(*(system.starts_of(topic) for topic in callback.triggers))
        names = ", ".join(sorted(starts))
        raise NoBoundError(
            f"'{callback.name}' pairs messages of the same stamp, and its inputs begin at {names}: "
            "their stamps need not ever agree. Use pairs: approximate, or one source"
        )
    needed = max(_queue_needed(system, callback, topic, responses) for topic in callback.triggers)
    if needed > callback.queue:
        raise NoBoundError(
            f"'{callback.name}' may have {needed} messages of one topic waiting for others, its "
            f"queue holds {callback.queue}: data may be dropped. Give it queue: {needed}"
        )


def _queue_needed(system: System, callback: Callback, topic: str, responses: Responses) -> int:
    """Return how many messages of a topic may wait at once."""
    gaps = [_longest_gap(system, other, responses) for other in callback.triggers]
    waiting = 1 + max(gaps) * (GAPS if callback.pairs == APPROXIMATE else 1)
    total = 0
    for publisher in system.publishers[topic]:
        output = responses[publisher].output
        if output is None:
            raise NoBoundError(f"'{publisher}' has no bound")
        total += sum(stream.most(waiting) for stream in output.streams)
    return total


def _longest_gap(system: System, topic: str, responses: Responses) -> int:
    """Return how long after any instant the next message on a topic is there at the latest, ns.

    By then its stamp was set as well: in the job that starts the way.
    """
    gaps = []
    for publisher in system.publishers[topic]:
        output = responses[publisher].output
        if output is not None and output.gap is not None:
            gaps.append(output.gap)
    if not gaps:
        raise NoBoundError(f"nothing says how rarely a message comes on '{topic}'")
    return min(gaps)


def _gap(system: System, callback: Callback, topic: str, responses: Responses, whole: bool) -> int:
    """Return the longest time without a message on a topic, or without what leads to one.

    Within a graph that one executor bounds as a whole (`prefix`), that is the time between releases
    at its start, if the response that is added counts from there.
    """
    gaps = []
    for publisher in system.publishers[topic]:
        local = responses[publisher]
        same = system.callback_of[publisher].executor == callback.executor
        if whole and same and local.root_gap is not None:
            gaps.append(local.root_gap)
        elif local.output is not None and local.output.gap is not None:
            gaps.append(local.output.gap + system.overheads.transport + system.overheads.wake)
    if not gaps:
        raise NoBoundError(f"nothing says how rarely a message comes on '{topic}'")
    return min(gaps)


def chain_bound(
    system: System, chain: Chain, responses: Responses, urgency: Mapping[str, int]
) -> ChainBound:
    """Return the bound of one chain: the sum of its hops, ns.

    Where the executor's own bound reaches from the start of its part of the chain, that is taken.

    urgency: Of every callback, see `activation.urgencies`.
    """
    try:
        hops = _hops(system, chain, responses)
    except NoBoundError as reason:
        return ChainBound(chain.name, chain.semantics, None, chain.deadline, reason=str(reason))
    hops = _overlapped(system, hops, urgency)
    total = sum(hop.waiting + hop.response for hop in hops)
    return ChainBound(chain.name, chain.semantics, total, chain.deadline, tuple(hops))


def _response(callback: Callback, responses: Responses) -> int:
    local = responses[callback.name]
    if local.bound is None:
        raise NoBoundError(f"'{callback.name}' has no bound")
    if callback.depth is not None and (local.depth_needed or 1) > callback.depth:
        raise NoBoundError(
            f"'{callback.name}' may have {local.depth_needed} messages waiting, its depth is "
            f"{callback.depth}: messages may be lost"
        )
    return local.bound


def _hops(system: System, chain: Chain, responses: Responses) -> list[Hop]:
    first = system.callback_of[chain.callbacks[0]]
    hops = [_first(system, chain, first, responses)]
    start, since_start, alone = first.name, hops[0].response, True
    for before, name in zip(chain.callbacks, chain.callbacks[1:], strict=False):
        callback = system.callback_of[name]
        published = set(system.callback_of[before].publishes)
        response = _response(callback, responses)
        transport = system.overheads.transport
        if callback.wants_all or not published & set(callback.triggers):
            _check_not_replaced(system, before, callback, alone)
        if not published & set(callback.triggers):
            ways = _next_releases(callback, responses)
            if not ways:
                raise NoBoundError(
                    _replaced(name)
                    if callback.kind is Kind.TIMER
                    else f"nothing says how rarely '{name}' is released"
                )
            gap, response = min(ways, key=sum)
            hop = Hop(name, "sampled", gap + transport, response)
            start, since_start, alone = name, response, True
        elif callback.wants_all:
            waiting = 0
            if chain.join != "last":
                waiting, response = _joined(system, callback, published, responses)
            check_stamps(system, chain, callback, responses)
            hop = Hop(name, "joined", waiting + transport, response)
            start, since_start, alone = "", response, True
        else:
            if _same_unit(system, before, name):
                total = _since(start, callback, system, responses)
                if total is not None:
                    response = min(response, max(0, total - since_start - transport))
                since_start += transport + response
            else:
                start, since_start = name, response
            hop = Hop(name, "triggered", transport, response)
            alone &= len(system.triggered_by(callback)) == 1 and callback.period is None
        hops.append(hop)
    return hops


def _first(system: System, chain: Chain, first: Callback, responses: Responses) -> Hop:
    """Return what comes before the end of the first callback, from where its semantics begin."""
    response = _response(first, responses)
    if chain.semantics == "latency" or (chain.semantics == "reaction" and not _samples(first)):
        return Hop(first.name, "first", 0, response)
    ways = _next_releases(first, responses)
    if first.kind is Kind.TIMER and not ways:
        raise NoBoundError(_replaced(first.name))
    if _samples(first):
        return Hop(first.name, "first", first.period or 0, response)
    if not ways:
        check_stamps(system, chain, first, responses)  # which may be why
        raise NoBoundError(
            f"nothing says how rarely '{first.name}' is released, so its data may get as old as "
            "one likes. Give what comes from outside a gap_ms, or use semantics: reaction"
        )
    return Hop(first.name, "first", *min(ways, key=sum))


def _replaced(timer: str) -> str:
    return (
        f"a job of '{timer}' may wait for longer than its period. Then the next one replaces it "
        "(overruns: keep_latest), and under EDF that may go on for ever. Reduce wcet_ms, or "
        "lengthen period_ms"
    )


def _next_releases(callback: Callback, responses: Responses) -> list[tuple[int, int]]:
    """Return the time to its next release with its response: from that, or from the origin's."""
    local, response = responses[callback.name], _response(callback, responses)
    origins = {} if callback.kind is Kind.TIMER else local.prefix or {}
    ways = ((local.gap, response), (local.root_gap, max(response, 0, *origins.values())))
    return [(gap, until) for gap, until in ways if gap is not None]


def _joined(
    system: System, callback: Callback, own: set[str], responses: Responses
) -> tuple[int, int]:
    """Return how long a message waits for others, and the response of the job with it then."""
    response, prefix = _response(callback, responses), responses[callback.name].prefix
    from_origin = max(response, *(prefix or {"": 0}).values())
    ways = [(True, from_origin)] if prefix else []
    if not prefix or responses[callback.name].gap is not None:
        ways.append((False, response))
    return min(
        (
            (waiting_for_others(system, callback, own, responses, whole), until)
            for whole, until in ways
        ),
        key=sum,
    )


def _samples(first: Callback) -> bool:
    """Return whether it looks at the world when it runs, and so can have just missed an event."""
    return first.kind is Kind.TIMER


def _overlapped(system: System, hops: list[Hop], urgency: Mapping[str, int]) -> list[Hop]:
    """Return the hops, with what the next one's period covers taken off."""
    result = list(hops)
    if system.overheads.transport:
        return result  # the reader may start while the message is on its way
    for i, (hop, following) in enumerate(itertools.pairwise(hops)):
        writer, reader = (system.callback_of[h.callback] for h in (hop, following))
        plain = all(c.kind is Kind.TIMER and not c.jitter for c in (writer, reader))
        ordered = _one_core(system, writer, reader) and urgency[writer.name] > urgency[reader.name]
        if plain and ordered and following.kind == "sampled":
            rest = max(0, hop.response - (reader.period or 0))
            result[i] = replace(hop, response=rest)
    return result


def _one_core(system: System, writer: Callback, reader: Callback) -> bool:
    """Return whether a fixed priority orders the two on one thread or one core."""
    first, second = (system.executor_of[c.executor] for c in (writer, reader))
    if Policy.EDF in (first.policy, second.policy):
        return False
    if first is second and first.kind is ExecutorKind.PRIORITY_EVENTS:
        return True
    if first.reservation is not None or second.reservation is not None:
        return False
    threaded = (ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)
    same = first.cores == second.cores and len(first.cores) == 1
    return same and first.kind in threaded and second.kind in threaded


def _check_not_replaced(system: System, before: str, callback: Callback, alone: bool) -> None:
    """Refuse a latest message that may be one without the chain's data."""
    topics = {*callback.reads, *(callback.triggers if callback.wants_all else ())}
    own = [t for t in system.callback_of[before].publishes if t in topics]
    if not alone or all(len(system.publishers[topic]) > 1 for topic in own):
        raise NoBoundError(
            f"'{callback.name}' takes the latest message of '{before}', which others may "
            f"have caused. {OWN_TOPICS}"
        )


def _same_unit(system: System, before: str, name: str) -> bool:
    """Return whether one bound covers both: the same executor, or threads of the same cores."""
    first, second = (system.executor_of[system.callback_of[n].executor] for n in (before, name))
    threaded = (ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)
    reserved = [e for e in (first, second) if e.reservation is not None and e.kind in threaded]
    shared = first.kind in threaded and second.kind in threaded and first.cores == second.cores
    return not reserved and (first is second or shared)


def _since(start: str, callback: Callback, system: System, responses: Responses) -> int | None:
    """Return the executor's own bound from the start of this part of the chain, if it has one.

    A part that starts within the executor's graph started later than what set it off.
    """
    prefix = responses[callback.name].prefix
    if not prefix:
        return None
    if start in prefix:
        return prefix[start]
    inside = not start or system.callback_of[start].executor == callback.executor
    return max(prefix.values()) if inside else None


def davare(period: Ints, response: Ints, chains: Sequence[Ints]) -> Ints:
    """Return sum(T_i + R_i) over each chain of periodic tasks that sample each other [Davare07].

    period, response: Shape (n,), ns.
    chains: The numbers of each chain's tasks.

    Returns numpy.ndarray: Shape (chains,), ns.
    """
    if not len(chains):
        return np.zeros(0, dtype=np.int64)
    starts = np.cumsum([0] + [len(chain) for chain in chains[:-1]])
    members = np.concatenate(chains)
    total: Ints = np.add.reduceat(period[members] + response[members], starts)
    return total
