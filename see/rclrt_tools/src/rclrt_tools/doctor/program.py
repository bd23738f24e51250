# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Whether `rclrt run` can reach a program, and what is known of the middleware under it."""

import os
import re
import stat
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from shlex import quote

from rclrt_tools.doctor import GOOD, MEND, NOTE, Costs, Finding, System

Found = Iterator[Finding]
Version = tuple[int, ...]

DEFAULT = "rmw_fastrtps_cpp"
KNOWN = (DEFAULT, "rmw_fastrtps_dynamic_cpp", "rmw_cyclonedds_cpp", "rmw_zenoh_cpp")
SETTINGS = (
    "FASTRTPS_DEFAULT_PROFILES_FILE",
    "FASTDDS_DEFAULT_PROFILES_FILE",
    "CYCLONEDDS_URI",
    "ZENOH_SESSION_CONFIG_URI",
)
"""Variables that name a file of settings of a middleware."""
RANGES = ("SUBNET", "LOCALHOST", "OFF", "SYSTEM_DEFAULT")
RUN_WITH = ((16,), (28,), (29,))
"""Major versions of rclcpp that executors of rclrt were run with."""


@dataclass(frozen=True)
class Fault:
    """What is known of versions of a package, from one up to another that is without it."""

    packages: tuple[str, ...]
    since: Version
    until: Version
    what: str
    costs: str
    remedy: str
    source: str
    kind: str = MEND


FAULTS = (
    Fault(
        ("rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp"), (6, 2, 0), (6, 2, 4),
        "events executors may deadlock when a function for new messages is set under traffic",
        "the program", "Update it: Humble's 6.2.4 is without this", "ros2/rmw_fastrtps#657",
    ),
    Fault(
        ("rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp"), (6, 3, 0), (7, 0, 0),
        "events executors may deadlock when a function for new messages is set under traffic",
        "the program", "Update it: 7.0.0 is without this", "ros2/rmw_fastrtps#657",
    ),
    Fault(
        ("rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp"), (6, 2, 4), (9, 4),
        "taking a MESSAGE_LOST event may deadlock with the thread that loses the message",
        "programs with rclcpp's events executors; those of rclrt look for lost messages instead",
        "Nothing with rclrt's executors. Else have no callback for lost messages",
        "ros2/rmw_fastrtps#890", NOTE,
    ),
    Fault(
        ("fastrtps",), (2, 6, 2), (2, 6, 3),
        "programs may deadlock while they start and discover each other", "the start", "Update it",
        "eProsima/Fast-DDS#2961",
    ),
    Fault(
        ("fastrtps", "fastdds"), (2, 14, 0), (2, 14, 7),
        "shared memory may deadlock for good after another program was killed in the middle of it",
        "messages between programs", "Where programs are killed: FASTDDS_BUILTIN_TRANSPORTS=UDPv4",
        "eProsima/Fast-DDS#6497, ros2/rmw_fastrtps#908", NOTE,
    ),
    Fault(
        ("fastrtps", "fastdds"), (3, 2, 0), (3, 2, 4),
        "shared memory may deadlock for good after another program was killed in the middle of it",
        "messages between programs", "Where programs are killed: FASTDDS_BUILTIN_TRANSPORTS=UDPv4",
        "eProsima/Fast-DDS#6497", NOTE,
    ),
)  # fmt: skip


def _prefixes(system: System) -> list[str]:
    given = system.environment.get("AMENT_PREFIX_PATH", "").split(":")
    return [prefix for prefix in dict.fromkeys(given) if prefix.startswith("/")][:200]


