"""Classes of Kafka's with a defect each, in one Java process: conform sees every one of them, at the step where it
shows, and ends with a report and no error.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.conformance import Session, Wanted
from highwater.claims.spec import Spec
from highwater.conformance.distribution import NEWEST_KAFKA as NEWEST
from highwater.conformance.distribution import Distribution, KafkaError, resolved
from highwater.conformance.process import OPTIONS, Harness
from highwater.conformance.programs import compiled, harness
from tests.conformance.conftest import harness_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kafka")]

SOURCE = Path(__file__).parent / "patched" / "Patched.java"
JAVASSIST = "3.30.2-GA"
MANIFEST = "Manifest-Version: 1.0\nPremain-Class: Patched\nCan-Redefine-Classes: true\n\n"
PARTITION, REPLICA = "kafka.cluster.Partition", "org.apache.kafka.server.replica.Replica"
FETCHER, REPLICA_FETCHER = "kafka.server.AbstractFetcherThread", "kafka.server.ReplicaFetcherThread"
MANAGER = "kafka.server.ReplicaManager"
BUILDER = "org.apache.kafka.controller.PartitionChangeBuilder"
CONTROLLER = "org.apache.kafka.controller.ReplicationControlManager"
CLUSTER, SESSIONS = (
    "org.apache.kafka.controller.ClusterControlManager",
    "org.apache.kafka.controller.BrokerHeartbeatTracker",
)
REASSIGNED = "org.apache.kafka.controller.PartitionReassignmentReplicas"
RECOVERY = "org.apache.kafka.metadata.LeaderRecoveryState"
OFFSET, FENCED = (
    "org.apache.kafka.server.common.OffsetAndEpoch",
    "org.apache.kafka.common.errors.FencedLeaderEpochException",
)
LOG = "org.apache.kafka.storage.internals.log.UnifiedLog"
EPOCHS = "org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache"

WITHOUT_EPOCH = (
    "new org.apache.kafka.common.requests.FetchRequest.PartitionData("
    "$2.topicId, $2.fetchOffset, $2.logStartOffset, $2.maxBytes, java.util.Optional.empty())"
)

MOVES: dict[str, int] = {"leader_epoch_max": 2, "leader_moves": 2}
CRASHES: dict[str, int] = {"process_crashes": 1, "initial_isr": 1}
RECOVERS: dict[str, int] = {"process_crashes": 1, "initial_isr": 1, "leader_epoch_max": 2}
REMOVES: dict[str, int] = {"removals": 1, "initial_isr": 1}
DELETES: dict[str, int] = {"retentions": 1, "initial_isr": 1, "leader_epoch_max": 0}
FENCES: dict[str, int] = {"spurious_fences": 1, "initial_isr": 1}


@attrs.frozen
class Patch:
    """A defect: what the calls of one method inside another do instead, the claim that shows it, and the step and the
    field at which it is seen first.
    """

    of: str
    inside: str
    call: str
    instead: str
    bounds: dict[str, int]
    action: str
    field: str
    protocol: dict[str, Any] | None = None


PATCHES = {
    "a leader obeys an old partition epoch": Patch(
        PARTITION, "$anonfun$makeLeader$1", "partitionEpoch", "$_ = -1;", FENCES, "learn_isr", "ISR"
    ),
    "a follower obeys an old partition epoch": Patch(
        PARTITION, "$anonfun$makeFollower$1", "partitionEpoch", "$_ = -1;", FENCES, "learn_isr", "goes back"
    ),
    "an equal leader epoch is refused": Patch(
        PARTITION, "checkCurrentLeaderEpoch", "leaderEpoch", "$_ = $proceed() + 1;", MOVES, "produce",
        "answer to endOf",
    ),
    "a consumer's leader epoch is passed over": Patch(
        MANAGER, "$anonfun$readFromLog$7", "read$1",
        f"$_ = $proceed($1, $6.isFromFollower() ? $2 : {WITHOUT_EPOCH}, $3, $4, $5, $6, $7, $8);",
        MOVES, "produce", "answer to consumerRead",
    ),
    "an unclean election is not recorded as one": Patch(
        BUILDER, "tryElection", "setLeaderRecoveryState", "$_ = $0;", MOVES, "move_leadership", "record for"
    ),
    "a broker that shut down uncleanly stays eligible": Patch(
        BUILDER, "lambda$maybePopulateTargetElr$1", "contains", "$_ = false;", MOVES, "move_leadership", "record for"
    ),
    "another incarnation registers while the session of a broker lasts": Patch(
        CLUSTER, "registerBroker", "hasValidSession", "$_ = false;", CRASHES, "fence", "during its session"
    ),
    "a session never ends": Patch(
        CLUSTER, "registerBroker", "hasValidSession", "$_ = true;", CRASHES, "fence", "result"
    ),
    "a session ends a nanosecond early": Patch(
        SESSIONS, "hasValidSession", "isExpired", "$_ = $proceed($1 - 1L, $2);", CRASHES, "fence", "end of its session"
    ),
    "a broker that registers again is not fenced": Patch(
        CONTROLLER, "handleBrokerShutdown", "generateLeaderAndIsrUpdates", ";", CRASHES, "fence",
        "changes the partition",
    ),
    "the controller takes fenced brokers into the ISR": Patch(
        CONTROLLER, "ineligibleReplicasForIsr", "fenced", "$_ = false;", FENCES, "alter_partition", "ISR"
    ),
    "the controller takes other incarnations into the ISR": Patch(
        CONTROLLER, "ineligibleReplicasForIsr", "brokerEpoch", "$_ = -1L;", CRASHES, "alter_partition", "ISR"
    ),
    "a leader that has to recover may have others in its ISR": Patch(
        CONTROLLER, "validateAlterPartitionData", "of", f"$_ = {RECOVERY}.RECOVERED;", FENCES, "alter_partition",
        "has to recover",
    ),
    "a leader goes on recovering": Patch(
        PARTITION, "$anonfun$makeLeader$1", "updateAssignmentAndIsr",
        f"$_ = $proceed($1, $2, $3, $4, $5, {RECOVERY}.RECOVERING);", MOVES, "produce", "answer to printed",
    ),
    "a follower takes its leader for recovered": Patch(
        PARTITION, "$anonfun$makeFollower$1", "updateAssignmentAndIsr",
        f"$_ = $proceed($1, $2, $3, $4, $5, {RECOVERY}.RECOVERED);", RECOVERS, "learn_leadership", "answer to printed",
        {"unclean_election": True},
    ),
    "a leader that is reassigned away gets another answer": Patch(
        CONTROLLER, "alterPartition", "leader", "$_ = -2;", REMOVES, "complete_removal", "answer"
    ),
    "a reassignment takes the leader away before others are in sync": Patch(
        REASSIGNED, "maybeCompleteReassignment", "containsAll", "$_ = true;", {**REMOVES, "brokers": 3},
        "begin_removal", "replicas",
    ),
    "a record is acknowledged one early": Patch(
        PARTITION, "checkEnoughReplicasReachOffset", "highWatermark", "$_ = $proceed() + 1L;", MOVES, "produce",
        "producer",
    ),
    "a follower joins one record early": Patch(
        PARTITION, "$anonfun$isFollowerInSync$1", "logEndOffset", "$_ = $proceed() + 1L;", MOVES, "produce", "inSync"
    ),
    "brokers join the ISR only while they shut down": Patch(
        PARTITION, "isReplicaIsrEligible", "isBrokerShuttingDown", "$_ = !$proceed($$);", CRASHES, "propose_expansion",
        "proposed ISR",
    ),
    "a refused proposal is not taken back": Patch(
        PARTITION, "handleAlterPartitionError", "partitionState_$eq", ";", FENCES, "fetch_at_once", "proposed ISR"
    ),
    "the epoch cache is not cut": Patch(
        EPOCHS, "truncateFromEndAsyncFlush", "truncateFromEnd", "$_ = java.util.List.of();", MOVES, "fetch_at_once",
        "epoch cache",
    ),
    "a follower's high watermark is one behind": Patch(
        REPLICA_FETCHER, "processPartitionData", "maybeUpdateHighWatermark", "$_ = $proceed($1 - 1L);", MOVES,
        "fetch_at_once", "high watermark",
    ),
    "a late answer is obeyed": Patch(
        FETCHER, "$anonfun$processFetchRequest$7", "orElse", "$_ = Boolean.TRUE;", {**MOVES, "fetch_steps": 2}, "fetch",
        "high watermark",
    ),
    "a follower begins anew that cannot look up where its leader's log begins": Patch(
        FETCHER, "fetchOffsetAndTruncate", "fetchEarliestOffset",
        f"try {{ $_ = $proceed($$); }} catch (RuntimeException e) {{ $_ = new {OFFSET}(logEndOffset($1) + 1L, $2); }}",
        DELETES, "handle_out_of_range", "result",
    ),
    "a follower gives up that cannot look up where its leader's log begins": Patch(
        FETCHER, "fetchOffsetAndTruncate", "fetchEarliestOffset",
        f"try {{ $_ = $proceed($$); }} catch (RuntimeException e) {{ throw new {FENCED}(e.getMessage()); }}",
        DELETES, "handle_out_of_range", "result",
    ),
    "nobody waits until records are deleted on all replicas": Patch(
        MANAGER, "deleteRecords", "delayedDeleteRecordsRequired", "$_ = false;", DELETES, "delete_old_records",
        "deletion below",
    ),
    "who waits until records are deleted on all replicas is forgotten": Patch(
        PARTITION, "updateFollowerFetchState", "tryCompleteDelayedRequests", ";", DELETES, "fetch_at_once",
        "deletion below",
    ),
    "a fetch of an earlier incarnation counts": Patch(
        REPLICA, "lambda$updateFetchStateOrThrow$0", "isPresent", "$_ = false;", CRASHES, "propose_expansion",
        "earlierIncarnation",
    ),
}  # fmt: skip


class Patched(Harness):
    """The harness whose classes of Kafka's can be replaced."""

    program = "Patched"

    def __init__(self, distribution: Distribution, folder: Path) -> None:
        jar = f"javassist-{JAVASSIST}.jar"
        found = resolved("patches", f"javassist-{JAVASSIST}.classpath", [f"org.javassist:javassist:{JAVASSIST}"], jar)
        super().__init__(attrs.evolve(distribution, class_path=(*distribution.class_path, *found)))
        self._agent = folder / "patching.jar"
        self.options = (*OPTIONS, f"-javaagent:{self._agent}")

    def compiled(self) -> list[bytes]:
        ours = harness(self.distribution)
        self._agent.write_bytes(compiled(self.distribution, [SOURCE], ours))
        with zipfile.ZipFile(self._agent, "a") as jar:
            jar.writestr("META-INF/MANIFEST.MF", MANIFEST)
        return [ours]


