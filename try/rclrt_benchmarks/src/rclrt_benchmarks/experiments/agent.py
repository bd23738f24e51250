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

Exits with 1 when a target is missed or the experiment fails, with 2 for wrong arguments.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import positive, writable_file

BAUD = 115200
MAX_URGENT_P90_MS = 45
KIND = {"quiet": "serial", "bulk": "serial", "cpu": "udp4"}
PERIOD_MS = {"quiet": 173, "bulk": 173, "cpu": 5}
TIMES = {"quiet": 1, "bulk": 1, "cpu": 10}
"""As many numbers as `--samples` says."""
NOISE = 1.05
"""Two agents that are alike differ by less."""
BULK = ["--bulk-bytes", "3000", "--bulk-ms", "350"]
URGENT = ["--ros-args", "-p", "urgency./down:=28", "-p", "urgency./long_down:=1"]
PATIENCE_S = 60.0


class FailedError(Exception):
    """Something did not do what it should."""


@dataclasses.dataclass
class Sample:
    """What one run of one case has given."""

    down_ms: list[float]
    round_ms: list[float]
    lost: int
    cpu_us: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=2, help="(%(default)s)")
    parser.add_argument("--samples", type=positive, default=100, help="each (%(default)s)")
    parser.add_argument("--only", choices=list(KIND), action="append", help="only this case")


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    build = Path(os.environ.get("RCLRT_BUILD_DIR", "build"))
    agents = {"rclrt_agent": build / "rclrt_agent" / "rclrt_agent"}
    if "RCLRT_OTHER_AGENT" in os.environ:
        agents["other"] = Path(os.environ["RCLRT_OTHER_AGENT"])
    samples: dict[tuple[str, str], list[Sample]] = {}
    try:
        for _ in range(arguments.rounds):
            for case in arguments.only or KIND:
                for name, program in agents.items():
                    count = arguments.samples * TIMES[case]
                    sample = _measure(build, name, program, case, count)
                    samples.setdefault((case, name), []).append(sample)
    except (FailedError, OSError, subprocess.SubprocessError) as error:
        print(error, file=sys.stderr)
        return 1
    rows = [_row(case, name, of) for (case, name), of in samples.items()]
    _print(rows)
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0 if _judge(rows) else 1


