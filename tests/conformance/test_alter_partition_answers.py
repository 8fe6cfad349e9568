"""A leader's reaction to the answer to its AlterPartition request, on Kafka's own Partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from highwater.conformance.process import Harness

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kafka")]

ACTIVE = [[0, "active"], [0, "active"], [0, "active"]]
ASKS = {"do": "shrink", "broker": 0, "lagging": [1], "others": [1, 2], "view": ACTIVE, "see": [0]}


@pytest.fixture(scope="module", params=["3.5.1", "3.9.1", "4.1.1", "4.3.1"])
def kafka(request: pytest.FixtureRequest, kafka_of: Callable[[str], Harness]) -> Harness:
    return kafka_of(request.param)


def learns(leader_epoch: int, partition_epoch: int, isr: list[int]) -> dict[str, Any]:
    epochs = {"leader_epoch": leader_epoch, "partition_epoch": partition_epoch}
    return {"do": "learn", "broker": 0, "leader": 0, **epochs, "isr": isr, "replicas": [0, 1, 2], "view": ACTIVE}


def seen_after(harness: Harness, *steps: dict[str, Any]) -> dict[str, Any]:
    """What broker 0, which leads and has asked for an ISR without broker 1, knows after some steps."""
    reset = {"do": "reset", "brokers": 3, "min_insync_replicas": 2, "clock_stands_still": False}
    append = {"do": "append", "broker": 0, "records": [1], "acks": -1, "view": ACTIVE}
    done = harness.run(
        [reset, learns(0, 0, [0, 1, 2]), append, ASKS, *steps, {"do": "nothing", "broker": 0, "see": [0]}]
    )
    assert not [each["error"] for each in done if "error" in each]
    return done[-1]["brokers"]["0"]


def granted(leader_epoch: int) -> dict[str, Any]:
    return {"do": "granted", "broker": 0, "leader_epoch": leader_epoch, "partition_epoch": 1, "isr": [0, 2]}


def test_an_answer_of_the_leaders_own_epoch_is_its_isr(kafka: Harness) -> None:
    seen = seen_after(kafka, granted(0))
    assert (seen["isr"], seen["proposed"], seen["partitionEpoch"]) == ([0, 2], None, 1)


def test_an_answer_of_another_leader_epoch_is_ignored(kafka: Harness) -> None:
    seen = seen_after(kafka, granted(1))
    assert (seen["isr"], seen["proposed"], seen["partitionEpoch"]) == ([0, 1, 2], [0, 2], 0)


def test_until_the_leader_reads_of_it(kafka: Harness) -> None:
    seen = seen_after(kafka, granted(1), learns(1, 1, [0, 2]))
    assert (seen["isr"], seen["proposed"], seen["leaderEpoch"]) == ([0, 2], None, 1)
