"""The controller: fencing and registration of brokers, elections, eligible leader replicas, reassignment.

It acts at once on its own record and never fails; brokers learn of changes late (see `leadership`). Kafka elects the
first suitable replica in the order of the assignment; here any suitable one may be elected.
"""

from __future__ import annotations

from collections.abc import Set

from highwater.model.language.declarations import action
from highwater.model.language.domain import Maybe
from highwater.model.language.records import evolve, replaced
from highwater.model.log import brokers
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.disturbing import failing, shutting_down
from highwater.model.partition.high_watermark import min_isr
from highwater.model.partition.messages import Election
from highwater.model.partition.protocol import PartitionProtocol, ShrinkStartsEpoch
from highwater.model.partition.state import Partition, Quorum, Standing
from highwater.model.partition_rules import elr_after, may_lead_if_active


def election_of(quorum: Quorum) -> Election:
    """The part of the controller's record that brokers learn."""
    return Election(quorum.leader, quorum.isr, quorum.assignment, quorum.partition_epoch, quorum.recovering)


def published(partition: Partition, quorum: Quorum) -> Partition:
    """The state after the controller has published a changed record in a new leader epoch."""
    quorum = evolve(quorum, partition_epoch=quorum.partition_epoch + 1)
    return evolve(partition, quorum=quorum, elections=partition.elections + (election_of(quorum),))


def keeps_elr(protocol: PartitionProtocol) -> bool:
    """Whether the controller also remembers eligible leader replicas and the last known leader."""
    return protocol.elr


def with_elr(
    quorum: Quorum, isr: Set[int], unclean: Set[int], protocol: PartitionProtocol, bounds: PartitionBounds
) -> Quorum:
    """The record with another ISR, and the eligible leader replicas that follow from it.

    How large the ISR must be is asked of the assignment before the change.
    """
    if not keeps_elr(protocol):
        return evolve(quorum, isr=isr)
    enough = min_isr(quorum.assignment, protocol, bounds)
    return evolve(quorum, isr=isr, elr=elr_after(quorum.elr, quorum.isr, isr, unclean, enough))


def completes_removal(quorum: Quorum, isr: Set[int], protocol: PartitionProtocol) -> bool:
    """Whether a record with this ISR takes the replica away that a reassignment in progress removes. Kafka looks at the
    ISR that is asked for, before it elects.

    Source: org.apache.kafka.controller.PartitionReassignmentReplicas#maybeCompleteReassignment (3.5.1 to 4.4.0),
        PartitionChangeBuilder#completeReassignmentIfNeeded (3.5.1 to 4.4.0).
    """
    if not quorum.removing or not isr - quorum.removing:
        return False
    return not waits_for_all(protocol) or quorum.assignment - quorum.removing <= isr


def waits_for_all(protocol: PartitionProtocol) -> bool:
    """Whether a replica is removed only once all others are in the ISR."""
    return protocol.reassignment_waits_for_all


def ineligible(removed: Set[int], protocol: PartitionProtocol) -> Set[int]:
    """The replicas that leave the ELR, of those that a reassignment removes."""
    return removed if protocol.removed_leaves_elr else frozenset()


def with_members(
    quorum: Quorum, isr: Set[int], unclean: Set[int], protocol: PartitionProtocol, bounds: PartitionBounds
) -> Quorum:
    """The record with the ISR that is asked for: a reassignment in progress may be complete by that."""
    if not completes_removal(quorum, isr, protocol):
        return with_elr(quorum, isr, unclean, protocol, bounds)
    gone = unclean | ineligible(quorum.removing, protocol)
    changed = with_elr(quorum, isr - quorum.removing, gone, protocol, bounds)
    return evolve(changed, assignment=quorum.assignment - quorum.removing, removing=frozenset())


def with_isr(
    partition: Partition, isr: Set[int], protocol: PartitionProtocol, bounds: PartitionBounds, *, recovering: bool
) -> Partition:
    """The state after the controller has recorded a leader's change of the ISR, which leads on."""
    quorum = evolve(with_members(partition.quorum, isr, frozenset(), protocol, bounds), recovering=recovering)
    return with_record(partition, quorum, (ShrinkStartsEpoch.ALWAYS,), protocol)


