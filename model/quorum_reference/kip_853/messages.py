"""The messages of the public module kraft_kip_853, and all of them that can be sent within bounds.

As in `highwater.model.quorum_reference.messages`, a state has sets of messages, with a bit for each that can be a
member. A message that is not listed here is an error in the model, not a cut step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from highwater.model.language.domain import OneOf
from highwater.model.quorum_reference import messages
from highwater.model.quorum_reference.kip_853.bounds import FIRST_EPOCH, ReconfigurationBounds, whole
from highwater.model.quorum_reference.kip_853.entries import Command, Entry, entries, entries_of, first_entry
from highwater.model.quorum_reference.messages import Kind, Result

BEFORE_ALL = -1
"""The offset of the fetch that a new server sends; the public module has 0 there, and 1 for the first entry."""


@attrs.frozen
class Message(messages.Message):
    """A message. What its kind does not have is 0, False or None.

    Attributes:
        entry: of a fetch response.
        observer: of a fetch request, whether an observer sent it.
    """

    entry: Entry | None = None  # type: ignore[assignment]  # of another log than the public module's
    request: Message | None = None
    observer: bool = False

    def _position(self) -> str:
        if self.offset == BEFORE_ALL:
            return " of a new server"
        return super()._position() + (" as observer" if self.observer else "")

    def _fetched(self) -> str:
        if self.result is not Result.OK:
            return super()._fetched()
        entry = str(self.entry) if self.entry else "no entry"
        return entry + ("" if self.leader == self.source else ", no leader")


def positions(bounds: ReconfigurationBounds, server: int, last: int) -> Iterator[tuple[int, int]]:
    """The log end offsets and last epochs of a server that has seen no later epoch than the last."""
    if not bounds.is_initial(server):
        yield 0, 0
    for epoch in range(FIRST_EPOCH, last + 1):
        for offset in range(min(epoch, 2), bounds.log_length(epoch) + 1):
            yield offset, epoch


def high_watermarks(bounds: ReconfigurationBounds, server: int, most: int, *, leads: bool = True) -> range:
    return range(bounds.least_high_watermark(server, leads=leads), most + 1)


def vote_requests(bounds: ReconfigurationBounds) -> Iterator[Message]:
    for source, dest in voters(bounds):
        for epoch in range(FIRST_EPOCH + 1, bounds.max_epoch + 1):
            for offset, last in positions(bounds, source, epoch - 1):
                yield Message(Kind.VOTE, source, dest, epoch, offset, last)


def voters(bounds: ReconfigurationBounds) -> Iterator[tuple[int, int]]:
    may_vote = bounds.may_vote()
    return ((one, other) for one in may_vote for other in may_vote if one != other)


def vote_responses(bounds: ReconfigurationBounds) -> Iterator[Message]:
    for source, dest in voters(bounds):
        for epoch in range(FIRST_EPOCH + 1, bounds.max_epoch + 1):
            for leader in (None, *bounds.leaders_of(epoch)):
                if leader is None or not bounds.orderly:
                    yield Message(Kind.VOTED, source, dest, epoch, leader=leader, granted=True)
                yield Message(Kind.VOTED, source, dest, epoch, leader=leader)
                if epoch > FIRST_EPOCH + 1:
                    yield Message(Kind.VOTED, source, dest, epoch, leader=leader, result=Result.FENCED)


def begin_requests(bounds: ReconfigurationBounds) -> Iterator[Message]:
    """A leader of the first epoch sends them only to voters that it adds. Unchecked, one that is leaving may add
    itself.
    """
    itself = () if bounds.orderly or not bounds.max_add_reconfigs else ((one, one) for one in bounds.may_vote())
    for source, dest in (*voters(bounds), *itself):
        for epoch in range(FIRST_EPOCH + (not bounds.max_add_reconfigs), bounds.max_epoch + 1):
            if source in bounds.leaders_of(epoch):
                yield Message(Kind.BEGIN, source, dest, epoch)


def fetch_requests(bounds: ReconfigurationBounds) -> Iterator[Message]:
    for source in range(bounds.max_spawned_servers):
        for dest in bounds.may_vote():
            if dest != source:
                yield from fetches_between(bounds, source, dest)


def fetches_between(bounds: ReconfigurationBounds, source: int, dest: int) -> Iterator[Message]:
    """A voter asks whom it follows; an observer may ask any voter."""
    if not bounds.is_initial(source):
        for offset in (BEFORE_ALL, 0):
            yield Message(Kind.FETCH, source, dest, 0, offset, observer=True)
    for epoch in range(FIRST_EPOCH, bounds.max_epoch + 1):
        for offset, last in positions(bounds, source, epoch):
            if bounds.may_observe(source):
                yield Message(Kind.FETCH, source, dest, epoch, offset, last, observer=True)
            if source in bounds.may_vote() and offset and dest in bounds.leaders_of(epoch):
                yield Message(Kind.FETCH, source, dest, epoch, offset, last)


def fetch_responses(bounds: ReconfigurationBounds) -> Iterator[Message]:
    for request in fetch_requests(bounds):
        answer = functools.partial(Message, Kind.FETCHED, request.dest, request.source, request=request)
        if request.dest in bounds.leaders_of(request.epoch):
            yield from served(bounds, request, answer)
            yield from diverging(bounds, request, answer)
        yield from rejected(bounds, request, answer)


def served(bounds: ReconfigurationBounds, request: Message, answer: Callable[..., Message]) -> Iterator[Message]:
    """The responses that serve a fetch. The leader may have left; then it names no leader."""
    may_leave = bounds.max_remove_reconfigs and not request.observer and request.offset > 1
    for entry in next_entries(bounds, request):
        for high_watermark in high_watermarks(bounds, request.dest, request.offset + (entry is not None)):
            leaves = may_leave and high_watermark > 1
            for leader in (request.dest, None) if leaves else (request.dest,):
                yield answer(request.epoch, leader=leader, entry=entry, high_watermark=high_watermark)


def next_entries(bounds: ReconfigurationBounds, request: Message) -> Iterator[Entry | None]:
    """What may follow the end of a follower's log in that of its leader, whose last epoch begins with its own entry."""
    last, offset = request.last_epoch, request.offset
    if not offset:
        yield first_entry(bounds)
        return
    if not bounds.orderly:
        yield None
        yield from entries(bounds).members[1:]
        return
    if last == request.epoch:
        yield None
    if offset < bounds.log_length(last):
        yield from entries_of(bounds, last)
    for epoch in range(last + 1, request.epoch + 1):
        yield Entry(Command.LEADER, epoch)


