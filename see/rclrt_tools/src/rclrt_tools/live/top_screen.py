# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The screen of `./rclrt top`: lines of tables, and keys as top and htop have them."""

import time
from dataclasses import dataclass
from typing import ClassVar

from rclrt_tools.live.short_names import cells
from rclrt_tools.live.table import Column, Table, count, fit, percent
from rclrt_tools.live.top_tables import tables
from rclrt_tools.live.watch import Snapshot, Watch
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

HEAD = Style(reverse=True)
SORTED = Style(reverse=True, bold=True, underline=True)
CURSOR = Style(color="#ffffff", bgcolor="#264f78", bold=True)
BAD = Style(color="red", bold=True)
PLAIN = Style()
FOOT = "q quit  h help  / filter  < > sort  R reverse  Tab view  Space pause  Enter all of a row"
HELP = (
    ("q F10 Ctrl-C", "quit"),
    ("Tab 1 2 3 4 5", "the next view; callbacks, threads, processes, findings, chains"),
    ("arrows", "move; also k and j, PgUp and PgDn, Home and End"),
    ("Enter", "all columns of this row"),
    ("/ F4", "filter by a part of a name, or by a process; Esc: all"),
    ("< >", "sort by the column to the left, to the right"),
    ("P L B N", "sort by CPU, largest lateness, backlog, name"),
    ("R I", "reverse the order"),
    ("i", "leave out what did nothing, or show it; idle parameter services only a filter shows"),
    ("Space Z", "pause, go on"),
    ("c", "count anew: misses, drops, skips"),
    ("+ -", "show anew less often, more often"),
)


@dataclass
class Order:
    """How a view is sorted, and where the cursor is."""

    key: str
    reverse: bool = False
    cursor: int = 0
    top: int = 0


class Said(Static):
    """A text that changes no layout."""

    shown = Text()

    def say(self, text: Text) -> None:
        """Draw this from now on."""
        if text != self.shown:
            self.shown = text
            self.refresh()

    def render(self) -> Text:
        """Return it."""
        return self.shown


class Grid(Widget, can_focus=True):
    """A table; draws the lines that are visible and have changed, whatever the number of rows."""

    DEFAULT_CSS = "Grid { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[Strip] = []
        self.table: Table | None = None
        self.rows: list[int] = []
        self.sorting = Order("")
        self._columns: list[tuple[Column, int]] = []

    def show(self, table: Table, rows: list[int], sorting: Order) -> None:
        """Draw this from now on."""
        self.table, self.rows, self.sorting = table, rows, sorting
        self._columns = table.layout(max(1, self.size.width))
        self.move(0)

    def move(self, lines: int) -> None:
        """Move the cursor, and scroll if need be."""
        page = max(1, self.size.height - 1)
        sorting = self.sorting
        sorting.cursor = max(0, min(sorting.cursor + lines, len(self.rows) - 1))
        first = max(sorting.cursor - page + 1, min(sorting.top, sorting.cursor))
        sorting.top = max(0, min(first, len(self.rows) - page))
        before, self._lines = self._lines, [self._line(y) for y in range(self.size.height)]
        for y, line in enumerate(self._lines):
            if y >= len(before) or before[y] != line:
                self.refresh(Region(0, y, self.size.width, 1))

    def on_resize(self, _: events.Resize) -> None:
        """Choose the columns that fit now."""
        if self.table:
            self.show(self.table, self.rows, self.sorting)

    @property
    def shown(self) -> list[Column]:
        """Return the columns that fit."""
        return [column for column, _ in self._columns]

    def render_line(self, y: int) -> Strip:
        """Return one line."""
        return self._lines[y] if y < len(self._lines) else self._line(y)

    def _line(self, y: int) -> Strip:
        width = self.size.width
        place = self.sorting.top + y - 1
        if self.table is None or (y and place >= len(self.rows)):
            return Strip.blank(width)
        parts = []
        for column, wide in self._columns:
            if y == 0:
                text = fit(column.head, wide, column.is_text)
                style = SORTED if column.key == self.sorting.key else HEAD
            else:
                row = self.rows[place]
                text = self.table.cell(row, column, wide)
                style = CURSOR if place == self.sorting.cursor else PLAIN
                if column.bad(self.table.values[column.key][row]):
                    style += BAD
            between = HEAD if y == 0 else CURSOR if place == self.sorting.cursor else PLAIN
            parts += [Segment(text, style), Segment(" ", between)]
        return Strip(parts).adjust_cell_length(width)


