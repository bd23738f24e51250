# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a file wants for threads and interrupts outside of executors.

Such a section stands in a parameters file (ros/rclrt_config/README.md), or in a file of
CallbackIsolatedExecutor, whose lists have the same names.
"""

import fnmatch
import glob
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclrt_analysis.model import ModelError
from rclrt_analysis.model.document import Document, Place, read_document
from rclrt_analysis.plan.fields import nanoseconds
from rclrt_tools.apply.parts import FIELDS, Clamp, Cpus, Parts, Policy, whole

THREADS, KERNEL, INTERRUPTS = "non_ros_threads", "kernel_threads", "irqs"
SECTIONS = (THREADS, KERNEL, INTERRUPTS)
EVERYWHERE = "/**"
LONGEST_NAME = 15
TIMES = ("runtime", "deadline", "period")
POLICY_FIELDS = ("nice", "priority", *TIMES)
OTHER_FIELDS = ("scheduling_policy", "cpu_affinity", "uclamp_min", "uclamp_max")


def pattern_of(entry: str) -> re.Pattern[str]:
    """Return what matches an entry of a parameters file: * is one part, ** any number of them."""
    stars = {"*": "/[^/]*", "**": "(?:/[^/]*)*"}
    parts = entry.split("/")[1:]
    return re.compile("".join(stars.get(part, "/" + re.escape(part)) for part in parts))


@dataclass(frozen=True)
class Entry:
    """One entry of a file.

    where: `file:line`.
    process, name: What a program and a thread or interrupt must be called, as patterns of a shell.
    node: A node that the process must have been started as, in the notation of parameters files.
    number: Of an interrupt, if the file says it.
    parts, low, high: What it gets. Of a clamp one side alone may be there.
    """

    section: str
    where: str
    name: str
    process: str = "*"
    node: str = EVERYWHERE
    number: int | None = None
    parts: tuple[Any, ...] = ()
    low: int | None = None
    high: int | None = None

    def selects(self) -> str:
        """Return what it is for, in words."""
        if self.section == INTERRUPTS:
            return " ".join(["irq", *[str(self.number)] * (self.number is not None), self.name])
        said = ["kernel thread" if self.section == KERNEL else "thread", self.name]
        said += ["of", self.process] * (self.process != "*")
        said += ["of node", self.node] * (self.node != EVERYWHERE)
        return " ".join(said)

    def matches_process(self, programs: tuple[str, ...], nodes: tuple[str, ...]) -> bool:
        """Return whether it is for threads of a process with these names of its own."""
        if not any(fnmatch.fnmatchcase(program, self.process) for program in programs):
            return False
        return self.node == EVERYWHERE or any(map(pattern_of(self.node).fullmatch, nodes))

    def matches_name(self, name: str) -> bool:
        """Return whether a thread or an interrupt is called so."""
        return fnmatch.fnmatchcase(name, self.name)


def merged(entries: tuple[Entry, ...], now: Clamp | None) -> dict[str, tuple[Any, Entry]]:
    """Return what these give together, and which entry says each part: the last one wins.

    now: What stays of a clamp of which the file says one side.
    """
    found: dict[str, tuple[Any, Entry]] = {}
    for entry in entries:
        found |= {part.key: (part, entry) for part in entry.parts}
        if now and (entry.low is not None or entry.high is not None):
            before = found["clamp"][0] if "clamp" in found else now
            # The side that the entry does not say gives way.
            low = min(before.low, entry.high or 0) if entry.low is None else entry.low
            high = max(before.high, low) if entry.high is None else entry.high
            found["clamp"] = (Clamp(low, high), entry)
    return found


def read_entries(path: Path) -> tuple[list[Entry], list[str]]:
    """Return the entries in the order of the file, and what of it is not for us.

    Raises ModelError: It cannot be read, or an entry is wrong; each problem with its line.
    """
    document = read_document(path, finite=False)  # Nodes' own parameters need not be.
    content = document.content
    if content is None:
        return [], []
    if not isinstance(content, dict):
        raise ModelError([f"{path}:1: this is no parameters file: it has no names at its top"])
    found: list[Entry] = []
    problems: list[str] = []
    notes: list[str] = []
    is_cie = bool({*SECTIONS, "callback_groups"} & content.keys())
    for place, section, name, said, given in (_cie if is_cie else _of_nodes)(document, notes):
        try:
            found.append(_entry(document.where(place), section, name, said, given))
        except ValueError as error:
            problems.append(f"{document.where(place)}: {section} '{name}': {error}")
    if problems:
        raise ModelError(problems)
    return found, notes


Said = tuple[Place, str, str, Any, dict[str, Any]]
"""Place, section, name of an entry, its fields, and what else is known of the entry."""


def _of_nodes(document: Document, _: list[str]) -> Iterator[Said]:
    yield from _namespace(document, document.content, (), "")


def _namespace(document: Document, content: Any, place: Place, node: str) -> Iterator[Said]:
    for key, value in content.items() if isinstance(content, dict) else ():
        here = (*place, key)
        if key != "ros__parameters":
            yield from _namespace(document, value, here, node + "/" * (key[:1] != "/") + key)
            continue
        ours = value.get("rclrt") if isinstance(value, dict) else None
        if not isinstance(ours, dict):
            continue
        for section in SECTIONS:
            items, at = ours.get(section), (*here, "rclrt", section)
            if items is None:
                continue
            if not isinstance(items, dict):
                text = f"{section}: fields with names are wanted, such as name: {{nice: 5}}"
                raise ModelError([f"{document.where(at)}: {text}"])
            if section != THREADS and node != EVERYWHERE:
                text = f"{section} are no node's. Put them under '{EVERYWHERE}'"
                raise ModelError([f"{document.where(at)}: {text}"])
            for name, said in items.items():
                process, _, thread = name.rpartition("/" if section == THREADS else "\0")
                known: dict[str, Any] = {"node": node, "process": process or "*", "name": thread}
                if section == INTERRUPTS and name.isdecimal():
                    known |= {"number": int(name), "name": "*"}
                yield (*at, name), section, name, said, known


CIE_NAMES = {THREADS: ("name", "id"), KERNEL: ("comm",), INTERRUPTS: ("irq",)}


def _cie(document: Document, notes: list[str]) -> Iterator[Said]:
    """Yield the entries of a file of CallbackIsolatedExecutor; names there are no patterns."""
    lists: dict[str, Any] = document.content or {}
    groups = lists.get("callback_groups")
    if groups:
        text = f"{len(groups)} callback_groups are for executors: they read this file, too"
        notes.append(f"{document.where(('callback_groups',))}: {text}")
    for section, keys in CIE_NAMES.items():
        items = lists.get(section) or []
        if not isinstance(items, list):
            raise ModelError([f"{document.where((section,))}: {section} must be a list"])
        for i, item in enumerate(items):
            place: Place = (section, i)
            key = next((key for key in keys if isinstance(item, dict) and key in item), None)
            if key is None:
                raise ModelError([f"{document.where(place)}: {section}: {keys[0]} is missing"])
            name = str(item[key])
            known: dict[str, Any] = {"name": glob.escape(name[:LONGEST_NAME])}
            if section == INTERRUPTS:
                known = {"number": item["irq"], "name": glob.escape(str(item.get("name") or ""))}
                known["name"] = known["name"] or "*"
            elif section == KERNEL:
                known = {"name": glob.escape(name)}
            yield place, section, name, _from_cie(item, section), known


def _from_cie(item: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Return the fields as a parameters file has them; what belongs to another policy is left."""
    said: dict[str, Any] = {}
    if section != INTERRUPTS:
        policy = str(item.get("policy", "")).removeprefix("SCHED_").lower()
        said = {"scheduling_policy": policy}
        said |= {key: item[key] for key in FIELDS.get(policy, ()) if key in item}
        said |= {key: f"{said[key]}ns" for key in TIMES if key in said}  # Theirs have no unit.
        if "nice" in FIELDS.get(policy, ()) and "priority" in item:
            said.setdefault("nice", item["priority"])  # Before there was `nice`, it held that.
    if item.get("affinity"):
        said["cpu_affinity"] = item["affinity"]
    return said


