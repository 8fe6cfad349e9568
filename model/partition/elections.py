"""Elections of a leader: clean ones, of the last known leader, unclean ones, and preferred replica elections."""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import brokers
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.controlling import elected, may_lead, published, with_members
from highwater.model.partition.protocol import LastKnownLeader, PartitionProtocol
from highwater.model.partition.state import Partition, Quorum, Standing
from highwater.model.partition_rules import last_known_leader_may_lead


def may_lead_again(quorum: Quorum, broker: int, protocol: PartitionProtocol) -> bool:
    """Whether the controller may elect a broker as the last known leader, without unclean.leader.election.enable."""
    if protocol.last_known_leader is LastKnownLeader.NEVER or quorum.last_known_leader != broker:
        return False
    return last_known_leader_may_lead(
        quorum.isr,
        quorum.elr,
        lambda: quorum.registrations[broker].standing is Standing.ACTIVE,
        must_be_active=protocol.last_known_leader is LastKnownLeader.ACTIVE,
    )


def elected_alone(partition: Partition, quorum: Quorum, leader: int, bounds: PartitionBounds) -> Partition:
    """The state after the election of a leader that may lack committed records: it is the only member of the ISR, the
    ELR is empty, and the record says that the leader has to recover (KIP-704, 3.2).

    Args:
        quorum: the record so far.
    Source: org.apache.kafka.controller.PartitionChangeBuilder#tryElection (3.5.1; 4.1.0);
        kafka.controller.Election#leaderForOffline (3.2.0 to 3.9).
    """
    alone = evolve(quorum, leader=leader, isr=frozenset({leader}), elr=frozenset(), last_known_leader=None)
    return published(partition, evolve(alone, recovering=bool(bounds.leader_recovery)))


def in_next_record(quorum: Quorum, protocol: PartitionProtocol, bounds: PartitionBounds) -> Quorum:
    """The record as the controller looks at it before it elects. The ISR that an unclean election has left may be
    what a reassignment in progress waits for.

    Source: org.apache.kafka.controller.PartitionChangeBuilder#completeReassignmentIfNeeded (3.5.1 to 4.4.0).
    """
    return with_members(quorum, quorum.isr, frozenset(), protocol, bounds) if quorum.removing else quorum


@action(actor="controller", candidate=brokers)
def elect(
    partition: Partition, candidate: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """The controller elects a leader for a partition that has none.

    Actor: the controller.
    Enabled: there is no leader; the candidate is active, and in the ISR, or in the ELR while the ISR is empty.
    Effect: the candidate leads a new leader epoch. If it comes from the ELR, it is the only member of the ISR.
    Source: kafka.controller.PartitionLeaderElectionAlgorithms#offlinePartitionLeaderElection (2.0 to 3.8),
        org.apache.kafka.controller.PartitionChangeBuilder#electAnyLeader (3.8).
    """
    if partition.quorum.leader is not None:
        return None
    quorum = in_next_record(partition.quorum, protocol, bounds)
    if not may_lead(quorum, candidate):
        return None
    return published(partition, elected(quorum, candidate, protocol, bounds))


@action(actor="controller", candidate=brokers)
def elect_last_known_leader(
    partition: Partition, candidate: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """The controller elects the last known leader, because ISR and ELR are empty.

    Actor: the controller.
    Enabled: there is no leader; ISR and ELR are empty; the candidate led last, and is active unless the protocol does
        not check that.
    Effect: the candidate leads a new leader epoch and is the only member of the ISR, even if it has lost records.
    Source: org.apache.kafka.controller.PartitionChangeBuilder#electAnyLeader, #canElectLastKnownLeader (3.8.0; 4.1.0);
        KIP-966.
    """
    if partition.quorum.leader is not None or not may_lead_again(partition.quorum, candidate, protocol):
        return None
    return elected_alone(partition, partition.quorum, candidate, bounds)


@action(actor="controller", candidate=brokers)
def elect_uncleanly(
    partition: Partition, candidate: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """The controller elects a replica that may lack committed records, because no clean election is possible.

    Actor: the controller.
    Enabled: unclean election is configured, and the protocol's controllers read that; there is no leader, and no broker
        that a clean election may choose; the candidate is assigned and active. Since 3.9 a controller with KRaft also
        looks every five minutes for partitions without a leader.
    Effect: the candidate leads a new leader epoch and is the only member of the ISR.
    Source: kafka.controller.OfflinePartitionLeaderSelector (0.10.2);
        org.apache.kafka.controller.ReplicationControlManager#generateLeaderAndIsrUpdates, #maybeElectUncleanLeaders
        (3.9.0).
    """
    if partition.quorum.leader is not None:
        return None
    quorum = in_next_record(partition.quorum, protocol, bounds)
    if candidate not in quorum.assignment:
        return None
    if quorum.registrations[candidate].standing is not Standing.ACTIVE:
        return None
    if any(may_lead(quorum, each) or may_lead_again(quorum, each, protocol) for each in range(bounds.brokers)):
        return None
    return elected_alone(partition, quorum, candidate, bounds)


@action(actor="controller", needs=lambda bounds: bounds.leader_moves, candidate=brokers)
def move_leadership(partition: Partition, candidate: int) -> Partition | None:
    """The controller moves leadership to another member of the ISR: a preferred replica election.

    Actor: the controller.
    Enabled: there is a leader; the candidate is another active member of the ISR; the budget allows it.
    Effect: the candidate leads a new leader epoch; the ISR stays as it is.
    Source: kafka.controller.PreferredReplicaPartitionLeaderSelector (0.10.2),
        PartitionChangeBuilder#electPreferredLeader (3.8).
    """
    quorum = partition.quorum
    if quorum.leader is None or quorum.leader == candidate or not may_lead(quorum, candidate):
        return None
    return evolve(published(partition, evolve(quorum, leader=candidate)), used=partition.spent("leader_moves"))
