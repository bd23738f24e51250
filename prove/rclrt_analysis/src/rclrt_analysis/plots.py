# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Figures as SVG: distributions or lines, with marks."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 660, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 210, 26, 40
COLORS = ("#1769d6", "#c8553d", "#1c8a4d", "#7b3fc4", "#b77400", "#0e8f9c", "#b8326f", "#5d6b7c")
LOGARITHMIC_FROM = 12.0
"""If the largest value is so many times the smallest."""
MOST_TICKS = 7


@dataclass(frozen=True)
class Plot:
    """Distributions, or lines over `xs`.

    curves: Without `xs` the sorted values of each, all of them or evenly spread ranks; else a value
        for each x.
    marks: The paper's figures.
    """

    title: str
    unit: str
    curves: Mapping[str, Sequence[float]]
    marks: Mapping[str, float] = field(default_factory=dict)
    xs: Sequence[float] = ()
    x_name: str = ""


def draw(plot: Plot) -> str:
    """Return the figure. All names in it are escaped."""
    curves = {name: values for name, values in plot.curves.items() if len(values) > 0}
    parts = list(_lines(plot, curves) if plot.xs else _distributions(plot, curves))
    label = escape(plot.title)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{label}"><text class="title" x="{LEFT}" y="15">{label}</text>'
    )
    return head + "".join(parts) + "</svg>"


STYLE = (
    "text{fill:#1b2430;font:11px system-ui,sans-serif}.title{font-weight:650;font-size:12px}"
    ".tick{fill:#5d6b7c}.grid{stroke:#dfe3e8}.curve{fill:none;stroke-width:1.8}"
    ".paper{stroke:#1b2430;stroke-width:1.4;stroke-dasharray:5 3}"
)


def picture(plot: Plot, caption: str) -> str:
    """Return the figure as a file of its own, which says where it was measured."""
    drawn = draw(plot)
    begin = drawn.index(">") + 1
    more = (
        f'<style>{STYLE}</style><rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
        f'<text class="tick" x="{LEFT}" y="{HEIGHT + 12}">{escape(caption)}</text>'
    )
    # The caption is below the frame.
    head = drawn[:begin].replace(f"{WIDTH} {HEIGHT}", f"{WIDTH} {HEIGHT + 20}")
    more = more.replace(f'height="{HEIGHT}"', f'height="{HEIGHT + 20}"')
    return head + more + drawn[begin:] + "\n"


def _distributions(plot: Plot, curves: dict[str, Sequence[float]]) -> Iterator[str]:
    """Yield what share of the values is not above x, for each curve."""
    every = [v for values in curves.values() for v in values] + list(plot.marks.values())
    x, ticks = _scale(every, LEFT, WIDTH - RIGHT)
    y = _linear(0.0, 100.0, HEIGHT - BOTTOM, TOP)
    yield from _grid(ticks, x, [0, 25, 50, 75, 100], y, f"{plot.unit}", "% not above")
    for color, values in zip(_colors(), curves.values(), strict=False):
        last = max(1, len(values) - 1)
        points = [(x(value), y(100 * i / last)) for i, value in enumerate(values)]
        yield _path(points, color)
    yield from _marks(plot, x)
    yield from _legend(curves, plot)


def _lines(plot: Plot, curves: dict[str, Sequence[float]]) -> Iterator[str]:
    every = [v for values in curves.values() for v in values] + list(plot.marks.values())
    x, _ = _scale(list(plot.xs), LEFT, WIDTH - RIGHT, from_zero=False, linear=True)
    y, ticks = _scale([0.0, *every], HEIGHT - BOTTOM, TOP, linear=True)
    yield from _grid(list(plot.xs), x, ticks, y, plot.x_name, plot.unit)
    for color, values in zip(_colors(), curves.values(), strict=False):
        points = [(x(at), y(value)) for at, value in zip(plot.xs, values, strict=True)]
        yield _path(points, color)
        yield from (
            f'<circle class="curve" cx="{px:.1f}" cy="{py:.1f}" r="1.6" stroke="{color}"/>'
            for px, py in points
        )
    for value in plot.marks.values():
        yield (
            f'<line class="paper" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" '
            f'y2="{y(value):.1f}"/>'
        )
    yield from _legend(curves, plot)


