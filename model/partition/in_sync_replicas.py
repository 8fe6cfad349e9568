"""Changes of the ISR by AlterPartition (KIP-497): what a leader proposes, what the controller says, what the leader
makes of the answer.
"""

from __future__ import annotations

from collections.abc import Set

from model.language.declarations import action
from model.language.records import evolve, replaced
from model.log import NO_EPOCH, brokers
from model.partition.bounds import PartitionBounds
from model.partition.controlling import with_isr
from model.partition.high_watermark import with_leader
from model.partition.membership import (
    commits_move_high_watermark,
    committed,
    is_outdated,
    may_join,
    shrinkable,
)
from model.partition.messages import Answer, IsrChange
from model.partition.protocol import AheadOfController, AlterError, LeaderChecks, PartitionProtocol, PendingPolicy
from model.partition.state import Leadership, Partition, Replica, Standing


def pending_with(replica: Replica, isr: Set[int], protocol: PartitionProtocol) -> Set[int] | None:
    """What a leader has proposed once it proposes another ISR; None if it has to wait until it knows what became of an
    earlier one.

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
    """How many ISR changes of one leader may be on their way."""
    return protocol.pending_policy


def is_superseded(leadership: Leadership, change: IsrChange, protocol: PartitionProtocol) -> bool:
    """Whether a leader has given up a proposal before its answer came: it ignores the answer then.

    Source: kafka.cluster.Partition#sendAlterIsrRequest (2.7; 3.0), #submitAlterPartition (3.5.1).
    """
    return pending_policy(protocol) is PendingPolicy.SINGLE_INFLIGHT and leadership.pending != change.isr


def takes_back(answer: Answer, protocol: PartitionProtocol) -> bool:
    """Whether a leader takes its proposal back after a failure. Source:
    kafka.cluster.Partition#handleAlterPartitionError (3.5).
    """
    return answer is Answer.INELIGIBLE or protocol.on_alter_error is AlterError.REVERT_ANY


def seems_eligible(partition: Partition, replica: Replica, follower: int, protocol: PartitionProtocol) -> bool:
    """Whether a leader may know nothing against a follower: what it was told after its partition epoch it need not have
    heard yet.

    Source: kafka.cluster.Partition#isReplicaIsrEligible (3.3; 3.5 with the broker epoch), by the broker's metadata
        cache.
    """
    rule, registration = protocol.leader_checks, partition.quorum.registrations[follower]
    if rule is LeaderChecks.NOTHING or replica.leadership.partition_epoch < registration.since:
        return True
    if registration.standing is not Standing.ACTIVE:
        return False
    return rule is LeaderChecks.STANDING or replica.followers[follower].broker_epoch == registration.broker_epoch


def proposed(
    partition: Partition, leader: int, isr: Set[int], protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """The state once a leader has asked for another ISR; None if it may not ask now."""
    replica = partition.replicas[leader]
    leadership, pending = replica.leadership, pending_with(replica, isr, protocol)
    if pending is None:
        return None
    epochs = tuple(replica.followers[each].broker_epoch if each in isr else NO_EPOCH for each in range(bounds.brokers))
    change = IsrChange(Answer.NONE, replica.leader_epoch, leadership.partition_epoch, isr, epochs)
    replica = evolve(
        replica, leadership=evolve(leadership, pending=pending, candidate=None), changes=replica.changes + (change,)
    )
    if commits_move_high_watermark(protocol):
        return partition.with_replica(leader, replica)
    return with_leader(partition, leader, replica, protocol, bounds)


# The leader asks the controller: KIP-497


@action(actor="leader", leader=brokers, follower=brokers)
def propose_expansion(
    partition: Partition, leader: int, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader asks the controller to take a follower that has caught up into the ISR.

    Actor: the leader.
    Enabled: it presumes leadership and has no other proposal open; the follower is assigned, not in the ISR, has caught
        up and is not known to be fenced or shutting down.
    Effect: the request is on its way; from now on the high watermark waits for the follower, too.
    Source: kafka.cluster.Partition#maybeExpandIsr, #expandIsr (2.7 to 3.0), #prepareIsrExpand (3.1 to 3.8); KIP-497.
    """
    if leader == follower or not partition.leads(leader):
        return None
    replica = partition.replicas[leader]
    if not (
        replica.leadership.candidate == follower
        if protocol.reads_follower_twice
        else may_join(replica, follower, protocol)
    ):
        return None
    if not seems_eligible(partition, replica, follower, protocol):
        passed_over = evolve(replica, leadership=evolve(replica.leadership, candidate=None))
        return partition.with_replica(leader, passed_over) if protocol.reads_follower_twice else None
    return proposed(partition, leader, replica.leadership.isr | {follower}, protocol, bounds)


