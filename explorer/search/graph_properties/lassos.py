"""Counterexamples to liveness: a *lasso*, which is a path to a cycle, and a cycle that a fair
behaviour can go round for ever.

All of this is plain Python, for every engine: an engine says only where a fair cycle is, and the
cycle is walked here. So a lasso is in real names and was executed. `lasso_at` judges it once more,
from the trace alone.
"""

from __future__ import annotations

import builtins
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import attrs

from highwater.explorer.blame import Contradiction
from highwater.explorer.classes import truths
from highwater.explorer.fairness import Demand, demands_of
from highwater.explorer.ranks import in_words
from highwater.explorer.system import Cut, System, judge, taken
from highwater.explorer.trace import witness_in_words
from highwater.explorer.verdict import Step, Violation
from highwater.model.language.declarations import Instance, Witness
from highwater.model.language.graph_properties import Form, Liveness


@attrs.define
class _Round:
    """The walk round a cycle, as far as it has come.

    Attributes:
        moves: by state, what each action makes of it, but for what changes nothing.
        steps: the steps taken; `states` are those visited, the first one included.
    """

    system: System
    property: Instance[Liveness]
    start: Any
    inside: Callable[[Any], bool]
    moves: dict[Any, list[tuple[Instance, Any]]] = attrs.field(factory=dict)
    steps: list[Step] = attrs.field(factory=list)

    @builtins.property
    def states(self) -> list[Any]:
        return [self.start, *(step.state for step in self.steps)]

    def moves_of(self, state: Any) -> list[tuple[Instance, Any]]:
        """What may happen in a state: the actions that change it, each with the state after it or the bound that cuts
        it.
        """
        if state not in self.moves:
            self.moves[state] = moves_of(self.system, state)
        return self.moves[state]

    def is_enabled(self, demand: Demand, state: Any) -> bool:
        return any(action in demand.instances for action, _ in self.moves_of(state))

    def is_open(self, demand: Demand) -> bool:
        """Whether going round this way for ever would be unfair to a demand."""
        enabled = [self.is_enabled(demand, state) for state in self.states]
        owed = any(enabled) if demand.strong else all(enabled)
        return owed and not any(step.action in demand.instances for step in self.steps)

    @cached_property
    def demands(self) -> list[Demand]:
        return demands_of(self.system, self.property.of)

    def returns(self, state: Any) -> bool:
        """Whether a path that breaks the property comes to a state again and again."""
        return truths(self.system, self.property, state) in self.property.of.form.returns

    def go_round(self) -> list[Step]:
        """Walk until all demands are met, each time to the nearest step that helps, and back to the start."""
        while True:
            wanted = [demand for demand in self.demands if self.is_open(demand)]
            unseen = self.property.of.form.asks_to_return and not any(map(self.returns, self.states))
            if wanted or unseen:
                self.steps += self._nearest(partial(self._helps, wanted, unseen=unseen))
            elif self.is_back(self.states[-1]):
                return self.steps
            else:
                self.steps += self._nearest(lambda action, after: self.is_back(after))

    def is_back(self, state: Any) -> bool:
        """Whether the walk began in a state, or in one of its class."""
        return bool(self.system.class_of(state) == self.system.class_of(self.start))

    def _helps(self, wanted: Sequence[Demand], action: Instance, after: Any, *, unseen: bool) -> bool:
        if unseen and self.returns(after):
            return True
        return any(
            action in each.instances or (not each.strong and not self.is_enabled(each, after)) for each in wanted
        )

    def _nearest(self, found: Callable[[Instance, Any], bool]) -> list[Step]:
        """The shortest way inside from where the walk stands whose last step is as wanted."""
        begin = self.states[-1]
        ways: dict[Any, list[Step]] = {begin: []}
        classes = {self.system.class_of(begin)}
        waiting = deque([begin])
        while waiting:
            state = waiting.popleft()
            for action, after in self.moves_of(state):
                if isinstance(after, Cut) or not self.inside(after):
                    continue
                way = [*ways[state], Step(action, after)]
                if found(action, after):
                    return way
                if self.system.class_of(after) not in classes:
                    classes.add(self.system.class_of(after))
                    ways[after] = way
                    waiting.append(after)
        raise AssertionError("unreachable: a fair component has a cycle that meets every demand")


def moves_of(system: System, state: Any) -> list[tuple[Instance, Any]]:
    """The actions that change a state, each with the state after it, or with the `Cut` of a step that leads out of the
    bounds.
    """
    results = ((action, taken(system, action, state)) for action in system.actions)
    return [(action, after) for action, after in results if after is not None and after != state]


