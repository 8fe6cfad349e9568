"""Random systems that treat names alike: the search up to symmetry and plain Python must find the same, down to each
trace.

A *term* is a function of a state and of the names that a step is about. Terms compare names, look for them, use them as
positions and pass them on; none treats one name in its own way. So every system here is symmetric by construction. Each
follows from a number, the seed.
"""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import attrs
import pytest

from highwater.explorer.blame import Contradiction, ModelError
from highwater.explorer.compiler.equivariance import Equivariance
from highwater.explorer.compiler.permutations import permuted
from highwater.explorer.compiler.tracing import _Writer
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System
from highwater.explorer.verdict import Auditing, Budget, SearchOptions
from highwater.model.language.declarations import Action, Invariant, StepProperty, Witness
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, SequenceOf, SetOf, Struct
from highwater.model.language.graph_properties import Prospect
from highwater.model.language.records import domain_of, evolve, records, replaced, within
from tests.multiset import BagOf
from tests.outcomes import what_engines_agree_on

PARTS = pytest.mark.parametrize(
    "part", [*range(4), *(pytest.param(each, marks=pytest.mark.slow) for each in range(4, 10))]
)
SYSTEMS = int(os.environ.get("HIGHWATER_EXAMPLES", "0")) or 100
FEWEST_STATES, MOST_STATES = 20, 400
GUESTS = 3

GUEST = Integers(0, GUESTS - 1, names="guests")
COUNT = Integers(0, 1)


@attrs.frozen
class Ticket:
    """Whose it is, and who is invited."""

    holder: int = within(GUEST)
    other: int | None = within(Maybe(GUEST))
    kind: int = within(COUNT)


@attrs.frozen
class Table:
    """Names in a record in every kind of place."""

    ticket: Ticket | None = within(lambda bounds: Maybe(records(Ticket)(bounds)))
    queue: tuple[int, ...] = within(SequenceOf(GUEST, 2))
    full: bool = within(BOOLEAN)


TICKET, TABLE = domain_of(Ticket, None), domain_of(Table, None)
BY_NOBODY = (
    COUNT,
    BOOLEAN,
    GUEST,
    Maybe(GUEST),
    SetOf(GUEST),
    SequenceOf(GUEST, 2),
    SequenceOf(GUEST, Limit(2, "queue")),
    SequenceOf(Maybe(GUEST), 2),
    SequenceOf(TICKET, 2),
    SequenceOf(SetOf(GUEST), 2),
    Maybe(TICKET),
    Maybe(TABLE),
    Maybe(SetOf(GUEST)),
    Maybe(SequenceOf(GUEST, 2)),
    SetOf(TICKET),
    TICKET,
    TABLE,
    BagOf(GUEST, 2),
    BagOf(GUEST, Limit(3, "bag")),
)
BY_GUEST = (
    BagOf(GUEST, 1),
    COUNT,
    BOOLEAN,
    Maybe(GUEST),
    SetOf(GUEST),
    SequenceOf(GUEST, 2),
    Maybe(TICKET),
    SequenceOf(TICKET, 1),
)
FIELDS = (*BY_NOBODY, *(ArrayOf(of, GUESTS, by="guests") for of in BY_GUEST))


class Missing(Exception):
    """A term speaks of what is not there: the step is not enabled, the guard is false."""


@attrs.frozen(eq=False)
class Term:
    """A function of a state and some guests, the domain of its values, and how to write it."""

    domain: Any
    text: str
    get: Callable[[Any, Sequence[int]], Any]


def constant(domain: Any, value: Any) -> Term:
    return Term(domain, repr(value), lambda s, names: value)


def part(whole: Term, name: str) -> Term:
    return Term(whole.domain.fields[name], f"{whole.text}.{name}", lambda s, names: getattr(whole.get(s, names), name))


def present(whole: Term) -> Term:
    def get(s: Any, names: Sequence[int]) -> Any:
        value = whole.get(s, names)
        if value is None:
            raise Missing
        return value

    return Term(whole.domain.of, f"{whole.text}!", get)


def end(whole: Term, index: int) -> Term:
    def get(s: Any, names: Sequence[int]) -> Any:
        elements = whole.get(s, names)
        if not elements:
            raise Missing
        return elements[index]

    return Term(whole.domain.of, f"{whole.text}[{index}]", get)


