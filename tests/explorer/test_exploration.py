"""Toy systems whose reachable states can be counted by hand. Both engines must find exactly these."""

from __future__ import annotations

import gc
import re
import signal
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from highwater.explorer.blame import ModelError
from highwater.explorer.memory import process_memory
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.levels import breadth_first, progress
from highwater.explorer.search.plain import plain_python
from highwater.explorer.search.states import scratch, store
from highwater.explorer.system import System
from highwater.explorer.trace import changes
from highwater.explorer.verdict import DEADLOCK, Budget, Outcome, Progress, SearchOptions, Verdict, Violation
from highwater.model.language.declarations import Action, Invariant, Witness, action, invariant
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, OneOf, SequenceOf, SetOf
from highwater.model.language.records import bound, domain_of, evolve, replaced, within

Explore = Callable[..., Outcome]
SystemOf = Callable[..., System]


def actions_of(violation: Violation) -> list[str]:
    """The actions of a trace."""
    return [str(step.action) for step in violation.trace[1:]]


def properties(outcome: Outcome) -> list[str]:
    return [violation.property for violation in outcome.violations]


# A clock


@attrs.frozen
class Clock:
    hour: int = within(Integers(1, 12))


@action(actor="time")
def tick(clock: Clock) -> Clock:
    return Clock(clock.hour % 12 + 1)


@invariant()
def it_is_never_six(clock: Clock) -> bool:
    return clock.hour != 6


@invariant(hour=Integers(1, 12, label="h"))
def the_hour_is_not(clock: Clock, hour: int) -> bool | Witness:
    return clock.hour != hour or hour not in (3, 5) or Witness("it is {hour} o'clock", hour=clock.hour)


def test_a_clock_shows_twelve_hours_and_goes_on_for_ever(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([Clock(12)], [tick]), check_deadlock=True)
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.reason == ""
    assert outcome.violations == ()
    assert outcome.levels == (1,) * 12
    assert (outcome.distinct_states, outcome.depth) == (12, 11)
    assert outcome.generated == 12
    assert outcome.enabled == {"tick": 12}
    assert outcome.bounds_cut == {}
    assert (outcome.deadlocks, outcome.stopped_at_bound) == (0, 0)


@pytest.mark.parametrize(
    ("initial", "levels"),
    [((1, 2, 3), (3, *(1,) * 9)), ((1, 7), (2,) * 6), ((4, 4), (1,) * 12), ((12, 6, 12), (2,) * 6)],
)
def test_every_initial_state_counts_once_and_lies_at_depth_0(
    explore: Explore, system_of: SystemOf, initial: tuple[int, ...], levels: tuple[int, ...]
) -> None:
    outcome = explore(system_of(map(Clock, initial), [tick]))
    assert outcome.levels == levels
    assert outcome.generated == 12


def test_a_trace_begins_in_the_nearest_initial_state(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([Clock(8), Clock(1), Clock(4)], [tick], [it_is_never_six]))
    assert [step.state.hour for step in outcome.violations[0].trace] == [4, 5, 6]
    assert outcome.violations[0].trace[0].action is None


def test_an_initial_state_may_violate_a_property(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([Clock(6)], [tick], [it_is_never_six]))
    assert outcome.verdict is Verdict.VIOLATED
    assert outcome.violations[0].trace_length == 0
    assert outcome.levels == (1,)
    assert outcome.generated == 0


@pytest.mark.parametrize("depth", range(14))
def test_max_depth_is_how_many_actions_deep_the_search_goes(explore: Explore, system_of: SystemOf, depth: int) -> None:
    outcome = explore(system_of([Clock(12)], [tick]), Budget(max_depth=depth))
    assert outcome.levels == (1,) * min(depth + 1, 12)
    assert outcome.generated == min(depth, 12)
    if depth < 12:
        assert (outcome.verdict, outcome.reason) == (Verdict.HOLDS_TO_DEPTH, f"depth {depth}")
    else:
        assert (outcome.verdict, outcome.reason) == (Verdict.HOLDS, "")


@pytest.mark.parametrize("depth", [5, 6, 7])
def test_a_violation_at_max_depth_is_found_and_one_behind_it_is_not(
    explore: Explore, system_of: SystemOf, depth: int
) -> None:
    outcome = explore(system_of([Clock(12)], [tick], [it_is_never_six]), Budget(max_depth=depth))
    assert outcome.verdict is (Verdict.VIOLATED if depth >= 6 else Verdict.HOLDS_TO_DEPTH)
    assert outcome.depth == min(depth, 6)


