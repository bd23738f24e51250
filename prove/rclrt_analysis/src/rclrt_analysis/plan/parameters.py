# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A plan as a parameters file that executors read, with a header that says what proves it.

The header has the hash of the model and that of the file's content, so that an edited plan, or one
of an older model, is noticed. Commands get a model alone, or with what a plan has chosen for it.
"""

import hashlib
import json
import os
import platform
import re
import resource
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rclrt_analysis.model import (
    Callback,
    ExecutorKind,
    ModelError,
    Policy,
    System,
    model_schema,
    read_model,
)
from rclrt_analysis.model.assumptions import premises
from rclrt_analysis.model.document import read_document
from rclrt_analysis.plan.fields import (
    assumption_fields,
    budget_field,
    budget_of,
    chain_lines,
    duration,
    group_lines,
    quoted,
    unbounded,
    unnamed_groups,
)
from rclrt_analysis.plan.openings import Opening, read_open
from rclrt_analysis.plan.placement import PRIORITY, Placement, placed, timer_cpu, with_timer_thread
from rclrt_analysis.plan.search import Plan
from rclrt_analysis.report import ms, overhead_lines, premise_lines

VERSION = 1
CLASSES = {
    ExecutorKind.ISOLATED: "CallbackIsolatedExecutor",
    ExecutorKind.PREEMPTIVE: "PreemptiveExecutor",
    ExecutorKind.PRIORITY_EVENTS: "PriorityEventsExecutor",
}
"""What can be told by a parameters file."""

FULL_NAME = re.compile(r"/.+/(timer|subscription|service|client|waitable)/.+")
_BODY = "/**:\n"


def entry_name(callback: Callback) -> str:
    """Return the name of a callback in a parameters file.

    A name that is not one of an executor's is taken for that of a node with one callback of its
    kind; a join of several subscriptions is all of them.
    """
    name = callback.name
    if FULL_NAME.fullmatch(name):
        return name
    node = name if name.startswith("/") else f"/**/{name}"
    return f"{node}/{callback.kind.value}/**"


def check_names(system: System) -> list[str]:
    """Return which callbacks a parameters file cannot tell from each other."""
    problems = []
    seen: dict[str, str] = {}
    for callback in system.callbacks:
        if "*" in callback.name:
            problems.append(f"'{callback.name}' is a pattern: give the callback the name it has")
        other = seen.setdefault(entry_name(callback), callback.name)
        if other != callback.name:
            problems.append(f"'{callback.name}' and '{other}' have the same name in a plan")
    problems += unnamed_groups(system)
    return problems


def to_parameters(plan: Plan, model: str) -> str:
    """Return the file.

    model: How the model's file is called.
    """
    body = _body(plan)
    return "".join(f"# {line}".rstrip() + "\n" for line in _header(plan, model, body)) + body


def digest(text: str) -> str:
    """Return the hash that a header has for its content."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


def _original(plan: Plan, name: str) -> str:
    """Return the model's executor of a callback: the analysis has one for each core."""
    return plan.opening.system.callback_of[name].executor


def _executors(plan: Plan) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    groups: dict[str, set[str]] = {}
    for callback in plan.callbacks:
        executor = plan.system.executor_of[callback.executor]
        name = _original(plan, callback.name)
        groups.setdefault(name, set()).add(callback.group or f"\0{callback.name}")
        found[name] = {
            "kind": executor.kind.value,
            "policy": executor.policy.value,
            "threads": len(groups[name]) if executor.kind in _THREADED else 1,
        }
    return found


_THREADED = (ExecutorKind.ISOLATED, ExecutorKind.PREEMPTIVE)


