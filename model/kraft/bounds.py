"""How large a cluster under a KRaft controller may become, and the domains that follow from that."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.model.budgets import budget
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Maybe, OneOf, SetOf
from highwater.model.language.records import bound
from highwater.model.log import broker_sets, brokers


@attrs.frozen
class KraftBounds:
    """How large the cluster and its history may become, and how often failures and requests may happen."""

    brokers: int = bound(1, 5, "brokers that may host replicas")
    replication_factor: int = bound(1, 5, "replicas of the partition at the beginning")
    leader_epoch_max: int = bound(0, 15, "the last leader epoch; epochs are 0..max")
    partition_epoch_max: int = bound(0, 31, "how many records may change the partition")
    min_isr: int = bound(1, 5, "min.insync.replicas at the beginning", default=1)
    partitions: int = bound(1, 2, "partitions of the topic", default=1)
    spread: int = bound(
        0, 1, "1: each partition's replicas begin one broker further than those of the one before", default=1
    )
    balancing: int = bound(0, 1, "1: the controller elects preferred leaders by itself, now and then", default=0)
    split_batches: int = bound(
        0, 1, "1: what is decided of several partitions is a batch for each, as from 10,000 records on", default=0
    )
    restarts: int = bound(0, 7, "how many times each broker may come back with a new broker epoch", default=0)
    no_ops: int = bound(0, 1, "1: the controller appends records that change nothing, again and again", default=0)
    uncommitted: int = bound(
        0, 3, "batches of the metadata log that may be uncommitted; 0: each is committed at once", default=0
    )
    stops: int = bound(
        0, 3, "committed ends of the metadata log before the present one that a broker may stop at; 0: none", default=0
    )
    controllers: int = bound(
        1, 2, "1: a controller that is deposed knows it at once; 2: it may answer a while longer", default=1
    )
    shutdown_limit: int = bound(
        0, 1, "1: a broker that may not shut down ends all the same, after some minutes; 0: it waits", default=0
    )
    crashes: int = budget("crashes of brokers")
    lossy_crashes: int = budget("crashes of brokers that lose records which were committed")
    lost_sessions: int = budget("sessions of brokers that end while these run")
    fail_overs: int = budget("times that another controller becomes active")
    shutdowns: int = budget("controlled shutdowns")
    reassignments: int = budget("requests to reassign the partition")
    cancellations: int = budget("requests to cancel a reassignment")
    voter_changes: int = budget("changes of the voters of the quorum")
    elections: int = budget("requests to elect a leader")
    min_isr_changes: int = budget("changes of min.insync.replicas")
    directory_failures: int = budget("failures of the log directory of a broker's replica")
    directory_assignments: int = budget("times that a broker has a replica in another log directory, and says so")
    topic_deletions: int = budget("deletions of the topic, which may be created anew")
    unregistrations: int = budget("brokers that an operator takes out of the registrations")
    upgrades: int = budget("upgrades of the metadata version to one that has log directories")
    unclean_elections: int = budget("requests to elect a leader uncleanly")
    shrinks: int = budget("times that a leader takes a slow follower out of the ISR")
    commits: int = budget("times that a leader commits records of a topic")

    def __attrs_post_init__(self) -> None:
        if self.replication_factor > self.brokers:
            raise ValueError(f"replication_factor {self.replication_factor} is more than brokers {self.brokers}")


def stale_broker_sets(bounds: Any) -> SetOf:
    """The domain of brokers that an index names wrongly: nobody, unless min.insync.replicas may change and the topic be
    deleted.
    """
    return broker_sets(bounds) if bounds.min_isr_changes and bounds.topic_deletions else SetOf(Integers(0, -1))


def partitions(bounds: Any) -> Integers:
    """The domain of a partition's number."""
    return Integers(0, bounds.partitions - 1, label="p")


def per_partition(of: Any) -> Any:
    """A domain from bounds: one value for each partition."""
    return lambda bounds: ArrayOf(of(bounds) if callable(of) else of, bounds.partitions, label="p")


def some_broker(bounds: Any) -> Maybe:
    return Maybe(brokers(bounds))


def broker_epochs(bounds: Any) -> Integers:
    """The domain of a broker epoch: the number of the broker's registrations so far, less one."""
    return Integers(0, bounds.restarts)


def partition_epochs(bounds: Any) -> Integers:
    return Integers(0, bounds.partition_epoch_max, order="partition_epochs")


def topic_ids(bounds: Any) -> Integers:
    """The domain of a topic: how many of its name were deleted before."""
    return Integers(0, bounds.topic_deletions)


def min_isrs(bounds: Any) -> Integers:
    """The domain of min.insync.replicas."""
    if bounds.min_isr_changes:
        return Integers(1, bounds.brokers)
    only = int(bounds.min_isr)
    return Integers(only, only)


def flag_if(*budgets: str) -> Any:
    """A domain from bounds: a flag that stays False unless one of some budgets is there."""
    return lambda bounds: BOOLEAN if any(getattr(bounds, budget) for budget in budgets) else OneOf((False,))
