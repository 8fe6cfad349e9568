"""A kind of domain that the house does not know: a bounded multiset, packed as one number. And a small model that has
one.

All that engines and exports have to know of the kind is in its class.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from highwater.explorer.system import System
from highwater.model.language.declarations import Witness, action, invariant, step_property
from highwater.model.language.domain import ArrayOf, Integers, Limit, Maybe, OneOf, as_domain
from highwater.model.language.graph_properties import leads_to, prospect
from highwater.model.language.records import domain_of, evolve, replaced, within
from highwater.model.language.shape import Domain, DomainError, Shape

Bag = tuple[Any, ...]


@attrs.frozen
class BagOf(Domain):
    """A multiset of at most `most` values of a domain of scalars, as a tuple in their order."""

    of: Any = attrs.field(converter=as_domain)
    most: int

    @property
    def is_scalar(self) -> bool:
        return True

    @property
    def shape(self) -> Shape:
        return Shape.LIST

    @property
    def size(self) -> int:
        return sum(math.comb(self.of.count + length - 1, length) for length in range(self.most + 1))

    count = size

    def values(self) -> Iterator[Bag]:
        members = tuple(self.of.values())
        lengths = range(self.most + 1)
        return itertools.chain.from_iterable(itertools.combinations_with_replacement(members, n) for n in lengths)

    def encode(self, value: Bag) -> int:
        return _numbered(self)[value]

    def decode(self, index: int) -> Bag:
        return next(itertools.islice(self.values(), index, None))

    def inside(self) -> Mapping[str, Domain]:
        return {"": self.of}

    def with_inside(self, change: Callable[[Domain], Domain]) -> Domain:
        return attrs.evolve(self, of=change(self.of))

    def parts(self, value: Bag) -> Sequence[tuple[Domain, Any]]:
        return [(self.of, member) for member in value]

    def rebuilt(self, value: Bag, parts: Sequence[Any]) -> Bag:
        return tuple(sorted(parts, key=self.of.encode))

    def exceeded(self, value: Any) -> frozenset[str]:
        if not isinstance(value, tuple):
            raise DomainError(f"{value!r} is no multiset")
        cut = frozenset().union(*(self.of.exceeded(member) for member in value))
        if value != self.rebuilt(value, value):
            raise DomainError(f"{value!r} is not in order")
        return cut if len(value) <= self.most else cut | {self.most.key}

    def show(self, value: Bag) -> str:
        return "<" + self.of.separator.join(map(self.of.show, value)) + ">"

    def kept(self, parts: Sequence[Any]) -> Bag:
        """A multiset of some members: of the first ones, if there are too many and no bound cuts that."""
        return self.rebuilt((), parts if isinstance(self.most, Limit) else parts[: self.most])

    def put(self, bag: Bag, member: Any) -> Bag:
        """A multiset with one more of a member."""
        return self.kept((*bag, member))

    def taken(self, bag: Bag, member: Any) -> Bag:
        """A multiset with one less of a member, if there is one."""
        at = bag.index(member) if member in bag else len(bag)
        return (*bag[:at], *bag[at + 1 :])


@functools.cache
def _numbered(domain: BagOf) -> dict[Bag, int]:
    return {value: number for number, value in enumerate(domain.values())}


GUEST = Integers(0, 2, label="g", names="guests")
COIN = OneOf(("penny",))
COATS = BagOf(GUEST, Limit(2, "hooks"))
PURSE = BagOf(COIN, Limit(1, "purse"))
TICKET = Integers(-1, Limit(3, "tickets"), order="tickets", constants_below=0)


@attrs.frozen
class Size:
    """How many numbers lie beside what happens, so that rows are long enough to be folded."""

    ballast: int


@attrs.frozen
class Cloakroom:
    """Whose coats are there, what is in each guest's purse, the newest ticket and the one before, and whose coat was
    taken last.
    """

    coats: Bag = within(COATS)
    purses: tuple[Bag, ...] = within(ArrayOf(PURSE, 3, label="g", by="guests"))
    newest: int = within(TICKET)
    last: int = within(TICKET)
    taken: Bag | None = within(Maybe(BagOf(GUEST, Limit(1, "taken"))))
    ballast: tuple[int, ...] = within(lambda size: ArrayOf(Integers(0, 2**20 - 1), size.ballast))


@action(actor="guest", guest=GUEST)
def leave(room: Cloakroom, guest: int) -> Cloakroom:
    """A guest leaves a coat."""
    return evolve(room, coats=COATS.put(room.coats, guest), last=room.newest, newest=room.newest + 1)


@action(actor="guest", guest=GUEST)
def collect(room: Cloakroom, guest: int) -> Cloakroom | None:
    """A guest gets a coat back."""
    if guest not in room.coats:
        return None
    return evolve(room, coats=COATS.taken(room.coats, guest), taken=None if room.taken == (guest,) else (guest,))


@action(actor="guest", guest=GUEST, coin=COIN)
def pay(room: Cloakroom, guest: int, coin: str) -> Cloakroom | None:
    """A guest who has a coat there passes a coin."""
    if guest not in room.coats:
        return None
    purse = room.purses[guest]
    changed = PURSE.taken(purse, coin) if coin in purse else PURSE.put(purse, coin)
    return evolve(room, purses=replaced(room.purses, guest, changed))


@action(actor="attendant")
def pass_on(room: Cloakroom) -> Cloakroom | None:
    """The coat of who has one there alone is the one that was taken last; unread where it is copied."""
    return evolve(room, taken=room.coats) if len(room.coats) == 1 else None


@invariant()
def nobody_has_two_coats(room: Cloakroom) -> bool | Witness:
    twice = [guest for guest in room.coats if room.coats.count(guest) > 1]
    return Witness("guest {guest} has two", guest=twice[0]) if twice else True


@step_property()
def tickets_grow(before: Cloakroom, after: Cloakroom) -> bool:
    return after.newest >= before.newest and after.last <= after.newest


@prospect(along=(collect,))
def room_can_be_empty(room: Cloakroom) -> bool:
    return room.coats == ()


@leads_to(lambda room: len(room.coats) == 2, fair=(collect,))
def a_hook_gets_free(room: Cloakroom) -> bool:
    return len(room.coats) < 2


EMPTY = Cloakroom((), ((), (), ()), -1, -1, None, ())


@functools.cache
def cloakroom(ballast: int = 0) -> System:
    """The model with its properties."""
    actions = (leave, collect, pay, pass_on)
    return System(
        domain_of(Cloakroom, Size(ballast)),
        (evolve(EMPTY, ballast=tuple(range(5, 5 + ballast))),),
        tuple(instance for each in actions for instance in each.instances(None)),
        tuple(nobody_has_two_coats.instances(None)),
        {"guests": (0, 1, 2)},
        tuple(tickets_grow.instances(None)),
        tuple(room_can_be_empty.instances(None)),
        tuple(a_hook_gets_free.instances(None)),
    )
