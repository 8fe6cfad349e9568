"""`highwater explain`: what a real cluster has left on disk, explained by the model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from highwater.cli.options import MET, PATH, UNMET, refusing


@click.command()
@click.argument("path", metavar="DIR", type=PATH)
@click.option(
    "--kafka",
    "where",
    metavar="WHERE",
    help="Whose classes read the files: a folder of Kafka, a class path, or a release.  [default: the newest resolved]",
)
@click.option(
    "--preset",
    metavar="NAME",
    help="The controller's rules: a preset of the model kraft, or a release.  [default: of the release that "
    "metadata.version names]",
)
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="NAME",
    help="Show this partition, such as t-0. Repeatable.  [default: all; of more than 20, those with which something is "
    "amiss]",
)
@click.option("--json", "json_path", type=PATH, metavar="FILE", help="Write what was found as JSON.")
@click.option("--html", "html_path", type=PATH, metavar="FILE", help="Write a page with each history in lanes.")
def explain(
    path: Path,
    where: str | None,
    preset: str | None,
    partitions: tuple[str, ...],
    json_path: Path | None,
    html_path: Path | None,
) -> None:
    """Explain the log directories of a KRaft cluster below DIR: each partition's history as decisions of the
    controller, and what is wrong with logs, epoch caches and checkpoints. Changes nothing there.

    Exit codes: 0 every change is explained, and nothing is wrong; 1 some are not, or something is wrong; 2 there are no
    log directories, a record is newer than the classes that read it, or the usage is wrong; 130 interrupted.
    """
    from highwater.claims.resolving import preset_named
    from highwater.claims.tables import Wrong, did_you_mean
    from highwater.cli.outputs import try_out
    from highwater.conformance.disk_reader import read_by
    from highwater.conformance.distribution import KafkaError
    from highwater.conformance.explaining import explain_directories
    from highwater.files import ReportError, write_text
    from highwater.model.catalogue import MODELS
    from highwater.reports.explaining import as_json, show
    from highwater.reports.progress import Live, make_console
    from highwater.reports.results import write_json
    from highwater.viewer.histories import page

    with refusing(ReportError, KafkaError, Wrong):
        rules = None if preset is None else preset_named(MODELS["kraft"], preset)
        if not path.is_dir():
            raise ReportError(f"{path}: {'is no folder' if path.exists() else 'no such folder'}")
        try_out({"json": json_path, "html": html_path}, [path])
        with Live(make_console(stderr=True), str(path)) as live:

            def show_offset(done: int, of: int) -> None:
                live.show(f"offset {done:,} of {of:,}")

            found = read_by(where, lambda kafka: explain_directories(path, kafka, rules, show_offset))
        unknown = sorted({*partitions} - {*found.partitions})
        if unknown:
            raise Wrong(f"--partition: there is no {unknown[0]}{did_you_mean(unknown[0], found.partitions)}")
        show(make_console(), found, partitions)
        if json_path is not None:
            write_json(json_path, as_json(found))
        if html_path is not None:
            write_text(html_path, page(found, str(path), partitions))
    sys.exit(UNMET if found.history.unexplained or found.findings else MET)
