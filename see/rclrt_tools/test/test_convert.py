# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What other tools say is taken over, and what is not is listed. The files here are our own."""

import functools
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from models import FOLDER, SCHEMA, shipped
from programs import rclrt
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import ModelError, System
from rclrt_analysis.model.document import parse_document
from rclrt_analysis.model.read import build_system
from rclrt_analysis.plan.openings import Filler
from rclrt_tools.convert import (
    Imported,
    check,
    from_autoware,
    from_caret,
    from_contract,
    from_system_file,
    from_topics,
    reader_of,
    to_caret,
    to_yaml,
)

ARCHITECTURE = """named_paths:
- path_name: to_wheels
  node_chain:
  - {node_name: /eye, publish_topic_name: /picture, subscribe_topic_name: UNDEFINED}
  - {node_name: /mind, publish_topic_name: /idea, subscribe_topic_name: /picture}
  - {node_name: /hand, publish_topic_name: UNDEFINED, subscribe_topic_name: /idea}
- path_name: lost
  node_chain:
  - {node_name: /mind, publish_topic_name: /idea, subscribe_topic_name: /nothing}
executors:
- executor_type: single_threaded_executor
  executor_name: first
  callback_group_names: [/eye/callback_group_0, /hand/callback_group_0]
- executor_type: rocket_executor
  executor_name: second
  callback_group_names: [/mind/callback_group_0]
- {executor_type: single_threaded_executor, executor_name: third, callback_group_names: []}
nodes:
- node_name: /eye
  callback_groups:
  - {callback_group_type: mutually_exclusive, callback_group_name: /eye/callback_group_0, callback_names: [/eye/callback_0]}
  callbacks:
  - {callback_name: /eye/callback_0, callback_type: timer_callback, period_ns: 50000000, symbol: Eye::look}
  publishes:
  - {topic_name: /picture, callback_names: [/eye/callback_0]}
  - {topic_name: /blink, callback_names: [UNDEFINED]}
- node_name: /mind
  callback_groups:
  - {callback_group_type: reentrant, callback_group_name: /mind/callback_group_0, callback_names: [/mind/callback_0, /mind/callback_1]}
  callbacks:
  - {callback_name: /mind/callback_0, callback_type: subscription_callback, topic_name: /picture, symbol: Mind::see}
  - {callback_name: /mind/callback_1, callback_type: timer_callback, period_ns: 100000000, symbol: Mind::think}
  - {callback_name: /mind/callback_2, callback_type: service_callback, service_name: /ask, symbol: Mind::ask}
  variable_passings:
  - {callback_name_write: /mind/callback_0, callback_name_read: /mind/callback_1}
  publishes:
  - {topic_name: /idea, callback_names: [/mind/callback_1]}
  subscribes:
  - {topic_name: /picture, callback_name: /mind/callback_0}
  message_contexts:
  - {context_type: callback_chain, subscription_topic_name: /picture, publisher_topic_name: /idea}
  - {context_type: telepathy, subscription_topic_name: /picture, publisher_topic_name: /idea}
  mood: good
- node_name: /hand
  callback_groups:
  - {callback_group_type: mutually_exclusive, callback_group_name: /hand/callback_group_0, callback_names: [/hand/callback_0, /hand/callback_1]}
  callbacks:
  - {callback_name: /hand/callback_0, callback_type: subscription_callback, topic_name: /idea, symbol: Hand::move}
  - {callback_name: /hand/callback_1, callback_type: subscription_callback, topic_name: /stop, symbol: Hand::stop}
- node_name: /idle
"""  # noqa: E501

LATENCY = """/**:
  ros__parameters:
    update_rate: 10.0
    latency_threshold_ms: 500.0
    window_size: 10
    processing_steps:
      sequence: [eye, mind, soul]
      eye: {topic: /eye/took_ms, topic_type: our/Stamped, timestamp_meaning: end, latency_multiplier: 1.0}
      mind: {topic: /mind/took_ms, shine: 3}
      soul: {topic: /soul/took_ms}
      liver: {topic: /liver/took_ms}
    latency_offsets_ms: [1.5, 20.0]
"""  # noqa: E501


def left_out(imported: Imported) -> str:
    return "\n".join(imported.left_out)


