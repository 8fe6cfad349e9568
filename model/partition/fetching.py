"""Fetching: a follower sends a request, and handles the response of its leader (see `serving`).

The bound `fetch_steps` says how many steps a fetch takes. With one, nothing is lost or late. With two, the leader
handles the request at once, and the response may be late or lost. With three, the request may, too.
"""

from __future__ import annotations

import functools
from typing import cast

from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import NO_EPOCH, brokers
from highwater.model.partition.batches import begins_before
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.logs import (
    appended,
    latest_epoch,
    truncated,
    truncation_point,
    without_records_below,
)
from highwater.model.partition.messages import Fetch, Stage
from highwater.model.partition.protocol import FetchResponseChecks, PartitionProtocol
from highwater.model.partition.serving import served
from highwater.model.partition.state import Partition, Replica, Standing


def request_of(replica: Replica, protocol: PartitionProtocol, bounds: PartitionBounds) -> Fetch:
    """A follower's fetch request. It has the follower's log start offset (0.11, KIP-107), here if clients hear of it.

    Source: kafka.server.ReplicaFetcherThread#buildFetchRequest (0.10.2), #buildFetch
    (2.1; 2.8).
    """
    epoch = NO_EPOCH
    if protocol.truncation_rules.only_of_records:
        epoch = replica.log[-1].leader_epoch if replica.log_end_offset > replica.log_start else NO_EPOCH
    elif protocol.truncation_rules.fetches_name_epochs:
        epoch = latest_epoch(replica)
    leader = cast("int", replica.leader)
    log_start = replica.log_start if bounds.deletions_answered else 0
    return Fetch(Stage.REQUEST, leader, replica.leader_epoch, replica.log_end_offset, epoch, 0, 0, log_start, ())


def has_stopped_fetching(partition: Partition, follower: int) -> bool:
    """Whether a broker that shuts down fetches no more: it knows an election without it in the ISR, which came after
    the controller had let it begin.

    Until it has read that, it fetches on: in releases in which it reads no more, to its end (see `learn_leadership`). A
    follower that leaves the ISR in no new leader epoch may have read so or not.
    Source: kafka.server.ReplicaManager#applyLocalFollowersDelta (3.3.2 to 4.3.1), #makeFollowers with ZooKeeper (0.8.1
        to 3.9.1; kafka.cluster.Partition#makeFollower in 0.8.0).
    """
    registration = partition.quorum.registrations[follower]
    if registration.standing is not Standing.SHUTTING_DOWN:
        return False
    known = partition.elections[partition.replicas[follower].leader_epoch]
    return known.partition_epoch > registration.since and follower not in known.isr


def may_fetch(partition: Partition, follower: int) -> bool:
    """Whether a follower can send a fetch: it and its leader run, it has no other fetch in flight, need not ask first
    where to truncate, and has not stopped for its shutdown.
    """
    replica = partition.replicas[follower]
    if replica.leader is None or replica.leader == follower or replica.fetch is not None:
        return False
    if not replica.is_up or replica.truncating or not partition.replicas[replica.leader].is_up:
        return False
    return not has_stopped_fetching(partition, follower)


def late(fetch: Fetch | None, protocol: PartitionProtocol) -> Fetch | None:
    """A follower's fetch after the follower has learned of another leader epoch: None if it will drop the response.

    A request is still served. Until KAFKA-18991 a follower compares no epochs: see `is_expected` for records, and
    `may_cut` for truncation.
    Source: kafka.server.AbstractFetcherThread#processFetchRequest (2.1.0 to 4.0.0; with KAFKA-18991: 3.9.1, 4.0.1,
    4.1.0).
    """
    if (
        fetch is None
        or fetch.stage is Stage.REQUEST
        or response_checks(protocol) is not FetchResponseChecks.LEADER_EPOCH
    ):
        return fetch
    return None


def response_checks(protocol: PartitionProtocol) -> FetchResponseChecks:
    """What a follower checks before it acts on a fetch response."""
    return protocol.fetch_response_checks


def is_expected(replica: Replica, response: Fetch) -> bool:
    """Whether a follower expects a response: it still follows its sender, and fetches from the same offset.

    Every version drops other responses. Source: kafka.server.AbstractFetcherThread#processFetchRequest (0.10.2 to 3.8),
    whose map holds the partitions that the broker follows.
    """
    return replica.leader == response.leader and response.offset == replica.log_end_offset and not replica.truncating


