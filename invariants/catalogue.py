"""The properties by name, for each class of states."""

from __future__ import annotations

from invariants import partition, reference
from model.domain import Invariant, StepProperty
from model.partition.state import Partition
from model.reference.async_isr import Agreement
from model.reference.state import Cluster

PROPERTIES: dict[type, tuple[Invariant | StepProperty, ...]] = {
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
    Partition: partition.PROPERTIES,
    Agreement: (reference.valid_high_watermark,),
}
