# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""`ros2 rt`, where ros2cli is installed: the verbs that look at running executors."""

import argparse

from ros2cli.command import CommandExtension

from rclrt_tools.cli import run
from rclrt_tools.commands import doctor, top, trace


class RtCommand(CommandExtension):  # type: ignore[misc]  # ros2cli ships no types
    """See what executors of rclrt do."""

    def add_arguments(self, parser: argparse.ArgumentParser, cli_name: str) -> None:
        """Declare the verbs."""
        verbs = parser.add_subparsers(metavar="VERB", required=True, dest="rt_verb")
        for name, what in (
            ("top", "show what they do, live; once; as JSON"),
            ("findings", "print what somebody should look at"),
            ("list", "which run, and of which programs were killed"),
            ("trace", "record them, look into trace files"),
            ("doctor", "look what the machine costs them, and how to mend it"),
        ):
            verb = verbs.add_parser(name, help=what, description=what)
            if name in ("top", "findings"):
                top.add_arguments(verb)
                verb.set_defaults(verb_module=top, findings=name == "findings")
            elif name == "doctor":
                doctor.add_arguments(verb)
                verb.set_defaults(verb_module=doctor)
            else:
                if name == "trace":
                    trace.add_arguments(verb)
                else:
                    verb.set_defaults(what="list")
                verb.set_defaults(verb_module=trace)

    def main(self, *, parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
        """Run the verb."""
        return run(args)
