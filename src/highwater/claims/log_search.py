"""A log searched for in the model: a behaviour that explains it, or its first line that none explains."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import attrs

from highwater.claims.logs import Line, LogError, read_log, those
from highwater.claims.observed import misfits
from highwater.claims.possible import Possible, Reached, TooMany, Tracker
from highwater.claims.spec import Spec
from highwater.claims.tables import did_you_mean, shown
from highwater.explorer.analysis.refusals import Refusal, refusal
from highwater.model.language.declarations import Instance

MOST_ALLOWED = 1_000  # steps that are kept, the nearest of all

_Key = tuple[str, tuple[str, ...]]
"""A step and the values that it would have, as they are shown."""


class Finding(Enum):
    """What became of a log."""

    EXPLAINED = "explained"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@attrs.frozen
class Allowed:
    """A step that the model allows where a line is refused.

    Attributes:
        action: the step; None for a line that is no step.
        values: by part of the state that the line gives, what it would have.
        apart: how many of these, and of the arguments, are other than the line says.
    """

    action: Instance | None
    values: Mapping[str, str]
    apart: int


@attrs.frozen
class Refused:
    """The first line that no behaviour explains.

    Attributes:
        line: the line.
        states: how many states were possible before it.
        allowed: what the model allows there, the nearest first; no more than `MOST_ALLOWED` of it.
        guard: of a line that names a step which is not enabled in any of these states, what refuses it in one.
    """

    line: Line
    states: int
    allowed: tuple[Allowed, ...]
    guard: Refusal | None = None


@attrs.frozen
class Explanation:
    """What was found of a log.

    Attributes:
        lines: how many it has.
        explained: how many of them a behaviour explains.
        way: the behaviour that explains these, with the fewest steps that are in no line.
        states: how many states are possible at its end.
        refused: the line after these, unless all are explained.
        cut: by bound that has cut what may explain more, the last line where it did.
        gave_up: why the search ended early; empty if it did not.
    """

    spec: Spec
    log: Path
    lines: int
    explained: int
    way: tuple[Reached, ...]
    states: int
    refused: Refused | None = None
    cut: Mapping[str, int] = attrs.field(factory=dict)
    gave_up: str = ""

    @property
    def finding(self) -> Finding:
        """A line is refused only if no bound has cut what may explain it."""
        if self.gave_up or (self.refused and self.cut):
            return Finding.UNKNOWN
        return Finding.REFUSED if self.refused else Finding.EXPLAINED


def follow_log(spec: Spec, path: Path, unlogged: Collection[str] = (), most: int = 100_000) -> Explanation:
    """Search for a log in a model, line by line, with all states that are possible after each.

    Args:
        path: a JSON object per line; `docs/implementation.md` describes them.
        unlogged: actions that may happen between two lines, any number of times.
        most: how many states to keep after a line.

    Raises:
        LogError: the log cannot be read, or speaks of what the model has not.
        ModelError: a function of the model raised.
    """
    system = spec.system()
    names = list(dict.fromkeys(each.of.name for each in system.actions))
    for name in unlogged:
        if name not in names:
            raise LogError(f"--unlogged: {shown(name)} is no action{did_you_mean(name, names)}; {those(names)}")
    return _search(spec, path, read_log(path, system), Tracker(system, unlogged, most))


def _search(spec: Spec, path: Path, lines: Sequence[Line], tracker: Tracker) -> Explanation:
    possible, explained = tracker.begin(), 0
    cut: dict[str, int] = {}
    found = functools.partial(Explanation, spec, path, len(lines))
    for line in lines:
        try:
            before = tracker.with_hidden(possible)
            if line.actions:
                after = tracker.taken(before, line.actions, line.fits, line.number, line.may_fit)
            else:
                after = {state: each for state, each in before.items() if line.fits(state)}
        except TooMany as error:
            why = f"after line {line.number} more than {error} states are possible"
            return found(explained, _way(possible), len(possible), None, cut, why)
        cut |= dict.fromkeys(tracker.cut, line.number)
        tracker.cut.clear()
        if not after:
            refused = _refused(tracker, line, before)
            return found(explained, _way(possible), len(possible), refused, cut)
        possible, explained = after, explained + 1
    return found(explained, _way(possible), len(possible), None, cut)


def _way(possible: Possible) -> tuple[Reached, ...]:
    return tuple(min(possible.values(), key=lambda each: each.hidden).way)


def _refused(tracker: Tracker, line: Line, before: Possible) -> Refused:
    """What the model allows in some states, of which a line allows none."""
    found: dict[_Key, Allowed] = {}
    enabled = False
    for reached in before.values():
        for action, after in _steps(tracker, reached.state) if line.actions else [(None, reached.state)]:
            enabled = enabled or action in line.actions
            values = {each.part.text: each.part.shown(after) for each in line.observed}
            key = (str(action), tuple(values.values()))
            if key not in found:
                found[key] = Allowed(action, values, _apart(line, action, after))
        if len(found) > 2 * MOST_ALLOWED:  # there may be millions
            found = dict(_nearest(found))
    guard = None
    if line.action and not enabled:
        state = next(iter(before))
        guard = next((refusal(each, state) for each in line.actions if each.apply(state) is None), None)
    return Refused(line, len(before), tuple(each for _, each in _nearest(found)), guard)


def _nearest(found: Mapping[_Key, Allowed]) -> list[tuple[_Key, Allowed]]:
    return heapq.nsmallest(MOST_ALLOWED, found.items(), key=lambda each: each[1].apart)


def _steps(tracker: Tracker, state: Any) -> Iterator[tuple[Instance, Any]]:
    for action in tracker.system.actions:
        after = tracker.after(action, state)
        if isinstance(after, tracker.system.domain.cls):
            yield action, after


def _apart(line: Line, action: Instance | None, after: Any) -> int:
    """How far a step is from what a line says: an action counts for more than all of its arguments and values."""
    others = len(misfits(line.observed, after))
    if action is None or not line.action:
        return others
    if action.of.name != line.action:
        return others + len(line.arguments) + len(line.observed) + 1
    return others + len([name for name, value in line.arguments.items() if action.shown[name] != value])
