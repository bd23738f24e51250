# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Response times under the wait-set executors [Teper24]; that of one thread is rclcpp's default.

At a polling point the executor looks which entities are ready, then runs each of these once:
timers, subscriptions, services, clients. What becomes ready meanwhile waits for the next polling
point [Teper24 §VI]. Those of one kind run in the order of registration up to foxy; from galactic on
callback groups are sorted by address (rclcpp pull request 1218), and from jazzy on the order is
that of hash maps (issue 2532).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rclrt_analysis.bounds import round_robin
from rclrt_analysis.bounds.activation import Stream
from rclrt_analysis.bounds.busy_window import Demand, Responses, responses
from rclrt_analysis.bounds.fifo import with_bursts
from rclrt_analysis.bounds.fixed_point import ENDLESS, FULL, MANY, UNBOUNDED, no_bound
from rclrt_analysis.bounds.result import Assumption, Local, Method, RefusedError
from rclrt_analysis.bounds.taskset import Bools, Ints, Supply, higher_or_equal, make_taskset
from rclrt_analysis.bounds.unit import Arrivals, Known, Rows, Unit, make_rows, with_jitter
from rclrt_analysis.model import Callback, Kind, in_ms

ASSUMPTIONS = (
    Assumption.WCET,
    Assumption.ALONE,
    Assumption.NO_SELF_SUSPENSION,
    Assumption.SPORADIC,
    Assumption.INSTANT_TRIGGER,
    Assumption.WINDOWS,
)
CHECKS_TIMERS_AT_EVERY_PICK = ("crystal", "dashing")
GROUPS_IN_ANY_ORDER = ("galactic", "humble", "iron")
IN_ANY_ORDER = ("jazzy", "kilted", "lyrical", "rolling")
MAX_MESSAGES = 200_000
OFTEN = (
    "messages come at least as often as windows of full length pass. Send fewer, or move work to "
    "another executor"
)
ROUNDS = Method(
    "rclc rounds",
    "derived here",
    (*(a for a in ASSUMPTIONS if a is not Assumption.WINDOWS), Assumption.ONE_MESSAGE),
)
ORDER = {
    kind: i for i, kind in enumerate((Kind.TIMER, Kind.SUBSCRIPTION, Kind.SERVICE, Kind.CLIENT))
}


def may_precede(callbacks: Sequence[Callback], distro: str) -> Bools:
    """Return for callbacks i, j in order of registration whether j may come before i in a window.

    Shape (n, n).
    """
    kind = np.array([ORDER[callback.kind] for callback in callbacks])
    number = np.arange(len(callbacks))
    among = number[None, :] < number[:, None]  # Among callbacks of one kind.
    if distro in IN_ANY_ORDER:
        among |= among.T
    elif distro in GROUPS_IN_ANY_ORDER:
        first: dict[str, int] = {}
        group = np.array([first.setdefault(c.group, i) if c.group else i
                          for i, c in enumerate(callbacks)])  # fmt: skip
        among |= among.T & (group[None, :] != group[:, None])
    same = kind[None, :] == kind[:, None]
    return np.asarray(np.where(same, among, kind[None, :] < kind[:, None]))


def windows(wcet: Ints, before: Ints | None = None) -> tuple[Ints, Ints]:
    """Return for each entity, in window order: its response bound and what its period must reach.

    With S the sum of all execution times and HP_i that of the entities before i, a job that is
    alone in its entity ends within S + max(C_i, HP_i): either the window under way does not hold i,
    so at most S - C_i of it is left; or it is i's own, of which C_i and what follows is left.
    Then HP_i + C_i of the next.

    A timer never skips a timestamp if S - C_i + max(C_i, HP_i) <= T_i: it starts before the next.

    wcet: Shape (n,), ns, in window order.
    before: Shape (n,), ns: HP, if the order is not known.

    Returns response, start: Shape (n,), ns: S + max(C_i, HP_i), and the same less C_i.
    """
    total = int(wcet.sum())
    if before is None:
        before = np.cumsum(wcet) - wcet
    response: Ints = total + np.maximum(wcet, before)
    return response, response - wcet


