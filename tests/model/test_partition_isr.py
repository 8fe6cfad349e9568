"""ISR changes on their way, failure codes, eligibility and the high watermark, as stories.

Each row is named after the test in Kafka 3.5.1's PartitionTest, or the method of Kafka, that it mirrors.
"""

from __future__ import annotations

import pytest

from model.partition.releases import PRESETS, REPAIRED
from tests.model.partition_story import Row

KAFKA_3_5 = PRESETS["kafka-3.5"]
FETCHED = "produce b0, fetch b1, receive_fetch b1"
CAUGHT_UP = f"{FETCHED}, fetch b1, receive_fetch b1"

HIGH_WATERMARK = [
    *(
        Row(
            f"Partition#checkEnoughReplicasReachOffset ({release}): a producer waits over the epochs of one leader",
            PRESETS[f"kafka-{release}"],
            f"{FETCHED}, fence b2 none, learn_leadership b0 e1, learn_leadership b1 e1, fetch b1",
            {"b0.leader_epoch": 1, "b0.high_watermark": 1, "clients.exposed": (0,), "clients.acked": {0}},
            {"brokers": 3, "spurious_fences": 1},
        )
        for release in ("2.1", "3.5")
    ),
    Row(
        "Partition#checkEnoughReplicasReachOffset: a producer is not told by another leader",
        KAFKA_3_5,
        f"{FETCHED}, move_leadership b1, learn_leadership b1 e1, learn_leadership b0 e1, fetch b0",
        {"b1.high_watermark": 1, "clients.exposed": (0,), "clients.acked": set()},
        {"leader_moves": 1},
    ),
    Row(
        "Partition#checkEnoughReplicasReachOffset: nor by the same broker, when it leads again after it has followed",
        KAFKA_3_5,
        f"{FETCHED}, move_leadership b1, learn_leadership b0 e1, move_leadership b0, learn_leadership b0 e2, learn_leadership b1 e2, fetch b1",
        {"b0.high_watermark": 1, "clients.exposed": (0,), "clients.acked": set()},
        {"leader_moves": 2},
    ),
]


@pytest.mark.parametrize("row", HIGH_WATERMARK, ids=lambda row: row.kafka)
def test_the_high_watermark_is_kafkas(row: Row) -> None:
    row.check()
