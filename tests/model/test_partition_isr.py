"""ISR changes on their way, failure codes, eligibility and the high watermark, as stories.

Each row is named after the test in Kafka 3.5.1's PartitionTest, or the method of Kafka, that it mirrors.
"""

from __future__ import annotations

import attrs
import pytest

from highwater.model.partition.alter_partition import answer_to
from highwater.model.partition.controlling import with_elr
from highwater.model.partition.definition import initial_states
from highwater.model.partition.messages import Answer, IsrChange
from highwater.model.partition.releases import PRESETS
from tests.model.partition_story import Row, bounds_of, state_after

# its tests have one thread, and so one look
KAFKA_3_5 = attrs.evolve(PRESETS["kafka-3.5"], leader_snapshot_atomic=True)
FETCHED = "produce b0, fetch b1, receive_fetch b1"
CAUGHT_UP = f"{FETCHED}, fetch b1, receive_fetch b1"

ASSIGNMENT = [
    Row(
        "testFetchFromUnrecognizedFollower: who is not assigned gets no answer",
        KAFKA_3_5,
        "remove_replica b2, learn_leadership b0 e1, not fetch b2, add_replica b2, learn_leadership b2 e1, "
        "not fetch b2, learn_isr b0, fetch b2",
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
        "KafkaController#updateLeaderEpochAndSendRequest (0.10.2): with ZooKeeper a leader learns of a new "
        "replica by a new leader epoch",
        PRESETS["kafka-0.10.2"],
        "remove_replica b2, learn_leadership b0 e1, learn_leadership b2 e1, add_replica b2, learn_leadership b0 e2, "
        "learn_leadership b2 e2, fetch b2, expand_isr b0 b2",
        {"quorum.isr": {0, 1, 2}},
        {"brokers": 3, "reassignments": 1},
    ),
]

