"""Exactly the code that ran on no reached state is named."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.explorer.search.levels.breadth_first import explore
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget, SearchOptions, Unreached, Verdict
from highwater.model.language.declarations import Witness, action, invariant, step_property
from highwater.model.language.domain import Integers
from highwater.model.language.records import domain_of, within

TOP = 5


@attrs.frozen
class Counter:
    """Counts up to five, in steps of one."""

    value: int = within(Integers(0, TOP))


@action(actor="counter")
def count(state: Counter) -> Counter | None:
    if state.value == TOP:
        return None
    if state.value > TOP:  # never
        value = 0
        return Counter(value)
    return Counter(state.value + 1)


@action(actor="counter")
def jump(state: Counter) -> Counter | None:
    if state.value != TOP + 1:
        return None
    return Counter(0)


@invariant()
def is_small(state: Counter) -> bool | Witness:
    if state.value > TOP:
        why = "{value} is too large"
        return Witness(why, value=state.value)
    return True


def too_large(value: int) -> Witness:
    return Witness("{value} is too large", value=value)


@invariant()
def is_not_large(state: Counter) -> bool | Witness:
    if state.value == TOP + 1:
        return True
    if state.value <= TOP:
        return True
    return too_large(state.value)


@invariant()
def large_ones_are_even(state: Counter) -> bool:
    if state.value <= TOP:
        return True
    return state.value % 2 == 0


@invariant()
def helped(state: Counter) -> bool:
    return _holds_for(state.value)


def _holds_for(value: int) -> bool:
    for divisor in range(10, value):
        if value % divisor == 0:
            return False
    match value:
        case 7:
            return value > 0
        case _:
            pass
    return True


@step_property()
def goes_up_slowly(before: Counter, after: Counter) -> bool:
    if after.value < before.value:
        difference = before.value - after.value
        return difference < 2
    return after.value <= before.value + 1


def of(system_parts: tuple, budget: Budget | None = None, **options: Any) -> list[tuple[str, str]]:
    actions, invariants, steps = system_parts
    system = System(
        domain=domain_of(Counter, None),
        initial=(Counter(0),),
        actions=tuple(instance for each in actions for instance in each.instances(None)),
        invariants=tuple(instance for each in invariants for instance in each.instances(None)),
        step_properties=tuple(instance for each in steps for instance in each.instances(None)),
    )
    outcome = explore(system, budget or Budget(), SearchOptions(workers=1, **options))
    return [(missed.of, missed.text) for missed in outcome.unreached]


def test_a_property_that_was_put_to_the_test_misses_nothing() -> None:
    assert of(((count,), (is_small, is_not_large), ())) == []


def test_an_antecedent_that_is_never_true_is_named() -> None:
    assert of(((count,), (large_ones_are_even,), ())) == [("large_ones_are_even", "return state.value % 2 == 0")]


def test_functions_that_a_property_calls_are_looked_into() -> None:
    assert of(((count,), (helped,), ())) == [("helped", "if value % divisor == 0:"), ("helped", "return value > 0")]


def test_step_properties_are_looked_into() -> None:
    assert of(((count,), (), (goes_up_slowly,))) == [("goes_up_slowly", "difference = before.value - after.value")]


def test_actions_are_looked_into_when_asked() -> None:
    assert of(((count, jump), (), ())) == []
    assert of(((count, jump), (), ()), coverage=True) == [("count", "value = 0"), ("jump", "return Counter(0)")]


def test_an_incomplete_search_reports_no_unreached_lines() -> None:
    assert of(((count,), (large_ones_are_even,), ()), budget=Budget(max_depth=2)) == []


def test_an_unreached_line_has_the_right_file_and_number() -> None:
    system = System(
        domain=domain_of(Counter, None),
        initial=(Counter(0),),
        actions=tuple(count.instances(None)),
        invariants=tuple(large_ones_are_even.instances(None)),
    )
    outcome = explore(system, options=SearchOptions(workers=1))
    assert outcome.verdict is Verdict.HOLDS
    missed = outcome.unreached[0]
    assert isinstance(missed, Unreached)
    assert missed.file == __file__
    with open(missed.file, encoding="utf-8") as file:
        assert file.read().splitlines()[missed.line - 1].strip() == missed.text


@pytest.mark.parametrize("workers", [1, 2])
def test_threads_miss_the_same(workers: int) -> None:
    parts = ((count, jump), (is_small, large_ones_are_even, helped), (goes_up_slowly,))
    actions, invariants, steps = parts
    system = System(
        domain=domain_of(Counter, None),
        initial=(Counter(0),),
        actions=tuple(instance for each in actions for instance in each.instances(None)),
        invariants=tuple(instance for each in invariants for instance in each.instances(None)),
        step_properties=tuple(instance for each in steps for instance in each.instances(None)),
    )
    assert [u.line for u in explore(system, options=SearchOptions(workers=workers)).unreached] == [
        u.line for u in explore(system, options=SearchOptions(workers=1)).unreached
    ]


def test_finalizers_do_not_count_as_model_code() -> None:
    def at_collection(phase: str, info: dict[str, int]) -> None:
        if TOP < 0:
            raise AssertionError("never ran")

    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    gc.callbacks.append(at_collection)
    try:
        assert of(((count,), (is_small, is_not_large), ())) == []
    finally:
        gc.callbacks.remove(at_collection)
        gc.set_threshold(*thresholds)
    assert gc.isenabled()


@invariant()
def is_below_two(state: Counter) -> bool | Witness:
    if state.value < 2:
        return True
    return too_large(state.value)


def test_lines_that_ran_before_a_violation_are_counted() -> None:
    system = System(
        domain=domain_of(Counter, None),
        initial=(Counter(0),),
        actions=tuple(count.instances(None)),
        invariants=tuple(is_below_two.instances(None)),
    )
    outcome = explore(system, options=SearchOptions(workers=1, coverage=True))
    assert outcome.verdict is Verdict.VIOLATED
    texts = Path(__file__).read_text(encoding="utf-8").splitlines()
    paths = {texts[line - 1].strip(): paths for line, paths in outcome.lines[__file__].items()}
    assert paths["return too_large(state.value)"] and paths["return Counter(state.value + 1)"]
    assert not paths["return Counter(value)"]
    assert not explore(system, options=SearchOptions(workers=1)).lines
