# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the verb `demo` does once its arguments are known to be right."""

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rclrt_tools.places import me
from rclrt_tools.reference import environment, picture, study, table
from rclrt_tools.reference.environment import PROCESSES_A_CPU, BackgroundLoad
from rclrt_tools.reference.program import (
    BACKGROUND,
    QUIET,
    WHOLE_PROCESS,
    WHOLE_PROCESS_PRIORITY,
    Interrupt,
    Program,
    ProgramError,
    Row,
    find_program,
)
from rclrt_tools.reference.table import make_result

FAILED = 1
WRONG_USAGE = 2


def say(text: str) -> None:
    """Show progress: one line each, apart from the result on standard output."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def complain(text: str, status: int) -> int:
    """Say why it ends, and return `status`."""
    print(f"{me()} demo: {text}", file=sys.stderr)
    return status


def title_of(scenario: Mapping[str, Any], arguments: argparse.Namespace, done: study.Study) -> str:
    """Return what the table shows."""
    path = scenario.get("hot_path")
    cpus = f"CPUs {arguments.cpus}" if arguments.cpus else "all CPUs"
    work = "" if arguments.work is None else f", {arguments.work:g} ms of work"
    what = (
        f"hot path, ms: data {RECEIVED[done.reception_stamp]} from {' or '.join(path['roots'])} "
        f"to start of {path['sink']}"
        if path
        else "response times of all timers, ms"
    )
    nodes = f"{len(scenario['nodes'])} nodes, one process, {cpus}{work}"
    return f"{scenario['name']}: {nodes}, {done.rmw or 'no RMW'}; {what}"


# What has happened to a message at its time of reception.
RECEIVED = {"arrival": "received", "take": "taken", "unknown": "received or taken"}
BUSY_CPUS = 0.1
# What a real-time executor may add to the ideal at the 99th percentile.
TARGET_EXECUTOR = "preemptive_hot"
TARGET_RATIO = 1.25
# What the load may add to that executor's 99th percentile: a factor, and ms.
TARGET_BESIDE_LOAD = 1.05
TARGET_BESIDE_LOAD_MS = 0.2


def cpus_of(cpus: str | None) -> set[int]:
    """Return the CPUs that the programs may use: those of --cpus or all of this process."""
    return {int(cpu) for cpu in cpus.split(",")} if cpus else os.sched_getaffinity(0)


def verdict_of(done: study.Study) -> str | None:
    """Return how the executor that puts the hot path first compares with the ideal."""
    ideal_ms = done.transport.ideal_ms
    if done.reception_stamp != "arrival":
        return None
    for measurement in done.measurements:
        p99_ms = measurement.percentile(0.99)
        is_it = measurement.executor == TARGET_EXECUTOR and measurement.load == QUIET
        if is_it and ideal_ms and p99_ms is not None:
            ratio = p99_ms / ideal_ms
            met = "met" if ratio <= TARGET_RATIO else "MISSED"
            return f"{TARGET_EXECUTOR}: p99 is {ratio:.2f} x ideal (target {TARGET_RATIO}: {met})."
    return None


def by_load_of(done: study.Study, fraction: float) -> list[tuple[str, float, float]]:
    """Return each executor measured both ways, with that percentile quiet and beside load."""
    latency = {
        (m.executor, m.load): m.percentile(fraction) for m in done.measurements if not m.failure
    }
    pairs = [
        (name, value, latency.get((name, BACKGROUND)))
        for (name, load), value in latency.items()
        if load == QUIET
    ]
    known = [(name, quiet, busy) for name, quiet, busy in pairs if quiet and busy is not None]
    return sorted(known, key=lambda pair: pair[2] / pair[1])


def worse_beside_load(done: study.Study) -> list[str]:
    """Return how much worse each row gets beside the load, the least first; and the verdict.

    Of rows that drop so much beside the load that they have no 99th percentile, by the median.
    """
    pairs = by_load_of(done, 0.99)
    of_p99 = {name for name, _, _ in pairs}
    slow = [pair for pair in by_load_of(done, 0.5) if pair[0] not in of_p99]
    lines = []
    for what, those in (("p99", pairs), ("p50", slow)):
        texts = ", ".join(f"{name} {busy / quiet:.2f}" for name, quiet, busy in those)
        lines += [f"{what} beside load / quiet: {texts}."] if those else []
    for name, quiet, busy in pairs:
        if name == TARGET_EXECUTOR:
            limit = TARGET_BESIDE_LOAD * quiet + TARGET_BESIDE_LOAD_MS
            met = "met" if busy <= limit else "MISSED"
            lines.append(f"{name}: {busy:.2f} ms beside load (target {limit:.2f} ms: {met}).")
    return lines


def to_end_of(done: study.Study) -> str | None:
    """Return the latencies to the end of the sink."""
    texts = []
    for measurement in (m for m in done.measurements if m.load == QUIET):
        p50_ms, p99_ms = measurement.percentile_to_end(0.5), measurement.percentile_to_end(0.99)
        if p50_ms is not None:
            texts.append(f"{measurement.executor} {p50_ms:.2f} / {table.number(p99_ms)}")
    return f"To the end of the sink, quiet, p50 / p99: {', '.join(texts)}." if texts else None


def notes_of(done: study.Study) -> list[str]:
    """Return what the reader of the table must know."""
    notes = worse_beside_load(done)
    transport = done.transport
    if transport.ideal_ms is not None and transport.total_ms is not None:
        notes.append(
            f"ideal: {transport.least_work_ms:.2f} ms of work on the critical path + "
            f"{transport.total_ms:.2f} ms of transport (median of {transport.samples} without "
            "work)."
        )
    if done.rmw and done.reception_stamp != "arrival":
        when = "stamps messages" if done.reception_stamp == "take" else "may stamp messages"
        notes.append(
            f"{done.rmw} {when} when they are taken, not when they arrive: what data waits for at "
            "the beginning of the hot path is in no figure, and a row may be better than its "
            "ideal. Do not compare these figures with those of an RMW that stamps at arrival."
        )
    notes += [text for text in (verdict_of(done), to_end_of(done)) if text]
    notes.append(
        "drops: jobs released but never run. misses: timers later than their period, hot path "
        "later than its roots' period. in force: policies and priorities that callbacks found "
        "themselves running with, or what put their deadlines in force."
    )
    if any(len(m.latency_ms) < 100 for m in done.measurements):
        notes.append(
            "-: fewer samples than the percentile needs (100 for p99); give it more --duration."
        )
    if any(m.load == BACKGROUND for m in done.measurements):
        notes.append(
            f"busy: beside {PROCESSES_A_CPU} busy ordinary processes a CPU (SCHED_OTHER, a "
            "session each), started and ended by the demo."
        )
    if any(m.executor.endswith(WHOLE_PROCESS) for m in done.measurements):
        notes.append(
            f"{WHOLE_PROCESS}: the whole process under SCHED_FIFO {WHOLE_PROCESS_PRIORITY}, as by "
            "chrt; without it these executors run as their originals do, under SCHED_OTHER."
        )
    refused = [m for m in done.measurements if m.attributes_asked and not m.attributes_in_force]
    if refused:
        fixes = [f["fix"] for m in refused for f in m.findings if f["errno"] and f["fix"]]
        notes.append(
            "REFUSED: the operating system did not grant what these rows asked for, so they ran "
            "without it. " + (fixes[0] if fixes else "")
        )
    if done.others_cpus >= BUSY_CPUS:
        notes.append(
            f"Other programs kept {done.others_cpus:.1f} CPUs busy meanwhile: rows without "
            "real-time priorities had to share with them."
        )
    if done.interrupted:
        notes.append("Interrupted: this is what was measured until then.")
    return notes


NOT_PERMITTED = "SCHED_FIFO is not permitted here: see docs/how-to/real-time-permissions.md"


def permitted(executors: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return those that may run, and those whose process may not be given its priority."""
    may = environment.may_use_realtime(WHOLE_PROCESS_PRIORITY)
    left_out = [name for name in executors if name.endswith(WHOLE_PROCESS) and not may]
    return [name for name in executors if name not in left_out], left_out


