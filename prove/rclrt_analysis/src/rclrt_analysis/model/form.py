# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a value, in words for people who write YAML and not JSON schemas."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

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
