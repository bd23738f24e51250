# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from models import FOLDER, ROOT, SCHEMA, model, shipped
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Kind, ModelError, Policy, read_model
from rclrt_analysis.model.document import MAX_BYTES, parse_document
from rclrt_analysis.model.read import build_system

MS = 1_000_000
EXECUTORS = "executors: [{name: main, kind: priority_events, policy: rm}]\n"
TIMER = "  - {name: a, kind: timer, executor: main, period_ms: 10, wcet_ms: 1, publishes: [x]}\n"


def problems(text: str) -> str:
    with pytest.raises(ModelError) as caught:
        model(text)
    return str(caught.value)


def with_callbacks(*lines: str) -> str:
    return EXECUTORS + "callbacks:\n" + TIMER + "".join(f"  - {line}\n" for line in lines)


def test_times_are_whole_nanoseconds_and_defaults_are_filled_in() -> None:
    line = "{name: b, kind: subscription, executor: main, wcet_ms: 0.0021, triggers: [x]}"
    system = model(with_callbacks(line))
    timer, subscription = system.callbacks
    assert (timer.period, timer.wcet, timer.deadline) == (10 * MS, MS, 10 * MS)
    assert (subscription.wcet, subscription.deadline) == (2100, None)
    assert system.executors[0].policy is Policy.RM
    assert system.triggered_by(subscription) == ["a"]
    assert system.topological == ("a", "b")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_model_is_read(path: Path) -> None:
    assert read_model(path, SCHEMA).name == path.stem


def scenario_of(name: str) -> Any:
    return yaml.safe_load((ROOT / f"try/rclrt_scenarios/{name}.yaml").read_text(encoding="utf-8"))


def test_the_seven_timers_are_those_of_the_scenario() -> None:
    for level in (60, 80, 90):
        name = f"teper_seven_timers_{level}"
        scenario = scenario_of(name)
        expected = [(n["name"], n["period_ms"], n["work_ms"]) for n in scenario["nodes"]]
        found = [(c.name, (c.period or 0) / MS, c.wcet / MS) for c in shipped(name).callbacks]
        assert found == expected


def test_the_autoware_model_is_the_graph_of_the_scenario() -> None:
    scenario = scenario_of("autoware_reference_system")
    system = shipped("autoware_reference_system")
    working = [n for n in scenario["nodes"] if n["kind"] not in ("sensor", "command")]
    count = sum(len(n.get("connections", [0])) for n in working)
    assert sum(c.wcet == 1_930_000 for c in system.callbacks) == count
    assert all(c.wcet in (0, 1_930_000) for c in system.callbacks)
    for node in scenario["nodes"]:
        if node["kind"] == "intersection":
            continue
        callback = system.callback_of[node["name"]]
        inputs = node.get("inputs") or ([node["input"]] if "input" in node else [])
        assert list(callback.reads or callback.triggers) == inputs
        assert callback.wants_all == (node["kind"] == "fusion")
        assert (callback.kind is Kind.TIMER) == ("period_ms" in node)
        assert callback.period is None or callback.period == node["period_ms"] * MS
    hot = scenario["hot_path"]["through"]
    for chain in system.chains:
        assert [name for name in chain.callbacks[1:-1] if name not in hot] == []


T = "kind: timer, executor: main, wcet_ms: 1"
S = "kind: subscription, executor: main, wcet_ms: 1"
CIRCLE = (
    f"{{name: b, {S}, triggers: [x], publishes: [y]}}\n"
    f"  - {{name: c, {S}, triggers: [z, y], publishes: [z]}}"
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{{name: b, {T}, period_ms: 0}}", "test.yaml:6: callbacks.1.period_ms"),
        (f"{{name: b, {T}, period_ms: -5}}", "test.yaml:6: callbacks.1.period_ms"),
        (f"{{name: b, {T}, period_ms: .nan}}", "test.yaml:6: .nan is not a finite"),
        (f"{{name: b, {T}, period_ms: .inf}}", "test.yaml:6: .inf is not a finite"),
        (f"{{name: b, {T}, period_ms: 0.5}}", "test.yaml:6: wcet_ms 1 exceeds period_ms 0.5"),
        (f"{{name: b, {T}, period_ms: 5, bcet_ms: 2}}", "bcet_ms 2 exceeds wcet_ms 1"),
        (f"{{name: b, {T}}}", "test.yaml:6: timer 'b' needs period_ms"),
        (f"{{name: b, {S}}}", "needs triggers, or period_ms"),
        (f"{{name: b, {T}, period_ms: 5}}".replace("main", "mian"), "'mian'. Use one of main"),
        (f"{{name: a, {T}, period_ms: 5}}", "test.yaml:6: 'a' is the name of another"),
        (f"{{name: b, {S}, triggers: [y]}}", "test.yaml:6: nobody publishes 'y'"),
        (f"{{name: b, {T}, period_ms: 5, perod: 3}}", "unknown field 'perod'. There are: name"),
        (f"{{name: b, {T}, period_ms: 5.0000001}}", "finer than 1 ns"),
        (f"{{name: b, {T}, period_ms: 5, triggers: [x]}}", "released by time alone"),
        (f"{{name: b, {S}, triggers: [x], activation: all}}", "two triggers"),
        (f"{{name: b, {S}, triggers: [x], offset_ms: 1}}", "only a timer has an offset"),
        (CIRCLE, "test.yaml:7: callbacks release each other in a circle: c <- c"),
        ("{name: b, kind: x, executor: main, wcet_ms: 1}", "'x' is not one of ['timer'"),
    ],
)
def test_a_callback_that_cannot_be_is_refused_with_its_line(line: str, expected: str) -> None:
    assert expected in problems(with_callbacks(line))


