# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Somebody breaks what a proof takes for granted: how soon the watch names it, and how.

A process for each node of a scenario but vision, under a plan made from their own traces. All is
done from outside: signals, another scheduling policy, and processes that take a node's place.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rclrt_benchmarks.contract.models import Chain, model_of
from rclrt_benchmarks.contract.robot import (
    Enforced,
    Robot,
    Setting,
    enforced,
    has_begun,
    live_trace,
    plan,
)
from rclrt_benchmarks.harness.frame import FailedError, source
from rclrt_tools.reference.program import PATIENCE_S, Interrupt
from rclrt_tools.watch.sources import PAUSE_S, Live
from rclrt_tools.watch.watch import Watch

SCENARIO = Path("try/rclrt_scenarios") / "mixed_criticality.yaml"
CPU = 0
NODES = ("Sense", "Plan", "Act", "Logger")
FULL_NAMES = ("/Sense/timer/60ms", "/Plan/subscription/scan", "/Act/subscription/path")
CHAIN = "sense_plan_act"
SILENT_MS = 400
START_NOTICE_S = 0.2
"""How long before the time at which all processes start their timers they are told of it."""
TRANSPORT_NS = 2_000_000
"""From process to process, generously: nothing is judged here but what the watch says of damage."""
FACTOR = 1.1
"""Execution times grow so. The plan need not be proved here: the other parts are for that."""
LASTS_S = 120.0
GIVES_UP_S = 10.0
LIMIT_S = 1.0
STOPPED_S = 0.12
"""What comes meanwhile is late, or lost."""
Fleet = dict[str, "subprocess.Popen[str]"]
Key = tuple[str, str]


@dataclass
class Noticed:
    """One sabotage.

    after_s: From when it took effect until the watch said something new; None: it said nothing.
    named: Whether it named the cause.
    """

    what: str
    after_s: float | None = None
    said: str = ""
    named: bool = False


def start_together(children: Sequence[subprocess.Popen[str]]) -> bool:
    """Wait until every program has said that it is connected, and tell all when to start.

    If one ends, or does not say so in time, all are asked to stop; returns whether none did.
    """
    deadline = time.monotonic() + PATIENCE_S
    connected = all(_says_something(child, deadline) for child in children)
    start_ns = time.monotonic_ns() + round(START_NOTICE_S * 1e9)
    for child in children:
        if not connected:
            child.send_signal(signal.SIGINT)
        with contextlib.suppress(BrokenPipeError):
            assert child.stdin is not None
            child.stdin.write(f"{start_ns}\n")
            child.stdin.close()
    return connected


def _says_something(child: subprocess.Popen[str], deadline: float) -> bool:
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], max(0.0, deadline - time.monotonic()))
    return bool(ready) and child.stdout.readline() != ""


