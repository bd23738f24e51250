# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Jitter of timers: start of a callback minus the start before, minus the period.

One timer with periods from 0.1 to 100 ms [ROSRT Table III], or --timers 10 of them [ROSRT Fig. 9];
all at SCHED_FIFO 50. Executors take turns in rounds, and so does cyclictest of rt-tests, if it is
installed (apt: rt-tests): it is the yardstick, since it does nothing but sleep until the next
period. It is told not to keep CPUs from sleeping, as no executor does that. "events_re" is the
events executor with release-and-execute: the thread that waits for timers runs them, and hands over
to no other one.

Exits with 1 when it fails, with 2 for wrong arguments or without permission for SCHED_FIFO.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import positive, writable_file
from rclrt_analysis.reference.program import ends_with_us
from rclrt_analysis.statistics import percentile, quantiles

EXECUTORS = (
    "pool",
    "events",
    "events_re",
    "isolated",
    "waitset_single",
    "waitset_multi",
    "events_fifo",
)
YARDSTICK = "cyclictest"
PRIORITY = 50
PERIODS_MS = (0.1, 0.5, 1.0, 10.0, 50.0, 100.0)
WARM_UP = 10
SPARE = 30
LEAST_SAMPLES = 5
PATIENCE_S = 60.0
SAMPLE = re.compile(r"^ *(\d+): *\d+: *(-?\d+)$", re.MULTILINE)


def _periods(text: str) -> tuple[float, ...]:
    found = tuple(float(word) for word in text.split(","))
    if any(not 0.1 <= ms <= 10_000 for ms in found):
        raise argparse.ArgumentTypeError(f"{text}: periods are from 0.1 to 10000 ms")
    return found


