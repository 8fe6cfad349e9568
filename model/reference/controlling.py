"""Steps of the controller and of a replica that takes up leadership: the same in every protocol of the family.

Source of all: github.com/hachikuji/kafka-specification, module KafkaReplication; the action's name there is given with
each.
"""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import Record, brokers, epochs
from highwater.model.reference.state import Cluster, LeaderAndIsr


def announced(cluster: Cluster, leader: int | None, isr: frozenset[int]) -> Cluster:
    """The quorum changes, the leader epoch goes up by one, and a LeaderAndIsr request announces it."""
    request = LeaderAndIsr(leader, isr)
    return evolve(cluster, quorum=request, requests=cluster.requests + (request,))


@action(actor="controller", leader=brokers)
def elect_leader(cluster: Cluster, leader: int) -> Cluster | None:
    """The controller elects a member of the ISR.

    Actor: controller.
    Enabled: the broker is in the true ISR and is not the true leader.
    Effect: it is the true leader in a new leader epoch; a request says so.
    Abstracts: why (failure, preferred leader, balancing); any ISR member may be elected at any moment.
    Source: ControllerElectLeader; kafka.controller.PartitionStateMachine#electLeaderForPartition (0.11).
    """
    if leader not in cluster.quorum.isr or cluster.quorum.leader == leader:
        return None
    return announced(cluster, leader, cluster.quorum.isr)


@action(actor="controller", broker=brokers)
def take_from_isr(cluster: Cluster, broker: int) -> Cluster | None:
    """The controller takes a failed broker out of the ISR, and out of leadership if it leads.

    Actor: controller.
    Enabled: the broker is in the true ISR, or is the true leader.
    Effect: it is no longer in the ISR, except that a leader who is the last member stays; no leader if it led; a new
        leader epoch.
    Abstracts: the failure itself; the broker may go on as a zombie.
    Source: ControllerShrinkIsr; kafka.controller.KafkaController#removeReplicaFromIsr (0.11).
    """
    quorum = cluster.quorum
    if quorum.leader == broker:
        last = quorum.isr == frozenset({broker})
        return announced(cluster, None, quorum.isr if last else quorum.isr - {broker})
    if broker not in quorum.isr:
        return None
    return announced(cluster, quorum.leader, quorum.isr - {broker})


@action(actor="leader", leader=brokers, epoch=epochs)
def become_leader(cluster: Cluster, leader: int, epoch: int) -> Cluster | None:
    """A replica reads a request that makes it leader.

    Actor: the replica.
    Enabled: the request of that epoch names it, and the epoch is newer than the replica's.
    Effect: it presumes leadership with the request's ISR; its high watermark stays, which is usually behind the true
        one.
    Source: BecomeLeader; kafka.cluster.Partition#makeLeader (0.11).
    """
    replica = cluster.replicas[leader]
    if epoch <= replica.leader_epoch or epoch > cluster.leader_epoch:
        return None
    request = cluster.requests[epoch]
    if request.leader != leader:
        return None
    return cluster.with_replica(leader, evolve(replica, leader=leader, leader_epoch=epoch, isr=request.isr))


@action(actor="leader", leader=brokers)
def write(cluster: Cluster, leader: int) -> Cluster | None:
    """A presumed leader appends a producer's record.

    Actor: the leader, on a producer's request.
    Enabled: it presumes leadership.
    Effect: a new record in the leader's epoch at its log end offset.
    Abstracts: acks and batches.
    Source: LeaderWrite; kafka.cluster.Partition#appendRecordsToLeader (0.11).
    """
    replica = cluster.replicas[leader]
    if not cluster.presumes_leadership(leader):
        return None
    record = Record(cluster.next_record_id, replica.leader_epoch)
    appended = cluster.with_replica(leader, evolve(replica, log=replica.log + (record,)))
    return evolve(appended, next_record_id=cluster.next_record_id + 1)


def with_isr(cluster: Cluster, leader: int, isr: frozenset[int]) -> Cluster:
    """The true leader changes the ISR: quorum and leader agree at once, and the leader epoch stays."""
    changed = cluster.with_replica(leader, evolve(cluster.replicas[leader], isr=isr))
    return evolve(changed, quorum=evolve(cluster.quorum, isr=isr))
