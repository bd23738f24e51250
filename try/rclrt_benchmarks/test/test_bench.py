# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments run, briefly, and write what they promise. Their figures are not looked at."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import pytest
from benches import bench, module


def may_use_realtime() -> bool:
    pid = os.fork()
    if pid == 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def skip_without_realtime(sanitizers: tuple[str, ...] = ("address", "thread")) -> None:
    """Skip where SCHED_FIFO is not permitted, and under those sanitizers."""
    if not may_use_realtime():
        pytest.skip("SCHED_FIFO is not permitted")
    if os.environ.get("RCLRT_SANITIZE") in sanitizers:
        pytest.skip("on one CPU the spinlocks of a sanitizer hang if who waits has SCHED_FIFO")


def test_dispatch_writes_a_row_for_every_executor_and_floor(tmp_path: Path) -> None:
    skip_without_realtime(("thread",))
    out = tmp_path / "rows.json"
    done = bench(
        "dispatch", "--cases", "1,4", "--rounds", "1", "--samples", "5", "--warm-up", "2",
        "--json", str(out),
    )  # fmt: skip
    assert done.returncode == ("MISSED" in done.stdout), done.stderr
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    names = {"pool", "pool_edf", "events", "isolated", "waitset_single", "waitset_multi", "static"}
    names |= {
        "events_fifo",
        "waitset_multi_default",
        "pool_default",
        "floor_listener",
        "floor_handover",
    }
    names |= {"floor_listener_default", "floor_handover_default"}
    together = {row["executor"] for row in rows if "together, SCHED_OTHER" in row["case"]}
    assert together >= {"floor_listener_default", "pool_inline_default"}
    for case, subscriptions in (("1 subscription", 1), ("10 subscriptions", 10)):
        mine = {row["executor"]: row for row in rows if row["case"] == case}
        assert set(mine) >= names
        assert all(row["n"] == 5 * subscriptions for row in mine.values())
    keys = "executor case n p50_us p99_us floor_listener_p50_us floor_handover_p50_us"
    assert set(rows[0]) >= {*keys.split(), "ratio_p50", "ratio_p99"}
    assert "Targets" in done.stdout
    for row in rows:
        assert (row["p99_us"] is None) == (row["n"] < 100)
        assert (row["ratio_p99"] is None) == (row["n"] < 100)
    assert "pool p50 / better waitset_multi" in done.stdout
    assert "pool_default p50 / waitset_multi_default" in done.stdout
    assert "pool_edf p50 / pool" in done.stdout
    assert "p99 / hand-over floor" not in done.stdout


