"""For random reachable states of every model, compiled actions and invariants give what calling them gives."""

from __future__ import annotations

import functools
from typing import Any

import attrs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highwater.claims.building import build_system
from highwater.explorer.compiler.effects import Effects
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.compiler.meanings import ActionProgram, InvariantProgram
from highwater.explorer.compiler.permutations import Image
from highwater.explorer.search.engine.symmetry import permutations_of
from highwater.explorer.system import Cut, System, judge, successor
from highwater.model.language.declarations import Transition
from highwater.model.partition.bounds import PartitionBounds
from highwater.model.partition.definition import define
from highwater.model.partition.protocol import PartitionProtocol
from highwater.model.partition.state import Used
from tests.small_models import CASES, cases, random_walk, small_system

BUDGETS = [*(field.name for field in attrs.fields(Used)), "consumer_reads", "offset_queries", "caught_up_times"]


def resolved(cls: type) -> Any:
    return attrs.fields(attrs.resolve_types(cls))


@functools.cache
def compiled(model: str, name: str) -> tuple[System, Layout, ActionProgram, InvariantProgram, InvariantProgram]:
    system = small_system(model, name)
    layout = Layout(system.domain)
    effects = Effects(layout.words)
    permutations = permutations_of(system, layout)
    images, both = [Image.under(each, layout) for each in permutations], layout.doubled(system.transitions)
    actions = ActionProgram(layout, system.actions, effects, 10**9, images)
    invariants = InvariantProgram(layout, (*system.invariants, *system.prospects), effects, 10**9, images)
    steps = InvariantProgram(
        both, system.step_properties, effects, 10**9, [Image.under(each, both) for each in permutations]
    )
    return system, layout, actions, invariants, steps


@cases(CASES)
@settings(max_examples=6, deadline=None)
@given(choices=st.data(), length=st.integers(0, 18))
def test_compiled_functions_give_the_results_of_direct_calls(model: str, name: str, choices: Any, length: int) -> None:
    for state in random_walk(small_system(model, name), choices, length)[::-5]:
        compare(*compiled(model, name), state)


def compare(
    system: System,
    layout: Layout,
    actions: ActionProgram,
    invariants: InvariantProgram,
    steps: InvariantProgram,
    state: Any,
) -> None:
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
    for position, invariant in enumerate((*system.invariants, *system.prospects)):
        assert invariants.evaluate(position, words) == bool(judge(invariant, state, system.domain))


ANY_PROTOCOL = st.builds(
    PartitionProtocol,
    **{
        field.name: st.sampled_from(list(field.type) if field.type is not bool else (False, True))
        for field in resolved(PartitionProtocol)
    },
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(protocol=ANY_PROTOCOL, choices=st.data(), length=st.integers(5, 30))
def test_any_choice_of_rules_means_the_same_compiled(protocol: PartitionProtocol, choices: Any, length: int) -> None:
    """Rules that never were together, too: the model raises nothing, means the same compiled, and treats
    brokers alike.
    """
    definition = define(protocol)
    bounds = PartitionBounds(2, 2, 2, 2, **dict.fromkeys(BUDGETS, 1))
    system = build_system(definition, protocol, bounds, definition.known_properties)
    layout = Layout(system.domain)
    effects = Effects(layout.words)
    actions = ActionProgram(layout, system.actions, effects, audit=10**9)
    invariants = InvariantProgram(layout, system.invariants, effects, audit=10**9)
    words = layout.pack(random_walk(system, choices, length)[-1])
    for position in range(len(system.actions)):
        actions.evaluate(position, words)  # the audit compares with plain evaluation, here and on a twin
    for position in range(len(system.invariants)):
        invariants.evaluate(position, words)
