"""`highwater verify`: judge a certificate without the search that wrote it. It loads nothing of that search, either."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from highwater.cli.options import MET, PATH, UNMET, USAGE, complain, model_path

if TYPE_CHECKING:
    from highwater.claims.certifying import Verified

SECONDS_BETWEEN_LINES = 10.0


@click.command()
@click.argument("path", metavar="FILE", type=PATH)
@click.option("--spec", type=PATH, metavar="SPEC", help="Refuse a certificate that is not of this claim.")
@click.option(
    "--symmetry/--no-symmetry",
    default=False,
    show_default=True,
    help="Trust that the model treats interchangeable names alike, and judge one state of each orbit.",
)
@click.option(
    "--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True, help="Here, or on Spark."
)
@click.option(
    "--master", metavar="URL", help="For Spark: where to run, such as spark://host:7077.  [default: local[*]]"
)
@model_path
def verify(path: Path, spec: Path | None, *, symmetry: bool, engine: str, master: str | None) -> None:
    """Judge FILE, which `check --certificate` wrote, in plain Python: nothing of the compiler, the machine code and the
    search is used. docs/certificates.md says what is judged, and what remains trusted.

    Exit codes: 0 verified; 1 refused; 2 FILE is no certificate, or not of the model as it is now, or the model raised;
    130 interrupted.
    """
    from highwater.claims.certifying import verify_certificate
    from highwater.claims.spec import SpecError
    from highwater.explorer.verifier.sums import Refused

    began = time.perf_counter()
    last = began

    def on_progress(judged: int, of: int) -> None:
        nonlocal last
        if time.perf_counter() - last > SECONDS_BETWEEN_LINES:
            last = time.perf_counter()
            click.echo(f"{path}: {judged:,} of {of:,} stored states judged in {last - began:.0f} s", err=True)

    try:
        if master is not None and engine != "spark":
            raise SpecError("--master has no meaning with --engine local; add --engine spark")
        report = verify_certificate(
            path, spec, trust_symmetry=symmetry, on_spark=engine == "spark", master=master, on_progress=on_progress
        )
    except SpecError as error:
        complain(error)
        sys.exit(USAGE)
    except Refused as refusal:
        complain(Refused(f"{path}: refused: {refusal}"))
        sys.exit(UNMET)
    _show(path, report, time.perf_counter() - began)
    sys.exit(MET)


def _show(path: Path, report: Verified, seconds: float) -> None:
    """What was verified, and what was not."""
    from highwater.visible import visible

    lines = [
        f"verified  {path}: {report.claim} {report.verdict}",
        f"    model     {report.spec['model']}",
        *(f"    {name:9} {_spelt(report.spec[name])}" for name in ("protocol", "bounds") if report.spec.get(name)),
        *(f"    yes       {each}" for each in report.verified),
        *(f"    not       {each}" for each in report.not_verified),
        f"    {report.states:,} stored states in {seconds:.1f} s",
    ]
    for line in lines:
        click.echo(visible(line))


def _spelt(table: dict[str, object]) -> str:
    return "  ".join(
        f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in table.items()
    )
