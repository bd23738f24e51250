# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the demo shows: table, notes, page, picture, timeline."""

import argparse
import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browsers import Browser, browser
from demo_runs import MS, callback, report
from rclrt_analysis.plots import Plot, draw
from rclrt_tools.reference.demonstration import cpus_of, notes_of, title_of
from rclrt_tools.reference.measurement import Measurement
from rclrt_tools.reference.page import (
    MOST_BYTES,
    Axis,
    axis_of,
    histogram,
    make_page,
    spans_of,
    timelines,
    verdict_of,
    worst_instance,
)
from rclrt_tools.reference.picture import COLORS, make_picture
from rclrt_tools.reference.program import BACKGROUND, EXECUTORS, QUIET
from rclrt_tools.reference.study import Study, Transport
from rclrt_tools.reference.table import WIDTH, group_findings, make_result, make_table


def measured(executor: str, latencies_ms: list[float], **more: object) -> Measurement:
    measurement = Measurement(executor)
    measurement.add(report(latencies_ms, [callback("A", lost=3)], **more))  # type: ignore[arg-type]
    return measurement


def test_every_line_fits_into_100_columns() -> None:
    finding = {"subject": "machine", "what": "word " * 50, "errno": 1, "fix": "more words " * 30}
    rows = [measured(name, [12345.678] * 100, findings=[finding]) for name in EXECUTORS]
    rows.append(Measurement("static", failure="a very long story\n" + "x" * 300))
    text = make_table("title " * 40, rows, ["note " * 50])
    assert max(len(line) for line in text.splitlines()) <= WIDTH


def test_a_row_has_the_figures() -> None:
    text = make_table("t", [measured("preemptive", [8.0] * 99 + [9.5])], [])
    row = next(line for line in text.splitlines() if line.startswith("preemptive"))
    assert row.split() == [
        *["preemptive", "quiet", "100", "8.00", "8.00", "9.50", "3", "0", "40", "60", "other"]
    ]


def test_a_percentile_without_enough_samples_is_a_dash() -> None:
    text = make_table("t", [measured("preemptive", [8.0] * 99)], [])
    row = next(line for line in text.splitlines() if line.startswith("preemptive"))
    assert row.split()[2:6] == ["99", "8.00", "-", "8.00"]


def test_a_row_whose_attributes_were_refused_is_marked() -> None:
    text = make_table("t", [measured("preemptive", [8.0], attributes_in_force=False)], [])
    assert "other REFUSED" in text


def test_an_executor_that_failed_says_so_in_its_row() -> None:
    text = make_table("t", [Measurement("static", failure="line 1\nit broke")], [])
    assert "static                quiet failed: it broke" in text


def test_findings_with_the_same_remedy_are_one() -> None:
    findings = [
        {"subject": f"callback {i}", "what": "refused", "errno": 1, "fix": "ask root"}
        for i in range(5)
    ]
    rows = [measured(name, [8.0], findings=findings) for name in ("isolated", "preemptive")]
    assert group_findings(rows) == [
        "callback 0: refused. ask root. And 4 more with this remedy. (isolated, preemptive)"
    ]


def study(executor: str, latency_ms: float, **more: object) -> Study:
    measurement = Measurement(executor)
    measurement.add(report([latency_ms] * 100, [callback("A")], **more))  # type: ignore[arg-type]
    transport = Transport(total_ms=0.5, samples=10, critical_path_work_ms=7.5)
    return Study([measurement], transport)


@pytest.mark.parametrize(
    ("latency_ms", "said"),
    [(9.0, "p99 is 1.12 x ideal (target 1.25: met)"), (10.1, "1.26 x ideal (target 1.25: MISSED)")],
)
def test_the_hot_path_first_is_held_against_the_ideal(latency_ms: float, said: str) -> None:
    assert said in " ".join(notes_of(study("preemptive_hot", latency_ms)))
    assert "x ideal" not in " ".join(notes_of(study("preemptive", latency_ms)))


