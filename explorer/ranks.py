"""Rank abstraction: states that are equal up to an order-preserving renaming of their epochs are one.

Epochs only grow. A protocol that compares epochs with each other, and makes a new one that is greater than all, does
not care which numbers they are. If a model declares so (`Integers(..., order="epochs")`) and a claim asks for it, a
search keeps one state of each *class*: the one in which every *live* number of the group, that is one that the state
holds anywhere, is replaced by its rank among them. Dead numbers leave no trace. So a cluster may elect leaders for
ever, and has finitely many classes; and a livelock through epochs is a cycle of classes.

The bound of the group says how large a number may be in such a class, a new one included. If it cuts no step, what
was found holds for any number of epochs.

All of that is right only if actions and properties look at nothing but the order. They cannot look at more: the numbers
that they are given are opaque, see `highwater.explorer.opaque`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs

from highwater.model.language.domain import Integers, Limit, Struct
from highwater.model.language.shape import Shape

ROOM = 4095
"""The largest number in a state that is shown: traces are in real numbers, and no bound cuts them before."""
MOST_RANKS = 32


class RankError(ValueError):
    """The fields of a group cannot be abstracted."""


@attrs.frozen
class Group:
    """The numbers of one group.

    Attributes:
        least, first: the number with rank 0 is the first; the numbers from the least to below it are constants.
        count: how many ranks there are.
        keys: the bounds that limit the group.
    """

    name: str
    least: int
    first: int
    count: int
    keys: frozenset[str]

    def has_constant(self, value: Any) -> bool:
        """Whether a value is one of the numbers that keep their place."""
        return isinstance(value, int) and type(value) is not bool and self.least <= value < self.first

    @property
    def constants(self) -> str:
        """What such numbers are, in words; empty if there are none."""
        numbers = [str(each) for each in range(self.least, self.first)]
        return f"the constant{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}" if numbers else ""


@attrs.frozen
class Ranks:
    """What to abstract.

    Attributes:
        domain: of the classes, that is with the bounds as they were given.
        groups: by name.
    """

    domain: Struct
    groups: Mapping[str, Group] = attrs.field(hash=False)
    _numbered: dict[int, tuple[Any, bool]] = attrs.field(factory=dict, init=False, repr=False, eq=False)

    def class_of(self, state: Any, domain: Any = None) -> Any:
        """The state in which each number is replaced by its rank; `domain` is the state's, if it is no state."""
        domain = domain or self.domain
        places = {
            name: {number: self.groups[name].first + rank for rank, number in enumerate(sorted(numbers))}
            for name, numbers in self._live(domain, state).items()
        }
        if all(number == rank for each in places.values() for number, rank in each.items()):
            return state
        return self.mapped(domain, state, lambda group, number: places[group.name].get(number, number))

    def renewed(self, before: Any, after: Any) -> list[str]:
        """The groups whose live numbers differ between two states."""
        live, now = self._live(self.domain, before), self._live(self.domain, after)
        return [name for name in self.groups if live[name] != now[name]]

    def _live(self, domain: Any, value: Any) -> dict[str, set[int]]:
        """By group, the numbers that a value holds."""
        found: dict[str, set[int]] = {name: set() for name in self.groups}
        self._collect(domain, value, found)
        return found

    def greatest(self, group: Group, domain: Any, value: Any) -> int:
        """The greatest number of a group that a value holds; the number before the first if it holds none."""
        return max(self._live(domain, value)[group.name], default=group.first - 1)

    def declared(self, domain: Any) -> Group | None:
        """The group of the numbers of a domain."""
        return self.groups.get(domain.order)

    def group_of(self, domain: Any) -> Group | None:
        """The group of the numbers of a domain, if any may be renamed."""
        found = self.declared(domain)
        return found if found is not None and domain.high >= found.first else None

    def _has_numbers(self, domain: Any) -> bool:
        """Whether there are numbers of a group inside a domain."""
        known = self._numbered.get(id(domain))
        if known is None or known[0] is not domain:
            known = domain, any(each.order in self.groups for _, each, _ in ordered_in(domain))
            self._numbered[id(domain)] = known
        return known[1]

    def unlimited(self, bounds_cut: Collection[str]) -> tuple[str, ...]:
        """The groups whose bounds are not among those that cut steps."""
        return tuple(name for name, group in self.groups.items() if not group.keys & set(bounds_cut))

    def _collect(self, domain: Any, value: Any, found: Mapping[str, set[int]]) -> None:
        if not self._has_numbers(domain):
            return
        group = self.declared(domain)
        if group is not None and value >= group.first:
            found[group.name].add(value)
        for of, part in domain.parts(value):
            self._collect(of, part, found)

    def mapped(self, domain: Any, value: Any, number: Callable[[Group, int], Any]) -> Any:
        """A value in which each number of a group is replaced by what a function gives for it."""
        if not self._has_numbers(domain):
            return value
        group = self.declared(domain)
        if group is not None:
            return number(group, value)
        return domain.rebuilt(value, [self.mapped(of, part, number) for of, part in domain.parts(value)])


