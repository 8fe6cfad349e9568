"""The presets: the rules as each release has them, oldest first.

The last preset is the newest release with every flaw fixed that this model finds. A claim about one flaw starts from
there and sets one rule back. A release has many flaws, so that a claim on its preset may find another flaw than the one
that it is about.

A preset stands for its release and for those after it, up to the next preset: releases in between change none of these
rules. `tests/model/kafka_releases.py` has all releases with the preset of each. `kafka-4.1` has KIP-966 enabled, as new
clusters have it from 4.1 on; 4.2 to 4.4 change no rule. 2.7.2 is younger than 2.8.0, and 3.9.1 than 4.0.0: each has a
fix that the other lacks. In 2.8 KRaft was early access. The newest ZooKeeper mode is that of 3.9.1.

Source: the named releases of github.com/apache/kafka, all of them compared with the next.
"""

from __future__ import annotations

import attrs

from highwater.model.language.definition import Release
from highwater.model.language.history import History
from highwater.model.partition.protocol import FollowerReset, PartitionProtocol

HISTORY = History("""
truncation high-watermark 0.11.0.0=epoch-101 2.0.0=epoch-279 2.8.0=on-fetch | AbstractFetcherThread#maybeTruncate
epoch_entry_on_election False 2.0.1=True | Partition#makeLeader
truncation_skip never 0.8.2.0=same-leader 2.0.1=same-leader-next-epoch 2.1.0=never | Partition#makeFollower
epoch_cache_clean_at_end False 2.6.1=True | Log#truncateTo
out_of_range_policy truncate 0.8.2.0=exit 2.0.1=truncate | ReplicaFetcherThread#handleOffsetOutOfRange
out_of_range_when_behind truncate-all 0.9.0.1=keep | ReplicaFetcherThread#handleOffsetOutOfRange
truncation_lowers_high_watermark False 2.4.0=True | Log#truncateTo
high_watermark_before_truncation False 2.8.0=True 3.4.1=False | AbstractFetcherThread#processFetchRequest
fetch_response_checks leader 2.8.0=none 2.8.1=leader 3.9.1=leader-epoch 4.0.0=leader 4.0.1=leader-epoch \
    | AbstractFetcherThread#processFetchRequest, #maybeTruncateToEpochEndOffsets
fetch_sessions_keep_epochs False 2.5.0=True | CachedPartition#reqData
fence_fetch False 2.1.0=True | Partition#localReplicaWithEpochOrException
fence_truncation False 2.1.0=True | Partition#lastOffsetForLeaderEpoch
fence_high_watermark False 2.1.0=True | Partition#localReplicaWithEpochOrException
fence_isr False 2.1.0=True | Partition#localReplicaWithEpochOrException
fence_offset_lookups False 2.1.0=True | ReplicaFetcherThread#fetchOffsetFromLeader
diverging_fetch_updates_leo False 2.8.0=True 2.8.1=False \
    | ReplicaManager#updateFollowerFetchState: 2.7.2 has the check, too, but its followers diverge in no fetch
flush async | LogConfig
high_watermark_checkpoint lagging | ReplicaManager#checkpointHighWatermarks
high_watermark_checkpoint_covers known 0.8.2.0=all | ReplicaManager#makeFollowers
expand_requires_epoch_start False 2.0.1=True | Partition#maybeExpandIsr
expand_requires_fetch_in_epoch True | Partition#maybeExpandIsr
expand_requires_caught_up never | Partition#isFollowerInSync
reset_follower_state new-epoch 0.9.0.0=new-leader | Partition#makeLeader, KAFKA-2721
newer_isr_restarts_epoch/zookeeper False \
    | LeaderAndIsr of an equal leader epoch is ignored: ReplicaManager#becomeLeaderOrFollower
newer_isr_restarts_epoch/kraft False 3.0.0=True 3.3.0=False | Partition#makeLeader
leader_checks/zookeeper nothing 3.3.0=alive | Partition#isReplicaIsrEligible
leader_checks/kraft nothing 3.3.0=standing 3.5.0=broker-epoch | Partition#isReplicaIsrEligible
controller_rejects_ineligible False 3.3.0=True | ReplicationControlManager#validateAlterPartitionData
controller_checks_broker_epoch/zookeeper False | KafkaController#tryProcessAlterPartition
controller_checks_broker_epoch/kraft False 3.5.0=True | ReplicationControlManager#ineligibleReplicasForIsr
shrink_spares_caught_up False 2.1.0=True | Partition#getOutOfSyncReplicas
demote_during_shutdown/zookeeper True | ReplicaManager#makeFollowers
demote_during_shutdown/kraft False 3.3.2=True | BrokerServer#shutdown, ReplicaManager#applyLocalFollowersDelta
leader_snapshot_atomic True 3.5.0=False 3.7.0=True | Replica#updateFetchStateOrThrow
isr_path/zookeeper zk-cas 2.7.0=zk-alter-partition | AlterIsrManager
isr_path/kraft alter-partition | ReplicationControlManager#alterIsr
isr_cas True | ZkUtils#conditionalUpdatePersistentPath, ReplicationControlManager#alterIsr
cas_conflict skip 0.8.2.0=reread | ReplicationUtils#checkLeaderAndIsrZkData
high_watermark_set committed 2.7.0=maximal | Partition#maybeIncrementLeaderHW
pending_policy single-inflight | Partition#maybeExpandIsr
on_alter_error definite-only | Partition#handleAlterIsrResponse
inflight_cleared_by_leader_and_isr False 2.7.0=True 3.0.0=False | AlterIsrManager#clearPending
metadata_end_proposals/zookeeper False \
    | LeaderAndIsr of an equal leader epoch is ignored: ReplicaManager#becomeLeaderOrFollower
metadata_end_proposals/kraft True | Partition#makeLeader
duplicate_update_completes True 2.7.0=False 2.7.2=True 2.8.0=False 2.8.1=True | Partition#handleAlterIsrResponse
repeated_change_succeeds/zookeeper False 2.7.0=True | KafkaController#processAlterIsr
repeated_change_succeeds/kraft False | ReplicationControlManager#alterIsr
ahead_of_controller_error/zookeeper not-controller | KafkaController#tryProcessAlterPartition
ahead_of_controller_error/kraft fenced 3.3.0=not-controller | ReplicationControlManager#validateAlterPartitionData
high_watermark_recheck_on_isr_commit True 2.7.0=False 3.1.0=True | Partition#handleAlterPartitionUpdate
high_watermark_recheck_on_every_fetch True 2.4.0=False | Partition#updateFollowerFetchState
high_watermark_waits_for_non_isr no 0.10.2.0=any-recent 3.6.0=eligible-only | Partition#maybeIncrementLeaderHW
list_offsets_guard False 2.2.0=True | Partition#fetchOffsetForTimestamp
clients_name_epochs False 2.2.0=True | Metadata#updateLastSeenEpochIfNewer, Partition#checkCurrentLeaderEpoch
effective_min_isr False 3.7.0=True | Partition#effectiveMinIsr
high_watermark_requires_min_isr False 3.7.0=True | Partition#maybeIncrementLeaderHW
elr False 4.1.0=True | EligibleLeaderReplicasVersion#bootstrapMetadataVersion
isr_may_be_empty False 4.1.0=True | PartitionChangeBuilder#build
removed_leaves_elr False | PartitionChangeBuilder#maybePopulateTargetElr
reassignment_waits_for_all/zookeeper True | KafkaController#isReassignmentComplete
reassignment_waits_for_all/kraft False 3.8.0=True | PartitionReassignmentReplicas#maybeCompleteReassignment
unclean_shutdown_removes_from_elr False 4.1.0=True | ReplicationControlManager#handleBrokerShutdown
last_known_leader/zookeeper never | Election#leaderForOffline
last_known_leader/kraft never 3.7.0=unchecked 4.1.0=active | PartitionChangeBuilder#canElectLastKnownLeader
leader_recovers_at_once True | Partition#makeLeader
registering_again_fences/zookeeper True | KafkaController#processBrokerChange
registering_again_fences/kraft False 4.0.0=True | ReplicationControlManager#handleBrokerShutdown
isr_shrink_bumps_leader_epoch/zookeeper by-controller | ReplicaStateMachine#removeReplicasFromIsr
isr_shrink_bumps_leader_epoch/kraft by-controller 3.0.0=always 3.6.0=never \
    | MetadataVersion#isLeaderEpochBumpRequiredOnIsrShrink
unclean_election_setting/zookeeper absent 0.8.2.0=read | OfflinePartitionLeaderSelector#selectLeader
unclean_election_setting/kraft ignored 3.9.0=read | ConfigurationControlManager#uncleanLeaderElectionEnabledForTopic
acks all | ProducerConfig
unclean_election True 0.11.0.0=False | KafkaConfig
consumer_reads_follower False | ReplicaSelector
""")
ZOOKEEPER, KRAFT = "zookeeper", "kraft"
RELEASES = {
    "kafka-0.8.0": Release("0.8.0", ZOOKEEPER),
    "kafka-0.8.2": Release("0.8.2.0", ZOOKEEPER),
    "kafka-0.9.0.0": Release("0.9.0.0", ZOOKEEPER),
    "kafka-0.9.0.1": Release("0.9.0.1", ZOOKEEPER),
    "kafka-0.10.2": Release("0.10.2.0", ZOOKEEPER),
    "kafka-0.11": Release("0.11.0.0", ZOOKEEPER),
    "kafka-2.0.0": Release("2.0.0", ZOOKEEPER),
    "kafka-2.0.1": Release("2.0.1", ZOOKEEPER),
    "kafka-2.1": Release("2.1.0", ZOOKEEPER),
    "kafka-2.2": Release("2.2.0", ZOOKEEPER),
    "kafka-2.4": Release("2.4.0", ZOOKEEPER),
    "kafka-2.5": Release("2.5.0", ZOOKEEPER),
    "kafka-2.6.1": Release("2.6.1", ZOOKEEPER),
    "kafka-2.7": Release("2.7.0", ZOOKEEPER),
    "kafka-2.7.2": Release("2.7.2", ZOOKEEPER),
    "kafka-2.8.0-zookeeper": Release("2.8.0", ZOOKEEPER),
    "kafka-2.8.0": Release("2.8.0", KRAFT),
    "kafka-2.8.1-zookeeper": Release("2.8.1", ZOOKEEPER),
    "kafka-2.8.1": Release("2.8.1", KRAFT),
    "kafka-3.0-zookeeper": Release("3.0.0", ZOOKEEPER),
    "kafka-3.0": Release("3.0.0", KRAFT),
    "kafka-3.1-zookeeper": Release("3.1.0", ZOOKEEPER),
    "kafka-3.1": Release("3.1.0", KRAFT),
    "kafka-3.3-zookeeper": Release("3.3.0", ZOOKEEPER),
    "kafka-3.3": Release("3.3.0", KRAFT),
    "kafka-3.3.2": Release("3.3.2", KRAFT),
    "kafka-3.4.1-zookeeper": Release("3.4.1", ZOOKEEPER),
    "kafka-3.4.1": Release("3.4.1", KRAFT),
    "kafka-3.5-zookeeper": Release("3.5.0", ZOOKEEPER),
    "kafka-3.5": Release("3.5.0", KRAFT),
    "kafka-3.6-zookeeper": Release("3.6.0", ZOOKEEPER),
    "kafka-3.6": Release("3.6.0", KRAFT),
    "kafka-3.7-zookeeper": Release("3.7.0", ZOOKEEPER),
    "kafka-3.7": Release("3.7.0", KRAFT),
    "kafka-3.8": Release("3.8.0", KRAFT),
    "kafka-3.9.0": Release("3.9.0", KRAFT),
    "kafka-3.9.1-zookeeper": Release("3.9.1", ZOOKEEPER),
    "kafka-3.9.1": Release("3.9.1", KRAFT),
    "kafka-4.0.0": Release("4.0.0", KRAFT),
    "kafka-4.0.1": Release("4.0.1", KRAFT),
    "kafka-4.1": Release("4.1.0", KRAFT),
}
PRESETS = {name: HISTORY.protocol(PartitionProtocol, release) for name, release in RELEASES.items()}
REPAIRED = attrs.evolve(
    PRESETS["kafka-4.1"],
    reset_follower_state=FollowerReset.NEW_EPOCH,
    metadata_end_proposals=False,
    removed_leaves_elr=True,
)
PRESETS["repaired"] = REPAIRED
LAST_RELEASES = {"zookeeper": "3.9", "kraft": "4.4"}
