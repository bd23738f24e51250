# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds under EDF where deadlines count from stamps hold whatever the clocks say."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from models import SCHEMA
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import ModelError, System, read_model

MS = 1_000_000

Read = Callable[[str], System]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Provide a function that reads a model from text."""

    def from_text(callbacks: str) -> System:
        path = tmp_path / "model.yaml"
        path.write_text(
            "schema: 1\nname: far\nexecutors:\n"
            "  - {name: host, kind: priority_events, policy: edf, cores: [0]}\n"
            f"callbacks:\n{callbacks}",
            encoding="utf-8",
        )
        return read_model(path, SCHEMA)

    return from_text


def line(name: str, kind: str, wcet: float, period: float, deadline: float, more: str = "") -> str:
    return (
        f"  - {{name: {name}, kind: {kind}, executor: host, wcet_ms: {wcet}, period_ms: {period}, "
        f"deadline_ms: {deadline}{more}}}\n"
    )


STAMPED = ", deadline_from: header_stamp, clock_error_ms: 2"


def bounds(system: System) -> dict[str, int | None]:
    return {one.name: one.bound for one in analyse(system).callbacks}


def test_a_stamped_job_may_come_before_one_that_is_due_earlier(read: Read) -> None:
    """By stamps the message may be due when it comes: it goes before the timer's job."""
    timer = line("timer", "timer", 2, 20, 5)
    plain = bounds(read(timer + line("far", "subscription", 3, 20, 15)))
    stamped = bounds(read(timer + line("far", "subscription", 3, 20, 15, STAMPED)))
    assert plain["timer"] == 5 * MS  # one job that is due later is not interrupted
    assert stamped["timer"] is not None and stamped["timer"] >= 5 * MS
    two = line("a", "subscription", 3, 20, 15, "{}") + line("b", "subscription", 3, 20, 15, "{}")
    plain = bounds(read(timer + two.replace("{}", "")))
    stamped = bounds(read(timer + two.replace("{}", STAMPED)))
    assert plain["timer"] == 5 * MS
    assert stamped["timer"] is not None and stamped["timer"] >= 8 * MS, "both may go first"


def run(jobs: list[tuple[str, int, int, int]]) -> dict[str, int]:
    """Return the longest response of each: (name, release, work, due), one thread, the due first.

    Written for this test alone.
    """
    left = sorted(jobs, key=lambda job: job[1])
    longest: dict[str, int] = {}
    now = 0
    while left:
        ready = [job for job in left if job[1] <= now]
        if not ready:
            now = left[0][1]
            continue
        first = min(ready, key=lambda job: (job[3], job[1]))
        left.remove(first)
        now += first[2]
        longest[first[0]] = max(longest.get(first[0], 0), now - first[1])
    return longest


def test_no_clock_makes_a_response_longer_than_its_bound(read: Read) -> None:
    rng = random.Random(4)
    tight = checked = 0
    for _ in range(40):
        tasks = []
        for i in range(rng.randint(2, 4)):
            period = rng.choice((10, 20, 40))
            wcet = rng.randint(1, max(1, period // 5))
            tasks.append((f"c{i}", wcet, period, rng.randint(5, 2 * period), rng.random() < 0.6))
        text = "".join(
            line(name, "subscription", wcet, period, due, STAMPED if stamped else "")
            for name, wcet, period, due, stamped in tasks
        )
        found = bounds(read(text))
        for _ in range(40):
            jobs = []
            for name, wcet, period, due, stamped in tasks:
                release = rng.randint(0, period) * MS
                for _ in range(12):
                    # Anywhere between what the clock error allows and what is due without stamps.
                    by = release + due * MS
                    if stamped:
                        by = rng.choice((release - 2 * MS, by, rng.randint(release - 2 * MS, by)))
                    jobs.append((name, release, wcet * MS, by))
                    release += rng.choice((period, period, period + rng.randint(0, period))) * MS
            for name, longest in run(jobs).items():
                bound = found[name]
                if bound is not None:
                    checked += 1
                    assert longest <= bound, (name, tasks)
                    tight += longest == bound
    assert checked > 1000
    assert tight > 0


def test_the_deadline_of_a_publisher_in_the_model_may_count_instead(read: Read) -> None:
    """It is known on the same machine, and later than that of the stamp."""
    near = (
        "  - {name: t, kind: timer, executor: host, wcet_ms: 1, period_ms: 40, deadline_ms: 39, "
        "publishes: [x]}\n"
        "  - {name: s, kind: subscription, executor: host, wcet_ms: 1, deadline_ms: 5, "
        "triggers: [x]STAMPED}\n"
    )
    other = line("o", "timer", 4, 40, 20)
    own = bounds(read(near.replace("STAMPED", "") + other))
    known = bounds(read(near.replace("STAMPED", STAMPED) + other))
    assert own["s"] is not None and known["s"] is not None
    assert known["s"] > own["s"], "what is due in between may go first"


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (line("a", "timer", 1, 20, 10, STAMPED), "only messages of subscriptions have stamps"),
        (line("a", "subscription", 1, 20, 2, STAMPED), "stamps order nothing"),
        (line("a", "subscription", 1, 20, 9, ", deadline_from: source_stamp"), "clock_error_ms"),
        (line("a", "subscription", 1, 20, 9, ", clock_error_ms: 1"), "needs no other clock"),
        (line("a", "subscription", 1, 20, 9, ", deadline_from: header"), "header"),
    ],
)
def test_what_a_stamp_needs_is_asked_for(read: Read, entry: str, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        read(entry)