def with_record(
    partition: Partition, quorum: Quorum, where: tuple[ShrinkStartsEpoch, ...], protocol: PartitionProtocol
) -> Partition:
    """The state with another ISR or ELR in the controller's record.

    It is in a new leader epoch if the assignment has lost a replica, or the ISR a member and the protocol starts an
    epoch for that.

    Source: org.apache.kafka.controller.PartitionChangeBuilder#triggerLeaderEpochBumpForReplicaReassignmentIfNeeded (3.8
        to 4.4.0); org.apache.kafka.controller.PartitionChangeBuilder#triggerLeaderEpochBumpIfNeeded (3.0 to 3.7) and
        #triggerLeaderEpochBumpForIsrShrinkIfNeeded (3.8), which any change of the ISR passes;
        ReplicationControlManager#alterIsr (2.8), kafka.controller.KafkaController#alterIsrs (2.7, 2.8), which keep the
        epoch; kafka.controller.ReplicaStateMachine#removeReplicasFromIsr (2.0 to 3.8).
    """
    if partition.quorum.removing and not quorum.assignment >= partition.quorum.assignment:
        return published(partition, quorum)
    if protocol.isr_shrink_bumps_leader_epoch in where and not partition.quorum.isr <= quorum.isr:
        return published(partition, quorum)
    return evolve(partition, quorum=evolve(quorum, partition_epoch=quorum.partition_epoch + 1))


def may_lead(quorum: Quorum, broker: int) -> bool:
    """Whether a clean election may choose a broker: it is active, and in the ISR, or in the ELR while the ISR is empty.
    Whoever is in the ELR may be no replica any more.

    Source: org.apache.kafka.controller.PartitionChangeBuilder#isValidNewLeader (3.8);
        kafka.controller.Election#leaderForOffline (2.3 to 3.8).
    """
    if quorum.registrations[broker].standing is not Standing.ACTIVE:
        return False
    return may_lead_if_active(broker, quorum.isr, quorum.elr) and (broker in quorum.isr or broker in quorum.assignment)


def elected(quorum: Quorum, leader: int | None, protocol: PartitionProtocol, bounds: PartitionBounds) -> Quorum:
    """The record with another leader. A leader from the ELR is the only member of the ISR. Without a leader, the record
    keeps the last known one.

    Source: org.apache.kafka.controller.PartitionChangeBuilder#tryElection, #maybeUpdateLastKnownLeader (3.8.0; 4.1.1).
    """
    if leader is None:
        last = quorum.leader if quorum.last_known_leader is None else quorum.last_known_leader
        return evolve(quorum, leader=None, last_known_leader=last if keeps_elr(protocol) else None)
    if leader not in quorum.isr:
        quorum = with_elr(quorum, frozenset({leader}), frozenset(), protocol, bounds)
    return evolve(quorum, leader=leader, last_known_leader=None)


def elects_without(quorum: Quorum, broker: int) -> bool:
    """Whether an election follows if a broker leaves: it leads, or it is in the ISR of a leader that is fenced.

    A leader that has registered again before it was fenced leads on. But every change of the ISR asks whether the
    leader may lead. Source: org.apache.kafka.controller.PartitionChangeBuilder#tryElection (3.5.1 to 3.9.1).
    """
    if quorum.leader == broker:
        return True
    if quorum.leader is None or broker not in quorum.isr:
        return False
    return quorum.registrations[quorum.leader].standing is Standing.FENCED


