# ruff: noqa: UP031
"""Questions about a part of a state that a view could answer wrongly: each is answered as in plain Python, or refused.

A model is explored by both engines; where the compiled one gives an outcome, it is the one of plain Python.
"""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.spec import load_spec
from highwater.explorer.analysis import simulate
from highwater.explorer.blame import Contradiction, ModelError
from highwater.explorer.compiler.questions import refuse_questions
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search import counterexamples
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System
from highwater.explorer.verdict import SearchOptions, Verdict, Walking
from highwater.model.language.declarations import Action, Invariant, action, invariant
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, SequenceOf, SetOf
from highwater.model.language.graph_properties import (
    always_eventually,
    eventually,
    eventually_always,
    leads_to,
    prospect,
)
from highwater.model.language.records import DOMAIN, domain_of, evolve, within

SystemOf = Callable[..., System]
SPECS = Path(__file__).parents[2] / "specs"


@attrs.frozen
class Point:
    x: int = within(Integers(0, 3))
    up: bool = within(BOOLEAN)


@attrs.frozen
class State:
    number: int = within(Integers(0, 47))
    flag: bool = within(BOOLEAN)
    log: tuple[int, ...] = within(SequenceOf(Integers(0, 3), Limit(2, "log")))
    pair: tuple[Point, ...] = within(ArrayOf(domain_of(Point, None), 2))
    marks: frozenset[int] = within(SetOf(Integers(0, 8)))
    point: Point = within(Point)
    other: Point = within(Point)


START = State(0, False, (), (Point(0, False), Point(1, True)), frozenset({1}), Point(1, False), Point(1, False))


@action(actor="test")
def count(state: State) -> State:
    return evolve(state, number=(state.number + 1) % 48, log=(state.log + (state.number % 3,))[-2:])


@action(actor="test")
def mark(state: State) -> State:
    return evolve(state, marks=(state.marks | {8}) - {state.number % 3}, pair=state.pair[::-1])


def as_action(function: Callable[[State], bool]) -> Action:
    def step(state: State) -> State:
        return evolve(state, flag=bool(function(state)))

    return action(actor="test")(step)


def as_invariant(function: Callable[[State], bool]) -> Invariant:
    def holds(state: State) -> bool:
        return not function(state)

    return invariant()(holds)


def of_both(system: System) -> tuple[Any, Any]:
    ours, theirs = (
        explore(system, options=SearchOptions(keep_going=True))
        for explore in (breadth_first.explore, plain_python.explore)
    )
    return tuple(
        (each.verdict, each.levels, each.generated, [(found.property, found.trace_length) for found in each.violations])
        for each in (ours, theirs)
    )  # type: ignore[return-value]


@functools.singledispatch
def kind_of(value: Any) -> str:
    return "something"


@kind_of.register
def _(value: tuple) -> str:
    return "tuple"


@kind_of.register
def _(value: frozenset) -> str:
    return "set"


@kind_of.register
def _(value: Point) -> str:
    return "point"


@functools.cache
def sum_of(numbers: tuple[int, ...]) -> int:
    return sum(numbers)


@functools.cache
def least_of(numbers: frozenset[int], more: tuple[Any, ...]) -> int:
    return min(numbers, default=0) + len(more)


@functools.cache
def height_of(point: Point) -> int:
    return point.x + 4 * point.up


def as_tuple(value: Any) -> bool:
    match value:
        case tuple():
            return True
    return False


def merged(left: set[int], right: frozenset[int]) -> bool:
    """Whether another name of the set sees what an assignment by an operator does to it."""
    alias = left
    left |= right
    return alias == left and alias is left


