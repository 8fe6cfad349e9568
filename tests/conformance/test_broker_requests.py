"""Brokers of the model `controller` handle requests as Kafka's own do with ZooKeeper."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from highwater.conformance.process import Operation
from highwater.conformance.zookeeper_side import WithZooKeeper
from highwater.model.controller.bounds import ControllerBounds
from highwater.model.controller.brokers import DURING_DELETION, Broker, Kind, Request, Role
from highwater.model.controller.definition import CONTROLLER
from highwater.model.controller.protocol import ControllerProtocol, StopReplicaEpoch
from highwater.model.controller.replica_manager import (
    delete_replica_and_resign_late,
    fail_to_take_role,
    receive,
    resign_as_coordinator,
)
from highwater.model.controller.state import Cluster, initial_states
from highwater.model.language.records import evolve, replaced
from highwater.model.log import NO_EPOCH
from tests.conformance.conftest import Running

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("zookeeper")]

GROUPS, TRANSACTIONS = "groups", "transactions"
ME = 0
BROKER_EPOCH = 1
RUNS = 300
REQUESTS = 12
BOUNDS = ControllerBounds(brokers=3, replication_factor=3, leader_epoch_max=9, partition_epoch_max=9, established=0)
(START,) = initial_states(BOUNDS)


class BrokerRequests(WithZooKeeper):
    """A broker of Kafka's."""

    program = "BrokerRequests"


@attrs.frozen
class Run:
    """Requests to one broker, and what the model has of it after each of them."""

    operations: list[Operation]
    seen: list[dict[str, Any]]


def run_of(protocol: ControllerProtocol, topic: str, seed: int) -> Run:
    chance = random.Random(seed)
    cluster = registered(START.with_broker(ME, evolve(START.brokers[ME], epoch=BROKER_EPOCH)))
    run = Run([{"do": "begin", "topic": topic, "partitions": 1}], [seen(cluster.brokers[ME])])
    leaves_before = chance.choice([REQUESTS, REQUESTS, chance.randrange(REQUESTS)])
    for number in range(REQUESTS):
        if number == leaves_before:
            cluster = cluster.with_broker(ME, evolve(cluster.brokers[ME], leaving=True))
            run.operations.append({"do": "leave"})
            run.seen.append(seen(cluster.brokers[ME]))
        if cluster.brokers[ME].resigning is not None and chance.random() < 0.2:
            cluster = resign_as_coordinator(cluster, ME, protocol)
            run.operations.append({"do": "resign"})
            run.seen.append(seen(cluster.brokers[ME]))
        request = a_request(chance)
        if cluster.brokers[ME].coordinates and chance.random() < 0.2:
            request = evolve(request, kind=Kind.STOP_REPLICA, delete=True)
        sent = cluster.with_queue(0, ME, (request,))
        later = failed = None
        if cluster.brokers[ME].resigning is None and chance.random() < 0.8:
            later = delete_replica_and_resign_late(sent, 0, ME, protocol)
        fails = chance.random() < 0.2  # once a log is open, no configuration is read
        if fails and cluster.brokers[ME].log is None:
            failed = fail_to_take_role(sent, 0, ME, protocol, ours_first=False)
        cluster = later or (failed and registered(failed)) or receive(sent, 0, ME, protocol)
        run.operations.append({**shown(request), "late": later is not None, "reads_before": 0 if fails else None})
        run.seen.append(seen(cluster.brokers[ME]))
    return run


def registered(cluster: Cluster) -> Cluster:
    """The broker registers again, with the broker epoch that it had."""
    return cluster.with_zk(registrations=replaced(cluster.zk.registrations, ME, BROKER_EPOCH))


def a_request(chance: random.Random) -> Request:
    kind = chance.choice([Kind.LEADER_AND_ISR, Kind.LEADER_AND_ISR, Kind.STOP_REPLICA, Kind.UPDATE_METADATA])
    epoch = chance.choice(range(5) if kind is Kind.LEADER_AND_ISR else (DURING_DELETION, NO_EPOCH, *range(5)))
    replicas = frozenset(chance.sample(range(3), chance.choice([2, 3])))
    isr = frozenset(chance.sample(sorted(replicas), chance.randint(1, len(replicas))))
    return Request(
        kind=kind,
        controller_epoch=chance.choice([1, 1, 1, 2]),
        broker_epoch=chance.choice([BROKER_EPOCH] * 9 + [BROKER_EPOCH - 1]),
        topic_id=chance.choice([0, 0, 0, 1]),
        leader=chance.choice([None, *isr, *isr]),
        leader_epoch=epoch,
        partition_epoch=max(epoch, 0),  # which grows with the leader epoch
        isr=isr,
        replicas=replicas,
        delete=chance.random() < 0.4,
    )