def as_system(imported: Imported) -> System:
    return build_system(parse_document(to_yaml(imported), "made.yaml"), SCHEMA)


@pytest.fixture
def architecture() -> Imported:
    return from_caret(parse_document(ARCHITECTURE.replace("rocket", "single_threaded"), "a.yaml"))


def test_a_caret_architecture_becomes_a_model(architecture: Imported) -> None:
    text = ARCHITECTURE.replace("rocket_executor", "multi_threaded_executor")
    system = as_system(from_caret(parse_document(text, "a.yaml")))
    names = [callback.name for callback in system.callbacks]
    assert names == [
        "/eye/timer/50ms", "/mind/subscription/picture", "/mind/timer/100ms",
        "/hand/subscription/idea", "/hand/subscription/stop",
    ]  # fmt: skip
    assert system.chains[0].callbacks == tuple(names[:4])
    look, see, think, move, stop = system.callbacks
    assert (look.period, look.publishes) == (50_000_000, ("/picture",))
    assert see.triggers == ("/picture",)
    assert set(think.reads) == {"/mind/subscription/picture to /mind/timer/100ms"}
    assert move.group == stop.group == "/hand/callback_group_0"
    assert (see.group, look.executor, see.executor) == ("", "first", "second")
    # It has no times, so nothing is proved with it.
    assert any("'/stop', so period_ms of" in reason for reason in system.no_verdict)
    document = parse_document(text.replace("topic_name: /stop", "topic_name: /blink"), "a.yaml")
    blink = as_system(from_caret(document)).no_verdict
    assert any("which callback of '/eye' publishes '/blink' is not said" in one for one in blink)
    assert not analyse(system).met


def test_what_an_architecture_has_besides_is_listed_with_its_line() -> None:
    listed = left_out(from_caret(parse_document(ARCHITECTURE, "a.yaml")))
    for expected in (
        "nodes.3: '/idle' has none",
        "executors.2: 'third' has none",
        "a.yaml:26: nodes.0.publishes.1: nobody knows which callback publishes '/blink'",
        "nodes.1.callbacks.2: callbacks of type 'service_callback' are not known here",
        "nodes.1.callbacks.2.service_name: not known here",
        "from '/picture' to '/idea', by 'telepathy': not known here",
        "nodes.1.mood: not known here",
        "executors of type 'rocket_executor' are not known here: wait_set_single is taken",
        "in '/mind' is not in the file: the path 'lost' is left out",
    ):
        assert expected in listed
    assert len(listed.splitlines()) == 9


def test_what_a_node_samples_is_a_way_through_it_even_if_its_publisher_is_not_known() -> None:
    def node(name: str, publishes: list[str], rest: dict[str, Any], *topics: str) -> dict[str, Any]:
        callbacks = [
            {"callback_name": f"{name}/{i}", "callback_type": "subscription_callback",
             "topic_name": topic, "symbol": "s"} for i, topic in enumerate(topics)
        ]  # fmt: skip
        sent = [{"topic_name": "/" + name[1:], "callback_names": publishes}]
        return {"node_name": name, "callbacks": callbacks, "publishes": sent, **rest}

    def contexts(sent: str, kind: str, *taken: str) -> dict[str, Any]:
        return {"message_contexts": [
            {"context_type": kind, "subscription_topic_name": one, "publisher_topic_name": sent}
            for one in taken
        ]}  # fmt: skip

    steps = {"callbacks": ["/late/0", "/late/1"], "context_type": "callback_chain"}
    content = {"named_paths": [], "executors": [], "nodes": [
        node("/eye", ["/eye/0"], {}, "/light"),
        node("/mind", ["UNDEFINED"], contexts("/mind", "use_latest_message", "/eye", "/ear"),
             "/eye", "/ear"),
        node("/late", ["/late/1"], {"message_contexts": [
            {**steps, "subscription_topic_name": "/mind", "publisher_topic_name": "/late"}]},
             "/mind", "/clock"),
        node("/lost", ["UNDEFINED"], contexts("/lost", "UNDEFINED", "/late", "/mind"),
             "/late", "/mind"),
    ]}  # fmt: skip
    imported = from_caret(parse_document(yaml.safe_dump(content), "a.yaml"))
    system = as_system(imported)
    mind = [c.name for c in system.callbacks if c.name.startswith("/mind/")]
    late = [c.name for c in system.callbacks if c.name.startswith("/late/")]
    # No path is named, so those that the topics make are there, the longest first.
    assert system.chains[0].callbacks == (
        "/eye/subscription/light", *mind, *late, "/lost/subscription/late",
    )  # fmt: skip
    assert "that '/mind/subscription/ear' publishes '/mind' is a guess: '/mind' does" in (
        system.no_verdict
    )
    assert imported.summary() == (
        "1 publications whose callback is not known, 2 contexts without a type, 1 things of 1 kinds"
    )


