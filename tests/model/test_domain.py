"""Domains, bounds, and the declarations of actions and invariants."""

from __future__ import annotations

import copy
import itertools
import pickle
from enum import Enum
from typing import Any

import attrs
import pytest

from highwater.explorer.analysis.causes import part_names
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.trace import changes
from highwater.model.language.declarations import Action, Invariant, Witness, action, invariant
from highwater.model.language.domain import (
    BOOLEAN,
    ArrayOf,
    Integers,
    Limit,
    Maybe,
    OneOf,
    SequenceOf,
    SetOf,
    Struct,
)
from highwater.model.language.records import bound, domain_of, evolve, records, replaced, within
from highwater.model.language.shape import DomainError


class Colour(Enum):
    RED = "red"
    DARK_BLUE = "dark blue"


@attrs.frozen
class Bounds:
    people: int = bound(1, 9, "people")
    steps: int = bound(0, 10**9, "steps")
    name: str = "bounds"


def persons(bounds: Bounds) -> Integers:
    return Integers(0, bounds.people - 1, label="p")


@attrs.frozen
class Point:
    x: int = within(lambda bounds: Integers(0, bounds.steps))
    up: bool = within(BOOLEAN)


@attrs.frozen
class Named:
    colour: Colour = within(OneOf(Colour))

    def __str__(self) -> str:
        return f"the {self.colour.value} one"


@attrs.frozen
class Place:
    point: Point = within(Point)
    owner: int | None = within(lambda bounds: Maybe(persons(bounds)))
    visitors: frozenset[int] = within(lambda bounds: SetOf(persons(bounds)))
    trail: tuple[Point, ...] = within(lambda bounds: SequenceOf(records(Point)(bounds), bounds.steps))
    moods: tuple[Colour, ...] = within(lambda bounds: ArrayOf(OneOf(Colour), bounds.people, label="p"))


BOUNDS = Bounds(people=2, steps=1)
PLACE = domain_of(Place, BOUNDS)
HOME = Place(Point(0, False), None, frozenset(), (), (Colour.RED, Colour.RED))
SCALARS = [
    Integers(3, 7),
    Integers(-2, 0),
    Integers(5, 5),
    OneOf(Colour),
    BOOLEAN,
    OneOf(("a", "b", "c")),
    Maybe(Integers(-1, 1)),
    Maybe(OneOf(Colour)),
]
DOMAINS = [
    *SCALARS,
    SetOf(Integers(0, 2)),
    SequenceOf(BOOLEAN, 2),
    ArrayOf(BOOLEAN, 2),
    Maybe(SetOf(BOOLEAN)),
    domain_of(Point, BOUNDS),
    SetOf(domain_of(Point, BOUNDS)),
]


# Domains


@pytest.mark.parametrize("domain", SCALARS, ids=repr)
def test_scalars_are_numbered_from_zero_in_the_order_of_their_values(domain: Any) -> None:
    values = list(domain.values())
    assert [domain.encode(value) for value in values] == list(range(domain.size))
    assert [domain.decode(index) for index in range(domain.size)] == values
    assert domain.is_scalar


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_every_value_of_a_domain_is_inside_it_and_differs_from_the_others(domain: Any) -> None:
    values = list(domain.values())
    assert all(domain.exceeded(value) == frozenset() for value in values)
    assert len(set(values)) == len(values)


@pytest.mark.parametrize(
    ("domain", "count"),
    [
        (Integers(0, 3), 4),
        (Integers(1, 0), 0),
        (Maybe(Integers(0, 3)), 5),
        (SetOf(Integers(0, 3)), 16),
        (SequenceOf(BOOLEAN, 3), 15),
        (SequenceOf(BOOLEAN, 0), 1),
        (ArrayOf(BOOLEAN, 3), 8),
        (Maybe(ArrayOf(BOOLEAN, 3)), 9),
        (domain_of(Point, BOUNDS), 4),
        (PLACE, 4 * 3 * 4 * (1 + 4) * 4),
    ],
    ids=repr,
)
def test_domains_have_as_many_values_as_they_should(domain: Any, count: int) -> None:
    assert sum(1 for _ in domain.values()) == count


