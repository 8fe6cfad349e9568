"""A search on Spark has a second judge, too: the driver judges rows of the levels, and looks their successors up."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toys

from highwater.claims.checking import Engine, check_spec
from highwater.claims.spec import SpecError, load_spec
from highwater.explorer.blame import JudgedOtherwise
from highwater.explorer.compiler.meanings import ActionProgram
from highwater.explorer.compiler.programs import Program
from highwater.explorer.compiler.tracing import Update
from highwater.explorer.encoding import FIRST_EFFECT, NOTHING
from highwater.explorer.search.keeping.kept_trees import KeptTrees
from highwater.explorer.second_judge import SecondJudge
from highwater.explorer.verdict import Auditing, Budget, SearchOptions, Verdict
from highwater.spark.driver import audit
from highwater.spark.driver.explore import explore
from highwater.spark.levels import LevelFile, Levels

SPECS = Path(__file__).parents[2] / "specs"
KIP_320 = functools.partial(toys.reference, "kip-320", "weak_isr", brokers=2, log_length_max=2, leader_epoch_max=2)
ALL = Budget()


@pytest.fixture
def all_on_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("highwater.spark.driver.explore.ROWS_WORTH_A_JOB", 0)
    monkeypatch.setattr(audit, "MOST_ROWS_IN_THE_DRIVER", 0)


def in_the_driver(tmp_path: Path, make: Callable[[], Any] = KIP_320, budget: Budget = ALL, **options: Any) -> Any:
    options = SearchOptions(checkpoint=str(tmp_path / "c"), audit=Auditing.QUICK, **options)
    return explore(make, budget, options, spark=None)


@pytest.mark.parametrize("symmetry", [False, True])
def test_a_search_in_the_driver_is_audited(tmp_path: Path, symmetry: bool) -> None:
    outcome = in_the_driver(tmp_path, symmetry=symmetry)
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.stored_states > audit.FEWEST_STATES
    assert outcome.audit.states == audit.FEWEST_STATES
    assert outcome.audit.paths == min(audit.MOST_PATHS, outcome.audit.walked) > 50


def test_fewer_states_than_an_audit_wants_are_all_judged(tmp_path: Path) -> None:
    outcome = in_the_driver(tmp_path, toys.grid)
    assert outcome.audit.states == outcome.distinct_states == 36


def test_a_search_to_a_depth_is_audited(tmp_path: Path) -> None:
    outcome = in_the_driver(tmp_path, toys.grid, budget=Budget(max_depth=4))
    assert outcome.verdict is Verdict.HOLDS_TO_DEPTH
    assert outcome.audit.states == outcome.distinct_states < 36


def test_a_search_on_the_cluster_is_audited_by_one_more_job(spark: Any, all_on_the_cluster: None) -> None:
    """The paths that executors have learned are among those that are judged."""
    outcome = explore(KIP_320, options=SearchOptions(audit=Auditing.QUICK), spark=spark, partitions=2)
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.audit is not None
    assert outcome.audit.states == audit.FEWEST_STATES
    assert outcome.audit.paths == min(audit.MOST_PATHS, outcome.audit.walked) > 50


def test_a_row_that_is_lost_on_its_way_to_the_disk_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file = Levels.write_file

    def without_the_last(levels: Levels, depth: int, name: str, words: Any, *columns: Any) -> LevelFile:
        kept = slice(None, -1 if depth == 4 else None)
        return write_file(levels, depth, name, [word[kept] for word in words], *(column[kept] for column in columns))

    monkeypatch.setattr(Levels, "write_file", without_the_last)
    with pytest.raises(JudgedOtherwise, match=r"the audit contradicts the search about (right|up)") as error:
        in_the_driver(tmp_path, toys.grid)
    assert "\n  plain Python: it leads to Grid(" in str(error.value)
    assert "\n  the search: that state was never found" in str(error.value)


def test_a_row_that_is_stored_twice_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file = Levels.write_file

    def with_the_last_twice(levels: Levels, depth: int, name: str, words: Any, *columns: Any) -> LevelFile:
        def kept(column: Any) -> Any:
            return np.append(column, column[-1:]) if depth == 5 else column

        return write_file(levels, depth, name, [kept(word) for word in words], *map(kept, columns))

    monkeypatch.setattr(Levels, "write_file", with_the_last_twice)
    with pytest.raises(JudgedOtherwise, match="it is stored at the depths 5 and 5"):
        in_the_driver(tmp_path, toys.grid)


def test_a_wrong_path_is_named_and_kept_trees_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    new_path, lied, forgotten = ActionProgram._new_path, [], []

    def path(program: ActionProgram, number: int, words: Any) -> Any:
        tests, reference, read = new_path(program, number, words)
        if reference != NOTHING and isinstance(program.effects.results[reference - FIRST_EFFECT], Update):
            lied.append(number)
            reference = NOTHING if len(lied) == 3 else reference
        return tests, reference, read

    monkeypatch.setattr(ActionProgram, "_new_path", path)
    monkeypatch.setattr(Program, "_audit_family", lambda *arguments: None)
    monkeypatch.setattr(KeptTrees, "forget", lambda kept: forgotten.append(kept))
    with pytest.raises(JudgedOtherwise, match="the audit contradicts the search about") as error:
        in_the_driver(tmp_path, keep_trees=True)
    assert "\n  path: " in str(error.value)
    assert len(forgotten) == 1


@pytest.mark.usefixtures("spark")
def test_a_claim_on_spark_is_audited_but_not_in_full() -> None:
    claim = load_spec(
        Path(__file__).parents[2] / "specs" / "fencing" / "kip_320_keeps_committed_records_on_two_brokers.toml"
    )
    audited = check_spec(claim, Engine.SPARK).outcome.audit
    assert audited is not None
    assert audited.states == 64
    assert check_spec(claim, Engine.SPARK, audit=Auditing.NONE).outcome.audit is None
    with pytest.raises(SpecError, match="audit full has no meaning with the engine spark"):
        check_spec(claim, Engine.SPARK, audit=Auditing.FULL)


def test_a_violated_search_is_not_audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SecondJudge, "judge", None)
    outcome = in_the_driver(tmp_path, functools.partial(toys.grid, ("the_middle_is_not_reached",)))
    assert outcome.verdict is Verdict.VIOLATED
    assert outcome.audit is None
