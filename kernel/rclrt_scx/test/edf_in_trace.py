# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Whether threads ran in the order of their deadlines, by the kernel's own trace.

An outsider: it knows nothing of the scheduler, and shares no code with it. From the trace come the
switches and wake-ups, and the lines of the threads themselves (guest/scenarios.hpp): when which
deadline, CPUs and budget count. While a thread changes one of them nobody outside knows which of
the two holds. Then it has the one that accuses less: the later deadline while it waits, the
earlier one while it runs, the CPUs that are in both.

An inversion is a time in which a thread with a deadline could run, and waited, while a CPU where it
may run, which is there, had something later: a thread with a later deadline, one without, or none.
Threads of SCHED_FIFO, SCHED_RR and SCHED_DEADLINE are above all of these. Each CPU has a reserve of
its own, so inversions are judged for each CPU.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

EVENTS = "sched_switch sched_wakeup sched_wakeup_new"
"""The kernel's events that the trace needs."""

POSTPONED = 1 << 62
"""Deadline of one whose budget may have been used up: how far it is postponed nobody tells."""
BACKGROUND = 1 << 63
IDLE = 1 << 64
ABOVE = -1
FIRST_FAIR = 100
"""Priorities below that are of real-time threads."""
CHARGED_NS = 1_000_000
"""The kernel may have charged so much more to a budget than the times of the trace say."""

_LINE = re.compile(r"^\s*.{1,16}-\d+\s+\[(\d+)\]\s+\S+\s+(\d+)\.(\d+): (\w+): (.*)$")
_SWITCH = re.compile(
    r"prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+) ==> .*next_pid=(\d+) next_prio=(-?\d+)"
)
_WAKEUP = re.compile(r"\bpid=(\d+) prio=(-?\d+)")
_COUNTED = re.compile(r"entries-in-buffer/entries-written: (\d+)/(\d+)")


class TraceError(Exception):
    """The trace proves nothing."""


@dataclass(frozen=True)
class Event:
    time_ns: int
    cpu: int
    name: str
    text: str


def events(trace: str) -> Iterator[Event]:
    """Yield the events of a trace as tracefs prints it."""
    counted = _COUNTED.search(trace)
    if counted is None or counted[1] != counted[2] or "LOST" in trace:
        raise TraceError("events were lost, or it is no trace")
    for line in trace.splitlines():
        if not line.startswith("#") and (found := _LINE.match(line)):
            cpu, seconds, part, name, text = found.groups()
            yield Event(int(seconds) * 10**9 + int(part.ljust(9, "0")), int(cpu), name, text)


@dataclass
class Thread:
    """What is known of one. Of what changes there are two values, the first one from before."""

    waits: bool = False
    above: bool = False
    cpu: int | None = None
    since_ns: int = 0
    due: tuple[int, ...] = (0,)
    on: tuple[int | None, ...] = (None,)
    runtime_ns: int = 0
    used_ns: int = 0
    postponed: bool = False
    changing: str = ""
    lost: bool = False
    """Its only CPU is going away: nobody knows where it may run."""
    waits_since_ns: int = 0
    beside: dict[int, tuple[int, str]] = field(default_factory=dict)
    """By CPU that runs something later: since when, and what."""
    inverted_ns: dict[int, int] = field(default_factory=dict)
    """By CPU, in this wait, without those that last."""

    @property
    def latest(self) -> int:
        due = max(BACKGROUND if d == 0 else d for d in self.due)
        loose = self.postponed or (self.runtime_ns and self.used_ns + CHARGED_NS > self.runtime_ns)
        return POSTPONED if loose and due < POSTPONED else due

    @property
    def earliest(self) -> int:
        return ABOVE if self.above else min(BACKGROUND if d == 0 else d for d in self.due)

    def may_run(self, cpu: int) -> bool:
        return not self.lost and all(one is None or one == cpu for one in self.on)


@dataclass(frozen=True)
class Inversion:
    """One thread waited for so long beside something later."""

    lasted_ns: int
    from_ns: int
    text: str