@pytest.mark.parametrize("most", range(1, 14))
def test_max_states_is_exact(explore: Explore, system_of: SystemOf, most: int) -> None:
    outcome = explore(system_of([Clock(12)], [tick]), Budget(max_states=most))
    assert outcome.levels == (1,) * min(most, 12)
    if most < 12:
        assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "max-states")
    else:
        assert (outcome.verdict, outcome.reason) == (Verdict.HOLDS, "")


def test_states_beyond_the_budget_are_still_checked(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([Clock(12)], [tick], [it_is_never_six]), Budget(max_states=7))
    assert (outcome.verdict, outcome.reason) == (Verdict.VIOLATED, "")
    assert outcome.violations[0].trace_length == 6


@pytest.mark.parametrize("most", [0, 1, 2, 3, 4, 5])
def test_a_budget_may_be_smaller_than_the_initial_states(explore: Explore, system_of: SystemOf, most: int) -> None:
    """They are all kept, because they are given; nothing else is."""
    outcome = explore(system_of(map(Clock, (1, 3, 5, 7, 9)), [tick]), Budget(max_states=most))
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "max-states")
    assert outcome.levels == (5,)


def test_the_first_violation_of_a_property_names_its_arguments_and_its_witness(
    explore: Explore, system_of: SystemOf
) -> None:
    (violation,) = explore(system_of([Clock(12)], [tick], [the_hour_is_not])).violations
    assert violation.property == "the_hour_is_not"
    assert violation.arguments == {"hour": "h3"}
    assert violation.witness == "it is 3 o'clock"
    assert violation.facts == {"hour": 3}
    assert violation.trace_length == 3


def test_a_violation_without_a_witness_has_no_facts(explore: Explore, system_of: SystemOf) -> None:
    (violation,) = explore(system_of([Clock(12)], [tick], [it_is_never_six])).violations
    assert (violation.arguments, violation.witness, violation.facts) == ({}, "", {})


def test_keep_going_searches_beyond_the_first_level_with_a_violation(explore: Explore, system_of: SystemOf) -> None:
    system = system_of([Clock(12)], [tick], [it_is_never_six, the_hour_is_not])
    stopped, kept_going = explore(system), explore(system, options=SearchOptions(keep_going=True))
    assert (properties(stopped), stopped.levels, stopped.generated) == (["the_hour_is_not"], (1,) * 4, 3)
    assert properties(kept_going) == ["the_hour_is_not", "it_is_never_six"]
    assert [violation.trace_length for violation in kept_going.violations] == [3, 6]
    assert kept_going.violations[0] == stopped.violations[0]


def test_violations_at_one_depth_come_in_the_order_of_their_traces_from_the_first_initial_state_on(
    explore: Explore, system_of: SystemOf
) -> None:
    @invariant()
    def it_is_never_nine(clock: Clock) -> bool:
        return clock.hour != 9

    for depth in range(3):
        outcome = explore(system_of([Clock(9 - depth), Clock(6 - depth)], [tick], [it_is_never_six, it_is_never_nine]))
        assert properties(outcome) == ["it_is_never_nine", "it_is_never_six"]
        assert [violation.trace_length for violation in outcome.violations] == [depth, depth]


def test_a_system_without_actions_is_its_initial_states(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([Clock(1), Clock(6)], [], [it_is_never_six]), options=SearchOptions(keep_going=True))
    assert outcome.levels == (2,)
    assert (outcome.generated, outcome.enabled, outcome.deadlocks) == (0, {}, 2)
    assert properties(outcome) == ["it_is_never_six"]


# A graph

GRAPH = {"a": "bc", "b": "ad", "c": "cd", "d": "e", "e": "", "f": "a", "g": "g"}


@attrs.frozen
class Walker:
    node: str = within(OneOf(tuple(GRAPH)))


@action(actor="walker", to=OneOf(tuple(GRAPH)))
def go(walker: Walker, to: str) -> Walker | None:
    return Walker(to) if to in GRAPH[walker.node] else None


@action(actor="walker")
def fly(walker: Walker) -> Walker | None:
    return Walker("g") if walker.node == "f" else None