def _entry(where: str, section: str, name: str, said: Any, known: Mapping[str, Any]) -> Entry:
    """Return one entry.

    Raises ValueError: A field is wrong.
    """
    allowed = ("cpu_affinity",) if section == INTERRUPTS else (*OTHER_FIELDS, *POLICY_FIELDS)
    if not isinstance(said, dict) or not said:
        raise ValueError(f"it has no fields. There are: {', '.join(allowed)}")
    for key in said:
        if key not in allowed:
            raise ValueError(f"there is no field '{key}' here. There are: {', '.join(allowed)}")
    number = known.get("number")
    if number is not None and whole(number, "irq") < 0:
        raise ValueError("an interrupt has a number from 0")
    plain = not re.search(r"[*?\[]", known["name"])
    if section == THREADS and plain and len(known["name"].encode()) > LONGEST_NAME:
        raise ValueError(f"the kernel keeps {LONGEST_NAME} bytes of a thread's name: end it with *")
    sides: dict[str, Any] = {}
    for field, key in (("low", "uclamp_min"), ("high", "uclamp_max")):
        if key in said:
            sides[field] = Clamp(whole(said[key], key), 1024).low
    if sides.get("low", 0) > sides.get("high", 1024):
        raise ValueError("uclamp_min must not be above uclamp_max")
    return Entry(section, where, **known, parts=tuple(_parts(said).values()), **sides)


def _parts(said: Mapping[str, Any]) -> Parts:
    found: Parts = {}
    policy = said.get("scheduling_policy")
    mine = [key for key in POLICY_FIELDS if key in said]
    if policy is not None:
        if policy == "ext" or policy not in FIELDS:
            there = ", ".join(name for name in FIELDS if name != "ext")
            raise ValueError(f"scheduling_policy '{str(policy)[:60]}' is none of {there}")
        needed = [key for key in FIELDS[policy] if key != "nice" and key not in said]
        if needed:
            raise ValueError(f"{policy} needs {' and '.join(needed)} beside it")
        values: dict[str, Any] = {key: said[key] for key in mine}
        values |= {key: nanoseconds(said[key]) for key in TIMES if key in mine}
        found["policy"] = Policy(policy, **values)
    elif mine:
        raise ValueError(f"{mine[0]} needs its scheduling_policy beside it, such as other or fifo")
    if "cpu_affinity" in said:
        cpus = said["cpu_affinity"]
        if not isinstance(cpus, list):
            raise ValueError(f"cpu_affinity must be a list such as [0, 2]; here is {cpus!r:.60}")
        wanted = found["cpus"] = Cpus(tuple(cpus))
        count, last = os.sysconf("SC_NPROCESSORS_CONF"), wanted.cpus[-1]
        if last >= count:
            raise ValueError(f"there is no CPU {last}: this machine has {count}, from 0")
    return found
