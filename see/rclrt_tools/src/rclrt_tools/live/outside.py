# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Processes of ROS 2 that were started without us: what can be seen of them from outside."""

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from rclrt_tools.apply.machine import names_of
from rclrt_tools.live.files import BORN, FLAGS, STATE, Process, printable, proc_text, stat_of

IS_KERNEL = 0x00200000
YOUNG_S = 10.0
"""So long a process may still load ROS."""

GRAPH_S = 5.0
"""So long the graph may take to be known."""

READ_S, READ_MOST = 1.0, 1000
"""So long messages are counted, and about so many in all."""

READ_EVERY_S, READ_AT_ONCE = 0.02, 50
"""So often they are taken, and so many of a topic, which are all that a reader keeps."""


class Outside:
    """Finds them again and again."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._is_ros: dict[tuple[int, str], bool] = {}

    def look(self, wanted: Sequence[str]) -> list[Process]:
        """Return those that are wanted by number or name; without wishes, all that use ROS 2."""
        namespace = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
        now = time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK")
        known, found = self._is_ros, []
        self._is_ros = {}
        all_ = wanted if wanted and all(map(str.isdecimal, wanted)) else os.listdir(self._proc)  # noqa: PTH208
        for name in filter(str.isdecimal, all_):
            folder = f"{self._proc}/{name}"
            try:
                comm, fields = stat_of(folder)
                if int(fields[FLAGS]) & IS_KERNEL or fields[STATE] in "ZX":
                    continue
                key = (int(name), fields[BORN])
                is_one = known[key] if key in known and not wanted else None
                if is_one is None and not wanted:
                    is_one = "librcl.so" in proc_text(f"{folder}/maps")
                if is_one or wanted:
                    words = proc_text(f"{folder}/cmdline").split("\0")[:-1]
                    called = names_of(words, comm)[0]
                    is_one = is_one or name in wanted or not set(wanted).isdisjoint(called)
                if is_one:
                    born = int(fields[BORN]) % 2**32
                    found.append(Process(int(name), namespace, born, printable(called[-1])))
                if is_one or now - int(fields[BORN]) > YOUNG_S * os.sysconf("SC_CLK_TCK"):
                    self._is_ros[key] = bool(is_one)
            except (OSError, ValueError, IndexError):
                continue  # It has ended, or is another user's.
        return found


def topics_of(process: int) -> Iterator[str]:
    """Yield lines about the topics of a process, as the graph of ROS has them, and what is not.

    A reader that asks for nothing again counts the messages that it publishes in a second.
    """
    words = proc_text(f"/proc/{process}/cmdline").split("\0")[:-1]
    nodes = [*names_of(words, "")[1]]
    if not nodes:
        yield "topics: not known: its arguments name no node (__node:=NAME)"
        return
    try:
        import rclpy
    except ImportError:
        yield "topics: not known: rclpy is not here. Source the ROS 2 of the robot"
        return
    domain = _domain_of(process)
    context = rclpy.Context()
    rclpy.init(context=context, args=[], domain_id=domain)
    try:
        mine = rclpy.create_node(
            f"rclrt_observe_{os.getpid()}", context=context, enable_rosout=False,
            start_parameter_services=False,
        )  # fmt: skip
        until = time.monotonic() + GRAPH_S
        named = [_parts(node) for node in nodes]
        while not {*named} <= {*mine.get_node_names_and_namespaces()}:
            if time.monotonic() > until:
                break
            time.sleep(0.1)
        beside = _beside(mine, named)
        if beside is None:
            yield "which other nodes it has is not known: /parameter_events does not tell"
        for node in [*nodes, *(beside or ())]:
            name, space = _parts(node)
            try:
                published = mine.get_publisher_names_and_types_by_node(name, space)
                taken = mine.get_subscriber_names_and_types_by_node(name, space)
            except Exception as error:  # rclpy has one of its own for a node that is not there
                why = printable(str(error))[:120]
                yield f"{node}: not known in the graph of ROS domain {domain}: {why}"
                continue
            counted = _counted(mine, {topic: types[0] for topic, types in published})
            for what, topics in (("publishes", published), ("takes", taken)):
                for topic, types in topics:
                    line = f"{node} {what} {printable(topic)} [{printable(', '.join(types))}]"
                    yield line + (f", {counted[topic]}" if what == "publishes" else "")
        mine.destroy_node()
    finally:
        rclpy.shutdown(context=context)


def _domain_of(process: int) -> int:
    """Return the domain of a process, as far as it may be read; else that of this program."""
    try:
        said = proc_text(f"/proc/{process}/environ")
    except OSError:
        said = ""
    found = re.search(r"(?:^|\0)ROS_DOMAIN_ID=(\d{1,3})(?:\0|$)", said)
    text = found[1] if found else "" if said else os.environ.get("ROS_DOMAIN_ID", "")
    return int(text) if text.isdecimal() else 0


def _parts(node: str) -> tuple[str, str]:
    space, _, name = node.rpartition("/")
    return name, space or "/"


def _beside(mine: Any, named: Sequence[tuple[str, str]]) -> list[str] | None:
    """Return further nodes of the participants of these, which a process has; None: unknown.

    The first 12 bytes of what names an endpoint name its participant.
    """
    of: dict[tuple[int, ...], set[tuple[str, str]]] = {}
    for one in mine.get_publishers_info_by_topic("/parameter_events"):
        known = of.setdefault(tuple(one.endpoint_gid[:12]), set())
        known.add((one.node_name, one.node_namespace))
    groups = [group for group in of.values() if group.intersection(named)]
    if not groups:
        return None
    more = {*chain.from_iterable(groups)} - {*named}
    return sorted(f"{space.rstrip('/')}/{name}" for name, space in more)


def type_of(kind: str) -> Any:
    """Return the class of a message, or raise ImportError. Any process can write its name.

    So nothing is imported but a package that has messages.
    """
    found = re.fullmatch(r"([a-z]\w*)/msg/([A-Za-z]\w*)", kind, re.ASCII)
    spec = find_spec(found[1]) if found else None  # which imports nothing
    places = (spec and spec.submodule_search_locations) or []
    if not found or not any(Path(place, "msg", "__init__.py").is_file() for place in places):
        raise ImportError(f"no Python package of messages here has {kind}")
    return getattr(import_module(f"{found[1]}.msg"), found[2])


def _counted(mine: Any, topics: Mapping[str, str]) -> dict[str, str]:
    """Return how many messages of each topic come, or why they are not counted."""
    from rclpy.qos import QoSProfile, QoSReliabilityPolicy

    quality = QoSProfile(depth=READ_AT_ONCE, reliability=QoSReliabilityPolicy.BEST_EFFORT)
    said, readers, counts = {}, {}, dict.fromkeys(topics, 0)
    for topic, kind in topics.items():
        try:
            readers[topic] = mine.create_subscription(type_of(kind), topic, print, quality)
        except Exception as error:  # whatever the import of a stranger's package raises
            said[topic] = f"messages not counted: {printable(str(error))[:120]}"
    time.sleep(READ_S / 2)  # until they are matched; what has come by then does not count
    begin = None
    while begin is None or (sum(counts.values()) < READ_MOST and time.monotonic() < begin + READ_S):
        for topic, reader in readers.items():
            with reader.handle:
                for _ in range(READ_AT_ONCE):  # a fast publisher does not hold up the others
                    if reader.handle.take_message(reader.msg_type, True) is None:
                        break
                    counts[topic] += 1
        if begin is None:
            begin, counts = time.monotonic(), dict.fromkeys(topics, 0)
        time.sleep(READ_EVERY_S)
    seconds = time.monotonic() - begin
    for reader in readers.values():
        mine.destroy_subscription(reader)
    for topic in readers:
        said[topic] = f"{counts[topic]} messages in {seconds:.1f} s"
        publishers = mine.get_publishers_info_by_topic(topic)
        many = sum(one.node_name != mine.get_name() for one in publishers)
        said[topic] += f" of {many} publishers together" * (many > 1)
    return said
