# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
import itertools
import random

import pytest
from models import MS
from pytest import approx
from rclrt_analysis.bounds import global_edf
from rclrt_analysis.bounds.dag import Dag, DagTask, Stolen, global_fp, graham, of_nodes
from rclrt_analysis.bounds.result import Assumption
from rclrt_analysis.bounds.taskset import make_taskset
from test_system_bounds import analysed, bounds, subscription, timer

# A fork of three and a join: 1, then 4, 3 and 2 side by side, then 1.
FORK = Dag((1, 4, 3, 2, 1), ((), (0,), (0,), (0,), (1, 2, 3)))


def one(wcet: int) -> Dag:
    return Dag((wcet,), ((),))


def test_bounds_of_a_fork_and_join_and_of_its_nodes() -> None:
    assert (FORK.length, FORK.volume) == (6, 11)
    assert graham(FORK, 2) == 6 + 3  # 5 / 2, rounded up
    assert graham(FORK, 1) == 11
    assert graham(FORK, 3) == 6 + 2
    # On two cores each waits for half of all others.
    found = of_nodes(0, [DagTask(FORK, 20, 1)], [9], 2, Stolen())
    assert found == [(6, 6), (7, 9), (7, 9), (6, 9), (6, 9)]


def test_messages_on_their_way_leave_cores_idle() -> None:
    slow = Dag(FORK.wcet, FORK.before, transport=1)
    assert (slow.length, slow.volume, slow.on_the_way) == (8, 11, 2)
    assert graham(slow, 2) == 8 + 3
    assert global_fp([DagTask(slow, 20, 2), DagTask(one(4), 40, 1)], 2)[0] == 11


def simulated(dag: Dag, cores: int, rng: random.Random) -> dict[int, tuple[int, int]]:
    """Return when nodes come and end in any order; they release others before they end."""
    done: dict[int, int] = {}
    came: dict[int, int] = {}
    sent: dict[int, int] = {}
    late = rng.choice((0, dag.transport))
    left = list(dag.wcet)
    published = [rng.choice((0, rng.randrange(wcet))) for wcet in dag.wcet]  # with that left
    now = 0
    while len(done) < len(left):
        ready = [
            i
            for i, before in enumerate(dag.before)
            if i not in done and all(now >= sent.get(b, now + 1) + late for b in before)
        ]
        came.update((node, now) for node in ready if node not in came)
        for node in rng.sample(ready, min(cores, len(ready))):
            left[node] -= 1
            if left[node] <= published[node]:
                sent.setdefault(node, now + 1)
            if left[node] == 0:
                done[node] = now + 1
        now += 1
    return {node: (came[node], end) for node, end in done.items()}


def test_no_work_conserving_schedule_takes_longer_than_its_bounds() -> None:
    rng = random.Random(1)
    tightness = []
    for _ in range(300):
        n = rng.randint(1, 9)
        before = tuple(tuple(j for j in range(i) if rng.random() < 0.3) for i in range(n))
        dag = Dag(tuple(rng.randint(1, 6) for _ in range(n)), before, rng.choice((0, 0, 1, 4)))
        cores = rng.randint(1, 4)
        alone = graham(dag, cores)
        nodes = of_nodes(0, [DagTask(dag, 999, 1)], [alone], cores, Stolen())
        worst = 0
        for _ in range(5):
            for node, (since, end) in simulated(dag, cores, rng).items():
                assert end - since <= nodes[node][0] and end <= nodes[node][1]
                worst = max(worst, end)
        tightness.append(worst / alone)
    assert 0.85 < sum(tightness) / len(tightness) <= 1


def test_global_fixed_priority_of_sequential_tasks() -> None:
    tasks = [DagTask(one(c), 10, p) for c, p in ((3, 3), (4, 2), (5, 1))]
    # On two cores the first two run at once; the third waits for less than half of both.
    assert global_fp(tasks, 2) == [3, 4, 8]
    assert global_fp(tasks, 3) == [3, 4, 5]
    # A task without a bound leaves those without that are not more urgent.
    tasks = [DagTask(one(3), 10, 3), DagTask(one(8), 9, 2), DagTask(one(1), 99, 1)]
    assert global_fp(tasks, 1) == [3, None, None]
    tasks = [DagTask(one(2), 10, 1), DagTask(one(9), 10, 1)]
    assert global_fp(tasks, 1) == [None, None]


