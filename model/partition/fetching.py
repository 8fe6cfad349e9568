"""Fetching: a follower's request, what the leader makes of it, and what the follower makes of the response.

How many steps that takes is a bound. With one, nothing is lost and nothing is late; with two, the leader handles the
request when it is sent, and the response travels and may be lost; with three, the request travels, too.
"""

from __future__ import annotations

from model.language.declarations import action
from model.language.records import evolve, replaced
from model.log import NO_EPOCH, brokers
from model.partition.bounds import PartitionBounds
from model.partition.high_watermark import with_leader
from model.partition.logs import (
    appended,
    end_of_epoch,
    latest_epoch,
    truncated,
    truncation_point,
    without_records_below,
)
from model.partition.messages import Fetch, Stage
from model.partition.protocol import FetchResponseChecks, PartitionProtocol
from model.partition.state import Follower, Partition, Replica


def request_of(replica: Replica, protocol: PartitionProtocol) -> Fetch:
    """What a follower asks its leader for. Source: kafka.server.ReplicaFetcherThread#buildFetchRequest (0.10.2),
    #buildFetch (2.1; 2.8).
    """
    epoch = NO_EPOCH
    if protocol.truncation_rules.only_of_records:
        epoch = replica.log[-1].leader_epoch if replica.log_end_offset > replica.log_start else NO_EPOCH
    elif protocol.truncation_rules.fetches_name_epochs:
        epoch = latest_epoch(replica)
    return Fetch(Stage.REQUEST, replica.leader, replica.leader_epoch, replica.log_end_offset, epoch, 0, 0, 0, None)


def may_fetch(partition: Partition, follower: int) -> bool:
    """Whether a follower can send a fetch: it runs, has a leader other than itself that runs, and has nothing else to
    do before.
    """
    replica = partition.replicas[follower]
    if replica.leader is None or replica.leader == follower or replica.fetch is not None:
        return False
    return replica.is_up and not replica.truncating and partition.replicas[replica.leader].is_up


# The leader's part


def served(
    partition: Partition, follower: int, request: Fetch, protocol: PartitionProtocol, bounds: PartitionBounds
) -> tuple[Partition, Fetch | None]:
    """What a broker makes of a fetch: the state after it, and the response; None where it gives no answer that matters.

    Whom the leader does not know to be assigned gets no answer. The offset that a follower fetches from says what it
    has: the leader notes it, and the high watermark may move. The four fences of KIP-320 are separate here: records are
    given, and the offset is noted for the high watermark and for the ISR, each in its epoch only. Until KAFKA-9338 a
    fetch session forgot the epoch, so that only its first fetch was fenced; here every fetch is an incremental one. The
    high watermark in a response with a record is the one from before; only a fetch that had to wait for news is read
    again.
    Source: kafka.server.ReplicaManager#readFromLocalLog before #updateFollowerLogReadResults (0.10.2) and
        #updateFollowerFetchState (2.8; 3.2); kafka.cluster.Partition#fetchRecords (3.3 to 3.8).
    """
    leader = request.leader
    replica = partition.replicas[leader]
    if not partition.leads(leader) or follower not in replica.leadership.assignment:
        return partition, None
    sees_epoch = protocol.truncation_rules.fetches_are_fenced and protocol.fetch_sessions_keep_epochs
    in_epoch = request.leader_epoch == replica.leader_epoch or not sees_epoch
    for_high_watermark = in_epoch or not protocol.fence_high_watermark
    for_isr = in_epoch or not protocol.fence_isr
    response = response_to(replica, request, protocol)
    noted = response.stage is not Stage.DIVERGING or protocol.diverging_fetch_updates_leo
    if noted and response.stage is not Stage.OUT_OF_RANGE and (for_high_watermark or for_isr):
        known = caught_up_to(partition, replica, follower, request.offset, bounds)
        known = evolve(known, for_high_watermark=for_high_watermark, for_isr=for_isr)
        moved = known.log_end_offset != replica.followers[follower].log_end_offset
        replica = evolve(replica, followers=replaced(replica.followers, follower, known))
        if moved or protocol.high_watermark_recheck_on_every_fetch:
            partition = with_leader(partition, leader, replica, protocol, bounds)
        else:
            partition = partition.with_replica(leader, replica)
        if response.stage is Stage.NOTHING_NEW:
            response = evolve(response, high_watermark=partition.replicas[leader].high_watermark)
    return partition, response if in_epoch or not protocol.fence_fetch else None


