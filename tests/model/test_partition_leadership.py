"""Leading and following, as stories. Each row is named after the test or the method of Kafka that it mirrors."""

from __future__ import annotations

import attrs
import pytest

from highwater.model.partition.leadership import skips_truncation
from highwater.model.partition.protocol import TruncationSkip
from highwater.model.partition.releases import PRESETS
from tests.model.partition_story import Row, bounds_of, state_after

ALONE = {"initial_isr": 1, "process_crashes": 2}
FETCHED = "produce b0, fetch b1, receive_fetch b1"
GONE = f"{FETCHED}, crash b0, fence b0 none"

ROWS = [
    Row(
        "testFollowerShouldNotHaveAnyRemoteReplicaStates: who follows has forgotten what it knew as a leader",
        PRESETS["kafka-3.5"],
        f"{FETCHED}, fetch b1, move_leadership b1, learn_leadership b0 e1",
        {"b0.leadership": None, "b0.followers.1.log_end_offset": None},
        {"leader_moves": 1},
    ),
    Row(
        "testIgnoreLeaderPartitionStateChangeWithOlderPartitionEpoch: what is older than what a broker knows is "
        "ignored",
        PRESETS["kafka-3.5"],
        "move_leadership b1, move_leadership b0, learn_leadership b0 e2, not learn_leadership b0 e1, not learn_isr b0",
        {"b0.leader_epoch": 2, "b0.leadership.partition_epoch": 2},
        {"leader_moves": 2},
    ),
    *(
        Row(
            f"ReplicaManager#makeFollowers ({release}): a broker that is told of no leader changes nothing",
            PRESETS[f"kafka-{release}"],
            f"{GONE}, not learn_leadership b1 e1",
            {"b1.leader": 0, "b1.leader_epoch": 0, "b1.log": (0,)},
            ALONE,
        )
        for release in ("0.8.0", "0.10.2", "2.0.0", "2.1")
    ),
    Row(
        "ReplicaManager#makeFollowers (0.10.2): so that a leader that comes back is the same, and nothing is truncated",
        PRESETS["kafka-0.10.2"],
        f"{GONE}, restart b0, unfence b0, elect b0, learn_leadership b1 e2",
        {"b1.leader": 0, "b1.leader_epoch": 2, "b1.log": (0,)},
        ALONE,
    ),
    Row(
        "ReplicaManager#makeFollowers (0.10.2): nor does it follow a broker that is gone meanwhile",
        PRESETS["kafka-0.10.2"],
        "move_leadership b1, crash b1, fence b1 b0, not learn_leadership b2 e1, learn_leadership b2 e2",
        {"b2.leader": 0, "b2.leader_epoch": 2},
        {"brokers": 3, "leader_moves": 1, "process_crashes": 1},
    ),
    Row(
        "ReplicaManager#applyLocalFollowersDelta (3.5): without ZooKeeper it follows nobody",
        PRESETS["kafka-3.5"],
        f"{GONE}, learn_leadership b1 e1",
        {"b1.leader": None, "b1.leader_epoch": 1, "b1.log": (0,)},
        ALONE,
    ),
    *(
        Row(
            f"{method}: a removal that the leader asks for {does} the leader epoch",
            PRESETS[f"kafka-{release}"],
            "produce b0, propose_shrink b0 b1, alter_partition b0",
            {"quorum.isr": {0}, "leader_epoch": epoch},
            {"isr_shrinks": 1},
        )
        for release, method, does, epoch in (
            ("2.8.0", "KafkaController#alterIsrs (2.8)", "keeps", 0),
            ("3.0", "PartitionChangeBuilder#triggerLeaderEpochBumpIfNeeded (3.0)", "raises", 1),
            ("3.5", "PartitionChangeBuilder#triggerLeaderEpochBumpIfNeeded (3.5)", "raises", 1),
            ("3.7", "PartitionChangeBuilder#triggerLeaderEpochBumpIfNeeded (3.7)", "keeps", 0),
        )
    ),
    *(
        Row(
            f"{method}: a removal by the controller {does} the leader epoch",
            PRESETS[f"kafka-{release}"],
            "fence b1 none",
            {"quorum.isr": {0}, "leader_epoch": epoch},
            {"spurious_fences": 1},
        )
        for release, method, does, epoch in (
            ("2.1", "ReplicaStateMachine#removeReplicasFromIsr (2.1)", "raises", 1),
            ("2.8.0", "ReplicaStateMachine#removeReplicasFromIsr (2.8)", "raises", 1),
            ("3.5", "ReplicationControlManager#handleBrokerFenced (3.5)", "raises", 1),
            ("3.7", "ReplicationControlManager#handleBrokerFenced (3.7)", "keeps", 0),
        )
    ),
    *(
        Row(
            f"{test} ({release})",
            PRESETS[f"kafka-{release}"],
            (
                "produce b0, fetch b1, receive_fetch b1, fetch b1, receive_fetch b1, propose_expansion b0 b1, "
                "alter_partition b0, learn_isr b0"
            ),
            {"b0.leadership.isr": {0, 1}, "b0.followers.1.log_end_offset": 1, "b0.leadership.start_offset": start},
            {"initial_isr": 1},
        )
        for release, test, start in (
            (
                "3.3",
                (
                    "testDoNotUpdateEpochStartOffsetIfLeaderEpochIsNotBumped, "
                    "testDoNotResetReplicaStateIfLeaderEpochIsNotBumped"
                ),
                0,
            ),
            (
                "3.0",
                (
                    "KAFKA-13790: Partition#makeLeader took the log's end for the epoch's start with every record of "
                    "the metadata"
                ),
                1,
            ),
        )
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kafka)
def test_following_is_kafkas(row: Row) -> None:
    row.check()


@pytest.mark.parametrize(
    ("rule", "epochs"),
    [(TruncationSkip.NEVER, []), (TruncationSkip.SAME_LEADER_NEXT_EPOCH, [1]), (TruncationSkip.SAME_LEADER, [1, 2])],
)
def test_a_follower_does_not_look_for_divergence_where_its_leader_stays_the_same(
    rule: TruncationSkip, epochs: list[int]
) -> None:
    protocol = attrs.evolve(PRESETS["kafka-2.1"], truncation_skip=rule)
    follower = state_after("", protocol, bounds_of()).replicas[1]
    assert [epoch for epoch in (1, 2) if skips_truncation(follower, 0, epoch, protocol)] == epochs
    assert not skips_truncation(follower, 1, 1, protocol)
