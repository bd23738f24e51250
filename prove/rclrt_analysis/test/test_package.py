# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The package as pip and PyPI see it."""

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

PACKAGE = ROOT / "prove/rclrt_analysis"


@pytest.mark.skipif(
    not (importlib.util.find_spec("pip") and importlib.util.find_spec("setuptools")),
    reason="pip or setuptools is not installed: no wheel is built",
)
def test_the_wheel_has_every_module_and_what_it_needs(tmp_path: Path) -> None:
    # A copy, because setuptools writes beside its sources.
    skip = shutil.ignore_patterns("test", "build", "*.egg-info", "__pycache__")
    source = shutil.copytree(PACKAGE, tmp_path / "source", ignore=skip)
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
    files = (p for p in (PACKAGE / "src").rglob("*") if p.is_file() and p.suffix != ".pyc")
    wanted = {str(p.relative_to(PACKAGE / "src")) for p in files if "egg-info" not in str(p)}
    assert "rclrt_analysis/py.typed" in wanted
    assert wanted <= names
    xml = (PACKAGE / "package.xml").read_text(encoding="utf-8")
    version = re.search(r"<version>(.*)</version>", xml)
    assert version is not None
    assert f"Version: {version[1]}\n" in metadata
    assert "Typing :: Typed" in metadata
    needed = re.findall(r"^Requires-Dist: (\w+)$", metadata, re.MULTILINE)
    assert sorted(needed) == ["jinja2", "jsonschema", "numpy", "pyyaml"]
    extra = re.findall(r"^Requires-Dist: (\w+); extra == .(\w+)", metadata, re.MULTILINE)
    exports = {(name, "export") for name in ("mcap", "perfetto", "zstandard")}
    assert set(extra) == exports | {("textual", "top")}
