"""Equal names and repeated entries are refused: traces and reports identify things by their names."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import attrs
import pytest

from highwater.claims.resolving import define
from highwater.claims.tables import Wrong
from highwater.explorer.blame import ModelError
from highwater.explorer.system import System
from highwater.model.language.declarations import Action, action, invariant
from highwater.model.language.definition import Definition, Model, NoToggles
from highwater.model.language.domain import ArrayOf, Integers, Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.graph_properties import eventually, per, prospect
from highwater.model.language.records import domain_of, evolve, within

SystemOf = Callable[..., System]


@attrs.frozen
class Count:
    n: int = within(Integers(0, 3))


@attrs.frozen
class Bounds:
    pass


def going(by: int) -> Action:
    @action(actor="x")
    def go(state: Count) -> Count | None:
        return evolve(state, n=state.n + by) if state.n + by <= 3 else None

    return go


@invariant()
def few(state: Count) -> bool:
    return state.n < 9


GO, OTHER = going(1), going(2)


def defined(actions: Any, properties: Any = (few,)) -> Definition:
    return Definition(Bounds, Count, lambda bounds: [Count(0)], actions, properties=properties)


@pytest.mark.parametrize(
    ("definition", "why"),
    [
        (defined((GO, OTHER)), r"actions: two are named go; rename one \(.*:\d+\) \(.*:\d+\)"),
        (defined((GO, GO)), "actions: go is listed twice"),
        (defined((GO,), (few, few)), "properties: few is listed twice"),
        (defined((GO,), (few, invariant()(lambda state: True), invariant()(lambda state: True))), "named <lambda>"),
    ],
)
def test_a_model_whose_names_are_equal_is_refused(definition: Definition, why: str) -> None:
    model = Model("m", "x", NoToggles, lambda protocol: definition)
    with pytest.raises(Wrong, match=why):
        define(model, NoToggles())


def test_a_property_that_is_called_as_highwaters_own_is_refused() -> None:
    @invariant()
    def no_deadlock(state: Count) -> bool:
        return True

    model = Model("m", "x", NoToggles, lambda protocol: defined((GO,), (no_deadlock,)))
    with pytest.raises(Wrong, match="no_deadlock is Highwater's own; rename it"):
        define(model, NoToggles())


def test_a_system_with_equal_names_is_refused(system_of: SystemOf) -> None:
    for actions, why in (((GO, OTHER), "two actions are named go"), ((GO, GO), r"actions: go\(\) is listed twice")):
        with pytest.raises(ModelError, match=why):
            system_of([Count(0)], actions)
    with pytest.raises(ModelError, match=r"properties: few\(\) is listed twice"):
        system_of([Count(0)], [GO], [few, few])


@pytest.mark.parametrize(
    "of",
    [
        lambda other: prospect(along=[other]),
        lambda other: eventually(fair=[other]),
        lambda other: eventually(strongly_fair=[per(other)]),
    ],
)
def test_a_property_that_names_another_action_of_a_name_is_refused(system_of: SystemOf, of: Any) -> None:
    def done(state: Count) -> bool:
        return state.n == 3

    system_of([Count(0)], [GO], [of(GO)(done)])
    with pytest.raises(ModelError, match="done names another action than the model's go"):
        system_of([Count(0)], [GO], [of(OTHER)(done)])


def test_a_name_that_is_interchangeable_twice_is_refused(system_of: SystemOf) -> None:
    system = system_of([Count(0)], [GO])
    with pytest.raises(ModelError, match="interchangeable: brokers lists a name twice"):
        attrs.evolve(system, interchangeable={"brokers": (0, 1, 1)})


# What is shown alike


class Alike(Enum):
    A_B = 1
    a_b = 2


class Nobody(Enum):
    NONE = "nobody"
    ONE = "one"


class Words(Enum):
    A, B, A_B = range(3)


@attrs.frozen
class Hidden:
    n: int = within(Integers(0, 1))

    def __str__(self) -> str:
        return "hidden"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: OneOf(Alike), "are both shown as 'a b'"),
        (lambda: OneOf(("1", 1)), "are both shown as '1'"),
        (lambda: OneOf(("a", "b", "a")), "a value is listed twice"),
        (lambda: OneOf((True, "True")), "are both shown as 'True'"),
        (lambda: Integers(-2, 1, label="b"), "-2 and -1 are both shown as none"),
        (lambda: Maybe(Integers(-1, 1, label="b")), "-1 and None are both shown as none"),
        (lambda: Maybe(Nobody), "and None are both shown as none"),
        (lambda: Maybe(OneOf(("none", "one"))), "'none' and None are both shown as none"),
        (lambda: Maybe(Maybe(Integers(0, 1))), "None and None are both shown as none"),
    ],
)
def test_a_domain_of_which_two_values_are_shown_alike_is_refused(make: Callable[[], Any], why: str) -> None:
    with pytest.raises(TypeError, match=why):
        make()


@pytest.mark.parametrize(
    "domain",
    [
        Maybe(Integers(-1, 1)),
        Integers(-1, 1, label="b"),
        Integers(-3, 1),
        SetOf(Words),
        SequenceOf(Words, 2),
        ArrayOf(Maybe(Words), 2),
        SetOf(OneOf(("a", "b", "a b", "a, b", "c"))),
        SequenceOf(Maybe(OneOf(("a", "b", "a b"))), 2),
    ],
)
def test_different_values_are_shown_differently(domain: Any) -> None:
    values = list(domain.values())
    assert len(set(map(domain.show, values))) == len(values)


def test_instances_that_are_shown_alike_are_refused(system_of: SystemOf) -> None:
    @action(actor="x", hidden=Hidden)
    def go_by(state: Count, hidden: Hidden) -> Count | None:
        return evolve(state, n=hidden.n)

    with pytest.raises(ModelError, match=r"actions: go_by\(hidden hidden\) is what two of them are shown as"):
        system_of([Count(0)], [go_by])
    assert domain_of(Hidden, None).show(Hidden(1)) == "hidden"
