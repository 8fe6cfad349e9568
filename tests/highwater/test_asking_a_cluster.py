"""`highwater ask --from`: settings and topics read from an operator's files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from highwater.asking.asked import Says
from highwater.asking.facts import Facts
from highwater.asking.metadata import take
from highwater.asking.questions import question_named
from highwater.asking.reading import TopicClass, read
from highwater.asking.tables import rows_of
from highwater.claims.tables import Wrong
from highwater.conformance import disk_reader
from tests.conformance.conftest import NEWEST, harness_of

Run = Callable[..., Result]
TOPICS = (
    "Topic: orders\tTopicId: DYcpSzcdQxKmFbBLZUyUGg\tPartitionCount: 2\tReplicationFactor: 3\t"
    "Configs: min.insync.replicas=2,segment.bytes=1073741824\n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\tElr: \tLastKnownElr: \n"
    "\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,3,1\tIsr: 2,3,1\tElr: \tLastKnownElr: \n"
    "Topic: logs\tTopicId: 0rWXTGWJRWeKSxjOAGlBCg\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: \n"
    "\tTopic: logs\tPartition: 0\tLeader: none\tReplicas: 1,2\tIsr: \tElr: 1\tLastKnownElr: \n"
)
CONFIGS = """Dynamic configs for topic logs are:
  min.insync.replicas=1 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=1}
All configs for broker 1 are:
  unclean.leader.election.enable=true sensitive=false synonyms={}
