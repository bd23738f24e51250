# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How the program is started and stopped, with a stand-in written in shell."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from rclrt_tools.reference import program as module
from rclrt_tools.reference.program import Interrupt, Program, ProgramError, apart_from_others

# Writes what it was told to the file after --out, as the program does.
FIND_OUT = 'while [ "$1" != --out ]; do shift; done; out=$2; '


def stand_in(tmp_path: Path, script: str) -> Program:
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return Program(path, tmp_path / "scenario.yaml")


def test_the_report_of_a_run_is_what_the_program_wrote(tmp_path: Path) -> None:
    program = stand_in(tmp_path, FIND_OUT + """echo '{"schema": 1}' >"$out" """)
    assert program.run(Interrupt(), "isolated", 1.0) == {"schema": 1}


def test_options_reach_the_program(tmp_path: Path) -> None:
    program = Program(tmp_path / "p", tmp_path / "s.yaml", work_ms=2.5, cpus="0,1")
    program.iterations_per_ms = 1234.4
    command = " ".join(program.command("isolated", 3.0))
    for option in (
        *["--executor isolated", "--duration 3.000", "--work-ms 2.5", "--cpus 0,1"],
        "--iterations-per-ms 1234",
    ):
        assert option in command
    assert "--work-ms 0.0" in " ".join(program.command("isolated", 3.0, 0.0))


def test_a_failure_has_the_status_and_the_words_of_the_program(tmp_path: Path) -> None:
    program = stand_in(tmp_path, "echo 'rclrt_reference_system: it broke' >&2; exit 2")
    with pytest.raises(ProgramError, match=r"^it broke$") as error:
        program.run(Interrupt(), "isolated", 1.0)
    assert error.value.status == 2
    with pytest.raises(ProgramError, match=r"^it broke$"):
        program.check(["isolated"])
    with pytest.raises(ProgramError, match=r"^it broke$"):
        program.calibrate()


def test_a_crash_without_words_is_reported_too(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="ended with status -9"):
        stand_in(tmp_path, "kill -9 $$").run(Interrupt(), "isolated", 1.0)


def test_a_program_that_does_not_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.2)
    with pytest.raises(ProgramError, match="did not end in time"):
        stand_in(tmp_path, "exec sleep 100").run(Interrupt(), "isolated", 0.1)


def gone(pid: int) -> bool:
    """Whether a process ended within 20 s."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except FileNotFoundError:
            return True
        if state[0] == "Z":  # Nobody has waited for it yet.
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("call", ["run(Interrupt(), 'isolated', 1.0)", "calibrate()"])
def test_a_program_does_not_outlive_who_started_it(tmp_path: Path, call: str) -> None:
    pid_file = tmp_path / "pid"
    stand_in(tmp_path, f"echo $$ >{pid_file}.new; mv {pid_file}.new {pid_file}; exec sleep 100")
    starter = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from pathlib import Path\n"
            "from rclrt_tools.reference.program import Interrupt, Program\n"
            f"folder = Path({str(tmp_path)!r})\n"
            f"Program(folder / 'program', folder / 'scenario.yaml').{call}",
        ]
    )
    until = time.monotonic() + 20
    while not pid_file.exists() and time.monotonic() < until:
        time.sleep(0.01)
    pid = int(pid_file.read_text(encoding="utf-8"))
    starter.kill()
    starter.wait()
    assert gone(pid)


def test_ctrl_c_while_calibrating_is_ours_not_the_programs(tmp_path: Path) -> None:
    # What the terminal sends goes to a whole session: the program has one of its own.
    program = stand_in(tmp_path, "echo $(($(cut -d' ' -f6 /proc/$$/stat) == $$))")
    program.calibrate()
    assert program.iterations_per_ms == 1, "leads no session"


def test_a_calibration_that_does_not_end_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE_S", 0.2)
    with pytest.raises(ProgramError, match="did not answer in time"):
        stand_in(tmp_path, "exec sleep 100").calibrate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_the_program_to_stop_and_write(tmp_path: Path, number: int) -> None:
    script = (
        FIND_OUT
        + f"""
        trap 'echo "{{\\"stopped\\": true}}" >"$out"; exit 0' INT
        touch {tmp_path}/ready
        while true; do sleep 0.05; done"""
    )
    program = stand_in(tmp_path, script)

    def send() -> None:
        until = time.monotonic() + 20
        while not (tmp_path / "ready").exists() and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    with Interrupt() as interrupt:
        threading.Thread(target=send).start()
        assert program.run(interrupt, "isolated", 60.0) == {"stopped": True}
        assert interrupt.requested


def test_the_second_signal_kills_it(tmp_path: Path) -> None:
    script = FIND_OUT + f"trap '' INT; touch {tmp_path}/ready; while true; do sleep 0.05; done"
    program = stand_in(tmp_path, script)

    def send() -> None:
        until = time.monotonic() + 20
        while not (tmp_path / "ready").exists() and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    with Interrupt() as interrupt, pytest.raises(ProgramError, match="status -9"):
        threading.Thread(target=send).start()
        program.run(interrupt, "isolated", 60.0)


def test_signal_handlers_are_given_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupt():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_nodes_meet_nobody_else_unless_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    assert apart_from_others()["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert 1 <= int(apart_from_others()["ROS_DOMAIN_ID"]) <= 100
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    assert apart_from_others()["ROS_DOMAIN_ID"] == "7"