def _timers(text: str) -> int:
    value = positive(text)
    if value > 100:
        raise argparse.ArgumentTypeError(f"{value} is more than 100")
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each (%(default)s)")
    parser.add_argument(
        "--samples", type=positive, default=1000, help="of a timer, a turn (%(default)s)"
    )
    parser.add_argument(
        "--turn-s", type=positive, default=2, metavar="S",
        help="a turn with a long period has fewer samples, to take no longer (%(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--periods-ms", type=_periods, default=PERIODS_MS, metavar="A,B",
        help="(" + ",".join(f"{ms:g}" for ms in PERIODS_MS) + ")",
    )  # fmt: skip
    parser.add_argument("--timers", type=_timers, default=1, help="at once (%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    from rclrt_analysis.reference.environment import may_use_realtime

    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    if not may_use_realtime(PRIORITY):
        print("SCHED_FIFO is not permitted: docs/how-to/real-time-permissions.md", file=sys.stderr)
        return 2
    yardstick = shutil.which(YARDSTICK)
    who = [*([YARDSTICK] if yardstick else []), *EXECUTORS]
    if not yardstick:
        print("no cyclictest: install the package rt-tests (apt-get install rt-tests)")
    jitters: dict[tuple[float, str], list[list[float]]] = {}
    in_force: dict[str, set[str]] = {YARDSTICK: {f"fifo {PRIORITY}"}}
    try:
        for number in range(arguments.rounds):
            for period_ms in arguments.periods_ms:
                # Everybody comes after everybody else once in a while.
                for name in [*who[number % len(who) :], *who[: number % len(who)]]:
                    found = _turn(name, period_ms, arguments, in_force)
                    jitters.setdefault((period_ms, name), []).append(found)
            print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    rows = [
        _row(name, period_ms, arguments.timers, jitters[period_ms, name], in_force[name])
        for period_ms in arguments.periods_ms
        for name in who
    ]
    _print(rows, arguments.timers)
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0


def _turn(
    name: str, period_ms: float, arguments: argparse.Namespace, in_force: dict[str, set[str]]
) -> list[float]:
    """Return the jitters of one turn, us, of all timers."""
    fit = max(LEAST_SAMPLES, round(arguments.turn_s * 1000 / period_ms))
    samples = min(arguments.samples, fit) + 1
    period_us = round(period_ms * 1000)
    if name == YARDSTICK:
        starts = _cyclictest(period_us, samples, arguments.timers)
    else:
        folder = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_benchmarks"
        command = [*ends_with_us(), str(folder / "timer_jitter"), "--executor", name]
        command += ["--timers", str(arguments.timers), "--period-us", str(period_us)]
        command += ["--samples", str(samples), "--warm-up", str(WARM_UP)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(done.stdout)
        starts = result["starts_ns"]
        in_force.setdefault(name, set()).update(result["in_force"])
    return [
        (after - before) / 1000 - period_us
        for series in starts
        for before, after in pairwise(series)
    ]


def _cyclictest(period_us: int, samples: int, threads: int) -> list[list[int]]:
    """Return when each of its threads has run, ns, from its own first period on."""
    command = [
        *ends_with_us(),
        YARDSTICK,
        "--default-system",
        "-v",
        "-N",
        "-d",
        "0",
        "-p",
        str(PRIORITY),
    ]
    # It ends when the first thread has had all of its cycles; others may have left some out.
    cycles = samples + WARM_UP + SPARE
    command += ["-t", str(threads), "-i", str(period_us), "-l", str(cycles)]
    limit_s = 3 * cycles * period_us / 1e6 + PATIENCE_S
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, check=True, timeout=limit_s,
    )  # fmt: skip
    return cyclictest_starts(done.stdout, period_us, samples, threads)


def cyclictest_starts(text: str, period_us: int, samples: int, threads: int) -> list[list[int]]:
    """Return what its lines `thread: cycle: latency` say: when each cycle was due, and how late.

    After a cycle that is late by more than a period it leaves out those that are over.

    Raises
    ------
    ValueError
        They are not as many as were asked for.
    """
    late: dict[int, list[int]] = {number: [] for number in range(threads)}
    for thread, latency in SAMPLE.findall(text):
        late.setdefault(int(thread), []).append(int(latency))
    if len(late) != threads or any(len(values) < samples for values in late.values()):
        raise ValueError(f"{YARDSTICK} does not print {samples} samples of {threads} threads")
    return [_starts(values[-samples:], period_us * 1000) for values in late.values()]


def _starts(late: list[int], period_ns: int) -> list[int]:
    found, due = [], 0
    for latency in late:
        found.append(due + latency)
        due += period_ns * max(1, math.ceil(latency / period_ns))
    return found


def _row(
    name: str, period_ms: float, timers: int, rounds: list[list[float]], policies: set[str]
) -> dict[str, Any]:
    every = sorted(us for one in rounds for us in one)
    period_us = period_ms * 1000
    skipped = sum(round(us / period_us) for us in every)
    return {
        "executor": name,
        "timers": timers,
        "period_ms": period_ms,
        "n": len(every),
        "p1_us": _low(every),
        "mean_us": sum(every) / len(every),
        "skipped": skipped,
        "drift_us": (sum(every) - skipped * period_us) / len(every),
        "p99_us": percentile(every, 0.99),
        "min_us": every[0],
        "max_us": every[-1],
        "turns": len(rounds) * timers,
        "in_force": sorted(policies),
        "rounds_p90_us": [percentile(sorted(one), 0.9) for one in rounds],
        "quantiles_us": [round(us, 3) for us in quantiles(every)],
    }


def _low(every: list[float]) -> float | None:
    """Return the largest sample of which 99 % are not below."""
    value = percentile(sorted(-us for us in every), 0.99)
    return None if value is None else -value


def _print(rows: list[dict[str, Any]], timers: int) -> None:
    print(f"jitter of {timers} timer{'s' if timers > 1 else ''}, us")
    print(
        f"  {'period ms':>9} {'':15} {'n':>6} {'1 %':>9} {'mean':>8} {'99 %':>9} {'max':>9}"
        f" {'skipped':>8}"
    )
    for row in rows:
        low, high = ("-" if row[key] is None else f"{row[key]:.1f}" for key in ("p1_us", "p99_us"))
        print(
            f"  {row['period_ms']:9g} {row['executor']:15} {row['n']:6} {low:>9}"
            f" {row['mean_us']:8.2f} {high:>9} {row['max_us']:9.1f} {row['skipped']:8}"
            f"  {', '.join(row['in_force'])}"
        )
