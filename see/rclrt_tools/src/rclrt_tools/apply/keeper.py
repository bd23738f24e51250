# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Gives threads and interrupts what a file says, as they come, and gives back what they had."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from rclrt_tools.apply import helper
from rclrt_tools.apply.entries import Entry, merged
from rclrt_tools.apply.held import Held, Store
from rclrt_tools.apply.machine import (
    Sleepless,
    limit_of,
    look,
    take_every_cpu,
    throttles,
    urgent_threads,
    without_guard,
)
from rclrt_tools.apply.parts import (
    FIELDS,
    KINDS,
    PERMISSION,
    URGENT,
    Clamp,
    Part,
    Parts,
    Target,
    why,
)
from rclrt_tools.live.files import BORN, STATE, proc_text, stat_of
from rclrt_tools.live.threads import cpus_in

SEEN_S = 0.2
"""So long threads are looked at before they get a real-time policy, if they could starve others."""

GONE = "the helper has ended: what was changed comes back when apply is started again"

NO_WAY_BACK = -1
"""Beside error numbers: why nothing was changed."""

ORDER = {"policy": 0, "clamp": 1, "cpus": 2}


class Helper:
    """The process that makes the changes (helper.py)."""

    def __init__(self, proc: Path, user: int | None, group: int | None) -> None:
        names = [str(proc), *("" if one is None else str(one) for one in (user, group))]
        self._process = subprocess.Popen(
            [sys.executable, "-I", helper.__file__, *names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.number = self._process.pid
        self.capable = bool(self._answer())

    def _answer(self) -> int:
        assert self._process.stdout is not None
        data = self._process.stdout.read(helper.ANSWER.size)
        if len(data) != helper.ANSWER.size:
            raise OSError(GONE)
        number: int = helper.ANSWER.unpack(data)[0]
        return number

    def ask(self, request: helper.Request) -> int:
        """Have a change made; return 0 or an error number.

        Raises OSError: The helper has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(helper.FORM.pack(*request))
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise OSError(GONE) from error
        return self._answer()

    def close(self) -> None:
        """End it."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()
        self._process.wait()


class Keeper:
    """Call `sweep` when something may have come, and `give_back` at the end.

    ask: Has a change made and returns an error number; None: nothing is changed or written down.
    tell: Takes what a user should know.
    explain: Takes what each thread gets, and why.
    ours: Processes that are left alone.
    parents: Which process has started which, also after its parent has ended.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        store: Store | None,
        ask: Callable[[helper.Request], int] | None,
        tell: Callable[[str], None],
        explain: Callable[[str], None] = lambda _: None,
        proc: Path = Path("/proc"),
        capable: bool = False,
        allow_starving: bool = False,
        cpus: frozenset[int] | None = None,
        ours: Collection[int] = (),
        parents: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.held: dict[Target, Held] = {}
        self.refused = 0
        """Threads that wait for a real-time policy, because others would starve."""
        self._entries = entries
        self._store = store
        self._ask = ask
        self._tell_all = tell
        self._explain = explain
        self._proc = proc
        self._capable = capable
        self._allow = allow_starving
        self._cpus = online() if cpus is None else cpus
        self._ours = ours
        self._parents = parents
        self._decided: dict[Target, dict[str, Part]] = {}
        self._told: set[object] = set()
        self._explained: dict[Target, str] = {}
        self._lacking: set[Target] = set()  # were refused something
        self._busy: dict[tuple[Target, str], Part] = {}  # what the kernel had no room for
        self._matched: set[Entry] = set()
        self._sleepless = Sleepless(proc)
        self._others: list[Target] = []  # urgent threads that we have not changed
        self._urgent: set[Target] = (
            set()
        )  # that get other CPUs, and have such a policy by themselves

    @property
    def watches(self) -> bool:
        """Return whether threads have to be looked at again even if none comes."""
        return bool(self.refused) or any(map(self._is_urgent, self.held.values()))

    def sweep(self) -> None:
        """Give what the file says to those that are new; take it back where it is no more said.

        Raises StateError: What was there before cannot be written down.
        Raises OSError: The helper has ended.
        """
        count = len(self.held)
        self._guard()
        new: list[tuple[Held, dict[str, Entry]]] = []
        decided: dict[Target, dict[str, Part]] = {}
        for target, entries in look(self._proc, self._entries, self._near(), self._ours):
            self._matched.update(entries)
            try:
                one, said = self._decide(target, entries)
            except OSError:  # It has ended.
                continue
            decided[target] = {key: part for key, (part, _) in said.items()}
            if decided[target] == self._decided.get(target):
                continue
            if target in self.held:  # It has another name now.
                self._return(self.held[target])
            sources = {key: entry for key, (_, entry) in said.items()}
            if one.given or sources:
                new.append((one, sources))
            elif not entries:
                self._undo_inherited(target)
        for target in [one for one in self.held if one not in decided]:
            self._return(self.held[target])
        self._decided = decided
        self._lacking &= decided.keys()
        self._explained = {one: text for one, text in self._explained.items() if one in decided}
        changed = self._give(self._not_starving(new)) | self._try_again()
        if self._store and not changed and len(self.held) != count:
            self._store.write(self.held.values())

    @property
    def lacking(self) -> int:
        """Return how many threads and interrupts have not all that the file says."""
        return len(self._lacking) + self.refused

    def unmatched(self) -> list[str]:
        """Return the entries that nothing has matched so far."""
        return [
            f"{one.where}: {one.selects()}: there is none now"
            for one in self._entries
            if one not in self._matched
        ]

    def give_back(self) -> None:
        """Give back what all of them had that still run."""
        # Else another process with the number of one that has ended would count as the same.
        self.held = {target: one for target, one in self.held.items() if self._lives(target)}
        for target, _ in look(self._proc, (), self._near(), self._ours) if self.held else ():
            if target not in self.held:
                self._undo_inherited(target)
        for one in list(self.held.values()):
            self._return(one)
        if self._store:
            self._store.write(())

    def take_over(self, held: Sequence[Held]) -> None:
        """Give back what a process that was killed had changed."""
        self.held = {one.target: one for one in held if self._lives(one.target)}
        count = len(self.held)
        self.give_back()
        if count:
            self.tell(f"{count} threads or interrupts have back what an earlier run had changed")

    def tell(self, text: str, about: object = None) -> None:
        """Tell something once."""
        if (about or text) not in self._told:
            self._told.add(about or text)
            self._tell_all(text)

    def _decide(
        self, target: Target, entries: tuple[Entry, ...]
    ) -> tuple[Held, dict[str, tuple[Part, Entry]]]:
        clamps = any(entry.low is not None or entry.high is not None for entry in entries)
        said = merged(entries, Clamp.of(target, self._proc) if clamps else None)
        before, given = {}, {}
        known = self.held[target].before if target in self.held else {}
        for key, (part, _) in said.items():
            now = known.get(key) or self._origin(target, KINDS[key].of(target, self._proc))
            if key == "policy" and part.name in ("deadline", *URGENT):
                keeps = self._capable or part.name == "deadline" or now.reset
                part = KINDS[key](**{**part.__dict__, "reset": keeps})
                said[key] = (part, said[key][1])
            if not part.holds(now):
                before[key], given[key] = now, part
        if (
            "cpus" in given
            and not target.is_interrupt
            and KINDS["policy"].of(target, self._proc).name in URGENT
        ):
            self._urgent.add(target)
        return Held(target, 0, before, given), said

    def _line(self, process: int, parent: int) -> Iterator[int]:
        """Yield a process, its parent, and whoever started them, as far as that is known."""
        yield process
        yield parent
        for _ in range(32):
            process = self._parents.get(process, 0)
            if not process:
                break
            yield process

    def _near(self) -> Callable[[int, int], bool]:
        """Return whether threads of a process may have begun with what we gave others."""
        held = {one.target.process for one in self.held.values() if one.target.process}
        return lambda process, parent: any(one in held for one in self._line(process, parent))

    def _origin(self, target: Target, part: Part) -> Part:
        """Return what a thread would have, had it not begun with what we gave its creator."""
        line = set(self._line(target.process, target.parent))
        for one in self.held.values():
            gave = one.given.get(part.key)
            if (
                gave
                and target.born >= one.since
                and one.target.process in line
                and one.target != target
                and gave.holds(part, exactly=False)
            ):
                return one.before[part.key]
        return part

    def _undo_inherited(self, target: Target) -> None:
        for key in sorted({key for one in self.held.values() for key in one.given}):
            try:
                now = KINDS[key].of(target, self._proc)
            except OSError:
                return
            was = self._origin(target, now)
            if was is not now and self._ask:
                self._ask(was.request(target))

    def _not_starving(
        self, new: list[tuple[Held, dict[str, Entry]]]
    ) -> list[tuple[Held, dict[str, Entry]]]:
        """Return those that may get what they are to get."""
        self.refused = 0
        urgent = [one for one, _ in new if self._is_urgent(one)]
        reserved = [one for one, _ in new if _reserves(one)]
        if self._allow or not (urgent or reserved):
            return new
        bad: dict[Target, str] = {}
        off = "(kernel.sched_rt_runtime_us is off): sysctl kernel.sched_rt_runtime_us=950000"
        for one in urgent:
            if _is_urgent(one.given) and without_guard(self._proc, one.target.process):
                text = f"nothing would stop it if it did not sleep {off}"
                bad[one.target] = f"{text}, or RLIMIT_RTTIME of its process"
        # What the kernel would admit if it looked.
        left = 0.95 * len(self._cpus) - sum(map(_reserves, self.held.values()))
        for one in [] if throttles(self._proc) else reserved:
            left -= _reserves(one)
            if left < 0:
                bad[one.target] = f"with others it reserves all time of the CPUs {off}"
        if urgent:
            mine = {one.target: one for one in urgent}
            both = list({*mine, *urgent_threads(self._proc)})
            sleepless = Sleepless(self._proc)
            sleepless.look(both)
            time.sleep(SEEN_S)
            awake = sleepless.look(both)
            if self._starve(awake, mine):
                text = "it does not sleep, as others, which would together take every CPU"
                bad |= {target: text for target in awake if target in mine}
        self.refused = len(bad)
        for target, text in bad.items():
            self._decided.pop(target, None)
            end = ". --allow-starving gives it all the same"
            said = f"{target}: it does not get what the file says: {text}{end}"
            self._explain_once(target, said)
            self.tell(said, (target.process, text))
        return [(one, said) for one, said in new if one.target not in bad]

    def _is_urgent(self, one: Held) -> bool:
        """Return whether it gets a real-time policy, or has one and gets other CPUs."""
        has = one.target in self._urgent and "policy" not in one.given
        return _is_urgent(one.given) or (has and "cpus" in one.given)

    def _starve(self, awake: Sequence[Target], new: dict[Target, Held]) -> bool:
        """Return whether these threads, which do not sleep, can run on every CPU at once."""
        cpus_of = {}
        for target in awake:
            one = new.get(target) or self.held.get(target)
            given = one.given.get("cpus") if one else None
            try:
                cpus_of[target] = frozenset((given or KINDS["cpus"].of(target, self._proc)).cpus)
            except OSError:
                cpus_of[target] = frozenset()
        return take_every_cpu(awake, cpus_of, self._cpus)

    def _guard(self) -> None:
        """Take the policy back from threads that have begun never to sleep, if others starve."""
        urgent = [one.target for one in self.held.values() if self._is_urgent(one)]
        awake = self._sleepless.look({*urgent, *self._others})
        mine = [target for target in awake if target in self.held]
        self._others = list(urgent_threads(self._proc)) if mine else []
        if not self._allow and self._starve(awake, {}):
            for target in mine:
                self._return(self.held[target])
                text = "it has back what it had: with others it took every CPU and did not sleep"
                self.tell(f"{target}: {text}. --allow-starving leaves it")

    def _give(self, new: list[tuple[Held, dict[str, Entry]]]) -> bool:
        """Write down what was there before, and change it; return whether anything is new."""
        made = [one for one, _ in new if one.given]
        # From the next tick on: what began in this one has not inherited anything.
        since = _ticks() + 1
        for one in made:
            one.since = since
        if self._store and made:
            self._store.write([*self.held.values(), *made])
        while made and self._ask and _ticks() < since:
            time.sleep(0.001)
        for one, sources in new:
            refused = {}
            # A reservation wants the CPUs as they will be; all else is safest after its policy.
            first = one.given.get("policy")
            is_last = first is not None and first.name == "deadline"
            for key in sorted(one.given, key=ORDER.__getitem__, reverse=is_last):
                part = one.given[key]
                if self._ask and not self._can_return(one, key):
                    number = NO_WAY_BACK
                else:
                    number = self._ask(part.request(one.target)) if self._ask else 0
                if number:
                    refused[key] = number
            wanted = self._decided[one.target]
            self._explain_once(one.target, _explanation(one, sources, wanted, refused))
            for key, number in refused.items():
                self._lacking.add(one.target)
                if number == errno.EBUSY:
                    self._busy[one.target, key] = one.given[key]
                self._say_refused(one.target, one.given.pop(key), number, one.before.pop(key))
            if one.given and self._ask:
                self.held[one.target] = one
        return bool(made)

    def _try_again(self) -> bool:
        """Give what the kernel had no room for, if it has room now; return whether it has."""
        done = False
        for (target, key), part in list(self._busy.items()):
            del self._busy[target, key]
            if self._decided.get(target, {}).get(key) != part or not self._ask:
                continue
            one = self.held.get(target) or Held(target, _ticks() + 1, {}, {})
            try:
                one.before[key] = KINDS[key].of(target, self._proc)
            except OSError:  # It has ended.
                continue
            one.given[key] = part
            if self._store:
                self._store.write({**self.held, target: one}.values())
            number = self._ask(part.request(target))
            if not number:
                done = True
                self.held[target] = one
                self._lacking.discard(target)
                self._explain(f"{target}\n  {part}: there is room for it now")
                continue
            del one.before[key], one.given[key]
            if number == errno.EBUSY:
                self._busy[target, key] = part
        return done

    def _explain_once(self, target: Target, text: str) -> None:
        if self._explained.get(target) != text:
            self._explained[target] = text
            self._explain(text)

    def _can_return(self, one: Held, key: str) -> bool:
        """Return whether what a thread has may be given back: a smaller nice is a privilege."""
        was, part = one.before[key], one.given[key]
        if self._capable or key != "policy" or "nice" not in FIELDS[was.name]:
            return True
        if part.name != "idle" and part.nice <= was.nice:
            return True
        limit = limit_of(self._proc, one.target.process, "nice priority")
        return limit is None or limit >= 20 - was.nice

    def _say_refused(self, target: Target, part: Part, number: int, was: Part) -> None:
        if number == errno.ESRCH:
            return
        if number == NO_WAY_BACK:
            text = f"it could not have {was} back: RLIMIT_NICE is too low. {PERMISSION}"
            self.tell(f"{target}: {part}: {text} (others like this are not told)", NO_WAY_BACK)
            return
        reason = why(part, target.is_interrupt, number, self._capable)
        text = f"{target}: {part}: {os.strerror(number)}" + f". {reason}" * bool(reason)
        self.tell(f"{text} (others like this are not told)", (part.key, reason, number))

    def _lives(self, target: Target) -> bool:
        try:
            if target.is_interrupt:
                return any(True for _ in self._same_interrupt(target))
            fields = stat_of(f"{self._proc}/{target.process}/task/{target.number}")[1]
            return int(fields[BORN]) == target.born and fields[STATE] not in "ZX"
        except (OSError, ValueError, IndexError):
            return False

    def _same_interrupt(self, target: Target) -> Iterator[Target]:
        entry = Entry("irqs", "", "*", number=target.number)
        return (t for t, _ in look(self._proc, (entry,)) if t.name == target.name)

    def _return(self, one: Held) -> None:
        """Give back what is still as we left it."""
        self.held.pop(one.target, None)
        self._urgent.discard(one.target)
        if not self._ask or not self._lives(one.target):
            return
        for key in sorted(one.given, key=ORDER.__getitem__):
            try:
                now = KINDS[key].of(one.target, self._proc)
            except OSError:
                return
            if now == one.before[key]:
                continue
            if not one.given[key].holds(now, exactly=False):
                text = f"{one.target}: it has {now}, which is not from here: left as it is"
                self.tell(text)
            elif number := self._ask(one.before[key].request(one.target)):
                reason = why(one.before[key], one.target.is_interrupt, number, self._capable)
                text = f"{one.target}: {one.before[key]} cannot be given back"
                self.tell(f"{text}: {os.strerror(number)}. {reason}")


def _is_urgent(given: Parts) -> bool:
    return "policy" in given and given["policy"].name in URGENT


def _reserves(one: Held) -> float:
    policy = one.given.get("policy")
    return policy.runtime / policy.period if policy and policy.name == "deadline" else 0


def online() -> frozenset[int]:
    """Return the CPUs that are switched on."""
    try:
        return frozenset(cpus_in(proc_text("/sys/devices/system/cpu/online")))
    except (OSError, ValueError):
        return frozenset(os.sched_getaffinity(0))


def _ticks() -> int:
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def _explanation(
    one: Held, sources: dict[str, Entry], wanted: dict[str, Part], refused: dict[str, int]
) -> str:
    lines = [str(one.target)]
    for key, entry in sources.items():
        if key in refused:
            number = refused[key]
            reason = "no way back" if number == NO_WAY_BACK else os.strerror(number)
            was = f"refused: {reason}"
        else:
            was = f"before: {one.before[key]}" if key in one.before else "as it has already"
        lines.append(f"  {wanted[key]} ({was}), by {entry.where}: {entry.selects()}")
    return "\n".join(lines)
