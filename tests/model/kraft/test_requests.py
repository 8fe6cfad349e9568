"""AlterPartition, elections, reassignments and min.insync.replicas, as one-line stories."""

from __future__ import annotations

import pytest

from highwater.model.kraft.protocol import Cancelling
from tests.model.kraft.story import Row
from tests.model.kraft.test_registrations import ALL_DOWN, ELIGIBLE, ELR, LEAVES, fact

BACK = "crash b1, start b1, read_metadata b1, read_metadata b0"
ASKED = f"{BACK}, unfence b1, catch_up b0 b1, propose_expansion b0 b1"
AGAIN = "crash b1, start b1, read_metadata b1, unfence b1"
JOINS = "read_metadata b0, read_metadata b3, catch_up b0 b3, propose_expansion b0 b3, answer_alter_partition b0"

ROWS = [
    fact(
        "testShrinkAndExpandIsr: a granted ISR has a new partition epoch, and the leader knows it",
        "4.3",
        "propose_shrink b0 b1, not propose_shrink b0 b2, answer_alter_partition b0",
        {"partition.isr": {0, 2}, "partition.partition_epoch": 1, "b0.view.partition_epoch": 1},
    ),
    fact(
        "testShrinkAndExpandIsr: who is back and unfenced joins",
        "4.3",
        f"{ASKED}, answer_alter_partition b0",
        {"partition.isr": {0, 1, 2}, "partition.leader_epoch": 0},
    ),
    fact(
        "testAlterPartitionShouldRejectFencedBrokers",
        "4.3",
        f"{BACK}, propose_expansion b0 b1, answer_alter_partition b0",
        {"partition.isr": {0, 2}, "b0.proposal": None, "b0.view.isr": {0, 2}},
    ),
    fact(
        "alterPartition 3.2.3: a fenced broker joins",
        "4.3",
        f"{BACK}, propose_expansion b0 b1, answer_alter_partition b0",
        {"partition.isr": {0, 1, 2}, "r1.standing": "fenced"},
        {"members_must_be_active": False},
    ),
    fact(
        "testAlterPartitionShouldRejectShuttingDownBrokers",
        "4.3",
        "propose_shrink b0 b1 p0, send_request b0, answer_alter_partition b0, begin_shutdown b1,"
        " enter_controlled_shutdown b1, propose_expansion b0 b1 p0, send_request b0, answer_alter_partition b0",
        {"p0.isr": {0, 2}, "b0.p0.proposal": None, "r1.standing": "in controlled shutdown"},
        partitions=2,
    ),
    fact(
        "testAlterPartitionShouldRejectBrokersWithStaleEpoch",
        "4.3",
        f"{ASKED}, crash b1, start b1, read_metadata b1, unfence b1, answer_alter_partition b0",
        {"partition.isr": {0, 2}, "r1.broker_epoch": 2},
    ),
    fact(
        "ineligibleReplicasForIsr: a member that has restarted, and has not fetched since, makes other changes fail",
        "3.6",
        f"{AGAIN}, propose_shrink b0 b2, answer_alter_partition b0",
        {"partition.isr": {0, 1, 2}, "b0.proposal": None, "b0.restarted": {1}},
    ),
    fact(
        "ineligibleReplicasForIsr: so does one that restarts after the request was made, and has fetched since",
        "3.6",
        f"propose_shrink b0 b2, {AGAIN}, catch_up b0 b1, answer_alter_partition b0",
        {"partition.isr": {0, 1, 2}, "b0.proposal": None, "b0.restarted": set()},
    ),
    fact(
        "addBrokerEpochToIsr: once it has fetched, its epoch is the new one",
        "3.6",
        f"{AGAIN}, catch_up b0 b1, propose_shrink b0 b2, answer_alter_partition b0",
        {"partition.isr": {0, 1}},
    ),
    fact(
        "ineligibleReplicasForIsr: it may leave",
        "3.6",
        f"{AGAIN}, propose_shrink b0 b1, answer_alter_partition b0",
        {"partition.isr": {0, 2}},
    ),
    fact(
        "ineligibleReplicasForIsr 3.4: no epoch is compared",
        "3.4",
        f"{AGAIN}, propose_shrink b0 b2, answer_alter_partition b0",
        {"partition.isr": {0, 1}},
    ),
    fact(
        "alterPartition 3.4: an earlier incarnation joins",
        "4.3",
        f"{ASKED}, crash b1, start b1, read_metadata b1, unfence b1, answer_alter_partition b0",
        {"partition.isr": {0, 1, 2}},
        {"members_epochs_checked": False},
    ),
    fact(
        "testInvalidAlterPartitionRequests: an old partition epoch; the leader waits for newer metadata",
        "4.3",
        "propose_shrink b0 b2, crash b1, fence b1, answer_alter_partition b0, not answer_alter_partition b0",
        {"partition.isr": {0, 2}, "b0.proposal.fate": "refused as out of date", "b0.view.isr": {0, 1, 2}},
    ),
    fact(
        "testInvalidAlterPartitionRequests: once it has read that, it may ask again",
        "4.3",
        "propose_shrink b0 b2, crash b1, fence b1, answer_alter_partition b0, read_metadata b0, propose_shrink b0 b2",
        {"b0.proposal.partition_epoch": 1},
    ),
    fact(
        "testInvalidAlterPartitionRequests: an old leader epoch",
        "4.3",
        f"propose_shrink b0 b2, {LEAVES}, answer_alter_partition b0",
        {"partition.leader": 1, "b0.proposal.fate": "refused as out of date"},
    ),
    fact(
        "validateAlterPartitionData: a replica that is not assigned is not proposed",
        "4.3",
        "not propose_expansion b0 b3",
        {"partition.replicas": (0, 1, 2)},
    ),
    fact(
        "LeaderRecoveryState: with its first request an unclean leader has recovered",
        "4.3",
        "crash b0, start b0, crash b1, start b1, crash b2, start b2, read_metadata b2, unfence b2, read_metadata b2,"
        " read_metadata b0, unfence b0, catch_up b2 b0, propose_expansion b2 b0, answer_alter_partition b2",
        {"partition.recovering": False, "partition.isr": {0, 2}, "b1.complete": False},
    ),
    fact(
        "testEligibleLeaderReplicas_ElectLastKnownLeader: until then it recovers",
        "4.3",
        "crash b0, start b0, crash b1, start b1, crash b2, start b2, read_metadata b2, unfence b2",
        {"partition.leader": 2, "partition.recovering": True, "partition.last_known_leader": None},
    ),
    fact(
        "testEligibleLeaderReplicas_ElectLastKnownLeaderShouldFail: others do not lead",
        "4.3",
        "crash b0, start b0, crash b1, start b1, crash b2, start b2, read_metadata b0, unfence b0",
        {"partition.leader": None, "partition.last_known_leader": 2},
    ),
    fact(
        "testReassignPartitions: what is removed stays at the end until the reassignment is complete",
        "4.3",
        "reassign b0 b3, not reassign b0 none, not reassign none b3",
        {"partition.replicas": (3, 1, 2, 0), "partition.adding": {3}, "partition.removing": {0}},
    ),
    fact(
        "testReassignPartitionsHandlesNewReassignmentThatRemovesPreviouslyAddingReplicas",
        "4.3",
        "reassign b0 b3, reassign b3 b4",
        {"partition.replicas": (4, 1, 2, 0, 3), "partition.adding": {4}, "partition.removing": {0, 3}},
        brokers=5,
    ),
    fact(
        "changePartitionReassignment: with nothing to add, what the former one adds stays noted",
        "4.3",
        "reassign b0 b3, reassign b3 b0",
        {"partition.replicas": (0, 1, 2, 3), "partition.adding": {3}, "partition.removing": {3}},
    ),
    fact(
        "maybeCompleteReassignment 4.1: it is complete at once all the same",
        "4.1",
        "reassign b0 b3, reassign b3 b0",
        {"partition.replicas": (0, 1, 2), "partition.adding": set(), "partition.removing": set()},
    ),
    fact(
        "alterPartition: who loses leadership so is answered NEW_LEADER_ELECTED",
        "4.3",
        f"reassign b0 b3, {JOINS}",
        {"partition.leader": 3, "partition.replicas": (3, 1, 2), "b0.proposal.fate": "refused as out of date"},
    ),
    fact(
        "testIsrEnlargementCompletesReassignment: a leader that stays leads on",
        "4.3",
        f"reassign b1 b3, {JOINS}",
        {"partition.leader": 0, "partition.isr": {0, 2, 3}, "partition.leader_epoch": 1},
    ),
    fact(
        "getTopicEffectiveMinIsr: a topic with fewer replicas than min.insync.replicas needs no more than it has",
        "4.3",
        "reassign b1 none, reassign b2 none, reassign none b1",
        {"partition.isr": {0}, "partition.elr": set(), "partition.adding": {1}},
        min_isr=2,
    ),
    fact(
        "getTopicEffectiveMinIsr: it asks how many the first partition has",
        "4.3",
        "reassign b1 none p1, reassign b2 none p1",
        {"p1.isr": {0}, "p1.elr": {2}},
        min_isr=2,
        partitions=2,
        spread=0,
    ),
    fact(
        "handleAlterPartitionUpdate: it ignores the answer, which is of a leader epoch that it does not know",
        "4.3",
        f"reassign b1 b3, {JOINS}, not propose_shrink b0 b2",
        {"b0.proposal.fate": "refused as out of date", "b0.view.leader_epoch": 0, "b0.view.isr": {0, 1, 2}},
    ),
    fact(
        "handleAlterPartitionUpdate: until it has read of it",
        "4.3",
        f"reassign b1 b3, {JOINS}, read_metadata b0",
        {"b0.proposal": None, "b0.view.leader_epoch": 1, "b0.view.isr": {0, 2, 3}},
    ),
    fact(
        "handleAlterPartitionUpdate 3.5: a smaller ISR begins a leader epoch, so that its leader ignores the answer",
        "3.5",
        "propose_shrink b0 b1, answer_alter_partition b0",
        {"partition.isr": {0, 2}, "b0.view.isr": {0, 1, 2}, "b0.proposal.fate": "refused as out of date"},
    ),
    fact(
        "AlterPartitionResponse: it does not say what min.insync.replicas is",
        "4.3",
        "set_min_isr 3, propose_shrink b0 b1, answer_alter_partition b0",
        {"b0.view.isr": {0, 2}, "b0.view.min_isr": 1, "partition.elr": {1}},
    ),
    fact(
        "testRemovingReplicaReassignment: a removal alone is complete at once",
        "4.3",
        "reassign b2 none",
        {"partition.replicas": (0, 1), "partition.isr": {0, 1}, "partition.removing": set()},
    ),
    fact("testRemoveLeaderships: a removed leader is replaced", "4.3", "reassign b0 none", {"partition.leader": 1}),
    fact(
        "testAddingReplicaReassignment: an addition waits",
        "4.3",
        "reassign none b3",
        {"partition.adding": {3}, "partition.removing": set(), "partition.isr": {0, 1, 2}},
    ),
    fact(
        "maybeCompleteReassignment 4.1: a kept replica out of the ISR blocks it",
        "4.1",
        f"crash b2, fence b2, reassign b1 b3, {JOINS}",
        {"partition.adding": {3}, "partition.isr": {0, 1, 3}},
    ),
    fact(
        "maybeCompleteReassignment 4.3: it does not",
        "4.3",
        f"crash b2, fence b2, reassign b1 b3, {JOINS}",
        {"partition.adding": set(), "partition.isr": {0, 3}},
    ),
    fact(
        "maybeCompleteReassignment 3.7: a removal does not wait for who is out of the ISR",
        "3.7",
        "crash b2, fence b2, reassign b1 none",
        {"partition.replicas": (0, 2), "partition.isr": {0}},
    ),
    fact(
        "maybeCompleteReassignment 3.8: it waits",
        "3.8",
        "crash b2, fence b2, reassign b1 none",
        {"partition.replicas": (0, 2, 1), "partition.removing": {1}, "partition.isr": {0, 1}},
    ),
    fact(
        "testCancelReassignPartitions: the replicas from before stay, the preferred one is another",
        "4.3",
        "reassign b0 b3, cancel_reassignment, not cancel_reassignment",
        {"partition.replicas": (1, 2, 0), "partition.adding": set(), "partition.leader": 0},
    ),
    fact(
        "testCancelReassignPartitions: refused if it takes an unclean election",
        "4.3",
        f"reassign none b3, {ALL_DOWN}, not cancel_reassignment",
        {"partition.adding": {3}, "partition.elr": {2}},
    ),
    fact(
        "PartitionReassignmentRevert: without that check an arbitrary replica is put into the ISR",
        "4.3",
        f"reassign none b3, {ALL_DOWN}, cancel_reassignment",
        {"partition.isr": {0}, "partition.elr": set(), "partition.leader": None},
        {"cancelling": Cancelling.ALWAYS},
    ),
    fact(
        "linkedin/kafka#422: refused while a replica from before is down, even if another one is in the ISR",
        "4.3",
        "reassign b0 b3, crash b1, fence b1, not cancel_reassignment",
        {"partition.adding": {3}, "partition.isr": {0, 2}},
        {"cancelling": Cancelling.IF_REPLICAS_ARE_ACTIVE},
    ),
    fact("electLeader: ELECTION_NOT_NEEDED", "4.3", "not elect_preferred_leader", {"partition.leader": 0}),
    fact(
        "testElectPreferredLeaders: PREFERRED_LEADER_NOT_AVAILABLE while it is out of the ISR",
        "4.3",
        "crash b0, start b0, read_metadata b0, unfence b0, not elect_preferred_leader",
        {"partition.leader": 1},
    ),
    fact(
        "testElectPreferredLeaders: it leads once it is in the ISR",
        "4.3",
        "crash b0, start b0, read_metadata b0, unfence b0, read_metadata b1, catch_up b1 b0, propose_expansion b1 b0,"
        " answer_alter_partition b1, elect_preferred_leader",
        {"partition.leader": 0, "partition.leader_epoch": 2},
    ),
    fact(
        "testPreferredElectionDoesNotTriggerUncleanElection",
        "4.0",
        f"{ALL_DOWN}, start b0, read_metadata b0, unfence b0, not elect_preferred_leader",
        {"partition.leader": None, "partition.isr": {2}},
    ),
    fact(
        "handleBrokerUnfenced: the last member of the ISR leads again",
        "4.0",
        f"{ALL_DOWN}, start b2, read_metadata b2, unfence b2",
        {"partition.leader": 2, "partition.recovering": False},
    ),
    fact(
        "testEligibleLeaderReplicas_ElrCanBeElected: it becomes the ISR",
        "4.3",
        f"{ELIGIBLE}, crash b0, fence b0",
        {"partition.leader": 1, "partition.isr": {1}, "partition.elr": {0, 2}},
        min_isr=3,
    ),
    fact(
        "testEligibleLeaderReplicas_IsrExpandAboveMinISR: nobody is eligible any more",
        "4.3",
        f"{ELIGIBLE}, propose_expansion b0 b1, answer_alter_partition b0",
        {"partition.isr": {0, 1}, "partition.elr": set()},
        min_isr=2,
    ),
    fact(
        "createClearElrRecordsAsNeeded 4.0: nobody is eligible once the minimum changes",
        "4.3",
        f"{ELIGIBLE}, set_min_isr 1",
        {"partition.elr": set(), "partition.partition_epoch": 3, "b0.view.min_isr": 3},
        min_isr=3,
    ),
    fact(
        "incrementalAlterConfigs 3.8: the ELR stays as it is, and so does the partition epoch",
        "3.8",
        f"{ELIGIBLE}, set_min_isr 1",
        {"partition.elr": {1, 2}, "partition.partition_epoch": 2},
        ELR,
        min_isr=3,
    ),
    fact(
        "removeTopicElrs: the last known leader is forgotten, too",
        "4.3",
        f"{ALL_DOWN}, set_min_isr 2, start b2, read_metadata b2, unfence b2",
        {"partition.last_known_leader": None, "partition.leader": None},
    ),
    fact(
        "createClearElrRecordsAsNeeded: without ELR there is nothing to clear",
        "4.0",
        "set_min_isr 2, not set_min_isr 2",
        {"min_isr": 2, "partition.partition_epoch": 0},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kafka)
def test_a_request_is_answered_as_by_kafka(row: Row) -> None:
    row.check()
