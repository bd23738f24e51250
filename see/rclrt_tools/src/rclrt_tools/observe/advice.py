# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What an observed system would be under executors of rclrt: its model, and its parameters.

Kept from the observation: what callbacks there are, what releases them, how long they execute,
their groups and CPUs; and priorities that the program has given its threads, unless those by rate
make fewer callbacks late. Given up: how its executors chose. Our executors hear of a message when
it arrives; that an observed one looked for it later is no property of the system. They have a
real-time policy, so the times in which other programs had the CPU do not come back; for the same
reason messages take the usual time, not the longest seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rclrt_analysis.assignment import rate_monotonic, with_priorities
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.result import Result
from rclrt_analysis.model import Kind, System
from rclrt_analysis.model.document import parse_document
from rclrt_analysis.model.read import build_system
from rclrt_analysis.plan.parameters import entry_name
from rclrt_analysis.simulation import Run, simulate

from rclrt_tools.observe.build import build
from rclrt_tools.observe.parts import Observed, Part, parts_of
from rclrt_tools.observe.text import to_yaml
from rclrt_tools.trace import Trace, layout

NOT_THE_USERS = ("/subscription/parameter_events", "/subscription/clock")
"""Ends of names of callbacks that rclcpp has made for itself."""


MOST_RELEASES, MOST_OF_OVERLOAD = 300_000, 3_000
"""Releases of timers and from outside that are simulated. A system without bounds may be
overloaded: then ever more jobs wait."""


@dataclass(frozen=True)
class Proposal:
    """The system under our executors with some priorities.

    ways: By name of the callback: the longest time in `run` from the release of what has led to a
        job to the end of that job, ns.
    late: Callbacks that had not always ended after a period of what has led to them.
    """

    system: System
    result: Result
    run: Run
    ways: dict[str, int]
    late: int


@dataclass(frozen=True)
class Advice:
    """The system under our executors.

    instead: With the priorities that the program had given itself, where those are not kept.
    is_own: Whether these are the priorities that the program had given itself.
    observed, ways: By name of the callback: the longest response seen, and that since the release
        of what has led to the job, ns.
    doubts: Why its bounds may be wrong: what is wrong with the records.
    left_out: Names of callbacks that are not in it.
    """

    chosen: Proposal
    instead: Proposal | None
    is_own: bool
    observed: dict[str, int]
    ways: dict[str, int]
    doubts: list[str]
    left_out: list[str]

    @property
    def ends(self) -> list[str]:
        """The callbacks that release no other one: the ends of all paths."""
        system = self.chosen.system
        releases = {name for one in system.callbacks for name in system.triggered_by(one)}
        return [one.name for one in system.callbacks if one.name not in releases]


def advise(
    traces: Sequence[tuple[str, Trace]],
    schema: Path,
    kind: str,
    cores: Sequence[int] | None = None,
    overheads: Mapping[str, Any] | None = None,
    factor: float = 1.0,
    spare: int = 0,
    duration: int = 10_000_000_000,
) -> Advice:
    """Return what the system of these traces would be.

    Priorities that the program has given itself are kept, unless fewer callbacks are late with
    priorities by rate.

    kind: Of our executors: each of those observed becomes one.
    cores: Of all executors. Without: those that were in force.
    overheads: What `./rclrt model calibrate` has measured, ns.
    factor, spare: The longest execution times observed are taken to be so many times as long, and
        so many ns longer.
    duration: Of a simulation, ns; shorter if there are too many releases.

    Raises ValueError: No job has ended.
    Raises ModelError: The observation contradicts itself.
    Raises SimulationError: It cannot be simulated.
    """
    left_out: list[str] = []
    parts = [_without_ours(part, left_out) for part in parts_of(traces)]
    seen = build(parts, traces[0][0], kind, with_ways=True)
    if not seen.content["callbacks"]:
        raise ValueError("no job in these traces has ended")
    plain = build(parts, traces[0][0], kind, with_idle=False)
    if overheads is not None:
        plain.content["overheads"] = dict(overheads)
    for callback in plain.content["callbacks"]:
        longer = round(callback["wcet_ms"] * factor) + spare
        callback["wcet_ms"] = min(longer, callback.get("period_ms", longer))
    _reschedule(plain, kind, cores)
    system = build_system(parse_document(to_yaml(plain), "the model"), schema)
    by_rate = _proposal(with_priorities(system, rate_monotonic(system)), duration)
    chosen, own = by_rate, None
    if plain.priorities:
        every = {one.name: plain.priorities.get(one.name, 1) for one in system.callbacks}
        own = _proposal(with_priorities(system, every), duration)
        chosen = min(own, by_rate, key=lambda one: one.late)
    instead = None if chosen is own else own
    doubts = plain.doubts
    return Advice(chosen, instead, chosen is own, seen.responses, seen.ways, doubts, left_out)


def _proposal(system: System, duration: int) -> Proposal:
    """Return what analysis and simulation say of a system."""
    result = analyse(system)
    bounded = all(one.bound is not None for one in result.callbacks)
    most = MOST_RELEASES if bounded else MOST_OF_OVERLOAD
    releases = sum(duration / one.period for one in system.callbacks if one.period)
    if releases > most:
        duration = max(1, int(duration * most / releases))
    run = simulate(system, duration, 1, False)
    ways: dict[str, int] = {}
    late = set()
    for job in run.jobs:
        root = job
        while root.released_by is not None:
            root = root.released_by
        first, name = system.callbacks[root.callback], system.callbacks[job.callback].name
        took = job.end - (root.nominal if first.kind is Kind.TIMER else root.release)
        ways[name] = max(ways.get(name, 0), took)
        if first.period is not None and took > first.period:
            late.add(name)
    return Proposal(system, result, run, ways, len(late))


