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
from highwater.conformance.distribution import KafkaError
from highwater.conformance.kafka_test import CALLS, SPELLINGS, class_name, class_of, junit_test, supported
from highwater.explorer.verdict import Outcome, Verdict, Violation
from highwater.reports.results import report, write_json
from tests.conformance.conftest import harness_of
from tests.conformance.junit import run_junit
from tests.conformance.test_kip import patched  # noqa: F401 - a fixture

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


def written(spec: Spec, violation: Violation, release: str = "4.1") -> str:
    return junit_test(CLAIM, NAME, spec.system(), violation, release)


def test_each_step_is_a_comment_and_its_call(spec: Spec, violation: Violation) -> None:
    text = written(spec, violation)
    body = text[text.index("public void testCandidatesAreComplete") : text.index("/** Every record that")]
    assert re.findall(r"// (\d+)\. ", body) == [str(number) for number in range(1, 13)]
    assert '// 1. b0: produce(leader b0)\n        brokers.get(0).append("r0");' in body
    assert "// 9. b0: learn_leadership(broker b0, epoch e2)\n        brokers.get(0).learn(/* leader */ 0, " in body
    assert (
        "// 12. b0: receive_isr_answer(leader b0)\n        brokers.get(0).isrGranted(/* partition epoch */ 3);" in body
    )
    assert "assertExposedRecordsAreOn(isr);" in body
    assert WITNESS in " ".join(text.replace("\n *", " ").split())


@pytest.mark.parametrize("release", SPELLINGS)
def test_the_source_calls_kafka_directly_and_leaves_nothing_to_fill_in(
    spec: Spec, violation: Violation, release: str
) -> None:
    text = written(spec, violation, release)
    assert "@@" not in text
    assert "reflect" not in text
    assert ("PartitionRegistration" in text) is (release != "4.1")
    assert ("record.internal.MemoryRecords" in text) is (release == "4.3")


def test_a_step_that_is_not_a_call_of_partition_is_refused(spec: Spec, violation: Violation) -> None:
    several = attrs.evolve(spec, bounds=attrs.evolve(spec.bounds, process_crashes=1))
    crashed = follow(several, [*SCHEDULE, ("crash", {"broker": "b2"})])
    with pytest.raises(KafkaError, match=r"step 13, crash\(broker b2\), is no call of Partition; what can be: produce"):
        junit_test(CLAIM, NAME, several.system(), attrs.evolve(violation, trace=crashed.trace), "4.1")
    assert "crash" not in CALLS


def test_a_shrink_that_would_take_out_more_is_refused(spec: Spec, violation: Violation) -> None:
    shrunk = follow(spec, [SCHEDULE[0], ("propose_shrink", {"leader": "b0", "follower": "b2"})])
    with pytest.raises(KafkaError, match=r"step 2, .*takes out every follower behind the log end, and b1 is behind"):
        written(spec, attrs.evolve(violation, trace=shrunk.trace))


def test_a_property_that_cannot_be_asserted_is_refused(spec: Spec, violation: Violation) -> None:
    with pytest.raises(KafkaError, match="acknowledged_records_survive cannot be asserted; a test can assert cand"):
        written(spec, attrs.evolve(violation, property="acknowledged_records_survive"))


@pytest.mark.parametrize("release", ["3.9.1", "4.0.1", "repaired", "", "kafka-3.5"])
def test_a_release_whose_test_classes_are_not_known_is_refused(release: str) -> None:
    with pytest.raises(KafkaError, match=r"no test can be written for .*; name a release with --kafka: 4\.1\.x, 4\.2"):
        supported(release)


def test_names() -> None:
    assert [supported(each) for each in ("4.1.1", "kafka-4.1", "4.3")] == ["4.1", "4.1", "4.3"]
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


def test_the_command_writes_the_test_of_the_presets_release(file: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["trace", str(file), "--junit-test", str(tmp_path)])
    assert (result.exit_code, result.output) == (0, "")
    text = (tmp_path / f"{NAME}.java").read_text(encoding="utf-8")
    assert f"public class {NAME} extends AbstractPartitionTest" in text
    assert "LeaderAndIsrRequest" in text
    own = tmp_path / "FlawTest.java"
    assert CliRunner().invoke(main, ["trace", str(file), "--junit-test", str(own), "--kafka", "4.3.1"]).exit_code == 0
    assert "public class FlawTest extends" in own.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--junit-test", "-", "--kafka", "3.9.1"], "no test can be written for 3.9.1"),
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
    return run_junit(folder, f"kafka.cluster.{NAME}", source, release, before)


FAILS = (
    "AssertionFailedError: The record at offset 0 was below a leader's high watermark. Broker 1 must have it: ==> "
    "expected: <r0@e0> but was: <log end offset 0>"
)


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("release", ["4.1.1", "4.3.1"])
def test_the_test_fails_on_the_release(spec: Spec, violation: Violation, release: str, tmp_path: Path) -> None:
    harness_of(release)
    said = run(tmp_path, written(spec, violation, supported(release)), release)
    assert FAILS in said
    assert "1 tests failed" in said


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_the_test_passes_on_the_repaired_class(
    spec: Spec,
    violation: Violation,
    patched: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    assertion = "assertExposedRecordsAreOn(isr);"
    source = written(spec, violation)
    assert assertion in source
    exposing = f'{assertion} assertEquals(List.of("r0@e0"), exposed);'  # it does not pass because nothing is committed
    said = run(tmp_path, source.replace(assertion, exposing), "4.1.1", str(patched))
    assert "1 tests successful" in said
    assert "0 tests failed" in said
