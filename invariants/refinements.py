"""Maps from states of one model to those of a more abstract one, for the key `refines` of specs."""

from __future__ import annotations

import itertools

from highwater.invariants.partition.records import lacks
from highwater.invariants.partition.terms import is_the_leader
from highwater.model.client_log import ClientLog
from highwater.model.kraft_reference.state import Cluster as KraftCluster
from highwater.model.kraft_reference.state import Status
from highwater.model.partition.state import Partition
from highwater.model.quorum_reference.state import Quorum


def partition_as_log(partition: Partition) -> ClientLog:
    """What clients of the partition can rely on: the records that were exposed, up to the first that is lost.

    It is lost if the leader lacks it, or if a presumed leader has another record below its high watermark. Clients
    remember what was exposed and acknowledged; what of it is true, the logs decide.
    """
    exposed = partition.clients.exposed
    kept = next((offset for offset in range(len(exposed)) if _is_lost(partition, offset)), len(exposed))
    return ClientLog(tuple(record.id for record in exposed[:kept]), partition.clients.acked)


def _is_lost(partition: Partition, offset: int) -> bool:
    return any(
        lacks(partition, broker, offset)
        and (is_the_leader(partition, broker) or (partition.leads(broker) and offset < replica.high_watermark))
        for broker, replica in enumerate(partition.replicas)
    )


def kraft_as_log(cluster: KraftCluster) -> ClientLog:
    """The records that were consumed, up to the first that the controller's leader lacks while it runs."""
    consumed, leader = cluster.clients.consumed, cluster.partition.leader
    log = consumed
    if leader is not None and cluster.brokers[leader].status is Status.RUNNING:
        log = cluster.brokers[leader].log
    kept = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(consumed, log, strict=False))
    return ClientLog(tuple(record.value for record, _ in kept), cluster.clients.acked)


def quorum_as_log(quorum: Quorum) -> ClientLog:
    """The entries of the newest log that were acknowledged, up to the first that was not. An entry is acknowledged once
    it is committed, and from then on every newest log must have it.
    """
    newest = max(quorum.servers, key=lambda server: server.end)
    values = tuple(entry.value for entry in newest.log)
    kept = tuple(itertools.takewhile(lambda value: quorum.acked[value], values))
    return ClientLog(kept, frozenset(value for value, acked in enumerate(quorum.acked) if acked))