"""
FEATURES = (
    "Feature: eligible.leader.replicas.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\t"
    "FinalizedVersionLevel: 1\tEpoch: 9\n"
    "Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.1-IV1\t"
    "FinalizedVersionLevel: 4.1-IV1\tEpoch: 9\n"
)
STRIMZI = """apiVersion: kafka.strimzi.io/v1beta2
kind: Kafka
metadata: {name: cluster}
spec: {kafka: {version: 3.9.1, config: {min.insync.replicas: 2, unclean.leader.election.enable: true}}}
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaTopic
metadata: {name: payments}
spec: {partitions: 12, replicas: 3}
---
kind: Secret
"""


def test_topics_that_are_alike_are_one_class(tmp_path: Path) -> None:
    for name, text in (("topics", TOPICS), ("configs", CONFIGS), ("features", FEATURES)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = read(tmp_path)
    assert found.classes == (TopicClass(("logs",), 2, 1, True), TopicClass(("orders",), 3, 2, True))
    assert (found.release, found.elr, found.not_understood) == ("4.1", True, ())
    assert found.assumed == ("nothing names the release but metadata.version 4.1-IV1: brokers may be newer",)


def test_a_cluster_that_has_a_metadata_version_is_asked_nothing_about_zookeeper(tmp_path: Path) -> None:
    question = question_named("shutdown-with-zookeeper-gives-up")
    given = {"release": "3.9.2"}
    (tmp_path / "topics").write_text(TOPICS.partition("Topic: logs")[2].join(["Topic: logs", ""]), encoding="utf-8")
    (row,) = rows_of(read(tmp_path), [question], given, lambda words, progress: None)
    assert [found.says for found in row.answers if found is not None] == [Says.YES]
    (tmp_path / "features").write_text(FEATURES, encoding="utf-8")
    assert rows_of(read(tmp_path), [question], given, lambda words, progress: None) == []


@pytest.mark.parametrize(
    ("columns", "elr"),
    [("Elr: \tLastKnownElr: ", None), ("Elr: N/A\tLastKnownElr: N/A", False), ("Elr: 3\tLastKnownElr: ", True),
     ("Elr: \tLastKnownElr: 3", True)],
)  # fmt: skip
def test_an_empty_elr_says_neither_that_there_are_eligible_leader_replicas_nor_that_there_are_none(
    tmp_path: Path, columns: str, elr: bool | None
) -> None:
    head, first, second = TOPICS.splitlines()[:3]
    first = first.partition("Elr: ")[0] + columns
    (tmp_path / "topics").write_text("\n".join((head, first, second)), encoding="utf-8")
    found = read(tmp_path)
    assert found.elr is elr
    unknown = "nothing says whether eligible leader replicas are on: as in a new cluster"
    assert (unknown in found.assumed) == (elr is None)


def test_a_topic_is_asked_with_each_number_of_replicas_that_its_partitions_have(tmp_path: Path) -> None:
    """The first line of a topic has that of its first partition. Whom a reassignment takes away is none of them."""
    one = TOPICS.replace("Replicas: 2,3,1\tIsr: 2,3,1", "Replicas: 2\tIsr: 2")
    moved = "Replicas: 3,2,1\tIsr: 3,2,1\tAdding Replicas: 3,2\tRemoving Replicas: 1"
    two = TOPICS.replace("Replicas: 2,3,1\tIsr: 2,3,1", moved)
    for text, factors in ((one, (1, 3)), (two, (2, 3))):
        (tmp_path / "topics").write_text(text, encoding="utf-8")
        found = read(tmp_path)
        orders = [each for each in found.classes if "orders" in each.topics]
        assert [(each.replication_factor, each.min_isr) for each in orders] == [(each, 2) for each in factors]
        words = f"partitions of orders have {factors[0]} or {factors[1]} replicas: it is asked with each of these"
        assert words in found.assumed and found.not_understood == ()


def broker_configs(of: str, *settings: str) -> str:
    """What kafka-configs.sh prints of one broker, or of all."""
    return "\n  ".join([f"{of} are:", *(f"{each} sensitive=false synonyms={{}}" for each in settings)]) + "\n"


def test_the_worst_of_differing_broker_values_is_taken_and_named(tmp_path: Path) -> None:
    """One that says nothing has what all have by default, or what Kafka has."""
    unclean = "unclean.leader.election.enable"
    described = (
        broker_configs("All configs for broker 1", "min.insync.replicas=3"),
        broker_configs("All configs for broker 2", f"{unclean}=false"),
        broker_configs("All configs for broker 3", "min.insync.replicas=3"),
        broker_configs("Default configs for brokers in the cluster", f"{unclean}=true"),
    )
    (tmp_path / "topics").write_text(TOPICS.replace("min.insync.replicas=2,", ""), encoding="utf-8")
    (tmp_path / "configs").write_text("".join(described), encoding="utf-8")
    found = read(tmp_path)
    assert found.classes == (TopicClass(("logs",), 2, 1, True), TopicClass(("orders",), 3, 1, True))
    assert found.assumed == (
        "brokers differ in min.insync.replicas: 1 has 3, 2 has 1, 3 has 3; topics without their own are asked with 1",
        f"brokers differ in {unclean}: 1 has true, 2 has false, 3 has true; topics without their own are asked with "
        "true",
    )


FIRST = {"topicId": "A", "partitionId": 0}
RECORDED = Path(__file__).parents[1] / "conformance" / "recorded"


@pytest.mark.xdist_group("kafka")
def test_log_directories_and_a_snapshot_of_the_metadata_are_read(
    highwater: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with harness_of(NEWEST):
        pass
    monkeypatch.setattr(disk_reader, "reader_release", lambda: NEWEST)
    for path in (RECORDED / "snapshot", next(RECORDED.glob("snapshot/controller/data/*/*.checkpoint"))):
        found = read(path)
        (alike,) = found.classes
        assert alike == TopicClass(("t",), 3, 2, False) and found.release == "4.3", path
    torn = tmp_path / "00000000000000000340-0000000001.checkpoint"
    whole = next(RECORDED.glob(f"snapshot/controller/data/*/{torn.name}")).read_bytes()
    torn.write_bytes(whole[: len(whole) - 9])
    done = highwater("ask", "--from", torn)
    assert done.exit_code == 2 and f"{torn.name}: cannot be read" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_metadata_records_give_the_final_settings_of_topics() -> None:
    records = [
        ("TopicRecord", {"topicId": "A", "name": "t"}),
        ("TopicRecord", {"topicId": "B", "name": "gone"}),
        ("PartitionRecord", {**FIRST, "replicas": [0, 1, 3]}),
        ("PartitionRecord", {"topicId": "B", "partitionId": 0, "replicas": [0]}),
        ("PartitionChangeRecord", {**FIRST, "replicas": [2, 0, 1], "removingReplicas": [1]}),
        ("ConfigRecord", {"resourceType": 2, "resourceName": "t", "name": "min.insync.replicas", "value": "2"}),
        ("ConfigRecord", {"resourceType": 2, "resourceName": "t", "name": "min.insync.replicas", "value": None}),
        ("ConfigRecord", {"resourceType": 4, "resourceName": "", "name": "min.insync.replicas", "value": "3"}),
        ("ConfigRecord", {"resourceType": 2, "resourceName": "gone", "name": "min.insync.replicas", "value": "2"}),
        ("RemoveTopicRecord", {"topicId": "B"}),
        ("TopicRecord", {"topicId": "C", "name": "gone"}),
        ("PartitionRecord", {"topicId": "C", "partitionId": 0, "replicas": [0]}),
        ("FeatureLevelRecord", {"name": "metadata.version", "featureLevel": 29}),
        ("FeatureLevelRecord", {"name": "eligible.leader.replicas.version", "featureLevel": 0}),
    ]
    facts = Facts()
    take([{"records": [{"type": kind, "record": record} for kind, record in records]}], facts)
    assert facts == Facts(
        factors={"t": {2}, "gone": {1}},
        configs={"t": {}},
        brokers={"": {"min.insync.replicas": "3"}},
        metadata_version="4.2",
        elr=False,
    )


def test_resources_of_strimzi_are_read_and_others_are_named(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "all.yaml").write_text(STRIMZI, encoding="utf-8")
    found = read(tmp_path / "all.yaml")
    assert found.classes == (TopicClass(("payments",), 3, 2, True),) and found.release == "3.9.1"
    assert [each.partition("yaml: ")[2] for each in found.not_understood] == [
        '"Secret" is no Kafka, and no KafkaTopic with replicas and a name'
    ]


@pytest.mark.parametrize("end", [len(TOPICS) - 60, TOPICS.index("Partition: 1"), TOPICS.index("2,3,1\tElr") + 2])
def test_an_output_that_is_cut_in_half_is_refused_in_one_line(highwater: Run, tmp_path: Path, end: int) -> None:
    (tmp_path / "topics").write_text(TOPICS[:end], encoding="utf-8")
    done = highwater("ask", "--from", tmp_path / "topics", "--release", "4.1.1")
    assert done.exit_code == 2 and "the output is cut off: 1 of the partitions" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing there describes a topic"),
        (TOPICS.replace("replicas=2", "replicas=two"), 'min.insync.replicas of orders: "two" is no number of replicas'),
        ("kind: [", "is not YAML"),
        (TOPICS, "nothing there names the release of Kafka; add --release"),
    ],
)
def test_an_unreadable_file_is_refused_in_one_line(highwater: Run, tmp_path: Path, text: str, message: str) -> None:
    pytest.importorskip("yaml")
    (tmp_path / "file").write_text(text, encoding="utf-8")
    done = highwater("ask", "--from", tmp_path / "file")
    assert done.exit_code == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_line_that_is_not_understood_is_named_and_a_wide_topic_is_not_asked(highwater: Run, tmp_path: Path) -> None:
    wide = TOPICS.replace("3\tIsr", "3,4,5\tIsr").replace("3,1\tIsr", "3,1,4,5\tIsr") + "no such line\n"
    (tmp_path / "topics").write_text(wide, encoding="utf-8")
    data = tmp_path / "answers.json"
    asked = ("ask", "running-broker-unregistered", "--from", tmp_path / "topics", "--release", "4.1.1", "--json", data)
    done = highwater(*asked)
    assert done.exit_code == 0
    assert "orders: replication factor 5 is above 3" in " ".join(done.stdout.split())
    assert "topics:6:" in done.stdout and "nothing says min.insync.replicas of logs: 1" in " ".join(done.stdout.split())
    (question,) = json.loads(data.read_text(encoding="utf-8"))["questions"]
    assert [each["answer"] for each in question["answers"]] == ["yes"]


def test_the_worst_comes_first_and_other_settings_are_no_question(tmp_path: Path) -> None:
    (tmp_path / "topics").write_text(TOPICS, encoding="utf-8")
    names = ("running-broker-unregistered", "all-must-be-in-sync", "power-loss-of-the-only-member", "elr-switched-on")
    given = {"release": "4.1.1"}
    rows = rows_of(read(tmp_path), map(question_named, names), given, lambda words, progress: None)
    assert [row.question.name for row in rows] == [
        "power-loss-of-the-only-member",
        "running-broker-unregistered",
        "elr-switched-on",
    ]
    assert [each and each.says for each in rows[0].answers] == [Says.YES, None], "of two replicas, and not of three"


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match="No such file"):
        read(tmp_path / "nothing")


@pytest.mark.parametrize(
    "options",
    [["--expect", "no"], ["--html", "x.html"], ["--min-isr", "1"], ["--replication-factor", "2"], ["--unclean"]],
)
def test_options_that_a_cluster_makes_meaningless_are_refused(
    highwater: Run, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "topics").write_text(TOPICS, encoding="utf-8")
    ended = highwater("ask", "--from", tmp_path, *options)
    assert ended.exit_code == 2
    assert f"{options[0]} has no meaning with --from" in ended.stderr
    assert highwater("ask", "--list", "--expect", "no").exit_code == 2


@pytest.mark.parametrize(
    "odd",
    [
        "kind: KafkaTopic\nmetadata: foo\nspec: {replicas: 3}\n",
        "kind: KafkaTopic\nspec: {replicas: 3}\n",
        "kind: KafkaTopic\nmetadata: {name: none}\nspec: {replicas: 0}\n",
        "kind: Kafka\nspec: {kafka: {version: 3.9.1, config: [a, b]}}\n",
    ],
)
def test_odd_resources_are_named_and_not_understood(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(f"{STRIMZI}---\n{odd}", encoding="utf-8")
    found = read(path)
    assert len(found.not_understood) == 2, "a secret, and this"
    assert [each.topics for each in found.classes] == [("payments",)]


def test_a_number_in_other_digits_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(STRIMZI.replace("min.insync.replicas: 2", "min.insync.replicas: \u00b2"), encoding="utf-8")
    with pytest.raises(Wrong, match="is no number of replicas"):
        read(path)
