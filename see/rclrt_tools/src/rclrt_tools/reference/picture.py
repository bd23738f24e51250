# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The demo's result as a picture (SVG), for a page of the documentation."""

import math
from collections.abc import Callable, Sequence
from html import escape

from rclrt_tools.reference.measurement import Measurement
from rclrt_tools.reference.program import BACKGROUND, QUIET

WIDTH = 860
LEFT = 190
RIGHT = 110
ROW = 44
BAR = 13
TOP = 76
BOTTOM = 58
COLORS = {QUIET: "#2f6f9f", BACKGROUND: "#c8553d"}
NAMES = {QUIET: "alone", BACKGROUND: "beside 4 busy processes a CPU"}


def ticks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times each power of ten."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [
        digit * 10.0**decade
        for decade in decades
        for digit in (1, 2, 5)
        if low <= digit * 10.0**decade <= high
    ]


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(words)}</text>'


def make_picture(title: str, measurements: Sequence[Measurement], ideal_ms: float | None) -> str:
    """Return the picture.

    A bar goes from the median to the 99th percentile (with too few samples: to the maximum);
    the dot is the median, the thin line ends at the maximum. The axis is logarithmic.
    """
    shown = [m for m in measurements if m.latency_ms]
    names = list(dict.fromkeys(m.executor for m in shown))
    values = [value for m in shown for value in m.latency_ms] + ([ideal_ms] if ideal_ms else [])
    low, high = min(values, default=1.0) * 0.9, max(values, default=10.0) * 1.1
    scale = (WIDTH - LEFT - RIGHT) / (math.log(high) - math.log(low))
    height = TOP + ROW * len(names) + BOTTOM

    def x(value: float) -> float:
        return LEFT + (math.log(value) - math.log(low)) * scale

    floor = TOP + ROW * len(names)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="13" fill="#222">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(16, 24, title, 'font-size="15" font-weight="bold"'),
    ]
    loads = [load for load in (QUIET, BACKGROUND) if any(m.load == load for m in shown)]
    at = 16.0
    for load in loads:
        parts.append(f'<rect x="{at}" y="38" width="14" height="10" fill="{COLORS[load]}"/>')
        parts.append(_text(at + 20, 47, NAMES[load]))
        at += 40 + 7.0 * len(NAMES[load])
    for tick in ticks(low, high):
        parts.append(
            f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 6}" y2="{floor}" '
            'stroke="#e2e2e2"/>'
        )
        parts.append(_text(x(tick), floor + 18, f"{tick:g}", 'text-anchor="middle" fill="#555"'))
    parts.append(_text(LEFT, floor + 40, "hot path, ms: dot p50, bar to p99, line to the maximum"))
    if ideal_ms:
        parts.append(
            f'<line x1="{x(ideal_ms):.1f}" x2="{x(ideal_ms):.1f}" y1="{TOP - 6}" y2="{floor}" '
            'stroke="#222" stroke-dasharray="4 3"/>'
        )
        parts.append(_text(x(ideal_ms), TOP - 10, "ideal", 'text-anchor="middle" font-size="11"'))
    for row, name in enumerate(names):
        middle = TOP + ROW * row + ROW / 2
        parts.append(_text(LEFT - 12, middle + 4, name, 'text-anchor="end"'))
        for measurement in (m for m in shown if m.executor == name):
            y = middle if len(loads) == 1 else middle + (-9 if measurement.load == QUIET else 9)
            parts += _bar(measurement, x, y)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _bar(measurement: Measurement, x: Callable[[float], float], y: float) -> list[str]:
    color = COLORS[measurement.load]
    worst = max(measurement.latency_ms)
    median = measurement.percentile(0.5) or worst
    p99 = measurement.percentile(0.99)
    end = worst if p99 is None else p99
    label = f"{median:.1f} / {'-' if p99 is None else f'{p99:.1f}'}"
    return [
        f'<line x1="{x(median):.1f}" x2="{x(worst):.1f}" y1="{y}" y2="{y}" stroke="{color}"/>',
        f'<rect x="{x(median):.1f}" y="{y - BAR / 2}" width="{max(2.0, x(end) - x(median)):.1f}" '
        f'height="{BAR}" fill="{color}" fill-opacity="0.55"/>',
        f'<circle cx="{x(median):.1f}" cy="{y}" r="4.5" fill="{color}"/>',
        _text(x(worst) + 8, y + 4, label, f'fill="{color}" font-size="12"'),
    ]
