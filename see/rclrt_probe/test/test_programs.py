# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The probe changes nothing of what a program does, and loses nothing that can be kept."""

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from observing import HERE, LIBRARY, observe, run
from rclrt_tools.trace import layout

FAKE = str(HERE / "fake_program")
TIMER = "/robot/fake/timer/10ms"
TOPIC = "/robot/fake/subscription/topic"


@pytest.mark.parametrize(
    "command",
    [
        ["bash", "-c", "echo $((6 * 7)) | tr 4 5; exit 3"],
        [
            sys.executable,
            "-c",
            "import threading, json; print(json.dumps([1])); raise SystemExit(4)",
        ],
        [str(HERE / "static_program")],
    ],
    ids=["bash", "python", "static"],
)
def test_a_program_without_ros_is_as_before_and_writes_nothing(
    command: list[str], tmp_path: Path
) -> None:
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not there: it cannot be linked on this machine")
    plain = run(command, None)
    seen = observe(command, tmp_path)
    assert (seen.process.stdout, seen.process.stderr) == (plain.stdout, plain.stderr)
    assert seen.process.returncode == plain.returncode
    assert not list(tmp_path.iterdir())


def test_without_a_folder_nothing_is_written_and_all_calls_arrive(tmp_path: Path) -> None:
    plain = run([FAKE, "jobs", "20"], None)
    seen = run([FAKE, "jobs", "20"], None, LD_PRELOAD=str(LIBRARY), RCLRT_PROBE_FOLDER="")
    assert seen.stdout == plain.stdout
    assert not seen.stderr


def test_every_call_reaches_the_next_definition_also_of_a_library_loaded_apart(
    tmp_path: Path,
) -> None:
    fake = [FAKE, "jobs", "20"]
    assert observe(fake, tmp_path / "1").process.stdout == run(fake, None).stdout
    loading = [str(HERE / "loading_fake"), str(HERE / "libfake_executor.so"), "20"]
    seen = observe(loading, tmp_path / "2")
    assert seen.process.stdout == run(loading, None).stdout
    assert seen.jobs == {TIMER: 20, TOPIC: 20}


def test_jobs_have_names_symbols_causes_and_the_message_that_released_them(tmp_path: Path) -> None:
    seen = observe([FAKE, "jobs", "20"], tmp_path)
    assert seen.jobs == {TIMER: 20, TOPIC: 20}
    assert seen.entry(TIMER).period_ns == 10_000_000
    assert seen.note(TIMER) == "Fake::on_timer()"
    assert seen.note(TOPIC) == "Fake::on_message(Message)"
    assert seen.taken(TOPIC) == seen.published
    assert len(seen.published) == 20
    (jobs,) = [trace.jobs for trace in seen.traces.values() if len(trace.jobs)]
    assert set(jobs["policy"].tolist()) != {0}
    assert set(jobs["cpus"].tolist()) != {0}
    kept_its_cpu = jobs["preemptions"] == 0
    assert kept_its_cpu.any()
    assert (jobs["cpu_ns"] == jobs["end_ns"] - jobs["start_ns"])[kept_its_cpu].all()
    timers = jobs[jobs["cause"] == layout.CAUSE_TIMER]
    # They were due 1 ms before they were called.
    assert (timers["start_ns"] - timers["release_ns"]).min() >= 1_000_000


@pytest.mark.parametrize(
    ("mode", "count", "jobs"), [("threads", 1000, 1000), ("at_once", 200, 1600)]
)
def test_the_jobs_of_all_threads_are_kept_also_of_those_that_have_ended(
    mode: str, count: int, jobs: int, tmp_path: Path
) -> None:
    seen = observe([FAKE, mode, str(count)], tmp_path)
    assert seen.jobs == {TIMER: jobs, TOPIC: jobs}
    assert seen.published.total() == jobs
    assert all(trace.dropped == 0 for trace in seen.traces.values())


