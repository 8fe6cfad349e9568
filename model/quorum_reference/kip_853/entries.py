"""Entries of the log, and the configurations that they bring."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from enum import Enum
from typing import Any

import attrs

from highwater.model.language.domain import OneOf
from highwater.model.quorum_reference.kip_853.bounds import FIRST_EPOCH, ReconfigurationBounds, whole


class Command(Enum):
    """What an entry is."""

    VALUE = "value"
    FIRST = "first configuration"
    ADD = "add voter"
    REMOVE = "remove voter"
    LEADER = "leader change"


@attrs.frozen
class Configuration:
    """The voters.

    Attributes:
        number: counts configurations in a log from 1; 0 is that of a dead server.
        members: the voters.
    """

    number: int
    members: frozenset[int]

    def __str__(self) -> str:
        members = "{" + " ".join(f"s{member}" for member in sorted(self.members)) + "}"
        return (
            members if self.number < 3 else f"{members}#{self.number}"
        )  # two changes may lead back to the same members


NO_CONFIGURATION = Configuration(0, frozenset())


@attrs.frozen
class Entry:
    """An entry of a log.

    Attributes:
        value: what a client wrote.
        server: whom the entry adds or removes.
        configuration: of an entry that changes the voters.
    """

    command: Command
    epoch: int
    value: int | None = None
    server: int | None = None
    configuration: Configuration | None = None

    def __str__(self) -> str:
        match self.command:
            case Command.VALUE:
                text = f"v{self.value}"
            case Command.FIRST:
                text = f"{self.configuration}"
            case Command.LEADER:
                text = "leader"
            case _:
                text = f"{'+' if self.command is Command.ADD else '-'}s{self.server}={self.configuration}"
        return f"{text}@e{self.epoch}"


def first_configuration(bounds: Any) -> Configuration:
    return Configuration(1, frozenset(range(bounds.init_cluster_size)))


def first_entry(bounds: Any) -> Entry:
    return Entry(Command.FIRST, FIRST_EPOCH, configuration=first_configuration(bounds))


Change = tuple[Command, int, Configuration]


@functools.cache
def changes(bounds: ReconfigurationBounds) -> tuple[Change, ...]:
    """Every change of the configuration that a log may have."""
    found: dict[Change, None] = {}
    todo = [(first_configuration(bounds), 0, 0)]
    for before, added, removed in todo:
        for change in _changes_of(before, bounds, added, removed):
            adds = change[0] is Command.ADD
            found[change] = None
            todo.append((change[2], added + adds, removed + (not adds)))
    return tuple(found)


def _changes_of(before: Configuration, bounds: ReconfigurationBounds, added: int, removed: int) -> Iterable[Change]:
    number, members = before.number + 1, before.members
    for server in range(bounds.max_spawned_servers):
        if server in members and removed < bounds.max_remove_reconfigs and len(members) > bounds.min_cluster_size:
            yield Command.REMOVE, server, Configuration(number, members - {server})
        if server not in members and added < bounds.max_add_reconfigs and len(members) < bounds.max_cluster_size:
            yield Command.ADD, server, Configuration(number, members | {server})


@functools.cache
def entries_of(bounds: ReconfigurationBounds, epoch: int) -> tuple[Entry, ...]:
    """The entries of an epoch that may follow others of it: what clients wrote, and changes of the configuration."""
    written = tuple(Entry(Command.VALUE, epoch, value) for value in range(bounds.values))
    changed = tuple(
        Entry(command, epoch, server=server, configuration=after) for command, server, after in changes(bounds)
    )
    return (*(written if bounds.max_values_per_epoch else ()), *changed)


@functools.cache
def _entries(bounds: ReconfigurationBounds) -> OneOf:
    epochs = range(FIRST_EPOCH, bounds.max_epoch + 1)
    later = [entry for epoch in epochs for entry in entries_of(bounds, epoch)]
    leaders = [Entry(Command.LEADER, epoch) for epoch in epochs[1:]]
    return OneOf((first_entry(bounds), *leaders, *later))


def entries(bounds: Any) -> OneOf:
    """The domain of an entry."""
    return _entries(whole(bounds))


@functools.cache
def _configurations(bounds: ReconfigurationBounds) -> OneOf:
    later = [after for _, _, after in changes(bounds)]
    return OneOf(tuple(dict.fromkeys((NO_CONFIGURATION, first_configuration(bounds), *later))))


def configurations(bounds: Any) -> OneOf:
    """The domain of the configuration that a server is in."""
    return _configurations(whole(bounds))