def random_tasks(rng: random.Random, unit: int) -> list[DagTask]:
    """Tasks of one path, or of DAGs; times are whole multiples of the unit."""
    sequential = rng.random() < 0.5
    tasks = []
    for priority in range(rng.randint(2, 7)):
        n = 1 if sequential else rng.randint(1, 4)
        before = tuple(tuple(j for j in range(i) if rng.random() < 0.4) for i in range(n))
        wcet = tuple(rng.randint(1, 6) * unit for _ in range(n))
        period = rng.randint(8, 60) * unit
        tasks.append(DagTask(Dag(wcet, before), period, priority))
    return tasks


def test_bounds_do_not_depend_on_the_unit_of_time() -> None:
    bounds = 0
    for seed in range(200):
        cores = 2 + seed % 3
        coarse = global_fp(random_tasks(random.Random(seed), 1_000), cores)
        fine = global_fp(random_tasks(random.Random(seed), 1_000_000), cores)
        for one_unit, other in zip(coarse, fine, strict=True):
            assert (one_unit is None) == (other is None), seed
            if one_unit is not None and other is not None:
                assert abs(other / 1_000 - one_unit) < len(coarse)  # each is rounded
                bounds += 1
    assert bounds > 500


def most_work(task: DagTask, late: int, window: int, cores: int) -> int:
    """Return W of `global_fp`, as it stands there."""
    volume = task.dag.volume
    x = window + late
    parallel = min(cores, len(task.dag.wcet))
    return x // task.period * volume + min(volume, parallel * (x % task.period))


