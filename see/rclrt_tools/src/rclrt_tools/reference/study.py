# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A study: one scenario under several executors, interleaved, within a given time.

Short slices of every row come in rotating order. What disturbs the machine for a while (another
program, a hot processor) then disturbs all rows, not the one whose turn it was.

The program that runs a scenario checks more of it (see try/rclrt_scenarios/README.md) than is read
here; what this lets through has the right form.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from rclrt_tools.reference import environment
from rclrt_tools.reference.environment import BackgroundLoad
from rclrt_tools.reference.measurement import NS_PER_MS, Measurement
from rclrt_tools.reference.program import (
    BACKGROUND,
    WARM_UP_S,
    Interrupt,
    Program,
    ProgramError,
    Report,
    Row,
)
from rclrt_tools.statistics import percentile

MIN_SLICE_S = 1.0
# A slice should last so long that its start does not dominate.
GOOD_SLICE_S = 4.0
# All slices of a row together: 110 samples of a hot path at 10 Hz, enough for p99.
GOOD_TOTAL_S = 11.0
MAX_ROUNDS = 4


@dataclass(frozen=True)
class Slice:
    """One run of one row."""

    row: Row
    seconds: float


def make_schedule(rows: Sequence[Row], available_s: float, overhead_s: float) -> list[Slice]:
    """Divide a time among rows.

    rows: Without repetition.
    available_s: Time for all slices, s.
    overhead_s: What a slice takes besides the time it measures, s.

    Returns list of Slice: As many rounds as leave slices of `GOOD_SLICE_S` and `GOOD_TOTAL_S` for
        each row, at most `MAX_ROUNDS`; each round begins with another one. Slices are never shorter
        than `MIN_SLICE_S`, whatever the time.
    """
    seconds = MIN_SLICE_S
    rounds = 1
    for rounds in range(MAX_ROUNDS, 0, -1):
        seconds = available_s / (rounds * len(rows)) - overhead_s
        if seconds >= GOOD_SLICE_S and seconds * rounds >= GOOD_TOTAL_S:
            break
    seconds = max(seconds, MIN_SLICE_S)
    return [
        Slice(rows[(first + turn) % len(rows)], seconds)
        for first in range(rounds)
        for turn in range(len(rows))
    ]


# The executor whose hand-over counts as transport in the ideal: the one with the least of its own.
TRANSPORT_EXECUTOR = "preemptive_hot"
# How long that is measured, s: a twentieth of the whole, within these.
TRANSPORT_S = (1.0, 3.0)
# What a slice is thought to take besides warm-up and measuring, until it is known.
FIRST_GUESS_OVERHEAD_S = 2.0
WRONG_USAGE = 2
INTERRUPTED = 130


@dataclass
class Transport:
    """How long data takes along the hot path when nobody works."""

    total_ms: float | None = None
    """Median over all instances, from reception to the start of the sink."""
    samples: int = 0
    sent_to_received_ms: float | None = None
    """Median over all messages on the path."""
    received_to_start_ms: float | None = None
    critical_path_work_ms: float = 0.0
    hot_path_work_ms: float = 0.0
    """The work of all branches of the hot path together."""
    cpus: int = 1
    """How many there are to share it."""

    @property
    def least_work_ms(self) -> float:
        """The longest branch, or all branches shared among the CPUs, whichever takes longer."""
        return max(self.critical_path_work_ms, self.hot_path_work_ms / self.cpus)

    @property
    def ideal_ms(self) -> float | None:
        """Least latency of the hot path: the work that must lie within it, plus transport."""
        return None if self.total_ms is None else self.least_work_ms + self.total_ms


@dataclass
class Study:
    """What was measured, so far."""

    measurements: list[Measurement]
    transport: Transport = field(default_factory=Transport)
    slices: int = 0
    slice_s: float = 0.0
    interrupted: bool = False
    others_cpus: float = 0.0
    """How many CPUs other programs kept busy meanwhile, on average."""

    @property
    def rmw(self) -> str:
        """The RMW implementation that all programs used; empty if none has run."""
        return next((m.rmw for m in self.measurements if m.rmw), "")

    @property
    def reception_stamp(self) -> str:
        """What its time of reception is."""
        return next((m.reception_stamp for m in self.measurements if m.rmw), "unknown")


def _median(values: list[float]) -> float | None:
    return percentile(sorted(values), 0.5)


