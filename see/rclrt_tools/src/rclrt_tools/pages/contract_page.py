# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What was promised and what was seen as one page: chains, their bounds, what would help."""

import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import markupsafe
from rclrt_analysis.bounds.result import CallbackBound, ChainBound, Result
from rclrt_analysis.explanation import Explanation, HopPart, explain, hop_parts
from rclrt_analysis.model import Chain, System
from rclrt_analysis.model.assumptions import premises
from rclrt_analysis.report import interference, ms, premise_lines, slack, verdict
from rclrt_analysis.sensitivity import Margins
from rclrt_tools.pages.frame import render
from rclrt_tools.watch.text import TIGHT
from rclrt_tools.watch.text import verdict as watch_verdict
from rclrt_tools.watch.watch import Seen, Watch

EXPLAINED = 10
"""Chains of which is asked what would help: those with the least slack."""

SECONDS = 10.0
"""For all of these questions."""

BARS = 150
MOST_TICKS = 8
NEAR = 0.2
"""Lines whose texts would cover each other are closer than this share of the scale."""


@dataclass(frozen=True)
class Card:
    """A chain as it is drawn; `scale` ns are as wide as the page."""

    chain: Chain
    bound: ChainBound
    scale: float
    hops: Sequence[HopPart]
    steps: Sequence[Mapping[str, Any]]
    explained: Explanation | None
    seen: Seen | None
    bars: Sequence[tuple[float, float, float]]
    in_doubt: bool = False

    @property
    def tone(self) -> str:
        """Return the class of its slack: no better than what is known of the proof."""
        found = tone(self.bound, self.seen.worst if self.seen else None)
        return "tight" if self.in_doubt and found == "good" else found

    def at(self, ns: float) -> str:
        """Return a place on the scale, percent."""
        return f"{100 * ns / self.scale:.4f}"

    @property
    def marks(self) -> list[tuple[str, int, str]]:
        """Return the lines: name, place, and where its text is so that none covers another."""
        named = (("deadline", self.chain.deadline), ("bound", self.bound.bound))
        lines = sorted((at, name) for name, at in named if at is not None)
        found = []
        for i, (at, name) in enumerate(lines):
            near = i > 0 and at - lines[i - 1][0] < NEAR * self.scale
            place = "right" if at < NEAR * self.scale else "raised" if near else ""
            found.append((name, at, place))
        return found

    @property
    def ticks(self) -> list[float]:
        """Return where the scale has numbers, ns."""
        rough = self.scale / MOST_TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
        return [i * step for i in range(int(self.scale / step) + 1)]


def tone(item: CallbackBound | ChainBound, worst: int | None = None) -> str:
    """Return the colour of a slack: red only for a deadline that somebody stated."""
    if item.deadline is None:
        return ""
    left = slack(item)
    if left is None or left < 0 or (worst or 0) > item.deadline:
        return "late"
    return "tight" if left < TIGHT * item.deadline else "good"


def breaks(name: str) -> markupsafe.Markup:
    """Return a name that may be broken after a slash and before a capital."""
    pieces = re.split(r"(?<=[^/ ]/)|(?<=[a-z])(?=[A-Z])", name)
    return markupsafe.Markup("<wbr>").join(pieces)


def questions(system: System, result: Result, seconds: float = SECONDS) -> dict[str, Explanation]:
    """Return explanations of the chains with the least slack."""
    if result.no_verdict:
        return {}
    chains = sorted((c for c in result.chains if c.bound is not None), key=_by_slack)[:EXPLAINED]
    found: dict[str, Explanation] = {}
    end = time.monotonic() + seconds
    for chain in chains:
        if time.monotonic() > end:
            break
        found[chain.name] = explain(system, chain.name, seconds / len(chains))
    return found


def _by_slack(chain: ChainBound) -> float:
    left = slack(chain)
    return math.inf if left is None else left / max(1, chain.deadline or 1)


