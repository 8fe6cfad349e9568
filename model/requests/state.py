"""The state of a broker's partitions, and of one produce and one fetch request to it.

A partition is a log: records that are committed, and on its leader those that are not yet. Other brokers are left out:
that they have fetched is that a record is committed, and what they write while they lead has the id -1. There is no
time: a timeout may end at any moment. A consumer or a follower fetches. A producer sends one record to each partition;
those of one request have the same id.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from highwater.model.budgets import budget, spent, times
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.records import bound, evolve, records, replaced, within

ELSEWHERE = -1
"""The id of a record that another broker has written."""


@attrs.frozen
class RequestsBounds:
    """How many partitions the broker has, and how often what happens."""

    partitions: int = bound(1, 3, "partitions, all of which the broker leads at the start")
    log_length_max: int = bound(1, 3, "records that a log can hold")
    records_max: int = bound(0, 7, "produce requests whose records have ids of their own", 0)
    produces: int = budget("produce requests")
    fetches: int = budget("fetch requests")
    min_records_max: int = bound(0, 3, "the most records that a fetch waits for (fetch.min.bytes)", 1)
    watch_steps: int = bound(
        1, 2, "1: a request that waits is known to its partitions at once; 2: things happen before", 1
    )
    isr_changes: int = budget("times that an ISR falls below min.insync.replicas, or is large enough again")
    leadership_losses: int = budget("times that another broker becomes leader of a partition")
    stops: int = budget("replicas that are stopped, as of a topic that is deleted")
    slow_checks: int = budget("times that a thread checks a waiting request while others do")


class Role(Enum):
    """What the broker is of a partition."""

    LEADER = "leader"
    FOLLOWER = "follower"
    NOTHING = "nothing"


class Kind(Enum):
    """A request: the name of its field."""

    PRODUCE = "produce"
    FETCH = "fetch"


class Acks(Enum):
    """What a producer waits for."""

    LEADER = "1"
    ALL = "all"
    INVALID = "invalid"


class Phase(Enum):
    """How far a request is. One that waits is first unknown to the partitions that it waits for."""

    NONE = "none"
    UNWATCHED = "unwatched"
    WATCHED = "watched"
    ANSWERED = "answered"


class Lock(Enum):
    """Whether a thread checks a waiting request, and whether another one has found it locked since."""

    FREE = "free"
    HELD = "held"
    MISSED = "missed"


class Answer(Enum):
    """What a response has of one partition, by Kafka's names, or that the request waits for it."""

    WAITS = "waits"
    SUCCESS = "no error"
    NOT_LEADER = "NOT_LEADER_OR_FOLLOWER"
    UNKNOWN = "UNKNOWN_TOPIC_OR_PARTITION"
    INVALID_ACKS = "INVALID_REQUIRED_ACKS"
    NOT_ENOUGH = "NOT_ENOUGH_REPLICAS"
    NOT_ENOUGH_AFTER_APPEND = "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
    TIMED_OUT = "REQUEST_TIMED_OUT"
    OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE"


WRITES_NOTHING = (Answer.NOT_LEADER, Answer.UNKNOWN, Answer.INVALID_ACKS, Answer.NOT_ENOUGH)
"""The errors of a partition to which nothing is appended."""


def partition_ids(bounds: Any) -> Integers:
    """The domain of a partition."""
    return Integers(0, bounds.partitions - 1, label="p", names="partitions")


def partition_sets(bounds: Any) -> SetOf:
    """The domain of a set of partitions."""
    return SetOf(partition_ids(bounds))


def offsets(bounds: RequestsBounds) -> Integers:
    """The domain of an offset."""
    return Integers(0, bounds.log_length_max)


def record_ids(bounds: RequestsBounds) -> Integers:
    """The domain of a record's id."""
    return Integers(ELSEWHERE, bounds.records_max - 1)


def log(bounds: RequestsBounds) -> SequenceOf:
    """The domain of a part of a log."""
    return SequenceOf(record_ids(bounds), bounds.log_length_max)


@attrs.frozen
class Hosted:
    """One partition.

    Attributes:
        role: what the broker is of it.
        committed: the ids of the records below the high watermark.
        tail: those above, on the leader.
        enough: whether the ISR is not below min.insync.replicas.
    """

    role: Role = within(OneOf(Role))
    committed: tuple[int, ...] = within(log)
    tail: tuple[int, ...] = within(log)
    enough: bool = within(BOOLEAN)

    @property
    def end(self) -> int:
        """The log end offset."""
        return len(self.committed) + len(self.tail)


@attrs.frozen
class Part:
    """What a request asks of one partition.

    Attributes:
        answer: what the response has, or will have; None if the request does not ask for the partition.
        offset: of a producer, the high watermark that it waits for; of a fetch, where it begins to read.
        record: the record that a producer sends.
        count: how many records the response to a fetch has.
    """

    answer: Answer | None = within(Maybe(OneOf(Answer)))
    offset: int = within(offsets)
    record: int = within(record_ids)
    count: int = within(offsets)


NOT_ASKED = Part(None, 0, ELSEWHERE, 0)


@attrs.frozen
class Request:
    """A request, and its response.

    Attributes:
        phase, lock: how far it is, and whether a thread checks it.
        acks: of a producer.
        needs: how many records a fetch waits for.
        to_log_end: whether a fetch is a follower's, which reads up to the log end.
        timed_out: whether it was answered because its time was over.
    """

    phase: Phase = within(OneOf(Phase))
    lock: Lock = within(OneOf(Lock))
    acks: Acks = within(OneOf(Acks))
    needs: int = within(lambda bounds: Integers(0, bounds.min_records_max))
    to_log_end: bool = within(BOOLEAN)
    timed_out: bool = within(BOOLEAN)
    parts: tuple[Part, ...] = within(
        lambda bounds: ArrayOf(records(Part)(bounds), bounds.partitions, label="p", by="partitions")
    )

    @property
    def waits(self) -> bool:
        return self.phase in (Phase.UNWATCHED, Phase.WATCHED)


@attrs.frozen
class Used:
    """How much of each budget is used up."""

    produces: int = times("produces")
    fetches: int = times("fetches")
    isr_changes: int = times("isr_changes")
    leadership_losses: int = times("leadership_losses")
    stops: int = times("stops")
    slow_checks: int = times("slow_checks")


@attrs.frozen
class Broker:
    """The whole state."""

    partitions: tuple[Hosted, ...] = within(
        lambda bounds: ArrayOf(records(Hosted)(bounds), bounds.partitions, label="p", by="partitions")
    )
    produce: Request = within(Request)
    fetch: Request = within(Request)
    next_record_id: int = within(lambda bounds: Integers(0, bounds.records_max))
    used: Used = within(Used)

    def of(self, kind: Kind) -> Request:
        """The request of a kind."""
        return self.produce if kind is Kind.PRODUCE else self.fetch

    def with_request(self, kind: Kind, request: Request) -> Broker:
        return evolve(self, **{kind.value: request})

    def with_partition(self, partition: int, hosted: Hosted) -> Broker:
        return evolve(self, partitions=replaced(self.partitions, partition, hosted))

    def spent(self, key: str) -> Broker:
        """The state after one more use of a budget."""
        return evolve(self, used=spent(self.used, key))
