# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""EDF in the kernel [ROSRT §IV-C]: order, and preemption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rclrt_analysis.evaluation.experiment import Judged, Machine
from rclrt_analysis.evaluation.row import FAILS, Plot, Row, at_most, open_row, stated
from rclrt_analysis.statistics import percentile

ORDER = {
    "earliest_first": "threads that wait on one CPU run in order of their deadlines",
    "every_cpu_takes_the_earliest_that_waits": "so they do on all CPUs",
    "no_queued_job_was_earlier_than_a_running_one": "the record of all decisions",
    "callbacks_of_an_executor_run_earliest_deadline_first": "callbacks of an executor",
}
PREEMPTION = {
    "an_earlier_one_preempts_when_a_timer_wakes_it": "an earlier deadline",
    "a_later_one_does_not_preempt": "a later deadline",
    "a_callback_with_an_earlier_deadline_preempts": "a callback with an earlier deadline",
    "several_in_background_get_no_more_than_the_reserve": "ordinary load beside EDF",
}
TWICE = 2.0
NS_AN_INSTRUCTION = 16


def _rows(result: Mapping[str, Any], names: Mapping[str, str], shape: str) -> list[Row]:
    found = []
    for name, text in names.items():
        verdicts = {one["cpus"]: one["results"][name] for one in result["machines"]}
        tried = {cpus: said for cpus, (verdict, said) in verdicts.items() if verdict != "skip"}
        if not tried:
            why = "; ".join(said for _, said in verdicts.values())
            found.append(open_row(text, "by design", shape, why))
            continue
        failed = [f"{c} CPUs: {verdicts[c][1]}" for c in tried if verdicts[c][0] == "fail"]
        ours = "kept on " + ", ".join(str(cpus) for cpus in tried) + " CPUs" if not failed else "no"
        found.append(
            stated(text, "by design", ours, shape, not failed, why="; ".join(failed), timed=False)
        )
    return found


def judge_order(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge the order."""
    found = _rows(result, ORDER, "exact deadline order")
    complaints = [line for one in result["machines"] for line in one["complaints"]]
    found.append(
        stated(
            "the kernel", "-", f"{len(complaints)} warnings", "it does not complain",
            not complaints, why="; ".join(complaints[:2]), timed=False,
        )
    )  # fmt: skip
    return Judged(found)


def judge_preemption(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge preemption, and what it costs to wake a thread."""
    shape = "an earlier deadline preempts; background load does not starve EDF"
    found = _rows(result, PREEMPTION, shape)
    plots = []
    for one in result["machines"]:
        cpus, samples = one["cpus"], one["wake_to_run_us"]
        if one["background_ms"]:
            got, beside = one["background_ms"]
            found[3].ours += f"; {got} of {beside} ms went to it with {cpus} CPUs"
        edf, fifo = (_median(samples.get(name, [])) for name in ("edf", "fifo"))
        ratio = None if edf is None or not fifo else edf / fifo
        row = at_most(
            f"wake to run, EDF / SCHED_FIFO, {cpus} CPUs: median", ratio, TWICE,
            shape="ours: at most twice that of SCHED_FIFO", timed=False,
            ours="-" if ratio is None else f"{ratio:.2f} ({edf:.1f} / {fifo:.1f} us)",
        )  # fmt: skip
        if row.verdict == FAILS and edf is not None and fifo is not None:
            more = (edf - fifo) * 1000 / NS_AN_INSTRUCTION
            row.why = f"the programs in the kernel run {more:.0f} instructions more, in an emulator"
        found.append(row)
        title = f"wake to run, {cpus} CPUs, emulated: {NS_AN_INSTRUCTION} ns an instruction"
        plots.append(Plot(title, "us", samples))
    return Judged(found, plots)


def _median(values: Sequence[float]) -> float | None:
    return percentile(sorted(values), 0.5)
