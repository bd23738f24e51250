# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Our bounds beside those of other people's tools, on the same random task sets.

What theirs are: `exact`: a response can be as long, so none of ours may be below. `seen`: in a
schedule of theirs one was. `bound`: theirs may be loose, so ours may be below. Nothing is measured.
A tool that is not installed is named, with the way to get it. Exits with 1 if a bound of ours is
below an exact or a seen figure.
"""

import argparse
import contextlib
import functools
import importlib
import io
import os
import random
import shutil
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rclrt_benchmarks.harness.frame import Result, options, perform, source, table
from rclrt_benchmarks.harness.row import Judged, Machine, open_row, stated
from rclrt_tools.arguments import positive

if TYPE_CHECKING:  # Nothing is imported to list experiments.
    from rclrt_analysis.model import System

NEEDS = ()
PERIODS = (20, 24, 30, 36, 40, 50, 60, 70, 84, 100)
UNIT = 1000
"""All times are multiples of it, and figures 1 apart are equal: in the discrete time of some tools
what had begun did so one unit before."""
SCHEDULE = 12
"""A schedule is so many times as long as the longest period."""


class Task(NamedTuple):
    """A task; those of a set are in order of priority."""

    wcet: int
    period: int
    deadline: int
    jitter: int


class Family(NamedTuple):
    """How tasks are scheduled, in words of models; on two CPUs two sets are one.

    crate: The analyses of the crate, of which the least counts.
    """

    kind: str
    policy: str
    crate: tuple[str, ...] = ()
    late: bool = False
    cpus: int = 1


Tasks = Sequence[Task]
Times = list[int | None]
"""Bounds of the tasks of one set; None: no bound."""

FIXED = {
    "FP, preemptive": Family("isolated", "fixed_priority", ("preemptive",)),
    "FP, preemptive, jitter": Family("isolated", "fixed_priority", ("preemptive",), late=True),
    "FP": Family("priority_events", "fixed_priority", ("nonpreemptive",)),
    "FP, jitter": Family("priority_events", "fixed_priority", ("nonpreemptive",), late=True),
}
EXACT = {
    **FIXED,
    "EDF, preemptive": Family("isolated", "edf", ("edf",)),
    "EDF": Family("priority_events", "edf", ("edf_nonpreemptive",)),
    "FIFO": Family("events_fifo", "fixed_priority", ("fifo",)),
    "FIFO, jitter": Family("events_fifo", "fixed_priority", ("fifo",), late=True),
}
BOUND = {"wait set": Family("wait_set_single", "fixed_priority", ("polled", "fair", "arrival"))}
SEEN = {
    "RM, preemptive": Family("isolated", "rm"),
    "EDF, preemptive": Family("isolated", "edf"),
    "RM, preemptive, 2 CPUs": Family("isolated", "rm", cpus=2),
    "EDF, preemptive, 2 CPUs": Family("isolated", "edf", cpus=2),
}


class MissingError(Exception):
    """A tool is not here; says how to get it."""


def random_sets(family: Family, count: int, seed: int, unit: int = UNIT) -> list[Tasks]:
    """Return the sets that all tools get."""
    rng = random.Random(f"{seed} {family.late}")
    sets = []
    for _ in range(count + family.cpus - 1):
        periods = rng.choices(PERIODS, k=rng.randint(2, 5))
        shares = [rng.random() + 0.1 for _ in periods]
        load = rng.uniform(0.3, 0.95) / sum(shares)
        tasks = []
        for period, share in zip(periods, shares, strict=True):
            wcet = max(1, int(share * load * period))
            late = rng.randrange(period) if family.late else 0
            times = (wcet, period, rng.randint(wcet, period), late)
            tasks.append(Task(*(unit * time for time in times)))
        sets.append(tasks)
    groups = (sets[i : i + family.cpus] for i in range(count))
    return [[task for tasks in group for task in tasks] for group in groups]


def system_of(family: Family, tasks: Tasks) -> "System":
    """Return the set as a model: timers, or messages from outside for a wait set."""
    from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, Policy, System

    kind = Kind.SUBSCRIPTION if family.kind == "wait_set_single" else Kind.TIMER
    callbacks = tuple(
        Callback(
            f"t{i}", kind, "e", task.wcet, period=task.period, deadline=task.deadline,
            jitter=task.jitter,
            priority=len(tasks) - i if family.policy == "fixed_priority" else None,
        )
        for i, task in enumerate(tasks)
    )  # fmt: skip
    runs = ExecutorKind(family.kind), Policy(family.policy)
    executor = Executor("e", *runs, cores=tuple(range(family.cpus)))
    # In that release callbacks come in the order of the model, as in the crate.
    return System("random", (executor,), callbacks, distro="foxy")


def _ours(family: Family, sets: Sequence[Tasks]) -> list[Times]:
    from rclrt_analysis.bounds.analyse import analyse

    # All tools count from the release as it was.
    return [
        [one.local.response for one in analyse(system_of(family, tasks)).callbacks]
        for tasks in sets
    ]


def crate() -> Path:
    """Return a program that asks the Rust crate `response-time-analysis`; builds it first.

    Raises MissingError: It cannot be built.
    """
    cargo = shutil.which("cargo")
    if cargo is None:
        raise MissingError("cargo is not installed: it gets and builds the crate")
    written = (source() / "try/rclrt_benchmarks/programs/peers.rs").absolute()
    build = Path(os.environ.get("RCLRT_BUILD_DIR", "build"))
    target = Path(os.environ.get("CARGO_TARGET_DIR", build / "peers")).absolute()
    program = target / "debug" / "peers"
    if program.exists() and program.stat().st_mtime > written.stat().st_mtime:
        return program  # cargo would ask the registry first.
    manifest = target / "source" / "Cargo.toml"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(
        '[package]\nname = "peers"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n'
        f'[[bin]]\nname = "peers"\npath = "{written}"\n'
        '[dependencies]\nresponse-time-analysis = "=0.3.2"\n',
        encoding="utf-8",
    )
    for words in (["fetch"], ["build", "-q", "-j1", "--offline", "--target-dir", str(target)]):
        done = subprocess.run(
            [cargo, *words, "--manifest-path", str(manifest)], capture_output=True, text=True,
            check=False, timeout=300,
        )  # fmt: skip
        if done.returncode:
            raise MissingError(f"cargo {words[0]} fails: {done.stderr[-200:]}")
    return program


def ask(sets: Sequence[Tasks], supplies: Sequence[tuple[int, int]] = ()) -> list[dict[str, Times]]:
    """Return what the crate says of each set, by analysis; given budget and period of each."""
    lines = []
    for tasks, supply in zip(sets, supplies or [(1, 1)] * len(sets), strict=True):
        rows = ", ".join(f"{t.wcet} {t.period} {t.jitter} {t.deadline}" for t in tasks)
        lines.append(f"{supply[0]} {supply[1]}; {rows}")
    done = subprocess.run(
        [crate()], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=300
    )
    found = []
    for line in done.stdout.splitlines():
        parts = (part.split() for part in line.split(";") if part.strip())
        found.append({name: [int(word) or None for word in words] for name, *words in parts})
    return found


@functools.lru_cache(maxsize=4)
def _said(sets: tuple[tuple[Task, ...], ...]) -> list[dict[str, Times]]:
    """Return what `ask` does. Most families have the same sets, which are analysed in all ways."""
    return ask([list(tasks) for tasks in sets])


def _crate(family: Family, sets: Sequence[Tasks]) -> list[Times]:
    def least(every: tuple[int | None, ...]) -> int | None:
        return min((one for one in every if one is not None), default=None)

    return [
        [least(every) for every in zip(*(said[name] for name in family.crate), strict=True)]
        for said in _said(tuple(map(tuple, sets)))
    ]


def imported(name: str, how: str) -> Any:
    """Return a module of a tool.

    Raises MissingError: It cannot be imported, and how it could be.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingError(f"{error}: {how}") from error


