# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernel, control groups and limits let real-time threads have."""

import re
from collections.abc import Iterator
from shlex import quote

from rclrt_tools.doctor import (
    GOOD,
    IPC_LOCK,
    MEMLOCK,
    MEND,
    NOTE,
    RTPRIO,
    RTTIME,
    SYS_NICE,
    UNLIMITED,
    Costs,
    Finding,
    System,
)

Found = Iterator[Finding]

AUTOGROUP = "kernel.sched_autogroup_enabled"
RUNTIME = "kernel.sched_rt_runtime_us"
DEBUG = "/sys/kernel/debug"

LIMITS = (
    r"printf '@realtime - rtprio 99\n@realtime - memlock unlimited\n' | "
    "sudo tee /etc/security/limits.d/realtime.conf",
    "sudo groupadd -f realtime",
    'sudo usermod -aG realtime "${SUDO_USER:-$USER}"',
)


def set_to(value: object, file: str) -> str:
    """Return the command that writes a value into a file of the kernel."""
    return f"echo {value} | sudo tee {quote(file)}"


def preemption(system: System, costs: Costs) -> Found:
    """Whether a real-time thread gets a CPU at once from what runs in the kernel."""
    version, config = system.text("proc/version"), system.config
    if (
        system.number("sys/kernel/realtime") == 1
        or "PREEMPT_RT" in version
        or "PREEMPT_RT" in config
    ):
        yield Finding("preemption", GOOD, "the kernel is PREEMPT_RT")
        return
    is_dynamic = "PREEMPT_DYNAMIC" in version or "PREEMPT_DYNAMIC" in config
    now = re.search(r"\((\w+)\)", system.text("sys/kernel/debug/sched/preempt"))
    asked = system.command_line.get("preempt", "") if is_dynamic else ""
    built = [
        mode
        for option, mode in (("_NONE", "none"), ("_VOLUNTARY", "voluntary"), ("_LAZY", "lazy"))
        if f"PREEMPT{option}" in config
    ] or (["full"] if "PREEMPT" in config else [])
    mode = now[1] if now else asked or (built[0] if built else "")
    better = "For short worst cases take a kernel with PREEMPT_RT"
    distribution = re.search(r'^ID="?(\w+)', system.text("etc/os-release"), re.M)
    packages = {
        "debian": "(Debian: linux-image-rt-*)",
        "ubuntu": "(Ubuntu: pro enable realtime-kernel)",
    }
    better += f" {packages.get(distribution[1] if distribution else '', '')}".rstrip()
    if mode in ("none", "voluntary"):
        what = (
            f"the kernel gives its CPU to a real-time thread only at some places (preempt={mode})"
        )
        mount = [] if _mounts(system, "debugfs") else [f"sudo mount -t debugfs debugfs {DEBUG}"]
        full = "preempt=full on the kernel's command line keeps it"
        yield Finding(
            "preemption", MEND, what, costs.urgent(),
            f"{full}. {better}" if is_dynamic else better,
            (*mount, set_to("full", f"{DEBUG}/sched/preempt")) if is_dynamic else (),
        )  # fmt: skip
    elif mode in ("full", "lazy"):
        what = "the kernel is preemptible, but not where it holds a spinlock or serves an interrupt"
        yield Finding("preemption", NOTE, f"{what} (no PREEMPT_RT)", costs.urgent(), better)
    else:
        yield Finding("preemption", GOOD, "how the kernel is preempted cannot be seen")


