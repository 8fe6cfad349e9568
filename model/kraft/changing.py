"""How a step of the controller changes a partition: the record that it makes, and the partition after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from highwater.model.kraft.image import Image, Partition, Standing
from highwater.model.kraft.partition import PartitionChange, PartitionRegistration, merged
from highwater.model.kraft.partition_change import ElectionKind, Target, change_of
from highwater.model.kraft.protocol import KraftProtocol, UncleanElections
from highwater.model.kraft.state import Cluster, Mishap, View
from highwater.model.language.records import evolve


def listed(cluster: Cluster, partition: int, members: Iterable[int]) -> tuple[int, ...]:
    """Some brokers as a list: in the order of a partition's assignment, then the others."""
    replicas = cluster.partitions[partition].replicas
    others = tuple(broker for broker in cluster.ids if broker not in replicas)
    return tuple(broker for broker in replicas + others if broker in members)


def registration_of(cluster: Cluster, partition: int) -> PartitionRegistration:
    """A partition, as `partition_change` takes it. Its ELR is in the order in which records have it, with members that
    are no replicas.
    """
    now = cluster.partitions[partition]
    return PartitionRegistration(
        replicas=tuple(now.replicas),
        isr=listed(cluster, partition, now.isr),
        leader=now.leader,
        elr=tuple(sorted(now.elr)),
        last_known_elr=() if now.last_known_leader is None else (now.last_known_leader,),
        removing=listed(cluster, partition, now.removing),
        adding=listed(cluster, partition, now.adding),
        recovering=now.recovering,
        leader_epoch=now.leader_epoch,
        partition_epoch=now.partition_epoch,
    )


def recorded(
    cluster: Cluster, partition: int, protocol: KraftProtocol, target: Target, without: int | None = None
) -> PartitionChange | None:
    """The record that leads to a target.

    Args:
        without: the broker that is about to leave the active ones.
    """
    return change_of(
        registration_of(cluster, partition),
        attrs.evolve(target, min_isr=effective_min_isr(cluster)),
        lambda broker: broker != without and cluster.is_active(broker, partition),
        protocol.rules,
    )


def effective_min_isr(cluster: Cluster) -> int:
    """The topic's min.insync.replicas for the controller, of any partition: at most as many as the first one has
    replicas.

    Source: org.apache.kafka.controller.ReplicationControlManager#getTopicEffectiveMinIsr (3.7.0 to 4.3.1).
    """
    return min(cluster.min_isr, len(cluster.partitions[0].replicas))


def replayed(cluster: Cluster, partition: int, change: PartitionChange | None) -> Cluster:
    """The cluster after a record, if there is one."""
    if change is None:
        return cluster
    after = merged(registration_of(cluster, partition), change)
    known = after.last_known_elr
    value = Partition(
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
        topic_id=cluster.partitions[partition].topic_id,
    )
    return cluster.with_partition(partition, value)


def changed(
    cluster: Cluster, partition: int, protocol: KraftProtocol, target: Target, without: int | None = None
) -> Cluster:
    """The cluster after the record that leads to a target."""
    before = cluster.partitions[partition]
    cluster = replayed(cluster, partition, recorded(cluster, partition, protocol, target, without))
    after = cluster.partitions[partition]
    completes = (before.removing or before.adding) and not (after.removing or after.adding)
    asked = before.isr if target.isr is None else target.isr
    if completes and len(after.isr) < cluster.min_isr <= len(asked):
        return evolve(cluster, mishap=Mishap.FEWER_COPIES)
    return cluster


def by_partition(cluster: Cluster, change: Callable[[Cluster, int], Cluster]) -> list[Cluster]:
    """The cluster before a decision, and after each partition that the decision changes.

    Source: org.apache.kafka.controller.ReplicationControlManager#generateLeaderAndIsrUpdates (3.5.1 to 4.3.1).
    """
    stages = [cluster]
    for partition in cluster.partition_ids:
        after = change(stages[-1], partition)
        if after is not stages[-1]:
            stages.append(after)
    return stages


def view_of(image: Image, partition: int) -> View:
    """What a broker learns of a partition from the metadata log."""
    now = image.partitions[partition]
    return View(
        frozenset(now.replicas),
        now.leader,
        now.isr,
        now.leader_epoch,
        now.partition_epoch,
        image.min_isr,
        now.topic_id,
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


def allows_unclean_elections(protocol: KraftProtocol) -> bool:
    """Whether the topic has unclean.leader.election.enable, and controllers read that.

    Source: org.apache.kafka.controller.ConfigurationControlManager#uncleanLeaderElectionEnabledForTopic, which is
        always false before 3.9.0.
    """
    return protocol.unclean_election


def by_itself(protocol: KraftProtocol) -> ElectionKind:
    """Which leader a change brings that nobody has asked for as an election.

    Source: org.apache.kafka.controller.ReplicationControlManager#generateLeaderAndIsrUpdates, #alterPartition,
        #cancelPartitionReassignment (3.9.0 to 4.3.1); not #changePartitionReassignment.
    """
    return ElectionKind.UNCLEAN if allows_unclean_elections(protocol) else ElectionKind.ONLINE


def taken_out(
    cluster: Cluster, partition: int, broker: int, protocol: KraftProtocol, *, uncleanly: bool = False
) -> Target:
    """The target of a partition whose ISR a broker leaves."""
    isr = listed(cluster, partition, cluster.partitions[partition].isr - {broker})
    lost = frozenset({broker}) if uncleanly else frozenset[int]()
    return Target(isr=isr, shut_down_uncleanly=lost, election=by_itself(protocol))


def without_member(cluster: Cluster, partition: int, broker: int, protocol: KraftProtocol) -> Cluster:
    """The cluster once a broker that may not lead any more has left a partition's ISR, if it was in it."""
    if broker not in cluster.partitions[partition].isr:
        return cluster
    return changed(cluster, partition, protocol, taken_out(cluster, partition, broker, protocol), without=broker)


def without_broker(cluster: Cluster, broker: int, standing: Standing, protocol: KraftProtocol) -> list[Cluster]:
    """The cluster before a broker has another standing, in which it may not lead; after it has left each ISR; and once
    it has the standing, which the last record says.

    Source: org.apache.kafka.controller.ReplicationControlManager#handleBrokerFenced, #handleBrokerUnregistered (3.5.1
        to 4.3.1).
    """
    stages = by_partition(cluster, lambda now, partition: without_member(now, partition, broker, protocol))
    return recorded_last(stages, stages[-1].with_standing(broker, standing))


def recorded_last(stages: list[Cluster], after: Cluster) -> list[Cluster]:
    """The stages of a decision of which the last batch has one more record, that makes it `after`."""
    return [*(stages[:-1] or stages), after]
