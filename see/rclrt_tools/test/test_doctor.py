# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The doctor looks at machines that are planted as trees of files, and at this one."""

import functools
import gzip
import json
import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from rclrt_tools import doctor, preload
from rclrt_tools.cli import main
from rclrt_tools.commands.doctor import examine, to_json, to_script, to_text
from rclrt_tools.doctor import GOOD, MEND, NOTE, Costs, Finding, System, cpu_set
from rclrt_tools.doctor.program import Elf, find, read_elf

ROS = "opt/ros/kilted"
TALKER = f"/{ROS}/lib/demo/talker"
CPU = "sys/devices/system/cpu"
COSTS = Costs((60.0, 4000.0), (15.0, 40.0), 1.2, 80.0, 47.0)
ENVIRONMENT = {
    "PATH": "/usr/bin",
    "AMENT_PREFIX_PATH": f"/{ROS}",
    "ROS_DISTRO": "kilted",
    "RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp",
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
}
FASTDDS = {"RMW_IMPLEMENTATION": "rmw_fastrtps_cpp"}


def environ(**more: str) -> bytes:
    return "\0".join(f"{k}={v}" for k, v in {**ENVIRONMENT, **more}.items()).encode()


def package(version: str) -> str:
    return f"<package><version>{version}</version></package>"


def limits(rtprio: str = "99", memlock: str = "unlimited", rttime: str = "unlimited") -> str:
    return (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        f"Max locked memory         {memlock}            unlimited            bytes     \n"
        f"Max realtime priority     {rtprio}             99                             \n"
        f"Max realtime timeout      {rttime}             unlimited            us        \n"
    )


def thread(name: str, policy: int, priority: int, flags: int = 0, used: int = 0) -> str:
    fields = ["S", *["0"] * 38]
    fields[6], fields[11], fields[37], fields[38] = map(str, (flags, used, priority, policy))
    return f"50 ({name}) {' '.join(fields)}"


def elf(needed: tuple[str, ...] = ("librclcpp.so",), machine: int = 62, path: str = "") -> bytes:
    """Return a file of 64 bits that the dynamic linker would take."""
    strings, entries = b"\0", b""
    for tag, text in [*[(1, name) for name in needed], *([(29, path)] if path else [])]:
        entries += struct.pack("<QQ", tag, len(strings))
        strings += text.encode() + b"\0"
    at = 64 + 2 * 56
    entries = struct.pack("<QQ", 5, at) + entries + struct.pack("<QQ", 0, 0)
    whole = at + len(strings) + len(entries)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, whole, whole, 4096)
    start = at + len(strings)
    dynamic = struct.pack("<IIQQQQQQ", 2, 6, start, start, start, len(entries), len(entries), 8)
    return head + load + (dynamic if needed else load) + strings + entries


CONFIG = "CONFIG_HZ=1000\nCONFIG_HIGH_RES_TIMERS=y\n"
FULL = {
    "proc/version": "Linux version 6.12.1 SMP PREEMPT_DYNAMIC",
    "boot/config-6.12.1": f"{CONFIG}CONFIG_PREEMPT=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
}
ISOLATED = {f"{CPU}/isolated": "2-3", "proc/cmdline": "isolcpus=managed_irq,domain,2-3"}
FIRST = {
    "proc/self/mounts": "cgroup /cg/cpu cgroup rw,cpu,cpuacct 0 0",
    "proc/self/cgroup": "3:cpu,cpuacct:/robot",
    "cg/cpu/cpu.rt_runtime_us": "950000",
    "cg/cpu/robot/cpu.rt_runtime_us": "100000",
}
OFF = f"{CONFIG}CONFIG_RT_GROUP_SCHED=y\nCONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n"
GROUPS = {"boot/config-6.12.1": OFF}
HYPERVISOR = "processor : 0\nflags\t\t: fpu hypervisor sse\n"

