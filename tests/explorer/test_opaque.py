# ruff: noqa: UP031, E721
"""Functions may ask only for the order of numbers of which only the order matters: both engines refuse every other
question in every kind of function, and give the allowed ones the answer for real numbers.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
import operator
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from highwater.explorer.blame import ModelError
from highwater.explorer.ranks import ROOM
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import Cut, System, abstracted, judge, successor
from highwater.explorer.verdict import Outcome, SearchOptions, Verdict
from highwater.model.language.declarations import Action, Invariant, StepProperty, Transition, Witness
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, SequenceOf
from highwater.model.language.graph_properties import ALWAYS_EVENTUALLY, EVENTUALLY, LEADS_TO, Liveness, Per, Prospect
from highwater.model.language.records import domain_of, evolve, within

EXAMPLES = int(os.environ.get("HIGHWATER_EXAMPLES", "0"))
NONE = -1
Explore = Callable[..., Outcome]


@attrs.frozen
class Sizes:
    epochs: int = 4
    versions: int = 4


def epochs(sizes: Any) -> Integers:
    return Integers(NONE, sizes.epochs, order="epochs")


def versions(sizes: Any) -> Integers:
    """One of which 0 is a constant."""
    return Integers(0, sizes.versions, label="v", order="versions", constants_below=1)


@attrs.frozen
class Vote:
    term: int = within(epochs)
    granted: bool = within(BOOLEAN)


@attrs.frozen
class State:
    """Two epochs, of which one may lag and be none, a version, and what is not by order."""

    a: int = within(epochs)
    b: int = within(epochs)
    w: int = within(versions)
    n: int = within(Integers(0, 2))
    hit: bool = within(BOOLEAN)
    last: int | None = within(lambda sizes: Maybe(epochs(sizes)))
    vote: Vote | None = within(lambda sizes: Maybe(domain_of(Vote, sizes)))
    both: tuple[int, int] = within(lambda sizes: ArrayOf(epochs(sizes), 2))
    log: tuple[int, ...] = within(lambda sizes: SequenceOf(epochs(sizes), Limit(1, "length")))


START = State(0, NONE, 0, 0, False, None, None, (0, NONE), ())


def step(function: Callable[[State], State | None]) -> Action:
    return Action(function, {}, "test")


@step
def up(s: State) -> State | None:
    """A new epoch."""
    return evolve(s, a=s.a + 1)


@step
def learn(s: State) -> State | None:
    """The other learns it."""
    return evolve(s, b=s.a) if s.b < s.a else None


@step
def write(s: State) -> State | None:
    """A new version."""
    return evolve(s, w=s.w + 1)


@step
def keep(s: State) -> State | None:
    """It remembers what the other knows."""
    return evolve(s, last=s.b, vote=Vote(s.b, s.b == s.a))


GROUPS = ("epochs", "versions")


def system_of(actions: Any, properties: Any = (), sizes: Any = None, start: State = START) -> System:
    sizes = sizes or Sizes()
    found = [instance for each in properties for instance in each.instances(sizes)]
    return System(
        domain_of(State, sizes),
        (start,),
        tuple(instance for each in actions for instance in each.instances(sizes)),
        tuple(each for each in found if isinstance(each.of, Invariant)),
        step_properties=tuple(each for each in found if isinstance(each.of, StepProperty)),
        prospects=tuple(each for each in found if isinstance(each.of, Prospect)),
        liveness=tuple(each for each in found if isinstance(each.of, Liveness)),
    )


EXPLORERS: dict[str, Explore] = {"local": breadth_first.explore, "plain": plain_python.explore}


@pytest.fixture(params=list(EXPLORERS))
def explore(request: pytest.FixtureRequest) -> Explore:
    return EXPLORERS[request.param]


def as_action(question: Callable[[State], Any]) -> tuple[list[Action], list[Any]]:
    def asks(s: State) -> State | None:
        return evolve(s, hit=True) if question(s) and not s.hit else None

    return [step(asks)], []


def as_invariant(question: Callable[[State], Any]) -> tuple[list[Action], list[Any]]:
    def asks(s: State) -> bool:
        return not question(s)

    return [], [Invariant(asks, {})]


def as_step_property(question: Callable[[State], Any]) -> tuple[list[Action], list[Any]]:
    def asks(before: State, after: State) -> bool:
        return not question(after)

    return [], [StepProperty(asks, {})]


def as_prospect(question: Callable[[State], Any]) -> tuple[list[Action], list[Any]]:
    def asks(s: State) -> bool:
        return bool(question(s))

    return [], [Prospect(asks, {}, along=(up, learn, write))]


def as_promise(question: Callable[[State], Any]) -> tuple[list[Action], list[Any]]:
    def asks(s: State) -> bool:
        return bool(question(s))

    return [], [Liveness(asks, {}, form=ALWAYS_EVENTUALLY, fair=(Per(up, ()),))]


def as_premise(question: Callable[[State], Any]) -> tuple[list[Action], list[Any]]:
    def asks(s: State) -> bool:
        return bool(question(s))

    def comes(s: State) -> bool:
        return False

    return [], [Liveness(comes, {}, form=LEADS_TO, fair=(Per(up, ()),), premise=asks)]


KINDS = [as_action, as_invariant, as_step_property, as_prospect, as_promise, as_premise]


@functools.singledispatch
def kind_of(value: Any) -> str:
    return "something"


@kind_of.register
def _(value: int) -> str:
    return "int"


@functools.cache
def cached(value: Any) -> bool:
    return value is not None


def swallowed(question: Callable[[State], Any]) -> Callable[[State], Any]:
    def asks(s: State) -> bool:
        try:
            return bool(question(s))
        except Exception:
            return False

    return asks


KEPT: list[Any] = []


def keeps(s: State) -> bool:
    """What it finds is a number of the state that it saw first."""
    KEPT.append(s.a)
    return KEPT[0] < s.a


def matches_a_constant(s: State) -> bool:
    match s.a:
        case 3:
            return True
    return False


ARITHMETIC, TEXT, HASH, COUNTS, TRUTH, CONVERTS = (
    "does arithmetic", "makes a text", "hashes one", "counts by one", "truth value", "converts one",
)  # fmt: skip
FORBIDDEN: dict[str, tuple[Callable[[State], Any], str]] = {
    "a constant": (lambda s: s.a == 4, "compares one .* with 4"),
    "another constant": (lambda s: s.a > -5, "with -5"),
    "the constant of another group": (lambda s: s.a != 0, "with 0"),
    "below a constant": (lambda s: s.a < 2, "with 2"),
    "a constant on the left": (lambda s: s.a == 4, "with 4"),
    "a truth value": (lambda s: s.w == True, "with True"),  # noqa: E712
    "a number with a point": (lambda s: s.a >= 2.5, "with 2.5"),
    "a text": (lambda s: s.a == "4", "with '4'"),
    "a bound": (lambda s: s.a < Limit(4, "epochs"), "with 4"),
    "what is not by order": (lambda s: s.a == s.n, "with 0"),
    "another group": (lambda s: s.a < s.w, "with one of the versions"),
    "another group on the left": (lambda s: s.w == s.a, "with one of the epochs"),
    "another group inside a tuple": (lambda s: (s.a, s.hit) == (s.w, s.hit), "one of the versions"),
    "another group in max": (lambda s: max(s.a, s.w) == s.a, "one of the"),
    "a constant inside a tuple": (lambda s: s.both == (4, NONE), "with 4"),
    "a constant in a record": (lambda s: Vote(s.a, True) == Vote(4, True), "with 4"),
    "a constant in a list": (lambda s: s.a in (3, 4), "with 3"),
    "a constant in a range": (lambda s: s.a in range(3, 5), "with 3"),
    "a constant in a match": (matches_a_constant, "with 3"),
    "a default of max": (lambda s: max(s.log, default=0) <= s.a, "with 0"),
    "minus": (lambda s: s.a - s.a == 0, ARITHMETIC),
    "minus one": (lambda s: s.a - 1 == s.b, ARITHMETIC),
    "plus two": (lambda s: s.a + 2 == s.b, ARITHMETIC),
    "plus one of its own": (lambda s: s.a + s.a == s.b, ARITHMETIC),
    "plus True": (lambda s: s.a + True == s.b, ARITHMETIC),
    "plus one of what is behind": (lambda s: s.b + 1 == s.a, "adds 1 to one that is not the greatest"),
    "one plus what is behind": (lambda s: 1 + s.b <= s.a, "adds 1 to one that is not the greatest"),
    "a sum": (lambda s: sum(s.both) == 4, ARITHMETIC),
    "times": (lambda s: 2 * s.a == 4, ARITHMETIC),
    "a remainder": (lambda s: s.a % 2 == 1, ARITHMETIC),
    "divmod": (lambda s: divmod(s.a, 2) == (2, 0), ARITHMETIC),
    "a bit": (lambda s: s.a & 1, ARITHMETIC),
    "a shift": (lambda s: 1 << s.a == 8, ARITHMETIC),
    "a power": (lambda s: pow(2, s.a) == 8, ARITHMETIC),
    "the negative": (lambda s: -s.a == -4, ARITHMETIC),
    "abs": (lambda s: abs(s.b) == 1, ARITHMETIC),
    "round": (lambda s: round(s.a) == 4, ARITHMETIC),
    "floor": (lambda s: math.floor(s.a) == 4, ARITHMETIC),
    "an index": (lambda s: (False, False, False, False, True, True)[s.a], COUNTS),
    "a slice": (lambda s: (1, 2, 3, 4)[s.a :] == (), COUNTS),
    "a range": (lambda s: len(range(s.a)) == 4, COUNTS),
    "an index by name": (lambda s: operator.index(s.a) == 4, COUNTS),
    "so many times": (lambda s: (1,) * s.a == (1, 1), ARITHMETIC),
    "so many letters": (lambda s: len("a" * s.a) == 4, ARITHMETIC),
    "so many of an iterator": (lambda s: len(list(itertools.islice((1, 2, 3), s.a))) == 3, COUNTS),
    "a letter": (lambda s: chr(s.a) == "\x04", COUNTS),
    "binary": (lambda s: bin(s.a) == "0b100", COUNTS),
    "bytes": (lambda s: bytes([s.a]) == b"\x04", COUNTS),
    "a hash": (lambda s: hash(s.a) == 4, HASH),
    "a set": (lambda s: s.a in {3, 4}, HASH),
    "how many differ": (lambda s: len(set(s.both)) == 2, HASH),
    "a table": (lambda s: {4: True}.get(s.a, False), HASH),
    "a cache": (lambda s: cached(s.a) and s.hit, HASH),
    "a cache of tuples": (lambda s: cached(s.both) and s.hit, HASH),
    "a set of records": (lambda s: {Vote(s.a, True)} == set(), HASH),
    "int": (lambda s: int(s.a) == 4, CONVERTS),
    "float": (lambda s: float(s.a) == 4.0, CONVERTS),
    "a root": (lambda s: math.sqrt(s.w) == 2, CONVERTS),
    "a truth": (lambda s: not s.w, TRUTH),
    "a truth in if": (lambda s: True if s.w else s.hit, TRUTH),
    "any": (lambda s: any(s.both), TRUTH),
    "a filter": (lambda s: list(filter(None, s.both)) == [], TRUTH),
    "str": (lambda s: str(s.a) == "4", TEXT),
    "repr": (lambda s: repr(s.a) == "4", TEXT),
    "an f-string": (lambda s: f"{s.a}" == "4", TEXT),
    "%d": (lambda s: "%d" % s.a == "4", CONVERTS),
    "%s": (lambda s: "%s" % s.a == "4", TEXT),
    "%s of a tuple": (lambda s: "%s %s" % s.both == "4 4", TEXT),
    "format": (lambda s: "{:02}".format(s.a) == "04", TEXT),  # noqa: UP032
    "a text of a tuple": (lambda s: str(s.both) == "(4, 4)", TEXT),
    "a text of a record": (lambda s: "term=4" in repr(Vote(s.a, True)), TEXT),
    "bits": (lambda s: s.a.bit_length() == 3, "asks one for its bit_length"),
    "real": (lambda s: s.a.real == 4, "asks one for its real"),
    "has bits": (lambda s: hasattr(s.a, "bit_count") and s.hit, "asks one for its bit_count"),
    "pickle": (lambda s: pickle.dumps(s.a) == b"", "pickles one"),
    "what it is made of": (lambda s: s.a.__getstate__() is None and s.hit, "pickles one"),
    "a swallowed question": (swallowed(lambda s: s.a == 4), "with 4"),
    "a swallowed text": (swallowed(lambda s: str(s.a) == "4"), TEXT),
    "a swallowed index": (swallowed(lambda s: [True][s.a]), COUNTS),
    "one of another state": (keeps, "keeps one from another state"),
    "a swallowed one of another state": (swallowed(keeps), "keeps one from another state"),
}
FEW = [
    "a constant", "another group", "plus one of what is behind", "an index", "a hash", "a truth", "int", "str",
    "a swallowed question", "one of another state",
]  # fmt: skip


def refuses(explore: Explore, question: Any, message: str, kind: Any, groups: Any = GROUPS) -> str:
    KEPT.clear()
    actions, properties = kind(question)
    with pytest.raises(ModelError, match=message) as refused:
        explore(
            abstracted(system_of((up, learn, write, *actions), properties), groups),
            options=SearchOptions(keep_going=True),
        )
    return str(refused.value)


@pytest.mark.parametrize(("question", "message"), [pytest.param(*each, id=name) for name, each in FORBIDDEN.items()])
def test_a_question_beyond_the_order_is_refused(explore: Explore, question: Any, message: str) -> None:
    said = refuses(explore, question, message, as_action)
    assert said.startswith("asks looks at more than the order of ")
    assert (
        f"{Path(__file__)}:" in said and "in the state" in said and "or else leave the group out of `by_order`" in said
    )


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", FEW)
def test_a_question_beyond_the_order_is_refused_in_every_kind_of_function(
    explore: Explore, name: str, kind: Any
) -> None:
    question, message = FORBIDDEN[name]
    said = refuses(explore, question, message, kind)
    line = question.__code__.co_firstlineno
    if question not in (keeps, FORBIDDEN["a swallowed question"][0]):
        assert f"{Path(__file__)}:{line} in" in said


def test_without_the_group_nothing_of_it_is_refused(explore: Explore) -> None:
    """But for a part of another run's state, which no function may keep."""
    allowed = [question for question, message in FORBIDDEN.values() if "another state" not in message]
    done = 0
    for question in allowed[:: 1 if explore is plain_python.explore else 9]:
        actions, properties = as_action(question)
        system = system_of((up, learn, write, *actions), properties, Sizes(2, 2))
        try:
            explore(system)
        except ModelError as error:
            assert "IndexError" in str(error) or "math domain" in str(error) or "ValueError" in str(error)
        done += 1
    assert done


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_its_exact_type_is_not_asked_where_no_run_would_show_it(kind: Any) -> None:
    """The class of an opaque number is no int, and which one it is reads nothing."""
    refuses(breadth_first.explore, lambda s: type(s.a) is int and s.w != 0 and s.hit, "write isinstance", kind)


