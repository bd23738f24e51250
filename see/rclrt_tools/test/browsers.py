# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""A browser for tests of pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rclrt_tools.pages.browser import Browser, chromium


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Yield one, or skip the test. Fails if a page has written an error or loaded anything."""
    program = chromium()
    if program is None:
        pytest.skip("there is no chromium: install the package of that name")
    one = Browser(program, folder)
    try:
        yield one
        assert one.errors == []
        assert [url for url in one.requests if not url.startswith(("file:", "data:"))] == []
    finally:
        one.close()
