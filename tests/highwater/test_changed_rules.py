"""`mutate` and `repair` agree on random small models with a loop in plain Python that tries every protocol.

The loop reads nothing of Highwater but what a search in plain Python finds of one protocol: it sets the toggles,
defines the model, and takes the property of that name.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import Result
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from highwater import api
from highwater.claims.building import build_system
from highwater.claims.mutation import Fate, mutate
from highwater.claims.repairing import Attempt, Ending, repair
from highwater.explorer.analysis.causes import causes
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget, Verdict, Violation
from highwater.model.language.declarations import Action, Invariant, StepProperty
from highwater.model.language.definition import Definition, Model
from highwater.model.language.domain import BOOLEAN, Integers
from highwater.model.language.graph_properties import FORMS, LEADS_TO, Form, Liveness, Per, Prospect
from highwater.model.language.records import evolve, within

Write = Callable[..., Path]
EXAMPLES = int(os.environ.get("HIGHWATER_EXAMPLES", "0"))
MOST_RULES = 2
FIELDS = ("n", "asked", "done")

thorough_or_quick = settings(
    max_examples=EXAMPLES or 20, derandomize=not EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck)
)


class Speed(Enum):
    SLOW = "slow"
    FAST = "fast"
    WILD = "wild"


@attrs.frozen
class Rules:
    """Three rules, of which each model makes of each what it was drawn to."""

    strict: bool = True
    checked: bool = True
    speed: Speed = Speed.SLOW


@attrs.frozen
class Box:
    """A counter, a question, and an answer."""

    n: int = within(Integers(0, 3))
    asked: bool = within(BOOLEAN)
    done: bool = within(BOOLEAN)


@attrs.frozen
class OtherBox:
    """Another state."""

    n: int = within(Integers(0, 3))
    asked: bool = within(BOOLEAN)
    done: bool = within(BOOLEAN)


@attrs.frozen
class NoBounds:
    """Nothing is bounded."""


CONDITIONS: dict[str, Callable[[Any], bool]] = {
    "always": lambda box: True,
    "asked": lambda box: box.asked,
    "not asked": lambda box: not box.asked,
    "done": lambda box: box.done,
    "not done": lambda box: not box.done,
    "small": lambda box: box.n < 2,
    "large": lambda box: box.n == 3,
    "not large": lambda box: box.n < 3,
    "asked and small": lambda box: box.asked and box.n < 2,
}
EFFECTS: dict[str, Callable[[Any], Any]] = {
    "counts": lambda box: evolve(box, n=box.n + 1) if box.n < 3 else None,
    "falls": lambda box: evolve(box, n=0),
    "asks": lambda box: evolve(box, asked=True),
    "answers": lambda box: evolve(box, done=True),
    "forgets": lambda box: evolve(box, asked=False, done=False),
    "nothing": lambda box: box,
}
LITERALS = [(rule, value) for rule, values in (("strict", (True, False)), ("checked", (True, False)), ("speed", Speed))
            for value in values]  # fmt: skip

CHANGED = [(rule, value) for rule, value in LITERALS if getattr(Rules(), rule) != value]


@st.composite
def models(draw: Any) -> Model:
    """A model whose guards, effects, actions, property, initial state and states may each depend on a rule."""

    def literal() -> tuple[str, Any]:
        return draw(st.sampled_from(LITERALS if draw(st.integers(0, 3)) == 0 else CHANGED))

    def so(protocol: Rules, of: tuple[str, Any]) -> bool:
        return getattr(protocol, of[0]) == of[1]

    def condition() -> Callable[[Any], bool]:
        return CONDITIONS[draw(st.sampled_from(sorted(CONDITIONS)))]

    def action(number: int) -> Action:
        when, on, effect, other = (
            condition(),
            literal(),
            *(EFFECTS[draw(st.sampled_from(sorted(EFFECTS)))] for _ in "ab"),
        )
        how = draw(st.sampled_from(["guarded", "stopped", "stopped", "another effect", "plain"]))

        def step(box: Any, protocol: Rules) -> Any:
            ruled = how != "plain" and so(protocol, on)
            if (ruled and how == "stopped") or (not (ruled and how == "guarded") and not when(box)):
                return None
            return (other if ruled and how == "another effect" else effect)(box)

        step.__name__ = f"step{number}"
        return Action(step, {}, "somebody")

    actions = [action(number) for number in range(draw(st.integers(1, 3)))]
    unlisted = {each.name: literal() for each in actions if draw(st.integers(0, 3)) == 0}
    kind = draw(st.sampled_from(["invariant", "invariant", "step", "prospect", *FORMS]))
    good = st.sampled_from(
        ["not asked", "not done", "not large"] if kind in ("invariant", "step") else ["done", "large"]
    )
    weak, of, begin = CONDITIONS[draw(good)], literal(), literal()
    strong = CONDITIONS[draw(good)] if draw(st.booleans()) else weak
    premise = condition()
    fair = tuple(Per(each, ()) for each in actions if draw(st.integers(0, 2)))
    refused, strange = ({literal(), literal()} if draw(st.integers(0, 3)) == 0 else set() for _ in "ab")

    def property_under(protocol: Rules) -> Any:
        wanted = strong if so(protocol, of) else weak

        def is_good(box: Any) -> bool:
            return wanted(box)

        def stays_good(before: Any, after: Any) -> bool:
            return wanted(after) or not wanted(before)

        match kind:
            case Form():
                return Liveness(is_good, {}, form=kind, fair=fair, premise=premise if kind is LEADS_TO else None)
            case "invariant":
                return Invariant(is_good, {})
            case "step":
                return StepProperty(stays_good, {})
        return Prospect(is_good, {}, along=tuple(each.action for each in fair))

    def define(protocol: Rules) -> Definition:
        if sum(so(protocol, each) for each in refused) == 2:
            raise ValueError("these two together")
        cls = OtherBox if sum(so(protocol, each) for each in strange) == 2 else Box
        there = tuple(each for each in actions if not so(protocol, unlisted.get(each.name, ("strict", None))))
        first = cls(1 if so(protocol, begin) else 0, False, False)
        return Definition(
            NoBounds, cls, lambda bounds: [first], there or tuple(actions), properties=(property_under(protocol),)
        )

    return Model("box", "A box.", Rules, define)


# --- the loop in plain Python


@attrs.frozen
class Truth:
    """What a model is under one protocol, to a depth: every state, every step from a state before that depth, whether
    the property is violated.
    """

    states: frozenset[Any]
    steps: frozenset[tuple[Any, str, Any]]
    names: frozenset[str]
    asked: bool
    violated: bool

    @property
    def happening(self) -> set[str]:
        return {name for before, name, after in self.steps if before != after}

    @property
    def varying(self) -> set[str]:
        return {name for name in FIELDS if len({getattr(each, name) for each in self.states}) > 1}


def truth(model: Model, protocol: Rules, depth: int | None) -> Truth | None:
    """What is so under a protocol; None if the model refuses it or has other states."""
    try:
        definition = model.define(protocol)
    except ValueError:
        return None
    if definition.state is not Box:
        return None
    functions = {each.name: each.function for each in definition.actions}
    level = list(definition.initial_states(None))
    states, steps, depths = set(level), set(), itertools.count()
    while level:
        found, below = [], next(depths)
        for state in level if depth is None or below < depth else ():
            for name, function in functions.items():
                after = function(state, protocol)
                if after is not None:
                    steps.add((state, name, after))
                    if after not in states:
                        states.add(after)
                        found.append(after)
        level = found
    (of,) = definition.known_properties
    system = build_system(definition, protocol, NoBounds(), (of,))
    violated = plain_python.explore(system, Budget(max_depth=depth)).verdict is Verdict.VIOLATED
    asked = isinstance(of, Liveness) and of.premise is not None and any(map(of.premise, states))
    return Truth(frozenset(states), frozenset(steps), frozenset(functions), asked, violated)


def is_vacuous(system: System, before: Truth, after: Truth, counterexample: Violation) -> bool:
    """Whether something that the counterexample needs never happens any more. What it depends on is what its slice
    says, which has tests of its own.
    """
    trace = counterexample.trace
    changes = [
        (now.action.of.name, {name for name in FIELDS if getattr(was.state, name) != getattr(now.state, name)})
        for was, now in itertools.pairwise(trace)
    ]
    (of,) = (*system.invariants, *system.step_properties, *system.prospects, *system.liveness)
    why = causes(system, trace, of, counterexample.back_to)
    earlier = set().union(*(fields for _, fields in changes[:-1]))
    forbidden = {name for name in why.read_by_property if name not in earlier}
    if isinstance(of.of, Prospect | Liveness) or len(why.read_by_property) > 1:
        forbidden = set()
    in_place = (after.names - before.names) & after.happening
    gone = {name for name in before.happening - after.happening if name in after.names or not in_place}
    constant = before.varying - after.varying - forbidden
    return (
        any(fields & constant and name in gone for name, fields in changes)
        or any(fields & constant & why.relied_on for _, fields in changes)
        or (before.asked and not after.asked)
    )


def others(protocol: Rules, most: int) -> Iterator[Rules]:
    """The protocols that differ in some rules, those with fewer first."""
    changes = [(rule, value) for rule, value in LITERALS if getattr(protocol, rule) != value]
    for size in range(1, most + 1):
        for chosen in itertools.combinations(changes, size):
            if len(dict(chosen)) == size:
                yield attrs.evolve(protocol, **dict(chosen))


def keys(protocol: Rules, base: Rules) -> frozenset[str]:
    return frozenset(
        f"{rule}={value.value if isinstance(value, Enum) else str(value).lower()}"
        for rule, value in attrs.asdict(protocol).items()
        if value != getattr(base, rule)
    )


def claim(model: Model, depth: int | None, *, violated: bool) -> tuple[api.Spec, Truth, int | None]:
    """The claim about a model that takes the first protocol, what is so, and the depth to which it is looked at."""
    of = model.define(Rules()).known_properties[0] if truth(model, Rules(), 0) else None
    depth = None if isinstance(of, Prospect | Liveness) else depth
    before = truth(model, Rules(), depth)
    assume(of is not None and before is not None and before.violated is violated)
    more = {} if depth is None else {"max_depth": depth}
    return api.claim(model=model, bounds={}, check=[of.name], **more), before, depth


@thorough_or_quick
@given(models(), st.sampled_from([None, None, 1, 3]))
def test_a_random_claim_has_the_same_repairs_as_in_plain_python(model: Model, depth: int | None) -> None:
    spec, before, depth = claim(model, depth, violated=True)
    found = repair(spec, workers=1, most_rules=MOST_RULES)
    (counterexample,) = found.base.outcome.violations
    said = {frozenset(change.key for change in each.changes): _in_short(each) for each in found.attempts}
    wanted: dict[frozenset[str], str] = {}
    for protocol in others(Rules(), MOST_RULES):
        changed, after = keys(protocol, Rules()), truth(model, protocol, depth)
        if any(short == "repairs" and less < changed for less, short in wanted.items()):
            continue
        if after is None:
            wanted[changed] = "refused"
        elif after.violated:
            wanted[changed] = "violated"
        else:
            wanted[changed] = "vacuous" if is_vacuous(spec.system(), before, after, counterexample) else "repairs"
        event(wanted[changed])
    assert said == wanted


def _in_short(attempt: Attempt) -> str:
    match attempt.ending:
        case Ending.REPAIRED:
            return "repairs" if attempt.repairs else "vacuous"
        case Ending.REJECTED | Ending.VIOLATED:
            return "violated"
        case ending:
            return ending.value


@thorough_or_quick
@given(models(), st.sampled_from([None, None, 1, 3]))
def test_a_random_rule_has_the_same_fate_as_in_plain_python(model: Model, depth: int | None) -> None:
    spec, before, depth = claim(model, depth, violated=False)
    said = {frozenset({each.key}): each.fate for each in mutate(spec, workers=1)[1]}
    for protocol in others(Rules(), 1):
        after, fate = truth(model, protocol, depth), said.pop(keys(protocol, Rules()))
        event(fate.value)
        if after is None:
            assert fate in (Fate.REFUSED, Fate.OTHER)
        elif after.violated:
            assert fate is Fate.CAUGHT
        else:
            same = (after.states, after.steps) == (before.states, before.steps)
            assert fate is (Fate.NO_EFFECT if same else Fate.UNDEFENDED)
    assert not said


# --- a model that lies beside its claim

LEAKS = """
import attrs
from highwater.model.language.declarations import action, invariant
from highwater.model.language.definition import Definition, Model
from highwater.model.language.domain import Integers
from highwater.model.language.records import evolve, within

