#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Make a library for Arduino: a folder with the layout that its tools want.

    make_arduino_library.py FOLDER

FOLDER must not exist. Arduino looks for headers beside the sources only, so both are copied there.
Put the folder into your sketchbook's `libraries`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
PROPERTIES = """name=rclrt_micro
version=0.1.0
author=The rclrt Authors
maintainer=The rclrt Authors
sentence=Real-time callbacks on microcontrollers over DDS-XRCE, for ROS 2.
paragraph=Priorities for callbacks and on the line. Portable C11, no allocation.
category=Communication
architectures=*
includes=rclrt_micro/client.h
"""


def make(folder: Path) -> None:
    """Write the library."""
    if folder.exists():
        sys.exit(f"{folder} is there already; remove it, or name another folder")
    sources = folder / "src"
    shutil.copytree(
        PACKAGE / "include" / "rclrt_micro",
        sources / "rclrt_micro",
        ignore=shutil.ignore_patterns("*.hpp", "posix.h"),
    )
    for path in [*PACKAGE.glob("src/*.c"), *PACKAGE.glob("src/*.h")]:
        shutil.copy(path, sources)
    (folder / "library.properties").write_text(PROPERTIES, encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    make(parser.parse_args(arguments).folder)


if __name__ == "__main__":
    main()
