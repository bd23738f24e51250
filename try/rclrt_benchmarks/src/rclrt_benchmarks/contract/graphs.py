# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Random graphs: whether the model of one run, as observed, bounds what is seen in another."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rclrt_analysis.model import System, model_schema
from rclrt_analysis.model.document import parse_document
from rclrt_analysis.model.read import build_system
from rclrt_benchmarks.contract.judged import Judged, Verdict, judge
from rclrt_benchmarks.contract.machine import Stalls, Strangers
from rclrt_benchmarks.contract.robot import WARM_UP_S, Robot, Setting
from rclrt_tools.observe import observe, to_yaml
from rclrt_tools.trace import named_traces
from rclrt_tools.watch.sources import watch_files

PERIODS_MS = (20, 25, 40, 50, 80, 100, 160, 200)
MOST_LOAD = 0.5
EXECUTOR = "isolated"
"""A thread for each node, priorities by rate."""


@dataclass
class Pair:
    """Two runs of a graph: the first one observed, the other held against its model.

    no_verdict: Why the model proves nothing; then nothing is held against it.
    longer: Callbacks that ran for longer in the second run than ever in the first.
    strangers: Real-time threads of other programs that ran there in the second run.
    """

    callbacks: int
    no_verdict: str
    verdict: Verdict
    bounded: int
    longer: list[str]
    strangers: Strangers


def graph(rng: random.Random, name: str) -> dict[str, Any]:
    """Return a scenario: sensors, what transforms their data, what takes them at last."""
    nodes: list[dict[str, Any]] = []
    rates: dict[str, float] = {}
    load = 0.0

    def add(node: dict[str, Any], rate: float) -> bool:
        nonlocal load
        work = rng.choice([0.2, 0.5, 1, 2, 4])
        if load + rate * work / 1000 > MOST_LOAD:
            return False
        load += rate * work / 1000
        nodes.append({**node, "work_ms": work})
        if "output" in node:
            rates[node["output"]] = rate
        return True

    for i in range(rng.randint(2, 4)):
        period = rng.choice(PERIODS_MS)
        sensor = {"name": f"S{i}", "kind": "sensor", "period_ms": period, "output": f"s{i}"}
        add(sensor, 1000 / period)
    for i in range(rng.randint(2, 8)):
        source = rng.choice(list(rates))
        add(
            {"name": f"T{i}", "kind": "transform", "input": source, "output": f"t{i}"},
            rates[source],
        )
    for i in range(rng.randint(1, 3)):
        source = rng.choice(list(rates))
        add({"name": f"C{i}", "kind": "command", "input": source}, rates[source])
    return {"schema": 1, "name": name, "nodes": nodes}


def twice(setting: Setting, number: int, cpus: Sequence[int]) -> Pair:
    """Run a random graph, make a model of that, and run it again."""
    here, seconds = setting.folder / f"graph-{number}", setting.effort.seconds
    here.mkdir(parents=True)
    scenario = here / "scenario.yaml"
    text = yaml.safe_dump(graph(random.Random(number), f"graph_{number}"), sort_keys=False)
    scenario.write_text(text, encoding="utf-8")
    robot = Robot(setting.interrupt, scenario, cpus)
    with Stalls(cpus):  # Whoever looks takes a little of the CPU, in both runs.
        robot.recorded(EXECUTOR, seconds, here / "first")
    system = _model(here / "first")
    stalls, strangers = Stalls(cpus), Strangers(cpus)
    with stalls, strangers:
        robot.recorded(EXECUTOR, seconds, here / "second")
    begin = min(int(one.records["release_ns"].min()) for _, one in named_traces([here / "second"]))
    watch = Judged(system, begin + int(WARM_UP_S * 1e9))
    watch_files(watch, [here / "second"])
    said = watch.broken
    return Pair(
        len(system.callbacks),
        "; ".join(system.no_verdict),
        judge(watch, stalls, strangers),
        sum(one.bound is not None for one in watch.result.callbacks),
        [key[0] for key in said if key[1] == "wcet"],
        strangers,
    )


def _model(folder: Path) -> System:
    observed = observe(named_traces([folder]), model_schema())
    return build_system(parse_document(to_yaml(observed), "the model"), model_schema())
