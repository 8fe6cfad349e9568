"""Brokers of two releases, and metadata versions that are older than the software, as one-line stories."""

from __future__ import annotations

import pytest

from highwater.model.kraft.protocol import OlderBrokers
from tests.model.kraft.story import Row
from tests.model.kraft.test_registrations import LEAVES, fact
from tests.model.kraft.test_requests import ASKED

STALE = f"{ASKED}, crash b1, start b1, read_metadata b1, unfence b1, answer_alter_partition b0"
UNRECORDED = {"shutdowns_recorded": False}
FETCHING = {"shutdown_stops_fetchers": False}
BACK = "read_metadata b0, read_metadata b1, propose_expansion b1 b0, answer_alter_partition b1"

ROWS = [
    fact(
        "testAlterPartitionShouldRejectBrokersWithStaleEpoch, version 3",
        "4.3",
        STALE,
        {"partition.isr": {0, 2}},
        {"older_brokers": OlderBrokers.NONE},
    ),
    fact(
        "testAlterPartitionShouldRejectBrokersWithStaleEpoch, version 2: the leader is older",
        "4.3",
        STALE,
        {"partition.isr": {0, 1, 2}, "r1.broker_epoch": 2},
        {"older_brokers": OlderBrokers.FIRST},
    ),
    fact(
        "isBrokerEpochIsrEligible: the follower is older",
        "4.3",
        STALE,
        {"partition.isr": {0, 1, 2}},
        {"older_brokers": OlderBrokers.SECOND},
    ),
    fact(
        "ineligibleReplicasForIsr: that a member is fenced is found out whatever the request says",
        "4.3",
        "crash b1, start b1, read_metadata b1, read_metadata b0, propose_expansion b0 b1, answer_alter_partition b0",
        {"partition.isr": {0, 2}},
        {"older_brokers": OlderBrokers.FIRST},
    ),
    fact(
        "testProcessBrokerHeartbeatInControlledShutdown, IBP_3_3_IV2: the partitions have records alone",
        "3.8",
        LEAVES,
        {"partition.leader": 1, "partition.isr": {1, 2}, "r0.standing": "unfenced", "heartbeats.leaving": {0}},
        UNRECORDED,
    ),
    fact(
        "testProcessBrokerHeartbeatInControlledShutdown, IBP_3_3_IV3: so has the broker",
        "3.8",
        LEAVES,
        {"r0.standing": "in controlled shutdown", "heartbeats.leaving": {0}},
    ),
    fact(
        "applyLocalFollowersDelta 3.2.3, IBP_3_3_IV2: who is in controlled shutdown joins the ISR again",
        "3.8",
        f"{LEAVES}, {BACK}",
        {"partition.isr": {0, 1, 2}},
        UNRECORDED | FETCHING,
    ),
    fact(
        "alterPartition, IBP_3_3_IV3: it does not",
        "3.8",
        f"{LEAVES}, {BACK}",
        {"partition.isr": {1, 2}},
        FETCHING,
    ),
    fact(
        "testReplicasAreStoppedWhileInControlledShutdown 3.3.0: it does not fetch",
        "3.8",
        f"{LEAVES}, read_metadata b1, read_metadata b0, not catch_up b1 b0, not propose_expansion b1 b0",
        {"b0.fetcher_stopped": True, "b0.view.isr": {1, 2}},
        UNRECORDED,
    ),
    fact(
        "applyLocalFollowersDelta 3.3.0: who has left the ISR before goes on, until it reads of the partition again",
        "3.8",
        "propose_shrink b0 b1, answer_alter_partition b0, read_metadata b1, begin_shutdown b1, read_metadata b1,"
        " catch_up b0 b1, crash b2, fence b2, read_metadata b1, not catch_up b0 b1",
        {"b1.fetcher_stopped": True},
    ),
    fact(
        "applyLocalFollowersDelta 3.3.0: what has no leader is not fetched",
        "3.8",
        "begin_shutdown b1, crash b0, fence b0, crash b2, fence b2, enter_controlled_shutdown b1, read_metadata b1",
        {"partition.leader": None, "partition.isr": {1}, "b1.fetcher_stopped": True},
    ),
    fact(
        "calculateNextBrokerState, IBP_3_3_IV2: it leads again, and no heartbeat changes that",
        "3.8",
        f"{LEAVES}, {BACK}, balance_leaders, read_metadata b2, read_metadata b3, not enter_controlled_shutdown b0,"
        " not grant_shutdown b0",
        {"partition.leader": 0},
        UNRECORDED | FETCHING,
        balancing=1,
    ),
    fact(
        "activate, IBP_3_3_IV2: a new controller begins the controlled shutdown anew",
        "3.8",
        f"{LEAVES}, {BACK}, elect_preferred_leader, fail_over 0, enter_controlled_shutdown b0",
        {"partition.leader": 1, "partition.isr": {1, 2}},
        UNRECORDED | FETCHING,
    ),
    fact(
        "registerBroker 3.7.0: a broker that registers again is fenced, and leads on",
        "3.7",
        "not register_directories b0, upgrade_metadata_version, register_directories b0, not register_directories b0",
        {"r0.standing": "fenced", "partition.leader": 0, "r1.outdated": True},
    ),
    fact(
        "registerBroker 3.7.0: the next heartbeat unfences it",
        "3.7",
        "upgrade_metadata_version, register_directories b0, unfence b0",
        {"r0.standing": "unfenced", "partition.leader_epoch": 0},
    ),
    fact(
        "registerBroker 3.7.1: it is what it was",
        "3.8",
        f"{LEAVES}, upgrade_metadata_version, register_directories b0, register_directories b1",
        {"r0.standing": "in controlled shutdown", "r1.standing": "unfenced"},
    ),
    fact(
        "registerBroker: a new incarnation names its directories at once",
        "4.3",
        "upgrade_metadata_version, crash b1, start b1, not register_directories b1",
        {"r1.outdated": False},
    ),
    fact(
        "testIsOnline 3.7.0: without known directories any will do",
        "4.3",
        "upgrade_metadata_version, crash b0, fence b0",
        {"partition.leader": 1},
    ),
    fact(
        "testIsOnline before 3.7.0: none will do, until a broker restarts",
        "4.0",
        "upgrade_metadata_version, not register_directories b1, crash b0, fence b0, crash b1, fence b1, start b1,"
        " read_metadata b1, unfence b1",
        {"partition.leader": 1, "partition.isr": {1}},
        {"directories_registered_after_upgrade": False},
        replication_factor=2,
    ),
    fact(
        "testIsOnline before 3.7.0: meanwhile nobody leads",
        "4.0",
        "upgrade_metadata_version, crash b0, fence b0",
        {"partition.leader": None, "partition.isr": {1, 2}},
        {"directories_registered_after_upgrade": False},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kafka)
def test_a_cluster_of_two_releases_does_as_kafkas(row: Row) -> None:
    row.check()
