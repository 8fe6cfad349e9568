"""The properties of the model of controllers, in the order in which they are listed."""

from __future__ import annotations

from invariants.controller import clients, fencing, in_sync_replicas, records, recovery, state_machines
from model.language.definition import Property

CONTROLLER: tuple[Property, ...] = (
    fencing.one_leader_per_epoch,
    fencing.a_leader_epoch_keeps_its_leader,
    in_sync_replicas.leader_is_in_isr,
    in_sync_replicas.isr_within_assignment,
    in_sync_replicas.known_dead_brokers_leave_the_isr,
    in_sync_replicas.brokers_that_shut_down_stay_out_of_the_isr,
    in_sync_replicas.running_leaders_keep_leading,
    in_sync_replicas.online_partition_has_live_leader_in_isr,
    fencing.only_the_current_controller_writes,
    fencing.one_controller_per_epoch,
    fencing.stale_requests_change_nothing,
    fencing.known_epochs_never_decrease,
    state_machines.state_machines_make_legal_transitions,
    state_machines.dead_replicas_can_be_declared_ineligible,
    in_sync_replicas.elections_are_clean,
    in_sync_replicas.reassignments_keep_enough_copies,
    in_sync_replicas.reassignments_complete_with_the_target_assigned_and_in_sync,
    records.isr_members_hold_committed_records,
    records.leaders_hold_committed_records,
    clients.brokers_act_on_the_newest_request,
    clients.served_metadata_never_goes_back,
    clients.leaders_coordinate,
    clients.only_leaders_coordinate,
    records.deleted_topics_leave_no_replica,
    records.deleted_records_are_not_served,
    recovery.a_leader_can_act,
    recovery.assigned_brokers_can_take_their_role,
    recovery.deposed_leaders_can_learn_of_their_successor,
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
    recovery.isr_changes_can_be_settled,
    recovery.added_partitions_can_be_settled_without_returns,
)