@invariant()
def not_in_d(walker: Walker) -> bool:
    return walker.node != "d"


def test_a_graph_is_searched_breadth_first(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([Walker("a")], [go, fly]))
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.levels == (1, 2, 1, 1)
    assert outcome.generated == 2 + 2 + 2 + 1
    assert outcome.deadlocks == 1
    assert outcome.stopped_at_bound == 0


def test_an_action_that_is_never_enabled_is_reported_with_0(explore: Explore, system_of: SystemOf) -> None:
    assert explore(system_of([Walker("a")], [go, fly])).enabled == {"go": 7, "fly": 0}
    assert explore(system_of([Walker("f")], [go, fly])).enabled == {"go": 9, "fly": 1}


def test_the_first_of_several_shortest_traces_is_reported(explore: Explore, system_of: SystemOf) -> None:
    (violation,) = explore(system_of([Walker("a")], [go, fly], [not_in_d])).violations
    assert actions_of(violation) == ["go(to b)", "go(to d)"]
    assert [step.state.node for step in violation.trace] == ["a", "b", "d"]
    assert violation.trace[1].action.actor == "walker"


def test_a_dead_end_is_a_violation_only_if_that_is_asked(explore: Explore, system_of: SystemOf) -> None:
    system = system_of([Walker("a")], [go, fly])
    assert explore(system).verdict is Verdict.HOLDS
    outcome = explore(system, check_deadlock=True)
    assert (outcome.verdict, outcome.deadlocks) == (Verdict.VIOLATED, 1)
    (violation,) = outcome.violations
    assert violation.property == DEADLOCK == "no_deadlock"
    assert actions_of(violation) == ["go(to b)", "go(to d)", "go(to e)"]
    assert violation.arguments == violation.facts == {}
    assert violation.witness


def test_a_dead_end_at_max_depth_is_not_looked_at(explore: Explore, system_of: SystemOf) -> None:
    system = system_of([Walker("a")], [go])
    outcomes = [explore(system, Budget(max_depth=depth), check_deadlock=True) for depth in (3, 4)]
    assert [outcome.verdict for outcome in outcomes] == [Verdict.HOLDS_TO_DEPTH, Verdict.VIOLATED]
    assert [outcome.deadlocks for outcome in outcomes] == [0, 1]


def test_a_dead_end_is_reported_even_if_the_states_run_out_in_its_level(explore: Explore, system_of: SystemOf) -> None:
    system = system_of([Walker("e"), Walker("a")], [go])
    outcome = explore(system, Budget(max_states=2), check_deadlock=True)
    assert (outcome.verdict, outcome.reason, outcome.deadlocks) == (Verdict.VIOLATED, "max-states", 1)
    assert [(found.property, found.trace_length) for found in outcome.violations] == [(DEADLOCK, 0)]


def test_a_self_loop_is_a_successor(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([Walker("g")], [go]), check_deadlock=True)
    assert (outcome.levels, outcome.generated, outcome.deadlocks) == ((1,), 1, 0)


# Counters


@attrs.frozen
class Most:
    value: int = bound(0, 10**6, "the largest value")
    length: int = bound(0, 10**6, "the longest history")


@attrs.frozen
class Counting:
    value: int = within(lambda bounds: Integers(0, bounds.value))
    history: tuple[bool, ...] = within(lambda bounds: SequenceOf(BOOLEAN, bounds.length))
    broken: bool = within(BOOLEAN)


ZERO = Counting(0, (), False)


@action(actor="counter")
def count(state: Counting) -> Counting:
    return evolve(state, value=state.value + 1)


@action(actor="counter")
def count_and_note(state: Counting) -> Counting:
    return evolve(state, value=state.value + 1, history=state.history + (True,))


@action(actor="counter")
def break_at_two(state: Counting) -> Counting | None:
    return evolve(state, broken=True) if state.value == 2 and not state.broken else None


@action(actor="counter")
def count_while_sound(state: Counting) -> Counting | None:
    return None if state.broken else evolve(state, value=state.value + 1)


def test_a_limit_cuts_the_step_and_stops_the_counter(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([ZERO], [count], bounds=Most(4, 0)), check_deadlock=True)
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.levels == (1,) * 5
    assert (outcome.generated, outcome.enabled) == (4, {"count": 4})
    assert outcome.bounds_cut == {"value": 1}
    assert (outcome.deadlocks, outcome.stopped_at_bound) == (0, 1)


