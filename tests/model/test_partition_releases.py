"""What each release of Kafka does, rule by rule, as its code says: the presets are held against a table that covers
them all.
"""

from __future__ import annotations

import tomllib
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.resolving import toggles_of
from highwater.model.language.definition import release_number
from highwater.model.partition.definition import PARTITION
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.releases import PRESETS, RELEASES, REPAIRED

SPECS = Path(__file__).parents[2] / "specs" / "partition"

# A rule, the mode it is about (or both), its value from the first release on and from which release on it changed, and
# where that was read.
HISTORY = """
truncation both high-watermark 0.11.0.0=epoch-101 2.0.0=epoch-279 2.8.0=on-fetch | AbstractFetcherThread#maybeTruncate
epoch_entry_on_election both  False 2.0.1=True | Partition#makeLeader
truncation_skip both never 0.8.2.0=same-leader 2.0.1=same-leader-next-epoch 2.1.0=never | Partition#makeFollower
epoch_cache_clean_at_end both False 2.6.1=True | Log#truncateTo
out_of_range_policy     both  truncate 0.8.2.0=exit 2.0.1=truncate | ReplicaFetcherThread#handleOffsetOutOfRange
out_of_range_when_behind both truncate-all 0.9.0.1=keep | ReplicaFetcherThread#handleOffsetOutOfRange
truncation_lowers_high_watermark both False 2.4.0=True | Log#truncateTo
high_watermark_before_truncation both False 2.8.0=True 3.4.1=False | AbstractFetcherThread#processFetchRequest
fetch_response_checks both leader 2.8.0=none 2.8.1=leader 3.9.1=leader-epoch 4.0.0=leader 4.0.1=leader-epoch \
    | AbstractFetcherThread#processFetchRequest, #maybeTruncateToEpochEndOffsets
fetch_sessions_keep_epochs both False 2.5.0=True | CachedPartition#reqData
fence_fetch             both  False 2.1.0=True | Partition#localReplicaWithEpochOrException
fence_truncation        both  False 2.1.0=True | Partition#lastOffsetForLeaderEpoch
fence_high_watermark    both  False 2.1.0=True | Partition#localReplicaWithEpochOrException
fence_isr               both  False 2.1.0=True | Partition#localReplicaWithEpochOrException
fence_offset_lookups    both  False 2.1.0=True | ReplicaFetcherThread#fetchOffsetFromLeader
diverging_fetch_updates_leo both False 2.8.0=True 2.8.1=False \
    | ReplicaManager#updateFollowerFetchState: 2.7.2 has the check, too, but its followers diverge in no fetch
flush                   both  async | LogConfig
high_watermark_checkpoint both lagging | ReplicaManager#checkpointHighWatermarks
high_watermark_checkpoint_covers both known 0.8.2.0=all | ReplicaManager#makeFollowers
expand_requires_epoch_start both False 2.0.1=True | Partition#maybeExpandIsr
expand_requires_fetch_in_epoch both True | Partition#maybeExpandIsr
expand_requires_caught_up both never | Partition#isFollowerInSync
reset_follower_state    both  new-epoch 0.9.0.0=new-leader | Partition#makeLeader, KAFKA-2721
newer_isr_restarts_epoch zookeeper False \
    | LeaderAndIsr of an equal leader epoch is ignored: ReplicaManager#becomeLeaderOrFollower
newer_isr_restarts_epoch kraft False 3.0.0=True 3.3.0=False | Partition#makeLeader
leader_checks           zookeeper nothing 3.3.0=alive | Partition#isReplicaIsrEligible
leader_checks           kraft nothing 3.3.0=standing 3.5.0=broker-epoch | Partition#isReplicaIsrEligible
controller_rejects_ineligible both False 3.3.0=True | ReplicationControlManager#validateAlterPartitionData
controller_checks_broker_epoch zookeeper False | KafkaController#tryProcessAlterPartition
controller_checks_broker_epoch kraft False 3.5.0=True | ReplicationControlManager#ineligibleReplicasForIsr
shrink_spares_caught_up both  False 2.1.0=True | Partition#getOutOfSyncReplicas
demote_during_shutdown  zookeeper True | ReplicaManager#makeFollowers
demote_during_shutdown  kraft False 3.3.2=True | BrokerServer#shutdown, ReplicaManager#applyLocalFollowersDelta
leader_snapshot_atomic  both  True 3.5.0=False 3.7.0=True | Replica#updateFetchStateOrThrow
isr_path                zookeeper zk-cas 2.7.0=zk-alter-partition | AlterIsrManager
isr_path                kraft alter-partition | ReplicationControlManager#alterIsr
isr_cas                 both  True | ZkUtils#conditionalUpdatePersistentPath, ReplicationControlManager#alterIsr
cas_conflict            both  skip 0.8.2.0=reread | ReplicationUtils#checkLeaderAndIsrZkData
high_watermark_set      both  committed 2.7.0=maximal | Partition#maybeIncrementLeaderHW
pending_policy          both  single-inflight | Partition#maybeExpandIsr
on_alter_error          both  definite-only | Partition#handleAlterIsrResponse
inflight_cleared_by_leader_and_isr both False 2.7.0=True 3.0.0=False | AlterIsrManager#clearPending
metadata_end_proposals zookeeper False \
    | LeaderAndIsr of an equal leader epoch is ignored: ReplicaManager#becomeLeaderOrFollower
metadata_end_proposals kraft True | Partition#makeLeader
duplicate_update_completes both True 2.7.0=False 2.7.2=True 2.8.0=False 2.8.1=True | Partition#handleAlterIsrResponse
repeated_change_succeeds zookeeper False 2.7.0=True | KafkaController#processAlterIsr
repeated_change_succeeds kraft False | ReplicationControlManager#alterIsr
ahead_of_controller_error zookeeper not-controller | KafkaController#tryProcessAlterPartition
ahead_of_controller_error kraft fenced 3.3.0=not-controller | ReplicationControlManager#validateAlterPartitionData
high_watermark_recheck_on_isr_commit both True 2.7.0=False 3.1.0=True | Partition#handleAlterPartitionUpdate
high_watermark_recheck_on_every_fetch both True 2.4.0=False | Partition#updateFollowerFetchState
high_watermark_waits_for_non_isr both no 0.10.2.0=any-recent 3.6.0=eligible-only | Partition#maybeIncrementLeaderHW
list_offsets_guard      both  False 2.2.0=True | Partition#fetchOffsetForTimestamp
effective_min_isr       both  False 3.7.0=True | Partition#effectiveMinIsr
high_watermark_requires_min_isr both False 3.7.0=True | Partition#maybeIncrementLeaderHW
elr                     both  False 4.1.0=True | EligibleLeaderReplicasVersion#bootstrapMetadataVersion
isr_may_be_empty        both  False 4.1.0=True | PartitionChangeBuilder#build
removed_leaves_elr      both  False | PartitionChangeBuilder#maybePopulateTargetElr
reassignment_waits_for_all zookeeper True | KafkaController#isReassignmentComplete
reassignment_waits_for_all kraft False 3.8.0=True | PartitionReassignmentReplicas#maybeCompleteReassignment
unclean_shutdown_removes_from_elr both False 4.1.0=True | ReplicationControlManager#handleBrokerShutdown
last_known_leader       zookeeper never | Election#leaderForOffline
last_known_leader       kraft never 3.7.0=unchecked 4.1.0=active | PartitionChangeBuilder#canElectLastKnownLeader
registering_again_fences zookeeper True | KafkaController#processBrokerChange
registering_again_fences kraft False 4.0.0=True | ReplicationControlManager#handleBrokerShutdown
isr_shrink_bumps_leader_epoch zookeeper by-controller | ReplicaStateMachine#removeReplicasFromIsr
isr_shrink_bumps_leader_epoch kraft by-controller 3.0.0=always 3.6.0=never \
    | MetadataVersion#isLeaderEpochBumpRequiredOnIsrShrink
unclean_election_setting zookeeper absent 0.8.2.0=read | OfflinePartitionLeaderSelector#selectLeader
unclean_election_setting kraft ignored 3.9.0=read | ConfigurationControlManager#uncleanLeaderElectionEnabledForTopic
acks                    both  all | ProducerConfig
unclean_election        both  True 0.11.0.0=False | KafkaConfig
consumer_reads_follower both  False | ReplicaSelector
"""
ROWS = [line.split(" | ")[0].split() for line in HISTORY.strip().splitlines()]


