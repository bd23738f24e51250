#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Check that front ends wait for no lock without priority inheritance on the way to user code.

A `std::mutex` does not make its holder as urgent as a thread that waits for it. In the folders
below every use of one (and of a condition variable, a future or a shared mutex) must be in
`ALLOWED`, which says why no notification and no job comes there. What lies on that way takes a
`PiMutex` or one of `Platform::make_mutex()`.

    tools/check_locks.py [ROOT]

Prints one line per violation, `file:line: what and why`; exit status 1 if there is any.
"""

import argparse
import re
import sys
from pathlib import Path

SOURCES = (
    "ros/rclrt_front_end/include/rclrt_front_end",
    "ros/rclrt_front_end/src",
    "ros/rclrt_rclcpp/src",
)
WAITS = re.compile(
    r"std::(?:\w+_)?mutex\b|std::condition_variable|std::(?:shared_)?future\b|std::promise\b"
    r"|std::call_once|pthread_mutex"
)
COMMENT = re.compile(r"//.*")
# File: the one mutex that its lines may name, and why no job and no notification comes there.
ALLOWED = {
    "base_class.cpp": ("utex", "rclcpp's: whose nodes and groups belong to the executor"),
    "base_class.hpp": ("mutex", "Humble's: whose nodes and groups belong to the executor"),
    "contract.cpp": ("Base::", "rclcpp's: nothing but its type is looked at"),
    "ros_clock.cpp": ("get_clock_mutex", "rclcpp's: of whoever spins and looks at clocks"),
    "scheduling.cpp": ("mutex_", "what is asked of entities when they are added"),
    "scx_deadlines.cpp": ("mutex_", "threads that come and go"),
    "scx_deadlines.hpp": ("mutex_", "threads that come and go"),
}


def check(root: Path) -> list[str]:
    """Return one line of text per lock that must not be there."""
    problems = []
    paths = [path for folder in SOURCES for path in sorted((root / folder).glob("*.[ch]pp"))]
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            found = WAITS.search(COMMENT.sub("", line))
            mutex = ALLOWED.get(path.name, (None, ""))[0]
            if found and (mutex is None or mutex not in line[found.end() :]):
                problems.append(
                    f"{path.relative_to(root)}:{number}: {found.group()} does not inherit "
                    "priorities; take a PiMutex, or say in tools/check_locks.py why no job and no "
                    "notification comes here"
                )
    for name in sorted(ALLOWED):
        texts = [path.read_text(encoding="utf-8") for path in paths if path.name == name]
        if not any(WAITS.search(text) for text in texts):
            problems.append(f"tools/check_locks.py: {name} needs no entry any more")
    return problems


def main() -> int:
    """Check the tree named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    problems = check(parser.parse_args().root)
    print("\n".join(problems) if problems else "locks: none without priority inheritance")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
