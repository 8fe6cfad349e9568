"""Code objects: what they reach by name, and where they are written."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, wraps
from types import CodeType
from typing import Any, TypeVar

import attrs

T = TypeVar("T")


@attrs.frozen
class Uses:
    """What code reaches by name: globals, with the attributes that are taken of them one after the other; what it
    imports, from how many packages above, and which names it takes from there; the globals that it sets; and whether it
    asks for subclasses, which are not part of a class.
    """

    names: tuple[tuple[str, tuple[str, ...]], ...]
    imports: tuple[tuple[str, int, tuple[str, ...]], ...]
    sets: tuple[str, ...]
    subclasses: bool


def once_for_code(of: Callable[[CodeType], T]) -> Callable[[CodeType], T]:
    """Keep what is found for code by its identity, as its own hash takes long; and the code, so that it lives on."""
    found: dict[int, tuple[CodeType, T]] = {}

    @wraps(of)
    def kept(code: CodeType) -> T:
        if id(code) not in found:
            found[id(code)] = code, of(code)
        return found[id(code)][1]

    return kept


@once_for_code
def uses_of(code: CodeType) -> Uses:
    """What code, and the code inside it, reaches by name."""
    names, imports, sets, subclasses = set(), set(), set(), False
    for each in inside([code]):
        found = _uses_in(each)
        names |= set(found.names)
        imports |= set(found.imports)
        sets |= set(found.sets)
        subclasses |= found.subclasses
    return Uses(tuple(sorted(names)), tuple(sorted(imports)), tuple(sorted(sets)), subclasses)


def _uses_in(code: CodeType) -> Uses:
    names: list[tuple[str, tuple[str, ...]]] = []
    imports, sets = [], []
    loaded: list[Any] = [0, None]  # the last constants
    follows = False
    for operation, argument in _operations(code):
        if operation in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"):
            names.append((code.co_names[argument >> (operation == "LOAD_GLOBAL")], ()))
            follows = True
            continue
        if operation in ("LOAD_ATTR", "LOAD_METHOD") and follows:
            shifted = operation == "LOAD_ATTR" and sys.version_info >= (3, 12)
            name, chain = names.pop()
            names.append((name, (*chain, code.co_names[argument >> shifted])))
            continue
        follows = False
        if operation in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            sets.append(code.co_names[argument])
        elif operation in ("LOAD_CONST", "LOAD_SMALL_INT"):
            loaded = [loaded[-1], code.co_consts[argument] if operation == "LOAD_CONST" else argument]
        elif operation == "IMPORT_NAME":
            imports.append((code.co_names[argument], loaded[0] or 0, tuple(loaded[1] or ())))
    return Uses(tuple(names), tuple(imports), tuple(sets), "__subclasses__" in code.co_names)


def _operations(code: CodeType) -> Iterator[tuple[str, int]]:
    """The instructions of code, as `dis` has them, which takes ten times as long."""
    extended, read = 0, code.co_code
    for at in range(0, len(read), 2):
        name, argument = dis.opname[read[at]], read[at + 1] | extended
        extended = argument << 8 if name == "EXTENDED_ARG" else 0
        if name not in ("CACHE", "EXTENDED_ARG", "PUSH_NULL"):
            yield name, argument


_places: dict[int, tuple[CodeType, Any, str | None]] = {}


def place_of(code: CodeType, module: str, stamp: Any) -> str | None:
    """Where code is written in the file of a module, as this is now; None if it is not."""
    if id(code) not in _places or _places[id(code)][1] != stamp:
        _places[id(code)] = code, stamp, _written(module, stamp).get(code)
    return _places[id(code)][2]


@cache
def _written(module: str, stamp: Any) -> dict[CodeType, str]:
    """All code in the file of a module, and where each is.

    Args:
        stamp: when the file was changed last.
    """
    spec = getattr(sys.modules.get(module), "__spec__", None)
    found: dict[CodeType, str] = {}
    places: dict[str, int] = {}
    with suppress(ImportError, AttributeError, OSError, SyntaxError):  # some loaders have no code
        for code in inside([spec.loader.get_code(spec.name)]):  # type: ignore[union-attr]
            place = f"{code.co_qualname}:{code.co_firstlineno}"
            places[place] = places.get(place, 0) + 1
            found[code] = f"written at {module}:{place}:{places[place]}"
    return found


def inside(constants: Iterable[Any]) -> Iterator[CodeType]:
    """The code among some constants, and the code inside that."""
    for each in constants:
        if isinstance(each, CodeType):
            yield each
            yield from inside(each.co_consts)
