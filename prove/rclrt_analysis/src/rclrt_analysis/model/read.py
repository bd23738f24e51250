# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""From a file to a `System`: the form by JSON schema, the meaning by rules with file and line."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema

from rclrt_analysis.model.assumptions import check_assumptions, made_safe, read_assumptions
from rclrt_analysis.model.chains import make_chain
from rclrt_analysis.model.document import (
    Document,
    ModelError,
    Place,
    in_words,
    of_schema,
    read_document,
)
from rclrt_analysis.model.links import TooManyPartsError, with_links
from rclrt_analysis.model.rules import check_system, duplicates
from rclrt_analysis.model.system import (
    NS_PER_MS,
    Budget,
    Callback,
    Executor,
    ExecutorKind,
    Kind,
    Link,
    Overheads,
    Policy,
    Release,
    Reservation,
    System,
)

MAX_PROBLEMS = 20


def _is_whole(_: Any, value: object) -> bool:
    """Return whether a value is an integer; 2.0 is none, though JSON Schema takes it for one."""
    return isinstance(value, int) and not isinstance(value, bool)


@lru_cache(maxsize=4)
def _validator(schema: Path) -> Any:
    draft = jsonschema.Draft7Validator  # The newest that the jsonschema of Ubuntu 22.04 has.
    types = draft.TYPE_CHECKER.redefine("integer", _is_whole)
    extend: Any = jsonschema.validators.extend
    return extend(draft, type_checker=types)(json.loads(schema.read_text(encoding="utf-8")))


def _unknown_keys(document: Document, error: Any) -> list[str]:
    known = ", ".join(error.schema["properties"])
    place = tuple(error.absolute_path)
    return [
        f"{document.where((*place, key))}: unknown field '{key[:80]}'. There are: {known}"
        for key in error.instance
        if key not in error.schema["properties"]
    ]


def _check_form(document: Document, schema: Path) -> None:
    problems: list[str] = []
    for error in _validator(schema).iter_errors(document.content):
        place = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            problems += _unknown_keys(document, error)
        elif place == ("schema",):
            problems.append(f"{document.where(place)}: {of_schema(error.instance)}")
        elif error.validator == "oneOf":
            keys = " or ".join(one["required"][0] for one in error.validator_value)
            problems.append(f"{document.where(place)}: say {keys}, and only one of them")
        else:
            name = ".".join(str(part) for part in place) or "the file"
            problems.append(f"{document.where(place)}: {name}: {in_words(error)}")
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        raise ModelError(problems)


