"""The state of the public specifications kafka_replication_v3_5 and kafka_replication_kip_966, without redundancy.

The public modules have 23 variables each. All of them follow from the fields here, and these from them, so that states
can be counted against TLC. These facts replace variables:

- A broker's metadata log is the controller's up to an offset. Its partition metadata are those of one record of it.
- Partition epochs are offsets of the metadata log, counted from the first record's.
- The maximal ISR is the ISR with the members of the leader's own proposal.
- A fetcher's position is the end of the broker's log. A fetch waits for a response while its message is in flight.
- Each ordered pair of brokers has at most one fetch message in flight; each leader and partition epoch has at most one
  proposal.
- Unfenced brokers are those with such a registration; the true high watermark is the number of consumed records.

The state keeps handled messages, as the public modules do to avoid cycles. No step reads handled fetches;
`protocol.messages` can leave out all messages that no step reads.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from highwater.model.kraft_reference.bounds import (
    broker_epochs,
    broker_sets,
    brokers,
    elr_sets,
    epochs,
    incarnations,
    metadata_offsets,
    offsets,
    reassigned_sets,
    times,
    values,
)
from highwater.model.kraft_reference.messages import (
    Fetch,
    Handled,
    Proposal,
    Record,
    Rejection,
    handled_messages,
    kept_rejections,
    logs,
    rejections,
)
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.records import evolve, records, replaced, within

BEFORE_THE_LOG = -1


class Status(Enum):
    """Whether a broker runs, starts, or is down after a clean or an unclean shutdown."""

    RUNNING = "running"
    STARTING = "starting"
    OFFLINE_CLEAN = "offline clean"
    OFFLINE_DIRTY = "offline dirty"


class Role(Enum):
    """A replica's role."""

    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"


class Registering(Enum):
    """How far a broker's registration is."""

    REQUEST = "request"
    RESPONSE = "response"
    DONE = "done"


@attrs.frozen
class Change:
    """A record of the metadata log: all of the partition's metadata.

    Attributes:
        replicas, isr, elr, last_known_elr, leader, leader_epoch: the partition's.
        adding, removing: of a reassignment in progress.
        left: the proposal that was open or accepted when the leader left this partition epoch.
        rejections: the rejected proposals for this partition epoch, in their order, once its leader has left it.
    """

    replicas: frozenset[int] = within(broker_sets)
    isr: frozenset[int] = within(broker_sets)
    elr: frozenset[int] = within(elr_sets)
    last_known_elr: frozenset[int] = within(elr_sets)
    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    leader_epoch: int = within(epochs)
    adding: frozenset[int] = within(reassigned_sets)
    removing: frozenset[int] = within(reassigned_sets)
    left: tuple[Proposal, ...] = within(
        lambda bounds: SequenceOf(records(Proposal)(bounds), int(bounds.keeps_messages))
    )
    rejections: tuple[Rejection, ...] = within(kept_rejections)

    def __str__(self) -> str:
        sets = {"replicas": self.replicas, "ISR": self.isr, "ELR": self.elr, "last known ELR": self.last_known_elr}
        sets |= {"adding": self.adding, "removing": self.removing}
        leader = "none" if self.leader is None else f"b{self.leader}"
        named = [f"{name} {shown(members)}" for name, members in sets.items() if members or name == "ISR"]
        left = [f"left {proposal}" for proposal in self.left] + (
            [f"{len(self.rejections)} rejected"] if self.rejections else []
        )
        return " ".join([f"leader {leader} e{self.leader_epoch}", *named, *left])


def shown(brokers: frozenset[int]) -> str:
    return f"{{{' '.join(f'b{broker}' for broker in sorted(brokers))}}}"


NOBODY: frozenset[int] = frozenset()
NO_METADATA = Change(NOBODY, NOBODY, NOBODY, NOBODY, None, 0, NOBODY, NOBODY, (), ())


@attrs.frozen
class Follower:
    """What a leader knows of one follower: its log end offset, or None, and its broker epoch."""

    log_end_offset: int | None = within(lambda bounds: Maybe(offsets(bounds)))
    broker_epoch: int = within(broker_epochs)


UNKNOWN_FOLLOWER = Follower(None, 0)


@attrs.frozen
class Broker:
    """A broker and its replica.

    Attributes:
        status, broker_epoch, incarnation: of the broker.
        applied: how many records of the metadata log it has.
        known: the record that its partition metadata is from, counted from 1; 0 for none, -1 for the state before the
            first record.
        role: what the replica is.
        log, high_watermark: the partition's data.
        epoch_start: the start offset of the leader's epoch.
        followers: what it knows of each follower as a leader.
        first_written: the smallest offset that it has appended since it leads: producers of these records wait here.
        fetches_from, delayed: the leader from which it fetches, and whether it delays the next fetch.
        fetches: the fetch message in flight between this follower and each leader.
        handled: the fetch messages between this follower and each leader that were handled or lost.
        proposal: the ISR that it has proposed, until it has the answer.
        rejections: the rejected proposals for its partition epoch, in their order.
    """

    status: Status = within(OneOf(Status))
    role: Role = within(OneOf(Role))
    known: int = within(lambda bounds: Integers(BEFORE_THE_LOG, bounds.metadata_records()))
    applied: int = within(metadata_offsets)
    broker_epoch: int = within(broker_epochs)
    incarnation: int = within(incarnations)
    log: tuple[Record, ...] = within(logs)
    high_watermark: int = within(offsets)
    epoch_start: int | None = within(lambda bounds: Maybe(offsets(bounds)))
    first_written: int | None = within(lambda bounds: Maybe(offsets(bounds)))
    fetches_from: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    delayed: bool = within(BOOLEAN)
    proposal: Proposal | None = within(lambda bounds: Maybe(records(Proposal)(bounds)))
    rejections: tuple[Rejection, ...] = within(rejections)
    followers: tuple[Follower, ...] = within(
        lambda bounds: ArrayOf(records(Follower)(bounds), int(bounds.broker_count), "b", "brokers")
    )
    fetches: tuple[Fetch, ...] = within(
        lambda bounds: ArrayOf(records(Fetch)(bounds), int(bounds.broker_count), "b", "brokers")
    )
    handled: tuple[frozenset[Handled], ...] = within(handled_messages)

    @property
    def log_end_offset(self) -> int:
        return len(self.log)

    @property
    def is_online(self) -> bool:
        return self.status in (Status.RUNNING, Status.STARTING)

    @property
    def leads(self) -> bool:
        """Whether it runs and is a leader."""
        return self.role is Role.LEADER and self.status is Status.RUNNING


