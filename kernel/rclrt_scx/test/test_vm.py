# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The scheduler in a virtual machine: each machine is booted once and runs all scenarios it can."""

import base64
import gzip
import json
import os
import re
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

import pytest
import vm
from edf_in_trace import check, run_times
from periodic_sets import MS, PERIOD, RESERVE, TICK, UNLIMITED, Job, judge, make_sets

BUILD = Path(os.environ["RCLRT_BUILD_DIR"])
BUILT = {
    "scx": BUILD / "rclrt_scx" / "scx",
    "scx_wrong": BUILD / "rclrt_scx" / "scx_wrong",
    "scx_deaf": BUILD / "rclrt_scx" / "scx_deaf",
    "scx_guest": BUILD / "rclrt_scx" / "scx_guest",
    "executor_guest": BUILD / "rclrt_front_end" / "executor_guest",
}
PROGRAMS = [program for program in BUILT.values() if program.exists()]
FETCHED = Path(os.environ["RCLRT_SCX_FETCHED"])
BOOT_LIMIT_S = 1200  # Machines boot beside each other, on a computer that may be busy.
SEED = int(os.environ.get("RCLRT_SCX_SEED", "18"))
"""It chooses the sets of threads that are held against the analysis."""

SCRIPT = (Path(__file__).parent / "machine.sh").read_text()

MACHINES = {
    "cloud-1": ("vmlinuz-cloud-amd64", 1, "common life cycles partial"),
    "cloud-2": ("vmlinuz-cloud-amd64", 2, "common order deaf hotplug timed cost shared"),
    "cloud-4": ("vmlinuz-cloud-amd64", 4, "common many cost shared"),
    "rt-2": ("vmlinuz-rt-amd64", 2, "common"),
    "older-2": ("vmlinuz-older", 2, "common"),
}
FEW = float(os.environ.get("RCLRT_EFFORT", "1")) <= 1
"""One kernel only, and not all that can be booted; RCLRT_EFFORT=2 boots all."""
if FEW:
    MACHINES = {
        "cloud-1": ("vmlinuz-cloud-amd64", 1, "common partial"),
        "cloud-2": ("vmlinuz-cloud-amd64", 2, "common order deaf hotplug timed"),
    }
if os.environ.get("RCLRT_SCX_KERNEL"):  # One that somebody has built.
    MACHINES["given-2"] = (os.environ["RCLRT_SCX_KERNEL"], 2, "common order deaf hotplug timed")
TWO_CACHES = "cloud-4"
"""Its CPUs share two last-level caches, those of all others one."""
# By series; a short run on each. The README says what happens on them.
SERIES = {name: (f"vmlinuz-{name}", 2, "brief") for name in ("6.18", "6.19", "7.0", "7.1", "7.2")}
if FEW:
    SERIES = {}
COSTS = {
    f"cost-{count}": ("vmlinuz-cloud-amd64", int(count), "cost")
    for count in os.environ.get("RCLRT_SCX_COST", "").split()
}
if os.environ.get("RCLRT_SCX_TRACED"):  # On all kernels, with two CPUs or more; else on one.
    for _all in (MACHINES, SERIES):
        for _name, (_image, _cpus, _parts) in _all.items():
            if _cpus == 1:
                continue
            _more = [p for p in ("order", "hotplug", "timed") if p not in _parts.split()]
            _all[_name] = (_image, _cpus, " ".join([_parts, *_more]))
TRACED, TIMED = (
    [name for name, (_, _, parts) in {**MACHINES, **SERIES}.items() if part in parts.split()]
    for part in ("order", "timed")
)
README = (Path(__file__).parents[1] / "README.md").read_text()


@lru_cache
def boots() -> dict[str, Future[str]]:
    """Boot every machine of a long run, as many at a time as there are CPUs."""
    if FEW:
        return {}
    pool = ThreadPoolExecutor(os.cpu_count())
    return {name: pool.submit(boot, name) for name in {**MACHINES, **SERIES}}


@lru_cache
def console(machine: str) -> str:
    """Boot once and return all that it said."""
    return boots()[machine].result() if machine in boots() else boot(machine)