# b2 was fenced and has come back in a new life, and in sync, before leadership moves to b1.
BACK = (
    "crash b2, fence b2 none, learn_leadership b0 e1, learn_leadership b1 e1, restart b2, unfence b2, "
    "learn_leadership b2 e1, fetch b2, receive_fetch b2, propose_expansion b0 b2, alter_partition b0, "
    "receive_isr_answer b0, move_leadership b1, learn_leadership b1 e2"
)
SECOND_LIFE = "fetch b2, crash b2, fence b2 none, restart b2, unfence b2"
ELIGIBILITY = [
    Row(
        "Partition#addBrokerEpochToIsr, #ineligibleReplicasForIsr: a member that has not fetched from the leader "
        "yet is not refused",
        KAFKA_3_5,
        f"{BACK}, produce b1, propose_shrink b1 b0, alter_partition b1",
        {"b1.changes.0.answer": "success", "quorum.isr": {1, 2}},
        {"brokers": 3, "process_crashes": 1, "leader_moves": 1, "isr_shrinks": 1},
    ),
    Row(
        "testIsrNotExpandedIfReplicaIsFencedOrShutdown: who is known to be fenced is not proposed",
        KAFKA_3_5,
        "fence b1 none, learn_leadership b0 e1, learn_leadership b1 e1, fetch b1, not propose_expansion b0 b1",
        {"quorum.isr": {0}},
        {"spurious_fences": 1},
    ),
    Row(
        "testIsrNotExpandedIfReplicaIsFencedOrShutdown: and is, once it is known to be back",
        KAFKA_3_5,
        (
            "fence b1 none, learn_leadership b0 e1, learn_leadership b1 e1, fetch b1, unfence b1, "
            "propose_expansion b0 b1, alter_partition b0"
        ),
        {"quorum.isr": {0, 1}},
        {"spurious_fences": 1},
    ),
    Row(
        "testIsrNotExpandedIfReplicaIsInControlledShutdown: who is known to be shutting down is not proposed",
        KAFKA_3_5,
        (
            "begin_controlled_shutdown b1 none, fetch b2, propose_expansion b0 b2, alter_partition b0, "
            "receive_isr_answer b0, fetch b1, not propose_expansion b0 b1"
        ),
        {"quorum.isr": {0, 2}},
        {"brokers": 3, "initial_isr": 1, "controlled_shutdowns": 1},
    ),
    Row(
        "PartitionTest of 3.2: before KIP-841 it was",
        PRESETS["kafka-3.0"],
        (
            "fence b1 none, learn_leadership b0 e1, learn_leadership b1 e1, fetch b1, propose_expansion b0 b1, "
            "alter_partition b0"
        ),
        {"quorum.isr": {0, 1}},
        {"spurious_fences": 1},
    ),
    Row(
        "ReplicationControlManager#ineligibleReplicasForIsr: a fence that the leader need not have heard of is "
        "for the controller to mind",
        KAFKA_3_5,
        "fetch b1, fence b1 none, propose_expansion b0 b1, alter_partition b0",
        {"b0.changes.0.answer": "ineligible", "quorum.isr": {0}},
        {"spurious_fences": 1, "initial_isr": 1},
    ),
    Row(
        "testIsrCanExpandedIfBrokerEpochsMatchWithKraftMetadataCache: the epoch that was fetched in is the one "
        "that is known",
        KAFKA_3_5,
        "crash b1, fence b1 none, learn_leadership b0 e1, restart b1, unfence b1, learn_leadership b1 e1, fetch b1, "
        "propose_expansion b0 b1, alter_partition b0",
        {"b0.changes.0.answer": "success", "quorum.isr": {0, 1}},
        {"process_crashes": 1},
    ),
    Row(
        "Partition#isBrokerEpochIsrEligible: who has fetched in an earlier life only is not proposed, once the "
        "new one is known",
        PRESETS["kafka-3.7"],
        f"{SECOND_LIFE}, fence b1 none, learn_isr b0, not propose_expansion b0 b2, learn_leadership b2 e0, fetch b2, "
        "propose_expansion b0 b2",
        {"b0.leadership.pending": {0, 2}},
        {"brokers": 3, "initial_isr": 2, "process_crashes": 1, "spurious_fences": 1},
    ),
    Row(
        "ReplicationControlManager#ineligibleReplicasForIsr: and refused by the controller, before it is",
        PRESETS["kafka-3.7"],
        f"{SECOND_LIFE}, propose_expansion b0 b2, alter_partition b0, receive_isr_answer b0",
        {"quorum.isr": {0, 1}, "b0.leadership.pending": None},
        {"brokers": 3, "initial_isr": 2, "process_crashes": 1},
    ),
]

ZOOKEEPER = [
    Row(
        "ReplicationUtils#checkLeaderAndIsrZkData (0.8.2): a write whose answer was lost is found when it is repeated",
        PRESETS["kafka-0.10.2"],
        "fetch b1, receive_fetch b1, lose_written_isr b0 b1, produce b0",
        {"quorum.isr": {0, 1}, "b0.leadership.isr": {0, 1}, "b0.high_watermark": 0},
        {"initial_isr": 1, "alter_failures": 1},
    ),
    Row(
        "Partition#updateIsr (0.8.1): and was skipped before KAFKA-1382",
        PRESETS["kafka-0.8.0"],
        "fetch b1, receive_fetch b1, lose_written_isr b0 b1, produce b0",
        {"quorum.isr": {0, 1}, "b0.leadership.isr": {0}, "b0.high_watermark": 1},
        {"initial_isr": 1, "alter_failures": 1},
    ),
]

