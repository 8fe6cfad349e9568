"""Events of the model `controller` beside Kafka's own KafkaController with ZooKeeper.

Random walks of the model lead to states in which an event can be handled. Kafka's controller gets each of these states,
and handles the same event. A reassignment is begun or ended by one event, whose steps the model takes one by one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import attrs
import pytest

from highwater.claims.building import build_system
from highwater.conformance.process import Operation
from highwater.conformance.zookeeper_side import WithZooKeeper, leadership_row, request_row
from highwater.explorer.system import Cut, System, successor
from highwater.model.controller.bounds import ControllerBounds
from highwater.model.controller.brokers import Kind, Request
from highwater.model.controller.context import Answer
from highwater.model.controller.definition import CONTROLLER
from highwater.model.controller.failover import take_next_step
from highwater.model.controller.in_sync_replicas import IsrAnswer, isr_answer
from highwater.model.controller.leadership import elect_preferred_leader
from highwater.model.controller.protocol import Completion, ControllerProtocol, DeadReplicaAtStartup, LastIsrMember
from highwater.model.controller.protocol import ReassignmentOrder as Order
from highwater.model.controller.reassignment import has_begun
from highwater.model.controller.state import Cluster
from highwater.model.controller.zookeeper import Reassignment
from highwater.model.language.declarations import Instance
from tests.conformance.conftest import Running

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("zookeeper")]

BROKERS = range(3)
WALKS, STEPS = 600, 50
BUDGETS = {
    "broker_crashes": 4,
    "broker_expiries": 2,
    "shutdowns": 2,
    "controller_crashes": 3,
    "depositions": 2,
    "deletions": 2,
    "reassignments": 3,
    "preferred_elections": 2,
    "shrinks": 3,
    "lost_isr_answers": 2,
}
Shown = dict[str, Any]

EVENTS = {
    "elect_controller": "Reelect",
    "resign": "ControllerChange",
    "notice_brokers": "BrokerChange",
    "notice_topic": "TopicChange",
    "notice_deletion": "TopicDeletion",
    "read_answer": "StopReplicaResponse",
    "notice_reassignment": "ZkPartitionReassignment",
    "elect_preferred_leader": "PreferredReplicaElection",
    "shut_down_broker": "ControlledShutdown",
    "shut_down_broker_again": "ControlledShutdown",
    "answer_alter_partition": "AlterPartition",
}
"""Actions of the model, and Kafka's events."""


UPDATE, PARTITIONS = Kind.UPDATE_METADATA.value, 3
FINAL = ("FENCED_LEADER_EPOCH", "INVALID_UPDATE_VERSION", "UNKNOWN_TOPIC_ID", "UNKNOWN_TOPIC_OR_PARTITION")


class ControllerEvents(WithZooKeeper):
    """Kafka's controller."""

    program = "ControllerEvents"


