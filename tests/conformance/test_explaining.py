"""Log directories of real clusters are read by Kafka's classes, explained by the model's steps, and judged.

`recorded/kill_and_return` is what three brokers and a controller of 4.1.1 have left, without index files and without
the brokers' copies of the metadata log: b1 was killed, fenced, and came back; leadership moved to b2; b0 shut down and
came back. `recorded/lost_record` is what `highwater reproduce` has left of 4.1.1 and the missed election, without the
replicas of its second topic, and of the brokers' lines those about the first topic's leader epochs.
`recorded/snapshot` is what the controller and b0 of 4.3.1 have left, with snapshots of metadata every 1,500 bytes and
older segments deleted.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from highwater.cli.main import main
from highwater.conformance import disk_reader
from highwater.conformance.disk import Batch, Copy, Disk, Finding
from highwater.conformance.disk_reader import without_undone
from highwater.conformance.distribution import Distribution, KafkaError, find
from highwater.conformance.explaining import Explained, explain_directories
from highwater.conformance.history import History
from highwater.conformance.metadata_versions import preset_of_level
from highwater.conformance.on_disk import judge
from highwater.reports.explaining import show
from tests.conformance.conftest import NEWEST, harness_of

RECORDED = Path(__file__).parent / "recorded" / "kill_and_return"
TOPIC = "topic-id"


# Histories


def broker(number: int, fenced: bool = False) -> dict[str, Any]:
    record = {"brokerId": number, "brokerEpoch": number, "fenced": fenced, "inControlledShutdown": False}
    return {"type": "RegisterBrokerRecord", "record": record}


def standing(number: int, **change: Any) -> dict[str, Any]:
    return {"type": "BrokerRegistrationChangeRecord", "record": {"brokerId": number, "brokerEpoch": number, **change}}


def change(**changes: Any) -> dict[str, Any]:
    return {"type": "PartitionChangeRecord", "record": {"partitionId": 0, "topicId": TOPIC, **changes}}


CREATED = (
    *map(broker, range(3)),
    {"type": "TopicRecord", "record": {"name": "t", "topicId": TOPIC}},
    {
        "type": "PartitionRecord",
        "record": {
            "partitionId": 0,
            "topicId": TOPIC,
            "replicas": [0, 1, 2],
            "isr": [0, 1, 2],
            "leader": 0,
            "leaderEpoch": 0,
            "partitionEpoch": 0,
        },
    },
)
ELR = {"type": "FeatureLevelRecord", "record": {"name": "eligible.leader.replicas.version", "featureLevel": 1}}


def min_isr(value: str | None, **of: Any) -> dict[str, Any]:
    record = {"resourceType": 2, "resourceName": "t", "name": "min.insync.replicas", "value": value}
    return {"type": "ConfigRecord", "record": record | of}


def steps(*batches: tuple[dict[str, Any], ...], preset: str = "kafka-4.1") -> list[tuple[str, ...] | None]:
    """What explains each batch after the partition was created; one that does not concern it is left out."""
    history = History(preset)
    for number, records in enumerate((CREATED, *batches)):
        history.take({"base": number, "time": 0, "records": records})
    return [event.steps for event in history["t-0"][1:]]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ((change(isr=[0, 2]), standing(1, fenced=1)), ("fence(broker b1)",)),
        ((change(isr=[1, 2], leader=1), standing(0, fenced=1)), ("fence(broker b0)",)),
        ((change(leader=2),), None),  # b0 is preferred, and leads
        ((change(isr=[0, 1]),), ("alter_partition(leader b0)",)),
        (
            (change(isr=[1, 2], leader=1), standing(0, inControlledShutdown=1)),
            ("enter_controlled_shutdown(broker b0)",),
        ),
        ((change(isr=[0, 2]), standing(1, logDirs=["D"])), ("take_out_failed_directory(broker b1)",)),
        ((change(isr=[0, 2]), standing(1, cordonedLogDirs=["D"])), ("alter_partition(leader b0)",)),
        ((standing(1, fenced=1), change(isr=[0, 2])), None),  # ISRs are recorded before the broker
        ((standing(1, fenced=1),), None),  # and b1 stays in the ISR
        ((change(replicas=[2, 1, 0]),), ("reassign(replicas b2 b1 b0)",)),
        ((change(isr=[0, 1], leader=0),), None),  # 4.1 starts no leader epoch for it
        ((change(isr=[1, 2]),), None),  # the leader is out of the ISR
        ((change(leader=1), standing(1, fenced=1)), None),  # a fenced broker is elected
        ((change(),), None),  # nothing but a partition epoch
    ],
)
def test_a_batch_is_explained_by_the_steps_of_the_controller(
    records: tuple[dict[str, Any], ...], expected: tuple[str, ...] | None
) -> None:
    assert steps(records) == [expected]


def test_each_preset_explains_only_the_behaviour_of_its_release() -> None:
    fenced = (change(isr=[0, 2]), standing(1, fenced=1))
    in_a_new_epoch = (change(isr=[0, 2], leader=0), standing(1, fenced=1))
    assert steps(fenced, preset="kafka-3.5") == [None]
    assert steps(in_a_new_epoch, preset="kafka-3.5") == [("fence(broker b1)",)]
    assert steps(in_a_new_epoch) == [None]


def test_a_history_names_the_rules_that_each_change_was_held_against() -> None:
    """metadata.version was raised from 3.5 to 4.1 in between."""
    history = History(None)
    levels = [
        {"type": "FeatureLevelRecord", "record": {"name": "metadata.version", "featureLevel": n}} for n in (9, 27)
    ]
    for number, records in enumerate(([levels[0], *CREATED], [change(leader=2)], [levels[1]], [change(isr=[1, 2])])):
        history.take({"base": number, "time": 0, "records": records})
    assert [event.preset for event in history["t-0"]] == ["kafka-3.5", "kafka-3.5", "kafka-4.1"]
    found = Explained(history.preset, NEWEST, Disk({}, (), (), None, 0, 3, 0, ()), history, ())
    console = Console(file=io.StringIO(), width=200)
    show(console, found)
    first, *_, last = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert first == "t-0: kafka-3.5 does not explain the records at offset 1 of the metadata log"
    assert last.endswith("1 partition not explained by kafka-3.5 and kafka-4.1, 0 findings")


@pytest.mark.parametrize(
    ("level", "elected"),
    [(9, False), (20, False), (21, True), (25, True)],  # of 3.5, 3.8, 3.9, 4.0
)
def test_unclean_elections_are_configured_from_3_9_on(level: int, elected: bool) -> None:
    """The last member of the ISR is fenced. Until 3.8 controllers ignore unclean.leader.election.enable."""
    version = {"type": "FeatureLevelRecord", "record": {"name": "metadata.version", "featureLevel": level}}
    configured = {"resourceType": 2, "resourceName": "t", "name": "unclean.leader.election.enable", "value": "true"}
    alone = change(isr=[0], **({"leader": 0} if level < 12 else {}))
    for unclean in (True, False):
        last = change(leader=1, isr=[1], leaderRecoveryState=1) if unclean else change(leader=-1)
        history = History(None)
        batches = [version, *CREATED], [{"type": "ConfigRecord", "record": configured}], [alone]
        for number, records in enumerate((*batches, [last, standing(0, fenced=1)])):
            history.take({"base": number, "time": 0, "records": records})
        explained = history["t-0"][-1].steps == ("fence(broker b0)",)
        assert explained is (unclean == elected), history["t-0"]


@pytest.mark.parametrize("preset", ["kafka-3.5", "kafka-3.6", "kafka-3.8", "kafka-4.1"])
def test_the_last_member_of_an_isr_stays_in_it_when_it_is_fenced(preset: str) -> None:
    alone = change(isr=[0], **({"leader": 0} if preset == "kafka-3.5" else {}))
    fenced = (change(leader=-1), standing(0, fenced=1))
    assert steps((alone,), fenced, preset=preset)[-1] == ("fence(broker b0)",)


def test_a_broker_that_amends_its_registration_stays_in_sync() -> None:
    """As each does once metadata.version knows directories; one of another incarnation has been away."""

    def registered(incarnation: str) -> tuple[dict[str, Any], ...]:
        record = broker(1)
        return ({**record, "record": {**record["record"], "incarnationId": incarnation, "logDirs": ["D"]}},)

    away = (change(isr=[0, 2]), *registered("second"))
    assert steps(registered("first"), (change(isr=[0, 2]),), (change(isr=[0, 1, 2]),), registered("first"))[2:] == [
        ("alter_partition(leader b0)",)
    ]
    assert steps(away, preset="kafka-4.1") == [("register_again(broker b1)",)]
    assert steps(registered("second"))[0] is None


def test_each_level_of_metadata_version_has_rules() -> None:
    """Also those from before 3.3, which a cluster may have kept over upgrades, and those to come."""
    found = [preset_of_level(level) for level in (1, 3, 4, 8, 21, 22, 99)]
    assert found == ["kafka-3.3", "kafka-3.3", "kafka-3.3.2", "kafka-3.4", "kafka-3.8", "kafka-4.0", "kafka-4.3"]


def test_partitions_that_are_taken_over_from_zookeeper_are_explained() -> None:
    """They begin as they are there, and a controller that finds half of them takes them over again."""
    taken_over = {**CREATED[-1]["record"], "isr": [2], "leader": 2, "leaderEpoch": 7, "partitionEpoch": 9}
    batch = {"type": "PartitionRecord", "record": taken_over}
    state = [{"type": "ZkMigrationStateRecord", "record": {"zkMigrationState": each}} for each in (2, 1)]
    assert steps((state[0],), (batch,), (batch,)) == [("migrate_from_zookeeper",)] * 2
    assert steps((state[0],), (state[1],), (batch,)) == [None]


def test_records_of_an_aborted_transaction_count_for_nothing() -> None:
    """So do those of one that has not ended."""
    kinds = [["A"], ["B", "Begin", "C"], ["D"], ["Abort", "E"], ["Begin", "F"], ["G", "End"], ["Begin", "H"]]
    named = {each: {"type": f"{each}TransactionRecord"} for each in ("Begin", "Abort", "End")}
    batches = [{"records": [dict(named.get(each, {"type": each})) for each in batch]} for batch in kinds]
    left = [
        each["type"] for batch in without_undone(batches) for each in batch["records"] if len(each.get("type", "")) == 1
    ]
    assert left == ["A", "B", "E", "F", "G"]


def test_eligible_leader_replicas_follow_the_clusters_feature() -> None:
    last = change(isr=[0], eligibleLeaderReplicas=[1])
    records = [(ELR, min_isr("2")), (change(isr=[0, 1]),), (last, standing(1, fenced=1))]
    assert steps(*records)[-1] == ("fence(broker b1)",)
    assert steps(*records[1:])[-1] is None


@pytest.mark.parametrize(
    "meanwhile",
    [
        (min_isr(None),),  # the topic goes by the cluster's default again
        (min_isr("1"), min_isr("2", resourceType=4, resourceName="t")),  # of a broker that is named as the topic is
    ],
)
def test_a_topic_has_its_own_configurations_until_they_are_deleted(meanwhile: tuple[dict[str, Any], ...]) -> None:
    last = change(isr=[0], eligibleLeaderReplicas=[1])
    records = [(ELR, min_isr("2")), (change(isr=[0, 1]),), meanwhile, (last, standing(1, fenced=1))]
    assert steps(*records)[-1] is None  # one member is enough: nobody becomes eligible


def test_a_topic_that_is_created_anew_has_no_configurations_of_the_former_one() -> None:
    history = History("kafka-4.1")
    compact = {"resourceType": 2, "resourceName": "t", "name": "cleanup.policy", "value": "COMPACT"}
    topic = {"type": "TopicRecord", "record": {"topicId": "A", "name": "t"}}
    history.take({"base": 0, "time": 0, "records": [topic, {"type": "ConfigRecord", "record": compact}]})
    assert history.may_be_compacted("t")
    gone = {"type": "RemoveTopicRecord", "record": {"topicId": "A"}}
    again = {"type": "TopicRecord", "record": {"topicId": "B", "name": "t"}}
    history.take({"base": 1, "time": 0, "records": [gone, again]})
    assert not history.may_be_compacted("t")


@pytest.mark.parametrize(
    ("policies", "compacted"),
    [
        ([(2, "t", "cleanup.policy", "delete")], False),
        ([(2, "t", "cleanup.policy", "compact,delete"), (2, "t", "cleanup.policy", "delete")], True),  # gaps stay
        ([(2, "t", "cleanup.policy", "compact"), (2, "t", "cleanup.policy", None)], True),
        ([(2, "u", "cleanup.policy", "compact")], False),
        ([(4, "", "log.cleanup.policy", "compact")], True),
        ([(4, "1", "log.cleanup.policy", "compact")], True),
    ],
)
def test_a_log_that_is_or_was_compacted_may_have_gaps(policies: list[tuple[Any, ...]], compacted: bool) -> None:
    history = History("kafka-4.1")
    keys = ("resourceType", "resourceName", "name", "value")
    records = [{"type": "ConfigRecord", "record": dict(zip(keys, each, strict=True))} for each in policies]
    history.take({"base": 0, "time": 0, "records": records})
    assert history.may_be_compacted("t") == compacted


def test_a_broker_that_returns_is_unfenced_and_joins_again() -> None:
    batches = [
        (change(isr=[0, 2]), standing(1, fenced=1)),
        (broker(1, fenced=True),),
        (standing(1, fenced=-1),),
        (change(isr=[0, 1, 2]),),
    ]
    assert steps(*batches) == [
        ("fence(broker b1)",),
        ("unfence(broker b1)",),
        ("alter_partition(leader b0)",),
    ]


# Properties


def copy(
    node: int, *epochs: int, cache: tuple[tuple[int, int], ...] | None = None, mark: int = 0, **different: int
) -> Copy:
    """A replica with a batch of one record for each epoch; `different` has the checksum of a batch."""
    batches = tuple(Batch(at, at, epoch, different.get(f"at{at}", at)) for at, epoch in enumerate(epochs))
    if cache is None:
        cache = tuple((epoch, epochs.index(epoch)) for epoch in dict.fromkeys(epochs))
    return Copy(node, "t-0", f"b{node}/t-0", batches, cache, mark)


def properties(*copies: Copy, isr: tuple[int, ...] = (0, 1)) -> list[str]:
    return [found.property for found in judge(copies, isr, compacted=False)]


def test_replicas_that_fit_together_have_no_findings() -> None:
    assert properties(copy(0, 0, 0, 1, mark=2), copy(1, 0, 0, mark=2)) == []
    assert properties(copy(0, 0, 0, 1, mark=2), copy(1, 0, 0, 0, mark=2)) == []  # differ above the high watermarks
    assert properties(copy(0, 0, cache=((0, 0), (2, 1)))) == []  # an epoch without records


def test_deleted_records_are_not_judged() -> None:
    one, other = copy(0, 0, 0, 1, 1, cache=((1, 3),)), copy(1, 0, 0, 1, 1)
    assert properties(one, other) == ["epoch_cache_matches_the_log"]
    assert properties(attrs.evolve(one, log_start=3), other) == []
    empty = Copy(0, "t-0", "b0/t-0", (), ((4, 500),), 500, 500, 500)
    assert (empty.start, empty.end) == (500, 500)
    assert properties(empty, attrs.evolve(empty, node=1)) == []


@pytest.mark.parametrize(
    ("expected", "copies"),
    [
        ("epochs_never_decrease", [copy(0, 1, 0, cache=())]),
        ("epoch_cache_matches_the_log", [copy(0, 0, 1, cache=((0, 0),))]),
        ("epoch_cache_matches_the_log", [copy(0, 0, cache=())]),
        ("epoch_cache_is_in_order", [copy(0, 0, 0, cache=((0, 0), (0, 1)))]),
        ("epoch_cache_is_within_the_log", [copy(0, 0, cache=((0, 0), (1, 5)))]),
        ("high_watermark_is_within_the_log", [copy(0, 0, mark=2)]),
        ("epochs_identify_records", [copy(0, 0, 0), copy(1, 0, 0, at1=9)]),
        ("logs_agree_below_high_watermarks", [copy(0, 0, 0, mark=2), copy(1, 0, 1, mark=2)]),
        ("candidates_are_complete", [copy(0, 0, 0, mark=2), copy(1, 0)]),
    ],
)
def test_each_property_is_violated_by_what_breaks_it(expected: str, copies: list[Copy]) -> None:
    assert expected in properties(*copies)


def test_gaps_and_differing_batches_are_wrong_unless_a_log_is_compacted() -> None:
    gap = Copy(0, "t-0", "b0/t-0", (Batch(0, 0, 0, 0), Batch(5, 5, 0, 5)), ((0, 0),), 0)
    assert [each.property for each in judge([gap], (), compacted=False)] == ["offsets_have_no_gap"]
    assert list(judge([gap, copy(1, 0, 0, at0=7)], (), compacted=True)) == []


# On disk


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(main, ["explain", *map(str, arguments)])


@pytest.fixture(scope="module")
def kafka() -> None:
    harness_of(NEWEST)


@pytest.fixture(scope="module")
def explained(kafka: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, dict[str, Any], str]:
    """The recorded directories explained: what is printed, the JSON, and the page."""
    folder = tmp_path_factory.mktemp("explained")
    result = run(RECORDED, "--kafka", NEWEST, "--json", folder / "e.json", "--html", folder / "e.html")
    data = json.loads((folder / "e.json").read_text(encoding="utf-8"))
    return result, data, (folder / "e.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
def test_a_kill_and_return_run_is_explained(explained: tuple[Result, dict[str, Any], str]) -> None:
    result, data, html = explained
    assert result.exit_code == 0, result.output
    assert "t-0: 7 changes, all explained by kafka-4.1\n" in result.output
    assert "4 log directories, 7 changes of 1 partition, all explained by kafka-4.1, 0 findings" in result.output
    assert data["directories"] == {"b0/data": 0, "b1/data": 1, "b2/data": 2, "controller/data": 100}
    history = data["partitions"]["t-0"]["history"]
    assert [each["steps"][0] for each in history] == [
        "created",
        "fence(broker b1)",
        "unfence(broker b1)",
        "alter_partition(leader b0)",
        "reassign(replicas b2 b0 b1)",
        "elect_preferred_leader",
        "fence(broker b0)",
        "unfence(broker b0)",
        "alter_partition(leader b2)",
    ]
    assert history[-1]["leader_epoch"] == 1
    assert [each["epochs"] for each in data["partitions"]["t-0"]["replicas"]] == [[[0, 0], [1, 5]]] * 3
    wrong = run(RECORDED, "--kafka", NEWEST, "--partition", "t-1")
    assert (wrong.exit_code, wrong.output) == (2, 'highwater: --partition: there is no t-1 (did you mean "t-0"?)\n')
    assert html.count("<tr>") == 11  # the header, nine events, and what is on disk
    assert "http" not in html.replace("http-equiv", "")


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
def test_the_first_record_that_no_step_explains_is_named(tmp_path: Path) -> None:
    """A controller of 3.8 notes the last known leader when the ISR becomes empty, one of 4.4 when nobody leads."""
    log = RECORDED.parent / "random_operations" / "4.4.0"
    result = run(log, "--kafka", NEWEST, "--preset", "3.8.0", "--html", tmp_path / "e.html")
    assert result.exit_code == 1
    assert "t0-0: kafka-3.8 does not explain the records at offset 101 of the metadata log\n" in result.output
    assert "no decision of the controller explains this (PartitionChangeRecord)" in result.output
    assert "not explained</span>" in (tmp_path / "e.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
def test_a_lost_record_violates_properties_on_disk(tmp_path: Path) -> None:
    """The controller did nothing wrong, and a broker still remembers a high watermark above a record that is gone. What
    went wrong is in the brokers' lines: b0 led in epoch 0, and leads again in epoch 2.
    """
    lost = RECORDED.parent / "lost_record"
    result = run(lost, "--kafka", NEWEST, "--json", tmp_path / "e.json", "--html", tmp_path / "e.html")
    assert result.exit_code == 1
    assert "t-0: 7 changes, all explained by kafka-4.1\n" in result.output
    findings = [line.split("  ")[0] for line in result.output.splitlines() if line[:1].isalpha() and "data/t-0" in line]
    assert findings == ["high_watermark_is_within_the_log", "candidates_are_complete", "candidates_are_complete"]
    assert "the high watermark in the checkpoint is 1, and the log ends at 0" in result.output
    learned = "b0 leads in e2 v4 from offset 1, high watermark 0, after e0, missed e1"
    assert f"{' ' * 22}{learned}\n" in result.output
    assert "missed_election  t-0, b0/lines.log:12: b0 begins e2 after e0: it missed e1 of b2. " in result.output
    assert "67 lines in 3 files of brokers' lines: 10 leader epochs begun by b0 b1 b2\n" in result.output
    data = json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))
    (again,) = (each for each in data["partitions"]["t-0"]["learned"] if each["missed"] and each["broker"] == 0)
    assert (again["behind"], again["previous_leader_epoch"]) == (77, 0)
    assert again["missed"] == [{"leader_epoch": 1, "leader": 2}]
    assert [each["name"] for each in data["remarks"]] == ["missed_election", "missed_election"]
    assert data["lines"]["files"] == {"b0/lines.log": 19, "b1/lines.log": 21, "b2/lines.log": 27}
    html = (tmp_path / "e.html").read_text(encoding="utf-8")
    assert html.count("missed an election</span>") == 2
    assert "leads e2 v4" in html
    assert html.index("<h2>t-0</h2>") < html.index("<h2>scratch-0</h2>")  # what is wrong comes first


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
def test_a_metadata_log_without_its_beginning_goes_on_from_its_oldest_whole_snapshot(tmp_path: Path) -> None:
    root = tmp_path / "snapshot"
    shutil.copytree(RECORDED.parent / "snapshot", root)
    shutil.copytree(root / "controller", root / "flipped")
    shutil.copytree(root / "controller", root / "without")
    for checkpoint in (root / "without").rglob("*.checkpoint"):
        checkpoint.unlink()
    (oldest,) = (root / "flipped").rglob("*304-0000000001.checkpoint")
    data = bytearray(oldest.read_bytes())
    data[-3] ^= 0xFF
    oldest.write_bytes(data)
    result = run(root, "--kafka", NEWEST, "--json", tmp_path / "e.json")
    assert "  304  as the snapshot has it       b2 leads e26, ISR b0 b1 b2, v52\n" in result.output
    assert "  306  reassign(replicas b0 b1 b2)  b2 leads e26, ISR b0 b1 b2, v53\n" in result.output
    assert "t-0: 15 changes, all explained by kafka-4.3\n" in result.output
    found = json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))
    folder = "data/__cluster_metadata-0"
    assert [(each["property"], each["where"]) for each in found["findings"]] == [
        ("readable", f"flipped/{folder}/{oldest.name}"),
        ("epoch_cache_matches_the_log", f"without/{folder}/leader-epoch-checkpoint"),
    ]
    learned = found["partitions"]["t-0"]["learned"]
    assert [each["leader_epoch"] for each in learned] == list(range(34))
    assert [each["behind"] for each in learned[25:29]] == [None, 304, 307, 315]


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("former", [True, False])
def test_lines_about_a_topic_that_was_gone_before_the_snapshot_are_not_judged(former: bool, tmp_path: Path) -> None:
    """The former topic of the name had come to a later leader epoch."""
    root = tmp_path / "snapshot"
    shutil.copytree(RECORDED.parent / "snapshot", root)
    topic_id = FORMER if former else "1PRNIi48QJ2pV43yCYOnMA"
    begun = f"[Broker id=1] Creating new partition t-0 with topic id {topic_id}.\n"
    follows = (
        "starts at leader epoch 70 from offset 5 with partition epoch 90 and high watermark 4. Current leader is 2."
    )
    line = f"[Broker id=1] Follower t-0 {follows} Previous leader Some(2) and previous leader epoch was 69.\n"
    (root / "former.log").write_text(begun + line, encoding="utf-8")
    found = explain_directories(root, find(NEWEST), None)
    assert [each.property for each in found.findings] == ([] if former else ["learned_epochs_are_recorded"])
    (learned,) = (each for each in found.learned["t-0"] if each.leader_epoch == 70)
    assert (learned.behind == -1) is former
    assert learned.topic_id == topic_id


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("release", ["4.0.0", "4.1.1"])
def test_older_readers_find_the_same(explained: tuple[Result, dict[str, Any], str], release: str) -> None:
    harness_of(release)
    assert run(RECORDED, "--kafka", release).stdout == explained[0].stdout


DAMAGES = (
    "cut",
    "flipped",
    "flipped-length",
    "no-checkpoint",
    "garbage-checkpoint",
    "garbage-epochs",
    "no-epochs",
    "no-node",
    "nameless",
)


def damage(kind: str, folder: Path) -> None:
    """Damage one log directory."""
    segment, epochs = folder / "t-0" / f"{0:020}.log", folder / "t-0" / "leader-epoch-checkpoint"
    data = bytearray(segment.read_bytes())
    match kind:
        case "cut":
            segment.write_bytes(data[:-10])
        case "flipped":
            data[-3] ^= 0xFF
            segment.write_bytes(data)
        case "flipped-length":
            data[100] ^= 0xFF
            segment.write_bytes(data)
        case "no-checkpoint":
            (folder / "replication-offset-checkpoint").unlink()
        case "garbage-checkpoint":
            (folder / "replication-offset-checkpoint").write_bytes(b"\xff\x00not a checkpoint")
        case "garbage-epochs":
            epochs.write_text("0\n2\n0 zero\n", encoding="utf-8")
        case "no-epochs":
            epochs.unlink()
        case "no-node":
            (folder / "meta.properties").write_text("version=1\n", encoding="utf-8")
        case "nameless":
            (folder / "meta.properties").unlink()


@pytest.fixture(scope="module")
def damaged(kafka: None, tmp_path_factory: pytest.TempPathFactory) -> Explained:
    """The recorded directories, and for each kind of damage another copy of b1's, all read at once."""
    root = tmp_path_factory.mktemp("damaged")
    shutil.copytree(RECORDED, root, dirs_exist_ok=True)
    for kind in DAMAGES:
        shutil.copytree(RECORDED / "b1", root / kind)
        damage(kind, root / kind / "data")
    shutil.copytree(RECORDED / "controller", root / "cut-metadata")
    log = root / "cut-metadata" / "data" / "__cluster_metadata-0" / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-7])
    before = {path: path.read_bytes() for path in files(root)}
    found = explain_directories(root, find(NEWEST), "kafka-4.1")
    assert {path: path.read_bytes() for path in files(root)} == before, "reading changed something"
    return found


