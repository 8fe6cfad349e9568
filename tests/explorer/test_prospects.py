"""Properties of what stays possible, on a ball that rolls through a little landscape. Every engine must find exactly
these.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from highwater.explorer.blame import ModelError
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget, SearchOptions, Verdict
from highwater.model.language.declarations import Action, Witness, action, invariant
from highwater.model.language.domain import BOOLEAN, ArrayOf, Integers, Limit, Maybe, SetOf
from highwater.model.language.graph_properties import Prospect, prospect
from highwater.model.language.records import domain_of, evolve, replaced, within

# From 0 the ball may climb to 4, or fall from 2 into a hole at 7, where it can only shake; 4 is the goal, from which it
# rolls back to 0.
ROADS = {0: 1, 1: 2, 2: 3, 3: 4, 4: 0}


@attrs.frozen
class Ball:
    place: int = within(lambda bounds: Integers(0, bounds.last))
    shaken: int = within(Integers(0, 1))


@attrs.frozen
class Land:
    last: int = 9


@action(actor="ball")
def roll(ball: Ball) -> Ball | None:
    return evolve(ball, place=ROADS[ball.place]) if ball.place in ROADS else None


@action(actor="wind")
def fall(ball: Ball) -> Ball | None:
    return evolve(ball, place=7) if ball.place == 2 else None


@action(actor="ball")
def shake(ball: Ball) -> Ball | None:
    return evolve(ball, shaken=1 - ball.shaken) if ball.place == 7 else None


@action(actor="crane")
def lift(ball: Ball) -> Ball | None:
    return evolve(ball, place=10) if ball.place == 7 else None


@prospect(along=[roll, shake])
def can_reach_the_goal(ball: Ball) -> bool | Witness:
    return ball.place == 4 or Witness("stuck at {place}", place=ball.place)


@prospect(along=[roll, fall, shake], place=Integers(0, 7))
def can_reach(ball: Ball, place: int) -> bool:
    return ball.place == place or place in (5, 6)


@prospect(along=[])
def is_at_the_goal(ball: Ball) -> bool:
    return ball.place == 4


@prospect(along=[roll, shake, lift])
def can_reach_the_goal_with_a_crane(ball: Ball) -> bool:
    return ball.place == 4


@invariant()
def never_falls(ball: Ball) -> bool:
    return ball.place != 7


START = Ball(0, 0)


def test_a_prospect_that_no_state_lacks_holds(explore: Callable[..., Any], system_of: Callable[..., Any]) -> None:
    outcome = explore(system_of([START], [roll], [can_reach_the_goal], Land()))
    assert (outcome.verdict, outcome.distinct_states) == (Verdict.HOLDS, 5)


def test_the_trace_ends_in_the_first_state_without_hope(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    outcome = explore(system_of([START], [roll, fall, shake], [can_reach_the_goal], Land()))
    (violation,) = outcome.violations
    assert outcome.verdict is Verdict.VIOLATED
    assert [str(step.action) for step in violation.trace[1:]] == ["roll()", "roll()", "fall()"]
    assert violation.witness == "stuck at 7"


def test_only_the_named_actions_give_hope(explore: Callable[..., Any], system_of: Callable[..., Any]) -> None:
    outcome = explore(system_of([START], [roll], [is_at_the_goal], Land()))
    assert outcome.violations[0].trace_length == 0


def test_a_step_that_a_bound_cuts_gives_the_benefit_of_the_doubt(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    actions = [roll, fall, shake, lift]
    assert (
        explore(system_of([START], actions, [can_reach_the_goal_with_a_crane], Land(last=9))).verdict is Verdict.HOLDS
    )
    assert (
        explore(system_of([START], actions, [can_reach_the_goal_with_a_crane], Land(last=10))).verdict
        is Verdict.VIOLATED
    )


def test_the_parameter_lost_first_is_reported(explore: Callable[..., Any], system_of: Callable[..., Any]) -> None:
    (violation,) = explore(system_of([START], [roll, fall, shake], [can_reach], Land())).violations
    assert (violation.arguments, violation.trace_length) == ({"place": "0"}, 3)


def test_prospects_are_judged_after_other_violations_only_if_the_search_goes_on(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    system = system_of([START], [roll, fall, shake], [never_falls, can_reach_the_goal], Land())
    assert [violation.property for violation in explore(system).violations] == ["never_falls"]
    both = explore(system, options=SearchOptions(keep_going=True)).violations
    assert [violation.property for violation in both] == ["never_falls", "can_reach_the_goal"]


@pytest.mark.parametrize("budget", [Budget(max_depth=3), Budget(max_states=4)])
def test_a_search_that_ended_early_does_not_judge_prospects(
    explore: Callable[..., Any], system_of: Callable[..., Any], budget: Budget
) -> None:
    outcome = explore(system_of([START], [roll, fall, shake], [can_reach_the_goal], Land()), budget)
    assert outcome.verdict in (Verdict.HOLDS_TO_DEPTH, Verdict.UNKNOWN)
    assert outcome.violations == ()


def test_a_search_that_goes_on_from_a_checkpoint_judges_all_states(
    system_of: Callable[..., Any], tmp_path: Path
) -> None:
    system = system_of([START], [roll, fall, shake], [can_reach_the_goal, can_reach], Land())
    breadth_first.explore(system, Budget(max_depth=4), SearchOptions(checkpoint=tmp_path))
    resumed = breadth_first.explore(system, options=SearchOptions(checkpoint=tmp_path, resume=True))
    assert resumed.violations == breadth_first.explore(system).violations
    assert len(resumed.violations) == 2


SWITCH = Integers(0, 2, label="s", names="switches")


@attrs.frozen
class Switches:
    """Three switches that mean the same."""

    on: frozenset[int] = within(SetOf(SWITCH))
    broken: frozenset[int] = within(SetOf(SWITCH))


@action(actor="hand", switch=SWITCH)
def toggle(switches: Switches, switch: int) -> Switches | None:
    return None if switch in switches.broken else evolve(switches, on=switches.on ^ {switch})


@action(actor="wear", switch=SWITCH)
def wear_out(switches: Switches, switch: int) -> Switches:
    return evolve(switches, broken=switches.broken | {switch})


@prospect(along=[toggle])
def can_all_be_on(switches: Switches) -> bool:
    return len(switches.on) == 3


@prospect(along=[toggle])
def can_any_be_on(switches: Switches) -> bool:
    return len(switches.on) > 0


@pytest.mark.parametrize("hope", [can_all_be_on, can_any_be_on])
def test_symmetry_changes_nothing(system_of: Callable[..., Any], hope: Any) -> None:
    plain = system_of([Switches(frozenset(), frozenset())], [toggle, wear_out], [hope])
    symmetric = attrs.evolve(plain, interchangeable={"switches": (0, 1, 2)})
    ours, theirs = breadth_first.explore(symmetric), breadth_first.explore(plain)
    assert ours.stored_states < theirs.stored_states
    assert ours.violations == theirs.violations
    assert ours.violations


@prospect(along=[toggle], switch=SWITCH)
def can_be_off(switches: Switches, switch: int) -> bool:
    return switch not in switches.on


def test_a_prospect_about_one_name_is_judged_without_exchanging_it(system_of: Callable[..., Any]) -> None:
    """Whether s0 can be off says nothing of s1: a state in which only s0 is stuck and one in which only s1 is must both
    be kept.
    """
    plain = system_of([Switches(frozenset(), frozenset())], [toggle, wear_out], [can_be_off])
    symmetric = attrs.evolve(plain, interchangeable={"switches": (0, 1, 2)})
    ours, theirs = breadth_first.explore(symmetric), plain_python.explore(plain)
    assert ours.violations == theirs.violations
    assert ours.violations[0].trace_length == 2
    assert ours.stored_states == ours.distinct_states == theirs.distinct_states


GUEST = Integers(0, 2, label="g", names="guests")
CLIENT = Integers(0, 1, label="c", names="clients")


@attrs.frozen
class Lock:
    """Who has the lock."""

    holder: int | None = within(Maybe(CLIENT))


@action(actor="client", client=CLIENT)
def take(lock: Lock, client: int) -> Lock:
    return evolve(lock, holder=client)


@prospect(along=[take], client=CLIENT)
def can_have_a_turn(lock: Lock, client: int) -> bool:
    return lock.holder == client


@attrs.frozen
class Flags:
    """In phase 0 the one who holds has a flag, in phase 1 the other has."""

    phase: bool = within(BOOLEAN)
    flags: tuple[bool, ...] = within(ArrayOf(BOOLEAN, 2, label="c", by="clients"))


@action(actor="clock")
def flip(state: Flags) -> Flags:
    return evolve(state, phase=not state.phase, flags=tuple(not flag for flag in state.flags))


@prospect(along=[flip], client=CLIENT)
def can_let_go(state: Flags, client: int) -> bool:
    return state.flags[client] == state.phase


@prospect(along=[flip], client=Integers(0, 1))
def can_let_go_undeclared(state: Flags, client: int) -> bool:
    return state.flags[client] == state.phase


FLAGS = [Flags(False, (True, False)), Flags(False, (False, True))]


@pytest.mark.parametrize(
    ("initial", "step", "hope", "verdict"),
    [([Lock(None)], take, can_have_a_turn, Verdict.HOLDS), (FLAGS, flip, can_let_go, Verdict.VIOLATED)],
)
def test_exchanging_names_neither_makes_nor_hides_a_loss(
    explore: Callable[..., Any],
    system_of: Callable[..., Any],
    initial: list[Any],
    step: Any,
    hope: Any,
    verdict: Verdict,
) -> None:
    """Each client gets its turn, though never while another one stands for it; a holder never lets go, though the other
    one does.
    """
    system = attrs.evolve(system_of(initial, [step], [hope]), interchangeable={"clients": (0, 1)})
    assert explore(system).verdict is verdict


def test_a_prospect_with_an_undeclared_name_is_refused(system_of: Callable[..., Any]) -> None:
    system = attrs.evolve(system_of(FLAGS, [flip], [can_let_go_undeclared]), interchangeable={"clients": (0, 1)})
    with pytest.raises(ModelError, match="can_let_go_undeclared tells clients 0 and 1 apart"):
        breadth_first.explore(system)


@attrs.frozen
class Room:
    """Three guests: who has the key, who is in, and who is awake."""

    key: int | None = within(Maybe(GUEST))
    inside: frozenset[int] = within(SetOf(GUEST))
    awake: tuple[bool, ...] = within(ArrayOf(BOOLEAN, 3, by="guests"))


CONDITIONS: dict[str, Callable[[Room, int], bool]] = {
    "has the key": lambda room, guest: room.key == guest,
    "nobody has the key": lambda room, guest: room.key is None,
    "is inside": lambda room, guest: guest in room.inside,
    "is alone": lambda room, guest: room.inside == frozenset({guest}),
    "is awake": lambda room, guest: room.awake[guest],
    "is awake without the key": lambda room, guest: room.awake[guest] and room.key != guest,
}
EFFECTS: dict[str, Callable[[Room, int], Room]] = {
    "takes the key": lambda room, guest: evolve(room, key=guest),
    "puts the key away": lambda room, guest: evolve(room, key=None),
    "enters": lambda room, guest: evolve(room, inside=room.inside | {guest}),
    "leaves": lambda room, guest: evolve(room, inside=room.inside - {guest}),
    "wakes": lambda room, guest: evolve(room, awake=replaced(room.awake, guest, True)),
    "sleeps": lambda room, guest: evolve(room, awake=replaced(room.awake, guest, False)),
}


@st.composite
def rooms(draw: Any) -> System:
    """What each guest may do under random conditions, and what is hoped for one guest or for any of them."""

    def condition() -> Callable[[Room, int], bool]:
        name, negated = draw(st.sampled_from(sorted(CONDITIONS))), draw(st.booleans())
        return lambda room, guest: CONDITIONS[name](room, guest) != negated

    def step(number: int) -> Action:
        when, effect = condition(), EFFECTS[draw(st.sampled_from(sorted(EFFECTS)))]

        def done(room: Room, guest: int) -> Room | None:
            return effect(room, guest) if when(room, guest) else None

        done.__name__ = f"step{number}"
        return Action(done, {"guest": GUEST}, "guest")

    def hope(number: int, actions: list[Action]) -> Prospect:
        wanted, of_one = condition(), draw(st.booleans())

        def for_one(room: Room, guest: int) -> bool:
            return wanted(room, guest)

        def for_any(room: Room) -> bool:
            return any(wanted(room, guest) for guest in range(3))

        function = for_one if of_one else for_any
        function.__name__ = f"hope{number}"
        along = tuple(each for each in actions if draw(st.integers(0, 3)))
        return Prospect(function, {"guest": GUEST} if of_one else {}, along=along)

    actions = [step(number) for number in range(draw(st.integers(2, 5)))]
    hopes = [hope(number, actions) for number in range(draw(st.integers(1, 2)))]
    return System(
        domain_of(Room, None),
        (Room(None, frozenset(), (False,) * 3),),
        tuple(instance for each in actions for instance in each.instances(None)),
        interchangeable={"guests": (0, 1, 2)},
        prospects=tuple(instance for each in hopes for instance in each.instances(None)),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rooms())
def test_random_prospects_of_names_are_judged_as_in_plain_python(system: System) -> None:
    ours, theirs = (
        breadth_first.explore(system, options=SearchOptions(keep_going=True)),
        plain_python.explore(system, options=SearchOptions(keep_going=True)),
    )
    event(f"{len(theirs.violations)} lost, {'fewer' if ours.stored_states < ours.distinct_states else 'all'} stored")
    assert (ours.levels, ours.violations, ours.vacuous) == (theirs.levels, theirs.violations, theirs.vacuous)


# What only bounds make possible


@attrs.frozen
class Clock:
    n: int = within(Integers(0, Limit(4, "most")))
    done: bool = within(BOOLEAN)
    stuck: frozenset[int] = within(SetOf(SWITCH))


@action(actor="clock")
def tick(clock: Clock) -> Clock:
    return evolve(clock, n=clock.n + 1)


@action(actor="clock")
def finish(clock: Clock) -> Clock | None:
    return evolve(clock, done=True) if clock.n == 3 and not clock.stuck else None


@action(actor="wear", switch=SWITCH)
def jam(clock: Clock, switch: int) -> Clock | None:
    return None if clock.done else evolve(clock, stuck=clock.stuck | {switch})


@prospect(along=[tick, finish])
def can_be_done(clock: Clock) -> bool:
    return clock.done


@prospect(along=[tick])
def can_be_done_twice(clock: Clock) -> bool:
    return clock.done and clock.n < 0


@pytest.mark.parametrize("symmetry", [True, False])
def test_states_whose_goal_needs_a_bound_are_counted(system_of: Callable[..., Any], symmetry: bool) -> None:
    """From 4 states with a clock that is not jammed nor past 3 it is done for certain, and in 2 it is done."""
    system = system_of([Clock(0, False, frozenset())], [tick, finish, jam], [can_be_done, can_be_done_twice])
    system = attrs.evolve(system, interchangeable={"switches": (0, 1, 2)})
    ours, theirs = breadth_first.explore(system, options=SearchOptions(symmetry=symmetry)), plain_python.explore(system)
    assert ours.verdict is theirs.verdict is Verdict.HOLDS
    states = 5 * 8 + 2
    assert ours.distinct_states == theirs.distinct_states == states
    assert ours.held_back == theirs.held_back == {"can_be_done": states - 4 - 2, "can_be_done_twice": states}
    assert ours.vacuous == theirs.vacuous == {"can_be_done_twice": "it is true in no state"}


def test_states_whose_goal_needs_no_bound_are_not_counted(system_of: Callable[..., Any]) -> None:
    begun = prospect(along=[tick])(lambda clock: clock.n > 0)
    system = system_of([Clock(0, False, frozenset())], [tick, finish], [begun])
    for explore in (breadth_first.explore, plain_python.explore):
        outcome = explore(system)
        assert (outcome.verdict, outcome.held_back, outcome.vacuous) == (Verdict.HOLDS, {}, {})
