"""Every row of the articles' page names a claim about one of its models, or has the reason why there is none.

That actions, toggles, bounds and properties are there is looked up as the page is written, and tests/test_docs.py holds
the page to that and its links to the claims.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from highwater.claims.spec import load_spec
from tests.test_docs import generator

PAGE = Path(__file__).parents[1] / "docs" / "articles.md"


def rows() -> Iterator[list[str]]:
    """Each row's cells: number, mechanism, Kafka's method, names, claims, whether on Kafka's classes, what is left."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if re.match(r"\| \d+ \|", line):
            yield [each.strip() for each in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_the_page_has_each_of_the_213_rows_once() -> None:
    assert [int(row[0]) for row in rows()] == list(range(1, 214))


def test_what_is_modelled_has_a_claim_and_what_is_not_has_a_reason() -> None:
    for number, mechanism, _, names, claims, _, left in rows():
        assert mechanism.endswith("."), number
        kind, _, reason = left.partition(": ")
        assert names and claims if not kind else reason.endswith("."), number
        assert not (kind == "Nothing to check" and (names or claims)), number


def test_a_claim_is_about_a_model_that_its_row_names() -> None:
    for number, _, _, names, claims, _, _ in rows():
        models = {name.split(".")[0] for name in re.findall(r"`(.*?)`", names)}
        for claim in re.findall(r"\]\((.*?)\)", claims):
            assert load_spec(PAGE.parent / claim).file.model in models, (number, claim)


@pytest.mark.parametrize(
    "name",
    [
        "partition.clients.no_such_action",
        "partition.no_such_module.produce",
        "partition.no_such_toggle",
        "no_such_model.fence_fetch",
    ],
)
def test_a_name_that_is_not_there_is_noticed(name: str) -> None:
    with pytest.raises((LookupError, ImportError), match="no_such"):
        generator().runs_on_kafka(name)
