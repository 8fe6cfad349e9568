"""The state of the public module KRaft: servers, and every message that was sent.

The module has 13 variables, and each is a field here. A message whose copies were all handled stays known, as there: it
keeps a server from sending it again.
"""

from __future__ import annotations

from enum import Enum

import attrs

from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.records import evolve, records, replaced, within
from highwater.model.quorum_reference.bounds import epochs, offsets, servers, values
from highwater.model.quorum_reference.messages import REPEATED, Kind, Message, all_messages, messages_of


class ServerRole(Enum):
    """What a server is."""

    UNATTACHED = "unattached"
    VOTED = "voted"
    FOLLOWER = "follower"
    CANDIDATE = "candidate"
    LEADER = "leader"
    ILLEGAL = "illegal"


@attrs.frozen
class Entry:
    """An entry of a log."""

    epoch: int = within(epochs)
    value: int = within(values)

    def __str__(self) -> str:
        return f"v{self.value}@e{self.epoch}"


@attrs.frozen
class Server:
    """A voter.

    Attributes:
        epoch, standing, leader: its epoch, what it is there, and whom it knows as leader.
        voted_for, votes: whom it voted for last, and who voted for it.
        log, high_watermark: its entries, and how many it knows to be committed.
        end_offsets: as a leader, how much of the log it knows each server to have.
        pending: the fetch request whose response it waits for.
    """

    standing: ServerRole = within(OneOf(ServerRole))
    epoch: int = within(epochs)
    leader: int | None = within(lambda bounds: Maybe(servers(bounds)))
    voted_for: int | None = within(lambda bounds: Maybe(servers(bounds)))
    votes: frozenset[int] = within(lambda bounds: SetOf(servers(bounds)))
    log: tuple[Entry, ...] = within(lambda bounds: SequenceOf(records(Entry)(bounds), int(bounds.values)))
    high_watermark: int = within(offsets)
    end_offsets: tuple[int, ...] = within(lambda bounds: ArrayOf(offsets(bounds), int(bounds.servers), "s"))
    pending: Message | None = within(lambda bounds: Maybe(messages_of(Kind.FETCH)(bounds)))

    @property
    def end(self) -> tuple[int, int]:
        """The epoch of its last entry, and its log end offset: in this order a log is newer than another."""
        return (self.log[-1].epoch, len(self.log)) if self.log else (0, 0)


@attrs.frozen
class Messages:
    """Every message that was sent. A message with a copy on its way is not among those that were handled.

    Attributes:
        on_their_way: of which there is a copy to be handled.
        more_copies: of which there are at least two copies, at least three, and so on.
        handled: of which every copy was handled.
    """

    on_their_way: frozenset[Message] = within(lambda bounds: SetOf(all_messages(bounds)))
    more_copies: tuple[frozenset[Message], ...] = within(
        lambda bounds: ArrayOf(SetOf(messages_of(*REPEATED)(bounds)), int(bounds.copies()) - 1)
    )
    handled: frozenset[Message] = within(lambda bounds: SetOf(all_messages(bounds)))

    def was_sent(self, message: Message) -> bool:
        return message in self.on_their_way or message in self.handled

    def with_copy(self, message: Message) -> Messages:
        """One more copy of a message is on its way."""
        if message not in self.on_their_way:
            rest = self.handled - {message}
            return evolve(self, on_their_way=self.on_their_way | {message}, handled=rest)
        for number, twice in enumerate(self.more_copies):
            if message not in twice:
                return evolve(self, more_copies=replaced(self.more_copies, number, twice | {message}))
        raise ValueError(f"the state has no room for one more copy of the {message}")

    def without_copy(self, message: Message) -> Messages:
        """A copy of a message was handled."""
        if message.kind in REPEATED:
            for number in reversed(range(len(self.more_copies))):
                copies = self.more_copies[number]
                if message in copies:
                    return evolve(self, more_copies=replaced(self.more_copies, number, copies - {message}))
        return evolve(self, on_their_way=self.on_their_way - {message}, handled=self.handled | {message})


@attrs.frozen
class Quorum:
    """The whole state.

    Attributes:
        servers: by id.
        messages: every message that was sent.
        acked: by value, None before it is written, then whether it was acknowledged.
        elections, restarts: how many there were.
    """

    servers: tuple[Server, ...] = within(
        lambda bounds: ArrayOf(records(Server)(bounds), int(bounds.servers), label="s")
    )
    acked: tuple[bool | None, ...] = within(lambda bounds: ArrayOf(Maybe(BOOLEAN), int(bounds.values), label="v"))
    elections: int = within(lambda bounds: Integers(0, int(bounds.max_elections)))
    restarts: int = within(lambda bounds: Integers(0, int(bounds.max_restarts)))
    messages: Messages = within(Messages)

    def with_server(self, server: int, changed: Server) -> Quorum:
        return evolve(self, servers=replaced(self.servers, server, changed))

    def awaits(self, message: Message) -> bool:
        """Whether a copy of a message is on its way."""
        return message in self.messages.on_their_way

    def sent(self, message: Message) -> Quorum:
        return evolve(self, messages=self.messages.with_copy(message))

    def sent_once(self, messages: list[Message]) -> Quorum | None:
        """Messages are on their way; None if one of them was sent before."""
        if any(self.messages.was_sent(message) for message in messages):
            return None
        on_their_way = self.messages.on_their_way | frozenset(messages)
        return evolve(self, messages=evolve(self.messages, on_their_way=on_their_way))

    def received(self, message: Message) -> Quorum:
        """A copy of a message was handled."""
        return evolve(self, messages=self.messages.without_copy(message))

    def replied(self, request: Message, response: Message) -> Quorum | None:
        """A request is handled and a response is on its way; None for a fetch response that was sent before."""
        if response.kind is Kind.FETCHED and self.messages.was_sent(response):
            return None
        return self.received(request).sent(response)
