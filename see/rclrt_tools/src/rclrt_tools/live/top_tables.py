# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What `./rclrt top` shows of a snapshot: callbacks, threads, processes, findings."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from rclrt_tools.live.activity import Activity
from rclrt_tools.live.files import Process
from rclrt_tools.live.table import Column, Table, Value, count, ms, number, percent, text
from rclrt_tools.live.threads import ranges
from rclrt_tools.live.watch import Snapshot, Watched
from rclrt_tools.places import me
from rclrt_tools.trace import layout
from rclrt_tools.watch.text import shown_state

LONGEST_NAME = 300
PARAMETERS = re.compile(
    "/service/.*/((describe|get|list|set)_parameters(_atomically)?|get_parameter_types"
    "|get_type_description)$|/subscription/parameter_events$"
)
"""Callbacks that every node has for its parameters."""

SILENT_PERIODS, SILENT_NS = 10, 2_000_000_000


def _some(value: Value) -> bool:
    return value is not None and value > 0


def _policy(value: Value) -> str:
    policy, priority = value
    has_number = policy in (*layout.PRIORITY_WORDS, *layout.NICE_WORDS)
    return f"{policy} {priority}" if has_number else policy


def _process(rank: int) -> Column:
    return Column("process", "PROCESS", 7, rank, lambda v: str(v), "number of the process")


def _program(width: int, rank: int) -> Column:
    return Column("program", "PROGRAM", width, rank, text, "name of the program", is_name=True)


CALLBACKS = (
    _process(2),
    _program(12, 18),
    Column("name", "CALLBACK", 18, 0, text, "name of the callback", is_name=True),
    Column("force", "POLICY", 8, 9, text, "policy and priority in force for its newest job"),
    Column("cpu", "CPU%", 5, 1, percent, "share of one CPU"),
    Column("rate", "HZ", 6, 3, number, "jobs a second"),
    Column("execution_p50", "EXEC", 6, 12, ms, "CPU time of a job, median, ms"),
    Column("execution_max", "EXEC^", 6, 13, ms, "CPU time of a job, longest, ms"),
    Column("response_p50", "RESP", 6, 8, ms, "from the release of a job to its end, median, ms"),
    Column("response_max", "RESP^", 6, 4, ms, "from the release to the end, longest, ms"),
    Column("latest", "LATEST", 7, 5, ms, "largest lateness: end minus deadline, ms", _some),
    Column("late", "LATE", 5, 6, count, "deadlines missed, since counting began", _some),
    Column("backlog", "QUEUE", 5, 7, count, "unfinished jobs that a job found at most"),
    Column("dropped", "DROP", 5, 10, count, "jobs dropped, since counting began", _some),
    Column("skipped", "SKIP", 5, 11, count, "releases skipped, since counting began", _some),
    Column("waiting_p50", "WAIT", 6, 17, ms, "from ready to started, median, ms"),
    Column("waiting_max", "WAIT^", 6, 14, ms, "from ready to started, longest, ms"),
    Column(
        "blocker_name", "BLOCKER", 18, 15, text, "whose job that one has waited for", is_name=True
    ),
    Column("group", "GRP%", 5, 16, percent, "of its jobs: found their group busy"),
    Column("thread", "THR%", 5, 19, percent, "of its jobs: found no thread asleep"),
    Column("exceptions", "THROWN", 6, 20, count, "jobs that threw, since counting began", _some),
    Column("kind", "KIND", 12, 21, text, "timer, subscription, service, client, waitable"),
    Column("group_name", "GROUP", 20, 22, text, "name of its group", is_name=True),
    Column("cpus", "CPUS", 8, 23, text, "CPUs that it may use, in force for its newest job"),
)
THREADS = (
    _process(1),
    _program(14, 9),
    Column("thread", "THREAD", 7, 0, lambda v: str(v), "number of the thread"),
    Column("name", "NAME", 15, 0, text, "name of the thread"),
    Column("state", "S", 1, 6, text, "state: R runs or could, S sleeps, D waits for a device"),
    Column("force", "POLICY", 9, 3, text, "policy and priority that the kernel has now"),
    Column("cpus", "CPUS", 8, 4, text, "CPUs that it may use now"),
    Column("on", "ON", 3, 5, lambda v: str(v), "CPU that it used last"),
    Column("cpu", "CPU%", 5, 2, percent, "share of one CPU"),
    Column("jobs", "JOBS/S", 6, 7, number, "jobs a second of our executors"),
    Column("preempted", "PREEMPT", 7, 8, number, "how often a second it lost its CPU unwillingly"),
    Column("slept", "WAKE/S", 6, 10, number, "how often a second it waited for something and woke"),
)
PROCESSES = (
    _process(1),
    _program(16, 0),
    Column(
        "state",
        "STATE",
        9,
        2,
        text,
        "runs, outside (started without us), elsewhere (in a container), killed, ended",
    ),
    Column("cpu", "CPU%", 5, 3, percent, "share of one CPU, all threads"),
    Column("jobs", "JOBS/S", 6, 4, number, "jobs a second"),
    Column("executors", "EXECUTORS", 16, 6, text, "how many of which model"),
    Column("callbacks", "CALLBACKS", 9, 5, count, "how many callbacks"),
    Column("threads", "THREADS", 7, 7, count, "how many threads, also of others"),
    Column("lost", "LOST", 6, 8, count, "records overwritten before they were read", _some),
    Column("newest", "NEWEST", 8, 9, number, "age of the newest record, s"),
)
FINDINGS = (
    _process(1),
    _program(14, 3),
    Column("callback", "CALLBACK", 18, 0, text, "name of the callback", is_name=True),
    Column("finding", "FINDING", 40, 0, text, "what is wrong, and what helps"),
    Column("count", "COUNT", 6, 2, count, "how often, since counting began"),
)

