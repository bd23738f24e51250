# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The layer check finds what it must and lets pass what is allowed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[1] / "check_layers.py"


def run(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TOOL, root], capture_output=True, text=True, timeout=60, check=False
    )


def write(root: Path, name: str, text: str) -> None:
    path = root / "engine" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def manifest(*dependencies: str) -> str:
    return f"<package format='3'>\n{''.join(dependencies)}</package>\n"


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("rclrt_core/src/a.cpp", "#include <rcl/rcl.h>\n", "rclrt_core must not see rcl"),
        ("rclrt_core/src/a.cpp", "#include <yaml-cpp/yaml.h>\n", "must not see yaml-cpp"),
        ("rclrt_core/src/a.cpp", "\n#  include <sched.h>\n", "a.cpp:2: sched.h belongs in"),
        ("rclrt_core/src/a.cpp", '#include "platform/linux/b.hpp"\n', "is one platform's"),
        ("rclrt_core/src/edf/a.cpp", '#include "../platform/sim/b.hpp"\n', "is one platform's"),
        ("rclrt_core/src/a.cpp", "#include <rclrt_core/sim_platform.hpp>\n", "is one platform's"),
        ("rclrt_core/include/a.hpp", '#include "rclrt_rcl/node.hpp"\n', "must not see rclrt_rcl"),
        ("rclrt_core/src/a.cpp", "#include <gtest/gtest.h>\n", "must not see gtest"),
        ("rclrt_trace/include/a.h", "#include <boost/any.hpp>\n", "must not see boost"),
        ("rclrt_rcl/src/a.cpp", "#include <rclcpp/rclcpp.hpp>\n", "must not see rclcpp"),
        ("rclrt_rcl/src/a.cpp", '#include "../../rclrt_core/src/b.hpp"\n', "leads out of"),
        ("rclrt_config/src/a.cpp", "#include <rcl/rcl.h>\n", "rclrt_config must not see rcl"),
        ("rclrt_core/a.cpp", '#include "rclrt_config/machine.hpp"\n', "must not see rclrt_config"),
        ("rclrt_examples/a.cpp", '#include "rclrt_rcl/detail/b.hpp"\n', "is private to rclrt_rcl"),
        ("rclrt_rcl/a.cpp", '#include "rclrt_baselines/a.hpp"\n', "must not see rclrt_benchmarks"),
        ("rclrt_micro/src/a.c", '#include "rclrt_core/job.hpp"\n', "must not see rclrt_core"),
        ("rclrt_analysis/src/a.py", "import os, rclpy.node\n", "must not see rclpy"),
        ("rclrt_scenarios/a.py", "", "holds data only"),
        (
            "rclrt_core/package.xml",
            manifest("<depend>rcl</depend>"),
            "package.xml:2: rclrt_core must not see rcl",
        ),
        (
            "rclrt_rcl/package.xml",
            manifest("<exec_depend>rclrt_rclcpp</exec_depend>"),
            "must not see rclrt_rclcpp",
        ),
        ("rclrt_surprise/a.cpp", "", "no layer"),
    ],
)
def test_what_a_layer_must_not_see_is_named_with_its_place(
    tmp_path: Path, file: str, text: str, complaint: str
) -> None:
    write(tmp_path, file, text)
    result = run(tmp_path)
    assert result.returncode == 1
    assert complaint in result.stdout
    assert len(result.stdout.splitlines()) == 1


def test_what_a_layer_may_see_passes(tmp_path: Path) -> None:
    write(tmp_path, "rclrt_core/src/own/b.hpp", "")
    write(
        tmp_path,
        "rclrt_core/src/a.cpp",
        '#include <vector>\n#include <sys/mman.h>\n#include "own/b.hpp"\n'
        '#include "rclrt_core/job.hpp"\n#include "rclrt_trace/record.h"\n'
        "#include <boost/intrusive/set.hpp>\n",
    )
    write(
        tmp_path,
        "rclrt_core/src/platform/linux/c.cpp",
        '#include <sched.h>\n#include "rclrt_core/linux_platform.hpp"\n'
        '#include "platform/linux/d.hpp"\n#include "platform/e.hpp"\n',
    )
    write(tmp_path, "rclrt_core/src/platform/linux/d.hpp", "")
    write(tmp_path, "rclrt_core/src/platform/e.hpp", "")
    write(tmp_path, "rclrt_core/src/f.cpp", '#include "platform/e.hpp"\n')
    write(
        tmp_path,
        "rclrt_core/test/d.cpp",
        '#include <gtest/gtest.h>\n#include <sched.h>\n#include "../src/own/b.hpp"\n',
    )
    write(
        tmp_path,
        "rclrt_core/package.xml",
        manifest(
            "<buildtool_depend>cmake</buildtool_depend>",
            "<depend>rclrt_trace</depend><test_depend>libgtest-dev</test_depend>",
        ),
    )
    write(tmp_path, "rclrt_rcl/src/a.cpp", "#include <rcl/rcl.h>\n#include <yaml-cpp/yaml.h>\n")
    write(tmp_path, "rclrt_rcl/test/peer.py", "import rclpy\n")
    write(tmp_path, "rclrt_benchmarks/a.cpp", '#include "rclrt_baselines/a.hpp"\n')
    result = run(tmp_path)
    assert (result.returncode, result.stderr) == (0, "")


def test_this_tree_keeps_its_layers() -> None:
    result = run(TOOL.parents[1])
    assert result.returncode == 0, result.stdout