def test_a_model_goes_to_caret_and_comes_back() -> None:
    system = shipped("autoware_reference_system")
    content: dict[str, Any] = yaml.safe_load(to_caret(system))
    assert len(content["nodes"]) == 25
    assert [path["path_name"] for path in content["named_paths"]] == [
        "hot_path_front", "hot_path_rear",
    ]  # fmt: skip
    fusion = next(node for node in content["nodes"] if node["node_name"] == "/PointCloudFusion")
    topics = [callback["topic_name"] for callback in fusion["callbacks"]]
    assert topics == ["PointsTransformerFront", "PointsTransformerRear"]
    assert len(fusion["publishes"][0]["callback_names"]) == 2
    planner = next(node for node in content["nodes"] if node["node_name"] == "/BehaviorPlanner")
    assert len(planner["variable_passings"]) == 6, "one for each topic that it reads"
    (context, *_) = planner["message_contexts"]
    assert context["callbacks"] == [f"/BehaviorPlanner/callback_{i}" for i in (1, 0)]
    imported = from_caret(parse_document(to_caret(system), "back.yaml"))
    assert imported.left_out == []
    back = as_system(imported)

    def nodes(chain_callbacks: tuple[str, ...]) -> list[str]:
        return [re.sub(r"/(timer|subscription)/.*", "", name)[1:] for name in chain_callbacks]

    for before, after in zip(system.chains, back.chains, strict=True):
        assert nodes(after.callbacks) == list(before.callbacks)


def test_the_second_callback_of_a_topic_goes_to_caret_with_that_topic() -> None:
    text = ARCHITECTURE.replace(
        "topic_name: /idea, symbol: Hand", "topic_name: /stop, symbol: Hand"
    )
    system = as_system(from_caret(parse_document(text, "a.yaml")))
    assert any(one.name.endswith("/stop#2") for one in system.callbacks)
    hand = yaml.safe_load(to_caret(system))["nodes"][-1]
    assert [one["topic_name"] for one in hand["callbacks"]] == ["/stop", "/stop"]


def test_rates_and_timeouts_of_a_state_monitor_are_times_of_silence() -> None:
    text = """- module: mind
  mode: [online]
  type: autonomous
  args: {node_name_suffix: idea, topic: /idea, topic_type: our/Idea, best_effort: false,
         transient_local: false, warn_rate: 5.0, error_rate: 1.0, timeout: 1.5}
- {module: map, mode: [online], type: launch,
   args: {topic: /map, warn_rate: 0.0, error_rate: 0.0, timeout: 0.0, color: red}}
- {module: mind, mode: [test], type: launch, args: {topic: /idea, error_rate: 4}}
"""
    imported = from_topics(parse_document(text, "t.yaml"))
    chains = imported.content["chains"]
    assert [(c["name"], c["silent_after_ms"], c["on_miss"]) for c in chains] == [
        ("error rate of /idea", 500, {"error_after": 1}),
        ("warn rate of /idea", 400, {"warn_after": 1}),
    ]
    assert "1 topics without a rate" in imported.summary()
    assert "t.yaml:7: 1.args.color: not known here" in left_out(imported)
    assert "longer" not in left_out(imported)
    longer = from_topics(parse_document(text.replace("timeout: 1.5", "timeout: 3.0"), "t.yaml"))
    assert "timeout: 3 s are longer than two periods of error_rate" in left_out(longer)


