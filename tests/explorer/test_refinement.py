"""Refinement: every engine agrees with a search by hand that uses no engines, maps and traces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import attrs
import pytest

from highwater.explorer.blame import ModelError
from highwater.explorer.descriptions import Descriptions
from highwater.explorer.refinement import Refines
from highwater.explorer.search.keeping.fingerprint import applied
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System
from highwater.explorer.verdict import Auditing, SearchOptions, Verdict
from highwater.model.language.declarations import Action, action
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, SequenceOf
from highwater.model.language.records import domain_of, evolve, replaced, within

PLACES, SPOTS, WAYS = 12, 5, 3
PLACE, SPOT, WAY = Integers(0, PLACES - 1), Integers(0, SPOTS - 1), Integers(0, WAYS - 1)


@attrs.frozen
class Bounds:
    most: int = 1


def system(
    initial: Sequence[Any], actions: Sequence[Action], refines: Refines | None = None, most: int = 1, **more: Any
) -> System:
    """A system of one class of states, which refines another one or not."""
    return System(
        domain_of(type(initial[0]), Bounds(most)),
        tuple(initial),
        tuple(each for of in actions for each in of.instances(None)),
        tuple(refines.beginnings(initial)) if refines else (),
        step_properties=tuple(refines.instances(None)) if refines else (),
        **more,
    )


# Random graphs


@attrs.frozen
class Walker:
    """A place in two parts, one of which is in a sequence, and how many steps were taken, which no map looks at."""

    high: int = within(Integers(0, 3))
    rest: tuple[int, ...] = within(SequenceOf(Integers(0, 2), 1))
    steps: int = within(Integers(0, Limit(6, "steps")))

    @property
    def place(self) -> int:
        return self.high * 3 + (self.rest[0] if self.rest else 0)


@attrs.frozen
class Spot:
    """A place of the abstract graph."""

    at: int = within(SPOT)
    marked: bool = within(BOOLEAN)


def walker(place: int, steps: int) -> Walker:
    return Walker(place // 3, (place % 3,) if place % 3 else (), steps)


@attrs.frozen
class Graphs:
    """A graph, a map to the places of another one, and that one's edges and places where it begins."""

    next: tuple[tuple[int, ...], ...]
    mapped: tuple[int, ...]
    edges: frozenset[tuple[int, int]]
    begins: frozenset[int]

    @classmethod
    def of(cls, seed: int) -> Graphs:
        """Each edge is mapped to one of the other graph, but for one perhaps, and the beginning to its own."""
        chance = Random(seed)
        ahead = tuple(tuple(chance.randrange(PLACES) for _ in range(WAYS)) for _ in range(PLACES))
        mapped = tuple(chance.randrange(SPOTS) for _ in range(PLACES))
        images = [(mapped[place], mapped[to]) for place in range(PLACES) for to in ahead[place]]
        left_out = chance.choice([None, *images])
        begins = {mapped[0]} if seed % 10 else {(mapped[0] + 1) % SPOTS}
        return cls(ahead, mapped, frozenset(images) - {left_out}, frozenset(begins))

    def systems(self) -> tuple[System, Refines]:
        """The first graph as a system that refines the second."""

        @action(actor="walker", way=WAY)
        def walk(state: Walker, way: int) -> Walker:
            return walker(self.next[state.place][way], state.steps + 1)

        @action(actor="spot", to=SPOT)
        def go(state: Spot, to: int) -> Spot | None:
            return evolve(state, at=to) if (state.at, to) in self.edges else None

        def spot_of(state: Walker) -> Spot:
            return Spot(self.mapped[state.place], False)

        abstract = system([Spot(each, False) for each in sorted(self.begins)], [go])
        refines = Refines.of("spots", spot_of, abstract)
        return system([walker(0, 0)], [walk], refines), refines

    def steps_to_a_violation(self) -> int | None:
        """How many steps it takes to one that is none of the other graph, level by level; None if there is none."""
        if self.mapped[0] not in self.begins:
            return 0
        level = {0}
        for depth in range(1, 7):
            steps = [(place, to) for place in level for to in self.next[place]]
            images = {(self.mapped[place], self.mapped[to]) for place, to in steps}
            if any(one != other and (one, other) not in self.edges for one, other in images):
                return depth
            level = {to for _, to in steps}
        return None


def test_every_engine_finds_the_violations_that_a_search_by_hand_finds(engine: Callable[..., Any]) -> None:
    held = 0
    for seed in range(60):
        graphs = Graphs.of(seed)
        concrete, refines = graphs.systems()
        outcome, expected = engine(concrete), graphs.steps_to_a_violation()
        held += expected is None
        assert (outcome.verdict is Verdict.HOLDS) == (expected is None), seed
        for found in outcome.violations:
            assert found.trace_length == expected, seed
            fits = [step.fits for step in refines.beside(found.trace)]
            assert fits == [*[True] * (len(fits) - 1), False], seed
    assert 15 < held < 45, "one of both never happens, and the test shows little"


@attrs.frozen
class Corner:
    """What a map passes on as it is."""

    walker: Walker = within(Walker)


@action(actor="corner", high=Integers(0, 3), to=Integers(0, 2))
def turn(corner: Corner, high: int, to: int) -> Corner:
    """To any place with another rest."""
    now = corner.walker
    rest = now.rest[1:] if now.rest else (to,)
    return Corner(evolve(now, high=high, rest=rest, steps=now.steps + 1))


