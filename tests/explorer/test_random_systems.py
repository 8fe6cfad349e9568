"""Random transition systems: the compiled search and the plain one must find the same, down to each trace.

A *term* is a function of a state and a parameter with the domain of its values: a small expression language,
interpreted by closures. Terms are built from *places* (parts of the state, however deep), and never leave their domain
except where a `Limit` cuts the step.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, assume, event, given, note, settings
from hypothesis import strategies as st

from highwater.explorer.compiler.layout import Layout
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.search.states import scratch
from highwater.explorer.system import System
from highwater.explorer.verdict import Auditing, Budget, SearchOptions
from highwater.model.language.declarations import Action, Invariant, StepProperty, Witness
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, OneOf, SequenceOf, SetOf, Struct
from highwater.model.language.graph_properties import Prospect
from highwater.model.language.records import domain_of, evolve, replaced, within
from tests.multiset import BagOf
from tests.outcomes import agree

EXAMPLES = int(os.environ.get("HIGHWATER_EXAMPLES", "0"))
MOST_STATES = 300

thorough_or_quick = settings(
    max_examples=EXAMPLES or 100,
    derandomize=not EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


class Colour(Enum):
    RED = "red"
    GREEN = "green"
    DARK_BLUE = "dark blue"


SMALL = Integers(0, Limit(2, "small"))
LARGE = Integers(0, Limit(3, "large"))
SIGNED = Integers(-1, Limit(1, "signed"))
FREE = Integers(0, 2)
COLOURS = OneOf(Colour)
NAMES = OneOf(("ann", "bob"))


@attrs.frozen
class Point:
    """A small record: sets and sequences may hold it."""

    x: int = within(SMALL)
    up: bool = within(BOOLEAN)

    @property
    def height(self) -> int:
        return self.x + 1 if self.up else self.x


@attrs.frozen
class Box:
    """A record of every kind of composite."""

    point: Point = within(Point)
    leader: int | None = within(Maybe(FREE))
    marks: frozenset[int] = within(SetOf(SMALL))
    line: tuple[int, ...] = within(SequenceOf(SMALL, Limit(2, "line")))


POINT = domain_of(Point, None)
BOX = domain_of(Box, None)
BAGS = (BagOf(FREE, 2), BagOf(SMALL, Limit(2, "bag")))
SCALARS = (SMALL, LARGE, SIGNED, FREE, BOOLEAN, COLOURS, NAMES, Maybe(FREE), Maybe(SMALL), Maybe(COLOURS), *BAGS)
COMPOSITES = (
    POINT,
    BOX,
    Maybe(POINT),
    Maybe(BOX),
    Maybe(SetOf(FREE)),
    SetOf(SMALL),
    SetOf(LARGE),
    SetOf(FREE),
    SetOf(SIGNED),
    SetOf(POINT),
    SetOf(Maybe(FREE)),
    SequenceOf(SMALL, Limit(2, "line")),
    SequenceOf(LARGE, Limit(3, "line")),
    SequenceOf(FREE, 2),
    SequenceOf(Maybe(SIGNED), 2),
    SequenceOf(POINT, Limit(2, "line")),
    SequenceOf(SetOf(FREE), 2),
    ArrayOf(SMALL, 2),
    ArrayOf(FREE, 3),
    ArrayOf(POINT, 2),
    ArrayOf(BOX, 2),
    ArrayOf(BAGS[1], 2),
    Maybe(BAGS[0]),
)


# Terms


@attrs.frozen(eq=False)
class Term:
    """A function of a state and a parameter, the domain of its values, and how to write it."""

    domain: Any
    text: str
    get: Callable[[Any, Any], Any]


def constant(domain: Any, value: Any) -> Term:
    return Term(domain, repr(value), lambda s, p: value)


def first_of(domain: Any) -> Any:
    return next(iter(domain.values()))


def part(whole: Term, name: str, of: Any) -> Term:
    return Term(of, f"{whole.text}.{name}", lambda s, p: getattr(whole.get(s, p), name))


def element(whole: Term, index: int) -> Term:
    """One element of a tuple; a constant where the tuple is too short."""
    default = first_of(whole.domain.of)

    def get(s: Any, p: Any) -> Any:
        elements = whole.get(s, p)
        return elements[index] if -len(elements) <= index < len(elements) else default

    return Term(whole.domain.of, f"{whole.text}[{index}]", get)


def present(whole: Term) -> Term:
    """What a Maybe holds; a constant where it holds None."""
    default = first_of(whole.domain.of)

    def get(s: Any, p: Any) -> Any:
        value = whole.get(s, p)
        return default if value is None else value

    return Term(whole.domain.of, f"{whole.text}!", get)


def places(term: Term) -> Iterator[Term]:
    """A part of the state, and all parts of it."""
    yield term
    match term.domain:
        case Struct(fields=fields):
            for name, of in fields.items():
                yield from places(part(term, name, of))
        case ArrayOf(length=length):
            for index in (*range(length), -1):
                yield from places(element(term, index))
        case SequenceOf():
            for index in (0, 1, -1):
                yield from places(element(term, index))
        case Maybe():
            yield from places(present(term))


def assignable(source: Any, target: Any) -> bool:
    """Whether a value of one domain belongs to another, except that a `Limit` may cut it."""
    match source, target:
        case Integers(), Integers():
            return source.low >= target.low and (isinstance(target.high, Limit) or source.high <= target.high)
        case OneOf(), OneOf():
            return source == target
        case Maybe(), Maybe():
            return assignable(source.of, target.of)
        case _, Maybe():
            return assignable(source, target.of)
        case SetOf(), SetOf():
            return assignable(source.of, target.of)
        case SequenceOf(), SequenceOf():
            fits = isinstance(target.max_length, Limit) or source.max_length <= target.max_length
            return fits and assignable(source.of, target.of)
        case ArrayOf(), SequenceOf():
            fits = isinstance(target.max_length, Limit) or source.length <= target.max_length
            return fits and assignable(source.of, target.of)
        case ArrayOf(), ArrayOf():
            return source.length == target.length and assignable(source.of, target.of)
    return isinstance(source, Struct | BagOf) and source == target


def fitted(domain: Integers, text: str, get: Callable[[Any, Any], int]) -> Term:
    """A whole number made to fit: below is clamped, above is left to the limit that cuts it, or wraps around where
    there is none.
    """
    if isinstance(domain.high, Limit):
        return Term(domain, text, lambda s, p: max(domain.low, get(s, p)))
    return Term(domain, f"wrap({text})", lambda s, p: domain.low + (get(s, p) - domain.low) % domain.size)


COMPARISONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SET_OPERATORS = {"|": operator.or_, "&": operator.and_, "-": operator.sub, "^": operator.xor}
SET_METHODS = {"|": "union", "&": "intersection", "-": "difference", "^": "symmetric_difference"}


def has_colours(domain: Any) -> bool:
    return Colour.__name__ in repr(domain)


def compared(a: Term, sign: str, b: Term) -> Term:
    return Term(BOOLEAN, f"({a.text} {sign} {b.text})", lambda s, p: COMPARISONS[sign](a.get(s, p), b.get(s, p)))


class Grammar:
    """Draws terms over the places of one struct."""

    def __init__(self, draw: Any, struct: Struct) -> None:
        self.draw = draw
        self.places = list(places(Term(struct, "s", lambda s, p: s)))[1:]

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(list(options)))

    def chance(self) -> bool:
        return self.draw(st.booleans())

    def among(self, kinds: Any) -> list[Term]:
        return [place for place in self.places if isinstance(place.domain, kinds)]

    def sources(self, domain: Any) -> list[Term]:
        return [place for place in self.places if assignable(place.domain, domain)]

    def value(self, domain: Any) -> Any:
        """A plain value of the domain."""
        match domain:
            case Integers(low=low, high=high):
                return self.draw(st.integers(low, int(high)))
            case OneOf(members=members):
                return self.pick(members)
            case Maybe(of=of):
                return self.value(of) if self.chance() else None
            case SetOf(of=of):
                return frozenset(self.value(of) for _ in range(self.draw(st.integers(0, 2))))
            case SequenceOf(of=of, max_length=most):
                return tuple(self.value(of) for _ in range(self.draw(st.integers(0, int(most)))))
            case ArrayOf(of=of, length=length):
                return tuple(self.value(of) for _ in range(length))
            case BagOf():
                return self.pick(domain.values())
        return domain.cls(**{name: self.value(of) for name, of in domain.fields.items()})

    def term(self, domain: Any, depth: int = 2) -> Term:
        """A term whose values fit into the domain, or are cut by a limit."""
        sources = self.sources(domain)
        kind = self.draw(st.integers(0, 5))
        if kind == 0 or depth == 0:
            return (
                self.pick(sources) if sources and self.draw(st.integers(0, 3)) else constant(domain, self.value(domain))
            )
        if kind == 1 and sources:
            return self.pick(sources)
        made = self.built(domain, depth - 1)
        if kind == 5:
            return self.conditional(domain, made, depth - 1)
        return made

    def moved(self, place: Term) -> Term:
        """A term that goes on from the place's own value, so that repeating the step leads through many states."""
        of = place.domain
        match of:
            case Integers():
                return fitted(of, f"({place.text} + 1)", lambda s, p: place.get(s, p) + 1)
            case OneOf(members=members):
                following = dict(zip(members, (*members[1:], members[0]), strict=True))
                return Term(of, f"next({place.text})", lambda s, p: following[place.get(s, p)])
            case Maybe():
                some = self.moved(present(place)) if self.chance() else self.term(of.of, 1)
                text = f"({some.text} if {place.text} is None else None)"
                return Term(of, text, lambda s, p: some.get(s, p) if place.get(s, p) is None else None)
            case SetOf():
                values = [self.value(of.of) for _ in range(3)]
                return Term(of, f"{place.text} ^ {{{values}[p]}}", lambda s, p: place.get(s, p) ^ {values[p]})
            case SequenceOf():
                values, most = [self.value(of.of) for _ in range(3)], of.max_length
                if isinstance(most, Limit) and self.chance():
                    return Term(of, f"{place.text} + ({values}[p],)", lambda s, p: place.get(s, p) + (values[p],))
                return Term(
                    of,
                    f"(({values}[p],) + {place.text})[:{most}]",
                    lambda s, p: ((values[p],) + place.get(s, p))[:most],
                )
            case BagOf():
                values = [self.value(of.of) for _ in range(3)]
                change = self.pick((of.put, of.put, of.taken))
                text = f"{change.__name__}({place.text}, {values}[p])"
                return Term(of, text, lambda s, p: change(place.get(s, p), values[p]))
            case ArrayOf():
                index = self.draw(st.integers(0, of.length - 1))
                return self.with_element(place, index, self.moved(element(place, index)))
        name = self.pick(of.fields)
        return self.evolved(place, {name: self.moved(part(place, name, of.fields[name]))})

    def conditional(self, domain: Any, yes: Term, depth: int) -> Term:
        test, no = self.guard(depth), self.term(domain, depth)
        return Term(
            domain,
            f"({yes.text} if {test.text} else {no.text})",
            lambda s, p: yes.get(s, p) if test.get(s, p) else no.get(s, p),
        )

    def built(self, domain: Any, depth: int) -> Term:
        match domain:
            case Integers():
                return self.integer(domain, depth)
            case OneOf():
                return self.guard(depth) if domain == BOOLEAN else constant(domain, self.value(domain))
            case Maybe(of=of):
                return constant(domain, None) if self.draw(st.integers(0, 3)) == 0 else self.term(of, depth)
            case SetOf():
                return self.set(domain, depth)
            case SequenceOf():
                return self.sequence(domain, depth)
            case ArrayOf():
                return self.array(domain, depth)
            case BagOf(of=of):
                a, one = self.term(domain, depth), self.term(of, depth)
                change = self.pick((domain.put, domain.taken))
                text = f"{change.__name__}({a.text}, {one.text})"
                return Term(domain, text, lambda s, p: change(a.get(s, p), one.get(s, p)))
        return self.record(domain, depth)

    def integer(self, domain: Integers, depth: int) -> Term:
        numbers, sized = self.among(Integers), self.among((SetOf, SequenceOf, ArrayOf, BagOf))
        match self.draw(st.integers(0, 7)):
            case 0 | 1 | 5 | 6 | 7 if numbers:
                number, by = self.pick(numbers), self.pick((1, 1, -1, 2))
                return fitted(domain, f"({number.text} + {by})", lambda s, p: number.get(s, p) + by)
            case 2 if sized:
                whole = self.pick(sized)
                return fitted(domain, f"len({whole.text})", lambda s, p: len(whole.get(s, p)))
            case 3 if summed := [place for place in sized if isinstance(place.domain.of, Integers)]:
                whole, function = self.pick(summed), self.pick((sum, max, min))
                if function is sum:
                    return fitted(domain, f"sum({whole.text})", lambda s, p: sum(whole.get(s, p)))
                return fitted(
                    domain, f"{function.__name__}({whole.text})", lambda s, p: function(whole.get(s, p), default=0)
                )
            case 4 if points := [place for place in self.places if place.domain == POINT]:
                point = self.pick(points)
                return fitted(domain, f"{point.text}.height", lambda s, p: point.get(s, p).height)
        return fitted(domain, "p", lambda s, p: p)

    def set(self, domain: SetOf, depth: int) -> Term:
        a = self.term(domain, depth)
        match self.draw(st.integers(0, 3)):
            case 0:
                one, sign = self.term(domain.of, depth), self.pick("|-^")
                b = Term(domain, f"{{{one.text}}}", lambda s, p: frozenset((one.get(s, p),)))
            case 1:
                member = self.value(domain.of)
                text = f"{{m for m in {a.text} if m != {member!r}}}"
                return Term(domain, text, lambda s, p: frozenset(m for m in a.get(s, p) if m != member))
            case 2 if others := self.among(SetOf):
                b, sign = self.pick(others), self.pick("&-")
            case _:
                b, sign = self.term(domain, depth), self.pick("|&-^")
                if sign == "-" and self.chance():
                    a, b = b, a
        if self.chance():
            apply = SET_OPERATORS[sign]
            return Term(domain, f"({a.text} {sign} {b.text})", lambda s, p: apply(a.get(s, p), b.get(s, p)))
        method = SET_METHODS[sign]
        return Term(domain, f"{a.text}.{method}({b.text})", lambda s, p: getattr(a.get(s, p), method)(b.get(s, p)))

    def sequence(self, domain: SequenceOf, depth: int) -> Term:
        a, made = self.term(domain, depth), None
        match self.draw(st.integers(0, 6)):
            case 0:
                one = self.term(domain.of, depth)
                made = Term(domain, f"({a.text} + ({one.text},))", lambda s, p: a.get(s, p) + (one.get(s, p),))
            case 1:
                one = self.term(domain.of, depth)
                made = Term(domain, f"(({one.text},) + {a.text})", lambda s, p: (one.get(s, p),) + a.get(s, p))
            case 2:
                cut = slice(*self.pick(((1, None), (None, 1), (None, -1), (-1, None), (None, None, -1))))
                return Term(domain, f"{a.text}[{cut}]", lambda s, p: a.get(s, p)[cut])
            case 3:
                b = self.term(domain, depth)
                made = Term(domain, f"({a.text} + {b.text})", lambda s, p: a.get(s, p) + b.get(s, p))
            case 4:
                one, index = self.term(domain.of, depth), self.draw(st.integers(0, 2))
                return self.with_element(a, index, one)
            case 5:
                other = self.value(domain.of)
                text = f"tuple(e for e in {a.text} if e != {other!r})"
                return Term(domain, text, lambda s, p: tuple(e for e in a.get(s, p) if e != other))
            case _:
                return Term(domain, f"tuple(reversed({a.text}))", lambda s, p: tuple(reversed(a.get(s, p))))
        if isinstance(domain.max_length, Limit):
            return made
        return Term(domain, f"{made.text}[:{domain.max_length}]", lambda s, p: made.get(s, p)[: domain.max_length])

    def with_element(self, a: Term, index: int, one: Term) -> Term:
        def get(s: Any, p: Any) -> Any:
            elements = a.get(s, p)
            return replaced(elements, index, one.get(s, p)) if index < len(elements) else elements

        return Term(a.domain, f"replaced({a.text}, {index}, {one.text})", get)

    def array(self, domain: ArrayOf, depth: int) -> Term:
        a = self.term(domain, depth)
        match self.draw(st.integers(0, 3)):
            case 0:
                one = self.term(domain.of, depth)
                return Term(domain, f"(({one.text},) * {domain.length})", lambda s, p: (one.get(s, p),) * domain.length)
            case 1:
                return Term(domain, f"({a.text}[1:] + {a.text}[:1])", lambda s, p: a.get(s, p)[1:] + a.get(s, p)[:1])
            case 2:
                terms = [self.term(domain.of, depth) for _ in range(domain.length)]
                return Term(
                    domain, f"({', '.join(t.text for t in terms)})", lambda s, p: tuple(t.get(s, p) for t in terms)
                )
        return self.with_element(a, self.draw(st.integers(0, domain.length - 1)), self.term(domain.of, depth))

    def record(self, domain: Struct, depth: int) -> Term:
        if self.chance():
            terms = {name: self.term(of, depth) for name, of in domain.fields.items()}
            text = ", ".join(term.text for term in terms.values())
            return Term(
                domain,
                f"{domain.cls.__name__}({text})",
                lambda s, p: domain.cls(**{n: t.get(s, p) for n, t in terms.items()}),
            )
        names = self.draw(st.lists(st.sampled_from(sorted(domain.fields)), min_size=1, max_size=2, unique=True))
        return self.evolved(self.term(domain, depth), {name: self.term(domain.fields[name], depth) for name in names})

    def evolved(self, record: Term, changes: dict[str, Term]) -> Term:
        how = evolve if self.draw(st.integers(0, 4)) else attrs.evolve
        text = ", ".join(f"{name}={term.text}" for name, term in changes.items())
        return Term(
            record.domain,
            f"{how.__module__}.evolve({record.text}, {text})",
            lambda s, p: how(record.get(s, p), **{name: term.get(s, p) for name, term in changes.items()}),
        )

    def guard(self, depth: int = 2) -> Term:
        """A test of the state, as a term of booleans."""
        if depth and (kind := self.draw(st.integers(0, 6))) < 3:
            a = self.guard(depth - 1)
            if kind == 0:
                return Term(BOOLEAN, f"not {a.text}", lambda s, p: not a.get(s, p))
            b = self.guard(depth - 1)
            if kind == 1:
                return Term(BOOLEAN, f"({a.text} and {b.text})", lambda s, p: a.get(s, p) and b.get(s, p))
            return Term(BOOLEAN, f"({a.text} or {b.text})", lambda s, p: a.get(s, p) or b.get(s, p))
        place = self.pick(self.places)
        match place.domain, self.draw(st.integers(0, 3)):
            case OneOf(members=members), 0 | 1 if members == (False, True):
                return place
            case Integers(), 0 | 1 | 2:
                sign, other = (
                    self.pick(COMPARISONS),
                    self.pick([*self.among(Integers), constant(FREE, self.draw(st.integers(0, 2)))]),
                )
                return compared(place, sign, other)
            case Maybe(), 0:
                return Term(BOOLEAN, f"({place.text} is None)", lambda s, p: place.get(s, p) is None)
            case SetOf() | SequenceOf() | ArrayOf() | BagOf(), 0:
                member = self.term(place.domain.of, 0)
                return Term(
                    BOOLEAN, f"({member.text} in {place.text})", lambda s, p: member.get(s, p) in place.get(s, p)
                )
            case SetOf() | SequenceOf() | ArrayOf() | BagOf(), 1:
                other = self.pick(
                    [e for e in self.places if assignable(e.domain, place.domain.of)] or [constant(FREE, 0)]
                )
                test = self.pick((any, all))
                return Term(
                    BOOLEAN,
                    f"{test.__name__}(e != {other.text} for e in {place.text})",
                    lambda s, p: test(e != other.get(s, p) for e in place.get(s, p)),
                )
            case SetOf(), 2:
                return compared(place, self.pick(("<", "<=", ">", ">=")), self.pick(self.among(SetOf)))
            case ((SequenceOf() | ArrayOf() | BagOf()), 2):
                return Term(BOOLEAN, f"len(set({place.text})) == 1", lambda s, p: len(set(place.get(s, p))) == 1)
        alike = [
            other
            for other in self.places
            if type(other.domain) is type(place.domain)
            and other is not place
            and has_colours(other.domain)
            == has_colours(place.domain)  # a member of an enum with anything else is refused
        ]
        other = self.pick([*alike, constant(place.domain, self.value(place.domain))])
        return compared(place, self.pick(("==", "!=")), other)