@attrs.frozen
class Event:
    """An event of controller 0 in some state."""

    cluster: Cluster
    action: str
    after: Cluster
    broker: int | None
    protocol: ControllerProtocol

    def on_kafka(self) -> Operation:
        context, zk = self.cluster.controllers[0], self.cluster.zk
        return {
            "event": EVENTS[self.action],
            **self._arguments(),
            "active": context.active,
            "epoch": context.epoch,
            "live": context.live,
            "shutting_down": sorted(context.shutting_down),
            "topic": context.topic_id,
            "partitions": [
                {
                    **assigned(context.assignment, context.reassignment),
                    "leadership": leadership_row(context.leadership, with_controller=True),
                    "partition": context.partition.value,
                    "replicas": [state.value for state in context.replicas],
                }
            ],
            "deleting": context.deleting,
            "deletion_begun": context.deletion_begun,
            "deletion_halted": context.deletion_halted,
            "batch_left": context.batch_left,
            "zk": {
                "controller": None if zk.controller is None else zk.controller == 0,
                "controller_epoch": zk.controller_epoch,
                "registrations": zk.registrations,
                "topic": zk.topic_id,
                "partitions": [
                    {
                        **assigned(zk.assignment, begun(self.cluster)),
                        "leadership": leadership_row(zk.leadership, with_controller=True),
                        "reassignment": self._asked_for(),
                    }
                ],
                "deletion": zk.deletion,
                "preferred_election": zk.preferred_election,
                "isr_changed": zk.isr_changed,
            },
        }

    def _asked_for(self) -> tuple[int, ...] | None:
        request = self.cluster.zk.reassignment
        if request is None or (request == begun(self.cluster) and self.action != "notice_reassignment"):
            return None
        return request.target

    def _arguments(self) -> Operation:
        if self.broker is None:
            return {}
        broker = self.cluster.brokers[self.broker]
        of_leader = {} if broker.change is None else {"isr": sorted(broker.change.isr)}
        return {
            "broker": self.broker,
            "broker_epoch": broker.epoch,
            "failed": self.cluster.controllers[0].answers[self.broker] is Answer.FAILED,
            "leader_epoch": broker.leader_epoch,
            "partition_epoch": broker.partition_epoch,
            "topic_of_leader": broker.topic_id,
            **of_leader,
        }

    def on_model(self) -> Shown:
        context, zk = self.after.controllers[0], self.after.zk
        shown: Shown = {
            "active": context.active,
            "batch_left": context.batch_left,
            "zk": {
                "controller": None if zk.controller is None else zk.controller == 0,
                "controller_epoch": zk.controller_epoch,
                "partitions": [
                    {
                        "assignment": list(zk.assignment),
                        "leadership": leadership_row(zk.leadership, with_controller=True),
                        "reassignment": zk.reassignment is not None,
                    }
                ],
                "deletion": zk.deletion,
                "preferred_election": zk.preferred_election,
                "isr_changed": zk.isr_changed,
            },
            "requests": {
                str(broker): [shown_request(each) for each in queue]
                for broker, queue in enumerate(self.after.queues[0])
                if queue
            },
        }
        if not context.active:
            return shown
        return {
            **shown,
            "epoch": context.epoch,
            "live": list(context.live),
            "shutting_down": sorted(context.shutting_down),
            "topic": context.topic_id,
            "partitions": [
                {
                    "assignment": list(context.assignment),
                    "reassigning": context.reassignment is not None,
                    "leadership": leadership_row(context.leadership),
                    "partition": context.partition.value,
                    "replicas": [state.value for state in context.replicas],
                }
            ],
            "deleting": context.deleting,
            "deletion_begun": context.deletion_begun,
            "deletion_halted": context.deletion_halted and context.deleting,
        }


def shown_request(request: Request) -> list[Any]:
    row = request_row(request)
    return [*row, sorted(request.replicas)] if request.kind is Kind.UPDATE_METADATA else row


def begun(cluster: Cluster) -> Reassignment | None:
    """The reassignment that ZooKeeper has with the assignment. One that is not begun is asked for by another node."""
    context, zk = cluster.controllers[0], cluster.zk
    if context.active and context.epoch == zk.controller_epoch:
        return context.reassignment
    return zk.reassignment if has_begun(zk) else None


def assigned(assignment: tuple[int, ...], reassignment: Reassignment | None) -> Shown:
    return {
        "assignment": assignment,
        "origin": reassignment and sorted(reassignment.origin),
        "target": reassignment and reassignment.target,
    }


def some_bounds(chance: random.Random) -> ControllerBounds:
    """Some things happen in a walk, and others do not."""
    return ControllerBounds(
        brokers=len(BROKERS), controllers=2, replication_factor=2, target_size=chance.choice((1, 2)),
        leader_epoch_max=15, partition_epoch_max=31, restarts=7, controller_epoch_max=7, topics_max=3,
        queue_length_max=8, established=chance.choice((0, 1)), shutdown_attempts=3,
        **{each: most * chance.randrange(2) for each, most in BUDGETS.items()},
    )  # fmt: skip


@cache
def actions_of(protocol: ControllerProtocol, bounds: ControllerBounds) -> System:
    return build_system(CONTROLLER.define(protocol), protocol, bounds, ())


def random_steps(system: System, chance: random.Random, steps: int) -> Iterator[tuple[Any, Instance]]:
    """States of a random walk from the only initial state, each with the step that is taken there."""
    (state,) = system.initial
    for _ in range(steps):
        for instance in chance.sample(system.actions, len(system.actions)):
            after = successor(instance, state, system.domain)
            if after is not None and not isinstance(after, Cut):
                break
        else:
            return
        yield state, instance
        state = after


@cache
def walk(protocol: ControllerProtocol, seed: int) -> tuple[ControllerBounds, list[tuple[Cluster, Instance]]]:
    """States of a random walk, each with an event of controller 0 that can be handled there."""
    chance = random.Random(seed)
    bounds = some_bounds(chance)
    system = actions_of(protocol, bounds)
    found = []
    for state, instance in random_steps(system, chance, STEPS):
        if instance.of.name in EVENTS and instance.arguments["controller"] == 0:
            found.append((attrs.evolve(state, queues=(((),) * len(BROKERS), *state.queues[1:])), instance))
    return bounds, found


