"""The controller's state machine of a partition: four states, the legal edges, and what each edge does.

Source: kafka.controller.PartitionStateMachine#handleStateChange (0.10.2), ZkPartitionStateMachine#doHandleStateChanges
    (3.5).
"""

from __future__ import annotations

from enum import Enum

from highwater.model.controller.transitions import Does, Edge, Effect, Illegal, To, find


class PartitionState(Enum):
    """The states of a partition, by Kafka's names."""

    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"


NON_EXISTENT, NEW, ONLINE, OFFLINE = PartitionState

_SEND_TO_ALL = (Effect(Does.LEADER_AND_ISR, To.ELECTED_REPLICAS), Effect(Does.UPDATE_METADATA, To.LIVE_BROKERS))
_ELECT = (Effect(Does.ELECT_AND_WRITE), *_SEND_TO_ALL)

EDGES: tuple[Edge, ...] = (
    Edge(NON_EXISTENT, NEW),
    Edge(NEW, ONLINE, (Effect(Does.WRITE_FIRST_LEADERSHIP), *_SEND_TO_ALL)),
    Edge(ONLINE, ONLINE, _ELECT),
    Edge(OFFLINE, ONLINE, _ELECT),
    Edge(NEW, OFFLINE),
    Edge(ONLINE, OFFLINE),
    Edge(OFFLINE, OFFLINE),
    Edge(OFFLINE, NON_EXISTENT),
)


def change(before: PartitionState, after: PartitionState) -> Edge | Illegal:
    """The edge between two states of a partition, or that there is none.

    If an election finds no leader, the partition keeps its state, and nothing is written or sent.
    """
    return find(EDGES, before, after)


def at_startup(*, has_leadership: bool, leader_is_live: bool) -> PartitionState:
    """The state that a new controller gives a partition before it elects leaders for those that are `NEW` or `OFFLINE`.

    Source: kafka.controller.PartitionStateMachine#initializePartitionState.
    """
    if not has_leadership:
        return NEW
    return ONLINE if leader_is_live else OFFLINE
