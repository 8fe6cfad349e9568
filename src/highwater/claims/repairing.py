"""Which rules of a protocol, set otherwise, make a violated claim hold, and what does that cost?

Sets of changed rules are tried by size; a superset of one that repairs is not tried, unless that is vacuous. A set is
*rejected by a known counterexample* if its behaviour is still one under the changed rules: its actions are executed in
plain Python, and it is judged there whether they violate the property. Otherwise the set is explored. If that finds a
violation, its counterexample is known for the sets that follow.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Any

import attrs
import numpy as np

from highwater.claims.changed_rules import COMPLETE, Change, ChangedRules, Places
from highwater.claims.checking import Result
from highwater.claims.costs import Costed, Costs
from highwater.claims.counterexamples import KnownCounterexamples
from highwater.claims.spec import AnotherModel, Spec, SpecError
from highwater.claims.tables import Wrong
from highwater.explorer.analysis.causes import causes, instance_of
from highwater.explorer.blame import RAISED, ModelError
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.search.levels.difference import Difference, changing_fields, field_of
from highwater.explorer.system import System
from highwater.explorer.verdict import DEADLOCK, Budget, Outcome, Verdict, Violation
from highwater.model.language.declarations import Invariant, StepProperty
from highwater.visible import counted


class Ending(Enum):
    """What became of the claim under a set of changed rules. `REFUSED`: the model does not take the protocol, or has
    other states under it. `UNKNOWN`: the search did not come to an end.
    """

    REPAIRED = "holds"
    REJECTED = "the counterexample stays"
    VIOLATED = "violated"
    UNKNOWN = "unknown"
    REFUSED = "refused"


@attrs.frozen
class Needed:
    """What a counterexample needs.

    Attributes:
        changed_by: by action, the fields of the state that it changes there.
        fields: those that the counterexample changes and depends on.
        forbidden: of these, the one whose change is the violation: the property looks at nothing else, and it changes
            in the last step only, such as a note of what went wrong.
    """

    changed_by: Mapping[str, frozenset[str]]
    fields: frozenset[str]
    forbidden: frozenset[str]

    def needs_action(self, name: str, constant: Collection[str]) -> bool:
        """Whether an action that never happens is missing: some field that it changes never changes either."""
        return _within(self.changed_by.get(name, frozenset()) - self.forbidden, constant)

    def needs_field(self, name: str) -> bool:
        """Whether a field that never changes is missing."""
        return _within(self.fields - self.forbidden, [name])


def _within(fields: Collection[str], outer: Collection[str]) -> bool:
    """Whether some field is one of others, or part of one."""
    return any(field == other or field.startswith(f"{other}.") for field in fields for other in outer)


@attrs.frozen
class Attempt:
    """A set of changed rules, and what became of the claim.

    Attributes:
        changes: the rules, with both values.
        ending: what became of the claim.
        why: in words.
        violation: the counterexample that an exploration found; None where a known one was enough.
        outcome: what the exploration found out; None where there was none.
        cost: for a repair, what it does to states and steps; None where that could not be compared.
        no_cost: why not.
        needed: what the claim's own counterexamples need.
    """

    changes: tuple[Change, ...]
    ending: Ending
    why: str
    violation: Violation | None = None
    outcome: Outcome | None = None
    cost: Difference | None = None
    no_cost: str = ""
    needed: tuple[Needed, ...] = ()

    @property
    def missing(self) -> dict[str, bool]:
        """What happens under the spec's own rules and never under these, and whether the counterexample needs it."""
        if self.cost is None:
            return {}
        return {
            **{
                f"{name} never happens": any(each.needs_action(name, self.cost.constant) for each in self.needed)
                for name in self.cost.never
            },
            **{
                f"{field} never changes": any(each.needs_field(field) for each in self.needed)
                for field in self.cost.constant
            },
            **{f"{each.of} never looks further than {each.text!r}": True for each in self.cost.unlooked},
            **{f"the premise of {name} is never true": True for name in self.cost.unasked},
        }

    @property
    def repairs(self) -> bool:
        """Whether the claim holds, and not only because something never happens any more."""
        return self.ending is Ending.REPAIRED and not self.vacuous

    @property
    def vacuous(self) -> bool:
        """Whether a repair may hold only because something never happens any more that the counterexample needs, or
        because a property looks at less.
        """
        return any(self.missing.values())


def rules_of(changes: Collection[Change]) -> int:
    """How many rules there are to change."""
    return len({change.rule for change in changes})


@attrs.frozen
class Repairing:
    """The search for repairs of one claim.

    Attributes:
        base: what came out for the spec as it is.
        changes: each other value of each rule.
        attempts: the sets, each tried when it is asked for; of one size after the other.
    """

    base: Result
    changes: list[Change]
    attempts: Iterator[Attempt]


def repair(
    spec: Spec,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    *,
    most_rules: int = 2,
    **options: Any,
) -> Repairing:
    """Explore the spec as it is, and then under sets of changed rules.

    Args:
        spec: a claim that is violated.
        budget: when to stop each search early.
        most_rules: how many rules to change at most.
        options: those of `highwater.claims.changed_rules.ChangedRules`.

    Raises:
        SpecError: the spec is not violated, or as `highwater.claims.changed_rules.ChangedRules` says.
        KeyboardInterrupt: the user ended it, also while attempts are asked for.
    """
    return repairs_among(rules_that_may_repair(spec, budget, **options), most_rules)


def rules_that_may_repair(spec: Spec, budget: Budget, **options: Any) -> ChangedRules:
    """The rules of a violated claim that may change, whose searches measure what a repair costs."""
    return ChangedRules(spec, Costs(spec).searched, budget, **options)


