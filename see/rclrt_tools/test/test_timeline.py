# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
from typing import Any

from rclrt_tools.reference.timeline import worst_instance
from reports import MS, callback, report


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
    return worst_instance([made])


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
    assert worst_instance([report([], hot_path=None)]) is None


def test_jobs_of_several_processes_are_joined() -> None:
    jobs = two_roots_fused()
    with_sample = report([], jobs[4:])
    with_sample["hot_path"]["samples"] = [SLOW]
    reports = [report([], [each]) for each in jobs[:4]]
    timeline = worst_instance([*reports, with_sample])
    assert timeline is not None
    assert len(timeline.path) == 5
