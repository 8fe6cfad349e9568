"""One run of an implementation and its model: after each step the implementation must be where the model may be."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from highwater.claims.observed import Misfit, Observed, misfits
from highwater.claims.possible import Outside, Possible, Reached, TooMany
from highwater.claims.tables import Wrong
from highwater.explorer.system import Cut
from highwater.explorer.verdict import Step
from highwater.implementation.adapters import AdapterError, Choice, Driven, Interface, NotEnabled
from highwater.implementation.plans import Plan
from highwater.reports.terminal import trace_text


class Mismatch(AssertionError):
    """The implementation is not where the model may be.

    Attributes:
        trace: the steps of the model, the one after which the two differ last.
        says: what differs, in one line.
        misfits: the parts that do.
    """

    __module__ = "highwater.testing"  # where users find it

    def __init__(self, says: str, trace: tuple[Step, ...], found: tuple[Misfit, ...], text: str) -> None:
        super().__init__(text)
        self.says, self.trace, self.misfits = says, trace, found


class BeyondBounds(Exception):
    """The implementation is where the model may be, but outside the bounds: nothing more can be said of the run.

    Attributes:
        bounds: those that cut the step.
    """

    def __init__(self, bounds: tuple[str, ...]) -> None:
        self.bounds = bounds
        super().__init__(f"the implementation goes beyond the bound {', '.join(bounds)}")


@attrs.frozen
class Open:
    """A call that the model takes wherever it may be, or refuses wherever it may be.

    Attributes:
        path: the path that it takes; None if that is not known, or if it is refused.
    """

    path: int | None = None
    refused: bool = False


class Walk:
    """A run.

    Attributes:
        possible: the states where the model may be.
        taken: how many calls were made.
        paths: the paths that were taken for certain.
        last: the paths of which the last call took one. More than one if that is not seen, None among them for one
            outside the bounds; none if it was refused.
    """

    def __init__(self, plan: Plan) -> None:
        assert plan.interface is not None
        self._plan = plan
        self._interface: Interface = plan.interface
        self._observer, self._tracker = plan.observer, plan.tracker
        self._driven = Driven(plan.interface)
        self.possible: Possible = {}
        self.taken = 0
        self.paths: set[int] = set()
        self.last: set[int | None] = set()
        self._outside: Outside = {}  # where the model may be, too

    def begin(self, state: Any) -> None:
        """Start the implementation, in an initial state if its `start` takes one.

        Raises:
            Mismatch: it does not show what the model begins with.
            BeyondBounds: it does only outside the bounds.
        """
        __tracebackhide__ = True
        self._driven.start(state)
        begun = self._tracker.begin(lambda each: each == state or not self._interface.takes_state)
        self.possible = self._narrowed(begun, {}, "the start: the implementation does not begin as the model does")

    def close(self) -> None:
        """Close the implementation."""
        self._driven.close()

    @property
    def state(self) -> Any:
        """The state of the model, if there is but one where it may be; else None."""
        return next(iter(self.possible)) if len(self.possible) == 1 else None

    def open(self) -> dict[Choice, Open]:
        """The calls that can be made."""
        before = self._with_hidden(self.possible)
        found = {}
        for choices in self._interface.choices.values():
            for choice in choices:
                after = [[self._tracker.after(each, state) for each in self._meant(choice)] for state in before]
                if all(any(self._is_state(each) for each in of) for of in after) and not _cut(after):
                    found[choice] = Open(self._path(choice))
                elif choice.action in self._interface.refuses and not any(each for of in after for each in of):
                    found[choice] = Open(refused=True)
        return found

    def take(self, choice: Choice) -> None:
        """Make a call, and compare.

        Raises:
            Mismatch: the implementation is where the model cannot be, or refuses what the model takes.
            BeyondBounds: it is where the model can be outside the bounds only.
        """
        __tracebackhide__ = True
        before = self._with_hidden(self.possible)
        self.taken += 1
        self.last = set()
        what = f"step {self.taken}, {choice}"
        try:
            self._driven.do(choice)
        except NotEnabled as refused:
            self._refused(before, choice, what, refused)
            return
        except Exception as error:
            so_far = trace_text(self._plan.system, next(iter(before.values())).trace)
            error.add_note("\n".join([f"in {what}, after", *so_far]))
            raise
        meant = self._meant(choice)
        with self._few_enough():
            stepped = self._tracker.taken(before, meant, lambda state: True, self.taken)
        otherwise = "is not where the model may be" if stepped else "takes a step that the model refuses"
        outside = self._tracker.with_hidden_outside(
            self._outside | self._tracker.cut_from(before, self._tracker.hidden)
        )
        outside = self._tracker.taken_outside(outside, meant) | self._tracker.cut_from(before, meant)
        self.possible = self._narrowed(stepped, outside, f"{what}: the implementation {otherwise}", before)
        self.last = self._paths_from(before, choice)
        self.paths |= {path for path in self.last if path is not None and len(self.last) == 1}

    def _refused(self, before: Possible, choice: Choice, what: str, refused: NotEnabled) -> None:
        __tracebackhide__ = True
        unable = {state: each for state, each in before.items() if not self._always_takes(choice, state)}
        if not unable:
            why = f": {refused}" if str(refused) else ""
            raise self._mismatch(f"{what}: the implementation refuses a step that the model takes{why}", before, ())
        otherwise = "the implementation refuses the step, as the model does, but is not where it was"
        self.possible = self._narrowed(unable, self._outside, f"{what}: {otherwise}")

    def _always_takes(self, choice: Choice, state: Any) -> bool:
        """Whether the model takes a call in a state, whatever the implementation chooses."""
        return all(self._is_state(self._tracker.after(each, state)) for each in self._meant(choice))

    def _narrowed(
        self, possible: Possible, outside: Outside, otherwise: str, before: Possible | None = None
    ) -> Possible:
        """The states, and those after hidden steps, that the implementation shows.

        Args:
            outside: the states outside the bounds where it may be.
            otherwise: what is the matter if there is none.
            before: the states before the call, which a mismatch shows where the model takes no step.
        """
        __tracebackhide__ = True
        seen = self._seen()
        everywhere = self._with_hidden(possible)

        def fits(state: Any) -> bool:
            return all(part.fits(state) for part in seen)

        found = {state: each for state, each in everywhere.items() if fits(state)}
        if found:
            self._outside = {state: bounds for state, bounds in outside.items() if fits(state)}
            return found
        nearest = self._tracker.nearest_outside(outside | self._tracker.cut_from(everywhere, self._tracker.hidden))
        if beyond := next((bounds for state, bounds in nearest if fits(state)), None):
            raise BeyondBounds(tuple(sorted(beyond)))
        raise self._mismatch(otherwise, everywhere or before or {}, seen if everywhere else ())

    def _with_hidden(self, possible: Possible) -> Possible:
        with self._few_enough():
            return self._tracker.with_hidden(possible)

    @contextmanager
    def _few_enough(self) -> Iterator[None]:
        try:
            yield
        except TooMany as error:
            name = self._interface.adapter.__name__
            raise AdapterError(f"{name}.observe: more than {error} states are possible; let it show more") from None

    def _seen(self) -> tuple[Observed, ...]:
        __tracebackhide__ = True
        try:
            return self._observer.read(self._driven.observe(), foreign=True)
        except Wrong as wrong:
            raise AdapterError(f"{self._interface.adapter.__name__}.observe: {wrong}") from None

    def _mismatch(self, says: str, possible: Possible, seen: tuple[Observed, ...]) -> Mismatch:
        """The difference to the nearest of the states where the model may be."""
        nearest = min(possible.values(), key=lambda each: (len(misfits(seen, each.state)), each.hidden))
        found = misfits(seen, nearest.state)
        lines = [says, *(f"    {each}" for each in found)]
        if len(possible) > 1:
            lines.append(f"    (the nearest of {len(possible)} states where the model may be)")
        lines += ["the steps of the model:", *trace_text(self._plan.system, nearest.trace)]
        return Mismatch(says, nearest.trace, found, "\n".join(lines))

    def _meant(self, choice: Choice) -> tuple[Any, ...]:
        return self._interface.stands_for[choice]

    def _is_state(self, after: Any) -> bool:
        return isinstance(after, self._plan.system.domain.cls)

    def _path(self, choice: Choice) -> int | None:
        meant = self._meant(choice)
        return self._plan.path_of(meant[0], self.state) if self.state is not None and len(meant) == 1 else None

    def _paths_from(self, before: Possible, choice: Choice) -> set[int | None]:
        """The paths of the steps that a call may have been; no more than two, as more say no more."""
        found: set[int | None] = {None} if self._outside else set()
        for state, action in itertools.product(before, self._meant(choice)):
            after = self._tracker.after(action, state)
            if self._is_state(after) and self._may_have_led_here(after):
                found.add(self._plan.path_of(action, state))
                if len(found) > 1:
                    break
        return found

    def _may_have_led_here(self, after: Any) -> bool:
        return after in self.possible or not self.possible.keys().isdisjoint(
            self._with_hidden({after: Reached(after)}) if self._tracker.hidden else ()
        )


def _cut(after: list[list[Any]]) -> bool:
    return any(isinstance(each, Cut) for of in after for each in of)