def test_the_refusal_lists_the_allowed_questions(explore: Explore) -> None:
    said = refuses(explore, lambda s: s.w == 4, "looks at more than the order of versions", as_action)
    assert "compare versions with each other and with the constant 0, store them, and make a new one by adding" in said


# What is allowed


@functools.cache
def of_records(flag: bool) -> bool:
    return flag


ALLOWED: dict[str, Callable[[State], Any]] = {
    "equal": lambda s: s.a == s.b,
    "less": lambda s: s.b < s.a,
    "a constant that it declares": lambda s: s.b == NONE,
    "a constant of a version": lambda s: s.w > 0,
    "a constant in a list": lambda s: s.b in (NONE,),
    "a constant in a range": lambda s: s.w in range(1),
    "none": lambda s: s.last is None or s.last == s.a,
    "equal to none": lambda s: s.last != None,  # noqa: E711
    "a maximum": lambda s: max(s.a, *s.both) == s.b,
    "in order": lambda s: sorted((s.a, s.b)) == sorted(s.both),
    "tuples": lambda s: (s.a, s.n) > (s.b, s.n),
    "records": lambda s: s.vote == Vote(s.a, True),
    "part of": lambda s: s.b in (s.a, *s.log),
    "identity": lambda s: s.a is s.b,
    "a type": lambda s: isinstance(s.a, int) and type(s.a) == int and kind_of(s.a) == "int" and s.b == s.a,
    "a copy": lambda s: copy.deepcopy(s.a) == copy.copy(s.b),
    "counted up": lambda s: s.a + 1 > s.b,
    "counted up by a bound": lambda s: 1 + s.a != s.b,
    "a cache of something else": lambda s: of_records(s.a == s.b),
    "a chain": lambda s: NONE < s.b < s.a,
}


