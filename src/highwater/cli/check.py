"""`highwater check`: its options. `run` is what it does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from highwater.cli.options import PATH, USAGE, Count, Location, audit, budgets, complain, jobs, model_path


@click.command()
@click.argument("paths", metavar="[SPEC|DIR]...", nargs=-1, type=PATH)
@click.option(
    "--engine",
    type=click.Choice(["local", "python", "spark"]),
    default="local",
    show_default=True,
    help="Compiled, plain, or on Spark.",
)
@click.option(
    "--symmetry/--no-symmetry",
    default=True,
    show_default=True,
    help="Keep one state for all that differ by broker names only.",
)
@jobs("Claims to check at the same time")
@click.option(
    "--preset",
    "presets",
    metavar="NAME|RELEASE|PATTERN",
    multiple=True,
    help="Ask the same under this preset's rules, or under those of a release such as 3.9.2. Several, or a pattern "
    "such as 'kafka-3.*', give one table.",
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Ask the same with another bound or toggle, such as bounds.records_max=2 or protocol.acks=1.",
)
@click.option("--max-depth", type=Count(min=0), metavar="N", help="Explore N actions deep and no deeper.")
@budgets
@click.option(
    "--checkpoint",
    type=Location(),
    metavar="DIR",
    help="Keep one spec's search in DIR, to go on from with --resume; for Spark any URI.",
)
@click.option("--resume", is_flag=True, help="Go on from the snapshot in the --checkpoint folder.")
@click.option(
    "--master", metavar="URL", help="For Spark: where to run, such as spark://host:7077.  [default: local[*]]"
)
@click.option(
    "--partitions",
    type=Count(1, 100_000),
    metavar="N",
    help="For Spark: partitions of a level.  [default: one per core]",
)
@click.option(
    "--rows-worth-a-job",
    type=Count(0, 1_000_000_000),
    metavar="N",
    help="For Spark: executors explore levels of N rows or more, the driver itself the smaller ones before.  "
    "[default: 262,144]",
)
@click.option(
    "--keep-trees/--no-keep-trees",
    default=True,
    show_default=True,
    help="Begin with what earlier runs learned of the model, and keep what this one learns.",
)
@audit
@click.option(
    "--certificate",
    type=PATH,
    metavar="FILE",
    help="Write what the verdict of one spec rests on, for `highwater verify` to judge.",
)
@click.option("--keep-going", is_flag=True, help="After a violation, go on until every state is seen.")
@click.option(
    "--advice/--no-advice",
    default=True,
    show_default=True,
    help="After a budget ran out, probe smaller bounds: some 10 s.",
)
@click.option(
    "--raise-bounds",
    is_flag=True,
    help="Where a claim holds, search again with each bound that cut steps raised by one.",
)
@click.option(
    "--update-locks", is_flag=True, help="Write the counts that came out into the specs, and show what that changes."
)
@click.option(
    "--coverage",
    is_flag=True,
    help="Name the statements of actions, too, that ran on no reached state. Pages show the source with what ran.",
)
@click.option(
    "--trace/--no-trace",
    default=None,
    help="Print counterexamples.  [default: of unmet claims, and of a single spec]",
)
@click.option(
    "--json", "json_path", type=PATH, metavar="FILE", help="Write the results as JSON (format: docs/results.md)."
)
@click.option("--junit", "junit_path", type=PATH, metavar="FILE", help="Write the results as JUnit XML.")
@click.option(
    "--sarif", "sarif_path", type=PATH, metavar="FILE", help="Write unmet claims and problems as SARIF 2.1.0."
)
@click.option(
    "--html",
    "html_path",
    type=PATH,
    metavar="DIR",
    help="Write a page per claim and one of all verdicts into DIR.",
)
@model_path
@click.option("--watch", is_flag=True, help="Check again what changes, specs and models of your own, until Ctrl-C.")
@click.option("--github", is_flag=True, help="Annotate a GitHub Actions run, and write its step summary.")
def check(
    paths: tuple[Path, ...],
    engine: str,
    max_depth: int | None,
    max_states: int | None,
    memory: int | None,
    json_path: Path | None,
    html_path: Path | None,
    junit_path: Path | None,
    sarif_path: Path | None,
    *,
    github: bool,
    watch: bool,
    **options: Any,
) -> None:
    """Check that every claim in SPEC files, or in all .toml files below DIR, is met. Without either: below specs/.

    With --preset or --set nothing is claimed: what comes out is the answer.

    The name gallery: stands for all claims that come with Highwater; gallery:kip_101* for those whose names match.

    Exit codes: 0 every claim was met; 1 some were not; 2 a spec or the usage is wrong;
    3 a budget or depth limit ended a search before it could decide; 70 a defect of Highwater; 130 interrupted.
    """
    from highwater.claims.checking import Engine
    from highwater.cli.outputs import Outputs
    from highwater.cli.run import Run, Wanted
    from highwater.explorer.verdict import Budget

    outputs = Outputs(
        {"json": json_path, "junit": junit_path, "sarif": sarif_path, "html": html_path}, to_github=github
    )
    budget = Budget(max_depth, max_states, memory)

    def check_some(paths: tuple[Path, ...]) -> int:
        return Run(Wanted(paths, Engine(engine), budget, **options), outputs)()

    paths = paths or _specs_here()
    sys.exit(_watched(paths, check_some) if watch else check_some(paths))


def _watched(paths: tuple[Path, ...], check_some: Callable[[tuple[Path, ...]], int]) -> int:
    from highwater.claims.spec import SpecError
    from highwater.cli.watch import watch_and_check

    try:
        return watch_and_check(paths, check_some)
    except SpecError as error:
        complain(error)
        return USAGE


def _specs_here() -> tuple[Path, ...]:
    """The folder that is checked where none is named."""
    if Path("specs").is_dir():
        return (Path("specs"),)
    raise click.UsageError(
        "there is no folder specs here; name a SPEC file or a DIR, or gallery: for the claims that come with "
        "Highwater; `highwater init DIR` writes a first model with claims of your own"
    )
