# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of one process to the executors of another one: the programs of `bench dispatch`."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclrt_benchmarks.harness.frame import output, path_of

ON_RCL = "dispatch_latency"
ON_RCLCPP = "dispatch_rclcpp"


@contextmanager
def _publisher(topic: str, period_us: int, topics: int, size: int) -> Iterator[str]:
    """Publish until the end of the block; says under which policy. No `topics`: to `topic`."""
    numbers = (str(number) for number in (period_us, topics, size))
    command = [str(path_of("dispatch_publisher")), topic, *numbers]
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
    size: int = 0
    """Bytes beside the numbers that each message has."""
    together: bool = False
    """All ways to dispatch at once, each with a subscription of its own; else by turns."""


def receive(
    program: str, variants: Sequence[str], messages: Messages
) -> tuple[list[dict[str, Any]], str]:
    """Run the program and a publisher.

    Returns what the program has written of each turn, and the publisher's policy.

    Raises OSError, subprocess.SubprocessError, FailedError: A program is missing, or has failed.
    """
    topic = f"dispatch_{os.getpid()}"
    topics = len(variants) if messages.together else 0
    with tempfile.TemporaryDirectory(prefix="rclrt-") as scratch:
        out = Path(scratch) / "delays.json"
        with _publisher(topic, messages.period_us, topics, messages.size) as policy:
            output(
                path_of(program), "--topic", topic, "--subscriptions", messages.subscriptions,
                "--idle", messages.idle, "--rounds", messages.rounds, "--samples", messages.samples,
                "--warm-up", messages.warm_up, "--only", ",".join(variants), "--out", out,
                *(["--together"] if messages.together else []), limit_s=None,
            )  # fmt: skip
        return json.loads(out.read_text(encoding="utf-8"))["slices"], policy
