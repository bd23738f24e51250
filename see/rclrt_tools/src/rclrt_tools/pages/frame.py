# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What pages have in common: templates, style, data in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

import jinja2
import markupsafe

LOWEST_NS = 100
PER_OCTAVE = 16
"""Bins of a distribution: as many for each doubling, the first from `LOWEST_NS` on."""


def _text(name: str) -> str:
    return (resources.files("rclrt_tools") / "templates" / name).read_text(encoding="utf-8")


def as_json(content: object) -> markupsafe.Markup:
    """Return JSON for a script element: no name in it can end that element."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return markupsafe.Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))


def render(
    template: str, filters: Mapping[str, Callable[..., Any]] | None = None, **names: Any
) -> str:
    """Return a page. Everything that comes from a file or a program is escaped."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(filters or {})
    environment.globals["include"] = lambda name: markupsafe.Markup(_text(name))
    environment.globals["as_json"] = as_json
    return environment.from_string(_text(template)).render(**names)
