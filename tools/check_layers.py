#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Check that no package sees what its layer must not see.

In one line: examples, benchmarks -> front ends -> core -> trace. The `#include` lines of C and C++
files, the imports of Python files and the dependencies in package.xml are held against `LAYERS`.

    tools/check_layers.py [ROOT]

Prints one line per violation, `file:line: what and why`; exit status 1 if there is any.
"""

import argparse
import ast
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

CODE_SUFFIXES = frozenset({".c", ".cc", ".cpp", ".h", ".hpp"})
# Headers of the C library and the kernel that lie in a folder.
SYSTEM_FOLDERS = frozenset({"arpa", "asm", "bits", "linux", "net", "netinet", "sys"})
TEST_FOLDERS = frozenset({"test", "benchmark"})
TEST_LIBRARIES = (
    "gtest",
    "gmock",
    "benchmark",
    "libgtest-dev",
    "libgmock-dev",
    "ament_cmake_gtest",
)
BUILD_TOOLS = ("cmake", "ament_cmake*", "rosidl_default_generators", "pkg-config")
ROS = ("rcl", "rcl_*", "rclcpp*", "rclpy", "rcutils", "rcpputils", "rmw*", "rosidl_*", "*_msgs")
RCLCPP = ("rclcpp*",)


@dataclass(frozen=True)
class Layer:
    """What a package may see besides itself, the standard library and the C library.

    ours: Our own packages that it may depend on.
    only: Third-party names it may use (patterns); None for any that `never` does not name.
    never: Third-party names it must not use (patterns).
    code: Whether the folder may hold programs at all.
    """

    ours: frozenset[str] = frozenset()
    only: tuple[str, ...] | None = None
    never: tuple[str, ...] = ()
    code: bool = True


def _layer(
    *ours: str, only: tuple[str, ...] | None = None, never: tuple[str, ...] = (), code: bool = True
) -> Layer:
    return Layer(frozenset(ours), only, never, code)


_FRONT_ENDS = (
    "rclrt_trace",
    "rclrt_core",
    "rclrt_config",
    "rclrt_front_end",
    "rclrt_rcl",
    "rclrt_rclcpp",
)
_REFERENCE = ("rclrt_reference_interfaces", "rclrt_reference_system", "rclrt_scenarios")

ROOMS = ("engine", "kernel", "micro", "prove", "ros", "see", "try")

LAYERS = {
    "rclrt_trace": _layer(only=()),
    "rclrt_core": _layer("rclrt_trace", only=("boost", "libboost-dev")),
    "rclrt_probe": _layer("rclrt_trace", "rclrt_core"),
    "rclrt_config": _layer("rclrt_core", only=("yaml-cpp",)),
    "rclrt_watch": _layer("rclrt_trace", "rclrt_core", "rclrt_config", only=()),
    # ROS in headers that only front ends include.
    "rclrt_front_end": _layer(
        "rclrt_core",
        "rclrt_config",
        "rclrt_watch",
        "rclrt_scx",
        only=("rcl", "rmw", "diagnostic_msgs", "rosidl_runtime_c", "tracetools"),
    ),
    "rclrt_rcl": _layer(
        "rclrt_trace", "rclrt_core", "rclrt_config", "rclrt_front_end", never=RCLCPP
    ),
    "rclrt_agent": _layer(
        "rclrt_core", "rclrt_config", "rclrt_front_end", "rclrt_rcl", "rclrt_micro", never=RCLCPP
    ),
    "rclrt_rclcpp": _layer("rclrt_trace", "rclrt_core", "rclrt_config", "rclrt_front_end"),
    "rclrt_scx": _layer("rclrt_trace", only=("bpf", "libbpf*")),
    "rclrt_micro": _layer("rclrt_trace", never=ROS),
    "rclrt_analysis": _layer("rclrt_scenarios", never=ROS),
    "rclrt_tools": _layer("rclrt_analysis", "rclrt_scenarios", never=ROS),
    "rclrt_scenarios": _layer(only=(), code=False),
    "rclrt_reference_interfaces": _layer(never=RCLCPP),
    # The executors to compare with live beside the benchmarks.
    "rclrt_reference_system": _layer(*_FRONT_ENDS, *_REFERENCE, "rclrt_benchmarks"),
    "rclrt_benchmarks": _layer(
        *_FRONT_ENDS, "rclrt_reference_interfaces", "rclrt_analysis", "rclrt_tools"
    ),
    "rclrt_examples": _layer(*_FRONT_ENDS, "rclrt_micro", "rclrt_agent"),
}

# The analysis needs no ROS; but what it has seen may be told to ROS, where there is one. What the
# generator makes needs none either; it reads messages with the parser of ROS.
MAY_SEE_ROS = {
    "rclrt_tools/src/rclrt_tools/live/outside.py",
    "rclrt_tools/src/rclrt_tools/watch/diagnostics.py",
    "rclrt_micro/tools/generate_messages.py",
}

# Headers of libraries that are not called like their package.
PACKAGE_OF = {"rclrt_baselines": "rclrt_benchmarks"}

# Only the platform talks to the operating system. The rest of the engine sees what all platforms
# have in common: rclrt_core/platform.hpp, and the headers right in `platform/`.
_OF_THE_SYSTEM = re.compile(r"(sched|pthread|unistd|fcntl|poll|signal|dirent)\.h|(linux|sys)/.*")
_PLATFORM = ("src", "platform", "linux")
_PLATFORM_HEADERS = frozenset({"rclrt_core/linux_platform.hpp", "rclrt_core/sim_platform.hpp"})


def check(root: Path) -> list[str]:
    """Return one line of text per violation in the tree at `root`."""
    violations: list[str] = []
    for folder in sorted(path for room in ROOMS for path in (root / room).glob("rclrt_*")):
        if not folder.is_dir():
            continue
        layer = LAYERS.get(folder.name)
        if layer is None:
            violations.append(f"{folder.name}: no layer in tools/check_layers.py; add it there")
            continue
        for path in sorted(folder.rglob("*")):
            for line, problem in _check_file(path, folder, layer):
                violations.append(f"{path.relative_to(root)}:{line}: {problem}")
    return violations


def _check_file(path: Path, folder: Path, layer: Layer) -> Iterator[tuple[int, str]]:
    is_code = path.suffix in CODE_SUFFIXES or path.suffix == ".py"
    if is_code and not layer.code:
        yield 1, f"{folder.name} holds data only"
    elif path.suffix in CODE_SUFFIXES:
        yield from _check_includes(path, folder, layer)
    elif path.suffix == ".py":
        yield from _check_imports(path, folder, layer)
    elif path.name == "package.xml":
        yield from _check_manifest(path, folder, layer)


def _check_includes(path: Path, folder: Path, layer: Layer) -> Iterator[tuple[int, str]]:
    where = path.relative_to(folder).parts
    in_test = where[0] in TEST_FOLDERS
    in_engine = folder.name == "rclrt_core" and where[0] in ("src", "include")
    own = None  # The folder of the platform that the file belongs to.
    if where[:2] == _PLATFORM[:2] and len(where) > 3:
        own = folder.joinpath(*where[:3])
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        match = re.match(r"\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", line)
        if not match:
            continue
        header = match[2]
        parts = Path(header).parts
        if in_engine and _is_of_a_platform(path, header, folder, own):
            yield number, f"{header} is one platform's; its folder in src/platform alone may see it"
            continue
        if ".." in parts and not _stays_inside(path, header, folder):
            yield (
                number,
                f"{header} leads out of {folder.name}; name a public header instead",
            )
        elif parts[0].startswith("rclrt_"):
            package = PACKAGE_OF.get(parts[0], parts[0])
            if package == folder.name:
                continue
            if package not in layer.ours:
                yield number, _forbidden(folder, package)
            elif "detail" in parts or "src" in parts:
                yield number, f"{header} is private to {package}"
        elif len(parts) > 1 and parts[0] not in SYSTEM_FOLDERS and ".." not in parts:
            if match[1] == '"' and _is_own(path, header, folder):
                continue
            yield from _check_name(number, parts[0], folder, layer, in_test)
        is_platform = in_test or where[:3] == _PLATFORM
        if in_engine and _OF_THE_SYSTEM.fullmatch(header) and not is_platform:
            yield number, f"{header} belongs in rclrt_core/{'/'.join(_PLATFORM)} only"


def _check_imports(path: Path, folder: Path, layer: Layer) -> Iterator[tuple[int, str]]:
    in_test = path.relative_to(folder).parts[0] in TEST_FOLDERS
    if in_test and folder.name not in ("rclrt_analysis", "rclrt_tools"):
        return  # A test may well be a peer on rclpy.
    if path.relative_to(folder.parent).as_posix() in MAY_SEE_ROS:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
        else:
            continue
        for name in {name.partition(".")[0] for name in names}:
            if name.startswith("rclrt_") and name != folder.name:
                if name not in layer.ours:
                    yield node.lineno, _forbidden(folder, name)
            elif any(fnmatch(name, pattern) for pattern in layer.never):
                yield node.lineno, _forbidden(folder, name)


def _check_manifest(path: Path, folder: Path, layer: Layer) -> Iterator[tuple[int, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    for element in ElementTree.parse(path).getroot():
        name = (element.text or "").strip()
        if not element.tag.endswith("depend") or not name:
            continue
        number = next((i for i, line in enumerate(lines, start=1) if f">{name}<" in line), 1)
        if name.startswith("rclrt_"):
            if name != folder.name and name not in layer.ours:
                yield number, _forbidden(folder, name)
        elif element.tag == "buildtool_depend" and _matches(name, BUILD_TOOLS):
            continue
        else:
            in_test = element.tag == "test_depend"
            yield from _check_name(number, name, folder, layer, in_test)


def _check_name(
    number: int, name: str, folder: Path, layer: Layer, in_test: bool
) -> Iterator[tuple[int, str]]:
    """Check a third-party name: the folder of a header, or a package."""
    if in_test and _matches(name, TEST_LIBRARIES):
        return
    refused = layer.only is not None and not _matches(name, layer.only)
    if refused or _matches(name, layer.never):
        yield number, _forbidden(folder, name)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def _stays_inside(path: Path, header: str, folder: Path) -> bool:
    return (path.parent / header).resolve().is_relative_to(folder.resolve())


def _is_own(path: Path, header: str, folder: Path) -> bool:
    return any((base / header).exists() for base in (path.parent, folder / "src", folder / "test"))


def _is_of_a_platform(path: Path, header: str, folder: Path, own: Path | None) -> bool:
    """Return whether a header is of one platform, and not of the file's own."""
    if header in _PLATFORM_HEADERS:
        return own is None
    for base in (path.parent, folder / "src"):
        file = (base / header).resolve()  # However the path gets there.
        for name in ("linux", "sim"):
            one = (folder / "src" / "platform" / name).resolve()
            if one in file.parents:
                return own is None or own.resolve() != one
    return False


def _forbidden(folder: Path, name: str) -> str:
    return f"{folder.name} must not see {name}"


def main() -> int:
    """Check the tree named on the command line, by default the one this file lies in."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    violations = check(parser.parse_args().root)
    print("\n".join(violations) if violations else "layers: every package keeps to its own")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