def _colors() -> Iterator[str]:
    """Yield colours; those that come again are dashed."""
    yield from COLORS
    while True:
        yield from (f'{color}" stroke-dasharray="2 2' for color in COLORS)


def _linear(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    return lambda value: begin + (value - low) / ((high - low) or 1.0) * (end - begin)


def _scale(
    values: Sequence[float], begin: float, end: float, from_zero: bool = True, linear: bool = False
) -> tuple[Callable[[float], float], list[float]]:
    """Return where values are, and those that have a number: logarithmic if they differ much."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if not linear and low > 0 and high > LOGARITHMIC_FROM * low:
        place = _linear(math.log(low), math.log(high), begin, end)
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        few = math.log10(high / low) > MOST_TICKS / 2
        digits = (1,) if few else (1, 2, 5)
        ticks = [d * 10.0**decade for decade in decades for d in digits]
        return lambda v: place(math.log(max(v, low))), [t for t in ticks if low <= t <= high]
    if low > 0 and from_zero and low < high / 2:
        low = 0.0
    rough = ((high - low) or abs(high) or 1.0) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    ticks = [low + i * step for i in range(round((high - low) / step) + 1)]
    return _linear(low, high, begin, end), ticks


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _grid(
    xs: Sequence[float], x: Callable[[float], float], ys: Sequence[float],
    y: Callable[[float], float], x_name: str, y_name: str,
) -> Iterator[str]:  # fmt: skip
    for tick in xs:
        at = x(tick)
        yield f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        yield (
            f'<text class="tick" text-anchor="middle" x="{at:.1f}" y="{HEIGHT - BOTTOM + 14}">'
            f"{_number(tick)}</text>"
        )
    for tick in ys:
        at = y(tick)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield (
            f'<text class="tick" text-anchor="end" x="{LEFT - 5}" y="{at + 4:.1f}">'
            f"{_number(tick)}</text>"
        )
    yield (
        f'<text class="tick" text-anchor="middle" x="{(LEFT + WIDTH - RIGHT) / 2}" '
        f'y="{HEIGHT - 8}">{escape(x_name)}</text>'
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield (
        f'<text class="tick" text-anchor="middle" transform="translate(12 {middle}) rotate(-90)">'
        f"{escape(y_name)}</text>"
    )


def _path(points: Sequence[tuple[float, float]], color: str) -> str:
    text = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    return f'<polyline class="curve" points="{text}" stroke="{color}"/>'


def _marks(plot: Plot, x: Callable[[float], float]) -> Iterator[str]:
    for value in plot.marks.values():
        yield (
            f'<line class="paper" x1="{x(value):.1f}" x2="{x(value):.1f}" y1="{TOP}" '
            f'y2="{HEIGHT - BOTTOM}"/>'
        )


def _legend(curves: dict[str, Sequence[float]], plot: Plot) -> Iterator[str]:
    at = TOP + 8
    left = WIDTH - RIGHT + 10
    for color, name in zip(_colors(), curves, strict=False):
        yield (
            f'<line class="curve" x1="{left}" x2="{left + 11}" y1="{at - 4}" y2="{at - 4}" '
            f'stroke="{color}"/>'
        )
        yield f'<text class="tick" x="{left + 16}" y="{at}">{escape(name)}</text>'
        at += 15
    for name, value in plot.marks.items():
        yield f'<line class="paper" x1="{left}" x2="{left + 11}" y1="{at - 4}" y2="{at - 4}"/>'
        yield (
            f'<text class="tick" x="{left + 16}" y="{at}">{escape(name)}: {_number(value)}</text>'
        )
        at += 15