def _is_real_time(part: Part) -> bool:
    """Return whether one of our executors ran all jobs in real time."""
    real_time = part.values_of("policy") <= set(layout.REAL_TIME)
    return part.header.model != layout.MODEL_UNKNOWN and real_time


def opened(
    traces: Sequence[tuple[str, Trace]], overheads: Mapping[str, Any] | None = None
) -> Observed:
    """Return a model that leaves to a plan how the system is scheduled.

    Its executors are open, its callbacks have no priorities, and the CPUs are those that were in
    force. `doubts` says what is wrong with the records.

    overheads: What `./rclrt model calibrate` has measured, ns.

    Raises ValueError: No job has ended, or files of one executor contradict each other.
    """
    parts = [_without_ours(part, []) for part in parts_of(traces)]
    plain = build(parts, traces[0][0], "isolated", with_idle=False)
    content = plain.content
    if not content["callbacks"]:
        raise ValueError("no job in these traces has ended")
    if overheads is not None:
        content["overheads"] = dict(overheads)
    elif all(_is_real_time(part) for part in parts):
        # What dispatching has cost on this machine is no property of how it was scheduled.
        content["overheads"] = build(parts, traces[0][0], "isolated").content["overheads"]
    else:
        plain.doubts.append(
            "jobs waited here for other programs as well, so what dispatching costs is not in the "
            "model. Measure it (rclrt model calibrate), and give it with --overheads"
        )
    content.pop("no_verdict", None)
    cpus = {cpu for executor in content["executors"] for cpu in executor["cores"]}
    names = dict.fromkeys(executor["name"] for executor in content["executors"])
    content["cpus"] = sorted(cpus)
    content["executors"] = [{"name": name, "kind": "open"} for name in names]
    for callback in content["callbacks"]:
        callback.pop("priority", None)
    return plain


def _without_ours(part: Part, left_out: list[str]) -> Part:
    """Return the part without callbacks that are none of the user's."""
    names = {id_: entry.name for id_, entry in part.callbacks.items()}
    left_out += [names[id_] for id_ in part.ran if names[id_].endswith(NOT_THE_USERS)]
    ran = {id_: jobs for id_, jobs in part.ran.items() if not names[id_].endswith(NOT_THE_USERS)}
    return replace(part, ran=ran)


def _reschedule(plain: Observed, kind: str, cores: Sequence[int] | None) -> None:
    """Put our executors in place of those observed."""
    content = plain.content
    content.pop("no_verdict", None)
    executors: dict[str, dict[str, Any]] = {}
    for executor in content["executors"]:
        mine = list(cores) if cores else executor["cores"]
        # The thread of priority_events has one CPU at a time: the bounds are those of one.
        mine = mine[:1] if kind == "priority_events" else mine
        executors[executor["name"]] = {
            "name": executor["name"],
            "kind": kind,
            "policy": "rm",
            "cores": mine,
        }
    content["executors"] = list(executors.values())
    for callback in content["callbacks"]:
        callback.pop("priority", None)


def parameters(advice: Advice) -> str:
    """Return a parameters file for our executors.

    Named are the callbacks that something outside of their executor releases; the others inherit.
    All are named if the priorities are the program's own, or not all have the same CPUs.
    """
    system = advice.chosen.system
    everywhere = {executor.cores for executor in system.executors}
    cpus = timers = ""
    if len(everywhere) == 1:
        cpus = _affinity(min(everywhere))
    if cpus and len(min(everywhere)) == 1:  # A wake-up from another CPU may take long.
        highest = max((c.priority or 0 for c in system.callbacks), default=0)
        thread = f"scheduling_policy: fifo, priority: {min(99, highest + 1)}{cpus}"
        timers = f", timer_thread: {{{thread}}}"
    order = "the program's own" if advice.is_own else "the shorter the period, the more urgent"
    inherits = "" if advice.is_own else ", inherit_priority: true"
    lines = [
        f"# By rclrt trace advise from an observation; priorities: {order}.",
        "/**:",
        "  ros__parameters:",
        "    rclrt:",
        f"      executor: {{policy: fixed_priority{timers}}}",
        "      callbacks:",
        f'        "/**": {{scheduling_policy: fifo, priority: 1{inherits}{cpus}}}',
    ]
    for callback in sorted(system.callbacks, key=lambda one: -(one.priority or 0)):
        fields = "" if cpus else _affinity(system.executor_of[callback.executor].cores)
        if callback.priority is not None:
            fields = f", scheduling_policy: fifo, priority: {callback.priority}" + fields
        if fields:
            name = entry_name(callback) if callback.wants_all else callback.name
            lines.append(f'        "{name}": {{{fields[2:]}}}')
    return "\n".join(lines) + "\n"


def _affinity(cores: Sequence[int]) -> str:
    return f", cpu_affinity: [{', '.join(map(str, cores))}]"