def timers(system: System, costs: Costs) -> Found:
    """Whether timers and time slices are finer than the tick."""
    config, given = system.config, system.command_line
    hz = int(config["HZ"]) if re.fullmatch(r"[1-9]\d{1,4}", config.get("HZ", "")) else 0
    if given.get("highres") == "off" or (config and "HIGH_RES_TIMERS" not in config):
        how = "highres=off" if "highres" in given else "no CONFIG_HIGH_RES_TIMERS"
        tick = f"up to {1000 / hz:g} ms" if hz else "up to a tick"
        remedy = "Remove highres=off from the kernel's command line, or take another kernel"
        yield Finding(
            "timers", MEND, f"timers fire at ticks only ({how})", f"each {tick} late", remedy
        )
    elif 0 < hz < 250:
        yield Finding(
            "timers", NOTE, f"the kernel ticks {hz} times a second (CONFIG_HZ)",
            f"an ordinary thread waits for others in steps of {1000 / hz:g} ms",
            "Threads of rclrt with a real-time priority do not wait for ticks. Else take a kernel "
            "with CONFIG_HZ=1000",
        )  # fmt: skip
    else:
        yield Finding("timers", GOOD, f"timers are finer than a tick{f' (HZ {hz})' if hz else ''}")


def sched_ext(system: System, costs: Costs) -> Found:
    """Whether another scheduler than the kernel's has the ordinary threads."""
    state = system.text("sys/kernel/sched_ext/state")
    name = system.text("sys/kernel/sched_ext/root/ops")
    if state == "enabled" and not name.startswith("rclrt_edf"):
        yield Finding(
            "sched_ext", NOTE, f"the sched_ext scheduler {name or '?'} has all ordinary threads",
            costs.ordinary(),
            "While it runs, `scx load` is refused. End the program that loaded it",
        )  # fmt: skip
    else:
        text = (
            f"sched_ext is {state}"
            if state
            else "no sched_ext: only deadlines in the kernel need it"
        )
        yield Finding("sched_ext", GOOD, text)


def nice(system: System, costs: Costs) -> Found:
    """Whether a nice value counts against the threads of other sessions."""
    if system.number("proc/sys/kernel/sched_autogroup_enabled") == 1:
        yield Finding(
            "nice", NOTE, f"nice orders only the threads of one session ({AUTOGROUP} is 1)",
            "outside of a control group for CPUs each session gets as much as any other, whatever "
            "the nice values, also SCHED_IDLE",
            "To have it order all", (f"sudo sysctl -w {AUTOGROUP}=0",),
        )  # fmt: skip
    else:
        yield Finding("nice", GOOD, "nice orders the threads of all sessions")


def throttling(system: System, costs: Costs) -> Found:
    """How much of each second real-time threads may have."""
    runtime = system.number("proc/sys/kernel/sched_rt_runtime_us")
    period = system.number("proc/sys/kernel/sched_rt_period_us") or 1_000_000
    mend = (f"sudo sysctl -w {RUNTIME}={period * 95 // 100 if period > 0 else 950_000}",)
    if runtime is None or period <= 0:
        yield Finding("throttling", GOOD, "how much time real-time threads may have cannot be seen")
    elif runtime < 0 or runtime >= period:
        what = f"nothing stops a real-time thread that does not sleep ({RUNTIME} is {runtime})"
        remedy = "`apply` then refuses real-time policies to what has no RLIMIT_RTTIME. To be safe"
        yield Finding(
            "throttling", NOTE, what, "such a thread keeps its CPU for ever", remedy, mend
        )
    elif runtime == 0:
        what = f"real-time threads may have no time at all ({RUNTIME} is 0)"
        yield Finding("throttling", MEND, what, costs.ordinary(), "Give them time", mend)
    else:
        what = (
            f"real-time threads that do not sleep lose their CPU for {period - runtime} "
            f"us in each {period} us ({RUNTIME} is {runtime})"
        )
        remedy = "Harmless as long as they sleep for that share"
        if runtime * 10 < period * 9:
            long = f"up to {(period - runtime) / 1000:g} ms at once"
            yield Finding("throttling", MEND, what, long, f"{remedy}. Else", mend)
        else:
            yield Finding("throttling", GOOD, f"{what}. {remedy}")


