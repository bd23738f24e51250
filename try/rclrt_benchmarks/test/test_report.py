# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The report of all experiments as a page, and its figures."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from rclrt_analysis.plots import Plot, draw, picture
from rclrt_benchmarks.harness.experiment import EFFORTS, Experiment, Run
from rclrt_benchmarks.harness.page import best, make_page, worst
from rclrt_benchmarks.harness.row import Judged, Row, at_most, open_row

HOSTILE = "</script><img src=x onerror=alert(1)>"


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


PAGE = make_page(runs(), {"CPU": HOSTILE, "load": "0.1"}, "./rclrt bench all")


def part(name: str) -> str:
    """Return the text of the element with that id, up to the next one with an id."""
    return PAGE.partition(f'id="{name}"')[2].partition(' id="')[0]


def test_the_widest_margins_and_what_fails_come_first_one_of_each_experiment() -> None:
    every = [row for run in runs() for row in run.rows]
    assert [row.experiment for row in best(every)] == ["b", "a", "d"]
    assert [row.experiment for row in worst(every)] == ["c", "a"]
    assert worst(every)[1].name == "r1", "what is among the best is not among the worst"


def test_the_page_begins_with_the_best_and_the_worst_and_says_where_a_paper_is_ahead() -> None:
    assert (part("best").count("<li"), part("worst").count("<li")) == (3, 2)
    assert PAGE.index('id="best"') < PAGE.index('id="worst"') < PAGE.index('id="a"')
    assert "4 hold, 1 do not, 1 could not be judged here" in PAGE
    assert "0.50 in the paper, 0.90 here" in part("ahead")
    assert "no SCHED_FIFO" in part("e")


def test_every_figure_is_drawn_and_nothing_that_programs_said_is_run() -> None:
    assert PAGE.count("<svg") == 8
    assert len(re.findall('<polyline class="curve"', part("a"))) == 3
    assert part("a").count('<line class="paper"') == 2, "in the figure and in its legend"
    assert HOSTILE not in PAGE
    assert "<img" not in PAGE
    assert "src=" not in re.sub("&lt;img src=x", "", PAGE), "nothing is loaded"
    assert "onerror" in part("a"), "it is shown, escaped"


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
