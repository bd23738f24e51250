# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""YAML as plain values, each with the line it stands on. Time and memory are bounded by the limits.

Refused, because a model needs none of it: files over 4 MiB, more than 200,000 values, nesting over
20 levels, aliases (which can stand for themselves, or for gigabytes), tags, keys that are not text
or occur twice, dates, numbers that are not finite or that YAML 1.1 takes for octal or base 60. What
is wrong with a value is said in words for people that write YAML and not JSON schemas.

Files of other programs hold what is not for us, so of those such keys, numbers and dates are read,
as text. A key that occurs twice is read in a colcon.meta alone, as colcon does: the last counts.
"""

import math
import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor

MOST_SHOWN = 80
WANTED = {
    "array": "a list",
    "object": "fields with names",
    "number": "a number",
    "integer": "a whole number",
    "string": "text",
    "boolean": "true or false",
}
WITH_UNIT = re.compile(r"([0-9.]+) ?(ns|us|ms|s)")


def in_words(error: Any) -> str:
    """Return what a validator of JSON schemas has found."""
    value, limit = error.instance, error.validator_value
    if error.validator == "type" and isinstance(limit, str):
        items = error.schema.get("items", {})
        holds = items.get("$ref", items.get("type", "object"))
        return _of_type(value, limit, holds.endswith(("name", "string", "integer")))
    simple = {
        "required": str(error.message).replace("is a required property", "is missing"),
        "exclusiveMinimum": f"{value} must be more than {limit}",
        "minimum": f"{value} must be {limit} or more",
        "maximum": f"{value} must be {limit} or less",
        "minItems": f"the list must have {limit} or more",
        "maxItems": f"the list has {_count(value)} items, {limit} at most are read",
        "minLength": "this text must not be empty",
        "maxLength": f"this text has {_count(value)} characters, {limit} at most are read",
        "uniqueItems": "something stands in the list twice",
    }
    text = simple.get(error.validator, error.message)
    return text if len(text) < 300 else f"{text[:300]}..."


def _count(value: object) -> int:
    return len(value) if isinstance(value, (list, str)) else 0


def of_schema(value: object) -> str:
    """Return what is wrong with the number of the schema, which is not 1."""
    if not isinstance(value, int) or isinstance(value, bool):
        return f"schema: {_of_type(value, 'integer')}"
    newer = ". A newer rclrt may read it" if value > 1 else ""
    return f"this model is of schema {value}, this program reads schema 1{newer}"


def _of_type(value: object, wanted: str, is_plain: bool = False) -> str:
    name = WANTED.get(wanted, wanted)
    if value is None:
        return f"has no value; write {name}"
    if isinstance(value, bool):
        return f"{name} is wanted, and YAML takes yes, no, on, off, true and false for none"
    if isinstance(value, str):
        shown = f"'{value[:MOST_SHOWN]}'"
        instead = f"; write [{value}]" if is_plain and len(value) < MOST_SHOWN else ""
        return f"{shown} is text, and {name} is wanted{instead or _from_text(value, wanted)}"
    if isinstance(value, dict):
        return f"{name} is wanted, and here are fields with names"
    if isinstance(value, list):
        return f"{name} is wanted, and here is a list"
    quoted = f"; write '{value}', with the quotes" if wanted == "string" else ""
    listed = f"; write [{value}]" if is_plain else ""
    return f"{value} is a number, and {name} is wanted{quoted}{listed}"


def _from_text(value: str, wanted: str) -> str:
    """Return what to write instead, if that is clear."""
    if wanted not in ("number", "integer"):
        return ""
    if has_unit := WITH_UNIT.fullmatch(value):
        return f"; the field's name has the unit, so write {has_unit[1]} if it is in that unit"
    try:
        number = Decimal(value)
    except InvalidOperation:
        return ""
    plain = f"{number:f}" if number.is_finite() and abs(number.adjusted()) < 40 else ""
    return f"; write {plain}, without quotes or an exponent" if plain else ""


MAX_BYTES = 4 * 1024 * 1024
MAX_VALUES = 200_000
MAX_DEPTH = 20
MAX_DIGITS = 40

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Place = tuple[str | int, ...]


class ModelError(Exception):
    """The file is no model. One line of text per problem, each with the place and the remedy."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass
