# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Types of arguments that several commands and experiments have."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path


def positive(text: str) -> int:
    """Return the whole number above 0 that `text` is."""
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{value} is not positive")
    return value


def number_from(least: float, most: float, unit: str) -> Callable[[str], float]:
    """Return the type of a number of this unit from `least` to `most`."""

    def number(text: str) -> float:
        value = float(text)
        if not least <= value <= most:  # This refuses "nan" as well.
            raise argparse.ArgumentTypeError(f"{text} is not from {least:g} to {most:g} {unit}")
        return value

    return number


def cpu_list(text: str) -> list[int]:
    """Return the CPUs of a list such as "0,1"."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of CPUs such as 0,1")
    return sorted({int(part) for part in parts})


def some_of(known: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Return the type of a list "A,B" of these names; they come in the order of `known`, once."""
    names = tuple(known)

    def chosen(text: str) -> tuple[str, ...]:
        asked = text.split(",")
        for name in asked:
            if name not in names:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(names)}")
        return tuple(name for name in names if name in asked)

    return chosen


def writable_file(text: str) -> Path:
    """Return the path `text` if a file can be written there."""
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text}: no file can be written there")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text} may not be written")
    return path


def keep_apart(written: list[Path], read: list[Path]) -> None:
    """Refuse to write a file over one that is read, or two files into one.

    Raises ValueError: That would be so; the text names the file.
    """
    for number, path in enumerate(written):
        for other in read:
            if path.exists() and other.exists() and path.samefile(other):
                raise ValueError(f"{path}: this file is read; write into another one")
        if path.absolute() in [one.absolute() for one in written[:number]]:
            raise ValueError(f"{path}: two files would be written there; name two")


def trace_files(paths: list[Path]) -> list[Path]:
    """Return these files; in place of a folder, as `rclrt observe` makes one, its trace files.

    Raises ValueError: A folder has none; the text names it.
    """
    found: list[Path] = []
    for path in paths:
        files = sorted(path.glob("*.trace")) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"{path}: no *.trace in this folder")
        found += files
    return found


def done_by_the_script(arguments: argparse.Namespace) -> int:
    """Refuse a verb that the script `rclrt` runs itself, after its arguments were checked here."""
    print(f"'{arguments.verb}' needs the script: ./rclrt {arguments.verb}", file=sys.stderr)
    return 2


def candidates(parser: argparse.ArgumentParser, line: str) -> list[str]:
    """Return the verbs, options or values that the last word of this line may become.

    For the shell: `complete -C 'rclrt --complete' rclrt`.
    """
    words = line.split(" ")[1:] or [""]
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
