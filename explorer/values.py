"""Values of a domain in plain Python: what stands for one, images under an exchange of names, bounds that are exceeded.

It imports nothing of the compiler, the kernels and the search.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from highwater.model.language.domain import build, domains_in
from highwater.model.language.shape import DomainError

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
        DomainError: it is no state; names the place.
    """
    try:
        return _exceeded(domain, before, after)
    except DomainError:  # a part knows no place
        return frozenset(domain.exceeded(after))


def _exceeded(domain: Any, before: Any, after: Any) -> Bounds:
    if after is before:
        return frozenset()
    if domain.has_places and domain.is_like(before) and domain.is_like(after):
        parts, others = domain.parts(before), domain.parts(after)
        if len(parts) == len(others):
            pairs = zip(parts, others, strict=True)
            return frozenset().union(*[_exceeded(of, old, new) for (of, old), (_, new) in pairs if new is not old])
    return frozenset(domain.exceeded(after))


class Renaming:
    """What a permutation of names makes of plain values of a domain. Parts that were met before are not made again."""

    def __init__(self, domain: Any, permutation: Permutation) -> None:
        self._domain, self._permutation = domain, permutation
        self._stay: dict[int, tuple[Any, bool]] = {}  # a domain that is kept lends its id to no other
        self._met: dict[tuple[int, Any], Any] = {}

    def __call__(self, value: Any) -> Any:
        return self._made(self._domain, value)

    def _of(self, domain: Any, value: Any) -> Any:
        if domain.names:
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
        image = [self._of(of, part) for of, part in domain.parts(value)]
        goes_to = self._permutation.get(domain.by, {})
        moved = {goes_to.get(position, position): part for position, part in enumerate(image)}
        return domain.rebuilt(value, [moved[position] for position in range(len(image))])

    def _stays(self, domain: Any) -> bool:
        """Whether no value of a domain has a part that moves."""
        found = self._stay.get(id(domain))
        if found is None:
            found = domain, not any({each.by, each.names} & self._permutation.keys() for each in domains_in(domain))
            self._stay[id(domain)] = found
        return found[1]
