"""The command line. A command is imported when it is asked for, and heavy imports happen inside the commands."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, MutableMapping

import click

from highwater.cli.endings import Commands
from highwater.distribution import NAME, VERSION

COMMANDS = (
    "check", "list", "trace", "explain", "explore", "states", "conform", "reproduce", "graph", "init", "mutate",
    "repair", "simulate",
)  # fmt: skip


class _Imported(MutableMapping[str, click.Command]):
    """The commands, each of the module that has its name."""

    def __init__(self) -> None:
        self._found: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._found and name in COMMANDS:
            where = "list_" if name == "list" else name
            self[name] = getattr(importlib.import_module(f"highwater.cli.{where}"), where)
        return self._found[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"{name} stays a command")

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
