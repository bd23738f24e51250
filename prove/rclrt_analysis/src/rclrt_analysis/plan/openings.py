# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a model leaves open for a plan to choose."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rclrt_analysis.bounds.activation import urgencies
from rclrt_analysis.model import ExecutorKind, ModelError, Policy, System
from rclrt_analysis.model.document import Document, read_document
from rclrt_analysis.model.read import build_system

THREADED = ("isolated", "preemptive")
PLANNED = ("open", "priority_events", *THREADED)
"""Kinds of executors whose priorities a plan can choose."""


@dataclass(frozen=True)
class Opening:
    """A system, and what of it is open; the system has something in those places.

    priorities: Names of callbacks whose priority is open.
    kinds: Names of executors whose kind is open.
    places: Names of executors whose cores are open.
    cpus: Cores that a plan may use.
    digest: Of the file of the model.
    may_use: What the target has besides fixed priorities: "edf", the scheduler in the kernel;
        "budgets".
    """

    system: System
    priorities: frozenset[str]
    kinds: frozenset[str]
    places: frozenset[str]
    cpus: tuple[int, ...]
    digest: str = ""
    may_use: frozenset[str] = frozenset()


class Filler:
    """Puts something into what is open, and remembers where."""

    def __init__(self, places_too: bool) -> None:
        self._places_too = places_too
        self.priorities: set[str] = set()
        self.kinds: set[str] = set()
        self.places: set[str] = set()
        self.cpus: tuple[int, ...] = ()

    def __call__(self, content: dict[str, Any]) -> dict[str, Any]:
        """Return the content with something in every open place."""
        cpus = content.get("cpus")
        self.cpus = tuple(cpus or (0,))
        executors, chosen = [], set()
        for item in content["executors"]:
            filled = dict(item)
            if item["kind"] == "open":
                self.kinds.add(item["name"])
                filled["kind"] = ExecutorKind.ISOLATED.value
            if "cores" not in item and self._places_too and cpus:
                self.places.add(item["name"])
                filled["cores"] = [cpus[0]]
            fixed = item.get("policy", "fixed_priority") == Policy.FIXED_PRIORITY.value
            if item["kind"] in PLANNED and fixed and "reservation" not in item:
                chosen.add(item["name"])
            executors.append(filled)
        callbacks = []
        for item in content["callbacks"]:
            if item["executor"] in chosen and "priority" not in item:
                self.priorities.add(item["name"])
                item = {**item, "priority": 1}
            callbacks.append(item)
        return {**content, "executors": executors, "callbacks": callbacks}


def read_open(path: Path, schema: Path) -> Opening:
    """Return a model that may leave things open; see `read_model`."""
    filler = Filler(places_too=True)
    document = read_document(path)
    system = build_system(document, schema, filler)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if any(executor.link is not None for executor in system.executors) or len(
        system.executors
    ) != len(document.content["executors"]):
        text = "a plan does not choose for microcontrollers: plan the executors beside them alone"
        raise ModelError([f"{document.where(('executors',))}: {text}"])
    _check_reservations(system, document)
    opening = Opening(
        system,
        frozenset(filler.priorities),
        frozenset(filler.kinds),
        frozenset(filler.places),
        filler.cpus,
        digest,
        frozenset(document.content.get("may_use", ())),
    )
    return _with_derived(opening)


def _check_reservations(system: System, document: Document) -> None:
    """Refuse what a parameters file cannot put in force, so that nothing is proved of it."""
    for i, executor in enumerate(system.executors):
        if executor.reservation is not None and executor.kind is ExecutorKind.PRIORITY_EVENTS:
            text = f"no parameters file gives the thread of '{executor.name}' a reservation"
            where = document.where(("executors", i, "reservation"))
            raise ModelError([f"{where}: {text}. Use kind: isolated, or leave the reservation out"])


def _with_derived(opening: Opening) -> Opening:
    """Return it with priorities for those that rm and dm derive.

    An executor on several cores becomes several executors of the analysis, which would rank their
    timers apart.
    """
    system = opening.system
    derive = {
        e.name
        for e in system.executors
        if e.policy in (Policy.RM, Policy.DM) and e.name in opening.places
    }
    urgency = urgencies(system)
    executors = tuple(
        replace(e, policy=Policy.FIXED_PRIORITY) if e.name in derive else e
        for e in system.executors
    )
    system = system.each(
        lambda c: replace(c, priority=urgency[c.name]) if c.executor in derive else c
    )
    return replace(opening, system=replace(system, executors=executors))
