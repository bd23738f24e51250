# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Worked numbers of [Teper25 Table I] and [Davis07], and the traps of unsound tests."""

from __future__ import annotations

import numpy as np
import pytest
from rclrt_analysis.bounds import busy_window, releaser
from rclrt_analysis.bounds import nonpreemptive_edf as edf
from rclrt_analysis.bounds import nonpreemptive_fp as fp
from rclrt_analysis.bounds.fixed_point import LATE, UNBOUNDED
from rclrt_analysis.bounds.taskset import TaskSet, make_taskset

US = 1000
MS = 1_000_000
IMU, CAMERA, LIDAR = 0, 4, 6  # of cameras and LiDARs the last of their class
LEVELS = {60: 10, 80: 14, 90: 16}  # utilization, %: execution time of a camera, ms


def seven_timers(camera_ms: int, delta_us: int = 0) -> TaskSet:
    tasks = make_taskset(
        [MS] + [camera_ms * MS] * 4 + [10 * MS] * 2, [30 * MS] + [84 * MS] * 4 + [200 * MS] * 2
    )
    overhead = releaser.release_only(tasks, delta_us * US)
    return make_taskset(tasks.wcet + overhead, tasks.period)


def per_class(responses: np.ndarray) -> list[float]:
    return [float(responses[i]) / MS for i in (IMU, CAMERA, LIDAR)]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (60, [12.666, 57.831, 70.497]),
        (80, [16.666, 75.664, 149.495]),
        (90, [18.666, 83.664, 167.328]),
    ],
)
def test_theorem_1_gives_table_i_with_a_release_cost_of_119_us(
    level: int, expected: list[float]
) -> None:
    assert per_class(fp.theorem_1(seven_timers(LEVELS[level], 119))) == expected


@pytest.mark.parametrize(
    ("level", "expected"),
    [(60, [12.68, 57.88, 70.56]), (80, [16.68, 75.72, 149.6]), (90, [18.68, 83.72, 167.44])],
)
def test_the_printed_release_cost_of_120_us_gives_other_numbers_than_the_printed_table(
    level: int, expected: list[float]
) -> None:
    assert per_class(fp.theorem_1(seven_timers(LEVELS[level], 120))) == expected


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (60, [12.666, 57.831, 68.664]),
        (80, [16.666, 73.831, 86.497]),
        (90, [18.666, 83.664, 94.497]),
    ],
)
def test_the_exact_test_is_tighter_than_theorem_1(level: int, expected: list[float]) -> None:
    assert per_class(fp.exact(seven_timers(LEVELS[level], 119)).response) == expected


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (60, [11.833, 52.952, 63.071]),
        (80, [15.833, 69.071, 80.071]),
        (90, [17.833, 78.071, 88.547]),
    ],
)
def test_releases_as_interference_are_tighter_than_longer_jobs(
    level: int, expected: list[float]
) -> None:
    tasks = seven_timers(LEVELS[level])
    costs = releaser.as_interference(tasks.period, tasks.jitter, 119 * US, len(tasks))
    responses = fp.exact(tasks, costs)
    assert per_class(responses.response) == expected
    # 0.833 ms if a release of each timer falls into the window; the IMU's second one does so too.
    assert responses.overhead[IMU] == 833 * US


def test_a_release_costs_when_it_happens_so_it_jitters_too() -> None:
    tasks = make_taskset([3], [20], [20], jitter=[20])
    costs = releaser.as_interference(tasks.period, tasks.jitter, 1, 1)
    # Two releases at once, then 3 + 3: from the grid of the first 20 + 2 + 3, of the second 8.
    assert fp.exact(tasks, costs).from_grid.tolist() == [25]


@pytest.mark.parametrize(
    ("level", "fixed_priority", "deadlines"),
    [
        (60, [11, 52, 62], [11, 52, 62]),
        (80, [15, 68, 79], [15, 68, 79]),
        (90, [17, 77, 87], [22, 76, 87]),
    ],
)
def test_without_overhead_the_seven_timers_have_known_response_times(
    level: int, fixed_priority: list[float], deadlines: list[float]
) -> None:
    tasks = seven_timers(LEVELS[level])
    assert per_class(fp.exact(tasks).response) == fixed_priority
    assert per_class(edf.exact(tasks).response) == deadlines
    assert not edf.no_theorem_2(seven_timers(LEVELS[level], 119))


