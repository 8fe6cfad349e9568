"""Properties and actions whose names differ by case, - and _ only are never taken for each other."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from highwater.api import claim
from highwater.claims.checking import Engine, check_spec
from highwater.claims.names import ExpressionError
from highwater.claims.spec import Spec, SpecError
from highwater.exploring.searching import question
from highwater.exploring.session import Session
from highwater.model.language.declarations import action, invariant
from highwater.model.language.definition import Definition, Model, NoToggles
from highwater.model.language.domain import Integers
from highwater.model.language.records import bound, within
from highwater.reports.replaying import subject_of
from highwater.reports.results import about_spec


@attrs.frozen
class Bounds:
    most: int = bound(1, 9, "the largest count", 2)


@attrs.frozen
class Counter:
    count: int = within(lambda bounds: Integers(0, bounds.most))


@action(actor="counter")
def count_up(counter: Counter) -> Counter | None:
    return Counter(counter.count + 1) if counter.count < 2 else None


@invariant()
def is_low(counter: Counter) -> bool:
    return counter.count < 9


@invariant()
def isLow(counter: Counter) -> bool:
    return counter.count < 1


@invariant()
def nodeadlock(counter: Counter) -> bool:
    return counter.count < 9


@invariant()
def countup(counter: Counter) -> bool:
    return counter.count < 2


MODEL = Model(
    "counter",
    "",
    NoToggles,
    lambda protocol: Definition(
        Bounds, Counter, lambda bounds: [Counter(0)], (count_up,), properties=(is_low, isLow, nodeadlock, countup)
    ),
)


def spec(*check: Any, **keys: Any) -> Spec:
    return claim(name="counting", model=MODEL, bounds={"most": 3}, check=list(check), **keys)


@pytest.mark.parametrize(
    ("check", "violated"),
    [
        (["is_low"], []),
        (["isLow"], ["isLow"]),
        (["is_low", "isLow"], ["isLow"]),
        (["nodeadlock"], []),
        (["no_deadlock"], ["no_deadlock"]),
        (["nodeadlock", "no_deadlock"], ["no_deadlock"]),
    ],
)
def test_a_name_that_is_spelt_as_in_the_model_means_that_property_alone(check: list[str], violated: list[str]) -> None:
    found = spec(*check)
    assert found.file.check == tuple(check)
    outcome = check_spec(found, Engine.PYTHON).outcome
    assert [each.property for each in outcome.violations] == violated
    session = Session(about_spec(found), subject_of(about_spec(found), MODEL))
    session.take(0)
    session.take(0)
    assert [each.name for each in session.judged() if each.checked and each.holds is False] == violated


@pytest.mark.parametrize("name", ["IsLow", "is-low", "No-Deadlock"])
def test_a_name_that_may_mean_several_properties_is_refused_with_these(name: str) -> None:
    meant = "nodeadlock or no_deadlock" if name.startswith("No") else "is_low or isLow"
    with pytest.raises(SpecError, match=f'^counting: check: "{name}" may be {meant}; write one of them as it is spelt'):
        spec(name)


def test_the_violated_property_of_a_claim_is_one_of_those_that_are_checked() -> None:
    expect = {"verdict": "violated", "property": "IsLow"}
    assert spec("isLow", expect=expect).file.expect.property == "isLow"
    with pytest.raises(SpecError, match='"IsLow" may be is_low or isLow'):
        spec("is_low", "isLow", expect=expect)


def test_a_property_of_ones_own_is_not_called_like_highwaters() -> None:
    @invariant()
    def no_deadlock(counter: Counter) -> bool:
        return True

    with pytest.raises(SpecError, match="check: no_deadlock is Highwater's own; rename the property"):
        spec(no_deadlock)


def test_a_goal_means_what_it_is_spelt_like() -> None:
    found = spec("is_low")
    words = [question(name, found.system(), found.definition).words for name in ("count_up", "countup", "isLow")]
    assert words == ["count_up is enabled", "countup is false", "isLow is false"]
    for name in ("CountUp", "is-low"):
        with pytest.raises(ExpressionError, match=f"{name} may be .* or .*; type one of them as it is spelt here"):
            question(name, found.system(), found.definition)
