"""`highwater trace` and `highwater check --html` as people meet them."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from highwater.claims.checking import check_spec
from highwater.claims.spec import load_spec
from highwater.reports.replaying import read_report
from highwater.reports.results import entry_of, write_json
from highwater.viewer.index import counterexample_in
from highwater.viewer.lanes import show_lanes
from highwater.viewer.shown import Counterexample

ROOT = Path(__file__).parents[3]
VIOLATED = ROOT / "specs" / "truncation" / "kip_101_fails_on_two_brokers.toml"
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with one trace of eleven steps."""
    path = tmp_path_factory.mktemp("report") / "report.json"
    command = [sys.executable, "-m", "highwater.cli.main", "check", str(VIOLATED), "--json", str(path), "--no-trace"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return path


def explained(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("highwater: ")
    return result.stderr


# --- lanes


def test_a_trace_is_a_line_per_step_that_fits_in_a_hundred_columns(highwater: Run, report: Path) -> None:
    lines = highwater("trace", report).stdout.splitlines()
    steps = [line for line in lines if re.match(r" ?\d+ [* ] ", line)]
    assert len(steps) == 12
    assert [line.split()[0].rstrip("*") for line in steps] == [str(number) for number in range(12)]
    assert lines[2:14] == steps
    shown = lines[1 : next(number for number, line in enumerate(lines) if "strong_isr is false: " in line)]
    assert max(map(len, shown)) <= 100
    assert "; ".join(shown[13:]).startswith("* wrote what the property looked at; L leads, F follows, S stale leader")


@pytest.mark.parametrize("colour", [False, True])
def test_states_of_the_controller_take_one_line_each_and_their_marks_are_reported(colour: bool) -> None:
    from io import StringIO

    from rich.console import Console

    path = ROOT / "specs" / "controller" / "fail_over" / "a_broker_that_bounces_unseen_stays_idle.toml"
    out = StringIO()
    system = "truecolor" if colour else None
    show_lanes(
        Console(file=out, width=200, soft_wrap=True, force_terminal=colour, color_system=system),
        counterexample_in(entry_of(check_spec(load_spec(path)))),
    )
    lines = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue()).splitlines()
    assert max(map(len, lines)) <= 100
    assert [line.split()[0] for line in lines[1:4]] == ["0", "1", "2"]
    assert "false" in lines[3]
    told = " ".join(lines[4:])
    assert "C active controller; x down; a lone - no role" in told
    assert ("+ new; - gone; ! untrue" in told) is not colour
    assert "high watermark" not in told


def test_changes_are_marked_without_colour(highwater: Run, report: Path) -> None:
    text = highwater("trace", report).stdout
    steps = {int(m[1]): m[2] for m in re.finditer(r"^ ?(\d+) [* ] (.*)$", text, re.MULTILINE)}
    assert "[|+r0₀]" in steps[5]
    assert "[r0₀+|]" in steps[8]
    assert "[|r0₀ +r1₁]" in steps[10]
    assert "[|-r0₀ -r1₁]" in steps[11]
    assert "+F2" in steps[11]
    assert "false" in steps[11]
    assert "\x1b" not in text


def test_the_steps_that_wrote_what_the_property_looked_at_are_marked(highwater: Run, report: Path) -> None:
    text = highwater("trace", report).stdout
    assert re.findall(r"^ ?(\d+) \* ", text, re.MULTILINE) == ["4", "5", "8", "11"]
    assert "b0.high_watermark is 1 since step 8" in text


def test_sixty_steps_of_five_brokers_fit_in_a_hundred_columns(long_trace: Counterexample) -> None:
    from io import StringIO

    from rich.console import Console

    for coloured in (False, True):
        out = StringIO()
        show_lanes(
            Console(
                file=out,
                width=200,
                soft_wrap=True,
                force_terminal=coloured,
                color_system="truecolor" if coloured else None,
            ),
            long_trace,
        )
        lines = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue()).splitlines()
        assert max(map(len, lines)) <= 100
        assert sum(bool(re.match(r" ?\d+ [* ] ", line)) for line in lines) == len(long_trace.steps)
        assert ("\x1b[" in out.getvalue()) is coloured


def test_one_step_shows_its_meaning_and_the_state_in_full(highwater: Run, report: Path) -> None:
    result = highwater("trace", report, "--step", 8)
    assert "A presumed leader commits" in result.stdout
    assert "kafka.cluster.Partition#maybeIncrementLeaderHW (0.11)" in result.stdout
    assert re.search(r"b0\n.*high_watermark  1", result.stdout, re.DOTALL)


