# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The stages of CI for other systems: what they say if they cannot run, and that they clean up.

Programs that the stages call are replaced by stand-ins, so nothing is installed or fetched.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from changed import reached

CI = Path(__file__).resolve().parents[2] / ".ci"
SKIPPED = 77
INDEX_TARGETS = '#!/bin/sh\n[ "$1" = indextargets ] && echo "http://[::1]:1/debian"\n'

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="what root alone may do")
on_debian = pytest.mark.skipif(
    not re.search("^ID=debian$", Path("/etc/os-release").read_text(), re.MULTILINE),
    reason="another system's mirror has no Debian",
)


class Stage:
    """Starts a script of .ci among stand-ins; its temporary folder is where `folder` says."""

    def __init__(self, tmp_path: Path) -> None:
        self.bin = tmp_path / "bin"
        self.folder = tmp_path / "made"
        self.bin.mkdir()
        self.folder.mkdir()
        for name, text in {
            "apt-get": INDEX_TARGETS,
            "unshare": '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nexec "$@"\n',
            "debootstrap": "#!/bin/sh\necho no such mirror\nexit 1\n",
        }.items():
            self.program(name, text)

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def start(self, script: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [CI / script],
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": f"{self.bin}:/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(self.folder)},
        )

    def says(self, script: str) -> str:
        process = self.start(script)
        printed, _ = process.communicate(timeout=60)
        assert process.returncode == SKIPPED, printed
        assert list(self.folder.iterdir()) == []
        return printed.splitlines()[-1]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.parametrize(
    ("program", "text", "why"),
    [
        ("id", "echo 1000", "only root can make a Debian in a folder"),
        pytest.param("unshare", "exit 1", "this machine allows no namespaces", marks=as_root),
        pytest.param("apt-get", "exit 1", "apt has no mirror of Debian", marks=as_root),
        pytest.param("true", "", "debootstrap: no such mirror", marks=[on_debian, as_root]),
    ],
)
def test_no_debian_is_made_where_that_cannot_be_and_the_reason_is_said(
    stage: Stage, program: str, text: str, why: str
) -> None:
    stage.program(program, f"#!/bin/sh\n{text}\n")
    assert stage.says("debian13") == f"debian13 is skipped: {why}"


@on_debian
@as_root
def test_nothing_is_left_of_a_debian_that_is_stopped_half_way(stage: Stage) -> None:
    # The real namespaces: a mount and a process in them must not outlive the script.
    (stage.bin / "unshare").unlink()
    mark = stage.folder.parent / "mounted"
    stage.program(
        "debootstrap",
        f'#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\nmount -t tmpfs tmpfs "$1"\n'
        f'touch "{mark}"\nexec sleep 1000\n',
    )
    if subprocess.run(["unshare", "--mount", "--pid", "--ipc", "--fork", "true"]).returncode:
        pytest.skip("this machine allows no namespaces")
    process = stage.start("debian13")
    for _ in range(600):
        if mark.exists():
            break
        time.sleep(0.1)
    assert mark.exists()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)  # ends when the last process that can write has ended
    assert process.returncode == 128 + signal.SIGTERM
    assert list(stage.folder.iterdir()) == []
    assert str(stage.folder) not in Path("/proc/mounts").read_text()


def test_who_is_not_root_is_told_what_to_install_for_arm64(stage: Stage) -> None:
    stage.program("id", "#!/bin/sh\necho 1000\n")
    for name in ("bash", "dirname", "env"):
        stage.program(name, f'#!/bin/sh\nexec /usr/bin/{name} "$@"\n')
    process = subprocess.run(
        ["/bin/bash", CI / "arm64"],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PATH": str(stage.bin)},
    )
    assert process.returncode == SKIPPED, process.stderr
    assert process.stdout == (
        "arm64 is skipped: missing: sudo apt-get install g++-aarch64-linux-gnu qemu-user-static\n"
    )


TOOL = Path(__file__).resolve().parents[1] / "changed.py"


def test_a_run_that_the_disk_has_no_room_for_ends_at_once_and_says_so(stage: Stage) -> None:
    stage.program("df", "#!/bin/sh\necho Avail\necho 17\n")
    stage.program("du", "#!/bin/sh\necho 1000 total\n")
    environment = {"PATH": f"{stage.bin}:/usr/bin:/bin"}
    done = subprocess.run([CI / "run"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done.stdout
    assert "1017 MB of disk, of the 15000 MB that a run takes: remove" in done.stderr


@pytest.mark.parametrize(
    ("files", "among", "not_among"),
    [
        ([], [], ["rclrt", "rclrt_core"]),
        (["engine/rclrt_core/src/engine.cpp"], ["rclrt_core", "rclrt_rclcpp"], ["rclrt_micro"]),
        (["micro/rclrt_micro/src/a.c"], ["rclrt_micro", "rclrt_agent"], ["rclrt_core"]),
        (["prove/rclrt_analysis/src/a.py"], ["rclrt", "rclrt_tools"], ["rclrt_core"]),
        (["docs/glossary.md"], ["rclrt"], ["rclrt_core"]),
        (["tools/cmake/Rclrt.cmake"], ["rclrt", "rclrt_trace", "rclrt_micro"], []),
    ],
)
def test_a_change_reaches_what_may_depend_on_it(
    files: list[str], among: list[str], not_among: list[str]
) -> None:
    found = reached(files)
    assert set(among) <= set(found)
    assert not set(not_among) & set(found)


def test_a_commit_that_is_not_there_is_named() -> None:
    done = subprocess.run(
        [sys.executable, str(TOOL), "no-such"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "--changed no-such" in done.stderr


TEST = """
from pathlib import Path

def test_it():
    assert list(Path("/dev/shm").iterdir()) == []
    Path("/dev/shm/rclrt-of-a-test").touch()
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0,
    reason="this machine gives no /dev/shm of our own",
)
@pytest.mark.parametrize("options", [["-q"], []])
def test_tests_have_a_shared_memory_of_their_own(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
    tools = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", "-p", "own_world",
         tmp_path],
        capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": str(tools)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert options or "/dev/shm: of these tests alone" in done.stdout
    assert not Path("/dev/shm/rclrt-of-a-test").exists()


def test_the_image_and_the_workspace_name_what_is_there() -> None:
    root = CI.parent
    image = (root / "tools/Containerfile").read_text(encoding="utf-8")
    (chosen,) = re.findall(r"--packages-up-to ([^\\\n]*[^\\\s])", image)
    packages = {path.parent.name for path in root.glob("*/*/package.xml")}
    assert {"rclrt_rclcpp", "rclrt_tools"} <= {*chosen.split()} <= packages
    stages = re.findall(r"^FROM \S+ AS (\w+)$", image, re.M)
    workspace = json.loads((root / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    build = workspace["build"]
    assert (root / ".devcontainer" / build["dockerfile"]).resolve() == root / "tools/Containerfile"
    assert build["target"] in stages
    keys = (root / "tools/requirements/rosdep.txt").read_text(encoding="utf-8")
    (distributions,) = re.findall(r"^(.*):.* rclcpp ", keys, re.M)
    assert {build["args"]["ROS_DISTRO"], *re.findall(r"^ARG ROS_DISTRO=(\w+)$", image, re.M)} == {
        "jazzy"
    }
    assert "jazzy" in distributions.split()
    (there,) = yaml.safe_load((root / "tools/rclrt.repos").read_text("utf-8"))[
        "repositories"
    ].items()
    assert there[0] == "rclrt" and {*there[1]} == {"type", "url", "version"}
