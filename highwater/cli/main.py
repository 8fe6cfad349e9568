"""The command line. A command is imported when it is asked for, and heavy imports happen inside the commands."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

import click

from highwater.cli.endings import Commands
from highwater.distribution import NAME, VERSION

COMMANDS = (
    "check", "list", "trace", "explain", "explore", "states", "conform", "reproduce", "graph", "init", "mutate",
    "repair", "simulate",
)  # fmt: skip


class _Imported(Mapping[str, click.Command]):
    """The commands, each of the module that has its name."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in COMMANDS:
            raise KeyError(name)
        where = "list_" if name == "list" else name
        command: click.Command = getattr(importlib.import_module(f"highwater.cli.{where}"), where)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@click.group(
    cls=Commands,
    commands=_Imported(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(VERSION, prog_name=NAME)
def main() -> None:
    """Highwater checks models of Apache Kafka's replication and control plane, exhaustively within bounds."""


if __name__ == "__main__":
    main()
