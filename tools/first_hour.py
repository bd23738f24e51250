#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Do what the pages tell a user to do, and print how long it took.

    tools/first_hour.py analysis   # pip install, by a user without rights or compilers; a file
    tools/first_hour.py pages      # after ./rclrt build: the commands of all pages
    tools/first_hour.py sourced    # after ./rclrt build: a workspace, where ROS 2 is sourced

.ci/debian13 does that on a bare Debian, and knows how long each may take.

The commands are taken from the pages: the lines of their blocks, and what stands in the text as
code. Each is executed in a folder where the files lie that pages speak of: robot.yaml,
planner.trace and so on. Where a page says `ros2 launch`, an example of the tree runs. What runs
until Ctrl-C gets one after some seconds. A command that cannot be executed here is printed with the
reason. What is sourced is a prefix like /opt/ros/kilted, made of the files of the wheels.

Exit status 1 if a command of a page is none: unknown to the program, or ended by a bug.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("RCLRT_BUILD_DIR", ROOT / "build"))
PAGES = (
    "README.md", "docs/tutorials/*.md", "docs/how-to/*.md", "docs/**/*.md",
    "[a-z]*/rclrt_*/**/*.md",
)  # fmt: skip
"""All pages of the site. Those that a user reads first come first."""
MODULES = ROOT / "tools/cmake/pypi"

LIMIT_S = 20
"""What runs longer gets a Ctrl-C."""
ENDLESS, ENDS_S = r"watch(?!.*(--for|\.trace))|record(?!.*--for)", 5
"""What runs until it gets one."""

ELSEWHERE = {
    r"colcon": "is done where ROS 2 is sourced",
    r"build-dep|apt install": "the stage debian-packages does it",
    r"^ros2 |rclcpp_app": "needs ros2cli, or a robot",
    r"build/examples/|rclrt_agent serial|^socat": "the tests of the examples do it",
    r"scx (un)?load|rclrt-scx": "needs Linux 6.12 with sched_ext; the stage kernels does it",
    r"rclrt top(?! --(once|svg|find))": "needs a terminal",
    r"bench (?!--)": "takes minutes; the stage length does it",
    r"rclrt test": "the stages of .ci/run do it",
    r"\./rclrt (build|demo)": "was done before",
    r"usermod|sudo tee": "changes this machine",
    r"^docker ": "needs Docker",
    r"/dev/tty|firmware|ninja -C": "needs a board",
    r"^pip install|python3 -m pip": "is done below, or before",
    r"architecture.yaml|contract.yaml|latency_monitor": "needs a file of another program",
    r"\bapply (?!--help)": "needs a file that names threads of this machine",
}
"""Why a command is not executed."""

NAMES = {
    r"\bTRACE\.\.\.": "robot.trace",
    r"\bMODEL\b": "try/rclrt_scenarios/models/autoware_reference_system.yaml",
    r"\bFILE\b": "file.out",
    r"(?<!\$)\bPROGRAM\b(?!=)": "first_node",
    r"--pid 4200": "--for 2 -- first_node",
    r"planner 4200": "first_node",
    r"--for (10|60)s?\b": "--for 3",
    r"--duration 15": "--duration 4",
    r" --samples 500 --seconds 3 --fraction 0.99$": "",
    r"(calibrate(?: -o \S+)?)$": r"\1 --samples 100 --seconds 1",
    r"> robot\.yaml$": "> another.yaml",  # The tutorial edits it, and has the result beside it.
    r"see_and_steer": "hot_path_rear",
    # The tutorial's model leaves things open, which only a plan settles.
    r"((?:analyze|watch|--model) )robot\.yaml(?! --plan)": r"\1whole.yaml",
}
"""What stands for a user's own file or program."""

MENTION = r"|\./rclrt ((trace|model|scx) )?\w+( --\w+)*"
"""In a text: a page speaks of this verb or option, and means no command."""
ALONE = tuple(
    f"./rclrt {verb}" for verb in ("build", "demo", "doctor", "test", "top", "trace list")
)
"""But these are commands without an argument."""


def commands(text: str) -> Iterator[str]:
    """Yield the commands of a page, in its order."""
    pattern = r"^```(?:sh|bash|console)?\n(.*?)^```|^```\w+\n.*?^```"
    pattern += r"|(?<!`)`((?:\./rclrt|sudo|colcon|pip) [^`]+)`"
    for block, inline in re.findall(pattern, text, re.S | re.M):
        inline = " ".join(inline.split())
        if inline.startswith(ALONE) or not re.fullmatch(MENTION, inline):
            yield inline
        prompts = "\n$ " in f"\n{block}"
        whole = re.sub(r'"([^"\n]*)\n\s*([^"]*)"', r'"\1 \2"', block.replace("\\\n", " "))
        for line in whole.splitlines():
            line = re.sub(r"(^|\s+)#\s.*", "", line.strip())
            if line and (prompts == line.startswith("$ ") or re.match("[A-Z_]+=", line)):
                yield line.removeprefix("$ ")