class Document:
    """The content of a file.

    lines: Line of every value, from 1, by its place: ("callbacks", 3, "period_ms").
    foreign: Whether it is of another program.
    """

    path: str
    content: Any
    lines: dict[Place, int] = field(default_factory=dict)
    foreign: bool = False

    def where(self, place: Place) -> str:
        """Return `file:line` of a place, or of what encloses it if it is absent."""
        while place and place not in self.lines:
            place = place[:-1]
        return f"{self.path}:{self.lines.get(place, 1)}"


def _refuse(path: str, line: int, what: str) -> ModelError:
    return ModelError([f"{path}:{line}: {what}"])


def _check_events(path: str, text: str) -> None:
    """Refuse what must not reach a recursive reader."""
    depth = values = 0
    event: Any
    for event in yaml.parse(text, Loader=_Loader):
        line = event.start_mark.line + 1
        values += isinstance(event, yaml.NodeEvent)
        if values > MAX_VALUES:
            raise _refuse(path, line, f"more than {MAX_VALUES} values, the most a model may have")
        if getattr(event, "tag", None):
            raise _refuse(path, line, f"tag {event.tag[:40]}; leave it out")
        if isinstance(event, yaml.AliasEvent):
            raise _refuse(path, line, f"alias *{event.anchor}; write the value out instead")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _refuse(path, line, f"nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _scalar(path: str, node: Any, foreign: bool) -> Any:
    line = node.start_mark.line + 1
    kind = node.tag.rpartition(":")[2]
    if kind == "str":
        return node.value
    if foreign and kind not in ("int", "float", "bool", "null"):
        return node.value
    if kind not in ("int", "float", "bool", "null"):
        raise _refuse(path, line, f"'{node.value[:40]}' is of type {kind}; quote it if it is text")
    number = node.value.lstrip("+-")
    octal = kind == "int" and len(number) > 1 and number[0] == "0"
    if kind in ("int", "float") and (octal or ":" in number or len(number) > MAX_DIGITS):
        if foreign:
            return node.value
        # 1:30 would be 90, 010 would be 8, and a long 1:1:1... would keep the reader busy.
        raise _refuse(path, line, f"'{node.value[:40]}' is not a plain decimal number")
    try:
        value = getattr(SafeConstructor(), f"construct_yaml_{kind}")(node)
    except (ValueError, ConstructorError) as error:
        if foreign:
            return node.value
        raise _refuse(path, line, f"'{node.value[:40]}' is not a number") from error
    if not foreign and isinstance(value, float) and not math.isfinite(value):
        raise _refuse(path, line, f"{node.value} is not a finite number")
    return value


def _value(document: Document, node: Any, place: Place) -> Any:
    line = node.start_mark.line + 1
    document.lines[place] = line
    if isinstance(node, yaml.ScalarNode):
        return _scalar(document.path, node, document.foreign)
    if isinstance(node, yaml.SequenceNode):
        return [_value(document, item, (*place, i)) for i, item in enumerate(node.value)]
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        is_text = isinstance(key_node, yaml.ScalarNode) and (
            document.foreign or key_node.tag.endswith(":str")
        )
        if not is_text:
            raise _refuse(document.path, line, "this key is not text; quote it")
        key = key_node.value
        if key in result and not document.path.endswith("colcon.meta"):
            raise _refuse(document.path, line, f"'{key[:80]}' stands here a second time")
        inner = (*place, key)
        result[key] = _value(document, value_node, inner)
        document.lines[inner] = line
    return result


def read_document(path: Path, foreign: bool = False) -> Document:
    """Return the content of a YAML file.

    Raises ModelError: It cannot be read, is malformed, or holds what the module's text says is
        refused.
    """
    return parse_document(_text(path), str(path), foreign)


def read_code(path: Path) -> Document:
    """Return the text of a file that is no YAML, as its content."""
    return Document(str(path), _text(path))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise ModelError([f"{path}: it cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        why = "this is no text; a file must be of UTF-8"
        raise ModelError([f"{path}:{line}: {why}"]) from error
    if len(data) > MAX_BYTES:
        raise ModelError([f"{path}: larger than {MAX_BYTES >> 20} MiB, the most a model may have"])
    return text


def parse_document(text: str, path: str = "<text>", foreign: bool = False) -> Document:
    """Return the content of YAML text; see `read_document`."""
    try:
        _check_events(path, text)
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{path}:{mark.line + 1}" if mark else path
        raise ModelError([f"{place}: malformed YAML: {error.problem}"]) from error
    except yaml.YAMLError as error:
        raise ModelError([f"{path}: malformed YAML: {error}"]) from error
    document = Document(path, None, foreign=foreign)
    if node is not None:
        document.content = _value(document, node, ())
    return document
