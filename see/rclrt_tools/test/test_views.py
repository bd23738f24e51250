# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""./rclrt trace: tables and lines of traces."""

import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from models import ROOT, SCHEMA
from perfetto_file import read_perfetto
from rclrt_tools.cli import main
from rclrt_tools.observe import observe, to_yaml
from rclrt_tools.statistics import percentile
from rclrt_tools.trace import Entry, Header, Records, Trace, blank, layout, read_trace, write_trace
from rclrt_tools.views import timeline as timelines
from rclrt_tools.views.lines import Filter, lines
from rclrt_tools.views.mcap import write_mcap
from rclrt_tools.views.perfetto import write_perfetto
from rclrt_tools.views.summary import Distribution, summarize
from rclrt_tools.views.timeline import Timeline, close, open_sources
from trace_bytes import kinds

MS = 1_000_000


def jobs(*release: int, length: int = 10, callback: int = 0) -> Records:
    records = blank(len(release))
    records["callback"] = callback
    records["release_ns"] = records["ready_ns"] = records["start_ns"] = release
    records["end_ns"] = records["release_ns"] + length
    records["sequence"] = range(len(release))
    return records


def written(path: Path, records: Records, header: Header | None = None) -> Path:
    entries = {int(key): Entry(f"/n{key}", int(key), "", 1) for key in set(records["callback"])}
    write_trace(Trace(entries, records, 0, header or Header()), path)
    return path


def readies(paths: list[Path], block: int, **options: object) -> list[list[int]]:
    sources = open_sources(paths, **options)  # type: ignore[arg-type]
    batches = [batch.records["ready_ns"].tolist() for batch in Timeline(sources, block).batches()]
    close(sources)
    return batches


@pytest.mark.parametrize("block", [1, 2, 5, 100])
def test_files_come_out_in_one_order_of_time(tmp_path: Path, block: int) -> None:
    dice = random.Random(block)
    times = [[i * 10 + dice.randrange(60) for i in range(100)] for _ in range(3)]
    paths = [written(tmp_path / f"{i}", jobs(*mine)) for i, mine in enumerate(times)]
    batches = readies(paths, block)
    assert [time for batch in batches for time in batch] == sorted(itertools.chain(*times))
    assert block > 50 or len(batches) > 10


