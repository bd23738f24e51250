# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What other build systems read: it names all sources, and they compile with what it says.

None of those build systems is here. Of Zephyr and ESP-IDF a few functions stand in, which do what
their documentation says.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

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


def test_an_arduino_library_compiles_with_src_alone_in_the_path(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(PACKAGE / "src", tmp_path / "src"))
    shutil.copytree(PACKAGE / "include" / "rclrt_micro", folder / "rclrt_micro")
    command = ["gcc", "-std=gnu11", "-Wall", "-Werror", "-fsyntax-only", f"-I{folder}"]
    command += map(str, folder.glob("*.c"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_manifests_name_what_is_there_and_one_version() -> None:
    manifest = json.loads((PACKAGE / "library.json").read_text(encoding="utf-8"))
    build = manifest["build"]
    assert (PACKAGE / build["includeDir"] / manifest["headers"]).exists()
    assert (PACKAGE / build["srcDir"] / "client.c").exists()
    package = (PACKAGE / "package.xml").read_text(encoding="utf-8")
    version = re.search(r"<version>(.+)</version>", package)
    idf = (PACKAGE / "idf_component.yml").read_text(encoding="utf-8")
    assert version is not None
    assert manifest["version"] == version[1]
    assert f'version: "{version[1]}"' in idf
    properties = (PACKAGE / "library.properties").read_text(encoding="utf-8")
    assert f"\nversion={version[1]}\n" in properties
    assert f"\nincludes={manifest['headers']}\n" in properties
    module = (PACKAGE / "zephyr" / "module.yml").read_text(encoding="utf-8")
    for key in ("cmake", "kconfig"):
        place = re.search(rf"^  {key}: (.+)$", module, re.MULTILINE)
        assert place is not None
        assert (PACKAGE / place[1]).exists()