def transport_of(report: Report, transport: Transport) -> None:
    """Fill in what a run without work tells."""
    totals: list[float] = []
    sent_to_received: list[float] = []
    received_to_start: list[float] = []
    if report["hot_path"] is None:
        return
    for received, start, _end, _ in report["hot_path"]["samples"]:
        totals.append((start - received) / NS_PER_MS)
    for callback in report["callbacks"]:
        if callback["on_hot_path"] and callback["kind"] == "subscription":
            for release, start, _end, sent, *_ in callback["jobs"]:
                sent_to_received.append((release - sent) / NS_PER_MS)
                received_to_start.append((start - release) / NS_PER_MS)
    transport.total_ms = _median(totals)
    transport.samples = len(totals)
    transport.sent_to_received_ms = _median(sent_to_received)
    transport.received_to_start_ms = _median(received_to_start)


def conduct(
    runner: Program,
    interrupt: Interrupt,
    rows: Sequence[Row],
    duration_s: float,
    cpus: int,
    say: Callable[[str], None],
    background: BackgroundLoad | None = None,
) -> Study:
    """Run everything. Returns early, with what there is, after an interrupt.

    duration_s: For all of it, calibration and starts included, s.
    cpus: How many the programs may use.
    say: Is told what happens next.
    background: The load of rows with `BACKGROUND`.

    Raises ProgramError: The scenario or an option was refused: no executor could have run. Or the
        interrupt came before anything was measured.
    """
    began = time.monotonic()
    others_s = environment.busy_cpu_s() - environment.own_cpu_s()
    by_row = {row: Measurement(row.executor, row.load) for row in rows}
    study = Study(list(by_row.values()), Transport(cpus=cpus))
    say("calibrating the work")
    runner.calibrate()
    if interrupt.requested:
        raise ProgramError(INTERRUPTED, "interrupted before anything was measured")

    overhead_s = FIRST_GUESS_OVERHEAD_S
    say("measuring the transport: the same without work")
    before = time.monotonic()
    transport_s = min(max(duration_s / 20.0, TRANSPORT_S[0]), TRANSPORT_S[1])
    try:
        transport_of(runner.run(interrupt, TRANSPORT_EXECUTOR, transport_s, 0.0), study.transport)
        overhead_s = max(0.0, time.monotonic() - before - transport_s)
    except ProgramError as error:
        if error.status == WRONG_USAGE:
            raise
        say(f"the transport could not be measured: {error}")

    left_s = duration_s - (time.monotonic() - began)
    schedule = make_schedule(rows, left_s, max(overhead_s, WARM_UP_S))
    study.slice_s = schedule[0].seconds
    for number, part in enumerate(schedule, start=1):
        if interrupt.requested:
            break
        say(f"{number}/{len(schedule)}  {part.row}, {part.seconds:.1f} s")
        measurement = by_row[part.row]
        beside = background if part.row.load == BACKGROUND else None
        try:
            with beside or nullcontext():
                report = runner.run(interrupt, part.row.executor, part.seconds)
        except ProgramError as error:
            if error.status == WRONG_USAGE:
                raise
            if not interrupt.requested:
                measurement.failure = str(error)
            continue
        measurement.add(report)
        study.slices += 1
        if report["hot_path"] is not None:
            path = report["hot_path"]
            study.transport.critical_path_work_ms = path["critical_path_work_ms"]
            study.transport.hot_path_work_ms = path["work_ms"]
    study.interrupted = interrupt.requested
    others_s = environment.busy_cpu_s() - environment.own_cpu_s() - others_s
    study.others_cpus = max(0.0, others_s / (time.monotonic() - began))
    return study


def describe(study: Study, iterations_per_ms: float) -> dict[str, Any]:
    """Return what the environment part of the result says about the study itself."""
    transport = study.transport
    return {
        "interrupted": study.interrupted,
        "slices": study.slices,
        "slice_s": round(study.slice_s, 3),
        "warm_up_s": WARM_UP_S,
        "cpus_busy_with_other_programs": round(study.others_cpus, 3),
        "measured_s": {m.executor: round(m.measured_s, 3) for m in study.measurements},
        "rmw": study.rmw or None,
        "reception_stamp": study.reception_stamp,
        "work_iterations_per_ms": round(iterations_per_ms),
        "critical_path_work_ms": transport.critical_path_work_ms,
        "hot_path_work_ms": transport.hot_path_work_ms,
        "transport_ms": {
            "n": transport.samples,
            "hot_path_p50": transport.total_ms,
            "hop_sent_to_received_p50": transport.sent_to_received_ms,
            "hop_received_to_start_p50": transport.received_to_start_ms,
        },
    }
