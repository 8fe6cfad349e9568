"""Views of the state behave as the plain values that they stand for, read no more than they must, and never compile
wrongly.

Most tests run a function twice on the same state: on the plain value, and on a view of it through a `Recorder`.
"""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import pickle
import random
import re
import types
from collections.abc import Callable, Iterator, Sequence, Set
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.tracing import OutOfBounds, Recorder, TracingError, plain
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.system import Cut, System, successor
from highwater.explorer.verdict import Budget, SearchOptions
from highwater.model.language.declarations import action, invariant
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, OneOf, SequenceOf, SetOf
from highwater.model.language.records import domain_of, evolve, replaced, within

SystemOf = Callable[..., System]


class Level(Enum):
    LOW = "low"
    HIGH = "high"


SHORT = Integers(0, Limit(3, "short"))
WIDE = Integers(0, Limit(6, "wide"))


@attrs.frozen
class Point:
    x: int = within(Integers(-2, 3))
    up: bool = within(BOOLEAN)

    @property
    def height(self) -> int:
        return self.x + 10 if self.up else self.x

    def moved(self, by: int) -> Point:
        return evolve(self, x=self.x + by)

    def __str__(self) -> str:
        return f"{self.x}{'^' if self.up else '_'}"


@attrs.frozen
class Box:
    point: Point = within(Point)
    owner: int | None = within(Maybe(SHORT))
    marks: frozenset[int] = within(SetOf(SHORT))
    log: tuple[int, ...] = within(SequenceOf(SHORT, Limit(3, "log")))

    @functools.cached_property
    def total(self) -> int:
        return sum(self.log) + sum(self.marks)

    @classmethod
    def empty(cls, point: Point) -> Box:
        return cls(point, None, frozenset(), ())

    @staticmethod
    def twice(number: int) -> int:
        return 2 * number

    def __len__(self) -> int:
        return len(self.log)

    def __contains__(self, mark: int) -> bool:
        return mark in self.marks

    def __lt__(self, other: Box) -> bool:
        return self.point.x < other.point.x


@attrs.frozen
class State:
    number: int = within(SHORT)
    signed: int = within(Integers(-3, 3))
    flag: bool = within(BOOLEAN)
    level: Level = within(OneOf(Level))
    name: str = within(OneOf(("ann", "bob", "cat")))
    owner: int | None = within(Maybe(SHORT))
    only: int = within(Integers(7, 7))
    box: Box = within(Box)
    spare: Box | None = within(Maybe(domain_of(Box, None)))
    marks: frozenset[int] = within(SetOf(SHORT))
    more: frozenset[int] = within(SetOf(SHORT))
    others: frozenset[int] = within(SetOf(WIDE))
    corners: frozenset[Point] = within(SetOf(domain_of(Point, None)))
    log: tuple[int, ...] = within(SequenceOf(SHORT, Limit(3, "log")))
    wide: tuple[int, ...] = within(SequenceOf(WIDE, Limit(4, "long")))
    points: tuple[Point, ...] = within(SequenceOf(domain_of(Point, None), 3))
    pair: tuple[Point, ...] = within(ArrayOf(domain_of(Point, None), 2))
    digits: tuple[int, ...] = within(ArrayOf(SHORT, 3))
    sets: tuple[frozenset[int], ...] = within(SequenceOf(SetOf(SHORT), 2))
    maybes: tuple[int | None, ...] = within(ArrayOf(Maybe(SHORT), 2))
    boxes: tuple[Box, ...] = within(SequenceOf(domain_of(Box, None), Limit(2, "boxes")))


DOMAIN = domain_of(State, None)
LAYOUT = Layout(DOMAIN)
POINT = Point(1, True)
BOX = Box(POINT, 2, frozenset({1, 3}), (3, 1))


def a_value(rng: random.Random, domain: Any) -> Any:
    match domain:
        case Integers(low=low, high=high):
            return rng.randint(low, int(high))
        case OneOf(members=members):
            return rng.choice(members)
        case Maybe(of=of):
            return rng.choice((None, a_value(rng, of)))
        case SetOf(of=of):
            return frozenset(member for member in of.values() if rng.random() < 0.4)
        case SequenceOf(of=of, max_length=most):
            return tuple(a_value(rng, of) for _ in range(rng.randint(0, int(most))))
        case ArrayOf(of=of, length=length):
            return tuple(a_value(rng, of) for _ in range(length))
    return domain.cls(*(a_value(rng, of) for of in domain.fields.values()))


def several_states(count: int) -> Iterator[State]:
    rng = random.Random(20201101)
    for _ in range(count):
        state = a_value(rng, DOMAIN)
        alike = rng.random()
        if alike < 0.2:
            state = attrs.evolve(state, spare=state.box, more=state.marks, pair=(state.pair[0],) * 2)
        elif alike < 0.4:
            state = attrs.evolve(
                state, box=BOX, points=(POINT, *state.pair), others=state.marks, wide=state.log, boxes=(state.box, BOX)
            )
        yield state


STATES = list(several_states(40))


def settled(value: Any) -> Any:
    """A value with no view left in it, and with the type of each part. Views of sets stay frozen where Python would
    give a set.
    """
    value = plain(value)
    match value:
        case tuple() | list():
            return type(value), [settled(element) for element in value]
        case dict():
            return dict, [(settled(key), settled(of)) for key, of in value.items()]
        case set() | frozenset():
            return Set, sorted((settled(member) for member in value), key=repr)
    return type(value), value


def settled_or_raised(function: Callable[[Any], Any], state: Any) -> Any:
    try:
        return settled(function(state))
    except TracingError:
        raise
    except Exception as error:
        return type(error)


def traced(state: Any, layout: Layout = LAYOUT) -> Recorder:
    return Recorder(layout, layout.pack(state))


def function_of(text: str) -> Callable[[Any], Any]:
    """A function of the state `s` that gives the value of an expression, in which these may occur besides the names
    defined here.
    """
    return eval(f"lambda s: {text}", {**globals(), "Sequence": Sequence, "replaced": replaced, "itertools": itertools})


# Every operation means the same on a view

