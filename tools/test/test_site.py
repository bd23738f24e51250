# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation: complete, without dead links, readable on a telephone."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "see/rclrt_tools/test"))
browsers: Any = importlib.import_module("browsers")

PROGRAM = ROOT / "tools/site.py"
SHOWN = (
    "index.html", "docs/how-to/run.html", "docs/reference/bounds/threads.html",
    "engine/rclrt_trace/SPEC.html", "ros/rclrt_config/README.html", "search.html",
)  # fmt: skip


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
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browsers.browser(tmp_path_factory.mktemp("browser")) as one:
        yield one


def test_every_page_of_the_tree_and_every_public_class_is_in_the_site(site: Path) -> None:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "*.md"], capture_output=True, text=True, check=True
    )
    pages = [name.removesuffix(".md") + ".html" for name in listed.stdout.splitlines()]
    assert len(pages) > 50
    assert [page for page in pages if page != "README.html" and not (site / page).is_file()] == []
    index = (site / "index.html").read_text(encoding="utf-8")
    doors = ["My robot stutters", "I must prove a deadline", "I have a microcontroller"]
    assert [door for door in [*doors, "I build an executor"] if f">{door}<" not in index] == []
    assert "PreemptiveExecutor" in (site / "api/annotated.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("dark", [False, True])
def test_pages_can_be_read_on_a_telephone_and_load_nothing(
    site: Path, shown: Any, dark: bool
) -> None:
    for page in SHOWN:
        shown.size(390, 800, dark)
        shown.open(site / page)
        assert shown.evaluate("document.documentElement.scrollWidth") <= 390, page
        contrast, where = shown.worst_contrast()
        assert contrast >= 4.5, (page, where)


def test_the_site_is_searched_without_a_server(site: Path, shown: Any) -> None:
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
        stage.stage(path) if path.name != "README.md" else None
    made = tmp_path / "stage"
    assert (made / "docs/page.md").read_text() == (
        "[up](../index.md#top) [code](../code/files.md) [a](../code/a.hpp.md)\n```\n[no](x)\n```\n"
    )
    assert "[a.hpp](a.hpp.md)" in (made / "code/files.md").read_text()
    assert "````cpp\n```\nint a;\n" in (made / "code/a.hpp.md").read_text()
    page.write_text("[gone](../gone.md)\n")
    with pytest.raises(SystemExit, match=r"docs/page.md: a link leads to ../gone.md"):
        stage.stage(next(path for path in stage.pages if path.name == "page.md"))