# Systems


def an_action(grammar: Grammar, struct: Struct, number: int) -> Action:
    guard = grammar.guard() if grammar.chance() else None
    names = grammar.draw(st.lists(st.sampled_from(sorted(struct.fields)), min_size=1, max_size=3, unique=True))
    whole = Term(struct, "s", lambda s, p: s)
    changes = {}
    for name in names:
        goes_on = grammar.draw(st.integers(0, 3))
        changes[name] = (
            grammar.moved(part(whole, name, struct.fields[name])) if goes_on else grammar.term(struct.fields[name])
        )
    update = grammar.evolved(whole, changes)

    def step(state: Any, p: int) -> Any:
        return update.get(state, p) if guard is None or guard.get(state, p) else None

    def step_without(state: Any) -> Any:
        return step(state, 1)

    function = grammar.pick((step, step_without))
    function.__name__ = f"step{number}"
    note(f"step{number}: {guard.text if guard else 'always'} -> {update.text}")
    return Action(function, {"p": Integers(0, 2)} if function is step else {}, actor="test")


def an_invariant(grammar: Grammar, number: int) -> Invariant:
    either, other, with_witness = grammar.guard(), grammar.guard(), grammar.chance()
    parts = [part for part in grammar.places if isinstance(part.domain, Integers | OneOf | SetOf)]
    shown = grammar.pick(parts) if parts else constant(FREE, 0)

    def claim(state: Any, p: int) -> Any:
        if either.get(state, p) or other.get(state, p):
            return True
        return Witness("{what} at {p}", what=shown.get(state, p), p=p) if with_witness else False

    claim.__name__ = f"claim{number}"
    note(f"claim{number}: {either.text} or {other.text}")
    return Invariant(claim, {"p": Integers(0, 1)})


