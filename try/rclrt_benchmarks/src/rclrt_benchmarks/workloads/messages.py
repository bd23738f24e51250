# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of one process to the executors of another one: the programs of `bench dispatch`."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclrt_analysis.reference.program import ends_with_us

ON_RCL = "dispatch_latency"
ON_RCLCPP = "dispatch_rclcpp"


def folder() -> Path:
    """Return where the programs are."""
    return Path(os.environ.get("RCLRT_BUILD_DIR", "build")) / "rclrt_benchmarks"


def stay_on_this_machine() -> None:
    """See no messages of others, and send them none: for programs that are started from now on."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))


@contextmanager
def _publisher(topic: str, period_us: int, topics: int) -> Iterator[str]:
    """Publish until the end of the block; says under which policy. No `topics`: to `topic`."""
    command = [str(folder() / "dispatch_publisher"), topic, str(period_us), str(topics)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as publisher:
        assert publisher.stdin is not None and publisher.stdout is not None
        try:
            yield publisher.stdout.readline().strip() or "failed"
        finally:
            publisher.stdin.close()
            try:
                publisher.wait(timeout=30)
            except subprocess.TimeoutExpired:
                publisher.kill()  # leaving the block waits for it without a limit
                raise


@dataclass(frozen=True)
class Messages:
    """How many messages come how often, and to how many subscriptions."""

    period_us: int
    samples: int
    warm_up: int
    rounds: int = 1
    subscriptions: int = 1
    idle: int = 0
    together: bool = False
    """All ways to dispatch at once, each with a subscription of its own; else by turns."""


def receive(
    program: str, variants: Sequence[str], messages: Messages
) -> tuple[list[dict[str, Any]], str]:
    """Run the program and a publisher.

    Returns what the program has written of each turn, and the publisher's policy.

    Raises
    ------
    OSError, subprocess.SubprocessError
        A program is missing, or has failed.
    """
    topic = f"dispatch_{os.getpid()}"
    with tempfile.TemporaryDirectory(prefix="rclrt-") as scratch:
        out = Path(scratch) / "delays.json"
        command = [
            str(folder() / program),
            "--topic",
            topic,
            "--subscriptions",
            str(messages.subscriptions),
            "--idle",
            str(messages.idle),
            "--rounds",
            str(messages.rounds),
            "--samples",
            str(messages.samples),
            "--warm-up",
            str(messages.warm_up),
            "--only",
            ",".join(variants),
            "--out",
            str(out),
            *(["--together"] if messages.together else []),
        ]
        topics = len(variants) if messages.together else 0
        with _publisher(topic, messages.period_us, topics) as policy:
            subprocess.run([*ends_with_us(), *command], check=True)
        return json.loads(out.read_text(encoding="utf-8"))["slices"], policy