# --- replay


def test_replay_confirms_a_good_trace(highwater: Run, report: Path) -> None:
    result = highwater("trace", report, "--replay")
    assert result.exit_code == 0
    replayed = "replayed, every step and the violation are as the file says"
    assert result.stdout == f"{VIOLATED.stem}: strong_isr is false after 11 steps: {replayed}\n"


OPTIONS = [
    ["--replay"],
    ["--html", "-"],
    ["--itf", "-"],
    ["--mermaid", "-"],
    ["--dot", "-"],
    ["--csv", "-"],
    ["--against", "protocol.variant=kip-279"],
    [],
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options) or "lanes")
def test_a_tampered_trace_is_refused_with_its_step_whatever_is_asked_for(
    highwater: Run, report: Path, tmp_path: Path, options: list[str]
) -> None:
    data = json.loads(report.read_text(encoding="utf-8"))
    data["results"][0]["trace"][7]["state"]["next_record_id"] = 2
    path = tmp_path / "tampered.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    result = highwater("trace", path, *options)
    assert "step 7: fetch(follower b1, leader b0) leads to another state" in explained(result)
    assert result.stdout == ""


# --- files


@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        ("html", "<!doctype html>"),
        ("itf", "{"),
        ("mermaid", "sequenceDiagram"),
        ("dot", "digraph"),
        ("csv", "step,action"),
    ],
)
def test_exports_go_to_a_file_or_to_standard_output(
    highwater: Run, report: Path, tmp_path: Path, kind: str, begins: str
) -> None:
    out = tmp_path / f"out.{kind}"
    result = highwater("trace", report, f"--{kind}", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert out.read_text(encoding="utf-8").startswith(begins)
    printed = highwater("trace", report, f"--{kind}", "-").stdout
    assert printed.replace("\r\n", "\n") == out.read_text(encoding="utf-8").replace("\r\n", "\n")


def test_two_runs_write_the_same_page(highwater: Run, report: Path) -> None:
    assert highwater("trace", report, "--html", "-").stdout == highwater("trace", report, "--html", "-").stdout


def test_a_comparison_goes_to_a_page_or_to_the_terminal(highwater: Run, report: Path, tmp_path: Path) -> None:
    result = highwater("trace", report, "--against", "protocol.variant=kip-279")
    assert "With variant kip-279, step 11 is the first to do something else" in result.stdout
    assert re.search(r"^ +11  differs +become_follower_truncating_by_kip_101", result.stdout, re.MULTILINE)
    out = tmp_path / "compared.html"
    assert highwater("trace", report, "--against", "variant=kip-279", "--html", out).exit_code == 0
    assert "first difference: step 11" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--html", "{report}"], "would overwrite a spec or an input"),
        (["--csv", "claim.toml"], "would overwrite a spec or an input"),
        (["--html", "{folder}"], "cannot be written"),
        (["--itf", "{folder}/nothing/x.json"], "cannot be written"),
        (
            ["--against", "protocol.variant=kip-279", "--dot", "-"],
            "--against goes with --html or with the terminal only",
        ),
        (["--against", "protocol.variant=nothing"], "--against: protocol.variant"),
        (["--step", "12"], "has no step 12; the last is 11"),
        (["--step", "3", "--html", "-"], "leave them out to write a file"),
        (["--interactive"], "--interactive needs a terminal"),
        (["--spec", "nobody"], "holds no trace of a spec named nobody"),
    ],
    ids=range(10),
)
def test_bad_usage_exits_2_with_the_reason(
    highwater: Run, report: Path, tmp_path: Path, options: list[str], words: str
) -> None:
    filled = [option.format(report=report, folder=tmp_path) for option in options]
    assert words in explained(highwater("trace", report, *filled))
    assert read_report(report)


def test_a_file_of_several_traces_asks_which_one_to_export(
    highwater: Run, tmp_path: Path, write_spec: Callable[..., Path]
) -> None:
    path = tmp_path / "two.json"
    highwater(
        "check",
        write_spec("a.toml", check=["leader_in_isr"]),
        write_spec("b.toml", check=["leader_in_isr"]),
        "--json",
        path,
    )
    assert "holds several traces; choose one with --spec: a; b" in explained(highwater("trace", path, "--html", "-"))
    assert highwater("trace", path, "--html", "-", "--spec", "b").exit_code == 0


