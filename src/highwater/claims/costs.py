"""What a repair of a claim costs: which states and steps are lost and gained, without symmetry."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.claims.changed_rules import COMPLETE, unjudged
from highwater.claims.checking import Result
from highwater.claims.spec import Spec
from highwater.explorer.blame import ModelError, blaming_the_model
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.levels.difference import Difference, difference
from highwater.explorer.search.states.store import Stopped
from highwater.explorer.system import System
from highwater.explorer.verdict import Budget


@attrs.frozen
class Costed(Result):
    """What came out for a claim that holds.

    Attributes:
        cost: what that does to states and steps; None where it could not be compared.
        no_cost: why not.
    """

    cost: Difference | None = None
    no_cost: str = ""


class Costs:
    """What repairs cost, against all states of the spec as it is; these are found once, for the first repair."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._base: tuple[Engine | None, str] | None = None

    def searched(self, spec: Spec, *, budget: Budget, workers: int | None, **options: Any) -> Result:
        """What comes out for a spec, without judging its claim; with the cost if it holds."""
        result = unjudged(spec, budget=budget, workers=workers, **options)
        if result.verdict not in COMPLETE or spec is self._spec:
            return result
        budget = attrs.evolve(budget, max_depth=self._spec.file.max_depth)
        cost, why = self._of(spec.system(), budget, workers)
        parts = {field.name: getattr(result, field.name) for field in attrs.fields(Result)}
        return Costed(**parts, cost=cost, no_cost=why)

    def _of(self, repaired: System, budget: Budget, workers: int | None) -> tuple[Difference | None, str]:
        """The difference, or why there is none."""
        if self._base is None:
            self._base = _reach(self._spec.system(), budget, workers)
        before, why = self._base
        if before is None:
            return None, f"not compared: the spec as it is {why}"
        after, why = _reach(repaired, budget, workers)
        if after is None:
            return None, f"not compared: without symmetry it {why}"
        try:
            return difference(before, after, budget.max_depth), ""
        except Stopped as stopped:
            return None, f"not compared: the steps ran out of {stopped}"
        except ModelError as error:
            return None, f"not compared: {error}".splitlines()[0]


def _reach(system: System, budget: Budget, workers: int | None) -> tuple[Engine | None, str]:
    """All states, or what it ran out of."""
    try:
        with blaming_the_model():
            engine, outcome = breadth_first.reach(system, budget, workers, symmetry=False, keep_trees=True)
    except ModelError as error:
        return None, f"cannot be explored further: {error}".splitlines()[0]
    to_its_end = outcome.reason in ("", f"depth {budget.max_depth}")
    return (engine, "") if to_its_end else (None, f"ran out of {outcome.reason}")