CHAINS = (
    Column("name", "CHAIN", 24, 0, text, "name of the chain", is_name=True),
    Column("state", "STATE", 8, 1, text, "by on_miss of the model (docs/how-to/watch.md)"),
    Column("deadline", "DEADLINE", 8, 2, ms, "that the model asks for, ms"),
    Column("bound", "BOUND", 8, 3, ms, "that is proved, ms"),
    Column("last", "LAST", 8, 6, ms, "the newest instance, ms"),
    Column("p99", "P99", 8, 7, ms, "of the newest 10,000 instances, with 100 or more, ms"),
    Column("worst", "WORST", 8, 4, ms, "the longest instance since it began, ms"),
    Column("slack", "SLACK", 8, 5, ms, "how far that stayed below the deadline, ms"),
    Column("count", "N", 7, 9, count, "instances"),
    Column("misses", "MISSES", 6, 8, count, "instances after their deadline", _some),
)


@dataclass(frozen=True)
class Finding:
    """Something that somebody should look at; `count` is how often."""

    process: int
    program: str
    callback: str | None
    kind: str
    text: str
    count: int


def tables(snapshot: Snapshot) -> list[Table]:
    """Return all of them."""
    return [
        callbacks(snapshot),
        threads(snapshot),
        processes(snapshot),
        _findings(findings(snapshot)),
        *[chains(snapshot)] * bool(snapshot.chains),
    ]


def callbacks(snapshot: Snapshot) -> Table:
    """Return those of the executors that run, first those that need most CPU."""
    values: dict[str, list[Value]] = {column.key: [] for column in CALLBACKS}
    values |= {key: [] for key in ("executor", "jobs", "response_n", "execution_n", *FIXED)}
    for one, recent in zip(snapshot.followed, snapshot.recent, strict=True):
        entries, newest = one.activity.entries, one.activity.newest
        size = len(entries)
        blocked = np.flatnonzero(~np.isnan(recent["blocker"])).tolist()
        blockers = zip(blocked, recent["blocker"][blocked].tolist(), strict=True)
        values["process"] += [one.process.number] * size
        values["program"] += [one.process.program] * size
        values["executor"] += [one.follower.header.executor] * size
        for key, column in _fixed(one.activity).items():
            values[key] += column
        for key in recent.dtype.names or ():
            values.setdefault(key, []).extend(recent[key].tolist())
        values["blocker_name"] += _of(
            size, None, ((row, entries[int(by)].name[:LONGEST_NAME]) for row, by in blockers)
        )
        for key in one.activity.totals.dtype.names or ():
            values[key] += one.activity.totals[key].tolist()
        some = (newest["end_ns"] != 0) & (newest["policy"] != layout.POLICY_UNKNOWN)
        rows = np.flatnonzero(some).tolist()
        force = zip(newest["policy"][rows].tolist(), newest["priority"][rows].tolist(), strict=True)
        words = (_policy((layout.word(layout.POLICIES, a), b)) for a, b in force)
        values["force"] += _of(size, "-", zip(rows, words, strict=True))
        rows = np.flatnonzero(newest["cpus"]).tolist()
        masks = map(_cpus, newest["cpus"][rows].tolist())
        values["cpus"] += _of(size, "-", zip(rows, masks, strict=True))
    pairs = zip(values["folded"], values["jobs"], strict=True)
    values["folded"] = [not jobs and of_parameters for of_parameters, jobs in pairs]
    searched = ("name", "program", "process")
    return Table("callbacks", CALLBACKS, values, "name", searched, "cpu", "jobs", "folded")


