"""How a step of the controller changes the partition: the record that it makes, and the partition after it."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from model.kraft.partition import PartitionChange, PartitionRegistration, merged
from model.kraft.partition_change import Target, change_of
from model.kraft.protocol import KraftProtocol, UncleanElections
from model.kraft.state import Cluster, Image, Mishap, Partition, Standing, View
from model.language.records import evolve


def listed(cluster: Cluster, members: Iterable[int]) -> tuple[int, ...]:
    """Some brokers as a list: in the order of the assignment, then the others."""
    replicas = cluster.partition.replicas
    others = tuple(broker for broker in cluster.ids if broker not in replicas)
    return tuple(broker for broker in replicas + others if broker in members)


def registration_of(cluster: Cluster) -> PartitionRegistration:
    """The partition, as `partition_change` takes it."""
    partition = cluster.partition
    return PartitionRegistration(
        replicas=tuple(partition.replicas),
        isr=listed(cluster, partition.isr),
        leader=partition.leader,
        elr=listed(cluster, partition.elr),
        last_known_elr=() if partition.last_known_leader is None else (partition.last_known_leader,),
        removing=listed(cluster, partition.removing),
        adding=listed(cluster, partition.adding),
        recovering=partition.recovering,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
    )


def recorded(
    cluster: Cluster, protocol: KraftProtocol, target: Target, without: int | None = None
) -> PartitionChange | None:
    """The record that leads to a target.

    Args:
        without: the broker that is about to leave the active ones.
    """
    return change_of(
        registration_of(cluster),
        attrs.evolve(target, min_isr=cluster.min_isr),
        lambda broker: broker != without and cluster.is_active(broker),
        protocol.rules,
    )


def replayed(cluster: Cluster, change: PartitionChange | None) -> Cluster:
    """The cluster after a record, if there is one."""
    if change is None:
        return cluster
    after = merged(registration_of(cluster), change)
    known = after.last_known_elr
    partition = Partition(
        replicas=after.replicas,
        isr=frozenset(after.isr),
        elr=frozenset(after.elr),
        last_known_leader=known[0] if known else None,
        leader=after.leader,
        removing=frozenset(after.removing),
        adding=frozenset(after.adding),
        recovering=after.recovering,
        leader_epoch=after.leader_epoch,
        partition_epoch=after.partition_epoch,
        topic_id=cluster.partition.topic_id,
    )
    return evolve(cluster, partition=partition)


def changed(cluster: Cluster, protocol: KraftProtocol, target: Target, without: int | None = None) -> Cluster:
    """The cluster after the record that leads to a target."""
    before = cluster.partition
    cluster = replayed(cluster, recorded(cluster, protocol, target, without))
    after = cluster.partition
    completes = (before.removing or before.adding) and not (after.removing or after.adding)
    asked = before.isr if target.isr is None else target.isr
    if completes and len(after.isr) < cluster.min_isr <= len(asked):
        return evolve(cluster, mishap=Mishap.FEWER_COPIES)
    return cluster


def view_of(image: Image) -> View:
    """What a broker learns from the metadata log."""
    partition = image.partition
    return View(
        partition.leader,
        partition.isr,
        partition.leader_epoch,
        partition.partition_epoch,
        image.min_isr,
        partition.topic_id,
    )


def counts_as_unclean(before: Partition, after: Partition, rule: UncleanElections) -> bool:
    """Whether the controller counts the election of another leader as unclean.

    Source: org.apache.kafka.metadata.PartitionRegistration#electionWasClean (3.5.1 to 4.0.0), #electionWasUnclean
        (4.1.0 to 4.3.1).
    """
    if rule is UncleanElections.RECORDED:
        return after.recovering
    clean = before.isr | before.elr if rule is UncleanElections.NOT_IN_ISR_OR_ELR else before.isr
    return after.leader not in clean


def taken_out(cluster: Cluster, broker: int, uncleanly: bool = False) -> Target:
    """The target of a partition whose ISR a broker leaves."""
    isr = listed(cluster, cluster.partition.isr - {broker})
    return Target(isr=isr, shut_down_uncleanly=frozenset({broker}) if uncleanly else frozenset())


def without_broker(cluster: Cluster, broker: int, standing: Standing, protocol: KraftProtocol) -> Cluster:
    """The cluster once a broker has another standing, in which it may not lead. If it is in the ISR, it leaves it.

    Source: org.apache.kafka.controller.ReplicationControlManager#handleBrokerFenced, #handleBrokerInControlledShutdown
        (3.5.1 to 4.3.1).
    """
    if broker in cluster.partition.isr:
        cluster = changed(cluster, protocol, taken_out(cluster, broker), without=broker)
    return cluster.with_registration(broker, standing=standing)
