"""The initial state of a topic of several partitions."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.model.controller.elections import assign_round_robin
from highwater.model.controller.partition_states import PartitionState
from highwater.model.controller.replica_states import ReplicaState
from highwater.model.topic.state import (
    NO_REPLICA,
    Broker,
    Context,
    Fetch,
    Known,
    Leadership,
    Node,
    Phase,
    Replica,
    Role,
    Topic,
    Used,
)


def slots(bounds: Any) -> int:
    """How many partitions there may be at most."""
    return int(bounds.partitions + bounds.partition_additions)


def spread(bounds: Any, first: int = 0) -> list[tuple[int, ...]]:
    """The assignment of all partitions: replica j of partition i is on broker first + i + j, modulo their number.

    Source: kafka.admin.AdminUtils#assignReplicasToBrokers, #addPartitions (0.9.0.0 to 0.10.2).
    """
    return assign_round_robin(range(bounds.brokers), slots(bounds), bounds.replication_factor, first)


def unknown(brokers: int) -> Known:
    """What a controller has of a partition that it does not know."""
    return Known((), False, (), PartitionState.NON_EXISTENT, (ReplicaState.NON_EXISTENT,) * brokers)


def initial_states(bounds: Any) -> list[Topic]:
    """The one initial state: all brokers run, and a controller is active. With the bound `established` each partition
    is led by its first or its last replica, and all brokers know it.
    """
    everybody = range(bounds.brokers)
    there = bounds.partitions if bounds.established else 0
    leading = -1 if bounds.established == 2 else 0
    assigned = [replicas if each < there else () for each, replicas in enumerate(spread(bounds))]

    def known(replicas: tuple[int, ...]) -> Known:
        if not replicas:
            return unknown(bounds.brokers)
        states = (ReplicaState.ONLINE if each in replicas else ReplicaState.NON_EXISTENT for each in everybody)
        return Known(replicas, True, (), PartitionState.ONLINE, tuple(states))

    def replica(broker: int, replicas: tuple[int, ...]) -> Replica:
        if broker not in replicas:
            return NO_REPLICA
        leader = replicas[leading]
        if broker == leader:
            return Replica(Role.LEADER, broker, 0, None, Fetch.NOT, log=True)
        return Replica(Role.FOLLOWER, leader, 0, leader, Fetch.ACTIVE, log=True)

    return [
        Topic(
            live=frozenset(everybody),
            nodes=tuple(
                Node(each, Leadership(each[leading], frozenset(each), 0) if each else None, ()) for each in assigned
            ),
            context=Context(
                Phase.ACTIVE, frozenset(everybody), bool(there), False, tuple(known(each) for each in assigned)
            ),
            brokers=tuple(
                Broker(True, frozenset(), tuple(replica(broker, each) for each in assigned)) for broker in everybody
            ),
            queues=((),) * bounds.brokers,
            used=Used(*(0,) * len(attrs.fields(Used))),
        )
    ]