@attrs.frozen
class Registration:
    """How the controller sees a broker."""

    fenced: bool = within(BOOLEAN)
    broker_epoch: int = within(broker_epochs)
    incarnation: int = within(incarnations)


@attrs.frozen
class Start:
    """A broker's start and its registration.

    Attributes:
        broker: the broker that starts.
        former_epoch: the broker epoch in the request: that of the incarnation before if its shutdown was clean, else 0.
        stage: how far the registration is.
        broker_epoch, metadata_offset: from the response: the new epoch, and the length of the metadata log.
    """

    broker: int = within(brokers)
    former_epoch: int = within(lambda bounds: Integers(0, 1 + bounds.starts() if bounds.keeps_elr else 0))
    stage: Registering = within(OneOf(Registering))
    broker_epoch: int = within(broker_epochs)
    metadata_offset: int = within(metadata_offsets)


@attrs.frozen
class Clients:
    """What clients have seen: values sent, acknowledged and refused, and the records consumed."""

    sent: frozenset[int] = within(lambda bounds: SetOf(values(bounds)))
    acked: frozenset[int] = within(lambda bounds: SetOf(values(bounds)))
    refused: frozenset[int] = within(lambda bounds: SetOf(values(bounds)))
    consumed: tuple[Record, ...] = within(logs)


@attrs.frozen
class Used:
    """How much of each limit is used up. Shutdowns that keep the log come first."""

    keeping_shutdowns: int = attrs.field(metadata={"domain": lambda bounds: Integers(0, keeping_shutdowns(bounds))})
    losing_shutdowns: int = attrs.field(metadata={"domain": lambda bounds: Integers(0, losing_shutdowns(bounds))})
    fences: int = times("fence_broker_limit")
    shrinks: int = times("leader_shrink_isr_limit")
    reassignments: int = times("reassignment_limit")


def keeping_shutdowns(bounds: Any) -> int:
    """The limit on shutdowns that keep the log, whose name differs between the specifications."""
    return int(bounds.no_data_loss_shutdown_limit if bounds.keeps_elr else bounds.clean_shutdown_limit)


def losing_shutdowns(bounds: Any) -> int:
    """The limit on shutdowns that lose the log, whose name differs between the specifications."""
    return int(bounds.data_loss_shutdown_limit if bounds.keeps_elr else bounds.unclean_shutdown_limit)


@attrs.frozen
class Cluster:
    """The whole state.

    Attributes:
        brokers: by broker id.
        registrations: the controller's, by broker id.
        metadata_log: the controller's; its last record is the state of the partition.
        starts: every start of a broker, in order.
        clients, used: what clients have seen, and how much of each limit is used up.
    """

    brokers: tuple[Broker, ...] = within(
        lambda bounds: ArrayOf(records(Broker)(bounds), int(bounds.broker_count), "b", "brokers")
    )
    registrations: tuple[Registration, ...] = within(
        lambda bounds: ArrayOf(records(Registration)(bounds), int(bounds.broker_count), "b", "brokers")
    )
    metadata_log: tuple[Change, ...] = within(
        lambda bounds: SequenceOf(records(Change)(bounds), bounds.metadata_records())
    )
    starts: tuple[Start, ...] = within(lambda bounds: SequenceOf(records(Start)(bounds), bounds.starts()))
    clients: Clients = within(Clients)
    used: Used = within(Used)

    @property
    def partition(self) -> Change:
        """The controller's state of the partition."""
        return self.metadata_log[-1]

    def with_broker(self, broker: int, changed: Broker) -> Cluster:
        return evolve(self, brokers=replaced(self.brokers, broker, changed))

    def metadata_of(self, broker: int) -> Change:
        """What a broker knows of the partition."""
        known = self.brokers[broker].known
        if known > 0:
            return self.metadata_log[known - 1]
        if known == 0:
            return NO_METADATA
        first = self.metadata_log[0]
        return evolve(first, isr=first.replicas)

    def maximal_isr(self, broker: int) -> frozenset[int]:
        """The ISR that a broker knows, with the members that it has proposed."""
        isr, proposal = self.metadata_of(broker).isr, self.brokers[broker].proposal
        return isr if proposal is None else isr | proposal.isr

    def spent(self, budget: str) -> Used:
        return evolve(self.used, **{budget: getattr(self.used, budget) + 1})