def test_a_forked_child_has_files_of_its_own_and_the_parents_hold_no_job_twice(
    tmp_path: Path,
) -> None:
    seen = observe([FAKE, "fork", "10"], tmp_path)
    assert seen.process.returncode == 0
    by_process: dict[int, int] = {}
    for trace in seen.traces.values():
        process = trace.header.process
        by_process[process] = by_process.get(process, 0) + len(trace.jobs)
        assert set(trace.jobs["thread"].tolist()) <= {process}
    assert sorted(by_process.values()) == [20, 40]
    assert seen.jobs == {TIMER: 30, TOPIC: 30}  # Both have their names.


def test_a_program_that_becomes_another_one_leaves_both_traces(tmp_path: Path) -> None:
    seen = observe([FAKE, "exec", "10"], tmp_path)
    assert len({trace.header.process for trace in seen.traces.values()}) == 1
    assert seen.jobs == {TIMER: 20, TOPIC: 20}


def test_programs_of_two_containers_with_one_number_and_one_folder_leave_both_traces(
    tmp_path: Path,
) -> None:
    if not shutil.which("unshare"):
        pytest.skip("there is no unshare")
    one = f"unshare -r --pid --fork {FAKE} jobs 200"
    seen = observe(["sh", "-c", f"{one} & {one} & wait"], tmp_path)
    if "unshare" in seen.process.stderr:
        pytest.skip(f"no PID namespaces can be made here: {seen.process.stderr}")
    digits = [re.fullmatch(r"fake_program-1-([0-9a-f]{16})(\.\d+)?\.trace", t) for t in seen.traces]
    assert len({found[1] for found in digits if found}) == 2, list(seen.traces)
    assert seen.jobs == {TIMER: 400, TOPIC: 400}


@pytest.mark.parametrize(("mode", "status"), [("_exit", 3), ("kill", -signal.SIGKILL)])
def test_what_was_written_before_a_sudden_end_can_be_read(
    mode: str, status: int, tmp_path: Path
) -> None:
    seen = observe([FAKE, mode, "10"], tmp_path)
    assert seen.process.returncode == status
    assert seen.jobs == {TIMER: 10, TOPIC: 10}


def test_callbacks_that_nobody_has_announced_are_counted_as_missing(tmp_path: Path) -> None:
    seen = observe([FAKE, "unknown", "5"], tmp_path)
    assert seen.process.stdout == run([FAKE, "unknown", "5"], None).stdout
    assert seen.jobs == {TIMER: 5, TOPIC: 5}
    assert "never announced" in seen.missing
    assert "groups" in seen.missing  # This fake has no rclcpp.


def test_without_any_tracepoint_jobs_are_seen_by_what_is_taken_and_called(tmp_path: Path) -> None:
    seen = observe([FAKE, "silent", "10"], tmp_path)
    assert seen.jobs == {"?/timer/25ms": 10, "?/subscription/silent": 10}
    assert seen.taken("?/subscription/silent") == seen.published
    assert "TRACETOOLS_DISABLED" in seen.missing
    assert "asked for their GID" in seen.missing
    (trace,) = [trace for trace in seen.traces.values() if len(trace.jobs)]
    published = trace.records[trace.records["outcome"] == layout.PUBLISHED]
    assert {trace.callbacks[key].name for key in published["callback"].tolist()} == {"?/timer/25ms"}


def test_a_timer_that_only_releases_another_one_has_no_jobs_even_if_that_does_not_run(
    tmp_path: Path,
) -> None:
    seen = observe([FAKE, "driven", "10"], tmp_path)
    assert seen.jobs == {TIMER: 5}


