"""How large a topic of several partitions and its cluster may become, and the domains that follow from that."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.model.budgets import budget
from highwater.model.language.domain import ArrayOf, Integers, SetOf
from highwater.model.language.records import bound


@attrs.frozen
class TopicBounds:
    """How large the cluster and its history may become, and how often failures and requests may happen."""

    brokers: int = bound(1, 4, "brokers that may host replicas")
    partitions: int = bound(1, 6, "partitions of the topic as it is created")
    replication_factor: int = bound(1, 4, "replicas of each partition")
    leader_epoch_max: int = bound(0, 15, "the last leader epoch; epochs are 0..max")
    queue_length_max: int = bound(1, 8, "requests in flight to one broker", default=4)
    established: int = bound(
        0,
        2,
        "1: the topic exists, and each partition is led by its preferred leader; 2: by its last replica; 0: there is "
        "no topic",
        default=1,
    )
    imbalance_percentage: int = bound(
        0, 100, "leader.imbalance.per.broker.percentage; 100: no leader is balanced", default=100
    )
    broker_crashes: int = budget("crashes of brokers")
    fail_overs: int = budget("controllers that crash or lose their session")
    late_writes: int = budget("first leaderships that a deposed controller writes")
    partition_additions: int = budget("partitions that are added to the topic")
    reassignments: int = budget("requests to reassign partitions")
    opening_errors: int = budget("errors as a broker opens the log of a partition")
    fetch_errors: int = budget("errors in the response to a fetch, each for one partition")
    append_errors: int = budget("errors as a follower appends what it has fetched of a partition")

    def __attrs_post_init__(self) -> None:
        if self.replication_factor > self.brokers:
            raise ValueError(f"replication_factor {self.replication_factor} is more than brokers {self.brokers}")


def partitions(bounds: Any) -> Integers:
    """The domain of a partition's number, for those that may be added, too."""
    return Integers(0, bounds.partitions + bounds.partition_additions - 1, label="p")


def partition_sets(bounds: Any) -> SetOf:
    """The domain of a set of partitions."""
    return SetOf(partitions(bounds))


def per_partition(of: Any) -> Any:
    """A domain from bounds: one value for each partition. `of` is its domain, or leads from bounds to it."""

    def domain(bounds: Any) -> ArrayOf:
        return ArrayOf(of(bounds) if callable(of) else of, bounds.partitions + bounds.partition_additions, label="p")

    return domain


def leader_epochs(bounds: Any) -> Integers:
    """The domain of a leader epoch; -1 for none."""
    return Integers(-1, bounds.leader_epoch_max)