SOUND: dict[str, str | bytes] = {
    "proc/version": "Linux version 6.12.1 SMP PREEMPT_RT",
    "proc/sys/kernel/osrelease": "6.12.1\n",
    "proc/sys/kernel/arch": "x86_64\n",
    "boot/config-6.12.1": f"{CONFIG}CONFIG_PREEMPT_RT=y\n",
    "proc/cmdline": "quiet",
    "proc/sys/kernel/sched_rt_runtime_us": "950000\n",
    "proc/sys/kernel/sched_rt_period_us": "1000000\n",
    "proc/sys/kernel/numa_balancing": "0",
    "sys/kernel/sched_ext/state": "disabled",
    "proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n",
    "proc/self/cgroup": "0::/user.slice/robot.scope\n",
    "sys/fs/cgroup/user.slice/cpu.max": "max 100000",
    "sys/fs/cgroup/user.slice/robot.scope/cpu.max": "max 100000",
    "sys/fs/cgroup/user.slice/robot.scope/cpu.weight": "100",
    "sys/fs/cgroup/user.slice/robot.scope/cgroup.type": "domain",
    "proc/self/status": "Name:\tx\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-3\n",
    "proc/self/limits": limits(),
    "proc/self/uid_map": "         0          0 4294967295\n",
    "proc/self/environ": environ(),
    "proc/1/environ": b"TERM=linux",
    f"{CPU}/online": "0-3",
    f"{CPU}/present": "0-3",
    f"{CPU}/isolated": "\n",
    f"{CPU}/nohz_full": "(null)",
    **{f"{CPU}/cpu{n}/cpufreq/scaling_governor": "performance\n" for n in range(4)},
    **{f"{CPU}/cpu{n}/topology/thread_siblings_list": str(n) for n in range(4)},
    f"{CPU}/cpu0/cpuidle/state1/name": "C1",
    f"{CPU}/cpu0/cpuidle/state1/latency": "2",
    f"{CPU}/cpu0/cpuidle/state6/name": "C6",
    f"{CPU}/cpu0/cpuidle/state6/latency": "133",
    f"{CPU}/cpu0/cpuidle/state6/disable": "1",
    "proc/irq/24/effective_affinity_list": "0",
    "proc/irq/24/smp_affinity_list": "0-3",
    "proc/irq/24/eth0/there": "",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet\n",
    "proc/cpuinfo": "processor : 0\nflags\t\t: fpu sse\n",
    "proc/stat": "cpu  100 0 100 700 0 0 0 100 0 0\ncpu0 1 1 1 1\n",
    "proc/swaps": "Filename  Type  Size  Used  Priority\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "proc/uptime": "1000.00 900.00",
    "proc/17/task/17/stat": thread("migration/0", 1, 99, 0x00200000),
    "proc/50/task/50/stat": thread("ordinary ) one", 0, 0),
    "proc/51/task/51/stat": thread("rtkit", 1, 20),
    "proc/52/task/52/stat": thread("rclrt worker 0", 1, 90),
    f"{ROS}/share/rmw_cyclonedds_cpp/package.xml": package("4.0.2"),
    f"{ROS}/share/rmw_fastrtps_cpp/package.xml": package("9.5.0"),
    f"{ROS}/share/fastdds/package.xml": package("3.4.1"),
    f"{ROS}/share/rcl/package.xml": package("10.1.3"),
    f"{ROS}/share/rclcpp/package.xml": package("29.3.0"),
    f"{ROS}/lib/librclcpp.so": elf(("librcl.so",), path="$ORIGIN"),
    f"{ROS}/lib/librcl.so": elf(("libc.so.6",)),
    "usr/lib/x86_64-linux-gnu/libc.so.6": elf(()),
    TALKER[1:]: elf(path="${ORIGIN}/.."),
    "usr/bin/talker": elf(path=f"/{ROS}/lib"),
}  # fmt: skip

