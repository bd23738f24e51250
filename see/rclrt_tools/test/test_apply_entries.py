# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a file says for threads that are no executor's, and what processes are called there."""

from pathlib import Path

import pytest
from rclrt_analysis.model import ModelError
from rclrt_tools.apply.entries import Entry, merged, pattern_of, read_entries
from rclrt_tools.apply.machine import names_of
from rclrt_tools.apply.parts import Clamp
from rclrt_tools.live.threads import cpus_in, ranges
from test_apply import HEAD, written


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("non_ros_threads: {a: {priority: 5}}", "4: non_ros_threads 'a': priority needs"),
        ("non_ros_threads: {a: {scheduling_policy: fifo}}", "fifo needs priority beside it"),
        ("non_ros_threads: {a: {scheduling_policy: fifo, priority: 100}}", "from 1 to 99"),
        ("non_ros_threads: {a: {scheduling_policy: other, nice: 20}}", "from -20 to 19"),
        ("non_ros_threads: {a: {scheduling_policy: other, nice: true}}", "a whole number"),
        ("non_ros_threads: {a: {scheduling_policy: idle, nice: 3}}", "nice does not go with idle"),
        ("non_ros_threads: {a: {scheduling_policy: ext}}", "'ext' is none of other, batch"),
        ("non_ros_threads: {a: {scheduling_policy: deadline, runtime: 1m}}", "needs deadline and"),
        ("non_ros_threads: {a: {scheduling_policy: deadline, runtime: 3ms, deadline: 2ms, "
         "period: 9ms}}", "runtime <= deadline"),
        ("non_ros_threads: {a: {scheduling_policy: deadline, runtime: 1.5ns, deadline: 2ms, "
         "period: 9ms}}", "'1.5ns' is no time"),
        ("non_ros_threads: {a: {scheduling_policy: deadline, runtime: 1000000, deadline: 2ms, "
         "period: 9ms}}", "no time such as 5ms, 1.5ms or 20us. Write its unit: 1000000ns"),
        ("non_ros_threads: {a: {cpu_affinity: 1}}", "must be a list such as [0, 2]"),
        ("non_ros_threads: {a: {cpu_affinity: []}}", "with one or more"),
        ("non_ros_threads: {a: {cpu_affinity: [1023]}}", "there is no CPU 1023"),
        ("non_ros_threads: {a: {cpu_affinity: [x]}}", "a CPU must be a whole number"),
        ("non_ros_threads: {a: {uclamp_min: 1025}}", "uclamp_max <= 1024"),
        ("non_ros_threads: {a: {uclamp_min: 9, uclamp_max: 8}}", "must not be above"),
        ("non_ros_threads: {a: {}}", "it has no fields. There are: scheduling_policy"),
        ("non_ros_threads: {a: {prio: 3}}", "there is no field 'prio' here"),
        ("non_ros_threads: {abcdefghijklmnop: {cpu_affinity: [0]}}", "15 bytes"),
        ("non_ros_threads: [a]", "fields with names are wanted"),
        ("irqs: {eth0: {scheduling_policy: idle}}", "there is no field 'scheduling_policy' here"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_told_with_its_line(tmp_path: Path, entry: str, says: str) -> None:
    path = written(tmp_path, f"{HEAD}      {entry}\n")
    with pytest.raises(ModelError) as raised:
        read_entries(path)
    assert str(raised.value).startswith(f"{path}:4: ")
    assert says in str(raised.value)


def test_irqs_belong_to_no_node(tmp_path: Path) -> None:
    path = written(tmp_path, HEAD.replace("/**", "/a") + "      irqs: {eth0: {cpu_affinity: [0]}}")
    with pytest.raises(ModelError, match="4: irqs are no node's"):
        read_entries(path)


def test_a_file_of_callback_isolated_executor_says_the_same(tmp_path: Path) -> None:
    ours = """
      non_ros_threads:
        a: {scheduling_policy: fifo, priority: 7, cpu_affinity: [0]}
        b: {scheduling_policy: other, nice: 3}
      kernel_threads:
        rcu[[]x: {scheduling_policy: deadline, runtime: 1ms, deadline: 2ms, period: 3ms}
      irqs:
        "7": {cpu_affinity: [0]}
"""
    theirs = """
callback_groups: [{id: x, policy: SCHED_OTHER, nice: 0}]
non_ros_threads:
  - {name: a, policy: SCHED_FIFO, priority: 7, nice: 5, affinity: [0]}
  - {id: b, policy: SCHED_OTHER, priority: 3, affinity: null}
kernel_threads:
  - {comm: "rcu[x", policy: SCHED_DEADLINE, runtime: 1000000, deadline: 2000000, period: 3000000}
irqs: [{irq: 7, affinity: [0]}]
"""

    def said(text: str) -> list[tuple[object, ...]]:
        entries, notes = read_entries(written(tmp_path, text))
        assert ("callback_groups" in text) == bool(notes)
        return [(e.section, e.name, e.process, e.number, e.parts) for e in entries]

    assert said(HEAD + ours) == said(theirs)


OTHER = "policy: SCHED_OTHER, nice: 0"
THREADS = "non_ros_threads:"


@pytest.mark.parametrize(
    ("text", "says"),
    [(text, says) for text, *says in [
        ("callback_groups: 5\nirqs: [{name: x}]", "must be a list", "irq is missing"),
        (f"{THREADS} [{{name: a, {OTHER}}}]\nkernel_thread: []", "no section 'kernel_thread'"),
        ("irqs: []\nhardware_info: {model_name: foo}", "is for a machine with model_name 'foo'"),
        ("irqs: []\nhardware_info: {ram: 3}", "hardware_info has fields out of model_name"),
        (f"{THREADS} [{{name: a, policy: SCHED_OTHER}}]", "SCHED_OTHER needs the field nice"),
        (f"{THREADS} [{{name: a, policy: SCHED_IDLE, nice: 99}}]", "nice must be from -20"),
        (f"{THREADS} [{{name: a, policy: FIFO, priority: 5}}]", "'FIFO' is none of SCHED_OTHER"),
        (f"{THREADS} [{{name: a, nice: 5}}]", "policy is missing"),
        ("kernel_threads: [{comm: a, nice: 5}]", "policy is missing"),
        (f"{THREADS} [{{name: a, {OTHER}, blub: 3}}]", "there is no field 'blub' here"),
        (f"{THREADS} [{{name: [x], {OTHER}}}, {{name: ~, {OTHER}}}]", "name is missing",
         "robot.yaml:1: non_ros_threads: name is missing"),
        ("irqs: []\nirqs: []", "'irqs' stands here a second time"),
        (HEAD + "      irqs: {a: {}, a: {}}", "'a' stands here a second time"),
        ("irqs: [{irq: x, affinity: [0]}]", "irq must be a whole number"),
        (HEAD + "      non_ros_threads: {a: {scheduling_policy: [fifo]}}", "is none of other"),
        (HEAD + "      irqs: [5]\n      kernel_threads: 6", "irqs: f", "kernel_threads: f"),
    ]],
)  # fmt: skip
def test_what_executors_refuse_is_refused_with_all_else_that_is_wrong(
    tmp_path: Path, text: str, says: tuple[str, ...]
) -> None:
    with pytest.raises(ModelError) as raised:
        read_entries(written(tmp_path, text))
    for one in says:
        assert one in str(raised.value)


def test_what_executors_read_is_read(tmp_path: Path) -> None:
    theirs = """
non_ros_threads:
  - {name: a, policy: SCHED_FIFO, priority: 010, affinity: ["01"]}
  - {id: b, policy: SCHED_OTHER, nice: -05}
  - {name: 7, policy: SCHED_RR, priority: "5"}
  - {name: c, policy: SCHED_IDLE, nice: 0}
kernel_threads: [{comm: k, policy: UNMANAGEABLE, affinity: []}]
irqs: [{irq: 031, affinity: [0]}, {irq: 0, affinity: null}, {irq: 8}]
"""
    entries, _ = read_entries(written(tmp_path, theirs))
    assert [(one.name, one.number, *map(str, one.parts)) for one in entries] == [
        ("a", None, "fifo priority 10", "CPUs 1"),
        ("b", None, "other nice -5"),
        ("7", None, "rr priority 5"),
        ("c", None, "idle"),
        ("*", 31, "CPUs 0"),
    ]
    mine = """      non_ros_threads: {a: {cpu_affinity: [0]}}
      irqs: {31: {cpu_affinity: [0]}}
/lidar:
  ros__parameters: {gains: {1: 2.0}, id: 0x1F, c: 007, d: 2001-01-01, q: 12:30:45, true: 1}
"""
    entries, _ = read_entries(written(tmp_path, HEAD + mine))
    assert [(one.name, one.number) for one in entries] == [("a", None), ("*", 31)]


@pytest.mark.parametrize(
    ("line", "comm", "programs", "nodes"),
    [
        ("/opt/x/velodyne_node -p a", "velodyne_node", ("velodyne_node",), ()),
        (
            "/usr/bin/python3 -u /opt/x/talker -r __node:=t",
            "talker",
            ("talker", "python3"),
            ("/t",),
        ),
        ("/c -r __ns:=/a/b -r x:__node:=d -r y:__node:=e", "c", ("c",), ("/a/b/d", "/a/b/e")),
        ("/c __name:=d __ns:=/", "c", ("c",), ("/d",)),
        ("/usr/bin/python3 -I -c print() x", "python3", ("python3",), ()),
        ("/usr/bin/python3 -m my.tool x", "python3", ("python3", "my.tool"), ()),
        ("", "kworker", ("kworker",), ()),
    ],
)
def test_a_process_is_called_by_its_program_and_has_the_nodes_of_its_arguments(
    line: str, comm: str, programs: tuple[str, ...], nodes: tuple[str, ...]
) -> None:
    assert names_of(line.split(), comm) == (programs, nodes)


@pytest.mark.parametrize(
    ("sides", "now", "then"),
    [
        ([(100, None)], (0, 1024), (100, 1024)),
        ([(None, 50)], (100, 1024), (50, 50)),
        ([(100, None)], (0, 50), (100, 100)),
        ([(100, None), (None, 0)], (0, 1024), (0, 0)),
        ([(7, 9), (None, None)], (0, 1024), (7, 9)),
    ],
)
def test_of_a_clamp_one_side_may_be_said(
    sides: list[tuple[int | None, int | None]], now: tuple[int, int], then: tuple[int, int]
) -> None:
    entries = tuple(Entry("non_ros_threads", "", "a", low=low, high=high) for low, high in sides)
    assert merged(entries, Clamp(*now))["clamp"][0] == Clamp(*then)


def test_cpus_are_written_as_the_kernel_does() -> None:
    for text in ("0", "0-3,6", "1,3,5-7"):
        assert ranges(cpus_in(text)) == text


def test_names_match_patterns_as_in_parameters_files() -> None:
    path = Path(__file__).parents[3] / "ros/rclrt_config/test/name_cases.txt"
    for line in path.read_text(encoding="utf-8").splitlines():
        pattern, _, names = line.partition(":")
        for name in names.split() if line.startswith("/") else ():
            assert bool(pattern_of(pattern).fullmatch(name[1:])) == (name[0] == "+"), line + name