def _header(plan: Plan, model: str, body: str) -> list[str]:
    result = plan.result
    executors = _executors(plan)
    lines = [
        f"A plan of rclrt plan for {model}. Do not edit it: change the model, and plan again.",
        f"plan: {VERSION}",
        f"model: sha256:{plan.opening.digest}",
        f"content: {digest(body)}",
        f"machine: {json.dumps({'cpus': os.cpu_count(), 'kernel': platform.release()})}",
        f"executors: {json.dumps(executors)}",
        "",
        "PROVED" if plan.proved else "NOT PROVED: some deadlines are not shown to be met",
        f"found by: {plan.how}; {plan.tried} analyses" + "; time ran out" * (not plan.complete),
    ]
    lines += [plan.optimal] * bool(plan.optimal)
    for method in dict.fromkeys(b.method for b in result.callbacks):
        lines += [f"proved by: {method.name} [{method.source}]"] * bool(method.source)
    for chain in result.chains:
        seen = f", {ms(plan.seen[chain.name])} in the simulator" if chain.name in plan.seen else ""
        due = "" if chain.deadline is None else f" of {ms(chain.deadline)}"
        text = f"no bound: {chain.reason}" if chain.bound is None else f"{ms(chain.bound)}{due} ms"
        lines.append(f"chain {chain.name}: {chain.semantics} {text}{seen}")
    if plan.kept_apart:
        lines.append(f"whatever others need: {', '.join(plan.kept_apart)}")
    for name, one in executors.items():
        kind = CLASSES.get(ExecutorKind(one["kind"]))
        if kind is None:
            lines.append(f"executor {name}: {one['kind']}, which reads no priorities from a file")
        else:
            lines.append(f"executor {name}: {kind}, {one['threads']} threads")
    lines += ["if", *(f"  {a.value}" for a in result.assumptions)]
    lines += ["given", *premise_lines(premises(plan.callbacks))]
    lines += overhead_lines(plan.system.overheads)
    return [part for line in lines for part in (line.split("\n") or [""])]


def _body(plan: Plan) -> str:
    system = plan.system
    told = [c for c in plan.callbacks if system.executor_of[c.executor].kind in CLASSES]
    policies = {system.executor_of[c.executor].policy for c in told}
    fields = ["attributes: require"]
    if len(policies) == 1:
        edf = policies == {Policy.EDF}
        fields.append("policy: edf" if edf else "policy: fixed_priority")
    if any(_by_deadline(system, c) for c in told):
        # Its bands of fixed priorities know no CPUs: without the scheduler in the kernel it fails.
        fields.append("deadline_scheduler: sched_ext")
    cpu = timer_cpu(system)
    if cpu is not None:
        thread = f"scheduling_policy: fifo, priority: {PRIORITY}, cpu_affinity: [{cpu}]"
        fields.append(f"timer_thread: {{{thread}}}")
    pools = [e["threads"] for e in _executors(plan).values() if e["kind"] == "preemptive"]
    if pools:
        fields.append(f"max_threads: {max(2, *pools)}")
    lines = [
        "/**:",
        "  ros__parameters:",
        "    rclrt:",
        f"      executor: {{{', '.join(fields)}}}",
    ]
    bounds = {one.name: one.bound for one in plan.result.callbacks}
    entries = [
        (entry_name(c), _fields(plan, c) | assumption_fields(c, bounds[c.name])) for c in told
    ]
    entries = [(name, entry) for name, entry in entries if entry]
    if entries:
        lines.append("      callbacks:")
    for name, entry in entries:
        lines.append(
            f"        {quoted(name)}: {{{', '.join(f'{k}: {v}' for k, v in entry.items())}}}"
        )
    lines += [f"      {line}" for line in group_lines(system)]
    of_chains = {one.name: one.bound for one in plan.result.chains}
    lines += [f"      {line}" for line in chain_lines(plan.opening.system, of_chains, entry_name)]
    return "\n".join(lines) + "\n"


def _by_deadline(system: System, callback: Callback) -> bool:
    """Return whether the OS orders its jobs by their deadlines."""
    executor = system.executor_of[callback.executor]
    return executor.kind in _THREADED and executor.policy is Policy.EDF


