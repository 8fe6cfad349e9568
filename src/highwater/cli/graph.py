"""`highwater graph`: the reachable graph of a small spec."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from highwater.cli.options import PATH, UNKNOWN, USAGE, Count, complain, model_path


@click.command()
@click.argument("path", metavar="SPEC", type=PATH)
@click.option("--dot", type=PATH, metavar="FILE", help="Write the graph for Graphviz.")
@click.option("--graphml", type=PATH, metavar="FILE", help="Write the graph as GraphML.")
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write the graph as networkx's node-link JSON.")
@click.option("--max-states", type=Count(1, 20_000), default=2_000, show_default=True, help="Refuse a larger graph.")
@model_path
def graph(path: Path, dot: Path | None, graphml: Path | None, json_path: Path | None, max_states: int) -> None:
    """Build the reachable graph of a small SPEC, and show its size, components, diameter, and steps by action."""
    from highwater.claims.spec import SpecError, load_spec
    from highwater.cli.outputs import try_out
    from highwater.explorer.analysis.graph import TooLarge, as_data, as_dot, as_graphml, reachable_graph, shape
    from highwater.explorer.blame import ModelError, blaming_the_model
    from highwater.files import ReportError, write_text
    from highwater.reports.analyses import show_shape
    from highwater.reports.progress import Live, make_console

    try:
        spec = load_spec(path)
        try_out({"dot": dot, "graphml": graphml, "json": json_path}, [path])
        with Live(make_console(stderr=True), spec.name) as live, blaming_the_model():

            def progressed(states: int, waiting: int) -> None:
                live.show(f"{states:,} states, {waiting:,} to go on from")

            found = _visible(reachable_graph(spec.system(), max_states, progressed, max_depth=spec.file.max_depth))
            live.show(f"{len(found):,} states: measuring the graph")
            measured = shape(found)
        show_shape(make_console(), spec, measured)
        outputs: tuple[tuple[Path | None, Callable[[], str]], ...] = (
            (dot, lambda: as_dot(found)),
            (graphml, lambda: as_graphml(found)),
            (json_path, lambda: json.dumps(as_data(found), indent=1) + "\n"),
        )
        for target, text in outputs:
            if target is not None:
                write_text(target, text())
    except TooLarge as error:
        complain(
            SpecError(f"{path}: {error}; such a graph is too large to look at: lower the bounds, or raise --max-states")
        )
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
