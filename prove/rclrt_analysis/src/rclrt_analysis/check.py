# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Checks a certificate of `./rclrt analyze MODEL --certificate FILE`, without the analysis.

    python3 -m rclrt_analysis.check MODEL FILE

It reads the model itself and uses no code of the analysis; it trusts the theorems [Tindell94],
[Davis07], [Spuri96], [George96]. A certificate has the fixed points of their recurrences. Each must
satisfy its equation, so it is no less than the least one, and the bound that follows holds. Exits
with 1 if a number is wrong, 2 if a file cannot be read or no theorem here covers the model.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import yaml

NS_PER_MS = 1_000_000
MOST = 1_000_000  # A window in which more is released is not looked through.
MODEL = {
    "schema", "name", "description", "distro", "cpus", "may_use", "overheads", "executors",
    "callbacks", "chains",
}  # fmt: skip
EXECUTOR = {"name", "kind", "policy", "release", "cores"}
CALLBACK = {
    "name", "kind", "executor", "wcet_ms", "bcet_ms", "period_ms", "jitter_ms", "offset_ms",
    "deadline_ms", "priority", "group", "publishes", "reads",
}  # fmt: skip
OVERHEADS = {"release_ms", "dispatch_ms", "context_switch_ms", "measured"}
THREADED = {"isolated", "preemptive"}
LEVELS = 50


class UncoveredError(Exception):
    """The model has what no theorem here is about."""


class WrongError(Exception):
    """The certificate proves nothing: says which number is wrong."""


class Task(NamedTuple):
    """A timer of the model; times in ns, larger priorities are more urgent."""

    name: str
    cost: int
    period: int
    jitter: int
    deadline: int
    priority: int


class Core(NamedTuple):
    """What competes for a CPU or a thread; `release`: what each timer's release costs all."""

    tasks: Sequence[Task]
    preemptive: bool
    edf: bool
    release: int

    @property
    def theorem(self) -> str:
        """By which theorem its bounds are."""
        return f"{'' if self.preemptive else 'non-'}preemptive {'EDF' if self.edf else 'FP'}"


def _known(item: Mapping[str, Any], keys: set[str], what: str) -> None:
    for key in set(item) - keys:
        raise UncoveredError(f"{what} has {key}")


def _ns(item: Mapping[str, Any], key: str, default: int = 0) -> int:
    value = item.get(key)
    if value is None:
        return default
    exact = Decimal(str(value)) * NS_PER_MS
    if not 0 <= exact < 2**62 or exact != int(exact):
        raise UncoveredError(f"{key} {value} is no whole number of ns")
    return int(exact)


def cores_of(model: Mapping[str, Any]) -> Iterator[Core]:
    """Yield what is covered; UncoveredError: of the whole model nothing is."""
    _known(dict(model), MODEL, "the model")
    overheads = model.get("overheads") or {}
    for key in overheads:
        if key not in OVERHEADS and overheads[key]:
            raise UncoveredError(f"the model has {key}")
    units: dict[str, list[Mapping[str, Any]]] = {}
    for executor in model["executors"]:
        _known(executor, EXECUTOR, f"executor '{executor.get('name')}'")
        shared = str(executor.get("cores", [0])) if executor["kind"] in THREADED else ""
        units.setdefault(shared or f"alone {executor['name']}", []).append(executor)
    used = [core for unit in units.values() for core in set(unit[0].get("cores", [0]))]
    for unit in units.values():
        cores = unit[0].get("cores", [0])
        if len(cores) == 1 and used.count(cores[0]) == 1 and (core := _core(model, unit)):
            yield core


