# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""librclrt_run in programs of a fake rclcpp: what is served, what is not, what the user is told."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

BUILD = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_probe"
RUN = BUILD / "librclrt_run.so"
PREFIX = BUILD / "fake_prefix"

FUNCTIONS = ("add_node", "single", "spin_some", "spin_once", "destroy")
OURS = ("add_node", "spin", "spin_some", "spin_once", "destroy")
THEIRS = [f"theirs: {name}" for name in FUNCTIONS]
TOLD = "rclrt: this program runs as without rclrt: "


def start(program: Path | str, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
    # A sourced ROS 2 names the real rclcpp there.
    given = {**os.environ, "LD_LIBRARY_PATH": "", "LD_PRELOAD": str(RUN), **variables}
    return subprocess.run(
        [program, *arguments], env=given, capture_output=True, text=True, timeout=60, check=False
    )


def test_each_function_of_an_executor_is_served() -> None:
    done = start(BUILD / "fake_spinning", RCLRT_RUN=str(PREFIX / "lib"))
    served = [f"ours: {name}" for name in OURS]
    kept = ["theirs: add_node", "theirs: destroy"]  # rclcpp's work is done, too
    expected = [served[0], kept[0], *served[1:], kept[1]]
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == (expected, "", 0)


@pytest.mark.parametrize(
    ("script", "served"),
    [
        ('"$0" & "$0"; wait; exec "$0"', 3),
        ('exec env sh -c "exec $0"', 1),
        ('for i in $(seq 30); do "$0" & done; wait', 30),
    ],
)
def test_every_process_that_a_program_starts_or_becomes_is_served(script: str, served: int) -> None:
    program = str(BUILD / "fake_spinning")
    done = start("sh", "-c", script, program, RCLRT_RUN=str(PREFIX / "lib"))
    assert (done.stdout.count("ours: spin\n"), done.stderr) == (served, "")
    assert "theirs: single" not in done.stdout


def test_an_executor_that_is_declined_is_rclcpps() -> None:
    done = start(BUILD / "fake_spinning", RCLRT_RUN=str(PREFIX / "lib"), FAKE_DECLINES="1")
    assert [line for line in done.stdout.splitlines() if "theirs" in line] == THEIRS


@pytest.mark.parametrize("declines", [{}, {"FAKE_DECLINES": "1"}])
def test_another_library_that_is_preloaded_has_its_turn(declines: dict[str, str]) -> None:
    both = f"{RUN}:{BUILD / 'libfake_other.so'}"
    folder = str(PREFIX / "lib")
    done = start(BUILD / "fake_spinning", RCLRT_RUN=folder, LD_PRELOAD=both, **declines)
    assert "theirs" not in done.stdout
    assert done.stdout.count("other") == (5 if declines else 2)


def test_rclcpp_that_is_loaded_late_is_served_unless_its_calls_are_bound_to_itself() -> None:
    late = (BUILD / "fake_loading", str(BUILD / "libfake_spinning_late.so"))
    done = start(*late, RCLRT_RUN=str(PREFIX / "lib"))
    assert "ours: spin" in done.stdout
    assert [line for line in done.stdout.splitlines() if "theirs: s" in line] == []
    deep = start(*late, "deep", RCLRT_RUN=str(PREFIX / "lib"))
    assert deep.stdout.splitlines() == THEIRS
    assert deep.stderr.count(TOLD) == 1
    assert "RTLD_DEEPBIND" in deep.stderr


def moved(tmp_path: Path, *, lib: str = "lib", version: str | None = "9.9.0") -> Path:
    """Return the folder of another rclcpp, in its prefix."""
    prefix = tmp_path / "prefix"
    (prefix / "lib").mkdir(parents=True)
    shutil.copy(PREFIX / lib / "librclcpp.so", prefix / "lib")
    if version is not None:
        manifest = prefix / "share" / "rclcpp" / "package.xml"
        manifest.parent.mkdir(parents=True)
        manifest.write_text(f"<package>\n  <version>{version}</version>\n</package>\n")
    return prefix / "lib"


@pytest.mark.parametrize(
    ("lib", "version", "why"),
    [
        ("lib", "9.8.0", "librclrt_stock-9.8.so: cannot open shared object file"),
        ("lib", None, "no share/rclcpp/package.xml says it"),
        ("lib", "garbage", "no share/rclcpp/package.xml says it"),
        ("lacking", "9.9.0", "undefined symbol: _ZN6rclcpp8Executor6cancelEv"),
    ],
)
def test_an_rclcpp_that_does_not_fit_is_left_alone_and_the_user_is_told_once(
    tmp_path: Path, lib: str, version: str | None, why: str
) -> None:
    folder = moved(tmp_path, lib=lib, version=version)
    done = start(
        BUILD / "fake_spinning", RCLRT_RUN=str(PREFIX / "lib"), LD_LIBRARY_PATH=str(folder)
    )
    assert done.stdout.splitlines() == THEIRS
    assert done.stderr.count(TOLD) == 1
    assert why in done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda whole: whole[: len(whole) // 2], "is cut off"),
        (lambda whole: whole[:40], "file too short"),
        (lambda whole: whole[:100], "is cut off"),
        (lambda whole: b"", "file too short"),
        (lambda whole: b"no library" * 100, "invalid ELF header"),
        (lambda whole: (BUILD / "libfake_other.so").read_bytes(), "is not of this rclrt"),
    ],
)
def test_a_spoilt_library_is_not_opened(
    tmp_path: Path, spoil: Callable[[bytes], bytes], why: str
) -> None:
    name = "librclrt_stock-9.9.so"
    (tmp_path / name).write_bytes(spoil((PREFIX / "lib" / name).read_bytes()))
    done = start(BUILD / "fake_spinning", RCLRT_RUN=str(tmp_path))
    assert (done.stdout.splitlines(), done.returncode) == (THEIRS, 0)
    assert done.stderr.count(TOLD) == 1
    assert why in done.stderr


def test_without_a_file_nothing_is_changed_or_said() -> None:
    done = start(BUILD / "fake_spinning")
    assert (done.stdout.splitlines(), done.stderr) == (THEIRS, "")


@pytest.mark.parametrize("command", [("true",), ("sh", "-c", "true"), ("python3", "-c", "pass")])
def test_programs_without_rclcpp_notice_nothing(command: tuple[str, ...]) -> None:
    done = start(*command, RCLRT_RUN=str(PREFIX / "lib"))
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
