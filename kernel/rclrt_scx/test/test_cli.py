# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""`rclrt scx` on this machine: what it says to bad input, and where it cannot load."""

import grp
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCX = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_scx" / "scx"
GOOD = "rclrt_scx events 1 lost 0\n0 1000 1 7 0 1\n10 1000 1 7 0 2\n900000 1000 1 7 0 3\n"
INVERTED = GOOD + "950000 5000 1 8 0 2\n960000 100 1 9 0 1\n9960000 5000 1 8 0 3\n"


def scx(*arguments: str) -> tuple[int, str]:
    """Run it; return its exit status and all that it printed."""
    if not SCX.exists():
        pytest.skip(
            "the loader was not built: clang of 16 or newer, libelf, zlib or libbpf is missing"
        )
    done = subprocess.run(
        [str(SCX), *arguments], capture_output=True, text=True, timeout=30, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "a verb is missing"),
        (["fly"], "unknown verb 'fly'"),
        (["load", "--mode", "half"], "--mode: 'half' is not a value for it"),
        (["load", "--slots", "many"], "--slots: 'many' is not a value for it"),
        (["load", "--slots", "-1"], "--slots: '-1' is not a value for it"),
        (["load", "--wings"], "unknown or incomplete option '--wings'"),
        (["load", "--slots"], "unknown or incomplete option '--slots'"),
        (["load", "now"], "unknown argument 'now'"),
        (["load", "--group", "a", "--group", "b"], "--group is given twice"),
        (["status", "--json", "--prometheus"], "--json and --prometheus exclude each other"),
    ],
)
def test_wrong_usage_is_named_and_the_usage_shown(arguments: list[str], says: str) -> None:
    status, text = scx(*arguments)
    assert status == 2
    assert says in text
    assert "usage: rclrt scx" in text


def test_it_tells_the_version_of_the_tree() -> None:
    version = (Path(os.environ["RCLRT_SOURCE_DIR"]) / "tools/VERSION").read_text(encoding="utf-8")
    assert scx("--version") == (0, f"rclrt scx {version}")


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--slots", "0", "--slots: from 1 to 65536"),
        ("--slots", "65537", "--slots: from 1 to 65536"),
        ("--reserve", "0", "--reserve: from 1 to 50 percent"),
        ("--reserve", "51", "--reserve: from 1 to 50 percent"),
        ("--period", "19", "--period: from 20 to 1000 ms"),
        ("--timeout", "30001", "--timeout: from 1000 to 30000 ms"),
        ("--timeout", "1999", "--timeout: at least 20 times --period (2000 ms)"),
        ("--record", "65537", "--record: from 0 (none) to 65536 KiB"),
        ("--record", "4194305", "--record: from 0 (none) to 65536 KiB"),
    ],
)
def test_values_out_of_range_are_named_with_the_range(option: str, value: str, says: str) -> None:
    status, text = scx("load", option, value)
    assert status == 1
    assert says in text


@pytest.mark.parametrize(
    ("options", "good"),
    [
        (("--period", "50", "--timeout", "1000"), True),
        (("--period", "51", "--timeout", "1000"), False),
        (("--period", "1000", "--timeout", "1000"), False),
        (("--period", "1000", "--timeout", "20000"), True),
        (("--period", "1000"), True),
        (("--record", "65536"), True),
        (("--record", "0"), True),
    ],
)
def test_the_reserve_has_its_turns_before_the_watchdog(
    options: tuple[str, ...], good: bool
) -> None:
    """Values at the limits; the group that does not exist is looked at after them."""
    status, text = scx("load", *options, "--group", "nobody_here")
    assert status == 1
    assert ("at least 20 times --period" in text) == (not good)


@pytest.mark.parametrize("interval", ["0", "9", "3600001"])
def test_top_neither_spins_nor_sleeps_for_ever(interval: str) -> None:
    status, text = scx("top", "--interval", interval, "--count", "3")
    assert status == 1
    assert "--interval: from 10 to 3600000 ms" in text


