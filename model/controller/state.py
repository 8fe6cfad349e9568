"""The whole state: ZooKeeper, controllers with a context each, brokers, requests in flight, and a history for
properties.

There is one topic with one partition. Controllers are brokers without a replica of it, so that a controller can crash
alone. Logs are abstracted to two facts: the topic that a log belongs to, and whether it has every committed record.
There is no time: a timeout may end at any moment. Epochs count from 0, and -1 is "none".
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import attrs

from highwater.model.budgets import spent, times
from highwater.model.controller.bounds import ControllerBounds
from highwater.model.controller.brokers import Broker, Metadata, Request, Role
from highwater.model.controller.context import Context, blank
from highwater.model.controller.elections import assign_round_robin
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.partition_states import change as change_partition
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.replica_states import change as change_replica
from highwater.model.controller.transitions import Illegal
from highwater.model.controller.zookeeper import Leadership, ZooKeeper
from highwater.model.language.domain import BOOLEAN, ArrayOf, OneOf, SequenceOf, SetOf
from highwater.model.language.records import evolve, records, replaced, within
from highwater.model.log import NO_EPOCH, broker_sets, per_broker


@attrs.frozen
class Used:
    """How often each failure and request has happened."""

    broker_crashes: int = times("broker_crashes")
    lossy_crashes: int = times("lossy_crashes")
    broker_expiries: int = times("broker_expiries")
    shutdowns: int = times("shutdowns")
    unanswered_shutdowns: int = times("unanswered_shutdowns")
    controller_crashes: int = times("controller_crashes")
    depositions: int = times("depositions")
    lost_answers: int = times("lost_answers")
    lost_isr_answers: int = times("lost_isr_answers")
    failed_role_changes: int = times("failed_role_changes")
    late_resignations: int = times("late_resignations")
    reorderings: int = times("reorderings")
    deletions: int = times("deletions")
    reassignments: int = times("reassignments")
    partition_additions: int = times("partition_additions")
    preferred_elections: int = times("preferred_elections")
    shrinks: int = times("shrinks")
    commits: int = times("commits")


class Mishap(Enum):
    """Events that must never happen, noted when they do."""

    STALE_WRITE = "a deposed controller wrote to ZooKeeper"
    STALE_REQUEST = "a broker obeyed a stale request"
    UNCLEAN_ELECTION = "a replica outside the ISR was elected"
    FEWER_COPIES = "a reassignment completed with fewer replicas in the ISR than is safe"


@attrs.frozen
class IllegalEdge:
    """A transition that the controller asked of a state machine, and that the state machine does not have."""

    machine: str
    before: str
    after: str

    @property
    def is_offline_to_ineligible(self) -> bool:
        return (self.before, self.after) == (ReplicaState.OFFLINE.value, ReplicaState.DELETION_INELIGIBLE.value)

    def __str__(self) -> str:
        return f"{self.machine} from {self.before} to {self.after}"


MACHINES: tuple[tuple[str, Any, Callable[..., object]], ...] = (
    ("replica", ReplicaState, change_replica),
    ("partition", PartitionState, change_partition),
)
ILLEGAL_EDGES = tuple(
    IllegalEdge(machine, before.value, after.value)
    for machine, states, change in MACHINES
    for before in states
    for after in states
    if isinstance(change(before, after), Illegal)
    or (before.value, after.value) == ("OfflineReplica", "ReplicaDeletionIneligible")
)
"""All of them; one is illegal until 2.3 only."""


@attrs.frozen
class History:
    """The past as far as properties need it. No step depends on it.

    Attributes:
        mishaps: events that must never happen.
        illegal_edges: transitions that the controller asked of its state machines, and that these do not have.
        target: the target of the last reassignment that a client asked for; empty if there was none.
        committed: whether records of the present topic were committed.
    """

    mishaps: frozenset[Mishap] = within(SetOf(OneOf(Mishap)))
    illegal_edges: frozenset[IllegalEdge] = within(SetOf(OneOf(ILLEGAL_EDGES)))
    target: frozenset[int] = within(broker_sets)
    committed: bool = within(BOOLEAN)


@attrs.frozen
class Cluster:
    """The whole state. `queues` has the requests in flight from each controller to each broker, oldest first."""

    zk: ZooKeeper = within(ZooKeeper)
    controllers: tuple[Context, ...] = within(
        lambda bounds: ArrayOf(records(Context)(bounds), bounds.controllers, "c", "controllers")
    )
    brokers: tuple[Broker, ...] = within(per_broker(records(Broker)))
    queues: tuple[tuple[tuple[Request, ...], ...], ...] = within(
        lambda bounds: ArrayOf(
            per_broker(SequenceOf(records(Request)(bounds), bounds.queue_length_max))(bounds),
            bounds.controllers,
            "c",
            "controllers",
        )
    )
    used: Used = within(Used)
    history: History = within(History)

    @property
    def ids(self) -> range:
        """The broker ids."""
        return range(len(self.brokers))

    def with_zk(self, **changes: Any) -> Cluster:
        return evolve(self, zk=evolve(self.zk, **changes))

    def with_context(self, controller: int, **changes: Any) -> Cluster:
        return evolve(
            self, controllers=replaced(self.controllers, controller, evolve(self.controllers[controller], **changes))
        )

    def with_broker(self, broker: int, changed: Broker) -> Cluster:
        return evolve(self, brokers=replaced(self.brokers, broker, changed))

    def with_queue(self, controller: int, broker: int, queue: tuple[Request, ...]) -> Cluster:
        queues = replaced(self.queues[controller], broker, queue)
        return evolve(self, queues=replaced(self.queues, controller, queues))

    def spending(self, name: str) -> Cluster:
        """The cluster after one more use of a budget."""
        return evolve(self, used=spent(self.used, name))

    def with_mishap(self, mishap: Mishap) -> Cluster:
        return evolve(self, history=evolve(self.history, mishaps=self.history.mishaps | {mishap}))

    def with_illegal(self, machine: str, edge: Illegal) -> Cluster:
        edges = self.history.illegal_edges | {IllegalEdge(machine, edge.before.value, edge.after.value)}
        return evolve(self, history=evolve(self.history, illegal_edges=edges))

    def is_registered(self, broker: int) -> bool:
        """Whether the broker runs and its session with ZooKeeper is the one that it registered with."""
        return self.brokers[broker].running and self.zk.registrations[broker] == self.brokers[broker].epoch


def initial_states(bounds: ControllerBounds, *, isr_in_metadata: bool = False) -> list[Cluster]:
    """The one initial state: running brokers and nothing else; or, with the bound `established`, an active controller
    and a topic whose leader all brokers know, and its ISR if metadata have it.
    """
    everybody = range(bounds.brokers)
    empty = blank(bounds.brokers)
    zk = ZooKeeper(None, 0, (0,) * bounds.brokers, 0, (), None, None, False, False, False, False)
    idle = Broker(
        running=True, epoch=0, leaving=False, attempts_left=0, controller_epoch=0, leader_epoch=NO_EPOCH,
        role=Role.NONE, leader=None, isr=frozenset(), replicas=frozenset(), partition_epoch=0, change=None,
        coordinates=False, coordinator_epoch=0, resigning=None, topic_id=0, log=None, complete=False,
        metadata=None, dead=frozenset(),
    )  # fmt: skip
    cluster = Cluster(
        zk=zk,
        controllers=(empty,) * bounds.controllers,
        brokers=(idle,) * bounds.brokers,
        queues=(((),) * bounds.brokers,) * bounds.controllers,
        used=Used(**{field.name: 0 for field in attrs.fields(Used)}),
        history=History(frozenset(), frozenset(), frozenset(), False),
    )
    if not bounds.established:
        return [cluster]
    assignment = first_assignment(bounds)
    members = frozenset(assignment)
    leadership = Leadership(assignment[0], members, 0, 0, 1)
    context = attrs.evolve(
        empty,
        active=True,
        epoch=1,
        live=(0,) * bounds.brokers,
        topic_id=1,
        assignment=assignment,
        leadership=leadership,
        partition=PartitionState.ONLINE,
        replicas=tuple(ReplicaState.ONLINE if broker in members else ReplicaState.NON_EXISTENT for broker in everybody),
    )
    zk = attrs.evolve(zk, controller=0, controller_epoch=1, topic_id=1, assignment=assignment, leadership=leadership)
    follower = attrs.evolve(
        idle, leader_epoch=0, role=Role.FOLLOWER, leader=assignment[0], topic_id=1, log=1, complete=True
    )
    leader = attrs.evolve(follower, role=Role.LEADER, isr=members, replicas=members, coordinates=True)
    served = Metadata(assignment[0], 0, members if isr_in_metadata else frozenset())
    brokers_ = tuple(
        attrs.evolve(
            leader if broker == assignment[0] else follower if broker in members else idle,
            controller_epoch=1,
            metadata=served,
        )
        for broker in everybody
    )
    return [attrs.evolve(cluster, zk=zk, controllers=(context, *cluster.controllers[1:]), brokers=brokers_)]


def first_assignment(bounds: ControllerBounds) -> tuple[int, ...]:
    """The replicas of a new topic's partition."""
    return assign_round_robin(range(bounds.brokers), 1, bounds.replication_factor)[0]
