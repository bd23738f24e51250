# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What all experiments do alike: options, turns, programs, statistics, tables, verdicts, the file.

An experiment is a module with a docstring, `add_arguments(parser)` and `run(arguments)`. The latter
hands `perform` a function that measures, one that shows what it has measured, and those that judge
that. If it runs nothing that is built, it has `NEEDS = ()`.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rclrt_benchmarks.harness.row import FAILS, Judge, Machine, Row
from rclrt_tools.arguments import positive, writable_file
from rclrt_tools.reference import environment
from rclrt_tools.reference.environment import may_use_realtime
from rclrt_tools.reference.program import ProgramError, ends_with_us
from rclrt_tools.statistics import percentile, quantiles

SCHEMA = 1
CANNOT = 77
"""The exit status if this machine or user cannot do what the experiment needs."""
LIMIT_S = 600.0

Result = dict[str, Any]


class FailedError(Exception):
    """The experiment cannot go on; `status` is its exit status."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status


def source() -> Path:
    """Return the folder of the sources."""
    return Path(os.environ.get("RCLRT_SOURCE_DIR", "."))


def options(parser: argparse.ArgumentParser, rounds: int = 0) -> None:
    """Declare what many have: the file, and how many turns each variant has (0: no option)."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    if rounds:
        parser.add_argument(
            "--rounds", type=positive, default=rounds, help="turns of each (%(default)s)"
        )


def perform(
    arguments: argparse.Namespace,
    measure: Callable[[argparse.Namespace], Result],
    show: Callable[[Result], None],
    *judges: Judge,
) -> int:
    """Measure, show, judge, write; return 1 if a statement does not hold or something failed."""
    stay_on_this_machine()
    before = os.getloadavg()[0]
    try:
        result = measure(arguments)
    except FailedError as error:
        print(error, file=sys.stderr)
        return error.status
    except (OSError, subprocess.SubprocessError, ProgramError) as error:
        print(error, getattr(error, "stderr", None) or "", file=sys.stderr)
        return 1
    where = {
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
        "kernel": os.uname().release,
        "cpus": os.cpu_count(),
        "load_before": before,
        "load_after": os.getloadavg()[0],
    }
    print(", ".join(f"{name} {value}" for name, value in where.items()))
    show(result)
    rows = say(row for judge in judges for row in judge(result, machine()).rows)
    if arguments.json:
        written = {"schema": SCHEMA, "environment": where, **result}
        arguments.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    return int(any(row.verdict == FAILS for row in rows))


def say(rows: Iterable[Row]) -> list[Row]:
    """Print the verdicts, and return them."""
    found = list(rows)
    for row in found:
        why = f" ({row.why})" if row.why else ""
        print(f"{row.verdict}: {row.name}: {row.ours}; must: {row.shape}{why}")
    return found


