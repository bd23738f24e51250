# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""rclrt_agent, alone or beside another DDS-XRCE agent: latency on a slow line, and CPU.

A number goes from ROS to a client of rclrt_micro, which sends it back. Three cases:

1. quiet: a serial line of 115200 baud, nothing else on it.
2. bulk: the same, and messages of 3 kB down that fill three quarters of the line.
3. cpu: UDP, 200 numbers a second; CPU time of the agent for each message, up or down.

With RCLRT_OTHER_AGENT=PROGRAM in the environment that agent is measured in the same run, in turns:
it must know `serial --dev DEVICE -b BAUD` and `udp4 -p PORT`, and domain 0. The line is a pair of
pseudo-terminals that takes its time; a terminal holds more than the driver of a real UART.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rclrt_benchmarks.harness.frame import (
    FailedError,
    Result,
    median,
    options,
    path_of,
    perform,
    source,
    summary,
    table,
)
from rclrt_benchmarks.harness.row import Judged, Machine, Row, at_most, ratio_of, stated
from rclrt_tools.arguments import positive, some_of
from rclrt_tools.statistics import percentile

OURS, OTHER = "rclrt_agent", "other"
BAUD = 115200
MOST_URGENT_P90_MS = 45
KIND = {"quiet": "serial", "bulk": "serial", "cpu": "udp4"}
PERIOD_MS = {"quiet": 173, "bulk": 173, "cpu": 5}
TIMES = {"quiet": 1, "bulk": 1, "cpu": 10}
"""As many numbers as `--samples` says."""
NOISE = 1.05
"""Two agents that are alike differ by less."""
BULK = ["--bulk-bytes", "3000", "--bulk-ms", "350"]
URGENT = ["--ros-args", "-p", "urgency./down:=28", "-p", "urgency./long_down:=1"]


@dataclasses.dataclass
class Sample:
    """What one run of one case has given."""

    down_ms: list[float]
    round_ms: list[float]
    lost: int
    cpu_us: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser, rounds=2)
    parser.add_argument("--samples", type=positive, default=100, help="each (%(default)s)")
    cases = ",".join(KIND)
    parser.add_argument(
        "--only", type=some_of(KIND), default=tuple(KIND), metavar="A,B", help=f"of {cases}"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    return perform(arguments, _measure, _show, judge)


def _measure(arguments: argparse.Namespace) -> Result:
    agents = {OURS: path_of("rclrt_agent", "rclrt_agent")}
    if "RCLRT_OTHER_AGENT" in os.environ:
        agents[OTHER] = Path(os.environ["RCLRT_OTHER_AGENT"])
    samples: dict[tuple[str, str], list[Sample]] = {}
    for _ in range(arguments.rounds):
        for case in arguments.only:
            for name, program in agents.items():
                sample = _turn(name, program, case, arguments.samples * TIMES[case])
                samples.setdefault((case, name), []).append(sample)
    return {"rows": [_row(case, name, of) for (case, name), of in samples.items()]}


class Programs(contextlib.ExitStack):
    """Programs that are ended together, the last one first."""

    def start(self, *command: str | Path, errors: int | None = None) -> subprocess.Popen[str]:
        """Start one."""
        child = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, text=True
        )
        self.callback(child.wait)
        self.callback(child.kill)
        return child


def _line(child: subprocess.Popen[str], what: str) -> str:
    assert child.stdout is not None
    text = child.stdout.readline()
    if not text:
        raise FailedError(f"{what} has ended; see its messages above")
    return text.strip()