@pytest.mark.parametrize(
    "domain", [SetOf(BOOLEAN), SequenceOf(BOOLEAN, 1), ArrayOf(BOOLEAN, 1), Maybe(SetOf(BOOLEAN)), PLACE], ids=repr
)
def test_composites_are_not_scalars(domain: Any) -> None:
    assert not domain.is_scalar


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (Integers(0, 3), -1),
        (Integers(0, 3), 4),
        (Integers(0, 3), True),
        (Integers(0, 3), 1.0),
        (Integers(0, 3), None),
        (Integers(0, Limit(3, "steps")), -1),
        (BOOLEAN, 1),
        (BOOLEAN, None),
        (OneOf((0, 1)), True),
        (OneOf(Colour), "red"),
        (Maybe(Integers(0, 3)), "0"),
        (SetOf(BOOLEAN), (True,)),
        (SetOf(Integers(0, 3)), frozenset({1, 4})),
        (SetOf(Integers(0, 3)), frozenset({True})),
        (SequenceOf(BOOLEAN, 2), [True]),
        (SequenceOf(BOOLEAN, 2), (True, 0)),
        (SequenceOf(BOOLEAN, 2), (True,) * 3),
        (ArrayOf(BOOLEAN, 2), (True,)),
        (ArrayOf(BOOLEAN, 2), (True,) * 3),
        (ArrayOf(BOOLEAN, Limit(2, "people")), (True,) * 3),
        (ArrayOf(BOOLEAN, 2), [True, True]),
        (PLACE, HOME.point),
        (PLACE, None),
    ],
    ids=repr,
)
def test_a_value_outside_its_domain_that_no_bound_explains_is_an_error(domain: Any, value: Any) -> None:
    with pytest.raises(DomainError):
        domain.exceeded(value)


@pytest.mark.parametrize(
    ("domain", "value", "keys"),
    [
        (Integers(0, Limit(3, "steps")), 4, {"steps"}),
        (Integers(0, Limit(3, "steps") - 1), 3, {"steps"}),
        (Integers(0, Limit(3, "steps") - 1), 2, set()),
        (Maybe(Integers(0, Limit(3, "steps"))), 9, {"steps"}),
        (Maybe(Integers(0, Limit(3, "steps"))), None, set()),
        (SetOf(Integers(0, Limit(3, "steps"))), frozenset({1, 9}), {"steps"}),
        (SequenceOf(BOOLEAN, Limit(1, "line")), (True, True), {"line"}),
        (SequenceOf(Integers(0, Limit(3, "steps")), Limit(1, "line")), (4, 0), {"steps", "line"}),
        (SequenceOf(Integers(0, Limit(3, "steps")), Limit(1, "line")), (0, 4), {"steps", "line"}),
        (ArrayOf(Integers(0, Limit(3, "steps")), 2), (0, 4), {"steps"}),
        (PLACE, evolve(HOME, owner=2, trail=(Point(2, True),)), {"people", "steps"}),
    ],
    ids=itertools.count(),
)
def test_a_value_beyond_limits_names_the_keys_of_all_of_them(domain: Any, value: Any, keys: set[str]) -> None:
    assert domain.exceeded(value) == keys


def test_an_error_names_the_record_and_the_field_on_every_level() -> None:
    with pytest.raises(DomainError, match=r"Place\.point: Point\.x: -1 is not a whole number in 0\.\.1"):
        PLACE.exceeded(evolve(HOME, point=Point(-1, False)))


