"""A counterexample becomes a test of Kafka's own: it fails on the release, and passes on the repaired class."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

from highwater.claims.checking import judge_claim
from highwater.claims.following import follow
from highwater.claims.spec import Spec, load_spec
from highwater.cli.main import main
from highwater.conformance import declarations, kafka_spelling, kafka_test
from highwater.conformance.distribution import Distribution, KafkaError, find, junit_class_path
from highwater.conformance.kafka_test import CALLS, class_name, class_of, junit_test, release_of
from highwater.explorer.verdict import Outcome, Verdict, Violation
from highwater.reports.results import report, write_json
from highwater.viewer import kafka_tests
from tests.conformance.conftest import NEWEST, harness_of
from tests.conformance.junit import run_junit

CLAIM = "kafka_4_1_counts_offsets_from_before_an_election_that_it_never_noticed"
NAME = "Kafka41CountsOffsetsFromBeforeAnElectionThatItNeverNoticedTest"
SCHEDULE = (
    ("produce", {"leader": "b0"}),
    ("move_leadership", {"candidate": "b2"}),
    ("move_leadership", {"candidate": "b0"}),
    ("learn_leadership", {"broker": "b2", "epoch": "e1"}),
    ("fetch_at_once", {"follower": "b1"}),
    ("fetch_at_once", {"follower": "b1"}),
    ("learn_leadership", {"broker": "b1", "epoch": "e1"}),
    ("fetch_at_once", {"follower": "b1"}),
    ("learn_leadership", {"broker": "b0", "epoch": "e2"}),
    ("propose_shrink", {"leader": "b0", "follower": "b2"}),
    ("alter_partition", {"leader": "b0"}),
    ("receive_isr_answer", {"leader": "b0"}),
)
WITNESS = "offset 0 was exposed as r0@e0; b1, a member of the ISR, ends at 0"


@pytest.fixture(scope="module")
def spec() -> Spec:
    return load_spec(Path(__file__).parents[2] / "specs" / "partition" / "releases" / f"{CLAIM}.toml")


@pytest.fixture(scope="module")
def violation(spec: Spec) -> Violation:
    """The claim's counterexample, executed and not searched."""
    followed = follow(spec, SCHEDULE)
    assert "candidates_are_complete" in followed.false
    facts = {"offset": 0, "record": "r0@e0", "broker": 1, "who": "a member of the ISR", "has": "ends at 0"}
    return Violation("candidates_are_complete", {"broker": "b1", "offset": "0"}, WITNESS, facts, followed.trace)


RECORDED = Path(__file__).parent / "recorded" / "declarations"


def recorded(monkeypatch: pytest.MonkeyPatch, release: str, leave_out: str = "", named: str = "") -> Distribution:
    """A release whose declarations were recorded from its jars, in place of jars.

    Args:
        leave_out: what the lines begin with that it has not.
        named: the number of the release, if it is another.
    """
    members: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for line in (RECORDED / f"{release}.txt").read_text(encoding="utf-8").splitlines():
        name, _, declared = line.partition(" | ")
        if not leave_out or not line.startswith(leave_out):
            of = members.setdefault(name, {})
            found = re.search(r"([\w$]+)(?:\(|$)", declared)
            if found is not None:
                of.setdefault(found[1], []).append((declared, ""))
    monkeypatch.setattr(declarations, "classes_of", lambda kafka: frozenset(members))
    monkeypatch.setattr(declarations, "members_of", lambda kafka, classes, code: members)
    return Distribution("", named or release, ())


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Distribution:
    return recorded(monkeypatch, "4.4.0")


def written(spec: Spec, violation: Violation, kafka: Distribution) -> str:
    return junit_test(CLAIM, NAME, spec.system(), violation, kafka)


def test_each_step_is_a_comment_and_its_call(spec: Spec, violation: Violation, kafka: Distribution) -> None:
    text = written(spec, violation, kafka)
    body = text[text.index("public void testCandidatesAreComplete") : text.index("/** Every record that")]
    assert re.findall(r"// (\d+)\. ", body) == [str(number) for number in range(1, 13)]
    assert '// 1. b0: produce(leader b0)\n        brokers.get(0).append("r0");' in body
    assert "// 9. b0: learn_leadership(broker b0, epoch e2)\n        brokers.get(0).learn(/* leader */ 0, " in body
    assert (
        "// 12. b0: receive_isr_answer(leader b0)\n        brokers.get(0).isrGranted(/* partition epoch */ 3);" in body
    )
    assert "assertExposedRecordsAreOn(isr);" in body
    assert WITNESS in " ".join(text.replace("\n *", " ").split())


