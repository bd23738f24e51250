# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import argparse
import os

import pytest
from rclrt_tools.reference.demonstration import cpus_of, notes_of, title_of
from rclrt_tools.reference.executors import BACKGROUND
from rclrt_tools.reference.measurement import Measurement
from rclrt_tools.reference.study import Study, Transport
from reports import callback, report


def study(executor: str, latency_ms: float, **more: object) -> Study:
    measurement = Measurement(executor)
    measurement.add([report([latency_ms] * 100, [callback("A")], **more)])  # type: ignore[arg-type]
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
        row.add([report([latency_ms] * 100, [callback("A")])])
    return rows


def test_how_much_worse_each_row_gets_beside_the_load_comes_first() -> None:
    rows = [*both("waitset_multi", 20.0, 50.0), *both("preemptive_hot", 8.0, 8.5)]
    notes = notes_of(Study(rows, Transport()))
    assert notes[0] == "p99 beside load / quiet: preemptive_hot 1.06, waitset_multi 2.50."
    assert notes[1] == "preemptive_hot: 8.50 ms beside load (target 8.60 ms: met)."
    assert "busy: beside 4 busy ordinary processes a CPU" in " ".join(notes)
    late = notes_of(Study(both("preemptive_hot", 8.0, 8.7), Transport()))
    assert late[1] == "preemptive_hot: 8.70 ms beside load (target 8.60 ms: MISSED)."
    assert "beside" not in " ".join(notes_of(study("preemptive_hot", 8.0)))


def test_a_row_that_loses_most_beside_the_load_is_told_by_its_median() -> None:
    rows = both("waitset_multi", 20.0, 50.0)
    few = Measurement("events_fifo", BACKGROUND)
    few.add([report([560.0] * 30, [callback("A")])])
    notes = notes_of(Study([*rows, both("events_fifo", 20.0, 20.0)[0], few], Transport()))
    assert notes[0] == "p99 beside load / quiet: waitset_multi 2.50."
    assert notes[1] == "p50 beside load / quiet: events_fifo 28.00."


def test_processes_with_one_priority_are_explained() -> None:
    said = "_fifo50: the whole process under SCHED_FIFO 50"
    assert said in " ".join(notes_of(study("static_fifo50", 8.0)))
    assert said not in " ".join(notes_of(study("static", 8.0)))


TAKE = {"rmw": "rmw_cyclonedds_cpp", "reception_stamp": "take", "carries_deadlines": False}


def test_figures_that_begin_at_the_take_say_so_and_are_not_held_against_the_ideal() -> None:
    notes = " ".join(notes_of(study("preemptive_hot", 7.0, **TAKE)))
    assert "rmw_cyclonedds_cpp stamps messages when they are taken, not when they arrive" in notes
    assert "x ideal" not in notes
    unknown = " ".join(notes_of(study("preemptive_hot", 7.0, reception_stamp="unknown")))
    assert "may stamp messages when they are taken" in unknown
    assert "when they are taken" not in " ".join(notes_of(study("preemptive_hot", 7.0)))


def test_the_title_names_the_rmw_and_what_the_figures_begin_with() -> None:
    scenario = {"name": "s", "nodes": [1], "hot_path": {"roots": ["A"], "sink": "B"}}
    arguments = argparse.Namespace(cpus=None, work=None, one_process_per_node=False)
    said = title_of(scenario, arguments, study("preemptive", 7.0))
    assert "all CPUs, rmw_fastrtps_cpp; hot path, ms: data received from A to start of B" in said
    said = title_of(scenario, arguments, study("preemptive", 7.0, **TAKE))
    assert "all CPUs, rmw_cyclonedds_cpp; hot path, ms: data taken from A to start of B" in said


@pytest.mark.parametrize(("processes", "numbers"), [(1, False), (2, True), (2, False)])
def test_deadlines_that_end_with_the_process_are_marked(processes: int, numbers: bool) -> None:
    slice_ = report([7.0], deadline_scheduler="fifo bands", carries_deadlines=numbers)
    measurement = Measurement("edf")
    measurement.add([slice_] * processes)
    stops = processes > 1 and not numbers
    assert measurement.attributes_text() == ("fifo bands*" if stops else "fifo bands")
    notes = " ".join(notes_of(Study([measurement])))
    assert ("the deadline of a message does not reach another process" in notes) == stops


def test_the_cpus_are_those_asked_for_or_all_that_may_be_used() -> None:
    assert cpus_of("1,0,1") == {0, 1}
    assert cpus_of(None) == os.sched_getaffinity(0)
