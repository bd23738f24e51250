# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""EDF in the kernel: order, preemption and wake-up, in a virtual machine [ROSRT §IV-C].

A stock kernel with sched_ext in QEMU's emulation, which needs no /dev/kvm; its clock counts
instructions, so other programs of the host do not matter, and its times are those of a slow
processor. Threads and callbacks of executors get deadlines; the scheduler's own record of all its
decisions is checked: no job that waited had an earlier deadline than one that ran.

Exits with 1 if the order is not kept or it fails, with 2 for wrong arguments or without a virtual
machine.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from rclrt_analysis.arguments import writable_file

KERNEL = "vmlinuz-cloud-amd64"
LIMIT_S = 600
CHECKED = "no_queued_job_was_earlier_than_a_running_one"
ORDER = (
    "earliest_first",
    "every_cpu_takes_the_earliest_that_waits",
    CHECKED,
    "callbacks_of_an_executor_run_earliest_deadline_first",
)
PREEMPTION = (
    "an_earlier_one_preempts_when_a_timer_wakes_it",
    "a_later_one_does_not_preempt",
    "a_callback_with_an_earlier_deadline_preempts",
    "several_in_background_get_no_more_than_the_reserve",
    "wake_to_run_costs_at_most_twice_that_of_fifo",
)
GUEST = (*ORDER[:2], *PREEMPTION[:2], PREEMPTION[3])
CALLBACKS = (ORDER[3], PREEMPTION[2])
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
scx load --slots 16; scx_guest {PREEMPTION[4]}; scx unload
"""


def _cpus(text: str) -> tuple[int, ...]:
    found = tuple(int(word) for word in text.split(","))
    if any(not 1 <= cpus <= 8 for cpus in found):
        raise argparse.ArgumentTypeError(f"{text}: 1 to 8 CPUs")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument(
        "--cpus", type=_cpus, default=(1, 2), metavar="A,B", help="a machine for each (1,2)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Boot the machines."""
    source = Path(os.environ.get("RCLRT_SOURCE_DIR", "."))
    build = Path(os.environ.get("RCLRT_BUILD_DIR", "build"))
    sys.path.insert(0, str(source / "kernel/rclrt_scx" / "test"))
    vm = importlib.import_module("vm")
    kernel = source / ".rclrt" / "scx" / KERNEL
    programs = [build / "rclrt_scx" / "scx", build / "rclrt_scx" / "scx_guest"]
    programs.append(build / "rclrt_front_end" / "executor_guest")
    lacking = [f"{path} is not built" for path in programs if not path.exists()]
    if why := vm.why_not(kernel) or "; ".join(lacking):
        print(why, file=sys.stderr)
        return 2
    machines = []
    for cpus in arguments.cpus:
        print(f"booting a machine with {cpus} CPUs", file=sys.stderr)
        text = vm.boot(kernel, cpus, SCRIPT, "", programs, LIMIT_S)
        machines.append(read_console(text, cpus, vm.END in text, vm.complaints(text)))
    failed = False
    for machine in machines:
        failed = not _print(machine) or failed
    if arguments.json:
        text = json.dumps({"schema": 1, "kernel": KERNEL, "machines": machines}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return int(failed)


def read_console(text: str, cpus: int, ended: bool, complaints: list[str]) -> dict[str, Any]:
    """Return what the console says: verdicts, times in us."""
    results = {
        name: (verdict, said.strip())
        for name, verdict, said in re.findall(r"RESULT (\w+) (pass|fail|skip) ?(.*)", text)
    }
    wanted = {*ORDER, *PREEMPTION}
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


def _print(machine: dict[str, Any]) -> bool:
    good = machine["ended"] and not machine["complaints"]
    print(f"{machine['cpus']} CPUs" + ("" if machine["ended"] else ": it did not end by itself"))
    for name, (verdict, said) in machine["results"].items():
        print(f"  {verdict}  {name.replace('_', ' ')}{f': {said}' if said else ''}")
        good = good and verdict != "fail"
    for line in machine["complaints"]:
        print(f"  the kernel: {line}")
    for name, values in machine["wake_to_run_us"].items():
        print(f"  {name}: wake to run {sorted(values)[len(values) // 2]:.1f} us, n={len(values)}")
    print(machine["tail"], end="")
    return good
