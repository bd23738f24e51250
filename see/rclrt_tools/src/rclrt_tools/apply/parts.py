# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What the kernel has of a thread or an interrupt that can be changed: policy, clamp and CPUs.

Each part can be read, compared, put into words and into a request to the helper; and into JSON and
back, where whatever is out of range is a ValueError.
"""

import ctypes
import errno
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from rclrt_tools.apply import helper
from rclrt_tools.apply.helper import Request
from rclrt_tools.live.threads import cpus_in, ranges
from rclrt_tools.trace.layout import NICE_WORDS, POLICIES_OF_LINUX, PRIORITY_WORDS

NAMES = POLICIES_OF_LINUX
NUMBERS = {name: number for number, name in NAMES.items()}
URGENT = PRIORITY_WORDS
FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*NICE_WORDS, "ext"), ("nice",)),
    **dict.fromkeys(URGENT, ("priority",)),
    "deadline": ("runtime", "deadline", "period"),
}
"""What each policy goes by."""
FIELDS.update((name, ()) for name in NUMBERS if name not in FIELDS)

LIMITS = {
    "nice": (-20, 19),
    "priority": (1, 99),
    "runtime": (1024, 1 << 62),
    "deadline": (1024, 1 << 62),
    "period": (1024, 1 << 62),
}


@dataclass(frozen=True)
class Target:
    """A thread, or an interrupt, for which all but `number` and `name` is 0.

    born: When it began, in ticks of the kernel. With the number it is this thread and no other.
    name, program, parent: They may change while it is the same.
    """

    process: int
    number: int
    born: int
    name: str = field(compare=False)
    program: str = field(compare=False, default="")
    parent: int = field(compare=False, default=0)

    @property
    def is_interrupt(self) -> bool:
        """Return whether it is one."""
        return not self.process

    def __str__(self) -> str:
        if self.is_interrupt:
            return f"interrupt {self.number} ({self.name})"
        return f"thread {self.number} ({self.name}) of process {self.process} ({self.program})"


def _attributes(thread: int) -> tuple[int, ...]:
    data = ctypes.create_string_buffer(helper.ATTR.size)
    helper.call(helper.GETATTR, thread, data, helper.ATTR.size, 0)
    return helper.ATTR.unpack(data.raw)


@dataclass(frozen=True)
class Policy:
    """Scheduling policy with its numbers; `reset`: threads that it starts do not have it.

    kept: A slice of its own, in ns, or what else a reservation has: no file says it.
    """

    key: ClassVar[str] = "policy"
    name: str
    nice: int = 0
    priority: int = 0
    runtime: int = 0
    deadline: int = 0
    period: int = 0
    reset: bool = False
    kept: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if self.name not in FIELDS:
            raise ValueError(f"scheduling_policy '{self.name}' is none of {', '.join(FIELDS)}")
        for key, (least, most) in LIMITS.items():
            value = whole(getattr(self, key), key)
            if key not in FIELDS[self.name]:
                if value:
                    raise ValueError(f"{key} does not go with {self.name}")
            elif not least <= value <= most:
                raise ValueError(f"{key} must be from {least} to {most}; here is {value}")
        if not self.runtime <= self.deadline <= self.period:
            raise ValueError("runtime <= deadline <= period must hold")
        whole(self.kept, "kept")

    @classmethod
    def of(cls, target: Target, _: Path) -> "Policy":
        """Return what the kernel has now."""
        policy, flags, *values = _attributes(target.number)[1:]
        name = NAMES[policy]
        known = dict(zip(LIMITS, values, strict=False))
        mine = {key: known[key] for key in FIELDS[name]}
        kept = flags & helper.OF_RESERVATIONS if name == "deadline" else 0
        if name in ("other", "batch") and known["runtime"] != _attributes(0)[5]:
            kept = known["runtime"]
        return cls(name, **mine, reset=bool(flags & helper.RESET_ON_FORK), kept=kept)

    def holds(self, now: "Policy", exactly: bool = True) -> bool:
        """Return whether it is in force."""
        return self.name == now.name and all(
            getattr(self, key) == getattr(now, key) for key in FIELDS[self.name]
        )

    def request(self, target: Target) -> Request:
        """Return what gives it to a thread."""
        values = {key: getattr(self, key) for key in LIMITS}
        if self.name in ("deadline", *URGENT):
            values["nice"] = 0
        flags = int(self.reset)
        if self.name == "deadline":
            flags |= self.kept
        elif self.kept:
            values["runtime"] = self.kept
        return Request(
            helper.POLICY, target.number, target.born, NUMBERS[self.name], flags, **values
        )

    def __str__(self) -> str:
        values = [f"{key} {getattr(self, key)}" for key in FIELDS[self.name]]
        return " ".join([self.name, *values])


@dataclass(frozen=True)
class Clamp:
    """Utilisation that the governor of the CPU's speed assumes at least and at most, of 1024."""

    key: ClassVar[str] = "clamp"
    low: int
    high: int

    def __post_init__(self) -> None:
        if not 0 <= whole(self.low, "uclamp_min") <= whole(self.high, "uclamp_max") <= 1024:
            raise ValueError("0 <= uclamp_min <= uclamp_max <= 1024 must hold")

    @classmethod
    def of(cls, target: Target, _: Path) -> "Clamp":
        """Return what the kernel has now; without uclamp that is 0 and 0."""
        return cls(*_attributes(target.number)[-2:])

    def holds(self, now: "Clamp", exactly: bool = True) -> bool:
        """Return whether it is in force."""
        return self == now

    def request(self, target: Target) -> Request:
        """Return what gives it to a thread."""
        return Request(helper.CLAMP, target.number, target.born, low=self.low, high=self.high)

    def __str__(self) -> str:
        return f"uclamp {self.low} to {self.high}"


