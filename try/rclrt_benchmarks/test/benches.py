# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How tests start an experiment."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType


def bench(*arguments: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rclrt_analysis.cli", "bench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def module(experiment: str) -> ModuleType:
    name = f"rclrt_benchmarks_{experiment}"
    path = Path(os.environ["RCLRT_SOURCE_DIR"]) / "try/rclrt_benchmarks" / f"{experiment}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
