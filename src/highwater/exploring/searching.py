"""The shortest way from a state to one that somebody asks for: by a condition, by an action, or by a property.

Plain Python looks through the first few thousand states: that is as fast as the compiled engine can begin. What is not
found there, the compiled engine looks for. Where that is not installed, plain Python goes further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import attrs

from highwater.claims.expressions import expression
from highwater.claims.names import ExpressionError
from highwater.claims.resolving import named, same_name
from highwater.claims.tables import did_you_mean
from highwater.explorer.blame import ModelError
from highwater.explorer.kernels.making.compile_times import TIMES
from highwater.explorer.search.plain import plain_python
from highwater.explorer.system import Cut, System, taken
from highwater.explorer.verdict import Budget, Outcome, Progress, SearchOptions, Step, Verdict
from highwater.model.language.declarations import Instance, Invariant, StepProperty
from highwater.model.language.definition import Definition, Property
from highwater.model.language.graph_properties import Liveness, Prospect

IN_PLAIN_PYTHON, IN_PLAIN_PYTHON_ALONE = 5_000, 50_000
MOST_STATES = 20_000_000


@attrs.frozen
class Way:
    """What a search found.

    Attributes:
        steps: from the state where it began to the first that is asked for; None where there is none.
        says: the result in one sentence.
    """

    steps: tuple[Step, ...] | None
    says: str


class Cancelled:
    """A switch that ends a search from another thread."""

    def __init__(self) -> None:
        self._asked = False

    def ask(self) -> None:
        """End the search that runs."""
        self._asked = True

    def begin(self) -> None:
        """A search begins."""
        self._asked = False

    def __call__(self, progress: Progress | None = None) -> None:
        """Called by the search now and then, and before a kernel is compiled."""
        if self._asked:
            raise KeyboardInterrupt

    @contextmanager
    def heard(self) -> Iterator[None]:
        """While a search runs: several kernels may be compiled before it says for the first time how far it is."""
        self.begin()
        TIMES.listeners.append(self)
        try:
            yield
        finally:
            TIMES.listeners.remove(self)

    @property
    def says(self) -> str:
        """When the search will have stopped."""
        if self not in TIMES.listeners:
            return "no search is running"
        return "stopping once a kernel is compiled, which takes some 10 s" if TIMES.running else "stopping"


@attrs.frozen
class Question:
    """What a search looks for.

    Attributes:
        words: such as `the first state where len(b1.log) > 1`.
        properties: false where the answer is.
        action: the name of an action that is to be possible; empty for any other question.
    """

    words: str
    properties: tuple[Instance, ...]
    action: str = ""


def question(text: str, system: System, definition: Definition) -> Question:
    """What a text asks for: the name of an action or property, or else a condition.

    Raises:
        ExpressionError: it is none of these.
    """
    name = text.strip()
    actions = {each.of.name: each.of for each in system.actions}
    properties: dict[str, Property] = {each.name: each for each in definition.known_properties}
    meant = named(name, [*actions, *properties])
    if len(meant) > 1:
        raise ExpressionError(f"{name} may be {' or '.join(meant)}; type one of them as it is spelt here")
    found = next(iter(meant), None)
    if found in actions:
        enabled = [_enabled(each) for each in system.actions if each.of.name == found]
        return Question(f"{found} is enabled", tuple(enabled), found)
    if found in properties:
        instances = properties[found].instances(system.bounds, system.protocol)
        return Question(f"{found} is false", tuple(instances))
    if name.isidentifier() and "_" in name and name not in system.domain.fields:
        hint = did_you_mean(name, [*actions, *properties], same_name)
        raise ExpressionError(f"{name} is no action and no property of this model{hint}")
    asked = expression(text, system.domain)

    def is_not_so(state: Any) -> bool:
        return not asked.of(state)

    (instance,) = Invariant(is_not_so, {}).instances(system.bounds)
    return Question(name, (instance,))


def _enabled(action: Instance) -> Instance:
    """What is false where an action is enabled."""

    def is_disabled(state: Any) -> bool:
        return action.apply(state) is None

    is_disabled.__name__ = f"{action} is disabled"  # a system has one property of a name
    (instance,) = Invariant(is_disabled, {}).instances(None)
    return instance


def way_to(asked: Question, system: System, start: tuple[Any, ...], cancelled: Cancelled) -> Way:
    """Search breadth first from one of some states, and so for a shortest way.

    Raises:
        ExpressionError: a condition cannot be judged in a state, such as one that compares None with a number.
    """
    searched = _searched_for(asked, system, start)
    try:
        with cancelled.heard():
            alone = find_spec("numba") is None
            most = IN_PLAIN_PYTHON_ALONE if alone else IN_PLAIN_PYTHON
            outcome = plain_python.explore(searched, Budget(max_states=most), SearchOptions(on_progress=cancelled))
            if not alone and outcome.verdict is Verdict.UNKNOWN and outcome.reason == "max-states":
                outcome = _compiled(searched, cancelled) or outcome
    except ModelError as error:
        raise ExpressionError(str(error).partition("; ")[0].replace("is_not_so()", "the condition")) from None
    if outcome.violations:
        return _found(asked, system, outcome)
    states = f"{outcome.distinct_states:,} state{'' if outcome.distinct_states == 1 else 's'}"
    if outcome.verdict is Verdict.HOLDS:
        return Way(None, f"no state within the bounds: all {states} from here were seen, and in none {asked.words}")
    why = "stopped" if outcome.reason == "interrupted" else f"gave up at {outcome.reason}"
    return Way(None, f"{why} after {states}, {outcome.depth} steps deep: in none so far {asked.words}")


def _searched_for(asked: Question, system: System, start: tuple[Any, ...]) -> System:
    """The system with what is asked for as its only properties, and without symmetry: conditions may name brokers."""

    def of(*kinds: type) -> tuple[Instance[Any], ...]:
        return tuple(each for each in asked.properties if isinstance(each.of, kinds))

    return attrs.evolve(
        system,
        initial=start,
        invariants=of(Invariant),
        step_properties=of(StepProperty),
        prospects=of(Prospect),
        liveness=of(Liveness),
        interchangeable={},
    )


def _compiled(system: System, on_progress: Callable[[Progress], None]) -> Outcome | None:
    """The compiled search; None for what only plain Python can explore."""
    from highwater.explorer.search.levels import breadth_first  # imports llvmlite

    try:
        return breadth_first.explore(
            system, Budget(max_states=MOST_STATES), SearchOptions(on_progress=on_progress, symmetry=False)
        )
    except ModelError:
        return None


def _found(asked: Question, system: System, outcome: Outcome) -> Way:
    steps = outcome.violations[0].trace
    length = len(steps) - 1
    away = "here already" if not length else f"{length} step{'' if length == 1 else 's'} away"
    says = f"{asked.words}: {away}"
    if asked.action:
        results = [taken(system, each, steps[-1].state) for each in system.actions if each.of.name == asked.action]
        if all(each is None or isinstance(each, Cut) for each in results):
            bounds = sorted({bound for each in results if isinstance(each, Cut) for bound in each.bounds})
            says = f"{asked.action} passes its guards {away}, but {', '.join(bounds)} cuts it there"
    return Way(steps, says)