def _turn(name: str, agent: Path, case: str, count: int) -> Sample:
    with Programs() as programs:
        if KIND[case] == "serial":
            line = programs.start(path_of("agent_line"), str(BAUD))
            ends = [_line(line, "agent_line") for _ in range(2)]
            words, where = ["serial", "--dev", ends[0], "-b", str(BAUD)], ["serial", ends[1]]
        else:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind(("127.0.0.1", 0))
                port = str(probe.getsockname()[1])
            words, where = ["udp4", "-p", port], ["udp", port]
        # Agents print as they like: nobody may wait for a full pipe.
        started = programs.start(
            agent, *words, *(URGENT if name == OURS else ()), errors=subprocess.DEVNULL
        )
        threading.Thread(target=_drain, args=(started,), daemon=True).start()
        client = programs.start(path_of("agent_test_client", "rclrt_agent"), *where, "1", "stamps")
        if (said := _line(client, "the client")) != "ready":
            raise FailedError(f"{name}: the client says '{said}'")
        stamps: dict[int, int] = {}
        threading.Thread(target=_collect, args=(client, stamps), daemon=True).start()
        far_end = programs.start(
            sys.executable, source() / "try/rclrt_benchmarks/programs/far_end.py",
            "--count", str(count), "--period-ms", str(PERIOD_MS[case]),
            *(BULK if case == "bulk" else ()),
        )  # fmt: skip
        _line(far_end, "the far end")
        before = _cpu_us(started.pid)
        _line(far_end, "the far end")
        used = _cpu_us(started.pid) - before
        times = json.loads(_line(far_end, "the far end"))
    sent = {int(number): at for number, at in times["sent"].items()}
    back = {int(number): at for number, at in times["back"].items()}
    return Sample(
        [(stamps[number] - at) / 1e6 for number, at in sent.items() if number in stamps],
        [(back[number] - at) / 1e6 for number, at in sent.items() if number in back],
        len(sent.keys() - back.keys()),
        used / (2 * len(sent)),
    )


def _drain(child: subprocess.Popen[str]) -> None:
    assert child.stdout is not None
    for _ in child.stdout:
        pass


def _collect(client: subprocess.Popen[str], stamps: dict[int, int]) -> None:
    assert client.stdout is not None
    for text in client.stdout:
        words = text.split()
        if words[0] == "down":
            stamps.setdefault(int(words[1]), int(words[2]))


def _cpu_us(pid: int) -> float:
    """Return what the threads of a process have used; those that live now."""
    from rclrt_tools.live.threads import threads_of

    return sum(thread.cpu_ns for thread in threads_of(pid)) / 1e3


def _row(case: str, name: str, samples: list[Sample]) -> Result:
    down = [value for sample in samples for value in sample.down_ms]
    there_and_back = [value for sample in samples for value in sample.round_ms]
    return {
        "case": case,
        "agent": name,
        "lost": sum(sample.lost for sample in samples),
        "cpu_us": median(sample.cpu_us for sample in samples),
        "down_p90_ms": percentile(sorted(down), 0.9),
        "down": summary(down, "ms"),
        "round": summary(there_and_back, "ms"),
    }


def _show(result: Result) -> None:
    table(
        result["rows"], ("case", "case", ""), ("agent", "agent", ""),
        ("n", lambda row: row["round"]["n"], "d"), ("lost", "lost", "d"),
        ("down: p50", lambda row: row["down"]["p50_ms"], ".1f"), ("p90", "down_p90_ms", ".1f"),
        ("max", lambda row: row["down"]["max_ms"], ".1f"),
        ("there and back: p50", lambda row: row["round"]["p50_ms"], ".1f"),
        ("max", lambda row: row["round"]["max_ms"], ".1f"), ("CPU us", "cpu_us", ".0f"),
        title="ms; CPU: of the agent for each message, median of the rounds",
    )  # fmt: skip


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge what is lost, what is urgent, and what another agent takes."""
    by = {(row["case"], row["agent"]): row for row in result["rows"]}
    found: list[Row] = [
        stated(f"{case}: numbers that do not come back", "-", str(row["lost"]), "none",
               row["lost"] == 0, timed=False)
        for (case, name), row in by.items()
        if name == OURS
    ]  # fmt: skip
    if ("bulk", OURS) in by:
        p90 = by["bulk", OURS]["down_p90_ms"]
        found.append(
            at_most(
                f"bulk: p90 of the way down / {MOST_URGENT_P90_MS} ms",
                ratio_of(p90, MOST_URGENT_P90_MS), 1.0, shape=f"at most {MOST_URGENT_P90_MS} ms",
            )
        )  # fmt: skip
    figures: dict[str, tuple[str, Callable[[Any], float | None]]] = {
        "quiet": ("p50 there and back", lambda row: row["round"]["p50_ms"]),
        "cpu": ("CPU time a message", lambda row: row["cpu_us"]),
    }
    for case, (what, figure) in figures.items():
        if (case, OTHER) in by:
            ratio = ratio_of(*(figure(by[case, name]) for name in (OURS, OTHER)))
            name = f"{case}: {what}, against the other"
            found.append(at_most(name, ratio, NOISE, shape="alike, but for noise"))
    return Judged(found)
