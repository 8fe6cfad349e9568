"""Making a violating walk short: steps are left out, and stretches between states that stay are found again by
breadth-first search.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import attrs

from highwater.explorer.blame import ModelError
from highwater.explorer.search.levels.breadth_first import explore
from highwater.explorer.system import Cut, System, judge_end, successor, taken
from highwater.explorer.trace import violation_at
from highwater.explorer.verdict import DEADLOCK, Budget, Outcome, SearchOptions, Step, Verdict, Violation
from highwater.model.language.declarations import Instance, invariant

STATES_AT_ONCE = 200_000


class Minimal(Enum):
    """How short a trace is: `GLOBALLY` a shortest one; `LOCALLY` as short as shrinking gets it; `NOT`: time or states
    ran out before that.
    """

    GLOBALLY = "globally"
    LOCALLY = "locally"
    NOT = "not"


@attrs.frozen
class Shrunk:
    """A violation with a shorter trace.

    Attributes:
        violation: of the same property, judged again in plain Python.
        minimal: how short it is.
        stretch: no stretch of so many steps can be replaced by a shorter one, and no single step left out.
    """

    violation: Violation
    minimal: Minimal
    stretch: int


def shrink(
    system: System,
    violation: Violation,
    *,
    seconds: float = 20.0,
    states: int = STATES_AT_ONCE,
    on_progress: Callable[[int], None] = lambda length: None,
) -> Shrunk:
    """A violation of the same property with a trace that is locally minimal, if time allows.

    Args:
        system: where the violation was found.
        violation: with a trace of any length.
        seconds: when to stop and give what was reached.
        states: how many states each breadth-first search may keep.
        on_progress: called now and then with the length that was reached.
    """
    shrinking = _Shrinking(system, violation.property, seconds, states, on_progress)
    trace = shrinking.without_steps(list(violation.trace))
    whole = shrinking.search(system.initial, None, len(trace) - 2)
    if whole.found is not None:
        trace = whole.found
    if whole.complete:
        return Shrunk(shrinking.violation(trace), Minimal.GLOBALLY, len(trace) - 1)
    stretch = max(2, whole.depth)
    while not shrinking.out_of_time:
        shorter, complete = shrinking.with_shorter_stretches(shrinking.without_steps(trace), stretch)
        if len(shorter) == len(trace) and complete and not shrinking.out_of_time:
            return Shrunk(shrinking.violation(trace), Minimal.LOCALLY, stretch)
        if len(shorter) == len(trace) and stretch == 2:
            break  # another try would find the same
        stretch = stretch if complete else max(2, stretch - 1)
        trace = shorter
    return Shrunk(shrinking.violation(trace), Minimal.NOT, 0)


@attrs.frozen
class _Search:
    """What a breadth-first search gave: a trace, whether every state up to its end was seen, and how deep it went if
    not.
    """

    found: list[Step] | None
    complete: bool
    depth: int


class _Shrinking:
    """Shrinking one violation."""

    def __init__(
        self, system: System, name: str, seconds: float, states: int, on_progress: Callable[[int], None]
    ) -> None:
        self.system, self.name, self.states = system, name, states
        self.on_progress, self.length = on_progress, 0
        self.ends_at = time.perf_counter() + seconds
        self.properties = [each for each in system.safety if each.of.name == name]

    @property
    def out_of_time(self) -> bool:
        return time.perf_counter() > self.ends_at

    def violation(self, trace: Sequence[Step]) -> Violation:
        """The violation at the end of a trace."""
        if self.name == DEADLOCK:
            return violation_at(self.system, None, trace)
        before = trace[-2].state if len(trace) > 1 else None
        broken = next(each for each in self.properties if not judge_end(self.system, each, before, trace[-1].state))
        return violation_at(self.system, broken, trace)

    def violates(self, before: Any, state: Any) -> bool:
        """Whether the property is false of a state, and of the step that led there."""
        if self.name == DEADLOCK:
            return all(successor(action, state, self.system.domain) is None for action in self.system.actions)
        return any(not judge_end(self.system, each, before, state) for each in self.properties)

    # Leaving out steps

    def without_steps(self, trace: list[Step]) -> list[Step]:
        """Leave out stretches of steps, long ones first, as long as the rest can be taken and violates the property."""
        size = max(1, (len(trace) - 1) // 2)
        while True:
            begin, left_out = 1, False
            self.length = len(trace) - 1
            while begin < len(trace) and not self.out_of_time:
                self.on_progress(self.length)
                actions = [step.action for step in trace[begin + size :] if step.action is not None]
                shorter = self.replayed(trace[:begin], actions)
                if shorter is not None and len(shorter) < len(trace):
                    trace, left_out = shorter, True
                else:
                    begin += size
            if self.out_of_time or (size == 1 and not left_out):
                return trace
            size = max(1, size // 2)

    def replayed(self, before: list[Step], actions: Sequence[Instance]) -> list[Step] | None:
        """A trace that goes on with some actions, up to where the property is violated; None where one is not enabled
        or it is not.
        """
        trace = list(before)
        previous = trace[-2].state if len(trace) > 1 else None
        if self.violates(previous, trace[-1].state):
            return trace
        for action in actions:
            after = taken(self.system, action, trace[-1].state)
            if after is None or isinstance(after, Cut):
                return None
            trace.append(Step(action, after))
            if self.violates(trace[-2].state, after):
                return trace
        return None

    # Finding stretches again

    def with_shorter_stretches(self, trace: list[Step], stretch: int) -> tuple[list[Step], bool]:
        """Replace stretches between two states of the trace by shorter ones, from the last to the first; whether all
        were looked into.
        """
        end, complete = len(trace) - 1, True
        while end > 0 and not self.out_of_time:
            begin = max(0, end - stretch)
            target = None if end == len(trace) - 1 else trace[end].state
            search = self.search((trace[begin].state,), target, end - begin - 1)
            is_cut = search.found is not None and self._is_cut(search.found)
            complete &= search.complete and not is_cut
            if search.found is not None and not is_cut:
                trace = [*trace[: begin + 1], *search.found[1:], *trace[end + 1 :]]
                end = begin + len(search.found) - 1
            end = end - 1 if begin else 0
        return trace, complete

    def _is_cut(self, trace: Sequence[Step]) -> bool:
        """Whether a bound cuts a step of a trace in its class, which a search in real numbers does not see."""
        pairs = itertools.pairwise(trace)
        return any(isinstance(taken(self.system, after.taken, before.state), Cut) for before, after in pairs)

    def search(self, initial: Sequence[Any], target: Any, depth: int) -> _Search:
        """The shortest trace of at most so many steps from some states to a state, or to a violation where that is
        None.
        """
        if depth < 0:
            return _Search(found=None, complete=True, depth=0)
        system = self._searched(tuple(initial), target)
        deadlock = target is None and self.name == DEADLOCK
        # a state is known to be at rest once its steps are tried, on the way to the next depth
        budget = Budget(max_depth=depth + deadlock, max_states=self.states)

        def explored(*, symmetry: bool) -> Outcome:
            options = SearchOptions(on_progress=lambda progress: self.on_progress(self.length), symmetry=symmetry)
            return explore(system, budget, options, check_deadlock=deadlock)

        try:
            outcome = explored(symmetry=target is None and tuple(initial) == self.system.initial)
        except ModelError:  # the walks went without symmetry, which the model may not keep
            outcome = explored(symmetry=False)
        if outcome.reason == "interrupted":  # what was found stays, as short as it is by now
            self.ends_at = 0.0
        found = list(outcome.violations[0].trace) if outcome.violations else None
        return _Search(found, found is not None or outcome.verdict is not Verdict.UNKNOWN, max(0, outcome.depth - 1))

    def _searched(self, initial: tuple[Any, ...], target: Any) -> System:
        if target is None:
            invariants = tuple(each for each in self.properties if each in self.system.invariants)
            steps = tuple(each for each in self.properties if each in self.system.step_properties)
            return attrs.evolve(self.system, initial=initial, invariants=invariants, step_properties=steps)

        @invariant()
        def is_not_there_yet(state: Any) -> bool:
            return bool(state != target)

        there = tuple(is_not_there_yet.instances(None))
        real = attrs.evolve(self.system, ranks=None, prospects=(), liveness=())
        return attrs.evolve(real, initial=initial, invariants=there, step_properties=(), interchangeable={})
