"""Coverage of several claims: added up, in every report, and the same for any number of jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from highwater.claims.checking import Result as ClaimResult
from highwater.claims.checking import check_spec
from highwater.claims.coverage import Coverage, added_up
from highwater.claims.spec import Spec
from highwater.explorer.verdict import Budget, Verdict
from highwater.reports.github import summary
from highwater.visible import counted

SCHEMA = json.loads((Path(__file__).parent / "results.schema.json").read_text(encoding="utf-8"))
Run = Callable[..., Any]
Write = Callable[..., Path]
VARIANT = {"variant": "truncate-to-high-watermark"}
BOUNDS = {"brokers": 2, "log_length_max": 1, "records_max": 1}
SAFE = {"protocol": VARIANT, "check": ["weak_isr"], "bounds": {**BOUNDS, "leader_epoch_max": 0}}
UNSAFE = {
    "protocol": VARIANT, "check": ["strong_isr"], "bounds": {**BOUNDS, "leader_epoch_max": 2},
    "expect": {"verdict": "violated"},
}  # fmt: skip


def covered(*specs: Spec, **options: Any) -> list[ClaimResult]:
    return [check_spec(spec, coverage=True, **options) for spec in specs]


def alone(results: list[ClaimResult]) -> Coverage:
    (found,) = added_up(results)
    return found


def places(found: Coverage) -> set[tuple[str, str]]:
    return {(each.function, each.at.text) for each in found.missed}


@pytest.fixture
def safe(make_spec: Callable[..., Spec]) -> Spec:
    return make_spec("safe.toml", **SAFE)


@pytest.fixture
def violated(make_spec: Callable[..., Spec]) -> Spec:
    return make_spec("violated.toml", **UNSAFE)


def test_a_line_has_run_if_one_of_the_claims_ran_it(safe: Spec, violated: Spec) -> None:
    both = [*covered(safe, budget=Budget(max_depth=1)), *covered(violated)]
    assert [result.verdict for result in both] == [Verdict.HOLDS_TO_DEPTH, Verdict.VIOLATED]
    one, other, together = alone(both[:1]), alone(both[1:]), alone(both)
    assert (together.model, together.claims, together.ended_early) == ("reference", 2, 1)
    lines = [
        {(file, line) for file, of in result.outcome.lines.items() for line, paths in of.items() if paths}
        for result in both
    ]
    assert lines[1] - lines[0], "the violated claim adds nothing, and this test shows nothing"
    assert together.ran == len(lines[0] | lines[1]) > max(one.ran, other.ran)
    for each in places(together):
        assert each in places(one) or each in places(other)
    assert places(one) - places(together)


def test_each_missed_statement_has_the_right_file_and_line(safe: Spec) -> None:
    missed = alone(covered(safe)).missed
    assert missed
    for each in missed:
        lines = Path(each.at.file).read_text(encoding="utf-8").splitlines()
        assert lines[each.at.line - 1].strip() == each.at.text
        assert any(f"def {each.function}(" in line for line in lines[: each.at.line])


def test_a_search_that_ended_early_counts_with_what_it_reached(safe: Spec) -> None:
    early = alone(covered(safe, budget=Budget(max_depth=2)))
    whole = alone(covered(safe))
    assert (early.ended_early, whole.ended_early) == (1, 0)
    assert 0 < early.ran < whole.ran


def test_claims_that_were_checked_without_it_are_left_out(safe: Spec, violated: Spec) -> None:
    assert added_up([check_spec(safe)]) == []
    assert alone([check_spec(safe), *covered(violated)]).claims == 1


def test_models_are_added_up_apart(safe: Spec, make_spec: Callable[..., Spec]) -> None:
    asynchronous = {"protocol": {"variant": "async-isr"}, "bounds": {"brokers": 2, "offset_max": 1, "version_max": 1}}
    quorum = {"protocol": {"variant": "kraft"}, "bounds": {"servers": 2, "values": 1, "max_elections": 1}}
    of_quorum = make_spec("quorum.toml", model="quorum-reference", check=["no_log_divergence"], **quorum)
    of_isr = make_spec("isr.toml", check=["valid_high_watermark"], **asynchronous)
    found = added_up(covered(safe, of_quorum, of_isr))
    assert [(each.model, each.claims) for each in found] == [("quorum-reference", 1), ("reference", 2)]


def test_coverage_is_in_the_terminal_and_every_report_for_any_number_of_jobs(
    highwater: Run, write_spec: Write, tmp_path: Path
) -> None:
    specs = [
        write_spec("safe.toml", **SAFE),
        write_spec("violated.toml", **UNSAFE),
    ]
    said = []
    for jobs in ("1", "2"):
        report, pages = tmp_path / f"{jobs}.json", tmp_path / f"pages{jobs}"
        run = highwater("check", *specs, "--coverage", "--jobs", jobs, "--json", report, "--html", pages)
        data = json.loads(report.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(SCHEMA).validate(data)
        said.append((run.stdout[run.stdout.index("coverage  ") :].splitlines()[:-1], data["coverage"]))
    assert said[0] == said[1]
    lines, (entry,) = said[0]
    head = f"coverage  reference: 2 claims ran {entry['ran']} of {entry['lines']} lines; "
    assert lines[0] == f"{head}{counted(len(entry['unreached']), 'statement')} never ran"
    assert len(lines) == 1 + len(entry["unreached"]) > 1
    for line, missed in zip(lines[1:], entry["unreached"], strict=True):
        assert line.startswith(f"    never ran: in {missed['function']}: {missed['text']}  (")
        assert line.endswith(f":{missed['line']})")
        assert missed["text"].split()[0] in (pages / "index.html").read_text(encoding="utf-8")


def test_the_step_summary_names_what_never_ran(safe: Spec, violated: Spec) -> None:
    results = covered(safe, violated)
    text = summary(results)
    assert "### Coverage of reference: 2 claims ran " in text
    assert text.count("\n- ") == len(alone(results).missed)
    assert "Coverage" not in summary([check_spec(safe)])


def test_a_lone_violated_claim_prints_a_coverage_block_and_one_that_holds_does_not(
    highwater: Run, write_spec: Write
) -> None:
    lone = highwater("check", write_spec("violated.toml", **UNSAFE), "--coverage")
    assert "coverage  reference: 1 claim ran" in lone.stdout
    holds = highwater("check", write_spec("safe.toml", **SAFE), "--coverage")
    assert "coverage  " not in holds.stdout
    assert "never ran: in " in holds.stdout
    assert "coverage  " not in highwater("check", write_spec("safe.toml", **SAFE)).stdout
