# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from models import FOLDER, model, shipped
from perfetto_file import read_perfetto
from programs import rclrt
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.simulation import simulate
from rclrt_tools.cli import main
from rclrt_tools.pages.trace_page import page_of_run
from rclrt_tools.trace import Entry, Header, Records, Trace, blank, layout, read_trace, write_trace
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.views.blockers import LOOSE_NS, Blockers
from rclrt_tools.views.perfetto import write_perfetto
from rclrt_tools.views.timeline import Timeline, close, open_sources
from test_links import MS, pods

S = 1_000_000_000


def test_a_simulated_run_keeps_the_order_of_times_the_format_asks_for(tmp_path: Path) -> None:
    run = simulate(shipped("autoware_reference_system"), S, seed=3)
    (made,) = to_traces(run).values()
    write_trace(made, tmp_path / "t")
    records = read_trace(tmp_path / "t").records
    assert len(records) == len(run.jobs) > 100
    assert np.all(records["release_ns"] <= records["ready_ns"])
    assert np.all(records["ready_ns"] <= records["start_ns"])
    assert np.all(records["start_ns"] <= records["end_ns"])
    assert len(set(records["sequence"].tolist())) == len(records)


ALL_JOBS = """
import hashlib
from models import shipped
from rclrt_analysis.simulation import simulate
for name in ("autoware_reference_system", "pods_tide", "pods_micro_ros", "teper_seven_timers_80"):
    for seed in (1, 1, 2):
        jobs = simulate(shipped(name), 10**9, seed).jobs
        times = [(job.callback, job.release, job.start, job.end, job.core) for job in jobs]
        print(name, hashlib.sha256(repr(times).encode()).hexdigest())
"""


def test_the_same_seed_gives_the_same_run_in_every_process() -> None:
    runs = []
    for hashes in ("1", "2"):  # the order of sets of names differs by this
        folder = str(Path(__file__).parent)
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hashes,
            "PYTHONPATH": ":".join((*sys.path, folder)),
        }
        done = subprocess.run(
            [sys.executable, "-c", ALL_JOBS],
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
            env=environment,
        )
        runs.append(done.stdout.splitlines())
    assert runs[0] == runs[1]
    assert len(runs[0]) == 12
    for first, again, other in zip(runs[0][0::3], runs[0][1::3], runs[0][2::3], strict=True):
        assert first == again
        fixed = first.startswith("pods")  # Their phases are given, and nothing is lost.
        assert (first == other) == fixed


