# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What is counted as a miss of the chain of the mixed load."""

from __future__ import annotations

from pathlib import Path

import pytest
from rclrt_benchmarks.contract.container import parts_of, report_of, why_not
from rclrt_benchmarks.contract.mixed import CHAIN, LOGGER, VISION, judge
from rclrt_benchmarks.contract.strangers import Strangers
from rclrt_tools.trace import Entry, Trace, blank, layout, write_trace
from recorded import ROOT

MS = 1_000_000
BEGIN = 5_000 * MS


def report(ends: list[int | None], measured_ms: int) -> dict[str, object]:
    """Return a run in which instance i, released at 60 i ms, took so long; None: it never ended."""
    first, second, third = [], [], []
    for i, took in enumerate(ends):
        release = BEGIN + 60 * i * MS
        first.append([release, release, release + MS, 0, -1, i])
        second.append([release, release, release + MS, 0, i, i])
        if took is not None:
            third.append([release, release, release + took * MS, 0, i, i])
    jobs = {**dict(zip(CHAIN, (first, second, third), strict=True)), VISION: [], LOGGER: []}
    return {
        "measured_from_ns": BEGIN,
        "measured_to_ns": BEGIN + measured_ms * MS,
        "callbacks": [{"name": name, "jobs": mine} for name, mine in jobs.items()],
    }


@pytest.mark.parametrize(
    ("ends", "released", "misses"),
    [
        ([20] * 10, 10, 0),
        # Ten periods were measured, and the last instance had no time left.
        ([20] * 10 + [None], 10, 0),
        ([20] * 4 + [None] + [20] * 5, 10, 1),
        ([20] * 4 + [61] + [20] * 5, 10, 1),
        # The timer itself hardly ran.
        ([20] * 2, 8, 6),
    ],
)
def test_an_instance_that_had_its_time_and_did_not_come_is_a_miss(
    ends: list[int | None], released: int, misses: int
) -> None:
    way = judge("x", report(ends, 600))  # type: ignore[arg-type]
    assert (way.released, way.misses) == (released, misses)
    assert way.worst_ms == max(end for end in ends if end)


def test_misses_beside_other_programs_in_real_time_are_explained_one_by_one() -> None:
    for spans, explained in (
        ([], 0),
        ([(100, 200, 29)], 0),  # Of 30 that it was late.
        ([(100, 200, 30)], 1),
        ([(400, 900, 300)], 0),  # Later on.
        ([(100, 150, 60)], 1),
        ([(100, 250, 60)], 2),  # The third never ended: it lacks 60.
    ):
        strangers = Strangers([0])
        strangers.spans = [(BEGIN + a * MS, BEGIN + b * MS, ran * MS) for a, b, ran in spans]
        way = judge("x", report([20, 90, None, 20], 300), strangers)  # type: ignore[arg-type]
        assert (way.misses, way.explained) == (2, explained), spans


def test_the_jobs_of_a_container_are_numbered_by_the_release_that_led_to_them(
    tmp_path: Path,
) -> None:
    timer = Entry("/Sense/timer/60ms", kind=layout.KIND_TIMER, period_ns=60 * MS)
    entries = {
        0: timer,
        1: Entry("/Plan/subscription/scan", kind=layout.KIND_SUBSCRIPTION),
        2: Entry("/Act/subscription/path", kind=layout.KIND_SUBSCRIPTION),
        3: Entry("/Act/subscription/parameter_events", kind=layout.KIND_SUBSCRIPTION),
        4: Entry("/Act/service/Act/get_parameters", kind=layout.KIND_SERVICE),
    }
    records = blank(15)
    for i, record in enumerate(records):
        number, instance = i % 5, i // 5
        root = 1000 + 60 * instance
        record["callback"] = number
        record["release_ns"] = (root + 10 * number) * MS
        record["start_ns"] = record["release_ns"] + MS
        record["end_ns"] = record["start_ns"] + (70 if (number, instance) == (2, 1) else 5) * MS
        record["root_ns"] = root * MS
    write_trace(Trace(entries, records), tmp_path / "container.trace")
    found = report_of(tmp_path, 1000 * MS, 1300 * MS)
    assert {one["name"]: len(one["jobs"]) for one in found["callbacks"]} == dict.fromkeys(CHAIN, 3)
    way = judge("x", found)
    assert (way.released, way.misses, way.worst_ms) == (3, 1, 91)
    # What had ended before, or has not yet, is not in it.
    late = report_of(tmp_path, 1050 * MS, 1150 * MS)
    assert [len(one["jobs"]) for one in late["callbacks"]] == [2, 2, 1]


def test_a_container_that_was_not_built_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RCLRT_BUILD_DIR", str(tmp_path))
    assert "component_container_rt was not built: it needs rclcpp" in why_not()
    for program in ("rclrt_rclcpp/component_container_rt", "rclrt_benchmarks/mixed_loader"):
        (tmp_path / program).parent.mkdir()
        (tmp_path / program).touch()
    assert why_not() == ""
    parts = parts_of(ROOT / "try/rclrt_scenarios" / "mixed_criticality.yaml")
    assert parts[:2] == ["Sense:60:4::scan", "Plan:0:12:scan:path"]
