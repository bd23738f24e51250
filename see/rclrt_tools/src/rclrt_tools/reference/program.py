# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the program that runs a scenario, and stops it when asked; the names of its executors."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from rclrt_tools import places

WARM_UP_S = 0.6
# Discovery and the end of a run may take long on a machine that is busy.
PATIENCE_S = 60.0

Report = dict[str, Any]


def ends_with_us() -> tuple[str, ...]:
    """Return what comes before a command line whose program shall not outlive us, however we end.

    Nobody could stop it then, and its real-time threads may leave little of the machine to do so.
    If we end before the kernel is told of that, the program does not begin.
    """
    if not shutil.which("setpriv"):
        return ()
    if_not_too_late = ("sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', str(os.getpid()))
    return ("setpriv", "--pdeathsig", "KILL", "--", *if_not_too_late)


class ProgramError(Exception):
    """The program failed; `status` is its exit status, the text what it said."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text.strip().removeprefix("rclrt_reference_system: "))
        self.status = status


class Interrupt:
    """Ctrl-C (and SIGTERM) as a flag, passed on to the programs that run.

    They run in process groups of their own, so a Ctrl-C reaches them only through here, once: they
    stop and write what they have measured. The second one kills them.
    """

    def __init__(self) -> None:
        self.requested = False
        self._children: list[subprocess.Popen[str]] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupt":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._tell_children(signal.SIGKILL if self.requested else signal.SIGINT)
        self.requested = True

    def _tell_children(self, number: int) -> None:
        for child in self._children:
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(number)

    def start(self, command: Sequence[str], log: int, *, talks: bool) -> subprocess.Popen[str]:
        """Start a program that is to hear of the interrupt; `talks`: through pipes, with us."""
        child = subprocess.Popen(
            [*ends_with_us(), *command],
            stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
            stdout=subprocess.PIPE if talks else log,
            stderr=log,
            text=True,
            bufsize=1,
            start_new_session=True,
            env=apart_from_others(),
        )
        self._children.append(child)
        if self.requested:  # It came while the program was being started.
            child.send_signal(signal.SIGINT)
        return child

    def forget(self, child: subprocess.Popen[str]) -> None:
        """Stop passing it on to a program that has ended."""
        self._children.remove(child)


@dataclass
class Program:
    """The program `rclrt_reference_system` with what is the same in all of its runs."""

    path: Path
    scenario: Path
    work_ms: float | None = None
    cpus: str | None = None
    iterations_per_ms: float = 0.0

    def check(self, executors: Sequence[str]) -> None:
        """Ask the program whether it could run the scenario; it knows all rules of the format.

        Raises ProgramError: It could not; the text names file, line and column.
        """
        for executor in executors:
            name, _ = split_priority(executor)
            self._ask([*self.command(name, 1.0), "--check"])

    def calibrate(self) -> None:
        """Measure how much work a millisecond is, once for all runs."""
        self.iterations_per_ms = float(self._ask([str(self.path), "--calibrate"]))

    def _ask(self, command: Sequence[str]) -> str:
        try:
            done = subprocess.run(
                [*ends_with_us(), *command],
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE_S,
                start_new_session=True,  # an interrupt is for us, not for it
            )
        except subprocess.TimeoutExpired as error:
            raise ProgramError(1, f"{command[0]}: did not answer in time; killed") from error
        if done.returncode != 0:
            raise ProgramError(done.returncode, done.stderr)
        return done.stdout

    def command(self, executor: str, seconds: float, work_ms: float | None = None) -> list[str]:
        """Return the command line of a run, but for where its report goes."""
        work = self.work_ms if work_ms is None else work_ms
        name, before = split_priority(executor)
        command = [*before, str(self.path), "--scenario", str(self.scenario), "--executor", name]
        command += ["--duration", f"{seconds:.3f}", "--warm-up", str(WARM_UP_S)]
        if work is not None:
            command += ["--work-ms", str(work)]
        if self.cpus is not None:
            command += ["--cpus", self.cpus]
        if self.iterations_per_ms > 0:
            command += ["--iterations-per-ms", f"{self.iterations_per_ms:.0f}"]
        return command

    def run(
        self, interrupt: Interrupt, executor: str, seconds: float, work_ms: float | None = None
    ) -> Report:
        """Run the scenario once under an executor.

        Returns Report: Complete also after an interrupt, but shorter.

        Raises ProgramError: It failed, or did not end in time.
        """
        command = self.command(executor, seconds, work_ms)
        with tempfile.TemporaryDirectory(prefix="rclrt-") as name:
            said, out = Path(name) / "log", Path(name) / "report.json"
            with said.open("w") as log:
                child = interrupt.start([*command, "--out", str(out)], log.fileno(), talks=False)
            try:
                status = child.wait(seconds + WARM_UP_S + PATIENCE_S)
            except subprocess.TimeoutExpired as error:
                child.kill()
                child.wait()
                raise ProgramError(1, f"{command[0]}: did not end in time; killed") from error
            finally:
                interrupt.forget(child)
            if status == 0 and out.exists():
                report: Report = json.loads(out.read_text(encoding="utf-8"))
                return report
            text = said.read_text(encoding="utf-8", errors="replace").strip()
            raise ProgramError(
                status, text or f"{command[0]}: ended with status {status}, no report"
            )


def apart_from_others() -> dict[str, str]:
    """Return an environment in which nodes meet on this machine only, and none but each other.

    What the user has set stays as it is.
    """
    own = {
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_DOMAIN_ID": str(1 + os.getpid() % 100),
    }
    return {**own, **os.environ}


def find_program() -> Path:
    """Return the program, of this build or installed."""
    return places.program("rclrt_reference_system", "rclrt_reference_system")


QUIET = "quiet"
BACKGROUND = "background"
LOADS = (QUIET, BACKGROUND)

# What ends the name of an executor whose whole process has SCHED_FIFO, as people do with chrt.
WHOLE_PROCESS = "_fifo50"
WHOLE_PROCESS_PRIORITY = 50

# In the order of the report: what rclcpp does, then what rclrt does.
EXECUTORS: dict[str, str] = {
    "wait_set_single": "wait set, single-threaded",
    "wait_set_multi": "wait set, multi-threaded",
    "static": "wait set, static",
    "events_fifo": "events, FIFO",
    "priority_events": "priority events, rate-monotonic",
    "isolated": "a thread per group, rate-monotonic",
    "preemptive": "thread pool, rate-monotonic",
    "preemptive_edf": "thread pool, preemptive (EDF)",
    "preemptive_hot": "thread pool, hot path highest",
}

# Executors of today whose process may be given one priority as a whole.
OF_TODAY = ("wait_set_single", "wait_set_multi", "static", "events_fifo")
EXECUTORS.update({f"{name}{WHOLE_PROCESS}": f"{EXECUTORS[name]}; chrt -f 50" for name in OF_TODAY})

# What the demo runs unless told otherwise.
DEMO_EXECUTORS: tuple[str, ...] = (
    "wait_set_single",
    "wait_set_single_fifo50",
    "wait_set_multi",
    "wait_set_multi_fifo50",
    "events_fifo",
    "events_fifo_fifo50",
    "isolated",
    "preemptive_hot",
)


@dataclass(frozen=True)
class Row:
    """What is measured: an executor, and whether other programs are busy meanwhile."""

    executor: str
    load: str = QUIET

    def __str__(self) -> str:
        """As progress names it."""
        return self.executor if self.load == QUIET else f"{self.executor} beside load"


def split_priority(executor: str) -> tuple[str, list[str]]:
    """Return the name that the program knows, and what stands before its command line."""
    if not executor.endswith(WHOLE_PROCESS):
        return executor, []
    return executor.removesuffix(WHOLE_PROCESS), ["chrt", "-f", str(WHOLE_PROCESS_PRIORITY)]
