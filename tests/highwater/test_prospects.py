"""Prospects in specs: what may be claimed of them, and what is said where they were not judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from highwater.cli import main
from highwater.specs.spec import SpecError, load_spec

SPEC = """
model = "controller"
preset = "repaired"
bounds = { brokers = 2, replication_factor = 2, leader_epoch_max = 6, partition_epoch_max = 8, deletions = 1 }
check = [CHECK]
"""


def spec(folder: Path, *check: str, more: str = "") -> Path:
    path = folder / "claim.toml"
    path.write_text(SPEC.replace("CHECK", ", ".join(f'"{name}"' for name in check)) + more, encoding="utf-8")
    return path


def test_a_prospect_cannot_be_claimed_to_a_depth(tmp_path: Path) -> None:
    path = spec(tmp_path, "deletion-can-complete", more='max_depth = 3\nexpect = { verdict = "holds-to-depth" }\n')
    with pytest.raises(SpecError, match="max_depth: deletion_can_complete is a prospect"):
        load_spec(path)


@pytest.mark.parametrize(
    ("check", "told"),
    [
        (["one_leader_per_epoch", "DeletionCanComplete"], "holds to depth 3 within these bounds: one_leader_per_epoch; not judged"),
        (["DeletionCanComplete"], "explored to depth 3; not judged, as not every state is known: deletion_can_complete"),
    ],
)
def test_a_search_to_a_depth_says_that_it_did_not_judge_a_prospect(tmp_path: Path, check: list[str], told: str) -> None:
    result = CliRunner().invoke(main, ["check", str(spec(tmp_path, *check)), "--max-depth", "3"])
    assert result.exit_code == 3
    assert told in result.stdout


def test_a_lost_prospect_can_be_written_and_replayed(tmp_path: Path) -> None:
    path, report = spec(tmp_path, "deletion_can_complete_without_returns"), tmp_path / "report.json"
    path.write_text(path.read_text().replace("deletions = 1", "deletions = 1, broker_crashes = 1"), encoding="utf-8")
    assert CliRunner().invoke(main, ["check", str(path), "--json", str(report)]).exit_code == 1
    replayed = CliRunner().invoke(main, ["trace", str(report)])
    assert replayed.exit_code == 0
    assert "deletion_can_complete_without_returns is false" in replayed.stdout
