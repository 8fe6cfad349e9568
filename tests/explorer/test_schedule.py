"""Reordering: the same steps, the same end, and no order with fewer changes of actor."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater.explorer.analysis import schedule
from highwater.explorer.analysis.schedule import switches, with_fewest_switches
from highwater.explorer.system import System, judge, successor
from highwater.explorer.trace import violation_at
from highwater.explorer.verdict import Step, Violation
from highwater.model.language.declarations import action, invariant, step_property
from highwater.model.language.domain import ArrayOf, Integers, Limit
from highwater.model.language.records import domain_of, evolve, replaced, within

WHO = Integers(0, 2, label="w", names="workers")


@attrs.frozen
class Desk:
    """Three workers who each count, and a counter that they share."""

    own: tuple[int, ...] = within(lambda bounds: ArrayOf(Integers(0, Limit(4, "own")), 3, label="w", by="workers"))
    shared: int = within(Integers(0, Limit(4, "shared")))


@action(actor="who", who=WHO)
def work(desk: Desk, who: int) -> Desk | None:
    return evolve(desk, own=replaced(desk.own, who, desk.own[who] + 1))


@action(actor="who", who=WHO)
def hand_in(desk: Desk, who: int) -> Desk | None:
    """Only in turn: what is handed in depends on who was there before."""
    return evolve(desk, shared=desk.shared + 1) if desk.own[who] > desk.shared else None


@invariant()
def little_is_done(desk: Desk) -> bool:
    return sum(desk.own) + desk.shared < 6


@invariant()
def the_second_never_leads(desk: Desk) -> bool:
    """May be false in the middle of some orders only."""
    return not (desk.own[1] > desk.own[0] and desk.own[1] > desk.own[2]) or sum(desk.own) < 3


def system_with(*properties: Any) -> System:
    return System(
        domain_of(Desk, None),
        (Desk((0, 0, 0), 0),),
        tuple(instance for each in (work, hand_in) for instance in each.instances(None)),
        tuple(instance for each in properties for instance in each.instances(None)),
    )


def walk(system: System, choices: list[int]) -> Violation | None:
    trace = [Step(None, system.initial[0])]
    for choice in choices:
        after = [(action, successor(action, trace[-1].state, system.domain)) for action in system.actions]
        enabled = [(action, state) for action, state in after if isinstance(state, Desk)]
        if not enabled:
            return None
        trace.append(Step(*enabled[choice % len(enabled)]))
        for instance in system.invariants:
            if not judge(instance, trace[-1].state, system.domain):
                return violation_at(system, instance, trace)
    return None


def orders(system: System, violation: Violation) -> Iterator[list[Step]]:
    """Every order that keeps each actor's own, ends in the same state, and violates the property there and not
    before.
    """
    actions = [step.action for step in violation.trace[1:]]
    (invariant,) = system.invariants
    for order in itertools.permutations(range(len(actions))):
        own: dict[str, int] = {}
        if any(
            number < own.get(actions[number].actor, -1) or own.update({actions[number].actor: number})
            for number in order
        ):
            continue
        trace = [violation.trace[0]]
        for number in order:
            after = successor(actions[number], trace[-1].state, system.domain)
            if not isinstance(after, Desk) or not judge(invariant, trace[-1].state, system.domain):
                break
            trace.append(Step(actions[number], after))
        else:
            if trace[-1].state == violation.trace[-1].state:
                yield trace


def check(system: System, before: Violation, after: Violation) -> None:
    assert after.trace[0] == before.trace[0]
    assert after.trace[-1].state == before.trace[-1].state
    assert (after.property, after.arguments, after.witness) == (before.property, before.arguments, before.witness)
    assert Counter(step.action for step in after.trace) == Counter(step.action for step in before.trace)
    for (_, state), step in zip(((s.action, s.state) for s in after.trace), after.trace[1:], strict=False):
        assert successor(step.action, state, system.domain) == step.state
    (invariant,) = system.invariants
    assert all(judge(invariant, step.state, system.domain) for step in after.trace[:-1])
    actors = {step.action.actor for step in before.trace[1:]}
    for actor in actors:
        own = [[step.action for step in v.trace[1:] if step.action.actor == actor] for v in (before, after)]
        assert own[0] == own[1]


@pytest.mark.parametrize("of", [little_is_done, the_second_never_leads], ids=lambda of: of.name)
@given(choices=st.lists(st.integers(0, 100), min_size=3, max_size=7))
def test_no_order_that_leads_to_the_same_violation_has_fewer_changes_of_actor(of: Any, choices: list[int]) -> None:
    system = system_with(of)
    violation = walk(system, choices)
    if violation is None:
        return
    reordered = with_fewest_switches(system, violation)
    check(system, violation, reordered)
    assert switches(reordered.trace) == min(map(switches, orders(system, violation)))


def steps_of(system: System, *names: str) -> Violation:
    trace = [Step(None, system.initial[0])]
    for name in names:
        of, who = name.split()
        action = next(a for a in system.actions if a.of.name == of and a.actor == who)
        trace.append(Step(action, successor(action, trace[-1].state, system.domain)))
    return violation_at(system, system.invariants[0], trace)


def test_independent_steps_of_one_actor_come_together() -> None:
    system = system_with(little_is_done)
    violation = steps_of(system, "work w0", "work w1", "work w0", "work w1", "work w0", "work w1")
    reordered = with_fewest_switches(system, violation)
    assert [step.action.actor for step in reordered.trace[1:]] == ["w0", "w0", "w0", "w1", "w1", "w1"]


@step_property()
def the_first_never_does_the_fourth(before: Desk, after: Desk) -> bool:
    return sum(after.own) < 4 or before.own[0] == after.own[0]


def test_the_step_that_breaks_a_step_property_stays_the_last() -> None:
    system = system_with()
    (instance,) = the_first_never_does_the_fourth.instances(None)
    system = attrs.evolve(system, step_properties=(instance,))
    trace = [Step(None, system.initial[0])]
    for who in ("w0", "w1", "w1", "w0"):
        action = next(a for a in system.actions if a.of is work and a.actor == who)
        trace.append(Step(action, successor(action, trace[-1].state, system.domain)))
    reordered = with_fewest_switches(system, violation_at(system, instance, trace))
    assert [step.action.actor for step in reordered.trace[1:]] == ["w1", "w1", "w0", "w0"]


def test_a_trace_that_is_in_good_order_stays_as_it_is() -> None:
    system = system_with(little_is_done)
    violation = steps_of(system, "work w1", "work w1", "work w1", "work w0", "work w0", "work w0")
    assert with_fewest_switches(system, violation) is violation


@given(choices=st.lists(st.integers(0, 100), min_size=6, max_size=14), most=st.integers(1, 60))
def test_a_trace_with_too_many_orders_is_reordered_in_halves(choices: list[int], most: int) -> None:
    system = system_with(little_is_done)
    violation = walk(system, choices)
    if violation is None:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "MOST_EVALUATIONS", most)
        reordered = with_fewest_switches(system, violation)
    check(system, violation, reordered)
    assert switches(reordered.trace) <= switches(violation.trace)


def test_a_violation_of_the_initial_state_has_no_order(system_of: Callable[..., System]) -> None:
    system = system_with(little_is_done)
    violation = violation_at(system, system.invariants[0], [Step(None, Desk((4, 4, 4), 4))])
    assert with_fewest_switches(system, violation) is violation


def test_a_trace_that_is_not_a_proof_by_its_end_stays_as_it_is() -> None:
    system = system_with(little_is_done)
    violation = steps_of(system, "work w0", "work w1", "work w0", "work w1", "work w0", "work w1")
    other = attrs.evolve(violation, property="something_about_the_whole_graph")
    assert with_fewest_switches(system, other) is other
