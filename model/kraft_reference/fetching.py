"""Followers fetch and truncate, leaders commit, and producers write.

Source of all: github.com/Vanlightly/kafka-tlaplus, modules kafka_replication_v3_5 and kafka_replication_kip_966 with
their functions; the action's name there is given with each.
"""

from __future__ import annotations

from highwater.model.kraft_reference.bounds import KraftBounds, brokers, values
from highwater.model.kraft_reference.logs import acknowledged, advanced, committed
from highwater.model.kraft_reference.messages import ERRORS, NO_FETCH, Fetch, Fetching, Handled, Record
from highwater.model.kraft_reference.state import Broker, Cluster, Follower, Role, Status
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve, replaced


def last_epoch(replica: Broker) -> int:
    return replica.log[-1].epoch if replica.log else 0


def is_converged(cluster: Cluster, leader: int, follower: int) -> bool:
    """Whether a fetch would change neither side."""
    ours, theirs = cluster.brokers[leader], cluster.brokers[follower]
    if len(ours.log) != len(theirs.log) or ours.high_watermark != theirs.high_watermark:
        return False
    seen = ours.followers[follower]
    return seen.log_end_offset == len(theirs.log) and seen.broker_epoch == theirs.broker_epoch


def handled(replica: Broker, leader: int, bounds: KraftBounds) -> Broker:
    """The follower after the message between it and a leader was handled. Some protocols keep the message."""
    if not bounds.keeps_messages:
        return replica
    message = replica.fetches[leader]
    epoch = replica.broker_epoch if message.kind is Fetching.REQUEST else 0
    entry = Handled(
        Fetch(
            message.kind,
            message.leader_epoch,
            message.offset,
            message.epoch,
            message.end_offset,
            message.high_watermark,
            message.value,
        ),
        epoch,
    )
    return evolve(replica, handled=replaced(replica.handled, leader, replica.handled[leader] | frozenset({entry})))


@action(actor="follower", follower=brokers, leader=brokers)
def send_fetch(cluster: Cluster, follower: int, leader: int) -> Cluster | None:
    """A follower sends a fetch to its leader.

    Actor: the follower.
    Enabled: it runs, fetches from that leader and waits for no response; the fetch would change one of them.
    Effect: the request is in flight.
    Source: SendFetchRequest; kafka.server.AbstractFetcherThread#maybeFetch (3.5).
    """
    replica = cluster.brokers[follower]
    if follower == leader or replica.status is not Status.RUNNING or replica.fetches_from != leader:
        return None
    if replica.fetches[leader].kind is not Fetching.NONE or cluster.metadata_of(follower).leader != leader:
        return None
    if is_converged(cluster, leader, follower):
        return None
    epoch = cluster.metadata_of(follower).leader_epoch
    request = Fetch(Fetching.REQUEST, epoch, len(replica.log), last_epoch(replica), 0, 0, 0)
    return cluster.with_broker(
        follower, evolve(replica, fetches=replaced(replica.fetches, leader, request), delayed=False)
    )


def end_of_epoch(replica: Broker, epoch: int, leader_epoch: int | None) -> tuple[int, int]:
    """The largest epoch of a log that is not above a given one, and its end offset.

    Args:
        leader_epoch: of a leader, its own epoch, in which it may have no record yet. None for a follower.

    Source: LastOffsetForEpoch; org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache#endOffsetFor (3.5).
    """
    log = replica.log
    if not log or log[-1].epoch == epoch or leader_epoch == epoch:
        return epoch, len(log)
    end = next((offset for offset, record in enumerate(log) if record.epoch > epoch), len(log))
    return max((record.epoch for record in log if record.epoch <= epoch), default=epoch), end


@action(actor="leader", leader=brokers, follower=brokers)
def serve_fetch(cluster: Cluster, leader: int, follower: int, bounds: KraftBounds) -> Cluster | None:
    """A broker answers a fetch.

    Actor: the leader.
    Enabled: it runs, and the request is in flight.
    Effect: it answers with an error if it does not lead in the follower's epoch, with the point of divergence if the
        logs diverge, else with the next record. Unless it is an error, the leader learns the follower's log end offset,
        and may advance its high watermark.
    Source: ReceiveFetchRequest; kafka.cluster.Partition#fetchRecords (3.5).
    """
    replica, fetcher = cluster.brokers[leader], cluster.brokers[follower]
    if follower == leader or replica.status is not Status.RUNNING:
        return None
    request = fetcher.fetches[leader]
    if request.kind is not Fetching.REQUEST:
        return None
    changed = cluster
    epoch = cluster.metadata_of(leader).leader_epoch
    ours = replica.high_watermark
    if replica.role is not Role.LEADER or epoch != request.leader_epoch:
        kind = Fetching.NOT_LEADER if epoch == request.leader_epoch else Fetching.FENCED_EPOCH
        kind = Fetching.UNKNOWN_EPOCH if epoch < request.leader_epoch else kind
        response = Fetch(kind, epoch, request.offset, 0, 0, ours, 0)
    else:
        named, end = end_of_epoch(replica, request.epoch, epoch)
        if named < request.epoch or end < request.offset:
            response = Fetch(Fetching.DIVERGING, epoch, request.offset, named, end, ours, 0)
        else:
            changed = counted(cluster, leader, follower, request.offset, bounds)
            record = replica.log[request.offset] if request.offset < len(replica.log) else Record(0, 0)
            high_watermark = changed.brokers[leader].high_watermark
            response = Fetch(Fetching.RECORDS, epoch, request.offset, record.epoch, 0, high_watermark, record.value)
    fetcher = handled(fetcher, leader, bounds)
    return changed.with_broker(follower, evolve(fetcher, fetches=replaced(fetcher.fetches, leader, response)))


