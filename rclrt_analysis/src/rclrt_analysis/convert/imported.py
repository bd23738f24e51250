# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What came out of another tool's file, and what did not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from rclrt_analysis.model import ModelError
from rclrt_analysis.model.document import Document, Place

UNDEFINED = "UNDEFINED"


@dataclass
class Imported:
    """Part of a model, or all of it.

    Attributes
    ----------
    content
        As a model's file has it.
    left_out
        What of the file is not in it, or only in part: place, and why.
    """

    document: Document
    content: dict[str, Any] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def leave_out(self, place: Place, why: str) -> None:
        """Note what is not in the model."""
        name = ".".join(str(part) for part in place)
        self.left_out.append(f"{self.document.where(place)}: {name}: {why}")

    def leave_out_others(self, item: Any, place: Place, known: Mapping[str, str]) -> None:
        """Note the fields that nobody here knows, and those that a model has no place for.

        Parameters
        ----------
        known
            Why fields are left out; "" for those that are not.
        """
        for key in item:
            why = known.get(key, "not known here")
            if why:
                self.leave_out((*place, key), why)


def to_yaml(imported: Imported) -> str:
    """Return the file, with what was left out in comments."""
    lines = [f"# From {imported.document.path}, by ./rclrt convert."]
    if imported.left_out:
        lines.append("# Not in here, or not all of it:")
        lines += [f"# - {text}" for text in imported.left_out]
    # Flow style where it is short, as a person would write it.
    text = yaml.safe_dump(
        imported.content, sort_keys=False, default_flow_style=None, width=100, allow_unicode=True
    )
    return "\n".join(lines) + "\n" + text


def items(
    document: Document, parent: Any, place: Place, key: str
) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the maps of a list with their places; nothing if there is no list.

    Raises
    ------
    ModelError
        It is something else.
    """
    value = mapping(document, parent, place).get(key, [])
    if not isinstance(value, list):
        raise wrong(document, (*place, key), "must be a list")
    for i, one in enumerate(value):
        yield (*place, key, i), mapping(document, one, (*place, key, i))


def mapping(document: Document, value: Any, place: Place) -> dict[str, Any]:
    """Return a value that must be a map."""
    if not isinstance(value, dict):
        raise wrong(document, place, "must be a map")
    return value


def text_of(document: Document, item: Mapping[str, Any], place: Place, key: str) -> str:
    """Return a field that must be there, and text."""
    value = item.get(key)
    if not isinstance(value, str) or not value:
        raise wrong(document, (*place, key), f"'{key}' must be there, and text")
    return value


def wrong(document: Document, place: Place, what: str) -> ModelError:
    """Return an error with file and line."""
    name = ".".join(str(part) for part in place) or "the file"
    return ModelError([f"{document.where(place)}: {name}: {what}"])