def test_the_latency_to_the_end_is_told() -> None:
    notes = " ".join(notes_of(study("preemptive", 8.0)))
    assert "To the end of the sink, quiet, p50 / p99: preemptive 10.00 / 10.00." in notes


def both(executor: str, quiet_ms: float, busy_ms: float) -> list[Measurement]:
    rows = [Measurement(executor), Measurement(executor, BACKGROUND)]
    for row, latency_ms in zip(rows, (quiet_ms, busy_ms), strict=True):
        row.add(report([latency_ms] * 100, [callback("A")]))
    return rows


def test_how_much_worse_each_row_gets_beside_the_load_comes_first() -> None:
    rows = [*both("wait_set_multi", 20.0, 50.0), *both("preemptive_hot", 8.0, 8.5)]
    notes = notes_of(Study(rows, Transport()))
    assert notes[0] == "p99 beside load / quiet: preemptive_hot 1.06, wait_set_multi 2.50."
    assert notes[1] == "preemptive_hot: 8.50 ms beside load (target 8.60 ms: met)."
    assert "busy: beside 4 busy ordinary processes a CPU" in " ".join(notes)
    late = notes_of(Study(both("preemptive_hot", 8.0, 8.7), Transport()))
    assert late[1] == "preemptive_hot: 8.70 ms beside load (target 8.60 ms: MISSED)."
    assert "beside" not in " ".join(notes_of(study("preemptive_hot", 8.0)))


def test_a_row_that_loses_most_beside_the_load_is_told_by_its_median() -> None:
    rows = both("wait_set_multi", 20.0, 50.0)
    few = Measurement("events_fifo", BACKGROUND)
    few.add(report([560.0] * 30, [callback("A")]))
    notes = notes_of(Study([*rows, both("events_fifo", 20.0, 20.0)[0], few], Transport()))
    assert notes[0] == "p99 beside load / quiet: wait_set_multi 2.50."
    assert notes[1] == "p50 beside load / quiet: events_fifo 28.00."


def test_processes_with_one_priority_are_explained() -> None:
    said = "_fifo50: the whole process under SCHED_FIFO 50"
    assert said in " ".join(notes_of(study("static_fifo50", 8.0)))
    assert said not in " ".join(notes_of(study("static", 8.0)))


TAKE = {"rmw": "rmw_cyclonedds_cpp", "reception_stamp": "take"}


def test_figures_that_begin_at_the_take_say_so_and_are_not_held_against_the_ideal() -> None:
    notes = " ".join(notes_of(study("preemptive_hot", 7.0, **TAKE)))
    assert "rmw_cyclonedds_cpp stamps messages when they are taken, not when they arrive" in notes
    assert "x ideal" not in notes
    unknown = " ".join(notes_of(study("preemptive_hot", 7.0, reception_stamp="unknown")))
    assert "may stamp messages when they are taken" in unknown
    assert "when they are taken" not in " ".join(notes_of(study("preemptive_hot", 7.0)))


def test_the_title_names_the_rmw_and_what_the_figures_begin_with() -> None:
    scenario = {"name": "s", "nodes": [1], "hot_path": {"roots": ["A"], "sink": "B"}}
    arguments = argparse.Namespace(cpus=None, work=None)
    said = title_of(scenario, arguments, study("preemptive", 7.0))
    assert "all CPUs, rmw_fastrtps_cpp; hot path, ms: data received from A to start of B" in said
    said = title_of(scenario, arguments, study("preemptive", 7.0, **TAKE))
    assert "all CPUs, rmw_cyclonedds_cpp; hot path, ms: data taken from A to start of B" in said


def test_the_cpus_are_those_asked_for_or_all_that_may_be_used() -> None:
    assert cpus_of("1,0,1") == {0, 1}
    assert cpus_of(None) == os.sched_getaffinity(0)


