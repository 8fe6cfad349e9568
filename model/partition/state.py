"""The state of the partition model: replicas, messages between them, the controller's record, and what clients learned.

One partition has a replica on every broker. Offsets count from 0; log end offset and high watermark are exclusive.
Epochs count from 0, and -1 is "none". A run begins with broker 0 as the leader of epoch 0, followed by all others.

Abstractions: a follower has one fetch in flight, a leader one ISR change (a
bound allows two); the controller acts at once and never fails; there is no time: a timeout may end at any moment.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, cast

import attrs

from highwater.model.budgets import spent, times
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.records import evolve, records, replaced, within
from highwater.model.log import NO_EPOCH, brokers, per_broker
from highwater.model.partition.batches import Place, Record
from highwater.model.partition.bounds import (
    PartitionBounds,
    answered_log_starts,
    broker_epochs,
    fetched_broker_epochs,
    log_offsets,
    log_starts,
    partition_epochs,
    partition_epochs_or_none,
    record_ids,
    recovery,
    removed_replicas,
)
from highwater.model.partition.messages import Election, Fetch, IsrChange


class Process(Enum):
    """Whether a broker runs. A halted one has stopped itself because of the partition."""

    UP = "up"
    DOWN = "down"
    HALTED = "halted"


class Standing(Enum):
    """How the controller sees a broker."""

    ACTIVE = "active"
    SHUTTING_DOWN = "shutting down"
    FENCED = "fenced"


@attrs.frozen
class Follower:
    """What a leader knows of one follower, from its fetches.

    Attributes:
        log_end_offset: the offset of its last fetch; None if there was none.
        for_high_watermark, for_isr: whether the last fetch counts for these; one in another leader epoch may not.
        since_change: whether the last fetch came after the last change of leadership.
        caught_up: whether the follower has caught up within replica.lag.time.max.ms.
        leader_end: the leader's log end offset at the last fetch. If the next fetch reaches it, the follower had caught
            up at that time.
        broker_epoch: of the incarnation that fetched last; -1 if none has.
        log_start: its log start offset at its last fetch, if clients hear of it.
    """

    log_end_offset: int | None = within(lambda bounds: Maybe(log_offsets(bounds)))
    for_high_watermark: bool = within(BOOLEAN)
    for_isr: bool = within(BOOLEAN)
    since_change: bool = within(BOOLEAN)
    caught_up: bool = within(lambda bounds: OneOf((False, True) if bounds.caught_up_times else (False,)))
    leader_end: int | None = within(
        lambda bounds: Maybe(log_offsets(bounds)) if bounds.caught_up_times else OneOf((None,))
    )
    broker_epoch: int = within(fetched_broker_epochs)
    log_start: int = within(answered_log_starts, default=0)


UNKNOWN_FOLLOWER = Follower(None, False, False, False, False, None, NO_EPOCH)


@attrs.frozen
class Leadership:
    """What only a leader has.

    Attributes:
        isr: the committed ISR as it knows it.
        assignment: the brokers that host the partition, as far as it knows.
        pending: the ISR that it has proposed, until it learns the outcome.
        partition_epoch: the version of the committed ISR.
        ahead_of_metadata: whether it knows that version from the controller's answer and has not read it in the
            metadata log yet; noted only if the protocol makes a difference.
        start_offset: the start offset of its leader epoch.
        waiting_from: its log end offset when it began to lead, over all epochs that it has led without a break:
            producers of later records wait at this leader.
        candidate: a follower that it is about to propose, if the protocol takes two steps for that.
        recovering: whether it has to recover from an unclean election before others may join its ISR.
    """

    isr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    assignment: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    pending: frozenset[int] | None = within(lambda bounds: Maybe(SetOf(brokers(bounds))))
    partition_epoch: int = within(partition_epochs)
    ahead_of_metadata: bool = within(BOOLEAN)
    start_offset: int = within(log_offsets)
    waiting_from: int = within(log_offsets)
    candidate: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    recovering: bool = within(recovery, default=False)


@attrs.frozen
class Replica:
    """One broker and its replica.

    Attributes:
        process: whether the broker runs.
        clean: of a broker that is down, whether its shutdown was clean.
        leader, leader_epoch: the last that it has learned; it presumes leadership if it is that leader.
        log: its records by offset; those below `log_start` are deleted.
        epoch_starts: its leader epoch cache: the start offset of each epoch, by epoch.
        high_watermark: all offsets below are committed as far as it knows.
        checkpoint: the high watermark in its checkpoint file.
        truncating: whether it has to ask its leader where to truncate before it may fetch.
        fetch: its fetch in flight.
        leadership, followers: what it knows as a leader.
        changes: its ISR changes in flight.
    """

    process: Process = within(OneOf(Process))
    clean: bool = within(BOOLEAN)
    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    leader_epoch: int = within(lambda bounds: Integers(NO_EPOCH, bounds.leader_epoch_max, label="e"))
    leadership: Leadership | None = within(lambda bounds: Maybe(records(Leadership)(bounds)))
    fetch: Fetch | None = within(lambda bounds: Maybe(records(Fetch)(bounds)))
    truncating: bool = within(BOOLEAN)
    high_watermark: int = within(log_offsets)
    checkpoint: int = within(
        lambda bounds: Integers(0, bounds.log_length_max if bounds.checkpoints or bounds.controlled_shutdowns else 0)
    )
    log_start: int = within(log_starts)
    log: tuple[Record, ...] = within(lambda bounds: SequenceOf(records(Record)(bounds), bounds.log_length_max))
    epoch_starts: tuple[int | None, ...] = within(
        lambda bounds: ArrayOf(Maybe(log_offsets(bounds)), bounds.leader_epoch_max + 1, label="e")
    )
    followers: tuple[Follower, ...] = within(per_broker(records(Follower)))
    changes: tuple[IsrChange, ...] = within(
        lambda bounds: SequenceOf(records(IsrChange)(bounds), bounds.isr_changes_in_flight)
    )

    @property
    def log_end_offset(self) -> int:
        return len(self.log)

    @property
    def is_up(self) -> bool:
        return self.process is Process.UP

    def has_offset(self, offset: int) -> bool:
        """Whether the log has a record at the offset."""
        return self.log_start <= offset < len(self.log) and self.log[offset].place is not Place.GAP


if TYPE_CHECKING:

    class Leader(Replica):
        """A replica whose broker leads, or presumes so: it has a leadership."""

        leadership: Leadership

else:
    Leader = Replica


@attrs.frozen
class Registration:
    """How the controller sees one broker.

    Attributes:
        standing: whether it is active, shutting down or fenced.
        broker_epoch: of the last incarnation that has registered.
        since: the partition epoch in which it got this standing; -1 at the start. A broker that knows a newer one knows
            this standing, too.
    """

    standing: Standing = within(OneOf(Standing))
    broker_epoch: int = within(broker_epochs)
    since: int = within(partition_epochs_or_none)


@attrs.frozen
class Quorum:
    """The controller's record of the partition, in ZooKeeper or in the metadata log.

    Attributes:
        leader: the leader; its epoch is the number of elections so far, less one.
        isr, elr: the ISR, and the eligible leader replicas.
        last_known_leader: of a partition without a leader, the last one, if the protocol remembers it.
        assignment: the brokers that host the partition.
        partition_epoch: how often any of these has changed.
        registrations: by broker id.
        removing: the replica that a reassignment in progress takes away.
        recovering: whether the leader was elected uncleanly and has not yet asked for another ISR.
    """

    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    isr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    elr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    last_known_leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    assignment: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
    partition_epoch: int = within(partition_epochs)
    registrations: tuple[Registration, ...] = within(per_broker(records(Registration)))
    removing: frozenset[int] = within(removed_replicas, default=frozenset())
    recovering: bool = within(recovery, default=False)


@attrs.frozen
class Used:
    """How much of each budget is used up. The last six fields are always 0: see `disturbing`.

    A claim may go by the order of `isr_shrinks`: nothing but itself is compared with it, so that there is one class,
    and any number of shrinks.
    """

    leader_moves: int = times("leader_moves")
    spurious_fences: int = times("spurious_fences")
    controlled_shutdowns: int = times("controlled_shutdowns")
    process_crashes: int = times("process_crashes")
    lossy_crashes: int = times("lossy_crashes")
    isr_shrinks: int = times("isr_shrinks", order="isr_shrinks")
    joint_shrinks: int = times("joint_shrinks")
    reassignments: int = times("reassignments")
    removals: int = times("removals")
    retentions: int = times("retentions")
    alter_failures: int = times("alter_failures")
    refused_produces: int = times("refused_produces")
    produce_timeouts: int = times("produce_timeouts")
    checkpoints: int = times("checkpoints")
    directory_moves: int = times("directory_moves")
    down_at_once: int = times("down_at_once")
    stops_per_broker: int = times("stops_per_broker")
    stopping_brokers: int = times("stopping_brokers")
    shutdowns_wait_for_isr: int = times("shutdowns_wait_for_isr")
    failures_during_shutdown: int = times("failures_during_shutdown")
    failures_without_leader: int = times("failures_without_leader")


@attrs.frozen
class Clients:
    """What clients have seen. Properties read it; brokers do not.

    Attributes:
        exposed: by offset, the record that was first below some leader's high watermark.
        acked: the acknowledged records, under the acks of the protocol.
        rejected: the records that were appended and then refused, because the ISR was too small or the request timed
            out.
        commit_epoch: the largest epoch of a leader that has exposed anything, or -1.
        consumed: by offset, the record that a consumer read last.
        end_offset, end_offset_epoch: the newest answer to a request for the end offset, and the answering leader's
            epoch.
        producer_epoch: the newest leader epoch of which the producer has heard; -1 if that is left out.
        deleted: the offset below which all records are deleted on all replicas, as clients have heard.
    """

    exposed: tuple[Record, ...] = within(lambda bounds: SequenceOf(records(Record)(bounds), bounds.log_length_max))
    acked: frozenset[int] = within(record_ids)
    rejected: frozenset[int] = within(record_ids)
    commit_epoch: int = within(lambda bounds: Integers(NO_EPOCH, bounds.leader_epoch_max, label="e"))
    consumed: tuple[int | None, ...] = within(
        lambda bounds: ArrayOf(
            Maybe(Integers(0, bounds.records_max - 1, label="r")), bounds.log_length_max if bounds.consumer_reads else 0
        )
    )
    end_offset: int = within(lambda bounds: Integers(0, bounds.log_length_max if bounds.offset_queries else 0))
    end_offset_epoch: int = within(
        lambda bounds: Integers(NO_EPOCH, bounds.leader_epoch_max if bounds.offset_queries else NO_EPOCH)
    )
    deleted: int = within(answered_log_starts, default=0)
    producer_epoch: int = within(
        lambda bounds: Integers(NO_EPOCH, bounds.leader_epoch_max if bounds.producer_metadata else NO_EPOCH, label="e"),
        default=NO_EPOCH,
    )


@attrs.frozen
class Partition:
    """The whole state.

    Attributes:
        quorum: the controller's record.
        elections: by leader epoch, what the controller has published of it.
        replicas: by broker id.
        next_record_id: how many records were written.
        clients, used: what clients have seen, and how much of each budget is used up.
    """

    replicas: tuple[Replica, ...] = within(per_broker(records(Replica)))
    quorum: Quorum = within(Quorum)
    elections: tuple[Election, ...] = within(
        lambda bounds: SequenceOf(records(Election)(bounds), bounds.leader_epoch_max + 1)
    )
    next_record_id: int = within(lambda bounds: Integers(0, bounds.records_max))
    clients: Clients = within(Clients)
    used: Used = within(Used)

    @property
    def leader_epoch(self) -> int:
        """The controller's leader epoch."""
        return len(self.elections) - 1

    def with_replica(self, broker: int, replica: Replica) -> Partition:
        return evolve(self, replicas=replaced(self.replicas, broker, replica))

    def leads(self, broker: int) -> bool:
        """Whether a broker runs and presumes leadership: it accepts writes and serves fetches."""
        return self.presumed_leader(broker) is not None

    def presumed_leader(self, broker: int) -> Leader | None:
        """The replica of a broker that leads, in the sense of `leads`."""
        replica = self.replicas[broker]
        return cast("Leader", replica) if replica.leader == broker and replica.is_up else None

    def is_alive(self, broker: int | None) -> bool:
        """Whether other brokers take a broker for alive: the controller has not fenced it."""
        return broker is not None and self.quorum.registrations[broker].standing is not Standing.FENCED

    def spent(self, budget: str) -> Used:
        """The budgets after one more use of one of them."""
        return spent(self.used, budget)


def all_brokers(bounds: PartitionBounds) -> dict[str, range]:
    """The interchangeable names. The search itself finds that broker 0 is not: it leads at the start."""
    return {"brokers": range(bounds.brokers)}
