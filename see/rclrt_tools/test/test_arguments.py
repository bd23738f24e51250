# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""In which order the words of a command may stand, and what they may be."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from pathlib import Path

import pytest
from rclrt_tools.arguments import number_from, some_of
from rclrt_tools.cli import build_parser


def parse(words: str) -> Namespace:
    return build_parser().parse_args(words.split())


@pytest.mark.parametrize(
    "words",
    [
        "watch M T U --plan P",
        "watch M --plan P T U",
        "watch --plan P M T U",
        "watch M T --plan P U",
    ],
)
def test_options_may_stand_among_models_and_traces(words: str) -> None:
    found = parse(words)
    assert (found.model, found.plan) == (Path("M"), Path("P"))
    assert found.traces == [Path("T"), Path("U")]


def test_options_of_verbs_of_verbs_may_stand_among_traces_too() -> None:
    found = build_parser().parse_args(
        ["trace", "merge", "A", "--callback", "x", "B", "--wall-clock"]
    )
    assert (found.traces, found.callback, found.wall_clock) == ([Path("A"), Path("B")], "x", True)


def test_options_of_an_observed_command_are_its_own() -> None:
    found = build_parser().parse_args(
        ["observe", "-o", "slow", "--", "ros2", "launch", "-o", "mine", "--json"]
    )
    assert found.output == Path("slow")
    assert found.command[-5:] == ["ros2", "launch", "-o", "mine", "--json"]


def test_arguments_that_nobody_knows_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("watch M --plam P", "watch", "trace info", "analyze M N", "", "fly",
                  "build --faster", "build -R x", "test --sanitize", "test --sanitize memory",
                  "test -R", "test surplus"):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            parse(words)
        assert ended.value.code == 2
    assert "unrecognized arguments: --plam" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0.4", "61", "nan", "-inf"])
def test_a_number_out_of_its_range_is_refused(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"{text} is not from 0.5 to 60 s"):
        number_from(0.5, 60, "s")(text)


def test_a_number_may_be_at_the_ends_of_its_range() -> None:
    assert [number_from(0.5, 60, "s")(text) for text in ("0.5", "60")] == [0.5, 60.0]


def test_names_come_in_the_order_of_those_known_and_once() -> None:
    chosen = some_of({"pool": 1, "events": 2, "isolated": 3})
    assert chosen("isolated,pool,isolated") == ("pool", "isolated")
    with pytest.raises(ArgumentTypeError, match="'' is none of pool, events, isolated"):
        chosen("pool,")
