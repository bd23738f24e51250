# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The wheel of the tree, installed in a folder of its own and used from another one."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rclrt_tools.cli import GROUPS

ROOT = Path(__file__).resolve().parents[3]
MODEL = ROOT / "try/rclrt_scenarios/models/teper_seven_timers_60.yaml"
PACKAGES = (ROOT / "see/rclrt_tools/src", ROOT / "prove/rclrt_analysis/src")
BUILDS = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"]
INSTALLS = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target"]

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("pip") and importlib.util.find_spec("hatchling")),
    reason="pip or hatchling is not installed: no wheel is built",
)


@pytest.fixture(scope="module", name="installed")
def install(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([*BUILDS, folder], cwd=ROOT, check=True, capture_output=True, timeout=100)
    (wheel,) = folder.glob("rclrt-*-py3-none-any.whl")
    subprocess.run([*INSTALLS, folder, wheel], check=True, capture_output=True, timeout=100)
    return folder


def rclrt(installed: Path, here: Path, words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command, where nothing of the tree is in sight, in a folder."""
    kept = {k: v for k, v in os.environ.items() if "RCLRT" not in k and "PREFIX_PATH" not in k}
    return subprocess.run(
        [installed / "bin/rclrt", *words.split()], capture_output=True, text=True, check=False,
        timeout=100, cwd=here, env={**kept, "PYTHONPATH": str(installed), **more},
    )  # fmt: skip


def test_it_has_every_file_and_says_what_it_needs(installed: Path, tmp_path: Path) -> None:
    for package in PACKAGES:
        files = (p for p in package.glob("rclrt_*/**/*") if p.is_file() and p.suffix != ".pyc")
        missing = [p for p in files if not (installed / p.relative_to(package)).exists()]
        assert not missing
    metadata = next(installed.glob("rclrt-*.dist-info")) / "METADATA"
    needed = re.findall(r"^Requires-Dist: (\w+)[^;\n]*$", metadata.read_text("utf-8"), re.M)
    assert needed == ["jinja2", "jsonschema", "numpy", "pyyaml", "textual"]
    control = (ROOT / "debian/control").read_text(encoding="utf-8").partition(": rclrt-tools\n")[2]
    debian = re.findall(r"\bpython3-(\w+)", control.partition("Suggests:")[0])
    assert {*debian} == {name.replace("pyyaml", "yaml") for name in needed}
    version = (ROOT / "tools/VERSION").read_text(encoding="utf-8")
    assert rclrt(installed, tmp_path, "--version").stdout == f"rclrt {version}"


def test_every_verb_has_help_by_the_name_of_the_command(installed: Path, tmp_path: Path) -> None:
    done = rclrt(installed, tmp_path, "help")
    assert done.returncode == 0, done.stderr
    verbs = [verb for verbs in GROUPS.values() for verb in verbs]
    assert set(re.findall(r"^    (\w+) +\S", done.stdout, re.M)) == set(verbs)
    for verb in verbs:
        done = rclrt(installed, tmp_path, f"{verb} --help")
        assert done.returncode == 0, done.stderr
        assert f"usage: rclrt {verb} " in done.stdout
        assert "./rclrt " not in done.stdout


def test_it_analyses_and_plans_a_file(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_bytes(MODEL.read_bytes())
    done = rclrt(installed, tmp_path, "analyze robot.yaml --html page.html")
    assert done.returncode == 0, done.stderr
    assert "<!doctype html>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    done = rclrt(installed, tmp_path, "model simulate robot.yaml --trace traces")
    assert done.returncode in (0, 1), done.stderr


def test_the_doctor_needs_no_tree(installed: Path, tmp_path: Path) -> None:
    done = rclrt(installed, tmp_path, "doctor sh")
    assert done.returncode in (0, 1), done.stderr
    assert "Measured here\n  an ordinary thread woke up" in done.stdout
    assert "./rclrt" not in rclrt(installed, tmp_path, "doctor --fix").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("demo", "rclrt demo needs the C++ part of rclrt, which is not installed here: run"),
        ("run --params x -- true", "rclrt run needs the C++ part"),
        ("model calibrate", "rclrt model calibrate needs the C++ part"),
        ("bench all", "rclrt bench needs a clone of the repository: run ./rclrt bench in it"),
        ("build", "rclrt build needs a clone of the repository"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(
    installed: Path, tmp_path: Path, words: str, says: str
) -> None:
    done = rclrt(installed, tmp_path, words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1


def test_in_a_tree_the_script_does_it(installed: Path, tmp_path: Path) -> None:
    inside = tmp_path / "see/rclrt_tools"
    inside.mkdir(parents=True)
    (inside / "setup.py").touch()
    (tmp_path / "rclrt").write_text('#!/bin/sh\necho "the script: $*"\n', encoding="utf-8")
    (tmp_path / "rclrt").chmod(0o755)
    assert rclrt(installed, inside, "demo --load quiet").stdout == "the script: demo --load quiet\n"
    assert rclrt(installed, inside, "test -R x").stdout == "the script: test -R x\n"


def test_a_sourced_installation_is_used(installed: Path, tmp_path: Path) -> None:
    programs = ("rclrt_reference_system/rclrt_reference_system", "rclrt_scx/scx")
    for name in (*programs, "librclrt_run.so"):
        program = tmp_path / "lib" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\necho 'of the installation' >&2; exit 7\n", encoding="utf-8")
        program.chmod(0o755)
    scenario = tmp_path / "share/rclrt_scenarios/autoware_reference_system.yaml"
    scenario.parent.mkdir(parents=True)
    scenario.touch()
    done = rclrt(installed, tmp_path, "demo --load quiet", AMENT_PREFIX_PATH=str(tmp_path))
    assert "of the installation" in done.stderr
    done = rclrt(installed, tmp_path, "scx --version", AMENT_PREFIX_PATH=str(tmp_path))
    assert "of the installation" in done.stderr
    done = rclrt(installed, tmp_path, "run -- sh -c true", AMENT_PREFIX_PATH=str(tmp_path))
    assert "needs" not in done.stderr


@pytest.mark.parametrize(
    ("line", "among"),
    [
        ("", "watch"),
        ("rclrt an", "analyze"),
        ("rclrt trace ", "advise"),
        ("rclrt trace export --per", "--perfetto"),
        ("rclrt analyze --method ", "paper"),
    ],
)
def test_the_shell_can_ask_what_may_follow(
    installed: Path, tmp_path: Path, line: str, among: str
) -> None:
    said = {"COMP_LINE": f"{line} x", "COMP_POINT": str(len(line))} if line else {}
    done = rclrt(installed, tmp_path, "--complete", **said)
    assert f"{among} " in done.stdout.splitlines(), done.stderr
    text = (installed / "share/bash-completion/completions/rclrt").read_text(encoding="utf-8")
    assert "complete -o default -C 'rclrt --complete' rclrt\n" in text
