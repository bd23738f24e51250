# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Task sets and chains like automotive software [Kramer15], made as [Teper25] does.

One runnable is one task. Angle-synchronous runnables are left out, so shares add up to 85 %. The
average execution time is drawn from a Weibull distribution truncated to the published range, the
worst case is that times a uniform factor. Deadlines are periods, priorities rate monotonic.
"""

from dataclasses import dataclass

import numpy as np
from rclrt_analysis.bounds.taskset import Ints, TaskSet, make_taskset

NS_PER_US = 1000
BATCH = 512
MAX_TASKS = 100_000


@dataclass(frozen=True)
class PeriodClass:
    """Runnables of one period [Kramer15, tables III to V].

    share: In percent of all runnables.
    acet: Least, mean and largest average execution time, us.
    factor: Range of worst case over average.
    weibull: Shape, and scale in us, of a fit to `acet`; None: uniform.
    """

    period_ms: int
    share: float
    acet: tuple[float, float, float]
    factor: tuple[float, float]
    weibull: tuple[float, float] | None


CLASSES = (
    PeriodClass(1, 3, (0.34, 5.00, 30.11), (1.30, 29.11), (1.044, 1 / 0.214)),
    PeriodClass(2, 2, (0.32, 4.20, 40.69), (1.54, 19.04), (1.0607440083, 1 / 0.2479463059)),
    PeriodClass(5, 2, (0.36, 11.04, 83.38), (1.13, 18.44), (1.00818633, 1 / 0.09)),
    PeriodClass(10, 25, (0.21, 10.09, 309.87), (1.06, 30.03), (1.0098, 1 / 0.0985)),
    PeriodClass(20, 25, (0.25, 8.74, 291.42), (1.06, 15.61), (1.0130969967, 1 / 0.1138186679)),
    PeriodClass(50, 3, (0.29, 17.56, 92.98), (1.13, 7.76), (1.0032421916, 1 / 0.0568545046)),
    PeriodClass(100, 20, (0.21, 10.53, 420.43), (1.02, 8.88), (1.0090073603, 1 / 0.0944801981)),
    PeriodClass(200, 1, (0.22, 2.56, 21.95), (1.03, 4.90), (1.1571061236, 1 / 0.3706045664)),
    PeriodClass(1000, 4, (0.37, 0.43, 0.46), (1.84, 4.75), None),
)

PATTERNS = ((1, 2, 3), (0.7, 0.2, 0.1))
"""How many periods a chain has, with their probabilities."""

TASKS_PER_PATTERN = ((2, 3, 4, 5), (0.3, 0.4, 0.2, 0.1))
CHAINS = (30, 60)


def average_times(kind: PeriodClass, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return average execution times, shape (count,), us."""
    low, _, high = kind.acet
    uniform = rng.random(count)
    if kind.weibull is None:
        return np.asarray(low + uniform * (high - low))
    shape, scale = kind.weibull
    first, last = (1 - np.exp(-((limit / scale) ** shape)) for limit in (low, high))
    return np.asarray(scale * (-np.log1p(-(first + uniform * (last - first)))) ** (1 / shape))


def make_tasks(utilization: float, rng: np.random.Generator) -> TaskSet:
    """Return tasks in order of priority that together reach a utilization, or up to 0.01 more.

    Tasks are drawn until it is reached; the last ones go again while it is exceeded by more, so a
    set may also stay below.
    """
    shares = np.array([kind.share for kind in CLASSES])
    period = np.zeros(0, dtype=np.int64)
    wcet = np.zeros(0, dtype=np.int64)
    while not len(wcet) or (wcet / period).sum() < utilization:
        if len(wcet) > MAX_TASKS:
            raise ValueError(f"utilization {utilization} needs more than {MAX_TASKS} tasks")
        which = rng.choice(len(CLASSES), BATCH, p=shares / shares.sum())
        more = np.zeros(BATCH, dtype=np.int64)
        for i, kind in enumerate(CLASSES):
            mine = np.flatnonzero(which == i)
            acet = average_times(kind, len(mine), rng)
            worst = acet * rng.uniform(*kind.factor, len(mine))
            more[mine] = np.maximum(1, np.rint(worst * NS_PER_US))
        every = np.array([kind.period_ms * 1_000_000 for kind in CLASSES], dtype=np.int64)
        period = np.concatenate([period, every[which]])
        wcet = np.concatenate([wcet, more])
    total = np.cumsum(wcet / period)
    count = int(np.searchsorted(total, utilization)) + 1
    while count > 1 and total[count - 1] > utilization + 0.01:
        count -= 1
    order = np.argsort(period[:count], kind="stable")
    return make_taskset(wcet[:count][order], period[:count][order])


def make_chains(tasks: TaskSet, rng: np.random.Generator) -> list[Ints]:
    """Return chains, each the numbers of its tasks; none that a set has too few tasks for."""
    periods = np.unique(tasks.period)
    if len(periods) < max(PATTERNS[0]):
        return []
    members = {int(p): np.flatnonzero(tasks.period == p) for p in periods}
    chains = []
    for _ in range(int(rng.integers(CHAINS[0], CHAINS[1] + 1))):
        patterns = int(rng.choice(PATTERNS[0], p=PATTERNS[1]))
        chosen = rng.choice(periods, patterns, replace=False)
        counts = rng.choice(TASKS_PER_PATTERN[0], patterns, p=TASKS_PER_PATTERN[1])
        if all(len(members[int(p)]) >= c for p, c in zip(chosen, counts, strict=True)):
            parts = [
                rng.choice(members[int(p)], int(c), replace=False)
                for p, c in zip(chosen, counts, strict=True)
            ]
            chains.append(np.concatenate(parts))
    return chains
