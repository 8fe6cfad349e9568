"""A log of one's own implementation, searched for in the model: a behaviour that explains it, or its first line that
none explains.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import attrs

from highwater.claims.observed import Observed, Observer, misfits, value_of
from highwater.claims.positions import text_of
from highwater.claims.possible import Possible, Reached, TooMany, Tracker
from highwater.claims.spec import Spec
from highwater.claims.tables import Wrong, did_you_mean, shown
from highwater.explorer.analysis.refusals import Refusal, refusal
from highwater.explorer.system import System
from highwater.limits import LARGEST_REPORT, MOST_PROBLEMS
from highwater.model.language.declarations import Instance

KEYS = ("action", "arguments", "state", "note")
MOST_ALLOWED = 1_000  # steps that are looked through for the nearest


class LogError(Exception):
    """A log that cannot be read, or that speaks of what the model has not. The message names file and line."""


class Finding(Enum):
    """What became of a log."""

    EXPLAINED = "explained"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@attrs.frozen
class Line:
    """A line of a log.

    Attributes:
        number: counted from 1.
        actions: the steps of the model that it may be; none if it is no step, but what is seen where the last line
            left the model.
        action: the name that it gives; empty if it gives none.
        arguments: as it gives them.
        observed: the values after it.
        note: what else it says, for people.
    """

    number: int
    actions: tuple[Instance, ...]
    action: str
    arguments: Mapping[str, Any]
    observed: tuple[Observed, ...]
    note: str = ""

    def fits(self, state: Any) -> bool:
        """Whether a state has what was seen."""
        return all(each.fits(state) for each in self.observed)

    def __str__(self) -> str:
        given = " ".join(f"{name}={value}" for name, value in self.arguments.items())
        what = f"{self.action or ('a step' if self.actions else 'no step')} {given}".rstrip()
        seen = ", ".join(f"{each.part.text} {each.shown}" for each in self.observed)
        return f"{what}: {seen}" if seen else what


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
        allowed: what the model allows there, the nearest first.
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
        cut: the bounds that have cut what may explain more, and at which line first.
        gave_up: why the search ended early; empty if it did not.
    """

    spec: Spec
    log: Path
    lines: int
    explained: int
    way: tuple[Reached, ...]
    states: int
    refused: Refused | None = None
    cut: tuple[tuple[str, ...], int] | None = None
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
            raise LogError(f"--unlogged: {shown(name)} is no action{did_you_mean(name, names)}; {_those(names)}")
    return _search(spec, path, read_log(path, system), Tracker(system, unlogged, most))


def _search(spec: Spec, path: Path, lines: Sequence[Line], tracker: Tracker) -> Explanation:
    possible, explained = tracker.begin(), 0
    cut: tuple[tuple[str, ...], int] | None = None
    found = functools.partial(Explanation, spec, path, len(lines))
    for line in lines:
        try:
            before = tracker.with_hidden(possible)
            if line.actions:
                after = tracker.taken(before, line.actions, line.fits, line.number)
            else:
                after = {state: each for state, each in before.items() if line.fits(state)}
        except TooMany as error:
            why = f"after line {line.number} more than {error} states are possible"
            return found(explained, _way(possible), len(possible), None, cut, why)
        if tracker.cut and cut is None:
            cut = tuple(sorted(tracker.cut)), line.number
        if not after:
            refused = _refused(tracker, line, before)
            return found(explained, _way(possible), len(possible), refused, cut)
        possible, explained = after, explained + 1
    return found(explained, _way(possible), len(possible), None, cut)


def _way(possible: Possible) -> tuple[Reached, ...]:
    return tuple(min(possible.values(), key=lambda each: each.hidden).way)