def test_a_kernel_that_cannot_is_told_apart() -> None:
    """No sched_ext, no root: the reason and what it needs."""
    if Path("/sys/kernel/sched_ext").exists() and os.geteuid() == 0:
        pytest.skip("this machine could load it")
    status, text = scx("load")
    assert status == 1
    assert "CONFIG_SCHED_CLASS_EXT" in text or "needs root" in text


@pytest.mark.parametrize("verb", ["status", "top", "unload"])
def test_without_a_scheduler_each_verb_says_so(verb: str, tmp_path: Path) -> None:
    status, text = scx(verb, "--directory", str(tmp_path / "nothing"))
    assert status == 1
    if not Path("/sys/kernel/sched_ext").exists() and verb != "unload":
        assert "no sched_ext" in text and "scx load" not in text, "loading cannot work here"
    else:
        assert "no EDF scheduler is loaded" in text or "needs root" in text


def test_record_without_a_recording_scheduler_says_how(tmp_path: Path) -> None:
    status, text = scx("record", "--output", str(tmp_path / "x"), "--directory", str(tmp_path))
    assert status == 1
    assert "--record" in text


def test_check_proves_and_disproves(tmp_path: Path) -> None:
    """An injected inversion is found, named, and is exit status 1."""
    record = tmp_path / "events"
    record.write_text(GOOD)
    assert scx("check", "--input", str(record))[0] == 0
    record.write_text(INVERTED)
    status, text = scx("check", "--input", str(record), "--bound-us", "1000")
    assert status == 1
    assert "thread 9 (deadline 100) waited while CPU 0 ran thread 8 (deadline 5000)" in text
    assert scx("check", "--input", str(record), "--bound-us", "9000")[0] == 0
    # A record in which no thread waits proves nothing.
    record.write_text("rclrt_scx events 1 lost 0\n0 9223372036854775808 1 7 0 2\n")
    status, text = scx("check", "--input", str(record))
    assert status == 1
    assert "of 1 events none is of a thread that waits with a deadline" in text
    record.write_text(GOOD.splitlines()[0] + "\n")
    assert scx("check", "--input", str(record))[0] == 1
    record.write_text("")
    status, text = scx("check", "--input", str(record))
    assert status == 1
    assert "not a record" in text
    status, text = scx("check", "--input", str(tmp_path / "none"))
    assert status == 1
    assert "No such file" in text


def test_a_unit_of_systemd_is_only_made_for_a_program_that_root_alone_can_change(
    tmp_path: Path,
) -> None:
    """For what root would run at every start; systemd itself finds nothing wrong with it."""
    scx("help")  # skips where there is none
    program = tmp_path / "rclrt-scx"
    shutil.copy(SCX, program)

    def unit(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(program), "unit", *arguments],
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip

    program.chmod(0o775)
    refused = unit()
    assert refused.returncode == 1
    assert "sudo install" in refused.stderr
    if os.geteuid() != 0:
        assert "belongs to user" in refused.stderr
        return
    assert f"others than root may write {program}" in refused.stderr
    program.chmod(0o755)
    bad = unit("--group", "a b")
    assert bad.returncode == 1
    assert "'a b' has a character" in bad.stderr
    for wrong in (["--group", "nosuch"], ["--slots", "0"]):
        refused = unit(*wrong)
        assert refused.returncode == 1, "what load would refuse at every start"
        assert wrong[0] in refused.stderr
    group = grp.getgrgid(os.getegid()).gr_name
    good = unit("--group", group, "--mode", "partial")
    assert good.returncode == 0, good.stderr
    assert f"ExecStart={program} load --foreground" in good.stdout
    assert f"--group {group} --mode partial" in good.stdout
    if shutil.which("systemd-analyze"):
        file = tmp_path / "rclrt-scx.service"
        file.write_text(good.stdout)
        checked = subprocess.run(
            ["systemd-analyze", "verify", str(file)],
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        assert "rclrt-scx.service" not in checked.stdout + checked.stderr