class Crew:
    """The processes, and what they are started with."""

    def __init__(self, interrupt: Interrupt, folder: Path) -> None:
        self._interrupt = interrupt
        self._robot = Robot(interrupt, source() / SCENARIO, [CPU])
        self._folder = folder
        self.fleet: Fleet = {}
        self.extra: list[subprocess.Popen[str]] = []

    def start(self, executor: str, *more: str, trace: Path | None = None) -> None:
        """Start all of them, and their timers at once."""
        before = ["env", f"RCLRT_TRACE={trace}"] if trace else []
        for node in NODES:
            command = self._robot.command(executor, LASTS_S, "--policy", "fifo", *more)
            own = ["--node", node, "--start-together", "--out", os.devnull]
            self.fleet[node] = self._start([*before, *command, *own], talks=True)
        if not start_together(list(self.fleet.values())):
            raise FailedError("the processes did not find each other")

    def another(self, node: str, executor: str, *more: str) -> subprocess.Popen[str]:
        """Start a process of a node that is there already, or was; return when it runs jobs."""
        command = self._robot.command(executor, LASTS_S, "--policy", "fifo", *more)
        child = self._start([*command, "--node", node, "--out", os.devnull], talks=False)
        self.extra.append(child)
        end = time.monotonic() + PATIENCE_S
        while child.poll() is None and time.monotonic() < end:
            path = live_trace(child.pid)
            if path is not None and has_begun(path, 1):
                return child
            time.sleep(0.01)
        raise FailedError(f"another process of {node} did not come up")

    def _start(self, command: Sequence[str], *, talks: bool) -> subprocess.Popen[str]:
        with (self._folder / "log").open("a") as log:
            return self._interrupt.start(command, log.fileno(), talks=talks)

    def stop(self, child: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
        """End a process; SIGINT lets it write its traces."""
        child.send_signal(signal.SIGCONT)
        child.send_signal(number)
        try:
            child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        self._interrupt.forget(child)

    def stop_all(self, number: int = signal.SIGKILL) -> None:
        """End all of them."""
        for child in (*self.fleet.values(), *self.extra):
            if child.poll() is None:
                self.stop(child, number)
        self.fleet.clear()
        self.extra.clear()


def sabotage(setting: Setting) -> list[Noticed]:
    """Do all of it."""
    chosen = _planned(setting)
    return [
        _try(setting, chosen, *one)
        for one in (
            ("a callback takes twice as long", _twice_as_long, _is("/Plan/", "wcet", "bound")),
            ("a sensor at twice the rate", _twice_the_rate, _is("/Sense/", "period")),
            ("a sensor stops", _stops, _is(CHAIN, "silent")),
            ("chrt takes a priority away", _chrt, _is("", "thread", "policy")),
            ("a node publishes late", _late, _is("/Plan/", "bound", "lost")),
        )
    ]


Act = Callable[[Crew, Enforced], Callable[[], None]]
"""Does the damage; returns what is to be done again each round."""


def _planned(setting: Setting) -> Enforced:
    folder, effort = setting.folder, setting.effort
    traces, crew = folder / "fleet", Crew(setting.interrupt, folder)
    traces.mkdir()
    try:
        crew.start("isolated", trace=traces)
        time.sleep(min(effort.seconds, 5.0))
    finally:
        crew.stop_all(signal.SIGINT)
    chains = [Chain(CHAIN, FULL_NAMES, 60, SILENT_MS)]
    costs = {**setting.overheads, "transport_ms": TRANSPORT_NS}
    model, path = folder / "fleet.yaml", folder / "fleet.params.yaml"
    text = model_of(traces, chains, costs, [CPU], factor=FACTOR)
    model.write_text(text, encoding="utf-8")
    plan(model, path, effort.plan_seconds, unproved=True)
    return enforced(model, path)


def _is(who: str, *kinds: str) -> Callable[[Key], bool]:
    return lambda key: who in key[0] and key[1] in kinds


def _try(
    setting: Setting,
    chosen: Enforced,
    what: str,
    act: Act,
    wanted: Callable[[Key], bool],
) -> Noticed:
    """Watch for a while, then do it, and see how long it takes until something new is said."""
    crew, noticed = Crew(setting.interrupt, setting.folder), Noticed(what)
    crew.start(chosen.executor, "--config", str(chosen.path))
    live = None
    try:
        watch = Watch(chosen.system)
        live = Live(watch, [])
        _watch(watch, live, 2.0, lambda: False)
        before = _said(watch).keys()
        again = act(crew, chosen)
        begin = time.monotonic()

        def look() -> bool:
            again()
            new = {key: text for key, text in _said(watch).items() if key not in before}
            named = [key for key in new if wanted(key)]
            if (new and noticed.after_s is None) or (named and not noticed.named):
                key = (named or list(new))[0]
                noticed.after_s = time.monotonic() - begin
                noticed.said, noticed.named = f"'{key[0]}' {new[key]}", bool(named)
            return noticed.named

        _watch(watch, live, GIVES_UP_S, look)
    finally:
        crew.stop_all()
        if live is not None:
            live.close()
    return noticed


def _watch(watch: Watch, live: Live, seconds: float, done: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        live.step()
        if done():
            return
        time.sleep(PAUSE_S)


def _said(watch: Watch) -> dict[Key, str]:
    """Return everything that the watch has to say, by whom it concerns and what it is."""
    content = watch.to_json()
    said = {(one["callback"], one["what"]): one["text"] for one in content["broken_assumptions"]}
    for chain in content["chains"]:
        if chain["silent"]:
            said[chain["name"], "silent"] = "brings out nothing any more"
    return said


def _nothing() -> None:
    pass


def _twice_as_long(crew: Crew, chosen: Enforced) -> Callable[[], None]:
    crew.stop(crew.fleet["Plan"])
    crew.another("Plan", chosen.executor, "--config", str(chosen.path), "--work-ms", "24")
    return _nothing


def _twice_the_rate(crew: Crew, chosen: Enforced) -> Callable[[], None]:
    crew.another("Sense", chosen.executor, "--config", str(chosen.path))
    return _nothing


def _stops(crew: Crew, _: Enforced) -> Callable[[], None]:
    crew.fleet["Sense"].send_signal(signal.SIGSTOP)
    return _nothing


def _chrt(crew: Crew, _: Enforced) -> Callable[[], None]:
    process = crew.fleet["Plan"].pid

    def again() -> None:
        for entry in Path(f"/proc/{process}/task").iterdir():
            thread = int(entry.name)
            if os.sched_getscheduler(thread) & 3 == os.SCHED_FIFO:
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))

    return again


def _late(crew: Crew, _: Enforced) -> Callable[[], None]:
    process, state = crew.fleet["Plan"], {"next": 0.0, "stopped": 0.0}

    def again() -> None:
        now = time.monotonic()
        if state["stopped"] and now > state["stopped"] + STOPPED_S:
            process.send_signal(signal.SIGCONT)
            state.update(stopped=0.0, next=now + 2 * STOPPED_S)
        elif not state["stopped"] and now > state["next"]:
            process.send_signal(signal.SIGSTOP)
            state["stopped"] = now

    return again
