# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A report is finished later: what it has judged is kept, and the rest runs again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rclrt_analysis.evaluation import earlier, run
from rclrt_analysis.evaluation.compare import OldReportError
from rclrt_analysis.evaluation.experiment import EFFORTS, Experiment, Judged, Machine, Run
from rclrt_analysis.evaluation.row import HOLDS, OPEN, at_most

HERE = Machine(cpus=2, realtime=True, rclcpp=False, cyclictest=False, why_no_vm="no qemu")
WHERE = {"date": "today", "load": "0.1", "CPU": "fast", "rclrt": "abc"}


def rows_of(result: Mapping[str, Any], _: Machine) -> Judged:
    return Judged([at_most("ratio", result["ratio"], 1.0, shape="below")])


def made_up(name: str) -> Experiment:
    command = {effort: ("bench", name, effort) for effort in EFFORTS}
    return Experiment(name, "[X]", "a title", command, dict.fromkeys(EFFORTS, 9.0), rows_of)


def ran(name: str, ratio: float | None = 0.8, others_cpus: float = 0.0) -> Run:
    done = Run(made_up(name), ["./rclrt", "bench", name, "short"], began="yesterday", status=0)
    done.result, done.others_cpus = {"ratio": ratio}, others_cpus
    run.judge(done, "short", HERE)
    return done


def report(tmp_path: Path, *runs: Run, **other: Any) -> Path:
    path = tmp_path / "report.json"
    content = {"schema": 1, "environment": WHERE, "runs": [one.as_json() for one in runs], **other}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_what_was_judged_is_kept_and_the_rest_runs_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    disturbed = ran("disturbed", others_cpus=1.0)
    assert [row.verdict for row in disturbed.rows] == [OPEN]
    path = report(tmp_path, ran("judged"), disturbed, ran("few", ratio=None))
    before = earlier.read(path, {**WHERE, "date": "tomorrow", "load": "7"})
    started = []

    def start(one: Run, _: str) -> None:
        started.append(one.experiment.name)
        one.result = {"ratio": 0.5}

    monkeypatch.setattr(run, "_start", start)
    runs = run.conduct(
        [made_up(name) for name in ("judged", "disturbed", "few", "new")], "short", HERE,
        lambda _: None, lambda one: earlier.kept(before, one, "short", HERE),
    )  # fmt: skip
    assert started == ["disturbed", "few", "new"]
    assert [one.began for one in runs] == ["yesterday", "", "", ""]
    assert [row.value for one in runs for row in one.rows] == [0.8, 0.5, 0.5, 0.5]
    assert {row.verdict for one in runs for row in one.rows} == {HOLDS}


def test_a_run_with_other_options_is_not_kept(tmp_path: Path) -> None:
    before = earlier.read(report(tmp_path, ran("judged")), WHERE)
    assert earlier.kept(before, made_up("judged"), "full", HERE) is None
    assert earlier.kept(before, made_up("judged"), "short", HERE) is not None


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"schema": 2}, "schema 2 is not 1"),
        ({"environment": {**WHERE, "rclrt": "def"}}, "rclrt was 'def', and is 'abc' now"),
        ({"environment": {}}, "CPU was None, and is 'fast' now"),
        ({"environment": 3}, "not a report"),
        ({"runs": [{}]}, "not a report of ./rclrt bench all --json: KeyError"),
        ({"runs": [{**ran("x").as_json(), "result": [1]}]}, "a result is not an object but list"),
        ({"runs": [{**ran("x").as_json(), "others_cpus": "many"}]}, "not a report"),
        ({"runs": {"x": 1}}, "not a report"),
    ],
)
def test_what_is_no_report_of_this_machine_is_refused(
    tmp_path: Path, other: dict[str, Any], said: str
) -> None:
    with pytest.raises(OldReportError, match="report") as caught:
        earlier.read(report(tmp_path, **other), WHERE)
    assert said in str(caught.value)


def test_a_file_that_is_missing_or_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OldReportError, match="No such file"):
        earlier.read(tmp_path / "none.json", WHERE)
    (tmp_path / "text").write_bytes(b"\xff")
    with pytest.raises(OldReportError, match="not a report"):
        earlier.read(tmp_path / "text", WHERE)


def test_a_result_that_its_judge_does_not_understand_runs_again(tmp_path: Path) -> None:
    done = ran("judged")
    done.result = {"ratio": {}}
    before = earlier.read(report(tmp_path, done), WHERE)
    assert earlier.kept(before, made_up("judged"), "short", HERE) is None
