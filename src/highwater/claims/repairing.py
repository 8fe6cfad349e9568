"""Which rules of a protocol, set otherwise, make a violated claim hold, and what does that cost?

Sets of changed rules are tried by size; a superset of one that repairs is not tried, unless that is vacuous. A set is
*rejected by a known counterexample* if its behaviour is still one under the changed rules: its actions are executed in
plain Python, and it is judged there whether they violate the property. Otherwise the set is explored. If that finds a
violation, its counterexample is known for the sets that follow.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum

import attrs
import numpy as np

from highwater.claims.checking import Result
from highwater.claims.counterexamples import KnownCounterexamples
from highwater.claims.mutation import Change, changed, changes_of, unjudged
from highwater.claims.spec import AnotherModel, Spec, SpecError
from highwater.claims.tables import Wrong
from highwater.explorer.analysis.causes import causes, instance_of
from highwater.explorer.blame import RAISED, ModelError, blaming_the_model
from highwater.explorer.compiler.layout import Layout
from highwater.explorer.search.engine.engine import Engine
from highwater.explorer.search.levels import breadth_first
from highwater.explorer.search.levels.difference import Difference, changing_fields, difference, field_of
from highwater.explorer.search.states.store import Stopped
from highwater.explorer.system import System
from highwater.explorer.verdict import DEADLOCK, Auditing, Budget, Outcome, Progress, Verdict, Violation
from highwater.model.language.declarations import Invariant, StepProperty
from highwater.visible import counted

_COMPLETE = (Verdict.HOLDS, Verdict.HOLDS_TO_DEPTH)  # to the spec's own depth: nothing else gives one here


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
    workers: int | None = None,
    rules: Collection[str] = (),
    on_progress: Callable[[Progress], None] = lambda progress: None,
    audit: Auditing | None = None,
) -> Repairing:
    """Explore the spec as it is, and then under sets of changed rules.

    Args:
        spec: a claim that is violated.
        budget: when to stop each search early.
        most_rules: how many rules to change at most.
        workers: threads.
        rules: the rules that may change; all but configuration if empty.
        on_progress: called now and then during each search.
        audit: how much of what each search has found to judge a second time; `QUICK` if None.

    Raises:
        SpecError: the spec is not violated, or as `highwater.claims.mutation.changes_of` says.
        KeyboardInterrupt: the user ended it, also while attempts are asked for.
    """
    changes = changes_of(spec, rules)
    search = functools.partial(unjudged, budget=budget, workers=workers, on_progress=on_progress, audit=audit)
    base = search(spec)
    if base.verdict in _COMPLETE:
        raise SpecError(f"{spec.path}: there is nothing to repair: every property holds within these bounds")
    if base.verdict is not Verdict.VIOLATED:
        return Repairing(base, changes, iter(()))
    costs = _Costs(spec, budget, workers)
    return Repairing(base, changes, _Search(spec, base, changes, search, costs).attempts(most_rules))


class _Search:
    """The sets tried so far: which repair, under which the claim holds at all, and which counterexamples are known. A
    set comes out as a smaller one did, if nothing that ran reads the rest of it.
    """

    def __init__(
        self, spec: Spec, base: Result, changes: list[Change], search: Callable[[Spec], Result], costs: _Costs
    ) -> None:
        self._spec, self._changes, self._search, self._costs = spec, changes, search, costs
        self._repairs: list[set[str]] = []
        self._held: list[tuple[Result, Attempt]] = []
        self._known = KnownCounterexamples()
        self._known.add(spec, base.outcome.violations)
        self._needed = tuple(_needed_by(spec.system(), each) for each in base.outcome.violations)

    def attempts(self, most_rules: int) -> Iterator[Attempt]:
        """Try each set that is no superset of a repair, and changes no rule twice. A vacuous repair hides none."""
        for size in range(1, min(most_rules, rules_of(self._changes)) + 1):
            for chosen in itertools.combinations(self._changes, size):
                keys = {change.key for change in chosen}
                once = len({change.rule for change in chosen}) == size
                if once and not any(repair <= keys for repair in self._repairs):
                    attempt = self._try(chosen)
                    if attempt.repairs:
                        self._repairs.append(keys)
                    yield attempt

    def _try(self, chosen: tuple[Change, ...]) -> Attempt:
        spec = self._spec
        try:
            candidate = spec.under(changed(spec.protocol, chosen))
            if known := self._known.first_under(candidate):
                return Attempt(chosen, Ending.REJECTED, known)
        except AnotherModel as other:
            return Attempt(chosen, Ending.REFUSED, str(other))
        except (Wrong, *RAISED) as error:
            return Attempt(chosen, Ending.REFUSED, f"the model refuses it: {error}".splitlines()[0])
        for result, held in self._held:
            if {*held.changes} < {*chosen} and result.stands_for(candidate):
                return attrs.evolve(held, changes=chosen)
        try:
            result = self._search(candidate)
        except SpecError as error:
            why = str(error).removeprefix(f"{spec.path}: ").splitlines()[0].partition("; ")[0]
            return Attempt(chosen, Ending.UNKNOWN, why)
        outcome = result.outcome
        if outcome.violations:
            self._known.add(candidate, outcome.violations)
            first = outcome.violations[0]
            why = f"{first.property} after {first.length_in_words}"
            return Attempt(chosen, Ending.VIOLATED, why, first, outcome)
        if outcome.verdict not in _COMPLETE:
            return Attempt(chosen, Ending.UNKNOWN, f"ran out of {outcome.reason}", outcome=outcome)
        cost, no_cost = self._costs.of(candidate)
        why = f"holds within these bounds, {counted(outcome.distinct_states, 'state')}"
        found = Attempt(chosen, Ending.REPAIRED, why, outcome=outcome, cost=cost, no_cost=no_cost, needed=self._needed)
        self._held.append((result, found))
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


class _Costs:
    """What repairs cost, against all states of the spec as it is; these are found once, for the first repair."""

    def __init__(self, spec: Spec, budget: Budget, workers: int | None) -> None:
        self._spec, self._workers = spec, workers
        self._budget = attrs.evolve(budget, max_depth=spec.file.max_depth)

    def of(self, repaired: Spec) -> tuple[Difference | None, str]:
        """The difference, or why there is none."""
        before, why = self._base
        if before is None:
            return None, f"not compared: the spec as it is {why}"
        after, why = self._reach(repaired.system())
        if after is None:
            return None, f"not compared: without symmetry it {why}"
        try:
            return difference(before, after, self._budget.max_depth), ""
        except Stopped as stopped:
            return None, f"not compared: the steps ran out of {stopped}"
        except ModelError as error:
            return None, f"not compared: {error}".splitlines()[0]

    @functools.cached_property
    def _base(self) -> tuple[Engine | None, str]:
        return self._reach(self._spec.system())

    def _reach(self, system: System) -> tuple[Engine | None, str]:
        """All states, or what it ran out of."""
        try:
            with blaming_the_model():
                engine, outcome = breadth_first.reach(
                    system, self._budget, self._workers, symmetry=False, keep_trees=True
                )
        except ModelError as error:
            return None, f"cannot be explored further: {error}".splitlines()[0]
        to_its_end = outcome.reason in ("", f"depth {self._budget.max_depth}")
        return (engine, "") if to_its_end else (None, f"ran out of {outcome.reason}")