def a_step_property(grammar: Grammar, number: int) -> StepProperty:
    """Compares a place with itself or another before and after the step, unless a guard on either side excuses it."""
    before_guard, after_guard, place = grammar.guard(), grammar.guard(), grammar.pick(grammar.places)
    alike = [
        other
        for other in grammar.places
        if type(other.domain) is type(place.domain) and has_colours(other.domain) == has_colours(place.domain)
    ]
    other = grammar.pick([place, *alike])
    compare = grammar.pick((operator.eq, operator.ne))

    def claim(before: Any, after: Any, p: int) -> Any:
        if (
            before_guard.get(before, p)
            or after_guard.get(after, p)
            or compare(place.get(before, p), other.get(after, p))
        ):
            return True
        return Witness("{old} at {p}", old=place.get(before, p), p=p)

    claim.__name__ = f"step_claim{number}"
    note(
        f"step_claim{number}: before {before_guard.text} or after {after_guard.text} or {place.text} "
        f"{compare.__name__} {other.text}'"
    )
    return StepProperty(claim, {"p": Integers(0, 1)})


def a_prospect(grammar: Grammar, actions: list[Action], number: int) -> Prospect:
    goal = grammar.guard()
    along = tuple(each for each in actions if grammar.chance())

    def hope(state: Any, p: int) -> Any:
        return bool(goal.get(state, p)) or Witness("not at {p}", p=p)

    hope.__name__ = f"hope{number}"
    note(f"hope{number}: {goal.text} along {', '.join(each.name for each in along)}")
    return Prospect(hope, {"p": Integers(0, 1)}, along=along)


