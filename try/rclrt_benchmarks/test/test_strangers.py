# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Real-time threads of other programs are found, with how long they ran."""

from __future__ import annotations

import os
from pathlib import Path

from rclrt_benchmarks.contract.strangers import Strangers, look

MS = 1_000_000


def thread(
    proc: Path, number: int, policy: int, ran_ms: int, cpu: int = 0, parent: int = 1
) -> None:
    """Write what /proc says of a process with one thread."""
    for folder in (proc / str(number), proc / str(number) / "task" / str(number)):
        folder.mkdir(parents=True, exist_ok=True)
        fields = ["S", str(parent), *["0"] * 34, str(cpu), "50", str(policy), "0"]
        (folder / "stat").write_text(f"{number} (a (b) c) {' '.join(fields)}\n", encoding="utf-8")
    (folder / "comm").write_text("other\n", encoding="utf-8")
    (folder / "schedstat").write_text(f"{ran_ms * MS} 0 1\n", encoding="ascii")


def test_only_threads_of_other_programs_in_real_time_are_strangers(tmp_path: Path) -> None:
    thread(tmp_path, 10, os.SCHED_FIFO, 5)
    thread(tmp_path, 11, os.SCHED_RR, 5)
    thread(tmp_path, 12, 6, 5)
    thread(tmp_path, 13, os.SCHED_OTHER, 5)
    thread(tmp_path, 14, os.SCHED_FIFO, 5, parent=2)
    thread(tmp_path, 15, os.SCHED_FIFO, 5, parent=99)
    thread(tmp_path, 99, os.SCHED_FIFO, 5)
    (tmp_path / "16").mkdir()  # It is just ending.
    (tmp_path / "self").mkdir()
    assert sorted(one.process for one in look(tmp_path, [99])) == [10, 11, 12]


def test_what_they_ran_on_these_cpus_in_the_meantime_counts(tmp_path: Path) -> None:
    thread(tmp_path, 10, os.SCHED_FIFO, 100)
    thread(tmp_path, 11, os.SCHED_FIFO, 100, cpu=1)
    strangers = Strangers([0], tmp_path)
    strangers.note(is_first=True)
    assert strangers.total == 0
    thread(tmp_path, 10, os.SCHED_FIFO, 153)
    thread(tmp_path, 11, os.SCHED_FIFO, 153, cpu=1)
    thread(tmp_path, 12, os.SCHED_FIFO, 7)  # It has come in the meantime.
    strangers.note()
    strangers.note()
    assert strangers.ran == {"other (10)": 53 * MS, "other (12)": 7 * MS}
    ((since, until, ran),) = strangers.spans
    assert (since < until, ran) == (True, 60 * MS)
    assert strangers.within(until, until + MS) == 0
    assert strangers.within(since, since + 5) == 5, "no more than that time"
    assert str(strangers) == "other (10) for 53.0 ms, other (12) for 7.0 ms"


def test_the_real_proc_can_be_looked_at() -> None:
    with Strangers(range(1024)) as strangers:
        pass
    assert strangers.total >= 0
    assert all(one.process != os.getpid() for one in look(known=[os.getpid()]))