CASES = [
    ("preemption", MEND, "only at some places (preempt=none)",
     {**FULL, "boot/config-6.12.1": f"{CONFIG}CONFIG_PREEMPT_NONE=y\nCONFIG_PREEMPT_DYNAMIC=y\n"}),
    ("preemption", MEND, "tee /sys/kernel/debug/sched/preempt",
     {**FULL, "sys/kernel/debug/sched/preempt": "none (voluntary) full lazy"}),
    ("preemption", MEND, "preempt=voluntary", {**FULL, "proc/cmdline": "preempt=voluntary"}),
    ("preemption", MEND, "(Debian: linux-image-rt-*)",
     {"proc/version": "Linux", "etc/os-release": "ID=debian\n",
      "boot/config-6.12.1": f"{CONFIG}CONFIG_PREEMPT_VOLUNTARY=y\n"}),
    ("preemption", NOTE, "no PREEMPT_RT", FULL),
    ("preemption", NOTE, "no PREEMPT_RT",
     {"proc/version": "Linux", "boot/config-6.12.1": f"{CONFIG}CONFIG_PREEMPT=y\n",
      "proc/cmdline": "preempt=none"}),
    ("preemption", MEND, "preempt=none",
     {"proc/version": "Linux PREEMPT_DYNAMIC", "boot/config-6.12.1": CONFIG,
      "proc/cmdline": "preempt=none"}),
    ("preemption", MEND, "preempt=none",
     {"proc/version": "Linux", "proc/cmdline": "preempt=none",
      "boot/config-6.12.1": f"{CONFIG}CONFIG_PREEMPT_DYNAMIC=y\n"}),
    ("preemption", NOTE, "no PREEMPT_RT",
     {**FULL, "boot/config-6.12.1": None,
      "proc/config.gz": gzip.compress(FULL["boot/config-6.12.1"].encode())}),
    ("timers", MEND, "highres=off", {"proc/cmdline": "highres=off"}),
    ("timers", MEND, "up to 10 ms", {"boot/config-6.12.1": "CONFIG_HZ=100\nCONFIG_PREEMPT_RT=y"}),
    ("timers", NOTE, "ticks 100 times",
     {"boot/config-6.12.1": "CONFIG_HZ=100\nCONFIG_HIGH_RES_TIMERS=y\nCONFIG_PREEMPT_RT=y"}),
    ("sched_ext", NOTE, "scx_lavd", {"sys/kernel/sched_ext/state": "enabled",
                                     "sys/kernel/sched_ext/root/ops": "scx_lavd"}),
    ("nice", NOTE, "of one session", {"proc/sys/kernel/sched_autogroup_enabled": "1"}),
    ("throttling", NOTE, "nothing stops", {"proc/sys/kernel/sched_rt_runtime_us": "-1"}),
    ("throttling", NOTE, "nothing stops", {"proc/sys/kernel/sched_rt_runtime_us": "1000000"}),
    ("throttling", MEND, "no time at all", {"proc/sys/kernel/sched_rt_runtime_us": "0"}),
    ("throttling", MEND, "for 500000 us", {"proc/sys/kernel/sched_rt_runtime_us": "500000"}),
    ("throttling", MEND, "sched_rt_runtime_us=1900000",
     {"proc/sys/kernel/sched_rt_period_us": "2000000"}),
    ("rt_groups", MEND, "rt_group_sched=0",
     {"boot/config-6.12.1": f"{SOUND['boot/config-6.12.1']!s}CONFIG_RT_GROUP_SCHED=y\n"}),
    ("rt_groups", MEND, "tee /cg/cpu/robot/cpu.rt_runtime_us",
     {**FIRST, "cg/cpu/robot/cpu.rt_runtime_us": "0"}),
    ("rt_groups", MEND, "rt_group_sched=0", {**GROUPS, "proc/cmdline": "rt_group_sched=1"}),
    ("rtprio", MEND, "above 0 will be refused", {"proc/self/limits": limits(rtprio="0")}),
    ("rtprio", MEND, "started (systemd: LimitRTPRIO=99; container",
     {"proc/self/limits": limits(rtprio="50")}),
    ("rtprio", MEND, "sudo usermod", {"proc/self/limits": limits(rtprio="50")}),
    ("rtprio", MEND, "of a user namespace", {
        "proc/self/limits": limits(rtprio="0"), "proc/self/uid_map": "0 1000 1\n",
        "proc/self/status": "CapEff:\tffffffffffffffff\nCpus_allowed_list:\t0-3\n"}),
    ("memlock", MEND, "RLIMIT_MEMLOCK is 65536", {"proc/self/limits": limits(memlock="65536")}),
    ("rttime", MEND, "SIGXCPU", {"proc/self/limits": limits(rttime="200000")}),
    ("filter", MEND, "seccomp", {"refuses": "yes"}),
    ("quota", MEND, "may use 0.5 CPUs", {
        "sys/fs/cgroup/user.slice/robot.scope/cpu.max": "50000 100000",
        "sys/fs/cgroup/user.slice/robot.scope/cpu.stat": "nr_throttled 7\nthrottled_usec 900000"}),
    ("quota", MEND, "tee /sys/fs/cgroup/user.slice/cpu.max",
     {"sys/fs/cgroup/user.slice/cpu.max": "200000 100000"}),
    ("quota", MEND, "tee /sys/fs/cgroup/user.slice/cpu.idle",
     {"sys/fs/cgroup/user.slice/cpu.idle": "1"}),
    ("quota", MEND, "tee /sys/fs/cgroup/cpu.max",
     {"proc/self/cgroup": "0::/docker/4f2a\n", "sys/fs/cgroup/cpu.max": "50000 100000"}),
    ("quota", MEND, "tee /cg/cpu/robot/cpu.cfs_quota_us",
     {**FIRST, "cg/cpu/robot/cpu.cfs_quota_us": "1000", "cg/cpu/robot/cpu.cfs_period_us": "9000"}),
    ("offline", NOTE, "tee /sys/devices/system/cpu/cpu3/online", {
        f"{CPU}/online": "0-2", "proc/self/status": "CapEff:\t0\nCpus_allowed_list:\t0-2\n"}),
    ("cpuset", NOTE, "not 1-3", {"proc/self/status": "CapEff:\t0\nCpus_allowed_list:\t0\n"}),
    ("isolcpus", MEND, "isolcpus=8-9 isolates no CPU", {"proc/cmdline": "isolcpus=8-9"}),
    ("nohz_full", MEND, "isolcpus=domain,managed_irq,2-3", {f"{CPU}/nohz_full": "2-3"}),
    ("siblings", MEND, "shares its core with 1",
     {**ISOLATED, f"{CPU}/cpu3/topology/thread_siblings_list": "1,3"}),
    ("interrupts", MEND, "24 (eth0)", {**ISOLATED, "proc/irq/24/effective_affinity_list": "2"}),
    ("interrupts", MEND, "echo 0-1 | sudo tee /proc/irq/24/smp_affinity_list",
     {**ISOLATED, "proc/irq/24/effective_affinity_list": None}),
    ("governor", MEND, "CPUs 1 change", {f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave"}),
    ("idle_states", MEND, "after 133 us", {f"{CPU}/cpu0/cpuidle/state6/disable": "0"}),
    ("clock", MEND, "echo tsc |",
     {"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet"}),
    ("virtual_machine", NOTE, "took 10 % of the time", {"proc/cpuinfo": HYPERVISOR}),
    ("virtual_machine", NOTE, "virtual machine (xen)", {"sys/hypervisor/type": "xen"}),
    ("virtual_machine", NOTE, "virtual machine", {"sys/class/dmi/id/product_name": "KVM"}),
    ("container", NOTE, "docker", {".dockerenv": ""}),
    ("container", NOTE, "(lxc)", {"proc/1/environ": b"a=b\0container=lxc\0"}),
    ("swap", MEND, "to /dev/sda2", {"proc/swaps": "Filename\n/dev/sda2 partition 9 0 -2\n"}),
    ("huge_pages", MEND, "80 us",
     {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"}),
    ("numa_balancing", MEND, "sysctl", {
        "proc/sys/kernel/numa_balancing": "1", "sys/devices/system/node/node1/cpulist": ""}),
    ("others", NOTE, "audio (priority 81, thread 50)",
     {"proc/50/task/50/stat": thread("audio", 2, 81)}),
    ("others", NOTE, "and 2 more",
     {f"proc/{n}/task/{n}/stat": thread("audio", 1, 90) for n in range(60, 66)}),
    ("others", MEND, "sudo chrt --other --pid 0 50",
     {"proc/50/task/50/stat": thread("audio", 6, 0, used=50_000)}),
    ("middleware", MEND, "install ros-kilted-rmw-zenoh-cpp",
     {"proc/self/environ": environ(RMW_IMPLEMENTATION="rmw_zenoh_cpp")}),
    ("middleware", MEND, "export RMW_IMPLEMENTATION=rmw_fastrtps_cpp",
     {"proc/self/environ": environ(RMW_IMPLEMENTATION="rmw_fastrtps")}),
    ("middleware", NOTE, "rmw_other_cpp 1.0 is not known", {
        "proc/self/environ": environ(RMW_IMPLEMENTATION="rmw_other_cpp"),
        f"{ROS}/share/rmw_other_cpp/package.xml": package("1.0")}),
    ("known_fault", MEND, "Fast-DDS#2961", {
        "proc/self/environ": environ(**FASTDDS),
        f"{ROS}/share/fastrtps/package.xml": package("2.6.2")}),
    ("known_fault", MEND, "rmw_fastrtps#657", {
        "proc/self/environ": environ(**FASTDDS),
        f"{ROS}/share/rmw_fastrtps_cpp/package.xml": package("6.2.3")}),
    ("known_fault", NOTE, "rmw_fastrtps#890", {
        "proc/self/environ": environ(**FASTDDS),
        f"{ROS}/share/rmw_fastrtps_cpp/package.xml": package("9.3.3")}),
    ("known_fault", NOTE, "Fast-DDS#6497", {
        "proc/self/environ": environ(**FASTDDS),
        f"{ROS}/share/fastdds/package.xml": package("3.2.3")}),
    ("publication_mode", MEND, "unset", {
        "proc/self/environ": environ(**FASTDDS, RMW_FASTRTPS_PUBLICATION_MODE="ASYNCHRONOUS")}),
    ("discovery", NOTE, "all programs",
     {"proc/self/environ": environ(ROS_AUTOMATIC_DISCOVERY_RANGE="")}),
    ("settings", MEND, "no /a.xml,", {"proc/self/environ": environ(CYCLONEDDS_URI="/,/a.xml")}),
    ("discovery", MEND, "ROS_DOMAIN_ID=300", {"proc/self/environ": environ(ROS_DOMAIN_ID="300")}),
    ("discovery", MEND, "LOCAL is none of",
     {"proc/self/environ": environ(ROS_AUTOMATIC_DISCOVERY_RANGE="LOCAL")}),
    ("executable", MEND, f"chmod +x {TALKER}", {"mode": 0o644}),
    ("setuid", MEND, "is setuid", {"mode": 0o4755}),
    ("setuid", MEND, "is setgid", {"mode": 0o2755}),
    ("file_capabilities", MEND, f"setcap -r {TALKER}", {"capabilities": "23"}),
    ("program", MEND, "statically", {TALKER[1:]: elf(())}),
    ("program", NOTE, "rclpy", {TALKER[1:]: "#!/usr/bin/env python3\n"}),
    ("program", NOTE, "what it starts", {TALKER[1:]: "#!/bin/sh\n"}),
    ("program", NOTE, "does not use rclcpp", {TALKER[1:]: elf(("libc.so.6",))}),
    ("program", MEND, "aarch64, this machine is x86_64", {TALKER[1:]: elf(machine=183)}),
    ("program", MEND, "no program of Linux", {TALKER[1:]: "MZ"}),
    ("program", NOTE, "rclcpp 21.0.3, with which",
     {f"{ROS}/share/rclcpp/package.xml": package("21.0.3")}),
    ("program", MEND, "built with 29.3", {f"{ROS}/share/rclcpp/package.xml": package("28.1.6")}),
    ("program", NOTE, "version of talker's rclcpp",
     {f"{ROS}/share/rclcpp/package.xml": "<package/>"}),
    ("program", NOTE, "does not use rclcpp",
     {TALKER[1:]: elf(("libown.so",)), "opt/own/libown.so": elf(()),
      "etc/ld.so.conf.d/own.conf": "# ours\n/opt/own\n"}),
    ("libraries", MEND, "not found: librcl.so", {f"{ROS}/lib/librcl.so": None}),
    ("libraries", MEND, "not found: librclcpp.so", {f"{ROS}/lib/librclcpp.so": None}),
]  # fmt: skip


class Planted(System):
    """A machine in a folder, and what no file can say."""

    def __init__(self, root: Path, changes: dict[str, object] | None = None) -> None:
        super().__init__(root)
        self.changes = changes or {}
        files = {**SOUND, **{k: v for k, v in self.changes.items() if "/" in k or k[0] == "."}}
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str | bytes):
                path.write_bytes(content.encode() if isinstance(content, str) else content)
        for name in (TALKER[1:], "usr/bin/talker"):
            (root / name).chmod(int(str(self.changes.get("mode", 0o755))))

    def refuses_realtime(self) -> bool:
        return "refuses" in self.changes

    def file_capabilities(self, name: str) -> str:
        return str(self.changes.get("capabilities", ""))


MEASURED = functools.cache(doctor.measure)
"""Once for all tests."""


@pytest.fixture(autouse=True)
def _built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "measure", MEASURED)
    monkeypatch.setattr(preload, "versions", lambda: ("29.3",))


def told(system: System, path: str = TALKER) -> list[Finding]:
    return [finding for finding in examine(system, COSTS, 80, path) if finding.kind != GOOD]


def test_nothing_is_invented_on_a_sound_machine(tmp_path: Path) -> None:
    machine = Planted(tmp_path)
    assert told(machine) == []
    assert to_script(told(machine)).endswith("# There is nothing to mend.")
    found = {finding.name: finding.what for finding in examine(machine, COSTS, 80, TALKER)}
    assert found["program"] == "`rclrt run` reaches talker: rclcpp 29.3.0"
    assert found["preemption"] == "the kernel is PREEMPT_RT"
    assert len(found) > 18
    assert "Measured here\n  no thread's wake-up" in to_text(examine(machine, Costs()), Costs(), 80)


ROOT_USER = {
    "proc/self/status": "CapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-3\n",
    "proc/self/limits": limits(rtprio="0", memlock="65536"),
}


@pytest.mark.parametrize(
    "changes",
    [
        ISOLATED,
        {**ISOLATED, f"{CPU}/nohz_full": "2-3"},
        FIRST,
        ROOT_USER,
        {"proc/self/limits": limits(rtprio="unlimited")},
        {"boot/config-6.12.1": None},
        {"boot/config-6.12.1": CONFIG, "proc/version": "Linux", "sys/kernel/realtime": "1"},
        {"proc/version": "Linux"},
        {"proc/version": "Linux", "boot/config-6.12.1": None},
        {f"{ROS}/share/rmw_cyclonedds_cpp/package.xml": None, f"{ROS}/share/rcl/package.xml": None},
        {"proc/self/environ": b"PATH=/bin"},
        {"proc/sys/kernel/sched_rt_period_us": "-1"},
        {
            "boot/config-6.12.1": f"{CONFIG}CONFIG_RT_GROUP_SCHED=y\n",
            "sys/fs/cgroup/user.slice/robot.scope/cpu.weight": None,
        },
        {
            "boot/config-6.12.1": f"{CONFIG}CONFIG_RT_GROUP_SCHED=y\n",
            "sys/fs/cgroup/user.slice/robot.scope/cgroup.type": None,
        },
        GROUPS,
        {
            "boot/config-6.12.1": f"{CONFIG}CONFIG_RT_GROUP_SCHED=y\n",
            "proc/cmdline": "rt_group_sched=0",
        },
        {"proc/sys/kernel/numa_balancing": "1"},
        {"sys/devices/system/node/node1/cpulist": ""},
        {
            f"{CPU}/online": "0-1",
            f"{CPU}/smt/control": "off",
            "proc/self/status": "CapEff:\t0\nCpus_allowed_list:\t0-1\n",
        },
        {"sys/kernel/sched_ext/state": "enabled", "sys/kernel/sched_ext/root/ops": "rclrt_edf"},
    ],
)
def test_nor_on_other_sound_machines(tmp_path: Path, changes: dict[str, object]) -> None:
    machine = Planted(tmp_path, changes)
    assert told(machine, "") == []
    found = {finding.name: finding.what for finding in examine(machine, COSTS)}
    assert ("deadlines" in found) == (changes is not ROOT_USER)
    is_seen = changes != {"proc/version": "Linux", "boot/config-6.12.1": None}
    assert ("PREEMPT_RT" in found["preemption"]) == is_seen
    assert "all CPUs" in found["cpus"]


@pytest.mark.parametrize("name", [n for n in SOUND if n[-7:] not in ("/talker", "disable")])
def test_what_cannot_be_seen_is_no_fault(tmp_path: Path, name: str) -> None:
    """One file is missing; what the machine then lacks for the program is said."""
    planted = {"libraries", "program", "executable", "discovery", "middleware"}
    found = told(Planted(tmp_path, {name: None}))
    assert {finding.name for finding in found} <= planted, found


def test_nothing_is_seen_in_an_empty_folder(tmp_path: Path) -> None:
    assert told(System(tmp_path), "") == []


def test_there_are_thirty_subjects() -> None:
    assert len({case[0] for case in CASES}) >= 30


@pytest.mark.parametrize(("name", "kind", "says", "changes"), CASES)
def test_each_planted_fault_is_one_finding(
    name: str, kind: str, says: str, changes: dict[str, object], tmp_path: Path
) -> None:
    whole = examine(Planted(tmp_path, changes), COSTS, 80, TALKER)
    found = [finding for finding in whole if finding.kind != GOOD]
    assert [(finding.name, finding.kind) for finding in found] == [(name, kind)]
    of_cpus = {"offline", "cpuset", "isolcpus", "nohz_full", "siblings"}
    assert ("cpus" in {finding.name for finding in whole}) == (name not in of_cpus)
    (finding,) = found
    assert says in "\n".join((*finding.commands, finding.what, finding.costs, finding.remedy,
                              finding.source))  # fmt: skip
    assert finding.costs or name == "program"
    assert finding.commands or finding.remedy or name == "program"


HOSTILE = {
    "empty": b"",
    "huge": b"9" * (2 << 20),
    "binary": bytes(range(256)) * 20,
    "negative": b"-1 -1\n",
    "escapes": b"\x1b[31m$(touch pwned)`touch pwned`;touch pwned\n'\"\n",
    "long lines": b"cpu.max 1 2 3 ) ( : 0-99999999,1-2 " * 999,
    "zeros": b"0\n",
}


UNREADABLE = {"loop": "", "error": "/proc/self/mem", "endless": "/dev/zero"}


@pytest.mark.parametrize("content", [*HOSTILE, *UNREADABLE, "missing", "folder", "pipe"])
def test_no_content_of_a_file_ends_in_a_traceback(content: str, tmp_path: Path) -> None:
    machine = Planted(tmp_path)
    names = [*SOUND, "proc/config.gz", "sys/kernel/debug/sched/preempt", "etc/os-release",
             "sys/hypervisor/type", "sys/fs/cgroup/user.slice/cpu.stat"]  # fmt: skip

    def put(path: Path) -> None:
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        if content == "folder":
            path.mkdir()
        elif content == "pipe":
            os.mkfifo(path)
        elif content in UNREADABLE:
            path.symlink_to(UNREADABLE[content] or path)
        elif content != "missing":
            path.write_bytes(HOSTILE[content])

    for name in names:  # One file.
        before = (tmp_path / name).read_bytes() if name in SOUND else None
        put(tmp_path / name)
        said = to_text(told(System(tmp_path)), COSTS, 80)
        assert "\x1b" not in said, name
        if (tmp_path / name).is_dir():
            (tmp_path / name).rmdir()
        (tmp_path / name).unlink(missing_ok=True)
        if before is not None:
            (tmp_path / name).write_bytes(before)
            (tmp_path / name).chmod(0o755)
    for name in names:  # And all of them.
        put(tmp_path / name)
    json.loads(to_json(examine(System(tmp_path), Costs(), 1, TALKER), Costs()))
    assert machine.root == tmp_path


def test_a_broken_program_is_none_and_ends_in_no_traceback() -> None:
    whole = elf(("librclcpp.so",), path="$ORIGIN")
    broken = [whole[:n] for n in range(len(whole))]
    broken += [
        whole[:n] + byte + whole[n + 1 :] for n in range(len(whole)) for byte in (b"\xff", b"\0")
    ]

    def read(data: bytes) -> Elf | None:
        return read_elf(lambda begin, n: data[begin : begin + n])

    assert [read(data) for data in broken].count(None) > len(whole)
    assert read(whole) == Elf(62, True, ("librclcpp.so",), ("$ORIGIN",))


def test_a_compressed_configuration_that_never_ends_is_cut(tmp_path: Path) -> None:
    bomb = gzip.compress(b"CONFIG_A=y\n" * (4 << 20))
    machine = Planted(tmp_path, {"proc/config.gz": bomb})
    assert machine.config == {"A": "y"}


def test_the_script_obeys_no_name_of_the_machine(tmp_path: Path) -> None:
    evil = "$(touch pwned)`touch pwned`;touch pwned'\""
    machine = Planted(tmp_path / "machine", {
        "proc/self/cgroup": f"0::/{evil}\n", f"sys/fs/cgroup/{evil}/cpu.max": "1000 100000",
        **ISOLATED, "proc/irq/24/effective_affinity_list": "2", f"proc/irq/24/{evil}/x": "",
        "proc/self/environ": environ(RMW_IMPLEMENTATION=evil, ROS_DISTRO=evil,
                                     ROS_AUTOMATIC_DISCOVERY_RANGE=evil),
        f"{CPU}/cpu1/cpufreq/scaling_governor": evil, "proc/swaps": f"F\n{evil} p\n",
        "proc/50/task/50/stat": thread(evil, 6, 0, used=50_000),
    })  # fmt: skip
    path = f"/usr/bin/{evil}"
    (tmp_path / "machine" / path[1:]).write_bytes(elf())
    findings = examine(machine, COSTS, 80, path)
    assert sum(finding.kind == MEND for finding in findings) >= 8
    script = to_script(findings)
    assert "cpu.max" in script and "chrt" in script
    here, tools = tmp_path / "here", tmp_path / "tools"
    here.mkdir()
    tools.mkdir()
    for name in ("sudo", "chmod"):
        (tools / name).write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    (tools / "touch").symlink_to(shutil.which("touch") or "/bin/touch")
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=here, capture_output=True, text=True, check=False,
        env={"PATH": str(tools)}, timeout=60,
    )  # fmt: skip
    assert (done.stderr, list(here.iterdir())) == ("", [])


def test_a_script_says_a_command_once(tmp_path: Path) -> None:
    machine = Planted(tmp_path, {"proc/self/limits": limits("0", "65536")})
    script = to_script(examine(machine, COSTS))
    assert script.count("groupadd") == 1
    assert "# memlock: memory cannot be locked" in script
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0


def test_a_script_mends_no_note(tmp_path: Path) -> None:
    findings = told(Planted(tmp_path, {"proc/sys/kernel/sched_rt_runtime_us": "-1"}))
    assert findings[0].commands
    assert to_script(findings).endswith("# There is nothing to mend.")


def test_a_program_that_has_our_executors_needs_no_run(tmp_path: Path) -> None:
    machine = Planted(tmp_path, {
        TALKER[1:]: elf(("librclrt_rclcpp.so", "librclcpp.so"), path="$ORIGIN/.."),
        f"{ROS}/lib/librclrt_rclcpp.so": elf(()),
        f"{ROS}/share/rclcpp/package.xml": package("21.0"),
    })  # fmt: skip
    assert told(machine) == []


def test_what_is_for_another_shell_is_a_comment_of_the_script(tmp_path: Path) -> None:
    script = to_script(told(Planted(tmp_path, {"proc/self/limits": limits(rttime="9")})))
    assert script.endswith("\n# In the shell that starts the program: ulimit -R unlimited")


def test_a_program_of_path_or_of_a_package_is_found(tmp_path: Path) -> None:
    machine = Planted(tmp_path)
    assert find(machine, "talker") == "/usr/bin/talker"
    assert find(machine, "demo/talker") == find(machine, TALKER) == TALKER
    assert find(machine, "walker") == find(machine, "/usr/bin") == find(machine, "a/b") == ""
    assert told(machine, "/usr/bin/talker") == []


def test_lists_of_cpus_are_read() -> None:
    assert cpu_set("0,2-3,9") == {0, 2, 3, 9}
    for text in ("", "(null)", "-1", "3-", "0-3,x", "99999"):
        assert cpu_set(text) == frozenset()


def test_a_program_of_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "./here.sh"]) == 1
    assert f"chmod +x {tmp_path}/here.sh" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["--fix"], ["--json"], ["sh"], ["--priority", "50", "sh"]])
def test_it_looks_at_this_machine(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["doctor", *words])
    said = capsys.readouterr().out
    assert status in (0, 1)
    if "--json" in words:
        read = json.loads(said)
        assert (read["schema"], read["to_mend"] > 0) == (1, status == 1)
        assert read["measured"]["fault_us"] > 0
        assert {"preemption", "rtprio", "clock"} <= {found["name"] for found in read["findings"]}
    elif "--fix" in words:
        assert subprocess.run(["sh", "-n"], input=said, text=True, check=False).returncode == 0
    else:
        assert ("To mend\n" in said) == (status == 1)
        assert "an ordinary thread woke up" in said
        assert ("does not use rclcpp" in said) == ("sh" in words)


def test_a_program_that_is_not_there_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("no such program", "/no/such", "/tmp"):
        assert main(["doctor", name]) == 2
        assert f"there is no program '{name}'" in capsys.readouterr().err
    for words in (["--fix", "--json"], ["--priority", "99"], ["a", "b"]):
        with pytest.raises(SystemExit) as ended:
            main(["doctor", *words])
        assert ended.value.code == 2
