# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What `./rclrt` promises about its arguments, and that it installs only what is missing.

Each test runs a copy of the script in a tree of its own, with stand-ins for the programs that would
install or build. The stand-ins write down how they were called.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# A venv is a folder with a python3 and a pip; anything else a stand-in is asked for succeeds.
FAKE_PYTHON = """#!/bin/sh
echo "python3 $*" >>"$CALLS"
if [ "$1 $2" = "-m venv" ]; then
  for folder; do :; done
  mkdir -p "$folder/bin" && ln -s "$0" "$folder/bin/python3"
  echo "#!$folder/bin/python3" >"$folder/bin/pip"
fi
"""
FAKE_CMAKE = """#!/bin/sh
echo "cmake $*" >>"$CALLS"
while [ $# -gt 0 ]; do
  if [ "$1" = -B ]; then mkdir -p "$2" && touch "$2/build.ninja"; fi
  shift
done
"""
FAKE_NINJA = """#!/bin/sh
echo "ninja: no work to do."
"""
# All but the names in $MISSING are installed, and the distribution has all but those in $UNKNOWN.
FAKE_DPKG = """#!/bin/sh
for name; do
  case "$name ${MISSING:-} " in -*) ;; *" $name "*) ;; *) echo "$name installed" ;; esac
done
"""
FAKE_APT_CACHE = """#!/bin/sh
for name; do
  case "$name ${UNKNOWN:-} show " in -*) ;; *" $name "*) ;; *) echo "Package: $name" ;; esac
done
"""
FAKE = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLS"
exit "${STATUS:-0}"
"""


class Tree:
    """A copy of the script among stand-ins for everything it calls."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.bin = folder / "bin"
        self.calls_file = folder / "calls"
        self.root.mkdir()
        self.bin.mkdir()
        shutil.copytree(ROOT / "requirements", self.root / "requirements")
        script = (ROOT / "rclrt").read_text()
        (self.root / "rclrt").write_text(script.replace("/usr/bin/python3", f"{self.bin}/python3"))
        (self.root / "rclrt").chmod(0o755)
        for name, text in {
            "python3": FAKE_PYTHON,
            "cmake": FAKE_CMAKE,
            "ninja": FAKE_NINJA,
            "dpkg-query": FAKE_DPKG,
            "ctest": FAKE,
            "apt-get": FAKE,
            "apt-cache": FAKE_APT_CACHE,
        }.items():
            self.program(name, text)

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        self.calls_file.write_text("")
        inherited = {key: value for key, value in os.environ.items() if key != "AMENT_PREFIX_PATH"}
        return subprocess.run(
            [self.root / "rclrt", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={
                **inherited,
                "PATH": f"{self.bin}:{os.environ['PATH']}",
                "CALLS": str(self.calls_file),
                **environment,
            },
        )

    def calls(self, program: str) -> list[str]:
        lines = self.calls_file.read_text().splitlines()
        return [line for line in lines if line.startswith(f"{program} ")]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["help", "me"],
        ["build", "--faster"],
        ["build", "-R", "x"],
        ["test", "--sanitize"],
        ["test", "--sanitize", "memory"],
        ["test", "-R"],
        ["test", "surplus"],
    ],
)
def test_wrong_arguments_print_the_usage_and_exit_with_2(tree: Tree, arguments: list[str]) -> None:
    result = tree.run(*arguments)
    assert result.returncode == 2
    assert "usage: ./rclrt" in result.stderr
    assert result.stdout == ""
    assert not (tree.root / ".rclrt").exists()


VERBS = (
    "demo",
    "bench",
    "analyze",
    "plan",
    "explain",
    "simulate",
    "model",
    "trace",
    "convert",
    "template",
    "order",
    "test",
    "scx",
    "build",
    "help",
)


def test_help_names_every_verb(tree: Tree) -> None:
    result = tree.run("help")
    assert result.returncode == 0
    for verb in VERBS:
        assert f"\n  {verb} " in result.stdout


