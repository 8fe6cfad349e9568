"""The command `highwater states`: ask an explored state space in SQL, or export it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from highwater.cli.options import PATH, Count, Location, model_path, refusing

MOST_SHOWN = 50


@click.command()
@click.argument("spec", metavar="SPEC", type=PATH)
@click.option(
    "--checkpoint",
    type=Location(),
    metavar="URI",
    help="The folder that check --engine spark wrote; by default the states are explored now.",
)
@click.option("--sql", metavar="QUERY", help="A query over the table `states`.")
@click.option(
    "--parquet", type=Location(), metavar="DIR", help="Write all states, or the query's result, into DIR as Parquet."
)
@click.option(
    "--columns", is_flag=True, help="Show the table's columns and their types.  [default without --sql and --parquet]"
)
@click.option(
    "--symmetry/--no-symmetry", default=True, show_default=True, help="As in the check that wrote the levels."
)
@click.option("--master", metavar="URL", help="Where to run, such as spark://host:7077.  [default: local[*]]")
@click.option(
    "--rows", type=Count(1, 1_000_000), default=MOST_SHOWN, show_default=True, metavar="N", help="Show so many rows."
)
@model_path
def states(
    spec: Path,
    checkpoint: str | None,
    sql: str | None,
    parquet: str | None,
    *,
    columns: bool,
    symmetry: bool,
    master: str | None,
    rows: int,
) -> None:
    """Ask the reachable states of SPEC, as a table with a column per field, or export them for DuckDB and pandas.

    \b
    highwater check --engine spark SPEC --checkpoint DIR
    highwater states SPEC --checkpoint DIR --sql "SELECT depth, sum(orbit) FROM states GROUP BY depth ORDER BY depth"

    A row stands for `orbit` states that differ by broker names only; `depth` is how many actions away from the start
    they are.
    """
    from highwater.claims import on_spark
    from highwater.claims.spec import SpecError, load_spec
    from highwater.explorer.blame import ModelError
    from highwater.explorer.search.keeping.durable import CheckpointError
    from highwater.files import ReportError
    from highwater.reports.progress import Live, make_console

    console, errors = make_console(), make_console(stderr=True)
    with refusing(SpecError, CheckpointError, ModelError, ReportError):
        loaded = load_spec(spec)
        if parquet is not None and "://" not in parquet:
            _try_out(Path(parquet))
        with tempfile.TemporaryDirectory(prefix="highwater-") as folder:
            with Live(errors, loaded.name) as live:
                session = on_spark.session(master, live.show_now)
                if checkpoint is None:
                    checkpoint = on_spark.explore_into(folder, loaded, session, live, symmetry=symmetry)
            session.sparkContext.setJobDescription(
                f"states: {' '.join((sql or parquet or 'columns').split())} ({loaded.name})"
            )
            table = on_spark.states(loaded, checkpoint, session)
            if note := on_spark.extent(checkpoint):
                errors.print(f"note: {note}")
            with on_spark.reported_on_one_line("--sql" if parquet is None else "--parquet"):
                table.createOrReplaceTempView("states")
                result = table if sql is None else session.sql(sql)
                if columns or (sql is None and parquet is None):
                    _show_columns(console, result)
                if parquet is not None:
                    result.write.parquet(on_spark.located(parquet))
                    console.print(f"written to {parquet}")
                elif sql is not None:
                    _show_rows(console, result, rows)


def _try_out(folder: Path) -> None:
    """Learn before Spark starts that a new folder cannot be made.

    Raises:
        ReportError: why.
    """
    from highwater.files import ReportError

    try:
        folder.mkdir(parents=True)
        folder.rmdir()  # Spark makes it, and takes none that is there
    except OSError as error:
        why = "is there already; name a new one" if folder.exists() else f"cannot be made: {error.strerror}"
        raise ReportError(f"--parquet: the folder {folder} {why}") from None


def _show_columns(console: Any, table: Any) -> None:
    width = max(len(field.name) for field in table.schema.fields)
    for field in table.schema.fields:
        console.print(f"{field.name.ljust(width)}  {field.dataType.simpleString()}")


def _show_rows(console: Any, table: Any, most: int) -> None:
    """A result as a table, or with nested columns as a block per row."""
    found = table.limit(most + 1).collect()
    if any(field.dataType.typeName() in ("array", "struct") for field in table.schema.fields):
        _show_records(console, table.columns, found[:most])
    else:
        _show_table(console, table.columns, found[:most])
    if len(found) > most:
        console.print(f"... and more; --rows N shows more than {most}")


def _show_table(console: Any, columns: Sequence[str], found: Sequence[Any]) -> None:
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for number, name in enumerate(columns):
        shown.add_column(
            name, justify="right" if all(isinstance(row[number], int | float) for row in found) else "left"
        )
    for row in found:
        shown.add_row(*map(_cell, row))
    console.print(shown)


def _show_records(console: Any, columns: Sequence[str], found: Sequence[Any]) -> None:
    width = max(map(len, columns))
    for number, row in enumerate(found):
        if number:
            console.print()
        for name, value in zip(columns, row, strict=True):  # a query may give two columns one name
            console.print(f"{name.ljust(width)}  {_cell(value)}")


def _cell(value: Any) -> str:
    from highwater.visible import visible

    if isinstance(value, tuple | dict | list):
        return visible(json.dumps(_plain(value), ensure_ascii=False, default=str))
    return "NULL" if value is None else f"{value:,}" if type(value) is int else visible(str(value))


def _plain(value: Any) -> Any:
    """A nested value with its records as dictionaries."""
    if isinstance(value, tuple):  # a Row
        return {name: _plain(each) for name, each in zip(getattr(value, "__fields__", ()), value, strict=True)}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {str(key): _plain(each) for key, each in value.items()} if isinstance(value, dict) else value