def caught_up_to(
    partition: Partition, replica: Replica, follower: int, offset: int, bounds: PartitionBounds
) -> Follower:
    """What a leader knows of a follower that fetches from an offset.

    It has caught up if it has all of the log, or all that the leader had when it fetched last. Source:
    kafka.cluster.Replica#updateLogReadResult (0.10.2 to 2.3), #updateFetchState (2.4 to 3.5).
    """
    known = replica.followers[follower]
    if not bounds.caught_up_times:
        caught_up, leader_end = False, None
    else:
        caught_up = offset >= replica.log_end_offset or (known.leader_end is not None and offset >= known.leader_end)
        caught_up, leader_end = caught_up or known.caught_up, replica.log_end_offset
    return Follower(
        log_end_offset=offset,
        for_high_watermark=True,
        for_isr=True,
        since_change=True,
        caught_up=caught_up,
        leader_end=leader_end,
        broker_epoch=partition.quorum.registrations[follower].broker_epoch,
    )


def response_to(replica: Replica, request: Fetch, protocol: PartitionProtocol) -> Fetch:
    """What a leader answers to a fetch. Source: kafka.log.Log#read (0.10.2);
    kafka.cluster.Partition#readRecords (2.8).
    """
    offset, high_watermark, log_start = request.offset, replica.high_watermark, replica.log_start
    if request.epoch != NO_EPOCH:
        end = end_of_epoch(replica, request.epoch, protocol)
        if end is None or offset < replica.log_start:
            return evolve(request, stage=Stage.OUT_OF_RANGE, epoch=NO_EPOCH)
        if end[0] < request.epoch or end[1] < offset:
            return evolve(
                request, stage=Stage.DIVERGING, epoch=end[0], end_offset=end[1], high_watermark=high_watermark
            )
    if offset > replica.log_end_offset or offset < replica.log_start:
        return evolve(request, stage=Stage.OUT_OF_RANGE, epoch=NO_EPOCH)
    if offset == replica.log_end_offset:
        return evolve(
            request, stage=Stage.NOTHING_NEW, epoch=NO_EPOCH, high_watermark=high_watermark, log_start=log_start
        )
    record = replica.log[offset]
    return evolve(
        request, stage=Stage.RECORD, epoch=NO_EPOCH, high_watermark=high_watermark, log_start=log_start, record=record
    )


# The follower's part


def late(fetch: Fetch | None, protocol: PartitionProtocol) -> Fetch | None:
    """What is left of a fetch once its follower has learned of another leader epoch. A request will still be served.

    Until KAFKA-18991 a follower compares no epochs: see `is_expected` for records, and `may_cut` for where to truncate.
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
    """What must still be so for a follower to act on a fetch response."""
    return protocol.fetch_response_checks


def is_expected(replica: Replica, response: Fetch) -> bool:
    """Whether a follower still follows who gave a response, and would ask the same: every version drops what it no
    longer asks for.

    Source: kafka.server.AbstractFetcherThread#processFetchRequest (0.10.2 to 3.8), whose map holds the partitions that
        the broker follows.
    """
    return replica.leader == response.leader and response.offset == replica.log_end_offset and not replica.truncating


def must_cut_first(replica: Replica, fetch: Fetch | None, protocol: PartitionProtocol) -> bool:
    """Whether a follower in a new leader epoch has to find where to cut its log before it acts on a response.

    One without any epoch in its cache cuts at its high watermark, which changes nothing, as its log is empty. But until
    its thread has done that, it drops the response that the thread waits for. Source:
    kafka.server.AbstractFetcherThread#partitionFetchState (2.8 to 3.8), #maybeTruncate (2.0 to 3.8).
    """
    rules = protocol.truncation_rules
    return rules.asks or (rules.fetches_name_epochs and fetch is not None and latest_epoch(replica) == NO_EPOCH)


def without_fetch(replica: Replica, protocol: PartitionProtocol) -> Replica:
    """A follower whose fetch has ended, whichever way: what it need not ask for it has cut."""
    return evolve(replica, fetch=None, truncating=replica.truncating and protocol.truncation_rules.asks)


def may_cut(replica: Replica, response: Fetch, protocol: PartitionProtocol) -> bool:
    """Whether a follower that has read where to truncate still does so: it looks for divergence first, and truncates
    under the lock again.

    In between it may have learned of another leader epoch. In 2.8.0 it truncates whatever it is by then.
    Source: kafka.server.AbstractFetcherThread#maybeTruncateToEpochEndOffsets (2.8.0; 2.8.1 to 4.1.0, KAFKA-13207).
    """
    return response_checks(protocol) is FetchResponseChecks.NONE or replica.leader == response.leader


def received(partition: Partition, follower: int, response: Fetch, protocol: PartitionProtocol) -> Partition:
    """The state after a follower has handled a response.

    Finding divergence and truncating are two looks at the same response, under a lock each. They are two steps only if
    the first one raises the high watermark.
    Source: kafka.server.AbstractFetcherThread#processFetchRequest (0.10.2; 2.8), #truncateOnFetchResponse (2.8 to 3.8),
        ReplicaFetcherThread#processPartitionData.
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
        replica = appended(replica, response.record, protocol)
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
    """A leader's high watermark as a follower takes it over: within its own log.

    Source: kafka.log.Log#updateHighWatermark (2.4 to 3.0), kafka.log.UnifiedLog#updateHighWatermark (3.1 to 3.8).
    """
    return min(max(high_watermark, replica.log_start), replica.log_end_offset)


