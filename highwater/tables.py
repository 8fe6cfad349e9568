"""A table of a TOML or JSON file as an attrs class, or all that is wrong with it: each key, and what it may be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import attrs
import cattrs
from cattrs.errors import ClassValidationError, ForbiddenExtraKeysError


class Wrong(Exception):
    """Problems with the keys of a spec, one line each."""

    def __init__(self, *problems: str) -> None:
        super().__init__(*problems)
        self.problems = problems


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """A hint at the allowed name that is closest, or nothing."""
    close = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return f' (did you mean "{close[0]}"?)' if close else ""


def _strict(kind: type) -> Any:
    def convert(value: Any, _: type) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{_shown(value)} is not {_KINDS[kind]}")
        return value

    return convert


_KINDS = {int: "a whole number", str: "a text", bool: "true or false"}


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _enum(value: Any, kind: type[Enum]) -> Enum:
    allowed = [member.value for member in kind]
    if value in allowed:
        return kind(value)
    hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
    raise ValueError(f"{_shown(value)} is not allowed{hint}; allowed are {', '.join(allowed)}")


def _tuple_of_texts(value: Any, _: type) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(f"{_shown(value)} is not a list of texts")
    return tuple(value)


def _table(value: Any, _: type) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{_shown(value)} is not a table such as {{ name = value }}")
    return value


def _make_converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind in _KINDS:
        converter.register_structure_hook(kind, _strict(kind))
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
    problems = _out_of_range(data, cls, key) if isinstance(data, Mapping) else []
    try:
        if problems:  # the class itself would refuse these, in words that do not name the key
            data = {name: value for name, value in data.items() if not any(p.startswith(f"{_dotted(key, name)}:") for p in problems)}
        made = _CONVERTER.structure(data, cls)
    except ClassValidationError as error:
        named = {p.split(":")[0] for p in problems}
        problems += [problem for problem in _problems(error, cls, key) if problem.split(":")[0] not in named]
    except (TypeError, ValueError) as error:
        problems.append(f"{key}: {error}")
    if problems:
        raise Wrong(*problems)
    return made


def _out_of_range(data: Mapping[str, Any], cls: type, key: str) -> list[str]:
    return [
        f"{_dotted(key, field.name)}: {data[field.name]} is out of range; allowed are {field.metadata['low']}..{field.metadata['high']}"
        f" ({field.metadata['meaning']})"
        for field in attrs.fields(cls)
        if "low" in field.metadata
        and type(data.get(field.name)) is int
        and not field.metadata["low"] <= data[field.name] <= field.metadata["high"]
    ]


def _problems(error: ClassValidationError, cls: type, key: str) -> list[str]:
    """Cattrs' findings, in our words."""
    found = []
    named, unnamed = error.group_exceptions()
    for problem, note in named:
        inner = _dotted(key, note.name)
        if isinstance(problem, ClassValidationError):
            found += _problems(problem, note.type, inner)
        elif isinstance(problem, KeyError):
            found.append(f"{inner}: is missing{_allowed(attrs.fields_dict(cls)[note.name], note.type)}")
        else:
            found.append(f"{inner}: {problem}")
    for problem in unnamed:
        if isinstance(problem, ForbiddenExtraKeysError):
            allowed = [field.name for field in attrs.fields(cls)]
            for extra in sorted(problem.extra_fields):
                found.append(f"{_dotted(key, extra)}: unknown key{did_you_mean(extra, allowed)}; allowed are {', '.join(allowed)}")
        else:
            found.append(f"{key}: {problem}" if key else str(problem))
    return found


def _allowed(field: Any, kind: Any) -> str:
    if "low" in field.metadata:
        return f"; allowed are {field.metadata['low']}..{field.metadata['high']} ({field.metadata['meaning']})"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"; allowed are {', '.join(member.value for member in kind)}"
    return ""


def _dotted(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