def _fields(plan: Plan, callback: Callback) -> dict[str, str]:
    system = plan.system
    executor = system.executor_of[callback.executor]
    fields: dict[str, str] = {}
    if executor.reservation is not None and executor.kind in _THREADED:
        budget, period = executor.reservation.budget, executor.reservation.period
        fields = {"scheduling_policy": "deadline", "runtime": duration(budget)}
        fields |= {"deadline": duration(period), "period": duration(period)}
    elif executor.policy is Policy.EDF:
        if _by_deadline(system, callback):
            fields["scheduling_policy"] = "ext"
        if callback.deadline:
            fields["relative_deadline"] = duration(callback.deadline)
        if callback.is_stamped:
            fields |= {
                "deadline_from": callback.deadline_from,
                "clock_error": duration(callback.clock_error or 0),
            }
    elif callback.priority is not None:
        fields |= {"scheduling_policy": "fifo", "priority": str(callback.priority)}
    limit = plan.budgets.get(callback.name, callback.budget)
    if limit is not None:
        fields["budget"] = budget_field(limit)
    if fields:
        fields["cpu_affinity"] = f"[{', '.join(str(cpu) for cpu in executor.cores)}]"
    return fields


@dataclass(frozen=True)
class PlanFile:
    """A plan that was read.

    edited: Whether its content is not what was written.
    entries, groups, chains: Of callbacks, of groups and of chains, by their names in the file.
    """

    path: Path
    model: str
    edited: bool
    machine: Mapping[str, Any]
    executors: Mapping[str, Any]
    entries: Mapping[str, Any]
    groups: Mapping[str, Any] = field(default_factory=dict)
    chains: Mapping[str, Any] = field(default_factory=dict)