def counted(cluster: Cluster, leader: int, follower: int, offset: int, bounds: KraftBounds) -> Cluster:
    """The cluster after a leader has learned a follower's log end offset, and committed as far as it may."""
    replica = cluster.brokers[leader]
    followers = replaced(replica.followers, follower, Follower(offset, cluster.brokers[follower].broker_epoch))
    found = committed(leader, cluster.maximal_isr(leader), len(replica.log), followers)
    high_watermark = advanced(replica.high_watermark, found, cluster.metadata_of(leader).isr, bounds)
    clients = cluster.clients
    if high_watermark > replica.high_watermark:
        clients = acknowledged(clients, replica, high_watermark)
    changed = cluster.with_broker(leader, evolve(replica, followers=followers, high_watermark=high_watermark))
    return evolve(changed, clients=clients)


def truncation_offset(replica: Broker, epoch: int, end_offset: int) -> int:
    """The offset to which a follower truncates after a diverging response. Source: FindTruncatePoint."""
    ours, end = end_of_epoch(replica, epoch, None)
    return end if ours != epoch else min(end, end_offset)


@action(actor="follower", follower=brokers, leader=brokers)
def take_response(cluster: Cluster, follower: int, leader: int, bounds: KraftBounds) -> Cluster | None:
    """A follower takes the response to its fetch.

    Actor: the follower.
    Enabled: it runs, and the response is in flight.
    Effect: it drops a response that it no longer expects. After an error it delays its next fetch; after a diverging
        response it truncates; else it appends the record and takes over the leader's high watermark, unless that is
        beyond its log.
    Source: ReceiveFetchResponse; kafka.server.AbstractFetcherThread#processFetchRequest (3.5).
    """
    replica = cluster.brokers[follower]
    response = replica.fetches[leader]
    if replica.status is not Status.RUNNING or response.kind in (Fetching.NONE, Fetching.REQUEST):
        return None
    changed = handled(replica, leader, bounds)
    changed = evolve(changed, fetches=replaced(replica.fetches, leader, NO_FETCH))
    fits = replica.fetches_from == leader and len(replica.log) == response.offset
    if fits and cluster.metadata_of(follower).leader_epoch == response.leader_epoch:
        if response.kind in ERRORS:
            changed = evolve(changed, delayed=True)
        elif response.kind is Fetching.DIVERGING:
            changed = evolve(
                changed,
                log=replica.log[: truncation_offset(replica, response.epoch, response.end_offset)],
                delayed=False,
            )
        else:
            log = replica.log + (Record(response.epoch, response.value),) if response.epoch else replica.log
            known = response.high_watermark <= len(log)
            high_watermark = response.high_watermark if known else replica.high_watermark
            changed = evolve(changed, log=log, high_watermark=high_watermark, delayed=False)
    return cluster.with_broker(follower, changed)


@action(actor="leader", leader=brokers, value=values)
def write(cluster: Cluster, leader: int, value: int, bounds: KraftBounds) -> Cluster | None:
    """A leader appends a producer's record.

    Actor: the leader, on a producer's request with acks=all.
    Enabled: it runs; the value was not written before; its maximal ISR is large enough.
    Effect: the record is in its log. If the maximal ISR has no other member, it is committed at once, except the log's
        first.
    Source: WriteRecordToLeader; kafka.cluster.Partition#appendRecordsToLeader (3.5).
    """
    replica, clients = cluster.brokers[leader], cluster.clients
    if value in clients.sent or not replica.leads:
        return None
    isr = cluster.maximal_isr(leader)
    if len(isr) < bounds.min_isr:
        return None
    end = len(replica.log)
    metadata = cluster.metadata_of(leader)
    written = evolve(
        replica,
        log=replica.log + (Record(metadata.leader_epoch, value),),
        first_written=end if replica.first_written is None else replica.first_written,
    )
    found = committed(leader, isr, end + 1, replica.followers) if end else 0
    high_watermark = advanced(replica.high_watermark, found, metadata.isr, bounds)
    if high_watermark > replica.high_watermark:
        clients = acknowledged(clients, written, high_watermark)
    changed = cluster.with_broker(leader, evolve(written, high_watermark=high_watermark))
    return evolve(changed, clients=evolve(clients, sent=clients.sent | {value}))


STEPS = (send_fetch, serve_fetch, take_response, write)
