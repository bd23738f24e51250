#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Draw which callback had the CPU: one panel for each folder of traces, some 300 ms of it.

    RCLRT_EXAMPLES_TRACES=traces pytest ...     # the tests keep their traces there
    picture.py traces > examples.svg

A bar is a job, from its start to its end. A more urgent one above it has the CPU meanwhile.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from examples import Job, jobs_in

WIDTH, NAMES, ROW, MS, COLUMNS = 460, 150, 13, 300, 2
COLORS = {"fifo": "#0b6e99", "other": "#8a8f94"}
STYLE = (
    "text{font:9px sans-serif;fill:#333}.t{font-weight:bold;font-size:11px}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}}"
)


def shown(name: str) -> bool:
    """Whether a callback is of the example: none that every node has."""
    return not any(word in name for word in ("parameter", "/clock", "describe", "type_desc"))


def panel(title: str, jobs: dict[str, list[Job]]) -> tuple[list[str], int]:
    """Return the lines of a panel and its height: the most urgent callback on top."""
    rows = {name: all_ for name, all_ in jobs.items() if shown(name)}
    order = sorted(rows, key=lambda name: -max(job.priority for job in rows[name]))
    # From the middle of the longest job that has a whole picture behind it.
    longest = max((j for all_ in rows.values() for j in all_), key=lambda j: j.end - j.start)
    began = (longest.start + longest.end) // 2 - MS * 500_000
    lines = [f'<text class="t" x="0" y="10">{escape(title)}</text>']
    scale = (WIDTH - NAMES - 10) / (MS * 1e6)
    for row, name in enumerate(order):
        y = 16 + row * ROW
        short = name if len(name) < 32 else name[:12] + "…" + name[-18:]
        lines.append(f'<text x="0" y="{y + 9}">{escape(short)}</text>')
        for job in rows[name]:
            start, end = (max(0.0, (t - began) * scale) for t in (job.start, job.end))
            if end == 0 or start > WIDTH - NAMES - 10:
                continue
            width = max(1.2, min(end, WIDTH - NAMES - 10) - start)
            color = COLORS.get(job.policy, "#8a8f94")
            lines.append(
                f'<rect x="{NAMES + start:.1f}" y="{y + 2}" width="{width:.1f}" height="{ROW - 4}" '
                f'fill="{color}"/>'
            )
    return lines, 16 + len(order) * ROW + 14


def main() -> None:
    """Print the picture of the folders below the argument."""
    panels = [(p.name, jobs_in(p)) for p in sorted(Path(sys.argv[1]).iterdir()) if p.is_dir()]
    drawn = [panel(name, jobs) for name, jobs in panels if jobs]
    y, body = 0, []
    for first in range(0, len(drawn), COLUMNS):
        row = drawn[first : first + COLUMNS]
        for column, (lines, _) in enumerate(row):
            body += [f'<g transform="translate({column * WIDTH + 5} {y + 4})">', *lines, "</g>"]
        y += max(height for _, height in row)
    size = f'width="{COLUMNS * WIDTH}" height="{y + 4}" viewBox="0 0 {COLUMNS * WIDTH} {y + 4}"'
    print(f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>')
    print("\n".join(body))
    print("</svg>")


if __name__ == "__main__":
    main()