@pytest.mark.parametrize(
    ("bounds", "cut"),
    [
        (Most(2, 5), {"value": 1}),
        (Most(5, 2), {"length": 1}),
        (Most(2, 2), {"length": 1, "value": 1}),
        (Most(0, 0), {"length": 1, "value": 1}),
    ],
)
def test_a_step_that_two_bounds_cut_counts_for_both(
    explore: Explore, system_of: SystemOf, bounds: Most, cut: dict[str, int]
) -> None:
    outcome = explore(system_of([ZERO], [count_and_note], bounds=bounds))
    assert outcome.levels == (1,) * (min(bounds.value, bounds.length) + 1)
    assert outcome.bounds_cut == cut
    assert outcome.stopped_at_bound == 1


def test_a_state_stopped_by_a_bound_is_not_at_rest(explore: Explore, system_of: SystemOf) -> None:
    """Values 0..3 sound, and 2 broken: that one rests, and 3 is stopped by the bound."""
    outcome = explore(system_of([ZERO], [count_while_sound, break_at_two], bounds=Most(3, 0)))
    assert outcome.levels == (1, 1, 1, 2)
    assert (outcome.deadlocks, outcome.stopped_at_bound) == (1, 1)
    assert outcome.bounds_cut == {"value": 1}
    assert outcome.enabled == {"count_while_sound": 3, "break_at_two": 1}


def test_a_cut_step_beside_a_possible_one_stops_nothing(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([evolve(ZERO, value=2)], [count, break_at_two], bounds=Most(2, 0)))
    assert outcome.levels == (1, 1)
    assert outcome.bounds_cut == {"value": 2}
    assert (outcome.deadlocks, outcome.stopped_at_bound) == (0, 1)


def test_a_dead_end_is_reported_after_the_other_violations_at_its_depth(explore: Explore, system_of: SystemOf) -> None:
    """Whichever state was found first: that a state is a dead end is known once it was expanded."""

    @invariant()
    def value_below_three(state: Counting) -> bool:
        return state.value < 3

    system = system_of([ZERO], [break_at_two, count_while_sound], [value_below_three], bounds=Most(5, 0))
    outcome = explore(system, options=SearchOptions(keep_going=True), check_deadlock=True)
    assert [violation.trace_length for violation in outcome.violations] == [3, 3]
    assert properties(outcome) == ["value_below_three", "no_deadlock"]


# Two processes and a lock


@attrs.frozen
class Processes:
    at: tuple[str, ...] = within(ArrayOf(OneOf(("idle", "waiting", "critical")), 2, label="p"))
    locked: bool = within(BOOLEAN)


PROCESS = Integers(0, 1, label="p")
IDLE = Processes(("idle", "idle"), False)


@action(actor="process", process=PROCESS)
def see_the_lock_free(state: Processes, process: int) -> Processes | None:
    if state.at[process] != "idle" or state.locked:
        return None
    return evolve(state, at=replaced(state.at, process, "waiting"))


@action(actor="process", process=PROCESS)
def take_the_lock(state: Processes, process: int) -> Processes | None:
    if state.at[process] != "waiting":
        return None
    return evolve(state, at=replaced(state.at, process, "critical"), locked=True)


@action(actor="process", process=PROCESS)
def leave(state: Processes, process: int) -> Processes | None:
    if state.at[process] != "critical":
        return None
    return evolve(state, at=replaced(state.at, process, "idle"), locked=False)


@action(actor="process", process=PROCESS)
def see_and_take_the_lock(state: Processes, process: int) -> Processes | None:
    return (
        None
        if see_the_lock_free(state, process) is None
        else evolve(state, at=replaced(state.at, process, "critical"), locked=True)
    )


@invariant()
def mutual_exclusion(state: Processes) -> bool | Witness:
    inside = [process for process in (0, 1) if state.at[process] == "critical"]
    return len(inside) < 2 or Witness("p{inside[0]} and p{inside[1]} are both inside", inside=inside)


BROKEN_LOCK = [see_the_lock_free, take_the_lock, leave]


