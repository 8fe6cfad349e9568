"""Counterexamples that are known, and whether they still are some under other rules: plain Python executes them.

What an execution comes to depends on what functions of the model come to, and these depend on the settings that they
read, and on nothing else of a protocol. So it is not executed again where all functions that read what is another now
come to the same in the states in which they ran.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from highwater.claims.spec import Spec
from highwater.explorer.analysis.causes import instance_of
from highwater.explorer.blame import RAISED, ModelError
from highwater.explorer.compiler.settings import Settings
from highwater.explorer.outlook import is_deadlock
from highwater.explorer.system import System, are_set_alike, taken
from highwater.explorer.verdict import DEADLOCK, Step, Violation
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
        place = self._place_under(spec)
        if place is None:
            return ""
        self._known.insert(0, self._known.pop(place))
        return self._known[0].words

    def any_under(self, spec: Spec) -> bool:
        """Whether there is one. That was asked changes nothing of what is tried first."""
        return self._place_under(spec) is not None

    def _place_under(self, spec: Spec) -> int | None:
        try:
            made_of = _made_of(spec)
        except RAISED:
            return None  # a search says what is wrong
        try:
            return next((place for place, known in enumerate(self._known) if known.is_one_under(spec, made_of)), None)
        except ModelError:
            return None  # the same


MOST_RUNS = 1 << 14  # of one execution, to be remembered: some MiB

_Run = tuple[int, Any, Any]
"""A function's place among those of its system, what it was applied to, and what it came to."""


@attrs.frozen
class _Alike:
    """Whether some functions came to the same under the rules of a spec, and the settings that this depends on."""

    spec: Spec
    read: frozenset[str]
    holds: bool

    def is_of(self, spec: Spec) -> bool:
        return are_set_alike(self.spec, spec, self.read)


@attrs.frozen
class _Executed:
    """What an execution came to, and all that this depends on.

    Attributes:
        spec: the one under whose rules.
        made_of: see `_made_of`.
        runs: by the settings that functions read, such as protocol.acks, what these functions came to.
        is_one: whether it was a counterexample.
        alike: by the same settings, whether these functions came to the same under other rules. They may have read
            more there.
    """

    spec: Spec
    made_of: list[Any]
    runs: Mapping[frozenset[str], Sequence[_Run]]
    is_one: bool
    alike: dict[frozenset[str], list[_Alike]] = attrs.field(init=False)

    @alike.default
    def _as_they_are(self) -> dict[frozenset[str], list[_Alike]]:
        return {read: [_Alike(self.spec, read, holds=True)] for read in self.runs}

    def is_the_same_under(self, spec: Spec, made_of: list[Any]) -> bool:
        return self.made_of == made_of and all(self._are_alike(read, spec) for read in self.runs)

    def _are_alike(self, read: frozenset[str], spec: Spec) -> bool:
        """Whether all that read these settings come to the same under the rules of a spec."""
        for each in self.alike[read]:
            if each.is_of(spec):
                return each.holds
        settings = Settings()
        settings.begin(read)
        holds = self._come_to_the_same(self.runs[read], spec.system(), settings)
        depends_on = settings.begin()
        if depends_on is not None:
            self.alike[read].append(_Alike(spec, depends_on, holds))
        return holds

    @staticmethod
    def _come_to_the_same(runs: Sequence[_Run], system: System, settings: Settings) -> bool:
        functions = system.functions
        try:
            return all(settings.applied(functions[number])(subject) == result for number, subject, result in runs)
        except RAISED:  # an execution says what is wrong; numbers that have only an order answer in their own run alone
            return False


class _Execution:
    """One execution under the rules of a spec, watched.

    Attributes:
        system: the spec's, whose functions note what they read and come to.
        runs: see `_Executed`; None where a function may have known settings in another way than as its arguments, or if
            there are too many.
    """

    def __init__(self, system: System) -> None:
        self._settings, self._runs, self._is_known = Settings(), defaultdict[frozenset[str], list[_Run]](list), True
        number = itertools.count()  # in the order of `System.functions`
        kinds = ("actions", "invariants", "step_properties", "prospects", "liveness")
        watched = {kind: [self._watched(next(number), each) for each in getattr(system, kind)] for kind in kinds}
        watched["liveness"] = [
            each if each.premise is None else attrs.evolve(each, premise=self._watched(next(number), each.premise))
            for each in watched["liveness"]
        ]
        tuples: dict[str, Any] = {kind: tuple(instances) for kind, instances in watched.items()}
        self.system = attrs.evolve(system, **tuples)

    @property
    def runs(self) -> Mapping[frozenset[str], Sequence[_Run]] | None:
        return self._runs if self._is_known and sum(map(len, self._runs.values())) <= MOST_RUNS else None

    def _watched(self, number: int, instance: Instance[Any]) -> Instance[Any]:
        plain = self._settings.applied(instance)

        def apply(subject: Any) -> Any:
            self._settings.begin()
            result = plain(subject)
            read = self._settings.begin()
            if read:
                self._runs[read].append((number, subject, result))
            self._is_known &= read is not None
            return result

        return attrs.evolve(instance, apply=apply)


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
        back_to: of a lasso, the step after which the state is the last one again.
        executed: what it came to under the rules of some specs.
    """

    initial: int
    actions: tuple[str, ...]
    property: str
    arguments: dict[str, str]
    back_to: int | None
    words: str
    executed: list[_Executed] = attrs.field(factory=list)

    @classmethod
    def of(cls, spec: Spec, violation: Violation) -> _Known:
        trace: tuple[Step, ...] = violation.trace
        steps = tuple(str(step.action) for step in trace[1:])
        initial = spec.system().initial.index(trace[0].state)
        words = f"{violation.property} after {violation.length_in_words}"
        return cls(initial, steps, violation.property, violation.arguments, violation.back_to, words)

    def is_one_under(self, spec: Spec, made_of: list[Any]) -> bool:
        """Whether its steps are steps under the rules of a spec, and violate its property: by their end, as a lasso, or
        as nothing that may come after them leads where a prospect wants. Of a prospect with too many states behind the
        end, this is not known, and False.

        Raises:
            ModelError: a function of the model raised.
        """
        for each in self.executed:
            if each.is_the_same_under(spec, made_of):
                return each.is_one
        execution = _Execution(spec.system())
        is_one = self._is_one_of(execution.system)
        if execution.runs is not None and not spec.file.refines:  # what a refinement reads of the other is not known
            self.executed.append(_Executed(spec, made_of, execution.runs, is_one))
        return is_one

    def _is_one_of(self, system: System) -> bool:
        if self.initial >= len(system.initial):
            return False
        actions = {str(each): each for each in system.actions}
        trace = [Step(None, system.initial[self.initial])]
        for name in self.actions:
            after = taken(system, actions[name], trace[-1].state) if name in actions else None
            if not isinstance(after, system.domain.cls):
                return False
            trace.append(Step(actions[name], after))
        if self.property == DEADLOCK:
            return is_deadlock(system, trace[-1].state)
        return instance_of(system, self.property, self.arguments, trace, self.back_to) is not None