def files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file())


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize(
    ("kind", "file", "words"),
    [
        ("cut", "t-0/00000000000000000000.log", "60 of 439 bytes are no whole batch, from byte 379 on: by its length"),
        ("flipped", "t-0/00000000000000000000.log", "CorruptRecordException: Record is corrupt"),
        ("flipped-length", "t-0/00000000000000000000.log", "359 of 449 bytes are no whole batch, from byte 90 on"),
        ("cut-metadata", "__cluster_metadata-0/00000000000000000000.log", "by its length, the next batch ends behind"),
        ("no-checkpoint", "replication-offset-checkpoint", "is missing"),
        ("garbage-checkpoint", "replication-offset-checkpoint", "cannot be read: "),
        (
            "garbage-epochs",
            "t-0/leader-epoch-checkpoint",
            "cannot be read: NumberFormatException: For input string",
        ),
        ("no-epochs", "t-0/leader-epoch-checkpoint", "is missing"),
        ("no-node", "meta.properties", "has no node.id that is a number"),
        ("nameless", "meta.properties", "is missing, so that nobody knows whose it is"),
    ],
)
def test_each_damage_is_one_clear_finding(damaged: Explained, kind: str, file: str, words: str) -> None:
    readable = [each for each in damaged.findings if each.where.startswith(f"{kind}/") and each.property == "readable"]
    assert [each.where for each in readable] == [f"{kind}/data/{file}"]
    assert words in readable[0].words


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
def test_the_rest_is_judged_although_something_cannot_be_read(damaged: Explained) -> None:
    shorter = Finding(
        "high_watermark_is_within_the_log",
        "cut/data/t-0",
        "the high watermark in the checkpoint is 9, and the log ends at 8",
        "t-0",
    )
    assert shorter in damaged.findings
    assert all(each.steps is not None for each in damaged.history["t-0"])
    assert not [each for each in damaged.findings if each.where.startswith(("b0/", "b1/", "b2/", "controller/"))]