def right_side(task: DagTask, higher: list[tuple[DagTask, int]], window: int, cores: int) -> int:
    """Return what stands to the right of r = ... in `global_fp`, for r = window."""
    length, volume = task.dag.length, task.dag.volume
    alone = len(task.dag.wcet) == 1
    most = 0
    for carried in itertools.combinations(range(len(higher)), min(len(higher), cores - 1)):
        total = 0
        for i, (other, response) in enumerate(higher):
            parallel = min(cores, len(other.dag.wcet))
            late = response - other.dag.volume // parallel if i in carried else 0
            work = most_work(other, late, window, cores)
            total += min(work, parallel * (window - length + 1)) if alone else work
        most = max(most, total)
    if alone:
        return length + most // cores
    return length - (-(volume - length + most) // cores)


def test_a_bound_is_the_least_number_that_satisfies_its_formula() -> None:
    found = 0
    for seed in range(150):
        rng = random.Random(seed)
        cores = rng.randint(2, 4)
        tasks = sorted(random_tasks(rng, 3), key=lambda task: -task.priority)
        higher: list[tuple[DagTask, int]] = []
        for task, bound in zip(tasks, global_fp(tasks, cores), strict=True):
            least = None
            if len(higher) == tasks.index(task):
                for window in range(task.dag.length, task.period + 1):
                    if right_side(task, higher, window, cores) <= window:
                        least = window
                        break
            assert bound == least, seed
            if bound is not None:
                higher.append((task, bound))
                found += 1
    assert found > 300


def test_what_is_stolen_may_follow_a_path_from_core_to_core() -> None:
    # Each core loses 1 in any 5: the first from 0 to 1, the second from 2 to 3, the third from 4 to
    # 5. The path is there just then, and runs from 1 to 2, 3 to 4, 5 to 6.
    path = Dag((1, 1, 1), ((), (0,), (1,)))
    (bound,) = global_fp([DagTask(path, 20, 1)], 3, Stolen(1, 5))
    assert bound is not None and bound >= 6
    # A job that migrates: stolen from wherever it comes.
    (bound, _) = global_fp([DagTask(one(3), 20, 2), DagTask(one(1), 20, 1)], 3, Stolen(1, 5))
    assert bound is not None and bound >= 6


def test_global_edf_takes_what_any_of_three_tests_proves() -> None:
    def tests(*tasks: tuple[int, int]) -> tuple[list[int] | None, bool, bool]:
        some = make_taskset([c for c, _ in tasks], [t for _, t in tasks])
        found = global_edf.response(some, 2)
        by = (global_edf.is_sparse(some, 2), global_edf.is_met_by_demand(some, 2))
        return None if found is None else found.tolist(), *by

    assert tests((5, 10), (5, 10), (1, 10)) == ([6, 6, 6], True, True)
    # Two jobs keep both cores for 9 of the 6 that the last one has left.
    assert not global_edf.is_met_by_demand(make_taskset([10, 9, 51], [50, 36, 84], [44, 31, 57]), 2)
    assert tests((9, 10), (9, 10), (1, 10)) == ([10, 10, 10], False, True)
    assert tests((10, 12), (2, 20), (3, 12), (1, 10)) == ([11, 6, 4, 2], False, False)
    # One may be late with work that it had before: without that these were 17, 7, 2 and 2. With
    # windows that begin with the release they were 17, 11, 7 and 9.
    carried = make_taskset([12, 5, 2, 2], [30, 20, 10, 30], [21, 15, 8, 11])
    found = global_edf.response(carried, 2)
    assert found is not None
    assert found.tolist() == [17, 9, 2, 5]
    assert tests((9, 10), (9, 10), (2, 10)) == (None, False, False), "Dhall's effect"


def test_global_edf_tests_know_no_jitter_but_responses_do() -> None:
    late = make_taskset([1, 2], [10, 10], jitter=[1, 0])
    assert not (global_edf.is_sparse(late, 2) or global_edf.is_met_by_demand(late, 2))
    found = global_edf.response(late, 2)
    assert found is not None
    assert found.tolist() == [1, 2]


def test_late_jobs_under_global_edf_end_in_time_nevertheless() -> None:
    def ends(*rows: tuple[float, ...]) -> list[float] | None:
        tasks = [[round(x * MS) for x in (*row, 0)[:4]] for row in rows]
        wcet, period, due, jitter = zip(*tasks, strict=True)
        of = global_edf.of_timers(make_taskset(wcet, period, due, jitter=jitter))
        found = global_edf.lateness(of, 2)
        return None if found is None else [round(x / MS, 3) for x in found[1].tolist()]

    assert ends((9, 10, 10), (9, 10, 10), (1, 10, 10)) == [19, 19, 15]
    assert ends((4, 10, 8), (6, 12, 12), (5, 10, 10)) == [13.533, 18.533, 16.033]
    # A release that is later by 2 leaves more of it to do at its deadline.
    assert ends((4, 10, 8, 2), (6, 12, 12), (5, 10, 10)) == [14.067, 19.067, 16.567]
    # What the first one sends has its deadline, and may come after it.
    assert ends((2, 10, 10), (2, 10, 10, 13.714286)) == [13.714, 17.841]
    assert ends((9, 10, 10), (9, 10, 10), (3, 10, 10)) is None, "more than two cores"
    assert ends((11, 10, 10), (1, 10, 10)) is None, "longer than its period"


def test_a_deadline_that_may_be_missed_under_global_edf_has_a_bound() -> None:
    edf = "{name: e, kind: isolated, cores: [0, 1], policy: edf}"
    timers = [timer("a", 10, 9), timer("b", 10, 9), timer("c", 10, 1.5)]
    found = bounds(analysed(edf, *timers))
    assert found == {"a": approx(19), "b": approx(19), "c": approx(15.25)}


def test_beside_what_has_no_bound_under_global_edf_no_bound_is_too_short() -> None:
    edf = "{name: e, kind: isolated, cores: [0, 1], policy: edf}"
    late = timer("a", 5, 1).replace("wcet_ms", "jitter_ms: 3, deadline_ms: 25, wcet_ms")
    readers = subscription("c", 2, "a, b"), subscription("d", 2, "a, b, c")
    found = bounds(analysed(edf, late, timer("b", 20, 2), *readers))
    # Seen in simulations, ms.
    for name, seen in {"a": 8, "b": 6, "c": 6, "d": 12}.items():
        assert (found[name] or seen) >= seen, found


def test_what_several_publish_has_a_bound_under_global_edf_as_all_beside_it() -> None:
    edf = "{name: e, kind: isolated, cores: [0, 1], policy: edf}"
    timers = [timer("a", 10, 6), timer("b", 10, 7), timer("c", 40, 9)]
    found = analysed(edf, *timers, subscription("d", 1, "a, c"))
    assert all(bound is not None for bound in bounds(found).values())
    assert Assumption.ONE_PROGRAM not in found.assumptions
    two = f"{edf}, {{name: f, kind: isolated, cores: [0, 1], policy: edf}}"
    reader = subscription("d", 1, "a, c").replace("executor: e", "executor: f")
    assert Assumption.ONE_PROGRAM in analysed(two, *timers, reader).assumptions
    due = reader.replace("wcet_ms", "deadline_ms: 9, wcet_ms")
    assert Assumption.ONE_PROGRAM not in analysed(two, *timers, due).assumptions


def test_a_late_timer_whose_jobs_replace_each_other_under_edf_bounds_no_chain() -> None:
    edf = "{name: e, kind: isolated, cores: [0, 1], policy: edf}"
    late = [timer("a", 3, 2), timer("b", 8, 5), timer("c", 5, 3, more=", deadline_ms: 4")]
    reader = timer("d", 3, 0, more=", deadline_ms: 12, reads: [a]")
    chain = "chains: [{name: r, callbacks: [a, d], semantics: reaction}]"
    found = analysed(edf, *late, reader, rest=chain)
    assert all(bound is not None for bound in bounds(found).values())
    assert found.chains[0].bound is None
    assert "'a' may wait for longer than its period" in found.chains[0].reason
    in_time = [timer("a", 3, 2), timer("d", 3, 0, more=", reads: [a]")]
    assert analysed(edf, *in_time, rest=chain).chains[0].bound == approx(8 * MS, rel=1e-3)


def test_a_message_from_outside_waits_for_the_thread_that_is_woken() -> None:
    message = "name: a, kind: subscription, executor: e, wcet_ms: 3, period_ms: 10, priority: 3"
    for rest, expected in (("", 3), ("overheads: {wake_ms: 2}", 5)):
        assert bounds(analysed("{name: e, kind: isolated}", message, rest=rest)) == {"a": expected}


ISOLATED = "{name: e, kind: isolated, cores: [0, 1]}"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # What two timers release, or what is more urgent than its timer.
        (
            [timer("a", 9, 1, 1), timer("b", 9, 1, 1), subscription("c", 1, "a, b")],
            {"a": 2, "b": 2, "c": 3},
        ),
        (
            [timer("a", 9, 1, 1), timer("x", 9, 4, 2), subscription("b", 1, "a", ", priority: 7")],
            {"a": 2, "x": 4, "b": 1},
        ),
        # It ends after the next release.
        (
            [timer("a", 10, 6, 3), timer("b", 12, 4, 2), timer("c", 8, 5, 1)],
            {"a": 6, "b": 4, "c": 10},
        ),
        # "w" has more to do than it can: it takes a core for ever.
        (
            [
                timer("x", 10, 1, 6),
                timer("y", 10, 1, 6),
                subscription("w", 6, "x, y", ", priority: 5"),
                timer("z", 10, 1, 1),
            ],
            {"x": 1, "y": 1, "w": None, "z": 3},
        ),
        # "j" may go with what "p1" has published, while "p2" still runs.
        (
            [
                timer("a", 100, 1, 5),
                subscription("p1", 1, "a").replace("[p1]", "[x]"),
                subscription("p2", 20, "a").replace("[p2]", "[x]"),
                subscription("p3", 1, "a"),
                subscription("j", 1, "x, p3", ", activation: all"),
            ],
            {"a": 5, "p1": 5, "p2": 22.5, "p3": 5, "j": 5},
        ),
    ],
)
def test_what_is_no_dag_of_a_timer_is_bounded_one_by_one(
    lines: list[str], expected: dict[str, float]
) -> None:
    assert bounds(analysed(ISOLATED, *lines)) == expected