IN_FLIGHT = [
    Row(
        "testIsrExpansion: from the proposal on the leader waits for the follower, which is not in its ISR before "
        "the answer",
        KAFKA_3_5,
        f"{CAUGHT_UP}, propose_expansion b0 b1, produce b0, alter_partition b0",
        {"b0.leadership.isr": {0}, "b0.leadership.pending": {0, 1}, "quorum.isr": {0, 1}, "b0.high_watermark": 1},
        {"initial_isr": 1},
    ),
    Row(
        "testIsrExpansion: the answer makes it a member, and the high watermark moves with its next fetch but one",
        KAFKA_3_5,
        (
            f"{CAUGHT_UP}, propose_expansion b0 b1, produce b0, alter_partition b0, receive_isr_answer b0, fetch b1, "
            "receive_fetch b1, fetch b1"
        ),
        {
            "b0.leadership.isr": {0, 1},
            "b0.leadership.pending": None,
            "b0.leadership.partition_epoch": 1,
            "b0.high_watermark": 2,
        },
        {"initial_isr": 1},
    ),
    Row(
        "testFollowerDoesNotJoinISRUntilCaughtUpToOffsetWithinCurrentLeaderEpoch: above the high watermark is not "
        "enough",
        KAFKA_3_5,
        f"{FETCHED}, move_leadership b1, learn_leadership b1 e1, learn_leadership b2 e1, fetch b2, "
        "not propose_expansion b1 b2, receive_fetch b2, fetch b2, propose_expansion b1 b2",
        {"b1.leadership.start_offset": 1, "b1.high_watermark": 0, "b1.leadership.pending": {0, 1, 2}},
        {"brokers": 3, "initial_isr": 2, "leader_moves": 1},
    ),
    Row(
        "Partition#maybeExpandIsr (2.0.0): and was enough before KAFKA-7128",
        PRESETS["kafka-2.0.0"],
        f"{FETCHED}, move_leadership b1, learn_leadership b1 e1, learn_leadership b2 e1, ask_where_to_truncate b2, "
        "fetch b2, expand_isr b1 b2",
        {"b1.leadership.start_offset": 1, "b1.high_watermark": 0, "quorum.isr": {0, 1, 2}},
        {"brokers": 3, "initial_isr": 2, "leader_moves": 1},
    ),
    Row(
        "testSingleInFlightAlterIsr: no second change while one is pending",
        KAFKA_3_5,
        "fetch b1, fetch b2, propose_expansion b0 b1, not propose_expansion b0 b2, alter_partition b0, "
        "not propose_expansion b0 b2, receive_isr_answer b0, propose_expansion b0 b2",
        {"b0.leadership.isr": {0, 1}, "b0.leadership.pending": {0, 1, 2}},
        {"brokers": 3, "initial_isr": 1},
    ),
    Row(
        "testAlterIsrLeaderAndIsrRace: a newer leader epoch ends what is pending, and the late answer is ignored",
        KAFKA_3_5,
        (
            "produce b0, propose_shrink b0 b2, alter_partition b0, fence b1 none, learn_leadership b0 e2, "
            "receive_isr_answer b0"
        ),
        {"b0.leadership.isr": {0}, "b0.leadership.pending": None, "b0.leadership.partition_epoch": 2, "b0.changes": ()},
        {"brokers": 3, "isr_shrinks": 1, "spurious_fences": 1},
    ),
    Row(
        "Partition#submitAlterPartition: so does a newer partition epoch",
        PRESETS["kafka-3.7"],
        "produce b0, propose_shrink b0 b1, alter_partition b0, learn_isr b0, receive_isr_answer b0",
        {
            "b0.leadership.isr": {0},
            "b0.leadership.pending": None,
            "b0.leadership.partition_epoch": 1,
            "b0.high_watermark": 1,
        },
        {"isr_shrinks": 1},
    ),
]

