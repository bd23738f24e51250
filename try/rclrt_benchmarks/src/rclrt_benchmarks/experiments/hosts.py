# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Deadlines across hosts: one graph on two and on four of them, whose clocks differ.

Four streams of 10, 20, 40 and 80 ms go through four stages, two of them from each end, so that each
host has data of its own and of others. A host is a process with one thread for its jobs, without
priorities. A job takes 1, 2, 4 or 7 ms of that thread, asleep: hosts do not compete for this
machine's CPUs. Hosts are namespaces of this machine (network, processes, shared memory). A small
program between them delays frames, changes their order, or loses them. DDS does the rest, and
nothing leaves the machine. Linux has no namespace for the clock of the day: each host's process has
a definition of clock_gettime() of its own, which adds an offset for all of its libraries.

A job's deadline counts
  header    from the stamp in the message's header, the same for all stages (deadline_from)
  source    from the source time stamp, a share of the deadline for each stage
  arrival   from when the message arrives, a share of the deadline for each stage
  none      there is none: first come, first served
  inherit   (all on this machine) as the job that has published it, through the table

A job is out of order if it starts while a job of its host waits whose data are due earlier: with
exact clocks, which the experiment knows. An instance is missed if its last job ends after the
deadline, or never.

Exits with 1 if a statement does not hold or it fails, with 2 for wrong arguments, with 77 where
namespaces or tap devices are not permitted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclrt_analysis.plots import Plot
from rclrt_tools.arguments import number_from
from rclrt_tools.reference.program import ends_with_us

from rclrt_benchmarks.harness.frame import (
    CANNOT,
    FailedError,
    Result,
    options,
    path_of,
    perform,
    table,
)
from rclrt_benchmarks.harness.row import Judged, Machine, Row, stated

ERROR_MS = 2.0
"""The clock error that is stated, whatever it is."""
OFFSETS_MS = (0.0, 0.1, 1.0, 5.0, 20.0)
STREAMS = 4
STAGES = 4
LEFT_OUT_S = 0.2
"""At both ends of a run: hosts do not begin at the same time."""
DEADLINES_NS = (30_000_000, 50_000_000, 90_000_000, 200_000_000)
SEEN_NS = 300_000
"""A job that came so shortly before another one started may not have been seen."""
NOWHERE = "not in a paper"
MORE = 0.02
"""So much more of all instances may be missed before it is more than chance."""

Rows = Sequence[Mapping[str, Any]]

LINKS = {
    "near": ["--delay-us", "200", "--jitter-us", "50"],
    "far": ["--delay-us", "4000", "--jitter-us", "3000"],
    "lossy": ["--delay-us", "200", "--jitter-us", "50", "--loss", "2"],
}


@dataclass(frozen=True)
class Case:
    """What is run: how many hosts, how they are linked, and what deadlines count from."""

    hosts: int
    link: str
    way: str
    offset_ms: float = 0.0
    error_ms: float = ERROR_MS


def _all_cases() -> list[Case]:
    found = []
    for hosts in (2, 4):
        found.append(Case(hosts, "machine", "inherit"))
        found += [Case(hosts, "near", "header", offset) for offset in OFFSETS_MS]
        found.append(Case(hosts, "near", "header", OFFSETS_MS[-1], 25.0))
        found += [Case(hosts, "near", "source", offset) for offset in (0.0, 1.0, 20.0)]
        found += [Case(hosts, "near", way) for way in ("arrival", "none")]
        found += [Case(hosts, link, way) for link in ("far", "lossy") for way in
                  ("header", "source", "arrival", "none")]  # fmt: skip
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser, rounds=3)
    parser.add_argument(
        "--seconds",
        type=number_from(2.5 * LEFT_OUT_S, 3600, "s"),
        default=3.0,
        help="of each turn (%(default)g)",
    )
    parser.add_argument(
        "--few", action="store_true", help="two hosts near each other, three of the cases"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge)


