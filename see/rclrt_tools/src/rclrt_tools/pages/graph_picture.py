# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Where the callbacks of a system are drawn, and how data get from one to the next.

Data go from left to right: a callback is right of all that release it, and, where that is possible,
of what it reads. Within a column each goes to where its neighbours are, so that few lines cross.
What passes a column has a place of its own there.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from rclrt_analysis.model import System

WIDTH, HEIGHT = 172, 40
ACROSS, DOWN = 58, 14
PASSING = 14
"""Height of the place that a line has in a column that it passes."""
MARGIN = 8
MOST = 200
"""Callbacks in the picture. Of larger systems it has the chains, and as many neighbours as fit."""
SWEEPS = 8
LETTERS = 27


@dataclass(frozen=True)
class Node:
    """A callback: its upper left corner, and its name in at most two lines."""

    name: str
    x: float
    y: float
    lines: tuple[str, ...]
    where: str


@dataclass(frozen=True)
class Edge:
    """Data from one to another; `reads` if they are picked up later. `path` is one of SVG."""

    source: str
    target: str
    reads: bool
    path: str


@dataclass(frozen=True)
class Picture:
    """All of it; `left_out` callbacks are not in it."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    width: float
    height: float
    left_out: int


@dataclass
class _Place:
    """A callback in its column, or a line that passes there."""

    column: int
    name: str = ""
    near: "list[_Place]" = field(default_factory=list)
    y: float = 0.0

    @property
    def height(self) -> float:
        return HEIGHT + DOWN if self.name else PASSING

    @property
    def middle(self) -> float:
        return self.y + (HEIGHT if self.name else PASSING) / 2


Link = tuple[str, str]


def make_picture(system: System) -> Picture:
    """Return the picture of a system."""
    shown = _shown(system)
    links = {link: reads for link, reads in _links(system).items() if {*link} <= shown}
    columns = _columns(system, [name for name in _in_order(system) if name in shown], links)
    places = {name: _Place(column, name) for name, column in columns.items()}
    by_column: list[list[_Place]] = [[] for _ in range(max(columns.values(), default=-1) + 1)]
    for place in places.values():
        by_column[place.column].append(place)
    ways = {link: _way(places[link[0]], places[link[1]], by_column) for link in links}
    _arrange(by_column)
    nodes = [
        Node(name, _x(place.column), place.y, _lines(name), _where(system, name))
        for name, place in places.items()
    ]
    edges = [Edge(*link, links[link], _path(way)) for link, way in ways.items()]
    low = max((one.y + one.height for column in by_column for one in column), default=0.0)
    width = _x(len(by_column)) - ACROSS + MARGIN if by_column else 0
    return Picture(nodes, edges, width, low + MARGIN, len(system.callbacks) - len(shown))


def _shown(system: System) -> set[str]:
    """Return which callbacks are drawn: all, or those of chains, then what is next to them."""
    if len(system.callbacks) <= MOST:
        return {callback.name for callback in system.callbacks}
    found = dict.fromkeys(name for chain in system.chains for name in chain.callbacks)
    near: dict[str, list[str]] = {}
    for one, other in _links(system):
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    for name in [*found]:
        found |= dict.fromkeys(near.get(name, ()))
    found |= dict.fromkeys(callback.name for callback in system.callbacks)
    return set(list(found)[:MOST])


def _links(system: System) -> dict[Link, bool]:
    """Return which sends to which, and whether that one only reads it."""
    found: dict[Link, bool] = {}
    for callback in system.callbacks:
        for topics, reads in ((callback.triggers, False), (callback.reads, True)):
            for topic in topics:
                for publisher in system.publishers.get(topic, ()):
                    found.setdefault((publisher, callback.name), reads)
    return found


def _in_order(system: System) -> list[str]:
    """Return all callbacks, what releases one before it, and chains in their own order."""
    rank = {name: i for i, name in enumerate(system.topological)}
    first: dict[str, tuple[int, int]] = {}
    for chain in system.chains:
        for i, name in enumerate(chain.callbacks):
            first.setdefault(name, (i, rank[name]))
    order = sorted(rank, key=lambda name: first.get(name, (len(rank), rank[name])))
    done: dict[str, None] = {}
    for name in order:
        stack = [name]
        while stack:
            one = stack[-1]
            missing = [p for p in system.triggered_by(system.callback_of[one]) if p not in done]
            if missing:
                stack += missing
            else:
                done[stack.pop()] = None
    return list(done)


def _columns(system: System, order: list[str], links: dict[Link, bool]) -> dict[str, int]:
    """Return the column of each: right of what comes before it in the order and sends to it."""
    rank = {name: i for i, name in enumerate(order)}
    column = dict.fromkeys(order, 0)
    before: dict[str, list[str]] = {}
    for source, target in links:
        if rank[source] < rank[target]:
            before.setdefault(target, []).append(source)
    for name in order:
        column[name] = max((column[one] + 1 for one in before.get(name, ())), default=0)
    # What nothing leads to stands beside what it sends to.
    for name in reversed(order):
        after = [column[t] for s, t in links if s == name and rank[t] > rank[name]]
        if after and not before.get(name):
            column[name] = min(after) - 1
    return column


def _way(source: _Place, target: _Place, by_column: list[list[_Place]]) -> list[_Place]:
    """Return where a line goes along, and give it places in the columns that it passes."""
    step = 1 if target.column > source.column else -1
    way = [source]
    for column in range(source.column + step, target.column, step):
        passing = _Place(column)
        by_column[column].append(passing)
        way.append(passing)
    way.append(target)
    for one, other in itertools.pairwise(way):
        if one.column != other.column:
            one.near.append(other)
            other.near.append(one)
    return way


def _arrange(by_column: list[list[_Place]]) -> None:
    for column in by_column:
        _stack(column)
    for sweep in range(SWEEPS):
        forth = sweep % 2 == 0
        for column in by_column if forth else by_column[::-1]:
            wanted = {id(one): _wanted(one, forth) for one in column}
            column.sort(key=lambda one: wanted[id(one)])
            _stack(column, wanted)
    top = min((one.y for column in by_column for one in column), default=0.0)
    for column in by_column:
        for one in column:
            one.y += MARGIN - top


def _wanted(one: _Place, forth: bool) -> float:
    """Return where it wants to be: between its neighbours of the column that was done before."""
    near = [n.middle for n in one.near if (n.column < one.column) == forth]
    return (sum(near) / len(near) if near else one.middle) - one.height / 2


def _stack(column: list[_Place], wanted: dict[int, float] | None = None) -> None:
    """Put them below each other, as near to where they want to be as the order allows."""
    low = 0.0
    for i, one in enumerate(column):
        place = wanted[id(one)] if wanted else low
        one.y = place if i == 0 else max(place, low)
        low = one.y + one.height
    if wanted:  # All were pushed down; bring them back to the middle of what they want.
        off = sum(one.y - wanted[id(one)] for one in column) / max(1, len(column))
        for one in column:
            one.y -= off


def _x(column: int) -> float:
    return MARGIN + column * (WIDTH + ACROSS)


def _path(way: list[_Place]) -> str:
    """Return a line of curves from the right edge of the first to the left edge of the last."""
    back = way[-1].column <= way[0].column
    x, y = _x(way[0].column) + WIDTH, way[0].middle
    parts = [f"M{x:.0f} {y:.1f}"]
    if back:  # A reader that comes earlier: around, below both.
        end_x, end_y = _x(way[-1].column), way[-1].middle
        low = max(one.y for one in way) + HEIGHT + DOWN
        parts.append(
            f"C{x + ACROSS:.0f} {low:.1f} {end_x - ACROSS:.0f} {low:.1f} {end_x:.0f} {end_y:.1f}"
        )
        return "".join(parts)
    for one in way[1:]:
        left = _x(one.column)
        half = (x + left) / 2
        parts.append(f"C{half:.0f} {y:.1f} {half:.0f} {one.middle:.1f} {left:.0f} {one.middle:.1f}")
        y = one.middle
        x = left
        if not one.name:
            x = left + WIDTH
            parts.append(f"H{x:.0f}")
    return "".join(parts)


def _lines(name: str) -> tuple[str, ...]:
    """Return a name in two lines: the node, and which of its callbacks."""
    head, slash, tail = name.strip("/").partition("/")
    for kind in ("timer", "subscription", "service", "client", "waitable"):
        before, found, after = name.partition(f"/{kind}/")
        if found:
            head, slash, tail = before.strip("/"), "/", f"{kind} {after}"
            break
    return tuple(_cut(part) for part in (head, tail if slash else "") if part)


def _cut(text: str) -> str:
    return text if len(text) <= LETTERS else "\u2026" + text[1 - LETTERS :]


def _where(system: System, name: str) -> str:
    executor = system.executor_of[system.callback_of[name].executor]
    return f"{executor.name}, CPU {', '.join(map(str, executor.cores))}"
