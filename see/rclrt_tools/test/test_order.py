# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The checker of orders finds what was planted, and nothing else."""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from models import model
from programs import PROGRAM, clean_environment, rclrt, run_first_node
from rclrt_analysis.simulation import simulate
from rclrt_tools.cli import main
from rclrt_tools.observe.parts import parts_of
from rclrt_tools.observe.template import to_template
from rclrt_tools.order import Violation, check_order
from rclrt_tools.trace import NO_DEADLINE, Entry, Header, Trace, blank, layout, write_trace
from rclrt_tools.trace.simulated import to_traces

# Far above what a dispatch takes; a wrong order lasts for milliseconds.
BOUND_NS = 2_000_000

Row = tuple[str, int, int, int, int]  # name, ready, start, end, deadline


def trace_of(rows: list[Row], dropped: int = 0) -> Trace:
    names = sorted({row[0] for row in rows})
    records = blank(len(rows))
    for i, (name, ready, start, end, deadline) in enumerate(rows):
        records[i]["callback"] = names.index(name)
        records[i]["release_ns"] = records[i]["ready_ns"] = ready
        records[i]["start_ns"] = start
        records[i]["end_ns"] = end
        records[i]["deadline_ns"] = deadline
        records[i]["sequence"] = i
    return Trace({i: Entry(name, i) for i, name in enumerate(names)}, records, dropped)


def edf(jobs: list[tuple[int, int, int]], cpus: int) -> list[Row]:
    """Simulate global EDF step by step; jobs are (ready, deadline, work)."""
    left = [work for _, _, work in jobs]
    start: list[int | None] = [None] * len(jobs)
    end = [0] * len(jobs)
    time = 0
    while any(left):
        ready = [i for i, job in enumerate(jobs) if job[0] <= time and left[i]]
        for i in sorted(ready, key=lambda i: (jobs[i][1], i))[:cpus]:
            start[i] = time if start[i] is None else start[i]
            left[i] -= 1
            end[i] = time + 1
        time += 1
    return [(f"j{i}", job[0], start[i] or 0, end[i], job[1]) for i, job in enumerate(jobs)]


def random_jobs(seed: int, count: int = 30) -> list[tuple[int, int, int]]:
    """Return jobs that keep two CPUs busy, with deadlines that all differ."""
    dice = random.Random(seed)
    deadlines = dice.sample(range(1000), count)
    return [(dice.randrange(60), deadlines[i], dice.randrange(1, 8)) for i in range(count)]


@pytest.mark.parametrize("cpus", [1, 2, 4])
@pytest.mark.parametrize("seed", range(20))
def test_edf_is_in_order(cpus: int, seed: int) -> None:
    assert check_order([trace_of(edf(random_jobs(seed), cpus))], cpus, 0) == []


