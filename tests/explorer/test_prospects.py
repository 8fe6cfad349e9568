"""Properties of what stays possible, on a ball that rolls through a little landscape. Every engine must find exactly these."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from explorer.search import local
from explorer.verdict import Budget, Verdict
from model.domain import Integers, SetOf, Witness, action, evolve, invariant, prospect, within

# From 0 the ball may climb to 4, or fall from 2 into a hole at 7, where it can only shake; 4 is the goal, from which it rolls back to 0.
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


def test_the_trace_ends_in_the_first_state_without_hope(explore: Callable[..., Any], system_of: Callable[..., Any]) -> None:
    outcome = explore(system_of([START], [roll, fall, shake], [can_reach_the_goal], Land()))
    (violation,) = outcome.violations
    assert outcome.verdict is Verdict.VIOLATED
    assert [str(step.action) for step in violation.trace[1:]] == ["roll()", "roll()", "fall()"]
    assert violation.witness == "stuck at 7"


def test_only_the_named_actions_give_hope(explore: Callable[..., Any], system_of: Callable[..., Any]) -> None:
    outcome = explore(system_of([START], [roll], [is_at_the_goal], Land()))
    assert outcome.violations[0].trace_length == 0


def test_a_step_that_a_bound_cuts_gives_the_benefit_of_the_doubt(explore: Callable[..., Any], system_of: Callable[..., Any]) -> None:
    actions = [roll, fall, shake, lift]
    assert explore(system_of([START], actions, [can_reach_the_goal_with_a_crane], Land(last=9))).verdict is Verdict.HOLDS
    assert explore(system_of([START], actions, [can_reach_the_goal_with_a_crane], Land(last=10))).verdict is Verdict.VIOLATED


def test_of_all_parameters_the_one_that_is_lost_first_is_told(explore: Callable[..., Any], system_of: Callable[..., Any]) -> None:
    (violation,) = explore(system_of([START], [roll, fall, shake], [can_reach], Land())).violations
    assert (violation.arguments, violation.trace_length) == ({"place": "0"}, 3)


def test_prospects_are_judged_after_other_violations_only_if_the_search_goes_on(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    system = system_of([START], [roll, fall, shake], [never_falls, can_reach_the_goal], Land())
    assert [violation.property for violation in explore(system).violations] == ["never_falls"]
    both = explore(system, keep_going=True).violations
    assert [violation.property for violation in both] == ["never_falls", "can_reach_the_goal"]


@pytest.mark.parametrize("budget", [Budget(max_depth=3), Budget(max_states=4)])
def test_a_search_that_ended_early_does_not_judge_prospects(
    explore: Callable[..., Any], system_of: Callable[..., Any], budget: Budget
) -> None:
    outcome = explore(system_of([START], [roll, fall, shake], [can_reach_the_goal], Land()), budget)
    assert outcome.verdict in (Verdict.HOLDS_TO_DEPTH, Verdict.UNKNOWN)
    assert outcome.violations == ()


def test_a_search_that_goes_on_from_a_checkpoint_judges_all_states(system_of: Callable[..., Any], tmp_path: Path) -> None:
    system = system_of([START], [roll, fall, shake], [can_reach_the_goal, can_reach], Land())
    local.explore(system, Budget(max_depth=4), checkpoint=tmp_path)
    resumed = local.explore(system, checkpoint=tmp_path, resume=True)
    assert resumed.violations == local.explore(system).violations
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
    ours, theirs = local.explore(symmetric), local.explore(plain)
    assert ours.stored_states < theirs.stored_states
    assert ours.violations == theirs.violations
    assert ours.violations
