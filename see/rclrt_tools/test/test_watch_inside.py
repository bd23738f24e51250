# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What executors count of chains is what `./rclrt watch` counts, of the same trace files."""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import test_watch_joins
from models import SCHEMA
from rclrt_analysis.model import Callback, System
from rclrt_analysis.model.read import read_model
from rclrt_analysis.plan.fields import chain_lines
from rclrt_analysis.plan.parameters import entry_name
from rclrt_analysis.simulation import simulate
from rclrt_tools.trace import write_trace
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.watch.chains import ChainWatch
from rclrt_tools.watch.sources import watch_files
from rclrt_tools.watch.watch import Watch
from test_plan_command import ROBOT, rclrt
from test_watch import random_system, watched
from test_watch_joins import Sent, sent, with_inputs

NUMBERS = Path(os.environ.get("RCLRT_BUILD_DIR", "/")) / "rclrt_front_end" / "chain_numbers"

__all__ = ["sent"]  # a fixture

pytestmark = pytest.mark.skipif(not NUMBERS.exists(), reason=f"{NUMBERS} is not built")


def with_full_names(system: System) -> System:
    """Return it with the names that callbacks of executors have."""
    new = {c.name: f"/{c.name}/{c.kind.value}/x" for c in system.callbacks}
    return replace(
        system,
        callbacks=tuple(replace(c, name=new[c.name]) for c in system.callbacks),
        chains=tuple(
            replace(c, callbacks=tuple(new[name] for name in c.callbacks)) for c in system.chains
        ),
    )


def name(callback: Callback) -> str:
    return callback.name


def numbers(parameters: Path, batch: int, traces: list[Path]) -> subprocess.CompletedProcess[str]:
    command = [str(NUMBERS), str(parameters), str(batch), *map(str, traces)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)


def seen_inside(parameters: Path, batch: int, traces: list[Path]) -> list[list[str]]:
    return [line.split() for line in numbers(parameters, batch, traces).stdout.splitlines()]


def seen_outside(watch: ChainWatch, p99: float | None) -> list[str]:
    seen = watch.seen
    state = "SILENT" if watch.is_silent else watch.state
    numbers = (
        seen.count, seen.misses, seen.most_in_a_row, seen.silences, seen.last, seen.worst,
        None if p99 is None else round(p99 * 1e6),
    )  # fmt: skip
    return [watch.chain.name, *state.split(), *(str(-1 if n is None else n) for n in numbers)]


def test_both_watches_count_the_same(tmp_path: Path) -> None:
    rng = random.Random(11)
    instances = misses = silences = 0
    for _ in range(150):
        system = with_full_names(random_system(rng))
        limits = [(rng.randint(2_000, 30_000), rng.randint(8_000, 30_000)) for _ in system.chains]
        chosen = tuple(
            replace(c, deadline=d, silent_after=s, warn_after=rng.choice((None, 1, 2)),
                    error_after=rng.choice((None, 3)))
            for c, (d, s) in zip(system.chains, limits, strict=True)
        )  # fmt: skip
        system = replace(system, chains=chosen)
        run = simulate(system, 600_000, rng.randrange(1 << 30))
        paths = []
        for i, trace in enumerate(to_traces(run).values()):
            paths.append(tmp_path / f"{i}.trace")
            write_trace(trace, paths[-1])
        parameters = tmp_path / "plan.yaml"
        lines = [f"      {line}" for line in chain_lines(system, {}, name)]
        text = "\n".join(["/**:", "  ros__parameters:", "    rclrt:", *lines])
        parameters.write_text(text, encoding="utf-8")
        batch = rng.choice((0, 10_000))
        if batch:
            watch = watched(run, system, batch)
        else:
            watch = Watch(system)
            watch_files(watch, paths)
        told = {one["name"]: one["p99_ms"] for one in watch.to_json()["chains"]}
        wanted = [seen_outside(one, told[one.chain.name]) for one in watch.chains]
        assert seen_inside(parameters, batch, paths) == wanted, text
        instances += sum(one.seen.count for one in watch.chains)
        misses += sum(one.seen.misses for one in watch.chains)
        silences += sum(one.seen.silences for one in watch.chains)
    print(f"\n{instances} instances, {misses} misses, {silences} silences: the same in both")
    assert min(instances, misses, silences) > 100