class Tags(HTMLParser):
    """Collects what the page would load from somewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.count: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href")]


def page(title: str = "the title") -> str:
    measurement = Measurement("preemptive")
    jobs = [callback("Sink<Fusion", [[0, 8_000_000, 10_000_000, 0, 1, 1]])]
    measurement.add(report([8.0, 7.0], jobs))
    finding = {"subject": "<b>", "what": "is & was", "errno": 0, "fix": ""}
    measurement.findings.append(finding)
    measurements = [measurement, Measurement("static", failure="crash")]
    return make_page(title, measurements, make_result({"a": 1}, measurements, 7.9), ["a note"])


def test_the_page_loads_nothing_from_anywhere() -> None:
    tags = Tags()
    tags.feed(page())
    assert tags.loaded == []
    assert tags.count["table"] == 1


def test_the_page_has_distributions_and_a_timeline() -> None:
    html = page()
    assert "The worst instance of each executor" in html
    assert "Sink&lt;Fusion" in html, "the row of the callback"
    assert re.search(r"<summary>preemptive <span.*>alone</span>: 8.0 ms", html)
    axis = Axis(0.0, 10.0, logarithmic=False)
    assert f'class="waits" d="M0 5h{axis(8.0)}"' in html
    assert f'class="runs" d="M{axis(8.0)} 5h{axis(2.0)}"' in html
    assert html.count('<path class="seen"') == 1, "the other one has no samples"
    assert "ideal, 7.90 ms" in html


def test_a_hill_is_as_high_as_its_share_of_the_samples_and_counts_each() -> None:
    axis = Axis(1.0, 100.0)
    assert (axis(1.0), axis(10.0), axis(100.0)) == (0, 500, 1000)
    assert histogram([10.0] * 4 + [1.0], axis) == "M0 100v-25h8V100zM496 100v-100h8V100z"


@pytest.mark.parametrize(("low", "high"), [(7.1, 1004.0), (7.9, 8.4), (0.002, 900.0), (3.0, 4.1)])
def test_an_axis_of_the_page_has_few_labels_and_all_samples(low: float, high: float) -> None:
    axis = axis_of([pictured("a", QUIET, [high, low])], None)
    assert 0 < axis(low) < axis(high) < 1000
    assert 3 <= len(axis.ticks) <= 7
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks)


def test_the_verdict_is_of_the_executor_that_is_best_beside_the_load() -> None:
    rows = [*both("fast_alone", 5.0, 50.0), *both("steady", 8.0, 8.5), *both("slow", 9.0, 90.0)]
    said = verdict_of(rows)
    assert said.sentences == [
        "Under steady the hot path takes 8.50 ms (p99 8.50 ms) beside busy programs, "
        "8.00 ms (p99 8.00 ms) alone.",
        "Medians of the other executors: from 50.00 ms (fast_alone) to 90.00 ms (slow) beside "
        "busy programs, and from 5.00 ms (fast_alone) to 9.00 ms (slow) alone.",
    ]
    assert [one.executor for one in (*said.best, *said.worst)] == [*["steady"] * 2, *["slow"] * 2]
    assert said.warnings == []


def test_the_verdict_says_what_is_wrong_with_it() -> None:
    few = measured("few", [8.0, 9.0], attributes_in_force=False)
    said = verdict_of([few, Measurement("static", failure="a\nit broke")])
    assert said.sentences == ["Under few the hot path takes 8.00 ms."]
    assert said.worst == []
    assert said.warnings[0] == "static failed: it broke"
    assert said.warnings[1].endswith("so they ran without it: few")
    one = measured("one", [8.0])
    assert verdict_of([one]).sentences == ["Under one the hot path takes 8.00 ms at most."]
    assert verdict_of([Measurement("static", failure="x")]).sentences == ["Nothing was measured."]


def large() -> list[Measurement]:
    """Return what makes a page of twice its limit."""
    rows = []
    times = [[*(ms * MS for ms in (t, t + 1, t + 2)), 0, 9, 9] for t in range(0, 800, 4)]
    for executor in list(EXECUTORS)[:8]:
        beside = [callback(f"node_{i:03}/a_long_name", times, on_hot_path=False) for i in range(30)]
        sink = callback("Sink<Fusion", [[0, 800 * MS, 802 * MS, 0, 1, 1]])
        for load in (QUIET, BACKGROUND):
            row = Measurement(executor, load)
            row.add(report([800.0, *(3.0 + i * 0.3 for i in range(999))], [sink, *beside]))
            rows.append(row)
    return rows


def test_the_verdict_on_one_other_executor_names_it_once() -> None:
    rows = [measured("fast", [8.0] * 100), measured("slow", [9.0] * 100)]
    assert verdict_of(rows).sentences[1] == "Medians of the other executors: 9.00 ms (slow)."


def test_of_each_executor_the_worse_load_is_drawn_and_others_by_how_long_they_ran() -> None:
    rows = []
    path = callback("Sink<Fusion", [[0, 8 * MS, 10 * MS, 0, 1, 1]])
    short, long = (
        callback(name, [[MS, 2 * MS, end * MS, 0, 9, 9]], on_hot_path=False)
        for name, end in (("Short", 3), ("Long", 4))
    )
    for load, latency_ms in ((BACKGROUND, 8.0), (QUIET, 7.0)):
        rows.append(Measurement("isolated", load))
        rows[-1].add(report([latency_ms], [short, long, path], executor="isolated"))
    (shown,) = timelines(rows)
    assert (shown.measurement.load, shown.latency_ms) == (BACKGROUND, 8.0)
    assert [line.callback for line in shown.lines][-2:] == ["Long", "Short"]


def test_spans_that_touch_are_one() -> None:
    axis = Axis(0.0, 10.0, logarithmic=False)
    assert spans_of([(2.0, 3.0), (0.0, 1.0), (1.001, 2.0), (5.0, 6.0)], axis) == (
        "M0 5h300M500 5h100"
    )


def test_a_large_page_loses_timelines_before_it_grows_over_200_kb() -> None:
    rows = large()
    html = make_page("t", rows, make_result({}, rows, 7.9), [])
    assert len(html.encode()) <= MOST_BYTES
    assert html.count('class="row other"') == 12 * html.count('<details class="time"') > 0
    assert "and 18 others, which ran less" in html


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, False)])
def test_the_page_can_be_read_on_a_telephone_and_in_the_dark(
    shown: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    rows = [*both("wait_set_multi_fifo50", 20.0, 512.0), *both("preemptive_hot", 8.0, 8.5)]
    rows.append(measured("isolated", [9.0], attributes_in_force=False))
    rows.append(Measurement("static", failure="x" * 100))
    file = tmp_path / "page.html"
    notes = notes_of(Study(rows, Transport()))
    file.write_text(make_page("t" * 100, rows, make_result({"a": "b" * 99}, rows, 7.9), notes))
    assert shown.hard_to_read(file, width, dark) == []
    behind = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert behind == ("rgb(18, 23, 30)" if dark else "rgb(255, 255, 255)")


def test_text_is_escaped() -> None:
    html = page("<script>alert(1)</script>")
    assert "<script>alert(1)" not in html
    assert "&lt;b&gt;: is &amp; was" in html


@pytest.mark.parametrize(("low", "high"), [(7.9, 33.0), (0.2, 0.5), (3.0, 4.1), (1.0, 900.0)])
def test_an_axis_has_labels_where_the_data_are(low: float, high: float) -> None:
    drawn = draw(Plot("t", "ms", {"a": [low, high]}))
    below = drawn.count('text-anchor="middle" x="') - 1
    assert 2 <= below <= 12


SVG = "{http://www.w3.org/2000/svg}"


def pictured(executor: str, load: str, latencies_ms: list[float]) -> Measurement:
    return Measurement(executor, load, latency_ms=latencies_ms)


def test_each_row_has_a_bar_from_its_median_and_says_its_figures() -> None:
    rows = [
        pictured("wait_set <1>", QUIET, [10.0] * 100),
        pictured("wait_set <1>", BACKGROUND, [100.0] * 150),
        pictured("hot", QUIET, [8.0] * 100),
        pictured("hot", BACKGROUND, [8.0] * 20),
        pictured("failed", QUIET, []),
    ]
    picture = make_picture("a & b", rows, 7.0)
    root = ElementTree.fromstring(picture)
    texts = [text.text or "" for text in root.iter(f"{SVG}text")]
    assert "a & b" in texts
    assert "wait_set <1>" in texts and "hot" in texts and "failed" not in texts
    assert "100.0 / 100.0" in texts and "8.0 / -" in texts
    dots = {
        (dot.get("fill"), round(float(dot.get("cx", "0")))) for dot in root.iter(f"{SVG}circle")
    }
    quiet = [x for color, x in dots if color == COLORS[QUIET]]
    busy = [x for color, x in dots if color == COLORS[BACKGROUND]]
    assert max(busy) > max(quiet) > min(quiet)
    assert min(quiet) == min(busy), "8 ms both"
    ticks = [float(text) for text in texts if re.fullmatch(r"[0-9.]+", text)]
    assert ticks == sorted(ticks) and {10.0, 50.0, 100.0} <= set(ticks)


def test_without_samples_there_is_an_empty_picture() -> None:
    ElementTree.fromstring(make_picture("t", [pictured("a", QUIET, [])], None))


def two_roots_fused() -> list[dict[str, Any]]:
    """Front and Rear are sent, fused and received by the sink, twice; columns as in the report."""
    fast, slow = 0, 100 * MS

    def both(*job: int) -> list[list[int]]:
        release, start, end, sent, number_in, number_out = (*job,)
        later = [slow + t for t in (release, start * 2, end * 2, sent)]
        return [
            [*(fast + t for t in job[:4]), number_in, number_out],
            [*later, number_in + 1, number_out + 1 if number_out else 0],
        ]

    return [
        callback("Front", both(0, 0, 1 * MS, 0, 0, 1)),
        callback("Rear", both(0, 0, 1 * MS, 0, 0, 1)),
        # The first input only stores, the second one works and publishes.
        callback("Fusion<Front", both(1 * MS, 1 * MS, 1 * MS + 5, 1 * MS, 1, 0)),
        callback("Fusion<Rear", both(2 * MS, 2 * MS, 4 * MS, 1 * MS, 1, 1)),
        callback("Sink<Fusion", both(4 * MS, 5 * MS, 7 * MS, 4 * MS, 1, 1)),
        callback("Other", [[slow, slow + 3 * MS, slow + 4 * MS, 0, 0, 9]], on_hot_path=False),
        callback("Early", [[0, 0, MS, 0, 0, 9]], on_hot_path=False),
    ]


def slowest(samples: list[list[Any]]) -> Any:
    made = report([], two_roots_fused())
    made["hot_path"]["samples"] = samples
    return worst_instance(made)


FAST = [1 * MS, 5 * MS, 7 * MS, [1, 1]]
SLOW = [101 * MS, 110 * MS, 114 * MS, [2, 2]]


def test_the_worst_instance_is_followed_back_through_the_fusion_to_both_roots() -> None:
    timeline = slowest([FAST, SLOW])
    assert (timeline.received_ns, timeline.start_ns) == (101 * MS, 110 * MS)
    assert [(job.callback, job.in_sequence) for job in timeline.path] == [
        ("Front", 1),
        ("Rear", 1),
        ("Fusion<Front", 2),
        ("Fusion<Rear", 2),
        ("Sink<Fusion", 2),
    ]


def test_what_else_ran_meanwhile_is_shown_beside_it() -> None:
    assert [job.callback for job in slowest([FAST, SLOW]).others] == ["Other"]


def test_jobs_of_other_instances_are_not_on_the_path() -> None:
    assert all(job.start_ns < 10 * MS for job in slowest([FAST]).path)


def test_without_samples_there_is_no_timeline() -> None:
    assert slowest([]) is None
    assert worst_instance(report([], hot_path=None)) is None