def diverging(bounds: ReconfigurationBounds, request: Message, answer: Callable[..., Message]) -> Iterator[Message]:
    """The responses that say where logs may agree: before the end of the follower's last epoch, which is an old one."""
    if request.last_epoch == request.epoch and bounds.orderly:
        return
    for offset, epoch in positions(bounds, request.dest, request.last_epoch):
        if offset and (epoch, offset) < (request.last_epoch, request.offset):
            for high_watermark in high_watermarks(bounds, request.dest, bounds.log_length(request.epoch)):
                yield answer(
                    request.epoch,
                    leader=request.dest,
                    result=Result.DIVERGING,
                    end_offset=offset,
                    end_epoch=epoch,
                    high_watermark=high_watermark,
                )


def rejected(bounds: ReconfigurationBounds, request: Message, answer: Callable[..., Message]) -> Iterator[Message]:
    """The responses of a server that does not lead in the epoch of the fetch. One in an illegal state is in epoch 0."""
    for epoch in range(bounds.is_initial(request.dest) and bounds.orderly, bounds.max_epoch + 1):
        if epoch < request.epoch and not (request.observer or bounds.epochs_go_back()):
            continue
        for result, leader in reasons(bounds, request, epoch):
            leads = result is not Result.NOT_LEADER
            most = bounds.log_length(epoch if epoch or bounds.orderly else bounds.max_epoch)
            for high_watermark in high_watermarks(bounds, request.dest, most, leads=leads):
                yield answer(epoch, leader=leader, result=result, high_watermark=high_watermark)


def reasons(bounds: ReconfigurationBounds, request: Message, epoch: int) -> Iterator[tuple[Result, int | None]]:
    """Why a server in an epoch rejects a fetch, and whom it names as leader."""
    yield Result.NOT_LEADER, None
    has_led = epoch == request.epoch and not request.observer
    if not has_led or not bounds.orderly:
        for leader in bounds.leaders_of(epoch):
            if leader != request.dest:
                yield Result.NOT_LEADER, leader
    if request.dest in bounds.leaders_of(epoch) and epoch != request.epoch:
        yield Result.FENCED if epoch > request.epoch else Result.UNKNOWN_LEADER, request.dest


LISTED = (vote_requests, vote_responses, begin_requests, fetch_requests, fetch_responses)


@functools.cache
def _listed(bounds: ReconfigurationBounds) -> OneOf:
    return OneOf(tuple(dict.fromkeys(message for messages in LISTED for message in messages(bounds))))


@functools.cache
def _of_kind(bounds: ReconfigurationBounds, kind: Kind) -> OneOf:
    return OneOf(tuple(message for message in _listed(bounds).members if message.kind is kind))


@functools.cache
def _between(bounds: ReconfigurationBounds) -> dict[tuple[int, int], frozenset[Message]]:
    found: dict[tuple[int, int], list[Message]] = {pair: [] for pair in bounds.pairs()}
    for message in _listed(bounds).members:
        if message.source != message.dest:
            found[min(message.source, message.dest), max(message.source, message.dest)].append(message)
    return {pair: frozenset(messages) for pair, messages in found.items()}


def between(bounds: Any, pair: tuple[int, int]) -> frozenset[Message]:
    """All messages between two servers."""
    return _between(whole(bounds))[pair]


def all_messages(bounds: Any) -> OneOf:
    """The domain of a message: all that can be sent within bounds."""
    return _listed(whole(bounds))


def messages_of(kind: Kind) -> Callable[[Any], OneOf]:
    """The domain of a message of a kind, for any bounds."""
    return lambda bounds: _of_kind(whole(bounds), kind)
