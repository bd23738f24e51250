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
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclrt_analysis.model import ModelError
from rclrt_analysis.model.document import Document, Place, read_document
from rclrt_analysis.plan.fields import nanoseconds
from rclrt_tools.apply.parts import FIELDS, LIMITS, Clamp, Cpus, Parts, Policy, whole

THREADS, KERNEL, INTERRUPTS = "non_ros_threads", "kernel_threads", "irqs"
GROUPS = "callback_groups"
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
    document = read_document(path, foreign=True)
    content = document.content
    if content is None:
        return [], []
    if not isinstance(content, dict):
        raise ModelError([f"{path}:1: this is no parameters file: it has no names at its top"])
    found: list[Entry] = []
    problems: list[str] = []
    notes: list[str] = []
    is_cie = bool({*CIE_NAMES, "hardware_info", "rt_throttling"} & content.keys())
    read = _cie if is_cie else _of_nodes
    for place, section, name, said, given in read(document, notes, problems):
        try:
            found.append(_entry(document.where(place), section, name, said, given))
        except ValueError as error:
            problems.append(f"{document.where(place)}: {section} '{name}': {error}")
    if problems:
        raise ModelError(problems)
    return found, notes


Said = tuple[Place, str, str, Any, dict[str, Any]]
"""Place, section, name of an entry, its fields, and what else is known of the entry."""


def _of_nodes(document: Document, _: list[str], problems: list[str]) -> Iterator[Said]:
    yield from _namespace(document, document.content, (), "", problems)


def _namespace(
    document: Document, content: Any, place: Place, node: str, problems: list[str]
) -> Iterator[Said]:
    for key, value in content.items() if isinstance(content, dict) else ():
        here = (*place, key)
        if key != "ros__parameters":
            name = node + "/" * (key[:1] != "/") + key
            yield from _namespace(document, value, here, name, problems)
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
                problems.append(f"{document.where(at)}: {text}")
                continue
            if section != THREADS and node != EVERYWHERE:
                text = f"{section} are no node's. Put them under '{EVERYWHERE}'"
                problems.append(f"{document.where(at)}: {text}")
                continue
            for name, said in items.items():
                process, _, thread = name.rpartition("/" if section == THREADS else "\0")
                known: dict[str, Any] = {"node": node, "process": process or "*", "name": thread}
                if section == INTERRUPTS and name.isdecimal():
                    known |= {"number": int(name), "name": "*"}
                yield (*at, name), section, name, said, known


CIE_NAMES = {GROUPS: ("id",), THREADS: ("name", "id"), KERNEL: ("comm",), INTERRUPTS: ("irq",)}
CIE_POLICIES = {f"SCHED_{name.upper()}": name for name in FIELDS if name != "ext"}
CIE_FIELDS = ("policy", "priority", "nice", *TIMES, "affinity")
HARDWARE = {
    "model_name": "Model name", "cpu_family": "CPU family", "model": "Model",
    "threads_per_core": "Thread(s) per core", "frequency_boost": "Frequency boost",
    "cpu_max_mhz": "CPU max MHz", "cpu_min_mhz": "CPU min MHz",
}  # fmt: skip
"""What a file for one machine says of it, and what lscpu calls that."""


