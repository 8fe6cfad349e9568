"""Defects of KafkaRaftClient, written as tests of Kafka's own kind, on a release that has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater import conformance
from highwater.conformance.distribution import KafkaError
from highwater.conformance.distribution import test_class_path as class_path_with_tests
from tests.conformance.junit import run_junit

SOURCE = Path(conformance.__file__).parent / "kafka_defects" / "RaftDefectsTest.java"
FAILS = {
    "theAnswerOfARemovedVoterDoesNotEndTheLeader": "Unexpected acknowledgement from non-voter 2",
    "anObserverThatHasStoredTheLeaderFollowsIt": "Expected to be Follower, but the current state is UnattachedState(",
    "aLogThatIsTruncatedToItsSnapshotHasALastFetchedEpoch": "Log doesn't have a last fetch epoch and",
}


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")  # with others that resolve a release
def test_each_defect_of_the_raft_client_fails_its_test_on_4_3_1(tmp_path: Path) -> None:
    try:
        jars = class_path_with_tests("4.3.1")
    except KafkaError as error:
        pytest.skip(f"needs Kafka's test jars: {error}")
    said = run_junit(tmp_path, "org.apache.kafka.raft.RaftDefectsTest", SOURCE.read_text(), jars)
    assert "3 tests failed" in said, said
    lines = [line for line in said.splitlines() if "✘" in line]
    for name, why in FAILS.items():
        (line,) = [line for line in lines if f"{name}(" in line]
        assert why in line
