"""The commands beside `check`, `list` and `trace`. Heavy imports happen inside them, so that `--help` is instant."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from highwater.cli.options import MET, PATH, UNKNOWN, UNMET, USAGE, budgets, complain, model_path


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
def init(folder: Path) -> None:
    """Write a first model of your own into DIR: a model, a property, two claims and a test, all of which work."""
    from highwater.cli.scaffolding import InitError, write_scaffold

    try:
        for path in write_scaffold(folder):
            click.echo(f"wrote {path}")
    except InitError as error:
        complain(error)
        sys.exit(USAGE)
    click.echo(f"next: cd {shlex.quote(str(folder))} && highwater check specs --model-path .")


@click.command()
@click.argument("path", metavar="SPEC", type=PATH)
@click.option("--rule", "rules", multiple=True, metavar="NAME", help="Change this toggle only; may be given several times.")
@click.option("--every-property", is_flag=True, help="Check all properties that hold as it is, not only those that SPEC names.")
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write the table as JSON.")
@budgets
@model_path
def mutate(
    path: Path,
    rules: tuple[str, ...],
    every_property: bool,
    json_path: Path | None,
    workers: int | None,
    max_states: int | None,
    memory: int | None,
) -> None:
    """Switch off each rule of SPEC's protocol in turn, and tell which property catches it and which rule none defends.

    \b
    Exit codes: 0 every rule is defended, or declared undefended in SPEC; 1 some are not, or are although declared otherwise;
    2 the spec or the usage is wrong; 3 a search, of SPEC as it is or of a mutation, did not come to an end;
    70 a defect of Highwater; 130 interrupted.
    """
    from explorer.verdict import Budget
    from highwater.claims.mutation import changes_of
    from highwater.claims.mutation import mutate as switch_off
    from highwater.claims.spec import SpecError, load_spec
    from highwater.cli.outputs import try_out
    from highwater.files import ReportError, write_text
    from highwater.reports.analyses import Mutations
    from highwater.reports.terminal import Live, make_console

    errors = make_console(stderr=True)
    try:
        spec = load_spec(path)
        try_out({"json": json_path}, [path])
        changes = changes_of(spec, rules)
        table = Mutations(make_console(), spec, changes)
        try:
            with Live(errors, spec.name) as live:
                budget, options = Budget(None, max_states, memory), {"workers": workers, "every_property": every_property, "rules": rules}
                base, mutations = switch_off(spec, budget, **options, on_progress=lambda progress: live(progress))
            table.begin(base)
            for change in changes if table.base_holds else ():
                with Live(errors, f"{spec.name} with {change.key}") as live:
                    mutation = next(mutations)
                table.add(mutation)
        finally:
            table.end()
            if json_path is not None:
                write_text(json_path, json.dumps([_mutation(each) for each in table.mutations], indent=1) + "\n")
    except (SpecError, ReportError) as error:
        complain(error)
        sys.exit(USAGE)
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


@click.command()
@click.argument("path", metavar="SPEC", type=PATH)
@click.option("--dot", type=PATH, metavar="FILE", help="Write the graph for Graphviz.")
@click.option("--graphml", type=PATH, metavar="FILE", help="Write the graph as GraphML.")
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write the graph as networkx's node-link JSON.")
@click.option("--max-states", type=click.IntRange(1, 20_000), default=2_000, show_default=True, help="Refuse a larger graph.")
@model_path
def graph(path: Path, dot: Path | None, graphml: Path | None, json_path: Path | None, max_states: int) -> None:
    """Build the reachable graph of a small SPEC, and tell its size, components, diameter, and steps by action."""
    from explorer.analysis.graph import TooLarge, as_data, as_dot, as_graphml, reachable_graph, shape
    from explorer.system import ModelError, blaming_the_model
    from highwater.claims.spec import SpecError, load_spec
    from highwater.cli.outputs import try_out
    from highwater.files import ReportError, write_text
    from highwater.reports.analyses import show_shape
    from highwater.reports.terminal import Live, make_console

    try:
        spec = load_spec(path)
        try_out({"dot": dot, "graphml": graphml, "json": json_path}, [path])
        with Live(make_console(stderr=True), spec.name) as live, blaming_the_model():

            def tell(states: int, waiting: int) -> None:
                live.tell(f"{states:,} states, {waiting:,} to go on from")

            found = _visible(reachable_graph(spec.system(), max_states, tell))
            live.tell(f"{len(found):,} states: measuring the graph")
            measured = shape(found)
        show_shape(make_console(), spec, measured)
        for target, text in (
            (dot, lambda: as_dot(found)),
            (graphml, lambda: as_graphml(found)),
            (json_path, lambda: json.dumps(as_data(found), indent=1) + "\n"),
        ):
            if target is not None:
                write_text(target, text())
    except TooLarge as error:
        complain(SpecError(f"{path}: {error}; nobody can look at a graph of that size: lower the bounds, or raise --max-states"))
        sys.exit(UNKNOWN)
    except ModelError as error:
        complain(SpecError(f"{path}: {error}"))
        sys.exit(USAGE)
    except (SpecError, ReportError) as error:
        complain(error)
        sys.exit(USAGE)


def _visible(graph: Any) -> Any:
    """A graph whose texts are safe to look at, in any format."""
    from highwater.visible import visible

    for texts, key in ((graph.nodes(data=True), "state"), (graph.edges(data=True), "action")):
        for *_, data in texts:
            data[key] = visible(data[key])
    return graph


class Weight(click.ParamType):
    """An action and how likely it is, such as `elect_leader=0.1`."""

    name = "action=weight"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        if isinstance(value, tuple):
            return value
        name, _, number = value.partition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if not name or not 0.0 <= weight < float("inf"):
            self.fail(f"{value!r} is not an action and a weight of 0 or more, such as elect_leader=0.1", param, ctx)
        return name.replace("-", "_"), weight


@click.command()
@click.argument("path", metavar="SPEC", type=PATH)
@click.option("--walks", type=click.IntRange(min=1), metavar="N", help="Make N walks.  [default: 10000, or no limit with --seconds]")
@click.option("--depth", type=click.IntRange(min=1, max=1_000_000), default=100, show_default=True, metavar="N", help="Steps of a walk.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, metavar="N", help="What chance follows from.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Begin no walks after S seconds.")
@click.option("--weight", "weights", type=Weight(), multiple=True, help="How likely an action's steps are; 1 if not given.")
@click.option("--shrink/--no-shrink", default=True, show_default=True, help="Make the walk that violates a property short.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Threads.  [default: one per processor]")
@click.option("--coverage", is_flag=True, help="Name the statements that ran in no visited state.")
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write what was found as JSON, for `highwater trace`.")
@model_path
def simulate(
    path: Path,
    walks: int | None,
    depth: int,
    seed: int,
    seconds: float | None,
    weights: tuple[tuple[str, float], ...],
    shrink: bool,
    workers: int | None,
    coverage: bool,
    json_path: Path | None,
) -> None:
    """Walk at random through a SPEC that is too large to check, and shrink what is found. Equal seeds find equal things.

    \b
    Exit codes: 0 nothing was violated, or what SPEC claims; 1 something else was; 2 the spec or the usage is wrong;
    3 SPEC claims a violation that was not met, or nothing was put to the test; 70 a defect of Highwater; 130 interrupted.
    """
    from highwater.claims.simulation import simulate_spec
    from highwater.claims.spec import SpecError, load_spec
    from highwater.cli.outputs import try_out
    from highwater.files import ReportError, write_text
    from highwater.reports.analyses import LiveWalks, show_simulation
    from highwater.reports.results import simulation_report
    from highwater.reports.terminal import make_console

    try:
        spec = load_spec(path)
        try_out({"json": json_path}, [path])
        with LiveWalks(make_console(stderr=True), spec.name) as live:
            limit = walks or (None if seconds else 10_000)
            options = {"shrink": shrink, "workers": workers, "coverage": coverage, "on_progress": live, "on_shrinking": live.shrinking}
            found = simulate_spec(spec, limit, depth, seed, seconds, dict(weights), **options)
        show_simulation(make_console(), found, with_coverage=coverage)
        if json_path is not None:
            write_text(json_path, json.dumps(simulation_report(found), indent=1, ensure_ascii=False) + "\n")
    except (SpecError, ReportError) as error:
        complain(error)
        sys.exit(USAGE)
    if found.simulation.interrupted:
        raise KeyboardInterrupt
    sys.exit({True: MET, False: UNMET, None: UNKNOWN}[found.as_claimed])