def skip_varint(data: bytes, at: int) -> int:
    """Behind a number of variable length."""
    while data[at] & 0x80:
        at += 1
    return at + 1


def crc32c(data: bytes) -> int:
    checksum = 0xFFFFFFFF
    for byte in data:
        checksum ^= byte
        for _ in range(8):
            checksum = checksum >> 1 ^ 0x82F63B78 * (checksum & 1)
    return checksum ^ 0xFFFFFFFF


def spoil_last_record(log: Path) -> int:
    """Give the first record of the last batch of metadata a frame that no release knows, under a right checksum.

    Returns:
        The batch's first offset.
    """
    data, at, end = bytearray(log.read_bytes()), 0, 0
    while end < len(data):
        at, end = end, end + 12 + int.from_bytes(data[end + 8 : end + 12])
    value_length = skip_varint(data, at + 61) + 4  # behind attributes, two deltas, and the length of no key
    data[skip_varint(data, value_length)] = 99
    data[at + 17 : at + 21] = crc32c(data[at + 21 :]).to_bytes(4)
    log.write_bytes(data)
    return int.from_bytes(data[at : at + 8])


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
def test_a_record_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    shutil.copytree(RECORDED / "controller", tmp_path / "controller")
    (log,) = tmp_path.rglob(f"{0:020}.log")
    offset = spoil_last_record(log)
    result = run(tmp_path, "--kafka", NEWEST)
    assert result.exit_code == 1
    words = f"the record at offset {offset} cannot be read: MetadataParseException: "
    assert f"readable  {log.relative_to(tmp_path)}: {words}" in result.output
    assert "all explained by kafka-4.1, 1 finding" in result.output


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
def test_a_longer_metadata_log_of_a_deposed_controller_does_not_count(tmp_path: Path) -> None:
    """The other log ends before the last change of the partition, in a later epoch."""
    shutil.copytree(RECORDED / "controller", tmp_path / "deposed")
    shutil.copytree(RECORDED / "controller", tmp_path / "later")
    (log,) = (tmp_path / "later").rglob(f"{0:020}.log")
    data, end = bytearray(log.read_bytes()), 0
    while int.from_bytes(data[end : end + 8]) < 360:
        at, end = end, end + 12 + int.from_bytes(data[end + 8 : end + 12])
    epoch = int.from_bytes(data[at + 12 : at + 16])
    data[at + 12 : at + 16] = (epoch + 1).to_bytes(4)  # the checksum does not cover it
    log.write_bytes(data[:end])
    assert [*explain_directories(tmp_path, find(NEWEST), None).history["t-0"]][-1].offset == 358


