"""How large a cluster with a controller may become, and the domains that follow from that."""

from __future__ import annotations

import attrs

from highwater.model.budgets import budget
from highwater.model.language.domain import Integers
from highwater.model.language.records import bound
from highwater.model.log import NO_EPOCH


@attrs.frozen
class ControllerBounds:
    """How large the cluster and its history may become, and how often failures and requests may happen."""

    brokers: int = bound(1, 5, "brokers that may host replicas")
    replication_factor: int = bound(1, 5, "replicas of a new topic's partition")
    leader_epoch_max: int = bound(0, 15, "the last leader epoch; epochs are 0..max")
    partition_epoch_max: int = bound(0, 31, "how many times leader and ISR may be written after the first time")
    controllers: int = bound(1, 3, "brokers that may become controller", default=1)
    controller_epoch_max: int = bound(1, 7, "how many times a controller may be elected", default=1)
    queue_length_max: int = bound(1, 8, "requests of one controller in flight to one broker", default=3)
    established: int = bound(
        0, 1, "1: the topic exists, its leader leads and a controller is active; 0: nothing is there yet", default=1
    )
    topics_max: int = bound(0, 3, "how many times the topic may be created, all under one name", default=1)
    restarts: int = bound(0, 7, "how many times each broker may come back with a new broker epoch", default=1)
    target_size: int = bound(1, 5, "replicas that a reassignment leads to", default=1)
    min_isr: int = bound(1, 5, "min.insync.replicas", default=1)
    broker_crashes: int = budget("crashes of brokers")
    lossy_crashes: int = budget("crashes of brokers that lose records which were committed")
    broker_expiries: int = budget("ZooKeeper sessions of running brokers that expire")
    shutdowns: int = budget("controlled shutdowns")
    shutdown_attempts: int = bound(
        1, 3, "attempts of a controlled shutdown; after the last one the broker exits all the same", default=1
    )
    unanswered_shutdowns: int = budget("attempts of a controlled shutdown that no controller answers")
    controller_crashes: int = budget("crashes of controllers")
    depositions: int = budget("controllers that lose /controller and go on")
    lost_answers: int = budget("elections of a controller whose answer from ZooKeeper is lost")
    lost_isr_answers: int = budget("answers to AlterPartition that are lost")
    failed_role_changes: int = budget("times that a broker cannot take up a role because its ZooKeeper session ends")
    late_resignations: int = budget("times that a coordinator deletes its replica and resigns later")
    reorderings: int = budget("times that a request overtakes the one before it")
    deletions: int = budget("requests to delete the topic")
    reassignments: int = budget("requests to reassign the partition")
    partition_additions: int = budget("times that a partition is added to the topic while it is being deleted")
    preferred_elections: int = budget("requests to elect the preferred leader")
    shrinks: int = budget("times that a leader takes a slow follower out of the ISR")
    commits: int = budget("times that a leader commits records")

    def __attrs_post_init__(self) -> None:
        for key in ("replication_factor", "target_size"):
            if getattr(self, key) > self.brokers:
                raise ValueError(f"{key} {getattr(self, key)} is more than brokers {self.brokers}")
        if self.established and not self.topics_max:
            raise ValueError("established 1 needs topics_max of at least 1")


def controllers(bounds: ControllerBounds) -> Integers:
    """The domain of a controller id."""
    return Integers(0, bounds.controllers - 1, label="c", names="controllers")


def topics(bounds: ControllerBounds) -> Integers:
    """The domain of a topic id: the number of topics created so far; 0 for no topic."""
    return Integers(0, bounds.topics_max, label="t")


def controller_epochs(bounds: ControllerBounds) -> Integers:
    return Integers(0, bounds.controller_epoch_max)


def broker_epochs(bounds: ControllerBounds) -> Integers:
    """The domain of a broker epoch: the number of the broker's registrations so far, less one."""
    return Integers(0, bounds.restarts)


def asks_again(bounds: ControllerBounds) -> bool:
    """Whether a broker asks again for a controlled shutdown that was not granted."""
    return bool(bounds.shutdowns) and bounds.shutdown_attempts > 1


def further_attempts(bounds: ControllerBounds) -> Integers:
    """The domain of the attempts of a controlled shutdown that remain after the first one."""
    return Integers(0, bounds.shutdown_attempts - 1)


def leader_epochs(bounds: ControllerBounds) -> Integers:
    return Integers(NO_EPOCH, bounds.leader_epoch_max)


def partition_epochs(bounds: ControllerBounds) -> Integers:
    return Integers(0, bounds.partition_epoch_max)