def test_of_traces_with_the_same_name_one_is_chosen_by_its_file(
    highwater: Run, tmp_path: Path, write_spec: Callable[..., Path]
) -> None:
    path, (a, b) = tmp_path / "two.json", (write_spec(f"{each}/same.toml", check=["leader_in_isr"]) for each in "ab")
    highwater("check", a, b, "--json", path)
    first, second = (entry["file"] for entry in read_report(path))
    assert f"--spec: {first}; {second}" in explained(highwater("trace", path, "--csv", "-", "--spec", "same"))
    assert highwater("trace", path, "--html", tmp_path / "b.html", "--spec", second).exit_code == 0
    assert read_report(tmp_path / "b.html")[0]["file"] == second


def test_of_traces_of_one_claim_one_is_chosen_by_what_was_asked(
    highwater: Run, tmp_path: Path, write_spec: Callable[..., Path]
) -> None:
    path, spec = tmp_path / "two.json", write_spec("same.toml", check=["leader_in_isr"])
    highwater("check", spec, "--set", "bounds.brokers=3", "--json", path)
    asked = read_report(path)[0]
    write_json(
        path, {**json.loads(path.read_text(encoding="utf-8")), "results": [asked, {**asked, "changes": ["x 1"]}]}
    )
    names = "same, bounds.brokers 3", "same, x 1"
    assert "; ".join(names) in explained(highwater("trace", path, "--csv", "-"))
    assert highwater("trace", path, "--csv", "-", "--spec", names[1]).exit_code == 0


# --- check --html


def test_check_writes_a_page_per_claim_and_an_index(
    highwater: Run, tmp_path: Path, write_spec: Callable[..., Path]
) -> None:
    folder = tmp_path / "pages"
    result = highwater("check", VIOLATED, write_spec("holds.toml"), "--html", folder)
    assert result.exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["holds.html", "index.html", f"{VIOLATED.stem}.html"]


def test_check_learns_first_that_pages_cannot_be_written(highwater: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = highwater("check", VIOLATED, "--html", tmp_path / "file")
    assert "cannot be made a folder for pages" in explained(result)
    assert "states" not in result.stdout


@pytest.mark.parametrize("name", ["<script>alert(1)<", "a\x1b[31mred", "a\u202eb", "&amp;{{x}}"])
def test_hostile_file_names_show_as_text(
    highwater: Run, tmp_path: Path, write_spec: Callable[..., Path], name: str
) -> None:
    path = write_spec(f"{name}.toml".replace("/", ""), check=["leader_in_isr"], source=name)
    folder, json_path = tmp_path / "pages", tmp_path / "report.json"
    checked = highwater("check", path, "--html", folder, "--json", json_path)
    assert checked.exit_code == 1
    assert not set(checked.stdout) & {"\x1b", "\u202e"}
    assert not set(explained(highwater("check", path.with_name(f"{name}.none".replace("/", "")))).replace("\n", "")) & {
        "\x1b",
        "\u202e",
    }
    for page in folder.iterdir():
        text = page.read_text(encoding="utf-8")
        assert text.count("<script") <= 3
        assert not set(text) & {"\x1b", "\u202e"}
    shown = highwater("trace", json_path).stdout
    assert not set(shown) & {"\x1b", "\u202e"}


def test_page_and_terminal_show_the_same_witness(highwater: Run, report: Path) -> None:
    trace: Counterexample = counterexample_in(read_report(report)[0])
    page, terminal = highwater("trace", report, "--html", "-").stdout, highwater("trace", report).stdout
    assert trace.violation.witness in page
    assert trace.violation.witness in terminal


def entries(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8"))["results"]


def test_the_trace_of_a_report_is_the_one_with_the_fewest_changes_of_actor(highwater: Run, tmp_path: Path) -> None:
    spec = ROOT / "specs" / "fencing" / "kip_320_first_try_lets_a_broker_without_committed_records_be_elected.toml"
    path = tmp_path / "report.json"
    highwater("check", spec, "--json", path, "--no-trace")
    actors = [step["actor"] for step in entries(path)[0]["trace"][1:]]
    assert sum(a != b for a, b in itertools.pairwise(actors)) == 5
    assert highwater("trace", path, "--replay").exit_code == 0