def demonstrate(arguments: argparse.Namespace, scenario_path: Path, source: Path) -> int:
    """Run the study and report it."""
    program = Program(find_program(), scenario_path, arguments.work, arguments.cpus)
    if not program.path.exists():
        return complain(f"{program.path} is not built. Run ./rclrt build", FAILED)
    executors, left_out = permitted(arguments.executors)
    if not executors:
        return complain(f"{', '.join(left_out)}: {NOT_PERMITTED}", FAILED)
    with Interrupt() as interrupt:
        try:
            program.check(executors)
            scenario = yaml.safe_load(scenario_path.read_text(encoding="utf-8"))
            about = environment.describe(source, scenario_path)
            cpus = cpus_of(arguments.cpus)
            rows = [Row(name, load) for name in executors for load in arguments.load]
            done = study.conduct(
                program,
                interrupt,
                rows,
                arguments.duration,
                len(cpus),
                say,
                BackgroundLoad(cpus),
            )
        except (OSError, UnicodeError, yaml.YAMLError) as error:
            return complain(f"{scenario_path}: {error}", WRONG_USAGE)
        except ProgramError as error:
            if interrupt.requested:
                return complain("interrupted before anything was measured", study.INTERRUPTED)
            return complain(str(error), error.status if error.status == WRONG_USAGE else FAILED)

    about.update(study.describe(done, program.iterations_per_ms))
    about["cpus_used"] = arguments.cpus or "all"
    title = title_of(scenario, arguments, done)
    notes = notes_of(done)
    if left_out:
        notes.append(f"Left out: {', '.join(left_out)}. {NOT_PERMITTED}.")
    ideal_ms = done.transport.ideal_ms
    print(table.make_table(title, done.measurements, notes), flush=True)
    result = make_result(about, done.measurements, ideal_ms)
    try:
        if arguments.json:
            arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        if arguments.svg:
            drawn = picture.make_picture(title.split(";")[0], done.measurements, ideal_ms)
            arguments.svg.write_text(drawn, encoding="utf-8")
    except OSError as error:
        return complain(f"{error.filename}: {error.strerror}", FAILED)
    return FAILED if any(m.failure for m in done.measurements) else 0
