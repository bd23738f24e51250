# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What executors keep as well: the rules of chains and names; and live traces that are spoilt.

chain_cases.txt and name_cases.txt have the rules.
"""

import os
import random
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import test_watch_joins
from live_program import Program, born
from models import SCHEMA, model
from programs import rclrt
from rclrt_analysis.model import Callback, Chain, Executor, ExecutorKind, Kind, System
from rclrt_analysis.model.read import read_model
from rclrt_analysis.plan.fields import chain_lines, pattern_of
from rclrt_analysis.plan.parameters import entry_name
from rclrt_analysis.simulation import simulate
from rclrt_tools.live import files
from rclrt_tools.statistics import percentile
from rclrt_tools.trace import Trace, write_trace
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.watch import sources
from rclrt_tools.watch.chains import ChainWatch
from rclrt_tools.watch.feed import Job, JobKey, Publication
from rclrt_tools.watch.sources import Live, watch_files
from rclrt_tools.watch.watch import Watch
from test_plan_command import ROBOT
from test_watch import random_system, watched
from test_watch_joins import Sent, sent, with_inputs

NUMBERS = Path(os.environ.get("RCLRT_BUILD_DIR", "/")) / "rclrt_front_end" / "chain_numbers"

__all__ = ["sent"]  # a fixture

needs_numbers = pytest.mark.skipif(not NUMBERS.exists(), reason=f"{NUMBERS} is not built")


def with_full_names(system: System) -> System:
    """Return it with the names that callbacks of executors have."""
    new = {c.name: f"/{c.name}/{c.kind.value}/x" for c in system.callbacks}
    chains = (replace(c, callbacks=tuple(map(new.get, c.callbacks))) for c in system.chains)
    system = replace(system, chains=tuple(chains))
    return system.each(lambda c: replace(c, name=new[c.name]))


def files_of(folder: Path, traces: list[Trace]) -> list[Path]:
    paths = [folder / f"{i}.trace" for i in range(len(traces))]
    for path, trace in zip(paths, traces, strict=True):
        write_trace(trace, path)
    return paths


def numbers(parameters: Path, batch: int, traces: list[Path]) -> subprocess.CompletedProcess[str]:
    command = [str(NUMBERS), str(parameters), str(batch), *map(str, traces)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)


def seen_inside(parameters: Path, batch: int, traces: list[Path]) -> list[list[str]]:
    return [line.split() for line in numbers(parameters, batch, traces).stdout.splitlines()]


def seen_outside(watch: Watch) -> list[list[str]]:
    told = {one["name"]: one["p99_ms"] for one in watch.to_json()["chains"]}
    found = []
    for one in watch.chains:
        seen, p99 = one.seen, told[one.chain.name]
        state = "SILENT" if one.is_silent else one.state
        numbers = (
            seen.count, seen.misses, seen.most_in_a_row, seen.silences, seen.last, seen.worst,
            None if p99 is None else round(p99 * 1e6),
        )  # fmt: skip
        words = (str(-1 if number is None else number) for number in numbers)
        found.append([one.chain.name, *state.split(), *words])
    return found


def of_files(system: System, paths: list[Path]) -> Watch:
    watch = Watch(system)
    watch_files(watch, paths)
    return watch


def written(folder: Path, system: System, name: Callable[[Callback], str]) -> Path:
    """Return a parameters file with the chains of a system."""
    lines = [f"      {line}" for line in chain_lines(system, {}, name)]
    path = folder / "plan.yaml"
    head = ["/**:", "  ros__parameters:", "    rclrt:"]
    path.write_text("\n".join([*head, *lines]), encoding="utf-8")
    return path


@needs_numbers
def test_both_watches_count_the_same(tmp_path: Path) -> None:
    rng = random.Random(11)
    instances = misses = silences = 0
    for _ in range(60):
        system = with_full_names(random_system(rng))
        limits = [(rng.randint(2_000, 30_000), rng.randint(8_000, 30_000)) for _ in system.chains]
        chosen = tuple(
            replace(c, deadline=d, silent_after=s, warn_after=rng.choice((None, 1, 2)),
                    error_after=rng.choice((None, 3)))
            for c, (d, s) in zip(system.chains, limits, strict=True)
        )  # fmt: skip
        system = replace(system, chains=chosen)
        run = simulate(system, 600_000, rng.randrange(1 << 30))
        paths = files_of(tmp_path, list(to_traces(run).values()))
        parameters = written(tmp_path, system, lambda callback: callback.name)
        batch = rng.choice((0, 10_000))
        watch = watched(run, system, batch) if batch else of_files(system, paths)
        assert seen_inside(parameters, batch, paths) == seen_outside(watch), parameters.read_text()
        instances += sum(one.seen.count for one in watch.chains)
        misses += sum(one.seen.misses for one in watch.chains)
        silences += sum(one.seen.silences for one in watch.chains)
    print(f"\n{instances} instances, {misses} misses, {silences} silences: the same in both")
    assert min(instances, misses, silences) > 100


@needs_numbers
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
        for trace in traces:
            for id_, entry in trace.callbacks.items():
                if (c := system.callback_of.get(entry.name)) is not None:
                    trace.callbacks[id_] = replace(entry, name=f"/{c.name}/{c.kind.value}/x")
        paths = files_of(tmp_path, traces)
        parameters = written(tmp_path, system, entry_name)
        watch = of_files(system, paths)
        assert seen_inside(parameters, 0, paths) == seen_outside(watch), parameters.read_text()
        through = [c.callbacks[1:] for c in system.chains]
        joins = [any(system.callback_of[n].wants_all for n in names) for names in through]
        counts = [one.seen.count for one in watch.chains]
        instances += sum(count for count, is_join in zip(counts, joins, strict=True) if is_join)
    print(f"\n{instances} instances: the same in both")
    assert instances > 1_000


@needs_numbers
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


MS = 1_000_000
ROS = Path(__file__).parents[3] / "ros"
PATH = ROS / "rclrt_front_end/test/chain_cases.txt"


def read_cases() -> dict[str, list[list[str]]]:
    cases: dict[str, list[list[str]]] = {}
    for line in PATH.read_text(encoding="utf-8").splitlines():
        said = line.partition("#")[0]
        if said.startswith("case "):
            title, _, chain = said[5:].partition(":")
            statements = cases.setdefault(title.strip(), [chain.split()])
        elif said.strip():
            statements += [one.split() for one in said.split(",")]
    return cases


CASES = read_cases()


def chain_watch(words: list[str]) -> ChainWatch:
    numbers = {key: int(value) for key, value in pairwise(words)
               if value.isdigit()}  # fmt: skip
    kind = Kind.TIMER if "timer" in words else Kind.SUBSCRIPTION
    joins = "inputs" in words
    reads = ("a",) if {"timer", "reads"} & set(words) else ()
    triggers = () if "timer" in words else ("b",) if reads else ("a", "b") if joins else ("a",)
    callbacks = (
        Callback("look", Kind.TIMER, "e", 2 * MS, period=10 * MS, publishes=("a",)),
        Callback("other", Kind.TIMER, "e", 1, period=10 * MS, publishes=("b",)),
        Callback("act", kind, "e", MS, period=20 * MS if kind is Kind.TIMER else None,
                 triggers=triggers, reads=reads, wants_all=joins),
    )  # fmt: skip
    chain = Chain(
        name="grab", callbacks=("look", "act"),
        semantics=next((w for w in words if w in ("age", "reaction")), "latency"),
        deadline=None if "no_deadline" in words else 6 * MS, silent_after=25 * MS,
        join="last" if "last" in words else "wait",
        warn_after=numbers.get("warn_after"), error_after=numbers.get("error_after"),
    )  # fmt: skip
    system = System("s", (Executor("e", ExecutorKind.ISOLATED),), callbacks, (chain,))
    return ChainWatch(system, chain)


def key(sequence: str | int, process: int = 1) -> JobKey:
    return (b"", process, 1, int(sequence))


def job(callback: str, of: JobKey, begin: int, end: int, words: list[str]) -> Job:
    by, before, message = None, "", None
    if "by" in words:
        by, before = key(words[words.index("by") + 1]), "look"
    elif "other" in words:
        by, before = key(1000 + of[3]), "other"
    elif "took" in words:
        at = words.index("took")
        of, message = key(of[3], 2), (int(words[at + 1]), int(words[at + 2]))
    name = f"/act/subscription/{words[words.index('input') + 1]}" if "input" in words else ""
    return Job(callback, of, begin, begin, end, 0, by, before, message, 0, 0, 0, 0, True, 1, name)


def look(watch: ChainWatch, number: str | int, at: int) -> None:
    watch.add([job("look", key(number), at * MS, (at + 2) * MS, [])], [])


def act(watch: ChainWatch, number: str | int, at: int, *words: str) -> None:
    watch.add([job("act", key(number), (at - 1) * MS, at * MS, list(words))], [])


def seen(watch: ChainWatch) -> dict[str, Callable[[], object]]:
    of = watch.seen

    def ms(value: int | None) -> float | str:
        return "-" if value is None else value / MS

    state = "SILENT" if watch.is_silent else watch.state.replace(" ", "_")
    p99 = percentile(sorted(of.values), 0.99)
    return {
        "state": lambda: state, "peak": of.take_peak, "instances": lambda: of.count,
        "last": lambda: ms(of.last), "worst": lambda: ms(of.worst), "p99": lambda: ms(p99),
        "misses": lambda: of.misses, "row": lambda: of.in_a_row, "most": lambda: of.most_in_a_row,
        "silences": lambda: of.silences, "left_out": lambda: of.left_out,
    }  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_watch_keeps_the_rules_of_executors(case: str) -> None:
    words, *lines = CASES[case]
    watch = chain_watch(words)
    for verb, *words in lines:
        if verb == "look":
            look(watch, words[0], int(words[1]))
        elif verb == "act":
            act(watch, words[0], int(words[1]), *words[2:])
        elif verb == "sent":
            message = (int(words[0]), int(words[1]))
            watch.add([], [Publication(message, key(words[2]), int(words[3]) * MS)])
        elif verb == "instance":
            first, _, last = words[0].partition("..")
            for number in range(int(first), int(last or first) + 1):
                look(watch, 2 * number, 10 * number)
                act(watch, 2 * number + 1, 10 * number + int(words[1]), "by", str(2 * number))
        elif verb == "settle":
            watch.settle(int(words[0]) * MS)
        else:
            wanted = dict(zip(words[::2], words[1::2], strict=True))
            wanted.pop("overtaken", None)  # Executors alone count it.
            told = {name: seen(watch)[name]() for name in wanted}
            number = {k: float(v) if v.isdigit() else v for k, v in wanted.items()}
            assert (verb, told) == ("expect", number)


def test_names_match_patterns_as_in_parameters_files() -> None:
    for line in (ROS / "rclrt_config/test/name_cases.txt").read_text("utf-8").splitlines():
        pattern, _, names = line.partition(":")
        for name in names.split() if line.startswith("/") else ():
            assert bool(pattern_of(pattern).fullmatch(name[1:])) == (name[0] == "+"), line + name


SYSTEM = """executors: [{name: one, kind: isolated, policy: fixed_priority, cores: [0]}]
callbacks: [{name: tick, kind: timer, executor: one, period_ms: 10, wcet_ms: 2, priority: 3}]
chains: [{name: see, callbacks: [tick], semantics: latency, deadline_ms: 30}]
"""


def spoil(program: Program) -> None:
    os.pwrite(program.stream.fileno(), b"\1\2\3", 40)


def cut(program: Program) -> None:
    os.ftruncate(program.stream.fileno(), 100)


def remove(program: Program) -> None:
    program.path.unlink()


@pytest.fixture(autouse=True)
def looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOOKS_S", 0)


def spoilt(folder: Path, process: int, change: Callable[[Program], None]) -> tuple[Watch, Live]:
    """Return a watch that has seen jobs of a process, and what becomes of it."""
    program = Program(folder / "live", born(process), process)
    program.callback(1, "tick", "", 10_000_000)
    program.ring()
    watch = Watch(model(SYSTEM))
    live = Live(watch, [], [folder / "live"])
    live.step()
    now = time.monotonic_ns() - 1_000_000_000
    for i in range(3):
        at = now + i * 10_000_000
        times = {"release_ns": at, "ready_ns": at, "start_ns": at, "end_ns": at + 1}
        program.job(0, i, callback=1, cause=1, policy=4, priority=3, **times)
    live.step()
    assert watch.lost_records == 0
    assert watch.chains[0].seen.count > 0
    change(program)
    live.step()
    return watch, live


@pytest.mark.parametrize(
    ("change", "says"), [(spoil, "its beginning has changed"), (cut, "cut it short")]
)
def test_of_a_file_that_was_spoilt_records_are_missing(
    change: Callable[[Program], None], says: str, tmp_path: Path
) -> None:
    watch, live = spoilt(tmp_path, os.getpid(), change)
    assert watch.lost_records == 1
    assert not watch.is_proved
    assert says in live.said[-1]
    live.close()


def test_a_program_that_goes_on_without_its_file_is_not_seen_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch, live = spoilt(tmp_path, os.getpid(), remove)
    assert watch.lost_records == 0, "it may be about to end"
    monkeypatch.setattr(sources, "ENDS_NS", 0)
    live.step()
    assert watch.lost_records == 1
    assert "goes on, but its live trace was removed" in live.said[-1]
    live.close()


def test_a_program_that_removes_its_file_and_ends_leaves_nothing_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        watch, live = spoilt(tmp_path, child.pid, remove)
        child.kill()
    monkeypatch.setattr(sources, "ENDS_NS", 0)
    live.step()
    assert watch.lost_records == 0
    assert "has ended" in live.said[-1]
    live.close()