def _core(model: Mapping[str, Any], executors: Sequence[Mapping[str, Any]]) -> Core | None:
    overheads = model.get("overheads") or {}
    names = {executor["name"] for executor in executors}
    policies = {executor.get("policy", "fixed_priority") for executor in executors}
    preemptive, policy = executors[0]["kind"] in THREADED, min(policies)
    extra = _ns(overheads, "dispatch_ms") + 2 * preemptive * _ns(overheads, "context_switch_ms")
    release, edf = _ns(overheads, "release_ms"), policy == "edf"
    mine = [callback for callback in model["callbacks"] if callback["executor"] in names]
    groups = [(c["executor"], c["group"]) for c in mine if c.get("group")]
    tasks = [_task(callback, policy, extra) for callback in mine]
    found = [task for task in tasks if task]
    covered = (
        (preemptive or executors[0]["kind"] == "priority_events")
        and len(policies) == 1
        and (len(executors) == 1 or policy in ("edf", "fixed_priority"))
        and all(one.get("release", "release_only") == "release_only" for one in executors)
        and not (edf and release)
        and len(groups) == len(set(groups))
        and len(found) == len(tasks)
        # Beyond, ranks by period or deadline share the lowest priority.
        and (policy == "fixed_priority" or len({task.priority for task in found}) <= LEVELS)
    )
    return Core(found, preemptive, edf, release) if covered else None


def _task(callback: Mapping[str, Any], policy: str, extra: int) -> Task | None:
    if callback["kind"] != "timer" or set(callback) - CALLBACK:
        return None
    cost, period = _ns(callback, "wcet_ms") + extra, _ns(callback, "period_ms")
    deadline = _ns(callback, "deadline_ms", period)
    priority = {"edf": 0, "rm": -period, "dm": -deadline}.get(policy, callback.get("priority"))
    if not (cost and period and deadline and isinstance(priority, int)):
        return None
    jitter = _ns(callback, "jitter_ms")
    return Task(callback["name"], cost, period, jitter, deadline, priority)


