# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Run experiments in turn, each as a process of its own, and judge what they wrote."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from rclrt_benchmarks.harness.row import (
    HOLDS,
    OPEN,
    Experiment,
    Machine,
    Row,
    Run,
    open_row,
)
from rclrt_tools import cli
from rclrt_tools.reference import environment

BUSY_SHARE = 0.1
"""If other programs take more than this share of the CPUs, no time is judged."""
LAST_WORDS = 2000
PATIENCE_S = 5.0


def conduct(
    experiments: Iterable[Experiment],
    effort: str,
    machine: Machine,
    say: Callable[[str], None],
) -> list[Run]:
    """Run all of them; what two have in common once.

    An interrupt ends the one that runs, and leaves out the rest.
    """
    runs: list[Run] = []
    interrupted = False
    for experiment in experiments:
        run = Run(experiment)
        runs.append(run)
        run.not_run = "interrupted" if interrupted else experiment.why_not(machine)
        words = tuple(experiment.commands[effort])
        same = (one for one in runs[:-1] if tuple(one.experiment.commands[effort]) == words)
        before = next(same, None)
        if before is not None and not run.not_run:
            say(f"{experiment.name}: {experiment.title}, from the run of {before.experiment.name}")
            vars(run).update({**vars(before), "experiment": experiment, "rows": [], "plots": []})
        elif not run.not_run:
            say(f"{experiment.name}: {experiment.title}")
            try:
                _start(run, effort)
            except KeyboardInterrupt:
                interrupted = True
                run.not_run = "interrupted"
        judge(run, effort, machine)
        for row in run.rows:
            say(f"  {row.verdict}: {row.name}: {row.ours}{f' ({row.why})' if row.why else ''}")
    return runs


def _start(run: Run, effort: str) -> None:
    experiment = run.experiment
    with tempfile.TemporaryDirectory(prefix="rclrt-") as folder:
        out = Path(folder) / "result.json"
        words = [*experiment.commands[effort], "--json", str(out)]
        run.command = ["./rclrt", *experiment.commands[effort]]
        run.began = time.strftime("%Y-%m-%d %H:%M:%S")
        run.load_before = os.getloadavg()[0]
        others = environment.busy_cpu_s() - environment.own_cpu_s()
        began = time.monotonic()
        with (Path(folder) / "log").open("w+b") as log:
            run.status = _wait(cli.command(*words), log.fileno(),
                               experiment.limit_s[effort])  # fmt: skip
            log.seek(0)
            run.said = log.read().decode("utf-8", "replace")[-LAST_WORDS:]
        run.took_s = time.monotonic() - began
        others = environment.busy_cpu_s() - environment.own_cpu_s() - others
        run.others_cpus = max(0.0, others / max(run.took_s, 1e-3))
        run.load_after = os.getloadavg()[0]
        if run.status is None:
            run.not_run = f"ended after {experiment.limit_s[effort]:g} s"
            return
        try:
            # Status 1 is also that of an experiment that has missed a target of its own.
            run.result = json.loads(out.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            last = run.said.strip().splitlines()[-1:] or ["it said nothing"]
            run.not_run = f"failed with status {run.status}: {last[0]}"


def _wait(command: list[str], log: int, limit_s: float) -> int | None:
    """Return the exit status, or None if it took too long. Nothing of it is left running."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
    )
    ended = False
    try:
        ended = _ends(process.pid, limit_s)
    finally:
        # It is not waited for yet, so its number is still that of its group and of no other.
        if not ended:
            os.killpg(process.pid, signal.SIGTERM)
            _ends(process.pid, PATIENCE_S)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode if ended else None


def _ends(pid: int, limit_s: float) -> bool:
    """Wait until a child has ended, and leave it to be waited for."""
    end = time.monotonic() + limit_s
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def judge(run: Run, effort: str, machine: Machine) -> None:
    """Fill in the rows: of what ran what it shows, of what did not one that says why."""
    experiment = run.experiment
    if run.result is None:
        run.rows = [open_row(experiment.title, "-", "see the list", run.not_run)]
    else:
        try:
            judged = experiment.judge(run.result, machine)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            why = f"its result is not as expected: {type(error).__name__} {error}"
            run.rows = [open_row(experiment.title, "-", "see the list", why)]
        else:
            run.rows, run.plots = list(judged.rows), list(judged.plots)
    for row in run.rows:
        row.experiment, row.source = experiment.name, experiment.source
        _refuse(row, run, effort, machine)


def _refuse(row: Row, run: Run, effort: str, machine: Machine) -> None:
    """Take the verdict away from times that say more of the machine than of the program."""
    if not row.timed or row.verdict == OPEN:
        return
    why = ""
    if effort == "try":
        why = "tried only, for about a second"
    elif run.experiment.is_realtime and row.verdict == HOLDS:
        return
    elif run.others_cpus > BUSY_SHARE * machine.cpus:
        why = f"other programs kept {run.others_cpus:.1f} of {machine.cpus} CPUs busy meanwhile"
    if why:
        more = f": {row.why}" if row.why else ""
        row.refuse(f"{why}; by itself it {row.verdict}{more}")
