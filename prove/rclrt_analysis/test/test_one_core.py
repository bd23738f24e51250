# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""One core: worked numbers with and without preemption, and the traps of unsound tests."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from models import SCHEMA
from rclrt_analysis import certificate, check
from rclrt_analysis.bounds import busy_window, effort
from rclrt_analysis.bounds import fixed_priority as fp
from rclrt_analysis.bounds import nonpreemptive_edf as edf
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.fixed_point import LATE, UNBOUNDED
from rclrt_analysis.bounds.result import Result
from rclrt_analysis.bounds.taskset import DEDICATED, Supply, TaskSet, make_taskset
from rclrt_analysis.model import read_model
from test_system_bounds import analysed, bounds, timer

PERIODS = (20, 24, 30, 36, 40, 50, 60, 70, 84, 100)


def supplied(supply: Supply, work: int) -> int:
    return int(supply.time(np.array([work]))[0])


def by_the_formula(tasks: TaskSet, supply: Supply) -> list[tuple[int, int]]:
    """Return the responses of every task, from the actual and the nominal release."""
    columns = (tasks.wcet, tasks.period, tasks.deadline, tasks.jitter)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    end, then = -1, 1
    while end != then:
        end = then
        most = max(c for c, *_ in rows) + sum(-(-(end + j) // t) * c for c, t, _, j in rows)
        then = max(1, supplied(supply, most))
    found = []
    for i, (c, t, d, j) in enumerate(rows):
        worst = [c, c]
        low, high = -j + d, end + d
        dues = {d2 - j2 + k * t2 for _, t2, d2, j2 in rows for k in range((high + j2) // t2 + 1)}
        for due in sorted(due for due in dues if low <= due < high):
            a = due - d
            blocking = max((c2 for c2, _, d2, _ in rows if d2 > due), default=0)
            before = [-1, 0]
            if busy_until(rows, blocking, due, supply) < a:
                continue
            while before[0] != before[1]:
                others = sum(
                    c2 * min((before[1] + j2) // t2 + 1, (due - d2 + j2) // t2 + 1)
                    for k, (c2, t2, d2, j2) in enumerate(rows)
                    if k != i and d2 - j2 <= due
                )
                work = blocking + (a + j) // t * c + others
                before = [before[1], supplied(supply, work + 1) - 1]
            stop = max(supplied(supply, work + c), before[1])
            worst = [max(worst[0], stop - max(a, 0)), max(worst[1], stop - a)]
        found.append((worst[0], worst[1]))
    return found


def busy_until(rows: list[tuple[int, ...]], blocking: int, due: int, supply: Supply) -> int:
    before, now = -1, 0
    while before != now:
        before = now
        work = blocking + sum(
            max(c, 1) * min((now + j) // t + 1, (due - d + j) // t + 1)
            for c, t, d, j in rows
            if d - j <= due
        )
        now = supplied(supply, work)
    return now


@pytest.mark.parametrize("reserved", [False, True])
def test_no_deadline_that_is_left_out_has_a_longer_response(reserved: bool) -> None:
    rng = random.Random(7)
    longer = 0
    for _ in range(60):
        n = rng.randint(1, 5)
        period = [rng.choice(PERIODS) for _ in range(n)]
        load = rng.uniform(0.2, 0.6 if reserved else 0.95) / n
        wcet = [max(0, int(load * rng.uniform(0.3, 1.7) * p)) for p in period]
        jitter = [rng.choice([0, rng.randint(0, p)]) for p in period]
        due = [rng.choice([p, rng.randint(1, p), 2 * p, 2_000]) for p in period]
        tasks = make_taskset(wcet, period, due, None, jitter)
        supply = Supply(rng.randint(8, 10), 10) if reserved else DEDICATED
        ours = edf.exact(tasks, supply)
        if ours.response.max() >= UNBOUNDED:
            continue
        expected = by_the_formula(tasks, supply)
        assert ours.response.tolist() == [actual for actual, _ in expected], (tasks, supply)
        assert ours.from_grid.tolist() == [nominal for _, nominal in expected], (tasks, supply)
        longer += int((ours.response > tasks.wcet).sum())
    assert longer > 60


def test_a_thousand_timers_on_one_thread_have_bounds() -> None:
    rng = random.Random(1)
    period = [rng.choice((10, 20, 50, 100, 200, 1000)) * 1_000_000 for _ in range(1000)]
    wcet = [max(1, int(p * 0.7 / 1000 * rng.uniform(0.2, 1.8))) for p in period]
    due = [rng.choice((p // 2, p)) for p in period]
    assert edf.exact(make_taskset(wcet, period, due)).response.max() < UNBOUNDED


PREEMPTIVE = "{name: e, kind: isolated, policy: edf}"


def test_who_shares_a_group_waits_for_one_that_is_due_later() -> None:
    lines = [timer("a", 20, 2, more=", group: g"), timer("b", 50, 7, more=", group: g")]
    assert bounds(analysed(PREEMPTIVE, *lines)) == {"a": 9, "b": 9}
    # What is not in the group, and is due before "b", waits as well: "a" lends its deadline.
    lines.append(timer("c", 30, 3))
    assert bounds(analysed(PREEMPTIVE, *lines)) == {"a": 9, "b": 12, "c": 12}
    # Without "a" nobody lends anything.
    assert bounds(analysed(PREEMPTIVE, *lines[1:])) == {"b": 10, "c": 3}


def test_what_precedes_all_deadlines_counts_with_every_job() -> None:
    lines = [timer("a", 20, 2), timer("b", 50, 7)]
    # Two releases of 0.5.
    found = bounds(analysed(PREEMPTIVE, *lines, rest="overheads: {release_ms: 0.5}\n"))
    assert found == {"a": 3, "b": 10}
    found = bounds(analysed(PREEMPTIVE, *lines, rest="overheads: {stolen_ms: 1, window_ms: 9}\n"))
    # Two windows begin while "b" is not done.
    assert found == {"a": 3, "b": 11}


@pytest.mark.parametrize("policy", ["rm", "edf"])
def test_a_preemptive_job_without_work_waits_for_what_comes_just_when_it_would_begin(
    policy: str,
) -> None:
    lines = [timer("a", 4, 2), timer("b", 9, 2)]
    executor = PREEMPTIVE.replace("edf", policy)
    # At 4 the first two jobs are done, and the next one of "a" comes.
    assert bounds(analysed(executor, *lines, timer("z", 100, 0))) == {"a": 2, "b": 4, "z": 6}


def test_deadlines_may_exceed_periods() -> None:
    lines = [timer("a", 5, 3, more=", deadline_ms: 9"), timer("b", 10, 3, more=", deadline_ms: 9")]
    result = analysed(PREEMPTIVE, *lines)
    assert result.met
    assert bounds(result) == {"a": 6, "b": 6}
    several = analysed("{name: e, kind: isolated, policy: edf, cores: [0, 1]}", *lines)
    assert bounds(several) == {"a": 3, "b": 3}


def test_a_missed_deadline_leaves_all_bounds() -> None:
    lines = [timer("a", 10, 6, more=", deadline_ms: 5"), timer("b", 20, 1)]
    assert bounds(analysed(PREEMPTIVE, *lines)) == {"a": 6, "b": 7}


@pytest.mark.parametrize("preemptive", [False, True])
def test_spans_of_deadlines_bound_what_each_deadline_would(
    preemptive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, loose = random.Random(5), []
    for _ in range(40):
        period = [rng.randint(20, 99) for _ in range(4)]
        wcet = [rng.randint(0, p // 4) for p in period]
        due = [rng.choice([p // 2 + 1, p, 3 * p, edf.NO_DEADLINE]) for p in period]
        jitter = [rng.choice([0, rng.randrange(p)]) for p in period]
        tasks = make_taskset(wcet, period, due, jitter=jitter)
        early = np.array([rng.random() < 0.2 for _ in period])
        one_by_one = edf.exact(tasks, may_be_early=early, preemptive=preemptive)
        with monkeypatch.context() as limits:
            limits.setattr(edf, "MAX_POINTS", 2)
            limits.setattr(edf, "SPANS", 20)
            spans = edf.exact(tasks, may_be_early=early, preemptive=preemptive)
        for exact, found in zip(
            (one_by_one.response, one_by_one.from_grid), (spans.response, spans.from_grid),
            strict=True,
        ):  # fmt: skip
            assert np.all(found >= exact)
            loose += (found / np.maximum(exact, 1))[exact < UNBOUNDED].tolist()
    assert sorted(loose)[len(loose) // 2] < 2


def test_nine_tasks_that_nearly_fill_a_processor_are_settled_by_few_steps() -> None:
    rng = random.Random(10)
    period = [int(10 ** rng.uniform(6, 9)) for _ in range(9)]
    wcet = [int(0.11099 * p) for p in period]
    with effort.limited() as left:
        assert edf.exact(make_taskset(wcet, period)).response.max() < UNBOUNDED
    assert left.left > effort.MOST - 30_000_000


def test_messages_of_others_precede_all_deadlines() -> None:
    lines = [
        "name: a, kind: subscription, executor: e, period_ms: 20, deadline_ms: 20, wcet_ms: 2",
        timer("b", 50, 7),
    ]
    free = bounds(analysed(PREEMPTIVE, *lines))
    found = bounds(analysed(PREEMPTIVE, *lines, rest="overheads: {receive_ms: 0.5}\n"))
    assert free == {"a": 2, "b": 9}
    assert found == {"a": 2.5, "b": 9.5}


US = 1000
MS = 1_000_000
IMU, CAMERA, LIDAR = 0, 4, 6  # of cameras and LiDARs the last of their class


def seven_timers(camera_ms: int, delta_us: int = 0) -> TaskSet:
    tasks = make_taskset(
        [MS] + [camera_ms * MS] * 4 + [10 * MS] * 2, [30 * MS] + [84 * MS] * 4 + [200 * MS] * 2
    )
    overhead = fp.release_only(tasks, delta_us * US)
    return make_taskset(tasks.wcet + overhead, tasks.period)


def per_class(responses: np.ndarray) -> list[float]:
    return [float(responses[i]) / MS for i in (IMU, CAMERA, LIDAR)]


def test_a_release_is_counted_once_in_a_window_for_each_timer() -> None:
    free, costly = (seven_timers(16, cost) for cost in (0, 119))
    costs = fp.as_interference(free.period, free.jitter, 119 * US, len(free))
    # 0.833 ms if a release of each timer falls into the window; the IMU's second one does so too.
    assert fp.nonpreemptive(free, costs).overhead[IMU] == 833 * US
    assert not edf.no_theorem_2(costly)


def test_a_release_costs_when_it_happens_so_it_jitters_too() -> None:
    tasks = make_taskset([3], [20], [20], jitter=[20])
    costs = fp.as_interference(tasks.period, tasks.jitter, 1, 1)
    # Two releases at once, then 3 + 3: from the grid of the first 20 + 2 + 3, of the second 8.
    assert fp.nonpreemptive(tasks, costs).from_grid.tolist() == [25]


def test_equal_priorities_count_each_other_as_higher() -> None:
    tasks = seven_timers(10, 119)
    ranks = make_taskset(tasks.wcet, tasks.period, priority=[3, 2, 2, 2, 2, 1, 1])
    assert per_class(fp.theorem_1(ranks)) == per_class(fp.theorem_1(tasks))
    assert np.all(fp.nonpreemptive(ranks).response >= fp.nonpreemptive(tasks).response)


def test_a_later_job_can_be_the_worst_and_theorem_1_does_not_claim_the_first() -> None:
    tasks = make_taskset([10, 10, 10], [25, 35, 35])
    responses = fp.nonpreemptive(tasks)
    assert responses.response.tolist() == [20, 30, 35], "the first job of the third takes only 30"
    assert responses.jobs[2] == 2
    assert fp.theorem_1(tasks)[2] == LATE


def test_the_lowest_priority_has_no_blocking_and_the_highest_no_interference() -> None:
    responses = fp.nonpreemptive(make_taskset([3, 5, 7], [100, 100, 100]))
    assert responses.blocking.tolist() == [7, 7, 0]
    assert responses.response.tolist() == [10, 15, 15]


def test_release_jitter_lengthens_the_response_from_the_grid_by_at_least_itself() -> None:
    plain = fp.nonpreemptive(make_taskset([10, 20], [100, 150])).response
    late = fp.nonpreemptive(make_taskset([10, 20], [100, 150], jitter=[30, 0]))
    assert late.from_grid[0] == plain[0] + 30
    assert late.response[0] == plain[0]
    assert np.all(late.response >= plain)


def test_full_utilization_ends_without_a_bound_and_not_never() -> None:
    full = make_taskset([10, 10], [20, 20])
    assert fp.nonpreemptive(full).response[1] == UNBOUNDED
    assert edf.exact(full).response[0] == UNBOUNDED
    assert edf.no_theorem_2(full)
    over = make_taskset([10, 20], [20, 30])
    assert fp.nonpreemptive(over).response.tolist() == [30, UNBOUNDED]


def test_coprime_periods_close_to_full_utilization_end_within_the_budget() -> None:
    period = np.array([999_983, 1_000_003, 1_000_033, 1_000_037], dtype=np.int64)
    tasks = make_taskset(period // 4, period)
    assert np.all(fp.nonpreemptive(tasks).response >= tasks.wcet)
    assert np.all(edf.exact(tasks).response >= tasks.wcet)


def test_beyond_the_budget_the_window_is_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = make_taskset([10, 10, 10], [25, 35, 35])
    monkeypatch.setattr(busy_window, "BUDGET", 0)
    assert fp.nonpreemptive(tasks).response.tolist() == [20, 50, 70]
    assert fp.nonpreemptive(make_taskset([10, 20], [20, 30])).response[1] == UNBOUNDED


def test_theorem_1_refuses_what_it_was_not_proven_for() -> None:
    with pytest.raises(ValueError, match="deadlines up to the period"):
        fp.theorem_1(make_taskset([1], [10], [11]))
    with pytest.raises(ValueError, match="jitter"):
        fp.theorem_1(make_taskset([1], [10], jitter=[1]))


def test_equation_4_must_not_decide_schedulability() -> None:
    tasks = seven_timers(10)
    assert fp.release_only_tightened(tasks, 119 * US, proven=True)[0] == 833 * US
    with pytest.raises(ValueError, match="proven"):
        fp.release_only_tightened(tasks, 119 * US, proven=False)


def test_equation_3_counts_releases_that_its_own_overhead_brings() -> None:
    tasks = make_taskset([10], [4])
    assert fp.release_only(tasks, 1).tolist() == [4]  # 10 + ceil(14 / 4) = 14
    assert fp.release_only(tasks, 4)[0] == UNBOUNDED


def test_release_and_execute_needs_every_job_to_end_before_the_next_timestamp() -> None:
    tasks = make_taskset([10, 10], [14, 100])
    assert fp.condition_c1(tasks, 1)
    assert not fp.condition_c1(tasks, 2), "10 + 2 * 2 is not below 14"
    assert fp.release_and_execute(tasks, 2).tolist() == [4, 4]


CERTIFIED = ("isolated", "preemptive", "priority_events")
COSTS = "overheads: {dispatch_ms: 0.25, context_switch_ms: 0.125, release_ms: RELEASE}\n"


def random_model(rng: random.Random, kind: str, policy: str) -> str:
    """Return timers on one CPU, in one or two executors."""
    two = kind != "priority_events" and policy in ("fixed_priority", "edf") and rng.random() < 0.5
    names = "ef"[: 1 + two]
    text = "schema: 1\nname: test\nexecutors:\n"
    text += "".join(f"- {{name: {e}, kind: {kind}, policy: {policy}}}\n" for e in names)
    text += COSTS.replace("RELEASE", str(rng.choice((0, 0.5)) * (policy != "edf"))) + "callbacks:\n"
    for i, period in enumerate(rng.choices(PERIODS, k=rng.randint(2, 5))):
        wcet = rng.uniform(0.02, 0.25) * period
        more = f"priority: {rng.randint(1, 5)}, " if policy == "fixed_priority" else ""
        more += f"deadline_ms: {rng.randint(period // 2, 2 * period)}, " * (policy != "rm")
        text += (
            f"- {{name: t{i}, kind: timer, executor: {rng.choice(names)}, period_ms: {period}, "
            f"{more}jitter_ms: {rng.choice((0, rng.randint(1, period)))}, wcet_ms: {wcet:.6f}}}\n"
        )
    return text


def certified(folder: Path, text: str) -> tuple[dict[str, Any], dict[str, Any], Result]:
    """Return the model, its certificate and its result."""
    path = folder / "model.yaml"
    path.write_text(text, encoding="utf-8")
    result = analyse(read_model(path, SCHEMA))
    return yaml.safe_load(text), json.loads(certificate.to_json(path, result)), result


@pytest.mark.parametrize("policy", ["fixed_priority", "rm", "dm", "edf"])
@pytest.mark.parametrize("kind", CERTIFIED)
def test_the_checker_proves_each_bound_of_timers_on_one_core(
    tmp_path: Path, kind: str, policy: str
) -> None:
    rng = random.Random(f"{kind} {policy}")
    proved = 0
    for _ in range(12):
        model, written, result = certified(tmp_path, random_model(rng, kind, policy))
        bounds = {one.name: one.bound for one in result.callbacks if one.bound is not None}
        assert check.check(model, written) == bounds
        assert set(written["without"].values()) <= {"it has no bound"}
        proved += len(bounds)
    assert proved > 25


def altered(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is said otherwise: each number, text and key, one at a time."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield f"without {key}", {k: v for k, v in value.items() if k != key}
            yield f"{key} twice", {**value, f"{key}2": one}
            for where, other in altered(one):
                yield f"{key}: {where}", {**value, key: other}
    elif isinstance(value, list):
        yield "more", [*value, 1]
        for i, one in enumerate(value):
            yield f"without {i}", value[:i] + value[i + 1 :]
            for where, other in altered(one):
                yield f"{i}: {where}", [*value[:i], other, *value[i + 1 :]]
    elif isinstance(value, str):
        yield "other", value + "x"
    else:
        for other in (
            value - 1,
            value + 1,
            -1 - value,
            9 * value + 9,
            value + 0.5,
            str(value),
            None,
        ):
            yield f"{value} is {other}", other


@pytest.mark.parametrize("policy", ["rm", "edf"])
@pytest.mark.parametrize("kind", CERTIFIED[1:])
def test_a_certificate_with_anything_altered_is_refused(
    tmp_path: Path, kind: str, policy: str
) -> None:
    model, written, _ = certified(tmp_path, random_model(random.Random(3), kind, policy))
    assert len(written["proofs"]) > 1
    count = 0
    for where, other in altered({key: written[key] for key in ("schema", "model", "proofs")}):
        with pytest.raises(check.WrongError):
            check.check(model, {"without": {}, **other})
            pytest.fail(where)
        count += 1
    assert count > 100


@pytest.mark.parametrize("policy", ["fixed_priority", "edf"])
@pytest.mark.parametrize("kind", CERTIFIED[1:])
def test_a_certificate_of_another_model_is_refused_or_holds_for_it(
    tmp_path: Path, kind: str, policy: str
) -> None:
    model, written, _ = certified(tmp_path, random_model(random.Random(8), kind, policy))
    refused: set[str] = set()
    for number, callback in enumerate(model["callbacks"]):
        for key in callback.keys() - {"name", "kind", "executor"}:
            other = copy.deepcopy(model)
            more = -3 if key == "period_ms" else 3
            other["callbacks"][number][key] = round(callback[key] + more, 6)
            _, _, result = certified(tmp_path, yaml.safe_dump(other))
            try:
                proved = check.check(other, written)
            except check.WrongError:
                refused.add(key)
                continue
            for one in result.callbacks:
                assert one.name not in proved or proved[one.name] >= (one.bound or 0), other
    assert refused >= {"wcet_ms", "jitter_ms"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("dispatch_ms", "wake_ms: 1, dispatch_ms"), ("kind: isolated", "kind: wait_set_single"),
        ("policy: rm", "policy: rm, threads: 9"), ("policy: rm", "policy: rm, cores: [0, 1]"),
        ("kind: timer", "kind: timer, budget: {runtime_ms: 1, period_ms: 9}"),
        ("jitter_ms", "group: g, jitter_ms"), ("policy: rm", "policy: rm, x: 1"),
    ],
)  # fmt: skip
def test_the_checker_covers_only_what_its_theorems_are_about(
    tmp_path: Path, before: str, after: str
) -> None:
    text = random_model(random.Random(8), "isolated", "rm")
    _, written, _ = certified(tmp_path, text)
    assert before in text
    with pytest.raises((check.WrongError, check.UncoveredError)):
        check.check(yaml.safe_load(text.replace(before, after)), written)


def test_ranks_that_do_not_exist_prove_nothing() -> None:
    timers = [
        {"name": f"t{i}", "kind": "timer", "executor": "e", "period_ms": 100 + i, "wcet_ms": 1}
        for i in range(51)
    ]
    executors = [{"name": "e", "kind": "isolated", "policy": "rm"}]
    few, many = ({"executors": executors, "callbacks": timers[:n]} for n in (50, 51))
    assert len(list(check.cores_of(few))) == 1 and not list(check.cores_of(many))


@pytest.mark.parametrize(
    ("model", "written"), [("wcet_ms: 1", "["), ("wcet_ms: 1e999990", ""), ("[" * 20_000, "")]
)
def test_files_that_no_computer_can_read_are_an_error_not_a_refusal(
    tmp_path: Path, model: str, written: str
) -> None:
    timer = "{name: t, kind: timer, executor: e, period_ms: 9, wcet_ms: 1}".replace(
        "wcet_ms: 1", model
    )
    text = f"executors: [{{name: e, kind: isolated}}]\ncallbacks: [{timer}]\n"
    (tmp_path / "m.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "c.json").write_text(written * 100_000 or "{}", encoding="utf-8")
    assert check.main([str(tmp_path / "m.yaml"), str(tmp_path / "c.json")]) == 2