def with_log_start(replica: Replica, offset: int) -> Replica:
    """A follower that has learned where its leader's log starts. Source: ReplicaFetcherThread#processPartitionData
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
    Enabled: it runs, follows another running broker and has not yet to truncate; that broker answers.
    Effect: as `serve_fetch` and `receive_fetch`, without anything in between, also where cutting the log is a step of
        its own.
    Abstracts: the network. What needs a lost response cannot be found so.
    Source: see `served` and `received`.
    """
    if not may_fetch(partition, follower):
        return None
    after, response = served(partition, follower, request_of(partition.replicas[follower], protocol), protocol, bounds)
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
    """A follower sends a fetch, and its leader handles it; the response is on its way.

    Actor: the follower.
    Enabled: it runs, follows another running broker, has not yet to truncate and has no fetch on its way; that broker
        answers.
    Effect: the leader notes the follower's offset and may commit; the response is on its way.
    Source: see `served`.
    """
    if not may_fetch(partition, follower):
        return None
    after, response = served(partition, follower, request_of(partition.replicas[follower], protocol), protocol, bounds)
    if response is None:
        return None if after is partition else after
    return after.with_replica(follower, evolve(after.replicas[follower], fetch=response))


@action(actor="follower", needs=lambda bounds: bounds.fetch_steps == 3, follower=brokers)
def send_fetch(partition: Partition, follower: int, protocol: PartitionProtocol) -> Partition | None:
    """A follower sends a fetch to its leader.

    Actor: the follower.
    Enabled: it runs, follows another running broker, has not yet to truncate and has no fetch on its way.
    Effect: the request is on its way.
    Source: kafka.server.AbstractFetcherThread#doWork (0.10.2 to 3.7).
    """
    if not may_fetch(partition, follower):
        return None
    replica = partition.replicas[follower]
    return partition.with_replica(follower, evolve(replica, fetch=request_of(replica, protocol)))


@action(actor="leader", needs=lambda bounds: bounds.fetch_steps == 3, follower=brokers)
def serve_fetch(
    partition: Partition, follower: int, protocol: PartitionProtocol, bounds: PartitionBounds
) -> Partition | None:
    """The broker that a fetch was sent to handles it.

    Actor: the leader that was asked.
    Enabled: the follower's request is on its way, and that broker runs.
    Effect: it notes the follower's offset and may commit; the response is on its way, or nothing is that matters.
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
    Enabled: it runs, and the response is on its way. Where late responses are recognised, one is dropped when
        leadership changes.
    Effect: it appends, learns the high watermark, or cuts its log where the leader says that they part.
    Source: see `received`.
    """
    replica = partition.replicas[follower]
    response = replica.fetch
    if response is None or not replica.is_up or response.stage in (Stage.REQUEST, Stage.OUT_OF_RANGE):
        return None
    return received(partition, follower, response, protocol)


@action(actor="network", needs=lambda bounds: bounds.fetch_steps > 1, follower=brokers)
def lose_fetch(partition: Partition, follower: int, protocol: PartitionProtocol) -> Partition | None:
    """A fetch or its response is lost, or comes too late to matter.

    Actor: the network.
    Enabled: it is on its way.
    Effect: it is gone; the follower may fetch again.
    Source: kafka.server.AbstractFetcherThread#processFetchRequest catches what fails and fetches again (0.10.2 to 3.7).
    """
    replica = partition.replicas[follower]
    if replica.fetch is None or replica.fetch.stage is Stage.TRUNCATE:
        return None
    return partition.with_replica(follower, without_fetch(replica, protocol))
