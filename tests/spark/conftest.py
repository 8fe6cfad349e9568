"""What the tests on Spark share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.outcomes import findings

pytest.importorskip("pyspark")
sys.path.insert(0, str(Path(__file__).parent))  # the toys


@pytest.fixture
def comparable() -> Callable[..., dict[str, Any]]:
    """All that an outcome says that does not depend on how the search was done, each violation by its property and
    length.
    """

    def comparable(outcome: Any) -> dict[str, Any]:
        found = findings(outcome, "words", "bits", "violations", "restored")
        return found | {"violations": {violation.property: violation.trace_length for violation in outcome.violations}}

    return comparable


@pytest.fixture
def moves(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Each round of joins, as it is described, with how many tables it moves that had not been placed before."""
    from highwater.spark.driver.tables import Tables

    seen: list[tuple[str, int]] = []
    checkpointed = Tables.checkpointed

    def noted(tables: Tables, what: str, table: Any) -> tuple[Any, int]:
        plan = table._jdf.queryExecution().executedPlan().toString()
        seen.append((what, plan.count("Exchange ") - plan.count("REPARTITION_BY_COL")))
        return checkpointed(tables, what, table)

    monkeypatch.setattr(Tables, "checkpointed", noted)
    return seen


@pytest.fixture
def shards_fold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All shards on executors fold their rows from the start, as some do."""
    import toys

    from highwater.spark.driver import cluster

    for name in ("admit_task", "states_task", "steps_task", "targets_task"):
        monkeypatch.setattr(cluster, name, toys.folding(getattr(cluster, name), tmp_path / "folded"))
    yield
    assert (tmp_path / "folded").exists()
