# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Figure 8 of [Teper25]: end-to-end bounds under RM events against the default executor.

Random task sets after the WATERS benchmark at 60, 80 and 90 % utilization. For every chain of every
set that is schedulable (Theorem 1, no overhead, as in the paper) the reduction of the bound, in
percent of the default executor's; also with exact response times. Analysis only: nothing is
measured. Exits with 1 if, over 1000 sets or more, the share that is schedulable differs from that
of the authors' pipeline by more than chance explains, a mean by more than 1 %, or the largest
reduction is not "almost 90 %".
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import positive, writable_file

# Of 1000 sets of the authors' pipeline, by utilization in percent: share that is schedulable, mean
# reduction in percent.
EXPECTED = {60: (0.824, 19.86), 80: (0.690, 23.51), 90: (0.592, 23.02)}
EXPECTED_SETS = 1000
LARGEST = (85.0, 90.0)
JUDGED_SETS = 1000
BINS = range(-20, 100, 5)


NEEDS = ()  # It runs nothing that is built.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--sets", type=positive, default=1000, help="per level (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--html", type=writable_file, metavar="FILE", help="write the histogram")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    rows = []
    reductions = {}
    for level in EXPECTED:
        row, reductions[level] = _level(level, arguments.sets, arguments.seed)
        rows.append(row)
    _print(rows, reductions)
    problems = _judge(rows) if arguments.sets >= JUDGED_SETS else []
    for problem in problems:
        print(problem, file=sys.stderr)
    if arguments.json:
        text = json.dumps({"schema": 1, "seed": arguments.seed, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    if arguments.html:
        _write_page(arguments.html, reductions)
    return 1 if problems else 0


def _level(level: int, sets: int, seed: int) -> tuple[dict[str, Any], Any]:
    import numpy as np
    from rclrt_analysis.bounds import nonpreemptive_fp
    from rclrt_analysis.bounds.end_to_end import davare
    from rclrt_analysis.bounds.lost import UNBOUNDED
    from rclrt_analysis.bounds.wait_set import windows
    from rclrt_analysis.statistics import quantiles
    from rclrt_analysis.workloads.waters import make_chains, make_tasks

    rng = np.random.default_rng([seed, level])
    schedulable, spent = 0, 0.0
    found: list[Any] = []
    for _ in range(sets):
        tasks = make_tasks(level / 100, rng)
        chains = make_chains(tasks, rng)
        began = time.perf_counter()
        paper = nonpreemptive_fp.theorem_1(tasks)
        exact = nonpreemptive_fp.exact(tasks).response
        default = windows(tasks.wcet)[0]
        if np.all(paper < UNBOUNDED) and chains:
            schedulable += 1
            latencies = [davare(tasks.period, r, chains) for r in (default, paper, exact)]
            found.append(np.stack(latencies))
        spent += time.perf_counter() - began
    every = np.concatenate(found, axis=1) if found else np.full((3, 1), np.nan)
    reduction = 100 * (1 - every[1:] / every[0])
    mean = every.mean(axis=1) / 1e6
    row = {
        "utilization_percent": level,
        "sets": sets,
        "schedulable": schedulable / sets,
        "chains": int(every.shape[1]),
        "default_mean_ms": float(mean[0]),
        "rm_mean_ms": float(mean[1]),
        "reduction_mean": float(reduction[0].mean()),
        "reduction_max": float(reduction[0].max()),
        "reduction_min": float(reduction[0].min()),
        "negative_percent": float(100 * (reduction[0] < 0).mean()),
        "exact_reduction_mean": float(reduction[1].mean()),
        "sets_per_s": sets / spent,
        "quantiles": quantiles([float(value) for value in reduction[0]]),
    }
    return row, reduction[0]


def _judge(rows: list[dict[str, Any]]) -> list[str]:
    problems = []
    for row in rows:
        level = row["utilization_percent"]
        share, mean = EXPECTED[level]
        # Three standard deviations of the difference of two samples.
        chance = 3 * (share * (1 - share) * (1 / row["sets"] + 1 / EXPECTED_SETS)) ** 0.5
        if abs(row["schedulable"] - share) > chance:
            problems.append(f"{level} %: {row['schedulable']:.3f} schedulable, not {share:.3f}")
        if abs(row["reduction_mean"] - mean) > 1:
            problems.append(f"{level} %: mean reduction {row['reduction_mean']:.2f}, not {mean}")
    largest = max(row["reduction_max"] for row in rows)
    if not LARGEST[0] <= largest <= LARGEST[1]:
        problems.append(f"largest reduction {largest:.1f} is not within {LARGEST}")
    return problems


def _print(rows: list[dict[str, Any]], reductions: dict[int, Any]) -> None:
    print("  U %  schedulable  chains  default ms   RM ms  reduction %: mean    max    min  < 0")
    for row in rows:
        print(
            f"  {row['utilization_percent']:3} {row['schedulable']:12.3f} {row['chains']:7}"
            f" {row['default_mean_ms']:11.0f} {row['rm_mean_ms']:7.0f}"
            f" {row['reduction_mean']:18.2f} {row['reduction_max']:6.1f}"
            f" {row['reduction_min']:6.1f} {row['negative_percent']:4.1f}"
        )
    for row in rows:
        print(
            f"{row['utilization_percent']} % with exact response times: mean reduction "
            f"{row['exact_reduction_mean']:.2f} %; {row['sets_per_s']:.0f} sets a second"
        )
    print("\nchains by reduction, % of all")
    for low in BINS:
        cells = []
        for values in reductions.values():
            share = 100 * ((values >= low) & (values < low + 5)).mean()
            cells.append(f"{share:5.1f} {'#' * round(share):22.22}")
        print(f"  {low:4} .. {low + 5:3}  " + "  ".join(cells))


def _write_page(path: Path, reductions: dict[int, Any]) -> None:
    import numpy as np
    from bokeh.embed import file_html
    from bokeh.layouts import column
    from bokeh.plotting import figure
    from bokeh.resources import Resources

    plots = []
    for level, values in reductions.items():
        count, edges = np.histogram(values, bins=np.arange(-20, 101, 2))
        plot = figure(
            title=f"{level} %", width=900, height=260, x_axis_label="reduction, %",
            y_axis_label="chains",
        )  # fmt: skip
        plot.quad(top=count, bottom=0, left=edges[:-1], right=edges[1:])
        plots.append(plot)
    page = file_html(column(plots), Resources(mode="inline"), "Reduction of end-to-end bounds")
    path.write_text(page, encoding="utf-8")