def test_memory_writes_bytes_per_callback_and_per_thread(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    done = bench("memory", "--callbacks", "20", "--json", str(out))
    assert done.returncode == ("MISSED" in done.stdout), done.stderr
    result = json.loads(out.read_text(encoding="utf-8"))
    assert {row["executor"] for row in result["callbacks"]} == {
        "engine", "pool", "events", "isolated",
    }  # fmt: skip
    assert {row["trace_capacity"] for row in result["threads"]} == {0, 1024}


def test_trace_cost_says_what_a_record_adds(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    done = bench("trace-cost", "--rounds", "3", "--jobs", "2000", "--json", str(out))
    assert done.returncode == ("MISSED" in done.stdout), done.stderr
    rows = {row["variant"]: row for row in json.loads(out.read_text(encoding="utf-8"))["rows"]}
    assert rows.keys() >= {
        *("floor", "none", "ring", "live", "live, with messages", "none, with a budget")
    }
    for name in ("ring", "live"):
        added = rows[name]["job_ns"] - rows["none"]["job_ns"]
        assert rows[name]["added_ns"] == pytest.approx(added)


def test_budget_has_a_row_for_each_way_and_judges(tmp_path: Path) -> None:
    skip_without_realtime()
    out = tmp_path / "rows.json"
    done = bench("budget", "--rounds", "1", "--seconds", "0.4", "--cpus", "1", "--json", str(out))
    assert done.returncode == ("MISSED" in done.stdout), done.stderr
    rows = {row["way"]: row for row in json.loads(out.read_text(encoding="utf-8"))["rows"]}
    assert rows.keys() >= {"shared", "fifo", "runaway", "budget", "waitset_single", "process_fifo"}
    assert rows["shared"]["lost"] == 0
    assert all(row["instances"] > 0 for row in rows.values())
    assert rows["waitset_single"]["misses"] > 0, "each stage waits for the best effort"
    assert done.stdout.count("late") >= 3


def test_the_control_loop_runs_beside_everything_that_disturbs_it(tmp_path: Path) -> None:
    if not may_use_realtime():
        pytest.skip("SCHED_FIFO is not permitted")
    out = tmp_path / "rows.json"
    common = ("control-loop", "--rounds", "1", "--cycles", "100", "--json", str(out))
    kinds = ["service", "flood", "slow", "parameters", "discovery", "leak", "memory"]
    ways = "pool_beat"
    if not os.environ.get("RCLRT_SANITIZE"):  # The same code once more.
        kinds += ["leak-locked", "memory-locked"]
        ways += ",process_fifo"
    beside = ("--beside", ",".join(kinds))
    done = bench(*common, "--only", ways, "--loads", "quiet", *beside)
    assert done.returncode == ("MISSED" in done.stdout), done.stderr
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert len(rows) == len(kinds) * (2 + ways.count(","))
    assert all(row["cycles"] - row["missed"] == 99 for row in rows)
    # In a tenth of a second they may not have run beside each way, on a machine that is busy.
    others = {row["beside"] for row in rows if row["others_per_s"] > 0}
    assert others >= {"service", "flood", "slow", "leak", "memory"}
    assert done.stdout.count("by_hand ") > len(kinds)
    done = bench(*common, "--only", "isolated", "--loads", "background", "--beside", "service")
    assert done.returncode == ("MISSED" in done.stdout), done.stderr
    (floor, row) = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert (floor["way"], row["way"], row["load"]) == ("by_hand", "isolated", "background")


def test_scale_has_a_row_for_each_size_and_says_how_it_grows(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    only = "callbacks,backlog,threads,rate"
    done = bench("scale", "--rounds", "1", "--largest", "10", "--only", only, "--json", str(out))
    assert done.returncode == ("MISSED" in done.stdout), done.stderr
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    sizes = {(row["part"], row["variant"], row["size"]) for row in rows}
    assert {
        ("callbacks", "pool", 1),
        ("callbacks", "floor", 10),
        ("threads", "isolated", 8),
    } <= sizes
    assert {("backlog", "events", 10), ("rate", "pool_spin", 10)} <= sizes
    one = {
        row["size"]: row
        for row in rows
        if (row["part"], row["variant"], row["figure"]) == ("callbacks", "pool", "start us")
    }
    assert one[10]["growth"] == pytest.approx(one[10]["value"] / one[1]["value"])


def test_scale_has_the_growth_of_messages_from_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scale = module("scale")
    monkeypatch.setattr(scale, "SIZES", {"subscriptions": (3,), "messages": (100, 1000)})
    parser = argparse.ArgumentParser()
    scale.add_arguments(parser)
    out = tmp_path / "rows.json"
    only = ["--only", "subscriptions,messages", "--rounds", "1", "--json", str(out)]
    assert scale.run(parser.parse_args(only)) == ("MISSED" in capsys.readouterr().out)
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    names = {(row["part"], row["variant"], row["size"]) for row in rows}
    assert names >= {
        ("subscriptions", "floor_listener", 3),
        ("subscriptions", "pool", 3),
        ("messages", "floor_handover", 100),
        ("messages", "pool_inline", 1000),
    }
    for row in rows:
        if row["figure"] == "sent a second":
            assert 0 < row["value"] < 1.2 * row["size"]
        if row["figure"] == "lost %":
            assert 0 <= row["value"] < 100
    with_rclcpp = (scale.folder() / scale.ON_RCLCPP).exists()
    assert (("messages", "rclcpp_events", 100) in names) == with_rclcpp


def test_probe_says_what_it_adds_to_callbacks_and_messages(tmp_path: Path) -> None:
    if not (Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_probe" / "fake_program").exists():
        pytest.skip("rclrt_probe is built without its programs")
    out = tmp_path / "rows.json"
    done = bench("probe", "--rounds", "2", "--batches", "5", "--json", str(out))
    rows = json.loads(out.read_text(encoding="utf-8"))["calls"]
    assert {"callback_start and callback_end", "publication", "take"} <= {r["call"] for r in rows}
    assert done.returncode == any(row["more_ns"] > 1000 for row in rows), done.stderr
    assert all(row["more_ns"] > 0 for row in rows)  # It records something.


def test_carry_says_what_it_adds_to_a_message(tmp_path: Path) -> None:
    if not (Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_probe" / "librclrt_carry.so").exists():
        pytest.skip("librclrt_carry is not in this build")
    out = tmp_path / "rows.json"
    done = bench("carry", "--rounds", "1", "--batches", "3", "--json", str(out))
    rows = {r["variant"]: r for r in json.loads(out.read_text(encoding="utf-8"))["rows"]}
    assert list(rows) == ["without", "no deadline", "deadline"]
    assert rows["without"]["more_ns"] == 0 < rows["without"]["median_ns"]
    assert done.returncode == any(r["more_ns"] > 300 for r in rows.values()), done.stderr


def test_contract_goes_all_the_way_from_observing_to_watching(tmp_path: Path) -> None:
    build = Path(os.environ["RCLRT_BUILD_DIR"])
    if not (build / "rclrt_reference_system" / "rclrt_reference_system").exists():
        pytest.skip("rclrt_reference_system is not in this build")
    if not (build / "rclrt_probe" / "librclrt_probe.so").exists():
        pytest.skip("rclrt_probe is not in this build")
    if os.environ.get("RCLRT_SANITIZE"):
        pytest.skip("a sanitizer takes too much of the time that callbacks have")
    if not may_use_realtime():
        pytest.skip("SCHED_FIFO is not permitted")
    out = tmp_path / "rows.json"
    done = bench("contract", "--quick", "--json", str(out), timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(out.read_text(encoding="utf-8"))
    runs = {row["run"]: row for row in result["reference"] if row["name"] == "settings"}
    assert set(runs) == {"waitset_single", "plan"}
    assert runs["plan"]["count"] > 10, done.stdout
    assert runs["plan"]["bound_ms"] is not None
    mixed = {row["name"]: row for row in result["mixed"]}
    assert list(mixed)[3] == "our plan"
    assert len(mixed) == (4 if "no_container" in result else 7)
    assert ("no rows of a component container" in done.stdout) == ("no_container" in result)
    assert all(row["released"] > 20 for row in mixed.values())
    assert result["advise"]["jobs"] > 100
    assert [row["jobs"] > 0 for row in result["graphs"]] == [True]
    assert len(result["sabotage"]) == 5
    for row in result["sabotage"]:
        assert row["named"], row


def test_deadline_store_says_what_a_store_and_a_system_call_cost(tmp_path: Path) -> None:
    program = Path(os.environ["RCLRT_BUILD_DIR"]) / "rclrt_scx" / "rclrt_scx_deadline_store"
    if not program.exists():
        pytest.skip("rclrt_scx is not in this build")
    out = tmp_path / "rows.json"
    done = bench("deadline-store", "--rounds", "3", "--json", str(out))
    assert done.returncode == ("MISSED" in done.stdout), done.stderr
    (row,) = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert row["rounds"] == 3
    assert row["store_ns"] > 0
    assert row["sched_setattr_ns"] > 0
    assert ("met" in done.stdout) == (row["store_ns"] < 100)


def test_one_message_after_another_goes_to_each_of_those_measured_together() -> None:
    if not may_use_realtime():
        pytest.skip("SCHED_FIFO is not permitted")
    dispatch = module("dispatch")
    parser = argparse.ArgumentParser()
    dispatch.add_arguments(parser)
    arguments = parser.parse_args(["--rounds", "2", "--samples", "100", "--warm-up", "2"])
    variants = ("floor_listener", "floor_handover", "pool", "events")
    case = dispatch.Case("together", 1, 3)
    of, _ = dispatch.measure("dispatch_latency", case, variants, arguments, together=True)
    assert set(of) == set(variants)
    for delays in of.values():
        assert [len(values) for values in delays.rounds] == [100, 100]
