# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A parameters file with what every callback, group and thread has now, ready to edit."""

from collections.abc import Mapping, Sequence

import yaml
from rclrt_analysis.model import in_ms
from rclrt_analysis.plan.fields import duration
from rclrt_analysis.plan.parameters import FULL_NAME

from rclrt_tools.live.threads import Thread
from rclrt_tools.observe.parts import Part
from rclrt_tools.trace import NO_DEADLINE, Entry, Records, layout


def to_template(parts: Sequence[Part], running: Mapping[int, Sequence[Thread]]) -> str:
    """Return the file.

    running: By process: its threads, if it runs.
    """
    head = [
        "# What runs now, by rclrt trace template. An entry that stays is what is in force;",
        "# change it, or take it out and the code decides. What stands in comments cannot be said",
        "# as it is.",
    ]
    callbacks: list[str] = []
    groups: list[str] = []
    threads: list[str] = []
    seen: set[str] = set()
    for part in parts:
        callbacks += _callbacks(part, seen)
        groups += _groups(part, seen)
    for process, items in running.items():
        threads += _threads(process, items, [p for p in parts if p.header.process == process])
    body = ["/**:", "  ros__parameters:", "    rclrt:", "      executor: {attributes: prefer}"]
    for key, lines in (("callbacks", callbacks), ("groups", groups)):
        # A map of nothing but comments is none.
        empty = all(line.lstrip().startswith("#") for line in lines)
        body += [f"      {'# ' * empty}{key}:", *lines]
    return "\n".join([*head, *body, *threads]) + "\n"


def _callbacks(part: Part, seen: set[str]) -> list[str]:
    header = part.header
    model = layout.word(layout.MODELS, header.model)
    lines = [
        f"        # {part.name}: process {header.process}, executor {header.executor}, {model}"
    ]
    for id_, entry in sorted(part.callbacks.items(), key=lambda item: item[1].name):
        jobs = part.ran.get(id_)
        fields = {} if jobs is None else _in_force(jobs)
        group = entry.group_name or f"number {entry.group}"
        remark = f"group {group}" + (f"; {_seen(jobs)}" if jobs is not None else "; no job ran")
        lines.append(
            _entry(entry.name, fields, remark, seen, bool(FULL_NAME.fullmatch(entry.name)))
        )
    return lines


def _entry(name: str, fields: Mapping[str, str], remark: str, seen: set[str], known: bool) -> str:
    quoted = yaml.dump(name, default_style='"', width=2**20).strip()
    text = f"{quoted}: {{{', '.join(f'{k}: {v}' for k, v in fields.items())}}}"
    able = bool(fields) and known and name not in seen
    seen.add(name)
    return f"        {'' if able else '# '}{text}  # {remark}"


def _in_force(jobs: Records) -> dict[str, str]:
    """Return what the last job had, in the fields of a parameters file."""
    last = jobs[-1]
    policy = int(last["policy"])
    fields: dict[str, str] = {}
    if policy in (layout.POLICY_UNKNOWN, layout.POLICY_DEADLINE):
        return fields  # The budget of a reservation is not in a trace.
    fields["scheduling_policy"] = layout.word(layout.POLICIES, policy)
    if policy in layout.WITH_PRIORITY:
        fields["priority"] = str(int(last["priority"]))
    elif policy in layout.WITH_NICE:
        fields["nice"] = str(int(last["priority"]))
    due = jobs["deadline_ns"]
    relative = int(due[-1] - last["release_ns"]) if due[-1] != NO_DEADLINE else 0
    if relative > 0 and all(due != NO_DEADLINE) and all(due - jobs["release_ns"] == relative):
        fields["relative_deadline"] = duration(relative)
    mask = int(last["cpus"])
    if mask and not mask & layout.MORE_CPUS:
        cpus = [cpu for cpu in range(63) if mask >> cpu & 1]
        fields["cpu_affinity"] = f"[{', '.join(map(str, cpus))}]"
    return fields


def _seen(jobs: Records) -> str:
    """Return what the jobs were like, for a comment."""
    measured = jobs["cpu_ns"][jobs["cpu_ns"] >= 0]
    parts = [f"{len(jobs)} jobs"]
    if len(measured):
        parts.append(f"took up to {in_ms(int(measured.max()))} ms")
    parts.append(f"answered within {in_ms(int((jobs['end_ns'] - jobs['release_ns']).max()))} ms")
    names = sorted({int(thread) for thread in jobs["thread"]})
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    parts.append(f"thread {', '.join(map(str, names[:3]))}{more}")
    return ", ".join(parts)


def _groups(part: Part, seen: set[str]) -> list[str]:
    members: dict[tuple[int, str], list[tuple[int, Entry]]] = {}
    for id_, entry in part.callbacks.items():
        members.setdefault((entry.group, entry.group_name), []).append((id_, entry))
    lines = []
    for (_, name), inside in sorted(members.items(), key=lambda item: item[0][1]):
        if not name:
            continue
        limit = inside[0][1].parallelism
        names = sorted(entry.name for _, entry in inside)
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        remark = f"{'one at a time' if limit == 1 else f'up to {limit} at once'}: "
        remark += ", ".join(names[:4]) + more
        # What a group has is what those of its callbacks have that have none of their own.
        lines.append(_entry(name, {}, remark, seen, True))
    return lines


def _threads(process: int, threads: Sequence[Thread], parts: Sequence[Part]) -> list[str]:
    ran: dict[int, set[str]] = {}
    for part in parts:
        for id_, jobs in part.ran.items():
            for number in set(jobs["thread"].tolist()):
                ran.setdefault(number, set()).add(part.callbacks[id_].name)
    lines = [f"# threads of process {process}, as they are now (with what is lent to them):"]
    for thread in threads:
        priority = f" {thread.priority}" if thread.priority else ""
        mine = sorted(ran.get(thread.number, ()))
        what = f"; ran {len(mine)} callbacks, such as {mine[0]}" if mine else ""
        text = f"#   {thread.number} {thread.name}: {thread.policy}{priority}"
        lines.append(f"{text}, CPUs {thread.cpus}{what}")
    return lines
