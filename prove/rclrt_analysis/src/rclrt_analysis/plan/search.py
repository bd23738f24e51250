# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The search for a plan: executors, then CPUs, then priorities, each proved by the bounds."""

import math
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from rclrt_analysis.assignment import by_chain, with_priorities
from rclrt_analysis.bounds.activation import rates
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.bounds.effort import limited
from rclrt_analysis.bounds.result import Result
from rclrt_analysis.model import Callback, ExecutorKind, Kind, Policy, System
from rclrt_analysis.plan.budgets import Budgets, beside_looks, choose_budgets
from rclrt_analysis.plan.levels import (
    HIGHEST,
    LIFTS,
    LOWEST,
    Assigned,
    Score,
    assign,
    by_due,
    needed,
    score,
    unmet,
    with_levels,
)
from rclrt_analysis.plan.openings import Opening
from rclrt_analysis.plan.placement import (
    Placement,
    PlacementError,
    movable,
    placed,
    placements,
    with_timer_thread,
)
from rclrt_analysis.simulation import Seen, SimulationError, search

PATIENCE = 0.4
"""While less than this part of the time limit has passed, a better plan is looked for."""

TRIES = 4
"""Budgets are chosen anew so often, each time beside the looks at those before."""

SMALL = 300
"""With so many open priorities or less, level by level is tried as well: it is slower."""

VAIN = 10
"""The search gives up after so many changes of each callback that were no better."""

MOVES = 40
"""The search gives up after so many moves to another CPU, one after another, that were in vain."""

SIMULATED_JOBS = 5_000
KINDS = (
    (ExecutorKind.ISOLATED, Policy.FIXED_PRIORITY),
    (ExecutorKind.PRIORITY_EVENTS, Policy.FIXED_PRIORITY),
    (ExecutorKind.PRIORITY_EVENTS, Policy.EDF),
    (ExecutorKind.ISOLATED, Policy.EDF),
)
"""What an open executor may be, in the order in which they are tried."""


Tell = Callable[[str], None]


def _quiet(_: str) -> None:
    """Tell nobody."""


@dataclass
class Plan:
    """What was chosen, and what is proved with it.

    system: As the analysis sees it: an executor for each core.
    how: In words, for people.
    optimal: Whether there is no plan at all if this one is not proved: "" if nobody knows, else
        why.
    seen: The longest time of each callback and chain in the simulator, ns.
    budgets: Of callbacks, by name, if the model says that a plan may use them.
    kept_apart: Chains and callbacks whose deadlines then hold whatever others need.
    doubts: Where the simulator contradicts the bounds; none unless the analysis is wrong.
    """

    opening: Opening
    system: System
    result: Result
    how: str
    tried: int = 0
    optimal: str = ""
    complete: bool = True
    seen: dict[str, int] = field(default_factory=dict)
    budgets: Budgets = field(default_factory=dict)
    kept_apart: tuple[str, ...] = ()
    doubts: list[str] = field(default_factory=list)

    @property
    def callbacks(self) -> tuple[Callback, ...]:
        """The model's callbacks, without the releases of the timer thread."""
        known = self.opening.system.callback_of
        return tuple(c for c in self.system.callbacks if c.name in known)

    @property
    def proved(self) -> bool:
        """Whether all deadlines are."""
        return self.result.met


@dataclass(frozen=True)
class _Choice:
    """Executors and CPUs, and the priorities that were found for them."""

    system: System
    placement: Placement
    how: str
    assigned: Assigned

    @property
    def score(self) -> Score:
        return score(self.assigned.result)

    @property
    def met(self) -> bool:
        return self.assigned.result.met


