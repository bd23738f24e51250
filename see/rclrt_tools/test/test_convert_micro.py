# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Topics and sizes of other firmware become headers that compile. The files here are our own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rclrt_analysis.model import ModelError
from rclrt_analysis.model.document import Document, parse_document
from rclrt_tools.convert import from_ardupilot, from_colcon_meta, from_px4

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
    {.topic_name = "rt/ap/old", .type_name = "our_msgs::msg::dds_::Wish_"},
};
"""
MICRO_ROS = """{"names": {
  "rmw_microxrcedds": {"cmake-args": [
    "-DRMW_UXRCE_MAX_PUBLISHERS=10", "-DRMW_UXRCE_MAX_HISTORY=6",
    "-DRMW_UXRCE_STREAM_HISTORY=8"]},
  "microxrcedds_client": {"cmake-args": ["-DUCLIENT_SERIAL_TRANSPORT_MTU=250", "-DOTHER=ON"]}
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
    command = [sys.executable, "-m", "rclrt_tools.cli", "model", "convert", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
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
    assert "Table.h:22: 2" in "".join(made.left_out)


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
