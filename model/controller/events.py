"""A controller's event loop: one event at a time, and a failing write that tells it that it was deposed.

Events come from watches on ZooKeeper (kafka.controller.ControllerEventManager, 3.5), so that each action looks at what
ZooKeeper holds when it runs, which may be long after what triggered it. While a procedure of several steps is under
way, its next step is the only event.
"""

from __future__ import annotations

from collections.abc import Callable

from model.controller.context import Context, blank
from model.controller.protocol import ControllerProtocol
from model.controller.state import Cluster
from model.controller.state_machines import ControllerMoved
from model.language.records import evolve, replaced


def is_free(context: Context) -> bool:
    """Whether the controller acts and is not in the middle of something."""
    return context.active and context.step is None


def handled(
    cluster: Cluster, controller: int, protocol: ControllerProtocol, handle: Callable[[Cluster], Cluster]
) -> Cluster:
    """What an event does; a controller that finds out by a failing write that it was deposed resigns, and has done
    nothing.
    """
    try:
        return handle(cluster)
    except ControllerMoved:
        return resigned(cluster, controller, protocol)


def resigned(cluster: Cluster, controller: int, protocol: ControllerProtocol) -> Cluster:
    """The controller gives up its office; until KAFKA-4447, not the events in its queue.

    Source: kafka.controller.KafkaController#onControllerResignation, IsrChangeNotificationListener (0.10.1).
    """
    queued = not protocol.resign_stops_queue and cluster.zk.isr_changed
    cluster = forgotten(cluster, controller)
    return cluster.with_context(controller, notification_queued=True) if queued else cluster


def forgotten(cluster: Cluster, controller: int) -> Cluster:
    """The controller forgets everything, and drops what it has not sent yet."""
    empty = blank(len(cluster.brokers))
    cluster = evolve(cluster, controllers=replaced(cluster.controllers, controller, empty))
    return evolve(cluster, queues=replaced(cluster.queues, controller, ((),) * len(cluster.brokers)))
