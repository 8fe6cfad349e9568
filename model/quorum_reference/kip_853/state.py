"""The state of the public module kraft_kip_853: servers, messages, and which servers are connected.

The module has 22 variables. Each is a field here, but for the disk id of a server, which follows from its number.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from highwater.model.language.domain import ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.records import evolve, records, replaced, within
from highwater.model.quorum_reference.kip_853.bounds import disconnected, epochs, hosts, offsets, servers, values
from highwater.model.quorum_reference.kip_853.entries import Configuration, Entry, configurations, entries
from highwater.model.quorum_reference.kip_853.messages import Message, all_messages, messages_of
from highwater.model.quorum_reference.messages import Kind, Result


class Role(Enum):
    """Whether a server is in the last configuration of its log, as far as it knows; a dead one has no role."""

    NONE = "none"
    OBSERVER = "observer"
    VOTER = "voter"


class ServerRole(Enum):
    """What a server is."""

    UNATTACHED = "unattached"
    VOTED = "voted"
    FOLLOWER = "follower"
    CANDIDATE = "candidate"
    LEADER = "leader"
    RESIGNED = "resigned"
    DEAD = "dead"
    ILLEGAL = "illegal"


ERRORS = (Result.OK, Result.FENCED, Result.NOT_LEADER, Result.UNKNOWN_LEADER)


@attrs.frozen
class Answered:
    """What a server remembers of the last answer to a fetch: who gave it, and its error."""

    peer: int = within(servers)
    error: Result = within(OneOf(ERRORS))


def server_sets(bounds: Any) -> SetOf:
    return SetOf(servers(bounds))


def value_sets(bounds: Any) -> SetOf:
    return SetOf(values(bounds))


@attrs.frozen
class Server:
    """A voter or observer. One that was never started has no host.

    Attributes:
        host: where it was started.
        role, standing, epoch, leader: what it is in its epoch, and whom it knows as leader.
        voted_for, votes: whom it voted for in its epoch, and who voted for it.
        configuration, is_committed: the last configuration in its log, and whether it knows it to be committed.
        log, high_watermark: its entries, and how many it knows to be committed.
        end_offsets: how much of the log it knows each voter to have; None for others.
        pending, answered: the fetch request whose response it waits for, and the last response.
        unacked: the values that it has appended and neither acknowledged nor failed.
    """

    host: int | None = within(lambda bounds: Maybe(hosts(bounds)))
    role: Role = within(OneOf(Role))
    standing: ServerRole = within(OneOf(ServerRole))
    epoch: int = within(epochs)
    leader: int | None = within(lambda bounds: Maybe(servers(bounds)))
    voted_for: int | None = within(lambda bounds: Maybe(servers(bounds)))
    votes: frozenset[int] = within(server_sets)
    configuration: Configuration = within(configurations)
    is_committed: bool = within(bool)
    log: tuple[Entry, ...] = within(
        lambda bounds: SequenceOf(entries(bounds), bounds.log_length(int(bounds.max_epoch)))
    )
    high_watermark: int = within(offsets)
    end_offsets: tuple[int | None, ...] = within(
        lambda bounds: ArrayOf(Maybe(offsets(bounds)), int(bounds.max_spawned_servers), "s")
    )
    pending: Message | None = within(lambda bounds: Maybe(messages_of(Kind.FETCH)(bounds)))
    answered: Answered | None = within(lambda bounds: Maybe(records(Answered)(bounds)))
    unacked: frozenset[int] = within(value_sets)

    @property
    def is_started(self) -> bool:
        return self.host is not None

    @property
    def end(self) -> tuple[int, int]:
        """The epoch of its last entry, and its log end offset: in this order a log is newer than another."""
        return (self.log[-1].epoch, len(self.log)) if self.log else (0, 0)

    def forgetting_fetches(self) -> Server:
        """Source: ResetFetchState."""
        return evolve(self, pending=None, answered=None)

    def tracking(self, members: frozenset[int], *, fresh: bool = False) -> Server:
        """The log end offsets of these voters are known: what was known before, or 0.

        Source: UpdateFollowerEndOffsetMap; ResetFollowerEndOffsetMap, if all begin at 0.
        """
        known = enumerate(self.end_offsets)
        ends = tuple((0 if fresh or end is None else end) if peer in members else None for peer, end in known)
        return evolve(self, end_offsets=ends)


def last_configuration(log: tuple[Entry, ...]) -> tuple[int, Configuration]:
    """Where the last configuration of a log is, and what it is. Source: MostRecentReconfigEntry."""
    for offset in range(len(log), 0, -1):
        found = log[offset - 1].configuration
        if found is not None:
            return offset, found
    raise ValueError("a log without a configuration")


@attrs.frozen
class Clients:
    """The values that clients have written: all, those that were acknowledged, and those that failed."""

    sent: frozenset[int] = within(value_sets)
    acked: frozenset[int] = within(value_sets)
    failed: frozenset[int] = within(value_sets)


@attrs.frozen
class Used:
    """How much of the limits is used up."""

    restarts: int = within(lambda bounds: Integers(0, int(bounds.max_restarts)))
    crashes: int = within(lambda bounds: Integers(0, int(bounds.max_crashes)))
    adds: int = within(lambda bounds: Integers(0, int(bounds.max_add_reconfigs)))
    removes: int = within(lambda bounds: Integers(0, int(bounds.max_remove_reconfigs)))
    connectivity_changes: int = within(lambda bounds: Integers(0, int(bounds.max_connectivity_changes)))


@attrs.frozen
class ChangingQuorum:
    """The whole state.

    Attributes:
        servers: by number.
        on_their_way: messages that are to be handled.
        handled: messages that were handled or lost; one that was sent again is also on its way.
        cut: pairs of servers that are not connected.
        clients: what they have written.
        used: how often servers restarted, crashed and so on.
    """

    servers: tuple[Server, ...] = within(
        lambda bounds: ArrayOf(records(Server)(bounds), int(bounds.max_spawned_servers), label="s")
    )
    on_their_way: frozenset[Message] = within(lambda bounds: SetOf(all_messages(bounds)))
    handled: frozenset[Message] = within(lambda bounds: SetOf(all_messages(bounds)))
    cut: frozenset[tuple[int, int]] = within(lambda bounds: SetOf(disconnected(bounds)))
    clients: Clients = within(Clients)
    used: Used = within(Used)

    def with_server(self, server: int, changed: Server) -> ChangingQuorum:
        return evolve(self, servers=replaced(self.servers, server, changed))

    def awaits(self, message: Message) -> bool:
        """Whether a message is on its way. A dead server handles none. Source: ReceivableMessage."""
        return message in self.on_their_way and self.servers[message.dest].standing is not ServerRole.DEAD

    def are_connected(self, one: int, other: int) -> bool:
        return (min(one, other), max(one, other)) not in self.cut

    def sent(self, *messages: Message) -> ChangingQuorum:
        """Messages are on their way, those between servers that are not connected excepted."""
        sent = frozenset(message for message in messages if self.are_connected(message.source, message.dest))
        return evolve(self, on_their_way=self.on_their_way | sent)

    def received(self, message: Message) -> ChangingQuorum:
        """A message was handled."""
        handled = frozenset((message,))
        return evolve(self, on_their_way=self.on_their_way - handled, handled=self.handled | handled)

    def replied(self, request: Message, response: Message) -> ChangingQuorum | None:
        """A request is handled and a response is on its way; None if the two servers are not connected."""
        if not self.are_connected(request.source, request.dest):
            return None
        return self.received(request).sent(response)

    def lost(self, messages: frozenset[Message]) -> ChangingQuorum:
        """Some messages, if they are on their way, are not any more. Source: Drop."""
        rest = self.on_their_way - messages
        return evolve(self, on_their_way=rest, handled=self.handled | (self.on_their_way & messages))

    def failing(self, server: int) -> ChangingQuorum:
        """What a server has not acknowledged yet failed. Source: FailPendingWrites."""
        before = self.servers[server]
        clients = evolve(self.clients, failed=self.clients.failed | before.unacked)
        return evolve(self.with_server(server, evolve(before, unacked=frozenset())), clients=clients)
