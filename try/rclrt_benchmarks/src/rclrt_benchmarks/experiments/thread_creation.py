# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What creating a thread costs, beside giving a job to one that exists [ROSRT Fig. 5].

pthread_create() again and again, each thread joined before the next one, and then without joining;
and a release for rclrt's pool, whose thread sleeps. Of each: how long the call takes, and how long
until the thread or the job begins. All under SCHED_OTHER; the three take turns.
"""

import argparse
import os
from collections.abc import Mapping
from typing import Any

from rclrt_analysis.plots import Plot
from rclrt_benchmarks.harness.frame import (
    Result,
    options,
    parsed,
    path_of,
    perform,
    summary,
    table,
)
from rclrt_benchmarks.harness.row import Judged, Machine, Row, at_most, ratio_of
from rclrt_tools.arguments import positive

WAYS = {
    "joined": "pthread_create(), joined before the next",
    "not_joined": "pthread_create(), not joined",
    "preemptive": "a release for the pool",
}
MOST = 1_000_000
FAR_UNDER_US = 100.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser, rounds=5)
    parser.add_argument(
        "--threads", type=_threads, default=2000, help="of each way, a round (%(default)s)"
    )


def _threads(text: str) -> int:
    value = positive(text)
    if value > MOST:
        raise argparse.ArgumentTypeError(f"{value} is more than {MOST}")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge)


def _measure(arguments: argparse.Namespace) -> Result:
    program = path_of("thread_creation")
    rounds = [parsed(program, arguments.threads) for _ in range(arguments.rounds)]
    rows = []
    for way in WAYS:
        for what in ("call", "start"):
            us = [ns / 1000 for one in rounds for ns in one[way][f"{what}_ns"]]
            rows.append({"way": way, "what": what, **summary(us, "us")})
    errors = [one["not_joined"]["errno"] for one in rounds if one["not_joined"]["errno"]]
    return {"refused": [os.strerror(error) for error in errors], "rows": rows}


def _show(result: Result) -> None:
    table(
        result["rows"], ("", lambda row: WAYS[row["way"]], ""), ("", "what", ""), ("n", "n", "d"),
        ("p50 us", "p50_us", ".1f"), ("p99 us", "p99_us", ".1f"), ("max us", "max_us", ".1f"),
    )  # fmt: skip
    if result["refused"]:
        print(f"without joining the system allowed fewer threads: {result['refused'][0]}")


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge creating threads against releasing a job."""
    rows = {(row["way"], row["what"]): row for row in result["rows"]}
    found: list[Row] = []
    for way, name in (("joined", "one after the other"), ("not_joined", "without joining")):
        p50 = rows[way, "call"]["p50_us"]
        found.append(
            at_most(
                f"pthread_create(), {name}: median / 100 us", ratio_of(p50, FAR_UNDER_US), 1.0,
                shape="the median far under 100 us", paper="a figure",
                ours="-" if p50 is None else f"{p50:.1f} us",
            )
        )  # fmt: skip
    for what, text in (("call", "the call"), ("start", "until it begins")):
        mine, theirs = (rows[way, what]["p50_us"] for way in ("preemptive", "joined"))
        ratio = ratio_of(mine, theirs)
        found.append(
            at_most(
                f"release for the pool / creating a thread, {text}: median", ratio, 1.0,
                shape="giving a job to a thread that exists is cheaper", paper="the reason for it",
                ours="-" if ratio is None else f"{ratio:.2f} ({mine:.1f} / {theirs:.1f} us)",
            )
        )  # fmt: skip
    curves = {f"{way}, {what}": row["quantiles_us"] for (way, what), row in rows.items()}
    return Judged(found, [Plot("creating a thread, and a release for the pool", "us", curves)])