def must_cut_first(replica: Replica, fetch: Fetch | None, protocol: PartitionProtocol) -> bool:
    """Whether a follower in a new leader epoch has to truncate before it acts on a response.

    A follower without any epoch in its cache truncates to its high watermark. That changes nothing, as its log is
    empty. But until its fetcher thread has done so, it drops the response to the fetch in flight.
    Source: kafka.server.AbstractFetcherThread#partitionFetchState (2.8 to 3.8), #maybeTruncate (2.0 to 3.8).
    """
    rules = protocol.truncation_rules
    return rules.asks or (rules.fetches_name_epochs and fetch is not None and latest_epoch(replica) == NO_EPOCH)


def without_fetch(replica: Replica, protocol: PartitionProtocol) -> Replica:
    """A follower whose fetch has ended. If it need not ask its leader where to truncate, it has truncated by now."""
    return evolve(replica, fetch=None, truncating=replica.truncating and protocol.truncation_rules.asks)


def may_cut(replica: Replica, response: Fetch, protocol: PartitionProtocol) -> bool:
    """Whether a follower truncates as a response says, although it may have learned of another leader epoch since.

    Kafka reads the response and truncates under the lock twice, and releases the lock between. 2.8.0 truncates even if
    the broker follows another leader by then.
    Source: kafka.server.AbstractFetcherThread#maybeTruncateToEpochEndOffsets (2.8.0; 2.8.1 to 4.1.0, KAFKA-13207).
    """
    return response_checks(protocol) is FetchResponseChecks.NONE or replica.leader == response.leader


def received(partition: Partition, follower: int, response: Fetch, protocol: PartitionProtocol) -> Partition:
    """The state after a follower has handled a response.

    If the leader's log starts inside a batch, a follower whose log is empty takes the batch all the same (1.0.2, 1.1.1;
    KAFKA-6975). Any other batch that begins before the log end is refused: Kafka stops to fetch the partition then
    (2.3), or all that the thread fetches (0.11 to 2.2); here the follower tries again, in vain.

    Kafka finds the divergence and truncates under two locks. These are two steps here only if the first one raises the
    high watermark.
    Source: kafka.server.AbstractFetcherThread#processFetchRequest (0.10.2; 2.8), #truncateOnFetchResponse (2.8 to 3.8),
        ReplicaFetcherThread#processPartitionData; kafka.log.Log#append, which refuses a first offset below the next
        one (0.11 to 2.8); kafka.cluster.Partition#appendRecordsToFollowerOrFutureReplica (2.0 to 3.8);
        kafka.server.AbstractFetcherThread#markPartitionFailed (2.3 to 3.8).
    """
    expected = is_expected(partition.replicas[follower], response)
    replica = without_fetch(partition.replicas[follower], protocol)
    high_watermark = bounded(response.high_watermark, replica)
    cuts = response.stage is Stage.TRUNCATE or (
        response.stage is Stage.DIVERGING and not protocol.high_watermark_before_truncation
    )
    if not (may_cut(replica, response, protocol) if cuts else expected):
        return partition.with_replica(follower, replica)
    if response.stage is Stage.RECORD:
        if begins_before(response.records) and replica.log_end_offset > replica.log_start:
            return partition.with_replica(follower, replica)
        replica = functools.reduce(lambda so_far, each: appended(so_far, each, protocol), response.records, replica)
        replica = evolve(replica, high_watermark=bounded(response.high_watermark, replica))
        return partition.with_replica(follower, with_log_start(replica, response.log_start))
    if response.stage is Stage.NOTHING_NEW:
        replica = evolve(replica, high_watermark=high_watermark)
        return partition.with_replica(follower, with_log_start(replica, response.log_start))
    if not cuts:
        cut_next = evolve(response, stage=Stage.TRUNCATE, high_watermark=0)
        return partition.with_replica(follower, evolve(replica, high_watermark=high_watermark, fetch=cut_next))
    point, _ = truncation_point(replica, (response.epoch, response.end_offset), protocol)
    return partition.with_replica(follower, truncated(replica, point, protocol))


def bounded(high_watermark: int, replica: Replica) -> int:
    """The high watermark that a follower takes over from its leader: the nearest offset in its own log.

    Source: kafka.log.Log#updateHighWatermark (2.4 to 3.0), kafka.log.UnifiedLog#updateHighWatermark (3.1 to 3.8).
    """
    return min(max(high_watermark, replica.log_start), replica.log_end_offset)


def with_log_start(replica: Replica, offset: int) -> Replica:
    """A follower after it has learned its leader's log start offset. Source: ReplicaFetcherThread#processPartitionData
    (0.11; KIP-107).
    """
    if replica.log_start < offset <= replica.high_watermark:
        return without_records_below(replica, offset)
    return replica


# Actions


