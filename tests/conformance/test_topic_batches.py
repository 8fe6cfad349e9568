"""The model of a topic moves several replicas and partitions at once beside Kafka's own state machines: what is written
to ZooKeeper, and which requests go to whom, each for which partitions.

The model has no UpdateMetadata, and no StopReplica without delete. What Kafka sends of them is held against what
ZooKeeper has, and against the replicas that went offline.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs
import pytest

from highwater.conformance.zookeeper_side import StateMachines
from highwater.model.controller import replica_states
from highwater.model.controller.elections import Strategy
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.reassignment import ordered
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.transitions import Illegal
from highwater.model.language.records import evolve, replaced
from highwater.model.topic import machines
from highwater.model.topic.bounds import TopicBounds
from highwater.model.topic.controlling import hosted
from highwater.model.topic.initial import initial_states, unknown
from highwater.model.topic.machines import Batch, move_partitions, move_replicas, trigger_online
from highwater.model.topic.protocol import TopicProtocol
from highwater.model.topic.releases import PRESETS
from highwater.model.topic.state import Known, Leadership, Node, Request, Topic
from tests.conformance.conftest import Running

pytestmark = pytest.mark.xdist_group("zookeeper")

BROKERS, PARTITIONS = range(4), range(3)
BOUNDS = TopicBounds(brokers=len(BROKERS), partitions=len(PARTITIONS), replication_factor=3, leader_epoch_max=9)
PROTOCOL = PRESETS["kafka-3.4"]
CONTROLLER_EPOCH, BROKER_EPOCH, TOPIC_ID = 1, 0, 1
ESTABLISHED = initial_states(BOUNDS)[0]
UNKNOWN = Node((), None, ()), unknown(len(BROKERS))
KINDS = ("LeaderAndIsr", "UpdateMetadata", "StopReplica")
MOVES = 2_000
Shown = dict[str, Any]


@attrs.frozen
class Move:
    """One call of a state machine: replicas, as (partition, broker), or partitions move to a state. Without a state,
    all partitions that are new or offline are to get a leader.
    """

    topic: Topic
    to: ReplicaState | PartitionState | None = None
    ids: tuple[Any, ...] = ()
    strategy: Strategy = Strategy.OFFLINE

    def on_kafka(self) -> Shown:
        machine = {ReplicaState: "replica", PartitionState: "partition"}.get(type(self.to), "online")
        return {
            "machine": machine,
            "to": self.to and self.to.value,
            "ids": self.ids,
            "strategy": self.strategy.value,
            "unclean": False,
            "epoch": CONTROLLER_EPOCH,
            "topic": TOPIC_ID,
            "live": [BROKER_EPOCH if broker in self.topic.context.live else None for broker in BROKERS],
            "shutting_down": [],
            "deleting": False,
            "controller_epoch": CONTROLLER_EPOCH,
            "partitions": [given(*each) for each in zip(self.topic.nodes, self.topic.context.partitions, strict=True)],
        }

    def on_model(self, protocol: TopicProtocol = PROTOCOL) -> Shown:
        """What the model does, as `projected` shows Kafka's state machines."""
        topic = self.topic
        if self.to is None:
            topic = trigger_online(topic)
        elif isinstance(self.to, ReplicaState):
            topic = move_replicas(topic, self.ids, self.to, protocol)
        else:
            topic = move_partitions(topic, self.ids, self.to, self.strategy)
        written = [shown(node.leadership) for node in topic.nodes]
        known = topic.context.partitions
        return {
            "partition": [each.state.value for each in known],
            "replicas": [[state.value for state in each.replicas] for each in known],
            "assignment": [list(each.assignment) for each in known],
            "written": written,
            "leadership": [each if ours.led else None for each, ours in zip(written, known, strict=True)],
            "requests": {
                str(broker): [request_shown(request) for request in queue]
                for broker, queue in enumerate(topic.queues)
                if queue
            },
        }

    def went_offline(self) -> set[tuple[int, int]]:
        """The replicas on live brokers that may go offline by this move."""
        if self.to is not ReplicaState.OFFLINE:
            return set()
        states = self.topic.context.partitions
        may = [each for each in self.ids if not is_illegal(states[each[0]].replicas[each[1]], self.to)]
        return {(partition, broker) for partition, broker in may if broker in self.topic.context.live}


def is_illegal(before: ReplicaState, after: ReplicaState) -> bool:
    return isinstance(replica_states.change(before, after), Illegal)


