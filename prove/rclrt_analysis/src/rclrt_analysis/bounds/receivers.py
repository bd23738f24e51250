# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Threads of the middleware: each message from another process costs its reader's CPU something.

They are above all callbacks. So a message is a job of its own, more urgent than all others, and is
released together with the job of its reader. Within an executor the thread that publishes delivers,
and that is part of the execution time of the callback.

No policy of the reader's executor derives their priority. Beside EDF they run before all deadlines.
"""

from __future__ import annotations

from dataclasses import replace

from rclrt_analysis.model import Callback, Executor, ExecutorKind, Kind, Policy, System

PRIORITY = 2**30
"""Above all that a model may say."""
NAME = "\0middleware"
"""No model has such a name."""

THREADED = (ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)


def with_receivers(system: System) -> System:
    """Return the system with what its messages from other executors cost the CPUs."""
    receivers = []
    executors: dict[tuple[int, ...], Executor] = {}
    for callback in system.callbacks:
        executor = system.executor_of[callback.executor]
        topics = tuple(
            topic
            for topic in callback.triggers
            if any(
                system.callback_of[name].executor != callback.executor
                for name in system.publishers.get(topic, ())
            )
        )
        outside = callback.kind is not Kind.TIMER and callback.period is not None
        if executor.kind not in THREADED or not (topics or outside):
            continue
        name = f"{NAME} of {', '.join(map(str, executor.cores))}"
        edf = executor.policy is Policy.EDF
        policy = Policy.EDF if edf else Policy.FIXED_PRIORITY
        executors.setdefault(
            executor.cores, Executor(name, ExecutorKind.ISOLATED, policy, cores=executor.cores)
        )
        receivers.append(
            Callback(
                f"{NAME} for {callback.name}", Kind.SUBSCRIPTION, name,
                system.overheads.receive, priority=PRIORITY, triggers=topics,
                period=callback.period if outside else None,
                jitter=callback.jitter if outside else 0, gap=callback.gap if outside else None,
            )
        )  # fmt: skip
    return replace(
        system,
        executors=(*system.executors, *executors.values()),
        callbacks=(*system.callbacks, *receivers),
    )


def read_by(callback: Callback) -> str:
    """Return the name of the callback whose messages it takes; its own if it is no receiver."""
    return callback.name.removeprefix(f"{NAME} for ")


def is_receiver(callback: Callback) -> bool:
    """Return whether it stands for a thread of the middleware."""
    return callback.name.startswith(NAME)
