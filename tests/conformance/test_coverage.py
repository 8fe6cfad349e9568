"""What JaCoCo has measured, by Kafka's classes and methods."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from highwater.cli.main import main
from highwater.conformance.coverage import AGENT, Code, Share, coverage_of
from highwater.conformance.distribution import KafkaError
from highwater.reports.conformance import coverage_as_json, percent

ROOT = Path(__file__).parents[2]
SPEC = str(ROOT / "specs/partition/truncation/truncating_on_fetch_keeps_committed_records.toml")


def counter(kind: str, missed: int, covered: int) -> str:
    return f'<counter type="{kind}" missed="{missed}" covered="{covered}"/>'


def method(name: str, missed: int, covered: int, branches: str = "") -> str:
    return f'<method name="{name}" desc="()V" line="1">{counter("LINE", missed, covered)}{branches}</method>'


REPORT = f"""<report name="Kafka"><package name="kafka/cluster">
<class name="kafka/cluster/Partition" sourcefilename="Partition.scala">
{method("makeLeader", 1, 4, counter("BRANCH", 1, 3))}{method("$anonfun$makeLeader$2$adapted", 1, 0)}
{method("kafka$cluster$Partition$$maybeShrink", 2, 0)}{counter("LINE", 4, 4)}{counter("BRANCH", 1, 3)}
</class>
<class name="kafka/cluster/Partition$State" sourcefilename="Partition.scala">
{method("&lt;init&gt;", 0, 1)}{counter("LINE", 0, 1)}
</class>
<sourcefile name="Partition.scala">
<line nr="3" mi="2" ci="0" mb="0" cb="0"/><line nr="4" mi="1" ci="0" mb="0" cb="0"/>
<line nr="5" mi="1" ci="2" mb="0" cb="0"/><line nr="7" mi="1" ci="0" mb="0" cb="0"/>
</sourcefile></package></report>"""


def test_closures_count_as_their_methods_and_inner_classes_as_the_class_around_them() -> None:
    found = coverage_of("4.4.0", REPORT)
    assert found.classes == (Code("Partition", Share(5, 9), Share(3, 4), (3, 4, 7)),)
    lines = {each.name: each.lines for each in found.methods["Partition"]}
    assert lines == {"makeLeader": Share(4, 6), "maybeShrink": Share(0, 2), "State.<init>": Share(1, 1)}


def test_the_report_lists_what_was_never_reached() -> None:
    (shown,) = coverage_as_json(coverage_of("4.4.0", REPORT), "a claim")["classes"]
    assert shown["never_reached"] == ["maybeShrink"]
    assert shown["missed_lines"] == [[3, 4], [7, 7]]
    assert shown["branches"] == {"executed": 3, "of": 4}


def test_only_all_lines_are_100_percent() -> None:
    assert [percent(each) for each in (Share(999, 1000), Share(3, 3), Share())] == ["99%", "100%", "-"]


@pytest.fixture
def kafka(tmp_path: Path) -> str:
    """The name of a Kafka that nothing is loaded from."""
    jar = tmp_path / "kafka_2.13-4.4.0.jar"
    jar.touch()
    return str(jar)


def test_jacoco_that_cannot_be_had_is_one_clear_error(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIGHWATER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", os.devnull)
    folder = tmp_path / "covered"
    ran = CliRunner().invoke(main, ["conform", SPEC, "--kafka", kafka, "--coverage", str(folder)])
    assert ran.exit_code == 2
    assert "--coverage: Maven (mvn) is needed to fetch org.jacoco:org.jacoco.agent" in ran.output
    assert ran.output.count("\n") == 1 and not folder.exists()


@pytest.mark.parametrize(
    ("inside", "why"), [("", "is not empty; name a new folder"), ("kafka_2.13-4.4.0.jar/in", "Not a directory")]
)
def test_a_folder_that_cannot_be_made_is_one_clear_error(
    kafka: str, tmp_path: Path, inside: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("highwater.conformance.coverage.resolved", lambda *_: (AGENT,))
    ran = CliRunner().invoke(main, ["conform", SPEC, "--kafka", kafka, "--coverage", str(tmp_path / inside)])
    assert ran.exit_code == 2
    assert f"--coverage {tmp_path / inside}" in ran.output and why in ran.output
    assert ran.output.count("\n") == 1


def test_after_a_run_that_did_not_begin_the_same_folder_will_do(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("highwater.conformance.coverage.resolved", lambda *_: (AGENT,))
    monkeypatch.setattr("highwater.conformance.coverage.Measured.__enter__", refuse)
    command = ["conform", SPEC, "--kafka", kafka, "--coverage", str(tmp_path / "covered")]
    first, second = (CliRunner().invoke(main, command) for _ in range(2))
    assert (first.exit_code, first.output) == (second.exit_code, second.output) == (2, "highwater: no Java\n")


def refuse(_: object) -> None:
    raise KafkaError("no Java")
