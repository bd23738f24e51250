# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""EDF in the kernel: order, preemption and wake-up, in a virtual machine [ROSRT §IV-C].

A stock kernel with sched_ext in QEMU's emulation, which needs no /dev/kvm; its clock counts
instructions, so other programs of the host do not matter, and its times are those of a slow
processor. Threads and callbacks of executors get deadlines; the scheduler's own record of all its
decisions is checked: no job that waited had an earlier deadline than one that ran.
"""

import argparse
import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rclrt_analysis.plots import Plot
from rclrt_benchmarks.harness.frame import (
    CANNOT,
    FailedError,
    Result,
    options,
    path_of,
    perform,
    source,
)
from rclrt_benchmarks.harness.row import FAILS, Judged, Machine, Row, at_most, open_row, stated
from rclrt_tools.statistics import percentile

KERNEL = "vmlinuz-cloud-amd64"
LIMIT_S = 600
CHECKED = "no_queued_job_was_earlier_than_a_running_one"
ORDER = {
    "earliest_first": "threads that wait on one CPU run in order of their deadlines",
    "every_cpu_takes_the_earliest_that_waits": "so they do on all CPUs",
    CHECKED: "the record of all decisions",
    "callbacks_of_an_executor_run_earliest_deadline_first": "callbacks of an executor",
}
PREEMPTION = {
    "an_earlier_one_preempts_when_a_timer_wakes_it": "an earlier deadline",
    "a_later_one_does_not_preempt": "a later deadline",
    "a_callback_with_an_earlier_deadline_preempts": "a callback with an earlier deadline",
    "several_in_background_get_no_more_than_the_reserve": "ordinary load beside EDF",
}
WAKES = "wake_to_run_costs_at_most_twice_that_of_fifo"
TWICE = 2.0
NS_AN_INSTRUCTION = 16
CALLBACKS = tuple(name for name in (*ORDER, *PREEMPTION) if "callback" in name)
GUEST = tuple(n for n in (*ORDER, *PREEMPTION) if n not in (*CALLBACKS, CHECKED))
# As the tests' script: the kernel's own server for starved threads would preempt the dispatcher.
SCRIPT = f"""
for server in /sys/kernel/debug/sched/ext_server/cpu*; do echo 0 > $server/runtime; done
scx load --slots 16 --timeout 2000 --record 8192 || exit 1
scx record --output /tmp/events & recorder=$!
scx_guest {" ".join(GUEST)}
kill -TERM $recorder; wait $recorder
if scx check --input /tmp/events --bound-us 20000; then echo RESULT {CHECKED} pass
else echo RESULT {CHECKED} fail; fi
executor_guest {" ".join(CALLBACKS)}
scx unload
scx load --slots 16; scx_guest {WAKES}; scx unload
"""


def _cpus(text: str) -> tuple[int, ...]:
    found = tuple(int(word) for word in text.split(","))
    if any(not 1 <= cpus <= 8 for cpus in found):
        raise argparse.ArgumentTypeError(f"{text}: 1 to 8 CPUs")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser)
    parser.add_argument(
        "--cpus", type=_cpus, default=(1, 2), metavar="A,B", help="a machine for each (1,2)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Boot the machines."""
    return perform(arguments, _measure, _show, judge_order, judge_preemption)


def _measure(arguments: argparse.Namespace) -> Result:
    sys.path.insert(0, str(source() / "kernel/rclrt_scx" / "test"))
    vm = importlib.import_module("vm")
    kernel = source() / ".rclrt" / "scx" / KERNEL
    if why := vm.why_not(kernel):
        raise FailedError(why, CANNOT)
    programs = [path_of(name, "rclrt_scx") for name in ("scx", "scx_guest")]
    programs.append(path_of("executor_guest", "rclrt_front_end"))
    machines = []
    for cpus in arguments.cpus:
        print(f"booting a machine with {cpus} CPUs", file=sys.stderr)
        text = vm.boot(kernel, cpus, SCRIPT, "", programs, LIMIT_S)
        machines.append(read_console(text, cpus, vm.END in text, vm.complaints(text)))
    return {"kernel": KERNEL, "machines": machines}


def read_console(text: str, cpus: int, ended: bool, complaints: list[str]) -> dict[str, Any]:
    """Return what the console says: verdicts, times in us."""
    results = {
        name: (verdict, said.strip())
        for name, verdict, said in re.findall(r"RESULT (\w+) (pass|fail|skip) ?(.*)", text)
    }
    wanted = {*ORDER, *PREEMPTION, WAKES}
    samples = re.findall(r"SAMPLES (\w+) wake to run, ns:([ \d]+)", text)
    background = re.search(r"the background got (\d+) ms beside (\d+) ms", text)
    return {
        "cpus": cpus,
        "ended": ended,
        "results": {name: results.get(name, ("fail", "not reported")) for name in sorted(wanted)},
        "complaints": complaints,
        "wake_to_run_us": {
            name: [int(ns) / 1000 for ns in values.split()] for name, values in samples
        },
        "background_ms": [int(ms) for ms in background.groups()] if background else [],
        "tail": "" if ended else text[-1500:],
    }


def _show(result: Result) -> None:
    for machine in result["machines"]:
        ended = "" if machine["ended"] else f": it did not end by itself\n{machine['tail']}"
        print(f"{machine['cpus']} CPUs{ended}")
        for name, (verdict, said) in machine["results"].items():
            print(f"  {verdict}  {name.replace('_', ' ')}{f': {said}' if said else ''}")


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
    complaints += ["it did not end" for one in result["machines"] if not one.get("ended", True)]
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
