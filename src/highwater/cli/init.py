"""`highwater init`: a first model of one's own, or claims that are there already, to start from."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from highwater.cli.options import PATH, refusing

SCAFFOLD = Path(__file__).parents[1] / "scaffold"


class InitError(Exception):
    """The files cannot be written, or are there already."""


def scaffold_files() -> list[Path]:
    """What is written, relative to the folder."""
    return sorted(
        path.relative_to(SCAFFOLD) for path in SCAFFOLD.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )


def write_scaffold(folder: Path) -> list[Path]:
    """Write a model, a property, two claims, an implementation and tests into a folder; returns the files.

    Raises:
        InitError: one of them exists already, in which case none is written, or cannot be written.
    """
    return _copied({SCAFFOLD / path: folder / path for path in scaffold_files()})


def write_claims(folder: Path, names: Iterable[str]) -> list[Path]:
    """Write claims into a folder, each under its own name; returns the files.

    Args:
        names: specs, or claims of the gallery such as `gallery:kip_101*`.

    Raises:
        SpecError: one of them is not found, or is wrong.
        InitError: a file exists already, in which case none is written, or cannot be written; or two have one name.
    """
    from highwater.claims.spec import find_specs, load_spec

    specs = [load_spec(path).path for path in find_specs(map(Path, names))]
    targets = {path: folder / path.name for path in specs}
    if len(set(targets.values())) < len(targets):
        raise InitError("several of these claims have the same name; nothing was written, name fewer")
    return _copied(targets)


def _copied(targets: Mapping[Path, Path]) -> list[Path]:
    """Copy all of these files, or none if one is there already."""
    if there := [path for path in targets.values() if path.exists()]:
        raise InitError(f"{', '.join(map(str, there))}: there already; nothing was written, name another folder")
    for path, target in targets.items():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        except OSError as error:
            raise InitError(f"{error.filename or target}: cannot be written: {error.strerror}") from None
    return list(targets.values())


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.option(
    "--from", "claims", metavar="SPEC|gallery:NAME", multiple=True, help="Write these claims instead, to change them."
)
def init(folder: Path, claims: tuple[str, ...]) -> None:
    """Write a first model of your own into DIR: a model, a property, two claims, an implementation and tests, all of
    which work.

    With --from, write claims into DIR that are there already, such as those of the gallery.
    """
    from highwater.claims.spec import SpecError

    with refusing(InitError, SpecError):
        for path in write_claims(folder, claims) if claims else write_scaffold(folder):
            click.echo(f"wrote {path}")
    next_command = f"highwater check {'.' if claims else 'specs --model-path .'}"
    click.echo(f"next: cd {shlex.quote(str(folder))} && {next_command}")