def test_records_far_out_of_order_are_not_held_back_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last record is the first in time: nothing could come out before it is read."""
    monkeypatch.setattr(timelines, "MOST_WAITING", 100)
    path = written(tmp_path / "t", jobs(*range(1000, 3000), 0))
    batches = readies([path], 10)
    assert len(batches) > 10
    assert sorted(time for batch in batches for time in batch) == [0, *range(1000, 3000)]


def test_clocks_of_different_boots_need_an_offset(tmp_path: Path) -> None:
    first = written(tmp_path / "a", jobs(100, 200), Header(b"a" * 16, clock_offset_ns=5000))
    other = written(tmp_path / "b", jobs(50), Header(b"b" * 16, clock_offset_ns=5100))
    with pytest.raises(ValueError, match=r"of another boot than .* --offset .*=MS"):
        open_sources([first, other])
    assert readies([first, other], 9, offsets={other: 55}) == [[100, 105, 200]]
    assert readies([first, other], 9, wall_clock=True) == [[100, 150, 200]]


def test_an_offset_moves_all_times_but_the_unknown_ones(tmp_path: Path) -> None:
    records = jobs(100, 200)
    records["root_ns"][1] = 150
    records["deadline_ns"][1] = 300
    path = written(tmp_path / "a", records)
    sources = open_sources([path], {path: 1000})
    (batch,) = Timeline(sources).batches()
    assert batch.records["end_ns"].tolist() == [1110, 1210]
    assert batch.records["root_ns"].tolist() == [-1, 1150]
    assert batch.records["deadline_ns"].tolist() == [layout.NO_DEADLINE, 1300]
    close(sources)


@pytest.mark.parametrize(
    ("most", "kept", "error"), [(1 << 16, 10_001, 0), (7000, 9000, 0.001), (400, 1000, 0.032)]
)
def test_percentiles_are_samples_or_rounded_up_by_no_more_than_is_said(
    most: int, kept: int, error: float
) -> None:
    generator = np.random.default_rng(3)
    values = (generator.lognormal(10, 2, 10_001)).astype(np.int64)
    distribution = Distribution(most)
    for part in np.array_split(values, 37):
        distribution.add(part)
    ordered = sorted(values.tolist())
    assert distribution.largest == ordered[-1]
    distribution.counts()  # takes in what waits
    assert distribution.error <= error
    assert bool(distribution.error) == bool(error)
    assert distribution.kept <= kept
    for fraction in (0.5, 0.9, 0.99, 0.999):
        exact = percentile(ordered, fraction)
        found = distribution.percentile(fraction)
        assert exact is not None and found is not None
        assert exact <= found <= exact * (1 + distribution.error)
    few = Distribution()
    few.add(np.arange(99))
    assert few.percentile(0.99) is None


def busy_trace(path: Path) -> Path:
    records = np.concatenate((jobs(0, 10 * MS, 20 * MS, length=2 * MS), jobs(5 * MS, callback=1)))
    records["cpu_ns"] = [MS, -1, 2 * MS, 10]
    records["deadline_ns"][:2] = [MS, 30 * MS]
    records["start_ns"][2] += MS
    records["waited_for"] = [0, 1, 1, 2]
    given_up = jobs(25 * MS, 26 * MS)
    given_up["outcome"], given_up["jobs"] = [layout.DROPPED, layout.SKIPPED], [3, 4]
    published = jobs(1)
    published["outcome"] = layout.PUBLISHED
    return written(path, np.concatenate((records, given_up, published)))


def test_info_says_what_each_callback_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, made = busy_trace(tmp_path / "t.trace"), tmp_path / "info.json"
    assert main(["trace", "info", "--json", str(made), str(path)]) == 0
    first, second = json.loads(made.read_text(encoding="utf-8"))["callbacks"]
    assert first == {
        "file": "t", "name": "/n0", "kind": "unknown", "jobs": 3,
        "response_ms": {"n": 3, "p50": 2.0, "p99": None, "max": 2.0},
        "execution_ms": {"n": 2, "p50": 1.0, "p99": None, "max": 2.0},
        "waiting_ms": {"n": 3, "p50": 0.0, "p99": None, "max": 1.0},
        "waited_for": {"group": 2, "thread": 0}, "blockers": {}, "late": 1, "latest_ms": 1.0,
        "exceptions": 0, "dropped": 3, "skipped": 4,
    }  # fmt: skip
    assert second["waited_for"] == {"group": 0, "thread": 1}
    shown = capsys.readouterr().out.splitlines()
    row = next(line for line in shown if line.startswith("/n0"))
    assert row.replace("|", "").split() == [
        "/n0", "3", "2.000", "-", "2.000", "1.000", "-", "2.000", "0.000", "-", "1.000",
        "66.7%", "0.0%", "1", "3", "4",
    ]  # fmt: skip


def test_info_says_that_a_process_is_in_two_recordings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def info(*models: tuple[int, int]) -> str:
        paths = [tmp_path / f"{i}.trace" for i in range(len(models))]
        for path, (process, model) in zip(paths, models, strict=True):
            written(path, jobs(0, 10), Header(b"b" * 16, 0, process, 1, model))
        assert main(["trace", "info", *map(str, paths)]) == 0
        return capsys.readouterr().out

    observed, own = layout.MODEL_UNKNOWN, layout.MODEL_PREEMPTIVE
    assert "process 77 is in two recordings" in info((77, observed), (77, own))
    assert "two recordings" not in info((77, observed), (78, own))
    assert "two recordings" not in info((77, own), (77, own))


def test_print_shows_the_records_that_were_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = busy_trace(tmp_path / "t.trace")

    def shown(*options: str) -> list[str]:
        assert main(["trace", "print", *options, str(path)]) == 0
        lines = capsys.readouterr().out.splitlines()[1:]
        return [line.partition(" <")[0].split()[-2] for line in lines]

    assert shown() == ["/n0", "/n0", "/n1", "/n0", "/n0", "/n0", "/n0"]
    assert shown("--callback", "*1") == ["/n1"]
    assert shown("--from", "0.004", "--to", "0.012") == ["/n1", "/n0"]


def test_merge_shows_several_processes_in_one_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [written(tmp_path / f"p{i}.trace", jobs(5 - i, 20 + i)) for i in range(2)]
    assert main(["trace", "print", *map(str, paths)]) == 0
    names = [line.split()[-3] for line in capsys.readouterr().out.splitlines()[1:]]
    assert names == ["p1:", "p0:", "p0:", "p1:"]
    other = written(tmp_path / "q.trace", jobs(1), Header(b"q" * 16))
    assert main(["trace", "print", str(paths[0]), str(other)]) == 2
    assert "--offset" in capsys.readouterr().err
    assert main(["trace", "print", str(paths[0]), str(other), "--offset", f"{other}=0.5"]) == 0
    assert main(["trace", "print", str(paths[0]), "--offset", f"{other}=0.5"]) == 2
    assert "is not among the traces" in capsys.readouterr().err


def test_text_from_a_trace_does_not_move_the_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.trace"
    write_trace(Trace({0: Entry("\x1b[2Jn\n")}, jobs(1)), path)
    for verb in ("info", "print"):
        assert main(["trace", verb, str(path)]) == 0
        assert "?[2Jn?" in capsys.readouterr().out


def test_export_wants_to_know_what_and_says_what_it_cannot_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = busy_trace(tmp_path / "t.trace")
    assert main(["trace", "export", str(path)]) == 2
    assert "--perfetto FILE, --mcap FILE" in capsys.readouterr().err
    both = ["--perfetto", str(tmp_path / "p"), "--mcap", str(tmp_path / "m")]
    assert main(["trace", "export", *both, str(path)]) == 0
    out = capsys.readouterr().out
    assert "7 records" in out
    assert "6 messages" in out
    if Path("/dev/full").exists():
        Path(tmp_path / "full").symlink_to("/dev/full")
        for option in ("--perfetto", "--mcap"):
            assert main(["trace", "export", option, str(tmp_path / "full"), str(path)]) == 2
            assert "No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize(
    "what", [["export", "--perfetto"], ["export", "--mcap"], ["info", "--json"], ["page", "-o"]]
)
def test_a_trace_is_not_overwritten_by_what_is_made_of_it(
    what: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = busy_trace(tmp_path / "t.trace")
    link = tmp_path / "link"
    link.symlink_to(path)
    before = path.read_bytes()
    for output in (path, link):
        for read in (path, tmp_path):
            assert main(["trace", *what, str(output), str(read)]) == 2
            assert f"{output}: this file is read" in capsys.readouterr().err
            assert path.read_bytes() == before
    both = ["--perfetto", str(tmp_path / "p"), "--mcap", str(tmp_path / "p")]
    assert main(["trace", "export", *both, str(path)]) == 2
    assert "two files would be written there" in capsys.readouterr().err


def test_ctrl_c_ends_a_command_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rclrt_tools.views.summary.summarize", interrupted)
    assert main(["trace", "info", str(busy_trace(tmp_path / "t.trace"))]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_no_damaged_file_breaks_what_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "damaged.trace"

    def look(trace: Trace) -> None:
        write_trace(trace, path)
        sources = open_sources([path])
        summarize(Timeline(sources))
        for _ in lines(Timeline(sources), Filter()):
            pass
        write_perfetto(Timeline(sources), tmp_path / "p")
        write_mcap(Timeline(sources), tmp_path / "m")
        close(sources)
        try:
            to_yaml(observe([("damaged", trace)], SCHEMA))
        except ValueError as error:
            assert "no job in these traces" in str(error)

    assert kinds(seed=7, count=400, look=look)["read"] > 100


def test_verbs_load_libraries_only_when_they_need_them() -> None:
    code = (
        "import sys; from rclrt_tools.cli import build_parser; build_parser();"
        "print([n for n in ('numpy', 'perfetto', 'mcap', 'yaml') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60,
        env={"PYTHONPATH": ":".join(sys.path), "RCLRT_SOURCE_DIR": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "[]\n"


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """Return what rclrt_micro's own test has traced on a simulated board."""
    program = Path(os.environ.get("RCLRT_BUILD_DIR", "/")) / "rclrt_micro" / "test_delivery"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    done = subprocess.run(
        [str(program), "--gtest_filter=*jobs_have_their_times*"],
        env={**os.environ, "RCLRT_TRACES": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout
    return tmp_path / "micro.trace"


def test_what_a_board_writes_is_read(board: Path) -> None:
    trace = read_trace(board)
    assert trace.names == {0: "/imu/timer/10ms", 1: "/button", 2: "command"}
    assert trace.callbacks[0].kind == layout.KIND_TIMER
    assert trace.callbacks[0].period_ns == 10 * MS
    jobs = trace.jobs
    assert len(jobs) == 6
    timers = jobs[jobs["callback"] == 0]
    assert (timers["end_ns"] - timers["release_ns"] == 4 * MS).all()
    assert (timers["cpu_ns"] == 4 * MS).all()
    assert set(jobs["cause"].tolist()) == {0, layout.CAUSE_TIMER, layout.CAUSE_MESSAGE}
    assert (jobs["deadline_ns"] == layout.NO_DEADLINE).all()
    assert (jobs["by_callback"] == 2**32 - 1).all()
    assert (jobs["message"] == layout.NO_MESSAGE).all()


def test_a_board_and_a_computer_are_in_one_timeline_by_an_offset_or_by_the_clock_of_the_agent(
    board: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = int(read_trace(board).jobs["release_ns"].min())
    clock = read_trace(board).header.clock_offset_ns
    records = blank(1)
    for name in ("release_ns", "ready_ns", "start_ns"):
        records[name] = first + 12 * MS
    records["end_ns"] = first + 13 * MS
    computer = tmp_path / "computer.trace"
    header = Header(b"computer" * 2, clock, 4711, 1)
    write_trace(Trace({0: Entry("/planner")}, records, 0, header), computer)
    assert main(["trace", "print", str(computer), str(board)]) == 2
    assert "of another boot" in capsys.readouterr().err
    for how in (["--wall-clock"], ["--offset", f"{board}=0"]):
        assert main(["trace", "print", *how, str(computer), str(board)]) == 0
        lines = [line.split(" <")[0].split() for line in capsys.readouterr().out.splitlines()[1:]]
        names = [line[-2] for line in lines]
        assert names == [
            "/imu/timer/10ms", "/button", "/imu/timer/10ms", "/planner", "/imu/timer/10ms",
            "command", "/imu/timer/10ms",
        ]  # fmt: skip
    out = tmp_path / "both.pftrace"
    command = ["trace", "export", "--wall-clock", "--perfetto", str(out)]
    assert main([*command, str(computer), str(board)]) == 0
    seen = read_perfetto(out)
    (slice_,) = seen.on("/planner")
    assert slice_.begin == first + 12 * MS
    begins = [one.begin - first for one in seen.on("/imu/timer/10ms")]
    assert begins == [0, 10 * MS, 20 * MS, 30 * MS]
    assert len({t.process.pid for t in seen.tracks.values() if t.HasField("process")}) == 2
