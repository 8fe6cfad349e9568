"""Records: the frozen attrs classes that states are made of.

Next to each field of a record stands its domain, which the *bounds* size: a frozen attrs object of whole numbers.

    @attrs.frozen
    class Replica:
        high_watermark: int = within(lambda bounds: Integers(0, bounds.log_length_max))
        isr: frozenset[int] = within(lambda bounds: SetOf(brokers(bounds)))
        log: Log = within(Log)
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from enum import Enum
from functools import cache
from types import GenericAlias
from typing import Any, TypeVar

import attrs

from highwater.model.language.domain import Limit, Struct, aliases_of, as_domain

DOMAIN = "domain"
NO_RECORDS = (bool, int, str, float, frozenset, set, tuple, list, dict)
AnyRecord = TypeVar("AnyRecord")
Element = TypeVar("Element")
EQUAL = "records of a state are equal if all their fields are"


def within(domain: object, default: Any = attrs.NOTHING) -> Any:
    """An attrs field with its domain: a domain, a function from bounds to a domain, `bool`, an enum class, or the class
    of a nested record. `default` is the value of a record that is made without.
    """
    return attrs.field(default=default, metadata={DOMAIN: domain})


def bound(low: int, high: int, meaning: str, default: Any = attrs.NOTHING) -> Any:
    """An attrs field of a bounds class: a whole number in low..high. A claim may leave it out if it has a default."""
    checks = [attrs.validators.instance_of(int), attrs.validators.ge(low), attrs.validators.le(high)]
    return attrs.field(validator=checks, default=default, metadata={"low": low, "high": high, "meaning": meaning})


class _Limits:
    """A bounds object as functions from bounds to domains see it: every whole number is a `Limit`."""

    def __init__(self, bounds: object) -> None:
        self._bounds = bounds

    def __getattr__(self, key: str) -> Any:
        value = getattr(self._bounds, key)
        return Limit(value, key) if type(value) is int else value


def domain_of(declared: Any, bounds: object) -> Any:
    """The domain of a declaration within the bounds.

    Args:
        declared: a domain, a function from bounds to a domain, `bool`, an enum class, or a frozen attrs class whose
            fields are declared with `within`.
        bounds: the bounds object. A step that one of its keys cuts is reported under this key.

    Raises:
        TypeError: a class is not a frozen attrs class, one of its fields has no domain, its constructor does not take
            all fields, or its records are not equal if all their fields are. The message names file and line.
    """
    if isinstance(declared, GenericAlias) or (isinstance(declared, type) and declared in NO_RECORDS):
        return as_domain(declared)
    if isinstance(declared, type) and not issubclass(declared, Enum):
        return _struct_of(declared, bounds)
    if isinstance(declared, type) or not callable(declared):
        return as_domain(declared)
    found = declared(_Limits(bounds))
    return domain_of(found, bounds) if isinstance(found, type) and attrs.has(found) else as_domain(found)


def _struct_of(cls: Any, bounds: object) -> Struct:
    _refuse_unless_value(cls)
    return Struct(cls, {field.name: _domain_of_field(cls, field, bounds) for field in attrs.fields(cls)})


def _domain_of_field(cls: type, field: Any, bounds: object) -> Any:
    try:
        return domain_of(field.metadata[DOMAIN], bounds)
    except TypeError as error:
        at = _place_of(cls, field.name)
        text = str(error)
        raise TypeError(text if _PLACED.search(text) else f"{cls.__qualname__}.{field.name}: {text}{at}") from None


_PLACED = re.compile(r" \(\S.*:\d+\)$")


def _place_of(cls: type, field: str = "") -> str:
    """The file and line of a class, or of one of its fields, for the end of a message; empty if there is no source."""
    try:
        lines, first = inspect.getsourcelines(cls)
        (tree,) = ast.parse(inspect.cleandoc("\n" + "".join(lines))).body
    except (OSError, TypeError, ValueError, SyntaxError):
        return ""
    declared = [each for each in getattr(tree, "body", ()) if _declares(each, field)] or [tree]
    return f" ({inspect.getsourcefile(cls)}:{first + declared[0].lineno - 1})"


def _declares(statement: ast.stmt, field: str) -> bool:
    """Whether a statement of a class declares a field; what its docstring has of the field does not."""
    target = statement.target if isinstance(statement, ast.AnnAssign) else None
    return isinstance(target, ast.Name) and target.id == field


@cache
def _refuse_unless_value(cls: type) -> None:
    """Refuse a class whose records are not values: made from all their fields, and equal if all fields are."""
    if not attrs.has(cls) or not attrs.inspect(cls).is_frozen:
        raise TypeError(
            f"{cls.__qualname__} must be a frozen attrs class to be part of a state: decorate it with @attrs.frozen"
            f"{_place_of(cls)}"
        )
    if not attrs.inspect(cls).added_eq:
        raise TypeError(
            f"{cls.__qualname__} has {'an __eq__ of its own' if '__eq__' in vars(cls) else 'eq=False'}: {EQUAL}"
            f"{_place_of(cls)}"
        )
    for field in attrs.fields(cls):
        name = f"{cls.__qualname__}.{field.name}"
        if DOMAIN not in field.metadata:
            example = f"{field.name}: int = within(lambda bounds: Integers(0, bounds.most))"
            raise TypeError(
                f"{name} has no domain: declare it with within(...), as in {example}{_place_of(cls, field.name)}"
            )
        if not field.init:
            raise TypeError(
                f"{name} has init=False: a record of a state is made from all its fields; make it a property instead"
                f"{_place_of(cls, field.name)}"
            )
        if not field.eq or field.eq_key is not None:
            raise TypeError(f"{name} has {'an eq of its own' if field.eq else 'eq=False'}: {EQUAL}{_place_of(cls)}")
    try:
        inspect.signature(cls).bind(**dict.fromkeys(aliases_of(cls).values()))
    except TypeError as error:
        at = _place_of(cls)
        raise TypeError(f"{cls.__qualname__}.__init__ does not take the fields, all by name: {error}{at}") from None


def records(cls: type) -> Callable[[object], Struct]:
    """The domain of a frozen attrs class, for use inside another domain.

    A log of records: `lambda bounds: SequenceOf(records(Record)(bounds), bounds.log_length_max)`.
    """
    return lambda limits: domain_of(cls, limits._bounds if isinstance(limits, _Limits) else limits)


def evolve(instance: AnyRecord, /, **changes: object) -> AnyRecord:
    """A copy of a record with some fields changed.

    The other fields are not read, so that a tracing run does not record a read of them.
    """
    cls: Any = type(instance)
    make = getattr(cls, "__traced_evolve__", None)
    if make is None:
        for name, alias in _arguments(cls):  # as `attrs.evolve` does, which asks each field each time
            if alias not in changes:
                changes[alias] = getattr(instance, name)
    made: AnyRecord = make(instance, changes) if make else cls(**changes)
    return made


@cache
def _arguments(cls: type) -> list[tuple[str, str]]:
    """By name of a field, what the constructor of an attrs class calls it."""
    return [(field.name, field.alias) for field in attrs.fields(cls) if field.init]


def replaced(elements: tuple[Element, ...], index: int, value: Element) -> tuple[Element, ...]:
    """The tuple with one element replaced. `index` counts from 0.

    Raises:
        IndexError: there is no such element.
    """
    if not 0 <= index < len(elements):
        raise IndexError(f"no element {index} in a tuple of {len(elements)}")
    return elements[:index] + (value,) + elements[index + 1 :]