def of_guest(whole: Term, guest: Term) -> Term:
    return Term(
        whole.domain.of, f"{whole.text}[{guest.text}]", lambda s, names: whole.get(s, names)[guest.get(s, names)]
    )


def favourite(guests: Term) -> Term:
    """The first guest of a set: no function of the state that treats guests alike."""

    def get(s: Any, names: Sequence[int]) -> int:
        if not (found := guests.get(s, names)):
            raise Missing
        return min(found)

    return Term(GUEST, f"min({guests.text})", get)


def places(term: Term, guests: Sequence[Term]) -> Iterator[Term]:
    """A part of the state and all parts of it, where arrays are looked at for some guests."""
    yield term
    match term.domain:
        case Struct(fields=fields):
            for name in fields:
                yield from places(part(term, name), guests)
        case ArrayOf():
            for guest in guests:
                yield from places(of_guest(term, guest), guests)
        case SequenceOf():
            for index in (0, -1):
                yield from places(end(term, index), guests)
        case Maybe():
            yield from places(present(term), guests)


class Grammar:
    """Draws terms over the places of one struct, for a function with some guests as parameters."""

    def __init__(self, random: Random, struct: Struct, guests: int, strange: Sequence[Term] = ()) -> None:
        self.random = random
        state = Term(struct, "s", lambda s, names: s)
        given_guests = [Term(GUEST, "pq"[n], lambda s, names, n=n: names[n]) for n in range(guests)]
        found = list(places(state, given_guests))[1:]
        named = [place for place in found if place.domain == GUEST][:2]
        found += [
            deeper
            for array in found
            if isinstance(array.domain, ArrayOf)
            for guest in named
            for deeper in [of_guest(array, guest)]
        ]
        self.places = self.near = found
        in_order = (
            [favourite(place) for place in found if isinstance(place.domain, SetOf) and place.domain.of == GUEST]
            if strange
            else []
        )
        named = [self.or_first(place) for place in found if place.domain == GUEST]
        self.guests = [*3 * given_guests, *named, *strange, *in_order]

    @staticmethod
    def or_first(guest: Term) -> Term:
        """A guest of the state, or the first parameter where there is none."""

        def get(s: Any, names: Sequence[int]) -> int:
            try:
                return guest.get(s, names)
            except Missing:
                if not names:
                    raise
                return names[0]

        return Term(GUEST, guest.text, get)

    def look_at(self, names: Sequence[str]) -> None:
        """Let guards look at these fields most often, so that what a step changes depends on what was there."""
        self.near = [place for place in self.places if place.text.split(".")[1].split("[")[0].rstrip("!") in names]

    def pick(self, options: Any) -> Any:
        return self.random.choice(list(options))

    def chance(self) -> bool:
        return self.random.random() < 0.5

    def among(self, *kinds: Any) -> list[Term]:
        return [place for place in self.places if isinstance(place.domain, kinds)]

    def like(self, domain: Any) -> list[Term]:
        return [place for place in self.places if place.domain == domain]

    def term(self, domain: Any, depth: int = 2, start: Term | None = None) -> Term:
        """A term of a domain, most often one that goes on from `start`; raises `Missing` where it has nothing to speak
        of.
        """
        alike = self.like(domain)
        if alike and (depth == 0 or self.random.randint(0, 5) == 0):
            return self.pick(alike)
        whole = start or (self.pick(alike) if alike else None)
        match domain:
            case Integers(names="guests"):
                return self.pick(self.guests) if self.guests else self.nothing(domain)
            case Integers() if whole and self.chance():
                return Term(
                    domain,
                    f"({whole.text} + 1) % {domain.size}",
                    lambda s, names: (whole.get(s, names) + 1) % domain.size,
                )
            case Integers():
                return constant(domain, self.random.randint(domain.low, domain.high))
            case Maybe():
                return self.maybe(domain, depth, whole)
            case SetOf():
                return self.set(domain, depth, whole)
            case SequenceOf():
                return self.sequence(domain, depth, whole)
            case ArrayOf(of=of, length=length):
                if whole and self.guests and self.random.randint(0, 3):
                    guest = self.pick(self.guests)
                    element = self.term(of, depth - 1, start=of_guest(whole, guest))
                    return Term(
                        domain,
                        f"replaced({whole.text}, {guest.text}, {element.text})",
                        lambda s, names: replaced(whole.get(s, names), guest.get(s, names), element.get(s, names)),
                    )
                element = self.term(of, 0)
                return Term(domain, f"({element.text},) * {length}", lambda s, names: (element.get(s, names),) * length)
            case Struct():
                return self.record(domain, depth, whole)
            case BagOf(of=of):
                if whole is None or self.random.randint(0, 5) == 0:
                    return constant(domain, ())
                one, change = self.term(of, depth - 1), self.pick((domain.put, domain.put, domain.taken))
                text = f"{change.__name__}({whole.text}, {one.text})"
                return Term(domain, text, lambda s, names: change(whole.get(s, names), one.get(s, names)))
        return self.guard(depth)  # of booleans

    def nothing(self, domain: Any) -> Term:
        def get(s: Any, names: Sequence[int]) -> Any:
            raise Missing

        return Term(domain, "missing", get)

    def maybe(self, domain: Maybe, depth: int, whole: Term | None) -> Term:
        kind = self.random.randint(0, 3)
        if kind == 0:
            return constant(domain, None)
        some = self.term(domain.of, depth - 1, start=present(whole) if whole and kind == 1 else None)
        if whole and kind == 3:
            text = f"({some.text} if {whole.text} is None else None)"
            return Term(domain, text, lambda s, names: some.get(s, names) if whole.get(s, names) is None else None)
        return Term(domain, some.text, some.get)

    def set(self, domain: SetOf, depth: int, whole: Term | None) -> Term:
        if whole is None or self.random.randint(0, 5) == 0:
            return constant(domain, frozenset())
        one = self.term(domain.of, depth - 1)
        sign, apply = self.pick((("|", operator.or_), ("-", operator.sub), ("^", operator.xor), ("&", operator.and_)))
        return Term(
            domain,
            f"({whole.text} {sign} {{{one.text}}})",
            lambda s, names: apply(whole.get(s, names), frozenset({one.get(s, names)})),
        )

    def sequence(self, domain: SequenceOf, depth: int, whole: Term | None) -> Term:
        kind = self.random.randint(0, 6)
        if whole is None or kind == 0:
            return constant(domain, ())
        if kind < 3:
            cut = slice(*self.pick(((1, None), (None, -1), (None, None, -1))))
            return Term(domain, f"{whole.text}[{cut}]", lambda s, names: whole.get(s, names)[cut])
        one, most = self.term(domain.of, depth - 1), domain.max_length
        if kind == 3:
            text = f"tuple(e for e in {whole.text} if e != {one.text})"
            return Term(domain, text, lambda s, names: tuple(e for e in whole.get(s, names) if e != one.get(s, names)))
        if kind == 4:
            text = f"(({one.text},) + {whole.text})[:{most}]"
            return Term(domain, text, lambda s, names: ((one.get(s, names),) + whole.get(s, names))[:most])
        if isinstance(most, Limit):
            return Term(
                domain, f"{whole.text} + ({one.text},)", lambda s, names: whole.get(s, names) + (one.get(s, names),)
            )
        text = f"({whole.text} + ({one.text},))[:{most}]"
        return Term(domain, text, lambda s, names: (whole.get(s, names) + (one.get(s, names),))[:most])

    def record(self, domain: Struct, depth: int, whole: Term | None) -> Term:
        if whole is None or self.chance():
            terms = {name: self.term(of, depth - 1) for name, of in domain.fields.items()}
            text = f"{domain.cls.__name__}({', '.join(term.text for term in terms.values())})"
            return Term(
                domain, text, lambda s, names: domain.cls(**{name: term.get(s, names) for name, term in terms.items()})
            )
        name = self.pick(domain.fields)
        changed = self.term(domain.fields[name], depth - 1, start=part(whole, name))
        text = f"evolve({whole.text}, {name}={changed.text})"
        return Term(domain, text, lambda s, names: evolve(whole.get(s, names), **{name: changed.get(s, names)}))

    def guard(self, depth: int = 2) -> Term:
        """A test of the state; false where what it speaks of is missing."""
        if depth > 0 and (kind := self.random.randint(0, 5)) < 3:
            a = self.guard(depth - 1)
            if kind == 0:
                return Term(BOOLEAN, f"not {a.text}", lambda s, names: not a.get(s, names))
            b = self.guard(depth - 1)
            if kind == 1:
                return Term(BOOLEAN, f"({a.text} and {b.text})", lambda s, names: a.get(s, names) and b.get(s, names))
            return Term(BOOLEAN, f"({a.text} or {b.text})", lambda s, names: a.get(s, names) or b.get(s, names))
        test = self.test()

        def get(s: Any, names: Sequence[int]) -> bool:
            try:
                return bool(test.get(s, names))
            except Missing:
                return False

        return Term(BOOLEAN, test.text, get)

    def test(self) -> Term:
        if len(self.guests) > 1 and self.chance():
            a, b = (
                self.pick(self.guests),
                self.pick([place for place in self.near if place.domain == GUEST] or self.guests),
            )
            return Term(BOOLEAN, f"({a.text} == {b.text})", lambda s, names: a.get(s, names) == b.get(s, names))
        if (
            self.guests
            and (holding := [p for p in self.among(SetOf, SequenceOf, BagOf) if p.domain.of == GUEST])
            and self.chance()
        ):
            guest, whole = self.pick(self.guests), self.pick(holding)
            return Term(
                BOOLEAN, f"({guest.text} in {whole.text})", lambda s, names: guest.get(s, names) in whole.get(s, names)
            )
        place = self.pick(self.near if self.chance() else self.places)
        of = place.domain
        match of:
            case Maybe() if self.chance():
                return Term(BOOLEAN, f"({place.text} is None)", lambda s, names: place.get(s, names) is None)
            case SetOf() | SequenceOf() | BagOf() if self.chance():
                size = self.random.randint(0, 2)
                return Term(
                    BOOLEAN, f"(len({place.text}) == {size})", lambda s, names: len(place.get(s, names)) == size
                )
            case ArrayOf(of=inner):
                other, test = (
                    self.pick(self.like(inner)) if self.like(inner) else constant(inner, None),
                    self.pick((any, all)),
                )
                text = f"{test.__name__}(e == {other.text} for e in {place.text})"
                return Term(BOOLEAN, text, lambda s, names: test(e == other.get(s, names) for e in place.get(s, names)))
            case Integers(names=""):
                value = self.random.randint(of.low, of.high)
                return Term(BOOLEAN, f"({place.text} == {value})", lambda s, names: place.get(s, names) == value)
        other = self.pick(self.like(of))
        return Term(
            BOOLEAN, f"({place.text} == {other.text})", lambda s, names: place.get(s, names) == other.get(s, names)
        )