def _refused(tracker: Tracker, line: Line, before: Possible) -> Refused:
    """What the model allows in some states, of which a line allows none."""
    found: dict[tuple[str, tuple[str, ...]], Allowed] = {}
    enabled = False
    for reached in before.values():
        for action, after in _steps(tracker, reached.state) if line.actions else [(None, reached.state)]:
            enabled = enabled or action in line.actions
            values = {each.part.text: each.part.shown(after) for each in line.observed}
            key = (str(action), tuple(values.values()))
            if key not in found and len(found) < MOST_ALLOWED:
                found[key] = Allowed(action, values, _apart(line, action, after))
    guard = None
    if line.action and not enabled:
        state = next(iter(before))
        guard = next((refusal(each, state) for each in line.actions if each.apply(state) is None), None)
    return Refused(line, len(before), tuple(sorted(found.values(), key=lambda each: each.apart)), guard)


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


def read_log(path: Path, system: System) -> list[Line]:
    """The lines of a log; empty ones are left out.

    Raises:
        LogError: with all lines that are wrong.
    """
    try:
        text = text_of(path, LARGEST_REPORT)
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise LogError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from None
    observer, found, problems = Observer(system.domain), [], []
    for number, each in enumerate(text.split("\n"), 1):
        if not each.strip():
            continue
        try:
            found.append(_line(number, each, system.actions, observer))
        except Wrong as wrong:
            problems += [f"{path}:{number}: {problem}" for problem in wrong.problems]
    if problems:
        more = len(problems) - MOST_PROBLEMS
        raise LogError("\n".join([*problems[:MOST_PROBLEMS], *([f"{path}: and {more:,} more"] if more > 0 else [])]))
    if not found:
        raise LogError(f"{path}: has no lines; write a JSON object a line, such as {EXAMPLE}")
    return found


EXAMPLE = '{"action": "NAME", "arguments": {"PARAMETER": 0}, "state": {"FIELD": 1}}'


def _line(number: int, text: str, actions: Sequence[Instance], observer: Observer) -> Line:
    """
    Raises:
        Wrong: with what is wrong with it.
    """
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise Wrong(f"is not JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:
        raise Wrong(f"is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise Wrong(f"{shown(data)} is not a JSON object such as {EXAMPLE}")
    for key in data:
        if key not in KEYS:
            raise Wrong(f"unknown key {shown(key)}{did_you_mean(key, KEYS)}; {_those(KEYS)}")
    for key in ("arguments", "state"):
        if not isinstance(data.setdefault(key, {}), dict):
            raise Wrong(f'{key}: {shown(data[key])} is not a JSON object such as {{"NAME": 1}}')
    fitting, given = _meant(data, actions)
    note = str(data.get("note", ""))
    return Line(number, fitting, data.get("action") or "", given, observer.read(data["state"]), note)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's keys, of which json would take the last of two without a word."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise Wrong(f"the key {shown(next(name for name in names if names.count(name) > 1))} stands there twice")
    return made


def _meant(data: Mapping[str, Any], actions: Sequence[Instance]) -> tuple[tuple[Instance, ...], dict[str, str]]:
    """The steps that a line may be, and its arguments as traces show them."""
    name, arguments = data.get("action", ""), data["arguments"]
    names = dict.fromkeys(each.of.name for each in actions)
    if name is None:
        if arguments:
            raise Wrong("arguments: the action is null, which is no step, and so has none")
        return (), {}
    if name == "" and "action" not in data:
        if arguments:
            raise Wrong(f"arguments: name the action, too; {_those(names)}")
        return tuple(actions), {}
    if name not in names:
        hint = did_you_mean(str(name), names)
        raise Wrong(f"action: {shown(name)} is no action of the model{hint}; {_those(names)}")
    named = [each for each in actions if each.of.name == name]
    given: dict[str, str] = {}
    for parameter, value in arguments.items():
        domain = named[0].domains.get(parameter)
        if domain is None:
            hint, those = did_you_mean(parameter, named[0].domains), _those(named[0].domains)
            raise Wrong(f"arguments: {name} has no parameter {shown(parameter)}{hint}; {those}")
        try:
            given[parameter] = domain.show(value_of(domain, value))
        except Wrong as wrong:
            raise Wrong(f"arguments.{parameter}: {wrong}") from None
    return tuple(each for each in named if all(each.shown[key] == value for key, value in given.items())), given


def _those(names: Iterable[str]) -> str:
    return f"allowed are {', '.join(names) or 'none'}"
