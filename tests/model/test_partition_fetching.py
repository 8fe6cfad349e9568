"""Fetching, as stories. Each row is named after the test or the method of Kafka that it mirrors."""

from __future__ import annotations

import pytest

from model.partition.releases import PRESETS, REPAIRED
from tests.model.partition_story import Row

CAUGHT_UP = "produce b0, fetch b1, receive_fetch b1"

ROWS = [
    Row(
        "ReplicaManager#readFromLocalLog (0.10.2): a record travels with the high watermark from before its fetch was noted",
        PRESETS["kafka-0.10.2"],
        f"produce b0, {CAUGHT_UP}, fetch b1",
        {"b0.high_watermark": 1, "b1.fetch.high_watermark": 0, "b1.fetch.stage": "record"},
    ),
    Row(
        "Partition#fetchRecords (3.5): the same; the follower learns it one round later",
        REPAIRED,
        f"produce b0, {CAUGHT_UP}, fetch b1, receive_fetch b1, fetch b1, receive_fetch b1",
        {"b0.high_watermark": 2, "b1.high_watermark": 2, "b1.log": (0, 1)},
    ),
    Row(
        "DelayedFetch#onComplete: a fetch that waited is answered with the high watermark of that moment",
        REPAIRED,
        f"{CAUGHT_UP}, fetch b1",
        {"b0.high_watermark": 1, "b1.fetch.high_watermark": 1, "b1.fetch.stage": "nothing new"},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kafka)
def test_fetching_is_kafkas(row: Row) -> None:
    row.check()
