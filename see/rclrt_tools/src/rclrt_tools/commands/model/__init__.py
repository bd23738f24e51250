# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Simulate or convert models, explain bounds, measure overheads.

What makes a model from traces is ./rclrt trace model; what a model says is in
try/rclrt_scenarios/models/README.md.
"""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs of models."""
    from rclrt_tools.cli import add_verbs, verbs_in

    add_verbs(parser, verbs_in(__name__), dest="what", metavar="WHAT")


def needs(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return what the verb needs."""
    asked = getattr(arguments.what_module, "needs", lambda _: ())
    found: tuple[str, ...] = asked(arguments)
    return found


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    status: int = arguments.what_module.run(arguments)
    return status
