# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""From samples to the overheads of a model."""

import os
import random
from pathlib import Path

import pytest
from models import SCHEMA
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import Overheads, read_model
from rclrt_analysis.report import to_text as to_report
from rclrt_tools.calibration import (
    WINDOW_NS,
    Calibration,
    read_overheads,
    to_text,
    to_yaml,
    worst_window,
)
from rclrt_tools.cli import main
from rclrt_tools.reference.environment import may_use_realtime

MODEL = """
executors:
  - {name: a, kind: isolated, cores: [0]}
  - {name: b, kind: isolated, cores: [1]}
callbacks:
  - {name: fast, kind: timer, executor: a, period_ms: 20, wcet_ms: 2, priority: 50, publishes: [x]}
  - {name: reader, kind: subscription, executor: b, wcet_ms: 1, priority: 40, triggers: [x]}
chains:
  - {name: chain, topics: [x], callbacks: [fast, reader], semantics: latency, deadline_ms: 100}
""".replace("topics: [x], ", "")


def by_looking(gaps: list[tuple[int, int]], window: int) -> int:
    last = gaps[-1][1]
    return max(
        sum(max(0, min(e, at + window) - max(b, at)) for b, e in gaps) for at in range(last + 1)
    )


def test_the_worst_window_is_the_worst_wherever_it_begins() -> None:
    rng = random.Random(1)
    for _ in range(200):
        edges = sorted(rng.sample(range(60), 2 * rng.randint(1, 8)))
        gaps = list(zip(edges[::2], edges[1::2], strict=True))
        window = rng.randint(1, 30)
        assert worst_window(gaps, window) == by_looking(gaps, window), (gaps, window)
    assert worst_window([], 10) == 0


def samples(worst: int) -> Calibration:
    many = {
        "job_ns": [5_000] * 900 + [9_000] * 99 + [worst],
        "timer_job_ns": [30_000] * 999 + [50_000],
        "watched_ns": [19_000] * 900 + [25_000] * 99 + [worst],
        "wake_ns": [100_000] * 999 + [4_000_000],
        "late_ns": [20_000],
        "idle_late_ns": [40_000] * 999 + [300_000],
    }
    gaps = [(0, 100_000), (20_000_000, 20_250_000)]
    looked = [(0, 500_000_000)]
    return Calibration(many, {0: gaps, 1: []}, {0: looked, 1: looked})


def test_a_cost_is_what_nearly_all_jobs_keep_and_the_rest_is_stolen_once_in_a_window() -> None:
    found = samples(worst=1_000_000).overheads()
    assert found["dispatch_ms"] == 9_000
    assert found["release_ms"] == 25_000
    assert found["watch_ms"] == 20_000
    assert found["stolen_ms"] == 250_000 + 1_000_000 - 9_000
    assert found["window_ms"] == WINDOW_NS
    assert found["wake_ms"] == 4_000_000
    assert found["late_ms"] == 300_000
    # A job that the machine has disturbed makes not every job more expensive.
    assert samples(worst=9_000).overheads()["dispatch_ms"] == 9_000
    assert samples(worst=9_000).overheads(0.9)["wake_ms"] == 100_000
    # Two of 49 windows had something taken.
    assert samples(worst=9_000).window(0, 0.9) == 0
    assert samples(worst=9_000).window(0, 0.97) == 100_000
    assert samples(worst=9_000).window(0, 0.99) == 250_000


def test_what_calibrate_writes_is_a_block_of_a_model_and_makes_its_bounds_longer(
    tmp_path: Path,
) -> None:
    found = samples(worst=9_000).overheads()
    block = to_yaml(found, "1000 samples, here")
    path = tmp_path / "robot.yaml"
    path.write_text(f"schema: 1\nname: robot\n{MODEL}", encoding="utf-8")
    before = analyse(read_model(path, SCHEMA))
    path.write_text(f"schema: 1\nname: robot\n{block}{MODEL}", encoding="utf-8")
    system = read_model(path, SCHEMA)
    assert system.overheads == Overheads(
        release=found["release_ms"], dispatch=found["dispatch_ms"], wake=found["wake_ms"],
        late=found["late_ms"], stolen=found["stolen_ms"], window=found["window_ms"],
        watch=found["watch_ms"],
        measured="1000 samples, here",
    )  # fmt: skip
    after = analyse(system)
    fast, reader = (
        (now.bound or 0) - (then.bound or 0)
        for now, then in zip(after.callbacks, before.callbacks, strict=True)
    )
    job = found["dispatch_ms"] + found["stolen_ms"]
    assert fast == job + found["release_ms"] + found["late_ms"] + found["wake_ms"]
    assert reader == job + found["wake_ms"]
    said = " ".join(to_report(system, after).split())
    assert "overheads measured, 1000 samples, here: release_ms 0.025" in said
    assert "stolen_ms 0.270 in each 10.000 ms" in said
    path.write_text(block, encoding="utf-8")
    assert read_overheads(path) == {**found, "measured": "1000 samples, here"}
    path.write_text("overheads: 3", encoding="utf-8")
    with pytest.raises(ValueError, match="no overheads"):
        read_overheads(path)


