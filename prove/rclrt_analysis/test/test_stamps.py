# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Joins by stamps, as message_filters does; deadlines that count from stamps."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from models import SCHEMA, model
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.result import Assumption, ChainBound
from rclrt_analysis.explanation import hop_parts
from rclrt_analysis.model import ModelError, System, read_model
from rclrt_analysis.simulation import chain_times, simulate
from rclrt_analysis.simulation.jobs import Job
from rclrt_analysis.simulation.stamps import Approximate, Exact

MS = 1_000_000
JOIN = """
executors: [{name: e, kind: isolated}, {name: f, kind: isolated, cores: [1]}]
callbacks:
  - {name: cam, kind: timer, executor: e, period_ms: 30, wcet_ms: 1, priority: 9, publishes: [x]}
  - {name: lidar, kind: timer, executor: f, period_ms: 110, wcet_ms: 1, priority: 8, publishes: [y]}
  - {name: fuse, kind: subscription, executor: e, wcet_ms: 2, priority: 7, triggers: [x, y],
     activation: all, PAIRS}
chains: [{name: c, callbacks: [WAY, fuse], semantics: latency, join: LAST}]
"""


def text(pairs: str, way: str = "lidar", last: str = "wait") -> str:
    return JOIN.replace("PAIRS", pairs).replace("WAY", way).replace("LAST", last)


def bound(pairs: str, way: str = "lidar", last: str = "wait") -> ChainBound:
    return analyse(model(text(pairs, way, last))).chains[0]


def message(stamp: int) -> Job:
    return Job(0, 0, stamp, stamp, 1, 0, 0, start=stamp)


def sets(policy: Exact | Approximate, messages: list[tuple[str, int]]) -> list[tuple[int, ...]]:
    """Return (when, stamp, stamp...) of each set: the number of the message that brought it."""
    found = []
    for i, (topic, stamp) in enumerate(messages):
        for one in policy.add(topic, message(stamp)):
            found.append((i, *sorted(job.release for job in one)))
    return found


def test_one_stamp_goes_with_the_same_one_and_forgets_those_before() -> None:
    come = [("x", 1), ("x", 2), ("y", 2), ("y", 1), ("x", 3), ("y", 3)]
    assert sets(Exact(("x", "y"), 9), come) == [(2, 2, 2), (5, 3, 3)]
    assert sets(Exact(("x", "y"), 1), come[:3]) == [(2, 2, 2)]


def test_about_the_same_stamp_may_need_later_messages() -> None:
    # x of 60 is nearer to y of 61 than that of 30. Only x of 90 shows that none is nearer still.
    come = [("x", 30), ("x", 60), ("y", 61), ("x", 90), ("x", 120), ("y", 161), ("x", 150)]
    assert sets(Approximate(("x", "y"), 9), come)[0] == (3, 60, 61)
    # A queue that is too short loses what it would have gone with.
    few = [("x", 30), ("x", 60), ("x", 90), ("y", 61), ("x", 120)]
    assert sets(Approximate(("x", "y"), 9), few) == [(3, 60, 61)]
    assert sets(Approximate(("x", "y"), 1), few) == []


def test_of_equal_stamps_the_last_topic_is_the_pivot() -> None:
    # As in message_filters: else a queue of one would lose the set.
    come = [("x", 1), ("x", 3), ("y", 3), ("x", 7)]
    assert sets(Approximate(("x", "y"), 1), come) == [(2, 3, 3)]


def test_a_message_may_be_passed_over_and_waits_for_the_second_pivot_then() -> None:
    # x of 14 is as old as y of 14, so that of 15 is no better with z of 18.
    stamps = {"x": range(1, 40), "y": (3, 12, 13, 14, 23, 32), "z": range(6, 40, 6)}
    come = sorted((stamp, topic) for topic, mine in stamps.items() for stamp in mine)
    policy = Approximate(("x", "y", "z"), 99)
    when = [
        stamp
        for stamp, topic in come
        for made in policy.add(topic, message(stamp))
        if made[0].release >= 15
    ]
    y, z = 9, 6
    assert 15 + y + z < when[0] == 32 <= 15 + max(2 * y + z, 2 * z + y)


def test_sets_by_stamps_are_in_order_and_use_no_message_twice() -> None:
    rng = random.Random(7)
    for _ in range(200):
        topics = ("x", "y", "z")[: rng.choice([2, 3])]
        come = []
        for topic in topics:
            stamp = arrival = 0
            for _ in range(60):
                stamp += rng.randint(1, 20)
                arrival = max(arrival, stamp + rng.randint(0, 15))
                come.append((arrival, topic, stamp))
        policy = Approximate(topics, rng.choice([3, 100]))
        newest = dict.fromkeys(topics, -1)
        number = 0
        for topic, stamp in ((t, s) for _, t, s in sorted(come)):
            for one in policy.add(topic, message(stamp)):
                number += 1
                for name, job in zip(topics, one, strict=True):
                    assert job.release > newest[name]
                    newest[name] = job.release
        assert number > 10


def test_about_the_same_stamp_waits_for_three_gaps() -> None:
    newest = bound("pairs: newest", "cam")
    approximate = bound("pairs: approximate, queue: 20", "cam")
    assert newest.bound is not None and approximate.bound is not None
    # For the LiDAR's second one, and then for the camera's first one after that.
    assert newest.hops[1].waiting == 111 * MS
    assert approximate.hops[1].waiting == (2 * 111 + 30) * MS
    system = model(text("pairs: approximate, queue: 20", "cam"))
    parts = hop_parts(system, system.chains[0], analyse(system), approximate)
    assert "and later ones that show which is the nearest" in list(parts)[1].waits_for
    seen = 0
    for seed in range(40):
        is_odd = seed % 2 == 1
        run = simulate(system, 3_000 * MS, seed, is_odd, queue_all=is_odd)
        seen = max([seen, *chain_times(run, system.chains[0], run.running)])
    assert newest.bound < seen <= approximate.bound


