"""What each release's controller does, rule by rule, as its code says: the presets are held against a table that covers
them all.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import attrs
import pytest

from highwater.model.controller.definition import CONTROLLER
from highwater.model.controller.protocol import ControllerProtocol
from highwater.model.controller.releases import PRESETS, RELEASES, REPAIRED
from highwater.model.language.definition import release_number
from tests.model.test_partition_releases import others, rules

SPECS = Path(__file__).parents[3] / "specs" / "controller"

# A rule, its value in 0.8.2.0 and from which release on it changed, and where that was read.
HISTORY = """
broker_checks_controller_epoch True | ReplicaManager#becomeLeaderOrFollower, #stopReplicas
zk_write_fenced False 2.1.0=True | KafkaZkClient#retryRequestsUntilConnected
zombie_learns_epoch False | KafkaController: 0.8.1's ControllerEpochListener is gone
resign_stops_queue False 0.10.2.0=True | ControllerZkListener#isActive
found_self_elected_runs_failover False 0.9.0.0=True | ZkUtils#createEphemeralPathExpectConflictHandleZKBug
leader_and_isr_needs_newer_epoch True | ReplicaManager#becomeLeaderOrFollower
stop_replica_epoch any 2.6.0=newer 3.4.1=newer-or-equal | ReplicaManager#stopReplicas
broker_checks_broker_epoch False 2.2.0=True | KafkaApis#isBrokerEpochStale
controller_detects_bounce False 2.2.0=True | KafkaController#processBrokerChange
bounce_updates_partitions True | KafkaController#processBrokerChange, where a bounce is seen at all
registration_keeps_epoch False | KafkaController#processRegisterBrokerAndReelect
last_isr_member leaves-if-unclean 1.1.0=stays | KafkaController#removeReplicaFromIsr
one_expiry_at_a_time True | ReplicaStateMachine#removeReplicasFromIsr
epoch_stored_after_role_change False 2.7.0=True | Partition#makeFollower
leaving_leader_told True 1.1.0=False 2.1.0=True | PartitionStateMachine#leaderForControlledShutdown
leaving_broker_fetches False | ReplicaManager#makeFollowers
demote_during_shutdown True | ReplicaManager#makeFollowers
stop_replica_ends_coordination False 0.10.1.1=True 0.11.0.0=False 2.4.1=True \
    | KafkaApis#handleStopReplicaRequest: groups, and since 0.11 transactions, too
coordinator_checks_epoch False 2.8.1=True | GroupMetadataManager#maybeUpdateCoordinatorEpoch
isr_path zookeeper 2.7.0=alter-partition | AlterIsrManager
fence_fetch False 2.1.0=True | Partition#localReplicaWithEpochOrException
controller_rejects_ineligible False 3.3.0=True | KafkaController#tryProcessAlterPartition
repeated_change_succeeds False 2.7.0=True | KafkaController#processAlterIsr
ahead_of_controller_error not-controller | KafkaController#tryProcessAlterPartition; until 3.2 the write fails
metadata_follows_epoch_bumps False 2.4.0=True | KafkaController#updateLeaderEpoch
leader_forgets_removed True | Partition#makeLeader
isr_repair_unassigned False 3.0.0=True | Partition#isFollowerOutOfSync
reassignment_order published | KafkaController#onPartitionReassignment
cancel_moves_leader_first False | KafkaController#updateCurrentReassignment
reassignment_requires_alive True 0.10.1.0=False | KafkaController#initiateReassignReplicasForTopicPartition
reassignment_overridable False 2.4.0=True | KafkaController#processApiPartitionReassignment
completion target-in-isr | KafkaController#isReassignmentComplete
offline_to_ineligible_allowed False 2.3.0=True | ReplicaDeletionIneligible#validPreviousStates
failed_deletion_becomes_ineligible True | TopicDeletionManager#failReplicaDeletion
resume_deletion_on_failover True | TopicDeletionManager#start
offline_without_leadership False 2.0.0=True | ReplicaStateMachine#doHandleStateChanges
dead_replica_at_startup ineligible 2.3.0=offline | ReplicaStateMachine#startup
dead_broker_blocks_deletion True | TopicDeletionManager#resumeDeletions
added_partitions_taken_back False 2.0.0=True | KafkaController#restorePartitionReplicaAssignment
topic_ids False 2.8.0=True | ReplicaManager#becomeLeaderOrFollower
stray_replaced False | ReplicaManager#becomeLeaderOrFollower
unclean_election True 0.11.0.0=False | KafkaConfig
election_type_checked True | KafkaController#onReplicaElection
update_metadata False | a choice of the model's, not of a release
"""
ROWS = [line.split(" | ")[0].split() for line in HISTORY.strip().splitlines()]


def facts(release: str) -> dict[str, str]:
    """What the table says of a release, rule by rule."""
    found = {}
    for rule, value, *changes in ROWS:
        for change in changes:
            since, _, later = change.partition("=")
            value = later if release_number(since) <= release_number(release) else value
        assert rule not in found, f"{rule} is there twice"
        found[rule] = value
    return found


@pytest.mark.parametrize("name", RELEASES)
def test_a_preset_has_the_rules_of_its_release(name: str) -> None:
    assert rules(PRESETS[name]) == facts(RELEASES[name].first)


@pytest.mark.parametrize("name", RELEASES)
def test_any_rule_of_a_preset_set_wrong_is_noticed(name: str) -> None:
    """The mutation test of presets: every other value of every rule contradicts the table."""
    expected = facts(RELEASES[name].first)
    for field in attrs.fields(ControllerProtocol):
        for other in others(getattr(PRESETS[name], field.name)):
            assert rules(attrs.evolve(PRESETS[name], **{field.name: other})) != expected, (field.name, other)


def test_a_preset_begins_where_some_rule_changes_and_none_changes_between_presets() -> None:
    """So that each preset speaks for every release up to the next one."""
    changes = {release_number(change.split("=")[0]) for _, _, *later in ROWS for change in later}
    first, *later = (release.number for release in RELEASES.values())
    assert first == release_number("0.8.2.0")
    assert later == sorted(changes)


@pytest.mark.parametrize(
    ("release", "presets"),
    [
        ("0.8.1.1", []),
        ("0.8.2.2", ["kafka-0.8.2"]),
        ("0.10.0.1", ["kafka-0.9"]),
        ("1.0.2", ["kafka-0.11"]),
        ("2.0.1", ["kafka-2.0"]),
        ("2.5.1", ["kafka-2.4.1"]),
        ("3.2.3", ["kafka-3.0"]),
        ("3.4.0", ["kafka-3.3"]),
        ("3.5.1", ["kafka-3.4.1"]),
        ("3.9.1", ["kafka-3.4.1"]),
        ("4.0.0", []),
    ],
)
def test_every_release_number_has_the_preset_that_speaks_for_it(release: str, presets: list[str]) -> None:
    assert CONTROLLER.presets_for(release) == presets


def test_every_preset_is_used_by_a_claim() -> None:
    used = {tomllib.loads(path.read_text(encoding="utf-8"))["preset"] for path in SPECS.rglob("*.toml")}
    assert used == set(PRESETS)


def test_the_repaired_protocol_is_the_newest_release_but_for_three_rules() -> None:
    newest, repaired = rules(PRESETS[list(RELEASES)[-1]]), rules(REPAIRED)
    assert {name for name in newest if newest[name] != repaired[name]} == {
        "isr_path",
        "cancel_moves_leader_first",
        "stray_replaced",
    }
