# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Worked numbers for preemptive EDF on one core: groups, what precedes all deadlines, long ones."""

from __future__ import annotations

from test_system_bounds import analysed, bounds, reason, timer

PREEMPTIVE = "{name: e, kind: isolated, policy: edf}"


def test_who_shares_a_group_waits_for_one_that_is_due_later() -> None:
    lines = [timer("a", 20, 2, more=", group: g"), timer("b", 50, 7, more=", group: g")]
    assert bounds(analysed(PREEMPTIVE, *lines)) == {"a": 9, "b": 9}
    # What is not in the group, and is due before "b", waits as well: "a" lends its deadline.
    lines.append(timer("c", 30, 3))
    assert bounds(analysed(PREEMPTIVE, *lines)) == {"a": 9, "b": 12, "c": 12}
    # Without "a" nobody lends anything.
    assert bounds(analysed(PREEMPTIVE, *lines[1:])) == {"b": 50, "c": 30}


def test_what_precedes_all_deadlines_counts_with_every_job() -> None:
    lines = [timer("a", 20, 2), timer("b", 50, 7)]
    # Two releases of 0.5; the timers alone would be proved by their demand.
    found = bounds(analysed(PREEMPTIVE, *lines, rest="overheads: {release_ms: 0.5}\n"))
    assert found == {"a": 3, "b": 10}
    found = bounds(analysed(PREEMPTIVE, *lines, rest="overheads: {stolen_ms: 1, window_ms: 9}\n"))
    # Two windows begin while "b" is not done.
    assert found == {"a": 3, "b": 11}


def test_deadlines_may_exceed_periods() -> None:
    lines = [timer("a", 5, 3, more=", deadline_ms: 9"), timer("b", 10, 3, more=", deadline_ms: 9")]
    result = analysed(PREEMPTIVE, *lines)
    assert result.met
    assert bounds(result) == {"a": 9, "b": 9}
    several = analysed("{name: e, kind: isolated, policy: edf, cores: [0, 1]}", *lines)
    assert "has a deadline after its period" in reason(several)


def test_messages_of_others_precede_all_deadlines() -> None:
    lines = [
        "name: a, kind: subscription, executor: e, period_ms: 20, deadline_ms: 20, wcet_ms: 2",
        timer("b", 50, 7),
    ]
    free = bounds(analysed(PREEMPTIVE, *lines))
    found = bounds(analysed(PREEMPTIVE, *lines, rest="overheads: {receive_ms: 0.5}\n"))
    assert free == {"a": 2, "b": 9}
    assert found == {"a": 2.5, "b": 9.5}