def _measure(arguments: argparse.Namespace) -> Result:
    cases = _all_cases()
    if arguments.few:
        chosen = (("header", 0.0), ("header", OFFSETS_MS[-1]), ("arrival", 0.0))
        cases = [Case(2, "near", way, offset) for way, offset in chosen]
    found: dict[Case, list[Result]] = {case: [] for case in cases}
    for number in range(arguments.rounds):
        for case in cases:
            found[case].append(_turn(case, number, arguments.seconds))
    return {"rows": [_row(case, found[case]) for case in cases]}


def _turn(case: Case, number: int, seconds: float) -> Result:
    """Run one case once; returns what each host has written, and what came of it."""
    each = STAGES // case.hosts
    with tempfile.TemporaryDirectory(prefix="rclrt-hosts-") as scratch:
        outs = [Path(scratch) / f"host{host}.json" for host in range(case.hosts)]
        commands = []
        for host, out in enumerate(outs):
            stages = ",".join(str(host * each + stage) for stage in range(each))
            # Every second clock is off, by turns ahead and behind.
            ahead = case.offset_ms * (host % 2) * (1 if number % 2 == 0 else -1)
            commands.append(
                [
                    str(path_of("host_nodes")), "--stages", stages, "--way", case.way,
                    "--clock-error-us", str(round(1000 * case.error_ms)),
                    "--ahead-us", str(round(1000 * ahead)), "--seconds", str(seconds),
                    "--out", str(out),
                ]
            )  # fmt: skip
        if case.link == "machine":
            _run_here(commands, seconds)
        else:
            _run_apart(case, number, commands, seconds)
        return _summary([json.loads(out.read_text(encoding="utf-8")) for out in outs])


def _run_here(commands: list[list[str]], seconds: float) -> None:
    processes = [subprocess.Popen([*ends_with_us(), *command]) for command in commands]
    try:
        for process in processes:
            if process.wait(timeout=60 + seconds) != 0:
                raise FailedError(f"host_nodes failed with status {process.returncode}")
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _run_apart(case: Case, number: int, commands: list[list[str]], seconds: float) -> None:
    command = [
        *ends_with_us(), str(path_of("host_link")), *LINKS[case.link], "--seed", str(number + 1)
    ]  # fmt: skip
    for one in commands:
        command += ["--", *one]
    # Found by multicast on the link, and messages go over it, too: not through memory.
    environment = {
        **os.environ, "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET",
        "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4",
    }  # fmt: skip
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60 + seconds, check=False
    )
    if done.returncode == CANNOT:
        raise FailedError(done.stderr.strip(), CANNOT)
    if done.returncode != 0:
        raise FailedError(f"status {done.returncode}: {done.stderr.strip()}")


def _summary(hosts: list[Result]) -> Result:
    begin = max(host["begin_ns"] for host in hosts) + LEFT_OUT_S * 1e9
    end = min(host["end_ns"] for host in hosts) - LEFT_OUT_S * 1e9
    jobs = out_of_order = 0
    for host in hosts:
        inside = [job for job in host["jobs"] if begin <= job[3] <= end]
        jobs += len(inside)
        out_of_order += _out_of_order(inside)
    instances: dict[tuple[int, int], int] = {}  # when each ended; its deadline is counted from here
    missed = 0
    origins = {}
    for host in hosts:
        for stream, place, number, origin, _, _, ended, _ in host["jobs"]:
            if begin <= origin <= end:
                origins[stream, number] = origin
                if place == STAGES - 1:
                    instances[stream, number] = ended
    by_stream = [0] * STREAMS
    lost = 0
    for (stream, number), origin in origins.items():
        ended = instances.get((stream, number))
        lost += ended is None
        if ended is None or ended > origin + DEADLINES_NS[stream]:
            missed += 1
            by_stream[stream] += 1
    return {
        "jobs": jobs,
        "out_of_order": out_of_order,
        "instances": len(origins),
        "missed": missed,
        "missed_by_stream": by_stream,
        "lost": lost,
        "refused": sum(host["refused"] for host in hosts),
        "findings": sorted({text for host in hosts for text in host["findings"]}),
    }