def test_a_lock_that_is_seen_and_taken_in_two_steps_lets_both_in(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([IDLE], BROKEN_LOCK, [mutual_exclusion]))
    assert outcome.verdict is Verdict.VIOLATED
    assert outcome.levels == (1, 2, 3, 2, 1)
    assert outcome.generated == 14
    (violation,) = outcome.violations
    assert actions_of(violation) == [
        "see_the_lock_free(process p0)",
        "see_the_lock_free(process p1)",
        "take_the_lock(process p0)",
        "take_the_lock(process p1)",
    ]
    assert violation.trace[-1].state == Processes(("critical", "critical"), True)
    assert [step.action.actor for step in violation.trace[1:]] == ["p0", "p1", "p0", "p1"]
    assert violation.witness == "p0 and p1 are both inside"
    assert violation.facts == {"inside": [0, 1]}


def test_keep_going_explores_states_after_a_violation(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([IDLE], BROKEN_LOCK, [mutual_exclusion]), options=SearchOptions(keep_going=True))
    assert outcome.verdict is Verdict.VIOLATED
    assert outcome.levels == (1, 2, 3, 2, 1, 2, 2)
    assert outcome.generated == 24
    assert outcome.enabled == {"see_the_lock_free": 6, "take_the_lock": 8, "leave": 10}
    assert len(outcome.violations) == 1


def test_a_lock_that_is_taken_in_one_step_keeps_the_other_out(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([IDLE], [see_and_take_the_lock, leave], [mutual_exclusion]), check_deadlock=True)
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.levels == (1, 2)
    assert outcome.generated == 4


# Sets of bounds


@attrs.frozen
class Dials:
    a: int = bound(0, 9, "a")
    b: int = bound(0, 9, "b")
    c: int = bound(0, 9, "c")
    d: int = bound(0, 9, "d")
    e: int = bound(0, 9, "e")
    f: int = bound(0, 9, "f")
    g: int = bound(0, 9, "g")
    h: int = bound(0, 9, "h")


Turned = attrs.make_class(
    "Turned",
    {name: within(lambda bounds, name=name: Integers(0, getattr(bounds, name))) for name in "abcdefgh"},
    frozen=True,
    slots=True,
)


@pytest.mark.parametrize("combinations", [63, 64, 65, 128, 129])
def test_every_set_of_bounds_that_cuts_a_step_is_counted(
    explore: Explore, system_of: SystemOf, combinations: int
) -> None:
    """However many sets there are, and also if a first look at one state finds them all."""

    @action(actor="turner", dials=Integers(1, combinations))
    def turn(state: Any, dials: int) -> Any:
        return Turned(*(int(dials >> i & 1) for i in range(8)))

    outcome = explore(system_of([Turned(*[0] * 8)], [turn], bounds=Dials(*[0] * 8)))
    expected = Counter(
        name for dials in range(1, combinations + 1) for i, name in enumerate("abcdefgh") if dials >> i & 1
    )
    assert outcome.bounds_cut == dict(expected)
    assert (outcome.levels, outcome.stopped_at_bound) == ((1,), 1)


# What is no system


def test_a_system_needs_an_initial_state() -> None:
    with pytest.raises(ModelError, match="at least one initial state"):
        System(domain_of(Clock, None), (), tuple(tick.instances(None)))


@pytest.mark.parametrize("initial", [[Clock(0)], [Clock(13)], [Clock(1), Clock(True)], [Clock(1), Walker("a")]])
def test_an_initial_state_outside_its_domain_is_refused(system_of: SystemOf, initial: list[Any]) -> None:
    with pytest.raises(ModelError, match="an initial state is outside its domain"):
        system_of(initial, [tick])


def test_an_initial_state_outside_the_bounds_is_refused(system_of: SystemOf) -> None:
    with pytest.raises(ModelError, match=r"an initial state is outside the bounds: length, value \(\w+\.\w+ is "):
        system_of([Counting(3, (True, True), False)], [count], bounds=Most(2, 1))


@action(actor="time")
def overwind(clock: Clock) -> Clock:
    return Clock(clock.hour + 1)


@action(actor="time")
def chime(clock: Clock) -> Any:
    return "ding" if clock.hour == 3 else tick(clock)


@action(actor="time")
def explode(clock: Clock) -> Clock:
    return tick(clock) if 12 // (4 - clock.hour) else clock


@invariant()
def the_sky_is_blue(clock: Clock) -> Any:
    return None if clock.hour == 4 else True