def prepare(folder: Path) -> dict[str, str]:
    """Put there what pages speak of; return the environment of their commands."""
    for name in ("try", "docs", "build"):
        (folder / name).symlink_to(BUILD if name == "build" else ROOT / name)
    (folder / "rclrt").write_text(f'#!/bin/sh\nexec {shlex.quote(str(ROOT / "rclrt"))} "$@"\n')
    node = BUILD / "rclrt_rcl/first_node"
    bin_ = folder / "bin"
    bin_.mkdir()
    (bin_ / "first_node").write_text(f"#!/bin/sh\nexec timeout -s INT 3 {node}\n")
    (bin_ / "ros2").write_text("#!/bin/sh\nexec first_node\n")
    (bin_ / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    for program in (folder / "rclrt", *bin_.iterdir()):
        program.chmod(0o755)
    environment = dict(os.environ, PATH=f"{bin_}:{os.environ['PATH']}")
    names = ("planner", "driver", "robot", "board")
    nodes = [
        subprocess.Popen(
            ["first_node"],
            env={**environment, "RCLRT_TRACE": str(folder / name)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name in names
    ]
    for name, one in zip(names, nodes, strict=True):
        one.wait()
        shutil.copy(next((folder / name).glob("*.trace")), folder / f"{name}.trace")
    shutil.copy(ROOT / "docs/tutorials/robot.yaml", folder)
    models = ROOT / "try/rclrt_scenarios/models"
    shutil.copy(models / "autoware_reference_system.yaml", folder / "whole.yaml")
    (folder / "control.params.yaml").symlink_to("robot.params.yaml")
    plan = ["./rclrt", "plan", "robot.yaml", "-o", "robot.params.yaml"]
    subprocess.run(plan, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    return environment


def not_here(command: str) -> str:
    """Return why a command is not executed, or nothing."""
    return next((why for what, why in ELSEWHERE.items() if re.search(what, command)), "")


def execute(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Execute a command of a page; return what is wrong with it, or nothing."""
    limit = ENDS_S if re.search(ENDLESS, command) else LIMIT_S
    command = re.sub(r"^(\S+=\S+ )?(?=\S)", rf"\1timeout -k 20 -s INT {limit} ", command)
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, errors="replace",
    )  # fmt: skip
    told = done.stdout + done.stderr
    # 1: not proved, late, refused; 124, 130: Ctrl-C.
    is_bug = done.returncode not in (0, 1, 124, 130)
    is_bug = is_bug or (done.returncode < 2 and "Traceback (most" in told)
    return "" if not is_bug else f"exit status {done.returncode}\n{told[-1500:]}"


def play(folder: Path) -> int:
    """Execute the commands of all pages, each once; return how many are wrong."""
    environment = prepare(folder)
    wrong, known = 0, set()
    for page in dict.fromkeys(path for pattern in PAGES for path in sorted(ROOT.glob(pattern))):
        print(f"\n{page.relative_to(ROOT)}")
        for command in commands(page.read_text(encoding="utf-8")):
            for what, name in NAMES.items():
                command = re.sub(what, name, command)
            if command in known:
                continue
            known.add(command)
            began = time.monotonic()
            told = variable = ""
            why = not_here(command)
            if match := re.fullmatch(r'([A-Z_]+)="([^"]*)"', command):
                environment[match[1]] = match[2]
                variable = "set"
            elif not why:
                told = execute(command, folder, environment)
            wrong += bool(told)
            took = variable or f"{time.monotonic() - began:5.1f} s"
            why = why and f"({why})"
            print(f"{'-' if why else took:>8}  {command}   {why}".rstrip(), flush=True)
            if told:
                print(f"WRONG: {told}")
    return wrong


def analysis(folder: Path) -> None:
    """Install with pip what needs no C++, and analyse a file."""
    venv = folder / "venv"
    model = ROOT / "try/rclrt_scenarios/models/autoware_reference_system.yaml"
    nobody = 65534 if os.geteuid() == 0 else None
    kept = {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "http", "no_"))}
    kept |= {"HOME": str(folder), "PATH": str(venv / "bin")}  # No compiler, no sudo.
    folder.chmod(0o777)
    commands: tuple[list[str | Path], ...] = (
        [sys.executable, "-m", "venv", venv],
        ["python3", "-m", "pip", "install", "-q", "--only-binary", ":all:", ROOT],
        ["rclrt", "analyze", model],
    )
    for command in commands:
        began = time.monotonic()
        program = shutil.which(str(command[0]), path=kept["PATH"]) or str(command[0])
        done = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            env=kept,
            user=nobody,
            group=nobody,
            extra_groups=None if nobody is None else [],
        )
        print(f"{time.monotonic() - began:5.1f} s  {shlex.join(map(str, command))}", flush=True)
        if done.returncode > (1 if program.endswith("rclrt") else 0):  # 1: a deadline is missed.
            raise SystemExit("a user without rights and compilers cannot do that")


def opt_ros(folder: Path, wheels: Path, build: Path = BUILD) -> dict[str, str]:
    """Lay the files of the wheels out as a distribution does; return what its setup.bash sets."""
    prefix = folder / "opt/ros/kilted"
    site = next(wheels.glob("lib/python3.*/site-packages"))
    for name, entries in (
        ("lib", (*wheels.glob("lib/*"), *site.glob("ros_*.libs/*"))),
        ("bin", wheels.glob("bin/*")),
        (".", (wheels / "include", wheels / "tools", wheels / "lib64")),
    ):
        (prefix / name).mkdir(parents=True, exist_ok=True)
        for entry in entries:
            link = prefix / name / entry.name
            if not link.exists() and not (name == "bin" and "python" in entry.name):
                link.symlink_to(entry)
    shutil.copytree(wheels / "share", prefix / "share")
    # What the machine that built the wheels has. A distribution names its own.
    for file in prefix.glob("share/*/cmake/*.cmake"):
        text = file.read_text(encoding="utf-8")
        new = re.sub(r'[^";]*(?:/opt/python|libtinyxml2)[^";]*', "", text)
        new = new.replace("lttng-ust", "dl")
        # Only the wheels need this: OpenSSL is inside of them.
        finds = f"list(APPEND CMAKE_MODULE_PATH {MODULES})\nfind_package(OpenSSL"
        new = new.replace("find_package(OpenSSL", finds)
        if new != text:
            file.write_text(new, encoding="utf-8")
    (prefix / "setup.bash").write_text(
        f"export AMENT_PREFIX_PATH={prefix} CMAKE_PREFIX_PATH={prefix}\n"
        f"export LD_LIBRARY_PATH={prefix}/lib\n"
        f"export PYTHONPATH={prefix}/{site.relative_to(wheels)}\n",
        encoding="utf-8",
    )
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    (python,) = re.findall(r"^_?Python3_LIBRARY_RELEASE:\w+=(.*)$", cache, re.M)
    # Only the wheels need this, too: their librcl.so needs symbols of Python.
    words = f"-Wl,--no-as-needed {python} -Wl,--allow-shlib-undefined"
    return {"LDFLAGS": words, "BASH_ENV": f"{prefix}/setup.bash"}


def sourced(folder: Path) -> None:
    """Play a user who has sourced a distribution: a workspace, a package, the installed command."""
    variables = opt_ros(folder, ROOT / ".rclrt/venv")
    setup = variables.pop("BASH_ENV")
    workspace = folder / "workspace"
    workspace.mkdir()
    # What ccache knows of these files in another folder it knows of them in this one.
    variables |= {"CCACHE_BASEDIR": str(folder), "CCACHE_NOHASHDIR": "1"}
    variables["CMAKE_GENERATOR"] = "Ninja"  # ROS 2 brings make; a bare Debian has none.
    variables["PATH"] = f"{folder}/colcon/bin:{folder}/rclrt/bin:{os.environ['PATH']}"
    pages = (ROOT / "README.md", ROOT / "try/rclrt_examples/README.md")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    builds = re.findall(r"colcon build --[^`\n]*", text)
    node = "install/obstacle_stop/lib/obstacle_stop/obstacle_stop --ros-args --params-file"
    node += " install/obstacle_stop/share/obstacle_stop/priorities.yaml"
    for command, tells in (
        ("python3 -m venv ../colcon && ../colcon/bin/pip install -q --no-deps -r "
         f"{ROOT}/tools/requirements/colcon.txt", ""),
        (f"python3 -m venv ../rclrt && ../rclrt/bin/pip install -q {ROOT}", ""),
        (f"git clone -q {ROOT} src/rclrt", ""),
        ("rclrt demo", "needs the C++ part of rclrt"),
        *((build.replace("NAME", "obstacle_stop"), "packages finished") for build in builds),
        (f"RCLRT_TRACE=slow timeout -s INT 3 {node} || test $? = 124", " scans, "),
        ("rclrt trace info slow", "/brake/subscription/scan"),
    ):  # fmt: skip
        began = time.monotonic()
        run = f". {setup}; if [ -e install ]; then . install/setup.sh; fi; {command}"
        done = subprocess.run(
            ["bash", "-c", run], cwd=workspace, env={**os.environ, **variables}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        print(f"{time.monotonic() - began:5.1f} s  {command}", flush=True)
        if tells not in done.stdout or (done.returncode and "needs" not in tells):
            raise SystemExit(f"exit status {done.returncode}\n{done.stdout[-3000:]}")


def main() -> None:
    """Do one of the three in a folder that is removed afterwards."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("analysis", "pages", "sourced"))
    what = parser.parse_args().what
    began = time.monotonic()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="rclrt-hour-") as name:
        if what == "pages":
            wrong = play(Path(name))
        else:
            {"analysis": analysis, "sourced": sourced}[what](Path(name))
    told = f"{wrong} commands are wrong, " if what == "pages" else ""
    print(f"first hour, {what}: {told}{time.monotonic() - began:.0f} s")
    sys.exit(min(wrong, 1))


if __name__ == "__main__":
    main()
