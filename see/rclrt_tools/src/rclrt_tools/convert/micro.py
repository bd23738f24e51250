# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What other firmware says on a line, as a header for rclrt_micro.

PX4's dds_topics.yaml and ArduPilot's topic table name topics, types and QoS; micro-ROS' colcon.meta
has the sizes that its library was built with. Message types come from generate_messages.py.
"""

import re
from dataclasses import dataclass

from rclrt_analysis.model.document import Document, Place

from rclrt_tools.convert.imported import Imported, items, mapping, text_of, texts, wrong

MOST_STREAMS = 126
"""Publishers and subscriptions that a session can have."""
ENTRY = {
    "topic": "",
    "type": "",
    "rate_limit": "publish no more often yourself",
    "instance": "of uORB alone",
    "route_field": "of uORB alone",
}
MTU = ("UCLIENT_CUSTOM_TRANSPORT_MTU", "UCLIENT_SERIAL_TRANSPORT_MTU", "UCLIENT_UDP_TRANSPORT_MTU")
OUTPUT = ("RMW_UXRCE_STREAM_HISTORY_OUTPUT", "RMW_UXRCE_STREAM_HISTORY")
INPUT = ("RMW_UXRCE_MAX_HISTORY",)
_TYPE = re.compile(r"(\w+)::(msg)::(?:dds_::)?(\w+?)_?")
_BLOCK = re.compile(r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_FIELD = re.compile(
    r"\.(topic_rw|topic_name|type_name|durability|reliability|depth)\s*=\s*([^,\n}]+)"
)
_OPTION = re.compile(r"-D(\w+)(?::\w+)?=(.*)")
_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.S)


@dataclass
class _Topic:
    is_sent: bool
    topic: str
    package: str
    message: str
    reliable: bool
    transient_local: bool
    depth: int

    def row(self, used: set[str]) -> str:
        name = re.sub(r"\W", "_", self.topic.strip("/"))
        while name in used:
            name += "_"
        used.add(name)
        flags = ", ".join(str(flag).lower() for flag in (self.reliable, self.transient_local))
        return f'X({name}, {self.message}, "{self.topic}", {flags}, {self.depth})'


def from_px4(document: Document) -> Imported:
    """Return the header of the topics in a dds_topics.yaml.

    Raises ModelError: It has not the form of one.
    """
    imported = Imported(document)
    content = mapping(document, document.content, ())
    sections = ("publications", "subscriptions", "subscriptions_multi")
    imported.leave_out_others(content, (), dict.fromkeys(sections, ""))
    version = "a message with a MESSAGE_VERSION has it at the end of its topic, as _v1: add that"
    imported.leave_out((), version)
    topics = []
    for section in sections:
        is_sent = section == "publications"
        whole = {section: content.get(section) or []}
        for place, entry in items(document, whole, (), section):
            imported.leave_out_others(entry, place, ENTRY)
            topic = text_of(document, entry, place, "topic")
            package, message = _type(document, place, text_of(document, entry, place, "type"))
            # As its client asks for them.
            topics.append(_Topic(is_sent, topic, package, message, False, is_sent, 1))
    return _with_header(imported, topics)


def from_ardupilot(document: Document) -> Imported:
    """Return the header of the topics in an AP_DDS_Topic_Table.h.

    Raises ModelError: It has no topics, or one of a type that is no message.
    """
    imported = Imported(document)
    # What is a comment is blank, on as many lines.
    text = _COMMENT.sub(lambda m: m[1] or "\n" * m[0].count("\n"), str(document.content))
    topics = []
    for i, block in enumerate(_BLOCK.finditer(text)):
        fields = {name: value.strip().strip('"') for name, value in _FIELD.findall(block[1])}
        if "topic_name" not in fields:
            continue
        place: Place = (i,)
        document.lines[place] = text.count("\n", 0, block.start()) + 1
        if "topic_rw" not in fields:
            text_ = f"'{fields['topic_name']}': the table does not say who publishes it"
            imported.leave_out(place, text_, "topics without a direction")
            continue
        package, message = _type(document, place, fields.get("type_name", ""))
        depth = fields.get("depth", "10")
        topics.append(
            _Topic(
                fields["topic_rw"].endswith("DataWriter"),
                "/" + re.sub(r"^(rt)?/", "", fields["topic_name"]),
                package,
                message,
                fields.get("reliability", "").endswith("_RELIABLE"),
                fields.get("durability", "").endswith("_TRANSIENT_LOCAL"),
                int(depth) if depth.isdecimal() else 10,
            )
        )
    if not topics:
        raise wrong(document, (), "no table of topics is in there")
    if "#if" in text:
        imported.leave_out((), "what is on condition (#if) is all in here")
    return _with_header(imported, topics)


def _type(document: Document, place: Place, name: str) -> tuple[str, str]:
    found = _TYPE.fullmatch(name)
    if found is None:
        raise wrong(document, place, f"'{name[:60]}' is no type such as std_msgs::msg::Int32")
    return found[1], f"{found[1]}__msg__{found[3]}"


def _with_header(imported: Imported, topics: list[_Topic]) -> Imported:
    document = imported.document
    for number, topic in enumerate(topics):
        if number >= MOST_STREAMS or not re.fullmatch(r"[\w/]+", topic.topic, re.ASCII):
            why = "a session has no room for it" if number >= MOST_STREAMS else "no name of ROS"
            imported.leave_out((), f"'{topic.topic}': {why}", "topics without a place")
    kept = [t for t in topics[:MOST_STREAMS] if re.fullmatch(r"[\w/]+", t.topic, re.ASCII)]
    if not kept:
        raise wrong(document, (), "it has no topics")
    frames = sum(16 if t.reliable else t.depth or 1 for t in kept if not t.is_sent)
    used: set[str] = set()
    tables = {
        name: " \\\n".join(["", *(f"  {t.row(used)}" for t in kept if t.is_sent is is_sent)])
        for name, is_sent in (("published", True), ("taken", False))
    }
    headers = "".join(f'#include "{p}.h"\n' for p in sorted({t.package for t in kept}))
    imported.code = _HEADER.format(
        headers=headers, messages=max(4, sum(t.is_sent for t in kept)), frames=max(4, frames),
        **tables,
    )  # fmt: skip
    return imported


def from_colcon_meta(document: Document) -> Imported:
    """Return the header of the sizes in a colcon.meta.

    Raises ModelError: It has not the form of one.
    """
    imported = Imported(document)
    content = mapping(document, mapping(document, document.content, ()).get("names"), ("names",))
    sizes: dict[str, int] = {}
    for package, about in content.items():
        place: Place = ("names", package, "cmake-args")
        whole = mapping(document, about, place[:2])
        for option in texts(document, whole.get("cmake-args"), place):
            found = _OPTION.fullmatch(option)
            if found is None or found[1] not in (*MTU, *OUTPUT, *INPUT):
                limit = found is not None and "_MAX_" in found[1]
                kind = "limits that rclrt_micro has not" if limit else "options of other libraries"
                imported.leave_out(place, f"'{option}'", kind)
            elif not found[2].isdecimal() or not 1 <= int(found[2]) <= 65535:
                raise wrong(document, place, f"'{option}' must have a number from 1 to 65535")
            else:
                sizes[found[1]] = int(found[2])

    def first(names: tuple[str, ...], otherwise: int) -> int:
        return next((sizes[name] for name in names if name in sizes), otherwise)

    frame = max(64, (first(MTU, 512) + 3) // 4 * 4)
    output = first(OUTPUT, 4)
    ring = 256
    while ring <= 2 * (frame + 6):
        ring *= 2
    imported.code = _SIZES.format(
        frame=frame, messages=output, frames=first(INPUT, 8), ring=ring,
        long=min(frame * output, 65535),
    )  # fmt: skip
    return imported


_SIZES = """#include "rclrt_micro/system.h"

