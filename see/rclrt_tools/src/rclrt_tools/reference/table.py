# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The result of a demo: as JSON, schema 1, and as a table for a terminal of 100 columns."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rclrt_tools.reference.measurement import Measurement
from rclrt_tools.reference.program import BACKGROUND, QUIET
from rclrt_tools.statistics import quantiles

SCHEMA = 1


def finding_text(finding: Mapping[str, Any]) -> str:
    """Return a finding as one line."""
    text = f"{finding['subject']}: {finding['what']}"
    return f"{text}. {finding['fix']}" if finding["fix"] else text


def rounded(value: float | None) -> float | None:
    """Return milliseconds to the microsecond."""
    return None if value is None else round(value, 3)


def run_entry(measurement: Measurement, ideal_ms: float | None) -> dict[str, Any]:
    """Return one executor's part. A percentile without enough samples is null."""
    findings = [finding_text(finding) for finding in measurement.findings]
    if measurement.failure:
        findings.append(f"failed: {measurement.failure}")
    if measurement.without_room:
        findings.append(f"{measurement.without_room} samples were not kept: the logs were full")
    return {
        "executor": measurement.executor,
        "load": measurement.load,
        "policy": measurement.policy,
        "hot_path_ms": {
            "n": len(measurement.latency_ms),
            "p50": rounded(measurement.percentile(0.50)),
            "p90": rounded(measurement.percentile(0.90)),
            "p99": rounded(measurement.percentile(0.99)),
            "max": rounded(measurement.max_ms),
            "ideal": rounded(ideal_ms),
            "quantiles": [round(value, 4) for value in quantiles(measurement.latency_ms)],
        },
        "hot_path_to_end_ms": {
            "n": len(measurement.latency_to_end_ms),
            "p50": rounded(measurement.percentile_to_end(0.50)),
            "p99": rounded(measurement.percentile_to_end(0.99)),
            "max": rounded(max(measurement.latency_to_end_ms, default=None)),
        },
        "dropped": measurement.dropped,
        "deadline_misses": measurement.deadline_misses,
        "cpu_s": round(measurement.cpu_s, 3),
        "rss_mib": round(measurement.rss_mib, 1),
        "attributes_in_force": measurement.attributes_in_force,
        "deadline_scheduler": measurement.deadline_scheduler,
        "findings": findings,
    }


def make_result(
    environment: Mapping[str, Any], measurements: Sequence[Measurement], ideal_ms: float | None
) -> dict[str, Any]:
    """Return the whole result."""
    return {
        "schema": SCHEMA,
        "environment": dict(environment),
        "runs": [run_entry(measurement, ideal_ms) for measurement in measurements],
    }


WIDTH = 100
NOT_ENOUGH = "-"

# Title, width; the first two are flush left, numbers right.
COLUMNS = (
    ("executor", 21),
    ("load", 5),
    ("n", 5),
    ("p50", 7),
    ("p99", 7),
    ("max", 7),
    ("drops", 5),
    ("misses", 6),
    ("CPU %", 5),
    ("MiB", 5),
)
GAP = "  "
WORDS = {QUIET: "quiet", BACKGROUND: "busy"}


def number(value: float | None, digits: int = 2) -> str:
    """Return a number, or `NOT_ENOUGH` for None."""
    return NOT_ENOUGH if value is None else f"{value:.{digits}f}"


def line(cells: Sequence[str], rest: str) -> str:
    """Return one row of the table."""
    padded = [
        cell.ljust(width) if i < 2 else cell.rjust(width)
        for i, (cell, (_, width)) in enumerate(zip(cells, COLUMNS, strict=True))
    ]
    return (" ".join(padded) + GAP + rest).rstrip()


def row(measurement: Measurement) -> str:
    """Return the row of one executor."""
    if measurement.failure:
        name = f"{measurement.executor:21} {WORDS[measurement.load]:5}"
        return f"{name} failed: {measurement.failure.splitlines()[-1]}"[:WIDTH]
    cells = [
        measurement.executor,
        WORDS[measurement.load],
        str(len(measurement.latency_ms)),
        number(measurement.percentile(0.50)),
        number(measurement.percentile(0.99)),
        number(measurement.max_ms),
        str(measurement.dropped),
        str(measurement.deadline_misses),
        number(measurement.cpu_percent, 0),
        number(measurement.rss_mib, 0),
    ]
    return line(cells, measurement.attributes_text())


def paragraph(text: str, indent: str = "") -> str:
    """Return text broken to the width."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def make_table(title: str, measurements: Sequence[Measurement], notes: Sequence[str]) -> str:
    """Return the table with its title, its notes, and what the executors found out."""
    lines = [paragraph(title), ""]
    lines.append(line([name for name, _ in COLUMNS], "in force"))
    lines.append("-" * WIDTH)
    lines += [row(measurement) for measurement in measurements]
    lines.append("-" * WIDTH)
    lines += [paragraph(note) for note in notes]
    found = group_findings(measurements)
    if found:
        lines += ["", "Found out:", *(paragraph(text, "- ") for text in found)]
    return "\n".join(lines)


def group_findings(measurements: Sequence[Measurement]) -> list[str]:
    """Return the findings as texts: those with the same remedy as one, with their number."""
    by_fix: dict[str, dict[str, None]] = {}
    rows: dict[str, dict[str, None]] = {}
    for measurement in measurements:
        for finding in measurement.findings:
            by_fix.setdefault(finding["fix"], {})[finding_text(finding)] = None
            rows.setdefault(finding["fix"], {})[measurement.executor] = None
    texts = []
    for fix, same in by_fix.items():
        more = f" And {len(same) - 1} more with this remedy." if len(same) > 1 else ""
        texts.append(f"{next(iter(same))}.{more} ({', '.join(rows[fix])})".replace("..", "."))
    return texts
