# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The cells of live tables."""

from __future__ import annotations

import random

from rclrt_tools.live.table import cells, count, fit, number, percent


def test_numbers_fit_their_columns() -> None:
    chance = random.Random(2)
    for _ in range(3000):
        value = 10 ** chance.uniform(-9, 14)
        for text in (number(value), number(-value)[1:], count(value)):
            assert len(text) <= 6, value
        assert len(percent(min(value, 10_000.0))) <= 7
    assert [number(v) for v in (None, float("nan"), 0, 9.9996, 12345.6)] == [
        "-", "-", "0", "10.00", "12346",
    ]  # fmt: skip


def test_long_texts_are_cut_at_the_end_or_in_the_middle() -> None:
    for text, width, both_ends, shown in (
        ("abc", 5, False, "abc  "),
        ("abcdef", 5, False, "abcd…"),
        ("abcdefgh", 5, True, "ab…gh"),
        ("abcdefgh", 6, True, "abc…gh"),
        ("画像画像", 5, False, "画像…"),
        ("画像画像", 6, True, "画…像 "),
    ):
        assert fit(text, width, True, both_ends) == shown
        assert cells(shown) == width
    assert fit("7", 3, False) == "  7"
