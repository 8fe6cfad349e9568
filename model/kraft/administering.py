"""What operators ask the controller for: elections and reassignments."""

from __future__ import annotations

from model.kraft.bounds import KraftBounds, min_isrs, some_broker
from model.kraft.changing import changed, recorded, registration_of, replayed
from model.kraft.metadata_log import appended
from model.kraft.partition import PartitionChange
from model.kraft.partition_change import Election, Target
from model.kraft.protocol import Cancelling, KraftProtocol
from model.kraft.reassignment import Cancelled, begun, cancelled
from model.kraft.state import Cluster
from model.language.declarations import action
from model.language.records import evolve


@action(actor="controller", needs=lambda bounds: bounds.elections)
def elect_preferred_leader(cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """Somebody asks for the preferred leader.

    Actor: the controller.
    Enabled: another replica leads, or none; the election changes something; the budget allows it.
    Effect: the first replica leads if it is active and in sync; if nobody leads, another one may.
    Source: org.apache.kafka.controller.ReplicationControlManager#electLeader (3.5.1 to 4.3.1).
    """
    replicas = cluster.partition.replicas
    if not replicas or cluster.partition.leader == replicas[0]:
        return None
    record = recorded(cluster, protocol, Target(election=Election.PREFERRED))
    if record is None:
        return None
    return appended(cluster, replayed(cluster.spending("elections"), record), protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.unclean_elections)
def elect_uncleanly(cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """Somebody asks for an unclean election.

    Actor: the controller.
    Enabled: nobody leads; a replica is active; the budget allows it.
    Effect: who may be elected cleanly leads; else the last known leader, if it is active; else the first replica that
        is active, whatever it has.
    Source: org.apache.kafka.controller.ReplicationControlManager#electLeader (3.5.1 to 4.3.1),
        org.apache.kafka.controller.PartitionChangeBuilder#electAnyLeader (3.5.1 to 4.3.1).
    """
    if cluster.partition.leader is not None or not cluster.partition.replicas:
        return None
    after = changed(cluster.spending("unclean_elections"), protocol, Target(election=Election.UNCLEAN))
    return None if after.partition.leader is None else appended(cluster, after, protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.reassignments, leaver=some_broker, newcomer=some_broker)
def reassign(
    cluster: Cluster, leaver: int | None, newcomer: int | None, protocol: KraftProtocol, bounds: KraftBounds
) -> Cluster | None:
    """Somebody asks for another assignment: without one replica, with another, or both.

    Actor: the controller.
    Enabled: no reassignment is in progress; one replica stays; the budget allows it.
    Effect: the reassignment is in progress. It is complete at once if the ISR has what it needs.
    Source: org.apache.kafka.controller.ReplicationControlManager#changePartitionReassignment (3.5.1 to 4.3.1).
    """
    partition = cluster.partition
    current = tuple(partition.replicas)
    moves = bool(partition.removing) or bool(partition.adding)
    if not current or moves or (leaver is None and newcomer is None) or newcomer in current:
        return None
    if leaver is not None and leaver not in current:
        return None
    target = tuple(broker for broker in current if broker != leaver)
    target = target if newcomer is None else (newcomer, *target)
    if not target:
        return None
    move = begun(current, target)
    wanted = Target(replicas=move.replicas, removing=move.removing or None, adding=move.adding or None)
    after = changed(cluster.spending("reassignments"), protocol, wanted)
    return appended(cluster, after, protocol, bounds)


def _may_cancel(cluster: Cluster, back: Cancelled, protocol: KraftProtocol) -> bool:
    if protocol.cancelling is Cancelling.IF_ONE_IS_IN_SYNC:
        return not back.unclean
    return protocol.cancelling is Cancelling.ALWAYS or all(cluster.is_active(replica) for replica in back.replicas)


@action(actor="controller", needs=lambda bounds: bounds.cancellations)
def cancel_reassignment(cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """Somebody cancels the reassignment in progress.

    Actor: the controller.
    Enabled: one is in progress; a replica from before is in the ISR, since else it would take an unclean election; the
        budget allows it.
    Effect: the partition has the replicas from before.
    Source: org.apache.kafka.controller.ReplicationControlManager#cancelPartitionReassignment (3.5.1 to 4.3.1).
    """
    partition = cluster.partition
    if not partition.removing and not partition.adding:
        return None
    back = cancelled(registration_of(cluster))
    if not _may_cancel(cluster, back, protocol):
        return None
    wanted = Target(isr=back.isr, replicas=back.replicas, removing=(), adding=())
    after = changed(cluster.spending("cancellations"), protocol, wanted)
    return appended(cluster, after, protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.min_isr_changes, min_isr=min_isrs)
def set_min_isr(cluster: Cluster, min_isr: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """Somebody sets the topic's min.insync.replicas.

    Actor: the controller.
    Enabled: it is another number; the budget allows it.
    Effect: the controller and, once they have read it, leaders go by it. Since KAFKA-16540 the ELR is emptied with it,
        and no last known leader is known.
    Source: org.apache.kafka.controller.ConfigurationControlManager#createClearElrRecordsAsNeeded (4.0.0 to 4.3.1),
        org.apache.kafka.controller.ReplicationControlManager#removeTopicElrs (4.0.0 to 4.3.1).
    """
    if min_isr == cluster.min_isr or not cluster.partition.replicas:
        return None
    after = evolve(cluster.spending("min_isr_changes"), min_isr=min_isr)
    partition = cluster.partition
    if (
        protocol.elr
        and protocol.elr_cleared_with_min_isr
        and (partition.elr or partition.last_known_leader is not None)
    ):
        after = replayed(after, PartitionChange(elr=(), last_known_elr=()))
    return appended(cluster, after, protocol, bounds)
