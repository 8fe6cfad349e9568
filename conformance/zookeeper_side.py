"""The controller with ZooKeeper beside Kafka's own: one call of a state machine, or one election, on both sides.

The real side is `ZkReplicaStateMachine`, `ZkPartitionStateMachine` and `Election` over a `ControllerContext`, with the
real `ControllerBrokerRequestBatch` and `KafkaZkClient`. Only the connections to brokers and to ZooKeeper are missing.
`highwater conform` does not run specs of the controller: `tests/conformance/test_zookeeper_side.py` compares the sides.

Not compared: the controller epoch of the leadership in a controller's context, which no step of the model reads, and an
UpdateMetadata without the partition, which the model does not have.
"""

from __future__ import annotations

from typing import Any

import attrs

from highwater.conformance.process import Harness
from highwater.conformance.programs import zookeeper_harness
from highwater.model.controller.brokers import DURING_DELETION, Kind, Request
from highwater.model.controller.elections import (
    Elected,
    Strategy,
    elect_for_reassignment,
    elect_for_shutdown,
    elect_offline,
    elect_preferred,
)
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.state import Cluster
from highwater.model.controller.state_machines import ControllerMoved, move_partition, move_replicas
from highwater.model.controller.zookeeper import Leadership, Reassignment

Shown = dict[str, Any]


class WithZooKeeper(Harness):
    """Classes in a Java process that only releases with ZooKeeper have."""

    def compiled(self) -> list[bytes]:
        return [zookeeper_harness(self.distribution), *super().compiled()]


class StateMachines(WithZooKeeper):
    """Kafka's state machines."""

    program = "StateMachines"


@attrs.frozen
class Move:
    """One call of a state machine of controller 0: to which state, of which replicas or by which election."""

    cluster: Cluster
    to: ReplicaState | PartitionState
    replicas: tuple[int, ...] = ()
    strategy: Strategy = Strategy.OFFLINE

    def on_kafka(self, protocol: ControllerProtocol) -> Shown:
        """The call, for `StateMachines`."""
        context, zk = self.cluster.controllers[0], self.cluster.zk
        return {
            "machine": "replica" if isinstance(self.to, ReplicaState) else "partition",
            "to": self.to.value,
            "ids": [[0, replica] for replica in self.replicas] if isinstance(self.to, ReplicaState) else [0],
            "strategy": self.strategy.value,
            "unclean": protocol.unclean_election,
            "epoch": context.epoch,
            "topic": context.topic_id,
            "live": context.live,
            "shutting_down": sorted(context.shutting_down),
            "deleting": context.deleting,
            "controller_epoch": zk.controller_epoch,
            "partitions": [
                {
                    **_assigned(context.assignment, context.reassignment),
                    "leadership": leadership_row(context.leadership, with_controller=True),
                    "written": leadership_row(zk.leadership, with_controller=True),
                    "partition": context.partition.value,
                    "replicas": [state.value for state in context.replicas],
                }
            ],
        }

    def on_model(self, protocol: ControllerProtocol) -> Shown:
        """What the model's state machine does, as `StateMachines` shows it."""
        protocol = attrs.evolve(protocol, update_metadata=True)
        moved = False
        after = self.cluster
        try:
            if isinstance(self.to, ReplicaState):
                after = move_replicas(after, 0, self.replicas, self.to, protocol)
            else:
                after = move_partition(after, 0, self.to, protocol, self.strategy)
        except ControllerMoved:
            moved = True
        context = after.controllers[0]
        return {
            "controller moved": moved,
            "partition": [context.partition.value],
            "replicas": [[state.value for state in context.replicas]],
            "assignment": [list(context.assignment)],
            "leadership": [leadership_row(context.leadership)],
            "written": [leadership_row(after.zk.leadership, with_controller=True)],
            "requests": {
                str(broker): [request_row(each) for each in queue]
                for broker, queue in enumerate(after.queues[0])
                if queue
            },
        }


@attrs.frozen
class SingleElection:
    """One election by itself: `kafka.controller.Election` on one side, `elections` on the other."""

    strategy: Strategy
    assignment: tuple[int, ...]
    isr: frozenset[int]
    live: frozenset[int]
    shutting_down: frozenset[int]
    leader: int | None
    unclean: bool = False
    reassignment: Reassignment | None = None

    def on_kafka(self) -> Shown:
        return {
            "strategy": self.strategy.value,
            "unclean": self.unclean,
            "epoch": 1,
            "live": [0 if broker in self.live else None for broker in range(3)],
            "shutting_down": sorted(self.shutting_down),
            **_assigned(self.assignment, self.reassignment),
            "leadership": [self.leader, sorted(self.isr), 0, 0],
        }

    def on_model(self) -> list[Any] | None:
        online = self.live - self.shutting_down
        elected: Elected | None
        match self.strategy:
            case Strategy.OFFLINE:
                elected = elect_offline(self.assignment, self.isr, online, unclean=self.unclean)
            case Strategy.REASSIGNMENT:
                target = self.assignment if self.reassignment is None else self.reassignment.target
                elected = elect_for_reassignment(target, self.isr, online)
            case Strategy.PREFERRED:
                elected = elect_preferred(self.assignment, self.isr, online)
            case Strategy.CONTROLLED_SHUTDOWN:
                elected = elect_for_shutdown(self.assignment, self.isr, self.live, self.shutting_down)
        return None if elected is None else [elected.leader, sorted(elected.isr), 1, 0]


def differences(model: Shown, kafka: Shown) -> list[str]:
    """The names of what differs. If a write of a deposed controller failed on both sides, only what ZooKeeper holds is
    compared: the controller resigns, and its context is blank.
    """
    keys = ("controller moved", "written") if model["controller moved"] and kafka["controller moved"] else model
    return [key for key in keys if model[key] != kafka[key]]


def _assigned(assignment: tuple[int, ...], reassignment: Reassignment | None) -> Shown:
    if reassignment is None:
        return {"assignment": assignment}
    return {"assignment": assignment, "origin": sorted(reassignment.origin), "target": reassignment.target}


def leadership_row(leadership: Leadership | None, *, with_controller: bool = False) -> list[Any] | None:
    if leadership is None:
        return None
    shown = [leadership.leader, sorted(leadership.isr), leadership.leader_epoch, leadership.partition_epoch]
    return [*shown, leadership.controller_epoch] if with_controller else shown


def request_row(request: Request) -> list[Any]:
    head = [request.kind.value, request.controller_epoch, request.broker_epoch]
    match request.kind:
        case Kind.LEADER_AND_ISR:
            role = [request.leader, request.leader_epoch, request.partition_epoch]
            return [*head, request.topic_id, {"0": [*role, sorted(request.isr), sorted(request.replicas)]}]
        case Kind.UPDATE_METADATA if request.leader_epoch == DURING_DELETION:
            return [*head, {"0": [DURING_DELETION, 0]}]  # Kafka marks it by the leader: LeaderAndIsr#duringDelete
        case Kind.UPDATE_METADATA:
            return [*head, {"0": [request.leader, request.leader_epoch]}]
    return [*head, {"0": [request.leader_epoch, request.delete]}]