@st.composite
def systems(draw: Any) -> System:
    scalars = draw(st.lists(st.sampled_from(SCALARS), min_size=1, max_size=3))
    chosen = scalars + draw(st.lists(st.sampled_from(COMPOSITES), min_size=1, max_size=4))
    cls = attrs.make_class(
        "State", {f"f{i}": within(domain) for i, domain in enumerate(chosen)}, frozen=True, slots=True
    )
    struct = domain_of(cls, None)
    assume(Layout(struct).words <= 3)
    grammar = Grammar(draw, struct)
    initial = tuple(grammar.value(struct) for _ in range(draw(st.integers(1, 2))))
    note(f"fields {struct.fields}")
    note(f"initial {initial}")
    actions = [an_action(grammar, struct, n) for n in range(draw(st.integers(2, 6)))]
    invariants = [an_invariant(grammar, n) for n in range(draw(st.integers(0, 2)))]
    steps = [a_step_property(grammar, n) for n in range(draw(st.integers(0, 2)))]
    hopes = [a_prospect(grammar, actions, n) for n in range(draw(st.integers(0, 2)))]
    return System(
        struct,
        initial,
        tuple(instance for action in actions for instance in action.instances(None)),
        tuple(instance for invariant in invariants for instance in invariant.instances(None)),
        step_properties=tuple(instance for step in steps for instance in step.instances(None)),
        prospects=tuple(instance for hope in hopes for instance in hope.instances(None)),
    )


