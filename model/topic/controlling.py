"""A controller takes over, watches, and handles changes of brokers and of the topic: kafka.controller.KafkaController.

Each event is about all partitions that it concerns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from highwater.model.controller import partition_states, replica_states
from highwater.model.controller.elections import Strategy
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.language.declarations import action
from highwater.model.language.records import evolve
from highwater.model.log import brokers
from highwater.model.topic.bounds import TopicBounds
from highwater.model.topic.initial import unknown
from highwater.model.topic.machines import move_partitions, move_replicas, trigger_online
from highwater.model.topic.protocol import TopicProtocol
from highwater.model.topic.reassigning import resume
from highwater.model.topic.state import Context, Known, Node, Phase, Topic


def hosted(topic: Topic, partitions: Iterable[int], on: Collection[int] | None = None) -> list[tuple[int, int]]:
    """The replicas of partitions that the controller knows, as (partition, broker); on some brokers only, if given."""
    wanted = topic.ids if on is None else on
    return [
        (partition, broker)
        for partition in partitions
        for broker in topic.context.partitions[partition].assignment
        if broker in wanted
    ]


def knows_topic(topic: Topic) -> bool:
    return bool(topic.context.partitions[0].assignment)


# Fail-over


@action(actor="controller", needs=lambda bounds: bounds.fail_overs)
def lose_controller(topic: Topic) -> Topic | None:
    """The controller crashes or loses its session, between any two events.

    Actor: the controller.
    Enabled: one is active; the budget allows it.
    Effect: its memory is lost, and what is in flight.
    Abstracts: a deposed controller that goes on: all that it does here is `write_late`.
    """
    if topic.context.phase is Phase.INACTIVE:
        return None
    blank = (unknown(len(topic.brokers)),) * len(topic.nodes)
    context = Context(Phase.INACTIVE, frozenset(), watches=False, signalled=False, partitions=blank)
    return evolve(topic, context=context, queues=((),) * len(topic.brokers)).spending("fail_overs")


def _read(node: Node, brokers: int) -> Known:
    before = unknown(brokers)
    if not node.assignment:
        return before
    return evolve(before, assignment=node.assignment, led=node.leadership is not None, target=node.target)


@action(actor="controller", needs=lambda bounds: bounds.fail_overs)
def read_context(topic: Topic, protocol: TopicProtocol) -> Topic | None:
    """A new controller reads which brokers are alive, and each partition's assignment, leadership and reassignment.

    Actor: the controller.
    Enabled: none is active.
    Effect: it has them in memory. Changes of brokers are signalled from here on, and, since KAFKA-5642, those of the
        topic.
    Source: kafka.controller.KafkaController#onControllerFailover, #initializeControllerContext (0.9.0.0 to 3.9).
    """
    if topic.context.phase is not Phase.INACTIVE:
        return None
    known = tuple(_read(node, len(topic.brokers)) for node in topic.nodes)
    watches = protocol.watched_before_read and bool(topic.nodes[0].assignment)
    return topic.with_context(phase=Phase.READ, live=topic.live, watches=watches, partitions=known)


@action(actor="controller", needs=lambda bounds: bounds.fail_overs)
def start_machines(topic: Topic, protocol: TopicProtocol) -> Topic | None:
    """A new controller starts both state machines from what it has read, and resumes reassignments.

    Actor: the controller.
    Enabled: it has read what ZooKeeper holds.
    Effect: replicas on live brokers are online and get LeaderAndIsr; since 2.3 those on dead ones leave the ISR. A
        leader is elected for each partition that is new or whose leader is dead.
    Source: kafka.controller.ReplicaStateMachine#startup, kafka.controller.PartitionStateMachine#startup (0.9.0.0 to
        3.9).
    """
    if topic.context.phase is not Phase.READ:
        return None
    for partition in topic.numbers:
        topic = _with_first_replica_states(topic, partition)
    topic = move_replicas(topic, hosted(topic, topic.numbers, topic.context.live), ReplicaState.ONLINE, protocol)
    if protocol.dead_replicas_leave_at_startup:
        dead = [broker for broker in topic.ids if broker not in topic.context.live]
        topic = move_replicas(topic, hosted(topic, topic.numbers, dead), ReplicaState.OFFLINE, protocol)
    for partition in topic.numbers:
        topic = _with_first_state(topic, partition)
    topic = trigger_online(topic)
    if not knows_topic(topic):
        return topic.with_context(phase=Phase.ACTIVE)
    return _active(topic, protocol) if topic.context.watches else topic.with_context(phase=Phase.UNWATCHED)


def _with_first_replica_states(topic: Topic, partition: int) -> Topic:
    known, live = topic.context.partitions[partition], topic.context.live
    replicas = tuple(
        replica_states.at_startup(is_live=broker in live) if broker in known.assignment else known.replicas[broker]
        for broker in topic.ids
    )
    return topic.with_known(partition, replicas=replicas)


def _with_first_state(topic: Topic, partition: int) -> Topic:
    known, leadership, live = topic.context.partitions[partition], topic.nodes[partition].leadership, topic.context.live
    if not known.assignment:
        return topic
    leader = None if leadership is None else leadership.leader
    state = partition_states.at_startup(has_leadership=known.led, leader_is_live=leader is not None and leader in live)
    return topic.with_known(partition, state=state)


def _active(topic: Topic, protocol: TopicProtocol) -> Topic:
    """The topic once the controller handles events; it begins with the reassignments that it has read."""
    topic = topic.with_context(phase=Phase.ACTIVE)
    for partition in topic.numbers:
        if topic.context.partitions[partition].target:
            topic = resume(topic, partition, protocol)
    return topic


# The topic and its partitions


@action(actor="controller", needs=lambda bounds: not bounds.established)
def notice_topic(topic: Topic, protocol: TopicProtocol) -> Topic | None:
    """A controller learns of the new topic.

    Actor: the controller.
    Enabled: it handles events, and does not know the topic.
    Effect: it has the assignment in memory. It watches the topic from then on and brings it online; until KAFKA-5642 it
        watches it later (`watch_topic`).
    Source: kafka.controller.PartitionStateMachine#TopicChangeListener (0.9.0.0 to 0.10.2),
        kafka.controller.KafkaController#onNewTopicCreation (0.9.0.0 to 1.0), #registerPartitionModificationsHandlers
        (1.1.0 to 3.9).
    """
    if topic.context.phase is not Phase.ACTIVE or knows_topic(topic) or not topic.nodes[0].assignment:
        return None
    if protocol.watched_before_read:
        return _created(topic.with_context(watches=True), protocol)
    return _with_new_assignments(topic).with_context(phase=Phase.UNWATCHED)


@action(actor="controller")
def watch_topic(topic: Topic, protocol: TopicProtocol) -> Topic | None:
    """A controller that knows the topic begins to watch it.

    Actor: the controller.
    Enabled: it has read the topic's assignment, and does not watch it.
    Effect: the next change of the assignment is signalled. New partitions come online, and reassignments are resumed.
    Source: kafka.controller.KafkaController#onControllerFailover, #onNewTopicCreation (0.9.0.0 to 1.0).
    """
    if topic.context.phase is not Phase.UNWATCHED:
        return None
    return _active(_brought_online(topic.with_context(watches=True), protocol), protocol)


@action(actor="controller")
def notice_partitions(topic: Topic, protocol: TopicProtocol) -> Topic | None:
    """A controller handles the signal that the topic's assignment has changed.

    Actor: the controller.
    Enabled: it handles events, and there is such a signal.
    Effect: it reads the assignment, which sets the watch anew, and brings new partitions online. What was changed since
        the signal is part of what it reads.
    Source: kafka.controller.PartitionStateMachine#PartitionModificationsListener (0.10.0.0 to 0.10.2),
        kafka.controller.KafkaController#onNewPartitionCreation (0.9.0.0 to 3.9).
    """
    if topic.context.phase is not Phase.ACTIVE or not topic.context.signalled:
        return None
    return _created(topic.with_context(watches=True, signalled=False), protocol)


def _with_new_assignments(topic: Topic) -> Topic:
    """The topic once the controller has the assignment of each partition that it did not know."""
    for partition in topic.numbers:
        if not topic.context.partitions[partition].assignment:
            topic = topic.with_known(partition, assignment=topic.nodes[partition].assignment)
    return topic


def _created(topic: Topic, protocol: TopicProtocol) -> Topic:
    return _brought_online(_with_new_assignments(topic), protocol)


def _brought_online(topic: Topic, protocol: TopicProtocol) -> Topic:
    """Source: kafka.controller.KafkaController#onNewPartitionCreation (0.9.0.0 to 3.9)."""
    new = [
        partition
        for partition in topic.numbers
        if topic.context.partitions[partition].state is PartitionState.NON_EXISTENT
        and topic.context.partitions[partition].assignment
    ]
    topic = move_partitions(topic, new, PartitionState.NEW)
    topic = move_replicas(topic, hosted(topic, new), ReplicaState.NEW, protocol)
    topic = move_partitions(topic, new, PartitionState.ONLINE)
    return move_replicas(topic, hosted(topic, new), ReplicaState.ONLINE, protocol)


