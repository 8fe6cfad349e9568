"""Requests of which a broker of `topic` can make no log."""

from __future__ import annotations

import pytest

from highwater.model.language.records import evolve
from highwater.model.topic.bounds import TopicBounds
from highwater.model.topic.initial import initial_states
from highwater.model.topic.releases import PRESETS
from highwater.model.topic.serving import crash_broker, fail_half_way, receive
from highwater.model.topic.state import NO_REPLICA, Fetch, Order, Role, Topic

BOUNDS = TopicBounds(brokers=2, partitions=2, replication_factor=2, leader_epoch_max=2, established=0, opening_errors=1)
FOLLOW, LEAD = Order(stop=False, leader=1, leader_epoch=0), Order(stop=False, leader=0, leader_epoch=0)
DELETE = Order(stop=True, leader=None, leader_epoch=-1)


def sent(topic: Topic, *orders: Order | None) -> Topic:
    return topic.with_queue(0, (orders,))


@pytest.mark.parametrize(("preset", "notes"), [("kafka-2.7", False), ("kafka-3.4", False), ("kafka-3.6", True)])
def test_a_request_that_repeats_an_epoch_that_was_noted_without_a_log_ends_there(preset: str, notes: bool) -> None:
    protocol, empty = PRESETS[preset], initial_states(BOUNDS)[0]

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
    failed = fail_half_way(
        sent(initial_states(BOUNDS)[0], LEAD, None), 0, failing=0, done=frozenset(), protocol=PRESETS["kafka-3.6"]
    )
    assert failed.brokers[0].replicas[0] == NO_REPLICA


@pytest.mark.parametrize("preset", ["kafka-2.7", "kafka-3.6"])
def test_a_request_ends_at_a_partition_without_a_leader(preset: str) -> None:
    nobody = Order(stop=False, leader=None, leader_epoch=0)
    asked, protocol = sent(initial_states(BOUNDS)[0], FOLLOW, nobody), PRESETS[preset]
    first = fail_half_way(asked, 0, failing=1, done=frozenset({0}), protocol=protocol).brokers[0].replicas
    assert (first[0].role, first[0].leader_epoch, first[0].source, first[0].log) == (Role.FOLLOWER, 0, None, True)
    assert first[1] == NO_REPLICA
    last = fail_half_way(asked, 0, failing=1, done=frozenset(), protocol=protocol).brokers[0].replicas
    assert last == (NO_REPLICA, NO_REPLICA)
    opened = receive(asked, 0, protocol)
    assert opened.brokers[0].replicas[1] == evolve(NO_REPLICA, log=True)
    later = sent(opened, None, evolve(nobody, leader_epoch=1))
    assert fail_half_way(later, 0, failing=1, done=frozenset(), protocol=protocol) is None


@pytest.mark.parametrize(("preset", "needs_nothing"), [("kafka-2.4", False), ("kafka-2.6", True)])
def test_a_broker_that_starts_again_knows_its_logs(preset: str, needs_nothing: bool) -> None:
    protocol = PRESETS[preset]
    led = receive(sent(initial_states(BOUNDS)[0], LEAD, None), 0, protocol)
    down = crash_broker(led, 0, protocol)
    assert [each.log for each in down.brokers[0].replicas] == [needs_nothing, False]


@pytest.mark.parametrize(("preset", "refused"), [("kafka-1.1", False), ("kafka-2.1", True)])
def test_a_fetcher_of_a_former_epoch_goes_on_where_the_leader_does_not_refuse_it(preset: str, refused: bool) -> None:
    protocol = PRESETS[preset]
    fetched = receive(sent(initial_states(BOUNDS)[0], FOLLOW, None), 0, protocol)
    asked = sent(fetched, evolve(FOLLOW, leader_epoch=1), FOLLOW)
    kept = fail_half_way(asked, 0, failing=1, done=frozenset({0}), protocol=protocol).brokers[0].replicas[0]
    assert (kept.leader_epoch, kept.source) == (1, None if refused else 1)