def test_both_watches_count_the_same_through_joins(tmp_path: Path, sent: Sent) -> None:
    rng = random.Random(7)
    instances = 0
    for _ in range(60):
        system = test_watch_joins.random_system(rng)
        chosen = tuple(
            replace(c, deadline=rng.randint(2_000, 30_000), silent_after=rng.randint(8_000, 30_000))
            for c in system.chains
        )
        system = replace(system, chains=chosen)
        sent.clear()
        run = simulate(system, 400_000, rng.randrange(1 << 30))
        traces = with_inputs(run, sent, rng.random() < 0.5)
        paths = []
        for i, trace in enumerate(traces):
            for id_, entry in trace.callbacks.items():
                if (c := system.callback_of.get(entry.name)) is not None:
                    trace.callbacks[id_] = replace(entry, name=f"/{c.name}/{c.kind.value}/x")
            paths.append(tmp_path / f"{i}.trace")
            write_trace(trace, paths[-1])
        parameters = tmp_path / "plan.yaml"
        lines = [f"      {line}" for line in chain_lines(system, {}, entry_name)]
        text = "\n".join(["/**:", "  ros__parameters:", "    rclrt:", *lines])
        parameters.write_text(text, encoding="utf-8")
        watch = Watch(system)
        watch_files(watch, paths)
        told = {one["name"]: one["p99_ms"] for one in watch.to_json()["chains"]}
        wanted = [seen_outside(one, told[one.chain.name]) for one in watch.chains]
        assert seen_inside(parameters, 0, paths) == wanted, text
        through = [c.callbacks[1:] for c in system.chains]
        joins = [any(system.callback_of[n].wants_all for n in names) for names in through]
        counts = [one.seen.count for one in watch.chains]
        instances += sum(count for count, is_join in zip(counts, joins, strict=True) if is_join)
    print(f"\n{instances} instances: the same in both")
    assert instances > 1_000


def test_a_plan_has_what_executors_watch_over_and_they_notice_that_it_was_edited(
    tmp_path: Path,
) -> None:
    robot, out, trace = (tmp_path / name for name in ("robot.yaml", "plan.yaml", "robot.trace"))
    more = ", silent_after_ms: 500.5, on_miss: {warn_after: 1, error_after: 3}}"
    model = ROBOT.replace("deadline_ms: 20}", "deadline_ms: 20" + more).replace(
        "topics: [/tick]", "callbacks: [/first_node/timer/100ms, /first_node/subscription/tick]"
    )
    robot.write_text(model, encoding="utf-8")
    made = rclrt("plan", robot, "-o", out)
    assert made.returncode == 0, made.stderr
    text = out.read_text(encoding="utf-8")
    assert "cpu_affinity: [0], wcet: 1ms, min_period: 100ms, response_bound: 1.01ms}" in text
    chains = """
      chains:
        "tick":
          callbacks: ["/first_node/timer/100ms", "/first_node/subscription/tick"]
          semantics: latency
          deadline: 20ms
          bound: 3.01ms
          silent_after: 500.5ms
          on_miss: {warn_after: 1, error_after: 3}
"""
    assert chains in text
    robot.write_text(model.replace("kind: preemptive", "kind: isolated, policy: rm"), "utf-8")
    (one,) = to_traces(simulate(read_model(robot, SCHEMA), 300_000_000)).values()
    write_trace(one, trace)
    as_made = numbers(out, 0, [trace])
    assert as_made.stderr == ""
    assert as_made.stdout.startswith("tick OK 2 0 0 0 3010000 ")
    out.write_text(text.replace("deadline: 20ms", "deadline: 2ms"), encoding="utf-8")
    edited = numbers(out, 0, [trace])
    assert "the plan was edited after it was made: nothing of it counts as proved" in edited.stderr
    assert edited.stdout.startswith("tick WARN 2 2 2 0 ")