# Brokers


@action(actor="controller", needs=lambda bounds: bounds.broker_crashes)
def notice_brokers(topic: Topic, protocol: TopicProtocol) -> Topic | None:
    """A controller learns in one event which brokers have started and which have failed.

    Actor: the controller.
    Enabled: it handles events, and the live brokers are not those that it knows.
    Effect: each partition that a failed broker led gets another leader. Its replicas leave the ISR. Replicas on brokers
        that have started are online; partitions that are offline get a leader; reassignments to them are resumed.
    Source: kafka.controller.KafkaController#onBrokerStartup, #onBrokerFailure (0.9.0.0 to 3.9).
    """
    context = topic.context
    came = [broker for broker in topic.ids if broker in topic.live and broker not in context.live]
    went = [broker for broker in topic.ids if broker in context.live and broker not in topic.live]
    if context.phase is not Phase.ACTIVE or not (came or went):
        return None
    topic = topic.with_context(live=topic.live)
    topic = _came(topic, came, protocol) if came else topic
    return _went(topic, went, protocol) if went else topic


def _came(topic: Topic, came: list[int], protocol: TopicProtocol) -> Topic:
    topic = move_replicas(topic, hosted(topic, topic.numbers, came), ReplicaState.ONLINE, protocol)
    topic = trigger_online(topic)
    for partition in topic.numbers:
        if any(broker in came for broker in topic.context.partitions[partition].target):
            topic = resume(topic, partition, protocol)
    return topic