# Systems


class Builder:
    """Draws the functions of one system, each of which may use strange names if there are any; notes what they are."""

    def __init__(self, random: Random, strange: Sequence[Term] = ()) -> None:
        self.random, self.strange, self.notes = random, strange, []
        fields = {f"f{n}": random.choice(FIELDS) for n in range(random.randint(1, 4))}
        cls = attrs.make_class(
            "State", {name: within(domain) for name, domain in fields.items()}, frozen=True, slots=True
        )
        self.struct = domain_of(cls, None)
        self.notes.append(f"fields {fields}")

    def system(self) -> System:
        random = self.random
        one = empty(self.struct) if random.random() < 0.7 else a_value(random, self.struct)
        initial = tuple(dict.fromkeys(permuted(self.struct, one, exchange) for exchange in EXCHANGES))
        self.notes.append(f"initial {initial}")
        actions = [self.action(n) for n in range(random.randint(2, 5))]
        claims = [self.invariant(n) for n in range(random.randint(0, 2))]
        steps = [self.step_property(n) for n in range(random.randint(0, 1))]
        hopes = [self.prospect(actions) for _ in range(random.randint(0, 1))]
        instances = [
            tuple(found for each in kind for found in each.instances(None)) for kind in (actions, claims, steps, hopes)
        ]
        return System(self.struct, initial, *instances[:2], {"guests": tuple(range(GUESTS))}, *instances[2:])

    def grammar(self, guests: int) -> Grammar:
        return Grammar(self.random, self.struct, guests, self.strange)

    def declared(self, kind: Any, name: str, guests: int, function: Callable[..., Any], **more: Any) -> Any:
        """A declaration of a function of so many guests, which takes its states and then the guests as a sequence."""
        taking: Any = [
            lambda s: function(s, ()),
            lambda s, p: function(s, (p,)),
            lambda s, p, q: function(s, (p, q)),
            lambda b, a: function(b, a, ()),
            lambda b, a, p: function(b, a, (p,)),
        ][guests + 3 * (kind is StepProperty)]
        taking.__name__ = name
        return kind(taking, dict.fromkeys("pq"[:guests], GUEST), **more)

    def action(self, number: int) -> Action:
        guests = self.random.choice((0, 1, 1, 1, 2))
        grammar = self.grammar(guests)
        names = self.random.sample(sorted(self.struct.fields), min(len(self.struct.fields), self.random.randint(1, 2)))
        grammar.look_at(names)
        guard = grammar.guard(1) if self.random.random() < 0.7 else constant(BOOLEAN, True)
        whole = Term(self.struct, "s", lambda s, names: s)
        changes = {name: grammar.term(self.struct.fields[name], start=part(whole, name)) for name in names}

        def step(state: Any, guests: Sequence[int]) -> Any:
            if not guard.get(state, guests):
                return None
            try:
                return evolve(state, **{name: term.get(state, guests) for name, term in changes.items()})
            except Missing:
                return None

        self.notes.append(
            f"step{number}({guests}): {guard.text} -> {', '.join(f'{n}={t.text}' for n, t in changes.items())}"
        )
        return self.declared(Action, f"step{number}", guests, step, actor="test")

    def invariant(self, number: int) -> Invariant:
        guests = self.random.randint(0, 2)
        grammar = self.grammar(guests)
        either, other = grammar.guard(), grammar.guard()

        def claim(state: Any, guests: Sequence[int]) -> Any:
            return either.get(state, guests) or other.get(state, guests) or Witness("{who}", who=guests)

        self.notes.append(f"claim{number}({guests}): {either.text} or {other.text}")
        return self.declared(Invariant, f"claim{number}", guests, claim)

    def step_property(self, number: int) -> StepProperty:
        guests = self.random.randint(0, 1)
        grammar = self.grammar(guests)
        old, new = grammar.guard(), grammar.guard()

        def claim(before: Any, after: Any, guests: Sequence[int]) -> Any:
            return old.get(before, guests) or new.get(after, guests)

        self.notes.append(f"step_claim{number}({guests}): before {old.text} or after {new.text}")
        return self.declared(StepProperty, f"step_claim{number}", guests, claim)

    def prospect(self, actions: Sequence[Action]) -> Prospect:
        """Of no guest in particular most often, as otherwise no names are exchanged."""
        guests = self.random.choice((0, 0, 0, 1))
        goal, along = self.grammar(guests).guard(), tuple(each for each in actions if self.random.random() < 0.5)
        self.notes.append(f"hope({guests}): {goal.text} along {', '.join(each.name for each in along)}")
        return self.declared(Prospect, "hope", guests, lambda state, guests: goal.get(state, guests), along=along)