def version_of(system: System, package: str, prefixes: list[str]) -> Version | None:
    """Return the version of the package in the first of these folders that has it."""
    for prefix in prefixes:
        text = system.text(f"{prefix}/share/{package}/package.xml")
        found = re.search(r"<version>\s*(\d{1,9}(?:\.\d{1,9}){0,3})\s*</version>", text)
        if found:
            return tuple(map(int, found[1].split(".")))
    return None


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def middleware(system: System, costs: Costs) -> Found:
    """Which middleware is used, and what is known of it."""
    given, prefixes = system.environment, _prefixes(system)
    chosen = given.get("RMW_IMPLEMENTATION") or DEFAULT
    version = version_of(system, chosen, prefixes)
    if not version and not version_of(system, "rcl", prefixes):
        yield Finding("middleware", GOOD, "no ROS 2 is sourced: its middleware was not looked at")
        return
    if version is None:
        package = f"ros-{given.get('ROS_DISTRO') or 'DISTRIBUTION'}-{chosen.replace('_', '-')}"
        command = f"sudo apt-get install {quote(package)}"
        if chosen not in KNOWN and (meant := get_close_matches(chosen, KNOWN, 1)):
            command = f"export RMW_IMPLEMENTATION={meant[0]}"
        yield Finding(
            "middleware", MEND, f"the middleware {chosen} is not installed, or not sourced",
            "no program of ROS 2 starts", "Or set RMW_IMPLEMENTATION to one that is", (command,),
        )  # fmt: skip
    elif chosen not in KNOWN:
        yield Finding(
            "middleware", NOTE, f"the middleware {chosen} {_dotted(version)} is not known to rclrt",
            "it raises none of its threads: messages wait for them",
            "Give its threads a priority by name (threads: in the parameters file)",
        )  # fmt: skip
    else:
        yield Finding("middleware", GOOD, f"the middleware is {chosen} {_dotted(version)}")
    yield from _faults(system, chosen, prefixes)
    mode = given.get("RMW_FASTRTPS_PUBLICATION_MODE", "SYNCHRONOUS")
    if "fastrtps" in chosen and mode != "SYNCHRONOUS":
        yield Finding(
            "publication_mode", MEND,
            f"messages are sent by another thread (RMW_FASTRTPS_PUBLICATION_MODE={mode})",
            "that thread (dds.asyn.*) never sleeps, so it gets no real-time priority, and "
            "messages wait for it",
            "Leave it at its default", ("unset RMW_FASTRTPS_PUBLICATION_MODE",),
        )  # fmt: skip
    for variable in SETTINGS:
        paths = [path.removeprefix("file://") for path in given.get(variable, "").split(",")]
        lacks = [path for path in paths if path.startswith("/") and not system.exists(path)]
        if lacks and variable.split("_")[0].lower().replace("dds", "") in chosen:
            yield Finding(
                "settings", MEND, f"there is no {lacks[0]}, which {variable} names",
                "the middleware has none of these settings, or does not start", "",
                (f"unset {variable}",),
            )  # fmt: skip
    yield from _discovery(given, chosen)


def _faults(system: System, chosen: str, prefixes: list[str]) -> Found:
    below = ("fastrtps", "fastdds") if "fastrtps" in chosen else ()
    for package in (chosen, *below):
        version = version_of(system, package, prefixes)
        for fault in FAULTS if version else ():
            if package in fault.packages and fault.since <= (version or ()) < fault.until:
                yield Finding(
                    "known_fault", fault.kind, f"{package} {_dotted(version or ())}: {fault.what}",
                    fault.costs, fault.remedy, (), fault.source,
                )  # fmt: skip


def _discovery(given: dict[str, str], chosen: str) -> Found:
    range_ = given.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "")
    local = given.get("ROS_LOCALHOST_ONLY", "")
    domain = given.get("ROS_DOMAIN_ID") or "0"
    if not re.fullmatch("[0-9]{1,3}", domain) or int(domain) > 232:
        yield Finding(
            "discovery", MEND, f"ROS_DOMAIN_ID={domain} is no number from 0 to 232",
            "no program of ROS 2 starts", "", ("export ROS_DOMAIN_ID=0",),
        )  # fmt: skip
    elif range_ and range_ not in RANGES:
        yield Finding(
            "discovery", MEND,
            f"ROS_AUTOMATIC_DISCOVERY_RANGE={range_} is none of {', '.join(RANGES)}",
            "ROS 2 takes SUBNET", "", ("export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST",),
        )  # fmt: skip
    elif "zenoh" in chosen or range_ in ("LOCALHOST", "OFF", "SYSTEM_DEFAULT") or local == "1":
        yield Finding(
            "discovery", GOOD, "programs of other machines are not looked for by multicast"
        )
    else:
        yield Finding(
            "discovery", NOTE, "all programs of ROS 2 in this network are discovered",
            "threads above your callbacks handle what they announce",
            "If the robot needs no other machine: export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST "
            "(Humble: ROS_LOCALHOST_ONLY=1)",
            (), "docs.ros.org, Improved Dynamic Discovery",
        )  # fmt: skip


@dataclass(frozen=True)
class Elf:
    """What the dynamic linker would see of a file."""

    machine: int
    is_dynamic: bool
    needed: tuple[str, ...]
    paths: tuple[str, ...]


