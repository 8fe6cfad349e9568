"""The controller moves the replicas and partitions of a topic, several in one event: each move of several is one batch.

The tables of both state machines are those of the model `controller`.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from highwater.model.controller import partition_states, replica_states
from highwater.model.controller.elections import (
    Elected,
    Strategy,
    elect_for_reassignment,
    elect_offline,
    elect_preferred,
    first_leadership,
)
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.transitions import Illegal
from highwater.model.language.records import replaced
from highwater.model.topic.protocol import TopicProtocol
from highwater.model.topic.state import Leadership, Order, Topic


class Batch:
    """The requests that a controller is about to send: to each broker at most one LeaderAndIsr and one StopReplica,
    each for several partitions.

    Source: kafka.controller.ControllerBrokerRequestBatch (0.9.0.0 to 3.9).
    """

    def __init__(self) -> None:
        self._orders: dict[tuple[bool, int], dict[int, Order]] = {}

    def lead(self, receivers: Iterable[int], partition: int, leadership: Leadership) -> None:
        """Add a partition's leadership to the LeaderAndIsr of each receiver."""
        for broker in receivers:
            order = Order(False, leadership.leader, leadership.leader_epoch)
            self._orders.setdefault((False, broker), {})[partition] = order

    def delete(self, broker: int, partition: int, leadership: Leadership | None) -> None:
        """Add a partition to the StopReplica with delete to a broker. The leadership is what the controller knows."""
        epoch = -1 if leadership is None else leadership.leader_epoch
        self._orders.setdefault((True, broker), {})[partition] = Order(True, None, epoch)

    def sent(self, topic: Topic) -> Topic:
        """The topic after the batch was sent. What goes to a broker that is down is lost."""
        for stops in (False, True):
            for broker in topic.ids:
                orders = self._orders.get((stops, broker))
                if orders is None or broker not in topic.context.live or not topic.brokers[broker].running:
                    continue
                request = tuple(orders.get(partition) for partition in topic.numbers)
                topic = topic.with_queue(broker, topic.queues[broker] + (request,))
        return topic


def next_leadership(before: Leadership, leader: int | None, isr: frozenset[int]) -> Leadership:
    """Leader and ISR in the next leader epoch."""
    return Leadership(leader, isr, before.leader_epoch + 1)


# Replicas


def move_replicas(
    topic: Topic, replicas: Iterable[tuple[int, int]], to: ReplicaState, protocol: TopicProtocol
) -> Topic:
    """Move replicas, given as (partition, broker), to a state, broker by broker, and send what that asks for. Illegal
    moves are skipped.

    The order matters: of the last members of an ISR that go offline together, it is the last one that stays.

    Abstracts: that until 1.0 they move in the order of a hash set.
    Source: kafka.controller.ReplicaStateMachine#handleStateChanges (0.9.0.0 to 3.9).
    """
    batch = Batch()
    for partition, broker in sorted(replicas, key=itemgetter(1)):
        topic = _move_replica(topic, partition, broker, to, batch, protocol)
    return batch.sent(topic)


def _move_replica(
    topic: Topic, partition: int, broker: int, to: ReplicaState, batch: Batch, protocol: TopicProtocol
) -> Topic:
    """Abstracts: that until 2.0 a replica of a partition without leadership cannot go offline.
    Source: kafka.controller.ReplicaStateMachine#handleStateChange (0.9.0.0 to 1.0).
    """
    known, leadership = topic.context.partitions[partition], topic.nodes[partition].leadership
    before = known.replicas[broker]
    if isinstance(replica_states.change(before, to), Illegal):
        return topic
    if to is ReplicaState.NEW and leadership is not None and (known.led or protocol.new_replica_asks_zookeeper):
        if not replica_states.can_become_new(broker, leadership.leader):
            return topic
        batch.lead((broker,), partition, leadership)
    if leadership is not None and known.led:
        match to:
            case ReplicaState.ONLINE if before is not ReplicaState.NEW:
                batch.lead((broker,), partition, leadership)
            case ReplicaState.OFFLINE:
                topic = _take_offline(topic, partition, broker, leadership, batch)
    if to is ReplicaState.DELETION_STARTED:
        batch.delete(broker, partition, leadership if known.led else None)
    return topic.with_known(partition, replicas=replaced(known.replicas, broker, to))


