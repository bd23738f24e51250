# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The screen of `./rclrt top`: by textual's pilot, and in a terminal."""

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from live_program import Program
from rclrt_tools import cli
from rclrt_tools.live.watch import Watch

pytest.importorskip("textual", reason="textual is not installed: top has no screen")

from rclrt_tools.live.top_screen import Grid, Page, Top
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widgets import Static

MS = 1_000_000
HOSTILE = "\x1b]0;owned\x07\x1b[31m/red\x1b[2J\r\n[bold]x[/bold]"


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """200 callbacks, of which number n uses n us of CPU; odd ones are late."""
    program = Program(tmp_path / "live", capacity=512)
    program.ring()
    now = time.monotonic_ns()
    for index in range(200):
        program.callback(index, f"/n_{index:03}/10ms", "/robot", 10 * MS)
        program.job(
            0, index, index, release_ns=now - 20 * MS, ready_ns=now - 20 * MS,
            start_ns=now - 19 * MS, end_ns=now - 18 * MS, cpu_ns=1000 * index, policy=4,
            priority=80, cpus=3, deadline_ns=now - 18 * MS + (1 - index % 2 * 2) * MS,
        )  # fmt: skip
    return tmp_path / "live"


Test = Callable[[Top, "Pilot[Any]"], Awaitable[None]]


def on_screen(live: Path, test: Test, size: tuple[int, int] = (80, 24), **more: Any) -> Top:
    app = Top(Watch([], 5_000 * MS, [live]), **more)

    async def body() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await test(app, pilot)

    asyncio.run(body())
    return app


def lines(app: Top) -> list[str]:
    grid = app.query_one(Grid)
    return [grid.render_line(y).text for y in range(grid.size.height)]


def head(app: Top) -> str:
    return str(app.query_one("#head", Static).render())


def foot(app: Top) -> str:
    return str(app.query_one("#foot", Static).render())


@pytest.mark.parametrize("size", [(80, 24), (140, 40), (40, 10), (250, 60)])
def test_two_hundred_callbacks_fill_the_screen_line_by_line(
    live: Path, size: tuple[int, int]
) -> None:
    async def test(app: Top, pilot: Pilot[Any]) -> None:
        shown = lines(app)
        assert len(shown) == size[1] - 3
        assert all(len(line) == size[0] for line in shown)
        assert "CPU%" in shown[0]
        assert all(f"/n_{199 - n:03}/10ms" in line for n, line in enumerate(shown[1:]))
        assert "1 callbacks 200" in head(app)
        assert "  1 process  1 executor  " in head(app)
        # More room shows more columns.
        assert ("POLICY" in shown[0]) == (size[0] > 80)
        assert ("CPUS" in shown[0]) == (size[0] >= 250)

    on_screen(live, test, size)


def test_keys_sort_reverse_and_filter(live: Path) -> None:
    def names(app: Top) -> list[str]:
        grid = app.query_one(Grid)
        assert grid.table is not None
        return [grid.table.values["name"][row][3:6] for row in grid.rows[:2]]

    async def test(app: Top, pilot: Pilot[Any]) -> None:
        assert names(app) == ["199", "198"]
        await pilot.press("R")
        assert names(app) == ["000", "001"]
        await pilot.press("L")
        assert names(app) == ["001", "003"]
        assert "by LATEST" in head(app)
        await pilot.press("greater_than_sign")
        assert head(app).endswith("by LATE")
        await pilot.press("less_than_sign", "less_than_sign")
        assert "by RESP^" in head(app)
        await pilot.press("B", "N")
        assert names(app) == ["000", "001"]
        await pilot.press("slash", *"_17")
        assert names(app) == ["170", "171"]
        await pilot.press("enter", "P")
        assert names(app) == ["179", "178"]
        assert "filter '_17': 10" in foot(app)
        await pilot.press("escape")
        assert names(app) == ["199", "198"]
        await pilot.press("i")
        assert len(app.query_one(Grid).rows) == 200

    on_screen(live, test)


