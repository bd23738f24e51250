# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Prints the packages whose tests a change can reach, as alternatives of a regular expression.

A change reaches the packages that it lies in and those that may depend on these, by the table of
tools/check_layers.py. `rclrt` stands for the tests of the whole tree. A change outside of all
packages reaches every test, if it is not documentation.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from check_layers import LAYERS, ROOMS

ROOT = Path(__file__).resolve().parents[1]
# What the tests of the root's CMakeLists.txt read.
_WHOLE = frozenset({"rclrt_analysis", "rclrt_tools", "rclrt_scenarios", "rclrt_benchmarks"})


def reached(files: list[str]) -> list[str]:
    """Return the packages that a change of these files, named from the root, can reach."""
    found: set[str] = set()
    for file in files:
        parts = Path(file).parts
        if len(parts) > 2 and parts[0] in ROOMS:
            found.add(parts[1])
        elif parts[0] == "docs" or file.endswith(".md"):
            found.add("rclrt")  # The commands of the pages are tested.
        else:
            return sorted({*LAYERS, "rclrt"})
    size = -1
    while size != len(found):
        size = len(found)
        found |= {name for name, layer in LAYERS.items() if layer.ours & found}
    return sorted(found | {"rclrt"} if found & _WHOLE else found)


def changed_since(commit: str) -> list[str]:
    """Return the files that differ from a commit, and those that git does not know yet."""
    git = ["git", "-C", str(ROOT)]
    names = []
    for command in (
        ["diff", "--name-only", commit, "--"],
        ["ls-files", "--others", "--exclude-standard"],
    ):
        done = subprocess.run([*git, *command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"--changed {commit}: {done.stderr.strip()}")
        names += done.stdout.splitlines()
    return names


def main() -> None:
    """Print the packages."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commit", help="what to compare the files with")
    print("|".join(reached(changed_since(parser.parse_args().commit))))


if __name__ == "__main__":
    main()
