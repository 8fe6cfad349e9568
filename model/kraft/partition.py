"""A partition as the KRaft controller registers it, and a record that changes it."""

from __future__ import annotations

import attrs

Brokers = tuple[int, ...]
"""Broker ids in Kafka's order: of replicas, the preferred leader is the first."""


@attrs.frozen
class PartitionRegistration:
    """What the metadata log says of a partition.

    Attributes:
        replicas: the assigned replicas, with those that a reassignment adds or removes.
        isr, elr: the in-sync replicas, and the eligible leader replicas (KIP-966).
        last_known_elr: the last known leader alone, if the controller may elect it; else former members of the ELR.
        leader: None if nobody leads.
        removing, adding: what a reassignment in progress takes out and brings in.
        recovering: whether the leader was elected uncleanly and has not yet said that it has recovered.

    Directories (KIP-858) are left out.

    Source: org.apache.kafka.metadata.PartitionRegistration (3.5.1 to 4.3.1).
    """

    replicas: Brokers
    isr: Brokers
    leader: int | None
    elr: Brokers = ()
    last_known_elr: Brokers = ()
    removing: Brokers = ()
    adding: Brokers = ()
    recovering: bool = False
    leader_epoch: int = 0
    partition_epoch: int = 0


class Unchanged:
    """The leader that a record does not name. It stays, and so does the leader epoch."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED = Unchanged()


@attrs.frozen
class PartitionChange:
    """A record that changes a partition. None stands for what it does not name.

    Attributes:
        leader: a record that names a leader begins a leader epoch, even if it names the leader of before. None says
            that nobody leads.

    Source: org.apache.kafka.common.metadata.PartitionChangeRecord (3.5.1 to 4.3.1).
    """

    leader: int | Unchanged | None = UNCHANGED
    isr: Brokers | None = None
    elr: Brokers | None = None
    last_known_elr: Brokers | None = None
    replicas: Brokers | None = None
    removing: Brokers | None = None
    adding: Brokers | None = None
    recovering: bool | None = None


def merged(partition: PartitionRegistration, change: PartitionChange) -> PartitionRegistration:
    """The partition after a record.

    Source: org.apache.kafka.metadata.PartitionRegistration#merge (3.5.1 to 4.3.1).
    """
    named = change.leader
    return PartitionRegistration(
        replicas=partition.replicas if change.replicas is None else change.replicas,
        isr=partition.isr if change.isr is None else change.isr,
        leader=partition.leader if isinstance(named, Unchanged) else named,
        elr=partition.elr if change.elr is None else change.elr,
        last_known_elr=partition.last_known_elr if change.last_known_elr is None else change.last_known_elr,
        removing=partition.removing if change.removing is None else change.removing,
        adding=partition.adding if change.adding is None else change.adding,
        recovering=partition.recovering if change.recovering is None else change.recovering,
        leader_epoch=partition.leader_epoch if isinstance(named, Unchanged) else partition.leader_epoch + 1,
        partition_epoch=partition.partition_epoch + 1,
    )
