"""The controller's state machine of a replica: seven states, the legal edges, and what each edge does.

Source: kafka.controller.ReplicaStateMachine#handleStateChange (0.10.2), ZkReplicaStateMachine#doHandleStateChanges
    (3.5).
"""

from __future__ import annotations

from enum import Enum

import attrs

from highwater.model.controller.transitions import Does, Edge, Effect, Illegal, To, When, find


class ReplicaState(Enum):
    """The states of a replica, by Kafka's names."""

    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"


NON_EXISTENT, NEW, ONLINE, OFFLINE, STARTED, SUCCESSFUL, INELIGIBLE = ReplicaState

_SEND_LEADER_AND_ISR = (
    Effect(Does.LEADER_AND_ISR, To.REPLICA, When.LEADERSHIP_KNOWN),
    Effect(Does.UPDATE_METADATA, To.LIVE_BROKERS, When.LEADERSHIP_KNOWN),
)
_TAKE_OFFLINE = (
    Effect(Does.STOP_REPLICA, To.REPLICA),
    Effect(Does.LEAVE_ISR_AND_WRITE, when=When.IN_ISR),
    Effect(Does.LEADER_AND_ISR, To.OTHER_REPLICAS, When.KNOWN_AND_NOT_DELETING),
    Effect(Does.UPDATE_METADATA, To.LIVE_BROKERS, When.KNOWN_AND_NOT_DELETING),
    Effect(Does.UPDATE_METADATA, To.LIVE_BROKERS, When.LEADERSHIP_UNKNOWN, since="2.3.0"),
)

EDGES: tuple[Edge, ...] = (
    Edge(NON_EXISTENT, NEW, _SEND_LEADER_AND_ISR),
    Edge(NEW, ONLINE, (Effect(Does.ADD_TO_ASSIGNMENT),)),
    Edge(ONLINE, ONLINE, _SEND_LEADER_AND_ISR),
    Edge(OFFLINE, ONLINE, _SEND_LEADER_AND_ISR),
    Edge(INELIGIBLE, ONLINE, _SEND_LEADER_AND_ISR),
    Edge(NEW, OFFLINE, _TAKE_OFFLINE),
    Edge(ONLINE, OFFLINE, _TAKE_OFFLINE),
    Edge(OFFLINE, OFFLINE, _TAKE_OFFLINE),
    Edge(INELIGIBLE, OFFLINE, _TAKE_OFFLINE),
    Edge(OFFLINE, STARTED, (Effect(Does.STOP_REPLICA_AND_DELETE, To.REPLICA),)),
    Edge(STARTED, SUCCESSFUL),
    Edge(STARTED, INELIGIBLE),
    Edge(OFFLINE, INELIGIBLE, since="2.3.0"),
    Edge(SUCCESSFUL, NON_EXISTENT, (Effect(Does.REMOVE_FROM_ASSIGNMENT),)),
)

EDGES_BEFORE_2_3 = tuple(edge for edge in EDGES if edge.since != "2.3.0")
"""Until KAFKA-8237 a replica on a dead broker could not be declared ineligible for deletion."""


def change(before: ReplicaState, after: ReplicaState, edges: tuple[Edge, ...] = EDGES) -> Edge | Illegal:
    """The edge between two states of a replica, or that there is none.

    A replica that goes from `NEW` to `ONLINE` gets no request: the election of its partition sends one. A replica that
    leads its partition cannot become `NEW` (`can_become_new`).
    """
    return find(edges, before, after)


def can_become_new(replica: int, leader: int | None) -> bool:
    """Whether a replica may become `NEW`: not while it is the leader in ZooKeeper."""
    return replica != leader


@attrs.frozen
class Left:
    """Leader (or None) and ISR after a replica went offline."""

    leader: int | None
    isr: frozenset[int]


def leave_isr(replica: int, leader: int | None, isr: frozenset[int], *, last_stays: bool = True) -> Left | None:
    """Leader and ISR without a replica, or None if it is not in the ISR, so that nothing is written.

    The last member stays in the ISR (`last_stays`), because no other broker could lead. If the replica led, there is no
    leader: the partition's state machine elects one. The write has the next leader epoch, even if a follower leaves.

    Source: kafka.controller.ZkReplicaStateMachine#doRemoveReplicasFromIsr (3.5);
        kafka.controller.KafkaController#removeReplicaFromIsr (0.8.0 to 1.0): until 0.8.1 the last member leaves, from
        0.8.2 to 1.0 if unclean election is enabled.
    """
    if replica not in isr:
        return None
    return Left(None if leader == replica else leader, isr if len(isr) == 1 and last_stays else isr - {replica})


def at_startup(*, is_live: bool) -> ReplicaState:
    """The state that a new controller gives an assigned replica. It then moves live ones to `ONLINE` and, since 2.3,
    others to `OFFLINE`.

    Source: kafka.controller.ReplicaStateMachine#initializeReplicaState.
    """
    return ONLINE if is_live else INELIGIBLE