@action(actor="leader", leader=brokers, follower=brokers)
def find_in_sync(partition: Partition, leader: int, follower: int, protocol: PartitionProtocol) -> Partition | None:
    """A leader sees that a follower has caught up, and will look at its broker epoch later.

    Actor: the leader.
    Enabled: as `propose_expansion`.
    Effect: the follower is the one to propose. Until then the leader neither appends nor commits, but it does take note
        of fetches.
    Source: kafka.cluster.Partition#maybeExpandIsr before KAFKA-15221 (3.5).
    """
    if leader == follower or not partition.leads(leader):
        return None
    replica = partition.replicas[leader]
    leadership = replica.leadership
    if leadership.candidate is not None or not may_join(replica, follower, protocol):
        return None
    if pending_with(replica, frozenset(), protocol) is None:
        return None
    return partition.with_replica(leader, evolve(replica, leadership=evolve(replica.leadership, candidate=follower)))


@action(actor="leader", needs=lambda bounds: bounds.isr_shrinks, leader=brokers, follower=brokers)
def propose_shrink(
    partition: Partition, leader: int, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A leader asks the controller to take a follower that lags out of the ISR.

    Actor: the leader.
    Enabled: it presumes leadership and has no other proposal open; the follower is in the ISR and not known to have all
        of the log.
    Effect: the request is on its way; the high watermark waits for the follower until the answer.
    Abstracts: replica.lag.time.max.ms; a follower that lags may be found so at any moment, as often as the budget
        allows.
    Source: kafka.cluster.Partition#maybeShrinkIsr, #shrinkIsr (2.7 to 3.0), #prepareIsrShrink (3.1 to 3.8).
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

    The whole ISR has to be eligible, not only who joins it; a member that has not fetched from this leader has no
    broker epoch to compare.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterIsr (3.0), #validateAlterPartitionData (3.3;
        3.5.1) with #ineligibleReplicasForIsr (3.5.1); kafka.controller.KafkaController#processAlterIsr (2.7.0),
        #tryProcessAlterPartition (3.5.1).
    """
    quorum = partition.quorum
    if change.leader_epoch != partition.leader_epoch or quorum.leader != leader:
        return Answer.STALE
    if is_done_already(partition, change, protocol):
        return Answer.SUCCESS
    if is_outdated(change.partition_epoch, quorum, protocol):
        return Answer.STALE
    if not change.isr <= quorum.assignment or leader not in change.isr:
        return Answer.STALE
    for member in change.isr:
        registration, fetched_in = quorum.registrations[member], change.broker_epochs[member]
        if protocol.controller_rejects_ineligible and registration.standing is not Standing.ACTIVE:
            return Answer.INELIGIBLE
        if (
            protocol.controller_checks_broker_epoch
            and fetched_in != NO_EPOCH
            and fetched_in != registration.broker_epoch
        ):
            return Answer.INELIGIBLE
    return Answer.SUCCESS


def is_done_already(partition: Partition, change: IsrChange, protocol: PartitionProtocol) -> bool:
    """Whether the controller finds that the ISR is what a leader asks for, and says so without another change.

    Source: kafka.api.LeaderAndIsr#equalsIgnoreZk (2.7.0), #equalsAllowStalePartitionEpoch (3.5.1).
    """
    return protocol.repeated_change_succeeds and change.isr == partition.quorum.isr


@action(actor="controller", leader=brokers)
def alter_partition(
    partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """The controller handles a leader's request for another ISR.

    Actor: the controller.
    Enabled: the request is on its way, whether or not the leader still runs.
    Effect: it is refused for an old leader epoch, an old partition epoch, or a member that is fenced, shutting down or
        another incarnation; or the ISR is what was asked for, in a new partition epoch, and in a new leader epoch where
        a smaller ISR takes one. The answer is on its way.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterIsr (2.8 to 3.1), #alterPartition (3.2 to 3.8).
    """
    changes = partition.replicas[leader].changes
    number = next((number for number, change in enumerate(changes) if change.answer is Answer.NONE), None)
    if number is None:
        return None
    change = changes[number]
    answer = answer_to(partition, leader, change, protocol)
    after, epoch, leader_epoch = partition, change.partition_epoch, change.leader_epoch
    if answer is Answer.SUCCESS and is_done_already(partition, change, protocol):
        epoch = partition.quorum.partition_epoch
    elif answer is Answer.SUCCESS:
        after = with_isr(partition, change.isr, protocol, bounds)
        epoch, leader_epoch = after.quorum.partition_epoch, after.leader_epoch
    answered = evolve(
        change,
        answer=answer,
        partition_epoch=epoch,
        leader_epoch=leader_epoch,
        broker_epochs=(NO_EPOCH,) * bounds.brokers,
    )
    changes = replaced(changes, number, answered)
    return after.with_replica(leader, evolve(after.replicas[leader], changes=changes))


@action(actor="leader", leader=brokers)
def receive_isr_answer(
    partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A broker handles the controller's answer to its request for another ISR.

    Actor: the leader, if it still is.
    Enabled: the answer is on its way, and the broker runs.
    Effect: an answer from another leader epoch, older than what it knows, or to what it has given up, is dropped.
        Success commits the ISR, and the high watermark may move. INELIGIBLE_REPLICA takes the proposal back; after any
        other refusal the proposal stays open until newer metadata arrive.
    Source: kafka.cluster.Partition#handleAlterIsrResponse (2.7 to 3.0), #handleAlterPartitionUpdate and
        #handleAlterPartitionError (3.2 to 3.8).
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
    if is_superseded(leadership, change, protocol):
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
    """A leader does not learn in time what became of its request for another ISR: a timeout, or a controller that is
    none any more.

    Actor: the network.
    Enabled: the leader has a request open.
    Effect: it keeps the proposal and asks again. If the request was not yet handled, that is the request still on its
        way; if it was granted, the new one is refused for its partition epoch, unless the controller sees that nothing
        is left to change. A protocol that takes the proposal back forgets that the request may yet be granted.
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


@action(actor="controller", needs=lambda bounds: bounds.alter_failures, leader=brokers)
def ask_deposed_controller(partition: Partition, leader: int, protocol: PartitionProtocol) -> Partition | None:
    """A controller that was deposed answers a request in a leader epoch that it has not heard of.

    Actor: the deposed controller.
    Enabled: the request is on its way, from a leader epoch after the first.
    Effect: NOT_CONTROLLER makes the leader ask again, so that nothing changes; FENCED_LEADER_EPOCH ends the request for
        good.
    Source: org.apache.kafka.controller.ReplicationControlManager#validateAlterPartitionData (3.3.0; KAFKA-14154).
    """
    replica = partition.replicas[leader]
    if protocol.ahead_of_controller_error is AheadOfController.NOT_CONTROLLER or not replica.changes:
        return None
    change = replica.changes[0]
    if change.answer is not Answer.NONE or change.leader_epoch == 0:
        return None
    after = evolve(partition, used=partition.spent("alter_failures"))
    return after.with_replica(
        leader, evolve(replica, changes=replaced(replica.changes, 0, evolve(change, answer=Answer.STALE)))
    )
