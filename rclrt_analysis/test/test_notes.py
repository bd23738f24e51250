# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

import pytest
from rclrt_analysis.reference.demonstration import notes_of, number_of_cpus
from rclrt_analysis.reference.measurement import Measurement
from rclrt_analysis.reference.study import Study, Transport
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
    assert "To the end of the sink, p50 / p99: preemptive 10.00 / 10.00." in notes


def test_rows_without_realtime_priorities_are_named() -> None:
    said = "Without real-time priorities, as their originals: static."
    assert said in " ".join(notes_of(study("static", 8.0, attributes_asked=False)))
    assert "Without" not in " ".join(notes_of(study("preemptive", 8.0)))


def test_the_cpus_are_those_asked_for_or_all_that_may_be_used() -> None:
    assert number_of_cpus("1,0,1") == 2
    assert number_of_cpus(None) == len(os.sched_getaffinity(0))