NOW, FORMER = "xcthWwA2RpGfpx8oRQzJJw", "former-topic-of-b1-AAA"


def write_other_records(log: Path) -> None:
    """Have other records in each batch of a log, under right checksums."""
    data, end = bytearray(log.read_bytes()), 0
    while end < len(data):
        at, end = end, end + 12 + int.from_bytes(data[end + 8 : end + 12])
        data[end - 2] ^= 1  # in the last value
        data[at + 17 : at + 21] = crc32c(data[at + 21 : end]).to_bytes(4)
    log.write_bytes(data)


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("former", [True, False])
def test_a_replica_of_a_former_topic_is_not_compared_with_those_of_the_topic_now(former: bool, tmp_path: Path) -> None:
    """b1 was down while the topic was deleted, and created anew: it puts its replica away when it starts."""
    root = tmp_path / "cluster"
    shutil.copytree(RECORDED, root)
    write_other_records(root / "b1" / "data" / "t-0" / f"{0:020}.log")
    for number, topic_id in enumerate((NOW, FORMER if former else NOW, NOW)):
        kept = root / f"b{number}" / "data" / "t-0" / "partition.metadata"
        kept.write_text(f"version: 0\ntopic_id: {topic_id}\n", encoding="utf-8")
    found = explain_directories(root, find(NEWEST), None)
    assert [each.property for each in found.findings] == ([] if former else ["epochs_identify_records"] * 2)
    words = f"b1's replica is of a former topic of this name, {FORMER}; the topic now is {NOW}"
    assert [each.words for each in found.remarks] == ([words] if former else [])


