# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Packages of this build, installed in a folder, in a program that lies in another one.

With ROS 2 from PyPI nothing is sourced: the packages find it by themselves. The other world is a
prefix like /opt/ros/<distro>, which is sourced. The test makes one of the files of the wheels.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
from first_hour import opt_ros

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("RCLRT_BUILD_DIR", ROOT / "build"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
BELOW_ROS = (
    "rclrt_trace", "rclrt_scx", "rclrt_micro", "rclrt_core", "rclrt_config", "rclrt_watch",
    "rclrt_front_end",
)  # fmt: skip
ALL = (*BELOW_ROS, "rclrt_rcl")
CACHE = BUILD / "CMakeCache.txt"
PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(robot LANGUAGES CXX)
find_package({package} {other} QUIET)
if({package}_FOUND)
  message(FATAL_ERROR "another version is taken")
endif()
{lines}
add_executable(robot main.cpp)
target_link_libraries(robot {target})
"""


# A repository of its own: two nodes and the chain of their callbacks, on rclrt_rcl or on rclcpp.
CHAIN = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.22)
project(robot LANGUAGES CXX)
find_package({package} REQUIRED)
find_package(std_msgs REQUIRED)
add_executable(robot main.cpp)
target_link_libraries(robot {package}::{package} std_msgs::std_msgs__rosidl_typesupport_cpp)
install(TARGETS robot DESTINATION lib/robot)
""",
    "robot.yaml": """/**:
  ros__parameters:
    rclrt:
      chains:
        see_and_stop:
          callbacks: [/camera/timer/10ms, /brake/subscription/image]
          deadline: 1s
""",
    "main.cpp": """#include <chrono>
#include <cstdio>
#include <memory>

{headers}
#include "std_msgs/msg/empty.hpp"

using namespace std::chrono_literals;
using Image = std_msgs::msg::Empty;

int main(int argc, char ** argv)
{{
  {ros}::init(argc, argv);
  {package}::PreemptiveExecutor executor;
  auto camera = std::make_shared<{ros}::Node>("camera");
  auto images = camera->create_publisher<Image>("image", 1);
  auto timer = camera->create_wall_timer(10ms, [&] {{ images->publish(Image()); }});
  auto brake = std::make_shared<{ros}::Node>("brake");
  int seen = 0;
  auto stop = brake->create_subscription<Image>("image", 1, [&](const Image &) {{
    if (++seen == 5) {{
      executor.cancel();
    }}
  }});
  executor.add_node(camera);
  executor.add_node(brake);
  executor.spin();
  std::printf("%d images\\n", seen);
  {ros}::shutdown();
}}
""",
}


def is_of_wheels() -> bool:
    return "RCLRT_ROS_FROM_PYPI:INTERNAL=TRUE" in CACHE.read_text("utf-8")


def run(*command: object, **variables: str) -> str:
    kept = {k: v for k, v in os.environ.items() if "PATH" not in k or k == "PATH"}
    if added := os.environ.get("CMAKE_PREFIX_PATH"):  # A workspace, with rclcpp for instance.
        libraries = ":".join(f"{prefix}/lib" for prefix in added.split(":"))
        kept |= {"CMAKE_PREFIX_PATH": added, "LD_LIBRARY_PATH": libraries}
    if not is_of_wheels():
        kept = dict(os.environ)  # Sourced.
    if "BASH_ENV" in variables:
        command = ("bash", "-c", 'exec "$@"', "bash", *command)  # What sources it.
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=300,
        env={**kept, **variables},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", name="prefix")
def install(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = tmp_path_factory.mktemp("prefix")
    for package in (*ALL, "rclrt_rclcpp"):
        if (BUILD / package / "cmake_install.cmake").exists():
            run("cmake", "--install", BUILD / package, "--prefix", prefix)
    return prefix


@pytest.fixture(scope="module", name="distribution")
def install_for_a_distribution(
    prefix: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, str]]:
    """Configure the tree with that ROS, and install it with the libraries of the other build."""
    if not is_of_wheels():
        return prefix, {}
    folder = tmp_path_factory.mktemp("distribution")
    (wheels,) = re.findall(r"^RCLRT_VENV:\w+=(.*)$", CACHE.read_text("utf-8"), re.M)
    variables = opt_ros(folder, Path(wheels))
    packages = ";".join(
        next(ROOT.glob(f"*/{name}/package.xml")).parent.relative_to(ROOT).as_posix() for name in ALL
    )
    run(
        "cmake", "-G", "Ninja", "-S", ROOT, "-B", folder / "build", f"-DRCLRT_VENV={wheels}",
        "-DRCLRT_BUILD_TESTS=OFF", f"-DRCLRT_PACKAGES={packages}", **variables,
    )  # fmt: skip
    for package in ALL:
        for file in (BUILD / package).rglob("*"):
            made = folder / "build" / file.relative_to(BUILD)
            if file.is_file() and made.parent.is_dir() and not made.exists():
                made.symlink_to(file)
        run("cmake", "--install", folder / "build" / package, "--prefix", folder / "prefix")
    return folder / "prefix", variables


