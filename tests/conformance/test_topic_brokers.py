"""Brokers of the model `topic` handle requests for several partitions as Kafka's own do with ZooKeeper."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, combinations
from typing import Any

import attrs
import pytest

from highwater.conformance.process import Operation
from highwater.model.log import NO_EPOCH
from highwater.model.topic.bounds import TopicBounds
from highwater.model.topic.definition import TOPIC
from highwater.model.topic.initial import initial_states
from highwater.model.topic.protocol import TopicProtocol
from highwater.model.topic.serving import fail_half_way, receive
from highwater.model.topic.state import Order, Request, Role, Topic
from tests.conformance.conftest import Running
from tests.conformance.test_broker_requests import BROKER_EPOCH, BrokerRequests

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("zookeeper")]

ME, PARTITIONS = 0, range(4)
RUNS, REQUESTS = 200, 8
BOUNDS = TopicBounds(
    brokers=3, partitions=len(PARTITIONS), replication_factor=3, leader_epoch_max=9, established=0, opening_errors=1
)
(EMPTY,) = initial_states(BOUNDS)
DELETE = Order(stop=True, leader=None, leader_epoch=NO_EPOCH)
GROUPS_OF = [frozenset(each) for size in range(len(PARTITIONS)) for each in combinations(PARTITIONS, size)]
Seen = list[dict[str, Any]]


def a_request(chance: random.Random) -> Request:
    stops = chance.random() < 0.2

    def an_order() -> Order | None:
        if chance.random() < 0.3:
            return None
        return DELETE if stops else Order(False, chance.choice([None, ME, 1, 1, 2]), chance.randrange(5))

    return tuple(an_order() for _ in PARTITIONS)


def shown(request: Request, reads_before: int | None) -> Operation:
    """The request, and how many reads of a topic's configuration succeed before one fails."""
    orders = {number: order for number, order in enumerate(request) if order is not None}
    others = {"isr": [0, 1, 2], "replicas": [0, 1, 2], "delete": True}
    return {
        "do": "StopReplica" if DELETE in request else "LeaderAndIsr",
        "topic": 0,
        "controller_epoch": 1,
        "broker_epoch": BROKER_EPOCH,
        "late": False,
        "reads_before": reads_before,
        "partitions": [
            {
                "partition": number,
                "leader": order.leader,
                "leader_epoch": order.leader_epoch,
                "partition_epoch": max(order.leader_epoch, 0),  # which grows with the leader epoch
                **others,
            }
            for number, order in orders.items()
        ],
    }


def in_model(topic: Topic) -> Seen:
    return [
        {
            "role": each.role.value,
            "leader": each.leader,
            "leader_epoch": each.leader_epoch,
            "source": each.source,
            "log": each.log,
        }
        for each in topic.brokers[ME].replicas
    ]


def in_kafka(broker: dict[str, Any]) -> Seen:
    """The same of Kafka's broker. A fetcher of the leader does not count in a former epoch, in which the leader refuses
    it.
    """

    def source(one: dict[str, Any]) -> int | None:
        leader, epoch = one["fetch"] or (None, None)
        return None if leader == one["leader"] and epoch != one["leader_epoch"] else leader

    def role(one: dict[str, Any]) -> Role:
        if one["role"] == "leader":
            return Role.LEADER
        return Role.NONE if one["leader_epoch"] == NO_EPOCH else Role.FOLLOWER

    return [
        {
            "role": role(one).value,
            "leader": one["leader"],
            "leader_epoch": one["leader_epoch"],
            "source": source(one),
            "log": one["log"] is not None,
        }
        for one in broker["partitions"]
    ]


def outcomes(topic: Topic, protocol: TopicProtocol, *, failed: bool) -> Iterator[Topic]:
    """What may become of a request, and of one that fails as some log is made."""
    if not failed:
        yield receive(topic, ME, protocol)
        return
    for failing in PARTITIONS:
        for done in GROUPS_OF:
            after = fail_half_way(topic, ME, failing, done, protocol)
            if after is not None:
                yield after


@attrs.frozen
class Handled:
    """A request, what the model may come to, and what Kafka's broker came to."""

    operation: Operation
    may_be: list[Seen]
    real: Seen
    failed: bool

    @property
    def differs(self) -> bool:
        return self.real not in self.may_be


def handled(kafka: BrokerRequests, protocol: TopicProtocol, seed: int) -> Iterator[Handled]:
    """Requests of one run, up to the first after which Kafka's broker is another."""
    chance = random.Random(seed)
    topic = EMPTY
    kafka.run([{"do": "begin", "topic": "groups", "partitions": len(PARTITIONS)}])
    for _ in range(REQUESTS):
        request = a_request(chance)
        operation = shown(request, chance.choice([None, None, 0, 1, 2]))
        (answer,) = kafka.run([operation])
        failed = operation["do"] == "LeaderAndIsr" and answer["failed"]
        sent = attrs.evolve(topic.with_queue(ME, (request,)), used=EMPTY.used)
        found = {repr(in_model(each)): each for each in outcomes(sent, protocol, failed=failed)}
        real = in_kafka(answer)
        yield Handled(operation, [in_model(each) for each in found.values()], real, failed)
        if repr(real) not in found:
            return
        topic = found[repr(real)]


def all_handled(kafka: BrokerRequests, protocol: TopicProtocol) -> Iterator[Handled]:
    return chain.from_iterable(handled(kafka, protocol, seed) for seed in range(RUNS))


def contradicted(kafka: BrokerRequests, protocol: TopicProtocol) -> bool:
    return any(each.differs for each in all_handled(kafka, protocol))


def rules(kafka: BrokerRequests) -> TopicProtocol:
    (preset,) = TOPIC.presets_for(kafka.distribution.release)
    return TOPIC.presets[preset]


@pytest.fixture(scope="module", params=["3.5.1", "3.9.1"])
def kafka(request: pytest.FixtureRequest, running: Running) -> BrokerRequests:
    return running(BrokerRequests, request.param)


def test_a_broker_does_with_random_requests_what_kafkas_does(kafka: BrokerRequests) -> None:
    runs = list(all_handled(kafka, rules(kafka)))
    assert [each for each in runs if each.differs] == []
    half_way = [each for each in runs if each.failed and len(each.may_be) > 1]
    assert half_way and any(
        one["role"] == "follower" and one["source"] is None and one["log"] for each in half_way for one in each.real
    )


@pytest.mark.parametrize("kafka", ["3.9.1"], indirect=True)
@pytest.mark.parametrize("rule", ["partition_fails_alone", "follower_notes_epoch_first", "fence_fetch"])
def test_a_rule_set_wrong_is_contradicted(kafka: BrokerRequests, rule: str) -> None:
    protocol = rules(kafka)
    assert contradicted(kafka, attrs.evolve(protocol, **{rule: not getattr(protocol, rule)}))