def _cie(document: Document, notes: list[str], problems: list[str]) -> Iterator[Said]:
    """Yield the entries of a file of CallbackIsolatedExecutor; names there are no patterns.

    What is refused is refused by executors, too: ros/rclrt_config/src/cie_file.cpp.
    """
    lists: dict[str, Any] = document.content or {}
    sections = (*CIE_NAMES, "hardware_info", "rt_throttling")

    def wrong(place: Place, text: str) -> None:
        problems.append(f"{document.where(place)}: {text}")

    for section in lists:
        if section not in sections:
            wrong((section,), f"there is no section '{section}'. There are: {', '.join(sections)}")
    _check_hardware(lists.get("hardware_info"), wrong)
    for section, keys in CIE_NAMES.items():
        items = lists.get(section) or []
        if not isinstance(items, list):
            wrong((section,), f"{section} must be a list")
            continue
        if section == GROUPS and items:
            text = f"{len(items)} callback_groups are for executors: they read this file, too"
            notes.append(f"{document.where((GROUPS,))}: {text}")
            continue
        for i, item in enumerate(items):
            place: Place = (section, i)
            said_names = [item[key] for key in keys if isinstance(item, dict) and key in item]
            name = next((one for one in said_names if one not in (None, "")), None)
            if name is None or isinstance(name, (list, dict)):
                wrong(place, f"{section}: {keys[0]} is missing, or is no name")
                continue
            known: dict[str, Any] = {"name": glob.escape(str(name)[:LONGEST_NAME])}
            try:
                said = _from_cie(item, section, (*keys, "name"))
                if section == INTERRUPTS:
                    number = whole(_decimal(name), "irq")
                    called = item.get("name")
                    known = {"number": number, "name": glob.escape(str(called)) if called else "*"}
            except ValueError as error:
                wrong(place, f"{section} '{name}': {error}")
                continue
            if said:  # Else it is not managed.
                yield place, section, str(name), said, known


def _check_hardware(said: Any, wrong: Callable[[Place, str], None]) -> None:
    place: Place = ("hardware_info",)
    if said is None:
        return
    if not isinstance(said, dict) or not said.keys() <= HARDWARE.keys():
        wrong(place, f"hardware_info has fields out of {', '.join(HARDWARE)}")
        return
    command = ["lscpu"]
    done = subprocess.run(
        command, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True
    )
    here = {key.strip(): value.strip() for key, _, value in map(_halves, done.stdout.splitlines())}
    for key, value in said.items():
        is_here = here.get(HARDWARE[key])
        if is_here is not None and str(value) != is_here:
            text = f"the file is for a machine with {key} '{value}', this one has '{is_here}'"
            wrong((*place, key), f"{text}. Check the entries for it, then update hardware_info")


def _halves(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def _decimal(value: Any) -> Any:
    """Return the number that text is: here it is decimal, whatever zeros it begins with."""
    is_number = isinstance(value, str) and re.fullmatch(r"[+-]?\d{1,18}", value)
    return int(value) if is_number else value


def _from_cie(item: Mapping[str, Any], section: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields as a parameters file has them; what belongs to another policy is left.

    Raises ValueError: A field is wrong.
    """
    scanned = section in (KERNEL, INTERRUPTS)
    allowed = (*names, "affinity") if section == INTERRUPTS else (*names, *CIE_FIELDS)
    for key in item:
        if key not in allowed:
            raise ValueError(f"there is no field '{key}' here. There are: {', '.join(allowed)}")
    item = {
        key: [_decimal(one) for one in value] if isinstance(value, list) else _decimal(value)
        for key, value in item.items()
        if value not in (None, []) and not (scanned and value == "UNMANAGEABLE")
    }
    said: dict[str, Any] = {}
    if "affinity" in item:
        said["cpu_affinity"] = item["affinity"]
    policy = item.get("policy")
    if policy is None:
        extra = [key for key in CIE_FIELDS[1:-1] if key in item]
        if not scanned or extra:
            raise ValueError(f"policy is missing: one of {', '.join(CIE_POLICIES)}")
        return said
    if not isinstance(policy, str) or policy not in CIE_POLICIES:
        raise ValueError(f"policy '{str(policy)[:60]}' is none of {', '.join(CIE_POLICIES)}")
    name = CIE_POLICIES[policy]
    fields = FIELDS[name] or ("nice",)
    if fields == ("nice",) and "nice" not in item and "priority" in item:
        item["nice"] = item["priority"]  # Before there was `nice`, it held that.
    for key in fields:
        if key not in item:
            raise ValueError(f"{policy} needs the field {key} beside it")
        if key not in TIMES and not LIMITS[key][0] <= whole(item[key], key) <= LIMITS[key][1]:
            raise ValueError(f"{key} must be from {LIMITS[key][0]} to {LIMITS[key][1]}")
    said["scheduling_policy"] = name
    said |= {key: item[key] for key in FIELDS[name]}
    said |= {key: f"{whole(said[key], key)}ns" for key in TIMES if key in said}
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
        if not isinstance(policy, str) or policy == "ext" or policy not in FIELDS:
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
