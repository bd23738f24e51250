# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The mixed load as components of one container: of rclrt_rclcpp, where that was built."""

import os
import signal
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from rclrt_benchmarks.contract.robot import WARM_UP_S, started
from rclrt_tools.reference.program import PATIENCE_S, Interrupt, ProgramError, Report
from rclrt_tools.trace import named_traces

NOT_OURS = ("parameter_events", "clock")


def _build() -> Path:
    return Path(os.environ.get("RCLRT_BUILD_DIR", "build")).absolute()


def why_not() -> str:
    """Return why there is no container; empty: there is one."""
    for program in (_container(), _loader()):
        if not program.exists():
            return f"{program.name} was not built: it needs rclcpp and rclcpp_components"
    return ""


def _container() -> Path:
    return _build() / "rclrt_rclcpp" / "component_container_rt"


def _loader() -> Path:
    return _build() / "rclrt_benchmarks" / "mixed_loader"


def parts_of(scenario: Path) -> list[str]:
    """Return the nodes of a scenario as the loader wants them."""
    nodes = yaml.safe_load(scenario.read_text(encoding="utf-8"))["nodes"]
    keys = ("name", "period_ms", "work_ms", "input", "output")
    return [
        ":".join(str(node.get(key, 0 if "_ms" in key else "")) for key in keys) for node in nodes
    ]


def run(
    interrupt: Interrupt,
    scenario: Path,
    cpu: int,
    seconds: float,
    told: Sequence[str],
    before: Sequence[str] = (),
) -> Report:
    """Run a container with all nodes of a scenario on one CPU, and return what became of its jobs.

    told: ROS arguments of the container.
    before: A command to start it with.

    Raises ProgramError: It failed, or refused a component.
    """
    with tempfile.TemporaryDirectory(prefix="rclrt-") as short:
        folder, said = Path(short) / "traces", Path(short) / "log"
        folder.mkdir()
        prefix = _build() / "rclrt_benchmarks" / "prefix"
        prefixes = ":".join([str(prefix), *filter(None, [os.environ.get("AMENT_PREFIX_PATH")])])
        command = ["env", f"RCLRT_TRACE={folder}", f"AMENT_PREFIX_PATH={prefixes}"]
        command += ["taskset", "-c", str(cpu), *before, str(_container()), "--ros-args", *told]
        with started(interrupt, command, said) as child:
            _load(interrupt, scenario, said)
            time.sleep(WARM_UP_S)
            begin = time.monotonic_ns()
            end = time.monotonic() + seconds
            while child.poll() is None and time.monotonic() < end and not interrupt.requested:
                time.sleep(0.05)
            until = time.monotonic_ns()
            child.send_signal(signal.SIGINT)
            status = child.wait(PATIENCE_S)
        if status != 0:
            raise ProgramError(status, said.read_text(encoding="utf-8", errors="replace"))
        return report_of(folder, begin, until)


def _load(interrupt: Interrupt, scenario: Path, said: Path) -> None:
    loader = said.with_suffix(".loader")
    with started(interrupt, [str(_loader()), *parts_of(scenario)], loader) as child:
        status = child.wait(PATIENCE_S)
    if status != 0:
        texts = (path.read_text(encoding="utf-8") for path in (loader, said))
        raise ProgramError(status, "\n".join(texts))


def report_of(folder: Path, begin: int, until: int) -> Report:
    """Return the jobs of these traces that ended in that time, as the reference system reports.

    Jobs are numbered by the release that led to them: within a process records have it.
    """
    found: dict[str, list[list[int]]] = {}
    for _, trace in named_traces([folder]):
        for number, entry in trace.callbacks.items():
            node, kind, what = _parts(entry.name)
            if kind not in ("timer", "subscription") or what in NOT_OURS:
                continue
            jobs = trace.jobs[trace.jobs["callback"] == number]
            jobs = jobs[(jobs["release_ns"] >= begin) & (jobs["end_ns"] <= until)]
            name = node if kind == "timer" else f"{node}<{what}"
            fields = ["release_ns", "start_ns", "end_ns", "root_ns"]
            found.setdefault(name, []).extend(
                [release, start, end, 0, root, root if kind == "subscription" else release]
                for release, start, end, root in jobs[fields].tolist()
            )
    callbacks: list[dict[str, Any]] = [
        {"name": name, "jobs": sorted(jobs)} for name, jobs in found.items()
    ]
    return {"measured_from_ns": begin, "measured_to_ns": until, "callbacks": callbacks}


def _parts(name: str) -> tuple[str, str, str]:
    parts = name.split("/")
    return (parts[1], parts[2], parts[3]) if len(parts) == 4 else ("", "", "")