def _take_offline(topic: Topic, partition: int, broker: int, leadership: Leadership, batch: Batch) -> Topic:
    """The topic after a replica has left the ISR, unless it is its last member. The others get LeaderAndIsr, even if it
    was not in the ISR, and nothing has changed.

    Abstracts: the StopReplica without delete to the replica itself, which is dead, or about to get one with delete.
    """
    left = replica_states.leave_isr(broker, leadership.leader, leadership.isr)
    after = leadership if left is None else next_leadership(leadership, left.leader, left.isr)
    others = [each for each in topic.context.partitions[partition].assignment if each != broker]
    batch.lead(others, partition, after)
    return topic.with_node(partition, leadership=after)


# Partitions


def move_partitions(
    topic: Topic, partitions: Iterable[int], to: PartitionState, strategy: Strategy = Strategy.OFFLINE
) -> Topic:
    """Move partitions to a state, in one batch; to `ONLINE`, each by an election. What is illegal, and a partition for
    which nobody can be elected, is skipped.

    Source: kafka.controller.PartitionStateMachine#handleStateChanges (0.9.0.0 to 3.9).
    """
    batch = Batch()
    for partition in partitions:
        topic = _move_partition(topic, partition, to, strategy, batch)
    return batch.sent(topic)


def _move_partition(topic: Topic, partition: int, to: PartitionState, strategy: Strategy, batch: Batch) -> Topic:
    known, current = topic.context.partitions[partition], topic.nodes[partition].leadership
    if isinstance(partition_states.change(known.state, to), Illegal):
        return topic
    if to is not PartitionState.ONLINE:
        return topic.with_known(partition, state=to)
    elected = _elected(topic, partition, strategy)
    if elected is None:
        return topic
    if current is None:
        after = Leadership(elected.leader, elected.isr, 0)
    else:
        after = next_leadership(current, elected.leader, elected.isr)
    is_reassigned = strategy is Strategy.REASSIGNMENT
    batch.lead(known.target if is_reassigned else known.assignment, partition, after)
    return topic.with_node(partition, leadership=after).with_known(partition, led=True, state=to)


def _elected(topic: Topic, partition: int, strategy: Strategy) -> Elected | None:
    """The result of an election; None if there is none. A new partition gets its first leadership, unless ZooKeeper has
    one: then the controller that wrote it has been deposed.

    Abstracts: unclean.leader.election.enable, which is off.
    Source: kafka.controller.PartitionStateMachine#initializeLeaderAndIsrForPartition (0.9.0.0 to 1.0).
    """
    known, current, live = topic.context.partitions[partition], topic.nodes[partition].leadership, topic.context.live
    if known.state is PartitionState.NEW:
        return first_leadership(known.assignment, live) if current is None else None
    if current is None:
        return None
    if strategy is Strategy.REASSIGNMENT:
        return elect_for_reassignment(known.target, current.isr, live)
    if strategy is Strategy.PREFERRED:
        return elect_preferred(known.assignment, current.isr, live)
    return elect_offline(known.assignment, current.isr, live, unclean=False)


def trigger_online(topic: Topic) -> Topic:
    """Elect a leader for each partition that is new or offline, all in one batch.

    Source: kafka.controller.PartitionStateMachine#triggerOnlinePartitionStateChange (0.9.0.0 to 3.9).
    """
    waiting = [
        partition
        for partition in topic.numbers
        if topic.context.partitions[partition].state in (PartitionState.NEW, PartitionState.OFFLINE)
    ]
    return move_partitions(topic, waiting, PartitionState.ONLINE)
