# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""How large the page of a long trace is, and how soon a browser shows it.

Makes a trace of as many jobs as asked for, as `bench trace-speed` does, and its page, and opens
that in Chromium without a window. The times are those that the page itself tells: from the
beginning of loading until it shows the worst instance, and until it has the picture of the whole
run. Needs the Debian package chromium. Exits with 1 if a million jobs take more than 2 s.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from rclrt_analysis.arguments import positive, writable_file

MOST_MS = 2000


NEEDS = ()  # It runs nothing that is built.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--jobs", type=positive, default=1_000_000, help="(%(default)s)")
    parser.add_argument("--loads", type=positive, default=5, help="(%(default)s)")
    parser.add_argument("--folder", type=Path, help="for the files; they are removed again")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the rows there")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, judge."""
    from rclrt_analysis.pages.browser import Browser, chromium
    from rclrt_analysis.pages.trace_page import make_page
    from rclrt_analysis.views.timeline import close, open_sources
    from rclrt_analysis.workloads.long_trace import make_trace

    program = chromium()
    if program is None:
        print("there is no chromium: install the package of that name", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        make_trace(folder / "run.trace", arguments.jobs)
        begin = time.process_time()
        sources = open_sources([folder / "run.trace"])
        page = folder / "page.html"
        page.write_text(make_page("bench", sources), encoding="utf-8")
        close(sources)
        made = time.process_time() - begin
        size = page.stat().st_size / 1e6
        print(f"{arguments.jobs} jobs: a page of {size:.1f} MB, made in {made:.1f} s of CPU time")
        opened = Browser(program, folder / "browser")
        try:
            loads = []
            for _ in range(arguments.loads):
                opened.open(page)
                opened.until("document.body.dataset.whole")
                loads.append([int(opened.evaluate(f"document.body.dataset.{what}"))
                              for what in ("ready", "whole")])  # fmt: skip
        finally:
            opened.close()
    loads.sort()
    for ready, whole in loads:
        print(f"worst instance after {ready:5} ms, picture of the whole run after {whole:5} ms")
    if arguments.json:
        row = {"jobs": arguments.jobs, "size_mb": size, "made_cpu_s": made, "loads_ms": loads}
        arguments.json.write_text(json.dumps({"schema": 1, **row}, indent=1) + "\n", "utf-8")
    median = loads[len(loads) // 2][1]
    if median > MOST_MS * max(1, arguments.jobs / 1e6):
        print(f"MISSED: {median} ms, to be {MOST_MS} ms for a million jobs", file=sys.stderr)
        return 1
    return 0