PIP = "pip install --no-deps -r tools/requirements/oracle.txt"


def _pyrta(family: Family, sets: Sequence[Tasks]) -> list[Times]:
    rta = imported("response_time_analysis", PIP)
    model, supply = rta.model, rta.model.IdealProcessor()
    preempted = family.kind == "isolated"
    execution = model.FullyPreemptive if preempted else model.FullyNonPreemptive
    found: list[Times] = []
    for tasks in sets:
        mine = [
            model.Task(
                model.PeriodicWithJitter(task.period, task.jitter),
                execution(model.WCET(task.wcet)), model.Deadline(task.deadline),
                model.Priority(len(tasks) - i),
            )
            for i, task in enumerate(tasks)
        ]  # fmt: skip
        every = model.taskset(mine)
        if family.kind == "events_fifo":
            found.append([rta.fifo.rta(every, supply).response_time_bound] * len(mine))
        else:
            analysis = rta.edf if family.policy == "edf" else rta.fp
            found.append([analysis.rta(every, one, supply).response_time_bound for one in mine])
    return found


def _pycpa(family: Family, sets: Sequence[Tasks]) -> list[Times]:
    how = "put the folder of its sources on PYTHONPATH; registries do not have it"
    model, schedulers, analysis = (
        imported(f"pycpa.{name}", how) for name in ("model", "schedulers", "analysis")
    )
    preempted = family.kind == "isolated"
    found: list[Times] = []
    for tasks in sets:
        by = schedulers.SPPScheduler() if preempted else schedulers.SPNPScheduler()
        system = model.System()
        processor, mine = system.bind_resource(model.Resource("e", by)), []
        for i, task in enumerate(tasks):
            one = model.Task(f"t{i}", wcet=task.wcet, bcet=task.wcet, scheduling_parameter=i)
            one.in_event_model = model.PJdEventModel(P=task.period, J=task.jitter)
            mine.append(processor.bind_task(one))
        results = analysis.analyze_system(system)
        found.append([round(results[one].wcrt) for one in mine])
    return found


