"""Finite domains: the values that a part of a state may have.

A domain knows its values in one fixed order, so that an engine can pack a state into bits. It also knows which values
are too large for the bounds (a step to one is cut) and which are wrong under any bounds (the model is wrong).
What every domain says of itself is in `highwater.model.language.shape`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from types import FunctionType, GenericAlias
from typing import Any

import attrs

from highwater.model.language.shape import Atom, Collection, Domain, DomainError, Shape, Tuples

MOST_COUNTED = 64
"""Where values are counted, exponents above this one are taken for it: the count is beyond all limits."""


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


def as_domain(given: Any) -> Domain:
    """A domain as it is; that of `bool`, and of an enum class, for the class.

    Raises:
        TypeError: it is neither.
    """
    if given is bool:
        return BOOLEAN
    if isinstance(given, type) and issubclass(given, Enum):
        return OneOf(given)
    if isinstance(given, Domain):
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


def _without_key(given: Any) -> Any:
    """A value that states may have, which no bound is."""
    return int(given) if type(given) is Limit else given


def _members(given: Any) -> tuple[Any, ...]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"OneOf takes all its values together: OneOf(({given!r}, ...))")
    return tuple(map(_without_key, given))


@attrs.frozen
class Integers(Atom):
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

    low: int = attrs.field(converter=_without_key, validator=_whole)
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
    def size(self) -> int:  # type: ignore[override]  # it cannot be set
        return max(0, int(self.high) - int(self.low) + 1)

    @property
    def shape(self) -> Shape:
        return Shape.NUMBER

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

    def shown_as_none(self) -> Iterator[int]:
        return iter((-1,) if self.label and self.low < 0 else ())


@attrs.frozen
class OneOf(Atom):
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
        if len(set(self.members)) < len(self._known):
            raise TypeError(f"OneOf: of {', '.join(map(repr, self.members))} two are equal, as True and 1 are")
        for member in self.members:
            other = by_text.setdefault(text := self.show(member), member)
            if other is not member:
                raise TypeError(f"OneOf: {other!r} and {member!r} are both shown as {text!r}; give one another name")
        if len(by_text) < len(self.members):
            raise TypeError(f"OneOf: a value is listed twice among {', '.join(map(repr, self.members))}")
        free = (each for each in (" ", ", ", "; ") if not any(each in text for text in by_text))
        object.__setattr__(self, "separator", next(free, " | "))

    @property
    def size(self) -> int:  # type: ignore[override]  # it cannot be set
        return len(self.members)

    @property
    def shape(self) -> Shape:
        if all(type(member) is int for member in self.members):
            return Shape.NUMBER
        are_truths = all(type(member) is bool for member in self.members) and self.members == (False, True)
        return Shape.TRUTH if are_truths else Shape.NAME

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
class Maybe(Collection):
    """A value of another domain, or None."""

    of: Any = attrs.field(converter=as_domain)

    has_places = True

    def __attrs_post_init__(self) -> None:
        for value in self.of.shown_as_none():
            raise TypeError(f"Maybe: {value!r} and None are both shown as none; give it another name")

    @property
    def is_scalar(self) -> bool:
        return bool(self.of.is_scalar)

    @property
    def shape(self) -> Shape:
        return Shape.OPTION

    @property
    def separator(self) -> str:  # type: ignore[override]  # it cannot be set
        return str(self.of.separator)

    @property
    def size(self) -> int:
        return int(self.of.count) + 1

    @property
    def count(self) -> int:
        return int(self.of.count) + 1

    def values(self) -> Iterator[Any]:
        return itertools.chain((None,), self.of.values())

    def encode(self, value: Any) -> int:
        return 0 if value is None else self.of.encode(value) + 1

    def decode(self, index: int) -> Any:
        return self.of.decode(index - 1) if index else None

    def parts(self, value: Any) -> Sequence[tuple[Domain, Any]]:
        return () if value is None else ((self.of, value),)

    def rebuilt(self, value: Any, parts: Sequence[Any]) -> Any:
        return parts[0] if parts else None

    def exceeded(self, value: Any) -> frozenset[str]:
        return frozenset() if value is None else self.of.exceeded(value)

    def show(self, value: Any) -> str:
        return "none" if value is None else self.of.show(value)

    def shown_as_none(self) -> Iterator[Any]:
        return iter((None,))

    def paths(self, value: Any, path: str) -> Sequence[str] | None:
        return [path] if value is not None and self.of.shape is Shape.RECORD else None


@attrs.frozen
class SetOf(Collection):
    """A frozenset of values of another domain. Keep that domain small: a state spends one bit per possible member."""

    of: Any = attrs.field(converter=as_domain)

    @property
    def shape(self) -> Shape:
        return Shape.SET

    @property
    def count(self) -> int:
        return 1 << min(int(self.of.count), MOST_COUNTED)

    def values(self) -> Iterator[frozenset[Any]]:
        members = tuple(self.of.values())
        return (frozenset(chosen) for n in range(len(members) + 1) for chosen in itertools.combinations(members, n))

    def exceeded(self, value: Any) -> frozenset[str]:
        if not isinstance(value, frozenset):
            raise DomainError(f"{value!r} is not a frozenset")
        return frozenset().union(*(self.of.exceeded(member) for member in value))

    def rebuilt(self, value: frozenset[Any], parts: Sequence[Any]) -> frozenset[Any]:
        return frozenset(parts)

    def in_order(self, value: frozenset[Any]) -> Sequence[tuple[Domain, Any]]:
        return [(self.of, member) for member in self.of.values() if member in value]

    def is_like(self, value: Any) -> bool:
        return isinstance(value, frozenset)

    def show(self, value: frozenset[Any]) -> str:
        shown = (self.of.show(member) for member in self.of.values() if member in value)
        return f"{{{self.of.separator.join(shown)}}}"


@attrs.frozen
class SequenceOf(Tuples):
    """A tuple of values of another domain, at most `max_length` long."""

    of: Any = attrs.field(converter=as_domain)
    max_length: int = attrs.field(validator=_whole)

    @property
    def count(self) -> int:
        return sum(self.of.count**n for n in range(min(self.max_length, MOST_COUNTED) + 1))

    def values(self) -> Iterator[tuple[Any, ...]]:
        members = tuple(self.of.values())
        return itertools.chain.from_iterable(itertools.product(members, repeat=n) for n in range(self.max_length + 1))

    def exceeded(self, value: Any) -> frozenset[str]:
        if not isinstance(value, tuple):
            raise DomainError(f"{value!r} is not a tuple")
        return self.exceeded_length(len(value)).union(*(self.of.exceeded(element) for element in value))

    def exceeded_length(self, length: int) -> frozenset[str]:
        return frozenset() if length <= self.max_length else Integers(0, self.max_length).exceeded(length)

    def show(self, value: tuple[Any, ...]) -> str:
        return f"[{self.of.separator.join(map(self.of.show, value))}]"


@attrs.frozen
class ArrayOf(Tuples):
    """A tuple of exactly `length` values of another domain, such as one per broker.

    Attributes:
        label: names an element in traces (`b` makes b1).
        by: the set of names that the positions are from, such as `brokers`; empty if positions are no names.
        first: whether no array of records before it, in the same record, has the label, so that b1 is one of this one.
    """

    of: Any = attrs.field(converter=as_domain)
    length: int = attrs.field(validator=_whole)
    label: str = ""
    by: str = ""
    first: bool = attrs.field(default=True, eq=False, repr=False)

    @property
    def count(self) -> int:
        return int(self.of.count ** min(self.length, MOST_COUNTED))

    def values(self) -> Iterator[tuple[Any, ...]]:
        return itertools.product(tuple(self.of.values()), repeat=self.length)

    def exceeded(self, value: Any) -> frozenset[str]:
        if not isinstance(value, tuple) or len(value) != self.length:
            raise DomainError(f"{value!r} is not a tuple of {int(self.length)}")
        return frozenset().union(*(self.of.exceeded(element) for element in value))

    def show(self, value: tuple[Any, ...]) -> str:
        return "(" + ", ".join(map(self.of.show, value)) + ")"

    def paths(self, value: Any, path: str) -> Sequence[str]:
        return [element_path(self, path, position) for position in range(self.length)]


def _by_one_label(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The domains of a record's fields, where of arrays with the same label only the first is called by it."""
    known: set[str] = set()
    found = {}
    for name, of in fields.items():
        if isinstance(of, ArrayOf) and of.of.shape is Shape.RECORD:
            of = of if of.first is (of.label not in known) else attrs.evolve(of, first=not of.first)
            known.add(of.label)
        found[name] = of
    return found


