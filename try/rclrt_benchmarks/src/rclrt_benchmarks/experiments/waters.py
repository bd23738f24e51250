# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Figure 8 of [Teper25]: end-to-end bounds under RM events against the default executor.

Random task sets after the WATERS benchmark at 60, 80 and 90 % utilization. For every chain of every
set that is schedulable (Theorem 1, no overhead, as in the paper) the reduction of the bound, in
percent of the default executor's; also with exact response times. Analysis only: nothing is
measured. From 1000 sets on, exits with 1 if the share that is schedulable differs from that of the
authors' pipeline by more than chance explains, a mean by more than 1 %, or the largest reduction is
not "almost 90 %".
"""

import argparse
import time
from collections.abc import Mapping
from typing import Any

from rclrt_analysis.plots import Plot
from rclrt_benchmarks.harness.frame import Result, options, perform, table
from rclrt_benchmarks.harness.row import Judged, Machine, Row, stated
from rclrt_tools.arguments import positive
from rclrt_tools.statistics import quantiles

# By utilization in percent: what the figure shows; and of 1000 sets of the authors' pipeline the
# share that is schedulable and the mean reduction in percent.
PAPER = {60: 20.0, 80: 23.5, 90: 23.5}
AUTHORS = {60: (0.824, 19.86), 80: (0.690, 23.51), 90: (0.592, 23.02)}
AUTHORS_SETS = ENOUGH_SETS = 1000
NEAR = 1.0
LARGEST = (85.0, 90.0)
NEEDS = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser)
    parser.add_argument("--sets", type=positive, default=1000, help="per level (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge)


def _measure(arguments: argparse.Namespace) -> Result:
    rows = [_level(level, arguments.sets, arguments.seed) for level in AUTHORS]
    return {"seed": arguments.seed, "rows": rows}


def _level(level: int, sets: int, seed: int) -> Result:
    import numpy as np
    from rclrt_analysis.bounds import fixed_priority
    from rclrt_analysis.bounds.end_to_end import davare
    from rclrt_analysis.bounds.fixed_point import UNBOUNDED
    from rclrt_analysis.bounds.wait_set import windows
    from rclrt_benchmarks.harness.task_sets import make_chains, make_tasks

    rng = np.random.default_rng([seed, level])
    spent = 0.0
    found: list[Any] = []
    for _ in range(sets):
        tasks = make_tasks(level / 100, rng)
        chains = make_chains(tasks, rng)
        began = time.perf_counter()
        paper = fixed_priority.theorem_1(tasks)
        exact = fixed_priority.nonpreemptive(tasks).response
        default = windows(tasks.wcet)[0]
        if np.all(paper < UNBOUNDED) and chains:
            latencies = [davare(tasks.period, r, chains) for r in (default, paper, exact)]
            found.append(np.stack(latencies))
        spent += time.perf_counter() - began
    every = np.concatenate(found, axis=1) if found else np.full((3, 1), np.nan)
    reduction, exact_reduction = 100 * (1 - every[1:] / every[0])
    mean = every.mean(axis=1) / 1e6
    return {
        "utilization_percent": level,
        "sets": sets,
        "schedulable": len(found) / sets,
        "chains": int(every.shape[1]),
        "default_mean_ms": float(mean[0]),
        "rm_mean_ms": float(mean[1]),
        "reduction_mean": float(reduction.mean()),
        "reduction_max": float(reduction.max()),
        "reduction_min": float(reduction.min()),
        "negative_percent": float(100 * (reduction < 0).mean()),
        "exact_reduction_mean": float(exact_reduction.mean()),
        "sets_per_s": sets / spent,
        "quantiles": quantiles([float(value) for value in reduction]),
    }


def _show(result: Result) -> None:
    table(
        result["rows"], ("U %", "utilization_percent", "d"), ("schedulable", "schedulable", ".3f"),
        ("chains", "chains", "d"), ("default ms", "default_mean_ms", ".0f"),
        ("RM ms", "rm_mean_ms", ".0f"), ("reduction %: mean", "reduction_mean", ".2f"),
        ("max", "reduction_max", ".1f"), ("min", "reduction_min", ".1f"),
        ("< 0, %", "negative_percent", ".1f"), ("exact: mean", "exact_reduction_mean", ".2f"),
        ("sets a second", "sets_per_s", ".0f"),
    )  # fmt: skip


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge the reductions, and which sets are schedulable."""
    rows = result["rows"]
    found: list[Row] = []
    for row in rows:
        level, mean, exact = (
            row[key] for key in ("utilization_percent", "reduction_mean", "exact_reduction_mean")
        )
        share, authors_mean = AUTHORS[level]
        # Three standard deviations of the difference of two samples.
        chance = 3 * (share * (1 - share) * (1 / row["sets"] + 1 / AUTHORS_SETS)) ** 0.5
        found += [
            stated(
                f"mean reduction at {level} %", f"{PAPER[level]:g} %",
                f"{mean:.2f} %; exact bounds {exact:.2f} %",
                f"within 1 % of the paper, and of the authors' pipeline: {authors_mean} %",
                max(abs(mean - PAPER[level]), abs(mean - authors_mean)) <= NEAR, timed=False,
            ),
            stated(
                f"schedulable at {level} %", "not printed", f"{row['schedulable']:.3f}",
                f"{share:.3f} but for chance, as by the authors' pipeline",
                abs(row["schedulable"] - share) <= chance, timed=False,
            ),
        ]  # fmt: skip
    largest = max(row["reduction_max"] for row in rows)
    found.append(
        stated(
            "largest reduction", "almost 90 %", f"{largest:.1f} %", "85 to 90 %",
            LARGEST[0] <= largest <= LARGEST[1], timed=False,
        )
    )  # fmt: skip
    fewest = min(row["sets"] for row in rows)
    for one in found if fewest < ENOUGH_SETS else ():
        one.refuse(f"{fewest} sets are too few: {ENOUGH_SETS}")
    plots = [
        Plot(
            "reduction of end-to-end bounds", "%",
            {f"{row['utilization_percent']} %": row["quantiles"] for row in rows},
            {f"paper's mean, {level} %": mean for level, mean in PAPER.items()},
        )
    ]  # fmt: skip
    return Judged(found, plots)
