# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How long data wait for messages on other topics where a callback needs one of each.

With the newest of each (`pairs: newest`) until the next message of each other topic. With those of
the same stamp (message_filters' ExactTime) no longer: stamps come from one callback that starts
all the ways, so the message that is missing is on its way already.

With those of about the same stamp (ApproximateTime) longer. A set is around a pivot q, the latest
of the first messages that wait on each topic, and is settled at the latest when each other topic
has brought a message of a later stamp, because then all sets with q are known. Let m be the chain's
message, and S the last set with one older than m in its place. All other messages of S are the
first ones on their topics that are no earlier than its oldest, and so at most the first ones later
than m: m may be passed over where a message of another topic was as old as the one before m. So the
messages that are first after S are at most the second ones later than m, and the next pivot is one
of them, or m. So m waits on one topic for the second message of a later stamp, and then on every
other topic for the first one later than that: two gaps, and another one.
"""

from __future__ import annotations

from collections.abc import Mapping

from rclrt_analysis.bounds.activation import APPROXIMATE, GAPS
from rclrt_analysis.bounds.result import Local
from rclrt_analysis.model import Callback, Chain, System


class NoBoundError(Exception):
    """Why a chain has no bound."""


Responses = Mapping[str, Local]


def waiting_for_others(
    system: System, callback: Callback, own: set[str], responses: Responses
) -> int:
    """Return how long a message waits at most until a set with it, or a newer one, is there, ns.

    Parameters
    ----------
    own
        The topics that the message may be on.
    """
    others = [topic for topic in callback.triggers if topic not in own]
    waiting = max((_gap(system, callback, topic, responses) for topic in others), default=0)
    if callback.pairs != APPROXIMATE:
        return waiting
    gaps = {topic: _gap(system, callback, topic, responses) for topic in callback.triggers}
    until = [
        2 * _longest_gap(system, pivot, responses)
        + max(gap for topic, gap in gaps.items() if topic != pivot)
        for pivot in others
    ]
    return max(until, default=0)


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


def _gap(system: System, callback: Callback, topic: str, responses: Responses) -> int:
    """Return the longest time without a message on a topic, or without what leads to one.

    Within a graph that one executor bounds as a whole (`prefix`), that is the time between releases
    at its start, since the response that is added counts from there.
    """
    whole = responses[callback.name].prefix is not None
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
