"""The same schedule under another protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from explorer.system import Cut, successor
from highwater.claims import check_spec
from highwater.reports.results import ReportError, entry_of, subject_of
from highwater.specs.spec import load_spec
from highwater.viewer.comparison import Comparison, Outcome, compare
from highwater.viewer.pages import compare_page

SPECS = Path(__file__).parents[3] / "specs"


def entry_for(path: str) -> dict[str, Any]:
    return entry_of(check_spec(load_spec(SPECS / path)))


@pytest.fixture(scope="module")
def kip_101() -> dict[str, Any]:
    return entry_for("truncation/kip_101_fails_on_two_brokers.toml")


def outcomes(comparison: Comparison) -> list[Outcome]:
    return [row.outcome for row in comparison.rows]


def test_the_first_step_that_does_something_else_is_found(kip_101: dict[str, Any]) -> None:
    comparison = compare(kip_101, ["protocol.variant=kip-279"])
    assert outcomes(comparison) == [Outcome.SAME] * 11 + [Outcome.DIFFERS]
    assert comparison.first == 11
    assert comparison.rows[11].differences == ("b1.log: [] here, [r0@e0] there",)
    assert comparison.summary == "With variant kip-279, step 11 is the first to do something else; strong_isr holds after every step."


def test_an_action_with_another_name_stands_for_the_step(kip_101: dict[str, Any]) -> None:
    comparison = compare(kip_101, ["protocol.variant=kip-279"])
    assert [row.action for row in comparison.rows if row.action] == ["become_follower_truncating_by_kip_279"] * 2


def test_a_step_that_is_not_enabled_is_skipped_and_the_rest_tried(kip_101: dict[str, Any]) -> None:
    comparison = compare(kip_101, ["protocol.variant=kip-320"])
    assert comparison.rows[comparison.first].outcome is Outcome.NOT_ENABLED
    states = [step.violated for step in (row.theirs for row in comparison.rows)]
    assert "strong_isr" not in set().union(*states)
    for before, row in zip(comparison.rows, comparison.rows[1:], strict=False):
        if row.outcome in (Outcome.NOT_ENABLED, Outcome.CUT, Outcome.UNKNOWN):
            assert row.theirs.changes == ()
            assert row.theirs.name == ""
            assert {lane: cell.lane for lane, cell in row.theirs.cells.items()} == {n: c.lane for n, c in before.theirs.cells.items()}


def test_the_same_protocol_does_the_same(kip_101: dict[str, Any]) -> None:
    comparison = compare(kip_101, ["protocol.variant=kip-101"])
    assert comparison.first is None
    assert outcomes(comparison) == [Outcome.SAME] * 12
    assert comparison.summary == "Every step is the same with the same protocol; strong_isr is false all the same."


@pytest.mark.parametrize("variant", ["truncate-to-high-watermark", "kip-279", "kip-320-first-try", "kip-320"])
def test_outcomes_are_what_plain_evaluation_gives(kip_101: dict[str, Any], variant: str) -> None:
    comparison = compare(kip_101, [f"protocol.variant={variant}"])
    system = subject_of({**kip_101, "protocol": {"variant": variant}}).system
    state = system.initial[0]
    for row in comparison.rows[1:]:
        names = {row.ours.name, *next((c for c in comparison.story.drawing.counterparts if row.ours.name in c), ())}
        found = [a for a in system.actions if a.of.name in names and dict(a.shown) == dict(row.ours.arguments)]
        after = successor(found[0], state, system.domain) if found else None
        assert (row.outcome is Outcome.UNKNOWN) == (not found)
        assert (row.outcome is Outcome.NOT_ENABLED) == (bool(found) and after is None)
        assert (row.outcome is Outcome.CUT) == isinstance(after, Cut)
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
def test_a_protocol_that_there_is_not_is_refused_with_what_is_allowed(kip_101: dict[str, Any], against: Sequence[str], words: str) -> None:
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
