"""Counterexamples that are known, and whether they still are some under other rules: plain Python executes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from explorer.system import judge_end, successor
from explorer.verdict import Step, Violation
from highwater.claims.spec import Spec
from model.language.declarations import Instance, Invariant, StepProperty
from model.language.definition import Definition


class KnownCounterexamples:
    """The counterexamples to one claim that were found so far, under whatever rules."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._known: list[_Known] = []

    def add(self, under: Spec, violations: Sequence[Violation]) -> None:
        """Remember what was found under the rules of a spec."""
        self._known[:0] = [_Known.of(under, each) for each in violations]

    def first_under(self, protocol: Any, definition: Definition) -> str:
        """The first of them that is a counterexample under these rules, too, in words, or nothing. It is tried first
        the next time.
        """
        replay = _Replay(self._spec, protocol, definition)
        for place, known in enumerate(self._known):
            if replay.violates(known):
                self._known.insert(0, self._known.pop(place))
                return known.words
        return ""


@attrs.frozen
class _Known:
    """A counterexample, by the names of what happens in it: an initial state, actions, and the violated property."""

    initial: int
    actions: tuple[tuple[str, str], ...]
    property: Any
    arguments: dict[str, str]
    words: str

    @classmethod
    def of(cls, spec: Spec, violation: Violation) -> _Known:
        trace: tuple[Step, ...] = violation.trace
        steps = tuple((step.action.of.name, str(step.action)) for step in trace[1:] if step.action is not None)
        of = next((each for each in spec.properties if each.name == violation.property), None)
        initial = spec.system().initial.index(trace[0].state)
        words = f"{violation.property} after {violation.length_in_words}"
        return cls(initial, steps, of, violation.arguments, words)


class _Replay:
    """A protocol's actions, made as counterexamples need them."""

    def __init__(self, spec: Spec, protocol: Any, definition: Definition) -> None:
        self._spec, self._protocol = spec, protocol
        self._actions = {action.name: action for action in definition.actions}
        self._instances: dict[str, dict[str, Instance]] = {}
        self._initial = tuple(definition.initial_states(spec.bounds))

    def violates(self, known: _Known) -> bool:
        """Whether the steps of a counterexample are steps under the protocol, and end in its violation. What is judged
        on the graph of all states is never known to be violated.
        """
        if not isinstance(known.property, Invariant | StepProperty) or known.initial >= len(self._initial):
            return False
        domain = self._spec.system().domain
        before, state = None, self._initial[known.initial]
        for name, shown in known.actions:
            action = self._instance(name, shown)
            before, state = state, successor(action, state, domain) if action is not None else None
            if not isinstance(state, domain.cls):
                return False
        return any(
            not judge_end(self._spec.system(), each, before, state)
            for each in known.property.instances(self._spec.bounds, self._protocol)
            if dict(each.shown) == known.arguments
        )

    def _instance(self, name: str, shown: str) -> Instance | None:
        if name not in self._instances:
            action = self._actions.get(name)
            every = action.instances(self._spec.bounds, self._protocol) if action is not None else []
            self._instances[name] = {str(each): each for each in every}
        return self._instances[name].get(shown)
