"""What each release made of the rules: presets, oldest first.

The last preset is the newest release with every flaw repaired that this model finds; a claim about one flaw starts from there and sets
one rule back. Presets of releases are bundles of many flaws: what they violate is not always the flaw that one looks for.

What was read ends with 3.9: `kafka-4.1` is that code with the switches of KIP-966 on, as they are for new clusters from 4.1. The election
of the last known leader (PartitionChangeBuilder#canElectLastKnownLeader, 3.8), for when ISR and ELR are empty, is left out.

Source: the named releases of github.com/apache/kafka.
"""

from __future__ import annotations

import attrs

from model.partition.protocol import (
    Acks,
    AheadOfController,
    AlterError,
    CasConflict,
    CheckpointCovers,
    FetchResponseChecks,
    Flush,
    FollowerReset,
    HighWatermarkCheckpoint,
    HighWatermarkSet,
    IsrPath,
    LeaderChecks,
    OutOfRange,
    OutOfRangeBehind,
    PartitionProtocol,
    PendingPolicy,
    ShrinkStartsEpoch,
    Truncation,
    TruncationSkip,
    WaitsForNonIsr,
)

KAFKA_0_8_0 = PartitionProtocol(
    truncation=Truncation.HIGH_WATERMARK,
    epoch_entry_on_election=False,
    truncation_skip=TruncationSkip.NEVER,
    epoch_cache_clean_at_end=False,
    out_of_range_policy=OutOfRange.EXIT,
    out_of_range_when_behind=OutOfRangeBehind.TRUNCATE_ALL,
    high_watermark_before_truncation=False,
    fetch_response_checks=FetchResponseChecks.LEADER,
    fence_fetch=False,
    fence_truncation=False,
    fence_high_watermark=False,
    fence_isr=False,
    diverging_fetch_updates_leo=False,
    flush=Flush.ASYNC,
    high_watermark_checkpoint=HighWatermarkCheckpoint.LAGGING,
    high_watermark_checkpoint_covers=CheckpointCovers.KNOWN,
    expand_requires_epoch_start=False,
    expand_requires_fetch_in_epoch=True,
    reset_follower_state=FollowerReset.NEW_LEADER,
    newer_isr_restarts_epoch=False,
    leader_checks=LeaderChecks.NOTHING,
    controller_rejects_ineligible=False,
    controller_checks_broker_epoch=False,
    shrink_spares_caught_up=False,
    leader_snapshot_atomic=True,
    isr_path=IsrPath.ZK_CAS,
    isr_cas=True,
    cas_conflict=CasConflict.SKIP,
    high_watermark_set=HighWatermarkSet.COMMITTED,
    pending_policy=PendingPolicy.SINGLE_INFLIGHT,
    on_alter_error=AlterError.DEFINITE_ONLY,
    inflight_cleared_by_leader_and_isr=False,
    duplicate_update_completes=True,
    ahead_of_controller_error=AheadOfController.NOT_CONTROLLER,
    high_watermark_recheck_on_isr_commit=True,
    high_watermark_waits_for_non_isr=WaitsForNonIsr.NO,
    list_offsets_guard=False,
    high_watermark_requires_min_isr=False,
    elr=False,
    isr_may_be_empty=False,
    unclean_shutdown_removes_from_elr=False,
    isr_shrink_bumps_leader_epoch=ShrinkStartsEpoch.BY_CONTROLLER,
    acks=Acks.ALL,
    unclean_election=True,
    consumer_reads_follower=False,
)
KAFKA_0_10_2 = attrs.evolve(
    KAFKA_0_8_0,
    truncation_skip=TruncationSkip.SAME_LEADER,
    out_of_range_when_behind=OutOfRangeBehind.KEEP,
    high_watermark_checkpoint_covers=CheckpointCovers.ALL,
    cas_conflict=CasConflict.REREAD,
    high_watermark_waits_for_non_isr=WaitsForNonIsr.ANY_RECENT,
)
KAFKA_0_11 = attrs.evolve(KAFKA_0_10_2, truncation=Truncation.EPOCH_101, unclean_election=False)
KAFKA_2_0_0 = attrs.evolve(KAFKA_0_11, truncation=Truncation.EPOCH_279)
KAFKA_2_1 = attrs.evolve(
    KAFKA_2_0_0,
    epoch_entry_on_election=True,
    truncation_skip=TruncationSkip.SAME_LEADER_NEXT_EPOCH,
    out_of_range_policy=OutOfRange.TRUNCATE,
    fence_fetch=True,
    fence_truncation=True,
    fence_high_watermark=True,
    fence_isr=True,
    expand_requires_epoch_start=True,
    shrink_spares_caught_up=True,
)
KAFKA_2_2 = attrs.evolve(KAFKA_2_1, list_offsets_guard=True)
KAFKA_2_8_0 = attrs.evolve(
    KAFKA_2_2,
    truncation=Truncation.ON_FETCH,
    epoch_cache_clean_at_end=True,
    high_watermark_before_truncation=True,
    fetch_response_checks=FetchResponseChecks.NONE,
    diverging_fetch_updates_leo=True,
    isr_path=IsrPath.ALTER_PARTITION,
    high_watermark_set=HighWatermarkSet.MAXIMAL,
    inflight_cleared_by_leader_and_isr=True,
    duplicate_update_completes=False,
    high_watermark_recheck_on_isr_commit=False,
)
KAFKA_3_0 = attrs.evolve(
    KAFKA_2_8_0,
    truncation_skip=TruncationSkip.NEVER,
    fetch_response_checks=FetchResponseChecks.LEADER,
    diverging_fetch_updates_leo=False,
    newer_isr_restarts_epoch=True,
    isr_shrink_bumps_leader_epoch=ShrinkStartsEpoch.ALWAYS,
    inflight_cleared_by_leader_and_isr=False,
    duplicate_update_completes=True,
)
KAFKA_3_3 = attrs.evolve(
    KAFKA_3_0,
    newer_isr_restarts_epoch=False,
    leader_checks=LeaderChecks.STANDING,
    controller_rejects_ineligible=True,
    high_watermark_recheck_on_isr_commit=True,
)
KAFKA_3_5 = attrs.evolve(
    KAFKA_3_3,
    high_watermark_before_truncation=False,
    leader_checks=LeaderChecks.BROKER_EPOCH,
    controller_checks_broker_epoch=True,
    leader_snapshot_atomic=False,
)
KAFKA_3_7 = attrs.evolve(
    KAFKA_3_5,
    leader_snapshot_atomic=True,
    high_watermark_waits_for_non_isr=WaitsForNonIsr.ELIGIBLE_ONLY,
    high_watermark_requires_min_isr=True,
    isr_shrink_bumps_leader_epoch=ShrinkStartsEpoch.NEVER,
)
KAFKA_4_1 = attrs.evolve(
    KAFKA_3_7,
    fetch_response_checks=FetchResponseChecks.LEADER_EPOCH,
    elr=True,
    isr_may_be_empty=True,
    unclean_shutdown_removes_from_elr=True,
)

REPAIRED = attrs.evolve(KAFKA_4_1, reset_follower_state=FollowerReset.NEW_EPOCH)

PRESETS = {
    "kafka-0.8.0": KAFKA_0_8_0,
    "kafka-0.10.2": KAFKA_0_10_2,
    "kafka-0.11": KAFKA_0_11,
    "kafka-2.0.0": KAFKA_2_0_0,
    "kafka-2.1": KAFKA_2_1,
    "kafka-2.2": KAFKA_2_2,
    "kafka-2.8.0": KAFKA_2_8_0,
    "kafka-3.0": KAFKA_3_0,
    "kafka-3.3": KAFKA_3_3,
    "kafka-3.5": KAFKA_3_5,
    "kafka-3.7": KAFKA_3_7,
    "kafka-4.1": KAFKA_4_1,
    "repaired": REPAIRED,
}