NEWER = (
    "Kafka 4.1.1 cannot read the record at offset 24: UnsupportedVersionException: Can't read version 4 of "
    f"BrokerEndpoint; name a newer release, such as --kafka {NEWEST}"
)


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
def test_no_record_is_passed_over_because_it_is_newer_than_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    harness_of("4.1.1")
    log = RECORDED.parent / "random_operations" / "4.4.0"
    named = run(log, "--kafka", "4.1.1")
    assert (named.exit_code, named.stdout) == (2, "")
    assert named.stderr.endswith(f"{NEWER}\n")
    monkeypatch.setattr(disk_reader, "kept_releases", lambda: ["4.1.1"])
    by_itself = run(log)
    assert by_itself.exit_code == 0, by_itself.output
    assert "48 changes of 5 partitions, all explained by kafka-4.3, 0 findings" in by_itself.output

    def only_older(where: str) -> Distribution:
        if where == NEWEST:
            raise KafkaError("Maven is needed")
        return find(where)

    monkeypatch.setattr(disk_reader, "find", only_older)
    alone = run(log)
    assert (alone.exit_code, alone.stdout) == (2, "")
    assert alone.stderr.endswith(f"{NEWER}; Maven is needed\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere: no such folder"),
        ([".", "--preset", "kafka-9"], 'preset: "kafka-9" is not one of the presets of this model'),
        ([".", "--preset", "kafka-3.9.1-zookeeper"], "is not one of the presets of this model"),
        ([".", "--preset", "2.8"], "preset: none of kraft speaks for Kafka 2.8; they speak for 3.3.0 to 4.4"),
    ],
)
def test_wrong_usage_is_refused(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.output


@pytest.mark.usefixtures("kafka")
@pytest.mark.xdist_group("kafka")
def test_a_folder_without_log_directories_is_an_error(tmp_path: Path) -> None:
    result = run(tmp_path, "--kafka", NEWEST)
    assert result.exit_code == 2
    assert "no log directory of Kafka here or below: there is no meta.properties" in result.output
