# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What other tools know of a system is taken over. The files here are our own."""

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from models import SCHEMA
from programs import rclrt
from rclrt_analysis.model import ModelError
from rclrt_analysis.model.document import Document, parse_document
from rclrt_tools.convert import (
    Imported,
    check,
    from_ardupilot,
    from_colcon_meta,
    from_contract,
    from_px4,
    from_system_file,
    from_system_model,
)
from test_convert import dumped, spoilt

INCLUDE = Path(__file__).parents[3] / "micro/rclrt_micro/include"
PX4 = """publications:
  - {topic: /fmu/out/mood, type: our_msgs::msg::Mood, rate_limit: 5.}
  - {topic: /shared, type: our_msgs::msg::Mood, color: red}
subscriptions:
  - {topic: /fmu/in/wish, type: our_msgs::msg::Wish}
  - {topic: /shared, type: our_msgs::msg::Mood}
subscriptions_multi:
"""
ARDUPILOT = """constexpr struct Client::Topic_table Client::topics[] = {
#if MOOD_ENABLED
    {
        .dw_id = uxrObjectId{.id=to_underlying(TopicIndex::MOOD), .type=UXR_DATAWRITER_ID},
        .topic_rw = Topic_rw::DataWriter,
        .topic_name = "rt/ap/mood",
        .type_name = "our_msgs::msg::dds_::Mood_",
        .qos = {
            .durability = UXR_DURABILITY_TRANSIENT_LOCAL,
            .reliability = UXR_RELIABILITY_RELIABLE,
            .depth = 20,
        },
    },
#endif
    {
        .topic_rw = Topic_rw::DataReader,
        .topic_name = "rt/ap/wish",
        .type_name = "our_msgs::msg::dds_::Wish_",
        .qos = {.durability = UXR_DURABILITY_VOLATILE, .reliability = UXR_RELIABILITY_RELIABLE,
                .depth = 5},
    },
    // {.topic_rw = Topic_rw::DataWriter, .topic_name = "rt/ap/off", .type_name = "a::msg::B_"},
    /* {
        .topic_rw = Topic_rw::DataWriter, .topic_name = "rt/ap/gone", .type_name = "a::msg::B_"
    }, */
    {.topic_name = "rt/ap/old", .type_name = "our_msgs::msg::dds_::Wish_"},
};
"""
MICRO_ROS = """{"names": {
  "rmw_microxrcedds": {"cmake-args": [
    "-DRMW_UXRCE_MAX_PUBLISHERS=10", "-DRMW_UXRCE_MAX_HISTORY=6",
    "-DRMW_UXRCE_STREAM_HISTORY=8"]},
  "microxrcedds_client": {"cmake-args": ["-DUCLIENT_SERIAL_TRANSPORT_MTU:STRING=250"]},
  "tracetools": {"cmake-args": ["-DOTHER=ON"]},
  "tracetools": {"cmake-args": ["-DOTHER=ON"]}
}}
"""
MESSAGES = """#include "rclrt_micro/client.h"
struct our_msgs__msg__Mood { int32_t level; };
enum { our_msgs__msg__Mood__MAX = 8 };
extern const struct rclrt_type our_msgs__msg__Mood__type;
struct our_msgs__msg__Wish { char text[600]; };
enum { our_msgs__msg__Wish__MAX = 608 };
extern const struct rclrt_type our_msgs__msg__Wish__type;
"""
PROGRAM = """#include "made.h"
{system}
const struct rclrt_system * used(void) {{ return client; }}
{checks}
"""


