"""A controller's event loop: it handles one event at a time, and learns from a failed write that it was deposed.

Events come from watches on ZooKeeper (kafka.controller.ControllerEventManager, 3.5). Each action reads what ZooKeeper
holds when it runs, which may be long after the event. During a procedure of several steps its next step is the only
event.
"""

from __future__ import annotations

from collections.abc import Callable

from highwater.model.controller.context import Context, blank
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.state import Cluster
from highwater.model.controller.state_machines import ControllerMoved
from highwater.model.language.records import evolve, replaced


def is_free(context: Context) -> bool:
    """Whether the controller is active and not in the middle of a procedure."""
    return context.active and context.step is None


def handled(
    cluster: Cluster, controller: int, protocol: ControllerProtocol, handle: Callable[[Cluster], Cluster]
) -> Cluster:
    """The cluster after an event. If a write fails because the controller was deposed, it resigns, and the event has
    changed nothing; that of a controlled shutdown is the exception.
    """
    try:
        return handle(cluster)
    except ControllerMoved as moved:
        after = resigned(cluster, controller, protocol)
        return after.with_context(controller, batch_left=True) if moved.batch_left else after


def resigned(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """The controller resigns. Until KAFKA-4447 it keeps the events in its queue.

    Source: kafka.controller.KafkaController#onControllerResignation, IsrChangeNotificationListener (0.10.1).
    """
    queued = not protocol.resign_stops_queue and cluster.zk.isr_changed
    batch_left = cluster.controllers[controller].batch_left
    return forgotten(cluster, controller).with_context(controller, notification_queued=queued, batch_left=batch_left)


def forgotten(cluster: Cluster, controller: int) -> Cluster:
    """The controller forgets everything, and drops what it has not sent yet."""
    empty = blank(len(cluster.brokers))
    cluster = evolve(cluster, controllers=replaced(cluster.controllers, controller, empty))
    return evolve(cluster, queues=replaced(cluster.queues, controller, ((),) * len(cluster.brokers)))
