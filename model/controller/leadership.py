"""Preferred leader elections, and notifications of changed ISRs."""

from __future__ import annotations

from highwater.model.controller.bounds import controllers
from highwater.model.controller.elections import Strategy
from highwater.model.controller.events import handled, is_free
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.requests import metadata_sent
from highwater.model.controller.state import Cluster, Mishap
from highwater.model.controller.state_machines import fenced, move_partition
from highwater.model.language.declarations import action


@action(actor="admin", needs=lambda bounds: bounds.preferred_elections)
def request_preferred_leader(cluster: Cluster) -> Cluster | None:
    """A client asks for a preferred leader election.

    Actor: an admin client, or the controller's own balancing.
    Enabled: nobody has asked yet, and the partition has a state; within the budget.
    Source: kafka.admin.PreferredReplicaLeaderElectionCommand (0.10.2).
    """
    if cluster.zk.preferred_election or cluster.zk.leadership is None:
        return None
    return cluster.with_zk(preferred_election=True).spending("preferred_elections")


@action(actor="controller", needs=lambda bounds: bounds.preferred_elections, controller=controllers)
def elect_preferred_leader(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller holds a requested preferred leader election, unless the preferred leader leads already.

    Actor: the controller.
    Enabled: it is free and knows the topic; there is a request.
    Effect: the first assigned replica leads if it is live and in the ISR; the request is gone in any case.
    Source: kafka.controller.KafkaController#processReplicaLeaderElection (2.4 to 3.9), which answers
        ELECTION_NOT_NEEDED where the leader is right, #onReplicaElection (3.5), #onPreferredReplicaElection (0.8.0 to
        2.2).
    """
    context = cluster.controllers[controller]
    if not cluster.zk.preferred_election or not is_free(context):
        return None

    def handle(cluster: Cluster) -> Cluster:
        cluster = fenced(cluster, controller, protocol).with_zk(preferred_election=False)
        if context.leadership is None or context.deleting or context.leadership.leader == context.assignment[0]:
            return cluster
        return move_partition(cluster, controller, PartitionState.ONLINE, protocol, Strategy.PREFERRED)

    return handled(cluster, controller, protocol, handle)


@action(actor="controller", needs=lambda bounds: bounds.depositions, controller=controllers)
def handle_notification_after_resigning(cluster: Cluster, controller: int) -> Cluster | None:
    """A controller that has resigned handles a notification of a changed ISR from its queue: a bug.

    Actor: the controller.
    Enabled: `resign_stops_queue` is off; the notification was in the queue when it resigned.
    Effect: the notification is gone, and no broker gets the ISR. An active successor does not see the notification.
    Abstracts: the other events in the queue. This one does the most harm, as it deletes the notification even if
        everything else fails.
    Source: KAFKA-4447; kafka.controller.IsrChangeNotificationListener (0.10.1), which has no isActive as 0.10.2 has.
    """
    context = cluster.controllers[controller]
    if not context.notification_queued:
        return None
    cluster = cluster.with_context(controller, notification_queued=False)
    if not cluster.zk.isr_changed:
        return cluster
    cluster = cluster.with_zk(isr_changed=False)
    return cluster if cluster.zk.controller is None else cluster.with_mishap(Mishap.STALE_WRITE)


@action(actor="controller", controller=controllers)
def notice_isr(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster | None:
    """A controller learns that the leader has changed the ISR.

    Actor: the controller.
    Enabled: it is free, and a leader has left a notification.
    Effect: it notes leader and ISR, and sends metadata to every live broker; the notification is gone.
    Source: kafka.controller.KafkaController#processIsrChangeNotification (3.5).
    """
    if not cluster.zk.isr_changed or not is_free(cluster.controllers[controller]):
        return None

    def handle(cluster: Cluster) -> Cluster:
        cluster = fenced(cluster, controller, protocol).with_zk(isr_changed=False)
        if cluster.zk.leadership is None or cluster.controllers[controller].topic_id != cluster.zk.topic_id:
            return cluster
        cluster = cluster.with_context(controller, leadership=cluster.zk.leadership)
        return metadata_sent(cluster, controller, protocol)

    return handled(cluster, controller, protocol, handle)