class Search:
    """Looks for a plan until its time is up."""

    def __init__(self, opening: Opening, seconds: float, tell: Tell = _quiet) -> None:
        self._opening = opening
        self._tell = tell
        self._fewest: int | None = None
        self._begin = time.monotonic()
        self._seconds = seconds
        self._longest = 0.0
        self.tried = 0
        self.complete = True

    @property
    def _passed(self) -> float:
        return time.monotonic() - self._begin

    def more(self) -> bool:
        """Return whether there is time for another analysis."""
        enough = self._passed + self._longest < self._seconds
        self.complete &= enough
        return enough

    def analyse(self, system: System) -> Result:
        """Return the bounds, and learn how long that takes."""
        begin = time.monotonic()
        best = "" if self._fewest is None else f", at best {self._fewest} deadlines not proved"
        self._tell(f"{self.tried} plans tried{best}")
        result = analyse(system)
        late = len(unmet(result))
        self._fewest = late if self._fewest is None else min(late, self._fewest)
        self.tried += 1
        self._longest = max(self._longest, time.monotonic() - begin)
        return result

    @limited(math.inf)  # It ends by its time. What plans have in common is analysed once.
    def plan(self) -> Plan:
        """Return the best plan found."""
        best: _Choice | None = None
        refused: PlacementError | None = None
        for kinds, system in self._kinds():
            try:
                for choice in self._choices(kinds, system, best is not None):
                    if best is None or choice.score < best.score:
                        best = choice
                    if best.met and self._passed > PATIENCE * self._seconds:
                        break
            except PlacementError as error:  # Other executors may need fewer CPUs.
                refused = error
            if best is not None and (best.met or not self.more()):
                break
        if best is None:
            raise refused or PlacementError("no time to plan")
        optimal = self._why_optimal(best.assigned)
        if not best.met and not optimal:
            best = self._moved(best)
            best = replace(best, assigned=self._improved(best.assigned))
        found = best.assigned
        return Plan(
            self._opening, found.system, found.result, best.how, self.tried, optimal, self.complete
        )

    def _choices(self, kinds: str, system: System, any_yet: bool) -> Iterator[_Choice]:
        """Yield the priorities for each placement, as long as there is time."""
        for placement in placements(replace(self._opening, system=system)):
            if any_yet and not self.more():
                return
            any_yet = True
            how = ", ".join(part for part in (kinds, placement.name) if part)
            yield self._choose(system, placement, how)

    def _choose(self, system: System, placement: Placement, how: str) -> _Choice:
        assigned = self._assigned(with_timer_thread(placed(system, placement)))
        return _Choice(system, placement, how, assigned)

    def _moved(self, best: _Choice) -> _Choice:
        """Return what moving one group after another to another CPU finds."""
        rng = random.Random(2)
        atoms = movable(replace(self._opening, system=best.system))
        cpus = self._opening.cpus
        vain = 0
        while atoms and len(cpus) > 1 and vain < MOVES and not best.met and self.more():
            vain += 1
            late = {item.name for item in unmet(best.assigned.result)}
            names = {n for c in best.system.chains if c.name in late for n in c.callbacks} | late
            # What is late, and what may be in its way.
            chosen = rng.choice([atom for atom in atoms if names & set(atom)] or atoms)
            if rng.random() < 0.5:
                chosen = rng.choice(atoms)
            core = dict(best.placement.core)
            cpu = rng.choice([one for one in cpus if one != core[chosen[0]]])
            core.update(dict.fromkeys(chosen, cpu))
            choice = self._choose(best.system, Placement("moved", core), best.how + ", moved")
            if choice.score < best.score:
                best, vain = replace(choice, how=best.how.removesuffix(", moved") + ", moved"), 0
        return best

    def _kinds(self) -> Iterator[tuple[str, System]]:
        """Yield the system with each kind of executor that is open to it."""
        opening = self._opening
        if not opening.kinds:
            yield "", opening.system
            return
        for kind, policy in KINDS:
            if (kind, policy) == KINDS[-1] and "edf" not in opening.may_use:
                continue  # Without the scheduler in the kernel nobody would enforce it.
            executors = tuple(
                replace(e, kind=kind, policy=policy) if e.name in opening.kinds else e
                for e in opening.system.executors
            )
            system = opening.system
            if policy is Policy.EDF:
                fixed = [c for c in system.callbacks if c.executor in opening.kinds and c.priority]
                if any(c.name not in opening.priorities for c in fixed):
                    continue  # The user wants priorities.
                system = system.each(
                    lambda c: replace(c, priority=None) if c.executor in opening.kinds else c
                )
            name = kind.value + (" under edf" if policy is Policy.EDF else "")
            yield name, replace(system, executors=executors)

    def _open(self, system: System) -> list[str]:
        """Return the callbacks whose priority is open with this choice of executors."""
        return [
            c.name
            for c in system.callbacks
            if c.name in self._opening.priorities
            and system.executor_of[c.executor].policy is Policy.FIXED_PRIORITY
        ]

    def _assigned(self, system: System) -> Assigned:
        names = self._open(system)
        if not names:
            return Assigned(system, {}, self.analyse(system))
        best = self._lifted(self._with(system, by_due(system, names)))
        if (best.result.met and len(names) > SMALL) or not self.more():
            return best
        if len(names) <= SMALL:
            best = _better(best, assign(system, names, self.analyse, self.more))
        if not best.result.met and self.more():
            ranks = with_priorities(system, by_chain(system)).callbacks
            levels = _compressed({c.name: c.priority or 1 for c in ranks if c.name in set(names)})
            best = _better(best, self._with(system, levels))
        return best

    def _with(self, system: System, levels: dict[str, int]) -> Assigned:
        tried = with_levels(system, levels)
        return Assigned(tried, levels, self.analyse(tried))

    def _lifted(self, best: Assigned) -> Assigned:
        """Return it with what is late above all others, again and again while that helps."""
        now = best
        for _ in range(LIFTS):
            late = needed(now.system, now.result) & set(now.levels)
            top = max(now.levels.values(), default=HIGHEST)
            if not late or top >= HIGHEST or not self.more():
                break
            levels = {n: top + 1 if n in late else level for n, level in now.levels.items()}
            now = self._with(now.system, levels)
            best = _better(best, now)
        return best

    def _why_optimal(self, best: Assigned) -> str:
        """Return why no other plan is proved, if so; nothing where nobody knows."""
        opening, system = self._opening, best.system
        one = len([e for e in system.executors if system.members(e.name)]) == 1
        simple = all(c.kind is Kind.TIMER for c in system.callbacks) and not system.chains
        if opening.kinds or (opening.places and len(opening.cpus) > 1) or not (one and simple):
            return ""
        if len(best.levels) < len(opening.system.callbacks) or len(system.executors[0].cores) > 1:
            return ""
        if best.result.met:
            return "Audsley's assignment: if any priorities were proved, these would be"
        return (
            "no priorities are proved: Audsley's assignment finds them if there are any"
            * best.stuck
        )

    def _improved(self, best: Assigned) -> Assigned:
        """Return what a search finds that moves one callback's level at a time."""
        rng = random.Random(1)
        vain = 0
        while vain < VAIN * len(best.levels) and not best.result.met and self.more():
            vain += 1
            levels = dict(best.levels)
            late = [item.name for item in unmet(best.result)]
            chains = {chain.name: chain.callbacks for chain in best.system.chains}
            chosen = rng.choice(late)
            mine = [n for n in chains.get(chosen, (chosen,)) if n in levels]
            others = [n for n in levels if n not in mine]
            if mine and (not others or rng.random() < 0.5):
                up = rng.choice((1, 2, 5))
                part = mine if rng.random() < 0.5 else rng.sample(mine, 1)
                levels.update({n: min(HIGHEST, levels[n] + up) for n in part})
            elif others:
                for name in rng.sample(others, max(1, len(others) // rng.choice((4, 8, 16)))):
                    levels[name] = max(LOWEST, levels[name] - rng.choice((1, 2, 5)))
            if levels == best.levels:
                continue
            tried = with_levels(best.system, levels)
            found = Assigned(tried, levels, self.analyse(tried), best.stuck)
            if score(found.result) < score(best.result):
                vain = 0
            best = _better(found, best)  # Other levels that are as good lead further.
        return best


def _better(one: Assigned, other: Assigned) -> Assigned:
    """Return the one whose deadlines are closer to met; what is stuck stays so."""
    best = other if score(other.result) < score(one.result) else one
    return replace(best, stuck=one.stuck or other.stuck)


def _compressed(ranks: dict[str, int]) -> dict[str, int]:
    """Return the same order with levels that a plan may use; the last share the lowest."""
    order = sorted(set(ranks.values()), reverse=True)
    top = min(HIGHEST, LOWEST + len(order) - 1)
    level = {rank: max(LOWEST, top - i) for i, rank in enumerate(order)}
    return {name: level[rank] for name, rank in ranks.items()}


def make_plan(opening: Opening, seconds: float = 20.0, tell: Tell = _quiet) -> Plan:
    """Return the best plan that is found in so many seconds, checked by the simulator.

    tell: Gets a line about the search before each analysis.

    Raises PlacementError: There are too few CPUs for the executors.
    """
    plan = Search(opening, seconds, tell).plan()
    if plan.proved and "budgets" in opening.may_use:
        _with_budgets(plan)
    tell("simulating the plan")
    check_by_simulation(plan)
    return plan


def _with_budgets(plan: Plan) -> None:
    """Give the plan budgets, if it is proved with the thread that watches them."""
    system, result = plan.system, plan.result
    for attempt in range(TRIES):
        budgets, apart = choose_budgets(system, result)
        callbacks = (replace(c, budget=budgets.get(c.name, c.budget)) for c in system.callbacks)
        limited = replace(system, callbacks=tuple(callbacks))
        # Budgets that do not run out change nothing, but for looks at them.
        proved = analyse(limited) if system.overheads.watch else plan.result
        if attempt and not budgets:
            break
        if proved.met:
            plan.budgets, plan.kept_apart, plan.result = budgets, apart, proved
            return
        result = beside_looks(system, budgets)
    plan.how += ", without budgets: what the thread takes that watches them leaves no room"


def check_by_simulation(plan: Plan) -> None:
    """Run the simulator as a second opinion: what it sees must be below the bounds."""
    system, result = plan.system, plan.result
    periods = [c.period for c in system.callbacks if c.period]
    rate = sum(rates(system).values())
    longest = int(min(3 * max(periods), 40 * SIMULATED_JOBS / max(rate, 1e-12)))
    found = Seen()
    try:
        large = rate * longest * len(system.chains) > 20 * SIMULATED_JOBS
        for random_work in (False, True)[: 1 if large else 2]:
            search(
                system, 0, random_work, longest=longest,
                jobs=SIMULATED_JOBS, fewest=1 if large else 2, seen=found,
            )  # fmt: skip
    except SimulationError as error:
        plan.doubts.append(f"the simulator gave no second opinion: {error}")
        return
    seen = {**found.callbacks, **found.chains}
    limits = {bound.name: bound.bound for bound in result.callbacks}
    limits |= {chain.name: chain.bound for chain in result.chains}
    plan.seen = seen
    for name, value in seen.items():
        limit = limits[name]
        if limit is not None and value > limit:
            plan.doubts.append(
                f"'{name}' took {value} ns in the simulator, its bound is {limit} ns"
            )