@dataclass(frozen=True)
class Cpus:
    """CPUs that a thread may use, or that an interrupt may come to."""

    key: ClassVar[str] = "cpus"
    cpus: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.cpus or not all(0 <= whole(c, "a CPU") < helper.MOST_CPUS for c in self.cpus):
            raise ValueError("CPUs are a list of numbers from 0, with one or more")
        object.__setattr__(self, "cpus", tuple(sorted(set(self.cpus))))

    @classmethod
    def of(cls, target: Target, proc: Path) -> "Cpus":
        """Return what the kernel has now."""
        if target.is_interrupt:
            place = proc / f"irq/{target.number}/smp_affinity_list"
            return cls(cpus_in(place.read_text(encoding="ascii")))
        return cls(tuple(sorted(os.sched_getaffinity(target.number))))

    def holds(self, now: "Cpus", exactly: bool = True) -> bool:
        """Return whether it is in force; the kernel leaves out what is off or not in the cpuset."""
        return now == self if exactly else set(now.cpus) <= set(self.cpus)

    def request(self, target: Target) -> Request:
        """Return what gives it to a thread or an interrupt."""
        mask = sum(1 << cpu for cpu in set(self.cpus)).to_bytes(helper.MOST_CPUS // 8, "little")
        kind = helper.INTERRUPT if target.is_interrupt else helper.CPUS
        return Request(kind, target.number, target.born, cpus=mask)

    def __str__(self) -> str:
        return f"CPUs {ranges(self.cpus)}"


Part = Any  # One of these three: what takes one by its key cannot say which.
KINDS: dict[str, type[Part]] = {kind.key: kind for kind in (Policy, Clamp, Cpus)}
Parts = dict[str, Part]


def whole(value: object, what: str) -> int:
    """Return it, if it is a whole number.

    Raises ValueError: It is none.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{what} must be a whole number; here is {str(value)[:60]!r}")
    return value


def to_json(parts: Parts) -> dict[str, Any]:
    """Return them as JSON."""
    return {key: asdict(part) for key, part in parts.items()}


def from_json(said: Mapping[str, Any]) -> Parts:
    """Return them from JSON.

    Raises ValueError, TypeError, KeyError, AttributeError: It is none that `to_json` writes.
    """
    return {key: KINDS[key](**fields) for key, fields in said.items()}


PAGE = "docs/how-to/real-time-permissions.md"
PERMISSION = f"CAP_SYS_NICE is missing: start it with sudo, or as {PAGE} says"
BOUND = "a thread that the kernel has bound to its CPU, or none of these CPUs is in its cpuset"

CLAMP = {errno.EOPNOTSUPP: "this kernel has no uclamp (CONFIG_UCLAMP_TASK)"}
INTERRUPT = {
    errno.EIO: "its driver or controller chooses the CPU itself",
    errno.EACCES: "only root may: start it with sudo",
    errno.EROFS: "/proc is read-only here, as in a container: start it on the host",
}
INTERRUPT[errno.EPERM] = INTERRUPT[errno.EIO]


def why(part: Any, is_interrupt: bool, number: int, capable: bool) -> str:
    """Return it in words."""
    if is_interrupt:
        return INTERRUPT.get(number, "")
    if part.key == "clamp" and number in CLAMP:
        return CLAMP[number]
    if part.key == "cpus" and number == errno.EINVAL:
        return BOUND
    deadline = part.key == "policy" and part.name == "deadline"
    if number == errno.EBUSY and deadline:
        return "the CPUs have not so much left for reservations: less runtime, or a longer period"
    if number == errno.EBUSY:
        return "a thread with a reservation must be allowed on all CPUs"
    if number == errno.EPERM and not capable:
        return PERMISSION
    if number == errno.EPERM and deadline:
        return "a thread with a reservation must be allowed on all CPUs of its root domain"
    if number == errno.EPERM and part.key == "policy" and part.name in URGENT:
        return f"its control group has no real-time time (CONFIG_RT_GROUP_SCHED): {PAGE}"
    return ""