def test_equal_priorities_count_each_other_as_higher() -> None:
    tasks = seven_timers(10, 119)
    ranks = make_taskset(tasks.wcet, tasks.period, priority=[3, 2, 2, 2, 2, 1, 1])
    assert per_class(fp.theorem_1(ranks)) == per_class(fp.theorem_1(tasks))
    assert np.all(fp.exact(ranks).response >= fp.exact(tasks).response)


def test_a_later_job_can_be_the_worst_and_theorem_1_does_not_claim_the_first() -> None:
    tasks = make_taskset([10, 10, 10], [25, 35, 35])
    responses = fp.exact(tasks)
    assert responses.response.tolist() == [20, 30, 35], "the first job of the third takes only 30"
    assert responses.jobs[2] == 2
    assert fp.theorem_1(tasks)[2] == LATE


def test_work_that_had_begun_pushes_a_later_job_of_the_task_through() -> None:
    # Messages of [Davis07, Table 2], in us: the second job of the third waits longest.
    tasks = make_taskset([1000, 1000, 1000], [2500, 3500, 3500], [2500, 3250, 3500])
    assert fp.exact(tasks).response.tolist() == [2000, 3000, 3500]


def test_the_lowest_priority_has_no_blocking_and_the_highest_no_interference() -> None:
    responses = fp.exact(make_taskset([3, 5, 7], [100, 100, 100]))
    assert responses.blocking.tolist() == [7, 7, 0]
    assert responses.response.tolist() == [10, 15, 15]


def test_release_jitter_lengthens_the_response_from_the_grid_by_at_least_itself() -> None:
    plain = fp.exact(make_taskset([10, 20], [100, 150])).response
    late = fp.exact(make_taskset([10, 20], [100, 150], jitter=[30, 0]))
    assert late.from_grid[0] == plain[0] + 30
    assert late.response[0] == plain[0]
    assert np.all(late.response >= plain)


def test_full_utilization_ends_without_a_bound_and_not_never() -> None:
    full = make_taskset([10, 10], [20, 20])
    assert fp.exact(full).response[1] == UNBOUNDED
    assert edf.exact(full).response[0] == UNBOUNDED
    assert edf.no_theorem_2(full)
    over = make_taskset([10, 20], [20, 30])
    assert fp.exact(over).response.tolist() == [30, UNBOUNDED]


def test_coprime_periods_close_to_full_utilization_end_within_the_budget() -> None:
    period = np.array([999_983, 1_000_003, 1_000_033, 1_000_037], dtype=np.int64)
    tasks = make_taskset(period // 4, period)
    assert np.all(fp.exact(tasks).response >= tasks.wcet)
    assert np.all(edf.exact(tasks).response >= tasks.wcet)


def test_beyond_the_budget_the_window_is_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = make_taskset([10, 10, 10], [25, 35, 35])
    monkeypatch.setattr(busy_window, "BUDGET", 0)
    assert fp.exact(tasks).response.tolist() == [20, 50, 70]
    assert fp.exact(make_taskset([10, 20], [20, 30])).response[1] == UNBOUNDED


def test_theorem_1_refuses_what_it_was_not_proven_for() -> None:
    with pytest.raises(ValueError, match="deadlines up to the period"):
        fp.theorem_1(make_taskset([1], [10], [11]))
    with pytest.raises(ValueError, match="jitter"):
        fp.theorem_1(make_taskset([1], [10], jitter=[1]))


def test_equation_4_must_not_decide_schedulability() -> None:
    tasks = seven_timers(10)
    assert releaser.release_only_tightened(tasks, 119 * US, proven=True)[0] == 833 * US
    with pytest.raises(ValueError, match="proven"):
        releaser.release_only_tightened(tasks, 119 * US, proven=False)


def test_equation_3_counts_releases_that_its_own_overhead_brings() -> None:
    tasks = make_taskset([10], [4])
    assert releaser.release_only(tasks, 1).tolist() == [4]  # 10 + ceil(14 / 4) = 14
    assert releaser.release_only(tasks, 4)[0] == UNBOUNDED


def test_release_and_execute_needs_every_job_to_end_before_the_next_timestamp() -> None:
    tasks = make_taskset([10, 10], [14, 100])
    assert releaser.condition_c1(tasks, 1)
    assert not releaser.condition_c1(tasks, 2), "10 + 2 * 2 is not below 14"
    assert releaser.release_and_execute(tasks, 2).tolist() == [4, 4]