def simso(system: "System", horizon: int) -> dict[str, list[int]]:
    """Return the responses of all jobs in SimSo's schedule, in order of release.

    Raises MissingError: It cannot be imported.
    """
    core = imported("simso.core", f"up to Python 3.11: {PIP}")
    executor = system.executors[0]
    configuration = importlib.import_module("simso.configuration").Configuration()
    configuration.cycles_per_ms = 1
    configuration.duration = horizon
    configuration.etm = "wcet"
    for i, callback in enumerate(system.callbacks):
        configuration.add_task(
            name=callback.name, identifier=i + 1, period=callback.period,
            activation_date=callback.offset or 0, wcet=callback.wcet, deadline=callback.deadline,
            abort_on_miss=False,
        )  # fmt: skip
    for i in executor.cores:
        configuration.add_processor(name=f"p{i}", identifier=i + 1)
    configuration.scheduler_info.clas = f"simso.schedulers.{executor.policy.value.upper()}"
    configuration.check_all()
    run = core.Model(configuration)
    with contextlib.redirect_stdout(io.StringIO()):  # One of its schedulers prints each step.
        run.run_model()
    return {
        task.name: [round(job.response_time) for job in task.jobs if job.response_time is not None]
        for task in run.results.tasks.values()
    }


def _simso(family: Family, sets: Sequence[Tasks]) -> list[Times]:
    found: list[Times] = []
    for tasks in sets:
        horizon = SCHEDULE * max(task.period for task in tasks)
        jobs = simso(system_of(family, tasks), horizon)
        found.append([max(jobs[f"t{i}"], default=None) for i in range(len(tasks))])
    return found