OPERATIONS = """
s.number + 1
-s.signed
abs(s.signed) % 2
[10, 20, 30, 40][s.number]
"abcd"[s.number]
s.flag
not s.flag
s.flag and s.number
s.level is Level.HIGH
s.level == Level.LOW
s.level.name
s.level in (Level.LOW,)
s.name.upper()
s.name < "bob"
f"{s.number:03d} {s.level} {s.name!r} {s.flag}"
s.owner
s.owner is None
s.owner or 5
s.owner == s.number
s.only
min(s.number, s.signed)
max(s.number, 2)
divmod(s.number, 2)
range(s.number)
list(range(s.number))
{s.name: s.number}
{s.number, s.signed, s.owner}
isinstance(s.number, int)
type(s.number) is int
isinstance(s.level, Level)

s
s.box
s.box.point
s.box.point.x
s.box.point.height
s.box.point.moved(1)
s.box.point.moved(1).height
s.box.total
s.box.total + s.box.total
s.box.empty(s.pair[0])
s.box.empty(POINT).log
Box.empty(s.box.point)
Box.empty(s.box.point) == s.box
s.box.twice(s.number)
len(s.box)
bool(s.box)
s.number in s.box
s.box < BOX
BOX < s.box
s.box < (s.spare or BOX)
sorted((s.box, BOX, *s.boxes))
isinstance(s, State)
isinstance(s.box, Box)
isinstance(s.box, Point)
isinstance(s.box.point, (Box, Point))
s.box == BOX
BOX == s.box
s.box != BOX
BOX != s.box
s.box == s.spare
s.spare == s.box
s.box != s.spare
s.box == s
s == s
s == None
s.box == 3
s.box == s.box
s.box.point == s.pair[0]
s.pair[0] != s.pair[1]
s.box == Box(s.box.point, s.box.owner, s.box.marks, s.box.log)
Box(s.box.point, s.box.owner, s.box.marks, s.box.log) == s.box
Box(s.pair[0], s.owner, s.marks, s.log)
Box(s.pair[0], s.owner, s.marks, s.log) == s.box
Box(s.pair[0], s.owner, s.marks, s.log) == Box(s.pair[1], s.owner, s.more, s.log)
Box(s.pair[0], s.owner, s.marks, s.log).total
Point(s.number, s.flag)
Point(s.number, s.flag) in s.corners
Point(s.number, s.flag) in s.points
s.spare
s.spare is None
s.spare and s.spare.log
s.spare.point
s.spare or s.box
evolve(s.box, owner=None)
evolve(s.box, owner=None) == s.box
evolve(s.box, point=evolve(s.box.point, x=0))
evolve(s.box, point=s.pair[1]).point.height
evolve(evolve(s.box, owner=1), marks=s.more)
evolve(s.box, log=s.log, marks=s.marks, owner=s.number).total
evolve(BOX, point=s.box.point)
evolve(BOX, point=s.box.point) == s.box
evolve(Box(s.pair[0], s.owner, s.marks, s.log), log=s.box.log)
evolve(s, box=BOX).box
evolve(s, box=BOX).box == s.box
evolve(s, number=3).number
evolve(s, number=3, box=s.box).box.point
evolve(s, spare=s.box).spare == s.box
evolve(s, nonsense=3)
evolve(s.box)
attrs.evolve(s.box, owner=None)
attrs.evolve(s.box, owner=None) == evolve(s.box, owner=None)
attrs.evolve(s.box, point=attrs.evolve(s.box.point, up=s.flag))
attrs.evolve(s, marks=s.more)
attrs.evolve(s, nonsense=3)
attrs.asdict(s.box.point)
attrs.astuple(s.box.point)
[a.name for a in attrs.fields(type(s.box))]
attrs.has(type(s.box))
getattr(s, "number")
getattr(s, "nonsense", 3)
hasattr(s, "box")
hasattr(s, "nonsense")
s.nonsense
str(s.box.point)
repr(s.box.point)
f"{s.box.point} and {s.box.point!r}"
"%s" % s.pair[0]
str(s.spare)
repr(s.box)
str(s)
hash(s.box.point) == hash(Point(s.box.point.x, s.box.point.up))
hash(s.pair[0]) == hash(s.pair[1])
{s.box.point: 1}[s.box.point]
{POINT: 1}.get(s.box.point)
{s.box.point: 1}.get(POINT)
{BOX: 1, s.box: 2}
len({s.pair[0], s.pair[1], POINT})
{s.pair[0], s.pair[1]} == set(s.pair)
{p: p.x for p in s.points}
s.box.point in [POINT]
POINT in [s.box.point]
[s.pair[0]].index(s.pair[1])
(s.box, 1) == (BOX, 1)
type(s.box).__name__
callable(s.box)

s.marks
2 in s.marks
9 in s.marks
None in s.marks
True in s.marks
s.number in s.marks
s.number not in s.marks
s.signed in s.marks
len(s.marks)
bool(s.marks)
not s.marks
sorted(s.marks)
sorted(s.others, reverse=True)
min(s.marks)
max(s.marks, default=-1)
sum(s.marks)
any(m > 2 for m in s.marks)
all(m in s.more for m in s.marks)
{m + 1 for m in s.marks}
frozenset(s.marks)
set(s.marks)
list(map(str, sorted(s.marks)))
sorted(s.corners, key=lambda p: (p.x, p.up))
sorted(p.x for p in s.corners)
next(iter(sorted(s.marks)), None)
{*s.marks, 1}
(lambda *a: sorted(a))(*s.marks)
s.marks == s.more
s.marks != s.more
s.marks == s.marks
s.marks == s.others
s.others == s.marks
s.marks == {1, 3}
s.marks == frozenset({0, 1})
{1, 3} == s.marks
frozenset({1}) != s.marks
s.marks == frozenset()
s.marks == (1, 3)
s.marks != [1]
s.marks == frozenset({9})
s.marks == {1: 2}.keys()
s.marks | s.more
s.marks | s.others
s.others | s.marks
s.marks | {1}
s.marks | {9}
{1} | s.marks
frozenset({2}) | s.marks
frozenset({9}) | s.marks
s.marks | {1: 2}.keys()
s.marks | [1]
s.marks & s.more
s.marks & s.others
s.others & s.marks
s.marks & {1, 2}
s.marks & {9}
frozenset({1, 9}) & s.marks
s.marks - s.more
s.marks - s.others
s.others - s.marks
s.marks - {1}
s.marks - {1, 9}
{1, 2, 9} - s.marks
frozenset(range(4)) - s.marks
s.marks - [1]
s.marks ^ s.more
s.marks ^ s.others
s.marks ^ {1, 9}
s.marks ^ {1, 2}
frozenset({1, 2}) ^ s.marks
s.marks ^ s.marks
s.marks - s.marks
s.marks & s.marks
s.marks | s.marks
(s.marks | s.more) - (s.marks & s.more) == s.marks ^ s.more
((s.marks - {1}) | {2}) & s.more
len(s.marks - s.more)
sorted(s.marks & s.others)
s.marks <= s.more
s.marks < s.more
s.marks >= s.more
s.marks > s.more
s.marks <= s.others
s.others >= s.marks
s.marks <= {0, 1, 2, 3}
s.marks < {0, 1, 2, 3}
s.marks >= {1}
s.marks >= {9}
s.marks > set()
{1} <= s.marks
frozenset({1}) < s.marks
{0, 1, 2, 3} >= s.marks
{0, 1, 2, 3, 9} > s.marks
s.marks < [1]
s.marks.union(s.more)
s.marks.union(s.more, {1}, (2,))
s.marks.union()
s.marks.union([9])
s.marks.union(s.log)
s.marks.intersection(s.more)
s.marks.intersection(s.log, s.others)
s.marks.intersection(range(2))
s.marks.difference(s.more)
s.marks.difference([1], {2})
s.marks.difference(s.log)
s.marks.symmetric_difference(s.more)
s.marks.symmetric_difference([1, 9])
s.marks.issubset(s.more)
s.marks.issubset([0, 1, 2, 3])
s.marks.issubset(s.wide)
s.marks.issuperset(s.more)
s.marks.issuperset(s.log)
s.marks.issuperset([9])
s.marks.isdisjoint(s.more)
s.marks.isdisjoint(s.log)
s.marks.isdisjoint([1])
s.marks.copy()
frozenset({1}).union(s.marks)
frozenset({1, 2}).intersection(s.marks, s.more)
{1, 2}.issubset(s.marks)
{1}.isdisjoint(s.marks)
frozenset().union(*s.sets)
functools.reduce(lambda a, b: a & b, s.sets, s.marks)
hash(s.marks) == hash(frozenset(s.marks))
{s.marks: 1}.get(s.more)
{frozenset({1, 3}): 1}.get(s.marks)
frozenset({1, 3}) in {s.marks}
{s.marks, s.more, s.box.marks} == {s.box.marks, s.marks, s.more}
isinstance(s.marks, Set)
isinstance(s.marks, Sequence)
repr(s.marks & {1})
f"{s.marks & {2}}"
POINT in s.corners
s.box.point in s.corners
s.points and s.points[0] in s.corners
s.corners | {s.box.point}
s.corners - {s.box.point}
s.corners & set(s.pair)
s.corners == set(s.pair)
s.corners | set(s.points)
set(s.points) <= s.corners
s.corners >= set(s.pair)
{p for p in s.corners if p.up}
frozenset(s.pair)
frozenset(p.moved(0) for p in s.points) - s.corners
set(s.points) & s.corners
{s.box.point} == s.corners
s.marks.add(1)
s.marks.nonsense

s.log
s.log[0]
s.log[-1]
s.log[s.number]
s.digits[s.number]
s.digits[-2]
s.digits[True]
s.points[0].height
s.pair[1].x
s.log[1:]
s.log[:1]
s.log[:-1]
s.log[-2:]
s.log[::-1]
s.log[::2]
s.log[5:]
s.log[s.number:]
s.digits[0:2]
s.log[1:][0]
s.log["x"]
len(s.log)
len(s.digits)
len(s.log[1:])
bool(s.log)
not s.points
list(s.log)
tuple(s.points)
[*s.log, 1]
(*s.points, POINT)
sorted(s.wide)
min(s.digits)
max(s.log, default=None)
max(s.points, key=lambda p: p.x, default=None)
sum(s.log)
any(s.log)
all(d > 0 for d in s.digits)
sum(p.x for p in s.points)
[p.height for p in s.points]
{d for d in s.digits}
list(zip(s.log, s.digits))
list(zip(s.log, s.points, strict=True))
list(zip(*s.pair))
list(enumerate(s.log))
dict(enumerate(s.points))
list(reversed(s.log))
list(reversed(s.points))
list(map(str, s.log))
list(filter(None, s.log))
list(itertools.pairwise(s.wide))
list(itertools.chain(s.log, s.digits))
list(itertools.takewhile(lambda d: d, s.digits))
list(itertools.accumulate(s.digits))
next(iter(s.points), None)
next((p for p in s.points if p.up), None)
next((i for i, d in enumerate(s.wide) if d == s.number), -1)
collections.Counter(s.log)
2 in s.log
None in s.log
s.number in s.digits
POINT in s.points
s.box.point in s.pair
s.owner in s.maybes
frozenset({1}) in s.sets
s.marks in s.sets
s.log.count(1)
s.points.count(s.pair[0])
s.log.index(1)
s.points.index(s.pair[0])
s.digits.index(2, 1)
s.digits.index(2, 0, 2)
s.log == s.wide
s.log != s.wide
s.log == s.log
s.log == ()
s.log == (1, 2)
(1, 2) == s.log
() != s.log
s.log == [1, 2]
s.log == s.marks
s.digits == s.log
s.points == s.pair
s.pair == (POINT, POINT)
(s.pair[0], s.pair[1]) == s.pair
s.points[:2] == s.pair
s.sets == (s.marks,)
s.log < s.wide
s.log <= (1, 2)
(1, 2) < s.log
(1,) <= s.log
s.log > s.digits
s.log >= s.log
s.digits > (1,)
s.log < [1]
s.pair < s.pair
s.log + (1,)
(1,) + s.log
s.log + s.digits
s.log + s.wide
s.log + ()
() + s.points
s.points + (POINT,)
s.points + (s.pair[0],)
s.points + s.pair
s.log + [1]
[1] + s.log
sum((s.log, s.digits), ())
sum(s.boxes and [b.log for b in s.boxes], ())
s.digits * 2
2 * s.log
s.log * 0
(s.number,) * 2
(s.box.point,) * 2
replaced(s.digits, 0, 9)
replaced(s.log, s.number, 1)
replaced(s.pair, 1, s.pair[0])
replaced(s.pair, 1, s.pair[0])[1].height
replaced(s.pair, 0, s.pair[0].moved(1)) == s.pair
replaced(s.pair, -1, POINT)
replaced(s.digits[1:], 0, s.number) + s.log
(s.log + (s.number,))[-1]
(s.log + s.wide)[2:4]
(s.points + (s.pair[0],))[0].x
(s.log + (s.number,)) == (s.wide + (1,))
len(s.log + s.wide)
hash(s.log) == hash(tuple(s.log))
hash(s.points) == hash(tuple(s.points))
{s.log: 1}.get(s.wide)
{(1, 2): 1}.get(s.log)
{s.pair: 1}[s.pair]
(1, 2) in {s.log, (1, 2)}
isinstance(s.log, Sequence)
isinstance(s.log, Set)
repr(s.log)
str(s.points)
f"{s.log} {s.digits}"
"{0[0]}".format(s.digits)
", ".join(map(str, s.points))
"".join(str(d) for d in s.digits)
a[0] if (a := s.log) else None
(lambda a, b, c: (c, a))(*s.digits)
(lambda first, *rest: (rest, first))(*s.digits)
s.log.append(1)
s.log.nonsense
[b.point.x for b in s.boxes if 1 in b.marks]
[m for b in s.boxes for m in sorted(b.marks)]
{b.owner for b in s.boxes}
max((b.total for b in s.boxes), default=0)
sorted(s.boxes, key=lambda b: (b.point.x, len(b)))
s.boxes and evolve(s.boxes[-1], owner=s.owner)
s.maybes
[m for m in s.maybes if m is not None]
s.maybes[0] == s.maybes[1]
s.maybes.count(None)
s.sets
[sorted(m) for m in s.sets]
s.sets and s.sets[0] | s.marks
s.sets and s.sets[-1] == s.more
s.sets + (s.marks - {1},)
copy.copy(s.number)
"""