def _out_of_order(jobs: list[list[int]]) -> int:
    """Count jobs that start while one waits on their host whose deadline is earlier."""
    by_start = sorted(jobs, key=lambda job: job[5])
    found = 0
    for at, (_, _, _, _, _, start, _, deadline) in enumerate(by_start):
        found += any(
            other[4] <= start - SEEN_NS and other[7] < deadline for other in by_start[at + 1 :]
        )
    return found


def _row(case: Case, turns: list[Result]) -> Result:
    total = {
        key: sum(turn[key] for turn in turns)
        for key in ("jobs", "out_of_order", "instances", "missed", "lost", "refused")
    }
    return {
        **vars(case),
        **total,
        "in_order_share": 1 - total["out_of_order"] / max(1, total["jobs"]),
        "missed_share": total["missed"] / max(1, total["instances"]),
        "missed_by_stream": [sum(turn["missed_by_stream"][i] for turn in turns) for i in range(4)],
        "rounds": [turn["missed"] / max(1, turn["instances"]) for turn in turns],
        "findings": sorted({text for turn in turns for text in turn["findings"]}),
    }


def _show(result: Result) -> None:
    table(
        result["rows"], ("hosts", "hosts", "d"), ("link", "link", ""), ("from", "way", ""),
        ("clocks apart, ms", "offset_ms", "g"), ("stated, ms", "error_ms", "g"),
        ("in order, %", lambda row: 100 * row["in_order_share"], ".2f"), ("missed", "missed", "d"),
        ("of", "instances", "d"), ("lost", "lost", "d"), ("stamps refused", "refused", "d"),
        ("of", "jobs", "d"),
    )  # fmt: skip


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge one graph on two and on four hosts."""
    rows = result["rows"]
    plots = []
    for hosts in sorted({row["hosts"] for row in rows}):
        curve = sorted(
            (row["offset_ms"], row["missed_share"], row["in_order_share"])
            for row in rows
            if (row["hosts"], row["way"], row["link"]) == (hosts, "header", "near")
            and row["error_ms"] < 10
        )
        if len(curve) > 1:
            xs = [x for x, _, _ in curve]
            curves = {
                "instances missed": [100 * missed for _, missed, _ in curve],
                "jobs out of order": [100 * (1 - share) for _, _, share in curve],
            }
            title = f"header stamps on {hosts} hosts"
            plots.append(Plot(title, "%", curves, xs=xs, x_name="clocks apart, ms"))
    return Judged(statements(rows), plots)


def statements(rows: Rows) -> list[Row]:
    """Return what must hold for each number of hosts."""
    found = []
    for hosts in sorted({row["hosts"] for row in rows}):
        mine = {
            (row["link"], row["way"], row["offset_ms"]): row
            for row in rows
            if row["hosts"] == hosts and row["error_ms"] < 10
        }
        exact = mine["near", "header", 0.0]
        arrival = mine["near", "arrival", 0.0]
        found.append(
            _more(
                f"{hosts} hosts, exact clocks: instances missed by header stamps",
                exact, arrival, "counted from arrival", 0.0,
            )
        )  # fmt: skip
        found += [
            _more(
                f"{hosts} hosts, clocks {offset:g} ms apart: instances missed by header stamps",
                row, exact if offset <= row["error_ms"] else arrival,
                "exact clocks" if offset <= row["error_ms"] else "counted from arrival", MORE,
            )
            for (link, way, offset), row in mine.items()
            if (link, way) == ("near", "header") and offset > 0
        ]  # fmt: skip
    return found


def _more(
    name: str, mine: Mapping[str, Any], other: Mapping[str, Any], what: str, more: float
) -> Row:
    """Return a statement that not many more are missed than in another case."""
    at_most = other["missed_share"] + more
    return stated(
        name, NOWHERE,
        f"{100 * mine['missed_share']:.2f} % of {mine['instances']}, in order "
        f"{100 * mine['in_order_share']:.2f} % ({what}: {100 * other['missed_share']:.2f} %, "
        f"{100 * other['in_order_share']:.2f} %)",
        f"at most {100 * more:g} % more than {what}", mine["missed_share"] <= at_most,
    )  # fmt: skip
