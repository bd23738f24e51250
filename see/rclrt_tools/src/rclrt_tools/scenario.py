# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads scenario files: YAML, checked against their schema.

The program that runs a scenario checks more (see try/rclrt_scenarios/README.md); what this lets
through has the right form.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import yaml


class ScenarioError(Exception):
    """The file is not a scenario; the text names the place."""


def read_scenario(path: Path, schema: Path) -> dict[str, Any]:
    """Return the content of a scenario file.

    Raises
    ------
    ScenarioError
        It cannot be read, is malformed YAML (with line and column), or has not the form that the
        schema asks for.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise ScenarioError(f"{place}: malformed YAML: {error.problem}") from error
    except (OSError, UnicodeError, yaml.YAMLError, RecursionError) as error:
        raise ScenarioError(f"{path}: {error}") from error
    validator = jsonschema.Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))
    problem = jsonschema.exceptions.best_match(validator.iter_errors(content))
    if problem is not None:
        place = "/".join(str(part) for part in problem.absolute_path) or "the file"
        raise ScenarioError(f"{path}: {place}: {problem.message}")
    assert isinstance(content, dict)  # the schema says so
    return content
