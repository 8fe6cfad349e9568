"""A broker with its replica, and the requests that brokers get: kafka.server.ReplicaManager, MetadataCache (3.5)."""

from __future__ import annotations

from enum import Enum

import attrs

from highwater.model.controller.bounds import (
    broker_epochs,
    controller_epochs,
    further_attempts,
    leader_epochs,
    partition_epochs,
    topics,
)
from highwater.model.controller.zookeeper import names
from highwater.model.language.domain import BOOLEAN, Integers, Maybe, OneOf
from highwater.model.language.records import evolve, records, within
from highwater.model.log import NO_EPOCH, broker_sets, brokers

DURING_DELETION = -2
"""The leader epoch of requests about a topic that is being deleted. In StopReplica it is Kafka's EpochDuringDelete; an
UpdateMetadata has leader -2 (LeaderDuringDelete) and leader epoch 0, and means the same: kafka.api.LeaderAndIsr (2.6).
"""


class Role(Enum):
    """A broker's role for the partition. A stopped one knows a leader epoch, and does not fetch."""

    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"
    STOPPED = "stopped"


@attrs.frozen
class Metadata:
    """The metadata of the partition that a broker serves to clients. The ISR is empty where the protocol has no
    `isr_in_metadata`. The assignment is left out: only reassignments change it, and send it in the same requests.
    """

    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    leader_epoch: int = within(leader_epochs)
    isr: frozenset[int] = within(broker_sets, default=frozenset())


@attrs.frozen
class IsrChange:
    """An ISR that a leader has asked the controller for.

    Attributes:
        given_up: the answer was a final error: the leader waits for a LeaderAndIsr of a new leader epoch.
    """

    isr: frozenset[int] = within(broker_sets)
    given_up: bool = within(BOOLEAN)

    def __str__(self) -> str:
        return f"isr {names(self.isr)}{', given up' if self.given_up else ''}"


@attrs.frozen
class Broker:
    """A broker and its replica.

    Attributes:
        running: whether the process runs.
        epoch: the broker epoch of its last registration.
        leaving: whether it has asked for a controlled shutdown.
        attempts_left: how often it asks for it again; 0 once that is granted.
        controller_epoch, leader_epoch: the newest that it has accepted since it started; 0 and -1 before.
        role, leader: its role, and the leader as it knows it.
        isr, replicas, partition_epoch: the ISR, the assignment and the version of both as a leader knows them; blank
            for others.
        change: the ISR that the leader has asked for, until it has the answer.
        coordinates: whether it acts as coordinator: it has loaded the groups or transactions of the partition.
        coordinator_epoch: the newest leader epoch of which its coordinator of groups has heard, if it compares epochs;
            0, which refuses nothing, before.
        resigning: the leader epoch of a delayed resignation as coordinator; -1 if the resignation comes from the
            topic's deletion.
        topic_id: the topic that its role is for.
        log: the topic that its log belongs to; None without a log.
        complete: whether the log has every committed record.
        metadata: the metadata that it serves to clients; None if it knows of no such partition.
        dead: the brokers that it does not take for alive, by its metadata cache; nobody where the protocol has no
            `live_brokers`.
    """

    running: bool = within(BOOLEAN)
    epoch: int = within(broker_epochs)
    leaving: bool = within(BOOLEAN)
    attempts_left: int = within(further_attempts)
    controller_epoch: int = within(controller_epochs)
    leader_epoch: int = within(leader_epochs)
    role: Role = within(OneOf(Role))
    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    isr: frozenset[int] = within(broker_sets)
    replicas: frozenset[int] = within(broker_sets)
    partition_epoch: int = within(partition_epochs)
    change: IsrChange | None = within(lambda bounds: Maybe(records(IsrChange)(bounds)))
    coordinates: bool = within(BOOLEAN)
    coordinator_epoch: int = within(lambda bounds: Integers(0, bounds.leader_epoch_max))
    resigning: int | None = within(lambda bounds: Maybe(leader_epochs(bounds)))
    topic_id: int = within(topics)
    log: int | None = within(lambda bounds: Maybe(topics(bounds)))
    complete: bool = within(BOOLEAN)
    metadata: Metadata | None = within(lambda bounds: Maybe(records(Metadata)(bounds)))
    dead: frozenset[int] = within(broker_sets)

    @property
    def leads(self) -> bool:
        """Whether it acts as leader."""
        return self.running and self.role is Role.LEADER

    @property
    def maximal_isr(self) -> frozenset[int]:
        """The maximal ISR (KIP-497): a leader's ISR, and the members of the one that it has asked for."""
        return self.isr if self.change is None else self.isr | self.change.isr


def without_role(broker: Broker) -> Broker:
    """A broker without a role for the partition; its log stays."""
    return evolve(
        broker, leader_epoch=NO_EPOCH, role=Role.NONE, leader=None, isr=frozenset(), replicas=frozenset(),
        partition_epoch=0, change=None, coordinates=False, topic_id=0,
    )  # fmt: skip


class Kind(Enum):
    """The requests of a controller."""

    LEADER_AND_ISR = "LeaderAndIsr"
    STOP_REPLICA = "StopReplica"
    UPDATE_METADATA = "UpdateMetadata"


@attrs.frozen
class Request:
    """A request of a controller to a broker. Fields that its kind does not have are blank.

    Attributes:
        controller_epoch: the sender's.
        broker_epoch: the broker epoch that the sender knows.
        leader_epoch: in an UpdateMetadata without the partition -1.
        replicas: the assignment that goes with LeaderAndIsr, or the live brokers that go with UpdateMetadata.
        delete: StopReplica is to delete the log.
    """

    kind: Kind = within(OneOf(Kind))
    controller_epoch: int = within(controller_epochs)
    broker_epoch: int = within(broker_epochs)
    topic_id: int = within(topics)
    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    leader_epoch: int = within(lambda bounds: Integers(DURING_DELETION, bounds.leader_epoch_max))
    partition_epoch: int = within(partition_epochs)
    isr: frozenset[int] = within(broker_sets)
    replicas: frozenset[int] = within(broker_sets)
    delete: bool = within(BOOLEAN)

    def __str__(self) -> str:
        epoch = "deleting" if self.leader_epoch == DURING_DELETION else f"epoch {self.leader_epoch}"
        if self.kind is Kind.STOP_REPLICA:
            return f"StopReplica({'delete, ' if self.delete else ''}{epoch})"
        leader = "none" if self.leader is None else f"b{self.leader}"
        isr = f" isr {names(self.isr)} of {names(self.replicas)}" if self.kind is Kind.LEADER_AND_ISR else ""
        return f"{self.kind.value}(leader {leader}{isr} {epoch})"
