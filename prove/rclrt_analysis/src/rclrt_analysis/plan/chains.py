# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Chains and what is taken for granted of callbacks, as the parameters file of a plan has them.

Executors that read the file watch over both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import yaml

from rclrt_analysis.model import Callback, Chain, Kind, System

NS_PER_MS = 1_000_000


def exact_ms(ns: int) -> str:
    """Return milliseconds with all their digits."""
    whole, rest = divmod(ns, NS_PER_MS)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")


def chain_lines(
    system: System, bounds: Mapping[str, int | None], name_of: Callable[[Callback], str]
) -> list[str]:
    """Return the section `chains`, not indented; nothing without chains.

    Parameters
    ----------
    bounds
        Of chains, ns.
    name_of
        How the file calls a callback.
    """
    lines = ["chains:"] if system.chains else []
    for chain in system.chains:
        lines.append(f"  {quoted(chain.name)}:")
        names = [quoted(name_of(callback)) for callback in _callbacks(system, chain)]
        lines.append(f"    callbacks: [{', '.join(names)}]")
        if reads := [names[place] for place in _reading(system, chain)]:
            lines.append(f"    reads: [{', '.join(reads)}]")
        waits = [(i, c) for i, c in enumerate(_callbacks(system, chain)) if c.wants_all]
        # A name with a wildcard stands for all inputs, else its jobs are those that had all.
        joins = [f"{names[i]}: {len(c.triggers) if '*' in names[i] else 1}" for i, c in waits]
        if joins:
            lines.append(f"    joins: {{{', '.join(joins)}}}")
        lines.append(f"    semantics: {chain.semantics}")
        lines += ["    join: last"] * (chain.join == "last")
        times = {
            "deadline": chain.deadline,
            "bound": bounds.get(chain.name),
            "silent_after": chain.silent_after,
        }
        lines += [f"    {key}: {exact_ms(ns)}ms" for key, ns in times.items() if ns]
        counts = {"warn_after": chain.warn_after, "error_after": chain.error_after}
        if said := [f"{key}: {count}" for key, count in counts.items() if count]:
            lines.append(f"    on_miss: {{{', '.join(said)}}}")
    return lines


def _callbacks(system: System, chain: Chain) -> list[Callback]:
    return [system.callback_of[name] for name in chain.callbacks]


def _reading(system: System, chain: Chain) -> list[int]:
    """Return the places of callbacks that use the newest data, and are no timers."""
    found = []
    for place in range(1, len(chain.callbacks)):
        before, callback = (system.callback_of[chain.callbacks[i]] for i in (place - 1, place))
        is_read = bool(set(before.publishes) & set(callback.reads)) or callback.wants_all
        if is_read and callback.kind is not Kind.TIMER:
            found.append(place)
    return found


def assumption_fields(callback: Callback, bound: int | None) -> dict[str, str]:
    """Return what a proof takes for granted of a callback, as fields of its entry."""
    jitter = 0 if callback.kind is Kind.TIMER else callback.jitter
    times = {
        "wcet": callback.wcet,
        "min_period": None if callback.period is None else callback.period - jitter,
        "response_bound": bound,
    }
    return {key: f"{exact_ms(ns)}ms" for key, ns in times.items() if ns and ns > 0}


def quoted(text: str) -> str:
    """Return a word of YAML that is read as it is."""
    return str(yaml.dump(text, default_style='"', width=2**20)).strip()