def read_plan(path: Path) -> PlanFile:
    """Return a plan from its file.

    Raises ModelError: It is none, or is one of a newer program.
    """
    document = read_document(path)
    text = path.read_text(encoding="utf-8")
    header, separator, rest = text.partition(_BODY)
    said = dict(re.findall(r"^# (plan|model|content|machine|executors): (.*)$", header, re.M))
    try:
        version = int(said["plan"])
        if version > VERSION:
            text = f"a plan of version {version}, this program reads {VERSION}"
            raise ModelError([f"{path}:1: {text}. A newer rclrt may read it"])
        content = document.content["/**"]["ros__parameters"]["rclrt"]
        return PlanFile(
            path,
            said["model"],
            digest(separator + rest) != said["content"],
            json.loads(said["machine"]),
            json.loads(said["executors"]),
            dict(content.get("callbacks", {})),
            dict(content.get("groups", {})),
            dict(content.get("chains", {})),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = "this is no plan of rclrt plan, or its header was edited. Plan again"
        raise ModelError([f"{path}:1: {text}"]) from error


@dataclass(frozen=True)
class Machine:
    """What a plan needs of a machine.

    priority: The highest that this user may use.
    reservations: Whether this user may make them.
    """

    cpus: int
    kernel: str
    priority: int
    reservations: bool = True


CAP_SYS_NICE = 23
FIRST_USER_NAMESPACE = 0xEFFFFFFD
"""The kernel's number of the one that the machine has begun with."""


def this_machine() -> Machine:
    """Return the machine that this runs on, for this user."""
    limit = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    status = Path("/proc/self/status")
    text = status.read_text(encoding="utf-8") if status.exists() else ""
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", text, re.M)
    able = found is not None and bool(int(found[1], 16) >> CAP_SYS_NICE & 1)
    # Root of a user namespace has all capabilities, but none of the machine.
    namespace = Path("/proc/self/ns/user")
    able = able and (not namespace.exists() or namespace.stat().st_ino == FIRST_USER_NAMESPACE)
    most = 99 if able or limit == resource.RLIM_INFINITY else limit
    return Machine(os.cpu_count() or 1, platform.release(), most, able)


def misfits(file: PlanFile, opening: Opening, machine: Machine | None = None) -> list[str]:
    """Return why a plan is not one for this model and machine, each with the remedy.

    machine: Where it is to be enforced; None: not here.
    """
    found = []
    if file.edited:
        found.append("it was edited after it was made. Change the model, and plan again")
    if file.model != f"sha256:{opening.digest}":
        found.append("the model has changed since. Plan again")
    if machine is not None:
        found += _unable(file, machine)
    return [f"{file.path}: {text}" for text in found]


def _unable(file: PlanFile, machine: Machine) -> Iterator[str]:
    """Yield why a machine cannot enforce a plan."""
    wanted = {cpu for entry in file.entries.values() for cpu in entry.get("cpu_affinity", ())}
    if wanted and max(wanted) >= machine.cpus:
        text = f"it uses CPU {max(wanted)}, this machine has {machine.cpus}"
        yield f"{text}. Plan with the cpus of this one, or use the other"
    highest = max((entry.get("priority", 0) for entry in file.entries.values()), default=0)
    if highest > machine.priority:
        text = f"it uses priority {highest}, this user may use {machine.priority or 'none'} here"
        yield f"{text}. See docs/how-to/real-time-permissions.md"
    reserved = any(one.get("scheduling_policy") == "deadline" for one in file.entries.values())
    if reserved and not machine.reservations:
        text = "it has reservations, which need CAP_SYS_NICE"
        yield f"{text}. See docs/how-to/real-time-permissions.md"


def remarks(file: PlanFile, machine: Machine) -> list[str]:
    """Return what a user should know of where a plan was made; no reason not to use it."""
    made = file.machine.get("kernel")
    if made in (None, machine.kernel):
        return []
    text = f"it was made under Linux {made}, this is {machine.kernel}"
    return [f"{file.path}: {text}: execution times that were measured there may be others here"]


def applied(opening: Opening, file: PlanFile) -> System:
    """Return the model's system with what a plan says.

    Raises ModelError: They have not the same callbacks or executors.
    """
    system = opening.system
    problems = []
    executors = []
    for executor in system.executors:
        said = file.executors.get(executor.name)
        if said is None:
            executors.append(executor)
        else:
            kind, policy = ExecutorKind(said["kind"]), Policy(said["policy"])
            executors.append(replace(executor, kind=kind, policy=policy))
        if file.groups:
            mine = {c.group for c in system.members(executor.name)}
            groups = {name: entry for name, entry in file.groups.items() if name in mine}
            budgets = tuple(
                (name, budget)
                for name, entry in groups.items()
                if (budget := budget_of(file.path, name, entry)) is not None
            )
            executors[-1] = replace(executors[-1], budgets=budgets)
    callbacks = []
    core: dict[str, int] = {}
    for callback in system.callbacks:
        entry = file.entries.get(entry_name(callback))
        if entry is None and callback.name in opening.priorities:
            problems.append(f"{file.path}: it has no entry for '{callback.name}'. Plan again")
        if entry is None:
            callbacks.append(callback)
            continue
        budget = budget_of(file.path, callback.name, entry)
        callbacks.append(replace(callback, priority=entry.get("priority"), budget=budget))
        if callback.executor in opening.places:
            core[callback.name] = entry["cpu_affinity"][0]
    if problems := [*problems, *unbounded(file.path, file.chains)]:
        raise ModelError(problems[:20])
    chosen = replace(system, executors=tuple(executors), callbacks=tuple(callbacks))
    return with_timer_thread(placed(chosen, Placement("as planned", core)))


def system_of(model: Path, plan: Path | None = None) -> System:
    """Return the system; warn of a plan that does not fit.

    Raises ModelError: A file is wrong.
    """
    schema = model_schema()
    if plan is None:
        return read_model(model, schema)
    opening, file = read_open(model, schema), read_plan(plan)
    for text in misfits(file, opening):
        print(f"warning: {text}", file=sys.stderr)
    return applied(opening, file)
