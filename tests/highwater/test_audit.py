"""What audits look like to users: their counts in reports, and the end of a run after a contradiction."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import highwater as front_door
from highwater.claims.checking import Engine, check_spec
from highwater.claims.mutation import mutate
from highwater.claims.raising import with_bounds_raised
from highwater.claims.repairing import repair
from highwater.claims.spec import SpecError, load_spec
from highwater.explorer.blame import JudgedOtherwise
from highwater.explorer.search.keeping.tree_files import TreeFiles
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.verdict import Auditing

SPECS = Path(__file__).parents[2] / "specs"
HOLDS = SPECS / "fencing" / "kip_320_keeps_committed_records_on_two_brokers.toml"
VIOLATED = SPECS / "truncation" / "kip_101_fails_on_two_brokers.toml"
BY_ORDER = SPECS / "kraft" / "the_isr_holds_no_fenced_broker_after_any_number_of_elections.toml"

Run = Callable[..., Any]


@pytest.fixture
def audits(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the audits of this process come to."""
    found: list[Any] = []
    audit_of = breadth_first.audit_of
    monkeypatch.setattr(breadth_first, "audit_of", lambda *of, **how: found.append(audit_of(*of, **how)) or found[-1])
    return found


CONTEST = Mock(
    side_effect=JudgedOtherwise("Cluster(...)", "elect(b1)", "leader = b0", "it is not enabled", "it leads to x")
)  # no line of this file raises it


@pytest.fixture
def contradicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every audit contradicts; forks inherit it."""
    monkeypatch.setattr(breadth_first, "audit_of", CONTEST)


def test_a_claim_that_holds_reports_how_much_was_audited(highwater: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    ended = highwater("check", HOLDS, "--json", report)
    assert ended.exit_code == 0
    (entry,) = json.loads(report.read_text())["results"]
    paths = entry["audit"]["paths"]
    assert entry["audit"] == {"states": 64, "paths": paths, "walked_paths": paths, "share": 1}
    assert f"audit  64 states judged twice, and {paths:,} of {paths:,} walked paths (100%)" in ended.stdout


def test_every_state_is_judged_twice_if_that_is_asked(highwater: Run) -> None:
    assert "audit  479 states judged twice" in highwater("check", HOLDS, "--audit", "full").stdout


def test_no_state_is_judged_twice_if_that_is_asked(highwater: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert "audit" not in highwater("check", HOLDS, "--audit", "none", "--json", report).stdout
    assert json.loads(report.read_text())["results"][0]["audit"] is None


def test_plain_python_has_no_second_judge(highwater: Run) -> None:
    ended = highwater("check", HOLDS, "--engine", "python", "--audit", "full")
    assert ended.exit_code == 2
    assert "--audit has no meaning with --engine python" in ended.stderr
    with pytest.raises(SpecError, match="audit has no meaning with the engine python; use local or spark"):
        check_spec(load_spec(HOLDS), Engine.PYTHON, audit=Auditing.FULL)


def test_an_audit_is_asked_for_from_python() -> None:
    assert front_door.check(HOLDS, audit="none").outcome.audit is None
    assert front_door.check(HOLDS).outcome.audit is not None
    with pytest.raises(SpecError, match=r"audit: .*ful.*; allowed are none, quick, full"):
        front_door.check(HOLDS, audit="ful")


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.usefixtures("contradicted")
def test_a_contradiction_exits_70_and_reports_state_path_and_both_results(
    highwater: Run, tmp_path: Path, jobs: str
) -> None:
    report = tmp_path / "report.json"
    ended = highwater("check", HOLDS, BY_ORDER, "--jobs", jobs, "--json", report, may_fail=True)
    assert ended.exit_code == 70
    lines = [line for line in ended.stderr.splitlines() if line.startswith("highwater:")]
    assert lines[0].endswith("the audit contradicts the search about elect(b1); there is no verdict")
    assert ".toml: " in lines[0]
    assert lines[1:5] == [
        "highwater:   state: Cluster(...)",
        "highwater:   path: leader = b0",
        "highwater:   plain Python: it is not enabled",
        "highwater:   the search: it leads to x",
    ]
    assert json.loads(report.read_text())["complete"] is False


def test_kept_trees_are_removed_after_a_contradiction_and_the_next_run_is_right(
    highwater: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    forgotten: list[str] = []
    forget = TreeFiles.forget
    monkeypatch.setattr(TreeFiles, "forget", lambda files, name: forgotten.append(name) or forget(files, name))
    assert highwater("check", HOLDS).exit_code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(breadth_first, "audit_of", CONTEST)
        assert highwater("check", HOLDS, may_fail=True).exit_code == 70
    assert [name.partition("-")[0] for name in forgotten] == ["actions", "properties"]
    ended = highwater("check", HOLDS)
    assert ended.exit_code == 0
    assert "957 distinct" in ended.stdout
    assert len(forgotten) == 2


def test_mutations_are_audited(audits: list[Any]) -> None:
    base, mutations = mutate(load_spec(HOLDS))
    assert base.outcome.audit is audits[0]
    explored = [each.outcome for each in mutations if each.outcome is not None]
    assert [each.audit for each in explored if not each.violations] == audits[1:]
    assert all(each.audit is None for each in explored if each.violations)


def test_repairs_are_audited(audits: list[Any]) -> None:
    repaired = [attempt for attempt in repair(load_spec(VIOLATED), most_rules=1).attempts if attempt.cost is not None]
    assert [attempt.outcome and attempt.outcome.audit for attempt in repaired] == audits
    assert audits


def test_searches_with_raised_bounds_are_audited(audits: list[Any]) -> None:
    spec = load_spec(HOLDS)
    first = check_spec(spec).outcome
    raised = [each.outcome for each in with_bounds_raised(spec, first) if each.outcome is not None]
    assert [first.audit, *(each.audit for each in raised if not each.violations)] == audits
    assert len(audits) > 1


@pytest.mark.usefixtures("contradicted")
def test_a_contradiction_is_not_a_fate_of_a_mutation(highwater: Run) -> None:
    assert highwater("mutate", HOLDS, may_fail=True).exit_code == 70


def test_a_search_that_goes_on_is_audited(highwater: Run, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    assert highwater("check", HOLDS, "--max-states", "200", "--checkpoint", folder).exit_code == 3
    ended = highwater("check", HOLDS, "--checkpoint", folder, "--resume")
    assert ended.exit_code == 0
    assert "audit  64 states judged twice" in ended.stdout


def test_claims_by_the_order_of_epochs_are_audited(highwater: Run) -> None:
    assert "audit  64 states judged twice" in highwater("check", BY_ORDER).stdout