@pytest.mark.parametrize(
    ("domain", "value", "shown"),
    [
        (Integers(0, 3), 2, "2"),
        (Integers(0, 3, label="b"), 2, "b2"),
        (OneOf(Colour), Colour.DARK_BLUE, "dark blue"),
        (BOOLEAN, True, "True"),
        (OneOf(("ann",)), "ann", "ann"),
        (Maybe(Integers(0, 3, label="b")), None, "none"),
        (Maybe(Integers(0, 3, label="b")), 1, "b1"),
        (SetOf(Integers(0, 3, label="b")), frozenset({3, 1}), "{b1 b3}"),
        (SetOf(Integers(0, 3)), frozenset(), "{}"),
        (SequenceOf(Integers(0, 3), 3), (2, 1), "[2 1]"),
        (SequenceOf(Integers(0, 3), 3), (), "[]"),
        (ArrayOf(Integers(0, 3, label="b"), 2), (2, 1), "(b2, b1)"),
        (domain_of(Point, BOUNDS), Point(1, True), "Point(x 1, up True)"),
        (domain_of(Named, BOUNDS), Named(Colour.DARK_BLUE), "the dark blue one"),
    ],
    ids=repr,
)
def test_values_are_shown_in_the_words_of_their_domain(domain: Any, value: Any, shown: str) -> None:
    assert domain.show(value) == shown


# Bounds


def test_a_limit_is_its_number() -> None:
    limit = Limit(3, "steps")
    assert limit == 3
    assert hash(limit) == hash(3)
    assert list(range(limit)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("derived", "number"),
    [
        (lambda limit: limit + 1, 4),
        (lambda limit: limit - 1, 2),
        (lambda limit: 1 + limit, 4),
        (lambda limit: limit - 1 + 2, 4),
    ],
)
def test_a_limit_keeps_its_key_through_plus_and_minus(derived: Any, number: int) -> None:
    limit = derived(Limit(3, "steps"))
    assert limit == number
    assert isinstance(limit, Limit)
    assert limit.key == "steps"


def test_domain_functions_see_whole_numbers_of_the_bounds_as_limits_and_the_rest_as_it_is() -> None:
    seen: list[Any] = []

    def look(bounds: Bounds) -> Integers:
        seen.extend((bounds.people, bounds.name))
        return Integers(0, bounds.people)

    assert domain_of(look, BOUNDS) == Integers(0, 2)
    assert isinstance(seen[0], Limit)
    assert seen[0].key == "people"
    assert seen[1] == "bounds"
    assert type(seen[1]) is str


@pytest.mark.parametrize(
    "arguments", [{"people": 0, "steps": 1}, {"people": 10, "steps": 1}, {"people": "2", "steps": 1}]
)
def test_a_bound_outside_its_range_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match="people"):
        Bounds(**arguments)


# The domain of a class


def test_the_domain_of_a_record_class_has_the_domain_of_each_field() -> None:
    assert PLACE.cls is Place
    assert dict(PLACE.fields) == {
        "point": Struct(Point, {"x": Integers(0, 1), "up": BOOLEAN}),
        "owner": Maybe(Integers(0, 1, "p")),
        "visitors": SetOf(Integers(0, 1, "p")),
        "trail": SequenceOf(Struct(Point, {"x": Integers(0, 1), "up": BOOLEAN}), 1),
        "moods": ArrayOf(OneOf(Colour), 2, "p"),
    }


def test_a_domain_is_its_own_domain() -> None:
    assert domain_of(BOOLEAN, BOUNDS) is BOOLEAN


@attrs.define
class Thawed:
    x: int = within(BOOLEAN)


class Bare:
    x: int = 0


@attrs.frozen
class Homeless:
    fine: bool = within(BOOLEAN)
    lost: int = 0