STALE = "fetch b2, fence b1 none, propose_expansion b0 b2, alter_partition b0"
FAILURES = [
    Row(
        "testIsrNotExpandedIfUpdateFails, testAlterIsrInvalidVersion: after INVALID_UPDATE_VERSION the change "
        "stays pending",
        PRESETS["kafka-3.7"],
        f"{STALE}, receive_isr_answer b0, produce b0, not propose_expansion b0 b2, not propose_shrink b0 b1",
        {"b0.leadership.isr": {0, 1}, "b0.leadership.pending": {0, 1, 2}, "quorum.isr": {0}, "b0.high_watermark": 0},
        {"brokers": 3, "initial_isr": 2, "spurious_fences": 1, "isr_shrinks": 1},
    ),
    Row(
        "testInvalidAlterPartitionRequestsAreNotRetried: until the metadata tell what the ISR is",
        PRESETS["kafka-3.7"],
        f"{STALE}, receive_isr_answer b0, produce b0, learn_isr b0",
        {"b0.leadership.isr": {0}, "b0.leadership.pending": None, "b0.high_watermark": 1},
        {"brokers": 3, "initial_isr": 2, "spurious_fences": 1},
    ),
    Row(
        "testInvalidAlterPartitionRequestsAreNotRetried: after FENCED_LEADER_EPOCH, too",
        KAFKA_3_5,
        "fetch b2, propose_expansion b0 b2, fence b1 none, alter_partition b0, receive_isr_answer b0",
        {"b0.leadership.isr": {0, 1}, "b0.leadership.pending": {0, 1, 2}, "leader_epoch": 1},
        {"brokers": 3, "initial_isr": 2, "spurious_fences": 1},
    ),
    Row(
        "testIsrNotShrunkIfUpdateFails: a removal that failed leaves the high watermark waiting",
        PRESETS["kafka-3.7"],
        "produce b0, propose_shrink b0 b2, fence b1 none, alter_partition b0, receive_isr_answer b0",
        {"b0.leadership.isr": {0, 1, 2}, "b0.leadership.pending": {0, 1}, "b0.high_watermark": 0},
        {"brokers": 3, "spurious_fences": 1, "isr_shrinks": 1},
    ),
    Row(
        "testIsrNotExpandedIfReplicaIsInControlledShutdown: INELIGIBLE_REPLICA takes the proposal back, and it "
        "may be made again",
        KAFKA_3_5,
        "fetch b1, begin_controlled_shutdown b1 none, propose_expansion b0 b1, alter_partition b0, "
        "receive_isr_answer b0, propose_expansion b0 b1",
        {"b0.leadership.isr": {0}, "b0.leadership.pending": {0, 1}, "quorum.isr": {0}},
        {"initial_isr": 1, "controlled_shutdowns": 1},
    ),
    Row(
        "testPartitionShouldRetryAlterPartitionRequest: after an answer that was lost the same is asked again, "
        "and is an old version then",
        KAFKA_3_5,
        (
            "fetch b1, propose_expansion b0 b1, not lose_isr_answer b0, alter_partition b0, lose_isr_answer b0, "
            "receive_isr_answer b0"
        ),
        {"quorum.isr": {0, 1}, "b0.leadership.isr": {0}, "b0.leadership.pending": {0, 1}},
        {"initial_isr": 1, "alter_failures": 1},
    ),
]

SHRINK = [
    *(
        Row(
            f"testShouldNotShrinkIsrIfFollowerCaughtUpToLogEnd: {does} ({release})",
            PRESETS[f"kafka-{release}"],
            f"{CAUGHT_UP}, {story}",
            {"quorum.isr": isr},
            {"isr_shrinks": 1},
        )
        for release, does, story, isr in (
            ("0.10.2", "an idle follower was dropped before KAFKA-7152", "shrink_isr b0 b1", {0}),
            ("2.0.0", "an idle follower was dropped before KAFKA-7152", "shrink_isr b0 b1", {0}),
            ("2.1", "an idle follower stays", "not shrink_isr b0 b1", {0, 1}),
            ("3.5", "an idle follower stays", "not propose_shrink b0 b1", {0, 1}),
        )
    ),
    Row(
        "testMaybeShrinkIsr: a follower that lags is proposed to go, and the high watermark waits for it until "
        "the answer",
        KAFKA_3_5,
        "produce b0, propose_shrink b0 b1",
        {"b0.leadership.pending": {0}, "b0.leadership.isr": {0, 1}, "b0.high_watermark": 0},
        {"isr_shrinks": 1},
    ),
    Row(
        "testMaybeShrinkIsr: then no more",
        PRESETS["kafka-3.7"],
        "produce b0, propose_shrink b0 b1, alter_partition b0, receive_isr_answer b0",
        {"b0.leadership.pending": None, "b0.leadership.isr": {0}, "b0.high_watermark": 1},
        {"isr_shrinks": 1},
    ),
]

