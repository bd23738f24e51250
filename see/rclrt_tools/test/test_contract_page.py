# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The page of what was promised and what was seen, in a browser without a window."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browsers import Browser, browser
from models import FOLDER, ROOT, model
from rclrt_analysis.bounds.analyse import analyse
from rclrt_analysis.model import System
from rclrt_analysis.report import ms
from rclrt_analysis.simulation import simulate
from rclrt_tools.cli import main
from rclrt_tools.pages.contract_page import make_page, questions
from rclrt_tools.trace import write_trace
from rclrt_tools.trace.simulated import to_traces
from rclrt_tools.watch.sources import watch_files
from rclrt_tools.watch.text import verdict
from rclrt_tools.watch.watch import Watch

S = 1_000_000_000

SYSTEM = """executors: [{name: e, kind: isolated, cores: [0]}]
callbacks:
  - {name: camera, kind: timer, executor: e, period_ms: 20, wcet_ms: 2, priority: 3,
     publishes: [image]}
  - {name: detect, kind: subscription, executor: e, wcet_ms: 3, priority: 4, triggers: [image],
     publishes: [objects]}
  - {name: steer, kind: timer, executor: e, period_ms: 10, wcet_ms: 1, priority: 5,
     reads: [objects]}
  - {name: log, kind: timer, executor: e, wcet_ms: 4, priority: 9, period_ms: 70}
chains:
  - {name: loose, callbacks: [camera, detect], semantics: latency, deadline_ms: 90}
  - {name: late, callbacks: [camera, detect, steer], semantics: reaction, deadline_ms: 25}
  - {name: tight, callbacks: [camera, detect], semantics: latency, deadline_ms: 11}
  - {name: free, callbacks: [camera, detect], semantics: age}
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as one:
        one.size(1200, 800)
        yield one


def watched(folder: Path, system: System) -> Watch:
    watch = Watch(system)
    for name, trace in to_traces(simulate(system, S)).items():
        write_trace(trace, folder / f"{name}.trace")
    watch_files(watch, sorted(folder.glob("*.trace")))
    return watch


def opened(shown: Browser, folder: Path, html: str) -> None:
    path = folder / "page.html"
    path.write_text(html, encoding="utf-8")
    shown.open(path)


CARDS = "[...document.querySelectorAll('.card')]"


def test_each_chain_is_a_path_with_its_hops_and_the_least_slack_comes_first(
    shown: Browser, tmp_path: Path
) -> None:
    system = model(SYSTEM)
    result = analyse(system)
    opened(shown, tmp_path, make_page(system, result, questions(system, result)))
    assert shown.evaluate(f"{CARDS}.map((c) => c.dataset.chain)") == [
        "late",
        "tight",
        "loose",
        "free",
    ]
    edges = shown.evaluate(f"{CARDS}.map((c) => c.className)")
    assert edges == ["card late-edge", "card tight-edge", "card good-edge", "card"]
    steps = "[...document.querySelector('.card').querySelectorAll('.step b')]"
    assert shown.evaluate(f"{steps}.map((b) => b.textContent)") == [
        "1. camera", "2. detect", "3. steer",
    ]  # fmt: skip
    bound = result.chains[1]
    assert bound.bound is not None
    # The hops are as wide as their share, and end where the line of the bound is.
    ends = shown.evaluate(
        "(() => { const card = document.querySelector('.card');"
        " const right = (e) => e.getBoundingClientRect().right;"
        " return [Math.max(...[...card.querySelectorAll('.hops i')].map(right)),"
        " card.querySelector('.mark.bound').getBoundingClientRect().left]; })()"
    )
    assert ends[0] == pytest.approx(ends[1], abs=2)
    assert f"bound {ms(bound.bound)}" in shown.evaluate("document.body.textContent")
    lines = shown.evaluate(f"{CARDS}.map((c) => c.querySelectorAll('.mark.deadline').length)")
    assert lines == [1, 1, 1, 0], "nobody has stated a deadline for the last one"


def test_what_would_help_is_there_with_its_numbers(shown: Browser, tmp_path: Path) -> None:
    system = model(SYSTEM)
    result = analyse(system)
    asked = questions(system, result)
    opened(shown, tmp_path, make_page(system, result, asked))
    text = shown.evaluate("document.querySelector('.card').textContent")
    assert asked["late"].helps and asked["late"].rivals
    for one in asked["late"].helps[:8]:
        assert one.text in text
        assert ms(one.bound) in text
    for rival in asked["late"].rivals[:8]:
        assert rival.callback in text


def test_what_was_seen_stands_under_the_bound(shown: Browser, tmp_path: Path) -> None:
    system = model(SYSTEM)
    watch = watched(tmp_path, system)
    opened(shown, tmp_path, make_page(system, watch.result, {}, watch))
    seen = next(one for one in watch.chains if one.chain.name == "loose")
    card = "document.querySelector('[data-chain=loose]')"
    assert seen.worst is not None
    assert f"worst of {seen.row['count']}{ms(seen.worst)}" in shown.evaluate(f"{card}.textContent")
    bars, bound = shown.evaluate(
        f"[[...{card}.querySelectorAll('.seen i')].map((i) => i.getBoundingClientRect().left),"
        f" {card}.querySelector('.mark.bound').getBoundingClientRect().right]"
    )
    assert len(bars) >= 1
    assert max(bars) < bound, "no instance took longer than the bound"
    # The simulator is no Linux: its jobs have other priorities than the model.
    h1 = "document.querySelector('h1')"
    head = shown.evaluate(f"{h1}.className + ' ' + {h1}.textContent")
    assert head == f"{'late' if watch.to_json()['missed'] else 'tight'} {verdict(watch)}"
    assert shown.evaluate("document.querySelector('details').textContent").count("runs under") == 4
    assert shown.evaluate("document.querySelectorAll('#callbacks th').length") == 10
    assert "good-edge" not in shown.evaluate(f"{CARDS}.map((c) => c.className).join()"), (
        "of no proof"
    )


def test_callbacks_can_be_searched_and_sorted(shown: Browser, tmp_path: Path) -> None:
    system = model(SYSTEM)
    opened(shown, tmp_path, make_page(system, analyse(system), {}))
    rows = "[...document.querySelectorAll('#callbacks tbody tr')]"
    names = f"{rows}.filter((r) => !r.hidden).map((r) => r.cells[0].textContent)"
    assert shown.evaluate(names) == ["camera", "detect", "steer", "log"]
    shown.evaluate("document.querySelectorAll('#callbacks th')[1].click()")
    bounds = {one.name: one.bound or 0 for one in analyse(system).callbacks}
    by_bound = shown.evaluate(names)
    assert [bounds[n] for n in by_bound] == sorted(bounds.values(), reverse=True)
    shown.evaluate("document.querySelectorAll('#callbacks th')[0].click()")
    assert shown.evaluate(names) == ["camera", "detect", "log", "steer"]
    shown.evaluate("search.value = 'E'; search.oninput()")
    assert shown.evaluate(names) == ["camera", "detect", "steer"]


def test_names_cannot_become_part_of_the_page(shown: Browser, tmp_path: Path) -> None:
    bad = "</script><script>window.bad=1</script><img src=x onerror=window.bad=2>\" title='"
    system = model(SYSTEM)
    chains = tuple(
        replace(c, name=c.name + bad, callbacks=tuple(n + bad for n in c.callbacks))
        for c in system.chains
    )
    hostile = replace(system, name=bad, description=bad, chains=chains)
    hostile = hostile.each(lambda c: replace(c, name=c.name + bad))
    watch = watched(tmp_path, hostile)
    asked = questions(hostile, watch.result)
    opened(shown, tmp_path, make_page(hostile, watch.result, asked, watch))
    assert shown.evaluate("window.bad ?? null") is None
    assert shown.evaluate("document.querySelectorAll('script').length") == 1
    assert shown.evaluate("document.querySelectorAll('img').length") == 0
    assert shown.evaluate(f"{CARDS}[0].dataset.chain") == "late" + bad


def test_the_verbs_write_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RCLRT_SOURCE_DIR", str(ROOT))
    shipped, page = str(FOLDER / "autoware_reference_system.yaml"), tmp_path / "page.html"
    trace, told = tmp_path / "t", tmp_path / "told.json"
    assert main(["model", "simulate", shipped, "--duration", "1", "--trace", str(trace)]) == 0
    assert main(["watch", shipped, str(trace), "--html", str(page), "--json", str(told)]) == 0
    worst = json.loads(told.read_text(encoding="utf-8"))["chains"][0]["worst_ms"]
    assert f"{worst:.3f}" in page.read_text(encoding="utf-8")
    assert main(["model", "explain", shipped, "hot_path_front", "--html", str(page)]) == 1
    html = page.read_text(encoding="utf-8")
    assert html.count("<article") == 1
    assert "make the chain more urgent than all else" in html
    capsys.readouterr()