FIXED = ("name", "group_name", "kind", "period_ns", "folded")
_known: WeakKeyDictionary[Activity, dict[str, list[Value]]] = WeakKeyDictionary()


def _fixed(activity: Activity) -> dict[str, list[Value]]:
    """Return the columns that never change: there may be thousands of callbacks, mostly idle."""
    columns = _known.setdefault(activity, {key: [] for key in FIXED})
    for entry in activity.entries[len(columns["name"]) :]:
        name = entry.name[:LONGEST_NAME]
        kind = layout.word(layout.KINDS, entry.kind)
        of_parameters = bool(PARAMETERS.search(name))
        row = (name, entry.group_name[:LONGEST_NAME], kind, entry.period_ns, of_parameters)
        for key, value in zip(FIXED, row, strict=True):
            columns[key].append(value)
    return columns


def _of(size: int, nothing: Value, values: Iterable[tuple[int, Value]]) -> list[Value]:
    """Return a column in which these rows have values."""
    column = [nothing] * size
    for row, value in values:
        column[row] = value
    return column


def chains(snapshot: Snapshot) -> Table:
    """Return those of the model, first those with the longest instances."""
    rows = snapshot.chains

    def of(key: str) -> list[float]:
        return [math.nan if row[key] is None else row[key] * 1e6 for row in rows]

    values: dict[str, list[Value]] = {
        "name": [row["name"][:LONGEST_NAME] for row in rows],
        "state": [shown_state(row) for row in rows],
        **{key: list(of(f"{key}_ms")) for key in ("deadline", "bound", "last", "p99", "worst")},
        "count": [row["count"] for row in rows],
        "misses": [row["misses"] for row in rows],
    }
    pairs = zip(values["deadline"], values["worst"], strict=True)
    values["slack"] = [deadline - worst for deadline, worst in pairs]
    return Table("chains", CHAINS, values, "name", ("name", "state"), "worst")


def _cpus(mask: int) -> str:
    """Return CPUs as the kernel writes them; +: there may be more."""
    text_ = ranges(cpu for cpu in range(64) if mask >> cpu & 1)
    return text_ + "+" * (mask >> 63 & 1) or "-"


def _table(
    title: str,
    columns: tuple[Column, ...],
    rows: list[dict[str, Value]],
    stretched: str,
    searched: tuple[str, ...],
    first: str,
    busy: str = "",
) -> Table:
    values = {column.key: [row.get(column.key) for row in rows] for column in columns}
    return Table(title, columns, values, stretched, searched, first, busy)


def threads(snapshot: Snapshot) -> Table:
    """Return the threads of processes that run, also those that run no jobs."""
    rows = [
        {
            "process": use.process.number,
            "program": use.process.program,
            "thread": use.thread.number,
            "name": use.thread.name,
            "state": use.thread.state,
            "force": _policy((use.thread.policy, use.thread.priority)),
            "cpus": use.thread.cpus,
            "on": use.thread.cpu,
            "cpu": use.cpu,
            "jobs": use.jobs,
            "preempted": use.preempted,
            "slept": use.slept,
        }
        for use in snapshot.threads
    ]
    searched = ("name", "program", "process", "thread")
    return _table("threads", THREADS, rows, "name", searched, "cpu", "cpu")


