# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers of the demo: statistics, slices, percentiles, what a study says."""

from collections import Counter
from pathlib import Path

import pytest
from demo_runs import MS, callback, report
from rclrt_tools.reference.measurement import Measurement
from rclrt_tools.reference.program import (
    BACKGROUND,
    Interrupt,
    Program,
    ProgramError,
    Report,
    Row,
)
from rclrt_tools.reference.study import (
    INTERRUPTED,
    MIN_SLICE_S,
    TRANSPORT_EXECUTOR,
    conduct,
    make_schedule,
)
from rclrt_tools.reference.table import make_result
from rclrt_tools.statistics import percentile, quantiles, samples_needed


@pytest.mark.parametrize(
    ("fraction", "needed"), [(0.5, 2), (0.9, 10), (0.99, 100), (0.999, 1000), (0.75, 4)]
)
def test_percentile_needs_one_sample_above_it(fraction: float, needed: int) -> None:
    assert samples_needed(fraction) == needed
    assert percentile([1.0] * (needed - 1), fraction) is None
    assert percentile([1.0] * needed, fraction) == 1.0


def test_percentile_is_a_sample_that_was_measured() -> None:
    samples = [float(i) for i in range(1, 101)]
    assert percentile(samples, 0.5) == 50.0
    assert percentile(samples, 0.9) == 90.0
    assert percentile(samples, 0.99) == 99.0
    assert percentile([1.0, 5.0], 0.5) == 1.0


def test_quantiles_are_samples_from_the_least_to_the_largest() -> None:
    assert quantiles([3.0, 1.0, 2.0]) == [1.0, 2.0, 3.0]
    many = quantiles([float(i) for i in range(1001)], 101)
    assert many == [10.0 * i for i in range(101)]
    assert quantiles([]) == []


NAMES = [Row(name) for name in "abc"]


def test_each_round_begins_with_another_executor() -> None:
    schedule = make_schedule(NAMES, 60.0, 1.0)
    order = "".join(part.row.executor for part in schedule)
    assert order.startswith("abcbcacab")


@pytest.mark.parametrize("available_s", [0.0, 1.0, 10.0, 20.0, 37.0, 60.0, 120.0, 600.0])
def test_all_executors_get_the_same_time_which_slices_fill(available_s: float) -> None:
    schedule = make_schedule(NAMES, available_s, 1.5)
    assert len({part.seconds for part in schedule}) == 1
    assert len(set(Counter(part.row.executor for part in schedule).values())) == 1
    least = len(NAMES) * (MIN_SLICE_S + 1.5)
    taken = sum(part.seconds + 1.5 for part in schedule)
    assert taken == pytest.approx(max(least, available_s))


def test_more_rounds_never_cost_the_samples_that_a_percentile_needs() -> None:
    # Each start costs 4 s: 3 rounds would leave 6 s of measuring for each executor.
    schedule = make_schedule(NAMES, 3 * (11.0 + 4.0), 4.0)
    assert [part.seconds for part in schedule] == [11.0] * 3
    assert len(make_schedule(NAMES, 3 * (12.0 + 3 * 1.0), 1.0)) == 3 * 3


def test_a_slice_is_never_shorter_than_the_minimum_even_without_time() -> None:
    assert {part.seconds for part in make_schedule(NAMES, -5.0, 2.0)} == {MIN_SLICE_S}
    assert len(make_schedule(NAMES, -5.0, 2.0)) == len(NAMES)


def test_slices_are_merged_sample_by_sample() -> None:
    measurement = Measurement("preemptive")
    measurement.add(report([8.0, 9.0]))
    measurement.add(report([7.0]))
    assert sorted(measurement.latency_ms) == [7.0, 8.0, 9.0]
    assert sorted(measurement.latency_to_end_ms) == [9.0, 10.0, 11.0]
    assert measurement.cpu_s == pytest.approx(0.8)
    assert measurement.measured_s == pytest.approx(2.0)
    assert measurement.cpu_percent == pytest.approx(40.0)
    assert measurement.rss_mib == 60.0
    assert measurement.policy == "rm"


