"""Properties of steps, on a tank whose contents can be counted by hand. Every engine must find exactly these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from highwater.explorer.blame import ModelError
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.verdict import Budget, SearchOptions, Verdict
from highwater.model.language.declarations import Witness, action, invariant, step_property
from highwater.model.language.domain import BOOLEAN, Integers, SetOf
from highwater.model.language.records import evolve, within

TANKS = Integers(0, 2, label="t", names="tanks")


@attrs.frozen
class Tank:
    level: int = within(Integers(0, 9))
    open: bool = within(BOOLEAN)


@action(actor="pump")
def fill(tank: Tank) -> Tank | None:
    return evolve(tank, level=tank.level + 1) if tank.level < 9 and not tank.open else None


@action(actor="valve")
def turn(tank: Tank) -> Tank:
    return evolve(tank, open=not tank.open)


@action(actor="valve")
def drain(tank: Tank) -> Tank | None:
    return evolve(tank, level=tank.level // 2) if tank.open and tank.level > 4 else None


@step_property(mark=Integers(0, 9))
def never_falls_below_a_mark(before: Tank, after: Tank, mark: int) -> Any:
    """Goes down past a mark only where it stood at it."""
    if before.level <= mark or after.level >= mark:
        return True
    return Witness("fell from {old} to {new}", old=before.level, new=after.level)


@step_property()
def changes_one_thing_at_a_time(before: Tank, after: Tank) -> bool:
    return before.level == after.level or before.open == after.open


@invariant()
def never_overflows(tank: Tank) -> bool:
    return tank.level < 6


def test_a_step_property_that_holds_is_found_to_hold(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    outcome = explore(system_of([Tank(0, False)], [fill, turn, drain], [changes_one_thing_at_a_time]))
    assert (outcome.verdict, outcome.distinct_states) == (Verdict.HOLDS, 20)


def test_the_trace_ends_with_the_step_that_breaks_the_property(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    outcome = explore(system_of([Tank(0, False)], [fill, turn, drain], [never_falls_below_a_mark]))
    (violation,) = outcome.violations
    assert [str(step.action) for step in violation.trace[1:]] == ["fill()"] * 5 + ["turn()", "drain()"]
    assert (violation.arguments, violation.witness) == ({"mark": "3"}, "fell from 5 to 2")


def test_a_step_to_a_known_state_is_judged(explore: Callable[..., Any], system_of: Callable[..., Any]) -> None:
    outcome = explore(system_of([Tank(0, False), Tank(2, True)], [turn, drain, fill], [never_falls_below_a_mark]))
    assert outcome.violations[0].trace_length == 6
    assert outcome.violations[0].trace[-1].state == Tank(2, True)


def test_violations_by_a_state_and_a_step_at_one_depth_are_both_reported(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    outcome = explore(
        system_of([Tank(5, True)], [turn, drain, fill], [never_overflows, never_falls_below_a_mark]),
        options=SearchOptions(keep_going=True),
    )
    assert [(violation.property, violation.trace_length) for violation in outcome.violations] == [
        ("never_falls_below_a_mark", 1),
        ("never_overflows", 2),
    ]


def test_a_step_that_a_bound_cuts_breaks_nothing(explore: Callable[..., Any], system_of: Callable[..., Any]) -> None:
    @attrs.frozen
    class Counter:
        count: int = within(lambda bounds: Integers(0, bounds.most))

    @action(actor="counter")
    def jump(counter: Counter) -> Counter:
        return Counter(counter.count + 2)

    @step_property()
    def never_lands_on_four(before: Counter, after: Counter) -> bool:
        return after.count != 4

    @attrs.frozen
    class Most:
        most: int = 3

    outcome = explore(system_of([Counter(0)], [jump], [never_lands_on_four], Most()))
    assert (outcome.verdict, outcome.bounds_cut) == (Verdict.HOLDS, {"most": 1})


def test_a_step_property_that_raises_is_named_with_the_step(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    @step_property()
    def divides(before: Tank, after: Tank) -> bool:
        return before.level // after.level > -1

    with pytest.raises(ModelError, match=r"divides\(\) raised ZeroDivisionError[\s\S]*before Tank[\s\S]*after Tank"):
        explore(system_of([Tank(0, False)], [turn], [divides]))


@attrs.frozen
class Tanks:
    full: frozenset[int] = within(SetOf(TANKS))


@action(actor="pump", tank=TANKS)
def fill_one(tanks: Tanks, tank: int) -> Tanks | None:
    return None if tank in tanks.full else Tanks(tanks.full | {tank})


@step_property(tank=TANKS)
def the_last_one_stays_empty(before: Tanks, after: Tanks, tank: int) -> bool:
    return len(after.full) < 3 or tank in before.full or tank not in after.full


@step_property()
def tank_one_comes_before_tank_two(before: Tanks, after: Tanks) -> bool:
    return 1 in before.full or 2 not in after.full


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("symmetry", [False, True])
def test_threads_and_symmetry_do_not_matter(system_of: Callable[..., Any], workers: int, symmetry: bool) -> None:
    system = system_of([Tanks(frozenset())], [fill_one], [the_last_one_stays_empty])
    system = attrs.evolve(system, interchangeable={"tanks": (0, 1, 2)})
    outcome = breadth_first.explore(system, options=SearchOptions(workers=workers, symmetry=symmetry))
    assert [str(step.action) for step in outcome.violations[0].trace[1:]] == [
        "fill_one(tank t0)",
        "fill_one(tank t1)",
        "fill_one(tank t2)",
    ]
    assert outcome.violations[0].arguments == {"tank": "t2"}


def test_a_step_property_that_distinguishes_names_is_refused(system_of: Callable[..., Any]) -> None:
    system = system_of([Tanks(frozenset())], [fill_one], [tank_one_comes_before_tank_two])
    with pytest.raises(ModelError, match="tank_one_comes_before_tank_two tells"):
        breadth_first.explore(attrs.evolve(system, interchangeable={"tanks": (0, 1, 2)}))


def test_a_violation_is_reported_even_if_the_states_run_out(
    explore: Callable[..., Any], system_of: Callable[..., Any]
) -> None:
    outcome = explore(system_of([Tank(5, True)], [drain, turn, fill], [never_falls_below_a_mark]), Budget(max_states=1))
    assert (outcome.verdict, outcome.violations[0].trace_length) == (Verdict.VIOLATED, 1)