def processes(snapshot: Snapshot) -> Table:
    """Return all that were seen, also those that have ended."""
    groups: dict[tuple[object, str], list[Watched]] = {}
    for one in snapshot.executors:
        groups.setdefault((one.process, one.state), []).append(one)
    has = Counter(use.process for use in snapshot.threads)

    def row_of(process: Process, state: str, **more: Value) -> dict[str, Value]:
        runs = state in ("runs", "outside")
        return {
            "process": process.number,
            "program": process.program,
            "state": state,
            "cpu": snapshot.cpu.get(process) if runs else None,
            "threads": has[process] if runs else None,
            **more,
        }

    rows = []
    for group in groups.values():
        models = Counter(
            layout.word(layout.MODELS, one.follower.header.model)
            for one in group
            if one.follower.header.executor  # 0: what the probe saw outside of executors
        )
        end = max(int(one.activity.newest["end_ns"].max(initial=0)) for one in group)
        rows.append(
            row_of(
                group[0].process,
                group[0].state,
                jobs=sum(one.jobs for one in group) if group[0].followed else None,
                executors=", ".join(f"{n} {model}" for model, n in sorted(models.items())),
                callbacks=sum(len(one.activity.entries) for one in group),
                lost=sum(one.lost for one in group),
                newest=(snapshot.now_ns - end) / 1e9 if end else None,
            )
        )
    rows += [row_of(process, "outside", executors="") for process in snapshot.outside]
    return _table("processes", PROCESSES, rows, "program", ("program", "process", "state"), "cpu")


def findings(snapshot: Snapshot) -> list[Finding]:
    """Return what somebody should look at."""
    found = [
        Finding(0, "", None, "unreadable", f"{why[:LONGEST_NAME]}: its program is not shown", 1)
        for why in snapshot.unreadable.values()
    ]
    for name, words, times in snapshot.broken:
        said_of = f"{name[:LONGEST_NAME]}: {words}: not as in the model"
        found.append(Finding(0, "", name[:LONGEST_NAME], "not_as_modelled", said_of, times))
    for one in snapshot.executors:
        said: list[tuple[str | None, str, str, int]] = []
        if one.state == "killed":
            end = int(one.activity.newest["end_ns"].max(initial=0))
            when = f"; its newest job ended {_age(snapshot.now_ns - end)} ago" if end else ""
            remedy = f"its last records: {me()} trace info {one.path}"
            said.append((None, "killed", f"was killed or has crashed{when}; {remedy}", 1))
        elif one.followed:
            said += _of_executor(one, snapshot.now_ns)
        process = one.process
        found += [
            Finding(process.number, process.program, name, kind, words, number_)
            for name, kind, words, number_ in said
        ]
    return found


def _age(ns: int) -> str:
    for unit, size in (("s", 1), ("min", 60), ("h", 3600)):
        if ns < 120e9 * size:
            return f"{max(0, ns) / 1e9 / size:.0f} {unit}"
    return f"{ns / 86400e9:.0f} days"


TOTALS: dict[str, Callable[[float], str]] = {
    "late": lambda latest: f"misses deadlines; late by {ms(latest)} ms",
    "dropped": lambda _: "drops jobs: more waited than its depth allows",
    "skipped": lambda _: "skips releases: a job took longer than the period, or it was stopped",
    "exceptions": lambda _: "throws exceptions",
}


def _of_executor(one: Watched, now_ns: int) -> Iterator[tuple[str | None, str, str, int]]:
    if one.lost:
        text_ = "records were overwritten before they were read: its numbers are too low"
        yield None, "lost", text_, one.lost
    if one.activity.strange:
        yield None, "strange", "records that cannot be true: left out", one.activity.strange
    activity = one.activity
    for row in np.nonzero(np.any([activity.totals[key] > 0 for key in TOTALS], axis=0))[0].tolist():
        name = activity.entries[row].name[:LONGEST_NAME]
        for key, words in TOTALS.items():
            if activity.totals[key][row]:
                said = words(activity.latest[row])
                yield name, key, f"{name}: {said}", int(activity.totals[key][row])
    for entry, end in zip(activity.entries, activity.newest["end_ns"].tolist(), strict=True):
        silent = now_ns - end
        if (
            end
            and entry.period_ns > 0
            and silent > max(SILENT_NS, SILENT_PERIODS * entry.period_ns)
        ):
            period = f"its period is {ms(entry.period_ns)} ms; was it stopped, or does it hang?"
            name = entry.name[:LONGEST_NAME]
            yield name, "silent", f"{name}: no job for {number(silent / 1e9)} s; {period}", 1


def _findings(found: list[Finding]) -> Table:
    rows = [{**vars(one), "finding": one.text.removeprefix(f"{one.callback}: ")} for one in found]
    searched = ("finding", "callback", "program")
    return _table("findings", FINDINGS, rows, "finding", searched, "count")
