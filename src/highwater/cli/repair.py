"""`highwater repair`: which rules, set otherwise, make a violated claim hold."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
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
    jobs,
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
@jobs("Sets of rules to try at the same time")
@audit
@budgets
@model_path
def repair(
    path: Path,
    max_rules: int,
    rules: tuple[str, ...],
    json_path: Path | None,
    jobs: int | None,
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
    from highwater.claims.repairing import repairs_among, rules_that_may_repair
    from highwater.claims.spec import SpecError, load_spec
    from highwater.cli.outputs import try_out
    from highwater.explorer.verdict import Budget
    from highwater.files import ReportError, write_text
    from highwater.reports.progress import Live, make_console
    from highwater.reports.repairs import Repairs, as_data

    errors = make_console(stderr=True)
    options: dict[str, Any] = {"workers": workers, "rules": rules, "audit": audit, "jobs": jobs or os.cpu_count() or 1}
    with ExitStack() as ends, refusing(SpecError, ReportError):
        spec, budget = load_spec(path), Budget(None, max_states, memory)
        try_out({"json": json_path}, [path])
        live = Live(errors, spec.name)
        may_change = rules_that_may_repair(spec, budget, **options, on_progress=lambda progress: live(progress))
        ends.enter_context(may_change)
        table, done = Repairs(make_console(), may_change.changes, max_rules), False
        try:
            with live:
                found = repairs_among(may_change, max_rules)
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
