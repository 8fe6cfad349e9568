"""The line by which `spark-submit` checks specs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from highwater.claims.on_spark import needing_spark
from highwater.claims.spec import SpecError
from highwater.distribution import HERE

OWN = {"spark.log.level": "ERROR", "spark.pyspark.python": sys.executable}
"""Settings that are given unless others are: few lines but Highwater's, and the Python that has it."""


def command(
    master: str | None, settings: Iterable[str], files: Mapping[str, str], arguments: Iterable[str]
) -> list[str]:
    """The program and its arguments, for any working folder.

    Args:
        master: the cluster's URL; None for the one of spark-defaults.conf.
        settings: of Spark, as KEY=VALUE.
        files: by the name of spark-submit's option, what goes to executors.
        arguments: those of `highwater check`.

    Raises:
        SpecError: there is no Spark, the URL is of no master, or a setting is none.
    """
    with needing_spark():
        from highwater.spark.driver.session import SPARK, ClusterError, refuse_unless_master
    given = dict(_setting(each) for each in settings)
    try:
        if master is not None:
            refuse_unless_master(master)
    except ClusterError as error:
        raise SpecError(str(error)) from error
    line = [str(_program(SPARK)), *(["--master", master] if master else [])]
    for key, value in {**OWN, **given}.items():
        line += ["--conf", f"{key}={value}"]
    for option, value in files.items():
        line += [option, value]
    return [*line, str(HERE / "submit.py"), *arguments]


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise SpecError(f"--conf {text} is no setting; it has the form KEY=VALUE, such as spark.executor.memory=4g")
    return key, value


def _program(installed: Path) -> Path:
    """Where spark-submit is: below SPARK_HOME, or below the Spark that is installed with pyspark."""
    home = Path(os.environ.get("SPARK_HOME") or installed)
    program = home / "bin" / "spark-submit"
    if not (program.is_file() and os.access(program, os.X_OK)):
        raise SpecError(f"{program} is no program; set SPARK_HOME to the folder of a Spark, or leave it unset")
    return program
