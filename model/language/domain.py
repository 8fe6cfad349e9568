"""Finite domains: the values that a part of a state may have.

A domain knows its values in one fixed order, so that an engine can pack a state into bits. It also knows which values
are too large for the bounds (a step to one is cut) and which are wrong under any bounds (the model is wrong).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from enum import Enum
from types import FunctionType, GenericAlias
from typing import Any

import attrs


class DomainError(ValueError):
    """A value lies outside its domain and no bound explains it: the model is wrong."""


class Limit(int):
    """The value of a bound. It keeps the bound's key through `+` and `-`, so that a cut step names the bound."""

    key: str

    def __new__(cls, value: int, key: str) -> Limit:
        limit = super().__new__(cls, value)
        limit.key = key
        return limit

    def __add__(self, other: int) -> Limit:
        return Limit(int(self) + other, self.key)

    __radd__ = __add__

    def __sub__(self, other: int) -> Limit:
        return Limit(int(self) - other, self.key)

    def __getnewargs__(self) -> tuple[int, str]:  # type: ignore[override]  # int says that it takes a number alone
        return int(self), self.key


class Domain:
    """The values that a part of a state may have."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            f"{type(self).__name__}(...) is a domain and no collection of values; the domain of sets is SetOf(...), "
            "that of tuples SequenceOf(...) or ArrayOf(...)"
        )


def as_domain(given: Any) -> Any:
    """A domain as it is; that of `bool`, and of an enum class, for the class.

    Raises:
        TypeError: it is neither.
    """
    if given is bool:
        return BOOLEAN
    if isinstance(given, type) and issubclass(given, Enum):
        return OneOf(given)
    if not isinstance(given, type) and hasattr(given, "exceeded"):
        return given
    raise TypeError(f"{_named(given)} is no domain; {_instead_of(given)}")


def _named(given: Any) -> str:
    if isinstance(given, type) and not isinstance(given, GenericAlias):
        return f"the class {given.__qualname__}"
    return "a function" if isinstance(given, FunctionType) else repr(given)[:80]


def _instead_of(given: Any) -> str:
    """What to write in place of something that is no domain."""
    if isinstance(given, FunctionType):
        return "call it with the bounds: SetOf(brokers(bounds))"
    if isinstance(given, type) and attrs.has(given):
        return f"write records({given.__qualname__})(bounds)"
    if given is int:
        return "write Integers(low, high)"
    if getattr(given, "__origin__", given) in (frozenset, set):
        return "write SetOf(...)"
    if getattr(given, "__origin__", given) in (tuple, list):
        return "write SequenceOf(..., max_length) or ArrayOf(..., length)"
    return "domains are Integers, OneOf, BOOLEAN, Maybe, SetOf, SequenceOf, ArrayOf, records, bool and enum classes"


def _whole(instance: Any, attribute: Any, value: Any) -> None:
    if type(value) is bool or not isinstance(value, int):
        raise TypeError(f"{type(instance).__name__}: {attribute.name} is {value!r}, which is no whole number")


def _members(given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"OneOf takes all its values together: OneOf(({given!r}, ...))")
    return tuple(given)


@attrs.frozen
class Integers(Domain):
    """The whole numbers low..high, both included.

    Attributes:
        label: goes before a number when it is shown (`b` makes 1 read b1); a number below 0 then reads "none".
        names: the set of names that the numbers are from, such as `brokers` for broker ids; empty for quantities.
        order: the group of numbers of which only the order matters, such as `epochs`: they are compared with each
            other, and a new one is greater than all. Empty if their values matter. A claim chooses whether to make use
            of it, see `highwater.explorer.ranks`.
        constants_below: of such a group, the numbers below this one have a meaning of their own, such as -1 for "no
            epoch", and keep their place.
    """

    low: int = attrs.field(validator=_whole)
    high: int = attrs.field(validator=_whole)
    label: str = ""
    names: str = ""
    order: str = ""
    constants_below: int = attrs.field(default=0, validator=_whole)

    def __attrs_post_init__(self) -> None:
        if self.names and self.order:
            raise TypeError(f"Integers: the {self.names} are names, so that their order cannot matter; drop order=")
        if self.label and self.low < -1:
            raise TypeError(
                f"Integers: {int(self.low)} and -1 are both shown as none; begin at -1, or drop label={self.label!r}"
            )

    @property
    def size(self) -> int:
        return max(0, int(self.high) - int(self.low) + 1)

    def values(self) -> Iterator[int]:
        return iter(range(self.low, self.high + 1))

    def encode(self, value: int) -> int:
        return value - self.low

    def decode(self, index: int) -> int:
        return index + self.low

    def exceeded(self, value: Any) -> frozenset[str]:
        if type(value) is not int or value < self.low:
            raise DomainError(f"{value!r} is not a whole number in {self.low}..{int(self.high)}")
        if value <= self.high:
            return frozenset()
        if isinstance(self.high, Limit):
            return frozenset((self.high.key,))
        raise DomainError(f"{value} is above {self.high}, and no bound limits it")

    def show(self, value: int) -> str:
        return f"{self.label}{value}" if value >= 0 or not self.label else "none"


@attrs.frozen
class OneOf(Domain):
    """One of a few values: the members of an enum, booleans, names.

    Attributes:
        separator: what goes between values where several are shown, such that one does not look like two.
    """

    members: tuple[Any, ...] = attrs.field(converter=_members)
    separator: str = attrs.field(init=False, eq=False, repr=False, default=" ")
    _known: frozenset[Any] = attrs.field(init=False, eq=False, repr=False)

    @_known.default
    def _with_types(self) -> frozenset[Any]:
        return frozenset((type(member), member) for member in self.members)  # True is no 1

    def __attrs_post_init__(self) -> None:
        by_text: dict[str, Any] = {}
        for member in self.members:
            other = by_text.setdefault(text := self.show(member), member)
            if other is not member:
                raise TypeError(f"OneOf: {other!r} and {member!r} are both shown as {text!r}; give one another name")
        if len(by_text) < len(self.members):
            raise TypeError(f"OneOf: a value is listed twice among {', '.join(map(repr, self.members))}")
        free = (each for each in (" ", ", ", "; ") if not any(each in text for text in by_text))
        object.__setattr__(self, "separator", next(free, " | "))

    @property
    def size(self) -> int:
        return len(self.members)

    def values(self) -> Iterator[Any]:
        return iter(self.members)

    def encode(self, value: Any) -> int:
        return self.members.index(value)

    def decode(self, index: int) -> Any:
        return self.members[index]

    def exceeded(self, value: Any) -> frozenset[str]:
        if value.__hash__ is None or (type(value), value) not in self._known:
            raise DomainError(f"{value!r} is not one of {', '.join(map(self.show, self.members))}")
        return frozenset()

    def show(self, value: Any) -> str:
        return value.name.lower().replace("_", " ") if isinstance(value, Enum) else str(value)


BOOLEAN = OneOf((False, True))


@attrs.frozen
class Maybe(Domain):
    """A value of another domain, or None."""

    of: Any = attrs.field(converter=as_domain)

    def __attrs_post_init__(self) -> None:
        for value in _shown_as_none(self.of):
            raise TypeError(f"Maybe: {value!r} and None are both shown as none; give it another name")

    @property
    def size(self) -> int:
        return int(self.of.size) + 1

    def values(self) -> Iterator[Any]:
        return itertools.chain((None,), self.of.values())

    def encode(self, value: Any) -> int:
        return 0 if value is None else self.of.encode(value) + 1

    def decode(self, index: int) -> Any:
        return self.of.decode(index - 1) if index else None

    def exceeded(self, value: Any) -> frozenset[str]:
        return frozenset() if value is None else self.of.exceeded(value)

    def show(self, value: Any) -> str:
        return "none" if value is None else self.of.show(value)


def _shown_as_none(of: Any) -> Iterator[Any]:
    """The values of a scalar domain that are shown as None is."""
    match of:
        case Maybe():
            yield None
        case Integers(low=low, label=label) if label and low < 0:
            yield -1
        case OneOf(members=members):
            yield from (member for member in members if of.show(member) == "none")


def _separator(of: Any) -> str:
    """What goes between values of a domain, such that one does not look like two."""
    return getattr(of.of if isinstance(of, Maybe) else of, "separator", " ")


@attrs.frozen
class SetOf(Domain):
    """A frozenset of values of another domain. Keep that domain small: a state spends one bit per possible member."""

    of: Any = attrs.field(converter=as_domain)

    def values(self) -> Iterator[frozenset[Any]]:
        members = tuple(self.of.values())
        return (frozenset(chosen) for n in range(len(members) + 1) for chosen in itertools.combinations(members, n))

    def exceeded(self, value: Any) -> frozenset[str]:
        if not isinstance(value, frozenset):
            raise DomainError(f"{value!r} is not a frozenset")
        return frozenset().union(*(self.of.exceeded(member) for member in value))

    def show(self, value: frozenset[Any]) -> str:
        shown = (self.of.show(member) for member in self.of.values() if member in value)
        return "{" + _separator(self.of).join(shown) + "}"


@attrs.frozen
class SequenceOf(Domain):
    """A tuple of values of another domain, at most `max_length` long."""

    of: Any = attrs.field(converter=as_domain)
    max_length: int = attrs.field(validator=_whole)

    def values(self) -> Iterator[tuple[Any, ...]]:
        members = tuple(self.of.values())
        return itertools.chain.from_iterable(itertools.product(members, repeat=n) for n in range(self.max_length + 1))

    def exceeded(self, value: Any) -> frozenset[str]:
        if not isinstance(value, tuple):
            raise DomainError(f"{value!r} is not a tuple")
        return self.exceeded_length(len(value)).union(*(self.of.exceeded(element) for element in value))

    def exceeded_length(self, length: int) -> frozenset[str]:
        return Integers(0, self.max_length).exceeded(length)

    def show(self, value: tuple[Any, ...]) -> str:
        return "[" + _separator(self.of).join(map(self.of.show, value)) + "]"


@attrs.frozen
class ArrayOf(Domain):
    """A tuple of exactly `length` values of another domain, such as one per broker.

    Attributes:
        label: names an element in traces (`b` makes b1).
        by: the set of names that the positions are from, such as `brokers`; empty if positions are no names.
    """

    of: Any = attrs.field(converter=as_domain)
    length: int = attrs.field(validator=_whole)
    label: str = ""
    by: str = ""

    def values(self) -> Iterator[tuple[Any, ...]]:
        return itertools.product(tuple(self.of.values()), repeat=self.length)

    def exceeded(self, value: Any) -> frozenset[str]:
        if not isinstance(value, tuple) or len(value) != self.length:
            raise DomainError(f"{value!r} is not a tuple of {int(self.length)}")
        return frozenset().union(*(self.of.exceeded(element) for element in value))

    def show(self, value: tuple[Any, ...]) -> str:
        return "(" + ", ".join(map(self.of.show, value)) + ")"


@attrs.frozen
class Struct(Domain):
    """The instances of a frozen attrs class, each field in its own domain."""

    cls: type
    fields: Mapping[str, Any] = attrs.field(hash=False)

    def values(self) -> Iterator[Any]:
        every = itertools.product(*(tuple(of.values()) for of in self.fields.values()))
        return (build(self.cls, dict(zip(self.fields, values, strict=True))) for values in every)

    def exceeded(self, value: Any) -> frozenset[str]:
        if type(value) is not self.cls:
            raise DomainError(f"{value!r} is not a {self.cls.__name__}")
        keys: set[str] = set()
        for name, of in self.fields.items():
            try:
                keys |= of.exceeded(getattr(value, name))
            except DomainError as error:
                raise DomainError(f"{self.cls.__name__}.{name}: {error}") from None
        return frozenset(keys)

    def show(self, value: Any) -> str:
        if self.cls.__str__ is not object.__str__:  # type: ignore[comparison-overlap]  # the class's, not of the type
            return str(value)
        return (
            self.cls.__name__
            + "("
            + ", ".join(f"{n} {of.show(getattr(value, n))}" for n, of in self.fields.items())
            + ")"
        )


@functools.cache
def aliases_of(cls: type) -> dict[str, str]:
    """The argument of an attrs class's constructor for each field: `secret` for `_secret`."""
    return {field.name: field.alias for field in attrs.fields(cls)}


def build(cls: type, fields: Mapping[str, Any]) -> Any:
    """An instance of an attrs class from its fields by name."""
    aliases = aliases_of(cls)
    return cls(**{aliases[name]: value for name, value in fields.items()})


def classes_in(domain: Any) -> Iterator[type]:
    """The attrs classes of which a domain's values, and the parts of these, are instances."""
    match domain:
        case Struct(cls=cls, fields=fields):
            yield cls
            for of in fields.values():
                yield from classes_in(of)
        case Maybe(of=of) | SetOf(of=of) | SequenceOf(of=of) | ArrayOf(of=of):
            yield from classes_in(of)


def is_scalar(domain: Any) -> bool:
    """Whether a value of the domain is packed as one number."""
    return isinstance(domain, Integers | OneOf) or (isinstance(domain, Maybe) and is_scalar(domain.of))
