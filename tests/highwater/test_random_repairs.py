"""Random models with random rules: sets of rules come out as if each were explored, whatever is known before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from highwater import SpecError, api
from highwater.claims import counterexamples
from highwater.claims.repairing import Ending, repair
from highwater.explorer.verdict import Auditing
from highwater.model.language.declarations import Action, Invariant
from highwater.model.language.definition import Definition, Model
from highwater.model.language.domain import BOOLEAN, Integers, Limit
from highwater.model.language.graph_properties import FORMS, LEADS_TO, Liveness, Per, Prospect
from highwater.model.language.records import evolve, within
from tests.until import UNTIL

Condition = Callable[["Desk", "Rules"], bool]


@attrs.frozen
class Rules:
    """Any of these may be read by any step or promise, and may be left unread."""

    first: bool = False
    second: bool = False
    third: bool = False
    fourth: bool = False


@attrs.frozen
class Bounds:
    """How often a letter can be filed."""

    filed: int = 2


@attrs.frozen
class Desk:
    """A letter is opened, answered and filed."""

    opened: bool = within(BOOLEAN)
    answered: bool = within(BOOLEAN)
    filed: int = within(Integers(0, Limit(2, "filed")))


CONDITIONS: dict[str, Callable[[Desk], bool]] = {
    "always": lambda desk: True,
    "opened": lambda desk: desk.opened,
    "answered": lambda desk: desk.answered,
    "opened and answered": lambda desk: desk.opened and desk.answered,
    "filed": lambda desk: desk.filed > 0,
    "filed twice": lambda desk: desk.filed == 2,
}
EFFECTS: dict[str, Callable[[Desk], Desk]] = {
    "opens": lambda desk: evolve(desk, opened=True),
    "turns": lambda desk: evolve(desk, opened=not desk.opened),
    "answers": lambda desk: evolve(desk, answered=True),
    "forgets": lambda desk: evolve(desk, opened=False, answered=False),
    "files": lambda desk: evolve(desk, filed=desk.filed + 1),
    "empties": lambda desk: evolve(desk, filed=0),
}


@st.composite
def models(draw: Any) -> Model:
    """Random steps under conditions of which some are others under a rule, and one random property."""

    def condition() -> Condition:
        one, other = (CONDITIONS[draw(st.sampled_from(sorted(CONDITIONS)))] for _ in range(2))
        many, negated = draw(st.sampled_from([0, 1, 1, 2])), draw(st.booleans())
        rules = draw(st.permutations([*attrs.fields_dict(Rules)]))[:many]

        def holds(desk: Desk, protocol: Rules) -> bool:
            wanted = other if rules and all(getattr(protocol, rule) for rule in rules) else one
            return wanted(desk) != negated

        return holds

    def step(number: int) -> Action:
        when, effect = condition(), EFFECTS[draw(st.sampled_from(sorted(EFFECTS)))]

        def done(desk: Desk, protocol: Rules) -> Desk | None:
            return effect(desk) if when(desk, protocol) else None

        done.__name__ = f"step{number}"
        return Action(done, {}, "somebody")

    def promise(desk: Desk, protocol: Rules) -> bool:
        return wanted(desk, protocol)

    actions = tuple(step(number) for number in range(draw(st.integers(2, 5))))
    wanted, premise = condition(), condition()
    kind = draw(st.sampled_from(["liveness", "liveness", "prospect", "safety"]))
    form = draw(st.sampled_from((*FORMS, UNTIL)))
    fairness: dict[str, list[Action]] = {"fair": [], "strongly_fair": [], "unfair": []}
    for each in actions:
        fairness[draw(st.sampled_from(["fair", "fair", "strongly_fair", "unfair"]))].append(each)
    of: Any = Invariant(promise, {})
    if kind == "prospect":
        of = Prospect(promise, {}, along=tuple(fairness["fair"]))
    elif kind == "liveness":
        fair, strongly_fair = (tuple(Per(each, ()) for each in fairness[how]) for how in ("fair", "strongly_fair"))
        asks = form in (LEADS_TO, UNTIL)
        of = Liveness(promise, {}, form=form, fair=fair, strongly_fair=strongly_fair, premise=premise if asks else None)
    definition = Definition(Bounds, Desk, lambda bounds: [Desk(False, False, 0)], actions, properties=(of,))
    return Model("desk", "Letters.", Rules, lambda protocol: definition)


def tried(model: Model) -> dict[frozenset[str], tuple[bool, Any, bool]]:
    """By set of rules: whether the claim holds, what is missing then, and whether that repairs it."""
    spec = api.claim(model=model, bounds={"filed": 2}, check=["promise"], expect={"verdict": "violated"})
    found = list(repair(spec, workers=1, audit=Auditing.NONE).attempts)
    for each in found:
        event(each.ending.value)
    return {
        frozenset(change.key for change in each.changes): (each.ending is Ending.REPAIRED, each.missing, each.repairs)
        for each in found
    }


@pytest.mark.slow
@settings(max_examples=80, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(models())
def test_repairs_are_those_of_searching_each_set_whole(model: Model) -> None:
    try:
        found = tried(model)
    except SpecError as error:
        assert "nothing to repair" in str(error)
        event("nothing to repair")
        return
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(counterexamples._Known, "is_one_under", lambda self, spec, made_of: False)
        assert tried(model) == found
