"""AlterPartition (KIP-497) on the controller's side: the changes of the ISR that it accepts, and its answers."""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.log import NO_EPOCH, brokers
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.controlling import SUCCESSOR, completes_removal, with_isr, with_members, with_successor
from highwater.model.partition.membership import judged_epoch
from highwater.model.partition.messages import Answer, IsrChange
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Partition, Quorum, Standing
from highwater.model.partition_rules import AheadOfController, AlterPartitionError, Led, alter_partition_error

ENDING_ERRORS = frozenset(
    {
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_ID",
        "FENCED_LEADER_EPOCH",
        "INVALID_UPDATE_VERSION",
        "INVALID_REQUEST",
        "NEW_LEADER_ELECTED",
    }
)
"""Errors after which a leader asks no more, and keeps its proposal until it reads newer metadata: `Answer.STALE`. After
INELIGIBLE_REPLICA it takes the proposal back; after any other it asks again.

Source: kafka.cluster.Partition#handleAlterPartitionError (3.3.0 to 4.4.0).
"""


def answer_to(partition: Partition, leader: int, change: IsrChange, protocol: PartitionProtocol) -> Answer:
    """The controller's answer to a leader that asks for another ISR, as far as the leader acts on it."""
    match error_of(partition, leader, change, protocol):
        case AlterPartitionError.NONE:
            return Answer.SUCCESS
        case AlterPartitionError.INELIGIBLE_REPLICA:
            return Answer.INELIGIBLE
    return Answer.STALE


def error_of(partition: Partition, leader: int, change: IsrChange, protocol: PartitionProtocol) -> AlterPartitionError:
    """The error in the controller's answer to a leader that asks for another ISR.

    Every member of that ISR has to be eligible, new or not. A member that has not fetched from this leader has no
    broker epoch to compare.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterIsr (3.0), #validateAlterPartitionData (3.3;
        3.5.1) with #ineligibleReplicasForIsr (3.5.1); kafka.controller.KafkaController#processAlterIsr (2.7.0),
        #tryProcessAlterPartition (3.5.1).
    """
    quorum = partition.quorum
    return alter_partition_error(
        Led(leader, change.leader_epoch, judged_epoch(change.partition_epoch, quorum, protocol)),
        Led(quorum.leader, partition.leader_epoch, quorum.partition_epoch),
        is_done_already=lambda: is_done_already(partition, change, protocol),
        is_valid=lambda: change.isr <= quorum.assignment and leader in change.isr,
        is_recovery_valid=lambda: not change.recovering or (quorum.recovering and len(change.isr) == 1),
        is_eligible=lambda: all(_is_eligible(member, change, quorum, protocol) for member in change.isr),
    )


def _is_eligible(member: int, change: IsrChange, quorum: Quorum, protocol: PartitionProtocol) -> bool:
    registration, fetched_in = quorum.registrations[member], change.broker_epochs[member]
    if protocol.controller_rejects_ineligible and registration.standing is not Standing.ACTIVE:
        return False
    checked = protocol.controller_checks_broker_epoch and fetched_in != NO_EPOCH
    return not checked or fetched_in == registration.broker_epoch


def is_done_already(partition: Partition, change: IsrChange, protocol: PartitionProtocol) -> bool:
    """Whether the controller grants a request without a change, because the ISR is already as asked for.

    Source: kafka.api.LeaderAndIsr#equalsIgnoreZk (2.7.0), #equalsAllowStalePartitionEpoch (3.5.1).
    """
    return protocol.repeated_change_succeeds and change.isr == partition.quorum.isr


def unanswered(partition: Partition, leader: int) -> tuple[int, IsrChange] | None:
    """A broker's first request that the controller has not answered, with its number."""
    changes = enumerate(partition.replicas[leader].changes)
    return next(((number, change) for number, change in changes if change.answer is Answer.NONE), None)


def takes_leader_away(partition: Partition, leader: int, change: IsrChange, protocol: PartitionProtocol) -> bool:
    """Whether an ISR completes a reassignment that takes the leader away which asks for it."""
    quorum = partition.quorum
    if leader not in quorum.removing or not completes_removal(quorum, change.isr, protocol):
        return False
    return answer_to(partition, leader, change, protocol) is Answer.SUCCESS


