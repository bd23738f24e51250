# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The program that runs a scenario: observed, recorded, or watched beside load and judged."""

import contextlib
import json
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclrt_analysis.model import System, model_schema
from rclrt_analysis.plan.openings import Opening, read_open
from rclrt_analysis.plan.parameters import applied, read_plan
from rclrt_benchmarks.contract.judged import Judged, Verdict, judge
from rclrt_benchmarks.contract.machine import Stalls, Strangers
from rclrt_benchmarks.harness.frame import FailedError
from rclrt_tools import cli
from rclrt_tools.live.files import live_processes
from rclrt_tools.preload import environment, found
from rclrt_tools.reference.environment import BackgroundLoad
from rclrt_tools.reference.program import (
    PATIENCE_S,
    Interrupt,
    ProgramError,
    Report,
    find_program,
)
from rclrt_tools.trace import TraceError, read_trace
from rclrt_tools.watch.sources import PAUSE_S, Live
from rclrt_tools.watch.watch import Watch

WARM_UP_S = 0.6


@contextlib.contextmanager
def started(
    interrupt: Interrupt, command: Sequence[str], said: Path
) -> Iterator[subprocess.Popen[str]]:
    """Start a program, which ends with the block at the latest; what it says is in a file.

    Raises ProgramError: The block has waited for it in vain.
    """
    with said.open("w") as log:
        child = interrupt.start(command, log.fileno(), talks=False)
    try:
        yield child
    except subprocess.TimeoutExpired as error:
        raise ProgramError(1, f"{command[0]}: did not end in time; killed") from error
    finally:
        child.kill()
        child.wait()
        interrupt.forget(child)


@dataclass
class Robot:
    """A scenario on some CPUs."""

    interrupt: Interrupt
    scenario: Path
    cpus: Sequence[int]

    def command(self, executor: str, seconds: float, *more: str) -> list[str]:
        """Return the command line of a run."""
        command = [str(find_program()), "--scenario", str(self.scenario), "--executor", executor]
        command += ["--duration", f"{seconds:.3f}", "--warm-up", str(WARM_UP_S)]
        return [*command, "--cpus", ",".join(map(str, self.cpus)), *more]

    def run(
        self,
        command: Sequence[str],
        seconds: float,
        beside: Callable[[subprocess.Popen[str]], None] = lambda child: None,
    ) -> Report:
        """Run a command that ends with those of `command()`; `beside` is called once it runs.

        Raises ProgramError: It failed, or did not end in time.
        """
        with tempfile.TemporaryDirectory(prefix="rclrt-") as folder:
            out, said = Path(folder) / "out.json", Path(folder) / "log"
            with started(self.interrupt, [*command, "--out", str(out)], said) as child:
                beside(child)
                status = child.wait(seconds + PATIENCE_S)
            if status != 0 or not out.exists():
                raise ProgramError(status, said.read_text(encoding="utf-8", errors="replace"))
            report: Report = json.loads(out.read_text(encoding="utf-8"))
            return report

    def observe(self, executor: str, seconds: float, folder: Path) -> Report:
        """Run it with the probe, as `./rclrt observe` does: traces in a folder."""
        library = found()
        if not library:
            raise FailedError("there is no librclrt_run: run ./rclrt build")
        folder.mkdir(parents=True)
        more = environment(library, {"RCLRT_PROBE_FOLDER": str(folder)}, {})
        told = ["env", *(f"{name}={value}" for name, value in more.items())]
        return self.run([*told, *self.command(executor, seconds)], seconds)

    def recorded(self, executor: str, seconds: float, folder: Path) -> Report:
        """Run it under one of our executors, which writes its own trace files."""
        folder.mkdir(parents=True)
        command = self.command(executor, seconds)
        return self.run(["env", f"RCLRT_TRACE={folder}", *command], seconds)

    def watched(self, watch: Watch, executor: str, seconds: float, *more: str) -> Report:
        """Run it under one of our executors and watch it, but for its beginning and end."""

        def beside(child: subprocess.Popen[str]) -> None:
            wait_for(child)
            live = Live(watch, [str(child.pid)])
            end = time.monotonic() + seconds
            while child.poll() is None and time.monotonic() < end:
                live.step()
                time.sleep(PAUSE_S)
            live.close()
            if child.poll() is None:
                child.send_signal(signal.SIGINT)

        # What is not in the file is nothing to the plan: it asks for no policy.
        command = self.command(executor, seconds + PATIENCE_S, "--policy", "fifo", *more)
        return self.run(command, PATIENCE_S, beside)