def handled(cluster: Cluster, instance: Instance, protocol: ControllerProtocol, bounds: ControllerBounds) -> Cluster:
    """The cluster after the event, with all that Kafka's controller does in the same one; unchanged if the model under
    some protocol does not handle it.
    """

    def completed(cluster: Cluster) -> Cluster:
        while cluster.controllers[0].step is not None:
            cluster = take_next_step(cluster, 0, protocol, bounds)
        return cluster

    (same,) = (each for each in actions_of(protocol, bounds).actions if str(each) == str(instance))
    after = same.apply(cluster)
    if after is None:
        return cluster
    after = completed(after)
    if instance.of.name == "elect_controller" and after.zk.preferred_election:
        after = elect_preferred_leader(after, 0, protocol) or after
    return after


def is_left_out(event: Event) -> bool:
    """What the model does otherwise, or in another order, and says so.

    - A deposed controller initializes a partition whose node exists: Kafka's notices by that attempt that it was
      deposed, the model's at its next write.
    - A client's request and its handling are two steps of the model, and one event of Kafka's. What comes between them
      while another reassignment is known, or while the topic is being deleted, does not come in Kafka.
    - A reassignment goes on as its broker starts. If other brokers fail or start again in the same event, the model
      takes these steps after it, and Kafka's controller in between.
    """
    context, zk = event.cluster.controllers[0], event.cluster.zk
    if context.active and context.epoch != zk.controller_epoch and context.leadership is None:
        return zk.leadership is not None
    if zk.reassignment is not None and not context.active:
        return not has_begun(zk) and frozenset(zk.assignment) != zk.reassignment.origin
    if zk.reassignment != context.reassignment and context.active:
        return context.deleting or (context.reassignment is not None and event.action != "notice_reassignment")
    pairs = zip(context.live, zk.registrations, strict=True)
    changes = {(known is None, found is None) for known, found in pairs if known != found}
    return event.action == "notice_brokers" and context.reassignment is not None and len(changes) > 1


def in_kafka(event: Event, answer: Shown) -> Shown:
    """What Kafka's controller did, without what the model leaves out: the second StopReplica to a follower that shuts
    down, and what is known of a topic that is gone. A controller that resigns forgets the reassignment that the harness
    shows, and writes nothing: what ZooKeeper holds is as before.
    """
    shown = dict(answer)
    if event.action.startswith("shut_down_broker"):
        shown["requests"] = {
            broker: [each for number, each in enumerate(rows) if each[0] == UPDATE or each not in rows[:number]]
            for broker, rows in shown["requests"].items()
        }
    if "topic" in shown and not shown["topic"]:
        shown["partitions"] = [{**each, "reassigning": False} for each in shown["partitions"]]
    if event.action == "resign":
        asked = {"reassignment": event.cluster.zk.reassignment is not None}
        shown["zk"] = {**shown["zk"], "partitions": [each | asked for each in shown["zk"]["partitions"]]}
    return shown


def requests_differ(event: Event, ours: dict[str, list[Any]], real: dict[str, list[Any]]) -> bool:
    """LeaderAndIsr and StopReplica must be the same, in order. The last UpdateMetadata must have the same live brokers,
    and of the partition the same, if Kafka's has it: it often leaves it out.
    """

    def orders(requests: dict[str, list[Any]]) -> dict[str, list[Any]]:
        found = {broker: [each for each in rows if each[0] != UPDATE] for broker, rows in requests.items()}
        return {broker: rows for broker, rows in found.items() if rows}

    def metadata(requests: dict[str, list[Any]]) -> dict[str, Any]:
        return {broker: each for broker, rows in requests.items() for each in rows if each[0] == UPDATE}

    if not event.after.controllers[0].active:
        return False  # what it has not sent yet is dropped; the model drops all
    if orders(ours) != orders(real):
        return True
    if event.action == "answer_alter_partition":
        return False  # Kafka's sends what it knows also where it refuses
    served, meant = metadata(real), metadata(ours)
    if served.keys() != meant.keys():
        return True
    return any(
        last[-1] != meant[broker][-1] or (last[PARTITIONS] and last != meant[broker]) for broker, last in served.items()
    )