def test_times_that_nodes_report_are_chains_of_their_callbacks(architecture: Imported) -> None:
    topics = ["/eye/debug/processing_time_ms", "/soul/debug/processing_time_ms",
              "/mind/debug/part/processing_time_ms", "/mind/took"]  # fmt: skip
    content = {"/**": {"ros__parameters": {
        "update_rate": 10.0, "processing_time_topic_name_list": topics,
    }}}  # fmt: skip
    system = as_system(architecture)
    imported = from_autoware(parse_document(dumped(content), "p.yaml"), system)
    assert imported.content["chains"] == [
        {"name": "time of /eye", "callbacks": ["/eye/timer/50ms"], "semantics": "latency"}
    ]
    listed = left_out(imported)
    assert "step '/soul': the model has no node of that name" in listed
    assert "a part of what '/mind' does" in listed
    assert "nobody knows whose time '/mind/took' is" in listed


@pytest.mark.parametrize("name", ["/**:", "/system/monitor:", "system:\n monitor:"])
def test_steps_of_a_latency_monitor_are_looked_for_among_the_nodes(
    architecture: Imported, name: str
) -> None:
    system = as_system(architecture)
    document = parse_document(LATENCY.replace("/**:", name), "p.yaml")
    imported = reader_of(document)(document, system)
    # The deadline is that of all steps, so what has lost one is a draft.
    assert imported.content == {}
    ((chain, why),) = imported.drafts
    assert why == "no callback for soul"
    whole = parse_document(LATENCY.replace(", soul]", "]"), "p.yaml")
    assert from_autoware(whole, system).content["chains"] == [chain]
    assert chain["deadline_ms"] == 478.5
    assert chain["semantics"] == "latency"
    assert chain["callbacks"] == ["/eye/timer/50ms", "/mind/subscription/picture"]
    listed = left_out(imported)
    for expected in (
        "step 'soul': the model has no node of that name. Name its callbacks yourself",
        "processing_steps.mind.shine: not known here",
        "processing_steps.liver: a step that is not in the sequence",
        "window_size: how many samples the monitor keeps",
        "21.5 ms of steps that report nothing are taken off the deadline",
        "processing_steps.eye.latency_multiplier: about the message that reports a latency",
    ):
        assert expected in listed


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (from_caret, "nodes: 3\n", "x.yaml:1: nodes: must be a list"),
        (from_caret, "topics: []\n", "no CARET architecture: it has no 'nodes'"),
        (from_caret, "nodes: [{node_name: [1]}]\n", "'node_name' must be there, and text"),
        (
            from_caret,
            "nodes:\n- node_name: /a\n  callbacks:\n  - {callback_name: b, "
            "callback_type: timer_callback, period_ns: 0, symbol: c}\n",
            "x.yaml:4: nodes.0.callbacks.0.period_ns: must be a whole number above 0",
        ),
        (from_contract, "chains: [1]\n", "x.yaml:1: chains: must be a map"),
        (from_contract, "chains: {a: {max_latency: soon}}\n", "'soon' is no time such as 60 or"),
        (from_contract, "nodes: {a: {paths: {b: {trigger: {timer: {}}}}}}\n", "needs 'rate_hz'"),
        (from_contract, "nodes: {a: {sub: {b: {min_rate_hz: -1}}}}\n", "must be a rate in Hz"),
        (from_system_file, "{target: zephyr, mapper: a}\n", "for another system than Linux"),
        (
            from_system_file,
            "target: posix\noverrides: {a: {priority: 100}}\n",
            "x.yaml:2: overrides.a.priority: must be a whole number from 1 to 99",
        ),
        (from_topics, "- args: {topic: a, timeout: soon}\n", "0.args.timeout: must be a number"),
        (from_autoware, "/**: {ros__parameters: {}}\n", "no node's parameters have"),
        (from_autoware, "/**: {ros__parameters: {processing_steps: 3}}\n", "must be a map"),
    ],
)
def test_files_of_another_form_are_refused_with_their_line(
    read: Any, text: str, expected: str
) -> None:
    with pytest.raises(ModelError) as caught:
        read(parse_document(text, "x.yaml"))
    assert expected in str(caught.value)