@pytest.mark.parametrize(
    ("name", "text", "system", "checks", "told"),
    [
        (
            "dds_topics.yaml",
            PX4,
            "RCLRT_TOPICS_SYSTEM(client, timers = 2);",
            "int start(void) { return rclrt_topics_init(client->node, 1) == RCLRT_OK; }\n"
            '_Static_assert(client_message_bytes == 640 && client_ring_bytes == 4096, "");',
            "publications.1.color: not known here",
        ),
        (
            "AP_DDS_Topic_Table.h",
            ARDUPILOT,
            "RCLRT_TOPICS_SYSTEM(client, timers = 2);",
            "int start(void) { return rclrt_topics_init(client->node, 1) == RCLRT_OK; }\n"
            '_Static_assert(client_frames == 16, "16 for a reliable stream");',
            "'rt/ap/old': the table does not say who publishes it",
        ),
        (
            "colcon.meta",
            MICRO_ROS,
            "RCLRT_MICRO_ROS_SYSTEM(client, timers = 2);",
            '_Static_assert(client_message_bytes == 252 && client_messages == 8, "");\n'
            '_Static_assert(client_frames == 6 && client_long_bytes == 2016, "");\n'
            '_Static_assert(client_ring_bytes == 1024, "");',
            "'-DRMW_UXRCE_MAX_PUBLISHERS=10'",
        ),
    ],
)
def test_a_header_is_made_that_compiles(
    tmp_path: Path, name: str, text: str, system: str, checks: str, told: str
) -> None:
    source = tmp_path / name
    source.write_text(text, encoding="utf-8")
    done = rclrt("model", "convert", source, check=True)
    assert told in done.stdout
    assert "not taken over: " in done.stderr
    (tmp_path / "made.h").write_text(done.stdout, encoding="utf-8")
    (tmp_path / "our_msgs.h").write_text(MESSAGES, encoding="utf-8")
    program = tmp_path / "program.c"
    program.write_text(PROGRAM.format(system=system, checks=checks), encoding="utf-8")
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "the tree is built by a C compiler"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{INCLUDE}"]
    built = subprocess.run(
        [compiler, *flags, str(program)], capture_output=True, text=True, check=False, timeout=60
    )
    assert built.returncode == 0, built.stderr


def test_topics_have_their_direction_and_qos() -> None:
    made = from_ardupilot(Document("Table.h", ARDUPILOT))
    assert 'X(ap_mood, our_msgs__msg__Mood, "/ap/mood", true, true, 20)' in made.code
    assert 'X(ap_wish, our_msgs__msg__Wish, "/ap/wish", true, false, 5)' in made.code
    assert made.code.index("ap_mood") < made.code.index("RCLRT_TOPICS_TAKEN")
    assert "Table.h:26: 2" in "".join(made.left_out)
    assert "off" not in made.code and "gone" not in made.code


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (from_px4, "publications: [{topic: /a, type: Int32}]\n", "'Int32' is no type such as"),
        (from_px4, "publications: []\n", "it has no topics"),
        (from_px4, "publications: [{topic: '/a\"b', type: a::msg::B}]\n", "it has no topics"),
        (from_colcon_meta, "names: {a: {cmake-args: [-DRMW_UXRCE_MAX_HISTORY=x]}}\n", "a number"),
        (from_colcon_meta, "names: [1]\n", "names: must be a map"),
    ],
)
def test_what_is_no_such_file_is_refused(read: Any, text: str, expected: str) -> None:
    with pytest.raises(ModelError) as caught:
        read(parse_document(text, "x.yaml"))
    assert expected in str(caught.value)


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


def test_paths_of_one_name_belong_to_the_scope_of_their_node() -> None:
    text = """nodes:
  p/a: {paths: {main: {trigger: {timer: {rate_hz: 10}}, output: [x]}}}
  q/b: {paths: {main: {trigger: {timer: {rate_hz: 10}}, output: [x]}}}
chains:
  one: {segments: [{scope: /p, path: main}]}
  two: {segments: [{scope: /q, path: main}]}
"""
    imported = from_contract(parse_document(text, "c.yaml"))
    assert [one["publishes"] for one in imported.content["callbacks"]] == [["/p/x"], ["/q/x"]]