@pytest.mark.parametrize("operation", [line for line in OPERATIONS.splitlines() if line])
def test_an_operation_means_the_same_on_a_view(operation: str) -> None:
    function = function_of(operation)
    for state in STATES:
        recorder = traced(state)
        assert settled_or_raised(function, recorder.root()) == settled_or_raised(function, state), state
        recorder.close()


def match_records(s: State) -> Any:
    match s.box:
        case Box(point=Point(x=0)):
            return "zero"
        case Box(Point(x, True), None):
            return "unowned", x
        case Box(owner=int(owner), marks=marks) if owner in marks:
            return "marked", marks
        case Box(_, _, _, (first, *rest)):
            return first, rest
        case Point():
            return "no box"
    return None


def match_tuples(s: State) -> Any:
    match s.log:
        case ():
            return "empty"
        case (single,):
            return single
        case (first, *_, last):
            return first, last
    return None


def match_points(s: State) -> Any:
    match s.points:
        case (Point(up=True) as first, *rest):
            return first, rest
        case (_, Point(x, _)):
            return x
    return None


def match_several(s: State) -> Any:
    match s.spare, s.level, s.name:
        case None, Level.LOW, _:
            return "low"
        case Box() as spare, _, "ann" | "bob":
            return spare
        case {}, _, _:
            return "a mapping"
        case spare, level, _:
            return level, spare
    return None