def answer_differs(event: Event, real: Any) -> bool:
    """Whether a broker that asks is answered otherwise: one that shuts down for the first time, or a leader."""
    if event.action == "shut_down_broker":
        return (event.after.brokers[event.broker].attempts_left == 0) is not (real is True)
    if event.action != "answer_alter_partition":
        return False
    context, leader = event.cluster.controllers[0], event.cluster.brokers[event.broker]
    known, written = context.leadership, event.cluster.zk.leadership
    match isr_answer(context, leader, event.broker, leader.change.isr, event.protocol):
        case IsrAnswer.ALREADY_SO:
            return real != leadership_row(known)
        case IsrAnswer.TAKE_BACK:
            return real != "INELIGIBLE_REPLICA"
        case IsrAnswer.WRITE if written is not None and written.partition_epoch == known.partition_epoch:
            return real != [known.leader, sorted(leader.change.isr), known.leader_epoch, known.partition_epoch + 1]
    return real not in FINAL


def differences(event: Event, answer: Shown) -> list[str]:
    ours, real = event.on_model(), in_kafka(event, answer)
    found = [key for key in ours if key != "requests" and ours[key] != real.get(key)]
    found += ["answer"] if answer_differs(event, answer["answer"]) else []
    found += ["requests"] if requests_differ(event, ours["requests"], real["requests"]) else []
    return found + ([] if answer["error"] in (None, "moved") else ["error"])


def events(protocol: ControllerProtocol, other: ControllerProtocol, seed: int) -> list[Event]:
    """The events of a walk under one protocol, each handled under another."""
    bounds, found = walk(protocol, seed)
    made = (
        Event(
            cluster,
            instance.of.name,
            handled(cluster, instance, other, bounds),
            instance.arguments.get("broker", instance.arguments.get("leader")),
            other,
        )
        for cluster, instance in found
    )
    return [each for each in made if not is_left_out(each)]


@pytest.fixture(scope="module", params=["3.5.1", "3.9.1"])
def kafka(request: pytest.FixtureRequest, running: Running) -> ControllerEvents:
    return running(ControllerEvents, request.param)


def rules(kafka: ControllerEvents) -> ControllerProtocol:
    (preset,) = CONTROLLER.presets_for(kafka.distribution.release)
    return attrs.evolve(CONTROLLER.presets[preset], update_metadata=True, live_brokers=True, isr_in_metadata=True)


def answered(kafka: ControllerEvents, protocol: ControllerProtocol) -> Iterator[tuple[Event, Shown]]:
    return of_walks(kafka, (events(rules(kafka), protocol, seed) for seed in range(WALKS)))


def of_walks(kafka: ControllerEvents, walks: Iterable[list[Any]]) -> Iterator[tuple[Any, Shown]]:
    """Each event, with what Kafka's controller did."""
    for found in walks:
        yield from zip(found, kafka.run([each.on_kafka() for each in found]), strict=True)


def test_a_controller_does_in_random_states_what_kafkas_does(kafka: ControllerEvents) -> None:
    seen: Counter[str] = Counter()
    batches = set()
    for event, answer in answered(kafka, rules(kafka)):
        assert differences(event, answer) == [], (event.on_kafka(), event.on_model(), answer)
        seen[event.action] += 1
        batches.add((event.action, event.cluster.controllers[0].batch_left, answer["batch_left"]))
    assert seen.keys() == EVENTS.keys()
    assert ("notice_brokers", False, True) in batches and ("elect_controller", True, True) in batches


@pytest.mark.parametrize("kafka", ["3.9.1"], indirect=True)
@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("zk_write_fenced", False),
        ("deposed_batch_stays", False),
        ("controller_detects_bounce", False),
        ("bounce_updates_partitions", False),
        ("last_isr_member", LastIsrMember.LEAVES),
        ("controller_rejects_ineligible", False),
        ("repeated_change_succeeds", False),
        ("metadata_follows_epoch_bumps", False),
        ("reassignment_order", Order.REPLICAS_FIRST),
        ("reassignment_order", Order.WITHOUT_WAITING),
        ("reassignment_order", Order.STOPPING_FIRST),
        ("reassignment_overridable", False),
        ("completion", Completion.ADDING_IN_ISR),
        ("failover_drops_reassignment", False),
        ("resume_deletion_on_failover", False),
        ("failed_deletion_becomes_ineligible", False),
        ("dead_broker_blocks_deletion", False),
        ("dead_replica_at_startup", DeadReplicaAtStartup.INELIGIBLE),
        ("offline_to_ineligible_allowed", False),
        ("startup_sends_metadata_to_all", False),
        ("election_type_checked", False),
        ("offline_without_leadership", False),
        ("removed_replicas_told", True),
        ("deletion_waits_for_reassignment", True),
        ("cancel_completes_at_once", False),
    ],
)
def test_a_rule_set_wrong_is_contradicted(kafka: ControllerEvents, rule: str, wrong: Any) -> None:
    assert getattr(rules(kafka), rule) != wrong
    other = attrs.evolve(rules(kafka), **{rule: wrong})
    assert any(differences(event, answer) for event, answer in answered(kafka, other))