def test_what_wants_to_be_seen_is_red_and_nothing_else(live: Path) -> None:
    async def test(app: Top, pilot: Pilot[Any]) -> None:
        grid = app.query_one(Grid)
        for line, late in ((1, True), (2, False), (3, True)):
            red = [
                segment.text.strip()
                for segment in grid.render_line(line)
                if segment.style and segment.style.color and segment.style.color.name == "red"
            ]
            assert red == (["1.000", "1"] if late else [])  # LATEST, LATE

    on_screen(live, test)


def test_keys_move_and_the_cursor_stays_on_the_screen(live: Path) -> None:
    async def test(app: Top, pilot: Pilot[Any]) -> None:
        for keys, cursor, top in (
            (["up"], 0, 0),
            (["down", "j"], 2, 0),
            (["k"], 1, 0),
            (["pagedown"], 21, 2),
            (["end"], 199, 180),
            (["pageup"], 179, 179),
            (["down"] * 25, 199, 180),
            (["home"], 0, 0),
        ):
            await pilot.press(*keys)
            assert (app.sorting.cursor, app.sorting.top) == (cursor, top), keys
        await pilot.press("end")
        await pilot.resize_terminal(80, 50)
        await pilot.pause()
        assert (app.sorting.cursor, app.sorting.top) == (199, 154)

    on_screen(live, test)


