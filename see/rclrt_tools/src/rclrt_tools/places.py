# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How the command is called, and where the programs that it starts are: built, or installed.

The script `./rclrt` of the tree names the tree and its build (RCLRT_SOURCE_DIR, RCLRT_BUILD_DIR).
The installed command `rclrt` has neither; it sees a tree that the current folder is in.
"""

import os
import shutil
from pathlib import Path

NOT_A_TREE = "needs a clone of the repository: run ./rclrt {verb} in it"
MISSING = (
    "needs the C++ part of rclrt, which is not installed here: run ./rclrt {verb} in a clone of "
    "the repository, or build that in a ROS 2 workspace with colcon and source its "
    "install/setup.bash"
)
NO_WATCH = (
    "needs the program rclrt_watch, which is not installed here: install Debian's package "
    "rclrt-watch, run ./rclrt {verb} in a clone of the repository, or build the package "
    "rclrt_watch with colcon, and source its install/setup.bash"
)


def by_script() -> bool:
    """Return whether the script of the tree has started this: it builds what is missing."""
    return bool(os.environ.get("RCLRT_SOURCE_DIR"))


def me() -> str:
    """Return how the user calls the command."""
    return "./rclrt" if by_script() else "rclrt"


def tree() -> Path | None:
    """Return the tree that the script names, else that of the current folder, if it is in one."""
    if by_script():
        return Path(os.environ["RCLRT_SOURCE_DIR"])
    here = Path.cwd()
    return next(
        (p for p in (here, *here.parents) if (p / "see/rclrt_tools/setup.py").exists()), None
    )


def prefixes() -> list[Path]:
    """Return where packages are installed: what is sourced, but not to the script the system's."""
    named = os.environ.get("AMENT_PREFIX_PATH", "").split(":")
    if not by_script():
        named += [*os.environ.get("CMAKE_PREFIX_PATH", "").split(":"), "/usr/local", "/usr"]
    return [Path(prefix).absolute() for prefix in dict.fromkeys(named) if prefix]


def built(package: str, name: str) -> Path:
    """Return where a program is in the build, whether it is there or not."""
    return Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / package / name


def installed(package: str, name: str) -> Path | None:
    """Return where a program of a package is installed; the one with its name may be on PATH."""
    paths = (prefix / "lib" / package / name for prefix in prefixes())
    path = next((path for path in paths if path.exists()), None)
    on_path = shutil.which(name) if name == package and not path else None
    return Path(on_path) if on_path else path


def program(package: str, name: str) -> Path:
    """Return a program that is built or installed; if it is neither, where it would be built."""
    path = built(package, name)
    return path if path.exists() else installed(package, name) or path
