# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of any numbers: which columns fit, in which order the rows are, and the text of a cell."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rclrt_tools.live.files import printable
from rclrt_tools.live.short_names import cells, head, short_names

Value = Any  # A number, a text, or None for what is unknown.


def text(value: Value) -> str:
    """Return a text as it is."""
    return "-" if value is None else str(value)


def count(value: Value) -> str:
    """Return a whole number in at most six places."""
    if value is None or math.isnan(value):
        return "-"
    for unit, size in (("", 1.0), ("k", 1e3), ("M", 1e6)):
        if abs(value) < 99_999.5 * size:
            return f"{value / size:.0f}{unit}"
    return f"{value:.0e}"


def number(value: Value) -> str:
    """Return three significant digits or more, in at most six places, a minus besides."""
    if value is None or math.isnan(value):
        return "-"
    if value == 0:
        return "0"
    for below, places in ((9.9995, 3), (99.995, 2), (999.95, 1)):
        if abs(value) < below:
            return f"{value:.{places}f}"
    return count(value)


def ms(value: Value) -> str:
    """Return ns as ms."""
    return number(None if value is None else value / 1e6)


def percent(value: Value) -> str:
    """Return a share as percent."""
    if value is None or math.isnan(value):
        return "-"
    return f"{100 * value:.1f}" if abs(value) < 9.9995 else count(100 * value)


@dataclass(frozen=True)
class Column:
    """One column.

    key: Of its values in a table.
    importance: What does not fit is left out; the lowest is left out last. 0: always there.
    width: Of a column that takes what is left: the least.
    text: Of a value; right-aligned unless the values are texts.
    bad: Whether a value wants to be seen.
    is_name: Texts that are too long are cut so that those that differ look different.
    """

    key: str
    head: str
    width: int
    importance: int
    text: Callable[[Value], str] = text
    help: str = ""
    bad: Callable[[Value], bool] = lambda _: False
    is_name: bool = False

    @property
    def is_text(self) -> bool:
        """Return whether its values are texts."""
        return self.text is text


@dataclass
class Table:
    """Columns, and for each key as many values as there are rows.

    stretched: The key of the column that takes what is left of a line.
    searched: The keys that a filter looks at.
    first: The key that it is sorted by at first.
    busy: The key that is 0 in rows of no interest; none: all are.
    folds: The key that is true in rows that only a filter shows; none: there are none.
    """

    title: str
    columns: tuple[Column, ...]
    values: Mapping[str, Sequence[Value]]
    stretched: str
    searched: tuple[str, ...]
    first: str
    busy: str = ""
    folds: str = ""
    _known: dict[str, frozenset[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values[self.stretched])

    @property
    def folded(self) -> int:
        """Return how many rows only a filter shows."""
        return sum(self.values[self.folds]) if self.folds else 0

    def column(self, key: str) -> Column:
        """Return the column with this key."""
        return next(column for column in self.columns if column.key == key)

    def order(
        self, key: str, reverse: bool = False, wanted: str = "", idle: bool = True
    ) -> list[int]:
        """Return the rows that have the text, largest first but texts from A; unknown last."""
        rows = self._found(wanted)
        if self.folds and not wanted:
            rows = [row for row in rows if not self.values[self.folds][row]]
        if self.busy and not idle:
            rows = [row for row in rows if self.values[self.busy][row]]
        column, values, names = self.column(key), self.values[key], self.values[self.stretched]
        # No function for each row: there may be thousands. NaN differs from itself.
        known = [row for row in rows if (at := values[row]) is not None and at == at]
        unknown = [row for row in rows if (at := values[row]) is None or at != at]
        for some in (known, unknown):
            some.sort(key=names.__getitem__)
        known.sort(key=values.__getitem__, reverse=column.is_text == reverse)
        return known + unknown

    def _found(self, wanted: str) -> list[int]:
        if not wanted:
            return list(range(len(self)))
        wanted = wanted.casefold()
        searched = [self.values[key] for key in self.searched]
        return [
            row
            for row in range(len(self))
            if any(wanted in str(values[row]).casefold() for values in searched)
        ]

    def layout(self, width: int | None) -> list[tuple[Column, int]]:
        """Return the columns that fit into a line, and how wide they are; None: all, in full."""
        if width is None:
            shown = {c.key: [self.shown(row, c) for row in range(len(self))] for c in self.columns}
            return [(c, max(map(cells, [c.head, *shown[c.key]]))) for c in self.columns]
        chosen, left = set(), width
        for column in sorted(self.columns, key=lambda c: c.importance):
            if column.importance and left < column.width + 1:
                break
            chosen.add(column.key)
            left -= column.width + 1
        left += 1
        return [
            (c, max(1, c.width + (left if c.key == self.stretched else 0)))
            for c in self.columns
            if c.key in chosen
        ]

    def cell(self, row: int, column: Column, width: int) -> str:
        """Return the text of a cell, which is exactly so wide."""
        shown = self.shown(row, column)
        if column.is_name and cells(shown) > width:
            shown = short_names(self._names(column.key), width)[shown]
        return fit(shown, width, column.is_text)

    def _names(self, key: str) -> frozenset[str]:
        """Return the names of a column, and those that the reader compares them with."""
        if key not in self._known:
            columns = {key, *(c.key for c in self.columns if c.key == self.stretched and c.is_name)}
            found = {value for key in columns for value in self.values[key]}
            self._known[key] = frozenset(printable(text(value)) for value in found)
        return self._known[key]

    def shown(self, row: int, column: Column) -> str:
        """Return the text of a value, without what a terminal would obey."""
        return printable(column.text(self.values[column.key][row]))


def fit(shown: str, width: int, left: bool) -> str:
    """Return a text that is exactly so wide; what is too long ends with a mark."""
    if cells(shown) > width:
        shown = head(shown, width - 1) + "…"
    room = " " * (width - cells(shown))
    return shown + room if left else room + shown
