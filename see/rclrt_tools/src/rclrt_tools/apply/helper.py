# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The only part of `apply` that keeps a capability. It is a process of its own.

It reads requests of one fixed form from its standard input, checks each, does it, and answers with
an error number. It keeps CAP_SYS_NICE alone, if it has that, and no other user's rights than those
that its caller names: root's, without capabilities, to write the CPUs of interrupts. It ends when
its input ends. It imports nothing of ours, so what it may do stands in this file.
"""

import ctypes
import errno
import os
import signal
import struct
import sys
from typing import NamedTuple

POLICY, CLAMP, CPUS, INTERRUPT = range(1, 5)
FORM = struct.Struct("=IIQIIiIQQQII128s")
ANSWER = struct.Struct("=i")
MOST_CPUS = 1024


class Request(NamedTuple):
    """One change of one thread or interrupt; a thread is known by its number and when it began."""

    kind: int
    number: int
    born: int = 0
    policy: int = 0
    flags: int = 0
    nice: int = 0
    priority: int = 0
    runtime: int = 0
    deadline: int = 0
    period: int = 0
    low: int = 0
    high: int = 0
    cpus: bytes = bytes(MOST_CPUS // 8)


ATTR = struct.Struct("=IIQiIQQQII")
RESET_ON_FORK, OF_RESERVATIONS, KEEP_ALL, CLAMPS = 0x01, 0x02 | 0x04, 0x08 | 0x10, 0x20 | 0x40
_X86, _ARM_AND_RISCV, _ARM_32 = (314, 315), (274, 275), (380, 381)
_CALLS = {"x86_64": _X86, "armv7l": _ARM_32, "armv6l": _ARM_32}
SETATTR, GETATTR = _CALLS.get(os.uname().machine, _ARM_AND_RISCV)
"""Numbers of the calls: C libraries have no functions for them yet."""

CAP_SYS_NICE = 1 << 23
_KEEP_CAPABILITIES, _NO_NEW_PRIVILEGES = 8, 38
_libc = ctypes.CDLL(None, use_errno=True)


def call(number: int, *arguments: object) -> None:
    """Make a call of the kernel.

    Raises OSError: It failed.
    """
    if _libc.syscall(number, *arguments) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def confine(wanted: int, user: int | None, group: int | None) -> int:
    """Become the user, and give up all capabilities but those wanted; return what is left."""
    if user is not None and group is not None:
        _libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0)
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    header, data = struct.pack("=II", 0x20080522, 0), ctypes.create_string_buffer(24)
    if _libc.capget(header, data) != 0:
        return 0
    left: int = struct.unpack("=6I", data.raw)[1] & wanted
    if _libc.capset(header, struct.pack("=6I", left, left, 0, 0, 0, 0)) != 0:
        raise OSError(ctypes.get_errno(), "capset: " + os.strerror(ctypes.get_errno()))
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return left


def _is_plausible(asked: Request) -> bool:
    if asked.kind == CLAMP:
        return asked.low <= asked.high <= 1024
    if asked.kind in (CPUS, INTERRUPT):
        return any(asked.cpus)
    urgent, reserved = asked.policy in (1, 2), asked.policy == 6
    return (
        asked.kind == POLICY
        and asked.policy in (0, 1, 2, 3, 5, 6, 7)
        and -20 <= asked.nice <= 19
        and (1 <= asked.priority <= 99 if urgent else asked.priority == 0)
        and (not reserved or 0 < asked.runtime <= asked.deadline <= asked.period < 1 << 63)
    )


def perform(data: bytes, proc: str) -> int:
    """Do what was asked; return 0 or an error number."""
    asked = Request._make(FORM.unpack(data))
    if not _is_plausible(asked):
        return errno.EINVAL
    cpus = [cpu for cpu in range(MOST_CPUS) if asked.cpus[cpu // 8] >> cpu % 8 & 1]
    try:
        if asked.kind == INTERRUPT:
            with open(f"{proc}/irq/{asked.number}/smp_affinity_list", "w") as file:  # noqa: PTH123
                file.write(",".join(map(str, cpus)))
            return 0
        with open(f"{proc}/{asked.number}/stat", "rb") as file:  # noqa: PTH123
            if int(file.read().rpartition(b")")[2].split()[19]) != asked.born:
                return errno.ESRCH
        if asked.kind == CPUS:
            os.sched_setaffinity(asked.number, cpus)
            return 0
        allowed = RESET_ON_FORK | OF_RESERVATIONS
        flags = CLAMPS | KEEP_ALL if asked.kind == CLAMP else asked.flags & allowed
        call(SETATTR, asked.number, ATTR.pack(ATTR.size, asked.policy, flags, *asked[5:12]), 0)
    except FileNotFoundError:
        return errno.ESRCH
    except OSError as error:
        return error.errno or errno.EIO
    return 0


def _main(proc: str, user: str, group: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # What was changed is given back through this.
    other = (int(user), int(group)) if user else (None, None)
    sys.stdout.buffer.write(ANSWER.pack(confine(CAP_SYS_NICE, *other)))
    sys.stdout.buffer.flush()
    while len(data := sys.stdin.buffer.read(FORM.size)) == FORM.size:
        sys.stdout.buffer.write(ANSWER.pack(perform(data, proc)))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _main(*sys.argv[1:])
