"""Prospects in specs: valid claims, and reports of those that were not judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from highwater.claims.building import build_system
from highwater.claims.checking import Engine, check_spec
from highwater.claims.spec import SpecError, load_spec
from highwater.cli.main import main
from highwater.explorer.blame import ModelError
from highwater.explorer.verdict import Budget
from highwater.files import ReportError
from highwater.model.language.declarations import Quantified
from highwater.reports.replaying import replay
from highwater.reports.results import entry_of
from highwater.reports.terminal import verdict_line

SPEC = """
model = "controller"
preset = "repaired"
bounds = { brokers = 2, replication_factor = 2, leader_epoch_max = 6, partition_epoch_max = 8, deletions = 1 }
check = [CHECK]
"""


SPECS = Path(__file__).parents[2] / "specs" / "controller"


@pytest.fixture(scope="module")
def lost() -> dict[str, Any]:
    """The entry of a prospect that is lost after two steps."""
    return entry_of(
        check_spec(
            load_spec(SPECS / "deletion" / "a_new_controller_that_does_not_resume_deletions_lets_them_hang.toml")
        )
    )


def spec(folder: Path, *check: str, more: str = "") -> Path:
    path = folder / "claim.toml"
    path.write_text(SPEC.replace("CHECK", ", ".join(f'"{name}"' for name in check)) + more, encoding="utf-8")
    return path


def test_a_prospect_cannot_be_claimed_to_a_depth(tmp_path: Path) -> None:
    path = spec(tmp_path, "deletion-can-complete", more='max_depth = 3\nexpect = { verdict = "holds-to-depth" }\n')
    with pytest.raises(SpecError, match="max_depth: deletion_can_complete is a prospect"):
        load_spec(path)


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (
            ["one_leader_per_epoch", "DeletionCanComplete"],
            "holds to depth 3 within these bounds: one_leader_per_epoch; not judged",
        ),
        (
            ["DeletionCanComplete"],
            "explored to depth 3; not judged, because not every state is known: deletion_can_complete",
        ),
    ],
)
def test_a_search_to_a_depth_reports_prospects_as_not_judged(tmp_path: Path, check: list[str], words: str) -> None:
    result = CliRunner().invoke(main, ["check", str(spec(tmp_path, *check)), "--max-depth", "3"])
    assert result.exit_code == 3
    assert words in result.stdout


def test_a_lost_prospect_can_be_written_and_replayed(tmp_path: Path) -> None:
    path, report = spec(tmp_path, "deletion_can_complete_without_returns"), tmp_path / "report.json"
    path.write_text(path.read_text().replace("deletions = 1", "deletions = 1, broker_crashes = 1"), encoding="utf-8")
    assert CliRunner().invoke(main, ["check", str(path), "--json", str(report)]).exit_code == 1
    replayed = CliRunner().invoke(main, ["trace", str(report), "--replay"])
    assert replayed.exit_code == 0
    assert (
        "deletion_can_complete_without_returns is false after 2 steps: replayed, every step and the violation"
        in replayed.stdout
    )


def test_a_trace_that_ends_before_the_prospect_is_lost_is_refused(lost: dict[str, Any]) -> None:
    for length in (1, 2):
        cut = {**lost, "trace": lost["trace"][:length], "trace_length": length - 1}
        with pytest.raises(ReportError, match=f"step {length - 1}: the property .* is not violated"):
            replay(cut)


def test_a_replay_reports_prospects_it_cannot_judge(
    lost: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"format": "highwater-results", "version": 1, "results": [lost]}), encoding="utf-8")
    monkeypatch.setattr("highwater.explorer.outlook.MOST_STATES", 1)
    replayed = CliRunner().invoke(main, ["trace", str(report), "--replay"])
    assert replayed.exit_code == 0
    assert "every step is as the file says; the violation was not judged again" in replayed.stdout


DEADLOCKS = """
model = "reference"
protocol = { variant = "kip-279" }
bounds = { brokers = 2, log_length_max = 2, records_max = 2, leader_epoch_max = 2 }
check = [CHECK]
"""


@pytest.mark.parametrize("engine", [Engine.LOCAL, Engine.PYTHON])
@pytest.mark.parametrize(
    ("check", "depth", "words"),
    [
        (["no_deadlock"], 2, "explored to depth 2; no_deadlock to depth 1"),
        (["no_deadlock"], 0, "explored to depth 0; no_deadlock is not judged"),
        (["weak_isr", "no_deadlock"], 1, "holds to depth 1 within these bounds: weak_isr; no_deadlock to depth 0"),
        (["no_deadlock"], 3, "violated: no_deadlock after 2 steps"),
    ],
)
def test_deadlocks_are_not_judged_in_states_from_which_no_step_was_taken(
    tmp_path: Path, engine: Engine, check: list[str], depth: int, words: str
) -> None:
    path = tmp_path / "claim.toml"
    path.write_text(DEADLOCKS.replace("CHECK", ", ".join(f'"{name}"' for name in check)), encoding="utf-8")
    assert words in verdict_line(check_spec(load_spec(path), engine, Budget(max_depth=depth)))


def test_a_kind_of_property_that_no_search_knows_is_refused() -> None:
    class Until(Quantified):
        """A kind that somebody has added."""

    spec = load_spec(SPECS / "deletion" / "a_new_controller_that_does_not_resume_deletions_lets_them_hang.toml")
    until = Until(lambda state: False, {})
    with pytest.raises(ModelError, match="is a Until, which no search knows how to judge"):
        build_system(spec.definition, spec.protocol, spec.bounds, [until])