def unpacked(s: State) -> Any:
    a, b = s.pair
    first, *rest = s.digits
    return b, a, rest, first


def changed_in_place(s: State) -> Any:
    marks, log, number = s.marks, s.log, s.number
    marks |= {1}
    marks -= s.more
    log += (1,)
    number += 1
    return marks, log, number


def gathered(s: State) -> Any:
    seen, by_owner = [], collections.defaultdict(list)
    for index, box in enumerate(s.boxes + (s.box,)):
        if box.point in seen:
            continue
        seen.append(box.point)
        by_owner[box.owner].append(index)
    return seen, dict(by_owner)


def searched(s: State) -> Any:
    for point in s.points:
        if point.up:
            break
    else:
        return "none is up"
    return point


def while_true(s: State) -> Any:
    log = s.wide
    while log and log[-1] != s.number:
        log = log[:-1]
    return log


def generated(s: State) -> Any:
    def both() -> Iterator[Any]:
        yield from s.log
        yield from sorted(s.marks)

    return tuple(both())


@pytest.mark.parametrize(
    "function",
    [
        match_records,
        match_tuples,
        match_points,
        match_several,
        unpacked,
        changed_in_place,
        gathered,
        searched,
        while_true,
        generated,
    ],
)
def test_statements_mean_the_same_on_a_view(function: Callable[[Any], Any]) -> None:
    for state in STATES:
        assert settled_or_raised(function, traced(state).root()) == settled_or_raised(function, state), state


def test_the_states_for_these_tests_are_many_sided() -> None:
    """Otherwise operations could mean the same by accident."""
    for domain, name in [(of, name) for name, of in DOMAIN.fields.items() if name != "only"]:
        assert len({getattr(state, name) for state in STATES}) > 1, (name, domain)
    assert {state.spare is None for state in STATES} == {state.box == state.spare for state in STATES} == {True, False}
    assert (
        {state.marks == state.more for state in STATES}
        == {state.pair[0] == state.pair[1] for state in STATES}
        == {True, False}
    )


# Unusual records


@attrs.frozen(order=True)
class Ranked:
    rank: int = within(SHORT)
    name: str = within(OneOf(("ann", "bob")))


@attrs.frozen(slots=False)
class Unslotted:
    x: int = within(SHORT)

    @functools.cached_property
    def double(self) -> int:
        return 2 * self.x


@attrs.frozen(cache_hash=True)
class Hashed:
    x: int = within(SHORT)


@attrs.frozen
class Base:
    x: int = within(SHORT)

    def doubled(self) -> int:
        return 2 * self.x


@attrs.frozen
class Derived(Base):
    y: bool = within(BOOLEAN)

    def doubled(self) -> int:
        return super().doubled() + self.y


@attrs.frozen
class Unusual:
    ranked: Ranked = within(Ranked)
    ranks: tuple[Ranked, ...] = within(ArrayOf(domain_of(Ranked, None), 2))
    unslotted: Unslotted = within(Unslotted)
    hashed: Hashed = within(Hashed)
    hashes: frozenset[Hashed] = within(SetOf(domain_of(Hashed, None)))
    base: Base = within(Base)
    derived: Derived = within(Derived)


@pytest.mark.parametrize(
    "operation",
    """
s.ranked < s.ranks[0]
sorted(s.ranks)
max(s.ranks) == s.ranked
s.ranked < Ranked(2, "ann")
Ranked(2, "ann") < s.ranked
Ranked(2, "ann") >= s.ranked
sorted((*s.ranks, Ranked(2, "ann")))
s.ranks < (s.ranked, s.ranked)
evolve(s.ranked, rank=1) <= s.ranked
s.unslotted
s.unslotted.double
evolve(s.unslotted, x=3).double
s.hashed in s.hashes
Hashed(1) in s.hashes
{s.hashed: 1}.get(Hashed(2))
hash(s.hashed) == hash(Hashed(2))
s.base == s.derived
s.derived == s.base
s.base == Derived(1, True)
Derived(1, True) == s.base
Base(1) == s.derived
s.derived == Base(1)
s.derived.doubled()
isinstance(s.derived, Base)
evolve(s.derived, y=True).doubled()
""".strip().splitlines(),
)
def test_an_operation_on_an_unusual_record_means_the_same_on_a_view(operation: str) -> None:
    function, rng, domain = function_of(operation), random.Random(1), domain_of(Unusual, None)
    for _ in range(40):
        state = a_value(rng, domain)
        assert settled_or_raised(function, traced(state, Layout(domain)).root()) == settled_or_raised(
            function, state
        ), state


# Every change means the same on a view

