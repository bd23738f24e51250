# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The fuzzers, briefly: from the corpus on, with the address and undefined-behaviour sanitizers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
RUNS = int(8_000 * float(os.environ.get("RCLRT_EFFORT", "1")))
TARGETS = {"frame": "line", "line": "line", "message": "message", "cdr": "message"}

NAMES = [f"clang-{version}" for version in range(21, 15, -1)] + ["clang"]
CLANG = next(filter(None, map(shutil.which, NAMES)), None)

pytestmark = pytest.mark.skipif(
    CLANG is None, reason="no clang (Debian, Ubuntu: clang-N and libclang-rt-N-dev, N from 16 on)"
)


def make_corpus(folder: Path, kind: str) -> Path:
    """Write a file for each row of corpus.txt."""
    folder.mkdir()
    text = (PACKAGE / "test" / "fuzz" / "corpus.txt").read_text(encoding="ascii")
    for number, row in enumerate(text.splitlines()):
        if row.startswith(f"{kind} "):
            (folder / f"{number}").write_bytes(bytes.fromhex(row.split()[1]))
    return folder


@pytest.mark.parametrize("target", TARGETS)
def test_a_short_run_finds_nothing(target: str, tmp_path: Path) -> None:
    program = tmp_path / f"fuzz_{target}"
    sources = [PACKAGE / "test" / "fuzz" / "targets.c"]
    sources += sorted((PACKAGE / "src").glob("*.c"))
    command = [str(CLANG), "-O1", "-g", "-fno-sanitize-recover=undefined"]
    command += ["-fsanitize=fuzzer,address,undefined", f"-DFUZZ_TARGET=fuzz_{target}"]
    command += [f"-I{PACKAGE / folder}" for folder in ("include", "src", "test/fuzz")]
    built = subprocess.run(
        [*command, *map(str, sources), "-o", str(program)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    if "libclang_rt" in built.stderr:
        pytest.skip(f"{CLANG} has no libFuzzer (Debian, Ubuntu: libclang-rt-N-dev of its version)")
    assert built.returncode == 0, built.stderr
    found = tmp_path / "found"
    found.mkdir()
    corpus = make_corpus(tmp_path / "corpus", TARGETS[target])
    done = subprocess.run(
        [str(program), f"-runs={RUNS}", "-max_len=300", "-seed=1", f"-artifact_prefix={tmp_path}/",
         str(found), str(corpus)],
        capture_output=True,
        text=True,
        timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"Done {RUNS} runs" in done.stderr
