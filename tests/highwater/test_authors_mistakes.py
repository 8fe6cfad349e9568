"""What an author of a model gets wrong is one line, with file and line, and exit code 2; `bool` and enum classes are
domains.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

MODEL = """\
import enum
import attrs
from highwater import *

class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"

@attrs.frozen
class Bounds:
    top: int = bound(1, 5, "how far")

@attrs.frozen
class State:
    x: int = within(lambda bounds: Integers(0, bounds.top))
    {field}

def initial_states(bounds):
    return {initial}

{declared}
def step({taken}):
    return evolve(state, x=state.x + 1)

@invariant()
def fine(state):
    return True

def define(protocol):
    return Definition(Bounds, State, initial_states, {actions}, properties={properties})

MODEL = Model("m", "A model.", NoToggles, define)
"""
FINE = {
    "field": "",
    "initial": "[State(0)]",
    "declared": '@action(actor="someone")',
    "actions": "(step,)",
    "properties": "(fine,)",
    "taken": "state",
}
Run = Callable[..., Result]


def checked(highwater: Run, folder: Path, name: str, **changes: str) -> Result:
    (folder / f"{name}.py").write_text(MODEL.format(**{**FINE, **changes}))
    spec = folder / f"{name}.toml"
    spec.write_text(f'model = "{name}:MODEL"\nbounds = {{ top = 3 }}\ncheck = ["fine"]\n')
    return highwater("check", spec, "--engine", "python")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bool", "False"),
        ("Colour", "Colour.RED"),
        ("ArrayOf(Colour, 2)", "(Colour.RED, Colour.GREEN)"),
        ("lambda bounds: SetOf(Colour)", "frozenset()"),
        ("Maybe(bool)", "None"),
        ("SequenceOf(bool, 2)", "(True,)"),
        ("lambda bounds: Colour", "Colour.GREEN"),
    ],
)
def test_bool_and_enum_classes_are_domains(highwater: Run, tmp_path: Path, field: str, value: str) -> None:
    name = f"own_{abs(hash(field))}"
    result = checked(highwater, tmp_path, name, field=f"y: object = within({field})", initial=f"[State(0, {value})]")
    assert result.exit_code == 0, result.stderr
    assert "4 distinct" in result.stdout


MISTAKES = {
    "an array without its length": ({"field": "y: tuple = within(lambda b: ArrayOf(Colour))"}, 16, "'length'"),
    "an action that is not declared": ({"declared": ""}, 22, "step is not declared; write @action(actor=...)"),
    "a property that is not declared": ({"properties": "(define,)"}, 29, "define is not declared; write @invariant()"),
    "one state": ({"initial": "State(0)"}, 18, "initial_states returned one State: return a list of states"),
    "no states": ({"initial": "None"}, 18, "initial_states returned None: return a list of states"),
    "states of another class": ({"initial": "[{'x': 0}]"}, 18, "which is no State"),
    "actions that are no tuple": ({"actions": "step"}, 29, "write (step,)"),
    "a set of a domain": (
        {"field": "y: frozenset = within(frozenset(Integers(0, 2)))"},
        16,
        "the domain of sets is SetOf(...)",
    ),
    "the type of a set": ({"field": "y: frozenset = within(frozenset[int])"}, 16, "write SetOf(...)"),
    "a number's type": ({"field": "y: int = within(int)"}, 16, "write Integers(low, high)"),
    "a number's type inside": ({"field": "y: frozenset = within(SetOf(int))"}, 16, "write Integers(low, high)"),
    "a function inside": ({"field": "y: frozenset = within(SetOf(lambda b: bool))"}, 16, "call it with the bounds"),
    "a record inside": ({"field": "y: frozenset = within(SetOf(Bounds))"}, 16, "write records(Bounds)(bounds)"),
    "a value": ({"field": "y: int = within(7)"}, 16, "7 is no domain"),
    "nothing": ({"field": "y: int = within(lambda b: None)"}, 16, "None is no domain"),
    "values one by one": ({"field": 'y: str = within(OneOf("abc"))'}, 16, "OneOf takes all its values together"),
    "bounds that are texts": ({"field": 'y: int = within(Integers("a", "b"))'}, 16, "which is no whole number"),
    "a field without a domain": ({"field": "y: int = 0"}, 16, "declare it with within(...)"),
    "a field of which the docstring speaks": (
        {"field": '"""What is counted.\n\n    Attributes:\n        y: nothing.\n    """\n    y: int = 0'},
        21,
        "as in y: int = within(lambda bounds: Integers(0, bounds.most))",
    ),
    "a parameter with too many values": (
        {"declared": '@action(actor="someone", k=Integers(0, 10**9))', "taken": "state, k"},
        21,
        "step: parameter k has 1,000,000,001 values, and each is tried in each state; allowed are 1,000,000",
    ),
    "two parameters with too many": (
        {"declared": '@action(actor="someone", j=Integers(0, 9), k=SetOf(Integers(0, 70)))', "taken": "state, j, k"},
        21,
        "step: parameter k has more than 10^18 values",
    ),
    "an initial state above a bound": (
        {"initial": "[State(4)]"},
        18,
        "an initial state is outside the bounds: top (State.x is 4, and not 0..3)",
    ),
    "an initial state of another kind": ({"initial": "[State('a')]"}, 18, "an initial state is outside its domain: "),
    "a decorator without parentheses": ({"declared": "@action"}, 21, '@action(actor="...")'),
    "an action without an actor": ({"declared": "@action()"}, 21, "an action names who acts"),
    "a domain that raises": (
        {"field": "y: int = within(lambda b: Integers(0, b.nothing))"},
        16,
        "the model raised AttributeError: ",
    ),
    "initial states that raise": (
        {"initial": "[State(0) for _ in range(bounds.nothing)]"},
        19,
        "the model raised AttributeError: ",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_with_file_and_line(highwater: Run, tmp_path: Path, mistake: str) -> None:
    changes, line, words = MISTAKES[mistake]
    name = f"wrong_{list(MISTAKES).index(mistake)}"
    result = checked(highwater, tmp_path, name, **changes)
    assert (result.exit_code, result.stdout) == (2, "")
    (said,) = result.stderr.splitlines()
    assert re.match(rf"highwater: {tmp_path / name}\.toml:(\d+:\d+:)? ", said)
    assert words in said
    assert f"{tmp_path / name}.py:{line}" in said
