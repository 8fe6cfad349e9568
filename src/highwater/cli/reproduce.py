"""`highwater reproduce`: a counterexample on a real cluster. Heavy imports happen inside, so that `--help` is
instant.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from highwater.cli.options import MET, PATH, UNMET, USAGE, Count, complain, kafka, model_path, refusing

if TYPE_CHECKING:
    from highwater.cluster.settings import Settings


DEFECT_PREFIX = "defect:"


@click.command()
@click.argument("path", metavar="REPORT", type=PATH)
@kafka("4.3.1")
@click.option("--spec", "name", metavar="NAME", help="Which spec's trace, if REPORT holds several.")
@click.option(
    "--json", "json_path", type=PATH, metavar="FILE", help="Write what was found as JSON (format: docs/reproduce.md)."
)
@click.option(
    "--runs", type=Count(1, 100), default=1, help="How often a defect is to be brought about.", show_default=True
)
@click.option("--keep", type=PATH, metavar="DIR", help="Copy the cluster's logs and data into DIR, a new folder.")
@model_path
def reproduce(path: Path, where: str, name: str | None, json_path: Path | None, keep: Path | None, runs: int) -> None:
    """Start a real Kafka cluster on this machine, and drive it along the counterexample in REPORT: does it happen?

    REPORT is written by `check --json` or `check --html`; its claim is one of the model partition, with KRaft. Or it is
    defect:NAME, or defect:NAME/WAY, one of those that `highwater list defects` lists.

    Exit codes: 0 it was reproduced (a control of a defect: it was not), in every run; 1 otherwise, and the last line
    says why; 2 REPORT, Kafka or the usage is wrong, or the cluster does not come up; 130 interrupted.
    """
    if str(path).startswith(DEFECT_PREFIX):
        if name is not None:
            raise click.UsageError("--spec goes with a report, not with a defect")
        sys.exit(_bring_about(str(path).removeprefix(DEFECT_PREFIX), where, json_path, keep, runs))
    if runs > 1:
        raise click.UsageError("--runs goes with defect:NAME")
    from highwater.claims.reproduction import Counterexample, refuse_unless_possible, reproduce_on
    from highwater.claims.spec import SpecError
    from highwater.cli.outputs import try_out
    from highwater.conformance.distribution import KafkaError, find
    from highwater.files import ReportError
    from highwater.reports.progress import make_console
    from highwater.reports.replaying import only_entry, replay, subject_of
    from highwater.reports.reproduction import as_json, show, show_deed, show_settings
    from highwater.reports.results import write_json

    console, errors = make_console(), make_console(stderr=True)
    with refusing(SpecError, ReportError, KafkaError):
        entry = only_entry(path, name)
        _, violation = replay(entry)
        about = subject_of(entry)
        wanted = Counterexample(
            f"{path}: {entry['name']}", entry["name"], about.definition, about.protocol, about.bounds, violation
        )
        refuse_unless_possible(wanted, about.model.name)
        try_out({"json": json_path}, [path])
        if keep is not None and keep.exists():
            raise ReportError(f"--keep {keep}: exists; name a new folder")
        distribution = find(where)

        def begin(settings: Settings) -> None:
            errors.print("starting the cluster", style="dim")
            show_settings(console, settings)

        errors.print("looking for a schedule", style="dim")
        found = reproduce_on(
            distribution,
            wanted,
            begin,
            lambda schedule, number, each: show_deed(console, schedule, violation, number, each),
            keep,
        )
        show(console, found)
        if json_path is not None:
            write_json(json_path, as_json(found))
    sys.exit(MET if found.verdict.reproduced else UNMET)


def _bring_about(name: str, where: str, json_path: Path | None, keep: Path | None, runs: int) -> int:
    """Bring a defect about, some times.

    Returns:
        The exit code.
    """
    from highwater.cli.outputs import try_out
    from highwater.cluster.defects import way_of
    from highwater.cluster.ways import Staged, bring_about, refuse_unless_possible
    from highwater.conformance.distribution import KafkaError, find
    from highwater.files import ReportError
    from highwater.reports.progress import make_console
    from highwater.reports.reproduction import defect_as_json, show_observed, show_settings, show_verdict
    from highwater.reports.results import write_json

    console, errors = make_console(), make_console(stderr=True)
    done: list[Staged] = []
    try:
        whole_name, way = way_of(name)
        if keep is not None and (runs > 1 or keep.exists()):
            raise ReportError(f"--keep {keep}: " + ("goes with one run" if runs > 1 else "exists; name a new folder"))
        try_out({"json": json_path}, [])
        distribution = find(where)
        refuse_unless_possible(distribution, way)
        show_settings(console, way.settings)
        for _ in range(runs):
            errors.print("starting the cluster", style="dim")
            done.append(bring_about(distribution, way, lambda number, each: show_observed(console, number, each), keep))
            show_verdict(console, f"{DEFECT_PREFIX}{whole_name}", distribution.release, done[-1].verdict)
        if json_path is not None:
            write_json(json_path, defect_as_json(whole_name, way, distribution.release, done))
    except (ReportError, KafkaError) as error:
        complain(error)
        return USAGE
    came = sum(each.verdict.reproduced for each in done)
    kind = " (a control, in which it must not come about)" if way.control else ""
    console.print(f"{came} of {runs} runs{kind}")
    return MET if came == (0 if way.control else runs) else UNMET
