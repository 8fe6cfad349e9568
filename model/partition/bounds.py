"""How large a partition's cluster and history may become, and the domains that follow from that."""

from __future__ import annotations

import attrs

from highwater.model.budgets import budget
from highwater.model.language.domain import BOOLEAN, Integers, OneOf, SetOf
from highwater.model.language.records import bound
from highwater.model.log import NO_EPOCH, brokers


@attrs.frozen
class PartitionBounds:
    """How large the cluster and its history may become, and how many failures they may have. Recovery has no bound."""

    brokers: int = bound(1, 5, "brokers, all of which host a replica")
    log_length_max: int = bound(1, 7, "records that a log can hold")
    records_max: int = bound(1, 15, "records that can ever be written")
    leader_epoch_max: int = bound(0, 7, "the last leader epoch; epochs are 0..max")
    partition_epoch_max: int = bound(1, 15, "the last partition epoch (version of leader and ISR in ZooKeeper)", 7)
    min_insync_replicas: int = bound(1, 5, "min.insync.replicas", 1)
    initial_isr: int = bound(0, 5, "brokers in the ISR at the start: b0 and the next ones; 0 is all", 0)
    initial_records: int = bound(0, 7, "records that the ISR has at the start, committed and acknowledged", 0)
    initial_down: int = bound(
        0, 4, "brokers that are down at the start, out of the ISR and with empty disks: the last ones", 0
    )
    fetch_steps: int = bound(
        1, 3, "1: a fetch is one step; 2: its response travels and can be lost; 3: its request can, too", 2
    )
    batch_records: int = bound(1, 3, "records that a producer can send in one batch", 1)
    fetch_records: int = bound(1, 7, "records that a fetch response can hold; at least one batch", 1)
    isr_changes_in_flight: int = bound(1, 2, "ISR changes of one leader that can be in flight", 1)
    leader_moves: int = budget("leadership moved without a failure, as by a preferred election")
    spurious_fences: int = budget("a running broker fenced, as by a lost session")
    controlled_shutdowns: int = budget("controlled shutdowns")
    process_crashes: int = budget("crashes that leave the log as it is")
    lossy_crashes: int = budget("crashes that lose what was not flushed")
    down_at_once: int = bound(0, 5, "brokers that may be down or shutting down at once; 0: all", 0)
    stops_per_broker: int = bound(
        0, 7, "how often each broker may crash or shut down; 0: as often as the budgets allow", 0
    )
    stopping_brokers: int = bound(0, 5, "different brokers that may crash or shut down; 0: all", 0)
    shutdowns_wait_for_isr: int = bound(0, 1, "1: a controlled shutdown begins only while the ISR is complete", 0)
    failures_during_shutdown: int = bound(
        0, 1, "1: brokers crash and lose sessions only while another one is shutting down", 0
    )
    failures_without_leader: int = bound(0, 1, "1: brokers crash and lose sessions only while nobody leads", 0)
    isr_shrinks: int = budget("followers that a leader finds lagging")
    joint_shrinks: int = budget("times that a leader finds several followers lagging at once")
    reassignments: int = budget("replicas taken from the assignment and added again")
    removals: int = budget("requests to take a replica away, be it the leader's, which may have to wait for the others")
    retentions: int = budget("records deleted from the start of a leader's log")
    deletions_answered: int = bound(
        0, 1, "1: clients hear how far the records are deleted on all replicas that are alive, and remember it", 0
    )
    alter_failures: int = budget("ISR changes whose outcome the leader does not learn")
    refused_produces: int = budget("records with acks=all that a leader refuses before it appends them")
    produce_timeouts: int = budget("producers with acks=all whose requests time out")
    checkpoints: int = budget("high watermark checkpoints written")
    directory_moves: int = budget("replicas moved from one log directory of their broker to another")
    producer_metadata: int = bound(
        0, 1, "1: a producer sends to the leader that it has last heard of; 0: to any that presumes leadership", 0
    )
    consumer_reads: int = bound(0, 1, "1: consumers read, and what they read is remembered", 0)
    offset_queries: int = bound(0, 1, "1: clients ask for the end offset, and the newest answer is remembered", 0)
    leader_recovery: int = bound(
        0, 1, "1: the controller and the leader know whether the leader has to recover from an unclean election", 0
    )
    caught_up_times: int = bound(0, 1, "1: a replica outside the ISR counts as caught up for a while; 0: never", 0)


def log_offsets(bounds: PartitionBounds) -> Integers:
    """The domain of a log end offset or a high watermark."""
    return Integers(0, bounds.log_length_max)


def log_starts(bounds: PartitionBounds) -> Integers:
    """The domain of a log start offset."""
    return Integers(0, bounds.log_length_max if bounds.retentions else 0)


def answered_log_starts(bounds: PartitionBounds) -> Integers:
    """The domain of a log start offset that a leader knows of a follower, or clients have heard of."""
    return Integers(0, bounds.log_length_max if bounds.retentions and bounds.deletions_answered else 0)


def partition_epochs(bounds: PartitionBounds) -> Integers:
    """The domain of a partition epoch."""
    return Integers(0, bounds.partition_epoch_max, label="v", order="partition_epochs")


def partition_epochs_or_none(bounds: PartitionBounds) -> Integers:
    """The domain of a partition epoch, or -1 for "before the first"."""
    return Integers(NO_EPOCH, bounds.partition_epoch_max, label="v", order="partition_epochs")


def broker_epochs(bounds: PartitionBounds) -> Integers:
    """The domain of a broker epoch: how often the broker was started again."""
    stops = bounds.process_crashes + bounds.lossy_crashes + bounds.controlled_shutdowns
    each = min(stops, bounds.stops_per_broker) if bounds.stops_per_broker else stops
    return Integers(0, each + min(bounds.initial_down, 1))


def fetched_broker_epochs(bounds: PartitionBounds) -> Integers:
    """The domain of the broker epoch that a leader knows of a follower: -1 before it has fetched."""
    return Integers(NO_EPOCH, broker_epochs(bounds).high)


def removed_replicas(bounds: PartitionBounds) -> SetOf:
    """The domain of the replicas that a reassignment in progress takes away."""
    return SetOf(brokers(bounds) if bounds.removals else Integers(0, -1))


def recovery(bounds: PartitionBounds) -> OneOf:
    """The domain of whether a leader has to recover from an unclean election."""
    return BOOLEAN if bounds.leader_recovery else OneOf((False,))


def record_ids(bounds: PartitionBounds) -> SetOf:
    """The domain of a set of records."""
    return SetOf(Integers(0, bounds.records_max - 1, label="r"))
