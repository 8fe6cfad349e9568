"""Brokers that are fenced, unfenced, registered and shut down, as one-line stories."""

from __future__ import annotations

import pytest

from highwater.model.kraft.protocol import Unfencing
from tests.model.kraft.story import Row

ELR = {"elr": True}
ELIGIBLE = "propose_shrink b0 b1, answer_alter_partition b0, propose_shrink b0 b2, answer_alter_partition b0"
LEAVES = "begin_shutdown b0, enter_controlled_shutdown b0"
ALL_DOWN = "crash b0, fence b0, crash b1, fence b1, crash b2, fence b2"


def fact(kafka: str, preset: str, story: str, expected: dict, rules: dict | None = None, **bounds: int) -> Row:
    return Row(kafka, preset, story, expected, rules or {}, bounds)


ROWS = [
    fact(
        "findOneStaleBroker: a broker that runs keeps its session", "4.3", "not fence b1", {"r1.standing": "unfenced"}
    ),
    fact(
        "handleBrokerFenced: it leaves the ISR, and the leader epoch stays",
        "4.3",
        "crash b1, fence b1, not fence b1",
        {"r1.standing": "fenced", "partition.isr": {0, 2}, "partition.leader_epoch": 0},
    ),
    fact(
        "handleBrokerFenced 3.5: a smaller ISR begins a leader epoch",
        "3.5",
        "crash b1, fence b1",
        {"partition.leader": 0, "partition.leader_epoch": 1},
    ),
    fact(
        "testRemoveLeaderships: the next active replica of the ISR leads",
        "4.3",
        "crash b0, fence b0",
        {"partition.leader": 1, "partition.isr": {1, 2}, "partition.leader_epoch": 1},
    ),
    fact(
        "testFenceMultipleBrokers: one batch each, the second on top of the first",
        "4.3",
        "crash b0, crash b1, not fence_two b0 b1, fence b0, fence b1",
        {"partition.leader": 2, "partition.isr": {2}, "partition.leader_epoch": 2},
    ),
    fact(
        "maybeFenceStaleBrokers 2.8: the second record is made as if the first were not there",
        "3.5",
        "crash b0, crash b1, fence_two b0 b1",
        {"partition.leader": 0, "partition.isr": {0, 2}, "r0.standing": "fenced"},
        {"fences_one_at_a_time": False},
    ),
    fact(
        "testProcessExpiredBrokerHeartbeat: without ELR the last member stays in the ISR",
        "4.0",
        ALL_DOWN,
        {"partition.leader": None, "partition.isr": {2}, "partition.elr": set()},
    ),
    fact(
        "testEligibleLeaderReplicas_BrokerFence: with ELR the last member is eligible, and known as the last leader",
        "4.3",
        ALL_DOWN,
        {"partition.isr": set(), "partition.elr": {2}, "partition.last_known_leader": 2},
    ),
    fact(
        "testEligibleLeaderReplicas_IsrShrinkBelowMinISR: who leaves an ISR below the minimum is eligible",
        "4.3",
        "crash b0, fence b0, crash b1, fence b1",
        {"partition.isr": {2}, "partition.elr": {1}, "partition.leader": 2},
        min_isr=2,
    ),
    fact(
        "testCalculateNextBrokerState: FENCED until it has read its registration",
        "4.3",
        "crash b1, start b1, not unfence b1",
        {"r1.standing": "fenced", "b1.knows_registration": False},
    ),
    fact(
        "testCalculateNextBrokerState: then UNFENCED",
        "4.3",
        "crash b1, start b1, read_metadata b1, unfence b1, not unfence b1",
        {"r1.standing": "unfenced"},
    ),
    fact(
        "calculateNextBrokerState 3.2.3: not before it has read to the end",
        "4.3",
        "crash b1, start b1, read_metadata b1, append_no_op, not unfence b1, read_metadata b1, unfence b1",
        {"r1.standing": "unfenced"},
        {"unfencing": Unfencing.AT_END},
    ),
    fact(
        "calculateNextBrokerState 3.3.0: a newer record does not matter",
        "4.3",
        "crash b1, start b1, read_metadata b1, append_no_op, unfence b1",
        {"r1.standing": "unfenced"},
    ),
    fact(
        "testCalculateNextBrokerState: who leads nothing may shut down at once",
        "4.3",
        "begin_shutdown b1, not enter_controlled_shutdown b1, grant_shutdown b1",
        {"r1.standing": "fenced", "partition.isr": {0, 2}},
    ),
    fact(
        "testProcessBrokerHeartbeatInControlledShutdown: a leader leaves the ISR first",
        "4.3",
        f"begin_shutdown b0, not grant_shutdown b0, {LEAVES.split(', ')[1]}",
        {"r0.standing": "in controlled shutdown", "partition.leader": 1, "partition.isr": {1, 2}},
    ),
    fact(
        "testControlledShutdownOffsetIsOnlyUpdatedOnce: until the active brokers have read so",
        "4.3",
        f"{LEAVES}, read_metadata b1, read_metadata b2, not grant_shutdown b0, read_metadata b3, append_no_op,"
        " not stay_in_controlled_shutdown b0, grant_shutdown b0",
        {"r0.standing": "fenced"},
    ),
    fact(
        "updateControlledShutdownOffset 3.3.1: each heartbeat moves the offset",
        "4.3",
        f"{LEAVES}, read_metadata b1, read_metadata b2, read_metadata b3, append_no_op,"
        " stay_in_controlled_shutdown b0, not grant_shutdown b0",
        {"heartbeats.waits_for.b0": {1, 2, 3}},
        {"shutdown_offset_kept": False},
    ),
    fact(
        "lowestActiveOffset: a fenced broker is not waited for",
        "4.3",
        f"{LEAVES}, read_metadata b1, read_metadata b2, not grant_shutdown b0, crash b3, fence b3, grant_shutdown b0",
        {"r0.standing": "fenced", "b0.running": True},
    ),
    fact(
        "BrokerLifecycleManager: a broker ends once it is let go",
        "4.3",
        "begin_shutdown b1, not stop b1, grant_shutdown b1, stop b1",
        {"b1.running": False, "b1.stopped_cleanly": True},
    ),
    fact(
        "maybeFenceOneStaleBroker: a broker that runs is fenced, and leads on until it reads so",
        "4.3",
        "end_session b0, commit b0, read_metadata b1, not commit b0, not fence b0, not end_session b0",
        {"r0.standing": "fenced", "partition.leader": 1, "b0.view.leader": 0, "b0.serves_fenced": True},
        restarts=0,
    ),
    fact(
        "calculateNextBrokerState: its next heartbeat has it unfenced, whatever it has read since",
        "4.3",
        "end_session b0, unfence b0, end_session b0",
        {"r0.standing": "fenced", "partition.isr": {1, 2}},
    ),
    fact(
        "BrokerServer#startup: a broker that was never unfenced serves nobody after its session has ended",
        "4.3",
        "crash b0, start b0, commit_batch, read_metadata b0, unfence b0, end_session b0",
        {"b0.serves_fenced": False},
        uncommitted=3,
    ),
    fact(
        "BrokerServer#shutdown: after five minutes a broker ends without the controller's approval",
        "4.3",
        f"not end_unapproved b0, {LEAVES}, not grant_shutdown b0, end_unapproved b0",
        {"b0.running": False, "b0.stopped_cleanly": True, "r0.standing": "in controlled shutdown"},
        shutdown_limit=1,
    ),
    fact(
        "testReRegistrationAndBrokerEpoch: a new incarnation has a newer broker epoch and is fenced",
        "4.3",
        "crash b1, start b1",
        {"r1.broker_epoch": 1, "r1.standing": "fenced", "b1.broker_epoch": 1},
    ),
    fact("registerBroker 3.7: it stays in the ISR", "3.7", "crash b1, start b1", {"partition.isr": {0, 1, 2}}),
    fact("registerBroker 3.7: it leads on", "3.7", "crash b0, start b0", {"partition.leader": 0}),
    fact(
        "registerBroker 3.8 without ELR: it stays, too", "3.8", "crash b1, start b1", {"partition.partition_epoch": 0}
    ),
    fact("registerBroker 3.8 with ELR: it leaves", "3.8", "crash b1, start b1", {"partition.isr": {0, 2}}, ELR),
    fact("registerBroker 4.0 without ELR: it leaves", "4.0", "crash b0, start b0", {"partition.leader": 1}),
    fact(
        "testEligibleLeaderReplicas_UncleanShutdown: who was killed is not eligible any more",
        "4.3",
        f"{ELIGIBLE}, crash b1, start b1",
        {"partition.elr": {2}, "partition.isr": {0}},
        min_isr=3,
    ),
    fact(
        "handleBrokerShutdown 4.0: who shut down in order stays eligible",
        "4.3",
        f"{ELIGIBLE}, begin_shutdown b1, grant_shutdown b1, stop b1, start b1",
        {"partition.elr": {1, 2}, "b1.stopped_cleanly": False},
        min_isr=3,
    ),
    fact(
        "handleBrokerUncleanShutdown 3.8: a shutdown in order is as bad as a crash",
        "3.8",
        f"{ELIGIBLE}, begin_shutdown b1, grant_shutdown b1, stop b1, start b1",
        {"partition.elr": {2}},
        ELR,
        min_isr=3,
    ),
    fact(
        "testHandleDirectoriesOffline: a leader without its directory leads no more, and stays unfenced",
        "4.3",
        "fail_directory b0, take_out_failed_directory b0, not take_out_failed_directory b0",
        {"partition.leader": 1, "partition.isr": {1, 2}, "r0.standing": "unfenced"},
    ),
    fact(
        "testHasOnlineDir: who has lost its directory is not elected",
        "4.3",
        "fail_directory b1, take_out_failed_directory b1, crash b0, fence b0",
        {"partition.leader": 2},
    ),
    fact(
        "handleAssignReplicasToDirs 4.1: nobody is eligible any more, whoever moves its replica",
        "4.1",
        f"{ELIGIBLE}, assign_directory b2",
        {"partition.elr": set(), "partition.isr": {0}, "partition.leader": 0, "partition.leader_epoch": 0},
        min_isr=3,
    ),
    fact(
        "handleAssignReplicasToDirs 4.1: the last known leader stays",
        "4.1",
        f"{ALL_DOWN}, start b0, read_metadata b0, assign_directory b0",
        {"partition.elr": set(), "partition.last_known_leader": 2, "partition.leader": None},
    ),
    fact(
        "handleAssignReplicasToDirs 4.3: who was eligible stays so, and a partition epoch begins",
        "4.3",
        f"{ELIGIBLE}, assign_directory b0",
        {"partition.elr": {1, 2}, "partition.partition_epoch": 3},
        min_isr=3,
    ),
    fact(
        "handleAssignReplicasToDirs: from who is registered, be it fenced, and has a replica in a directory that works",
        "4.3",
        "not assign_directory b3, crash b1, not assign_directory b1, start b1, not assign_directory b1, "
        "read_metadata b1, assign_directory b1, fail_directory b0, not assign_directory b0, unregister_broker b2, "
        "not assign_directory b2",
        {"r1.standing": "fenced"},
    ),
    fact(
        "handleAssignReplicasToDirs before metadata version 3.7: there is none",
        "3.6",
        "not assign_directory b0",
        {"partition.partition_epoch": 0},
    ),
    fact(
        "directories before metadata version 3.7: nobody learns of it",
        "3.6",
        "fail_directory b0, not take_out_failed_directory b0",
        {"partition.leader": 0},
    ),
    fact(
        "getOrCreatePartition 3.7.0: a record of the partition brings an empty log",
        "3.7",
        "crash b2, fence b2, fail_directory b0, read_metadata b0",
        {"b0.directory_failed": False, "b0.complete": False},
    ),
    fact(
        "getOrCreatePartition 3.7.0: what is no record of the partition does not",
        "3.7",
        "fail_directory b0, read_metadata b0",
        {"b0.directory_failed": True},
    ),
    fact(
        "getOrCreatePartition 3.7.1: the replica stays offline",
        "3.8",
        "crash b2, fence b2, fail_directory b0, read_metadata b0, not propose_shrink b0 b1",
        {"b0.directory_failed": True},
    ),
    fact(
        "activate: a new controller expects heartbeats of everybody",
        "4.3",
        "crash b1, fail_over 0, fence b1",
        {"partition.isr": {0, 2}},
    ),
    fact(
        "activate with KAFKA-18138: it expects them of whom it has heard",
        "4.3",
        "crash b1, fail_over 0, not fence b1, send_heartbeat b2, crash b2, fence b2",
        {"heartbeats.contacted": {2}, "partition.isr": {0, 1}},
        {"new_controller_expects_heartbeats": False},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kafka)
def test_a_broker_is_registered_as_by_kafka(row: Row) -> None:
    row.check()
