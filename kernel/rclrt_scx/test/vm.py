# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A virtual machine for a test: a stock kernel, an initial file system of a few programs, a script.

Software emulation, one host thread for all virtual CPUs: nested virtualisation is rarely to be had,
and with a thread per virtual CPU the kernel's patching of its own code trips the emulator.

The machine's clock counts instructions, 16 ns each if not told otherwise, and jumps where all CPUs
sleep. So what happens in it does not depend on how busy the host is, and its times are those of a
slow processor. A CPU's turn lasts until the next timer unless it sleeps or says that it waits (QEMU
before 8.1 [1]): programs must not spin without `pause`, or the other CPUs stand still.

[1] QEMU, accel/tcg/tcg-accel-ops-icount.c: icount_percpu_budget() is newer.
"""

import gzip
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

QEMU = "qemu-system-x86_64"
BUSYBOX = Path("/bin/busybox")
END = "VM-END"
KERNEL_LOG = "VM-KERNEL-LOG "
COMPLAINT = "WARNING:|BUG:|Oops|Kernel panic|stall|lockup|blocked for more than"

# The kernel's tests of its ciphers take every CPU but the dispatcher's for seconds after the boot;
# a thread that waits for these CPUs in turns keeps its own. Mitigations cost instructions.
_NOT_NEEDED = "cryptomgr.notests mitigations=off"

_INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /run
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t debugfs debug /sys/kernel/debug
# A mount would hide libraries whose place is below /tmp on the host.
chmod 1777 /tmp
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
echo 1 > /proc/sys/kernel/printk
echo 2 > /proc/sys/kernel/unprivileged_bpf_disabled
echo -1 > /proc/sys/kernel/sched_rt_runtime_us
export PATH=/bin
sh /script {argument} 2>&1
echo
# The console shows only what ends the machine: a warning is in the log alone.
dmesg | grep -E '{complaint}' | sed 's/^/{kernel_log}/'
echo {end}
poweroff -f
"""


def why_not(kernel: Path) -> str:
    """Return why no machine can be booted here, or nothing."""
    if not shutil.which(QEMU):
        return f"no {QEMU} (apt: qemu-system-x86)"
    if not BUSYBOX.exists():
        return "no static busybox (apt: busybox-static)"
    if not kernel.exists():
        reasons = kernel.parent / "why-not"
        why = reasons.read_text().strip() if reasons.exists() else ""
        return f"no {kernel.name}: kernel/rclrt_scx/tools/fetch_kernels.sh .rclrt/scx. {why}"
    return ""


def boot(
    kernel: Path,
    cpus: int,
    script: str,
    argument: str,
    programs: list[Path],
    timeout_s: int,
    libraries: Sequence[Path] = (),
    memory_mib: int = 512,
    sockets: int = 1,
    shift: int = 4,
) -> str:
    """Boot, run `script` with `argument` as root, and return what the console showed.

    kernel: Image of a Linux kernel.
    cpus: Virtual CPUs.
    script: For busybox' shell, with `argument` as its words; the programs and all of busybox are in
        its path.
    programs: Put into /bin, with the libraries that they link.
    timeout_s: The machine is ended after this time; its output so far is returned.
    libraries: Put where they are here, for programs that load them by themselves.
    memory_mib: Of the machine.
    sockets: Among which the CPUs are divided; each has a last-level cache of its own.
    shift: An instruction takes 2**shift ns.
    """
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / "initrd"
        image.write_bytes(_initial_file_system(script, argument, programs, libraries))
        command = [
            *(QEMU, "-accel", "tcg,thread=single", "-cpu", "max", "-m", str(memory_mib)),
            *("-icount", f"shift={shift},sleep=off"),
            *("-smp", f"{cpus},sockets={sockets},cores={cpus // sockets},threads=1"),
            *("-nic", "none", "-nographic", "-no-reboot"),
            *("-kernel", str(kernel), "-initrd", str(image)),
            *("-append", f"console=ttyS0 quiet panic=-1 nokaslr {_NOT_NEEDED}"),
        ]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s,
                check=False,
            )
            output, error = done.stdout, done.stderr
        except subprocess.TimeoutExpired as expired:
            output, error = expired.stdout or b"", b"the machine was ended after its time\n"
    text = (output + error).decode(errors="replace").replace("\r", "")
    return text


def complaints(text: str) -> list[str]:
    """Return what the kernel complained of, on its console or in its log."""
    on_console = re.compile(r"^\[ *[0-9.]+\].*(?:" + COMPLAINT + ")")
    return [
        line for line in text.splitlines() if line.startswith(KERNEL_LOG) or on_console.match(line)
    ]


def _initial_file_system(
    script: str, argument: str, programs: list[Path], libraries: Sequence[Path]
) -> bytes:
    files: dict[str, tuple[int, bytes]] = {}

    def put(path: str, data: bytes, mode: int) -> None:
        parent = str(Path(path).parent)
        if parent != "/" and parent not in files:
            put(parent, b"", stat.S_IFDIR | 0o755)
        files[path] = (mode, data)

    put("/bin/busybox", BUSYBOX.read_bytes(), stat.S_IFREG | 0o755)
    init = _INIT.format(end=END, argument=argument, complaint=COMPLAINT, kernel_log=KERNEL_LOG)
    put("/init", init.encode(), stat.S_IFREG | 0o755)
    put("/script", script.encode(), stat.S_IFREG | 0o644)
    put(
        "/etc/passwd", b"root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n", stat.S_IFREG | 0o644
    )
    put("/etc/group", b"root:x:0:\nrt:x:1000:\n", stat.S_IFREG | 0o644)
    for program in programs:
        put(f"/bin/{program.name}", program.read_bytes(), stat.S_IFREG | 0o755)
        for library in linked(program):
            put(library, Path(library).read_bytes(), stat.S_IFREG | 0o755)
    for path in libraries:
        put(str(path), path.read_bytes(), stat.S_IFREG | 0o755)
    return gzip.compress(_cpio(files), compresslevel=1)


def linked(program: Path) -> list[str]:
    listed = subprocess.run(
        ["ldd", str(program)], capture_output=True, text=True, check=False
    ).stdout
    words = (word for line in listed.splitlines() for word in line.split())
    return [word for word in words if word.startswith("/")]


def _cpio(files: dict[str, tuple[int, bytes]]) -> bytes:
    """Pack in the kernel's "newc" format."""
    packed = bytearray()
    entries = [*files.items(), ("TRAILER!!!", (0, b""))]
    for number, (path, (mode, data)) in enumerate(entries, start=1):
        name = path.lstrip("/").encode() + b"\0"
        numbers = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        packed += b"070701" + b"".join(b"%08X" % value for value in numbers) + name
        packed += bytes(-len(packed) % 4) + data
        packed += bytes(-len(packed) % 4)
    return bytes(packed)
