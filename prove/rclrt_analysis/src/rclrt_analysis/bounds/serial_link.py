# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Latency of chains that go over a serial link: a microcontroller, an agent, and back [PoDS §VI].

n chains on one microcontroller. The timer callback of each publishes `up_bytes` to the agent, which
answers `down_bytes` that release the chain's subscription. Both callbacks take `wcet`, all timers
expire together, the callbacks are not preempted. What is computed is the latency E1 of the most
urgent chain, from its expiry to the end of its subscription.

A model of that set-up with two numbers fitted to the paper's Table 1 (`overhead`, `turnaround`),
not a bound for other phases.
"""

from __future__ import annotations

from dataclasses import dataclass

FRAME_BYTES = 19
"""Serial framing 7, message header 4, submessage header 4, prefix 4 (Micro XRCE-DDS client)."""

HANDSHAKE_BYTES = 20
"""A HEARTBEAT, and an ACKNACK."""


@dataclass(frozen=True)
class Link:
    """A serial link; times in ns.

    Attributes
    ----------
    baud
        Bits per second; a byte is 10 bits (8N1).
    turnaround
        Agent and USB, from the last byte up to the first byte down.
    """

    baud: int = 115_200
    turnaround: int = 850_000

    def bytes(self, count: int) -> int:
        """Return how long so many bytes take, rounded up."""
        return -(-count * 10 * 1_000_000_000 // self.baud)

    def message(self, payload: int) -> int:
        """Return how long a message with its frame takes."""
        return self.bytes(payload + FRAME_BYTES)

    @property
    def handshake(self) -> int:
        """From a HEARTBEAT up to the end of its ACKNACK down."""
        return 2 * self.bytes(HANDSHAKE_BYTES) + self.turnaround


@dataclass(frozen=True)
class SerialChains:
    """The chains; times in ns.

    Attributes
    ----------
    overhead
        Of the executor, per callback.
    reliable
        Whether messages up are acknowledged.
    """

    chains: int
    wcet: int
    up_bytes: int
    down_bytes: int = 10
    overhead: int = 267_000
    reliable: bool = False

    @property
    def callback(self) -> int:
        """One callback with its overhead."""
        return self.wcet + self.overhead


def micro_ros_latency(chains: SerialChains, link: Link, lost: bool = False) -> int:
    """Return E1 under micro-ROS's own executor, ns.

    It sends while it waits: max(n (C + o + X'), (C + o) + X + g + Y) + (C + o), with X' = X, plus
    the handshake if reliable, plus X again if the first try of every message is lost.
    """
    up = link.message(chains.up_bytes)
    sending = up + (link.handshake if chains.reliable else 0) + (up if lost else 0)
    answer = chains.callback + up + link.turnaround + link.message(chains.down_bytes)
    return max(chains.chains * (chains.callback + sending), answer) + chains.callback


def tide_latency(chains: SerialChains, link: Link, lost: bool = False) -> int:
    """Return E1 under TIDE, ns: the link works while the CPU runs on.

    a1 = (C + o) + X + g + Y, plus handshake and X again if the first try is lost; the subscription
    starts at the end of the callback that is running at a1, or at once if none is left.
    """
    c = chains.callback
    arrival = c + link.message(chains.up_bytes) + link.turnaround
    arrival += link.message(chains.down_bytes)
    if lost:
        arrival += link.handshake + link.message(chains.up_bytes)
    if arrival > chains.chains * c:
        return arrival + c
    return c * (1 + -(-arrival // c))


def tide_limit(chains: SerialChains, link: Link, lost: bool = False) -> int:
    """Return a1 + 2 (C + o), ns: not exceeded by `tide_latency`, however many chains there are."""
    alone = SerialChains(
        1, chains.wcet, chains.up_bytes, chains.down_bytes, chains.overhead, chains.reliable
    )
    return tide_latency(alone, link, lost) + chains.callback
