# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What CPUs, interrupts, memory and other programs cost real-time threads."""

import os
import re
import stat
from collections.abc import Iterator

from rclrt_tools.doctor import GOOD, MEND, NOTE, Costs, Finding, System, cpu_set
from rclrt_tools.doctor.kernel import set_to
from rclrt_tools.live.threads import ranges

Found = Iterator[Finding]

CPU = "sys/devices/system/cpu"
DEEP_US = 50
"""How long a CPU may take to leave an idle state."""
FAST_CLOCKS = (
    "tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page", "riscv_clocksource",
)  # fmt: skip
KERNEL_THREAD = 0x00200000
MAX_THREADS = 50_000
VIRTUAL = r"QEMU|KVM|VMware|VirtualBox|Virtual Machine|Google Compute|Parallels"
"""Names of machines that are none. On x86 the processor says it, too."""


def cpus(system: System, costs: Costs) -> Found:
    """Which CPUs this process may use, and which of them the kernel leaves alone."""
    online, present = system.cpus(f"{CPU}/online"), system.cpus(f"{CPU}/present")
    isolated, quiet = system.cpus(f"{CPU}/isolated"), system.cpus(f"{CPU}/nohz_full")
    allowed = cpu_set(system.status.get("Cpus_allowed_list", ""))
    good, is_smt_off = True, system.text(f"{CPU}/smt/control") in ("off", "forceoff")
    if (off := present - online) and online and not is_smt_off:
        good = False
        yield Finding(
            "offline", NOTE, f"the CPUs {ranges(off)} are switched off", "a part of the machine",
            "Switch them on", tuple(set_to(1, f"/{CPU}/cpu{cpu}/online") for cpu in sorted(off)),
        )  # fmt: skip
    if (out := online - allowed - isolated) and allowed:
        good = False
        yield Finding(
            "cpuset", NOTE, f"this process may use the CPUs {ranges(allowed)}, not {ranges(out)}",
            "callbacks with a cpu_affinity among the others are in force without it",
            "Widen the cpuset (cpuset.cpus of the control group; container: --cpuset-cpus), or "
            "start it without taskset",
        )  # fmt: skip
    asked = system.command_line.get("isolcpus", "")
    if asked and not isolated:
        good = False
        yield Finding(
            "isolcpus", MEND, f"isolcpus={asked} isolates no CPU", costs.both(),
            f"This machine has the CPUs {ranges(online)}: name some of them, behind any flags",
        )  # fmt: skip
    if busy := quiet - isolated:
        good = False
        yield Finding(
            "nohz_full", MEND,
            f"the CPUs {ranges(busy)} have no ticks (nohz_full), but ordinary threads",
            costs.both(),
            "Two threads on such a CPU bring the ticks back. Add "
            f"isolcpus=domain,managed_irq,{ranges(quiet)} to the kernel's command line",
        )  # fmt: skip
    for cpu in sorted(isolated):
        both = system.cpus(f"{CPU}/cpu{cpu}/topology/thread_siblings_list")
        if shared := (both & online) - isolated:
            good = False
            yield Finding(
                "siblings", MEND, f"the isolated CPU {cpu} shares its core with {ranges(shared)}",
                "what runs there slows it down", f"Isolate both, or switch {ranges(shared)} off",
                tuple(set_to(0, f"/{CPU}/cpu{one}/online") for one in sorted(shared)),
            )  # fmt: skip
            break
    if good:
        text = f"this process may use all CPUs ({ranges(allowed or online) or 'unknown'})"
        some = f"; {ranges(isolated)} are isolated: only cpu_affinity brings threads there"
        yield Finding("cpus", GOOD, text + (some if isolated else ""))


