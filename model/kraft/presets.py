"""The protocols of releases.

A preset stands for its release and for those after it, up to the next preset. `tests/model/kafka_releases.py` has all
releases with the preset of each. `kafka-3.4` has the rules of `kafka-3.3.2`.
"""

from __future__ import annotations

import attrs

from highwater.model.kraft.partition_change import Rules
from highwater.model.kraft.protocol import (
    AheadOfController,
    Cancelling,
    KraftProtocol,
    OlderBrokers,
    Reregistration,
    UncleanElections,
    Unfencing,
)
from highwater.model.kraft.releases import KAFKA_3_5, KAFKA_3_6, KAFKA_3_7, KAFKA_3_8, KAFKA_4_1, KAFKA_4_1_0, NEWEST
from highwater.model.language.definition import Release


def _with_rules(protocol: KraftProtocol, rules: Rules) -> KraftProtocol:
    names = {field.name for field in attrs.fields(Rules)} & {field.name for field in attrs.fields(KraftProtocol)}
    return attrs.evolve(protocol, **{name: getattr(rules, name) for name in names})


V4_3 = KraftProtocol(
    shrink_bump=NEWEST.shrink_bump,
    completion=NEWEST.completion,
    elr=NEWEST.elr,
    last_known_leader=NEWEST.last_known_leader,
    last_known_leader_must_be_active=NEWEST.last_known_leader_must_be_active,
    eligible_must_be_assigned=NEWEST.eligible_must_be_assigned,
    index_follows_emptied_elrs=False,
    fences_one_at_a_time=True,
    members_must_be_active=True,
    ahead_of_controller_error=AheadOfController.NOT_CONTROLLER,
    unknown_topics_asked_again=False,
    members_epochs_checked=True,
    older_brokers=OlderBrokers.NONE,
    cancelling=Cancelling.IF_ONE_IS_IN_SYNC,
    unclean_elections=UncleanElections.RECORDED,
    elr_cleared_with_min_isr=True,
    clean_shutdowns_detected=True,
    failed_directories_reported=True,
    failed_directories_avoided=True,
    stray_logs_deleted_first=True,
    unfencing=Unfencing.AT_REGISTRATION,
    shutdown_offset_kept=True,
    demoted_during_shutdown=True,
    leader_caps_min_isr=True,
    shutdowns_recorded=True,
    shutdown_stops_fetchers=True,
    directories_registered_after_upgrade=True,
    registered_again_as_it_was=True,
    reregistration=Reregistration.ISR,
    voter_changes_skipped=True,
    new_controller_expects_heartbeats=True,
)
V4_1 = _with_rules(V4_3, KAFKA_4_1)
V4_1_0 = _with_rules(V4_1, KAFKA_4_1_0)
# new clusters have eligible leader replicas since 4.1
V4_0 = attrs.evolve(_with_rules(V4_1_0, KAFKA_3_8), elr=False, unclean_elections=UncleanElections.NOT_IN_ISR_OR_ELR)
V3_8 = attrs.evolve(
    V4_0,
    reregistration=Reregistration.ISR_WITH_ELR,
    unclean_elections=UncleanElections.NOT_IN_ISR,
    elr_cleared_with_min_isr=False,
    clean_shutdowns_detected=False,
)
V3_7_1 = attrs.evolve(_with_rules(V3_8, KAFKA_3_7), elr=False, reregistration=Reregistration.NOTHING)
V3_7 = attrs.evolve(V3_7_1, failed_directories_avoided=False, registered_again_as_it_was=False)
# a broker has one log directory until 3.6: it goes down with it
V3_6 = attrs.evolve(
    _with_rules(V3_7, KAFKA_3_6),
    failed_directories_reported=False,
    failed_directories_avoided=True,
    stray_logs_deleted_first=False,
    leader_caps_min_isr=False,
)
V3_5 = _with_rules(V3_6, KAFKA_3_5)
V3_3_2 = attrs.evolve(V3_5, members_epochs_checked=False)
V3_3 = attrs.evolve(V3_3_2, shutdown_offset_kept=False, demoted_during_shutdown=False)

PRESETS_OF_RELEASES = {
    "kafka-3.3": ("3.3.0", V3_3),
    "kafka-3.3.2": ("3.3.2", V3_3_2),
    "kafka-3.4": ("3.4.0", V3_3_2),
    "kafka-3.5": ("3.5.0", V3_5),
    "kafka-3.6": ("3.6.0", V3_6),
    "kafka-3.7": ("3.7.0", V3_7),
    "kafka-3.7.1": ("3.7.1", V3_7_1),
    "kafka-3.8": ("3.8.0", V3_8),
    "kafka-4.0": ("4.0.0", V4_0),
    "kafka-4.1.0": ("4.1.0", V4_1_0),
    "kafka-4.1": ("4.1.1", V4_1),
    "kafka-4.3": ("4.3.0", V4_3),
}
PRESETS = {name: protocol for name, (_, protocol) in PRESETS_OF_RELEASES.items()}
RELEASES_OF_PRESETS = {name: Release(first, "kraft") for name, (first, _) in PRESETS_OF_RELEASES.items()}
LAST_RELEASES = {"kraft": "4.4"}
