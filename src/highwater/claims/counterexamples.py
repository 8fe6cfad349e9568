"""Counterexamples that are known, and whether they still are some under other rules: plain Python executes them.

What an execution comes to depends on the settings that it reads, and on nothing else of a protocol: where these are as
they were, it is not executed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import attrs

from highwater.claims.spec import Spec
from highwater.explorer.blame import RAISED, ModelError
from highwater.explorer.compiler.settings import Settings
from highwater.explorer.system import System, judge_end, successor
from highwater.explorer.verdict import Step, Violation
from highwater.model.language.declarations import Instance


class KnownCounterexamples:
    """The counterexamples to one claim that were found so far, under whatever rules."""

    def __init__(self) -> None:
        self._known: list[_Known] = []

    def add(self, under: Spec, violations: Sequence[Violation]) -> None:
        """Remember what was found under the rules of a spec."""
        self._known[:0] = [_Known.of(under, each) for each in violations]

    def first_under(self, spec: Spec) -> str:
        """The first of them that is a counterexample under the rules of a spec, too, in words, or nothing. It is tried
        first the next time.
        """
        try:
            made_of = _made_of(spec)
        except RAISED:
            return ""  # a search says what is wrong
        try:
            for place, known in enumerate(self._known):
                if known.is_one_under(spec, made_of):
                    self._known.insert(0, self._known.pop(place))
                    return known.words
        except ModelError:
            pass  # the same
        return ""


@attrs.frozen
class _Executed:
    """What an execution came to, and all that this depends on.

    Attributes:
        spec: the one under whose rules.
        made_of: see `_made_of`.
        read: the settings that were read, such as protocol.acks.
        is_one: whether it was a counterexample.
    """

    spec: Spec
    made_of: list[Any]
    read: frozenset[str]
    is_one: bool

    def is_the_same_under(self, spec: Spec, made_of: list[Any]) -> bool:
        return self.made_of == made_of and all(of(self.spec) == of(spec) for of in map(attrgetter, self.read))


def _made_of(spec: Spec) -> list[Any]:
    """What a system is made of besides the protocol, of which functions read toggles.

    Raises:
        Exception: whatever the model's own functions raise.
    """
    of = spec.definition
    return [
        of.state,
        of.actions,
        list(of.initial_states(spec.bounds)),
        spec.bounds,
        spec.properties,
        spec.file.by_order,
    ]


@attrs.frozen
class _Known:
    """A counterexample, by the names of what happens in it: an initial state, actions, and the violated property.

    Attributes:
        executed: what it came to under the rules of some specs.
    """

    initial: int
    actions: tuple[str, ...]
    property: str
    arguments: dict[str, str]
    words: str
    executed: list[_Executed] = attrs.field(factory=list)

    @classmethod
    def of(cls, spec: Spec, violation: Violation) -> _Known:
        trace: tuple[Step, ...] = violation.trace
        steps = tuple(str(step.action) for step in trace[1:])
        initial = spec.system().initial.index(trace[0].state)
        words = f"{violation.property} after {violation.length_in_words}"
        return cls(initial, steps, violation.property, violation.arguments, words)

    def is_one_under(self, spec: Spec, made_of: list[Any]) -> bool:
        """Whether its steps are steps under the rules of a spec, and end in its violation. What is judged on the graph
        of all states is never known to be violated.

        Raises:
            ModelError: a function of the model raised.
        """
        for each in self.executed:
            if each.is_the_same_under(spec, made_of):
                return each.is_one
        settings = Settings()
        settings.begin()
        is_one = self._is_one_of(spec.system(), settings)
        read = settings.begin()
        if read is not None and not spec.file.refines:  # what a refinement reads of the other model is not known
            self.executed.append(_Executed(spec, made_of, read, is_one))
        return is_one

    def _is_one_of(self, system: System, settings: Settings) -> bool:
        if self.initial >= len(system.initial):
            return False
        actions = {str(each): each for each in system.actions}
        before, state = None, system.initial[self.initial]
        for name in self.actions:
            after = successor(_watched(actions[name], settings), state, system.domain) if name in actions else None
            if not isinstance(after, system.domain.cls) or system.class_domain.exceeded(system.class_of(after)):
                return False
            before, state = state, after
        return any(
            not judge_end(system, _watched(each, settings), before, state)
            for each in (*system.invariants, *system.step_properties)
            if each.of.name == self.property and dict(each.shown) == self.arguments
        )


def _watched(instance: Instance[Any], settings: Settings) -> Instance[Any]:
    """An instance that notes which settings it reads."""
    return attrs.evolve(instance, apply=settings.applied(instance))
