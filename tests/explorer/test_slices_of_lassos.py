"""The slice of a lasso, executed alone, violates the property as the whole lasso does, fairness included.

The lassos are random: a walk, and behind it what a search in plain Python finds from there. What is left of each is
executed and judged here, by what the definition says, from the functions alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from highwater.explorer.analysis.causes import causes
from highwater.explorer.outlook import outlook
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import Cut, System, successor
from highwater.explorer.verdict import Step
from highwater.model.language.declarations import Action, Instance, Invariant, action
from highwater.model.language.domain import BOOLEAN, Integers, Limit
from highwater.model.language.graph_properties import (
    ALWAYS_EVENTUALLY,
    EVENTUALLY,
    EVENTUALLY_ALWAYS,
    FORMS,
    LEADS_TO,
    Liveness,
    Per,
    Prospect,
    eventually,
    leads_to,
)
from highwater.model.language.records import domain_of, evolve, records, within
from tests.until import UNTIL

EXAMPLES = int(os.environ.get("HIGHWATER_EXAMPLES", "0"))
SIDE = Integers(0, 1)
NUMBER = Integers(0, Limit(2, "number"))

thorough_or_quick = settings(
    max_examples=EXAMPLES or 100, derandomize=not EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck)
)


@attrs.frozen
class Card:
    """A number on a card, which is copied without being looked at."""

    number: int = within(NUMBER)


@attrs.frozen
class Board:
    """Cards whose numbers are counted and copied, lamps that are switched and copied."""

    left: Card = within(records(Card))
    right: Card = within(records(Card))
    noted: Card = within(records(Card))
    red: bool = within(BOOLEAN)
    green: bool = within(BOOLEAN)
    blue: bool = within(BOOLEAN)


def counted(board: Board, side: str) -> Board:
    return evolve(board, **{side: Card(getattr(board, side).number + 1)})


CONDITIONS: dict[str, Callable[[Board], bool]] = {
    "always": lambda board: True,
    "red": lambda board: board.red,
    "green": lambda board: board.green,
    "blue": lambda board: board.blue,
    "red and green": lambda board: board.red and board.green,
    "left is large": lambda board: board.left.number == 2,
    "right is none": lambda board: board.right.number == 0,
    "equal": lambda board: board.left.number == board.right.number,
    "noted": lambda board: board.noted.number > 0,
}
EFFECTS: dict[str, Callable[[Board, int], Board]] = {
    "counts": lambda board, side: counted(board, "left" if side else "right"),
    "empties": lambda board, side: evolve(board, left=Card(0)) if side else evolve(board, right=Card(0)),
    "notes": lambda board, side: evolve(board, noted=board.left if side else board.right),
    "takes": lambda board, side: evolve(board, left=board.noted) if side else evolve(board, right=board.noted),
    "switches": lambda board, side: evolve(board, red=not board.red) if side else evolve(board, green=not board.green),
    "lights": lambda board, side: evolve(board, blue=True, red=bool(side) or board.red),
    "darkens": lambda board, side: evolve(board, blue=False, green=board.red),
    "copies": lambda board, side: evolve(board, red=board.green, blue=board.red, right=board.left),
    "swaps": lambda board, side: evolve(board, left=board.right, right=board.left),
}


@st.composite
def systems(draw: Any) -> System:
    """Random actions, and one random promise under random fairness."""

    def condition() -> Callable[[Board], bool]:
        name, negated = draw(st.sampled_from(sorted(CONDITIONS))), draw(st.booleans())
        return lambda board: CONDITIONS[name](board) != negated

    def step(number: int) -> Action:
        when, effect, plain = condition(), EFFECTS[draw(st.sampled_from(sorted(EFFECTS)))], draw(st.booleans())

        def done(board: Board, side: int) -> Board | None:
            return effect(board, side) if plain or when(board) else None

        done.__name__ = f"step{number}"
        return Action(done, {"side": SIDE}, "somebody")

    actions = [step(number) for number in range(draw(st.integers(2, 5)))]
    wanted, asked, form = condition(), condition(), draw(st.sampled_from((*FORMS, UNTIL)))
    fair: dict[str, list[Per]] = {"fair": [], "strongly_fair": [], "unfair": []}
    for each in actions:
        per = Per(each, draw(st.sampled_from([("side",), ()])))
        fair[draw(st.sampled_from(["fair", "fair", "strongly_fair", "unfair"]))].append(per)
    promise = Liveness(
        lambda board: wanted(board),
        {},
        form=form,
        fair=tuple(fair["fair"]),
        strongly_fair=tuple(fair["strongly_fair"]),
        premise=(lambda board: asked(board)) if form in (LEADS_TO, UNTIL) else None,
    )
    return system_of(actions, promise)


def system_of(actions: Sequence[Action], promise: Liveness) -> System:
    return System(
        domain_of(Board, None),
        (Board(Card(0), Card(0), Card(0), False, False, False),),
        tuple(instance for each in actions for instance in each.instances(None)),
        liveness=tuple(promise.instances(None)),
    )


Lasso = tuple[tuple[Step, ...], int]


def lasso_behind(system: System, walk: Sequence[Step]) -> Lasso | None:
    """A walk, and a lasso that a search finds from its end, if both together violate the promise."""
    found = plain_python.explore(attrs.evolve(system, initial=(walk[-1].state,))).violations
    if not found:
        return None
    lasso = (*walk, *found[0].trace[1:])
    back_to = len(walk) - 1 + found[0].back_to
    (of,) = system.liveness
    states = [step.state for step in lasso]
    return (lasso, back_to) if breaks(system, of, states, [s.action for s in lasso[1:]], back_to) else None


def breaks(system: System, of: Instance, states: Sequence[Any], taken: Sequence[Instance], back_to: int) -> bool:
    """Whether these states, of which those from one on repeat for ever, break a promise on a fair behaviour."""
    if states[back_to] != states[-1]:
        return False
    true = [bool(of.of.function(state)) for state in states]
    around = range(back_to, len(states))
    asked = [of.of.premise is None or bool(of.of.premise(state)) for state in states]
    broken = {
        EVENTUALLY: not any(true),
        LEADS_TO: any(asked[at] and not any(true[at:]) and not any(true[back_to:]) for at in range(len(states))),
        ALWAYS_EVENTUALLY: not any(true[at] for at in around),
        EVENTUALLY_ALWAYS: not all(true[at] for at in around),
        UNTIL: all(asked[at] and not true[at] for at in around),
    }[of.of.form]
    repeated = set(taken[back_to:])
    for strong, promised in ((False, of.of.fair), (True, of.of.strongly_fair)):
        for per in promised:
            mine = [each for each in system.actions if each.of is per.action]
            for group in {tuple(each.arguments[name] for name in per.parameters) for each in mine}:
                owed = [each for each in mine if tuple(each.arguments[name] for name in per.parameters) == group]
                enabled = [any(moves(system, each, states[at]) for each in owed) for at in around]
                if (any(enabled) if strong else all(enabled)) and not repeated & set(owed):
                    return False
    return broken


def moves(system: System, each: Instance, state: Any) -> bool:
    """Whether a step changes a state, or would do so were there no bound."""
    return successor(each, state, system.domain) not in (None, state)


def left(system: System, lasso: Lasso) -> bool:
    """Whether what is left of a lasso without the steps that are dimmed can be executed and breaks the promise."""
    trace, back_to = lasso
    (of,) = system.liveness
    needed = causes(system, trace, of, back_to).distance
    cycle = range(back_to + 1, len(trace))
    assert all(number in needed for number in cycle)
    kept = [number for number in range(1, len(trace)) if number in needed]
    states = [trace[0].state]
    for number in kept:
        after = successor(trace[number].action, states[-1], system.domain)
        if after is None or isinstance(after, Cut) or (number in cycle and after == states[-1]):
            return False
        states.append(after)
    return breaks(system, of, states, [trace[number].action for number in kept], len(kept) - len(cycle))


def walk_in(system: System, choices: Sequence[int]) -> list[Step]:
    """Actions chosen by number among those enabled."""
    walk = [Step(None, system.initial[0])]
    for choice in choices:
        after = [(each, successor(each, walk[-1].state, system.domain)) for each in system.actions]
        enabled = [Step(each, state) for each, state in after if isinstance(state, Board)]
        if enabled:
            walk.append(enabled[choice % len(enabled)])
    return walk


walks = st.lists(st.integers(0, 10_000), max_size=12)


@thorough_or_quick
@given(systems(), walks)
def test_the_slice_of_a_random_lasso_breaks_the_promise(system: System, choices: list[int]) -> None:
    lasso = lasso_behind(system, walk_in(system, choices))
    assume(lasso is not None)
    event(system.liveness[0].of.form.name)
    idle = len(lasso[0]) - 1 - len(causes(system, lasso[0], system.liveness[0], lasso[1]).distance)
    event(f"{min(3, idle)} dimmed")
    assert left(system, lasso)


@thorough_or_quick
@given(systems(), walks)
def test_the_slice_of_a_random_walk_ends_as_the_walk_does(system: System, choices: list[int]) -> None:
    """Where an invariant is false, and where a prospect is lost along some of the actions."""
    trace, wanted = walk_in(system, choices), system.liveness[0].of.function
    along = tuple(per.action for per in system.liveness[0].of.fair)
    for of in (Invariant(wanted, {}), Prospect(wanted, {}, along=along)):
        (instance,) = of.instances(None)
        if wanted(trace[-1].state) or (
            isinstance(of, Prospect) and not outlook(system, instance, trace[-1].state).lost
        ):
            continue
        needed = causes(system, trace, instance).distance
        event(f"{type(of).__name__}: {min(3, len(trace) - 1 - len(needed))} dimmed")
        state = trace[0].state
        for number in sorted(needed):
            state = successor(trace[number].action, state, system.domain)
            assert isinstance(state, Board)
        assert not wanted(state)
        assert isinstance(of, Invariant) or outlook(system, instance, state).lost


# --- one lasso of each kind of reason


@action(actor="hand")
def switch_red(board: Board) -> Board | None:
    return evolve(board, red=not board.red)


@action(actor="hand")
def switch_green(board: Board) -> Board | None:
    return evolve(board, green=not board.green)


@action(actor="hand")
def light_blue(board: Board) -> Board | None:
    """Only without the red lamp."""
    return None if board.red else evolve(board, blue=True)


@action(actor="hand")
def count(board: Board) -> Board | None:
    """Only with the green lamp, and round and round."""
    return evolve(board, left=Card((board.left.number + 1) % 3)) if board.green else None


@action(actor="hand")
def note(board: Board) -> Board | None:
    return evolve(board, noted=board.left) if board.left.number else None


@action(actor="hand")
def turn(board: Board) -> Board | None:
    return evolve(board, left=Card((board.left.number + 1) % 3))


@action(actor="hand")
def light_between(board: Board) -> Board | None:
    in_the_way = board.red if board.left.number == 0 else board.green
    return None if in_the_way else evolve(board, blue=True)


ACTIONS = (switch_red, switch_green, light_blue, count, note, turn, light_between)


def is_blue(board: Board) -> bool:
    return board.blue


def is_green(board: Board) -> bool:
    return board.green


def dimmed(promise: Liveness, back_to: int, *taken: Action) -> set[int]:
    """The steps that are not needed for a lasso."""
    system = system_of(ACTIONS, promise)
    trace = [Step(None, system.initial[0])]
    for each in taken:
        instance = next(step for step in system.actions if step.of is each)
        trace.append(Step(instance, successor(instance, trace[-1].state, system.domain)))
    states, (of,) = [step.state for step in trace], system.liveness
    assert breaks(system, of, states, [step.action for step in trace[1:]], back_to)
    assert left(system, (tuple(trace), back_to))
    return set(range(1, len(trace))) - set(causes(system, trace, of, back_to).distance)


def test_a_slice_keeps_the_step_that_disables_a_fair_action() -> None:
    promise = eventually(fair=[light_blue])(is_blue)
    assert dimmed(promise, 1, switch_red) == set()
    assert dimmed(promise, 2, switch_green, switch_red) == {1}


def test_a_slice_keeps_the_step_that_enables_the_cycle() -> None:
    promise = eventually(fair=[count])(is_blue)
    assert dimmed(promise, 2, switch_red, switch_green, count, count, count) == {1}


def test_a_slice_keeps_the_step_that_makes_the_promise_due() -> None:
    """Also where it is not so any more on the cycle."""
    promise = leads_to(is_green)(is_blue)
    assert dimmed(promise, 3, switch_red, switch_green, switch_green) == {1, 3}
    assert dimmed(promise, 2, switch_red, switch_green) == {1}


def test_strong_fairness_looks_at_the_whole_cycle_and_weak_fairness_at_one_state_of_it() -> None:
    """The red lamp is in the way where the number is 0, the green one elsewhere."""
    taken = (switch_red, switch_green, turn, turn, turn)
    assert dimmed(eventually(strongly_fair=[light_between])(is_blue), 2, *taken) == set()
    assert dimmed(eventually(fair=[light_between])(is_blue), 2, *taken) == {2}


def test_a_step_that_is_kept_must_not_keep_the_promise_before_the_cycle() -> None:
    """The red lamp was on for a while, and only the green one kept that from being what was promised."""

    def is_red_alone(board: Board) -> bool:
        return board.red and not board.green

    assert dimmed(eventually(fair=[])(is_red_alone), 3, switch_green, switch_red, switch_red) == set()


@action(actor="hand")
def set_right(board: Board) -> Board | None:
    return evolve(board, right=Card(1)) if board.right.number == 0 else None


@action(actor="hand")
def set_noted(board: Board) -> Board | None:
    return evolve(board, noted=Card(1)) if board.noted.number == 0 else None


@action(actor="hand")
def light_and_copy(board: Board) -> Board | None:
    """The number that it writes is the one that is there."""
    return None if board.red else evolve(board, red=True, right=board.noted)


@action(actor="hand")
def light_and_note(board: Board) -> Board | None:
    """The same, but what is needed is followed before the step is kept."""
    return None if board.red else evolve(board, red=True, noted=board.right)


@action(actor="hand")
def light_if_right(board: Board) -> Board | None:
    return evolve(board, blue=True) if board.right.number == 1 else None


@pytest.mark.parametrize(
    ("taken", "holds"),
    [
        ((set_right, set_noted, light_and_copy), lambda board: not (board.red and board.right.number == 1)),
        ((set_right, set_noted, light_and_note), lambda board: not (board.red and board.noted.number == 1)),
        ((set_right, set_noted, light_and_copy, light_if_right), lambda board: not (board.red and board.blue)),
    ],
)
def test_a_kept_step_that_copies_an_equal_value_needs_the_copied_part(
    taken: Sequence[Action], holds: Callable[[Board], bool]
) -> None:
    """It is kept for the lamp that it lights. What it copies is needed at the same distance, or further away."""
    system = system_of(taken, eventually(fair=[])(is_blue))
    (of,) = Invariant(holds, {}).instances(None)
    trace = [Step(None, system.initial[0])]
    for each in system.actions:
        trace.append(Step(each, successor(each, trace[-1].state, system.domain)))
    assert set(causes(system, trace, of).distance) == {*range(1, len(trace))}