@action(actor="controller", leader=brokers)
def alter_partition(
    partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """The controller handles a leader's request for another ISR.

    Actor: the controller.
    Enabled: the request is in flight; the leader need not run any more. `complete_removal` has the case that the leader
        is taken away by it.
    Effect: the controller refuses an old leader epoch, an old partition epoch, and a member that is fenced, shutting
        down or another incarnation. Else the ISR is as asked for, in a new partition epoch, and in a new leader epoch
        if the ISR has shrunk and the protocol starts an epoch for that. If a reassignment waits for this ISR, it is
        complete: the replica that it takes away has left, in a new leader epoch. With its first request a leader has
        recovered from an unclean election; one that has not cannot have others in its ISR. The answer is in flight.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterIsr (2.8 to 3.1), #alterPartition (3.2 to 3.8).
    """
    asked = unanswered(partition, leader)
    if asked is None or takes_leader_away(partition, leader, asked[1], protocol):
        return None
    number, change = asked
    answer = answer_to(partition, leader, change, protocol)
    after, epoch, leader_epoch = partition, change.partition_epoch, change.leader_epoch
    if answer is Answer.SUCCESS and is_done_already(partition, change, protocol):
        epoch = partition.quorum.partition_epoch
    elif answer is Answer.SUCCESS:
        after = with_isr(partition, change.isr, protocol, bounds, recovering=change.recovering)
        epoch, leader_epoch = after.quorum.partition_epoch, after.leader_epoch
        if partition.quorum.removing:
            change = evolve(change, isr=after.quorum.isr)
    change = evolve(change, answer=answer, partition_epoch=epoch, leader_epoch=leader_epoch)
    return with_answer(after, leader, number, change, bounds)


def with_answer(
    partition: Partition, leader: int, number: int, change: IsrChange, bounds: PartitionBounds
) -> Partition:
    """The state with a request answered. Which incarnations it was about matters no more."""
    replica = partition.replicas[leader]
    answered = evolve(change, broker_epochs=(NO_EPOCH,) * bounds.brokers)
    return partition.with_replica(leader, evolve(replica, changes=replaced(replica.changes, number, answered)))


@action(actor="controller", needs=lambda bounds: bounds.removals, leader=brokers, successor=SUCCESSOR)
def complete_removal(
    partition: Partition, leader: int, successor: int | None, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """The controller handles a leader's request for an ISR that completes a reassignment without that leader.

    Actor: the controller.
    Enabled: the request is in flight, and the controller would grant it; a reassignment is in progress that takes the
        leader away, and waits for this ISR. The successor is one that a clean election may choose.
    Effect: leader and ISR change in one record: the leader leaves assignment and ISR, and its successor leads in a new
        leader epoch. The answer is the error NEW_LEADER_ELECTED, although the ISR is as asked for but for the leader.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterPartition (3.5.1 to 4.4.0),
        kafka.cluster.Partition#handleAlterPartitionError (3.5.1 to 4.4.0).
    """
    asked = unanswered(partition, leader)
    if asked is None or not takes_leader_away(partition, leader, asked[1], protocol):
        return None
    number, change = asked
    changed = with_members(partition.quorum, change.isr, frozenset(), protocol, bounds)
    changed = evolve(changed, recovering=change.recovering)
    after = with_successor(partition, changed, successor, protocol, bounds)
    return None if after is None else with_answer(after, leader, number, evolve(change, answer=Answer.STALE), bounds)


@action(actor="controller", needs=lambda bounds: bounds.alter_failures, leader=brokers)
def ask_deposed_controller(partition: Partition, leader: int, protocol: PartitionProtocol) -> Partition | None:
    """A deposed controller answers a request from a leader epoch that it does not know.

    Actor: the deposed controller.
    Enabled: the request is in flight, from a leader epoch after the first; the budget allows it.
    Effect: FENCED_LEADER_EPOCH ends the request. After NOT_CONTROLLER the leader asks again: nothing changes.
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
