# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation, for Sphinx: tools/site.py stages its pages beside this file."""

from pathlib import Path

project = "rclrt"
author = "The rclrt Authors"
copyright = "2026, " + author
release = (Path(__file__).parent / "VERSION").read_text(encoding="utf-8").strip()
extensions = ["myst_parser"]
root_doc = "index"
myst_heading_anchors = 4
exclude_patterns = ["reference"]
html_extra_path = ["reference"]
html_theme = "furo"
html_title = f"rclrt {release}"
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_show_search_summary = False  # it would fetch pages, which a file may not
highlight_language = "none"
