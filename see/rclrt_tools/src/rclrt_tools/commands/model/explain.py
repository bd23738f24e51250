# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Say why a chain has its bound, and what would help.

Each hop's share of the bound, what the chain waits for, and by how much changes would shorten it;
all of it from analyses. With --plan it is explained under that plan. A model that leaves things
open is explained under a plan that is made now. Exits with 0 if the deadline of the chain is met,
with 1 if not, with 2 if the model or the arguments are wrong.
"""

import argparse
import sys
from pathlib import Path

from rclrt_tools.arguments import writable_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="the system, YAML")
    parser.add_argument("chain", metavar="CHAIN", help="name of a chain of the model")
    parser.add_argument("--plan", type=Path, metavar="FILE", help="a file of ./rclrt plan")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write it, schema 1")
    parser.add_argument("--html", type=writable_file, metavar="FILE", help="write one page")


def run(arguments: argparse.Namespace) -> int:
    """Explain a chain."""
    from rclrt_analysis.explanation import explain, to_json, to_text
    from rclrt_analysis.model import ModelError, model_schema, read_model
    from rclrt_analysis.model.chains import alike
    from rclrt_analysis.plan.openings import read_open
    from rclrt_analysis.plan.parameters import applied, misfits, read_plan
    from rclrt_analysis.plan.placement import PlacementError
    from rclrt_analysis.plan.search import make_plan

    schema = model_schema()
    try:
        opening, is_open = read_open(arguments.model, schema), False
        try:
            system = read_model(arguments.model, schema)
        except ModelError:
            system, is_open = opening.system, True
        names = [chain.name for chain in system.chains]
        if arguments.chain not in names:
            there = "; it has none" if not names else f"; it has {', '.join(names[:20])}"
            text = f"there is no chain '{arguments.chain}' in this model"
            raise ModelError([f"{arguments.model}: {text}{alike(arguments.chain, names) or there}"])
        if system.no_verdict:
            reasons = "; ".join(system.no_verdict)
            raise ModelError([f"{arguments.model}: nothing is proved with this model: {reasons}"])
        if arguments.plan:
            file = read_plan(arguments.plan)
            for text in misfits(file, opening):
                print(f"warning: {text}", file=sys.stderr)
            system = applied(opening, file)
        elif is_open:
            text = "the model leaves things open: explained under a plan that is made now"
            print(text, file=sys.stderr)
            system = make_plan(opening, 10).system
    except (ModelError, PlacementError) as error:
        print(error, file=sys.stderr)
        return 2
    explained = explain(system, arguments.chain)
    if arguments.json:
        arguments.json.write_text(to_json(explained), encoding="utf-8")
    if arguments.html:
        from rclrt_analysis.bounds.analyse import analyse
        from rclrt_tools.pages.contract_page import make_page

        asked = {arguments.chain: explained}
        page = make_page(system, analyse(system), asked, only=arguments.chain)
        arguments.html.write_text(page, encoding="utf-8")
    print(to_text(explained))  # Last: a reader like head may not take all of it.
    return 1 if explained.bound.met is False else 0
