# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages a second until the first one is lost, and what one costs.

A process publishes to 1, 10 or 50 subscriptions of another one: messages with a string of 12 bytes,
4 kB and 1 MB; messages of fixed size with 4 kB and 1 MB, copied and loaned on both sides. Reliable,
depth 10, all under SCHED_OTHER. The rate is doubled until a message is lost or the
publisher cannot do more, then halved in between, three times. A rate that fails gets a second try.
Executors take turns in rounds; figures are medians of the rounds. waitset_single, waitset_multi
and events_fifo are the executors of rclcpp, rebuilt on rclrt_rcl. Where rclcpp was found, its own
follow (rclcpp_...), and ours on its nodes (..._rclcpp).

rate        messages a second, to each subscription, with none lost
ends by     what ended it in most rounds: "loss", or "publisher", which then is the limit
CPU us      of the process that receives, a message and subscription, at that rate

Exits with 1 when it fails, with 2 for wrong arguments. Nothing is judged.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

from rclrt_analysis.arguments import number_from, positive, some_of, writable_file
from rclrt_analysis.workloads.messages import folder, stay_on_this_machine

ON_RCL = ("pool", "events", "isolated", "waitset_single", "waitset_multi", "events_fifo")
ON_RCLCPP = (
    "pool_rclcpp", "events_rclcpp", "isolated_rclcpp", "rclcpp_single", "rclcpp_multi",
    "rclcpp_events",
)  # fmt: skip
EXECUTORS = (*ON_RCL, *ON_RCLCPP)
OF_RCLCPP = "throughput_rclcpp"
SIZES = ("12B", "4kB", "1MB", "4kB_fixed", "4kB_loaned", "1MB_fixed", "1MB_loaned")
SUBSCRIPTIONS = (1, 10, 50)
LEAST_RATE = {size: 4.0 if size.startswith("1MB") else 500.0 for size in SIZES}
MOST_RATE = 200_000.0
FEWEST = 10
HALVINGS = 3
TRIES = 2
# Less than that of what was asked for: the publisher is at its end.
SENDS = 0.9
ARRIVES_S = 0.5
# Longer than the slowest rate takes.
PATIENCE_S = 120.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")
    parser.add_argument("--rounds", type=positive, default=3, help="turns of each (%(default)s)")
    parser.add_argument(
        "--seconds", type=number_from(0.05, 60, "s"), default=0.3, help="at each rate (%(default)g)"
    )
    every = tuple(str(number) for number in SUBSCRIPTIONS)
    for name, known, default in (
        ("executors", EXECUTORS, None), ("sizes", SIZES, SIZES), ("subscriptions", every, every),
    ):  # fmt: skip
        parser.add_argument(
            f"--{name}", type=some_of(known), default=default, metavar="A,B", help=",".join(known)
        )


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment."""
    stay_on_this_machine()
    has_rclcpp = (folder() / OF_RCLCPP).exists()
    who = arguments.executors or (EXECUTORS if has_rclcpp else ON_RCL)
    if not has_rclcpp:
        print("rclcpp: not measured, because it was not found when this was built", file=sys.stderr)
        if set(who) & set(ON_RCLCPP):
            return 2
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    try:
        for number in range(arguments.rounds):
            first = number % len(who)
            for size in arguments.sizes:
                for subscriptions in arguments.subscriptions:
                    for name in (*who[first:], *who[:first]):
                        one = _highest(name, size, int(subscriptions), arguments.seconds)
                        found.setdefault((size, subscriptions, name), []).append(one)
            print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    rows = [_row(*case, rounds) for case, rounds in sorted(found.items(), key=_order)]
    _print(rows)
    if arguments.json:
        text = json.dumps({"schema": 1, "rows": rows}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")
    return 0


class _Process:
    """A program that answers each line with a line of JSON."""

    def __init__(self, name: str, *arguments: str) -> None:
        self._name = name
        self._process = subprocess.Popen(
            [str(folder() / name), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def ask(self, line: str) -> dict[str, Any]:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        too_late = threading.Timer(PATIENCE_S, process.kill)
        too_late.start()
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            too_late.cancel()
        if not answer:
            raise ValueError(f"{self._name} has ended, or was silent for {PATIENCE_S:g} s")
        found: dict[str, Any] = json.loads(answer)
        return found

    def end(self) -> None:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def _highest(name: str, size: str, subscriptions: int, seconds: float) -> dict[str, Any]:
    topic = f"throughput_{os.getpid()}"
    program = OF_RCLCPP if name in ON_RCLCPP else "throughput_receiver"
    receiver = _Process(program, name, topic, size, str(subscriptions))
    publisher = _Process("throughput_publisher", topic, size, str(subscriptions))
    try:
        publisher.ask(f"{LEAST_RATE[size]} 0.1")  # the first ones may be early
        time.sleep(ARRIVES_S)
        return _search(receiver, publisher, LEAST_RATE[size], subscriptions, seconds)
    finally:
        publisher.end()
        receiver.end()


def _search(
    receiver: _Process, publisher: _Process, rate: float, subscriptions: int, seconds: float
) -> dict[str, Any]:
    best: dict[str, Any] = {"rate": 0.0, "cpu_us": None, "ends_by": "loss"}
    worst, ends_by, halvings = 0.0, "loss", 0
    while rate <= MOST_RATE and halvings <= HALVINGS:
        for _ in range(TRIES):
            one = _try(receiver, publisher, rate, subscriptions, seconds)
            if not one["fails_by"]:
                break
        if one["fails_by"]:
            worst, ends_by = rate, one["fails_by"]
        else:
            best = {"rate": one["rate"], "cpu_us": one["cpu_us"]}
        if worst == 0.0:
            rate *= 2
        else:
            halvings += 1
            rate = (max(best["rate"], 0.0) + worst) / 2
    return {**best, "ends_by": ends_by}


def _try(
    receiver: _Process, publisher: _Process, rate: float, subscriptions: int, seconds: float
) -> dict[str, Any]:
    seconds = max(seconds, FEWEST / rate)
    before = receiver.ask("")
    sent = publisher.ask(f"{rate} {seconds}")
    time.sleep(ARRIVES_S / 5)
    after = receiver.ask("")
    messages = after["messages"]
    missing = sent["sent"] * subscriptions - messages
    is_slow = sent["sent"] < SENDS * rate * seconds or sent["seconds"] > seconds / SENDS
    return {
        "rate": sent["sent"] / sent["seconds"],
        "cpu_us": (after["cpu_ns"] - before["cpu_ns"]) / 1000 / max(1, messages),
        "fails_by": "loss" if missing > 0 else "publisher" if is_slow else "",
    }


def _order(item: tuple[tuple[str, str, str], Any]) -> tuple[int, int, int]:
    size, subscriptions, name = item[0]
    return SIZES.index(size), int(subscriptions), EXECUTORS.index(name)


def _row(size: str, subscriptions: str, name: str, rounds: list[dict[str, Any]]) -> dict[str, Any]:
    costs = [one["cpu_us"] for one in rounds if one["cpu_us"] is not None]
    return {
        "size": size,
        "subscriptions": int(subscriptions),
        "executor": name,
        "rate": statistics.median(one["rate"] for one in rounds),
        "rates": [one["rate"] for one in rounds],
        "ends_by": statistics.mode(one["ends_by"] for one in rounds),
        "cpu_us": statistics.median(costs) if costs else None,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    case = None
    for row in rows:
        if case != (case := (row["size"], row["subscriptions"])):
            print(f"\n{row['size']}, {row['subscriptions']} subscriptions")
            print(
                f"  {'':15} {'rate':>9} {'lowest':>9} {'highest':>9}  {'ends by':9} {'CPU us':>8}"
            )
        cost = "-" if row["cpu_us"] is None else f"{row['cpu_us']:.1f}"
        print(
            f"  {row['executor']:15} {row['rate']:9.0f} {min(row['rates']):9.0f} "
            f"{max(row['rates']):9.0f}  {row['ends_by']:9} {cost:>8}"
        )
