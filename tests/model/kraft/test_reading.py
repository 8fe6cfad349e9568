"""How far each broker has read the metadata log, and what it knows there, as one-line stories."""

from __future__ import annotations

import pytest

from highwater.model.kraft.reading import _has_left
from tests.model.kraft.story import Row
from tests.model.kraft.test_registrations import fact

TWO_BATCHES = "crash b1, fence b1, crash b2, fence b2"
LEAVES = "begin_shutdown b0, enter_controlled_shutdown b0, crash b3, fence b3"
SPLIT = {"partitions": 2, "spread": 0, "split_batches": 1, "uncommitted": 3}

FEWER = "reassign b2 none, read_metadata b0, read_metadata b1"

ROWS = [
    fact(
        "applyLocalFollowersDelta 3.3.1: 'Unable to start fetching', and it leads on",
        "3.3",
        "begin_shutdown b0, enter_controlled_shutdown b0, read_metadata b0",
        {"b0.view.leader": 0, "b0.view.leader_epoch": 0, "partition.leader": 1},
    ),
    fact(
        "applyLocalFollowersDelta 3.3.1: who does not shut down becomes a follower",
        "3.3",
        "begin_shutdown b0, enter_controlled_shutdown b0, read_metadata b2",
        {"b2.view.leader": 1},
    ),
    fact(
        "applyLocalFollowersDelta 3.3.2: it becomes a follower",
        "3.3.2",
        "begin_shutdown b0, enter_controlled_shutdown b0, read_metadata b0",
        {"b0.view.leader": 1, "b0.view.leader_epoch": 1},
    ),
    fact(
        "effectiveMinIsr: two replicas are enough where min.insync.replicas is 3",
        "3.7",
        f"{FEWER}, commit b0",
        {"used.commits": 1, "partition.isr": {0, 1}},
        min_isr=3,
    ),
    fact(
        "effectiveMinIsr: of three replicas two are not",
        "3.7",
        "crash b2, fence b2, read_metadata b0, read_metadata b1, not commit b0",
        {"partition.isr": {0, 1}},
        min_isr=3,
    ),
    fact(
        "appendRecordsToLeader 3.6: NOT_ENOUGH_REPLICAS",
        "3.6",
        f"{FEWER}, not commit b0",
        {"partition.isr": {0, 1}},
        min_isr=3,
    ),
    fact(
        "MetadataLoader#handleCommit: a broker may have read one batch of two",
        "4.3",
        f"{TWO_BATCHES}, read_metadata b0 1",
        {"b0.view.isr": {0, 2}, "b0.unread": 1, "partition.isr": {0}},
        stops=1,
    ),
    fact(
        "MetadataLoader#handleCommit: it goes on from there, and not back",
        "4.3",
        f"{TWO_BATCHES}, read_metadata b0 1, not read_metadata b0 1, read_metadata b0 0, not read_metadata b0 1",
        {"b0.view.isr": {0}, "b0.unread": 0},
        stops=1,
    ),
    fact(
        "MetadataLoader#handleCommit: each broker has an offset of its own",
        "4.3",
        f"{TWO_BATCHES}, read_metadata b0 1, read_metadata b3 0, set_min_isr 2",
        {"b0.unread": 2, "b3.unread": 1, "b1.unread": 0},
        stops=2,
    ),
    fact(
        "ReplicaManager#applyDelta: a broker leads in an epoch that is over",
        "4.3",
        "crash b0, fence b0, begin_shutdown b1, enter_controlled_shutdown b1, read_metadata b1 1, read_metadata b2 1,"
        " commit b1",
        {"b1.view.leader": 1, "b1.view.leader_epoch": 1, "partition.leader": 2, "partition.leader_epoch": 2},
        stops=1,
    ),
    fact(
        "Partition#makeLeader: what is older than the answer to a request is skipped",
        "4.3",
        "crash b1, fence b1, read_metadata b0 0, start b1, propose_shrink b0 b2, answer_alter_partition b0,"
        " read_metadata b0 1",
        {"b0.view.isr": {0}, "b0.unread": 1},
        stops=1,
    ),
    fact(
        "Partition#handleAlterPartitionError: newer metadata that is not the newest is enough to ask again",
        "4.3",
        f"{TWO_BATCHES}, propose_shrink b0 b1, answer_alter_partition b0, read_metadata b0 1, propose_shrink b0 b2,"
        " answer_alter_partition b0",
        {"b0.proposal.fate": "refused as out of date", "b0.proposal.partition_epoch": 1},
        stops=1,
    ),
    fact(
        "MetadataLoader#stillNeedToCatchUp: a broker that starts reads as far as was committed by then",
        "4.3",
        "crash b2, fence b2, crash b1, start b1, not read_metadata b1 2, read_metadata b1 1",
        {"b1.knows_registration": False, "b1.view.isr": {0, 1}, "b1.unread": 1},
        stops=2,
    ),
    fact(
        "MetadataLoader#stillNeedToCatchUp: it may have read its registration, and not what came then",
        "4.3",
        "crash b1, start b1, crash b2, fence b2, not read_metadata b1 3, read_metadata b1 1",
        {"b1.knows_registration": True, "b1.view.isr": {0, 2}, "b1.unread": 1},
        stops=3,
    ),
    fact(
        "updateControlledShutdownOffset: it is enough to have read that the broker leaves",
        "4.3",
        f"{LEAVES}, read_metadata b1 1, not grant_shutdown b0, read_metadata b2 1, grant_shutdown b0",
        {"r0.standing": "fenced", "b1.unread": 2},
        stops=2,
    ),
    fact(
        "updateControlledShutdownOffset 3.3.0: it is not enough, as the offset moves; the fenced b3 never reaches it",
        "3.3",
        f"{LEAVES}, stay_in_controlled_shutdown b0, read_metadata b1 1, read_metadata b2 1, not grant_shutdown b0",
        {"heartbeats.waits_for.b0": {1, 2, 3}},
        stops=1,
    ),
    fact(
        "TopicsDelta: a broker may read that a topic is gone, and later that there is another one",
        "4.3",
        "delete_topic, create_topic b0, read_metadata b1 1",
        {"b1.view.isr": set(), "b1.topic_id": 1, "partition.topic_id": 1, "partition.isr": {0, 1, 2}},
        stops=1,
    ),
    fact(
        "TopicDelta#localChanges: a broker that has read that it is no replica any more deletes its log",
        "4.3",
        "reassign b2 none, read_metadata b2",
        {"partition.replicas": (0, 1), "b2.complete": False, "b1.complete": True},
    ),
    fact(
        "TopicDelta#localChanges: if it reads at once that it is one again, it keeps it",
        "4.3",
        "reassign b2 none, reassign none b2, read_metadata b2",
        {"partition.adding": {2}, "b2.complete": True},
    ),
    fact(
        "TopicDelta#localChanges: if it reads that in between, it begins anew",
        "4.3",
        "reassign b2 none, reassign none b2, read_metadata b2 1, read_metadata b2 0, not propose_expansion b0 b2,"
        " read_metadata b0 0, not propose_expansion b0 b2, catch_up b0 b2, propose_expansion b0 b2",
        {"b2.complete": True},
        stops=1,
    ),
    fact(
        "Partition#followerReplicaOrThrow: nobody fetches before both know that it is a replica",
        "4.3",
        "reassign none b3, not catch_up b0 b3, read_metadata b3, not catch_up b0 b3, read_metadata b0, catch_up b0 b3",
        {"b3.complete": True, "b3.view.replicas": {0, 1, 2, 3}},
    ),
    fact(
        "KAFKA-14204: a broker may have read half of a decision",
        "4.3",
        "crash b0, fence b0, commit_batch, commit_batch, read_metadata b1 1",
        {"b1.p0.view.leader": 1, "b1.p1.view.leader": 0},
        stops=1,
        **SPLIT,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kafka)
def test_brokers_read_the_metadata_log_as_kafkas_do(row: Row) -> None:
    row.check()


@pytest.mark.parametrize(("isr", "left"), [({0, 1}, False), ({0}, True), ({1}, True), ({1, 2}, True)])
def test_the_last_member_of_an_isr_has_left_as_good_as_who_is_not_in_it(isr: set[int], left: bool) -> None:
    assert _has_left(frozenset(isr), 0) is left
