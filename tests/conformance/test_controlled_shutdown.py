"""A controlled shutdown on Kafka's own classes: what a new controller decides, and what the broker still fetches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from highwater.conformance.process import Harness

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kafka")]

ACTIVE = [[0, "active"], [0, "active"], [0, "active"]]
REGISTERED = [[0, 0, False], [1, 0, False], [2, 0, False]]
THREE = {"leader": 0, "isr": [0, 1, 2], "replicas": [0, 1, 2], "registrations": REGISTERED}


@pytest.fixture(scope="module", params=["3.5.1", "3.9.1", "4.1.1", "4.3.1"])
def kafka(request: pytest.FixtureRequest, kafka_of: Callable[[str], Harness]) -> Harness:
    return kafka_of(request.param)


def heartbeat(broker: int, read: int, wants: str = "nothing", **kept: int) -> dict[str, Any]:
    return {"do": "controller heartbeat", "broker": broker, "read": read, "wants": wants, "see": ["controller"], **kept}


def begun(harness: Harness) -> None:
    """Three unfenced brokers; broker 0 leads."""
    reset = {"do": "reset", "brokers": 3, "min_insync_replicas": 1, "clock_stands_still": False}
    done = harness.run([reset, {"do": "controller begin", "elr": False, "min_insync_replicas": 1, **THREE}])
    assert not [each["error"] for each in done if "error" in each]


def test_a_new_controller_takes_the_rest_of_the_leaderships(kafka: Harness) -> None:
    begun(kafka)
    (first,) = kafka.run([heartbeat(0, 0, "shutdown", kept=1)])
    assert first["value"]["records"] == ["BrokerRegistrationChangeRecord", "PartitionChangeRecord"]
    seen = first["brokers"]["controller"]
    assert (seen["leader"], seen["registrations"][0][0]) == (0, "shutting down")

    _, again = kafka.run([{"do": "controller fail over"}, heartbeat(0, 1, "shutdown")])
    assert again["value"]["records"] == ["PartitionChangeRecord"]
    assert again["brokers"]["controller"]["leader"] == 1
    assert again["brokers"]["controller"]["isr"] == [1, 2]


def test_the_controller_that_noted_an_offset_decides_nothing_again(kafka: Harness) -> None:
    begun(kafka)
    _, again = kafka.run([heartbeat(0, 0, "shutdown", kept=1), heartbeat(0, 1, "shutdown")])
    assert again["value"]["records"] == []
    assert again["brokers"]["controller"]["leader"] == 0


@pytest.mark.parametrize("fails_over", [False, True])
def test_a_new_controller_waits_for_a_broker_in_controlled_shutdown_until_it_has_heard_of_that(
    kafka: Harness, fails_over: bool
) -> None:
    begun(kafka)
    leaves = [heartbeat(0, 0, "shutdown")]
    between = [{"do": "controller fail over"}] if fails_over else []
    others = [heartbeat(2, 9), heartbeat(1, 9, "shutdown")]
    *_, entered, asked = kafka.run([*leaves, *between, heartbeat(1, 2, "shutdown"), *others])
    assert "error" not in entered
    assert asked["value"]["may shut down"] is not fails_over
    assert asked["value"]["records"] == ([] if fails_over else ["BrokerRegistrationChangeRecord"])


def learns(leader: int, epoch: int, isr: list[int]) -> dict[str, Any]:
    now = {"leader": leader, "leader_epoch": epoch, "partition_epoch": epoch, "isr": isr, "replicas": [0, 1, 2]}
    return {"do": "learn", "broker": 0, **now, "view": ACTIVE, "see": [0]}


FETCH = {"do": "send", "broker": 0, "view": ACTIVE, "see": [0]}


@pytest.mark.parametrize("isr", [[1, 2], [0, 1, 2]], ids=["out", "in"])
def test_a_broker_that_leaves_the_isr_during_its_shutdown_stops_fetching(kafka: Harness, isr: list[int]) -> None:
    begun(kafka)
    *_, fetched = kafka.run([learns(1, 0, [0, 1, 2]), {"do": "begin_shutdown", "broker": 0}, learns(1, 1, isr), FETCH])
    assert ("error" in fetched) is (isr == [1, 2]), fetched


def test_a_broker_that_was_out_of_the_isr_before_fetches_on_during_its_shutdown(kafka: Harness) -> None:
    begun(kafka)
    *_, fetched = kafka.run([learns(1, 0, [1, 2]), {"do": "begin_shutdown", "broker": 0}, FETCH])
    assert "error" not in fetched


def test_a_broker_that_does_not_shut_down_fetches_though_it_has_left_the_isr(kafka: Harness) -> None:
    begun(kafka)
    *_, fetched = kafka.run([learns(1, 0, [0, 1, 2]), learns(1, 1, [1, 2]), FETCH])
    assert "error" not in fetched