@pytest.mark.parametrize(
    "verb", ["demo", "bench table-1", "analyze m", "order t", "trace info t", "demo --help"]
)
def test_arguments_are_read_by_a_python_that_has_nothing_installed(verb: str) -> None:
    root = Path(__file__).parents[2]
    python = [sys.executable, "-I", "-S", "-c"]
    read = f"import sys; sys.path.insert(0, '{root}/rclrt_analysis/src')"
    read += "; from rclrt_analysis.cli import build_parser; build_parser().parse_args(sys.argv[1:])"
    done = subprocess.run(
        [*python, read, *verb.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "builds"),
    [
        ("waters", False),
        ("analysis-speed", False),
        ("page", False),
        ("trace-speed", False),
        ("top-cost", False),
        ("memory", True),
    ],
)
def test_experiments_with_the_analysis_alone_build_nothing(
    tree: Tree, name: str, builds: bool
) -> None:
    result = tree.run("bench", name)
    assert result.returncode == 0, result.stderr
    assert bool(tree.calls("cmake")) == builds


def test_wrong_arguments_of_a_python_verb_stop_before_anything_is_installed(tree: Tree) -> None:
    tree.program("python3", '#!/bin/sh\necho "python3 $*" >>"$CALLS"\nexit 2\n')
    result = tree.run("demo", "--nonsense")
    assert result.returncode == 2
    assert tree.calls("python3") == ["python3 -m rclrt_analysis.cli --check demo --nonsense"]
    assert not (tree.root / ".rclrt").exists()


def test_a_signal_to_the_script_ends_the_python_it_runs(tree: Tree) -> None:
    python = FAKE_PYTHON + '[ "$3" = demo ] && echo $$ && exec sleep 60\nexit 0\n'
    tree.program("python3", python)
    environment = dict(os.environ, PATH=f"{tree.bin}:{os.environ['PATH']}")
    environment.pop("AMENT_PREFIX_PATH", None)
    environment["CALLS"] = str(tree.calls_file)
    with subprocess.Popen(
        [tree.root / "rclrt", "demo"], stdout=subprocess.PIPE, text=True, env=environment
    ) as script:
        assert script.stdout is not None
        assert int(script.stdout.readline()) == script.pid
        script.send_signal(signal.SIGTERM)
        assert script.wait(timeout=30) == -signal.SIGTERM


def test_a_moved_tree_gets_a_new_python_environment(tree: Tree) -> None:
    tree.run("build")
    tree.root = tree.root.rename(tree.root.with_name("moved"))
    assert tree.run("build").returncode == 0
    assert len([call for call in tree.calls("python3") if "-m venv" in call]) == 1


def test_a_second_start_installs_and_configures_nothing(tree: Tree) -> None:
    first = tree.run("build")
    assert first.returncode == 0, first.stderr
    assert len(tree.calls("cmake")) == 1
    assert any("-m pip install" in call for call in tree.calls("python3"))
    second = tree.run("build")
    assert second.returncode == 0
    assert second.stderr == ""
    assert tree.calls_file.read_text() == ""


def test_changed_requirements_are_installed_again(tree: Tree) -> None:
    tree.run("build")
    with (tree.root / "requirements" / "run.txt").open("a") as file:
        file.write("another==1.0\n")
    result = tree.run("build")
    assert result.returncode == 0
    assert len([call for call in tree.calls("python3") if "run.txt" in call]) == 1
    assert not [call for call in tree.calls("python3") if "ros.txt" in call]


def test_a_sourced_ros_is_used_instead_of_the_one_from_pypi(tree: Tree, tmp_path: Path) -> None:
    config = tmp_path / "ros" / "share" / "rcl" / "cmake" / "rclConfig.cmake"
    config.parent.mkdir(parents=True)
    config.touch()
    result = tree.run("build", AMENT_PREFIX_PATH=f"/nowhere:{tmp_path}/ros")
    assert result.returncode == 0, result.stderr
    assert not [call for call in tree.calls("python3") if "ros.txt" in call]
    assert f"{tree.root}/.rclrt/venv-sourced" in tree.calls("cmake")[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="installing packages needs root")
def test_root_installs_exactly_the_missing_packages(tree: Tree) -> None:
    result = tree.run("build", MISSING="ninja-build")
    assert result.returncode == 0, result.stderr
    assert tree.calls("apt-get")[-1] == ("apt-get install -y --no-install-recommends ninja-build")


