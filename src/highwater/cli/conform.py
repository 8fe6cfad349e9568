"""`highwater conform`: a spec in lock-step with Kafka's own classes. Heavy imports happen inside, so that `--help` is
instant.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from highwater.cli.options import MET, PATH, UNKNOWN, UNMET, Count, kafka, model_path, refusing
from highwater.limits import MOST_WORKERS

if TYPE_CHECKING:
    from highwater.claims.conformance import Conformance

MOST_AT_ONCE = 4  # each may take a GiB of memory


@click.command()
@click.argument("paths", metavar="SPEC...", nargs=-1, required=True, type=PATH)
@kafka("4.1.1")
@click.option("--preset", metavar="NAME", help="Take the rules of this preset instead of the one that SPEC names.")
@click.option("--walks", type=Count(min=0), default=0, metavar="N", help="Make N random walks, too.  [default: 0]")
@click.option("--depth", type=Count(min=1), default=40, show_default=True, metavar="N", help="Steps of a walk.")
@click.option(
    "--seed", type=Count(0, 2**63 - 1), default=0, show_default=True, metavar="N", help="What chance follows from."
)
@click.option(
    "--trace",
    "trace_path",
    type=PATH,
    metavar="FILE",
    help="Execute the counterexample of this JSON report, and nothing else.",
)
@click.option(
    "--mutate", is_flag=True, help="Set each rule to its other values in turn: which of them does Kafka contradict?"
)
@click.option(
    "--max-states",
    type=Count(min=1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="Explore N states for paths.",
)
@click.option(
    "--processes",
    type=Count(1, MOST_WORKERS),
    metavar="N",
    help="Java processes for long runs.  [default: one per processor, four at most; with --coverage one]",
)
@click.option(
    "--json", "json_path", type=PATH, metavar="FILE", help="Write what was found as JSON (format: docs/conform.md)."
)
@click.option("--html", "html_path", type=PATH, metavar="FILE", help="Write a page with both sides of each divergence.")
@click.option(
    "--coverage",
    "covered",
    type=PATH,
    metavar="DIR",
    help="Write into DIR, a new or empty folder, which lines and branches of Kafka's classes were executed.",
)
@model_path
def conform(
    paths: tuple[Path, ...],
    where: str,
    preset: str | None,
    trace_path: Path | None,
    *,
    mutate: bool,
    processes: int | None,
    json_path: Path | None,
    html_path: Path | None,
    covered: Path | None,
    **options: Any,
) -> None:
    """Execute each SPEC's steps on Kafka's own classes, and compare after each step: is the model what the code does?

    Several SPECs share their Java processes. Then --mutate asks of each rule whether any of them contradicts it, and
    --coverage counts what they execute together.

    Exit codes: 0 both sides agree, and every reachable path of every mapped action was executed; 1 they differ;
    2 the spec, Kafka or the usage is wrong; 3 they agree, but not every path was executed; 130 interrupted.
    """
    from highwater.claims.conformance import Session, Wanted, refuse_unless_mapped, with_another_preset
    from highwater.claims.contradicting import judged
    from highwater.claims.spec import SpecError, load_spec
    from highwater.cli.outputs import try_out
    from highwater.conformance.coverage import Measured
    from highwater.conformance.distribution import KafkaError, find
    from highwater.conformance.harnesses import Harnesses
    from highwater.files import ReportError, write_text
    from highwater.reports.conformance import (
        all_as_json,
        coverage_as_json,
        run_of_trace,
        show,
        show_coverage,
        show_mutations,
    )
    from highwater.reports.progress import Live, make_console
    from highwater.reports.results import write_json
    from highwater.viewer.conformance import page

    console, errors = make_console(), make_console(stderr=True)
    with refusing(SpecError, ReportError, KafkaError):
        _refuse_several(paths, {"trace": trace_path, "html": html_path})
        specs = [with_another_preset(load_spec(path), preset) for path in paths]
        for spec in specs:
            refuse_unless_mapped(spec)  # before Kafka is looked for
        names = ", ".join(spec.name for spec in specs)
        try_out({"json": json_path, "html": html_path}, [*paths, *([trace_path] if trace_path else [])])
        wanted = Wanted(**options)
        traced = run_of_trace(trace_path) if trace_path is not None else None
        if covered is not None and processes not in (None, 1):
            raise ReportError(
                f"--processes {processes}: goes without --coverage, which is of one process; allowed is 1"
            )
        kafka, most = find(where), processes or min(os.cpu_count() or 1, MOST_AT_ONCE)
        harness = Harnesses(kafka, most) if covered is None else Measured(kafka)
        if covered is not None:
            _make(covered)
        with Live(errors, names) as live, harness:
            session = Session(harness)
            found = (
                [session.conform(spec, wanted, live.show) for spec in specs]
                if traced is None
                else [session.replay(*traced)]
            )
            measured = harness.coverage(covered) if isinstance(harness, Measured) else None
            known = {each.spec.path: {of.kind for of in each.divergences} for each in found}
            scores = judged(session, specs, wanted, live.show, known) if mutate else []
        for each in found:
            show(console, each)
        if covered is not None and measured is not None:
            show_coverage(console, measured)
            write_json(covered / "coverage.json", coverage_as_json(measured, names))
        if mutate:
            show_mutations(console, scores)
        if json_path is not None:
            write_json(json_path, all_as_json(found, scores if mutate else None))
        if html_path is not None:
            write_text(html_path, page(found[0]))
    sys.exit(_code(found))


def _make(folder: Path) -> None:
    """Learn before the run that a new folder cannot be made. One that a run before has left empty will do.

    Raises:
        ReportError: why.
    """
    from highwater.files import ReportError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            return
        why = "is there already, and is not empty; name a new folder"
    except OSError as error:
        why = f"cannot be made: {error.strerror}"
    raise ReportError(f"--coverage {folder}: {why}")


def _refuse_several(paths: Sequence[Path], options: Mapping[str, Path | None]) -> None:
    """Some options are of one claim.

    Raises:
        ReportError: there are several, and one of these options.
    """
    from highwater.files import ReportError

    for name, given in options.items():
        if given is not None and len(paths) > 1:
            raise ReportError(f"--{name} {given}: goes with one SPEC")


def _code(found: Sequence[Conformance]) -> int:
    if not all(each.agrees for each in found):
        return UNMET
    return MET if all(each.complete and each.executed == each.reachable for each in found) else UNKNOWN