def build(
    folder: Path, prefix: Path, package: str, lines: str, main: str, **variables: str
) -> Path:
    """Build a program of these lines as README has them, and refuse the minor version before."""
    major, minor, _ = (ROOT / "tools/VERSION").read_text(encoding="utf-8").split(".")
    lines = lines.replace("REQUIRED", f"{major}.{minor} REQUIRED")
    (folder / "main.cpp").write_text(main, encoding="utf-8")
    (folder / "CMakeLists.txt").write_text(
        PROJECT.format(
            package=package, other=f"{major}.{int(minor) - 1}", lines=lines,
            target=f"{package}::{package}",
        ),
        encoding="utf-8",
    )  # fmt: skip
    found = f"-DCMAKE_PREFIX_PATH={prefix}"
    run("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", found, **variables)
    run("ninja", "-C", folder / "build", **variables)
    return folder / "build/robot"


def test_a_program_on_rcl_is_built_where_a_distribution_is_sourced_and_starts(
    tmp_path: Path, distribution: tuple[Path, dict[str, str]]
) -> None:
    prefix, variables = distribution
    others = "".join(f"find_package({package} REQUIRED)\n" for package in BELOW_ROS)
    main = (ROOT / "ros/rclrt_rcl/example/first_node.cpp").read_text(encoding="utf-8")
    once = main.replace("executor.spin();", "if (argc < 2) executor.spin();")
    lines = f"{others}find_package(rclrt_rcl REQUIRED)"
    robot = build(tmp_path, prefix, "rclrt_rcl", lines, once, **variables)
    run(robot, "once", **variables)
    if variables:
        assert not [*prefix.rglob("RclrtRosWheels.cmake")]
        cache = (tmp_path / "build/CMakeCache.txt").read_text(encoding="utf-8")
        assert re.search(r"^rcl_DIR:PATH=.*/opt/ros/kilted/", cache, re.M)


def test_the_lines_of_the_readme_are_enough(tmp_path: Path, prefix: Path) -> None:
    if not (prefix / "share/rclrt_rclcpp").exists():
        pytest.skip("rclrt_rclcpp is not built: there is no rclcpp")
    (main,) = re.findall(r"```cpp\n(.*?)```", README, re.S)
    (find,) = re.findall(r"`(find_package\(.*?\))`", README)
    assert "`rclrt_rclcpp::rclrt_rclcpp`" in README
    build(tmp_path, prefix, "rclrt_rclcpp", find, main)


@pytest.mark.parametrize(
    ("package", "ros", "headers"),
    [
        ("rclrt_rcl", "rclrt_rcl", ["rclrt_rcl/rclrt_rcl"]),
        ("rclrt_rclcpp", "rclcpp", ["rclcpp/rclcpp", "rclrt_rclcpp/preemptive_executor"]),
    ],
)
def test_two_nodes_with_a_chain_are_a_repository_of_fifty_lines(
    tmp_path: Path, prefix: Path, package: str, ros: str, headers: list[str]
) -> None:
    if not (prefix / "share" / package).exists():
        pytest.skip(f"{package} is not built here")
    lines = "\n".join(f'#include "{header}.hpp"' for header in headers)
    for name, text in CHAIN.items():
        if name != "robot.yaml":
            text = text.format(package=package, ros=ros, headers=lines)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert sum(text.count("\n") for text in CHAIN.values()) <= 50
    made = tmp_path / "build"
    run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", made, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("ninja", "-C", made)
    run("cmake", "--install", made, "--prefix", tmp_path / "installed")
    robot = tmp_path / "installed/lib/robot/robot"
    said = run(robot, "--ros-args", "--params-file", tmp_path / "robot.yaml")
    assert said.endswith("5 images\n")