STEPS = """
s
None
evolve(s)
evolve(s, number=s.number + 1)
evolve(s, number=s.owner or 0, owner=s.number)
evolve(s, signed=-s.signed, flag=not s.flag, level=Level.HIGH, name="cat")
evolve(s, number=sum(s.wide))
evolve(s, owner=None)
evolve(s, owner=9)
evolve(s, owner=s.wide[0] if s.wide else None)
evolve(s, box=s.spare or s.box)
evolve(s, box=BOX, spare=BOX)
evolve(s, spare=None)
evolve(s, spare=s.box)
evolve(s, spare=evolve(s.box, owner=s.owner))
evolve(s, spare=Box(s.pair[1], s.maybes[0], s.more, s.log))
evolve(s, spare=Box(s.pair[1], s.maybes[0], s.others, s.wide))
evolve(s, spare=s.boxes[0] if s.boxes else None)
evolve(s, spare=s.spare, box=s.box)
evolve(s, spare=s.spare and evolve(s.spare, log=s.spare.log + (1,)))
evolve(s, box=evolve(s.box, point=s.pair[0]))
evolve(s, box=evolve(s.box, point=evolve(s.pair[0], up=s.box.point.up)))
evolve(s, box=attrs.evolve(s.box, log=s.log))
evolve(s, box=s.box.empty(s.pair[1]))
evolve(s, pair=(s.pair[1], s.pair[0]))
evolve(s, pair=s.pair[::-1])
evolve(s, pair=(s.box.point,) * 2)
evolve(s, pair=replaced(s.pair, 1, POINT))
evolve(s, pair=replaced(s.pair, 0, Point(s.number, s.flag)))
evolve(s, pair=tuple(sorted(s.pair, key=lambda p: (p.x, p.up))))
evolve(s, pair=s.points[:2] if len(s.points) >= 2 else s.pair)
evolve(s, digits=s.digits[1:] + s.digits[:1])
evolve(s, digits=tuple(min(3, d + 1) for d in s.digits))
evolve(s, digits=replaced(s.digits, 1, s.signed + 3))
evolve(s, digits=s.log if len(s.log) == 3 else (0, 0, 0))
evolve(s, digits=s.wide[:3] if len(s.wide) >= 3 else s.digits)
evolve(s, digits=(s.number, s.number, len(s.marks)))
evolve(s, maybes=(None, s.owner))
evolve(s, maybes=(s.maybes[1], s.number))
evolve(s, marks=s.more, more=s.marks)
evolve(s, marks=s.marks | s.more)
evolve(s, marks=s.marks - {1}, more=s.more | {2})
evolve(s, marks=s.marks ^ s.more)
evolve(s, marks=s.marks & s.others)
evolve(s, marks=s.others)
evolve(s, others=s.marks)
evolve(s, others=s.others | s.marks)
evolve(s, marks=s.marks | {9})
evolve(s, marks=frozenset({m + 1 for m in s.marks} & {0, 1, 2, 3}))
evolve(s, marks=frozenset(m + 1 for m in s.marks))
evolve(s, marks=frozenset(s.log))
evolve(s, marks=frozenset(s.wide))
evolve(s, marks=s.box.marks, box=evolve(s.box, marks=s.marks))
evolve(s, corners=s.corners | {s.box.point})
evolve(s, corners=frozenset(s.pair))
evolve(s, corners=frozenset({*s.points, s.pair[0]}))
evolve(s, corners=s.corners - set(s.points))
evolve(s, corners=frozenset(p for p in s.corners if p.up))
evolve(s, log=())
evolve(s, log=s.log + (s.number,))
evolve(s, log=(s.number,) + s.log)
evolve(s, log=s.log[1:])
evolve(s, log=s.log[:-1])
evolve(s, log=s.log[::-1])
evolve(s, log=s.log[:1] + s.digits[:1])
evolve(s, log=s.log + s.log)
evolve(s, log=s.digits)
evolve(s, log=s.wide)
evolve(s, log=s.wide + s.log)
evolve(s, log=s.log + s.wide)
evolve(s, log=s.log + tuple(s.wide))
evolve(s, log=s.digits + (s.number,) + s.wide)
evolve(s, wide=s.log)
evolve(s, wide=s.log + s.wide)
evolve(s, wide=tuple(d + 1 for d in s.wide))
evolve(s, log=s.box.log, box=evolve(s.box, log=s.log))
evolve(s, points=s.points[1:] + (s.pair[0],) if s.points else s.pair)
evolve(s, points=s.pair)
evolve(s, points=(s.box.point, *s.pair))
evolve(s, points=tuple(p for p in s.points if p.up))
evolve(s, points=tuple(evolve(p, up=not p.up) for p in s.points))
evolve(s, sets=(s.marks, s.more))
evolve(s, sets=s.sets[1:] + (s.box.marks - {0},) if s.sets else ())
evolve(s, sets=tuple(m | {1} for m in s.sets))
evolve(s, sets=(s.others,))
evolve(s, boxes=s.boxes + (s.box,))
evolve(s, boxes=(s.box,) + s.boxes)
evolve(s, boxes=s.boxes[::-1])
evolve(s, boxes=s.boxes + (Box(s.pair[0], s.owner, s.marks, s.log),))
evolve(s, boxes=s.boxes + (Box(s.pair[0], s.owner, s.others, s.log),))
evolve(s, boxes=s.boxes + (Box(s.pair[0], s.owner, s.marks, s.wide),))
evolve(s, boxes=s.boxes + (evolve(s.box, owner=s.number + 2, log=s.wide + s.log),))
evolve(s, boxes=tuple(evolve(b, owner=None) for b in s.boxes))
evolve(s, boxes=(s.spare,) if s.spare else ())
evolve(s, number=7, log=(9, 9, 9, 9, 9), others=frozenset({8}))
State(*(getattr(s, a.name) for a in attrs.fields(State)))
State(**{**{a.name: getattr(s, a.name) for a in attrs.fields(State)}, "box": BOX})
attrs.evolve(s, marks=s.more, log=s.log[:1])
"""


def step_of(function: Callable[[Any], Any]) -> Any:
    def step(state: Any) -> Any:
        return function(state)

    return action(actor="test")(step).instances(None)[0]


def traced_successor(function: Callable[[Any], Any], state: Any, layout: Layout) -> Any:
    """What the recorded writes of a step make of the state."""
    recorder = traced(state, layout)
    result = function(recorder.root())
    if result is None:
        return None
    update = recorder.writes(result)
    recorder.close()
    if isinstance(update, OutOfBounds):
        return Cut(update.bounds)
    before = layout.pack(state)
    after = list(before)
    written = [*update.constants, *((leaf, 0) for leaf in update.cleared)]
    written += [(leaf, before[source.word] >> source.shift & source.mask) for leaf, source in update.copies]
    assert len({leaf for leaf, _ in written}) == len(written)
    for leaf, raw in written:
        after[leaf.word] = after[leaf.word] & ~(leaf.mask << leaf.shift) | raw << leaf.shift
    assert layout.pack(layout.unpack(after)) == tuple(after), "what is absent must be zero"
    return layout.unpack(after)


@pytest.mark.parametrize("step", [line for line in STEPS.splitlines() if line])
def test_a_step_means_the_same_on_a_view(step: str) -> None:
    function = function_of(step)
    for state in STATES:
        assert traced_successor(function, state, LAYOUT) == successor(step_of(function), state, DOMAIN), state


@attrs.frozen
class Group:
    points: frozenset[Point] = within(SetOf(domain_of(Point, None)))


@attrs.frozen
class Nested:
    point: Point = within(Point)
    groups: tuple[Group, ...] = within(SequenceOf(domain_of(Group, None), Limit(1, "groups")))
    few: frozenset[frozenset[bool]] = within(SetOf(SetOf(BOOLEAN)))
    flag: bool = within(BOOLEAN)
    numbers: tuple[int, ...] = within(SequenceOf(Integers(0, 5), 2))
    limited: tuple[int, ...] = within(SequenceOf(Integers(0, Limit(3, "limited")), Limit(1, "line")))


