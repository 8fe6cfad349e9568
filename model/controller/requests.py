"""A batch of requests that a controller collects and sends: at most one of each kind for each broker, the latest one.

Source: kafka.controller.AbstractControllerBrokerRequestBatch (3.5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from highwater.model.controller.brokers import DURING_DELETION, Kind, Request
from highwater.model.controller.context import Context
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.state import Cluster
from highwater.model.controller.zookeeper import Leadership
from highwater.model.language.records import evolve
from highwater.model.log import NO_EPOCH


def _request(kind: Kind, context: Context, leader: int | None, leader_epoch: int, *, delete: bool = False) -> Request:
    """A request of a controller; the broker epoch is filled in when it is sent."""
    nobody: frozenset[int] = frozenset()
    return Request(kind, context.epoch, 0, context.topic_id, leader, leader_epoch, 0, nobody, nobody, delete)


class Batch:
    """The requests that a controller is about to send. Those to brokers that it knows to be dead are dropped."""

    def __init__(self, controller: int) -> None:
        self._controller = controller
        self._leader_and_isr: dict[int, Request] = {}
        self._metadata: Request | None = None
        self._metadata_to: Collection[int] = ()
        self._stop: dict[int, Request] = {}

    def add_leader_and_isr(self, cluster: Cluster, replicas: Iterable[int], leadership: Leadership) -> None:
        """Add LeaderAndIsr to replicas, and UpdateMetadata to every live broker."""
        context = cluster.controllers[self._controller]
        request = _request(Kind.LEADER_AND_ISR, context, leadership.leader, leadership.leader_epoch)
        request = evolve(
            request,
            partition_epoch=leadership.partition_epoch,
            isr=leadership.isr,
            replicas=frozenset(context.assignment),
        )
        for replica in replicas:
            self._leader_and_isr[replica] = request
        self.add_update_metadata(cluster)

    def add_update_metadata(self, cluster: Cluster, to: Collection[int] | None = None) -> None:
        """Add UpdateMetadata to live brokers: the leadership in the controller's context, or that the topic is being
        deleted, and who is live.

        Args:
            to: who gets it; every broker if left out.
        """
        context = cluster.controllers[self._controller]
        if context.leadership is None:
            leader, epoch = None, NO_EPOCH
        elif context.deleting:
            leader, epoch = None, DURING_DELETION
        else:
            leader, epoch = context.leadership.leader, context.leadership.leader_epoch
        self._metadata = _request(Kind.UPDATE_METADATA, context, leader, epoch)
        if context.leadership is not None and not context.deleting:
            self._metadata = evolve(self._metadata, isr=context.leadership.isr)
        self._metadata_to = cluster.ids if to is None else to

    def add_stop_replica(self, cluster: Cluster, replica: int, *, delete: bool) -> None:
        """Add StopReplica to one replica, with the leader epoch in the controller's context, or the one that stands for
        a topic's deletion.
        """
        context = cluster.controllers[self._controller]
        known = NO_EPOCH if context.leadership is None else context.leadership.leader_epoch
        already = replica in self._stop and self._stop[replica].delete
        self._stop[replica] = _request(
            Kind.STOP_REPLICA, context, None, DURING_DELETION if context.deleting else known, delete=delete or already
        )

    def sent(self, cluster: Cluster, protocol: ControllerProtocol) -> Cluster:
        """The cluster after the batch was sent: its requests are in flight behind earlier ones."""
        controller = self._controller
        context = cluster.controllers[controller]
        metadata = self._metadata if protocol.update_metadata else None
        if metadata is not None and not protocol.isr_in_metadata:
            metadata = evolve(metadata, isr=frozenset())
        if metadata is not None and protocol.live_brokers:
            metadata = evolve(metadata, replicas=frozenset(b for b in cluster.ids if context.live[b] is not None))
        elif metadata is not None and metadata.leader_epoch == NO_EPOCH:
            metadata = None
        for broker in cluster.ids:
            mine = metadata if broker in self._metadata_to else None
            known = (self._leader_and_isr.get(broker), mine, self._stop.get(broker))
            requests = [request for request in known if request is not None]
            if not requests or (epoch := context.live[broker]) is None:
                continue
            addressed = tuple(evolve(request, broker_epoch=epoch) for request in requests)
            cluster = cluster.with_queue(controller, broker, cluster.queues[controller][broker] + addressed)
        return cluster


def metadata_sent(
    cluster: Cluster, controller: int, protocol: ControllerProtocol, to: Collection[int] | None = None
) -> Cluster:
    """The cluster after nothing but UpdateMetadata was sent: see `Batch.add_update_metadata`."""
    batch = Batch(controller)
    batch.add_update_metadata(cluster, to)
    return batch.sent(cluster, protocol)
