"""Liveness in specs: valid claims, and how a lasso travels through reports, traces, pages and exports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from highwater.claims.checking import check_spec
from highwater.claims.spec import SpecError, load_spec
from highwater.cli.main import main
from highwater.files import ReportError
from highwater.reports.replaying import replay
from highwater.reports.results import entry_of, report, write_json
from highwater.reports.terminal import plain_text
from highwater.viewer.exports import EXPORTS
from highwater.viewer.index import counterexample_in
from highwater.viewer.pages import trace_page

SPECS = Path(__file__).parents[2] / "specs" / "partition" / "liveness"
ENDLESS = "a_follower_that_remembers_an_epoch_without_records_truncates_for_ever"


@pytest.fixture(scope="module")
def lasso() -> dict[str, Any]:
    """The entry of a follower that truncates for ever, from step 10 on."""
    entry = entry_of(check_spec(load_spec(SPECS / f"{ENDLESS}.toml")))
    return json.loads(json.dumps(entry))


@pytest.fixture(scope="module")
def end() -> dict[str, Any]:
    """The entry of a high watermark that stays where it is after step 6."""
    return entry_of(check_spec(load_spec(SPECS / "a_committed_shrink_leaves_the_high_watermark_where_it_is.toml")))


def test_a_report_records_where_the_cycle_begins(lasso: dict[str, Any], end: dict[str, Any]) -> None:
    assert (lasso["trace_length"], lasso["back_to"], lasso["held_back"]) == (11, 9, {})
    assert lasso["trace"][9]["state"] == lasso["trace"][11]["state"]
    assert (end["trace_length"], end["back_to"]) == (6, 6)


def test_a_lasso_replays(lasso: dict[str, Any]) -> None:
    _, violation = replay(lasso)
    assert (violation.back_to, violation.witness) == (9, lasso["witness"])


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"back_to": 8}, 'the property "followers_reach_the_log_end" is not violated'),
        ({"back_to": 11}, "is not violated"),
        ({"back_to": None}, "is not violated"),
        ({"back_to": 12}, "back_to: 12 is not a step of the trace"),
        ({"back_to": "9"}, 'back_to: "9" is not a step of the trace'),
        ({"witness": "it is slow"}, "witness: should be"),
    ],
)
def test_a_lasso_with_false_contents_is_refused(lasso: dict[str, Any], change: dict[str, Any], refused: str) -> None:
    with pytest.raises(ReportError, match=re.escape(refused)):
        replay({**lasso, **change})


def test_the_property_is_false_from_where_it_waits_for_ever(lasso: dict[str, Any]) -> None:
    """The follower learns at step 9 whom it follows; but the leader was ahead of it before, and stays so."""
    trace = counterexample_in(lasso)
    false = [step.number for step in trace.steps if "followers_reach_the_log_end" in step.violated]
    assert false == list(range(false[0], 12))
    assert [step.number for step in trace.steps if trace.repeats(step)] == [10, 11]
    assert not any("followers_reach_the_log_end" in step.unjudged for step in trace.steps)


def test_a_page_draws_the_way_back(lasso: dict[str, Any], end: dict[str, Any]) -> None:
    page, other = trace_page(counterexample_in(lasso)), trace_page(counterexample_in(end))
    assert '"back_to": 9' in page
    assert '<a href="#step=10">step 10 again</a>, and so on for ever' in page
    assert page.count("is on the cycle") == 2
    assert "nothing, for ever" in other
    assert "is on the cycle" not in other


def test_exports_have_the_cycle(lasso: dict[str, Any], end: dict[str, Any]) -> None:
    trace = counterexample_in(lasso)
    assert json.loads(EXPORTS["itf"](trace))["loop"] == 9
    assert json.loads(EXPORTS["itf"](counterexample_in(end)))["loop"] == 6
    mermaid = EXPORTS["mermaid"](trace)
    assert (
        mermaid.index("    loop for ever\n")
        < mermaid.index("10 fetch")
        < mermaid.index("11 receive")
        < mermaid.index("    end\n")
    )
    assert 's11 -> s10 [color=red, style=bold, label="for ever"' in EXPORTS["dot"](trace)
    assert [line.endswith(",for ever") for line in EXPORTS["csv"](trace).splitlines()].count(True) == 2


def test_the_terminal_shows_where_a_lasso_returns_to(lasso: dict[str, Any], tmp_path: Path) -> None:
    result = check_spec(load_spec(SPECS / f"{ENDLESS}.toml"))
    assert "violated: followers_reach_the_log_end after 9 steps, then a cycle of 2 for ever" in plain_text(result)
    assert "step 10 again, and so on for ever" in plain_text(result)
    write_json(tmp_path / "report.json", report([result]))
    shown = CliRunner().invoke(main, ["trace", str(tmp_path / "report.json")])
    assert shown.exit_code == 0
    assert "step 10 again" in shown.output
    replayed = CliRunner().invoke(main, ["trace", str(tmp_path / "report.json"), "--replay"])
    assert "every step and the violation are as the file says" in replayed.output.replace("\n", " ")


def test_another_protocol_is_compared_step_by_step_and_not_judged(lasso: dict[str, Any], tmp_path: Path) -> None:
    write_json(tmp_path / "report.json", report([check_spec(load_spec(SPECS / f"{ENDLESS}.toml"))]))
    arguments = ["trace", str(tmp_path / "report.json"), "--against", "protocol.epoch_cache_clean_at_end=true"]
    compared = CliRunner().invoke(main, arguments)
    assert compared.exit_code == 0
    assert "followers_reach_the_log_end was not judged: it needs the graph of all states" in compared.output.replace(
        "\n", " "
    )


def test_liveness_cannot_be_claimed_to_a_depth(tmp_path: Path) -> None:
    text = (SPECS / f"{ENDLESS}.toml").read_text(encoding="utf-8").partition("expect")[0]
    path = tmp_path / "claim.toml"
    path.write_text(text + 'max_depth = 3\nexpect = { verdict = "holds-to-depth" }\n', encoding="utf-8")
    with pytest.raises(SpecError, match="max_depth: followers_reach_the_log_end is a liveness property"):
        load_spec(path)


def test_a_search_to_a_depth_reports_liveness_as_not_judged() -> None:
    ran = CliRunner().invoke(main, ["check", str(SPECS / f"{ENDLESS}.toml"), "--max-depth", "3"])
    assert ran.exit_code == 3
    assert "not judged, because not every state is known: followers_reach_the_log_end" in ran.stdout
