# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Every verb and experiment of this tree gives help, and every command line in its texts is one."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from rclrt_tools import cli
from rclrt_tools.commands import bench

ROOT = Path(__file__).resolve().parents[3]
GENERATED = (".rclrt", "build", "install", "log", ".git")


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RCLRT_SOURCE_DIR", str(ROOT))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture(scope="module")
def parser() -> Iterator[argparse.ArgumentParser]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RCLRT_SOURCE_DIR", str(ROOT))
        patch.setattr("os.cpu_count", lambda: 1024)  # What a text says of CPUs is of its machine.
        yield cli.build_parser()


def verbs_in(
    parser: argparse.ArgumentParser, so_far: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    yield so_far, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from verbs_in(inner, (*so_far, name))


def test_every_verb_and_every_verb_of_a_verb_gives_help(parser: argparse.ArgumentParser) -> None:
    found = dict(verbs_in(parser))
    assert {("bench", name) for name in bench.experiments()} < found.keys()
    assert {("trace", "record"), ("test",), ("scx",), ("help",)} < found.keys()
    for words, verb in found.items():
        text = verb.format_help()
        assert text.startswith(f"usage: {' '.join(('./rclrt', *words))}"), words
        assert "%(" not in text and "%%" not in text, words
        assert not words or (verb.description or "").strip() or words[0] == "trace", words


@pytest.mark.parametrize("words", ["--version", "--help", "help", "help bench", "help trace info"])
def test_help_is_printed(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words.split())
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert re.fullmatch(r"rclrt \d+\.\d+\.\d+\n", said) or said.startswith("usage: ./rclrt")
    if words == "help bench":
        assert all(name in said for name in bench.experiments())


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("tset", "test"),
        ("trace recrod", "record"),
        ("bench seven-tiemrs", "seven-timers"),
        ("help analyse", "analyze"),
        ("build --sanitize=adress", "address"),
    ],
)
def test_a_mistyped_word_gets_a_suggestion(
    words: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words.split())
    assert ended.value.code == 2
    assert f"Did you mean '{meant}'?" in capsys.readouterr().err


def needs_of(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["--check", *words.split()]) == 0
    return capsys.readouterr().out.strip()


def test_a_verb_says_what_is_built_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("analyze m", "watch m", "top", "trace model t", "trace list", "bench table-1"):
        assert needs_of(words, capsys) == "", words
    assert needs_of("watch m --diagnostics", capsys) == "rclpy"
    targets = {
        "demo": "rclrt_reference_system",
        "bench dispatch": "rclrt_programs",
        "model calibrate": "cost_of_a_job",
        "observe -- x": "rclrt_probe",
        "carry -- x": "rclrt_carry",
    }
    lists = [ROOT / "CMakeLists.txt", *ROOT.glob("[!b.]*/rclrt_*/**/CMakeLists.txt")]
    made = "".join(path.read_text("utf-8") for path in lists)
    for words, target in targets.items():
        assert needs_of(words, capsys) == target
        assert re.search(rf"(add_\w*|add_custom_target)\({target}\b", made), target


def test_the_status_of_an_experiment_is_that_of_the_command(
    parser: argparse.ArgumentParser,
) -> None:
    arguments = parser.parse_args(["bench", "table-1"])
    arguments.name_module = SimpleNamespace(run=lambda _: 7)
    assert cli.run(arguments) == 7


CALL = re.compile(r"\s*(?:\$ )?(?:sudo )?(?:[A-Z_]+=\S+ )*(?:\./rclrt|rclrt(?= scx)) (?=[a-z-])")


def command_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield what stands after `./rclrt` in code, and whether that is a line of a sentence."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.M | re.S)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    blocks += re.findall(r"^ {4}.*$", rest, re.M)
    spans = [" ".join(words.split()) for words in re.findall(r"`([^`]+)`", rest)]
    for block in blocks + spans:
        for line in re.split(r"\n|&&", block.replace("\\\n", " ")):
            if start := CALL.match(line):
                line = re.sub(r"\s#.*|\s[|>].*|;.*", "", line[start.end() :])
                yield line.replace("NAME", "table-1"), block in spans


def texts() -> Iterator[Path]:
    for path in ROOT.glob("**/*.md"):
        if path.relative_to(ROOT).parts[0].partition("-")[0] not in GENERATED:
            yield path


def test_every_command_line_in_a_text_is_one(
    parser: argparse.ArgumentParser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    of_scx = (ROOT / "kernel/rclrt_scx" / "src" / "main.cpp").read_text("utf-8")
    wrong, count = [], 0
    for path in texts():
        for line, in_sentence in command_lines(path.read_text("utf-8")):
            count += 1
            words = shlex.split(line)
            for word in words:  # The files that it names.
                if re.fullmatch(r"[\w/]+\.\w+", word) and not word.startswith("/"):
                    (tmp_path / word).parent.mkdir(parents=True, exist_ok=True)
                    (tmp_path / word).touch()
            try:
                parser.parse_args(words)
                if words[0] == "scx":
                    known = [w for w in words[1:] if w == words[1] or w.startswith("--")]
                    assert all(re.search(rf"[\s\"]{word}\b", of_scx) for word in known), line
            except SystemExit as ended:
                said = capsys.readouterr().err
                # A sentence may name a verb and an option without what follows.
                left_out = re.search("are required: |expected (one|at least one) argument", said)
                if ended.code and not (in_sentence and left_out):
                    wrong.append(f"{path.relative_to(ROOT)}: {line}\n{said}")
    assert not wrong, "\n".join(wrong)
    assert count > 100, "the texts are not as this test takes them"


def test_a_text_with_a_wrong_command_line_is_found() -> None:
    text = "a `./rclrt trace\ninfo x` b\n```\n$ sudo ./rclrt scx load \\\n  --group g  # c\n```\n"
    assert list(command_lines(text)) == [("scx load    --group g ", False), ("trace info x", True)]


def test_to_list_experiments_builds_nothing(parser: argparse.ArgumentParser) -> None:
    assert bench.needs(parser.parse_args(["bench", "all", "--list"])) == ()
    assert bench.needs(parser.parse_args(["bench", "all"])) == ("rclrt_programs",)
