"""Changes of the ISR by AlterPartition (KIP-497): what a leader proposes, what the controller says, what the leader makes of the answer."""

from __future__ import annotations

from collections.abc import Set

from model.domain import action, evolve, replaced
from model.log import NO_EPOCH, brokers
from model.partition.bounds import PartitionBounds
from model.partition.controlling import with_isr
from model.partition.high_watermark import with_leader
from model.partition.messages import Answer, IsrChange
from model.partition.protocol import AheadOfController, AlterError, LeaderChecks, PartitionProtocol, PendingPolicy
from model.partition.state import Partition, Quorum, Replica, Standing


def pending_with(replica: Replica, isr: Set[int], protocol: PartitionProtocol) -> Set[int] | None:
    """What a leader has proposed once it proposes another ISR; None if it has to wait until it knows what became of an earlier one.

    Source: kafka.cluster.Partition#canAddReplicaToIsr, #needsShrinkIsr (2.7 to 3.7), AsyncIsr for the union.
    """
    pending = replica.leadership.pending
    if protocol.pending_policy is PendingPolicy.OVERWRITE:
        return isr
    if protocol.pending_policy is PendingPolicy.UNION:
        return isr if pending is None else isr | pending
    if pending is not None:
        return None
    if protocol.inflight_cleared_by_leader_and_isr:
        return None if any(change.leader_epoch == replica.leader_epoch for change in replica.changes) else isr
    return None if replica.changes else isr


def looks_twice(protocol: PartitionProtocol) -> bool:
    """Whether a leader looks at a follower's offset and at its broker epoch at different moments."""
    return not protocol.leader_snapshot_atomic


def takes_back(answer: Answer, protocol: PartitionProtocol) -> bool:
    """Whether a leader takes its proposal back after a failure. Source: kafka.cluster.Partition#handleAlterPartitionError (3.5)."""
    return answer is Answer.INELIGIBLE or protocol.on_alter_error is AlterError.REVERT_ANY


def is_outdated(partition_epoch: int, quorum: Quorum, protocol: PartitionProtocol) -> bool:
    """Whether a change is refused because it was made for another version of the ISR."""
    return protocol.isr_cas and partition_epoch != quorum.partition_epoch


def is_in_sync(replica: Replica, follower: int, protocol: PartitionProtocol) -> bool:
    """Whether a leader may take a follower into the ISR, as far as its log goes.

    Source: kafka.cluster.Partition#maybeExpandIsr (0.10.2; 2.1), #isFollowerInSync (3.5). Kafka asks when a fetch arrives, so that what
    was known before leadership changed does not count; hence `expand_requires_fetch_in_epoch`.
    """
    known = replica.followers[follower]
    if known.log_end_offset is None or known.log_end_offset < replica.high_watermark:
        return False
    if not known.for_isr:
        return False
    if protocol.expand_requires_fetch_in_epoch and not known.since_change:
        return False
    return not protocol.expand_requires_epoch_start or known.log_end_offset >= replica.leadership.start_offset


def seems_eligible(partition: Partition, replica: Replica, follower: int, protocol: PartitionProtocol) -> bool:
    """Whether a leader may know nothing against a follower: what it was told after its partition epoch it need not have heard yet.

    Source: kafka.cluster.Partition#isReplicaIsrEligible (3.3; 3.5 with the broker epoch), by the broker's metadata cache.
    """
    rule, registration = protocol.leader_checks, partition.quorum.registrations[follower]
    if rule is LeaderChecks.NOTHING or replica.leadership.partition_epoch < registration.since:
        return True
    if registration.standing is not Standing.ACTIVE:
        return False
    return rule is LeaderChecks.STANDING or replica.followers[follower].broker_epoch == registration.broker_epoch