@action(actor="follower", needs=lambda bounds: bounds.fetch_steps == 1, follower=brokers)
def fetch_at_once(
    partition: Partition, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A follower fetches from its leader, request and response in one step.

    Actor: the follower.
    Enabled: it runs, follows another running broker and need not ask first where to truncate; that broker answers.
    Effect: `serve_fetch` and `receive_fetch` in one step, the truncation included.
    Abstracts: the network. Nothing that needs a lost or late response can be found.
    Source: see `served` and `received`.
    """
    if not may_fetch(partition, follower):
        return None
    after, response = served(
        partition, follower, request_of(partition.replicas[follower], protocol, bounds), protocol, bounds
    )
    if response is None:
        return None if after is partition else after
    if response.stage is Stage.OUT_OF_RANGE:
        return after.with_replica(follower, evolve(after.replicas[follower], fetch=response))
    after = received(after, follower, response, protocol)
    cut = after.replicas[follower].fetch
    return after if cut is None else received(after, follower, cut, protocol)


@action(actor="follower", needs=lambda bounds: bounds.fetch_steps == 2, follower=brokers)
def fetch(
    partition: Partition, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A follower sends a fetch, and its leader handles it; the response is in flight.

    Actor: the follower.
    Enabled: it runs, follows another running broker, need not ask first where to truncate and has no fetch in flight;
        that broker answers.
    Effect: the leader notes the follower's offset and may commit; the response is in flight.
    Source: see `served`.
    """
    if not may_fetch(partition, follower):
        return None
    after, response = served(
        partition, follower, request_of(partition.replicas[follower], protocol, bounds), protocol, bounds
    )
    if response is None:
        return None if after is partition else after
    return after.with_replica(follower, evolve(after.replicas[follower], fetch=response))


@action(actor="follower", needs=lambda bounds: bounds.fetch_steps == 3, follower=brokers)
def send_fetch(
    partition: Partition, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A follower sends a fetch to its leader.

    Actor: the follower.
    Enabled: it runs, follows another running broker, need not ask first where to truncate and has no fetch in flight.
    Effect: the request is in flight.
    Source: kafka.server.AbstractFetcherThread#doWork (0.10.2 to 3.7).
    """
    if not may_fetch(partition, follower):
        return None
    replica = partition.replicas[follower]
    return partition.with_replica(follower, evolve(replica, fetch=request_of(replica, protocol, bounds)))


@action(actor="leader", needs=lambda bounds: bounds.fetch_steps == 3, follower=brokers)
def serve_fetch(
    partition: Partition, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """A broker handles a fetch.

    Actor: the broker to which the follower sent it.
    Enabled: the request is in flight, and that broker runs.
    Effect: the broker notes the follower's offset and may commit. The response is in flight, unless it is an error or
        the follower would drop it.
    Source: see `served`.
    """
    request = partition.replicas[follower].fetch
    if request is None or request.stage is not Stage.REQUEST or not partition.replicas[request.leader].is_up:
        return None
    after, response = served(partition, follower, request, protocol, bounds)
    if request.leader_epoch != partition.replicas[follower].leader_epoch:
        response = late(response, protocol)
    asker = after.replicas[follower]
    asker = without_fetch(asker, protocol) if response is None else evolve(asker, fetch=response)
    return after.with_replica(follower, asker)


@action(actor="follower", needs=lambda bounds: bounds.fetch_steps > 1, follower=brokers)
def receive_fetch(partition: Partition, follower: int, protocol: PartitionProtocol) -> Partition | None:
    """A follower handles the response to its fetch.

    Actor: the follower.
    Enabled: it runs, and the response is in flight. If followers drop late responses, a change of leadership has
        dropped it already.
    Effect: the follower appends the records, takes over the high watermark, or truncates to where its log diverges from
        the leader's.
    Source: see `received`.
    """
    replica = partition.replicas[follower]
    response = replica.fetch
    if response is None or not replica.is_up or response.stage in (Stage.REQUEST, Stage.OUT_OF_RANGE):
        return None
    return received(partition, follower, response, protocol)


@action(actor="network", needs=lambda bounds: bounds.fetch_steps > 1, follower=brokers)
def lose_fetch(partition: Partition, follower: int, protocol: PartitionProtocol) -> Partition | None:
    """A fetch or its response is lost, or arrives after the follower's timeout.

    Actor: the network.
    Enabled: it is in flight.
    Effect: it is gone; the follower may fetch again.
    Source: kafka.server.AbstractFetcherThread#processFetchRequest (0.10.2 to 3.7), which catches errors and fetches
        again.
    """
    replica = partition.replicas[follower]
    if replica.fetch is None or replica.fetch.stage is Stage.TRUNCATE:
        return None
    return partition.with_replica(follower, without_fetch(replica, protocol))
