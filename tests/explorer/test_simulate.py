"""Random walks find what is there, the same for a seed however they are run, and only what the oracle finds too."""

from __future__ import annotations

import itertools

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater.explorer.analysis.simulate import Simulation, simulate
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import Cut, System, judge_end, successor
from highwater.explorer.verdict import DEADLOCK, Budget, SearchOptions, Walking
from highwater.model.language.declarations import action, invariant, step_property
from highwater.model.language.domain import Integers
from highwater.model.language.records import domain_of, within
from tests.explorer.test_random_systems import systems

TOP = 40


@attrs.frozen
class Spot:
    x: int = within(Integers(0, TOP))
    y: int = within(Integers(0, TOP))


@action(actor="x", by=Integers(1, 3))
def right(state: Spot, by: int) -> Spot | None:
    return Spot(state.x + by, state.y) if state.x + by <= TOP else None


@action(actor="y")
def up(state: Spot) -> Spot | None:
    return Spot(state.x, state.y + 1) if state.y < TOP else None


@action(actor="nobody")
def never(state: Spot) -> Spot | None:
    return Spot(0, 0) if state.x > TOP else None


@invariant()
def stays_off_the_corner(state: Spot) -> bool:
    return state.x < TOP - 2 or state.y < TOP - 2


@step_property()
def slowly_at_the_end(before: Spot, after: Spot) -> bool:
    return before.x < TOP - 5 or after.x - before.x < 3


def field(*properties: object) -> System:
    return System(
        domain=domain_of(Spot, None),
        initial=(Spot(0, 0), Spot(1, 0)),
        actions=tuple(instance for each in (right, up, never) for instance in each.instances(None)),
        invariants=tuple(
            instance for each in properties if each is not slowly_at_the_end for instance in each.instances(None)
        ),
        step_properties=tuple(
            instance for each in properties if each is slowly_at_the_end for instance in each.instances(None)
        ),
    )


def comparable(found: Simulation) -> dict[str, object]:
    """What must not depend on how walks were run."""
    return {
        name: getattr(found, name)
        for name in (
            "walks",
            "steps",
            "walk",
            "taken",
            "enabled",
            "bounds_cut",
            "at_depth",
            "at_rest",
            "at_bound",
            "unweighted",
        )
    } | {"trace": found.violation and [(str(step.action), step.state) for step in found.violation.trace]}


@pytest.mark.parametrize(
    "properties", [(), (stays_off_the_corner,), (slowly_at_the_end,), (stays_off_the_corner, slowly_at_the_end)]
)
def test_walks_are_the_same_for_any_number_of_threads(properties: tuple) -> None:
    system = field(*properties)
    walking = Walking(walks=3000, depth=60, seed=5)
    one, three = simulate(system, walking, workers=1), simulate(system, walking, workers=3)
    assert comparable(one) == comparable(three)
    assert (one.violation is not None) == bool(properties)
    if one.violation is None:
        assert one.walks == one.at_depth + one.at_rest + one.at_bound == 3000
        assert one.steps == sum(one.taken.values())
    assert one.enabled["never"] == 0


def test_walks_ended_by_weights_are_counted_apart_from_bounds() -> None:
    """With `right` ruled out, walks go up until `up` is not enabled any more, and `right` is what they lack."""
    found = simulate(field(), Walking(walks=50, depth=3 * TOP, seed=0, weights={"right": 0.0}))
    assert (found.steps, found.unweighted, found.at_rest, found.at_bound) == (50 * TOP, 50, 0, 0)
    still = simulate(field(), Walking(walks=50, depth=3 * TOP, seed=0, weights={"right": 0.0, "up": 0.0}))
    assert (still.steps, still.unweighted) == (0, 50)


def test_another_seed_is_another_walk() -> None:
    walks = [
        comparable(simulate(field(stays_off_the_corner), Walking(walks=5000, depth=90, seed=seed)))
        for seed in (1, 2, 1)
    ]
    assert walks[0] == walks[2]
    assert walks[0] != walks[1]


