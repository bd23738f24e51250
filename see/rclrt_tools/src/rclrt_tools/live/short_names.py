# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Names in little room: those that differ look different.

A name that is too long keeps its beginning and its end. Where names would then look the same, what
they have in common is cut, from both ends inwards: of /PointsTransformerFront/subscription/x and
/PointsTransformerRear/subscription/x stay /Poi…Front/subscr… and /Poi…Rear/subscri….
"""

import unicodedata
from functools import lru_cache


def cells(shown: str) -> int:
    """Return how many places a terminal needs for a text."""
    if shown.isascii():
        return len(shown)
    return sum(
        0
        if unicodedata.category(c) in ("Mn", "Me")
        else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in shown
    )


def head(shown: str, width: int) -> str:
    """Return the beginning of a text, at most so wide."""
    width = max(0, width)
    shown = shown[:width]
    while cells(shown) > width:
        shown = shown[:-1]
    return shown


def _tail(shown: str, width: int) -> str:
    return head(shown[::-1], width)[::-1]


@lru_cache(maxsize=64)
def short_names(names: frozenset[str], width: int) -> dict[str, str]:
    """Return each of these names in at most so many places."""
    found: dict[str, str] = {}
    for alike in _alike({name: _whole_words(name, width) for name in names}):
        if len(alike) == 1:
            found |= {name: _middle(name, width) for name in alike}
        else:
            found |= _apart(sorted(alike), width)
    # What different cuts have made alike after all.
    taken: set[str] = set()
    for name in sorted(found):
        text, number = found[name], 2
        while found[name] in taken and number < 10**width:
            mark = f"~{number}"
            found[name], number = head(text, width - len(mark)) + mark, number + 1
        taken.add(found[name])
    return found


def _alike(shown: dict[str, str]) -> list[dict[str, str]]:
    groups: dict[str, dict[str, str]] = {}
    for name, text in shown.items():
        groups.setdefault(text, {})[name] = text
    return list(groups.values())


def _ends(name: str, width: int) -> tuple[str, str]:
    tail = _tail(name, (width - 1) // 2)
    return head(name, width - 1 - cells(tail)), tail


def _middle(name: str, width: int) -> str:
    return name if cells(name) <= width else "…".join(_ends(name, width))


def _whole_words(name: str, width: int) -> str:
    """Return what is left without the middle, but no piece of a word, which says little."""
    if cells(name) <= width:
        return name
    begin, end = _ends(name, width)
    return name[: _word(name, len(begin))] + "…" + name[_next_word(name, len(name) - len(end)) :]


def _apart(names: list[str], width: int) -> dict[str, str]:
    """Return names of which the middle is needed; they differ after a common beginning."""
    begin = _common(names)
    end = _common([name[begin:][::-1] for name in names])
    found: dict[str, str] = {}
    for alike in _alike({name: _around(name, begin, len(name) - end, width) for name in names}):
        is_done = len(alike) in (1, len(names))
        found |= alike if is_done else _apart(sorted(alike), width)
    return found


def _around(name: str, begin: int, end: int, width: int) -> str:
    """Return what differs, from `begin` to `end`, and as much of both ends as there is room for."""
    first = _word(name, begin)
    if cells(name[first:begin]) + 4 > width:
        first = begin
    if (room := width - 1 - cells(name[first:])) >= 0:
        return head(name[:first], room) + "…" + name[first:]
    if cells(name[first : _next_word(name, end)]) + 2 <= width:
        end = _next_word(name, end)
    if (room := width - 2 - cells(name[first:end])) < 0:
        return "…" + head(name[first:], width - 2) + "…"
    tail = _tail(name[end:], room // 2)
    room -= cells(tail)
    if cells(name[:first]) <= room + 1:  # The whole beginning is there.
        return head(name, width - 1 - cells(tail)) + "…" + tail
    return head(name[:first], room) + "…" + name[first:end] + "…" + tail


def _common(texts: list[str]) -> int:
    """Return how long the beginning is that all have."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    return next((at for at, (one, other) in pairs if one != other), len(first))


def _is_word(name: str, place: int) -> bool:
    starts = name[place].isupper() and not name[place - 1].isupper()
    return starts or name[place] == "/" or name[place - 1] in "/_"


def _word(name: str, place: int) -> int:
    """Return where the word begins that this place is in."""
    places = range(min(place, len(name) - 1), 0, -1)
    return next((at for at in places if _is_word(name, at)), 0)


def _next_word(name: str, place: int) -> int:
    """Return where a word begins, from this place on."""
    return next((at for at in range(place, len(name)) if _is_word(name, at)), len(name))
