"""The properties of the model of the KRaft control plane, in the order in which they are listed."""

from __future__ import annotations

from highwater.invariants.kraft import elections, liveness, operating, safety
from highwater.model.language.definition import Property

KRAFT: tuple[Property, ...] = (
    safety.leaders_are_not_fenced,
    safety.isr_members_are_not_fenced,
    safety.leaders_are_in_the_isr,
    safety.acting_leaders_hold_committed_records,
    safety.committed_records_survive,
    safety.reassignments_keep_enough_copies,
    safety.deposed_controllers_can_revert,
    safety.brokers_lead_by_what_they_have_read,
    safety.registrations_depose_no_controller,
    safety.decisions_are_whole,
    elections.smaller_isrs_begin_no_leader_epoch,
    elections.clean_elections_are_counted_so,
    elections.healthy_leaders_have_successors,
    elections.healthy_leaders_hand_over_cleanly,
    elections.unclean_elections_follow_crashes,
    elections.elections_give_up_no_records,
    liveness.dead_brokers_are_fenced,
    liveness.running_brokers_are_unfenced,
    liveness.controlled_shutdowns_complete,
    liveness.replacements_complete,
    liveness.isr_changes_are_settled,
    liveness.replicas_join_the_isr,
    liveness.leaders_are_found,
    liveness.failed_leaders_are_replaced,
    liveness.preferred_leaders_lead,
    liveness.records_can_be_committed,
    operating.leaders_take_records,
    operating.partitions_stay_led,
    operating.partitions_stay_writable,
    operating.partitions_are_writable_once_all_run,
    operating.reassignments_end,
    operating.reassignments_end_once_all_run,
    operating.reassignments_can_be_cancelled,
    operating.partitions_can_be_led,
)