def interrupts(system: System, costs: Costs) -> Found:
    """Whether interrupts are served where nothing else should run."""
    quiet = system.cpus(f"{CPU}/isolated") | system.cpus(f"{CPU}/nohz_full")
    keep = system.cpus(f"{CPU}/online") - quiet
    there, commands = [], []
    for number in filter(str.isdecimal, system.names("proc/irq") if quiet and keep else ()):
        folder = f"proc/irq/{number}"
        handlers = [n for n in system.names(folder) if stat.S_ISDIR(system.mode(f"{folder}/{n}"))]
        used = system.cpus(f"{folder}/effective_affinity_list")
        used = used or system.cpus(f"{folder}/smp_affinity_list")
        if used & quiet:
            there.append(f"{number} ({handlers[0]})" if handlers else number)
            commands.append(set_to(ranges(keep), f"/{folder}/smp_affinity_list"))
    if there:
        more = f" and {len(there) - 5} more" if len(there) > 5 else ""
        yield Finding(
            "interrupts", MEND,
            f"the CPUs {ranges(quiet)} are to be quiet, and serve the interrupts "
            f"{', '.join(there[:5])}{more}",
            "each takes its CPU from any thread",
            "`apply` sets them too (irqs). Those that a driver places itself refuse it: add "
            "managed_irq to isolcpus",
            tuple(commands),
        )  # fmt: skip
    else:
        where = f"the CPUs {ranges(quiet)} serve no interrupt" if quiet else "no CPU is kept quiet"
        yield Finding("interrupts", GOOD, where)


def speed(system: System, costs: Costs) -> Found:
    """Whether CPUs change their speed, or sleep too deeply."""
    governors: dict[str, set[int]] = {}
    deep: dict[str, int] = {}
    for name in system.names(CPU):
        if not re.fullmatch(r"cpu\d{1,4}", name):
            continue
        governor = system.text(f"{CPU}/{name}/cpufreq/scaling_governor")
        if governor and governor != "performance":
            governors.setdefault(governor, set()).add(int(name[3:]))
        for state in system.names(f"{CPU}/{name}/cpuidle"):
            folder = f"{CPU}/{name}/cpuidle/{state}"
            latency = system.number(f"{folder}/latency") or 0
            if latency >= DEEP_US and system.number(f"{folder}/disable") != 1:
                deep[system.text(f"{folder}/name") or state] = latency
    if governors:
        text = "; ".join(
            f"CPUs {ranges(some)} change their speed (governor {name})"
            for name, some in sorted(governors.items())
        )
        yield Finding(
            "governor", MEND, text,
            "a callback that comes after idle time runs slower, until they speed up",
            "For steady latencies", ("sudo cpupower frequency-set -g performance",),
        )  # fmt: skip
    else:
        yield Finding("governor", GOOD, "no CPU is seen to change its speed")
    if deep:
        worst = max(deep.values())
        yield Finding(
            "idle_states", MEND, f"idle CPUs may sleep deeply ({', '.join(sorted(deep)[:8])})",
            f"the kernel says that they wake up after {worst} us",
            "Until the next boot; a program can hold /dev/cpu_dma_latency open instead",
            (f"sudo cpupower idle-set -D {DEEP_US}",),
        )  # fmt: skip
    else:
        yield Finding("idle_states", GOOD, f"no idle state takes {DEEP_US} us to leave")


def clock(system: System, costs: Costs) -> Found:
    """Whether the clock is slow to read."""
    folder = "sys/devices/system/clocksource/clocksource0"
    now = system.text(f"{folder}/current_clocksource")
    there = system.text(f"{folder}/available_clocksource").split()
    if now and now not in FAST_CLOCKS:
        better = next((name for name in FAST_CLOCKS if name in there), "")
        took = f"a look at the clock took {costs.clock_ns:.0f} ns" if costs.clock_ns else ""
        lost = "dmesg says why the kernel gave tsc up; tsc=reliable keeps it if it is right"
        remedy = "" if better else lost
        yield Finding(
            "clock", MEND, f"the clock is {now}, which is slow to read", took, remedy,
            (set_to(better, f"/{folder}/current_clocksource"),) if better else (),
        )  # fmt: skip
    else:
        yield Finding("clock", GOOD, f"the clock is {now or 'unknown'}")


def hosts(system: System, costs: Costs) -> Found:
    """Whether there is a machine around this one."""
    flags = re.search(r"^flags\s*:.*\bhypervisor\b", system.text("proc/cpuinfo"), re.M)
    kind = system.text("sys/hypervisor/type")
    names = " ".join(
        system.text(f"sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")
    )
    if flags or kind or re.search(VIRTUAL, names):
        words = re.search(r"^cpu +((?:\d{1,20} ?){8,})", system.text("proc/stat"), re.M)
        ticks = [int(word) for word in words[1].split()[:8]] if words else []
        stolen = 100 * ticks[7] / sum(ticks) if any(ticks) else 0
        share = f"; its host took {stolen:.2g} % of the time since it began" if any(ticks) else ""
        yield Finding(
            "virtual_machine", NOTE, f"this is a virtual machine{f' ({kind})' if kind else ''}",
            costs.urgent() + share,
            "No priority in here counts for its host. Give it CPUs of its own there",
        )  # fmt: skip
    else:
        yield Finding("virtual_machine", GOOD, "no virtual machine is seen")
    if system.container:
        yield Finding(
            "container", NOTE, f"this is a container ({system.container})",
            "limits, capabilities and CPUs are those that it was started with",
            "Commands that change the kernel, its command line or /proc are for the host",
        )  # fmt: skip


