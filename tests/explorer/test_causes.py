"""Dependencies along a trace: the slice, executed alone, must violate the property as the whole trace does."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from highwater.explorer.analysis.causes import Causes, causes, instance_of, part_names
from highwater.explorer.blame import ModelError
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.search.plain.plain_python import explore
from highwater.explorer.system import Cut, System, judge_end, successor
from highwater.explorer.trace import changes, violation_at
from highwater.explorer.verdict import DEADLOCK, Step, Violation
from highwater.model.language.declarations import action, invariant, step_property
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, SequenceOf, SetOf
from highwater.model.language.records import domain_of, evolve, records, replaced, within

WHO = Integers(0, 2, label="p", names="people")
NUMBER = Integers(0, Limit(3, "number"))


@attrs.frozen
class Note:
    """What somebody wrote down."""

    number: int = within(NUMBER)


@attrs.frozen
class Person:
    """Somebody with a number, a pile of numbers, and perhaps a note."""

    number: int = within(NUMBER)
    pile: tuple[int, ...] = within(SequenceOf(NUMBER, Limit(3, "pile")))
    note: Note | None = within(lambda bounds: Maybe(records(Note)(bounds)))


@attrs.frozen
class Room:
    """Three people, and who has spoken."""

    people: tuple[Person, ...] = within(lambda bounds: ArrayOf(records(Person)(bounds), 3, label="p", by="people"))
    spoken: frozenset[int] = within(SetOf(WHO))
    open: bool = within(BOOLEAN)


def with_person(room: Room, who: int, **fields: Any) -> Room:
    return evolve(room, people=replaced(room.people, who, evolve(room.people[who], **fields)))


@action(actor="who", who=WHO)
def count(room: Room, who: int) -> Room | None:
    return with_person(room, who, number=room.people[who].number + 1)


@action(actor="who", who=WHO, other=WHO)
def copy(room: Room, who: int, other: int) -> Room | None:
    return None if who == other else with_person(room, who, number=room.people[other].number)


@action(actor="who", who=WHO)
def push(room: Room, who: int) -> Room | None:
    return with_person(room, who, pile=room.people[who].pile + (room.people[who].number,))


@action(actor="who", who=WHO, other=WHO)
def take(room: Room, who: int, other: int) -> Room | None:
    """The first of another's pile; the rest moves up."""
    pile = room.people[other].pile
    if who == other or not pile:
        return None
    taken = with_person(room, who, number=pile[0])
    return with_person(taken, other, pile=pile[1:])


@action(actor="who", who=WHO)
def write(room: Room, who: int) -> Room | None:
    return with_person(room, who, note=Note(room.people[who].number))


@action(actor="who", who=WHO, other=WHO)
def read(room: Room, who: int, other: int) -> Room | None:
    note = room.people[other].note
    return None if note is None else with_person(room, who, number=note.number)


@action(actor="who", who=WHO, other=WHO)
def hand_on(room: Room, who: int, other: int) -> Room | None:
    """A note is passed on unread."""
    note = room.people[other].note
    return None if note is None or who == other else with_person(room, who, note=note)


@action(actor="who", who=WHO)
def speak(room: Room, who: int) -> Room | None:
    return evolve(room, spoken=room.spoken | {who}) if room.people[who].number == 2 else None


@action(actor="nobody")
def shut(room: Room) -> Room | None:
    return evolve(room, open=not room.open)


ACTIONS = (count, copy, push, take, write, read, hand_on, speak, shut)


@invariant(who=WHO)
def nobody_has_three(room: Room, who: int) -> bool:
    return room.people[who].number < 3 or not room.open


@invariant()
def few_have_spoken(room: Room) -> bool:
    return len(room.spoken) < 2


@step_property(who=WHO)
def numbers_never_fall(before: Room, after: Room, who: int) -> bool:
    return after.people[who].number >= before.people[who].number or before.people[who].number < 2


PROPERTIES = (nobody_has_three, few_have_spoken, numbers_never_fall)


def system_with(*properties: Any) -> System:
    instances = [instance for each in properties for instance in each.instances(None)]
    return System(
        domain_of(Room, None),
        (Room((Person(0, (), None),) * 3, frozenset(), True),),
        tuple(instance for each in ACTIONS for instance in each.instances(None)),
        tuple(instance for instance in instances if instance.of not in (numbers_never_fall,)),
        {},
        tuple(instance for instance in instances if instance.of is numbers_never_fall),
    )


SYSTEM = system_with(*PROPERTIES)


def walk(system: System, choices: list[int]) -> Violation | None:
    """Actions chosen by number among those enabled, until a property is false."""
    trace = [Step(None, system.initial[0])]
    for choice in choices:
        after = [(action, successor(action, trace[-1].state, system.domain)) for action in system.actions]
        enabled = [(action, state) for action, state in after if state is not None and not isinstance(state, Cut)]
        trace.append(Step(*enabled[choice % len(enabled)]))
        for instance in (*system.invariants, *system.step_properties):
            if not judge_end(system, instance, trace[-2].state, trace[-1].state):
                return violation_at(system, instance, trace)
    return None


def causes_of(system: System, violation: Violation) -> Causes:
    trace = violation.trace
    return causes(system, trace, instance_of(system, violation.property, violation.arguments, trace))


def executed(system: System, trace: tuple[Step, ...], numbers: Any) -> list[Any]:
    """The states after some of the steps of a trace, executed alone."""
    states = [trace[0].state]
    for number in numbers:
        after = successor(trace[number].action, states[-1], system.domain)
        assert after is not None, f"step {number} is not enabled without the steps that are left out"
        assert not isinstance(after, Cut)
        states.append(after)
    return states


