"""A claim asked under another release's rules, or with another toggle or bound."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import attrs
import jsonschema
import pytest
from click.testing import Result

from highwater import api, notebooks
from highwater.claims import checking
from highwater.claims.changing import changes_of
from highwater.claims.checking import Status
from highwater.claims.resolving import preset_named
from highwater.claims.spec import SpecError, find_specs, load_spec
from highwater.claims.tables import Wrong
from highwater.model.catalogue import MODELS
from highwater.model.language.declarations import action
from highwater.model.language.definition import Definition, Model
from highwater.model.language.domain import Integers
from highwater.model.language.records import evolve, within
from highwater.model.partition.protocol import Acks
from highwater.reports import github, terminal

Run = Callable[..., Result]
Write = Callable[..., Path]
SCHEMA = json.loads((Path(__file__).parent / "results.schema.json").read_text(encoding="utf-8"))
EMPTIED = "gallery:kafka_4_1_keeps_records_when_an_emptied_disk_comes_back"


def test_a_claim_that_holds_may_be_violated_under_the_rules_of_a_release_before(highwater: Run, tmp_path: Path) -> None:
    kinds = {kind: tmp_path / f"report.{kind}" for kind in ("json", "junit", "sarif")}
    options = [word for kind, path in kinds.items() for word in (f"--{kind}", path)]
    done = highwater("check", EMPTIED, "--preset", "3.9.2", "--html", tmp_path / "pages", *options)
    assert done.exit_code == 0
    assert "answer  kafka_4_1_keeps_records_when_an_emptied_disk_comes_back  with preset 3.9.2" in done.stdout
    assert "violated: acknowledged_records_survive after 3 steps\n" in done.stdout, "and not as claimed"
    assert "protocol  kafka-3.9.1 (for Kafka 3.9.2)" in done.stdout
    report = json.loads(kinds["json"].read_text(encoding="utf-8"))
    jsonschema.validate(report, SCHEMA)
    (entry,) = report["results"]
    assert (entry["status"], entry["preset"], entry["changes"]) == ("answered", "kafka-3.9.1", ["preset 3.9.2"])
    assert report["summary"] == {"specs": 1, "met": 0, "unmet": 0, "undecided": 0, "answered": 1}
    (case,) = ElementTree.parse(kinds["junit"]).getroot().iter("testcase")
    assert not list(case), "neither a failure nor an error"
    assert json.loads(kinds["sarif"].read_text(encoding="utf-8"))["runs"][0]["results"] == []
    assert highwater("trace", kinds["json"], "--replay").exit_code == 0
    pages = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "pages").glob("*.html")}
    assert len(pages) == 2
    assert all("preset 3.9.2" in page for page in pages.values())


@pytest.mark.parametrize("given", [1, "1"])
def test_a_toggle_takes_a_number_as_kafkas_files_have_it(write_spec: Write, given: int | str) -> None:
    claim = {"model": "partition", "preset": "3.9.2", "check": ["candidates_are_complete"]}
    bounds = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1}
    path = write_spec(**claim, bounds=bounds, protocol={"acks": given})
    assert load_spec(path).protocol.acks is Acks.LEADER
    assert load_spec(path, changes_of([f"protocol.acks={given}"])).protocol.acks is Acks.LEADER
    with pytest.raises(SpecError, match=r"protocol\.acks: true is not allowed; allowed are 0, 1, all"):
        load_spec(write_spec(**claim, bounds=bounds, protocol={"acks": True}))


def test_expectations_of_a_file_do_not_apply_to_changed_claims(highwater: Run, write_spec: Write) -> None:
    spec = write_spec(expect={"verdict": "holds", "distinct_states": 3})
    assert highwater("check", spec).exit_code == 1
    done = highwater("check", spec, "--set", "protocol.variant=kip-279", "--set", "bounds.records_max = 2")
    assert done.exit_code == 0
    assert 'with protocol.variant "kip-279", bounds.records_max 2' in done.stdout
    assert "records_max 2" in done.stdout.split("bounds  ")[1]
    assert highwater("check", spec, "--set", "bounds.records_max=1", "--max-states", "2").exit_code == 3


def test_toggles_of_the_file_stay_on_top_of_another_preset(write_spec: Write) -> None:
    bounds = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1, "partition_epoch_max": 1}
    claim = {"model": "partition", "bounds": bounds, "check": ["acknowledged_records_survive"]}
    path = write_spec(**claim, preset="kafka-4.1", protocol={"acks": "1"})
    spec = load_spec(path, changes_of([], "kafka-3.5"))
    assert spec.protocol == attrs.evolve(MODELS["partition"].presets["kafka-3.5"], acks=spec.protocol.acks)
    assert spec.protocol.acks is not MODELS["partition"].presets["kafka-3.5"].acks


@pytest.mark.parametrize(
    ("model", "release", "preset"),
    [
        ("partition", "3.9.2", "kafka-3.9.1"),
        ("partition", "3.9.0", "kafka-3.9.0"),
        ("partition", "4.4.0", "kafka-4.1"),
        ("partition", "3.3.1", "kafka-3.3"),
        ("partition", "2.8.1", "kafka-2.8.1-zookeeper"),
        ("partition", "2.1.1", "kafka-2.1"),
        ("kraft", "3.9.2", "kafka-3.8"),
        ("controller", "3.9.2", "kafka-3.6"),
        ("partition", "Kafka-4.1", "kafka-4.1"),
    ],
)
def test_a_release_stands_for_the_preset_that_speaks_for_it(model: str, release: str, preset: str) -> None:
    assert preset_named(MODELS[model], release) == preset


@pytest.mark.parametrize(
    ("model", "release", "words"),
    [
        ("partition", "3.9", "the rules changed within 3.9; name one release, such as 3.9.0 or 3.9.1"),
        ("controller", "0.10.1", "changed within 0.10.1; name one release, such as 0.10.1.0 or 0.10.1.1"),
        ("partition", "9.1.0", "none of partition speaks for Kafka 9.1.0; they speak for 0.8.0 to 4.4"),
        ("partition", "kafka-3.9.2", "is not one of the presets of this model"),
    ],
)
def test_a_release_that_no_preset_or_several_speak_for_is_refused(model: str, release: str, words: str) -> None:
    with pytest.raises(Wrong, match=words):
        preset_named(MODELS[model], release)


def test_a_spec_may_name_a_release(highwater: Run, write_spec: Write) -> None:
    bounds = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1, "partition_epoch_max": 1}
    spec = write_spec(
        model="partition", preset="3.9.2", protocol=None, bounds=bounds, check=["candidates_are_complete"]
    )
    done = highwater("check", spec)
    assert "protocol  kafka-3.9.1 (for Kafka 3.9.2)" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--set", "records_max=2"],
            '--set: "records_max=2" is not of the form bounds.KEY=VALUE or protocol.KEY=VALUE',
        ),
        (["--set", "bounds.records_max"], "is not of the form"),
        (["--set", "check.weak_isr=1"], "is not of the form"),
        (["--set", "bounds.records_max=1", "--set", "bounds.records_max=2"], "bounds.records_max is set twice"),
        (["--set", "bounds.record_max=2"], 'bounds.record_max: unknown key (did you mean "records_max"?)'),
        (["--set", "bounds.records_max=many"], "bounds.records_max"),
        (["--preset", "3.9.2"], "preset: the model reference has none"),
        (["--set", "bounds.records_max=1", "--update-locks"], "--update-locks has no meaning with --preset and --set"),
    ],
)
def test_an_impossible_change_is_refused_in_one_line(
    highwater: Run, write_spec: Write, options: list[str], words: str
) -> None:
    done = highwater("check", write_spec(), *options)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert words in line


def test_every_status_is_shown_everywhere() -> None:
    for table in (terminal._COLOURS, terminal._MARKS, github._MARKS, notebooks.COLOURS):
        assert set(table) == set(Status)


@pytest.mark.slow
def test_claims_under_several_presets_are_one_table_of_releases(
    highwater: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, summary = tmp_path / "report.json", tmp_path / "summary.md"
    monkeypatch.setenv(github.SUMMARY, str(summary))
    asked = ["--preset", "kafka-3.9*", "--preset", "4.0.0", "--preset", "4.4.0"]
    done = highwater("check", EMPTIED, *asked, "--github", "--json", report, "--html", tmp_path / "pages")
    assert done.exit_code == 0
    assert (
        "    KRaft      from 3.9.0 until 4.0.0  violated: acknowledged_records_survive after 3 steps\n" in done.stdout
    )
    assert "    KRaft      from 4.0.0              holds\n    ZooKeeper  from 3.9.1              holds\n" in done.stdout
    assert "answer  " not in done.stdout, "one table, and no block for each"
    data = json.loads(report.read_text(encoding="utf-8"))
    jsonschema.validate(data, SCHEMA)
    assert [(each["mode"], each["since"], each["until"], each["verdict"]) for each in data["releases"]] == [
        ("KRaft", "3.9.0", "4.0.0", "violated"),
        ("KRaft", "4.0.0", None, "holds"),
        ("ZooKeeper", "3.9.1", None, "holds"),
    ]
    assert [each["presets"] for each in data["releases"]] == [
        ["kafka-3.9.0", "kafka-3.9.1"],
        ["kafka-4.0.0", "kafka-4.1"],
        ["kafka-3.9.1-zookeeper"],
    ]
    assert "from 3.9.0 until 4.0.0" in (tmp_path / "pages" / "index.html").read_text(encoding="utf-8")
    assert "| KRaft | from 3.9.0 until 4.0.0 | violated: " in summary.read_text(encoding="utf-8")
    assert highwater("check", EMPTIED, *asked, "--trace").stdout.count("answer  ") == 5


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_table_of_releases_says_nothing_of_one_without_an_answer(
    highwater: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    """The check of 4.2 raises, and stands between two that come out alike."""
    check = checking.check_spec

    def check_spec(spec: Any, *arguments: Any, **options: Any) -> Any:
        if spec.release == "4.2.0":
            raise SpecError(f"{spec.path}: the model raised")
        return check(spec, *arguments, **options)

    monkeypatch.setattr("highwater.cli.run.check_spec", check_spec)
    monkeypatch.setenv(github.SUMMARY, str(tmp_path / "summary.md"))
    asked = [option for name in ("4.1.0", "4.2.0", "4.3.0") for option in ("--preset", name)]
    report = tmp_path / "report.json"
    done = highwater("check", EMPTIED, *asked, "--jobs", jobs, "--json", report, "--github")
    assert done.exit_code == 2
    rows = [("4.1.0", "4.2.0", "holds"), ("4.2.0", "4.3.0", "unknown"), ("4.3.0", None, "holds")]
    for since, until, verdict in rows:
        words = f"from {since} until {until}" if until else f"from {since}"
        assert re.search(rf"KRaft +{words} +{verdict}\n", done.stdout)
        assert f"| KRaft | {words} | {verdict} |" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    releases = json.loads(report.read_text(encoding="utf-8"))["releases"]
    assert [(each["since"], each["until"], each["verdict"]) for each in releases] == rows


def test_a_pattern_that_matches_no_preset_is_refused(highwater: Run) -> None:
    done = highwater("check", EMPTIED, "--preset", "kafka-7*")
    assert done.exit_code == 2
    assert "preset: none of partition matches kafka-7*; there are kafka-0.8.0, " in done.stderr


def test_a_claim_is_shown_and_copied_whole(highwater: Run, tmp_path: Path) -> None:
    (file,) = find_specs([Path(EMPTIED)])
    assert highwater("list", "specs", EMPTIED, "--show").stdout == file.read_text(encoding="utf-8")
    done = highwater("init", tmp_path, "--from", EMPTIED)
    assert done.exit_code == 0
    assert (tmp_path / file.name).read_bytes() == file.read_bytes()
    again = highwater("init", tmp_path, "--from", EMPTIED)
    assert again.exit_code == 2
    assert "there already; nothing was written" in again.stderr
    assert highwater("init", tmp_path, "--from", "gallery:nope").exit_code == 2
    assert highwater("list", "models", "--show").exit_code == 2


class Count(Enum):
    ONE = 1
    MANY = "many"


@attrs.frozen
class Numbered:
    count: Count = Count.ONE


@attrs.frozen
class Sizes:
    """Nothing is bounded."""


@attrs.frozen
class Room:
    light: int = within(Integers(0, 2))


@action(actor="somebody")
def brighten(room: Room) -> Room | None:
    return evolve(room, light=room.light + 1) if room.light < 2 else None


def test_a_toggle_of_ones_own_may_be_a_number() -> None:
    made = Definition(Sizes, Room, lambda bounds: [Room(0)], (brighten,))
    claim = {"model": Model("room", "A lamp.", Numbered, lambda protocol: made), "bounds": {}, "check": ["no_deadlock"]}
    assert api.claim(**claim, protocol={"count": 1}).protocol.count is Count.ONE
    assert api.claim(**claim, protocol={"count": "many"}).protocol.count is Count.MANY
    for wrong in (2, True, "one"):
        with pytest.raises(SpecError, match=r"protocol\.count: .* is not allowed; allowed are 1, many"):
            api.claim(**claim, protocol={"count": wrong})