def queued(streams: Sequence[Stream], alone: int, window: int, supply: Supply, own: int = 1) -> int:
    """Return how long a message takes, with those that wait before it, ns.

    Each window serves one message of an entity: the first within `alone` of work, message q within
    q windows more. So max_q sbf^-1(alone + q S) - delta(q), delta(q) being the least time in which
    q + 1 messages come; `own` of `alone` is the message's. `UNBOUNDED` if they come as often as
    windows of full length, `MANY` beyond `MAX_MESSAGES`.
    """
    rate = sum(window / stream.period for stream in streams)
    if rate >= FULL * supply.share:
        return ENDLESS if any(stream.period == 1 for stream in streams) else UNBOUNDED
    burst = alone + sum(window * (stream.jitter / stream.period + 1) for stream in streams)
    late = 2 * (supply.period - supply.budget) * supply.share
    end = int((burst + late) / (supply.share - rate)) + 1
    if sum(end // stream.period for stream in streams) > MAX_MESSAGES:
        return MANY
    # At these another message comes if all come as early as they can.
    first = [-(stream.jitter % stream.period) % stream.period for stream in streams]
    steps = [np.arange(f, end + 1, s.period) for f, s in zip(first, streams, strict=True)]
    at: Ints = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *steps]))
    count = sum(((at + stream.jitter) // stream.period + 1 for stream in streams), start=at * 0)
    ends = supply.end(alone - own + np.maximum(count - 1, 0) * window, own)
    return int((ends - at).max())


def analyse_wait_set(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return the bounds of a `wait_set_single` executor: the least of five for each callback.

    Those of `windows` (not for crystal and dashing), of `round_robin`, and of `burst`.
    """
    old = unit.system.distro in CHECKS_TIMERS_AT_EVERY_PICK
    ordered = sorted(unit.callbacks, key=lambda callback: ORDER[callback.kind])
    unit = with_bursts(replace(unit, callbacks=tuple(ordered)), arrivals)
    wcet = np.array([callback.wcet + unit.extra for callback in ordered], dtype=np.int64)
    earlier = may_precede(ordered, unit.system.distro)
    work = windows(wcet, earlier @ wcet)[0]
    alone = _from_within(unit, ordered, wcet, work, earlier)
    total = int(wcet.sum())
    whole = np.array([_of_whole(unit, callback) for callback in ordered], dtype=np.int64)

    def bounds(known: Known) -> dict[str, Local]:
        waited = np.full(len(ordered), UNBOUNDED, dtype=np.int64)
        for i, callback in enumerate(ordered if not old else ()):
            streams = known[callback.name].streams
            waited[i] = queued(streams, int(alone[i]), total, unit.supply, int(wcet[i]))
        waited = np.minimum(waited, whole)
        best = round_robin.responses(unit, make_rows(unit, known), old, waited, earlier)
        # A burst's bound has the wake-up in it.
        least = [min(unit.woken(c, int(best[i])), int(whole[i])) for i, c in enumerate(ordered)]
        return {
            callback.name: _local(callback, least[i], int(wcet[i]), total)
            for i, callback in enumerate(ordered)
        }

    reserved = (Assumption.RESERVED,) if unit.executors[0].reservation else ()
    sources = ("" if old else "Teper24 §VI; ") + "Casini19; Blass21; Lehoczky90"
    method = Method("wait-set windows, or arrivals", sources, (*ASSUMPTIONS, *reserved))
    return with_jitter(unit, arrivals, bounds), method


def _of_whole(unit: Unit, callback: Callback) -> int:
    """Return the bound that `burst` has of a callback."""
    whole = unit.whole.get(callback.name)
    return UNBOUNDED if whole is None or whole.response is None else whole.response


def _local(callback: Callback, best: int, own: int, total: int) -> Local:
    if best >= UNBOUNDED:
        return Local(None, reason=OFTEN if best == UNBOUNDED else no_bound(best))
    return timer_or_message(callback, best, own, min(total, best) - own)


def timer_or_message(callback: Callback, response: int, own: int, blocking: int) -> Local:
    """Return the bound of a callback; for a timer only if it starts before its next timestamp."""
    if callback.kind is not Kind.TIMER:
        return Local(response, own=own, blocking=blocking)
    apart = max(0, (callback.period or 0) - callback.jitter)
    if response - own > apart:
        text = f"timestamps may be skipped: {in_ms(response - own)} ms may pass to the next start"
        least = f"and {in_ms(apart)} ms is the least between two releases"
        reason = f"{text}, {least}. Lengthen period_ms, or move work to another executor"
        return Local(None, reason=reason)
    return Local(response, response + callback.jitter, own=own, blocking=blocking)


def _from_within(
    unit: Unit, ordered: list[Callback], wcet: Ints, response: Ints, earlier: Bools
) -> Ints:
    """Return the responses of messages that find none waiting, with those from within tightened.

    What callback p of the same executor sends finds at most those after p left in the window; then
    come those before i, and i [Teper24 Lemma VI.5].
    """
    before = earlier @ wcet
    after = {c.name: int(left) for c, left in zip(ordered, wcet @ earlier, strict=True)}
    alone: Ints = response.copy()
    for i, callback in enumerate(ordered):
        senders = unit.system.triggered_by(callback)
        within = senders and all(name in unit.names for name in senders)
        if within and callback.period is None and not unit.system.overheads.transport:
            left = max(after[name] for name in senders)
            alone[i] = min(alone[i], left + before[i] + wcet[i])
    return alone


def analyse_micro_ros(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return the bounds of micro-ROS's executor (rclc).

    A round runs every timer that is ready, and the one message that was received first. So with W
    all timers and the longest other callback, a message that waits for q others ends within W + all
    timers + C_i + q W; a timer within W + max(C_i, HP_i), HP_i being the timers before it and the
    longest other callback before it.
    """
    wcet = {c.name: c.wcet + unit.extra for c in unit.callbacks}
    timers = sum(wcet[c.name] for c in unit.timers)
    longest = max((wcet[c.name] for c in unit.callbacks if c.kind is not Kind.TIMER), default=0)
    total = timers + longest

    def bounds(known: Known) -> dict[str, Local]:
        messages = [c for c in unit.callbacks if c.kind is not Kind.TIMER]
        streams = [stream for c in messages for stream in known[c.name].streams]
        found = {}
        before = message = 0  # Timers that precede, and the longest other callback that does.
        for callback in unit.callbacks:
            own = wcet[callback.name]
            if callback.kind is Kind.TIMER:
                work = total + max(own, before + message)
                before += own
                found[callback.name] = timer_or_message(callback, work, own, total - own)
                continue
            message = max(message, own)
            best = queued(streams, total + timers + own, total, unit.supply, own)
            found[callback.name] = _local(callback, unit.woken(callback, best), own, total)
        return found

    return with_jitter(unit, arrivals, bounds), ROUNDS


METHOD = Method("wait-set, several threads", "derived here", (*ASSUMPTIONS, Assumption.THREAD_EACH))


def analyse_multi_threaded(unit: Unit, arrivals: Arrivals) -> tuple[dict[str, Local], Method]:
    """Return the bounds of a `wait_set_multi` executor.

    An idle thread takes what was found ready and whose group is free; if there is nothing of that,
    it looks anew. So a callback that is ready, with its group free, waits only while all m threads
    run others. Within a group nothing is sure about the order: while the group is busy its members
    drop out of what was found, so an earlier one may pass again and again.

    A group is one server for its members in any order. Before each of their jobs it is held up by

        H = 0 with a thread for every group; else ceil(2 sum_{j not in G} C_j / m)

    because the m threads run first what else was found ready, each callback once, then what comes
    earlier in the next look. For a group of one callback i: ceil((sum_{j != i} C_j + HP_i) / m).

    Raises RefusedError: There are fewer cores than threads; or fewer threads than groups, and
        timers are looked at before every pick, so that they may pass what was found ready again and
        again.
    """
    executor = unit.executors[0]
    groups: dict[str, list[int]] = {}
    for i, callback in enumerate(unit.callbacks):
        groups.setdefault(callback.group or f"\0{callback.name}", []).append(i)
    threads = executor.threads or len(groups)
    if len(executor.cores) < min(threads, len(groups)):
        raise RefusedError(
            f"'{executor.name}' has {min(threads, len(groups))} threads and {len(executor.cores)} "
            "cores: name as many cores, or give it fewer threads"
        )
    if threads < len(groups) and unit.system.distro in CHECKS_TIMERS_AT_EVERY_PICK:
        raise RefusedError(
            f"'{executor.name}' of {unit.system.distro} has {threads} threads for {len(groups)} "
            "groups, and its timers go before all that was found ready. Give it a thread for every "
            "group"
        )
    wcet = np.array([c.wcet + unit.extra for c in unit.callbacks], dtype=np.int64)
    before = may_precede(unit.callbacks, unit.system.distro) @ wcet
    held = np.zeros(len(wcet), dtype=np.int64)
    for members in groups.values() if threads < len(groups) else ():
        others = int(wcet.sum() - wcet[members].sum())
        again = int(before[members[0]]) if len(members) == 1 else others
        held[members] = -(-(others + again) // threads)

    def bounds(known: Known) -> dict[str, Local]:
        rows = make_rows(unit, known)
        found: dict[str, Local] = {}
        for members in groups.values():
            mine = np.flatnonzero(np.isin(rows.owner, members))
            result = _group(rows, mine, held)
            for i in members:
                callback = unit.callbacks[i]
                of = rows.owner[mine] == i
                worst = int(result.response[of].max())
                endless = any(stream.period == 1 for stream in known[callback.name].streams)
                if worst >= UNBOUNDED or endless:
                    reason = no_bound(ENDLESS if endless else worst)
                    found[callback.name] = Local(None, reason=reason)
                    continue
                worst = unit.woken(callback, worst)
                found[callback.name] = timer_or_message(callback, worst, int(wcet[i]), int(held[i]))
        return found

    return with_jitter(unit, arrivals, bounds), METHOD


def _group(rows: Rows, mine: Ints, held: Ints) -> Responses:
    """Return the responses of some rows that exclude each other, in any order."""
    tasks = rows.tasks
    delay = held[rows.owner[mine]]
    longer = make_taskset(
        tasks.wcet[mine] + delay,
        tasks.period[mine],
        priority=np.zeros(len(mine), dtype=np.int64),
        jitter=tasks.jitter[mine],
    )
    demand = Demand(
        longer.period,
        longer.jitter,
        own=longer.wcet,
        last=longer.wcet,
        measured=tasks.wcet[mine],
        blocking=np.zeros(len(mine), dtype=np.int64),
        higher=higher_or_equal(longer),
        exclusive=np.zeros(len(mine), dtype=np.bool_),
    )
    return responses(demand, preemptive=False)