def a_value(random: Random, domain: Any) -> Any:
    match domain:
        case Maybe(of=of):
            return a_value(random, of) if random.random() < 0.5 else None
        case SetOf(of=of):
            return frozenset(a_value(random, of) for _ in range(random.randint(0, 2)))
        case SequenceOf(of=of, max_length=most):
            return tuple(a_value(random, of) for _ in range(random.randint(0, int(most))))
        case ArrayOf(of=of, length=length):
            return tuple(a_value(random, of) for _ in range(length))
        case Struct(cls=cls, fields=fields):
            return cls(**{name: a_value(random, of) for name, of in fields.items()})
    return random.choice(list(domain.values()))


def empty(domain: Any) -> Any:
    """The value that holds least."""
    match domain:
        case ArrayOf(of=of, length=length):
            return (empty(of),) * length
        case Struct(cls=cls, fields=fields):
            return cls(**{name: empty(of) for name, of in fields.items()})
    return next(iter(domain.values()))


EXCHANGES = [{"guests": dict(enumerate(image))} for image in itertools.permutations(range(GUESTS))]


def built(seed: int, strange: Sequence[Term] = ()) -> tuple[System, Budget, str]:
    """The first system of more than a few states that follows from a seed, the depth to which it has few enough, and
    how to write it.
    """
    random = Random(seed)
    while True:
        builder = Builder(random, strange)
        system = builder.system()
        found = plain_python.explore(
            attrs.evolve(system, invariants=(), step_properties=(), prospects=()), Budget(max_states=MOST_STATES)
        )
        if found.distinct_states >= FEWEST_STATES:
            budget = Budget(max_depth=max(0, len(found.levels) - 2)) if found.reason else Budget()
            return system, budget, "\n".join([f"seed {seed}", *builder.notes])


