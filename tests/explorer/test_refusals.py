"""Which guard refuses an action."""

from __future__ import annotations

import ast
import functools
import random
from pathlib import Path

import attrs
import pytest

from highwater.explorer.analysis.refusals import refusal
from highwater.explorer.system import System, successor
from highwater.model.language.declarations import action
from highwater.model.language.domain import Integers, Maybe
from highwater.model.language.records import within
from tests import small_models


@attrs.frozen
class Pair:
    left: int = within(Integers(0, 9))
    right: int | None = within(Maybe(Integers(0, 9)))

    @property
    def is_even(self) -> bool:
        return self.left % 2 == 0


def taken(pair: Pair, least: int) -> Pair | None:
    if pair.left < least:
        return None
    return Pair(pair.left - least, pair.right)


@action(actor="x")
def of_alternatives(pair: Pair) -> Pair | None:
    if pair.left == 3 or pair.right is None or not pair.is_even:
        return None
    return pair


@action(actor="x")
def of_demands(pair: Pair) -> Pair | None:
    if pair.left > 2 and pair.right is not None:
        return pair
    return None


@action(actor="x")
def of_another_branch(pair: Pair) -> Pair | None:
    if pair.left > 2:
        after = pair
    else:
        return None
    return after


@action(actor="x")
def in_an_expression(pair: Pair) -> Pair | None:
    return None if pair.left > 5 else pair if pair.is_even else None


@action(actor="x")
def in_what_it_calls(pair: Pair) -> Pair | None:
    return taken(pair, 4)


@action(actor="x")
def in_what_it_called(pair: Pair) -> Pair | None:
    rest = taken(pair, 4)
    if rest is None:
        return None
    return rest


@action(actor="x")
def in_a_loop(pair: Pair) -> Pair | None:
    for number in range(3):
        if number == pair.left:
            return None
    return pair


@action(actor="x")
def behind_the_last_case(pair: Pair) -> Pair | None:
    match pair.left:
        case 0:
            return pair
        case 1 if pair.right is not None:
            return pair


@action(actor="x")
def without_a_guard(pair: Pair) -> Pair | None:
    return None


@pytest.mark.parametrize(
    ("of", "state", "guard", "values"),
    [
        (of_alternatives, Pair(3, 1), "pair.left == 3", {"pair.left": "3"}),
        (of_alternatives, Pair(2, None), "pair.right is None", {}),
        (of_alternatives, Pair(1, 1), "not pair.is_even", {"pair.is_even": "False"}),
        (of_demands, Pair(1, 1), "not (pair.left > 2)", {"pair.left": "1"}),
        (of_demands, Pair(5, None), "not (pair.right is not None)", {}),
        (of_another_branch, Pair(1, 1), "not (pair.left > 2)", {"pair.left": "1"}),
        (in_an_expression, Pair(6, 0), "pair.left > 5", {"pair.left": "6"}),
        (in_an_expression, Pair(1, 0), "not pair.is_even", {}),
        (in_what_it_calls, Pair(1, 0), "pair.left < least", {"pair.left": "1", "least": "4"}),
        (in_what_it_called, Pair(1, 0), "pair.left < least", {"pair.left": "1", "least": "4"}),
        (in_a_loop, Pair(2, 0), "number == pair.left", {"number": "2", "pair.left": "2"}),
        (behind_the_last_case, Pair(2, 0), "match pair.left", {"pair.left": "2"}),
        (behind_the_last_case, Pair(1, None), "match pair.left", {"pair.left": "1"}),
        (without_a_guard, Pair(2, 0), "return None", {}),
    ],
)
def test_the_refusing_guard_is_named_with_the_parts_it_read(of, state, guard, values) -> None:
    (instance,) = of.instances(None)
    assert instance.apply(state) is None
    found = refusal(instance, state)
    assert found.guard == guard
    assert dict(found.values).items() >= values.items()
    line = Path(found.file).read_text(encoding="utf-8").splitlines()[found.line - 1]
    assert guard.removeprefix("not ").strip("()") in line


CASES = [case for case in small_models.CASES if case[1] != "kafka-2.1"]


@small_models.cases(CASES)
def test_every_refusal_gives_the_file_and_line_of_its_guard(model: str, name: str) -> None:
    system, dice = small_models.small_system(model, name), random.Random(3)
    state, found = system.initial[0], 0
    for _ in range(4):
        for each in dice.sample(system.actions, min(20, len(system.actions))):
            if successor(each, state, system.domain) is None:
                found += 1
                assert stands_there(refusal(each, state))
        state = next_of(system, state, dice)
    assert found > 4


def stands_there(refused) -> bool:
    guard = refused.guard.removeprefix("not ")
    return bool({guard, guard.strip("()"), guard[1:-1], refused.guard} & texts_at(refused.file)[refused.line])


@functools.cache
def texts_at(file: str) -> dict[int, set[str]]:
    """By line, the line and the expressions that begin there."""
    text = Path(file).read_text(encoding="utf-8")
    found = {number: {line.strip()} for number, line in enumerate(text.splitlines(), 1)}
    for each in ast.walk(ast.parse(text)):
        if isinstance(each, ast.expr):
            found[each.lineno].add(ast.unparse(each))
    return found


def next_of(system: System, state, dice: random.Random):
    after = [successor(each, state, system.domain) for each in system.actions]
    return dice.choice([each for each in after if isinstance(each, system.domain.cls)] or [state])
