# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources given, but for those that passed and are as they were.

A source is looked at again if it has changed, a header of the tree that it includes, its command,
the rules, or a package with a compiler or headers.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KNOWN = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rclrt-tidy"
_INCLUDE = re.compile(rb'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
_COMPILERS = ("*-dev", "gcc*", "g++*", "cpp*")


@cache
def _headers() -> dict[str, list[Path]]:
    """Return the headers of the tree by their file names."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.h", "*.hpp"]
    found: dict[str, list[Path]] = {}
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for path in map(ROOT.joinpath, listed.splitlines()):
        found.setdefault(path.name, []).append(path)
    return found


@cache
def _text(path: Path) -> bytes:
    return path.read_bytes()


def read_by(source: Path) -> list[Path]:
    """Return the source and each file of the tree that its includes may mean."""
    found, left = {source}, [source]
    while left:
        for name in _INCLUDE.findall(_text(left.pop())):
            # All headers of that name count, wherever they are.
            named = _headers().get(Path(os.fsdecode(name)).name, [])
            new = {header for header in named if header.exists()} - found
            found |= new
            left += new
    return sorted(found)


def main() -> None:
    """Look at the sources, two by two."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--program", required=True, help="clang-tidy")
    parser.add_argument("--build", required=True, type=Path, help="where compile_commands.json is")
    parser.add_argument("sources", nargs="+", type=Path)
    options = parser.parse_args()

    commands = json.loads((options.build / "compile_commands.json").read_text())
    command_of = {one["file"]: one["command"].replace(str(ROOT), "") for one in commands}
    rules = [ROOT / ".clang-tidy", *sorted((ROOT / "tools/requirements").glob("*.txt"))]
    query = ["dpkg-query", "--show", *_COMPILERS]
    packages = subprocess.run(query, capture_output=True, check=False).stdout
    base = hashlib.sha256(packages + b"".join(map(_text, rules)))
    KNOWN.mkdir(parents=True, exist_ok=True)

    def passes(source: Path) -> bool:
        key = base.copy()
        key.update(command_of.get(str(source), "none").encode())
        for path in read_by(source):
            key.update(hashlib.sha256(_text(path)).digest())
        passed = KNOWN / key.hexdigest()
        if passed.exists():
            passed.touch()
            return True
        command = [options.program, "--quiet", "-p", str(options.build), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            passed.touch()
            return True
        print(done.stdout, done.stderr, sep="\n", flush=True)
        return False

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        if not all(list(pool.map(passes, [source.resolve() for source in options.sources]))):
            sys.exit(1)


if __name__ == "__main__":
    main()
