# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment of the papers runs, for about a second. No time is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rclrt_analysis.evaluation import machine
from rclrt_analysis.evaluation.catalogue import experiments


def bench_all(*arguments: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rclrt_analysis.cli", "bench", "all", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def groups() -> list[str]:
    """Return the names of experiments, those that share a run together."""
    found: dict[tuple[str, ...], list[str]] = {}
    for one in experiments():
        found.setdefault(tuple(one.commands["try"]), []).append(one.name)
    return [",".join(names) for names in found.values()]


@pytest.mark.parametrize("names", groups())
def test_every_experiment_runs_and_its_result_is_understood(names: str, tmp_path: Path) -> None:
    chosen = {one.name: one for one in experiments() if one.name in names.split(",")}
    out, page = tmp_path / "all.json", tmp_path / "all.html"
    done = bench_all(
        "--try", "--only", names, "--json", str(out), "--html", str(page), timeout=700
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    runs = json.loads(out.read_text(encoding="utf-8"))["runs"]
    assert [run["experiment"] for run in runs] == list(chosen)
    assert page.read_text(encoding="utf-8").count("<section") == len(chosen)
    for run in runs:
        judge(run, chosen[run["experiment"]].why_not(machine.machine()))


def judge(run: dict[str, Any], lacks: str) -> None:
    assert run["rows"]
    if lacks:
        assert run["not_run"] == lacks
        assert [row["why"] for row in run["rows"]] == [lacks]
        pytest.skip(lacks)
    assert run["result"] is not None, run["not_run"] + run["said"]
    for row in run["rows"]:
        assert "its result is not as expected" not in row.get("why", "")
        if row["timed"]:
            assert row["verdict"] == "not judged", "a second is too short for any verdict"


def test_the_list_is_printed_and_wrong_arguments_are_named(tmp_path: Path) -> None:
    listed = bench_all("--list")
    assert listed.returncode == 0, listed.stderr
    for one in experiments():
        assert one.name in listed.stdout
    old = tmp_path / "old.json"
    old.write_text("{}", encoding="utf-8")
    for arguments, said in (
        (("--only", "nonsense"), "unknown experiment 'nonsense'"),
        (("--compare", str(old)), "old.json"),
        (("--quick", "--full"), "not allowed with"),
        (("--html", "/nonexistent/report.html"), "no file can be written there"),
    ):
        done = bench_all(*arguments)
        assert done.returncode == 2
        assert said in done.stderr


def test_a_report_compared_with_itself_has_no_regression(tmp_path: Path) -> None:
    out, again = tmp_path / "old.json", tmp_path / "new.json"
    assert bench_all("--try", "--only", "table-1", "--json", str(out)).returncode == 0
    done = bench_all(
        "--try", "--only", "table-1", "--compare", str(out), "--json", str(again)
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "REGRESSION" not in done.stdout
    changed = out.read_text(encoding="utf-8").replace('"schema": 1', '"schema": 7', 1)
    out.write_text(changed, encoding="utf-8")
    assert bench_all("--try", "--only", "table-1", "--compare", str(out)).returncode == 2
