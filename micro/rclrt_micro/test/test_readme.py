# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What README.md says: its program is the one that is built, and short; and how it is built.

None of the other build systems is here. Of Zephyr and ESP-IDF a few functions stand in, which do
what their documentation says.
"""

import json
import os
import re
import select
import subprocess
from pathlib import Path

import pytest
from firmware import Peer

PACKAGE = Path(__file__).resolve().parents[1]

ZEPHYR = """
function(zephyr_library_named name)
  add_library(${name} STATIC)
  set(library ${name} PARENT_SCOPE)
endfunction()
function(zephyr_library_sources)
  target_sources(${library} PRIVATE ${ARGN})
endfunction()
function(zephyr_include_directories)
  target_include_directories(${library} PRIVATE ${ARGN})
endfunction()
set(CONFIG_RCLRT_MICRO y)
"""
ESP_IDF = """
set(ESP_PLATFORM 1)
function(idf_component_register)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SRC_DIRS" "INCLUDE_DIRS;PRIV_INCLUDE_DIRS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${arg_UNPARSED_ARGUMENTS}")
  endif()
  file(GLOB sources ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SRC_DIRS}/*.c)
  add_library(rclrt_micro STATIC ${sources})
  target_include_directories(rclrt_micro PRIVATE ${arg_INCLUDE_DIRS} ${arg_PRIV_INCLUDE_DIRS})
endfunction()
"""


def _program(name: str) -> Path:
    found = sorted(Path(os.environ["RCLRT_BUILD_DIR"]).rglob(f"rclrt_micro_{name}"))
    return next(path for path in found if path.is_file() and os.access(path, os.X_OK))


def test_the_readme_shows_the_first_program_as_it_is() -> None:
    program = (PACKAGE / "example" / "publisher.c").read_text(encoding="utf-8")
    program = program[program.index("#include") :]
    assert program in (PACKAGE / "README.md").read_text(encoding="utf-8")
    assert len(program.splitlines()) < 28


def test_the_first_program_publishes_and_the_second_prints() -> None:
    peer = Peer()
    try:
        with subprocess.Popen([_program("publisher"), peer.device]) as program:
            try:
                assert peer.take(3) == [("tick", 0), ("tick", 1), ("tick", 2)]
            finally:
                program.kill()
        peer.command("restart")
        with subprocess.Popen(
            [_program("subscriber"), peer.device], stdout=subprocess.PIPE, text=True
        ) as program:
            try:
                assert program.stdout is not None
                # What is published before the program reads is not for it.
                while not select.select([program.stdout], [], [], 0.3)[0]:
                    assert program.poll() is None
                    peer.publish("tick", 7)
                assert program.stdout.readline() == "tick 7\n"
            finally:
                program.kill()
    finally:
        peer.close()


def test_without_tests_it_is_built_where_there_is_no_compiler_for_cpp(tmp_path: Path) -> None:
    command = ["cmake", "-S", str(PACKAGE), "-B", str(tmp_path), "-G", "Ninja"]
    command += ["-DRCLRT_BUILD_TESTS=OFF", "-DRCLRT_WERROR=ON"]
    environment = {**os.environ, "CXX": "/no/such/compiler"}
    for line in (command, ["ninja", "-C", str(tmp_path)]):
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr


def _sources() -> set[str]:
    return {path.name for path in (PACKAGE / "src").glob("*.c")}


def _members(library: Path) -> set[str]:
    listed = subprocess.run(["ar", "t", str(library)], check=True, capture_output=True, text=True)
    return {re.sub(r"\.o(bj)?$", "", name) for name in listed.stdout.split()}


@pytest.mark.parametrize(("functions", "folder"), [(ZEPHYR, "zephyr"), (ESP_IDF, ".")])
def test_cmake_of_others_builds_the_whole_library(
    functions: str, folder: str, tmp_path: Path
) -> None:
    project = "cmake_minimum_required(VERSION 3.22)\nproject(other LANGUAGES C)\n"
    project += f"{functions}\nadd_subdirectory({PACKAGE / folder} made)\n"
    (tmp_path / "CMakeLists.txt").write_text(project, encoding="utf-8")
    build = tmp_path / "build"
    for command in (
        ["cmake", "-S", str(tmp_path), "-B", str(build), "-G", "Ninja"],
        ["ninja", "-C", str(build)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr
    assert _members(next(build.rglob("librclrt_micro.a"))) == _sources()


@pytest.mark.parametrize(
    ("size", "says"),
    [
        ("message_bytes = 62", "message_bytes: a multiple of 4, at least 64"),
        ("message_bytes = 32", "message_bytes: a multiple of 4, at least 64"),
        ("messages = 0", "messages, frames: at least 1, at most 65535"),
        ("messages = 65536", "messages, frames: at least 1, at most 65535"),
        ("frames = 65536", "messages, frames: at least 1, at most 65535"),
        ("ring_bytes = 1000", "ring_bytes: a power of two"),
        ("ring_bytes = 512", "ring_bytes: a power of two"),
        ("timers = 1", ""),
    ],
)
def test_a_size_that_cannot_be_does_not_compile_and_is_named(size: str, says: str) -> None:
    sizes = dict(message_bytes=256, messages=8, frames=8, ring_bytes=1024, timers=1)
    name, _, value = size.partition(" = ")
    sizes[name] = int(value)
    listed = ", ".join(f"{one} = {number}" for one, number in sizes.items())
    done = subprocess.run(
        ["cc", "-std=c11", "-fsyntax-only", "-x", "c", f"-I{PACKAGE}/include", "-"],
        input=f'#include "rclrt_micro/system.h"\nRCLRT_SYSTEM(c, {listed});\n',
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode == 0) == (not says), done.stderr
    assert says in done.stderr


def test_manifests_name_what_is_there_and_one_version() -> None:
    package = (PACKAGE / "package.xml").read_text(encoding="utf-8")
    version = re.search(r"<version>(.+)</version>", package)
    idf = (PACKAGE / "idf_component.yml").read_text(encoding="utf-8")
    platformio = json.loads((PACKAGE / "library.json").read_text(encoding="utf-8"))
    build = platformio["build"]
    assert (PACKAGE / build["includeDir"] / platformio["headers"]).exists()
    assert (PACKAGE / build["srcDir"] / "client.c").exists()
    assert version is not None
    assert platformio["version"] == version[1]
    assert f'version: "{version[1]}"' in idf
    module = (PACKAGE / "zephyr" / "module.yml").read_text(encoding="utf-8")
    for key in ("cmake", "kconfig"):
        place = re.search(rf"^  {key}: (.+)$", module, re.MULTILINE)
        assert place is not None
        assert (PACKAGE / place[1]).exists()
