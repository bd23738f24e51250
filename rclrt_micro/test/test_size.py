# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Code and memory on a Cortex-M7: within the limits, without warnings, and as README.md says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
MAX_TEXT = 28_000
FLAGS = ["-std=c11", "-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-Os"]
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
# A row of the table in README.md, and the structures whose sizes stand in it.
ROWS = {
    "daemon, session, executor": ("daemon", "session", "executor"),
    "a message to send": ("node",),
    "a frame to take": ("slot",),
    "timer, guard condition": ("timer", "guard"),
    "publisher, subscription": ("publisher", "subscription"),
    "service, client": ("service", "client"),
    "budget": ("budget",),
}

pytestmark = pytest.mark.skipif(
    shutil.which("arm-none-eabi-gcc") is None,
    reason="no arm-none-eabi-gcc: apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi",
)


def _compile(source: Path, target: Path, flags: list[str] | None = None) -> None:
    command = ["arm-none-eabi-gcc", *(flags or FLAGS), *WARNINGS, f"-I{PACKAGE / 'include'}"]
    command += [f"-I{PACKAGE / 'src'}", "-c", str(source), "-o", str(target)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr


def test_the_library_is_small_and_has_no_static_memory(tmp_path: Path) -> None:
    objects = []
    for source in sorted((PACKAGE / "src").glob("*.c")):
        objects.append(tmp_path / (source.stem + ".o"))
        _compile(source, objects[-1])
    table = subprocess.run(
        ["arm-none-eabi-size", "-t", *map(str, objects)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    print(table)
    text, data, bss = map(int, table.splitlines()[-1].split()[:3])
    assert text < MAX_TEXT
    assert (data, bss) == (0, 0)


def test_the_library_calls_nothing_but_memory_and_string_functions(tmp_path: Path) -> None:
    defined: set[str] = set()
    undefined: set[str] = set()
    for source in (PACKAGE / "src").glob("*.c"):
        target = tmp_path / (source.stem + ".o")
        _compile(source, target)
        symbols = subprocess.run(
            ["arm-none-eabi-nm", str(target)],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for line in symbols.splitlines():
            kind, name = line.split()[-2:]
            (undefined if kind == "U" else defined).add(name)
    allowed = {"memcpy", "memset", "memcmp", "strlen"}
    compiler = {name for name in undefined if name.startswith("__aeabi_")}  # 64-bit division
    assert undefined - defined - compiler <= allowed


@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m33"])
def test_the_port_without_an_operating_system_is_for_other_cores_too(
    core: str, tmp_path: Path
) -> None:
    source = PACKAGE / "ports" / "baremetal" / "cortex_m.c"
    _compile(source, tmp_path / "port.o", ["-std=gnu11", f"-mcpu={core}", "-mthumb", "-Os"])


def test_the_readme_gives_the_sizes_of_the_structures(tmp_path: Path) -> None:
    names = [name for row in ROWS.values() for name in row]
    source = tmp_path / "sizes.c"
    lines = ['#include "rclrt_micro/system.h"']
    lines += [f"char size_of_{name}[sizeof(struct rclrt_{name})];" for name in names]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    target = tmp_path / "sizes.o"
    _compile(source, target)
    symbols = subprocess.run(
        ["arm-none-eabi-nm", "-S", str(target)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    sizes = {
        match[2]: int(match[1], 16)
        for match in re.finditer(r"^\w+ (\w+) \w size_of_(\w+)$", symbols, re.MULTILINE)
    }
    readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
    for row, members in ROWS.items():
        match = re.search(rf"^\| {re.escape(row)} \| ([\d, ]+)", readme, re.MULTILINE)
        assert match is not None, row
        said = [int(number) for number in re.findall(r"\d+", match[1])]
        assert said == [sizes[name] for name in members], row
