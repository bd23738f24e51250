# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What fits into the tables of `./rclrt top`: names, and which rows."""

import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from live_program import BEGIN, MS, Robot
from rclrt_tools.live.activity import Activity
from rclrt_tools.live.files import Process
from rclrt_tools.live.short_names import cells, short_names
from rclrt_tools.live.table import fit
from rclrt_tools.live.top_tables import tables
from rclrt_tools.live.watch import Snapshot, Watched
from rclrt_tools.trace import RECORD, Entry


@pytest.fixture
def robot(tmp_path: Path) -> Robot:
    return Robot(tmp_path / "live")


def job(robot: Robot, callback: int, deadline_ns: int = 0) -> None:
    """It has run a millisecond, until 3 ms ago."""
    begin = BEGIN - 4 * MS
    robot.job(
        0, 0, callback=callback, release_ns=begin, ready_ns=begin, start_ns=begin,
        end_ns=begin + MS, cpu_ns=MS, deadline_ns=deadline_ns,
    )  # fmt: skip


def calls_of_a_screen(callbacks: int) -> int:
    """Return how many functions are called, of Python and of C, while one of them runs."""
    activity = Activity(1000 * MS, 0)
    names = (f"/node/subscription/topic_{i}" for i in range(callbacks))
    activity.learn({i: Entry(name, i, f"{name}'s", 1, 1, -1) for i, name in enumerate(names)})
    records = np.zeros(9, RECORD)
    records["release_ns"] = records["ready_ns"] = records["start_ns"] = np.arange(9) * MS
    records["end_ns"] = records["start_ns"] + MS
    activity.add(records, 20 * MS)
    process = Process(1, 1, 1, "program")
    follower: Any = SimpleNamespace(process=process, header=SimpleNamespace(executor=1, model=1))
    one = Watched(Path("a.trace"), follower, activity, "runs")
    calls: list[str] = []

    def screen() -> None:
        recent, _ = activity.recent(20 * MS)
        shown = tables(Snapshot(20 * MS, [one], [recent], [], {}))
        assert shown[0].order("cpu")[0] == 0

    screen()
    sys.setprofile(lambda _frame, event, _: calls.append(event))
    screen()
    sys.setprofile(None)
    return calls.count("call") + calls.count("c_call")


def test_a_screen_calls_no_function_for_an_idle_callback() -> None:
    assert calls_of_a_screen(300) == calls_of_a_screen(10)


def test_long_texts_are_cut_at_the_end() -> None:
    for text, shown in (("abc", "abc  "), ("abcdef", "abcd…"), ("画像画像", "画像…")):
        assert fit(text, 5, True) == shown
        assert cells(shown) == 5
    assert fit("7", 3, False) == "  7"


LIDARS = (
    "/PointsTransformerFront/subscription/FrontLidarDriver",
    "/PointsTransformerRear/subscription/RearLidarDriver",
    "/FrontLidarDriver/timer/100ms",
    "/RearLidarDriver/timer/100ms",
    "/robot/front_left/driver/subscription/points",
    "/robot/front_right/driver/subscription/points",
)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (14, ("…Front/subscr…", "…Rear/subscri…", "/FrontL…/100ms", "/RearLi…/100ms",
              "/rob…left…ints", "/rob…right…nts")),
        (27, ("/…Front/subscription/Front…", "/P…Rear/subscription/Rear…r",
              "/FrontLidarDr…r/timer/100ms", "/RearLidarDri…r/timer/100ms",
              "/robot/fron…left…ion/points", "/robot/fro…right…ion/points")),
    ],
)  # fmt: skip
def test_names_lose_what_they_have_in_common(width: int, shown: tuple[str, ...]) -> None:
    assert short_names(frozenset(LIDARS), width) == dict(zip(LIDARS, shown, strict=True))
    assert short_names(frozenset({"画像画像"}), 6) == {"画像画像": "画…像"}


def test_names_that_differ_look_different_in_any_width() -> None:
    chance = random.Random(7)
    for _ in range(300):
        letters = chance.choice(("/abAB_c画", "/a", "ab"))
        lengths = [chance.randint(1, 40) for _ in range(chance.randint(1, 60))]
        names = frozenset("".join(chance.choices(letters, k=length)) for length in lengths)
        width = chance.randint(4, 30)
        short_names(names, width - 4)  # Some places are too few.
        shown = short_names(names, width)
        assert len(set(shown.values())) == len(names)
        assert all(cells(text) <= width for text in shown.values())


def test_parameter_services_that_do_nothing_are_folded(robot: Robot) -> None:
    for number, word in enumerate(("list_parameters", "set_parameters_atomically", "add_two")):
        robot.callback(8 + number, f"/robot/service/robot/{word}")
    job(robot, 8)
    table, *_ = tables(robot.watching().snapshot())

    def names(*wanted: str) -> list[str]:
        found = (table.values["name"][row] for row in table.order("name", False, *wanted))
        return [name.rpartition("/")[2] for name in found]

    assert names() == ["add_two", "list_parameters", "scan", "50ms"]
    assert names("parameters") == ["list_parameters", "set_parameters_atomically"]
    assert table.folded == 1


def test_findings_name_their_callback_apart_from_what_is_wrong(robot: Robot) -> None:
    job(robot, 1, BEGIN - 4 * MS)
    found = tables(robot.watching().snapshot())[3]
    line = " ".join(found.cell(0, column, wide) for column, wide in found.layout(80))
    assert "/robot/timer/50ms" in line
    assert " misses deadlines; late by 1.000 ms " in line