def boot(machine: str) -> str:
    image, cpus, parts = {**MACHINES, **SERIES, **COSTS}[machine]
    kernel = FETCHED / image
    reason = os.environ.get("RCLRT_SCX_WHY_NOT") or vm.why_not(kernel)
    if reason:
        return f"SKIP {reason}"
    sets = "\n".join(one.text() for one in make_sets(SEED, cpus))
    script = f"cat > /tmp/sets <<END\n{sets}\nEND\n{SCRIPT}"
    sockets = 2 if machine == TWO_CACHES else 1
    return vm.boot(kernel, cpus, script, parts, PROGRAMS, BOOT_LIMIT_S, sockets=sockets)


def between(text: str, name: str) -> str:
    """Return the lines between two marks of the script, as one text."""
    lines = text.replace("\r", "").split("\n")
    return "\n".join(lines[lines.index(name + "-BEGIN") + 1 : lines.index(name + "-END")])


def promised(parts: str) -> set[str]:
    """Return the names that the script says it will report."""
    names: set[str] = set()
    for part in parts.split():
        body = SCRIPT.partition(f"{part}() {{")[2].partition("\n}\n")[0].replace("\\\n", " ")
        names.update(re.findall(r"result (\w+) \$\?", body))
        for guest, scenarios in re.findall(r"(scx_guest|executor_guest) ([\w -]+)", body):
            if BUILT[guest].exists():
                prefix = f"{part}_" if part in ("partial", "deaf") else ""
                names.update(prefix + name for name in scenarios.split() if "all-" not in name)
            else:
                print(f"{guest} is not in this build: left out {scenarios}")
    return names


def results(text: str) -> dict[str, tuple[str, str]]:
    lines = re.findall(r"RESULT (\w+) (pass|fail|skip) ?(.*)", text)
    return {name: (verdict, seen) for name, verdict, seen in lines}


