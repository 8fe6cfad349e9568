"""Reports for CI: held to the published schemas, and to the lines that people wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import attrs
import jsonschema
import pytest
import xmlschema
from click.testing import Result

from highwater.claims.checking import Result as ClaimResult
from highwater.claims.checking import check_spec
from highwater.claims.positions import line_of_key
from highwater.claims.spec import load_spec
from highwater.reports import github, junit, sarif
from highwater.reports.terminal import goes_on

SCHEMAS = Path(__file__).parents[1] / "schemas"
SPECS = Path(__file__).parents[2] / "specs"
JUNIT = [xmlschema.XMLSchema(str(SCHEMAS / name)) for name in ("junit-ant.xsd", "junit-jenkins-10.xsd")]
SARIF = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8"))

Run = Callable[..., Result]
Write = Callable[..., Path]

SPEC = """\
# Two lines
# of comment, with check = in them
model = "reference"
protocol = { variant = "kip-320" }
bounds = { brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 1 }
check = [
  "leader_in_isr",  # ] not the end
  "weak_isr",
]
source = '''
expect = "no"
'''

%s
"""


def spec_with(tmp_path: Path, expect: str) -> Path:
    path = tmp_path / "claim.toml"
    path.write_text(SPEC % expect, encoding="utf-8")
    return path


@pytest.fixture
def unmet(write_spec: Write) -> list[ClaimResult]:
    """A met claim, two unmet ones, one of them with a trace, and one undecided, under awkward names."""
    from highwater.explorer.verdict import Budget

    specs = [
        load_spec(write_spec("fine.toml")),
        load_spec(write_spec("a, b: 100% <b>|`x`.toml", check=["leader_in_isr"], expect={"verdict": "holds"})),
        load_spec(write_spec("deep/counts.toml", expect={"distinct_states": 278, "depth": 4})),
        load_spec(write_spec("deep/too_large.toml")),
    ]
    return [check_spec(spec, budget=Budget(max_states=20) if spec.name == "too_large" else Budget()) for spec in specs]


# --- lines


@pytest.mark.parametrize(
    ("expect", "key", "line"),
    [
        ("", "expect.verdict", 6),
        ("", "bounds.brokers", 5),
        ("", "model", 3),
        ("", "source", 10),
        ('expect = { verdict = "violated", depth = 3 }', "expect.depth", 14),
        ('expect = { verdict = "violated" }', "expect.depth", 14),
        ('[expect]\nverdict = "violated"\n# why\n\ndepth = 3', "expect.depth", 18),
        ('[expect]\nverdict = "violated"\n# why\n\ndepth = 3', "expect.verdict", 15),
        ('[expect]\nverdict = "violated"', "expect.trace_length", 14),
        ('expect.verdict = "violated"\nexpect.depth = 2', "expect.depth", 15),
    ],
)
def test_a_key_is_found_on_the_line_where_its_statement_begins(
    tmp_path: Path, expect: str, key: str, line: int
) -> None:
    assert line_of_key(spec_with(tmp_path, expect), key) == line


def test_windows_line_ends_do_not_move_lines(tmp_path: Path) -> None:
    path = tmp_path / "claim.toml"
    path.write_bytes((SPEC % "expect = { depth = 3 }").replace("\n", "\r\n").encode())
    assert line_of_key(path, "expect.depth") == 14


def test_a_file_that_is_gone_has_one_line(tmp_path: Path) -> None:
    assert line_of_key(tmp_path / "gone.toml", "expect") == 1


# --- JUnit


@pytest.mark.parametrize("schema", JUNIT, ids=["ant", "jenkins"])
def test_junit_reports_are_valid(tmp_path: Path, unmet: list[ClaimResult], schema: Any) -> None:
    for results in ([], unmet):
        junit.write_junit(tmp_path / "junit.xml", results)
        schema.validate(str(tmp_path / "junit.xml"))


def test_a_junit_report_counts_failures_and_errors_and_reports_the_trace(
    tmp_path: Path, unmet: list[ClaimResult]
) -> None:
    junit.write_junit(tmp_path / "junit.xml", unmet)
    suites = ElementTree.parse(tmp_path / "junit.xml").getroot()
    counts = [(int(s.get("tests", 0)), int(s.get("failures", 0)), int(s.get("errors", 0))) for s in suites]
    assert counts == [(2, 1, 0), (2, 1, 1)]
    failures = {case.get("name"): case.find("failure") for case in suites.iter("testcase")}
    assert failures["fine"] is None
    violated = failures["a, b: 100% <b>|`x`"]
    assert violated is not None
    assert violated.get("type") == "expect.verdict"
    assert "0    initial state" in (violated.text or "")
    assert "leader_in_isr is false: there is no leader" in (violated.text or "")
    error = next(suites.iter("error"))
    assert error.get("type") == "max-states"


def test_a_junit_report_times_compiling_apart(tmp_path: Path, write_spec: Write) -> None:
    result = check_spec(load_spec(write_spec(check=["leader_in_isr"])))
    slow = attrs.evolve(result, outcome=attrs.evolve(result.outcome, seconds=12.5, compile_seconds=10.25))
    junit.write_junit(tmp_path / "junit.xml", [slow, slow])
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [each.attrib for each in suite.iter("property")] == [{"name": "compile_seconds", "value": "20.500"}]
    assert suite.get("time") == "4.500"
    assert [case.get("time") for case in suite.iter("testcase")] == ["2.250", "2.250"]


def test_characters_that_xml_cannot_hold_are_replaced(tmp_path: Path, write_spec: Write) -> None:
    result = check_spec(load_spec(write_spec("bell\x07.toml", check=["leader_in_isr"])))
    junit.write_junit(tmp_path / "junit.xml", [result])
    assert next(ElementTree.parse(tmp_path / "junit.xml").iter("testcase")).get("name") == "bell\ufffd"


# --- SARIF


def test_sarif_reports_are_valid_and_point_at_the_broken_expectation(unmet: list[ClaimResult]) -> None:
    log = json.loads(json.dumps(sarif.sarif(unmet)))
    jsonschema.Draft4Validator(SARIF).validate(log)
    found = log["runs"][0]["results"]
    assert [(f["ruleId"], f["level"]) for f in found] == [
        ("leader_in_isr", "error"),
        ("expect.distinct_states", "error"),
        ("expect.depth", "error"),
        ("undecided", "warning"),
    ]
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert [rules[f["ruleIndex"]]["id"] for f in found] == [f["ruleId"] for f in found]
    assert len({f["partialFingerprints"]["claim/v1"] for f in found}) == 4
    for finding, result in zip(found, [unmet[1], unmet[2], unmet[2], unmet[3]], strict=True):
        line = finding["locations"][0]["physicalLocation"]["region"]["startLine"]
        text = result.spec.path.read_text(encoding="utf-8").splitlines()[line - 1]
        assert text.startswith(('"expect"', '"check"'))


def test_a_trace_in_sarif_names_the_function_of_each_step() -> None:
    spec = load_spec(SPECS / "truncation" / "kip_101_fails_on_two_brokers.toml")
    import attrs

    wrong = attrs.evolve(spec, file=attrs.evolve(spec.file, expect=type(spec.file.expect)()))
    log = json.loads(json.dumps(sarif.sarif([check_spec(wrong)])))
    jsonschema.Draft4Validator(SARIF).validate(log)
    steps = log["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(steps) == 12
    place = steps[1]["location"]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("model/reference/controlling.py")
    source = (SPECS.parent / "model" / "reference" / "controlling.py").read_text(encoding="utf-8").splitlines()
    assert "elect_leader" in "".join(source[place["region"]["startLine"] - 1 : place["region"]["startLine"] + 2])


def test_a_lasso_in_sarif_says_how_it_goes_on() -> None:
    spec = load_spec(SPECS / "partition" / "liveness" / "a_committed_shrink_leaves_the_high_watermark_where_it_is.toml")
    result = check_spec(attrs.evolve(spec, file=attrs.evolve(spec.file, expect=type(spec.file.expect)())))
    found = result.violation
    assert found is not None
    assert found.back_to is not None
    log = json.loads(json.dumps(sarif.sarif([result])))
    jsonschema.Draft4Validator(SARIF).validate(log)
    steps = log["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"]
    assert len(steps) == found.trace_length + 2
    assert steps[-1]["location"]["message"]["text"] == f"↺: {goes_on(found.trace_length, found.back_to)}"


def test_files_inside_the_checkout_are_named_relative_to_it(
    monkeypatch: pytest.MonkeyPatch, unmet: list[ClaimResult]
) -> None:
    path = unmet[2].spec.path
    monkeypatch.setenv("GITHUB_WORKSPACE", str(path.parents[1]))
    log = sarif.sarif([unmet[2]])
    assert (
        log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        == "deep/counts.toml"
    )
    assert github.commands([unmet[2]])[0].startswith("::error file=deep/counts.toml,line=")


# --- GitHub


def test_annotations_name_file_line_and_title_and_escape_what_would_end_them(unmet: list[ClaimResult]) -> None:
    lines = github.commands(unmet)
    assert [line.split(" ")[0] for line in lines] == ["::error", "::error", "::error", "::warning"]
    assert ",title=a%2C b%3A 100%25 <b>|`x`::expected the verdict holds" in lines[0]
    assert "%0Aleader_in_isr is false: there is no leader" in lines[0]
    assert all(len(line.splitlines()) == 1 for line in lines)


def test_annotations_hold_no_characters_that_a_terminal_obeys() -> None:
    assert github.complaint("a\x1b[2J\x00b\r\n100%") == "::error title=highwater::a\\u001b[2J\\u0000b\\u000d%0A100%25"


def test_the_step_summary_has_a_table_of_claims_and_the_trace(unmet: list[ClaimResult]) -> None:
    text = github.summary(unmet)
    assert "## Highwater: 1 of 4 claims met" in text
    assert "| ❌ unmet | a, b: 100% \\<b\\>\\|\\`x\\` |" in text
    assert "| step | actor | action | changes |" in text
    assert text.index("unmet") < text.index("✅")


def test_a_step_summary_stays_below_what_github_takes(
    unmet: list[ClaimResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = github.summary(unmet)
    monkeypatch.setattr(github, "LARGEST_SUMMARY", len(whole.encode()) - 10)
    assert "1 more did not fit" in github.summary(unmet)


# --- from the command line


def test_one_run_writes_all_reports(
    highwater: Run, write_spec: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    files = {kind: tmp_path / f"report.{kind}" for kind in ("json", "junit", "sarif")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", path)]
    result = highwater("check", write_spec(expect={"distinct_states": 1}), *options, "--github")
    assert result.exit_code == 1
    assert "::error file=" in result.stdout
    assert summary.read_text(encoding="utf-8").startswith("before\n## Highwater")
    assert json.loads(files["json"].read_text())["summary"]["unmet"] == 1
    assert len(json.loads(files["sarif"].read_text())["runs"][0]["results"]) == 1
    assert ElementTree.parse(files["junit"]).getroot().find("testsuite") is not None


def test_a_claim_asked_twice_is_two_in_every_report(highwater: Run, write_spec: Write, tmp_path: Path) -> None:
    spec = write_spec(
        "asked.toml", model="partition", preset="repaired", protocol={}, check=["exposed_records_survive"]
    )
    written = ["--junit", tmp_path / "junit.xml", "--sarif", tmp_path / "sarif.json", "--github"]
    asked = ["--preset", "kafka-3.9.1", "--preset", "kafka-4.1", "--max-states", "2"]
    ran = highwater("check", spec, *asked, *written)
    cases = [each.get("name") for each in ElementTree.parse(tmp_path / "junit.xml").iter("testcase")]
    assert cases == ["asked, preset kafka-3.9.1", "asked, preset kafka-4.1"]
    (run,) = json.loads((tmp_path / "sarif.json").read_text(encoding="utf-8"))["runs"]
    assert len({each["partialFingerprints"]["claim/v1"] for each in run["results"]}) == 2
    assert len(set(re.findall("::warning .*title=([^:]*)::", ran.output))) == 2


def test_a_step_summary_shows_text_that_looks_like_html_as_it_is(unmet: list[ClaimResult]) -> None:
    results = [attrs.evolve(each, spec=attrs.evolve(each.spec, name="&lt;b&gt;")) for each in unmet]
    assert "&lt;" not in github.summary(results).replace("\\&", "")


def test_outside_of_github_the_missing_summary_is_reported(
    highwater: Run, write_spec: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    result = highwater("check", write_spec(), "--github")
    assert result.exit_code == 0
    assert "GITHUB_STEP_SUMMARY is not set" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--junit", "claim.toml"), "--junit would overwrite a spec"),
        (("--junit", "no/such/folder/j.xml"), "cannot be written"),
        (("--sarif", "same", "--junit", "same"), "would write the same file"),
    ],
)
def test_reports_that_cannot_be_written_are_refused_before_anything_runs(
    highwater: Run,
    write_spec: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    words: str,
) -> None:
    path = write_spec()
    monkeypatch.chdir(tmp_path)
    result = highwater("check", path, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


WRONG = """model = "reference"
bounds = { brokers = 2 }
check = [
  "weak_isr",
  "strong",
]
expect = { verdict = "hold" }
foo = 1
[protocol]
"variant" = "kip-3"
"""


OTHERWISE_RIGHT = """model = "reference"
bounds = { brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 1 }
protocol = { variant = "kip-320" }
"""


def test_every_problem_has_its_line_and_column_in_every_report(highwater: Run, tmp_path: Path) -> None:
    """At the value, or at the key."""
    path = tmp_path / "wrong.toml"
    path.write_text(WRONG, encoding="utf-8")
    result = highwater("check", path, "--json", tmp_path / "r.json", "--sarif", tmp_path / "r.sarif", "--github")
    places = [(7, 22), (8, 1), (10, 13)]
    assert [line.split(": ")[1] for line in result.stderr.splitlines()] == [f"{path}:{at}:{col}" for at, col in places]
    assert [re.findall(r"line=(\d+),col=(\d+)", line) for line in result.stdout.splitlines()] == [
        [(str(at), str(col))] for at, col in places
    ]
    (error,) = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["errors"]
    assert [(each["line"], each["column"]) for each in error["findings"]] == places
    (run,) = json.loads((tmp_path / "r.sarif").read_text(encoding="utf-8"))["runs"]
    regions = [each["locations"][0]["physicalLocation"]["region"] for each in run["results"]]
    assert [(each["startLine"], each["startColumn"]) for each in regions] == places


def test_an_error_in_an_option_has_no_line_in_the_file(highwater: Run, write_spec: Write) -> None:
    path = write_spec()
    assert highwater("check", path, "--preset", "9.9").stderr == (
        f"highwater: {path}: preset: the model reference has none\n"
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('model = "reference"\nbounds = {\n  brokers = 2,\n}\n', "2:11"),
        ('model = "reference"\nbounds = [1,\n  2', "3:4"),
        ("", "1:1"),
        (WRONG.replace("hold", "holds").replace("foo = 1\n", "").replace("3", "320"), "2:1: bounds.log_length_max"),
        (OTHERWISE_RIGHT + 'check = [\r\n\t# not "strong"\r\n\t"strong",\r\n]\r\n', "6:2: check"),
        (OTHERWISE_RIGHT + 'check = ["(at line 9, column 9)"]\n', '4:10: check: "(at line 9, column 9)"'),
    ],
)
def test_errors_of_toml_and_of_nested_values_have_line_and_column(
    highwater: Run, tmp_path: Path, text: str, place: str
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8", newline="")
    assert f"highwater: {path}:{place}" in highwater("check", path).stderr


def test_every_error_of_a_spec_is_annotated(highwater: Run, write_spec: Write) -> None:
    path = write_spec(sauce="x", bounds={"brokers": 0})
    result = highwater("check", path, "--github")
    assert result.exit_code == 2
    lines = result.stdout.splitlines()
    assert len(lines) == 5
    for key in ("sauce", "bounds"):
        at = line_of_key(path, key)
        begin = rf"::error file={path},line={at},col=(\d+),title=highwater::{path}:{at}:\1: {key}"
        assert any(re.match(begin, line) for line in lines)


def test_a_spec_that_is_wrong_from_the_start_is_in_sarif_with_its_line(
    highwater: Run, write_spec: Write, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text('model = "reference"\n\nbounds = {', encoding="utf-8")
    wrong = write_spec("wrong.toml", sauce="x")
    result = highwater("check", broken, wrong, "--sarif", tmp_path / "results.sarif", "--junit", tmp_path / "junit.xml")
    assert result.exit_code == 2
    log = json.loads((tmp_path / "results.sarif").read_text())
    jsonschema.Draft4Validator(SARIF).validate(log)
    (run,) = log["runs"]
    assert run["invocations"][0]["executionSuccessful"] is False
    found = [(each["locations"][0]["physicalLocation"], each["message"]["text"]) for each in run["results"]]
    assert [where["region"]["startLine"] for where, _ in found] == [3, line_of_key(wrong, "sauce")]
    assert [where["artifactLocation"]["uri"] for where, _ in found] == [broken.as_uri(), wrong.as_uri()]
    assert "unknown key" in found[1][1]
    assert "broken" in (tmp_path / "junit.xml").read_text()


def test_progress_in_a_log_is_plain_lines_even_where_colour_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    from highwater.explorer.verdict import Progress
    from highwater.reports import progress

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)
    log = io.StringIO()
    console = progress.make_console(stderr=True)
    console.file = log
    with progress.Live(console, "claim") as live:
        for depth in (1, 2):
            live(Progress(depth, 10, 20, 30, 4, 0.5, 100, True))
    assert [line.split("  ")[0] for line in log.getvalue().splitlines()] == ["claim: depth 1", "claim: depth 2"]
    assert "\x1b" not in log.getvalue()
