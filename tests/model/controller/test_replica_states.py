"""The replica state machine, case by case as in Kafka's ReplicaStateMachineTest, and complete over all pairs of
states.
"""

from __future__ import annotations

import itertools

import pytest

from highwater.model.controller.replica_states import (
    EDGES,
    EDGES_BEFORE_2_3,
    Left,
    ReplicaState,
    at_startup,
    can_become_new,
    change,
    leave_isr,
)
from highwater.model.controller.transitions import Does, Edge, Effect, Illegal, To, When

S = ReplicaState

# Each row of Kafka's test class: a state, and the states that a replica may be moved to from there (3.5).
LEGAL = {
    S.NON_EXISTENT: {S.NEW},
    S.NEW: {S.ONLINE, S.OFFLINE},
    S.ONLINE: {S.ONLINE, S.OFFLINE},
    S.OFFLINE: {S.ONLINE, S.OFFLINE, S.DELETION_STARTED, S.DELETION_INELIGIBLE},
    S.DELETION_STARTED: {S.DELETION_SUCCESSFUL, S.DELETION_INELIGIBLE},
    S.DELETION_SUCCESSFUL: {S.NON_EXISTENT},
    S.DELETION_INELIGIBLE: {S.ONLINE, S.OFFLINE},
}
PAIRS = list(itertools.product(S, S))


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_an_edge_is_legal_exactly_where_kafka_has_it(before: ReplicaState, after: ReplicaState) -> None:
    found = change(before, after)
    assert isinstance(found, Edge if after in LEGAL[before] else Illegal)
    assert (found.before, found.after) == (before, after)


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_before_2_3_an_offline_replica_cannot_be_declared_ineligible(before: ReplicaState, after: ReplicaState) -> None:
    """0.10.2 and 2.0.1: ReplicaDeletionIneligible has ReplicaDeletionStarted as its only predecessor."""
    legal = after in LEGAL[before] and (before, after) != (S.OFFLINE, S.DELETION_INELIGIBLE)
    assert isinstance(change(before, after, EDGES_BEFORE_2_3), Edge if legal else Illegal)


def test_no_edge_is_listed_twice() -> None:
    assert len({(edge.before, edge.after) for edge in EDGES}) == len(EDGES) == 14


TOLD = [
    (Does.LEADER_AND_ISR, To.REPLICA, When.LEADERSHIP_KNOWN),
    (Does.UPDATE_METADATA, To.LIVE_BROKERS, When.LEADERSHIP_KNOWN),
]
STOPPED = [
    (Does.STOP_REPLICA, To.REPLICA, When.ALWAYS),
    (Does.LEAVE_ISR_AND_WRITE, To.NOBODY, When.IN_ISR),
    (Does.LEADER_AND_ISR, To.OTHER_REPLICAS, When.KNOWN_AND_NOT_DELETING),
    (Does.UPDATE_METADATA, To.LIVE_BROKERS, When.KNOWN_AND_NOT_DELETING),
    (Does.UPDATE_METADATA, To.LIVE_BROKERS, When.LEADERSHIP_UNKNOWN, "2.3.0"),
]
EFFECTS = {
    (S.NON_EXISTENT, S.NEW): TOLD,
    (S.NEW, S.ONLINE): [(Does.ADD_TO_ASSIGNMENT, To.NOBODY, When.ALWAYS)],
    (S.ONLINE, S.ONLINE): TOLD,
    (S.OFFLINE, S.ONLINE): TOLD,
    (S.DELETION_INELIGIBLE, S.ONLINE): TOLD,
    (S.NEW, S.OFFLINE): STOPPED,
    (S.ONLINE, S.OFFLINE): STOPPED,
    (S.OFFLINE, S.OFFLINE): STOPPED,
    (S.DELETION_INELIGIBLE, S.OFFLINE): STOPPED,
    (S.OFFLINE, S.DELETION_STARTED): [(Does.STOP_REPLICA_AND_DELETE, To.REPLICA, When.ALWAYS)],
    (S.DELETION_STARTED, S.DELETION_SUCCESSFUL): [],
    (S.DELETION_STARTED, S.DELETION_INELIGIBLE): [],
    (S.OFFLINE, S.DELETION_INELIGIBLE): [],
    (S.DELETION_SUCCESSFUL, S.NON_EXISTENT): [(Does.REMOVE_FROM_ASSIGNMENT, To.NOBODY, When.ALWAYS)],
}


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: f"{edge.before.value}-{edge.after.value}")
def test_an_edge_sends_and_writes_as_kafka_does(edge: Edge) -> None:
    assert list(edge.effects) == [Effect(*effect) for effect in EFFECTS[edge.before, edge.after]]


@pytest.mark.parametrize(
    ("replica", "leader", "isr", "left"),
    [
        pytest.param(
            0, 0, {0, 1}, Left(None, frozenset({1})), id="a leader leaves: nobody leads, as this machine elects nobody"
        ),
        pytest.param(
            1,
            0,
            {0, 1},
            Left(0, frozenset({0})),
            id="a follower leaves: the leader stays, in a new leader epoch all the same",
        ),
        pytest.param(0, 0, {0}, Left(None, frozenset({0})), id="the last member stays in the ISR without leading"),
        pytest.param(1, None, {1}, Left(None, frozenset({1})), id="the last member stays where nobody leads"),
        pytest.param(2, 0, {0, 1}, None, id="not in the ISR: nothing is written"),
    ],
)
def test_a_replica_leaves_the_isr(replica: int, leader: int | None, isr: set[int], left: Left | None) -> None:
    assert leave_isr(replica, leader, frozenset(isr)) == left


def test_a_replica_that_is_to_lead_cannot_become_new() -> None:
    assert not can_become_new(1, leader=1)
    assert can_become_new(1, leader=0)
    assert can_become_new(1, leader=None)


@pytest.mark.parametrize(
    ("is_live", "first", "then"), [(True, S.ONLINE, S.ONLINE), (False, S.DELETION_INELIGIBLE, S.OFFLINE)]
)
def test_a_new_controller_takes_replicas_online_and_offline(
    is_live: bool, first: ReplicaState, then: ReplicaState
) -> None:
    """testStartupOnlinePartition, testStartupOfflinePartition and testStartupWithReplicaWithoutLeader (3.5)."""
    assert at_startup(is_live=is_live) is first
    assert isinstance(change(first, then), Edge)
