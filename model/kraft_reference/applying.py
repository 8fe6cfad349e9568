"""Brokers read the metadata log.

Source of all: github.com/Vanlightly/kafka-tlaplus, modules kafka_replication_v3_5 and kafka_replication_kip_966 with
their functions; the action's name there is given with each.
"""

from __future__ import annotations

from highwater.model.kraft_reference.bounds import KraftBounds, brokers, metadata_offsets
from highwater.model.kraft_reference.logs import gone_on, renounced, with_isr
from highwater.model.kraft_reference.state import UNKNOWN_FOLLOWER, Change, Cluster, Role, Status
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve


def concerns(cluster: Cluster, broker: int, metadata: Change, change: Change) -> bool:
    """Whether a broker has to act on a record. It reads the others later, together with the next one of this kind."""
    if cluster.brokers[broker].role is Role.LEADER:
        return True
    if broker in metadata.replicas:
        return change.leader_epoch > metadata.leader_epoch
    return broker in change.replicas


@action(actor="broker", broker=brokers, offset=metadata_offsets)
def apply_metadata(cluster: Cluster, broker: int, offset: int, bounds: KraftBounds) -> Cluster | None:
    """A broker reads the metadata log up to an offset, and acts on the last record.

    Actor: the broker.
    Enabled: it runs; it has not read that record, and has to act on it.
    Effect: it remains or becomes leader or follower, waits for a leader, or deletes its replica.
    Abstracts: earlier records. Each one is a whole state of the partition, so that only the last one matters.
    Source: ReceiveMetadataUpdate; kafka.server.ReplicaManager#applyDelta (3.5).
    """
    replica = cluster.brokers[broker]
    if replica.status is not Status.RUNNING or not replica.applied < offset <= len(cluster.metadata_log):
        return None
    metadata, change = cluster.metadata_of(broker), cluster.metadata_log[offset - 1]
    if not concerns(cluster, broker, metadata, change):
        return None
    if offset <= replica.known:
        changed = cluster
    elif broker in metadata.replicas and broker not in change.replicas:
        changed = dropped(cluster, broker, change, bounds)
    elif change.leader == broker:
        changed = led(cluster, broker, metadata, change, bounds)
    elif broker not in change.replicas:
        return None
    elif change.leader is None:
        changed = followed(cluster, broker, change, Role.NONE, bounds)
    elif change.leader_epoch == metadata.leader_epoch and metadata.leader != broker:
        changed = cluster
    else:
        newer = change.leader_epoch > metadata.leader_epoch
        changed = followed(cluster, broker, change, Role.FOLLOWER, bounds, newer=newer)
    known = replica.known
    if offset > known:
        known = offset if broker in change.replicas else 0
    return changed.with_broker(broker, evolve(changed.brokers[broker], applied=offset, known=known))


def led(cluster: Cluster, broker: int, metadata: Change, change: Change, bounds: KraftBounds) -> Cluster:
    """The broker leads by the record: it goes on in the same epoch, or begins a new one and notes its start offset.

    Source: RemainLeader, BecomeLeaderInNewEpoch.
    """
    before = cluster.brokers[broker]
    changed = with_isr(gone_on(cluster, broker, bounds, learned=False), broker, change.isr, bounds)
    if metadata.leader == broker and metadata.leader_epoch == change.leader_epoch:
        return changed
    leads_already = before.role is Role.LEADER
    followers = tuple(
        before.followers[other] if leads_already and other in change.isr else UNKNOWN_FOLLOWER
        for other in range(bounds.broker_count)
    )
    replica = evolve(
        changed.brokers[broker],
        role=Role.LEADER,
        epoch_start=len(before.log),
        followers=followers,
        fetches_from=None,
        delayed=False,
    )
    return changed.with_broker(broker, replica)


def followed(
    cluster: Cluster, broker: int, change: Change, role: Role, bounds: KraftBounds, *, newer: bool = False
) -> Cluster:
    """The broker follows the record's leader, or waits for one. It gives up its own leadership.

    Source: BecomeFollowerInNewEpoch, WaitForLeaderChange, EnsureLeadershipRenounced.
    """
    clients = renounced(cluster, broker, change, bounds)
    changed = gone_on(cluster, broker, bounds, learned=False)
    replica = changed.brokers[broker]
    replica = evolve(
        replica,
        role=role,
        epoch_start=None,
        first_written=None,
        followers=(UNKNOWN_FOLLOWER,) * bounds.broker_count,
        fetches_from=change.leader,
        delayed=replica.delayed and not newer and role is Role.FOLLOWER and replica.fetches_from == change.leader,
    )
    return evolve(changed.with_broker(broker, replica), clients=clients)


def dropped(cluster: Cluster, broker: int, change: Change, bounds: KraftBounds) -> Cluster:
    """The broker is no longer a replica: it deletes the log.

    Source: DeletePartition.
    """
    clients = renounced(cluster, broker, change, bounds)
    changed = gone_on(cluster, broker, bounds, learned=False)
    replica = evolve(
        changed.brokers[broker],
        role=Role.NONE,
        epoch_start=None,
        first_written=None,
        followers=(UNKNOWN_FOLLOWER,) * bounds.broker_count,
        fetches_from=None,
        delayed=False,
        log=(),
        high_watermark=0,
    )
    return evolve(changed.with_broker(broker, replica), clients=clients)