@attrs.frozen
class Outer:
    inner: Thawed = within(Thawed)


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (Thawed, r"Thawed must be a frozen attrs class.*@attrs\.frozen"),
        (Bare, r"Bare must be a frozen attrs class"),
        (int, r"the class int is no domain; write Integers"),
        (Homeless, r"Homeless\.lost has no domain.*within"),
        (Outer, r"Thawed must be a frozen attrs class"),
    ],
)
def test_a_class_that_can_be_no_part_of_a_state_is_refused_by_name(cls: type, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        domain_of(cls, BOUNDS)


def test_records_is_the_domain_of_a_class_for_bounds_and_inside_other_domains() -> None:
    inside = domain_of(lambda bounds: SequenceOf(records(Point)(bounds), 2), BOUNDS)
    assert inside.of == records(Point)(BOUNDS) == domain_of(Point, BOUNDS)
    assert inside.of.exceeded(Point(2, True)) == {"steps"}


@attrs.frozen(kw_only=True)
class KeywordsOnly:
    x: bool = within(BOOLEAN)


def test_values_of_records_with_keyword_only_fields_are_listed() -> None:
    assert list(domain_of(KeywordsOnly, BOUNDS).values()) == [KeywordsOnly(x=False), KeywordsOnly(x=True)]


# Changing states


def test_evolve_changes_fields_of_a_copy() -> None:
    changed = evolve(HOME, owner=1)
    assert changed == Place(HOME.point, 1, HOME.visitors, HOME.trail, HOME.moods)
    assert HOME.owner is None


def test_evolve_refuses_a_field_that_does_not_exist() -> None:
    with pytest.raises(TypeError, match="landlord"):
        evolve(HOME, landlord=1)


def test_replaced_changes_one_element_of_a_copy() -> None:
    assert [replaced((1, 2, 3), index, 0) for index in range(3)] == [(0, 2, 3), (1, 0, 3), (1, 2, 0)]


@pytest.mark.parametrize("index", [-1, 3, 4])
def test_replaced_refuses_an_index_without_element(index: int) -> None:
    with pytest.raises(IndexError, match=f"no element {index} in a tuple of 3"):
        replaced((1, 2, 3), index, 0)


# Actions and invariants


@action(actor="who", who=persons, colour=OneOf(Colour))
def paint(place: Place, who: int, colour: Colour, bounds: Bounds) -> Place | None:
    """Somebody paints a wall."""
    return evolve(place, owner=who % bounds.people, moods=replaced(place.moods, 0, colour))


@invariant()
def nobody_owns_it(place: Place, protocol: str) -> bool | Witness:
    return place.owner is None or Witness("{who} owns it, says {whose}", who=place.owner, whose=protocol)


def test_a_declaration_stays_the_function() -> None:
    assert isinstance(paint, Action)
    assert isinstance(nobody_owns_it, Invariant)
    assert paint.name == paint.__name__ == "paint"
    assert paint.__doc__ == "Somebody paints a wall."
    assert paint(HOME, 1, Colour.RED, BOUNDS).owner == 1


def test_there_is_one_instance_for_all_values_of_the_parameters_in_their_order() -> None:
    instances = paint.instances(BOUNDS)
    assert [tuple(instance.arguments.values()) for instance in instances] == list(itertools.product((0, 1), Colour))
    assert [str(instance) for instance in instances] == [
        "paint(who p0, colour red)",
        "paint(who p0, colour dark blue)",
        "paint(who p1, colour red)",
        "paint(who p1, colour dark blue)",
    ]
    assert instances[3].shown == {"who": "p1", "colour": "dark blue"}
    assert instances[3].of is paint


def test_an_instance_is_a_function_of_the_state_alone() -> None:
    assert paint.instances(BOUNDS)[3].apply(HOME) == evolve(HOME, owner=1, moods=(Colour.DARK_BLUE, Colour.RED))
    assert nobody_owns_it.instances(BOUNDS, "ann")[0].apply(HOME) is True
    assert str(nobody_owns_it.instances(BOUNDS, "ann")[0].apply(evolve(HOME, owner=1))) == "1 owns it, says ann"


def test_the_actor_is_the_argument_that_it_names_or_a_name_of_its_own() -> None:
    assert [instance.actor for instance in paint.instances(BOUNDS)] == ["p0", "p0", "p1", "p1"]
    assert [instance.actor for instance in action(actor="nature")(lambda place: place).instances(BOUNDS)] == ["nature"]


def test_a_function_without_parameters_has_one_instance() -> None:
    (instance,) = nobody_owns_it.instances(BOUNDS, "ann")
    assert str(instance) == "nobody_owns_it()"
    assert instance.arguments == {}


def test_a_parameter_without_values_has_no_instance() -> None:
    assert action(actor="x", x=Integers(1, 0))(lambda place, x: place).instances(BOUNDS) == []


def test_the_arguments_of_actions_are_plain_numbers() -> None:
    """A `Limit` among them would be refused as a value of the state."""
    declared = action(actor="x", x=lambda bounds: Integers(bounds.people - 1, bounds.people))(lambda place, x: place)
    assert [type(instance.arguments["x"]) for instance in declared.instances(BOUNDS)] == [int, int]


def undeclared(place: Place, who: int) -> Place:
    return place


@pytest.mark.parametrize(
    "declare",
    [
        lambda: action(actor="who")(undeclared),
        lambda: action(actor="who", who=persons, colour=BOOLEAN)(undeclared),
        lambda: action(actor="who", whom=persons)(undeclared),
        lambda: invariant()(undeclared),
        lambda: invariant(whom=persons)(undeclared),
    ],
)
def test_declared_parameters_must_be_those_of_the_function(declare: Any) -> None:
    with pytest.raises(TypeError, match=r"undeclared: declared parameters .* but the function takes \['who'\]"):
        declare()


# Witnesses


def test_a_witness_is_false_and_formats_its_facts() -> None:
    witness = Witness("offset {offset} of b{broker} is lost", offset=3, broker=1)
    assert not witness
    assert str(witness) == "offset 3 of b1 is lost"
    assert witness.facts == {"offset": 3, "broker": 1}


def test_a_witness_without_facts_is_a_sentence() -> None:
    assert str(Witness("something is wrong")) == "something is wrong"


# Processes exchange bounds and domains


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("again", [pickled, copy.deepcopy, copy.copy])
def test_a_limit_survives_copies_with_its_key(again: Any) -> None:
    """A system is pickled to be explored by other processes."""
    limit = again(Limit(3, "steps"))
    assert limit == 3
    assert limit.key == "steps"


def test_two_values_that_are_equal_are_refused() -> None:
    with pytest.raises(TypeError, match="OneOf: of 1, True two are equal, as True and 1 are"):
        OneOf((1, True))


@attrs.frozen
class Shared:
    """Two arrays of records by the same names, one in a record, and one of arrays."""

    replicas: tuple[Point, ...] = within(lambda bounds: ArrayOf(records(Point)(bounds), 2, label="b"))
    registrations: tuple[Point, ...] = within(lambda bounds: ArrayOf(records(Point)(bounds), 2, label="b"))
    grid: tuple[tuple[Point, ...], ...] = within(
        lambda bounds: ArrayOf(ArrayOf(records(Point)(bounds), 2, label="r"), 2, label="b")
    )


def test_two_parts_of_a_state_never_have_the_same_name() -> None:
    domain = domain_of(Shared, Bounds(1, 1))
    points = [(Point(number, up=bool(number)),) * 2 for number in (0, 1)]
    before, after = (Shared(each, each, (each, each)) for each in points)
    names = [change.path for change in changes(domain, before, after)]
    assert len(set(names)) == len(names) == 16
    assert {"b1.x", "registrations[b1].x", "grid[b1][r0].up"} <= set(names)
    assert set(part_names(Layout(domain)).values()) == set(names)


@pytest.mark.parametrize(
    "domain",
    [
        Integers(Limit(2, "least"), Limit(4, "most")),
        OneOf((2, Limit(4, "most"))),
        Maybe(Integers(Limit(2, "least"), 4)),
    ],
)
def test_a_value_that_a_bound_is_one_of_is_a_plain_number(domain: Any) -> None:
    """Only the greatest one says which bound cuts a step to what is beyond."""
    assert domain.exceeded(2) == domain.exceeded(4) == frozenset()
    for index in range(domain.size):
        assert type(domain.decode(index)) in (int, type(None))
        assert domain.exceeded(domain.decode(index)) == frozenset()
