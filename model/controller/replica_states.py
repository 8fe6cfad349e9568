"""The controller's state machine of a replica: seven states, the legal edges, and what each edge does.

Source: kafka.controller.ReplicaStateMachine#handleStateChange (0.10.2), ZkReplicaStateMachine#doHandleStateChanges
    (3.5).
"""

from __future__ import annotations

from enum import Enum

import attrs

from model.controller.transitions import Does, Edge, Effect, Illegal, To, When, find


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

_TELL_REPLICA = (
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
    Edge(NON_EXISTENT, NEW, _TELL_REPLICA),
    Edge(NEW, ONLINE, (Effect(Does.ADD_TO_ASSIGNMENT),)),
    Edge(ONLINE, ONLINE, _TELL_REPLICA),
    Edge(OFFLINE, ONLINE, _TELL_REPLICA),
    Edge(INELIGIBLE, ONLINE, _TELL_REPLICA),
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
    """What taking a replica from one state to another means, or that it is illegal.

    A replica in `ONLINE` that was `NEW` keeps quiet: the election of its partition tells it. One that leads its
    partition cannot become `NEW` (`can_become_new`).
    """
    return find(edges, before, after)


def can_become_new(replica: int, leader: int | None) -> bool:
    """Whether a replica may be started: not while it is named as the leader."""
    return replica != leader


@attrs.frozen
class Left:
    """Leader and ISR after a replica was taken offline; `leader` None is none."""

    leader: int | None
    isr: frozenset[int]


def leave_isr(replica: int, leader: int | None, isr: frozenset[int], *, last_stays: bool = True) -> Left | None:
    """Leader and ISR without a replica, or None where it is not in the ISR and nothing is written.

    The last member stays in the ISR (`last_stays`), as nobody else could lead. If the replica led, nobody does:
    electing is the partitions' machine's. What is written gets the next leader epoch, even when a follower leaves.

    Source: kafka.controller.ZkReplicaStateMachine#doRemoveReplicasFromIsr (3.5);
        kafka.controller.KafkaController#removeReplicaFromIsr (0.8.0 to 1.0): until 0.8.1 the last member leaves, from
        0.8.2 to 1.0 if unclean election is enabled.
    """
    if replica not in isr:
        return None
    return Left(None if leader == replica else leader, isr if len(isr) == 1 and last_stays else isr - {replica})


def at_startup(is_live: bool) -> ReplicaState:
    """The state that a new controller gives an assigned replica; then it moves live ones to `ONLINE` and, since 2.3,
    others to `OFFLINE`.

    Source: kafka.controller.ReplicaStateMachine#initializeReplicaState.
    """
    return ONLINE if is_live else INELIGIBLE
