# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What tracing, observing, carrying deadlines and saying them cost one call.

trace      A job that does nothing, with its record in memory of the process ("ring"), in the file
           that others read ("live"), with a second record ("with messages"), in an executor that
           watches a chain, and with a budget.
probe      What rclcpp calls, with nothing behind it: with the probe preloaded and without.
carry      A message of plain rcl, published and taken: without the library of `./rclrt run`, with
           it ("no deadline"), and with a deadline that goes into the table and is found there.

Variants take turns in rounds; figures are medians of the rounds, each a median of many calls. Exits
with 1 if a statement does not hold or it fails, with 2 for wrong arguments.
"""

import argparse
import tempfile
from collections.abc import Mapping
from typing import Any

from rclrt_benchmarks.harness.frame import (
    Result,
    median,
    options,
    output,
    parsed,
    path_of,
    perform,
    table,
)
from rclrt_benchmarks.harness.row import Judged, Machine, at_most
from rclrt_tools.arguments import positive, some_of

PARTS = ("trace", "probe", "carry")
PROBED = (
    "callback_start and callback_end", "publication", "take", "timer's call and its callback",
    "rcl_wait()",
)  # fmt: skip
JOBS, CALLS, MESSAGES = 20_000, 401, 101
"""In a round: jobs, batches of 500 calls, and batches of 200 messages."""
MOST_NS = {"trace": 150.0, "watched": 1000.0, "probe": 1000.0, "carry": 300.0}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser, rounds=15)
    parser.add_argument(
        "--of", type=some_of(PARTS), default=PARTS, metavar="A,B", help=",".join(PARTS)
    )
    parser.add_argument(
        "--share", type=positive, default=1, help="do one of so many calls (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge)


def _measure(arguments: argparse.Namespace) -> Result:
    rounds = arguments.rounds
    calls, messages = (max(1, n // arguments.share) for n in (CALLS, MESSAGES))
    rows: list[Result] = []
    if "trace" in arguments.of:
        found = parsed(path_of("trace_cost"), rounds, max(100, JOBS // arguments.share))
        ns = {name: median(values) for name, values in found.items()}
        for name in sorted(ns):
            plain = ns["none, with messages" if "messages" in name else "none"]
            most = MOST_NS["watched" if "watched" in name else "trace"]
            is_plain = name == "floor" or name.startswith("none")
            rows.append(_row("trace", name, ns[name], plain, None if is_plain else most))
    if "probe" in arguments.of:
        program = path_of("fake_program", "rclrt_probe")
        with tempfile.TemporaryDirectory() as folder:
            library = str(path_of("librclrt_run.so", "rclrt_probe"))
            variants = {
                "without": {}, "with": {"LD_PRELOAD": library, "RCLRT_PROBE_FOLDER": folder},
            }  # fmt: skip
            words = _in_turns([program, "cost", calls], variants, rounds)
        for name, *values in zip(PROBED, *words.values(), strict=True):
            rows.append(_row("probe", name, values[1], values[0], MOST_NS["probe"]))
    if "carry" in arguments.of:
        library = str(path_of("librclrt_run.so", "rclrt_probe"))
        preloaded = {"LD_PRELOAD": library, "RCLRT_CARRY": ""}
        variants = {
            "without": {}, "no deadline": preloaded,
            "deadline": {**preloaded, "RCLRT_CARRY": "/cost=20"},
        }  # fmt: skip
        program = path_of("plain_rcl", "rclrt_rcl")
        words = _in_turns([program, "cost", messages], variants, rounds)
        for name, (value,) in words.items():
            limit = MOST_NS["carry"] if variants[name] else None
            rows.append(_row("carry", name, value, words["without"][0], limit))
    return {"rounds": rounds, "rows": rows}


def _in_turns(
    command: list[object], variants: Mapping[str, Mapping[str, str]], rounds: int
) -> dict[str, list[float | None]]:
    """Return the medians of each number that a program prints, by variant."""
    seen: dict[str, list[list[float]]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, environment in variants.items():
            words = output(*command, environment=environment).split()
            seen[name].append([float(word) for word in words])
    return {
        name: [median(of_round) for of_round in zip(*found, strict=True)]
        for name, found in seen.items()
    }


def _row(
    part: str, name: str, ns: float | None, plain: float | None, limit: float | None
) -> Result:
    more = None if ns is None or plain is None else ns - plain
    return {"part": part, "variant": name, "ns": ns, "more_ns": more, "most_ns": limit}


def _show(result: Result) -> None:
    table(
        result["rows"], ("", "part", ""), ("", "variant", ""), ("ns", "ns", ".1f"),
        ("more", "more_ns", ".1f"), title=f"medians of {result['rounds']} rounds",
    )  # fmt: skip


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge what is added."""
    return Judged(
        [
            at_most(
                f"{row['part']}, {row['variant']}: ns more / {row['most_ns']:.0f}",
                None if row["more_ns"] is None else row["more_ns"] / row["most_ns"], 1.0,
                shape=f"at most {row['most_ns']:.0f} ns", ours=f"{row['more_ns']:.0f} ns",
            )
            for row in result["rows"]
            if row["most_ns"] is not None
        ]
    )  # fmt: skip
