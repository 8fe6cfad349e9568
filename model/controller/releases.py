"""The presets: the rules as each release with ZooKeeper has them, oldest first.

A preset stands for its release and for those after it, up to the next preset: releases in between change none of these
rules. It has the rules of a release in the structure of 3.5's code. 0.8.0 and 0.8.1 have no preset: they delete no
topics or no logs, and their controllers take other steps.

`REPAIRED` has every known fix, even those that no release with ZooKeeper got. Leaders write the ISR themselves, as in
most of these releases. A claim about one flaw starts from there and sets one rule back.

Source: the named releases of github.com/apache/kafka.
"""

from __future__ import annotations

import attrs

from highwater.model.controller.protocol import ControllerProtocol, IsrPath
from highwater.model.language.definition import Release
from highwater.model.language.history import History

HISTORY = History("""
broker_checks_controller_epoch True | ReplicaManager#becomeLeaderOrFollower, #stopReplicas
zk_write_fenced False 2.1.0=True | KafkaZkClient#retryRequestsUntilConnected
zombie_learns_epoch False | KafkaController: 0.8.1's ControllerEpochListener is gone
resign_stops_queue False 0.10.2.0=True | ControllerZkListener#isActive
found_self_elected_runs_failover False 0.9.0.0=True | ZkUtils#createEphemeralPathExpectConflictHandleZKBug
leader_and_isr_needs_newer_epoch True | ReplicaManager#becomeLeaderOrFollower
stop_replica_epoch any 2.6.0=newer 3.4.1=newer-or-equal | ReplicaManager#stopReplicas
broker_checks_broker_epoch False 2.2.0=True | KafkaApis#isBrokerEpochStale
deposed_batch_stays False 2.1.0=True | ReplicaStateMachine#handleStateChanges; before, no write is fenced
controller_detects_bounce False 2.2.0=True | KafkaController#processBrokerChange
bounce_updates_partitions True | KafkaController#processBrokerChange, where a bounce is seen at all
registration_keeps_epoch False | KafkaController#processRegisterBrokerAndReelect
last_isr_member leaves-if-unclean 1.1.0=stays | KafkaController#removeReplicaFromIsr
one_expiry_at_a_time True | ReplicaStateMachine#removeReplicasFromIsr
epoch_stored_after_role_change False 2.7.0=True | Partition#makeFollower
follower_notes_epoch_first False 3.6.0=True | Partition#makeFollower; until 2.7 it does not matter
leaving_leader_told True 1.1.0=False 2.1.0=True | PartitionStateMachine#leaderForControlledShutdown
leaving_broker_fetches False | ReplicaManager#makeFollowers
demote_during_shutdown True | ReplicaManager#makeFollowers
stop_replica_ends_coordination False 0.10.1.1=True 0.11.0.0=False 2.4.1=True \
    | KafkaApis#handleStopReplicaRequest: groups, and since 0.11 transactions, too
coordinator_checks_epoch False 2.8.1=True | GroupMetadataManager#maybeUpdateCoordinatorEpoch
coordinator_forgets_epoch False | GroupMetadataManager#maybeUpdateCoordinatorEpoch
isr_path zookeeper 2.7.0=alter-partition | AlterIsrManager
fence_fetch False 2.1.0=True | Partition#localReplicaWithEpochOrException
controller_rejects_ineligible False 3.3.0=True | KafkaController#tryProcessAlterPartition
repeated_change_succeeds False 2.7.0=True | KafkaController#processAlterIsr
ahead_of_controller_error not-controller | KafkaController#tryProcessAlterPartition; until 3.2 the write fails
metadata_follows_epoch_bumps False 2.4.0=True | KafkaController#updateLeaderEpoch
leader_forgets_removed True | Partition#makeLeader
isr_repair_unassigned False 3.0.0=True | Partition#isFollowerOutOfSync
reassignment_order published | KafkaController#onPartitionReassignment
cancel_moves_leader_first False | KafkaController#updateCurrentReassignment
reassignment_requires_alive True 0.10.1.0=False | KafkaController#initiateReassignReplicasForTopicPartition
reassignment_overridable False 2.4.0=True | KafkaController#processApiPartitionReassignment
completion target-in-isr | KafkaController#isReassignmentComplete
offline_to_ineligible_allowed False 2.3.0=True | ReplicaDeletionIneligible#validPreviousStates
failed_deletion_becomes_ineligible True | TopicDeletionManager#failReplicaDeletion
removed_replicas_told True 2.4.0=False | KafkaController#moveReassignedPartitionLeaderIfRequired
deletion_waits_for_reassignment False | KafkaController#processTopicDeletion, #onBrokerStartup
cancel_completes_at_once False 2.4.0=True | KafkaController#isReassignmentComplete
failover_drops_reassignment False 1.1.0=True | KafkaController#maybeTriggerPartitionReassignment
resume_deletion_on_failover True | TopicDeletionManager#start
offline_without_leadership False 2.0.0=True | ReplicaStateMachine#doHandleStateChanges
dead_replica_at_startup ineligible 2.3.0=offline | ReplicaStateMachine#startup
dead_broker_blocks_deletion True | TopicDeletionManager#resumeDeletions
added_partitions_taken_back False 2.0.0=True | KafkaController#restorePartitionReplicaAssignment
topic_ids False 2.8.0=True | ReplicaManager#becomeLeaderOrFollower
stray_replaced False | ReplicaManager#becomeLeaderOrFollower
unclean_election True 0.11.0.0=False | KafkaConfig
election_type_checked True | KafkaController#onReplicaElection
startup_sends_metadata_to_all False 0.9.0.0=True | KafkaController#onBrokerStartup
leader_alive_by_metadata False 0.9.0.0=True | ReplicaManager#makeFollowers
update_metadata False | a choice of the model's, not of a release
live_brokers False | a choice of the model's, not of a release
isr_in_metadata False | a choice of the model's, not of a release
isr_changes_are_noticed False 0.9.0.0=True | ReplicationUtils#propagateIsrChanges
""")
FIRST_RELEASES = {
    "kafka-0.8.2": "0.8.2.0",
    "kafka-0.9": "0.9.0.0",
    "kafka-0.10.1.0": "0.10.1.0",
    "kafka-0.10.1.1": "0.10.1.1",
    "kafka-0.10.2": "0.10.2.0",
    "kafka-0.11": "0.11.0.0",
    "kafka-1.1": "1.1.0",
    "kafka-2.0": "2.0.0",
    "kafka-2.1": "2.1.0",
    "kafka-2.2": "2.2.0",
    "kafka-2.3": "2.3.0",
    "kafka-2.4.0": "2.4.0",
    "kafka-2.4.1": "2.4.1",
    "kafka-2.6": "2.6.0",
    "kafka-2.7": "2.7.0",
    "kafka-2.8.0": "2.8.0",
    "kafka-2.8.1": "2.8.1",
    "kafka-3.0": "3.0.0",
    "kafka-3.3": "3.3.0",
    "kafka-3.4.1": "3.4.1",
    "kafka-3.6": "3.6.0",
}
RELEASES = {name: Release(first, "zookeeper") for name, first in FIRST_RELEASES.items()}
_OF_RELEASES = {name: HISTORY.protocol(ControllerProtocol, release) for name, release in RELEASES.items()}
REPAIRED = attrs.evolve(
    _OF_RELEASES["kafka-3.6"],
    follower_notes_epoch_first=False,
    deposed_batch_stays=False,
    deletion_waits_for_reassignment=True,
    cancel_completes_at_once=False,
    isr_path=IsrPath.ZOOKEEPER,
    cancel_moves_leader_first=True,
    stray_replaced=True,
    coordinator_forgets_epoch=True,
)
PRESETS = {"repaired": REPAIRED, **_OF_RELEASES}
LAST_RELEASES = {"zookeeper": "3.9"}
