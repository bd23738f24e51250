# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What play_launch knows of a system is taken over. The files here are our own."""

from __future__ import annotations

import random
from typing import Any

import pytest
from models import SCHEMA
from rclrt_analysis.model import ModelError
from rclrt_analysis.model.document import parse_document
from rclrt_tools.convert import (
    Imported,
    check,
    from_contract,
    from_system_file,
    from_system_model,
)
from test_convert import dumped, spoilt

CONTRACT = """version: 1
nodes:
  eye:
    pub: {picture: {min_rate_hz: 20}}
    paths:
      look: {trigger: {timer: {rate_hz: 20}}, output: [picture], max_latency: 2ms}
      wake: {trigger: once, output: [woken]}
  mind:
    criticality: high
    sub: {picture: {max_age: 30ms}, sound: {min_rate_hz: 25, max_rate_hz: 40, max_age: 70ms}}
    paths:
      think: {trigger: {input: [picture]}, output: [idea]}
      listen: {input: [sound]}
      dream: {trigger: spontaneous}
chains:
  to_mind:
    semantics: reaction
    max_latency: 0.06s
    criticality: high
    segments:
      - { scope: /, path: look }
      - { via: /head/picture }
      - { scope: /body, path: think }
  fresh:
    semantics: age
    max_latency_ms: 80
    segments:
      - { scope: /, path: look }
      - { via: /head/picture }
      - { scope: /, path: dream }
  odd: {semantics: karma, segments: []}
paths:
  whole: {input: /head/picture, output: [/body/idea], max_latency: 90ms}
topics:
  /head/picture:
    {type: our/Picture, pub: [eye/picture], sub: [mind/picture], drop: {max_consecutive: 3}}
"""

RESOLVED = """structure:
  nodes: {/head/eye: {scope: a}, /head/mind: {scope: a}, /logger: {scope: a}}
  topics: {/picture: {type: our/Picture, pub: [/head/eye/pic], sub: [/head/mind/pic]}}
contracts:
  node_paths:
    /head/eye/look: {output: [/head/eye/pic], trigger: {kind: timer, value: {rate_hz: 20}}}
    /head/mind/think:
      input: [/head/mind/pic]
      trigger: {kind: input, value: [/head/mind/pic]}
      max_latency_ms: 12.5
  sub_endpoints: {/head/mind/pic: {max_age_ms: 60}}
  scope_paths: {a/see: {input: [/picture], output: [/picture], max_latency_ms: 40}}
execution:
  tiers:
    high: {class: real_time, posix: {priority: 80, core: 2, sched_class: SCHED_FIFO}}
    low: {class: best_effort, posix: {priority: 10, sched_class: SCHED_OTHER}}
    board: {class: real_time, threadx: {priority: 4}}
  bindings: {/head/mind: high, /head/eye: low, /logger: board}
"""

SYSTEM = """target: posix
mapper: chain_aware
reservations: required
resources: {rt_priority_band: {min: 10, max: 40}, isolated_cpus: [1]}
overrides:
  brake: {priority: 20, core: 1, budget_us: 500}
  /safety/eye: {priority: 30, sched_class: SCHED_RR}
  logger: {sched_class: SCHED_OTHER}
  map: {core: 0}
  odd: {sched_class: SCHED_DEADLINE}
"""


def left_out(imported: Imported) -> str:
    return "\n".join(imported.left_out)