@pytest.mark.parametrize(
    "step",
    [
        "evolve(s, groups=(Group(frozenset({s.point})),))",
        "evolve(s, groups=s.groups + (Group(frozenset({s.point})),))",
        "evolve(s, groups=s.groups + s.groups)",
        "evolve(s, few=s.few | {frozenset({s.flag})})",
        "evolve(s, few=frozenset({frozenset({s.flag}), *s.few}))",
        "evolve(s, limited=s.limited + s.numbers)",
        "evolve(s, limited=(0,) + s.numbers)",
        "evolve(s, limited=s.numbers)",
        "evolve(s, limited=(0, *s.numbers))",
    ],
)
def test_steps_beyond_the_end_of_a_sequence_mean_the_same_on_a_view(step: str) -> None:
    function, rng, domain = function_of(step), random.Random(1), domain_of(Nested, None)
    for _ in range(20):
        state = a_value(rng, domain)
        assert traced_successor(function, state, Layout(domain)) == successor(step_of(function), state, domain), state


# Reads are lazy and granular

PLAIN = attrs.evolve(
    STATES[1],
    number=1,
    marks=frozenset({1, 2}),
    more=frozenset({2}),
    log=(1, 2),
    wide=(1, 2, 3),
    points=(Point(1, True), Point(2, True)),
    pair=(Point(0, True), Point(1, True)),
    digits=(0, 1, 2),
    box=BOX,
    spare=BOX,
    owner=1,
)


def reads(function: Callable[[Any], Any], state: Any = PLAIN) -> list[str]:
    """Which leaves a function reads, and the writing of the next state if it returns one."""
    recorder = traced(state)
    result = function(recorder.root())
    if isinstance(result, State):
        recorder.writes(result)
    return [leaf.path for leaf, _ in recorder.path]


@pytest.mark.parametrize(
    ("operation", "leaves"),
    [
        ("None", []),
        ("s", []),
        ("s.box", []),
        ("s.number + s.number", ["number"]),
        ("s.only", []),
        ("s.box.point.x", ["box.point.x"]),
        ("s.spare is None", ["spare is not None"]),
        ("s.spare.point.up", ["spare is not None", "spare.point.up"]),
        ("s.owner is None", ["owner"]),
        ("2 in s.marks", ["2 in marks"]),
        ("9 in s.marks", []),
        ("POINT in s.corners", ["1^ in corners"]),
        ("1 in s.marks | {1}", []),
        ("1 in s.marks - {1}", []),
        ("0 in s.marks & {1}", []),
        ("0 in s.marks - {1}", ["0 in marks"]),
        ("1 in s.marks | s.more", ["0 in marks", "1 in marks", "2 in marks", "3 in marks"]),
        ("bool(s.marks)", ["0 in marks", "1 in marks"]),
        ("s.marks == s.marks", []),
        ("s.marks == s.more", ["0 in marks", "0 in more", "1 in marks", "1 in more"]),
        ("s.marks == {0, 1}", ["0 in marks"]),
        ("s.marks <= {2, 3}", ["0 in marks", "1 in marks"]),
        ("{0, 1} <= s.marks", ["0 in marks"]),
        ("s.marks == {9}", []),
        ("len(s.log)", ["len(log)"]),
        ("len(s.digits)", []),
        ("bool(s.log)", ["len(log)"]),
        ("s.log[0]", ["len(log)", "log[0]"]),
        ("s.digits[1]", ["digits[1]"]),
        ("s.points[1].up", ["len(points)", "points[1].up"]),
        ("s.log[1:]", ["len(log)"]),
        ("s.digits[1:][0]", ["digits[1]"]),
        ("(s.log + s.wide)[2]", ["len(log)", "len(wide)", "wide[0]"]),
        ("1 in s.digits", ["digits[0]", "digits[1]"]),
        ("next(p for p in s.points if p.up).x", ["len(points)", "points[0].up", "points[0].x"]),
        ("s.log == s.wide", ["len(log)", "len(wide)"]),
        ("s.log == (2, 2)", ["len(log)", "log[0]"]),
        ("s.log == (1, 2, 3)", ["len(log)"]),
        ("s.pair[0] == s.pair[1]", ["pair[0].x", "pair[1].x"]),
        ("s.pair[1] == POINT", ["pair[1].x", "pair[1].up"]),
        ("s.box.point == Point(0, True)", ["box.point.x"]),
        ("s.box == evolve(BOX, point=Point(3, True))", ["box.point.x"]),
        ("evolve(s.box, point=POINT).point == POINT", []),
        ("replaced(s.pair, 0, POINT)[0].x", []),
        ("replaced(s.pair, 0, POINT)[1].x", ["pair[1].x"]),
        ("isinstance(s.box, Box)", []),
        ("isinstance(s.log, Sequence)", []),
        ("evolve(s.box, owner=1).owner", []),
        ("attrs.evolve(s.box.point, x=1)", ["box.point.up"]),
    ],
)
def test_reading_records_exactly_the_needed_fields(operation: str, leaves: list[str]) -> None:
    assert sorted(reads(function_of(operation))) == sorted(leaves)


@pytest.mark.parametrize(
    ("step", "leaves"),
    [
        ("s", []),
        ("evolve(s, number=0)", []),
        ("evolve(s, box=BOX)", []),
        ("evolve(s, box=s.box)", []),
        ("evolve(s, box=evolve(s.box, point=POINT))", []),
        ("evolve(s, box=evolve(s.box, point=s.pair[0]))", []),
        ("evolve(s, box=evolve(s.box, marks=s.marks))", []),
        ("evolve(s, box=evolve(s.box, log=s.log))", ["len(log)"]),
        ("evolve(s, spare=s.box)", ["len(box.log)"]),
        ("evolve(s, spare=s.spare)", ["spare is not None"]),
        ("evolve(s, marks=s.more)", []),
        ("evolve(s, marks=s.marks | {1})", []),
        ("evolve(s, marks=s.marks - {1})", []),
        ("evolve(s, marks=s.marks & s.more)", ["0 in marks", "1 in marks", "2 in marks", "3 in marks"]),
        ("evolve(s, pair=s.pair[::-1])", []),
        ("evolve(s, pair=replaced(s.pair, 0, s.box.point))", []),
        ("evolve(s, pair=(s.pair[1], POINT))", []),
        ("evolve(s, log=s.log)", []),
        ("evolve(s, log=s.log + (1,))", ["len(log)"]),
        ("evolve(s, log=s.log + (s.number,))", ["len(log)", "number"]),
        ("evolve(s, log=s.log[:1])", ["len(log)"]),
        ("evolve(s, log=s.log[1:])", ["len(log)"]),
        ("evolve(s, log=s.digits)", []),
        ("evolve(s, digits=s.digits[1:] + s.digits[:1])", []),
        ("evolve(s, points=s.points[:1] + s.pair)", ["len(points)"]),
        ("evolve(s, number=s.digits[0])", ["digits[0]"]),
    ],
)
def test_a_copy_of_unread_parts_reads_nothing(step: str, leaves: list[str]) -> None:
    assert sorted(reads(function_of(step))) == sorted(leaves)


