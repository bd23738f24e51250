# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What a burst sets off on one thread or core ends with the busy period [Lehoczky90], in any order.

A thread (or a core) that always works while anything waits for it is never idle between the release
of an origin, a timer or a message from elsewhere, and the end of all that it sets off here: a job
publishes before it ends, and the message is released at once, so something waits or runs at each
instant in between. All work of such a period comes of origins released within it, but for inputs of
joins that were stored before. So all of it ends within the least

    L = K + sum_r ceil((L + J_r) / T_r) W_r

in any order of jobs. So does a chain within the executor, whose hops one by one would be charged
with the same work again and again. `graph` looks at each job of the period, with one urgency for
all: what a job itself sets off comes after it, unless jobs stop each other. It needs:

- messages within the executor take no time (`transport_ms`): else the thread may idle meanwhile,
  and what comes then delays the chain as well;
- W_r has every job that a release of r leads to: as many as there are ways, and at a join those of
  one input; K has the ones that stored inputs may complete besides;
- messages from elsewhere come as origins, with all of their jitter.

A timer of a wait set that skips timestamps has fewer jobs, so L holds; the gap between its releases
does not, see `unit.gaps_known`.
"""

from dataclasses import replace

from rclrt_analysis.bounds.graph import analyse_graph
from rclrt_analysis.bounds.result import RefusedError
from rclrt_analysis.bounds.unit import Arrivals, Unit


def with_bursts(unit: Unit, arrivals: Arrivals, preemptive: bool = False) -> Unit:
    """Return the unit with what it does as a whole, `Unit.whole`; unchanged if nothing is known.

    preemptive: Jobs may stop each other.
    """
    if not is_covered(unit):
        return unit
    alike = replace(unit, urgency=dict.fromkeys(unit.names, 0), found={})
    try:
        found = analyse_graph(alike, arrivals, preemptive, lambda *_: 0, any_order=True)
    except RefusedError:
        return unit
    whole = {name: local for name, local in found.items() if local.response is not None}
    return replace(unit, whole=whole)


def is_covered(unit: Unit) -> bool:
    """Return whether callbacks of the unit release each other, and their messages take no time."""
    inside = any(unit.inside(topic) for c in unit.callbacks for topic in c.triggers)
    return inside and not unit.system.overheads.transport
