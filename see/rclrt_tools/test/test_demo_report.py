# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the demo shows: table, notes, picture."""

import argparse
import os
import re
import xml.etree.ElementTree as ElementTree

import pytest
from demo_runs import callback, report
from rclrt_analysis.plots import Plot, draw
from rclrt_tools.reference.demonstration import cpus_of, notes_of, title_of
from rclrt_tools.reference.measurement import Measurement
from rclrt_tools.reference.picture import COLORS, make_picture
from rclrt_tools.reference.program import BACKGROUND, EXECUTORS, QUIET
from rclrt_tools.reference.study import Study, Transport
from rclrt_tools.reference.table import WIDTH, group_findings, make_table


def measured(executor: str, latencies_ms: list[float], **more: object) -> Measurement:
    measurement = Measurement(executor)
    measurement.add(report(latencies_ms, [callback("A", lost=3)], **more))  # type: ignore[arg-type]
    return measurement


def test_every_line_fits_into_100_columns() -> None:
    finding = {"subject": "machine", "what": "word " * 50, "errno": 1, "fix": "more words " * 30}
    rows = [measured(name, [12345.678] * 100, findings=[finding]) for name in EXECUTORS]
    rows.append(Measurement("static", failure="a very long story\n" + "x" * 300))
    text = make_table("title " * 40, rows, ["note " * 50])
    assert max(len(line) for line in text.splitlines()) <= WIDTH


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (
            measured("preemptive", [8.0] * 99 + [9.5]),
            "preemptive quiet 100 8.00 8.00 9.50 3 0 40 60 other",
        ),
        # Fewer than 100 samples have no p99.
        (measured("preemptive", [8.0] * 99), "preemptive quiet 99 8.00 - 8.00 3 0 40 60 other"),
        (
            measured("preemptive", [8.0], attributes_in_force=False),
            "preemptive quiet 1 - - 8.00 3 0 40 60 other REFUSED",
        ),
        (Measurement("static", failure="line 1\nit broke"), "static quiet failed: it broke"),
    ],
)
def test_a_row_has_the_figures_or_says_why_not(row: Measurement, shown: str) -> None:
    lines = [" ".join(line.split()) for line in make_table("t", [row], []).splitlines()]
    assert shown in lines


def test_findings_with_the_same_remedy_are_one() -> None:
    findings = [
        {"subject": f"callback {i}", "what": "refused", "errno": 1, "fix": "ask root"}
        for i in range(5)
    ]
    rows = [measured(name, [8.0], findings=findings) for name in ("isolated", "preemptive")]
    assert group_findings(rows) == [
        "callback 0: refused. ask root. And 4 more with this remedy. (isolated, preemptive)"
    ]


def study(executor: str, latency_ms: float, **more: object) -> Study:
    measurement = Measurement(executor)
    measurement.add(report([latency_ms] * 100, [callback("A")], **more))  # type: ignore[arg-type]
    transport = Transport(total_ms=0.5, samples=10, critical_path_work_ms=7.5)
    return Study([measurement], transport)


@pytest.mark.parametrize(
    ("latency_ms", "said"),
    [(9.0, "p99 is 1.12 x ideal (target 1.25: met)"), (10.1, "1.26 x ideal (target 1.25: MISSED)")],
)
def test_the_hot_path_first_is_held_against_the_ideal(latency_ms: float, said: str) -> None:
    assert said in " ".join(notes_of(study("preemptive_hot", latency_ms)))
    assert "x ideal" not in " ".join(notes_of(study("preemptive", latency_ms)))


def test_the_latency_to_the_end_is_told() -> None:
    notes = " ".join(notes_of(study("preemptive", 8.0)))
    assert "To the end of the sink, quiet, p50 / p99: preemptive 10.00 / 10.00." in notes


def both(executor: str, quiet_ms: float, busy_ms: float) -> list[Measurement]:
    rows = [Measurement(executor), Measurement(executor, BACKGROUND)]
    for row, latency_ms in zip(rows, (quiet_ms, busy_ms), strict=True):
        row.add(report([latency_ms] * 100, [callback("A")]))
    return rows


def test_how_much_worse_each_row_gets_beside_the_load_comes_first() -> None:
    rows = [*both("wait_set_multi", 20.0, 50.0), *both("preemptive_hot", 8.0, 8.5)]
    notes = notes_of(Study(rows, Transport()))
    assert notes[0] == "p99 beside load / quiet: preemptive_hot 1.06, wait_set_multi 2.50."
    assert notes[1] == "preemptive_hot: 8.50 ms beside load (target 8.60 ms: met)."
    assert "busy: beside 4 busy ordinary processes a CPU" in " ".join(notes)
    late = notes_of(Study(both("preemptive_hot", 8.0, 8.7), Transport()))
    assert late[1] == "preemptive_hot: 8.70 ms beside load (target 8.60 ms: MISSED)."
    assert "beside" not in " ".join(notes_of(study("preemptive_hot", 8.0)))


