"""Requests of which a broker of `topic` can make no log."""

from __future__ import annotations

import pytest

from highwater.model.topic.bounds import TopicBounds
from highwater.model.topic.initial import initial_states
from highwater.model.topic.releases import PRESETS
from highwater.model.topic.serving import fail_half_way, receive
from highwater.model.topic.state import NO_REPLICA, Fetch, Order, Role, Topic

BOUNDS = TopicBounds(brokers=2, partitions=2, replication_factor=2, leader_epoch_max=2, established=0, opening_errors=1)
FOLLOW, LEAD = Order(stop=False, leader=1, leader_epoch=0), Order(stop=False, leader=0, leader_epoch=0)
DELETE = Order(stop=True, leader=None, leader_epoch=-1)


@pytest.mark.parametrize(("preset", "notes"), [("kafka-2.7", False), ("kafka-3.4", False), ("kafka-3.6", True)])
def test_a_request_that_repeats_an_epoch_that_was_noted_without_a_log_ends_there(preset: str, notes: bool) -> None:
    protocol, empty = PRESETS[preset], initial_states(BOUNDS)[0]

    def sent(topic: Topic, *orders: Order | None) -> Topic:
        return topic.with_queue(0, (orders,))

    failed = fail_half_way(sent(empty, FOLLOW, None), 0, failing=0, done=frozenset(), protocol=protocol)
    noted = failed.brokers[0].replicas[0]
    assert (noted.role, noted.leader_epoch, noted.fetch) == (
        (Role.FOLLOWER, 0, Fetch.NOT) if notes else (Role.NONE, -1, Fetch.NOT)
    )
    repeated = receive(sent(failed, FOLLOW, LEAD), 0, protocol)
    assert [each.role for each in repeated.brokers[0].replicas] == (
        [Role.FOLLOWER, Role.NONE] if notes else [Role.FOLLOWER, Role.LEADER]
    )
    assert (repeated.brokers[0].replicas[0].fetch is Fetch.NOT) is notes
    fails_again = fail_half_way(sent(failed, FOLLOW, LEAD), 0, failing=1, done=frozenset(), protocol=protocol)
    assert (fails_again is None) is notes
    healed = receive(sent(repeated, Order(stop=False, leader=1, leader_epoch=1), LEAD), 0, protocol)
    assert [each.role for each in healed.brokers[0].replicas] == [Role.FOLLOWER, Role.LEADER]
    assert healed.brokers[0].replicas[0].fetch is Fetch.ACTIVE
    assert receive(sent(failed, DELETE, None), 0, protocol).brokers[0].replicas[0] == NO_REPLICA


def test_who_was_to_lead_notes_nothing() -> None:
    sent = initial_states(BOUNDS)[0].with_queue(0, ((LEAD, None),))
    failed = fail_half_way(sent, 0, failing=0, done=frozenset(), protocol=PRESETS["kafka-3.6"])
    assert failed.brokers[0].replicas[0] == NO_REPLICA