def test_drops_and_misses_of_callbacks_and_of_the_hot_path_are_counted() -> None:
    measurement = Measurement("preemptive")
    callbacks = [callback("A", lost=2, deadline_misses=3), callback("B<A", lost=5)]
    # 98.5 ms to the start is 100.5 ms to the end, later than the period of 100 ms.
    measurement.add(report([8.0, 97.9, 98.5], callbacks))
    assert measurement.dropped == 7
    assert measurement.deadline_misses == 4


def test_without_a_hot_path_the_response_times_of_timers_count() -> None:
    measurement = Measurement("preemptive")
    timer = callback(
        "Camera", [[0, 1 * MS, 11 * MS, 0, 0, 0], [84 * MS, 84 * MS, 99 * MS, 0, 0, 0]]
    )
    other = callback("B<A", [[0, 1, 2, 0, 1, 0]])
    measurement.add(report([], [timer, other], hot_path=None))
    assert measurement.latency_ms == [11.0, 15.0]


def test_what_was_really_in_force_is_said_in_words() -> None:
    measurement = Measurement("preemptive")
    fifo = [callback(f"C{p}", in_force={"policy": "fifo", "priority": p}) for p in (57, 80, 56)]
    measurement.add(report([8.0], fifo))
    assert measurement.attributes_text() == "fifo 56-80"
    measurement.add(report([8.0], [callback("D")], attributes_in_force=False))
    assert measurement.attributes_text() == "fifo 56-80, other REFUSED"
    assert Measurement("x").attributes_text() == "-"
    edf = Measurement("preemptive_edf")
    edf.add(report([8.0], fifo, deadline_scheduler="fifo bands"))
    assert edf.attributes_text() == "fifo bands"


def test_the_same_finding_of_many_slices_is_one() -> None:
    measurement = Measurement("preemptive")
    finding = {"subject": "machine", "what": "is slow", "errno": 0, "fix": "buy another"}
    measurement.add(report([8.0], findings=[finding]))
    measurement.add(report([8.0], findings=[finding]))
    assert measurement.findings == [finding]


def test_the_result_has_exactly_the_fields_of_schema_1() -> None:
    measurement = Measurement("preemptive_hot")
    measurement.add(report([float(i) for i in range(1, 51)] * 2))
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
    measurement.add(report([1.0] * 99))
    hot_path = make_result({}, [measurement, Measurement("none")], None)["runs"][0]["hot_path_ms"]
    assert hot_path["p99"] is None
    assert hot_path["p90"] == 1.0
    assert hot_path["ideal"] is None
    empty = make_result({}, [Measurement("none")], None)["runs"][0]["hot_path_ms"]
    assert empty.pop("quantiles") == []
    assert empty == {"n": 0, "p50": None, "p90": None, "p99": None, "max": None, "ideal": None}


def test_a_failure_and_samples_that_were_not_kept_are_findings_of_the_run() -> None:
    measurement = Measurement("preemptive", failure="it crashed")
    measurement.add(report([1.0], [callback("A", jobs_without_room=3)]))
    findings = make_result({}, [measurement], None)["runs"][0]["findings"]
    assert findings == ["failed: it crashed", "3 samples were not kept: the logs were full"]