def _mounts(system: System, kind: str, option: str = "") -> list[str]:
    lines = [line.split() for line in system.text("proc/self/mounts").splitlines()]
    return [
        w[1]
        for w in lines
        if len(w) > 3 and w[2] == kind and (not option or option in w[3].split(","))
    ]


def _group(system: System, controller: str) -> tuple[int, list[str]]:
    """Return the version of the control groups that have it, and our folder and those above it."""
    for line in system.text("proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        is_first = controller in names.split(",")
        first = _mounts(system, "cgroup", controller)
        second = _mounts(system, "cgroup2") if number == "0" and not names and not first else []
        mounts = first if is_first else second
        if not mounts or ".." in path:
            continue
        # In a container the path may be that outside, and the mount begin at the group itself.
        if not system.names(mounts[0] + path):
            path = "/"
        parts = [part for part in path.split("/") if part][:64]
        above = ["/".join((mounts[0], *parts[:n])) for n in range(len(parts), -1, -1)]
        return (1 if is_first else 2), above
    return 0, []


def rt_groups(system: System, costs: Costs) -> Found:
    """Whether the control group may have real-time priorities at all."""
    version, folders = _group(system, "cpu")
    given, config = system.command_line.get("rt_group_sched"), system.config
    is_off = given == "0" or ("RT_GROUP_SCHED_DEFAULT_DISABLED" in config and given != "1")
    if version == 1:
        name = f"{folders[0]}/cpu.rt_runtime_us"
        if system.number(name) == 0:
            zero = [f for f in reversed(folders) if system.number(f"{f}/cpu.rt_runtime_us") == 0]
            yield Finding(
                "rt_groups", MEND,
                f"{name} is 0, and then no process of that control group may have real-time "
                "priorities",
                costs.ordinary(),
                "Write there how many us of cpu.rt_period_us they may use, first into the groups "
                "above it (docker: --cpu-rt-runtime)",
                tuple(set_to(900_000, f"{f}/cpu.rt_runtime_us") for f in zero),
            )  # fmt: skip
            return
    folder = folders[0] if folders else ""
    is_below = system.exists(f"{folder}/cpu.weight") and system.exists(f"{folder}/cgroup.type")
    if version == 2 and "RT_GROUP_SCHED" in config and not is_off and is_below:
        yield Finding(
            "rt_groups", MEND,
            "the kernel was built with CONFIG_RT_GROUP_SCHED, and with cgroup v2 it refuses "
            "real-time priorities to every control group but the first",
            costs.ordinary(),
            "There is no file to set in cgroup v2. Boot with rt_group_sched=0 (Linux 6.16 or "
            "newer), or take a kernel without that option, or start the program where no "
            "controller `cpu` is enabled for its group",
        )  # fmt: skip
        return
    yield Finding("rt_groups", GOOD, "no control group is seen to refuse real-time priorities")


def quota(system: System, costs: Costs) -> Found:
    """Whether the control group stops ordinary threads for a share of each period."""
    version, folders = _group(system, "cpu")
    for folder in folders:
        if version == 2 and system.number(f"{folder}/cpu.idle") == 1:
            yield Finding(
                "quota", MEND, "the control group is for idle time (cpu.idle)",
                "its ordinary threads run when nothing else wants the CPU",
                "A real-time thread waits for their locks", (set_to("0", f"{folder}/cpu.idle"),),
            )  # fmt: skip
            return
        if version == 2:
            words = system.text(f"{folder}/cpu.max").split()
            file, free = f"{folder}/cpu.max", "max"
        else:
            words = [system.text(f"{folder}/cpu.cfs_{n}_us") for n in ("quota", "period")]
            file, free = f"{folder}/cpu.cfs_quota_us", "-1"
        if len(words) != 2 or not all(re.fullmatch(r"[1-9]\d{0,14}", word) for word in words):
            continue
        told = dict(re.findall(r"^(\w+) (\d{1,20})$", system.text(f"{folder}/cpu.stat"), re.M))
        stopped = int(told.get("throttled_usec", 0)) or int(told.get("throttled_time", 0)) // 1000
        yield Finding(
            "quota", MEND,
            f"the control group may use {int(words[0]) / int(words[1]):.2g} CPUs; then its "
            f"ordinary threads stop until the next period of {int(words[1]) / 1000:g} ms",
            f"they were stopped {told.get('nr_throttled', 0)} times, {stopped / 1e6:.1f} s in all",
            "A real-time thread waits for a lock as long as its owner is stopped. Lift it where "
            "it is set (systemd: CPUQuota=, container: --cpus)",
            (set_to(free, file),),
        )  # fmt: skip
        return
    yield Finding("quota", GOOD, "no control group limits the CPU time")


def permissions(system: System, costs: Costs) -> Found:
    """Whether this process may have real-time priorities, and lock memory."""
    rtprio, is_in = system.limit(RTPRIO), system.container
    may, has = system.may(SYS_NICE), system.has_capability(SYS_NICE)
    commands = () if is_in else LIMITS
    where = (
        "log in as a member of that group, or raise the limit where the program is started "
        "(systemd: "
    )
    if system.refuses_realtime():
        yield Finding(
            "filter", MEND,
            "a seccomp filter of this service or container refuses real-time priorities",
            costs.ordinary(),
            "Let it pass (systemd: RestrictRealtime=no, and SystemCallFilter= with @resources; "
            "container: --security-opt seccomp=PROFILE with sched_setattr allowed)",
        )  # fmt: skip
    if not may and rtprio is not None and rtprio < 99:
        nested = (
            "CAP_SYS_NICE of a user namespace (rootless container) does not count. Raise the "
            "limit of the user on the machine, and where the program is started (container: "
            "--ulimit rtprio=99)"
        )
        usual = (
            "Add the line '@realtime - rtprio 99' to /etc/security/limits.d/realtime.conf and "
            f"{where}LimitRTPRIO=99; container: --ulimit rtprio=99), or give CAP_SYS_NICE"
        )
        yield Finding(
            "rtprio", MEND, f"real-time priorities above {rtprio} will be refused (RLIMIT_RTPRIO)",
            costs.both(), nested if has else usual, () if has else commands,
        )  # fmt: skip
    else:
        by = "CAP_SYS_NICE" if may else "RLIMIT_RTPRIO" if rtprio else "not seen by what"
        yield Finding("rtprio", GOOD, f"real-time priorities are permitted ({by})")
    if not may:
        yield Finding(
            "deadlines", GOOD, "without CAP_SYS_NICE SCHED_DEADLINE is refused, all else works"
        )
    memlock = system.limit(MEMLOCK)
    if not system.may(IPC_LOCK) and memlock is not None and memlock < UNLIMITED:
        yield Finding(
            "memlock", MEND,
            f"memory cannot be locked beyond a limit: RLIMIT_MEMLOCK is {memlock} bytes",
            costs.fault(),
            "Add the line '@realtime - memlock unlimited' to /etc/security/limits.d/realtime.conf "
            f"and {where}LimitMEMLOCK=infinity; container: --ulimit memlock=-1), or give "
            "CAP_IPC_LOCK",
            commands,
        )  # fmt: skip
    else:
        yield Finding("memlock", GOOD, "all memory can be locked")
    rttime = system.limit(RTTIME)
    if rttime is not None and rttime < UNLIMITED:
        yield Finding(
            "rttime", MEND,
            f"a real-time thread that uses a CPU for {rttime} us without blocking ends the "
            "process: SIGXCPU, then SIGKILL (RLIMIT_RTTIME)",
            "the process",
            "Raise it (systemd: LimitRTTIME=infinity; container: --ulimit rttime=-1), or in bash",
            ("ulimit -R unlimited",),
        )  # fmt: skip


CHECKS = (preemption, timers, sched_ext, nice, throttling, rt_groups, permissions, quota)