OLD = "clang-16 libclang-rt-16-dev"
NEW = "clang-19 libclang-rt-19-dev"
OTHERS = "clang-18 libclang-rt-18-dev clang-17 libclang-rt-17-dev"


@pytest.mark.skipif(os.geteuid() != 0, reason="installing packages needs root")
@pytest.mark.parametrize(
    ("unknown", "installed"),
    [("", OLD), (OLD, NEW), ("libclang-rt-16-dev", NEW), (f"{OLD} {NEW} {OTHERS}", OLD)],
    ids=["all", "the newer", "half of the older", "none, so that apt-get names the first"],
)
def test_of_alternatives_the_first_that_the_distribution_has_is_installed(
    tree: Tree, unknown: str, installed: str
) -> None:
    result = tree.run("test", MISSING=f"{OLD} {NEW} {OTHERS}", UNKNOWN=unknown)
    assert result.returncode == 0, result.stderr
    assert tree.calls("apt-get") == [
        "apt-get update",
        f"apt-get install -y --no-install-recommends {installed}",
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="installing packages needs root")
@pytest.mark.parametrize(
    ("missing", "installed"),
    [
        (f"{OLD} {OTHERS}", []),
        (f"clang-16 {NEW} {OTHERS}", ["clang-16"]),
    ],
    ids=["a later one whole", "half of one"],
)
def test_an_installed_alternative_will_do(tree: Tree, missing: str, installed: list[str]) -> None:
    result = tree.run("test", MISSING=missing)
    assert result.returncode == 0, result.stderr
    command = "apt-get install -y --no-install-recommends "
    assert tree.calls("apt-get")[1:] == [command + name for name in installed]


def test_without_root_the_exact_line_is_printed(tree: Tree) -> None:
    tree.program("id", "#!/bin/sh\necho 1000\n")
    tree.program("sudo", "#!/bin/sh\nexit 1\n")
    result = tree.run("build", MISSING="ninja-build")
    assert result.returncode == 1
    assert (
        "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ninja-build\n"
        in result.stderr
    )
    assert tree.calls("apt-get") == []


def test_a_failed_installation_shows_its_output_and_is_tried_again(tree: Tree) -> None:
    tree.program("cmake", "#!/bin/sh\necho no compiler found\nexit 1\n")
    result = tree.run("build")
    assert result.returncode == 1
    assert "no compiler found" in result.stderr
    tree.program("cmake", FAKE_CMAKE)
    assert tree.run("build").returncode == 0
    assert len(tree.calls("cmake")) == 1


def test_an_analysis_needs_no_build(tree: Tree) -> None:
    assert tree.run("analyze", "model.yaml").returncode == 0
    assert not tree.calls("cmake")
    assert tree.calls("python3")[-1] == "python3 -m rclrt_analysis.cli analyze model.yaml"


def test_the_regular_expressions_reach_ctest_and_its_status_comes_back(tree: Tree) -> None:
    result = tree.run("test", "--sanitize", "address", "-R", "so.*", "-E", "b", STATUS="8")
    assert result.returncode == 8
    assert tree.calls("ctest")[0].endswith("-R so.* -E b")
    assert "-DRCLRT_SANITIZE=address" in tree.calls("cmake")[0]
    assert "build-address" in tree.calls("ctest")[0]


def test_the_reason_of_a_skip_is_printed_and_the_summary_last(tree: Tree) -> None:
    tree.run("build")
    summary = tree.root / "build" / "Testing" / "summary.log"
    log = tree.root / "build" / "Testing" / "Temporary" / "LastTest.log"
    log.parent.mkdir(parents=True)
    summary.write_text("100% tests passed, 0 tests failed out of 2\n\nTotal Test time\n")
    log.write_text(
        "1/2 Test: core.a_test\n[ RUN      ] a_test\nfile.cpp:3: Skipped\nno permission\n\n"
        "2/2 Test: tools\nSKIPPED [1] test_x.py:7: needs root\n"
    )
    result = tree.run("test")
    assert result.returncode == 0
    assert "skipped core.a_test: no permission\n" in result.stdout
    assert "skipped [1] test_x.py:7: needs root\n" in result.stdout
    assert result.stdout.endswith("100% tests passed, 0 tests failed out of 2\n")
