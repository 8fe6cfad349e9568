"""The properties by name, for each class of states."""

from __future__ import annotations

from invariants import reference
from invariants.controller.catalogue import CONTROLLER
from invariants.partition import agreement, clients, records
from model.controller.state import Cluster as ControllerCluster
from model.declarations import Invariant, Prospect, StepProperty
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
    ControllerCluster: CONTROLLER,
}