def test_the_command_knows_the_formats_and_counts_what_is_left_out(tmp_path: Path) -> None:
    convert = functools.partial(rclrt, "model", "convert")
    caret, contract = tmp_path / "a.yaml", tmp_path / "c.yaml"
    caret.write_text(ARCHITECTURE, encoding="utf-8")
    look = {"paths": {"look": {"trigger": {"timer": {"rate_hz": 20}}}}}
    contract.write_text(dumped({"nodes": {"eye": look}}), encoding="utf-8")
    done = convert(caret)
    publishers = "not taken over: 1 publications whose callback is not known, "
    more = "1 nodes without callbacks, 1 executors without callbacks, 6 things of 6 kinds"
    assert publishers + more in done.stderr
    assert "# - " in done.stdout
    assert yaml.safe_load(done.stdout)["schema"] == 1
    assert "name: /eye/timer/50ms" in convert(contract).stdout
    exported = convert("--to", "caret", FOLDER / "autoware_reference_system.yaml")
    assert yaml.safe_load(exported.stdout)["named_paths"]
    assert "not in a CARET architecture: execution times" in exported.stderr
    validator = "/**: {ros__parameters: {thresholds: {lateral: 1.0}}}\n"
    for text in ("a: 1\n", validator, "chains: [1]\n", "nodes: [1]\n", "[]\n", "[{args: 1}]\n"):
        nothing = tmp_path / "n.yaml"
        nothing.write_text(text, encoding="utf-8")
        assert "topic table. If it is, say whose with --from" in convert(nothing).stderr
    monitor = tmp_path / "m.yaml"
    monitor.write_text(LATENCY, encoding="utf-8")
    draft = convert(monitor)
    assert (draft.returncode, yaml.safe_load(draft.stdout)) == (1, None)
    assert "#     deadline_ms: 478.5" in draft.stdout
    assert "drafts of chains: 1" in draft.stderr


NAMES = (
    "/a",
    "/b",
    "/c/d",
    "/e" * 300,
    "x" * 4500,
    "1:30",
    "a\nb: c",
    "ü\u0085'\"",
    "*",
    "UNDEFINED",
)