@invariant()
def hours_can_be_divided(clock: Clock) -> bool:
    return 12 // (4 - clock.hour) != 0


@pytest.mark.parametrize(
    ("actions", "invariants", "messages"),
    [
        ([overwind], [], ["overwind()", "outside its domain", "Clock.hour: 13 is above 12, and no bound limits it"]),
        ([chime], [], ["chime()", "outside its domain", "'ding' is not a Clock"]),
        ([explode], [], ["explode() raised ZeroDivisionError", "in the state Clock(hour 4)"]),
        (
            [tick],
            [the_sky_is_blue],
            ["the_sky_is_blue()", "returned None: a property returns True, False or a Witness"],
        ),
        (
            [tick],
            [hours_can_be_divided],
            ["hours_can_be_divided() raised ZeroDivisionError", "in the state Clock(hour 4)"],
        ),
    ],
)
def test_a_wrong_function_is_an_error_that_names_it(
    explore: Explore, system_of: SystemOf, actions: list[Action], invariants: list[Invariant], messages: list[str]
) -> None:
    with pytest.raises(ModelError) as error:
        explore(system_of([Clock(3)], actions, invariants))
    for message in [*messages, __file__]:
        assert message in str(error.value)


@attrs.frozen
class Visits:
    visited: frozenset[int] = within(SetOf(Integers(0, 2)))


@action(actor="visitor", place=Integers(0, 2))
def visit(state: Visits, place: int) -> Visits:
    return Visits({*state.visited, place})  # a set, where the record says frozenset


def test_a_set_in_place_of_a_frozenset_means_the_same_to_both_engines(explore: Explore, system_of: SystemOf) -> None:
    """It is an error of the model, or it is fine; in no case does it come out as a TypeError from within."""
    try:
        outcome = explore(system_of([Visits(frozenset())], [visit]))
    except ModelError as error:
        assert "visit" in str(error)
    else:
        assert outcome.levels == (1, 3, 3, 1)


# Progress, interrupts and memory


@attrs.frozen
class Odometer:
    wheels: tuple[int, ...] = within(ArrayOf(Integers(0, 63), 3))


@action(actor="driver", wheel=Integers(0, 2))
def turn_wheel(state: Odometer, wheel: int) -> Odometer:
    return Odometer(replaced(state.wheels, wheel, (state.wheels[wheel] + 1) % 64))


@pytest.fixture
def odometer(system_of: SystemOf) -> System:
    return system_of([Odometer((0, 0, 0))], [turn_wheel])


def simplices() -> Iterator[int]:
    """How many states of three wheels lie at each depth: the ways to write it as a sum of three numbers below 64."""
    sums = Counter(a + b for a in range(64) for b in range(64))
    for depth in range(3 * 63 + 1):
        yield sum(sums[depth - c] for c in range(64))


def test_a_quarter_of_a_million_states_are_counted_exactly(odometer: System) -> None:
    outcome = breadth_first.explore(odometer, check_deadlock=True)
    assert outcome.verdict is Verdict.HOLDS
    assert outcome.levels == tuple(simplices())
    assert outcome.generated == 3 * 64**3
    assert outcome.memory > 64**3  # bytes, at the very least


@pytest.mark.parametrize("most", [1, 2, 1000, 8191, 8192, 8193, 100_000])
def test_max_states_is_exact_in_wide_levels(odometer: System, most: int) -> None:
    outcome = breadth_first.explore(odometer, Budget(max_states=most))
    assert outcome.distinct_states == most
    assert most - 1 <= outcome.generated <= 3 * most  # no step of the batch that finds no room is counted twice
    assert sum(outcome.enabled.values()) == outcome.generated
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "max-states")


def test_progress_is_reported_after_each_level(explore: Explore, odometer: System) -> None:
    told_of: list[Progress] = []
    outcome = explore(odometer, Budget(max_depth=20), SearchOptions(on_progress=told_of.append))
    ends = [progress for progress in told_of if progress.level_ended]
    assert [progress.depth for progress in ends] == list(range(21))
    assert tuple(progress.frontier for progress in ends) == outcome.levels
    assert [progress.stored_states for progress in ends] == [sum(outcome.levels[: depth + 1]) for depth in range(21)]
    assert ends[-1].generated == outcome.generated
    assert [progress.seconds for progress in told_of] == sorted(progress.seconds for progress in told_of)


