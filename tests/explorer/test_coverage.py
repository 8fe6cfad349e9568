"""Exactly the code that ran on no reached state is named."""

from __future__ import annotations

import gc
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import pytest

from highwater.explorer.search.levels.breadth_first import explore
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget, Outcome, SearchOptions, Unreached, Verdict
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


@action(actor="counter")
def restart(state: Counter) -> Counter | None:
    before = state.value
    match before % 2:
        case 0:
            before = 0
        case 1:
            if before > TOP:  # never
                return Counter(before)
        case _:
            return None
    return None if before else Counter(before)


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


@invariant()
def has_a_small_divisor(state: Counter) -> bool | Witness:
    if state.value <= TOP:
        return True
    for divisor in range(2, state.value):
        if state.value % divisor == 0:
            return Witness("{divisor} divides it", divisor=divisor)
    return True


@invariant()
def large_halves_are_small(state: Counter) -> bool:
    half: int
    if state.value > TOP:
        half = state.value // 2
        return half < TOP
    return _is_not_huge(state.value)


def _is_not_huge(value: int) -> bool: return value < 9  # fmt: skip


@invariant()
def none_of_it_is_looked_at(state: Counter) -> bool | Witness:
    if state.value <= TOP:
        return True
    for divisor in range(2, state.value):
        if state.value % divisor == 0:
            return Witness("{divisor} divides it", divisor=divisor)
    why = "it is too large"
    return Witness(why)


@step_property()
def goes_up_slowly(before: Counter, after: Counter) -> bool:
    if after.value < before.value:
        difference = before.value - after.value
        return difference < 2
    return after.value <= before.value + 1


FAR = 90


@attrs.frozen
class Odometer:
    """Counts far."""

    value: int = within(Integers(0, FAR))


@action(actor="car")
def go_on(state: Odometer) -> Odometer | None:
    return Odometer(state.value + 1) if state.value < FAR else None


@invariant()
def rarely_helped(state: Odometer) -> bool:
    return any(state.value == each for each in range(FAR)) or _is_far(state.value)


def _is_far(value: int) -> bool:
    if value > FAR:
        return value % 2 == 0
    return True


def of(system_parts: tuple, budget: Budget | None = None, **options: Any) -> list[tuple[str, str]]:
    outcome = explore(system_of(Counter, *system_parts), budget or Budget(), SearchOptions(workers=1, **options))
    return [(missed.of, missed.text) for missed in outcome.unreached]


def system_of(state: type, actions: tuple, invariants: tuple, steps: tuple = ()) -> System:
    return System(
        domain=domain_of(state, None),
        initial=(state(0),),
        actions=tuple(instance for each in actions for instance in each.instances(None)),
        invariants=tuple(instance for each in invariants for instance in each.instances(None)),
        step_properties=tuple(instance for each in steps for instance in each.instances(None)),
    )


def test_a_property_that_was_put_to_the_test_misses_nothing() -> None:
    assert of(((count,), (is_small, is_not_large), ())) == []


def test_an_antecedent_that_is_never_true_is_named() -> None:
    assert of(((count,), (large_ones_are_even,), ())) == [("large_ones_are_even", "return state.value % 2 == 0")]


def test_a_test_in_front_of_what_exempts_or_refuses_is_named() -> None:
    assert of(((count,), (has_a_small_divisor,), ())) == [
        ("has_a_small_divisor", "for divisor in range(2, state.value):")
    ]
    assert of(((count,), (none_of_it_is_looked_at,), ())) == []


def test_what_compiles_to_nothing_is_not_missed_and_hides_nothing() -> None:
    assert of(((count,), (large_halves_are_small,), ())) == [("large_halves_are_small", "half = state.value // 2")]


def test_equal_functions_of_two_files_are_two(tmp_path: Path) -> None:
    text = "def helps(value, low):\n    if low:\n        return value < 9\n    return value >= 0\n"
    here, there = (loaded(tmp_path / f"{name}.py", text) for name in ("here", "there"))

    @invariant()
    def asks_both(state: Counter) -> bool:
        return here.helps(state.value, True) and there.helps(state.value, False)

    assert of(((count,), (asks_both,), ())) == [("asks_both", "return value >= 0"), ("asks_both", "return value < 9")]


def loaded(path: Path, text: str) -> ModuleType:
    """A module of its own, of this text."""
    path.write_text(text)
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_functions_that_a_property_calls_are_looked_into() -> None:
    assert of(((count,), (helped,), ())) == [("helped", "if value % divisor == 0:"), ("helped", "return value > 0")]


def test_functions_that_only_the_last_of_many_paths_calls_are_looked_into() -> None:
    outcome = explore(system_of(Odometer, (go_on,), (rarely_helped,)), options=SearchOptions(workers=1))
    assert outcome.compiled_paths > FAR
    assert [missed.text for missed in outcome.unreached] == ["return value % 2 == 0"]


def test_step_properties_are_looked_into() -> None:
    assert of(((count,), (), (goes_up_slowly,))) == [("goes_up_slowly", "difference = before.value - after.value")]


def test_actions_are_looked_into_when_asked() -> None:
    assert of(((count, jump), (), ())) == []
    assert of(((count, jump), (), ()), coverage=True) == [("count", "value = 0"), ("jump", "return Counter(0)")]


def test_a_jump_over_a_statement_is_not_the_statement() -> None:
    """Python 3.11.2 says that it is in the same line."""
    missed = [("count", "value = 0"), ("restart", "return Counter(before)"), ("restart", "return None")]
    assert of(((count, restart), (), ()), coverage=True) == missed


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
    system = system_of(Counter, (count, jump), (is_small, large_ones_are_even, helped), (goes_up_slowly,))
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
    system = system_of(Counter, (count,), (is_below_two,))
    outcome = explore(system, options=SearchOptions(workers=1, coverage=True))
    assert outcome.verdict is Verdict.VIOLATED
    texts = Path(__file__).read_text(encoding="utf-8").splitlines()
    paths = {texts[line - 1].strip(): paths for line, paths in outcome.lines[__file__].items()}
    assert paths["return too_large(state.value)"] and paths["return Counter(state.value + 1)"]
    assert not paths["return Counter(value)"]
    assert not explore(system, options=SearchOptions(workers=1)).lines


def test_lines_that_ran_before_a_checkpoint_are_not_called_unreached(tmp_path: Path) -> None:
    def covered(budget: Budget, **options: Any) -> Outcome:
        options = {"workers": 1, "coverage": True, "checkpoint": tmp_path, **options}
        return explore(system_of(Odometer, (go_on,), (is_not_nine,)), budget, SearchOptions(**options))

    assert covered(Budget(max_depth=4)).functions
    later = covered(Budget(), resume=True)
    assert later.verdict is Verdict.VIOLATED
    assert later.functions == () and later.settings_read is None


@invariant()
def is_not_nine(state: Odometer) -> bool:
    if state.value < 2:
        low = state.value + 1
        return low < 9
    return state.value != 9
