# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""The verbs of `./rclrt`: the one list, from which help, checks and what is built come.

Each verb is a module of `rclrt_tools.commands` with the verb's name, and stands in `GROUPS`; a
package has verbs of its own in its modules. A verb has

- a docstring, whose first line is the verb's help,
- `add_arguments(parser)`, which declares its options,
- `run(arguments)`, which returns the exit status, and
- if the verb needs more than Python: `needs(arguments)`, which returns what `./rclrt` makes before
  it runs the verb: targets of the build.

`--check` before the verb only checks the arguments, and prints what the verb needs: exit status 2
and the usage if they are wrong. `./rclrt` does so before it installs or builds anything, with
whatever Python the machine has; so these modules import nothing but the standard library until
`run` is called.

The command `rclrt` that pip installs has the same verbs. What they need and is not installed, it
cannot make: in a tree it hands the verb over to the script, elsewhere it says what is missing.
"""

import argparse
import difflib
import importlib
import os
import pkgutil
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from rclrt_tools import __version__, commands, places
from rclrt_tools.arguments import candidates, done_by_the_script, positive

WRONG = MISSING = 2
INTERRUPTED, BROKEN_PIPE = 128 + 2, 128 + 13
"""As the shell says of a program that SIGINT or SIGPIPE has ended."""

PROGRAMS = {
    "rclrt_watch": "rclrt_watch",
    "rclrt_reference_system": "rclrt_reference_system",
    "cost_of_a_job": "rclrt_benchmarks",
}
"""Programs that verbs need, which an installation may have, with their packages."""

GROUPS = {
    "try": ("demo", "bench"),
    "see": ("observe", "top", "trace", "watch"),
    "plan": ("model", "analyze", "plan"),
    "run": ("apply", "doctor", "run", "scx"),
    "develop": ("build", "test"),
}
"""The verbs by what they are for, in the order of the help. `help VERB` is `VERB --help`."""

IN_TREE = (
    "What is built uses the ROS 2\n"
    "installation that is sourced, or else brings ROS 2's lower layers from PyPI."
)
INSTALLED = (
    "In bash this completes verbs and\noptions: complete -o default -C 'rclrt --complete' rclrt"
)


class _Verb(argparse.ArgumentParser):
    """Options may stand anywhere among the other arguments, unless these have a `--` in them."""

    _is_inside = False

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        ends = (argparse.PARSER, argparse.REMAINDER)
        is_one = any(action.nargs in ends for action in self._get_positional_actions())
        if self._is_inside:
            return super().parse_known_args(args, namespace)
        self._is_inside = True  # What comes next calls this again.
        try:
            if is_one or "--" in (args or ()):
                found, unknown = super().parse_known_args(args, namespace)
            else:
                found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_inside = False
        if unknown:  # Here, because this verb's usage is the one to show.
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            if not error.message.startswith("invalid "):
                raise
            kind = "whole number" if action.type in (int, positive) else "number"
            raise argparse.ArgumentError(action, f"'{arg_string}' is no {kind}") from None

    def format_help(self) -> str:
        return re.sub(r"\./rclrt(?![\w-])", places.me(), super().format_help())

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        known = [str(choice) for choice in action.choices or ()]
        if value not in (action.choices or (value,)):
            meant = _parts(action, value) or difflib.get_close_matches(str(value), known, 1)
            hint = f" Did you mean '{meant[0]}'?" if meant else f" There are: {', '.join(known)}"
            raise argparse.ArgumentError(action, f"there is no '{value}'.{hint}")


def _parts(action: argparse.Action, value: Any) -> list[str]:
    """Return which verbs have this one inside of them: `trace order`."""
    verbs = dict(action.choices or ()) if isinstance(action, argparse._SubParsersAction) else {}
    inside = ((name, one.choices or ()) for name, verb in verbs.items() for one in verb._actions)
    return [f"{name} {value}" for name, known in inside if value in known]


class _Help(argparse.RawDescriptionHelpFormatter):
    """Breaks lines where the terminal ends. What follows stands where the text began."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        for line in re.sub(r"(?m)(^[^\s-].*)\n(?=[^\s-])", r"\1 ", text).splitlines():
            column = len(re.match(r" *(?:\S+ {2,})?", line)[0])  # type: ignore[index]
            lines += textwrap.wrap(
                line, width, subsequent_indent=" " * column, break_on_hyphens=False
            ) or [""]
        return "\n".join(lines)