def test_only_lines_that_have_changed_are_drawn(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(app: Top, pilot: Pilot[Any]) -> None:
        drawn: list[Region] = []
        monkeypatch.setattr(app.query_one(Grid), "refresh", lambda *lines: drawn.extend(lines))
        app._show()
        assert drawn == []
        await pilot.press("down")
        assert drawn == [Region(0, 1, 80, 1), Region(0, 2, 80, 1)]

    on_screen(live, test, delay_s=60.0)


def test_views_pages_and_the_end(live: Path) -> None:
    async def test(app: Top, pilot: Pilot[Any]) -> None:
        for key, title in (("2", "threads"), ("tab", "processes"), ("tab", "findings")):
            await pilot.press(key)
            assert app.table.title == title
            assert len(app.query_one(Grid).rows) > 0
        await pilot.press("tab")
        assert app.table.title == "callbacks"
        await pilot.press("plus", "plus", "minus")
        assert app._delay_s == 2
        for key in ("h", "enter"):
            await pilot.press(key)
            assert isinstance(app.screen, Page)
            text = str(app.screen.query_one(Static).render())
            assert ("quit" in text) == (key == "h")
            lines_of = [line.split()[0] for line in text.splitlines() if line.strip()]
            heads = [column.head for column in app.table.columns]
            assert lines_of[-len(heads) :] == heads
            assert "share of one CPU" in text
            assert ("/n_199/10ms" in text) == (key == "enter")
            await pilot.press("q")
            assert not isinstance(app.screen, Page)
        await pilot.press("q")
        assert app._exit

    on_screen(live, test)


def test_a_pause_keeps_what_is_shown_and_counting_anew_forgets(live: Path) -> None:
    async def test(app: Top, pilot: Pilot[Any]) -> None:
        async def seen() -> object:
            before = app._snapshot
            for _ in range(300):
                await pilot.pause(0.02)
                if app._snapshot is not before:
                    break
            return app._snapshot

        await pilot.press("space")
        assert "PAUSED" in foot(app)
        before = app._snapshot
        await pilot.pause(0.3)
        assert app._snapshot is before
        await pilot.press("space")
        assert await seen() is not before
        assert sum(app.table.values["late"]) == 100
        await pilot.press("c")
        await seen()
        assert sum(app.table.values["late"]) == 0

    on_screen(live, test, delay_s=0.05)


def test_it_ends_by_itself_after_the_time_given(live: Path) -> None:
    Top(Watch([], 5_000 * MS, [live]), 0.1, 0.3).run(headless=True)


def test_nothing_to_show_is_no_error(tmp_path: Path) -> None:
    async def test(app: Top, pilot: Pilot[Any]) -> None:
        await pilot.press(
            "down", "end", "enter", "R", "2", "enter", "4", "pagedown", "less_than_sign"
        )
        assert lines(app)[1].strip() == ""

    on_screen(tmp_path / "none", test)


def test_no_name_can_mark_up_or_move_the_screen(tmp_path: Path) -> None:
    program = Program(tmp_path / "live", program=HOSTILE)
    program.callback(1, HOSTILE)
    (tmp_path / "live" / "\x1b[2J.trace").write_bytes(b"no trace")

    async def test(app: Top, pilot: Pilot[Any]) -> None:
        for key in "1234":
            await pilot.press(key)
            for line in lines(app):
                assert line.isprintable()
                assert len(line) == 300
        await pilot.press("1")
        assert "?]0;owned??[31m/red?[2J??[bold]x[/bold]" in lines(app)[1]
        await pilot.press("enter")
        assert "[bold]x[/bold]" in str(app.screen.query_one(Static).render())

    on_screen(tmp_path / "live", test, (300, 24))


class Terminal:
    """A terminal of tmux with a shell command."""

    def __init__(self, socket: Path, command: str, size: tuple[int, int]) -> None:
        self._tmux = ["tmux", "-u", "-S", str(socket), "-f", "/dev/null"]
        self._do("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), command)

    def _do(self, *arguments: str) -> str:
        return subprocess.run(
            [*self._tmux, *arguments], capture_output=True, text=True, check=True, timeout=60
        ).stdout

    def press(self, *keys: str) -> None:
        self._do("send-keys", *keys)

    def until(self, *texts: str) -> str:
        """Return the screen as soon as it has these."""
        shown = ""
        for _ in range(600):
            shown = self._do("capture-pane", "-p")
            if all(text in shown for text in texts):
                return shown
            time.sleep(0.1)
        raise AssertionError(f"{texts} are not on the screen:\n{shown}")

    def end(self) -> None:
        self._do("kill-server")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed: no terminal")
    begun: list[Terminal] = []

    def begin(live: Path, size: tuple[int, int] = (80, 24)) -> Terminal:
        code = (
            "from pathlib import Path; from rclrt_tools.live.top_screen import Top; "
            f"from rclrt_tools.live.watch import Watch; "
            f"Top(Watch([], 10**12, [Path('{live}')]), 0.2).run(mouse=False)"
        )
        path = ":".join(sys.path)
        command = f'env -u COLUMNS -u LINES PYTHONPATH={path} {sys.executable} -c "{code}"; '
        command += "echo ended $?; exec sleep 100"
        begun.append(Terminal(tmp_path / "tmux", command, size))
        return begun[-1]

    yield begin
    for one in begun:
        one.end()


def test_in_a_terminal_keys_work_and_the_end_leaves_it_clean(
    live: Path, terminal: Callable[..., Terminal]
) -> None:
    screen = terminal(live)
    shown = screen.until("n_199", "q quit").splitlines()
    assert len(shown) == 24
    assert all(len(line) <= 80 for line in shown)
    screen.press("2")
    screen.until("THREAD NAME")
    screen.press("1", "/")
    screen.until("a part of a name")
    screen.press("_17", "Enter")
    screen.until("filter '_17': 10", "n_170")
    screen.press("h")
    screen.until("next view", "count anew")
    screen.press("q")
    screen.until("n_170")
    screen.press("q")
    shown = screen.until("ended 0")
    assert "n_1" not in shown


@pytest.mark.parametrize(
    ("name", "found"), [("textual", None), ("textual.screen", ModuleType("textual.screen"))]
)
def test_without_a_textual_of_now_it_says_what_the_screen_needs(
    name: str,
    found: ModuleType | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delitem(sys.modules, "rclrt_tools.live.top_screen", raising=False)
    monkeypatch.setitem(sys.modules, name, found)
    assert cli.main(["top", "--svg", str(tmp_path / "top.svg")]) == 2
    assert "textual, 1.0 or newer: install it" in capsys.readouterr().err
