# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Loads of different importance in one process: four ways to schedule them, on one CPU."""

from dataclasses import dataclass, field
from pathlib import Path

from rclrt_benchmarks.contract import container
from rclrt_benchmarks.contract.machine import Strangers
from rclrt_benchmarks.contract.models import Chain, model_of
from rclrt_benchmarks.contract.robot import Robot, Setting, enforced, plan
from rclrt_benchmarks.harness.frame import source
from rclrt_tools.reference.program import Report

SCENARIO = Path("try/rclrt_scenarios") / "mixed_criticality.yaml"
CPU = 0
CHAIN = ("Sense", "Plan<scan", "Act<path")
VISION, LOGGER = "Vision", "Logger"
VISION_MS = 40.0
DEADLINE_MS = 60.0
BEFORE_NS = 100_000_000
"""So long before its release what makes an instance late may have begun."""
PROCESS_PRIORITY = 50
FULL_NAMES = ("/Sense/timer/60ms", "/Plan/subscription/scan", "/Act/subscription/path")
Span = tuple[int, int]


@dataclass
class Way:
    """What became of the chain under one way to schedule.

    released: Instances of the chain: releases of its timer that had all of their time left.
    misses: Of these: not there after 60 ms, or never.
    best_effort: Share of the CPU that vision got.
    worst_ms: Of those that came.
    others_ms: For how long within the worst one each other callback had a job under way.
    explained: Of the misses: those that were late by no more than other programs ran there in real
        time just then.
    strangers: These programs.
    is_planned: Whether the chain must not be missed.
    """

    name: str
    released: int = 0
    misses: int = 0
    best_effort: float = 0.0
    worst_ms: float | None = None
    others_ms: dict[str, float] = field(default_factory=dict)
    explained: int = 0
    strangers: str = ""
    is_planned: bool = False

    @property
    def per_thousand(self) -> float:
        """Return misses in 1,000."""
        return 1000.0 * self.misses / max(1, self.released)


def judge(name: str, report: Report, strangers: Strangers | None = None) -> Way:
    """Return what a report says of the chain, from the nominal release of its timer on."""
    jobs = {one["name"]: one["jobs"] for one in report["callbacks"]}
    first, second, third = (jobs.get(part, []) for part in CHAIN)
    until = report["measured_to_ns"]
    seconds = (until - report["measured_from_ns"]) / 1e9
    to_plan = {job[4]: job[5] for job in second}
    ends = {job[4]: job[2] for job in third}
    way = Way(name)
    window: Span = (0, 0)
    timely = [job for job in first if job[0] + DEADLINE_MS * 1e6 <= until]
    for release, _, _, _, _, number, *_ in timely:
        end = ends.get(to_plan.get(number, -1))
        due = release + round(DEADLINE_MS * 1e6)
        if strangers and (end is None or end > due):
            # What never came lacks more than anybody knows, and at least its whole time.
            since, lacks = release - BEFORE_NS, due - release if end is None else end - due
            way.explained += strangers.within(since, end or due) >= lacks
        if end is None:
            continue
        if way.worst_ms is None or end - release > way.worst_ms * 1e6:
            way.worst_ms, window = (end - release) / 1e6, (release, end)
        way.misses -= end - release <= DEADLINE_MS * 1e6
    # If the jobs of a timer did not even run, nothing is in the report.
    way.released = max(len(timely), int(seconds * 1000 / DEADLINE_MS) - 2)
    way.misses += way.released
    way.best_effort = sum(job[2] > 0 for job in jobs.get(VISION, [])) * VISION_MS / (seconds * 1000)
    for other in (VISION, LOGGER):
        way.others_ms[other] = (
            sum(_overlap(window, (j[1], j[2])) for j in jobs.get(other, [])) / 1e6
        )
    return way


def _overlap(one: Span, other: Span) -> int:
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def ways(setting: Setting) -> list[Way]:
    """Run all of them."""
    effort, folder = setting.effort, setting.folder
    seconds = effort.seconds
    robot = Robot(setting.interrupt, source() / SCENARIO, [CPU])
    found = []

    def add(name: str, executor: str, *more: str, before: tuple[str, ...] = ()) -> None:
        command = [*before, *robot.command(executor, seconds, *more)]
        with Strangers({CPU}) as strangers:
            report = robot.run(command, seconds)
        way = judge(name, report, strangers)
        way.strangers = str(strangers)
        found.append(way)

    add("no real time", "wait_set_multi")
    fifo = ("chrt", "-f", str(PROCESS_PRIORITY))
    add("a priority per process", "wait_set_multi", before=fifo)
    traces = folder / "mixed"
    alone = robot.recorded("isolated", seconds, traces, "--policy", "fifo")
    found.append(judge("a thread per group", alone))
    chains = [Chain("sense_plan_act", FULL_NAMES, DEADLINE_MS)]
    model, path = folder / "mixed.yaml", folder / "mixed.params.yaml"
    text = model_of(traces, chains, setting.overheads, [CPU], without=[VISION])
    model.write_text(text, encoding="utf-8")
    plan(model, path, effort.plan_seconds, effort.quick)
    executor = enforced(model, path).executor
    add("our plan", executor, "--policy", "fifo", "--config", str(path))
    found[-1].is_planned = True
    return [*found, *_in_a_container(robot, seconds, executor, path)]


def _in_a_container(robot: Robot, seconds: float, executor: str, file: Path) -> list[Way]:
    """Run it as components of one container, if there is one: as before, and by the plan."""
    if container.why_not():
        return []
    plain = ["-p", "executor:=preemptive"]
    fifo = ("chrt", "-f", str(PROCESS_PRIORITY))
    planned = ["-p", f"executor:={executor}", "--params-file", str(file)]
    rows = (
        ("container, no real time", plain, ()),
        ("container, one priority", plain, fifo),
        ("container, our plan", planned, ()),
    )
    found = []
    for name, told, before in rows:
        with Strangers({CPU}) as strangers:
            report = container.run(robot.interrupt, robot.scenario, CPU, seconds, told, before)
        way = judge(name, report, strangers)
        way.strangers, way.is_planned = str(strangers), told is planned
        found.append(way)
    return found
