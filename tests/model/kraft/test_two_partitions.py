"""Decisions about two partitions, and requests that ask for both, as one-line stories."""

from __future__ import annotations

import pytest

from tests.model.kraft.story import Row
from tests.model.kraft.test_registrations import fact

BOTH = {"partitions": 2, "spread": 0}
SPREAD = {"partitions": 2, "spread": 1}
SPLIT = {**BOTH, "split_batches": 1, "uncommitted": 3}
BACK = "start b0, read_metadata b0, unfence b0"

ASK_FOR_BOTH = "propose_shrink b0 b1 p0, propose_shrink b0 b2 p1, send_request b0"
HALF_OUT_OF_DATE = (
    "propose_shrink b0 b2 p0, send_request b0, answer_alter_partition b0, commit_batch, propose_shrink b0 b1 p0,"
    " propose_shrink b0 b1 p1, send_request b0, crash b2, fence b2"
)

ROWS = [
    fact(
        "a machine fails that has one of two logs whole: that one is lost",
        "4.3",
        "crash b1, fence b1, read_metadata b0, commit b0 p0, commit b0 p1, start b1, read_metadata b1, "
        "catch_up b0 b1 p0, crash_with_loss b1",
        {"b1.p0.complete": False, "b1.p1.complete": False},
        **BOTH,
    ),
    fact(
        "StripedReplicaPlacer: the second partition prefers the next broker",
        "4.3",
        "",
        {"p0.replicas": (0, 1, 2), "p1.replicas": (1, 2, 3), "p1.leader": 1, "b3.p1.complete": True},
        **SPREAD,
    ),
    fact(
        "testRemoveLeaderships: both partitions of a broker get leaders in one batch",
        "4.3",
        "crash b0, fence b0",
        {"p0.leader": 1, "p1.leader": 1, "p1.isr": {1, 2}, "tail": 1},
        uncommitted=3,
        **BOTH,
    ),
    fact(
        "generateLeaderAndIsrUpdates: a partition that has nothing of the broker has no record",
        "4.3",
        "crash b0, fence b0",
        {"p0.isr": {1, 2}, "p1.partition_epoch": 0},
        **SPREAD,
    ),
    fact(
        "maybeFenceStaleBrokers 2.8: the second record of each partition brings the first broker back",
        "3.5",
        "crash b0, crash b1, fence_two b0 b1",
        {"p0.isr": {0, 2}, "p1.isr": {0, 2}, "r0.standing": "fenced"},
        {"fences_one_at_a_time": False},
        **BOTH,
    ),
    fact(
        "testAppendRecords: a decision that is too large is several batches, and the first is kept alone",
        "4.3",
        "crash b0, fence b0, fail_over 1",
        {"p0.leader": 1, "p1.leader": 0, "r0.standing": "unfenced"},
        **SPLIT,
    ),
    fact(
        "handleBrokerFenced: the broker is not fenced yet, so that the rest is decided again",
        "4.3",
        "crash b0, fence b0, fail_over 1, fence b0",
        {"p1.leader": 1, "r0.standing": "fenced"},
        **SPLIT,
    ),
    fact(
        "currentBrokerState: a new controller has no offset of the broker, so that the rest is decided again",
        "4.3",
        "begin_shutdown b0, enter_controlled_shutdown b0, not enter_controlled_shutdown b0, fail_over 1,"
        " not grant_shutdown b0, enter_controlled_shutdown b0",
        {"p0.leader": 1, "p1.leader": 1, "r0.standing": "in controlled shutdown", "tail": 2, "heartbeats.leaving": {0}},
        **SPLIT,
    ),
    fact(
        "lowestActiveOffset: to a new controller, a broker is active until it has noted an offset of it",
        "4.3",
        "begin_shutdown b1, enter_controlled_shutdown b1, fail_over 1, begin_shutdown b0, enter_controlled_shutdown b0,"
        " commit_batch, commit_batch, read_metadata b2, read_metadata b3, not grant_shutdown b0,"
        " enter_controlled_shutdown b1, grant_shutdown b0",
        {"r0.standing": "fenced", "r1.standing": "in controlled shutdown", "p1.leader": 2},
        **{**SPREAD, "split_batches": 1, "uncommitted": 3},
    ),
    fact(
        "updateControlledShutdownOffset: the others must read the last of the batches",
        "4.3",
        "begin_shutdown b0, enter_controlled_shutdown b0, commit_batch, read_metadata b1, read_metadata b2,"
        " read_metadata b3, not grant_shutdown b0, commit_batch, read_metadata b1, read_metadata b2, read_metadata b3,"
        " grant_shutdown b0",
        {"r0.standing": "fenced"},
        **SPLIT,
    ),
    fact(
        "handleBrokerUnfenced: the registration comes first, so that a lost election is not held again",
        "4.0",
        "crash b0, fence b0, commit_batch, commit_batch, start b0, commit_batch, read_metadata b0, unfence b0,"
        " fail_over 1, not unfence b0",
        {"p0.leader": 0, "p1.leader": None, "p1.isr": {0}, "r0.standing": "unfenced"},
        replication_factor=1,
        **SPLIT,
    ),
    fact(
        "testBalancePartitionLeaders: a partition without a leader is imbalanced, too",
        "4.0",
        "crash b0, fence b0, commit_batch, commit_batch, start b0, commit_batch, read_metadata b0, unfence b0,"
        " fail_over 1, balance_leaders, not balance_leaders",
        {"p1.leader": 0},
        replication_factor=1,
        balancing=1,
        **SPLIT,
    ),
    fact(
        "testBalancePartitionLeaders: every preferred leader that is in sync, in one batch",
        "4.3",
        f"not balance_leaders, crash b0, fence b0, {BACK}, not balance_leaders, read_metadata b1,"
        " catch_up b1 b0 p0, catch_up b1 b0 p1, propose_expansion b1 b0 p0, send_request b1, answer_alter_partition b1,"
        " propose_expansion b1 b0 p1, send_request b1, answer_alter_partition b1, balance_leaders, not balance_leaders",
        {"p0.leader": 0, "p1.leader": 0, "p1.leader_epoch": 2},
        balancing=1,
        **BOTH,
    ),
    fact(
        "testElectPreferredLeaders: one partition is asked for, the other stays",
        "4.3",
        f"crash b0, fence b0, {BACK}, read_metadata b1, propose_expansion b1 b0 p0, send_request b1,"
        " answer_alter_partition b1, not elect_preferred_leader p1, elect_preferred_leader p0,"
        " not elect_preferred_leader p0",
        {"p0.leader": 0, "p1.leader": 1},
        **BOTH,
    ),
    fact(
        "calculateNextBrokerState: who leads one partition of two is in controlled shutdown first",
        "4.3",
        "begin_shutdown b1, not grant_shutdown b1, enter_controlled_shutdown b1",
        {"p0.isr": {0, 2}, "p1.leader": 2, "p1.isr": {2, 3}},
        **SPREAD,
    ),
    fact(
        "electAnyLeader: if nobody else is in sync, nobody leads, and the shutdown goes on",
        "4.0",
        "propose_shrink b0 b1 p1, send_request b0, answer_alter_partition b0,"
        " propose_shrink b0 b2 p1, send_request b0, answer_alter_partition b0,"
        " begin_shutdown b0, enter_controlled_shutdown b0, read_metadata b1, read_metadata b2, read_metadata b3,"
        " grant_shutdown b0",
        {"p0.leader": 1, "p1.leader": None, "p1.isr": {0}, "r0.standing": "fenced"},
        **BOTH,
    ),
    fact(
        "testOneInFlight: the second partition waits for the answer about the first",
        "4.3",
        "propose_shrink b0 b1 p0, send_request b0, propose_shrink b0 b2 p1, not send_request b0",
        {"b0.p0.proposal.fate": "in flight", "b0.p1.proposal.fate": "queued"},
        **BOTH,
    ),
    fact(
        "testOneInFlight: then it is sent",
        "4.3",
        "propose_shrink b0 b1 p0, send_request b0, propose_shrink b0 b2 p1, answer_alter_partition b0, send_request b0",
        {"p0.isr": {0, 2}, "p1.isr": {0, 1, 2}, "b0.p1.proposal.fate": "in flight"},
        **BOTH,
    ),
    fact(
        "testSingleBatch: what is queued is one request, and both partitions are granted",
        "4.3",
        f"{ASK_FOR_BOTH}, answer_alter_partition b0",
        {"p0.isr": {0, 2}, "p1.isr": {0, 1}, "b0.p0.proposal": None, "b0.p1.proposal": None},
        **BOTH,
    ),
    fact(
        "NodeToControllerRequestThread: the same request is sent again, without what is queued",
        "4.3",
        "propose_shrink b0 b1 p0, send_request b0, answer_alter_partition b0, propose_shrink b0 b2 p1, fail_over 0",
        {"b0.p0.proposal.fate": "in flight", "b0.p1.proposal.fate": "queued", "tail": 0},
        uncommitted=2,
        **BOTH,
    ),
    fact(
        "alterPartition: one partition is granted, the other is out of date; both wait for the commit",
        "4.3",
        f"{HALF_OUT_OF_DATE}, answer_alter_partition b0",
        {
            "p0.isr": {0},
            "p1.isr": {0, 1},
            "b0.p0.proposal.fate": "granted, and not yet committed",
            "b0.p1.proposal.fate": "refused as out of date, and not yet answered",
        },
        uncommitted=2,
        **BOTH,
    ),
    fact(
        "testInvalidUpdateVersion: the granted partition has its ISR, the other waits for newer metadata",
        "4.3",
        f"{HALF_OUT_OF_DATE}, answer_alter_partition b0, commit_batch, commit_batch",
        {"b0.p0.proposal": None, "b0.p0.view.isr": {0}, "b0.p1.proposal.fate": "refused as out of date"},
        uncommitted=2,
        **BOTH,
    ),
    fact(
        "alterPartition: a member that is fenced costs its partition alone",
        "4.3",
        "crash b1, fence b1, commit_batch, start b1, commit_batch, read_metadata b1, read_metadata b0,"
        " propose_shrink b0 b2 p0, propose_expansion b0 b1 p1, send_request b0, answer_alter_partition b0,"
        " commit_batch",
        {"p0.isr": {0}, "p1.isr": {0, 2}, "b0.p0.view.isr": {0}, "b0.p1.proposal": None, "b0.p1.view.isr": {0, 2}},
        uncommitted=2,
        **BOTH,
    ),
    fact(
        "testReassignPartitions: each partition on its own",
        "4.3",
        "reassign b0 b3 p0, reassign b2 b3 p1, read_metadata b0, read_metadata b3, catch_up b0 b3 p1,"
        " propose_expansion b0 b3 p1, send_request b0, answer_alter_partition b0",
        {"p0.adding": {3}, "p0.replicas": (3, 1, 2, 0), "p1.replicas": (3, 0, 1), "p1.isr": {0, 1, 3}},
        **BOTH,
    ),
    fact(
        "handleDirectoriesOffline: the replica in the other directory leads on",
        "4.3",
        "fail_directory b0 p1, take_out_failed_directory b0 p1",
        {"p0.leader": 0, "p1.leader": 1, "r0.directories_failed": (False, True)},
        **BOTH,
    ),
    fact(
        "removeTopicElrs: nobody is eligible in any partition",
        "4.3",
        "crash b1, fence b1, crash b2, fence b2, set_min_isr 1",
        {"p0.elr": set(), "p1.elr": set()},
        min_isr=3,
        **BOTH,
    ),
    fact(
        "deleteTopic, createTopic: all partitions at once",
        "4.3",
        "delete_topic, create_topic b2",
        {"p0.topic_id": 1, "p1.topic_id": 1, "p1.replicas": (2, 0, 1), "p1.leader": 2},
        **BOTH,
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kafka)
def test_two_partitions_change_as_by_kafka(row: Row) -> None:
    row.check()
