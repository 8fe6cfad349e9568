"""The messages of the public module KRaft, and all of them that can be sent within bounds.

A state has sets of messages, with a bit for each that can be a member. The lists here have every message that can be
sent: one that is not listed is an error in the model, not a cut step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import attrs

from highwater.model.language.domain import OneOf
from highwater.model.quorum_reference.bounds import FIRST_EPOCH, QuorumBounds, UncheckedQuorumBounds


class Kind(Enum):
    """The kinds of messages."""

    VOTE = "vote request"
    VOTED = "vote response"
    BEGIN = "begin quorum epoch request"
    BEGUN = "begin quorum epoch response"
    FETCH = "fetch request"
    FETCHED = "fetch response"


class Result(Enum):
    """What a response says."""

    OK = "ok"
    DIVERGING = "diverging"
    FENCED = "fenced leader epoch"
    NOT_LEADER = "not leader"
    UNKNOWN_LEADER = "unknown leader epoch"


@attrs.frozen
class Message:
    """A message. What its kind does not have is 0, False or None.

    Attributes:
        kind, source, dest, epoch: of every message.
        offset, last_epoch: of a vote or fetch request, the end of the log and the epoch of its last entry.
        leader, result: of a response, whom the sender knows as leader, and what it says.
        granted: of a vote response.
        high_watermark: of a fetch response.
        end_offset, end_epoch: of a diverging response, where logs may agree.
        entry: of a fetch response, the epoch and value of an entry.
        request: of a fetch response, what it answers.
    """

    kind: Kind
    source: int
    dest: int
    epoch: int
    offset: int = 0
    last_epoch: int = 0
    leader: int | None = None
    result: Result = Result.OK
    granted: bool = False
    high_watermark: int = 0
    end_offset: int = 0
    end_epoch: int = 0
    entry: tuple[int, int] | None = None
    request: Message | None = None

    def __str__(self) -> str:
        return f"{self.kind.value} s{self.source} to s{self.dest} e{self.epoch}{self.content}"

    @property
    def content(self) -> str:
        """What it says besides its epoch."""
        match self.kind:
            case Kind.VOTE | Kind.FETCH:
                return self._position()
            case Kind.VOTED:
                return f": {'granted' if self.granted else 'refused'}{self._error()}{self._leadership()}"
            case Kind.BEGUN:
                return self._error()
            case Kind.FETCHED:
                asked = f" (for e{self.request.epoch}{self.request._position()})" if self.request else ""
                return f"{asked}: {self._fetched()}, high watermark {self.high_watermark}"
        return ""

    def _position(self) -> str:
        return f" at offset {self.offset}" + (f" after e{self.last_epoch}" if self.offset else "")

    def _fetched(self) -> str:
        if self.result is Result.OK:
            return f"v{self.entry[1]}@e{self.entry[0]}" if self.entry else "no entry"
        if self.result is Result.DIVERGING:
            return f"diverging, up to offset {self.end_offset}" + (f" of e{self.end_epoch}" if self.end_offset else "")
        return f"{self.result.value}{self._leadership()}"

    def _error(self) -> str:
        return "" if self.result is Result.OK else f", {self.result.value}"

    def _leadership(self) -> str:
        return "" if self.leader is None else f", leader s{self.leader}"


def pairs(bounds: QuorumBounds) -> Iterator[tuple[int, int]]:
    return ((one, other) for one in range(bounds.servers) for other in range(bounds.servers) if one != other)


def ends(bounds: QuorumBounds, last: int) -> Iterator[tuple[int, int]]:
    """The log end offsets and last epochs of a server that has seen no later epoch than the last."""
    yield 0, 0
    for offset in range(1, bounds.values + 1):
        for epoch in bounds.elected() if not bounds.goes_forward() else range(FIRST_EPOCH + 1, last + 1):
            yield offset, epoch


def leaders(bounds: QuorumBounds) -> tuple[int | None, ...]:
    return (None, *range(bounds.servers))


def vote_requests(bounds: QuorumBounds) -> Iterator[Message]:
    for source, dest in pairs(bounds):
        for epoch in bounds.elected():
            for offset, last in ends(bounds, epoch - 1):
                yield Message(Kind.VOTE, source, dest, epoch, offset, last)


def vote_responses(bounds: QuorumBounds) -> Iterator[Message]:
    for source, dest in pairs(bounds):
        for epoch in bounds.elected():
            for leader in leaders(bounds):
                if leader is None or not bounds.orderly:
                    yield Message(Kind.VOTED, source, dest, epoch, leader=leader, granted=True)
                for result in (Result.OK, Result.FENCED):
                    yield Message(Kind.VOTED, source, dest, epoch, leader=leader, result=result)


def begin_requests(bounds: QuorumBounds) -> Iterator[Message]:
    return (Message(Kind.BEGIN, source, dest, epoch) for source, dest in pairs(bounds) for epoch in bounds.elected())


def begin_responses(bounds: QuorumBounds) -> Iterator[Message]:
    for source, dest in pairs(bounds):
        for epoch in bounds.elected():
            yield Message(Kind.BEGUN, source, dest, epoch)
            yield Message(Kind.BEGUN, source, dest, epoch, result=Result.FENCED)


def fetch_requests(bounds: QuorumBounds) -> Iterator[Message]:
    for source, dest in pairs(bounds):
        for epoch in bounds.elected():
            for offset, last in ends(bounds, epoch):
                yield Message(Kind.FETCH, source, dest, epoch, offset, last)


def fetch_responses(bounds: QuorumBounds) -> Iterator[Message]:
    for request in fetch_requests(bounds):
        for high_watermark in range(bounds.values + 1):
            answer = functools.partial(
                Message, Kind.FETCHED, request.dest, request.source, high_watermark=high_watermark, request=request
            )
            if high_watermark <= request.offset + 1:
                yield from served(bounds, request, answer)
            yield from diverging(bounds, request, answer)
            yield from rejected(bounds, request, answer)


def served(bounds: QuorumBounds, request: Message, answer: Callable[..., Message]) -> Iterator[Message]:
    """The responses that serve a fetch: with an entry, or with none."""
    yield answer(request.epoch, leader=request.dest)
    first = max(request.last_epoch, FIRST_EPOCH + 1)
    epochs = range(first, request.epoch + 1) if bounds.goes_forward() else bounds.elected()
    for epoch in epochs if request.offset < bounds.values else ():
        for value in range(bounds.values):
            yield answer(request.epoch, leader=request.dest, entry=(epoch, value))


def diverging(bounds: QuorumBounds, request: Message, answer: Callable[..., Message]) -> Iterator[Message]:
    """The responses that say where logs may agree: at an entry that is older than the last one of the follower."""
    for offset, epoch in ends(bounds, request.last_epoch) if request.offset else ():
        if epoch < request.last_epoch or (epoch == request.last_epoch and offset < request.offset):
            yield answer(
                request.epoch, leader=request.dest, result=Result.DIVERGING, end_offset=offset, end_epoch=epoch
            )


def rejected(bounds: QuorumBounds, request: Message, answer: Callable[..., Message]) -> Iterator[Message]:
    """The responses of a server that does not lead in the epoch of the fetch."""
    forward = bounds.goes_forward()
    for epoch in range(request.epoch, bounds.last_epoch() + 1) if forward else bounds.elected():
        if epoch != request.epoch:
            result = Result.FENCED if epoch > request.epoch else Result.UNKNOWN_LEADER
            yield answer(epoch, leader=request.dest, result=result)
        for leader in leaders(bounds):
            if leader != request.dest or not forward:
                yield answer(epoch, leader=leader, result=Result.NOT_LEADER)
    if not forward:
        yield answer(0, result=Result.NOT_LEADER)


LISTED = (vote_requests, vote_responses, begin_requests, begin_responses, fetch_requests, fetch_responses)
REPEATED = (Kind.VOTED, Kind.BEGUN, Kind.FETCH)
"""The kinds of which a message may be sent while a copy of it is on its way."""


@functools.cache
def _listed(bounds: QuorumBounds) -> OneOf:
    return OneOf(tuple(dict.fromkeys(message for messages in LISTED for message in messages(bounds))))


@functools.cache
def _of_kinds(bounds: QuorumBounds, kinds: tuple[Kind, ...]) -> OneOf:
    return OneOf(tuple(message for message in _listed(bounds).members if message.kind in kinds))


def all_messages(bounds: Any) -> OneOf:
    """The domain of a message: all that can be sent within bounds."""
    return _listed(whole(bounds))


def messages_of(*kinds: Kind) -> Callable[[Any], OneOf]:
    """The domain of a message of some kinds, for any bounds."""
    return lambda bounds: _of_kinds(whole(bounds), kinds)


def whole(bounds: Any) -> QuorumBounds:
    """Bounds as plain numbers, so that lists are made once for each."""
    if isinstance(bounds, QuorumBounds):
        return bounds
    sizes = (int(getattr(bounds, field.name)) for field in attrs.fields(QuorumBounds))
    return (QuorumBounds if bounds.orderly else UncheckedQuorumBounds)(*sizes)
