# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Whom a job has waited for, of those that ran when it became ready."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from perfetto_file import read_perfetto
from rclrt_tools.cli import main
from rclrt_tools.trace import Entry, Header, Records, Trace, blank, layout, write_trace
from rclrt_tools.views.blockers import LOOSE_NS, Blockers
from rclrt_tools.views.perfetto import write_perfetto
from rclrt_tools.views.timeline import Timeline, close, open_sources

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
