"""`highwater mutate`: which property notices that a rule is switched off."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from highwater.cli.options import MET, PATH, UNKNOWN, UNMET, audit, budgets, jobs, model_path, refusing


@click.command()
@click.argument("path", metavar="SPEC", type=PATH)
@click.option(
    "--rule", "rules", multiple=True, metavar="NAME", help="Change this toggle only; may be given several times."
)
@click.option(
    "--every-property", is_flag=True, help="Check all properties that hold as it is, not only those that SPEC names."
)
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write the table as JSON.")
@jobs("Rules to switch off at the same time")
@audit
@budgets
@model_path
def mutate(
    path: Path,
    rules: tuple[str, ...],
    *,
    every_property: bool,
    json_path: Path | None,
    jobs: int | None,
    workers: int | None,
    max_states: int | None,
    memory: int | None,
    audit: Any,
) -> None:
    """Switch off each rule of SPEC's protocol in turn. Show which property catches it, and which rules nothing defends.

    Exit codes: 0 every rule is defended, or declared undefended in SPEC; 1 some are not, or are although declared
    otherwise; 2 the spec or the usage is wrong, or the model takes no other protocol; 3 a search, of SPEC as it is or
    of a mutation, did not come to an end; 70 a defect of Highwater; 130 interrupted.
    """
    from highwater.claims.changed_rules import ChangedRules, unjudged
    from highwater.claims.mutation import mutations_of
    from highwater.claims.spec import SpecError, load_spec
    from highwater.cli.outputs import try_out
    from highwater.explorer.verdict import Budget
    from highwater.files import ReportError, write_text
    from highwater.reports.mutations import Mutations
    from highwater.reports.progress import Live, make_console

    errors = make_console(stderr=True)
    options: dict[str, Any] = {"workers": workers, "rules": rules, "audit": audit, "jobs": jobs or os.cpu_count() or 1}
    with ExitStack() as ends, refusing(SpecError, ReportError):
        spec, budget = load_spec(path), Budget(None, max_states, memory)
        try_out({"json": json_path}, [path])
        live = Live(errors, spec.name)
        may_change = ChangedRules(spec, unjudged, budget, **options, on_progress=lambda progress: live(progress))
        ends.enter_context(may_change)
        table = Mutations(make_console(), spec, may_change.changes)
        try:
            with live:
                base, mutations = mutations_of(may_change, every_property=every_property)
            table.begin(base)
            for change in may_change.changes if table.base_holds else ():
                with Live(errors, f"{spec.name} with {change.key}") as live:
                    mutation = next(mutations)
                table.add(mutation)
        finally:
            table.end()
            if json_path is not None:
                write_text(json_path, json.dumps([_mutation(each) for each in table.mutations], indent=1) + "\n")
        if table.nothing_tried:
            raise SpecError(f"{spec.path}: {table.nothing_tried}")
    sys.exit({True: MET, False: UNMET, None: UNKNOWN}[table.as_declared])


def _mutation(mutation: Any) -> dict[str, Any]:
    found = {name: getattr(mutation, name) for name in ("rule", "before", "after", "why", "declared", "ok")}
    violation, outcome = mutation.violation, mutation.outcome
    return {
        **found,
        "fate": mutation.fate.value,
        "property": violation.property if violation else None,
        "trace_length": violation.trace_length if violation else None,
        "witness": violation.witness if violation else None,
        "distinct_states": outcome.distinct_states if outcome else None,
    }
