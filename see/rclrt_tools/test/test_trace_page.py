# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The page of a run, in a browser without a window."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from browsers import Browser, browser
from models import model
from rclrt_analysis.model import System
from rclrt_analysis.simulation import simulate
from rclrt_tools.cli import main
from rclrt_tools.pages import jobs as page_jobs
from rclrt_tools.pages.frame import CHUNK
from rclrt_tools.pages.jobs import Jobs, collect
from rclrt_tools.pages.trace_page import histogram, make_page
from rclrt_tools.trace import Entry, Header, Records, Trace, blank, layout, write_trace
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.views.summary import summarize
from rclrt_tools.views.timeline import Timeline, close, open_sources

MS = 1_000_000
S = 1000 * MS

SYSTEM = """executors:
  - {name: one, kind: isolated, policy: fixed_priority, cores: [0]}
  - {name: two, kind: priority_events, policy: rm, cores: [1]}
callbacks:
  - {name: camera, kind: timer, executor: one, period_ms: 20, wcet_ms: 2, priority: 3,
     publishes: [image], deadline_ms: 19}
  - {name: detect, kind: subscription, executor: one, wcet_ms: 3, priority: 7, triggers: [image],
     publishes: [objects]}
  - {name: log, kind: timer, executor: one, wcet_ms: 9, priority: 9, period_ms: 70}
  - {name: steer, kind: subscription, executor: two, wcet_ms: 2, triggers: [objects],
     publishes: [command]}
chains:
  - {name: see, callbacks: [camera, detect, steer], semantics: latency, deadline_ms: 30}
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as one:
        one.size(1200, 800)
        yield one


def written(folder: Path, system: System, seconds: float = 1) -> list[Path]:
    found = []
    for name, trace in to_traces(simulate(system, round(seconds * S), seed=4)).items():
        found.append(folder / f"{name}.trace")
        header = replace(trace.header, process=77, boot_id=b"b" * 16)
        write_trace(replace(trace, header=header), found[-1])
    return found


def trace_of(folder: Path, records: Records, names: dict[int, str], **header: int) -> Path:
    path = folder / f"{header.get('process', 7)}.trace"
    entries = {key: Entry(name, key, "", 1) for key, name in names.items()}
    head = replace(Header(bytes(16), 0, 7, 1), **header)
    write_trace(Trace(entries, records, 0, head), path)
    return path


def periodic(count: int, callback: int = 0, period: int = MS, run: int = MS // 10) -> Records:
    records = blank(count)
    records["callback"] = callback
    records["release_ns"] = records["ready_ns"] = records["start_ns"] = np.arange(count) * period
    records["end_ns"] = records["start_ns"] + run
    records["sequence"] = np.arange(count)
    records["cause"] = layout.CAUSE_TIMER
    return records


def collected(paths: list[Path]) -> Jobs:
    sources = open_sources(paths)
    timeline = Timeline(sources)
    found = collect(timeline, summarize(timeline))
    close(sources)
    return found


def page(folder: Path, paths: list[Path], system: System | None = None) -> Path:
    sources = open_sources(paths)
    out = folder / "page.html"
    out.write_text(make_page("the title", sources, paths, system), encoding="utf-8")
    close(sources)
    return out


def opened(shown: Browser, path: Path) -> None:
    shown.open(path)
    shown.until("document.body.dataset.whole")


def test_with_a_model_the_page_opens_on_the_worst_instance_of_a_chain(
    shown: Browser, tmp_path: Path
) -> None:
    system = model(SYSTEM)
    opened(shown, page(tmp_path, written(tmp_path, system), system))
    assert shown.evaluate("chosen.name") == "see"
    assert shown.evaluate("path.map((j) => data.rows[j.row].name)") == ["camera", "detect", "steer"]
    took = shown.evaluate("Math.max(...path.map((j) => j.end)) - path[0].release")
    assert took / MS == pytest.approx(shown.evaluate("chosen.max"))
    assert took == shown.evaluate("chosen.worst[1] - chosen.worst[0]")
    assert shown.evaluate("view.t0 < path[0].release && view.t1 > path[2].end")
    assert shown.evaluate("view.t1 - view.t0") < 2 * took
    assert "3 jobs" in shown.evaluate("$('job').textContent")
    assert shown.evaluate("chosen.bound") >= shown.evaluate("chosen.max")


def test_without_a_model_it_opens_on_the_latest_job_and_what_released_it(
    shown: Browser, tmp_path: Path
) -> None:
    opened(shown, page(tmp_path, written(tmp_path, model(SYSTEM))))
    worst = "data.rows.reduce((a, b) => b.max > a.max ? b : a).name"
    assert shown.evaluate("data.rows.some((r) => r.late)") is False
    assert shown.evaluate("chosen.name") == shown.evaluate(worst)
    names = shown.evaluate("path.map((j) => data.rows[j.row].name)")
    assert names[-1] == shown.evaluate("chosen.name")
    for row in ("camera", "detect", "steer"):
        shown.evaluate(f"choose(rowItems.find((r) => r.name === '{row}'))")
    names = shown.evaluate("path.map((j) => data.rows[j.row].name)")
    assert names == ["camera", "detect", "steer"], "across executors, by what the records say"


def test_a_click_and_a_search_show_another_callback(shown: Browser, tmp_path: Path) -> None:
    system = model(SYSTEM)
    opened(shown, page(tmp_path, written(tmp_path, system), system))
    assert shown.evaluate("document.querySelectorAll('#list tbody tr').length") == 5
    shown.evaluate("$('search').value = 'LOG'; $('search').oninput()")
    assert shown.evaluate("document.querySelector('#list tbody').rows.length") == 1
    shown.evaluate("document.querySelector('#list tbody tr').click()")
    shown.until("chosen.name === 'log' && $('dist-name').textContent.startsWith('log')")
    shown.evaluate("new Promise(requestAnimationFrame).then(draw)")
    assert shown.evaluate("place.rows.map((r) => data.rows[r].name)") == ["log"]
    shown.evaluate("$('search').value = 'nobody'; $('search').oninput()")
    assert "nothing has this name" in shown.evaluate("$('list').textContent")
    shown.evaluate("$('search').value = ''; $('search').oninput()")
    shown.evaluate("document.querySelector('th[data-by=name]').click()")
    names = "[...document.querySelectorAll('#list tbody tr')].map((tr) => tr.item.name)"
    assert shown.evaluate(names) == ["see", "camera", "detect", "log", "steer"]


def test_a_job_says_what_is_known_of_it_under_the_pointer(shown: Browser, tmp_path: Path) -> None:
    records = periodic(5, run=300_000)
    records["cpu_ns"], records["deadline_ns"] = 200_000, records["release_ns"] + 250_000
    records["policy"], records["priority"], records["cpu"] = layout.POLICY_FIFO, 42, 3
    records["thread"], records["waited_for"] = 4711, layout.WAITED_FOR_GROUP
    opened(shown, page(tmp_path, [trace_of(tmp_path, records, {0: "/a"})]))
    share = "(path[0].start + 1000 - view.t0) / (view.t1 - view.t0)"
    x = f"place.left + {share} * (place.width - place.left)"
    shown.evaluate(f"draw(); hover = jobAt({x}, OVERVIEW + AXIS + ROW / 2); describe()")
    text = shown.evaluate("$('job').textContent")
    for part in (
        "/a",
        "300 µs",
        "CPU time 200 µs",
        "deadline 250 µs",
        "fifo 42",
        "4711 on CPU 3",
        "group",
    ):
        assert part in text
    assert "1 of 1 stated deadlines were missed" in shown.evaluate("$('about').textContent")


def test_only_a_deadline_that_somebody_stated_can_be_missed(shown: Browser, tmp_path: Path) -> None:
    timer, heir = periodic(3, 0), periodic(3, 1)
    for name in ("release_ns", "ready_ns", "start_ns", "end_ns"):
        heir[name] += MS // 10
    timer["deadline_ns"] = heir["deadline_ns"] = timer["release_ns"] + 150_000
    heir["sequence"] += 10
    heir["cause"], heir["by_executor"], heir["by_sequence"] = layout.CAUSE_JOB, 1, timer["sequence"]
    free = periodic(3, 2)
    free["sequence"] += 20
    skipped = periodic(1, 0)
    skipped["outcome"], skipped["deadline_ns"] = layout.SKIPPED, 1
    records = np.concatenate((timer, heir, free, skipped))
    names = {0: "/timer", 1: "/heir", 2: "/free"}
    path = page(tmp_path, [trace_of(tmp_path, records, names)])
    opened(shown, path)
    assert shown.evaluate("data.rows.map((r) => [r.name, r.late, r.deadline])") == [
        ["/timer", 0, 0.15], ["/heir", 0, None], ["/free", 0, None],
    ]  # fmt: skip
    assert "All stated deadlines were met" in shown.evaluate("$('about').textContent")
    assert shown.evaluate("parts[0].columns.info.some((i) => i >>> 31)") is False


def test_it_unpacks_only_what_is_looked_at_from_hours_to_microseconds(
    shown: Browser, tmp_path: Path
) -> None:
    records = periodic(30 * CHUNK, period=20 * MS)  # Nearly three hours.
    records["end_ns"][7 * CHUNK + 5] += 777
    opened(shown, page(tmp_path, [trace_of(tmp_path, records, {0: "/a"})]))
    assert shown.evaluate("parts.map((p) => p.i).filter((i) => parts[i].columns)") == [7]
    assert shown.evaluate("path[0].end - path[0].start") == 100_777
    shown.evaluate("move(parts[3].begin + 1e9, parts[3].begin + 2e9); draw()")
    shown.until("parts[3].columns && inView()")
    shown.evaluate("new Promise((done) => setTimeout(done, 200))")
    assert shown.evaluate("parts.map((p) => p.i).filter((i) => parts[i].columns)") == [3, 7]
    shown.evaluate("$('whole').click()")
    shown.evaluate("new Promise(requestAnimationFrame).then(draw)")
    assert shown.evaluate("parts.filter((p) => p.columns).length") == 2, "a picture is enough"
    assert shown.evaluate("active.size") == 1
    shown.evaluate("move(path[0].end - 2000, path[0].end + 2000); draw()")
    assert shown.evaluate("$('where').textContent").startswith("4 µs from 2293.8600")


def test_of_a_long_run_the_jobs_around_the_worst_ones_are_kept(
    shown: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_jobs, "MOST_JOBS", 1000)
    records = np.concatenate((periodic(20_000, 0), periodic(20_000, 1)))
    records["end_ns"][[12_000, 33_000]] += 700_000
    trace = trace_of(tmp_path, records, {0: "/a", 1: "/b"})
    found = collected([trace])
    assert len(found.kept) <= 1000
    for number in (12_000, 33_000):
        release = records["release_ns"][number]
        assert any(a < release - 10 * MS and release + 10 * MS < b for a, b in found.windows)
        assert np.count_nonzero(found.kept["end_ns"] == records["end_ns"][number]) == 1
    opened(shown, page(tmp_path, [trace]))
    assert shown.evaluate("path[0].run") == 800_000
    assert shown.evaluate("inView() !== null")
    shown.evaluate("move(0, 1e6); draw()")
    assert "jobs are kept around the worst ones" in shown.evaluate("$('where').textContent")
    assert shown.evaluate("active.size") == 2, "of the rest there is the picture"


def test_names_cannot_become_part_of_the_page(shown: Browser, tmp_path: Path) -> None:
    names = {
        0: "</script><script>window.bad = 1</script>",
        1: "<img src=x onerror='window.bad = 2'>",
        2: "\u2028`${window.bad = 3}`\"'\\<!--",
    }
    records = np.concatenate([periodic(3, key) for key in names])
    path = trace_of(tmp_path, records, names)
    sources = open_sources([path])
    out = tmp_path / "page.html"
    out.write_text(make_page("<script>window.bad = 4</script>", sources), encoding="utf-8")
    close(sources)
    opened(shown, out)
    shown.evaluate("[...document.querySelectorAll('#list tbody tr')].forEach((tr) => tr.click())")
    assert shown.evaluate("window.bad ?? null") is None
    rows = "[...document.querySelectorAll('#list tbody tr')].map((tr) => tr.cells[0].textContent)"
    assert sorted(shown.evaluate(rows)) == sorted(names.values())
    assert shown.evaluate("document.title") == "<script>window.bad = 4</script>"


def test_a_thousand_callbacks_can_be_searched_and_only_those_that_run_are_drawn(
    shown: Browser, tmp_path: Path
) -> None:
    records = periodic(5000)
    records["callback"] = np.arange(5000) % 1000
    names = {key: f"/node{key:04}/timer" for key in range(1000)}
    opened(shown, page(tmp_path, [trace_of(tmp_path, records, names)]))
    assert shown.evaluate("document.querySelector('#list tbody').rows.length") == 1000
    assert 1 <= shown.evaluate("draw() ?? place.rows.length") < 10
    shown.evaluate("$('search').value = 'node099 timer'; $('search').oninput()")
    assert shown.evaluate("document.querySelector('#list tbody').rows.length") == 10
    shown.evaluate("$('here').checked = false; path = []; draw()")
    drawn = "place.rows.map((r) => data.rows[r].name).sort()"
    assert shown.evaluate(drawn) == [f"/node{key:04}/timer" for key in range(990, 1000)]


def test_a_message_leads_back_to_its_publisher_in_another_process(tmp_path: Path) -> None:
    sent = np.concatenate((periodic(3, 0), periodic(3, 0)))
    sent["outcome"][3:] = layout.PUBLISHED
    sent["publisher"][3:], sent["message"][3:] = 99, np.arange(3)
    taken = periodic(3, 5)
    for name in ("release_ns", "ready_ns", "start_ns", "end_ns"):
        taken[name] += MS // 2
    taken["cause"], taken["publisher"], taken["message"] = layout.CAUSE_MESSAGE, 99, np.arange(3)
    paths = [
        trace_of(tmp_path, sent, {0: "/driver"}, process=7),
        trace_of(tmp_path, taken, {5: "/planner"}, process=8),
    ]
    found = collected(paths)
    assert found.kept["callback"].tolist() == [0, 5, 0, 5, 0, 5]
    assert found.by.tolist() == [-1, 0, -1, 2, -1, 4]


def test_callbacks_of_a_damaged_file_may_have_no_entry(tmp_path: Path) -> None:
    records = periodic(5)
    records["waited_for"] = layout.WAITED_FOR_GROUP
    found = collected([trace_of(tmp_path, records, {})])
    assert found.row.tolist() == [0] * 5


def test_the_picture_holds_all_of_the_time_that_callbacks_ran(tmp_path: Path) -> None:
    dice = np.random.default_rng(1)
    records = periodic(400)
    records["end_ns"] = records["start_ns"] + dice.integers(1, 30 * MS, 400)
    found = collected([trace_of(tmp_path, records, {0: "/a"})])
    width = found.span / found.density.busy.shape[1]
    assert found.density.busy.sum() * width == pytest.approx(
        (records["end_ns"] - records["start_ns"]).sum()
    )


def test_every_value_is_in_a_bin_whose_edges_hold_it() -> None:
    values = np.array([5, 100, 1000, 1001, 12_345_678])
    first, *counts = histogram(values)
    assert sum(counts) == 5
    edges = [100 * 2 ** ((first + i) / 16) for i in range(len(counts) + 1)]
    for value in values[1:]:
        place = np.searchsorted(edges, value * 1.0000001) - 1
        assert counts[place] > 0


def test_the_verb_writes_the_page_and_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = trace_of(tmp_path, periodic(3), {0: "/a"}), tmp_path / "o.html"
    assert main(["trace", "page", str(path), "-o", str(out)]) == 0
    assert "<script" in out.read_text(encoding="utf-8")
    assert "open it in a browser" in capsys.readouterr().out
    assert main(["trace", "page", str(path), "--plan", "x", "-o", str(out)]) == 2
    assert "--model" in capsys.readouterr().err
    assert main(["trace", "page", str(path), "--model", "absent", "-o", str(out)]) == 2
    empty = trace_of(tmp_path, periodic(0), {0: "/a"}, process=9)
    assert main(["trace", "page", str(empty), "-o", str(out)]) == 2
    assert "nothing to show" in capsys.readouterr().err


def test_names_as_long_as_readers_take_leave_room_for_the_rest(
    shown: Browser, tmp_path: Path
) -> None:
    names = {0: "n" * layout.MAX_NAME, 1: "/a/" + "m" * 3000, 2: "<b>" * 1000}
    records = np.concatenate([periodic(20, callback) for callback in names])
    opened(shown, page(tmp_path, [trace_of(tmp_path, records, names)]))
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert shown.evaluate("$('time').clientHeight") > 300
    assert shown.evaluate("$('list').querySelector('table').clientHeight") < 700
    assert shown.evaluate("data.rows.map((r) => r.name.length)") == [4096, 3003, 3000]
    assert shown.evaluate("$('list').querySelectorAll('b').length") == 0
