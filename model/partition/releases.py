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

from typing import Any

import attrs

from highwater.model.language.definition import Release
from highwater.model.partition.protocol import (
    Acks,
    AheadOfController,
    AlterError,
    CasConflict,
    CheckpointCovers,
    ExpandRequiresCaughtUp,
    FetchResponseChecks,
    Flush,
    FollowerReset,
    HighWatermarkCheckpoint,
    HighWatermarkSet,
    IsrPath,
    LastKnownLeader,
    LeaderChecks,
    OutOfRange,
    OutOfRangeBehind,
    PartitionProtocol,
    PendingPolicy,
    ShrinkStartsEpoch,
    TruncationSkip,
    UncleanElectionSetting,
    WaitsForNonIsr,
)
from highwater.model.partition.truncation_rules import Truncation

KAFKA_0_8_0 = PartitionProtocol(
    truncation=Truncation.HIGH_WATERMARK,
    epoch_entry_on_election=False,
    truncation_skip=TruncationSkip.NEVER,
    epoch_cache_clean_at_end=False,
    out_of_range_policy=OutOfRange.TRUNCATE,
    out_of_range_when_behind=OutOfRangeBehind.TRUNCATE_ALL,
    truncation_lowers_high_watermark=False,
    high_watermark_before_truncation=False,
    fetch_response_checks=FetchResponseChecks.LEADER,
    fetch_sessions_keep_epochs=False,
    fence_fetch=False,
    fence_truncation=False,
    fence_high_watermark=False,
    fence_isr=False,
    fence_offset_lookups=False,
    diverging_fetch_updates_leo=False,
    flush=Flush.ASYNC,
    high_watermark_checkpoint=HighWatermarkCheckpoint.LAGGING,
    high_watermark_checkpoint_covers=CheckpointCovers.KNOWN,
    expand_requires_epoch_start=False,
    expand_requires_fetch_in_epoch=True,
    expand_requires_caught_up=ExpandRequiresCaughtUp.NEVER,
    reset_follower_state=FollowerReset.NEW_EPOCH,
    newer_isr_restarts_epoch=False,
    leader_checks=LeaderChecks.NOTHING,
    controller_rejects_ineligible=False,
    controller_checks_broker_epoch=False,
    shrink_spares_caught_up=False,
    demote_during_shutdown=True,
    leader_snapshot_atomic=True,
    isr_path=IsrPath.ZK_CAS,
    isr_cas=True,
    cas_conflict=CasConflict.SKIP,
    high_watermark_set=HighWatermarkSet.COMMITTED,
    pending_policy=PendingPolicy.SINGLE_INFLIGHT,
    on_alter_error=AlterError.DEFINITE_ONLY,
    inflight_cleared_by_leader_and_isr=False,
    metadata_end_proposals=False,
    duplicate_update_completes=True,
    repeated_change_succeeds=False,
    ahead_of_controller_error=AheadOfController.NOT_CONTROLLER,
    high_watermark_recheck_on_isr_commit=True,
    high_watermark_recheck_on_every_fetch=True,
    high_watermark_waits_for_non_isr=WaitsForNonIsr.NO,
    list_offsets_guard=False,
    effective_min_isr=False,
    high_watermark_requires_min_isr=False,
    elr=False,
    isr_may_be_empty=False,
    removed_leaves_elr=False,
    reassignment_waits_for_all=True,
    unclean_shutdown_removes_from_elr=False,
    last_known_leader=LastKnownLeader.NEVER,
    registering_again_fences=True,
    isr_shrink_bumps_leader_epoch=ShrinkStartsEpoch.BY_CONTROLLER,
    unclean_election_setting=UncleanElectionSetting.ABSENT,
    acks=Acks.ALL,
    unclean_election=True,
    consumer_reads_follower=False,
)
KAFKA_0_8_2 = attrs.evolve(
    KAFKA_0_8_0,
    truncation_skip=TruncationSkip.SAME_LEADER,
    out_of_range_policy=OutOfRange.EXIT,
    high_watermark_checkpoint_covers=CheckpointCovers.ALL,
    cas_conflict=CasConflict.REREAD,
    unclean_election_setting=UncleanElectionSetting.READ,
)
KAFKA_0_9_0_0 = attrs.evolve(KAFKA_0_8_2, reset_follower_state=FollowerReset.NEW_LEADER)
KAFKA_0_9_0_1 = attrs.evolve(KAFKA_0_9_0_0, out_of_range_when_behind=OutOfRangeBehind.KEEP)
KAFKA_0_10_2 = attrs.evolve(KAFKA_0_9_0_1, high_watermark_waits_for_non_isr=WaitsForNonIsr.ANY_RECENT)
KAFKA_0_11 = attrs.evolve(KAFKA_0_10_2, truncation=Truncation.EPOCH_101, unclean_election=False)
KAFKA_2_0_0 = attrs.evolve(KAFKA_0_11, truncation=Truncation.EPOCH_279)
KAFKA_2_0_1 = attrs.evolve(
    KAFKA_2_0_0,
    epoch_entry_on_election=True,
    truncation_skip=TruncationSkip.SAME_LEADER_NEXT_EPOCH,
    out_of_range_policy=OutOfRange.TRUNCATE,
    expand_requires_epoch_start=True,
)
KAFKA_2_1 = attrs.evolve(
    KAFKA_2_0_1,
    truncation_skip=TruncationSkip.NEVER,
    fence_fetch=True,
    fence_truncation=True,
    fence_high_watermark=True,
    fence_isr=True,
    fence_offset_lookups=True,
    shrink_spares_caught_up=True,
)
KAFKA_2_2 = attrs.evolve(KAFKA_2_1, list_offsets_guard=True)
KAFKA_2_4 = attrs.evolve(KAFKA_2_2, truncation_lowers_high_watermark=True, high_watermark_recheck_on_every_fetch=False)
KAFKA_2_5 = attrs.evolve(KAFKA_2_4, fetch_sessions_keep_epochs=True)
KAFKA_2_6_1 = attrs.evolve(KAFKA_2_5, epoch_cache_clean_at_end=True)
KAFKA_2_7 = attrs.evolve(
    KAFKA_2_6_1,
    isr_path=IsrPath.ZK_ALTER_PARTITION,
    high_watermark_set=HighWatermarkSet.MAXIMAL,
    inflight_cleared_by_leader_and_isr=True,
    duplicate_update_completes=False,
    repeated_change_succeeds=True,
    high_watermark_recheck_on_isr_commit=False,
)
KAFKA_2_7_2 = attrs.evolve(KAFKA_2_7, duplicate_update_completes=True)
KAFKA_2_8_0_ZOOKEEPER = attrs.evolve(
    KAFKA_2_7,
    truncation=Truncation.ON_FETCH,
    high_watermark_before_truncation=True,
    fetch_response_checks=FetchResponseChecks.NONE,
    diverging_fetch_updates_leo=True,
)
FIXES_OF_2_8_1: dict[str, Any] = {
    "fetch_response_checks": FetchResponseChecks.LEADER,
    "diverging_fetch_updates_leo": False,
    "duplicate_update_completes": True,
}
KAFKA_2_8_1_ZOOKEEPER = attrs.evolve(KAFKA_2_8_0_ZOOKEEPER, **FIXES_OF_2_8_1)
WITH_KRAFT: dict[str, Any] = {
    "reassignment_waits_for_all": False,
    "isr_path": IsrPath.ALTER_PARTITION,
    "repeated_change_succeeds": False,
    "registering_again_fences": False,
    "metadata_end_proposals": True,
    "demote_during_shutdown": False,
    "unclean_election_setting": UncleanElectionSetting.IGNORED,
}
WITH_ZOOKEEPER: dict[str, Any] = {
    "reassignment_waits_for_all": True,
    "isr_path": IsrPath.ZK_ALTER_PARTITION,
    "repeated_change_succeeds": True,
    "registering_again_fences": True,
    "newer_isr_restarts_epoch": False,
    "metadata_end_proposals": False,
    "demote_during_shutdown": True,
    "unclean_election_setting": UncleanElectionSetting.READ,
    "controller_checks_broker_epoch": False,
    "ahead_of_controller_error": AheadOfController.NOT_CONTROLLER,
    "isr_shrink_bumps_leader_epoch": ShrinkStartsEpoch.BY_CONTROLLER,
    "last_known_leader": LastKnownLeader.NEVER,
}
KAFKA_2_8_0 = attrs.evolve(KAFKA_2_8_0_ZOOKEEPER, ahead_of_controller_error=AheadOfController.FENCED, **WITH_KRAFT)
KAFKA_2_8_1 = attrs.evolve(KAFKA_2_8_0, **FIXES_OF_2_8_1)
KAFKA_3_0 = attrs.evolve(
    KAFKA_2_8_1,
    newer_isr_restarts_epoch=True,
    isr_shrink_bumps_leader_epoch=ShrinkStartsEpoch.ALWAYS,
    inflight_cleared_by_leader_and_isr=False,
)
KAFKA_3_1 = attrs.evolve(KAFKA_3_0, high_watermark_recheck_on_isr_commit=True)
KAFKA_3_3 = attrs.evolve(
    KAFKA_3_1,
    newer_isr_restarts_epoch=False,
    leader_checks=LeaderChecks.STANDING,
    controller_rejects_ineligible=True,
    ahead_of_controller_error=AheadOfController.NOT_CONTROLLER,
)
KAFKA_3_3_2 = attrs.evolve(KAFKA_3_3, demote_during_shutdown=True)
KAFKA_3_4_1 = attrs.evolve(KAFKA_3_3_2, high_watermark_before_truncation=False)
KAFKA_3_5 = attrs.evolve(
    KAFKA_3_4_1,
    leader_checks=LeaderChecks.BROKER_EPOCH,
    controller_checks_broker_epoch=True,
    leader_snapshot_atomic=False,
)
KAFKA_3_6 = attrs.evolve(
    KAFKA_3_5,
    high_watermark_waits_for_non_isr=WaitsForNonIsr.ELIGIBLE_ONLY,
    isr_shrink_bumps_leader_epoch=ShrinkStartsEpoch.NEVER,
)
KAFKA_3_7 = attrs.evolve(
    KAFKA_3_6,
    leader_snapshot_atomic=True,
    effective_min_isr=True,
    high_watermark_requires_min_isr=True,
    last_known_leader=LastKnownLeader.UNCHECKED,
)
KAFKA_3_8 = attrs.evolve(KAFKA_3_7, reassignment_waits_for_all=True)
KAFKA_3_9_0 = attrs.evolve(KAFKA_3_8, unclean_election_setting=UncleanElectionSetting.READ)
KAFKA_3_9_1 = attrs.evolve(KAFKA_3_9_0, fetch_response_checks=FetchResponseChecks.LEADER_EPOCH)
KAFKA_4_0_0 = attrs.evolve(KAFKA_3_9_0, registering_again_fences=True)
KAFKA_4_0_1 = attrs.evolve(KAFKA_4_0_0, fetch_response_checks=FetchResponseChecks.LEADER_EPOCH)
KAFKA_4_1 = attrs.evolve(
    KAFKA_4_0_1,
    elr=True,
    isr_may_be_empty=True,
    unclean_shutdown_removes_from_elr=True,
    last_known_leader=LastKnownLeader.ACTIVE,
)

