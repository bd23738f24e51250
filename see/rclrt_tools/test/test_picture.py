# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from rclrt_tools.reference.executors import BACKGROUND, QUIET
from rclrt_tools.reference.measurement import Measurement
from rclrt_tools.reference.picture import COLORS, make_picture

SVG = "{http://www.w3.org/2000/svg}"


def measured(executor: str, load: str, latencies_ms: list[float]) -> Measurement:
    return Measurement(executor, load, latency_ms=latencies_ms)


def test_each_row_has_a_bar_from_its_median_and_says_its_figures() -> None:
    rows = [
        measured("waitset <1>", QUIET, [10.0] * 100),
        measured("waitset <1>", BACKGROUND, [100.0] * 150),
        measured("hot", QUIET, [8.0] * 100),
        measured("hot", BACKGROUND, [8.0] * 20),
        measured("failed", QUIET, []),
    ]
    picture = make_picture("a & b", rows, 7.0)
    root = ElementTree.fromstring(picture)
    texts = [text.text or "" for text in root.iter(f"{SVG}text")]
    assert "a & b" in texts
    assert "waitset <1>" in texts and "hot" in texts and "failed" not in texts
    assert "100.0 / 100.0" in texts and "8.0 / -" in texts
    dots = {
        (dot.get("fill"), round(float(dot.get("cx", "0")))) for dot in root.iter(f"{SVG}circle")
    }
    quiet = [x for color, x in dots if color == COLORS[QUIET]]
    busy = [x for color, x in dots if color == COLORS[BACKGROUND]]
    assert max(busy) > max(quiet) > min(quiet)
    assert min(quiet) == min(busy), "8 ms both"
    ticks = [float(text) for text in texts if re.fullmatch(r"[0-9.]+", text)]
    assert ticks == sorted(ticks) and {10.0, 50.0, 100.0} <= set(ticks)


def test_without_samples_there_is_an_empty_picture() -> None:
    ElementTree.fromstring(make_picture("t", [measured("a", QUIET, [])], None))