def given(node: Node, known: Known) -> Shown:
    """One partition, for `StateMachines`. Its partition epoch, which the model does not have, is the leader epoch."""
    leadership = shown(node.leadership)
    written = None if leadership is None else [*leadership, leadership[2], CONTROLLER_EPOCH]
    leaving = [replica for replica in known.assignment if replica not in known.target]
    return {
        "assignment": known.assignment,
        **({"origin": leaving, "target": known.target} if known.target else {}),
        "leadership": written if known.led else None,
        "written": written,
        "partition": known.state.value,
        "replicas": [state.value for state in known.replicas],
    }


def shown(leadership: Leadership | None) -> list[Any] | None:
    return None if leadership is None else [leadership.leader, sorted(leadership.isr), leadership.leader_epoch]


def request_shown(request: Request) -> Shown:
    return {
        str(partition): ["delete" if order.stop else order.leader, order.leader_epoch]
        for partition, order in enumerate(request)
        if order is not None
    }


# What is tried


def some_topic(chance: random.Random) -> Topic:
    """A controller's memory and what ZooKeeper holds, in any combination, reachable or not."""
    topic = ESTABLISHED.with_context(live=frozenset(broker for broker in BROKERS if chance.random() < 0.7))
    for partition in PARTITIONS:
        node, known = some_partition(chance) if chance.random() < 0.9 else UNKNOWN
        topic = evolve(topic, nodes=replaced(topic.nodes, partition, node))
        topic = topic.with_context(partitions=replaced(topic.context.partitions, partition, known))
    return topic


def some_partition(chance: random.Random) -> tuple[Node, Known]:
    assignment, target = some_brokers(chance), ()
    if chance.random() < 0.3:
        target = some_brokers(chance)
        assignment = ordered(target, assignment)
    leadership = None
    if chance.random() < 0.9:
        isr = frozenset(some_brokers(chance))
        leadership = Leadership(chance.choice((None, *BROKERS)), isr, chance.randint(0, BOUNDS.leader_epoch_max - 4))
    led = leadership is not None and chance.random() < 0.9
    states = tuple(chance.choice(list(ReplicaState)) for _ in BROKERS)
    known = Known(assignment, led, target, chance.choice(list(PartitionState)), states)
    return Node(assignment, leadership, target), known


def some_brokers(chance: random.Random) -> tuple[int, ...]:
    return tuple(chance.sample(BROKERS, chance.randint(1, 3)))


def some_move(chance: random.Random) -> Move:
    """Several partitions, or their replicas on several brokers. As in Kafka, no other replica than one that is not
    assigned any more ceases to exist, and none that is not assigned comes online.
    """
    topic, partitions = some_topic(chance), chance.sample(PARTITIONS, chance.randint(1, len(PARTITIONS)))
    known = [each for each in sorted(partitions) if topic.context.partitions[each].assignment]
    to = chance.choice([None, *PartitionState, *ReplicaState, *ReplicaState])
    if to is None:
        return Move(topic)
    if isinstance(to, PartitionState):
        strategy = chance.choice([each for each in Strategy if each is not Strategy.CONTROLLED_SHUTDOWN])
        if strategy is Strategy.REASSIGNMENT:
            known = [each for each in known if is_reassigned(topic.context.partitions[each])]
        return Move(topic, to, tuple(known), strategy)
    moved = hosted(topic, known, chance.sample(BROKERS, chance.randint(1, len(BROKERS))))
    if to is ReplicaState.NON_EXISTENT or (chance.random() < 0.3 and to is not ReplicaState.ONLINE):
        moved = [(each, broker) for each in known for broker in BROKERS if (each, broker) not in hosted(topic, known)]
    return Move(legal_often(topic, moved, to, chance), to, tuple(moved))


def is_reassigned(known: Known) -> bool:
    return bool(known.target) and known.state is not PartitionState.NEW


def legal_often(topic: Topic, moved: list[tuple[int, int]], to: ReplicaState, chance: random.Random) -> Topic:
    """The topic with most of these replicas in a state from which the move is legal."""
    legal = [edge.before for edge in replica_states.EDGES if edge.after is to]
    for partition, broker in moved:
        if chance.random() < 0.7:
            states = replaced(topic.context.partitions[partition].replicas, broker, chance.choice(legal))
            topic = topic.with_known(partition, replicas=states)
    return topic


# What comes out


def projected(kafka: Shown) -> Shown:
    """What the model has of Kafka's answer."""
    orders = {broker: [orders_of(request) for request in requests] for broker, requests in kafka["requests"].items()}
    return {
        **{key: kafka[key] for key in ("partition", "replicas", "assignment")},
        "written": [each and each[:3] for each in kafka["written"]],
        "leadership": [each and each[:3] for each in kafka["leadership"]],
        "requests": {broker: [each for each in asked if each] for broker, asked in orders.items() if any(asked)},
    }