/* RCLRT_MICRO_ROS_SYSTEM(client, timers = 4): a system of the same sizes. */
#define RCLRT_MICRO_ROS_SYSTEM(name, timer_count)                                             \\
  RCLRT_SYSTEM_WITH(                                                                          \\
    name, message_bytes = {frame}, messages = {messages}, frames = {frames},                  \\
    ring_bytes = {ring}, timer_count, long_bytes = {long}, levels = 1, polled = 1)
"""

_HEADER = """{headers}#include "rclrt_micro/system.h"

/* X(name, message, topic, reliable, transient_local, depth) */
#define RCLRT_TOPICS_PUBLISHED(X){published}

#define RCLRT_TOPICS_TAKEN(X){taken}

#define RCLRT_TOPICS_PUBLISHER(name, ...) static struct rclrt_publisher name;
RCLRT_TOPICS_PUBLISHED(RCLRT_TOPICS_PUBLISHER)
#define RCLRT_TOPICS_SUBSCRIPTION(name, message, ...) \\
  static struct rclrt_subscription name;              \\
  static struct message name##_message;
RCLRT_TOPICS_TAKEN(RCLRT_TOPICS_SUBSCRIPTION)

#define RCLRT_TOPICS_BYTES(name, message, ...) char name[message##__MAX];
union rclrt_topics_bytes
{{
  char none;
  RCLRT_TOPICS_PUBLISHED(RCLRT_TOPICS_BYTES)
  RCLRT_TOPICS_TAKEN(RCLRT_TOPICS_BYTES)
}};
enum
{{
  /* Each message in one frame, with what stands before it. */
  RCLRT_TOPICS_FRAME = ((int)sizeof(union rclrt_topics_bytes) + 32 + 63) / 64 * 64,
  RCLRT_TOPICS_RING = RCLRT_TOPICS_FRAME < 500     ? 1024
                      : RCLRT_TOPICS_FRAME < 2000  ? 4096
                      : RCLRT_TOPICS_FRAME < 8000  ? 16384
                      : RCLRT_TOPICS_FRAME < 32000 ? 65536
                                                   : 262144
}};

