# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What Autoware's monitors demand, as chains.

The topics of the pipeline latency monitor and of the processing time checker carry times that nodes
report of themselves, not data. So a step is taken for the callbacks of the node that has its name,
in the model that is given. What a pipeline adds for steps that report nothing is taken off the
deadline. Topics of the component state monitor are data: each has a least rate, or a time without a
message that is too long.
"""

from collections.abc import Sequence
from typing import Any

from rclrt_analysis.model import System
from rclrt_analysis.model.document import Document, Place

from rclrt_tools.convert.caret_write import node_name
from rclrt_tools.convert.imported import (
    MOST_MS,
    Imported,
    fit,
    items,
    mapping,
    text_of,
    texts,
    wrong,
)
from rclrt_tools.convert.play_launch import rate_chain, two_periods

CHECKED = "processing_time_topic_name_list"
MONITORED = {
    "module": "",
    "args": "",
    "mode": "a model is of one mode: take out what its mode does not have",
    "type": "what else stops if the topic does is not a matter of time",
}
ARGS = {
    **dict.fromkeys(("topic", "warn_rate", "error_rate", "timeout", "node_name_suffix"), ""),
    **dict.fromkeys(("topic_type", "best_effort", "transient_local"), "of the monitor alone"),
    **dict.fromkeys(("frame_id", "child_frame_id"), "which transform it is"),
}


def from_autoware(document: Document, system: System | None = None) -> Imported:
    """Return the chain of a file of parameters.

    system: In which steps are looked for; without it the chain has no callbacks, and is a draft.

    Raises ModelError: It has not the form of one.
    """
    imported = Imported(document)
    found = parameters_in(document.content)
    if found is None:
        raise wrong(document, (), f"no node's parameters have processing_steps or {CHECKED}")
    root, parameters = found
    if CHECKED in parameters:
        return _processing_times(imported, root, parameters, system)
    known = {
        "latency_threshold_ms": "",
        "processing_steps": "",
        "latency_offsets_ms": "",
        "update_rate": "how often the monitor publishes; a watch has its own",
        "window_size": "how many samples the monitor keeps; bounds need none",
    }
    imported.leave_out_others(parameters, root, known)
    place: Place = (*root, "processing_steps")
    steps = mapping(document, parameters.get("processing_steps"), place)
    sequence = steps.get("sequence")
    if (
        not isinstance(sequence, list)
        or not sequence
        or not all(isinstance(s, str) for s in sequence)
    ):
        raise wrong(document, (*place, "sequence"), "must be a list of steps")
    chain: dict[str, Any] = {"name": "pipeline", "semantics": "latency"}
    deadline = _deadline(imported, root, parameters)
    if deadline is not None:
        chain["deadline_ms"] = deadline
    way: list[str] = []
    lost = []
    for step in sequence:
        mine = _callbacks(imported, system, step, steps.get(step), (*place, step), way)
        lost += [step] * (not mine)
        way += [one for one in mine if one not in way]
    for name in steps:
        if name != "sequence" and name not in sequence:
            imported.leave_out((*place, name), "a step that is not in the sequence")
    chain["callbacks"] = way
    if lost:  # The deadline is that of all steps.
        imported.drafts.append((chain, f"no callback for {', '.join(lost)}"))
    else:
        imported.content = {"chains": [chain]}
    return imported


def parameters_in(content: Any, place: Place = ()) -> tuple[Place, dict[str, Any]] | None:
    """Return where the parameters of a monitor stand, and these: under any name of a node."""
    for key, value in content.items() if isinstance(content, dict) and len(place) < 9 else ():
        here = (*place, key)
        if key != "ros__parameters":
            found = parameters_in(value, here)
            if found is not None:
                return found
        elif isinstance(value, dict) and {"processing_steps", CHECKED} & value.keys():
            return here, value
    return None


def from_topics(document: Document) -> Imported:
    """Return a chain for each topic of a component state monitor that has a rate or a timeout.

    Raises ModelError: It has not the form of one.
    """
    imported = Imported(document)
    chains: dict[tuple[str, str], dict[str, Any]] = {}
    for place, entry in items(document, {"": document.content}, (), ""):
        place = place[1:]
        imported.leave_out_others(entry, place, MONITORED)
        args = mapping(document, entry.get("args"), (*place, "args"))
        imported.leave_out_others(args, (*place, "args"), ARGS)
        topic = fit(text_of(document, args, (*place, "args"), "topic"))
        warn, error, timeout = (
            _above_zero(document, args, (*place, "args"), key)
            for key in ("warn_rate", "error_rate", "timeout")
        )
        if not (warn or error or timeout):
            imported.leave_out(place, f"'{topic}' may come once", "topics without a rate")
            continue
        if timeout and error and two_periods(error) < timeout * 1000:
            text = f"{timeout:g} s are longer than two periods of error_rate, which count"
            imported.leave_out((*place, "args", "timeout"), text)
        spans = {
            "error": [ms for ms in (timeout * 1000, error and two_periods(error)) if ms],
            "warn": [two_periods(warn)] if warn else [],
        }
        for level, times in spans.items():
            # If several modes or modules have the topic, the strictest counts.
            before = chains.get((level, topic), {}).get("silent_after_ms")
            times += [before] if before else []
            if times:
                chains[level, topic] = rate_chain(topic, round(min(times), 6), level)
    imported.content = {"chains": list(chains.values())}
    return imported


def _above_zero(document: Document, args: dict[str, Any], place: Place, key: str) -> float:
    value = args.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        raise wrong(document, (*place, key), "must be a number, 0 for none")
    return float(value)


def _processing_times(
    imported: Imported, root: Place, parameters: dict[str, Any], system: System | None
) -> Imported:
    """Return a chain of each node that reports how long it takes."""
    known = {CHECKED: "", "update_rate": "how often the checker publishes; a watch has its own"}
    imported.leave_out_others(parameters, root, known)
    topics = texts(imported.document, parameters[CHECKED], (*root, CHECKED))
    chains: dict[str, dict[str, Any]] = {}
    for i, topic in enumerate(topics):
        node, mark, part = topic.rpartition("/debug/")
        place: Place = (*root, CHECKED, i)
        if not mark:
            imported.leave_out(place, f"nobody knows whose time '{topic}' is")
        elif "/" in part:
            text = f"a part of what '{node}' does"
            imported.leave_out(place, text, "times of a part of a callback")
        else:
            found = _callbacks(imported, system, node, {}, place, ())
            chains[node] = {"name": fit(f"time of {node}", 190), "callbacks": found,
                            "semantics": "latency"}  # fmt: skip
    imported.content = {"chains": [c for c in chains.values() if c["callbacks"]]}
    return imported


def _deadline(imported: Imported, root: Place, parameters: dict[str, Any]) -> float | None:
    threshold = parameters.get("latency_threshold_ms")
    offsets = parameters.get("latency_offsets_ms") or []
    if not isinstance(threshold, int | float) or isinstance(threshold, bool):
        return None
    is_good = isinstance(offsets, list) and all(
        isinstance(o, int | float) and not isinstance(o, bool) and o >= 0 for o in offsets
    )
    if not is_good:
        raise wrong(imported.document, (*root, "latency_offsets_ms"), "must be a list of times")
    if sum(offsets):
        text = f"{sum(offsets):g} ms of steps that report nothing are taken off the deadline"
        imported.leave_out((*root, "latency_offsets_ms"), text)
    left = threshold - sum(offsets)
    if left <= 0:
        text = f"latency_offsets_ms leave nothing of {threshold:g} ms"
        raise wrong(imported.document, (*root, "latency_threshold_ms"), text)
    if left > MOST_MS:
        imported.leave_out((*root, "latency_threshold_ms"), "longer than an hour")
        return None
    return round(float(left), 6)


def _callbacks(
    imported: Imported, system: System | None, step: str, about: Any, place: Place,
    so_far: Sequence[str],
) -> list[str]:  # fmt: skip
    if not isinstance(about, dict):
        imported.leave_out(place, "the step has no topic")
        return []
    for key in ("timestamp_meaning", "latency_multiplier", "topic_type"):
        if key in about:
            imported.leave_out((*place, key), "about the message that reports a latency")
    others = {k: "" for k in ("topic", "timestamp_meaning", "latency_multiplier", "topic_type")}
    imported.leave_out_others(about, place, others)
    mine = [] if system is None else [
        c for c in system.callbacks
        if step in (node_name(c), node_name(c).rpartition("/")[2])
    ]  # fmt: skip
    if len(mine) > 1 and system is not None and so_far:
        # If the node has several callbacks, those count that the data come to.
        mine = [c for c in mine if c.name in system.successors[so_far[-1]]] or mine
    if len(mine) == 1:
        return [mine[0].name]
    why = "the model has no node of that name" if not mine else "its node has several callbacks"
    if system is None:
        why = "give the model (--model) whose nodes are the steps"
    text = f"step '{step}': {why}. Name its callbacks yourself"
    imported.leave_out(place, text, "steps without a callback")
    return []
