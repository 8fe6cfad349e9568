"""The same schedule under another protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from highwater.claims.checking import check_spec
from highwater.claims.spec import load_spec
from highwater.explorer.system import Cut, successor
from highwater.files import ReportError
from highwater.reports.replaying import subject_of
from highwater.reports.results import entry_of
from highwater.viewer.comparison import Comparison, StepOutcome, compare
from highwater.viewer.pages import compare_page

SPECS = Path(__file__).parents[3] / "specs"


def entry_for(path: str) -> dict[str, Any]:
    return entry_of(check_spec(load_spec(SPECS / path)))


@pytest.fixture(scope="module")
def kip_101() -> dict[str, Any]:
    return entry_for("truncation/kip_101_fails_on_two_brokers.toml")


def outcomes(comparison: Comparison) -> list[StepOutcome]:
    return [row.outcome for row in comparison.rows]


def test_the_first_step_that_does_something_else_is_found(kip_101: dict[str, Any]) -> None:
    comparison = compare(kip_101, ["protocol.variant=kip-279"])
    assert outcomes(comparison) == [StepOutcome.SAME] * 11 + [StepOutcome.DIFFERS]
    assert comparison.first == 11
    assert comparison.rows[11].differences == ("b1.log: [] here, [r0@e0] there",)
    assert (
        comparison.summary
        == "With variant kip-279, step 11 is the first to do something else; strong_isr holds after every step."
    )


def test_an_action_with_another_name_stands_for_the_step(kip_101: dict[str, Any]) -> None:
    comparison = compare(kip_101, ["protocol.variant=kip-279"])
    assert [row.action for row in comparison.rows if row.action] == ["become_follower_truncating_by_kip_279"] * 2


def test_a_step_that_is_not_enabled_is_skipped_and_the_rest_tried(kip_101: dict[str, Any]) -> None:
    comparison = compare(kip_101, ["protocol.variant=kip-320"])
    assert comparison.rows[comparison.first].outcome is StepOutcome.NOT_ENABLED
    states = [step.violated for step in (row.theirs for row in comparison.rows)]
    assert "strong_isr" not in set().union(*states)
    for before, row in zip(comparison.rows, comparison.rows[1:], strict=False):
        if row.outcome in (StepOutcome.NOT_ENABLED, StepOutcome.CUT, StepOutcome.UNKNOWN):
            assert row.theirs.changes == ()
            assert row.theirs.name == ""
            assert {lane: cell.lane for lane, cell in row.theirs.cells.items()} == {
                n: c.lane for n, c in before.theirs.cells.items()
            }


def test_the_same_protocol_does_the_same(kip_101: dict[str, Any]) -> None:
    comparison = compare(kip_101, ["protocol.variant=kip-101"])
    assert comparison.first is None
    assert outcomes(comparison) == [StepOutcome.SAME] * 12
    assert comparison.summary == "Every step is the same with the same protocol; strong_isr is false all the same."


@pytest.mark.parametrize("variant", ["truncate-to-high-watermark", "kip-279", "kip-320-first-try", "kip-320"])
def test_outcomes_agree_with_plain_evaluation(kip_101: dict[str, Any], variant: str) -> None:
    comparison = compare(kip_101, [f"protocol.variant={variant}"])
    system = subject_of({**kip_101, "protocol": {"variant": variant}}).system
    state = system.initial[0]
    for row in comparison.rows[1:]:
        names = {
            row.ours.name,
            *next((c for c in comparison.ours.drawing.counterparts if row.ours.name in c), ()),
        }
        found = [a for a in system.actions if a.of.name in names and dict(a.shown) == dict(row.ours.arguments)]
        after = successor(found[0], state, system.domain) if found else None
        assert (row.outcome is StepOutcome.UNKNOWN) == (not found)
        assert (row.outcome is StepOutcome.NOT_ENABLED) == (bool(found) and after is None)
        assert (row.outcome is StepOutcome.CUT) == isinstance(after, Cut)
        state = state if after is None or isinstance(after, Cut) else after


@pytest.mark.parametrize(
    ("against", "words"),
    [
        (["variant"], "is not KEY=VALUE"),
        (["protocol.varient=kip-279"], 'did you mean "protocol.variant"?'),
        (["bounds.brokers=3"], "allowed keys are protocol.variant"),
        (["protocol.variant=kip-999"], "allowed are truncate-to-high-watermark"),
        (["protocol.variant=3"], "--against: "),
        (["protocol.variant=async-isr"], "--against: "),
        ([""], "is not KEY=VALUE"),
    ],
    ids=range(7),
)
def test_a_protocol_that_there_is_not_is_refused_with_what_is_allowed(
    kip_101: dict[str, Any], against: Sequence[str], words: str
) -> None:
    with pytest.raises(ReportError) as caught:
        compare(kip_101, against)
    assert words in str(caught.value)
    assert all(line.startswith("--against") for line in str(caught.value).splitlines())


def test_a_page_shows_both_protocols_and_marks_the_first_difference(kip_101: dict[str, Any]) -> None:
    page = compare_page(compare(kip_101, ["protocol.variant=kip-279"]))
    assert 'id="row-11" data-step="11"' in page
    assert page.count('class="first last"') == 1
    assert "first difference: step 11" in page
    assert "b1.log: [] here, [r0@e0] there" in page


BOUNCE = "controller/fail_over/a_broker_that_bounces_unseen_stays_idle.toml"


@pytest.fixture(scope="module")
def bounce() -> dict[str, Any]:
    return entry_for(BOUNCE)


def test_a_prospect_that_the_other_protocol_keeps_holds_there(bounce: dict[str, Any]) -> None:
    comparison = compare(bounce, ["protocol.controller_detects_bounce=true"])
    assert comparison.first is None
    assert comparison.summary.endswith("assigned_brokers_can_take_their_role holds after every step.")
    assert not any(row.theirs.violated for row in comparison.rows)


def test_a_prospect_lost_under_both_protocols_is_reported_false(bounce: dict[str, Any]) -> None:
    assert compare(bounce, ["protocol.topic_ids=true"]).summary.endswith(
        "assigned_brokers_can_take_their_role is false all the same."
    )


def test_a_prospect_that_cannot_be_judged_is_reported_as_not_judged(
    bounce: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("highwater.explorer.outlook.MOST_STATES", 1)
    assert (
        "assigned_brokers_can_take_their_role was not judged"
        in compare(bounce, ["protocol.controller_detects_bounce=true"]).summary
    )


def test_a_deadlock_is_judged_by_what_can_follow(make_spec: Callable[..., Any]) -> None:
    entry = entry_of(check_spec(make_spec(check=["no_deadlock"])))
    assert compare(entry, ["protocol.variant=kip-320"]).summary.endswith("no_deadlock is false all the same.")
    assert ["no_deadlock" in row.theirs.violated for row in compare(entry, ["protocol.variant=kip-320"]).rows][-2:] == [
        False,
        True,
    ]


def test_a_toggle_named_beside_a_preset_counts_also_where_the_report_has_the_same_value(bounce: dict[str, Any]) -> None:
    rules = ("controller_detects_bounce", "broker_checks_broker_epoch")  # the two in which 2.1 and 2.2 differ
    comparison = compare(bounce, ["preset=kafka-2.2", *(f"protocol.{rule}=false" for rule in rules)])
    assert comparison.difference == "the same protocol"
