"""Rules of Kafka's controller about one partition that several models follow. They are held against Kafka's own classes
with `kraft.partition_change`, which is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from enum import Enum
from typing import NamedTuple


class AheadOfController(Enum):
    """What a deposed controller answers to a request from an epoch that it does not know."""

    FENCED = "fenced"
    NOT_CONTROLLER = "not-controller"


def elr_after(elr: Set[int], before: Set[int], isr: Set[int], ineligible: Set[int], min_isr: int) -> Set[int]:
    """The eligible leader replicas once a partition has another ISR: those from before, and who leaves an ISR below
    min.insync.replicas, unless it is ineligible. There are none while the ISR is large enough.

    Args:
        elr, before: ELR and ISR before the change.
        isr: the ISR after it.
        ineligible: brokers that may not be in the ELR, such as those that may have lost records.
    Source: org.apache.kafka.controller.PartitionChangeBuilder#maybePopulateTargetElr (3.7.0 to 4.3.1); KIP-966.
    """
    return frozenset() if len(isr) >= min_isr else (elr | before) - isr - ineligible


def may_lead_if_active(replica: int, isr: Collection[int], elr: Collection[int]) -> bool:
    """Whether a clean election may choose a replica that is active: it is in the ISR, or in the ELR while the ISR is
    empty.

    Source: org.apache.kafka.controller.PartitionChangeBuilder#isValidNewLeader (3.7.0 to 4.3.1); KIP-966.
    """
    return replica in isr or (replica in elr and not isr)


def last_known_leader_may_lead(
    isr: Collection[int], elr: Collection[int], is_active: Callable[[], bool], *, must_be_active: bool
) -> bool:
    """Whether the controller elects the last known leader: nobody is in the ISR or in the ELR, and the leader is active
    if it must be. Releases before 4.1.0 do not check that.

    Source: org.apache.kafka.controller.PartitionChangeBuilder#canElectLastKnownLeader (3.8.0; 4.0.0; 4.1.0); KIP-966.
    """
    return not isr and not elr and (not must_be_active or is_active())


class AlterPartitionError(Enum):
    """How a controller answers an AlterPartition request about a partition, by Kafka's names."""

    NONE = "NONE"
    UNKNOWN_TOPIC_ID = "UNKNOWN_TOPIC_ID"
    NOT_CONTROLLER = "NOT_CONTROLLER"
    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH"
    INVALID_REQUEST = "INVALID_REQUEST"
    INVALID_UPDATE_VERSION = "INVALID_UPDATE_VERSION"
    INELIGIBLE_REPLICA = "INELIGIBLE_REPLICA"
    NEW_LEADER_ELECTED = "NEW_LEADER_ELECTED"
    """The request is granted, and the leader leads no more by that."""


class Led(NamedTuple):
    """Who leads a partition, and in which leader epoch and partition epoch."""

    leader: int | None
    leader_epoch: int
    partition_epoch: int


def alter_partition_error(
    asked: Led,
    known: Led,
    *,
    knows_topic: Callable[[], bool] = lambda: True,
    is_done_already: Callable[[], bool] = lambda: False,
    is_valid: Callable[[], bool] = lambda: True,
    is_recovery_valid: Callable[[], bool] = lambda: True,
    is_eligible: Callable[[], bool],
) -> AlterPartitionError:
    """The answer to a leader that asks for another ISR. The checks come in Kafka's order, and the first that fails
    decides.

    Args:
        asked: who asks, in which epochs.
        known: what the controller knows.
        knows_topic: whether the topic that is asked about is one that it knows. Before version 2 a request has no topic
            id.
        is_done_already: with ZooKeeper, whether leader and ISR are already as asked for. The partition epoch does not
            matter then.
        is_valid: whether the replicas asked for are assigned, with the leader among them.
        is_recovery_valid: whether the leader has recovered from an unclean election, or has to and is alone in the ISR.
        is_eligible: whether all of them may be in the ISR: none is fenced, shutting down or another incarnation.
    Source: org.apache.kafka.controller.ReplicationControlManager#alterPartition, #validateAlterPartitionData (3.3.0 to
        4.4.0); kafka.controller.KafkaController#tryProcessAlterPartition (3.3.0 to 3.9.1).
    """
    if not knows_topic():
        return AlterPartitionError.UNKNOWN_TOPIC_ID
    if asked.leader_epoch > known.leader_epoch or asked.partition_epoch > known.partition_epoch:
        return AlterPartitionError.NOT_CONTROLLER
    if asked.leader_epoch < known.leader_epoch:
        return AlterPartitionError.FENCED_LEADER_EPOCH
    if asked.leader != known.leader:
        return AlterPartitionError.INVALID_REQUEST
    if is_done_already():
        return AlterPartitionError.NONE
    if asked.partition_epoch < known.partition_epoch:
        return AlterPartitionError.INVALID_UPDATE_VERSION
    if not is_valid() or not is_recovery_valid():
        return AlterPartitionError.INVALID_REQUEST
    return AlterPartitionError.NONE if is_eligible() else AlterPartitionError.INELIGIBLE_REPLICA
