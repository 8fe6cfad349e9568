"""Which rule each release has, as its code has it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from model.kraft.presets import PRESETS
from model.kraft.protocol import KraftProtocol

FACTS = """
shrink_bump                       asked-for 3.6=never | PartitionChangeBuilder#triggerLeaderEpochBumpIfNeeded
completion                        added 3.8=all 4.3=all-if-fewer | PartitionReassignmentReplicas
elr                               False 4.1=True | EligibleLeaderReplicasVersion
last_known_leader                 not-cleared 3.8=with-empty-isr 4.1=without-leader | PartitionChangeBuilder
last_known_leader_must_be_active  False 4.1=True | PartitionChangeBuilder#canElectLastKnownLeader
fences_one_at_a_time              True | ReplicationControlManager#maybeFenceOneStaleBroker
members_must_be_active            True | ReplicationControlManager#ineligibleReplicasForIsr
ahead_of_controller_error         not-controller | ReplicationControlManager#validateAlterPartitionData
unknown_topics_asked_again        False | Partition#handleAlterPartitionError
members_epochs_checked            False 3.5=True | ReplicationControlManager#ineligibleReplicasForIsr
older_brokers                     none | AlterPartitionRequest
cancelling                        if-one-is-in-sync | ReplicationControlManager#cancelPartitionReassignment
unclean_elections                 not-in-isr 4.0=not-in-isr-or-elr 4.1=recorded | PartitionRegistration
elr_cleared_with_min_isr          False 4.0=True | ConfigurationControlManager#createClearElrRecordsAsNeeded
clean_shutdowns_detected          False 4.0=True | ReplicationControlManager#handleBrokerShutdown
failed_directories_reported       False 3.7=True | ReplicationControlManager#handleDirectoriesOffline
failed_directories_avoided        True 3.7=False 3.8=True | ReplicaManager#getOrCreatePartition
stray_logs_deleted_first          False 3.7=True | LogManager#deleteStrayKRaftReplicas
unfencing                         at-registration | BrokerHeartbeatManager#calculateNextBrokerState
shutdown_offset_kept              False 3.4=True | BrokerHeartbeatManager#maybeUpdateControlledShutdownOffset
shutdowns_recorded                True | ReplicationControlManager#handleBrokerInControlledShutdown
shutdown_stops_fetchers           True | ReplicaManager#applyLocalFollowersDelta
directories_registered_after_upgrade True | BrokerRegistrationTracker
registered_again_as_it_was        False 3.8=True | ClusterControlManager#registerBroker
reregistration                    nothing 3.8=isr-with-elr 4.0=isr | ClusterControlManager#registerBroker
voter_changes_skipped             True | QuorumMetaLogListener#handleCommit
new_controller_expects_heartbeats True | ClusterControlManager#activate
"""
"""A rule, its value in 3.3, the releases that changed it, and where their code has it."""

TABLE = {line.split()[0]: line.partition("|")[0].split()[1:] for line in FACTS.strip().splitlines()}


def shown(value: Any) -> str:
    return str(getattr(value, "value", value))


@pytest.mark.parametrize("rule", [field.name for field in attrs.fields(KraftProtocol)])
def test_every_release_has_the_rule_that_its_code_has(rule: str) -> None:
    first, *changes = TABLE[rule]
    changed = dict(each.split("=") for each in changes)
    wanted, expected = first, {}
    for preset in PRESETS:
        wanted = changed.pop(preset.removeprefix("kafka-"), wanted)
        expected[preset] = wanted
    assert {preset: shown(getattr(protocol, rule)) for preset, protocol in PRESETS.items()} == expected
    assert not changed


def test_every_release_differs_from_the_one_before() -> None:
    assert len(set(PRESETS.values())) == len(PRESETS)
