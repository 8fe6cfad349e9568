"""Counterexamples that are known, and whether they still are some under other rules: plain Python executes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from highwater.claims.spec import Spec
from highwater.explorer.blame import ModelError
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
            system = spec.system()
            actions = {str(each): each for each in system.actions}
            for place, known in enumerate(self._known):
                if known.is_one_of(system, actions):
                    self._known.insert(0, self._known.pop(place))
                    return known.words
        except ModelError:
            pass  # a search says what is wrong
        return ""


@attrs.frozen
class _Known:
    """A counterexample, by the names of what happens in it: an initial state, actions, and the violated property."""

    initial: int
    actions: tuple[str, ...]
    property: str
    arguments: dict[str, str]
    words: str

    @classmethod
    def of(cls, spec: Spec, violation: Violation) -> _Known:
        trace: tuple[Step, ...] = violation.trace
        steps = tuple(str(step.action) for step in trace[1:])
        initial = spec.system().initial.index(trace[0].state)
        words = f"{violation.property} after {violation.length_in_words}"
        return cls(initial, steps, violation.property, violation.arguments, words)

    def is_one_of(self, system: System, actions: Mapping[str, Instance]) -> bool:
        """Whether its steps are steps of a system, and end in its violation. What is judged on the graph of all states
        is never known to be violated.

        Args:
            actions: those of the system, by what they are called in traces.
        """
        if self.initial >= len(system.initial):
            return False
        before, state = None, system.initial[self.initial]
        for name in self.actions:
            after = successor(actions[name], state, system.domain) if name in actions else None
            if not isinstance(after, system.domain.cls) or system.class_domain.exceeded(system.class_of(after)):
                return False
            before, state = state, after
        return any(
            not judge_end(system, each, before, state)
            for each in (*system.invariants, *system.step_properties)
            if each.of.name == self.property and dict(each.shown) == self.arguments
        )
