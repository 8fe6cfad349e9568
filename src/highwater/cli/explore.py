"""`highwater explore`: try a model by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from highwater.cli.options import PATH, USAGE, WATCH, Count, complain, model_path


@click.command()
@click.argument("path", metavar="SPEC", type=PATH)
@click.option("--spec", "name", metavar="NAME", help="Which spec's trace, if a report holds several.")
@click.option("--step", type=Count(min=0), metavar="N", help="Begin after step N of the trace.  [default: its end]")
@click.option("--interactive", is_flag=True, help="Explore in the terminal (needs the extra tui).")
@click.option(
    "--port", type=Count(0, 65535), default=0, metavar="N", help="Listen on this port.  [default: a free one]"
)
@click.option("--open", "open_browser", is_flag=True, help="Open the page in the browser.")
@WATCH
@model_path
def explore(
    path: Path,
    name: str | None,
    step: int | None,
    watch: tuple[str, ...],
    *,
    interactive: bool,
    port: int,
    open_browser: bool,
) -> None:
    """Explore a model by hand: what can happen, what it changes, which guard refuses the rest, and what becomes false.

    SPEC is a spec file, or a counterexample: a report written by `check --json`, or a page written by `check --html`.
    The page is served on 127.0.0.1 only, at an address with a token; Ctrl-C ends it.
    """
    from highwater.claims.names import ExpressionError
    from highwater.claims.spec import SpecError
    from highwater.explorer.blame import ModelError, blaming_the_model
    from highwater.exploring.opening import open_path
    from highwater.files import ReportError

    try:
        if interactive and (port or open_browser):
            raise ReportError("--port and --open are for the page; leave them out with --interactive")
        with blaming_the_model():
            session = open_path(path, name, step)
        for text in watch:
            session.watch(text)
        if interactive:
            in_terminal(session)
        else:
            _serve(session, port, open_browser=open_browser)
    except ExpressionError as error:
        complain(SpecError(f"--watch: {error}"))
        sys.exit(USAGE)
    except ModelError as error:
        complain(SpecError(f"{path}: {error}"))
        sys.exit(USAGE)
    except (SpecError, ReportError) as error:
        complain(error)
        sys.exit(USAGE)


def in_terminal(session: Any) -> None:
    """Explore a session in the terminal.

    Raises:
        ReportError: there is no terminal, or textual is not installed.
    """
    from highwater.distribution import installing
    from highwater.files import ReportError

    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise ReportError("--interactive needs a terminal")
    try:
        from highwater.exploring.terminal import Explorer
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "textual":
            raise
        raise ReportError(f"--interactive needs the library textual; {installing('tui')}") from None
    Explorer(session).run()


def _serve(session: Any, port: int, *, open_browser: bool) -> None:
    """Serve the page until Ctrl-C."""
    from highwater.exploring.serving import HOST, Site
    from highwater.files import ReportError

    site = Site(session)
    try:
        server = site.listen(port)
    except (OSError, SystemExit):
        raise ReportError(f"--port: {port} is taken on {HOST}; choose another, or leave it out") from None
    address = f"http://{HOST}:{server.port}/?token={site.token}"
    click.echo(f"explore {session.entry['name']} at\n    {address}\nCtrl-C ends it.")
    if open_browser:
        click.launch(address)
    try:
        server.serve_forever()
    finally:
        site.session.cancelled.ask()
        server.server_close()