@pytest.mark.parametrize("question", [pytest.param(each, id=name) for name, each in ALLOWED.items()])
def test_an_allowed_question_has_the_same_answer_in_real_numbers(question: Any) -> None:
    actions, properties = as_action(question)
    _, more = as_invariant(question)
    same_as_in_real_numbers(system_of((up, learn, write, keep, *actions), (*properties, *more)), depth=5)


def test_allowed_questions_have_varying_answers() -> None:
    """Otherwise the comparison could not fail. A number that was counted up is greater than all."""
    states = real_states(system_of((up, learn, write, keep)), 4)
    constant = {name for name, each in ALLOWED.items() if len({bool(each(state)) for state in states}) < 2}
    assert constant == {"counted up", "counted up by a bound"}


def test_a_witness_may_hold_a_number_and_is_shown_in_real_numbers(explore: Explore) -> None:
    def fine(s: State) -> Any:
        return s.b < s.a or s.a == s.b or Witness("never")

    def caught_up(s: State) -> Any:
        return s.w == 0 or s.b != s.a or s.a == s.both[0] or Witness("both are at {epoch}", epoch=s.a)

    outcome = explore(
        abstracted(system_of((up, learn, write), [Invariant(each, {}) for each in (fine, caught_up)]), GROUPS)
    )
    (violation,) = outcome.violations
    assert (violation.property, violation.witness) == ("caught_up", "both are at 1")


