# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The rules of chains and names that executors keep as well: chain_cases.txt, name_cases.txt."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from rclrt_analysis.model import Callback, Chain, Executor, ExecutorKind, Kind, System
from rclrt_tools.statistics import percentile
from rclrt_tools.watch.assumptions import pattern_of
from rclrt_tools.watch.chains import ChainWatch
from rclrt_tools.watch.feed import Job, JobKey, Publication

MS = 1_000_000
ROS = Path(__file__).parents[3] / "ros"
PATH = ROS / "rclrt_front_end/test/chain_cases.txt"
CASES: dict[str, list[list[str]]] = {}
for line in PATH.read_text(encoding="utf-8").splitlines():
    said = line.partition("#")[0]
    if said.startswith("case "):
        name, _, chain = said[5:].partition(":")
        statements = CASES.setdefault(name.strip(), [chain.split()])
    elif said.strip():
        statements += [one.split() for one in said.split(",")]


def chain_watch(words: list[str]) -> ChainWatch:
    numbers = {key: int(value) for key, value in pairwise(words)
               if value.isdigit()}  # fmt: skip
    kind = Kind.TIMER if "timer" in words else Kind.SUBSCRIPTION
    joins = "inputs" in words
    reads = ("a",) if {"timer", "reads"} & set(words) else ()
    triggers = () if "timer" in words else ("b",) if reads else ("a", "b") if joins else ("a",)
    callbacks = (
        Callback("look", Kind.TIMER, "e", 2 * MS, period=10 * MS, publishes=("a",)),
        Callback("other", Kind.TIMER, "e", 1, period=10 * MS, publishes=("b",)),
        Callback("act", kind, "e", MS, period=20 * MS if kind is Kind.TIMER else None,
                 triggers=triggers, reads=reads, wants_all=joins),
    )  # fmt: skip
    chain = Chain(
        name="grab", callbacks=("look", "act"),
        semantics=next((w for w in words if w in ("age", "reaction")), "latency"),
        deadline=None if "no_deadline" in words else 6 * MS, silent_after=25 * MS,
        join="last" if "last" in words else "wait",
        warn_after=numbers.get("warn_after"), error_after=numbers.get("error_after"),
    )  # fmt: skip
    system = System("s", (Executor("e", ExecutorKind.ISOLATED),), callbacks, (chain,))
    return ChainWatch(system, chain)


def key(sequence: str | int, process: int = 1) -> JobKey:
    return (b"", process, 1, int(sequence))


def job(callback: str, of: JobKey, begin: int, end: int, words: list[str]) -> Job:
    by, before, message = None, "", None
    if "by" in words:
        by, before = key(words[words.index("by") + 1]), "look"
    elif "other" in words:
        by, before = key(1000 + of[3]), "other"
    elif "took" in words:
        at = words.index("took")
        of, message = key(of[3], 2), (int(words[at + 1]), int(words[at + 2]))
    name = f"/act/subscription/{words[words.index('input') + 1]}" if "input" in words else ""
    return Job(callback, of, begin, begin, end, 0, by, before, message, 0, 0, 0, 0, True, 1, name)


def look(watch: ChainWatch, number: str | int, at: int) -> None:
    watch.add([job("look", key(number), at * MS, (at + 2) * MS, [])], [])


def act(watch: ChainWatch, number: str | int, at: int, *words: str) -> None:
    watch.add([job("act", key(number), (at - 1) * MS, at * MS, list(words))], [])


def seen(watch: ChainWatch) -> dict[str, Callable[[], object]]:
    of = watch.seen

    def ms(value: int | None) -> float | str:
        return "-" if value is None else value / MS

    state = "SILENT" if watch.is_silent else watch.state.replace(" ", "_")
    p99 = percentile(sorted(of.values), 0.99)
    return {
        "state": lambda: state, "peak": of.take_peak, "instances": lambda: of.count,
        "last": lambda: ms(of.last), "worst": lambda: ms(of.worst), "p99": lambda: ms(p99),
        "misses": lambda: of.misses, "row": lambda: of.in_a_row, "most": lambda: of.most_in_a_row,
        "silences": lambda: of.silences, "left_out": lambda: of.left_out,
    }  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_watch_keeps_the_rules_of_executors(case: str) -> None:
    words, *lines = CASES[case]
    watch = chain_watch(words)
    for verb, *words in lines:
        if verb == "look":
            look(watch, words[0], int(words[1]))
        elif verb == "act":
            act(watch, words[0], int(words[1]), *words[2:])
        elif verb == "sent":
            message = (int(words[0]), int(words[1]))
            watch.add([], [Publication(message, key(words[2]), int(words[3]) * MS)])
        elif verb == "instance":
            first, _, last = words[0].partition("..")
            for number in range(int(first), int(last or first) + 1):
                look(watch, 2 * number, 10 * number)
                act(watch, 2 * number + 1, 10 * number + int(words[1]), "by", str(2 * number))
        elif verb == "settle":
            watch.settle(int(words[0]) * MS)
        else:
            wanted = dict(zip(words[::2], words[1::2], strict=True))
            wanted.pop("overtaken", None)  # Executors alone count it.
            told = {name: seen(watch)[name]() for name in wanted}
            number = {k: float(v) if v.isdigit() else v for k, v in wanted.items()}
            assert (verb, told) == ("expect", number)


def test_names_match_patterns_as_in_parameters_files() -> None:
    for line in (ROS / "rclrt_config/test/name_cases.txt").read_text("utf-8").splitlines():
        pattern, _, names = line.partition(":")
        for name in names.split() if line.startswith("/") else ():
            assert bool(pattern_of(pattern).fullmatch(name[1:])) == (name[0] == "+"), line + name
