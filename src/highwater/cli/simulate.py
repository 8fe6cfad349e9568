"""`highwater simulate`: random walks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from highwater.cli.options import MET, PATH, UNKNOWN, UNMET, Count, Seconds, model_path, refusing
from highwater.limits import MOST_WORKERS


class Weight(click.ParamType[Any]):
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
@click.option(
    "--walks", type=Count(min=1), metavar="N", help="Make N walks.  [default: 10000, or no limit with --seconds]"
)
@click.option(
    "--depth", type=Count(min=1, max=1_000_000), default=100, show_default=True, metavar="N", help="Steps of a walk."
)
@click.option(
    "--seed", type=Count(0, 2**63 - 1), default=0, show_default=True, metavar="N", help="What chance follows from."
)
@click.option("--seconds", type=Seconds(min=0, min_open=True), metavar="S", help="Begin no walks after S seconds.")
@click.option(
    "--weight", "weights", type=Weight(), multiple=True, help="How likely an action's steps are; 1 if not given."
)
@click.option(
    "--shrink/--no-shrink", default=True, show_default=True, help="Make the walk that violates a property short."
)
@click.option("--workers", type=Count(1, MOST_WORKERS), metavar="N", help="Threads.  [default: one per processor]")
@click.option("--coverage", is_flag=True, help="Name the statements that ran in no visited state.")
@click.option(
    "--json", "json_path", type=PATH, metavar="FILE", help="Write what was found as JSON, for `highwater trace`."
)
@model_path
def simulate(
    path: Path,
    walks: int | None,
    depth: int,
    seed: int,
    seconds: float | None,
    weights: tuple[tuple[str, float], ...],
    *,
    shrink: bool,
    workers: int | None,
    coverage: bool,
    json_path: Path | None,
) -> None:
    """Walk at random through a SPEC that is too large to check, and shrink what is found. Equal seeds find equal
    things.

    Exit codes: 0 nothing was violated, or what SPEC claims; 1 something else was; 2 the spec or the usage is wrong;
    3 SPEC claims a violation that was not met, or nothing was put to the test; 70 a defect of Highwater; 130
    interrupted.
    """
    from highwater.claims.simulation import simulate_spec
    from highwater.claims.spec import SpecError, load_spec
    from highwater.cli.outputs import try_out
    from highwater.explorer.verdict import Walking
    from highwater.files import ReportError, write_text
    from highwater.reports.progress import make_console
    from highwater.reports.results import simulation_report
    from highwater.reports.simulations import LiveWalks, show_simulation

    with refusing(SpecError, ReportError):
        spec = load_spec(path)
        try_out({"json": json_path}, [path])
        with LiveWalks(make_console(stderr=True), spec.name) as live:
            limit = walks or (None if seconds else 10_000)
            options: dict[str, Any] = {
                "shrink": shrink,
                "workers": workers,
                "coverage": coverage,
                "on_progress": live,
                "on_shrinking": live.shrinking,
            }
            walking = Walking(walks=limit, depth=depth, seed=seed, seconds=seconds, weights=dict(weights))
            found = simulate_spec(spec, walking, **options)
        show_simulation(make_console(), found, with_coverage=coverage)
        if json_path is not None:
            write_text(json_path, json.dumps(simulation_report(found), indent=1, ensure_ascii=False) + "\n")
    if found.simulation.interrupted:
        raise KeyboardInterrupt
    sys.exit({True: MET, False: UNMET, None: UNKNOWN}[found.as_claimed])
