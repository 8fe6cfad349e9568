"""What ZooKeeper holds: kafka.zk.ZkData (3.5)."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from highwater.model.controller.bounds import (
    broker_epochs,
    controller_epochs,
    controllers,
    leader_epochs,
    partition_epochs,
    topics,
)
from highwater.model.language.domain import BOOLEAN, Maybe
from highwater.model.language.records import records, within
from highwater.model.log import broker_lists, broker_sets, brokers, per_broker


def names(members: Iterable[int]) -> str:
    return "{" + " ".join(f"b{member}" for member in sorted(members)) + "}"


@attrs.frozen
class Leadership:
    """A partition's state in ZooKeeper: leader, ISR and their epochs, and the epoch of the controller that wrote it."""

    leader: int | None = within(lambda bounds: Maybe(brokers(bounds)))
    isr: frozenset[int] = within(broker_sets)
    leader_epoch: int = within(leader_epochs)
    partition_epoch: int = within(partition_epochs)
    controller_epoch: int = within(controller_epochs)

    def __str__(self) -> str:
        leader = "none" if self.leader is None else f"b{self.leader}"
        return f"leader {leader} isr {names(self.isr)} epoch {self.leader_epoch}"


@attrs.frozen
class Reassignment:
    """A reassignment: its target replicas, the preferred one first, and the replicas before it."""

    target: tuple[int, ...] = within(broker_lists)
    origin: frozenset[int] = within(broker_sets)

    @property
    def adding(self) -> tuple[int, ...]:
        return tuple(replica for replica in self.target if replica not in self.origin)

    def __str__(self) -> str:
        return f"to [{' '.join(f'b{replica}' for replica in self.target)}] from {names(self.origin)}"


@attrs.frozen
class ZooKeeper:
    """The data in ZooKeeper.

    Attributes:
        controller: the owner of the ephemeral node /controller.
        controller_epoch: how many controllers were elected.
        registrations: by broker, its ephemeral node's broker epoch.
        topic_id: the id of the topic that was created last.
        assignment: its partition's replicas, the preferred one first; empty if there is no topic.
        leadership: its partition's state; None before the first one, and once its node is deleted.
        reassignment: the request in /admin/reassign_partitions, with the replicas from before it.
        deletion, preferred_election: whether there is such a request.
        partition_added: whether a second partition was added to the topic during its deletion.
        isr_changed: whether a leader has left a notification that it has changed the ISR.
    """

    controller: int | None = within(lambda bounds: Maybe(controllers(bounds)))
    controller_epoch: int = within(controller_epochs)
    registrations: tuple[int | None, ...] = within(per_broker(lambda bounds: Maybe(broker_epochs(bounds))))
    topic_id: int = within(topics)
    assignment: tuple[int, ...] = within(broker_lists)
    leadership: Leadership | None = within(lambda bounds: Maybe(records(Leadership)(bounds)))
    reassignment: Reassignment | None = within(lambda bounds: Maybe(records(Reassignment)(bounds)))
    deletion: bool = within(BOOLEAN)
    preferred_election: bool = within(BOOLEAN)
    partition_added: bool = within(BOOLEAN)
    isr_changed: bool = within(BOOLEAN)
