"""What every domain says of itself: which values it has, what these are made of, and what they are to exports.

Engines and exports go down into values by `Domain.inside`, `parts` and `rebuilt`, and ask for names and order. So a new
kind of domain is a class that says these. It cannot be made if it leaves out what is abstract.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import attrs


class DomainError(ValueError):
    """A value lies outside its domain and no bound explains it: the model is wrong."""


class Shape(Enum):
    """What values of a domain are to readers that know no kinds of domain: tables, queries, other tools' formats."""

    NUMBER = "a whole number"
    TRUTH = "a truth value"
    NAME = "a text, as shown"
    OPTION = "its one part, or nothing"
    SET = "its parts, without an order"
    LIST = "its parts, in their order"
    RECORD = "its parts, by the names of fields"


class Domain(ABC):
    """The values that a part of a state may have.

    Attributes:
        names: the set of names that the values are from; empty if they are none.
        by: the set of names that the positions of their parts are from; empty if they are none.
        order: the group of numbers that the values are of, of which only the order matters; empty if they are none.
        label: goes before a value, or the position of a part, when it is shown.
        separator: goes between values where several are shown, such that one does not look like two.
        has_places: whether each part has a place of its own, so that any other value of its domain may be there.
            Numbers of which only the order matters are in no other parts: they have no hash, and cannot be sorted.
    """

    __slots__ = ()
    names: str = ""
    by: str = ""
    order: str = ""
    label: str = ""
    separator: str = " "
    has_places: bool = False

    @property
    @abstractmethod
    def is_scalar(self) -> bool:
        """Whether a value is packed as one number: then there are `size`, `encode` and `decode`."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """What values are to readers that know no kinds of domain."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many values there are. They are not listed: it takes no time."""

    @abstractmethod
    def values(self) -> Iterator[Any]:
        """All values, in one fixed order."""

    @abstractmethod
    def inside(self) -> Mapping[str, Domain]:
        """The domains of the parts of values: those of a record by its fields, the one of a collection under ""."""

    @abstractmethod
    def with_inside(self, change: Callable[[Domain], Domain]) -> Domain:
        """The same kind of domain with other domains inside."""

    @abstractmethod
    def parts(self, value: Any) -> Sequence[tuple[Domain, Any]]:
        """The parts of a value, each with its domain; those of a set in any order."""

    @abstractmethod
    def rebuilt(self, value: Any, parts: Sequence[Any]) -> Any:
        """A value like this one, with other parts in place of those that `parts` lists."""

    @abstractmethod
    def exceeded(self, value: Any) -> frozenset[str]:
        """The keys of the bounds that a value exceeds; none if it is in the domain.

        Raises:
            DomainError: no bound explains that it is not.
        """

    @abstractmethod
    def show(self, value: Any) -> str:
        """A value, for people."""

    def in_order(self, value: Any) -> Sequence[tuple[Domain, Any]]:
        """The parts of a value in the order in which they are shown."""
        return self.parts(value)

    def is_like(self, value: Any) -> bool:
        """Whether a value has the parts of this domain's values, whatever these are."""
        return True

    def shown_as_none(self) -> Iterator[Any]:
        """The values that are shown as None is."""
        return (value for value in self.values() if self.show(value) == "none") if self.is_scalar else iter(())

    def paths(self, value: Any, path: str) -> Sequence[str] | None:
        """What the parts of the value at a path are called, if each is shown by itself; None if the value is shown as
        a whole.
        """
        return None

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(
            f"{type(self).__name__}(...) is a domain and no collection of values; the domain of sets is SetOf(...), "
            "that of tuples SequenceOf(...) or ArrayOf(...)"
        )


class Atom(Domain):
    """A domain of scalars that have no parts."""

    __slots__ = ()
    size: int

    @property
    def is_scalar(self) -> bool:
        return True

    @property
    def count(self) -> int:
        return self.size

    def inside(self) -> Mapping[str, Domain]:
        return {}

    def with_inside(self, change: Callable[[Domain], Domain]) -> Domain:
        return self

    def parts(self, value: Any) -> Sequence[tuple[Domain, Any]]:
        return ()

    def rebuilt(self, value: Any, parts: Sequence[Any]) -> Any:
        return value


class Collection(Domain):
    """A domain of collections of values of one other domain, `of`."""

    __slots__ = ()
    of: Any

    @property
    def is_scalar(self) -> bool:
        return False

    def inside(self) -> Mapping[str, Domain]:
        return {"": self.of}

    def with_inside(self, change: Callable[[Domain], Domain]) -> Domain:
        return attrs.evolve(self, of=change(self.of))  # type: ignore[misc]  # every kind of collection is an attrs class

    def parts(self, value: Any) -> Sequence[tuple[Domain, Any]]:
        return [(self.of, part) for part in value]


class Tuples(Collection):
    """A domain of tuples."""

    __slots__ = ()
    has_places = True

    @property
    def shape(self) -> Shape:
        return Shape.LIST

    def rebuilt(self, value: Any, parts: Sequence[Any]) -> Any:
        return tuple(parts)

    def is_like(self, value: Any) -> bool:
        return isinstance(value, tuple)
