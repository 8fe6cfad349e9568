"""Messages in the public specifications, in flight and handled: fetches, and proposals of an ISR."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

import attrs

from highwater.model.kraft_reference.bounds import NOTHING, epochs, given_epochs, offsets, values
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, OneOf, SequenceOf, SetOf
from highwater.model.language.records import records, within

NOT_A_MEMBER = -1


class Fetching(Enum):
    """A fetch message in flight: none, the request, or one of the responses."""

    NONE = "none"
    REQUEST = "request"
    RECORDS = "records"
    DIVERGING = "diverging"
    NOT_LEADER = "not leader or follower"
    UNKNOWN_EPOCH = "unknown leader epoch"
    FENCED_EPOCH = "fenced leader epoch"


ERRORS = (Fetching.NOT_LEADER, Fetching.UNKNOWN_EPOCH, Fetching.FENCED_EPOCH)


class Answer(Enum):
    """The answer to a proposal of an ISR, if there is one; LEARNED once the leader has handled an acceptance."""

    NONE = "none"
    FENCED = "fenced leader epoch"
    INELIGIBLE = "ineligible replica"
    ACCEPTED = "accepted"
    LEARNED = "learned"


@attrs.frozen
class Record:
    """A record of the partition."""

    epoch: int = within(given_epochs)
    value: int = within(values)

    def __str__(self) -> str:
        return f"v{self.value}@e{self.epoch}"


def logs(bounds: Any) -> SequenceOf:
    return SequenceOf(records(Record)(bounds), int(bounds.values))


@attrs.frozen
class Fetch:
    """A fetch message. Fields that its kind does not have are 0.

    Attributes:
        kind: which message it is.
        leader_epoch: the sender's.
        offset: the follower's log end offset.
        epoch: in a request, of the follower's last record; in a response, of the record, or the diverging epoch.
        end_offset: in a diverging response, the end offset of that epoch.
        high_watermark: in a response, the leader's.
        value: the fetched record's.
    """

    kind: Fetching = within(OneOf(Fetching))
    leader_epoch: int = within(epochs)
    offset: int = within(offsets)
    epoch: int = within(epochs)
    end_offset: int = within(offsets)
    high_watermark: int = within(offsets)
    value: int = within(values)


NO_FETCH = Fetch(Fetching.NONE, 0, 0, 0, 0, 0, 0)


@attrs.frozen
class Handled:
    """A fetch message that was handled or lost, with the broker epoch that a request names."""

    message: Fetch
    broker_epoch: int

    def __str__(self) -> str:
        fetch = self.message
        rest = {
            "epoch": fetch.epoch,
            "end offset": fetch.end_offset,
            "value": fetch.value,
            "broker epoch": self.broker_epoch,
        }
        known = "".join(f" {name} {number}" for name, number in rest.items() if number)
        kind = f"{fetch.kind.value} e{fetch.leader_epoch} offset {fetch.offset}"
        return f"{kind} high watermark {fetch.high_watermark}{known}"


def fetch_messages(bounds: Any) -> Iterator[Handled]:
    """Every message that one broker and another may exchange."""
    epochs = range(1, bounds.last_epoch() + 1)
    end = int(bounds.values)
    for epoch in epochs:
        for offset in range(end + 1):
            for last in range(1, epoch + 1) if offset else (0,):
                for broker_epoch in range(1, 2 + bounds.starts()):
                    yield Handled(Fetch(Fetching.REQUEST, epoch, offset, last, 0, 0, 0), broker_epoch)
            for high_watermark in range(end + 1):
                yield Handled(Fetch(Fetching.RECORDS, epoch, offset, 0, 0, high_watermark, 0), 0)
                for written in range(1, epoch + 1) if offset < end else ():
                    for value in range(end):
                        yield Handled(Fetch(Fetching.RECORDS, epoch, offset, written, 0, high_watermark, value), 0)
                for named in range(epoch + 1) if offset else ():
                    for end_offset in range(end + 1):
                        yield Handled(Fetch(Fetching.DIVERGING, epoch, offset, named, end_offset, high_watermark, 0), 0)
    for kind in ERRORS:
        for epoch in (0, *epochs):
            for offset in range(end + 1):
                for high_watermark in range(end + 1):
                    yield Handled(Fetch(kind, epoch, offset, 0, 0, high_watermark, 0), 0)


def handled_messages(bounds: Any) -> ArrayOf:
    """By leader, the messages that were handled, if the state keeps them."""
    messages = SetOf(OneOf(tuple(fetch_messages(bounds))) if bounds.keeps_messages else NOTHING)
    return ArrayOf(messages, int(bounds.broker_count), label="b", by="brokers")


def proposed_members(bounds: Any) -> ArrayOf:
    """By broker, the broker epoch with which it is proposed for the ISR; 0 if it is in the ISR already, -1 if it is not
    proposed.
    """
    return ArrayOf(Integers(NOT_A_MEMBER, 1 + bounds.starts()), int(bounds.broker_count), label="b", by="brokers")


@attrs.frozen
class Proposal:
    """An AlterPartition request of a leader for the partition epoch that it knows, or the controller's response.

    Attributes:
        members: the ISR asked for.
        answer: how far it is.
        accepted_at: the length of the metadata log after it was accepted; 0 if that is always the next epoch.
    """

    members: tuple[int, ...] = within(proposed_members)
    answer: Answer = within(OneOf(Answer))
    accepted_at: int = within(
        lambda bounds: Integers(0, bounds.metadata_records() if bounds.accepts_stale_proposals else 0)
    )

    def __str__(self) -> str:
        members = " ".join(
            f"b{broker}" + (f"@{epoch}" if epoch else "")
            for broker, epoch in enumerate(self.members)
            if epoch != NOT_A_MEMBER
        )
        return f"ISR {{{members}}}" + ("" if self.answer is Answer.NONE else f": {self.answer.value}")

    @property
    def isr(self) -> frozenset[int]:
        return frozenset(broker for broker, epoch in enumerate(self.members) if epoch != NOT_A_MEMBER)


@attrs.frozen
class Rejection:
    """A proposal that was rejected, and with which errors."""

    members: tuple[int, ...] = within(proposed_members)
    fenced: bool = within(BOOLEAN)
    ineligible: bool = within(BOOLEAN)


def rejections(bounds: Any) -> SequenceOf:
    return SequenceOf(records(Rejection)(bounds), bounds.rejected_proposals())


def kept_rejections(bounds: Any) -> SequenceOf:
    return SequenceOf(records(Rejection)(bounds), bounds.rejected_proposals() if bounds.keeps_messages else 0)
