"""AlterPartition (KIP-497) on the leader's side: when it proposes another ISR, and what it does with the answer."""

from __future__ import annotations

from collections.abc import Set

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.log import NO_EPOCH, brokers
from highwater.model.partition.alter_partition import is_done_already
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.high_watermark import with_leader
from highwater.model.partition.membership import (
    all_shrinkable,
    commits_move_high_watermark,
    committed,
    may_join,
    shrinkable,
)
from highwater.model.partition.messages import Answer, IsrChange
from highwater.model.partition.protocol import AlterError, LeaderChecks, PartitionProtocol, PendingPolicy
from highwater.model.partition.state import Leader, Leadership, Partition, Standing


def pending_with(replica: Leader, isr: Set[int], protocol: PartitionProtocol) -> Set[int] | None:
    """A leader's open proposal after it has proposed another ISR; None if it has to wait for the answer to an earlier
    one.

    Source: kafka.cluster.Partition#canAddReplicaToIsr, #needsShrinkIsr (2.7 to 3.7), AsyncIsr for the union.
    """
    pending, policy = replica.leadership.pending, pending_policy(protocol)
    if policy is PendingPolicy.OVERWRITE:
        return isr
    if policy is PendingPolicy.UNION:
        return isr if pending is None else isr | pending
    if pending is not None:
        return None
    if protocol.inflight_cleared_by_leader_and_isr:
        return None if any(change.leader_epoch == replica.leader_epoch for change in replica.changes) else isr
    return None if replica.changes else isr


def pending_policy(protocol: PartitionProtocol) -> PendingPolicy:
    """What a leader does with an open proposal when it wants another ISR."""
    return protocol.pending_policy


def is_superseded(leadership: Leadership, change: IsrChange, protocol: PartitionProtocol) -> bool:
    """Whether a leader ignores an answer, because it has given up the proposal by now.

    Source: kafka.cluster.Partition#sendAlterIsrRequest (2.7; 3.0), #submitAlterPartition (3.5.1).
    """
    return pending_policy(protocol) is PendingPolicy.SINGLE_INFLIGHT and leadership.pending != change.isr


def takes_back(answer: Answer, protocol: PartitionProtocol) -> bool:
    """Whether a leader takes its proposal back after an error. Source:
    kafka.cluster.Partition#handleAlterPartitionError (3.5).
    """
    return answer is Answer.INELIGIBLE or protocol.on_alter_error is AlterError.REVERT_ANY


def seems_eligible(partition: Partition, replica: Leader, follower: int, protocol: PartitionProtocol) -> bool:
    """Whether a leader may take a follower for eligible. It may not have learned yet of a fence or a restart that came
    after the partition epoch that it knows.

    Source: kafka.cluster.Partition#isReplicaIsrEligible (3.3; 3.5 with the broker epoch), by the broker's metadata
        cache. With ZooKeeper that cache has brokers that shut down among those that are alive.
    """
    rule, registration = protocol.leader_checks, partition.quorum.registrations[follower]
    if rule is LeaderChecks.NOTHING or replica.leadership.partition_epoch <= registration.since:
        return True
    if registration.standing is Standing.FENCED:
        return False
    if registration.standing is Standing.SHUTTING_DOWN:
        return rule is LeaderChecks.ALIVE
    known = replica.followers[follower]
    return rule is not LeaderChecks.BROKER_EPOCH or known.broker_epoch == registration.broker_epoch


def proposed(
    partition: Partition,
    leader: int,
    replica: Leader,
    isr: frozenset[int],
    protocol: PartitionProtocol,
    bounds: PartitionBounds,
) -> Partition | None:
    """The state after a leader has asked for another ISR; None if it may not ask now."""
    leadership, pending = replica.leadership, pending_with(replica, isr, protocol)
    if pending is None:
        return None
    epochs = tuple(replica.followers[each].broker_epoch if each in isr else NO_EPOCH for each in range(bounds.brokers))
    change = IsrChange(
        Answer.NONE, replica.leader_epoch, leadership.partition_epoch, isr, epochs, leadership.recovering
    )
    replica = evolve(
        replica, leadership=evolve(leadership, pending=pending, candidate=None), changes=replica.changes + (change,)
    )
    if commits_move_high_watermark(protocol):
        return partition.with_replica(leader, replica)
    return with_leader(partition, leader, replica, protocol, bounds)


