# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
import pytest
from rclrt_tools.reference.measurement import Measurement
from rclrt_tools.reference.result import make_result
from reports import MS, callback, report


def test_slices_are_merged_sample_by_sample() -> None:
    measurement = Measurement("preemptive")
    measurement.add([report([8.0, 9.0])])
    measurement.add([report([7.0])])
    assert sorted(measurement.latency_ms) == [7.0, 8.0, 9.0]
    assert sorted(measurement.latency_to_end_ms) == [9.0, 10.0, 11.0]
    assert measurement.cpu_s == pytest.approx(0.8)
    assert measurement.measured_s == pytest.approx(2.0)
    assert measurement.cpu_percent == pytest.approx(40.0)
    assert measurement.rss_mib == 60.0
    assert measurement.policy == "rm"


def test_processes_of_one_slice_share_its_time_and_add_up_their_memory() -> None:
    measurement = Measurement("preemptive")
    measurement.add([report([8.0]), report([]), report([])])
    assert measurement.measured_s == pytest.approx(1.0)
    assert measurement.rss_mib == 180.0
    assert measurement.cpu_s == pytest.approx(1.2)
    assert measurement.latency_ms == [8.0]


def test_the_worst_sample_keeps_the_slice_it_was_in() -> None:
    measurement = Measurement("preemptive")
    first, second, third = report([8.0]), report([20.0]), report([9.0])
    for each in (first, second, third):
        measurement.add([each])
    assert measurement.worst is not None
    assert measurement.worst[0] == 20.0
    assert measurement.worst[1][0] is second


def test_drops_and_misses_of_callbacks_and_of_the_hot_path_are_counted() -> None:
    measurement = Measurement("preemptive")
    callbacks = [callback("A", lost=2, deadline_misses=3), callback("B<A", lost=5)]
    # 98.5 ms to the start is 100.5 ms to the end, later than the period of 100 ms.
    measurement.add([report([8.0, 97.9, 98.5], callbacks)])
    assert measurement.dropped == 7
    assert measurement.deadline_misses == 4


def test_without_a_hot_path_the_response_times_of_timers_count() -> None:
    measurement = Measurement("preemptive")
    timer = callback(
        "Camera", [[0, 1 * MS, 11 * MS, 0, 0, 0], [84 * MS, 84 * MS, 99 * MS, 0, 0, 0]]
    )
    other = callback("B<A", [[0, 1, 2, 0, 1, 0]])
    measurement.add([report([], [timer, other], hot_path=None)])
    assert measurement.latency_ms == [11.0, 15.0]
    assert measurement.worst is None


def test_what_was_really_in_force_is_said_in_words() -> None:
    measurement = Measurement("preemptive")
    fifo = [callback(f"C{p}", in_force={"policy": "fifo", "priority": p}) for p in (57, 80, 56)]
    measurement.add([report([8.0], fifo)])
    assert measurement.attributes_text() == "fifo 56-80"
    measurement.add([report([8.0], [callback("D")], attributes_in_force=False)])
    assert measurement.attributes_text() == "fifo 56-80, other REFUSED"
    assert Measurement("x").attributes_text() == "-"
    edf = Measurement("preemptive_edf")
    edf.add([report([8.0], fifo, deadline_scheduler="fifo bands")])
    assert edf.attributes_text() == "fifo bands"


def test_the_same_finding_of_many_slices_is_one() -> None:
    measurement = Measurement("preemptive")
    finding = {"subject": "machine", "what": "is slow", "errno": 0, "fix": "buy another"}
    measurement.add([report([8.0], findings=[finding])])
    measurement.add([report([8.0], findings=[finding])])
    assert measurement.findings == [finding]


def test_the_result_has_exactly_the_fields_of_schema_1() -> None:
    measurement = Measurement("preemptive_hot")
    measurement.add([report([float(i) for i in range(1, 51)] * 2)])
    result = make_result({"machine": "x"}, [measurement], 7.97531)
    assert result["schema"] == 1
    assert result["environment"] == {"machine": "x"}
    [run] = result["runs"]
    assert list(run) == [
        "executor",
        "load",
        "policy",
        "hot_path_ms",
        "hot_path_to_end_ms",
        "dropped",
        "deadline_misses",
        "cpu_s",
        "rss_mib",
        "attributes_in_force",
        "deadline_scheduler",
        "findings",
    ]
    assert len(run["hot_path_ms"].pop("quantiles")) == 100
    assert run["hot_path_ms"] == {
        "n": 100,
        "p50": 25.0,
        "p90": 45.0,
        "p99": 50.0,
        "max": 50.0,
        "ideal": 7.975,
    }
    assert run["hot_path_to_end_ms"] == {"n": 100, "p50": 27.0, "p99": 52.0, "max": 52.0}
    assert run["findings"] == []


def test_the_result_has_null_where_there_are_too_few_samples() -> None:
    measurement = Measurement("preemptive")
    measurement.add([report([1.0] * 99)])
    hot_path = make_result({}, [measurement, Measurement("none")], None)["runs"][0]["hot_path_ms"]
    assert hot_path["p99"] is None
    assert hot_path["p90"] == 1.0
    assert hot_path["ideal"] is None
    empty = make_result({}, [Measurement("none")], None)["runs"][0]["hot_path_ms"]
    assert empty.pop("quantiles") == []
    assert empty == {"n": 0, "p50": None, "p90": None, "p99": None, "max": None, "ideal": None}


def test_a_failure_and_samples_that_were_not_kept_are_findings_of_the_run() -> None:
    measurement = Measurement("preemptive", failure="it crashed")
    measurement.add([report([1.0], [callback("A", jobs_without_room=3)])])
    findings = make_result({}, [measurement], None)["runs"][0]["findings"]
    assert findings == ["failed: it crashed", "3 samples were not kept: the logs were full"]
