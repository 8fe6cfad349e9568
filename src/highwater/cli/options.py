"""What the commands share: exit codes, kinds of values, options that several have. Imports nothing heavy."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from highwater.limits import MOST_WORKERS

MET, UNMET, USAGE, UNKNOWN = 0, 1, 2, 3
DEFECT = 70  # sysexits.h: EX_SOFTWARE
INTERRUPTED, NO_READER = 130, 141  # what shells show of SIGINT and SIGPIPE


class Place(click.Path):
    """A path. An empty text is none: it would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the name is empty", param, ctx)
        return super().convert(value, param, ctx)


class Location(Place):
    """A path or a URI. Hadoop takes `hdfs:/folder` for a URI, which would be a folder `hdfs:` here."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if re.match(r"[a-z][a-z0-9+.-]+:/(?!/)", str(value)):
            self.fail(f"{value} is no URI, which has more slashes: {value.replace(':/', ':///', 1)}", param, ctx)
        return super().convert(value, param, ctx)


PATH = Place(path_type=Path)
WATCH = click.option(
    "--watch",
    multiple=True,
    metavar="EXPR",
    help="Show the value of an expression beside each step: 'b1.log_end_offset - b0.high_watermark'.",
)


class Count(click.IntRange):
    """A whole number that fits into 64 bits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and len(value) > 18:
            self.fail(f"{value[:18]}... ({len(value):,} characters) is too long for a whole number", param, ctx)
        return super().convert(value, param, ctx)


class Seconds(click.FloatRange):
    """A time above 0."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if not seconds < float("inf"):
            self.fail(f"{value[:18]} is not a number of seconds", param, ctx)
        return seconds


class Memory(click.ParamType[Any]):
    """A number of bytes, such as 4G."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = value.strip().upper().removesuffix("B").removesuffix("I")
        unit = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}.get(text[-1:], 1)
        number = text[:-1] if unit > 1 else text
        try:
            size = int(float(number) * unit)
        except (ValueError, OverflowError):
            size = 0
        if size <= 0 or size >= 2**63:
            self.fail(
                f"{value[:40]!r} is not a size; write bytes, or a number with K, M, G or T, such as 4G", param, ctx
            )
        return size


def model_path(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that names folders with models of your own."""

    def search(context: click.Context, parameter: click.Parameter, folders: tuple[Path, ...]) -> None:
        if folders:
            from highwater.claims.own import search

            try:
                search(folders)
            except NotADirectoryError as error:
                click.echo(f"highwater: {error}", err=True)
                sys.exit(USAGE)

    words = "Also look for your own models in DIR; may be given several times."
    return click.option(
        "--model-path", type=PATH, metavar="DIR", multiple=True, expose_value=False, callback=search, help=words
    )(command)


def kafka(example: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option that names the Kafka whose classes, or whose cluster, are used."""
    words = f"A folder of Kafka, a class path, or a release such as {example}."
    return click.option("--kafka", "where", required=True, metavar="WHERE", help=words)


def budgets(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that end a search early, and how many threads it takes."""
    for option in (
        click.option(
            "--memory",
            type=Memory(),
            help="Stop before the process takes more, such as 4G. On Spark, visited states are in memory by parts that "
            "take no more.  [default: 4/5 of the machine; on Spark 1/2 of it, by its tasks]",
        ),
        click.option("--max-states", type=Count(min=1), metavar="N", help="Stop when N states are stored."),
        click.option(
            "--workers",
            type=Count(1, MOST_WORKERS),
            metavar="N",
            help="Threads to explore with.  [default: one per processor]",
        ),
    ):
        command = option(command)
    return command


def jobs(what: str) -> Callable[..., Any]:
    """The option that says how many processes search at the same time."""
    return click.option(
        "--jobs",
        type=Count(1, MOST_WORKERS),
        envvar="HIGHWATER_JOBS",
        show_envvar=True,
        metavar="N",
        help=f"{what}, each in a process of its own.  [default: one per processor]",
    )


def audit(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option that says how much of what was found is judged a second time."""

    def extent(context: click.Context, parameter: click.Parameter, name: str | None) -> Any:
        if name is None:
            return None
        from highwater.explorer.verdict import Auditing

        return Auditing(name)

    words = "Judge some states, or all, again in plain Python where a search says that all is well.  [default: quick]"
    return click.option("--audit", type=click.Choice(["none", "quick", "full"]), callback=extent, help=words)(command)


def complain(error: Exception) -> None:
    """Print each problem on a line of stderr."""
    from highwater.visible import visible

    with suppress(OSError):  # the exit code remains
        for line in str(error).split("\n"):
            click.echo(f"highwater: {visible(line)}", err=True)


@contextmanager
def refusing(*errors: type[Exception]) -> Iterator[None]:
    """For what a command does: an error of these kinds is of the user's, and ends it with one line and exit code 2."""
    try:
        yield
    except errors as error:
        complain(error)
        sys.exit(USAGE)
