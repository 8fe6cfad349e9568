"""The presets: the rules as each release with ZooKeeper has them, oldest first.

A preset stands for its release and for those after it, up to the next preset: releases in between change none of these
rules. It has the rules of a release in the structure of 3.5's code. 0.8.0 and 0.8.1 have no preset: they delete no
topics or no logs, and their controllers take other steps.

`REPAIRED` has every known fix, even those that no release with ZooKeeper got. Leaders write the ISR themselves, as in
most of these releases. A claim about one flaw starts from there and sets one rule back.

Source: the named releases of github.com/apache/kafka.
"""

from __future__ import annotations

import attrs

from highwater.model.controller.protocol import (
    AheadOfController,
    Completion,
    ControllerProtocol,
    DeadReplicaAtStartup,
    IsrPath,
    LastIsrMember,
    ReassignmentOrder,
    StopReplicaEpoch,
)
from highwater.model.language.definition import Release

KAFKA_0_8_2 = ControllerProtocol(
    broker_checks_controller_epoch=True,
    zk_write_fenced=False,
    zombie_learns_epoch=False,
    resign_stops_queue=False,
    found_self_elected_runs_failover=False,
    leader_and_isr_needs_newer_epoch=True,
    stop_replica_epoch=StopReplicaEpoch.ANY,
    broker_checks_broker_epoch=False,
    controller_detects_bounce=False,
    bounce_updates_partitions=True,
    registration_keeps_epoch=False,
    last_isr_member=LastIsrMember.LEAVES_IF_UNCLEAN,
    one_expiry_at_a_time=True,
    epoch_stored_after_role_change=False,
    leaving_leader_told=True,
    leaving_broker_fetches=False,
    demote_during_shutdown=True,
    stop_replica_ends_coordination=False,
    coordinator_checks_epoch=False,
    isr_path=IsrPath.ZOOKEEPER,
    fence_fetch=False,
    controller_rejects_ineligible=False,
    repeated_change_succeeds=False,
    ahead_of_controller_error=AheadOfController.NOT_CONTROLLER,
    metadata_follows_epoch_bumps=False,
    leader_forgets_removed=True,
    isr_repair_unassigned=False,
    reassignment_order=ReassignmentOrder.PUBLISHED,
    cancel_moves_leader_first=False,
    reassignment_requires_alive=True,
    reassignment_overridable=False,
    completion=Completion.TARGET_IN_ISR,
    offline_to_ineligible_allowed=False,
    failed_deletion_becomes_ineligible=True,
    resume_deletion_on_failover=True,
    offline_without_leadership=False,
    dead_replica_at_startup=DeadReplicaAtStartup.INELIGIBLE,
    dead_broker_blocks_deletion=True,
    added_partitions_taken_back=False,
    topic_ids=False,
    stray_replaced=False,
    unclean_election=True,
    election_type_checked=True,
    update_metadata=False,
)
KAFKA_0_9 = attrs.evolve(KAFKA_0_8_2, found_self_elected_runs_failover=True)
KAFKA_0_10_1_0 = attrs.evolve(KAFKA_0_9, reassignment_requires_alive=False)
KAFKA_0_10_1_1 = attrs.evolve(KAFKA_0_10_1_0, stop_replica_ends_coordination=True)
KAFKA_0_10_2 = attrs.evolve(KAFKA_0_10_1_1, resign_stops_queue=True)
KAFKA_0_11 = attrs.evolve(KAFKA_0_10_2, stop_replica_ends_coordination=False, unclean_election=False)
KAFKA_1_1 = attrs.evolve(KAFKA_0_11, last_isr_member=LastIsrMember.STAYS, leaving_leader_told=False)
KAFKA_2_0 = attrs.evolve(KAFKA_1_1, offline_without_leadership=True, added_partitions_taken_back=True)
KAFKA_2_1 = attrs.evolve(KAFKA_2_0, zk_write_fenced=True, leaving_leader_told=True, fence_fetch=True)
KAFKA_2_2 = attrs.evolve(KAFKA_2_1, broker_checks_broker_epoch=True, controller_detects_bounce=True)
KAFKA_2_3 = attrs.evolve(
    KAFKA_2_2, offline_to_ineligible_allowed=True, dead_replica_at_startup=DeadReplicaAtStartup.OFFLINE
)
KAFKA_2_4_0 = attrs.evolve(KAFKA_2_3, metadata_follows_epoch_bumps=True, reassignment_overridable=True)
KAFKA_2_4_1 = attrs.evolve(KAFKA_2_4_0, stop_replica_ends_coordination=True)
KAFKA_2_6 = attrs.evolve(KAFKA_2_4_1, stop_replica_epoch=StopReplicaEpoch.NEWER)
KAFKA_2_7 = attrs.evolve(
    KAFKA_2_6, isr_path=IsrPath.ALTER_PARTITION, repeated_change_succeeds=True, epoch_stored_after_role_change=True
)
KAFKA_2_8_0 = attrs.evolve(KAFKA_2_7, topic_ids=True)
KAFKA_2_8_1 = attrs.evolve(KAFKA_2_8_0, coordinator_checks_epoch=True)
KAFKA_3_0 = attrs.evolve(KAFKA_2_8_1, isr_repair_unassigned=True)
KAFKA_3_3 = attrs.evolve(KAFKA_3_0, controller_rejects_ineligible=True)
KAFKA_3_4_1 = attrs.evolve(KAFKA_3_3, stop_replica_epoch=StopReplicaEpoch.NEWER_OR_EQUAL)

REPAIRED = attrs.evolve(KAFKA_3_4_1, isr_path=IsrPath.ZOOKEEPER, cancel_moves_leader_first=True, stray_replaced=True)

PRESETS_OF_RELEASES = {
    "kafka-0.8.2": ("0.8.2.0", KAFKA_0_8_2),
    "kafka-0.9": ("0.9.0.0", KAFKA_0_9),
    "kafka-0.10.1.0": ("0.10.1.0", KAFKA_0_10_1_0),
    "kafka-0.10.1.1": ("0.10.1.1", KAFKA_0_10_1_1),
    "kafka-0.10.2": ("0.10.2.0", KAFKA_0_10_2),
    "kafka-0.11": ("0.11.0.0", KAFKA_0_11),
    "kafka-1.1": ("1.1.0", KAFKA_1_1),
    "kafka-2.0": ("2.0.0", KAFKA_2_0),
    "kafka-2.1": ("2.1.0", KAFKA_2_1),
    "kafka-2.2": ("2.2.0", KAFKA_2_2),
    "kafka-2.3": ("2.3.0", KAFKA_2_3),
    "kafka-2.4.0": ("2.4.0", KAFKA_2_4_0),
    "kafka-2.4.1": ("2.4.1", KAFKA_2_4_1),
    "kafka-2.6": ("2.6.0", KAFKA_2_6),
    "kafka-2.7": ("2.7.0", KAFKA_2_7),
    "kafka-2.8.0": ("2.8.0", KAFKA_2_8_0),
    "kafka-2.8.1": ("2.8.1", KAFKA_2_8_1),
    "kafka-3.0": ("3.0.0", KAFKA_3_0),
    "kafka-3.3": ("3.3.0", KAFKA_3_3),
    "kafka-3.4.1": ("3.4.1", KAFKA_3_4_1),
}
PRESETS = {"repaired": REPAIRED, **{name: protocol for name, (_, protocol) in PRESETS_OF_RELEASES.items()}}
RELEASES = {name: Release(first, "zookeeper") for name, (first, _) in PRESETS_OF_RELEASES.items()}
LAST_RELEASES = {"zookeeper": "3.9"}
