"""Reassignment of a partition by the KRaft controller: begun, complete, cancelled (KIP-455)."""

from __future__ import annotations

import enum

import attrs

from highwater.model.kraft.partition import Brokers, PartitionRegistration


class Completion(enum.Enum):
    """Which replicas must be in the ISR for a reassignment to be complete."""

    ADDED = "added"
    """Those that it adds (until 3.7)."""
    ALL = "all"
    """All of the target (KAFKA-15665, 3.8 to 4.1). An unhealthy replica that stays then blocks it: KAFKA-19975."""
    ALL_IF_FEWER = "all-if-fewer"
    """Those that it adds; all of the target if it removes more than it adds (KAFKA-19975, 4.3)."""


@attrs.frozen
class Reassignment:
    """A reassignment in progress.

    Attributes:
        replicas: the target's replicas in their order, then those that it removes.
    """

    removing: Brokers
    adding: Brokers
    replicas: Brokers


@attrs.frozen
class Cancelled:
    """What a partition goes back to.

    Attributes:
        unclean: none of the replicas from before is in the ISR, so that the first of them is put there.
    """

    replicas: Brokers
    isr: Brokers
    unclean: bool


def begun(current: Brokers, target: Brokers) -> Reassignment:
    """The reassignment that leads from one assignment to another.

    Source: org.apache.kafka.controller.PartitionReassignmentReplicas, its constructor of two assignments (3.5.1 to
        4.3.1).
    """
    removing, adding = tuple(sorted({*current} - {*target})), tuple(sorted({*target} - {*current}))
    return Reassignment(removing, adding, target + removing)


def completed(reassignment: Reassignment, isr: Brokers, rule: Completion) -> tuple[Brokers, Brokers] | None:
    """Replicas and ISR once the reassignment is complete, or None if it is not.

    Source: org.apache.kafka.controller.PartitionReassignmentReplicas#maybeCompleteReassignment (3.5.1 to 4.3.1).
    """
    removing, adding = reassignment.removing, reassignment.adding
    if not removing and not adding:
        return None
    in_sync = tuple(replica for replica in isr if replica not in removing)
    target = tuple(replica for replica in reassignment.replicas if replica not in removing)
    if removing and (not in_sync or not target):
        return None
    wanted = set() if rule is Completion.ALL else {*adding}
    if rule is Completion.ALL or (rule is Completion.ALL_IF_FEWER and len(adding) < len(removing)):
        wanted |= {*target}
    return (target, in_sync) if wanted <= {*in_sync} else None


def cancelled(partition: PartitionRegistration) -> Cancelled:
    """What cancelling the reassignment in progress leads back to.

    Raises:
        ValueError: the reassignment adds all replicas.
    Source: org.apache.kafka.controller.PartitionReassignmentRevert (3.5.1 to 4.3.1).
    """
    replicas = tuple(replica for replica in partition.replicas if replica not in partition.adding)
    isr = tuple(replica for replica in partition.isr if replica not in partition.adding)
    if isr:
        return Cancelled(replicas, isr, unclean=False)
    if not replicas:
        raise ValueError("the reassignment adds all replicas")
    return Cancelled(replicas, replicas[:1], unclean=True)