def test_a_map_may_pass_on_parts_of_a_state_unread() -> None:
    refines = Refines.of("corners", Corner, system([Corner(walker(0, 0))], [turn]))
    for seed in range(20):
        (walk,) = {each.of for each in Graphs.of(seed).systems()[0].actions}
        concrete = system([walker(0, 0)], [walk], refines)
        found, plainly = _judged_twice(concrete), plain_python.explore(concrete)
        assert (found.verdict, found.levels) == (plainly.verdict, plainly.levels)
        assert [each.witness for each in found.violations] == [each.witness for each in plainly.violations]


@pytest.fixture(params=["compiled", "plain"])
def engine(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return plain_python.explore if request.param == "plain" else _judged_twice


def _judged_twice(concrete: System, options: SearchOptions | None = None) -> Any:
    options = attrs.evolve(options or SearchOptions(), workers=1, audit=Auditing.FULL)
    return breadth_first.explore(concrete, options=options)


# Names that are interchangeable

CLIENTS = Integers(0, 2, label="c", names="clients")


@attrs.frozen
class Lock:
    holder: int | None = within(Maybe(CLIENTS))
    waits: tuple[bool, ...] = within(ArrayOf(BOOLEAN, 3, label="c", by="clients"))


@attrs.frozen
class Room:
    inside: int = within(lambda bounds: Integers(0, bounds.most))


@action(actor="client", client=CLIENTS)
def ask(lock: Lock, client: int) -> Lock | None:
    return None if lock.waits[client] else evolve(lock, waits=replaced(lock.waits, client, True))


@action(actor="client", client=CLIENTS)
def enter(lock: Lock, client: int) -> Lock | None:
    if lock.holder is not None or not lock.waits[client]:
        return None
    return Lock(client, replaced(lock.waits, client, False))


@action(actor="client", client=CLIENTS)
def leave(lock: Lock, client: int) -> Lock | None:
    return evolve(lock, holder=None) if lock.holder == client else None


@action(actor="client", client=CLIENTS)
def hand_over(lock: Lock, client: int) -> Lock | None:
    return evolve(lock, holder=client) if lock.holder is not None and lock.waits[client] else None


@action(actor="somebody", by=Integers(0, 1))
def go(room: Room, by: int) -> Room:
    return evolve(room, inside=room.inside + 1 if by else max(0, room.inside - 1))


def locks(mapped: Callable[[Any], Any], most: int = 1) -> System:
    refines = Refines.of("room", mapped, system([Room(0)], [go], most=most))
    initial, names = Lock(None, (False,) * 3), {"clients": (0, 1, 2)}
    return system([initial], [ask, enter, leave, hand_over], refines, interchangeable=names)


def who_is_inside(lock: Lock) -> Room:
    return Room(0 if lock.holder is None else 1)


def its_number(lock: Lock) -> Room:
    return Room(lock.holder or 0)


def test_a_map_that_treats_names_alike_needs_one_state_of_each_orbit() -> None:
    found = _judged_twice(locks(who_is_inside))
    alone = breadth_first.explore(locks(who_is_inside), options=SearchOptions(symmetry=False, workers=1))
    assert found.verdict is alone.verdict is Verdict.HOLDS
    assert (found.levels, found.generated) == (alone.levels, alone.generated)
    assert found.stored_states < alone.stored_states


def test_a_map_that_treats_names_differently_is_refused() -> None:
    """From c0 to c2 is a step of two, from c0 to c1 of one."""
    assert plain_python.explore(locks(its_number, most=2)).verdict is Verdict.VIOLATED
    with pytest.raises(ModelError, match=r"refines_room.*clients"):
        breadth_first.explore(locks(its_number, most=2), options=SearchOptions(workers=1))


def test_a_mapped_state_outside_its_bounds_is_an_error_that_names_the_bound(engine: Callable[..., Any]) -> None:
    with pytest.raises(ModelError, match=r"refines.bounds: most of room is too small for what its_number returned"):
        engine(locks(its_number), options=SearchOptions(symmetry=False))


@pytest.mark.parametrize("wrong", [lambda lock: 1, lambda lock: lock, lambda lock: Room(-1)])
def test_a_map_to_something_other_than_a_state_is_an_error(
    wrong: Callable[[Any], Any], engine: Callable[..., Any]
) -> None:
    with pytest.raises(ModelError, match=r"refines.map: <lambda> returned what is no state of room: "):
        engine(locks(wrong))


def test_a_map_that_raises_is_an_error_with_its_line(engine: Callable[..., Any]) -> None:
    def fails(lock: Lock) -> Room:
        return Room(0 * (1 // (3 - sum(lock.waits))))

    with pytest.raises(ModelError, match=r"refines_room\(\) raised ZeroDivisionError: .* in fails: .*; in the state"):
        engine(locks(fails))


# What is kept for the next search


def described(mapped: Callable[[Any], Any], abstract: System) -> str:
    (instance,) = Refines.of("room", mapped, abstract).instances(None)
    instance.apply(_Nothing())  # what was found out meanwhile is no part of it
    return applied(instance, Descriptions())


@attrs.frozen
class _Nothing:
    before: Any = Lock(None, (False,) * 3)
    after: Any = Lock(1, (False,) * 3)


def test_a_refinement_is_described_by_its_map_and_by_the_abstract_model() -> None:
    def variants() -> Iterator[tuple[Callable[[Any], Any], System]]:
        yield who_is_inside, system([Room(0)], [go])
        yield (lambda lock: Room(int(lock.holder is not None))), system([Room(0)], [go])
        yield who_is_inside, system([Room(0)], [action(actor="somebody")(lambda room: Room(1))])

    texts = [described(*each) for each in variants()]
    assert texts == [described(*each) for each in variants()]
    assert all(one != other for one, other in itertools.combinations(texts, 2))