class Programs:
    """Programs that are ended together."""

    def __init__(self) -> None:
        self._all: list[subprocess.Popen[str]] = []

    def start(self, *command: str | Path, errors: int | None = None) -> subprocess.Popen[str]:
        """Start one."""
        child = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, text=True
        )
        self._all.append(child)
        return child

    def __enter__(self) -> Programs:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all."""
        for child in reversed(self._all):
            child.kill()
            child.wait()


def _line(child: subprocess.Popen[str], what: str) -> str:
    assert child.stdout is not None
    text = child.stdout.readline()
    if not text:
        raise FailedError(f"{what} has ended; see its messages above")
    return text.strip()


def _measure(build: Path, name: str, agent: Path, case: str, count: int) -> Sample:
    with Programs() as programs:
        if KIND[case] == "serial":
            line = programs.start(build / "rclrt_benchmarks" / "agent_line", str(BAUD))
            ends = [_line(line, "agent_line") for _ in range(2)]
            words, where = ["serial", "--dev", ends[0], "-b", str(BAUD)], ["serial", ends[1]]
        else:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind(("127.0.0.1", 0))
                port = str(probe.getsockname()[1])
            words, where = ["udp4", "-p", port], ["udp", port]
        # Agents print as they like: nobody may wait for a full pipe.
        started = programs.start(
            agent, *words, *(URGENT if name == "rclrt_agent" else ()), errors=subprocess.DEVNULL
        )
        threading.Thread(target=_drain, args=(started,), daemon=True).start()
        client = programs.start(build / "rclrt_agent" / "agent_test_client", *where, "1", "stamps")
        if (said := _line(client, "the client")) != "ready":
            raise FailedError(f"{name}: the client says '{said}'")
        stamps: dict[int, int] = {}
        threading.Thread(target=_collect, args=(client, stamps), daemon=True).start()
        far_end = programs.start(
            sys.executable, Path(__file__).parent / "agent" / "far_end.py",
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
    used = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            used += int((task / "schedstat").read_text(encoding="ascii").split()[0]) / 1e3
        except OSError:
            continue  # it has ended
    return used


def _percentiles(values: list[float]) -> dict[str, float | None]:
    ordered = sorted(values)
    if not ordered:
        return {"p50": None, "p90": None, "max": None}
    last = len(ordered) - 1
    return {
        "p50": ordered[round(0.5 * last)],
        "p90": ordered[round(0.9 * last)],
        "max": ordered[-1],
    }


def _row(case: str, name: str, samples: list[Sample]) -> dict[str, Any]:
    return {
        "case": case,
        "agent": name,
        "n": sum(len(sample.round_ms) for sample in samples),
        "lost": sum(sample.lost for sample in samples),
        "down_ms": _percentiles([value for sample in samples for value in sample.down_ms]),
        "round_ms": _percentiles([value for sample in samples for value in sample.round_ms]),
        "cpu_us": sum(sample.cpu_us for sample in samples) / len(samples),
        "rounds_cpu_us": [sample.cpu_us for sample in samples],
    }


def _text(of: dict[str, float | None]) -> str:
    values = [of[key] for key in ("p50", "p90", "max")]
    return " ".join("     -" if value is None else f"{value:6.1f}" for value in values)


def _print(rows: list[dict[str, Any]]) -> None:
    load = os.getloadavg()
    print(time.strftime("%Y-%m-%d"), f"{os.cpu_count()} CPUs, load {load[0]:.1f}", end=", ")
    print(f"{os.uname().sysname} {os.uname().release}")
    print("ms: p50, p90, max; CPU: us of the agent for each message\n")
    head = f"{'case':6} {'agent':12} {'n':>5} {'lost':>4}"
    print(f"{head}  {'down':^20}  {'there and back':^20}  CPU")
    for row in rows:
        print(
            f"{row['case']:6} {row['agent']:12} {row['n']:5} {row['lost']:4}  "
            f"{_text(row['down_ms'])}  {_text(row['round_ms'])}  {row['cpu_us']:5.0f}"
        )


def _judge(rows: list[dict[str, Any]]) -> bool:
    """Print the targets. Whether all are met."""
    by = {(row["case"], row["agent"]): row for row in rows}
    targets: list[tuple[str, float | None, float | None]] = [
        (f"{case}: nothing is lost", row["lost"], 0)
        for (case, name), row in by.items()
        if name == "rclrt_agent"
    ]
    if ("bulk", "rclrt_agent") in by:
        p90 = by["bulk", "rclrt_agent"]["down_ms"]["p90"]
        targets.append(("bulk: p90 of the way down, ms", p90, MAX_URGENT_P90_MS))
    if ("quiet", "other") in by:
        ours, other = (by["quiet", name]["round_ms"]["p50"] for name in ("rclrt_agent", "other"))
        limit = None if other is None else other * NOISE
        targets.append(("quiet: p50 there and back, ms, against the other", ours, limit))
    if ("cpu", "other") in by:
        ours, other = (by["cpu", name]["cpu_us"] for name in ("rclrt_agent", "other"))
        targets.append(("cpu: us a message, against the other", ours, other * NOISE))
    print("\nTargets")
    good = True
    for what, value, limit in targets:
        met = value is not None and limit is not None and value <= limit
        good = good and met
        shown = "-" if value is None else f"{value:.1f}"
        allowed = "-" if limit is None else f"{limit:.1f}"
        print(f"  {what:52} {shown:>8}  {'met' if met else 'MISSED'} (at most {allowed})")
    return good
