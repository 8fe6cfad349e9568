"""Events of the model `topic` beside Kafka's own KafkaController: each is about all partitions that it concerns.

As in the test of the model `controller`: random walks lead to states in which an event can be handled, and both sides
handle it there.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import attrs
import pytest

from highwater.claims.building import build_system
from highwater.conformance.process import Operation
from highwater.explorer.system import System
from highwater.model.controller.reassignment import ordered
from highwater.model.language.declarations import Instance
from highwater.model.topic.bounds import TopicBounds
from highwater.model.topic.controlling import balance_leaders, start_machines
from highwater.model.topic.definition import TOPIC
from highwater.model.topic.protocol import TopicProtocol
from highwater.model.topic.state import Leadership, Phase, Topic
from tests.conformance.conftest import Running
from tests.conformance.test_controller_events import ControllerEvents, of_walks, random_steps

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("zookeeper")]

BROKERS = range(3)
WALKS, STEPS = 400, 60
IMBALANCE = 10  # the default
EPOCH, TOPIC_ID = 1, 1
EVENTS = {
    "read_context": "Reelect",
    "notice_topic": "TopicChange",
    "notice_partitions": "PartitionModifications",
    "notice_brokers": "BrokerChange",
    "balance_leaders": "AutoPreferredReplicaLeaderElection",
    "notice_reassignment": "ZkPartitionReassignment",
    "notice_caught_up_replicas": "MaybeCompleteReassignment",
}
REASSIGNING = ("notice_reassignment", "notice_caught_up_replicas")
Shown = dict[str, Any]


def some_bounds(chance: random.Random) -> TopicBounds:
    """Some things happen in a walk, and others do not."""
    return TopicBounds(
        brokers=len(BROKERS), partitions=2, replication_factor=chance.choice((1, 2)), leader_epoch_max=15,
        queue_length_max=8, established=chance.choice((0, 1, 2)),
        imbalance_percentage=chance.choice((100, IMBALANCE)), broker_crashes=3 * chance.randrange(2),
        fail_overs=2 * chance.randrange(2), partition_additions=chance.randrange(2),
        reassignments=2 * chance.randrange(2),
    )  # fmt: skip


@attrs.frozen
class Event:
    """An event of the controller in some state.

    Attributes:
        origins: by partition, its replicas before it was reassigned last.
    """

    topic: Topic
    action: str
    partition: int | None
    origins: tuple[tuple[int, ...], ...]
    after: Topic

    def on_kafka(self) -> Operation:
        context = self.topic.context
        active = context.phase is not Phase.INACTIVE
        return {
            "event": EVENTS[self.action],
            "number": self.partition,
            "active": active,
            "epoch": EPOCH,
            "live": [0 if broker in context.live else None for broker in BROKERS],
            "shutting_down": [],
            "topic": TOPIC_ID if context.partitions[0].assignment else 0,
            "partitions": [
                {
                    **self._assigned(number, known.assignment, known.target),
                    "leadership": row(self.topic.nodes[number].leadership) if known.led else None,
                    "partition": known.state.value,
                    "replicas": [state.value for state in known.replicas],
                }
                for number, known in enumerate(context.partitions)
            ],
            "deleting": False,
            "deletion_begun": False,
            "deletion_halted": False,
            "batch_left": False,
            "zk": {
                "controller": True if active else None,
                "controller_epoch": EPOCH,
                "registrations": [0 if broker in self.topic.live else None for broker in BROKERS],
                "topic": TOPIC_ID,
                "partitions": [self._in_zookeeper(number) for number in self.topic.numbers],
                "deletion": False,
                "preferred_election": False,
                "isr_changed": False,
            },
        }

    def _assigned(self, number: int, assignment: tuple[int, ...], target: tuple[int, ...]) -> Shown:
        begun = bool(target) and assignment == ordered(target, assignment)
        return {
            "assignment": assignment,
            "origin": self.origins[number] if begun else None,
            "target": target if begun else None,
        }

    def _in_zookeeper(self, number: int) -> Shown:
        node, known = self.topic.nodes[number], self.topic.context.partitions[number]
        of_node = known.target if self.topic.context.phase is Phase.ACTIVE else node.target
        shown = self._assigned(number, node.assignment, of_node)
        asked = node.target if node.target and shown["target"] is None else None
        is_other = self.action == "notice_reassignment" and number != self.partition
        return {**shown, "leadership": row(node.leadership), "reassignment": None if is_other else asked}

    def on_model(self) -> Shown:
        context = self.after.context
        return {
            "live": sorted(context.live),
            "partitions": [
                {
                    "assignment": list(known.assignment),
                    "reassigning": bool(known.target),
                    "led": known.led,
                    "partition": known.state.value,
                    "replicas": [state.value for state in known.replicas],
                }
                for known in context.partitions
            ],
            "nodes": [
                {
                    "assignment": list(node.assignment),
                    "leadership": None if node.leadership is None else row(node.leadership)[:3],
                }
                for node in self.after.nodes
            ],
            "requests": {
                broker: [
                    {number: (each.stop, each.leader, each.leader_epoch) for number, each in enumerate(request) if each}
                    for request in queue
                ]
                for broker, queue in enumerate(self.after.queues)
                if queue
            },
        }


def row(leadership: Leadership | None) -> list[Any] | None:
    """With a partition epoch, which the model does not have."""
    if leadership is None:
        return None
    return [leadership.leader, sorted(leadership.isr), leadership.leader_epoch, 0, EPOCH]


def in_kafka(event: Event, answer: Shown) -> Shown:
    """What Kafka's controller did, as the model shows it: without UpdateMetadata, StopReplica that deletes nothing, and
    what goes to a broker that is down.
    """

    def orders(request: list[Any]) -> dict[int, tuple[bool, Any, int]] | None:
        kind, partitions = request[0], request[-1]
        if kind == "LeaderAndIsr":
            return {int(number): (False, of[0], of[1]) for number, of in partitions.items()}
        deleted = {int(number): (True, None, of[0]) for number, of in partitions.items() if of[1]}
        return deleted or None

    sent = {
        int(broker): [found for each in rows if each[0] != "UpdateMetadata" and (found := orders(each)) is not None]
        for broker, rows in answer["requests"].items()
        if event.topic.brokers[int(broker)].running
    }
    return {
        "live": [broker for broker, epoch in enumerate(answer["live"]) if epoch is not None],
        "partitions": [
            {**{key: of[key] for key in of if key != "leadership"}, "led": of["leadership"] is not None}
            for of in answer["partitions"]
        ],
        "nodes": [
            {"assignment": of["assignment"], "leadership": of["leadership"] and of["leadership"][:3]}
            for of in answer["zk"]["partitions"]
        ],
        "requests": {broker: rows for broker, rows in sent.items() if rows},
    }


def differences(event: Event, answer: Shown) -> list[str]:
    if not answer["active"] or answer["error"] is not None:
        return ["error"]
    ours, real = event.on_model(), in_kafka(event, answer)
    found = [key for key in ours if key != "requests" and ours[key] != real[key]]
    return found + (["requests"] if requests_differ(event, ours["requests"], real["requests"]) else [])


def requests_differ(event: Event, ours: dict[int, list[Any]], real: dict[int, list[Any]]) -> bool:
    """Requests to each broker must be the same; in order, if one partition alone is reassigned. Not compared is a
    LeaderAndIsr of the leader epoch in which a reassignment ends: the model sends it to the whole target.
    """

    def comparable(requests: dict[int, list[Any]]) -> dict[int, list[str]]:
        found = {}
        for broker, rows in requests.items():
            kept = [str(each) for each in rows if not repeated(each)]
            found[broker] = kept if event.partition is not None else sorted(kept)
        return {broker: rows for broker, rows in found.items() if rows}

    def repeated(request: dict[int, Any]) -> bool:
        if not any(event.topic.nodes[number].target for number in request):
            return False
        epochs = {number: getattr(event.topic.nodes[number].leadership, "leader_epoch", None) for number in request}
        return all(not stop and epoch == epochs[number] for number, (stop, _, epoch) in request.items())

    return comparable(ours) != comparable(real)


@cache
def actions_of(protocol: TopicProtocol, bounds: TopicBounds) -> System:
    return build_system(TOPIC.define(protocol), protocol, bounds, ())


@cache
def walk(protocol: TopicProtocol, seed: int) -> tuple[TopicBounds, list[tuple[Topic, Instance, Any]]]:
    """States of a random walk, each with an event that can be handled there."""
    chance = random.Random(seed)
    bounds = some_bounds(chance)
    system = actions_of(protocol, bounds)
    origins, found = [node.assignment for node in system.initial[0].nodes], []
    for state, instance in random_steps(system, chance, STEPS):
        for number, node in enumerate(state.nodes):
            if not node.target:
                origins[number] = node.assignment
        if instance.of.name in EVENTS:
            nothing_sent = attrs.evolve(state, queues=((),) * len(BROKERS))
            found.append((nothing_sent, instance, tuple(origins)))
    return bounds, found


def events(protocol: TopicProtocol, other: TopicProtocol, seed: int) -> Iterator[Event]:
    """The events of a walk under one protocol, each handled under another."""
    bounds, found = walk(protocol, seed)
    for topic, instance, origins in found:
        if instance.of.name == "balance_leaders":  # Kafka's controller does so for all brokers
            balanced = [balance_leaders(topic, broker, protocol, bounds) for broker in BROKERS]
            if sum(each is not None for each in balanced) != 1:
                continue
        (same,) = (each for each in actions_of(other, bounds).actions if str(each) == str(instance))
        after = same.apply(topic) or topic
        if instance.of.name == "read_context":
            after = start_machines(after, other) or after
        yield Event(topic, instance.of.name, instance.arguments.get("partition"), origins, after)


@pytest.fixture(scope="module", params=["3.5.1", "3.9.1"])
def kafka(request: pytest.FixtureRequest, running: Running) -> ControllerEvents:
    return running(ControllerEvents, request.param)


def rules(kafka: ControllerEvents) -> TopicProtocol:
    (preset,) = TOPIC.presets_for(kafka.distribution.release)
    return TOPIC.presets[preset]


def answered(kafka: ControllerEvents, protocol: TopicProtocol) -> Iterator[tuple[Event, Shown]]:
    return of_walks(kafka, (list(events(rules(kafka), protocol, seed)) for seed in range(WALKS)))


def test_a_controller_does_in_random_states_what_kafkas_does(kafka: ControllerEvents) -> None:
    seen: Counter[str] = Counter()
    for event, answer in answered(kafka, rules(kafka)):
        assert differences(event, answer) == [], (event.on_kafka(), event.on_model(), answer)
        seen[event.action] += 1
    assert seen.keys() == EVENTS.keys()


@pytest.mark.parametrize("kafka", ["3.9.1"], indirect=True)
@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("dead_replicas_leave_at_startup", False),
        ("removed_replicas_told", True),
        ("balancing_waits", True),
        ("watched_before_read", False),
    ],
)
def test_a_rule_set_wrong_is_contradicted(kafka: ControllerEvents, rule: str, wrong: bool) -> None:
    assert getattr(rules(kafka), rule) is not wrong
    other = attrs.evolve(rules(kafka), **{rule: wrong})
    assert any(differences(event, answer) for event, answer in answered(kafka, other))
