# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Which CPU runs what: groups of callbacks on cores, an executor of the analysis for each core."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rclrt_analysis.bounds.activation import loads
from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, System
from rclrt_analysis.plan.openings import Opening

NAME = "timer thread"
PRIORITY = 90
"""Above all that a plan gives to callbacks."""

THREADED = (ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)


def timer_cpu(system: System) -> int | None:
    """Return the CPU for the timer thread: that with the least load; None if it matters not.

    With a single CPU that is the one: a wake-up from another may take long.
    """
    cores: dict[int, float] = {}
    load = loads(system)
    for executor in system.executors:
        if executor.kind in THREADED and executor.reservation is None and len(executor.cores) == 1:
            members = system.members(executor.name)
            if members and executor.name != NAME:
                share = sum(load[c.name] for c in members)
                cores[executor.cores[0]] = cores.get(executor.cores[0], 0.0) + share
    overheads = system.overheads
    if not (overheads.release or overheads.wake) or not cores:
        return None
    return min(cores, key=lambda core: (cores[core], core))


def with_timer_thread(system: System) -> System:
    """Return the system with the releases of other CPUs' timers on the CPU of that thread.

    An executor has one such thread for all its timers, above all callbacks. The analysis counts
    `release_ms` of a timer where its callback runs. On several CPUs the thread could take the time
    of all releases from any one of them. So a plan says which, and the releases of timers of other
    CPUs are there as callbacks without work, which cost a release.
    """
    cpu = timer_cpu(system)
    if cpu is None:
        return system
    releases = [
        Callback(
            f"release of {c.name}", Kind.TIMER, NAME, 0, period=c.period, jitter=c.jitter,
            priority=PRIORITY + 9, assumptions=c.assumptions,
        )
        for c in system.callbacks
        if c.kind is Kind.TIMER and system.executor_of[c.executor].cores != (cpu,)
    ]  # fmt: skip
    if not releases:
        return system
    thread = Executor(NAME, ExecutorKind.ISOLATED, cores=(cpu,))
    return replace(
        system,
        executors=(*system.executors, thread),
        callbacks=(*system.callbacks, *releases),
    )


FULL = 0.75
"""A tree of callbacks with more load than that of a core is taken apart."""
Atom = tuple[str, ...]
"""Callbacks that must be on one core."""


@dataclass(frozen=True)
class Placement:
    """A core for every callback of executors whose cores are open; how it was found."""

    name: str
    core: Mapping[str, int]


class PlacementError(Exception):
    """There are too few cores; the text says for what."""


def placements(opening: Opening) -> Iterator[Placement]:
    """Yield placements, the most promising first, none twice.

    To find the best is bin packing, so these are heuristics: trees of callbacks that release each
    other together, chains together, everything by load alone, all on one core.
    """
    if not opening.places:
        yield Placement("as the model says", {})
        return
    placer = _Placer(opening)
    seen: list[Mapping[str, int]] = []
    for name, clusters in placer.ways():
        core = placer.place(clusters)
        if core not in seen:
            seen.append(core)
            yield Placement(name, core)


def movable(opening: Opening) -> list[Atom]:
    """Return what may be moved from one CPU to another, each as a whole."""
    return _Placer(opening).atoms() if opening.places else []


def placed(system: System, placement: Placement) -> System:
    """Return the system with its callbacks on the cores of a placement."""
    core = placement.core
    if not core:
        return system
    executors = []
    there: dict[str, dict[int, None]] = {}
    for callback in system.callbacks:
        if callback.name in core:
            there.setdefault(callback.executor, {})[core[callback.name]] = None
    for executor in system.executors:
        cores = sorted(there.get(executor.name, {}))
        if not cores:
            executors.append(executor)
        for one in cores:
            name = executor.name if len(cores) == 1 else f"{executor.name} on CPU {one}"
            executors.append(replace(executor, name=name, cores=(one,)))
    several = {name for name, cores in there.items() if len(cores) > 1}
    callbacks = (
        replace(c, executor=f"{c.executor} on CPU {core[c.name]}") if c.executor in several else c
        for c in system.callbacks
    )
    return replace(system, executors=tuple(executors), callbacks=tuple(callbacks))


