"""The command line. Heavy imports happen inside the commands, so that `--help` is instant."""

from __future__ import annotations

import click

from highwater.cli.check import check
from highwater.cli.conform import conform
from highwater.cli.endings import Commands
from highwater.cli.explain import explain
from highwater.cli.explore import explore
from highwater.cli.graph import graph
from highwater.cli.init import init
from highwater.cli.list_ import list_
from highwater.cli.mutate import mutate
from highwater.cli.repair import repair
from highwater.cli.reproduce import reproduce
from highwater.cli.simulate import simulate
from highwater.cli.states import states
from highwater.cli.trace import trace
from highwater.distribution import NAME, VERSION


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(VERSION, prog_name=NAME)
def main() -> None:
    """Highwater checks models of Apache Kafka's replication and control plane, exhaustively within bounds."""


for command in (
    check, list_, trace, explain, explore, states, conform, reproduce, graph, init, mutate, repair, simulate,
):  # fmt: skip
    main.add_command(command)


if __name__ == "__main__":
    main()
