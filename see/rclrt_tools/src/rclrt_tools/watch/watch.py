# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The watch over a system: the program rclrt_watch, fed with records, asked for its verdict.

What an instance of a chain is and when an assumption is broken, executors know as well: they have
the library of the program. ros/rclrt_watch/src/main.cpp says what it is told.
"""

import json
import os
import select
import subprocess
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote

from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.result import Result
from rclrt_analysis.bounds.threads import is_threaded
from rclrt_analysis.model import Callback, Chain, Kind, Policy, System
from rclrt_analysis.plan.parameters import entry_name
from rclrt_tools import places
from rclrt_tools.live.files import stat_of
from rclrt_tools.live.threads import Thread
from rclrt_tools.trace import layout
from rclrt_tools.trace.layout import Entry, Header, Records, TraceError

PACKAGE = PROGRAM = "rclrt_watch"
JobKey = tuple[bytes, int, int, int]
"""Boot, process, executor, number of the job within the executor."""

BATCH = 1 << 16
"""So many records the program takes at once."""

PATIENCE_S = 30.0
"""So long the program may neither take, answer nor run."""

SPENT = slice(11, 13)
"""Where the fields in /proc have the processor time."""

_word = partial(quote, safe="/", errors="replace")


@dataclass(frozen=True)
class Seen:
    """What was seen of a chain; times in ns.

    row: As in `Watch.to_json`.
    worst_path: The jobs of the worst instance, the first callback's first.
    instances: The newest: how long each took, and when it ended.
    """

    chain: Chain
    row: Mapping[str, Any]
    worst: int | None
    worst_at: int
    worst_path: tuple[JobKey, ...]
    instances: list[tuple[int, int]]

    @property
    def values(self) -> list[int]:
        """Return how long the newest instances took, sorted."""
        return sorted(value for value, _ in self.instances)


class Watch:
    """A system and what has been seen of it.

    lost_records: How many are missing.

    Raises TraceError: There is no program.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.result = analyse(system)
        self.lost_records = 0
        self._boot = bytes(16)
        self._sources: dict[Header, int] = {}
        self._named: dict[Header, set[int]] = {}
        self._known: dict[str, str | None] = {}
        path = places.program(PACKAGE, PROGRAM)
        try:
            # A session of its own: what ends this command must not end the program before it.
            self._program = subprocess.Popen(
                [path], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            why = places.NO_WATCH.format(verb="watch")
            raise TraceError(f"{path}: {error.strerror}. A watch {why}") from error
        self.close = weakref.finalize(self, _end, self._program)
        self._told = bytearray()
        self._in = self._program.stdin.fileno()  # type: ignore[union-attr]
        self._out = self._program.stdout.fileno()  # type: ignore[union-attr]
        os.set_blocking(self._in, False)
        for line in _description(system, self.result):
            self._tell(*line)

    def add(self, header: Header, callbacks: Mapping[int, Entry], records: Records) -> None:
        """Take records of one executor."""
        if not len(records):
            return
        self._boot = header.boot_id
        number = self._sources.setdefault(header, len(self._sources))
        self._tell("source", number, header.process, header.executor)
        named = self._named.setdefault(header, set())
        if len(named) != len(callbacks):
            for id_ in callbacks.keys() - named:
                self._tell("name", id_, _word(callbacks[id_].name))
                named.add(id_)
        for begin in range(0, len(records), BATCH):
            part = records[begin : begin + BATCH]
            self._tell("records", len(part))
            self._write(part.tobytes())

    def settle(self, until: int) -> None:
        """Judge what has ended by then; of that nothing more comes."""
        self._tell("settle", until)

    def foreign(self, kind: str, who: str, text: str, callback: str = "") -> None:
        """Note something that is no job of a callback of the model.

        kind: Such as "stranger".
        callback: Whose core it concerns; "": any.
        """
        self._tell("note", _word(who), kind, _word(text), _word(callback))

    def look(
        self, program: str, headers: list[Header], threads: list[Thread], workers: set[int]
    ) -> None:
        """Judge whether threads of a process have what they had, or what their jobs asked for.

        headers: Of its executors.
        workers: Threads that may run jobs of which nothing was added.
        """
        for one in threads:
            policy = layout.POLICIES.index(one.policy) if one.policy in layout.POLICIES else 0
            state = policy, one.priority or 0, int(one.number in workers)
            self._tell("thread", one.number, _word(one.name), *state)
        for header in headers:
            if header in self._sources:
                self._tell("at", self._sources[header])
        self._tell("look", _word(program))

    def name_of(self, name: str) -> str | None:
        """Return the model's name of an executor's callback; None: the model does not have it.

        As in a plan, a name may stand for all of one kind of a node.
        """
        if name not in self._known:
            self._known[name] = self._ask("which", _word(name))
        return self._known[name]

    def to_json(self) -> dict[str, Any]:
        """Return everything, times in ms; schema 1."""
        return self._say(0)

    @property
    def broken(self) -> dict[tuple[str, str], dict[str, Any]]:
        """What is not as in the model, by whom it concerns and which kind of assumption it is."""
        found = self.to_json()["broken_assumptions"]
        return {(one["callback"], one["what"]): one for one in found}

    @property
    def chains(self) -> list[Seen]:
        """What was seen of each chain."""
        rows = self._say(1)["chains"]
        found = []
        for chain, one in zip(self.system.chains, rows, strict=True):
            row = one["row"]
            path = tuple((self._boot, *key) for key in one["worst_path"])
            worst = None if row["worst_ms"] is None else round(row["worst_ms"] * 1e6)
            instances = [(value, end) for value, end in one["instances_ns"]]
            found.append(Seen(chain, row, worst, one["worst_end_ns"], path, instances))
        return found

    def diagnostics(self) -> list[dict[str, Any]]:
        """Return a status for each chain; what it says of the time since the last one is new."""
        found: list[dict[str, Any]] = self._ask("diagnostics")
        return found

    def _say(self, more: int) -> dict[str, Any]:
        self._tell("lost", self.lost_records)
        found: dict[str, Any] = self._ask("say", more)
        return found

    def _ask(self, *words: object) -> Any:
        self._tell(*words)
        self._send()
        answer = bytearray()
        while not answer.endswith(b"\n"):
            self._wait(self._out, select.POLLIN)
            more = os.read(self._out, BATCH)
            if not more:
                raise TraceError(f"{PROGRAM} has ended: it has said why")
            answer += more
        return json.loads(answer.decode("utf-8", "replace"))

    def _tell(self, *words: object) -> None:
        self._write((" ".join(map(str, words)) + "\n").encode())

    def _write(self, content: bytes) -> None:
        self._told += content
        if len(self._told) > BATCH:
            self._send()

    def _send(self) -> None:
        try:
            while self._told:
                self._wait(self._in, select.POLLOUT)
                del self._told[: os.write(self._in, self._told)]
        except BrokenPipeError as error:
            raise TraceError(f"{PROGRAM} has ended: it has said why") from error

    def _wait(self, stream: int, event: int) -> None:
        """Return when the program takes or answers; it may take its time, but then it runs."""
        spent: list[str] | None = None
        poll = select.poll()
        poll.register(stream, event)
        while not poll.poll(PATIENCE_S * 1000):
            _, fields = stat_of(f"/proc/{self._program.pid}")
            before, spent = spent, fields[SPENT]
            if before == spent:
                who = self._program.pid
                why = f"has done nothing for {PATIENCE_S:g} s: let it go on (kill -CONT {who})"
                raise TraceError(f"{PROGRAM} (process {who}) {why}, or watch anew")


def _end(program: subprocess.Popen[bytes]) -> None:
    try:
        program.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        program.kill()
        program.communicate()


def _description(system: System, result: Result) -> Iterator[tuple[object, ...]]:
    """Yield what the program is told of a model."""
    yield "system", _word(system.name), int(result.met)
    of = {one.name: one for one in result.callbacks}
    for callback in system.callbacks:
        bound = of[callback.name]
        jitter = 0 if callback.kind is Kind.TIMER else callback.jitter
        period = None if callback.period is None else max(0, callback.period - jitter)
        names = _word(callback.name), _word(entry_name(callback))
        times = _or_none(callback.wcet, period, bound.bound, bound.deadline)
        yield "callback", *names, *times, *_policy(system, callback)
        yield from (("cpu", core) for core in system.executor_of[callback.executor].cores)
        yield from (("by", _word(name)) for name in system.triggered_by(callback))
    bounds = {one.name: one.bound for one in result.chains}
    for chain in system.chains:
        times = _or_none(chain.deadline, bounds[chain.name], chain.silent_after)
        counts = _or_none(chain.warn_after or None, chain.error_after or None)
        semantics = ("reaction", "age", "latency").index(chain.semantics)
        yield "chain", _word(chain.name), semantics, chain.join, *times, *counts
        before: frozenset[str] = frozenset()
        for callback in map(system.callback_of.__getitem__, chain.callbacks):
            inputs = len(callback.triggers) if callback.wants_all else 0
            reads = int(bool(before & set(callback.reads)))
            yield "link", _word(callback.name), callback.kind.value, reads, inputs
            before = frozenset(callback.publishes)


def _or_none(*numbers: int | None) -> list[int | str]:
    return ["-" if number is None else number for number in numbers]


def _policy(system: System, callback: Callback) -> tuple[int, int]:
    """Return what its jobs are to run under, as records have it, and the priority; 0: any."""
    executor = system.executor_of[callback.executor]
    is_edf = executor.policy is Policy.EDF
    if is_threaded(executor.kind) and (executor.reservation or is_edf):
        return (layout.POLICY_DEADLINE if executor.reservation else layout.POLICY_EXT), 0
    policy = layout.POLICY_UNKNOWN if is_edf else layout.POLICY_FIFO
    return policy, (callback.priority or 0) if executor.policy is Policy.FIXED_PRIORITY else 0
