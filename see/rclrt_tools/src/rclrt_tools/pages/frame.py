# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What pages have in common: templates, style, and data in them, packed.

Numbers are unpacked only when they are looked at. A table of 32-bit columns is stored byte by byte,
all lowest bytes of a column first, because most of the others are equal then; compressed by
deflate, which browsers undo; in base64.
"""

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import jinja2
import markupsafe
import numpy as np
import numpy.typing as npt
from rclrt_tools.pages.jobs import Density, Jobs
from rclrt_tools.trace import NO_DEADLINE, layout

LOWEST_NS = 100
PER_OCTAVE = 16
"""Bins of a distribution: as many for each doubling, the first from `LOWEST_NS` on."""


def _text(name: str) -> str:
    return (resources.files("rclrt_tools") / "templates" / name).read_text(encoding="utf-8")


def as_json(content: object) -> markupsafe.Markup:
    """Return JSON for a script element: no name in it can end that element."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return markupsafe.Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))


def render(
    template: str, filters: Mapping[str, Callable[..., Any]] | None = None, **names: Any
) -> str:
    """Return a page. Everything that comes from a file or a program is escaped."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(filters or {})
    environment.globals["include"] = lambda name: markupsafe.Markup(_text(name))
    environment.globals["as_json"] = as_json
    return environment.from_string(_text(template)).render(**names)


CHUNK = 1 << 14
NONE = 2**32 - 1
COLUMNS = ("row", "start", "wait", "run", "due", "by", "cpu_ns", "info", "thread")


@dataclass(frozen=True)
class Chunk:
    """Consecutive jobs.

    about: Begin and end in ns, number of jobs, a unit of its times in ns, the first start.
    """

    about: list[int]
    text: str


def pack(columns: Sequence[npt.NDArray[Any]]) -> str:
    """Return columns of 32 bits as text."""
    table = np.stack([column.astype("<u4") for column in columns])
    planes = table.view(np.uint8).reshape(len(columns), -1, 4).transpose(0, 2, 1)
    return base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode("ascii")


def pack_bytes(table: npt.NDArray[Any]) -> str:
    """Return bytes as text."""
    return base64.b64encode(zlib.compress(table.astype(np.uint8).tobytes(), 6)).decode("ascii")


def chunks(jobs: Jobs) -> Iterator[Chunk]:
    """Yield all jobs that are kept, `COLUMNS` of each."""
    threads = np.unique(jobs.kept["thread"], return_inverse=True)[1].reshape(-1)
    for first in range(0, len(jobs.kept), CHUNK):
        part = slice(first, first + CHUNK)
        kept = jobs.kept[part]
        start, release = kept["start_ns"], np.minimum(kept["release_ns"], kept["start_ns"])
        begin = int(start[0])
        run, wait = kept["end_ns"] - start, start - release
        # A unit is a nanosecond, unless some time is longer than four seconds.
        steps = np.diff(start, prepend=begin)
        longest = max(int(column.max()) for column in (steps, run, wait))
        unit = longest // (NONE - 1) + 1
        grid = (start - begin) // unit
        due = kept["deadline_ns"]
        known = (due != NO_DEADLINE) & (np.abs(due // 2) < 2**60) & jobs.stated[jobs.row[part]]
        relative = np.where(known, (due - release) // unit, NONE)
        late = known & (kept["end_ns"] > due) & (kept["outcome"] <= layout.EXCEPTION)
        number = np.arange(first, first + len(kept))
        info = (
            kept["outcome"].astype(np.int64)
            | kept["waited_for"].astype(np.int64) % 4 << 3
            | kept["policy"].astype(np.int64) % 16 << 5
            | np.clip(kept["priority"].astype(np.int64) + 64, 0, 255) << 9
            | kept["cpu"].astype(np.int64) % 2**14 << 17
            | late.astype(np.int64) << 31
        )
        columns = (
            jobs.row[part],
            np.diff(grid, prepend=0),
            wait // unit,
            run // unit,
            np.clip(relative, 0, NONE),
            np.where(jobs.by[part] >= 0, number - jobs.by[part], 0),
            np.where(kept["cpu_ns"] == layout.UNKNOWN, NONE, kept["cpu_ns"].clip(0) // unit),
            info,
            threads[part],
        )
        about = [int(release.min()) - jobs.begin, int(kept["end_ns"].max()) - jobs.begin]
        about += [len(kept), unit, begin - jobs.begin]
        yield Chunk(about, pack(columns))


def picture(density: Density, stated: npt.NDArray[np.bool_]) -> dict[str, str]:
    """Return the picture of the whole: busy in 1/255, and whether late."""
    return {
        "busy": pack_bytes(np.ceil(np.clip(density.busy, 0, 1) * 255)),
        "late": pack_bytes(density.late & stated[:, None]),
    }