@pytest.mark.slow
@PARTS
def test_symmetry_changes_nothing_that_is_reported(part: int) -> None:
    fewer = 0
    for seed in range(part, SYSTEMS, 10):
        system, budget, text = built(seed)
        keep_going, check_deadlock = seed % 3 > 0, seed % 2 > 0
        theirs = plain_python.explore(
            system, budget, SearchOptions(keep_going=keep_going), check_deadlock=check_deadlock
        )
        options = SearchOptions(audit=Auditing.FULL, keep_going=keep_going)
        ours = breadth_first.explore(
            system, budget, options, check_deadlock=check_deadlock, audit=(0, 8, 1000)[seed % 7 % 3]
        )
        assert what_engines_agree_on(ours) == what_engines_agree_on(theirs), text
        assert ours.audit is None or ours.audit.states == ours.stored_states, text
        fewer += ours.stored_states * 3 < ours.distinct_states
    assert fewer > SYSTEMS / 10 / 4


STRANGE = [constant(GUEST, GUESTS - 1)] * 4  # likelier than any other


def is_right_or_refused(seed: int) -> str:
    """Explore a system whose functions may treat a guest in its own way."""
    system, budget, text = built(seed, STRANGE)
    keep_going, check_deadlock = seed % 3 > 0, seed % 2 > 0
    try:
        options = SearchOptions(keep_going=keep_going)
        ours = breadth_first.explore(system, budget, options, check_deadlock=check_deadlock, audit=0)
    except Contradiction as error:
        return f"wrong: {error}\n{text}"
    except ModelError as error:
        return (
            "refused" if "apart, which the model declares interchangeable" in str(error) else f"wrong: {error}\n{text}"
        )
    return (
        "right"
        if what_engines_agree_on(ours)
        == what_engines_agree_on(
            plain_python.explore(system, budget, SearchOptions(keep_going=keep_going), check_deadlock=check_deadlock)
        )
        else f"wrong\n{text}"
    )