ANSWERED: dict[str, Callable[[State], Any]] = {
    "what claims to wrap itself": lambda s: is_high(s.point) or s.number > 40,
    "isinstance of tuple": lambda s: isinstance(s.log, tuple) and s.number > 40,
    "isinstance of frozenset": lambda s: isinstance(s.marks, frozenset) and s.number > 40,
    "not isinstance of list": lambda s: isinstance(s.log, list) or s.number > 40,
    "a pattern of a tuple": lambda s: as_tuple(s.log) and s.number == 40,
    "equal types": lambda s: type(s.point) == Point and s.number == 40,  # noqa: E721
    "equal types of two parts": lambda s: type(s.point) == type(s.pair[0]) and s.number == 40,  # noqa: E721
    "an equal type of a tuple": lambda s: type(s.log) == tuple and s.log == (0,),  # noqa: E721
    "a type of a set among others": lambda s: type(s.marks) in (set, frozenset) and 1 not in s.marks,
    "a table by types of tuples": lambda s: {tuple: len, list: sum}[type(s.log)](s.log) == 1,
    "a name of a tuple's type": lambda s: f"{type(s.log).__name__} {type(s.marks)}" == f"tuple {frozenset}",
    "a table by type": lambda s: {Point: s.number == 40}.get(type(s.point), True),
    "an instance of the type of another": lambda s: isinstance(HERE, type(s.point)) and s.number == 40,
    "an instance of a tuple's type": lambda s: isinstance(NONE, type(s.log)) and s.log == (0,),
    "a subclass of the type of another tuple": lambda s: issubclass(type(s.log), type(s.pair)) and s.number == 40,
    "a subclass of a set's type": lambda s: issubclass(frozenset, type(s.marks)) and 1 not in s.marks,
    "a subclass of the type of another": lambda s: issubclass(Point, type(s.point)) and s.number == 40,
    "a name of a type": lambda s: type(s.point).__qualname__ == "Point" and s.number == 40,
    "a scalar is another": lambda s: s.point.up is s.other.up and s.number == 40,
    "each scalar is another": lambda s: all(a is b for a in (True,) for b in (s.flag,)) or s.number == 40,
    "__class__": lambda s: s.point.__class__ is Point and s.log.__class__ is tuple and s.number == 40,
    "singledispatch": lambda s: (
        [kind_of(s.log), kind_of(s.marks), kind_of(s.point)] == ["tuple", "set", "point"] and s.number == 40
    ),
    "a part is itself": lambda s: s.point is s.point and s.marks is s.marks and s.number == 40,
    "a part in a list is itself": lambda s: (s.point, s.other)[0] is s.point and s.number == 40,
    "% of a tuple of one": lambda s: "%s" % s.log[:1] == "2" if s.log else s.number == 40,
    "% of a pair": lambda s: "%s or %s" % s.pair == f"{s.pair[0]} or {s.pair[1]}" and s.number == 40,
    "% of numbers": lambda s: len(s.log) == 2 and "%d%d" % s.log == "12",
    "% after a test": lambda s: s.number > 20 and len(s.log) == 2 and "%d%d" % (s.log + ())[::-1] == "02",
    "% of a pair in a tuple": lambda s: (
        "%s%s" % (s.log, s.marks) == f"{tuple(s.log)}{frozenset(s.marks)}" and s.number == 40
    ),
    "a set that changes": lambda s: type({2} | s.marks) is set and s.number == 40,
    "a set that stays": lambda s: isinstance(s.marks | {2}, frozenset) and s.number == 40,
    "a set changed by an operator": lambda s: merged({2}, s.marks) and s.number == 40,
    "a cache by tuples": lambda s: sum_of(s.log) == 3 and s.number > 20,
    "a cache by sets and tuples": lambda s: least_of(s.marks, s.pair) == 3 and s.number > 20,
    "a cache by records": lambda s: height_of(s.pair[0]) > 4 and s.number > 20,
    "a copy": lambda s: copy.copy(s.pair[0]).up and copy.deepcopy(s.log) == (1, 2),
}


@pytest.mark.parametrize("of", [as_action, as_invariant])
@pytest.mark.parametrize("function", [pytest.param(function, id=name) for name, function in ANSWERED.items()])
def test_a_view_gives_the_answer_of_plain_python(system_of: SystemOf, function: Any, of: Callable[[Any], Any]) -> None:
    made = of(function)
    actions, properties = ([count, mark, made], []) if isinstance(made, Action) else ([count, mark], [made])
    ours, theirs = of_both(system_of([START], actions, properties))
    assert ours == theirs


