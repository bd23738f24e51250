# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Every verb and experiment of this tree gives help, and every command line in its texts is one."""

import argparse
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from models import ROOT, SCHEMA
from rclrt_analysis.plan.openings import read_open
from rclrt_tools import cli, preload
from rclrt_tools.arguments import number_from, some_of
from rclrt_tools.cli import build_parser, main
from rclrt_tools.commands import bench
from rclrt_tools.watch.text import to_text
from rclrt_tools.watch.watch import Watch

TIMERS = ROOT / "try/rclrt_scenarios/models/teper_seven_timers_60.yaml"
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


def test_every_verb_and_every_verb_of_a_verb_gives_help_that_fits_a_terminal(
    parser: argparse.ArgumentParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = dict(verbs_in(parser))
    assert {("bench", name) for name in bench.experiments()} < found.keys()
    assert {("trace", "record"), ("test",), ("scx",), ("apply",)} < found.keys()
    monkeypatch.setenv("COLUMNS", "80")
    for words, verb in found.items():
        text = verb.format_help()
        assert max(map(len, text.splitlines())) <= 80, words
        assert text.startswith(f"usage: {' '.join(('./rclrt', *words))}"), words
        assert "%(" not in text and "%%" not in text, words
        assert (verb.description or "").strip(), words


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
        ("explain", "model explain"),
        ("order", "trace order"),
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
    for words in (
        "analyze m",
        "top",
        "trace model t",
        "trace page t",
        "trace list",
        "bench table-1",
    ):
        assert needs_of(words, capsys) == "", words
    targets = {
        "demo": "rclrt_reference_system",
        "bench dispatch": "rclrt_programs",
        "model calibrate": "cost_of_a_job",
        "observe --params p -- x": "rclrt_run rclrt_stock",
        "run -- x": "rclrt_run",
        "watch m --diagnostics": "rclrt_watch",
        "top --model m": "rclrt_watch",
        "trace page t --model m": "rclrt_watch",
        "model simulate m --html p.html": "rclrt_watch",
        "run --params p -- x": "rclrt_run rclrt_stock",
    }
    lists = [ROOT / "CMakeLists.txt", *ROOT.glob("[!b.]*/rclrt_*/**/CMakeLists.txt")]
    made = "".join(path.read_text("utf-8") for path in lists)
    for words, target in targets.items():
        assert needs_of(words, capsys).split() == target.split()
        for name in target.split():
            assert re.search(rf"(add_\w*|add_custom_target)\({name}\b", made), name


def test_an_installation_that_is_sourced_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("librclrt_run.so", "librclrt_stock-9.9.so"):
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "lib" / name).touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path}")
    for words in ("run --params p -- x", "observe -- x"):
        assert needs_of(words, capsys) == "", words
    assert preload.found() == tmp_path / "lib" / "librclrt_run.so"
    assert preload.found("librclrt_stock-*.so") == tmp_path / "lib" / "librclrt_stock-9.9.so"


def test_the_status_of_an_experiment_is_that_of_the_command(
    parser: argparse.ArgumentParser,
) -> None:
    arguments = parser.parse_args(["bench", "table-1"])
    arguments.name_module = SimpleNamespace(run=lambda _: 7)
    assert cli.run(arguments) == 7