@PARTS
def test_systems_that_single_out_a_name_are_refused_or_unaffected(part: int) -> None:
    found = [is_right_or_refused(seed) for seed in range(part, SYSTEMS, 10)]
    assert set(found) <= {"right", "refused"}
    assert found.count("refused") > len(found) / 4


def test_the_random_systems_notice_a_missing_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Equivariance, "_refuse", lambda *refused: None)
    assert any(is_right_or_refused(seed).startswith("wrong") for seed in range(20))


def clear_what_is_not_known_to_be_0(self: _Writer, slot: Any) -> None:
    self.cleared += [leaf for leaf in slot.leaves() if leaf.width and self._recorder.known(leaf) != 0]


def test_the_random_systems_notice_names_that_are_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What becomes absent is cleared in all images, also where it was read as 0."""

    def agree(seed: int) -> bool:
        system, budget, _ = built(seed)
        theirs = plain_python.explore(system, budget, SearchOptions(keep_going=True))
        try:
            return what_engines_agree_on(
                breadth_first.explore(system, budget, SearchOptions(keep_going=True), audit=0)
            ) == what_engines_agree_on(theirs)
        except (Contradiction, ModelError):  # a counterexample that cannot be replayed, or images that differ
            return False

    monkeypatch.setattr(_Writer, "clear", clear_what_is_not_known_to_be_0)
    assert not all(map(agree, range(SYSTEMS)))
