"""Every claim of the repository is met, and names its source."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest

from highwater.claims.checking import Result, Status, check_spec
from highwater.claims.positions import line_of_key
from highwater.explorer.analysis.causes import causes, instance_of
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.keeping.tree_names import names_of
from highwater.explorer.system import System
from highwater.explorer.verdict import Auditing, Budget, Outcome, Violation
from highwater.reports.replaying import read_report, replay
from highwater.reports.results import report, write_json
from tests.gallery import FILES, FIRST, SPECS, checked, loaded, named, process_of
from tests.outcomes import findings

SMALL = 30_000  # states of a claim that is explored once more, without symmetry
SCHEMA = json.loads((Path(__file__).parent / "results.schema.json").read_text(encoding="utf-8"))


CLAIMS = [
    pytest.param(
        path,
        id=named(path),
        marks=[process_of(path), *([] if path in FIRST else [pytest.mark.slow])],
    )
    for path in FILES
]
"""The first of each folder is quick, and all others are slow, which they are together."""


@pytest.fixture(scope="module", autouse=True)
def one_folder_for_trees(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What one process learns of a model serves the others."""
    folder = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
        patch.setenv("XDG_CACHE_HOME", str(shared / "gallery"))
        yield


@pytest.mark.parametrize("path", CLAIMS)
def test_every_claim_comes_out_and_its_counterexample_is_whole_in_a_report(path: Path, tmp_path: Path) -> None:
    result = checked(path)
    spec = result.spec
    assert result.mismatches == ()
    assert result.status is Status.MET
    assert result.outcome.vacuous == {}
    if result.violation is None:
        return
    write_json(tmp_path / "report.json", report([result]))
    text = (tmp_path / "report.json").read_text(encoding="utf-8")
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(text))
    (entry,) = read_report(tmp_path / "report.json")
    changes_are_listed_if_states_differ(entry)
    if spec.file.model != "requests":
        sets_are_sorted_lists(entry)
    it_replays(entry, result)
    if path in FIRST:
        it_replays(json.loads(json.dumps(entry, sort_keys=True)), result)  # as another tool may have written it
    waits_for_others = spec.file.model == "kraft" and result.violation.back_to is not None
    if spec.file.model != "partition" and not waits_for_others:
        no_step_is_idle(spec.system(), result.violation)


@pytest.mark.slow
@pytest.mark.parametrize("path", CLAIMS)
def test_symmetry_changes_nothing_that_a_claim_reports(path: Path) -> None:
    """Small claims are of every mechanism; larger ones of the same models only take longer."""
    if not checked(path).spec.system().interchangeable:
        pytest.skip("no names are interchangeable, so that it would be the same search again")
    if checked(path).outcome.distinct_states > SMALL:
        pytest.skip("there are smaller claims of the same model")
    # the same states are judged again with it
    alone = check_spec(loaded(path), symmetry=False, audit=Auditing.NONE, keep_trees=True)
    assert comparable(alone.outcome) == comparable(checked(path).outcome)


def comparable(outcome: Outcome) -> dict[str, Any]:
    """All that does not depend on how the search was done."""
    of_properties = [each for each in outcome.unreached if each.of not in outcome.enabled]
    traces = [[each.property, *((str(step.action), step.state) for step in each.trace)] for each in outcome.violations]
    found = findings(outcome, "stored_states", "words", "bits", "violations", "functions", "unreached", "audit")
    return {"traces": traces, "unreached": of_properties} | found


def changes_are_listed_if_states_differ(entry: dict[str, Any]) -> None:
    for before, after in itertools.pairwise(entry["trace"]):
        assert (before["state"] != after["state"]) is bool(after["changes"])


def sets_are_sorted_lists(entry: dict[str, Any]) -> None:
    found = [members for step in entry["trace"] for members in sets_in(step["state"])]
    assert found
    assert all(members == sorted(set(members)) for members in found)


def sets_in(data: Any, key: str = "") -> Iterator[list[Any]]:
    """The lists that stand for sets of brokers or servers in a state."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from sets_in(value, name)
    elif isinstance(data, list):
        if key in ("isr", "pending_isr", "votes", "dead_threads"):
            yield data
        for value in data:
            yield from sets_in(value)


def it_replays(entry: dict[str, Any], result: Result) -> None:
    system, violation = replay(entry)
    assert result.violation is not None
    assert [(str(step.action), step.state) for step in violation.trace] == [
        (str(step.action), step.state) for step in result.violation.trace
    ]
    assert violation.trace[0].state in system.initial
    assert violation.trace_length == result.spec.file.expect.trace_length


def no_step_is_idle(system: System, violation: Violation) -> None:
    """The violation at the end of a shortest trace depends on every step."""
    instance = instance_of(system, violation.property, violation.arguments, violation.trace)
    assert list(causes(system, violation.trace, instance).distance) == list(range(1, len(violation.trace)))


@pytest.mark.parametrize("path", sorted(FIRST), ids=named)
def test_no_function_of_a_model_remembers_what_it_has_read(path: Path) -> None:
    """So that only models of one's own are described again after a search."""
    names = names_of(Engine(checked(path).spec.system(), Budget(), 8, 1, symmetry=True), 8)
    assert names is not None and not names.may_remember
    assert names.instances and names.settings  # as they are now
    check_spec(loaded(path), audit=Auditing.NONE)
    assert attrs.evolve(names, may_remember=True).are_as_they_were()


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_spec_is_written_as_specs_are(path: Path) -> None:
    """It tells its story in a comment, names its source, claims something that could fail, and is named in lower snake
    case.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = list(itertools.takewhile(lambda line: line.startswith("#"), lines))
    assert len(" ".join(comment).replace("#", " ").split()) >= 5, "the claim is not explained"
    spec = loaded(path)
    assert spec.file.source.strip()
    expect = spec.file.expect
    for count in ("distinct_states", "generated"):
        assert getattr(expect, count) is not None, f"write {count} = 0, and let --update-locks bring it up to date"
    for part in path.relative_to(SPECS).with_suffix("").parts:
        assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", part)
    for key in ("model", "bounds", "check" if spec.file.check else "refines", "expect") if path in FIRST else ():
        assert lines[line_of_key(path, key) - 1].startswith(key)


def test_no_two_specs_have_one_name() -> None:
    names = [path.stem for path in FILES]
    assert len(names) == len(set(names))