@action(actor="leader", leader=brokers, follower=brokers)
def propose_expansion(
    partition: Partition, leader: int, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader asks the controller to add a caught-up follower to the ISR.

    Actor: the leader.
    Enabled: it presumes leadership and has no other proposal open. The follower is assigned, not in the ISR, has caught
        up, and is alive, and under KRaft not shutting down, as far as the leader knows.
    Effect: the request is in flight. From now on the high watermark waits for the follower, too.
    Source: kafka.cluster.Partition#maybeExpandIsr, #expandIsr (2.7 to 3.0), #prepareIsrExpand (3.1 to 3.8); KIP-497.
    """
    replica = partition.presumed_leader(leader)
    if leader == follower or replica is None:
        return None
    if not (
        replica.leadership.candidate == follower
        if protocol.reads_follower_twice
        else may_join(replica, follower, protocol, bounds)
    ):
        return None
    if not seems_eligible(partition, replica, follower, protocol):
        passed_over = evolve(replica, leadership=evolve(replica.leadership, candidate=None))
        return partition.with_replica(leader, passed_over) if protocol.reads_follower_twice else None
    return proposed(partition, leader, replica, replica.leadership.isr | {follower}, protocol, bounds)


@action(actor="leader", leader=brokers, follower=brokers)
def find_in_sync(
    partition: Partition, leader: int, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader finds that a follower has caught up. It reads the follower's broker epoch in a later step.

    Actor: the leader.
    Enabled: as `propose_expansion`.
    Effect: the leader will propose the follower. Until then it neither appends nor commits, but notes fetches.
    Source: kafka.cluster.Partition#maybeExpandIsr before KAFKA-15221 (3.5).
    """
    replica = partition.presumed_leader(leader)
    if leader == follower or replica is None:
        return None
    leadership = replica.leadership
    if leadership.candidate is not None or not may_join(replica, follower, protocol, bounds):
        return None
    if pending_with(replica, frozenset(), protocol) is None:
        return None
    return partition.with_replica(leader, evolve(replica, leadership=evolve(replica.leadership, candidate=follower)))


@action(actor="leader", needs=lambda bounds: bounds.isr_shrinks, leader=brokers, follower=brokers)
def propose_shrink(
    partition: Partition, leader: int, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader asks the controller to remove a lagging follower from the ISR.

    Actor: the leader.
    Enabled: it presumes leadership and has no other proposal open. The follower is in the ISR, and may lack records as
        far as the leader knows; the budget allows it.
    Effect: the request is in flight. The high watermark waits for the follower until the answer.
    Abstracts: replica.lag.time.max.ms: the leader may find that a follower lags at any moment.
    Source: kafka.cluster.Partition#maybeShrinkIsr, #shrinkIsr (2.7 to 3.0), #prepareIsrShrink (3.1 to 3.8).
    """
    replica = partition.presumed_leader(leader)
    if replica is None or not shrinkable(replica, leader, follower, protocol):
        return None
    after = proposed(partition, leader, replica, replica.leadership.isr - {follower}, protocol, bounds)
    return None if after is None else evolve(after, used=partition.spent("isr_shrinks"))


@action(actor="leader", needs=lambda bounds: bounds.joint_shrinks, leader=brokers)
def propose_joint_shrink(
    partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader asks the controller to remove several lagging followers from the ISR at once.

    Actor: the leader.
    Enabled: as `propose_shrink`, for several followers; the budget allows it.
    Effect: one request is in flight, for all of them.
    Abstracts: that some of them may lag and others not.
    Source: kafka.cluster.Partition#maybeShrinkIsr, #shrinkIsr (2.7 to 3.0), #prepareIsrShrink (3.1 to 3.8).
    """
    replica = partition.presumed_leader(leader)
    lagging = None if replica is None else all_shrinkable(replica, leader, protocol)
    if replica is None or lagging is None:
        return None
    after = proposed(partition, leader, replica, replica.leadership.isr - lagging, protocol, bounds)
    return None if after is None else evolve(after, used=partition.spent("joint_shrinks"))


@action(actor="leader", leader=brokers)
def receive_isr_answer(
    partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A broker handles the controller's answer to its request for another ISR.

    Actor: the broker that asked, which need not lead any more.
    Enabled: the answer is in flight, and the broker runs.
    Effect: the broker drops an answer from another leader epoch, one older than what it knows, and one to a proposal
        that it has given up. Success commits the ISR, and the high watermark may move. After INELIGIBLE_REPLICA the
        leader takes its proposal back. After any other error the proposal stays open until newer metadata arrive.
    Source: kafka.cluster.Partition#handleAlterIsrResponse (2.7 to 3.0), #handleAlterPartitionUpdate and
        #handleAlterPartitionError (3.2 to 3.8).
    """
    replica = partition.replicas[leader]
    number = next((number for number, change in enumerate(replica.changes) if change.answer is not Answer.NONE), None)
    if number is None or not replica.is_up:
        return None
    change = replica.changes[number]
    changes = replica.changes[:number] + replica.changes[number + 1 :]
    after = partition.with_replica(leader, evolve(replica, changes=changes))
    leading = after.presumed_leader(leader)
    if leading is None or change.leader_epoch != leading.leader_epoch:
        return after
    leadership = leading.leadership
    if is_superseded(leadership, change, protocol):
        return after
    if change.answer is Answer.SUCCESS:
        if change.partition_epoch < leadership.partition_epoch:
            return after
        if change.partition_epoch == leadership.partition_epoch and not protocol.duplicate_update_completes:
            return after
        return committed(partition, leader, change.isr, change.partition_epoch, protocol, bounds, leading)
    if takes_back(change.answer, protocol):
        return after.with_replica(leader, evolve(leading, leadership=evolve(leadership, pending=None)))
    return after


@action(actor="network", needs=lambda bounds: bounds.alter_failures, leader=brokers)
def lose_isr_answer(partition: Partition, leader: int, protocol: PartitionProtocol) -> Partition | None:
    """A leader's request for another ISR times out, or its answer is lost.

    Actor: the network.
    Enabled: the leader has an open request; the budget allows it.
    Effect: the leader keeps its proposal and asks again. If the controller has not handled the request, the new one is
        the same. If the controller has granted it, the new one is refused for its partition epoch, unless the
        controller finds that the ISR is already as proposed. Under a protocol that takes the proposal back after any
        error, the controller may still grant the request.
    Source: kafka.server.DefaultAlterPartitionManager#sendRequest, kafka.cluster.Partition#handleAlterPartitionError
        (3.5).
    """
    replica = partition.replicas[leader]
    if not replica.changes or replica.leadership is None or replica.leadership.pending is None:
        return None
    after = evolve(partition, used=partition.spent("alter_failures"))
    change = replica.changes[0]
    if takes_back(Answer.NONE, protocol):
        return after.with_replica(leader, evolve(replica, leadership=evolve(replica.leadership, pending=None)))
    if change.answer is not Answer.SUCCESS:
        return None
    unchanged = change.leader_epoch == partition.leader_epoch and is_done_already(partition, change, protocol)
    if unchanged and change.partition_epoch == partition.quorum.partition_epoch:
        return None  # the second answer is the first
    asked_again = evolve(change, answer=Answer.STALE)  # the same request again meets a newer partition epoch
    if unchanged:
        asked_again = evolve(change, partition_epoch=partition.quorum.partition_epoch)
    return after.with_replica(leader, evolve(replica, changes=replaced(replica.changes, 0, asked_again)))