SHOW = """  - {name: show, kind: subscription, executor: WHERE, wcet_ms: 1, priority: 4,
     triggers: [z], reads: [x]}
chains:"""
PAIRED = JOIN.replace("PAIRS}", "PAIRS, publishes: [z]}").replace("chains:", SHOW)


@pytest.mark.parametrize("where", ["e", "f"])
def test_what_waits_for_pairs_is_released_no_less_often_than_they_come(where: str) -> None:
    chain = "[{name: c, callbacks: [cam, show], semantics: latency}]"
    lines = PAIRED.split("chains:")[0].replace("WHERE", where) + f"chains: {chain}\n"
    system = model(lines.replace("PAIRS", "pairs: approximate, queue: 13"))
    bound = analyse(system).chains[0].bound
    assert bound is not None
    seen = 0
    for seed in range(20):
        is_odd = seed % 2 == 1
        run = simulate(system, 3_000 * MS, seed, is_odd, queue_all=is_odd)
        seen = max([seen, *chain_times(run, system.chains[0], run.running)])
    assert bound / 5 < seen <= bound
    # If the queue may be too short, data go, and nobody knows how often.
    system = model(lines.replace("PAIRS", "pairs: approximate, queue: 2"))
    assert "nothing says how rarely 'show' is released" in analyse(system).chains[0].reason


@pytest.mark.parametrize(
    ("where", "callbacks", "semantics"),
    [("e", "fuse", "age"), ("f", "fuse", "age"), ("e", "cam, show", "latency")],
)
def test_nobody_knows_how_rarely_stamps_agree_that_come_from_two_sources(
    where: str, callbacks: str, semantics: str
) -> None:
    """Neither where a chain begins with what they release, nor where one samples it."""
    chain = f"[{{name: c, callbacks: [{callbacks}], semantics: {semantics}}}]"
    lines = PAIRED.split("chains:")[0].replace("WHERE", where) + f"chains: {chain}\n"
    found = analyse(model(lines.replace("PAIRS", "pairs: exact, queue: 20"))).chains[0]
    assert found.bound is None
    assert "begin at cam, lidar" in found.reason or "how rarely 'show'" in found.reason
    # Stamps of one source do agree, if none is lost before.
    one = lines.replace(
        "kind: timer, executor: f, period_ms: 110", "kind: subscription, executor: f, triggers: [x]"
    )
    assert analyse(model(one.replace("PAIRS", "pairs: exact, queue: 20"))).chains[0].bound
    lost = analyse(model(one.replace("PAIRS", "pairs: exact, queue: 1"))).chains[0]
    assert lost.bound is None


def test_what_was_paired_is_not_paired_again() -> None:
    again = PAIRED.replace("WHERE", "e").replace(
        "triggers: [z], reads: [x]}", "triggers: [z, y], activation: all, PAIRS}"
    )
    lines = again.replace("WAY, fuse", "lidar, show").replace("LAST", "wait")
    found = analyse(model(lines.replace("PAIRS", "pairs: approximate, queue: 99"))).chains[0]
    assert "come from what was paired by about the same stamps" in found.reason


def test_joins_by_stamps_without_a_bound_say_why() -> None:
    found = bound("pairs: exact, queue: 20")
    assert "begin at cam, lidar: their stamps need not ever agree" in found.reason
    found = bound("pairs: approximate, queue: 1")
    assert "its queue holds 1: data may be dropped. Give it queue:" in found.reason
    found = bound("pairs: approximate, queue: 20", last="last")
    assert "Use join: wait" in found.reason


def test_a_result_says_how_joins_pair_their_inputs() -> None:
    assert Assumption.NEWEST in analyse(model(text("pairs: newest"))).assumptions
    found = analyse(model(text("pairs: approximate, queue: 20"))).assumptions
    assert Assumption.STAMPS in found and Assumption.NEWEST not in found


def test_messages_that_had_to_wait_may_go_on_all_at_once() -> None:
    lines = """
executors: [{name: e, kind: isolated}, {name: f, kind: isolated, cores: [1]}]
callbacks:
  - {name: t, kind: timer, executor: e, period_ms: 10, wcet_ms: 1, priority: 9, publishes: [x]}
  - {name: fuse, kind: subscription, executor: e, wcet_ms: 2, priority: 8, triggers: [x, y],
     activation: all, pairs: exact, queue: 9}
  - {name: low, kind: timer, executor: e, period_ms: 100, wcet_ms: 5, priority: 1}
  - {name: hog, kind: timer, executor: f, period_ms: 100, wcet_ms: 35, priority: 9}
  - {name: late, kind: subscription, executor: f, wcet_ms: 1, priority: 5, triggers: [x],
     publishes: [y]}
"""
    system = model(lines)
    (low,) = (one.bound for one in analyse(system).callbacks if one.name == "low")
    offsets = {"t": 0, "hog": 0, "low": 37 * MS}
    seen = simulate(system, 900 * MS, offsets=offsets).worst()["low"][1]
    assert seen > 10 * MS, "as if one message had waited"
    assert low is not None and low >= seen


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("pairs: exact", "Add activation: all"),
        ("queue: 3", "Add pairs: exact or approximate"),
        ("pairs: nearest", "pairs"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(more: str, expected: str) -> None:
    changed = text(more)
    if "exact" in more:
        changed = changed.replace("activation: all,", "")
    with pytest.raises(ModelError, match=expected):
        model(changed)


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
