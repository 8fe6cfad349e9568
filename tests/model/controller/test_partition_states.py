"""The partition state machine, case by case as in Kafka's PartitionStateMachineTest, and complete over all pairs of
states.
"""

from __future__ import annotations

import itertools

import pytest

from highwater.model.controller.partition_states import EDGES, PartitionState, at_startup, change
from highwater.model.controller.transitions import Does, Edge, Effect, Illegal, To

S = PartitionState

LEGAL = {
    S.NON_EXISTENT: {S.NEW},
    S.NEW: {S.ONLINE, S.OFFLINE},
    S.ONLINE: {S.ONLINE, S.OFFLINE},
    S.OFFLINE: {S.ONLINE, S.OFFLINE, S.NON_EXISTENT},
}
TOLD = [Effect(Does.LEADER_AND_ISR, To.ELECTED_REPLICAS), Effect(Does.UPDATE_METADATA, To.LIVE_BROKERS)]
EFFECTS = {
    (S.NEW, S.ONLINE): [Effect(Does.WRITE_FIRST_LEADERSHIP), *TOLD],
    (S.ONLINE, S.ONLINE): [Effect(Does.ELECT_AND_WRITE), *TOLD],
    (S.OFFLINE, S.ONLINE): [Effect(Does.ELECT_AND_WRITE), *TOLD],
}


@pytest.mark.parametrize(("before", "after"), list(itertools.product(S, S)))
def test_an_edge_is_legal_exactly_where_kafka_has_it(before: PartitionState, after: PartitionState) -> None:
    found = change(before, after)
    assert isinstance(found, Edge if after in LEGAL[before] else Illegal)
    assert (found.before, found.after) == (before, after)


@pytest.mark.parametrize("edge", EDGES, ids=lambda edge: f"{edge.before.value}-{edge.after.value}")
def test_an_edge_elects_and_sends_as_kafka_does(edge: Edge) -> None:
    assert list(edge.effects) == EFFECTS.get((edge.before, edge.after), [])


def test_no_edge_is_listed_twice() -> None:
    assert len({(edge.before, edge.after) for edge in EDGES}) == len(EDGES) == 8


@pytest.mark.parametrize(
    ("has_leadership", "leader_is_live", "state"),
    [(False, False, S.NEW), (True, True, S.ONLINE), (True, False, S.OFFLINE)],
)
def test_a_new_controller_reads_the_state_off_leadership_and_liveness(
    has_leadership: bool, leader_is_live: bool, state: PartitionState
) -> None:
    assert at_startup(has_leadership=has_leadership, leader_is_live=leader_is_live) is state
