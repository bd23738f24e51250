# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a watch has seen, for people: a table of chains, what is wrong, and a verdict."""

from collections.abc import Mapping
from typing import Any

from rclrt_analysis.plan.placement import NAME as TIMER_THREAD
from rclrt_tools.live.files import printable
from rclrt_tools.places import me
from rclrt_tools.watch.watch import Watch


def shown_state(row: Mapping[str, Any]) -> str:
    """Return the state of a chain for people: OK is said alone only if nothing was ever missed."""
    state = str(row["state"])
    if state == "OK" and row["misses"]:
        state = "tolerated" if row["in_a_row"] else "OK again"
    return state + " silent" * bool(row["silent"])


TIGHT = 0.2
"""Less slack than this share of the deadline is tight."""

RED, YELLOW, GREEN, PLAIN = "\033[31m", "\033[33m", "\033[32m", "\033[0m"


def _tone(chain: Mapping[str, Any]) -> str:
    """Return the colour of what is left to the deadline of a chain; none without one."""
    deadline, worst = chain["deadline_ms"], chain["worst_ms"]
    if chain["misses"] or chain["silent"]:
        return RED
    if deadline is None or worst is None:
        return ""
    return GREEN if deadline - worst >= TIGHT * deadline else YELLOW


def to_text(watch: Watch, colored: bool = False) -> str:
    """Return what people want to know: chains first, then what is wrong."""
    rows: list[tuple[str, ...]] = [
        ("chain", "state", "deadline", "bound", "last", "p99", "worst", "slack", "n", "misses")
    ]
    content = watch.to_json()
    for chain in content["chains"]:
        deadline, worst = chain["deadline_ms"], chain["worst_ms"]
        slack = None if deadline is None or worst is None else deadline - worst
        ms = (deadline, chain["bound_ms"], chain["last_ms"], chain["p99_ms"], worst, slack)
        rows.append(
            (
                chain["name"],
                shown_state(chain),
                *map(_text, ms),
                str(chain["count"]),
                str(chain["misses"]),
            )
        )
    lines = _table(rows) if len(rows) > 1 else ["the model has no chains"]
    tones = ["", *map(_tone, content["chains"])] if colored else []
    for chain in content["chains"]:
        if chain["state"] == "NOT LAST":
            text = (
                f"{chain['left_out']} outputs used its data, and each time another input came last"
            )
            lines.append(f"'{chain['name']}': {text}: join: last counts none of them")
    late = [c for c in content["callbacks"] if c["misses"]]
    for one in sorted(late, key=lambda c: -c["misses"]):
        lines.append(f"late: '{one['name']}' {one['misses']} of {one['jobs']} jobs")
    for broken in content["broken_assumptions"]:
        times = f" ({broken['times']} times)" if broken["times"] > 1 else ""
        lines.append(f"not as in the model: '{broken['callback']}' {broken['text']}{times}")
        if broken["chains"]:
            lines.append(f"    chains: {', '.join(broken['chains'])}")
    # What a plan counts for the thread of timers has no jobs.
    real = {c.name for c in watch.system.callbacks if c.executor != TIMER_THREAD}
    seen = content["callbacks"]
    unseen = [one["name"] for one in seen if one["name"] in real and not one["jobs"]]
    if unseen:
        lines.append(f"nothing seen yet of {_some(unseen)}")
    if content["not_in_the_model"]:
        lines.append(f"not in the model: {_some(content['not_in_the_model'])}")
    lines = [printable(line) for line in (*lines, verdict(watch, content))]
    for i, tone in enumerate(tones):
        lines[i] = f"{tone}{lines[i]}{PLAIN}" if tone else lines[i]
    return "\n".join(lines)


def verdict(watch: Watch, content: Mapping[str, Any] | None = None) -> str:
    """Return the last line.

    content: What the watch says, if that was asked already.
    """
    content = watch.to_json() if content is None else content
    met = "deadlines missed" if content["missed"] else "deadlines met so far"
    unseen = _unseen(content)
    if unseen:
        met = f"deadlines missed; {unseen}" if content["missed"] else unseen
    if watch.result.no_verdict:
        return f"{met}; the model proves nothing: {watch.result.no_verdict[0]}"
    if not watch.result.met:
        return f"{met}, not proved: see {me()} analyze"
    if content["broken_assumptions"]:
        return f"{met}, no longer proved"
    return met if unseen else f"{met}, proved"


def _unseen(content: Mapping[str, Any]) -> str:
    """Return what was not seen, so that nothing can be said of it; empty: all was."""
    if not any(one["jobs"] for one in content["callbacks"]):
        return "no callback of the model was seen"
    silent = [one["name"] for one in content["chains"] if not one["count"] + one["left_out"]]
    if silent:
        return f"nothing came out of {_some(silent)}"
    lost = content["lost_records"]
    return f"{lost} records are missing" if lost else ""


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            text.ljust(width) if i < 2 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _text(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:.3f}"


def _some(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
