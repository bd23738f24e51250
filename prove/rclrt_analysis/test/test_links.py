# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Serial links: the figures of [PoDS], and its chains as models, simulated and bounded."""

import pytest
from models import FOLDER, SCHEMA, model
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import ModelError, System
from rclrt_analysis.model.document import parse_document
from rclrt_analysis.model.links import message
from rclrt_analysis.model.read import build_system
from rclrt_analysis.model.system import Link
from rclrt_analysis.simulation import chain_latencies, simulate

MS = 1_000_000
LINK = Link(115_200, 850_000)


def pods(kind: str, **changes: str) -> System:
    """Return the shipped model with other words in it."""
    text = (FOLDER / f"pods_{kind}.yaml").read_text(encoding="utf-8")
    for before, after in changes.values() if changes else ():
        assert before in text
        text = text.replace(before, after)
    return build_system(parse_document(text, "pods.yaml"), SCHEMA)


def top_latency(system: System) -> int:
    """Return the longest latency of the first chain when all timers expire together."""
    return max(chain_latencies(simulate(system, 2_000 * MS), system.chains[0]))


@pytest.mark.parametrize(
    ("kind", "lost", "paper_ms"),
    [
        ("tide", False, 41.07),
        ("tide", True, 48.97),
        ("micro_ros", False, 85.03),
        ("micro_ros", True, 115.09),
    ],
)
def test_the_simulated_chains_take_what_table_1_says(
    kind: str, lost: bool, paper_ms: float
) -> None:
    more = {"lost": ("reliable: true", "reliable: true, lost: 1")} if lost else {}
    system = pods(kind, **more)
    assert top_latency(system) / MS == pytest.approx(paper_ms, rel=0.01)


@pytest.mark.parametrize(
    ("kind", "wcet_ms", "size", "paper_ms"),
    [
        (kind, wcet_ms, size, paper_ms)
        for wcet_ms, size, tide, micro_ros in (
            (5, 100, 24.2, 52), (5, 200, 32.9, 78), (5, 300, 41.6, 104), (5, 500, 59.0, 156),
            (10, 100, 41, 72), (20, 100, 61, 112), (30, 100, 91, 152), (50, 100, 151, 232),
        )
        for kind, paper_ms in (("tide", tide), ("micro_ros", micro_ros))
    ],
)  # fmt: skip
def test_the_simulated_chains_take_what_figures_11_and_12_say(
    kind: str, wcet_ms: int, size: int, paper_ms: float
) -> None:
    changes = {
        "size": ("bytes: 100", f"bytes: {size}"),
        "wcet": ("wcet_ms: 10.267", f"wcet_ms: {wcet_ms}.267"),
        "best_effort": (", reliable: true", ""),
    }
    assert top_latency(pods(kind, **changes)) / MS == pytest.approx(paper_ms, abs=0.6)


@pytest.mark.parametrize("kind", ["tide", "micro_ros"])
@pytest.mark.parametrize("lost", [0, 1])
def test_no_phase_makes_a_chain_take_longer_than_its_bound(kind: str, lost: int) -> None:
    more = {"lost": ("reliable: true", f"reliable: true, lost: {lost}")} if lost else {}
    system = pods(kind, **more, phases=("offset_ms: 0, ", ""))
    result = analyse(system)
    assert all(chain.bound is not None for chain in result.chains)
    for seed in range(40):
        run = simulate(system, 2_000 * MS, seed)
        for chain, bound in zip(system.chains, result.chains, strict=True):
            assert max(chain_latencies(run, chain)) <= (bound.bound or 0)


def test_the_top_chain_is_bounded_lower_with_priorities_than_without() -> None:
    tide, plain = (analyse(pods(kind)).chains[0].bound for kind in ("tide", "micro_ros"))
    assert tide is not None
    assert plain is not None
    # CPU: a lower timer, all others once; link: a message, its acknowledgement and its own message.
    assert tide == 92_444_732
    assert plain > 3 * tide


def test_a_message_becomes_a_callback_of_its_own_on_the_way_up_and_down() -> None:
    system = pods("tide")
    names = ("timer_1", "timer_1 up", "timer_1 agent", "answer_1", "reply_1 down", "end_1")
    assert system.chains[0].callbacks == names
    up = system.callback_of["timer_1 up"]
    assert (up.bcet, up.wcet) == (message(LINK, 0), message(LINK, 100))
    assert up.priority == 5, "as urgent as what publishes"
    assert system.executor_of["mcu"].link is None


def test_a_message_that_comes_late_may_be_followed_by_one_that_does_not() -> None:
    link = "link: {baud: 115200, turnaround_ms: 0.85, reliable: true, lost: 1}"
    system = model(
        f"executors: [{{name: mcu, kind: tide, {link}}}, {{name: h, kind: isolated, cores: [1]}}]\n"
        "callbacks:\n"
        "  - {name: t, kind: timer, executor: mcu, period_ms: 50, wcet_ms: 0, priority: 1,"
        " publishes: [x], bytes: 100}\n"
        "  - {name: h1, kind: subscription, executor: h, wcet_ms: 20, priority: 9, triggers: [x]}\n"
        "  - {name: h2, kind: timer, executor: h, wcet_ms: 20, priority: 1, period_ms: 1000}\n"
    )
    bounds = {b.name: (b.bound or 0) / MS for b in analyse(system).callbacks}
    # One try is lost, and the next message comes 50 less 14.7 later: "h1" runs twice.
    assert bounds["h2"] == 60
    assert bounds["h1"] == 20


