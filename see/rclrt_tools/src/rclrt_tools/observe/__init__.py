# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A model from the job records of running executors.

What was observed is not what is possible: the longest execution seen is no worst case, the shortest
gap no period. The model says so in its first lines. Where records do not say what an analysis needs
to know, or where a job took longer than the model would allow, the model says that nothing may be
proved with it.
"""

from collections.abc import Sequence
from pathlib import Path

from rclrt_tools.observe.build import build
from rclrt_tools.observe.parts import Observed, parts_of
from rclrt_tools.observe.text import check, to_yaml
from rclrt_tools.trace import Trace

__all__ = ["Observed", "observe", "to_yaml"]


def observe(
    traces: Sequence[tuple[str, Trace]], schema: Path, executor: str = "isolated"
) -> Observed:
    """Return a model of all executors that wrote these traces.

    traces: Each with a name for its executor.
    schema: What `rclrt_analysis.model.model_schema()` returns.
    executor: Kind of the executors whose trace does not say it.

    Raises ValueError: No job has ended, or files of one executor contradict each other.
    """
    observed = build(parts_of(traces), traces[0][0], executor)
    if not observed.content["callbacks"]:
        raise ValueError("no job in these traces has ended")
    check(observed, schema)
    return observed