def memory(system: System, costs: Costs) -> Found:
    """Whether pages move or go."""
    swaps = [line.split()[0] for line in system.text("proc/swaps").splitlines()[1:] if line.split()]
    if swaps:
        yield Finding(
            "swap", MEND, f"memory may be swapped out, to {', '.join(swaps[:4])}",
            "; ".join(filter(None, (costs.fault(), "one that comes from a disk far more"))),
            "Or lock it: executor: {lock_memory: true} in the parameters file",
            ("sudo swapoff -a",),
        )  # fmt: skip
    else:
        yield Finding("swap", GOOD, "nothing is swapped out")
    file = "sys/kernel/mm/transparent_hugepage/enabled"
    if "[always]" in system.text(file):
        us = costs.huge_fault_us
        took = f"a first touch of a huge page took {us:.0f} us; " if us else ""
        yield Finding(
            "huge_pages", MEND,
            "the kernel makes huge pages of any memory (transparent_hugepage: always)",
            f"{took}it also stops a process while it joins pages",
            "Until the next boot; transparent_hugepage=madvise on its command line keeps it",
            (set_to("madvise", f"/{file}"),),
        )  # fmt: skip
    else:
        yield Finding("huge_pages", GOOD, "huge pages are only for those that ask")
    moves = system.number("proc/sys/kernel/numa_balancing") == 1
    if moves and system.exists("sys/devices/system/node/node1"):
        yield Finding(
            "numa_balancing", MEND, "the kernel takes pages away to see which CPU uses them",
            costs.fault(), "", ("sudo sysctl -w kernel.numa_balancing=0",),
        )  # fmt: skip


def others(system: System, costs: Costs, priority: int = 81) -> Found:
    """Whether other programs have threads as urgent as the timer thread."""
    uptime = re.match(r"\d{1,12}", system.text("proc/uptime"))
    ticks = os.sysconf("SC_CLK_TCK")
    found, seen = [], 0
    for process in filter(str.isdecimal, system.names("proc")):
        if process == system.link("proc/self") or seen > MAX_THREADS:
            continue
        threads = []
        for number in filter(str.isdecimal, system.names(f"proc/{process}/task")):
            seen += 1
            head, _, rest = system.text(f"proc/{process}/task/{number}/stat").rpartition(")")
            fields = rest.split()
            if len(fields) < 39 or not all(re.fullmatch(r"-?\d{1,20}", f) for f in fields[1:]):
                continue
            threads.append((number, head.partition("(")[2], fields))
        if any(name.startswith("rclrt") for _, name, _ in threads):
            continue  # Its priorities are the user's.
        for number, name, fields in threads:
            policy, urgency = int(fields[38]), int(fields[37])
            is_above = policy == 6 or (policy in (1, 2) and urgency >= priority)
            if is_above and not int(fields[6]) & KERNEL_THREAD:
                age = int(uptime[0]) - int(fields[19]) / ticks if uptime else 0
                share = (int(fields[11]) + int(fields[12])) / ticks / age if age > 0 else 0
                kind = "SCHED_DEADLINE" if policy == 6 else f"priority {urgency}"
                found.append((share, number, f"{name} ({kind}, thread {number})"))
    if not found:
        yield Finding(
            "others", GOOD, f"no other program has threads of priority {priority} or above"
        )
        return
    found.sort(reverse=True)
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    is_busy = found[0][0] >= 0.01
    yield Finding(
        "others", MEND if is_busy else NOTE,
        f"threads of other programs are as urgent as the timer thread ({priority}): "
        f"{', '.join(text for _, _, text in found[:4])}{more}",
        f"the busiest has used {100 * found[0][0]:.2g} % of a CPU since it began",
        "Let them have less, if they are not part of the control (`apply` does while it runs)",
        tuple(f"sudo chrt --other --pid 0 {number}" for share, number, _ in found if share >= 0.01),
    )  # fmt: skip


CHECKS = (cpus, interrupts, speed, clock, hosts, memory)