@pytest.mark.parametrize("cpus", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_latest_deadline_first_is_not(cpus: int, seed: int) -> None:
    opposite = [(ready, -deadline, work) for ready, deadline, work in random_jobs(seed)]
    rows = [(n, r, s, e, -d) for n, r, s, e, d in edf(opposite, cpus)]
    assert check_order([trace_of(rows)], cpus, 0)


def test_a_queued_job_that_is_passed_over_is_found_with_its_length() -> None:
    """The late one starts while the early one waits."""
    rows: list[Row] = [("hog", 0, 0, 10, 5), ("early", 2, 30, 40, 50), ("late", 3, 10, 30, 90)]
    assert check_order([trace_of(rows)], 1, 19) == [
        Violation("queued", "early", "late", 10, 30),
        Violation("ran", "early", "late", 10, 30),
    ]
    assert check_order([trace_of(rows)], 1, 20) == []


def test_a_missing_preemption_is_found() -> None:
    """The early one waits until the late one has ended of itself."""
    rows: list[Row] = [("late", 0, 0, 100, 900), ("early", 20, 100, 110, 50)]
    found = check_order([trace_of(rows)], 1, 0)
    assert Violation("queued", "early", "late", 20, 100) in found


@pytest.mark.parametrize(
    ("rows", "cpus", "bound", "rules"),
    [
        # After h, l goes on although m has started and is earlier; or it does not.
        ([("l", 0, 0, 70, 90), ("m", 10, 10, 90, 60), ("h", 20, 20, 50, 30)], 1, 0, ["ran"]),
        ([("l", 0, 0, 90, 90), ("m", 10, 10, 70, 60), ("h", 20, 20, 50, 30)], 1, 0, []),
        # What is right on one CPU leaves the second idle or with a later job.
        ([("a", 0, 0, 10, 10), ("x", 0, 0, 30, 99), ("b", 5, 10, 20, 20)], 2, 4, ["queued"]),
        ([("a", 0, 0, 10, 10), ("x", 0, 0, 30, 99), ("b", 5, 10, 20, 20)], 1, 100, []),
        # A job without a deadline waits for all others; equal deadlines have no order.
        ([("n", 0, 20, 30, NO_DEADLINE), ("a", 0, 0, 10, 70), ("b", 0, 10, 20, 70)], 1, 0, []),
        ([("n", 0, 0, 30, NO_DEADLINE), ("a", 0, 30, 40, 70)], 1, 0, ["queued", "ran"]),
    ],
)
def test_what_breaks_an_order(rows: list[Row], cpus: int, bound: int, rules: list[str]) -> None:
    assert [found.rule for found in check_order([trace_of(rows)], cpus, bound)] == rules


def test_exclusive_groups_are_those_of_the_file() -> None:
    rows: list[Row] = [
        ("owner", 0, 0, 70, 900),
        ("middle", 10, 10, 110, 600),
        ("urgent", 20, 70, 80, 200),
    ]

    def grouped(parallelism: int, first: int = 0, end: int = 3, executor: int = 1) -> Trace:
        trace = trace_of(rows)
        groups = {"owner": 4, "urgent": 4, "middle": 5}
        entries = {i: Entry(n, groups[n], "g", parallelism) for i, n in trace.names.items()}
        return Trace(entries, trace.records[first:end], 0, Header(process=3, executor=executor))

    assert check_order([grouped(1)], 1, 0) == []
    assert check_order([grouped(2)], 1, 0) != []
    # Two files of one executor have their groups in common, those of two executors have not.
    assert check_order([grouped(1, 0, 1), grouped(1, 1, 3)], 1, 0) == []
    assert check_order([grouped(1, 0, 1), grouped(1, 1, 3, executor=2)], 1, 0) != []


def test_only_jobs_that_ran_are_in_an_order() -> None:
    trace = trace_of([("early", 0, 50, 60, 100), ("late", 0, 0, 50, 500)])
    assert check_order([trace], 1, 0) != []
    for outcome in (layout.DROPPED, layout.SKIPPED, layout.PUBLISHED):
        trace.records["outcome"][0] = outcome
        assert check_order([trace], 1, 0) == []


def test_jobs_of_two_processes_compete() -> None:
    """One trace each: only together they are out of order."""
    one: list[Row] = [("early", 0, 50, 60, 100)]
    other: list[Row] = [("late", 0, 0, 50, 500)]
    assert check_order([trace_of(one)], 1, 0) == []
    assert check_order([trace_of(one), trace_of(other)], 1, 0) != []


@pytest.mark.parametrize(
    ("cpus", "bound", "dropped", "says"),
    [(0, 0, 0, "at least"), (1, -1, 0, "at least"), (1, 0, 3, "3 records are missing")],
)
def test_what_proves_nothing_is_an_error(cpus: int, bound: int, dropped: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check_order([trace_of([], dropped)], cpus, bound)


def test_the_verb_says_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[Row] = [
        ("late", 0, 0, 9_000_000, 9_000),
        ("early", 2_000_000, 9_000_000, 9_000_001, 50),
    ]
    path = tmp_path / "a.trace"
    write_trace(trace_of(rows), path)
    assert main(["trace", "order", str(path)]) == 1
    out = capsys.readouterr().out
    assert "'early' waited while 'late', which is later, had a CPU: for 7000.0 us" in out
    assert main(["trace", "order", "--bound", "8000", str(path)]) == 0
    assert "2 jobs on 1 CPUs, bound 8000 us: in order" in capsys.readouterr().out
    assert main(["trace", "order", str(tmp_path / "none")]) == 2


ROBOT = """executors:
  - {name: main, kind: isolated, cores: [0, 1]}
  - {name: edf, kind: priority_events, policy: edf, cores: [2]}
callbacks:
  - {name: /a/timer/10ms, kind: timer, executor: main, priority: 9, period_ms: 10, wcet_ms: 1, publishes: [/x], group: /a/group/default}
  - {name: /b/subscription/x, kind: subscription, executor: main, priority: 4, wcet_ms: 2, triggers: [/x], group: /a/group/default}
  - {name: odd, kind: timer, executor: main, priority: 1, period_ms: 50, wcet_ms: 1}
  - {name: /d/timer/20ms, kind: timer, executor: edf, period_ms: 20, deadline_ms: 15, wcet_ms: 1}
"""  # noqa: E501


def traces() -> dict[str, Trace]:
    return to_traces(simulate(model(ROBOT), 500_000_000))


def test_every_callback_and_group_is_listed_with_what_it_had() -> None:
    text = to_template(parts_of(list(traces().items())), {})
    content = yaml.safe_load(text)["/**"]["ros__parameters"]["rclrt"]
    assert content["callbacks"]["/a/timer/10ms"]["scheduling_policy"] == "fifo"
    # Simulated priorities are ranks: odd, b, a.
    priorities = [
        content["callbacks"][n]["priority"] for n in ("/b/subscription/x", "/a/timer/10ms")
    ]
    assert priorities == sorted(priorities)
    assert content["callbacks"]["/d/timer/20ms"]["relative_deadline"] == "15ms"
    assert "odd" not in content["callbacks"], "no executor knows that name"
    assert '# "odd": {scheduling_policy: fifo' in text
    assert '# "/a/group/default": {}  # one at a time: /a/timer/10ms, /b/subscription/x' in text
    assert "50 jobs, took up to 1 ms, answered within " in text


def test_a_name_of_two_executors_is_said_once() -> None:
    part = parts_of(list(traces().items()))[0]
    text = to_template([part, part], {})
    assert text.count('\n        "/a/timer/10ms": ') == 1
    assert text.count('\n        # "/a/timer/10ms": ') == 1


def test_the_command_reads_traces(tmp_path: Path) -> None:
    path = tmp_path / "main.trace"
    write_trace(traces()["main"], path)
    done = rclrt("trace", "template", path)
    assert done.returncode == 0, done.stderr
    assert '"/b/subscription/x": {scheduling_policy: fifo, priority: ' in done.stdout
    path.write_text("no trace", encoding="utf-8")
    assert rclrt("trace", "template", path).returncode == 2


def test_a_running_program_is_listed_with_its_threads_and_runs_under_its_template(
    tmp_path: Path,
) -> None:
    if not PROGRAM.exists():
        pytest.skip("the example first_node is not built")
    text = ""
    with subprocess.Popen([PROGRAM], stdout=subprocess.DEVNULL, env=clean_environment()) as node:
        try:
            end = time.monotonic() + 60
            while '"/first_node/subscription/tick": {scheduling_policy' not in text:
                assert time.monotonic() < end, text
                text = rclrt("trace", "template", "--program", "first_node").stdout
            assert f"# threads of process {node.pid}, as they are now" in text
            assert f"#   {node.pid} first_node: " in text
        finally:
            node.send_signal(signal.SIGINT)
            assert node.wait(timeout=30) == 0
    path = tmp_path / "template.yaml"
    path.write_text(text, encoding="utf-8")
    status, lines, log = run_first_node(path)
    assert status == 0, log
    assert all(line.startswith("tick ") for line in lines), log
