# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the program that runs a scenario, and stops it when asked."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

WARM_UP_S = 0.6
# Discovery and the end of a run may take long on a machine that is busy.
PATIENCE_S = 60.0
# All processes of one system start their timers then, after they have found each other.
START_AFTER_S = 4.0

Report = dict[str, Any]


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

    def __enter__(self) -> Interrupt:
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

    def start(self, command: Sequence[str], log: int) -> subprocess.Popen[str]:
        """Start a program that is to hear of the interrupt."""
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            text=True,
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
    nodes: Sequence[str] = field(default_factory=tuple)
    """Node names: one process for each. Empty: one process for all."""
    iterations_per_ms: float = 0.0

    def check(self, executors: Sequence[str]) -> None:
        """Ask the program whether it could run the scenario; it knows all rules of the format.

        Raises
        ------
        ProgramError
            It could not; the text names file, line and column.
        """
        for executor in executors:
            self._ask([*self.command(executor, 1.0), "--check"])

    def calibrate(self) -> None:
        """Measure how much work a millisecond is, once for all runs."""
        self.iterations_per_ms = float(self._ask([str(self.path), "--calibrate"]))

    def _ask(self, command: Sequence[str]) -> str:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise ProgramError(done.returncode, done.stderr)
        return done.stdout

    def command(self, executor: str, seconds: float, work_ms: float | None = None) -> list[str]:
        """Return the command line of a run, but for where its report goes."""
        work = self.work_ms if work_ms is None else work_ms
        command = [str(self.path), "--scenario", str(self.scenario), "--executor", executor]
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
    ) -> list[Report]:
        """Run the scenario once under an executor.

        Returns
        -------
        list of Report
            One a process. Complete also after an interrupt, but shorter.

        Raises
        ------
        ProgramError
            A process failed, or did not end in time.
        """
        command = self.command(executor, seconds, work_ms)
        commands = [command]
        if self.nodes:
            start_ns = time.monotonic_ns() + round(START_AFTER_S * 1e9)
            commands = [
                [*command, "--node", node, "--start-at-ns", str(start_ns)] for node in self.nodes
            ]
        with tempfile.TemporaryDirectory(prefix="rclrt-") as folder:
            return self._run_all(interrupt, commands, Path(folder), seconds)

    def _run_all(
        self, interrupt: Interrupt, commands: Sequence[list[str]], folder: Path, seconds: float
    ) -> list[Report]:
        deadline = time.monotonic() + seconds + WARM_UP_S + PATIENCE_S
        children = []
        for number, command in enumerate(commands):
            with (folder / f"{number}.log").open("w") as log:
                out = ["--out", str(folder / f"{number}.json")]
                children.append(interrupt.start(command + out, log.fileno()))
        reports = []
        failure: ProgramError | None = None
        for number, child in enumerate(children):
            try:
                status = child.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
                failure = ProgramError(1, f"{commands[number][0]}: did not end in time; killed")
                continue
            finally:
                interrupt.forget(child)
            if status == 0:
                text = (folder / f"{number}.json").read_text(encoding="utf-8")
                reports.append(json.loads(text))
            else:
                said = (folder / f"{number}.log").read_text(encoding="utf-8", errors="replace")
                text = said.strip() or f"{commands[number][0]}: ended with status {status}"
                failure = ProgramError(status, text)
        if failure is not None:
            raise failure
        return reports


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
    """Return the program of this build: `./rclrt` says where that is."""
    build = Path(os.environ.get("RCLRT_BUILD_DIR", "build"))
    return build / "rclrt_reference_system" / "rclrt_reference_system"