def test_a_row_that_loses_most_beside_the_load_is_told_by_its_median() -> None:
    rows = both("wait_set_multi", 20.0, 50.0)
    few = Measurement("events_fifo", BACKGROUND)
    few.add(report([560.0] * 30, [callback("A")]))
    notes = notes_of(Study([*rows, both("events_fifo", 20.0, 20.0)[0], few], Transport()))
    assert notes[0] == "p99 beside load / quiet: wait_set_multi 2.50."
    assert notes[1] == "p50 beside load / quiet: events_fifo 28.00."


def test_processes_with_one_priority_are_explained() -> None:
    said = "_fifo50: the whole process under SCHED_FIFO 50"
    assert said in " ".join(notes_of(study("static_fifo50", 8.0)))
    assert said not in " ".join(notes_of(study("static", 8.0)))


TAKE = {"rmw": "rmw_cyclonedds_cpp", "reception_stamp": "take"}


def test_figures_that_begin_at_the_take_say_so_and_are_not_held_against_the_ideal() -> None:
    notes = " ".join(notes_of(study("preemptive_hot", 7.0, **TAKE)))
    assert "rmw_cyclonedds_cpp stamps messages when they are taken, not when they arrive" in notes
    assert "x ideal" not in notes
    unknown = " ".join(notes_of(study("preemptive_hot", 7.0, reception_stamp="unknown")))
    assert "may stamp messages when they are taken" in unknown
    assert "when they are taken" not in " ".join(notes_of(study("preemptive_hot", 7.0)))


def test_the_title_names_the_rmw_and_what_the_figures_begin_with() -> None:
    scenario = {"name": "s", "nodes": [1], "hot_path": {"roots": ["A"], "sink": "B"}}
    arguments = argparse.Namespace(cpus=None, work=None)
    said = title_of(scenario, arguments, study("preemptive", 7.0))
    assert "all CPUs, rmw_fastrtps_cpp; hot path, ms: data received from A to start of B" in said
    said = title_of(scenario, arguments, study("preemptive", 7.0, **TAKE))
    assert "all CPUs, rmw_cyclonedds_cpp; hot path, ms: data taken from A to start of B" in said


def test_the_cpus_are_those_asked_for_or_all_that_may_be_used() -> None:
    assert cpus_of("1,0,1") == {0, 1}
    assert cpus_of(None) == os.sched_getaffinity(0)


@pytest.mark.parametrize(("low", "high"), [(7.9, 33.0), (0.2, 0.5), (3.0, 4.1), (1.0, 900.0)])
def test_an_axis_has_labels_where_the_data_are(low: float, high: float) -> None:
    drawn = draw(Plot("t", "ms", {"a": [low, high]}))
    below = drawn.count('text-anchor="middle" x="') - 1
    assert 2 <= below <= 12


SVG = "{http://www.w3.org/2000/svg}"


def pictured(executor: str, load: str, latencies_ms: list[float]) -> Measurement:
    return Measurement(executor, load, latency_ms=latencies_ms)


def test_each_row_has_a_bar_from_its_median_and_says_its_figures() -> None:
    rows = [
        pictured("wait_set <1>", QUIET, [10.0] * 100),
        pictured("wait_set <1>", BACKGROUND, [100.0] * 150),
        pictured("hot", QUIET, [8.0] * 100),
        pictured("hot", BACKGROUND, [8.0] * 20),
        pictured("failed", QUIET, []),
    ]
    picture = make_picture("a & b", rows, 7.0)
    root = ElementTree.fromstring(picture)
    texts = [text.text or "" for text in root.iter(f"{SVG}text")]
    assert "a & b" in texts
    assert "wait_set <1>" in texts and "hot" in texts and "failed" not in texts
    assert "100.0 / 100.0" in texts and "8.0 / -" in texts
    dots = {
        (dot.get("fill"), round(float(dot.get("cx", "0")))) for dot in root.iter(f"{SVG}circle")
    }
    quiet = [x for color, x in dots if color == COLORS[QUIET]]
    busy = [x for color, x in dots if color == COLORS[BACKGROUND]]
    assert max(busy) > max(quiet) > min(quiet)
    assert min(quiet) == min(busy), "8 ms both"
    ticks = [float(text) for text in texts if re.fullmatch(r"[0-9.]+", text)]
    assert ticks == sorted(ticks) and {10.0, 50.0, 100.0} <= set(ticks)


def test_without_samples_there_is_an_empty_picture() -> None:
    ElementTree.fromstring(make_picture("t", [pictured("a", QUIET, [])], None))