def shown(request: Request) -> Operation:
    asked = {each: getattr(request, each) for each in ("leader", "leader_epoch", "partition_epoch", "delete")}
    of_metadata = request.kind is Kind.UPDATE_METADATA
    one = {"partition": 0, **asked, "isr": sorted(request.isr), "replicas": sorted(request.replicas)}
    return {
        "do": request.kind.value,
        "topic": request.topic_id,
        "controller_epoch": request.controller_epoch,
        "broker_epoch": request.broker_epoch,
        "live": sorted(request.replicas),
        "partitions": [] if of_metadata and request.leader_epoch == NO_EPOCH else [one],
    }


def seen(broker: Broker) -> dict[str, Any]:
    """The broker as the harness shows Kafka's."""
    leads, of = broker.role is Role.LEADER, broker.metadata
    served = None if of is None else [-1 if of.leader is None else of.leader, of.leader_epoch, sorted(of.isr)]
    return {
        "controller_epoch": broker.controller_epoch,
        "dead": sorted(broker.dead),
        "leader_epoch": broker.leader_epoch,
        "role": broker.role.value,
        "leader": broker.leader,
        "isr": sorted(broker.isr),
        "replicas": sorted(broker.replicas),
        "partition_epoch": broker.partition_epoch if leads else 0,
        "log": broker.log,
        "coordinates": broker.coordinates,
        "coordinator_epoch": broker.coordinator_epoch,
        "metadata": served,
    }


def of_one_partition(broker: dict[str, Any]) -> dict[str, Any]:
    """What the harness shows of a broker, and of its one partition what the model has."""
    (partition,) = broker["partitions"]
    shown = {**broker, **partition}
    return {each: shown[each] for each in shown if each not in ("partitions", "failed", "fetch")}


def runs(protocol: ControllerProtocol, topic: str) -> Iterator[Run]:
    return (run_of(protocol, topic, seed) for seed in range(RUNS))


def differences(kafka: BrokerRequests, protocol: ControllerProtocol, topic: str = GROUPS) -> Iterator[str]:
    """The first request of each run after which Kafka's broker is another."""
    for run in runs(protocol, topic):
        for operation, ours, real in zip(run.operations, run.seen, kafka.run(run.operations), strict=True):
            if ours != of_one_partition(real):
                yield f"{operation}: {ours} in the model, {real} in Kafka"
                break


def rules(kafka: BrokerRequests, topic: str = GROUPS) -> ControllerProtocol:
    """Coordinators of transactions compare no leader epochs."""
    (preset,) = CONTROLLER.presets_for(kafka.distribution.release)
    protocol = attrs.evolve(CONTROLLER.presets[preset], update_metadata=True, live_brokers=True, isr_in_metadata=True)
    return protocol if topic == GROUPS else attrs.evolve(protocol, coordinator_checks_epoch=False)


@pytest.fixture(scope="module", params=["3.5.1", "3.9.1"])
def kafka(request: pytest.FixtureRequest, running: Running) -> BrokerRequests:
    return running(BrokerRequests, request.param)


@pytest.mark.parametrize("topic", [GROUPS, TRANSACTIONS])
def test_a_broker_does_with_random_requests_what_kafkas_does(kafka: BrokerRequests, topic: str) -> None:
    protocol = rules(kafka, topic)
    assert list(differences(kafka, protocol, topic)) == []
    states = [each for run in runs(protocol, topic) for each in run.seen]
    assert {each["role"] for each in states} == {role.value for role in Role}
    coordinators = {(each["role"] == "leader", each["coordinates"]) for each in states}
    assert coordinators == {(False, False), (False, True), (True, False), (True, True)}


def test_when_a_follower_notes_the_leader_epoch_is_contradicted_if_it_is_wrong(kafka: BrokerRequests) -> None:
    notes_first = rules(kafka).follower_notes_epoch_first
    assert notes_first is (kafka.distribution.release == "3.9.1")
    assert next(differences(kafka, attrs.evolve(rules(kafka), follower_notes_epoch_first=not notes_first)), "")


def test_a_coordinator_of_transactions_that_compared_epochs_is_contradicted(kafka: BrokerRequests) -> None:
    assert next(differences(kafka, rules(kafka), TRANSACTIONS), "")


@pytest.mark.parametrize("kafka", ["3.9.1"], indirect=True)
@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("broker_checks_controller_epoch", False),
        ("leader_and_isr_needs_newer_epoch", False),
        ("stop_replica_epoch", StopReplicaEpoch.ANY),
        ("stop_replica_epoch", StopReplicaEpoch.NEWER),
        ("leaving_broker_fetches", True),
        ("demote_during_shutdown", False),
        ("leader_forgets_removed", False),
        ("topic_ids", False),
        ("stray_replaced", True),
        ("leader_alive_by_metadata", False),
        ("broker_checks_broker_epoch", False),
        ("live_brokers", False),
        ("stop_replica_ends_coordination", False),
        ("coordinator_checks_epoch", False),
        ("coordinator_forgets_epoch", True),
    ],
)
def test_a_rule_set_wrong_is_contradicted(kafka: BrokerRequests, rule: str, wrong: Any) -> None:
    assert getattr(rules(kafka), rule) != wrong
    assert next(differences(kafka, attrs.evolve(rules(kafka), **{rule: wrong})), "")