@step
def writes_a_constant(s: State) -> State:
    return evolve(s, b=NONE, w=0, last=None)


WRITES: dict[str, tuple[Callable[[State], State], str]] = {
    "a number": (lambda s: evolve(s, b=2), "epochs: it writes 2"),
    "the first": (lambda s: evolve(s, b=0), "epochs: it writes 0"),
    "a number in a tuple": (lambda s: evolve(s, both=(s.a, 1)), "epochs: it writes 1"),
    "a number that may be none": (lambda s: evolve(s, last=0), "epochs: it writes 0"),
    "a number in a record": (lambda s: evolve(s, vote=Vote(3, True)), "epochs: it writes 3"),
    "a number in a sequence": (lambda s: evolve(s, log=(0,)), "epochs: it writes 0"),
    "a number behind the end": (lambda s: evolve(s, log=(s.a, 7)), "epochs: it writes 7"),
    "into another group": (lambda s: evolve(s, w=s.a), "epochs: it writes one into a field of versions"),
    "into none": (lambda s: evolve(s, n=s.a), "epochs: it writes one into a field that has none"),
    "into a truth value": (lambda s: evolve(s, hit=s.w), "versions: it writes one into a field that has none"),
}


@pytest.mark.parametrize(("written", "message"), [pytest.param(*each, id=name) for name, each in WRITES.items()])
def test_writing_a_number_outside_the_group_is_refused(explore: Explore, written: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        explore(abstracted(system_of((up, learn, write, step(written))), GROUPS))


def test_constants_are_written(explore: Explore) -> None:
    outcome = explore(abstracted(system_of((up, learn, write, writes_a_constant)), GROUPS))
    assert outcome.any_number_of == GROUPS


# Counting up


def test_a_path_that_counts_up_serves_only_states_in_which_the_number_is_the_greatest(explore: Explore) -> None:
    """In the first state each of these asks of the greatest. Later one that none of them reads is greater."""

    @step
    def behind(s: State) -> State | None:
        return evolve(s, b=s.a) if s.n == 0 else None

    @step
    def turn(s: State) -> State | None:
        return evolve(s, n=1, a=s.a + 1, b=s.a) if s.n == 0 and s.b == s.a else None

    def counts_up(s: State) -> bool:
        return s.b + 1 == s.b

    def not_enabled(s: State) -> State | None:
        return evolve(s, hit=True) if s.b + 1 == s.b else None

    def writes_nothing_of_it(s: State) -> State | None:
        s.b + 1
        return evolve(s, hit=True)

    def cut(s: State) -> State | None:
        s.b + 1
        return evolve(s, log=(s.b, s.b))

    start = attrs.evolve(START, b=0)
    for function in (not_enabled, writes_nothing_of_it, cut):
        with pytest.raises(ModelError, match=f"{function.__name__} looks .* adds 1 to one that is not the greatest"):
            explore(abstracted(system_of((behind, turn, step(function)), start=start), GROUPS))
    for kind in (as_invariant, as_prospect, as_promise):
        with pytest.raises(ModelError, match=r"asks looks .* adds 1 to one that is not the greatest"):
            _, properties = kind(counts_up)
            explore(abstracted(system_of((behind, turn), properties, start=start), GROUPS))


def test_several_numbers_may_be_new(explore: Explore) -> None:
    def two(s: State) -> State | None:
        return evolve(s, b=s.a + 1, a=s.a + 1 + 1)

    outcome = explore(abstracted(system_of((step(two), write)), GROUPS))
    assert outcome.any_number_of == GROUPS and outcome.distinct_states == 4


def test_the_constant_none_is_counted_up_only_if_it_is_greatest(explore: Explore) -> None:
    def first(s: State) -> State | None:
        return evolve(s, b=s.b + 1) if s.b == NONE else None

    alone = attrs.evolve(START, a=NONE, both=(NONE, NONE))
    assert explore(abstracted(system_of((step(first),), start=alone), GROUPS)).distinct_states == 2
    with pytest.raises(ModelError, match="adds 1 to one that is not the greatest"):
        explore(abstracted(system_of((step(first),)), GROUPS))


def test_a_bound_that_leaves_room_for_constants_only_is_a_bound(explore: Explore) -> None:
    outcome = explore(abstracted(system_of((write,), sizes=Sizes(versions=0)), GROUPS))
    assert outcome.bounds_cut == {"versions": 1}
    assert outcome.any_number_of == ("epochs",)
    with pytest.raises(ModelError, match="does arithmetic"):
        explore(abstracted(system_of((step(lambda s: evolve(s, w=s.w * 2)),), sizes=Sizes(versions=0)), GROUPS))


# The wrong answers that renamings by chance had let pass


def test_a_guard_on_the_fourth_epoch_is_refused(explore: Explore) -> None:
    refuses(explore, lambda s: s.a == 4, "with 4", as_action, ["epochs"])


def test_numbers_of_two_groups_are_not_compared(explore: Explore) -> None:
    refuses(explore, lambda s: s.a < s.w, "with one of the versions", as_action)


def test_a_promise_of_the_fourth_epoch_is_refused_rather_than_violated(explore: Explore) -> None:
    def four(s: State) -> bool:
        return s.a == 4

    promise = Liveness(four, {}, form=EVENTUALLY, fair=(Per(up, ()),))
    with pytest.raises(ModelError, match=r"four looks at more than the order of epochs: it compares one .* with 4"):
        explore(abstracted(system_of((up,), [promise]), ["epochs"]))


# Random systems


def real_states(system: System, depth: int, most: int = 1200) -> list[Any]:
    """States in real numbers within a depth, by a search of three lines."""
    found = level = list(system.initial)
    for _ in range(depth):
        afters = (successor(each, state, system.domain) for state in level for each in system.actions)
        level = [state for state in dict.fromkeys(afters) if isinstance(state, State) and state not in set(found)]
        found = [*found, *level][:most]
    return found


def in_order(*states: State) -> tuple[Any, ...]:
    """States up to the order of their numbers, by other means than their domain."""
    of_epochs: set[int] = {NONE}
    of_versions = {0}
    for s in states:
        of_epochs |= {s.a, s.b, *s.both, *s.log, *([] if s.last is None else [s.last])}
        of_epochs |= set() if s.vote is None else {s.vote.term}
        of_versions |= {s.w}
    rank = sorted(of_epochs).index
    return tuple(
        (
            rank(s.a), rank(s.b), sorted(of_versions).index(s.w), s.n, s.hit, None if s.last is None else rank(s.last),
            s.vote and (rank(s.vote.term), s.vote.granted), tuple(map(rank, s.both)), tuple(map(rank, s.log)),
        )
        for s in states
    )  # fmt: skip


def same_as_in_real_numbers(system: System, depth: int = 6) -> None:
    """Each function gives the same for a state in real numbers, reached within bounds that cut nothing, and for the
    state of its class; and the classes are the same.

    Raises:
        ModelError: a function was refused.
    """
    ranked = abstracted(system, GROUPS)
    outcome = breadth_first.explore(ranked, options=SearchOptions(keep_going=True))
    roomy = attrs.evolve(system, domain=domain_of(State, Sizes(ROOM, ROOM)))
    states = real_states(roomy, depth)
    asked = not_violated(system, outcome)
    for state in states:
        in_ranks = ranked.class_of(state)
        for each in asked_in(asked, in_ranks, roomy.domain):
            assert bool(judge(each, state, roomy.domain)) == bool(judge(each, in_ranks, roomy.domain)), state
        for action in system.actions:
            ours, theirs = (successor(action, of, roomy.domain) for of in (state, in_ranks))
            if not isinstance(ours, State) or not isinstance(theirs, State):
                assert ours == theirs, (state, ours, theirs)
                continue
            assert in_order(state, ours) == in_order(in_ranks, theirs)
            for each in asked.step_properties:
                said = [
                    bool(judge(each, Transition(*of), roomy.transitions)) for of in ((state, ours), (in_ranks, theirs))
                ]
                assert said[0] == said[1]
    if outcome.any_number_of == GROUPS:
        assert {in_order(state) for state in states} <= {in_order(state) for state in classes_of(ranked)}
    for violation in outcome.violations:
        if violation.back_to is None and violation.trace_length <= 3:
            falsified = (each for each in system.invariants if each.of.name == violation.property)
            for each in falsified:
                assert not all(judge(each, state, roomy.domain) for state in real_states(roomy, violation.trace_length))


def not_violated(system: System, outcome: Outcome) -> System:
    """Without the invariants and step properties that are violated: they are not asked any more from then on."""
    violated = {each.property for each in outcome.violations}
    return attrs.evolve(
        system,
        invariants=tuple(each for each in system.invariants if each.of.name not in violated),
        step_properties=tuple(each for each in system.step_properties if each.of.name not in violated),
    )


def asked_in(system: System, state: State, domain: Any) -> Iterator[Any]:
    """The properties that a search asks in a state: a premise only where what it leads to is false."""
    yield from (*system.invariants, *system.prospects, *system.liveness)
    yield from (each.premise for each in system.liveness if each.premise is not None and not judge(each, state, domain))


def classes_of(ranked: System) -> Iterator[Any]:
    """The classes that plain Python reaches."""
    known = level = [ranked.class_of(state) for state in ranked.initial]
    while level:
        afters = (successor(each, state, ranked.domain) for state in level for each in ranked.actions)
        kept = (after for after in afters if isinstance(after, State) and not ranked.class_domain.exceeded(after))
        level = [state for state in dict.fromkeys(map(ranked.class_of, kept)) if state not in set(known)]
        known = [*known, *level]
    return iter(known)


NUMBERS: dict[str, Callable[[State], Any]] = {
    "s.a": lambda s: s.a, "s.b": lambda s: s.b, "s.w": lambda s: s.w, "s.last": lambda s: s.last,
    "the vote": lambda s: None if s.vote is None else s.vote.term, "the first": lambda s: s.both[0],
    "the end": lambda s: s.log[-1] if s.log else s.b, "the greatest": lambda s: max(s.a, *s.both),
    "a new one": lambda s: s.a + 1,
}  # fmt: skip
ALLOWED_OTHERS = {name: ["s.w", "0"] if name == "s.w" else ["s.a", "s.b", "-1"] for name in NUMBERS}
OTHERS: dict[str, Callable[[State], Any]] = {
    **{name: NUMBERS[name] for name in ("s.a", "s.b", "s.w")},
    **{str(number): lambda s, number=number: number for number in (-1, 0, 2)},
    "s.n": lambda s: s.n,
}
COMPARED = {"==": operator.eq, "<": operator.lt, ">=": operator.ge, "!=": operator.ne}
ASKED: dict[str, Callable[[Any], Any]] = {
    "% 2": lambda number: number % 2,
    "- 1": lambda number: number - 1,
    "sum": lambda number: sum([number]),
    "truth": lambda number: number,
    "int": lambda number: int(number) > 2,
    "str": lambda number: "2" in str(number),
    "hash": lambda number: number in {0, 2},
    "index": lambda number: (0, 0, 1)[number:],
    "list": lambda number: number in [2, 3],
}


@st.composite
def questions(draw: Any) -> Callable[[State], bool]:
    """A question that compares two numbers, or asks something of one; most often one that is allowed."""
    number_of, allowed = draw(st.sampled_from(sorted(NUMBERS))), draw(st.integers(0, 5)) > 0
    of, asked = NUMBERS[number_of], "" if allowed else draw(st.sampled_from(["", *sorted(ASKED)]))
    compare = COMPARED[draw(st.sampled_from(sorted(COMPARED)))]
    other = OTHERS[draw(st.sampled_from(ALLOWED_OTHERS[number_of] if allowed else sorted(OTHERS)))]
    guarded = draw(st.integers(0, 2))

    def question(s: State) -> bool:
        number = of(s)
        if number is None or s.n < guarded:
            return False
        return bool(ASKED[asked](number)) if asked else compare(number, other(s))

    return question


EFFECTS: dict[str, Callable[[State], State]] = {
    "up": up.function, "behind": lambda s: evolve(s, b=s.a), "forgets": lambda s: evolve(s, b=NONE),
    "writes": write.function, "turns": lambda s: evolve(s, n=(s.n + 1) % 3), "hits": lambda s: evolve(s, hit=not s.hit),
    "keeps": lambda s: evolve(s, last=s.b), "votes": lambda s: evolve(s, vote=Vote(s.a, s.a == s.b)),
    "appends": lambda s: evolve(s, log=(s.both[0],)), "swaps": lambda s: evolve(s, both=(s.b, s.a)),
    "sets": lambda s: evolve(s, b=1), "crosses": lambda s: evolve(s, b=s.w), "sinks": lambda s: evolve(s, w=s.w - 1),
    "new for the other": lambda s: evolve(s, b=s.b + 1),
}  # fmt: skip
"""The last four are forbidden, the last one in some states only."""


@st.composite
def systems(draw: Any) -> System:
    """Random steps and properties, with forbidden questions among them."""

    def asking(name: str, of_step: bool = False) -> Callable[..., Any]:
        question = draw(questions())

        def asks(*of: State) -> bool:
            return question(of[-1])

        def asks_one(s: State) -> bool:
            return asks(s)

        def asks_both(before: State, after: State) -> bool:
            return asks(before, after)

        found = asks_both if of_step else asks_one
        found.__name__ = name
        return found

    def taken(number: int) -> Action:
        when = draw(st.none() | questions())
        then = EFFECTS[draw(st.sampled_from(list(EFFECTS)[: None if draw(st.integers(0, 5)) == 0 else -4]))]

        def takes(s: State) -> State | None:
            return then(s) if when is None or when(s) else None

        takes.__name__ = f"step{number}"
        return step(takes)

    turns = step(EFFECTS["turns"])
    turns.function.__name__ = "turns"
    actions = [up, turns, *(taken(number) for number in range(draw(st.integers(1, 3))))]
    kind = draw(st.sampled_from(["invariant", "step property", "prospect", "promise", "premise"]))
    match kind:
        case "invariant":
            properties: list[Any] = [Invariant(asking("rule"), {})]
        case "step property":
            properties = [StepProperty(asking("rule", True), {})]
        case "prospect":
            properties = [Prospect(asking("rule"), {}, along=tuple(actions[2:]))]
        case "promise":
            properties = [Liveness(asking("rule"), {}, form=ALWAYS_EVENTUALLY, fair=(Per(actions[-1], ()),))]
        case _:
            premise = asking("asked")
            properties = [Liveness(asking("rule"), {}, form=LEADS_TO, fair=(Per(up, ()),), premise=premise)]
    return system_of(actions, properties, Sizes(7, 3))


thorough_or_quick = settings(
    max_examples=EXAMPLES or 40, derandomize=not EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.slow
@thorough_or_quick
@given(system=systems())
def test_each_function_is_refused_or_the_same_in_real_numbers(system: System) -> None:
    try:
        same_as_in_real_numbers(system, depth=5)
    except ModelError as error:
        assert "looks at more than the order" in str(error)
        event("refused")
    else:
        event("not refused")


@thorough_or_quick
@given(system=systems())
def test_both_engines_refuse_the_same(system: System) -> None:
    ranked = abstracted(system, GROUPS)
    found = []
    for explore in (plain_python.explore, breadth_first.explore):
        try:
            outcome = explore(ranked, options=SearchOptions(keep_going=True))
        except ModelError as error:
            assert "looks at more than the order" in str(error)
            found.append("refused")
        else:
            found.append((outcome.verdict, outcome.levels, outcome.generated, outcome.any_number_of))
    theirs, ours = found
    if ours == "refused" and theirs[0] is Verdict.VIOLATED:
        return  # plain Python asks no more of a property that is violated
    assert theirs == ours
    event("refused" if ours == "refused" else str(ours[0]))


@thorough_or_quick
@given(system=systems(), apart=st.lists(st.integers(1, 9), min_size=9, max_size=9))
def test_a_renaming_of_a_state_changes_nothing(system: System, apart: list[int]) -> None:
    """The proof says so of all renamings; these are some."""
    ranked = abstracted(system, GROUPS)
    try:
        asked = not_violated(system, breadth_first.explore(ranked, options=SearchOptions(keep_going=True)))
    except ModelError:
        return
    places = list(itertools.accumulate(apart))

    def image(state: Any, domain: Any) -> Any:
        def renamed(group: Any, number: int) -> int:
            return number if number < group.first else group.first + places[number - group.first]

        return ranked.ranks.mapped(domain, state, renamed)

    domain = ranked.domain
    for state in itertools.islice(classes_of(ranked), 150):
        other = image(state, ranked.class_domain)
        for each in asked_in(asked, state, domain):
            assert bool(judge(each, state, domain)) == bool(judge(each, other, domain))
        for action in system.actions:
            after, then = (successor(action, of, domain) for of in (state, other))
            if isinstance(after, State) and isinstance(then, State):
                assert in_order(state, after) == in_order(other, then)
            else:
                assert after == then or isinstance(after, Cut)


@thorough_or_quick
@given(system=systems())
def test_properties_that_hold_for_any_number_hold_within_larger_bounds(system: System) -> None:
    ranked = abstracted(attrs.evolve(system, liveness=(), prospects=()), GROUPS)
    try:
        outcome = breadth_first.explore(ranked)
    except ModelError:
        return
    if outcome.any_number_of != GROUPS or outcome.verdict is not Verdict.HOLDS:
        return
    event("held")
    for most in (2, 4, 7):
        wider = attrs.evolve(ranked, ranks=None, domain=domain_of(State, Sizes(most, min(most, 3))))
        assert plain_python.explore(wider).verdict is Verdict.HOLDS
