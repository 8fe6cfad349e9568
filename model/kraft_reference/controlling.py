"""Actions of the KRaft controller, which is one atomic actor here.

Source of all: github.com/Vanlightly/kafka-tlaplus, modules kafka_replication_v3_5 and kafka_replication_kip_966 with
their functions; the action's name there is given with each.
"""

from __future__ import annotations

from typing import Any

from highwater.model.kraft_reference.bounds import NOTHING, KraftBounds, brokers, incarnations, reassigned_sets
from highwater.model.kraft_reference.state import Change, Cluster, Registering, Registration, Status
from highwater.model.language.declarations import action
from highwater.model.language.domain import Maybe
from highwater.model.language.records import evolve, replaced


def candidates(bounds: Any) -> Maybe:
    """The domain of an elected leader: a broker, or None if the controller has no choice."""
    return Maybe(brokers(bounds))


def successors(bounds: Any) -> Maybe:
    """The domain of the leader after a reassignment: a broker, or None if the controller has no choice."""
    return Maybe(brokers(bounds) if bounds.reassignment_limit else NOTHING)


def appended(cluster: Cluster, bounds: KraftBounds, **changes: Any) -> Cluster:
    """The metadata log with one more record: the partition with some fields changed. KIP-966 also records the last
    known ELR.
    """
    before = cluster.partition
    after = evolve(before, left=(), rejections=(), **changes)
    if bounds.keeps_elr:
        known = (
            frozenset()
            if len(after.isr) >= bounds.min_isr
            else before.last_known_elr | (after.replicas & (before.elr - after.elr))
        )
        after = evolve(after, last_known_elr=known)
    return evolve(cluster, metadata_log=cluster.metadata_log + (after,))


def elr_after(before: Change, isr: frozenset[int], replicas: frozenset[int], bounds: KraftBounds) -> frozenset[int]:
    """The ELR after a change of the ISR: a replica that leaves a too small ISR joins it. Empty without KIP-966."""
    if not bounds.keeps_elr or len(isr) >= bounds.min_isr:
        return frozenset()
    return (before.elr & replicas) | ((before.isr & replicas) - isr)


def registered(cluster: Cluster, broker: int, registration: Registration) -> Cluster:
    return evolve(cluster, registrations=replaced(cluster.registrations, broker, registration))


def unfenced(cluster: Cluster, members: frozenset[int]) -> frozenset[int]:
    return frozenset(member for member in members if not cluster.registrations[member].fenced)


def after_broker_change(
    cluster: Cluster, isr: frozenset[int], elr: frozenset[int], candidate: int | None, bounds: KraftBounds
) -> Cluster | None:
    """The partition after a registration has changed, with the candidate as leader if the leader may not stay; None if
    the candidate may not lead.
    """
    before = cluster.partition
    if bounds.keeps_elr:
        electable, at_rest = isr or unfenced(cluster, elr), before.leader in isr
    else:
        electable = unfenced(cluster, isr)
        at_rest = before.leader in electable
    if at_rest or (before.leader is None and not electable):
        if candidate is not None:
            return None
        return cluster if isr == before.isr and elr == before.elr else appended(cluster, bounds, isr=isr, elr=elr)
    if not electable:
        if candidate is not None:
            return None
        return appended(cluster, bounds, isr=isr, elr=elr, leader=None, leader_epoch=before.leader_epoch + 1)
    if candidate not in electable:
        return None
    elected = isr | {candidate}
    return appended(
        cluster, bounds, isr=elected, elr=elr - elected, leader=candidate, leader_epoch=before.leader_epoch + 1
    )


def after_fencing(cluster: Cluster, broker: int, candidate: int | None, bounds: KraftBounds) -> Cluster | None:
    """The broker is fenced and leaves the ISR; in v3.5 its last member stays."""
    before = cluster.partition
    isr = before.isr if not bounds.keeps_elr and len(before.isr) == 1 else before.isr - {broker}
    changed = registered(cluster, broker, evolve(cluster.registrations[broker], fenced=True))
    return after_broker_change(changed, isr, elr_after(before, isr, before.replicas, bounds), candidate, bounds)


def after_unfencing(cluster: Cluster, candidate: int | None, bounds: KraftBounds) -> Cluster | None:
    """A broker is unfenced: a partition without a leader may get one."""
    before = cluster.partition
    if before.leader is not None:
        return cluster if candidate is None else None
    return after_broker_change(cluster, before.isr, before.elr, candidate, bounds)


@action(actor="controller", broker=brokers, candidate=candidates)
def fence(cluster: Cluster, broker: int, candidate: int | None, bounds: KraftBounds) -> Cluster | None:
    """The controller fences a broker.

    Actor: the controller.
    Enabled: the broker is not fenced; the limit is not reached; the controller may elect the candidate.
    Effect: the broker is fenced, leaves the ISR and any leadership.
    Abstracts: heartbeats and session timeouts; any broker may be fenced at any moment.
    Source: FenceBroker; org.apache.kafka.controller.ReplicationControlManager#handleBrokerFenced (3.5).
    """
    if cluster.registrations[broker].fenced or cluster.used.fences >= bounds.fence_broker_limit:
        return None
    changed = after_fencing(cluster, broker, candidate, bounds)
    return None if changed is None else evolve(changed, used=cluster.spent("fences"))