def left_out(seen: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {name: why for name, (verdict, why) in seen.items() if verdict == "skip"}


def wrongly_left_out(seen: dict[str, tuple[str, str]], cpus: int) -> set[str]:
    """Return the tests that skipped, but not for too few CPUs: nothing else is lacking here."""
    too_few = tuple(f"needs {n} CPUs" for n in ["two", "three"][cpus - 1 :])
    return {name for name, why in left_out(seen).items() if not why.endswith(too_few)}


def complaints(text: str) -> list[str]:
    """Return what the kernel complained of, without what Linux 6.12 does by itself.

    When a CPU goes it stops the CPU's server for SCHED_OTHER, and does not ask whether that is
    active; in mode full it is not. Then it finds its accounts of SCHED_DEADLINE wrong, and says so.
    """
    of_6_12 = re.search(r"^KERNEL 6\.12\.", text, re.MULTILINE) is not None
    return [
        line
        for line in vm.complaints(text)
        if not (of_6_12 and "WARNING: " in line and "kernel/sched/deadline.c" in line)
    ]


@pytest.mark.parametrize("machine", MACHINES)
def test_every_scenario_passes(machine: str) -> None:
    """No scenario fails, none that the script names is missing, and the kernel did not complain."""
    text = console(machine)
    if text.startswith("SKIP "):
        pytest.skip(text[5:])
    seen = results(text)
    print(*re.findall("^(?:LATENCY|COST).*", text, re.MULTILINE), sep="\n")
    assert vm.END in text, text[-3000:]
    failed = {name: why for name, (verdict, why) in seen.items() if verdict == "fail"}
    assert not failed, text[-6000:]
    _, cpus, parts = MACHINES[machine]
    assert promised(parts) <= set(seen), promised(parts) - set(seen)
    assert not complaints(text)
    assert re.findall(r"^CACHES (\d+)$", text, re.MULTILINE) == ["21"[machine != TWO_CACHES]]
    assert {"earliest_first", "every_cpu_takes_the_earliest_that_waits"} <= set(seen)
    print(*left_out(seen).values(), sep="\n")
    assert not wrongly_left_out(seen, cpus)


@pytest.mark.parametrize("machine", COSTS)
def test_what_switches_cost_is_told(machine: str) -> None:
    """With the numbers of CPUs that were asked for."""
    text = console_if_loaded(machine)
    told = re.findall("^COST.*", text, re.MULTILINE)
    print("", *told, sep="\n")
    assert len(told) == 5, text[-3000:]


def test_a_warning_of_the_kernel_is_a_complaint() -> None:
    """It never reaches the console, so it is looked for in the log; an ordinary line is none."""
    kernel = FETCHED / MACHINES["cloud-1"][0]
    reason = os.environ.get("RCLRT_SCX_WHY_NOT") or vm.why_not(kernel)
    if reason:
        pytest.skip(reason)
    script = "echo '<4>WARNING: made up' > /dev/kmsg; echo '<4>all is well' > /dev/kmsg"
    text = vm.boot(kernel, 1, script, "", [], BOOT_LIMIT_S)
    assert vm.END in text, text[-3000:]
    seen = vm.complaints(text)
    assert len(seen) == 1, seen
    assert seen[0].endswith("WARNING: made up")


def rows_of_kernels() -> dict[str, str]:
    """Return what the README's table of kernels says of each series."""
    return dict(
        re.findall(r"^\| ([67]\.[0-9]+) \|.*\| (loads|refused)\b[^|]*\|$", README, re.MULTILINE)
    )


@pytest.mark.parametrize("series", SERIES)
def test_what_the_readme_says_of_a_kernel_is_so(series: str) -> None:
    """A kernel that is refused is refused in one sentence, which names kernels that are good."""
    text = console(series)
    if text.startswith("SKIP "):
        pytest.skip(text[5:])
    assert vm.END in text, text[-3000:]
    release = re.findall(r"KERNEL (\S+)$", text, re.MULTILINE)
    assert release and release[0].startswith(series + "."), release
    verdict = re.findall(r"^VERDICT (\w+)$", text, re.MULTILINE)
    print(f"| {series} | {release[0]} | {verdict[0]} |")
    assert [rows_of_kernels().get(series)] == verdict
    failed = {name: why for name, (found, why) in results(text).items() if found == "fail"}
    assert not failed, text[-6000:]
    assert not complaints(text)
    if verdict == ["loads"]:
        assert promised("brief") <= set(results(text)) | {"a_refusal_leaves_nothing_loaded"}
    else:
        assert "cannot run the scheduler: " in text
        assert "7.2.13" in text


@pytest.mark.parametrize("machine", MACHINES)
def test_the_readme_knows_the_kernels_of_all_machines(machine: str) -> None:
    """All load; a series that is newer than the table is named."""
    text = console(machine)
    if text.startswith("SKIP "):
        pytest.skip(text[5:])
    release = re.findall(r"KERNEL (\S+)$", text, re.MULTILINE)[0]
    series = ".".join(release.split(".")[:2])
    known = rows_of_kernels()
    if series not in known:
        print(f"the README's table of kernels lacks {release}, which loads")
    assert known.get(series, "loads") == "loads"


@pytest.mark.parametrize("machine", MACHINES)
def test_status_is_there_for_other_programs(machine: str) -> None:
    """As JSON, and in the text format of Prometheus."""
    text = console(machine)
    if text.startswith("SKIP "):
        pytest.skip(text[5:])
    status = json.loads(between(text, "JSON"))
    assert status["in_force"] is True
    assert status["mode"] == "full"
    assert len(status["cpus"]) == MACHINES[machine][1]
    assert sum(cpu["jobs_at_least"] for cpu in status["cpus"]) > 0
    lines = between(text, "PROMETHEUS").split("\n")
    samples = [line for line in lines if not line.startswith("# ")]
    for line in samples:
        assert re.fullmatch(r'rclrt_scx_[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [0-9]+', line), line
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE ")}
    assert {line.split("{")[0].split()[0] for line in samples} <= typed
    assert "rclrt_scx_in_force 1" in samples


def console_if_loaded(machine: str) -> str:
    """Return what a machine said; the test is skipped if the scheduler was not in force there."""
    text = console(machine)
    if text.startswith("SKIP ") or "VERDICT refused" in text:
        pytest.skip(text[5:] if text.startswith("SKIP ") else "it does not load")
    return text


def trace_of(text: str, name: str) -> str:
    return gzip.decompress(base64.b64decode(between(text, f"TRACE-{name}"))).decode()


def reversed_order(trace: str) -> str:
    """Return the trace as if the threads had said earlier deadlines where they said later ones."""
    latest = 10**15
    return re.sub(r"( due )([1-9][0-9]*)", lambda due: f"{due[1]}{latest - int(due[2])}", trace)


@pytest.mark.parametrize("machine", TRACED)
def test_an_outsider_finds_the_order_in_the_kernels_own_trace(machine: str) -> None:
    """In a mix of all, no inversion lasts longer than one tick and the reserve."""
    text = console_if_loaded(machine)
    trace = trace_of(text, "MIX")
    cpus = {**MACHINES, **SERIES}[machine][1]
    # Virtual CPUs take turns: each stands still for up to a tick of each other.
    bound = RESERVE + TICK * cpus
    seen = check(trace, bound, PERIOD)
    print(
        f"\n{machine}: {len(trace.splitlines())} lines, {seen.switches} switches to "
        f"{len(seen.threads)} threads with deadlines, {seen.waits} waits; the longest inversion "
        f"{seen.longest.lasted_ns / MS:.3f} of {bound / MS:.0f} ms ({seen.longest.text}); all of a "
        f"wait {seen.summed.lasted_ns / MS:.3f} ms, {100 * seen.part:.0f} % of what is allowed"
    )
    assert not seen.too_long, seen.too_long
    assert len(seen.threads) >= 8
    assert seen.switches > 300, "so little proves nothing"
    assert seen.waits > 300, "so little proves nothing"
    wrong = check(reversed_order(trace), bound, PERIOD)
    print(f"  backwards: {len(wrong.too_long)}, {wrong.longest.lasted_ns / MS:.3f} ms")
    assert len(wrong.too_long) > 10, "the other way round all of this would be in order, too"


@pytest.mark.parametrize(
    "machine", [name for name in TRACED if {**MACHINES, **SERIES}[name][1] == 2]
)
def test_an_outsider_finds_out_one_that_ignores_deadlines(machine: str) -> None:
    """It serves first come, first served. On four CPUs too few threads would wait."""
    trace = trace_of(console_if_loaded(machine), "WRONG")
    seen = check(trace, RESERVE + TICK * 2, PERIOD)
    print(f"\n{machine}: {len(seen.too_long)} too long, {seen.longest.lasted_ns / MS:.3f} ms")
    assert len(seen.too_long) >= 3


@pytest.mark.parametrize("machine", TIMED)
def test_no_response_under_the_scheduler_exceeds_its_bound(machine: str) -> None:
    """By deadlines on one CPU and on all, and beside one that uses up its budget."""
    text = console_if_loaded(machine)
    trace = trace_of(text, "SETS")
    cpus = {**MACHINES, **SERIES}[machine][1]
    assert not check(trace, RESERVE + TICK * cpus, PERIOD).too_long
    spans = run_times(trace)
    ran: dict[str, list[Job]] = {}
    for name, task, _, release, end in re.findall(
        r"^JOB (\S+) (\S+) (\d+) (\d+) (\d+)$", text, re.M
    ):
        ran.setdefault(name, []).append(Job(task, int(release), int(end)))
    for one in make_sets(SEED, cpus):
        found = judge(one, ran[one.name], spans)
        print(
            f"\n{machine} {one.name}: {found.jobs} jobs, {found.excused} of them excused; "
            f"{100 * found.closest:.0f} % of a bound at most",
            end="",
        )
        if one.name == UNLIMITED:
            assert found.late, "without the budget the bounds would hold, too"
            continue
        assert not found.late, found.late
        assert found.jobs >= 10
        assert found.excused <= found.jobs // 10


def test_a_scenario_may_only_be_left_out_for_want_of_cpus() -> None:
    """What cannot be tried on any of the machines would be tested nowhere."""
    text = (
        "RESULT first skip needs two CPUs\nRESULT second skip needs three CPUs\n"
        "RESULT third skip CPU 1 cannot be taken offline\nRESULT fourth skip no sysrq\n"
    ).replace("skip ", "skip skip: ")
    always = {"third", "fourth"}
    assert wrongly_left_out(results(text), 1) == always
    assert wrongly_left_out(results(text), 2) == {"first", *always}
    assert wrongly_left_out(results(text), 4) == {"first", "second", *always}
