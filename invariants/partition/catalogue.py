"""The properties of the model of one partition, in the order in which they are listed."""

from __future__ import annotations

from highwater.invariants.partition import agreement, clients, divergence, liveness, records
from highwater.model.language.definition import Property

PARTITION: tuple[Property, ...] = (
    records.exposed_records_survive,
    records.acknowledged_records_survive,
    records.candidates_are_complete,
    records.own_isr_is_complete,
    divergence.logs_agree_below_high_watermarks,
    divergence.epochs_identify_records,
    divergence.followers_do_not_diverge,
    divergence.batches_are_cut_as_a_whole,
    divergence.overtaken_follower_keeps_no_diverging_records,
    agreement.commits_wait_for_every_candidate,
    agreement.one_leader_per_epoch,
    agreement.stale_leaders_expose_nothing,
    records.isr_members_keep_committed_records,
    clients.end_offset_never_goes_back,
    clients.reads_are_repeatable,
    records.checkpoints_keep_high_watermarks,
    records.high_watermark_is_within_the_log,
    records.leaders_know_a_high_watermark_within_their_log,
    records.records_below_a_high_watermark_are_committed,
    agreement.isr_is_valid,
    agreement.recovering_leaders_are_alone,
    agreement.a_possible_leader_is_known,
    records.acknowledged_records_are_somewhere,
    agreement.no_broker_halts,
    clients.deleted_records_stay_deleted,
    clients.refused_records_are_not_exposed,
    clients.no_record_is_refused_before_the_append,
    clients.no_record_is_refused_after_the_append,
    liveness.high_watermark_reaches_the_log_end,
    liveness.isr_changes_are_resolved,
    liveness.followers_reach_the_log_end,
    liveness.replicas_join_the_isr,
    liveness.producers_find_the_leader,
    liveness.a_leader_is_elected,
    liveness.truncation_ends,
    liveness.lagging_followers_stay_out_of_the_isr,
    liveness.low_watermark_reaches_the_log_start,
)