def before(task: Task, time: int) -> int:
    """Return how many jobs are released in [0, time)."""
    return max(0, -(-(time + task.jitter) // task.period))


def until(task: Task, time: int) -> int:
    """Return how many jobs are released in [0, time]."""
    return max(0, (time + task.jitter) // task.period + 1)


def window_of(core: Core, task: Task, window: int) -> int:
    """Return the right side of the equation of the longest busy window."""
    competing = [other for other in core.tasks if core.edf or other.priority >= task.priority]
    longest = max(
        (other.cost for other in core.tasks if core.edf or other not in competing), default=0
    )
    work = sum(before(other, window) * other.cost for other in competing)
    return longest * (not core.preemptive) + work + _costs(core, before, window)


def releases_of(core: Core, task: Task, window: int) -> list[int]:
    """Return the nominal releases in the window of the jobs that may be the worst.

    By priority all; by deadline those that are due when another job is.
    """
    if not core.edf:
        return [q * task.period - task.jitter for q in range(before(task, window))]
    found = {
        k * other.period + other.deadline - other.jitter - task.deadline
        for other in core.tasks
        for k in range(before(other, window + task.deadline) + 1)
    }
    return sorted(a for a in found if -task.jitter <= a < window)


def start_of(core: Core, task: Task, release: int, time: int, costs: bool = True) -> int:
    """Return the right side for the job with this nominal release: all that precedes until `time`.

    costs: Whether releases of timers do.
    """
    count, due = before if core.preemptive else until, release + task.deadline
    work = (release + task.jitter) // task.period * task.cost
    longest = 0
    for other in core.tasks:
        if core.edf and other is not task:
            jobs = min(count(other, time), until(other, due - other.deadline))
            work += jobs * other.cost
        elif other is not task and other.priority >= task.priority:
            work += count(other, time) * other.cost
        later = other.deadline > due if core.edf else other.priority < task.priority
        longest = max(longest, other.cost * later)
    return work + longest * (not core.preemptive) + costs * _costs(core, count, time)


def end_of(core: Core, task: Task, release: int, start: int, time: int) -> int:
    """Return the right side for its end: what cannot be stopped waits for releases alone."""
    if core.preemptive:
        return start_of(core, task, release, time) + task.cost
    work = start_of(core, task, release, start, costs=False)
    return work + task.cost + _costs(core, before, time)


def _costs(core: Core, count: Callable[[Task, int], int], time: int) -> int:
    return core.release and core.release * sum(count(other, time) for other in core.tasks)


def _must_be(what: str, said: object, expected: object) -> None:
    if said != expected:
        raise WrongError(f"{what} is {said}, and must be {expected}")


def _numbers(proof: Mapping[str, Any], key: str, count: int) -> list[int]:
    found = proof.get(key)
    if not isinstance(found, list) or not all(type(n) is int and abs(n) < 2**62 for n in found):
        raise WrongError(f"{key} is no list of whole numbers")
    _must_be(f"the number of {key}", len(found), count)
    return found


def _bound(core: Core, task: Task, proof: Mapping[str, Any]) -> int:
    """Return the bound that a proof leads to, from the nominal release."""
    _must_be("the set of keys", set(proof), {"theorem", "window", "starts", "ends", "bound"})
    _must_be("theorem", proof["theorem"], core.theorem)
    window = proof["window"]
    if type(window) is not int or not 0 < window < 2**62:
        raise WrongError(f"window is {window!r}")
    if sum(before(other, window + task.deadline) for other in core.tasks) > MOST:
        raise WrongError(f"window {window} is too long to look through")
    _must_be("window", window, window_of(core, task, window))
    releases = releases_of(core, task, window)
    ends = _numbers(proof, "ends", len(releases))
    starts = _numbers(proof, "starts", 0 if core.preemptive else len(releases)) or ends
    worst = task.cost
    for release, start, end in zip(releases, starts, ends, strict=True):
        if not core.preemptive:
            _must_be("a start", start, start_of(core, task, release, start))
        _must_be("an end", end, end_of(core, task, release, start, end))
        worst = max(worst, end - release)
    _must_be("bound", proof["bound"], worst)
    return worst


def check(model: Mapping[str, Any], certificate: Mapping[str, Any]) -> dict[str, int]:
    """Return the bounds that are proved, ns; raises WrongError or UncoveredError."""
    tasks = {task.name: (core, task) for core in cores_of(model) for task in core.tasks}
    if certificate.get("schema") != 1 or certificate.get("model") != model.get("name"):
        raise WrongError("it is of another model or schema")
    proofs, without = certificate.get("proofs"), certificate.get("without")
    if set(certificate) != {"schema", "model", "proofs", "without"}:
        raise WrongError(f"it has {sorted(certificate)}")
    names = [callback["name"] for callback in model["callbacks"]]
    if not isinstance(proofs, dict) or sorted([*proofs, *(without or ())]) != sorted(names):
        raise WrongError("its callbacks are not those of the model")
    found = {}
    for name, proof in proofs.items():
        if name not in tasks:
            raise WrongError(f"'{name}': no theorem here covers it")
        try:
            found[name] = _bound(*tasks[name], proof)
        except WrongError as error:
            raise WrongError(f"'{name}': {error}") from error
    return found


def main(words: Sequence[str]) -> int:
    """Check, and print what was found."""
    if len(words) != 2:
        print(__doc__)
        return 2
    try:
        model = yaml.safe_load(Path(words[0]).read_text(encoding="utf-8"))
        certificate = json.loads(Path(words[1]).read_text(encoding="utf-8"))
        proved = check(model, certificate)
    except WrongError as error:
        print(f"{words[1]}: REFUSED: {error}")
        return 1
    except UncoveredError as error:
        print(f"{words[0]}: not covered: {error}")
        return 2
    except (
        OSError,
        ValueError,
        yaml.YAMLError,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
    ) as error:
        print(f"{words[0]}, {words[1]}: cannot be read: {type(error).__name__} {error}")
        return 2
    print(f"PROVED: {len(proved)} bounds; without a proof: {len(certificate['without'])}")
    for name, bound in proved.items():
        print(f"{bound / NS_PER_MS:12.6f} ms  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