@pytest.mark.parametrize(
    ("executor", "expected"),
    [
        ("{name: main, kind: fastest}", "test.yaml:3: executors.0.kind: 'fastest' is not one of"),
        ("{name: main, kind: wait_set_single, policy: edf}", "wait_set_single has no policy"),
        ("{name: main, kind: isolated, release: release_and_execute}", "no such option"),
        ("{name: main, kind: isolated, threads: 3}", "only wait_set_multi, preemptive may say"),
        (
            "{name: main, kind: preemptive, threads: 2.0}",
            "2.0 is a number, and a whole number is wanted",
        ),
        (
            "{name: main, kind: tide, link: {baud: 9600, lost: 1.0}}",
            "1.0 is a number, and a whole number is wanted",
        ),
        ("{name: main, kind: priority_events}", "test.yaml:5: 'a' needs a priority"),
    ],
)
def test_an_executor_that_cannot_be_is_refused(executor: str, expected: str) -> None:
    assert expected in problems(f"executors: [{executor}]\ncallbacks:\n{TIMER}")


def test_threads_have_priorities_up_to_99() -> None:
    text = EXECUTORS.replace("priority_events, policy: rm", "isolated")
    text += f"callbacks: [{{name: a, {T}, period_ms: 5, priority: 100}}]\n"
    assert "priority 100: threads have 1 to 99" in problems(text)


def test_a_chain_must_follow_the_topics() -> None:
    b = "{name: b, kind: timer, executor: main, period_ms: 5, wcet_ms: 1}"
    for names, expected in (
        ("[a, b]", "nothing that 'a' publishes reaches 'b'"),
        ("[a, c]", "there is no callback 'c'"),
        ("[a, a]", "'a' stands in this chain twice"),
    ):
        text = with_callbacks(b) + f"chains: [{{name: k, callbacks: {names}}}]\n"
        assert f"test.yaml:7: {expected}" in problems(text)


def test_subscriptions_inherit_a_priority_that_must_be_there() -> None:
    b = "  - {name: b, kind: subscription, executor: main, wcet_ms: 1, triggers: [x]}\n"
    fixed = "executors: [{name: main, kind: priority_events}]\ncallbacks:\n"
    urgent = TIMER.replace("period_ms", "priority: 3, period_ms")
    model(fixed + urgent + b)
    assert "'b' needs a priority" in problems(fixed + TIMER + b)
    assert "rm derives priorities" in problems(EXECUTORS + "callbacks:\n" + urgent)


