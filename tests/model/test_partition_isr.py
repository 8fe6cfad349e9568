"""ISR changes on their way, failure codes, eligibility and the high watermark, as stories.

Each row is named after the test in Kafka 3.5.1's PartitionTest, or the method of Kafka, that it mirrors.
"""

from __future__ import annotations

import attrs
import pytest

from model.partition.releases import PRESETS
from tests.model.partition_story import Row

KAFKA_3_5 = attrs.evolve(PRESETS["kafka-3.5"], leader_snapshot_atomic=True)  # its tests have one thread, and so one look
FETCHED = "produce b0, fetch b1, receive_fetch b1"
CAUGHT_UP = f"{FETCHED}, fetch b1, receive_fetch b1"

ASSIGNMENT = [
    Row(
        "testFetchFromUnrecognizedFollower: who is not assigned gets no answer",
        KAFKA_3_5,
        "remove_replica b2, learn_leadership b0 e1, not fetch b2, add_replica b2, learn_leadership b2 e1, not fetch b2,"
        "learn_isr b0, fetch b2",
        {"b0.followers.2.log_end_offset": 0, "b2.fetch.stage": "nothing new"},
        {"brokers": 3, "reassignments": 1},
    ),
    Row(
        "Partition#updateAssignmentAndIsr (3.5): a leader forgets what it knew of who is not assigned any more",
        KAFKA_3_5,
        "fetch b2, remove_replica b2, learn_leadership b0 e1",
        {"b0.followers.2.log_end_offset": None, "b0.leadership.assignment": {0, 1}},
        {"brokers": 3, "reassignments": 1},
    ),
    Row(
        "Partition#maybeExpandIsr (0.10.2): who is not assigned any more is not taken into the ISR",
        PRESETS["kafka-0.10.2"],
        "fetch b2, remove_replica b2, learn_leadership b0 e1, lose_fetch b2, not fetch b2, not expand_isr b0 b2",
        {"quorum.isr": {0, 1}, "quorum.assignment": {0, 1}},
        {"brokers": 3, "reassignments": 1},
    ),
    Row(
        "KafkaController#updateLeaderEpochAndSendRequest (0.10.2): with ZooKeeper a leader learns of a new replica by a new leader epoch",
        PRESETS["kafka-0.10.2"],
        "remove_replica b2, learn_leadership b0 e1, learn_leadership b2 e1, add_replica b2, learn_leadership b0 e2, learn_leadership b2 e2,"
        "fetch b2, expand_isr b0 b2",
        {"quorum.isr": {0, 1, 2}},
        {"brokers": 3, "reassignments": 1},
    ),
]

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
        f"{FETCHED}, move_leadership b1, learn_leadership b0 e1, move_leadership b0, learn_leadership b0 e2,"
        "learn_leadership b1 e2, fetch b1",
        {"b0.high_watermark": 1, "clients.exposed": (0,), "clients.acked": set()},
        {"leader_moves": 2},
    ),
]


@pytest.mark.parametrize("row", ASSIGNMENT, ids=lambda row: row.kafka)
def test_assignment_is_kafkas(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", HIGH_WATERMARK, ids=lambda row: row.kafka)
def test_the_high_watermark_is_kafkas(row: Row) -> None:
    row.check()
