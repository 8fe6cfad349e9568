"""The states where a model may be, given what was seen of it: each with the steps that explain it."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from typing import Any

import attrs

from highwater.explorer.blame import RAISED
from highwater.explorer.system import Cut, System, successor
from highwater.explorer.verdict import Step
from highwater.model.language.declarations import Instance

MOST_KEPT = 200_000  # successors that are remembered
MOST_OUTSIDE = 10_000  # states outside the bounds that are looked at

Fits = Callable[[Any], bool]


class TooMany(Exception):
    """More states are possible than are kept."""


@attrs.frozen(eq=False)
class Reached:
    """A state where the model may be, and how it gets there.

    Attributes:
        action: the step that leads to it; None for an initial state.
        before: the state before it.
        at: what the step explains, such as a line of a log; 0 where it explains nothing.
        hidden: how many steps on the way explain nothing.
    """

    state: Any
    action: Instance | None = None
    before: Reached | None = None
    at: int = 0
    hidden: int = 0

    @property
    def way(self) -> list[Reached]:
        """All states on the way, from an initial one."""
        found: list[Reached] = []
        each: Reached | None = self
        while each is not None:
            found.append(each)
            each = each.before
        return found[::-1]

    @property
    def trace(self) -> tuple[Step, ...]:
        """The way as a trace."""
        return tuple(Step(each.action, each.state) for each in self.way)


Possible = dict[Any, Reached]
"""By state, the way with the fewest hidden steps."""
Outside = dict[Any, frozenset[str]]
"""By state that is outside the bounds, those that cut the step there."""


class Tracker:
    """Follows a model through what was seen of it.

    Attributes:
        hidden: the actions that may happen without being seen.
        cut: the bounds that have cut a step that fits what was seen, or a hidden one, since they were last looked at.
    """

    def __init__(self, system: System, hidden: Collection[str] = (), most: int = 100_000) -> None:
        self.system = system
        self.hidden = [each for each in system.actions if each.of.name in hidden]
        self.cut: set[str] = set()
        self._most = most
        self._known: dict[tuple[Any, Instance], Any] = {}

    def begin(self, fits: Fits = lambda state: True) -> Possible:
        """The initial states that fit what was seen."""
        return {state: Reached(state) for state in self.system.initial if fits(state)}

    def after(self, action: Instance, state: Any) -> Any:
        """What an action makes of a state: the next one, None, or a `Cut`."""
        if len(self._known) > MOST_KEPT:
            self._known.clear()
        key = (state, action)
        if key not in self._known:
            self._known[key] = successor(action, state, self.system.domain)
        return self._known[key]

    def with_hidden(self, possible: Possible) -> Possible:
        """The states that any number of hidden steps leads to, these included.

        Raises:
            TooMany: there are more than are kept.
        """
        if not self.hidden:
            return possible
        found: Possible = {}
        order = itertools.count()
        queue = [(each.hidden, next(order), each) for each in possible.values()]
        heapq.heapify(queue)
        while queue:
            _, _, reached = heapq.heappop(queue)
            if reached.state in found:
                continue
            found[reached.state] = reached
            self._refuse_too_many(found)
            for action in self.hidden:
                after = self.after(action, reached.state)
                if isinstance(after, Cut):
                    self.cut |= after.bounds
                elif after is not None and after not in found:
                    longer = Reached(after, action, reached, 0, reached.hidden + 1)
                    heapq.heappush(queue, (longer.hidden, next(order), longer))
        return found

    def taken(
        self, possible: Possible, actions: Iterable[Instance], fits: Fits, at: int, may_fit: Fits | None = None
    ) -> Possible:
        """The states after one step of some actions that fit what was seen.

        Args:
            at: what the step explains.
            may_fit: whether what a bound cuts may fit; `fits` if it is None.

        Raises:
            TooMany: there are more than are kept.
        """
        found: Possible = {}
        may_fit = may_fit or fits
        actions = list(actions)
        for reached in possible.values():
            for action in actions:
                after = self.after(action, reached.state)
                if isinstance(after, Cut):
                    self.cut |= after.bounds if may_fit(action.apply(reached.state)) else set()
                elif after is not None and fits(after):
                    known = found.get(after)
                    if known is None or reached.hidden < known.hidden:
                        found[after] = Reached(after, action, reached, at, reached.hidden)
                        self._refuse_too_many(found)
        return found

    def cut_from(self, states: Iterable[Any], actions: Iterable[Instance]) -> Outside:
        """Where steps of some actions lead that a bound cuts."""
        tried = ((state, action, self.after(action, state)) for state in states for action in actions)
        return {action.apply(state): after.bounds for state, action, after in tried if isinstance(after, Cut)}

    def taken_outside(self, outside: Outside, actions: Iterable[Instance]) -> Outside:
        """The states after one step of some actions from states outside the bounds."""
        found: Outside = {}
        for (state, bounds), action in itertools.product(outside.items(), actions):
            with suppress(*RAISED):  # functions of a model need not know what is beyond its bounds
                after = action.apply(state)
                if isinstance(after, self.system.domain.cls):
                    found.setdefault(after, bounds)
        return found

    def with_hidden_outside(self, outside: Outside) -> Outside:
        """The states that any number of hidden steps leads to from states outside the bounds, these included: the
        nearest, as there may be no end of them.
        """
        return dict(self.nearest_outside(outside))

    def nearest_outside(self, outside: Outside) -> Iterator[tuple[Any, frozenset[str]]]:
        """The same one by one, the nearest first, for what may be found soon."""
        found, last = dict(outside), outside
        yield from outside.items()
        while last and self.hidden and len(found) < MOST_OUTSIDE:
            after = self.taken_outside(last, self.hidden)
            last = {state: bounds for state, bounds in after.items() if state not in found}
            found |= last
            yield from last.items()

    def _refuse_too_many(self, found: Possible) -> None:
        if len(found) > self._most:
            raise TooMany(f"{self._most:,}")
