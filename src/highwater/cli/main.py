"""The command line. A command is imported when it is asked for, and heavy imports happen inside the commands."""

from __future__ import annotations

import click

from highwater.cli.endings import Commands
from highwater.distribution import NAME, VERSION

PLACES = {
    "check": "highwater.cli.check:check",
    "list": "highwater.cli.list_:list_",
    "trace": "highwater.cli.trace:trace",
    "explain": "highwater.cli.explain:explain",
    "explore": "highwater.cli.explore:explore",
    "states": "highwater.cli.states:states",
    "follow": "highwater.cli.follow:follow",
    "conform": "highwater.cli.conform:conform",
    "reproduce": "highwater.cli.reproduce:reproduce",
    "graph": "highwater.cli.graph:graph",
    "init": "highwater.cli.init:init",
    "mutate": "highwater.cli.mutate:mutate",
    "repair": "highwater.cli.repair:repair",
    "simulate": "highwater.cli.simulate:simulate",
    "submit": "highwater.cli.submit:submit",
    "verify": "highwater.cli.verify:verify",
    "walk": "highwater.cli.walk:walk",
    "ask": "highwater.cli.ask:ask",
    "mcp": "highwater.cli.mcp:mcp",
}


@click.group(
    cls=Commands,
    places=PLACES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(VERSION, prog_name=NAME)
def main() -> None:
    """Highwater checks models of Apache Kafka's replication and control plane, exhaustively within bounds."""


if __name__ == "__main__":
    main()
