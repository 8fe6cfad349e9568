"""The properties of the public specifications of replication under KRaft, in the order in which they are listed."""

from __future__ import annotations

from highwater.invariants.kraft_reference import liveness, safety
from highwater.model.language.definition import Property

KRAFT: tuple[Property, ...] = (
    safety.leader_completeness_property,
    safety.leader_candidate_completeness_property,
    safety.replication_quorum_superset_property,
    safety.log_matching_property,
    safety.metadata_log_matching_property,
    safety.consistent_read_property,
    safety.no_committed_record_lost_globally,
    safety.valid_broker_state,
    safety.valid_replica_state,
    safety.valid_fetcher_state,
    safety.valid_controller_state,
    safety.valid_controller_isr_and_elr,
    safety.min_isr_recovery_quorum,
    liveness.eventually_runs,
    liveness.eventually_unfenced,
    liveness.alter_partition_epoch_eventually_reached_or_zero,
    liveness.eventually_metadata_converges,
    liveness.eventually_write_is_accepted_or_rejected,
    liveness.eventually_acknowledged_value_fully_replicated,
    liveness.eventually_reassignment_completes,
)