def verbs_in(package: str) -> list[tuple[str, ModuleType]]:
    """Return the modules of a package by their names: the verbs."""
    folder = importlib.import_module(package).__path__
    names = sorted(info.name for info in pkgutil.iter_modules(folder))
    return [(name, importlib.import_module(f"{package}.{name}")) for name in names]


def add_verb(inner: Any, name: str, module: ModuleType, dest: str, in_list: bool = True) -> None:
    """Declare a module as a verb; it is `<dest>_module` of what is parsed if it is chosen."""
    text = (module.__doc__ or "").strip()
    verb = inner.add_parser(
        name,
        **({"help": _first_line(module).replace("%", "%%")} if in_list else {}),
        description=text,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    module.add_arguments(verb)
    verb.set_defaults(**{f"{dest}_module": module})


def add_verbs(
    parser: argparse.ArgumentParser,
    verbs: Iterable[tuple[str, ModuleType]],
    in_list: bool = True,
    **names: str,
) -> None:
    """Declare modules, by name, as verbs."""
    inner = parser.add_subparsers(required=True, parser_class=_Verb, **names)
    for name, module in verbs:
        add_verb(inner, name, module, names["dest"], in_list)


def _first_line(module: ModuleType) -> str:
    return (module.__doc__ or "").strip().partition("\n")[0]


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs that have a module."""
    verbs = dict(verbs_in(commands.__name__))
    parser = _Verb(
        prog=places.me(),
        usage=f"{places.me()} [-h] [--version] VERB ...",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="\n".join(
            f"{group}\n" + "".join(f"    {name:10}{_first_line(verbs[name])}\n" for name in names)
            for group, names in GROUPS.items()
        ),
        epilog="./rclrt VERB --help says more of a verb. "
        + (IN_TREE if places.by_script() else INSTALLED),
    )
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"rclrt {__version__}")
    order = ((name, verbs[name]) for names in GROUPS.values() for name in names)
    # The description lists them, so argparse's section of one argument named verb is not shown.
    add_verbs(parser, order, in_list=False, dest="verb", prog=places.me(), help=argparse.SUPPRESS)
    return parser


def command(*words: str) -> list[str]:
    """Return the command line that runs a verb in a process of its own, in this Python."""
    return [sys.executable, "-I", str(Path(__file__).with_name("start.py")), *words]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["--complete"]:
        line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", "0"))]
        print(*candidates(build_parser(), line), sep="\n")
        return 0
    if not words:
        build_parser().print_help(sys.stderr)
        return WRONG
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    is_scx = words[:1] == ["scx"] and not places.by_script()
    if is_scx and (scx := places.installed("rclrt_scx", "scx")):  # It reads its options itself.
        os.execv(scx, [str(scx), *words[1:]])
    parser = build_parser()
    first = next((word for word in words if word != "--check"), "")
    if first.startswith("-") and first not in ("--version", "--help", "-h"):
        parser.error(f"unrecognized arguments: {first}")
    arguments = parser.parse_args(words)
    if not arguments.check:
        return run(arguments) if places.by_script() else _run_installed(arguments, words)
    print(*_needs(arguments))
    return 0


def _needs(arguments: argparse.Namespace) -> tuple[str, ...]:
    needs = getattr(arguments.verb_module, "needs", None)
    return tuple(needs(arguments)) if needs else ()


def _run_installed(arguments: argparse.Namespace, words: Sequence[str]) -> int:
    """Run a verb as the installed command, or what runs it instead."""
    verb = " ".join(filter(None, (arguments.verb, getattr(arguments, "what", ""))))
    is_scripts = arguments.verb_module.run is done_by_the_script
    needs = _needs(arguments)
    if not is_scripts and all(PROGRAMS.get(n) and places.installed(PROGRAMS[n], n) for n in needs):
        return run(arguments)
    program = (tree := places.tree()) and tree / "rclrt"
    if program:
        os.execv(program, [str(program), *words])
    why = places.NO_WATCH if needs == ("rclrt_watch",) else places.MISSING
    why = places.NOT_A_TREE if verb in ("bench", "build", "test") else why
    print(f"rclrt {verb} {why.format(verb=verb)}", file=sys.stderr)
    return MISSING


def run(arguments: argparse.Namespace) -> int:
    """Run the verb that was parsed."""
    try:
        status: int = arguments.verb_module.run(arguments)
        sys.stdout.flush()
    except OSError as error:  # The disk is full, or the reader has what it wanted, as in `| head`.
        try:
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        print(f"{error.filename or 'the output'}: {error.strerror or error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    return status


if __name__ == "__main__":
    sys.exit(main())
