"""Messages between brokers and the controller: fetches, ISR changes, elections."""

from __future__ import annotations

from enum import Enum

import attrs

from highwater.model.language.domain import Integers, Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.records import records, within
from highwater.model.log import NO_EPOCH, brokers, epochs, per_broker
from highwater.model.partition.batches import Record
from highwater.model.partition.bounds import (
    PartitionBounds,
    fetched_broker_epochs,
    log_offsets,
    log_starts,
    partition_epochs,
    recovery,
)


class Stage(Enum):
    """How far a fetch is: a request, or a kind of response."""

    REQUEST = "request"
    RECORD = "record"
    NOTHING_NEW = "nothing new"
    DIVERGING = "diverging"
    TRUNCATE = "truncate"
    OUT_OF_RANGE = "out of range"


class Answer(Enum):
    """The controller's answer to an ISR change."""

    NONE = "none"
    SUCCESS = "success"
    INELIGIBLE = "ineligible"
    STALE = "stale"


def fetched_records(bounds: PartitionBounds) -> SequenceOf:
    """The domain of the records in a fetch response."""
    several = bounds.batch_records > 1 or bounds.fetch_records > 1
    return SequenceOf(records(Record)(bounds), bounds.log_length_max if several else 1)


@attrs.frozen
class Fetch:
    """A follower's fetch in flight: the request, and later the response.

    Attributes:
        stage: how far it is.
        leader, leader_epoch: the broker to which the follower sent it, and the follower's leader epoch then.
        offset: the fetch offset.
        epoch: of a request, the epoch of the record before that offset, or -1; of a diverging response, the leader's
            largest epoch up to it.
        end_offset: of a diverging response, the end offset of that epoch in the leader's log.
        high_watermark, log_start: the leader's.
        records: those in the response.
    """

    stage: Stage = within(OneOf(Stage))
    leader: int = within(brokers)
    leader_epoch: int = within(epochs)
    offset: int = within(log_offsets)
    epoch: int = within(lambda bounds: Integers(NO_EPOCH, bounds.leader_epoch_max, label="e"))
    end_offset: int = within(log_offsets)
    high_watermark: int = within(log_offsets)
    log_start: int = within(log_starts)
    records: tuple[Record, ...] = within(fetched_records)

    def __str__(self) -> str:
        asked = f"b{self.leader}@e{self.leader_epoch} from {self.offset}"
        match self.stage:
            case Stage.REQUEST:
                return f"asks {asked}"
            case Stage.DIVERGING | Stage.TRUNCATE:
                return f"from {asked}: {self.stage.value} at {self.end_offset} of e{self.epoch}"
            case Stage.OUT_OF_RANGE:
                return f"from {asked}: out of range"
        return (
            f"from {asked}: {' '.join(map(str, self.records)) or 'nothing new'}, high watermark {self.high_watermark}"
        )


@attrs.frozen
class IsrChange:
    """A leader's request for another ISR, and the controller's answer.

    Attributes:
        leader_epoch, partition_epoch: those that the leader knew; in an answer, the new partition epoch.
        isr: the ISR asked for.
        broker_epochs: by broker id, the broker epoch of each member as the leader knows it; -1 for a member that has
            not fetched, and for brokers that are no members.
        recovering: whether the leader has to recover from an unclean election, as it sees it.
    """

    answer: Answer = within(OneOf(Answer))
    leader_epoch: int = within(epochs)
    partition_epoch: int = within(partition_epochs)
    isr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    broker_epochs: tuple[int, ...] = within(per_broker(fetched_broker_epochs))
    recovering: bool = within(recovery, default=False)

    def __str__(self) -> str:
        isr = " ".join(f"b{broker}" for broker in sorted(self.isr))
        answer = "" if self.answer is Answer.NONE else f": {self.answer.value}"
        return f"ISR {{{isr}}} in e{self.leader_epoch} v{self.partition_epoch}{answer}"


@attrs.frozen
class Election:
    """What brokers learn of a leader epoch: a LeaderAndIsr request, or records of the metadata log."""

    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    isr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    assignment: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    partition_epoch: int = within(partition_epochs)
    recovering: bool = within(recovery, default=False)

    def __str__(self) -> str:
        leader = "none" if self.leader is None else f"b{self.leader}"
        return (
            f"leader {leader} ISR {{{' '.join(f'b{broker}' for broker in sorted(self.isr))}}} v{self.partition_epoch}"
        )
