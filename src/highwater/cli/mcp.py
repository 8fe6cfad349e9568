"""`highwater mcp`: a server for coding assistants."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from highwater.cli.options import PATH, refusing


@click.command()
@click.option(
    "--model-path",
    "folders",
    type=PATH,
    metavar="DIR",
    multiple=True,
    help="Also look for your own models in DIR, a folder below this one; may be given several times.",
)
def mcp(folders: tuple[Path, ...]) -> None:
    """Serve coding assistants over the Model Context Protocol on standard input and output: they list models and specs,
    check, explain counterexamples and try models by hand, each within a budget (needs the extra mcp).

    Models are imported from this folder only, and only where `check` would import them; nothing is written but in
    the cache. An assistant starts it: see docs/assistants.md.

    Exit codes: 0 the assistant is gone; 2 the usage is wrong. SIGINT and SIGTERM end it with all searches.
    """
    from highwater.claims.tables import Wrong
    from highwater.distribution import installing
    from highwater.files import ReportError

    with refusing(Wrong, ReportError, NotADirectoryError):
        try:
            from highwater.assistants.serving import serve
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in ("mcp", "anyio"):
                raise
            raise ReportError(f"highwater mcp needs the library mcp; {installing('mcp')}") from None
        from highwater.assistants.place import folders_below

        folders_below(Path.cwd(), [str(each) for each in folders])
        if sys.stdin.isatty():
            click.echo("waiting for an assistant on standard input; see docs/assistants.md. Ctrl-C ends it.", err=True)
        serve(Path.cwd().resolve(), [str(each) for each in folders])
