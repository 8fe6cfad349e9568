"""Lines of a log of one's own implementation: what each may be in the model, and what was seen after it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from highwater.claims.observed import Observed, Observer, value_of
from highwater.claims.positions import text_of
from highwater.claims.tables import Wrong, did_you_mean, shown
from highwater.explorer.system import System
from highwater.limits import LARGEST_REPORT, MOST_PROBLEMS
from highwater.model.language.declarations import Instance
from highwater.model.language.records import domain_of

KEYS = ("action", "arguments", "state", "note")
EXAMPLE = '{"action": "NAME", "arguments": {"PARAMETER": 0}, "state": {"FIELD": 1}}'


class LogError(Exception):
    """A log that cannot be read, or that speaks of what the model has not. The message names file and line."""


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

    def may_fit(self, state: Any) -> bool:
        """Whether nothing that was seen is other in what may be no state: a part may have no value there."""
        return all(each.fits(state, undefined=True) for each in self.observed)

    def __str__(self) -> str:
        given = " ".join(f"{name}={value}" for name, value in self.arguments.items())
        what = f"{self.action or ('a step' if self.actions else 'no step')} {given}".rstrip()
        seen = ", ".join(f"{each.part.text} {each.shown}" for each in self.observed)
        return f"{what}: {seen}" if seen else what


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
            found.append(_line(number, each, system, observer))
        except Wrong as wrong:
            problems += [f"{path}:{number}: {problem}" for problem in wrong.problems]
    if problems:
        more = len(problems) - MOST_PROBLEMS
        raise LogError("\n".join([*problems[:MOST_PROBLEMS], *([f"{path}: and {more:,} more"] if more > 0 else [])]))
    if not found:
        raise LogError(f"{path}: has no lines; write a JSON object a line, such as {EXAMPLE}")
    return found


def _line(number: int, text: str, system: System, observer: Observer) -> Line:
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
            raise Wrong(f"unknown key {shown(key)}{did_you_mean(key, KEYS)}; {those(KEYS)}")
    for key in ("arguments", "state"):
        if not isinstance(data.setdefault(key, {}), dict):
            raise Wrong(f'{key}: {shown(data[key])} is not a JSON object such as {{"NAME": 1}}')
    fitting, given = _meant(data, system)
    note = str(data.get("note", ""))
    return Line(number, fitting, data.get("action") or "", given, observer.read(data["state"]), note)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's keys, of which json would take the last of two without a word."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise Wrong(f"the key {shown(next(name for name in names if names.count(name) > 1))} stands there twice")
    return made


def _meant(data: Mapping[str, Any], system: System) -> tuple[tuple[Instance, ...], dict[str, str]]:
    """The steps that a line may be, and its arguments as traces show them. A parameter that has one value only within
    the bounds is in no trace, and may be in a line.
    """
    name, arguments = data.get("action", ""), data["arguments"]
    names = dict.fromkeys(each.of.name for each in system.actions)
    if name is None:
        if arguments:
            raise Wrong("arguments: the action is null, which is no step, and so has none")
        return (), {}
    if name == "" and "action" not in data:
        if arguments:
            raise Wrong(f"arguments: name the action, too; {those(names)}")
        return system.actions, {}
    if name not in names:
        hint = did_you_mean(str(name), names)
        raise Wrong(f"action: {shown(name)} is no action of the model{hint}; {those(names)}")
    named = [each for each in system.actions if each.of.name == name]
    given: dict[str, str] = {}
    for parameter, value in arguments.items():
        declared, inside = named[0].of.parameters, named[0].domains
        if parameter not in declared:
            hint = did_you_mean(parameter, declared)
            raise Wrong(f"arguments: {name} has no parameter {shown(parameter)}{hint}; {those(declared)}")
        domain = inside[parameter] if parameter in inside else domain_of(declared[parameter], system.bounds)
        try:
            text = domain.show(value_of(domain, value))
        except Wrong as wrong:
            raise Wrong(f"arguments.{parameter}: {wrong}") from None
        given |= {parameter: text} if parameter in inside else {}
    return tuple(each for each in named if all(each.shown[key] == value for key, value in given.items())), given


def those(names: Iterable[str]) -> str:
    """The names that are allowed, for a message."""
    return f"allowed are {', '.join(names) or 'none'}"
