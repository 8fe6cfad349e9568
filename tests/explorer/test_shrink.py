"""Shrunk traces violate the same property, are never longer, and are as short as claimed."""

from __future__ import annotations

import attrs
import pytest

from highwater.explorer.analysis.shrink import Minimal, shrink
from highwater.explorer.analysis.simulate import simulate
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System, judge_end, successor
from highwater.explorer.trace import violation_at
from highwater.explorer.verdict import DEADLOCK, Step, Walking
from highwater.model.language.declarations import action
from highwater.model.language.domain import Integers
from highwater.model.language.records import domain_of, evolve, within
from tests.explorer.test_simulate import field, slowly_at_the_end, stays_off_the_corner


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "properties", [(stays_off_the_corner,), (slowly_at_the_end,), ()], ids=["invariant", "step property", "deadlock"]
)
def test_with_enough_states_a_shrunk_trace_is_a_shortest_one(properties: tuple, seed: int) -> None:
    system = field(*properties)
    found = simulate(system, Walking(walks=5000, depth=150, seed=seed), check_deadlock=not properties).violation
    assert found is not None
    shrunk = shrink(system, found)
    shortest = plain_python.explore(system, check_deadlock=not properties).violations[0]
    assert shrunk.minimal is Minimal.GLOBALLY
    assert (shrunk.violation.property, shrunk.violation.trace_length) == (found.property, shortest.trace_length)
    assert shrunk.violation.trace_length <= found.trace_length


@pytest.mark.parametrize(
    "properties", [(stays_off_the_corner,), (slowly_at_the_end,), ()], ids=["invariant", "step property", "deadlock"]
)
def test_with_few_states_no_step_can_be_left_out(properties: tuple) -> None:
    system = field(*properties)
    found = simulate(system, Walking(walks=5000, depth=150, seed=3), check_deadlock=not properties).violation
    assert found is not None
    shrunk = shrink(system, found, states=40)
    trace = shrunk.violation.trace
    assert shrunk.minimal is Minimal.LOCALLY
    assert shrunk.stretch >= 2
    assert len(trace) <= len(found.trace)
    for left_out in range(1, len(trace)):
        assert not violates(
            system,
            found.property,
            [step.action for n, step in enumerate(trace) if n not in (0, left_out)],
            trace[0].state,
        )
    assert violates(system, found.property, [step.action for step in trace[1:]], trace[0].state)


def test_a_trace_shrunk_without_time_is_still_a_violation() -> None:
    system = field(stays_off_the_corner)
    found = simulate(system, Walking(walks=5000, depth=150, seed=3)).violation
    assert found is not None
    shrunk = shrink(system, found, seconds=0.0, states=40)
    assert shrunk.minimal is Minimal.NOT
    assert shrunk.violation.property == found.property


@attrs.frozen
class Way:
    left: int = within(Integers(0, 9))


@action(actor="walker")
def go(way: Way) -> Way | None:
    return evolve(way, left=way.left - 1) if way.left else None


@pytest.mark.parametrize("left", [0, 1, 4])
def test_a_deadlock_that_is_one_step_nearer_is_found(left: int) -> None:
    """It is one once its steps are tried, which a search to its depth does not do."""
    (step,) = go.instances(None)
    system = System(domain_of(Way, None), (Way(left + 1), Way(left)), (step,))
    trace = [Step(step if at <= left else None, Way(at)) for at in range(left + 1, -1, -1)]
    shrunk = shrink(system, violation_at(system, None, trace))
    assert (shrunk.minimal, shrunk.violation.trace_length) == (Minimal.GLOBALLY, left)


def violates(system: object, name: str, actions: list, state: object) -> bool:
    """Whether actions can be taken from a state and lead to a violation at their end."""
    before = None
    for each in actions:
        before, state = state, successor(each, state, system.domain)
        if not isinstance(state, system.domain.cls):
            return False
    if name == DEADLOCK:
        return all(successor(each, state, system.domain) is None for each in system.actions)
    properties = [each for each in (*system.invariants, *system.step_properties) if each.of.name == name]
    return any(not judge_end(system, each, before, state) for each in properties)
