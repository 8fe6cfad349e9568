"""Traces: the actions between the states of a path. Finding them replays the path in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import attrs

from highwater.explorer.blame import RAISED, Contradiction, ModelError, where
from highwater.explorer.system import System, judge_end, taken
from highwater.explorer.verdict import DEADLOCK, Step, Violation
from highwater.model.language.declarations import Instance, Truth, Witness, names_in
from highwater.model.language.domain import OneOf, Struct, domains_in
from highwater.model.language.shape import Domain, Shape


def retrace(system: System, path: Sequence[Any]) -> tuple[Step, ...]:
    """The states of a path of classes, and the action between each two: the first in the system's order whose plain
    evaluation gives a state of the next class. Most often a class is one state.

    Raises:
        Contradiction: the first state is not an initial one, or no action leads from one state to the next.
    """
    steps = [Step(None, state) for state in system.initial if system.class_of(state) == path[0]][:1]
    if not steps:
        raise Contradiction("the trace does not begin in an initial state")
    for number, wanted in enumerate(path[1:], 1):
        results = ((action, taken(system, action, steps[-1].state)) for action in system.actions)
        states = (Step(action, after) for action, after in results if isinstance(after, system.domain.cls))
        step = next((each for each in states if system.class_of(each.state) == wanted), None)
        if step is None:
            raise Contradiction(f"no action leads to step {number} of the trace")
        steps.append(step)
    return tuple(steps)


def violation_at(system: System, invariant: Instance | None, trace: Sequence[Step]) -> Violation:
    """The violation in the last state or step of a trace, judged again in plain Python. No property means a deadlock.

    Raises:
        Contradiction: plain evaluation does not find the invariant violated.
        ModelError: its witness cannot be put in words.
    """
    if invariant is None:
        return Violation(DEADLOCK, {}, "no action is enabled, and no bound is to blame", {}, tuple(trace))
    why = judge_end(system, invariant, trace[-2].state if len(trace) > 1 else None, trace[-1].state)
    if why:
        raise Contradiction(f"{invariant} was found violated, but plain evaluation of the trace's end does not agree")
    facts = why.facts if isinstance(why, Witness) else {}
    return Violation(
        invariant.of.name, dict(invariant.shown), witness_in_words(system, invariant, why), facts, tuple(trace)
    )


def witness_in_words(system: System, of: Instance, why: Truth) -> str:
    """The sentence of a witness, empty if there is none. A fact that has the name of one of the property's parameters,
    or of a field of the state, is shown as such if its domain is of names: b1 for broker 1.

    Raises:
        ModelError: it cannot be put in words.
    """
    if not isinstance(why, Witness):
        return ""
    try:
        return why.in_words({**_domains_of_names(system.domain, *of.domains.values()), **of.domains})
    except RAISED as error:
        raise ModelError(f"{of} {where(of)} returned a witness that cannot be put in words: {error!r}") from error


def _domains_of_names(*domains: Domain) -> dict[str, Domain]:
    """By set of names, the domain of one; and by field of a state what it has of them, where all fields of that name
    have the same.
    """
    parts = [part for domain in domains for part in domains_in(domain)]
    fields: dict[str, list[Domain]] = {}
    for each in parts:
        for name, of in each.inside().items() if isinstance(each, Struct) else ():
            fields.setdefault(name, []).append(of.inside()[""] if of.shape is Shape.LIST else of)
    agreed = {name: of[0] for name, of in fields.items() if len({tuple(names_in(each)) for each in of}) == 1}
    return agreed | {part.names: part for part in parts if part.names}


def order_of(system: System, violation: Violation) -> tuple[int, ...]:
    """What violations are sorted by: the shorter trace first, then by initial state and actions."""
    first, *rest = violation.trace
    place = (system.initial.index(first.state), *(system.actions.index(step.action) for step in rest))
    return (violation.trace_length, *place)


def broken_step(system: System, name: str, trace: Sequence[Step]) -> Violation | None:
    """The violation of a step property by the first step from a trace's end that violates it, if there is one."""
    before = trace[-1].state
    wanted = [each for each in system.step_properties if each.of.name == name]
    for action in system.actions if wanted else ():
        after = taken(system, action, before)
        for each in wanted if isinstance(after, system.domain.cls) else ():
            if not judge_end(system, each, before, after):
                return violation_at(system, each, (*trace, Step(action, after)))
    return None


SHOWN_WHOLE = 16  # members that a set can have


@attrs.frozen
class Change:
    """One part of the state that a step changed: where, and what it was and is, as shown to people.

    `gained` and `lost` are set where a sequence grew or was cut at its end, or where elements came and left while the
    others kept their order, as messages do, and in sets that are too large to be shown whole.
    """

    path: str
    before: str
    after: str
    gained: str = ""
    lost: str = ""

    def __str__(self) -> str:
        if self.gained:
            return f"{self.path} {f'loses {self.lost} ' if self.lost else ''}+ {self.gained}"
        if self.lost:
            return f"{self.path} loses {self.lost}"
        return f"{self.path} {self.before} → {self.after}"


def changes(domain: Any, before: Any, after: Any, path: str = "") -> list[Change]:
    """The smallest parts that differ. Records and arrays are entered; small sets and scalars are shown whole."""
    if before == after:
        return []
    names, again = domain.paths(before, path), domain.paths(after, path)
    if names is not None and again is not None:
        both = zip(domain.parts(before), domain.parts(after), names, strict=True)
        return [change for (of, old), (_, new), name in both for change in changes(of, old, new, name)]
    return [Change(path, domain.show(before), domain.show(after), *_gained_and_lost(domain, before, after))]


def _gained_and_lost(domain: Domain, before: Any, after: Any) -> tuple[str, str]:
    """What a list, or a set too large to be shown whole, has gained and lost; empty for what is shown whole."""
    match domain.shape:
        case Shape.LIST:
            return _moved(domain, *([part for _, part in domain.parts(each)] for each in (before, after)))
        case Shape.SET:
            of = domain.inside()[""]
            is_large = of.shape is Shape.RECORD or (isinstance(of, OneOf) and len(of.members) > SHOWN_WHOLE)
            return (domain.show(after - before)[1:-1], domain.show(before - after)[1:-1]) if is_large else ("", "")
        case Shape.NUMBER | Shape.TRUTH | Shape.NAME | Shape.OPTION | Shape.RECORD:
            return "", ""
    assert_never(domain.shape)


def _moved(domain: Domain, before: list[Any], after: list[Any]) -> tuple[str, str]:
    """What came to a list and what left it, if it only changed at its end or the others kept their order."""
    shared = min(len(before), len(after))
    grows = before[:shared] == after[:shared]
    gained, lost = after[shared:], before[shared:]
    if not grows:
        gained, lost = _without(after, before), _without(before, after)
    if not grows and _without(after, gained) != _without(before, lost):
        return "", ""
    show = domain.inside()[""].show
    return " ".join(map(show, gained)), " ".join(map(show, lost))


def _without(elements: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """The elements that are left when the others are taken away, each once and from the front."""
    left = list(elements)
    for element in others:
        if element in left:
            left.remove(element)
    return left