Theirs = Callable[[Family, Sequence[Tasks]], list[Times]]
PEERS: dict[str, tuple[Theirs, dict[str, Mapping[str, Family]]]] = {
    "response-time-analysis (Rust)": (_crate, {"exact": EXACT, "bound": BOUND}),
    "response-time-analysis (pyRTA)": (_pyrta, {"exact": EXACT}),
    "pyCPA": (_pycpa, {"exact": FIXED}),
    "SimSo": (_simso, {"seen": SEEN}),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser)
    parser.add_argument("--sets", type=positive, default=150, help="of a family (%(default)s)")
    parser.add_argument("--seed", type=int, default=5, help="(%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    """Compare."""
    return perform(arguments, lambda a: measure(a.sets, a.seed), show, judge)


def measure(sets: int, seed: int) -> Result:
    """Return a row for each tool and family, and why there is none."""
    ours: dict[Family, list[Times]] = {}
    rows: list[Result] = []
    missing: dict[str, str] = {}
    for peer, (theirs, families) in PEERS.items():
        for what, some in families.items():
            for name, family in some.items():
                made = random_sets(family, sets, seed)
                try:
                    said = theirs(family, made)
                except MissingError as error:
                    missing[peer] = str(error)
                    continue
                except Exception as error:  # From another's program anything may come.
                    missing[f"{peer}, {name}"] = f"{type(error).__name__}: {str(error)[-200:]}"
                    continue
                key = family._replace(crate=())
                if key not in ours:
                    ours[key] = _ours(family, made)
                counted = compare(made, ours[key], said)
                rows.append({"peer": peer, "family": name, "theirs": what, **counted})
    return {"seed": seed, "rows": rows, "missing": missing}


def compare(sets: Sequence[Tasks], ours: list[Times], theirs: list[Times]) -> Result:
    """Count how ours are beside theirs; keep the first set with one of ours below."""
    found = dict.fromkeys(("callbacks", "equal", "below", "only_ours", "only_theirs"), 0)
    ratios, why = [], ""
    for tasks, mine, others in zip(sets, ours, theirs, strict=True):
        for number, (own, other) in enumerate(zip(mine, others, strict=True)):
            found["callbacks"] += 1
            if own is None or other is None:
                found["only_ours"] += own is not None
                found["only_theirs"] += other is not None
            elif abs(own - other) <= 1:
                found["equal"] += 1
            elif own > other:
                ratios.append(own / other)
            else:
                found["below"] += 1
                rows = ", ".join(" ".join(map(str, task)) for task in tasks)
                why = why or f"C T D J {rows}: of task {number} ours is {own}, theirs {other}"
    return {
        "sets": len(sets), **found, "looser": len(ratios), "why": why,
        "median": statistics.median(ratios) if ratios else None, "max": max(ratios, default=None),
    }  # fmt: skip


def show(result: Result) -> None:
    """Print the table."""
    table(
        result["rows"], ("tool", "peer", ""), ("family", "family", ""), ("theirs", "theirs", ""),
        ("sets", "sets", "d"), ("callbacks", "callbacks", "d"), ("equal", "equal", "d"),
        ("ours looser", "looser", "d"), ("median", "median", ".3f"), ("max", "max", ".2f"),
        ("ours below", "below", "d"), ("only ours", "only_ours", "d"),
        ("only theirs", "only_theirs", "d"),
        title=f"bounds of responses beside those of others, sets of seed {result['seed']}",
    )  # fmt: skip


def judge(result: Mapping[str, Any], _: Machine) -> Judged:
    """Judge that none of ours is below one that is exact or seen."""
    found = [
        stated(
            f"{row['peer']}, {row['family']}", "-", f"{row['below']} of {row['callbacks']} below",
            f"none below what is {row['theirs']}", not row["below"], timed=False, why=row["why"],
        )
        for row in result["rows"]
        if row["theirs"] != "bound"
    ]  # fmt: skip
    found += [open_row(name, "-", "compared", why) for name, why in result["missing"].items()]
    return Judged(found)
