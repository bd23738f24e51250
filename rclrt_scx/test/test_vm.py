# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The scheduler in a virtual machine: each machine is booted once and runs all scenarios it can."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

import pytest
import vm

BUILD = Path(os.environ["RCLRT_BUILD_DIR"])
BUILT = {
    "scx": BUILD / "rclrt_scx" / "scx",
    "scx_guest": BUILD / "rclrt_scx" / "scx_guest",
    "executor_guest": BUILD / "rclrt_rcl" / "executor_guest",
}
PROGRAMS = [program for program in BUILT.values() if program.exists()]
FETCHED = Path(os.environ["RCLRT_SCX_FETCHED"])
BOOT_LIMIT_S = 600

SCRIPT = (Path(__file__).parent / "machine.sh").read_text()

MACHINES = {
    "cloud-1": ("vmlinuz-cloud-amd64", 1, "common life cycles partial"),
    "cloud-2": ("vmlinuz-cloud-amd64", 2, "common"),
    "cloud-4": ("vmlinuz-cloud-amd64", 4, "common"),
    "rt-2": ("vmlinuz-rt-amd64", 2, "common"),
    "older-2": ("vmlinuz-older", 2, "common"),
}


@lru_cache
def console(machine: str) -> str:
    """Boot once and return all that it said."""
    image, cpus, parts = MACHINES[machine]
    kernel = FETCHED / image
    reason = os.environ.get("RCLRT_SCX_WHY_NOT") or vm.why_not(kernel)
    if reason:
        return f"SKIP {reason}"
    return vm.boot(kernel, cpus, SCRIPT, parts, PROGRAMS, BOOT_LIMIT_S)


def promised(parts: str) -> set[str]:
    """Return the names that the script says it will report."""
    names: set[str] = set()
    for part in parts.split():
        body = SCRIPT.partition(f"{part}() {{")[2].partition("\n}\n")[0].replace("\\\n", " ")
        names.update(re.findall(r"result (\w+) \$\?", body))
        for guest, scenarios in re.findall(r"(scx_guest|executor_guest) ([\w -]+)", body):
            if BUILT[guest].exists():
                prefix = "partial_" if part == "partial" else ""
                names.update(prefix + name for name in scenarios.split() if "all-" not in name)
            else:
                print(f"{guest} is not in this build: left out {scenarios}")
    return names


def results(text: str) -> dict[str, tuple[str, str]]:
    """Return what each scenario said: verdict and text."""
    lines = re.findall(r"RESULT (\w+) (pass|fail|skip) ?(.*)", text)
    return {name: (verdict, seen) for name, verdict, seen in lines}


@pytest.mark.parametrize("machine", MACHINES)
def test_every_scenario_passes(machine: str) -> None:
    """No scenario fails, none that the script names is missing, and the kernel did not complain."""
    text = console(machine)
    if text.startswith("SKIP "):
        pytest.skip(text[5:])
    seen = results(text)
    print(*(line for line in text.splitlines() if line.startswith("LATENCY")), sep="\n")
    assert vm.END in text, text[-3000:]
    failed = {name: why for name, (verdict, why) in seen.items() if verdict == "fail"}
    assert not failed, text[-6000:]
    _, cpus, parts = MACHINES[machine]
    assert promised(parts) <= set(seen), promised(parts) - set(seen)
    assert not vm.complaints(text)
    assert {"earliest_first", "every_cpu_takes_the_earliest_that_waits"} <= set(seen)
    enough = ["two", "three"][: cpus - 1]
    left_out = [f"{name}: {why}" for name, (verdict, why) in seen.items() if verdict == "skip"]
    assert not [why for why in left_out if why.endswith(tuple(f"{n} CPUs" for n in enough))]
    print(*left_out, sep="\n")


def test_a_warning_of_the_kernel_is_a_complaint() -> None:
    """It never reaches the console, so it is looked for in the log; an ordinary line is none."""
    kernel = FETCHED / MACHINES["cloud-1"][0]
    reason = os.environ.get("RCLRT_SCX_WHY_NOT") or vm.why_not(kernel)
    if reason:
        pytest.skip(reason)
    script = "echo '<4>WARNING: made up' > /dev/kmsg; echo '<4>all is well' > /dev/kmsg"
    text = vm.boot(kernel, 1, script, "", [], BOOT_LIMIT_S)
    assert vm.END in text, text[-3000:]
    seen = vm.complaints(text)
    assert len(seen) == 1, seen
    assert seen[0].endswith("WARNING: made up")
