"""AlterPartition (KIP-497) on the controller's side: the changes of the ISR that it accepts, and its answers."""

from __future__ import annotations

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced
from highwater.model.log import NO_EPOCH, brokers
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.controlling import with_isr
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


@action(actor="controller", leader=brokers)
def alter_partition(
    partition: Partition, leader: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """The controller handles a leader's request for another ISR.

    Actor: the controller.
    Enabled: the request is in flight; the leader need not run any more.
    Effect: the controller refuses an old leader epoch, an old partition epoch, and a member that is fenced, shutting
        down or another incarnation. Else the ISR is as asked for, in a new partition epoch, and in a new leader epoch
        if the ISR has shrunk and the protocol starts an epoch for that. The answer is in flight.
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