def read_elf(peek: Callable[[int, int], bytes]) -> Elf | None:
    """Return what is in a file; None: no ELF file of 64 bits, or a broken one.

    peek: Returns the bytes from an offset on, at most so many.
    """
    try:
        head = peek(0, 64)
        if head[:6] != b"\x7fELF\x02\x01":
            return None
        machine, table, size, count = struct.unpack_from("<18xH12xQ14xHH", head)
        parts = [struct.unpack("<II6Q", peek(table + n * size, 56)) for n in range(min(count, 512))]
        dynamic = next((part for part in parts if part[0] == 2), None)
        if dynamic is None:
            return Elf(machine, False, (), ())
        data = peek(dynamic[2], min(dynamic[5], 1 << 16))
        entries = list(struct.iter_unpack("<QQ", data[: len(data) // 16 * 16]))
        at = next(value for tag, value in entries if tag == 5)
        loads = [part for part in parts if part[0] == 1]
        strings = next(at - p[3] + p[2] for p in loads if p[3] <= at < p[3] + p[5])

        def texts(*tags: int) -> list[str]:
            found = [peek(strings + value, 4096) for tag, value in entries if tag in tags]
            return [text[: text.index(b"\0")].decode("utf-8", "replace") for text in found]

        paths = [path for text in texts(15, 29) for path in text.split(":")]
        return Elf(machine, True, tuple(texts(1)), tuple(paths))
    except (struct.error, ValueError, StopIteration, OverflowError):
        return None


MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64"}
USUAL = (
    "/lib/{0}-linux-gnu",
    "/usr/lib/{0}-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
)


def find(system: System, name: str) -> str:
    """Return the path of a program; empty: there is none.

    That is a file, or a name that a shell finds, or as `ros2 run` has it PACKAGE/EXECUTABLE.
    """
    if "/" in name:
        paths = [os.path.abspath(name)]  # noqa: PTH100  # Links stay links.
        paths += [f"{prefix}/lib/{name}" for prefix in _prefixes(system)]
    else:
        paths = [f"{folder}/{name}" for folder in system.environment.get("PATH", "").split(":")]
    return next((path for path in paths if stat.S_ISREG(system.mode(path))), "")


def _own(elf: Elf, path: str) -> list[str]:
    here = path.rpartition("/")[0]
    return [p.replace("${ORIGIN}", here).replace("$ORIGIN", here) for p in elf.paths]


def _folders(system: System, elf: Elf, path: str) -> list[str]:
    """Return where the dynamic linker looks for what a program needs."""
    given = system.environment.get("LD_LIBRARY_PATH", "").split(":")
    files = [f"etc/ld.so.conf.d/{name}" for name in system.names("etc/ld.so.conf.d")]
    lines = [line.strip() for file in files for line in system.text(file).splitlines()]
    usual = [folder.format(MACHINES.get(elf.machine, "")) for folder in USUAL]
    return [f for f in (*_own(elf, path), *given, *lines, *usual) if f.startswith("/")]


def _libraries(system: System, program: str, elf: Elf) -> tuple[dict[str, str], list[str]]:
    """Return where the libraries are that it needs, by name, and those that are not found."""
    folders = _folders(system, elf, program)
    found: dict[str, str] = {}
    missing = []
    asked = [(name, program, elf) for name in elf.needed]
    while asked and len(found) < 2000:
        name, parent, its = asked.pop()
        if name in found or name in missing or "/" in name:
            continue
        tried = (f"{folder}/{name}" for folder in (*_own(its, parent), *folders))
        path = next(filter(system.exists, tried), "")
        if not path:
            missing.append(name)
            continue
        found[name] = path
        if more := read_elf(system.peek(path)):
            asked += [(one, path, more) for one in more.needed]
    return found, missing


def program(system: System, path: str, built: tuple[str, ...] = ()) -> Found:
    """Whether `rclrt run` can reach a program.

    built: Versions of rclcpp, as "29.3", that `run` was built with; none: it was not built here.
    """
    mode, name = system.mode(path), path.rpartition("/")[2]
    if not mode & 0o111:
        yield Finding(
            "executable", MEND, f"{path} may not be executed", "it does not start", "",
            (f"chmod +x {quote(path)}",),
        )  # fmt: skip
    ignored = "the dynamic linker then ignores LD_PRELOAD, and LD_LIBRARY_PATH of a sourced ROS 2"
    unreached = "rclrt changes nothing in it"
    if mode & (stat.S_ISUID | stat.S_ISGID):
        which = "setuid" if mode & stat.S_ISUID else "setgid"
        yield Finding(
            "setuid", MEND, f"{name} is {which}: {ignored}", unreached,
            "Give the user the limits instead", (f"sudo chmod ug-s {quote(path)}",),
        )  # fmt: skip
    if bits := system.file_capabilities(path):
        yield Finding(
            "file_capabilities", MEND, f"{name}'s file gives the capabilities {bits} (setcap): "
            f"{ignored}",
            unreached, "Give the user the limits instead (systemd: AmbientCapabilities=)",
            (f"sudo setcap -r {quote(path)}",),
        )  # fmt: skip
    data = system.content(path, 200)
    if data[:2] == b"#!":
        with_ = data[2:].split(b"\n")[0].decode("utf-8", "replace").strip()
        is_python = "python" in with_
        what = (
            "rclpy's executors stay as they are" if is_python else "what it starts is what counts"
        )
        yield Finding(
            "program", NOTE, f"{name} is a script ({with_}): "
            f"{what}", unreached if is_python else "",
            "`observe` traces it, and `apply` gives its threads priorities" if is_python
            else "Ask for the program that it starts",
        )  # fmt: skip
        return
    elf = read_elf(system.peek(path))
    if elf is None:
        yield Finding(
            "program", MEND, f"{name} is no program of Linux with 64 bits", "it does not start"
        )
        return
    of_machine = re.search(r"\b(x86_64|aarch64|riscv64)\b", system.text("proc/sys/kernel/arch"))
    if of_machine and MACHINES.get(elf.machine, "?") != of_machine[1]:
        text = f"{name} is a program for {MACHINES.get(elf.machine, 'another processor')}"
        yield Finding(
            "program", MEND, f"{text}, this machine is {of_machine[1]}", "it does not start"
        )
        return
    if not elf.is_dynamic or not elf.needed:
        text = f"{name} is linked statically: no library of rclrt comes into it"
        yield Finding(
            "program", MEND, text, unreached, "Link it dynamically, or build it with rclrt_rclcpp"
        )
        return
    found, missing = _libraries(system, path, elf)
    if missing:
        yield Finding(
            "libraries", MEND, f"{name} needs libraries that are not found: "
            f"{', '.join(sorted(missing)[:6])}",
            "it does not start", "Source the setup.bash of what it was built with",
        )  # fmt: skip
    yield from _rclcpp(system, name, found, missing, built)


def _rclcpp(
    system: System, name: str, found: dict[str, str], missing: list[str], built: tuple[str, ...]
) -> Found:
    if any(library.startswith("librclrt_rclcpp") for library in found):
        yield Finding("program", GOOD, f"{name} has executors of rclrt itself")
        return
    if "librclcpp.so" not in found:
        if "librclcpp.so" not in missing:
            yield Finding(
                "program", NOTE, f"{name} does not use rclcpp", "`run` changes no executor in it",
                "`observe` traces it, and `apply` gives its threads priorities",
            )  # fmt: skip
        return
    prefix = found["librclcpp.so"].rpartition("/lib/")[0]
    version = version_of(system, "rclcpp", [prefix, *_prefixes(system)])
    minor = _dotted(version[:2]) if version else ""
    if version is None:
        yield Finding(
            "program", NOTE, f"the version of {name}'s rclcpp is not known: no package.xml "
            f"beside it",
            "`run` leaves its executors as they are", "Install ROS 2's package rclcpp whole",
        )  # fmt: skip
    elif version[:1] not in RUN_WITH:
        yield Finding(
            "program", NOTE, f"{name} uses rclcpp {_dotted(version)}, with which rclrt was never "
            f"run",
            "it may refuse to build", "Humble, Jazzy and Kilted (16, 28, 29) were tried",
        )  # fmt: skip
    elif minor not in built:
        have = f"with {', '.join(built)}" if built else "without rclcpp"
        yield Finding(
            "program", MEND, f"{name} uses rclcpp {_dotted(version)}, and `rclrt run` was built "
            f"{have}",
            "its executors stay as they are", "Source the ROS 2 that the program uses, then, in "
            "a clone",
            ("./rclrt build",),
        )  # fmt: skip
    else:
        yield Finding("program", GOOD, f"`rclrt run` reaches {name}: rclcpp {_dotted(version)}")
