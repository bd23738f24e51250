# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""What can follow in a command line, for the shell: `complete -C 'rclrt --complete' rclrt`."""

from __future__ import annotations

import argparse


def candidates(parser: argparse.ArgumentParser, line: str) -> list[str]:
    """Return the verbs, options or values that the last word of this line may become."""
    _, *words = line.split(" ")
    *before, begun = [word for word in words[:-1] if word] + words[-1:]
    option = None
    for word in before:
        if word == "--":
            return []  # What follows is another program's.
        option = parser._option_string_actions.get(word)
        for verbs in _verbs(parser):
            parser = verbs.choices.get(word, parser)  # type: ignore[union-attr]
    if begun.startswith("-"):
        known = list(parser._option_string_actions)
    elif option and option.nargs != 0:
        known = [str(choice) for choice in option.choices or ()]
    else:
        known = [name for verbs in _verbs(parser) for name in verbs.choices or ()]
    return [f"{word} " for word in known if word.startswith(begun) and word != "--check"]


def _verbs(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [a for a in parser._get_positional_actions() if a.nargs == argparse.PARSER]