def facts(release: str, mode: str) -> dict[str, str]:
    """What the table says of a release, rule by rule."""
    found = {}
    for rule, of, value, *changes in ROWS:
        if of not in ("both", mode):
            continue
        for change in changes:
            since, _, later = change.partition("=")
            value = later if release_number(since) <= release_number(release) else value
        assert rule not in found, f"{rule} is there twice for {mode}"
        found[rule] = value
    return found


def rules(protocol: PartitionProtocol) -> dict[str, str]:
    return {name: str(value) for name, value in toggles_of(protocol).items()}


@pytest.mark.parametrize("name", RELEASES)
def test_a_preset_has_the_rules_of_its_release(name: str) -> None:
    assert rules(PRESETS[name]) == facts(RELEASES[name].first, RELEASES[name].mode)


@pytest.mark.parametrize("name", RELEASES)
def test_any_rule_of_a_preset_set_wrong_is_noticed(name: str) -> None:
    """The mutation test of presets: every other value of every rule contradicts the table."""
    release, protocol = RELEASES[name], PRESETS[name]
    expected = facts(release.first, release.mode)
    for field in attrs.fields(PartitionProtocol):
        now = getattr(protocol, field.name)
        for other in others(now):
            assert rules(attrs.evolve(protocol, **{field.name: other})) != expected, (field.name, other)