def test_progress_is_reported_within_wide_levels_without_changing_what_is_found(
    explore: Explore, odometer: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "ROWS_BETWEEN_REPORTS", 300)
    monkeypatch.setattr(plain_python, "STATES_BETWEEN_REPORTS", 300)
    told_of: list[Progress] = []
    outcome = explore(odometer, Budget(max_depth=40), SearchOptions(on_progress=told_of.append))
    assert outcome.levels == tuple(simplices())[:41]
    assert any(not progress.level_ended for progress in told_of)
    states = [progress.stored_states for progress in told_of]
    assert states == sorted(states)


@pytest.mark.parametrize("calls", [1, 2, 5, 30])
def test_an_interrupted_search_reports_its_results_so_far(explore: Explore, odometer: System, calls: int) -> None:
    told_of: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        told_of.append(progress)
        if len(told_of) == calls:
            raise KeyboardInterrupt

    outcome = explore(odometer, options=SearchOptions(on_progress=interrupt))
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "interrupted")
    assert outcome.levels == tuple(simplices())[:calls]
    assert outcome.generated == told_of[-1].generated == 3 * sum(outcome.levels[:-1])
    assert len(told_of) == calls


def test_an_interrupt_within_a_level_keeps_its_part(
    explore: Explore, odometer: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "ROWS_BETWEEN_REPORTS", 300)
    monkeypatch.setattr(plain_python, "STATES_BETWEEN_REPORTS", 300)

    def interrupt(progress: Progress) -> None:
        if not progress.level_ended:
            raise KeyboardInterrupt

    outcome = explore(odometer, options=SearchOptions(on_progress=interrupt))
    levels = tuple(simplices())
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "interrupted")
    assert outcome.levels[:-1] == levels[: outcome.depth]
    assert 0 < outcome.levels[-1] <= levels[outcome.depth]
    assert outcome.distinct_states < 64**3


def test_an_interrupt_in_the_last_report_of_a_budget_that_ran_out_ends_like_any_other(
    explore: Explore, odometer: System
) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.stored_states == 1000:
            raise KeyboardInterrupt

    try:
        outcome = explore(odometer, Budget(max_states=1000), SearchOptions(on_progress=interrupt))
    except KeyboardInterrupt:
        pytest.fail("the interrupt came through")
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.distinct_states == 1000


def test_a_violation_outlives_an_interrupt(explore: Explore, system_of: SystemOf) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.depth == 9:
            raise KeyboardInterrupt

    outcome = explore(
        system_of([Clock(12)], [tick], [it_is_never_six]), options=SearchOptions(keep_going=True, on_progress=interrupt)
    )
    assert (outcome.verdict, outcome.reason) == (Verdict.VIOLATED, "interrupted")
    assert outcome.levels == (1,) * 10


def test_a_memory_budget_below_what_the_process_takes_is_refused(odometer: System) -> None:
    with pytest.raises(ModelError, match="a memory budget of 1,000 bytes is too small"):
        breadth_first.explore(odometer, Budget(memory=1000))


@pytest.mark.parametrize("spare", [1_500_000, 2_500_000])
def test_a_memory_budget_that_runs_out_leaves_the_verdict_open(odometer: System, spare: int) -> None:
    breadth_first.explore(odometer, Budget(max_states=1000))  # compiles the kernel, which takes memory of its own
    outcome = breadth_first.explore(odometer, Budget(memory=process_memory() + spare))
    assert (outcome.verdict, outcome.reason) == (Verdict.UNKNOWN, "memory")
    levels = tuple(simplices())
    assert outcome.levels[:-1] == levels[: outcome.depth]
    assert outcome.levels[-1] <= levels[outcome.depth]
    assert 1000 < outcome.distinct_states < 64**3
    assert outcome.memory <= spare


@pytest.mark.parametrize("workers", [1, 2])
def test_an_engine_gives_its_memory_back_without_the_collector(odometer: System, workers: int) -> None:
    """Each reserves most of the machine's memory, and a process that holds on to several cannot start another one."""
    gc.collect()
    gc.disable()
    try:
        engine = Engine(odometer, Budget(), audit=0, workers=workers, symmetry=True)
        rows = weakref.ref(engine.store)
        del engine
        assert rows() is None
    finally:
        gc.enable()


