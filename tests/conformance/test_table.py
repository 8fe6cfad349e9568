"""The page of what running Kafka says is what was found, and gives a reason for each rule that no claim contradicts."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("conformance_table", DOCS / "conformance_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_what_was_found(table: ModuleType) -> None:
    found = json.loads(table.KEPT.read_text(encoding="utf-8"))
    assert table.page(found) == (DOCS / "conformance.md").read_text(encoding="utf-8")
    assert [*found] == [release for release, _ in table.RELEASES]


def test_each_rule_that_no_claim_contradicts_has_its_reason(table: ModuleType) -> None:
    found = json.loads(table.KEPT.read_text(encoding="utf-8"))[table.NEWEST]["mutations"]
    agree = {key for key, (judgement, _) in found.items() if judgement == "not contradicted"}
    assert agree <= table.NOT_TOLD.keys()
    contradicted = sum(judgement == "contradicted" for judgement, _ in found.values())
    assert contradicted > 4 * len(agree)
