"""Systems with liveness properties that executors make, too: they import this module."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs

from highwater.claims import on_spark
from highwater.claims.spec import load_spec
from highwater.explorer.system import System
from highwater.model.language.declarations import Witness, action
from highwater.model.language.domain import ArrayOf, Integers, Limit, Maybe, OneOf
from highwater.model.language.graph_properties import (
    Liveness,
    always_eventually,
    eventually,
    eventually_always,
    leads_to,
    per,
)
from highwater.model.language.records import domain_of, evolve, replaced, within
from tests.until import until

SPECS = Path(__file__).parents[2] / "specs"
CLIENT = Integers(0, 2, label="c", names="clients")
PLACES = OneOf(("idle", "asks", "inside"))


def of_gallery(name: str) -> Callable[[], System]:
    """How to make the system of a claim of the gallery."""
    spec = load_spec(next(SPECS.glob(f"**/{name}.toml")))
    return on_spark.recipe(spec)


@attrs.frozen
class Lock:
    """Three clients, a lock, and a clock that counts up to a bound."""

    holder: int | None = within(Maybe(CLIENT))
    place: tuple[str, ...] = within(ArrayOf(PLACES, 3, by="clients"))
    taken: int = within(Integers(0, Limit(2, "taken")))


@action(actor="client", client=CLIENT)
def ask(lock: Lock, client: int) -> Lock | None:
    return evolve(lock, place=replaced(lock.place, client, "asks")) if lock.place[client] == "idle" else None


@action(actor="client", client=CLIENT)
def enter(lock: Lock, client: int) -> Lock | None:
    if lock.place[client] != "asks" or lock.holder is not None:
        return None
    return evolve(lock, holder=client, place=replaced(lock.place, client, "inside"))


@action(actor="client", client=CLIENT)
def leave(lock: Lock, client: int) -> Lock | None:
    if lock.holder != client:
        return None
    return evolve(lock, holder=None, place=replaced(lock.place, client, "idle"))


@action(actor="clock")
def count(lock: Lock) -> Lock:
    return evolve(lock, taken=lock.taken + 1)


def somebody_asks(lock: Lock) -> bool:
    return "asks" in lock.place


@leads_to(somebody_asks, fair=[enter, leave])
def somebody_gets_in(lock: Lock) -> bool | Witness:
    return lock.holder is not None or Witness("nobody is inside")


@leads_to(lambda lock, client: lock.place[client] == "asks", fair=[enter, leave], client=CLIENT)
def who_asks_gets_in(lock: Lock, client: int) -> bool | Witness:
    return lock.holder == client or Witness("c{client} waits", client=client)


@leads_to(lambda lock, client: lock.place[client] == "asks", fair=[leave], strongly_fair=[enter], client=CLIENT)
def who_asks_gets_in_by_luck(lock: Lock, client: int) -> bool:
    return lock.holder == client


@eventually(fair=[per(enter)])
def everybody_has_asked(lock: Lock) -> bool:
    return "idle" not in lock.place


@eventually(fair=[count])
def it_was_taken_often(lock: Lock) -> bool:
    return lock.taken > 2


@always_eventually(fair=[enter, leave], strongly_fair=[per(ask)])
def the_lock_is_free(lock: Lock) -> bool:
    return lock.holder is None


@always_eventually(fair=[ask, enter, leave])
def it_is_counted_twice(lock: Lock) -> bool:
    return lock.taken == 2


@eventually_always(fair=[ask, enter, leave])
def the_lock_stays_taken(lock: Lock) -> bool:
    return lock.holder is not None


@eventually_always(fair=[count])
def counting_ends(lock: Lock) -> bool:
    return lock.taken == 2


def nobody_is_inside(lock: Lock) -> bool:
    return lock.holder is None


def somebody_is_inside(lock: Lock) -> bool:
    return lock.holder is not None


def it_is_counted_up(lock: Lock) -> bool:
    return lock.taken > 0


it_is_free_until_somebody_enters, _ = until(nobody_is_inside, somebody_is_inside, fair=[ask, enter])
it_is_free_until_it_is_counted, _ = until(nobody_is_inside, it_is_counted_up, fair=[leave])

OF_ALL = (
    it_is_free_until_somebody_enters,
    it_is_free_until_it_is_counted,
    somebody_gets_in,
    everybody_has_asked,
    it_was_taken_often,
    the_lock_is_free,
    it_is_counted_twice,
    the_lock_stays_taken,
    counting_ends,
)
OF_EACH = (who_asks_gets_in, who_asks_gets_in_by_luck)


def lock(promises: tuple[Liveness, ...]) -> System:
    """Three clients that take turns at a lock in no order."""
    return System(
        domain_of(Lock, None),
        (Lock(None, ("idle",) * 3, 0),),
        tuple(instance for each in (ask, enter, leave, count) for instance in each.instances(None)),
        interchangeable={"clients": (0, 1, 2)},
        liveness=tuple(instance for each in promises for instance in each.instances(None)),
    )


def lock_for_all() -> System:
    """What is promised to all clients alike: the search exchanges them."""
    return lock(OF_ALL)


def lock_in_short() -> System:
    """A promise whose distances have to be measured, and one that is broken on a cycle."""
    return lock((somebody_gets_in, it_is_counted_twice))


def lock_for_the_clock() -> System:
    """The second promise of `lock_in_short` alone."""
    return lock((it_is_counted_twice,))


@always_eventually(fair=[count])
def it_divides(lock: Lock) -> bool:
    """Raises where the clock has come to its end."""
    return 1 // (2 - lock.taken) == 1


def lock_that_raises() -> System:
    """A promise that cannot be judged in every state."""
    return lock((it_divides,))


def lock_for_each() -> System:
    """What is promised to each client."""
    return lock(OF_EACH)


@leads_to(somebody_asks, fair=[count])
def it_is_counted(lock: Lock) -> bool:
    return lock.taken >= 0


@leads_to(lambda lock: lock.taken < 0, fair=[count])
def nothing_is_asked_of_it(lock: Lock) -> bool:
    return lock.taken >= 0


def lock_for_nobody() -> System:
    """One of two promises is never owed, the other one always kept."""
    return lock((it_is_counted, nothing_is_asked_of_it))
