"""`highwater init`: a first model of one's own, to start from."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import click

from highwater.cli.options import PATH, USAGE, complain

SCAFFOLD = Path(__file__).parents[1] / "scaffold"


class InitError(Exception):
    """The files cannot be written, or are there already."""


def scaffold_files() -> list[Path]:
    """What is written, relative to the folder."""
    return sorted(
        path.relative_to(SCAFFOLD) for path in SCAFFOLD.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )


def write_scaffold(folder: Path) -> list[Path]:
    """Write a model, a property, two claims and a test into a folder; returns the files.

    Raises:
        InitError: one of them exists already, in which case none is written, or cannot be written.
    """
    targets = [folder / path for path in scaffold_files()]
    if there := [path for path in targets if path.exists()]:
        raise InitError(f"{', '.join(map(str, there))}: there already; nothing was written, name another folder")
    try:
        for path, target in zip(scaffold_files(), targets, strict=True):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(SCAFFOLD / path, target)
    except OSError as error:
        raise InitError(f"{error.filename or folder}: cannot be written: {error.strerror}") from None
    return targets


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
def init(folder: Path) -> None:
    """Write a first model of your own into DIR: a model, a property, two claims and a test, all of which work."""
    try:
        for path in write_scaffold(folder):
            click.echo(f"wrote {path}")
    except InitError as error:
        complain(error)
        sys.exit(USAGE)
    click.echo(f"next: cd {shlex.quote(str(folder))} && highwater check specs --model-path .")