def patched(release: str, folder: Path) -> Patched:
    distribution = harness_of(release).distribution
    try:
        return Patched(distribution, folder)
    except KafkaError as error:
        pytest.skip(f"needs javassist: {error}")


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Patched]:
    with patched(NEWEST, tmp_path_factory.mktemp("patched")) as running:
        yield running


@pytest.mark.parametrize("name", PATCHES)
def test_a_patched_class_is_seen_at_the_step_where_it_shows(
    kafka: Patched, claim: Callable[..., Spec], name: str
) -> None:
    patch = PATCHES[name]
    patched = {"do": "patch", "class": patch.of, "inside": patch.inside, "call": patch.call, "instead": patch.instead}
    kafka.run([patched])
    try:
        found = Session(kafka).conform(claim(protocol=patch.protocol, **patch.bounds), Wanted())
    finally:
        kafka.run([{"do": "restore"}])
    first = min(found.divergences, key=lambda each: len(each.trace))
    assert first.action.of.name == patch.action, [str(each.action) for each in found.divergences]
    assert any(patch.field in each.field for each in first.differences), first.differences


THROWS = '$_ = $proceed($$); if ("patched".length() > 0) throw new IllegalStateException("patched");'


@pytest.mark.parametrize(
    ("of", "inside", "call"),
    [
        (PARTITION, "$anonfun$makeLeader$1", "partitionEpoch"),
        (PARTITION, "toString", "partitionState"),
        (PARTITION, "remoteReplicas", "values"),
        (CONTROLLER, "validateAlterPartitionData", "partitionEpoch"),
        (LOG, "truncateTo", "maybeHandleIOException"),
        (CONTROLLER, "replay", "topicId"),
    ],
)
def test_a_patched_class_that_throws_ends_conform_with_a_report(
    kafka: Patched, claim: Callable[..., Spec], of: str, inside: str, call: str
) -> None:
    kafka.run([{"do": "patch", "class": of, "inside": inside, "call": call, "instead": THROWS}])
    try:
        found = Session(kafka).conform(claim(**CRASHES), Wanted())
    finally:
        kafka.run([{"do": "restore"}])
    assert any("patched" in each.kafka for one in found.divergences for each in one.differences)