@attrs.frozen
class Struct(Domain):
    """The instances of a frozen attrs class, each field in its own domain."""

    cls: type
    fields: Mapping[str, Any] = attrs.field(hash=False, converter=_by_one_label)
    has_places = True

    @property
    def is_scalar(self) -> bool:
        return False

    @property
    def shape(self) -> Shape:
        return Shape.RECORD

    @property
    def count(self) -> int:
        return math.prod(of.count for of in self.fields.values())

    def inside(self) -> Mapping[str, Domain]:
        return self.fields

    def with_inside(self, change: Callable[[Domain], Domain]) -> Struct:
        return attrs.evolve(self, fields={name: change(of) for name, of in self.fields.items()})

    def parts(self, value: Any) -> Sequence[tuple[Domain, Any]]:
        return [(of, getattr(value, name)) for name, of in self.fields.items()]

    def rebuilt(self, value: Any, parts: Sequence[Any]) -> Any:
        return build(self.cls, dict(zip(self.fields, parts, strict=True)))

    def is_like(self, value: Any) -> bool:
        return type(value) is self.cls

    def paths(self, value: Any, path: str) -> Sequence[str]:
        return [f"{path}.{name}" if path else name for name in self.fields]

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


def element_path(domain: ArrayOf, path: str, position: int) -> str:
    """What an element of an array is called: b1 says enough of replicas[b1], but not of b0.followers[b1], nor of an
    element of a second array with that label.
    """
    alone = domain.label and domain.first and domain.of.shape is Shape.RECORD and path.isidentifier()
    return f"{domain.label}{position}" if alone else f"{path}[{domain.label}{position}]"


def domains_in(domain: Domain) -> Iterator[Domain]:
    """A domain, and all domains inside it."""
    yield domain
    for of in domain.inside().values():
        yield from domains_in(of)


def classes_in(domain: Domain) -> Iterator[type]:
    """The attrs classes of which a domain's values, and the parts of these, are instances."""
    return (each.cls for each in domains_in(domain) if isinstance(each, Struct))
