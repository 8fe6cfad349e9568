"""AlterPartition: a leader proposes an ISR, and the controller answers.

Source of all: github.com/Vanlightly/kafka-tlaplus, modules kafka_replication_v3_5 and kafka_replication_kip_966 with
their functions; the action's name there is given with each.
"""

from __future__ import annotations

from highwater.model.kraft_reference.bounds import KraftBounds, brokers, metadata_offsets, timed_out_sets
from highwater.model.kraft_reference.controlling import appended, completed, elr_after, leader_after, successors
from highwater.model.kraft_reference.logs import gone_on, with_isr
from highwater.model.kraft_reference.messages import NOT_A_MEMBER, Answer, Proposal, Rejection
from highwater.model.kraft_reference.protocol import KraftProtocol
from highwater.model.kraft_reference.state import Broker, Cluster, Follower
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced


def is_caught_up(replica: Broker, follower: Follower) -> bool:
    """Whether a follower has reached both the leader's high watermark and the start of its epoch."""
    reached = follower.log_end_offset
    return reached is not None and reached >= replica.high_watermark and reached >= (replica.epoch_start or 0)


def error_of(
    cluster: Cluster, leader: int, known: int, members: tuple[int, ...], protocol: KraftProtocol
) -> Answer | None:
    """Why the controller rejects a proposal that a leader made for a partition epoch; None if it does not.

    Source: ValidateAlterPartitionRequest;
        org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData (3.5).
    """
    if cluster.partition.leader != leader or members[leader] != cluster.registrations[leader].broker_epoch:
        return Answer.FENCED
    if protocol.partition_epoch_check and known != len(cluster.metadata_log):
        return Answer.FENCED
    for broker, epoch in enumerate(members):
        if epoch != NOT_A_MEMBER:
            registration = cluster.registrations[broker]
            if registration.fenced or (protocol.broker_epoch_check and epoch not in (0, registration.broker_epoch)):
                return Answer.INELIGIBLE
    return None


@action(actor="leader", leader=brokers, timed_out=timed_out_sets)
def propose_isr(
    cluster: Cluster, leader: int, timed_out: frozenset[int], bounds: KraftBounds, protocol: KraftProtocol
) -> Cluster | None:
    """A leader asks for an ISR without lagging members and with all caught-up followers.

    Actor: the leader.
    Enabled: it runs, has no open proposal, and would change the ISR. If the same proposal was rejected before, it would
        not be now.
    Effect: the proposal is in flight. The high watermark waits for its members from now on.
    Abstracts: replica.lag.time.max.ms: within the limit, any member may lag.
    Source: SendAlterPartitionRequest; kafka.cluster.Partition#submitAlterPartition (3.5); KIP-903 for the broker
        epochs.
    """
    replica = cluster.brokers[leader]
    if not replica.leads or replica.proposal is not None or leader in timed_out:
        return None
    metadata = cluster.metadata_of(leader)
    if timed_out and (cluster.used.shrinks >= bounds.leader_shrink_isr_limit or not timed_out <= metadata.isr):
        return None
    members = []
    for broker in range(bounds.broker_count):
        follower, epoch = replica.followers[broker], NOT_A_MEMBER
        if broker == leader:
            epoch = replica.broker_epoch
        elif broker in metadata.replicas:
            if broker in metadata.isr:
                epoch = NOT_A_MEMBER if broker in timed_out else 0
            elif is_caught_up(replica, follower):
                epoch = follower.broker_epoch
        members.append(epoch)
    proposal = Proposal(tuple(members), Answer.NONE, 0)
    if proposal.isr == metadata.isr:
        return None
    again = any(rejection.members == proposal.members for rejection in replica.rejections)
    if again and error_of(cluster, leader, replica.known, proposal.members, protocol) is not None:
        return None
    changed = cluster.with_broker(leader, evolve(replica, proposal=proposal))
    return changed if metadata.isr <= proposal.isr else evolve(changed, used=cluster.spent("shrinks"))


def answered(
    cluster: Cluster,
    leader: int,
    known: int,
    proposal: Proposal,
    successor: int | None,
    bounds: KraftBounds,
    protocol: KraftProtocol,
) -> tuple[Cluster, Proposal] | None:
    """The cluster after the controller has answered a proposal, and the proposal with the answer; None if the successor
    may not lead.
    """
    members = tuple(proposal.members)
    error = error_of(cluster, leader, known, members, protocol)
    if error is not None:
        return None if successor is not None else (cluster, evolve(proposal, answer=error))
    before, isr = cluster.partition, proposal.isr
    final = isr - before.removing
    complete = (before.adding or before.removing) and before.adding <= final and len(final) >= bounds.min_isr
    following = leader_after(before, final if complete else isr, successor)
    if following is None:
        return None
    if complete:
        changed = completed(cluster, final, before.replicas - before.removing, following, bounds)
    else:
        changed = appended(
            cluster, bounds, isr=isr, elr=elr_after(before, isr, before.replicas, bounds), leader=following
        )
    at = len(changed.metadata_log) if bounds.accepts_stale_proposals else 0
    return changed, evolve(proposal, answer=Answer.ACCEPTED, accepted_at=at)


