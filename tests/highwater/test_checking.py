"""One run of `highwater check`, and what all commands share: nothing is lost, nothing asked for is ignored, nothing
read is overwritten.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import attrs
import pytest
from click.testing import Result

from highwater import api, prospect
from highwater.claims.checking import Status, check_spec, judge_claim
from highwater.claims.spec import Spec, SpecError, load_spec
from highwater.cli.outputs import Outputs
from highwater.explorer.verdict import Verdict, Violation
from highwater.files import ReportError
from highwater.model.language import graph_properties
from highwater.model.language.domain import OneOf, Struct
from highwater.model.reference.state import Cluster
from highwater.reports.progress import make_console
from highwater.reports.terminal import show_state, show_witness, verdict_line
from tests.highwater.conftest import QUICK

SPECS = Path(__file__).parents[2] / "specs"
VIOLATED = SPECS / "truncation" / "kip_101_fails_on_two_brokers.toml"
Run = Callable[..., Result]
Write = Callable[..., Path]
Make = Callable[..., Spec]


def explained(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("highwater: ")
    return result.stderr


# --- nothing is lost


def test_a_report_that_cannot_be_written_in_the_end_takes_no_other_with_it(make_spec: Make, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    outputs = Outputs({"json": gone / "a.json", "junit": tmp_path / "a.xml", "html": tmp_path / "pages"})
    outputs.try_out()
    shutil.rmtree(gone)
    (error,) = outputs.write([check_spec(make_spec())])
    assert "a.json: cannot be written" in str(error)
    assert len(ElementTree.parse(tmp_path / "a.xml").findall(".//testcase")) == 1
    assert (tmp_path / "pages" / "index.html").exists()


def test_a_step_summary_that_cannot_be_written_is_refused_first(
    highwater: Run, write_spec: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "nothing" / "summary.md"))
    monkeypatch.setattr("highwater.cli.run.check_spec", lambda *of, **options: pytest.fail("it explores"))
    result = highwater("check", write_spec(), "--github")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_a_spec_that_fails_half_way_is_an_error_in_every_report_and_the_others_are_checked(
    highwater: Run, write_spec: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explore(spec: Spec, *arguments: Any, **options: Any) -> Any:
        if spec.name == "b":
            raise SpecError(f"{spec.path}: the model raised")
        return check_spec(spec, *arguments, **options)

    monkeypatch.setattr("highwater.cli.run.check_spec", explore)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    paths = [write_spec(f"{name}.toml") for name in "abc"]
    reports = {kind: tmp_path / f"report.{kind}" for kind in ("json", "junit", "sarif")}
    options = [word for kind, path in reports.items() for word in (f"--{kind}", path)]
    result = highwater("check", *paths, "--github", *options)
    assert result.exit_code == 2
    data = json.loads(reports["json"].read_text())
    assert [entry["name"] for entry in data["results"]] == ["a", "c"]
    (error,) = data["errors"]
    assert (error["file"], error["message"]) == (str(paths[1]), f"{paths[1]}: the model raised")
    (suite,) = ElementTree.parse(reports["junit"]).findall("testsuite")
    assert (suite.get("tests"), suite.get("errors")) == ("3", "1")
    assert [case.find("error").text for case in suite.findall("testcase[@name='b']")] == [
        f"{paths[1]}: the model raised"
    ]
    (invocation,) = json.loads(reports["sarif"].read_text())["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    assert "the model raised" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert "1 could not be checked" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize("command", [("check",), ("graph",), ("mutate",), ("list", "specs")])
def test_whatever_is_interrupted_exits_130(
    highwater: Run, write_spec: Write, monkeypatch: pytest.MonkeyPatch, command: tuple
) -> None:
    def interrupt(path: Path, *_: Any) -> Any:
        raise KeyboardInterrupt

    for module in ("highwater.reports.listing", "highwater.claims.by_release", "highwater.claims.spec"):
        monkeypatch.setattr(f"{module}.load_spec", interrupt)
    result = highwater(*command, write_spec())
    assert (result.exit_code, result.stderr.strip()) == (130, "interrupted")


# --- counts of something else


@pytest.fixture(scope="module")
def violated() -> Any:
    """A spec whose counts are locked, and what came out."""
    spec = load_spec(VIOLATED)
    outcome = check_spec(spec).outcome
    locked = attrs.evolve(spec.file.expect, distinct_states=outcome.distinct_states, generated=outcome.generated)
    return attrs.evolve(spec, file=attrs.evolve(spec.file, expect=locked)), outcome


def test_a_step_more_between_the_same_states_is_not_what_was_locked(violated: Any) -> None:
    spec, outcome = violated
    result = judge_claim(spec, attrs.evolve(outcome, generated=outcome.generated + 1))
    assert [mismatch.key for mismatch in result.mismatches] == ["expect.generated"]


def test_counts_after_a_violation_are_not_held_against_those_of_a_plain_check(violated: Any) -> None:
    spec, outcome = violated
    further = attrs.evolve(outcome, levels=(*outcome.levels, 1))
    assert judge_claim(spec, outcome).status is Status.MET
    assert judge_claim(spec, further).status is Status.UNMET
    went_on = judge_claim(spec, further, went_on=True)
    assert (went_on.status, went_on.comparable) == (Status.MET, False)


@pytest.mark.parametrize(
    ("reason", "limit"),
    [
        ("max-states", "; then the search ran out of max-states"),
        ("interrupted", "; then the search was interrupted"),
        ("depth 12", "; the search ended at depth 12"),
    ],
)
def test_locked_counts_of_a_search_that_ended_early_are_undecided(violated: Any, reason: str, limit: str) -> None:
    spec, outcome = violated
    result = judge_claim(spec, attrs.evolve(outcome, reason=reason, levels=outcome.levels[:-1]))
    assert (result.status, result.mismatches, result.comparable) == (Status.UNDECIDED, (), False)
    assert verdict_line(result) == f"violated: strong_isr after 11 steps{limit}"


def test_locks_are_not_taken_from_a_search_that_went_on(highwater: Run, write_spec: Write) -> None:
    path = write_spec(check=["leader_in_isr", "weak_isr"], expect={"verdict": "violated", "distinct_states": 1})
    before = path.read_bytes()
    assert "its counts stay as they are" in highwater("check", path, "--keep-going", "--update-locks").stdout
    assert path.read_bytes() == before


# --- nothing asked for is ignored


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--engine", "python", "--workers", "3"), "--workers has no meaning with --engine python"),
        (("--engine", "python", "--memory", "1G"), "--memory has no meaning with --engine python"),
        (("--engine", "python", "--no-symmetry"), "--no-symmetry has no meaning with --engine python"),
        (("--engine", "python", "--coverage"), "--coverage has no meaning with --engine python"),
    ],
    ids=range(4),
)
def test_options_of_another_engine_are_refused(
    highwater: Run, write_spec: Write, options: tuple[str, ...], words: str
) -> None:
    assert words in explained(highwater("check", write_spec(), *options))


@pytest.mark.parametrize("what", ["models", "presets", "actions", "properties"])
def test_one_model_is_listed_if_it_is_named(highwater: Run, what: str) -> None:
    whole, one = highwater("list", what).stdout, highwater("list", what, "kraft").stdout
    assert one in whole
    assert "kraft" in one
    assert 0 < len(one) < len(whole) / 2
    wrong = highwater("list", what, "krafft")
    assert wrong.exit_code == 2
    refused = 'model: "krafft" is not one of the models (did you mean "kraft"?)'
    assert ("krafft: is not a release number such as 2.0.1 or 3.7, and no model" if what == "presets" else refused) in (
        wrong.stderr
    )


def test_an_argument_to_list_schema_is_refused(highwater: Run) -> None:
    result = highwater("list", "schema", "extra")
    assert result.exit_code == 2
    assert "list schema takes no argument" in result.stderr


def test_list_presets_takes_a_release_and_a_model(highwater: Run) -> None:
    listed = highwater("list", "presets", "3.9", "kraft").stdout
    assert "partition  kafka-3.9.1  (kraft, from 3.9.1)" in listed, "its patch releases, too"
    assert "kraft  kafka-4.3\n" in listed


def test_list_presets_names_the_presets_of_a_release(highwater: Run) -> None:
    shown = highwater("list", "presets", "3.4.1", "4.2.0")
    assert shown.exit_code == 0
    assert "kafka-3.4.1-zookeeper  (zookeeper, from 3.4.1)" in shown.stdout
    assert "kafka-4.1  (kraft, from 4.1.0)" in shown.stdout


@pytest.mark.parametrize(
    ("release", "says"),
    [
        ("0.7.2", "no preset covers this release; presets cover 0.8.0 to 4.4"),
        ("newest", "is not a release number"),
    ],
)
def test_list_presets_refuses_what_no_preset_speaks_for(highwater: Run, release: str, says: str) -> None:
    refused = highwater("list", "presets", release)
    assert refused.exit_code == 2
    assert f"{release}: {says}" in refused.stderr


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from highwater.reports.results import report, write_json

    path = tmp_path_factory.mktemp("report") / "report.json"
    write_json(path, report([check_spec(load_spec(VIOLATED))]))
    return path


AGAINST = ("--against", "protocol.variant=kip-279")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--replay", "--step", 3), "--step has no meaning with --replay"),
        (("--replay", "--changes"), "--changes has no meaning with --replay"),
        (("--replay", *AGAINST), "--replay and --against exclude each other"),
        ((*AGAINST, "--changes"), "--changes has no meaning with --against"),
        ((*AGAINST, "--step", 99), "has no step 99; the last is 11"),
        ((*AGAINST, "--csv", "-"), "--against goes with --html"),
        (("--interactive", "--csv", "-"), "--interactive writes no file"),
        (("--html", "-", "--csv", "-"), "both write to standard output"),
    ],
    ids=range(8),
)
def test_options_that_contradict_each_other_are_refused(
    highwater: Run, report: Path, options: tuple[Any, ...], words: str
) -> None:
    result = highwater("trace", report, *options)
    assert words in explained(result)
    assert result.stdout == ""


# --- nothing read is overwritten


def test_a_spec_is_not_overwritten_by_whatever_name(highwater: Run, write_spec: Write, tmp_path: Path) -> None:
    spec = write_spec("spec.txt")
    link = tmp_path / "link.json"
    link.symlink_to(write_spec("other.toml"))
    before = spec.read_bytes()
    for path in (spec, tmp_path / "." / "spec.txt", link):
        assert "would overwrite a spec" in explained(highwater("check", spec, "--json", path))
        assert "would overwrite a spec" in explained(highwater("graph", spec, "--json", path))
    assert spec.read_bytes() == before
    assert load_spec(tmp_path / "other.toml")


def test_two_reports_are_not_written_to_one_file_by_two_names(
    highwater: Run, write_spec: Write, tmp_path: Path
) -> None:
    (tmp_path / "x").mkdir()
    result = highwater(
        "check", write_spec(), "--json", tmp_path / "a.json", "--junit", tmp_path / "x" / ".." / "a.json"
    )
    assert "would write the same file" in explained(result)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--json", "a", "--certificate", "a"), "--json and --certificate would write the same file"),
        (("--html", "pages", "--certificate", "./pages"), "--html and --certificate would write the same file"),
        (("--json", "first", "--certificate", "second"), "--json and --certificate would write the same file"),
        (("--json", "pages/index.html", "--html", "pages"), "--html and --json would write the same file"),
    ],
)
def test_no_two_outputs_of_a_check_are_written_to_one_file(
    highwater: Run, write_spec: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...],
    words: str,
) -> None:  # fmt: skip
    """Whichever they are: `first` and `second` are two names of one file."""
    monkeypatch.chdir(tmp_path)
    Path("first").write_text("mine", encoding="utf-8")
    os.link("first", "second")
    result = highwater("check", write_spec(), *options)
    assert result.exit_code == 2
    assert words in explained(result)
    assert Path("second").read_text(encoding="utf-8") == "mine"
    assert not Path("pages").exists()


def test_nothing_is_written_into_what_a_question_is_read_from(highwater: Run, tmp_path: Path) -> None:
    described = tmp_path / "topics.txt"
    described.write_text("Topic: t\tPartitionCount: 1\tReplicationFactor: 3\n", encoding="utf-8")
    result = highwater("ask", "--from", described, "--json", described)
    assert "--json would overwrite a spec or an input" in explained(result)
    result = highwater("explain", tmp_path, "--json", tmp_path / "out.json")
    assert "--json would overwrite a spec or an input" in explained(result)
    assert [path.name for path in tmp_path.iterdir()] == ["topics.txt"]
    assert described.read_text(encoding="utf-8").startswith("Topic: t")


def test_a_report_is_not_overwritten_by_an_export_of_it(highwater: Run, report: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.html"
    link.symlink_to(report)
    assert "would overwrite" in explained(highwater("trace", report, "--html", link))
    assert "would write the same file" in explained(
        highwater("trace", report, "--dot", tmp_path / "x", "--csv", tmp_path / "x")
    )


# --- control characters, and what is no UTF-8


def test_a_lone_surrogate_in_a_report_crashes_no_export(highwater: Run, report: Path, tmp_path: Path) -> None:
    data = json.loads(report.read_text())
    data["results"][0]["name"] = "\ud800x"
    odd = tmp_path / "odd.json"
    odd.write_text(json.dumps(data))
    for kind in ("itf", "html", "mermaid", "dot", "csv"):
        assert highwater("trace", odd, f"--{kind}", tmp_path / f"out.{kind}").exit_code == 0
        assert highwater("trace", odd, f"--{kind}", "-").exit_code == 0


class Odd(OneOf):
    """A domain whose values show as they are."""

    def show(self, value: str) -> str:
        return value


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_witness(make_console(), load_spec(VIOLATED).system(), Violation("p", {}, "\x1b[2J\x07", {}, ()))
    show_state(
        make_console(),
        Struct(Cluster, {"requests": Odd(("odd",))}),
        attrs.make_class("S", ["requests"])("\x1b]0;x\x07"),
    )
    shown = capsys.readouterr().out
    assert "\\u001b[2J\\u0007" in shown
    assert not set(shown) & {"\x1b", "\x07"}


@pytest.mark.parametrize("kind", ["dot", "graphml", "json"])
def test_control_characters_do_not_reach_a_graph(
    highwater: Run, write_spec: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("highwater.model.language.domain.Struct.show", lambda self, value: "\x1b[31m\x00")
    out = tmp_path / "graph"
    assert highwater("graph", write_spec(), f"--{kind}", out).exit_code == 0
    text = out.read_text()
    assert "u001b[31m" in text
    assert not set(text) & {"\x1b", "\x00"}


# --- properties of one's own, and words for what is wrong


@prospect(along=[])
def somebody_leads(cluster: Cluster) -> bool:
    """Nobody does at the start, and no action is relied on."""
    return cluster.quorum.leader is not None


def test_a_prospect_of_ones_own_can_be_checked() -> None:
    result = api.check(
        api.claim(model="reference", protocol={"variant": "kip-320"}, bounds=QUICK, check=[somebody_leads])
    )
    assert result.verdict is Verdict.VIOLATED
    assert result.violation.property == "somebody_leads"
    assert prospect is graph_properties.prospect


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "spork"}, 'engine: "spork" is none (did you mean "spark"?); allowed are local, python, spark'),
        ({"max_depth": -1}, "max_depth: -1 is below 0"),
        ({"max_states": 0}, "max_states: 0 is below 1"),
        ({"memory": 0}, "memory: 0 is below 1"),
        ({"workers": -1}, "workers: -1 is below 1"),
    ],
    ids=range(5),
)
def test_an_argument_out_of_range_is_refused_with_its_name(
    make_spec: Make, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        api.check(make_spec(), **options)
    assert str(caught.value) == words


@pytest.mark.parametrize("keys", [{"model": None}, {"check": [3]}])
def test_a_claim_with_an_invalid_model_or_property_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="neither a name nor an object of that kind"):
        api.claim(**{"model": "reference", "bounds": QUICK, "check": ["weak_isr"], **keys})


def test_all_specs_that_can_be_listed_are(highwater: Run, write_spec: Write, tmp_path: Path) -> None:
    write_spec("a.toml", sauce="a book")
    write_spec("b.toml")
    (tmp_path / "pyproject.toml").write_text("[project]")
    result = highwater("list", "specs", tmp_path)
    assert "b.toml  holds" in result.stdout
    assert [line.split(":")[1].strip() for line in explained(result).splitlines()] == [str(tmp_path / "a.toml")]


def test_damaged_bounds_and_states_are_reported_a_line_each_and_by_field(
    highwater: Run, report: Path, tmp_path: Path
) -> None:
    data = json.loads(report.read_text())
    damaged = tmp_path / "damaged.json"
    data["results"][0]["trace"][2]["state"]["quorum"]["isr"] = 3
    damaged.write_text(json.dumps(data))
    assert "step 2: cannot be read: state.quorum.isr: " in explained(highwater("trace", damaged))
    data["results"][0]["bounds"] = {"brokers": 99}
    damaged.write_text(json.dumps(data))
    lines = explained(highwater("trace", damaged)).splitlines()
    assert len(lines) == 4
    assert all(line.startswith(f"highwater: {VIOLATED.stem}: bounds.") for line in lines)


def test_the_next_command_can_be_pasted_whatever_the_folder_is_called(highwater: Run, tmp_path: Path) -> None:
    assert f"cd '{tmp_path}/two words' && " in highwater("init", tmp_path / "two words").stdout


def test_an_export_error_is_one_line() -> None:
    with pytest.raises(ReportError, match="would overwrite a spec"):
        Outputs({"json": Path("x.toml")}).try_out()


def test_a_report_that_nothing_writes_is_an_error(tmp_path: Path) -> None:
    """An option for it would be accepted, and write nothing."""
    with pytest.raises(KeyError, match="no report is called table: REPORTS has json, junit, sarif, html"):
        Outputs({"json": tmp_path / "a.json", "table": tmp_path / "a.txt"})