# What cannot be traced


@attrs.frozen
class Small:
    number: int = within(Integers(0, 63))
    flag: bool = within(BOOLEAN)
    log: tuple[int, ...] = within(SequenceOf(Integers(0, 3), Limit(2, "log")))
    marks: frozenset[int] = within(SetOf(Integers(0, 3)))
    point: Point = within(Point)
    other: Point = within(Point)


START = Small(0, False, (1,), frozenset({1}), Point(0, False), Point(0, False))
KEPT: list[Any] = []
CALLS = [0]


def calls() -> int:
    """How often this was called in a test, which no function of a model may know."""
    CALLS[0] += 1
    return CALLS[0]


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    KEPT.clear()
    CALLS[0] = 0
    random.seed(0)


@action(actor="test")
def count(state: Small) -> Small:
    return evolve(state, number=(state.number + 1) % 64)


def failure(system: System, audit: int = 8, **options: Any) -> str:
    """The message of the ModelError that exploring gives."""
    with pytest.raises(ModelError) as error:
        breadth_first.explore(system, options=SearchOptions(**options), audit=audit)
    return str(error.value)


def place(function: Any, marker: str = "") -> str:
    """File and line of the line with a marker in it, or of the function."""
    if not marker:
        return f"{__file__}:{function.function.__code__.co_firstlineno}"
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return f"{__file__}:{next(number for number, line in enumerate(lines, 1) if line.endswith(f'# {marker}'))}"


@action(actor="test")
def keeps_the_state(state: Small) -> Small | None:
    if KEPT and KEPT[0].flag:  # the kept state
        return None
    KEPT.append(state)
    return count(state)


@action(actor="test")
def keeps_a_record(state: Small) -> Small | None:
    KEPT.append(state.point)
    return evolve(count(state), point=KEPT[0])  # the kept record


@action(actor="test")
def keeps_a_set(state: Small) -> Small | None:
    KEPT.append(state.marks)
    return evolve(count(state), marks=KEPT[0])


@action(actor="test")
def keeps_a_tuple(state: Small) -> Small | None:
    KEPT.append(state.log)
    return evolve(count(state), log=KEPT[0])


@action(actor="test")
def keeps_a_generator(state: Small) -> Small | None:
    if not KEPT:
        KEPT.append(digit for digit in state.log)  # the kept generator
    elif next(KEPT[0], 0):
        return None
    return count(state)


@action(actor="test")
def pickles(state: Small) -> Small:
    return evolve(count(state), marks=pickle.loads(pickle.dumps(state.marks)))  # the pickle


@pytest.mark.parametrize(
    ("step", "marker", "error"),
    [
        (keeps_the_state, "the kept state", "kept after its function had returned"),
        (keeps_a_record, "", "another run|kept after"),
        (keeps_a_set, "", "another run|kept after"),
        (keeps_a_tuple, "", "another run|kept after"),
        (keeps_a_generator, "the kept generator", "kept after its function had returned"),
        (pickles, "the pickle", "cannot be pickled"),
    ],
)
def test_a_view_that_escapes_its_run_is_reported_with_function_and_line(
    system_of: SystemOf, step: Any, marker: str, error: str
) -> None:
    message = failure(system_of([START, attrs.evolve(START, number=8)], [step]), audit=0)
    assert f"{step.name}()" in message
    assert re.search(error, message)
    assert place(step, marker) in message


@pytest.mark.parametrize(
    "part", ["s", "s.box", "s.marks", "s.log", "s.points", "s.box.point", "[s.log]", "(1, s.marks)"]
)
def test_no_view_can_be_pickled_out_of_its_run(part: str) -> None:
    value = eval(part, None, {"s": traced(PLAIN).root()})
    with pytest.raises(TracingError):
        pickle.dumps(value)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize(
    "part", ["s", "s.box", "s.marks", "s.log", "s.points", "s.box.point", "[s.log]", "(1, s.marks)"]
)
def test_a_copy_of_a_view_behaves_like_it_and_reads_at_most_the_elements_of_a_tuple(part: str, again: Any) -> None:
    recorder = traced(PLAIN)
    copied = again(eval(part, None, {"s": recorder.root()}))
    assert recorder.path == [] or (again is copy.deepcopy and part in ("s.log", "[s.log]", "s.points"))
    assert settled(copied) == settled(eval(part, None, {"s": PLAIN}))


@pytest.mark.parametrize(
    "use",
    [
        "s.number",
        "s.box.point.x",
        "1 in s.marks",
        "len(s.log)",
        "list(s.marks)",
        "s.box == BOX",
        "hash(s.box)",
        "s.pair[0].x",
        "s.spare",
        "plain(s)",
    ],
)
def test_no_view_can_be_read_after_its_run_even_what_was_read_before(use: str) -> None:
    recorder = traced(PLAIN)
    s = recorder.root()
    function = function_of(use)
    function(s)
    recorder.close()
    with pytest.raises(TracingError, match="kept after its function had returned"):
        function(s)


@pytest.mark.parametrize("part", ["point", "marks", "log"])
def test_no_view_of_another_run_can_be_part_of_the_next_state(part: str) -> None:
    layout = Layout(domain_of(Small, None))
    older, newer = traced(START, layout), traced(START, layout)
    with pytest.raises(TracingError, match="another run"):
        newer.writes(evolve(newer.root(), **{part: getattr(older.root(), part)}))


# Changes in place


@action(actor="test")
def sets_a_field(state: Small) -> Small:
    state.number = 1  # sets a field
    return state


@action(actor="test")
def sets_a_new_field(state: Small) -> Small:
    state.nonsense = 1  # sets a new field
    return state


@action(actor="test")
def sets_a_field_by_force(state: Small) -> Small:
    object.__setattr__(state, "number", 1)  # sets by force
    return state


@action(actor="test")
def sets_a_field_of_a_part_by_force(state: Small) -> Small:
    object.__setattr__(state.point, "x", 1)  # sets a part by force
    return state


@action(actor="test")
def deletes_a_field(state: Small) -> Small:
    del state.number  # deletes a field
    return state


@action(actor="test")
def appends_in_place(state: Small) -> Small:
    state.log.append(1)  # appends
    return state


@action(actor="test")
def sets_an_element(state: Small) -> Small:
    state.log[0] = 1  # sets an element
    return state


@action(actor="test")
def adds_in_place(state: Small) -> Small:
    state.marks.add(2)  # adds
    return state


@action(actor="test")
def extends_a_field(state: Small) -> Small:
    state.marks |= {2}  # extends
    return state


