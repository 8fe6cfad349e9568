"""Switch off each rule of a protocol in turn: which property notices, and which rule does none defend?

A green result is worth as much as the properties behind it. A *mutation* is the spec's protocol with one toggle set to
another value. It is caught if a property is violated under it; undefended if every state was seen and none is; and
without effect if even the states and steps are the same: then the bounds leave no room for the rule to matter. A spec
may declare rules that it leaves undefended, under `[mutate]`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from enum import Enum
from typing import Any

import attrs

from highwater.claims.changed_rules import COMPLETE, ChangedRules, Places, unjudged
from highwater.claims.checking import Result
from highwater.claims.spec import AnotherModel, Spec, SpecError
from highwater.claims.tables import Wrong
from highwater.explorer.analysis.differing import Differing
from highwater.explorer.analysis.paths import Paths
from highwater.explorer.blame import RAISED, ModelError
from highwater.explorer.verdict import Budget, Outcome, Verdict, Violation
from highwater.visible import counted


class Fate(Enum):
    """What became of a mutation. `REFUSED`: the model does not take the protocol. `UNKNOWN`: its search did not come to
    an end.
    """

    CAUGHT = "caught"
    UNDEFENDED = "undefended"
    NO_EFFECT = "no effect"
    UNKNOWN = "unknown"
    OTHER = "another model"
    REFUSED = "refused"


@attrs.frozen
class Mutation:
    """A protocol with one toggle changed, and what became of it.

    Attributes:
        rule, before, after: the toggle, and its values in the spec and in the mutation.
        fate: what became of it.
        why: in words.
        declared: whether the spec declares it undefended.
        violation: for a caught one, the shortest counterexample.
        outcome: what the exploration found out; None where it was not explored.
    """

    rule: str
    before: str
    after: str
    fate: Fate
    why: str
    declared: bool
    violation: Violation | None = None
    outcome: Outcome | None = None

    @property
    def key(self) -> str:
        """How a spec declares it."""
        return f"{self.rule}={self.after}"

    @property
    def ok(self) -> bool:
        """Whether its fate is the declared one: what is undefended must be declared, and what is caught must not."""
        return not (self.declared if self.fate is Fate.CAUGHT else self.fate is Fate.UNDEFENDED and not self.declared)


def mutate(
    spec: Spec,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    *,
    every_property: bool = False,
    **options: Any,
) -> tuple[Result, Iterator[Mutation]]:
    """Explore the spec as it is, and then under each mutation of its protocol.

    Args:
        spec: a claim that holds.
        budget: when to stop the search of each mutation early.
        every_property: see `mutations_of`.
        options: those of `highwater.claims.changed_rules.ChangedRules`.

    Returns:
        As `mutations_of`.

    Raises:
        SpecError: the spec does not hold, or as `highwater.claims.changed_rules.ChangedRules` says.
        KeyboardInterrupt: the user ended it, also while the mutations are asked for.
    """
    return mutations_of(ChangedRules(spec, unjudged, budget, **options), every_property=every_property)


def mutations_of(rules: ChangedRules, *, every_property: bool = False) -> tuple[Result, Iterator[Mutation]]:
    """The same for rules of a spec that may change.

    Args:
        every_property: check all properties of the model that hold under the spec's own protocol, not only those that
            the spec names.

    Returns:
        What came out for the spec as it is, and the mutations, each explored when it is asked for; none if a budget ran
        out before.

    Raises:
        SpecError: the spec does not hold.
        KeyboardInterrupt: the user ended it, also while the mutations are asked for.
    """
    if every_property:
        _take_every_property(rules)
    base = rules.as_it_is()
    if base.verdict is Verdict.VIOLATED:
        raise SpecError(f"{rules.spec.path}: rules are switched off in a spec that holds; its verdict is violated")
    if base.verdict not in COMPLETE:
        return base, iter(())
    return base, _explored_each(rules, base)


def _take_every_property(rules: ChangedRules) -> None:
    spec = rules.spec
    named = {each.name for each in spec.properties}  # some of one's own, or a refinement
    others = (each for each in spec.definition.known_properties if each.name not in named)
    rules.spec = every = attrs.evolve(spec, properties=(*spec.properties, *others))
    violated = {violation.property for violation in rules.as_it_is(keep_going=True).outcome.violations}
    rules.spec = attrs.evolve(spec, properties=tuple(of for of in every.properties if of.name not in violated))


def _explored_each(rules: ChangedRules, base: Result) -> Iterator[Mutation]:
    def is_explored(places: Places) -> bool:
        try:
            return not base.stands_for(rules.under(places))
        except (Wrong, *RAISED):
            return False

    beside, every = _Beside(rules.spec, rules.workers), [(place,) for place in range(len(rules.changes))]
    rules.coming(every, is_explored)
    for places in every:
        yield _explored(rules, base, places, beside)


def _explored(rules: ChangedRules, base: Result, places: Places, beside: _Beside) -> Mutation:
    spec, change = rules.spec, rules.changes[places[0]]
    became = functools.partial(
        Mutation, change.rule, change.before, change.after, declared=change.key in spec.file.mutate.undefended
    )
    try:
        mutant = rules.under(places)
    except AnotherModel as other:
        return became(Fate.OTHER, str(other))
    except (Wrong, *RAISED) as error:
        return became(Fate.REFUSED, f"the model refuses it: {error}".splitlines()[0])
    if base.stands_for(mutant):
        return became(Fate.NO_EFFECT, "nothing that runs within these bounds reads it", outcome=base.outcome)
    try:
        result = rules.result(places)
    except SpecError as error:
        return became(Fate.UNKNOWN, str(error).removeprefix(f"{spec.path}: ").splitlines()[0].partition("; ")[0])
    outcome = result.outcome
    if (violation := result.violation) is not None:
        why = f"{violation.property} after {counted(violation.trace_length, 'step')}"
        return became(Fate.CAUGHT, why, violation=violation, outcome=outcome)
    if outcome.verdict not in COMPLETE:
        return became(Fate.UNKNOWN, f"ran out of {outcome.reason}", outcome=outcome)
    if _same(base.outcome, outcome):
        if beside.steps_alike(mutant):
            return became(Fate.NO_EFFECT, "the same states and steps", outcome=outcome)
        why = "as many states and steps, but not the same ones, and no property is violated"
        return became(Fate.UNDEFENDED, why, outcome=outcome)
    why = f"{outcome.distinct_states:,} states instead of {base.outcome.distinct_states:,}, and no property is violated"
    return became(Fate.UNDEFENDED, why, outcome=outcome)


class _Beside:
    """The states and steps of a spec as it is, known once they are asked for; others are held beside them."""

    def __init__(self, spec: Spec, workers: int | None) -> None:
        self._spec, self._workers = spec, workers

    def steps_alike(self, mutant: Spec) -> bool:
        """Whether a mutant with as many states and steps has the same ones."""
        if (*self._spec.system().initial,) != (*mutant.system().initial,):
            return False
        try:
            return not Differing(self._ours, self._reached(mutant)).targets
        except ModelError:
            return False  # only in a state that it lacks can the spec as it is be wrong

    @functools.cached_property
    def _ours(self) -> Paths:
        return self._reached(self._spec)

    def _reached(self, spec: Spec) -> Paths:
        """All states from which steps were explored."""
        depth, system = spec.file.max_depth, spec.system()
        budget = Budget(max_depth=None if depth is None else max(depth - 1, 0))
        found = Paths(system, {each.of.name for each in system.actions}, (), budget, workers=self._workers)
        if found.unseen == "interrupted":
            raise KeyboardInterrupt
        return found


def _same(base: Outcome, outcome: Outcome) -> bool:
    def sizes(of: Outcome) -> tuple[Any, ...]:
        return of.levels, of.generated, of.bounds_cut, of.deadlocks, of.stopped_at_bound

    return sizes(base) == sizes(outcome)
