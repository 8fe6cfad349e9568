"""`highwater reproduce`: a counterexample on a real cluster. Heavy imports happen inside, so that `--help` is
instant.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from highwater.cli.options import MET, PATH, UNMET, USAGE, complain, model_path

if TYPE_CHECKING:
    from cluster.cluster import Settings


@click.command()
@click.argument("path", metavar="REPORT", type=PATH)
@click.option(
    "--kafka",
    "where",
    required=True,
    metavar="WHERE",
    help="A folder of Kafka, a class path, or a release such as 4.3.1.",
)
@click.option("--spec", "name", metavar="NAME", help="Which spec's trace, if REPORT holds several.")
@click.option(
    "--json", "json_path", type=PATH, metavar="FILE", help="Write what was found as JSON (format: docs/reproduce.md)."
)
@click.option("--keep", type=PATH, metavar="DIR", help="Copy the cluster's logs and data into DIR, a new folder.")
@model_path
def reproduce(path: Path, where: str, name: str | None, json_path: Path | None, keep: Path | None) -> None:
    """Start a real Kafka cluster on this machine, and drive it along the counterexample in REPORT: does it happen?

    REPORT is written by `check --json` or `check --html`; its claim is one of the model partition, with KRaft.

    Exit codes: 0 it was reproduced; 1 it was not, and the last line says why; 2 REPORT, Kafka or the usage is wrong, or
    the cluster does not come up; 130 interrupted.
    """
    from conformance.distribution import KafkaError, find
    from highwater.claims.reproduction import Counterexample, refuse_unless_possible, reproduce_on
    from highwater.claims.spec import SpecError
    from highwater.cli.outputs import try_out
    from highwater.files import ReportError
    from highwater.reports.progress import make_console
    from highwater.reports.replaying import only_entry, replay, subject_of
    from highwater.reports.reproduction import as_json, show, show_deed, show_settings
    from highwater.reports.results import write_json

    console, errors = make_console(), make_console(stderr=True)
    try:
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
    except (SpecError, ReportError, KafkaError) as error:
        complain(error)
        sys.exit(USAGE)
    sys.exit(MET if found.said.reproduced else UNMET)
