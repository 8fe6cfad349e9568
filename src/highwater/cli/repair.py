"""`highwater repair`: which rules, set otherwise, make a violated claim hold."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from highwater.cli.options import (
    MET,
    PATH,
    UNKNOWN,
    UNMET,
    Count,
    audit,
    budgets,
    model_path,
    refusing,
)


@click.command()
@click.argument("path", metavar="SPEC", type=PATH)
@click.option(
    "--max-rules",
    type=Count(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="Change up to N rules at the same time.",
)
@click.option(
    "--rule", "rules", multiple=True, metavar="NAME", help="Change this toggle only; may be given several times."
)
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write every set that was tried as JSON.")
@audit
@budgets
@model_path
def repair(
    path: Path,
    max_rules: int,
    rules: tuple[str, ...],
    json_path: Path | None,
    workers: int | None,
    max_states: int | None,
    memory: int | None,
    audit: Any,
) -> None:
    """Find the smallest sets of rules that, set to other values, make the violated claim of SPEC hold. Show what each
    costs in states and steps.

    Exit codes: 0 a repair was found; 1 no set of up to N rules repairs, but for those that are vacuous; 2 the spec or
    the usage is wrong, nothing is violated, or the model refuses every set; 3 no repair was found, and a search, of
    SPEC as it is or of a set, did not come to an end; 70 a defect of Highwater; 130 interrupted, with what was found so
    far.
    """
    from highwater.claims.mutation import changes_of
    from highwater.claims.repairing import repair as search_repairs
    from highwater.claims.spec import SpecError, load_spec
    from highwater.cli.outputs import try_out
    from highwater.explorer.verdict import Budget
    from highwater.files import ReportError, write_text
    from highwater.reports.progress import Live, make_console
    from highwater.reports.repairs import Repairs, as_data

    errors = make_console(stderr=True)
    with refusing(SpecError, ReportError):
        spec = load_spec(path)
        try_out({"json": json_path}, [path])
        table, done = Repairs(make_console(), changes_of(spec, rules), max_rules), False
        try:
            with Live(errors, spec.name) as live:
                found = search_repairs(
                    spec,
                    Budget(None, max_states, memory),
                    most_rules=max_rules,
                    workers=workers,
                    rules=rules,
                    audit=audit,
                    on_progress=lambda progress: live(progress),
                )
            table.begin(found.base)
            while True:
                with Live(errors, f"{spec.name}, {len(table.attempts):,} sets of rules tried") as live:
                    attempt = next(found.attempts, None)
                if attempt is None:
                    break
                table.add(attempt)
            done = True
        finally:
            table.end(done=done)
            if json_path is not None:
                write_text(json_path, json.dumps(as_data(table.attempts), indent=1) + "\n")
        if table.nothing_tried:
            raise SpecError(f"{spec.path}: {table.nothing_tried}")
    sys.exit({True: MET, False: UNMET, None: UNKNOWN}[table.found])