# Threads have names like `rclrt budgets`.
CALL = re.compile(r"\s*(?:\$ )?(?:sudo )?(?:[A-Z_]+=\S+ )*(?:\./)?rclrt (?=[a-z-])(?!budgets)")


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
        first = path.relative_to(ROOT).parts[0]
        # A changelog also has the names that verbs no longer have.
        if first.partition("-")[0] not in GENERATED and path.name != "CHANGELOG.md":
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
        ["trace", "print", "A", "--callback", "x", "B", "--wall-clock"]
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
    assert "rclrt watch: error: unrecognized arguments: --plam" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("watch M --for never", "'never' is not a time such as 60s, 5m or 1h"),
        ("trace record --for x", "argument --for: 'x' is no number"),
        ("plan M --time 2.5", "argument --time: '2.5' is no whole number"),
        ("top --size 80", "'80' is no size such as 80x24"),
        ("model calibrate --cpus 0,-1", "'0,-1' is no list of CPUs such as 0,1"),
        ("trace list surplus", "usage: ./rclrt trace list [-h]\n"),
        ("", "\n    watch     Hold what runs"),
        ("--nonsense", "unrecognized arguments: --nonsense"),
        (f"analyze {TIMERS} --json /dev/full", "the output: No space left on device"),
    ],
)
def test_what_is_wrong_is_said_by_the_verb_and_not_by_python(
    words: str, says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(words.split())
    except SystemExit as ended:
        status = int(ended.code or 0)
    assert status == 2
    assert says in capfd.readouterr().err


def test_no_option_answers_with_the_name_of_a_function(parser: argparse.ArgumentParser) -> None:
    typed = [(v, a) for _, v in verbs_in(parser) for a in v._actions if a.type not in (None, Path)]
    assert len(typed) > 40
    for verb, action in typed:
        try:
            verb._get_value(action, "%")
        except argparse.ArgumentError as error:
            assert not error.message.startswith("invalid ")


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


# `ros2 rt`, as ros2cli calls it: what that does with a command, once its arguments select it.
AS_ROS2CLI = """
import argparse, importlib, sys
module, name = sys.argv[1].split(":")
extension = getattr(importlib.import_module(module), name)()
parser = argparse.ArgumentParser(prog="ros2")
command = parser.add_subparsers(dest="command").add_parser("rt")
command.set_defaults(_command=extension)
extension.add_arguments(command, "ros2 rt")
arguments = parser.parse_args(["rt", *sys.argv[2:]])
sys.exit(arguments._command.main(parser=parser, args=arguments))
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    paths = [*sys.path]
    if importlib.util.find_spec("ros2cli") is None:
        folder = tmp_path / "stand_in" / "ros2cli"
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
        (folder / "command.py").write_text("class CommandExtension: pass\n", encoding="utf-8")
        paths.insert(0, str(folder.parent))
    return {**os.environ, "PYTHONPATH": ":".join(paths)}


def call(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    setup = (ROOT / "see/rclrt_tools" / "setup.py").read_text(encoding="utf-8")
    entry = re.search(r'"ros2cli.command": \["rt = ([\w.:]+)"\]', setup)
    assert entry is not None
    return subprocess.run(
        [sys.executable, "-c", AS_ROS2CLI, entry[1], *arguments],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_its_verbs_do_what_those_of_rclrt_do(environment: dict[str, str], tmp_path: Path) -> None:
    done = call(environment, "list")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("program ")
    for verb in (("top", "--json"), ("top", "--once"), ("findings",)):
        done = call(environment, *verb, "--for", "0.1", "no such program")
        assert done.returncode == 1
        assert "no executor runs" in done.stderr
    assert call(environment, "findings", "--for", "0.1", "none").stdout == "no findings\n"
    done = call(environment, "trace", "info", str(tmp_path / "none.trace"))
    assert done.returncode == 2
    assert "No such file" in done.stderr
    done = call(environment, "doctor", "no/such/program")
    assert done.returncode == 2
    assert "no program" in done.stderr


def test_without_a_verb_it_says_which_there_are(environment: dict[str, str]) -> None:
    done = call(environment)
    assert done.returncode == 2
    assert "usage: ros2 rt" in done.stderr
    assert "findings" in call(environment, "--help").stdout


# As ros2doctor calls a check; what it has for checks is a stand-in of the same names.
AS_ROS2DOCTOR = """
import importlib, sys, types
names = ("ros2doctor", "ros2doctor.api", "ros2doctor.api.format")
doctor, api, form = (sys.modules.setdefault(name, types.ModuleType(name)) for name in names)
class Result:
    warning = error = 0
    def add_warning(self): self.warning += 1
api.DoctorCheck, api.Result, form.doctor_warn = object, Result, print
module, name = sys.argv[1].split(":")
import rclrt_tools.doctor as looked
looked.measure = lambda: looked.Costs(None, None, None, None, None)
check = getattr(importlib.import_module(module), name)()
import rclrt_tools.ros2_doctor as ours
mend = looked.Finding("quota", looked.MEND, "may use half a CPU", "it waits")
ours.examine = lambda *_: [mend, looked.Finding("x", looked.NOTE, "never said")]
result = check.check()
print(check.category(), result.warning, result.error)
"""


def test_ros2_doctor_is_told_what_is_to_be_mended(environment: dict[str, str]) -> None:
    of_wheel = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    of_colcon = (ROOT / "see/rclrt_tools/setup.py").read_text(encoding="utf-8")
    (entry,) = re.findall(r'"ros2doctor.checks": \["RealTimeCheck = ([\w.:]+)"\]', of_colcon)
    assert f'[project.entry-points."ros2doctor.checks"]\nRealTimeCheck = "{entry}"\n' in of_wheel
    done = subprocess.run(
        [sys.executable, "-c", AS_ROS2DOCTOR, entry],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "may use half a CPU (it waits). What mends it: ros2 rt doctor",
        "real-time 1 0",
    ], done.stderr


FOLDER = ROOT / "docs" / "tutorials"
TUTORIAL = (FOLDER / "deadlines.md").read_text(encoding="utf-8")


def commands() -> list[tuple[list[str], list[str]]]:
    """Return each command of ./rclrt, and the lines that it prints."""
    found: list[tuple[list[str], list[str]]] = []
    shown: list[str] = []
    for line in TUTORIAL.splitlines():
        if line.startswith("```"):
            shown = []  # What follows belongs to no command.
        elif line.startswith("$ ./rclrt "):
            words = shlex.split(line.replace("$PROGRAM", "program").partition(" > ")[0])
            shown = []
            found.append((words[2:], shown))
        elif line != "...":
            shown.append(line)
    return found


def test_every_command_of_the_tutorial_is_one() -> None:
    verbs = [words[0] for words, _ in commands()]
    assert verbs == ["observe", "trace", "trace", "model", "plan", "watch", "model"]
    for words, _ in commands():
        build_parser().parse_args(words)


def test_the_tutorial_shows_what_plan_and_explain_print(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RCLRT_SOURCE_DIR", str(ROOT))
    monkeypatch.chdir(tmp_path)
    shutil.copy(FOLDER / "robot.yaml", tmp_path)
    for words, shown in commands():
        if words[0] != "plan" and "explain" not in words:
            continue
        more = ["--time", "300"] if words[0] == "plan" else []
        assert main([*words, *more]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert len(shown) >= 8
        assert [line for line in shown if line not in printed] == []


def test_the_tutorial_shows_what_watch_prints() -> None:
    """The times are of a machine; the columns, and what can be so, are of the command."""
    shown = next(lines for words, lines in commands() if words[0] == "watch")
    watch = Watch(read_open(FOLDER / "robot.yaml", SCHEMA).system)
    printed = to_text(watch).splitlines()
    assert shown[0].split() == printed[0].split()
    names = [line.split()[0] for line in printed[1:3]]
    assert [line.split()[0] for line in shown[1:3]] == names
    fields = [re.split(r"  +", line) for line in shown[1:3]]
    # What has instances has times, and what has none is not OK.
    assert all((f[-2] != "0") == (f[4] != "-") == (f[1] == "OK") for f in fields), fields


def test_the_tutorial_quotes_its_model() -> None:
    model = (FOLDER / "robot.yaml").read_text(encoding="utf-8").splitlines()
    quoted = [
        line
        for block in re.findall(r"^```yaml\n(.*?)^```", TUTORIAL, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
        if not line.endswith("...]")
    ]
    assert len(quoted) > 15
    assert [line for line in quoted if line not in model] == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "No such file"),
        ("a: [", "not YAML"),
        ("a: {ros__parameters: {b: 1}}", "has an entry 'rclrt'"),
        ("1", "has an entry 'rclrt'"),
    ],
)
def test_run_refuses_a_file_of_which_nothing_would_be_used(
    tmp_path: Path, text: str | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    params = tmp_path / "robot.yaml"
    if text is not None:
        params.write_text(text, encoding="utf-8")
    assert cli.main(["run", "--params", str(params), "--", "true"]) == 126
    assert f"{params}: " in (error := capsys.readouterr().err)
    assert why in error