class FakeRunner(Program):
    """Answers at once; `failures` maps an executor to the error it raises."""

    def __init__(self, failures: dict[str, ProgramError] | None = None) -> None:
        super().__init__(Path(), Path())
        self.runs: list[tuple[str, float | None]] = []
        self.failures = failures or {}
        self.interrupt_after: int | None = None

    def calibrate(self) -> None:
        pass

    def run(
        self, interrupt: Interrupt, executor: str, seconds: float, work_ms: float | None = None
    ) -> Report:
        self.runs.append((executor, work_ms))
        if len(self.runs) == self.interrupt_after:
            interrupt.requested = True
        if executor in self.failures:
            raise self.failures[executor]
        if work_ms == 0.0:
            hop = callback("B<A", [[3 * MS // 10, 4 * MS // 10, MS, MS // 10, 1, 1]] * 2)
            return report([0.2, 0.3, 0.4], [hop], executor)
        return report([8.0, 9.0], [], executor)


def study(runner: FakeRunner, executors: list[str], duration_s: float = 60.0, cpus: int = 2):  # type: ignore[no-untyped-def]
    rows = [Row(name) for name in executors]
    return conduct(runner, Interrupt(), rows, duration_s, cpus, lambda _: None)


def test_ideal_is_the_work_on_the_critical_path_plus_the_median_transport() -> None:
    runner = FakeRunner()
    done = study(runner, ["isolated"])
    assert runner.runs[0] == (TRANSPORT_EXECUTOR, 0.0)
    assert done.transport.ideal_ms == pytest.approx(4.0 + 0.3)
    assert done.transport.samples == 3
    assert done.transport.sent_to_received_ms == pytest.approx(0.2)
    assert done.transport.received_to_start_ms == pytest.approx(0.1)


def test_on_one_cpu_ideal_has_the_work_of_all_branches() -> None:
    assert study(FakeRunner(), ["isolated"], cpus=1).transport.ideal_ms == pytest.approx(6.0 + 0.3)


def test_an_interrupt_while_calibrating_ends_it_before_anything_is_run() -> None:
    runner = FakeRunner()
    interrupt = Interrupt()
    interrupt.requested = True
    with pytest.raises(ProgramError, match="before anything was measured") as error:
        conduct(runner, interrupt, [Row("isolated")], 60.0, 2, lambda _: None)
    assert error.value.status == INTERRUPTED
    assert runner.runs == []


def test_executors_take_turns_and_all_slices_are_merged() -> None:
    runner = FakeRunner()
    done = study(runner, ["isolated", "preemptive"])
    order = [executor for executor, work in runner.runs if work is None]
    assert order[:4] == ["isolated", "preemptive", "preemptive", "isolated"]
    assert [len(m.latency_ms) for m in done.measurements] == [len(order), len(order)]


def test_an_interrupt_keeps_what_was_measured() -> None:
    runner = FakeRunner()
    runner.interrupt_after = 2
    done = study(runner, ["isolated", "preemptive"])
    assert done.interrupted
    assert len(runner.runs) == 2
    assert [len(m.latency_ms) for m in done.measurements] == [2, 0]


def test_one_executor_that_fails_does_not_stop_the_others() -> None:
    done = study(FakeRunner({"isolated": ProgramError(1, "it crashed")}), ["isolated", "static"])
    assert done.measurements[0].failure == "it crashed"
    assert done.measurements[1].latency_ms


def test_wrong_usage_stops_everything() -> None:
    with pytest.raises(ProgramError, match=r"file\.yaml:1:2"):
        study(FakeRunner({"isolated": ProgramError(2, "file.yaml:1:2: no")}), ["isolated"])


def test_without_transport_there_is_no_ideal() -> None:
    done = study(FakeRunner({TRANSPORT_EXECUTOR: ProgramError(1, "no")}), ["isolated"])
    assert done.transport.ideal_ms is None
    assert done.measurements[0].latency_ms


class Load:
    """Counts; `killed`: by somebody else."""

    def __init__(self, killed: bool = False) -> None:
        self.begun = 0
        self.running = False
        self.killed = killed

    def __enter__(self) -> "Load":
        self.begun += 1
        self.running = True
        return self

    def __exit__(self, *_: object) -> None:
        self.running = False
        if self.killed:
            raise ProgramError(1, "the load was killed")


def test_what_ran_beside_a_load_that_was_killed_does_not_count() -> None:
    rows = [Row("isolated"), Row("isolated", BACKGROUND)]
    done = conduct(FakeRunner(), Interrupt(), rows, 60.0, 2, lambda _: None, Load(True))  # type: ignore[arg-type]
    assert done.measurements[0].latency_ms
    assert not done.measurements[1].latency_ms
    assert done.measurements[1].failure == "the load was killed"
