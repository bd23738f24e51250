# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The report of all experiments, in a browser without a window."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from browsers import browser
from rclrt_analysis.evaluation.compare import Change
from rclrt_analysis.evaluation.experiment import EFFORTS, Experiment, Judged, Run
from rclrt_analysis.evaluation.page import best, make_page, worst
from rclrt_analysis.evaluation.plots import draw, picture
from rclrt_analysis.evaluation.row import Plot, Row, at_most, open_row
from rclrt_analysis.pages.browser import Browser

HOSTILE = "</script><img src=x onerror=alert(1)>"
WIDTH, HEIGHT = 1300, 1000


def experiment(name: str) -> Experiment:
    none = dict.fromkeys(EFFORTS, ())
    return Experiment(
        name, "[X Fig. 1]", "a title", none, dict.fromkeys(EFFORTS, 1.0), lambda *_: Judged([])
    )


def rows(name: str, *ratios: float) -> list[Row]:
    found = [
        at_most(f"r{i}", ratio, 1.0, shape="below 1", printed=0.5) for i, ratio in enumerate(ratios)
    ]
    for row in found:
        row.experiment = name
    return found


def runs() -> list[Run]:
    plots = [
        Plot(HOSTILE, "us", {HOSTILE: [1.0, 2.0, 50.0], "b": [3.0]}, {"paper's p99": 40.0}),
        Plot("growth", "ms", {"a": [1.0, 2.0]}, xs=[1.0, 5.0], x_name="chains"),
    ]
    found = []
    for name, ratios in {"a": (0.5, 0.9), "b": (0.25,), "c": (2.0,), "d": (0.99,)}.items():
        run = Run(experiment(name), ["./rclrt", "bench", name], said=HOSTILE, result={"x": HOSTILE})
        run.rows = rows(name, *ratios)
        run.plots = plots
        found.append(run)
    left = Run(experiment("e"), not_run="no SCHED_FIFO")
    left.rows = [open_row("e", "-", "-", "no SCHED_FIFO")]
    left.rows[0].experiment = "e"
    return [*found, left]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    changes = [Change("a", "r0", "worse", True)]
    text = make_page(runs(), {"CPU": HOSTILE, "load": "0.1"}, "./rclrt bench all", changes)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def opened(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as one:
        one.size(WIDTH, HEIGHT)
        one.open(page)
        yield one


def test_the_widest_margins_and_what_fails_come_first_one_of_each_experiment() -> None:
    every = [row for run in runs() for row in run.rows]
    assert [row.experiment for row in best(every)] == ["b", "a", "d"]
    assert [row.experiment for row in worst(every)] == ["c", "a"]
    assert worst(every)[1].name == "r1", "what is among the best is not among the worst"


def test_the_first_screen_has_the_three_best_and_the_three_worst(opened: Browser) -> None:
    for which in ("best", "worst"):
        assert opened.evaluate(f"document.querySelectorAll('#{which} li').length") == (
            3 if which == "best" else 2
        )
        bottom = opened.evaluate(
            f"document.getElementById('{which}').getBoundingClientRect().bottom"
        )
        assert bottom < HEIGHT
    assert opened.evaluate("scrollY") == 0


def test_it_says_what_holds_where_a_paper_is_ahead_and_what_has_become_worse(
    opened: Browser,
) -> None:
    text = opened.evaluate("document.body.innerText")
    assert "4 hold, 1 do not, 1 could not be judged here" in text
    assert "0.50 in the paper, 0.90 here" in text
    assert "REGRESSION a: r0: worse" in text
    assert "no SCHED_FIFO" in text


def test_every_figure_is_drawn_with_its_curves_and_the_papers_number(opened: Browser) -> None:
    assert opened.evaluate("document.querySelectorAll('svg').length") == 8
    assert opened.evaluate("document.querySelectorAll('#a svg polyline.curve').length") == 3
    assert opened.evaluate("document.querySelector('#a svg line.paper').getBBox().height") > 100
    assert opened.evaluate(
        "[...document.querySelectorAll('svg')].every(s => s.getBoundingClientRect().width > 300)"
    )


def test_raw_json_is_behind_each_and_nothing_of_it_is_run(opened: Browser) -> None:
    raw = "JSON.parse(document.querySelector('#a pre.raw').textContent).x"
    assert opened.evaluate(raw) == HOSTILE
    assert opened.evaluate("document.querySelectorAll('img').length") == 0


def test_on_paper_there_is_no_raw_json(opened: Browser) -> None:
    opened.call("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert opened.evaluate("getComputedStyle(document.querySelector('details')).display") == (
            "none"
        )
    finally:
        opened.call("Emulation.setEmulatedMedia", {"media": "screen"})


@pytest.mark.parametrize(
    "values",
    [[], [0.0], [5.0, 5.0], [-3.0, 0.0, 4.0], [1e-9, 1e9], [0.0] * 300, [1.0, 31.0]],
)
def test_a_figure_of_any_values_lies_within_its_frame(values: list[float]) -> None:
    drawn = ElementTree.fromstring(draw(Plot("t", "us", {"a": values}, {"paper": 2.0})))
    for line in drawn.iter("{http://www.w3.org/2000/svg}polyline"):
        for pair in line.attrib["points"].split():
            x, y = map(float, pair.split(","))
            assert 0 <= x <= 660
            assert 0 <= y <= 300


def test_a_figure_as_a_file_is_whole_and_says_where_it_was_measured() -> None:
    plot = Plot(HOSTILE, "us", {HOSTILE: [1.0, 2.0]}, {"paper's p99": 1.5})
    drawn = ElementTree.fromstring(picture(plot, f"CPU {HOSTILE}"))
    texts = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert f"CPU {HOSTILE}" in texts
    assert next(drawn.iter("{http://www.w3.org/2000/svg}style")).text