def wait_for(child: subprocess.Popen[str]) -> None:
    """Return when a program runs jobs and has warmed up, or has ended."""
    end = time.monotonic() + PATIENCE_S
    while child.poll() is None and time.monotonic() < end:
        path = live_trace(child.pid)
        if path is not None and has_begun(path, MANY):
            time.sleep(WARM_UP_S)
            return
        time.sleep(0.02)


MANY = 50
"""Records; so many there are only once the timers run."""


def live_trace(process: int) -> Path | None:
    """Return the live trace of a process."""
    found = (path for path, one in live_processes() if one.number == process)
    return next(found, None)


def has_begun(path: Path, records: int) -> bool:
    """Return whether a trace has so many records."""
    try:
        return len(read_trace(path).records) >= records
    except (TraceError, OSError):
        return False


def plan(model: Path, out: Path, seconds: int, unproved: bool = False) -> str:
    """Write a plan, as `./rclrt plan` does, and return what it says.

    unproved: Whether one will do that is not proved.

    Raises FailedError: Nothing is proved, or the model is wrong.
    """
    command = cli.command("plan", str(model), "-o", str(out))
    command += ["--time", str(seconds), *["--unproved"] * unproved]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 and not (unproved and out.exists()):
        raise FailedError(f"no plan for {model.name}:\n{done.stdout}{done.stderr}")
    return done.stdout


@dataclass(frozen=True)
class Enforced:
    """A plan, and how its executor is called by the program."""

    system: System
    path: Path
    executor: str


def enforced(model: Path, path: Path) -> Enforced:
    """Return the system of a model under its plan."""
    opening: Opening = read_open(model, model_schema())
    file = read_plan(path)
    (kind,) = {one["kind"] for one in file.executors.values()}
    return Enforced(applied(opening, file), path, kind)


@dataclass(frozen=True)
class Effort:
    """How long runs are, in s, and how many busy programs there are on each CPU beside them.

    quick: A plan that is not proved will do.
    """

    seconds: float
    load: int
    quick: bool = False
    plan_seconds: int = 20


@dataclass(frozen=True)
class Setting:
    """What a part of the experiment is given.

    overheads: As in a model, times in ns: what was measured here.
    folder: For traces, models and plans.
    """

    interrupt: Interrupt
    effort: Effort
    overheads: Mapping[str, Any]
    folder: Path


@dataclass
class Outcome:
    """What came of a run under a model.

    broken: What the watch has said of the model's assumptions.
    stall_ms: For how long at most the machine itself was away.
    strangers: Other programs in real time on these CPUs.
    """

    verdict: Verdict
    broken: list[str]
    stall_ms: float
    strangers: Strangers


def judged(watch: Judged, stalls: Stalls, strangers: Strangers) -> Outcome:
    """Return what a watch has seen beside these stalls and strangers."""
    said = watch.to_json()["broken_assumptions"]
    return Outcome(
        judge(watch, stalls, strangers),
        [f"'{one['callback']}' {one['text']}" for one in said],
        stalls.longest_ms,
        strangers,
    )


def beside_load(
    robot: Robot, watch: Judged, effort: Effort, executor: str, file: Path
) -> tuple[Judged, Stalls, Strangers]:
    """Run a robot with a parameters file beside busy programs, and watch it and the machine."""
    stalls, strangers = Stalls(robot.cpus), Strangers(robot.cpus)
    with stalls, strangers, BackgroundLoad(set(robot.cpus), effort.load):
        robot.watched(watch, executor, effort.seconds, "--config", str(file))
    return watch, stalls, strangers