class Plain(yaml.SafeDumper):
    """Writes what stands twice twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def dumped(content: Any) -> str:
    text: str = yaml.dump(content, Dumper=Plain)
    return text


def some(random: random.Random, most: int = 3) -> list[str]:
    return [random.choice(NAMES) for _ in range(random.randint(0, most))]


def random_caret(r: random.Random) -> dict[str, Any]:
    nodes = []
    for _ in range(r.randint(1, 4)):
        kinds = ("timer_callback", "subscription_callback", "service_callback")
        callbacks = [
            {"callback_name": f"c{i}", "callback_type": r.choices(kinds, (2, 4, 1))[0],
             "period_ns": r.choice((10**7, 10**8, 7, 10**14)), "topic_name": r.choice(NAMES)}
            for i in range(r.randint(0, 4))
        ]  # fmt: skip
        names = ["c0", "c1", "c2", "UNDEFINED"]
        passing = {"callback_name_write": r.choice(names), "callback_name_read": r.choice(names)}
        nodes.append({
            "node_name": r.choice(NAMES[:5]), "callbacks": callbacks,
            "callback_groups": [{
                "callback_group_type": r.choice(("mutually_exclusive", "reentrant")),
                "callback_group_name": r.choice(NAMES), "callback_names": r.sample(names, 2),
            }],
            "publishes": [{"topic_name": r.choice(NAMES), "callback_names": r.sample(names, 2)}
                          for _ in range(r.randint(0, 3))],
            "variable_passings": [passing] if r.random() < 0.5 else [],
            "message_contexts": [{"context_type": r.choice(("use_latest_message", "UNDEFINED")),
                                  "subscription_topic_name": r.choice(NAMES),
                                  "publisher_topic_name": r.choice(NAMES)}],
        })  # fmt: skip
    steps = [
        [{"node_name": r.choice(nodes)["node_name"], "publish_topic_name": r.choice(NAMES),
          "subscribe_topic_name": r.choice(NAMES)} for _ in range(r.randint(0, 3))]
        for _ in range(3)
    ]  # fmt: skip
    return {
        "named_paths": [{"path_name": r.choice(NAMES), "node_chain": chain} for chain in steps],
        "executors": [{"executor_type": r.choice(("single_threaded_executor", "other")),
                       "executor_name": r.choice(NAMES), "callback_group_names": some(r)}],
        "nodes": nodes,
    }  # fmt: skip


def random_contract(r: random.Random) -> dict[str, Any]:
    spans = ("60ms", "1s", 5, "0.1ns", "3000000s", "60")
    topics = ["/picture", "/idea", "/stop", *NAMES]
    return {
        "chains": {
            name: {"semantics": r.choice(("reaction", "age")), "max_latency": r.choice(spans),
                   "segments": [r.choice(({"via": r.choice(topics)}, {"path": "p", "scope": "/"}))
                                for _ in range(r.randint(0, 4))]}
            for name in {*some(r), "/chain"}
        },
        "nodes": {"n": {
            "sub": {name: {"min_rate_hz": r.choice((0, 5, 1e9)), "max_age": r.choice(("60ms", 5)),
                           "state": r.random() < 0.5} for name in some(r)},
            "paths": {
                "p": {"output": r.sample(topics, r.randint(0, 2))},
                "q": {"trigger": r.choice(({"timer": {"rate_hz": 3}}, "once", {"input": some(r)})),
                      "output": some(r), "max_latency": "60ms"},
            },
        }},
        "topics": {"/idea": {"pub": ["n//idea"]}},
    }  # fmt: skip


def random_monitor(r: random.Random) -> dict[str, Any]:
    steps = ["eye", "mind", "hand", "soul", "eye"]
    sequence = r.sample(steps, r.randint(1, 5))
    about = {"topic": "/t", "latency_multiplier": 1.0}
    inner = {
        "latency_threshold_ms": r.choice((500.0, 1e9, 0.3, 20)),
        "latency_offsets_ms": r.choice(([], [0.1], [1.5, 20.0])),
        "processing_steps": {"sequence": sequence, **dict.fromkeys(sequence, about)},
    }
    return {"/**": {"ros__parameters": inner}}


def spoilt(r: random.Random, value: Any) -> Any:
    """Return the value with something else in one place of it."""
    if r.random() < 0.2 or not isinstance(value, dict | list) or not value:
        return r.choice((None, 3, True, "text", [], {}, [[1]], {"a": 1}, -1.5))
    key = r.choice(list(value) if isinstance(value, dict) else range(len(value)))
    copy = value.copy()
    copy[key] = spoilt(r, value[key])
    return copy


@pytest.mark.parametrize("kind", ["caret", "contract", "contract alone", "monitor"])
def test_what_is_converted_is_read(kind: str, architecture: Imported) -> None:
    make, read = {
        "caret": (random_caret, from_caret),
        "contract": (random_contract, from_contract),
        "contract alone": (random_contract, from_contract),
        "monitor": (random_monitor, from_autoware),
    }[kind]
    model = architecture.content
    system = as_system(architecture)
    whole = kept = 0
    for seed in range(50):
        r = random.Random(seed)
        content = make(r)
        if seed % 2:
            content = spoilt(r, content)
        document = parse_document(dumped(content), "r.yaml")
        around = None if kind in ("caret", "contract alone") else system
        try:
            imported = read(document) if around is None else read(document, around)  # type: ignore
            check(imported, SCHEMA, around)
        except ModelError as error:
            assert "r.yaml" in str(error), (seed, error)
            continue
        again = yaml.safe_load(to_yaml(imported)) or {}
        assert again == imported.content, seed
        if around is not None:
            again = {**model, "chains": again.get("chains", [])}
        if not again:
            continue
        whole_text = parse_document(dumped(again), "again.yaml")
        found = build_system(whole_text, SCHEMA, Filler(places_too=True))
        whole += 1
        kept += bool(found.chains)
    assert whole > 20 and (kept or around is None), (whole, kept)


def test_equal_losses_are_told_once(architecture: Imported) -> None:
    for i in range(914):
        architecture.leave_out(
            ("nodes", i), f"from '/a{i}' to '/b', how", "contexts without a type"
        )
    before = len(architecture.kinds)
    assert "914 contexts without a type" in architecture.summary()
    comments = [line for line in to_yaml(architecture).splitlines() if line.startswith("# - ")]
    assert len(comments) == before
    assert comments[-1].startswith("# - 914 contexts without a type: a.yaml:")
    assert "from '/a0' to '/b'" in comments[-1]
    assert "(and 913 more like this: lines 27, 44, 50, 18," in comments[-1]
