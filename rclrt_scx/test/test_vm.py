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

BUILD = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_scx"
FETCHED = Path(os.environ["RCLRT_SCX_FETCHED"])
BOOT_LIMIT_S = 600

SCRIPT = (Path(__file__).parent / "machine.sh").read_text()

MACHINES = {
    "cloud-1": ("vmlinuz-cloud-amd64", 1, "common"),
    "cloud-1-life": ("vmlinuz-cloud-amd64", 1, "life"),
    "cloud-1-cycles": ("vmlinuz-cloud-amd64", 1, "cycles"),
    "cloud-1-partial": ("vmlinuz-cloud-amd64", 1, "partial"),
    "cloud-2": ("vmlinuz-cloud-amd64", 2, "common"),
    "cloud-4": ("vmlinuz-cloud-amd64", 4, "common"),
    "rt-2": ("vmlinuz-rt-amd64", 2, "common"),
}

# Not part of every run: the emulator runs virtual CPUs in turns, and with several of them a
# scenario fails now and then, for a reason that is not known yet (README.md, "What is open").
ONLY_ON_REQUEST = {"cloud-4", "rt-2"}


@lru_cache
def console(machine: str) -> str:
    """Boot once and return all that it said."""
    image, cpus, part = MACHINES[machine]
    kernel = FETCHED / image
    if machine in ONLY_ON_REQUEST and not os.environ.get("RCLRT_SCX_ALL"):
        return "SKIP set RCLRT_SCX_ALL=1 to boot this one too (README.md, What is open)"
    reason = os.environ.get("RCLRT_SCX_WHY_NOT") or vm.why_not(kernel)
    if reason:
        return f"SKIP {reason}"
    programs = [BUILD / "scx", BUILD / "scx_guest"]
    return vm.boot(kernel, cpus, SCRIPT, part, programs, BOOT_LIMIT_S)


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
    _, cpus, part = MACHINES[machine]
    body = SCRIPT.partition(f"{part}() {{")[2].partition("\n}\n")[0]
    named = set(re.findall(r"result (\w+) \$\?", body))
    assert named <= set(seen), named - set(seen)
    assert not re.search(r"Oops|BUG:|Kernel panic|WARNING:", text), text[-6000:]
    if part == "common":
        assert {"earliest_first", "every_cpu_takes_the_earliest_that_waits"} <= set(seen)
    if cpus > 1:
        assert not [name for name, (verdict, _) in seen.items() if verdict == "skip"]
