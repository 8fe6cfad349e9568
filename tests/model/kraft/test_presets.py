"""Which rule each release has, as its code has it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from highwater.model.kraft.definition import KRAFT
from highwater.model.kraft.presets import PRESETS
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.language.definition import release_number
from tests.model.kafka_releases import RELEASES

FACTS = """
shrink_bump                       asked-for 3.6.0=never | PartitionChangeBuilder#triggerLeaderEpochBumpIfNeeded
completion                        added 3.8.0=all 4.3.0=all-if-fewer | PartitionReassignmentReplicas
elr                               False 4.1.0=True | EligibleLeaderReplicasVersion
last_known_leader                 not-cleared 3.8.0=with-empty-isr 4.1.1=without-leader | PartitionChangeBuilder
last_known_leader_must_be_active  False 4.1.0=True | PartitionChangeBuilder#canElectLastKnownLeader
eligible_must_be_assigned         False | PartitionChangeBuilder#maybePopulateTargetElr
index_follows_emptied_elrs        False | ReplicationControlManager#removeTopicElrs
fences_one_at_a_time              True | ReplicationControlManager#maybeFenceOneStaleBroker
members_must_be_active            True | ReplicationControlManager#ineligibleReplicasForIsr
ahead_of_controller_error         not-controller | ReplicationControlManager#validateAlterPartitionData
unknown_topics_asked_again        False | Partition#handleAlterPartitionError
members_epochs_checked            False 3.5.0=True | ReplicationControlManager#ineligibleReplicasForIsr
older_brokers                     none | AlterPartitionRequest
cancelling                        if-one-is-in-sync | ReplicationControlManager#cancelPartitionReassignment
unclean_elections                 not-in-isr 4.0.0=not-in-isr-or-elr 4.1.0=recorded | PartitionRegistration
elr_cleared_with_min_isr          False 4.0.0=True | ConfigurationControlManager#createClearElrRecordsAsNeeded
clean_shutdowns_detected          False 4.0.0=True | ReplicationControlManager#handleBrokerShutdown
failed_directories_reported       False 3.7.0=True | ReplicationControlManager#handleDirectoriesOffline
failed_directories_avoided        True 3.7.0=False 3.7.1=True | ReplicaManager#getOrCreatePartition
stray_logs_deleted_first          False 3.7.0=True | LogManager#deleteStrayKRaftReplicas
unfencing                         at-registration | BrokerHeartbeatManager#calculateNextBrokerState
shutdown_offset_kept              False 3.3.2=True | BrokerHeartbeatManager#maybeUpdateControlledShutdownOffset
demoted_during_shutdown           False 3.3.2=True | ReplicaManager#applyLocalFollowersDelta
leader_caps_min_isr               False 3.7.0=True | Partition#effectiveMinIsr
shutdowns_recorded                True | ReplicationControlManager#handleBrokerInControlledShutdown
shutdown_stops_fetchers           True | ReplicaManager#applyLocalFollowersDelta
directories_registered_after_upgrade True | BrokerRegistrationTracker
registered_again_as_it_was        False 3.7.1=True | ClusterControlManager#registerBroker
reregistration                    nothing 3.8.0=isr-with-elr 4.0.0=isr | ClusterControlManager#registerBroker
voter_changes_skipped             True | QuorumMetaLogListener#handleCommit
new_controller_expects_heartbeats True | ClusterControlManager#activate
"""
"""A rule, its value in 3.3.0, the releases that changed it, and where their code has it."""

TABLE = {line.split()[0]: line.partition("|")[0].split()[1:] for line in FACTS.strip().splitlines()}
CHANGES = {change.partition("=")[0] for _, *changes in TABLE.values() for change in changes}
NAMED_ALL_THE_SAME = {"kafka-3.4"}
"""Presets that were thought to begin with a change of a rule. Their names are kept."""


def shown(value: Any) -> str:
    return str(getattr(value, "value", value))


def facts(release: str) -> dict[str, str]:
    """What the table says of a release, rule by rule."""
    found = {}
    for rule, (value, *changes) in TABLE.items():
        for change in changes:
            since, _, later = change.partition("=")
            value = later if release_number(since) <= release_number(release) else value
        found[rule] = value
    return found


@pytest.mark.parametrize("release", [release for release in RELEASES if KRAFT.presets_for(release)])
def test_a_release_has_the_rules_that_its_code_has(release: str) -> None:
    (preset,) = KRAFT.presets_for(release)
    rules = {field.name: shown(getattr(PRESETS[preset], field.name)) for field in attrs.fields(KraftProtocol)}
    assert rules == facts(release)


def test_a_preset_begins_where_some_rule_changes() -> None:
    firsts = {release.first for name, release in KRAFT.releases.items() if name not in NAMED_ALL_THE_SAME}
    assert firsts - {"3.3.0"} == CHANGES <= set(RELEASES)
    assert len(set(PRESETS.values())) == len(PRESETS) - len(NAMED_ALL_THE_SAME)
