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
from highwater.listing import variants
from highwater.spec import build_system
from invariants.catalogue import PROPERTIES
from model.catalogue import MODELS

SMALL = {"brokers": 3, "log_length_max": 2, "records_max": 3, "leader_epoch_max": 2, "offset_max": 2, "version_max": 2}
CASES = [(model, number) for model in MODELS for number, _ in enumerate(variants(MODELS[model]))]


@functools.cache
def compiled(model: str, number: int) -> tuple[System, Layout, ActionProgram, InvariantProgram]:
    _, protocol, definition = list(variants(MODELS[model]))[number]
    bounds = definition.bounds(**{field.name: SMALL[field.name] for field in definition.bounds.__attrs_attrs__})
    system = build_system(definition, protocol, bounds, PROPERTIES[definition.state])
    layout = Layout(system.domain)
    effects = Effects(layout.words)
    actions = ActionProgram(layout, system.actions, effects, audit=10**9)
    return system, layout, actions, InvariantProgram(layout, system.invariants, effects, audit=10**9)


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


@pytest.mark.parametrize(("model", "number"), CASES)
@settings(max_examples=25, deadline=None)
@given(choices=st.data(), length=st.integers(0, 18))
def test_compiled_functions_give_what_direct_calls_give(model: str, number: int, choices: Any, length: int) -> None:
    system, layout, actions, invariants = compiled(model, number)
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
    for position, invariant in enumerate(system.invariants):
        assert invariants.evaluate(position, words) == bool(judge(invariant, state, system.domain))