def test_a_leader_that_answers_by_the_committed_isr_in_place_of_the_maximal_one_is_seen(
    claim: Callable[..., Spec], tmp_path: Path
) -> None:
    """Until 3.6 a producer gets an error if the maximal ISR is too small. Of three brokers it may be large enough where
    the committed one is not.
    """
    three = claim("kafka-3.6", brokers=3, min_insync_replicas=3, isr_shrinks=1, partition_epoch_max=3)
    with patched("3.6.2", tmp_path) as kafka:
        assert Session(kafka).conform(three, Wanted()).agrees
        call = {"inside": "checkEnoughReplicasReachOffset", "call": "maximalIsr", "instead": "$_ = $0.isr();"}
        kafka.run([{"do": "patch", "class": PARTITION, **call}])
        found = Session(kafka).conform(three, Wanted())
    assert {each.field for one in found.divergences for each in one.differences} == {"b0.producer of r0"}


def test_classes_that_are_put_right_again_agree(kafka: Patched, claim: Callable[..., Spec]) -> None:
    assert Session(kafka).conform(claim(**CRASHES), Wanted()).agrees


def test_a_patch_that_changes_nothing_is_refused(kafka: Patched) -> None:
    patch = {"do": "patch", "class": REPLICA, "inside": "stateSnapshot", "call": "nothing", "instead": ";"}
    with pytest.raises(KafkaError, match="does not call nothing"):
        kafka.run([patch])