def make_page(
    system: System,
    result: Result,
    explained: Mapping[str, Explanation],
    watch: Watch | None = None,
    margins: Margins | None = None,
    only: str | None = None,
) -> str:
    """Return the page; with `only` of one chain."""
    watched = {one.chain.name: one for one in watch.chains} if watch else {}
    content = watch.to_json() if watch else {}
    bounds = {bound.name: bound for bound in result.chains}
    cards = [
        _card(
            system,
            result,
            chain,
            bounds[chain.name],
            explained.get(chain.name),
            watched,
            watch is not None and _in_doubt(content, chain.name),
        )
        for chain in system.chains
        if only in (None, chain.name)
    ]
    cards.sort(key=lambda card: (card.bound.bound is not None, _by_slack(card.bound)))
    longest = max((b.bound for b in result.callbacks if b.bound is not None), default=1)
    return render(
        "contract.html.j2",
        {
            "ms": ms,
            "whole_ms": _whole_ms,
            "slack": slack,
            "interference": interference,
            "tone": tone,
            "breaks": breaks,
        },
        system=system,
        result=result,
        verdict=verdict(result),
        said=watch_verdict(watch, content) if watch else "",
        head=_head(result, content),
        broken=content.get("broken_assumptions", []),
        cards=cards,
        callbacks=[] if only else result.callbacks,
        seen={one["name"]: one for one in content.get("callbacks", ())},
        longest=max(1, longest),
        margins=margins,
        given=premise_lines(premises(system.callbacks)),
    )


def _head(result: Result, seen: Mapping[str, Any]) -> str:
    """Return the colour of the verdict."""
    if not seen:
        return "good" if result.met else "late"
    return "late" if seen["missed"] else "good" if seen["proved"] else "tight"


def _in_doubt(seen: Mapping[str, Any], chain: str) -> bool:
    """Return whether the watch keeps this chain from being proved: then it is not green."""
    broken = any(chain in one["chains"] for one in seen["broken_assumptions"])
    unseen = next(one for one in seen["chains"] if one["name"] == chain)["state"] == "UNSEEN"
    return broken or unseen or seen["lost_records"] > 0


def _card(
    system: System, result: Result, chain: Chain, bound: ChainBound,
    explained: Explanation | None, watched: Mapping[str, Seen], in_doubt: bool = False,
) -> Card:  # fmt: skip
    seen = watched.get(chain.name)
    worst = seen.worst if seen else None
    scale = 1.04 * max(1, bound.bound or 0, chain.deadline or 0, worst or 0)
    hops = list(hop_parts(system, chain, result, bound)) if bound.bound is not None else []
    values = seen.values if seen else []
    return Card(
        chain, bound, scale, hops, _steps(system, chain, hops), explained, seen,
        _bars(values, scale), in_doubt,
    )  # fmt: skip


def _whole_ms(value: float | None) -> str:
    return ms(None if value is None else round(value * 1e6))


def _bars(values: Iterable[int], scale: float) -> list[tuple[float, float, float]]:
    """Return how often which time was seen: left, width and height, percent; heights are logs."""
    counts: dict[int, int] = {}
    for value in values:
        place = int(value / scale * BARS)
        counts[place] = counts.get(place, 0) + 1
    most = math.log1p(max(counts.values(), default=1))
    width = 100 / BARS
    return [
        (i * width, width * 0.86, 100 * math.log1p(n) / most) for i, n in sorted(counts.items())
    ]


def _steps(system: System, chain: Chain, hops: Sequence[HopPart]) -> list[dict[str, Any]]:
    """Return the path through the graph: where each callback runs, and what else it is tied to."""
    found = []
    for i, name in enumerate(chain.callbacks):
        callback = system.callback_of[name]
        executor = system.executor_of[callback.executor]
        before = system.callback_of[chain.callbacks[i - 1]] if i else None
        taken = (*callback.triggers, *callback.reads)
        # `./rclrt trace model` names what it does not know by both ends, which stand beside it.
        topics = [t for t in before.publishes if t in taken and " to " not in t] if before else []
        others = [
            other
            for topic in taken
            for other in system.publishers.get(topic, ())
            if before is None or other != before.name
        ]
        after = chain.callbacks[i + 1 : i + 2]
        found.append(
            {
                "name": name,
                "topic": ", ".join(topics),
                "where": f"{executor.name}, CPU {', '.join(map(str, executor.cores))}",
                "hop": hops[i] if i < len(hops) else None,
                "others": list(dict.fromkeys(others)),
                "leaves": [n for n in system.successors[name] if n not in after],
            }
        )
    return found