def test_walks_begin_in_every_initial_state() -> None:
    @invariant()
    def does_not_begin_at_one(state: Spot) -> bool:
        return state != Spot(1, 0)

    found = simulate(field(does_not_begin_at_one), Walking(walks=200, depth=0 + 1, seed=0))
    assert found.violation is not None
    assert found.violation.trace_length <= 1


def test_weights_make_actions_rare_or_impossible() -> None:
    plain = simulate(field(), Walking(walks=2000, depth=20, seed=0))
    assert plain.taken["right"] > 2 * plain.taken["up"] > 0
    rare = simulate(field(), Walking(walks=2000, depth=20, seed=0, weights={"right": 0.01}))
    assert 0 < rare.taken["right"] < 0.1 * rare.taken["up"]
    none = simulate(field(), Walking(walks=2000, depth=90, seed=0, weights={"right": 0}))
    assert (none.taken["right"], none.enabled["right"] > 0) == (0, True)
    assert none.unweighted == none.walks


def test_a_state_at_rest_violates_when_asked() -> None:
    found = simulate(field(), Walking(walks=100, depth=200, seed=0), check_deadlock=True)
    assert found.violation is not None
    assert found.violation.property == DEADLOCK
    assert found.violation.trace[-1].state == Spot(TOP, TOP)
    assert simulate(field(), Walking(walks=100, depth=200, seed=0)).at_rest == 100


def test_time_ends_it() -> None:
    found = simulate(field(), Walking(walks=None, depth=50, seed=0, seconds=0.01))
    assert found.walks > 0
    assert found.violation is None


def test_an_interrupt_keeps_the_walks_so_far() -> None:
    def interrupt(walks: int, steps: int, seconds: float) -> None:
        raise KeyboardInterrupt

    found = simulate(field(), Walking(walks=10**9, depth=50, seed=0), on_progress=interrupt)
    assert 0 < found.walks < 10**9
    assert found.interrupted


@pytest.mark.slow
@settings(max_examples=60)
@given(systems(), st.integers(0, 1000))
def test_walks_in_random_systems_take_real_steps_and_agree_with_the_oracle(system: System, seed: int) -> None:
    found = simulate(system, Walking(walks=60, depth=12, seed=seed), workers=1, check_deadlock=True)
    whole = plain_python.explore(
        system, Budget(max_depth=12, max_states=3000), SearchOptions(keep_going=True), check_deadlock=True
    )
    if found.violation is None:
        assert all(count == 0 or whole.enabled[name] for name, count in found.enabled.items())
        return
    trace = found.violation.trace
    assert trace[0].state in system.initial
    for before, step in itertools.pairwise(trace):
        assert step.action is not None
        assert successor(step.action, before.state, system.domain) == step.state
    if found.violation.property != DEADLOCK:
        judged = [
            each for each in (*system.invariants, *system.step_properties) if each.of.name == found.violation.property
        ]
        assert not all(
            judge_end(system, each, trace[-2].state if len(trace) > 1 else None, trace[-1].state) for each in judged
        )
    if whole.reason != "max-states":
        assert found.violation.property in {violation.property for violation in whole.violations} | {DEADLOCK}


@settings(max_examples=40)
@given(systems(), st.integers(0, 1000))
def test_counts_of_walks_are_those_of_plain_python(system: System, seed: int) -> None:
    """A walk of one step from the only initial state: enabled and cut steps are counted as plain evaluation does."""
    alone = attrs.evolve(system, initial=system.initial[:1], invariants=(), step_properties=(), prospects=())
    found = simulate(alone, Walking(walks=3, depth=1, seed=seed), workers=1)
    results = [successor(action, alone.initial[0], alone.domain) for action in alone.actions]
    cuts = [after for after in results if isinstance(after, Cut)]
    steps = [after for after in results if after is not None and not isinstance(after, Cut)]
    assert sum(found.enabled.values()) == 3 * len(steps)
    assert found.bounds_cut == {
        bound: 3 * sum(bound in cut.bounds for cut in cuts)
        for bound in sorted({bound for cut in cuts for bound in cut.bounds})
    }
    assert (found.at_depth, found.at_bound, found.at_rest) == (
        3 * bool(steps),
        3 * (not steps and bool(cuts)),
        3 * (not steps and not cuts),
    )
