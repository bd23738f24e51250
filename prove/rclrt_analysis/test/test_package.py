# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The two packages as pip and PyPI see them."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from models import ROOT

LIBRARY = ROOT / "prove/rclrt_analysis"
TOOLS = ROOT / "see/rclrt_tools"
EXTRA = {("mcap", "export"), ("perfetto", "export"), ("zstandard", "export"), ("textual", "top")}


@pytest.mark.skipif(
    not (importlib.util.find_spec("pip") and importlib.util.find_spec("setuptools")),
    reason="pip or setuptools is not installed: no wheel is built",
)
@pytest.mark.parametrize(
    ("package", "needs", "extra"),
    [
        (LIBRARY, ["jsonschema", "numpy", "pyyaml"], set()),
        (TOOLS, ["jinja2", "numpy", "pyyaml", "rclrt_analysis"], EXTRA),
    ],
    ids=["library", "tools"],
)
def test_the_wheel_has_every_module_and_what_it_needs(
    tmp_path: Path, package: Path, needs: list[str], extra: set[tuple[str, str]]
) -> None:
    # A copy, because setuptools writes beside its sources.
    skip = shutil.ignore_patterns("test", "build", "*.egg-info", "__pycache__")
    source = shutil.copytree(package, tmp_path / "source", ignore=skip)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--disable-pip-version-check", "-w", str(tmp_path), str(source)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read(next(n for n in names if n.endswith("/METADATA"))).decode()
    files = (p for p in (package / "src").rglob("*") if p.is_file() and p.suffix != ".pyc")
    wanted = {str(p.relative_to(package / "src")) for p in files if "egg-info" not in str(p)}
    assert f"{package.name}/py.typed" in wanted
    assert wanted <= names
    xml = (package / "package.xml").read_text(encoding="utf-8")
    version = re.search(r"<version>(.*)</version>", xml)
    assert version is not None
    assert f"Version: {version[1]}\n" in metadata
    assert "Typing :: Typed" in metadata
    needed = re.findall(r"^Requires-Dist: (\w+)$", metadata, re.MULTILINE)
    assert sorted(needed) == needs
    found = re.findall(r"^Requires-Dist: (\w+); extra == .(\w+)", metadata, re.MULTILINE)
    assert set(found) == extra