class Page(ModalScreen[None]):
    """A text over the screen, until a key is pressed."""

    DEFAULT_CSS = """
    Page { align: center middle; }
    Page VerticalScroll { width: 94%; height: auto; max-height: 94%; border: round; padding: 0 1; }
    Page Static { width: 100%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, "dismiss", show=False)
        for key in ("escape", "q", "h", "question_mark", "enter")
    ]

    def __init__(self, text: Text) -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        """Return the text in a frame."""
        with VerticalScroll():
            yield Static(self.text)


def _many(number: int, word: str, ending: str) -> str:
    return f"{number} {word}{'' if number == 1 else ending}"


def _keys(action: str, *keys: str) -> list[BindingType]:
    return [Binding(key, action, show=False, priority=key == "tab") for key in keys]


class Top(App[str]):
    """Shows what a `Watch` sees. Without a terminal `run` returns the last screen, as SVG."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; }
    #head { height: 2; }
    #foot { height: 1; }
    #filter { height: 1; border: none; padding: 0; display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *_keys("quit", "q", "f10", "ctrl+c"),
        *_keys("help", "h", "question_mark", "f1"),
        *_keys("view(1)", "tab"),
        *(binding for n in range(5) for binding in _keys(f"view_at({n})", str(n + 1))),
        *_keys("move(-1)", "up", "k"),
        *_keys("move(1)", "down", "j"),
        *_keys("page(-1)", "pageup"),
        *_keys("page(1)", "pagedown"),
        *_keys("move(-1000000)", "home"),
        *_keys("move(1000000)", "end"),
        *_keys("row", "enter"),
        *_keys("filter", "slash", "f4"),
        *_keys("no_filter", "escape"),
        *_keys("sort(-1)", "less_than_sign"),
        *_keys("sort(1)", "greater_than_sign"),
        *_keys("sort_by('cpu')", "P"),
        *_keys("sort_by('latest')", "L"),
        *_keys("sort_by('backlog')", "B"),
        *_keys("sort_by('')", "N"),
        *_keys("reverse", "R", "I"),
        *_keys("idle", "i"),
        *_keys("pause", "space", "Z"),
        *_keys("recount", "c"),
        *_keys("slower(2.0)", "plus"),
        *_keys("slower(0.5)", "minus"),
    ]

    def __init__(self, watch: Watch, delay_s: float = 1.0, seconds: float | None = None) -> None:
        super().__init__()
        self._watch = watch
        self._delay_s = delay_s
        self._seconds = seconds
        self._snapshot: Snapshot | None = None
        self._tables: list[Table] = []
        self._orders: dict[str, Order] = {}
        self._view = 0
        self._wanted = ""
        self._idle = True
        self._paused = False
        self._head, self._grid, self._foot = Said(id="head"), Grid(), Said(id="foot")
        self._asked = Input(placeholder="a part of a name, or a process; Esc: all", id="filter")

    def compose(self) -> ComposeResult:
        """Return what the screen is made of."""
        yield from (self._head, self._grid, self._foot, self._asked)

    def on_mount(self) -> None:
        """Begin."""
        self._grid.focus()
        self._poll()
        self._take()
        if self._seconds:
            self.set_timer(self._seconds, self._end)

    def _end(self) -> None:
        self.exit(self.export_screenshot(title="rclrt top") if self.is_headless else None)

    def _poll(self) -> None:
        self._watch.poll()
        self.set_timer(self._watch.pause_ns / 1e9, self._poll)

    def _take(self) -> None:
        if not self._grid.is_attached:
            return  # It ends.
        if not self._paused:
            self._snapshot = self._watch.snapshot()
            self._tables = tables(self._snapshot)
            self._show()
        self.set_timer(self._delay_s, self._take)

    @property
    def table(self) -> Table:
        """Return the table of this view."""
        return self._tables[self._view]

    @property
    def sorting(self) -> Order:
        """Return how it is sorted."""
        return self._orders.setdefault(self.table.title, Order(self.table.first))

    def _show(self) -> None:
        table, sorting = self.table, self.sorting
        rows = table.order(sorting.key, sorting.reverse, self._wanted, self._idle)
        self._grid.show(table, rows, sorting)
        self._head.say(Text("\n").join(self._heading()))
        self._foot.say(self._footing(len(rows)))

    def _heading(self) -> list[Text]:
        snapshot = self._snapshot
        assert snapshot is not None
        found = self._tables[3]
        parts = [
            f"rclrt top {time.strftime('%H:%M:%S')}",
            _many(len({one.process for one in snapshot.followed}), "process", "es"),
            _many(len(snapshot.followed), "executor", "s"),
            f"{count(sum(one.jobs for one in snapshot.followed))} jobs/s",
            f"CPU {percent(sum(snapshot.cpu.values()))}%",
        ]
        first = Text("  ".join(parts), no_wrap=True)
        second = Text(no_wrap=True)
        for number, table in enumerate(self._tables):
            size = "" if table is found and not len(found) else f" {len(table)}"
            style = HEAD if number == self._view else BAD if table is found and size else PLAIN
            second.append(f" {number + 1} {table.title}{size} ", style)
        turned = " reversed" if self.sorting.reverse else ""
        second.append(f"  by {self.table.column(self.sorting.key).head}{turned}")
        return [first, second]

    def _footing(self, rows: int) -> Text:
        text = Text(no_wrap=True)
        for said, note in (
            (self._paused, "PAUSED"),
            (self._wanted, f"filter '{self._wanted}': {rows} (Esc: all)"),
            (not self._idle, "idle ones hidden"),
        ):
            if said:
                text.append(note, BAD).append("  ")
        if self.table.folded and not self._wanted:
            text.append(f"+{_many(self.table.folded, 'idle parameter service', 's')}  ")
        return text.append(FOOT)

    def action_help(self) -> None:
        """Show the keys, and what the columns are."""
        text = Text()
        for keys, what in HELP:
            text.append(f"{keys:14}", Style(bold=True)).append(f"{what}\n")
        text.append(f"\ncolumns of the {self.table.title}:\n")
        for column in self.table.columns:
            text.append(f"{column.head:11}", Style(bold=True)).append(f"{column.help}\n")
        self.push_screen(Page(text))

    def action_row(self) -> None:
        """Show all of a row."""
        if not self._grid.rows:
            return
        row = self._grid.rows[self.sorting.cursor]
        width = max(20, self.size.width * 94 // 100 - 14)
        text = Text()
        for column in self.table.columns:
            shown = self.table.shown(row, column)
            text.append(f"{column.head:11}", Style(bold=True)).append(shown)
            if cells(shown) + len(column.help) + 2 < width:
                text.append(f"  {column.help}", Style(dim=True))
            text.append("\n")
        self.push_screen(Page(text))

    def action_view(self, step: int) -> None:
        """Show the next view."""
        self.action_view_at((self._view + step) % len(self._tables))

    def action_view_at(self, number: int) -> None:
        """Show this view, if there is one."""
        if number >= len(self._tables):
            return
        self._view = number
        self._show()

    def action_move(self, lines: int) -> None:
        """Move the cursor."""
        self._grid.move(lines)

    def action_page(self, pages: int) -> None:
        """Move the cursor by pages."""
        self._grid.move(pages * max(1, self._grid.size.height - 1))

    def action_sort(self, step: int) -> None:
        """Sort by the column beside, of those that are visible."""
        keys = [column.key for column in self._grid.shown]
        at = keys.index(self.sorting.key) + step if self.sorting.key in keys else 0
        self.action_sort_by(keys[max(0, min(at, len(keys) - 1))])

    def action_sort_by(self, key: str) -> None:
        """Sort by this column, if the table has it; '' is the name."""
        key = key or self.table.stretched
        if key in {column.key for column in self.table.columns}:
            self.sorting.key, self.sorting.reverse = key, False
            self._show()

    def action_reverse(self) -> None:
        """Turn the order round."""
        self.sorting.reverse = not self.sorting.reverse
        self._show()

    def action_idle(self) -> None:
        """Leave out, or show, what did nothing."""
        self._idle = not self._idle
        self._show()

    def action_pause(self) -> None:
        """Keep what is shown; records are read on."""
        self._paused = not self._paused
        self._show()

    def action_recount(self) -> None:
        """Count anew."""
        self._watch.recount()

    def action_slower(self, factor: float) -> None:
        """Show anew more or less often."""
        self._delay_s = max(0.1, min(60.0, self._delay_s * factor))
        self.notify(f"every {self._delay_s:g} s", timeout=2)

    def action_filter(self) -> None:
        """Ask for a text."""
        self._asked.display = True
        self._foot.display = False
        self._asked.focus()

    def action_no_filter(self) -> None:
        """Show all."""
        self._asked.value = ""
        self._filter_done()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while somebody writes."""
        self._wanted = event.value
        if self._tables:
            self.sorting.cursor = 0
            self._show()

    def on_input_submitted(self) -> None:
        """Keep the filter."""
        self._filter_done()

    def _filter_done(self) -> None:
        self._asked.display = False
        self._foot.display = True
        self._grid.focus()
