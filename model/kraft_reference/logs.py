"""A leader's commits and its responses to producers, as several actions need them."""

from __future__ import annotations

from highwater.model.kraft_reference.bounds import KraftBounds
from highwater.model.kraft_reference.messages import Answer, Record
from highwater.model.kraft_reference.state import Broker, Change, Clients, Cluster, Follower, Role
from highwater.model.language.records import evolve, replaced


def committed(broker: int, isr: frozenset[int], end: int, followers: tuple[Follower, ...]) -> int:
    """The offset up to which every other member of an ISR has the log, as far as the leader knows."""
    for member in isr:
        if member != broker:
            reached = followers[member].log_end_offset
            if reached is None:
                return 0
            end = min(end, reached)
    return end


def advanced(before: int, found: int, isr: frozenset[int], bounds: KraftBounds) -> int:
    """The high watermark after it has advanced to what was found; under KIP-966 only if the ISR is large enough."""
    if found > before and (not bounds.keeps_elr or len(isr) >= bounds.min_isr):
        return found
    return before


def unanswered(replica: Broker, low: int, high: int, clients: Clients) -> frozenset[int]:
    """The values at some offsets whose producers wait at this leader: it appended them since it leads."""
    first = replica.first_written
    if first is None:
        return frozenset()
    found = frozenset(
        replica.log[offset].value for offset in range(low, min(high, len(replica.log))) if offset >= first
    )
    return frozenset(value for value in found if value not in clients.acked and value not in clients.refused)


def exposed(clients: Clients, log: tuple[Record, ...], high_watermark: int) -> Clients:
    """The clients after consumers have read up to the largest high watermark so far."""
    seen = len(clients.consumed)
    return evolve(clients, consumed=clients.consumed + log[seen:high_watermark]) if high_watermark > seen else clients


def acknowledged(clients: Clients, replica: Broker, high_watermark: int) -> Clients:
    """The clients after records below the new high watermark are acknowledged and consumed."""
    answered = unanswered(replica, replica.high_watermark, high_watermark, clients)
    return exposed(evolve(clients, acked=clients.acked | answered), replica.log, high_watermark)


def refused(clients: Clients, replica: Broker) -> Clients:
    """The clients after records from the high watermark on are refused."""
    answered = unanswered(replica, replica.high_watermark, len(replica.log), clients)
    return evolve(clients, refused=clients.refused | answered) if answered else clients


def with_isr(cluster: Cluster, broker: int, isr: frozenset[int], bounds: KraftBounds) -> Cluster:
    """The cluster after a leader has taken over an ISR, and committed as far as it may. It refuses producers if the ISR
    is too small.

    Source: MaybeUpdateHwmAndAckOnPartitionChange.
    """
    replica = cluster.brokers[broker]
    end = len(replica.log)
    if end == 0:
        return cluster
    found = advanced(replica.high_watermark, committed(broker, isr, end, replica.followers), isr, bounds)
    if found == replica.high_watermark:
        return cluster
    clients = cluster.clients
    if len(isr) >= bounds.min_isr:
        clients = acknowledged(clients, replica, found)
    else:
        clients = exposed(refused(clients, replica), replica.log, found)
    return evolve(cluster.with_broker(broker, evolve(replica, high_watermark=found)), clients=clients)


def renounced(cluster: Cluster, broker: int, change: Change, bounds: KraftBounds) -> Clients:
    """The clients after a leader has learned of another leader: it refuses all records that are not committed.

    Source: MaybeFailPendingWrites.
    """
    replica = cluster.brokers[broker]
    if replica.high_watermark < len(replica.log) and (len(change.isr) < bounds.min_isr or change.leader != broker):
        return refused(cluster.clients, replica)
    return cluster.clients


def gone_on(cluster: Cluster, broker: int, bounds: KraftBounds, *, learned: bool) -> Cluster:
    """The cluster after a leader has left a partition epoch. It drops its proposals there, and the record of that
    epoch in the metadata log keeps them.

    Args:
        learned: whether it has left the epoch because its proposal was accepted.
    """
    replica = cluster.brokers[broker]
    if replica.role is not Role.LEADER or (replica.proposal is None and not replica.rejections):
        return cluster
    changed = cluster.with_broker(broker, evolve(replica, proposal=None, rejections=()))
    if not bounds.keeps_messages:
        return changed
    record = cluster.metadata_log[replica.known - 1]
    proposal = replica.proposal
    if proposal is not None and learned:
        proposal = evolve(proposal, answer=Answer.LEARNED)
    record = evolve(record, left=() if proposal is None else (proposal,), rejections=replica.rejections)
    return evolve(changed, metadata_log=replaced(cluster.metadata_log, replica.known - 1, record))
