# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from rclrt_tools.reference.executors import BACKGROUND, QUIET, Row
from rclrt_tools.reference.program import Interrupt, ProgramError, Report
from rclrt_tools.reference.study import INTERRUPTED, TRANSPORT_EXECUTOR, conduct
from reports import MS, callback, report


class FakeRunner:
    """Answers at once; `failures` maps an executor to the error it raises."""

    def __init__(self, failures: dict[str, ProgramError] | None = None) -> None:
        self.runs: list[tuple[str, float | None]] = []
        self.failures = failures or {}
        self.interrupt_after: int | None = None

    def calibrate(self) -> None:
        pass

    def run(
        self, interrupt: Interrupt, executor: str, seconds: float, work_ms: float | None = None
    ) -> list[Report]:
        self.runs.append((executor, work_ms))
        if len(self.runs) == self.interrupt_after:
            interrupt.requested = True
        if executor in self.failures:
            raise self.failures[executor]
        if work_ms == 0.0:
            hop = callback("B<A", [[3 * MS // 10, 4 * MS // 10, MS, MS // 10, 1, 1]] * 2)
            return [report([0.2, 0.3, 0.4], [hop], executor)]
        return [report([8.0, 9.0], [], executor)]


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

    def __enter__(self) -> Load:
        self.begun += 1
        self.running = True
        return self

    def __exit__(self, *_: object) -> None:
        self.running = False
        if self.killed:
            raise ProgramError(1, "the load was killed")


def test_rows_beside_load_run_beside_it_and_the_others_alone() -> None:
    load = Load()
    seen: list[bool] = []

    class Looks(FakeRunner):
        def run(self, *arguments, **more):  # type: ignore[no-untyped-def]
            seen.append(load.running)
            return super().run(*arguments, **more)

    rows = [Row("isolated"), Row("isolated", BACKGROUND)]
    done = conduct(Looks(), Interrupt(), rows, 60.0, 2, lambda _: None, load)  # type: ignore[arg-type]
    assert seen[:3] == [False, False, True]
    assert load.begun == seen.count(True) > 0
    assert not load.running
    assert [m.load for m in done.measurements] == [QUIET, BACKGROUND]


def test_what_ran_beside_a_load_that_was_killed_does_not_count() -> None:
    rows = [Row("isolated"), Row("isolated", BACKGROUND)]
    done = conduct(FakeRunner(), Interrupt(), rows, 60.0, 2, lambda _: None, Load(True))  # type: ignore[arg-type]
    assert done.measurements[0].latency_ms
    assert not done.measurements[1].latency_ms
    assert done.measurements[1].failure == "the load was killed"