def test_where_nothing_bounds_what_is_stolen_there_is_no_bound(tmp_path: Path) -> None:
    path = tmp_path / "robot.yaml"
    text = MODEL.replace(
        "kind: isolated, cores: [0]", "kind: preemptive, policy: edf, cores: [0, 2]"
    )
    text = text.replace("wcet_ms: 2, priority: 50, ", "wcet_ms: 2, ")
    path.write_text(
        f"schema: 1\nname: robot\noverheads: {{stolen_ms: 1, window_ms: 10}}\n{text}",
        encoding="utf-8",
    )
    fast, reader = analyse(read_model(path, SCHEMA)).callbacks
    assert fast.bound is None
    assert "stolen_ms" in fast.local.reason
    assert reader.bound is None  # Nobody knows how its messages come.


@pytest.mark.parametrize(
    ("release", "method"),
    [("release_and_execute", "exact"), ("release_and_execute", "paper"), ("release_only", "paper")],
)
def test_theorems_that_know_nothing_of_stolen_time_give_no_bound(
    tmp_path: Path, release: str, method: str
) -> None:
    path = tmp_path / "robot.yaml"
    text = (
        f"executors: [{{name: e, kind: priority_events, policy: rm, release: {release}}}]\n"
        "callbacks: [{name: a, kind: timer, executor: e, period_ms: 20, wcet_ms: 2}]\n"
    )
    for costs, has_bound in (("stolen_ms: 1, window_ms: 10", False), ("", True)):
        path.write_text(f"schema: 1\nname: robot\noverheads: {{{costs}}}\n{text}", encoding="utf-8")
        (bound,) = analyse(read_model(path, SCHEMA), method).callbacks
        assert (bound.bound is not None) == has_bound
        assert has_bound or "stolen_ms" in bound.local.reason


def test_calibrate_measures_this_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_benchmarks" / "cost_of_a_job").exists():
        pytest.skip("cost_of_a_job is not in this build")
    if not may_use_realtime():
        pytest.skip("SCHED_FIFO is not permitted")
    path = tmp_path / "overheads.yaml"
    assert main(["model", "calibrate", "--samples", "20", "--seconds", "1", "-o", str(path)]) == 0
    found = read_overheads(path)
    assert found["dispatch_ms"] > 0
    assert found["window_ms"] == WINDOW_NS
    shown = capsys.readouterr().out
    assert "a whole job that does nothing" in shown
    assert "taken from the most urgent thread of CPU" in shown


def test_the_report_says_how_often_and_how_long() -> None:
    lines = to_text(samples(worst=9_000)).splitlines()
    (row,) = [line for line in lines if line.startswith("a whole job")]
    assert row.split()[-4:] == ["1000", "5.0", "9.0", "9.0"]
    assert len([line for line in lines if line.startswith("taken")]) == 2


JOIN = """
executors:
  - {name: a, kind: isolated, cores: [0]}
  - {name: b, kind: isolated, cores: [1]}
callbacks:
  - {name: left, kind: timer, executor: a, period_ms: 50, wcet_ms: 2, priority: 50, publishes: [x]}
  - {name: right, kind: timer, executor: b, period_ms: 20, wcet_ms: 1, priority: 60, publishes: [y]}
  - {name: fuse, kind: subscription, executor: b, wcet_ms: 1, priority: 40, triggers: [x, y],
     activation: all}
chains:
  - {name: chain, callbacks: [right, fuse], semantics: latency, deadline_ms: 200}
"""


@pytest.mark.parametrize("overhead", ["wake_ms", "transport_ms"])
def test_what_a_join_waits_for_comes_later_from_another_core(tmp_path: Path, overhead: str) -> None:
    """A message that was there at once last time takes its longest way this time."""
    path = tmp_path / "robot.yaml"

    def waits(costs: str) -> tuple[int, int]:
        path.write_text(f"schema: 1\nname: robot\noverheads: {{{costs}}}\n{JOIN}", encoding="utf-8")
        result = analyse(read_model(path, SCHEMA))
        hop = result.chains[0].hops[1]
        assert hop.kind == "joined"
        left = result.callbacks[0].local.output
        assert left is not None and left.gap is not None
        return hop.waiting, left.gap

    (before, gap), (after, later) = waits(""), waits(f"{overhead}: 3")
    assert before == gap
    own = 3_000_000 if overhead == "transport_ms" else 0  # The chain's own message on its way.
    assert after == later + 3_000_000 + own