def _went(topic: Topic, went: list[int], protocol: TopicProtocol) -> Topic:
    topic = move_partitions(
        topic, [each for each in topic.numbers if _is_led_by(topic, each, went)], PartitionState.OFFLINE
    )
    topic = trigger_online(topic)
    return move_replicas(topic, hosted(topic, topic.numbers, went), ReplicaState.OFFLINE, protocol)


def _is_led_by(topic: Topic, partition: int, some: Collection[int]) -> bool:
    """Whether the leader that the controller knows is one of some brokers."""
    leadership = topic.nodes[partition].leadership
    if leadership is None or leadership.leader is None or not topic.context.partitions[partition].led:
        return False
    return leadership.leader in some


# Balancing


@action(actor="controller", needs=lambda bounds: bounds.imbalance_percentage < 100, broker=brokers)
def balance_leaders(topic: Topic, broker: int, protocol: TopicProtocol, bounds: TopicBounds) -> Topic | None:
    """The controller elects a broker where it is the preferred leader and another one leads, because it leads too few
    of these partitions.

    Actor: the controller, on its timer.
    Enabled: it handles events, and takes the broker for alive. Of the partitions of which the broker is the preferred
        leader, others lead more than `imbalance_percentage` per cent. Until 3.3 no partition is being reassigned.
    Effect: the broker leads those in whose ISR it is.
    Abstracts: leader.imbalance.check.interval.seconds: the timer may fire at any moment, and for one broker alone.
    Source: kafka.controller.KafkaController#checkAndTriggerPartitionRebalance (0.9.0.0 to 0.10.2),
        #checkAndTriggerAutoLeaderRebalance (1.0.0 to 3.9).
    """
    known = topic.context.partitions
    if topic.context.phase is not Phase.ACTIVE or broker not in topic.context.live:
        return None
    preferring = [each for each in topic.numbers if known[each].assignment[:1] == (broker,)]
    lost = [each for each in preferring if known[each].led and not _is_led_by(topic, each, (broker,))]
    if len(lost) * 100 <= bounds.imbalance_percentage * len(preferring):
        return None
    if protocol.balancing_waits and any(each.target for each in known):
        return None
    after = move_partitions(topic, lost, PartitionState.ONLINE, Strategy.PREFERRED)
    return after if any(after.nodes[each].leadership != topic.nodes[each].leadership for each in lost) else None
