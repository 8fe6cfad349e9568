"""The protocols of releases, oldest first.

A preset stands for its release and for those after it, up to the next preset. `tests/model/kafka_releases.py` has all
releases with the preset of each. `kafka-3.4` has the rules of `kafka-3.3.2`. Until 3.6 a broker has one log directory,
and goes down with it. New clusters have eligible leader replicas since 4.1.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from highwater.model.kraft.partition_change import Rules
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.language.definition import Release, release_number
from highwater.model.language.history import History

HISTORY = History("""
shrink_bump asked-for 3.6.0=never | PartitionChangeBuilder#triggerLeaderEpochBumpIfNeeded (until 3.7)
completion added 3.8.0=all 4.3.0=all-if-fewer | PartitionReassignmentReplicas
elr False 4.1.0=True | EligibleLeaderReplicasVersion
last_known_leader not-cleared 3.8.0=with-empty-isr 4.1.1=without-leader | PartitionChangeBuilder
last_known_leader_must_be_active False 4.1.0=True | PartitionChangeBuilder#canElectLastKnownLeader
eligible_must_be_assigned False | PartitionChangeBuilder#maybePopulateTargetElr
index_follows_emptied_elrs False | ReplicationControlManager#removeTopicElrs
fences_one_at_a_time True | ReplicationControlManager#maybeFenceOneStaleBroker
members_must_be_active True | ReplicationControlManager#ineligibleReplicasForIsr
ahead_of_controller_error not-controller | ReplicationControlManager#validateAlterPartitionData
unknown_topics_asked_again False | Partition#handleAlterPartitionError
older_metadata_skipped True | Partition#makeLeader
members_epochs_checked False 3.5.0=True | ReplicationControlManager#ineligibleReplicasForIsr
members_directories_checked False | ReplicationControlManager#ineligibleReplicasForIsr
older_brokers none | AlterPartitionRequest
cancelling if-one-is-in-sync | ReplicationControlManager#cancelPartitionReassignment
unclean_elections not-in-isr 4.0.0=not-in-isr-or-elr 4.1.0=recorded | PartitionRegistration
elr_cleared_with_min_isr False 4.0.0=True | ConfigurationControlManager#createClearElrRecordsAsNeeded
clean_shutdowns_detected False 4.0.0=True | ReplicationControlManager#handleBrokerShutdown
failed_directories_reported False 3.7.0=True | ReplicationControlManager#handleDirectoriesOffline
assigned_directory not-recorded 3.7.0=clears-elr 4.3.0=keeps-elr | ReplicationControlManager#handleAssignReplicasToDirs
failed_directories_avoided True 3.7.0=False 3.7.1=True | ReplicaManager#getOrCreatePartition
stray_logs_deleted_first False 3.7.0=True | LogManager#deleteStrayKRaftReplicas
unfencing at-registration | BrokerHeartbeatManager#calculateNextBrokerState
shutdown_offset_kept False 3.3.2=True | BrokerHeartbeatManager#maybeUpdateControlledShutdownOffset
demoted_during_shutdown False 3.3.2=True | ReplicaManager#applyLocalFollowersDelta
leader_caps_min_isr False 3.7.0=True | Partition#effectiveMinIsr
shutdowns_recorded True | ReplicationControlManager#handleBrokerInControlledShutdown
shutdown_stops_fetchers True | ReplicaManager#applyLocalFollowersDelta
directories_registered_after_upgrade True | BrokerRegistrationTracker
registered_again_as_it_was False 3.7.1=True | ClusterControlManager#registerBroker
reregistration nothing 3.8.0=isr-with-elr 4.0.0=isr | ClusterControlManager#registerBroker
voter_changes_skipped True | QuorumMetaLogListener#handleCommit
unclean_election False | ConfigurationControlManager#uncleanLeaderElectionEnabledForTopic
new_controller_expects_heartbeats True | ClusterControlManager#activate
""")
FIRST_RELEASES = {
    "kafka-3.3": "3.3.0",
    "kafka-3.3.2": "3.3.2",
    "kafka-3.4": "3.4.0",
    "kafka-3.5": "3.5.0",
    "kafka-3.6": "3.6.0",
    "kafka-3.7": "3.7.0",
    "kafka-3.7.1": "3.7.1",
    "kafka-3.8": "3.8.0",
    "kafka-4.0": "4.0.0",
    "kafka-4.1.0": "4.1.0",
    "kafka-4.1": "4.1.1",
    "kafka-4.3": "4.3.0",
}
RELEASES = {name: Release(first, "kraft") for name, first in FIRST_RELEASES.items()}
PRESETS = {name: HISTORY.protocol(KraftProtocol, release) for name, release in RELEASES.items()}
LAST_RELEASES = {"kraft": "4.4"}


def rules_of(release: str) -> Rules:
    """The rules of `partition_change` in a release, with eligible leader replicas where it has them at all."""
    rules = HISTORY.protocol(KraftProtocol, Release(release, "kraft")).rules
    return attrs.evolve(rules, elr=release_number(release) >= release_number("3.7"))


RULES: Mapping[str, Rules] = {
    "3.5": rules_of("3.5.0"),
    "3.6": rules_of("3.6.0"),
    "3.7": rules_of("3.7.0"),
    "3.8": rules_of("3.8.0"),
    "4.1.0": rules_of("4.1.0"),
    "4.1": rules_of("4.1.1"),
    "4.3": rules_of("4.3.0"),
}
"""By the first release that has them, with its newest metadata version and, since 3.7, with ELR: the rules of the
releases whose classes `partition_change` is compared with.
"""