def test_a_search_gives_its_memory_back_without_the_collector(
    odometer: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = []
    real = breadth_first.Engine
    monkeypatch.setattr(
        breadth_first, "Engine", lambda *a, **k: [engine := real(*a, **k), stores.append(weakref.ref(engine.store))][0]
    )
    gc.collect()
    gc.disable()
    try:
        breadth_first.explore(odometer, Budget(max_depth=3))
        assert [store() for store in stores] == [None]
    finally:
        gc.enable()


def test_enough_memory_changes_nothing(odometer: System) -> None:
    outcome = breadth_first.explore(odometer, Budget(memory=process_memory() + 100_000_000))
    assert outcome.levels == tuple(simplices())


# What only makes the packed engine faster


@pytest.mark.parametrize("batch", [1, 2, 3, 255])
@pytest.mark.parametrize("misses", [1, 2, 5])
@pytest.mark.parametrize("table", [1, 64])
def test_the_size_of_batches_and_tables_changes_nothing(
    system_of: SystemOf, monkeypatch: pytest.MonkeyPatch, batch: int, misses: int, table: int
) -> None:
    monkeypatch.setattr(scratch, "BATCH", batch)
    monkeypatch.setattr(scratch, "MOST_MISSES", misses)
    monkeypatch.setattr(store, "FIRST_TABLE", table)
    monkeypatch.setattr(scratch, "RECENT", table)
    system = system_of([IDLE], BROKEN_LOCK, [mutual_exclusion])
    ours, theirs = (
        breadth_first.explore(system, options=SearchOptions(keep_going=True)),
        plain_python.explore(system, options=SearchOptions(keep_going=True)),
    )
    assert (ours.levels, ours.generated, ours.enabled) == (theirs.levels, theirs.generated, theirs.enabled)
    assert ours.violations == theirs.violations


@pytest.mark.parametrize("most", range(1, 14))
def test_dead_ends_are_reported_as_far_as_they_were_counted_when_the_states_run_out(
    system_of: SystemOf, most: int
) -> None:
    """Both engines report the same one. Machine code may count more of the last level: it expands some states at a
    time.
    """

    @action(actor="tree", branch=Integers(0, 2))
    def grow(state: Odometer, branch: int) -> Odometer | None:
        a, b, _ = state.wheels
        return Odometer((a + 1, branch, b)) if a < 2 and b != 1 else None

    system = system_of([Odometer((0, 0, 0))], [grow])
    budget = Budget(max_states=most)
    ours, theirs = (
        breadth_first.explore(system, budget, check_deadlock=True),
        plain_python.explore(system, budget, check_deadlock=True),
    )
    assert (ours.reason, ours.levels) == (theirs.reason, theirs.levels)
    assert ours.deadlocks >= theirs.deadlocks
    for outcome in (ours, theirs):
        assert properties(outcome) == [DEADLOCK] * (outcome.deadlocks > 0)
        assert (outcome.verdict is Verdict.VIOLATED) == (outcome.deadlocks > 0)
    assert ours.violations == theirs.violations or not theirs.deadlocks


@action(actor="clock")
def tick_for_ever(clock: Clock) -> Clock:
    while clock.hour:
        signal.raise_signal(signal.SIGINT)
    return clock


def test_a_loop_that_never_ends_is_named_where_it_is_interrupted(explore: Explore, system_of: SystemOf) -> None:
    outcome = explore(system_of([Clock(1)], [tick_for_ever]))
    assert outcome.reason == "interrupted"
    (warning,) = outcome.warnings
    assert re.fullmatch(rf"interrupted in the model, at {re.escape(__file__)}:\d+ in tick_for_ever: .*", warning)


def test_a_set_of_records_shows_what_came_and_what_left() -> None:
    @attrs.frozen
    class Vote:
        sender: int = within(Integers(0, 2, label="s"))
        granted: bool = within(BOOLEAN)

    domain = SetOf(domain_of(Vote, None))
    before, after = frozenset({Vote(0, True), Vote(1, True)}), frozenset({Vote(1, True), Vote(2, False)})
    (change,) = changes(domain, before, after, "votes")
    assert str(change) == "votes loses Vote(sender s0, granted True) + Vote(sender s2, granted False)"
    assert changes(domain, before, before) == []