def finite(system: System) -> tuple[Budget, int]:
    """A depth at which the system has few enough states to explore, and how many it has up to there."""
    bare = attrs.evolve(system, invariants=(), step_properties=(), prospects=())
    found = plain_python.explore(bare, Budget(max_states=MOST_STATES))
    if found.reason:
        depth = max(0, len(found.levels) - 2)
        return Budget(max_depth=depth), sum(found.levels[: depth + 1])
    return Budget(), found.distinct_states


@thorough_or_quick
@given(systems(), st.booleans(), st.booleans(), st.sampled_from((0, 8, 1000)), st.integers(0, 20))
def test_both_engines_find_the_same(
    system: System, keep_going: bool, check_deadlock: bool, audit: int, shallow: int
) -> None:
    """With any number of audits, down to none."""
    budget, states = finite(system)
    if shallow < 3:
        budget = Budget(max_depth=shallow)
    theirs = plain_python.explore(system, budget, SearchOptions(keep_going=keep_going), check_deadlock=check_deadlock)
    options = SearchOptions(audit=Auditing.FULL, keep_going=keep_going)
    ours = breadth_first.explore(system, budget, options, audit=audit, check_deadlock=check_deadlock)
    event(f"verdict {theirs.verdict.value}")
    event(f"states 10^{len(str(states)) - 1}")
    event(f"steps cut by {len(theirs.bounds_cut)} bounds")
    agree(ours, theirs)


@pytest.mark.slow
@thorough_or_quick
@given(systems(), st.booleans(), st.sampled_from((1, 3, 256)), st.data())
def test_both_engines_keep_the_same_states_when_these_run_out(
    system: System, keep_going: bool, batch: int, data: Any
) -> None:
    """Only what they counted on the way may differ, and the steps they saw: the packed engine expands a batch of states
    at a time.
    """
    system = attrs.evolve(system, step_properties=())
    budget, states = finite(system)
    budget = attrs.evolve(budget, max_states=data.draw(st.integers(len(set(system.initial)), states + 1)))
    theirs = plain_python.explore(system, budget, SearchOptions(keep_going=keep_going))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch, "BATCH", batch)
        ours = breadth_first.explore(system, budget, SearchOptions(keep_going=keep_going), audit=100)
    event(f"reason {theirs.reason.split()[:1]}")
    agree(ours, theirs, "generated", "enabled", "bounds_cut", "deadlocks", "stopped_at_bound")
