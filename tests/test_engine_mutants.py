"""The defects that `tests.engine_mutants` plants still have a place in the engine's text."""

from __future__ import annotations

import ast
import re

import pytest

from tests.audited import CLAIMS, SPECS
from tests.engine_mutants import DEFECTS, PAGE, ROOT, Audited, Defect, table_of_audits


@pytest.mark.parametrize("defect", [pytest.param(defect, id=defect.name) for defect in DEFECTS])
def test_a_defect_can_be_planted_and_is_python(defect: Defect) -> None:
    text = defect.source().read_text(encoding="utf-8")
    planted = defect.planted(text)
    assert planted != text
    ast.parse(planted)


def test_there_are_at_least_thirty_defects_with_names_of_their_own() -> None:
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS) >= 30


def test_the_page_lists_every_defect_and_none_that_nothing_notices() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"| {defect.name} |" in page for defect in DEFECTS)
    assert "**nothing**" not in page


def test_a_defect_whose_text_is_gone_is_an_error() -> None:
    gone = Defect("gone", "system.py", "a text that is nowhere", "", ())
    with pytest.raises(ValueError, match="occurs 0 times"):
        gone.planted(gone.source().read_text(encoding="utf-8"))


@pytest.mark.parametrize("room", ["kernels", "search"])
def test_a_readme_of_the_checker_names_only_planted_defects(room: str) -> None:
    text = " ".join((ROOT / "explorer" / room / "README.md").read_text(encoding="utf-8").split())
    named = [name.strip() for each in re.findall(r"\*Planted:\* ([^.]+)\.", text) for name in each.split(";")]
    assert len(named) >= 5
    assert set(named) <= {defect.name for defect in DEFECTS}


def test_the_claims_that_audits_are_asked_about_are_in_the_gallery() -> None:
    assert all((SPECS / f"{claim}.toml").exists() for claim in CLAIMS)


def test_the_table_of_audits_shows_what_they_miss() -> None:
    found = [
        Audited(DEFECTS[0], ("one", "two"), {"two": "the audit contradicts"}, {}, ""),
        Audited(DEFECTS[1], ("one",), {}, {}, ""),
        Audited(DEFECTS[2], (), {}, {}, "ModelError"),
        Audited(DEFECTS[3], (), {}, {}, ""),
        Audited(DEFECTS[4], ("one",), {}, {"one": "refused"}, ""),
    ]
    text = table_of_audits(found)
    assert "3 of 5 planted defects change the result of some of 20 claims, without an error." in text
    assert "The audit notices 1, the verifier 1, and at least one of the two 2. 1 end a search with an error." in text
    assert f"| {DEFECTS[0].name} | 2 | 1 | **none** |" in text
    assert f"| {DEFECTS[1].name} | 1 | **none** |" in text
    assert [each.fate for each in found] == ["noticed", "**not noticed**", "an error", "changes nothing", "noticed"]