def test_the_picture_stands_alone() -> None:
    html = page_of_run(simulate(shipped("teper_seven_timers_90"), S // 4))
    assert "Imu" in html
    assert not re.search(r"<(script|link)[^>]* (src|href)=", html)


def test_simulate_writes_a_trace_from_which_model_makes_a_model(tmp_path: Path) -> None:
    trace, page = tmp_path / "t", tmp_path / "p.html"
    seven = FOLDER / "teper_seven_timers_80.yaml"
    done = rclrt("model", "simulate", seven, "--duration", "2", "--trace", trace, "--html", page)
    assert done.returncode == 0, done.stderr
    assert "Imu" in done.stdout
    assert "EXCEEDED" not in done.stdout
    made = rclrt("trace", "model", trace)
    assert made.returncode == 0, made.stderr
    assert made.stdout.count("kind: timer") == 7
    assert rclrt("trace", "model", page).returncode == 2
    assert rclrt("model", "simulate", trace).returncode == 2


def test_a_page_shows_as_late_only_what_has_a_deadline_of_its_own() -> None:
    for deadline, is_late in (("", False), (", deadline_ms: 4", True)):
        system = model(
            "executors: [{name: e, kind: isolated}]\n"
            "callbacks:\n"
            "  - {name: t, kind: timer, executor: e, period_ms: 20, wcet_ms: 3, deadline_ms: 6,"
            " publishes: [x], priority: 1}\n"
            "  - {name: s, kind: subscription, executor: e, wcet_ms: 5, triggers: [x],"
            f" priority: 1{deadline}}}\n"
        )
        run = simulate(system, S // 10)
        assert any(job.end > job.deadline for job in run.of("s")), "it inherits 6 ms from t"
        data = re.search(r'id="data">(.*?)</script>', page_of_run(run))
        assert data is not None
        late = {row["name"]: row["late"] for row in json.loads(data[1])["rows"]}
        assert (late["s"] > 0) == is_late


TWO_EXECUTORS = """executors:
  - {name: one, kind: isolated, policy: fixed_priority, cores: [0]}
  - {name: two, kind: priority_events, policy: rm, cores: [1]}
callbacks:
  - {name: a, kind: timer, executor: one, period_ms: 10, wcet_ms: 2, priority: 7, publishes: [x, y]}
  - {name: b, kind: subscription, executor: one, group: g, wcet_ms: 5, priority: 3, triggers: [x]}
  - {name: o, kind: subscription, executor: one, group: g, wcet_ms: 1, priority: 2, period_ms: 7}
  - {name: c, kind: subscription, executor: two, wcet_ms: 1, triggers: [y], publishes: [z]}
  - {name: d, kind: subscription, executor: two, wcet_ms: 1, triggers: [z]}
  - {name: h, kind: timer, executor: one, period_ms: 9, wcet_ms: 1, priority: 9}
"""


def test_a_simulated_run_says_why_its_jobs_ran(tmp_path: Path) -> None:
    traces = to_traces(simulate(model(TWO_EXECUTORS), S, seed=2))
    for name, trace in traces.items():
        write_trace(trace, tmp_path / name)
    one, two = (read_trace(tmp_path / name) for name in traces)
    assert (one.header.executor, one.header.model) == (1, layout.MODEL_ISOLATED)
    assert (two.header.executor, two.header.model) == (2, layout.MODEL_PRIORITY_EVENTS)
    a, b, o, _ = one.callbacks.values()
    assert (a.kind, a.period_ns, a.parallelism) == (layout.KIND_TIMER, 10_000_000, 1)
    assert (b.kind, b.period_ns, b.group_name) == (layout.KIND_SUBSCRIPTION, -1, "g")
    assert b.group == o.group != a.group
    records = {name: one.records[one.records["callback"] == i] for i, name in enumerate("abo")}
    assert set(records["a"]["cause"]) == {layout.CAUSE_TIMER}
    assert set(records["o"]["cause"]) == {layout.CAUSE_MESSAGE}
    assert set(records["b"]["cause"]) == {layout.CAUSE_JOB}
    assert np.array_equal(
        records["b"]["by_sequence"], records["a"]["sequence"][: len(records["b"])]
    )
    assert np.array_equal(records["b"]["root_ns"], records["a"]["release_ns"][: len(records["b"])])
    assert [set(records[name]["cpu_ns"]) for name in "abo"] == [{2_000_000}, {5_000_000}, {10**6}]
    assert set(one.records["policy"]) == {layout.POLICY_FIFO}
    assert (set(one.records["cpus"]), set(two.records["cpus"])) == ({0b1}, {0b10})
    assert records["b"]["preemptions"].max() > 0
    order = [int(records[name]["priority"][0]) for name in "abo"]
    assert order == sorted(order, reverse=True)
    assert set(records["b"]["thread"]) == set(records["o"]["thread"]) != set(records["a"]["thread"])
    waited = records["o"]["waited_for"] == layout.WAITED_FOR_GROUP
    assert 0 < waited.sum() < len(waited)
    assert np.all(records["o"]["start_ns"][waited] > records["o"]["ready_ns"][waited])
    c, d = (two.records[two.records["callback"] == i] for i in (3, 4))
    assert set(c["by_executor"]) == {1}
    assert set(c["by_callback"]) == {0}
    assert set(d["by_executor"]) == {2}
    assert np.array_equal(d["root_ns"], c["root_ns"])


def test_a_run_with_a_link_becomes_a_trace_and_says_what_it_assumes() -> None:
    system = pods("tide")
    run = simulate(system, 2_000 * MS)
    assert sum(len(trace.records) for trace in to_traces(run).values()) == len(run.jobs)
    names = {entry.name for trace in to_traces(run).values() for entry in trace.callbacks.values()}
    assert "timer_1 up" in names
    assert "LINK" in {a.name for a in analyse(system).assumptions}


US = 1000
GROUP, THREAD = layout.WAITED_FOR_GROUP, layout.WAITED_FOR_THREAD
ENTRIES = {
    1: Entry("/a", 1, "", 1),
    2: Entry("/b", 1, "", 1),
    3: Entry("/c", 2, "", 1),
    4: Entry("/d", 3, "", 4),
}


def job(callback: int, thread: int, ready: int, start: int, end: int, waited: int = 0) -> Records:
    """Return a job; times in us."""
    one = blank(1)
    one["callback"], one["thread"], one["waited_for"] = callback, thread, waited
    one["release_ns"] = one["ready_ns"] = ready * US
    one["start_ns"], one["end_ns"] = start * US, end * US
    return one


def blockers(folder: Path, *jobs: Records, block: int = 100) -> dict[int, tuple[int, int]]:
    """Return whom each job waited for, by their numbers in the order given."""
    records = np.concatenate(jobs)
    records["sequence"] = range(len(records))
    path = folder / "t.trace"
    write_trace(Trace(ENTRIES, records, 0, Header()), path)
    sources = open_sources([path])
    found = Blockers(sources)
    waited = {}
    for batch in Timeline(sources, block).batches():
        callback, sequence = found.find(batch.records, batch.source)
        for record, by, number in zip(batch.records, callback, sequence, strict=True):
            if by >= 0:
                waited[int(record["sequence"])] = (int(by), int(number))
    close(sources)
    return waited


@pytest.mark.parametrize("block", [1, 100])
def test_a_job_waits_for_the_job_of_its_group_that_ran(tmp_path: Path, block: int) -> None:
    found = blockers(
        tmp_path,
        job(1, 10, 0, 0, 500),
        job(3, 11, 0, 0, 900),  # another group
        job(2, 11, 300, 900, 950, GROUP),
        job(1, 10, 960, 960, 970),
        block=block,
    )
    assert found == {2: (1, 0)}


@pytest.mark.parametrize("block", [1, 100])
def test_a_job_waits_for_the_first_thread_that_is_free(tmp_path: Path, block: int) -> None:
    found = blockers(
        tmp_path,
        job(1, 10, 0, 0, 800),
        job(3, 11, 0, 0, 400),
        job(4, 11, 300, 400, 500, THREAD),
        block=block,
    )
    assert found == {2: (3, 1)}


def test_of_a_group_that_runs_several_jobs_the_first_to_end_lets_it_in(tmp_path: Path) -> None:
    found = blockers(
        tmp_path,
        *(job(4, 10 + i, 0, 0, 600 + 100 * i) for i in range(4)),
        job(3, 15, 0, 0, 350),
        job(4, 10, 100, 600, 700, GROUP),
    )
    assert found == {5: (4, 0)}


def test_a_job_that_became_ready_a_moment_before_the_other_noted_its_start_waits_for_it(
    tmp_path: Path,
) -> None:
    found = blockers(
        tmp_path,
        job(1, 10, 0, 102, 500),
        job(2, 11, 100, 510, 600, GROUP),
        job(3, 12, 700, 700, 800),
    )
    assert found == {1: (1, 0)}
    late = 100 + LOOSE_NS // US + 1
    nobody = blockers(
        tmp_path, job(1, 10, 0, late, 500), job(2, 11, 100, 510, 600, GROUP), job(3, 12, 0, 0, 1)
    )
    assert nobody == {}


def test_nothing_is_said_of_a_job_that_did_not_wait_or_whose_blocker_is_not_recorded(
    tmp_path: Path,
) -> None:
    found = blockers(
        tmp_path,
        job(1, 10, 0, 0, 500),
        job(2, 11, 300, 500, 600),
        job(3, 10, 700, 800, 900, GROUP),
        job(3, 10, 950, 950, 960, GROUP),  # not itself
    )
    assert found == {}


def test_info_print_and_json_name_whom_jobs_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blockers(tmp_path, job(1, 10, 0, 0, 500), job(2, 11, 300, 500, 600, GROUP))
    path = str(tmp_path / "t.trace")
    assert main(["trace", "info", path, "--json", str(tmp_path / "t.json")]) == 0
    shown = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert shown["/b"].endswith("| /a (1)")
    assert shown["/a"].endswith("|")
    assert '"blockers": {\n    "/a": 1\n   }' in (tmp_path / "t.json").read_text(encoding="utf-8")
    assert main(["trace", "print", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].endswith("/b #1 < group: /a #0")


def test_names_that_would_be_cut_alike_are_shown_longer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tail = "/subscription/a_topic_with_a_long_name_of_its_own"
    entries = {i: Entry(f"/{robot}{tail}", i) for i, robot in enumerate(("left", "right"))}
    jobs = np.concatenate([job(i, 10, i, i, i + 1) for i in entries])
    write_trace(Trace(entries, jobs, 0, Header()), tmp_path / "t.trace")
    assert main(["trace", "info", str(tmp_path / "t.trace")]) == 0
    shown = [line.split()[0] for line in capsys.readouterr().out.splitlines() if "own " in line]
    assert len(shown) == 2
    assert shown[0] != shown[1]


def test_perfetto_names_whom_jobs_waited_for(tmp_path: Path) -> None:
    blockers(tmp_path, job(1, 10, 0, 0, 500), job(2, 11, 300, 500, 600, GROUP))
    sources = open_sources([tmp_path / "t.trace"])
    write_perfetto(Timeline(sources), tmp_path / "t.pftrace")
    close(sources)
    seen = read_perfetto(tmp_path / "t.pftrace")
    (waited,) = seen.on("/b")
    assert waited.arguments["blocked_by"] == "group"
    assert waited.arguments["blocked_by_callback"] == "/a"
    assert waited.arguments["blocked_by_sequence"] == 0
    (other,) = seen.on("/a")
    assert not {name for name in other.arguments if name.startswith("blocked")}