def repairs_among(rules: ChangedRules, most_rules: int) -> Repairing:
    """The search for repairs of a claim among sets of so many of its rules.

    Raises:
        SpecError: the spec is not violated.
        KeyboardInterrupt: the user ended it, also while attempts are asked for.
    """
    base = rules.as_it_is()
    if base.verdict in COMPLETE:
        raise SpecError(f"{rules.spec.path}: there is nothing to repair: every property holds within these bounds")
    attempts = _Search(rules, base).attempts(most_rules) if base.verdict is Verdict.VIOLATED else iter(())
    return Repairing(base, rules.changes, attempts)


class _Search:
    """The sets tried so far: which repair, under which the claim holds at all, and which counterexamples are known. A
    set comes out as a smaller one did, if nothing that ran reads the rest of it.
    """

    def __init__(self, rules: ChangedRules, base: Result) -> None:
        self._rules, spec = rules, rules.spec
        self._repairs: list[set[int]] = []
        self._held: list[tuple[set[int], Result, Attempt]] = []
        self._known = KnownCounterexamples()
        self._known.add(spec, base.outcome.violations)
        self._needed = tuple(_needed_by(spec.system(), each) for each in base.outcome.violations)

    def attempts(self, most_rules: int) -> Iterator[Attempt]:
        """Try each set that is no superset of a repair, and changes no rule twice. A vacuous repair hides none."""
        for size in range(1, min(most_rules, rules_of(self._rules.changes)) + 1):
            self._rules.coming(self._sets_of(size), self._is_to_be_searched)
            for places in self._sets_of(size):
                attempt = self._try(places)
                if attempt.repairs:
                    self._repairs.append({*places})
                yield attempt

    def _sets_of(self, size: int) -> Iterator[Places]:
        changes = self._rules.changes
        for places in itertools.combinations(range(len(changes)), size):
            once = rules_of([changes[place] for place in places]) == size
            if once and not any(repair <= {*places} for repair in self._repairs):
                yield places

    def _is_to_be_searched(self, places: Places) -> bool:
        """Whether nothing that is known by now answers for a set."""
        try:
            candidate = self._rules.under(places)
            return not self._known.any_under(candidate) and self._as_a_smaller_one(places, candidate) is None
        except (Wrong, *RAISED):
            return False

    def _as_a_smaller_one(self, places: Places, candidate: Spec) -> Attempt | None:
        held = (found for less, result, found in self._held if less < {*places} and result.stands_for(candidate))
        return next(held, None)

    def _try(self, places: Places) -> Attempt:
        chosen = tuple(self._rules.changes[place] for place in places)
        try:
            candidate = self._rules.under(places)
            if known := self._known.first_under(candidate):
                return Attempt(chosen, Ending.REJECTED, known)
        except AnotherModel as other:
            return Attempt(chosen, Ending.REFUSED, str(other))
        except (Wrong, *RAISED) as error:
            return Attempt(chosen, Ending.REFUSED, f"the model refuses it: {error}".splitlines()[0])
        if (held := self._as_a_smaller_one(places, candidate)) is not None:
            return attrs.evolve(held, changes=chosen)
        try:
            result = self._rules.result(places)
        except SpecError as error:
            why = str(error).removeprefix(f"{candidate.path}: ").splitlines()[0].partition("; ")[0]
            return Attempt(chosen, Ending.UNKNOWN, why)
        outcome = result.outcome
        if outcome.violations:
            self._known.add(candidate, outcome.violations)
            first = outcome.violations[0]
            why = f"{first.property} after {first.length_in_words}"
            return Attempt(chosen, Ending.VIOLATED, why, first, outcome)
        if not isinstance(result, Costed):
            return Attempt(chosen, Ending.UNKNOWN, f"ran out of {outcome.reason}", outcome=outcome)
        why = f"holds within these bounds, {counted(outcome.distinct_states, 'state')}"
        cost, no_cost, needed = result.cost, result.no_cost, self._needed
        found = Attempt(chosen, Ending.REPAIRED, why, None, outcome, cost, no_cost, needed)
        self._held.append(({*places}, result, found))
        return found


def _needed_by(system: System, violation: Violation) -> Needed:
    """What a counterexample needs; all that it changes, if what it depends on cannot be told."""
    layout, trace = Layout(system.domain), violation.trace
    words = np.array([layout.pack(step.state) for step in trace], np.uint64)
    changes = [changing_fields(layout, words[at - 1 : at + 1]) for at in range(1, len(trace))]
    changed_by: dict[str, frozenset[str]] = {}
    for step, fields in zip(trace[1:], changes, strict=True):
        changed_by[step.taken.of.name] = changed_by.get(step.taken.of.name, frozenset()) | fields
    everything = frozenset().union(*changes)
    violated = instance_of(system, violation.property, violation.arguments, trace, violation.back_to)
    if violated is None and violation.property != DEADLOCK:
        return Needed(changed_by, everything, frozenset())
    try:
        why = causes(system, trace, violated, violation.back_to)
    except ModelError:
        return Needed(changed_by, everything, frozenset())
    looked_at = {field_of(path) for path in why.read_by_property}
    before = frozenset().union(*changes[:-1])
    is_at_the_end = violated is not None and isinstance(violated.of, Invariant | StepProperty)
    forbidden = everything & looked_at - before if is_at_the_end and len(looked_at) == 1 else frozenset()
    return Needed(changed_by, everything & {field_of(path) for path in why.relied_on}, forbidden)