HIGH_WATERMARK = [
    Row(
        "testMonotonicOffsetsAfterLeaderChange: a new leader tells no end offset before its high watermark has "
        "reached its epoch",
        KAFKA_3_5,
        f"{FETCHED}, fetch b1, move_leadership b1, learn_leadership b1 e1, not ask_end_offset b1, "
        "learn_leadership b0 e1, fetch b0, ask_end_offset b1",
        {"b1.high_watermark": 1, "clients.end_offset": 1},
        {"leader_moves": 1, "offset_queries": 1},
    ),
    Row(
        "testUseCheckpointToInitializeHighWatermark: a broker starts with the high watermark that it has written",
        KAFKA_3_5,
        f"{CAUGHT_UP}, checkpoint_high_watermark b1, crash b1, fence b1 none, restart b1",
        {"b1.high_watermark": 1, "b1.log": (0,)},
        {"process_crashes": 1, "checkpoints": 1},
    ),
    *(
        Row(
            f"Partition#checkEnoughReplicasReachOffset ({release}): a producer waits over the epochs of one leader",
            PRESETS[f"kafka-{release}"],
            f"{FETCHED}, fence b2 none, learn_leadership b0 e1, learn_leadership b1 e1, {asks}fetch b1",
            {"b0.leader_epoch": 1, "b0.high_watermark": 1, "clients.exposed": (0,), "clients.acked": {0}},
            {"brokers": 3, "spurious_fences": 1},
        )
        for release, asks in (("2.1", "ask_where_to_truncate b1, "), ("3.5", ""))
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
        f"{FETCHED}, move_leadership b1, learn_leadership b0 e1, move_leadership b0, learn_leadership b0 e2, "
        "learn_leadership b1 e2, fetch b1",
        {"b0.high_watermark": 1, "clients.exposed": (0,), "clients.acked": set()},
        {"leader_moves": 2},
    ),
]


@pytest.mark.parametrize("row", ASSIGNMENT, ids=lambda row: row.kafka)
def test_assignment_is_kafkas(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", ELIGIBILITY, ids=lambda row: row.kafka)
def test_eligibility_is_kafkas(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", ZOOKEEPER, ids=lambda row: row.kafka)
def test_writing_the_isr_to_zookeeper_is_kafkas(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", IN_FLIGHT, ids=lambda row: row.kafka)
def test_changes_on_their_way_are_kafkas(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", FAILURES, ids=lambda row: row.kafka)
def test_failure_codes_are_kafkas(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", SHRINK, ids=lambda row: row.kafka)
def test_leaving_the_isr_is_kafkas(row: Row) -> None:
    row.check()


@pytest.mark.parametrize("row", HIGH_WATERMARK, ids=lambda row: row.kafka)
def test_the_high_watermark_is_kafkas(row: Row) -> None:
    row.check()


def test_a_leader_of_another_epoch_is_refused_even_what_is_so_already() -> None:
    before = state_after("", KAFKA_3_5, bounds_of())
    asked = IsrChange(Answer.NONE, before.leader_epoch, 0, before.quorum.isr, (0, 0))
    assert answer_to(before, 0, asked, KAFKA_3_5) is Answer.SUCCESS
    assert answer_to(before, 0, attrs.evolve(asked, leader_epoch=1), KAFKA_3_5) is Answer.STALE
    assert answer_to(before, 1, asked, KAFKA_3_5) is Answer.STALE


def test_a_broker_leaving_a_small_isr_becomes_eligible_and_its_members_do_not() -> None:
    bounds = bounds_of(brokers=3, min_insync_replicas=3)
    (start,) = initial_states(bounds, PRESETS["kafka-4.1"])
    quorum = with_elr(start.quorum, frozenset({0, 1}), frozenset(), PRESETS["kafka-4.1"], bounds)
    assert (quorum.isr, quorum.elr) == ({0, 1}, {2})
    quorum = with_elr(quorum, frozenset({0}), frozenset({1}), PRESETS["kafka-4.1"], bounds)
    assert (quorum.isr, quorum.elr) == ({0}, {2})
