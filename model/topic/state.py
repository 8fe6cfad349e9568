"""The whole state: ZooKeeper, the controller's memory, brokers, requests in flight.

There is one topic, and its partitions share a controller, requests and fetcher threads. Of a partition's records
nothing is kept: who is in the ISR tells who has them.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import attrs

from highwater.model.budgets import spent, times
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.controller.zookeeper import names
from highwater.model.language.domain import BOOLEAN, Integers, Maybe, OneOf, SequenceOf
from highwater.model.language.records import evolve, records, replaced, within
from highwater.model.log import broker_lists, broker_sets, brokers, per_broker
from highwater.model.topic.bounds import leader_epochs, per_partition


def some_broker(bounds: Any) -> Maybe:
    return Maybe(brokers(bounds))


def _name(broker: int | None) -> str:
    return "none" if broker is None else f"b{broker}"


@attrs.frozen
class Leadership:
    """A partition's leader and ISR in ZooKeeper."""

    leader: int | None = within(some_broker)
    isr: frozenset[int] = within(broker_sets)
    leader_epoch: int = within(lambda bounds: Integers(0, bounds.leader_epoch_max))

    def __str__(self) -> str:
        return f"leader {_name(self.leader)} isr {names(self.isr)} epoch {self.leader_epoch}"


@attrs.frozen
class Node:
    """What ZooKeeper has of a partition.

    Attributes:
        assignment: its replicas, the preferred one first; empty if it is not there.
        leadership: None before the first one.
        target: the replicas that it is being reassigned to; empty if it is not.
    """

    assignment: tuple[int, ...] = within(broker_lists)
    leadership: Leadership | None = within(lambda bounds: Maybe(records(Leadership)(bounds)))
    target: tuple[int, ...] = within(broker_lists)


class Phase(Enum):
    """How far a controller is."""

    INACTIVE = "no controller is active"
    READ = "it has read what ZooKeeper holds, and has not started its state machines"
    UNWATCHED = "it knows the topic, and does not yet watch it"
    ACTIVE = "it handles events"


@attrs.frozen
class Known:
    """What the controller has in memory of a partition.

    Attributes:
        assignment: empty if it does not know the partition.
        led: whether it knows leader and ISR; they are those in ZooKeeper then, since it writes them itself or is
            notified.
        target: the reassignment that it knows.
        state: of the partition's state machine.
        replicas: by broker, of the replica's.
    """

    assignment: tuple[int, ...] = within(broker_lists)
    led: bool = within(BOOLEAN)
    target: tuple[int, ...] = within(broker_lists)
    state: PartitionState = within(OneOf(PartitionState))
    replicas: tuple[ReplicaState, ...] = within(per_broker(OneOf(ReplicaState)))


@attrs.frozen
class Context:
    """The active controller.

    Attributes:
        live: the brokers that it takes for alive.
        watches: whether ZooKeeper is to signal the next change of the topic's assignment.
        signalled: whether such a signal has come that it has not handled.
    """

    phase: Phase = within(OneOf(Phase))
    live: frozenset[int] = within(broker_sets)
    watches: bool = within(BOOLEAN)
    signalled: bool = within(BOOLEAN)
    partitions: tuple[Known, ...] = within(per_partition(records(Known)))


class Role(Enum):
    """A broker's role for a partition."""

    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"


class Fetch(Enum):
    """How a fetcher thread treats a partition."""

    NOT = "it does not have the partition"
    ACTIVE = "it fetches"
    PAUSED = "it waits for replica.fetch.backoff.ms after an error"
    FAILED = "what it had fetched could not be appended"


@attrs.frozen
class Replica:
    """A broker's replica of a partition.

    Attributes:
        leader_epoch: the newest that it has accepted since the broker started; -1 before.
        source: the leader whose thread has the partition; None if `fetch` is `NOT`.
        log: whether the broker has the log, and needs nothing of ZooKeeper to open it.
    """

    role: Role = within(OneOf(Role))
    leader: int | None = within(some_broker)
    leader_epoch: int = within(leader_epochs)
    source: int | None = within(some_broker)
    fetch: Fetch = within(OneOf(Fetch))
    log: bool = within(BOOLEAN)


NO_REPLICA = Replica(Role.NONE, None, -1, None, Fetch.NOT, log=False)