def with_successor(
    partition: Partition, changed: Quorum, successor: int | None, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """The state after a record in which somebody else leads, or nobody; None if no election would choose this one."""
    if successor is None:
        if any(may_lead(changed, each) for each in range(bounds.brokers)):
            return None
    elif not may_lead(changed, successor):
        return None
    return published(partition, elected(changed, successor, protocol, bounds))


def without(
    partition: Partition,
    broker: int,
    successor: int | None,
    standing: Standing,
    protocol: PartitionProtocol,
    bounds: PartitionBounds,
) -> Partition | None:
    """The state after a broker has left the ISR and leadership; None if no election would choose this successor.

    The last member stays in the ISR unless the ISR may be empty.
    Source: org.apache.kafka.controller.ReplicationControlManager #handleBrokerFenced, #generateLeaderAndIsrUpdates
        (3.5; 3.8); kafka.controller.ReplicaStateMachine (0.10.2).
    """
    quorum = partition.quorum
    registration = evolve(quorum.registrations[broker], standing=standing, since=quorum.partition_epoch)
    quorum = evolve(quorum, registrations=replaced(quorum.registrations, broker, registration))
    isr = quorum.isr - {broker}
    if not isr and not protocol.isr_may_be_empty:
        isr = quorum.isr
    changed = with_elr(quorum, isr, frozenset(), protocol, bounds)
    if elects_without(quorum, broker):
        return with_successor(partition, changed, successor, protocol, bounds)
    if successor is not None:
        return None
    if isr == quorum.isr:
        return evolve(partition, quorum=quorum)
    return with_record(partition, changed, (ShrinkStartsEpoch.BY_CONTROLLER, ShrinkStartsEpoch.ALWAYS), protocol)


def without_successor(partition: Partition, broker: int, bounds: PartitionBounds) -> Partition | None:
    """The state after a controller with ZooKeeper has found no successor for a leader that shuts down; None if there
    is one.

    Source: kafka.controller.PartitionStateMachine#doElectLeaderForPartitions (2.0.1), which fails and leaves the
        leader.
    """
    quorum = partition.quorum
    if any(may_lead(quorum, each) for each in range(bounds.brokers) if each != broker):
        return None
    registration = evolve(quorum.registrations[broker], standing=Standing.SHUTTING_DOWN, since=quorum.partition_epoch)
    quorum = evolve(quorum, registrations=replaced(quorum.registrations, broker, registration))
    return evolve(partition, quorum=quorum, used=shutting_down(partition, broker, bounds))


SUCCESSOR = lambda bounds: Maybe(brokers(bounds))  # noqa: E731 - a domain


@action(actor="controller", broker=brokers, successor=SUCCESSOR)
def fence(
    partition: Partition, broker: int, successor: int | None, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """The controller fences a broker, because its session or its heartbeats have ended.

    Actor: the controller.
    Enabled: the broker is not fenced; it is down, or the budget of spurious fences allows it. If it leads, or is in
        the ISR of a leader that is fenced, the successor is one that a clean election may choose, or none if there is
        none.
    Effect: the broker is fenced and leaves the ISR, unless it is the last member. The controller publishes a new leader
        epoch if leadership has changed or, depending on the protocol, the ISR.
    Source: org.apache.kafka.controller.ReplicationControlManager#handleBrokerFenced (3.5),
        kafka.controller.KafkaController#onBrokerFailure (0.10.2 to 3.5).
    """
    if partition.quorum.registrations[broker].standing is Standing.FENCED:
        return None
    used = partition.used
    if partition.replicas[broker].is_up:
        if not bounds.spurious_fences:
            return None
        used = failing(partition, partition.spent("spurious_fences"), broker, bounds)
    after = without(partition, broker, successor, Standing.FENCED, protocol, bounds)
    return None if after is None else evolve(after, used=used)


@action(actor="controller", broker=brokers)
def unfence(partition: Partition, broker: int) -> Partition | None:
    """The controller unfences a broker.

    Actor: the controller.
    Enabled: the broker runs and is fenced.
    Effect: the broker is active: it may be elected, and it may join the ISR.
    Source: org.apache.kafka.controller.ReplicationControlManager#handleBrokerUnfenced (3.5),
        kafka.controller.KafkaController#onBrokerStartup (0.10.2).
    """
    registration = partition.quorum.registrations[broker]
    if registration.standing is not Standing.FENCED or not partition.replicas[broker].is_up:
        return None
    quorum = partition.quorum
    registration = evolve(registration, standing=Standing.ACTIVE, since=quorum.partition_epoch)
    return evolve(partition, quorum=evolve(quorum, registrations=replaced(quorum.registrations, broker, registration)))


@action(actor="controller", needs=lambda bounds: bounds.controlled_shutdowns, broker=brokers, successor=SUCCESSOR)
def begin_controlled_shutdown(
    partition: Partition, broker: int, successor: int | None, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A broker asks to be shut down, and the controller takes leadership and ISR membership from it.

    Actor: the controller.
    Enabled: the broker runs and is active. If it leads, the successor is one that a clean election may choose, or none
        if there is none.
    Effect: the broker is shutting down and may not join the ISR. If it was in the ISR, it leaves it, in a new leader
        epoch if the protocol starts one for that. If it led, its successor leads in a new leader epoch. Without a
        successor nobody leads, and the ISR or the ELR keeps the broker. With ZooKeeper it then goes on leading, and
        stops after its last retry.
    Source: kafka.controller.KafkaController#shutdownBroker (0.10.2), #doControlledShutdown (2.0.1),
        kafka.server.KafkaServer #controlledShutdown (2.0.1);
        org.apache.kafka.controller.ReplicationControlManager#handleBrokerInControlledShutdown (3.3.0; 3.5.1).
    """
    quorum = partition.quorum
    if quorum.registrations[broker].standing is not Standing.ACTIVE or not partition.replicas[broker].is_up:
        return None
    if protocol.by_zookeeper and quorum.leader == broker and successor is None:
        return without_successor(partition, broker, bounds)
    after = without(partition, broker, successor, Standing.SHUTTING_DOWN, protocol, bounds)
    return None if after is None else evolve(after, used=shutting_down(partition, broker, bounds))
