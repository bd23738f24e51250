# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The reference system under the scheduler in a virtual machine.

For seconds; with RCLRT_SCX_HOUR=1 for an hour of the machine's clock (RCLRT_SCX_HOUR=600: seconds).
"""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import vm

BUILD = Path(os.environ["RCLRT_BUILD_DIR"])
SOURCE = Path(os.environ["RCLRT_SOURCE_DIR"])
FETCHED = Path(os.environ["RCLRT_SCX_FETCHED"])
KERNEL = FETCHED / "vmlinuz-cloud-amd64"
CPUS = 2
PROGRAMS = [
    BUILD / "rclrt_scx" / "scx",
    BUILD / "rclrt_reference_system" / "rclrt_reference_system",
]
SCENARIO = SOURCE / "try/rclrt_scenarios" / "autoware_reference_system.yaml"
SCRIPT = (Path(__file__).parent / "machine.sh").read_text()
HOUR = os.environ.get("RCLRT_SCX_HOUR", "")
SECONDS = {"": 4, "1": 3600}.get(HOUR) or int(HOUR)
WORK_MS = 0.5
"""What a callback works. Beside it, the middleware needs over 50 million instructions a second."""
SHIFT = 2
"""4 ns an instruction."""
HOST_LIMIT_S = 300 + 4 * SECONDS


@dataclass(frozen=True)
class Minute:
    """What the script says at the end of each; memory in KiB."""

    state: str
    resident: int
    available: int
    jobs: int
    misses: int
    checked: str


def libraries_of_messages() -> list[Path]:
    """Return those that the middleware may load for messages whose others the program links."""
    found: set[Path] = set()
    for path in map(Path, vm.linked(PROGRAMS[-1])):
        package, is_of_messages, _ = path.name.partition("__")
        if is_of_messages:
            found.update(path.parent.glob(f"{package}__rosidl_typesupport_*.so"))
    return sorted(found)


def why_not() -> str:
    """Return why it cannot be tried here, or nothing."""
    lacking = [f"{path} is not built" for path in PROGRAMS if not path.exists()]
    return os.environ.get("RCLRT_SCX_WHY_NOT") or vm.why_not(KERNEL) or "; ".join(lacking)


def between(text: str, name: str) -> str:
    """Return the lines between two marks of the script."""
    return text.partition(f"{name}-BEGIN\n")[2].partition(f"\n{name}-END")[0]


def minutes_of(text: str) -> list[Minute]:
    """Return those at whose end the program was there still."""
    found = re.findall(
        r"^MINUTE \d+ (\w+) (\d+) (\d+) (\d+) (\d+) (\d+ events.*)$", text, re.MULTILINE
    )
    return [Minute(state, *map(int, numbers), checked) for state, *numbers, checked in found]


def test_the_reference_system_runs_in_order_and_in_time() -> None:
    """No ejection, no inversion, no growth of memory; of 10,000 jobs one may be late or lost."""
    if reason := why_not():
        pytest.skip(reason)
    libraries = libraries_of_messages()
    folders = ":".join({str(path.parent) for path in libraries})
    script = (
        f"seconds={SECONDS} work_ms={WORK_MS}\n"
        f"export LD_LIBRARY_PATH={folders} ROS_LOG_DIR=/tmp/log\n"
        f"cat > /tmp/scenario <<'END'\n{SCENARIO.read_text()}\nEND\n{SCRIPT}"
    )
    text = vm.boot(
        KERNEL, CPUS, script, "reference", PROGRAMS, HOST_LIMIT_S, libraries, 1024, shift=SHIFT
    )
    assert vm.END in text, text[-3000:]
    assert not vm.complaints(text)
    assert not re.findall(r"RESULT (\w+) fail", text), text[-6000:]
    minutes = minutes_of(text)
    # To check what was recorded takes time, too.
    assert max(1, SECONDS // 66) <= len(minutes) <= -(-SECONDS // 60), text[-6000:]
    report = json.loads(between(text, "REPORT"))
    hot_path = report["hot_path"]["latencies"]
    callbacks = report["callbacks"]
    jobs = sum(one["responses"]["count"] for one in callbacks)
    load = report["cpu_s"] * 1e9 / (report["measured_to_ns"] - report["measured_from_ns"])
    late = {one["name"]: one["deadline_misses"] for one in callbacks if one["deadline_misses"]}
    lost = {one["name"]: one["lost"] for one in callbacks if one["lost"]}
    print(
        f"\n{SECONDS} s: {jobs} jobs, {100 * load:.0f} % of a CPU; late {late}, lost {lost}; "
        f"hot path {hot_path}; memory of the program {minutes[0].resident} to "
        f"{minutes[-1].resident} KiB, available {minutes[0].available} to {minutes[-1].available}; "
        f"the scheduler counts {minutes[-1].misses} of {minutes[-1].jobs} late"
    )
    for number, minute in enumerate(minutes, start=1):
        print(f"  {number}: {minute}")
    assert report["deadline_scheduler"] == "sched_ext"
    assert report["attributes_in_force"]
    assert {minute.state for minute in minutes} == {"enabled"}
    assert jobs > 200 * SECONDS
    assert sum(late.values()) + sum(lost.values()) <= 2 + jobs // 10000
    assert minutes[-1].resident - minutes[0].resident < 1024