def test_whether_a_try_is_lost_is_drawn_for_each_message() -> None:
    system = pods("tide", lost=("reliable: true", "reliable: true, lost: 2"))
    run = simulate(system, 20_000 * MS, 1, random_work=True)
    again, third = run.of("timer_1 up again"), run.of("timer_1 up again, 3")
    lost = [(first.work > 0, second.work > 0) for first, second in zip(again, third, strict=True)]
    assert set(lost) == {(False, False), (True, False), (True, True)}
    assert all(job.work for job in simulate(system, 20_000 * MS, 1).of("timer_1 up again, 3"))


def test_an_acknowledgement_and_a_message_down_wait_for_each_other() -> None:
    tide = pods("tide").callback_of
    assert tide["timer_1 acknowledged"].waits == message(LINK, 10)
    assert tide["reply_1 down"].waits == 1_736_112
    best_effort = pods("tide", best_effort=(", reliable: true", "")).callback_of
    assert best_effort["reply_1 down"].waits == 0
    result = analyse(pods("tide")).callbacks
    alone = next(b for b in result if b.name == "reply_1 down").local.own
    assert alone == message(LINK, 10) + 1_736_112


def test_micro_ros_may_ask_once_for_each_try() -> None:
    callback = pods("micro_ros", lost=("reliable: true", "reliable: true, lost: 1"))
    timer = callback.callback_of["timer_1"]
    # The experiment of [PoDS] has one handshake; the bound has two, each behind a message down.
    assert timer.waits == 2 * 1_736_112 + 850_000 + 2 * message(LINK, 10)
    own = next(b for b in analyse(callback).callbacks if b.name == "timer_1").local.own
    assert own == timer.wcet + timer.waits


def test_micro_ros_sends_while_it_waits() -> None:
    callback = pods("micro_ros").callback_of["timer_1"]
    reliable = 2 * 1_736_112 + 850_000  # A HEARTBEAT up, the agent, an ACKNACK down.
    assert callback.wcet == 10_267_000 + message(LINK, 100) + reliable


def test_a_round_of_micro_ros_has_every_timer_and_one_message() -> None:
    def entry(name: str, kind: str, wcet: int, period: int) -> str:
        text = f"name: {name}, kind: {kind}, executor: mcu, wcet_ms: {wcet}, period_ms: {period}"
        return f"  - {{{text}}}\n"

    entries = entry("s", "subscription", 5, 200) + entry("a", "timer", 3, 100)
    entries += entry("b", "timer", 4, 100)
    link = "link: {baud: 115200}"
    text = f"executors: [{{name: mcu, kind: micro_ros, {link}}}]\ncallbacks:\n{entries}"
    found = {b.name: (b.bound or 0) / MS for b in analyse(model(text)).callbacks}
    # A round takes 12. "s" comes before the timers, so both wait for it twice, as for each other.
    assert found == {"s": 12 + 7 + 5, "a": 12 + 5, "b": 12 + 3 + 5}
    said = {a.name for a in analyse(model(text)).assumptions}
    assert "ONE_MESSAGE" in said
    assert "WINDOWS" not in said


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("    link: {baud: 115200, turnaround_ms: 0.85, reliable: true}\n", "", "tide needs link"),
        ("kind: isolated,", "kind: isolated, link: {baud: 300},", "isolated has no serial link"),
        ("reliable: true", "lost: 1", "Add reliable: true"),
        (", bytes: 10}", "}", "'reply_1' of 'answer_1' goes over the link of 'mcu': give"),
        ("baud: 115200", "baud: 0", "executors.0.link.baud: 0 must be 300 or more"),
        ("end_3", "timer_1 up", "pods.yaml:36: 'timer_1 up' is what a part of a link is called"),
        ("kind: tide", "kind: tide\n    policy: edf", "tide has fixed priorities"),
    ],
)
def test_a_link_that_cannot_be_is_refused(before: str, after: str, expected: str) -> None:
    with pytest.raises(ModelError) as caught:
        pods("tide", change=(before, after))
    assert expected in str(caught.value)


def test_the_first_of_two_messages_is_out_before_the_second() -> None:
    system = model(
        "executors: [{name: mcu, kind: micro_ros, link: {baud: 115200}},"
        " {name: h, kind: isolated, cores: [1]}]\n"
        "callbacks:\n"
        "  - {name: a, kind: timer, executor: mcu, period_ms: 100, wcet_ms: 1, publishes: [x, y],"
        " bytes: 10}\n"
        "  - {name: b, kind: subscription, executor: h, wcet_ms: 1, priority: 1,"
        " triggers: [x, y]}\n"
    )
    sender = system.callback_of["a"]
    assert sender.wcet == 1_000_000 + 2 * message(LINK, 10)
    assert sender.bcet == message(LINK, 0)


def test_messages_that_become_too_many_parts_are_refused() -> None:
    topics = ", ".join(f"x{i}" for i in range(700))
    link = "link: {baud: 115200, reliable: true, lost: 1}"
    with pytest.raises(ModelError, match=r"test.yaml:3: messages over links become more than 2000"):
        model(
            f"executors: [{{name: m, kind: tide, {link}}},"
            " {name: h, kind: isolated, cores: [1]}]\n"
            "callbacks:\n"
            "  - {name: a, kind: timer, executor: m, period_ms: 100, wcet_ms: 1, priority: 1,"
            f" publishes: [{topics}], bytes: 10}}\n"
            "  - {name: b, kind: subscription, executor: h, wcet_ms: 1, priority: 1,"
            f" triggers: [{topics}]}}\n"
        )


def test_more_links_than_can_be_looked_at_are_refused() -> None:
    executors = ", ".join(f"{{name: m{i}, kind: tide, link: {{baud: 9600}}}}" for i in range(33))
    with pytest.raises(ModelError, match="more than 32 executors with a link"):
        model(
            f"executors: [{executors}]\ncallbacks:\n"
            "  - {name: a, kind: timer, executor: m0, period_ms: 100, wcet_ms: 1, priority: 1}\n"
        )
