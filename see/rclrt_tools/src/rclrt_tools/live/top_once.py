# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What `./rclrt top --once` prints: tables, or JSON (README.md of this package)."""

import math
from typing import Any

from rclrt_tools.live.table import Table, Value
from rclrt_tools.live.top_tables import callbacks, findings, processes, tables, threads
from rclrt_tools.live.watch import Snapshot
from rclrt_tools.places import me
from rclrt_tools.trace import layout


def to_text(snapshot: Snapshot, width: int | None, only_findings: bool = False) -> str:
    """Return all tables that have rows, or those of the findings."""
    shown = [table for table in tables(snapshot) if len(table)]
    if only_findings:
        shown = [table for table in shown if table.title == "findings"]
        if not shown:
            return "no findings"
    parts = ["\n".join(_lines(table, width)) for table in shown]
    if snapshot.outside and not only_findings:
        text = "of the processes that are outside callbacks and messages are not known"
        parts.append(f"{text}: start them under {me()} observe")
    return "\n\n".join(parts)


def _lines(table: Table, width: int | None) -> list[str]:
    columns = table.layout(width)
    head = (c.head.ljust(w) if c.is_text else c.head.rjust(w) for c, w in columns)
    order = table.order(table.first, idle=False)
    rows = (" ".join(table.cell(row, column, w) for column, w in columns) for row in order)
    idle = [f"{len(table) - len(order)} more did nothing"] if len(order) < len(table) else []
    return [line.rstrip() for line in (f"{table.title}:", " ".join(head), *rows, *idle)]


def to_json(snapshot: Snapshot, seconds: float) -> dict[str, Any]:
    """Return the same for programs, schema 1."""
    shown, ran = processes(snapshot), callbacks(snapshot)
    return {
        "schema": 1,
        "seconds": seconds,
        "processes": [
            {
                **_take(shown, row, "process", "program", "state"),
                "cpu_percent": _number(shown.values["cpu"][row], 100),
                "jobs_per_s": _number(shown.values["jobs"][row]),
                "newest_s": _number(shown.values["newest"][row]),
                **_take(shown, row, "callbacks", "lost", "threads"),
            }
            for row in range(len(shown))
        ],
        "executors": [
            {
                "process": one.process.number,
                "executor": one.follower.header.executor,
                "state": one.state,
                "model": layout.word(layout.MODELS, one.follower.header.model),
                "ordering": layout.word(layout.ORDERINGS, one.follower.header.ordering),
                "trace": str(one.path),
            }
            for one in snapshot.executors
        ],
        "chains": snapshot.chains,
        "callbacks": [_callback(ran, row) for row in range(len(ran))],
        "threads": _threads(snapshot),
        "findings": [
            {key: value for key, value in vars(one).items() if key != "program"}
            for one in findings(snapshot)
        ],
    }


def _callback(table: Table, row: int) -> dict[str, Any]:
    value = {key: values[row] for key, values in table.values.items()}
    policy, _, priority = value["force"].partition(" ")
    return {
        **_take(table, row, "process", "program", "executor", "name", "kind"),
        "group": value["group_name"],
        "period_ms": value["period_ns"] / 1e6 if value["period_ns"] > 0 else None,
        "policy": None if policy == "-" else policy,
        "priority": int(priority) if priority else None,
        "cpus": None if value["cpus"] == "-" else value["cpus"],
        "jobs": int(value["jobs"]),
        "rate_hz": _number(value["rate"]),
        "cpu_percent": _number(value["cpu"], 100),
        **{
            f"{time}_ms": {
                "n": int(value[f"{time}_n"]),
                "p50": _ms(value[f"{time}_p50"]),
                "max": _ms(value[f"{time}_max"]),
            }
            for time in ("response", "execution", "waiting")
        },
        "longest_wait": None
        if math.isnan(value["blocked_for"])
        else {
            "for": layout.word(layout.WAITS, int(value["blocked_for"])),
            "by": value["blocker_name"],
        },
        "latest_ms": _ms(value["latest"]),
        "backlog": None if math.isnan(value["backlog"]) else int(value["backlog"]),
        "waited_for_percent": {
            "group": _number(value["group"], 100),
            "thread": _number(value["thread"], 100),
        },
        **_take(table, row, "late", "dropped", "skipped", "exceptions"),
    }


def _threads(snapshot: Snapshot) -> list[dict[str, Any]]:
    table = threads(snapshot)
    return [
        {
            **_take(table, row, "process", "thread", "name", "state"),
            "policy": use.thread.policy,
            "priority": use.thread.priority,
            "cpus": use.thread.cpus,
            "cpu": use.thread.cpu,
            "cpu_percent": _number(use.cpu, 100),
            "jobs_per_s": _number(use.jobs),
            "preempted_per_s": _number(use.preempted),
            "wakeups_per_s": _number(use.slept),
        }
        for row, use in enumerate(snapshot.threads)
    ]


def _take(table: Table, row: int, *keys: str) -> dict[str, Value]:
    return {key: table.values[key][row] for key in keys}


def _number(value: float | None, factor: float = 1) -> float | None:
    return None if value is None or math.isnan(value) else value * factor


def _ms(ns: float) -> float | None:
    return None if math.isnan(ns) else ns / 1e6