def test_a_value_of_another_type_is_refused_with_what_to_write() -> None:
    def said(old: str, new: str) -> str:
        return problems(with_callbacks(f"{{name: b, {T}, period_ms: 5}}").replace(old, new, 1))

    last = "period_ms: 5}"
    assert "period_ms: '5' is text, and a number is wanted; write 5, without" in said(
        last, "period_ms: '5'}"
    )
    assert "write 1000000, without quotes or an exponent" in said(last, "period_ms: 1e6}")
    assert "write 5 if it is in that unit" in said(last, "period_ms: 5ms}")
    assert "period_ms: has no value; write a number" in said(last, "period_ms: }")
    assert "YAML takes yes, no, on, off" in said(last, "period_ms: yes}")
    assert "period_ms: -5 must be more than 0" in said(last, "period_ms: -5}")
    assert "group: 5 is a number, and text is wanted; write '5', with" in said(
        last, "period_ms: 5, group: 5}"
    )
    assert "publishes: 'x' is text, and a list is wanted; write [x]" in said(
        last, "period_ms: 5, publishes: x}"
    )
    assert "callbacks.1: 'name' is missing" in said("name: b, ", "")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("2", "is of schema 2, this program reads schema 1. A newer"),
        ("0", "is of schema 0, this program reads schema 1"),
        ("'1'", "schema: '1' is text, and a whole number is wanted; write 1, without quotes"),
    ],
)
def test_another_schema_is_told_from_a_number_in_quotes(schema: str, expected: str) -> None:
    with pytest.raises(ModelError) as refused:
        build_system(parse_document(f"schema: {schema}\nname: x\n"), SCHEMA)
    assert expected in str(refused.value)
    assert ("newer" in str(refused.value)) == (schema == "2")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &x [*x]\n", "test.yaml:3: alias *x; write the value out"),
        ("a: [1\n", "test.yaml:4: malformed YAML"),
        ("a: 1\na: 2\n", "test.yaml:4: 'a' stands here a second time"),
        ("1: 2\n", "test.yaml:3: this key is not text"),
        ("? [a]\n: 2\n", "this key is not text"),
        ("a: 2026-01-01\n", "of type timestamp"),
        ("a: !!python/object:os.system 1\n", "test.yaml:3"),
        ("a: " + "[" * 500 + "]" * 500, "nested deeper than 20"),
        ("a: " + "[" * 100_000, "nested deeper than 20"),
        ("a: " + "9" * 10_000 + "\n", "is not a plain decimal number"),
        ("a: 010\n", "'010' is not a plain decimal number"),
        ("a: 0x10\n", "'0x10' is not a plain decimal number"),
        ("a: 1:30\n", "'1:30' is not a plain decimal number"),
        ("a: " + "1:" * 1_000_000 + "1\n", "is not a plain decimal number"),
        ("a: " + "1:" * 400 + "1.5\n", "is not a plain decimal number"),
        ("a: !!int 5\n", "tag tag:yaml.org,2002:int; leave it out"),
        ("a: !!bool maybe\n", "tag tag:yaml.org,2002:bool"),
        ("a: [" + "1," * 300_000 + "]", "more than 200000 values"),
        ("a: [" + "[]," * 300_000 + "]", "more than 200000 values"),
        (
            "executors: " + "{a: " * 18 + "1" + "}" * 18,
            "a list is wanted, and here are fields with names",
        ),
    ],
)
def test_text_that_no_model_needs_is_refused(text: str, expected: str) -> None:
    assert expected in problems(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: " + "n" * 3_000_000, "this text has 3000000 characters, 4096 at most are read"),
        ("name: ''", "this text must not be empty"),
        (f"callbacks: [{', '.join(['{}'] * 10_001)}]", "has 10001 items, 10000 at most are read"),
        ("overheads: {release_ms: 3600001}", "3600001 must be 3600000 or less"),
    ],
)
def test_what_is_too_much_is_told_with_the_limit(text: str, expected: str) -> None:
    with pytest.raises(ModelError) as refused:
        build_system(parse_document(f"schema: 1\n{text}\n"), SCHEMA)
    assert expected in str(refused.value)
    assert all(len(problem) < 300 for problem in refused.value.problems)


def test_an_empty_file_and_a_list_are_no_models() -> None:
    for text in ("", "[]", "just text"):
        with pytest.raises(ModelError, match="fields with names"):
            build_system(parse_document(text), SCHEMA)


def test_a_file_that_is_too_large_or_no_text_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(ModelError, match="larger than 4 MiB"):
        read_model(path, SCHEMA)
    path.write_bytes(b"name: x\n\xff\xfe\xff")
    with pytest.raises(ModelError, match=r"model.yaml:2: this is no text; a file must be of UTF-8"):
        read_model(path, SCHEMA)
    with pytest.raises(ModelError, match="No such file"):
        read_model(tmp_path / "absent.yaml", SCHEMA)


def test_not_more_than_twenty_problems_are_told() -> None:
    lines = ["{name: b, kind: timer, executor: main, period_ms: 5, wcet_ms: 1, x: 1}"] * 50
    assert len(problems(with_callbacks(*lines)).splitlines()) == 20


def mutations(text: str, count: int) -> Iterator[str]:
    rng = random.Random(5)
    tokens = [
        "{",
        "}",
        "[",
        "]",
        "*a",
        "&a",
        ": ",
        "- ",
        "\n",
        "\x00",
        "\t",
        "-1",
        "1e999",
        "'",
        "!!int",
    ]
    for _ in range(count):
        mutant = text
        for _ in range(rng.randint(1, 4)):
            at, to = sorted((rng.randrange(len(mutant)), rng.randrange(len(mutant))))
            mutant = rng.choice([
                mutant[:at] + mutant[min(to, at + 9):],
                mutant[:at] + rng.choice(tokens) + mutant[at:],
                mutant[:at] + mutant[at:min(to, at + 99)] + mutant[at:],
                mutant[:at] + chr(rng.randrange(1, 0x2FF)) + mutant[at + 1:],
            ])  # fmt: skip
        yield mutant


@pytest.mark.parametrize("name", ["autoware_reference_system", "pods_tide", "pods_micro_ros"])
def test_mangled_files_are_refused_or_analysed_and_nothing_else(name: str) -> None:
    text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    refused = analysed = 0
    for mutant in mutations(text, 250):
        try:
            system = build_system(parse_document(mutant, "m.yaml"), SCHEMA)
        except ModelError as error:
            refused += 1
            assert all(problem.startswith("m.yaml") for problem in error.problems)
        else:
            analysed += len(analyse(system).callbacks) > 0
    assert refused > 80, "the mutations do reach the reader"
    assert analysed > 10
