"""A table of a TOML or JSON file as an attrs class, or all that is wrong with it: each key, and what it may be."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any

import attrs
import cattrs
from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError

from highwater.limits import MOST_PROBLEMS

LONGEST = 200


class Wrong(Exception):
    """Problems with the keys of a spec, one line each."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


class Findings:
    """Problems found so far: what is wrong is said all together."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def add(self, problem: str) -> None:
        if problem not in self.problems and len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)

    def get(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function returns, or None, its problems noted, where it raises `Wrong`."""
        try:
            return function(*arguments)
        except Wrong as wrong:
            for problem in wrong.problems:
                self.add(problem)
            return None

    def raise_if_any(self) -> None:
        if self.problems:
            raise Wrong(*self.problems)


SAID_OTHERWISE = (
    ("min_insync_replicas", "min_isr", "min.insync.replicas", "min"),
    ("replication_factor", "rf", "replicas"),
)
"""Names for the same thing; each model uses one of them."""


def did_you_mean(name: str, allowed: Iterable[str], simplified: Callable[[str], str] = str.lower) -> str:
    """A hint at the allowed name that means the same, or is closest once both are simplified; or nothing."""
    allowed = list(allowed)
    for words in SAID_OTHERWISE:
        if name.lower() in words and (same := [word for word in words if word in allowed]):
            return f' (did you mean "{same[0]}"?)'
    by_form = {simplified(candidate): candidate for candidate in allowed}
    close = difflib.get_close_matches(simplified(name), list(by_form), n=1, cutoff=0.5)
    return f' (did you mean "{by_form[close[0]]}"?)' if close else ""


def strict(kind: type) -> Any:
    """A hook for cattrs that takes values of exactly this type."""

    def convert(value: Any, _: type) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{shown(value)} is not {_KINDS[kind]}")
        return value

    return convert


_KINDS = {int: "a whole number", str: "a text", bool: "true or false"}


def shown(value: Any) -> str:
    """A value as TOML would write it, not too long."""
    if isinstance(value, str):
        text = f'"{value}"'
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, int) and value.bit_length() > LONGEST:
        text = f"a number of {value.bit_length()} bits"
    else:
        text = str(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def shown_key(key: str) -> str:
    """A dotted key, not too long."""
    return key if len(key) <= LONGEST else key[:LONGEST] + "..."


def _enum(value: Any, kind: type[Enum]) -> Enum:
    given = [value, str(value)] if type(value) is int else [value]  # acks = 1, as in Kafka's own files
    for member in kind:
        if any(type(each) is type(member.value) and each == member.value for each in given):
            return member
    allowed = [str(member.value) for member in kind if member.value != "unknown"]  # an answer, never a question
    hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
    raise ValueError(f"{shown(value)} is not allowed{hint}; allowed are {', '.join(allowed)}")


def _tuple_of_texts(value: Any, _: type) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        instead = f"; write [{shown(value)}]" if isinstance(value, str) else ""
        raise TypeError(f"{shown(value)} is not a list of texts{instead}")
    return tuple(value)


def _table(value: Any, _: type) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{shown(value)} is not a table such as {{ name = value }}")
    return value


def _make_converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind in _KINDS:
        converter.register_structure_hook(kind, strict(kind))
    converter.register_structure_hook_func(lambda kind: isinstance(kind, type) and issubclass(kind, Enum), _enum)
    converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _tuple_of_texts)
    converter.register_structure_hook_func(lambda kind: kind == dict[str, Any], _table)
    return converter


_CONVERTER = _make_converter()


def structure(data: Any, cls: type, key: str) -> Any:
    """A table as an attrs class; every problem in it, with its key.

    Raises:
        Wrong: a key is unknown or missing, or a value has the wrong type or is out of range.
    """
    if not isinstance(data, Mapping):
        raise Wrong(f"{key}: {shown(data)} is not a table such as {{ name = value }}")
    problems = _out_of_range(data, cls, key)
    try:
        if problems:  # the class itself would refuse these, in words that do not name the key
            data = {
                name: value
                for name, value in data.items()
                if not any(p.startswith(f"{_dotted(key, name)}:") for p in problems)
            }
        made: Any = _CONVERTER.structure(data, cls)
    except ClassValidationError as error:
        named = {p.split(":")[0] for p in problems}
        problems += [problem for problem in problems_of(error, cls, key) if problem.split(":")[0] not in named]
    except (TypeError, ValueError) as error:
        problems.append(f"{key}: {error}")
    if problems:
        raise Wrong(*problems)
    return made


def _out_of_range(data: Mapping[str, Any], cls: type, key: str) -> list[str]:
    problems = []
    for field in attrs.fields(cls):
        value = data.get(field.name)
        if (
            "low" in field.metadata
            and type(value) is int
            and not field.metadata["low"] <= value <= field.metadata["high"]
        ):
            problems.append(f"{_dotted(key, field.name)}: {shown(value)} is out of range{_allowed(field, int)}")
    return problems


def problems_of(error: ClassValidationError, cls: type, key: str) -> list[str]:
    """Cattrs' findings, in our words."""
    found = []
    named, unnamed = error.group_exceptions()
    for problem, note in named:
        inner = _dotted(key, note.name)
        if isinstance(problem, ClassValidationError):
            found += problems_of(problem, note.type, inner)
        elif isinstance(problem, KeyError):
            found.append(f"{inner}: is missing{_allowed(attrs.fields_dict(cls)[note.name], note.type)}")
        elif attrs.has(note.type):
            found.append(f"{inner}: is not a table such as {{ name = value }}")
        else:
            hint = "" if "allowed are" in str(problem) else _allowed(attrs.fields_dict(cls)[note.name], note.type)
            found.append(f"{inner}: {problem}{hint}")
    for problem in unnamed:
        if isinstance(problem, ForbiddenExtraKeysError):
            allowed = [field.name for field in attrs.fields(cls)]
            listed = ", ".join(allowed) or "none"
            for extra in sorted(problem.extra_fields)[:MOST_PROBLEMS]:
                found.append(
                    f"{shown_key(_dotted(key, extra))}: unknown key{did_you_mean(extra, allowed)}; allowed are {listed}"
                )
        else:
            found.append(f"{key}: {problem}" if key else str(problem))
    return found


def _allowed(field: Any, kind: Any) -> str:
    if "low" in field.metadata:
        return f"; allowed are {field.metadata['low']}..{field.metadata['high']} ({field.metadata['meaning']})"
    if "choices" in field.metadata:
        return f"; allowed are {', '.join(field.metadata['choices'])}"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"; allowed are {', '.join(str(member.value) for member in kind)}"
    return ""


def _dotted(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
