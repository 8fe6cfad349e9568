"""Controlled shutdowns, whom they wait for, and which elections are unclean, as each release has it."""

from __future__ import annotations

import attrs
import pytest

from highwater.model.partition.definition import define
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.releases import PRESETS
from tests.model.partition_story import bounds_of, seen, state_after

BOUNDS = bounds_of(brokers=3, controlled_shutdowns=2, process_crashes=1, spurious_fences=1)


@pytest.mark.parametrize(
    ("preset", "story"),
    [
        pytest.param(
            "kafka-4.1",
            "begin_controlled_shutdown b1 none, not end_controlled_shutdown b1, learn_isr b0, "
            "end_controlled_shutdown b1",
            id="the leader has to read that a follower has left the ISR",
        ),
        pytest.param(
            "kafka-3.5",
            "begin_controlled_shutdown b1 none, learn_leadership b0 e1, not end_controlled_shutdown b1, "
            "learn_leadership b2 e1, end_controlled_shutdown b1",
            id="all active brokers have to read of a new leader epoch",
        ),
        pytest.param(
            "kafka-4.1",
            "begin_controlled_shutdown b0 b1, learn_leadership b1 e1, not end_controlled_shutdown b0, "
            "learn_leadership b2 e1, end_controlled_shutdown b0",
            id="the leader that leaves need not have read itself that it is one no more",
        ),
        pytest.param(
            "kafka-4.1",
            "crash b2, begin_controlled_shutdown b1 none, learn_isr b0, not end_controlled_shutdown b1, fence b2 none, "
            "end_controlled_shutdown b1",
            id="a broker that is down is waited for until it is fenced",
        ),
        pytest.param(
            "kafka-4.1",
            "begin_controlled_shutdown b1 none, begin_controlled_shutdown b2 none, learn_isr b0, "
            "end_controlled_shutdown b2, end_controlled_shutdown b1",
            id="brokers that shut down are not waited for",
        ),
        pytest.param(
            "kafka-4.1",
            "begin_controlled_shutdown b1 none, fence b2 none, not end_controlled_shutdown b1, learn_isr b0, "
            "end_controlled_shutdown b1",
            id="the change of the shutdown is waited for, and none after it",
        ),
        pytest.param(
            "kafka-3.5-zookeeper",
            "crash b2, fence b2 none, not begin_controlled_shutdown b0 none",
            id="with ZooKeeper a leader leaves without a successor only where there is none at all",
        ),
        pytest.param(
            "kafka-3.5-zookeeper",
            "begin_controlled_shutdown b1 none, end_controlled_shutdown b1",
            id="with ZooKeeper nobody is waited for",
        ),
    ],
)
def test_a_controlled_shutdown_ends_once_active_brokers_have_read_of_it(preset: str, story: str) -> None:
    """As BrokerHeartbeatManager#calculateNextBrokerState (2.8.0 to 4.3.1) lets it end."""
    state_after(story, PRESETS[preset], BOUNDS)


@pytest.mark.parametrize(
    ("preset", "story"),
    [
        ("kafka-3.5", "begin_controlled_shutdown b1 none, fetch b1"),
        ("kafka-3.5", "begin_controlled_shutdown b1 none, learn_leadership b1 e1, not fetch b1"),
        ("kafka-4.1", "begin_controlled_shutdown b0 b1, learn_leadership b1 e1, learn_leadership b0 e1, not fetch b0"),
        ("kafka-3.5-zookeeper", "begin_controlled_shutdown b1 none, learn_leadership b1 e1, not fetch b1"),
        (
            "kafka-3.3.2",
            "begin_controlled_shutdown b0 b1, learn_leadership b1 e1, learn_leadership b0 e1, not fetch b0",
        ),
        ("kafka-3.3", "begin_controlled_shutdown b0 b1, learn_leadership b1 e1, not learn_leadership b0 e1"),
        ("kafka-3.3", "begin_controlled_shutdown b1 none, not learn_leadership b1 e1, fetch b1"),
        ("kafka-3.3-zookeeper", "begin_controlled_shutdown b0 b1, learn_leadership b0 e1, not fetch b0"),
    ],
)
def test_a_broker_that_shuts_down_stops_fetching_or_keeps_its_role(preset: str, story: str) -> None:
    """ReplicaManagerTest testReplicasAreStoppedWhileInControlledShutdownWithKRaft (3.3.0 to 3.9). But before 3.3.2
    ReplicaManager#applyLocalFollowersDelta skips everything on a broker that shuts down.
    """
    state_after(story, PRESETS[preset], BOUNDS)


@pytest.mark.parametrize(
    ("preset", "unclean_election", "elects"),
    [
        ("kafka-0.8.0", False, True),
        ("kafka-0.8.2", False, False),
        ("kafka-0.8.2", True, True),
        ("kafka-2.8.0", True, False),
        ("kafka-3.5", True, False),
        ("kafka-3.8", True, False),
        ("kafka-3.5-zookeeper", True, True),
        ("kafka-3.9.0", True, True),
        ("kafka-3.9.0", False, False),
        ("kafka-4.1", True, True),
    ],
)
def test_controllers_elect_uncleanly_if_they_read_that_they_may(
    preset: str, unclean_election: bool, elects: bool
) -> None:
    protocol: PartitionProtocol = attrs.evolve(PRESETS[preset], unclean_election=unclean_election)
    assert ("elect_uncleanly" in {step.name for step in define(protocol).actions}) == elects


def test_with_zookeeper_a_leader_asks_whether_a_follower_is_alive() -> None:
    """PartitionTest testIsrNotExpandedIfReplicaIsFencedOrShutdown (3.3): nobody that is dead is proposed. A broker that
    shuts down is, and the controller refuses it.
    """
    protocol, bounds = PRESETS["kafka-3.3-zookeeper"], attrs.evolve(BOUNDS, initial_isr=1)
    joins = "fetch b2, propose_expansion b0 b2, alter_partition b0, receive_isr_answer b0, fetch b1"
    state_after(f"fence b1 none, {joins}, not propose_expansion b0 b1", protocol, bounds)
    refused = state_after(
        f"begin_controlled_shutdown b1 none, {joins}, propose_expansion b0 b1, alter_partition b0", protocol, bounds
    )
    assert seen(refused, "quorum.isr") == {0, 2}