@action(actor="controller", leader=brokers, successor=successors)
def answer_proposal(
    cluster: Cluster, leader: int, successor: int | None, bounds: KraftBounds, protocol: KraftProtocol
) -> Cluster | None:
    """The controller answers the proposal that a leader waits for.

    Actor: the controller.
    Enabled: the proposal is in flight; the successor may lead after it.
    Effect: the controller accepts it and appends a record, or rejects it.
    Source: ReceiveAlterPartitionRequest; org.apache.kafka.controller.ReplicationControlManager#alterPartition (3.5).
    """
    replica = cluster.brokers[leader]
    if replica.proposal is None or replica.proposal.answer is not Answer.NONE:
        return None
    found = answered(cluster, leader, replica.known, replica.proposal, successor, bounds, protocol)
    if found is None:
        return None
    changed, proposal = found
    return changed.with_broker(leader, evolve(replica, proposal=proposal))


@action(actor="controller", needs=lambda bounds: bounds.keeps_messages, offset=metadata_offsets, successor=successors)
def answer_left_proposal(
    cluster: Cluster, offset: int, successor: int | None, bounds: KraftBounds, protocol: KraftProtocol
) -> Cluster | None:
    """The controller answers a proposal whose leader no longer waits: it has learned of another partition epoch, or is
    down.

    Actor: the controller.
    Enabled: the proposal of that partition epoch is still in flight; the successor may lead after it.
    Effect: the controller rejects it as too old. Without the check of partition epochs it may accept it.
    Source: ReceiveAlterPartitionRequest; org.apache.kafka.controller.ReplicationControlManager#alterPartition (3.5).
    """
    if not 0 < offset <= len(cluster.metadata_log):
        return None
    record = cluster.metadata_log[offset - 1]
    if not record.left or record.left[0].answer is not Answer.NONE or record.leader is None:
        return None
    found = answered(cluster, record.leader, offset, record.left[0], successor, bounds, protocol)
    if found is None:
        return None
    changed, proposal = found
    return evolve(changed, metadata_log=replaced(changed.metadata_log, offset - 1, evolve(record, left=(proposal,))))


def noted(rejections: tuple[Rejection, ...], proposal: Proposal) -> tuple[Rejection, ...]:
    """The rejections with one more, in the order of their members."""
    members = tuple(proposal.members)
    fenced, ineligible = proposal.answer is Answer.FENCED, proposal.answer is Answer.INELIGIBLE
    found, placed = [], False
    for each in rejections:
        theirs = tuple(each.members)
        if theirs == members:
            each, placed = Rejection(members, each.fenced or fenced, each.ineligible or ineligible), True
        elif not placed and members < theirs:
            found.append(Rejection(members, fenced, ineligible))
            placed = True
        found.append(each)
    return tuple(found) if placed else (*found, Rejection(members, fenced, ineligible))


@action(actor="leader", leader=brokers)
def learn_answer(cluster: Cluster, leader: int, bounds: KraftBounds) -> Cluster | None:
    """A leader learns the answer to its proposal.

    Actor: the leader.
    Enabled: it runs and leads; the response is in flight. An acceptance must be of its leader epoch.
    Effect: it takes over the accepted ISR, or keeps the one before; its high watermark may advance.
    Source: ReceiveAlterPartitionResponse; kafka.cluster.Partition#handleAlterPartitionUpdate (3.5).
    """
    replica = cluster.brokers[leader]
    proposal = replica.proposal
    if not replica.leads or proposal is None or proposal.answer is Answer.NONE:
        return None
    metadata = cluster.metadata_of(leader)
    if proposal.answer is Answer.ACCEPTED:
        at = proposal.accepted_at or replica.known + 1
        record = cluster.metadata_log[at - 1]
        if record.leader_epoch != metadata.leader_epoch:
            return None
        changed = with_isr(gone_on(cluster, leader, bounds, learned=True), leader, record.isr, bounds)
        return changed.with_broker(leader, evolve(changed.brokers[leader], known=at))
    rejections = noted(replica.rejections, proposal)
    changed = cluster.with_broker(leader, evolve(replica, proposal=None, rejections=rejections))
    return with_isr(changed, leader, metadata.isr, bounds)


STEPS = (propose_isr, answer_proposal, answer_left_proposal, learn_answer)
