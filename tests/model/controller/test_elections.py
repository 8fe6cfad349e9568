"""The election strategies, case by case as in Kafka's PartitionLeaderElectionAlgorithmsTest, with the ISR that each
leaves.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater.model.controller.elections import (
    Elected,
    assign_round_robin,
    elect_for_reassignment,
    elect_for_shutdown,
    elect_offline,
    elect_preferred,
    first_leadership,
)


def isr(*members: int) -> frozenset[int]:
    return frozenset(members)


@pytest.mark.parametrize(
    ("election", "arguments", "options", "elected"),
    [
        pytest.param(elect_offline, ((2, 4), isr(2, 4), {4}), {"unclean": False}, Elected(4, isr(4)), id="offline"),
        pytest.param(
            elect_offline,
            ((2, 4), isr(2), {4}),
            {"unclean": False},
            None,
            id="offline, last ISR member dead, no unclean election",
        ),
        pytest.param(
            elect_offline,
            ((2, 4), isr(2), {4}),
            {"unclean": True},
            Elected(4, isr(4)),
            id="offline, last ISR member dead, unclean",
        ),
        pytest.param(
            elect_offline,
            ((2, 4), isr(2), {2, 4}),
            {"unclean": True},
            Elected(2, isr(2)),
            id="offline, clean where possible",
        ),
        pytest.param(elect_offline, ((2, 4), isr(), set()), {"unclean": True}, None, id="offline, nobody alive"),
        pytest.param(
            elect_for_reassignment,
            ((2, 4), isr(2, 4), {4}),
            {},
            Elected(4, isr(2, 4)),
            id="reassignment, dead member stays",
        ),
        pytest.param(elect_for_reassignment, ((2, 4), isr(2), set()), {}, None, id="reassignment, no live ISR member"),
        pytest.param(elect_for_reassignment, ((2, 4), isr(), {2}), {}, None, id="reassignment, empty ISR"),
        pytest.param(elect_preferred, ((2, 4), isr(2, 4), {2, 4}), {}, Elected(2, isr(2, 4)), id="preferred"),
        pytest.param(
            elect_preferred, ((2, 4), isr(2, 4), {2}), {}, Elected(2, isr(2, 4)), id="preferred, dead member stays"
        ),
        pytest.param(elect_preferred, ((2, 4), isr(2), set()), {}, None, id="preferred, in the ISR but dead"),
        pytest.param(
            elect_preferred,
            ((2, 4), isr(4), {2, 4}),
            {},
            None,
            id="preferred, alive but not in the ISR: not the next one",
        ),
        pytest.param(elect_preferred, ((2, 4), isr(), set()), {}, None, id="preferred, neither"),
        pytest.param(elect_for_shutdown, ((2, 4), isr(2, 4), {2, 4}, {2}), {}, Elected(4, isr(4)), id="shutdown"),
        pytest.param(elect_for_shutdown, ((2, 4), isr(2), {2, 4}, {2}), {}, None, id="shutdown of the last ISR member"),
        pytest.param(elect_for_shutdown, ((2, 4), isr(2, 4), {2, 4}, {2, 4}), {}, None, id="shutdown of all"),
        pytest.param(
            elect_for_shutdown,
            ((2, 4, 6), isr(2, 4, 6), {2, 6}, {2}),
            {},
            Elected(6, isr(4, 6)),
            id="shutdown, dead member stays",
        ),
        pytest.param(first_leadership, ((2, 4), {2, 4}), {}, Elected(2, isr(2, 4)), id="new, all live"),
        pytest.param(first_leadership, ((2, 4), {4}), {}, Elected(4, isr(4)), id="new, first one dead"),
        pytest.param(first_leadership, ((2, 4), {6}), {}, None, id="new, none live"),
    ],
)
def test_an_election_gives_the_expected_leader_and_isr(
    election: Any, arguments: tuple, options: dict, elected: Elected | None
) -> None:
    assert election(*arguments, **options) == elected


@given(
    st.permutations(range(4)),
    st.frozensets(st.integers(0, 3)),
    st.frozensets(st.integers(0, 3)),
    st.frozensets(st.integers(0, 3)),
)
def test_only_unclean_elections_leave_the_isr(
    order: list[int], members: frozenset, live: frozenset, leaving: frozenset
) -> None:
    clean = [
        elect_offline(order, members, live, unclean=False),
        elect_for_reassignment(order, members, live),
        elect_preferred(order, members, live),
        elect_for_shutdown(order, members, live, leaving),
    ]
    for elected in filter(None, clean):
        assert elected.leader in members & live
        assert elected.leader in elected.isr <= members
    unclean = elect_offline(order, members, live, unclean=True)
    assert (unclean is None) == (not live)


def test_partition_i_begins_at_broker_i_and_its_replicas_follow() -> None:
    assert assign_round_robin((0, 1, 2), partitions=3, replicas=2) == [(0, 1), (1, 2), (2, 0)]
    assert assign_round_robin((4, 7), partitions=2, replicas=1, first=1) == [(7,), (4,)]


@pytest.mark.parametrize("replicas", [0, 3])
def test_more_replicas_than_brokers_or_none_are_refused(replicas: int) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        assign_round_robin((0, 1), partitions=1, replicas=replicas)