def test_these_answers_are_not_always_the_same(system_of: SystemOf) -> None:
    """Otherwise both engines could agree by accident."""
    for name, function in ANSWERED.items():
        outcome = plain_python.explore(system_of([START], [count, mark], [as_invariant(function)]))
        assert outcome.verdict is Verdict.VIOLATED, name


EXACTLY = type  # another name of it
HIDDEN: dict[str, Any] = {"type": type, "point": Point}  # nobody finds these in the text
HERE = Point(1, False)
NONE: tuple[Any, ...] = ()


def swallowed(step: Callable[[State], Any]) -> Callable[[State], bool]:
    def function(state: State) -> bool:
        try:
            step(state)
        except Exception:
            return False
        return False

    return function


KEPT: list[Any] = []


def keeps(state: State) -> bool:
    KEPT.append(state.point)
    return bool(KEPT[0].x)


def first_of(marks: frozenset[int]) -> int:
    for member in marks:
        return member
    return 0


def only_points(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(function)
    def wrapped(part: Any) -> Any:
        return type(part) is Point and function(part)

    return wrapped


@only_points
def is_up(point: Point) -> bool:
    return point.up


def is_high(point: Point) -> bool:
    return point.x > 3


def kept_type(point: Any) -> bool:
    kind = type(point)
    return kind is Point


def of_exact_type(part: Any, kind: type = Point) -> bool:
    return type(part) is kind


TABLE: dict[str, Any] = {"exact": functools.partial(of_exact_type, kind=Point)}


class Judge:
    def is_point(self, part: Any) -> bool:
        return type(part) is Point


JUDGE = Judge()


def same(state: State) -> bool:
    here, there = state.point, state.other
    return here is there


is_high.__wrapped__ = is_high  # type: ignore[attr-defined]


REFUSED: dict[str, tuple[Callable[[State], Any], str]] = {
    "the first of a set": (lambda s: next(iter(s.marks), 0) == 8, "order in which the members of a set come"),
    "the first in a loop": (lambda s: first_of(s.marks) == 8, "order in which the members of a set come"),
    "a tuple of a set": (lambda s: tuple(s.marks) == (1, 8), "order in which the members of a set come"),
    "an exact type": (lambda s: type(s.point) is Point and s.number == 40, "write isinstance"),
    "not an exact type": (lambda s: Point is not type(s.point) or s.number == 40, "write isinstance"),
    "an exact tuple": (lambda s: type(s.log) is tuple and s.number == 40, "write isinstance"),
    "an exact type in a decorator": (lambda s: is_up(s.point) and s.number == 40, "write isinstance"),
    "the same type": (lambda s: type(s.point) is type(s.other) and s.number == 40, "write isinstance"),
    "an exact type by another name": (lambda s: s.number == 40 and EXACTLY(s.point) is Point, "write isinstance"),
    "an exact type by an operator": (lambda s: operator.is_(type(s.point), Point) and s.number == 40, "write isinst"),
    "an exact type that a local name has": (lambda s: kept_type(s.point) and s.number == 40, "write isinstance"),
    "an exact type in a table of functions": (lambda s: TABLE["exact"](s.point) and s.number == 40, "write isinstance"),
    "an exact type in a default": (lambda s, f=of_exact_type: f(s.point) and s.number == 40, "write isinstance"),
    "an exact type in an object's method": (lambda s: JUDGE.is_point(s.point) and s.number == 40, "write isinstance"),
    "a subclass of a tuple": (lambda s: issubclass(type(s.log), tuple) and s.log == (0,), "write isinstance"),
    "a subclass of one of two": (lambda s: issubclass(type(s.marks), (set, frozenset)) and s.flag, "write isinstance"),
    "all of a record by its types": (lambda s: attrs.asdict(s)["log"] == (0,), "recurse=False"),
    "the bases of a type": (lambda s: type(s.point).__mro__[0] in [Point] and s.number == 40, "name the class"),
    "a constant record": (lambda s: s.point is HERE or s.number == 40, "write =="),
    "a constant tuple": (lambda s: s.log is NONE or s.number == 40, "write =="),
    "two parts": (lambda s: s.point is s.other and s.number == 40, "write =="),
    "two parts by other names": (lambda s: same(s) and s.number == 40, "write =="),
    "two members": (lambda s: any(a is not b for a in s.pair for b in s.pair) and s.number == 40, "write =="),
    "a number of an object": (lambda s: id(s.point) == id(HERE) or s.number == 40, "write =="),
    "an exact type that nobody finds, late": (
        lambda s: s.number == 40 and HIDDEN["type"](s.point) is HIDDEN["point"],
        "does not mean the same",
    ),
    "a swallowed pickle": (swallowed(lambda s: s.point.__reduce_ex__(2)), "cannot be pickled"),
    "a swallowed part of another run": (swallowed(keeps), "kept after its function had returned"),
}


@pytest.mark.parametrize("of", [as_action, as_invariant])
@pytest.mark.parametrize(("function", "why"), [pytest.param(*each, id=name) for name, each in REFUSED.items()])
def test_a_question_that_a_view_cannot_answer_is_refused(
    system_of: SystemOf, function: Any, why: str, of: Callable[[Any], Any]
) -> None:
    """Without audits, too: every path is compared."""
    KEPT.clear()
    made = of(function)
    actions, properties = ([count, mark, made], []) if isinstance(made, Action) else ([count, mark], [made])
    for audit in (8, 0):
        KEPT.clear()
        with pytest.raises(ModelError, match=why) as error:
            breadth_first.explore(system_of([START], actions, properties), audit=audit)
        assert str(Path(__file__)) in str(error.value)


OF_GRAPHS: dict[str, Callable[[Any], Any]] = {
    "a prospect": lambda exact: prospect(along=[count])(exact),
    "eventually": lambda exact: eventually(fair=[count])(exact),
    "always eventually": lambda exact: always_eventually(fair=[count])(exact),
    "eventually always": lambda exact: eventually_always(fair=[count])(exact),
    "leads to": lambda exact: leads_to(lambda state: state.number == 3, fair=[count])(exact),
    "a premise": lambda exact: leads_to(exact, fair=[count])(is_flagged),
}


def is_flagged(state: State) -> bool:
    return state.flag


@pytest.mark.parametrize("of", OF_GRAPHS.values(), ids=OF_GRAPHS)
def test_an_exact_type_test_is_refused_in_properties_of_the_graph(
    system_of: SystemOf, of: Callable[[Any], Any]
) -> None:
    def exact(state: State) -> bool:
        return not (type(state.point) is Point and state.number == 40)

    with pytest.raises(ModelError, match=r"`type\(state.point\) is Point` cannot be answered"):
        breadth_first.explore(system_of([START], [count, mark], [of(exact)]))


@pytest.mark.slow
def test_every_path_is_compared_in_random_walks_and_partitions(system_of: SystemOf) -> None:
    function, why = REFUSED["an exact type that nobody finds, late"]
    system = system_of([attrs.evolve(START, number=40)], [as_action(function)])
    with pytest.raises(ModelError, match=why):
        simulate.simulate(system, Walking(walks=10, depth=3, seed=1), audit=0)
    engine = PartitionWorker(system, symmetry=True, audit=0)
    with pytest.raises(ModelError, match=why):
        list(engine.expand(engine.representative_rows(system.initial), owners=1))


def test_a_mutable_set_in_a_state_is_refused(system_of: SystemOf) -> None:
    @action(actor="test")
    def widen(state: State) -> State:
        return evolve(state, marks={2} | state.marks)

    for explore in (breadth_first.explore, plain_python.explore):
        with pytest.raises(ModelError, match="is not a frozenset"):
            explore(system_of([START], [widen]))


# Records with rules


def at_most_three(value: int) -> int:
    return min(value, 3)


TUPLE = attrs.validators.instance_of(tuple)


@attrs.frozen
class Ruled:
    """Converts one field, and refuses values of two others."""

    low: int = attrs.field(metadata={DOMAIN: Integers(0, 3)}, converter=at_most_three)
    high: int = attrs.field(metadata={DOMAIN: Integers(0, 5)})
    log: tuple[int, ...] = attrs.field(
        metadata={DOMAIN: SequenceOf(Integers(0, 1), Limit(3, "log"))}, validator=attrs.validators.instance_of(tuple)
    )

    @high.validator
    def _is_even(self, attribute: Any, value: int) -> None:
        if value == 4:
            raise ValueError("four")

    def __attrs_post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")
        if len(self.log) == 3:
            object.__setattr__(self, "log", ())


@attrs.frozen
class Holder:
    ruled: Ruled = within(Ruled)
    refused: bool = within(BOOLEAN)


@action(actor="test", by=Integers(0, 5))
def raise_low(state: Holder, by: int) -> Holder:
    try:
        return evolve(state, ruled=evolve(state.ruled, low=state.ruled.low + by))
    except ValueError:
        return evolve(state, refused=True)


@action(actor="test")
def raise_high(state: Holder) -> Holder | None:
    if state.ruled.high == 5:
        return None
    try:
        return evolve(state, ruled=evolve(state.ruled, high=state.ruled.high + 1))
    except ValueError:
        return evolve(state, ruled=Ruled(0, state.ruled.high + 2, state.ruled.log))


@action(actor="test", digit=Integers(0, 1))
def append(state: Holder, digit: int) -> Holder:
    return evolve(state, ruled=evolve(state.ruled, log=state.ruled.log + (digit,)))


def test_a_record_that_converts_and_refuses_does_so_on_a_view(system_of: SystemOf) -> None:
    ours, theirs = of_both(system_of([Holder(Ruled(0, 0, ()), False)], [raise_low, raise_high, append]))
    assert ours == theirs
    assert ours[0] is Verdict.HOLDS and sum(ours[1]) > 50


def test_a_record_that_changes_each_time_it_is_made_is_refused(system_of: SystemOf) -> None:
    @attrs.frozen
    class Doubling:
        x: int = attrs.field(metadata={DOMAIN: Integers(0, 8)}, converter=lambda x: 2 * x % 9)

    @action(actor="test")
    def stay(state: Doubling) -> Doubling:
        return state

    with pytest.raises(ModelError, match="changes what it is made of"):
        breadth_first.explore(system_of([Doubling(1)], [stay]))


@pytest.mark.parametrize(
    ("fields", "options", "why"),
    [
        ({"x": {"eq": False}}, {}, "Made.x has eq=False: records of a state are equal if all their fields are"),
        ({"x": {"eq": abs}}, {}, "Made.x has an eq of its own"),
        ({"x": {}}, {"eq": False}, "Made has eq=False"),
        ({"x": {"init": False, "default": 0}}, {}, "Made.x has init=False"),
        ({"x": {}}, {"init": False}, "Made.__init__ does not take the fields"),
    ],
)
def test_a_class_whose_records_are_not_values_is_refused(fields: Any, options: Any, why: str) -> None:
    made = {name: attrs.field(metadata={DOMAIN: BOOLEAN}, **each) for name, each in fields.items()}
    with pytest.raises(TypeError, match=why):
        domain_of(attrs.make_class("Made", made, frozen=True, **options), None)


def test_a_class_that_compares_in_its_own_way_is_refused() -> None:
    @attrs.frozen
    class Made:
        x: bool = within(BOOLEAN)

        def __eq__(self, other: Any) -> bool:
            return type(other) is Made

        def __hash__(self) -> int:
            return 0

    with pytest.raises(TypeError, match="Made has an __eq__ of its own"):
        domain_of(Made, None)


# What is allowed


@attrs.frozen
class Odd:
    """Fields called as views might call their own, and private ones."""

    _slot: int = within(Integers(0, 3))
    _recorder: int = within(Integers(0, 3))
    _plain: bool = within(BOOLEAN)
    path: int = within(Integers(0, 1))

    def turned(self) -> Odd:
        return evolve(self, slot=self._recorder, recorder=(self._slot + 1) % 4, plain=not self._plain)


def test_fields_may_be_private_and_have_any_name(system_of: SystemOf) -> None:
    @action(actor="test")
    def turn(state: Odd) -> Odd:
        return state.turned()

    @action(actor="test")
    def turn_back(state: Odd) -> Odd:
        return attrs.evolve(state, slot=0, path=1 - state.path)

    ours, theirs = of_both(system_of([Odd(0, 1, False, 0)], [turn, turn_back]))
    assert ours == theirs
    assert sum(ours[1]) > 10


def test_a_private_field_goes_by_its_public_name_on_a_view_as_on_a_record(system_of: SystemOf) -> None:
    @action(actor="test")
    def turn(state: Odd) -> Odd:
        return evolve(state, _slot=1)

    for explore in (breadth_first.explore, plain_python.explore):
        with pytest.raises(ModelError, match="_slot"):
            explore(system_of([Odd(0, 1, False, 0)], [turn]))


@attrs.frozen
class Wide:
    clock: int = within(Integers(0, 2**20 - 1))
    turns: int = within(Integers(0, Limit(300, "turns")))


def test_a_scalar_of_twenty_bits_may_be_tested_in_hundreds_of_places(system_of: SystemOf) -> None:
    """A node with a branch for each of its values takes 8 MiB."""

    @action(actor="test")
    def advance(state: Wide) -> Wide:
        return evolve(state, turns=state.turns + 1, clock=(state.clock * 5 + 3) % 2**20)

    @invariant()
    def early(state: Wide) -> bool:
        return not (state.turns > 290 and state.clock % 64 == 11)

    ours, theirs = of_both(
        system_of([Wide(0, 0), *(Wide(2**20 - 1 - 2**bit, 0) for bit in range(20))], [advance], [early])
    )
    assert ours == theirs
    assert ours[0] is Verdict.VIOLATED and sum(ours[1]) == 21 * 301


def test_names_that_are_bound_to_each_other_in_many_ways_are_read_in_one(system_of: SystemOf) -> None:
    """In every way there are more than any machine looks through."""

    @action(actor="test")
    def turn(state: State) -> State:
        a = b = c = state.marks
        for _ in range(2):
            a, b, c = b, c, a
            b, c, a = a, b, c
            c, a, b = b, a, c
            a, b, c = (b, c, a) if state.flag else (c, a, b)
            a, b, c = c, b, a
        return state if state.number in a else evolve(state, flag=True)

    refuse_questions(system_of([START], [turn]))


# A counterexample is replayed, or there is none


@pytest.mark.parametrize("walks", [False, True])
def test_a_counterexample_that_plain_python_does_not_replay_is_an_error(
    system_of: SystemOf, monkeypatch: pytest.MonkeyPatch, walks: bool
) -> None:
    system = system_of([START], [count], [as_invariant(lambda state: state.number == 3)])
    monkeypatch.setattr(counterexamples, "taken", lambda system, action, state: None)
    monkeypatch.setattr(simulate, "successor", lambda action, state, domain: None)
    with pytest.raises(Contradiction) as error:
        simulate.simulate(system, Walking(walks=1, depth=5, seed=1)) if walks else breadth_first.explore(system)
    assert "does not replay" in str(error.value)
    assert "this is a defect\n  of Highwater" in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("folder", sorted({path.parent.relative_to(SPECS) for path in SPECS.rglob("*.toml")}), ids=str)
def test_views_answer_every_question_of_highwaters_own_models(folder: Path) -> None:
    """As searches of these do not look through them."""
    for path in sorted((SPECS / folder).glob("*.toml")):
        refuse_questions(load_spec(path).system(), trusting=False)


def test_a_property_of_highwaters_own_that_is_not_as_it_is_written_is_looked_through(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = tmp_path / "spec.toml"
    bounds = "brokers = 2, log_length_max = 1, records_max = 1, leader_epoch_max = 1"
    spec.write_text(
        f'model = "reference"\nprotocol = {{ variant = "kip-320" }}\nbounds = {{ {bounds} }}\ncheck = ["weak_isr"]'
    )
    system = load_spec(spec).system()

    def asks(state: Any) -> bool:
        return type(state) is tuple

    refuse_questions(system)
    monkeypatch.setattr(system.invariants[0].of.function, "__code__", asks.__code__)
    with pytest.raises(ModelError, match="cannot be answered for a part of the state"):
        refuse_questions(system)