def stay_on_this_machine() -> None:
    """See no messages of others, and send them none: for programs that are started from now on."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))


def needs_fifo(priority: int = 1) -> None:
    """Raise FailedError where SCHED_FIFO is not permitted."""
    if not may_use_realtime(priority):
        raise FailedError(
            "SCHED_FIFO is not permitted: docs/how-to/real-time-permissions.md", CANNOT
        )


def path_of(name: str, package: str = "rclrt_benchmarks") -> Path:
    """Return where a program of the build is.

    Raises FailedError: It is not built.
    """
    path = Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / package / name
    if not path.exists():
        raise FailedError(f"{path} is not built: ./rclrt build, or ./rclrt test for all programs")
    return path


def output(
    *command: object, environment: Mapping[str, str] | None = None, limit_s: float | None = LIMIT_S
) -> str:
    """Run a program that must not outlive us, and return what it prints."""
    return subprocess.run(
        [*ends_with_us(), *map(str, command)], stdout=subprocess.PIPE, text=True, check=True,
        timeout=limit_s, env={**os.environ, **(environment or {})},
    ).stdout  # fmt: skip


def parsed(*command: object) -> Any:
    """Run a program, and return what it prints as JSON."""
    return json.loads(output(*command))


def turns(names: Sequence[str], rounds: int) -> Iterator[list[str]]:
    """Yield the names once a round, beginning with another one each time."""
    for number in range(rounds):
        first = number % len(names)
        yield [*names[first:], *names[:first]]
        print(f"round {number + 1} of {rounds}", file=sys.stderr)


def summary(samples: Sequence[float], unit: str, digits: int = 3) -> Result:
    """Return number, percentiles (None if there are too few samples) and quantiles of samples."""
    ordered = sorted(samples)
    figures = {"p50": percentile(ordered, 0.5), "p99": percentile(ordered, 0.99)}
    figures["max"] = ordered[-1] if ordered else None
    return {
        "n": len(ordered),
        **{f"{name}_{unit}": known(value, digits) for name, value in figures.items()},
        f"quantiles_{unit}": [round(value, digits) for value in quantiles(ordered)],
    }


def known(value: float | None, digits: int = 3) -> float | None:
    """Return a number rounded, if it is known."""
    return None if value is None else round(value, digits)


def median(values: Iterable[float | None]) -> float | None:
    """Return the median, if there are values and all of them are known."""
    every = list(values)
    found = [value for value in every if value is not None]
    return statistics.median(found) if found and len(found) == len(every) else None


Column = tuple[str, str | Callable[[Mapping[str, Any]], object], str]
"""Head; key of the row, or what makes the cell of it; format of the cell."""


def table(rows: Iterable[Mapping[str, Any]], *columns: Column, title: str = "") -> None:
    """Print a table; what is not known is '-', numbers are flush right."""
    lines = [[head for head, _, _ in columns]]
    lines += [[_cell(row, key, form) for _, key, form in columns] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    if title:
        print(f"\n{title}")
    for line in lines:
        cells = zip(line, widths, columns, strict=True)
        padded = (cell.rjust(w) if form else cell.ljust(w) for cell, w, (_, _, form) in cells)
        print(("  " + "  ".join(padded)).rstrip())


def _cell(row: Mapping[str, Any], key: Any, form: str) -> str:
    value = key(row) if callable(key) else row.get(key)
    return "-" if value is None else format(value, form)


WORKER_PRIORITY = 51


def _build() -> Path:
    return Path(os.environ.get("RCLRT_BUILD_DIR", "build"))


def _why_no_vm() -> str:
    """Return why no virtual machine can be had, or nothing. It needs no /dev/kvm."""
    source = Path(os.environ.get("RCLRT_SOURCE_DIR", "."))
    kernel = source / ".rclrt" / "scx" / "vmlinuz-cloud-amd64"
    if not shutil.which("qemu-system-x86_64"):
        return "no qemu-system-x86_64: apt-get install qemu-system-x86"
    if not Path("/bin/busybox").exists():
        return "no static busybox: apt-get install busybox-static"
    if not kernel.exists():
        return "no kernel for it: kernel/rclrt_scx/tools/fetch_kernels.sh .rclrt/scx"
    if not (_build() / "rclrt_scx" / "scx_guest").exists():
        return "its programs are not built: they are part of the tests, see ./rclrt build"
    return ""


def machine() -> Machine:
    """Look at it."""
    return Machine(
        cpus=len(os.sched_getaffinity(0)),
        realtime=environment.may_use_realtime(WORKER_PRIORITY),
        rclcpp=(_build() / "rclrt_benchmarks" / "dispatch_rclcpp").exists(),
        cyclictest=shutil.which("cyclictest") is not None,
        why_no_vm=_why_no_vm(),
    )


def describe() -> dict[str, Any]:
    """Return what the report says of it."""
    source = Path(os.environ.get("RCLRT_SOURCE_DIR", "."))
    known = environment.describe(
        source, source / "try/rclrt_scenarios/autoware_reference_system.yaml"
    )
    here = machine()
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
        "machine": known["machine"],
        "CPU": known["cpu"],
        "CPUs": f"{here.cpus} of {known['cpus']}",
        "kernel": known["kernel"],
        "PREEMPT_RT": "yes" if known["preempt_rt"] else "no",
        "governor": known["governor"] or "unknown",
        "sched_rt_runtime_us": known["sched_rt_runtime_us"],
        "SCHED_FIFO": "permitted" if here.realtime else "not permitted",
        "rclcpp": "found" if here.rclcpp else "not found",
        "cyclictest": "found" if here.cyclictest else "not found",
        "load": f"{os.getloadavg()[0]:.2f}",
        "rclrt": known["revision"] or "unknown",
        "Python": platform.python_version(),
    }