def test_a_contract_becomes_a_model_with_its_chains_by_topics() -> None:
    imported = from_contract(parse_document(CONTRACT, "c.yaml"))
    check(imported, SCHEMA)
    to_mind, fresh, way, age, rate, sound = imported.content["chains"]
    assert to_mind == {
        "name": "to_mind", "topics": ["/head/picture", "/body/idea"], "semantics": "reaction",
        "deadline_ms": 60,
    }  # fmt: skip
    assert (fresh["topics"], fresh["semantics"]) == (["/head/picture"], "age")
    assert fresh["deadline_ms"] == 80
    assert way == {
        "name": "whole", "topics": ["/head/picture", "/body/idea"], "semantics": "latency",
        "deadline_ms": 90,
    }  # fmt: skip
    assert (rate["name"], rate["silent_after_ms"]) == ("least rate of /head/picture", 100)
    assert (sound["topics"], sound["silent_after_ms"]) == (["/sound"], 80)
    assert (age["name"], age["deadline_ms"]) == ("age of /head/picture at mind", 30)
    assert imported.drafts == []
    look, think, listen, *_ = imported.content["callbacks"]
    assert (look["name"], look["period_ms"], look["deadline_ms"]) == ("/eye/timer/50ms", 50, 2)
    assert look["publishes"] == ["/head/picture"]
    assert (think["name"], think["triggers"]) == (
        "/mind/subscription/head/picture",
        ["/head/picture"],
    )
    # It comes from outside, 25 to 40 times a second.
    assert (listen["name"], listen["period_ms"]) == ("/mind/subscription/sound", 25)
    assert listen["gap_ms"] == 40
    assert [e["kind"] for e in imported.content["executors"]] == ["open", "open"]
    assert any("period_ms of '/mind/subscription/dream' is a guess" in text
               for text in imported.content["no_verdict"])  # fmt: skip
    listed = left_out(imported)
    for expected in (
        "chains.to_mind.criticality: not known here",
        "nodes.mind.criticality: a model ranks by deadlines",
        "its last path 'dream': nobody knows what it sends, so the chain ends before it",
        "chains.odd.semantics: 'karma' is not known here: left out",
        "nodes.eye.paths.wake: it runs once",
        "topics./head/picture.drop: a model has no place for it",
        "nodes.mind.sub.picture.max_age: '/head/picture': counted until it is published",
        "nodes.mind.sub.sound.max_age: how old '/sound' is when it comes from outside, nobody",
    ):
        assert expected in listed, expected


def test_a_resolved_system_is_a_contract_with_priorities() -> None:
    imported = from_system_model(parse_document(RESOLVED, "s.yaml"))
    check(imported, SCHEMA)
    look, think = imported.content["callbacks"]
    assert "priority" not in look
    assert (think["name"], think["priority"]) == ("/head/mind/subscription/picture", 80)
    assert (think["triggers"], think["deadline_ms"]) == (["/picture"], 12.5)
    assert imported.content["executors"][1] == {"name": "/head/mind", "kind": "open", "cores": [2]}
    assert [chain["name"] for chain in imported.content["chains"]] == [
        "age of /picture at /head/mind"
    ]
    assert imported.drafts[0][0]["topics"] == ["/picture", "/picture"]
    assert "bindings./logger: its tier is not for Linux" in left_out(imported)


def test_a_system_file_becomes_parameters() -> None:
    imported = from_system_file(parse_document(SYSTEM, "s.yaml"))
    assert imported.content["/**"]["ros__parameters"]["rclrt"]["callbacks"] == {
        "/**/brake/**": {"scheduling_policy": "fifo", "priority": 20, "cpu_affinity": [1]},
        "/safety/eye/**": {"scheduling_policy": "rr", "priority": 30},
        "/**/logger/**": {"scheduling_policy": "other"},
        "/**/map/**": {"cpu_affinity": [0]},
    }
    listed = left_out(imported)
    for field in ("mapper", "reservations", "resources", "overrides.brake.budget_us"):
        assert f"{field}: " in listed
    assert "overrides.odd.sched_class: 'SCHED_DEADLINE' has no priority" in listed


@pytest.mark.parametrize(
    ("read", "text"),
    [(from_contract, CONTRACT), (from_system_model, RESOLVED), (from_system_file, SYSTEM)],
)
def test_a_spoilt_file_is_read_or_refused_by_its_name(read: Any, text: str) -> None:
    whole, refused = parse_document(text, "s.yaml").content, 0
    for seed in range(60):
        r = random.Random(seed)
        try:
            check(read(parse_document(dumped(spoilt(r, whole)), "s.yaml")), SCHEMA)
        except ModelError as error:
            assert "s.yaml" in str(error), (seed, error)
            refused += 1
    assert 0 < refused < 60