@given(st.lists(st.integers(0, 10_000), min_size=5, max_size=40))
def test_the_slice_executed_alone_violates_the_property(choices: list[int]) -> None:
    violation = walk(SYSTEM, choices)
    assume(violation is not None)
    instance = instance_of(SYSTEM, violation.property, violation.arguments, violation.trace)
    states = executed(SYSTEM, violation.trace, causes_of(SYSTEM, violation).distance)
    assert not judge_end(SYSTEM, instance, states[-2] if len(states) > 1 else None, states[-1])


@given(st.lists(st.integers(0, 10_000), min_size=5, max_size=40))
def test_every_change_has_the_path_of_a_named_part(choices: list[int]) -> None:
    names = set(part_names(Layout(SYSTEM.domain)).values())
    violation = walk(SYSTEM, choices)
    assume(violation is not None)
    for before, after in zip(violation.trace, violation.trace[1:], strict=False):
        for change in changes(SYSTEM.domain, before.state, after.state):
            assert change.path in names


def run(*steps: tuple[Any, dict[str, str]]) -> list[Step]:
    trace = [Step(None, SYSTEM.initial[0])]
    for of, arguments in steps:
        action = next(a for a in SYSTEM.actions if a.of is of and dict(a.shown) == arguments)
        trace.append(Step(action, successor(action, trace[-1].state, SYSTEM.domain)))
    return trace


P0, P1, P2 = ({"who": f"p{i}"} for i in range(3))


def test_a_step_depends_on_the_last_writer_of_each_part_it_reads() -> None:
    trace = run((count, P0), (count, P1), (count, P0), (copy, {**P1, "other": "p0"}), (count, P1))
    (instance,) = [i for i in SYSTEM.invariants if i.of is nobody_has_three and dict(i.shown) == P1]
    found = causes(SYSTEM, trace, instance)
    assert found.reads[3] == {"p0.number": (1,)}
    assert found.reads[4] == {"p0.number": (3,)}
    assert found.reads[5] == {"p1.number": (4,)}
    assert found.looked_at == {"p1.number": (5,), "open": (0,)}
    assert found.distance == {1: 4, 3: 3, 4: 2, 5: 1}


def test_a_write_that_changes_nothing_is_not_a_cause() -> None:
    trace = run((write, P1), (copy, {**P0, "other": "p1"}), (count, P0), (count, P0), (count, P0))
    (instance,) = [i for i in SYSTEM.invariants if i.of is nobody_has_three and dict(i.shown) == P0]
    assert 2 not in causes(SYSTEM, trace, instance).distance  # it copied a zero onto a zero
    assert 1 not in causes(SYSTEM, trace, instance).distance


def test_causes_pass_through_unread_copies_to_the_writing_step() -> None:
    steps = (
        (write, P0),
        (count, P0),
        (count, P0),
        (write, P0),
        (hand_on, {**P1, "other": "p0"}),
        (read, {**P2, "other": "p1"}),
        (count, P2),
    )
    trace = run(*steps)
    (instance,) = [i for i in SYSTEM.invariants if i.of is nobody_has_three and dict(i.shown) == P2]
    found = causes(SYSTEM, trace, instance)
    # that there is a note was decided by the first, what it says by the second
    assert found.reads[5]["p0.note"] == (1,)
    assert found.reads[5]["p0.note.number"] == (4,)
    assert list(found.distance) == [1, 2, 3, 4, 5, 6, 7]


def test_a_step_property_depends_on_its_step() -> None:
    trace = run((count, P0), (count, P0), (shut, {}), (copy, {**P0, "other": "p1"}))
    (instance,) = [i for i in SYSTEM.step_properties if dict(i.shown) == P0]
    found = causes(SYSTEM, trace, instance)
    assert found.looked_at == {"p0.number": (2, 4)}
    assert found.distance == {1: 2, 2: 1, 4: 1}


@attrs.frozen
class Switches:
    on: tuple[bool, ...] = within(lambda bounds: ArrayOf(BOOLEAN, 3))


@action(actor="somebody", which=Integers(0, 2))
def turn(switches: Switches, which: int) -> Switches | None:
    return None if switches.on[which] else evolve(switches, on=replaced(switches.on, which, True))


def test_a_deadlock_depends_on_the_parts_that_disable_its_actions(system_of: Callable[..., System]) -> None:
    system = system_of([Switches((False, False, False))], [turn])
    (violation,) = explore(system, check_deadlock=True).violations
    assert violation.property == DEADLOCK
    found = causes_of(system, violation)
    assert set(found.distance) == {1, 2, 3}
    assert set(found.looked_at) == {"on[0]", "on[1]", "on[2]"}


@action(actor="somebody", which=Integers(0, 2))
def turn_a_copy(switches: Switches, which: int) -> Switches | None:
    """Views refuse to be pickled, so that only plain Python can explore this."""
    return (
        None
        if switches.on[which]
        else pickle.loads(pickle.dumps(evolve(switches, on=replaced(switches.on, which, True))))
    )


def test_an_action_that_causes_cannot_trace_is_reported(system_of: Callable[..., System]) -> None:
    system = system_of([Switches((False, False, False))], [turn_a_copy])
    (violation,) = explore(system, check_deadlock=True).violations
    with pytest.raises(ModelError, match=r"turn_a_copy.* cannot be traced: TracingError"):
        causes_of(system, violation)