ALL = {TIMER: 20, TOPIC: 20}
WITHOUT = {  # A point that a distribution may lack: the jobs that are seen then, and what is said.
    "rcl_node_init": ({"?/timer/10ms": 20, "?/subscription/topic": 20}, "names of nodes"),
    "rcl_timer_init": ({"/robot/fake/timer/25ms": 20, TOPIC: 20}, "never announced"),
    "rclcpp_timer_callback_added": (ALL, "never announced"),
    "rclcpp_timer_link_node": (ALL, ""),
    "rclcpp_callback_register": (ALL, "symbols: rclcpp_callback_register is not called"),
    "rmw_publisher_init": (ALL, "asked for their GID"),
    "rcl_subscription_init": (ALL, "never announced"),
    "rclcpp_subscription_init": (ALL, "never announced"),
    "rclcpp_subscription_callback_added": (ALL, "never announced"),
    "callback_start": ({}, "callback_start is not called, though callbacks are announced"),
    "callback_end": ({}, "callback_end is not called: jobs that began have no end"),
    "rcl_wait": (ALL, "no thread waits on a wait set"),
    "rcl_timer_call_with_info": (ALL, "nominal releases of timers"),
    "rmw_take_with_info": (ALL, "messages: rmw_take_with_info is not called"),
}


@pytest.mark.parametrize("point", WITHOUT)
def test_a_distribution_that_lacks_a_point_goes_on_and_what_is_missing_is_said(
    point: str, tmp_path: Path
) -> None:
    jobs, said = WITHOUT[point]
    plain = run([FAKE, "jobs", "20"], None, FAKE_WITHOUT=point)
    seen = observe([FAKE, "jobs", "20"], tmp_path, FAKE_WITHOUT=point)
    assert (seen.process.returncode, seen.process.stdout) == (0, plain.stdout)
    # Where the end is guessed that of the last job is not known.
    assert set(seen.jobs) == set(jobs)
    assert all(jobs[name] - 1 <= n <= jobs[name] for name, n in seen.jobs.items())
    assert said in seen.missing
    with_all = observe([FAKE, "jobs", "20"], tmp_path / "all").missing
    assert not said or said not in with_all


def test_a_folder_that_cannot_be_written_costs_one_line_and_nothing_else() -> None:
    seen = run([FAKE, "jobs", "20"], Path("/proc/no_such_folder"))
    assert seen.stdout == run([FAKE, "jobs", "20"], None).stdout
    assert seen.returncode == 0
    assert seen.stderr.startswith("rclrt_probe: cannot write")
    assert seen.stderr.count("\n") == 1


def test_a_full_disk_costs_one_line_and_what_fits_can_be_read(tmp_path: Path) -> None:
    script = f"""
        mount -t tmpfs -o size=128k none "$0" || exit 77
        RCLRT_PROBE_FOLDER="$0/traces" LD_PRELOAD={LIBRARY} {FAKE} jobs 2000
        cp -r "$0"/traces "$1"
    """
    if not shutil.which("unshare"):
        pytest.skip("there is no unshare")
    (tmp_path / "small").mkdir()
    command = [
        "unshare",
        "-rm",
        "sh",
        "-c",
        script,
        str(tmp_path / "small"),
        str(tmp_path / "kept"),
    ]
    seen = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if seen.returncode == 77 or "unshare" in seen.stderr:
        pytest.skip(f"no small disk can be made here: {seen.stderr}")
    assert seen.stdout == run([FAKE, "jobs", "2000"], None).stdout
    assert seen.stderr.startswith("rclrt_probe: ")
    assert seen.stderr.count("\n") == 1
    from rclrt_tools.trace import read_trace

    kept = [read_trace(path) for path in (tmp_path / "kept").glob("*.trace")]
    assert 0 < sum(len(trace.jobs) for trace in kept) < 4000


def exported(library: Path) -> list[str]:
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    return [line.split()[-1] for line in symbols if line]


def test_only_what_stands_in_for_ros_is_exported_and_all_that_the_library_for_rclcpp_defines() -> (
    None
):
    names = exported(LIBRARY)
    assert names
    ours = ("ros_trace_", "rcl_", "rmw_", "_ZN6rclcpp", "pthread_rwlock_", "rclrt_probe_timer_")
    assert [name for name in names if not name.startswith(ours)] == ["rclrt_find_next"]
    for library in (HERE.parent / "rclrt_rclcpp").glob("librclrt_stock-*.so"):
        of_stock = {name for name in exported(library) if not name.startswith("rclrt_stock_")}
        assert of_stock - set(names) == set()
