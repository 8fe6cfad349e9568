"""Differences between two releases in the classes and methods that Highwater's Java programs use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from highwater.conformance.changed import differences, used
from highwater.conformance.distribution import find
from tests.conformance.conftest import harness_of


def test_classes_and_members_are_read_from_the_sources_of_the_programs() -> None:
    found = used()
    assert {"kafka.server.ReplicaManager", "org.apache.kafka.controller.ReplicationControlManager"} <= found.classes
    assert "org.apache.kafka.common.message.AlterPartitionRequestData" in found.classes  # an import
    assert {"applyDelta", "setTargetIsr", "alterPartition", "setNewIsrWithEpochs"} <= found.members


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_classes_that_moved_and_members_that_are_gone_or_differ_are_listed() -> None:
    for release in ("4.3.1", "4.4.0"):
        harness_of(release)
    found = list(differences(find("4.3.1"), find("4.4.0")))
    for expected in (
        "moved    org.apache.kafka.common.utils.LogContext -> org.apache.kafka.common.utils.internals.LogContext",
        "gone     kafka.log.LogManager#asyncDelete",
        "gone     org.apache.kafka.storage.internals.log.UnifiedLog#closeHandlers",  # no program names this class
        "changed  org.apache.kafka.controller.ReplicationControlManager#createTopics",
        "changed  kafka.cluster.Partition#truncateTo",  # in a function inside of it
    ):
        assert expected in found
    raft = "org.apache.kafka.raft.KafkaRaftClient#shutdown: public java.util.concurrent."
    assert f"declared {raft}CompletableFuture<java.lang.Void> shutdown(int) -> public java.util.concurrent." in "".join(
        found
    )
    assert not [line for line in found if "PartitionChangeBuilder" in line]  # is the same in both


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_a_release_has_no_difference_from_itself() -> None:
    harness_of("4.4.0")
    assert list(differences(find("4.4.0"), find("4.4.0"))) == []


@pytest.mark.parametrize(
    ("arguments", "words"), [(["4.3.1"], "usage: "), (["4.3.1", "3.4.0"], "Kafka 3.4.0 is too old")]
)
def test_wrong_releases_are_one_line(arguments: list[str], words: str) -> None:
    command = [sys.executable, "-m", "highwater.conformance.changed", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 2
    assert words in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