class _Placer:
    def __init__(self, opening: Opening) -> None:
        self._system = system = opening.system
        self._load = loads(system)
        self._fixed = dict.fromkeys(opening.cpus, 0.0)
        alone: list[str] = []
        self._open: list[Callback] = []
        for executor in system.executors:
            members = system.members(executor.name)
            if executor.name not in opening.places:
                for core in executor.cores:
                    share = sum(self._load[c.name] for c in members) / len(executor.cores)
                    # What is not threaded has its core for itself.
                    share += 0 if executor.kind in THREADED or not members else 2
                    self._fixed[core] = self._fixed.get(core, 0.0) + share
            elif executor.kind in THREADED and executor.reservation is None:
                self._open += members
            elif members:
                alone.append(executor.name)
        self._cpus = opening.cpus
        self._alone = self._place_alone(alone)

    def _place_alone(self, executors: Sequence[str]) -> dict[str, int]:
        """Give a core to each executor that shares none."""
        free = sorted(self._cpus, key=lambda cpu: self._fixed[cpu])
        free = [cpu for cpu in free if not self._fixed[cpu]]
        need = len(executors) + bool(self._open)
        shared = any(0 < load < 2 for load in self._fixed.values())
        if len(executors) > len(free) or (need > len(free) and self._open and not shared):
            text = f"{len(executors)} executors have a thread that shares no CPU with others: "
            text += f"{', '.join(executors)}. The model has {len(self._cpus)} cpus for all"
            raise PlacementError(f"{text}. Add cpus, or use kind: isolated")
        core: dict[str, int] = {}
        for name, cpu in zip(executors, free, strict=False):
            self._fixed[cpu] = 2.0
            core.update((c.name, cpu) for c in self._system.members(name))
        return core

    def ways(self) -> Iterator[tuple[str, list[list[Atom]]]]:
        """Yield ways to make clusters of what should be on one core."""
        atoms = self.atoms()
        yield "trees together", self._joined(atoms, self._edges())
        chains = [
            (a, b)
            for chain in sorted(self._system.chains, key=lambda one: one.deadline or 2**62)
            for a, b in zip(chain.callbacks, chain.callbacks[1:], strict=False)
        ]
        yield "chains together", self._joined(atoms, chains)
        yield "by load", [[atom] for atom in atoms]
        if sum(self._load[c.name] for c in self._open) < 1:
            yield "one CPU", [atoms]

    def atoms(self) -> list[Atom]:
        """Return the groups of callbacks: each must be on one core."""
        groups: dict[tuple[str, str], list[str]] = {}
        for callback in self._open:
            key = (callback.executor, callback.group or f"\0{callback.name}")
            groups.setdefault(key, []).append(callback.name)
        return [tuple(names) for names in groups.values()]

    def _edges(self) -> list[tuple[str, str]]:
        return [
            (before, callback.name)
            for callback in self._open
            for before in self._system.triggered_by(callback)
        ]

    def _joined(self, atoms: list[Atom], edges: Sequence[tuple[str, str]]) -> list[list[Atom]]:
        """Return clusters of atoms with edges between them, as long as a core can hold them."""
        number = {name: i for i, atom in enumerate(atoms) for name in atom}
        parent = list(range(len(atoms)))
        load = [sum(self._load[name] for name in atom) for atom in atoms]

        def root(i: int) -> int:
            while parent[i] != i:
                parent[i] = parent[parent[i]]
                i = parent[i]
            return i

        for before, after in edges:
            if before in number and after in number:
                a, b = root(number[before]), root(number[after])
                if a != b and load[a] + load[b] <= FULL:
                    parent[b] = a
                    load[a] += load[b]
        clusters: dict[int, list[Atom]] = {}
        for i, atom in enumerate(atoms):
            clusters.setdefault(root(i), []).append(atom)
        return list(clusters.values())

    def place(self, clusters: list[list[Atom]]) -> dict[str, int]:
        """Return the core of each callback: the largest cluster first, on the emptiest core."""
        usage = {cpu: self._fixed[cpu] for cpu in self._cpus}
        core = dict(self._alone)
        weight = [sum(self._load[name] for atom in c for name in atom) for c in clusters]
        for i in sorted(range(len(clusters)), key=lambda i: -weight[i]):
            cpu = min(usage, key=lambda cpu: (usage[cpu], cpu))
            usage[cpu] += weight[i]
            core.update((name, cpu) for atom in clusters[i] for name in atom)
        return core