@action(actor="controller", broker=brokers, candidate=candidates)
def unfence(cluster: Cluster, broker: int, candidate: int | None, bounds: KraftBounds) -> Cluster | None:
    """The controller unfences a running broker.

    Actor: the controller.
    Enabled: the broker is fenced and runs; the controller may elect the candidate.
    Effect: the broker is unfenced. A partition without a leader gets one, if it can.
    Abstracts: heartbeats.
    Source: UnfenceBroker; org.apache.kafka.controller.ReplicationControlManager#handleBrokerUnfenced (3.5).
    """
    registration = cluster.registrations[broker]
    if not registration.fenced or cluster.brokers[broker].status is not Status.RUNNING:
        return None
    return after_unfencing(registered(cluster, broker, evolve(registration, fenced=False)), candidate, bounds)


@action(actor="controller", incarnation=incarnations, candidate=candidates)
def register(cluster: Cluster, incarnation: int, candidate: int | None, bounds: KraftBounds) -> Cluster | None:
    """The controller takes a broker's registration.

    Actor: the controller.
    Enabled: the incarnation's request is in flight, and the broker is fenced; the controller may elect the candidate.
    Effect: the broker is unfenced, under a new broker epoch. In KIP-966 a broker that was not shut down cleanly leaves
        ISR and ELR first.
    Abstracts: registration records; a broker is unfenced by registering.
    Source: ReceiveBrokerRegRequest; org.apache.kafka.controller.ClusterControlManager#registerBroker (3.5); KIP-966.
    """
    number = incarnation - 2
    if not 0 <= number < len(cluster.starts):
        return None
    start = cluster.starts[number]
    if start.stage is not Registering.REQUEST:
        return None
    broker = start.broker
    registration = cluster.registrations[broker]
    if not registration.fenced and registration.incarnation != incarnation:
        return None
    epoch = 2 + sum(other.stage is not Registering.REQUEST for other in cluster.starts)
    answered = evolve(start, stage=Registering.RESPONSE, broker_epoch=epoch, metadata_offset=len(cluster.metadata_log))
    changed = registered(cluster, broker, Registration(False, epoch, incarnation))
    changed = evolve(changed, starts=replaced(cluster.starts, number, answered))
    if bounds.keeps_elr and start.former_epoch == 0:
        before = cluster.partition
        return after_broker_change(changed, before.isr - {broker}, before.elr - {broker}, candidate, bounds)
    return after_unfencing(changed, candidate, bounds)


def is_valid(adding: frozenset[int], removing: frozenset[int], before: Change, bounds: KraftBounds) -> bool:
    """Whether a reassignment is valid."""
    if not (adding or removing) or len(before.replicas) + len(adding) - len(removing) < bounds.min_isr:
        return False
    return not adding & before.replicas and removing <= before.replicas


def leader_after(before: Change, isr: frozenset[int], successor: int | None) -> int | None:
    """The leader with another ISR: the present one if it is a member, else the successor; None if that one may not
    lead.
    """
    if before.leader in isr:
        return before.leader if successor is None else None
    return successor if successor in isr else None


@action(
    actor="controller",
    needs=lambda bounds: bounds.reassignment_limit,
    adding=reassigned_sets,
    removing=reassigned_sets,
    successor=successors,
)
def reassign(
    cluster: Cluster, adding: frozenset[int], removing: frozenset[int], successor: int | None, bounds: KraftBounds
) -> Cluster | None:
    """The controller begins a reassignment, and completes it at once if the ISR is already as required.

    Actor: the controller, on an operator's request.
    Enabled: none is in progress; the limit is not reached; the brokers to add are no replicas, those to remove are, and
        enough replicas remain.
    Effect: the added brokers are replicas. If the ISR is as required, the removed ones no longer are, in a new leader
        epoch.
    Source: PerformPartitionReassignment;
        org.apache.kafka.controller.PartitionReassignmentReplicas#maybeCompleteReassignment (3.5).
    """
    before = cluster.partition
    if cluster.used.reassignments >= bounds.reassignment_limit or before.adding or before.removing:
        return None
    if not is_valid(adding, removing, before, bounds):
        return None
    isr = before.isr - removing
    complete = adding <= isr and len(isr) >= bounds.min_isr
    leader = leader_after(before, isr if complete else before.isr, successor)
    if leader is None:
        return None
    grown = before.replicas | adding
    if complete:
        changed = completed(cluster, isr, grown - removing, leader, bounds)
    else:
        changed = appended(cluster, bounds, replicas=grown, leader=leader, adding=adding, removing=removing)
    return evolve(changed, used=cluster.spent("reassignments"))


def completed(
    cluster: Cluster, isr: frozenset[int], replicas: frozenset[int], leader: int, bounds: KraftBounds
) -> Cluster:
    """The partition after the reassignment has completed, in a new leader epoch."""
    before = cluster.partition
    return appended(
        cluster,
        bounds,
        replicas=replicas,
        isr=isr,
        elr=elr_after(before, isr, replicas, bounds),
        leader=leader,
        leader_epoch=before.leader_epoch + 1,
        adding=frozenset(),
        removing=frozenset(),
    )