REPAIRED = attrs.evolve(
    KAFKA_4_1, reset_follower_state=FollowerReset.NEW_EPOCH, metadata_end_proposals=False, removed_leaves_elr=True
)


def in_zookeeper_mode(
    protocol: PartitionProtocol, leader_checks: LeaderChecks = LeaderChecks.ALIVE
) -> PartitionProtocol:
    """The same release with ZooKeeper: its controller and what its brokers are sent, not what they do with each other.

    Since 3.3 a leader checks that a follower is alive: more it does not learn of it.
    """
    return attrs.evolve(protocol, leader_checks=leader_checks, **WITH_ZOOKEEPER)


PRESETS_OF_RELEASES = {
    "kafka-0.8.0": ("0.8.0", "zookeeper", KAFKA_0_8_0),
    "kafka-0.8.2": ("0.8.2.0", "zookeeper", KAFKA_0_8_2),
    "kafka-0.9.0.0": ("0.9.0.0", "zookeeper", KAFKA_0_9_0_0),
    "kafka-0.9.0.1": ("0.9.0.1", "zookeeper", KAFKA_0_9_0_1),
    "kafka-0.10.2": ("0.10.2.0", "zookeeper", KAFKA_0_10_2),
    "kafka-0.11": ("0.11.0.0", "zookeeper", KAFKA_0_11),
    "kafka-2.0.0": ("2.0.0", "zookeeper", KAFKA_2_0_0),
    "kafka-2.0.1": ("2.0.1", "zookeeper", KAFKA_2_0_1),
    "kafka-2.1": ("2.1.0", "zookeeper", KAFKA_2_1),
    "kafka-2.2": ("2.2.0", "zookeeper", KAFKA_2_2),
    "kafka-2.4": ("2.4.0", "zookeeper", KAFKA_2_4),
    "kafka-2.5": ("2.5.0", "zookeeper", KAFKA_2_5),
    "kafka-2.6.1": ("2.6.1", "zookeeper", KAFKA_2_6_1),
    "kafka-2.7": ("2.7.0", "zookeeper", KAFKA_2_7),
    "kafka-2.7.2": ("2.7.2", "zookeeper", KAFKA_2_7_2),
    "kafka-2.8.0-zookeeper": ("2.8.0", "zookeeper", KAFKA_2_8_0_ZOOKEEPER),
    "kafka-2.8.0": ("2.8.0", "kraft", KAFKA_2_8_0),
    "kafka-2.8.1-zookeeper": ("2.8.1", "zookeeper", KAFKA_2_8_1_ZOOKEEPER),
    "kafka-2.8.1": ("2.8.1", "kraft", KAFKA_2_8_1),
    "kafka-3.0-zookeeper": ("3.0.0", "zookeeper", in_zookeeper_mode(KAFKA_3_0, LeaderChecks.NOTHING)),
    "kafka-3.0": ("3.0.0", "kraft", KAFKA_3_0),
    "kafka-3.1-zookeeper": ("3.1.0", "zookeeper", in_zookeeper_mode(KAFKA_3_1, LeaderChecks.NOTHING)),
    "kafka-3.1": ("3.1.0", "kraft", KAFKA_3_1),
    "kafka-3.3-zookeeper": ("3.3.0", "zookeeper", in_zookeeper_mode(KAFKA_3_3)),
    "kafka-3.3": ("3.3.0", "kraft", KAFKA_3_3),
    "kafka-3.3.2": ("3.3.2", "kraft", KAFKA_3_3_2),
    "kafka-3.4.1-zookeeper": ("3.4.1", "zookeeper", in_zookeeper_mode(KAFKA_3_4_1)),
    "kafka-3.4.1": ("3.4.1", "kraft", KAFKA_3_4_1),
    "kafka-3.5-zookeeper": ("3.5.0", "zookeeper", in_zookeeper_mode(KAFKA_3_5)),
    "kafka-3.5": ("3.5.0", "kraft", KAFKA_3_5),
    "kafka-3.6-zookeeper": ("3.6.0", "zookeeper", in_zookeeper_mode(KAFKA_3_6)),
    "kafka-3.6": ("3.6.0", "kraft", KAFKA_3_6),
    "kafka-3.7-zookeeper": ("3.7.0", "zookeeper", in_zookeeper_mode(KAFKA_3_7)),
    "kafka-3.7": ("3.7.0", "kraft", KAFKA_3_7),
    "kafka-3.8": ("3.8.0", "kraft", KAFKA_3_8),
    "kafka-3.9.0": ("3.9.0", "kraft", KAFKA_3_9_0),
    "kafka-3.9.1-zookeeper": ("3.9.1", "zookeeper", in_zookeeper_mode(KAFKA_3_9_1)),
    "kafka-3.9.1": ("3.9.1", "kraft", KAFKA_3_9_1),
    "kafka-4.0.0": ("4.0.0", "kraft", KAFKA_4_0_0),
    "kafka-4.0.1": ("4.0.1", "kraft", KAFKA_4_0_1),
    "kafka-4.1": ("4.1.0", "kraft", KAFKA_4_1),
}
PRESETS = {**{name: protocol for name, (_, _, protocol) in PRESETS_OF_RELEASES.items()}, "repaired": REPAIRED}
RELEASES = {name: Release(first, mode) for name, (first, mode, _) in PRESETS_OF_RELEASES.items()}
LAST_RELEASES = {"zookeeper": "3.9", "kraft": "4.4"}