class _Reader:
    """Turns milliseconds into whole nanoseconds."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.problems: list[str] = []

    def ns(self, item: Mapping[str, Any], place: Place, key: str) -> int | None:
        value = item.get(key)
        if value is None:
            return None
        exact = value * NS_PER_MS
        whole: int = round(exact)
        if abs(exact - whole) > 1e-3:
            self.problems.append(
                f"{self._document.where((*place, key))}: {key} {value} is finer than 1 ns. "
                "Round execution times up and periods down to 6 decimals"
            )
        return whole

    def cost(self, item: Mapping[str, Any], place: Place, key: str) -> int:
        return self.ns(item, place, key) or 0


def _budget(reader: _Reader, item: Mapping[str, Any], place: Place) -> Budget:
    runtime, period = (reader.cost(item, place, key) for key in ("runtime_ms", "period_ms"))
    return Budget(runtime, period)


def _callback(
    reader: _Reader, content: dict[str, Any], item: dict[str, Any], place: Place
) -> Callback:
    kind = Kind(item["kind"])
    period = reader.ns(item, place, "period_ms")
    deadline = reader.ns(item, place, "deadline_ms")
    if deadline is None and kind is Kind.TIMER:
        deadline = period
    after = item.get("publishes_after_ms", {})
    callback = Callback(
        name=item["name"],
        kind=kind,
        executor=item["executor"],
        wcet=reader.cost(item, place, "wcet_ms"),
        bcet=reader.cost(item, place, "bcet_ms"),
        period=period,
        jitter=reader.cost(item, place, "jitter_ms"),
        gap=reader.ns(item, place, "gap_ms"),
        offset=reader.ns(item, place, "offset_ms"),
        deadline=deadline,
        deadline_from=item.get("deadline_from", "release"),
        clock_error=reader.ns(item, place, "clock_error_ms"),
        priority=item.get("priority"),
        group=item.get("group", ""),
        triggers=tuple(item.get("triggers", ())),
        wants_all=item.get("activation", "any") == "all",
        pairs=item.get("pairs", "newest"),
        queue=item.get("queue", 1),
        reads=tuple(item.get("reads", ())),
        publishes=tuple(item.get("publishes", ())),
        publish_least=reader.cost(after, (*place, "publishes_after_ms"), "least"),
        publish_most=reader.ns(after, (*place, "publishes_after_ms"), "most"),
        depth=item.get("depth"),
        bytes=item.get("bytes"),
        assumptions=read_assumptions(content, item),
        budget=_budget(reader, item["budget"], (*place, "budget")) if "budget" in item else None,
    )
    return made_safe(callback)


def _executor(reader: _Reader, item: dict[str, Any], place: Place) -> Executor:
    reservation = link = None
    if "reservation" in item:
        inner, at = item["reservation"], (*place, "reservation")
        budget, period = (reader.cost(inner, at, key) for key in ("budget_ms", "period_ms"))
        reservation = Reservation(budget, period)
    if "link" in item:
        inner = item["link"]
        link = Link(
            inner["baud"],
            reader.cost(inner, (*place, "link"), "turnaround_ms"),
            inner.get("reliable", False),
            inner.get("lost", 0),
        )
    return Executor(
        name=item["name"],
        kind=ExecutorKind(item["kind"]),
        policy=Policy(item.get("policy", "fixed_priority")),
        release=Release(item.get("release", "release_only")),
        cores=tuple(item.get("cores", (0,))),
        threads=item.get("threads"),
        reservation=reservation,
        link=link,
        budgets=tuple(
            (group, _budget(reader, one, (*place, "budgets", group)))
            for group, one in item.get("budgets", {}).items()
        ),
    )


def _assumptions(document: Document) -> list[str]:
    """Return what is wrong with where times are said to come from."""
    content = document.content
    found = list(check_assumptions(content.get("assumptions", {}), ()))
    for i, item in enumerate(content["callbacks"]):
        found += check_assumptions(item.get("assumptions", {}), ("callbacks", i), item)
    return [f"{document.where(place)}: {text}" for place, text in found]


def _with_chains(system: System, document: Document, reader: _Reader) -> tuple[System, list[str]]:
    """Return the system with its chains, and what is wrong with them."""
    items = document.content.get("chains", [])
    found = list(duplicates("chains", [item["name"] for item in items]))
    chains = []
    for i, item in enumerate(items):
        chain, problems = make_chain(item, ("chains", i), system, reader.ns)
        chains.append(chain)
        found += problems
    texts = [f"{document.where(place)}: {text}" for place, text in found]
    return replace(system, chains=tuple(chains)), reader.problems + texts


def _nothing_open(document: Document, content: dict[str, Any]) -> dict[str, Any]:
    """Refuse what only a plan can fill in."""
    problems = [
        f"{document.where(('executors', i, 'kind'))}: the kind of '{item['name']}' is open. "
        "rclrt plan chooses one; or use one of " + ", ".join(kind.value for kind in ExecutorKind)
        for i, item in enumerate(content["executors"])
        if item["kind"] == "open"
    ]
    if problems:
        raise ModelError(problems)
    return content


OVERHEADS = (
    "release", "dispatch", "context_switch", "transport", "wake", "late", "receive", "publish",
    "watch", "stolen", "window",
)  # fmt: skip


def build_system(
    document: Document,
    schema: Path,
    fill: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> System:
    """Return the system that a document describes; see `read_model`.

    fill: Returns the content with something in place of what it leaves open; without it nothing may
        be open.
    """
    _check_form(document, schema)
    content = fill(document.content) if fill else _nothing_open(document, document.content)
    reader = _Reader(document)
    reader.problems += _assumptions(document)
    overheads = content.get("overheads", {})
    system = System(
        name=content["name"],
        description=content.get("description", ""),
        no_verdict=tuple(content.get("no_verdict", ())),
        distro=content.get("distro", "rolling"),
        overheads=Overheads(
            measured=overheads.get("measured", ""),
            **{key: reader.cost(overheads, ("overheads",), f"{key}_ms") for key in OVERHEADS},
        ),
        executors=tuple(
            _executor(reader, item, ("executors", i)) for i, item in enumerate(content["executors"])
        ),
        callbacks=tuple(
            _callback(reader, content, item, ("callbacks", i))
            for i, item in enumerate(content["callbacks"])
        ),
    )
    problems = reader.problems + check_system(system, document)
    if not problems:
        system, problems = _with_chains(system, document, reader)
    if problems:
        raise ModelError(problems[:MAX_PROBLEMS])
    try:
        expanded = with_links(system)
    except TooManyPartsError as error:
        raise ModelError([f"{document.where(('executors',))}: {error}"]) from error
    for key, items in (("callbacks", expanded.callbacks), ("executors", expanded.executors)):
        names = [item.name for item in items]
        added = set(names[len(content[key]) :])
        for i in [i for i in range(len(content[key])) if names[i] in added]:
            text = f"'{names[i]}' is what a part of a link is called. Use another name"
            raise ModelError([f"{document.where((key, i, 'name'))}: {text}"])
    return expanded


def model_schema() -> Path:
    """Return the schema of models, which lies beside this module."""
    return Path(__file__).with_name("model.schema.json")


def read_model(path: Path, schema: Path) -> System:
    """Return the system that a file describes.

    path: The model, YAML.
    schema: What `model_schema()` returns.

    Raises ModelError: It cannot be read, has not the form the schema asks for, or contradicts
        itself.
    """
    return build_system(read_document(path), schema)
