#!/usr/bin/env python3
# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Check what every source file owes its reader: a licence line, and at most 600 lines.

A file that tells the version of rclrt tells that of tools/VERSION.

    tools/check_files.py FILE...

Prints one line per violation; exit status 1 if there is any. Files that are not source are skipped.
"""

import argparse
import re
import sys
from pathlib import Path

MAX_LINES = 600
SOURCE_SUFFIXES = frozenset(
    {
        *(".c", ".cmake", ".cpp", ".h", ".hpp", ".j2", ".pml", ".py", ".sh"),
        *(".yaml", ".yml", ".msg", ".srv"),
    }
)
SOURCE_NAMES = frozenset({"CMakeLists.txt", "rclrt", "run"})
# What ends the path of a file that tells the version of rclrt, and where it stands there.
VERSIONS = {
    "/package.xml": r"<version>(.*?)</version>",
    "/rclrt_tools/__init__.py": r'__version__ = "(.*?)"',
    "/setup.py": r'version="(.*?)"',
    "/system.h": r'#define RCLRT_MICRO_VERSION "(.*?)"',
    "/library.json": r'"version": "(.*?)"',
    "/idf_component.yml": r'version: "(.*?)"',
    "/CHANGELOG.md": r"(?s)tag\s+`v(\S+)`.*?## \1\n",
    "/debian/changelog": r"rclrt \((\S+)\)",
}
LICENSES = ("SPDX-License-Identifier: Apache-2.0", "SPDX-License-Identifier: GPL-2.0")
# Where a licence must be found: after a shebang, the copyright and an encoding line at most.
LICENSE_WITHIN_LINES = 5


def check(path: Path) -> list[str]:
    """Return one line of text per thing that is wrong with the file at `path`."""
    problems = _other_version(path)
    if path.suffix not in SOURCE_SUFFIXES and path.name not in SOURCE_NAMES:
        return problems
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > MAX_LINES:
        problems.append(f"{path}: {len(lines)} lines; {MAX_LINES} is the most, split it by noun")
    head = "\n".join(lines[:LICENSE_WITHIN_LINES])
    if not any(license_line in head for license_line in LICENSES):
        problems.append(f"{path}: no SPDX-License-Identifier in the first lines")
    return problems


def _other_version(path: Path) -> list[str]:
    pattern = next((p for end, p in VERSIONS.items() if f"/{path}".endswith(end)), "")
    if not pattern:
        return []
    told = re.search(pattern, path.read_text(encoding="utf-8"))
    version = Path(__file__).with_name("VERSION").read_text("utf-8").strip()
    if told and told[1] == version:
        return []
    return [f"{path}: tells version {told[1] if told else 'nothing'}; VERSION tells {version}"]


def main() -> int:
    """Check the files named on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    files = parser.parse_args().files
    problems = [problem for path in files for problem in check(path)]
    print("\n".join(problems) if problems else f"files: {len(files)} looked at, none too long")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
