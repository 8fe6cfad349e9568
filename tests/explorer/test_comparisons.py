"""Comparisons that are never true: a member of an enum with a text, a number, or a member of another enum. Both engines
refuse them, in every function of a model.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any

import attrs
import pytest

from highwater.claims.building import build_system
from highwater.claims.resolving import define
from highwater.claims.tables import Wrong
from highwater.explorer import comparisons
from highwater.explorer.analysis import simulate
from highwater.explorer.blame import ModelError
from highwater.explorer.partitioned.worker import PartitionWorker
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import System
from highwater.explorer.verdict import SearchOptions, Walking
from highwater.model.language.declarations import action, invariant, step_property
from highwater.model.language.definition import Definition, Model
from highwater.model.language.domain import Integers, Maybe, OneOf, SetOf
from highwater.model.language.graph_properties import eventually, eventually_always, leads_to, prospect
from highwater.model.language.records import evolve, within


class Role(Enum):
    LEADER = "leader"
    FOLLOWER = "follower"


class Other(Enum):
    LEADER = "leader"
    THIRD = 3


class Level(IntEnum):
    LOW = 0
    HIGH = 1


class Named(StrEnum):
    ONE = "one"
    TWO = "two"


@attrs.frozen
class Box:
    role: Role = within(Role)


@attrs.frozen
class State:
    n: int = within(Integers(0, 5))
    role: Role = within(Role)
    before: Role | None = within(Maybe(Role))
    roles: frozenset[Role] = within(SetOf(Role))
    either: Any = within(OneOf((Role.LEADER, Other.THIRD, "nobody")))
    level: Level = within(Level)
    named: Named = within(Named)
    box: Box = within(Box)


START = State(0, Role.LEADER, None, frozenset({Role.LEADER}), "nobody", Level.LOW, Named.ONE, Box(Role.LEADER))
Systems = Callable[..., System]


@action(actor="x")
def turn(state: State) -> State:
    role = Role.FOLLOWER if state.role is Role.LEADER else Role.LEADER
    return evolve(state, n=(state.n + 1) % 6, role=role, before=state.role, roles=state.roles ^ {role})


def is_leader(role: Any) -> bool:
    return role == "leader"


def matched(state: State) -> bool:
    match state.role:
        case "leader":
            return True
    return False


def looked_up(state: State) -> bool:
    role = state.role
    return role in {"leader", "follower"}


LEADING = frozenset({"leader"})
TABLE = {"leader": 1}

NEVER: dict[str, Callable[[State], Any]] = {
    "a text": lambda s: s.role == "leader" and s.n > 3,
    "a text, late": lambda s: s.n > 3 and s.role == "leader",
    "a text on the left": lambda s: "leader" == s.role,  # noqa: SIM300
    "not a text": lambda s: s.role != "leader",
    "a name": lambda s: s.role == "LEADER",
    "a number": lambda s: s.role == 1,
    "a truth value": lambda s: s.role == True,  # noqa: E712
    "another enum": lambda s: s.role == Other.LEADER,
    "a tuple": lambda s: s.role == ("leader",),
    "in a tuple": lambda s: s.role in ("leader", "follower"),
    "in a list": lambda s: s.role in ["leader"],
    "in a set": lambda s: s.role in {"leader"},
    "in a set by a local name": looked_up,
    "in a set of the module": lambda s: s.role in LEADING,
    "in a table": lambda s: s.role in {"leader": 1},
    "got from a table": lambda s: bool(TABLE.get(s.role)),
    "a text in a set of the state": lambda s: "leader" in s.roles,
    "another enum in a set of the state": lambda s: Other.LEADER in s.roles,
    "a pattern": matched,
    "in a helper": lambda s: is_leader(s.role),
    "a part that may be none": lambda s: s.before == "leader",
    "a member of a set": lambda s: any(role == "leader" for role in s.roles),
    "a part of a record": lambda s: s.box == Box("leader"),
    "a value that it is not beside": lambda s: s.either in (Other.THIRD, "nobody") and s.role == "somebody",
    "counted": lambda s: [s.role].count("leader") > 0,
}

MAY_BE: dict[str, Callable[[State], Any]] = {
    "the same": lambda s: s.role == Role.LEADER and s.n > 3,
    "its value": lambda s: s.role.value == "leader" and s.n > 3,
    "none": lambda s: s.before == None or s.n > 3,  # noqa: E711
    "in a tuple with none": lambda s: s.before in (None, Role.LEADER),
    "in a set": lambda s: s.role in {Role.LEADER},
    "of a domain of several kinds": lambda s: s.either == "nobody" and s.either != Other.THIRD and s.n > 3,
    "a number of an enum of numbers": lambda s: s.level == 1 or s.n > 3,
    "a text of an enum of texts": lambda s: s.named == "one" and s.n > 3,
    "in a set of the state": lambda s: Role.LEADER in s.roles and s.n > 3,
    "records": lambda s: s.box == Box(Role.LEADER) and s.n > 3,
}

KINDS: dict[str, Callable[[Callable[[State], Any]], Any]] = {
    "invariant": lambda asked: invariant()(lambda state: not asked(state)),
    "prospect": lambda asked: prospect(along=[turn])(lambda state: bool(asked(state)) or state.n == 0),
    "liveness": lambda asked: eventually(fair=[turn])(lambda state: bool(asked(state)) or state.n == 5),
    "stability": lambda asked: eventually_always(fair=[turn])(lambda state: not asked(state)),
    "premise": lambda asked: leads_to(lambda state: bool(asked(state)), fair=[turn])(lambda state: state.n == 0),
    "step property": lambda asked: step_property()(lambda before, after: not asked(before)),
}


def guarded(asked: Callable[[State], Any]) -> Any:
    @action(actor="x")
    def harm(state: State) -> State | None:
        return evolve(state, level=Level.HIGH) if asked(state) else None

    return harm


ENGINES = [breadth_first.explore, plain_python.explore]


@pytest.mark.parametrize("explore", ENGINES)
@pytest.mark.parametrize("asked", NEVER.values(), ids=NEVER)
def test_a_comparison_that_is_never_true_is_refused(system_of: Systems, explore: Any, asked: Any) -> None:
    with pytest.raises(ModelError, match="which it never equals") as error:
        explore(system_of([START], [turn, guarded(asked)]))
    assert str(Path(__file__)) in str(error.value)


@pytest.mark.parametrize("explore", ENGINES)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_comparison_that_is_never_true_is_refused_in_every_kind_of_property(
    system_of: Systems, explore: Any, kind: Any
) -> None:
    with pytest.raises(ModelError, match=r"which it never equals; write Role\.LEADER"):
        explore(system_of([START], [turn], [kind(NEVER["a text, late"])]))


@pytest.mark.parametrize("asked", MAY_BE.values(), ids=MAY_BE)
def test_a_comparison_that_may_be_true_is_answered(system_of: Systems, asked: Any) -> None:
    found = [explore(system_of([START], [turn, guarded(asked)])) for explore in ENGINES]
    assert found[0].enabled == found[1].enabled and found[0].levels == found[1].levels
    assert found[0].enabled["harm"] > 0


def test_walks_and_partitions_refuse_a_comparison_that_is_never_true(system_of: Systems) -> None:
    system = system_of([START], [turn, guarded(NEVER["a text"])])
    with pytest.raises(ModelError, match="which it never equals"):
        simulate.simulate(system, Walking(walks=10, depth=3, seed=1), audit=0)
    engine = PartitionWorker(system, symmetry=True, audit=0)
    with pytest.raises(ModelError, match="which it never equals"):
        list(engine.expand(engine.representative_rows(system.initial), owners=1))


class Mode(Enum):
    A = "a"
    B = "b"


@attrs.frozen
class Rules:
    mode: Mode


@attrs.frozen
class Bounds:
    pass


def of_rules(asked: Callable[[Rules], bool], in_define: bool = False) -> Callable[[], Any]:
    @action(actor="x")
    def harm(state: State, protocol: Rules) -> State | None:
        return evolve(state, level=Level.HIGH) if asked(protocol) else None

    def defined(protocol: Rules) -> Definition:
        actions = (turn,) if in_define and asked(protocol) else (turn, harm)
        return Definition(Bounds, State, lambda bounds: [START], actions)

    model = Model("m", "x", Rules, defined)
    return lambda: build_system(define(model, Rules(Mode.A)), Rules(Mode.A), Bounds(), [])


@pytest.mark.parametrize("explore", ENGINES)
@pytest.mark.parametrize(
    "asked", [lambda rules: rules.mode == "b", lambda rules: rules.mode in ("b",), lambda rules: rules.mode in {"b"}]
)
def test_a_toggle_that_is_compared_with_a_text_is_refused(explore: Any, asked: Any) -> None:
    with pytest.raises(ModelError, match="which it never equals"):
        explore(of_rules(asked)())


def test_a_toggle_that_a_definition_compares_with_a_text_is_refused() -> None:
    with pytest.raises(Wrong, match=r"cannot be defined: NeverEqual: Mode\.A is compared with 'b', .*write Mode\.B"):
        of_rules(lambda rules: rules.mode == "b", in_define=True)()


@pytest.fixture
def enums_are_as_outside_of_tests(monkeypatch: pytest.MonkeyPatch, enums_keep_what_compares_them: Any) -> None:
    gc.collect()  # engines of earlier tests
    for name, function in zip(("_begin", "_end"), enums_keep_what_compares_them, strict=True):
        monkeypatch.setattr(comparisons, name, function)
    monkeypatch.delattr(Enum, "__eq__")


def test_comparisons_outside_a_models_functions_are_not_refused(
    system_of: Systems, enums_are_as_outside_of_tests: None
) -> None:
    for explore in ENGINES:
        explore(system_of([START], [turn]), options=SearchOptions(on_progress=lambda progress: Role.LEADER == "leader"))
    assert (Role.LEADER == "leader") is False
    assert "__eq__" not in vars(Enum)


def test_comparisons_beside_a_living_engine_are_not_refused(
    system_of: Systems, enums_are_as_outside_of_tests: None
) -> None:
    """As in a notebook, whose own code goes on beside an engine."""
    engine = PartitionWorker(system_of([START], [turn]), symmetry=True, audit=0)
    assert "__eq__" in vars(Enum)
    assert (Role.LEADER == "leader") is False
    del engine


@pytest.mark.parametrize("explore", ENGINES)
def test_an_action_that_returns_no_state_is_refused(system_of: Systems, explore: Any) -> None:
    @action(actor="x")
    def forget(state: State) -> State | None:
        def other() -> State:
            return state

        if state.n > 3:
            evolve(state, n=0)
            return None

    with pytest.raises(ModelError, match=r"forget never happens: it returns no state; \(.*test_comparisons.py:\d+\)"):
        explore(system_of([START], [turn, forget]))