@attrs.frozen
class Rules:
    tight: bool

@attrs.frozen
class Count:
    n: int = within(Integers(0, 9))

@attrs.frozen
class Bounds:
    pass

@action(actor="x")
def up(count, protocol: Rules):
    return evolve(count, n=count.n + 1) if count.n < (3 if protocol.tight else 9) else None

@invariant()
def small(count):
    return count.n <= 3

def define(protocol):
    if {refuses}:
        raise ValueError("as it is or not at all")
    return Definition(Bounds, Count, lambda bounds: [Count(0)], (up,), properties=(small,))

M = Model("leaks", "Leaks.", Rules, define)
"""


@pytest.mark.parametrize("command", ["mutate", "repair"])
def test_rules_are_changed_of_a_model_that_lies_beside_its_claim(
    highwater: Callable[..., Result], write_spec: Write, tmp_path: Path, command: str
) -> None:
    name = f"leaks_{command}"
    (tmp_path / f"{name}.py").write_text(LEAKS.replace("{refuses}", "False"), encoding="utf-8")
    expect = {"verdict": "holds" if command == "mutate" else "violated"}
    spec = write_spec(
        model=f"{name}:M", protocol={"tight": command == "mutate"}, bounds={}, check=["small"], expect=expect
    )
    result = highwater(command, spec)
    assert (result.exit_code, result.stderr) == (0, "")
    said = {
        "mutate": "1 of 1 mutations caught",
        "repair": "holds     tight false → true: holds within these bounds, 4 states",
    }
    assert said[command] in result.stdout


@pytest.mark.parametrize("command", ["mutate", "repair"])
def test_a_model_that_takes_no_other_protocol_gives_no_answer(
    highwater: Callable[..., Result], write_spec: Write, tmp_path: Path, command: str
) -> None:
    name, holds = f"stubborn_{command}", command == "mutate"
    refuses = f"protocol.tight is not {holds}"
    (tmp_path / f"{name}.py").write_text(LEAKS.replace("{refuses}", refuses), encoding="utf-8")
    spec = write_spec(
        model=f"{name}:M",
        protocol={"tight": holds},
        bounds={},
        check=["small"],
        expect={"verdict": "holds" if holds else "violated"},
    )
    result = highwater(command, spec)
    assert result.exit_code == 2
    assert "caught" not in result.stdout.replace("as it is", "")
    arrow = f"tight {str(holds).lower()} → {str(not holds).lower()}"
    assert f"no other protocol could be tried; with {arrow} the model refuses it: model: leaks" in result.stderr