def proposed(partition: Partition, leader: int, isr: Set[int], protocol: PartitionProtocol, bounds: PartitionBounds) -> Partition | None:
    """The state once a leader has asked for another ISR; None if it may not ask now."""
    replica = partition.replicas[leader]
    leadership, pending = replica.leadership, pending_with(replica, isr, protocol)
    if pending is None:
        return None
    epochs = tuple(replica.followers[each].broker_epoch if each in isr else NO_EPOCH for each in range(bounds.brokers))
    change = IsrChange(Answer.NONE, replica.leader_epoch, leadership.partition_epoch, isr, epochs)
    replica = evolve(replica, leadership=evolve(leadership, pending=pending, candidate=None), changes=replica.changes + (change,))
    return with_leader(partition, leader, replica, protocol, bounds)


# The leader asks the controller: KIP-497


@action(actor="leader", leader=brokers, follower=brokers)
def propose_expansion(
    partition: Partition, leader: int, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader asks the controller to take a follower that has caught up into the ISR.

    Actor: the leader.
    Enabled: it presumes leadership and has no other proposal open; the follower is assigned, not in the ISR, has caught up and is not
        known to be fenced or shutting down.
    Effect: the request is on its way; from now on the high watermark waits for the follower, too.
    Source: kafka.cluster.Partition#maybeExpandIsr, #prepareIsrExpand (2.7; 3.5); KIP-497.
    """
    if leader == follower or not partition.leads(leader):
        return None
    replica = partition.replicas[leader]
    if follower in replica.leadership.isr or follower not in replica.leadership.assignment:
        return None
    found = replica.leadership.candidate == follower if looks_twice(protocol) else is_in_sync(replica, follower, protocol)
    if not found:
        return None
    if not seems_eligible(partition, replica, follower, protocol):
        passed_over = evolve(replica, leadership=evolve(replica.leadership, candidate=None))
        return partition.with_replica(leader, passed_over) if looks_twice(protocol) else None
    return proposed(partition, leader, replica.leadership.isr | {follower}, protocol, bounds)


@action(actor="leader", leader=brokers, follower=brokers)
def find_in_sync(partition: Partition, leader: int, follower: int, protocol: PartitionProtocol) -> Partition | None:
    """A leader sees that a follower has caught up, and will look at its broker epoch later.

    Actor: the leader.
    Enabled: as `propose_expansion`.
    Effect: the follower is the one to propose. Until then the leader neither appends nor commits, but it does take note of fetches.
    Source: kafka.cluster.Partition#maybeExpandIsr before KAFKA-15221 (3.5).
    """
    if leader == follower or not partition.leads(leader):
        return None
    replica = partition.replicas[leader]
    leadership = replica.leadership
    if leadership.candidate is not None or follower in leadership.isr or follower not in leadership.assignment:
        return None
    if not is_in_sync(replica, follower, protocol) or pending_with(replica, frozenset(), protocol) is None:
        return None
    return partition.with_replica(leader, evolve(replica, leadership=evolve(replica.leadership, candidate=follower)))


def shrinkable(replica: Replica, leader: int, follower: int, protocol: PartitionProtocol) -> bool:
    """Whether a leader may find that a follower in its ISR lags.

    Until 2.0 it looked at the time since the follower was last caught up, and at nothing else.
    Source: kafka.cluster.Partition#getOutOfSyncReplicas (0.10.2; 2.1 to 3.8).
    """
    if leader == follower or follower not in replica.leadership.isr:
        return False
    return not protocol.shrink_spares_caught_up or replica.followers[follower].log_end_offset != replica.log_end_offset


@action(actor="leader", needs=lambda bounds: bounds.isr_shrinks, leader=brokers, follower=brokers)
def propose_shrink(
    partition: Partition, leader: int, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader asks the controller to take a follower that lags out of the ISR.

    Actor: the leader.
    Enabled: it presumes leadership and has no other proposal open; the follower is in the ISR and not known to have all of the log.
    Effect: the request is on its way; the high watermark waits for the follower until the answer.
    Abstracts: replica.lag.time.max.ms; a follower that lags may be found so at any moment, as often as the budget allows.
    Source: kafka.cluster.Partition#maybeShrinkIsr, #prepareIsrShrink (2.7; 3.5).
    """
    if not partition.leads(leader):
        return None
    replica = partition.replicas[leader]
    if not shrinkable(replica, leader, follower, protocol):
        return None
    after = proposed(partition, leader, replica.leadership.isr - {follower}, protocol, bounds)
    return None if after is None else evolve(after, used=partition.spent("isr_shrinks"))


def answer_to(partition: Partition, leader: int, change: IsrChange, protocol: PartitionProtocol) -> Answer:
    """What the controller says to a leader that asks for another ISR.

    The whole ISR has to be eligible, not only who joins it; a member that has not fetched from this leader has no broker epoch to compare.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterIsr (3.0), #validateAlterPartitionData (3.3; 3.5) with
        #ineligibleReplicasForIsr (3.5).
    """
    quorum = partition.quorum
    if change.leader_epoch != partition.leader_epoch or quorum.leader != leader:
        return Answer.STALE
    if is_outdated(change.partition_epoch, quorum, protocol):
        return Answer.STALE
    for member in change.isr:
        registration, fetched_in = quorum.registrations[member], change.broker_epochs[member]
        if protocol.controller_rejects_ineligible and registration.standing is not Standing.ACTIVE:
            return Answer.INELIGIBLE
        if protocol.controller_checks_broker_epoch and fetched_in != NO_EPOCH and fetched_in != registration.broker_epoch:
            return Answer.INELIGIBLE
        if member not in quorum.assignment:
            return Answer.STALE
    return Answer.SUCCESS


@action(actor="controller", leader=brokers)
def alter_partition(partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds) -> Partition | None:
    """The controller handles a leader's request for another ISR.

    Actor: the controller.
    Enabled: the request is on its way, whether or not the leader still runs.
    Effect: it is refused for an old leader epoch, an old partition epoch, or a member that is fenced, shutting down or another incarnation;
        or the ISR is what was asked for, in a new partition epoch, and in a new leader epoch where a smaller ISR takes one. The answer is
        on its way.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterPartition (3.0 to 3.7).
    """
    changes = partition.replicas[leader].changes
    number = next((number for number, change in enumerate(changes) if change.answer is Answer.NONE), None)
    if number is None:
        return None
    change = changes[number]
    answer = answer_to(partition, leader, change, protocol)
    after, epoch, leader_epoch = partition, change.partition_epoch, change.leader_epoch
    if answer is Answer.SUCCESS:
        after = with_isr(partition, change.isr, protocol, bounds)
        epoch, leader_epoch = after.quorum.partition_epoch, after.leader_epoch
    answered = evolve(change, answer=answer, partition_epoch=epoch, leader_epoch=leader_epoch, broker_epochs=(NO_EPOCH,) * bounds.brokers)
    changes = replaced(changes, number, answered)
    return after.with_replica(leader, evolve(after.replicas[leader], changes=changes))


def committed(partition: Partition, leader: int, isr: Set[int], partition_epoch: int, protocol: PartitionProtocol, bounds: PartitionBounds,
              replica: Replica) -> Partition:  # fmt: skip
    """The state once a leader knows that an ISR is the committed one. Source: kafka.cluster.Partition#handleAlterPartitionUpdate (3.5)."""
    leadership = evolve(replica.leadership, isr=isr, pending=None, partition_epoch=partition_epoch, candidate=None)
    replica = evolve(replica, leadership=leadership)
    if protocol.high_watermark_recheck_on_isr_commit:
        return with_leader(partition, leader, replica, protocol, bounds)
    return partition.with_replica(leader, replica)


@action(actor="leader", leader=brokers)
def receive_isr_answer(partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds) -> Partition | None:
    """A broker handles the controller's answer to its request for another ISR.

    Actor: the leader, if it still is.
    Enabled: the answer is on its way, and the broker runs.
    Effect: an answer from another leader epoch, or older than what it knows, is dropped. Success commits the ISR, and the high watermark
        may move. INELIGIBLE_REPLICA takes the proposal back; after any other refusal the proposal stays open until the metadata tell more.
    Source: kafka.cluster.Partition#handleAlterPartitionUpdate, #handleAlterPartitionError (2.7; 3.1; 3.5).
    """
    replica = partition.replicas[leader]
    number = next((number for number, change in enumerate(replica.changes) if change.answer is not Answer.NONE), None)
    if number is None or not replica.is_up:
        return None
    change = replica.changes[number]
    replica = evolve(replica, changes=replica.changes[:number] + replica.changes[number + 1 :])
    leadership = replica.leadership
    after = partition.with_replica(leader, replica)
    if leadership is None or change.leader_epoch != replica.leader_epoch:
        return after
    if change.answer is Answer.SUCCESS:
        if change.partition_epoch < leadership.partition_epoch:
            return after
        if change.partition_epoch == leadership.partition_epoch and not protocol.duplicate_update_completes:
            return after
        return committed(partition, leader, change.isr, change.partition_epoch, protocol, bounds, replica)
    if takes_back(change.answer, protocol):
        return after.with_replica(leader, evolve(replica, leadership=evolve(leadership, pending=None)))
    return after


@action(actor="network", needs=lambda bounds: bounds.alter_failures, leader=brokers)
def lose_isr_answer(partition: Partition, leader: int, protocol: PartitionProtocol) -> Partition | None:
    """A leader does not learn in time what became of its request for another ISR: a timeout, or a controller that is none any more.

    Actor: the network.
    Enabled: the leader has a request open.
    Effect: it keeps the proposal and asks again. If the request was not yet handled, that is the request still on its way; if it was
        granted, the new one is refused for its partition epoch. A protocol that takes the proposal back forgets that the request may
        yet be granted.
    Source: kafka.server.DefaultAlterPartitionManager#sendRequest, kafka.cluster.Partition#handleAlterPartitionError (3.5).
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
    asked_again = evolve(change, answer=Answer.STALE)  # the same request again meets a newer partition epoch
    return after.with_replica(leader, evolve(replica, changes=replaced(replica.changes, 0, asked_again)))


@action(actor="controller", needs=lambda bounds: bounds.alter_failures, leader=brokers)
def ask_deposed_controller(partition: Partition, leader: int, protocol: PartitionProtocol) -> Partition | None:
    """A controller that was deposed answers a request in a leader epoch that it has not heard of.

    Actor: the deposed controller.
    Enabled: the request is on its way, from a leader epoch after the first.
    Effect: NOT_CONTROLLER makes the leader ask again, so that nothing changes; FENCED_LEADER_EPOCH ends the request for good.
    Source: org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData (3.3.0; KAFKA-14154).
    """
    replica = partition.replicas[leader]
    if protocol.ahead_of_controller_error is AheadOfController.NOT_CONTROLLER or not replica.changes:
        return None
    change = replica.changes[0]
    if change.answer is not Answer.NONE or change.leader_epoch == 0:
        return None
    after = evolve(partition, used=partition.spent("alter_failures"))
    return after.with_replica(leader, evolve(replica, changes=replaced(replica.changes, 0, evolve(change, answer=Answer.STALE))))


@action(actor="time", needs=lambda bounds: bounds.caught_up_times, leader=brokers, follower=brokers)
def outlast_lag_time(partition: Partition, leader: int, follower: int) -> Partition | None:
    """A follower has not caught up for so long that the leader no longer counts it as one that keeps up.

    Actor: time.
    Enabled: the leader counts it so, and does not know it to have all of the log.
    Effect: it does not hold the high watermark back any more, unless it is in the ISR.
    Source: kafka.cluster.Replica#isCaughtUp (2.1 to 3.7).
    """
    replica = partition.replicas[leader]
    if leader == follower or not partition.leads(leader):
        return None
    known = replica.followers[follower]
    if not known.caught_up or known.log_end_offset == replica.log_end_offset:
        return None
    followers = replaced(replica.followers, follower, evolve(known, caught_up=False))
    return partition.with_replica(leader, evolve(replica, followers=followers))
