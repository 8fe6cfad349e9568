"""The properties by name, for each class of states."""

from __future__ import annotations

from invariants import controller, recovery, reference
from invariants.partition import agreement, clients, records
from model.controller.state import Cluster as ControllerCluster
from model.domain import Invariant, Prospect, StepProperty
from model.partition.state import Partition
from model.reference.async_isr import Agreement
from model.reference.state import Cluster

PROPERTIES: dict[type, tuple[Invariant | StepProperty | Prospect, ...]] = {
    Cluster: (
        reference.weak_isr,
        reference.strong_isr,
        reference.leader_in_isr,
        reference.elected_leader_in_isr,
        reference.high_watermark_within_log,
        reference.leader_epochs_never_decrease_along_a_log,
        reference.records_are_unique_within_a_log,
        reference.same_offset_and_epoch_mean_same_record,
    ),
    Partition: (
        records.exposed_records_survive,
        records.acknowledged_records_survive,
        records.candidates_are_complete,
        records.own_isr_is_complete,
        records.logs_agree_below_high_watermarks,
        records.epochs_tell_records_apart,
        records.followers_do_not_diverge,
        records.who_is_passed_keeps_no_foreign_records,
        agreement.commits_wait_for_every_candidate,
        agreement.one_leader_per_epoch,
        agreement.stale_leaders_expose_nothing,
        records.isr_members_keep_what_is_committed,
        clients.end_offset_never_goes_back,
        clients.reads_are_repeatable,
        records.checkpoints_never_forget,
        records.high_watermark_is_within_the_log,
        records.what_is_below_a_high_watermark_is_committed,
        agreement.isr_is_valid,
        agreement.somebody_can_be_waited_for,
        records.acknowledged_records_are_somewhere,
        agreement.no_broker_halts,
        clients.refused_records_are_not_exposed,
    ),
    Agreement: (reference.valid_high_watermark,),
    ControllerCluster: (
        controller.one_leader_per_epoch,
        controller.leader_is_in_isr,
        controller.isr_within_assignment,
        controller.known_dead_brokers_leave_the_isr,
        controller.online_partition_has_live_leader_in_isr,
        controller.only_the_current_controller_writes,
        controller.one_controller_per_epoch,
        controller.stale_requests_change_nothing,
        controller.known_epochs_never_decrease,
        controller.machines_take_declared_edges,
        controller.dead_replicas_can_be_declared_ineligible,
        controller.elections_are_clean,
        controller.reassignments_keep_enough_copies,
        controller.isr_members_hold_committed_records,
        controller.leaders_hold_committed_records,
        controller.brokers_are_what_they_were_told,
        controller.served_metadata_never_goes_back,
        controller.deleted_topics_leave_no_replica,
        controller.deleted_records_are_not_served,
        recovery.a_leader_can_act,
        recovery.assigned_brokers_can_take_their_role,
        recovery.assigned_brokers_can_join_the_isr,
        recovery.unassigned_brokers_can_leave_the_isr,
        recovery.unassigned_brokers_can_drop_their_replica,
        recovery.reassignment_can_complete,
        recovery.reassignment_can_complete_without_returns,
        recovery.deletion_can_complete,
        recovery.deletion_can_complete_without_returns,
        recovery.metadata_can_converge,
        recovery.metadata_can_converge_without_returns,
        recovery.a_controller_can_act,
    ),
}
