# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Chains and systems that other tools describe, as models; and a model for those tools."""

from collections.abc import Callable
from typing import Any, NamedTuple

from rclrt_analysis.model import ModelError, System
from rclrt_analysis.model.document import Document

from rclrt_tools.convert.autoware import from_autoware, from_topics, parameters_in
from rclrt_tools.convert.caret_read import from_caret
from rclrt_tools.convert.caret_write import to_caret
from rclrt_tools.convert.imported import Imported, check, to_yaml
from rclrt_tools.convert.micro import from_ardupilot, from_colcon_meta, from_px4
from rclrt_tools.convert.placements import from_system_file
from rclrt_tools.convert.play_launch import from_contract, from_system_model

__all__ = [
    "Imported",
    "check",
    "from_ardupilot",
    "from_autoware",
    "from_caret",
    "from_colcon_meta",
    "from_contract",
    "from_px4",
    "from_system_file",
    "from_system_model",
    "from_topics",
    "reader_of",
    "to_caret",
    "to_yaml",
]


class Format(NamedTuple):
    """A kind of file: whose it is, what only such a file has, and the function that reads it."""

    tool: str
    name: str
    is_one: Callable[[Any], bool]
    read: Callable[[Document, System | None], Imported]


def _at(content: Any, *keys: str) -> Any:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


FORMATS = (
    Format(
        "caret",
        "a CARET architecture",
        lambda c: isinstance(_at(c, "nodes"), list) and bool({"named_paths", "executors"} & set(c)),
        lambda document, _: from_caret(document),
    ),
    Format(
        "play_launch",
        "a play_launch contract",
        lambda c: any(isinstance(_at(c, key), dict) for key in ("nodes", "chains", "paths")),
        from_contract,
    ),
    Format(
        "play_launch",
        "a system_model.yaml",
        lambda c: isinstance(_at(c, "structure", "nodes"), dict),
        from_system_model,
    ),
    Format(
        "play_launch",
        "a system file",
        lambda c: isinstance(_at(c, "target"), str) and _at(c, "mapper") is not None,
        lambda document, _: from_system_file(document),
    ),
    Format(
        "autoware",
        "a latency monitor",
        lambda c: parameters_in(c) is not None,
        from_autoware,
    ),
    Format(
        "autoware",
        "topics of a state monitor",
        lambda c: isinstance(c, list) and _at(c[0] if c else None, "args", "topic") is not None,
        lambda document, _: from_topics(document),
    ),
    Format(
        "micro",
        "micro-ROS' colcon.meta",
        lambda c: isinstance(_at(c, "names"), dict),
        lambda document, _: from_colcon_meta(document),
    ),
    Format(
        "micro",
        "PX4's dds_topics.yaml",
        lambda c: isinstance(_at(c, "publications"), list),
        lambda document, _: from_px4(document),
    ),
    Format(
        "micro",
        "ArduPilot's topic table",
        lambda c: isinstance(c, str) and "topic_name" in c,
        lambda document, _: from_ardupilot(document),
    ),
)
"""The first of a tool is what it is read as if it looks like none."""


def reader_of(
    document: Document, tool: str | None = None
) -> Callable[[Document, System | None], Imported]:
    """Return the function that reads such a file.

    tool: Whose file it is said to be; without it that is what it looks like.

    Raises ModelError: It looks like none.
    """
    of_tool = [one for one in FORMATS if tool in (None, one.tool)]
    found = [one for one in of_tool if one.is_one(document.content)] or of_tool[: tool is not None]
    if not found:
        text = f"this is not {', '.join(one.name for one in FORMATS)}. If it is, say whose with"
        tools = ", ".join(dict.fromkeys(one.tool for one in FORMATS))
        raise ModelError([f"{document.path}: {text} --from {tools}"])
    return found[0].read