@pytest.mark.parametrize(
    ("step", "marker"),
    [
        (sets_a_field, "sets a field"),
        (sets_a_new_field, "sets a new field"),
        (sets_a_field_by_force, "sets by force"),
        (sets_a_field_of_a_part_by_force, "sets a part by force"),
        (deletes_a_field, "deletes a field"),
        (appends_in_place, "appends"),
        (sets_an_element, "sets an element"),
        (adds_in_place, "adds"),
        (extends_a_field, "extends"),
    ],
)
def test_a_step_that_changes_its_state_is_an_error_that_names_function_and_line(
    system_of: SystemOf, step: Any, marker: str
) -> None:
    message = failure(system_of([START], [step]))
    assert f"{step.name}()" in message
    assert place(step, marker) in message


# Wrong functions


@invariant()
def raises(state: Small) -> bool:
    return state.number < 5 or state.log[state.number] > 0  # raises


@invariant()
def raises_below(state: Small) -> bool:
    def deeper() -> bool:
        return 1 // (state.number - 5) != 7  # raises below

    return deeper()


@invariant()
def returns_none(state: Small) -> Any:
    return None if state.number == 5 else True


@invariant()
def returns_a_part(state: Small) -> Any:
    return state.log


@action(actor="test")
def raises_in_a_step(state: Small) -> Small:
    return evolve(count(state), flag=state.log[3 - state.number // 5 + 2] > 0)  # raises in a step


@action(actor="test")
def returns_a_number(state: Small) -> Any:
    return state.number


@action(actor="test")
def returns_a_record(state: Small) -> Any:
    return state.point


@action(actor="test")
def leaves_its_domain(state: Small) -> Any:
    return evolve(state, point=evolve(state.point, x=7))


@pytest.mark.parametrize(
    ("function", "marker", "what"),
    [
        (raises, "raises", "raised IndexError"),
        (raises_below, "raises below", "raised ZeroDivisionError"),
        (returns_none, "", "returned None"),
        (returns_a_part, "", "a property returns True, False or a Witness"),
        (raises_in_a_step, "raises in a step", "raised IndexError"),
        (returns_a_number, "", "is not a Small"),
        (returns_a_record, "", "is not a Small"),
        (leaves_its_domain, "", "Point.x: 7 is above 3, and no bound limits it"),
    ],
)
def test_a_function_that_raises_or_returns_nonsense_is_an_error_that_names_it(
    system_of: SystemOf, function: Any, marker: str, what: str
) -> None:
    actions, invariants = ([count, function], []) if isinstance(function, type(count)) else ([count], [function])
    message = failure(system_of([START], actions, invariants))
    assert f"{function.name}()" in message
    assert what in message
    assert place(function, marker) in message


def test_the_state_in_which_a_function_raised_is_reported(system_of: SystemOf) -> None:
    message = failure(system_of([START], [count], [raises]))
    assert "in the state Small(number 5, flag False, log [1], marks {1}, point 0_, other 0_)" in message


def test_the_line_is_named_wherever_the_model_lies(system_of: SystemOf, tmp_path: Path) -> None:
    """Also in a folder of the user's that is called like a package of ours."""
    for folder in ("models", "explorer", "attr"):
        path = tmp_path / folder / "toy.py"
        path.parent.mkdir()
        path.write_text("\n\ndef fails(state):\n    return state.log[state.number + 9]\n", encoding="utf-8")
        module = types.ModuleType("toy")
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
        assert f"{path}:4" in failure(system_of([START], [action(actor="test")(module.fails)]))


# Impure functions are reported


@action(actor="test")
def tosses_a_coin(state: Small) -> Small | None:
    return count(state) if state.number < 64 and random.random() < 0.5 else None


@action(actor="test")
def draws_a_number(state: Small) -> Small:
    return evolve(state, number=random.randrange(64))


@action(actor="test")
def counts_its_calls(state: Small) -> Small:
    return evolve(state, number=calls() % 64)


@action(actor="test")
def reads_by_turns(state: Small) -> Small | None:
    if calls() % 4 in (1, 2) and state.flag:
        return None
    return count(state)


@invariant()
def tosses_a_coin_too(state: Small) -> bool:
    return state.number > 64 or random.random() < 2 * (calls() % 2)


@pytest.mark.parametrize(
    "function",
    [
        tosses_a_coin,
        draws_a_number,
        counts_its_calls,
        reads_by_turns,
        tosses_a_coin_too,
    ],
)
@pytest.mark.parametrize("audit", [8, 1000])
def test_a_function_that_is_not_pure_is_reported(system_of: SystemOf, function: Any, audit: int) -> None:
    actions, invariants = ([count, function], []) if isinstance(function, type(count)) else ([count], [function])
    message = failure(system_of([START], actions, invariants), audit=audit)
    assert f"{function.name}()" in message
    assert place(function) in message
    assert "is not a pure function of the state" in message or "does not mean the same when it is traced" in message


def test_a_change_of_mind_is_noticed_without_audits_where_paths_meet(system_of: SystemOf) -> None:
    """It comes to the same, but looks at another part of the state first each time."""
    message = failure(system_of([START], [count, reads_by_turns]), audit=0)
    assert "reads_by_turns() is not a pure function of the state" in message


@action(actor="test")
def reads_and_looks_less(state: Small) -> Small:
    number = state.number
    if calls() in (1, 2) and state.flag:
        number = 0
    return evolve(state, number=number)


def test_a_path_that_ends_where_another_went_on_is_noticed(system_of: SystemOf) -> None:
    """What comes out is the same."""
    message = failure(system_of([START, attrs.evolve(START, flag=True)], [reads_and_looks_less]), audit=0)
    assert "reads_and_looks_less() is not a pure function of the state" in message


def test_pure_functions_are_not_reported_however_many_paths_are_audited(system_of: SystemOf) -> None:
    @action(actor="test", by=Integers(0, 3))
    def works(state: Small, by: int) -> Small | None:
        if by in state.marks:
            return evolve(state, marks=state.marks - {by}, log=state.log + (by,), point=state.other)
        if state.log[-1:] == (by,):
            return evolve(
                state, log=state.log[:-1], marks=state.marks | {by}, other=evolve(state.other, up=not state.other.up)
            )
        return evolve(count(state), marks=frozenset(state.log)) if by == 3 else None

    outcome = breadth_first.explore(system_of([START], [works]), Budget(max_depth=12), audit=10**6)
    assert outcome.distinct_states > 10


@attrs.frozen
class Interval:
    low: int = within(Integers(0, 7))
    high: int = within(Integers(0, 7))
    steps: int = within(Integers(0, 7))

    def __attrs_post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")


def test_a_record_may_refuse_values_that_its_domain_allows(system_of: SystemOf) -> None:
    """An audit on another state does not trip over states that cannot be made."""

    @action(actor="test")
    def step(state: Interval) -> Interval:
        return evolve(state, steps=(state.steps + 1) % 8)

    assert breadth_first.explore(system_of([Interval(0, 0, 0)], [step]), audit=1000).levels == (1,) * 8
