# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from html.parser import HTMLParser

import pytest
from rclrt_analysis.plots import Plot, draw
from rclrt_tools.reference.measurement import Measurement
from rclrt_tools.reference.page import make_page
from rclrt_tools.reference.result import make_result
from reports import callback, report


class Tags(HTMLParser):
    """Collects what the page would load from somewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.count: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href")]


def page(title: str = "the title") -> str:
    measurement = Measurement("preemptive")
    jobs = [callback("Sink<Fusion", [[0, 8_000_000, 10_000_000, 0, 1, 1]])]
    measurement.add([report([8.0, 7.0], jobs)])
    finding = {"subject": "<b>", "what": "is & was", "errno": 0, "fix": ""}
    measurement.findings.append(finding)
    measurements = [measurement, Measurement("static", failure="crash")]
    return make_page(title, measurements, make_result({"a": 1}, measurements, 7.9), ["a note"])


def test_the_page_loads_nothing_from_anywhere() -> None:
    tags = Tags()
    tags.feed(page())
    assert tags.loaded == []
    assert tags.count["table"] == 1


def test_the_page_has_distributions_and_a_timeline() -> None:
    html = page()
    assert "Distributions" in html
    assert "The worst instance of each executor" in html
    assert "Sink&lt;Fusion" in html, "the row of the callback"
    assert "preemptive (8.0 ms)" in html
    assert html.count('<rect class="main"') == 2, "it waits, and then runs"
    assert "Sink&lt;Fusion waits 8.000" in html
    assert "Sink&lt;Fusion runs 2.000" in html
    assert html.count('<polyline class="curve"') == 1
    assert "ideal: 7.9" in html


def test_text_is_escaped() -> None:
    html = page("<script>alert(1)</script>")
    assert "<script>alert(1)" not in html
    assert "&lt;b&gt;: is &amp; was" in html


@pytest.mark.parametrize(("low", "high"), [(7.9, 33.0), (0.2, 0.5), (3.0, 4.1), (1.0, 900.0)])
def test_an_axis_has_labels_where_the_data_are(low: float, high: float) -> None:
    drawn = draw(Plot("t", "ms", {"a": [low, high]}))
    below = drawn.count('text-anchor="middle" x="') - 1
    assert 2 <= below <= 12