def others(value: Any) -> list[Any]:
    return [each for each in type(value) if each is not value] if isinstance(value, Enum) else [not value]


def test_a_preset_begins_where_some_rule_changes_and_none_changes_between_presets() -> None:
    """So that each preset speaks for every release up to the next one of its mode."""
    for mode in ("zookeeper", "kraft"):
        firsts = [release for release in RELEASES.values() if release.mode == mode]
        changes = {
            release_number(change.split("=")[0])
            for _, of, _, *later in ROWS
            for change in later
            if of in ("both", mode)
        }
        first, last = firsts[0].number, release_number(PARTITION.last_releases[mode] + ".99")
        assert {each.number for each in firsts[1:]} == {each for each in changes if first < each <= last}


@pytest.mark.parametrize(
    ("release", "presets"),
    [
        ("2.8", ["kafka-2.8.0-zookeeper", "kafka-2.8.0"]),
        ("4.4.9", ["kafka-4.1"]),
        ("5.0", []),
        ("0.7.2", []),
    ],
)
def test_a_number_between_or_beyond_releases_has_the_presets_of_its_neighbour(release: str, presets: list[str]) -> None:
    assert PARTITION.presets_for(release) == presets


@pytest.mark.parametrize("wrong", ["abc", "3", "3.x", "", "1.2.3.4.5", "-1.0"])
def test_what_is_no_release_number_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError):
        PARTITION.presets_for(wrong)


def test_every_preset_is_used_by_a_claim() -> None:
    used = {tomllib.loads(path.read_text(encoding="utf-8")).get("preset") for path in SPECS.rglob("*.toml")}
    assert set(PRESETS) <= used


def test_the_repaired_protocol_is_the_newest_release_but_for_three_rules() -> None:
    newest, repaired = rules(PRESETS[list(RELEASES)[-1]]), rules(REPAIRED)
    assert {name for name in newest if newest[name] != repaired[name]} == {
        "reset_follower_state",
        "metadata_end_proposals",
        "removed_leaves_elr",
    }