def orders_of(request: list[Any]) -> Shown:
    kind, partitions = request[0], request[-1]
    if kind == "LeaderAndIsr":
        return {partition: row[:2] for partition, row in partitions.items()}
    return {partition: ["delete", row[0]] for partition, row in partitions.items() if kind == "StopReplica" and row[1]}


def of_kind(kafka: Shown, kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for broker, requests in kafka["requests"].items():
        yield from ((int(broker), request[-1]) for request in requests if request[0] == kind)


def check_what_the_model_leaves_out(move: Move, kafka: Shown) -> None:
    """Replicas that go offline are stopped. Every live broker hears what ZooKeeper has of each partition that a
    LeaderAndIsr is about.
    """
    stopped = {
        (int(partition), broker)
        for broker, partitions in of_kind(kafka, "StopReplica")
        for partition, (_, delete) in partitions.items()
        if not delete
    }
    assert stopped == move.went_offline()
    told = dict(of_kind(kafka, "UpdateMetadata"))
    assert set(told) in (set(), move.topic.context.live)
    for metadata in told.values():
        written = {partition: kafka["written"][int(partition)] for partition in metadata}
        assert metadata == {partition: [leader, epoch] for partition, (leader, _, epoch, *_) in written.items()}
    for _, orders in of_kind(kafka, "LeaderAndIsr"):
        assert all(orders.keys() <= metadata.keys() for metadata in told.values())
        assert told


@attrs.frozen
class Tried:
    """Moves, and what Kafka's state machines have done."""

    moves: list[Move]
    kafka: list[Shown]

    def differing(self, protocol: TopicProtocol = PROTOCOL) -> Iterator[tuple[Move, Shown, Shown]]:
        for move, kafka in zip(self.moves, self.kafka, strict=True):
            ours, theirs = move.on_model(protocol), projected(kafka)
            if ours != theirs:
                yield move, ours, theirs


@pytest.fixture(scope="module", params=[pytest.param("3.5.1", marks=pytest.mark.slow), "3.9.1"])
def tried(request: pytest.FixtureRequest, running: Running) -> Tried:
    chance = random.Random(1)
    moves = [some_move(chance) for _ in range(MOVES)]
    return Tried(moves, running(StateMachines, request.param).run([move.on_kafka() for move in moves]))


def test_batches_of_several_partitions_are_kafkas(tried: Tried) -> None:
    assert next(tried.differing(), None) is None
    for move, kafka in zip(tried.moves, tried.kafka, strict=True):
        check_what_the_model_leaves_out(move, kafka)
    sizes = {kind: {len(orders) for kafka in tried.kafka for _, orders in of_kind(kafka, kind)} for kind in KINDS}
    assert sizes == {kind: {1, 2, 3} for kind in KINDS}


# Errors that are planted


def told_only_of_changes(
    topic: Topic, partition: int, broker: int, leadership: Leadership, batch: Batch, take_offline: Any
) -> Topic:
    """The others hear nothing of a replica that was not in the ISR."""
    return take_offline(topic, partition, broker, leadership, batch) if broker in leadership.isr else topic


def moved_in_any_order(replicas: list[tuple[int, int]], **_: Any) -> list[tuple[int, int]]:
    """Partition by partition, each in the order of its assignment."""
    return list(replicas)


class OneForEach(Batch):
    """A request for each partition."""

    def sent(self, topic: Topic) -> Topic:
        for (stops, broker), orders in self._orders.items():
            for partition, order in orders.items():
                alone = Batch()
                alone._orders = {(stops, broker): {partition: order}}
                topic = alone.sent(topic)
        return topic


def with_the_same_epoch(before: Leadership, leader: int | None, isr: frozenset[int]) -> Leadership:
    """A new leader epoch only where there is a new leader."""
    return Leadership(leader, isr, before.leader_epoch + (leader is not None and leader != before.leader))


PLANTED = {
    "_take_offline": partial(told_only_of_changes, take_offline=machines._take_offline),
    "sorted": moved_in_any_order,
    "Batch": OneForEach,
    "next_leadership": with_the_same_epoch,
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_contradicted(tried: Tried, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, name, PLANTED[name], raising=name != "sorted")
    assert next(tried.differing(), None) is not None


def test_a_rule_of_older_releases_is_contradicted(tried: Tried) -> None:
    assert next(tried.differing(attrs.evolve(PROTOCOL, new_replica_asks_zookeeper=True)), None) is not None