def in_a_fail_over(
    epoch: int, live: list[int | None], partition: Shown, *, preferred_election: bool = False
) -> Operation:
    """A controller is elected, which knows nothing."""
    unknown = {"assignment": [], "origin": None, "target": None, "leadership": None}
    states = {"partition": "NonExistentPartition", "replicas": ["NonExistentReplica"] * len(BROKERS)}
    return {
        **asked("Reelect", [None] * len(BROKERS), unknown | states),
        "active": False,
        "topic": 0,
        "zk": in_zookeeper(epoch, live, partition) | {"controller": None, "preferred_election": preferred_election},
    }


def asked(event: str, live: list[int | None], partition: Shown) -> Operation:
    flags = ("deleting", "deletion_begun", "deletion_halted", "batch_left")
    known = {"active": True, "epoch": 1, "live": live, "shutting_down": [], "topic": 1, "partitions": [partition]}
    return {"event": event, **known, **dict.fromkeys(flags, False)}


def in_zookeeper(epoch: int, live: list[int | None], partition: Shown) -> Shown:
    flags = ("deletion", "preferred_election", "isr_changed")
    held = {"controller": True, "controller_epoch": epoch, "registrations": live, "topic": 1, "partitions": [partition]}
    return {**held, **dict.fromkeys(flags, False)}


NEVER_LED = {"assignment": [0], "origin": None, "target": None, "leadership": None, "reassignment": None}


def test_every_new_controller_resigns_over_a_reassignment_of_what_was_never_led(kafka: ControllerEvents) -> None:
    """Broker 0 was down when the topic was new. It is reassigned to broker 1, which then fails, too."""
    live: list[int | None] = [None, 0, 0]
    states = {"partition": "NewPartition", "replicas": ["OfflineReplica", "NonExistentReplica", "NonExistentReplica"]}
    request = asked("ZkPartitionReassignment", live, NEVER_LED | states)
    (begun,) = kafka.run([{**request, "zk": in_zookeeper(1, live, NEVER_LED | {"reassignment": [1]})}])
    assert begun["zk"]["partitions"] == [{"assignment": [1, 0], "leadership": None, "reassignment": True}]
    wider = NEVER_LED | {"assignment": [1, 0], "origin": [0], "target": [1]}
    for epoch in (1, 2, 3):
        (elected,) = kafka.run([in_a_fail_over(epoch, [None, None, 0], wider)])
        assert not elected["active"]
        assert (elected["zk"]["controller"], elected["zk"]["controller_epoch"]) == (None, epoch + 1)
    (healed,) = kafka.run([in_a_fail_over(4, live, wider)])
    assert healed["active"]


def test_every_new_controller_resigns_once_one_failed_within_a_deletion(kafka: ControllerEvents) -> None:
    """The topic is being reassigned and deleted. The partition's node is deleted, and the topic's is not."""
    live: list[int | None] = [0, 0, 0]
    reassigned = NEVER_LED | {"assignment": [1, 0], "origin": [0], "target": [1]}
    for epoch in (1, 2):
        operation = in_a_fail_over(epoch, live, reassigned)
        (elected,) = kafka.run([operation | {"zk": operation["zk"] | {"deletion": True}}])
        assert not elected["active"]
        assert elected["zk"]["partitions"] == [{"assignment": [1, 0], "leadership": None, "reassignment": True}]


def test_every_new_controller_resigns_over_a_preferred_election_of_what_was_never_led(kafka: ControllerEvents) -> None:
    for epoch in (1, 2):
        (elected,) = kafka.run([in_a_fail_over(epoch, [None, 0, 0], NEVER_LED, preferred_election=True)])
        assert not elected["active"]
        assert elected["zk"]["preferred_election"]
    (plain,) = kafka.run([in_a_fail_over(3, [None, 0, 0], NEVER_LED)])
    assert plain["active"]
