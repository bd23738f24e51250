# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Say whether a system meets its deadlines, without running it.

Bounds the response time of every callback and the latency of every chain of a model (see
try/rclrt_scenarios/models/README.md). Exits with 0 if every deadline is met, with 1 if not or if
that cannot be shown (so it is for a model with no_verdict), with 2 if the model or the arguments
are wrong.
"""

import argparse
import sys
from pathlib import Path

from rclrt_tools.arguments import writable_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the system, YAML")
    parser.add_argument(
        "--method",
        choices=("exact", "paper"),
        default="exact",
        help="the tightest bounds there are, or Theorems 1 and 2 of Teper et al. (%(default)s)",
    )
    parser.add_argument(
        "--plan", type=Path, metavar="FILE", help="under the plan in this file of ./rclrt plan"
    )
    parser.add_argument(
        "--slack",
        action="store_true",
        help="also by how much execution times and periods may change",
    )
    parser.add_argument(
        "--json", type=writable_file, metavar="FILE", help="write the result, schema 1"
    )
    parser.add_argument(
        "--html", type=writable_file, metavar="FILE", help="write one self-contained page"
    )
    parser.add_argument(
        "--certificate",
        type=writable_file,
        metavar="FILE",
        help="write what `python3 -m rclrt_analysis.check MODEL FILE` proves the bounds with",
    )


def run(arguments: argparse.Namespace) -> int:
    """Analyse the model."""
    from rclrt_analysis.bounds.analyse import analyse
    from rclrt_analysis.model import ModelError, implausible
    from rclrt_analysis.plan.parameters import system_of
    from rclrt_analysis.report import to_json, to_text
    from rclrt_analysis.sensitivity import sensitivity

    if arguments.certificate and arguments.plan:
        print("--certificate is for a model as it is: leave out --plan", file=sys.stderr)
        return 2
    try:
        system = system_of(arguments.model, arguments.plan)
    except ModelError as error:
        print(error, file=sys.stderr)
        return 2
    if strange := implausible(system):
        print(f"{arguments.model}: warning: {strange}", file=sys.stderr)
    result = analyse(system, arguments.method)
    wanted = arguments.slack and not result.no_verdict
    margins = sensitivity(system, arguments.method) if wanted else None
    if arguments.json:
        arguments.json.write_text(to_json(system, result, margins), encoding="utf-8")
    if arguments.certificate:
        from rclrt_analysis.certificate import to_json as certificate

        arguments.certificate.write_text(certificate(arguments.model, result), encoding="utf-8")
    if arguments.html:
        from rclrt_tools.pages.contract_page import make_page, questions

        page = make_page(system, result, questions(system, result), margins=margins)
        arguments.html.write_text(page, encoding="utf-8")
    print(to_text(system, result, margins))  # Last: a reader like head may not take all of it.
    return 0 if result.met else 1
