# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A system file of play_launch as a parameters file: what it pins nodes to.

Its mapper and the band that it chooses priorities from are for ./rclrt plan to do better.
"""

from typing import Any

from rclrt_analysis.model.document import Document, Place

from rclrt_tools.convert.imported import Imported, fit, mapping, wrong

CLASSES = {
    "SCHED_FIFO": "fifo", "SCHED_RR": "rr", "SCHED_OTHER": "other", "SCHED_BATCH": "batch",
    "SCHED_IDLE": "idle",
}  # fmt: skip
ROOT = {
    "target": "",
    "overrides": "",
    "mapper": "it derives priorities from contracts: rclrt plan does",
    "resources": "for the mapper: the CPUs of a model are its 'cpus'",
    "reservations": "a plan has none; give budgets to callbacks",
}
PIN = {
    "priority": "",
    "core": "",
    "sched_class": "",
    "budget_us": "an execution time: put it into wcet_ms of the model",
}


def from_system_file(document: Document) -> Imported:
    """Return the parameters of a system file, for executors and ./rclrt run.

    Raises ModelError: It has not the form of one, or is for another target than Linux.
    """
    imported = Imported(document)
    content = mapping(document, document.content, ())
    if content.get("target") not in ("posix", "native"):
        raise wrong(document, ("target",), "this is for another system than Linux")
    imported.leave_out_others(content, (), ROOT)
    overrides = mapping(document, content.get("overrides") or {}, ("overrides",))
    entries: dict[str, Any] = {}
    for node, pin in overrides.items():
        place: Place = ("overrides", node)
        entry = _entry(imported, mapping(document, pin or {}, place), place)
        if entry:
            node = node.strip("/")
            name = f"/{node}/**" if "/" in node or f"/{node}" in overrides else f"/**/{node}/**"
            entries[fit(name, 900)] = entry
    if entries:
        parameters = {"rclrt": {"callbacks": entries}}
        imported.content = {"/**": {"ros__parameters": parameters}}
    return imported


def _entry(imported: Imported, pin: dict[str, Any], place: Place) -> dict[str, Any]:
    document = imported.document
    imported.leave_out_others(pin, place, PIN)
    entry: dict[str, Any] = {}
    priority, core = (
        _number(document, pin, place, key, least, most)
        for key, least, most in (("priority", 1, 99), ("core", 0, 1023))
    )
    kind = pin.get("sched_class", "SCHED_FIFO" if priority else None)
    if kind is not None and (not isinstance(kind, str) or kind not in CLASSES):
        imported.leave_out((*place, "sched_class"), f"'{kind}' has no priority")
    elif kind is not None:
        entry["scheduling_policy"] = CLASSES[kind]
        if CLASSES[kind] in ("fifo", "rr"):
            if priority is None:
                raise wrong(document, place, f"{kind} needs a priority from 1 to 99")
            entry["priority"] = priority
    if core is not None:
        entry["cpu_affinity"] = [core]
    return entry


def _number(
    document: Document, pin: dict[str, Any], place: Place, key: str, least: int, most: int
) -> int | None:
    value = pin.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        text = f"must be a whole number from {least} to {most}"
        raise wrong(document, (*place, key), text)
    return value
