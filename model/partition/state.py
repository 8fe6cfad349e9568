"""The state of the partition model: replicas, what is on its way between them, the controller's record, and what clients were told.

One partition, a replica on every broker. Offsets count from 0; log end offset and high watermark are exclusive. Epochs count from 0, and
-1 is "none". The run begins established: broker 0 leads in epoch 0, all know it, logs are empty.

Abstractions: a fetch carries one record at most; a follower has one fetch on its way, a leader one ISR change (a bound allows two);
the controller acts at once and never fails; time is left out, so that whatever a timeout may do may happen at any moment.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from model.domain import BOOLEAN, ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf, bound, evolve, records, replaced, within
from model.log import NO_EPOCH, Record, brokers, epochs

NOTHING_DELETED = Record(0, 0)  # what stands for a record that retention deleted


@attrs.frozen
class PartitionBounds:
    """How large the cluster and its history may become, and how often what disturbs it may happen. Healing is never bounded."""

    brokers: int = bound(1, 5, "brokers, all of which host a replica")
    log_length_max: int = bound(1, 7, "records that a log can hold")
    records_max: int = bound(1, 15, "records that can ever be written")
    leader_epoch_max: int = bound(0, 7, "the last leader epoch; epochs are 0..max")
    partition_epoch_max: int = bound(1, 15, "the last partition epoch (version of leader and ISR in ZooKeeper)", 7)
    min_insync_replicas: int = bound(1, 5, "min.insync.replicas", 1)
    initial_isr: int = bound(0, 5, "brokers in the ISR at the start: b0 and the next ones; 0 is all", 0)
    fetch_steps: int = bound(1, 3, "1: a fetch is one step; 2: its response travels and can be lost; 3: its request, too", 2)
    isr_changes_in_flight: int = bound(1, 2, "ISR changes of one leader that can be on their way", 1)
    leader_moves: int = bound(0, 7, "budget: leadership moved without a failure, as by a preferred election", 0)
    spurious_fences: int = bound(0, 7, "budget: a running broker fenced, as by a lost session", 0)
    controlled_shutdowns: int = bound(0, 7, "budget: controlled shutdowns", 0)
    process_crashes: int = bound(0, 7, "budget: crashes that leave the log as it is", 0)
    lossy_crashes: int = bound(0, 7, "budget: crashes that lose what was not flushed", 0)
    isr_shrinks: int = bound(0, 7, "budget: followers that a leader finds lagging", 0)
    reassignments: int = bound(0, 7, "budget: replicas taken from the assignment and added again", 0)
    retentions: int = bound(0, 7, "budget: records deleted from the start of a leader's log", 0)
    alter_failures: int = bound(0, 7, "budget: ISR changes whose outcome the leader does not learn", 0)
    checkpoints: int = bound(0, 7, "budget: high watermark checkpoints written", 0)
    consumer_reads: int = bound(0, 1, "1: consumers read, and what they read is remembered", 0)
    offset_queries: int = bound(0, 1, "1: clients ask for the end offset, and the newest answer is remembered", 0)
    caught_up_times: int = bound(0, 1, "1: a replica outside the ISR counts as caught up for a while; 0: never", 0)


def log_offsets(bounds: PartitionBounds) -> Integers:
    """The domain of a log end offset or a high watermark."""
    return Integers(0, bounds.log_length_max)


def log_starts(bounds: PartitionBounds) -> Integers:
    """The domain of a log start offset."""
    return Integers(0, bounds.log_length_max if bounds.retentions else 0)


def partition_epochs(bounds: PartitionBounds) -> Integers:
    """The domain of a partition epoch."""
    return Integers(0, bounds.partition_epoch_max, label="v")


def broker_epochs(bounds: PartitionBounds) -> Integers:
    """The domain of a broker epoch: how often the broker was started again."""
    return Integers(0, bounds.process_crashes + bounds.lossy_crashes + bounds.controlled_shutdowns)


def record_ids(bounds: PartitionBounds) -> SetOf:
    """The domain of a set of records."""
    return SetOf(Integers(0, bounds.records_max - 1, label="r"))


def times(key: str) -> Any:
    """An attrs field that counts how often something has happened, up to its budget."""
    return within(lambda bounds: Integers(0, getattr(bounds, key)))


class Process(Enum):
    """Whether a broker runs. A halted one has ended itself because of the partition."""

    UP = "up"
    DOWN = "down"
    HALTED = "halted"


class Stage(Enum):
    """How far a fetch is: asked for, or answered, with what."""

    REQUEST = "request"
    RECORD = "record"
    NOTHING_NEW = "nothing new"
    DIVERGING = "diverging"
    TRUNCATE = "truncate"
    OUT_OF_RANGE = "out of range"


class Answer(Enum):
    """What the controller said to an ISR change."""

    NONE = "none"
    SUCCESS = "success"
    INELIGIBLE = "ineligible"
    STALE = "stale"


class Standing(Enum):
    """How the controller sees a broker."""

    ACTIVE = "active"
    SHUTTING_DOWN = "shutting down"
    FENCED = "fenced"


@attrs.frozen
class Fetch:
    """A fetch of a follower on its way, with the response once there is one.

    Attributes:
        stage: how far it is.
        leader, leader_epoch: whom the follower asked, and in which leader epoch it was then.
        offset: from where it asked for records.
        epoch: of a request, the epoch of the record before that offset, or -1; of a diverging answer, the leader's largest epoch up to it.
        end_offset: of a diverging answer, where that epoch ends in the leader's log.
        high_watermark, log_start: the leader's.
        record: what was fetched, if anything.
    """

    stage: Stage = within(OneOf(Stage))
    leader: int = within(brokers)
    leader_epoch: int = within(epochs)
    offset: int = within(log_offsets)
    epoch: int = within(lambda bounds: Integers(NO_EPOCH, bounds.leader_epoch_max, label="e"))
    end_offset: int = within(log_offsets)
    high_watermark: int = within(log_offsets)
    log_start: int = within(log_starts)
    record: Record | None = within(lambda bounds: Maybe(records(Record)(bounds)))

    def __str__(self) -> str:
        asked = f"b{self.leader}@e{self.leader_epoch} from {self.offset}"
        match self.stage:
            case Stage.REQUEST:
                return f"asks {asked}"
            case Stage.DIVERGING | Stage.TRUNCATE:
                return f"from {asked}: {self.stage.value} at {self.end_offset} of e{self.epoch}"
            case Stage.OUT_OF_RANGE:
                return f"from {asked}: out of range"
        return f"from {asked}: {self.record or 'nothing new'}, high watermark {self.high_watermark}"


@attrs.frozen
class Follower:
    """What a leader knows of one follower, from its fetches.

    Attributes:
        log_end_offset: where the last fetch read from; None if unknown.
        for_high_watermark, for_isr: whether it counts there; a fetch in another leader epoch may not.
        since_change: whether it came after the last change of leadership.
        caught_up: whether it has reached the leader's log end lately.
        broker_epoch: of the incarnation that fetched.
    """

    log_end_offset: int | None = within(lambda bounds: Maybe(log_offsets(bounds)))
    for_high_watermark: bool = within(BOOLEAN)
    for_isr: bool = within(BOOLEAN)
    since_change: bool = within(BOOLEAN)
    caught_up: bool = within(lambda bounds: OneOf((False, True) if bounds.caught_up_times else (False,)))
    broker_epoch: int = within(broker_epochs)


UNKNOWN_FOLLOWER = Follower(None, False, False, False, False, 0)


@attrs.frozen
class Leadership:
    """What a leader adds to a replica.

    Attributes:
        isr: the ISR that it knows to be committed.
        pending: the ISR that it has proposed, until it learns what became of it.
        partition_epoch: the version of the ISR.
        start_offset: where its leader epoch began.
        candidate: a follower that it is about to propose, where that takes two looks.
    """

    isr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    pending: frozenset[int] | None = within(lambda bounds: Maybe(SetOf(brokers(bounds))))
    partition_epoch: int = within(partition_epochs)
    start_offset: int = within(log_offsets)
    candidate: int | None = within(lambda bounds: Maybe(brokers(bounds)))


@attrs.frozen
class IsrChange:
    """A leader's request for another ISR, and the controller's answer.

    Attributes:
        leader_epoch, partition_epoch: what the leader knew; of an answer, the new partition epoch.
        isr: the ISR asked for.
        broker_epochs: of each member, the incarnation that the leader means.
    """

    answer: Answer = within(OneOf(Answer))
    leader_epoch: int = within(epochs)
    partition_epoch: int = within(partition_epochs)
    isr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    broker_epochs: tuple[int, ...] = within(lambda bounds: ArrayOf(broker_epochs(bounds), bounds.brokers, label="b", by="brokers"))

    def __str__(self) -> str:
        isr = " ".join(f"b{broker}" for broker in sorted(self.isr))
        answer = "" if self.answer is Answer.NONE else f": {self.answer.value}"
        return f"ISR {{{isr}}} in e{self.leader_epoch} v{self.partition_epoch}{answer}"


@attrs.frozen
class Replica:
    """One broker and its replica.

    Attributes:
        process: whether the broker runs.
        clean: of a broker that is down, whether it was shut down in order.
        leader, leader_epoch: what it was told last; it presumes leadership if it is the leader itself.
        log: its records by offset; those below `log_start` are gone.
        epoch_starts: its leader epoch cache: where each epoch begins, by epoch.
        high_watermark: the first offset that it does not know to be committed.
        checkpoint: the high watermark on its disk.
        truncating: whether it has to ask where to cut its log before it may fetch.
        fetch: its fetch on the way.
        leadership, followers: what it knows as a leader.
        changes: its ISR changes on the way.
    """

    process: Process = within(OneOf(Process))
    clean: bool = within(BOOLEAN)
    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    leader_epoch: int = within(lambda bounds: Integers(NO_EPOCH, bounds.leader_epoch_max, label="e"))
    leadership: Leadership | None = within(lambda bounds: Maybe(records(Leadership)(bounds)))
    fetch: Fetch | None = within(lambda bounds: Maybe(records(Fetch)(bounds)))
    truncating: bool = within(BOOLEAN)
    high_watermark: int = within(log_offsets)
    checkpoint: int = within(lambda bounds: Integers(0, bounds.log_length_max if bounds.checkpoints or bounds.controlled_shutdowns else 0))
    log_start: int = within(log_starts)
    log: tuple[Record, ...] = within(lambda bounds: SequenceOf(records(Record)(bounds), bounds.log_length_max))
    epoch_starts: tuple[int | None, ...] = within(
        lambda bounds: ArrayOf(Maybe(log_offsets(bounds)), bounds.leader_epoch_max + 1, label="e")
    )
    followers: tuple[Follower, ...] = within(lambda bounds: ArrayOf(records(Follower)(bounds), bounds.brokers, label="b", by="brokers"))
    changes: tuple[IsrChange, ...] = within(lambda bounds: SequenceOf(records(IsrChange)(bounds), bounds.isr_changes_in_flight))

    @property
    def log_end_offset(self) -> int:
        return len(self.log)

    @property
    def is_up(self) -> bool:
        return self.process is Process.UP

    def has_offset(self, offset: int) -> bool:
        """Whether the log has a record at the offset."""
        return self.log_start <= offset < len(self.log)


@attrs.frozen
class Registration:
    """How the controller sees one broker, and the epoch of the incarnation that it knows."""

    standing: Standing = within(OneOf(Standing))
    broker_epoch: int = within(broker_epochs)


@attrs.frozen
class Quorum:
    """The controller's record of the partition, in ZooKeeper or in the metadata log.

    Attributes:
        leader: the leader; its epoch is the number of elections so far, less one.
        isr, elr, last_known_elr: who may lead; who left a too small ISR and still may; who was last struck from both.
        assignment: the brokers that host the partition.
        partition_epoch: how often any of that has changed.
        registrations: by broker id.
    """

    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    isr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    elr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    last_known_elr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    assignment: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    partition_epoch: int = within(partition_epochs)
    registrations: tuple[Registration, ...] = within(
        lambda bounds: ArrayOf(records(Registration)(bounds), bounds.brokers, label="b", by="brokers")
    )


@attrs.frozen
class Election:
    """What brokers are told of a leader epoch: a LeaderAndIsr request, or the records of the metadata log."""

    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    isr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    assignment: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    partition_epoch: int = within(partition_epochs)

    def __str__(self) -> str:
        leader = "none" if self.leader is None else f"b{self.leader}"
        return f"leader {leader} ISR {{{' '.join(f'b{broker}' for broker in sorted(self.isr))}}} v{self.partition_epoch}"


@attrs.frozen
class Used:
    """How much of each budget is used up."""

    leader_moves: int = times("leader_moves")
    spurious_fences: int = times("spurious_fences")
    controlled_shutdowns: int = times("controlled_shutdowns")
    process_crashes: int = times("process_crashes")
    lossy_crashes: int = times("lossy_crashes")
    isr_shrinks: int = times("isr_shrinks")
    reassignments: int = times("reassignments")
    retentions: int = times("retentions")
    alter_failures: int = times("alter_failures")
    checkpoints: int = times("checkpoints")


@attrs.frozen
class Clients:
    """What clients saw: nothing that brokers know of, only what properties speak of.

    Attributes:
        exposed: by offset, the record that a leader first had there below its high watermark.
        acked: the records that a producer was told are written, under the acks that it asked for.
        rejected: those appended and then refused, for too small an ISR.
        commit_epoch: the largest epoch of a leader that has exposed anything, or -1.
        consumed: by offset, the record that a consumer read there last.
        end_offset, end_offset_epoch: the newest answer to "where does the partition end", and the epoch of who gave it.
    """

    exposed: tuple[Record, ...] = within(lambda bounds: SequenceOf(records(Record)(bounds), bounds.log_length_max))
    acked: frozenset[int] = within(record_ids)
    rejected: frozenset[int] = within(record_ids)
    commit_epoch: int = within(lambda bounds: Integers(NO_EPOCH, bounds.leader_epoch_max, label="e"))
    consumed: tuple[int | None, ...] = within(
        lambda bounds: ArrayOf(Maybe(Integers(0, bounds.records_max - 1, label="r")), bounds.log_length_max if bounds.consumer_reads else 0)
    )
    end_offset: int = within(lambda bounds: Integers(0, bounds.log_length_max if bounds.offset_queries else 0))
    end_offset_epoch: int = within(lambda bounds: Integers(NO_EPOCH, bounds.leader_epoch_max if bounds.offset_queries else NO_EPOCH))


@attrs.frozen
class Partition:
    """The whole state.

    Attributes:
        quorum: the controller's record.
        elections: what was published of each leader epoch, by epoch; brokers may learn of it late, and not of all.
        replicas: by broker id.
        next_record_id: how many records were written.
        clients, used: what was seen, and what budgets are left.
    """

    replicas: tuple[Replica, ...] = within(lambda bounds: ArrayOf(records(Replica)(bounds), bounds.brokers, label="b", by="brokers"))
    quorum: Quorum = within(Quorum)
    elections: tuple[Election, ...] = within(lambda bounds: SequenceOf(records(Election)(bounds), bounds.leader_epoch_max + 1))
    next_record_id: int = within(lambda bounds: Integers(0, bounds.records_max))
    clients: Clients = within(Clients)
    used: Used = within(Used)

    @property
    def leader_epoch(self) -> int:
        """The true leader epoch."""
        return len(self.elections) - 1

    def with_replica(self, broker: int, replica: Replica) -> Partition:
        return evolve(self, replicas=replaced(self.replicas, broker, replica))

    def leads(self, broker: int) -> bool:
        """Whether a running broker presumes leadership, and so accepts writes and serves fetches."""
        replica = self.replicas[broker]
        return replica.leader == broker and replica.is_up

    def spent(self, budget: str) -> Used:
        """The budgets with one more use of one of them."""
        return evolve(self.used, **{budget: getattr(self.used, budget) + 1})


def all_brokers(bounds: PartitionBounds) -> dict[str, range]:
    """The interchangeable names; the search finds out itself that broker 0, who leads at the start, is not."""
    return {"brokers": range(bounds.brokers)}