def lasso_to(
    system: System, of: Instance[Liveness], prefix: Sequence[Step], inside: Callable[[Any], bool]
) -> Violation:
    """The lasso of a path to a fair component, and of a short cycle from its last state within the component.

    Args:
        inside: whether a state belongs to the component.
    """
    cycle = _Round(system, of, prefix[-1].state, inside).go_round()
    return lasso_at(system, of, (*prefix, *cycle), len(prefix) - 1)


def lasso_at(system: System, of: Instance[Liveness], trace: Sequence[Step], back_to: int) -> Violation:
    """The violation of a liveness property by a lasso, judged again in plain Python.

    Args:
        trace: a path that replays, and whose last state is the one after step `back_to`.

    Raises:
        Contradiction: the trace is no lasso, is unfair, or does not violate the property.
    """
    for wrong in _wrongs(system, of, trace, back_to):
        raise Contradiction(f"{of} was found violated, but plain evaluation of the lasso does not agree: {wrong}")
    around = [step.state for step in trace[back_to:]]
    false = (why for state in reversed(around) if not (why := judge(of, state, system.domain)))
    why = next(false, True)
    sentence = witness_in_words(system, of, why)
    facts = why.facts if isinstance(why, Witness) else {}
    again = for_ever(trace, back_to)
    if trace[back_to].state != trace[-1].state:
        assert system.ranks is not None
        again += f", with new {in_words(*system.ranks.renewed(trace[back_to].state, trace[-1].state))} each time"
    what = f"{again}; {sentence}" if sentence else again
    return Violation(of.of.name, dict(of.shown), what, facts, tuple(trace), back_to)


def is_lasso(system: System, of: Instance[Liveness], trace: Sequence[Step], back_to: int | None) -> bool:
    """Whether a trace that replays is a lasso that violates a liveness property."""
    return back_to is not None and next(_wrongs(system, of, trace, back_to), None) is None


def waiting(system: System, of: Instance[Liveness], trace: Sequence[Step], back_to: int) -> frozenset[int]:
    """The steps of a lasso after which the property is owed for ever on, or those on the cycle to which a path that
    breaks it returns, where that is what breaks it.
    """
    form, found = of.of.form, [truths(system, of, step.state) for step in trace]
    if form.asks_to_return:
        return frozenset(number for number in range(back_to, len(found)) if found[number] in form.returns)
    return frozenset(range(next(_begins(form, found, back_to), len(found)), len(found)))


def wait_begins(system: System, of: Instance[Liveness], trace: Sequence[Step], back_to: int) -> int:
    """The last state of a lasso from which on the property is owed for ever; where it is owed again and again, that is
    the first of the cycle.
    """
    form = of.of.form
    if form.may_begin_late:
        return back_to
    return max(_begins(form, [truths(system, of, step.state) for step in trace], back_to))


def for_ever(trace: Sequence[Step], back_to: int) -> str:
    """What goes on for ever, in words."""
    names = list(dict.fromkeys(str(step.action) for step in trace[back_to + 1 :]))
    if not names:
        return "no step has to follow"
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"from step {back_to + 1} on {listed} {'repeats' if len(names) == 1 else 'repeat'} for ever"


def _wrongs(system: System, of: Instance[Liveness], trace: Sequence[Step], back_to: int) -> Iterator[str]:
    """What keeps a trace from being a counterexample."""
    states = [step.state for step in trace]
    if not 0 <= back_to < len(states) or system.class_of(states[back_to]) != system.class_of(states[-1]):
        yield f"the last state is not the one after step {back_to}"
        return
    form, found = of.of.form, [truths(system, of, state) for state in states]
    if next(_begins(form, found, back_to), None) is None or form.returns.isdisjoint(found[back_to:]):
        yield form.kept
    yield from unfairness(system, of, trace, back_to)


def _begins(form: Form, found: Sequence[tuple[bool, bool]], back_to: int) -> Iterator[int]:
    """The steps of a lasso after which a path begins that breaks a property, by what is true in each state."""
    for number, here in enumerate(found[:1] if form.at_first else found):
        if here in form.begins and form.stays.issuperset(found[min(number, back_to) :]):
            yield number


def unfairness(system: System, of: Instance[Liveness], trace: Sequence[Step], back_to: int) -> list[str]:
    """The demands that going round for ever does not meet, in words."""
    cycle = _Round(system, of, trace[back_to].state, lambda state: True, steps=list(trace[back_to + 1 :]))
    return [f"it is unfair to {demand.name}" for demand in cycle.demands if cycle.is_open(demand)]
