# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the middleware's threads do for messages from other processes is in the bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from models import model
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Overheads, System

TWO = """overheads: {receive_ms: 0.5}
executors: [{name: e, kind: isolated, cores: [0]}, {name: f, kind: isolated, cores: [1]}]
callbacks:
  - {name: t, kind: timer, executor: e, period_ms: 10, wcet_ms: 2, priority: 50, publishes: [x]}
  - {name: urgent, kind: timer, executor: f, period_ms: 20, wcet_ms: 1, priority: 60}
  - {name: s, kind: subscription, executor: f, wcet_ms: 3, priority: 40, triggers: [x]}
"""
MS = 1_000_000


def bounds(system: System) -> dict[str, int | None]:
    return {bound.name: bound.bound for bound in analyse(system).callbacks}


def test_a_message_costs_all_callbacks_of_its_readers_cpu() -> None:
    system = model(TWO)
    free = bounds(replace(system, overheads=Overheads()))
    assert free == {"t": 2 * MS, "urgent": MS, "s": 4 * MS}
    # Of the most urgent one as well; and nothing of the publisher's.
    assert bounds(system) == {"t": 2 * MS, "urgent": 3 * MS // 2, "s": 9 * MS // 2}
    # Within an executor the publishing thread delivers.
    one = replace(system, callbacks=tuple(replace(c, executor="f") for c in system.callbacks))
    assert bounds(one) == bounds(replace(one, overheads=Overheads()))


def test_messages_from_outside_of_the_model_cost_as_well() -> None:
    text = TWO.replace("triggers: [x]", "period_ms: 10")
    assert bounds(model(text)) == {"t": 2 * MS, "urgent": 3 * MS // 2, "s": 9 * MS // 2}


@pytest.mark.parametrize("kind", ["priority_events", "wait_set_single", "isolated, cores: [1, 2]"])
def test_where_nothing_bounds_them_there_is_no_bound(kind: str) -> None:
    text = TWO.replace("name: f, kind: isolated, cores: [1]", f"name: f, kind: {kind}")
    if "cores" not in kind:
        text = text.replace(f"name: f, kind: {kind}", f"name: f, kind: {kind}, cores: [1]")
    if kind == "wait_set_single":
        text = text.replace(", priority: 60", "").replace(", priority: 40", "")
    found = {bound.name: bound.local for bound in analyse(model(text)).callbacks}
    assert found["t"].bound == 2 * MS
    assert found["s"].bound is None
    assert "receive_ms" in found["s"].reason
