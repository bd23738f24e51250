# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation: complete, without dead links, readable on a telephone."""

import importlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "see/rclrt_tools/test"))
if TYPE_CHECKING:  # This file runs at length only: what it calls is checked each time.
    import browsers
else:
    browsers = importlib.import_module("browsers")

PROGRAM = ROOT / "tools/site.py"


# The theme hides what is wider than the window: its own part of the page scrolls.
WIDTH = (
    "Math.max(...[...document.querySelectorAll('html, .content')].map((one) => one.scrollWidth))"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("doxygen") is None:
        pytest.skip("there is no doxygen: install the package of that name")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder)], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browsers.Browser]:
    with browsers.browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


def test_every_page_of_the_tree_and_every_public_class_is_in_the_site(site: Path) -> None:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "*.md"], capture_output=True, text=True, check=True
    )
    pages = [name.removesuffix(".md") + ".html" for name in listed.stdout.splitlines()]
    assert len(pages) > 50
    assert [page for page in pages if not (site / page).is_file()] == []
    assert "PreemptiveExecutor" in (site / "api/annotated.html").read_text(encoding="utf-8")


def test_the_first_page_has_the_four_doors(site: Path, shown: browsers.Browser) -> None:
    shown.open(site / "index.html")
    names = "[...document.querySelectorAll('.doors strong')].map((name) => name.textContent)"
    doors = shown.evaluate(names)
    assert doors == [
        "My robot stutters", "I must prove a deadline", "I have a microcontroller",
        "I build an executor",
    ]  # fmt: skip
    links = shown.evaluate("[...document.querySelectorAll('.doors a')].map(e => e.href)")
    assert len(links) >= 12
    assert [link for link in links if not Path(link.removeprefix("file://")).is_file()] == []


def test_every_page_can_be_read_on_a_telephone_light_and_dark(
    site: Path, shown: browsers.Browser
) -> None:
    pages = [page for page in site.rglob("*.html") if "api" not in page.relative_to(site).parts]
    assert len(pages) > 70
    wrong = []
    for page in sorted(pages):
        shown.size(390, 800)
        shown.open(page)
        wide = shown.evaluate(WIDTH)
        wrong += [f"{page.relative_to(site)}: {wide} pixels wide"] if wide > 390 else []
        for dark in (False, True):
            shown.size(390, 800, dark)
            contrast, where = shown.worst_contrast()
            if contrast < 4.5:
                wrong.append(f"{page.relative_to(site)}, dark {dark}: {contrast:.2f} of {where!r}")
    assert wrong == []


def test_a_page_of_the_reference_of_each_kind_can_be_read_on_a_telephone(
    site: Path, shown: browsers.Browser
) -> None:
    lists = ["index", "annotated", "functions", "files", "classes"]
    kinds = ("class*_1_1PreemptiveExecutor*.html", "struct*job__record*.html", "record_8h.html")
    pages = [site / f"api/{name}.html" for name in lists]
    pages += [page for kind in kinds for page in sorted(site.glob(f"api/{kind}"))[:2]]
    assert len(pages) > len(lists) + len(kinds)
    wrong = {page.name: shown.hard_to_read(page, 390, dark=False) for page in pages}
    assert not any(wrong.values()), wrong


def test_a_chain_of_boxes_is_a_picture_that_fits_a_telephone(
    site: Path, shown: browsers.Browser
) -> None:
    shown.size(390, 800)
    for page, boxes in (("docs/concepts/engine.html", 7), ("docs/tutorials/deadlines.html", 5)):
        shown.open(site / page)
        assert shown.evaluate("document.querySelectorAll('.chain rect').length") == boxes
        outside = """[...document.querySelectorAll('.chain text')].filter((text) => {
          const chain = text.closest('svg').getBoundingClientRect();
          const {left, right} = text.getBoundingClientRect();
          return left < chain.left || right > chain.right; }).map((text) => text.textContent)"""
        assert shown.evaluate(outside) == []


def test_the_site_is_searched_without_a_server(site: Path, shown: browsers.Browser) -> None:
    shown.call("Page.navigate", {"url": (site / "search.html").as_uri() + "?q=jitter"})
    shown.until("document.querySelectorAll('#search-results li').length > 0")


def _program(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("site_program", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", root)
    return module


def test_a_link_leads_to_a_page_of_the_site_or_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "tree"
    (root / "docs").mkdir(parents=True)
    (root / "code").mkdir()
    (root / "README.md").write_text("# Top\n")
    (root / "code/a.hpp").write_text("```\nint a;\n")
    page = root / "docs/page.md"
    links = "[up](../README.md#top) [code](../code) [a](../code/a.hpp)\n"
    page.write_text(links + "```\n[no](x)\n```\n")
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", str(root), *command], check=True)
    program = _program(root, monkeypatch)
    stage = program.Stage(tmp_path / "stage")
    for path in stage.pages:
        stage.stage(path)
    made = tmp_path / "stage"
    assert (made / "docs/page.md").read_text() == (
        "[up](../README.md#top) [code](../code/files.md) [a](../code/a.hpp.md)\n```\n[no](x)\n```\n"
    )
    assert "[a.hpp](a.hpp.md)" in (made / "code/files.md").read_text()
    assert "````cpp\n```\nint a;\n" in (made / "code/a.hpp.md").read_text()
    page.write_text("```mermaid\nflowchart TD\na[b] --> c d\n```\n")
    with pytest.raises(SystemExit, match=r"not understood: a\[b\] --> c d"):
        stage.stage(next(path for path in stage.pages if path.name == "page.md"))
    page.write_text("[gone](../gone.md)\n")
    with pytest.raises(SystemExit, match=r"docs/page.md: a link leads to ../gone.md"):
        stage.stage(next(path for path in stage.pages if path.name == "page.md"))
