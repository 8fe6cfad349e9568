"""Topics that are deleted and created anew, brokers that are unregistered, and unclean elections on request, as
one-line stories.
"""

from __future__ import annotations

import pytest

from tests.model.kraft.story import Row
from tests.model.kraft.test_registrations import ALL_DOWN, fact

ANEW = "delete_topic, create_topic b0"
AWAY = f"crash b1, fence b1, {ANEW}, start b1, read_metadata b0, read_metadata b1, unfence b1"
JOINS = "catch_up b0 b1, propose_expansion b0 b1, answer_alter_partition b0"
STOPS = "begin_shutdown b1, grant_shutdown b1, stop b1"
ALONE = "crash b1, fence b1, crash b2, fence b2, crash b0, fence b0"

BACK = "start b1, read_metadata b1, unfence b1"
CLEARED = "crash b1, fence b1, set_min_isr 2, delete_topic"
DEPOSED = "an active controller that found a deleted topic in its index and renounced"

ROWS = [
    fact(
        "BrokerHeartbeatManager#remove: nobody has heard of an unregistered broker",
        "4.3",
        "unregister_broker b1",
        {"heartbeats.contacted": {0, 2, 3}},
    ),
    fact(
        "handleBrokerUncleanShutdown: 'existed in isrMembers, but not in the topics map', for every controller",
        "4.3",
        f"{CLEARED}, start b1, read_metadata b1, not unfence b1, fail_over 0, register_again b1, not unfence b1",
        {"mishap": DEPOSED, "r1.broker_epoch": 0, "r1.standing": "fenced", "stale.of_deleted": {1}},
        min_isr=3,
    ),
    fact(
        "handleBrokerUnregistered goes through the same index",
        "4.3",
        f"{CLEARED}, unregister_broker b1",
        {"mishap": DEPOSED, "r1.standing": "fenced"},
        min_isr=3,
    ),
    fact(
        "hasValidSession: who cannot register loses the session of before",
        "4.3",
        f"crash b1, fence b1, set_min_isr 2, {BACK}, not fence b1, delete_topic, crash b1, start b1, fence b1",
        {"mishap": DEPOSED, "b1.broker_epoch": 2, "r1.broker_epoch": 1, "r1.standing": "fenced"},
        min_isr=3,
    ),
    fact(
        "removeTopicElrs with BrokersToElrs#update: it registers",
        "4.3",
        f"{CLEARED}, {BACK}",
        {"mishap": None, "r1.broker_epoch": 1, "stale.of_deleted": set()},
        {"index_follows_emptied_elrs": True},
        min_isr=3,
    ),
    fact(
        "handleBrokerShutdown: after a shutdown in order nobody looks into the index",
        "4.3",
        f"{STOPS}, set_min_isr 2, delete_topic, {BACK}",
        {"mishap": None, "r1.broker_epoch": 1, "stale.of_deleted": {1}},
        min_isr=3,
    ),
    fact(
        "removeTopicEntryForBroker: who is eligible again as the topic is deleted leaves the index",
        "4.3",
        f"crash b1, fence b1, set_min_isr 2, {BACK}, read_metadata b0, {JOINS}, set_min_isr 3, crash b1, fence b1,"
        "delete_topic",
        {"stale.of_topic": set(), "stale.of_deleted": set()},
        min_isr=3,
    ),
    fact(
        "revertToSnapshot: an emptied ELR that is lost leaves the index as it was",
        "4.3",
        "crash b1, fence b1, commit_batch, set_min_isr 2, fail_over 0",
        {"stale.of_topic": set(), "partition.elr": {1}},
        min_isr=3,
        uncommitted=2,
    ),
    fact(
        "testDeleteTopics: it is gone at once",
        "4.3",
        "delete_topic, not delete_topic, not elect_preferred_leader, not reassign none b3, not set_min_isr 2",
        {"partition.replicas": (), "partition.isr": set(), "partition.leader": None},
    ),
    fact(
        "testDeleteTopics: its reassignment is gone, too",
        "4.3",
        "reassign b0 b3, delete_topic, not cancel_reassignment, create_topic b0",
        {"partition.replicas": (0, 1, 2), "partition.adding": set(), "partition.removing": set()},
    ),
    fact(
        "testEligibleLeaderReplicas_DeleteTopic",
        "4.3",
        "crash b1, fence b1, delete_topic",
        {"partition.elr": set(), "partition.isr": set()},
        min_isr=3,
    ),
    fact(
        "replay(RemoveTopicRecord): its configuration is deleted", "4.3", "set_min_isr 2, delete_topic", {"min_isr": 1}
    ),
    fact(
        "testCreateTopics: another topic id, and epochs from 0",
        "4.3",
        f"crash b0, fence b0, not create_topic b1, {ANEW.replace('b0', 'b1')}",
        {"partition.topic_id": 1, "partition.leader": 1, "partition.leader_epoch": 0, "partition.partition_epoch": 0},
    ),
    fact(
        "testCreateTopicsISRInvariants: a fenced replica is not in the ISR",
        "4.3",
        f"crash b0, fence b0, {ANEW}",
        {"partition.replicas": (0, 1, 2), "partition.isr": {1, 2}, "partition.leader": 1},
    ),
    fact(
        "testCreateTopicsISRInvariants: nor is one in controlled shutdown",
        "4.3",
        f"begin_shutdown b0, enter_controlled_shutdown b0, {ANEW}",
        {"partition.isr": {1, 2}, "partition.leader": 1},
    ),
    fact(
        "createTopic: INVALID_REPLICA_ASSIGNMENT if all replicas are fenced",
        "4.3",
        f"{ALL_DOWN}, delete_topic, not create_topic b0, create_topic b3",
        {"partition.replicas": (3, 0, 1), "partition.isr": {3}},
    ),
    fact(
        "alterPartition: UNKNOWN_TOPIC_ID for a topic that is deleted",
        "4.3",
        "propose_shrink b0 b1, delete_topic, answer_alter_partition b0",
        {"b0.proposal.fate": "refused as out of date", "partition.isr": set()},
    ),
    fact(
        "alterPartition: UNKNOWN_TOPIC_ID although another one has its name and its epochs",
        "4.3",
        f"propose_shrink b0 b1, {ANEW}, answer_alter_partition b0",
        {"b0.proposal.fate": "refused as out of date", "partition.isr": {0, 1, 2}},
    ),
    fact(
        "handleAlterPartitionError: the leader waits for metadata of the partition",
        "4.3",
        f"propose_shrink b0 b1, {ANEW}, answer_alter_partition b0, read_metadata b0",
        {"b0.proposal": None, "b0.view.topic_id": 1},
    ),
    fact(
        "alterPartition: a deposed controller does not know a new topic",
        "4.3",
        "delete_topic, fail_over 0, create_topic b0, read_metadata b0, propose_shrink b0 b1, answer_as_deposed b0, "
        "read_metadata b0",
        {"b0.proposal.fate": "refused as out of date"},
        uncommitted=0,
        controllers=2,
    ),
    fact(
        "handleAlterPartitionError, mended: it asks again",
        "4.3",
        "delete_topic, fail_over 0, create_topic b0, read_metadata b0, propose_shrink b0 b1, not answer_as_deposed b0, "
        "answer_alter_partition b0",
        {"b0.proposal": None, "partition.isr": {0, 2}},
        {"unknown_topics_asked_again": True},
        uncommitted=0,
        controllers=2,
    ),
    fact(
        "testDeltaFollowerRemovedTopic: the broker deletes its log",
        "4.3",
        "delete_topic, read_metadata b1",
        {"b1.topic_id": 1, "b1.view.leader": None, "b1.missing": False},
    ),
    fact(
        "testDeltaLeaderToRemovedTopic: until then it serves whoever has not read it, either",
        "4.3",
        f"{ANEW}, catch_up b0 b1, not commit b0, read_metadata b0, not catch_up b0 b1",
        {"b0.view.topic_id": 1, "b1.view.topic_id": 0},
    ),
    fact(
        "testTopicDeletedAndRecreatedWhileBrokerIsDown",
        "3.7",
        f"{AWAY}, {JOINS}",
        {"partition.isr": {0, 1, 2}, "b1.missing": False},
    ),
    fact(
        "finishInitializingReplicaManager 3.6: the stray log is deleted last, and there is no replica",
        "3.6",
        f"{AWAY}, not catch_up b0 b1, not propose_expansion b0 b1",
        {"partition.isr": {0, 2}, "b1.missing": True},
    ),
    fact(
        "finishInitializingReplicaManager 3.6: the next start makes it",
        "3.6",
        f"{AWAY}, crash b1, start b1, read_metadata b1, unfence b1, {JOINS}",
        {"partition.isr": {0, 1, 2}, "b1.missing": False},
    ),
    fact(
        "finishInitializingReplicaManager 3.6: so does a topic that is created after the start",
        "3.6",
        "crash b1, fence b1, delete_topic, start b1, read_metadata b1, create_topic b0, read_metadata b1",
        {"b1.missing": False, "b1.topic_id": 1},
    ),
    fact(
        "getOrCreatePartition since KAFKA-16157: a new topic gets a log in another directory",
        "4.3",
        f"fail_directory b0, {ANEW}, read_metadata b0, not take_out_failed_directory b0",
        {"b0.directory_failed": False, "partition.leader": 0},
    ),
    fact(
        "testUnregister: it is no longer there",
        "4.3",
        "unregister_broker b1, not unregister_broker b1, not send_heartbeat b1, not unfence b1, not fence b1",
        {"r1.standing": "not registered", "partition.isr": {0, 2}, "partition.leader_epoch": 0},
    ),
    fact(
        "testUnregisterBroker: another one leads",
        "4.3",
        "unregister_broker b0",
        {"partition.leader": 1, "partition.isr": {1, 2}, "partition.leader_epoch": 1},
    ),
    fact(
        "handleBrokerUnregistered: below min.insync.replicas it is eligible, and nobody leads",
        "4.3",
        f"{ALL_DOWN}, unregister_broker b2",
        {"partition.leader": None, "partition.elr": {2}, "r2.standing": "not registered"},
    ),
    fact(
        "checkBrokerEpoch: a broker that runs is not let go",
        "4.3",
        "begin_shutdown b1, unregister_broker b1, not grant_shutdown b1, not stop b1",
        {"b1.running": True},
    ),
    fact(
        "registerBroker: it registers anew when it starts",
        "4.3",
        "unregister_broker b1, crash b1, start b1, read_metadata b1, unfence b1",
        {"r1.standing": "unfenced", "r1.broker_epoch": 1},
    ),
    fact(
        "registerBroker: a known shutdown in order keeps eligibility",
        "4.3",
        f"{STOPS}, start b1",
        {"partition.elr": {1}},
        min_isr=3,
    ),
    fact(
        "registerBroker: storedBrokerEpoch is -2, and the same shutdown counts as a crash",
        "4.3",
        f"{STOPS}, unregister_broker b1, start b1",
        {"partition.elr": set()},
        min_isr=3,
    ),
    fact("electLeader: ELECTION_NOT_NEEDED while anybody leads", "4.3", "not elect_uncleanly", {"partition.leader": 0}),
    fact(
        "testElectUncleanLeaders: ELIGIBLE_LEADERS_NOT_AVAILABLE",
        "4.0",
        f"{ALONE}, not elect_uncleanly",
        {"partition.leader": None, "partition.isr": {0}},
    ),
    fact(
        "testElectUncleanLeaders_WithoutElr: an active replica leads, alone in the ISR, and has to recover",
        "4.0",
        f"{ALONE}, start b1, read_metadata b1, unfence b1, elect_uncleanly",
        {"partition.leader": 1, "partition.isr": {1}, "partition.recovering": True},
    ),
    fact(
        "electAnyLeader: with ELR, too; nobody is eligible any more",
        "4.3",
        f"{ALONE}, start b1, read_metadata b1, unfence b1, elect_uncleanly",
        {"partition.leader": 1, "partition.isr": {1}, "partition.elr": set(), "partition.last_known_leader": None},
    ),
    fact(
        "electLeader: UNKNOWN_TOPIC_OR_PARTITION",
        "4.3",
        "delete_topic, not elect_uncleanly",
        {"partition.leader": None},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kafka)
def test_topics_registrations_and_elections_end_as_operators_ask_kafka(row: Row) -> None:
    row.check()
