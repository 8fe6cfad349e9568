"""The active controller: registrations, elections, AlterPartition, reassignment.

Each step appends one batch of records, which is committed at once.
"""

from __future__ import annotations

from model.kraft.bounds import KraftBounds, some_broker
from model.kraft.changing import (
    changed,
    listed,
    recorded,
    registration_of,
    replayed,
    taken_out,
    view_of,
    without_broker,
)
from model.kraft.partition_change import Election, Target
from model.kraft.protocol import KraftProtocol, Reregistration, Unfencing
from model.kraft.reassignment import begun, cancelled
from model.kraft.state import Broker, Cluster, Progress, Standing
from model.language.declarations import action
from model.language.records import evolve
from model.log import brokers


def has_lost_its_session(cluster: Cluster, broker: int) -> bool:
    silent = not cluster.brokers[broker].running and broker in cluster.contacted
    return silent and cluster.registrations[broker].standing is not Standing.FENCED


@action(actor="controller", broker=brokers)
def fence(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """The controller fences a broker that sends no heartbeats any more.

    Actor: the controller.
    Enabled: the broker is down and not fenced; the controller has heard of it.
    Effect: it leaves the ISR, and another one leads if it led.
    Abstracts: the session time: a broker that is down loses its session at any moment.
    Source: org.apache.kafka.controller.ReplicationControlManager#maybeFenceOneStaleBroker (3.5.1 to 4.3.1).
    """
    if not has_lost_its_session(cluster, broker):
        return None
    return without_broker(cluster, broker, Standing.FENCED, protocol, bounds)


@action(actor="controller", needs=lambda bounds: bounds.crashes > 1, first=brokers, second=brokers)
def fence_two(
    cluster: Cluster, first: int, second: int, protocol: KraftProtocol, bounds: KraftBounds
) -> Cluster | None:
    """The controller fences two brokers in one batch of records.

    Actor: the controller.
    Enabled: both are down and not fenced; the controller has heard of them. Since KAFKA-13173 it fences one at a time.
    Effect: each record is made from the partition before the batch.
    Source: org.apache.kafka.controller.ReplicationControlManager#maybeFenceStaleBrokers (2.8.0),
        #maybeFenceOneStaleBroker (3.0.0).
    """
    if protocol.fences_one_at_a_time or first == second:
        return None
    if not has_lost_its_session(cluster, first) or not has_lost_its_session(cluster, second):
        return None
    members = [broker for broker in (first, second) if broker in cluster.partition.isr]
    records = [recorded(cluster, protocol, bounds, taken_out(cluster, broker), without=broker) for broker in members]
    for record in records:
        cluster = replayed(cluster, record)
    cluster = cluster.with_registration(first, standing=Standing.FENCED)
    return cluster.with_registration(second, standing=Standing.FENCED)


@action(actor="controller", broker=brokers)
def unfence(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """The controller unfences a broker by a heartbeat.

    Actor: the controller.
    Enabled: the broker runs, is fenced, does not want to shut down, and has read its registration; until KAFKA-13959
        it must have read all of the metadata log.
    Effect: it is unfenced. A partition without a leader may get one.
    Source: org.apache.kafka.controller.BrokerHeartbeatManager#calculateNextBrokerState, ReplicationControlManager
        #handleBrokerUnfenced (3.5.1 to 4.3.1).
    """
    ours: Broker = cluster.brokers[broker]
    wanted = protocol.unfencing is Unfencing.AT_REGISTRATION
    enough = ours.progress is Progress.AT_END or (wanted and ours.progress is Progress.BEHIND)
    if not ours.running or ours.stopping or not enough:
        return None
    if cluster.registrations[broker].standing is not Standing.FENCED:
        return None
    cluster = cluster.with_registration(broker, standing=Standing.UNFENCED)
    cluster = evolve(cluster, contacted=cluster.contacted | {broker})
    return changed(cluster, protocol, bounds, Target()) if cluster.partition.leader is None else cluster


def registered(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster:
    """A new incarnation of a broker that was killed is registered.

    Source: org.apache.kafka.controller.ClusterControlManager#registerBroker (3.5.1 to 4.3.1), ReplicationControlManager
        #handleBrokerUncleanShutdown (3.8.0), #handleBrokerShutdown (4.0.0).
    """
    partition, rule = cluster.partition, protocol.reregistration
    held = partition.isr | partition.elr if protocol.elr else partition.isr
    leaves = rule is Reregistration.ISR or (rule is Reregistration.ISR_WITH_ELR and protocol.elr)
    if leaves and broker in held:
        target = taken_out(cluster, broker, uncleanly=True)
        cluster = changed(cluster, protocol, bounds, target, without=broker)
    epoch = cluster.registrations[broker].broker_epoch + 1
    cluster = evolve(cluster, contacted=cluster.contacted | {broker})
    return cluster.with_registration(broker, broker_epoch=epoch, standing=Standing.FENCED)


def _is_acceptable(cluster: Cluster, leader: int, protocol: KraftProtocol) -> bool:
    """Whether AlterPartition accepts what a leader proposes.

    Source: org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData, #ineligibleReplicasForIsr
        (3.5.1 to 4.3.1).
    """
    proposal, partition = cluster.brokers[leader].proposal, cluster.partition
    current = partition.leader == leader and proposal.leader_epoch == partition.leader_epoch
    if not current or proposal.partition_epoch != partition.partition_epoch:
        return False
    newcomer = proposal.newcomer
    if protocol.members_must_be_active:
        members = partition.isr if newcomer is None else partition.isr | {newcomer}
        if not all(cluster.is_active(member) for member in members if member != proposal.leaver):
            return False
    if newcomer is None:
        return True
    known = proposal.newcomer_epoch == cluster.registrations[newcomer].broker_epoch
    return newcomer in partition.replicas and (known or not protocol.members_epochs_checked)


@action(actor="controller", leader=brokers)
def answer_alter_partition(
    cluster: Cluster, leader: int, protocol: KraftProtocol, bounds: KraftBounds
) -> Cluster | None:
    """The controller handles a leader's AlterPartition request.

    Actor: the controller.
    Enabled: the request is in flight.
    Effect: the ISR changes as proposed, or the request is refused. A reassignment may be complete then. The leader
        learns the answer at once.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterPartition (3.5.1 to 4.3.1).
    """
    proposal = cluster.brokers[leader].proposal
    if proposal is None:
        return None
    accepted = _is_acceptable(cluster, leader, protocol)
    after = cluster.with_broker(leader, proposal=None)
    if not accepted:
        return after
    isr = cluster.partition.isr if proposal.newcomer is None else cluster.partition.isr | {proposal.newcomer}
    target = Target(isr=listed(cluster, isr if proposal.leaver is None else isr - {proposal.leaver}))
    after = changed(after, protocol, bounds, target)
    partition = after.partition
    if partition.leader != leader:
        return after
    return after.with_broker(leader, view=view_of(partition))


@action(actor="controller", needs=lambda bounds: bounds.elections)
def elect_preferred_leader(cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """Somebody asks for the preferred leader.

    Actor: the controller.
    Enabled: another replica leads, or none; the budget allows it.
    Effect: the first replica leads if it is active and in sync.
    Source: org.apache.kafka.controller.ReplicationControlManager#electLeader (3.5.1 to 4.3.1).
    """
    if cluster.partition.leader == cluster.partition.replicas[0]:
        return None
    return changed(cluster.spending("elections"), protocol, bounds, Target(election=Election.PREFERRED))


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
    if moves or (leaver is None and newcomer is None) or newcomer in current:
        return None
    if leaver is not None and leaver not in current:
        return None
    target = tuple(broker for broker in current if broker != leaver)
    target = target if newcomer is None else (newcomer, *target)
    if not target:
        return None
    move = begun(current, target)
    wanted = Target(replicas=move.replicas, removing=move.removing or None, adding=move.adding or None)
    return changed(cluster.spending("reassignments"), protocol, bounds, wanted)


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
    if back.unclean:
        return None
    wanted = Target(isr=back.isr, replicas=back.replicas, removing=(), adding=())
    return changed(cluster.spending("cancellations"), protocol, bounds, wanted)


@action(actor="controller", needs=lambda bounds: bounds.fail_overs)
def fail_over(cluster: Cluster, protocol: KraftProtocol) -> Cluster:
    """Another controller becomes active. It knows what is in the metadata log, and nothing of heartbeats.

    Actor: the controller.
    Enabled: the budget allows it.
    Effect: it counts every registered broker as heard of. With the bug of KAFKA-18138 it did not, so that a broker
        lost its session only after a heartbeat to this controller.
    Source: org.apache.kafka.controller.ClusterControlManager#activate (3.5.1 to 4.3.1), BrokerHeartbeatManager#register
        (3.5.1 to 3.8).
    """
    everyone = frozenset(cluster.ids)
    contacted = everyone if protocol.new_controller_expects_heartbeats else frozenset[int]()
    return evolve(cluster.spending("fail_overs"), contacted=contacted)


@action(actor="controller", needs=lambda bounds: bounds.no_ops)
def append_no_op(cluster: Cluster) -> Cluster:
    """The controller appends a record that changes nothing, so that the offsets of brokers can be compared.

    Actor: the controller.
    Enabled: always.
    Effect: no broker has read all of the metadata log.
    Source: KIP-835; org.apache.kafka.controller.QuorumController#maybeScheduleNextWriteNoOpRecord (3.3.0).
    """
    for broker in cluster.ids:
        if cluster.brokers[broker].progress is Progress.AT_END:
            cluster = cluster.with_broker(broker, progress=Progress.BEHIND)
    return cluster