OF_RELEASES = {
    "3.5.0": (
        "import kafka.log.LogManager;",
        "LeaderAndIsrRequestData.LeaderAndIsrPartitionState state = new ",
        "CompressionType.NONE",
        "partition.makeLeader(state, checkpoints, Option.apply(TOPIC_ID));",
        "OptionConverters.toJava(log.latestEpoch())",
        "records, AppendOrigin.CLIENT, -1, RequestLocal.NoCaching());",
        "read.fetchedData.records",
        "when(alterPartition.submit(any(), any(), anyInt()))",
        "broker.logManager.shutdown();",
    ),
    "4.0.2": (
        "import kafka.log.UnifiedLog;",
        "LeaderAndIsrRequest.PartitionState state = new ",
        "import org.apache.kafka.metadata.LeaderAndIsr;",
        "RequestLocal.noCaching(), VerificationGuard.SENTINEL);",
        "time, true, false, 3_600_000L);",
    ),
    "4.4.0": (
        "import org.apache.kafka.storage.internals.log.LogManager;",
        "import org.apache.kafka.common.record.internal.MemoryRecords;",
        "PartitionRegistration state = new PartitionRegistration.Builder()",
        "partition.makeLeader(state, false, checkpoints, Option.apply(TOPIC_ID), Option.empty());",
        "VerificationGuard.SENTINEL, (short) 0);",
        "read.fetchedData().records",
        "when(alterPartition.submit(any(), any()))",
        "broker.logManager.shutdown(BROKER_EPOCH);",
    ),
}


