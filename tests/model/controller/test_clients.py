"""What clients see: metadata, writes, and coordinators that move with leadership."""

from __future__ import annotations

import attrs
import pytest

from model.controller.brokers import Metadata
from model.controller.clients import (
    ClientError,
    coordinator_error,
    find_coordinator_error,
    metadata_error,
    produce_error,
)
from model.controller.releases import REPAIRED
from tests.model.controller.walk import Walk


@pytest.mark.parametrize(
    ("metadata", "live", "assignment", "error"),
    [
        (None, {0, 1}, {0, 1}, ClientError.UNKNOWN_TOPIC_OR_PARTITION),
        (Metadata(None, 1), {0, 1}, {0, 1}, ClientError.LEADER_NOT_AVAILABLE),
        (Metadata(0, 1), {1}, {0, 1}, ClientError.LEADER_NOT_AVAILABLE),
        (Metadata(1, 1), {1}, {0, 1}, ClientError.REPLICA_NOT_AVAILABLE),
        (Metadata(1, 1), {0, 1}, {0, 1}, ClientError.NONE),
    ],
)
def test_what_a_metadata_response_says(
    metadata: Metadata | None, live: set, assignment: set, error: ClientError
) -> None:
    broker = attrs.evolve(Walk().cluster.brokers[0], metadata=metadata)
    assert metadata_error(broker, frozenset(live), frozenset(assignment)) is error


def test_only_the_leader_takes_writes() -> None:
    walk = Walk(brokers=3)
    assert [produce_error(broker) for broker in walk.cluster.brokers[:2]] == [
        ClientError.NONE,
        ClientError.NOT_LEADER_OR_FOLLOWER,
    ]
    stranger = attrs.evolve(walk.cluster.brokers[2], metadata=None)
    assert produce_error(stranger) is ClientError.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("metadata", "live", "error"),
    [
        (None, {0, 1}, ClientError.COORDINATOR_NOT_AVAILABLE),
        (Metadata(None, 1), {0, 1}, ClientError.COORDINATOR_NOT_AVAILABLE),
        (Metadata(0, 1), {1}, ClientError.COORDINATOR_NOT_AVAILABLE),
        (Metadata(0, 1), {0}, ClientError.NONE),
    ],
)
def test_who_looks_for_a_coordinator_is_sent_to_a_live_leader(
    metadata: Metadata | None, live: set, error: ClientError
) -> None:
    broker = attrs.evolve(Walk().cluster.brokers[0], metadata=metadata)
    assert find_coordinator_error(broker, frozenset(live)) is error


def coordinators(walk: Walk) -> list[bool]:
    return [coordinator_error(broker) is ClientError.NONE for broker in walk.cluster.brokers]


def test_a_coordinator_moves_with_leadership() -> None:
    walk = Walk()("shut_down_broker", controller=0, broker=0)
    assert coordinators(walk) == [True, False]
    walk("receive", controller=0, broker=1)
    assert coordinators(walk) == [True, True], "until the old leader is told, clients may find either"
    walk("receive", controller=0, broker=0)
    assert coordinators(walk) == [False, True]


def test_a_coordinator_that_dies_coordinates_no_more_and_not_again_until_it_leads() -> None:
    walk = Walk()("crash_broker", broker=0)
    assert coordinators(walk) == [False, False]
    walk("notice_brokers", controller=0).deliver_all()("start_broker", broker=0)(
        "notice_brokers", controller=0
    ).deliver_all()
    assert coordinators(walk) == [False, True]


def test_a_new_leader_epoch_of_the_same_leader_moves_no_coordinator() -> None:
    walk = Walk()("crash_broker", broker=1)("notice_brokers", controller=0).deliver_all()
    assert walk.cluster.brokers[0].leader_epoch == 1
    assert coordinators(walk) == [True, False]


def moved(walk: Walk) -> Walk:
    """The only replica is about to be deleted on b0, which led."""
    walk("request_reassignment", target=(1,))("notice_reassignment", controller=0).steps()
    walk("expand_isr", leader=0, follower=1)("notice_caught_up_replicas", controller=0)
    while walk.context.step is not None:
        walk("take_next_step", controller=0)
    return walk("receive", controller=0, broker=0)


@pytest.mark.parametrize("ends", [True, False])
def test_a_coordinator_whose_replica_is_deleted_hears_of_it_by_stop_replica_alone(ends: bool) -> None:
    walk = moved(Walk(attrs.evolve(REPAIRED, stop_replica_ends_coordination=ends), replication_factor=1)).deliver_all()
    assert walk.cluster.brokers[0].log is None
    assert coordinators(walk) == [not ends, True]


@pytest.mark.parametrize("checks", [True, False])
def test_a_late_resignation_takes_nothing_from_a_coordinator_that_was_elected_since(checks: bool) -> None:
    walk = moved(Walk(attrs.evolve(REPAIRED, coordinator_checks_epoch=checks), replication_factor=1))
    walk("delete_replica_and_resign_late", controller=0, broker=0).deliver_all()
    assert coordinators(walk) == [True, True]
    walk("request_reassignment", target=(0,))("notice_reassignment", controller=0).steps()
    walk("expand_isr", leader=1, follower=0)("notice_caught_up_replicas", controller=0).steps()
    assert coordinators(walk) == [True, False]
    walk("resign_as_coordinator", broker=0)
    assert coordinators(walk) == [checks, False]


def test_a_late_resignation_that_nothing_has_overtaken_is_carried_out() -> None:
    walk = moved(Walk(replication_factor=1))("delete_replica_and_resign_late", controller=0, broker=0)
    assert coordinators(walk("resign_as_coordinator", broker=0)) == [False, False]
