"""Switch off each rule of a protocol in turn: which property notices, and which rule does none defend?

A green result is worth as much as the properties behind it. A *mutation* is the spec's protocol with one toggle set to another value. It is
caught if a property is violated under it; undefended if every state was seen and none is; and without effect if even the states and steps
are the same: then the bounds leave no room for the rule to matter. A spec may declare rules that it leaves undefended, under `[mutate]`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from enum import Enum
from typing import Any

import attrs

from explorer.verdict import Budget, Outcome, Verdict, Violation
from highwater.claims import Result, check_spec
from highwater.specs.spec import Expectation, Spec, SpecError, find_model, properties_of
from highwater.specs.tables import did_you_mean, shown
from model.definition import Definition

_COMPLETE = (Verdict.HOLDS, Verdict.HOLDS_TO_DEPTH)  # to the spec's own depth: nothing else gives one here


class Fate(Enum):
    """What became of a mutation."""

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
    workers: int | None = None,
    every_property: bool = False,
    rules: Collection[str] = (),
    on_mutation: Callable[[Mutation], None] = lambda mutation: None,
) -> tuple[Result, list[Mutation]]:
    """Explore the spec as it is, and then under each mutation of its protocol.

    Args:
        spec: a claim that holds.
        budget: when to stop the search of each mutation early.
        workers: threads.
        every_property: check all properties of the model that hold under the spec's own protocol, not only those that the spec names.
        rules: the toggles to change; all if empty.
        on_mutation: called after each.

    Returns:
        What came out for the spec as it is, and the mutations.

    Raises:
        SpecError: the spec does not hold, its protocol has no toggles, or it declares rules that do not exist.
    """
    protocols = list(_mutated(spec))
    names = list(dict.fromkeys(rule for rule, _, _ in protocols))
    for rule in rules:
        if rule not in names:
            raise SpecError(f'{spec.path}: "{rule}" is no rule of this protocol{did_you_mean(rule, names)}; allowed are {", ".join(names)}')
    declared = _declared(spec, [f"{rule}={_text(value)}" for rule, value, _ in protocols])
    if every_property:
        spec = _with_every_property(spec, budget, workers)
    base = check_spec(attrs.evolve(spec, file=attrs.evolve(spec.file, expect=Expectation())), budget=budget, workers=workers)
    if base.outcome.reason == "interrupted":
        raise KeyboardInterrupt
    if base.verdict not in _COMPLETE:
        words = f"its verdict is {base.verdict.value}" + (f" ({base.outcome.reason})" if base.outcome.reason else "")
        raise SpecError(f"{spec.path}: rules are switched off in a spec that holds; {words}")
    found = []
    for rule, value, protocol in protocols:
        if rules and rule not in rules:
            continue
        about = (rule, _text(getattr(spec.protocol, rule)), _text(value))
        found.append(_explored(spec, base.outcome, about, protocol, f"{rule}={_text(value)}" in declared, budget, workers))
        on_mutation(found[-1])
    return base, found


def _mutated(spec: Spec) -> Iterator[tuple[str, Any, Any]]:
    """Each toggle, each of its other values, and the protocol with that value."""
    cls = type(spec.protocol)
    attrs.resolve_types(cls)
    toggles = [(field, _values(field.type)) for field in attrs.fields(cls) if not _configures(field)]
    if not any(len(values) > 1 for _, values in toggles):
        raise SpecError(f"{spec.path}: the protocol of the model {spec.file.model} has no rule that could be switched off")
    for field, values in toggles:
        for value in values:
            if value != getattr(spec.protocol, field.name):
                yield field.name, value, attrs.evolve(spec.protocol, **{field.alias: value})


def _configures(field: Any) -> bool:
    """Whether a toggle is a user's setting rather than a rule of the protocol."""
    return field.metadata.get("meaning", "").startswith("configuration:")


def _values(kind: Any) -> tuple[Any, ...]:
    if kind is bool:
        return (True, False)
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, Enum) else ()


def _text(value: Any) -> str:
    return str(value.value) if isinstance(value, Enum) else shown(value)


def _declared(spec: Spec, known: list[str]) -> set[str]:
    declared = spec.file.mutate.undefended
    for each in declared:
        if each not in known:
            raise SpecError(f'{spec.path}: mutate.undefended: "{each}" is no mutation of this protocol; allowed are {", ".join(known)}')
    return set(declared)


def _with_every_property(spec: Spec, budget: Budget, workers: int | None) -> Spec:
    every = attrs.evolve(spec, properties=properties_of(spec.definition))
    outcome = check_spec(every, budget=budget, workers=workers, keep_going=True).outcome
    violated = {violation.property for violation in outcome.violations}
    return attrs.evolve(spec, properties=tuple(of for of in every.properties if of.name not in violated))


def _explored(
    spec: Spec, base: Outcome, about: tuple[str, str, str], protocol: Any, declared: bool, budget: Budget, workers: int | None
) -> Mutation:
    try:
        definition = find_model(spec.file.model).define(protocol)
        if reason := _other(spec.definition, definition):
            return Mutation(*about, Fate.OTHER, reason, declared)
        mutated = attrs.evolve(spec, protocol=protocol, definition=definition, file=attrs.evolve(spec.file, expect=Expectation()))
        result = check_spec(mutated, budget=budget, workers=workers)
    except Exception as error:
        return Mutation(*about, Fate.REFUSED, f"the model cannot be explored: {error}".splitlines()[0], declared)
    outcome = result.outcome
    if outcome.reason == "interrupted":
        raise KeyboardInterrupt
    if (violation := result.violation) is not None:
        return Mutation(*about, Fate.CAUGHT, f"{violation.property} after {violation.trace_length} steps", declared, violation, outcome)
    if outcome.verdict not in _COMPLETE:
        return Mutation(*about, Fate.UNKNOWN, f"ran out of {outcome.reason}", declared, None, outcome)
    if _same(base, outcome):
        return Mutation(*about, Fate.NO_EFFECT, "the same number of states and steps at every depth", declared, None, outcome)
    why = f"{outcome.distinct_states:,} states instead of {base.distinct_states:,}, and no property is violated"
    return Mutation(*about, Fate.UNDEFENDED, why, declared, None, outcome)


def _other(ours: Definition, theirs: Definition) -> str:
    """Why two definitions cannot be compared, if they cannot."""
    if ours.bounds is not theirs.bounds or ours.state is not theirs.state:
        return "has other states or bounds"
    return ""


def _same(base: Outcome, outcome: Outcome) -> bool:
    def told(of: Outcome) -> tuple[Any, ...]:
        return of.levels, of.generated, of.bounds_cut, of.deadlocks, of.stopped_at_bound

    return told(base) == told(outcome)
