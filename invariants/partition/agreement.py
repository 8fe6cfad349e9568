"""What leaders, replicas and the controller agree on: the leader, the ISR, and eligible replicas."""

from __future__ import annotations

from highwater.invariants.partition.terms import the_leader
from highwater.model.language.declarations import Truth, Witness, invariant, step_property
from highwater.model.log import brokers
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.high_watermark import maximal_isr, min_isr
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Partition, Process, Standing


@invariant(leader=brokers, member=brokers)
def commits_wait_for_every_candidate(
    partition: Partition, leader: int, member: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Truth:
    """S8: the leader waits for every replica that the controller may elect: its maximal ISR contains the true ISR.

    It also contains the ELR, unless the ISR is below min.insync.replicas, so that nothing is committed. Leaders keep a
    maximal ISR for this (KIP-497).
    Kind: state.
    When false: the leader can commit a record that the next leader lacks.
    Source: KIP-497; ValidHighWatermark of AsyncIsr in github.com/hachikuji/kafka-specification.
    """
    replica, quorum = the_leader(partition, leader), partition.quorum
    if replica is None:
        return True
    leadership = replica.leadership
    eligible = member in quorum.elr and len(leadership.isr) >= min_isr(leadership.assignment, protocol, bounds)
    if not (member in quorum.isr or eligible) or member in maximal_isr(leadership, protocol):
        return True
    return Witness(
        "b{member} may be elected, but b{leader}, the leader, does not wait for it", member=member, leader=leader
    )


@invariant(one=brokers, other=brokers)
def one_leader_per_epoch(partition: Partition, one: int, other: int) -> Truth:
    """S9: no two running brokers presume leadership in the same leader epoch.

    The controller publishes each epoch once, with one leader. Only a deposed leader's unconditional write to ZooKeeper
    can overwrite that leader.

    Kind: state.
    When false: two brokers append records in one epoch.
    Source: KAFKA-428; the leader epoch of kafka.controller.KafkaController (0.8 to 3.8).
    """
    if one >= other or not partition.leads(one) or not partition.leads(other):
        return True
    epoch = partition.replicas[one].leader_epoch
    return epoch != partition.replicas[other].leader_epoch or Witness(
        "b{one} and b{other} both lead epoch {e}", one=one, other=other, e=epoch
    )


@step_property(leader=brokers)
def stale_leaders_expose_nothing(before: Partition, after: Partition, leader: int) -> Truth:
    """S10: once the leader of an epoch has moved its high watermark, no leader of an earlier epoch moves its own.

    Kind: step.
    When false: a deposed leader exposes records that the new one may lack.
    Source: KIP-320.
    """
    replica = after.replicas[leader]
    if replica.high_watermark <= before.replicas[leader].high_watermark or not after.leads(leader):
        return True
    if replica.leader_epoch >= before.clients.commit_epoch:
        return True
    return Witness(
        "b{leader}, leader of epoch {epoch}, moves its high watermark after the leader of epoch {newer} has",
        leader=leader,
        epoch=replica.leader_epoch,
        newer=before.clients.commit_epoch,
    )


@invariant(broker=brokers)
def isr_is_valid(partition: Partition, broker: int) -> Truth:
    """S16: the leader is in the ISR and not fenced; members of the ISR are assigned, and none of several members is
    fenced or shutting down.

    Kind: state.
    When false: the ISR has a broker that the controller knows to be gone.
    Source: KIP-841; org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData (3.3).
    """
    quorum = partition.quorum
    standing = quorum.registrations[broker].standing
    if quorum.leader == broker and standing is Standing.FENCED:
        return Witness("b{broker} leads, and is fenced", broker=broker)
    if broker not in quorum.isr:
        return quorum.leader != broker or Witness("b{broker} leads, and is not in the ISR", broker=broker)
    if broker not in quorum.assignment:
        return Witness("b{broker} is in the ISR, and not assigned", broker=broker)
    if standing is Standing.ACTIVE or len(quorum.isr) == 1:
        return True
    return Witness("b{broker} is in the ISR with others, and is {how}", broker=broker, how=standing.value)


@invariant(needs=lambda bounds: bounds.leader_recovery)
def recovering_leaders_are_alone(partition: Partition) -> Truth:
    """S22: while the metadata say that the leader has to recover from an unclean election, nobody else is in the ISR.

    Kind: state.
    When false: replicas count as in sync with a leader that has not settled what its log is.
    Source: KIP-704; org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData (3.3.0 to 4.3.1).
    """
    quorum = partition.quorum
    return not (quorum.recovering and len(quorum.isr) > 1) or Witness(
        "the leader has to recover, and others are in the ISR"
    )


@invariant()
def a_possible_leader_is_known(partition: Partition) -> Truth:
    """S16 and S21: ISR and ELR are not both empty; if they are, the controller knows the last leader.

    Kind: state.
    When false: the controller knows no broker that has the committed records.
    Source: KIP-966.
    """
    quorum = partition.quorum
    return bool(quorum.isr or quorum.elr or quorum.last_known_leader is not None) or Witness(
        "ISR and ELR are empty, and no last known leader is left"
    )


@invariant(broker=brokers)
def no_broker_halts(partition: Partition, broker: int) -> Truth:
    """S24: no broker halts because of one partition.

    Kind: state.
    When false: all other partitions of the broker are offline, too.
    Source: KAFKA-3410, KAFKA-7414.
    """
    halted = partition.replicas[broker].process is Process.HALTED
    return not halted or Witness("b{broker} has halted, because it is ahead of its leader", broker=broker)
