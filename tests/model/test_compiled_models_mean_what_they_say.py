"""For random reachable states of every model, compiled actions and invariants give what calling them gives."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.layout import Layout
from explorer.program import ActionProgram, Effects, InvariantProgram
from explorer.system import Cut, System, judge, successor
from model.domain import Transition
from tests.small_models import CASES, small_system


@functools.cache
def compiled(model: str, name: str) -> tuple[System, Layout, ActionProgram, InvariantProgram, InvariantProgram]:
    system = small_system(model, name)
    layout = Layout(system.domain)
    effects = Effects(layout.words)
    actions = ActionProgram(layout, system.actions, effects, audit=10**9)
    invariants = InvariantProgram(layout, system.invariants, effects, audit=10**9)
    steps = InvariantProgram(layout.doubled(system.transitions), system.step_properties, effects, audit=10**9)
    return system, layout, actions, invariants, steps


def random_walk(system: System, choices: Any, length: int) -> Any:
    """A reachable state: at each step one of the enabled actions, as chosen."""
    state = choices.draw(st.sampled_from(system.initial))
    for _ in range(length):
        found = [after for action in system.actions if (after := successor(action, state, system.domain)) is not None]
        enabled = [after for after in found if not isinstance(after, Cut)]
        if not enabled:
            return state
        state = choices.draw(st.sampled_from(enabled))
    return state


@pytest.mark.parametrize(("model", "name"), CASES)
@settings(max_examples=25, deadline=None)
@given(choices=st.data(), length=st.integers(0, 18))
def test_compiled_functions_give_what_direct_calls_give(model: str, name: str, choices: Any, length: int) -> None:
    system, layout, actions, invariants, steps = compiled(model, name)
    state = random_walk(system, choices, length)
    words = layout.pack(state)
    assert layout.unpack(words) == state
    for position, action in enumerate(system.actions):
        expected = successor(action, state, system.domain)
        found = actions.evaluate(position, words)
        if expected is None or isinstance(expected, Cut):
            assert found == expected
        else:
            assert layout.unpack(found) == expected
            assert found == layout.pack(expected), "equal states have equal words"
            for number, step in enumerate(system.step_properties):
                held = bool(judge(step, Transition(state, expected), system.transitions))
                assert steps.evaluate(number, (*words, *found)) == held
    for position, invariant in enumerate(system.invariants):
        assert invariants.evaluate(position, words) == bool(judge(invariant, state, system.domain))
