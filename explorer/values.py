"""Values of a domain in plain Python: what stands for one, images under an exchange of names, bounds that are exceeded.

What judges a search uses this, and shares no more with the search.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from highwater.model.language.domain import ArrayOf, Integers, Maybe, SequenceOf, SetOf, Struct, build

Permutation = Mapping[str, Mapping[int, int]]
"""By set of names, which name takes the place of which."""
Bounds = frozenset[str]
MOST_REMEMBERED = 1 << 14


def plain(value: Any) -> Any:
    """The plain value behind what stands for one, such as a view, reading all of it; anything else as it is."""
    if type(value) is int:
        return value
    if hasattr(type(value), "__plain__"):
        return value.__plain__()
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, frozenset):
        return frozenset(map(plain, value))
    if attrs.has(type(value)):
        return build(
            type(value), {field.name: plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
        )
    return value


def exceeded(domain: Any, before: Any, after: Any) -> Bounds:
    """The bounds that a state after a step exceeds. What it has in common with the state before, which is in its
    domain, is not looked at again.

    Raises:
        DomainError: it is no state.
    """
    if after is before:
        return frozenset()
    match domain:
        case Struct(cls=cls, fields=fields) if type(after) is type(before) is cls:
            parts = [(of, getattr(before, name), getattr(after, name)) for name, of in fields.items()]
        case ArrayOf(of=of, length=length) if type(after) is type(before) is tuple and len(after) == length:
            parts = [(of, *both) for both in zip(before, after, strict=True)]
        case _:
            return frozenset(domain.exceeded(after))
    return frozenset().union(*(exceeded(of, old, new) for of, old, new in parts if new is not old))


class Renaming:
    """What a permutation of names makes of plain values of a domain. Parts that were met before are not made again."""

    def __init__(self, domain: Any, permutation: Permutation) -> None:
        self._domain, self._permutation = domain, permutation
        self._stay: dict[int, bool] = {}
        self._met: dict[tuple[int, Any], Any] = {}

    def __call__(self, value: Any) -> Any:
        return self._of(self._domain, value)

    def _of(self, domain: Any, value: Any) -> Any:
        if isinstance(domain, Integers):
            return self._permutation.get(domain.names, {}).get(value, value)
        if value is None or self._stays(domain):
            return value
        key = id(domain), value
        if key not in self._met:
            if len(self._met) >= MOST_REMEMBERED:
                self._met.clear()
            self._met[key] = self._made(domain, value)
        return self._met[key]

    def _made(self, domain: Any, value: Any) -> Any:
        match domain:
            case Maybe(of=of):
                return self._of(of, value)
            case SetOf(of=of):
                return frozenset(self._of(of, member) for member in value)
            case SequenceOf(of=of):
                return tuple(self._of(of, element) for element in value)
            case ArrayOf(of=of, by=by):
                goes_to, image = self._permutation.get(by, {}), list(value)
                for position, element in enumerate(value):
                    image[goes_to.get(position, position)] = self._of(of, element)
                return tuple(image)
            case Struct(cls=cls, fields=fields):
                return build(cls, {name: self._of(of, getattr(value, name)) for name, of in fields.items()})
        return value

    def _stays(self, domain: Any) -> bool:
        """Whether no value of a domain has a part that moves."""
        found = self._stay.get(id(domain))
        if found is None:
            by = getattr(domain, "by", None) in self._permutation
            named = getattr(domain, "names", None) in self._permutation
            found = self._stay[id(domain)] = not by and not named and all(map(self._stays, _inside(domain)))
        return found


def _inside(domain: Any) -> Iterable[Any]:
    match domain:
        case Struct(fields=fields):
            return fields.values()
        case Maybe(of=of) | SetOf(of=of) | SequenceOf(of=of) | ArrayOf(of=of):
            return (of,)
    return ()
