"""The command `highwater submit`: a check by spark-submit, typed in any folder."""

from __future__ import annotations

import shlex

import click

from highwater.cli.endings import give_way_to
from highwater.cli.options import refusing


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", metavar="[OPTIONS OF check] SPEC...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--master", metavar="URL", help="The cluster, such as spark://host:7077, yarn or k8s://host:443.")
@click.option("--conf", "settings", metavar="KEY=VALUE", multiple=True, help="A setting of Spark.")
@click.option("--py-files", metavar="FILES", help="Wheels, archives and modules for executors, with commas between.")
@click.option("--archives", metavar="FILES", help="Archives that are unpacked where executors run.")
@click.option("--print", "only_print", is_flag=True, help="Print the line to type instead, and run nothing.")
def submit(
    arguments: tuple[str, ...],
    master: str | None,
    settings: tuple[str, ...],
    py_files: str | None,
    archives: str | None,
    *,
    only_print: bool,
) -> None:
    """Check specs by spark-submit, with all options of `highwater check`.

    \b
    highwater submit --master spark://host:7077 --print claim.toml --checkpoint hdfs://...

    Spark's own is used if SPARK_HOME names one, or else the one that was installed with pyspark.
    """
    from highwater.claims.spec import SpecError
    from highwater.claims.submitting import command

    more = {"--py-files": py_files, "--archives": archives}
    with refusing(SpecError):
        line = command(master, settings, {name: value for name, value in more.items() if value}, arguments)
    if only_print:
        click.echo(shlex.join(line))
    else:
        give_way_to(line)