@dataclass
class Seen:
    switches: int = 0
    """To threads with deadlines."""
    waits: int = 0
    deadlines: int = 0
    threads: set[int] = field(default_factory=set)
    """Threads that ever had a deadline."""
    longest: Inversion = Inversion(0, 0, "none")
    summed: Inversion = Inversion(0, 0, "none")
    """All of one wait beside one CPU: what comes closest to what `check` allows for its length."""
    part: float = 0.0
    """The sum, as a share of what is allowed."""
    too_long: list[Inversion] = field(default_factory=list)


class Replay:
    def __init__(self, bound_ns: int, period_ns: int) -> None:
        self.seen = Seen()
        self._bound_ns = bound_ns
        self._period_ns = period_ns
        self._threads: dict[int, Thread] = {}
        self._runs: dict[int, int] = {}
        self._away: set[int] = set()

    def step(self, event: Event) -> None:
        if event.name == "sched_switch":
            self._switch(event)
        elif event.name in ("sched_wakeup", "sched_wakeup_new"):
            self._wakeup(event)
        elif event.name == "tracing_mark_write" and event.text.startswith("rclrt "):
            self._mark(event)
        else:
            return
        self._look(event.time_ns)

    def _thread(self, tid: int) -> Thread:
        return self._threads.setdefault(tid, Thread())

    def _switch(self, event: Event) -> None:
        found = _SWITCH.search(event.text)
        if found is None:
            raise TraceError(f"not a switch: {event.text}")
        tid, had, state, following, priority = found.groups()
        if tid != "0":
            before = self._thread(int(tid))
            before.above = int(had) < FIRST_FAIR
            if before.cpu is not None:
                before.used_ns += event.time_ns - before.since_ns
            before.cpu = None
            if state in ("R", "R+"):
                self._begin_to_wait(before, event.time_ns)
        self._runs[event.cpu] = int(following)
        if following != "0":
            after = self._thread(int(following))
            self._end_wait(int(following), after, event.time_ns)
            after.cpu, after.since_ns = event.cpu, event.time_ns
            after.above = int(priority) < FIRST_FAIR
            self.seen.switches += after.earliest not in (ABOVE, BACKGROUND)

    def _wakeup(self, event: Event) -> None:
        found = _WAKEUP.search(event.text)
        if found is None:
            raise TraceError(f"not a wake-up: {event.text}")
        thread = self._thread(int(found[1]))
        thread.above = int(found[2]) < FIRST_FAIR
        if thread.cpu is None and not thread.waits:
            thread.postponed = False  # The kernel looks at its budget then.
            self._begin_to_wait(thread, event.time_ns)

    def _begin_to_wait(self, thread: Thread, time_ns: int) -> None:
        thread.waits, thread.waits_since_ns = True, time_ns
        thread.inverted_ns.clear()
        if thread.on[-1] in self._away:
            thread.on = (None,)  # The kernel lets it run anywhere.
        self.seen.waits += not thread.above and thread.latest < BACKGROUND

    def _end_wait(self, tid: int, thread: Thread, time_ns: int) -> None:
        for cpu in [*thread.beside]:
            self._close(thread, cpu, time_ns)
        if not thread.waits:
            return
        thread.waits = False
        waited_ns = time_ns - thread.waits_since_ns
        allowed_ns = self._bound_ns * (1 + waited_ns // self._period_ns)
        for cpu, inverted_ns in thread.inverted_ns.items():
            summed = Inversion(
                inverted_ns,
                thread.waits_since_ns,
                f"thread {tid} in all of a wait of {waited_ns / 1e6:.3f} ms beside CPU {cpu}",
            )
            if inverted_ns > self.seen.part * allowed_ns:
                self.seen.part, self.seen.summed = inverted_ns / allowed_ns, summed
            if inverted_ns > allowed_ns:
                self.seen.too_long.append(summed)

    def _mark(self, event: Event) -> None:
        who, what, *values = event.text.split()[1:]
        if who == "cpu":
            self._hotplug(int(what), values[0], event.time_ns)
            return
        thread = self._thread(int(who))
        if what == "due":
            thread.due = (thread.due[0], int(values[0]))
            self.seen.deadlines += int(values[0]) > 0
            self.seen.threads |= {int(who)} if int(values[0]) > 0 else set()
        elif what == "on":
            cpu = int(values[0])
            thread.on = (thread.on[0], None if cpu < 0 else cpu)
        elif what == "budget":
            # Until it is next woken the kernel may not have noticed, if there was one before.
            before = bool(thread.runtime_ns)
            thread.postponed |= before and thread.used_ns + CHARGED_NS > thread.runtime_ns
            thread.runtime_ns, thread.used_ns = int(values[0]), 0
            thread.since_ns = event.time_ns
        elif what == "done":
            thread.due, thread.on = thread.due[-1:], thread.on[-1:]
            thread.lost &= thread.changing != "on"
        elif what == "undone":
            thread.due, thread.on = thread.due[:1], thread.on[:1]
        else:
            raise TraceError(f"not a mark: {event.text}")
        thread.changing = what

    def _hotplug(self, cpu: int, what: str, time_ns: int) -> None:
        if what == "leaves":
            self._away.add(cpu)
        elif what == "back":
            self._away.discard(cpu)
        for thread in self._threads.values():
            if thread.on[-1] != cpu:
                continue
            thread.lost = what == "leaves"
            if what == "away" and (thread.waits or thread.cpu is not None):
                thread.on = (None,)

    def _look(self, time_ns: int) -> None:
        for tid, thread in self._threads.items():
            if not thread.waits or thread.above:
                continue
            latest = thread.latest
            for cpu, runs in self._runs.items():
                earliest = IDLE if runs == 0 else self._threads[runs].earliest
                is_there = cpu not in self._away and thread.may_run(cpu)
                if latest >= BACKGROUND or earliest <= latest or not is_there:
                    self._close(thread, cpu, time_ns)
                elif cpu not in thread.beside:
                    names = {IDLE: "nothing", BACKGROUND: f"thread {runs} of the background"}
                    beside = names.get(earliest, f"thread {runs}, due {earliest}")
                    text = f"thread {tid}, due {latest}, beside {beside} on CPU {cpu}"
                    thread.beside[cpu] = (time_ns, text)

    def _close(self, thread: Thread, cpu: int, time_ns: int) -> None:
        if cpu not in thread.beside:
            return
        since_ns, text = thread.beside.pop(cpu)
        inversion = Inversion(time_ns - since_ns, since_ns, text)
        thread.inverted_ns[cpu] = thread.inverted_ns.get(cpu, 0) + inversion.lasted_ns
        if inversion.lasted_ns > self.seen.longest.lasted_ns:
            self.seen.longest = inversion
        if inversion.lasted_ns > self._bound_ns:
            self.seen.too_long.append(inversion)

    def finish(self, time_ns: int) -> None:
        for thread in self._threads.values():
            for cpu in [*thread.beside]:
                self._close(thread, cpu, time_ns)


def check(trace: str, bound_ns: int, period_ns: int) -> Seen:
    """Return what a trace shows of the order.

    trace: As tracefs prints it, by the clock `mono`.
    bound_ns: No inversion may last longer. Those of one wait beside one CPU may in all take so much
        for each `period_ns` that it has begun.
    period_ns: Of the reserve.
    """
    replay = Replay(bound_ns, period_ns)
    last_ns = 0
    for event in events(trace):
        replay.step(event)
        last_ns = event.time_ns
    replay.finish(last_ns)
    return replay.seen


def run_times(trace: str) -> list[tuple[int, int, int, int, bool]]:
    """Return what ran: CPU, from, until, thread (0: nobody), whether above all."""
    had: dict[int, tuple[int, int, bool]] = {}
    spans = []
    for event in events(trace):
        if event.name != "sched_switch":
            continue
        found = _SWITCH.search(event.text)
        if found is None:
            raise TraceError(f"not a switch: {event.text}")
        if event.cpu in had:
            since_ns, tid, above = had[event.cpu]
            spans.append((event.cpu, since_ns, event.time_ns, tid, above))
        had[event.cpu] = (event.time_ns, int(found[4]), int(found[5]) < FIRST_FAIR)
    return spans