def ordered_in(domain: Any, path: str = "", inside: Any = None) -> Iterator[tuple[str, Integers, Any]]:
    """The fields inside a domain that declare an order, each with where it is, and the outermost domain around it that
    cannot hold it, such as that of a set.
    """
    if domain.order:
        yield path, domain, inside
    for name, of in domain.inside().items():
        where = f"{path}.{name}" if path and name else path or name
        yield from ordered_in(of, where, inside or (None if domain.has_places else domain))


def ranks_of(domain: Struct, names: Sequence[str]) -> Ranks:
    """What to abstract of the states of a domain.

    Raises:
        RankError: there is no such group, or its fields do not fit together.
    """
    declared: dict[str, list[tuple[str, Integers]]] = {}
    for path, each, inside in ordered_in(domain):
        if inside is not None and each.order in names:
            what = "set" if inside.shape is Shape.SET else type(inside).__name__
            raise RankError(f"{path}: a {what} cannot hold {in_words(each.order)}, of which only the order matters")
        declared.setdefault(each.order, []).append((path, each))
    for name in names:
        if name not in declared:
            allowed = f"allowed are {', '.join(sorted(declared))}" if declared else "the model declares none"
            raise RankError(f"{name!r} is no group of numbers of which only the order matters; {allowed}")
    return Ranks(domain, {name: _group(name, declared[name]) for name in names})


def _group(name: str, fields: Sequence[tuple[str, Integers]]) -> Group:
    first = fields[0][1].constants_below
    for path, each in fields:
        if each.constants_below != first:
            raise RankError(
                f"{path} has constants_below={each.constants_below}, and {fields[0][0]} has {first}; the fields of"
                f" {name} must agree"
            )
    keys = frozenset(each.high.key for _, each in fields if isinstance(each.high, Limit))
    least = min(first, *(each.low for _, each in fields))
    used = [(path, each) for path, each in fields if each.high >= first]
    if not used:
        return Group(name, least, first, 0, keys)
    high = int(used[0][1].high)
    for path, each in used:
        if each.high != high or each.low > first:
            raise RankError(
                f"{path} holds {each.low} to {int(each.high)}, and {used[0][0]} {used[0][1].low} to {high}: a field of"
                f" {name} must hold every number from {first} to one bound of all"
            )
    if high - first + 1 > MOST_RANKS:
        raise RankError(
            f"{used[0][0]} holds {high - first + 1} numbers, and at most {MOST_RANKS} {name} may be live at once;"
            " lower the bound"
        )
    return Group(name, least, first, high - first + 1, keys)


def roomy(domain: Any, ranks: Ranks) -> Any:
    """The domain of real states: the same, with room for as many numbers as a trace may need."""
    if ranks.group_of(domain) is not None:
        return attrs.evolve(domain, high=Limit(ROOM, domain.high.key) if isinstance(domain.high, Limit) else ROOM)
    return domain.with_inside(lambda of: roomy(of, ranks)) if domain.has_places else domain


def named_in(domain: Any, names: Collection[str]) -> Iterator[str]:
    """The groups among the names whose numbers are inside a domain."""
    return (each.order for _, each, _ in ordered_in(domain) if each.order in names)


def in_words(*groups: str) -> str:
    """What groups are called."""
    *others, last = (group.replace("_", " ") for group in groups)
    return f"{', '.join(others)} and {last}" if others else last