@attrs.frozen
class Broker:
    """A broker. `dead_threads` has the leaders whose fetcher thread has ended with an error."""

    running: bool = within(BOOLEAN)
    dead_threads: frozenset[int] = within(broker_sets)
    replicas: tuple[Replica, ...] = within(per_partition(records(Replica)))


@attrs.frozen
class Order:
    """What a request asks of a broker for one partition: to follow or lead, or (`stop`) to delete its replica."""

    stop: bool = within(BOOLEAN)
    leader: int | None = within(some_broker)
    leader_epoch: int = within(leader_epochs)

    def __str__(self) -> str:
        return "delete" if self.stop else f"leader {_name(self.leader)} epoch {self.leader_epoch}"


Request = tuple[Order | None, ...]
"""LeaderAndIsr or StopReplica: by partition, what it asks for; None if the partition is not part of it."""


def request(bounds: Any) -> Any:
    return per_partition(lambda limits: Maybe(records(Order)(limits)))(bounds)


@attrs.frozen
class Used:
    """How often each failure and request has happened."""

    broker_crashes: int = times("broker_crashes")
    fail_overs: int = times("fail_overs")
    late_writes: int = times("late_writes")
    partition_additions: int = times("partition_additions")
    reassignments: int = times("reassignments")
    opening_errors: int = times("opening_errors")
    fetch_errors: int = times("fetch_errors")
    append_errors: int = times("append_errors")


@attrs.frozen
class Topic:
    """The whole state.

    Attributes:
        live: the brokers that are registered in ZooKeeper.
        nodes: by partition, what ZooKeeper has.
        queues: by broker, the controller's requests in flight to it, oldest first.
    """

    live: frozenset[int] = within(broker_sets)
    nodes: tuple[Node, ...] = within(per_partition(records(Node)))
    context: Context = within(Context)
    brokers: tuple[Broker, ...] = within(per_broker(records(Broker)))
    queues: tuple[tuple[Request, ...], ...] = within(
        per_broker(lambda bounds: SequenceOf(request(bounds), bounds.queue_length_max))
    )
    used: Used = within(Used)

    @property
    def ids(self) -> range:
        """The broker ids."""
        return range(len(self.brokers))

    @property
    def numbers(self) -> range:
        """The partitions' numbers, with those that may be added."""
        return range(len(self.nodes))

    def leads(self, partition: int) -> bool:
        """Whether the leader in ZooKeeper leads, in its leader epoch."""
        leadership = self.nodes[partition].leadership
        if leadership is None or leadership.leader is None:
            return False
        replica = self.brokers[leadership.leader].replicas[partition]
        return replica.role is Role.LEADER and replica.leader_epoch == leadership.leader_epoch

    def fetches(self, broker: int, partition: int) -> bool:
        """Whether a broker follows the leader in ZooKeeper, in its leader epoch, and fetches."""
        leadership, ours = self.nodes[partition].leadership, self.brokers[broker].replicas[partition]
        if leadership is None or ours.role is not Role.FOLLOWER or ours.fetch is not Fetch.ACTIVE:
            return False
        if ours.leader_epoch != leadership.leader_epoch or ours.source is None or ours.source != leadership.leader:
            return False
        return ours.source not in self.brokers[broker].dead_threads

    def with_node(self, partition: int, **changes: Any) -> Topic:
        return evolve(self, nodes=replaced(self.nodes, partition, evolve(self.nodes[partition], **changes)))

    def with_context(self, **changes: Any) -> Topic:
        return evolve(self, context=evolve(self.context, **changes))

    def with_known(self, partition: int, **changes: Any) -> Topic:
        known = self.context.partitions
        return self.with_context(partitions=replaced(known, partition, evolve(known[partition], **changes)))

    def with_broker(self, broker: int, **changes: Any) -> Topic:
        return evolve(self, brokers=replaced(self.brokers, broker, evolve(self.brokers[broker], **changes)))

    def with_replica(self, broker: int, partition: int, replica: Replica) -> Topic:
        return self.with_broker(broker, replicas=replaced(self.brokers[broker].replicas, partition, replica))

    def with_queue(self, broker: int, queue: tuple[Request, ...]) -> Topic:
        return evolve(self, queues=replaced(self.queues, broker, queue))

    def spending(self, what: str) -> Topic:
        """The topic after one more use of a budget."""
        return evolve(self, used=spent(self.used, what))