@pytest.mark.parametrize("release", OF_RELEASES)
def test_the_source_calls_kafka_as_the_release_declares_it(
    spec: Spec, violation: Violation, release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = written(spec, violation, recorded(monkeypatch, release))
    assert "@@" not in text
    assert "reflect" not in text
    for each in OF_RELEASES[release]:
        assert each in text
    imported = re.findall(r"^import (?:static )?([\w.]+);", text, re.MULTILINE)
    assert len(imported) == len(set(imported))
    body = text[text.index("/**") :]
    assert not [each for each in imported if not re.search(rf"\b{each.rpartition('.')[2]}\b", body)]


NEWER = r"; it is newer than 4\.4\.0, which works: name that, or see what has changed with `python .* 4\.4\.0 4\.5\.0`"
APPEND = "public org.apache.kafka.storage.internals.log.LogAppendInfo append"


@pytest.mark.parametrize(
    ("gone", "lacks"),
    [
        (
            "kafka.cluster.Partition | public org.apache.kafka.storage.internals.log.LogAppendInfo append",
            "Partition#appendRecordsToLeader",
        ),
        ("org.apache.kafka.metadata.KRaftMetadataCache", "KRaftMetadataCache"),
        ("org.apache.kafka.storage.internals.log.LogManager | public org.", "LogManager#LogManager"),
    ],
)
def test_what_a_newer_release_lacks_is_named_with_what_to_do(
    spec: Spec, violation: Violation, gone: str, lacks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KafkaError, match=rf"^--junit-test: Kafka 4\.5\.0 lacks what a test calls: {lacks}{NEWER}$"):
        written(spec, violation, recorded(monkeypatch, "4.4.0", gone, named="4.5.0"))


def test_a_parameter_of_a_new_type_is_named(spec: Spec, violation: Violation, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = recorded(monkeypatch, "4.4.0")
    monkeypatch.setattr(kafka_spelling, "FOR_FETCH", {})
    with pytest.raises(KafkaError, match=r"lacks what a test calls: Partition#fetchRecords without a FetchParams$"):
        written(spec, violation, kafka)


def test_a_step_that_is_not_a_call_of_partition_is_refused(
    spec: Spec, violation: Violation, kafka: Distribution
) -> None:
    several = attrs.evolve(spec, bounds=attrs.evolve(spec.bounds, process_crashes=1))
    crashed = follow(several, [*SCHEDULE, ("crash", {"broker": "b2"})])
    with pytest.raises(KafkaError, match=r"step 13, crash\(broker b2\), is no call of Partition; what can be: produce"):
        junit_test(CLAIM, NAME, several.system(), attrs.evolve(violation, trace=crashed.trace), kafka)
    assert "crash" not in CALLS


def test_a_shrink_that_would_take_out_more_is_refused(spec: Spec, violation: Violation, kafka: Distribution) -> None:
    shrunk = follow(spec, [SCHEDULE[0], ("propose_shrink", {"leader": "b0", "follower": "b2"})])
    with pytest.raises(KafkaError, match=r"step 2, .*takes out every follower behind the log end, and b1 is behind"):
        written(spec, attrs.evolve(violation, trace=shrunk.trace), kafka)


def test_a_property_that_cannot_be_asserted_is_refused(spec: Spec, violation: Violation, kafka: Distribution) -> None:
    with pytest.raises(KafkaError, match="acknowledged_records_survive cannot be asserted; a test can assert cand"):
        written(spec, attrs.evolve(violation, property="acknowledged_records_survive"), kafka)


@pytest.mark.parametrize("preset", ["repaired", ""])
def test_a_protocol_of_no_release_needs_one(preset: str) -> None:
    with pytest.raises(KafkaError, match=r"is of no release of Kafka; name one with --kafka, such as 4\.4\.0$"):
        release_of(preset)


def test_a_preset_is_of_the_newest_release_that_is_there() -> None:
    kept = ["3.9.2", "4.1.1", "4.1.12", "4.1.2", "4.2.0"]
    assert release_of("kafka-4.1", kept) == "4.1.12"
    assert release_of("kafka-3.9.1", kept) == "3.9.1"
    assert release_of("kafka-3.5", kept) == "3.5.0"
    with pytest.raises(KafkaError, match=r"kafka-2\.8\.0 is of a release before 3\.5, .* such as 4\.4\.0$"):
        release_of("kafka-2.8.0", kept)


def test_names() -> None:
    assert class_name(CLAIM) == NAME
    assert class_name("3 brokers") == "Trace3BrokersTest"
    assert class_of(Path("some/FlawTest.java")) == "FlawTest"
    for wrong in ("FlawTest.txt", "a-b.java", "4.java"):
        with pytest.raises(KafkaError, match="is named after its class"):
            class_of(Path(wrong))


@pytest.fixture(scope="module")
def file(spec: Spec, violation: Violation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with the counterexample."""
    outcome = Outcome(Verdict.VIOLATED, "", (violation,), (1,), 0, {}, {}, 0, 0)
    path = tmp_path_factory.mktemp("report") / "flaw.json"
    write_json(path, report([judge_claim(spec, outcome)]))
    return path


def test_the_command_writes_the_test_of_the_presets_release(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = dict.fromkeys(["4.1.0", "4.4.0"], recorded(monkeypatch, "4.4.0"))
    monkeypatch.setattr(kafka_tests, "kept_releases", list)
    monkeypatch.setattr(kafka_tests, "find", found.pop)
    result = CliRunner().invoke(main, ["trace", str(file), "--junit-test", str(tmp_path)])
    assert (result.exit_code, result.output) == (0, "")
    text = (tmp_path / f"{NAME}.java").read_text(encoding="utf-8")
    assert f"public class {NAME} {{" in text
    own = tmp_path / "FlawTest.java"
    assert CliRunner().invoke(main, ["trace", str(file), "--junit-test", str(own), "--kafka", "4.4.0"]).exit_code == 0
    assert "public class FlawTest {" in own.read_text(encoding="utf-8")
    assert not found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--junit-test", "-", "--kafka", "no/such/folder"], "--kafka no/such/folder: no/such/folder does not exist"),
        (["--junit-test", "flaw.txt"], "flaw.txt: a file of Java is named after its class"),
        (["--kafka", "4.1.1"], "--kafka names the release of a test; give --junit-test, too"),
    ],
)
def test_wrong_usage_is_refused(file: Path, arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(main, ["trace", str(file), *arguments])
    assert result.exit_code == 2
    assert words in result.output


# On Kafka


def run(folder: Path, source: str, release: str, before: str = "") -> str:
    """What JUnit says of a test of Partition, compiled and run against a release."""
    try:
        class_path = [*find(release).class_path, *junit_class_path()]
    except KafkaError as error:
        pytest.skip(f"needs JUnit: {error}")
    return run_junit(folder, f"kafka.cluster.{NAME}", source, class_path, before)


FAILS = (
    "AssertionFailedError: The record at offset 0 was below a leader's high watermark. Broker 1 must have it: ==> "
    "expected: <r0@e0> but was: <log end offset 0>"
)


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_the_test_fails_on_the_newest_release(spec: Spec, violation: Violation, tmp_path: Path) -> None:
    harness_of(NEWEST)
    said = run(tmp_path, written(spec, violation, find(NEWEST)), NEWEST)
    assert FAILS in said
    assert "1 tests failed" in said


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_the_test_passes_on_the_repaired_class(spec: Spec, violation: Violation, patched: Path, tmp_path: Path) -> None:
    assertion = "assertExposedRecordsAreOn(isr);"
    source = written(spec, violation, find("4.1.1"))
    assert assertion in source
    exposing = (
        f'{assertion} assertEquals(Arrays.asList("r0@e0"), exposed);'  # it does not pass because nothing is committed
    )
    said = run(tmp_path, source.replace(assertion, exposing), "4.1.1", str(patched))
    assert "1 tests successful" in said
    assert "0 tests failed" in said


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_a_newer_release_that_lacks_a_method_is_found_by_compiling(
    spec: Spec, violation: Violation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    harness_of(NEWEST)
    newer = attrs.evolve(find(NEWEST), release="4.5.0")
    assert written(spec, violation, newer)
    template = tmp_path / "PartitionTrace.java"
    text = kafka_test.TEMPLATE.read_text(encoding="utf-8")
    template.write_text(text.replace("partition.maybeShrinkIsr()", "partition.shrinkIsrIfNeeded()"), encoding="utf-8")
    monkeypatch.setattr(kafka_test, "TEMPLATE", template)
    with pytest.raises(KafkaError, match=rf"lacks what a test calls: Partition#shrinkIsrIfNeeded{NEWER}$"):
        written(spec, violation, newer)
