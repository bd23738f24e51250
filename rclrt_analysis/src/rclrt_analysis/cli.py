# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The verbs of `./rclrt` that are written in Python.

Each verb is a module of `rclrt_analysis.commands` with the verb's name. It has

- a docstring, whose first line is the verb's help,
- `add_arguments(parser)`, which declares its options, and
- `run(arguments)`, which returns the exit status.

`--check` before the verb only checks the arguments: exit status 2 and the usage if they are wrong.
`./rclrt` does so before it installs or builds anything, with whatever Python the machine has; so
these modules import nothing but the standard library until `run` is called.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence

from rclrt_analysis import commands

INTERRUPTED, BROKEN_PIPE = 128 + 2, 128 + 13
"""As the shell says of a program that SIGINT or SIGPIPE has ended."""


class _Verb(argparse.ArgumentParser):
    """Options may stand anywhere among the other arguments, unless these have a `--` in them."""

    _is_inside = False

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        ends = (argparse.PARSER, argparse.REMAINDER)
        is_one = any(action.nargs in ends for action in self._get_positional_actions())
        if self._is_inside or is_one or "--" in (args or ()):
            return super().parse_known_args(args, namespace)
        self._is_inside = True  # What comes next calls this again.
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_inside = False


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs that have a module."""
    parser = argparse.ArgumentParser(prog="./rclrt", allow_abbrev=False)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    verbs = parser.add_subparsers(dest="verb", metavar="verb", required=True, parser_class=_Verb)
    for info in pkgutil.iter_modules(commands.__path__):
        module = importlib.import_module(f"{commands.__name__}.{info.name}")
        summary = (module.__doc__ or "").strip().partition("\n")[0]
        verb = verbs.add_parser(
            info.name, help=summary, description=module.__doc__, allow_abbrev=False
        )
        module.add_arguments(verb)
        verb.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit status."""
    arguments = build_parser().parse_args(argv)
    return 0 if arguments.check else run(arguments)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb that was parsed."""
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # The reader has what it wanted, as in `| head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return status


if __name__ == "__main__":
    sys.exit(main())