/* RCLRT_TOPICS_SYSTEM(client, timers = 4): a system that has room for them. */
#define RCLRT_TOPICS_SYSTEM(name, timer_count)                                                \\
  RCLRT_SYSTEM(                                                                               \\
    name, message_bytes = RCLRT_TOPICS_FRAME, messages = {messages}, frames = {frames},       \\
    ring_bytes = RCLRT_TOPICS_RING, timer_count)

/* Makes all of them; `priority` is that of what is published. Then add the subscriptions to the
 * executor. */
static inline enum rclrt_ret rclrt_topics_init(struct rclrt_node_handle * node, uint8_t priority)
{{
  enum rclrt_ret ret = RCLRT_OK;
#define RCLRT_TOPICS_PUBLISH(name, message, topic, ...)                                       \\
  if (ret == RCLRT_OK) {{                                                                      \\
    const struct rclrt_qos qos = {{__VA_ARGS__}};                                              \\
    ret = rclrt_publisher_init(&name, node, &message##__type, topic, qos, priority);          \\
  }}
  RCLRT_TOPICS_PUBLISHED(RCLRT_TOPICS_PUBLISH)
#define RCLRT_TOPICS_TAKE(name, message, topic, ...)                                          \\
  if (ret == RCLRT_OK) {{                                                                      \\
    const struct rclrt_qos qos = {{__VA_ARGS__}};                                              \\
    ret = rclrt_subscription_init(&name, node, &message##__type, topic, qos);                 \\
  }}
  RCLRT_TOPICS_TAKEN(RCLRT_TOPICS_TAKE)
  return ret;
}}
"""
