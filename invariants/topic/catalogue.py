"""The properties of the model of a topic, in the order in which they are listed."""

from __future__ import annotations

from highwater.invariants.topic import recovery, safety
from highwater.model.language.definition import Property

TOPIC: tuple[Property, ...] = (
    safety.replicas_are_spread_evenly,
    safety.epochs_have_one_leader,
    safety.known_dead_brokers_lead_nothing,
    safety.followers_have_a_fetcher,
    safety.only_known_leaders_are_asked_to_lead,
    safety.dead_threads_have_partitions,
    safety.only_failed_partitions_pause,
    recovery.partitions_can_be_led,
    recovery.replicas_can_be_in_sync,
    recovery.reassignments_can_complete,
    recovery.removed_replicas_can_be_deleted,
    recovery.reassignments_can_be_asked_for,
    recovery.preferred_leaders_can_lead,
)
