"""One run of an implementation and its model: after each step the implementation must be where the model may be."""

from __future__ import annotations

from typing import Any

import attrs

from highwater.claims.observed import Misfit, Observed, misfits
from highwater.claims.possible import Possible, Reached
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
        paths: the paths that were taken.
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

    def begin(self, state: Any) -> None:
        """Start the implementation, in an initial state if its `start` takes one.

        Raises:
            Mismatch: it does not show what the model begins with.
        """
        __tracebackhide__ = True
        self._driven.start(state)
        begun = self._tracker.begin(lambda each: each == state or not self._interface.takes_state)
        self.possible = self._narrowed(begun, "the start", "the implementation does not begin as the model does")

    def close(self) -> None:
        """Close the implementation."""
        self._driven.close()

    @property
    def state(self) -> Any:
        """The state of the model, if there is but one where it may be; else None."""
        return next(iter(self.possible)) if len(self.possible) == 1 else None

    def open(self) -> dict[Choice, Open]:
        """The calls that can be made."""
        before = self._tracker.with_hidden(self.possible)
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
        """
        __tracebackhide__ = True
        before = self._tracker.with_hidden(self.possible)
        self.taken += 1
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
        stepped = self._tracker.taken(before, self._meant(choice), lambda state: True, self.taken)
        if not stepped:
            raise self._mismatch(f"{what}: the implementation takes a step that the model refuses", before, ())
        self.possible = self._narrowed(stepped, what, "the implementation is not where the model may be")
        paths = {self._plan.path_of(each.taken, each.before) for each in map(self._last_call, self.possible.values())}
        self.paths |= paths if len(paths) == 1 else set()

    def _refused(self, before: Possible, choice: Choice, what: str, refused: NotEnabled) -> None:
        __tracebackhide__ = True
        unable = {state: each for state, each in before.items() if not self._always_takes(choice, state)}
        if not unable:
            why = f": {refused}" if str(refused) else ""
            raise self._mismatch(f"{what}: the implementation refuses a step that the model takes{why}", before, ())
        otherwise = "the implementation refuses the step, as the model does, but is not where it was"
        self.possible = self._narrowed(unable, what, otherwise)

    def _always_takes(self, choice: Choice, state: Any) -> bool:
        """Whether the model takes a call in a state, whatever the implementation chooses."""
        return all(self._is_state(self._tracker.after(each, state)) for each in self._meant(choice))

    def _narrowed(self, possible: Possible, what: str, otherwise: str) -> Possible:
        """The states, and those after hidden steps, that the implementation shows."""
        __tracebackhide__ = True
        seen = self._seen()
        everywhere = self._tracker.with_hidden(possible)
        found = {state: each for state, each in everywhere.items() if all(part.fits(state) for part in seen)}
        if not found:
            raise self._mismatch(f"{what}: {otherwise}", everywhere, seen)
        return found

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

    def _last_call(self, reached: Reached) -> Any:
        """The step of the last call on the way to a state."""
        return next(
            Call(each.action, each.before.state)
            for each in reversed(reached.way)
            if each.at == self.taken and each.action is not None and each.before is not None
        )


@attrs.frozen
class Call:
    """A step of the model and the state before it."""

    taken: Any
    before: Any


def _cut(after: list[list[Any]]) -> bool:
    return any(isinstance(each, Cut) for of in after for each in of)
