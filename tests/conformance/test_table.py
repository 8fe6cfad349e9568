"""The page of what running Kafka says is what was found, and gives a reason for each rule that no claim contradicts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

from conformance_page import NOT_TOLD, RELEASES, page, unexplained  # noqa: E402
from conformance_table import KEPT  # noqa: E402

FOUND = json.loads(KEPT.read_text(encoding="utf-8"))


def test_the_page_shows_what_was_found() -> None:
    assert page(FOUND) == (DOCS / "conformance.md").read_text(encoding="utf-8")
    assert [*FOUND] == [release for release, _ in RELEASES]


def test_each_rule_that_no_claim_contradicts_has_its_reason() -> None:
    assert unexplained({release: found["mutations"] for release, found in FOUND.items()}) == NOT_TOLD.keys()


@pytest.mark.parametrize("release", FOUND)
def test_all_claims_of_a_release_were_tried_and_contradict_most_rules(release: str) -> None:
    found = FOUND[release]
    assert {claim.rpartition("/")[2] for claim in found["rows"]} == {*found["tried"]}
    judgements = [judgement for judgement, _ in found["mutations"].values()]
    assert judgements.count("contradicted") > 4 * judgements.count("not contradicted")
